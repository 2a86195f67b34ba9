//! Decodes, redacts and copies one million watch events, for a profiler or `time`:
//!
//! ```text
//! cargo build --release --package watchscope-probe --example decode_speed
//! time target/release/examples/decode_speed pods        # about 6 kB an event
//! time target/release/examples/decode_speed metadata    # about 1.1 kB an event
//! ```
//!
//! The program decodes the events of 1,000 objects in rotation. Bytes come in pieces of 64 KiB, as from a socket. It
//! measures no time itself, because pure crates have no clock.

use anyhow::{Context as _, bail};
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, RequestId, StreamId, Time};
use watchscope_probe::{
    Channel, Context, Effect, Ids, Input, Output, Probe, ProbeConfig, WatchSpec,
};

/// The number of events that the program decodes at least.
const EVENTS: u64 = 1_000_000;
/// The number of objects in the body.
const OBJECTS: usize = 1_000;
/// The bytes of a piece of the body.
const PIECE_BYTES: usize = 64 << 10;

#[derive(Default)]
struct Counter(u64);

impl Ids for Counter {
    fn request(&mut self) -> RequestId {
        self.0 += 1;
        RequestId(self.0)
    }

    fn stream(&mut self) -> StreamId {
        self.0 += 1;
        StreamId(self.0)
    }
}

fn main() -> anyhow::Result<()> {
    let what = std::env::args().nth(1).unwrap_or_default();
    let (template, metadata_only) = match &*what {
        "pods" => (include_str!("pod.json"), false),
        "metadata" => (include_str!("metadata.json"), true),
        other => bail!("{other:?} is neither pods nor metadata"),
    };
    let body = body(template.trim_end());
    let (probe, stream) = open_stream(metadata_only)?;
    let (events, copied) = run(probe, stream, &body);
    anyhow::ensure!(events >= EVENTS, "only {events} events came out");
    // Printing the results keeps the compiler from optimising the measured work away.
    let line_bytes = body.len() / OBJECTS;
    eprint(&format!(
        "{events} events of {line_bytes} bytes a line, {copied} bytes of redacted bodies"
    ));
    Ok(())
}

/// A body with one MODIFIED event for each object.
fn body(template: &str) -> Vec<u8> {
    let mut body = String::new();
    for number in 0..OBJECTS {
        let object = template
            .replace("\"cart-0\"", &format!("\"cart-{number}\""))
            .replace("6f0b1b9a-7f5e", &format!("6f0b1b9a-{number:04x}"))
            .replace("\"1000000\"", &format!("\"{}\"", 1_000_000 + number));
        body.push_str(&format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}\n"));
    }
    body.into_bytes()
}

/// A probe whose stream has just been opened, and the stream's request.
fn open_stream(metadata_only: bool) -> anyhow::Result<(Probe, RequestId)> {
    let spec = WatchSpec::of("shop", "pods", "Pod");
    let config = ProbeConfig {
        metadata_only,
        ..ProbeConfig::default()
    };
    let (mut ids, mut output) = (Counter::default(), Output::default());
    let mut request = RequestId(0);
    let mut probe = Probe::new(spec, config, 1);
    for turn in 0..6 {
        let input = match turn {
            0 => Input::Start,
            1 => Input::Connected {
                channel: Channel::Main,
                connection: ConnectionId(1),
            },
            2 | 5 => Input::Head {
                request,
                status: 200,
                headers: Headers::default(),
                http2_stream: None,
            },
            3 => Input::Body {
                request,
                bytes: br#"{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]}"#,
            },
            _ => Input::BodyEnd {
                request,
                end: Cause::End.into(),
            },
        };
        let mut context = Context {
            now: Time(0),
            ids: &mut ids,
        };
        probe = probe.step(input, &mut context, &mut output);
        for effect in output.effects.drain(..) {
            if let Effect::Send { request: sent, .. } = effect {
                request = sent;
            }
        }
    }
    let last = output.events.last().context("nothing happened")?;
    anyhow::ensure!(
        last.event.type_name() == "watch.phase",
        "the stream is open"
    );
    Ok((probe, request))
}

fn run(mut probe: Probe, request: RequestId, body: &[u8]) -> (u64, u64) {
    let (mut ids, mut output) = (Counter::default(), Output::default());
    let (mut events, mut copied) = (0, 0);
    while events < EVENTS {
        for bytes in body.chunks(PIECE_BYTES) {
            output.clear();
            let mut context = Context {
                now: Time(0),
                ids: &mut ids,
            };
            probe = probe.step(Input::Body { request, bytes }, &mut context, &mut output);
            events += output.events.len() as u64;
            copied += output.bodies.len() as u64;
        }
    }
    (events, copied)
}

#[allow(clippy::print_stderr, reason = "a program for a terminal")]
fn eprint(line: &str) {
    eprintln!("{line}");
}
