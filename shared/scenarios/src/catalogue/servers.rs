//! Rows of the failure catalogue about several apiservers over one etcd whose watch caches differ.

use std::time::Duration;

use watchscope_model::Row::{F14, F22, F31, F32};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{
    ClientPhase, Cut, Fault, KubeWatcher, Program, ServerId, Target, WatchDeployment,
};

use super::{
    Asked, FIRST, MAPS_TYPE, Row, SECOND, Wire, close, correct, create, delete, informer_of,
    inject, naive, poller, polling, reflector, write,
};
use crate::script::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f14(), f22(), f31(), f32()]
}

/// Returns a deed that freezes the second server's cache of configmaps.
pub(super) fn frozen() -> Deed {
    inject(frozen_caches())
}

/// Returns the fault that freezes the second server's cache of configmaps.
pub(super) fn frozen_caches() -> Fault {
    Fault::FreezeCaches {
        server: SECOND,
        resource: Some(MAPS_TYPE.to_owned()),
    }
}

/// Returns a deed that takes `server` out of rotation: new connections go to the other server.
pub(super) fn out(server: ServerId) -> Deed {
    inject(Fault::OutOfRotation { server })
}

/// Returns deeds that cut all connections to the first server, and send new ones to the second.
fn moved() -> [Deed; 3] {
    [
        super::lift(Fault::OutOfRotation { server: SECOND }),
        out(FIRST),
        inject(Fault::Cut {
            target: Target::Server(FIRST),
            cut: Cut::Reset,
        }),
    ]
}

fn f14() -> Row {
    Row::new(F14)
        .servers(&["1.30.0", "1.30.0"])
        .at(0, [out(FIRST)])
        .client(
            reflector(15),
            naive("relisting-from-0", ClientPhase::Backoff, 1).stale(1).asking(30..=150),
        )
        .client(
            informer_of(26),
            naive("relisting-from-last", ClientPhase::Backoff, 1).stale(1).asking(6..=40),
        )
        .client(
            Program::KubeWatcher(KubeWatcher::default()),
            correct("kube-rs").asking(3..=10),
        )
        .at(3, [frozen(), super::lift(Fault::OutOfRotation { server: FIRST }), inject(Fault::BalanceRequests)])
        .at(4, [write("b", 1), delete("a")])
        .at(
            5,
            [inject(Fault::Reinitialise {
                server: Some(FIRST),
                resource: Some(MAPS_TYPE.to_owned()),
            })],
        )
        // The first resumed watch reaches the frozen server, the second one the other.
        .at(8, [close()])
        .at(11, [close()])
        .says(
            11,
            "The list reaches a server that no longer advances. The watch after it reaches one that no longer has \
             that history.",
        )
        .wire([
            Wire::InTurn(vec![
                Wire::Error(410, "too old resource version"),
                Wire::Lists(1..=1),
                Wire::Error(410, "too old resource version"),
                Wire::Lists(1..=1),
            ]),
            Wire::Ended(Cause::TcpReset, 0..=0),
        ])
}

fn f22() -> Row {
    Row::new(F22)
        .servers(&["1.30.0", "1.30.0"])
        .at_ms(800, [out(FIRST)])
        .at(3, [frozen()])
        .at(4, [delete("a"), create("c")])
        .client_at(
            6,
            reflector(15),
            // It starts with the state in the cache.
            naive("restarted", ClientPhase::Watching, 1)
                .missing(1)
                .handling(1..=1)
                .showing([Asked::Behind(1..=10)]),
        )
        .client(
            poller(),
            polling("asking-for-the-newest").showing([Asked::Behind(0..=0)]),
        )
        .at(
            8,
            [inject(Fault::Cut {
                target: Target::Server(FIRST),
                cut: Cut::Reset,
            })],
        )
        .says(6, "A controller restarts and lists with resourceVersion=0. Its server's cache no longer advances.")
        .wire([
            Wire::Ended(Cause::TcpReset, 1..=1),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
            Wire::Lists(1..=1),
        ])
        .lasts(30)
}

fn f31() -> Row {
    Row::new(F31)
        .servers(&["1.26.0", "1.26.0"])
        .at_ms(800, [out(SECOND)])
        .client(
            Program::WatchDeployment(WatchDeployment::Final),
            // It handles three objects and a's end, then from the other server three objects again and a's end once
            // more.
            naive("final", ClientPhase::Watching, 0).handling(8..=8),
        )
        .client(informer_of(26), correct("informer").handling(4..=4))
        .at(
            3,
            [inject(Fault::Lag {
                server: SECOND,
                by: Duration::from_secs(12),
            })],
        )
        .at(5, [delete("a")])
        .at(6, moved())
        .says(
            6,
            "The load balancer moves all clients to a server that is 12 s behind.",
        )
        .wire([
            Wire::Ended(Cause::TcpReset, 1..=1),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 1..=1),
            Wire::Lists(1..=1),
        ])
        .lasts(30)
}

fn f32() -> Row {
    Row::new(F32)
        .servers(&["1.30.0", "1.30.0"])
        .at_ms(800, [out(SECOND)])
        .client(
            informer_of(30),
            naive("waiting", ClientPhase::Watching, 1).handling(4..=4),
        )
        .client(poller(), polling("asking-for-the-newest"))
        .at(3, [frozen()])
        .at(4, [write("b", 1)])
        .at(6, moved())
        .at(8, [delete("a")])
        .says(6, "The new server has not reached the requested version. It accepts the watch and sends nothing.")
        .wire([
            Wire::Ended(Cause::TcpReset, 1..=1),
            Wire::Changes(ChangeType::Modified, Origin::Live, 1..=1),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
            Wire::Lists(1..=1),
        ])
}
