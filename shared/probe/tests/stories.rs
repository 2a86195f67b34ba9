//! Stories of one watch: what the wire did, and what the probe made of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod story;

use insta::assert_snapshot;
use story::story;

#[test]
fn a_list_then_a_stream_from_its_resource_version() {
    assert_snapshot!(story(
        "start
        connected
        200
        list 100 a@5 b@7
        200
        ADDED c@101
        MODIFIED a@102
        DELETED b@103
        BOOKMARK 150
        stop"
    ), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"connecting","reason":"started"}
connected
  > send request 1 on 1
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"first-list"}
  {"type":"request.sent","request":1,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200
  {"type":"request.answered","request":1,"status":200}
list 100 a@5 b@7
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"100","items":2}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":78}
  {"type":"list.complete","resourceVersion":"100","items":2,"added":2,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=100"}
200
  {"type":"request.answered","request":2,"status":200}
  {"type":"stream.opened","stream":1,"request":2,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
ADDED c@101
  {"type":"change","stream":1,"change":"ADDED","origin":"live","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"101","bytes":111}
MODIFIED a@102
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"102","bytes":111}
DELETED b@103
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"103","bytes":111}
BOOKMARK 150
  {"type":"bookmark","stream":1,"resourceVersion":"150"}
stop
  > close main
  {"type":"stream.ended","stream":1,"cause":"cancelled","ageMs":0,"events":4,"bytes":518}
  {"type":"watch.phase","from":"streaming","to":"stopped","reason":"stop-requested"}
  {"type":"watch.stopped","reason":"stop-requested"}
"#);
}
