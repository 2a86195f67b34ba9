//! A silent stream: either nothing happens, or the stream is dead.

use crate::stage::streaming;
use insta::assert_snapshot;

#[test]
fn a_stream_that_a_side_watch_proves_dead_is_ended_and_resumed() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side connected
        side 200
        side MODIFIED a@120
        side end
        connected
        200
        MODIFIED a@120"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side connected
  > send request 3 on 2
  {"type":"request.sent","watch":"shop/pods#s","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side 200
  {"type":"request.answered","watch":"shop/pods#s","request":3,"status":200}
side MODIFIED a@120
side end
  > close side
  > close main
  > connect main
  {"type":"stream.ended","stream":1,"cause":"idle-timeout","ageMs":93000,"events":1,"bytes":99}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"idle"}
connected
  > send request 4 on 3
  {"type":"request.sent","request":4,"connection":3,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=110"}
200
  {"type":"request.answered","request":4,"status":200}
  {"type":"stream.opened","stream":2,"request":4,"resourceVersion":"110"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
MODIFIED a@120
  {"type":"gap","since":0,"from":"110","to":"110","reason":"idle-timeout","resumed":true,"lost":0}
  {"type":"change","stream":2,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"120","bytes":111}
"#);
}

#[test]
fn a_bookmark_beyond_progress_is_proof_too() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side connected
        side 200
        side BOOKMARK 130
        side closed eof"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side connected
  > send request 3 on 2
  {"type":"request.sent","watch":"shop/pods#s","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side 200
  {"type":"request.answered","watch":"shop/pods#s","request":3,"status":200}
side BOOKMARK 130
side closed eof
  > close side
  > close main
  > connect main
  {"type":"stream.ended","stream":1,"cause":"idle-timeout","ageMs":93000,"events":1,"bytes":99}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"idle"}
"#);
}

#[test]
fn a_side_watch_with_nothing_new_proves_nothing_and_the_next_one_waits_60_s() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side connected
        side 200
        side BOOKMARK 110
        side end
        +59s
        +1s"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side connected
  > send request 3 on 2
  {"type":"request.sent","watch":"shop/pods#s","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side 200
  {"type":"request.answered","watch":"shop/pods#s","request":3,"status":200}
side BOOKMARK 110
side end
  > close side
+59s
+1s
  > connect side
"#);
}

#[test]
fn a_stream_that_delivers_during_a_side_watch_lives() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side connected
        side 200
        side MODIFIED a@120
        MODIFIED a@120
        +89s
        +1s"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side connected
  > send request 3 on 2
  {"type":"request.sent","watch":"shop/pods#s","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side 200
  {"type":"request.answered","watch":"shop/pods#s","request":3,"status":200}
side MODIFIED a@120
MODIFIED a@120
  > close side
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"120","bytes":111}
+89s
+1s
  > connect side
"#);
}

#[test]
fn an_unavailable_side_watch_proves_nothing() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side connect failed unreachable refused
        +60s
        side connected
        side 403
        +60s
        side connected
        side request failed broken reset
        +60s
        side connected
        +15s"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side connect failed unreachable refused
  > close side
+60s
  > connect side
side connected
  > send request 3 on 2
  {"type":"request.sent","watch":"shop/pods#s","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side 403
  > close side
  {"type":"request.answered","watch":"shop/pods#s","request":3,"status":403,"error":"the server answered 403","errorText":"status-only"}
+60s
  > connect side
side connected
  > send request 4 on 3
  {"type":"request.sent","watch":"shop/pods#s","request":4,"connection":3,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side request failed broken reset
  > close side
  {"type":"request.answered","watch":"shop/pods#s","request":4,"error":"reset"}
+60s
  > connect side
side connected
  > send request 5 on 4
  {"type":"request.sent","watch":"shop/pods#s","request":5,"connection":4,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
+15s
  > close side
  {"type":"request.answered","watch":"shop/pods#s","request":5,"error":"given up"}
"#);
}

#[test]
fn a_side_watch_waits_for_its_turn_on_a_shared_connection() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side later 120s
        +119s
        +1s
        side connected
        side 200"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side later 120s
+119s
+1s
  > connect side
side connected
  > send request 3 on 2
  {"type":"request.sent","watch":"shop/pods#s","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side 200
  {"type":"request.answered","watch":"shop/pods#s","request":3,"status":200}
"#);
}

#[test]
fn a_stream_far_over_its_timeout_does_not_wait_for_its_turn_of_a_side_watch() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side later 3600s
        +600s"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side later 3600s
+600s
  > close main
  > connect main
  {"type":"stream.ended","stream":1,"cause":"idle-timeout","ageMs":591000,"events":1,"bytes":99}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"idle"}
"#);
}

#[test]
fn a_turn_is_dropped_when_the_stream_delivers() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side later 60s
        MODIFIED a@120
        +89s
        +1s"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side later 60s
MODIFIED a@120
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"120","bytes":111}
+89s
+1s
  > connect side
"#);
}

#[test]
fn a_stream_without_bookmarks_may_be_silent_for_600_s() {
    assert_snapshot!(streaming("+596s
        +1s"), @r#"
+596s
+1s
  > connect side
"#);
}

#[test]
fn the_end_of_a_stream_ends_its_side_watch() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side connected
        side 200
        side MODIFIED a@120
        end"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side connected
  > send request 3 on 2
  {"type":"request.sent","watch":"shop/pods#s","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side 200
  {"type":"request.answered","watch":"shop/pods#s","request":3,"status":200}
side MODIFIED a@120
end
  > close side
  > send request 4 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":93000,"events":1,"bytes":99}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=110"}
"#);
}

#[test]
fn a_silent_stream_with_an_expired_history_ends_when_its_timeout_is_long_over() {
    assert_snapshot!(streaming("BOOKMARK 110
        +90s
        side connected
        side 200
        side ERROR 410 Expired too old resource version: 110 (140)
        side end
        +600s"), @r#"
BOOKMARK 110
  {"type":"bookmark","stream":1,"resourceVersion":"110"}
+90s
  > connect side
side connected
  > send request 3 on 2
  {"type":"request.sent","watch":"shop/pods#s","request":3,"connection":2,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=110"}
side 200
  {"type":"request.answered","watch":"shop/pods#s","request":3,"status":200}
side ERROR 410 Expired too old resource version: 110 (140)
side end
  > close side
+600s
  > connect side
  > close side
  > connect side
  > close side
  > connect side
  > close side
  > connect side
  > close side
  > connect side
  > close side
  > connect side
  > close side
  > connect side
  > close side
  > connect side
  > close side
  > close main
  > connect main
  {"type":"stream.ended","stream":1,"cause":"idle-timeout","ageMs":591000,"events":1,"bytes":99}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"idle"}
"#);
}

#[test]
fn a_side_watch_with_only_an_error_proves_nothing_and_the_stream_is_not_waited_for() {
    let after = |side: &str| {
        let said = streaming(&format!(
            "+597s
            side connected
            side 200
            side {side}
            side end
            +60s"
        ));
        said.contains(r#""cause":"idle-timeout""#)
    };
    assert!(after(
        "ERROR 410 Expired too old resource version: 100 (140)"
    ));
    assert!(!after("BOOKMARK 100"));
}
