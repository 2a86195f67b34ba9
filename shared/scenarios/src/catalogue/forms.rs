//! Rows of the catalogue in other forms: failures that show themselves in another way than in the row's own story.
//!
//! Each form has the finding that must be made, which is known by its sentence. The rows themselves state what becomes
//! of clients.

use std::time::Duration;

use serde_json::json;
use watchscope_model::Row::{
    F06, F07, F08, F09, F11, F12, F14, F15, F16, F17, F19, F20, F24, F25, F26, F28, F31, F32, F33,
    F34, F35, F41, F43, F44, F45, F50,
};
use watchscope_model::row;
use watchscope_simulator::{
    ConnectionId, Cut, Defect, Fault, Request, Rights, Scope, ServerId, Target, Throttle,
};

use super::finds::{CUT_OFF, Finds, GONE_WITH_SERVER, MISSING, Varies, row, varies};
use super::servers::{frozen, frozen_caches, out};
use super::{
    FIRST, MAPS_TYPE, Row, SECOND, close, create, cut, delete, inject, let_in, lift, merge,
    reflector, refuse, write,
};
use super::{definitions, etcd, expiry, network, views};
use crate::script::Deed;

/// Returns all forms, in the order of their rows' numbers.
#[must_use]
pub fn forms() -> Vec<(Row, Finds)> {
    let mut forms = [
        quiet_for_long(),
        no_list_far_enough(),
        no_state_far_enough(),
        refused_together(),
        never_ready(),
        built_anew(),
        run_over(),
        defined_anew(),
        left_behind(),
        held_up(),
        late_now_and_then(),
        beside_another(),
        beside_many(),
        drained(),
        list_from_before(),
        state_from_before(),
        put_back(),
        put_back_of_two(),
        raised(),
        raised_by_watch_list(),
        deletion_lost_by_a_server(),
        write_lost_by_a_server(),
        no_previous_value(),
        change_lost(),
        delivered_to_another(),
        kept_by_a_server(),
        birth_missed(),
        end_missed(),
        write_missed(),
        standing_still(),
        silent_for_75_s(),
        silent_while_others_write(),
        silent_and_not_audited(),
        from_the_future_of_a_quiet_type(),
        caught_up_in_time(),
        all_servers_back(),
        only_server_back(),
        none_beside_own_events(),
        none_beside_own_events_of_events(),
        below_a_bookmark(),
        no_end_of_initial_events(),
        leaking(),
        leaked(),
        seen_by_another(),
        left_and_not_back(),
        only_gone(),
        birth_missed_and_read(),
        gone_by_initial_events(),
    ];
    forms.sort_by_key(|(row, _)| row.code);
    forms.to_vec()
}

fn maps() -> Scope {
    Scope::new("v1", "configmaps", "ConfigMap").in_namespace("default")
}

/// Findings that depend on other watches around a quiet type.
const QUIET: [Varies; 3] = [CUT_OFF[0], CUT_OFF[1], MISSING];

fn quiet_for_long() -> (Row, Finds) {
    let story = expiry::f12()
        .form("of a quiet type")
        .unjudged()
        .at(10, [expiry::event("moved")]);
    let finds = row(F12, &[F12], 1_203, 3, &[F06, F08, F34]).with_error(410);
    (
        story,
        finds
            .but(&QUIET)
            .saying("what is quiet for so long expires"),
    )
}

fn no_list_far_enough() -> (Row, Finds) {
    let moved = [
        lift(Fault::OutOfRotation { server: SECOND }),
        out(FIRST),
        inject(Fault::Cut {
            target: Target::Server(FIRST),
            cut: Cut::Reset,
        }),
    ];
    // While the expired watch waits to list, a balancer moves it to a frozen server.
    let story = Row::new(F14)
        .form("twin: a list that the server has not come far enough for")
        .servers(&["1.35.0", "1.35.0"])
        .by_watch_list()
        .at(0, [out(SECOND)])
        .at(3, [frozen()])
        .at(4, [write("b", 1)])
        .at(6, [close(), write("b", 2), expiry::expire()])
        .at_ms(6_300, moved);
    // The watch lists the newest state at once, and is then ahead of its server.
    let finds = row(F14, &[], 0, 0, &[F06, F11])
        .with("1.34.0")
        .and_by_reads(&[F32]);
    (story, finds.but(&[CUT_OFF[0], GONE_WITH_SERVER]))
}

