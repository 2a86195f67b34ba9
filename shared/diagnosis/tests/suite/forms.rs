//! Tests of failures that show themselves in a quiet form, as scripts of records. Each has its twin.

use crate::stage::Stage;
use watchscope_model::vocabulary::{Cause, ChangeType};

const ADDED: ChangeType = ChangeType::Added;
const MODIFIED: ChangeType = ChangeType::Modified;

/// Writes an object of the watch every 2 s until `until_s` seconds have passed.
fn written(stage: &mut Stage, watch: &str, from: u64, until_s: u64) {
    for n in 0..until_s / 2 {
        stage.live(watch, MODIFIED, "a", "u1", from + n, None);
        stage.after_s(2);
    }
}

/// Returns the findings of a watch that asked for bookmarks, received none, and is written for 220 s.
fn without_bookmarks(watch: &str, version: &str) -> String {
    let mut stage = Stage::new(1, &[]);
    stage.of_version(version).by_address_of(watch);
    stage.asking_for_bookmarks(watch);
    stage.live(watch, ADDED, "a", "u1", 11, None);
    written(&mut stage, watch, 12, 220);
    stage.found().to_owned()
}

#[test]
fn a_stream_whose_own_events_move_lacks_bookmarks_without_another_watch() {
    insta::assert_snapshot!(without_bookmarks("*/pods", "v1.36.3"), @"150.000 F34 raised note definite x1 */pods: The stream of */pods is 150 s old, its own events came for 148.0 s, and it had no bookmark. Servers do not guarantee bookmarks.");
}

#[test]
fn a_type_without_a_watch_cache_lacks_no_bookmarks_though_its_events_move() {
    for watch in ["*/events", "*/events.events.k8s.io"] {
        assert_eq!(without_bookmarks(watch, "v1.36.3"), "");
    }
}

#[test]
fn servers_before_1_21_may_leave_out_bookmarks_though_events_move() {
    assert_eq!(without_bookmarks("*/pods", "v1.20.15"), "");
}

#[test]
fn a_type_of_another_apiserver_lacks_no_bookmarks_though_its_events_move() {
    let mut stage = Stage::served_by(true, 1, &["*/pods"]);
    stage.asking_for_bookmarks("*/pods");
    stage.live("*/pods", ADDED, "a", "u1", 11, None);
    written(&mut stage, "*/pods", 12, 220);
    assert_eq!(stage.found(), "");
}

#[test]
fn a_stream_that_asked_for_less_than_150_s_lacks_no_bookmark() {
    for (timeout_s, lacks) in [(149, false), (150, true)] {
        let mut stage = Stage::with_timeouts_of(timeout_s, 1, &["*/pods"]);
        stage.asking_for_bookmarks("*/pods");
        stage.live("*/pods", ADDED, "a", "u1", 11, None);
        written(&mut stage, "*/pods", 12, 220);
        assert_eq!(stage.found().contains(" F34 "), lacks, "{timeout_s} s");
    }
}

#[test]
fn the_bookmark_that_ends_initial_events_is_none_that_keeps_a_stream_young() {
    for later in [false, true] {
        let mut stage = Stage::new(1, &["*/pods"]);
        stage.ended("*/pods", Cause::Cancelled);
        stage.opens_with_initial_events_and_bookmarks("*/pods");
        stage.initial("*/pods", "a", 11).end_bookmark("*/pods", 12);
        written(&mut stage, "*/pods", 13, 60);
        if later {
            stage.bookmark("*/pods", 50);
        }
        written(&mut stage, "*/pods", 100, 160);
        assert_eq!(stage.found().contains(" F34 "), !later, "{later}");
    }
}

#[test]
fn a_stream_after_one_that_had_bookmarks_is_judged_by_its_own_time() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.asking_for_bookmarks("*/pods");
    stage.live("*/pods", ADDED, "a", "u1", 11, None);
    stage.after_s(60).bookmark("*/pods", 12);
    stage.asking_for_bookmarks("*/pods");
    written(&mut stage, "*/pods", 13, 148);
    assert_eq!(stage.found(), "");
    written(&mut stage, "*/pods", 200, 10);
    assert!(stage.found().contains(" F34 "));
}

/// Opens streams in a row that end with an ERROR 500 with these words; each list in between succeeds.
fn opened_and_broken(stage: &mut Stage, words: &[&str]) {
    for (version, words) in (20..).step_by(10).zip(words) {
        stage.reopened("*/pods").after_ms(10);
        stage.error("*/pods", 500, "InternalError", words);
        stage.ended("*/pods", Cause::ErrorEvent).after_s(1);
        stage.list_complete("*/pods", version, 0).after_s(1);
    }
}

#[test]
fn streams_that_end_by_what_cannot_be_converted_are_found_though_lists_between_them_succeed() {
    let words = [
        "conversion webhook for shop.example.com/v1, Kind=Promotion failed: connection refused",
        "unable to transform key \"/registry/promotions/a\"",
        "error decoding object",
    ];
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.ended("*/pods", Cause::Cancelled);
    opened_and_broken(&mut stage, &words);
    stage.reopened("*/pods").after_s(60);
    stage.bookmark("*/pods", 90).after_s(1);
    insta::assert_snapshot!(stage.found(), @r"
4.030 F38 raised error likely x1 */pods: 3 streams of */pods in a row ended with an ERROR about an object that cannot be read or converted (500). The lists between them succeeded.
66.030 F38 cleared error likely x1 */pods: The watch's stream delivers the type again.
");
}

#[test]
fn streams_that_end_without_a_leader_show_nothing_that_cannot_be_converted() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.ended("*/pods", Cause::Cancelled);
    opened_and_broken(&mut stage, &["etcdserver: no leader"; 3]);
    assert!(!stage.found().contains(" F38 "), "{}", stage.found());
}

