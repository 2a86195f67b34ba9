//! Forms in which etcd is restored to an older state (F33). A list, initial events or a resourceVersion shows the
//! restore.

use std::time::Duration;

use watchscope_model::Row::{F06, F07, F08, F09, F11, F15, F16, F24, F28, F32, F33, F45};
use watchscope_model::row;
use watchscope_simulator::Fault;

use crate::catalogue::finds::{Finds, Varies, row, varies};
use crate::catalogue::{
    FIRST, MAPS_TYPE, Row, SECOND, close, create, delete, etcd, expiry, inject, lift, write,
};
use crate::script::Deed;

/// Returns a deed that makes the watch caches of configmaps list etcd again.
fn begin_anew() -> Deed {
    inject(Fault::Reinitialise {
        server: None,
        resource: Some(MAPS_TYPE.to_owned()),
    })
}

/// The number of writes of the object `b` that a restore undoes, beside a few other writes. Fewer writes follow, so
/// etcd stays below its former revision unless the restore raises it. The number has no other source.
const BEYOND: u64 = 200;

/// A finding that depends on whether the watch cache is ready again at the time of the request.
const ANEW: Varies = varies(
    F16,
    "chance decides whether the cache is ready at the request",
);

/// The finding of a 410 that depends on the watch cache. If a finding says that the cache lists anew, the 410 is part
/// of that finding.
const GONE_WITH_CACHE: Varies = varies(
    F11,
    "the 410 of a cache that is known to begin anew is part of that finding",
);

/// Returns a form in which etcd is restored to the time before `a` was deleted, and the server's watch cache lists
/// anew. At the time of the restore an expired watch is about to list.
fn gone_back(of: row::Row) -> Row {
    let mut row = Row::new(of)
        .servers(&["1.30.0"])
        .at(2, [inject(Fault::TakeSnapshot)])
        .at(3, [delete("a"), create("c")])
        .at_ms(
            5_400,
            [inject(Fault::RestoreSnapshot { bump: None }), begin_anew()],
        )
        .lasts(60);
    for n in 0..BEYOND {
        row = row.at(4, [write("b", n)]);
    }
    row.at(5, [close(), write("b", BEYOND), expiry::expire()])
}

pub(super) fn list_from_before() -> (Row, Finds) {
    let story = gone_back(F33).form("a list older than the known state");
    let finds = row(F33, &[F33], 6, 15, &[F11, F28]).with("1.29.4");
    (story, finds.saying("A list of the newest state is at"))
}

pub(super) fn state_from_before() -> (Row, Finds) {
    let story = gone_back(F33)
        .form("initial events older than the known state")
        .servers(&["1.35.0"])
        .by_watch_list();
    let finds = row(F33, &[F33], 6, 15, &[F11, F16, F28])
        .with("1.34.0")
        .and_by_reads(&[F24])
        .but(&[ANEW, GONE_WITH_CACHE]);
    (story, finds.saying("A list of the newest state is at"))
}

/// Returns a form in which etcd is restored to the time before `a` was deleted and other objects were written. All
/// servers stop before the restore and start again with it.
fn restored_and_restarted(servers: &'static [&'static str], bump: Option<u64>) -> Row {
    let stop = |server| Fault::Shutdown {
        server,
        delay: Duration::ZERO,
        grace: Duration::ZERO,
        sends_retry_after: false,
    };
    let all = [FIRST, SECOND];
    let stops = all.into_iter().take(servers.len()).map(stop);
    let mut row = Row::new(F33)
        .unjudged()
        .servers(servers)
        .at(2, [inject(Fault::TakeSnapshot)])
        .at(3, [delete("a"), create("c")])
        .lasts(60);
    for n in 0..BEYOND {
        row = row.at(4, [write("b", n)]);
    }
    let stopped: Vec<Deed> = stops.clone().map(inject).collect();
    let started: Vec<Deed> = stops.map(lift).collect();
    row.at(8, stopped)
        .at(11, [inject(Fault::RestoreSnapshot { bump })])
        .at(11, started)
}

/// Rows of other findings that may be made when all servers restart.
const RESTARTED: &[row::Row] = &[F06, F07, F08, F09, F11, F15, F16, F28];

pub(super) fn put_back() -> (Row, Finds) {
    let story = restored_and_restarted(&["1.36.3"], None)
        .form("put back as it was, with its server restarted");
    // One read comes 1 s after the resume, and a second read 4 s later.
    let finds = row(F33, &[F33], 11, 5, RESTARTED).with("1.30.0").audited();
    (story, finds.saying("A list of the newest state is at"))
}

pub(super) fn put_back_of_two() -> (Row, Finds) {
    let story = restored_and_restarted(&["1.36.3", "1.36.3"], None)
        .form("put back as it was, with both servers restarted");
    let finds = row(F33, &[F33], 11, 5, RESTARTED)
        .with("1.30.0")
        .audited()
        .by_each_server();
    (story, finds.saying("A list of the newest state is at"))
}

/// Words of the finding's sentence about a restore that raises etcd's revision.
const RAISED: &str =
    "In one history of etcd the resourceVersion of an existing object never goes down";

pub(super) fn raised() -> (Row, Finds) {
    let story = restored_and_restarted(&["1.36.3"], Some(1_000_000))
        .form("its revision raised, with its server restarted");
    let finds = row(F33, &[F33], 11, 5, RESTARTED).with("1.30.0");
    (story, finds.saying(RAISED))
}

pub(super) fn raised_by_watch_list() -> (Row, Finds) {
    let story = restored_and_restarted(&["1.36.3", "1.36.3"], Some(1_000_000))
        .form("its revision raised, with both servers restarted, by initial events")
        .by_watch_list();
    let finds = row(F33, &[F33], 11, 5, RESTARTED).with("1.35.0");
    (story, finds.saying(RAISED))
}

/// Returns a form in which etcd is restored to the time before `BEYOND` writes; later writes do not reach etcd's former
/// revision.
fn far_back(servers: &[&str]) -> (Row, Finds) {
    let mut story = etcd::restored(None).unjudged().servers(servers).lasts(60);
    for n in 0..BEYOND {
        story = story.at(4, [write("b", n)]);
    }
    let finds = row(F33, &[F33], 5, 20, &[F32, F24, F45])
        .with("1.29.4")
        .audited()
        .by_each_server();
    (story, finds)
}

pub(super) fn all_servers_back() -> (Row, Finds) {
    let (story, finds) = far_back(&["1.30.0", "1.30.0"]);
    (
        story.form("all of two servers"),
        finds.saying("A list of the newest state is at"),
    )
}

pub(super) fn only_server_back() -> (Row, Finds) {
    let (story, finds) = far_back(&["1.30.0"]);
    (
        story.form("the only server"),
        finds.saying("A list of the newest state is at"),
    )
}
