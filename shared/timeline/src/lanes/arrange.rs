//! The state of the lanes: which watches are open, which of their objects have rows in which order, and which
//! connections and resourceVersions do.
//!
//! ```text
//!   log, height, view while it follows now ─┐
//!   what the viewer opened or closed ───────┼─► arrange ─► Arrangement ─► rows
//!   the Arrangement before ─────────────────┘
//! ```
//!
//! The first arrangement uses the fold at the head and the records in view, so a page that opens later begins with the
//! watches of the latest changes. Later ones change only while the view follows now, so panning moves no row. No watch
//! closes by itself.

use watchscope_model::fold::Watch;
use watchscope_model::map::Map;
use watchscope_model::row;
use watchscope_model::vocabulary::{Cause, Origin, Phase};
use watchscope_model::{ConnectionId, Seq, State, Time, WatchName};

use super::in_view::{has_mark, is_wanted};
use super::row::{Density, RowKind};
use crate::id::{ObjectId, ServerId, WatchId};
use crate::scene::Px;
use crate::store::{MarkKind, Store};

/// Most objects that an open watch shows, unless the viewer opened all of it. One more row counts the others.
pub(crate) const OBJECTS_MOST: usize = 12;

/// Findings of a watch that lags: apiservers apart, or a proxy that holds events back.
const LAGS: [row::Row; 2] = [row::Row::F31, row::Row::F44];

/// The viewer's choice for a watch. It stays, whatever happens in the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// One strip.
    Closed,
    /// With at most [`OBJECTS_MOST`] objects.
    Open,
    /// With all objects.
    Whole,
}

impl Choice {
    /// Returns the character that a page stores for it.
    pub(super) fn sign(self) -> char {
        match self {
            Self::Closed => '-',
            Self::Open => '+',
            Self::Whole => '*',
        }
    }

    /// Returns the choice of a stored character; `None` for any other character.
    pub(super) fn of_sign(sign: char) -> Option<Self> {
        let all = [Self::Closed, Self::Open, Self::Whole];
        all.into_iter().find(|choice| choice.sign() == sign)
    }
}

/// The viewer's choices by the watch's name, because names outlive the store.
pub(super) type Choices = Map<WatchName, Choice>;

/// The room for rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Height of the window; `None`: unlimited.
    pub(super) height: Option<Px>,
    /// Height of the rows above the connections.
    pub(super) taken: Px,
    /// Height of single rows.
    pub(super) density: Density,
}

/// The state of the lanes. It has one entry for each watch in the store, so its bound is that of the store's names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrangement {
    /// Whether anything was ever arranged.
    pub(super) has_begun: bool,
    watches: Vec<Kept>,
    /// Servers with a connection that failed: their rows stay.
    failed: Vec<ServerId>,
    /// Servers whose connections have a row, by name.
    pub(super) connections: Vec<ServerId>,
    /// Whether watchscope's own requests have a row.
    pub(super) has_own_requests: bool,
}

/// The state of one watch's rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Kept {
    /// Whether it has a row.
    pub(super) is_shown: bool,
    /// Whether it opened by itself.
    is_open: bool,
    /// Seq of the last news in it; 0: none.
    news: Seq,
    /// The news for which it last tried to open.
    tried: Seq,
    /// Whether its resourceVersion has a row.
    pub(super) has_version: bool,
    /// Whether [`Arrangement::judge`] has decided about `has_version`.
    is_judged: bool,
    /// The objects that have rows, in their order. The first `changed` of them changed.
    pub(super) objects: Vec<ObjectId>,
    /// How many of `objects` changed. The rest is shown because the viewer opened a quiet watch.
    changed: usize,
    /// How many objects have no row.
    pub(super) others: usize,
    /// Counts of records and marks, and whether the viewer opened it, when the objects were chosen. They are chosen
    /// again only when one of these differs.
    chosen_by: (u64, usize, bool),
    /// Whether it is folded into the row of quiet watches.
    pub(super) is_folded: bool,
}

