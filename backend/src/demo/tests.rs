//! Each fault between clients and servers has the same effect on a socket as in the simulated cluster. A probe watches the
//! same story twice: there (in virtual time, by structured messages) and here (HTTP/1.1 and HTTP/2 over loopback). It must
//! emit the same events.
//!
//! The sockets are real, but the time is not: it advances in the pump's steps whenever nothing else is to be done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use watchscope_diagnosis::audit::Level;
use watchscope_model::event::Event;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{Entry, Record, Time, WatchName};
use watchscope_probe::{ProbeConfig, WatchSpec};
use watchscope_scenarios::catalogue::rows;
use watchscope_scenarios::{Act, Deed, Run, Story, View};
use watchscope_simulator::{
    Config, Cut, Defect, Fault, Request, Rights, ServerId, Target, Throttle,
};

use super::Demo;
use super::pump::SLICE;
use crate::cluster::ConfigSource;
use crate::follow::Following;
use crate::log::{Read, Since};
use crate::probes::{AUDIT_LOOKS, Settings, Wishes};
use crate::transport::Protocols;
use crate::upstream::Servers;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// The resource's name in faults.
const MAPS_TYPE: &str = "configmaps";
const FIRST: ServerId = ServerId(0);
const SECOND: ServerId = ServerId(1);
const SEED: u64 = 7;
/// The time from the start of the story to that of the watch.
const BEGINS: Duration = Duration::from_secs(1);
/// The shortest time between two lines that becomes a line of its own, in ms. Other times are left out.
const LONG_SILENCE_MS: u64 = 300_000;
/// The longest run of lines that is searched for repetition.
const LONGEST_ROUND: usize = 12;

fn create(name: &str) -> Deed {
    let body = json!({"metadata": {"name": name}, "data": {"n": "0"}});
    Deed::Call(Request::new("POST", MAPS).json(&body))
}

fn delete(name: &str) -> Deed {
    Deed::Call(Request::new("DELETE", &format!("{MAPS}/{name}")))
}

/// Writes an object of another type, so that etcd's version is above that of all configmaps.
fn write_elsewhere() -> Deed {
    let body = json!({"metadata": {"name": "elsewhere"}});
    Deed::Call(Request::new("POST", "/api/v1/namespaces/default/secrets").json(&body))
}

fn event(name: &str) -> Deed {
    let body = json!({
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Test", "message": "m", "type": "Normal",
    });
    Deed::Call(Request::new("POST", "/api/v1/namespaces/default/events").json(&body))
}

fn on(fault: Fault) -> Deed {
    Deed::Inject(fault)
}

fn off(fault: Fault) -> Deed {
    Deed::Lift(fault)
}

fn reset() -> Deed {
    on(Fault::Cut {
        target: Target::All,
        cut: Cut::Reset,
    })
}

fn close() -> Deed {
    on(Fault::CloseStreams {
        target: Target::All,
    })
}

fn write(name: &str, n: u64) -> Deed {
    let path = format!("{MAPS}/{name}");
    let mut request =
        Request::new("PATCH", &path).header("content-type", "application/merge-patch+json");
    request.body = json!({"data": {"n": n.to_string()}}).to_string().into();
    Deed::Call(request)
}

/// Matches all connections of watchscope.
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

/// A momentary fault, and a write long after it.
fn moment(fault: Fault) -> Story {
    story(vec![
        (5, Deed::Inject(fault)),
        (8, write("a", 1)),
        (30, write("b", 1)),
    ])
}

/// A lasting fault: a write during it, a reset with a write that is missed, and writes after it.
fn state(fault: Fault) -> Story {
    states(vec![fault])
}

/// Like [`state`], with several faults at once. The writes after them wait for the longest backoff, 60 s.
fn states(faults: Vec<Fault>) -> Story {
    let begin = faults.iter().cloned().map(|fault| (5, on(fault)));
    let between = [(8, write("a", 1)), (12, reset()), (12, write("a", 2))];
    let end = faults.iter().cloned().map(|fault| (40, off(fault)));
    let after = [(110, write("b", 1)), (112, create("c"))];
    story(begin.chain(between).chain(end).chain(after).collect())
}

/// The story in a cluster with these servers.
fn with_servers(versions: &[&str], story: Story) -> Story {
    let read = |text: &&str| text.parse().unwrap();
    let servers = versions.iter().map(read).collect();
    Story {
        config: Config {
            servers,
            ..story.config
        },
        ..story
    }
}

/// The story, delayed by `by`.
fn later(by: Duration, mut story: Story) -> Story {
    for act in &mut story.acts {
        act.at += by;
    }
    story
}

/// The story with a probe that watches events, a type without a watch cache.
fn of_events(story: Story) -> Story {
    Story {
        view: View::of("default", &["events"]),
        ..story
    }
}

/// A story, and whether the probe begins with a watch-list.
#[derive(Clone)]
struct Tale {
    story: Story,
    watch_list: bool,
}

impl From<Story> for Tale {
    fn from(story: Story) -> Self {
        Self {
            story,
            watch_list: false,
        }
    }
}

