//! Each fault between clients and servers does on a socket what it does in the world: a probe that watches the same
//! story there (in virtual time, by structured messages) and here (HTTP/1.1 and HTTP/2 over loopback) tells the same.
//!
//! The sockets are real and the time is not: it passes, in steps of the pump's, whenever nothing else is to be done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use watchscope_diagnosis::audit::Level;
use watchscope_model::event::Event;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{Entry, Record, Time, WatchName};
use watchscope_probe::{ProbeConfig, WatchSpec};
use watchscope_scenarios::{Act, Deed, Run, Story, View};
use watchscope_simulator::{Config, Cut, Fault, Request, ServerId, Target, Throttle};

use super::Demo;
use crate::cluster::ConfigSource;
use crate::log::{Read, Since};
use crate::probes::{Settings, Watches, Wishes};
use crate::transport::Protocols;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SEED: u64 = 7;
/// The watch begins so long after the story.
const BEGINS: Duration = Duration::from_secs(1);
/// Longest run of lines that is looked at for repeating itself.
const LONGEST_ROUND: usize = 12;

fn create(name: &str) -> Deed {
    let body = json!({"metadata": {"name": name}, "data": {"n": "0"}});
    Deed::Call(Request::new("POST", MAPS).json(&body))
}

fn write(name: &str, n: u64) -> Deed {
    let path = format!("{MAPS}/{name}");
    let mut request =
        Request::new("PATCH", &path).header("content-type", "application/merge-patch+json");
    request.body = json!({"data": {"n": n.to_string()}}).to_string().into();
    Deed::Call(request)
}

/// Everything of watchscope's.
fn ours() -> Target {
    Target::UserAgent("watchscope".to_owned())
}

fn story(acts: Vec<(u64, Deed)>) -> Story {
    let first = [(0, create("a")), (0, create("b"))];
    let acts = first.into_iter().chain(acts).map(|(secs, deed)| Act {
        at: Duration::from_secs(secs),
        deeds: vec![deed],
        says: None,
    });
    Story {
        name: "a fault",
        title: "a fault",
        config: Config::empty(),
        view: View::of("default", &["configmaps"]),
        acts: acts.collect(),
        period: None,
    }
}

/// A fault that is a moment, and a write long after.
fn moment(fault: Fault) -> Story {
    story(vec![
        (5, Deed::Inject(fault)),
        (8, write("a", 1)),
        (30, write("b", 1)),
    ])
}

/// A fault that lasts, a write into it, a reset and a write that is missed, and writes after it.
fn state(fault: Fault) -> Story {
    states(vec![fault])
}

/// The same with faults at the same time.
fn states(faults: Vec<Fault>) -> Story {
    let reset = Fault::Cut {
        target: Target::All,
        cut: Cut::Reset,
    };
    let on = faults.iter().cloned().map(|fault| (5, Deed::Inject(fault)));
    let between = [
        (8, write("a", 1)),
        (12, Deed::Inject(reset)),
        (12, write("a", 2)),
    ];
    let off = faults.iter().cloned().map(|fault| (40, Deed::Lift(fault)));
    let after = [(80, write("b", 1)), (82, create("c"))];
    story(on.chain(between).chain(off).chain(after).collect())
}

/// A fault of the way that lasts long enough for a silent stream to be suspected.
fn silence(fault: Fault) -> Story {
    story(vec![
        (3, write("a", 1)),
        (5, Deed::Inject(fault.clone())),
        (8, write("a", 2)),
        (200, write("b", 1)),
        (400, Deed::Lift(fault)),
        (460, write("b", 2)),
    ])
}

fn probe() -> ProbeConfig {
    ProbeConfig {
        // Always the same, and past the end of all stories but the longest.
        watch_timeout_s: 350..=350,
        ..ProbeConfig::default()
    }
}

/// What the probe tells in the world.
fn in_the_world(story: Story, lasts: Duration) -> Vec<String> {
    let mut run = Run::of_story(story, SEED);
    run.run_for(BEGINS);
    let spec = WatchSpec::of("default", "configmaps", "ConfigMap");
    run.watch(spec, probe(), SEED);
    run.run_for(lasts - BEGINS);
    told(run.records())
}

/// What it tells over sockets.
async fn over_sockets(story: Story, lasts: Duration, protocols: Protocols) -> Vec<String> {
    let records = records_of(&["configmaps"], story, lasts, protocols).await;
    told(&records)
}