impl Kept {
    /// Whether its rows are shown.
    pub(super) fn is_open(&self, choice: Option<Choice>) -> bool {
        choice.map_or(self.is_open, |choice| choice != Choice::Closed)
    }

    /// Whether its resourceVersion has a row; not if the viewer closed the watch.
    pub(super) fn shows_version(&self, choice: Option<Choice>) -> bool {
        self.has_version && choice != Some(Choice::Closed)
    }

    /// Returns the height of the rows under it.
    fn under(&self, density: Density) -> Px {
        let height = |kind| density.whole_height(kind);
        let mut under = Px::ZERO;
        if self.has_version {
            under = under + height(RowKind::Version);
        }
        for _ in &self.objects {
            under = under + height(RowKind::Object);
        }
        if self.others > 0 {
            under = under + height(RowKind::More);
        }
        under
    }
}

impl Arrangement {
    /// Whether any watch is folded.
    pub(super) fn folds(&self) -> bool {
        self.watches.iter().any(|kept| kept.is_folded)
    }

    /// Returns the state of a watch's rows.
    pub(super) fn of(&self, watch: WatchId) -> Option<&Kept> {
        self.watches.get(watch.0 as usize)
    }
}

/// Whether a watch is of Kubernetes Events. Those are many and describe other objects, so their watches do not open by
/// themselves.
fn is_of_events(name: &WatchName) -> bool {
    let resource = name.resource();
    let plural = resource.split(['.', '?', '#']).next();
    plural == Some("events")
}

/// Returns the next arrangement, from the log, the room, the viewer's choices, and the arrangement before. `window` is
/// the time in view. Rows change only if it `follows` now, or if nothing was arranged before.
pub(super) fn arrange(
    store: &Store,
    choices: &Choices,
    room: Room,
    window: (Time, Time),
    follows: bool,
    before: Arrangement,
) -> Arrangement {
    let names = store.names();
    let mut after = before;
    let watches = names.watches_by_name();
    after.watches.resize_with(watches.len(), Kept::default);
    let nothing = State::default();
    let state = store.state().unwrap_or(&nothing);
    let known = |watch| state.watches.get(names.watch_name(watch));
    let choice = |watch| choices.get(names.watch_name(watch)).copied();
    let is_live = follows || !std::mem::replace(&mut after.has_begun, true);
    if is_live {
        after.notice(store, state, window);
        after.notice_records(store, window);
        after.connect(store, state);
    }
    for &watch in watches {
        let kept = &mut after.watches[watch.0 as usize];
        if kept.is_open(choice(watch)) && (is_live || kept.objects.is_empty()) {
            kept.choose(store, watch, known(watch), window, choice(watch).is_some());
        }
    }
    if is_live {
        after.open(store, state, choices, room, window);
    }
    after.judge(store, state, choices);
    after.fold(store, choices, room);
    after
}

impl Arrangement {
    /// Updates which watches have a row, their last news, and which of them lag.
    fn notice(&mut self, store: &Store, state: &State, window: (Time, Time)) {
        let names = store.names();
        for &watch in names.watches_by_name() {
            let kept = &mut self.watches[watch.0 as usize];
            let known = state.watches.get(names.watch_name(watch));
            let stands = known.is_some_and(|known| {
                let phase = known.phase.as_ref();
                phase.is_none_or(|phase| phase.phase != Phase::Stopped)
            });
            let traces = store.watch_traces(watch);
            kept.is_shown = stands || traces.iter().any(|trace| is_wanted(trace, window));
            if let Some(moment) = known.and_then(|known| known.last_change) {
                kept.news = kept.news.max(moment.seq);
            }
            let over_seam = traces.last().and_then(|trace| trace.list_over_seam());
            if let Some((list, found)) = over_seam
                && !found.objects.is_empty()
            {
                kept.news = kept.news.max(list.moment.seq);
            }
        }
        for open in state.findings.values() {
            for &watch in names.watches_by_name() {
                if open.finding.concerns(names.watch_name(watch)) {
                    let kept = &mut self.watches[watch.0 as usize];
                    kept.news = kept.news.max(open.since.seq);
                    kept.has_version |= open.finding.row().is_some_and(|row| LAGS.contains(&row));
                }
            }
        }
    }

