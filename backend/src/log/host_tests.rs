//! One script runs through both hosts of the journal: the log's writer and the recorder of stories. Their records are equal.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance, sleep_until};
use watchscope_diagnosis::audit::{Auditor, Level, Read as AuditRead, Reply};
use watchscope_model::event::{
    Change, Clock as ClockEvent, ClusterConnected, ConnectionOpened, ListComplete, RequestAnswered,
    RequestSent, StreamEnded, StreamOpened, WatchPhase, WatchStarted,
};
use watchscope_model::field::Headers;
use watchscope_model::inside::InsideEtcd;
use watchscope_model::read::{Page, Seen};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin, Phase, PhaseReason, Verb};
use watchscope_model::{
    ConnectionId, Entry, Event, Inside, Object, RequestId, StreamId, Uid, WatchName,
};
use watchscope_scenarios::run::Recorder;

use super::tests::{START, open};
use super::{BODY_BYTES, CompareRequest, RING_BYTES, Read, Since};

const WATCH: &str = "shop/pods";
/// Time from a read to its answer.
const ANSWER_MS: u64 = 40;
/// How long watchscope is paused.
const PAUSE_MS: u64 = 20_000;
/// The end of the script.
const END_MS: u64 = 180_000;

/// One step of the script.
enum Step {
    Events(Vec<Event>),
    Inside(Inside),
    Compare,
    Pause,
}

fn script() -> VecDeque<(u64, Step)> {
    let head = InsideEtcd {
        revision: 20,
        compacted: 1,
        has_leader: true,
    };
    let lost = |stream, cause| vec![ended(stream, cause), phase(Phase::Connecting)];
    VecDeque::from([
        (0, Step::Events(begun())),
        (1_003, Step::Inside(head.into())),
        (1_503, Step::Events(vec![change("a", 21, Origin::Live)])),
        // One end that is judged at once, and one that needs a second look.
        (5_003, Step::Events(lost(1, Cause::TcpReset))),
        (5_903, Step::Events(streaming(2))),
        (9_003, Step::Events(lost(2, Cause::Eof))),
        (9_903, Step::Events(streaming(3))),
        (60_003, Step::Compare),
        // The second look at this end is due in the pause.
        (90_003, Step::Events(lost(3, Cause::Eof))),
        (90_103, Step::Pause),
        (111_003, Step::Events(streaming(4))),
    ])
}

fn begun() -> Vec<Event> {
    let mut events = vec![
        ClusterConnected {
            cluster: "test".into(),
            server: "https://test".into(),
            version: "v1.30.3".into(),
            uid: None,
        }
        .into(),
        opened(ConnectionId(1)),
        WatchStarted {
            watch: WATCH.into(),
            group: "".into(),
            version: "v1".into(),
            resource: "pods".into(),
            namespace: Some("shop".into()),
            label_selector: None,
            field_selector: None,
            server: None,
            aggregated: None,
        }
        .into(),
        phase(Phase::Listing),
        sent(RequestId(100), "list"),
        change("a", 15, Origin::List),
        change("ghost", 12, Origin::List),
        ListComplete {
            watch: WATCH.into(),
            resource_version: 20.into(),
            items: 2,
            added: 2,
            changed: 0,
            removed: 0,
        }
        .into(),
    ];
    events.extend(streaming(1));
    events
}

fn opened(connection: ConnectionId) -> Event {
    ConnectionOpened {
        connection,
        server: "any".into(),
        remote: "10.0.0.1:6443".into(),
        alpn: None,
        tls: None,
        version: Some("v1.30.3".into()),
    }
    .into()
}

fn phase(to: Phase) -> Event {
    WatchPhase {
        watch: WATCH.into(),
        from: None,
        to,
        reason: PhaseReason::Started,
        delay_ms: None,
        error: None,
    }
    .into()
}

fn sent(request: RequestId, verb: &str) -> Event {
    RequestSent {
        watch: WATCH.into(),
        request,
        connection: ConnectionId(1),
        verb: verb.into(),
        path: "/api/v1/namespaces/shop/pods".into(),
        query: Some("timeoutSeconds=300".into()),
    }
    .into()
}

