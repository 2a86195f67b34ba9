//! Connections and answers that fail.

use crate::stage::{listing, story, streaming};
use insta::assert_snapshot;

#[test]
fn an_unreachable_server_is_tried_again_with_growing_delays() {
    assert_snapshot!(story("start
        connect failed unreachable connection refused (127.0.0.1:6443)
        +1600ms
        connect failed timeout no answer to the dial within 10 s
        +3200ms
        connected"), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"connecting","reason":"started"}
connect failed unreachable connection refused (127.0.0.1:6443)
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"unreachable","delayMs":1435,"error":"connection refused (127.0.0.1:6443)"}
+1600ms
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
connect failed timeout no answer to the dial within 10 s
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"timeout","delayMs":3194,"error":"no answer to the dial within 10 s"}
+3200ms
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
connected
  > send request 1 on 1
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"retry-due"}
  {"type":"request.sent","request":1,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
"#);
}

#[test]
fn a_failed_handshake_loads_tls_settings_again_at_most_every_30_s() {
    assert_snapshot!(story("start
        connect failed tls certificate expired
        +1600ms
        connect failed tls certificate expired"), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"connecting","reason":"started"}
connect failed tls certificate expired
  > reload credentials
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"tls-failed","delayMs":1435,"error":"certificate expired"}
+1600ms
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
connect failed tls certificate expired
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"tls-failed","delayMs":3194,"error":"certificate expired"}
"#);
}

#[test]
fn a_kept_connection_that_the_server_had_closed_is_replaced_at_once() {
    assert_snapshot!(streaming("+400s
        end
        request failed broken connection closed before message completed
        connected
        200"), @r#"
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
request failed broken connection closed before message completed
  > close main
  > connect main
  {"type":"request.answered","request":3,"error":"connection closed before message completed"}
connected
  > send request 4 on 2
  {"type":"request.sent","request":4,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=100"}
200
  {"type":"request.answered","request":4,"status":200}
  {"type":"stream.opened","stream":2,"request":4,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
"#);
}

#[test]
fn a_kept_connection_that_closes_under_a_request_is_replaced_at_once() {
    assert_snapshot!(streaming("+400s
        end
        closed eof
        connected"), @r#"
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
closed eof
  > connect main
  {"type":"request.answered","request":3,"error":"the connection was closed (eof) before an answer"}
connected
  > send request 4 on 2
  {"type":"request.sent","request":4,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=100"}
"#);
}

#[test]
fn a_fresh_connection_that_breaks_is_a_failure() {
    assert_snapshot!(listing("request failed broken connection reset by peer"), @r#"
request failed broken connection reset by peer
  > close main
  {"type":"request.answered","request":1,"error":"connection reset by peer"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"broken","delayMs":1594}
"#);
}

#[test]
fn a_request_without_an_answer_is_given_up() {
    assert_snapshot!(listing("+90s"), @r#"
+90s
  > close main
  {"type":"request.answered","request":1,"error":"no answer within 90 s"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"timeout","delayMs":1594}
"#);
}

#[test]
fn a_list_that_falls_silent_is_given_up() {
    assert_snapshot!(story(r#"start
        connected
        200
        raw {"kind":"PodList"
        +60s
        raw ,"apiVersion":"v1"
        +60s
        +30s"#), @r#"
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
raw {"kind":"PodList"
+60s
raw ,"apiVersion":"v1"
+60s
+30s
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":35,"reason":"no more of the page came within 90 s","what":"cut-short"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"timeout","delayMs":1594}
"#);
}

#[test]
fn a_connection_that_closes_after_a_response_carries_no_other_request() {
    assert_snapshot!(listing("200
        closing
        list 100 a@5"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
closing
list 100 a@5
  > close main
  > connect main
  {"type":"list.page","request":1,"resourceVersion":"100","items":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"list.complete","resourceVersion":"100","items":1,"added":1,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
"#);
}