fn by_watch_list(story: Story) -> Tale {
    Tale {
        story,
        watch_list: true,
    }
}

/// etcd's streams of configmaps take `secs` seconds for each response.
fn slow(secs: u64) -> Fault {
    Fault::SlowEtcdStreams {
        server: None,
        resource: Some(MAPS_TYPE.to_owned()),
        per_response: Duration::from_secs(secs),
    }
}

fn defect(defect: Defect) -> Deed {
    on(Fault::EtcdDefect(defect))
}

/// etcd restarts behind a compaction at exactly the deletion of `a`, whose event waits.
///
/// A correct etcd sends that event without the previous value, and the apiserver rejects it: after 30 s it lists again.
fn compacted_at_a_deletion(with: Defect) -> Story {
    let story = story(vec![
        (3, defect(with)),
        (5, on(slow(2))),
        (5, write("b", 1)),
        (6, delete("a")),
        (6, on(Fault::CompactEtcd)),
        (
            6,
            on(Fault::RestartEtcd {
                during_compaction: false,
            }),
        ),
        (7, off(slow(2))),
        (20, write("b", 2)),
    ]);
    with_servers(&["1.30.0"], story)
}

/// The story of a row of the catalogue.
fn row(code: &str) -> Story {
    let mut rows = rows().into_iter();
    rows.find(|row| row.code == code).unwrap().story
}

/// A fault of the connection that lasts long enough for the probe to suspect a silent stream.
fn silence(fault: Fault) -> Story {
    story(vec![
        (3, write("a", 1)),
        (5, on(fault.clone())),
        (8, write("a", 2)),
        (200, write("b", 1)),
        (400, off(fault)),
        (460, write("b", 2)),
    ])
}

fn probe(watch_list: bool) -> ProbeConfig {
    ProbeConfig {
        // The timeout is constant, and longer than all stories but the longest.
        watch_timeout_s: 350..=350,
        watch_list,
        ..ProbeConfig::default()
    }
}

/// Returns the lines of a probe in the simulated cluster.
fn in_the_world(tale: &Tale, lasts: Duration) -> Vec<String> {
    let mut run = Run::of_story(tale.story.clone(), SEED);
    run.run_for(BEGINS);
    let resource = tale.story.view.resources[0].as_str();
    let kind = match resource {
        "events" => "Event",
        _ => "ConfigMap",
    };
    let spec = WatchSpec::of("default", resource, kind);
    run.watch(spec, probe(tale.watch_list), SEED);
    run.run_for(lasts - BEGINS);
    lines(run.records())
}

/// Returns the lines of a probe over sockets.
async fn over_sockets(tale: &Tale, lasts: Duration, protocols: Protocols) -> Vec<String> {
    let resources = &tale.story.view.resources;
    let resources: Vec<&str> = resources.iter().map(String::as_str).collect();
    lines(&records_of(&resources, tale, lasts, protocols).await)
}

/// Returns the records of watches of some resources over sockets.
async fn records_of(
    resources: &[&str],
    tale: &Tale,
    lasts: Duration,
    protocols: Protocols,
) -> Vec<Record> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let demo = Demo::start(tale.story.clone(), SEED, listener).unwrap();
    tokio::time::sleep(BEGINS).await;
    let log = crate::log::tests::open(1 << 24, 1 << 20);
    let source = ConfigSource::Url(format!("http://{}", demo.address).parse().unwrap());
    let settings = Settings {
        audit: Level::Off,
        audit_looks: AUDIT_LOOKS,
        wishes: Wishes {
            resources: resources.iter().map(|&name| name.to_owned()).collect(),
            namespace: Some("default".to_owned()),
            ..Wishes::default()
        },
        label_selector: None,
        field_selector: None,
        metadata_only: Vec::new(),
        servers: Servers::Any,
        probe: probe(tale.watch_list),
        protocols,
    };
    let mut reader = log.reader(Since::First);
    let config = source.load().unwrap();
    let watches = Following::start(&source, config, settings, log.clone())
        .await
        .unwrap();
    tokio::time::sleep(lasts - BEGINS).await;
    // Takes the records until now, before those of the end.
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
    connections_are_recorded_completely(&records);
    records
}

