//! One watch whose streams end without a reason, recorded by a journal and judged again.

use watchscope_diagnosis::audit::Read;
use watchscope_model::event::{Clock, Loss, Note, StreamEnded, StreamOpened, WatchStarted};
use watchscope_model::vocabulary::{Author, Cause, Certainty, LossPlace, Severity, Standing};
use watchscope_model::{InsideRecord, RequestId, StreamId};

use super::*;
use crate::{Journal, Sink};

/// When every log of these tests begins.
const START: Time = Time(1_763_715_600_000_000);

#[derive(Default)]
struct Kept(Vec<Entry>);

impl Sink for Kept {
    fn record(&mut self, record: Record, _: &State) {
        self.0.push(Entry::Record(record));
    }

    fn inside(&mut self, record: InsideRecord, _: &State) {
        self.0.push(Entry::Inside(record));
    }

    fn read(&mut self, _: Read) -> bool {
        false
    }

    fn restored(&mut self) {}
}

fn ms(millis: u64) -> Time {
    START.plus_millis(millis)
}

fn note(text: &str) -> Event {
    Note::new(Author::Story, text.to_owned()).into()
}

fn opened(stream: u64) -> Event {
    StreamOpened {
        watch: "shop/pods".into(),
        stream: StreamId(stream),
        request: RequestId(stream),
        resource_version: None,
        http2_stream: None,
    }
    .into()
}

fn ended(stream: u64) -> Event {
    StreamEnded {
        watch: "shop/pods".into(),
        stream: StreamId(stream),
        cause: Cause::Eof,
        age_ms: 30_000,
        events: 3,
        bytes: 900,
        reset_code: None,
        unread_ms: None,
    }
    .into()
}

fn started() -> Event {
    WatchStarted::plain("shop/pods".into(), "", "pods").into()
}

/// The log of a host that settles before each event. A host that is not prompt is 40 ms late, and settles after the
/// last event of each stream.
fn recorded(is_prompt: bool) -> Vec<Entry> {
    let mut events = vec![(0, started())];
    for stream in 1..=5 {
        events.push((stream * 10_000, opened(stream)));
        events.push((stream * 10_000 + 5_000, ended(stream)));
        events.push((stream * 10_000 + 5_020, note("soon after")));
        events.push((stream * 10_000 + 5_290, note("later")));
    }
    let (mut journal, mut kept) = (Journal::new(START), Kept::default());
    for (number, (at, event)) in (1..).zip(events) {
        if is_prompt {
            journal.settle_before(ms(at), &mut kept);
        }
        journal.append(event, ms(at), &mut kept);
        if !is_prompt && number % 4 == 1 {
            journal.settle(ms(at), &mut kept);
        }
    }
    journal.settle(ms(100_000), &mut kept);
    kept.0
}

fn judged(entries: &[Entry]) -> (Vec<Entry>, Comparison) {
    let opening = State {
        at: START,
        ..State::default()
    };
    let (mut again, mut out) = (Again::new(opening), Vec::new());
    for entry in entries {
        again.take(entry.clone(), &mut out);
    }
    let comparison = again.end(&mut out);
    (out, comparison)
}

fn is_judgement(entry: &Entry) -> bool {
    let record = entry.record();
    record.is_some_and(|record| Judgement::of(&record.event, record.at).is_some())
}

/// The entries for which `is_out` is false, numbered without holes.
fn without(entries: &[Entry], is_out: impl Fn(&Entry) -> bool) -> Vec<Entry> {
    let left = entries.iter().filter(|entry| !is_out(entry));
    let numbered = left.cloned().zip(1..).map(|(entry, seq)| match entry {
        Entry::Record(record) => Entry::Record(Record {
            seq: Seq(seq),
            ..record
        }),
        Entry::Inside(record) => Entry::Inside(InsideRecord {
            seq: Seq(seq),
            ..record
        }),
    });
    numbered.collect()
}

fn is_first_end(entry: &Entry) -> bool {
    let record = entry.record();
    record.is_some_and(|record| matches!(&record.event, Event::Attribution(_)))
}

#[test]
fn the_same_diagnosis_makes_the_same_judgements_in_the_same_places_in_either_order_of_the_host() {
    for is_prompt in [true, false] {
        let entries = recorded(is_prompt);
        let judgements = entries.iter().filter(|entry| is_judgement(entry)).count();
        assert!(judgements >= 5, "{judgements}");
        let (out, comparison) = judged(&entries);
        assert_eq!(out, entries);
        let same = judgements as u64;
        assert_eq!(
            comparison,
            Comparison {
                same,
                ..Comparison::default()
            }
        );
    }
}