/// What watches of some resources tell over sockets.
async fn records_of(
    resources: &[&str],
    story: Story,
    lasts: Duration,
    protocols: Protocols,
) -> Vec<Record> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let demo = Demo::start(story, SEED, listener).unwrap();
    tokio::time::sleep(BEGINS).await;
    let log = crate::log::tests::open(1 << 24, 1 << 20);
    let source = ConfigSource::Url(format!("http://{}", demo.address).parse().unwrap());
    let settings = Settings {
        audit: Level::Off,
        wishes: Wishes {
            resources: resources.iter().map(|&name| name.to_owned()).collect(),
            namespace: Some("default".to_owned()),
            ..Wishes::default()
        },
        label_selector: None,
        field_selector: None,
        metadata_only: Vec::new(),
        probe: probe(),
        protocols,
    };
    let mut reader = log.reader(Since::First);
    let config = source.load().unwrap();
    let watches = Watches::start(&source, config, settings, log.clone())
        .await
        .unwrap();
    tokio::time::sleep(lasts - BEGINS).await;
    // What has been told by now, before the end is told too.
    let (state, _) = log.head().await;
    let mut records: Vec<Record> = Vec::new();
    while records.last().is_none_or(|last| last.seq < state.seq) {
        match reader.next().await.unwrap() {
            Read::Entries(more) => {
                records.extend(more.into_iter().filter_map(Entry::into_record));
            }
            Read::Loss { from, to } => panic!("{from} to {to} are lost"),
        }
    }
    drop(watches);
    connections_are_told_whole(&records);
    records
}

/// Requests go over connections that are open, and the ends of streams go before that of their connection.
fn connections_are_told_whole(records: &[Record]) {
    let mut open = BTreeMap::new();
    let mut streaming = BTreeMap::new();
    for record in records {
        match &record.event {
            Event::ConnectionOpened(event) => {
                assert!(open.insert(event.connection, 0).is_none(), "{record:?}");
            }
            Event::RequestSent(event) => {
                let requests = open.get_mut(&event.connection);
                *requests.unwrap_or_else(|| panic!("not open: {record:?}")) += 1;
                streaming.insert(event.watch.clone(), event.connection);
            }
            Event::StreamEnded(event) if event.cause != Cause::Cancelled => {
                assert!(open.contains_key(&streaming[&event.watch]), "{record:?}");
            }
            Event::ConnectionClosed(event) => {
                assert!(open.remove(&event.connection).is_some(), "{record:?}");
            }
            _ => {}
        }
    }
}

/// The probe's events without what chance and the clock decide: times, delays, ids, bookmarks; and with rounds that
/// repeat themselves told once, since how many there are is chance too.
fn told(records: &[Record]) -> Vec<String> {
    let lines = records.iter().filter_map(|record| line(&record.event));
    let mut told: Vec<String> = Vec::new();
    for line in lines {
        told.push(line);
        for round in 1..=LONGEST_ROUND.min(told.len() / 2) {
            let second = told.len() - round;
            if told[second - round..second] == told[second..] {
                told.truncate(second);
                break;
            }
        }
    }
    told
}

fn line(event: &Event) -> Option<String> {
    let watch = |name: &WatchName| {
        let text = name.to_string();
        text.split_once('#')
            .map_or(String::new(), |(_, side)| format!("#{side} "))
    };
    Some(match event {
        Event::WatchPhase(e) => format!("{} to {}: {}", e.from?, e.to, e.reason),
        Event::RequestSent(e) => {
            let query = e.query.as_deref().unwrap_or_default();
            let asked: Vec<&str> = query
                .split('&')
                .filter(|pair| !pair.starts_with("timeoutSeconds"))
                .collect();
            format!("{}{} {}", watch(&e.watch), e.verb, asked.join("&"))
        }
        Event::RequestAnswered(e) => {
            // Of a failure the words are the network's own.
            let error = e.status.and(e.error.as_deref()).unwrap_or_default();
            format!("{}answered {:?} {error}", watch(&e.watch), e.status)
        }
        Event::ListComplete(e) => format!(
            "list at {}: {} +{} ~{} -{}",
            e.resource_version, e.items, e.added, e.changed, e.removed
        ),
        Event::StreamOpened(e) => format!("stream from {:?}", e.resource_version),
        Event::StreamError(e) => format!("error {} {:?}", e.code, e.message),
        Event::StreamEnded(e) => format!("stream ended: {}", e.cause),
        Event::Change(e) => format!(
            "{} {} at {} ({})",
            e.change, e.object.name, e.resource_version, e.origin
        ),
        Event::Gap(e) => format!(
            "gap from {:?} to {:?}: {:?}, resumed {}, lost {:?}",
            e.from, e.to, e.reason, e.resumed, e.lost
        ),
        Event::Loss(e) => format!("lost {} of {} {:?}", e.count, e.place, e.reason),
        _ => return None,
    })
}

