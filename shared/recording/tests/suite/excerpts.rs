//! Tests of saving a range of a page's loaded chapters as a file of its own.

use std::collections::BTreeSet;

use crate::cases::cases;
use crate::world::records::{START, WATCHES};
use crate::world::{Act, act, decoded, folded, host, records};
use proptest::prelude::*;
use proptest::sample::Index;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::codec::{checksum, split_frame};
use watchscope_model::{EpochId, KeptNote, Notes, Record, Seq, State, Time, WatchName};
use watchscope_recording::{
    ClusterName, Contents, Excerpt, ExcerptError, ExcerptFile, ExcerptRun, Form, Lanes, Source,
    Stretch, WriteError, copy, notes_beside,
};

/// A range that was saved as a file.
#[derive(Debug, PartialEq)]
struct Saved {
    bytes: Vec<u8>,
    records: u64,
}

fn excerpt(
    stretch: Stretch,
    lanes: Lanes,
    chapters: Vec<Vec<u8>>,
) -> Result<Vec<ExcerptRun>, ExcerptError> {
    Excerpt::new(stretch, lanes, "0.1.0", 2).runs(chapters)
}

/// Writes runs by a host that deflates.
fn written(runs: &[ExcerptRun], notes: &[KeptNote]) -> Result<Saved, WriteError> {
    let mut file = ExcerptFile::default();
    let mut deflated: Option<Vec<u8>> = None;
    while let Some(raw) = file.step(|place| runs.get(place), notes, deflated.as_deref())? {
        deflated = Some(host::deflate(raw));
    }
    Ok(Saved {
        bytes: file.into_bytes(),
        records: runs.iter().map(ExcerptRun::records).sum(),
    })
}

fn saved(stretch: Stretch, chapters: Vec<Vec<u8>>) -> Result<Saved, ExcerptError> {
    let runs = excerpt(stretch, Lanes::All, chapters)?;
    Ok(written(&runs, &[]).unwrap())
}

/// A log as a page holds it: the chapters that it loaded, then one chapter with everything received live.
fn page(epoch: &str, log: &[Record], acts: &[Act], joins: Index, overlaps: bool) -> Vec<Vec<u8>> {
    let mut state = State::default();
    let (mut writer, head) = ChapterWriter::open("log".into(), epoch.into(), &state);
    let mut chapters: Vec<(Vec<u8>, Vec<u8>)> = vec![(head, Vec::new())];
    for (number, (record, act)) in log.iter().zip(acts).enumerate() {
        writer.push(record);
        state.apply(record);
        let is_last = number + 1 == log.len();
        if *act != Act::Go || is_last {
            let (_, segments) = chapters.last_mut().unwrap();
            segments.extend(writer.seal().unwrap());
        }
        if matches!(act, Act::Close | Act::CloseLate | Act::Leave) && !is_last {
            chapters.push((writer.open_next(&state), Vec::new()));
        }
    }
    let joins = joins.index(chapters.len());
    let live: Vec<&[u8]> = chapters[joins..]
        .iter()
        .map(|(_, segments)| &segments[..])
        .collect();
    let live = [&chapters[joins].0, &live.concat()[..]].concat();
    let loaded = chapters[..joins + usize::from(overlaps)].iter();
    let loaded = loaded.map(|(head, segments)| [&head[..], segments].concat());
    loaded.chain([live]).collect()
}

/// Returns the epoch, the opening state and the records of each run in the file. Each run is one chapter.
fn runs_of(file: &[u8]) -> (Contents, Vec<(String, State, Vec<Record>)>) {
    let contents = host::open(file).unwrap();
    assert_eq!((&contents.damaged[..], contents.cut), (&[][..], None));
    let mut runs: Vec<(String, State, Vec<Record>)> = Vec::new();
    for entry in &contents.chapters {
        let of = contents.file_of(entry).unwrap();
        let chapter = host::chapter(file, entry).unwrap();
        assert_eq!(chapter.damaged, []);
        let (state, records) = decoded(&chapter.frames);
        assert_eq!(entry.summary.first, state.seq.next());
        runs.push((of.epoch.clone(), state, records));
    }
    (contents, runs)
}

type RunPlan = (Vec<Record>, Vec<Act>, Index, bool);

