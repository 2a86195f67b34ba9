//! Tests of findings from the audit's reads: divergent objects (F24, F45), a revision that went back (F33), a watch
//! from the future (F32).

use crate::stage::Stage;
use watchscope_model::vocabulary::{
    AuditOutcome, Cause, ChangeType, Divergence, PhaseReason, Standing,
};

const ADDED: ChangeType = ChangeType::Added;
const MODIFIED: ChangeType = ChangeType::Modified;
/// The audit's words for a list that is refused because the server is behind the requested version.
const TOO_LARGE: &str = "list exact too large";
/// The audit's words for reads that are ahead of a silent stream.
const AHEAD: &str = "reads ahead";
const A: &str = "*/pods";
const B: &str = "*/pods#2";
const C: &str = "*/pods#3";

/// Two servers delivered version 40. 5 s later the first lists 33 as the newest version; another 5 s pass.
fn one_of_two_back() -> Stage {
    let mut stage = Stage::new(0, &[A, B]).with_candidates();
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage.live(B, ADDED, "a", "u1", 40, None).after_s(5);
    stage
        .audited(A, "list newest twice", AuditOutcome::CannotTell.word(), 33)
        .after_s(5);
    stage
}

#[test]
fn a_finding_stays_until_the_last_object_is_right_again() {
    let mut stage = Stage::new(1, &[A]);
    stage
        .verdict(A, "b1", Divergence::Stale, 15, Standing::Confirmed)
        .verdict(A, "b2", Divergence::Stale, 16, Standing::Confirmed)
        .verdict(A, "b3", Divergence::ListOlder, 17, Standing::Confirmed)
        .after_s(60);
    assert!(
        stage
            .found()
            .ends_with(" 2 objects of this watch are wrong.")
    );
    stage
        .verdict(A, "b1", Divergence::Stale, 15, Standing::Cleared)
        .after_s(60);
    let found = stage.found().to_owned();
    assert!(
        found.ends_with(" 1 object of this watch is wrong.") && !found.contains("cleared"),
        "{found}"
    );
    stage.verdict(A, "b2", Divergence::Stale, 16, Standing::Cleared);
    assert!(stage.found().contains("F24 cleared"));
}

#[test]
fn the_evidence_of_a_divergent_object_is_its_last_event_the_bookmark_and_two_reads() {
    let mut stage = Stage::new(1, &[A]);
    let ghost = (Divergence::Ghost, 0);
    let mut seqs = Vec::new();
    stage.live(A, ADDED, "a", "u", 20, None);
    seqs.push(stage.live(A, MODIFIED, "a", "u", 21, None).head());
    stage.live(A, ADDED, "b", "u2", 22, None);
    seqs.push(stage.bookmark(A, 30).head());
    stage.after_s(5);
    for state in [Standing::Raised, Standing::Confirmed] {
        seqs.push(
            stage
                .audited(A, "list exact", AuditOutcome::Differs.word(), 30)
                .head(),
        );
        stage.verdict(A, "a", ghost.0, ghost.1, state);
    }
    assert!(stage.found().contains("F24 raised"));
    assert_eq!(stage.evidence("F24"), seqs);

    // A machine that takes over between the reads knows the second one, and the record since which the object is held.
    let mut stage = Stage::new(1, &[A]);
    let added = stage.live(A, ADDED, "a", "u", 20, None).head();
    stage.audited(A, "list exact", AuditOutcome::Differs.word(), 20);
    stage.verdict(A, "a", ghost.0, ghost.1, Standing::Raised);
    stage.resumed_from_fold();
    let second = stage
        .audited(A, "list exact", AuditOutcome::Differs.word(), 20)
        .head();
    stage.verdict(A, "a", ghost.0, ghost.1, Standing::Confirmed);
    assert!(stage.found().contains("F24 raised"));
    assert_eq!(stage.evidence("F24"), [added, second]);
}

