//! The judgements of recordings that are written or served, and the comparison of new judgements with the recorded ones.

use std::fmt::Write as _;

use watchscope_journal::again::{
    About, Again, Comparison, Difference, Judgement, Missing, Numbers, Says,
};
use watchscope_model::{Entry, EpochId, Seq, State};

use super::args::Judge;
use super::terminal::plain;

/// Passes records on, with their recorded judgements or with new ones. It holds one comparison for each run, and each of
/// these is bounded.
pub(super) enum Judging {
    /// The recorded judgements stay.
    Recorded,
    /// Diagnosis runs again.
    Again {
        /// The run whose records are being taken.
        run: Option<(EpochId, Box<Again>)>,
        /// The comparisons of the runs before it.
        runs: Vec<Comparison>,
        /// The mapping between the new and the recorded seqs of each run.
        numbers: Vec<(EpochId, Numbers)>,
    },
}

/// A stretch of a run that was not recorded.
pub(super) struct Hole {
    /// The entries that must still be written before it.
    pub(super) before: Vec<Entry>,
    /// Its first record.
    pub(super) from: Seq,
    /// Its last record.
    pub(super) to: Seq,
}

impl Judging {
    pub(super) fn new(judge: Judge) -> Self {
        match judge {
            Judge::Recorded => Self::Recorded,
            Judge::Again => Self::Again {
                run: None,
                runs: Vec::new(),
                numbers: Vec::new(),
            },
        }
    }

    /// Begins a run. `opening` is the fold of all records before its first recorded one.
    pub(super) fn begin(&mut self, epoch: &EpochId, opening: &State) {
        if let Self::Again { run, .. } = self {
            *run = Some((epoch.clone(), Box::new(Again::new(opening.clone()))));
        }
    }

    /// Continues the run after a hole that begins with the recorded `next`.
    pub(super) fn go_on(&mut self, next: Seq, opening: &State) -> Hole {
        let mut before = Vec::new();
        let last = opening.seq;
        let (from, to) = match self {
            Self::Again {
                run: Some((_, run)),
                ..
            } => run.go_on(opening.clone(), &mut before),
            _ => (next, last),
        };
        Hole { before, from, to }
    }

    /// Takes the next recorded entries. Returns those to be written.
    pub(super) fn take(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let Self::Again {
            run: Some((_, run)),
            ..
        } = self
        else {
            return entries;
        };
        let mut judged = Vec::with_capacity(entries.len());
        for entry in entries {
            run.take(entry, &mut judged);
        }
        judged
    }

    /// Ends the run. Returns the entries that must still be written.
    pub(super) fn end(&mut self) -> Vec<Entry> {
        let mut last = Vec::new();
        if let Self::Again { run, runs, numbers } = self
            && let Some((epoch, run)) = run.take()
        {
            numbers.push((epoch, run.numbers().clone()));
            runs.push(run.end(&mut last));
        }
        last
    }

    /// Returns for each run the mapping between new and recorded seqs; none if nothing is judged again.
    pub(super) fn into_numbers(self) -> Vec<(EpochId, Numbers)> {
        match self {
            Self::Recorded => Vec::new(),
            Self::Again { numbers, .. } => numbers,
        }
    }

    /// Returns the comparison of all runs, in lines; none if nothing is judged again.
    pub(super) fn lines(&self) -> Vec<String> {
        match self {
            Self::Recorded => Vec::new(),
            Self::Again { runs, .. } => lines(runs),
        }
    }
}

fn lines(runs: &[Comparison]) -> Vec<String> {
    let sum = |number: fn(&Comparison) -> u64| runs.iter().map(number).sum::<u64>();
    let differing = sum(|run| run.differing.len() as u64 + run.differing_unlisted);
    let apart = sum(|run| run.apart.len() as u64 + run.apart_unlisted);
    let mut lines = vec![format!(
        "Judged again: {} the same as recorded, {} taken as recorded because they rest on the audit, {differing} that \
         differ, {apart} that cannot be judged again.",
        sum(|run| run.same),
        sum(|run| run.audited),
    )];
    for difference in runs.iter().flat_map(|run| &run.differing) {
        lines.push(match difference {
            Difference::New(judgement) => format!("  only judged again: {}", words(judgement)),
            Difference::Gone(judgement) => format!("  only recorded: {}", words(judgement)),
            Difference::Changed { recorded, again } => format!(
                "  recorded: {}; judged again: {}",
                words(recorded),
                words(again)
            ),
        });
    }
    more(sum(|run| run.differing_unlisted), &mut lines);
    if apart > 0 {
        lines.push(
            "These rest on records that the recording does not hold, so the recorded judgement counts:"
                .to_owned(),
        );
    }
    for (judgement, missing) in runs.iter().flat_map(|run| &run.apart) {
        lines.push(format!("  {}: {}", words(judgement), reason(missing)));
    }
    more(sum(|run| run.apart_unlisted), &mut lines);
    lines
}

