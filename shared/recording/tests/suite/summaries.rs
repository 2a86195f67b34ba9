//! Tests of a chapter's summary: counts, times and troubles.

use std::collections::BTreeMap;

use crate::cases::cases;
use crate::world::records::{START, WATCHES, log, stamped};
use crate::world::{folded, host, plan, write};
use proptest::prelude::*;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::event::{
    Finding, Gap, StreamEnded, StreamError, Verdict, WatchStarted, WatchStopped,
};
use watchscope_model::summary::{MAX_TROUBLES, Summary, TroubleKind};
use watchscope_model::vocabulary::{Cause, Certainty, Divergence, PhaseReason, Severity, Standing};
use watchscope_model::{Event, Object, Record, Seq, State, StreamId, Time, Uid};
use watchscope_recording::FrameSummarizer;

fn summary_of(before: &State, records: &[Record]) -> Summary {
    let (mut writer, head) = ChapterWriter::open("log".into(), "epoch".into(), before);
    let mut summarizer = FrameSummarizer::open(&head).unwrap();
    for run in records.chunks(7) {
        run.iter().for_each(|record| writer.push(record));
        summarizer.segment(&writer.seal().unwrap()).unwrap();
    }
    summarizer.summary()
}

/// Lists troubles: milliseconds since the log began, kind and severity. `<` and `>` mark one that is open at the
/// chapter's begin or end.
fn described(summary: &Summary) -> String {
    let millis = |time: Time| time.micros_since(START) / 1_000;
    let lines = summary.troubles.iter().map(|trouble| {
        let begin = if trouble.open_at_begin { "<" } else { " " };
        let end = if trouble.open_at_end { ">" } else { " " };
        format!(
            "{begin}{}+{}{end} {} ({}) x{}",
            millis(trouble.start),
            trouble.length_us / 1_000,
            trouble.kind,
            trouble.severity,
            trouble.count
        )
    });
    let worst = summary.worst.map_or("nothing", Severity::word);
    let head = format!(
        "{}..{} {}..{} worst {worst}",
        summary.first,
        summary.last,
        millis(summary.first_at),
        millis(summary.last_at)
    );
    std::iter::once(head)
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

fn started(watch: &str) -> Event {
    use watchscope_model::event::WatchStarted;
    WatchStarted::plain(watch.into(), "", "pods").into()
}

fn ended(watch: &str) -> Event {
    StreamEnded {
        watch: watch.into(),
        stream: StreamId(1),
        cause: Cause::TcpReset,
        age_ms: 1,
        events: 0,
        bytes: 0,
        reset_code: None,
        unread_ms: None,
    }
    .into()
}

fn gap(watch: &str, resumed: bool) -> Event {
    Gap {
        watch: watch.into(),
        since: Seq(0),
        from: None,
        to: None,
        reason: Cause::TcpReset,
        resumed,
        lost: None,
    }
    .into()
}

fn verdict(state: Standing) -> Event {
    let object = Object {
        namespace: Some("shop".into()),
        name: "ghost".into(),
        uid: Uid::Uuid([7; 16]),
    };
    Verdict {
        watch: WATCHES[0].into(),
        object: object.into(),
        kind: Divergence::Ghost,
        held: None,
        listed: None,
        state,
        certainty: Certainty::Definite,
    }
    .into()
}

fn finding(state: Standing, severity: Severity) -> Event {
    Finding {
        code: "F11".into(),
        candidates: Vec::new(),
        name: "fell off the watch cache".into(),
        severity,
        state,
        certainty: Certainty::Likely,
        watch: Some(WATCHES[0].into()),
        server: None,
        evidence: vec![Seq(1)],
        summary: String::new(),
        client: None,
        count: None,
        since: None,
        worst: None,
        connection: None,
        group: None,
        resource: None,
        watches: None,
        resumed: None,
        relisted: None,
        names: Vec::new(),
    }
    .into()
}

fn error(watch: &str) -> Event {
    StreamError {
        watch: watch.into(),
        stream: StreamId(1),
        code: 410,
        reason: None,
        message: None,
    }
    .into()
}

#[test]
fn each_trouble_is_listed_with_its_begin_and_end() {
    let [pods, maps, _] = WATCHES;
    let events = [
        started(pods),
        started(maps),
        error(pods),
        ended(pods),
        finding(Standing::Raised, Severity::Warning),
        gap(pods, false),
        // A resumed watch has lost nothing.
        ended(maps),
        gap(maps, true),
        verdict(Standing::Raised),
        // A finding that is raised again is another occurrence; a note is no trouble.
        finding(Standing::Raised, Severity::Note),
        verdict(Standing::Confirmed),
        ended(maps),
        finding(Standing::Raised, Severity::Error),
        verdict(Standing::Cleared),
        verdict(Standing::Raised),
        finding(Standing::Cleared, Severity::Note),
    ];
    let log = stamped(events.into_iter().map(|event| (event, 1_000_000)));
    let summary = summary_of(&State::default(), &log);
    insta::assert_snapshot!(described(&summary), @r"
    1..16 1000..16000 worst divergence
     3000+0  error (error) x1
     4000+2000  lost gap (warning) x1
     5000+5000  finding (warning) x1
     9000+5000  divergence (divergence) x1
     12000+4000> open gap (note) x1
     13000+3000  finding (error) x1
     15000+1000> divergence (divergence) x1
    ");
    // The same log in two chapters: a trouble that spans both is in both, marked as open.
    insta::assert_snapshot!(described(&summary_of(&State::default(), &log[..9])), @r"
    1..9 1000..9000 worst divergence
     3000+0  error (error) x1
     4000+2000  lost gap (warning) x1
     5000+4000> finding (warning) x1
     9000+0> divergence (divergence) x1
    ");
    insta::assert_snapshot!(described(&summary_of(&folded(&log[..9]), &log[9..])), @r"
    10..16 10000..16000 worst divergence
    <9000+1000  finding (warning) x1
    <9000+5000  divergence (divergence) x1
     12000+4000> open gap (note) x1
     13000+3000  finding (error) x1
     15000+1000> divergence (divergence) x1
    ");
}

#[test]
fn troubles_of_a_watch_end_when_it_is_stopped_or_started_anew() {
    let [pods, maps, _] = WATCHES;
    let stopped = WatchStopped {
        watch: maps.into(),
        reason: PhaseReason::StopRequested,
    };
    let events = [
        (started(pods), 0),
        (started(maps), 0),
        (verdict(Standing::Raised), 1_000_000),
        (ended(maps), 1_000_000),
        (started(pods), 1_000_000),
        (stopped.into(), 70_000_000),
    ];
    insta::assert_snapshot!(described(&summary_of(&State::default(), &stamped(events))), @r"
    1..6 0..73000 worst divergence
     1000+2000  divergence (divergence) x1
     2000+71000  open gap (warning) x1
    ");
}

#[test]
fn a_chapter_without_records_or_trouble_says_so() {
    let log = stamped([(started("a/pods"), 5_000), (started("b/pods"), 5_000)]);
    insta::assert_snapshot!(described(&summary_of(&folded(&log), &[])), @r"
    3..2 10..10 worst nothing
    ");
    let summary = summary_of(&State::default(), &log);
    assert_eq!((summary.records(), summary.worst), (2, None));
    assert_eq!(summary.counts, [(5, 2)]);
}

#[test]
fn an_unreadable_segment_leaves_the_summary_as_it_was() {
    let log = stamped([(started("a/pods"), 5_000), (started("b/pods"), 5_000)]);
    let (mut writer, head) = ChapterWriter::open("log".into(), "epoch".into(), &State::default());
    let mut summarizer = FrameSummarizer::open(&head).unwrap();
    writer.push(&log[0]);
    let first = writer.seal().unwrap();
    writer.push(&log[1]);
    let second = writer.seal().unwrap();
    let before = summarizer.summary();
    assert!(summarizer.segment(&second).is_err());
    assert_eq!(summarizer.summary(), before);
    summarizer.segment(&first).unwrap();
    summarizer.segment(&second).unwrap();
    assert_eq!(summarizer.summary().last, Seq(2));
}

/// Returns the times and kinds of troubles that the whole log proves. A finding that is updated may turn out to be a
/// note.
fn instants(records: &[Record]) -> impl Iterator<Item = (Time, TroubleKind)> {
    let is_reported_again = |key: &str| {
        let findings = records.iter().filter(move |record| match &record.event {
            Event::Finding(finding) => &*finding.key() == key && finding.state != Standing::Cleared,
            _ => false,
        });
        findings.count() > 1
    };
    records
        .iter()
        .filter_map(move |record| match &record.event {
            Event::Gap(gap) if !gap.resumed => Some((record.at, TroubleKind::LostGap)),
            Event::StreamError(_) => Some((record.at, TroubleKind::Error)),
            Event::Finding(finding)
                if finding.state == Standing::Raised
                    && !is_reported_again(&finding.key())
                    && !matches!(finding.severity, Severity::Note | Severity::Unknown) =>
            {
                Some((record.at, TroubleKind::Finding))
            }
            _ => None,
        })
}

/// Returns begin and end of each gap that was not resumed, from the whole fold.
fn lost_gaps(before: &State, records: &[Record]) -> Vec<(Time, Time)> {
    let (mut state, mut gaps) = (before.clone(), Vec::new());
    for record in records {
        if let Event::Gap(gap) = &record.event
            && !gap.resumed
        {
            let watch = state.watches.get(&gap.watch);
            let open = watch.and_then(|watch| watch.gap.as_ref());
            let since = open.map_or(record.at, |open| open.since.at);
            gaps.push((since.max(before.at), record.at));
        }
        state.apply(record);
    }
    gaps.sort();
    gaps
}

#[test]
fn a_ghost_that_becomes_an_older_list_is_marked_up_to_there() {
    let Event::Verdict(ghost) = verdict(Standing::Raised) else {
        panic!("a verdict")
    };
    let older = Verdict {
        kind: Divergence::ListOlder,
        state: Standing::Updated,
        ..ghost.clone()
    };
    let started = WatchStarted::plain(WATCHES[0].into(), "", "pods");
    let log = stamped([(started.into(), 1), (ghost.into(), 1), (older.into(), 1)]);
    let summary = summary_of(&folded(&log[..2]), &log[2..]);
    let open = summary
        .troubles
        .iter()
        .find(|trouble| trouble.open_at_begin);
    assert_eq!(open.map(|open| open.severity), Some(Severity::Divergence));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    #[test]
    fn a_summary_counts_all_records_and_marks_every_trouble((log, acts, _) in plan()) {
        let file = write(&log, &acts, false, true).bytes;
        let contents = host::open(&file).unwrap();
        for entry in &contents.chapters {
            let summary = &entry.summary;
            let range = summary.first.0 as usize - 1..summary.last.0 as usize;
            let records = &log[range];
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            records.iter().for_each(|record| *counts.entry(record.event.kind()).or_default() += 1);
            prop_assert_eq!(&summary.counts, &counts.into_iter().collect::<Vec<_>>());
            if let (Some(first), Some(last)) = (records.first(), records.last()) {
                prop_assert_eq!((summary.first_at, summary.last_at), (first.at, last.at));
            }
            prop_assert!(summary.troubles.len() <= MAX_TROUBLES);
            prop_assert!(summary.troubles.windows(2).all(|pair| pair[0].start <= pair[1].start));
            for (at, kind) in instants(records) {
                let is_marked = summary.troubles.iter().any(|trouble| trouble.start <= at && at <= trouble.end());
                prop_assert!(is_marked, "{} at {}", kind, at);
            }
            for trouble in &summary.troubles {
                prop_assert!(trouble.end() <= summary.last_at);
            }
            if summary.troubles.iter().all(|trouble| trouble.count == 1) {
                let gaps = summary.troubles.iter().filter(|trouble| trouble.kind == TroubleKind::LostGap);
                let mut gaps: Vec<(Time, Time)> = gaps.map(|gap| (gap.start, gap.end())).collect();
                gaps.sort();
                prop_assert_eq!(gaps, lost_gaps(&folded(&log[..summary.first.0 as usize - 1]), records));
            }
        }
    }

    #[test]
    fn an_open_divergence_is_marked_in_every_chapter_that_it_reaches(log in log(), cut in any::<prop::sample::Index>()) {
        let (before, after) = log.split_at(cut.index(log.len()));
        let begin = folded(before);
        let stood = begin.watches.values().any(|watch| watch.verdicts.values().any(|open| open.verdict.kind != Divergence::ListOlder && open.since.seq <= begin.seq));
        let summary = summary_of(&begin, after);
        let is_marked = summary.troubles.iter().any(|trouble| trouble.open_at_begin && trouble.severity == Severity::Divergence);
        prop_assert!(!stood || is_marked);
    }
}