    /// Updates the state from facts that only records show: jumps and reversals, failed connections, watchscope's own
    /// requests.
    fn notice_records(&mut self, store: &Store, (left, right): (Time, Time)) {
        let names = store.names();
        let is_seen = |at: Time| at >= left && at <= right;
        for epoch in store.epochs() {
            for &watch in names.watches_by_name() {
                let trace = epoch.trace.watch(watch);
                let mut steps = trace.into_iter().flat_map(|trace| &trace.steps);
                if steps.any(|step| is_seen(step.moment.at)) {
                    self.watches[watch.0 as usize].has_version = true;
                }
            }
            for span in epoch.trace.connections.all() {
                let has_failed =
                    !matches!(span.what.cause, None | Some(Cause::End | Cause::Cancelled));
                if has_failed
                    && span.end.is_some_and(|end| is_seen(end.at))
                    && let Some(server) = names.find_server(&span.what.remote)
                    && !self.failed.contains(&server)
                {
                    self.failed.push(server);
                }
            }
            let mut own_requests = epoch.trace.own_requests.iter();
            self.has_own_requests |= own_requests.any(|request| is_seen(request.moment.at));
        }
    }

    /// Gives a row to the connections of each server that has a shared connection now, or had one that failed.
    fn connect(&mut self, store: &Store, state: &State) {
        let names = store.names();
        let is_shared = |server: ServerId| {
            let remote = names.server_name(server);
            let mut connections = state.connections.iter();
            connections.any(|(&id, open)| {
                let users = state.watches.values();
                let mut users = users.filter(|watch| watch.connection == Some(id));
                open.remote == *remote && users.nth(1).is_some()
            })
        };
        let servers = names.servers_by_name().iter().copied();
        self.connections = servers
            .filter(|&server| self.failed.contains(&server) || is_shared(server))
            .collect();
    }

    /// Returns the height of all rows except those of quiet watches, and the number of quiet watches.
    fn height(&self, store: &Store, choices: &Choices, room: Room) -> (Px, usize) {
        let height = |kind| room.density.whole_height(kind);
        let mut all = room.taken;
        if self.has_own_requests {
            all = all + height(RowKind::OwnRequests);
        }
        for _ in &self.connections {
            all = all + height(RowKind::Connection);
        }
        let mut quiet = 0;
        for &watch in store.names().watches_by_name() {
            let kept = &self.watches[watch.0 as usize];
            let choice = choices.get(store.names().watch_name(watch)).copied();
            if !kept.is_shown {
                continue;
            }
            if kept.is_open(choice) {
                all = all + height(RowKind::Watch) + kept.under(room.density);
            } else if kept.is_quiet(choice) {
                quiet += 1;
            } else {
                all = all + height(RowKind::Strip);
                if kept.shows_version(choice) {
                    all = all + height(RowKind::Version);
                }
            }
        }
        (all, quiet)
    }

