//! Rows of the failure catalogue about streams and connections that end, or that are dead and do not end.

use std::time::Duration;

use serde_json::json;
use watchscope_model::Row::{F04, F05, F06, F07, F08, F16, F36, F47};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{
    ClientPhase, Cut, Fault, KubeWatcher, Program, Request, Target, WatchDeployment,
};

use super::{
    Asked, FIRST, MAPS_TYPE, Row, SECOND, Wire, correct, create, cut, delete, informer,
    informer_of, inject, let_in, lift, naive, reflector, refuse, write,
};
use crate::script::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f04(), f05(), f06(), f07(), f08(), f16(), f36(), f47()]
}

fn kube() -> Program {
    Program::KubeWatcher(KubeWatcher::default())
}

fn f04() -> Row {
    let forgets = Fault::KillIdle {
        after: Duration::from_secs(1),
        says_so: false,
    };
    let secret = json!({"metadata": {"name": "other"}});
    let elsewhere =
        Deed::Call(Request::new("POST", "/api/v1/namespaces/default/secrets").json(&secret));
    Row::new(F04)
        .client(reflector(19), naive("old", ClientPhase::Watching, 1).asking(2..=2))
        .client(informer(), correct("pinging").asking(2..=4))
        // etcd sends its progress, so that a quiet type has a bookmark
        // (docs/semantics/lists-and-watches.md#bookmark-quiet-type).
        .at(30, [elsewhere])
        .says(
            30,
            "A secret is written. etcd sends its progress every 5 s here, as kubeadm sets it. So bookmarks of the \
             quiet configmaps advance, too. The default is 10 min.",
        )
        .at(66, [inject(forgets.clone())])
        .at(68, [lift(forgets), delete("a")])
        .says(67, "A load balancer has forgotten the flows. They carry nothing more, and neither side is notified. \
            Only a client that pings notices.")
        .wire([
            Wire::By(150, Box::new(Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0))),
            Wire::Bookmarks(1..=2),
            Wire::Ended(Cause::IdleTimeout, 1..=1),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
            Wire::Lists(1..=1),
        ])
        .lasts(180)
}

fn f05() -> Row {
    Row::new(F05)
        .client(informer(), correct("informer").handling(4..=4))
        .client(
            Program::WatchDeployment(WatchDeployment::V1),
            naive("v1", ClientPhase::Returned, 1),
        )
        .at(4000, [delete("a")])
        .wire([
            Wire::EndedAtAge(300..=600),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
            Wire::Lists(1..=1),
        ])
        .lasts(4100)
}

fn f06() -> Row {
    Row::new(F06)
        .client(
            Program::WatchDeployment(WatchDeployment::V1),
            naive("v1", ClientPhase::Returned, 1),
        )
        .client(informer(), correct("informer"))
        .client(kube(), correct("kube-rs"))
        .at(5, [refuse(), cut(Cut::Eof), delete("a")])
        .at(12, [let_in()])
        .wire([
            Wire::Ended(Cause::Eof, 1..=1),
            Wire::NotConnected,
            Wire::Lists(1..=1),
        ])
}

/// Returns a row in which the first of two servers shuts down gracefully; clients can go to the second.
fn stopping(sends_retry_after: bool) -> Row {
    let stop = Fault::Shutdown {
        server: FIRST,
        delay: Duration::from_secs(3),
        grace: Duration::from_secs(5),
        sends_retry_after,
    };
    let other = Fault::OutOfRotation { server: SECOND };
    Row::new(F07)
        .servers(&["1.36.3", "1.36.3"])
        .at_ms(800, [inject(other.clone())])
        .client(
            Program::WatchDeployment(WatchDeployment::V2),
            naive("v2", ClientPhase::Spinning, 1).asking(1..=1),
        )
        // They honour Retry-After, so they ask only a few times.
        .client(informer(), correct("informer").asking(2..=8))
        .client(kube(), correct("kube-rs").asking(2..=8))
        .at(4, [lift(other)])
        .at(5, [inject(stop)])
        .at(9, [delete("a")])
}