fn more(unlisted: u64, lines: &mut Vec<String>) {
    if unlisted > 0 {
        lines.push(format!("  and {unlisted} more"));
    }
}

/// The code, subject, severity and time of a judgement.
fn words(judgement: &Judgement) -> String {
    let mut words = String::new();
    // Writing to a String does not fail.
    let _ = match &judgement.about {
        About::Finding { code, subject } => {
            let subject = subject.as_deref().unwrap_or("the cluster");
            write!(words, "{} {}", plain(code), plain(subject))
        }
        About::End { stream, watch } => {
            write!(words, "end of stream {stream} of {}", plain(watch.as_str()))
        }
    };
    let _ = match &judgement.says {
        Says::Finding { state, severity } => write!(words, ", {severity}, {state}"),
        Says::End { code, certainty } => write!(words, ", {}, {certainty}", plain(code)),
    };
    let _ = write!(words, ", {}", judgement.at);
    words
}

fn reason(missing: &Missing) -> String {
    match missing {
        Missing::Record(seq) => format!("it rests on record {seq}"),
        Missing::Began(at) => format!("it began at {at}"),
        Missing::Stood => "the finding stood before".to_owned(),
        Missing::UnderWay => "what it is about was under way before".to_owned(),
        Missing::Alike => "it concerns watches of another one in this list".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use watchscope_model::vocabulary::{Certainty, Severity, Standing};
    use watchscope_model::{StreamId, Time};

    use super::*;

    fn finding(severity: Severity, millis: u64) -> Judgement {
        Judgement {
            about: About::Finding {
                code: "F11".into(),
                subject: Some("shop/\u{1b}pods".into()),
            },
            says: Says::Finding {
                state: Standing::Raised,
                severity,
            },
            at: Time(1_763_715_600_000_000).plus_millis(millis),
        }
    }

    #[test]
    fn differences_and_judgements_that_cannot_be_made_are_listed_separately() {
        let end = Judgement {
            about: About::End {
                stream: StreamId(7),
                watch: "shop/pods".into(),
            },
            says: Says::End {
                code: "F06".into(),
                certainty: Certainty::Likely,
            },
            at: Time(1_763_715_600_000_000),
        };
        let first = Comparison {
            same: 2,
            audited: 1,
            differing: vec![
                Difference::New(finding(Severity::Note, 4)),
                Difference::Gone(end.clone()),
            ],
            apart: vec![(end, Missing::Record(Seq(17)))],
            ..Comparison::default()
        };
        let second = Comparison {
            same: 3,
            differing: vec![Difference::Changed {
                recorded: finding(Severity::Note, 9),
                again: finding(Severity::Warning, 1_009),
            }],
            differing_unlisted: 5,
            ..Comparison::default()
        };
        assert_snapshot!(lines(&[first, second]).join("\n"), @r"
        Judged again: 5 the same as recorded, 1 taken as recorded because they rest on the audit, 8 that differ, 1 that cannot be judged again.
          only judged again: F11 shop/\u{1b}pods, note, raised, 2025-11-21T09:00:00.004000Z
          only recorded: end of stream 7 of shop/pods, F06, likely, 2025-11-21T09:00:00.000000Z
          recorded: F11 shop/\u{1b}pods, note, raised, 2025-11-21T09:00:00.009000Z; judged again: F11 shop/\u{1b}pods, warning, raised, 2025-11-21T09:00:01.009000Z
          and 5 more
        These rest on records that the recording does not hold, so the recorded judgement counts:
          end of stream 7 of shop/pods, F06, likely, 2025-11-21T09:00:00.000000Z: it rests on record 17
        ");
    }

    #[test]
    fn without_a_difference_there_is_one_line() {
        let comparison = Comparison {
            same: 8,
            ..Comparison::default()
        };
        assert_eq!(lines(&[comparison]).len(), 1);
        assert_eq!(Judging::new(Judge::Recorded).lines(), Vec::<String>::new());
    }
}