/// Plays a story three times and compares; gives what was told, so that a test can say that the fault did something.
async fn same_everywhere(story: Story, lasts: u64) -> Vec<String> {
    let lasts = Duration::from_secs(lasts);
    let world = in_the_world(story.clone(), lasts);
    for protocols in [Protocols::Http1, Protocols::Http2] {
        let sockets = over_sockets(story.clone(), lasts, protocols).await;
        assert_eq!(
            sockets.join("\n"),
            world.join("\n"),
            "on the left over {protocols:?}, on the right in the world"
        );
    }
    world
}

fn ended(told: &[String], cause: Cause) -> bool {
    told.contains(&format!("stream ended: {cause}"))
}

macro_rules! faults {
    ($($(#[$attribute:meta])* $name:ident: $story:expr, $lasts:literal, $shows:expr;)*) => {$(
        $(#[$attribute])*
        #[tokio::test(start_paused = true)]
        async fn $name() {
            let told = same_everywhere($story, $lasts).await;
            let shows: fn(&[String]) -> bool = $shows;
            assert!(shows(&told), "the fault does nothing: {told:#?}");
        }
    )*};
}

fn has(told: &[String], words: &str) -> bool {
    told.iter().any(|line| line.contains(words))
}

faults! {
    nothing_wrong: story(vec![(8, write("a", 1)), (12, create("c"))]), 30,
        |told| has(told, "ADDED c") && !has(told, "ended");
    a_reset: moment(Fault::Cut { target: Target::All, cut: Cut::Reset }), 45,
        |told| ended(told, Cause::TcpReset);
    an_end_of_file: moment(Fault::Cut { target: ours(), cut: Cut::Eof }), 45,
        |told| ended(told, Cause::Eof);
    streams_that_are_closed: moment(Fault::CloseStreams { target: Target::All }), 45,
        |told| ended(told, Cause::End);
    refused_connections: state(Fault::Refuse), 110,
        |told| has(told, "unreachable");
    // Watches are exempt, so it takes a list.
    too_many_requests_in_flight: states(vec![too_many(Throttle::MaxInFlight), Fault::Expire { resource: None }]), 110,
        |told| has(told, "429");
    too_many_requests_by_priority: state(too_many(Throttle::PriorityAndFairness)), 110,
        |told| has(told, "429");
    a_cache_that_is_not_ready: state(too_many(Throttle::CacheNotReady)), 110,
        |told| has(told, "429");
    a_server_that_shuts_down: state(too_many(Throttle::Shutdown)), 110,
        |told| has(told, "429");
    history_that_expires: state(Fault::Expire { resource: None }), 110,
        |told| has(told, "expired");
    silence_both_ways: silence(Fault::Stall { target: ours() }), 500,
        |told| has(told, "MODIFIED b");
    silence_of_requests: silence(Fault::LoseRequests { target: ours() }), 500,
        |told| has(told, "MODIFIED b");
    silence_of_answers: silence(Fault::LoseAnswers { target: ours() }), 500,
        |told| has(told, "MODIFIED b");
    going_away: moment(Fault::GoAway { target: Target::All, cut: None }), 45,
        |told| has(told, "MODIFIED b");
    going_away_with_a_reset: moment(Fault::GoAway { target: Target::All, cut: Some(Cut::Reset) }), 45,
        |told| ended(told, Cause::TcpReset);
    going_away_with_an_end_of_file: moment(Fault::GoAway { target: Target::All, cut: Some(Cut::Eof) }), 45,
        |told| ended(told, Cause::Eof);
    a_proxy_that_buffers: state(Fault::Buffer { target: Target::All, bytes: 10_000 }), 110,
        |told| has(told, "ADDED c");
    a_cap_on_streams: state(Fault::CapStreams { target: Target::All, streams: 1 }), 110,
        |told| has(told, "ADDED c");
    an_idle_killer_that_says_so: silence(Fault::KillIdle { after: Duration::from_secs(40), says_so: true }), 500,
        |told| ended(told, Cause::TcpReset);
    // Nothing says so, and the stream has had no bookmark yet: it is not suspected before ten minutes.
    an_idle_killer_that_does_not: silence(Fault::KillIdle { after: Duration::from_secs(40), says_so: false }), 500,
        |told| !has(told, "MODIFIED b");
    tokens_that_expire: state(Fault::ExpireTokens { target: ours() }), 110,
        |told| has(told, "401");
    rights_that_are_revoked: state(Fault::RevokeAccess { target: ours(), resource: "configmaps".to_owned() }), 110,
        |told| has(told, "403");
    a_torn_frame_and_a_reset: moment(Fault::TearFrame { target: Target::All, cut: Cut::Reset }), 45,
        |told| has(told, "lost 1 of frame");
    a_torn_frame_and_an_end_of_file: moment(Fault::TearFrame { target: Target::All, cut: Cut::Eof }), 45,
        |told| ended(told, Cause::EofInFrame);
    a_server_out_of_rotation: state(Fault::OutOfRotation { server: ServerId(0) }), 110,
        |told| has(told, "unreachable");
    requests_that_are_balanced: state(Fault::BalanceRequests), 110,
        |told| has(told, "ADDED c");
    a_long_way: state(Fault::Delay { by: Duration::from_millis(700) }), 110,
        |told| has(told, "ADDED c");
    a_cache_that_begins_anew: moment(Fault::Reinitialise { server: None, resource: None }), 45,
        |told| ended(told, Cause::End);
    events_told_twice: state(Fault::RepeatEvents { resource: "configmaps".to_owned() }), 110,
        |told| has(told, "MODIFIED a");
    events_of_another_kind: state(Fault::WrongKind { resource: "configmaps".to_owned() }), 110,
        |told| has(told, "lost 1 of frame");
    expiry_that_is_not_told: states(vec![Fault::Expire { resource: None }, Fault::SilentExpiry { resource: "configmaps".to_owned() }]), 110,
        |told| has(told, "stream ended: end") && !has(told, "error 410");
    expiry_as_a_status: states(vec![Fault::Expire { resource: None }, Fault::GoneAsStatus { resource: "configmaps".to_owned() }]), 110,
        |told| has(told, "answered Some(410)");
}

fn too_many(throttle: Throttle) -> Fault {
    Fault::TooManyRequests {
        resource: None,
        throttle,
        retry_after_secs: 2,
    }
}

/// HTTP/1.1 has no word for one stream's end that is not in order: the connection closes instead.
#[tokio::test(start_paused = true)]
async fn streams_that_are_reset() {
    let lasts = Duration::from_secs(45);
    let fault = Fault::ResetStreams {
        target: Target::All,
        code: 2,
    };
    let story = moment(fault);
    let world = in_the_world(story.clone(), lasts);
    assert!(ended(&world, Cause::RstStream), "{world:#?}");
    let http2 = over_sockets(story.clone(), lasts, Protocols::Http2).await;
    assert_eq!(http2.join("\n"), world.join("\n"));
    let http1 = over_sockets(story, lasts, Protocols::Http1).await;
    let closed: Vec<String> = world
        .iter()
        .map(|line| {
            line.replace("rst-stream", "eof")
                .replace("RstStream", "Eof")
        })
        .collect();
    assert_eq!(http1.join("\n"), closed.join("\n"));
}

const THREE: [&str; 3] = ["configmaps", "secrets", "services"];

/// The connections that were opened, and how many requests went over each.
fn connections(records: &[Record]) -> Vec<usize> {
    let opened = records.iter().filter_map(|record| match &record.event {
        Event::ConnectionOpened(event) => Some(event.connection),
        _ => None,
    });
    let requests = |connection| {
        let is_on_it = |record: &&Record| matches!(&record.event, Event::RequestSent(event) if event.connection == connection);
        records.iter().filter(is_on_it).count()
    };
    opened.map(requests).collect()
}

fn ends(records: &[Record]) -> Vec<Cause> {
    let ended = records.iter().filter_map(|record| match &record.event {
        Event::StreamEnded(event) => Some(event.cause),
        _ => None,
    });
    ended.collect()
}

#[tokio::test(start_paused = true)]
async fn with_http2_all_watches_share_a_connection_and_its_fate() {
    let story = moment(Fault::Cut {
        target: Target::Resource("services".to_owned()),
        cut: Cut::Reset,
    });
    let lasts = Duration::from_secs(45);
    let records = records_of(&THREE, story.clone(), lasts, Protocols::Http2).await;
    // A list and a stream each, and a stream each again.
    assert_eq!(connections(&records), [6, 3]);
    assert_eq!(ends(&records), [Cause::TcpReset; 3]);
    let closed = records.iter().filter_map(|record| match &record.event {
        Event::ConnectionClosed(event) => Some(event.cause),
        _ => None,
    });
    assert_eq!(closed.collect::<Vec<_>>(), [Cause::TcpReset]);

    let apart = records_of(&THREE, story, lasts, Protocols::Http1).await;
    assert_eq!(connections(&apart), [2, 2, 2, 1]);
    assert_eq!(ends(&apart), [Cause::TcpReset]);
}

#[tokio::test(start_paused = true)]
async fn those_who_share_a_connection_take_turns_to_look_whether_it_is_dead() {
    // After the first bookmarks, without which a stream may be silent for long.
    let create = |plural: &str, body: &serde_json::Value| {
        let path = format!("/api/v1/namespaces/default/{plural}");
        Deed::Call(Request::new("POST", &path).json(body))
    };
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    let story = story(vec![
        (10, write("a", 1)),
        (10, create("secrets", &json!({"metadata": {"name": "s"}}))),
        (10, create("services", &service)),
        (75, Deed::Inject(Fault::Stall { target: ours() })),
    ]);
    let lasts = Duration::from_secs(420);
    let records = records_of(&THREE, story, lasts, Protocols::Http2).await;
    let looks: Vec<(Time, String)> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::RequestSent(event) if event.watch.to_string().ends_with("#s") => {
                Some((record.at, event.watch.to_string()))
            }
            _ => None,
        })
        .collect();
    for pair in looks.windows(2) {
        assert!(
            pair[1].0.millis_since(pair[0].0) >= 59_900,
            "less than a minute apart: {looks:#?}"
        );
    }
    let who: BTreeSet<&String> = looks.iter().map(|(_, watch)| watch).collect();
    assert_eq!(who.len(), THREE.len(), "each has its turn: {looks:#?}");
}