/// Checks that requests use open connections, and that streams end before their connection.
fn connections_are_recorded_completely(records: &[Record]) {
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

/// Returns the probe's events as lines, without what depends on chance and the clock: times, delays, ids, bookmarks, and the
/// order of unordered initial events. Repeated rounds of retries become one round, since their number depends on chance too.
fn lines(records: &[Record]) -> Vec<String> {
    let (mut connection, mut ended, mut before) = (None, None, None);
    let all = records.iter().flat_map(|record| {
        // After an orderly end the connection can be used again. After other ends that depends on the protocol.
        let another = match &record.event {
            Event::RequestSent(e) if !e.watch.to_string().contains('#') => {
                let before = connection.replace(e.connection);
                ended == Some(Cause::End) && before.is_some_and(|before| before != e.connection)
            }
            Event::StreamEnded(e) => {
                ended = Some(e.cause);
                false
            }
            _ => false,
        };
        let another = another.then(|| "over another connection".to_owned());
        let line = line(&record.event);
        let silent = line.is_some() && {
            let before = before.replace(record.at);
            before.is_some_and(|before| record.at.millis_since(before) >= LONG_SILENCE_MS)
        };
        let silent = silent.then(|| "after minutes without a word".to_owned());
        silent.into_iter().chain(another).chain(line)
    });
    let mut lines: Vec<String> = Vec::new();
    let mut initial: Vec<String> = Vec::new();
    for line in all {
        if line.ends_with("(initial)") {
            initial.push(line);
            continue;
        }
        if !initial.is_sorted() {
            lines.push("initial events in no order".to_owned());
            initial.sort();
        }
        lines.append(&mut initial);
        lines.push(line);
        for round in 1..=LONGEST_ROUND.min(lines.len() / 2) {
            let second = lines.len() - round;
            let (before, last) = (&lines[second - round..second], &lines[second..]);
            if before == last && last.iter().any(|line| is_of_a_try(line)) {
                lines.truncate(second);
                break;
            }
        }
    }
    lines.append(&mut initial);
    lines
}

/// Whether a line is about a retry and not about received data.
fn is_of_a_try(line: &str) -> bool {
    [" to ", "answered", "watch ", "list limit"]
        .iter()
        .any(|words| line.contains(words))
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
            // The text of a failure is the network's own.
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

/// Plays a story in three ways and compares the lines. Returns them, so that a test can check that the fault had an effect.
async fn same_everywhere(tale: Tale, lasts: u64) -> Vec<String> {
    let lasts = Duration::from_secs(lasts);
    let world = in_the_world(&tale, lasts);
    let begins_anew = |fault: &Fault| matches!(fault, Fault::Reinitialise { .. });
    let compared = match injected(&tale.story).any(begins_anew) {
        true => without_early_tries,
        false => |lines: &[String]| lines.join("\n"),
    };
    for protocols in [Protocols::Http1, Protocols::Http2] {
        let sockets = over_sockets(&tale, lasts, protocols).await;
        assert_eq!(
            compared(&sockets),
            compared(&world),
            "on the left over {protocols:?}, on the right in the world"
        );
    }
    world
}

/// Returns the faults that a story plays.
fn injected(story: &Story) -> impl Iterator<Item = &Fault> {
    let deeds = story.acts.iter().flat_map(|act| &act.deeds);
    deeds.filter_map(|deed| match deed {
        Deed::Inject(fault) => Some(fault),
        _ => None,
    })
}

/// Joins all lines without the retries before a cache was ready again. That takes only milliseconds, and each request before
/// it shifts the times of a watch's retries.
fn without_early_tries(lines: &[String]) -> String {
    let (mut lines, mut rest) = (Vec::new(), lines);
    while let [line, after @ ..] = rest {
        // The lines of a request, its answer, the wait, and the wait's end.
        let is_early = after.len() >= 3
            && after[0].ends_with("storage is (re)initializing")
            && after[2].ends_with(": retry-due");
        rest = if is_early {
            &after[3..]
        } else {
            lines.push(line.as_str());
            after
        };
    }
    lines.join("\n")
}

/// Faults that other faults' stories use as a means. They may show no effect of their own.
const MEANS: &[&str] = &[
    "Cut",
    "CloseStreams",
    "CompactEtcd",
    "Expire",
    "FreezeCaches",
    "OutOfRotation",
    "Reinitialise",
    "RestartEtcd",
    "SlowEtcdStreams",
    "TakeSnapshot",
];

/// Plays a story in the simulated cluster without each of its faults in turn. `shows` must distinguish each such run from
/// the full story. A means is left out only if there is no other fault.
fn shows_nothing_without(tale: &Tale, lasts: u64, shows: fn(&[String]) -> bool) {
    let all: BTreeSet<&str> = injected(&tale.story).map(kind).collect();
    let is_means = |kind: &str| MEANS.contains(&kind);
    let only_means = all.iter().all(|kind| is_means(kind));
    for left_out in all.into_iter().filter(|kind| only_means || !is_means(kind)) {
        let mut without = tale.clone();
        for act in &mut without.story.acts {
            act.deeds.retain(|deed| match deed {
                Deed::Inject(fault) | Deed::Lift(fault) => kind(fault) != left_out,
                _ => true,
            });
        }
        let lines = in_the_world(&without, Duration::from_secs(lasts));
        assert!(
            !shows(&lines),
            "the story shows the same without {left_out}: {lines:#?}"
        );
    }
}

fn ended(lines: &[String], cause: Cause) -> bool {
    lines.contains(&format!("stream ended: {cause}"))
}

macro_rules! faults {
    ($($name:ident: $story:expr, $lasts:literal, $shows:expr;)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                let lines = same_everywhere($story.into(), $lasts).await;
                let shows: fn(&[String]) -> bool = $shows;
                assert!(shows(&lines), "the fault has no effect: {lines:#?}");
                shows_nothing_without(&$story.into(), $lasts, shows);
            }
        )*

        /// The stories that are played in the simulated cluster and over sockets.
        fn tales() -> Vec<Tale> {
            vec![$($story.into()),*]
        }
    };
}