fn run_plan() -> impl Strategy<Value = RunPlan> {
    let acts = prop::collection::vec(act(), 120);
    (records::log(), acts, any::<Index>(), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    #[test]
    fn a_saved_range_has_exactly_its_records_behind_all_that_was_open(
        plans in prop::collection::vec(run_plan(), 1..4), bounds in prop::array::uniform2((any::<Index>(), any::<Index>())),
    ) {
        let moments = bounds.map(|(run, record)| {
            let (log, ..) = &plans[run.index(plans.len())];
            log[record.index(log.len())].at
        });
        let (from, to) = (moments[0].min(moments[1]), moments[0].max(moments[1]));
        let epochs = ["a", "b", "c"];
        let pages = plans.iter().zip(epochs);
        let chapters = pages.flat_map(|((log, acts, joins, overlaps), epoch)| page(epoch, log, acts, *joins, *overlaps));
        let saved = saved(Stretch::Times { from, to }, chapters.collect()).unwrap();
        let (contents, runs) = runs_of(&saved.bytes);
        let expected = plans.iter().zip(epochs).filter_map(|((log, ..), epoch)| {
            let first = log.partition_point(|record| record.at < from);
            let end = log.partition_point(|record| record.at <= to);
            (first < end).then(|| (epoch.to_owned(), folded(&log[..first]), log[first..end].to_vec()))
        });
        let expected: Vec<_> = expected.collect();
        prop_assert_eq!(&runs, &expected);
        let records: usize = expected.iter().map(|(.., records)| records.len()).sum();
        prop_assert_eq!(saved.records, records as u64);
        for (of, (epoch, state, records)) in contents.files.iter().zip(&expected) {
            let mut state = state.clone();
            records.iter().for_each(|record| state.apply(record));
            let watches: BTreeSet<&str> = state.watches.keys().map(WatchName::as_str).collect();
            let named: BTreeSet<&str> = of.watches.iter().map(|watched| &*watched.watch).collect();
            prop_assert_eq!(named, watches);
            prop_assert_eq!((&*of.log, &of.epoch, of.form, &*of.watchscope, of.redaction), ("log", epoch, Form::Extract, "0.1.0", 2));
            prop_assert!(of.withheld.is_empty());
        }
        // The index gives the same contents as the blocks.
        let mut scanned = saved.bytes.clone();
        *scanned.last_mut().unwrap() ^= 1;
        prop_assert_eq!(host::open(&scanned).unwrap(), contents);
    }

    #[test]
    fn a_range_by_seqs_is_the_same_however_the_log_was_cut((log, acts, joins, overlaps) in run_plan(), a in any::<Index>(), b in any::<Index>()) {
        let (a, b) = (a.index(log.len()), b.index(log.len()));
        let (first, last) = (a.min(b), a.max(b));
        let stretch = Stretch::Seqs { first: log[first].seq, last: log[last].seq };
        let cut = saved(stretch, page("a", &log, &acts, joins, overlaps)).unwrap();
        let (_, runs) = runs_of(&cut.bytes);
        prop_assert_eq!(&runs[0].2[..], &log[first..=last]);
        let whole = page("a", &log, &vec![Act::Go; log.len()], joins, false);
        prop_assert_eq!(saved(stretch, whole).unwrap(), cut);
    }

    #[test]
    fn records_about_other_watches_are_left_out_and_the_file_says_so((log, acts, joins, overlaps) in run_plan(), kept in prop::collection::btree_set(prop::sample::select(&WATCHES), 0..3)) {
        let lanes = Lanes::Only { watches: kept.iter().map(|name| WatchName::from(*name)).collect(), clients: BTreeSet::new() };
        let stretch = Stretch::Seqs { first: Seq(1), last: Seq(u64::MAX) };
        let runs = excerpt(stretch, lanes.clone(), page("a", &log, &acts, joins, overlaps)).unwrap();
        let saved = written(&runs, &[]).unwrap();
        let (contents, runs) = runs_of(&saved.bytes);
        prop_assert_eq!(runs[0].2.len(), log.len());
        prop_assert_eq!(saved.records, log.iter().filter(|record| lanes.keeps(&record.event)).count() as u64);
        prop_assert!(contents.files[0].watches.iter().all(|watched| kept.contains(&*watched.watch)));
        prop_assert_eq!(&contents.files[0].withheld, &[format!("all but {} watches and 0 clients", kept.len())]);
    }

    #[test]
    fn arbitrary_bytes_are_refused(chapters in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..4)) {
        prop_assert!(saved(ALL, chapters).is_err());
    }

    #[test]
    fn chapters_with_changed_bytes_are_saved_or_refused((log, acts, joins, overlaps) in run_plan(), edits in prop::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 1..6), are_sealed: bool) {
        let mut chapters = page("a", &log, &acts, joins, overlaps);
        for (chapter, byte, value) in edits {
            let chapter = chapter.index(chapters.len());
            let at = byte.index(chapters[chapter].len());
            chapters[chapter][at] = value;
            if are_sealed {
                seal_anew(&mut chapters[chapter]);
            }
        }
        if let Ok(runs) = excerpt(ALL, Lanes::All, chapters) && !runs.is_empty() {
            let saved = written(&runs, &[]).unwrap();
            let contents = host::open(&saved.bytes).unwrap();
            prop_assert_eq!(&contents.damaged, &[]);
            for entry in &contents.chapters {
                host::chapter(&saved.bytes, entry).unwrap();
            }
        }
    }

    #[test]
    fn frames_at_the_ends_of_all_seqs_and_times_are_saved_or_refused(seq in prop_oneof![Just(u64::MAX - 1), Just(u64::MAX - 2), Just(u64::MAX - 3), Just(u64::MAX), Just(0)], at in prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>()], keeps: bool, log in records::log()) {
        let mut state = State::default();
        state.pass(Seq(seq), Time(at));
        let (mut writer, mut chapter) = ChapterWriter::open("log".into(), "a".into(), &state);
        for record in log.iter().take(3) {
            let record = Record { seq: state.seq.next(), at: Time(at), event: record.event.clone() };
            writer.push(&record);
            state.apply(&record);
        }
        chapter.extend(writer.seal().unwrap());
        let lanes = if keeps { Lanes::All } else { Lanes::Only { watches: BTreeSet::new(), clients: BTreeSet::new() } };
        for stretch in [ALL, Stretch::Seqs { first: Seq(0), last: Seq(u64::MAX) }] {
            if let Ok(runs) = excerpt(stretch, lanes.clone(), vec![chapter.clone(), chapter.clone()]) {
                let _ = written(&runs, &[]);
            }
        }
    }
}