#[tokio::test(start_paused = true)]
async fn after_a_goaway_streams_go_on_and_new_requests_take_another_connection() {
    let story = story(vec![
        (
            5,
            Deed::Inject(Fault::GoAway {
                target: Target::All,
                cut: None,
            }),
        ),
        (8, write("a", 1)),
        (
            12,
            Deed::Inject(Fault::CloseStreams {
                target: Target::Resource("services".to_owned()),
            }),
        ),
        (20, write("a", 2)),
        (
            30,
            Deed::Inject(Fault::CloseStreams {
                target: Target::All,
            }),
        ),
    ]);
    let lasts = Duration::from_secs(45);
    let records = records_of(&THREE, story, lasts, Protocols::Http2).await;
    assert_eq!(connections(&records), [6, 4]);
    assert_eq!(ends(&records), [Cause::End; 4]);
    let of_connections: Vec<&str> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::ConnectionOpened(_) => Some("opened"),
            Event::ConnectionGoaway(event) => {
                assert_eq!((event.last_stream, event.code), ((1 << 31) - 1, 0));
                Some("goaway")
            }
            Event::ConnectionClosed(_) => Some("closed"),
            _ => None,
        })
        .collect();
    assert_eq!(of_connections, ["opened", "goaway", "opened", "closed"]);
    let changes = told(&records);
    assert!(has(&changes, "MODIFIED a at 17"), "{changes:#?}");
}

/// F50: what is past the cap waits without a word while the others are served.
#[tokio::test(start_paused = true)]
async fn past_a_cap_on_streams_requests_hang_while_others_are_served() {
    let cap = Fault::CapStreams {
        target: Target::All,
        streams: 2,
    };
    let story = story(vec![
        (0, Deed::Inject(cap.clone())),
        (8, write("a", 1)),
        (60, Deed::Lift(cap)),
    ]);
    let served = |records: &[Record]| {
        let opened = records
            .iter()
            .filter(|record| matches!(record.event, Event::StreamOpened(_)));
        opened.count()
    };
    let before = records_of(
        &THREE,
        story.clone(),
        Duration::from_secs(50),
        Protocols::Http2,
    );
    let before = before.await;
    assert_eq!((connections(&before).len(), served(&before)), (1, 2));
    let after = records_of(&THREE, story, Duration::from_secs(90), Protocols::Http2).await;
    assert_eq!(served(&after), 3);
}