fn f07() -> Row {
    stopping(true).wire([
        Wire::Ended(Cause::End, 1..=1),
        Wire::Status(429, 1..=8),
        Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
        Wire::Lists(1..=1),
    ])
}

fn f08() -> Row {
    Row::new(F08)
        .client(
            Program::WatchDeployment(WatchDeployment::V1),
            naive("v1", ClientPhase::Returned, 1),
        )
        .client(informer(), correct("informer").asking(2..=2))
        .client(reflector(9), correct("reflector-1.9"))
        .client(kube(), correct("kube-rs"))
        .at(5, [cut(Cut::Reset)])
        .at(6, [delete("a")])
        .wire([Wire::Ended(Cause::TcpReset, 1..=1), Wire::Lists(1..=1)])
}

fn f16() -> Row {
    let again = Fault::Reinitialise {
        server: None,
        resource: Some(MAPS_TYPE.to_owned()),
    };
    Row::new(F16)
        .client(
            reflector(15),
            naive("relisting", ClientPhase::Watching, 0).showing([Asked::Lists(3..=20)]),
        )
        .client(
            informer_of(34),
            correct("informer").showing([Asked::Lists(2..=2)]),
        )
        .client(kube(), correct("kube-rs").showing([Asked::Lists(2..=2)]))
        // etcd, from which the cache lists, has no leader for 4 s.
        .at(5, [delete("a"), inject(again), inject(Fault::NoLeader)])
        .at(9, [lift(Fault::NoLeader)])
        .wire([
            Wire::Ended(Cause::End, 1..=1),
            Wire::Status(429, 1..=10),
            Wire::Error(410, "too old resource version"),
        ])
}

fn f36() -> Row {
    let slow = |client: &str| Fault::LoseAnswers {
        target: Target::UserAgent(client.to_owned()),
    };
    let readers = ["v1 ", "informer "];
    let mut row = Row::new(F36)
        .config(|config| config.network.window_bytes = 8 * 1024)
        .client(
            Program::WatchDeployment(WatchDeployment::V1),
            naive("v1", ClientPhase::Returned, 0).stale(1).missing(320),
        )
        .client(informer(), correct("informer").showing([Asked::Lists(0..=0)]))
        .at(5, readers.map(slow).map(inject))
        .at(5, [Deed::Read(false)])
        .at(35, readers.map(slow).map(lift))
        .at(35, [Deed::Read(true)])
        .at(40, [write("a", 100_000)])
        .says(5, "No client reads. The network's buffers fill first, then the server's buffer for the watch. Then \
            the server ends the watch.")
        .wire([
            Wire::By(35, Box::new(Wire::Ended(Cause::End, 0..=0))),
            Wire::Ended(Cause::End, 1..=1),
            Wire::Lists(1..=1),
        ]);
    // Each change has its own object. Of one object that is written often, a slow client would see only the last state
    // (F49).
    for n in 1..=350 {
        row = row.at_ms(6000 + n * 40, [create(&format!("map-{n:03}"))]);
    }
    row
}

fn f47() -> Row {
    Row::new(F47)
        .client(
            Program::WatchDeployment(WatchDeployment::V1),
            naive("v1", ClientPhase::Returned, 1).missing(1),
        )
        .client(informer(), correct("informer"))
        .client(kube(), correct("kube-rs"))
        .at(
            5,
            [Deed::Inject(Fault::TearFrame {
                target: Target::All,
                cut: Cut::Eof,
            })],
        )
        .at(6, [delete("a")])
        .at_ms(6100, [create("c")])
        .wire([Wire::Ended(Cause::EofInFrame, 1..=1), Wire::Lists(1..=1)])
        .lasts(Duration::from_secs(60).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_stops_without_retry_after_hands_its_clients_to_the_other() {
        let row = stopping(false).wire([
            Wire::Ended(Cause::End, 1..=1),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
            Wire::Lists(1..=1),
            Wire::GoneAway(1..=1),
        ]);
        let wrong: Vec<String> = (0..3).flat_map(|seed| row.play(seed)).collect();
        assert_eq!(wrong, [""; 0]);
    }
}