fn has(lines: &[String], words: &str) -> bool {
    lines.iter().any(|line| line.contains(words))
}

/// Counts the lines with these words.
fn count(lines: &[String], words: &str) -> usize {
    lines.iter().filter(|line| line.contains(words)).count()
}

/// Whether the first text occurs, and the second one only after it.
fn in_order(lines: &[String], first: &str, then: &str) -> bool {
    let at = |words: &str| lines.iter().position(|line| line.contains(words));
    at(first).is_some_and(|first| at(then).is_some_and(|then| first < then))
}

faults! {
    nothing_wrong: story(vec![(8, write("a", 1)), (12, create("c"))]), 30,
        |lines| has(lines, "ADDED c") && !has(lines, "ended");
    a_reset: moment(Fault::Cut { target: Target::All, cut: Cut::Reset }), 45,
        |lines| ended(lines, Cause::TcpReset);
    an_end_of_file: moment(Fault::Cut { target: ours(), cut: Cut::Eof }), 45,
        |lines| ended(lines, Cause::Eof);
    streams_that_are_closed: moment(Fault::CloseStreams { target: Target::All }), 45,
        |lines| ended(lines, Cause::End);
    refused_connections: state(Fault::Refuse), 140,
        |lines| has(lines, "unreachable");
    // Watches are exempt, so this needs a list.
    too_many_requests_in_flight: states(vec![too_many(Throttle::MaxInFlight), Fault::Expire { resource: None }]), 140,
        |lines| has(lines, "429");
    too_many_requests_by_priority: state(too_many(Throttle::PriorityAndFairness)), 140,
        |lines| has(lines, "429");
    a_cache_that_is_not_ready: state(too_many(Throttle::CacheNotReady)), 140,
        |lines| has(lines, "429");
    a_server_that_shuts_down: state(too_many(Throttle::Shutdown)), 140,
        |lines| has(lines, "429");
    history_that_expires: state(Fault::Expire { resource: None }), 140,
        |lines| has(lines, "expired");
    silence_both_ways: silence(Fault::Stall { target: ours() }), 500,
        |lines| in_order(lines, "minutes without a word", "MODIFIED a at 17");
    silence_of_answers: silence(Fault::LoseAnswers { target: ours() }), 500,
        |lines| in_order(lines, "minutes without a word", "MODIFIED a at 17");
    // Open streams continue. A new watch request is answered late, and is too old by then.
    silence_of_requests: story(vec![
            (5, on(Fault::LoseRequests { target: ours() })),
            (8, write("a", 1)),
            (12, close()),
            (15, write("a", 2)),
            (20, on(Fault::Expire { resource: None })),
            (30, off(Fault::Expire { resource: None })),
            (40, off(Fault::LoseRequests { target: ours() })),
            (80, write("b", 1)),
        ]), 110,
        |lines| in_order(lines, "MODIFIED a at 16", "error 410");
    // Open streams continue. Later requests use another connection.
    going_away: story(vec![
            (5, on(Fault::GoAway { target: Target::All, cut: None })),
            (8, write("a", 1)),
            (20, close()),
            (30, write("b", 1)),
        ]), 45,
        |lines| in_order(lines, "stream ended: end", "over another connection") && has(lines, "MODIFIED a");
    going_away_with_a_reset: moment(Fault::GoAway { target: Target::All, cut: Some(Cut::Reset) }), 45,
        |lines| ended(lines, Cause::TcpReset);
    going_away_with_an_end_of_file: moment(Fault::GoAway { target: Target::All, cut: Some(Cut::Eof) }), 45,
        |lines| ended(lines, Cause::Eof);
    // The proxy delivers the write only when it ends what it holds back.
    a_proxy_that_buffers: state(Fault::Buffer { target: Target::All, bytes: 10_000 }), 140,
        |lines| in_order(lines, "stream ended", "MODIFIED a at 16");
    // The watch that begins anew waits, and is too old once it is answered.
    a_cap_on_streams: story(vec![
            (5, on(Fault::CapStreams { target: Target::All, streams: 0 })),
            (8, write("a", 1)),
            (12, reset()),
            (15, write("a", 2)),
            (20, on(Fault::Expire { resource: None })),
            (30, off(Fault::Expire { resource: None })),
            (40, off(Fault::CapStreams { target: Target::All, streams: 0 })),
            (80, write("b", 1)),
        ]), 110,
        |lines| has(lines, "error 410");
    an_idle_killer_that_says_so: silence(Fault::KillIdle { after: Duration::from_secs(40), says_so: true }), 500,
        |lines| ended(lines, Cause::TcpReset);
    // No data shows it, and the stream has had no bookmark yet, so it is not suspected before ten minutes.
    an_idle_killer_that_does_not: silence(Fault::KillIdle { after: Duration::from_secs(40), says_so: false }), 500,
        |lines| !has(lines, "MODIFIED b");
    tokens_that_expire: state(Fault::ExpireTokens { target: ours() }), 140,
        |lines| has(lines, "401");
    rights_that_are_revoked: state(Fault::RevokeAccess { target: ours(), resource: "configmaps".to_owned(), rights: Rights::Read }), 140,
        |lines| has(lines, "403");
    a_torn_frame_and_a_reset: moment(Fault::TearFrame { target: Target::All, cut: Cut::Reset }), 45,
        |lines| has(lines, "lost 1 of frame");
    a_torn_frame_and_an_end_of_file: moment(Fault::TearFrame { target: Target::All, cut: Cut::Eof }), 45,
        |lines| ended(lines, Cause::EofInFrame);
    a_garbled_frame: moment(Fault::GarbleFrame { target: Target::All }), 45,
        |lines| ended(lines, Cause::Decode);
    a_server_out_of_rotation: state(Fault::OutOfRotation { server: ServerId(0) }), 140,
        |lines| has(lines, "unreachable");
    // The write before the reset was still on its way.
    a_long_way: state(Fault::Delay { by: Duration::from_secs(6) }), 140,
        |lines| in_order(lines, "stream ended: tcp-reset", "MODIFIED a at 16");
    a_cache_that_begins_anew: moment(Fault::Reinitialise { server: None, resource: None }), 45,
        |lines| ended(lines, Cause::End);
    events_told_twice: state(Fault::RepeatEvents { resource: "configmaps".to_owned() }), 140,
        |lines| count(lines, "MODIFIED a at 16") == 2;
    events_of_another_kind: state(Fault::WrongKind { resource: "configmaps".to_owned() }), 140,
        |lines| has(lines, "lost 1 of frame");
    expiry_that_is_not_told: states(vec![Fault::Expire { resource: None }, Fault::SilentExpiry { resource: "configmaps".to_owned() }]), 140,
        |lines| has(lines, "stream ended: end") && !has(lines, "error 410");
    a_consistent_list_whose_cache_stands_still: story(vec![
            (0, on(Fault::FreezeCaches { server: FIRST, resource: None })),
            (0, write_elsewhere()),
            (0, on(too_many(Throttle::StaleCache))),
            (40, off(Fault::FreezeCaches { server: FIRST, resource: None })),
            (40, off(too_many(Throttle::StaleCache))),
            (80, write("b", 1)),
        ]), 110,
        |lines| has(lines, "429");
    // Each server has what the other one misses.
    requests_that_go_to_servers_in_turn: with_servers(&["1.30.0", "1.30.0"], story(vec![
            (0, on(Fault::OutOfRotation { server: SECOND })),
            (5, on(Fault::BalanceRequests)),
            (5, off(Fault::OutOfRotation { server: SECOND })),
            (5, on(Fault::MissWrites { server: SECOND })),
            (6, close()),
            (10, write("a", 1)),
            (12, close()),
            (15, write("a", 2)),
            (20, close()),
            (25, write("a", 3)),
        ])), 45,
        |lines| has(lines, "MODIFIED a at 18") && !has(lines, "resourceVersion=17");
    // Watch caches retry for 30 s.
    etcd_without_a_leader: story(vec![
            (5, on(Fault::NoLeader)),
            (100, off(Fault::NoLeader)),
            (140, write("b", 1)),
        ]), 160,
        |lines| has(lines, "storage is (re)initializing") && has(lines, "MODIFIED b");
    a_member_of_etcd_that_is_cut_off: state(Fault::PartitionMember { server: FIRST }), 140,
        |lines| in_order(lines, "stream ended: tcp-reset", "MODIFIED a at");
    a_member_of_etcd_that_misses_writes: state(Fault::MissWrites { server: FIRST }), 140,
        |lines| has(lines, "MODIFIED b") && !has(lines, "MODIFIED a");
    etcd_that_is_compacted: of_events(story(vec![
            (0, event("one")),
            (5, write("a", 1)),
            (5, write("a", 2)),
            (6, on(Fault::CompactEtcd)),
            (7, reset()),
            (20, event("two")),
        ])), 45,
        |lines| has(lines, "error 410");
    etcd_that_is_restored: with_servers(&["1.30.0"], story(vec![
            (3, on(Fault::TakeSnapshot)),
            (4, delete("a")),
            (4, create("c")),
            (5, on(Fault::RestoreSnapshot { bump: Some(1000) })),
            (30, write("b", 1)),
        ])), 45,
        |lines| has(lines, "list at 10");
    streams_of_etcd_that_are_slow: state(slow(60)), 140,
        |lines| in_order(lines, "stream ended: tcp-reset", "MODIFIED a at");
    a_server_that_lags: state(Fault::Lag { server: FIRST, by: Duration::from_secs(20) }), 140,
        |lines| in_order(lines, "stream ended: tcp-reset", "MODIFIED a at");
    caches_that_stand_still: state(Fault::FreezeCaches { server: FIRST, resource: None }), 140,
        |lines| in_order(lines, "stream ended: tcp-reset", "MODIFIED a at");
    no_bookmarks: bookmarks(Fault::NoBookmarks { resource: MAPS_TYPE.to_owned() }), 110,
        |lines| has(lines, "MODIFIED b") && has(lines, "resourceVersion=16") && !has(lines, "resourceVersion=17");
    bookmarks_that_say_too_much: story(vec![
            (5, on(Fault::BookmarksAhead { resource: MAPS_TYPE.to_owned() })),
            (10, on(Fault::FreezeCaches { server: FIRST, resource: None })),
            (20, write("a", 1)),
            (80, reset()),
            (90, off(Fault::FreezeCaches { server: FIRST, resource: None })),
            (120, write("b", 1)),
        ]), 140,
        |lines| has(lines, "MODIFIED b") && !has(lines, "MODIFIED a");
    initial_events_without_an_end: by_watch_list(story(vec![
            (0, on(Fault::NoEndBookmark { resource: MAPS_TYPE.to_owned() })),
            (50, write("a", 1)),
        ])), 80,
        |lines| has(lines, "watch-list-refused") && has(lines, "list at");
    initial_events_in_no_order: by_watch_list(many(Fault::UnsortedInitial { resource: MAPS_TYPE.to_owned() })), 30,
        |lines| has(lines, "initial events in no order");
    a_first_event_that_is_lost: story(vec![
            (3, on(Fault::StartRace { resource: MAPS_TYPE.to_owned() })),
            (4, write("b", 1)),
            (5, close()),
            (10, write("a", 1)),
            (15, write("b", 2)),
        ]), 30,
        |lines| has(lines, "MODIFIED b at 18") && !has(lines, "MODIFIED a");
    events_in_the_wrong_order: story(vec![
            (5, on(Fault::SwapEvents { resource: MAPS_TYPE.to_owned() })),
            (8, write("a", 1)),
            (8, write("b", 1)),
        ]), 30,
        |lines| in_order(lines, "MODIFIED b", "MODIFIED a");
    an_object_that_cannot_be_read: state(Fault::CorruptObject {
            resource: MAPS_TYPE.to_owned(),
            name: "a".to_owned(),
        }), 140,
        |lines| ended(lines, Cause::End);
    an_object_that_cannot_be_converted: story(vec![
            (5, on(Fault::CannotConvert { resource: MAPS_TYPE.to_owned(), name: "a".to_owned() })),
            (8, write("a", 1)),
            (20, off(Fault::CannotConvert { resource: MAPS_TYPE.to_owned(), name: "a".to_owned() })),
            (110, write("b", 1)),
        ]), 130,
        |lines| has(lines, "error 500") && has(lines, "answered Some(500)");
    // The write comes while the stream is down, so that the watcher which begins anew must catch up.
    etcd_that_tells_young_events_twice: later(Duration::from_millis(50), story(vec![
            (3, defect(Defect::DuplicateEvents)),
            (8, on(Fault::RestartEtcd { during_compaction: false })),
            (8, write("a", 1)),
            (20, write("b", 1)),
        ])), 30,
        |lines| count(lines, "MODIFIED a at 16") == 2;
    etcd_that_starts_over_after_a_partition: story(vec![
            (3, defect(Defect::BackInTimeAfterPartition)),
            (4, write("a", 1)),
            (4, write("b", 1)),
            (5, on(Fault::PartitionMember { server: FIRST })),
            (6, write("a", 2)),
            (7, off(Fault::PartitionMember { server: FIRST })),
            (20, write("b", 1)),
        ]), 30,
        |lines| count(lines, "MODIFIED a at 16") == 2;
    etcd_that_forgets_what_a_starved_watch_missed: row("F25"), 100,
        |lines| has(lines, "MODIFIED b") && !has(lines, "DELETED a");
    etcd_that_loses_a_deletion_by_compacting_at_it: compacted_at_a_deletion(Defect::DeleteLostByCompactionAtIt), 70,
        |lines| has(lines, "MODIFIED b at 18") && !has(lines, "DELETED a");
    etcd_that_loses_a_deletion_by_starting_again:
        compacted_at_a_deletion(Defect::DeleteLostByRestartAfterCompaction), 70,
        |lines| has(lines, "MODIFIED b at 18") && !has(lines, "DELETED a");
    etcd_that_tells_old_events_to_a_watch_on_the_future: story(vec![
            (3, defect(Defect::OldEventsOnFutureWatch)),
            (3, on(Fault::TakeSnapshot)),
            (4, delete("a")),
            (4, create("c")),
            (5, on(Fault::RestoreSnapshot { bump: None })),
            (6, on(Fault::PartitionMember { server: FIRST })),
            (7, off(Fault::PartitionMember { server: FIRST })),
            (8, write("b", 1)),
        ]), 30,
        |lines| has(lines, "MODIFIED b at 16");
    etcd_that_counts_down_after_a_crash: story(vec![
            (3, defect(Defect::RevisionDecreasesAfterCrash)),
            (4, create("c")),
            (5, delete("c")),
            (6, on(Fault::RestartEtcd { during_compaction: true })),
            (8, on(Fault::Reinitialise { server: None, resource: None })),
            (20, write("a", 1)),
        ]), 45,
        |lines| !has(lines, "MODIFIED a");
    expiry_as_a_status: states(vec![Fault::Expire { resource: None }, Fault::GoneAsStatus { resource: "configmaps".to_owned() }]), 140,
        |lines| has(lines, "answered Some(410)");
}

