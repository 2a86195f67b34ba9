//! Bodies cut into pieces at every byte: the result does not depend on the cut.

use watchscope_model::Event;
use watchscope_model::json::to_line;
use watchscope_model::vocabulary::Cause;
use watchscope_probe::ProbeConfig;

use crate::stage::{play, pods};

/// The body of the list.
const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"100"},"items":[{"metadata":{"name":"a","namespace":"shop","uid":"u1","resourceVersion":"5"},"spec":{"containers":[{"env":[{"name":"A","value":"canary"}]}]}}]}"#;

/// The body of the stream.
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

/// The result of a probe for the list and the stream, each given in two pieces; the stream ends after `length` bytes.
/// Returns the events with their bodies, and the number of lost bytes.
fn played(list_cut: usize, stream_cut: usize, length: usize) -> (Vec<String>, u64) {
    let (list_head, list_rest) = LIST.as_bytes().split_at(list_cut);
    let (stream_head, stream_rest) = STREAM.as_bytes()[..length].split_at(stream_cut.min(length));
    let config = ProbeConfig::default();
    let list = [list_head, list_rest];
    let stream = [stream_head, stream_rest];
    let (mut lines, mut lost) = (Vec::new(), 0);
    for (event, body) in play(pods(), &config, &list, &stream, Some(Cause::Eof)) {
        if let Event::Loss(loss) = &event {
            lost += loss.bytes.unwrap();
        }
        lines.push(to_line(&event));
        if let Some(body) = body {
            let text = String::from_utf8(body).unwrap();
            assert!(!text.contains("canary"));
            lines.push(text);
        }
    }
    (lines, lost)
}

#[test]
fn two_pieces_cut_at_any_byte_give_the_same_as_one_piece() {
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
