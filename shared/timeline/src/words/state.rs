//! The current problems, and the reasons for an empty view.

use watchscope_model::fold::{Moment, OpenFinding, OpenVerdict, Watch};
use watchscope_model::id::Extent;
use watchscope_model::tree::BTreeSet;
use watchscope_model::vocabulary::{Divergence, Phase, PhaseReason, Severity, Standing};
use watchscope_model::{State, Time, WatchName};

use crate::findings::{Muted, Places};
use crate::format::{clock, count, duration, number};
use crate::id::{LaneId, RecordId};
use crate::lanes::{Lanes, RowKind, Rows};
use crate::phrases::gap_words;
use crate::scene::StretchKind;
use crate::store::{Coverage, Store};
use crate::tokens::Token;
use crate::view::View;

/// A current problem, for the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The problem in a few words: `1 ghost`, `1 gap lost`, `4 watches waiting`. Hostile: show as text.
    pub words: String,
    /// The problem's colour.
    pub ink: Token,
    /// Where the problem shows, the latest first, at most 64; empty if its lane is unknown.
    pub places: Vec<ProblemPlace>,
}

/// A thing in the picture at which a problem shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemPlace {
    /// The lane of an object with a divergence: the first such object of the first watch by name that has one.
    Lane(LaneId),
    /// A record, such as that of a verdict.
    Record(RecordId),
    /// A gap or a phase of a watch. The records of the gap or phase need not be loaded.
    Stretch {
        /// The lane of the watch.
        lane: LaneId,
        /// Whether the stretch is a gap or a phase.
        kind: StretchKind,
        /// The record with which the gap or phase began.
        began: RecordId,
        /// When the gap or phase began.
        at: Time,
    },
    /// A finding, by the record that raised it the last time.
    Finding(RecordId),
    /// A time whose records are not loaded.
    NotLoaded(Time),
}

/// Returns the current problems, each with at most one [`ProblemPlace`]. Muted findings are left out. Confirmed
/// divergences come first, then error findings of at most 3 catalogue rows: the first by code. All lost gaps of the
/// epoch follow, then refused watches and waiting watches. For gaps, refusals and waits, watches that only check others
/// do not count. A watch that is refused or waits at several servers counts once. Lost gaps are unknown for a log whose
/// version did not record totals. The result is empty without problems, and before the first snapshot.
#[must_use]
pub fn problems(store: &Store, muted: &Muted) -> Vec<Problem> {
    let Some(state) = store.state() else {
        return Vec::new();
    };
    let epoch = store.newest_epoch().unwrap_or(0);
    let found = |open: &OpenFinding| {
        let seq = open.raised().seq;
        ProblemPlace::Finding(RecordId { epoch, seq })
    };
    let stretch = |watch: &WatchName, kind, since: Moment| {
        let (seq, at) = (since.seq, since.at);
        let began = RecordId { epoch, seq };
        let lane = store.find_lane(watch, None)?;
        Some(ProblemPlace::Stretch {
            lane,
            kind,
            began,
            at,
        })
    };
    let mut problems = Vec::new();
    for &kind in Divergence::ALL {
        let watches = || state.watches.iter();
        // A divergence that only one read found may be a mere race.
        let is_counted = |open: &&OpenVerdict| {
            open.verdict.kind == kind && open.verdict.state == Standing::Confirmed
        };
        let of_kind = |watch: &Watch| watch.verdicts.values().filter(is_counted).count() as u64;
        let total: u64 = watches().map(|(_, watch)| of_kind(watch)).sum();
        if total > 0 {
            let words = match kind {
                Divergence::Ghost => count(total, "ghost"),
                _ => format!("{total} {}", kind.word()),
            };
            // A finding about it says more than the object alone.
            let first = watches().find(|(_, watch)| of_kind(watch) > 0);
            let finding = first.and_then(|(name, _)| {
                let findings = state.findings.iter();
                let mut of_watch = findings.filter(|(key, open)| {
                    open.finding.worst_severity() == Severity::Divergence
                        && open.finding.concerns(name)
                        && !muted.has(key)
                });
                of_watch.next().map(|(_, open)| found(open))
            });
            let object = || {
                let (name, watch) = first?;
                let mut verdicts = watch.verdicts.values();
                let open = verdicts.find(is_counted)?;
                let lane = store.find_lane(name, Some(&open.verdict.object));
                lane.map(ProblemPlace::Lane)
            };
            problems.push(Problem {
                words,
                ink: Token::Divergence,
                places: finding.or_else(object).into_iter().collect(),
            });
        }
    }
    // Findings of one row of the catalogue are one problem.
    let mut errors: Vec<(&OpenFinding, Places)> = Vec::new();
    for (key, open) in &state.findings {
        let finding = &open.finding;
        if finding.worst_severity() != Severity::Error || muted.has(key) {
            continue;
        }
        let same = errors
            .iter_mut()
            .find(|(of, _)| of.finding.code == finding.code);
        match same {
            Some((_, places)) => places.add(finding),
            None => {
                let mut places = Places::default();
                places.add(finding);
                errors.push((open, places));
            }
        }
    }
    for (open, places) in errors.into_iter().take(3) {
        let mut words = format!("{} {}", open.finding.code, open.finding.name);
        if let Some(places) = places.words() {
            words += &format!(" · {places}");
        }
        problems.push(Problem {
            words,
            ink: Token::Error,
            places: vec![found(open)],
        });
    }
    let lost = wanted(state).map(|(_, watch)| watch.totals.lost()).sum();
    if lost > 0 {
        let ends = wanted(state).filter_map(|(name, watch)| Some((watch.last_lost?, name)));
        let last = ends.max();
        problems.push(Problem {
            words: format!("{} lost", count(lost, "gap")),
            ink: Token::Error,
            places: last
                .and_then(|(began, name)| stretch(name, StretchKind::Gap, began))
                .into_iter()
                .collect(),
        });
    }
    for (phase, verb) in [(Phase::Refused, "refused"), (Phase::Waiting, "waiting")] {
        let in_phase = |(name, watch): (_, &Watch)| {
            let open = watch.phase.as_ref().filter(|open| open.phase == phase)?;
            Some((open.since, name))
        };
        let found = || wanted(state).filter_map(in_phase);
        // The problem that began last is nearest to the view.
        if let Some((since, name)) = found().max() {
            let total = distinct(found().map(|(_, name)| name));
            problems.push(Problem {
                words: format!("{} {verb}", count(total, "watch")),
                ink: Token::Error,
                places: stretch(name, StretchKind::Phase, since)
                    .into_iter()
                    .collect(),
            });
        }
    }
    problems
}

