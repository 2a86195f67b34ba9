//! Lists are read, read again, and compared with the held objects.

use insta::assert_snapshot;
use watchscope_probe::{ProbeConfig, Served, WatchSpec};

use crate::stage::{listing, pods, story, story_with, streaming};

#[test]
fn a_list_in_pages_is_written_page_by_page() {
    assert_snapshot!(story("start
        connected
        200
        list 100 a@5 continue=t/1
        200
        list 100 b@7 c@9"), @r#"
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
list 100 a@5 continue=t/1
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"100","items":1,"remaining":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"request.sent","request":2,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&continue=t%2F1"}
200
  {"type":"request.answered","request":2,"status":200}
list 100 b@7 c@9
  > send request 3 on 1
  {"type":"list.page","request":2,"resourceVersion":"100","items":2}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":78}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"9","bytes":78}
  {"type":"list.complete","resourceVersion":"100","items":3,"added":3,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
"#);
}

#[test]
fn an_expired_history_is_listed_at_progress_and_only_differences_are_written() {
    assert_snapshot!(streaming("MODIFIED a@160
        ERROR 410 Expired too old resource version: 160 (900)
        end
        +2s
        200
        list 1000 a@950 c@940
        200"), @r#"
MODIFIED a@160
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
ERROR 410 Expired too old resource version: 160 (900)
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old resource version: 160 (900)"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":2,"bytes":314}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=160&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
list 1000 a@950 c@940
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"1000","items":2}
  {"type":"change","change":"MODIFIED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"950","bytes":80}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"940","bytes":80}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7"}
  {"type":"list.complete","resourceVersion":"1000","items":2,"added":1,"changed":1,"removed":1}
  {"type":"gap","since":0,"from":"160","to":"1000","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=1000"}
200
  {"type":"request.answered","request":4,"status":200}
  {"type":"stream.opened","stream":2,"request":4,"resourceVersion":"1000"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
"#);
}

/// The delays before lists after an expired history, in milliseconds.
fn delay_of_expired(script: &str) -> Vec<u64> {
    let transcript = streaming(script);
    let rests = transcript
        .lines()
        .filter(|line| line.contains(r#""reason":"expired","delayMs""#));
    let delay = |line: &str| line.rsplit_once(':')?.1.trim_end_matches('}').parse().ok();
    rests.map(|line| delay(line).unwrap()).collect()
}

#[test]
fn earlier_failures_do_not_delay_the_list_of_an_expired_history() {
    let delays = delay_of_expired(
        "closed tcp-reset
        +2s
        connect failed unreachable refused
        +4s
        connect failed unreachable refused
        +8s
        connected
        200
        ERROR 410 Expired too old resource version: 100 (900)
        end",
    );
    assert!(matches!(delays[..], [800..1_600]), "{delays:?}");
}

#[test]
fn a_history_that_expires_again_within_60_s_is_listed_with_growing_delays() {
    let delays = delay_of_expired(
        "ERROR 410 Expired too old
        end
        +2s
        200
        list 1000 a@5 b@7
        200
        ERROR 410 Expired too old
        end
        +4s
        200
        list 1100 a@5 b@7
        200
        +70s
        ERROR 410 Expired too old
        end",
    );
    assert!(
        matches!(delays[..], [800..1_600, 1_600..3_200, 800..1_600]),
        "{delays:?}"
    );
}

#[test]
fn an_expired_history_as_an_http_status_is_handled_the_same() {
    assert_snapshot!(streaming("+400s
        end
        410
        status 410 Expired The resourceVersion for the provided watch is too old.
        +2s
        200
        list 1000 a@5 b@7"), @r#"
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
410
status 410 Expired The resourceVersion for the provided watch is too old.
  {"type":"request.answered","request":3,"status":410,"error":"The resourceVersion for the provided watch is too old.","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"expired","delayMs":1443}
+2s
  > send request 4 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":4,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":4,"status":200}
list 1000 a@5 b@7
  > send request 5 on 1
  {"type":"list.page","request":4,"resourceVersion":"1000","items":2}
  {"type":"list.complete","resourceVersion":"1000","items":2,"added":0,"changed":0,"removed":0}
  {"type":"gap","since":0,"from":"100","to":"1000","reason":"end","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":5,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=506&resourceVersion=1000"}
"#);
}

#[test]
fn a_list_without_a_following_stream_is_left_with_a_gap() {
    assert_snapshot!(listing("200
        list 100 a@5
        410
        status 410 Expired too old resource version: 100 (160)
        end
        +2s
        200
        list 170 a@165"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
list 100 a@5
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"100","items":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"list.complete","resourceVersion":"100","items":1,"added":1,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=100"}
410
status 410 Expired too old resource version: 100 (160)
  {"type":"request.answered","request":2,"status":410,"error":"too old resource version: 100 (160)","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"expired","delayMs":945}
end
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
list 170 a@165
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"170","items":1}
  {"type":"change","change":"MODIFIED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"165","bytes":80}
  {"type":"list.complete","resourceVersion":"170","items":1,"added":0,"changed":1,"removed":0}
  {"type":"gap","since":0,"from":"100","to":"170","reason":"refused","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=170"}
"#);
}

#[test]
fn a_second_expiry_without_a_document_in_between_lists_the_most_recent() {
    assert_snapshot!(streaming("ERROR 410 Expired too old
        end
        +2s
        200
        list 1000 a@5 b@7
        200
        ERROR 410 Gone too old
        end
        +5s"), @r#"
ERROR 410 Expired too old
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":145}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
list 1000 a@5 b@7
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"1000","items":2}
  {"type":"list.complete","resourceVersion":"1000","items":2,"added":0,"changed":0,"removed":0}
  {"type":"gap","since":0,"from":"100","to":"1000","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=1000"}
200
  {"type":"request.answered","request":4,"status":200}
  {"type":"stream.opened","stream":2,"request":4,"resourceVersion":"1000"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
ERROR 410 Gone too old
  {"type":"stream.error","stream":2,"code":410,"reason":"Gone","message":"too old"}
end
  {"type":"stream.ended","stream":2,"cause":"error-event","ageMs":0,"events":1,"bytes":142}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":1638}
+5s
  > send request 5 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":5,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
"#);
}

#[test]
fn an_internal_error_lists_the_most_recent_since_resuming_would_be_unsound() {
    assert_snapshot!(streaming("ERROR 500 InternalError etcdserver: no leader
        end
        +2s
        200
        list 1000 a@5 b@7"), @r#"
ERROR 500 InternalError etcdserver: no leader
  {"type":"stream.error","stream":1,"code":500,"reason":"InternalError","message":"etcdserver: no leader"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":165}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"error-event","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"error-event"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200
  {"type":"request.answered","request":3,"status":200}
list 1000 a@5 b@7
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"1000","items":2}
  {"type":"list.complete","resourceVersion":"1000","items":2,"added":0,"changed":0,"removed":0}
  {"type":"gap","since":0,"from":"100","to":"1000","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=1000"}
"#);
}

#[test]
fn the_probe_ends_a_stream_that_the_server_leaves_open_after_an_error() {
    assert_snapshot!(streaming("ERROR 410 Expired too old
        line {}
        +1s"), @r#"
ERROR 410 Expired too old
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
line {}
+1s
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":3,"reason":"bytes after an ERROR event","what":"after-end"}
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":4000,"events":1,"bytes":148}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
"#);
}

#[test]
fn another_uid_in_a_list_is_a_deletion_and_an_addition() {
    assert_snapshot!(streaming("ERROR 410 Expired too old
        end
        +2s
        200
        list 1000 a@5 b@900/other"), @r#"
ERROR 410 Expired too old
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":145}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
list 1000 a@5 b@900/other
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"1000","items":2}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7"}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"b","uid":"other","resourceVersion":"900","bytes":82}
  {"type":"list.complete","resourceVersion":"1000","items":2,"added":1,"changed":0,"removed":1}
  {"type":"gap","since":0,"from":"100","to":"1000","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=1000"}
"#);
}

#[test]
fn a_list_older_than_progress_changes_nothing_held_and_one_of_the_most_recent_begins_the_watch_anew()
 {
    assert_snapshot!(streaming("MODIFIED a@160
        ERROR 410 Expired too old
        end
        +2s
        200
        list 150 b@7
        +6s
        200
        list 155 b@7
        +12s
        200
        list 200 a@160 b@7"), @r#"
    MODIFIED a@160
      {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
    ERROR 410 Expired too old
      {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
    end
      {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":2,"bytes":286}
      {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
    +2s
      > send request 3 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
      {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=160&resourceVersionMatch=NotOlderThan"}
    200
      {"type":"request.answered","request":3,"status":200}
    list 150 b@7
      {"type":"list.page","request":3,"resourceVersion":"150","items":1}
      {"type":"list.complete","resourceVersion":"150","items":1,"added":0,"changed":0,"removed":0}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"too-large","delayMs":840}
    +6s
      > send request 4 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"too-large"}
      {"type":"request.sent","request":4,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    200
      {"type":"request.answered","request":4,"status":200}
    list 155 b@7
      {"type":"list.page","request":4,"resourceVersion":"155","items":1}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"restored","delayMs":1000}
    +12s
      > send request 5 on 1
      {"type":"watch.phase","from":"waiting","to":"stopped","reason":"restored"}
      {"type":"watch.stopped","reason":"restored"}
      {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
      {"type":"watch.phase","to":"listing","reason":"first-list"}
      {"type":"request.sent","request":5,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    200
      {"type":"request.answered","request":5,"status":200}
    list 200 a@160 b@7
      > send request 6 on 1
      {"type":"list.page","request":5,"resourceVersion":"200","items":2}
      {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":80}
      {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":78}
      {"type":"list.complete","resourceVersion":"200","items":2,"added":2,"changed":0,"removed":0}
      {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
      {"type":"request.sent","request":6,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=544&resourceVersion=200"}
    "#);
}

#[test]
fn a_server_that_is_behind_is_asked_for_the_most_recent_state_at_once() {
    assert_snapshot!(streaming("ERROR 410 Expired too old
        end
        +2s
        504
        status 504 Timeout Too large resource version: 100, current: 90
        +5s
        504
        status 504 Timeout Too large resource version: 100, current: 91
        +9s"), @r#"
    ERROR 410 Expired too old
      {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
    end
      {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":145}
      {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
    +2s
      > send request 3 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
      {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
    504
    status 504 Timeout Too large resource version: 100, current: 90
      > send request 4 on 1
      {"type":"request.answered","request":3,"status":504,"error":"Too large resource version: 100, current: 90","errorText":"message"}
      {"type":"request.sent","request":4,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    +5s
    504
    status 504 Timeout Too large resource version: 100, current: 91
      {"type":"request.answered","request":4,"status":504,"error":"Too large resource version: 100, current: 91","errorText":"message"}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"too-large","delayMs":838}
    +9s
      > send request 5 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"retry-due"}
      {"type":"request.sent","request":5,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    "#);
}

#[test]
fn an_expired_token_begins_the_list_again_and_a_second_one_without_pages() {
    assert_snapshot!(listing("200
        list 100 a@5 continue=t1
        410
        status 410 Expired The provided continue parameter is too old
        +2s
        200
        list 110 a@5 continue=t2
        410
        status 410 Expired The provided continue parameter is too old
        +5s
        200
        list 120 a@5 b@115"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
list 100 a@5 continue=t1
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"100","items":1,"remaining":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"request.sent","request":2,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&continue=t1"}
410
status 410 Expired The provided continue parameter is too old
  {"type":"request.answered","request":2,"status":410,"error":"The provided continue parameter is too old","errorText":"message"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"expired","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200
  {"type":"request.answered","request":3,"status":200}
list 110 a@5 continue=t2
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"110","items":1,"remaining":1}
  {"type":"request.sent","request":4,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&continue=t2"}
410
status 410 Expired The provided continue parameter is too old
  {"type":"request.answered","request":4,"status":410,"error":"The provided continue parameter is too old","errorText":"message"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"expired","delayMs":1638}
+5s
  > send request 5 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":5,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=0"}
200
  {"type":"request.answered","request":5,"status":200}
list 120 a@5 b@115
  > send request 6 on 1
  {"type":"list.page","request":5,"resourceVersion":"120","items":2}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"115","bytes":80}
  {"type":"list.complete","resourceVersion":"120","items":2,"added":2,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":6,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=544&resourceVersion=120"}
"#);
}

#[test]
fn a_page_cut_short_is_requested_again_by_its_token() {
    assert_snapshot!(story(r#"start
        connected
        200
        list 100 a@5 continue=t1
        200
        raw {"kind":"PodList","apiV
        end eof
        +2s
        connected
        200
        list 100 b@7"#), @r#"
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
list 100 a@5 continue=t1
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"100","items":1,"remaining":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"request.sent","request":2,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&continue=t1"}
200
  {"type":"request.answered","request":2,"status":200}
raw {"kind":"PodList","apiV
end eof
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":23,"reason":"the page was cut short (eof)","what":"cut-short"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"broken","delayMs":945}
+2s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
connected
  > send request 3 on 2
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"retry-due"}
  {"type":"request.sent","request":3,"connection":2,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&continue=t1"}
200
  {"type":"request.answered","request":3,"status":200}
list 100 b@7
  > send request 4 on 2
  {"type":"list.page","request":3,"resourceVersion":"100","items":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":78}
  {"type":"list.complete","resourceVersion":"100","items":2,"added":2,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=100"}
"#);
}

#[test]
fn pages_of_different_resource_versions_are_not_a_list() {
    assert_snapshot!(listing("200
        list 100 a@5 continue=t1
        200
        list 101 b@7
        +2s"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
list 100 a@5 continue=t1
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"100","items":1,"remaining":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"request.sent","request":2,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&continue=t1"}
200
  {"type":"request.answered","request":2,"status":200}
list 101 b@7
  {"type":"loss","where":"frame","count":1,"bytes":162,"reason":"pages of one list have different resourceVersions","what":"malformed"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"malformed","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"retry-due"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
"#);
}

#[test]
fn a_list_that_goes_in_a_circle_is_begun_again_after_a_wait() {
    assert_snapshot!(listing("200
        list 100 a@5 continue=t1
        200
        list 100 b@7 continue=t1
        +2s"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
list 100 a@5 continue=t1
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"100","items":1,"remaining":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"request.sent","request":2,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&continue=t1"}
200
  {"type":"request.answered","request":2,"status":200}
list 100 b@7 continue=t1
  {"type":"loss","where":"frame","count":1,"bytes":201,"reason":"a page of a list has the continue token it was asked for with","what":"malformed"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"malformed","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"retry-due"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
"#);
}

#[test]
fn a_page_over_the_limit_is_requested_again_in_smaller_pages() {
    assert_snapshot!(story_with(pods(), ProbeConfig { page_limit: 100, ..ProbeConfig::default() }, "start
        connected
        200
        list 100 a@5 b@7
        +2s
        connected"), @r#"
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
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":241,"reason":"a page of 500 items is longer than 100 bytes","what":"too-long"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"malformed","delayMs":1594}
+2s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
connected
  > send request 2 on 2
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"retry-due"}
  {"type":"request.sent","request":2,"connection":2,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=62"}
"#);
}

#[test]
fn an_answer_that_is_not_a_list_is_a_loss_and_the_list_is_tried_again() {
    assert_snapshot!(story(r#"start
        connected
        200
        raw {"kind":"Table","metadata":{"resourceVersion":"5"},"rows":[]}
        end
        +2s
        200
        raw <html>
        end"#), @r#"
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
raw {"kind":"Table","metadata":{"resourceVersion":"5"},"rows":[]}
end
  {"type":"loss","where":"frame","count":1,"bytes":61,"reason":"kind Table where PodList was asked for","what":"other-kind"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"malformed","delayMs":1594}
+2s
  > send request 2 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"retry-due"}
  {"type":"request.sent","request":2,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200
  {"type":"request.answered","request":2,"status":200}
raw <html>
end
  {"type":"loss","where":"frame","count":1,"bytes":6,"reason":"not JSON at byte 0","what":"malformed"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"malformed","delayMs":3043}
"#);
}

#[test]
fn an_item_of_another_kind_or_without_a_name_is_a_loss_and_the_others_are_read() {
    assert_snapshot!(story(r#"start
        connected
        200
        raw {"kind":"PodList","metadata":{"resourceVersion":"5"},"items":[{"kind":"Secret","metadata":{"name":"x","resourceVersion":"1"}},{"metadata":{"resourceVersion":"1"}},{"metadata":{"name":"ok","resourceVersion":"1"}}]}
        end"#), @r#"
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
raw {"kind":"PodList","metadata":{"resourceVersion":"5"},"items":[{"kind":"Secret","metadata":{"name":"x","resourceVersion":"1"}},{"metadata":{"resourceVersion":"1"}},{"metadata":{"name":"ok","resourceVersion":"1"}}]}
end
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"5","items":3}
  {"type":"loss","where":"frame","count":1,"bytes":63,"reason":"an item of a list: kind Secret where Pod was asked for","what":"item"}
  {"type":"loss","where":"frame","count":1,"bytes":36,"reason":"an item of a list: no metadata.name","what":"item"}
  {"type":"change","change":"ADDED","origin":"list","name":"ok","resourceVersion":"1","bytes":48}
  {"type":"list.complete","resourceVersion":"5","items":3,"added":1,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=5"}
"#);
}

#[test]
fn a_list_without_a_resource_version_is_watched_from_any_state() {
    assert_snapshot!(story(r#"start
        connected
        200
        raw {"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"a","namespace":"shop","uid":"u-a","resourceVersion":"1"}}]}
        end
        200
        ADDED a@1
        ADDED b@2
        MODIFIED a@3
        +400s
        end
        200"#), @r#"
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
raw {"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"a","namespace":"shop","uid":"u-a","resourceVersion":"1"}}]}
end
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"","items":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"1","bytes":78}
  {"type":"list.complete","resourceVersion":"","items":1,"added":1,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561"}
200
  {"type":"request.answered","request":2,"status":200}
  {"type":"stream.opened","stream":1,"request":2}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@1
ADDED b@2
  {"type":"change","stream":1,"change":"ADDED","origin":"initial","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"2","bytes":109}
MODIFIED a@3
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"3","bytes":109}
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":400000,"events":3,"bytes":411}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=3"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"3"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
"#);
}

#[test]
fn objects_from_a_stream_of_any_state_are_not_counted_again_by_the_next_list() {
    let transcript = story(
        r#"start
        connected
        200
        raw {"kind":"PodList","metadata":{},"items":[]}
        end
        200
        ADDED a@2
        +400s
        end
        200
        raw {"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"a","namespace":"shop","uid":"u-a","resourceVersion":"2"}}]}
        end
        200
        ADDED a@2
        ADDED b@3
        MODIFIED a@4
        ERROR 410 Expired
        end
        +2s
        200
        list 9 a@4 b@3"#,
    );
    let lists: Vec<&str> = transcript
        .lines()
        .filter(|line| line.contains("list.complete"))
        .collect();
    assert_snapshot!(lists.join("\n"), @r#"
{"type":"list.complete","resourceVersion":"","items":0,"added":0,"changed":0,"removed":0}
{"type":"list.complete","resourceVersion":"","items":1,"added":0,"changed":0,"removed":0}
{"type":"list.complete","resourceVersion":"9","items":2,"added":0,"changed":0,"removed":0}
"#);
}

#[test]
fn objects_that_an_attempt_saw_beyond_the_successful_list_are_not_deleted() {
    // Two servers at different versions answer; neither is older than progress.
    assert_snapshot!(streaming("ERROR 410 Expired too old
        end
        +2s
        200
        list 200 new@180 continue=T
        200
        raw <html>
        end
        +6s
        200
        list 160 a@5"), @r#"
    ERROR 410 Expired too old
      {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
    end
      {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":145}
      {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
    +2s
      > send request 3 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
      {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
    200
      {"type":"request.answered","request":3,"status":200}
    list 200 new@180 continue=T
      > send request 4 on 1
      {"type":"list.page","request":3,"resourceVersion":"200","items":1,"remaining":1}
      {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"new","uid":"u-new","resourceVersion":"180","bytes":84}
      {"type":"request.sent","request":4,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&continue=T"}
    200
      {"type":"request.answered","request":4,"status":200}
    raw <html>
    end
      {"type":"loss","where":"frame","count":1,"bytes":6,"reason":"not JSON at byte 0","what":"malformed"}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"malformed","delayMs":838}
    +6s
      > send request 5 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"retry-due"}
      {"type":"request.sent","request":5,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
    200
      {"type":"request.answered","request":5,"status":200}
    list 160 a@5
      > send request 6 on 1
      {"type":"list.page","request":5,"resourceVersion":"160","items":1}
      {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7"}
      {"type":"list.complete","resourceVersion":"160","items":1,"added":1,"changed":0,"removed":1}
      {"type":"gap","since":0,"from":"100","to":"160","reason":"error-event","resumed":false}
      {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
      {"type":"request.sent","request":6,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=544&resourceVersion=160"}
    "#);
}

#[test]
fn a_server_that_lost_an_event_and_has_a_later_one_is_recorded_and_changes_nothing_held() {
    let transcript = streaming(
        "MODIFIED a@160
        MODIFIED b@170
        ERROR 410 Expired too old
        end
        +2s
        200
        list 200 a@5 b@170",
    );
    let of_list = |line: &&str| {
        line.contains(r#""origin":"list""#) || line.contains(r#""type":"list.complete""#)
    };
    let lines: Vec<&str> = transcript.lines().filter(of_list).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    {"type":"change","change":"MODIFIED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
    {"type":"list.complete","resourceVersion":"200","items":2,"added":0,"changed":1,"removed":0}
    "#);
}

/// The records of a list by a watch whose history has expired. The watch was delivered a at 160 and c at 170, and is
/// at 175 by a bookmark; it holds b at 7.
fn listed_after_a_restore(spec: WatchSpec, page: &str) -> String {
    let script = format!(
        "start
        connected
        200
        list 100 a@5 b@7
        200
        MODIFIED a@160
        ADDED c@170
        BOOKMARK 175
        ERROR 410 Expired too old
        end
        +2s
        200
        {page}
        +2s
        200
        list 5010 a@5 b@7"
    );
    let transcript = story_with(spec, ProbeConfig::default(), &script);
    let (_, listed) = transcript.split_once("too old\"}").unwrap();
    let kinds = ["list.", "change", "watch."].map(|kind| format!("\"type\":\"{kind}"));
    let is_of_it = |line: &&str| kinds.iter().any(|kind| line.contains(kind));
    let lines: Vec<&str> = listed.lines().filter(is_of_it).collect();
    lines.join("\n")
}

#[test]
fn a_living_object_at_a_lower_version_in_a_list_above_progress_begins_the_watch_anew() {
    assert_snapshot!(listed_after_a_restore(pods(), "list 5000 a@5 b@7"), @r#"
    {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
    {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
    {"type":"list.page","request":3,"resourceVersion":"5000","items":2,"namespace":"shop","name":"a","uid":"u-a","listed":"5"}
    {"type":"watch.phase","from":"listing","to":"waiting","reason":"restored","delayMs":1000}
    {"type":"watch.phase","from":"waiting","to":"stopped","reason":"restored"}
    {"type":"watch.stopped","reason":"restored"}
    {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
    {"type":"watch.phase","to":"listing","reason":"first-list"}
    {"type":"list.page","request":4,"resourceVersion":"5010","items":2}
    {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
    {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":78}
    {"type":"list.complete","resourceVersion":"5010","items":2,"added":2,"changed":0,"removed":0}
    {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
    "#);
}

#[test]
fn a_lower_version_in_a_list_of_another_apiserver_does_not_begin_the_watch_anew() {
    let mut spec = pods();
    spec.served = spec.served.map(|served| Served {
        is_aggregated: true,
        ..served
    });
    let listed = listed_after_a_restore(spec, "list 5000 a@5 b@7");
    assert!(!listed.contains("restored"), "{listed}");
}

#[test]
fn a_lower_version_on_a_later_page_does_not_begin_the_watch_anew() {
    let pages = "list 5000 b@7 continue=next\n200\nlist 5000 a@5";
    let listed = listed_after_a_restore(pods(), pages);
    assert!(!listed.contains("restored"), "{listed}");
}

#[test]
fn another_object_of_the_same_name_at_a_lower_version_does_not_begin_the_watch_anew() {
    let listed = listed_after_a_restore(pods(), "list 5000 a@5/other b@7");
    assert!(!listed.contains("restored"), "{listed}");
}

#[test]
fn an_unreadable_item_is_not_gone() {
    assert_snapshot!(streaming(r#"ERROR 410 Expired too old
        end
        +2s
        200
        raw {"kind":"PodList","metadata":{"resourceVersion":"200"},"items":[{"metadata":{"name":"a","namespace":"shop","annotations":[]}}]}
        end"#), @r#"
ERROR 410 Expired too old
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":145}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
raw {"kind":"PodList","metadata":{"resourceVersion":"200"},"items":[{"metadata":{"name":"a","namespace":"shop","annotations":[]}}]}
end
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"200","items":1}
  {"type":"loss","where":"frame","count":1,"bytes":61,"reason":"an item of a list: of an unexpected shape at byte 121","what":"item"}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7"}
  {"type":"list.complete","resourceVersion":"200","items":1,"added":0,"changed":0,"removed":1}
  {"type":"gap","since":0,"from":"100","to":"200","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=200"}
"#);
}

#[test]
fn an_item_of_another_kind_or_without_a_version_is_not_gone() {
    let said = streaming(
        r#"ERROR 410 Expired too old
        end
        +2s
        200
        raw {"kind":"PodList","metadata":{"resourceVersion":"200"},"items":[{"kind":"Secret","metadata":{"name":"a","namespace":"shop","uid":"u-a","resourceVersion":"5"}},{"metadata":{"name":"b","namespace":"shop","uid":"u-b"}}]}
        end"#,
    );
    assert_eq!(said.matches(r#""type":"loss""#).count(), 2, "{said}");
    assert!(
        said.contains(r#""items":2,"added":0,"changed":0,"removed":0"#),
        "{said}"
    );
}

#[test]
fn while_an_item_without_a_name_is_unreadable_no_object_is_gone() {
    assert_snapshot!(streaming(r#"ERROR 410 Expired too old
        end
        +2s
        200
        raw {"kind":"PodList","metadata":{"resourceVersion":"200"},"items":[{"metadata":[]}]}
        end"#), @r#"
ERROR 410 Expired too old
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":145}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
raw {"kind":"PodList","metadata":{"resourceVersion":"200"},"items":[{"metadata":[]}]}
end
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"200","items":1}
  {"type":"loss","where":"frame","count":1,"bytes":15,"reason":"an item of a list: of an unexpected shape at byte 76","what":"item"}
  {"type":"list.complete","resourceVersion":"200","items":1,"added":0,"changed":0,"removed":0}
  {"type":"gap","since":0,"from":"100","to":"200","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=200"}
"#);
}

#[test]
fn an_item_nested_too_deep_is_a_loss_and_the_others_are_read() {
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    let script = format!(
        r#"ERROR 410 Expired too old
        end
        +2s
        200
        raw {{"kind":"PodList","metadata":{{"resourceVersion":"200"}},"items":[{{"spec":{deep},"metadata":{{"name":"a","namespace":"shop"}}}},{{"metadata":{{"name":"c","namespace":"shop","uid":"u-c","resourceVersion":"190"}}}}]}}
        end"#
    );
    let transcript = streaming(&script).replace(&deep, "DEEP");
    assert_snapshot!(transcript, @r#"
ERROR 410 Expired too old
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":145}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
raw {"kind":"PodList","metadata":{"resourceVersion":"200"},"items":[{"spec":DEEP,"metadata":{"name":"a","namespace":"shop"}},{"metadata":{"name":"c","namespace":"shop","uid":"u-c","resourceVersion":"190"}}]}
end
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"200","items":2}
  {"type":"loss","where":"frame","count":1,"bytes":852,"reason":"an item of a list: nested too deep at byte 197","what":"item"}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"190","bytes":80}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7"}
  {"type":"list.complete","resourceVersion":"200","items":2,"added":1,"changed":0,"removed":1}
  {"type":"gap","since":0,"from":"100","to":"200","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=200"}
"#);
}

#[test]
fn a_stream_without_progress_is_followed_by_a_list_because_no_stream_reports_earlier_deletions() {
    assert_snapshot!(listing(r#"200
        raw {"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"b","namespace":"shop","uid":"u-b","resourceVersion":"2"}}]}
        end
        200
        ADDED b@2
        closed tcp-reset
        +2s
        connected
        200
        raw {"kind":"PodList","metadata":{},"items":[]}
        end
        200
        ADDED a@1
        MODIFIED a@3"#), @r#"
200
  {"type":"request.answered","request":1,"status":200}
raw {"kind":"PodList","metadata":{},"items":[{"metadata":{"name":"b","namespace":"shop","uid":"u-b","resourceVersion":"2"}}]}
end
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"","items":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"2","bytes":78}
  {"type":"list.complete","resourceVersion":"","items":1,"added":1,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561"}
200
  {"type":"request.answered","request":2,"status":200}
  {"type":"stream.opened","stream":1,"request":2}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED b@2
closed tcp-reset
  {"type":"stream.ended","stream":1,"cause":"tcp-reset","ageMs":0,"events":1,"bytes":136}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"broken","delayMs":945}
+2s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"first-list"}
connected
  > send request 3 on 2
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"first-list"}
  {"type":"request.sent","request":3,"connection":2,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200
  {"type":"request.answered","request":3,"status":200}
raw {"kind":"PodList","metadata":{},"items":[]}
end
  > send request 4 on 2
  {"type":"list.page","request":3,"resourceVersion":"","items":0}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"2"}
  {"type":"list.complete","resourceVersion":"","items":0,"added":0,"changed":0,"removed":1}
  {"type":"gap","since":0,"reason":"tcp-reset","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561"}
200
  {"type":"request.answered","request":4,"status":200}
  {"type":"stream.opened","stream":2,"request":4}
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"opened"}
ADDED a@1
  {"type":"change","stream":2,"change":"ADDED","origin":"initial","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"1","bytes":109}
MODIFIED a@3
  {"type":"watch.phase","from":"listing","to":"streaming","reason":"initial-events-end"}
  {"type":"change","stream":2,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"3","bytes":109}
"#);
}

#[test]
fn a_list_whose_stream_cannot_be_reached_is_left_with_a_gap() {
    assert_snapshot!(listing("200
        list 100 a@5
        closed eof
        connect failed unreachable refused
        +2s
        connected
        200
        +3s"), @r#"
200
  {"type":"request.answered","request":1,"status":200}
list 100 a@5
  > send request 2 on 1
  {"type":"list.page","request":1,"resourceVersion":"100","items":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":78}
  {"type":"list.complete","resourceVersion":"100","items":1,"added":1,"changed":0,"removed":0}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":2,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=100"}
closed eof
  > connect main
  {"type":"request.answered","request":2,"error":"the connection was closed (eof) before an answer"}
connect failed unreachable refused
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"unreachable","delayMs":945,"error":"refused"}
+2s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
connected
  > send request 3 on 2
  {"type":"request.sent","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=100"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":1,"request":3,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
+3s
  {"type":"gap","since":0,"from":"100","to":"100","reason":"refused","resumed":true,"lost":0}
"#);
}
