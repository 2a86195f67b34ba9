//! The hub as `web` sees it, in paused time.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use watchscope_model::event::Note;
use watchscope_model::notes::{MAX_NOTE_BYTES, MAX_NOTES, decode_notes};
use watchscope_model::vocabulary::{Author, NoteRefusal};
use watchscope_model::wire::{
    ClientMessage, Command, Contexts, Hello, PROTOCOL_VERSION, RawText, ServerMessage, WriteNote,
    decode_server, encode_client, encode_note,
};
use watchscope_model::{KeptNote, NoteKey, Seq, Time};

use super::api::{Hub as _, NotesForm, ObjectError, Outgoing, SessionId, Viewer as _};
use super::ending::RETRY_MS;
use super::{CommandRequest, HubViewer, LogHub};
use crate::log::tests::{note, open};
use crate::log::{BODY_BYTES, Batch, LogHandle, RING_BYTES};

fn hub() -> (LogHandle, LogHub, mpsc::Receiver<CommandRequest>) {
    let log = open(RING_BYTES, BODY_BYTES);
    let (hub, commands) = LogHub::new(log.clone(), "0.1.0");
    (log, hub, commands)
}

fn say(viewer: &mut HubViewer, message: impl Into<ClientMessage>) {
    viewer
        .receive(encode_client(&message.into()).into())
        .unwrap();
}

fn hello(viewer: &mut HubViewer) {
    say(
        viewer,
        Hello {
            protocol: PROTOCOL_VERSION,
            log: None,
            epoch: None,
            last: None,
        },
    );
}

async fn next_message(viewer: &mut HubViewer) -> ServerMessage {
    match timeout(Duration::from_secs(60), viewer.next()).await {
        Ok(Outgoing::Message(bytes)) => decode_server(&bytes).unwrap().unwrap().0,
        other => panic!("no message but {other:?}"),
    }
}

async fn closed(viewer: &mut HubViewer) -> u16 {
    match timeout(Duration::from_secs(60), viewer.next()).await {
        Ok(Outgoing::Close(close)) => close.code,
        other => panic!("no close but {other:?}"),
    }
}

async fn joined(hub: &LogHub) -> HubViewer {
    let mut viewer = hub.viewer(SessionId(1));
    hello(&mut viewer);
    assert!(matches!(
        next_message(&mut viewer).await,
        ServerMessage::Welcome(_)
    ));
    assert!(matches!(
        next_message(&mut viewer).await,
        ServerMessage::Heartbeat(_)
    ));
    assert!(matches!(
        next_message(&mut viewer).await,
        ServerMessage::Snapshot(_)
    ));
    if let Some(Outgoing::Message(catalogue)) = viewer.next().now_or_never() {
        let message = decode_server(&catalogue).unwrap();
        assert!(matches!(message, Some((ServerMessage::Catalogue(_), _))));
    }
    viewer
}