/// Makes enough objects that chance cannot put them in order.
fn many(fault: Fault) -> Story {
    let births = (10..30).map(|n| (0, create(&format!("y{n}"))));
    let rest = [(0, on(fault)), (8, write("a", 1))];
    story(births.chain(rest).collect())
}

/// At the reset only a bookmark shows how far a watch is.
fn bookmarks(fault: Fault) -> Story {
    story(vec![
        (5, on(fault)),
        (8, write("a", 1)),
        (20, write_elsewhere()),
        (80, reset()),
        (90, write("b", 1)),
    ])
}

macro_rules! kinds {
    ($of:ident, $all:ident, $kind:ident: $($variant:ident),*) => {
        const $all: &[&str] = &[$(stringify!($variant)),*];

        /// This function does not compile if a variant is missing.
        fn $kind(of: &$of) -> &'static str {
            match of {
                $($of::$variant { .. } => stringify!($variant)),*
            }
        }
    };
}

kinds! {
    Fault, KINDS, kind:
    Cut, CloseStreams, ResetStreams, Shutdown, Refuse, TooManyRequests, Expire, Stall, LoseRequests, LoseAnswers, GoAway, Buffer,
    CapStreams, KillIdle, ExpireTokens, RevokeAccess, TearFrame, GarbleFrame, OutOfRotation, BalanceRequests, Delay, EtcdDefect,
    NoLeader, PartitionMember, MissWrites, RestartEtcd, CompactEtcd, TakeSnapshot, RestoreSnapshot, SlowEtcdStreams, Lag,
    FreezeCaches, Reinitialise, SilentExpiry, GoneAsStatus, NoBookmarks, BookmarksAhead, NoEndBookmark, UnsortedInitial,
    StartRace, RepeatEvents, SwapEvents, CorruptObject, CannotConvert, WrongKind
}

