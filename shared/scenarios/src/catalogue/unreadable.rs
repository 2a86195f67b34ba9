//! Rows of the failure catalogue about objects that cannot be read, or are of another kind.

use watchscope_model::Row::{F38, F39};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{ClientPhase, Fault, KubeWatcher, Program};

use super::{
    Expected, MAPS_TYPE, Row, Wire, correct, delete, informer, inject, lift, naive, poller,
    polling, write,
};

pub(super) fn rows() -> Vec<Row> {
    vec![f38(), f39()]
}

fn f38() -> Row {
    let poison = Fault::CannotConvert {
        resource: MAPS_TYPE.to_owned(),
        name: "b".to_owned(),
    };
    Row::new(F38)
        .client(
            Program::KubeWatcher(KubeWatcher {
                backoff: false,
                ..KubeWatcher::default()
            }),
            naive("tight-loop", ClientPhase::Watching, 0).asking(1000..=usize::MAX),
        )
        .client(informer(), correct("informer").asking(3..=20))
        .at(4, [inject(poison.clone())])
        .at(5, [write("b", 1)])
        .at(6, [delete("a")])
        .at(20, [lift(poison)])
        .says(5, "The conversion webhook is down. Every request for configmaps fails because of b, and returns none \
            of the others.")
        .wire([
            Wire::Error(500, "conversion webhook"),
            Wire::Status(500, 1..=20),
        ])
        .lasts(80)
}

fn f39() -> Row {
    let tables = Fault::WrongKind {
        resource: MAPS_TYPE.to_owned(),
    };
    Row::new(F39)
        .client(
            informer(),
            Expected {
                is_correct: false,
                ..correct("skipping").stale(1)
            },
        )
        .client(poller(), polling("poller"))
        .at(4, [inject(tables.clone())])
        .at(5, [write("b", 1)])
        .at(6, [lift(tables)])
        .at(7, [write("a", 1)])
        .wire([
            Wire::Lost(1..=1),
            Wire::Changes(ChangeType::Modified, Origin::Live, 1..=1),
            Wire::Ended(Cause::End, 0..=0),
        ])
        .lasts(30)
}
