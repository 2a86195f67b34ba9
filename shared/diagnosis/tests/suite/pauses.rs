//! Tests of pauses in which watchscope did not run (a suspended laptop, a stopped process): others are not blamed for
//! their effects.

use crate::stage::Stage;
use watchscope_model::vocabulary::ChangeType::{Added, Modified};
use watchscope_model::vocabulary::{Cause, Divergence, PhaseReason, Standing};

/// Eight hours.
const NIGHT_S: u64 = 28_800;

const EVERY_CAUSE: [Cause; 7] = [
    Cause::Eof,
    Cause::EofInFrame,
    Cause::TcpReset,
    Cause::RstStream,
    Cause::IdleTimeout,
    Cause::Tls,
    Cause::Unknown,
];

#[test]
fn a_stream_that_does_not_outlive_a_night_asleep_is_our_own_doing_however_it_ends() {
    for cause in EVERY_CAUSE {
        let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
        stage.after_s(20).paused_s(NIGHT_S).after_s(100);
        stage.ended("*/pods", cause).ended("*/nodes", cause);
        stage.after_s(30);
        let attributions =
            "28920.000 */pods ours likely [9, 10]\n28920.000 */nodes ours likely [9, 13]";
        assert_eq!(stage.attributions(), attributions, "{cause}");
        assert_eq!(stage.found(), "", "{cause}");
    }
}

#[test]
fn a_timeout_that_passed_while_we_slept_is_normal() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage
        .after_s(20)
        .paused_s(NIGHT_S)
        .ended("*/pods", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @"28820.000 */pods normal likely [5, 6]");
}

#[test]
fn an_end_before_its_timeout_right_after_a_pause_is_our_own_doing() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(20).paused_s(60);
    stage.live("*/pods", Added, "a", "u1", 20, None);
    stage.after_s(5).ended_after("*/pods", Cause::End, 1);
    insta::assert_snapshot!(stage.attributions(), @"85.000 */pods ours likely [5, 7]");
}

#[test]
fn an_end_after_the_stream_has_gone_on_after_a_pause_is_judged_as_usual() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(20).paused_s(60);
    stage.live("*/pods", Added, "a", "u1", 20, None);
    stage.after_s(11).ended_after("*/pods", Cause::TcpReset, 1);
    insta::assert_snapshot!(stage.attributions(), @"91.000 */pods F08 definite [7]");
}

#[test]
fn a_servers_reason_for_an_end_is_reported_and_nobody_else_is_blamed() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(20).paused_s(NIGHT_S).after_s(1);
    stage.error(
        "*/pods",
        410,
        "Expired",
        "too old resource version: 10 (90)",
    );
    stage.ended("*/pods", Cause::ErrorEvent).after_s(5);
    insta::assert_snapshot!(stage.attributions(), @"28821.000 */pods F11 definite [6, 7]");
    insta::assert_snapshot!(stage.found(), @"28821.000 F11 raised note definite x1 */pods: The server's watch cache no longer has the history that */pods asked for (410). It asked to resume from 10; the oldest version to resume from is 90, 80 later. Just before that, watchscope itself had not run.");
}

#[test]
fn history_that_expired_before_we_were_back_on_the_net_is_our_own_doing() {
    let expired = |moves: bool| {
        let mut stage = Stage::new(1, &["*/pods"]);
        stage.live("*/pods", Added, "a", "u1", 20, None);
        stage.after_s(20).paused_s(NIGHT_S);
        stage.after_ms(10);
        if moves {
            stage.live("*/pods", Modified, "a", "u1", 30, None);
        }
        stage.after_s(5).ended("*/pods", Cause::TcpReset);
        stage.after_s(900).reopened("*/pods").after_ms(10);
        stage.error(
            "*/pods",
            410,
            "Expired",
            "too old resource version: 10 (90)",
        );
        stage.ended("*/pods", Cause::ErrorEvent).after_s(5);
        let found = stage.found().lines().find(|line| line.contains("F11"));
        found.unwrap().split(' ').nth(3).unwrap().to_owned()
    };
    assert_eq!(expired(false), "note");
    assert_eq!(expired(true), "warning", "it was there after the pause");
}

#[test]
fn a_bookmark_after_a_pause_shows_that_the_stream_lives_even_if_it_says_nothing_new() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.bookmark("*/pods", 20);
    stage
        .after_s(20)
        .paused_s(60)
        .after_s(40)
        .bookmark("*/pods", 20);
    stage.after_s(20).ended("*/pods", Cause::TcpReset);
    insta::assert_snapshot!(stage.attributions(), @"140.000 */pods F08 definite [8]");
}

