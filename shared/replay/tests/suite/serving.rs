//! Tests of serving: a viewer of an opened file receives the picture of the recorded log.

use std::time::Duration;

use watchscope_log::Fetched;
use watchscope_model::event::Note;
use watchscope_model::vocabulary::{Author, NoteRefusal};
use watchscope_model::wire::{
    Availability, Backfill, CatalogueEntry, ClientMessage, Command, HEARTBEAT_MS, Hello,
    PROTOCOL_VERSION, RawText, ServerMessage, WriteNote, decode_server, encode_client, encode_note,
};
use watchscope_model::{KeptNote, NoteKey, Seq, Time};
use watchscope_recording::Writer;
use watchscope_replay::{FetchChapter, NO_CLUSTER, Next, Opened};
use watchscope_timeline::Store;

use crate::common::{Log, at, random::random_log};
use crate::files::{File, PODS, body_of, cuts, damage_chapter, fixture, scanned, whole};
use crate::viewer::{self, Local, Page, Server as _, display_list, open, run};

/// Returns a page that has loaded all of a file.
fn visited(file: &[u8]) -> Page {
    let opened = open(file).unwrap();
    Page::visit(&mut Local { opened, file })
}

/// Returns the display list of the logs themselves, each with its chapters. The last log is the newest, and ends with
/// the snapshot.
fn drawn(runs: &[(&Log, &[(usize, usize)])]) -> String {
    let mut store = Store::default();
    let (newest, chapters) = runs[runs.len() - 1];
    let end = chapters.last().unwrap().1;
    newest.send(&mut store, end, end);
    let &(from, _) = chapters.last().unwrap();
    let first = &newest.records[from];
    store.ring_begins(&newest.epoch, first.seq, first.at);
    for (order, (log, chapters)) in (0..).zip(runs) {
        let kept = |&(from, to)| log.listed(from, to, Availability::Kept);
        let entries: Vec<CatalogueEntry> = chapters.iter().map(kept).collect();
        let is_newest = log.epoch == newest.epoch;
        let order = if is_newest { u64::MAX } else { order };
        store.list(&"log".into(), &log.epoch, order, entries);
    }
    for (log, chapters) in runs.iter().rev() {
        for &(from, to) in chapters.iter().rev() {
            store.chapter(&log.chapter(from, to)).unwrap();
        }
    }
    let from = runs[0].0.records[0].at;
    let to = newest.records[end - 1].at;
    display_list(&store, (from, to))
}

#[test]
fn a_recording_is_drawn_as_the_log_itself() {
    for seed in 0..6 {
        let log = random_log(seed, 400);
        let chapters = cuts(&log, 70);
        let page = visited(&whole(&log, 70));
        assert_eq!(page.store.records(), log.records.len() as u64);
        assert!(page.not_read.is_empty());
        let expected = drawn(&[(&log, &chapters)]);
        assert!(page.display_list() == expected, "seed {seed}");
    }
}

#[test]
fn a_file_of_several_runs_is_one_timeline() {
    let (first, second, third) = (
        Log::steady("a", 0.0, 30),
        Log::steady("b", 60.0, 10),
        Log::steady("c", 90.0, 20),
    );
    let chapters = [cuts(&first, 12), cuts(&second, 12), cuts(&third, 12)];
    let file = File::of("log", &first.epoch)
        .closed(&first, &chapters[0])
        .then("log", &second.epoch)
        .closed(&second, &chapters[1])
        .then("log", &third.epoch)
        .closed(&third, &chapters[2])
        .finished();
    let page = visited(&file);
    let records = [&first, &second, &third].map(|log| log.records.len() as u64);
    assert_eq!(page.store.records(), records.iter().sum::<u64>());
    let expected = drawn(&[
        (&first, &chapters[0]),
        (&second, &chapters[1]),
        (&third, &chapters[2]),
    ]);
    assert_eq!(page.display_list(), expected);
    let welcome = page.welcome.unwrap();
    assert_eq!(welcome.recording.as_deref(), Some("a.wscope"));
    assert_eq!(welcome.epoch, third.epoch);
    assert_eq!(welcome.recorded_from, Some(at(0.0)));
    assert_eq!(welcome.recorded_to, Some(at(110.0)));
}

