//! Gathers trouble from loaded records, and from the summaries of chapters that are not loaded.

use watchscope_model::event::Finding;
use watchscope_model::fold::Moment;
use watchscope_model::summary::{self, Summary, TroubleKind};
use watchscope_model::tree;
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Seq, Time};

use super::outage::outages;
use super::trouble::{OPEN, Trouble, TroubleOf, TroublePlace, is_trouble};
use crate::findings::Muted;
use crate::id::{RecordId, WatchId};
use crate::scene::StretchKind;
use crate::store::{Epoch, Occurrence, Span, Store, WatchTrace};

/// Time in µs, included, after the end of a gap or outage up to which a finding can be about it: 10 min. `diagnosis`
/// keeps a finding of a single event open for the same time. A finding raised later is about something else, so the gap
/// or outage counts as trouble of its own. For an open gap or outage the time has no limit.
const FOUND_WITHIN_US: i64 = 600_000_000;

/// An occurrence of a finding about a watch.
struct Concern<'a> {
    watch: WatchId,
    span: &'a Span<Occurrence>,
}

/// A gap or outage of a watch that is trouble unless a finding is about it.
struct Bare {
    start: Moment,
    end: Option<Moment>,
    until: Time,
}

/// Returns the trouble that is not muted, in no order, and the first time at which a wait that lasts now becomes
/// trouble.
pub(super) fn gather(store: &Store, muted: &Muted, now: Time) -> (Vec<Trouble>, Option<Time>) {
    let (mut found, mut due) = (Vec::new(), None);
    for epoch in store.epochs() {
        let first = found.len();
        let concerns = occurrences(store, epoch, muted, &mut found);
        for (place, trace) in epoch.trace.watches.iter().enumerate() {
            let watch = WatchId(place as u32);
            let is_aside = || store.names().watch_name(watch).is_aside();
            if let Some(trace) = trace.as_deref().filter(|_| !is_aside()) {
                let from = concerns.partition_point(|concern| concern.watch < watch);
                let to = concerns.partition_point(|concern| concern.watch <= watch);
                let of_watch = &concerns[from..to];
                bare(epoch, watch, trace, of_watch, now, &mut due, &mut found);
            }
        }
        let known = found[first..].iter();
        let known = known.map(|trouble| (trouble.began, trouble.severity.rank()));
        let known = known.collect();
        listed(epoch, known, &mut found);
    }
    (found, due)
}

/// Adds the occurrences of findings to `found`, except muted ones. Returns the occurrences about watches, sorted by
/// watch and then by record. These include muted occurrences, so that the gaps and outages that a muted finding is
/// about are not listed.
fn occurrences<'a>(
    store: &Store,
    epoch: &'a Epoch,
    muted: &Muted,
    found: &mut Vec<Trouble>,
) -> Vec<Concern<'a>> {
    let mut concerns = Vec::new();
    for span in epoch.trace.occurrences.all() {
        let what = &span.what;
        if !is_trouble(what.severity) {
            continue;
        }
        let named = what.watches.iter();
        let watches: Vec<WatchId> = named
            .filter_map(|name| store.names().find_watch(name))
            .collect();
        concerns.extend(watches.iter().map(|&watch| Concern { watch, span }));
        if muted.has_any() {
            let subject = epoch.trace.findings.get(what.since);
            let subject = subject.and_then(|stands| stands.what.subject.as_ref());
            if muted.has(&Finding::key_of(&what.code, subject)) {
                continue;
            }
        }
        found.push(Trouble {
            began: what.began,
            until: span.end.map_or(span.until, |end| end.at),
            marked_until: span.start.at,
            severity: what.severity,
            of: TroubleOf::Finding {
                code: what.code.clone(),
                name: what.name.clone(),
            },
            watches,
            place: TroublePlace::Finding(record(epoch, span.start.seq)),
            stands_for: what.stands_for(),
        });
    }
    tree::sort_by_key(&mut concerns, |concern| {
        (concern.watch, concern.span.start.seq)
    });
    concerns
}