#[test]
fn an_object_missing_from_before_a_streams_first_event_is_first_of_all_a_race_at_its_start() {
    let mut stage = Stage::new(1, &[A]).with_candidates();
    stage
        .live(A, ADDED, "a", "u1", 20, None)
        .live(A, ADDED, "b", "u2", 30, None)
        .verdict(A, "early", Divergence::Missing, 15, Standing::Confirmed)
        .after_s(2);
    stage
        .verdict(A, "early", Divergence::Missing, 15, Standing::Cleared)
        .verdict(A, "later", Divergence::Missing, 25, Standing::Confirmed);
    insta::assert_snapshot!(stage.found(), @r"
0.000 F45 or F24 F25 F33 raised divergence likely x1 */pods: Two reads at one resourceVersion agree: early is in etcd at 15 and is not held. The stream never reported it. 1 object of this watch is wrong. Its event should have been the first of the stream from 10, which delivered nothing below 20.
2.000 F45 or F24 F25 F33 cleared divergence likely x1 */pods: The watch agrees with etcd again.
2.000 F24 or F25 F33 F45 raised divergence likely x1 */pods: Two reads at one resourceVersion agree: later is in etcd at 25 and is not held. The stream never reported it. 1 object of this watch is wrong.
");
}

#[test]
fn a_server_whose_newest_list_is_below_what_it_sent_shows_that_etcd_went_back_and_the_other_makes_it_sure()
 {
    let mut stage = one_of_two_back();
    stage.audited(B, "list newest twice", AuditOutcome::CannotTell.word(), 34);
    insta::assert_snapshot!(stage.found(), @r"
    5.000 F33 or F32 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.
    10.000 F33 updated error definite x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen, and all 2 servers agree: etcd went back to an older state.
    ");
}

#[test]
fn the_first_list_after_etcd_went_back_shows_whether_that_server_went_back_too() {
    // The other server restarts later, and lists below what it had sent.
    let mut stage = one_of_two_back();
    stage.begins_anew(B).list_complete(B, 35, 0);
    assert!(
        stage.found().contains("F33 updated error definite"),
        "{}",
        stage.found()
    );
    // The other server's list comes from a cache that did not begin anew.
    let mut stage = one_of_two_back();
    stage.begins_anew(B).list_complete(B, 41, 0);
    assert!(!stage.found().contains("definite"), "{}", stage.found());
}

#[test]
fn a_read_of_another_resource_says_nothing_of_a_server_that_is_back() {
    let (events, more) = ("*/events", "*/events#2");
    let mut stage = Stage::new(0, &[A, B, events, more]).with_candidates();
    for (watch, version) in [(A, 40), (B, 40), (events, 900), (more, 900)] {
        stage.live(watch, ADDED, "a", "u1", version, None);
    }
    stage.after_s(5);
    stage
        .audited(A, "list newest twice", AuditOutcome::CannotTell.word(), 33)
        .after_s(5);
    // Their etcd is another one.
    for watch in [events, more] {
        stage.audited(watch, "list exact", AuditOutcome::Agrees.word(), 905);
    }
    stage.after_s(5);
    stage.audited(B, "list newest twice", AuditOutcome::CannotTell.word(), 34);
    insta::assert_snapshot!(stage.found(), @r"
    5.000 F33 or F32 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.
    15.000 F33 updated error definite x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen, and all 2 servers agree: etcd went back to an older state.
    ");
}

#[test]
fn of_three_servers_of_which_two_have_answered_it_is_likely() {
    let mut stage = Stage::new(0, &[A, B, C]).with_candidates();
    for watch in [A, B, C] {
        stage.live(watch, ADDED, "a", "u1", 40, None);
    }
    stage.after_s(5);
    for watch in [A, A, B] {
        stage
            .audited(
                watch,
                "list newest twice",
                AuditOutcome::CannotTell.word(),
                33,
            )
            .after_s(5);
    }
    insta::assert_snapshot!(stage.found(), @"5.000 F33 or F32 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.");
}

#[test]
fn a_revision_that_went_back_by_the_only_server_there_is_is_etcds_or_that_servers() {
    let mut stage = Stage::new(1, &[A]).with_candidates();
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage.audited(A, "list newest twice", AuditOutcome::CannotTell.word(), 33);
    insta::assert_snapshot!(stage.found(), @"0.000 F33 or F32 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.");
}

#[test]
fn the_watchs_own_list_of_the_newest_state_shows_it_without_the_audit() {
    let mut stage = Stage::new(1, &[A]).with_candidates();
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage.page(A, 33).phase(A, PhaseReason::Restored);
    insta::assert_snapshot!(stage.found(), @"0.000 F33 or F32 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.");
}

#[test]
fn a_living_object_at_a_lower_version_in_a_later_state_shows_that_etcd_went_back() {
    let mut stage = Stage::new(1, &[A]).with_candidates();
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage
        .page_with(A, 5_000, ("a", "u1", 15))
        .phase(A, PhaseReason::Restored);
    insta::assert_snapshot!(stage.found(), @"0.000 F33 or F24 raised error likely x1 : A list at 5000 has a at 15, but */pods holds it at 40. In one history of etcd the resourceVersion of an existing object never goes down: etcd went back to an older state.");
}

#[test]
fn etcd_that_goes_back_once_more_is_reported_anew_by_a_watch_that_had_listed_since() {
    let back = "list newest twice";
    let mut stage = Stage::new(1, &[A, "-/nodes"]).with_candidates();
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage.live("-/nodes", ADDED, "n", "u2", 41, None);
    stage
        .audited(A, back, AuditOutcome::CannotTell.word(), 33)
        .after_s(1);
    // This read was under way while all watches began anew.
    stage.audited("-/nodes", back, AuditOutcome::CannotTell.word(), 33);
    stage
        .list_complete(A, 34, 0)
        .list_complete("-/nodes", 34, 0);
    stage.after_s(60).live(A, ADDED, "b", "u3", 50, None);
    stage.audited(A, back, AuditOutcome::CannotTell.word(), 42);
    let found = stage.found().lines().filter(|line| !line.contains(" F22 "));
    insta::assert_snapshot!(found.collect::<Vec<_>>().join("\n"), @r"
    0.000 F33 or F32 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.
    61.000 F33 or F32 cleared error likely x1 : etcd went back again.
    61.000 F33 or F32 raised error likely x1 : A list of the newest state is at 42, 8 below 50, which */pods has seen: etcd went back to an older state.
    ");
}

#[test]
fn an_old_state_that_a_server_keeps_and_lists_again_is_no_second_restore() {
    let mut stage = Stage::new(1, &[A]);
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage.was_not(A, "a", 40).after_s(1);
    stage.list_complete(A, 40, 0).after_s(15);
    stage.was_not(A, "a", 40).after_s(15);
    stage.audited(A, "list newest twice", AuditOutcome::CannotTell.word(), 33);
    insta::assert_snapshot!(stage.found(), @r"
    0.000 F33 raised error likely x1 : */pods received a at 40. Two reads of etcd at that resourceVersion do not show it: etcd has another history now, which has passed that version since.
    16.000 F33 raised error likely x2 : */pods received a at 40. Two reads of etcd at that resourceVersion do not show it: etcd has another history now, which has passed that version since. Its newer events still come from the time before that. The server's watch cache did not begin anew, and may not until the server restarts.
    31.000 F33 raised error likely x3 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state. Its newer events still come from the time before that. The server's watch cache did not begin anew, and may not until the server restarts.
    ");
}

#[test]
fn an_old_event_that_a_server_delivers_again_is_no_second_restore() {
    let mut stage = Stage::new(1, &[A]);
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage
        .audited(A, "list newest twice", AuditOutcome::CannotTell.word(), 33)
        .after_s(1);
    // Its list comes from etcd, its stream from the cache.
    stage
        .list_complete(A, 33, 0)
        .live(A, ADDED, "a", "u1", 40, None);
    stage.after_s(15);
    stage.audited(A, "list newest twice", AuditOutcome::CannotTell.word(), 33);
    let found = stage.found().lines().filter(|line| line.contains(" F33 "));
    insta::assert_snapshot!(found.collect::<Vec<_>>().join("\n"), @r"
    0.000 F33 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.
    16.000 F33 raised error likely x2 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state. Its newer events still come from the time before that. The server's watch cache did not begin anew, and may not until the server restarts.
    ");
}

#[test]
fn an_event_since_the_restore_that_is_not_in_etcd_shows_another_restore() {
    let mut stage = Stage::new(1, &[A]);
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage.was_not(A, "a", 40).after_s(1);
    // The server's cache began anew as well.
    stage
        .list_complete(A, 45, 0)
        .live(A, ADDED, "b", "u2", 50, None);
    stage.after_s(60).was_not(A, "b", 50);
    insta::assert_snapshot!(stage.found(), @r"
    0.000 F33 raised error likely x1 : */pods received a at 40. Two reads of etcd at that resourceVersion do not show it: etcd has another history now, which has passed that version since.
    61.000 F33 cleared error likely x1 : etcd went back again.
    61.000 F33 raised error likely x1 : */pods received b at 50. Two reads of etcd at that resourceVersion do not show it: etcd has another history now, which has passed that version since.
    ");
}

#[test]
fn a_watch_from_the_future_is_over_when_its_stream_goes_on_or_ends() {
    let nodes = "-/nodes";
    let mut stage = Stage::new(1, &[A, nodes]).with_candidates();
    for watch in [A, nodes] {
        stage.live(watch, ADDED, "a", "u1", 40, None);
        stage.audited(watch, "list any twice", AuditOutcome::CannotTell.word(), 37);
    }
    stage.after_s(5).live(A, MODIFIED, "a", "u1", 41, None);
    stage.after_s(5).ended(nodes, Cause::End);
    insta::assert_snapshot!(stage.found(), @r"
0.000 F32 or F31 raised error likely x1 */pods: The watch was opened at 40, but its server knows nothing beyond 37, 3 below that. It sends nothing until it gets there, though lists have changed.
0.000 F32 or F31 cleared error likely x1 */pods: Other watches have it from the same cause: see the finding that they share.
0.000 F32 or F31 raised error likely x1 the cluster watches=2 names=2 */pods,-/nodes: Watches were opened at versions that their servers have not reached. The servers send nothing until they reach them. It concerns 2 watches: */pods, -/nodes.
5.000 F32 or F31 updated error likely x1 the cluster watches=1 names=1 -/nodes: Watches were opened at versions that their servers have not reached. The servers send nothing until they reach them. It concerns 1 watch: -/nodes.
10.000 F32 or F31 cleared error likely x1 the cluster watches=1 names=1 -/nodes: Its stream delivered again, or ended.
");
}

#[test]
fn a_watch_from_the_future_that_is_behind_a_list_as_well_is_found_to_be_both_until_it_goes_on() {
    let ways = [("list any twice", 37), ("list", 45)];
    for turned in [false, true] {
        let mut stage = Stage::new(1, &[A]).with_candidates();
        stage.live(A, ADDED, "a", "u1", 40, None);
        let [first, second] = if turned { [1, 0] } else { [0, 1] };
        for (method, version) in [ways[first], ways[second]] {
            stage
                .audited(A, method, AuditOutcome::CannotTell.word(), version)
                .after_s(1);
        }
        stage.live(A, MODIFIED, "a", "u1", 46, None);
        let found = stage.found();
        let of = |state: &str| {
            let lines = found.lines().filter(|line| line.contains(state));
            lines
                .filter_map(|line| line.split(' ').nth(1))
                .collect::<Vec<_>>()
        };
        let raised = if turned {
            ["F31", "F32"]
        } else {
            ["F32", "F31"]
        };
        let is_all = of(" raised ") == raised && of(" cleared ") == ["F31", "F32"];
        assert!(is_all, "{found}");
    }
}

/// A watch at 40 that is behind reads.
fn behind_reads() -> Stage {
    let mut stage = Stage::new(1, &[A]).with_candidates();
    stage.live(A, ADDED, "a", "u1", 40, None).after_s(30);
    stage.audited(A, AHEAD, AuditOutcome::CannotTell.word(), 45);
    stage
}

#[test]
fn two_streams_that_lag_behind_reads_of_one_server_are_one_finding_of_it() {
    let nodes = "-/nodes";
    let mut stage = Stage::new(1, &[A, nodes]).with_candidates();
    stage.sharing(&[A, nodes]);
    for watch in [A, nodes] {
        stage.live(watch, ADDED, "a", "u1", 40, None);
    }
    stage
        .after_s(30)
        .audited(A, AHEAD, AuditOutcome::CannotTell.word(), 45);
    stage
        .after_s(20)
        .audited(nodes, AHEAD, AuditOutcome::CannotTell.word(), 45);
    stage.after_s(5);
    for watch in [A, nodes] {
        stage.live(watch, MODIFIED, "a", "u1", 45, None);
    }
    insta::assert_snapshot!(stage.found(), @r"
    30.000 F31 or F04 F44 raised note likely x1 */pods: Reads showed objects of */pods at up to 45. Its stream is at 40 and has delivered nothing in the 10 s since the first of these reads. Its server is behind, or something holds its events back.
    50.000 F31 or F04 F44 cleared note likely x1 */pods: Other watches have it from the same cause: see the finding that they share.
    50.000 F31 or F04 F44 raised note likely x1 10.0.0.1:6443 watches=2 names=2 */pods,-/nodes: Reads showed newer objects than the server 10.0.0.1:6443 has delivered to its watches: it is behind, or something holds its events back. It concerns 2 watches: */pods, -/nodes.
    55.000 F31 or F04 F44 cleared note likely x1 10.0.0.1:6443 watches=1 names=1 -/nodes: Its stream delivered again, or ended.
    ");
}

#[test]
fn a_stream_that_lags_behind_reads_is_noted_and_a_warning_once_it_has_lagged_for_two_periods_of_bookmarks()
 {
    let mut stage = behind_reads();
    stage
        .after_s(110)
        .audited(A, "list", AuditOutcome::CannotTell.word(), 47);
    stage.after_s(5).live(A, MODIFIED, "a", "u1", 45, None);
    insta::assert_snapshot!(stage.found(), @r"
    30.000 F31 or F04 F44 raised note likely x1 */pods: Reads showed objects of */pods at up to 45. Its stream is at 40 and has delivered nothing in the 10 s since the first of these reads. Its server is behind, or something holds its events back.
    140.000 F31 or F04 F32 raised warning likely x2 */pods: A list at 47 differs from what */pods holds. Its stream is at 40 and does not reach the version of the list: its server is behind, or no events get through.
    145.000 F31 or F04 F32 cleared warning likely x2 */pods: Its stream delivered again, or ended.
    ");
    let mut short = behind_reads();
    short.after_s(50).live(A, MODIFIED, "a", "u1", 45, None);
    insta::assert_snapshot!(short.found(), @r"
    30.000 F31 or F04 F44 raised note likely x1 */pods: Reads showed objects of */pods at up to 45. Its stream is at 40 and has delivered nothing in the 10 s since the first of these reads. Its server is behind, or something holds its events back.
    80.000 F31 or F04 F44 cleared note likely x1 */pods: Its stream delivered again, or ended.
    ");
}

#[test]
fn a_stream_that_may_have_been_opened_beyond_its_server_is_perhaps_from_the_future_and_where_it_is_lags_not()
 {
    let mut stage = Stage::new(1, &[A]).with_candidates();
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage.resumed_from(A, 40).after_s(30);
    stage.audited(A, AHEAD, AuditOutcome::CannotTell.word(), 45);
    insta::assert_snapshot!(stage.found(), @"30.000 F31 or F04 F32 F44 raised note likely x1 */pods: Reads showed objects of */pods at up to 45. Its stream is at 40 and has delivered nothing in the 10 s since the first of these reads. Its server is behind, or something holds its events back.");
    let mut stage = refused_at(&[(1, 37), (25, 37)]);
    stage
        .after_s(5)
        .audited(A, AHEAD, AuditOutcome::CannotTell.word(), 45);
    let found: Vec<&str> = stage
        .found()
        .lines()
        .filter(|line| line.contains(".000 F31 "))
        .collect();
    assert_eq!(found, [""; 0]);
}

/// A watch that was opened at 40. Lists at 40 were refused because the server was at an earlier version: each with the
/// seconds since the list before, and that version.
fn refused_at(refused: &[(u64, u64)]) -> Stage {
    let mut stage = Stage::new(1, &[A]).with_candidates();
    stage.live(A, ADDED, "a", "u1", 40, None);
    stage.resumed_from(A, 40);
    for (after_s, current) in refused {
        stage.after_s(*after_s);
        stage.audited(A, TOO_LARGE, AuditOutcome::CannotTell.word(), *current);
    }
    stage
}

#[test]
fn a_watch_of_a_quiet_type_is_from_the_future_where_two_lists_twenty_seconds_apart_are_refused() {
    let mut stage = refused_at(&[(1, 37), (12, 37), (8, 38)]);
    stage.after_s(5).bookmark(A, 40);
    insta::assert_snapshot!(stage.found(), @r"
    21.000 F32 or F31 raised error likely x1 */pods: The watch was opened at 40, but its server has only reached 38, 2 below that. It sends nothing until it gets there. Two lists at 40, 20.0 s apart, were refused (504).
    26.000 F32 or F31 cleared error likely x1 */pods: Its stream delivered again, or ended.
    ");
    let over = |end: fn(&mut Stage)| {
        let mut stage = refused_at(&[(1, 37), (20, 37)]);
        end(stage.after_s(5));
        stage.found().lines().last().unwrap_or_default().to_owned()
    };
    let by = [
        over(|stage| {
            stage.live(A, MODIFIED, "a", "u1", 41, None);
        }),
        over(|stage| {
            stage.ended(A, Cause::End);
        }),
    ];
    insta::assert_snapshot!(by.join("\n"), @r"
    26.000 F32 or F31 cleared error likely x1 */pods: Its stream delivered again, or ended.
    26.000 F32 or F31 cleared error likely x1 */pods: Its stream delivered again, or ended.
    ");
}

#[test]
fn lists_that_are_refused_for_less_than_twenty_seconds_or_of_two_streams_show_no_watch_from_the_future()
 {
    insta::assert_snapshot!(refused_at(&[(1, 37), (19, 38)]).found(), @"");
    // Its server has reached the version at which it was opened.
    insta::assert_snapshot!(refused_at(&[(1, 40), (25, 40)]).found(), @"");
    let mut of_two = refused_at(&[(1, 37)]);
    of_two.resumed_from(A, 40).after_s(25);
    of_two.audited(A, TOO_LARGE, AuditOutcome::CannotTell.word(), 37);
    let found: Vec<&str> = of_two
        .found()
        .lines()
        .filter(|line| line.contains(" F32 "))
        .collect();
    assert_eq!(found, [""; 0]);
    // The bookmark in between shows that it is not from the future.
    let mut goes_on = refused_at(&[(1, 37)]);
    goes_on.after_s(5).bookmark(A, 41).after_s(20);
    goes_on
        .audited(A, TOO_LARGE, AuditOutcome::CannotTell.word(), 37)
        .after_s(30);
    goes_on.audited(A, TOO_LARGE, AuditOutcome::CannotTell.word(), 37);
    insta::assert_snapshot!(goes_on.found(), @"");
}

#[test]
fn a_newest_list_below_a_seen_version_shows_a_restore_and_no_watch_from_the_future() {
    let mut stage = refused_at(&[(1, 37), (25, 37)]);
    stage
        .after_s(5)
        .audited(A, "list newest twice", AuditOutcome::CannotTell.word(), 38);
    insta::assert_snapshot!(stage.found(), @r"
    26.000 F32 or F31 raised error likely x1 */pods: The watch was opened at 40, but its server has only reached 37, 3 below that. It sends nothing until it gets there. Two lists at 40, 25.0 s apart, were refused (504).
    31.000 F32 or F31 cleared error likely x1 */pods: The newest list is below what the watch has seen: etcd went back, the server's cache is not behind.
    31.000 F33 or F32 raised error likely x1 : A list of the newest state is at 38, 2 below 40, which */pods has seen: etcd went back to an older state.
    ");
    let mut stage = refused_at(&[(1, 37)]);
    stage
        .after_s(5)
        .audited(A, "list newest twice", AuditOutcome::CannotTell.word(), 38);
    stage
        .after_s(20)
        .audited(A, TOO_LARGE, AuditOutcome::CannotTell.word(), 37);
    insta::assert_snapshot!(stage.found(), @"6.000 F33 or F32 raised error likely x1 : A list of the newest state is at 38, 2 below 40, which */pods has seen: etcd went back to an older state.");
}

#[test]
fn a_race_at_the_start_of_a_stream_of_initial_events_is_behind_the_bookmark_that_ends_them() {
    let mut stage = Stage::new(1, &[A]);
    stage
        .opened_with_initial_events(A)
        .initial(A, "a", 5)
        .end_bookmark(A, 20)
        .live(A, ADDED, "b", "u2", 30, None)
        .verdict(A, "b4", Divergence::Stale, 15, Standing::Confirmed)
        .verdict(A, "b4", Divergence::Stale, 15, Standing::Cleared)
        .verdict(A, "early", Divergence::Stale, 25, Standing::Confirmed);
    insta::assert_snapshot!(stage.found(), @r"
0.000 F24 raised divergence likely x1 */pods: Two reads at one resourceVersion agree: b4 is held at none, and etcd has it at 15. The stream never reported it. 1 object of this watch is wrong.
0.000 F24 cleared divergence likely x1 */pods: The watch agrees with etcd again.
0.000 F45 raised divergence likely x1 */pods: Two reads at one resourceVersion agree: early is held at none, and etcd has it at 25. The stream never reported it. 1 object of this watch is wrong. Its event should have been the first of the stream from 20, which delivered nothing below 30.
");
}

/// A watch of widgets that received one at 20, and a watch of definitions. If `edits`, the definition of widgets is
/// edited. The audit lists version 30, which the watch does not reach.
fn left_behind(edits: bool) -> Stage {
    let (widgets, definitions) = (
        "*/widgets.example.com",
        "-/customresourcedefinitions.apiextensions.k8s.io",
    );
    let mut stage = Stage::new(1, &[widgets, definitions]).with_candidates();
    stage.held(definitions, "widgets.example.com", 1);
    stage.live(widgets, ADDED, "a", "u1", 20, None).after_s(5);
    if edits {
        stage.changed(definitions, "widgets.example.com", 2);
    }
    stage.after_s(130);
    stage
        .audited(widgets, "list", AuditOutcome::CannotTell.word(), 30)
        .after_s(1);
    stage
}

#[test]
fn a_watch_that_is_silent_since_an_edit_while_lists_go_on_is_left_behind_by_it() {
    let mut stage = left_behind(true);
    stage.ended("*/widgets.example.com", Cause::End);
    insta::assert_snapshot!(stage.found(), @r"
135.000 F17 or F04 F31 raised error likely x1 */widgets.example.com: A list at 30 differs from what */widgets.example.com holds. Its stream is at 20 and has delivered nothing for 130.0 s, since its definition was edited: the server left it behind.
136.000 F17 or F04 F31 cleared error likely x1 */widgets.example.com: Its stream delivered again, or ended.
");
}

#[test]
fn a_watch_that_does_not_reach_a_list_without_an_edit_is_behind() {
    let mut stage = left_behind(false);
    stage.live("*/widgets.example.com", ADDED, "b", "u2", 30, None);
    insta::assert_snapshot!(stage.found(), @r"
135.000 F31 or F04 F32 raised warning suspected x1 */widgets.example.com: A list at 30 differs from what */widgets.example.com holds. Its stream is at 20 and does not reach the version of the list: its server is behind, or no events get through.
136.000 F31 or F04 F32 cleared warning suspected x1 */widgets.example.com: Its stream delivered again, or ended.
");
}

#[test]
fn a_server_that_is_not_there_has_not_answered() {
    let mut stage = Stage::new(0, &[A, B, C]).with_candidates();
    for watch in [A, B, C] {
        stage.live(watch, ADDED, "a", "u1", 40, None);
    }
    stage.after_s(5).ended(C, Cause::Eof).after_s(5);
    for watch in [A, B] {
        stage
            .audited(
                watch,
                "list newest twice",
                AuditOutcome::CannotTell.word(),
                33,
            )
            .after_s(5);
    }
    insta::assert_snapshot!(stage.found(), @"10.000 F33 or F32 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.");
}

/// A ghost that is confirmed after a list. An item of the list, or a line, could not be read: `lost` has the reason. If
/// `again`, another list followed.
fn ghost_after(lost: &str, again: bool) -> String {
    let mut stage = Stage::new(1, &[A]);
    stage.live(A, ADDED, "a", "u1", 11, None);
    stage.lost(A, lost);
    stage.list_complete(A, 12, 0);
    if again {
        stage.list_complete(A, 13, 0);
    }
    stage.ended(A, Cause::Cancelled).reopened(A);
    stage.verdict(A, "a", Divergence::Ghost, 15, Standing::Confirmed);
    stage.found().to_owned()
}

#[test]
fn only_an_unreadable_item_of_the_last_list_may_explain_a_divergence() {
    let item = "an item of a list: no metadata.name";
    insta::assert_snapshot!(ghost_after("the last line did not end", false), @"0.000 F24 raised divergence likely x1 */pods: Two reads at one resourceVersion agree: a is held at none and is not in etcd. The stream never reported it. 1 object of this watch is wrong.");
    insta::assert_snapshot!(ghost_after(item, false), @"0.000 F24 raised divergence suspected x1 */pods: Two reads at one resourceVersion agree: a is held at none and is not in etcd. The stream never reported it. 1 object of this watch is wrong. An item of its last list could not be read; that may be the cause.");
    insta::assert_snapshot!(ghost_after(item, true), @"0.000 F24 raised divergence likely x1 */pods: Two reads at one resourceVersion agree: a is held at none and is not in etcd. The stream never reported it. 1 object of this watch is wrong.");
}

#[test]
fn a_server_that_is_behind_is_so_still_when_its_stream_says_something_late() {
    let mut stage = Stage::new(0, &[A, B]);
    for watch in [A, B] {
        stage.live(watch, ADDED, "a", "a", 15, None);
    }
    stage
        .after_s(1)
        .live(A, ADDED, "b", "b", 20, None)
        .after_s(9);
    stage
        .audited(B, "list", AuditOutcome::CannotTell.word(), 20)
        .after_s(5);
    for (name, version) in [("c", 21), ("d", 22)] {
        stage.live(A, ADDED, name, name, version, None);
    }
    stage.after_s(5).live(B, ADDED, "b", "b", 20, None);
    stage.after_s(20).live(B, ADDED, "c", "c", 21, None);
    stage.live(B, ADDED, "d", "d", 22, None).after_s(70);
    insta::assert_snapshot!(stage.found(), @"
    4.000 F31 raised note likely x1 */pods#2: 10.0.0.1:6443 delivered ADDED of b at 20, 3 s ago, but 10.0.0.2:6443 has not yet: a client that moves from the first to the second goes back in time. p95 of its lag is 3.0 s, over 2 events in a minute.
    10.000 F31 raised warning suspected x2 */pods#2: A list at 20 differs from what */pods#2 holds. Its stream is at 15 and does not reach the version of the list: its server is behind, or no events get through.
    20.000 F31 cleared warning suspected x2 */pods#2: Its stream delivered again, or ended.
    20.250 F31 raised note likely x1 */pods#2: 10.0.0.1:6443 delivered ADDED of c at 21, 5 s ago, but 10.0.0.2:6443 has not yet, nor 1 more: a client that moves from the first to the second goes back in time. p95 of its lag is 19.0 s, over 4 events in a minute.
    100.000 F31 cleared note likely x1 */pods#2: It has caught up.
    ");
}