#[test]
fn an_unfinished_or_cut_file_is_drawn_up_to_its_last_whole_block() {
    let log = Log::steady("a", 0.0, 60);
    let file = File::of("log", &log.epoch).closed(&log, &[(0, 20), (20, 40)]);
    let file = file.open(&log, (40, log.records.len())).unfinished();
    let from = scanned(&file).chapters[0].closed.unwrap().end() as usize;
    let mut lengths = std::collections::BTreeSet::new();
    for end in (from..file.len()).step_by(7).chain([file.len()]) {
        let cut = &file[..end];
        let page = visited(cut);
        let records = page.store.records() as usize;
        let chapters: Vec<(usize, usize)> = [(0, 20), (20, 40), (40, records)]
            .into_iter()
            .filter(|(from, _)| *from < records)
            .collect();
        assert_eq!(page.display_list(), drawn(&[(&log, &chapters)]), "{end}");
        lengths.insert(records);
    }
    assert!(lengths.len() > 5, "{lengths:?}");
    assert_eq!(lengths.last(), Some(&log.records.len()));
}

#[test]
fn a_damaged_chapter_in_the_middle_is_missing_alone_with_a_reason() {
    let log = Log::steady("a", 0.0, 40);
    let mut file = whole(&log, 12);
    damage_chapter(&mut file, 1);
    let page = visited(&file);
    assert_eq!(page.store.records(), log.records.len() as u64 - 12);
    insta::assert_snapshot!(page.not_read.join("\n"), @"a.wscope, block 2 at byte 522 is damaged: its checksum is 89c77404, it should be fec04492");
    assert!(page.display_list().contains("lost by watchscope"));
}

#[test]
fn a_chapter_that_the_file_holds_twice_is_read_from_the_readable_copy() {
    let log = Log::steady("a", 0.0, 40);
    let mut file = File::of("log", &log.epoch)
        .closed(&log, &cuts(&log, 12))
        .then("log", &log.epoch)
        .closed(&log, &[(12, 24)])
        .finished();
    damage_chapter(&mut file, 1);
    let page = visited(&file);
    assert_eq!(page.store.records(), log.records.len() as u64);
    assert!(page.not_read.is_empty());
}

