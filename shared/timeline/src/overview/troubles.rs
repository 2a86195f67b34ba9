//! What went wrong, of all that is known: from the catalogue, and from records that no listed chapter holds.

use watchscope_model::Time;
use watchscope_model::summary::{Summary, Trouble, TroubleKind};
use watchscope_model::tree;
use watchscope_model::vocabulary::{Divergence, Severity};

use crate::store::{Epoch, Store, WatchTrace};

/// When an open trouble ends.
const OPEN: Time = Time(i64::MAX);

/// A problem on the time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TroubleMark {
    /// When it began.
    pub at: Time,
    /// When it ended, or until when it is known to last; the end of all time while it is open now.
    pub until: Time,
    /// Its severity: at least a warning.
    pub severity: Severity,
    /// Its kind.
    pub kind: TroubleKind,
}

/// All problems known, by time. A problem that lasts over several chapters is listed once, where it began.
#[must_use]
pub fn troubles(store: &Store) -> Vec<TroubleMark> {
    let mut marks = Vec::new();
    each(store, &mut |found| marks.extend(found.begun()));
    tree::sort_by_key(&mut marks, |mark| (mark.at, mark.severity.rank()));
    marks
}

/// When the last problem before `at` began.
#[must_use]
pub fn previous_trouble(store: &Store, at: Time) -> Option<Time> {
    let mut previous = None;
    each(store, &mut |found| {
        let begun = found.begun().map(|mark| mark.at);
        previous = previous.max(begun.filter(|&begun| begun < at));
    });
    previous
}

/// When the first problem after `at` began.
#[must_use]
pub fn next_trouble(store: &Store, at: Time) -> Option<Time> {
    let mut next: Option<Time> = None;
    each(store, &mut |found| {
        let begun = found.begun().map(|mark| mark.at);
        let later = begun.filter(|&begun| begun > at);
        next = next.into_iter().chain(later).min();
    });
    next
}

/// A problem, or the part of one that a chapter shows.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) mark: TroubleMark,
    /// Whether it goes on from the chapter before, where it is marked.
    pub(super) goes_on: bool,
}

impl Found {
    /// The problem, if it began here.
    fn begun(self) -> Option<TroubleMark> {
        (!self.goes_on).then_some(self.mark)
    }
}

/// Hands out all problems known, in no order.
pub(super) fn each(store: &Store, out: &mut impl FnMut(Found)) {
    for epoch in store.epochs() {
        listed(epoch, out);
        findings(epoch, out);
        for watch in epoch.trace.watches.iter().flatten() {
            of_watch(epoch, watch, out);
        }
    }
}

/// Those that the summaries of listed chapters name.
fn listed(epoch: &Epoch, out: &mut impl FnMut(Found)) {
    let mut before: Option<&Summary> = None;
    for entry in epoch.catalogue() {
        let summary = &entry.summary;
        let follows = before.filter(|before| before.last.next() == summary.first);
        for trouble in summary.troubles.iter().filter(|of| counts(of.severity)) {
            out(Found {
                mark: TroubleMark {
                    at: trouble.start,
                    until: trouble.end(),
                    severity: trouble.severity,
                    kind: trouble.kind,
                },
                goes_on: follows.is_some_and(|before| goes_on(before, trouble)),
            });
        }
        before = Some(summary);
    }
}

/// Notes are no problems.
fn counts(severity: Severity) -> bool {
    severity.rank() >= Severity::Warning.rank()
}

/// Whether a trouble was open at the end of the chapter before, and was marked there. Several that stand as one may
/// hold a new one, so they do not count as going on.
fn goes_on(before: &Summary, trouble: &Trouble) -> bool {
    let is_same = |other: &Trouble| {
        other.open_at_end
            && other.kind == trouble.kind
            && other.severity.rank() >= trouble.severity.rank()
    };
    trouble.open_at_begin && trouble.count == 1 && before.troubles.iter().any(is_same)
}

/// Findings of loaded records. Those that a summary names are handed out as going on: they may last longer than it knows.
fn findings(epoch: &Epoch, out: &mut impl FnMut(Found)) {
    for span in epoch.trace.occurrences.all() {
        if counts(span.what.severity) {
            out(Found {
                mark: TroubleMark {
                    at: span.start.at,
                    until: span.end_at(OPEN),
                    severity: span.what.severity,
                    kind: TroubleKind::Finding,
                },
                goes_on: epoch.lists(span.start.seq),
            });
        }
    }
}

/// Lost gaps, errors and divergences of a watch in loaded records.
fn of_watch(epoch: &Epoch, watch: &WatchTrace, out: &mut impl FnMut(Found)) {
    for span in watch.gaps.all() {
        let is_lost = span.what.outcome.is_some_and(|outcome| !outcome.resumed);
        let Some(end) = span.end.filter(|end| is_lost && !epoch.lists(end.seq)) else {
            continue;
        };
        out(Found {
            mark: TroubleMark {
                at: span.start.at,
                until: end.at,
                severity: Severity::Warning,
                kind: TroubleKind::LostGap,
            },
            goes_on: false,
        });
    }
    for error in watch.errors.iter().map(|error| error.moment) {
        if !epoch.lists(error.seq) {
            out(Found {
                mark: TroubleMark {
                    at: error.at,
                    until: error.at,
                    severity: Severity::Error,
                    kind: TroubleKind::Error,
                },
                goes_on: false,
            });
        }
    }
    for span in watch.objects.iter().flat_map(|of| of.verdicts.all()) {
        // Only a confirmed verdict is shown as a fact; a list older than the watch says nothing against it.
        if span.what.is_confirmed && span.what.kind != Divergence::ListOlder {
            out(Found {
                mark: TroubleMark {
                    at: span.start.at,
                    until: span.end_at(OPEN),
                    severity: Severity::Divergence,
                    kind: TroubleKind::Divergence,
                },
                goes_on: epoch.lists(span.start.seq),
            });
        }
    }
}