fn streaming(stream: u64) -> Vec<Event> {
    let request = RequestId(100 + stream);
    let opened = StreamOpened {
        watch: WATCH.into(),
        stream: StreamId(stream),
        request,
        resource_version: Some(20.into()),
        http2_stream: None,
    };
    vec![
        sent(request, "watch"),
        opened.into(),
        phase(Phase::Streaming),
    ]
}

fn ended(stream: u64, cause: Cause) -> Event {
    StreamEnded {
        watch: WATCH.into(),
        stream: StreamId(stream),
        cause,
        age_ms: 3_000,
        events: 1,
        bytes: 300,
        reset_code: None,
        unread_ms: None,
    }
    .into()
}

fn object(name: &str) -> Arc<Object> {
    Arc::new(Object {
        namespace: Some("shop".into()),
        name: name.into(),
        uid: Uid::parse(name),
    })
}

fn change(name: &str, version: u64, origin: Origin) -> Event {
    Change {
        watch: WATCH.into(),
        stream: (origin == Origin::Live).then_some(StreamId(1)),
        change: match origin {
            Origin::Live => ChangeType::Modified,
            _ => ChangeType::Added,
        },
        origin,
        object: object(name),
        resource_version: version.into(),
        generation: None,
        manager: None,
        subresource: None,
        bytes: None,
        stray: None,
        owner: None,
    }
    .into()
}

/// Answers a read as a server on which no held object is a ghost.
fn answer(read: &AuditRead) -> (Event, Reply) {
    let a = Seen {
        object: object("a"),
        version: 21.into(),
        deleted_at: None,
        owners: Vec::new(),
    };
    let (status, reply) = match read.verb {
        Verb::Get if read.path.ends_with("/ghost") => {
            let refused = Reply::Refused {
                status: 404,
                retry_after_ms: None,
                current: None,
            };
            (404, refused)
        }
        Verb::Get => (200, Reply::One(a)),
        Verb::List => {
            let page = Page {
                version: 21.into(),
                token: None,
                items: vec![a],
                unreadable: 0,
                is_whole: false,
            };
            (200, Reply::Page(page))
        }
        _ => (500, Reply::Failed),
    };
    let event = RequestAnswered {
        watch: read.lane.clone(),
        request: RequestId(0),
        status: Some(status),
        headers: Headers::default(),
        retry_after_ms: None,
        error: None,
        error_text: None,
    };
    (event.into(), reply)
}

fn comparison() -> CompareRequest {
    CompareRequest {
        watch: Some(WatchName::from(WATCH)),
        object: None,
    }
}

/// Runs the script through the log's writer, in Tokio's paused time.
async fn written() -> Vec<Entry> {
    let log = open(RING_BYTES, BODY_BYTES);
    let mut reader = log.reader(Since::First);
    let begun = Instant::now();
    let moment = |at_ms| begun + Duration::from_millis(at_ms);
    let mut reads = log.audit(Auditor::new(Level::Light), 8).await.unwrap();
    let (mut steps, mut answers) = (script(), VecDeque::new());
    loop {
        let step_at = steps.front().map_or(END_MS, |(at, _)| *at);
        let answer_at = answers.front().map_or(END_MS, |(at, _)| *at);
        tokio::select! {
            biased;
            Some(read) = reads.recv() => {
                log.append(Event::from(read.sent(RequestId(0), ConnectionId(1)))).await.unwrap();
                let now_ms = begun.elapsed().as_millis() as u64;
                answers.push_back((now_ms + ANSWER_MS, read));
                continue;
            }
            () = sleep_until(moment(step_at.min(answer_at))) => {}
        }
        if answer_at < step_at {
            let (_, read) = answers.pop_front().unwrap();
            let (event, reply) = answer(&read);
            log.append(event).await.unwrap();
            log.answer_audit(read, reply).await.unwrap();
            continue;
        }
        match steps.pop_front() {
            Some((_, Step::Events(events))) => log.append(events).await.unwrap(),
            Some((_, Step::Inside(inside))) => log.append_inside(vec![inside]).await.unwrap(),
            Some((_, Step::Compare)) => assert!(log.ask_audit(comparison()).await.unwrap()),
            Some((_, Step::Pause)) => {
                // The writer runs until the pause begins.
                log.measure().await.unwrap();
                advance(Duration::from_millis(PAUSE_MS)).await;
            }
            None => break,
        }
    }
    log.close().await;
    let mut all = Vec::new();
    while let Some(Read::Entries(entries)) = reader.next().await {
        all.extend(entries);
    }
    all
}