#[test]
fn the_fixtures_of_format_1_are_shown() {
    let shown = |name: &str| {
        let page = visited(&fixture(name));
        let welcome = page.welcome.as_ref().unwrap();
        let (records, head) = (page.store.records(), welcome.head);
        format!(
            "{name}: {records} records up to {head}, {:?}",
            page.not_read
        )
    };
    let names = [
        "version-1-2.wscope",
        "version-1-3-cut.wscope",
        "version-1-3-damaged.wscope",
        "version-1-4.wscope",
    ];
    insta::assert_snapshot!(names.map(shown).join("\n"), @r"
    version-1-2.wscope: 60 records up to 60, []
    version-1-3-cut.wscope: 68 records up to 68, []
    version-1-3-damaged.wscope: 69 records up to 69, []
    version-1-4.wscope: 69 records up to 69, []
    ");
}

fn body(file: &[u8], epoch: &str, seq: u64) -> Result<Option<String>, String> {
    let opened = open(file).unwrap();
    let mut machine = opened.body(&epoch.into(), Seq(seq));
    let body = viewer::run(file, |input| machine.step(input))?;
    Ok(body.map(|body| String::from_utf8(body.to_vec()).unwrap()))
}

#[test]
fn a_body_is_read_from_the_run_that_has_it() {
    let (first, second) = (Log::steady("a", 0.0, 20), Log::steady("b", 60.0, 20));
    let file = File::of("log", &first.epoch)
        .closed(&first, &[(0, 12), (12, 24)])
        .bodies(&first, (12, 24))
        .then("log", &second.epoch)
        .closed(&second, &[(0, 12)])
        .bodies(&second, (0, 12));
    let mut file = file.finished();
    assert_eq!(
        body(&file, "a", 20),
        Ok(Some(body_of(&first.epoch, Seq(20))))
    );
    assert_eq!(
        body(&file, "b", 3),
        Ok(Some(body_of(&second.epoch, Seq(3))))
    );
    assert_eq!(body(&file, "a", 3), Ok(None));
    assert_eq!(body(&file, "b", 99), Ok(None));
    assert_eq!(body(&file, "c", 3), Ok(None));
    let place = scanned(&file).chapters[1].bodies[0];
    file[place.end() as usize - 1] ^= 1;
    let damaged = body(&file, "a", 20).unwrap_err();
    insta::assert_snapshot!(damaged, @"a.wscope, block 3 at byte 891 is damaged: its checksum is a6808eb2, it should be d187be24");
    assert!(body(&file, "b", 3).unwrap().is_some());
}

/// Returns a viewer that has sent its hello and taken in the first messages.
fn greeted(file: &[u8]) -> Local<'_> {
    let opened = open(file).unwrap();
    let mut local = Local { opened, file };
    local.receive(&hello());
    while local.next().is_some() {}
    local
}

fn hello() -> Vec<u8> {
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        log: None,
        epoch: None,
        last: None,
    };
    encode_client(&ClientMessage::from(hello))
}