kinds! {
    Throttle, THROTTLES, throttle_kind:
    MaxInFlight, PriorityAndFairness, CacheNotReady, Shutdown, StaleCache
}

kinds! {
    Defect, DEFECTS, defect_kind:
    ProgressAheadOfEvents, BackInTimeAfterPartition, DuplicateEvents, GapUnderStarvation, NoProgressForIdleWatch,
    DeleteLostByCompactionAtIt, DeleteLostByRestartAfterCompaction, OldEventsOnFutureWatch, RevisionDecreasesAfterCrash
}

/// The faults that no client can see, with the reason.
const UNSEEN: &[(&str, &str)] = &[
    (
        "ProgressAheadOfEvents",
        "no apiserver asks an etcd that has it for progress",
    ),
    (
        "NoProgressForIdleWatch",
        "no apiserver asks an etcd that has it for progress",
    ),
];

#[test]
fn every_fault_that_a_client_can_see_is_played_in_the_world_and_over_sockets() {
    let mut played: BTreeSet<&str> = BTreeSet::new();
    let others = [
        Tale::from(moment(reset_of_streams())),
        Tale::from(stopping(true)),
    ];
    for tale in tales().iter().chain(&others) {
        for fault in injected(&tale.story) {
            played.insert(kind(fault));
            match fault {
                Fault::EtcdDefect(defect) => played.insert(defect_kind(defect)),
                Fault::TooManyRequests { throttle, .. } => played.insert(throttle_kind(throttle)),
                _ => false,
            };
        }
    }
    let unseen = UNSEEN.iter().map(|(kind, _)| *kind);
    let known: BTreeSet<&str> = played.iter().copied().chain(unseen.clone()).collect();
    let all = [KINDS, THROTTLES, DEFECTS].concat();
    assert_eq!(known, all.into_iter().collect());
    for kind in unseen {
        assert!(!played.contains(kind), "{kind} is played after all");
    }
}

