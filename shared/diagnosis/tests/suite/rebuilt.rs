//! Tests of caches that are built anew: a 410 and the list behind it show them, as scripts of records.

use crate::stage::Stage;
use watchscope_model::vocabulary::Cause;

const WIDGETS: &str = "*/widgets.example.com";

/// Ends the stream of a watch in order 12 s after it was opened. Its resume from 10 gets a 410: the oldest version to
/// resume from is 15. Then the watch waits 1.2 s before it lists.
fn expired(stage: &mut Stage, watch: &str) {
    stage.after_s(12).ended_after(watch, Cause::End, 3);
    gone(stage, watch, "too old resource version: 10 (15)");
}

fn gone(stage: &mut Stage, watch: &str, words: &str) {
    stage.after_ms(300).reopened(watch).after_ms(2);
    stage.error(watch, 410, "Expired", words);
    stage.ended_after(watch, Cause::ErrorEvent, 1);
    stage.after_ms(1_200);
}

/// Lets the watch list at this version over a connection to this address, and go on from there.
fn lists(stage: &mut Stage, watch: &str, version: u64, remote: &str) {
    let connection = stage.connected(remote);
    stage
        .asks_for_a_list(watch, connection)
        .page(watch, version);
    stage.list_complete(watch, version, 0);
    stage.after_ms(10).gap_closed(watch, false);
    stage.opened(watch, remote);
}

const HERE: &str = "10.0.0.1:6443";

/// Returns the reasons of the two ends and the findings, if the list behind them is at this version.
fn judged(watch: &str, version: u64) -> String {
    let mut stage = Stage::new(1, &[watch]);
    expired(&mut stage, watch);
    lists(&mut stage, watch, version, HERE);
    format!("{}\n{}", stage.attributions().to_owned(), stage.found())
}