/// Returns the watches without those that only check another watch.
fn wanted(state: &State) -> impl Iterator<Item = (&WatchName, &Watch)> {
    let all = state.watches.iter();
    all.filter(|(name, _)| !name.is_aside())
}

/// Counts watches; watches of one resource and scope at several servers count once.
fn distinct<'a>(names: impl Iterator<Item = &'a WatchName>) -> u64 {
    let what: BTreeSet<&str> = names.map(|name| name.what_and_ordinal().0).collect();
    what.len() as u64
}

/// Returns in words how many gaps this run of watchscope has had, loaded or not: `no gaps`, or `12 gaps in all: 11
/// resumed, 1 lost (15 s)`. Watches that check others do not count. For a log whose version did not record totals, only
/// open gaps count. Empty before the first snapshot.
#[must_use]
pub fn gaps(store: &Store) -> String {
    let Some(state) = store.state() else {
        return String::new();
    };
    let (mut resumed, mut lost, mut lost_us, mut open) = (0, 0, 0, 0);
    for (_, watch) in wanted(state) {
        resumed += watch.totals.resumed();
        lost += watch.totals.lost();
        lost_us += watch.totals.lost_us();
        open += u64::from(watch.gap.is_some());
    }
    match resumed + lost + open {
        0 => "no gaps".to_owned(),
        total => {
            let words = gap_words(resumed, (lost, lost_us), open);
            format!("{} in all: {words}", count(total, "gap"))
        }
    }
}

/// Returns the loaded gaps that reach into the window, edges included: `in view: 1 lost (15 s)`; empty if there are no
/// such gaps. Watches that only check others do not count. An open gap reaches to `now`, or to the last loaded record
/// at which it is open.
#[must_use]
pub fn gaps_in_view(store: &Store, view: &View, now: Time) -> String {
    let gaps = store.gaps(view.left(), view.right(), now);
    match gaps.total() {
        0 => String::new(),
        _ => format!("in view: {}", gaps.words()),
    }
}

/// Returns the loaded gaps that reach into the time from A to B, edges included: `A to B: 1 resumed (3.2 s), 1 lost
/// (15 s)`. Without such a gap it is `A to B: no gap`, or empty if not all of that time is loaded. Watches that only check
/// others do not count.
#[must_use]
pub fn gaps_from_a_to_b(store: &Store, (a, b): (Time, Time), now: Time) -> String {
    let gaps = store.gaps(a, b, now);
    match gaps.total() {
        0 if store.is_loaded((a, b), now) => "A to B: no gap".to_owned(),
        0 => String::new(),
        _ => format!("A to B: {}", gaps.words()),
    }
}

