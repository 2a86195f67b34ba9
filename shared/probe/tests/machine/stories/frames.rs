//! Lines that are broken, too long, or of another kind than requested.

use insta::assert_snapshot;
use watchscope_model::Event;
use watchscope_model::json::to_line;
use watchscope_model::vocabulary::Cause;
use watchscope_probe::{ProbeConfig, WatchSpec};

use crate::stage::{play, pods, streaming, streaming_with};

#[test]
fn a_torn_last_line_is_counted_and_its_event_comes_with_the_resumed_stream() {
    assert_snapshot!(streaming(r#"MODIFIED a@160
        raw {"type":"MODIFIED","object":{"kind":"Pod"
        end
        +2s
        200
        MODIFIED a@170"#), @r#"
MODIFIED a@160
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
raw {"type":"MODIFIED","object":{"kind":"Pod"
end
  {"type":"loss","where":"frame","count":1,"bytes":41,"reason":"the last line did not end","what":"cut-short"}
  {"type":"stream.ended","stream":1,"cause":"eof-in-frame","ageMs":3000,"events":1,"bytes":182}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"broken","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=160"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"160"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
MODIFIED a@170
  {"type":"gap","since":0,"from":"160","to":"160","reason":"eof-in-frame","resumed":true,"lost":0}
  {"type":"change","stream":2,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"170","bytes":111}
"#);
}

#[test]
fn a_line_over_the_limit_is_counted_and_its_change_is_found_by_a_list() {
    assert_snapshot!(streaming_with(ProbeConfig { line_limit: 200, ..ProbeConfig::default() }, r#"raw {"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"u-a","resourceVersion":"160","annotations":{"note":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        raw xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        line "}}}}
        +2s
        connected
        200
        list 170 a@160 b@7"#), @r#"
raw {"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"u-a","resourceVersion":"160","annotations":{"note":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
raw xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":252,"reason":"a line is longer than 200 bytes","what":"too-long"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":252}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
line "}}}}
+2s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"decode"}
connected
  > send request 3 on 2
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"decode"}
  {"type":"request.sent","request":3,"connection":2,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
list 170 a@160 b@7
  > send request 4 on 2
  {"type":"list.page","request":3,"resourceVersion":"170","items":2}
  {"type":"change","change":"MODIFIED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":80}
  {"type":"list.complete","resourceVersion":"170","items":2,"added":0,"changed":1,"removed":0}
  {"type":"gap","since":0,"from":"100","to":"170","reason":"decode","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=170"}
"#);
}

#[test]
fn garbage_ends_the_stream() {
    assert_snapshot!(streaming("line <html><body>upstream error</body></html>"), @r#"
line <html><body>upstream error</body></html>
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":41,"reason":"not JSON at byte 0","what":"malformed"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":41}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
"#);
}

#[test]
fn an_object_of_another_kind_is_no_change() {
    assert_snapshot!(streaming(r#"line {"type":"MODIFIED","object":{"kind":"Table","metadata":{"name":"a","resourceVersion":"160"}}}"#), @r#"
line {"type":"MODIFIED","object":{"kind":"Table","metadata":{"name":"a","resourceVersion":"160"}}}
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":94,"reason":"kind Table where Pod was asked for","what":"other-kind"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":94}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
"#);
}

#[test]
fn an_unknown_event_type_ends_the_stream() {
    assert_snapshot!(streaming(r#"line {"type":"CHANGED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"160"}}}"#), @r#"
line {"type":"CHANGED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"160"}}}
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":91,"reason":"unknown event type","what":"malformed"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":91}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
"#);
}

#[test]
fn an_object_without_a_version_ends_the_stream() {
    assert_snapshot!(streaming(r#"line {"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a"}}}"#), @r#"
line {"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a"}}}
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":68,"reason":"no metadata.resourceVersion","what":"malformed"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":68}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
"#);
}

#[test]
fn a_bookmark_without_a_version_ends_the_stream() {
    assert_snapshot!(streaming(r#"line {"type":"BOOKMARK","object":{"kind":"Pod","metadata":{}}}"#), @r#"
line {"type":"BOOKMARK","object":{"kind":"Pod","metadata":{}}}
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":58,"reason":"no metadata.resourceVersion of a bookmark","what":"malformed"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":58}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
"#);
}

#[test]
fn blank_lines_and_other_spellings_of_a_document_are_read() {
    assert_snapshot!(streaming(r#"line
        line { "object" : {"metadata":{"resourceVersion":"160","name":"a","namespace":"shop","uid":"u-a"},"kind":"Pod"} , "type" : "MODIFIED" }
        line {"type":"DELET\u0045D","object":{"kind":"P\u006fd","metadata":{"n\u0061me":"a","namespace":"shop","uid":"u-a","resourceVersion":"170"}}}"#), @r#"
line
line { "object" : {"metadata":{"resourceVersion":"160","name":"a","namespace":"shop","uid":"u-a"},"kind":"Pod"} , "type" : "MODIFIED" }
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":93}
line {"type":"DELET\u0045D","object":{"kind":"P\u006fd","metadata":{"n\u0061me":"a","namespace":"shop","uid":"u-a","resourceVersion":"170"}}}
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"170","bytes":103}
"#);
}

#[test]
fn a_line_that_never_ends_is_given_up_at_the_limit() {
    let config = ProbeConfig {
        line_limit: 20,
        ..ProbeConfig::default()
    };
    assert_snapshot!(streaming_with(config, r#"raw {"type":"MODIFIED","object":{"#), @r#"
raw {"type":"MODIFIED","object":{
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":29,"reason":"a line is longer than 20 bytes","what":"too-long"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":29}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
"#);
}

#[test]
fn documents_after_a_broken_line_are_counted_one_by_one() {
    let list = r#"{"kind":"PodList","metadata":{"resourceVersion":"100"},"items":[]}"#;
    let lost = |stream: &[&[u8]], end| {
        let played = play(
            pods(),
            &ProbeConfig::default(),
            &[list.as_bytes()],
            stream,
            end,
        );
        let lines: Vec<String> = played
            .iter()
            .filter(|(event, _)| event.type_name() == "loss")
            .map(|(event, _)| to_line(event))
            .collect();
        lines.join("\n")
    };
    assert_snapshot!(lost(&[b"[]\n{\"type\":1}\n\n{\"type\":2}\n{\"ty"], None), @r#"
{"type":"loss","where":"frame","count":1,"watch":"shop/pods","bytes":3,"reason":"of an unexpected shape at byte 0","what":"malformed"}
{"type":"loss","where":"frame","count":3,"watch":"shop/pods","bytes":27,"reason":"what followed was not read","what":"after-end"}
"#);
    let error = b"{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n{\"type\":1}\n{\"ty";
    assert_snapshot!(lost(&[error, b"pe\":2}\n{}"], Some(Cause::End)), @r#"
{"type":"loss","where":"frame","count":3,"watch":"shop/pods","bytes":24,"reason":"bytes after an ERROR event","what":"after-end"}
"#);
}

#[test]
fn the_rest_of_a_piece_after_a_broken_line_is_counted() {
    assert_snapshot!(streaming("line []
        MODIFIED a@160"), @r#"
line []
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":3,"reason":"of an unexpected shape at byte 0","what":"malformed"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":3}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
MODIFIED a@160
"#);
}

#[test]
fn an_object_outside_the_selectors_is_marked_unless_it_is_deleted() {
    let spec = WatchSpec {
        label_selector: Some("tier in (web)".into()),
        ..pods()
    };
    let list = br#"{"kind":"PodList","metadata":{"resourceVersion":"100"},"items":[]}"#;
    let event = |change: &str, version: u64, tier: &str| {
        format!(
            r#"{{"type":"{change}","object":{{"kind":"Pod","metadata":{{"namespace":"shop","name":"a","uid":"u","resourceVersion":"{version}","labels":{{"tier":"{tier}"}}}}}}}}{}"#,
            "\n"
        )
    };
    let stream = [
        event("ADDED", 101, "web"),
        event("MODIFIED", 102, "db"),
        event("DELETED", 103, "db"),
    ];
    let stream: Vec<&[u8]> = stream.iter().map(|line| line.as_bytes()).collect();
    let played = play(spec, &ProbeConfig::default(), &[list], &stream, None);
    let stray: Vec<Option<bool>> = played
        .iter()
        .filter_map(|(event, _)| match event {
            Event::Change(change) => Some(change.stray),
            _ => None,
        })
        .collect();
    assert_eq!(stray, [None, Some(true), None]);
}

#[test]
fn a_change_names_its_controller_in_lists_and_streams_with_metadata_alone_too() {
    let owned = |kind: &str, version: u64| {
        format!(
            r#"{{"kind":"{kind}","metadata":{{"namespace":"shop","name":"a","uid":"u","resourceVersion":"{version}","ownerReferences":[{{"kind":"ReplicaSet","name":"web-1","uid":"r","controller":true}}]}}}}"#
        )
    };
    let free = r#"{"metadata":{"namespace":"shop","name":"b","uid":"v","resourceVersion":"90"}}"#;
    for (metadata_only, list_kind, kind) in [
        (false, "PodList", "Pod"),
        (true, "PartialObjectMetadataList", "PartialObjectMetadata"),
    ] {
        let config = ProbeConfig {
            metadata_only,
            ..ProbeConfig::default()
        };
        let list = format!(
            r#"{{"kind":"{list_kind}","metadata":{{"resourceVersion":"100"}},"items":[{},{free}]}}"#,
            owned(kind, 80)
        );
        let line = format!(
            "{{\"type\":\"MODIFIED\",\"object\":{}}}\n",
            owned(kind, 101)
        );
        let (lists, lines) = ([list.as_bytes()], [line.as_bytes()]);
        let played = play(pods(), &config, &lists, &lines, None);
        let owners: Vec<Option<String>> = played
            .iter()
            .filter_map(|(event, _)| match event {
                Event::Change(change) => Some(change.owner.as_ref()),
                _ => None,
            })
            .map(|owner| {
                Some(format!(
                    "{} {} {}",
                    owner?.kind(),
                    owner?.name(),
                    owner?.uid()
                ))
            })
            .collect();
        let owner = Some("ReplicaSet web-1 r".to_owned());
        assert_eq!(owners, [owner.clone(), None, owner], "{kind}");
    }
}
