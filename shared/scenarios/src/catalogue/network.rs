//! Rows of the failure catalogue about the path between clients and servers: load balancers, proxies, HTTP/2.

use serde_json::json;
use watchscope_model::Row::{F09, F44, F50};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{
    ClientGo, ClientPhase, Cut, Fault, Program, Request, Scope, Target, WatchDeployment,
};

use super::{
    Row, Wire, correct, delete, informer, informer_of, inject, lift, naive, reflector, write,
};
use crate::script::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f09(), f44(), f50()]
}

fn f09() -> Row {
    let go_away = |cut| {
        inject(Fault::GoAway {
            target: Target::All,
            cut,
        })
    };
    Row::new(F09)
        .over_one_connection("services")
        .client(
            Program::WatchDeployment(WatchDeployment::V1),
            naive("v1", ClientPhase::Returned, 1),
        )
        .client(informer(), correct("informer").handling(5..=5).asking(2..=3))
        .at(5, [go_away(None)])
        .at(6, [write("a", 1)])
        .at(10, [go_away(Some(Cut::Eof))])
        .at(11, [delete("a")])
        .says(5, "The server asks all clients to use another connection for new requests. Open streams go on.")
        .says(10, "A load balancer does not wait for them.")
        .wire([
            Wire::GoneAway(2..=2),
            Wire::Changes(ChangeType::Modified, Origin::Live, 1..=1),
            Wire::Ended(Cause::Eof, 1..=1),
            Wire::Lists(1..=1),
        ])
}

fn f44() -> Row {
    let proxy = |client: &str| Fault::Buffer {
        target: Target::UserAgent(client.to_owned()),
        bytes: 4096,
    };
    Row::new(F44)
        .at(0, [inject(proxy("buffered ")), inject(proxy("watchscope"))])
        .client(reflector(34), naive("buffered", ClientPhase::Connecting, 1))
        .client(informer_of(34), correct("direct"))
        .at(5, [delete("a")])
        .at(40, [lift(proxy("watchscope"))])
        .says(
            5,
            "The deletion is on its way, in a buffer that is not full.",
        )
        .wire([
            Wire::By(
                39,
                Box::new(Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0)),
            ),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
            Wire::Ended(Cause::End, 0..=0),
        ])
}

pub(super) fn f50() -> Row {
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"schedulerName": "mini-scheduler", "containers": [{"name": "c", "image": "i"}]},
    });
    Row::new(F50)
        .scope(Scope::new("v1", "pods", "Pod").in_namespace("default"))
        .sharing(Scope::new("v1", "configmaps", "ConfigMap").in_namespace("default"))
        .at(
            0,
            [
                inject(Fault::CapStreams {
                    target: Target::All,
                    streams: 1,
                }),
                Deed::Call(Request::new("POST", "/api/v1/namespaces/default/pods").json(&pod)),
            ],
        )
        .client(
            Program::MiniScheduler {
                version: ClientGo::LATEST,
            },
            // Neither its cache nor its queue receives the pod.
            naive("two-informers", ClientPhase::Connecting, 0)
                .missing(2)
                .asking(2..=2),
        )
        .client(informer(), correct("one-informer"))
        .says(
            1,
            "The second watch over the same connection is never answered.",
        )
        .wire([
            Wire::Lists(1..=1),
            Wire::Streams(0..=0),
            Wire::Status(200, 1..=1),
        ])
        .lasts(40)
}