/// Returns how many records are loaded: `169 records`. If only one epoch is known and some of its records are not
/// loaded, returns `1,204 of 1,198,204 records loaded`, with the number of all records that the epoch ever had.
#[must_use]
pub fn records(store: &Store) -> String {
    let loaded = store.records();
    let total = store.state().map_or(0, |state| state.seq.0);
    if store.epochs().len() > 1 || loaded >= total {
        return count(loaded, "record");
    }
    format!("{} of {} loaded", number(loaded), count(total, "record"))
}

/// Returns `3 records of unknown kinds: reload the page` if loaded records are of kinds that only a later version of
/// the page knows; else it is empty.
#[must_use]
pub fn unknown(store: &Store) -> String {
    match store.unknown() {
        0 => String::new(),
        unknown => format!(
            "{} of unknown kinds: reload the page",
            count(unknown, "record")
        ),
    }
}

/// Why the view is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Empty {
    /// The page has no cluster to show.
    NoCluster {
        /// Why there is no cluster, in a sentence.
        reason: String,
    },
    /// At least one watch is refused (401 or 403), and no watch holds an object.
    NoAccess {
        /// The first refused watch by name.
        watch: WatchName,
        /// Whether the server does not know that watch's account at all (401); `false`: it lacks the right (403).
        unknown: bool,
        /// How many other watches are refused; a watch at several servers counts once.
        others: u64,
    },
    /// The cluster does not answer, and never did.
    NoAnswer {
        /// Why a try failed, in a sentence: for the first watch by name whose phase states an error. `None` if none
        /// does.
        error: Option<String>,
        /// When the next try is due, in a sentence.
        next: String,
    },
    /// At least one watch has a stream, and no watch ever had a change. Bookmarks may have come.
    NothingYet {
        /// How many watches have a stream; a watch at several servers counts once.
        watches: u64,
        /// The earliest time at which one of the watches was last started.
        since: Time,
    },
    /// The filter hides all lanes but those of findings, own requests and layers.
    FilteredOut {
        /// How many lanes the filter hides, as [`Rows::hidden`] counts them.
        lanes: u64,
        /// The filter, as typed.
        filter: String,
    },
    /// The view shows only time before watchscope started.
    Before {
        /// The time in the middle of the view.
        at: Time,
        /// When watchscope's log begins.
        began: Time,
    },
    /// The view shows only time whose records are no longer held.
    Expired {
        /// The time in the middle of the view.
        at: Time,
        /// The end of that time.
        oldest: Time,
        /// How long before now the time without records ends, in µs.
        kept_us: i64,
    },
}

impl Empty {
    /// Returns one sentence that says why the view is empty, and one line with a remedy or a further fact, which may be
    /// empty. Hostile: show as text.
    #[must_use]
    pub fn words(&self) -> (String, String) {
        match self {
            Self::NoCluster { reason } => (
                "No cluster.".into(),
                format!("{reason} Choose one, or try watchscope demo."),
            ),
            Self::NoAccess {
                watch,
                unknown: true,
                others,
            } => (
                format!("401: the server does not know the account that watches {watch}."),
                affected("It needs valid credentials", *others),
            ),
            Self::NoAccess {
                watch,
                unknown: false,
                others,
            } => {
                let place = match watch.extent() {
                    Extent::All => "in all namespaces".to_string(),
                    Extent::Cluster => "in the cluster".to_string(),
                    Extent::One(namespace) => format!("in {namespace}"),
                };
                (
                    format!(
                        "403: this account may not list or watch {} {place}.",
                        watch.resource()
                    ),
                    affected("It needs the verbs list and watch", *others),
                )
            }
            Self::NoAnswer { error, next } => {
                let why = error.as_deref().unwrap_or_default().trim_end_matches('.');
                let dot = if why.is_empty() { "" } else { ". " };
                (
                    "The cluster does not answer.".into(),
                    format!("{why}{dot}{next}"),
                )
            }
            Self::NothingYet { watches, since } => {
                let open = count(*watches, "watch");
                (
                    format!("{open} open, no event since {}.", clock(*since)),
                    "Quiet is data: the pen moves and draws level lines.".into(),
                )
            }
            Self::FilteredOut { lanes, filter } => (
                format!("{}, all hidden by {filter}.", count(*lanes, "lane")),
                String::new(),
            ),
            Self::Before { at, began } => (
                format!("At {} watchscope was not running yet.", clock(*at)),
                format!("Its log begins at {}.", clock(*began)),
            ),
            Self::Expired {
                at,
                oldest,
                kept_us,
            } => (
                format!("{} is no longer in the buffer.", clock(*at)),
                format!("{} are kept, from {}.", duration(*kept_us), clock(*oldest)),
            ),
        }
    }
}

