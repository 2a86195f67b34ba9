//! Tests of the checks of a stream (docs/semantics/checks.md#stream-checks), as scripts of records: each event that
//! must not come, and its twin.

use crate::stage::Stage;
use watchscope_model::vocabulary::{Cause, ChangeType};

const ADDED: ChangeType = ChangeType::Added;
const MODIFIED: ChangeType = ChangeType::Modified;
const DELETED: ChangeType = ChangeType::Deleted;

/// A stream of pods from version 10.
fn pods() -> Stage {
    Stage::new(1, &["*/pods"])
}

#[test]
fn lives_that_go_on_in_order_are_no_finding() {
    let mut stage = pods();
    stage
        .live("*/pods", ADDED, "a", "u1", 11, Some(1))
        .live("*/pods", MODIFIED, "a", "u1", 12, Some(2))
        .bookmark("*/pods", 14)
        .bookmark("*/pods", 14)
        .live("*/pods", DELETED, "a", "u1", 15, Some(2))
        .live("*/pods", ADDED, "a", "u2", 16, Some(1));
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn an_event_from_before_the_stream_began_is_a_replay() {
    let mut stage = pods();
    stage.live("*/pods", ADDED, "a", "u1", 9, None);
    insta::assert_snapshot!(stage.found(), @"0.000 F29 raised warning definite x1 */pods: */pods asked for events after 10, but got ADDED of a at 9.");
}

#[test]
fn an_event_not_above_a_bookmark_makes_the_bookmark_wrong() {
    let mut stage = pods();
    stage
        .bookmark("*/pods", 20)
        .live("*/pods", ADDED, "a", "u1", 18, None);
    insta::assert_snapshot!(stage.found(), @"0.000 F35 raised error definite x1 */pods: A bookmark said that */pods had everything up to 20; then ADDED of a came at 18.");
}

#[test]
fn a_bookmark_that_undercuts_an_event_is_wrong() {
    let mut stage = pods();
    stage
        .live("*/pods", ADDED, "a", "u1", 18, None)
        .bookmark("*/pods", 17);
    insta::assert_snapshot!(stage.found(), @"0.000 F35 raised error definite x1 */pods: A bookmark at 17 came to */pods, but its stream had already reached 18.");
}

#[test]
fn an_object_that_changes_without_an_added_had_a_lost_event() {
    let mut stage = pods();
    stage.live("*/pods", MODIFIED, "a", "u1", 11, None);
    insta::assert_snapshot!(stage.found(), @"0.000 F24 raised error likely x1 */pods: MODIFIED of a was delivered to */pods at 11, but its ADDED never was: an event was lost on the way.");
}

#[test]
fn an_added_of_a_held_object_shows_a_lost_deletion() {
    let mut stage = pods();
    stage
        .live("*/pods", ADDED, "a", "u1", 11, None)
        .live("*/pods", ADDED, "a", "u1", 13, None);
    insta::assert_snapshot!(stage.found(), @"0.000 F24 raised error likely x1 */pods: a was delivered to */pods as a new object at 13, but the DELETED of the old one never was: an event was lost on the way.");
}

#[test]
fn a_generation_that_jumps_is_suspected_where_types_count_each_write() {
    let jump = |watch: &str| {
        let mut stage = Stage::new(1, &[watch]);
        stage.live(watch, ADDED, "a", "u1", 11, Some(1)).live(
            watch,
            MODIFIED,
            "a",
            "u1",
            12,
            Some(3),
        );
        stage.found().to_owned()
    };
    insta::assert_snapshot!(jump("*/deployments.apps"), @"0.000 F24 raised warning suspected x1 */deployments.apps: The generation of a rose by 2 from one event of */deployments.apps to the next: events between them may have been lost.");
    insta::assert_snapshot!(jump("*/widgets.example.com"), @"");
}

#[test]
fn a_recurring_finding_is_counted_reported_ever_more_rarely_and_cleared_when_it_is_quiet() {
    let mut stage = pods();
    stage.live("*/pods", ADDED, "a", "u1", 11, None);
    for _ in 0..100 {
        stage
            .after_ms(100)
            .live("*/pods", ADDED, "a", "u1", 11, None);
    }
    stage.after_s(700);
    let found: Vec<&str> = stage
        .found()
        .lines()
        .map(|line| line[..34].trim_end())
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    0.100 F29 raised warning definite
    1.100 F29 raised warning definite
    3.100 F29 raised warning definite
    7.100 F29 raised warning definite
    15.100 F29 raised warning definite
    610.000 F29 cleared warning defini
    "#);
}

#[test]
fn a_reset_that_heals_is_a_note_with_that_reason() {
    let mut stage = pods();
    stage.after_s(30).ended("*/pods", Cause::TcpReset);
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.250 F08 raised note definite x1 */pods: The connection of */pods was reset after 30.0 s and 0 events.");
}

#[test]
fn orderly_ends_of_all_and_the_loss_of_one_connection_are_no_restart_of_the_server() {
    let watches = ["*/pods", "*/nodes", "*/jobs"];
    let mut stage = Stage::new(1, &watches);
    stage.after_s(30);
    for watch in watches {
        stage.ended_after(watch, Cause::End, 3);
        stage.reopened(watch);
    }
    stage.after_ms(400).ended("*/jobs", Cause::TcpReset);
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.650 F08 raised note definite x1 */jobs: The connection of */jobs was reset after 0.4 s and 0 events.");
}

#[test]
fn a_stream_that_goes_on_after_its_right_is_gone_is_found_by_the_audits_refusal_with_how_long_it_leaked()
 {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.answered("*/pods", 200).after_s(10);
    stage.audit_answered("*/pods", 403).after_s(30);
    stage.audit_answered("*/pods", 403).after_s(12);
    stage.ended("*/pods", Cause::TcpReset).after_ms(500);
    stage.answered("*/pods", 403).after_s(5);
    insta::assert_snapshot!(stage.found(), @r"
    40.000 F41 raised error definite x1 */pods: */pods may no longer be listed (403), but its stream goes on: it delivers objects that this account may no longer read.
    52.500 F41 raised error definite x2 */pods: */pods was allowed before, and is forbidden now (403); its stream had gone on for 42.5 s after a list was refused.
    54.250 F08 raised note definite x1 */pods: The connection of */pods was reset after 52.0 s and 0 events.
    ");
}

#[test]
fn a_right_that_comes_back_clears_the_leak() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.answered("*/pods", 200).after_s(10);
    stage.audit_answered("*/pods", 403).after_s(15);
    stage.audit_answered("*/pods", 403).after_s(15);
    stage.audit_answered("*/pods", 200).after_s(12);
    insta::assert_snapshot!(stage.found(), @r"
    25.000 F41 raised error definite x1 */pods: */pods may no longer be listed (403), but its stream goes on: it delivers objects that this account may no longer read.
    40.000 F41 cleared error definite x1 */pods: It may be listed again.
    ");
}

/// With `--etcd-servers-overrides` versions of two resources may come from two etcds
/// (docs/semantics/checks.md#trap-other-etcd).
#[test]
fn missing_bookmarks_are_sure_only_by_a_watch_of_the_same_resource() {
    let found = |others: &[(&str, u64)]| {
        let mut stage = Stage::new(1, &["*/pods", "shop/events", "*/events"]);
        stage.asking_for_bookmarks("shop/events");
        for (watch, version) in others {
            stage.live(watch, ADDED, "a", "u1", *version, None);
        }
        stage.after_s(200).found().to_owned()
    };
    insta::assert_snapshot!(found(&[("*/pods", 900_000)]), @"150.000 F34 raised note likely x1 shop/events: The stream of shop/events is 150 s old, is at 10 and had no bookmark, though */pods reached 900000 long ago. Servers do not guarantee bookmarks.");
    insta::assert_snapshot!(found(&[("*/pods", 900_000), ("*/events", 12)]), @"150.000 F34 raised note definite x1 shop/events: The stream of shop/events is 150 s old, is at 10 and had no bookmark, though */events reached 12 long ago. Servers do not guarantee bookmarks.");
}

#[test]
fn initial_events_that_stop_without_the_bookmark_that_ends_them_lack_it_until_it_comes() {
    let mut stage = pods();
    stage.opened_with_initial_events("*/pods").after_s(8);
    stage.initial("*/pods", "a", 3).after_s(8);
    stage.initial("*/pods", "b", 5).after_s(14);
    stage.end_bookmark("*/pods", 20).after_s(60);
    insta::assert_snapshot!(stage.found(), @r"
26.000 F35 raised error suspected x1 */pods: */pods asked for initial events. None came for 10.0 s, and no bookmark has marked their end.
30.000 F35 cleared error suspected x1 */pods: The bookmark that ends the initial events came.
");
}

#[test]
fn initial_events_that_we_gave_up_on_for_it_lacked_it() {
    let mut stage = pods();
    stage.opened_with_initial_events("*/pods").after_s(8);
    // The probe's own timeout ends at the same moment.
    stage.initial("*/pods", "a", 3).after_s(10);
    stage.ended("*/pods", Cause::Cancelled).reopened("*/pods");
    stage.after_s(700);
    insta::assert_snapshot!(stage.found(), @r"
18.000 F35 raised error suspected x1 */pods: */pods asked for initial events. None came for 10.0 s, and no bookmark has marked their end.
19.000 F35 updated error suspected x1 */pods: */pods asked for initial events. None came for 10.0 s, and no bookmark has marked their end.
618.000 F35 cleared error suspected x1 */pods: It did not happen again for 10 minutes.
");
}

#[test]
fn a_deletion_that_initial_events_show_was_not_lost() {
    let mut stage = pods();
    stage.live("*/pods", ADDED, "a", "u1", 11, None);
    stage.opened_with_initial_events("*/pods").lists("*/pods");
    stage.initial("*/pods", "b", 12);
    stage.end_bookmark("*/pods", 20);
    stage.inferred_gone("*/pods", "a", "u1").after_s(5);
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn initial_events_whose_stream_ends_do_not_lack_their_bookmark() {
    let mut stage = pods();
    stage.opened_with_initial_events("*/pods").after_s(9);
    stage.initial("*/pods", "a", 3).after_s(9);
    stage.ended("*/pods", Cause::Cancelled).after_s(60);
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn an_object_that_another_watch_still_has_only_left_the_selector_in_either_order() {
    for selecting_is_first in [true, false] {
        let mut stage = pods();
        stage.selecting("*/pods?tier").after_s(1);
        for watch in ["*/pods", "*/pods?tier"] {
            stage.live(watch, ADDED, "a", "u1", 11, None);
        }
        if selecting_is_first {
            stage.live("*/pods?tier", DELETED, "a", "u1", 12, None);
        }
        stage.live("*/pods", MODIFIED, "a", "u1", 12, None);
        if !selecting_is_first {
            stage.live("*/pods?tier", DELETED, "a", "u1", 12, None);
        }
        insta::allow_duplicates! {
            insta::assert_snapshot!(stage.found(), @"1.000 F43 raised note definite x1 */pods?tier: DELETED of a was delivered to */pods?tier at 12, but */pods has it at 12: it only left the selector.");
        }
    }
}

#[test]
fn an_object_that_another_watch_saw_deleted_is_gone_in_either_order() {
    for first in [["*/pods", "*/pods?tier"], ["*/pods?tier", "*/pods"]] {
        let mut stage = pods();
        stage.selecting("*/pods?tier").after_s(1);
        for watch in first {
            stage.live(watch, ADDED, "a", "u1", 11, None);
        }
        for watch in first {
            stage.live(watch, DELETED, "a", "u1", 12, None);
        }
        for watch in first {
            stage.live(watch, ADDED, "a", "u2", 13, None);
        }
        assert_eq!(stage.found(), "");
    }
}

#[test]
fn an_object_that_a_get_finds_with_its_uid_only_left_the_selector() {
    let mut stage = pods();
    stage.selecting("*/pods?tier").after_s(1);
    for name in ["a", "b"] {
        stage.live("*/pods?tier", ADDED, name, name, 11, None);
        stage.live("*/pods?tier", DELETED, name, name, 12, None);
    }
    // A 200 alone proves nothing: the object may have been created anew.
    stage
        .got("*/pods?tier", "a", 200)
        .got("*/pods?tier", "b", 200);
    stage.found_left("*/pods?tier", "b", "b", 12);
    stage.found_left("*/pods?tier", "b", "b", 12);
    insta::assert_snapshot!(stage.found(), @"1.000 F43 raised note definite x1 */pods?tier: DELETED of b was delivered to */pods?tier at 12, but a GET of it returned 200 with the same uid: it only left the selector.");
}

#[test]
fn an_object_that_is_back_in_a_selector_is_not_found_to_have_left_it_by_a_get() {
    let mut stage = pods();
    stage.selecting("*/pods?tier").after_s(1);
    stage.live("*/pods?tier", ADDED, "a", "u1", 11, None);
    stage.live("*/pods?tier", DELETED, "a", "u1", 12, None);
    stage.live("*/pods?tier", ADDED, "a", "u1", 13, None);
    stage.found_left("*/pods?tier", "a", "u1", 13).after_s(5);
    insta::assert_snapshot!(stage.found(), @"1.000 F43 raised note definite x1 */pods?tier: a came back to */pods?tier with the same uid at 13: its DELETED only meant that it left the selector.");
}

#[test]
fn a_deleted_object_that_a_list_brings_back_with_its_uid_is_an_old_state() {
    let mut stage = pods().with_candidates();
    stage
        .live("*/pods", ADDED, "a", "u1", 11, None)
        .live("*/pods", DELETED, "a", "u1", 12, None)
        .live("*/pods", ADDED, "b", "u2", 13, None)
        .live("*/pods", DELETED, "b", "u2", 14, None);
    stage
        .listed("*/pods", "b", "u3", 15)
        .listed("*/pods", "a", "u1", 11);
    insta::assert_snapshot!(stage.found(), @"0.000 F22 or F33 raised warning definite x1 */pods: a came back to */pods in a list, at 11 and with the uid that was deleted: the list shows an older state.");
}

#[test]
fn a_deleted_object_in_a_later_list_is_a_ghost_of_the_server_that_answered() {
    let mut stage = pods().with_candidates();
    stage
        .live("*/pods", ADDED, "a", "u1", 11, None)
        .live("*/pods", DELETED, "a", "u1", 12, None);
    stage.page("*/pods", 12).listed("*/pods", "a", "u1", 11);
    insta::assert_snapshot!(stage.found(), @"0.000 F24 or F22 F25 F26 F27 F33 raised divergence likely x1 */pods: a came back to */pods in a list at 12, with a uid that was deleted by 12: the server that answered missed the deletion.");
}

#[test]
fn lists_that_no_server_has_come_far_enough_for_are_no_livelock() {
    let mut stage = pods();
    stage.live("*/pods", ADDED, "a", "u1", 40, None);
    for _ in 0..4 {
        stage.refused("*/pods", 504, "Too large resource version: 40, current: 37");
        stage.after_s(3);
    }
    assert_eq!(stage.found(), "");
}

/// Returns the findings about a watch request without an answer, over a connection with `streams` other streams.
fn unanswered_beside(streams: usize) -> String {
    let names: Vec<String> = (0..streams).map(|n| format!("n{n}/pods")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).chain(["*/pods"]).collect();
    let mut stage = Stage::new(1, &names).with_candidates();
    stage.of_version("v1.31.0");
    let connection = stage.sharing(&names);
    stage.after_s(20).ended("*/pods", Cause::End);
    stage.asks_for_a_stream("*/pods", connection).after_s(15);
    stage.found().to_owned()
}

#[test]
fn a_request_without_an_answer_beside_a_hundred_streams_of_its_connection_has_met_their_cap() {
    let found = [0, 1, 120].map(unanswered_beside);
    insta::assert_snapshot!(found.join("\n"), @"
    30.000 F44 or F50 F04 F15 raised note suspected x1 */pods: The watch request of */pods has no answer for 10 s; a server sends its headers at once.
    30.000 F44 or F50 F04 F15 raised note suspected x1 */pods: The watch request of */pods has no answer for 10 s; a server sends its headers at once. 1 stream over its connection is open.
    30.000 F50 or F44 raised warning likely x1 */pods: The watch request of */pods has no answer for 10 s; a server sends its headers at once. 120 streams over its connection are open.
    ");
}

#[test]
fn streams_are_counted_that_opened_after_their_answer() {
    let mut stage = Stage::new(1, &["a/pods", "*/pods"]);
    stage.of_version("v1.31.0");
    let connection = stage.sharing(&[]);
    for watch in ["a/pods", "*/pods"] {
        stage.ended(watch, Cause::Cancelled);
    }
    stage.asks_and_opens("a/pods", connection).after_s(1);
    stage.asks_for_a_stream("*/pods", connection).after_s(15);
    insta::assert_snapshot!(stage.found(), @"11.000 F44 raised note suspected x1 */pods: The watch request of */pods has no answer for 10 s; a server sends its headers at once. 1 stream over its connection is open.");
}

#[test]
fn a_compacted_history_says_for_how_long_the_type_was_quiet() {
    let compacted = |wait_s| {
        let mut stage = pods();
        stage.live("*/pods", ADDED, "a", "u1", 11, None);
        stage.after_s(20).bookmark("*/pods", 12);
        stage.after_s(20).bookmark("*/pods", 12);
        stage.ended("*/pods", Cause::End).reopened("*/pods");
        stage.after_s(wait_s);
        let words = "The resourceVersion for the provided watch is too old.";
        stage.error("*/pods", 410, "Expired", words);
        stage.ended("*/pods", Cause::ErrorEvent).after_s(3);
        stage.found().to_owned()
    };
    insta::assert_snapshot!([compacted(279), compacted(281)].join("\n"), @r"
319.000 F12 raised warning definite x1 */pods: etcd has compacted the history that */pods asked for (410). It asked to resume from 10.
321.000 F12 raised warning definite x1 */pods: etcd has compacted the history that */pods asked for (410). It asked to resume from 10. No event or bookmark had advanced it for 301.0 s while others wrote, so its version expired.
");
}

#[test]
fn two_caches_of_a_server_that_do_not_become_ready_are_one_finding_of_it() {
    let watches = ["*/pods", "-/nodes"];
    let mut stage = Stage::new(1, &watches);
    for watch in watches {
        stage.ended(watch, Cause::End);
    }
    let connection = stage.sharing(&[]);
    for _ in 0..12 {
        for watch in watches {
            stage.asks_for_a_stream(watch, connection);
            stage.refused_last(watch, 429, "storage is (re)initializing");
        }
        stage.after_s(2);
    }
    for watch in watches {
        stage.reopened(watch).answered_last(watch);
    }
    let found = stage.found();
    let unready: Vec<&str> = found
        .lines()
        .filter(|line| line.contains(" F15 "))
        .collect();
    insta::assert_snapshot!(unready.join("\n"), @r"
20.000 F15 raised warning definite x1 */pods: api.example.com:6443 refused 11 requests of */pods in a row with 429 for 20.0 s: its cache of the type does not become ready.
20.000 F15 cleared warning definite x1 */pods: Other watches have it from the same cause: see the finding that they share.
20.000 F15 raised warning definite x1 api.example.com:6443 watches=2 names=2 */pods,-/nodes: api.example.com:6443 refuses requests for several types with 429: their caches do not become ready. It concerns 2 watches: */pods, -/nodes.
22.000 F15 raised warning definite x2 api.example.com:6443 watches=2 names=2 */pods,-/nodes: api.example.com:6443 refuses requests for several types with 429: their caches do not become ready. It concerns 2 watches: */pods, -/nodes.
24.000 F15 updated warning definite x2 api.example.com:6443 watches=2 names=2 */pods,-/nodes: api.example.com:6443 refuses requests for several types with 429: their caches do not become ready. It concerns 2 watches: */pods, -/nodes.
24.000 F15 cleared warning definite x2 api.example.com:6443 watches=1 names=1 -/nodes: The server's cache is ready.
");
}

#[test]
fn a_cache_that_does_not_become_ready_is_found_after_a_while_and_until_it_is() {
    let mut stage = pods();
    stage.ended("*/pods", Cause::End);
    let found = |stage: &mut Stage, times, wait_s| {
        let connection = stage.sharing(&[]);
        for _ in 0..times {
            stage.asks_for_a_stream("*/pods", connection);
            stage.refused_last("*/pods", 429, "storage is (re)initializing");
            stage.after_s(wait_s);
        }
    };
    found(&mut stage, 8, 2);
    assert!(!stage.found().contains("F15"));
    found(&mut stage, 4, 3);
    stage.reopened("*/pods").answered_last("*/pods");
    insta::assert_snapshot!(stage.found(), @r"
2.250 F16 raised warning likely x1 */pods: The server ended */pods after 0.0 s and 0 events: its cache of the resource begins anew.
22.000 F15 raised warning definite x1 */pods: api.example.com:6443 refused 11 requests of */pods in a row with 429 for 22.0 s: its cache of the type does not become ready.
25.000 F15 raised warning definite x2 */pods: api.example.com:6443 refused 12 requests of */pods in a row with 429 for 25.0 s: its cache of the type does not become ready.
28.000 F15 cleared warning definite x2 */pods: The server's cache is ready.
");
}

#[test]
fn a_type_that_was_quiet_before_its_stream_ended_expires_as_a_note() {
    let compacted = |quiet_s, away_s| {
        let mut stage = pods();
        stage.live("*/pods", ADDED, "a", "u1", 11, None);
        stage.after_s(quiet_s).ended("*/pods", Cause::End);
        stage.after_s(away_s).reopened("*/pods").after_ms(10);
        let words = "The resourceVersion for the provided watch is too old.";
        stage.error("*/pods", 410, "Expired", words);
        stage.ended("*/pods", Cause::ErrorEvent).after_s(3);
        let severity = stage.found().split(' ').nth(3).unwrap();
        severity.to_owned()
    };
    assert_eq!(compacted(301, 1), "note");
    assert_eq!(compacted(299, 1), "warning");
    assert_eq!(compacted(200, 400), "warning", "it was away for long");
}

#[test]
fn a_type_that_never_said_anything_is_quiet_since_it_was_listed() {
    let mut stage = pods();
    stage.list_complete("*/pods", 10, 0);
    stage.after_s(401).ended("*/pods", Cause::End);
    stage.reopened("*/pods").after_ms(10);
    let words = "The resourceVersion for the provided watch is too old.";
    stage.error("*/pods", 410, "Expired", words);
    stage.ended("*/pods", Cause::ErrorEvent).after_s(3);
    insta::assert_snapshot!(stage.found(), @"401.010 F12 raised note definite x1 */pods: etcd has compacted the history that */pods asked for (410). It asked to resume from 10. No event or bookmark had advanced it for 401.0 s while others wrote, so its version expired.");
}

#[test]
fn a_deletion_that_initial_events_show_was_before_the_stream() {
    let mut stage = pods();
    stage.live("*/pods", ADDED, "a", "a", 11, None);
    stage.live("*/pods", ADDED, "b", "b", 12, None);
    stage.list_complete("*/pods", 12, 0).after_s(20);
    stage.opened_with_initial_events("*/pods");
    stage.lists("*/pods");
    stage.inferred_gone("*/pods", "a", "a");
    stage
        .end_bookmark("*/pods", 20)
        .inferred_gone("*/pods", "b", "b");
    stage.list_complete("*/pods", 20, 2).after_s(5);
    insta::assert_snapshot!(stage.found(), @"20.000 F28 raised note definite x1 */pods: The list shows that 2 objects of */pods disappeared while no stream reported it.");
}

#[test]
fn a_watch_that_may_list_and_not_get_has_lost_no_right() {
    let mut stage = pods();
    stage.answered("*/pods", 200).after_s(10);
    stage.got("*/pods", "a", 403).after_s(10);
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn a_right_is_gone_once_it_is_refused_twice() {
    let forbidden = |times| {
        let mut stage = pods();
        stage.answered("*/pods", 200).after_s(10);
        for _ in 0..times {
            stage.refused("*/pods", 403, "pods is forbidden").after_s(2);
        }
        stage.answered("*/pods", 200).after_s(2);
        stage.found().to_owned()
    };
    insta::assert_snapshot!(forbidden(1), @"");
    insta::assert_snapshot!(forbidden(2), @r"
    12.000 F41 raised error definite x1 */pods: */pods was allowed before, and is forbidden now (403).
    14.000 F41 cleared error definite x1 */pods: The server answers again.
    ");
}

#[test]
fn a_server_before_1_31_may_let_a_request_wait_for_its_cache() {
    let told_after_s = |version, wait_s| {
        let mut stage = pods();
        stage.of_version(version);
        let connection = stage.sharing(&["*/pods"]);
        stage.ended("*/pods", Cause::End).after_s(wait_s);
        stage.asks_for_a_stream("*/pods", connection).after_s(40);
        let (at, found) = stage.found().split_once(' ').unwrap();
        assert!(found.starts_with("F44 raised note suspected"), "{found}");
        at.parse::<f64>().unwrap() - wait_s as f64
    };
    assert_eq!(told_after_s("v1.30.9", 1), 30.0);
    assert_eq!(told_after_s("v1.31.0", 1), 10.0);
    assert_eq!(told_after_s("v1.30.9", 31), 10.0);
}

/// Returns the first finding of a watch whose streams end. Each time, the server refuses it with 429 and these words
/// before it opens the next stream.
fn throttled(watch: &str, words: &str) -> String {
    let mut stage = Stage::new(1, &[watch]);
    for _ in 0..8 {
        let connection = stage.sharing(&[watch]);
        stage.ended(watch, Cause::End);
        stage.asks_for_a_stream(watch, connection);
        stage.refused_last(watch, 429, words);
        stage.after_s(1).reopened(watch);
    }
    let first = stage.found().lines().find(|line| line.contains("F15"));
    first.unwrap_or_default().to_owned()
}

#[test]
fn refusals_without_words_are_counted_unless_the_words_may_be_a_secrets() {
    let words = "the server answered 429";
    insta::assert_snapshot!(throttled("*/pods", words), @"2.000 F15 raised warning definite x1 : api.example.com:6443 refused 3 requests in a row of */pods with 429: it is overloaded.");
    insta::assert_snapshot!(throttled("*/secrets", words), @"");
}

#[test]
fn refusals_with_a_bare_reason_are_counted_unless_the_words_may_be_a_secrets() {
    let words = "TooManyRequests";
    insta::assert_snapshot!(throttled("*/pods", words), @"2.000 F15 raised warning definite x1 : api.example.com:6443 refused 3 requests in a row of */pods with 429: it is overloaded.");
    insta::assert_snapshot!(throttled("*/secrets", words), @"");
}

#[test]
fn an_object_outside_the_selectors_is_not_taken_for_a_loss() {
    let mut stage = Stage::new(1, &[]);
    stage.selecting("*/pods?tier=web");
    stage.stray("*/pods?tier=web", "a", 11).after_s(1);
    insta::assert_snapshot!(stage.found(), @"0.000 F42 raised error definite x1 */pods?tier=web: a was delivered to */pods?tier=web at 11, whose selectors do not match it.");
}

#[test]
fn a_watch_without_bookmarks_may_be_dead_until_something_comes() {
    let quiet = "*/nodes";
    let silent = || {
        let mut stage = Stage::new(1, &[quiet]).with_candidates();
        stage.asking_for_bookmarks(quiet).by_address("*/pods");
        stage.live("*/pods", ChangeType::Added, "p", "u9", 500, None);
        stage.after_s(160);
        stage
    };
    let mut alive = silent();
    alive
        .live(quiet, ChangeType::Added, "n", "u1", 510, None)
        .after_s(10);
    insta::assert_snapshot!(alive.found(), @r"
150.000 F34 or F04 raised note likely x1 */nodes: The stream of */nodes is 150 s old, is at 10 and had no bookmark, though */pods reached 500 long ago. Servers do not guarantee bookmarks.
160.000 F34 updated note likely x1 */nodes: The stream of */nodes is 150 s old, is at 10 and had no bookmark, though */pods reached 500 long ago. Servers do not guarantee bookmarks.
");
    let mut dead = silent();
    dead.ended(quiet, Cause::IdleTimeout).after_s(10);
    insta::assert_snapshot!(dead.found(), @"
    150.000 F34 or F04 raised note likely x1 */nodes: The stream of */nodes is 150 s old, is at 10 and had no bookmark, though */pods reached 500 long ago. Servers do not guarantee bookmarks.
    160.000 F34 or F04 cleared note likely x1 */nodes: Its stream was dead (F04): nothing could come.
    160.000 F04 raised warning definite x1 */nodes: */nodes received nothing more, and nothing reported an end: its connection was found dead after 160.0 s and 0 events.
    ");
}

#[test]
fn streams_that_only_close_at_once_again_and_again_may_be_barren_too() {
    for cause in [Cause::Eof, Cause::RstStream, Cause::TcpReset] {
        let mut stage = Stage::new(1, &["*/pods"]).with_candidates();
        for _ in 0..3 {
            stage.reopened("*/pods").after_ms(100);
            stage.ended("*/pods", cause).after_s(3);
        }
        let found = stage.found().lines().filter(|line| line.contains(" F10 "));
        let found: Vec<String> = found.map(str::to_owned).collect();
        if cause == Cause::TcpReset {
            assert_eq!(found, [""; 0]);
        } else {
            insta::allow_duplicates! {
                insta::assert_snapshot!(found.join("\n"), @"6.300 F10 or F06 F37 raised warning suspected x1 */pods: 3 streams of */pods in a row from 10 were accepted and ended at once, without an event and without an ERROR.");
            }
        }
    }
}

#[test]
fn etcd_without_a_leader_ends_a_watch_that_goes_to_it_not_a_cache() {
    let mut stage = Stage::new(1, &["*/events"]);
    stage.error("*/events", 500, "InternalError", "etcdserver: no leader");
    stage.ended("*/events", Cause::ErrorEvent).after_s(5);
    insta::assert_snapshot!(stage.found(), @"2.250 F16 raised warning likely x1 */events: etcd had no leader, so the server ended */events after 0.0 s and 0 events: it reads etcd directly, without a cache.");
}

/// Returns the findings of a watch that may list, and whose streams are refused from now on. If `streamed`, it had a
/// stream before.
fn refused_streams(streamed: bool) -> String {
    let mut stage = Stage::new(1, &[]);
    let connection = stage.sharing(&[]);
    stage.begins("*/pods");
    stage
        .asks_for_a_list("*/pods", connection)
        .answered_last("*/pods");
    if streamed {
        stage.asks_and_opens("*/pods", connection).after_s(5);
        stage.ended("*/pods", Cause::Cancelled);
    }
    for _ in 0..2 {
        stage
            .asks_for_a_stream("*/pods", connection)
            .refused_last("*/pods", 403, "pods is forbidden")
            .after_s(1);
    }
    // The right to list does not show the right to watch.
    stage
        .asks_for_a_list("*/pods", connection)
        .answered_last("*/pods")
        .after_s(3);
    stage.found().to_owned()
}

#[test]
fn a_client_that_may_list_and_never_might_watch_has_lost_no_right() {
    insta::assert_snapshot!(refused_streams(false), @"");
    insta::assert_snapshot!(refused_streams(true), @"6.000 F41 raised error definite x1 */pods: */pods was allowed before, and is forbidden now (403).");
}

#[test]
fn a_client_that_may_watch_and_never_might_list_leaks_nothing() {
    let mut stage = pods();
    stage.after_s(10);
    stage.audit_answered("*/pods", 403).after_s(30);
    stage.audit_answered("*/pods", 403).after_s(30);
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn a_server_that_has_just_started_may_refuse_the_audit_once() {
    let mut stage = pods();
    stage.answered("*/pods", 200).after_s(10);
    for status in [403, 200, 403, 200] {
        stage.audit_answered("*/pods", status).after_s(15);
    }
    insta::assert_snapshot!(stage.found(), @"");
}

/// Returns the findings of a watch of pods that was answered before, is refused `times` times, and is answered again.
/// Unless `is_discovered`, discovery says after a refusal that it does not know the resource.
fn refused_with(status: u16, times: usize, is_discovered: bool) -> String {
    let mut stage = pods();
    stage.answered("*/pods", 200).after_s(10);
    for _ in 0..times {
        stage.refused("*/pods", status, "no");
        if !is_discovered {
            stage.not_discovered("*/pods");
        }
        stage.after_s(2);
    }
    stage.answered("*/pods", 200).after_s(2);
    stage.found().to_owned()
}

#[test]
fn a_server_that_has_just_started_may_not_know_a_resource_yet_or_credentials() {
    for status in [401, 404] {
        assert_eq!(refused_with(status, 1, true), "");
    }
    insta::assert_snapshot!(refused_with(404, 2, true), @r"
12.000 F18 raised warning likely x1 */pods: The resource of */pods was served before, and is not found now (404).
14.000 F18 cleared warning likely x1 */pods: The server answers again.
");
    insta::assert_snapshot!(refused_with(404, 1, false), @r"
10.000 F18 raised warning likely x1 */pods: The resource of */pods was served before, and is not found now (404).
12.000 F18 cleared warning likely x1 */pods: The server answers again.
");
    insta::assert_snapshot!(refused_with(401, 2, true), @r"
12.000 F40 raised error definite x1 */pods: The server answered */pods before, and does not know its credentials now (401).
14.000 F40 cleared error definite x1 */pods: The server answers again.
");
}

/// Returns the findings about a watch request that is answered after 15 s, over a connection with two streams. If
/// `ends`, one of these ends right before.
fn answered_late(aggregated: bool, ends: bool) -> String {
    let names = ["a/pods", "b/pods", "*/pods"];
    let mut stage = Stage::served_by(aggregated, 1, &names).with_candidates();
    stage.of_version("v1.31.0");
    let connection = stage.sharing(&names);
    stage.after_s(20).ended("*/pods", Cause::Cancelled);
    stage.asks_for_a_stream("*/pods", connection).after_s(15);
    if ends {
        stage.ended("a/pods", Cause::Cancelled);
    }
    stage.after_ms(50).answered_last("*/pods").after_s(5);
    stage.found().to_owned()
}

#[test]
fn a_late_answer_was_buffered_unless_a_stream_of_its_connection_had_to_end_first() {
    insta::assert_snapshot!(answered_late(false, false), @"
    30.000 F44 or F50 F04 F15 raised note suspected x1 */pods: The watch request of */pods has no answer for 10 s; a server sends its headers at once. 2 streams over its connection are open.
    35.050 F44 or F50 F15 updated note likely x1 */pods: The headers of the watch */pods came after 15.0 s; a server sends its headers at once.
    ");
    insta::assert_snapshot!(answered_late(false, true), @"
    30.000 F44 or F50 F04 F15 raised note suspected x1 */pods: The watch request of */pods has no answer for 10 s; a server sends its headers at once. 2 streams over its connection are open.
    35.050 F44 or F50 F04 F15 cleared note suspected x1 */pods: It was answered once a stream of its connection had ended (F50).
    35.050 F50 or F44 raised warning likely x1 */pods: The headers of the watch */pods came after 15.0 s; a server sends its headers at once.
    ");
}

#[test]
fn an_end_that_was_held_back_with_the_answer_lets_nobody_in() {
    let names = ["a/pods", "*/pods"];
    let sharing = || {
        let mut stage = Stage::new(1, &names);
        stage.of_version("v1.31.0");
        let connection = stage.sharing(&names);
        (stage, connection)
    };
    // The stream should end after 400 s, and its end comes 10 s later.
    let (mut stage, connection) = sharing();
    stage.after_s(395).ended("*/pods", Cause::Cancelled);
    stage.asks_for_a_stream("*/pods", connection).after_s(15);
    stage.ended("a/pods", Cause::End).answered_last("*/pods");
    insta::assert_snapshot!(stage.found(), @"
    405.000 F44 raised note suspected x1 */pods: The watch request of */pods has no answer for 10 s; a server sends its headers at once. 1 stream over its connection is open.
    410.000 F44 updated note likely x1 */pods: The headers of the watch */pods came after 15.0 s; a server sends its headers at once.
    ");
    // The stream did not exist yet when the other was requested.
    let (mut stage, connection) = sharing();
    stage.after_s(20).ended("a/pods", Cause::Cancelled);
    stage.ended("*/pods", Cause::Cancelled);
    stage.asks_for_a_stream("*/pods", connection).after_s(15);
    stage.asks_and_opens("a/pods", connection);
    stage.ended("a/pods", Cause::End).answered_last("*/pods");
    insta::assert_snapshot!(stage.found(), @"
    30.000 F44 raised note suspected x1 */pods: The watch request of */pods has no answer for 10 s; a server sends its headers at once.
    35.000 F44 updated note likely x1 */pods: The headers of the watch */pods came after 15.0 s; a server sends its headers at once.
    ");
}

#[test]
fn another_apiserver_may_send_its_headers_with_its_first_event() {
    insta::assert_snapshot!(answered_late(true, false), @r"
30.000 F44 or F50 F04 F15 raised note suspected x1 */pods: The watch request of */pods has no answer for 10 s; another apiserver may send its headers with its first event. 2 streams over its connection are open.
35.050 F44 or F50 F15 updated note likely x1 */pods: The headers of the watch */pods came after 15.0 s; another apiserver may send its headers with its first event.
");
}

#[test]
fn lists_of_secrets_that_fail_again_and_again_may_have_one_that_cannot_be_read() {
    let failed = |watch: &str, times| {
        let mut stage = Stage::new(1, &[watch]);
        let connection = stage.sharing(&[watch]);
        stage.ended(watch, Cause::Cancelled);
        for _ in 0..times {
            stage.asks_for_a_list(watch, connection);
            stage.refused_last(watch, 500, "InternalError").after_s(2);
        }
        stage.reopened(watch).list_complete(watch, 20, 0).after_s(3);
        stage.found().to_owned()
    };
    assert_eq!(failed("*/secrets", 4), "");
    assert_eq!(failed("*/pods", 9), "");
    insta::assert_snapshot!(failed("*/secrets", 6), @r"
8.000 F38 raised error suspected x1 */secrets: The lists of */secrets fail, 5 times in a row so far (500). watchscope keeps no server's message about Secrets; perhaps the server cannot read or convert one of them.
10.000 F38 raised error suspected x2 */secrets: The lists of */secrets fail, 6 times in a row so far (500). watchscope keeps no server's message about Secrets; perhaps the server cannot read or convert one of them.
12.000 F38 cleared error suspected x2 */secrets: The server lists the type again.
");
}

#[test]
fn an_unreadable_object_is_reported_with_its_count() {
    let mut stage = pods();
    for _ in 0..9 {
        stage
            .refused("*/pods", 500, "conversion webhook")
            .after_s(20);
    }
    let last = stage.found().lines().last().unwrap_or_default();
    insta::assert_snapshot!(last, @"152.000 F38 raised error likely x7 */pods: An object of */pods cannot be read or converted, so the server returns nothing of its type. It said so 8 times.");
}

#[test]
fn a_storm_is_over_though_another_server_has_a_cache_that_is_not_ready() {
    let mut stage = Stage::new(1, &["*/pods", "-/nodes"]);
    for watch in ["*/pods", "-/nodes"] {
        stage.ended(watch, Cause::End);
    }
    let here = stage.connected_as("a.example.com:6443", "10.0.0.1:6443");
    let there = stage.connected_as("b.example.com:6443", "10.0.0.2:6443");
    for _ in 0..4 {
        stage.asks_for_a_stream("*/pods", here);
        stage.refused_last("*/pods", 429, "too many").after_s(1);
    }
    stage.asks_for_a_stream("-/nodes", there);
    stage.refused_last("-/nodes", 429, "storage is (re)initializing");
    stage.after_s(12).asks_for_a_stream("*/pods", here);
    stage.answered_last("*/pods");
    let found = stage.found();
    assert!(found.contains("F15 cleared"), "{found}");
}

#[test]
fn refusals_are_reported_with_their_number_and_the_time_of_the_first() {
    let mut stage = pods();
    stage.ended("*/pods", Cause::End);
    let connection = stage.sharing(&[]);
    for _ in 0..9 {
        stage.asks_for_a_stream("*/pods", connection);
        stage.refused_last("*/pods", 429, "too many").after_s(12);
    }
    let mut found = stage.found().lines().filter(|line| line.contains("F15"));
    insta::assert_snapshot!(found.next_back().unwrap_or_default(), @"88.000 F15 raised warning definite x6 : api.example.com:6443 refused 8 requests in a row of */pods with 429: it is overloaded.");
    assert_eq!(stage.since("F15"), Some(0));
}

#[test]
fn an_older_state_in_a_list_was_lost_by_the_server_that_answered() {
    let mut stage = pods().with_candidates();
    stage
        .live("*/pods", ADDED, "a", "a", 11, None)
        .live("*/pods", MODIFIED, "a", "a", 15, None);
    stage.page("*/pods", 20).listed_older("*/pods", "a", 11);
    insta::assert_snapshot!(stage.found(), @"0.000 F24 or F22 F25 F33 raised divergence likely x1 */pods: A list at 20 has a at 11, but */pods received it at 15: the server that answered has lost an event.");
}