/// Adds those lost gaps and outages of a watch that no finding is about.
fn bare(
    epoch: &Epoch,
    watch: WatchId,
    trace: &WatchTrace,
    concerns: &[Concern<'_>],
    now: Time,
    due: &mut Option<Time>,
    found: &mut Vec<Trouble>,
) {
    let mut add = |severity, of, kind, bare: &Bare, began: Moment| {
        if !concerns.iter().any(|concern| bare.is_meant(concern.span)) {
            found.push(Trouble {
                began: bare.start.at,
                until: bare.until,
                marked_until: bare.until,
                severity,
                of,
                watches: vec![watch],
                place: TroublePlace::Stretch(kind, watch, record(epoch, began.seq)),
                stands_for: 1,
            });
        }
    };
    let lost = |span: &&Span<_>| -> bool {
        let what: &crate::store::GapSpan = &span.what;
        what.outcome.is_some_and(|outcome| !outcome.resumed)
    };
    let gaps: Vec<Bare> = trace
        .gaps
        .all()
        .iter()
        .filter(lost)
        .map(|span| Bare {
            start: span.start,
            end: span.end,
            until: span.end.map_or(span.until, |end| end.at),
        })
        .collect();
    for gap in &gaps {
        let (severity, of) = (Severity::Warning, TroubleOf::LostGap);
        add(severity, of, StretchKind::Gap, gap, gap.start);
    }
    for outage in outages(trace.phases.all(), now, due) {
        let stretch = Bare {
            start: outage.start,
            end: outage.end,
            until: outage.until,
        };
        // The gap already counts.
        if gaps.iter().any(|gap| gap.overlaps(&stretch)) {
            continue;
        }
        let (severity, of) = if outage.is_refused {
            (Severity::Error, TroubleOf::Refused)
        } else {
            (Severity::Warning, TroubleOf::Waiting)
        };
        if let Some(began) = outage.worst {
            add(severity, of, StretchKind::Phase, &stretch, began);
        }
    }
}

impl Bare {
    /// Whether an occurrence of a finding is about this stretch: the occurrence's evidence has a record of the stretch,
    /// or the occurrence began in the stretch. The occurrence must be recorded no earlier than the stretch began, and
    /// at most [`FOUND_WITHIN_US`] after the stretch ended.
    fn is_meant(&self, of: &Span<Occurrence>) -> bool {
        let last = self.end.map_or(Seq(u64::MAX), |end| end.seq);
        let is_then = of.start.seq >= self.start.seq
            && of.what.began <= self.until
            && of.start.at.micros_since(self.start.at) >= 0
            && (self.until == OPEN || of.start.at.micros_since(self.until) <= FOUND_WITHIN_US);
        let is_shown = |seq: &Seq| (self.start.seq..=last).contains(seq);
        is_then && (of.what.began >= self.start.at || of.what.evidence.iter().any(is_shown))
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.start.at <= other.until && other.start.at <= self.until
    }
}

/// Adds the trouble of listed chapters that are not loaded. `known` has begin and severity of the trouble that loaded
/// records of the epoch show, because a snapshot may show trouble of a chapter that is not loaded.
fn listed(epoch: &Epoch, mut known: Vec<(Time, usize)>, found: &mut Vec<Trouble>) {
    tree::sort_by_key(&mut known, |&known| known);
    let mut before: Option<&Summary> = None;
    for entry in epoch.catalogue() {
        let summary = &entry.summary;
        let follows = before.filter(|before| before.last.next() == summary.first);
        before = Some(summary);
        if epoch.has_all(summary.first, summary.last) {
            continue;
        }
        let all = &summary.troubles;
        for trouble in all.iter().filter(|trouble| is_trouble(trouble.severity)) {
            let goes_on = trouble.open_at_begin && trouble.count == 1 && follows.is_some();
            if goes_on || !stands_alone(trouble, all) || epoch.holds(trouble.start) {
                continue;
            }
            let same = (trouble.start, trouble.severity.rank());
            if known.binary_search(&same).is_ok() {
                continue;
            }
            found.push(Trouble {
                began: trouble.start,
                until: trouble.end(),
                marked_until: trouble.end(),
                severity: trouble.severity,
                of: TroubleOf::Listed(trouble.kind),
                watches: Vec::new(),
                place: TroublePlace::NotLoaded,
                stands_for: trouble.count.max(1),
            });
        }
    }
}

/// Whether a trouble in a chapter's summary counts by itself. A lost gap does not count if a finding overlaps it in
/// time. Single errors and divergences do not count, because findings state them.
fn stands_alone(trouble: &summary::Trouble, all: &[summary::Trouble]) -> bool {
    let is_stated = |of: &&summary::Trouble| {
        of.kind == TroubleKind::Finding
            && is_trouble(of.severity)
            && of.start <= trouble.end()
            && trouble.start <= of.end()
    };
    match trouble.kind {
        TroubleKind::Finding => true,
        TroubleKind::LostGap => !all.iter().any(|of| is_stated(&of)),
        // A joined one may hold a finding.
        _ => trouble.count > 1,
    }
}

fn record(epoch: &Epoch, seq: Seq) -> RecordId {
    RecordId {
        epoch: epoch.number(),
        seq,
    }
}
