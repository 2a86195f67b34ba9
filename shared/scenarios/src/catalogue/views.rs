//! Rows of the failure catalogue about views of a part of the cluster: namespaces and selectors.

use std::time::Duration;

use serde_json::json;
use watchscope_model::Row::{F42, F43};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{ClientPhase, Program, Request, Scope, WatchDeployment};

use super::{MAPS, Row, Wire, correct, informer, merge, naive};
use crate::script::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f42(), f43()]
}

/// Returns a client program that compares its watch of a namespace with its lists of `listed`.
fn comparing(listed: Scope) -> Program {
    let every = Duration::from_secs(2);
    Program::Comparer {
        listed: Box::new(listed),
        every,
    }
}

fn f42() -> Row {
    let elsewhere = json!({"metadata": {"name": "a"}});
    let namespace = json!({"metadata": {"name": "other"}});
    let maps = Scope::new("v1", "configmaps", "ConfigMap");
    Row::new(F42)
        .at_ms(
            100,
            [
                Deed::Call(Request::new("POST", "/api/v1/namespaces").json(&namespace)),
                Deed::Call(
                    Request::new("POST", "/api/v1/namespaces/other/configmaps").json(&elsewhere),
                ),
            ],
        )
        .client(
            comparing(maps.clone()),
            // Each time it misses the a of the other namespace, which is outside its watch.
            naive("across", ClientPhase::Watching, 0).handling(10..=u64::MAX),
        )
        .client(
            comparing(maps.in_namespace("default")),
            correct("alike").handling(0..=0).turns(10..=20),
        )
        .wire([
            Wire::Ended(Cause::End, 0..=0),
            Wire::Lists(1..=1),
            Wire::Changes(ChangeType::Added, Origin::Live, 0..=0),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
        ])
        .lasts(30)
}

pub(super) fn f43() -> Row {
    let label = |value| {
        merge(
            &format!("{MAPS}/a"),
            &json!({"metadata": {"labels": {"tier": value}}}),
        )
    };
    let maps = Scope::new("v1", "configmaps", "ConfigMap").in_namespace("default");
    let itself = maps.clone().with_fields("metadata.name=a");
    let scope = maps.with_labels("tier=web");
    Row::new(F43)
        .scope(scope)
        .at_ms(100, [label("web")])
        .client(informer(), correct("informer").handling(4..=4))
        .client(
            Program::WatchDeployment(WatchDeployment::Final),
            // It takes DELETED for the object's end.
            naive("final", ClientPhase::Watching, 0)
                .handling(4..=4)
                .taking_it_for(itself)
                .missing(1),
        )
        .at(5, [label("db")])
        .at(6, [label("web")])
        .at(20, [label("db")])
        // It was never deleted.
        .wire([
            Wire::Changes(ChangeType::Deleted, Origin::Live, 2..=2),
            Wire::Changes(ChangeType::Added, Origin::Live, 1..=1),
            Wire::Ended(Cause::End, 0..=0),
        ])
        .lasts(30)
}