fn too_many(throttle: Throttle) -> Fault {
    Fault::TooManyRequests {
        resource: None,
        throttle,
        retry_after_secs: 2,
    }
}

fn reset_of_streams() -> Fault {
    Fault::ResetStreams {
        target: Target::All,
        code: 2,
    }
}

/// HTTP/1.1 cannot end one stream out of order; the connection closes instead.
#[tokio::test(start_paused = true)]
async fn streams_that_are_reset() {
    let lasts = Duration::from_secs(45);
    let fault = reset_of_streams();
    let tale = Tale::from(moment(fault));
    let world = in_the_world(&tale, lasts);
    assert!(ended(&world, Cause::RstStream), "{world:#?}");
    let http2 = over_sockets(&tale, lasts, Protocols::Http2).await;
    assert_eq!(http2.join("\n"), world.join("\n"));
    let http1 = over_sockets(&tale, lasts, Protocols::Http1).await;
    let closed: Vec<String> = world
        .iter()
        .map(|line| {
            line.replace("rst-stream", "eof")
                .replace("RstStream", "Eof")
        })
        .collect();
    assert_eq!(http1.join("\n"), closed.join("\n"));
}

/// A server stops, and another one starts in its place.
fn stopping(sends_retry_after: bool) -> Story {
    let stop = Fault::Shutdown {
        server: FIRST,
        delay: Duration::from_secs(3),
        grace: Duration::from_secs(2),
        sends_retry_after,
    };
    story(vec![
        (5, on(stop.clone())),
        (6, write("a", 1)),
        (10, write("a", 2)),
        (20, off(stop)),
        (80, write("b", 1)),
    ])
}

