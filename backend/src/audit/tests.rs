//! The audit over sockets, against a simulated apiserver with a defect that can be switched on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use watchscope_diagnosis::audit::{Level, Read as AuditRead};
use watchscope_model::vocabulary::{AuditMethod, ChangeType, Divergence, Standing, Verb};
use watchscope_model::{Aside, Entry, Event, Record, WatchName};
use watchscope_probe::ProbeConfig;
use watchscope_scenarios::{Act, Deed, Story, View};
use watchscope_simulator::{Config, Fault, Request, Target};

use super::Readers;
use crate::cluster::{Cluster, ConfigSource};
use crate::demo::Demo;
use crate::follow::Following;
use crate::log::{CompareRequest, LogConfig, LogHandle, LogReader, Read, Since};
use crate::probes::{AUDIT_LOOKS, Settings, Wishes};
use crate::transport::{DialLimits, Protocols};
use crate::upstream::Servers;
use crate::upstream::connections::Connections;
use crate::upstream::servers::Pools;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn write(name: &str, n: u64) -> Deed {
    let path = format!("{MAPS}/{name}");
    let mut request =
        Request::new("PATCH", &path).header("content-type", "application/merge-patch+json");
    request.body = json!({"data": {"n": n.to_string()}}).to_string().into();
    Deed::Call(request)
}

/// `a` is deleted just after all watches resumed. With the defect they miss that delete. Then `b` is written.
fn story(has_defect: bool) -> Story {
    let create = |name: &str| {
        let body = json!({"metadata": {"name": name}});
        Deed::Call(Request::new("POST", MAPS).json(&body))
    };
    let race = Deed::Inject(Fault::StartRace {
        resource: "configmaps".to_owned(),
    });
    let defect = if has_defect { race } else { write("b", 0) };
    let acts = [
        (0, vec![create("a"), create("b")]),
        (2_000, vec![defect]),
        (2_100, vec![write("b", 1)]),
        (
            2_500,
            vec![Deed::Inject(Fault::CloseStreams {
                target: Target::All,
            })],
        ),
        (
            4_000,
            vec![Deed::Call(Request::new("DELETE", &format!("{MAPS}/a")))],
        ),
        (4_500, vec![write("b", 2)]),
    ];
    Story {
        name: "a race",
        title: "a race",
        config: Config::empty(),
        view: View::of("default", &["configmaps"]),
        acts: acts
            .into_iter()
            .map(|(ms, deeds)| Act {
                at: Duration::from_millis(ms),
                deeds,
                says: None,
            })
            .collect(),
        period: None,
    }
}

async fn next(reader: &mut LogReader, records: &mut Vec<Record>) {
    let limit = Duration::from_secs(120);
    let read = tokio::time::timeout(limit, reader.next()).await;
    if let Some(Read::Entries(entries)) = read.expect("a record arrives in time") {
        records.extend(entries.iter().filter_map(Entry::record).cloned());
    }
}

/// Watches a story until the last write of `b`, then requests an audit. Returns all records.
async fn audited(has_defect: bool, protocols: Protocols) -> Vec<Record> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let demo = Demo::start(story(has_defect), 1, listener).unwrap();
    let source = ConfigSource::Url(format!("http://{}", demo.address).parse().unwrap());
    let config = source.load().unwrap();
    let log = LogHandle::open(LogConfig::new("test".into())).unwrap();
    let settings = Settings {
        wishes: Wishes {
            resources: vec!["configmaps".to_owned()],
            namespace: Some("default".to_owned()),
            ..Wishes::default()
        },
        label_selector: None,
        field_selector: None,
        metadata_only: Vec::new(),
        servers: Servers::Any,
        probe: ProbeConfig::default(),
        protocols,
        audit: Level::Off,
        audit_looks: AUDIT_LOOKS,
    };
    let watches = Following::start(&source, config, settings, log.clone())
        .await
        .unwrap();
    let (mut reader, mut records) = (log.reader(Since::First), Vec::new());
    let is_last = |record: &Record| {
        let Event::Change(change) = &record.event else {
            return false;
        };
        &*change.object.name == "b" && change.change == ChangeType::Modified
    };
    // With the defect the audit starts from the first write of `b`, which lies behind the missed delete.
    let writes = if has_defect { 2 } else { 3 };
    while records.iter().filter(|record| is_last(record)).count() < writes {
        next(&mut reader, &mut records).await;
    }
    log.ask_audit(CompareRequest::default()).await.unwrap();
    let is_over = |record: &Record| match &record.event {
        Event::Audit(audit) => audit.method() == AuditMethod::GetEach,
        _ => false,
    };
    while !records.iter().any(is_over) {
        next(&mut reader, &mut records).await;
    }
    watches.stop().await;
    log.close().await;
    records
}

