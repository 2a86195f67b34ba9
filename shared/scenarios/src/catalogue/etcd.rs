//! Rows of the failure catalogue about failures between etcd and the watch cache, which no client can see.
//!
//! The tests below also play the ghost of docs/semantics/servers.md#ghost-step-by-step with other servers, and with a
//! sound etcd.

use std::time::Duration;

use serde_json::json;
use watchscope_model::Row::{F20, F24, F25, F26, F27, F33};
use watchscope_model::row;
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{
    ClientPhase, Cut, Defect, Fault, Program, Request, Scope, WatchDeployment,
};

use super::{
    MAPS_TYPE, Row, Wire, correct, create, cut, delete, informer_of, inject, let_in, lift, naive,
    poller, polling, refuse, write,
};
use crate::script::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f20(), f24(), f25(), f26(), f27(), f33()]
}

/// Returns a fault that delays each response on etcd's watch streams of configmaps by `per_response`.
pub(super) fn slow(per_response: Duration) -> Fault {
    Fault::SlowEtcdStreams {
        server: None,
        resource: Some(MAPS_TYPE.to_owned()),
        per_response,
    }
}

/// Returns deeds that start `count` clients, which watch `scope` without a resourceVersion.
fn crowd(count: u64, scope: &Scope) -> Vec<Deed> {
    (0..count)
        .map(|n| Deed::Start {
            name: format!("crowd-{n}"),
            program: Program::WatchDeployment(WatchDeployment::Final),
            scope: scope.clone(),
        })
        .collect()
}

/// The URL path of the configmaps of a namespace that only the clients of [`crowd`] watch.
const ELSEWHERE: &str = "/api/v1/namespaces/elsewhere/configmaps";

fn elsewhere() -> (Deed, Scope) {
    let namespace = json!({"metadata": {"name": "elsewhere"}});
    let create = Deed::Call(Request::new("POST", "/api/v1/namespaces").json(&namespace));
    let scope = Scope::new("v1", "configmaps", "ConfigMap").in_namespace("elsewhere");
    (create, scope)
}

fn create_elsewhere(name: &str) -> Deed {
    let body = json!({"metadata": {"name": name}});
    Deed::Call(Request::new("POST", ELSEWHERE).json(&body))
}

fn write_elsewhere(name: &str, n: u64) -> Deed {
    super::merge(
        &format!("{ELSEWHERE}/{name}"),
        &json!({"data": {"n": n.to_string()}}),
    )
}

fn f20() -> Row {
    let scope = Scope::new("v1", "configmaps", "ConfigMap").in_namespace("default");
    let mut row = Row::new(F20)
        .servers(&["1.27.0"])
        .at(1, crowd(40, &scope))
        .client(
            Program::WatchDeployment(WatchDeployment::Final),
            naive("guilty", ClientPhase::Watching, 0).handling(103..=103),
        )
        .client(informer_of(26), correct("informer").handling(103..=103))
        .at(3, [inject(slow(Duration::from_millis(50)))])
        .says(
            1,
            "Forty clients watch without a resourceVersion. Each is a watch of etcd, on the stream that the watch \
             cache uses, too.",
        )
        // A hundred changes in 2 s; etcd delivers each 42 times over the one stream.
        .wire([
            Wire::By(9, Box::new(Wire::Changes(ChangeType::Modified, Origin::Live, 1..=10))),
            Wire::Changes(ChangeType::Modified, Origin::Live, 100..=100),
            Wire::Ended(Cause::End, 0..=0),
        ])
        .spares("a watch without a resourceVersion receives all it asked for; the others wait")
        .lasts(30);
    for n in 1..=100 {
        row = row.at_ms(5000 + n * 20, [write("b", n)]);
    }
    row
}

/// The kind of writes that fill etcd's watch stream until nothing more fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flood {
    /// Changes of one object. For each change, etcd has to look up the object's previous state.
    Changes,
    /// Creations of objects, which have no previous state.
    Births,
}

/// Returns a row with the ghost of docs/semantics/servers.md#ghost-step-by-step. A crowd of watches without
/// resourceVersion starves the watch cache's own watch. The deletion of `a` waits behind the crowd's events, and is
/// compacted away before etcd delivers it.
fn ghost(code: row::Row, flood: Flood, server: &str) -> Row {
    starved(code, flood, server, delete("a"), write("b", 1)).says(
        8,
        "The deletion of a waits behind a full channel when etcd compacts it away. Here etcd is compacted at once; \
         an apiserver compacts every 5 min, and only history that is at least 5 min old.",
    )
}