/// Returns the lines about streams and their events, without the retries between.
fn of_streams(lines: &[String]) -> Vec<&str> {
    let ways = ["stream ended", "ADDED", "MODIFIED", "DELETED", "list at"];
    let lines = lines.iter().map(String::as_str);
    lines
        .filter(|line| ways.iter().any(|way| line.starts_with(way)))
        .collect()
}

/// HTTP/1.1 does not announce that a connection takes no further request, so one may be lost with it.
#[tokio::test(start_paused = true)]
async fn a_server_that_stops_in_order() {
    let lasts = Duration::from_secs(110);
    for sends_retry_after in [false, true] {
        let tale = Tale::from(stopping(sends_retry_after));
        let world = in_the_world(&tale, lasts);
        assert!(ended(&world, Cause::End), "{world:#?}");
        assert!(has(&world, "unreachable"), "{world:#?}");
        assert!(
            in_order(&world, "stream ended: end", "MODIFIED a at 17"),
            "{world:#?}"
        );
        let http2 = over_sockets(&tale, lasts, Protocols::Http2).await;
        assert_eq!(http2.join("\n"), world.join("\n"));
        let http1 = over_sockets(&tale, lasts, Protocols::Http1).await;
        assert_eq!(of_streams(&http1), of_streams(&world));
    }
}

const THREE: [&str; 3] = ["configmaps", "secrets", "services"];

/// Returns the number of requests on each connection that was opened.
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
    let tale = Tale::from(story);
    let records = records_of(&THREE, &tale, lasts, Protocols::Http2).await;
    // Each watch needs a list and a stream, and later another stream.
    assert_eq!(connections(&records), [6, 3]);
    assert_eq!(ends(&records), [Cause::TcpReset; 3]);
    let closed = records.iter().filter_map(|record| match &record.event {
        Event::ConnectionClosed(event) => Some(event.cause),
        _ => None,
    });
    assert_eq!(closed.collect::<Vec<_>>(), [Cause::TcpReset]);

    let apart = records_of(&THREE, &tale, lasts, Protocols::Http1).await;
    assert_eq!(connections(&apart), [2, 2, 2, 1]);
    assert_eq!(ends(&apart), [Cause::TcpReset]);
}

#[tokio::test(start_paused = true)]
async fn watches_that_share_a_connection_open_side_watches_one_after_another() {
    // Only after the first bookmarks; without one a stream may be silent for long.
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
    let records = records_of(&THREE, &story.into(), lasts, Protocols::Http2).await;
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
            "two side watches are less than a minute apart: {looks:#?}"
        );
    }
    let who: BTreeSet<&String> = looks.iter().map(|(_, watch)| watch).collect();
    assert_eq!(who.len(), THREE.len(), "each watch opens one: {looks:#?}");
}

#[tokio::test(start_paused = true)]
async fn after_a_goaway_streams_continue_and_new_requests_use_another_connection() {
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
    let records = records_of(&THREE, &story.into(), lasts, Protocols::Http2).await;
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
    let changes = lines(&records);
    assert!(has(&changes, "MODIFIED a at 17"), "{changes:#?}");
}

/// F50: requests above the cap wait without an answer while the others are served.
#[tokio::test(start_paused = true)]
async fn above_a_cap_on_streams_requests_hang_while_others_are_served() {
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
    let tale = Tale::from(story);
    let lasts = Duration::from_secs(50);
    let before = records_of(&THREE, &tale, lasts, Protocols::Http2).await;
    assert_eq!((connections(&before).len(), served(&before)), (1, 2));
    let lasts = Duration::from_secs(90);
    let after = records_of(&THREE, &tale, lasts, Protocols::Http2).await;
    assert_eq!(served(&after), 3);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_a_minute_behind_takes_messages_before_it_has_caught_up() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let demo = Demo::start(watchscope_scenarios::demo::story(), SEED, listener).unwrap();
    let before = demo.act(|world| world.now()).await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    let now = demo.act(|world| world.now()).await.unwrap();
    let lived = now.since(before);
    assert!(lived < Duration::from_secs(1), "{lived:?}");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let now = demo.act(|world| world.now()).await.unwrap();
    let lived = now.since(before);
    // Between two of its moments the cluster is up to one slice behind.
    assert!(lived + SLICE >= Duration::from_secs(70), "{lived:?}");
}
