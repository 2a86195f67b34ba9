//! A stretch of time in words: problems for the header of a page that shows the past, and counts of a range.

use watchscope_model::event::Finding;
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::vocabulary::{Divergence, Phase, Severity};
use watchscope_model::{Text, Time};

use super::state::{Problem, ProblemPlace};
use crate::findings::Muted;
use crate::format::{count, duration, number};
use crate::id::{LaneId, RecordId, WatchId};
use crate::scene::StretchKind;
use crate::store::{Coverage, Epoch, Span, Store, WatchTrace};
use crate::tokens::Token;

/// Most places that a viewer can step to from one problem of a range: the latest, the newest first. A place is a
/// record, a stretch, a finding or a time that is not loaded. The problem's count includes all. The number has no
/// source.
const MAX_PLACES: usize = 64;
/// Most rows of the catalogue whose error findings are named, so that the line stays short: the first by code. Further
/// rows are left out. The number has no source.
const MAX_FINDINGS: usize = 3;

/// The problems of one kind.
struct Kind {
    ink: Token,
    places: Vec<(Time, ProblemPlace)>,
}

impl Kind {
    fn new(ink: Token) -> Self {
        Self {
            ink,
            places: Vec::new(),
        }
    }

    fn problem(mut self, words: impl FnOnce(u64) -> String) -> Problem {
        let words = words(self.places.len() as u64);
        tree::sort_by_key(&mut self.places, |(at, _)| std::cmp::Reverse(*at));
        self.places.truncate(MAX_PLACES);
        Problem {
            words,
            ink: self.ink,
            places: self.places.into_iter().map(|(_, spot)| spot).collect(),
        }
    }
}