fn no_state_far_enough() -> (Row, Finds) {
    let frozen = Fault::FreezeCaches {
        server: FIRST,
        resource: Some(MAPS_TYPE.to_owned()),
    };
    let story = Row::new(F14)
        .form("twin: initial events that the server has not come far enough for")
        .by_watch_list()
        .at_ms(300, [inject(frozen.clone())])
        .at_ms(400, [write("b", 1)])
        .at(40, [lift(frozen)]);
    (story, row(F14, &[], 0, 0, &[]).with("1.34.0"))
}

fn refused_together() -> (Row, Finds) {
    let throttled = Fault::TooManyRequests {
        resource: None,
        throttle: Throttle::PriorityAndFairness,
        retry_after_secs: 8,
    };
    let mut story = Row::new(F15)
        .form("several watches refused at once")
        .at(5, [inject(throttled.clone()), close()])
        .at(40, [lift(throttled)]);
    for tier in ["a", "b", "c", "d"] {
        story = story.beside(maps().with_labels(&format!("tier={tier}")));
    }
    let finds = row(F15, &[F15], 5, 10, &[]);
    (
        story,
        finds.saying("refused 5 requests in … s with 429: it has too much to do"),
    )
}

fn never_ready() -> (Row, Finds) {
    let empty = Fault::TooManyRequests {
        resource: Some(MAPS_TYPE.to_owned()),
        throttle: Throttle::CacheNotReady,
        retry_after_secs: 3,
    };
    let story = Row::new(F15)
        .form("a cache that does not become ready")
        .at(5, [inject(empty.clone()), close()])
        .at(50, [lift(empty)]);
    // 20 s, plus the time to the next request. Up to 1.30 no server refuses like this: a request waits
    // (docs/semantics/versions.md#not-ready-429).
    let finds = row(F15, &[F15], 5, 30, &[F16]).with("1.31.0");
    (
        story,
        finds.saying("its cache of the type does not become ready"),
    )
}

/// More writes of a type than its cache keeps.
const OVERRUN: u64 = 150;

/// Ends the streams of configmaps in order, far from their timeouts.
fn close_maps() -> Deed {
    inject(Fault::CloseStreams {
        target: Target::Resource(MAPS_TYPE.to_owned()),
    })
}

fn built_anew() -> (Row, Finds) {
    let story = Row::new(F16)
        .form("a cache that is ready again, known by the 410 alone")
        .at(4, [write("b", 1)])
        .at(5, [close_maps(), delete("a"), expiry::expire()]);
    let finds = row(F16, &[F16], 5, 4, &[F11, F28]).with("1.36.3");
    (story, finds.saying("its cache of the resource begins anew"))
}

fn run_over() -> (Row, Finds) {
    let mut story = Row::new(F16)
        .form("twin: a cache that runs over")
        .at(4, [write("b", 1)])
        .at(5, [close_maps(), delete("a")]);
    for n in 0..OVERRUN {
        story = story.at(5, [write("b", n)]);
    }
    let finds = row(F16, &[], 0, 0, &[F11, F28]).with("1.36.3");
    (story, finds)
}

fn defined_anew() -> (Row, Finds) {
    let story = definitions::of_promotions(F17)
        .form("storage that is ready again, known by the 410 alone")
        // Another write lets the new storage begin at a version above the watch's.
        .at(4, [create("c")])
        .at(
            5,
            [
                inject(Fault::CloseStreams {
                    target: Target::Resource("promotions.shop.example.com".to_owned()),
                }),
                expiry::expire(),
            ],
        );
    let finds = row(F17, &[F17], 5, 4, &[F11]).with("1.36.3");
    (
        story,
        finds.saying("the storage of its type was built anew"),
    )
}

