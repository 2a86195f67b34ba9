//! Resources that another apiserver serves through the cluster's: versions without an order, objects with only a name.

use crate::stage::{pods, story_with, streaming, streaming_aggregated};
use insta::assert_snapshot;
use watchscope_probe::{ProbeConfig, Served, WatchSpec};

/// A DELETED as `OpenShift`'s projects send it.
const NAMED: &str = r#"line {"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","creationTimestamp":null}}}"#;

#[test]
fn the_log_records_that_the_versions_are_another_apiservers() {
    let served = Some(Served {
        version: "v1".into(),
        kind: "Pod".into(),
        is_aggregated: true,
    });
    assert_snapshot!(story_with(WatchSpec { served, ..pods() }, ProbeConfig::default(), "start"), @r#"
start
  > connect main
  {"type":"watch.started","group":"","version":"v1","resource":"pods","namespace":"shop","aggregated":true}
  {"type":"watch.phase","to":"connecting","reason":"started"}
"#);
}

#[test]
fn a_deleted_with_only_a_name_deletes_the_held_object_and_does_not_move_progress() {
    let script = format!(
        "MODIFIED b@150
        {NAMED}
        end
        200"
    );
    assert_snapshot!(streaming_aggregated(&script), @r#"
MODIFIED b@150
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"150","bytes":111}
line {"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","creationTimestamp":null}}}
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":100}
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":3000,"events":2,"bytes":270}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=150"}
200
  {"type":"request.answered","request":3,"status":200}
  {"type":"stream.opened","stream":2,"request":3,"resourceVersion":"150"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
"#);
    // From the cluster's own apiserver this is unreadable.
    assert_snapshot!(streaming(NAMED), @r#"
line {"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","creationTimestamp":null}}}
  > close main
  {"type":"loss","where":"frame","count":1,"bytes":129,"reason":"no metadata.resourceVersion","what":"malformed"}
  {"type":"stream.ended","stream":1,"cause":"decode","ageMs":3000,"events":0,"bytes":129}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"decode","delayMs":945}
"#);
}

#[test]
fn a_deleted_with_only_the_name_of_no_held_object_does_nothing() {
    assert_snapshot!(streaming_aggregated(&format!("{NAMED}\n{NAMED}\nend")), @r#"
line {"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","creationTimestamp":null}}}
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":100}
line {"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","creationTimestamp":null}}}
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":3000,"events":2,"bytes":258}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=100"}
"#);
}

#[test]
fn a_deleted_with_the_held_version_does_not_move_progress_and_any_other_does() {
    assert_snapshot!(streaming_aggregated("MODIFIED b@150
        DELETED a@5
        ADDED c@40
        DELETED c@41
        end"), @r#"
MODIFIED b@150
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"150","bytes":111}
DELETED a@5
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5","bytes":109}
ADDED c@40
  {"type":"change","stream":1,"change":"ADDED","origin":"live","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"40","bytes":110}
DELETED c@41
  {"type":"change","stream":1,"change":"DELETED","origin":"live","namespace":"shop","name":"c","uid":"u-c","resourceVersion":"41","bytes":110}
end
  > send request 3 on 1
  {"type":"stream.ended","stream":1,"cause":"end","ageMs":3000,"events":4,"bytes":555}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"resume"}
  {"type":"request.sent","request":3,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=430&resourceVersion=41"}
"#);
}

#[test]
fn a_list_with_a_lower_number_counts_like_any_other() {
    assert_snapshot!(streaming_aggregated("MODIFIED b@150
        ERROR 410 Expired gone
        end
        +1s
        200
        list 7 b@7
        200"), @r#"
MODIFIED b@150
  {"type":"change","stream":1,"change":"MODIFIED","origin":"live","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"150","bytes":111}
ERROR 410 Expired gone
  {"type":"stream.error","stream":1,"code":410,"reason":"Expired","message":"gone"}
end
  {"type":"stream.ended","stream":1,"cause":"error-event","ageMs":3000,"events":2,"bytes":283}
  {"type":"watch.phase","from":"streaming","to":"waiting","reason":"expired","delayMs":945}
+1s
  > send request 3 on 1
  {"type":"watch.phase","from":"waiting","to":"listing","reason":"expired"}
  {"type":"request.sent","request":3,"connection":1,"verb":"list","path":"/api/v1/namespaces/shop/pods","query":"limit=500&resourceVersion=150&resourceVersionMatch=NotOlderThan"}
200
  {"type":"request.answered","request":3,"status":200}
list 7 b@7
  > send request 4 on 1
  {"type":"list.page","request":3,"resourceVersion":"7","items":1}
  {"type":"change","change":"MODIFIED","origin":"list","namespace":"shop","name":"b","uid":"u-b","resourceVersion":"7","bytes":78}
  {"type":"change","change":"DELETED","origin":"inferred","namespace":"shop","name":"a","uid":"u-a","resourceVersion":"5"}
  {"type":"list.complete","resourceVersion":"7","items":1,"added":0,"changed":1,"removed":1}
  {"type":"gap","since":0,"from":"150","to":"7","reason":"error-event","resumed":false}
  {"type":"watch.phase","from":"listing","to":"connecting","reason":"listed"}
  {"type":"request.sent","request":4,"connection":1,"verb":"watch","path":"/api/v1/namespaces/shop/pods","query":"watch=true&allowWatchBookmarks=true&timeoutSeconds=561&resourceVersion=7"}
200
  {"type":"request.answered","request":4,"status":200}
  {"type":"stream.opened","stream":2,"request":4,"resourceVersion":"7"}
  {"type":"watch.phase","from":"connecting","to":"streaming","reason":"opened"}
"#);
}

#[test]
fn no_side_watch_proves_a_silent_stream_dead_and_only_its_own_timeout_does() {
    assert_snapshot!(streaming_aggregated("BOOKMARK 150
        +100s
        +500s
        +100s"), @r#"
BOOKMARK 150
  {"type":"bookmark","stream":1,"resourceVersion":"150"}
+100s
+500s
  > close main
  > connect main
  {"type":"stream.ended","stream":1,"cause":"idle-timeout","ageMs":591000,"events":1,"bytes":99}
  {"type":"watch.phase","from":"streaming","to":"connecting","reason":"idle"}
+100s
"#);
}
