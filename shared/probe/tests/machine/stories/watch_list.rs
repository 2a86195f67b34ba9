//! Watch-list: the state as initial events, and the fallback if it does not work.

use insta::assert_snapshot;
use watchscope_probe::ProbeConfig;

use crate::stage::{pods, story_with, watch_listing, watching};

#[test]
fn initial_events_end_with_a_bookmark_that_completes_a_list() {
    assert_snapshot!(story_with(pods(), ProbeConfig { watch_list: true, ..ProbeConfig::default() }, "start
        connected
        200
        ADDED b@7
        ADDED a@5
        BOOKMARK 100 end
        MODIFIED a@101"), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"connecting","reason":"started"}
connected
  > send request 1 on 1
  {"type":"request.sent","request":1,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=539&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":1,"status":200}
  {"type":"stream.opened","stream":1,"request":1}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED b@7
  {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":109}
ADDED a@5
  {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
BOOKMARK 100 end
  {"type":"bookmark","stream":1,"resourceVersion":"100","initialEventsEnd":true}
  {"type":"list.complete","resourceVersion":"100","items":2,"added":2,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
MODIFIED a@101
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"101","bytes":111}
"#);
}

#[test]
fn a_relist_by_watch_list_writes_only_differences() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        ADDED b@7
        BOOKMARK 100 end
        ERROR 410 Expired too old
        end
        +2s
        200
        ADDED a@5
        ADDED c@150
        BOOKMARK 200 end"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
  {"type":"stream.opened","stream":1,"request":1}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@5
  {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
ADDED b@7
  {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":109}
BOOKMARK 100 end
  {"type":"bookmark","stream":1,"resourceVersion":"100","initialEventsEnd":true}
  {"type":"list.complete","resourceVersion":"100","items":2,"added":2,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
ERROR 410 Expired too old
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":0,"events":4,"bytes":567}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":1594}
+2s
  > send request 2 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"expired"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&sendInitialEvents=true&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":2,"status":200}
  {"type":"stream.opened","stream":2,"request":2,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@5
ADDED c@150
  {"type":"change","stream":2,"change":"ADDED","origin":"initial","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"150","bytes":111}
BOOKMARK 200 end
  {"type":"bookmark","stream":2,"resourceVersion":"200","initialEventsEnd":true}
  {"type":"change","stream":2,"change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7"}
  {"type":"list.complete","resourceVersion":"200","items":2,"added":1,"changed":0,"removed":1}
  {"type":"gap","since":0,"from":"100","to":"200","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
"#);
}

#[test]
fn a_server_that_refuses_watch_list_is_listed() {
    assert_snapshot!(watch_listing("422
        status 422 Invalid sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled
        200"), @r#"
422
status 422 Invalid sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled
  > send request 2 on 1
  {"type":"request.answered","request":1,"status":422,"error":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"watch-list-refused"}
  {"type":"request.sent","request":2,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200
  {"type":"request.answered","request":2,"status":200}
"#);
}

#[test]
fn two_streams_without_an_end_bookmark_make_the_probe_list() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        end
        +2s
        200
        ADDED a@5
        ADDED b@7
        end
        +4s
        200
        list 100 b@7"), @r#"
    200
      {"type":"request.answered","request":1,"status":200}
      {"type":"stream.opened","stream":1,"request":1}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED a@5
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
    end
      {"type":"stream.ended","stream":1,"cause":"end","ageMs":0,"events":1,"bytes":136}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"broken","delayMs":1594}
    +2s
      > send request 2 on 1
      {"type":"watch.phase","from":"waiting","to":"connecting","reason":"resume"}
      {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"}
    200
      {"type":"request.answered","request":2,"status":200}
      {"type":"stream.opened","stream":2,"request":2}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED a@5
    ADDED b@7
      {"type":"change","stream":2,"change":"ADDED","origin":"initial","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":109}
    end
      {"type":"stream.ended","stream":2,"cause":"end","ageMs":406,"events":2,"bytes":272}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"watch-list-refused","delayMs":3043}
    +4s
      > send request 3 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"watch-list-refused"}
      {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    200
      {"type":"request.answered","request":3,"status":200}
    list 100 b@7
      > send request 4 on 1
      {"type":"list.page","request":3,"resourceVersion":"100","items":1}
      {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5"}
      {"type":"list.complete","resourceVersion":"100","items":1,"added":0,"changed":0,"removed":1}
      {"type":"gap","since":0,"to":"100","reason":"end","resumed":false}
      {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
      {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=506&resourceVersion=100"}
    "#);
}

#[test]
fn initial_events_without_an_end_make_the_probe_list() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        +10s
        connected"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
  {"type":"stream.opened","stream":1,"request":1}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@5
  {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
+10s
  > close main
  > connect main
  {"type":"stream.ended","stream":1,"cause":"cancelled","ageMs":10000,"events":1,"bytes":136}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"watch-list-refused"}
connected
  > send request 2 on 2
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"watch-list-refused"}
  {"type":"request.sent","request":2,"connection":2,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
"#);
}

#[test]
fn live_events_after_initial_ones_without_an_end_make_the_probe_list_too() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        MODIFIED a@101
        +5s
        BOOKMARK 110
        +4s
        ADDED b@112
        +1s
        connected"), @r#"
    200
      {"type":"request.answered","request":1,"status":200}
      {"type":"stream.opened","stream":1,"request":1}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED a@5
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
    MODIFIED a@101
      {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"101","bytes":111}
    +5s
    BOOKMARK 110
      {"type":"bookmark","stream":1,"resourceVersion":"110"}
    +4s
    ADDED b@112
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"112","bytes":111}
    +1s
      > close main
      > connect main
      {"type":"stream.ended","stream":1,"cause":"cancelled","ageMs":10000,"events":4,"bytes":514}
      {"type":"watch.phase","from":"listing","to":"connecting","reason":"watch-list-refused"}
    connected
      > send request 2 on 2
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"watch-list-refused"}
      {"type":"request.sent","request":2,"connection":2,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    "#);
}

#[test]
fn initial_events_that_keep_coming_are_waited_for() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        +9s
        ADDED b@7
        +9s
        BOOKMARK 100 end"), @r#"
    200
      {"type":"request.answered","request":1,"status":200}
      {"type":"stream.opened","stream":1,"request":1}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED a@5
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
    +9s
    ADDED b@7
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":109}
    +9s
    BOOKMARK 100 end
      {"type":"bookmark","stream":1,"resourceVersion":"100","initialEventsEnd":true}
      {"type":"list.complete","resourceVersion":"100","items":2,"added":2,"changed":0,"removed":0}
      {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
    "#);
}

#[test]
fn initial_events_of_a_state_before_progress_infer_nothing() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        BOOKMARK 100 end
        ERROR 500 InternalError no leader
        end
        +2s
        200
        ADDED x@50
        BOOKMARK 90 end
        connected"), @r#"
    200
      {"type":"request.answered","request":1,"status":200}
      {"type":"stream.opened","stream":1,"request":1}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED a@5
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
    BOOKMARK 100 end
      {"type":"bookmark","stream":1,"resourceVersion":"100","initialEventsEnd":true}
      {"type":"list.complete","resourceVersion":"100","items":1,"added":1,"changed":0,"removed":0}
      {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
    ERROR 500 InternalError no leader
      {"type":"stream.error","stream":1,"code":500,"reason":"InternalError","message":"no leader"}
    end
      {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":0,"events":3,"bytes":439}
      {"type":"watch.phase","from":"streaming","to":"waiting","reason":"error-event","delayMs":1594}
    +2s
      > send request 2 on 1
      {"type":"watch.phase","from":"waiting","to":"connecting","reason":"error-event"}
      {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"}
    200
      {"type":"request.answered","request":2,"status":200}
      {"type":"stream.opened","stream":2,"request":2}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED x@50
    BOOKMARK 90 end
      > close main
      > connect main
      {"type":"bookmark","stream":2,"resourceVersion":"90","initialEventsEnd":true}
      {"type":"stream.ended","stream":2,"cause":"cancelled","ageMs":406,"events":2,"bytes":286}
      {"type":"watch.phase","from":"listing","to":"connecting","reason":"first-list"}
    connected
      > send request 3 on 2
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"first-list"}
      {"type":"request.sent","request":3,"connection":2,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    "#);
}

#[test]
fn initial_events_at_lower_versions_than_delivered_make_the_probe_list() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        ADDED b@7
        BOOKMARK 100 end
        MODIFIED a@160
        ERROR 410 Expired too old
        end
        +2s
        200
        ADDED a@5
        ADDED b@7
        BOOKMARK 5000 end
        connected
        200
        list 5001 a@5 b@7"), @r#"
    200
      {"type":"request.answered","request":1,"status":200}
      {"type":"stream.opened","stream":1,"request":1}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED a@5
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
    ADDED b@7
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":109}
    BOOKMARK 100 end
      {"type":"bookmark","stream":1,"resourceVersion":"100","initialEventsEnd":true}
      {"type":"list.complete","resourceVersion":"100","items":2,"added":2,"changed":0,"removed":0}
      {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
    MODIFIED a@160
      {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
    ERROR 410 Expired too old
      {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
    end
      {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":0,"events":5,"bytes":708}
      {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":1594}
    +2s
      > send request 2 on 1
      {"type":"watch.phase","from":"waiting","to":"connecting","reason":"expired"}
      {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&sendInitialEvents=true&resourceVersion=160&resourceVersionMatch=NotOlderThan"}
    200
      {"type":"request.answered","request":2,"status":200}
      {"type":"stream.opened","stream":2,"request":2,"resourceVersion":"160"}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED a@5
    ADDED b@7
    BOOKMARK 5000 end
      > close main
      > connect main
      {"type":"bookmark","stream":2,"resourceVersion":"5000","initialEventsEnd":true}
      {"type":"stream.ended","stream":2,"cause":"cancelled","ageMs":406,"events":3,"bytes":423}
      {"type":"watch.phase","from":"listing","to":"connecting","reason":"first-list"}
    connected
      > send request 3 on 2
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"first-list"}
      {"type":"request.sent","request":3,"connection":2,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    200
      {"type":"request.answered","request":3,"status":200}
    list 5001 a@5 b@7
      {"type":"list.page","request":3,"resourceVersion":"5001","items":2,"namespace":"shop","name":"a","uid":"u-a","listed":"5"}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"restored","delayMs":1000}
    "#);
}

#[test]
fn a_server_that_is_behind_is_asked_for_a_list_of_the_most_recent_state_at_once() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        BOOKMARK 100 end
        ERROR 410 Expired too old
        end
        +2s
        200
        ERROR 504 Timeout Too large resource version: 100, current: 90
        end
        200
        list 90 a@5
        +2s
        200
        list 90 a@5"), @r#"
    200
      {"type":"request.answered","request":1,"status":200}
      {"type":"stream.opened","stream":1,"request":1}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ADDED a@5
      {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
    BOOKMARK 100 end
      {"type":"bookmark","stream":1,"resourceVersion":"100","initialEventsEnd":true}
      {"type":"list.complete","resourceVersion":"100","items":1,"added":1,"changed":0,"removed":0}
      {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
    ERROR 410 Expired too old
      {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
    end
      {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":0,"events":3,"bytes":431}
      {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":1594}
    +2s
      > send request 2 on 1
      {"type":"watch.phase","from":"waiting","to":"connecting","reason":"expired"}
      {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&sendInitialEvents=true&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
    200
      {"type":"request.answered","request":2,"status":200}
      {"type":"stream.opened","stream":2,"request":2,"resourceVersion":"100"}
      {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
    ERROR 504 Timeout Too large resource version: 100, current: 90
      {"type":"stream.error","stream":2,"code":504,"reason":"Timeout","message":"Too large resource version: 100, current: 90"}
    end
      > send request 3 on 1
      {"type":"stream.ended","stream":2,"cause":"error-event","ageMs":406,"events":1,"bytes":182}
      {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    200
      {"type":"request.answered","request":3,"status":200}
    list 90 a@5
      {"type":"list.page","request":3,"resourceVersion":"90","items":1}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"restored","delayMs":1000}
    +2s
      > send request 4 on 1
      {"type":"watch.phase","from":"waiting","to":"stopped","reason":"restored"}
      {"type":"watch.stopped","reason":"restored"}
      {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
      {"type":"watch.phase","to":"listing","reason":"first-list"}
      {"type":"request.sent","request":4,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    200
      {"type":"request.answered","request":4,"status":200}
    list 90 a@5
      > send request 5 on 1
      {"type":"list.page","request":4,"resourceVersion":"90","items":1}
      {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
      {"type":"list.complete","resourceVersion":"90","items":1,"added":1,"changed":0,"removed":0}
      {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
      {"type":"request.sent","request":5,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=506&resourceVersion=90"}
    "#);
}

#[test]
fn changes_within_the_initial_events_are_live() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        MODIFIED a@6
        DELETED a@7
        BOOKMARK 100 end"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
  {"type":"stream.opened","stream":1,"request":1}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@5
  {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
MODIFIED a@6
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"6","bytes":109}
DELETED a@7
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"7","bytes":109}
BOOKMARK 100 end
  {"type":"bookmark","stream":1,"resourceVersion":"100","initialEventsEnd":true}
  {"type":"list.complete","resourceVersion":"100","items":1,"added":1,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
"#);
}

#[test]
fn new_but_old_initial_events_are_written_once_their_state_proves_new() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        BOOKMARK 100 end
        ERROR 500 InternalError no leader
        end
        +2s
        200
        ADDED a@5
        ADDED x@50
        ADDED y@110
        BOOKMARK 120 end"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
  {"type":"stream.opened","stream":1,"request":1}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@5
  {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
BOOKMARK 100 end
  {"type":"bookmark","stream":1,"resourceVersion":"100","initialEventsEnd":true}
  {"type":"list.complete","resourceVersion":"100","items":1,"added":1,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
ERROR 500 InternalError no leader
  {"type":"stream.error","stream":1,"code":500,"reason":"InternalError","message":"no leader"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":0,"events":3,"bytes":439}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"error-event","delayMs":1594}
+2s
  > send request 2 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"error-event"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":2,"status":200}
  {"type":"stream.opened","stream":2,"request":2}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@5
ADDED x@50
ADDED y@110
  {"type":"change","stream":2,"change":"ADDED","origin":"initial","namespace":"shop","name":"y","uid":"u-y","resourceVersion":"110","bytes":111}
BOOKMARK 120 end
  {"type":"bookmark","stream":2,"resourceVersion":"120","initialEventsEnd":true}
  {"type":"change","stream":2,"change":"ADDED","origin":"initial","namespace":"shop","name":"x","uid":"u-x","resourceVersion":"50","bytes":110}
  {"type":"list.complete","resourceVersion":"120","items":3,"added":2,"changed":0,"removed":0}
  {"type":"gap","since":0,"from":"100","to":"120","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
"#);
}

#[test]
fn a_deferred_event_of_a_deleted_object_does_not_bring_it_back() {
    assert_snapshot!(watch_listing("200
        ADDED a@5
        BOOKMARK 100 end
        ERROR 500 InternalError no leader
        end
        +2s
        200
        ADDED a@5
        ADDED x@50
        DELETED x@110
        BOOKMARK 120 end").split_once("+2s").unwrap().1, @r#"
  > send request 2 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"error-event"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":2,"status":200}
  {"type":"stream.opened","stream":2,"request":2}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@5
ADDED x@50
DELETED x@110
  {"type":"change","stream":2,"change":"DELETED","origin":"live","namespace":"shop","name":"x","uid":"u-x","resourceVersion":"110","bytes":111}
BOOKMARK 120 end
  {"type":"bookmark","stream":2,"resourceVersion":"120","initialEventsEnd":true}
  {"type":"list.complete","resourceVersion":"120","items":2,"added":0,"changed":0,"removed":0}
  {"type":"gap","since":0,"from":"100","to":"120","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
"#);
}

#[test]
fn a_live_event_keeps_the_deferred_event_of_a_namesake_in_another_namespace() {
    let config = ProbeConfig {
        watch_list: true,
        ..ProbeConfig::default()
    };
    let event = |change: &str, namespace: &str, version: u64| {
        format!(
            r#"line {{"type":"{change}","object":{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"x","namespace":"{namespace}","uid":"u-{namespace}","resourceVersion":"{version}"}}}}}}"#
        )
    };
    let script = [
        "start\nconnected\n200\nBOOKMARK 100 end\nERROR 500 InternalError no leader\nend\n+2s\n200"
            .to_owned(),
        event("ADDED", "shop", 50),
        event("ADDED", "front", 60),
        event("MODIFIED", "front", 110),
        "BOOKMARK 120 end".to_owned(),
    ];
    let said = story_with(watching("", "Pod"), config, &script.join("\n"));
    let put_aside = r#""change":"ADDED","origin":"initial","namespace":"shop","name":"x","uid":"u-shop","resourceVersion":"50""#;
    assert!(said.contains(put_aside), "{said}");
}
