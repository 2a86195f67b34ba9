//! Rows of the failure catalogue about history that is gone, and about clients that get a 410 for it.

use std::time::Duration;

use watchscope_model::Row::{F10, F11, F12, F13, F28, F34};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{
    ClientGo, ClientPhase, Cut, Fault, KubeWatcher, Program, Request, Scope, Target,
};

use super::{
    Asked, MAPS_TYPE, Row, Wire, correct, cut, delete, informer, inject, let_in, naive, reflector,
    refuse,
};
use crate::script::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f10(), f11(), f12(), f13(), f28(), f34()]
}

/// Returns a deed that drops the history of all watch caches.
pub(super) fn expire() -> Deed {
    Deed::Inject(Fault::Expire { resource: None })
}

fn f10() -> Row {
    let silent = Fault::SilentExpiry {
        resource: MAPS_TYPE.to_owned(),
    };
    let away = Duration::from_millis(100);
    Row::new(F10)
        .config(|config| config.network.latency = (away, away))
        .client(
            Program::KubeWatcher(KubeWatcher::default()),
            // It comes back at once each time, as fast as the network's latency allows.
            naive("kube-rs", ClientPhase::Connecting, 1)
                .showing([Asked::FromTheSame(100..=usize::MAX), Asked::Lists(1..=1)]),
        )
        .client(
            informer(),
            correct("informer")
                .asking(3..=12)
                .showing([Asked::FromTheSame(1..=6)]),
        )
        .at(4, [inject(silent)])
        .at(5, [refuse(), cut(Cut::Reset), delete("a")])
        .at(8, [expire(), let_in()])
        .wire([
            Wire::InTurn(vec![
                Wire::FromTheSame(3..=6),
                Wire::Changes(ChangeType::Deleted, Origin::Inferred, 1..=1),
                Wire::Lists(1..=1),
            ]),
            Wire::Ended(Cause::ErrorEvent, 0..=0),
        ])
        .lasts(40)
}

fn f11() -> Row {
    Row::new(F11)
        .client(
            Program::LastSeen,
            // It asks from the same version every second.
            naive("last-seen", ClientPhase::Sleeping, 1)
                .asking(30..=70)
                .showing([Asked::FromTheSame(30..=70)]),
        )
        .client(reflector(15), correct("relisting-from-0"))
        .client(informer(), correct("informer"))
        .at(5, [cut(Cut::Reset), delete("a"), expire()])
        .wire([
            Wire::Error(410, "too old resource version"),
            Wire::Changes(ChangeType::Deleted, Origin::Inferred, 1..=1),
        ])
}

/// Returns the scope of Kubernetes events. `events` have no watch cache, so their history is gone once etcd has
/// compacted it (docs/semantics/lists-and-watches.md#uncached).
pub(super) fn events() -> Scope {
    Scope::new("v1", "events", "Event").in_namespace("default")
}

pub(super) fn event(name: &str) -> Deed {
    let body = serde_json::json!({
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Test", "message": "m", "type": "Normal",
    });
    Deed::Call(Request::new("POST", "/api/v1/namespaces/default/events").json(&body))
}

pub(super) fn f12() -> Row {
    let mut row = Row::new(F12)
        .scope(events())
        .at_ms(200, [event("one")])
        .client(
            Program::LastSeen,
            // It asks from the same version every second.
            naive("last-seen", ClientPhase::Sleeping, 0)
                .missing(1)
                .showing([Asked::FromTheSame(60..=120)]),
        )
        .client(reflector(15), correct("reflector-1.15"))
        .client(
            informer(),
            correct("informer").showing([Asked::FromTheSame(1..=6)]),
        )
        .at(1200, [refuse(), cut(Cut::Reset)])
        .at(1201, [event("two")])
        .at(1203, [let_in()])
        .wire([Wire::Error(
            410,
            "The resourceVersion for the provided watch is too old.",
        )])
        .lasts(1300);
    // Others write throughout.
    for n in 0..20 {
        row = row.at(60 * n + 30, [super::write("b", n + 1)]);
    }
    row
}

fn f13() -> Row {
    let gone = Fault::GoneAsStatus {
        resource: MAPS_TYPE.to_owned(),
    };
    Row::new(F13)
        .client(
            Program::KubeWatcher(KubeWatcher::default()),
            // It asks from the same version again and again.
            naive("kube-rs", ClientPhase::Backoff, 1).showing([Asked::FromTheSame(3..=30)]),
        )
        .client(informer(), correct("informer"))
        .at(4, [inject(gone)])
        .at(5, [refuse(), cut(Cut::Reset), delete("a")])
        .at(8, [expire(), let_in()])
        .wire([
            Wire::Status(410, 1..=3),
            Wire::Changes(ChangeType::Deleted, Origin::Inferred, 1..=1),
            Wire::Ended(Cause::ErrorEvent, 0..=0),
        ])
}

pub(super) fn f28() -> Row {
    Row::new(F28)
        .client(
            Program::KubeWatcher(KubeWatcher {
                flattened: true,
                ..KubeWatcher::default()
            }),
            naive("flattened", ClientPhase::Watching, 1),
        )
        .client(
            Program::KubeWatcher(KubeWatcher::default()),
            correct("kube-rs"),
        )
        .client(informer(), correct("informer"))
        .at(5, [refuse(), cut(Cut::Reset)])
        .at(6, [delete("a")])
        .at(8, [expire(), let_in()])
        .wire([Wire::Changes(ChangeType::Deleted, Origin::Inferred, 1..=1)])
}

/// Returns a deed that ends the watches of a client with an orderly end of the body.
fn ended(client: &str) -> Deed {
    Deed::Inject(Fault::CloseStreams {
        target: Target::UserAgent(client.to_owned()),
    })
}

fn f34() -> Row {
    Row::new(F34)
        .scope(events())
        .at_ms(200, [event("one")])
        .client(
            Program::RetryWatcher {
                version: ClientGo::LATEST,
            },
            // It resumes only from its last event, however old that is.
            naive("retry-watcher", ClientPhase::Returned, 0),
        )
        .client(informer(), correct("informer"))
        .at(100, [super::write("b", 1), super::write("b", 2)])
        .at(200, [Deed::Inject(Fault::CompactEtcd)])
        .at(201, ["retry-watcher ", "informer "].map(ended))
        .wire([
            Wire::Bookmarks(0..=0),
            Wire::Ended(Cause::ErrorEvent, 0..=0),
        ])
        .lasts(280)
}
