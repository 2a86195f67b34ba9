//! Bodies with bytes changed, dropped, doubled or swapped: the probe continues after any of them, and its counts add
//! up.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use watchscope_model::Event;
use watchscope_model::vocabulary::Cause;
use watchscope_probe::ProbeConfig;

use crate::stage::{play, pods, watching};

/// The body of the list before mutations.
const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"100","remainingItemCount":0},"items":[{"metadata":{"name":"a","namespace":"shop","uid":"u1","resourceVersion":"5"},"spec":{"containers":[{"env":[{"name":"A","value":"x"}]}]}},{"metadata":{"name":"b","resourceVersion":"6"}}]}"#;

/// The body of the stream before mutations.
const STREAM: &str = concat!(
    r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"c","uid":"u3","resourceVersion":"101","generation":2,"annotations":{"k":"\u00e9 \" \\ é"},"managedFields":[{"manager":"m","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:a":{}}}]},"spec":{"containers":[{"env":[{"name":"A","value":"x"}]}]}}}"#,
    "\n",
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"110"}}}"#,
    "\n",
    r#"{"type":"DELETED","object":{"kind":"Pod","metadata":{"name":"c","uid":"u3","resourceVersion":"111"}}}"#,
    "\n",
    r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old","details":{"retryAfterSeconds":1,"causes":[{"reason":"x"}]}}}"#,
    "\n",
);

/// Bytes with a meaning for a parser, drawn more often than by chance.
const MEANINGFUL: &[u8] = b"{}[]\",:\\\n\r\t\0 0-e.nutf\x80\xff";

fn mutated(text: &str, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + rng.next_u32() % 4 {
        let at = rng.next_u32() as usize % bytes.len();
        let other = rng.next_u32() as usize % bytes.len();
        let byte = match rng.next_u32() % 2 {
            0 => MEANINGFUL[rng.next_u32() as usize % MEANINGFUL.len()],
            _ => rng.next_u32() as u8,
        };
        match rng.next_u32() % 5 {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => {
                bytes.remove(at);
            }
            3 => bytes.swap(at, other),
            _ => {
                let (from, to) = (at.min(other), at.max(other));
                let doubled = bytes[from..to].to_vec();
                bytes.splice(from..from, doubled);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

/// Asserts that the documents and losses which the probe counts are no more than the stream's lines and bytes.
fn check(events: &[Event], stream: &[u8], seed: u64) {
    let mut lost = 0;
    for event in events {
        match event {
            Event::Loss(loss) if loss.place == watchscope_model::vocabulary::LossPlace::Frame => {
                lost += loss.bytes.unwrap();
            }
            Event::StreamEnded(ended) => {
                let lines = stream.iter().filter(|&&byte| byte == b'\n').count() as u64;
                assert!(
                    ended.events <= lines,
                    "seed {seed}: more documents than lines"
                );
                assert!(ended.bytes <= stream.len() as u64, "seed {seed}");
            }
            _ => {}
        }
    }
    assert!(
        lost <= (stream.len() + 4 * LIST.len()) as u64,
        "seed {seed}: lost more than came"
    );
}

#[test]
fn the_probe_survives_100_000_mutations() {
    let config = ProbeConfig {
        line_limit: 4_096,
        ..ProbeConfig::default()
    };
    for seed in 0..100_000 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let list = mutated(LIST, &mut rng);
        let stream = mutated(STREAM, &mut rng);
        let specs = [pods(), watching("example.com", "Pod")];
        let spec = specs[(seed % 2) as usize].clone();
        // The list stays whole in half of the cases, so that the stream is reached.
        let list: &[u8] = if seed % 4 < 2 { LIST.as_bytes() } else { &list };
        let cut = rng.next_u32() as usize % (stream.len() + 1);
        let (head, rest) = stream.split_at(cut);
        let events: Vec<Event> = play(spec, &config, &[list], &[head, rest], Some(Cause::Eof))
            .into_iter()
            .map(|(event, _)| event)
            .collect();
        check(&events, &stream, seed);
    }
}
