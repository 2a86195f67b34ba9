//! The thread of a "why": its steps over the stories of the failure catalogue.

use std::time::Duration;

use watchscope_diagnosis::audit::Level;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::vocabulary::Standing;
use watchscope_model::{Entry, Event, Row, State};
use watchscope_scenarios::lessons::{english, lesson};
use watchscope_scenarios::{Run, story};
use watchscope_timeline::Store;
use watchscope_timeline::evidence::{Item, Way};
use watchscope_timeline::why::{MOST_STEPS, Why, taught, why};
use watchscope_timeline::words::why_words;

/// How long each story runs.
const LASTS: Duration = Duration::from_secs(150);

/// Returns the entries of a story, with those of the inside, and a store of them.
fn told(code: &str) -> (Vec<Entry>, Store) {
    let story = story(code).expect("a story");
    let mut run = Run::watched(story, 1);
    let before = run.records().iter().cloned().map(Entry::Record);
    let before: Vec<Entry> = before.collect();
    run.tell_one_log();
    run.audit(Level::Full);
    run.run_for(LASTS);
    let entries = [before, run.take_log()].concat();
    let (mut writer, head) = ChapterWriter::open("log".into(), "a".into(), &State::default());
    let mut store = Store::default();
    store.snapshot(&head).expect("a snapshot");
    for entry in &entries {
        match entry {
            Entry::Record(record) => writer.push(record),
            Entry::Inside(record) => writer.push_inside(record),
        }
    }
    let segment = writer.seal().expect("entries");
    store.segment(&segment).expect("a segment");
    (entries, store)
}

/// The most records of a story that the test explains. Finding a record means reading its chapter.
const RECORDS_MOST: usize = 12;
/// The stories whose findings the page must explain.
const CODES: [&str; 7] = ["F08", "F11", "F15", "F19", "F24", "F33", "F36"];

/// Returns the thread of the last record that raised a finding, one line for each step.
fn lines(entries: &[Entry], store: &Store, code: &str) -> Vec<String> {
    let raised = entries.iter().rev().find_map(|entry| match entry {
        Entry::Record(record) => match &record.event {
            Event::Finding(finding)
                if *finding.code == *code && finding.state == Standing::Raised =>
            {
                Some(record.seq)
            }
            _ => None,
        },
        Entry::Inside(_) => None,
    });
    let of = store.newest(raised.expect("it was raised"));
    let thread = why_words(store, of).expect("a thread");
    let line = |item: &Item| {
        let [time, lane, what] = &item.words;
        format!("{time} | {lane} | {:?} | {what}", item.way.expect("a way"))
    };
    thread.items.iter().map(line).collect()
}

#[test]
fn a_finding_is_explained_from_the_write_to_where_it_stopped() {
    let expected: [(&str, &[&str]); 7] = [
        ("F08", &["reset by peer", "No event is lost", "F08"]),
        (
            "F11",
            &[
                "reset by peer",
                "not known: ",
                "ERROR 410",
                "The list is complete",
            ],
        ),
        ("F15", &["answered 429", "F15"]),
        (
            "F19",
            &[
                "was deleted at revision",
                "The watch cache has",
                "The change came while no stream was open",
                "F19",
            ],
        ),
        (
            "F24",
            &[
                "The last that this watch received",
                "was deleted at revision",
                "F24",
            ],
        ),
        (
            "F33",
            &[
                "etcd was restored: it went back from revision",
                "the newest list is at",
                "F33",
            ],
        ),
        ("F36", &["had not read it", "No event is lost", "F36"]),
    ];
    for (code, words) in expected {
        let (entries, store) = told(code);
        let lines = lines(&entries, &store, code);
        let mut rest = lines.iter();
        for word in words {
            assert!(
                rest.any(|line| line.contains(word)),
                "{word} in\n{}",
                lines.join("\n")
            );
        }
    }
}

/// Whether a record is of a kind that a "why" may explain.
fn is_explainable(entry: &Entry) -> bool {
    let Entry::Record(record) = entry else {
        return false;
    };
    matches!(
        record.event,
        Event::Finding(_) | Event::Verdict(_) | Event::Gap(_) | Event::ListComplete(_)
    )
}

#[test]
fn each_step_is_in_order_of_time_and_cites_a_record_of_that_time() {
    for code in CODES {
        let (entries, store) = told(code);
        let mut explained = 0;
        let mut unknown = 0;
        let may_be = entries.iter().rev().filter(|entry| is_explainable(entry));
        for entry in may_be.take(RECORDS_MOST) {
            let of = store.newest(entry.seq());
            let Some(Why { steps, .. }) = why(&store, of) else {
                continue;
            };
            explained += 1;
            assert!((1..=MOST_STEPS).contains(&steps.len()), "{code} {of:?}");
            assert!(steps.is_sorted_by_key(|step| step.at), "{code} {steps:?}");
            for step in &steps {
                let cited = entries.iter().find(|entry| entry.seq() == step.record.seq);
                let cited = cited.expect("an existing record");
                // A later record states a stretch without a stream; an earlier one states where a client was.
                let is_stretch = step.until == Some(cited.at());
                assert!(
                    step.at == cited.at() || is_stretch || step.way == Way::NobodyHeard,
                    "{code} {step:?} {cited:?}"
                );
                unknown += u64::from(step.way == Way::NotKnown);
            }
        }
        assert!(explained > 0, "{code}");
        assert!(code != "F11" || unknown > 0, "the list shows no event");
    }
}

#[test]
fn each_lesson_of_the_table_exists_and_says_what_it_teaches() {
    let rows = Row::ALL.into_iter();
    let taught: Vec<_> = rows.filter_map(|row| Some((row, taught(row)?))).collect();
    assert!(!taught.is_empty());
    for (row, taught) in taught {
        let lesson = lesson(taught.lesson).expect("an existing lesson");
        let texts = english(&lesson).unwrap();
        assert!(
            !texts.teaches.is_empty() && !taught.title.is_empty(),
            "{row}"
        );
    }
}