/// Returns the problems between `from` and `to`, edges included. The words are as those of [`super::state::problems`],
/// except for a row of findings. It says how many stretches, each from a raising to a clearing, its findings have in
/// the range: `· 3 times`, or nothing for one. Muted error findings are left out. Confirmed divergences come first, by
/// the word of their kind, then error findings of at most 3 catalogue rows, the first by code. Lost gaps follow, then
/// refused and waiting watches. Lost gaps of chapters that are not loaded count, too. A watch that waits or is refused
/// counts only if it does so at the moment `at`: a watch that went on is no problem. A watch at several servers counts
/// once for each. Watches that only check others do not count, but their findings and lost gaps that are not loaded do.
/// Open stretches last until `now`. The result is empty if there are no problems.
#[must_use]
pub fn problems_in(
    store: &Store,
    (from, to): (Time, Time),
    at: Time,
    now: Time,
    muted: &Muted,
) -> Vec<Problem> {
    let mut divergences: BTreeMap<&'static str, (Divergence, Kind)> = BTreeMap::new();
    let mut findings: BTreeMap<(&Text, &Text), Kind> = BTreeMap::new();
    let mut gaps = Kind::new(Token::Error);
    let mut phases = [(Phase::Refused, "refused"), (Phase::Waiting, "waiting")]
        .map(|of| (of, Kind::new(Token::Error)));
    let reaches = |begin: Time, end: Time| begin <= to && end >= from;
    for epoch in store.epochs() {
        for (began, until) in epoch.listed_losses() {
            if reaches(began, until) {
                gaps.places.push((began, ProblemPlace::NotLoaded(began)));
            }
        }
        let record = |seq| RecordId {
            epoch: epoch.number(),
            seq,
        };
        for (watch, trace) in wanted(store, epoch) {
            for span in trace.gaps.all() {
                let is_lost = span.what.outcome.is_some_and(|outcome| !outcome.resumed);
                if is_lost && reaches(span.start.at, span.end_at(now)) {
                    let spot = stretch(LaneId::Watch(watch), StretchKind::Gap, span, epoch);
                    gaps.places.push((span.start.at, spot));
                }
            }
            for ((phase, _), kind) in &mut phases {
                let mut spans = trace.phases.all().iter();
                let open =
                    spans.rfind(|span| span.start.at <= at && at < span.end_at(Time(i64::MAX)));
                if let Some(span) = open.filter(|span| span.what.phase == *phase) {
                    let spot = stretch(LaneId::Watch(watch), StretchKind::Phase, span, epoch);
                    kind.places.push((span.start.at, spot));
                }
            }
            for of in &trace.objects {
                for span in of.verdicts.all() {
                    if span.what.is_confirmed && reaches(span.start.at, span.end_at(now)) {
                        let kind = span.what.kind;
                        // A finding about it says more than the verdict alone.
                        let name = store.names().watch_name(watch);
                        let finding = epoch.trace.findings.all().iter().rfind(|finding| {
                            let what = &finding.what;
                            let subject = what.subject.as_ref();
                            what.severity == Severity::Divergence
                                && subject.is_none_or(|subject| **subject == *name.as_str())
                                && finding.start.at <= span.end_at(now)
                                && finding.end_at(now) >= span.start.at
                                && !muted.has(&Finding::key_of(&what.code, subject))
                        });
                        let spot = match finding {
                            Some(finding) => ProblemPlace::Finding(record(finding.what.raised)),
                            None => ProblemPlace::Record(record(span.start.seq)),
                        };
                        let of = divergences.entry(kind.word());
                        let of = of.or_insert_with(|| (kind, Kind::new(Token::Divergence)));
                        of.1.places.push((span.start.at, spot));
                    }
                }
            }
        }
        for span in epoch.trace.findings.all() {
            let what = &span.what;
            let key = Finding::key_of(&what.code, what.subject.as_ref());
            if what.severity == Severity::Error
                && reaches(span.start.at, span.end_at(now))
                && !muted.has(&key)
            {
                let of = findings.entry((&what.code, &what.name));
                let of = of.or_insert_with(|| Kind::new(Token::Error));
                let spot = ProblemPlace::Finding(record(what.raised));
                of.places.push((span.start.at, spot));
            }
        }
    }
    let mut problems = Vec::new();
    for (word, (kind, of)) in divergences {
        problems.push(of.problem(|total| match kind {
            Divergence::Ghost => count(total, "ghost"),
            _ => format!("{total} {word}"),
        }));
    }
    for ((code, name), of) in findings.into_iter().take(MAX_FINDINGS) {
        problems.push(of.problem(|total| match total {
            1 => format!("{code} {name}"),
            _ => format!("{code} {name} · {}", count(total, "time")),
        }));
    }
    if !gaps.places.is_empty() {
        problems.push(gaps.problem(|total| format!("{} lost", count(total, "gap"))));
    }
    for ((_, verb), of) in phases {
        if !of.places.is_empty() {
            problems.push(of.problem(|total| format!("{} {verb}", count(total, "watch"))));
        }
    }
    problems
}

/// Returns the watches of an epoch, with their traces, without those that only check another watch.
fn wanted<'a>(
    store: &'a Store,
    epoch: &'a Epoch,
) -> impl Iterator<Item = (WatchId, &'a WatchTrace)> {
    let watches = (0..).map(WatchId).zip(&epoch.trace.watches);
    watches.filter_map(|(id, watch)| {
        let is_wanted = !store.names().watch_name(id).is_aside();
        Some((id, &**watch.as_ref()?)).filter(|_| is_wanted)
    })
}

fn stretch<T>(lane: LaneId, kind: StretchKind, span: &Span<T>, epoch: &Epoch) -> ProblemPlace {
    ProblemPlace::Stretch {
        lane,
        kind,
        began: RecordId {
            epoch: epoch.number(),
            seq: span.start.seq,
        },
        at: span.start.at,
    }
}

/// The content of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeWords {
    /// The duration of the stretch, in the words of [`duration`]: `1 min 36 s`.
    pub lasted: String,
    /// The content of the stretch, each part with its colour: `214 changes`, then lost, resumed and open gaps, then `2
    /// findings`. [`range_words`] never returns an empty list: it is `no changes` if there is nothing.
    pub parts: Vec<(String, Token)>,
    /// Whether no records of the stretch are loaded or at the server. Records that the stretch only touches at an edge
    /// do not count.
    pub is_empty: bool,
    /// Whether a part of the stretch, more than an edge, is not loaded yet, so that the counts are incomplete.
    pub is_loading: bool,
}

