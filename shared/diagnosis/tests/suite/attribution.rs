//! Tests of why streams end, as scripts of records: each test is about one rule of docs/semantics/streams.md#rules.

use crate::stage::Stage;
use watchscope_model::vocabulary::{Cause, PhaseReason};

#[test]
fn a_stream_that_we_end_is_ours() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(30).ended("*/pods", Cause::Cancelled);
    insta::assert_snapshot!(stage.attributions(), @"30.000 */pods ours definite [5]");
}

#[test]
fn an_end_at_the_requested_timeout_is_normal_and_reported_at_once() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(398).ended("*/pods", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @"398.000 */pods normal definite [5]");
}

#[test]
fn an_end_far_from_the_timeout_is_not_normal() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(120).ended("*/pods", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @"120.250 */pods unknown unknown [5]");
}

#[test]
fn an_end_that_comes_late_after_the_timeout_is_a_delayed_timeout() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(412);
    for watch in ["*/pods", "*/nodes"] {
        stage.ended(watch, Cause::End);
    }
    insta::assert_snapshot!(stage.attributions(), @r#"
    412.000 */pods normal likely [9]
    412.000 */nodes normal likely [11]
    "#);
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(500).ended("*/pods", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @"500.250 */pods unknown unknown [5]");
}

#[test]
fn without_a_timeout_the_servers_own_lifetime_is_likely_normal() {
    let mut stage = Stage::without_timeouts(1, &["*/pods"]);
    stage.after_s(2_000).ended("*/pods", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @"2000.000 */pods normal likely [5]");
}

#[test]
fn many_normal_timeouts_at_once_are_no_failure_of_the_server() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes", "*/jobs"]);
    stage.after_s(399);
    for watch in ["*/pods", "*/nodes", "*/jobs"] {
        stage.ended(watch, Cause::End);
    }
    insta::assert_snapshot!(stage.attributions(), @r#"
    399.000 */pods normal definite [13]
    399.000 */nodes normal definite [15]
    399.000 */jobs normal definite [17]
    "#);
}

#[test]
fn an_error_event_names_the_history_that_was_gone() {
    let words = [
        (410, "Expired", "too old resource version: 10 (90)"),
        (
            410,
            "Expired",
            "The resourceVersion for the provided watch is too old.",
        ),
        (410, "Expired", ""),
        (500, "InternalError", "etcdserver: no leader"),
        (500, "InternalError", "conversion webhook failed"),
    ];
    let mut attributions = String::new();
    for (code, reason, message) in words {
        let mut stage = Stage::new(1, &["*/pods"]);
        stage.after_s(20).error("*/pods", code, reason, message);
        stage.ended("*/pods", Cause::ErrorEvent);
        attributions += &format!("{}\n", stage.attributions());
    }
    insta::assert_snapshot!(attributions, @r#"
    20.000 */pods F11 definite [5, 6]
    20.000 */pods F12 definite [5, 6]
    20.000 */pods F11 suspected [5, 6]
    20.000 */pods F16 likely [5, 6]
    20.000 */pods unknown unknown [5, 6]
    "#);
}

#[test]
fn a_reset_is_reported_at_once_and_stays_a_reset_while_the_server_lives() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes", "*/jobs"]);
    stage.after_s(20).ended("*/pods", Cause::TcpReset);
    stage.after_ms(300).opened("*/pods", "10.0.0.1:6443");
    insta::assert_snapshot!(stage.attributions(), @"20.000 */pods F08 definite [13]");
}

#[test]
fn resets_of_all_and_a_refused_dial_are_the_servers_end() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).ended("*/pods", Cause::TcpReset);
    stage.after_ms(5).ended("*/nodes", Cause::TcpReset);
    stage
        .after_ms(400)
        .phase("*/pods", PhaseReason::Unreachable);
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.000 */pods F08 definite [9]
    20.005 */nodes F08 definite [12]
    20.405 */pods F06 likely [9, 12, 15]
    20.405 */nodes F06 likely [9, 12, 15]
    "#);
}

