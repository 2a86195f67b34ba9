//! Streams and connections that end, or do not end though they are dead.

use std::time::Duration;

use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{
    ClientPhase, Cut, Fault, KubeWatcher, Program, Target, Throttle, WatchDeployment,
};

use super::{
    Row, Wire, correct, create, cut, delete, informer, let_in, naive, reflector, refuse, write,
};
use crate::story::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f04(), f05(), f06(), f07(), f08(), f16(), f36(), f47()]
}

fn kube() -> Program {
    Program::KubeWatcher(KubeWatcher::default())
}

/// Connections of clients of this name hang.
fn stalled(client: &str) -> Fault {
    Fault::Stall {
        target: Target::UserAgent(format!("{client} ")),
    }
}

fn f04() -> Row {
    let hung = ["old", "new", "watchscope"];
    let stall = |client: &&str| {
        // The probe's User-Agent has nothing behind its name.
        let target = match *client {
            "watchscope" => Target::UserAgent("watchscope".to_owned()),
            client => Target::UserAgent(format!("{client} ")),
        };
        Fault::Stall { target }
    };
    let hang = hung.iter().map(stall).map(Deed::Inject).collect::<Vec<_>>();
    Row::new("F04")
        .client(reflector(19), naive("old", ClientPhase::Watching, 1).asking(2..=2))
        .client(reflector(20), naive("new", ClientPhase::Listing, 1))
        .client(informer(), correct("untouched"))
        .at(10, hang)
        .at(11, [delete("a")])
        .says(10, "A load balancer has forgotten the flow: nothing passes, and nobody is told. Only who pings notices.")
        .wire([Wire::Ended(Cause::End, 0..=0), Wire::Bookmarks(0..=1)])
        .lasts(80)
}

fn f05() -> Row {
    Row::new("F05")
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
    Row::new("F06")
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

fn f07() -> Row {
    let draining = Fault::TooManyRequests {
        resource: None,
        throttle: Throttle::Shutdown,
        retry_after_secs: 5,
    };
    Row::new("F07")
        .client(
            Program::WatchDeployment(WatchDeployment::V2),
            naive("v2", ClientPhase::Spinning, 1).asking(1..=1),
        )
        // It honours Retry-After, so it asks a few times only.
        .client(informer(), correct("informer").asking(2..=8))
        .at(
            5,
            [Deed::Inject(draining.clone()), super::close(), delete("a")],
        )
        .at(20, [Deed::Lift(draining)])
        .wire([
            Wire::Ended(Cause::End, 1..=1),
            Wire::Status(429, 1..=8),
            Wire::Lists(1..=1),
        ])
}

fn f08() -> Row {
    Row::new("F08")
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
    let initializing = Fault::TooManyRequests {
        resource: Some("configmaps".to_owned()),
        throttle: Throttle::CacheNotReady,
        retry_after_secs: 1,
    };
    let expired = Fault::Expire {
        resource: Some("configmaps".to_owned()),
    };
    Row::new("F16")
        .client(reflector(15), correct("relisting"))
        .client(informer(), correct("informer"))
        .client(kube(), correct("kube-rs"))
        .at(
            5,
            [
                Deed::Inject(Fault::CloseStreams {
                    target: Target::Resource("configmaps".to_owned()),
                }),
                Deed::Inject(initializing.clone()),
                delete("a"),
            ],
        )
        .at(6, [Deed::Inject(expired)])
        .at(9, [Deed::Lift(initializing)])
        .wire([
            Wire::Ended(Cause::End, 1..=1),
            Wire::Status(429, 1..=10),
            Wire::Error(410, "too old resource version"),
        ])
}

fn f36() -> Row {
    let mut row = Row::new("F36")
        .config(|config| config.network.window_bytes = 8 * 1024)
        .client(
            Program::WatchDeployment(WatchDeployment::V1),
            naive("v1", ClientPhase::Returned, 0).stale(1),
        )
        .client(informer(), correct("informer"))
        .at(5, [Deed::Inject(stalled("v1"))])
        .at(35, [Deed::Lift(stalled("v1"))])
        .at(40, [write("a", 100_000)])
        // The others read at once, and are left alone.
        .wire([Wire::Ended(Cause::End, 0..=0)]);
    for n in 1..=1000 {
        row = row.at_ms(6000 + n * 20, [write("a", n)]);
    }
    row
}

fn f47() -> Row {
    Row::new("F47")
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
    use super::super::{FIRST, SECOND};
    use super::*;

    /// The same to the end, with another server to go to.
    #[test]
    fn a_server_that_stops_hands_its_clients_to_the_other() {
        let stop = Fault::Shutdown {
            server: FIRST,
            delay: Duration::from_secs(3),
            grace: Duration::from_secs(5),
            sends_retry_after: false,
        };
        let other = Fault::OutOfRotation { server: SECOND };
        let row = Row::new("F07")
            .servers(&["1.36.3", "1.36.3"])
            .at_ms(800, [Deed::Inject(other.clone())])
            .client(
                Program::WatchDeployment(WatchDeployment::V1),
                naive("v1", ClientPhase::Returned, 1),
            )
            .client(informer(), correct("informer"))
            .client(kube(), correct("kube-rs"))
            .at(4, [Deed::Lift(other)])
            .at(5, [Deed::Inject(stop)])
            .at(9, [delete("a")])
            .wire([
                Wire::Ended(Cause::End, 1..=1),
                Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
                Wire::Lists(1..=1),
                Wire::GoneAway(1..=1),
            ]);
        let wrong: Vec<String> = (0..3).flat_map(|seed| row.play(seed)).collect();
        assert_eq!(wrong, [""; 0]);
    }
}
