//! Rows of the failure catalogue about clients that lose their rights.

use watchscope_model::Row::{F40, F41};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{ClientGo, ClientPhase, Fault, KubeWatcher, Program, Rights, Target};

use super::{MAPS_TYPE, Row, Wire, close, correct, delete, informer, inject, lift, naive, write};

pub(super) fn rows() -> Vec<Row> {
    vec![f40(), f41()]
}

fn f40() -> Row {
    let expired = Fault::ExpireTokens {
        target: Target::All,
    };
    Row::new(F40)
        .client(
            Program::KubeWatcher(KubeWatcher {
                backoff: false,
                ..KubeWatcher::default()
            }),
            naive("tight-loop", ClientPhase::Watching, 0).asking(1000..=usize::MAX),
        )
        .client(
            Program::RetryWatcher {
                version: ClientGo::LATEST,
            },
            naive("retry-watcher", ClientPhase::Failed, 1),
        )
        .client(informer(), correct("informer").asking(3..=20))
        .at(4, [inject(expired.clone())])
        .at(5, [write("b", 1)])
        .at(8, [close()])
        .at(9, [delete("a")])
        .at(20, [lift(expired)])
        .says(
            5,
            "The token has expired. The server does not check it for the open stream.",
        )
        .wire([
            Wire::Changes(ChangeType::Modified, Origin::Live, 1..=1),
            Wire::Ended(Cause::End, 1..=1),
            Wire::Status(401, 1..=10),
            Wire::Lists(1..=1),
        ])
        .lasts(90)
}

pub(super) fn f41() -> Row {
    let revoked = Fault::RevokeAccess {
        target: Target::All,
        resource: MAPS_TYPE.to_owned(),
        rights: Rights::Read,
    };
    Row::new(F41)
        .client(
            Program::RetryWatcher {
                version: ClientGo::LATEST,
            },
            // It stops and reports its failure, so its old store is no wrong belief.
            correct("retry-watcher")
                .ending(ClientPhase::Failed)
                .ghosts(1),
        )
        .client(
            informer(),
            // It waits longer each time, and reports nothing.
            naive("informer", ClientPhase::Backoff, 1).asking(3..=20),
        )
        .at(4, [inject(revoked)])
        .at(5, [write("b", 1)])
        .at(8, [close()])
        .at(9, [delete("a")])
        .says(
            5,
            "The open watch still delivers objects that its client may no longer list.",
        )
        .wire([
            Wire::Changes(ChangeType::Modified, Origin::Live, 1..=1),
            Wire::Ended(Cause::End, 1..=1),
            Wire::Status(403, 1..=10),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
        ])
}