/// Runs the script through the recorder of stories, in the script's own time.
fn recorded() -> Vec<Entry> {
    let time = |at_ms: u64| START.plus_millis(at_ms);
    let mut recorder = Recorder::default();
    recorder.keep_one_log();
    recorder.audit(Auditor::new(Level::Light));
    let (mut steps, mut answers) = (script(), VecDeque::new());
    let mut now_ms = 0;
    while now_ms < END_MS {
        let step_at = steps.front().map_or(END_MS, |(at, _)| *at);
        let answer_at = answers.front().map_or(END_MS, |(at, _)| *at);
        // Rounds up to the next whole millisecond, as Tokio's timers do.
        let due_ms = recorder.due().map_or(END_MS, |due| {
            let since_us = u64::try_from(due.micros_since(START)).unwrap_or(0);
            since_us.div_ceil(1_000).max(now_ms)
        });
        now_ms = step_at.min(answer_at).min(due_ms);
        recorder.settle_before(time(now_ms));
        if answer_at <= now_ms && answer_at < step_at {
            let (_, read) = answers.pop_front().unwrap();
            let (event, reply) = answer(&read);
            recorder.record(event, time(now_ms));
            recorder.settle(time(now_ms));
            recorder.answer(&read, reply, time(now_ms));
        } else if step_at <= now_ms {
            match steps.pop_front() {
                Some((_, Step::Events(events))) => {
                    for event in events {
                        recorder.record(event, time(now_ms));
                    }
                }
                Some((_, Step::Inside(inside))) => recorder.record_inside(inside, time(now_ms)),
                Some((_, Step::Compare)) => {
                    assert!(recorder.compare(&comparison(), time(now_ms)));
                }
                Some((_, Step::Pause)) => {
                    now_ms += PAUSE_MS;
                    let pause = ClockEvent {
                        off_ms: 0,
                        paused_ms: Some(PAUSE_MS),
                    };
                    recorder.record(pause.into(), time(now_ms));
                }
                None => {}
            }
        }
        recorder.settle(time(now_ms));
        while let Some(read) = recorder.ask(time(now_ms)) {
            let sent = read.sent(RequestId(0), ConnectionId(1));
            recorder.record(sent.into(), time(now_ms));
            recorder.settle(time(now_ms));
            answers.push_back((now_ms + ANSWER_MS, read));
        }
    }
    recorder.take_log()
}

#[tokio::test(start_paused = true)]
async fn one_script_gives_the_same_records_in_the_writer_and_in_the_recorder() {
    let (written, recorded) = (written().await, recorded());
    let count = |is: fn(&Event) -> bool| {
        let records = recorded.iter().filter_map(Entry::record);
        records.filter(|record| is(&record.event)).count()
    };
    // The records contain everything that the script was written for.
    assert_eq!(count(|event| matches!(event, Event::Clock(_))), 1);
    assert!(count(|event| matches!(event, Event::Attribution(_))) >= 3);
    assert!(count(|event| matches!(event, Event::Audit(_))) >= 3);
    assert!(count(|event| matches!(event, Event::Verdict(_))) >= 2);
    assert!(count(|event| matches!(event, Event::Finding(_))) >= 1);
    assert!(count(|event| matches!(event, Event::RequestSent(_))) >= 10);
    for (written, recorded) in written.iter().zip(&recorded) {
        assert_eq!(written, recorded);
    }
    assert_eq!(written.len(), recorded.len());
}
