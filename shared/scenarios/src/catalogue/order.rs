//! Rows of the failure catalogue about events out of order, with wrong versions, or delivered twice.

use watchscope_model::Row::{F23, F29, F30};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{ClientPhase, Fault, Program, WatchDeployment};

use super::{
    Asked, MAPS_TYPE, Row, Wire, close, correct, create, delete, informer_of, inject, naive,
    poller, polling, reflector, write,
};

pub(super) fn rows() -> Vec<Row> {
    vec![f23(), f29(), f30()]
}

fn maps() -> String {
    MAPS_TYPE.to_owned()
}

/// Returns a row with the replay of docs/semantics/servers.md#replay-step-by-step, from a server that gives a deletion
/// the object's resourceVersion from before it.
fn replay(server: &'static str) -> Row {
    Row::new(F23)
        .servers(&[server])
        .at_ms(100, [delete("b"), create("b")])
        .at(5, [delete("a")])
        .at(10, [close()])
        .at(20, [close()])
        .says(
            10,
            "The stream ends in order. Its last event was the deletion of a, with the version of a's creation: the \
             reflector goes on from there.",
        )
        .lasts(30)
}

fn f23() -> Row {
    replay("1.9.2")
        .client(
            reflector(9),
            // It handles the list and a's end. Then it handles twice: b's birth, end and birth, a's end again, and the
            // root CA's map, which came after a.
            naive("reflector-1.9", ClientPhase::Watching, 0)
                .handling(12..=12)
                .asking(4..=4)
                .showing([Asked::FromBelow(2..=2)]),
        )
        .client(
            poller(),
            polling("poller")
                .handling(4..=4)
                .showing([Asked::FromBelow(0..=0)]),
        )
        .wire([
            Wire::Ended(Cause::End, 2..=2),
            // It receives a's end, and once more in each stream. The events before it did not move our probe.
            Wire::Changes(ChangeType::Deleted, Origin::Live, 3..=3),
            Wire::Changes(ChangeType::Added, Origin::Live, 0..=0),
            Wire::Lists(1..=1),
        ])
}

fn f29() -> Row {
    Row::new(F29)
        .client(
            Program::WatchDeployment(WatchDeployment::Final),
            // It handles three objects, and four events for two changes.
            naive("counting", ClientPhase::Watching, 0)
                .handling(7..=7)
                .turns(7..=7),
        )
        .client(informer_of(26), correct("informer").turns(5..=5))
        .at(3, [inject(Fault::RepeatEvents { resource: maps() })])
        .at(5, [write("b", 1)])
        .at(6, [delete("a")])
        .wire([
            Wire::Changes(ChangeType::Modified, Origin::Live, 2..=2),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 2..=2),
            Wire::Ended(Cause::End, 0..=0),
        ])
        .lasts(30)
}

fn f30() -> Row {
    Row::new(F30)
        .client(
            reflector(36),
            naive("reflector", ClientPhase::Watching, 0).stale(1),
        )
        .client(poller(), polling("poller"))
        .at(3, [inject(Fault::SwapEvents { resource: maps() })])
        .at(5, [write("a", 1), write("a", 2)])
        .says(5, "The older state of a comes last.")
        .wire([Wire::Ended(Cause::End, 0..=0), Wire::Lists(1..=1)])
        .lasts(30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_gives_deletions_their_own_version_replays_nothing() {
        let row = replay("1.9.3").client(
            reflector(9),
            // It handles the list and a's end.
            correct("reflector-1.9").handling(2..=2).asking(4..=4),
        );
        let wrong: Vec<String> = (0..3).flat_map(|seed| row.play(seed)).collect();
        assert_eq!(wrong, [""; 0]);
    }
}