/// The whole log.
const ALL: Stretch = Stretch::Times {
    from: Time(i64::MIN),
    to: Time(i64::MAX),
};

/// Corrects the checksums of all frames that still follow each other.
fn seal_anew(chapter: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = chapter.get(at..at + 10) {
        let length = u32::from_le_bytes(header[2..6].try_into().unwrap()) as usize;
        let Some(payload) = chapter.get(at + 10..(at + 10).saturating_add(length)) else {
            return;
        };
        let right = checksum(&[payload]).to_le_bytes();
        chapter[at + 6..at + 10].copy_from_slice(&right);
        at += 10 + length;
    }
}

fn notes(epoch: &str, count: u64) -> Vec<u8> {
    use watchscope_model::event::{ClusterConnected, Note};
    use watchscope_model::vocabulary::Author;
    let mut state = State::default();
    let epoch = EpochId::from(epoch);
    let (mut writer, mut chapter) = ChapterWriter::open("log".into(), epoch, &state);
    let connected = ClusterConnected {
        cluster: "prod".into(),
        server: "https://10.0.0.1:6443".into(),
        version: "v1.33.1".into(),
        uid: None,
    };
    let note = |number: u64| Note::new(Author::Story, format!("note {number}"));
    let events =
        std::iter::once(connected.into()).chain((1..count).map(|number| note(number).into()));
    for (number, event) in (1..).zip(events) {
        let record = state.stamp(event, START.plus_millis(number));
        writer.push(&record);
        state.apply(&record);
        if number % 200 == 0 {
            chapter.extend(writer.seal().unwrap());
        }
    }
    chapter.extend(writer.seal().unwrap_or_default());
    chapter
}

#[test]
fn a_live_log_of_many_mebibytes_is_cut_into_chapters() {
    let live = notes("a", 200_001);
    assert!(live.len() > 2 << 20);
    let saved = saved(ALL, vec![live]).unwrap();
    assert_eq!(saved.records, 200_001);
    let contents = host::open(&saved.bytes).unwrap();
    assert!(contents.chapters.len() > 1);
    assert!(contents.chapters.iter().all(|entry| entry.closed.is_some()));
    let records = contents.chapters.iter().map(|entry| {
        let chapter = host::chapter(&saved.bytes, entry).unwrap();
        decoded(&chapter.frames).1.len()
    });
    assert_eq!(records.sum::<usize>(), 200_001);
    let cluster = ClusterName {
        name: "prod".into(),
        server: "https://10.0.0.1:6443".into(),
        version: "v1.33.1".into(),
        ..ClusterName::default()
    };
    assert_eq!(contents.files[0].cluster, Some(cluster));
}