#[test]
fn an_unrecorded_judgement_is_new_and_comes_at_most_100_ms_after_it_is_due() {
    let entries = recorded(true);
    let facts = without(&entries, is_judgement);
    let (out, comparison) = judged(&facts);
    // A judgement due after the last record is not made.
    assert!(comparison.differing.len() >= 4);
    assert!(
        comparison
            .differing
            .iter()
            .all(|difference| matches!(difference, Difference::New(_)))
    );
    assert_eq!(
        out.len(),
        facts.len() + comparison.differing.len(),
        "all of them come out"
    );
    let seqs = out.iter().map(|entry| entry.seq().0);
    assert!(seqs.eq(1..=out.len() as u64), "without holes");
    let is_late = |difference: &Difference| {
        let at = difference.at();
        let was = entries.iter().filter(|entry| is_judgement(entry));
        was.map(|entry| at.micros_since(entry.at()).abs())
            .min()
            .is_none_or(|late_us| late_us > LATE_US)
    };
    assert!(!comparison.differing.iter().any(is_late));
}

#[test]
fn a_judgement_not_made_again_is_gone_and_one_with_another_content_has_changed() {
    let mut entries = recorded(true);
    let place = entries.iter().position(is_first_end).unwrap();
    let Entry::Record(record) = &mut entries[place] else {
        panic!("it is a record");
    };
    let Event::Attribution(attribution) = &mut record.event else {
        panic!("it is an attribution");
    };
    let was = attribution.code.clone();
    attribution.code = "F99".into();
    let (_, comparison) = judged(&entries);
    let [Difference::Changed { recorded, again }] = &comparison.differing[..] else {
        panic!("{comparison:?}");
    };
    let code = |judgement: &Judgement| match &judgement.says {
        Says::End { code, .. } => code.clone(),
        Says::Finding { .. } => "".into(),
    };
    assert_eq!((code(recorded), code(again)), ("F99".into(), was));
    assert_eq!(recorded.at, again.at);

    let Entry::Record(record) = &mut entries[place] else {
        panic!("it is a record");
    };
    if let Event::Attribution(attribution) = &mut record.event {
        attribution.stream = StreamId(77);
    }
    let (_, comparison) = judged(&entries);
    let kinds = comparison
        .differing
        .iter()
        .map(|difference| match difference {
            Difference::New(_) => "new",
            Difference::Gone(_) => "gone",
            Difference::Changed { .. } => "changed",
        });
    let mut kinds: Vec<&str> = kinds.collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["gone", "new"]);
}

#[test]
fn records_that_name_others_name_the_new_numbers() {
    let entries = recorded(true);
    let is_first_judgement = {
        let place = entries.iter().position(is_judgement).unwrap();
        let seq = entries[place].seq();
        move |entry: &Entry| entry.seq() == seq
    };
    // One judgement fewer is recorded, so later records have lower numbers; the evidence of later judgements is not
    // lowered.
    let short = without(&entries, is_first_judgement);
    let (out, _) = judged(&short);
    assert_eq!(out.len(), entries.len());
    for (new, old) in out.iter().zip(&entries) {
        let (Some(new), Some(old)) = (new.record(), old.record()) else {
            continue;
        };
        if let (Event::Attribution(new), Event::Attribution(old)) = (&new.event, &old.event) {
            assert_eq!(new.evidence, old.evidence);
        }
    }
}

#[test]
fn after_a_hole_subjects_that_began_before_it_are_taken_as_recorded_and_listed_apart() {
    let entries = recorded(true);
    let first_end = |entry: &&Entry| {
        let record = entry.record();
        record.is_some_and(|record| matches!(record.event, Event::StreamEnded(_)))
    };
    let end = entries.iter().find(first_end).unwrap().seq();
    let mut state = State {
        at: START,
        ..State::default()
    };
    let (mut again, mut out) = (Again::new(state.clone()), Vec::new());
    for entry in &entries {
        if entry.seq() == end.next() {
            // The end itself lies in the hole.
            let (from, to) = again.go_on(state.clone(), &mut out);
            assert_eq!((from, to), (end, end));
        }
        if entry.seq() != end {
            again.take(entry.clone(), &mut out);
        }
        state.apply(entry.record().unwrap());
    }
    let comparison = again.end(&mut out);
    assert_eq!(comparison.differing, []);
    let missing: Vec<Missing> = comparison
        .apart
        .iter()
        .map(|(_, missing)| *missing)
        .collect();
    assert!(missing.contains(&Missing::Record(end)), "{comparison:?}");
    let left: Vec<Entry> = entries
        .into_iter()
        .filter(|entry| entry.seq() != end)
        .collect();
    assert_eq!(out, left);
}