#[test]
fn ends_of_all_with_their_connections_are_the_servers_end_until_more_is_known() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes", "*/jobs", "*/leases", "*/events"]);
    stage.after_s(20);
    // Four of five streams, within 250 ms.
    for watch in ["*/pods", "*/nodes", "*/jobs", "*/leases"] {
        stage.after_ms(50).ended(watch, Cause::Eof);
    }
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.300 */pods F06 suspected [21, 22, 23, 24, 25, 26, 27, 28]
    20.350 */nodes F06 suspected [21, 23, 24, 25, 26, 27, 28]
    20.400 */jobs F06 suspected [21, 23, 25, 26, 27, 28]
    20.450 */leases F06 suspected [21, 23, 25, 27, 28]
    "#);
}

#[test]
fn fewer_than_four_fifths_are_not_the_server() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes", "*/jobs", "*/leases"]);
    stage.after_s(20);
    for watch in ["*/pods", "*/nodes", "*/jobs"] {
        stage.ended(watch, Cause::Eof);
    }
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.250 */pods unknown unknown [17]
    20.250 */nodes unknown unknown [19]
    20.250 */jobs unknown unknown [21]
    "#);
}

#[test]
fn a_drain_is_known_by_the_words_of_the_refusal() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).ended("*/pods", Cause::End);
    stage
        .after_ms(30)
        .refused("*/pods", 503, "apiserver is shutting down");
    insta::assert_snapshot!(stage.attributions(), @"20.250 */pods F07 likely [9, 10]");
}

#[test]
fn the_next_address_shows_that_a_server_went_away() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).ended("*/pods", Cause::Eof);
    stage.ended("*/nodes", Cause::Eof);
    stage.after_ms(500).opened("*/pods", "10.0.0.2:6443");
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.250 */pods F06 suspected [9, 10, 11, 12]
    20.250 */nodes F06 suspected [9, 11, 12]
    20.500 */pods F06 likely [9, 11, 16]
    20.500 */nodes F06 likely [9, 11, 16]
    "#);
}

#[test]
fn all_streams_ending_on_living_connections_are_the_caches_not_the_server() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).ended("*/pods", Cause::End);
    stage.ended("*/nodes", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.250 */pods F16 suspected [9, 10]
    20.250 */nodes F16 suspected [9, 10]
    "#);
}

#[test]
fn streams_that_are_opened_again_at_once_have_not_lived_on() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes", "*/jobs"]);
    stage.after_s(20);
    for watch in ["*/pods", "*/nodes", "*/jobs"] {
        stage.ended(watch, Cause::End).reopened(watch);
    }
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.250 */pods F16 suspected [13, 17, 21]
    20.250 */nodes F16 suspected [13, 17, 21]
    20.250 */jobs F16 suspected [13, 17, 21]
    "#);
}

#[test]
fn all_watches_of_one_resource_ending_while_others_live_are_its_cache() {
    let mut stage = Stage::new(1, &["a/pods", "b/pods", "*/nodes", "*/jobs"]);
    stage.after_s(20).ended("a/pods", Cause::End);
    stage.ended("b/pods", Cause::End);
    stage
        .after_ms(600)
        .refused("a/pods", 429, "storage is (re)initializing");
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.250 a/pods F16 suspected [17, 18]
    20.250 b/pods F16 suspected [17, 18]
    20.600 a/pods F16 likely [17, 18, 21]
    20.600 b/pods F16 likely [17, 18, 21]
    "#);
}

#[test]
fn a_server_that_is_back_before_the_next_dial_has_restarted_and_its_cache_did_not_begin_anew() {
    for cause in [Cause::Eof, Cause::TcpReset] {
        let watches = ["*/pods", "*/nodes", "*/widgets.example.com"];
        let mut stage = Stage::new(1, &watches);
        let connection = stage.sharing(&watches);
        stage.after_s(20);
        for watch in watches {
            stage.ended(watch, cause);
        }
        stage.closed(connection, cause);
        stage.after_ms(900);
        for watch in watches {
            stage.refused(watch, 429, "storage is (re)initializing");
        }
        let attributions = stage.attributions();
        let last: Vec<&str> = attributions.lines().rev().take(3).collect();
        assert!(
            last.iter().all(|line| line.contains(" F06 likely ")),
            "{attributions}"
        );
    }
}

