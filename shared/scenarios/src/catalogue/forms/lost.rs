//! Forms of a server that loses an event, or does not deliver it (F24, F25, F26, F45).

use std::time::Duration;

use serde_json::json;
use watchscope_model::Row::{F06, F08, F11, F19, F20, F24, F25, F26, F28, F31, F45};
use watchscope_model::row;
use watchscope_simulator::{Cut, Defect, Fault, Request, Scope, ServerId};

use crate::catalogue::finds::{CUT_OFF, Finds, GONE_WITH_SERVER, row};
use crate::catalogue::servers::out;
use crate::catalogue::{
    FIRST, MAPS_TYPE, Row, SECOND, close, create, cut, delete, etcd, expiry, inject, let_in, lift,
    merge, refuse, write,
};
use crate::script::Deed;

pub(super) fn write_lost_by_a_server() -> (Row, Finds) {
    list_of_a_server_that_missed(
        write("a", 1),
        create("c"),
        "an older version in the list of another server",
        "the server that answered has lost an event",
    )
}

pub(super) fn deletion_lost_by_a_server() -> (Row, Finds) {
    list_of_a_server_that_missed(
        delete("a"),
        write("b", 1),
        "a deleted object in the list of another server",
        "the server that answered missed the deletion",
    )
}

/// Returns a form in which a server's member of etcd misses the write `missed`; the watch lists from that server after
/// its history expired. The server's later event of the write `seen` shows that etcd was not restored.
fn list_of_a_server_that_missed(
    missed: Deed,
    seen: Deed,
    form: &'static str,
    saying: &'static str,
) -> (Row, Finds) {
    let misses = Fault::MissWrites { server: SECOND };
    let story = Row::new(F24)
        .form(form)
        .servers(&["1.30.0", "1.30.0"])
        .at(0, [out(SECOND)])
        .at(3, [inject(misses.clone())])
        .at(4, [missed])
        .at(5, [lift(misses), seen])
        .at(
            6,
            [
                lift(Fault::OutOfRotation { server: SECOND }),
                out(FIRST),
                refuse(),
                cut(Cut::Reset),
            ],
        )
        .at(7, [write("b", 2), expiry::expire()])
        .at(8, [let_in()]);
    let finds = row(F24, &[F24], 8, 5, &[F11, F06, F08, F28]).with("1.29.4");
    let finds = finds.but(&[CUT_OFF[0], CUT_OFF[1], GONE_WITH_SERVER]);
    (story, finds.saying(saying))
}

pub(super) fn no_previous_value() -> (Row, Finds) {
    let slow = Fault::SlowEtcdStreams {
        server: None,
        resource: Some("events".to_owned()),
        per_response: Duration::from_secs(2),
    };
    let gone = Request::new("DELETE", "/api/v1/namespaces/default/events/one");
    let story = Row::new(F26)
        .form("an ERROR about the value before")
        .servers(&["1.30.0"])
        .scope(expiry::events())
        .at_ms(200, [expiry::event("one"), expiry::event("two")])
        .at(
            5,
            [
                inject(slow.clone()),
                expiry::event("three"),
                Deed::Call(gone),
                inject(Fault::CompactEtcd),
            ],
        )
        .at(12, [lift(slow)]);
    let finds = row(F26, &[F24], 5, 5, &[F28]).with("1.29.4");
    (
        story,
        finds.saying("etcd gave it an event without the previous value"),
    )
}

pub(super) fn change_lost() -> (Row, Finds) {
    let story = etcd::starved(
        F25,
        etcd::Flood::Births,
        "1.27.0",
        write("b", 1),
        write("a", 1),
    )
    .form("a change that was lost")
    .at(3, [write("a", 5)])
    .at(0, [inject(Fault::EtcdDefect(Defect::GapUnderStarvation))]);
    let finds = row(F25, &[F24], 60, 20, &[F19, F20])
        .with("1.27.3")
        .audited()
        // Its cache is a minute behind before it loses the change.
        .and_by_reads(&[F31])
        .lasting(140);
    (story, finds.saying("and etcd has it at"))
}

