//! Rows of the catalogue in other forms: failures that show otherwise than in the row's own story.
//!
//! Each form has the finding that must be made, and words of that finding's sentence. The rows' own stories state the
//! expected ends of clients; forms do not. Forms in which etcd is restored are in `restored`, and forms in which an
//! event is lost are in `lost`.

mod lost;
mod restored;

use std::time::Duration;

use serde_json::json;
use watchscope_model::Row::{
    F06, F07, F08, F11, F12, F14, F15, F16, F17, F24, F28, F31, F32, F34, F35, F41, F43, F44, F50,
};
use watchscope_simulator::{ConnectionId, Cut, Fault, Request, Rights, Scope, Target, Throttle};

use super::finds::{CUT_OFF, Finds, GONE_WITH_SERVER, MISSING, Varies, row};
use super::servers::{frozen, frozen_caches, out};
use super::{
    FIRST, MAPS_TYPE, Row, SECOND, close, create, delete, inject, lift, merge, reflector, write,
};
use super::{definitions, expiry, network, views};
use crate::script::Deed;

/// Returns all forms, in the order of their rows' numbers, each with its findings. The rows' own stories
/// ([`super::rows`]) are not forms; a row may have several forms, or none.
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
        restored::list_from_before(),
        restored::state_from_before(),
        restored::put_back(),
        restored::put_back_of_two(),
        restored::raised(),
        restored::raised_by_watch_list(),
        lost::deletion_lost_by_a_server(),
        lost::write_lost_by_a_server(),
        lost::no_previous_value(),
        lost::change_lost(),
        lost::delivered_to_another(),
        lost::kept_by_a_server(),
        lost::birth_missed(),
        lost::end_missed(),
        lost::write_missed(),
        standing_still(),
        silent_for_75_s(),
        silent_while_others_write(),
        silent_and_not_audited(),
        from_the_future_of_a_quiet_type(),
        caught_up_in_time(),
        restored::all_servers_back(),
        restored::only_server_back(),
        none_beside_own_events(),
        none_beside_own_events_of_events(),
        below_a_bookmark(),
        no_end_of_initial_events(),
        leaking(),
        leaked(),
        seen_by_another(),
        left_and_not_back(),
        only_gone(),
        lost::birth_missed_and_read(),
        gone_by_initial_events(),
    ];
    forms.sort_by_key(|(row, _)| row.code);
    forms.to_vec()
}

fn maps() -> Scope {
    Scope::new("v1", "configmaps", "ConfigMap").in_namespace("default")
}

/// The findings that depend on other watches, where the watched resource is quiet.
const QUIET: [Varies; 3] = [CUT_OFF[0], CUT_OFF[1], MISSING];

fn quiet_for_long() -> (Row, Finds) {
    let story = expiry::f12()
        .form("of a quiet type")
        .unjudged()
        .at(10, [expiry::event("moved")]);
    let finds = row(F12, &[F12], 1_203, 3, &[F06, F08, F34]).with_error(410);
    (story, finds.but(&QUIET).saying("so its version expired"))
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
        .form("twin: a list at a version that the server has not reached")
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
        .form("twin: initial events at a version that the server has not reached")
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
        finds.saying("refused 5 requests in … s with 429: it is overloaded"),
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

/// The number of writes of a resource at one instant: more than the 100 events with which a watch cache's ring begins
/// (docs/semantics/servers.md#ring). The full ring spans less than 75 s, so it doubles and drops none of the writes.
/// The number has no other source.
const OVERRUN: u64 = 150;

/// Returns a deed that ends the watches of configmaps with an orderly end of the body, long before their timeouts.
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
    (story, finds.saying("the storage of its type was rebuilt"))
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
        .form("events that come late over the configured address alone")
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

fn standing_still() -> (Row, Finds) {
    let still = Fault::FreezeCaches {
        server: FIRST,
        resource: Some(MAPS_TYPE.to_owned()),
    };
    let story = Row::new(F31)
        .form("a watch that does not reach the version of lists")
        .at(4, [inject(still)])
        .at(5, [write("b", 1)])
        .lasts(200);
    // If others wrote before the watch was opened, its server does not know the watch's version.
    let finds = row(F31, &[F31], 5, 150, &[F32, F34])
        .with("1.29.4")
        .audited()
        .but(&[MISSING]);
    (
        story,
        finds.saying("and does not reach the version of the list"),
    )
}

/// Returns a form in which the only server's cache of configmaps is frozen for 75 s, and then catches up.
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
    (story, finds.saying("has delivered nothing in"))
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

/// Returns a form that at 6 s moves a watch to a server whose cache is behind the watch's resourceVersion. The form's
/// last write of a watched object is at 4 s.
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
        finds.saying("Two lists at … apart, were refused (504)"),
    )
}

fn caught_up_in_time() -> (Row, Finds) {
    let story = moved_ahead("twin: a server that catches up after 10 s")
        .at(16, [lift(frozen_caches())])
        .lasts(90);
    let finds = row(F32, &[], 0, 0, &[F08]).with("1.34.0");
    (story, finds.audited())
}

/// Returns a form with one watch alone; an object in its scope is written every 2 s for 220 s.
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

/// Returns a form that revokes a client's right while its open watch goes on.
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
        finds.saying("goes on: it delivers objects that this account may no longer read"),
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
    (story, finds.saying("but default/configmaps has it at"))
}

/// Returns a form with a watch with a label selector. Twelve objects have the label, and no other watch covers them.
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
        finds.saying("a GET of it returned 200 with the same uid"),
    )
}

fn only_gone() -> (Row, Finds) {
    let gone: Vec<Deed> = (1..12).map(|n| delete(&format!("m{n}"))).collect();
    let story = labelled("twin: only real deletions").at(5, gone);
    (story, row(F43, &[], 0, 0, &[]).audited())
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
        finds.saying("The list shows that 2 objects of default/configmaps disappeared"),
    )
}