/// Returns a row in which the write `lost` waits behind a crowd's events and is compacted away. The watch cache
/// receives the later write `delivered`.
pub(super) fn starved(
    code: row::Row,
    flood: Flood,
    server: &str,
    lost: Deed,
    delivered: Deed,
) -> Row {
    let (namespace, scope) = elsewhere();
    let starved = slow(Duration::from_millis(200));
    let mut row = Row::new(code)
        .servers(&[server])
        .at(0, [namespace, create_elsewhere("x")])
        .at(1, crowd(60, &scope))
        .at(4, [inject(starved.clone())])
        .at(7, [lost])
        .at(8, [inject(Fault::CompactEtcd)])
        .at(60, [lift(starved)])
        .at(80, [delivered])
        .lasts(100);
    for n in 1..=550 {
        let deed = match flood {
            Flood::Changes => write_elsewhere("x", n),
            Flood::Births => create_elsewhere(&format!("y{n}")),
        };
        row = row.at_ms(5000 + n * 100, [deed]);
    }
    row
}

fn f24() -> Row {
    ghost(F24, Flood::Changes, "1.27.0")
        .at(0, [inject(Fault::EtcdDefect(Defect::GapUnderStarvation))])
        .client(
            informer_of(26),
            naive("informer", ClientPhase::Watching, 1).asking(4..=8),
        )
        .client(poller(), polling("reading-etcd"))
        // It lists again, from the same cache.
        .at(84, [refuse(), cut(Cut::Reset)])
        .at(85, [write("b", 2), super::expiry::expire(), let_in()])
        .wire([
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
            Wire::Changes(ChangeType::Modified, Origin::Live, 1..=1),
            Wire::Error(410, "too old resource version"),
        ])
}

fn f25() -> Row {
    ghost(F25, Flood::Births, "1.27.0")
        .at(0, [inject(Fault::EtcdDefect(Defect::GapUnderStarvation))])
        .client(
            informer_of(26),
            naive("informer", ClientPhase::Watching, 1).asking(2..=2),
        )
        .client(poller(), polling("reading-etcd"))
        .wire([
            Wire::Ended(Cause::End, 0..=0),
            Wire::Ended(Cause::ErrorEvent, 0..=0),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
            Wire::Changes(ChangeType::Modified, Origin::Live, 1..=1),
        ])
}

fn f26() -> Row {
    unusable_deletion("1.14.1")
        .client(informer_of(14), naive("informer", ClientPhase::Watching, 1))
        .client(poller(), polling("reading-etcd"))
        .wire([
            Wire::Changes(ChangeType::Modified, Origin::Live, 2..=2),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
            Wire::Ended(Cause::End, 0..=0),
        ])
}

/// Returns a row with a deletion that etcd sends without the object's previous state
/// (docs/semantics/requests.md#prev-kv).
fn unusable_deletion(server: &str) -> Row {
    Row::new(F26)
        .servers(&[server])
        .at(5, [inject(slow(Duration::from_secs(2))), write("b", 1), delete("a"), inject(Fault::CompactEtcd)])
        .at(9, [lift(slow(Duration::from_secs(2)))])
        .at(15, [write("b", 2)])
        .says(5, "etcd compacts the previous value before it has sent the deletion. The deletion then does not \
            contain the deleted object.")
        .lasts(30)
}

fn f27() -> Row {
    Row::new(F27)
        .servers(&["1.30.0"])
        .client(
            informer_of(30),
            naive("informer", ClientPhase::Watching, 1).asking(2..=2),
        )
        .client(poller(), polling("reading-etcd"))
        .at(
            2,
            [inject(Fault::EtcdDefect(
                Defect::DeleteLostByCompactionAtIt,
            ))],
        )
        .at(5, [inject(slow(Duration::from_secs(2))), write("b", 1)])
        .at(6, [delete("a"), inject(Fault::CompactEtcd)])
        .at_ms(
            6100,
            [inject(Fault::RestartEtcd {
                during_compaction: false,
            })],
        )
        .at_ms(6200, [lift(slow(Duration::from_secs(2)))])
        .wire([
            Wire::Changes(ChangeType::Modified, Origin::Live, 1..=1),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
            Wire::Ended(Cause::End, 0..=0),
        ])
        .lasts(30)
}

/// Returns a row in which etcd is restored to its state of 2 s ago: `a` is back, and `c` never existed.
pub(super) fn restored(bump: Option<u64>) -> Row {
    Row::new(F33)
        .servers(&["1.30.0"])
        .at(3, [inject(Fault::TakeSnapshot)])
        .at(4, [delete("a"), create("c")])
        .at(5, [inject(Fault::RestoreSnapshot { bump })])
        .says(
            5,
            "etcd has its state of 3 s again: a is back, c is unknown, and revisions count on from there.",
        )
        .lasts(30)
}