/// Returns a form in which `server`, one of two, does not receive the deletion of `a` from etcd.
fn unheard(code: row::Row, server: ServerId, at_s: u64) -> Row {
    let misses = Fault::MissWrites { server };
    Row::new(code)
        .servers(&["1.30.0", "1.30.0"])
        .at(0, [out(SECOND)])
        .at(at_s - 1, [inject(misses.clone())])
        .at(at_s, [delete("a")])
        .at_ms(at_s * 1_000 + 500, [lift(misses)])
        .at_ms(at_s * 1_000 + 1_500, [write("b", 1)])
}

pub(super) fn delivered_to_another() -> (Row, Finds) {
    let story = unheard(F24, FIRST, 90)
        .form("a second watch that received more")
        .at(
            2,
            [lift(Fault::OutOfRotation { server: SECOND }), out(FIRST)],
        )
        .at(30, [write("b", 0)])
        .lasts(200);
    let finds = row(F24, &[F24], 90, 45, &[]).with("1.29.4").audited();
    (story, finds.saying("About default/configmaps: "))
}

pub(super) fn kept_by_a_server() -> (Row, Finds) {
    let story = unheard(F24, SECOND, 5).form("an event that a server did not deliver");
    let finds = row(F24, &[F24], 6, 1, &[]).with("1.29.4").by_each_server();
    (story, finds.saying("without it"))
}

/// Returns a form in which a watch misses the first event after the resourceVersion from which it starts.
fn race(code: row::Row, missed: Deed) -> Row {
    let race = Fault::StartRace {
        resource: MAPS_TYPE.to_owned(),
    };
    Row::new(code)
        .at(3, [inject(race)])
        .at(4, [write("b", 1)])
        .at(5, [close()])
        .at(6, [missed])
        .lasts(30)
}

/// Why no random writes are added to forms in which a watch misses its first event.
const FIRST_ALONE: &str = "only the event right behind the requested revision is missed";

pub(super) fn birth_missed() -> (Row, Finds) {
    let story = race(F45, create("c"))
        .form("a change of an object that was never added")
        .at(7, [write("c", 1)]);
    let finds = row(F45, &[F24], 7, 0, &[]).alone(FIRST_ALONE);
    (story, finds.saying("but its ADDED never was"))
}

pub(super) fn end_missed() -> (Row, Finds) {
    let story = race(F45, delete("a"))
        .form("a second ADDED of an object that was never deleted")
        .at(7, [create("a")]);
    let finds = row(F45, &[F24], 7, 0, &[]).alone(FIRST_ALONE);
    (
        story,
        finds.saying("but the DELETED of the old one never was"),
    )
}

pub(super) fn write_missed() -> (Row, Finds) {
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let labels = json!({"app": "web"});
    let web = json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        }},
    });
    let scale = |replicas: u64| {
        merge(
            &format!("{path}/web"),
            &json!({"spec": {"paused": replicas % 2 == 1}}),
        )
    };
    let race = Fault::StartRace {
        resource: "deployments.apps".to_owned(),
    };
    let story = Row::new(F45)
        .form("a generation that rose by two")
        .scope(Scope::new("apps/v1", "deployments", "Deployment").in_namespace("default"))
        .at_ms(200, [Deed::Call(Request::new("POST", path).json(&web))])
        .at(3, [inject(race)])
        .at(4, [scale(1)])
        .at(5, [close()])
        // Both writes come before the controller has seen the first.
        .at(6, [scale(2), scale(3)])
        .lasts(30);
    let finds = row(F45, &[F24], 6, 0, &[]).alone(FIRST_ALONE);
    (
        story,
        finds.saying("The generation of default/web rose by 2"),
    )
}

pub(super) fn birth_missed_and_read() -> (Row, Finds) {
    let story = race(F45, create("c"))
        .form("an object that should have come first")
        .at(7, [write("b", 2)])
        .lasts(60);
    let finds = row(F45, &[F45], 7, 20, &[]).audited().alone(FIRST_ALONE);
    (
        story,
        finds.saying("Its event should have been the first of the stream from"),
    )
}