    /// Opens the watches with news, the latest first, while all rows still end above the lower edge. A watch without
    /// room tries again at its next news.
    fn open(
        &mut self,
        store: &Store,
        state: &State,
        choices: &Choices,
        room: Room,
        window: (Time, Time),
    ) {
        let names = store.names();
        loop {
            let mut next: Option<(Seq, WatchId)> = None;
            for &watch in names.watches_by_name() {
                let kept = &self.watches[watch.0 as usize];
                let name = names.watch_name(watch);
                let may_open = kept.is_shown
                    && !kept.is_open
                    && kept.news > kept.tried
                    && choices.get(name).is_none()
                    && !is_of_events(name);
                if may_open && next.is_none_or(|(news, _)| news < kept.news) {
                    next = Some((kept.news, watch));
                }
            }
            let Some((news, watch)) = next else {
                return;
            };
            let known = state.watches.get(names.watch_name(watch));
            let kept = &mut self.watches[watch.0 as usize];
            (kept.is_open, kept.tried) = (true, news);
            kept.choose(store, watch, known, window, false);
            let (mut height, quiet) = self.height(store, choices, room);
            for _ in 0..self.versions_due(store, state, choices) {
                height = height + room.density.whole_height(RowKind::Version);
            }
            if quiet > 0 {
                height = height + room.density.whole_height(RowKind::Quiet);
            }
            if room.height.is_some_and(|most| height > most) {
                self.watches[watch.0 as usize].is_open = false;
            }
        }
    }

    /// Whether this watch has changes and a connection on which no watch shows its resourceVersion.
    fn lacks_version(&self, store: &Store, state: &State, known: Option<&Watch>) -> bool {
        let connection = known.and_then(|known| known.last_change.and(known.connection));
        let mut watches = store.names().watches_by_name().iter();
        connection.is_some()
            && !watches.any(|&watch| {
                let other = state.watches.get(store.names().watch_name(watch));
                self.watches[watch.0 as usize].has_version
                    && other.is_some_and(|other| other.connection == connection)
            })
    }

    /// Returns how many resourceVersions are still to get a row: one for each connection of the open watches that are
    /// not judged yet.
    fn versions_due(&self, store: &Store, state: &State, choices: &Choices) -> usize {
        let mut due: Vec<Option<ConnectionId>> = Vec::new();
        for &watch in store.names().watches_by_name() {
            let kept = &self.watches[watch.0 as usize];
            let name = store.names().watch_name(watch);
            let known = state.watches.get(name);
            let connection = known.and_then(|known| known.connection);
            if !kept.is_judged
                && kept.is_open(choices.get(name).copied())
                && self.lacks_version(store, state, known)
                && !due.contains(&connection)
            {
                due.push(connection);
            }
        }
        due.len()
    }

    /// Decides which open watches show their resourceVersion: on each connection the one with the most modifications
    /// and deletions. Each watch is judged once, when it is open and has changed.
    fn judge(&mut self, store: &Store, state: &State, choices: &Choices) {
        let names = store.names();
        loop {
            let mut most: Option<(u64, WatchId)> = None;
            for &watch in names.watches_by_name() {
                let kept = &self.watches[watch.0 as usize];
                let name = names.watch_name(watch);
                let Some(known) = state.watches.get(name) else {
                    continue;
                };
                let changes = known.modified + known.deleted;
                if !kept.is_judged
                    && kept.is_open(choices.get(name).copied())
                    && known.last_change.is_some()
                    && known.connection.is_some()
                    && most.is_none_or(|(others, _)| others < changes)
                {
                    most = Some((changes, watch));
                }
            }
            let Some((_, watch)) = most else {
                return;
            };
            let lacks =
                self.lacks_version(store, state, state.watches.get(names.watch_name(watch)));
            let kept = &mut self.watches[watch.0 as usize];
            kept.is_judged = true;
            kept.has_version |= lacks;
        }
    }

    /// Folds the quiet watches without room into one row; the last by name fold first.
    fn fold(&mut self, store: &Store, choices: &Choices, room: Room) {
        let (height, quiet) = self.height(store, choices, room);
        let mut stand = quiet;
        if let Some(most) = room.height {
            let one = room.density.whole_height(RowKind::Strip).0.max(1);
            let free = (most - height).0.max(0);
            if quiet as i32 > free / one {
                let last = room.density.whole_height(RowKind::Quiet).0;
                stand = ((free - last).max(0) / one) as usize;
            }
        }
        for &watch in store.names().watches_by_name() {
            let choice = choices.get(store.names().watch_name(watch)).copied();
            let kept = &mut self.watches[watch.0 as usize];
            kept.is_folded = false;
            if kept.is_shown && kept.is_quiet(choice) {
                kept.is_folded = stand == 0;
                stand = stand.saturating_sub(1);
            }
        }
    }
}

