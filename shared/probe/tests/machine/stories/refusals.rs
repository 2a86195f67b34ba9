//! The server refuses, for now or for long.

use crate::stage::{listing, pods, story, story_with, streaming};
use insta::assert_snapshot;
use watchscope_probe::{ProbeConfig, WatchSpec};

#[test]
fn too_many_requests_waits_as_long_as_asked_and_resumes_from_the_same_version() {
    assert_snapshot!(streaming("+400s
        end
        429 retry-after=7
        raw Too many requests, please try again later.
        end
        +12s"), @r#"
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
429 retry-after=7
raw Too many requests, please try again later.
end
  {"type":"request.answered","request":3,"status":429,"headers":{"retry-after":"7"},"retryAfterMs":7000,"error":"Too many requests, please try again later.","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"too-many-requests","delayMs":9440}
+12s
  > send request 4 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=506&resourceVersion=100"}
"#);
}

#[test]
fn the_wait_in_a_status_counts_if_no_header_has_one() {
    let status = r#"{"kind":"Status","code":429,"reason":"TooManyRequests","message":"storage is (re)initializing","details":{"retryAfterSeconds":9}}"#;
    assert_snapshot!(listing(&format!("429\nraw {status}\nend")), @r#"
429
raw {"kind":"Status","code":429,"reason":"TooManyRequests","message":"storage is (re)initializing","details":{"retryAfterSeconds":9}}
end
  {"type":"request.answered","request":1,"status":429,"retryAfterMs":9000,"error":"storage is (re)initializing","errorText":"message"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"too-many-requests","delayMs":12745}
"#);
    assert_snapshot!(listing(&format!("429 retry-after=2\nraw {status}\nend")), @r#"
429 retry-after=2
raw {"kind":"Status","code":429,"reason":"TooManyRequests","message":"storage is (re)initializing","details":{"retryAfterSeconds":9}}
end
  {"type":"request.answered","request":1,"status":429,"headers":{"retry-after":"2"},"retryAfterMs":2000,"error":"storage is (re)initializing","errorText":"message"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"too-many-requests","delayMs":3245}
"#);
}

#[test]
fn unread_bytes_of_a_refusal_are_counted() {
    let body = "x".repeat((64 << 10) + 7);
    let transcript = listing(&format!("500\nraw {body}\nend")).replace(&body, "…");
    let transcript = transcript.replace(&"x".repeat(500), "…");
    assert_snapshot!(transcript, @r#"
500
raw …
end
  {"type":"request.answered","request":1,"status":500,"error":"…","errorText":"message"}
  {"type":"loss","where":"frame","count":1,"bytes":7,"reason":"the body of a refusal is longer than 65536 bytes","what":"too-long"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"server-error","delayMs":1594}
"#);
}

#[test]
fn too_many_requests_in_band_resumes_without_a_relist() {
    assert_snapshot!(streaming("ERROR 429 TooManyRequests storage is (re)initializing
        end
        +2s"), @r#"
ERROR 429 TooManyRequests storage is (re)initializing
  {"type":"stream.error","stream":1,"code":429,"reason":"TooManyRequests","message":"storage is (re)initializing"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":173}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"too-many-requests","delayMs":945}
+2s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=100"}
"#);
}

#[test]
fn a_server_that_shuts_down_is_tried_again_after_retry_after() {
    assert_snapshot!(streaming("+400s
        end
        503 retry-after=1 connection=close
        raw apiserver is shutting down
        end
        +3s"), @r#"
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
503 retry-after=1 connection=close
raw apiserver is shutting down
end
  > close main
  {"type":"request.answered","request":3,"status":503,"headers":{"retry-after":"1","connection":"close"},"retryAfterMs":1000,"error":"apiserver is shutting down","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"server-error","delayMs":1443}
+3s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
"#);
}

#[test]
fn expired_credentials_are_loaded_again_once_and_then_slowly() {
    assert_snapshot!(streaming("+400s
        end
        401
        status 401 Unauthorized Unauthorized
        +2s
        connected
        401
        status 401 Unauthorized Unauthorized
        +59s
        connected
        200
        MODIFIED a@160"), @r#"
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
401
status 401 Unauthorized Unauthorized
  > close main
  > reload credentials
  {"type":"request.answered","request":3,"status":401,"error":"Unauthorized","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"unauthorized","delayMs":1443}
+2s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
connected
  > send request 4 on 2
  {"type":"request.sent","request":4,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=100"}
401
status 401 Unauthorized Unauthorized
  > close main
  {"type":"request.answered","request":4,"status":401,"error":"Unauthorized","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"refused","reason":"unauthorized","delayMs":43238}
+59s
  > connect main
  {"type":"watch.phase","from":"refused","to":"connecting","reason":"retry-due"}
connected
  > send request 5 on 3
  {"type":"request.sent","request":5,"connection":3,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion=100"}
200
  {"type":"request.answered","request":5,"status":200}
  {"type":"stream.opened","stream":2,"request":5,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
MODIFIED a@160
  {"type":"gap","since":0,"from":"100","to":"100","reason":"end","resumed":true,"lost":0}
  {"type":"change","stream":2,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
"#);
}

#[test]
fn unavailable_credentials_are_a_refusal() {
    assert_snapshot!(listing("401
        status 401 Unauthorized Unauthorized
        credentials failed exec plugin aws: exit status 1"), @r#"
401
status 401 Unauthorized Unauthorized
  > close main
  > reload credentials
  {"type":"request.answered","request":1,"status":401,"error":"Unauthorized","errorText":"message"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"unauthorized","delayMs":1594}
credentials failed exec plugin aws: exit status 1
  {"type":"watch.phase","from":"waiting","to":"refused","reason":"credentials","delayMs":53745,"error":"exec plugin aws: exit status 1"}
"#);
}

#[test]
fn a_revoked_right_is_tried_again_once_and_then_slowly_and_resumes_when_it_is_back() {
    assert_snapshot!(streaming("+400s
        end
        403
        status 403 Forbidden pods is forbidden: User dev cannot watch resource pods
        +2s
        403
        status 403 Forbidden pods is forbidden: User dev cannot watch resource pods
        +59s
        200
        MODIFIED a@160"), @r#"
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
403
status 403 Forbidden pods is forbidden: User dev cannot watch resource pods
  {"type":"request.answered","request":3,"status":403,"error":"pods is forbidden: User dev cannot watch resource pods","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"waiting","reason":"forbidden","delayMs":1443}
+2s
  > send request 4 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"retry-due"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=100"}
403
status 403 Forbidden pods is forbidden: User dev cannot watch resource pods
  {"type":"request.answered","request":4,"status":403,"error":"pods is forbidden: User dev cannot watch resource pods","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"refused","reason":"forbidden","delayMs":43238}
+59s
  > send request 5 on 1
  {"type":"watch.phase","from":"refused","to":"connecting","reason":"retry-due"}
  {"type":"request.sent","request":5,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=480&resourceVersion=100"}
200
  {"type":"request.answered","request":5,"status":200}
  {"type":"stream.opened","stream":2,"request":5,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
MODIFIED a@160
  {"type":"gap","since":0,"from":"100","to":"100","reason":"end","resumed":true,"lost":0}
  {"type":"change","stream":2,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
"#);
}

#[test]
fn a_removed_resource_is_looked_up_in_discovery_and_listed_when_it_is_back() {
    assert_snapshot!(streaming("+400s
        end
        404
        raw 404 page not found
        end
        not found
        found v1 Pod
        +3s
        200
        list 500 c@450"), @r#"
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
404
raw 404 page not found
end
  > discover
  {"type":"request.answered","request":3,"status":404,"error":"404 page not found","errorText":"message"}
  {"type":"watch.phase","from":"connecting","to":"refused","reason":"not-found","delayMs":37443}
not found
  {"type":"watch.phase","from":"refused","to":"refused","reason":"not-discovered","delayMs":110440}
found v1 Pod
  {"type":"watch.phase","from":"refused","to":"waiting","reason":"not-found","delayMs":838}
+3s
  > send request 4 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"retry-due"}
  {"type":"request.sent","request":4,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200
  {"type":"request.answered","request":4,"status":200}
list 500 c@450
  > send request 5 on 1
  {"type":"list.page","request":4,"resourceVersion":"500","items":1}
  {"type":"change","change":"ADDED","origin":"list","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"450","bytes":80}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5"}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7"}
  {"type":"list.complete","resourceVersion":"500","items":1,"added":1,"changed":0,"removed":2}
  {"type":"gap","since":0,"from":"100","to":"500","reason":"end","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":5,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=544&resourceVersion=500"}
"#);
}

#[test]
fn a_resource_that_was_never_discovered_waits() {
    assert_snapshot!(story_with(WatchSpec { served: None, ..pods() }, ProbeConfig::default(), "start
        not found
        +120s
        found v1 Pod
        connected"), @r#"
start
  > discover
  {"type":"watch.started","group":"","version":"","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"refused","reason":"not-discovered","delayMs":58635}
not found
  {"type":"watch.phase","from":"refused","to":"refused","reason":"not-discovered","delayMs":103994}
+120s
  > discover
  {"type":"watch.phase","from":"refused","to":"refused","reason":"not-discovered","delayMs":113745}
found v1 Pod
  > connect main
  {"type":"watch.phase","from":"refused","to":"connecting","reason":"started"}
connected
  > send request 1 on 1
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"first-list"}
  {"type":"request.sent","request":1,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
"#);
}

#[test]
fn an_answer_without_a_known_meaning_is_a_refusal() {
    assert_snapshot!(listing("302
        end"), @r#"
302
end
  {"type":"request.answered","request":1,"status":302,"error":"the server answered 302","errorText":"status-only"}
  {"type":"watch.phase","from":"listing","to":"refused","reason":"bad-request","delayMs":43994}
"#);
}

#[test]
fn a_server_that_refuses_the_constraint_is_listed_without_it() {
    assert_snapshot!(streaming("ERROR 410 Expired too old
        end
        +2s
        400
        status 400 BadRequest resourceVersionMatch is forbidden
        +4s"), @r#"
    ERROR 410 Expired too old
      {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"too old"}
    end
      {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":1,"bytes":145}
      {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
    +2s
      > send request 3 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
      {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=100&resourceVersionMatch=NotOlderThan"}
    400
    status 400 BadRequest resourceVersionMatch is forbidden
      {"type":"request.answered","request":3,"status":400,"error":"resourceVersionMatch is forbidden","errorText":"message"}
      {"type":"watch.phase","from":"listing","to":"waiting","reason":"bad-request","delayMs":840}
    +4s
      > send request 4 on 1
      {"type":"watch.phase","from":"waiting","to":"listing","reason":"bad-request"}
      {"type":"request.sent","request":4,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
    "#);
}

#[test]
fn messages_about_secrets_keep_only_reason_and_code() {
    assert_snapshot!(story_with(WatchSpec { name: "shop/secrets".into(), resource: "secrets".into(), ..pods() }, ProbeConfig::default(), r#"start
        connected
        403
        status 403 Forbidden canary
        +60s
        500
        raw canary
        end
        +3s
        500
        raw {"kind":"Status","code":500,"reason":"InternalError","message":"canary","details":{"kind":"Secret"}}
        end"#), @r#"
start
  > connect main
  {"type":"watch.started","watch":"shop/secrets","group":"","version":"v1","resource":"secrets","namespace":"shop"}
  {"type":"watch.phase","watch":"shop/secrets","to":"connecting","reason":"started"}
connected
  > send request 1 on 1
  {"type":"watch.phase","watch":"shop/secrets","from":"connecting","to":"listing","reason":"first-list"}
  {"type":"request.sent","watch":"shop/secrets","request":1,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/secrets","query":"limit=500"}
403
status 403 Forbidden canary
  {"type":"request.answered","watch":"shop/secrets","request":1,"status":403,"error":"Forbidden","errorText":"reason"}
  {"type":"watch.phase","watch":"shop/secrets","from":"listing","to":"refused","reason":"forbidden","delayMs":43994}
+60s
  > send request 2 on 1
  {"type":"watch.phase","watch":"shop/secrets","from":"refused","to":"listing","reason":"retry-due"}
  {"type":"request.sent","watch":"shop/secrets","request":2,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/secrets","query":"limit=500"}
500
raw canary
end
  {"type":"request.answered","watch":"shop/secrets","request":2,"status":500,"error":"the server answered 500","errorText":"status-only"}
  {"type":"watch.phase","watch":"shop/secrets","from":"listing","to":"waiting","reason":"server-error","delayMs":1443}
+3s
  > send request 3 on 1
  {"type":"watch.phase","watch":"shop/secrets","from":"waiting","to":"listing","reason":"retry-due"}
  {"type":"request.sent","watch":"shop/secrets","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/secrets","query":"limit=500"}
500
raw {"kind":"Status","code":500,"reason":"InternalError","message":"canary","details":{"kind":"Secret"}}
end
  {"type":"request.answered","watch":"shop/secrets","request":3,"status":500,"error":"InternalError","errorText":"reason"}
  {"type":"watch.phase","watch":"shop/secrets","from":"listing","to":"waiting","reason":"server-error","delayMs":1638}
"#);
}

#[test]
fn a_refusal_with_an_endless_body_is_acted_on() {
    assert_snapshot!(story(r#"start
        connected
        500
        raw {"kind":"Sta
        +5s"#), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"connecting","reason":"started"}
connected
  > send request 1 on 1
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"first-list"}
  {"type":"request.sent","request":1,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
500
raw {"kind":"Sta
+5s
  > close main
  {"type":"request.answered","request":1,"status":500,"error":"{\"kind\":\"Sta","errorText":"message"}
  {"type":"watch.phase","from":"listing","to":"waiting","reason":"server-error","delayMs":1594}
"#);
}