/// Returns the message that is sent at a time of the host's clock, if there is one.
fn sent(opened: &mut Opened, clock: Duration) -> Option<ServerMessage> {
    match opened.next(clock) {
        Next::Send(message) => Some(decode_server(&message).unwrap().unwrap().0),
        Next::Wait(_) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn heartbeats_are_sent_every_20_s_of_the_hosts_clock_from_any_start() {
    let file = whole(&Log::steady("a", 0.0, 10), 12);
    let began = Duration::from_secs(5_000);
    let mut opened = open(&file).unwrap();
    opened.receive(&hello(), began).unwrap();
    while sent(&mut opened, began).is_some() {}
    let next = began + Duration::from_millis(HEARTBEAT_MS);
    let Next::Wait(until) = opened.next(began) else {
        panic!("there is something to send");
    };
    assert_eq!(until, Some(next));
    let heartbeat = sent(&mut opened, next).unwrap();
    let ServerMessage::Heartbeat(heartbeat) = heartbeat else {
        panic!("{heartbeat:?}");
    };
    assert_eq!(heartbeat.at, at(10.0).plus_millis(HEARTBEAT_MS));
    assert_eq!(sent(&mut opened, next), None);
}

#[test]
fn a_command_fails_because_there_is_no_cluster() {
    let file = whole(&Log::steady("a", 0.0, 10), 12);
    let mut local = greeted(&file);
    let command = Command {
        command: 7,
        verb: "audit".into(),
        argument: PODS.to_owned(),
    };
    local.receive(&encode_client(&command.into()));
    let answer = sent(&mut local.opened, Duration::ZERO).unwrap();
    let ServerMessage::CommandDone(done) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((done.command, done.error.as_deref()), (7, Some(NO_CLUSTER)));
}

#[test]
fn a_note_is_refused_because_it_is_not_kept() {
    let file = whole(&Log::steady("a", 0.0, 10), 12);
    let mut local = greeted(&file);
    let note = WriteNote {
        command: 8,
        text: RawText(b"Here.".to_vec()),
        watch: None,
        object: None,
        from: None,
        to: None,
        replaces: None,
    };
    local.receive(&encode_note(&note));
    let answer = sent(&mut local.opened, Duration::ZERO).unwrap();
    let ServerMessage::CommandDone(done) = answer else {
        panic!("{answer:?}");
    };
    let refused = Some(NoteRefusal::NotKept);
    assert_eq!((done.command, done.error, done.refused), (8, None, refused));
}

#[test]
fn the_notes_of_a_file_come_from_its_chapters_and_its_blocks_of_notes() {
    let mut log = Log::steady("a", 0.0, 10);
    let seq = log.push(11.0, Note::new(Author::Person, "In a chapter.".into()));
    log.push(12.0, Note::new(Author::Story, "Of a story.".into()));
    let beside = |log: &str| KeptNote {
        key: NoteKey {
            log: log.into(),
            epoch: "gone".into(),
            seq: Seq(7),
        },
        at: at(1.0),
        note: Note::new(Author::Person, "Beside.".into()),
    };
    let records = log.records.len();
    let file = whole(&log, records);
    let (mut writer, cut) = Writer::resume(&scanned(&file)).unwrap();
    let mut file = file[..usize::try_from(cut).unwrap()].to_vec();
    let notes = [beside("log"), beside("another log")];
    file.extend(writer.notes(&notes).unwrap());
    file.extend(writer.finish().unwrap());
    let opened = open(&file).unwrap();
    let mut machine = opened.notes();
    let notes = run(&file, |input| machine.step(input));
    let notes = notes.records();
    let notes: Vec<_> = notes.map(|note| (note.key.seq, &*note.note.text)).collect();
    assert_eq!(notes, [(Seq(7), "Beside."), (seq, "In a chapter.")]);
}

/// Requests a chapter, and returns the machine that reads it.
fn fetch(opened: &mut Opened, before: u64) -> (u64, Box<FetchChapter>) {
    let asked = Backfill {
        log: "log".into(),
        epoch: "a".into(),
        before: Seq(before),
    };
    let message = encode_client(&asked.into());
    opened.receive(&message, Duration::ZERO).unwrap();
    loop {
        match opened.next(Duration::ZERO) {
            Next::Fetch(number, machine) => return (number, machine),
            Next::Send(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_chapter_for_an_earlier_viewer_is_passed_over() {
    let log = Log::steady("a", 0.0, 40);
    let file = whole(&log, 12);
    let mut local = greeted(&file);
    let (old, _) = fetch(&mut local.opened, 5);
    local.opened.connect();
    local.receive(&hello());
    let (new, mut machine) = fetch(&mut local.opened, 20);
    let gone = Fetched::NotRead {
        reason: "late".to_owned(),
    };
    local.opened.fetched(old, gone);
    while let Some(message) = sent(&mut local.opened, Duration::ZERO) {
        assert!(!matches!(message, ServerMessage::NotRead(_)), "{message:?}");
    }
    let fetched = viewer::run(&file, |input| machine.step(input));
    local.opened.fetched(new, fetched);
    let chapter = sent(&mut local.opened, Duration::ZERO).unwrap();
    let ServerMessage::Chapter(chapter) = chapter else {
        panic!("{chapter:?}");
    };
    // The chapter goes on to record 24, and is cut at the requested record.
    assert_eq!((chapter.first, chapter.before), (Seq(13), Seq(20)));
}

#[test]
fn a_recording_that_ends_at_the_largest_time_sends_no_flood_of_heartbeats() {
    let mut log = Log::steady("a", 0.0, 10);
    let note = log.records.last().unwrap().event.clone();
    log.push_at(Time(i64::MAX), note);
    let file = whole(&log, 12);
    let mut opened = open(&file).unwrap();
    opened.receive(&hello(), Duration::ZERO).unwrap();
    let clocks = [Duration::ZERO, Duration::MAX, Duration::MAX];
    let counts = clocks.map(|clock| {
        let sent = (0..100).filter(|_| sent(&mut opened, clock).is_some());
        sent.count()
    });
    assert!(counts.iter().all(|count| *count < 10), "{counts:?}");
}
