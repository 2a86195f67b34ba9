//! All known problems: from the catalogue, and from records that no listed chapter holds.

use watchscope_model::Time;
use watchscope_model::summary::{Summary, Trouble, TroubleKind};
use watchscope_model::tree;
use watchscope_model::vocabulary::{Divergence, Severity};

use crate::store::{Epoch, Store, WatchTrace};

/// The end of an open problem: the greatest time.
const OPEN: Time = Time(i64::MAX);

/// A problem on the time axis. A chapter's summary may join several problems as one. A joined problem lasts from the
/// first begin to the last end, with severity and kind of the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TroubleMark {
    /// When the problem began; for a finding of a loaded record, the time of the record that raised it. For a problem
    /// that was open already when the first listed chapter that shows it opened, the time of that opening.
    pub at: Time,
    /// When the problem ended. If a chapter's summary lists the problem as open at the chapter's end, it is the time of
    /// the chapter's last record. That holds even if later chapters know the problem, too. For an open finding or
    /// divergence that no listed chapter holds, it is `Time(i64::MAX)`, or until when loaded records know it.
    pub until: Time,
    /// The problem's severity: at least a warning.
    pub severity: Severity,
    /// The problem's kind.
    pub kind: TroubleKind,
}

/// Returns all known problems by rising begin, then by rising severity; empty if none is known. A problem that lasts
/// over several listed chapters in a row is listed in the first of them alone. It is listed again if its severity
/// rises, or if a summary joins it with others. Muted findings are listed too. The result has at most 32 problems for
/// each listed chapter, and one for each problem of loaded records that no listed chapter holds.
#[must_use]
pub fn troubles(store: &Store) -> Vec<TroubleMark> {
    let mut marks = Vec::new();
    each(store, &mut |found| marks.extend(found.begun()));
    tree::sort_by_key(&mut marks, |mark| (mark.at, mark.severity.rank()));
    marks
}

/// A problem, or the part of one that a chapter shows.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) mark: TroubleMark,
    /// Whether the problem continues from the chapter before, where it is marked.
    pub(super) goes_on: bool,
}

impl Found {
    /// Returns the problem, if it did not begin in an earlier chapter.
    fn begun(self) -> Option<TroubleMark> {
        (!self.goes_on).then_some(self.mark)
    }
}

/// Passes all known problems to `out`, in no order.
pub(super) fn each(store: &Store, out: &mut impl FnMut(Found)) {
    for epoch in store.epochs() {
        listed(epoch, out);
        findings(epoch, out);
        for watch in epoch.trace.watches.iter().flatten() {
            of_watch(epoch, watch, out);
        }
    }
}

/// Passes on the problems in the summaries of listed chapters.
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

/// Whether a severity counts as a problem; a note does not.
fn counts(severity: Severity) -> bool {
    severity.rank() >= Severity::Warning.rank()
}

/// Whether a problem was open at the end of the chapter before, and was marked there. An entry that stands for several
/// problems may hold a new problem, so such an entry does not count as continuing.
fn goes_on(before: &Summary, trouble: &Trouble) -> bool {
    let is_same = |other: &Trouble| {
        other.open_at_end
            && other.kind == trouble.kind
            && other.severity.rank() >= trouble.severity.rank()
    };
    trouble.open_at_begin && trouble.count == 1 && before.troubles.iter().any(is_same)
}

/// Passes on findings of loaded records. A finding that a summary lists is passed on as continuing, because it may last
/// longer than the summary says.
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

/// Passes on lost gaps, errors and divergences of a watch in loaded records.
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
        // Only a confirmed verdict is shown as a fact. A list older than the watch proves nothing against the watch.
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
