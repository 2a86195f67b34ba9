//! Tests of types that another apiserver serves through the cluster's: their versions are its own numbers and have no
//! order. Each script has a twin with the cluster's own versions, in which the same is a failure.

use crate::stage::Stage;
use watchscope_model::vocabulary::{AuditOutcome, Cause, ChangeType};

const ADDED: ChangeType = ChangeType::Added;
const MODIFIED: ChangeType = ChangeType::Modified;
const DELETED: ChangeType = ChangeType::Deleted;
const PROJECTS: &str = "-/projects.project.openshift.io";
const REPORTS: &str = "*/policyreports.wgpolicyk8s.io";
const PODS: &str = "*/pods";

/// Returns the findings of a script: with another apiserver's versions, and with the cluster's own.
fn found(watches: &[&str], script: impl Fn(&mut Stage)) -> [String; 2] {
    [true, false].map(|is_another| {
        let mut stage = Stage::served_by(is_another, 1, watches);
        script(&mut stage);
        stage.found().to_owned()
    })
}

#[test]
fn an_old_project_that_the_user_may_now_read_is_not_out_of_order() {
    let [another, own] = found(&[PROJECTS], |stage| {
        stage
            .live(PROJECTS, ADDED, "new", "u1", 900, None)
            .live(PROJECTS, ADDED, "old", "u2", 40, None)
            .live(PROJECTS, ADDED, "older", "u3", 7, None)
            .live(PROJECTS, MODIFIED, "new", "u1", 900, None);
    });
    insta::assert_snapshot!(another, @"");
    insta::assert_snapshot!(own, @r"
0.000 F30 raised error definite x1 -/projects.project.openshift.io: ADDED of old was delivered to -/projects.project.openshift.io at 40, after 900.
0.000 F29 raised warning definite x1 -/projects.project.openshift.io: -/projects.project.openshift.io asked for events after 10, but got ADDED of older at 7.
");
}

#[test]
fn a_deleted_with_the_stored_version_is_not_old() {
    let [another, own] = found(&[REPORTS], |stage| {
        stage
            .live(REPORTS, ADDED, "a", "u1", 11, None)
            .live(REPORTS, ADDED, "b", "u2", 12, None)
            .live(REPORTS, DELETED, "a", "u1", 11, None);
    });
    insta::assert_snapshot!(another, @"");
    insta::assert_snapshot!(own, @r"0.000 F23 raised error definite x1 */policyreports.wgpolicyk8s.io: DELETED of a carried 11, though */policyreports.wgpolicyk8s.io had reached 12: a client that resumes from there sees old events again.");
}

#[test]
fn a_list_with_a_lower_version_is_no_old_state_and_no_restore() {
    let [another, own] = found(&[REPORTS], |stage| {
        stage
            .live(REPORTS, ADDED, "a", "u1", 11, None)
            .live(REPORTS, ADDED, "b", "u2", 12, None)
            .live(REPORTS, DELETED, "b", "u2", 12, None)
            .ended(REPORTS, Cause::End)
            .list_complete(REPORTS, 11, 0)
            .reopened(REPORTS);
    });
    insta::assert_snapshot!(another, @"");
    insta::assert_snapshot!(own, @r"
0.000 F23 raised error definite x1 */policyreports.wgpolicyk8s.io: DELETED of b carried 12, though */policyreports.wgpolicyk8s.io had reached 12: a client that resumes from there sees old events again.
0.000 F22 raised warning definite x1 */policyreports.wgpolicyk8s.io: */policyreports.wgpolicyk8s.io had reached 12, but a list returned the older state at 11.
");
}

#[test]
fn versions_of_other_watches_do_not_show_missing_bookmarks() {
    let [another, own] = found(&[REPORTS], |stage| {
        stage.asking_for_bookmarks(REPORTS).by_address(PODS);
        stage.live(PODS, ADDED, "p", "u9", 500_000, None);
        stage.after_s(400);
    });
    insta::assert_snapshot!(another, @"");
    insta::assert_snapshot!(own, @r"150.000 F34 raised note likely x1 */policyreports.wgpolicyk8s.io: The stream of */policyreports.wgpolicyk8s.io is 150 s old, is at 10 and had no bookmark, though */pods reached 500000 long ago. Servers do not guarantee bookmarks.");
}

#[test]
fn the_version_that_a_stream_resumes_from_is_not_shown_as_a_number() {
    let [another, own] = found(&[REPORTS], |stage| {
        stage.error(REPORTS, 410, "Expired", "too old resource version: 10 (90)");
        stage.ended(REPORTS, Cause::ErrorEvent).after_s(3);
        for _ in 0..3 {
            stage.reopened(REPORTS).ended(REPORTS, Cause::End);
        }
    });
    insta::assert_snapshot!(another, @r"
0.000 F11 raised warning definite x1 */policyreports.wgpolicyk8s.io: The server's watch cache no longer has the history that */policyreports.wgpolicyk8s.io asked for (410).
3.000 F10 raised warning likely x1 */policyreports.wgpolicyk8s.io: 3 streams of */policyreports.wgpolicyk8s.io in a row were accepted and ended at once, without an event and without an ERROR.
");
    insta::assert_snapshot!(own, @r"
0.000 F11 raised warning definite x1 */policyreports.wgpolicyk8s.io: The server's watch cache no longer has the history that */policyreports.wgpolicyk8s.io asked for (410). It asked to resume from 10; the oldest version to resume from is 90, 80 later.
3.000 F10 raised warning likely x1 */policyreports.wgpolicyk8s.io: 3 streams of */policyreports.wgpolicyk8s.io in a row from 10 were accepted and ended at once, without an event and without an ERROR.
");
}

#[test]
fn a_restore_of_the_cluster_is_found_beside_it() {
    let mut stage = Stage::served_by(true, 1, &[REPORTS]);
    stage.live(REPORTS, ADDED, "a", "u1", 11, None);
    stage.own().by_address(PODS);
    stage.live(PODS, ADDED, "p", "u2", 40, None);
    stage.audited(
        PODS,
        "list newest twice",
        AuditOutcome::CannotTell.word(),
        33,
    );
    insta::assert_snapshot!(stage.found(), @"0.000 F33 raised error likely x1 : A list of the newest state is at 33, 7 below 40, which */pods has seen: etcd went back to an older state.");
}

#[test]
fn a_project_missing_from_one_list_and_back_in_the_next_was_out_of_reach() {
    let [another, own] = found(&[PROJECTS], |stage| {
        stage.live(PROJECTS, ADDED, "a", "u1", 11, None);
        stage.lists(PROJECTS);
        stage.inferred_gone(PROJECTS, "a", "u1");
        stage.listed(PROJECTS, "a", "u1", 11);
    });
    insta::assert_snapshot!(another, @"");
    insta::assert_snapshot!(own, @"0.000 F22 raised warning definite x1 -/projects.project.openshift.io: a came back to -/projects.project.openshift.io in a list, at 11 and with the uid that was deleted: the list shows an older state.");
}
