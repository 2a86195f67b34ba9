//! Tests of one finding for one cause: if several watches end or are refused at once, one finding names what they
//! share.

use crate::stage::Stage;
use watchscope_model::vocabulary::{Cause, PhaseReason};

/// Returns `number` names of watches, in both groups.
fn many(number: usize) -> Vec<String> {
    let name = |place: usize| match place % 2 {
        0 => format!("ns-{place:02}/pods"),
        _ => format!("ns-{place:02}/deployments.apps"),
    };
    (0..number).map(name).collect()
}

/// Reports to a watch that the server has lost its history.
fn expires(stage: &mut Stage, watch: &str) {
    let message = "too old resource version: 10 (90)";
    stage.error(watch, 410, "Expired", message);
    stage.ended(watch, Cause::ErrorEvent);
}

#[test]
fn one_restart_of_one_server_is_one_finding_and_its_410s_are_of_it() {
    let names = many(24);
    let watches: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut stage = Stage::new(1, &watches);
    stage.sharing(&watches);
    stage.after_s(30);
    for watch in &watches {
        stage.ended(watch, Cause::Eof).after_ms(5);
    }
    for watch in &watches {
        stage.phase(watch, PhaseReason::Unreachable);
    }
    stage.after_ms(900);
    let connection = stage.dials("10.0.0.1:6443");
    for (place, watch) in watches.iter().enumerate() {
        match place {
            // One watch never comes back.
            7 => {}
            0..=3 => {
                stage.opened(watch, "10.0.0.1:6443");
                expires(&mut stage, watch);
                stage
                    .after_ms(200)
                    .back_on(watch, connection, Some(place as u64));
            }
            _ => {
                stage.back_on(watch, connection, None);
            }
        }
    }
    stage.after_s(90);
    insta::assert_snapshot!(stage.found(), @"
    32.365 F06 raised note likely x1 10.0.0.1:6443 watches=24 resumed=19 relisted=4 names=16 ns-07/deployments.apps,ns-01/deployments.apps,ns-02/pods: The server 10.0.0.1:6443 went away; it could not be reached at once, or only at another address. Of 24 watches: 1 not back yet; 4 listed again and may have missed events; 19 resumed where they stopped.
    90.035 F06 updated warning likely x1 10.0.0.1:6443 watches=24 resumed=19 relisted=4 names=16 ns-07/deployments.apps,ns-01/deployments.apps,ns-02/pods: The server 10.0.0.1:6443 went away; it could not be reached at once, or only at another address. Of 24 watches: 1 not back yet; 4 listed again and may have missed events; 19 resumed where they stopped.
    ");
}

#[test]
fn of_two_servers_one_restarts_and_only_its_watches_are_named() {
    let names = many(6);
    let watches: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut stage = Stage::new(1, &watches);
    for watch in &watches[..3] {
        stage.ended(watch, Cause::Cancelled);
        stage.opened(watch, "10.0.0.2:6443");
    }
    stage.after_s(30);
    for watch in &watches[..3] {
        stage.ended(watch, Cause::Eof);
        stage.phase(watch, PhaseReason::Unreachable);
    }
    stage.after_ms(900);
    let connection = stage.dials("10.0.0.1:6443");
    for watch in &watches[..3] {
        stage.back_on(watch, connection, None);
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.250 F06 raised note likely x1 10.0.0.2:6443 watches=3 resumed=3 relisted=0 names=3 ns-00/pods,ns-01/deployments.apps,ns-02/pods: The server 10.0.0.2:6443 went away; it could not be reached at once, or only at another address. Of 3 watches: 3 resumed where they stopped.");
}

#[test]
fn a_reset_of_a_connection_and_the_restart_of_another_server_at_once_are_two_findings() {
    let names = many(8);
    let watches: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut stage = Stage::new(1, &watches);
    let connection = stage.sharing(&watches[..4]);
    for watch in &watches[4..7] {
        stage.ended(watch, Cause::Cancelled);
        stage.opened(watch, "10.0.0.2:6443");
    }
    stage.after_s(30);
    for watch in &watches[..4] {
        stage.ended(watch, Cause::TcpReset);
    }
    stage.closed(connection, Cause::TcpReset);
    for watch in &watches[4..7] {
        stage.ended(watch, Cause::Eof);
        stage.phase(watch, PhaseReason::Unreachable);
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"
    32.250 F08 raised note definite x1 connection 26 watches=4 resumed=0 relisted=0 names=4 ns-00/pods,ns-01/deployments.apps,ns-02/pods: A connection to the server 10.0.0.1:6443 was reset. Of 4 watches: 4 not back yet.
    32.250 F06 raised note likely x1 10.0.0.2:6443 watches=3 resumed=0 relisted=0 names=3 ns-04/pods,ns-05/deployments.apps,ns-06/pods: The server 10.0.0.2:6443 went away; it could not be reached at once, or only at another address. Of 3 watches: 3 not back yet.
    ");
}

#[test]
fn a_reset_of_a_connection_with_many_streams_is_the_connections() {
    let names = many(20);
    let watches: Vec<&str> = names.iter().map(String::as_str).collect();
    // Other streams at the same server live on.
    let mut stage = Stage::new(
        1,
        &[
            &watches[..],
            &[
                "*/nodes",
                "*/jobs",
                "*/leases",
                "*/events",
                "*/secrets",
                "*/services",
            ],
        ]
        .concat(),
    );
    let connection = stage.sharing(&watches);
    stage.after_s(30);
    for watch in &watches {
        stage.ended(watch, Cause::TcpReset);
    }
    stage.closed(connection, Cause::TcpReset);
    stage.after_ms(800);
    let connection = stage.dials("10.0.0.1:6443");
    for watch in &watches {
        stage.back_on(watch, connection, None);
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.250 F08 raised note definite x1 connection 80 watches=20 resumed=20 relisted=0 names=16 ns-00/pods,ns-01/deployments.apps,ns-02/pods: A connection to the server 10.0.0.1:6443 was reset. Of 20 watches: 20 resumed where they stopped.");
}

#[test]
fn a_dead_connection_is_found_once_for_all_its_streams() {
    let watches = ["*/pods", "*/nodes", "*/jobs"];
    let mut stage = Stage::new(1, &watches);
    let connection = stage.sharing(&watches);
    stage.after_s(120);
    for watch in &watches {
        stage.ended(watch, Cause::IdleTimeout);
    }
    stage.closed(connection, Cause::IdleTimeout);
    stage.after_s(2);
    let connection = stage.dials("10.0.0.1:6443");
    for watch in &watches {
        stage.back_on(watch, connection, None);
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"
    120.000 F04 raised warning definite x1 connection 11 watches=3 resumed=0 relisted=0 names=3 */jobs,*/nodes,*/pods: A connection to the server 10.0.0.1:6443 delivered nothing more, and nothing reported an end: it was found dead. Of 3 watches: 3 not back yet.
    122.000 F04 updated warning definite x1 connection 11 watches=3 resumed=3 relisted=0 names=3 */jobs,*/nodes,*/pods: A connection to the server 10.0.0.1:6443 delivered nothing more, and nothing reported an end: it was found dead. Of 3 watches: 3 resumed where they stopped.
    ");
}

#[test]
fn one_watch_alone_on_its_connection_stays_the_watchs() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(30).ended("*/pods", Cause::TcpReset);
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.250 F08 raised note definite x1 */pods: The connection of */pods was reset after 30.0 s and 0 events.");
}

#[test]
fn a_410_after_a_lone_end_without_such_a_cause_is_a_finding_of_its_own() {
    let mut stage = Stage::new(1, &["*/pods", "*/nodes"]);
    stage.after_s(30).ended("*/pods", Cause::TcpReset);
    stage.after_ms(900).reopened("*/pods");
    expires(&mut stage, "*/pods");
    let connection = stage.dials("10.0.0.1:6443");
    stage.after_ms(500).back_on("*/pods", connection, Some(1));
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"
    32.250 F08 raised warning definite x1 */pods: The connection of */pods was reset after 30.0 s and 0 events. It could not resume from its version (F11).
    32.250 F11 raised warning definite x1 */pods: The server's watch cache no longer has the history that */pods asked for (410). It asked to resume from 10; the oldest version to resume from is 90, 80 later. It listed again; what happened in between is unknown.
    ");
}

#[test]
fn a_server_that_restarts_again_is_another_occurrence_with_its_own_numbers() {
    let watches = ["*/pods", "*/nodes", "*/jobs"];
    let mut stage = Stage::new(1, &watches);
    for listed in [0, 1] {
        stage.after_s(30);
        for watch in watches {
            stage.ended(watch, Cause::Eof);
            stage.phase(watch, PhaseReason::Unreachable);
        }
        stage.after_ms(900);
        let connection = stage.dials("10.0.0.1:6443");
        for (place, watch) in watches.iter().enumerate() {
            let relisted = (place < listed).then_some(0);
            stage.back_on(watch, connection, relisted);
        }
    }
    stage.after_s(5);
    stage.stopped("*/jobs").after_s(5);
    stage.stopped("*/pods").stopped("*/nodes");
    insta::assert_snapshot!(stage.found(), @"
    32.250 F06 raised note likely x1 10.0.0.1:6443 watches=3 resumed=3 relisted=0 names=3 */jobs,*/nodes,*/pods: The server 10.0.0.1:6443 went away; it could not be reached at once, or only at another address. Of 3 watches: 3 resumed where they stopped.
    63.150 F06 raised note likely x2 10.0.0.1:6443 watches=3 resumed=2 relisted=1 names=3 */pods,*/jobs,*/nodes: The server 10.0.0.1:6443 went away; it could not be reached at once, or only at another address. Of 3 watches: 1 listed again and may have missed events; 2 resumed where they stopped.
    71.800 F06 cleared note likely x2 10.0.0.1:6443 watches=3 resumed=2 relisted=1 names=3 */pods,*/jobs,*/nodes: The watches were stopped.
    ");
}

#[test]
fn an_edit_of_a_definition_ends_the_watches_of_its_type_for_one_reason() {
    let crds = "-/customresourcedefinitions.apiextensions.k8s.io";
    let widgets = [
        "a/widgets.example.com",
        "b/widgets.example.com",
        "c/widgets.example.com",
    ];
    let mut stage = Stage::new(1, &[&[crds, "*/pods", "*/nodes"], &widgets[..]].concat());
    let connection = stage.sharing(&widgets);
    stage.held(crds, "widgets.example.com", 1);
    stage.after_s(20).changed(crds, "widgets.example.com", 2);
    for watch in widgets {
        stage.after_ms(20).ended(watch, Cause::End);
    }
    stage.after_ms(500);
    for (place, watch) in widgets.into_iter().enumerate() {
        if place == 0 {
            stage.opened_over(watch, connection);
            expires(&mut stage, watch);
        }
        stage.back_on(watch, connection, (place == 0).then_some(0));
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"22.310 F17 raised note likely x1 widgets.example.com at 10.0.0.1:6443 watches=3 resumed=2 relisted=1 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: The server 10.0.0.1:6443 ended the streams of widgets.example.com: the storage of the type was rebuilt. Of 3 watches: 1 listed again and may have missed events; 2 resumed where they stopped.");
}

#[test]
fn a_server_that_drains_ends_its_streams_one_after_the_other_for_one_reason() {
    let watches = ["*/pods", "*/nodes", "*/jobs"];
    let mut stage = Stage::new(1, &watches);
    stage.after_s(20);
    for watch in watches {
        stage.ended(watch, Cause::End);
        stage.refused(
            watch,
            429,
            "The apiserver is shutting down, please try again later.",
        );
        stage.after_s(5);
        stage.opened(watch, "10.0.0.2:6443");
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"
    22.250 F07 raised note likely x1 */pods: The server of */pods ended the stream after 20.0 s and 0 events, because it shuts down.
    27.250 F07 cleared note likely x1 */pods: Other watches have it from the same cause: see the finding that they share.
    27.250 F07 raised note likely x1 10.0.0.1:6443 watches=2 resumed=0 relisted=0 names=2 */nodes,*/pods: The server 10.0.0.1:6443 ended its streams, because it shuts down. Of 2 watches: 2 not back yet.
    32.250 F07 updated note likely x1 10.0.0.1:6443 watches=3 resumed=0 relisted=0 names=3 */jobs,*/nodes,*/pods: The server 10.0.0.1:6443 ended its streams, because it shuts down. Of 3 watches: 3 not back yet.
    ");
}

#[test]
fn a_410_right_after_the_server_of_one_watch_went_away_belongs_to_that_finding() {
    let mut stage = Stage::new(1, &["*/pods"]);
    stage.after_s(30).ended("*/pods", Cause::Eof);
    stage.phase("*/pods", PhaseReason::Unreachable);
    stage.after_ms(900).reopened("*/pods");
    expires(&mut stage, "*/pods");
    let connection = stage.dials("10.0.0.1:6443");
    stage.after_ms(500).back_on("*/pods", connection, Some(1));
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"
    32.250 F06 raised note suspected x1 */pods: The server of */pods went away after 30.0 s and 0 events, or something on the way closed its connections. It listed again; what happened in between is unknown.
    33.250 F06 updated note suspected x1 */pods: The server of */pods went away after 30.0 s and 0 events, or something on the way closed its connections. Its history was gone with it (410), so it listed again; what happened in between is unknown.
    ");
}

#[test]
fn a_410_of_a_watch_without_a_stream_when_its_server_restarted_belongs_to_that_finding() {
    let watches = ["*/pods", "*/nodes", "*/jobs"];
    let mut stage = Stage::new(1, &watches);
    stage.sharing(&watches);
    stage.after_s(30).ended("*/jobs", Cause::End);
    stage.after_ms(700);
    for watch in &watches[..2] {
        stage.ended(watch, Cause::Eof);
    }
    for watch in watches {
        stage.phase(watch, PhaseReason::Unreachable);
    }
    stage.after_ms(4_000);
    let connection = stage.dials("10.0.0.1:6443");
    for watch in &watches[..2] {
        stage.back_on(watch, connection, None);
    }
    stage.opened("*/jobs", "10.0.0.1:6443");
    expires(&mut stage, "*/jobs");
    stage.after_ms(300).back_on("*/jobs", connection, Some(0));
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @r"
    32.950 F06 raised note likely x1 10.0.0.1:6443 watches=2 resumed=0 relisted=0 names=2 */nodes,*/pods: The server 10.0.0.1:6443 went away; it could not be reached at once, or only at another address. Of 2 watches: 2 not back yet.
    34.700 F06 updated note likely x1 10.0.0.1:6443 watches=2 resumed=2 relisted=0 names=2 */nodes,*/pods: The server 10.0.0.1:6443 went away; it could not be reached at once, or only at another address. Of 2 watches: 2 resumed where they stopped.
    36.700 F06 updated note likely x1 10.0.0.1:6443 watches=3 resumed=2 relisted=1 names=3 */jobs,*/nodes,*/pods: The server 10.0.0.1:6443 went away; it could not be reached at once, or only at another address. Of 3 watches: 1 listed again and may have missed events; 2 resumed where they stopped.
    ");
}

/// Watches of one type in three namespaces, beside another type.
const WIDGETS: [&str; 3] = [
    "a/widgets.example.com",
    "b/widgets.example.com",
    "c/widgets.example.com",
];

/// The three watches, streaming over one connection, beside pods.
fn widgets() -> (Stage, watchscope_model::ConnectionId) {
    let mut stage = Stage::new(1, &[&WIDGETS[..], &["*/pods"]].concat());
    for watch in WIDGETS {
        stage.answered_last(watch);
    }
    let connection = stage.sharing(&WIDGETS);
    for watch in WIDGETS {
        stage.answered_last(watch);
    }
    stage.after_s(30);
    (stage, connection)
}

#[test]
fn a_type_that_is_served_no_longer_is_found_once_and_over_when_all_its_watches_are_answered() {
    let (mut stage, connection) = widgets();
    for watch in WIDGETS {
        stage.ended(watch, Cause::End);
    }
    for _ in 0..2 {
        stage.after_ms(600);
        for watch in WIDGETS {
            stage.asks_for_a_stream(watch, connection);
            stage.refused_last(
                watch,
                404,
                "the server could not find the requested resource",
            );
        }
    }
    stage.after_s(30);
    for watch in WIDGETS {
        stage.asks_and_opens(watch, connection).after_s(2);
    }
    insta::assert_snapshot!(stage.found(), @"
    33.200 F18 raised warning likely x1 widgets.example.com at 10.0.0.1:6443 watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: widgets.example.com was served by the server 10.0.0.1:6443 before, and is not found now (404). It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.
    61.200 F18 updated warning likely x1 widgets.example.com at 10.0.0.1:6443 watches=2 names=2 b/widgets.example.com,c/widgets.example.com: widgets.example.com was served by the server 10.0.0.1:6443 before, and is not found now (404). It concerns 2 watches: b/widgets.example.com, c/widgets.example.com.
    63.200 F18 updated warning likely x1 widgets.example.com at 10.0.0.1:6443 watches=1 names=1 c/widgets.example.com: widgets.example.com was served by the server 10.0.0.1:6443 before, and is not found now (404). It concerns 1 watch: c/widgets.example.com.
    65.200 F18 cleared warning likely x1 widgets.example.com at 10.0.0.1:6443 watches=1 names=1 c/widgets.example.com: The server answers again.
    ");
}

#[test]
fn a_right_that_two_watches_of_a_type_lose_is_one_finding_about_the_type() {
    let (mut stage, connection) = widgets();
    for watch in &WIDGETS[..2] {
        stage.ended(watch, Cause::End);
        for _ in 0..2 {
            stage.asks_for_a_stream(watch, connection);
            stage.refused_last(watch, 403, "forbidden").after_s(5);
        }
    }
    stage.stopped(WIDGETS[0]).after_s(5);
    stage.asks_and_opens(WIDGETS[1], connection);
    insta::assert_snapshot!(stage.found(), @"
    37.000 F41 raised error definite x1 a/widgets.example.com: a/widgets.example.com was allowed before, and is forbidden now (403).
    47.000 F41 cleared error definite x1 a/widgets.example.com: Other watches have it from the same cause: see the finding that they share.
    47.000 F41 raised error definite x1 widgets.example.com at 10.0.0.1:6443 watches=2 names=2 a/widgets.example.com,b/widgets.example.com: widgets.example.com was allowed at the server 10.0.0.1:6443 before, and is forbidden now (403). It concerns 2 watches: a/widgets.example.com, b/widgets.example.com.
    50.000 F41 updated error definite x1 widgets.example.com at 10.0.0.1:6443 watches=1 names=1 b/widgets.example.com: widgets.example.com was allowed at the server 10.0.0.1:6443 before, and is forbidden now (403). It concerns 1 watch: b/widgets.example.com.
    55.000 F41 cleared error definite x1 widgets.example.com at 10.0.0.1:6443 watches=1 names=1 b/widgets.example.com: The server answers again.
    ");
}

#[test]
fn credentials_that_became_invalid_are_one_finding_about_the_cluster() {
    let (mut stage, connection) = widgets();
    for watch in WIDGETS {
        stage.ended(watch, Cause::End);
        for _ in 0..2 {
            stage.asks_for_a_stream(watch, connection);
            stage.refused_last(watch, 401, "Unauthorized");
        }
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.000 F40 raised error definite x1 the cluster watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: The cluster answered before, and does not know the credentials now (401). It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.");
}

#[test]
fn watch_requests_that_have_no_answer_at_once_are_of_one_server() {
    let (mut stage, connection) = widgets();
    stage.of_version("v1.36.3");
    for watch in WIDGETS {
        stage.ended(watch, Cause::End);
        stage.after_ms(200).asks_for_a_stream(watch, connection);
    }
    stage.after_s(15);
    for watch in WIDGETS {
        stage.answered_last(watch).after_s(2);
    }
    insta::assert_snapshot!(stage.found(), @"
    40.450 F44 raised note suspected x1 10.0.0.1:6443 watches=2 names=2 a/widgets.example.com,b/widgets.example.com: Watch requests to the server 10.0.0.1:6443 had no answer for 10 s; a server sends its headers at once. It concerns 2 watches: a/widgets.example.com, b/widgets.example.com.
    41.450 F44 updated note suspected x1 10.0.0.1:6443 watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: Watch requests to the server 10.0.0.1:6443 had no answer for 10 s; a server sends its headers at once. It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.
    45.600 F44 updated note likely x1 10.0.0.1:6443 watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: Watch requests to the server 10.0.0.1:6443 had no answer for 10 s; a server sends its headers at once. It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.
    47.600 F44 updated note likely x1 10.0.0.1:6443 watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: Watch requests to the server 10.0.0.1:6443 had no answer for 10 s; a server sends its headers at once. It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.
    49.600 F44 updated note likely x1 10.0.0.1:6443 watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: Watch requests to the server 10.0.0.1:6443 had no answer for 10 s; a server sends its headers at once. It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.
    ");
}

#[test]
fn one_that_is_answered_beside_one_that_is_not_is_no_part_of_it() {
    let (mut stage, connection) = widgets();
    stage.of_version("v1.36.3");
    for watch in &WIDGETS[..2] {
        stage.ended(watch, Cause::End);
        stage.asks_for_a_stream(watch, connection);
    }
    stage.answered_last(WIDGETS[0]).after_s(15);
    insta::assert_snapshot!(stage.found(), @"40.000 F44 raised note suspected x1 b/widgets.example.com: The watch request of b/widgets.example.com has no answer for 10 s; a server sends its headers at once. 2 streams over its connection are open.");
}

#[test]
fn a_goaway_and_an_end_inside_an_event_are_of_their_connection() {
    let found = |cause: Cause, goes_away: bool| {
        let (mut stage, connection) = widgets();
        if goes_away {
            stage.goaway(connection);
        }
        for watch in WIDGETS {
            stage.ended(watch, cause);
        }
        stage.closed(connection, cause);
        stage.after_s(5);
        stage.found().to_owned()
    };
    insta::assert_snapshot!(found(Cause::Goaway, true), @"30.000 F09 raised note definite x1 connection 14 watches=3 resumed=0 relisted=0 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: The server 10.0.0.1:6443 sent GOAWAY, and the streams of that connection ended with it. Of 3 watches: 3 not back yet.");
    insta::assert_snapshot!(found(Cause::EofInFrame, false), @"30.250 F47 raised note definite x1 connection 14 watches=3 resumed=0 relisted=0 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: Streams of a connection to the server 10.0.0.1:6443 ended inside an event. Of 3 watches: 3 not back yet.");
}

#[test]
fn a_cache_that_begins_anew_ends_all_watches_of_its_type_for_one_reason() {
    let pods = ["a/pods", "b/pods", "c/pods"];
    let mut stage = Stage::new(1, &[&pods[..], &["*/nodes"]].concat());
    stage.after_s(30);
    for watch in pods {
        stage.ended(watch, Cause::End);
    }
    for watch in pods {
        stage.refused(watch, 429, "storage is (re)initializing");
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.250 F16 raised warning likely x1 pods at 10.0.0.1:6443 watches=3 resumed=0 relisted=0 names=3 a/pods,b/pods,c/pods: The server 10.0.0.1:6443 ended the streams of pods: its cache of the resource begins anew. Of 3 watches: 3 not back yet.");
}

#[test]
fn an_object_that_cannot_be_converted_is_found_once_for_all_watches_of_its_type() {
    let (mut stage, connection) = widgets();
    for watch in WIDGETS {
        stage.ended(watch, Cause::End);
    }
    for _ in 0..2 {
        for watch in WIDGETS {
            stage.asks_for_a_list(watch, connection);
            stage.refused_last(watch, 500, "conversion webhook for widgets failed");
        }
        stage.after_ms(500);
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.500 F38 raised error likely x1 widgets.example.com at 10.0.0.1:6443 watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: An object of widgets.example.com cannot be read or converted, so the server 10.0.0.1:6443 returns nothing of its type. It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.");
}

#[test]
fn history_that_is_gone_by_http_status_is_one_finding_about_the_server() {
    let (mut stage, connection) = widgets();
    for watch in WIDGETS {
        stage.ended(watch, Cause::End);
        stage.asks_for_a_stream(watch, connection);
        stage.refused_last(watch, 410, "too old resource version: 10 (90)");
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"30.250 F13 raised warning definite x1 10.0.0.1:6443 watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: With HTTP status 410 the server 10.0.0.1:6443 said that history is gone. Other servers answer 200 and say it in the stream. It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.");
}

#[test]
fn etcd_without_a_leader_ends_the_watches_that_go_to_it_for_one_reason() {
    let events = ["a/events", "b/events", "c/events"];
    let mut stage = Stage::new(1, &[&events[..], &["*/nodes"]].concat());
    stage.after_s(30);
    for watch in events {
        stage.error(watch, 500, "InternalError", "etcdserver: no leader");
        stage.ended(watch, Cause::ErrorEvent);
    }
    stage.after_s(5);
    insta::assert_snapshot!(stage.found(), @"32.250 F16 raised warning likely x1 events at 10.0.0.1:6443 watches=3 resumed=0 relisted=0 names=3 a/events,b/events,c/events: etcd had no leader, so the server 10.0.0.1:6443 ended the streams of events: they read etcd directly, without a cache. Of 3 watches: 3 not back yet.");
}

/// The server cuts the watch-lists of three watches of one type short, three times each, `apart_ms` after each other.
/// Returns the findings.
fn cut_short(apart_ms: u64) -> String {
    let (mut stage, _) = widgets();
    for watch in WIDGETS {
        stage.ended(watch, Cause::Cancelled);
    }
    for wait_s in [1, 5, 5] {
        for watch in WIDGETS {
            stage.opens_with_initial_events(watch).lists(watch);
        }
        stage.after_s(wait_s);
        for watch in WIDGETS {
            stage.ended_after(watch, Cause::End, 100).after_ms(apart_ms);
        }
    }
    stage.after_s(5);
    stage.found().to_owned()
}

#[test]
fn watch_lists_of_a_type_that_end_before_their_state_has_come_are_found_once() {
    insta::assert_snapshot!(cut_short(0), @"
    38.250 F37 raised warning likely x1 widgets.example.com at 10.0.0.1:6443 watches=3 resumed=0 relisted=0 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: The server 10.0.0.1:6443 ended streams of widgets.example.com before their initial events were complete, and not for the first time. Of 3 watches: 3 not back yet.
    43.250 F37 raised warning likely x2 widgets.example.com at 10.0.0.1:6443 watches=3 resumed=0 relisted=0 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: The server 10.0.0.1:6443 ended streams of widgets.example.com before their initial events were complete, and not for the first time. Of 3 watches: 3 not back yet.
    ");
    insta::assert_snapshot!(cut_short(400), @"
    39.450 F37 raised warning likely x1 a/widgets.example.com: The server ended a/widgets.example.com after 5.0 s and 100 events, before its initial events were complete, and not for the first time.
    39.850 F37 cleared warning likely x1 a/widgets.example.com: Other watches have it from the same cause: see the finding that they share.
    39.850 F37 raised warning likely x1 widgets.example.com at 10.0.0.1:6443 watches=2 resumed=0 relisted=0 names=2 a/widgets.example.com,b/widgets.example.com: The server 10.0.0.1:6443 ended streams of widgets.example.com before their initial events were complete, and not for the first time. Of 2 watches: 2 not back yet.
    40.850 F37 updated warning likely x1 widgets.example.com at 10.0.0.1:6443 watches=3 resumed=0 relisted=0 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: The server 10.0.0.1:6443 ended streams of widgets.example.com before their initial events were complete, and not for the first time. Of 3 watches: 3 not back yet.
    45.650 F37 raised warning likely x2 widgets.example.com at 10.0.0.1:6443 watches=3 resumed=0 relisted=0 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: The server 10.0.0.1:6443 ended streams of widgets.example.com before their initial events were complete, and not for the first time. Of 3 watches: 3 not back yet.
    ");
}

#[test]
fn a_type_whose_lists_are_no_newer_than_the_lost_history_is_found_once() {
    let (mut stage, _) = widgets();
    for _ in 0..3 {
        for watch in WIDGETS {
            expires(&mut stage, watch);
        }
        stage.after_s(1);
        for watch in WIDGETS {
            stage.list_complete(watch, 20, 0).reopened(watch);
        }
        stage.after_s(2);
    }
    let found = stage.found().lines().filter(|line| line.contains(" F14 "));
    insta::assert_snapshot!(found.collect::<Vec<_>>().join("\n"), @"37.250 F14 raised warning likely x1 widgets.example.com at 10.0.0.1:6443 watches=3 names=3 a/widgets.example.com,b/widgets.example.com,c/widgets.example.com: Lists of widgets.example.com by the server 10.0.0.1:6443 repeatedly had no version from which its watches can resume. It concerns 3 watches: a/widgets.example.com, b/widgets.example.com, c/widgets.example.com.");
}

#[test]
fn requests_without_an_answer_beside_a_hundred_streams_are_of_their_connection() {
    let others = many(120);
    let waits = ["*/pods", "*/nodes", "*/jobs"];
    let names: Vec<&str> = others.iter().map(String::as_str).chain(waits).collect();
    let mut stage = Stage::new(1, &names);
    stage.of_version("v1.31.0");
    let connection = stage.sharing(&names);
    stage.after_s(20);
    for watch in waits {
        stage.ended(watch, Cause::End);
        stage.asks_for_a_stream(watch, connection);
    }
    stage.after_s(15);
    insta::assert_snapshot!(stage.found(), @"30.000 F50 raised warning likely x1 connection 371 watches=3 names=3 */jobs,*/nodes,*/pods: Watch requests over a connection to the server 10.0.0.1:6443 had no answer for 10 s. It carries at least 100 streams. It concerns 3 watches: */jobs, */nodes, */pods.");
}