#[test]
fn two_streams_and_one_after_a_stream_that_lived_are_not_three_in_a_row() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.ended("*/pods", Cause::Cancelled);
    let words = "conversion webhook for shop.example.com/v1 failed";
    opened_and_broken(&mut stage, &[words; 2]);
    stage.reopened("*/pods").bookmark("*/pods", 60);
    stage.ended("*/pods", Cause::End);
    opened_and_broken(&mut stage, &[words; 2]);
    assert!(!stage.found().contains(" F38 "), "{}", stage.found());
}
/// Ends the stream in order after 300 events within 1.5 s; the next stream delivers `replayed` events at once.
fn cut_off(stage: &mut Stage, first: u64, replayed: u64) {
    stage.after_s(30);
    stage.ended_after("*/pods", Cause::End, 300).after_ms(300);
    stage.reopened("*/pods");
    for n in 0..replayed {
        stage.live(
            "*/pods",
            ADDED,
            "a",
            &format!("u{first}-{n}"),
            first + n,
            None,
        );
    }
}

#[test]
fn an_end_after_which_ten_events_come_at_once_is_a_slow_reader_most_likely() {
    for (replayed, is_found) in [(9, false), (10, true), (60, true)] {
        let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
        cut_off(&mut stage, 1_000, replayed);
        stage.after_s(5);
        assert_eq!(stage.found().contains(" F36 "), is_found, "{replayed}");
    }
}

#[test]
fn a_second_end_of_a_slow_reader_in_a_row_is_as_likely_and_has_both_as_evidence() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    cut_off(&mut stage, 1_000, 60);
    cut_off(&mut stage, 2_000, 60);
    insta::assert_snapshot!(stage.attributions(), @r"
30.250 */pods F36 suspected [9]
30.300 */pods F36 likely [9, 23]
60.550 */pods F36 suspected [75]
60.600 */pods F36 likely [9, 75, 89]
");
    assert!(stage.found().contains(" F36 raised "), "{}", stage.found());
    assert!(!stage.found().contains(" definite "), "{}", stage.found());
}

#[test]
fn only_our_own_slow_reading_makes_a_slow_reader_definite() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(30);
    stage.ended_unread("*/pods", Cause::End, 300, Some(2_300));
    stage.after_ms(300).reopened("*/pods");
    for n in 0..10 {
        stage.live("*/pods", ADDED, "a", &format!("u{n}"), 1_000 + n, None);
    }
    insta::assert_snapshot!(stage.attributions(), @r"
30.250 */pods F36 likely [9]
30.300 */pods F36 definite [9, 23]
");
}

#[test]
fn events_that_come_one_by_one_after_an_end_are_no_replay() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    cut_off(&mut stage, 1_000, 5);
    for n in 0..20 {
        stage.after_ms(300);
        stage.live("*/pods", ADDED, "a", &format!("v{n}"), 2_000 + n, None);
    }
    stage.after_s(5);
    assert!(!stage.found().contains(" F36 "), "{}", stage.found());
}

/// Returns the severities of F19 in order. A pod was deleted, and our watch received its DELETED. Then a client watches
/// again without a resourceVersion, and reports its belief.
fn watched_again(is_deleted: bool, belief: &str) -> String {
    let mut stage = Stage::new(1, &["*/pods"]);
    let target = "/api/v1/pods?watch=true";
    let held =
        r#"[{"resource":"pods","objects":2,"held":{"default/a":"u-a@5","default/b":"u-b@7"}}]"#;
    stage.starts("naive", "loop").asks("naive", target);
    stage
        .reports("naive", "watching", (2, 2), Some(held))
        .after_s(1);
    if is_deleted {
        stage.live("*/pods", ChangeType::Deleted, "a", "u-a", 9, None);
    }
    stage.after_s(5).asks("naive", target).after_ms(100);
    stage
        .reports("naive", "watching", (3, 3), Some(belief))
        .after_s(5);
    let found = stage.found();
    let severities = found.lines().filter(|line| line.contains(" F19 "));
    let severities = severities.filter_map(|line| line.split_whitespace().nth(3));
    severities.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_client_that_watches_again_and_holds_a_deleted_object_has_a_ghost() {
    let with_a =
        r#"[{"resource":"pods","objects":2,"held":{"default/a":"u-a@5","default/b":"u-b@7"}}]"#;
    assert_eq!(watched_again(true, with_a), "warning divergence");
    // It holds an object that lives.
    assert_eq!(watched_again(false, with_a), "warning");
    // It has dropped the object, or holds another of that name.
    let without = r#"[{"resource":"pods","objects":1,"held":{"default/b":"u-b@7"}}]"#;
    assert_eq!(watched_again(true, without), "warning");
    let another =
        r#"[{"resource":"pods","objects":2,"held":{"default/a":"u-new@11","default/b":"u-b@7"}}]"#;
    assert_eq!(watched_again(true, another), "warning");
    // An object that it does not name cannot be a ghost.
    let unnamed = r#"[{"resource":"pods","objects":2}]"#;
    assert_eq!(watched_again(true, unnamed), "warning");
}