#[test]
fn a_short_pause_closes_no_connection() {
    for cause in EVERY_CAUSE {
        let mut stage = Stage::new(1, &["*/pods"]);
        stage
            .after_s(20)
            .paused_s(2)
            .after_s(4)
            .ended("*/pods", cause);
        let attributions = stage.attributions();
        let is_ours = matches!(cause, Cause::RstStream | Cause::IdleTimeout);
        assert_eq!(
            attributions.contains("ours"),
            is_ours,
            "{cause}: {attributions}"
        );
    }
    let mut stage = Stage::new(1, &["*/pods"]);
    stage
        .after_s(20)
        .paused_s(2)
        .after_s(4)
        .ended("*/pods", Cause::End);
    insta::assert_snapshot!(stage.attributions(), @"26.250 */pods ours likely [5, 6]");
}

#[test]
fn a_server_that_goes_away_after_a_short_pause_is_found() {
    let watches = ["*/pods", "*/nodes"];
    let gone = |cause| {
        let mut stage = Stage::new(1, &watches);
        stage.after_s(20).paused_s(2);
        stage.live("*/pods", Added, "a", "u1", 20, None);
        stage
            .after_s(4)
            .ended("*/pods", cause)
            .ended("*/nodes", cause);
        stage.after_ms(50).phase("*/pods", PhaseReason::Unreachable);
        let attributions = stage.attributions().lines();
        let attributions = attributions.map(|line| line.split(" [").next().unwrap().to_owned());
        attributions.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(gone(Cause::Eof), @r"
26.250 */pods F06 likely
26.250 */nodes F06 likely
");
    assert_eq!(
        gone(Cause::End),
        gone(Cause::Eof),
        "a proxy ends streams in order"
    );
}

#[test]
fn short_pauses_in_a_row_are_a_long_one() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(20);
    for _ in 0..4 {
        stage.after_s(1).paused_s(5);
    }
    stage.after_s(4).ended("*/pods", Cause::Eof);
    insta::assert_snapshot!(stage.attributions(), @"48.000 */pods ours likely [8, 9]");
}

#[test]
fn history_that_expired_in_a_gap_long_after_a_pause_is_not_due_to_it() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.live("*/pods", Added, "a", "u1", 20, None);
    stage.after_s(60).paused_s(2).after_s(240);
    stage.ended("*/pods", Cause::TcpReset).after_s(2);
    stage.reopened("*/pods").after_ms(10);
    stage.error(
        "*/pods",
        410,
        "Expired",
        "too old resource version: 10 (90)",
    );
    stage.ended("*/pods", Cause::ErrorEvent).after_s(5);
    insta::assert_snapshot!(stage.found(), @"
    304.250 F08 raised note definite x1 */pods: The connection of */pods was reset after 302.0 s and 0 events.
    304.250 F11 raised warning definite x1 */pods: The server's watch cache no longer has the history that */pods asked for (410). It asked to resume from 10; the oldest version to resume from is 90, 80 later.
    ");
}

#[test]
fn a_finding_from_before_a_pause_keeps_its_begin() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.live("*/pods", Added, "b", "u1", 20, None);
    stage.after_s(20).paused_s(NIGHT_S).after_s(5);
    stage.verdict("*/pods", "a", Divergence::Ghost, 15, Standing::Confirmed);
    stage.after_s(2).was_not("*/pods", "a", 15);
    insta::assert_snapshot!(stage.found(), @r"
28825.000 F45 raised divergence likely x1 */pods: Two reads at one resourceVersion agree: a is held at none and is not in etcd. The stream never reported it. 1 object of this watch is wrong. Its event should have been the first of the stream from 10, which delivered nothing below 20.
28827.000 F33 raised error likely x1 : */pods received a at 15. Two reads of etcd at that resourceVersion do not show it: etcd has another history now, which has passed that version since.
");
}

#[test]
fn a_server_is_given_its_time_once_we_are_back() {
    let mut stage = Stage::new(0, &["*/pods", "*/pods#2"]);
    stage.live("*/pods", Added, "a", "u1", 20, None).after_s(2);
    stage.paused_s(NIGHT_S).after_ms(900);
    stage
        .live("*/pods#2", Added, "a", "u1", 20, None)
        .after_s(5);
    stage
        .live("*/pods", Modified, "a", "u1", 30, None)
        .after_s(2);
    stage.paused_s(5).after_s(2);
    insta::assert_snapshot!(stage.found(), @"28815.900 F31 raised note likely x1 */pods#2: 10.0.0.1:6443 delivered MODIFIED of a at 30, 3 s ago, but 10.0.0.2:6443 has not yet: a client that moves from the first to the second goes back in time. p95 of its lag is 3.0 s, over 2 events in a minute.");
}
