//! Rows of the failure catalogue about custom types whose definition is edited or deleted while clients watch them.

use std::time::Duration;

use serde_json::json;
use watchscope_model::Row::{F17, F18};
use watchscope_model::row;
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{
    ClientPhase, Config, KubeWatcher, Program, Request, Scope, WorkloadConfig,
};

use super::{Asked, Row, Wire, correct, informer, informer_of, merge, naive, reflector};
use crate::script::Deed;

/// The URL path of the CRD of the custom resource `promotions`.
const DEFINITION: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/promotions.shop.example.com";
/// The URL path of the custom resources `promotions` in the namespace `shop`.
const PROMOTIONS: &str = "/apis/shop.example.com/v1/namespaces/shop/promotions";

pub(super) fn rows() -> Vec<Row> {
    vec![f17(), f18()]
}

/// Returns a row about the custom resources `promotions` in the namespace `shop`, in a cluster where nothing else
/// happens.
pub(super) fn of_promotions(code: row::Row) -> Row {
    let scope = Scope::new("shop.example.com/v1", "promotions", "Promotion").in_namespace("shop");
    Row::new(code).scope(scope).config(|config| {
        *config = Config {
            warm_up: Duration::from_secs(30),
            workload: WorkloadConfig {
                applications: true,
                ..WorkloadConfig::none()
            },
            ..Config::default()
        };
    })
}

pub(super) fn f17() -> Row {
    let edit = |n: u64| {
        let short = [format!("promo{n}")];
        merge(
            DEFINITION,
            &json!({"spec": {"names": {"shortNames": short}}}),
        )
    };
    of_promotions(F17)
        .client(
            reflector(15),
            // It lists once for each edit, 1 s behind it.
            naive("relisting", ClientPhase::Watching, 0).showing([Asked::Lists(5..=6)]),
        )
        .client(
            informer_of(34),
            correct("informer").showing([Asked::Lists(2..=4)]),
        )
        .client(
            Program::KubeWatcher(KubeWatcher::default()),
            correct("kube-rs").showing([Asked::Lists(2..=4)]),
        )
        .at(5, [edit(1)])
        .at_ms(6500, [edit(2)])
        .at(8, [edit(3)])
        .at_ms(9500, [edit(4)])
        // The new storage refuses watches until its cache has listed, and has no history from before.
        .wire([
            Wire::InTurn(vec![
                Wire::Ended(Cause::End, 1..=1),
                Wire::Status(429, 1..=1),
                Wire::Error(410, "too old resource version"),
            ]),
            Wire::Ended(Cause::End, 2..=4),
            Wire::Status(429, 1..=4),
        ])
        .lasts(60)
}

fn f18() -> Row {
    let promotion = json!({
        "apiVersion": "shop.example.com/v1", "kind": "Promotion",
        "metadata": {"name": "summer"}, "spec": {"discountPercent": 10},
    });
    of_promotions(F18)
        .client(
            Program::KubeWatcher(KubeWatcher {
                backoff: false,
                ..KubeWatcher::default()
            }),
            // It gets 404 without end, as fast as the server answers.
            naive("tight-loop", ClientPhase::Connecting, 0).asking(1000..=usize::MAX),
        )
        .client(
            informer(),
            // The type may come back, so it asks ever more rarely.
            correct("informer")
                .ending(ClientPhase::Backoff)
                .asking(3..=20),
        )
        .at_ms(
            200,
            [Deed::Call(
                Request::new("POST", PROMOTIONS).json(&promotion),
            )],
        )
        .at(5, [Deed::Call(Request::new("DELETE", DEFINITION))])
        .wire([
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=20),
            Wire::Status(404, 1..=10),
        ])
        .lasts(20)
}
