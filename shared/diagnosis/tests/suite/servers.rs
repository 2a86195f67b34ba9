//! Tests of several servers whose watches are compared: F31, and events that one server withholds
//! (docs/semantics/checks.md#witness).

use watchscope_model::vocabulary::Cause;
use watchscope_model::vocabulary::ChangeType::{Added, Deleted, Modified};

use crate::stage::Stage;

const A: &str = "*/pods";
const B: &str = "*/pods#2";
const C: &str = "*/pods#3";

fn two() -> Stage {
    Stage::new(0, &[A, B])
}

#[test]
fn servers_that_deliver_the_same_soon_after_each_other_are_healthy() {
    let mut stage = two();
    stage.live(A, Added, "a", "u1", 20, None).after_ms(900);
    stage.live(B, Added, "a", "u1", 20, None);
    stage.live(B, Modified, "a", "u1", 30, None).after_ms(2_900);
    stage.live(A, Modified, "a", "u1", 30, None);
    stage.live(A, Deleted, "a", "u1", 40, None);
    stage.live(B, Deleted, "a", "u1", 40, None);
    stage.bookmark(A, 50);
    stage.after_s(60);
    stage.bookmark(B, 50);
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn a_server_that_delivers_three_seconds_later_is_behind_until_a_minute_after_it_has_caught_up() {
    let mut stage = two();
    stage.live(A, Added, "a", "u1", 20, None).after_ms(500);
    stage.live(A, Added, "b", "u2", 21, None).after_s(10);
    stage.live(B, Added, "a", "u1", 20, None).after_ms(100);
    stage.live(B, Added, "b", "u2", 21, None).after_s(70);
    insta::assert_snapshot!(stage.found(), @"
    3.000 F31 raised note likely x1 */pods#2: 10.0.0.1:6443 delivered ADDED of a at 20, 3 s ago, but 10.0.0.2:6443 has not yet: a client that moves from the first to the second goes back in time. p95 of its lag is 3.0 s, over 1 event in a minute.
    70.600 F31 cleared note likely x1 */pods#2: It has caught up.
    ");
}

#[test]
fn an_event_that_one_server_goes_beyond_was_lost_there() {
    let mut stage = two();
    stage.live(A, Added, "a", "u1", 20, None);
    stage.live(A, Deleted, "gone", "u2", 25, None);
    stage.live(A, Modified, "a", "u1", 30, None).after_ms(200);
    stage.live(B, Added, "a", "u1", 20, None);
    stage.live(B, Modified, "a", "u1", 30, None).after_ms(200);
    insta::assert_snapshot!(stage.found(), @"0.200 F24 raised divergence definite x1 */pods#2: 10.0.0.1:6443 delivered DELETED of gone at 25; 10.0.0.2:6443 reached 30 without it.");
}

#[test]
fn a_bookmark_beyond_an_event_shows_its_loss_too_and_so_does_a_later_delivery_elsewhere() {
    let mut stage = Stage::new(0, &[A, B, C]);
    stage.live(A, Added, "a", "u1", 20, None);
    stage.bookmark(B, 20);
    stage.after_ms(100);
    // C went beyond 40 before any server delivered 30.
    stage.live(C, Added, "a", "u1", 20, None);
    stage.live(C, Modified, "a", "u1", 40, None);
    stage.live(A, Added, "b", "u2", 30, None).after_ms(100);
    insta::assert_snapshot!(stage.found(), @"
0.000 F24 raised divergence definite x1 */pods#2: 10.0.0.1:6443 delivered ADDED of a at 20; 10.0.0.2:6443 reached 20 without it.
0.100 F24 raised divergence definite x1 */pods#3: 10.0.0.1:6443 delivered ADDED of b at 30; 10.0.0.3:6443 reached 40 without it.
");
}

#[test]
fn objects_that_expire_with_one_lease_have_one_version_and_are_each_delivered() {
    let mut stage = two();
    for name in ["e1", "e2", "e3"] {
        stage.live(A, Deleted, name, name, 20, None);
    }
    for name in ["e1", "e2"] {
        stage.live(B, Deleted, name, name, 20, None);
    }
    for watch in [A, B] {
        stage.live(watch, Added, "a", "u1", 30, None);
    }
    insta::assert_snapshot!(stage.found(), @"0.000 F24 raised divergence definite x1 */pods#2: 10.0.0.1:6443 delivered DELETED of e3 at 20; 10.0.0.2:6443 reached 30 without it.");
}

#[test]
fn a_stream_that_was_opened_later_or_a_missing_one_owes_no_event() {
    let mut stage = two();
    stage.ended(B, Cause::End);
    stage.live(A, Added, "a", "u1", 5, None);
    stage.live(A, Added, "b", "u2", 11, None);
    stage.after_s(10);
    // It goes on from 10, so it does not need version 5, and needs 11.
    stage.reopened(B);
    stage.live(B, Added, "b", "u2", 11, None).after_s(10);
    insta::assert_snapshot!(stage.found(), @"0.000 F29 raised warning definite x1 */pods: */pods asked for events after 10, but got ADDED of a at 5.");
}

#[test]
fn a_stream_that_has_come_back_has_its_time_to_catch_up() {
    let mut stage = two();
    stage.ended(B, Cause::End);
    stage.live(A, Added, "a", "u1", 20, None).after_s(10);
    stage.live(A, Added, "b", "u2", 30, None).after_s(2);
    // The events before are long late when the next one comes.
    stage.reopened(B);
    stage.after_s(2);
    stage.live(B, Added, "a", "u1", 20, None);
    stage.live(B, Added, "b", "u2", 30, None).after_s(10);
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn a_stream_that_comes_back_and_does_not_catch_up_is_behind() {
    let mut stage = two();
    stage.ended(B, Cause::End);
    stage.live(A, Added, "a", "u1", 20, None).after_s(10);
    stage.reopened(B);
    stage.after_s(10);
    insta::assert_snapshot!(stage.found(), @"13.000 F31 raised note likely x1 */pods#2: 10.0.0.1:6443 delivered ADDED of a at 20, 13 s ago, but 10.0.0.2:6443 has not yet: a client that moves from the first to the second goes back in time. p95 of its lag is 3.0 s, over 1 event in a minute.");
}

#[test]
fn an_item_of_our_last_list_that_could_not_be_read_may_be_why() {
    let mut stage = two();
    stage.live(A, Added, "a", "u1", 20, None);
    stage.lost(B, "an item of a list: no metadata.name");
    stage.list_complete(B, 10, 0);
    stage.live(B, Added, "b", "u2", 30, None).after_ms(100);
    insta::assert_snapshot!(stage.found(), @"0.000 F24 raised divergence suspected x1 */pods#2: 10.0.0.1:6443 delivered ADDED of a at 20; 10.0.0.2:6443 reached 30 without it. An item of its last list could not be read; that may be the cause.");
}

#[test]
fn events_that_one_server_withholds_are_bounded_and_it_is_behind_once() {
    let mut stage = two();
    for version in 0..5_000 {
        stage.live(A, Added, &format!("p{version}"), "u", 100 + version, None);
    }
    stage.after_s(10);
    for version in 0..5_000 {
        stage.live(B, Added, &format!("p{version}"), "u", 100 + version, None);
    }
    stage.after_s(70);
    insta::assert_snapshot!(stage.found(), @"
    3.000 F31 raised note likely x1 */pods#2: 10.0.0.1:6443 delivered ADDED of p3976 at 4076, 3 s ago, but 10.0.0.2:6443 has not yet, nor 1023 more: a client that moves from the first to the second goes back in time. p95 of its lag is 3.0 s, over 1024 events in a minute.
    70.000 F31 cleared note likely x1 */pods#2: It has caught up.
    ");
}

/// A watch by the configured address, and one by each of two servers.
fn with_path() -> Stage {
    let mut stage = two();
    stage.by_address("*/pods#3");
    stage
}

#[test]
fn one_event_in_a_hundred_that_comes_late_is_no_server_behind() {
    let mut stage = two();
    for version in 20..120 {
        let name = format!("p{version}");
        stage.live(A, Added, &name, &name, version, None);
        stage.after_ms(if version == 70 { 4_000 } else { 100 });
        stage.live(B, Added, &name, &name, version, None);
        stage.after_ms(100);
    }
    stage.after_s(100);
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn a_server_that_delivers_each_event_late_is_behind_until_it_is_on_time() {
    let mut stage = two();
    for version in 20..80 {
        let name = format!("p{version}");
        stage.live(A, Added, &name, &name, version, None);
        stage.after_ms(if version < 30 { 4_000 } else { 500 });
        stage.live(B, Added, &name, &name, version, None);
        stage.after_ms(500);
    }
    stage.after_s(100);
    insta::assert_snapshot!(stage.found(), @"
    3.000 F31 raised note likely x1 */pods#2: 10.0.0.1:6443 delivered ADDED of p20 at 20, 3 s ago, but 10.0.0.2:6443 has not yet: a client that moves from the first to the second goes back in time. p95 of its lag is 3.0 s, over 1 event in a minute.
    96.000 F31 cleared note likely x1 */pods#2: It has caught up: p95 of its lag is 0.5 s, over 52 events in a minute.
    ");
}

#[test]
fn events_that_are_late_by_the_configured_address_alone_are_held_up_on_the_path() {
    let mut stage = with_path();
    for burst in 0..4 {
        let versions = 20 + burst * 10..23 + burst * 10;
        for version in versions.clone() {
            let name = format!("p{version}");
            stage.live(A, Added, &name, &name, version, None);
            stage.live(B, Added, &name, &name, version, None);
            stage.after_ms(300);
        }
        stage.after_ms(4_000);
        for version in versions {
            let name = format!("p{version}");
            stage.live(C, Added, &name, &name, version, None);
        }
    }
    stage.after_s(100);
    insta::assert_snapshot!(stage.found(), @"
    7.200 F44 raised note likely x1 */pods#3: All its servers directly delivered ADDED of p30 at 30, 2 s ago, but */pods#3 has not received it yet, nor 1 more: something on the way holds it back. p95 of its lag is 4.9 s, over 5 events in a minute.
    79.600 F44 cleared note likely x1 */pods#3: It has caught up.
    ");
}

#[test]
fn late_events_of_two_types_by_the_configured_address_are_one_finding() {
    let mut stage = Stage::new(0, &[A, B, "-/nodes", "-/nodes#2"]);
    stage.by_address("*/pods#3").by_address_of("-/nodes#3");
    for burst in 0..4 {
        let versions = 20 + burst * 10..23 + burst * 10;
        for watches in [[A, B], ["-/nodes", "-/nodes#2"]] {
            for version in versions.clone() {
                let name = format!("p{version}");
                for watch in watches {
                    stage.live(watch, Added, &name, &name, version, None);
                }
                stage.after_ms(300);
            }
        }
        stage.after_ms(4_000);
        for watch in [C, "-/nodes#3"] {
            for version in versions.clone() {
                let name = format!("p{version}");
                stage.live(watch, Added, &name, &name, version, None);
            }
        }
    }
    stage.after_s(100);
    insta::assert_snapshot!(stage.found(), @"
    8.100 F44 raised note likely x1 */pods#3: All its servers directly delivered ADDED of p30 at 30, 2 s ago, but */pods#3 has not received it yet, nor 1 more: something on the way holds it back. p95 of its lag is 5.8 s, over 5 events in a minute.
    9.000 F44 cleared note likely x1 */pods#3: Other watches have it from the same cause: see the finding that they share.
    9.000 F44 raised note likely x1 10.0.0.1:6443 watches=2 names=2 */pods#3,-/nodes#3: Events come late over the configured address, 10.0.0.1:6443: all servers delivered them directly at least 2 s earlier, so something on the way holds them back. It concerns 2 watches: */pods#3, -/nodes#3.
    83.200 F44 cleared note likely x1 10.0.0.1:6443 watches=1 names=1 -/nodes#3: It has caught up.
    ");
}

#[test]
fn events_that_are_late_by_the_configured_address_and_by_a_server_are_that_servers() {
    let mut stage = with_path();
    for version in 20..30 {
        let name = format!("p{version}");
        stage.live(A, Added, &name, &name, version, None).after_s(5);
        stage.live(B, Added, &name, &name, version, None).after_s(1);
        stage.live(C, Added, &name, &name, version, None);
    }
    stage.after_s(100);
    insta::assert_snapshot!(stage.found(), @"
    3.000 F31 raised note likely x1 */pods#2: 10.0.0.1:6443 delivered ADDED of p20 at 20, 3 s ago, but 10.0.0.2:6443 has not yet: a client that moves from the first to the second goes back in time. p95 of its lag is 3.0 s, over 1 event in a minute.
    119.000 F31 cleared note likely x1 */pods#2: It has caught up.
    ");
}

#[test]
fn an_event_that_never_comes_by_the_configured_address_was_lost_on_the_path() {
    let mut stage = with_path();
    for watch in [A, B, C] {
        stage.live(watch, Added, "a", "u1", 20, None);
    }
    for watch in [A, B] {
        stage.live(watch, Deleted, "gone", "u2", 25, None);
    }
    for watch in [A, B, C] {
        stage.live(watch, Modified, "a", "u1", 30, None);
    }
    insta::assert_snapshot!(stage.found(), @"0.000 F24 raised divergence definite x1 */pods#3: 10.0.0.1:6443 delivered DELETED of gone at 25; */pods#3 reached 30 without it.");
}