fn left_behind() -> (Row, Finds) {
    let promotion = json!({
        "apiVersion": "shop.example.com/v1", "kind": "Promotion",
        "metadata": {"name": "summer"}, "spec": {"discountPercent": 10},
    });
    let path = "/apis/shop.example.com/v1/namespaces/shop/promotions";
    // Before 1.15 the streams of an edited type neither ended nor received events
    // (docs/semantics/versions.md#crd-edit).
    let story = definitions::f17()
        .form("a watch that is left behind")
        .unjudged()
        .servers(&["1.14.0"])
        .beside(Scope::new(
            "apiextensions.k8s.io/v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
        ))
        .at(
            12,
            [Deed::Call(Request::new("POST", path).json(&promotion))],
        )
        .lasts(200);
    let finds = row(F17, &[F17], 12, 150, &[]).with("1.13.0").audited();
    (story, finds.saying("the server left it behind"))
}

fn held_up() -> (Row, Finds) {
    // The connection of our watch is the first of all.
    let proxy = Fault::Buffer {
        target: Target::Connection(ConnectionId(1)),
        bytes: 4096,
    };
    let mut story = Row::new(F44)
        .form("events that come late by the configured address alone")
        .servers(&["1.30.0", "1.30.0"])
        .at(3, [inject(proxy)])
        .lasts(60);
    for n in 0..100 {
        story = story.at_ms(5_000 + n * 500, [write("b", n)]);
    }
    let finds = row(F44, &[F44], 5, 10, &[]).with("1.26.0").by_each_server();
    (story, finds.saying("something on the way holds it back"))
}

fn late_now_and_then() -> (Row, Finds) {
    let mut story = Row::new(F31)
        .form("one event in twenty that comes late")
        .servers(&["1.30.0", "1.30.0"])
        .at(0, [out(SECOND)])
        .lasts(110);
    for n in 1..100 {
        story = story.at(n, [write("b", n)]);
    }
    // With the third freeze, late events are one in twenty of the last minute's.
    for at_ms in [60_500, 68_500, 76_500, 84_500] {
        let still = Fault::FreezeCaches {
            server: SECOND,
            resource: Some(MAPS_TYPE.to_owned()),
        };
        story = story
            .at_ms(at_ms, [inject(still.clone())])
            .at_ms(at_ms + 4_000, [lift(still)]);
    }
    let finds = row(F31, &[F31], 77, 3, &[]).with("1.26.0").by_each_server();
    (story, finds.saying("has not yet"))
}

fn beside_another() -> (Row, Finds) {
    let story = network::f50()
        .form("a stream beside it that is answered")
        .unjudged();
    // One stream is no crowd: it looks like a proxy that holds back headers. The client has two watches, and no more is
    // known.
    let finds = row(F50, &[F44], 1, 10, &[F50]).with("1.35.0");
    (story, finds.saying("1 stream over its connection is open"))
}

fn beside_many() -> (Row, Finds) {
    let cap = Fault::CapStreams {
        target: Target::All,
        streams: 110,
    };
    let mut story = Row::new(F50)
        .form("a hundred streams beside it that are answered")
        .at(0, [inject(cap)]);
    for n in 0..110 {
        let scope = maps().with_labels(&format!("n={n}"));
        story.shares_with.push(scope);
    }
    let finds = row(F50, &[F50], 1, 10, &[]).with("1.35.0");
    (
        story,
        finds.saying("110 streams over its connection are open"),
    )
}

fn drained() -> (Row, Finds) {
    let stop = Fault::Shutdown {
        server: FIRST,
        delay: Duration::from_secs(1),
        grace: Duration::from_secs(8),
        sends_retry_after: true,
    };
    let other = Fault::OutOfRotation { server: SECOND };
    // A server ends 200 watches a second. Ours comes after those of a crowd. Long before, another of our watches over
    // the same connection received the reason.
    let crowd = (0..200).map(|n| Deed::Start {
        name: format!("crowd-{n}"),
        program: reflector(34),
        scope: maps().in_namespace("kube-system"),
    });
    let crowd: Vec<Deed> = crowd.collect();
    let story = Row::new(F07)
        .form("a drain that takes seconds")
        .servers(&["1.36.3", "1.36.3"])
        .sharing(Scope::new("v1", "pods", "Pod").in_namespace("default"))
        .at_ms(300, [inject(other.clone())])
        .at(1, crowd)
        .at(
            3,
            [inject(Fault::CloseStreams {
                target: Target::UserAgent("watchscope".to_owned()),
            })],
        )
        .at(6, [lift(other)])
        .at(7, [inject(stop)])
        .lasts(30);
    let finds = row(F07, &[F07], 9, 2, &[]);
    (
        story,
        finds.saying("ended its streams, because it shuts down."),
    )
}

