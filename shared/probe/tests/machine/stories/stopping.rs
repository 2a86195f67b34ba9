//! The watch is stopped.

use crate::stage::{listing, story, streaming};
use insta::assert_snapshot;

#[test]
fn a_stop_while_dialling_closes_a_connection_that_comes_late() {
    assert_snapshot!(story("start
        stop
        connected
        stop"), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"connecting","reason":"started"}
stop
  > close main
  {"type":"watch.phase","from":"connecting","to":"stopped","reason":"stop-requested"}
  {"type":"watch.stopped","reason":"stop-requested"}
connected
  > close main
stop
"#);
}

#[test]
fn a_stop_in_a_list_counts_the_bytes_so_far() {
    assert_snapshot!(story(r#"start
        connected
        200
        raw {"kind":
        stop"#), @r#"
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
raw {"kind":
stop
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":8,"reason":"the watch was stopped","what":"cut-short"}
  {"type":"watch.phase","from":"listing","to":"stopped","reason":"stop-requested"}
  {"type":"watch.stopped","reason":"stop-requested"}
"#);
}

#[test]
fn a_stop_before_an_answer_is_recorded() {
    assert_snapshot!(listing("stop"), @r#"
stop
  > close main
  {"type":"request.answered","request":1,"error":"the watch was stopped"}
  {"type":"watch.phase","from":"listing","to":"stopped","reason":"stop-requested"}
  {"type":"watch.stopped","reason":"stop-requested"}
"#);
}

#[test]
fn a_stop_in_a_wait_is_at_once() {
    assert_snapshot!(story("start
        connect failed unreachable refused
        stop
        +60s"), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"connecting","reason":"started"}
connect failed unreachable refused
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"unreachable","delayMs":1435,"error":"refused"}
stop
  {"type":"watch.phase","from":"waiting","to":"stopped","reason":"stop-requested"}
  {"type":"watch.stopped","reason":"stop-requested"}
+60s
"#);
}

#[test]
fn a_stop_on_a_stream_cancels_it() {
    assert_snapshot!(streaming(r#"raw {"type":
        stop"#), @r#"
raw {"type":
stop
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":8,"reason":"the last line did not end","what":"cut-short"}
  {"type":"stream.ended","stream":1,"cause":"cancelled","ageMs":3000,"events":0,"bytes":8}
  {"type":"watch.phase","from":"streaming","to":"stopped","reason":"stop-requested"}
  {"type":"watch.stopped","reason":"stop-requested"}
"#);
}