fn lines(bytes: &[u8]) -> Vec<serde_json::Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_viewer_joins_and_each_record_wakes_it() {
    let (log, hub, _commands) = hub();
    log.append(note("before")).await.unwrap();
    let mut viewer = joined(&hub).await;
    assert!(viewer.next().now_or_never().is_none());
    log.append(note("after")).await.unwrap();
    assert!(matches!(
        next_message(&mut viewer).await,
        ServerMessage::Segment(_)
    ));
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_command_follows_the_records_that_it_made() {
    let (log, hub, mut commands) = hub();
    log.append(note("before")).await.unwrap();
    let mut viewer = joined(&hub).await;
    say(
        &mut viewer,
        Command {
            command: 7,
            verb: "audit".into(),
            argument: "shop/pods".to_owned(),
        },
    );
    let request = commands.recv().await.unwrap();
    // The answer belongs to the second record, which is not written yet.
    request.reply.send(Ok(Some(Seq(2)))).unwrap();
    assert!(viewer.next().now_or_never().is_none());
    log.append(note("made")).await.unwrap();
    assert!(matches!(
        next_message(&mut viewer).await,
        ServerMessage::Segment(_)
    ));
    let ServerMessage::CommandDone(done) = next_message(&mut viewer).await else {
        panic!("the answer follows")
    };
    assert_eq!((done.command, done.error), (7, None));
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_the_next_message_can_be_cancelled_at_any_time() {
    let (log, hub, _commands) = hub();
    let mut viewer = hub.viewer(SessionId(1));
    hello(&mut viewer);
    let mut messages = Vec::new();
    for _ in 0..50 {
        log.append(note("x")).await.unwrap();
        for _ in 0..3 {
            if let Ok(Outgoing::Message(bytes)) =
                timeout(Duration::from_millis(7), viewer.next()).await
            {
                messages.push(decode_server(&bytes).unwrap().unwrap().0);
            }
        }
    }
    assert!(matches!(messages[0], ServerMessage::Welcome(_)));
    assert!(matches!(messages[1], ServerMessage::Heartbeat(_)));
    assert!(matches!(messages[2], ServerMessage::Snapshot(_)));
    assert!(messages.len() > 20);
    assert!(matches!(messages[3], ServerMessage::Catalogue(_)));
    assert!(
        messages[4..]
            .iter()
            .all(|message| matches!(message, ServerMessage::Segment(_)))
    );
}

#[tokio::test(start_paused = true)]
async fn a_hundred_viewers_that_connect_at_once_share_one_snapshot() {
    let (log, hub, _commands) = hub();
    log.append(note("x")).await.unwrap();
    let mut snapshots = Vec::new();
    for _ in 0..100 {
        let mut viewer = hub.viewer(SessionId(1));
        hello(&mut viewer);
        // The first two messages are the welcome and a heartbeat.
        next_message(&mut viewer).await;
        next_message(&mut viewer).await;
        let Outgoing::Message(snapshot) = viewer.next().await else {
            panic!("a snapshot comes")
        };
        snapshots.push(snapshot.as_ptr());
    }
    snapshots.dedup();
    assert_eq!(snapshots.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_comes_while_nothing_happens() {
    let (_log, hub, _commands) = hub();
    let mut viewer = joined(&hub).await;
    let begun = tokio::time::Instant::now();
    assert!(matches!(
        next_message(&mut viewer).await,
        ServerMessage::Heartbeat(_)
    ));
    assert!(begun.elapsed() >= Duration::from_secs(19));
}

#[tokio::test(start_paused = true)]
async fn all_viewers_get_a_goodbye_each_with_its_own_time_to_return() {
    let (_log, hub, _commands) = hub();
    let (mut first, mut second) = (joined(&hub).await, joined(&hub).await);
    hub.go_away();
    let mut late = hub.viewer(SessionId(1));
    let mut moments = Vec::new();
    for viewer in [&mut first, &mut second, &mut late] {
        let ServerMessage::Bye(bye) = next_message(viewer).await else {
            panic!("a goodbye comes")
        };
        assert_eq!(&*bye.reason, "going-away");
        moments.push(bye.retry_after_ms.unwrap());
        assert_eq!(closed(viewer).await, 1001);
    }
    assert!(moments.iter().all(|moment| RETRY_MS.contains(moment)));
    assert!(moments[0] != moments[1] && moments[1] != moments[2]);
}

#[tokio::test(start_paused = true)]
async fn the_goodbye_of_an_ended_session_has_no_time_to_return() {
    let (_log, hub, _commands) = hub();
    let mut viewer = joined(&hub).await;
    hub.end_sessions();
    let ServerMessage::Bye(bye) = next_message(&mut viewer).await else {
        panic!("a goodbye comes")
    };
    assert_eq!(bye.retry_after_ms, None);
    assert_eq!(closed(&mut viewer).await, 1008);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_another_version_gets_the_reason_and_is_closed() {
    let (_log, hub, _commands) = hub();
    let mut viewer = hub.viewer(SessionId(1));
    say(
        &mut viewer,
        Hello {
            protocol: PROTOCOL_VERSION + 1,
            log: None,
            epoch: None,
            last: None,
        },
    );
    assert!(matches!(
        next_message(&mut viewer).await,
        ServerMessage::Bye(_)
    ));
    assert_eq!(closed(&mut viewer).await, 1002);
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_message_are_answered_with_a_close() {
    let (_log, hub, _commands) = hub();
    let mut viewer = hub.viewer(SessionId(1));
    let close = viewer.receive(Bytes::from_static(&[7, 7, 7])).unwrap_err();
    assert_eq!(close.code, 1002);
}

#[tokio::test(start_paused = true)]
async fn a_command_goes_out_and_its_answer_comes_back() {
    let (_log, hub, mut commands) = hub();
    let mut viewer = joined(&hub).await;
    let command = |command| Command {
        command,
        verb: "watch".into(),
        argument: "shop/pods".to_owned(),
    };
    say(&mut viewer, command(7));
    let request = commands.recv().await.unwrap();
    assert_eq!((&*request.verb, &*request.argument), ("watch", "shop/pods"));
    request.reply.send(Err("no such resource".into())).unwrap();
    let ServerMessage::CommandDone(done) = next_message(&mut viewer).await else {
        panic!("an answer comes")
    };
    assert_eq!(
        (done.command, done.error.as_deref()),
        (7, Some("no such resource"))
    );
    // Nobody answers. The viewer's open commands fill up, one more gets "busy" at once, then all get an answer.
    for number in 0..5 {
        say(&mut viewer, command(number));
    }
    let ServerMessage::CommandDone(done) = next_message(&mut viewer).await else {
        panic!("the fifth is refused")
    };
    assert_eq!(done.command, 4);
    while let Some(request) = commands.recv().now_or_never().flatten() {
        drop(request.reply);
    }
    for _ in 0..4 {
        let ServerMessage::CommandDone(done) = next_message(&mut viewer).await else {
            panic!("an answer comes")
        };
        assert_eq!(
            done.error.as_deref(),
            Some("the command was not carried out")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn contexts_are_sent_after_the_welcome_and_at_each_change() {
    let (_log, hub, _commands) = hub();
    hub.set_contexts(Some(Contexts {
        names: vec!["kind".into()],
        reason: "the kubeconfig has no current context".to_owned(),
    }));
    let mut viewer = hub.viewer(SessionId(1));
    hello(&mut viewer);
    let mut messages = Vec::new();
    for _ in 0..4 {
        messages.push(next_message(&mut viewer).await);
    }
    assert!(matches!(messages[0], ServerMessage::Welcome(_)));
    assert!(
        messages
            .iter()
            .any(|message| matches!(message, ServerMessage::Contexts(_)))
    );
    hub.set_contexts(None);
    assert!(viewer.next().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn records_come_as_lines_from_the_first_in_memory_then_live() {
    let (log, hub, _commands) = hub();
    log.append(note("a")).await.unwrap();
    sleep(Duration::from_millis(20)).await;
    let mut stream = hub.records(None).unwrap();
    let leading = lines(&stream.next().await.unwrap());
    assert_eq!(
        leading,
        [serde_json::json!({"type": "log", "log": "demo", "epoch": "e1", "first": 1, "head": 1})]
    );
    assert_eq!(lines(&stream.next().await.unwrap())[0]["text"], "a");
    assert!(stream.next().now_or_never().is_none());
    log.append(note("b")).await.unwrap();
    assert_eq!(lines(&stream.next().await.unwrap())[0]["seq"], 2);
    log.close().await;
    assert_eq!(stream.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn records_since_a_position_start_after_it() {
    let (log, hub, _commands) = hub();
    log.append(vec![note("a"), note("b"), note("c")])
        .await
        .unwrap();
    sleep(Duration::from_millis(20)).await;
    let mut stream = hub.records(Some("e1.2")).unwrap();
    stream.next().await;
    let rest = lines(&stream.next().await.unwrap());
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["text"], "c");
}

#[tokio::test(start_paused = true)]
async fn dropped_records_are_replaced_by_a_loss_line() {
    let log = open(2 << 20, BODY_BYTES);
    let (hub, _commands) = LogHub::new(log.clone(), "0.1.0");
    for _ in 0..600 {
        log.append(note(&"x".repeat(10_000))).await.unwrap();
    }
    log.close().await;
    let mut stream = hub.records(Some("e1.5")).unwrap();
    let leading = lines(&stream.next().await.unwrap());
    let first = leading[0]["first"].as_u64().unwrap();
    assert!(first > 6);
    let loss = lines(&stream.next().await.unwrap());
    assert_eq!(
        loss,
        [
            serde_json::json!({"type": "loss", "where": "ring", "count": first - 6, "fromSeq": 6, "toSeq": first - 1})
        ]
    );
    assert_eq!(lines(&stream.next().await.unwrap())[0]["seq"], first);
}

#[tokio::test(start_paused = true)]
async fn a_position_of_another_run_gets_a_loss_line_and_starts_at_the_first_record_in_memory() {
    let (log, hub, _commands) = hub();
    log.append(note("a")).await.unwrap();
    sleep(Duration::from_millis(20)).await;
    let mut stream = hub.records(Some("e0.77")).unwrap();
    let leading = lines(&stream.next().await.unwrap());
    assert_eq!(
        (&leading[1]["type"], &leading[1]["count"]),
        (&"loss".into(), &0.into())
    );
    assert_eq!(lines(&stream.next().await.unwrap())[0]["seq"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_position_is_refused() {
    let (_log, hub, _commands) = hub();
    for text in [
        "",
        "e1",
        "e1.",
        ".5",
        "e1.x",
        "e1.-1",
        "e1.+1",
        "e1.1",
        "e1.1.1",
        "e1.99999999999999999999",
    ] {
        assert!(hub.records(Some(text)).is_err(), "{text}");
    }
    assert!(hub.records(Some("e1.0")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_state_is_the_fold_at_the_head_as_lines() {
    let (log, hub, _commands) = hub();
    log.append(note("a")).await.unwrap();
    let all: Vec<Bytes> = hub.state().collect().await;
    let lines = lines(&all.concat());
    assert_eq!(lines[0]["type"], "log");
    assert_eq!(lines[0]["head"], 1);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_found_gone_or_unknown() {
    let (log, hub, _commands) = hub();
    let batch = Batch {
        events: vec![(note("with a body"), Some(0..2))],
        bodies: Bytes::from_static(b"{}"),
    };
    log.append(batch).await.unwrap();
    sleep(Duration::from_millis(20)).await;
    assert_eq!(hub.object("e1", 1).await, Ok(Bytes::from_static(b"{}")));
    assert_eq!(hub.object("e1", 2).await, Err(ObjectError::Unknown));
    assert_eq!(hub.object("e2", 1).await, Err(ObjectError::Unknown));
}

#[tokio::test(start_paused = true)]
async fn totals_count_all_viewers_and_lose_the_queue_of_one_that_leaves() {
    let (log, hub, _commands) = hub();
    let totals = || {
        let mut exposition = crate::metrics::Exposition::default();
        hub.totals().expose(&mut exposition);
        let text = exposition.open_metrics();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().parse::<f64>().unwrap()
        };
        [
            value("watchscope_viewers "),
            value("watchscope_viewer_queue_bytes "),
            value("watchscope_viewer_sent_bytes_total "),
            value("watchscope_ingest_to_send_seconds_count "),
        ]
    };
    let mut first = joined(&hub).await;
    let second = joined(&hub).await;
    let [viewers, queued, sent, waits] = totals();
    assert_eq!((viewers, queued, waits), (2.0, sent, 0.0));

    log.append(note("after")).await.unwrap();
    assert!(matches!(
        next_message(&mut first).await,
        ServerMessage::Segment(_)
    ));
    assert_eq!(totals()[3], 1.0);
    let bytes = u64::try_from(totals()[2] as i64).unwrap() - sent as u64 / 2;
    // The bytes that the first viewer was sent: half of the sum before, and the segment.
    say(&mut first, watchscope_model::wire::Acknowledge { bytes });
    assert_eq!(
        totals()[1],
        sent / 2.0,
        "the second viewer has acknowledged nothing"
    );
    drop(second);
    assert_eq!(totals()[..2], [1.0, 0.0]);
    drop(first);
    assert_eq!(totals()[..2], [0.0, 0.0]);
}

fn said(command: u64, text: &str) -> WriteNote {
    WriteNote {
        command,
        text: RawText(text.as_bytes().to_vec()),
        watch: None,
        object: None,
        from: None,
        to: None,
        replaces: None,
    }
}

/// Has a viewer write a note. Returns the reason of a refusal, once the viewer has its answer.
async fn write(viewer: &mut HubViewer, asked: WriteNote) -> Option<NoteRefusal> {
    let command = asked.command;
    viewer.receive(encode_note(&asked).into()).unwrap();
    loop {
        if let ServerMessage::CommandDone(done) = next_message(viewer).await {
            assert_eq!((done.command, done.error), (command, None));
            return done.refused;
        }
    }
}

async fn notes(hub: &LogHub) -> Vec<KeptNote> {
    decode_notes(&hub.notes(NotesForm::Block).await).unwrap()
}

fn place(seq: u64) -> NoteKey {
    NoteKey {
        log: "demo".into(),
        epoch: "e1".into(),
        seq: Seq(seq),
    }
}

#[tokio::test(start_paused = true)]
async fn a_note_of_one_viewer_is_a_record_for_all() {
    let (log, hub, _commands) = hub();
    log.append(note("before")).await.unwrap();
    let (mut one, mut other) = (joined(&hub).await, joined(&hub).await);
    let hostile = "<script>alert(1)</script>\u{1b}[2J\u{202e}\0";
    let asked = WriteNote {
        from: Some(Time(7)),
        to: Some(Time(9)),
        ..said(7, hostile)
    };
    viewer_gets_it(&mut one, &mut other, asked).await;
    let kept = notes(&hub).await;
    assert_eq!((&kept[0].key, &*kept[0].note.text), (&place(2), hostile));
    let line = lines(&hub.notes(NotesForm::Lines).await);
    assert_eq!(
        (&line[0]["epoch"], &line[0]["seq"]),
        (&"e1".into(), &2.into())
    );
    // The note is changed, then withdrawn.
    let changed = WriteNote {
        replaces: Some(place(2)),
        ..said(8, "changed")
    };
    assert_eq!(write(&mut one, changed.clone()).await, None);
    let withdrawn = WriteNote {
        text: RawText::default(),
        replaces: Some(place(3)),
        ..changed
    };
    assert_eq!(write(&mut other, withdrawn).await, None);
    assert_eq!(notes(&hub).await.len(), 3);
    log.with_notes(|notes| assert_eq!(notes.standing(), []));
}

async fn viewer_gets_it(one: &mut HubViewer, other: &mut HubViewer, asked: WriteNote) {
    one.receive(encode_note(&asked).into()).unwrap();
    for viewer in [&mut *one, other] {
        let segment = next_message(viewer).await;
        assert!(matches!(segment, ServerMessage::Segment(_)));
    }
    let ServerMessage::CommandDone(done) = next_message(one).await else {
        panic!("the answer follows the record")
    };
    assert_eq!((done.command, done.refused), (asked.command, None));
}

#[tokio::test(start_paused = true)]
async fn each_refused_note_is_answered_with_its_reason() {
    let (log, hub, _commands) = hub();
    log.append(note("of a story")).await.unwrap();
    let mut viewer = joined(&hub).await;
    let long = "x".repeat(MAX_NOTE_BYTES + 1);
    let of_nothing = WriteNote {
        watch: Some("shop/nothing".into()),
        ..said(1, "x")
    };
    let of_a_story = WriteNote {
        replaces: Some(place(1)),
        ..said(1, "x")
    };
    let backwards = WriteNote {
        from: Some(Time(2)),
        to: Some(Time(1)),
        ..said(1, "x")
    };
    let no_text = WriteNote {
        text: RawText(vec![b'a', 0xff]),
        ..said(1, "x")
    };
    for (asked, refused) in [
        (said(1, &long), NoteRefusal::TooLong),
        (no_text, NoteRefusal::NotText),
        (said(1, ""), NoteRefusal::Empty),
        (backwards, NoteRefusal::BadSpan),
        (of_nothing, NoteRefusal::UnknownWatch),
        (of_a_story, NoteRefusal::UnknownNote),
    ] {
        assert_eq!(write(&mut viewer, asked).await, Some(refused));
    }
    assert_eq!(write(&mut viewer, said(1, "x")).await, None);
    assert_eq!(notes(&hub).await.len(), 1);
    // The log is full of notes.
    let kept = notes(&hub).await.remove(0);
    let more = (3..).take(MAX_NOTES - 1).map(|seq| KeptNote {
        key: place(seq),
        ..kept.clone()
    });
    log.learn_notes(more, []);
    assert_eq!(
        write(&mut viewer, said(1, "x")).await,
        Some(NoteRefusal::TooMany)
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_writes_ten_notes_a_minute_over_all_its_viewers() {
    let (_log, hub, _commands) = hub();
    let (mut one, mut other) = (joined(&hub).await, joined(&hub).await);
    for number in 0..10 {
        let viewer = if number % 2 == 0 {
            &mut one
        } else {
            &mut other
        };
        assert_eq!(write(viewer, said(number as u64, "x")).await, None);
    }
    for viewer in [&mut one, &mut other] {
        let refused = write(viewer, said(11, "x")).await;
        assert_eq!(refused, Some(NoteRefusal::TooOften));
    }
    let mut stranger = hub.viewer(SessionId(2));
    hello(&mut stranger);
    assert_eq!(write(&mut stranger, said(1, "x")).await, None);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(write(&mut one, said(12, "x")).await, None);
}

#[tokio::test(start_paused = true)]
async fn without_a_history_a_note_disappears_with_its_record() {
    let log = open(1 << 20, BODY_BYTES);
    let (hub, _commands) = LogHub::new(log.clone(), "0.1.0");
    log.write_note(Note::new(Author::Person, "x".to_owned()))
        .await
        .unwrap();
    assert_eq!(notes(&hub).await.len(), 1);
    for _ in 0..300 {
        log.append(note(&"y".repeat(20_000))).await.unwrap();
    }
    log.head().await;
    assert!(log.with_ring(|ring| ring.first() > Seq(1)));
    assert_eq!(notes(&hub).await, []);
    let replacing = Note {
        replaces: Some(place(1)),
        ..Note::new(Author::Person, "x".to_owned())
    };
    let refused = log.write_note(replacing).await;
    assert_eq!(refused, Err(NoteRefusal::UnknownNote));
    log.close().await;
    let late = Note::new(Author::Person, "x".to_owned());
    assert_eq!(log.write_note(late).await, Err(NoteRefusal::NotKept));
}