/// Counts the loaded content of a stretch of time, edges included: changes, gaps, findings, also muted ones. A zero is
/// left out, but `no changes` stands for nothing at all. Gaps and findings count if they reach into the stretch; open
/// gaps and findings end at `now`. A finding counts once for each time span from a raising to a clearing. For a
/// reversed stretch, only gaps and findings count that cover the whole stretch. Changes and gaps of a watch that only
/// checks another watch do not count.
#[must_use]
pub fn range_words(store: &Store, (from, to): (Time, Time), now: Time) -> RangeWords {
    let mut changes = 0;
    let mut findings = 0;
    let reaches = |begin: Time, end: Time| begin <= to && end >= from;
    for epoch in store.epochs() {
        for (_, trace) in wanted(store, epoch) {
            let marks = &trace.marks;
            let places = marks.place_at(from)..marks.place_at(to.plus_micros(1));
            let counts = marks.sum(places).changes();
            changes += counts.iter().copied().map(u64::from).sum::<u64>();
        }
        let spans = epoch.trace.findings.all().iter();
        let in_it = spans.filter(|span| reaches(span.start.at, span.end_at(now)));
        findings += in_it.count() as u64;
    }
    let gaps = store.gaps(from, to, now);
    let has = |wanted: fn(Coverage) -> bool| has_coverage(store, (from, to), now, wanted);
    let mut parts = Vec::new();
    if changes > 0 || gaps.total() + findings == 0 {
        let words = match changes {
            0 => "no changes".to_owned(),
            _ => count(changes, "change"),
        };
        parts.push((words, Token::Text1));
    }
    if gaps.lost > 0 {
        parts.push((format!("{} lost", count(gaps.lost, "gap")), Token::Error));
    }
    if gaps.resumed > 0 {
        let words = format!("{} resumed", count(gaps.resumed, "gap"));
        parts.push((words, Token::Text2));
    }
    if gaps.open > 0 {
        let words = format!("{} gaps open", number(gaps.open));
        parts.push((words, Token::Text2));
    }
    if findings > 0 {
        parts.push((count(findings, "finding"), Token::Text1));
    }
    RangeWords {
        lasted: duration(to.micros_since(from)),
        parts,
        is_empty: !has(Coverage::is_kept),
        is_loading: has(|coverage| coverage == Coverage::NotLoaded),
    }
}

/// Returns whether the server has records of a part of a stretch of time that are not loaded yet. A part that only
/// touches an edge of the stretch does not count.
#[must_use]
pub fn is_loading(store: &Store, range: (Time, Time), now: Time) -> bool {
    has_coverage(store, range, now, |coverage| {
        coverage == Coverage::NotLoaded
    })
}

fn has_coverage(
    store: &Store,
    (from, to): (Time, Time),
    now: Time,
    wanted: fn(Coverage) -> bool,
) -> bool {
    let stretches = store.coverage(now);
    let mut in_it = stretches
        .iter()
        .filter(|stretch| stretch.from < to && stretch.to > from);
    in_it.any(|stretch| wanted(stretch.coverage))
}

/// Returns the edge of a gap, or the begin or end of a finding, nearest to a time and at most `reach_us` µs from it. Of
/// two equally near edges, either may be returned. Gaps and findings count that loaded chapters show, muted findings
/// too, but not gaps of watches that only check others. Without such an edge the function returns `at` itself. The end
/// of an open gap or finding is no edge.
#[must_use]
pub fn snapped(store: &Store, at: Time, reach_us: i64) -> Time {
    let mut nearest: Option<Time> = None;
    let mut take = |edge: Time| {
        let is_near = edge.micros_since(at).abs() <= reach_us;
        let is_nearer =
            nearest.is_none_or(|known| edge.micros_since(at).abs() < known.micros_since(at).abs());
        if is_near && is_nearer {
            nearest = Some(edge);
        }
    };
    for epoch in store.epochs() {
        for (_, trace) in wanted(store, epoch) {
            for span in trace.gaps.all() {
                take(span.start.at);
                span.end.into_iter().for_each(|end| take(end.at));
            }
        }
        for span in epoch.trace.findings.all() {
            take(span.start.at);
            span.end.into_iter().for_each(|end| take(end.at));
        }
    }
    nearest.unwrap_or(at)
}