/// Lets the caches of configmaps list again.
fn begin_anew() -> Deed {
    inject(Fault::Reinitialise {
        server: None,
        resource: Some(MAPS_TYPE.to_owned()),
    })
}

/// The number of writes that are undone: others do not write as many in the meantime.
const BEYOND: u64 = 200;

/// A finding that depends on whether the cache is ready again at the time of the request.
const ANEW: Varies = varies(
    F16,
    "chance decides whether the cache is ready at the request",
);

/// If the cache is known to begin anew, the 410 behind it is part of that finding.
const GONE_WITH_CACHE: Varies = varies(
    F11,
    "the 410 of a cache that is known to begin anew is part of that finding",
);

/// etcd goes back to the time before a was deleted, and its server's cache begins anew. At that time an expired watch
/// is about to list.
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

fn list_from_before() -> (Row, Finds) {
    let story = gone_back(F33).form("a list from before what was seen");
    let finds = row(F33, &[F33], 6, 15, &[F11, F28]).with("1.29.4");
    (story, finds.saying("A list of the newest state is at"))
}

fn state_from_before() -> (Row, Finds) {
    let story = gone_back(F33)
        .form("initial events from before what was seen")
        .servers(&["1.35.0"])
        .by_watch_list();
    let finds = row(F33, &[F33], 6, 15, &[F11, F16, F28])
        .with("1.34.0")
        .and_by_reads(&[F24])
        .but(&[ANEW, GONE_WITH_CACHE]);
    (story, finds.saying("A list of the newest state is at"))
}

/// etcd is restored to the time before a was deleted and others were written. Meanwhile all servers restart.
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

/// Other findings that a restart of all servers may show.
const RESTARTED: &[row::Row] = &[F06, F07, F08, F09, F11, F15, F16, F28];

fn put_back() -> (Row, Finds) {
    let story = restored_and_restarted(&["1.36.3"], None)
        .form("put back as it was, with its server restarted");
    // One read comes 1 s after the resume, and a second read 4 s later.
    let finds = row(F33, &[F33], 11, 5, RESTARTED).with("1.30.0").audited();
    (story, finds.saying("A list of the newest state is at"))
}

fn put_back_of_two() -> (Row, Finds) {
    let story = restored_and_restarted(&["1.36.3", "1.36.3"], None)
        .form("put back as it was, with both servers restarted");
    let finds = row(F33, &[F33], 11, 5, RESTARTED)
        .with("1.30.0")
        .audited()
        .by_each_server();
    (story, finds.saying("A list of the newest state is at"))
}

/// Words of the finding about a restore that raises the revision.
const RAISED: &str =
    "In one history of etcd the resourceVersion of a living object never goes down";

fn raised() -> (Row, Finds) {
    let story = restored_and_restarted(&["1.36.3"], Some(1_000_000))
        .form("its revision raised, with its server restarted");
    let finds = row(F33, &[F33], 11, 5, RESTARTED).with("1.30.0");
    (story, finds.saying(RAISED))
}

fn raised_by_watch_list() -> (Row, Finds) {
    let story = restored_and_restarted(&["1.36.3", "1.36.3"], Some(1_000_000))
        .form("its revision raised, with both servers restarted, by initial events")
        .by_watch_list();
    let finds = row(F33, &[F33], 11, 5, RESTARTED).with("1.35.0");
    (story, finds.saying(RAISED))
}

fn write_lost_by_a_server() -> (Row, Finds) {
    let misses = Fault::MissWrites { server: SECOND };
    let story = Row::new(F24)
        .form("an older version in the list of another server")
        .servers(&["1.30.0", "1.30.0"])
        .at(0, [out(SECOND)])
        .at(3, [inject(misses.clone())])
        .at(4, [write("a", 1)])
        // The server's later event shows that etcd did not go back.
        .at(5, [lift(misses), create("c")])
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
    (
        story,
        finds
            .but(&[CUT_OFF[0], CUT_OFF[1], GONE_WITH_SERVER])
            .saying("who answered has lost an event"),
    )
}

