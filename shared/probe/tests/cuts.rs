//! Bodies cut into pieces at every byte: nothing depends on where.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use watchscope_model::field::Headers;
use watchscope_model::json::to_line;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, RequestId, StreamId, Time};
use watchscope_probe::{
    Channel, Context, Effect, Ids, Input, Output, Probe, ProbeConfig, Served, WatchSpec,
};

const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"100"},"items":[{"metadata":{"name":"a","namespace":"shop","uid":"u1","resourceVersion":"5"},"spec":{"containers":[{"env":[{"name":"A","value":"canary"}]}]}}]}"#;

const STREAM: &str = concat!(
    r#"{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"u1","resourceVersion":"101","generation":2,"annotations":{"näme":"zwölf \u00e9 \" 東京"}},"spec":{"containers":[{"env":[{"name":"A","value":"canary"}]}]}}}"#,
    "\n\n",
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"110"}}}"#,
    "\r\n",
    r#"{"type":"DELETED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"u1","resourceVersion":"111"}}}"#,
    "\n",
    r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version: 1 (2)"}}"#,
    "\n",
);

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

/// What a probe makes of the list and the stream, each body given in two pieces, the stream ended after `length`
/// bytes: its events and bodies, and for each loss its bytes.
fn played(list_cut: usize, stream_cut: usize, length: usize) -> (Vec<String>, u64) {
    let spec = WatchSpec {
        name: "shop/pods".into(),
        group: "".into(),
        resource: "pods".into(),
        served: Some(Served {
            version: "v1".into(),
            kind: "Pod".into(),
        }),
        namespace: Some("shop".into()),
        label_selector: None,
        field_selector: None,
    };
    let mut probe = Probe::new(spec, ProbeConfig::default(), 1);
    let (mut ids, mut output) = (Counter::default(), Output::default());
    let mut request = RequestId(0);
    let (mut lines, mut lost) = (Vec::new(), 0);
    let stream = &STREAM.as_bytes()[..length];
    let stream_cut = stream_cut.min(length);
    let (list_head, list_rest) = LIST.as_bytes().split_at(list_cut);
    let (stream_head, stream_rest) = stream.split_at(stream_cut);
    let head = |request| Input::Head {
        request,
        status: 200,
        headers: Headers::default(),
    };
    let end = |request, cause| Input::BodyEnd { request, cause };
    let body = |request, bytes| Input::Body { request, bytes };
    for turn in 0..10 {
        let input = match turn {
            0 => Input::Start,
            1 => Input::Connected {
                channel: Channel::Main,
                connection: ConnectionId(1),
            },
            2 | 6 => head(request),
            3 => body(request, list_head),
            4 => body(request, list_rest),
            5 => end(request, Cause::End),
            7 => body(request, stream_head),
            8 => body(request, stream_rest),
            _ => end(request, Cause::Eof),
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
        for emitted in output.events.drain(..) {
            if let watchscope_model::Event::Loss(loss) = &emitted.event {
                lost += loss.bytes.unwrap();
            }
            lines.push(to_line(&emitted.event));
            if let Some(body) = emitted.body {
                let text = std::str::from_utf8(&output.bodies[body]).unwrap();
                assert!(!text.contains("canary"));
                lines.push(text.to_owned());
            }
        }
        output.clear();
    }
    (lines, lost)
}

#[test]
fn two_pieces_cut_at_every_byte_give_what_one_gives() {
    let whole = played(0, 0, STREAM.len());
    assert!(
        whole
            .0
            .iter()
            .any(|line| line.contains("too old resource version: 1 (2)"))
    );
    for cut in 0..=LIST.len() {
        assert_eq!(played(cut, 0, STREAM.len()), whole, "list cut at {cut}");
    }
    for cut in 0..=STREAM.len() {
        assert_eq!(played(0, cut, STREAM.len()), whole, "stream cut at {cut}");
    }
}

#[test]
fn a_stream_that_ends_at_any_byte_loses_exactly_its_torn_line() {
    for length in 0..=STREAM.len() {
        let (lines, lost) = played(0, length / 2, length);
        let torn = length
            - STREAM[..].as_bytes()[..length]
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |at| at + 1);
        assert_eq!(lost, torn as u64, "ended at {length}");
        let ended = lines
            .iter()
            .find(|line| line.contains("stream.ended"))
            .unwrap();
        let cause = if lines.iter().any(|line| line.contains("stream.error")) {
            "error-event"
        } else if torn > 0 {
            "eof-in-frame"
        } else {
            "eof"
        };
        assert!(
            ended.contains(&format!("\"cause\":\"{cause}\"")),
            "{length}: {ended}"
        );
        assert!(
            ended.contains(&format!("\"bytes\":{length}}}")),
            "{length}: {ended}"
        );
    }
}
