//! Rows of the failure catalogue about client programs with errors of their own: the wire shows nothing worse than a
//! stream's end that every program must expect.

use std::time::Duration;

use watchscope_model::Row::{F01, F02, F03, F19, F21, F46, F48, F49};
use watchscope_model::vocabulary::Cause;
use watchscope_simulator::{ClientGo, ClientPhase, Controller, Cut, Program, WatchDeployment};

use super::{
    Asked, Row, Wire, close, correct, create, cut, delete, informer, let_in, naive, reflector,
    refuse, write,
};

pub(super) fn rows() -> Vec<Row> {
    vec![f01(), f02(), f03(), f19(), f21(), f46(), f48(), f49()]
}

fn f01() -> Row {
    Row::new(F01)
        .client(
            Program::PvcLoop { fixed: false },
            naive("broken", ClientPhase::Spinning, 1).turns(900_000..=2_000_000).asking(1..=1),
        )
        .client(
            Program::PvcLoop { fixed: true },
            naive("fixed", ClientPhase::Failed, 1).asking(1..=1),
        )
        .client(informer(), correct("informer"))
        .at(5, [close()])
        .at(6, [delete("a")])
        .says(5, "The server ends the watch, as it may at any time. The loop never checks whether the channel is \
            closed.")
        .wire([Wire::Ended(Cause::End, 1..=1), Wire::Lists(1..=1)])
        .lasts(17)
}

fn f02() -> Row {
    Row::new(F02)
        .client(
            Program::WatchDeployment(WatchDeployment::V2),
            naive("v2", ClientPhase::Spinning, 1)
                .turns(5_000_000..=u64::MAX)
                .handling(3..=3)
                .asking(1..=1),
        )
        .client(informer(), correct("informer"))
        .at(5, [cut(Cut::Reset)])
        .at(6, [delete("a")])
        .wire([Wire::Ended(Cause::TcpReset, 1..=1)])
}

fn f03() -> Row {
    Row::new(F03)
        .client(
            Program::WatchDeployment(WatchDeployment::V1),
            naive("v1", ClientPhase::Returned, 1)
                .turns(3..=3)
                .asking(1..=1),
        )
        .client(informer(), correct("informer"))
        .at(5, [close()])
        .at(6, [delete("a")])
        .wire([Wire::Ended(Cause::End, 1..=1)])
}

fn f19() -> Row {
    Row::new(F19)
        .client(
            Program::WatchDeployment(WatchDeployment::Final),
            // It handles three objects, then two of them again.
            naive("final", ClientPhase::Watching, 1).handling(5..=5).asking(2..=2),
        )
        .client(informer(), correct("informer").handling(4..=4))
        .at(5, [close()])
        .at(6, [delete("a")])
        .says(6, "While it sleeps, a is deleted. Its next watch begins with all existing objects, and no event \
            reports the deleted one.")
        .wire([Wire::Ended(Cause::End, 1..=1), Wire::Lists(1..=1)])
}

fn f21() -> Row {
    Row::new(F21)
        // The root CA's configmap sorts last, and is older than the writes of c.
        .at_ms(100, [create("c"), delete("c"), create("c")])
        .client(
            Program::LastSeen,
            // It handles four objects, then c's birth, death and rebirth.
            naive("last-seen", ClientPhase::Watching, 0)
                .handling(7..=7)
                .asking(2..=2)
                .showing([Asked::FromBelow(1..=1)]),
        )
        .client(
            reflector(36),
            correct("reflector").showing([Asked::FromBelow(0..=0)]),
        )
        .at(5, [close()])
        .wire([Wire::Ended(Cause::End, 1..=1), Wire::Lists(1..=1)])
}

fn f46() -> Row {
    let controller = |skips_equal_versions| {
        Program::Controller(Controller {
            resync: Some(Duration::from_secs(20)),
            skips_equal_versions,
            ..Controller::default()
        })
    };
    Row::new(F46)
        .client(
            controller(false),
            naive("trusting", ClientPhase::Watching, 0)
                .handling(9..=9)
                .turns(9..=9)
                .asking(1..=1),
        )
        .client(
            controller(true),
            correct("comparing")
                .handling(9..=9)
                .turns(3..=3)
                .asking(1..=1),
        )
        .wire([Wire::Ended(Cause::End, 0..=0), Wire::Lists(1..=1)])
        .lasts(55)
}

fn f48() -> Row {
    let version = ClientGo::LATEST;
    Row::new(F48)
        .client(
            Program::RetryWatcher { version },
            naive("retry-watcher", ClientPhase::Returned, 1),
        )
        .client(informer(), correct("informer"))
        .at(5, [refuse(), cut(Cut::Reset), delete("a")])
        .at(6, [super::expiry::expire(), let_in()])
        .wire([Wire::Error(410, "too old resource version")])
}

fn f49() -> Row {
    let controller = |work| {
        Program::Controller(Controller {
            version: ClientGo::minor(32),
            work,
            ..Controller::default()
        })
    };
    let mut row = Row::new(F49)
        .client(
            controller(Duration::from_secs(1)),
            // Three objects and forty changes of one are handled at most once a second. A program that takes each
            // iteration for a change counts only a few.
            naive("counting-turns", ClientPhase::Watching, 0)
                .handling(43..=43)
                .turns(4..=9),
        )
        .client(
            controller(Duration::ZERO),
            correct("informer").handling(43..=43).turns(43..=43),
        )
        .wire([Wire::Ended(Cause::End, 0..=0)])
        .lasts(30);
    for n in 1..=40 {
        row = row.at_ms(10_000 + n * 50, [write("a", n)]);
    }
    row
}