fn deletion_lost_by_a_server() -> (Row, Finds) {
    let misses = Fault::MissWrites { server: SECOND };
    let story = Row::new(F24)
        .form("a deleted object in the list of another server")
        .servers(&["1.30.0", "1.30.0"])
        .at(0, [out(SECOND)])
        .at(3, [inject(misses.clone())])
        .at(4, [delete("a")])
        .at(5, [lift(misses), write("b", 1)])
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
    (
        story,
        finds
            .but(&[CUT_OFF[0], CUT_OFF[1], GONE_WITH_SERVER])
            .saying("who answered has not heard of that"),
    )
}

fn no_previous_value() -> (Row, Finds) {
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
        finds.saying("etcd gave it an event without what was there before"),
    )
}

fn change_lost() -> (Row, Finds) {
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

/// The first of two servers, which serves our watch, does not receive the deletion of a.
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

fn delivered_to_another() -> (Row, Finds) {
    let story = unheard(F24, FIRST, 90)
        .form("a second watch that was told more")
        .at(
            2,
            [lift(Fault::OutOfRotation { server: SECOND }), out(FIRST)],
        )
        .at(30, [write("b", 0)])
        .lasts(200);
    let finds = row(F24, &[F24], 90, 45, &[]).with("1.29.4").audited();
    (story, finds.saying("Of default/configmaps, "))
}

fn kept_by_a_server() -> (Row, Finds) {
    let story = unheard(F24, SECOND, 5).form("an event that a server kept to itself");
    let finds = row(F24, &[F24], 6, 1, &[]).with("1.29.4").by_each_server();
    (story, finds.saying("without it"))
}

/// A watch misses the first event behind the version that it starts after.
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

/// Why chance draws no writes beside forms in which a watch misses its first event.
const FIRST_ALONE: &str = "only the event right behind the requested revision is missed";

fn birth_missed() -> (Row, Finds) {
    let story = race(F45, create("c"))
        .form("a change of what was never there")
        .at(7, [write("c", 1)]);
    let finds = row(F45, &[F24], 7, 0, &[]).alone(FIRST_ALONE);
    (story, finds.saying("and never its ADDED"))
}

fn end_missed() -> (Row, Finds) {
    let story = race(F45, delete("a"))
        .form("a birth of what was never gone")
        .at(7, [create("a")]);
    let finds = row(F45, &[F24], 7, 0, &[]).alone(FIRST_ALONE);
    (
        story,
        finds.saying("and never the DELETED of the one before it"),
    )
}

fn write_missed() -> (Row, Finds) {
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

fn standing_still() -> (Row, Finds) {
    let still = Fault::FreezeCaches {
        server: FIRST,
        resource: Some(MAPS_TYPE.to_owned()),
    };
    let story = Row::new(F31)
        .form("a watch that does not come to what lists have")
        .at(4, [inject(still)])
        .at(5, [write("b", 1)])
        .lasts(200);
    // If others wrote before the watch was opened, its server does not know the watch's version.
    let finds = row(F31, &[F31], 5, 150, &[F32, F34])
        .with("1.29.4")
        .audited()
        .but(&[MISSING]);
    (story, finds.saying("and does not come to it"))
}

/// Freezes the only server's cache of configmaps for 75 s; then it catches up.
fn silent(form: &'static str) -> Row {
    let still = Fault::FreezeCaches {
        server: FIRST,
        resource: Some(MAPS_TYPE.to_owned()),
    };
    Row::new(F31)
        .form(form)
        .servers(&["1.36.3"])
        .at(4, [write("b", 1)])
        .at(20, [inject(still.clone())])
        .at(95, [lift(still)])
        .lasts(110)
}

fn silent_for_75_s() -> (Row, Finds) {
    let story = silent("a stream of one address that lags 75 s").at(25, [write("b", 2)]);
    // A round of the audit, 3 s for each list that waits for the cache, and 10 s from which on it is a lag.
    let finds = row(F31, &[F31], 25, 31, &[]).with("1.30.0").audited();
    (story, finds.saying("has delivered nothing for"))
}

fn silent_while_others_write() -> (Row, Finds) {
    let mut story = silent("twin: only the version of lists rises");
    let other = |n: u64| {
        let path = "/api/v1/namespaces/default/secrets";
        let body = json!({"metadata": {"name": format!("s{n}")}});
        Deed::Call(Request::new("POST", path).json(&body))
    };
    for n in 0..20 {
        story = story.at(21 + 3 * n, [other(n)]);
    }
    let finds = row(F31, &[], 0, 0, &[]).with("1.30.0");
    (story, finds.audited())
}

fn silent_and_not_audited() -> (Row, Finds) {
    let story = silent("twin: nobody reads").at(25, [write("b", 2)]);
    let finds = row(F31, &[], 0, 0, &[]).with("1.30.0");
    (story, finds.and_by_reads(&[F31]))
}

/// At 6 s moves a watch to a server that is behind the watch's version. Nobody writes the watched objects.
fn moved_ahead(form: &'static str) -> Row {
    let moved = [
        lift(Fault::OutOfRotation { server: SECOND }),
        out(FIRST),
        inject(Fault::Cut {
            target: Target::Server(FIRST),
            cut: Cut::Reset,
        }),
    ];
    Row::new(F32)
        .form(form)
        .servers(&["1.36.3", "1.36.3"])
        .at(0, [out(SECOND)])
        .at(3, [frozen()])
        .at(4, [write("b", 1)])
        .at(6, moved)
}

fn from_the_future_of_a_quiet_type() -> (Row, Finds) {
    let story = moved_ahead("a quiet type").lasts(90);
    // A round of the audit, 3 s for the server to give up, and the same 20 s later.
    let finds = row(F32, &[F32], 7, 40, &[F08]).with("1.34.0").audited();
    (
        story,
        finds.saying("two lists at … apart, were refused (504)"),
    )
}

fn caught_up_in_time() -> (Row, Finds) {
    let story = moved_ahead("twin: a server that catches up after 10 s")
        .at(16, [lift(frozen_caches())])
        .lasts(90);
    let finds = row(F32, &[], 0, 0, &[F08]).with("1.34.0");
    (story, finds.audited())
}

/// etcd is restored to the time before `BEYOND` writes, which no others make up for.
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

fn all_servers_back() -> (Row, Finds) {
    let (story, finds) = far_back(&["1.30.0", "1.30.0"]);
    (
        story.form("all of two servers"),
        finds.saying("A list of the newest state is at"),
    )
}

fn only_server_back() -> (Row, Finds) {
    let (story, finds) = far_back(&["1.30.0"]);
    (
        story.form("the only server"),
        finds.saying("A list of the newest state is at"),
    )
}

/// One watch alone; an object in its scope is written every 2 s for 220 s.
fn moving_alone(form: &'static str, resource: &str, written: impl Fn(u64) -> Deed) -> Row {
    let mut story = Row::new(F34)
        .form(form)
        .servers(&["1.36.3"])
        .at(
            0,
            [inject(Fault::NoBookmarks {
                resource: resource.to_owned(),
            })],
        )
        .lasts(220);
    for n in 0..109 {
        story = story.at(1 + 2 * n, [written(n)]);
    }
    story
}

fn none_beside_own_events() -> (Row, Finds) {
    let story = moving_alone("a stream whose own events move", MAPS_TYPE, |n| {
        write("b", n)
    });
    let finds = row(F34, &[F34], 0, 150, &[]).with("1.34.0");
    (story, finds.saying("its own events came for"))
}

fn none_beside_own_events_of_events() -> (Row, Finds) {
    let story = moving_alone("twin: a type without a watch cache", "events", |n| {
        expiry::event(&format!("e{n}"))
    });
    let finds = row(F34, &[], 0, 0, &[]).with("1.34.0");
    (story.scope(expiry::events()), finds)
}

fn below_a_bookmark() -> (Row, Finds) {
    let still = Fault::FreezeCaches {
        server: FIRST,
        resource: Some(MAPS_TYPE.to_owned()),
    };
    let story = Row::new(F35)
        .form("an event below a bookmark")
        .at(
            3,
            [inject(Fault::BookmarksAhead {
                resource: MAPS_TYPE.to_owned(),
            })],
        )
        .at(50, [inject(still.clone()), delete("a")])
        // A read that waits for the cache takes 3 s.
        .at(80, [lift(still)])
        .lasts(100);
    let finds = row(F35, &[F35], 80, 0, &[])
        .with("1.35.0")
        .and_by_reads(&[F24]);
    (story, finds.saying("A bookmark said that"))
}

fn no_end_of_initial_events() -> (Row, Finds) {
    let story = Row::new(F35)
        .form("our own initial events")
        .by_watch_list()
        .at(
            0,
            [inject(Fault::NoEndBookmark {
                resource: MAPS_TYPE.to_owned(),
            })],
        )
        .lasts(40);
    let finds = row(F35, &[F35], 0, 11, &[]).with("1.35.0");
    (story, finds.saying("None came for"))
}

/// Revokes a right while the stream goes on.
fn without_right() -> Row {
    let revoked = Fault::RevokeAccess {
        target: Target::All,
        resource: MAPS_TYPE.to_owned(),
        rights: Rights::Read,
    };
    Row::new(F41)
        .at(4, [inject(revoked)])
        .at(5, [write("b", 1)])
        .at(60, [close()])
        .lasts(90)
}

fn leaking() -> (Row, Finds) {
    // The audit lists again after twice the time.
    let finds = row(F41, &[F41], 4, 45, &[]).audited();
    (
        without_right().form("a stream that goes on"),
        finds.saying("goes on: it tells what nobody here may know"),
    )
}

fn leaked() -> (Row, Finds) {
    let finds = row(F41, &[F41], 60, 0, &[]).audited();
    (
        without_right().form("a stream that went on"),
        finds.saying("its stream had gone on"),
    )
}

fn seen_by_another() -> (Row, Finds) {
    let story = views::f43()
        .form("an object that another watch has")
        .unjudged()
        .beside(maps());
    let finds = row(F43, &[F43], 5, 0, &[]);
    (story, finds.saying("and default/configmaps has it at"))
}

/// A watch with a label selector. Twelve objects have the label, and no other watch sees them.
fn labelled(form: &'static str) -> Row {
    let body = |n: u64| json!({"metadata": {"name": format!("m{n}"), "labels": {"tier": "web"}}, "data": {"n": "0"}});
    let maps_of_all = "/api/v1/namespaces/default/configmaps";
    let create = |n| Deed::Call(Request::new("POST", maps_of_all).json(&body(n)));
    Row::new(F43)
        .form(form)
        .scope(maps().with_labels("tier=web"))
        .at_ms(100, (0..12).map(create).collect::<Vec<Deed>>())
        .lasts(40)
}

fn left_and_not_back() -> (Row, Finds) {
    let relabelled = merge(
        "/api/v1/namespaces/default/configmaps/m3",
        &json!({"metadata": {"labels": {"tier": "db"}}}),
    );
    // Another object is deleted in the same second.
    let story = labelled("an object that does not come back")
        .at(5, [relabelled])
        .at_ms(5_400, [delete("m4")]);
    // 1 s until a burst is over, and perhaps a read that has to wait for one.
    let finds = row(F43, &[F43], 5, 4, &[]).audited();
    (
        story,
        finds.saying("a GET of it was answered with 200 and the uid it had"),
    )
}

fn only_gone() -> (Row, Finds) {
    let gone: Vec<Deed> = (1..12).map(|n| delete(&format!("m{n}"))).collect();
    let story = labelled("twin: only real deletions").at(5, gone);
    (story, row(F43, &[], 0, 0, &[]).audited())
}

fn birth_missed_and_read() -> (Row, Finds) {
    let story = race(F45, create("c"))
        .form("an object that should have come first")
        .at(7, [write("b", 2)])
        .lasts(60);
    let finds = row(F45, &[F45], 7, 20, &[]).audited().alone(FIRST_ALONE);
    (
        story,
        finds.saying("Its event should have begun the stream from"),
    )
}

fn gone_by_initial_events() -> (Row, Finds) {
    let story = expiry::f28()
        .form("initial events without it")
        .unjudged()
        .by_watch_list()
        .at_ms(6_500, [delete("b"), create("b")]);
    let finds = row(F28, &[F28], 8, 10, &[F06, F08, F11])
        .with("1.35.0")
        .but(&[CUT_OFF[0], CUT_OFF[1], GONE_WITH_SERVER]);
    (
        story,
        finds.saying("The list shows that 2 objects of default/configmaps went"),
    )
}