fn f33() -> Row {
    restored(None)
        .client(
            informer_of(30),
            naive("informer", ClientPhase::Watching, 1).missing(1),
        )
        .client(poller(), polling("reading-etcd"))
        .wire([
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
            Wire::Changes(ChangeType::Added, Origin::Live, 1..=1),
            Wire::Ended(Cause::End, 0..=0),
            Wire::Lists(1..=1),
        ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(row: &Row) -> Vec<String> {
        (0..3).flat_map(|seed| row.play(seed)).collect()
    }

    fn healed(server: &str, minor: u8) -> Row {
        ghost(F24, Flood::Changes, server)
            .client(informer_of(minor), correct("informer"))
            .client(poller(), polling("reading-etcd"))
    }

    #[test]
    fn below_1_25_the_error_heals_the_cache() {
        let defect = inject(Fault::EtcdDefect(Defect::GapUnderStarvation));
        let row = healed("1.24.0", 24).at(0, [defect]);
        assert_eq!(wrong(&row), [""; 0]);
    }

    #[test]
    fn a_sound_etcd_reports_the_compaction_to_the_starved_watch() {
        assert_eq!(wrong(&healed("1.27.0", 26)), [""; 0]);
    }

    #[test]
    fn a_stream_of_its_own_keeps_the_crowd_from_the_cache() {
        let defect = inject(Fault::EtcdDefect(Defect::GapUnderStarvation));
        let row = healed("1.29.3", 26).at(0, [defect]);
        assert_eq!(wrong(&row), [""; 0]);
    }

    #[test]
    fn a_server_of_1_12_9_1_13_6_or_1_14_2_lists_again_after_a_deletion_without_its_object() {
        for server in ["1.12.9", "1.13.6", "1.14.2"] {
            let row = unusable_deletion(server)
                .client(informer_of(14), correct("informer"))
                .client(poller(), polling("reading-etcd"));
            assert_eq!(wrong(&row), [""; 0], "{server}");
        }
        for server in ["1.12.8", "1.13.5", "1.14.1"] {
            let row = unusable_deletion(server)
                .client(informer_of(14), naive("informer", ClientPhase::Watching, 1))
                .client(poller(), polling("reading-etcd"));
            assert_eq!(wrong(&row), [""; 0], "{server}");
        }
    }

    /// Returns a row with the ghost of docs/semantics/servers.md#ghost-step-by-step around 300 s. At 300 s the
    /// apiserver compacts the revisions up to the one that it noted 5 min before.
    fn around_a_compaction(by_hand: bool) -> Row {
        let (namespace, scope) = elsewhere();
        let starved = slow(Duration::from_millis(200));
        let defect = Fault::EtcdDefect(Defect::GapUnderStarvation);
        let mut row = Row::new(F24)
            .servers(&["1.27.0"])
            .at(0, [inject(defect), namespace, create_elsewhere("x")])
            .at(290, crowd(60, &scope))
            .at(293, [inject(starved.clone())])
            .at(296, [delete("a")])
            .at(349, [lift(starved)])
            .at(369, [write("b", 1)])
            .lasts(389)
            .client(poller(), polling("reading-etcd"));
        if by_hand {
            row = row.at(297, [inject(Fault::CompactEtcd)]);
        }
        for n in 1..=550 {
            row = row.at_ms(294_000 + n * 100, [write_elsewhere("x", n)]);
        }
        row
    }

    /// The apiserver compacts only revisions that are 5 min old, so it removes no deletion that waits for only a few
    /// seconds (docs/semantics/servers.md#compaction).
    #[test]
    fn the_apiservers_own_compaction_loses_no_deletion_that_waits_for_seconds() {
        let row = around_a_compaction(false).client(informer_of(26), correct("informer"));
        assert_eq!(row.play(0), [""; 0]);
    }

    #[test]
    fn a_compaction_by_hand_at_the_same_time_loses_it() {
        let row = around_a_compaction(true)
            .client(informer_of(26), naive("informer", ClientPhase::Watching, 1));
        assert_eq!(row.play(0), [""; 0]);
    }

    #[test]
    fn a_restore_that_raises_the_revision_is_reported_and_heals() {
        let row = restored(Some(1_000_000_000))
            .client(informer_of(30), correct("informer"))
            .client(poller(), polling("reading-etcd"));
        assert_eq!(wrong(&row), [""; 0]);
    }
}