/// Returns the words for the needed right or remedy, and for the number of other watches that need it.
fn affected(needed: &str, others: u64) -> String {
    match others {
        0 => format!("{needed}. Nothing else is affected."),
        1 => format!("{needed}; 1 more watch is refused."),
        _ => format!("{needed}; {others} more watches are refused."),
    }
}

/// Returns why the view shows little or nothing; `None` if the view shows enough. If several reasons apply, the first
/// of these is returned: `FilteredOut`, `Before`, `Expired`, `NoAccess`, `NoAnswer`, `NothingYet`. Before the first
/// snapshot only the first three reasons are known. The function never returns [`Empty::NoCluster`]: the page itself
/// knows whether there is a cluster.
#[must_use]
pub fn emptiness(
    store: &Store,
    lanes: &Lanes,
    rows: &Rows,
    view: &View,
    now: Time,
) -> Option<Empty> {
    let is_lane = |kind| {
        !matches!(
            kind,
            RowKind::Findings
                | RowKind::OwnRequests
                | RowKind::Layer
                | RowKind::LayerTrace
                | RowKind::LayerConnection
        )
    };
    let lane_rows = || rows.rows.iter().filter(|row| is_lane(row.kind));
    if lane_rows().next().is_none() && rows.hidden > 0 {
        return Some(Empty::FilteredOut {
            lanes: rows.hidden as u64,
            filter: lanes.filter().to_string(),
        });
    }
    let (left, right) = (view.left(), view.right().min(now));
    let stretches = store.coverage(now);
    let began = stretches.first().map_or(Time(0), |first| first.from);
    if began >= right && began > Time(0) {
        let at = view.time_from_x(view.width_px / 2.0);
        return Some(Empty::Before { at, began });
    }
    let gone = |coverage| matches!(coverage, Coverage::Expired | Coverage::Dropped);
    if let Some(stretch) = stretches.iter().find(|stretch| gone(stretch.coverage))
        && stretch.from <= left
        && stretch.to >= right
    {
        let at = view.time_from_x(view.width_px / 2.0);
        return Some(Empty::Expired {
            at,
            oldest: stretch.to,
            kept_us: now.micros_since(stretch.to),
        });
    }
    let state = store.state()?;
    let refused = |watch: &Watch| {
        let no = [PhaseReason::Forbidden, PhaseReason::Unauthorized];
        watch
            .phase
            .as_ref()
            .is_some_and(|open| open.phase == Phase::Refused && no.contains(&open.reason))
    };
    let all_refused = || wanted(state).filter(|(_, watch)| refused(watch));
    if let Some((name, watch)) = all_refused().next()
        && state.watches.values().all(|watch| watch.objects.is_empty())
    {
        let unknown = watch
            .phase
            .as_ref()
            .is_some_and(|open| open.reason == PhaseReason::Unauthorized);
        return Some(Empty::NoAccess {
            watch: name.clone(),
            unknown,
            others: distinct(all_refused().map(|(name, _)| name)).saturating_sub(1),
        });
    }
    let is_silent = state.cluster.is_none()
        && state.watches.values().all(|watch| {
            let phase = watch.phase.as_ref().map(|open| open.phase);
            // A cluster may answer all requests except that for its version.
            let was_heard = watch.list.is_some() || watch.stream.is_some();
            !was_heard && watch.objects.is_empty() && !matches!(phase, None | Some(Phase::Stopped))
        });
    if is_silent && !state.watches.is_empty() {
        let phases = || {
            state
                .watches
                .values()
                .filter_map(|watch| watch.phase.as_ref())
        };
        let failed = phases().find(|open| open.error.is_some());
        let due = failed.and_then(|open| Some(open.since.at.plus_millis(open.delay_ms?)));
        let next = match due {
            Some(due) if due > now => {
                format!("Next try in {} s.", due.micros_since(now) / 1_000_000 + 1)
            }
            _ => "Trying now.".to_string(),
        };
        let error = failed.and_then(|open| open.error.clone());
        return Some(Empty::NoAnswer { error, next });
    }
    let streaming = wanted(state).filter(|(_, watch)| watch.stream.is_some());
    let streaming = distinct(streaming.map(|(name, _)| name));
    let quiet = state
        .watches
        .values()
        .all(|watch| watch.added + watch.modified + watch.deleted == 0);
    if streaming > 0 && quiet {
        let since = wanted(state).map(|(_, watch)| watch.since.at).min()?;
        return Some(Empty::NothingYet {
            watches: streaming,
            since,
        });
    }
    None
}