#[test]
fn a_server_that_keeps_its_other_connections_did_not_go_away_with_the_one_that_was_reset() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes", "*/jobs"]);
    stage.after_s(20).ended("*/pods", Cause::TcpReset);
    stage.after_ms(45).ended("*/nodes", Cause::End);
    stage.ended("*/jobs", Cause::End);
    stage
        .after_ms(1)
        .refused("*/nodes", 429, "storage is (re)initializing");
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.000 */pods F08 definite [13]
    20.295 */nodes F16 likely [13, 16, 17, 18]
    20.295 */jobs F16 likely [13, 16, 17, 18]
    "#);
}

#[test]
fn an_edit_of_its_definition_ends_the_watch_of_a_custom_resource() {
    let crds = "-/customresourcedefinitions.apiextensions.k8s.io";
    let mut stage = Stage::new(1, &[crds, "*/widgets.example.com", "*/pods"]);
    stage.held(crds, "widgets.example.com", 1);
    stage.after_s(20).changed(crds, "widgets.example.com", 2);
    stage.after_s(5).ended("*/widgets.example.com", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @"25.250 */widgets.example.com F17 likely [14, 15]");
}

#[test]
fn a_status_of_the_definition_is_no_edit() {
    let crds = "-/customresourcedefinitions.apiextensions.k8s.io";
    let mut stage = Stage::new(1, &[crds, "*/widgets.example.com", "*/pods"]);
    stage.held(crds, "widgets.example.com", 1);
    stage.after_s(20).changed(crds, "widgets.example.com", 1);
    stage.after_s(5).ended("*/widgets.example.com", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @"25.250 */widgets.example.com unknown unknown [15]");
}

#[test]
fn streams_that_end_at_once_and_empty_are_suspected_and_three_of_them_likely() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20);
    for _ in 0..3 {
        stage.reopened("*/pods");
        stage.after_ms(700).ended("*/pods", Cause::End);
        stage.after_ms(3_000);
    }
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.950 */pods F10 suspected [12]
    24.650 */pods F10 suspected [17]
    28.350 */pods F10 likely [22]
    "#);
}

#[test]
fn one_watch_ending_again_and_again_is_not_many() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(20);
    for _ in 0..2 {
        stage.reopened("*/pods");
        stage.after_ms(50).ended("*/pods", Cause::End);
    }
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.300 */pods F10 suspected [8]
    20.350 */pods F10 suspected [12]
    "#);
}

#[test]
fn a_resource_that_is_served_no_longer_ended_its_watch() {
    let mut stage = Stage::new(1, &["*/widgets.example.com", "*/pods"]);
    stage.after_s(20).ended("*/widgets.example.com", Cause::End);
    stage.after_ms(20).refused(
        "*/widgets.example.com",
        404,
        "the server could not find the requested resource",
    );
    insta::assert_snapshot!(stage.attributions(), @"20.250 */widgets.example.com F18 likely [9, 10]");
}

#[test]
fn the_next_edit_of_a_definition_does_not_hide_the_one_that_ended_a_watch() {
    let crds = "-/customresourcedefinitions.apiextensions.k8s.io";
    let mut stage = Stage::new(1, &[crds, "*/widgets.example.com", "*/pods"]);
    stage.held(crds, "widgets.example.com", 1);
    stage.after_s(20).changed(crds, "widgets.example.com", 2);
    stage.ended("*/widgets.example.com", Cause::End);
    stage
        .after_ms(1_000)
        .changed(crds, "widgets.example.com", 3);
    stage.refused("*/widgets.example.com", 429, "storage is (re)initializing");
    insta::assert_snapshot!(stage.attributions(), @"20.250 */widgets.example.com F17 likely [14, 15]");
}

