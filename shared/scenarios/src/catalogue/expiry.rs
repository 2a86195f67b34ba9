//! History that is gone, and who finds out.

use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{ClientPhase, Cut, Fault, KubeWatcher, Program, Request, Scope, Target};

use super::{
    MAPS_TYPE, Row, Wire, close, correct, cut, delete, informer, inject, let_in, naive, reflector,
    refuse,
};
use crate::story::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f10(), f11(), f12(), f13(), f28(), f34()]
}

/// The caches lose their history.
pub(super) fn expire() -> Deed {
    Deed::Inject(Fault::Expire { resource: None })
}

fn f10() -> Row {
    let mut row = Row::new("F10")
        .client(
            Program::KubeWatcher(KubeWatcher::default()),
            // It comes back at once each time.
            naive("kube-rs", ClientPhase::Watching, 0).asking(20..=60),
        )
        .client(informer(), correct("informer").asking(3..=12))
        .wire([Wire::EndedAtAge(0..=1)])
        .lasts(40);
    for n in 0..30 {
        row = row.at_ms(5000 + n * 200, [close()]);
    }
    row
}

fn f11() -> Row {
    Row::new("F11")
        .client(
            Program::LastSeen,
            // The same question every second.
            naive("last-seen", ClientPhase::Sleeping, 1).asking(30..=70),
        )
        .client(reflector(15), correct("relisting-from-0"))
        .client(informer(), correct("informer"))
        .at(5, [refuse(), cut(Cut::Reset), delete("a")])
        .at(8, [expire(), let_in()])
        .wire([
            Wire::Error(410, "too old resource version"),
            Wire::Changes(ChangeType::Deleted, Origin::Inferred, 1..=1),
        ])
}

/// Events have no watch cache, so what etcd has compacted is gone.
fn events() -> Scope {
    Scope::new("v1", "events", "Event").in_namespace("default")
}

fn event(name: &str) -> Deed {
    let body = serde_json::json!({
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Test", "message": "m", "type": "Normal",
    });
    Deed::Call(Request::new("POST", "/api/v1/namespaces/default/events").json(&body))
}

fn f12() -> Row {
    let mut row = Row::new("F12")
        .scope(events())
        .at_ms(200, [event("one")])
        .client(reflector(15), correct("reflector-1.15"))
        .client(informer(), correct("informer"))
        .at(1200, [refuse(), cut(Cut::Reset)])
        .at(1203, [let_in()])
        .wire([Wire::Error(
            410,
            "The resourceVersion for the provided watch is too old.",
        )])
        .lasts(1300);
    // Others write all the while.
    for n in 0..20 {
        row = row.at(60 * n + 30, [super::write("b", n + 1)]);
    }
    row
}

fn f13() -> Row {
    let gone = Fault::GoneAsStatus {
        resource: MAPS_TYPE.to_owned(),
    };
    Row::new("F13")
        .client(
            Program::KubeWatcher(KubeWatcher::default()),
            // It asks for the same again and again.
            naive("kube-rs", ClientPhase::Backoff, 1).asking(4..=30),
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

fn f28() -> Row {
    Row::new("F28")
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

fn f34() -> Row {
    Row::new("F34")
        .scope(events())
        .at_ms(200, [event("one")])
        .client(informer(), correct("informer"))
        .at(
            100,
            [Deed::Inject(Fault::CloseStreams {
                target: Target::Resource("pods".to_owned()),
            })],
        )
        .wire([
            Wire::Bookmarks(0..=0),
            Wire::Ended(Cause::ErrorEvent, 0..=0),
        ])
        .lasts(280)
}