#[test]
fn a_run_outside_the_range_leaves_nothing_in_the_file() {
    let chapters = ["a", "b", "c"].map(|epoch| notes(epoch, 1 + 10 * u64::from(epoch == "b")));
    let stretch = Stretch::Times {
        from: START.plus_millis(5),
        to: START.plus_millis(7),
    };
    let saved = saved(stretch, chapters.to_vec()).unwrap();
    let contents = host::open(&saved.bytes).unwrap();
    let epochs: Vec<&str> = contents.files.iter().map(|of| &*of.epoch).collect();
    assert_eq!((epochs, saved.records), (vec!["b"], 3));
}

#[test]
fn each_error_of_chapters_is_a_sentence() {
    let refused = |chapters| saved(ALL, chapters).unwrap_err().to_string();
    let chapter = notes("a", 3);
    let mut cut = chapter.clone();
    cut.truncate(chapter.len() - 1);
    let head = split_frame(&chapter).unwrap().0.bytes.to_vec();
    let (_, other) = ChapterWriter::open("other".into(), "a".into(), &State::default());
    let messages = [
        refused(vec![head.clone(), cut]),
        refused(vec![[&head[..], &head[..]].concat()]),
        refused(vec![chapter.clone(), other]),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r"
    chapter 2 of the range cannot be read: the data ends early: 1 more bytes are needed at byte 93
    chapter 1 of the range cannot be read: a frame with tag 0x48 stands where another belongs
    chapter 2 of the range is of another log than those before it
    ");
}

#[test]
fn a_range_without_a_record_has_no_run() {
    let before = Stretch::Times {
        from: Time(0),
        to: Time(1),
    };
    let chapter = notes("a", 3);
    let head = split_frame(&chapter).unwrap().0.bytes.to_vec();
    for (stretch, chapters) in [(ALL, vec![]), (ALL, vec![head]), (before, vec![chapter])] {
        assert_eq!(excerpt(stretch, Lanes::All, chapters), Ok(vec![]));
    }
    assert_eq!(written(&[], &[]).unwrap().bytes, b"");
}

#[test]
fn a_host_that_cannot_deflate_gets_no_file() {
    let chapters = vec![notes("a", 3)];
    let runs = excerpt(ALL, Lanes::All, chapters).unwrap();
    let mut file = ExcerptFile::default();
    let mut step = || {
        file.step(|place| runs.get(place), &[], None)
            .map(|raw| raw.is_some())
    };
    assert_eq!(step(), Ok(true));
    assert_eq!(step(), Err(WriteError::NotDeflated));
}

#[test]
fn notes_about_a_range_whose_records_lie_elsewhere_go_with_it() {
    use watchscope_model::NoteKey;
    use watchscope_model::event::Note;
    use watchscope_model::vocabulary::Author;

    let kept = |epoch: &str, seq: u64| KeptNote {
        key: NoteKey {
            log: "log".into(),
            epoch: epoch.into(),
            seq: Seq(seq),
        },
        at: START,
        note: Note::new(Author::Person, format!("{epoch} {seq}")),
    };
    let all = vec![kept("a", 3), kept("a", 900), kept("b", 3)];
    let runs = excerpt(ALL, Lanes::All, vec![notes("a", 11)]).unwrap();
    let mut written_by_persons = Notes::default();
    for note in all {
        written_by_persons.insert(note);
    }
    let beside = notes_beside(&written_by_persons, (START, START), runs.iter());
    let saved = written(&runs, &beside).unwrap();
    let contents = host::open(&saved.bytes).unwrap();
    assert_eq!(contents.damaged, []);
    assert_eq!(contents.notes, [kept("a", 900), kept("b", 3)]);
    let copied = copy(
        &[Source {
            contents: &contents,
            chapters: &[],
            with_bodies: false,
        }],
        Form::Copy,
    );
    let file = host::build(&copied.unwrap(), &[&saved.bytes]);
    let copied = host::open(&file).unwrap();
    assert_eq!(copied.notes, contents.notes);
    assert!(copied.chapters.is_empty());
}