#[test]
fn a_cache_with_fewer_events_than_it_keeps_was_built_anew() {
    insta::assert_snapshot!(judged("*/pods", 114), @r"
12.250 */pods unknown unknown [5]
12.302 */pods F11 definite [10, 11]
13.502 */pods F16 likely [5, 10, 15]
14.250 F16 raised warning likely x1 */pods: The server ended */pods after 12.0 s and 3 events: its cache of the resource begins anew. It listed again; what happened in between is unknown.
15.250 F16 updated warning likely x1 */pods: The server ended */pods after 12.0 s and 3 events: its cache of the resource begins anew. Its history was gone with it (410), so it listed again; what happened in between is unknown.
");
}

#[test]
fn a_cache_that_may_hold_all_the_events_it_keeps_has_run_over() {
    insta::assert_snapshot!(judged("*/pods", 115), @r"
12.250 */pods unknown unknown [5]
12.302 */pods F11 definite [10, 11]
14.250 F11 raised warning definite x1 */pods: The server's watch cache no longer has the history that */pods asked for (410). It asked to resume from 10; the oldest version to resume from is 15, 5 later. It listed again; what happened in between is unknown.
");
}

#[test]
fn a_custom_resource_was_most_likely_defined_anew() {
    insta::assert_snapshot!(judged(WIDGETS, 20), @r"
12.250 */widgets.example.com unknown unknown [5]
12.302 */widgets.example.com F11 definite [10, 11]
13.502 */widgets.example.com F17 likely [5, 10, 15]
14.250 F17 raised note likely x1 */widgets.example.com: The server ended */widgets.example.com after 12.0 s and 3 events: the storage of its type was rebuilt. It listed again; what happened in between is unknown.
15.250 F17 updated note likely x1 */widgets.example.com: The server ended */widgets.example.com after 12.0 s and 3 events: the storage of its type was rebuilt. Its history was gone with it (410), so it listed again; what happened in between is unknown.
");
}

#[test]
fn an_edit_that_was_seen_is_the_evidence() {
    let definitions = "-/customresourcedefinitions.apiextensions.k8s.io";
    let mut stage = Stage::new(1, &[WIDGETS, definitions]);
    stage.held(definitions, "widgets.example.com", 1);
    stage
        .after_s(11)
        .changed(definitions, "widgets.example.com", 2);
    stage.after_s(1).ended_after(WIDGETS, Cause::End, 3);
    gone(&mut stage, WIDGETS, "too old resource version: 10 (15)");
    lists(&mut stage, WIDGETS, 20, HERE);
    insta::assert_snapshot!(format!("{}\n{}", stage.attributions().to_owned(), stage.found()), @r"
12.250 */widgets.example.com F17 likely [10, 11]
12.302 */widgets.example.com F11 definite [16, 17]
14.250 F17 raised note likely x1 */widgets.example.com: The server ended */widgets.example.com after 12.0 s and 3 events: the storage of its type was rebuilt. It listed again; what happened in between is unknown.
15.250 F17 updated note likely x1 */widgets.example.com: The server ended */widgets.example.com after 12.0 s and 3 events: the storage of its type was rebuilt. Its history was gone with it (410), so it listed again; what happened in between is unknown.
");
}

/// Returns the rows in the reasons of the ends of pods' streams, in order.
fn rows(stage: &mut Stage) -> Vec<String> {
    let mut said = std::collections::BTreeMap::new();
    for line in stage.attributions().lines() {
        let mut words = line
            .split([' ', '[', ',', ']'])
            .filter(|word| !word.is_empty());
        let answer = words.nth(2).unwrap().to_owned();
        let end: u64 = words.nth(1).unwrap().parse().unwrap();
        said.insert(end, answer);
    }
    said.into_values().collect()
}

#[test]
fn the_list_of_another_server_proves_nothing() {
    let mut stage = Stage::new(1, &["*/pods"]);
    expired(&mut stage, "*/pods");
    // The list is too late for its address to say anything about the end.
    stage.after_s(1);
    lists(&mut stage, "*/pods", 20, "10.0.0.2:6443");
    assert_eq!(rows(&mut stage), ["unknown", "F11"]);
    assert!(
        stage.found().contains("F11 raised warning definite"),
        "{}",
        stage.found()
    );
}

#[test]
fn a_cache_that_was_built_before_the_stream_ended_did_not_end_it() {
    let after = |seen| {
        let mut stage = Stage::new(1, &["*/pods", "*/nodes", "*/events"]);
        stage.bookmark("*/nodes", seen).bookmark("*/events", 99);
        expired(&mut stage, "*/pods");
        lists(&mut stage, "*/pods", 20, HERE);
        rows(&mut stage)
    };
    assert_eq!(after(15), ["F16", "F11"]);
    assert_eq!(after(16), ["unknown", "F11"]);
}

#[test]
fn the_end_at_a_timeout_is_the_timeouts() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(399).ended_after("*/pods", Cause::End, 3);
    gone(&mut stage, "*/pods", "too old resource version: 10 (15)");
    lists(&mut stage, "*/pods", 20, HERE);
    assert_eq!(rows(&mut stage), ["normal", "F11"]);
}

#[test]
fn a_reset_is_no_end_by_the_cache() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(12).ended_after("*/pods", Cause::TcpReset, 3);
    gone(&mut stage, "*/pods", "too old resource version: 10 (15)");
    lists(&mut stage, "*/pods", 20, HERE);
    assert_eq!(rows(&mut stage), ["F08", "F11"]);
}

#[test]
fn a_compaction_of_etcd_says_nothing_about_a_cache() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(12).ended_after("*/pods", Cause::End, 3);
    let words = "The resourceVersion for the provided watch is too old.";
    gone(&mut stage, "*/pods", words);
    lists(&mut stage, "*/pods", 20, HERE);
    assert_eq!(rows(&mut stage), ["unknown", "F12"]);
}

#[test]
fn another_apiservers_versions_are_not_counted() {
    let mut stage = Stage::served_by(true, 1, &[WIDGETS]);
    expired(&mut stage, WIDGETS);
    let connection = stage.connected(HERE);
    stage.asks_for_a_list(WIDGETS, connection);
    stage.list_complete(WIDGETS, 20, 0).opened(WIDGETS, HERE);
    assert_eq!(rows(&mut stage), ["unknown", "F11"]);
}

#[test]
fn a_list_that_comes_late_is_waited_for_at_most_ten_seconds() {
    let after = |wait_ms| {
        let mut stage = Stage::new(1, &["*/pods"]);
        expired(&mut stage, "*/pods");
        stage.after_ms(wait_ms);
        let early = stage.found().to_owned();
        lists(&mut stage, "*/pods", 20, HERE);
        (early, rows(&mut stage))
    };
    let (early, said) = after(8_700);
    assert_eq!(
        (&*early, said),
        ("", vec!["F16".to_owned(), "F11".to_owned()])
    );
    let (early, said) = after(8_900);
    assert!(early.contains("F11 raised warning definite"), "{early}");
    assert_eq!(said, ["unknown", "F11"]);
}

#[test]
fn a_connection_that_the_server_closed_with_the_stream_may_be_another_server_now() {
    let watches = ["*/pods"];
    let mut stage = Stage::new(1, &watches);
    let connection = stage.sharing(&watches);
    stage.after_s(12).ended_after("*/pods", Cause::End, 3);
    stage.closed(connection, Cause::Eof);
    gone(&mut stage, "*/pods", "too old resource version: 10 (15)");
    lists(&mut stage, "*/pods", 20, HERE);
    assert_eq!(rows(&mut stage), ["ours", "unknown", "F11"]);
}

#[test]
fn a_watch_list_shows_where_the_cache_stands_as_a_list_does() {
    let after = |version| {
        let mut stage = Stage::new(1, &["*/pods"]);
        expired(&mut stage, "*/pods");
        stage.opens_with_initial_events("*/pods");
        stage.end_bookmark("*/pods", version);
        rows(&mut stage)
    };
    assert_eq!(after(114), ["F16", "F11"]);
    assert_eq!(after(115), ["unknown", "F11"]);
}