#[test]
fn streams_that_we_left_unread_end_together_for_that_reason() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20);
    stage.ended_unread("*/pods", Cause::End, 500, Some(2_300));
    stage.ended_unread("*/nodes", Cause::End, 40, Some(2_300));
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.250 */pods F36 likely [9]
    20.250 */nodes F36 likely [10]
    "#);
}

#[test]
fn watch_lists_that_end_before_their_state_has_come_are_found_at_the_second() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.ended("*/pods", Cause::Cancelled);
    for wait_s in [1, 5, 5] {
        stage.opens_with_initial_events("*/pods").lists("*/pods");
        stage.after_s(wait_s).ended_after("*/pods", Cause::End, 100);
    }
    insta::assert_snapshot!(stage.attributions(), @r"
0.000 */pods ours definite [5]
1.250 */pods F37 suspected [12]
6.250 */pods F37 likely [18]
11.250 */pods F37 likely [24]
");
    insta::assert_snapshot!(stage.found(), @"
    8.250 F37 raised warning likely x1 */pods: The server ended */pods after 5.0 s and 100 events, before its initial events were complete, and not for the first time.
    13.250 F37 raised warning likely x2 */pods: The server ended */pods after 5.0 s and 100 events, before its initial events were complete, and not for the first time.
    ");
}

#[test]
fn a_lone_clean_end_of_a_busy_stream_may_be_our_slowness() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).ended_after("*/pods", Cause::End, 500);
    insta::assert_snapshot!(stage.attributions(), @"20.250 */pods F36 suspected [9]");
}

#[test]
fn a_lone_clean_end_of_a_stream_that_we_left_unread_is_most_likely_our_slowness_and_found() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage
        .after_s(20)
        .ended_unread("*/pods", Cause::End, 500, Some(2_300))
        .after_s(5);
    insta::assert_snapshot!(stage.attributions(), @"20.250 */pods F36 likely [9]");
    insta::assert_snapshot!(stage.found(), @"22.250 F36 raised warning likely x1 */pods: The server ended */pods after 20.0 s and 500 events, and watchscope itself had not read it for 2.3 s. Most likely the server's buffer for this watch was full.");
}

#[test]
fn a_quiet_stream_cannot_have_filled_a_buffer() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).ended_after("*/pods", Cause::End, 9);
    insta::assert_snapshot!(stage.attributions(), @"20.250 */pods unknown unknown [9]");
}

#[test]
fn an_unreadable_frame_says_whether_it_was_of_another_kind() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20);
    stage.lost("*/pods", "kind Secret where Pod was asked for");
    stage.ended("*/pods", Cause::Decode);
    stage.lost("*/nodes", "not JSON at byte 0");
    stage.ended("*/nodes", Cause::Decode);
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.000 */pods F39 definite [9, 10]
    20.000 */nodes F38 suspected [13, 14]
    "#);
}

#[test]
fn a_cut_frame_is_its_own_evidence() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).ended("*/pods", Cause::EofInFrame);
    insta::assert_snapshot!(stage.attributions(), @"20.250 */pods F47 definite [9]");
}

#[test]
fn a_fact_two_seconds_later_changes_nothing() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).ended("*/pods", Cause::Eof);
    stage.ended("*/nodes", Cause::Eof);
    stage
        .after_ms(2_100)
        .phase("*/pods", PhaseReason::Unreachable);
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.250 */pods F06 suspected [9, 10, 11, 12]
    20.250 */nodes F06 suspected [9, 11, 12]
    "#);
}

#[test]
fn a_machine_that_goes_on_from_a_fold_says_the_same() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(20).resumed_from_fold();
    stage.ended("*/pods", Cause::TcpReset);
    stage.after_s(378).ended("*/nodes", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @r#"
    20.000 */pods F08 definite [9]
    398.000 */nodes normal definite [12]
    "#);
}