#[test]
fn a_judgement_that_rests_on_a_withheld_record_is_taken_as_recorded_and_listed_apart() {
    let mut entries = recorded(true);
    let mut ends = Vec::new();
    for entry in &mut entries {
        if let Entry::Record(record) = entry
            && matches!(record.event, Event::StreamEnded(_))
        {
            ends.push(Missing::Record(record.seq));
            let seq = Some(record.seq);
            record.event = Loss {
                place: LossPlace::Withheld,
                count: 1,
                from_seq: seq,
                to_seq: seq,
                watch: None,
                bytes: None,
                reason: None,
                what: None,
            }
            .into();
        }
    }
    let (out, comparison) = judged(&entries);
    assert_eq!(out, entries);
    assert_eq!(comparison.differing, []);
    let apart = comparison.apart.iter().map(|(_, missing)| missing);
    assert!(
        apart.clone().all(|missing| ends.contains(missing)),
        "{comparison:?}"
    );
    assert!(
        ends.iter()
            .all(|end| apart.clone().any(|missing| missing == end))
    );
}

#[test]
fn the_latest_possible_time_and_seqs_out_of_order_delay_nothing() {
    let mut entries = recorded(true);
    let last = entries.last().unwrap().seq();
    let late = |seq, at| {
        Entry::Record(Record {
            seq,
            at,
            event: note("late"),
        })
    };
    entries.push(late(last.next(), Time(i64::MAX)));
    entries.push(late(last, START));
    entries.push(late(Seq(u64::MAX), Time(i64::MIN)));
    let pause = Clock {
        off_ms: 0,
        paused_ms: Some(u64::MAX),
    };
    entries.push(Entry::Record(Record {
        seq: Seq(u64::MAX),
        at: START,
        event: pause.into(),
    }));
    let (out, _) = judged(&entries);
    assert!(out.len() >= entries.len() - 2);
    let times: Vec<Time> = out.iter().map(Entry::at).collect();
    assert!(times.is_sorted());
}

#[test]
fn differences_above_the_most_that_are_listed_are_counted() {
    let mut comparing = Comparing::default();
    for number in 0..12_000_u64 {
        let about = About::Finding {
            code: "F11".into(),
            subject: Some(format!("shop/{number}").into()),
        };
        comparing.take(Waiting {
            side: Side::Recorded,
            reach: Reach::of(&note("x"), &about),
            judgement: Judgement {
                about,
                says: Says::Finding {
                    state: Standing::Raised,
                    severity: Severity::Note,
                },
                at: ms(number),
            },
        });
    }
    let comparison = comparing.finish();
    assert_eq!(comparison.differing.len(), MAX_LISTED);
    assert_eq!(comparison.differing_unlisted, 2_000);
}

#[test]
fn a_judgement_matches_the_nearest_of_two_and_none_over_60_s_away() {
    let judgement = |at: u64, certainty| Judgement {
        about: About::End {
            stream: StreamId(1),
            watch: "shop/pods".into(),
        },
        says: Says::End {
            code: "F06".into(),
            certainty,
        },
        at: ms(at),
    };
    let mut comparing = Comparing::default();
    for (side, at, certainty) in [
        (Side::Recorded, 0, Certainty::Likely),
        (Side::Recorded, 1_000, Certainty::Likely),
        (Side::Again, 1_050, Certainty::Likely),
        (Side::Again, 30_000, Certainty::Definite),
        (Side::Again, 200_000, Certainty::Likely),
    ] {
        let judgement = judgement(at, certainty);
        comparing.take(Waiting {
            side,
            reach: Reach::of(&note("x"), &judgement.about),
            judgement,
        });
    }
    let comparison = comparing.finish();
    assert_eq!(comparison.same, 1);
    assert_eq!(
        comparison.differing,
        [
            Difference::Changed {
                recorded: judgement(0, Certainty::Likely),
                again: judgement(30_000, Certainty::Definite),
            },
            Difference::New(judgement(200_000, Certainty::Likely)),
        ]
    );
}
