//! A stream ends, and the next one continues from progress.

use crate::stage::{story, streaming};
use insta::assert_snapshot;

#[test]
fn a_list_is_followed_by_a_stream_from_its_resource_version() {
    assert_snapshot!(story("start
        connected
        200 audit-id=7f content-type=application/json date=now
        list 100 a@5 b@7
        200
        ADDED c@101
        MODIFIED a@102
        DELETED b@103
        BOOKMARK 150
        stop"), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop"}
  {"type":"watch.phase","to":"connecting","reason":"started"}
connected
  > send request 1 on 1
  {"type":"watch.phase","from":"connecting","to":"listing","reason":"first-list"}
  {"type":"request.sent","request":1,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200 audit-id=7f content-type=application/json date=now
  {"type":"request.answered","request":1,"status":200,"headers":{"audit-id":"7f","content-type":"application/json"}}
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

#[test]
fn a_clean_end_resumes_from_progress_at_once_over_the_same_connection() {
    assert_snapshot!(streaming("MODIFIED a@150
        +400s
        end
        200
        MODIFIED a@160"), @r#"
MODIFIED a@150
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"150","bytes":111}
+400s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":403000,"events":1,"bytes":141}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=150"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"150"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
MODIFIED a@160
  {"type":"gap","since":0,"from":"150","to":"150","reason":"end","resumed":true,"lost":0}
  {"type":"change","stream":2,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
"#);
}

#[test]
fn a_reset_stream_resumes_from_progress_after_a_jittered_wait() {
    assert_snapshot!(streaming("MODIFIED a@160
        end tcp-reset
        +2s
        connected
        200
        MODIFIED a@170"), @r#"
MODIFIED a@160
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
end tcp-reset
  > close main
  {"type":"stream.ended","stream":1,"cause":"tcp-reset","ageMs":3000,"events":1,"bytes":141}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"broken","delayMs":945}
+2s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"resume"}
connected
  > send request 3 on 2
  {"type":"request.sent","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=160"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"160"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
MODIFIED a@170
  {"type":"gap","since":0,"from":"160","to":"160","reason":"tcp-reset","resumed":true,"lost":0}
  {"type":"change","stream":2,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"170","bytes":111}
"#);
}

#[test]
fn a_quiet_resumed_stream_closes_its_gap_once_the_server_has_had_time_to_refuse() {
    assert_snapshot!(streaming("end eof
        +2s
        connected
        200
        +1s
        +1s"), @r#"
end eof
  > close main
  {"type":"stream.ended","stream":1,"cause":"eof","ageMs":3000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"broken","delayMs":945}
+2s
  > connect main
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"resume"}
connected
  > send request 3 on 2
  {"type":"request.sent","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=100"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
+1s
+1s
  {"type":"gap","since":0,"from":"100","to":"100","reason":"eof","resumed":true,"lost":0}
"#);
}

#[test]
fn a_connection_that_closes_ends_its_stream_once() {
    assert_snapshot!(streaming("closed tls
        end tls"), @r#"
closed tls
  {"type":"stream.ended","stream":1,"cause":"tls","ageMs":3000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"broken","delayMs":945}
end tls
"#);
}

#[test]
fn a_goaway_moves_the_stream_to_a_new_connection_at_once() {
    assert_snapshot!(streaming("end goaway
        connected"), @r#"
end goaway
  > close main
  > connect main
  {"type":"stream.ended","stream":1,"cause":"goaway","ageMs":3000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
connected
  > send request 3 on 2
  {"type":"request.sent","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
"#);
}

#[test]
fn from_the_second_short_stream_on_streams_start_at_least_a_second_apart() {
    assert_snapshot!(streaming("end
        200
        ADDED c@101
        end
        200
        ADDED d@102
        end
        +2s"), @r#"
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":3000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
ADDED c@101
  {"type":"gap","since":0,"from":"100","to":"100","reason":"end","resumed":true,"lost":0}
  {"type":"change","stream":2,"change":"ADDED","origin":"live","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"101","bytes":111}
end
  > send request 4 on 1
  {"type":"stream.ended","stream":2,"cause":"end","ageMs":0,"events":1,"bytes":138}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=101"}
200
  {"type":"request.answered","request":4,"status":200}
  {"type":"stream.opened","stream":3,"request":4,"resourceVersion":"101"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
ADDED d@102
  {"type":"gap","since":0,"from":"101","to":"101","reason":"end","resumed":true,"lost":0}
  {"type":"change","stream":3,"change":"ADDED","origin":"live","namespace":"shop","name":"d","uid":"u-d","resourceVersion":"102","bytes":111}
end
  {"type":"stream.ended","stream":3,"cause":"end","ageMs":0,"events":1,"bytes":138}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"short-stream","delayMs":1440}
+2s
  > send request 5 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":5,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=506&resourceVersion=102"}
"#);
}

#[test]
fn three_streams_that_end_without_a_document_count_as_a_silent_expiry() {
    assert_snapshot!(streaming("end
        200
        end
        200
        end
        +2s
        200
        end
        +4s
        200
        list 300 a@5"), @r#"
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":3000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
end
  > send request 4 on 1
  {"type":"stream.ended","stream":2,"cause":"end","ageMs":0,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=382&resourceVersion=100"}
200
  {"type":"request.answered","request":4,"status":200}
  {"type":"stream.opened","stream":3,"request":4,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
end
  {"type":"stream.ended","stream":3,"cause":"end","ageMs":0,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"short-stream","delayMs":1440}
+2s
  > send request 5 on 1
  {"type":"watch.phase","from":"waiting","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":5,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=506&resourceVersion=100"}
200
  {"type":"request.answered","request":5,"status":200}
  {"type":"stream.opened","stream":4,"request":5,"resourceVersion":"100"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
end
  {"type":"stream.ended","stream":4,"cause":"end","ageMs":560,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"short-stream","delayMs":1051}
+4s
  > send request 6 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"short-stream"}
  {"type":"request.sent","request":6,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500"}
200
  {"type":"request.answered","request":6,"status":200}
list 300 a@5
  > send request 7 on 1
  {"type":"list.page","request":6,"resourceVersion":"300","items":1}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7"}
  {"type":"list.complete","resourceVersion":"300","items":1,"added":0,"changed":0,"removed":1}
  {"type":"gap","since":0,"from":"100","to":"300","reason":"end","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":7,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=539&resourceVersion=300"}
"#);
}

#[test]
fn progress_never_goes_down_and_old_versions_are_shown_as_they_come() {
    assert_snapshot!(streaming("MODIFIED a@160
        DELETED b@7
        ADDED a@140
        MODIFIED a@150
        +60s
        end
        200"), @r#"
MODIFIED a@160
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"160","bytes":111}
DELETED b@7
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":109}
ADDED a@140
  {"type":"change","stream":1,"change":"ADDED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"140","bytes":111}
MODIFIED a@150
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"150","bytes":111}
+60s
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":63000,"events":4,"bytes":558}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=160"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"160"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
"#);
}

#[test]
fn a_name_that_comes_back_with_another_uid_was_deleted_between() {
    assert_snapshot!(streaming("ADDED a@160/other
        DELETED b@170/other"), @r#"
ADDED a@160/other
  {"type":"change","stream":1,"change":"DELETED","origin":"inferred","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5"}
  {"type":"change","stream":1,"change":"ADDED","origin":"live","namespace":"shop","name":"a","uid":"other","resourceVersion":"160","bytes":113}
DELETED b@170/other
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"b","uid":"other","resourceVersion":"170","bytes":113}
"#);
}

#[test]
fn answers_to_requests_and_connections_given_up_are_ignored() {
    assert_snapshot!(streaming("end tcp-reset
        ADDED z@200
        end
        200
        request failed broken late"), @r#"
end tcp-reset
  > close main
  {"type":"stream.ended","stream":1,"cause":"tcp-reset","ageMs":3000,"events":0,"bytes":0}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"broken","delayMs":945}
ADDED z@200
end
200
request failed broken late
"#);
}