fn verdicts(records: &[Record]) -> Vec<(String, Divergence, Standing)> {
    let verdict = |record: &Record| match &record.event {
        Event::Verdict(verdict) => {
            Some((verdict.object.name.to_string(), verdict.kind, verdict.state))
        }
        _ => None,
    };
    records.iter().filter_map(verdict).collect()
}

#[tokio::test]
async fn a_ghost_left_by_a_race_is_confirmed_over_sockets() {
    let records = audited(true, Protocols::Http1).await;
    let ghost = |state| ("a".to_owned(), Divergence::Ghost, state);
    assert_eq!(
        verdicts(&records),
        [ghost(Standing::Raised), ghost(Standing::Confirmed)]
    );
    let found = records.iter().any(|record| {
        matches!(&record.event, Event::Finding(finding) if &*finding.code == "F24" && finding.candidates.iter().any(|code| &**code == "F45"))
    });
    assert!(found);
}

#[tokio::test]
async fn without_the_defect_there_is_no_verdict_and_the_reads_are_in_the_log() {
    for protocols in [Protocols::Http1, Protocols::Http2] {
        let records = audited(false, protocols).await;
        assert_eq!(verdicts(&records), []);
        let sent = records.iter().filter(|record| {
            matches!(&record.event, Event::RequestSent(sent) if sent.watch.as_str() == "default/configmaps#a")
        });
        let answered = records.iter().filter(|record| {
            matches!(&record.event, Event::RequestAnswered(answer) if answer.watch.as_str() == "default/configmaps#a" && answer.status == Some(200))
        });
        let connections: Vec<_> = records
            .iter()
            .filter_map(|record| match &record.event {
                Event::ConnectionOpened(opened) => {
                    Some((opened.connection, opened.version.clone()))
                }
                _ => None,
            })
            .collect();
        for record in &records {
            if let Event::RequestSent(sent) = &record.event {
                let of = |(id, _): &&(_, _)| *id == sent.connection;
                let (_, version) = connections
                    .iter()
                    .find(of)
                    .expect("the connection was opened");
                // Only the audit asks for the version: no watch waits for that.
                let is_its = sent.watch.as_str().ends_with("#a");
                assert_eq!(version.as_deref(), is_its.then_some("v1.36.3"), "{sent:?}");
            }
        }
        let (sent, answered) = (sent.count(), answered.count());
        assert!(
            sent >= 2 && sent == answered,
            "{sent} sent, {answered} answered"
        );
    }
}

#[tokio::test]
async fn a_server_that_hangs_delays_no_reads_of_others() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let demo = Demo::start(story(false), 1, listener).unwrap();
    // The kernel accepts connections to it, and no program answers on them.
    let hangs = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let source = ConfigSource::Url(format!("http://{}", demo.address).parse().unwrap());
    let config = source.load().unwrap();
    let limits = DialLimits::default();
    let cluster = Arc::new(Cluster::new(&source, config, Protocols::Http1, limits));
    let log = LogHandle::open(LogConfig::new("test".into())).unwrap();
    let servers = [hangs.local_addr().unwrap(), demo.address];
    let pools = Pools::default();
    for server in servers {
        let connections = Connections::new(Arc::clone(&cluster), Some(server), log.clone());
        pools.push(connections);
    }
    let (asks, reads) = mpsc::channel(2);
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(Readers::new(reads, pools, log.clone()).run(stopped));
    for (watch, server) in ["default/configmaps", "default/configmaps#2"]
        .into_iter()
        .zip(servers)
    {
        let watch = WatchName::from(watch);
        let lane = watch.aside(Aside::Audit);
        let read = AuditRead {
            watch,
            lane,
            server: Some(server.to_string().as_str().into()),
            verb: Verb::List,
            path: MAPS.to_owned(),
            query: None,
        };
        asks.send(read).await.unwrap();
    }
    let (mut reader, mut records) = (log.reader(Since::First), Vec::new());
    let answered = |record: &Record| match &record.event {
        Event::RequestAnswered(answer) => Some((answer.watch.to_string(), answer.status)),
        _ => None,
    };
    while !records.iter().any(|record| answered(record).is_some()) {
        next(&mut reader, &mut records).await;
    }
    let answers: Vec<_> = records.iter().filter_map(answered).collect();
    assert_eq!(answers, [("default/configmaps#2#a".to_owned(), Some(200))]);
    stop.send_replace(true);
    running.await.unwrap();
    log.close().await;
}
