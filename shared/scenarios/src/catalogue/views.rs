//! Views on a part of the cluster: namespaces and selectors.

use serde_json::json;
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{Program, Request, Scope, WatchDeployment};

use super::{MAPS, Row, Wire, correct, informer, merge};
use crate::story::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f42(), f43()]
}

fn f42() -> Row {
    let elsewhere = json!({"metadata": {"name": "a"}});
    let namespace = json!({"metadata": {"name": "other"}});
    Row::new("F42")
        .scope(Scope::new("v1", "configmaps", "ConfigMap"))
        .at_ms(
            100,
            [
                Deed::Call(Request::new("POST", "/api/v1/namespaces").json(&namespace)),
                Deed::Call(
                    Request::new("POST", "/api/v1/namespaces/other/configmaps").json(&elsewhere),
                ),
            ],
        )
        .client(informer(), correct("informer"))
        .at(
            5,
            [Deed::Call(Request::new(
                "DELETE",
                "/api/v1/namespaces/other/configmaps/a",
            ))],
        )
        // The a of the other namespace is none of its business.
        .wire([
            Wire::Ended(Cause::End, 0..=0),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
        ])
        .lasts(30)
}

fn f43() -> Row {
    let label = |value| {
        merge(
            &format!("{MAPS}/a"),
            &json!({"metadata": {"labels": {"tier": value}}}),
        )
    };
    let scope = Scope::new("v1", "configmaps", "ConfigMap")
        .in_namespace("default")
        .with_labels("tier=web");
    Row::new("F43")
        .scope(scope)
        .at_ms(100, [label("web")])
        .client(informer(), correct("informer").handling(3..=3))
        .client(
            Program::WatchDeployment(WatchDeployment::Final),
            correct("final").handling(3..=3),
        )
        .at(5, [label("db")])
        .at(6, [label("web")])
        // It was never deleted.
        .wire([
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
            Wire::Changes(ChangeType::Added, Origin::Live, 1..=1),
            Wire::Ended(Cause::End, 0..=0),
        ])
        .lasts(30)
}