impl Kept {
    /// Whether nothing ever happened in it, and the viewer neither opened nor closed it.
    fn is_quiet(&self, choice: Option<Choice>) -> bool {
        self.news == Seq(0) && !self.is_open && choice.is_none() && !self.has_version
    }

    /// Chooses the objects that have rows, at most [`OBJECTS_MOST`]. Objects with a verdict come first. Those that
    /// changed follow, the latest first, and then those that differ over a seam. Rows are sorted again only when an
    /// object enters.
    fn choose(
        &mut self,
        store: &Store,
        watch: WatchId,
        known: Option<&Watch>,
        (left, right): (Time, Time),
        is_chosen: bool,
    ) {
        let names = store.names();
        let traces = store.watch_traces(watch);
        let records = known.map_or(0, |known| known.counts.total());
        let marks = traces.iter().map(|trace| trace.marks.len()).sum();
        let by = (records, marks, is_chosen);
        if self.chosen_by == by {
            return;
        }
        self.chosen_by = by;
        let over_seam = traces.last().and_then(|trace| trace.list_over_seam());
        let over_seam = over_seam.filter(|(list, _)| (left..=right).contains(&list.moment.at));
        let mut top: Vec<((u64, Seq), ObjectId)> = Vec::new();
        let mut all = 0;
        for &object in names.objects_by_name(watch) {
            let place = names.object_at(watch, object);
            let held = known.and_then(|known| known.held(place));
            let is_doubted = known.is_some_and(|known| {
                !known.verdicts.is_empty() && known.verdict_on(place).is_some()
            });
            // An object from the last list has not changed, unless the list shows a change of an object that was held.
            let mark = || {
                let trace = traces.last()?;
                let marks = &trace.objects.get(object.0 as usize)?.marks;
                let is_seen = has_mark(trace, marks, left, right);
                let last = *marks.last().filter(|_| is_seen)? as usize;
                let is_change = held.is_none() || trace.marks.kind(last) != MarkKind::AddedByList;
                is_change.then(|| (trace.marks.version(last), trace.marks.seq(last)))
            };
            let changed = match held {
                Some(held) if held.origin == Origin::Live => {
                    let version = held.resource_version.number().unwrap_or(0);
                    Some((version, held.since.seq))
                }
                _ => mark().or_else(|| {
                    let (list, found) = over_seam?;
                    found.of(object).map(|_| (0, list.moment.seq))
                }),
            };
            all += usize::from(held.is_some() || is_doubted || changed.is_some());
            let key = if is_doubted {
                Some((u64::MAX, Seq(0)))
            } else {
                changed
            };
            let Some(key) = key else {
                continue;
            };
            let place = top.iter().position(|(other, _)| *other < key);
            let place = place.unwrap_or(top.len());
            if place < OBJECTS_MOST {
                top.truncate(OBJECTS_MOST - 1);
                top.insert(place, (key, object));
            }
        }
        let stood = &self.objects[..self.changed];
        let enters = top.iter().any(|(_, object)| !stood.contains(object));
        let mut objects: Vec<ObjectId> = if enters {
            top.iter().map(|&(_, object)| object).collect()
        } else {
            let stays = |object: &&ObjectId| top.iter().any(|(_, other)| other == *object);
            stood.iter().filter(stays).copied().collect()
        };
        self.changed = objects.len();
        for &object in names.objects_by_name(watch).iter().filter(|_| is_chosen) {
            if objects.len() == OBJECTS_MOST {
                break;
            }
            let is_held =
                known.is_some_and(|known| known.held(names.object_at(watch, object)).is_some());
            if is_held && !objects.contains(&object) {
                objects.push(object);
            }
        }
        self.others = all - objects.len();
        self.objects = objects;
    }
}