#[test]
fn a_custom_resource_whose_cache_begins_anew_was_perhaps_defined_anew() {
    let mut stage = Stage::new(1, &["*/widgets.example.com", "*/pods"]);
    stage.after_s(20).ended("*/widgets.example.com", Cause::End);
    stage
        .after_ms(20)
        .refused("*/widgets.example.com", 429, "storage is (re)initializing");
    insta::assert_snapshot!(stage.attributions(), @"20.250 */widgets.example.com F17 suspected [9, 10]");
}

#[test]
fn a_goaway_explains_the_ends_of_all_streams_of_its_connection_together() {
    let watches = ["*/pods", "*/nodes", "*/jobs"];
    let mut stage = Stage::new(1, &watches);
    let connection = stage.sharing(&watches);
    stage.after_s(20).goaway(connection);
    stage.after_s(1);
    for watch in watches {
        stage.ended(watch, Cause::Eof);
    }
    stage.closed(connection, Cause::Eof);
    insta::assert_snapshot!(stage.attributions(), @r#"
    0.000 */pods ours definite [14]
    0.000 */nodes ours definite [19]
    0.000 */jobs ours definite [24]
    21.250 */pods F09 likely [29, 30, 31, 32]
    21.250 */nodes F09 likely [29, 30, 31, 32]
    21.250 */jobs F09 likely [29, 30, 31, 32]
    "#);
}

#[test]
fn a_goaway_does_not_explain_one_stream_that_ends_while_others_of_its_connection_go_on() {
    let watches = ["*/pods", "*/nodes", "*/jobs"];
    let mut stage = Stage::new(1, &watches);
    let connection = stage.sharing(&watches);
    stage.after_s(20).goaway(connection);
    stage.after_s(100).ended("*/pods", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @r#"
    0.000 */pods ours definite [14]
    0.000 */nodes ours definite [19]
    0.000 */jobs ours definite [24]
    120.250 */pods unknown unknown [30]
    "#);
}

/// A connection that is closing, with two streams. The first moved on long before the second, the last, ended in order.
fn the_last_to_leave(watch: &str) -> Stage {
    let watches = [watch, "*/nodes"];
    let mut stage = Stage::new(1, &watches);
    let connection = stage.sharing(&watches);
    stage.after_s(20).goaway(connection);
    stage.after_s(20).ended("*/nodes", Cause::Cancelled);
    stage.after_s(60);
    stage
}

#[test]
fn the_last_stream_that_leaves_a_connection_in_order_ended_perhaps_by_goaway() {
    let mut stage = the_last_to_leave("*/pods");
    stage.ended("*/pods", Cause::End);
    let attributions = stage.attributions().lines().last().unwrap().to_owned();
    insta::assert_snapshot!(attributions, @"100.250 */pods F09 suspected [20, 23]");
}

#[test]
fn the_last_stream_that_leaves_a_connection_ended_for_its_own_reason_if_one_is_known() {
    let mut stage = the_last_to_leave("*/pods");
    stage.ended("*/pods", Cause::End);
    stage
        .after_ms(20)
        .refused("*/pods", 429, "storage is (re)initializing");
    let initializing = stage.attributions().lines().last().unwrap().to_owned();
    let mut stage = the_last_to_leave("*/pods");
    stage.ended_unread("*/pods", Cause::End, 1_000, Some(400));
    let unread = stage.attributions().lines().last().unwrap().to_owned();
    let mut stage = the_last_to_leave("*/widgets.example.com");
    stage
        .ended("*/widgets.example.com", Cause::End)
        .after_ms(20);
    stage.refused(
        "*/widgets.example.com",
        404,
        "the server could not find the requested resource",
    );
    let not_served = stage.attributions().lines().last().unwrap().to_owned();
    insta::assert_snapshot!([initializing, unread, not_served].join("\n"), @r"
100.250 */pods F16 likely [23, 24]
100.250 */pods F36 likely [23]
100.250 */widgets.example.com F18 likely [23, 24]
");
}

#[test]
fn an_end_with_its_connection_just_at_the_timeout_is_normal() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(400);
    stage
        .ended("*/pods", Cause::Eof)
        .ended("*/nodes", Cause::Eof);
    insta::assert_snapshot!(stage.attributions(), @r"
400.000 */pods normal likely [9]
400.000 */nodes normal likely [12]
");
}

#[test]
fn a_stream_given_up_only_because_its_end_did_not_come_was_perhaps_dead() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(120).ended("*/nodes", Cause::IdleTimeout);
    stage.after_s(311).ended("*/pods", Cause::IdleTimeout);
    insta::assert_snapshot!(stage.attributions(), @r"
120.000 */nodes F04 definite [9]
431.000 */pods F04 suspected [12]
");
    insta::assert_snapshot!(stage.found(), @"
    120.000 F04 raised warning definite x1 */nodes: */nodes received nothing more, and nothing reported an end: its connection was found dead after 120.0 s and 0 events.
    433.250 F04 raised warning suspected x1 */pods: */pods received nothing more, and its stream did not end at its timeout: watchscope gave it up after 431.0 s and 0 events. Its connection is dead, or its server ignores timeouts.
    ");
}

#[test]
fn streams_of_any_state_that_end_are_not_cut_short_of_initial_events() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.ended("*/pods", Cause::Cancelled);
    for _ in 0..3 {
        stage.reopened("*/pods").lists("*/pods");
        stage.after_s(5).ended_after("*/pods", Cause::End, 100);
    }
    assert!(
        !stage.attributions().contains("F37"),
        "{}",
        stage.attributions()
    );
}

#[test]
fn a_stream_that_a_goaway_ended_is_attributed_to_it() {
    let watches = ["*/pods", "*/nodes"];
    let mut stage = Stage::new(1, &watches);
    let connection = stage.sharing(&watches);
    stage.after_s(20).goaway(connection);
    stage.ended("*/pods", Cause::Goaway);
    insta::assert_snapshot!(stage.attributions(), @r#"
    0.000 */pods ours definite [10]
    0.000 */nodes ours definite [15]
    20.000 */pods F09 definite [20, 21]
    "#);
}

#[test]
fn streams_that_are_reset_do_not_end_with_their_server() {
    let watches = ["*/pods", "*/nodes"];
    let mut stage = Stage::new(1, &watches);
    stage.sharing(&watches);
    stage.after_s(20);
    for watch in watches {
        stage.ended(watch, Cause::RstStream);
    }
    insta::assert_snapshot!(stage.attributions(), @r#"
    0.000 */pods ours definite [10]
    0.000 */nodes ours definite [15]
    20.250 */pods unknown unknown [20]
    20.250 */nodes unknown unknown [21]
    "#);
}

#[test]
fn a_server_that_shuts_down_ends_streams_over_seconds_and_its_words_to_one_explain_the_others() {
    let watches = ["*/pods", "*/nodes", "*/jobs", "*/leases"];
    let mut stage = Stage::new(1, &watches);
    stage.after_s(30);
    // The first goes to another server at once, and never receives the reason.
    stage.ended_after("*/pods", Cause::End, 3);
    stage.opened("*/pods", "10.0.0.2:6443").after_s(1);
    stage.ended_after("*/nodes", Cause::End, 3);
    stage.refused(
        "*/nodes",
        429,
        "the apiserver is shutting down, please try again later.",
    );
    stage.opened("*/nodes", "10.0.0.2:6443").after_s(9);
    stage.ended_after("*/jobs", Cause::End, 3);
    stage.opened("*/jobs", "10.0.0.2:6443").after_s(70);
    stage.ended_after("*/leases", Cause::End, 3);
    stage.opened("*/leases", "10.0.0.2:6443");
    insta::assert_snapshot!(stage.attributions(), @r"
30.250 */pods unknown unknown [17]
31.000 */pods F07 likely [17, 23]
31.250 */nodes F07 likely [22, 23]
40.250 */jobs F07 likely [23, 29]
110.250 */leases F06 suspected [34, 36]
");
}
