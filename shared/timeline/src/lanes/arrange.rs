//! The state of the lanes: which watches are open, which of their objects have rows and in which order, and which
//! connections and resourceVersions have rows.
//!
//! ```text
//!   log, height, view while it follows now ─┐
//!   the viewer's choices and setup ─────────┼─► arrange ─► Arrangement ─► rows
//!   the Arrangement before ─────────────────┘
//! ```
//!
//! The first arrangement uses the fold at the head and the records in view, so a page that opens later begins with the
//! watches of the latest changes. A later arrangement differs only while the view follows now, so panning moves no row.
//! Only a watch that had no row gets one when the view comes to a time at which it was wanted, as a watch of an earlier
//! run. No watch closes by itself. What the viewer asks for takes effect at once.

use watchscope_model::fold::Watch;
use watchscope_model::row;
use watchscope_model::tree::{self, BTreeSet};
use watchscope_model::vocabulary::{Cause, Phase};
use watchscope_model::{ConnectionId, Seq, State, Time, WatchName};

use super::choice::{Choice, Choices};
use super::in_view::is_wanted;
use super::kept::{Kept, Moment, OBJECTS_MOST};
use super::order::{Made, Order};
use super::row::{Density, RowKind};
use super::setup::{Folding, Grouping, Setup};
use super::trouble::{Trouble, troubles};
use crate::findings::Muted;
use crate::id::{ServerId, WatchId};
use crate::scene::Px;
use crate::store::Store;

/// Findings of a watch that lags: apiservers apart (F31), or a proxy that holds events back (F44). From one of these
/// findings on, the watch shows its resourceVersion in a row, unless [`Kept::shows_version`] hides it.
const LAGS: [row::Row; 2] = [row::Row::F31, row::Row::F44];

/// The room for rows on screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Height of the screen area for all rows; `None`: unlimited.
    pub(super) height: Option<Px>,
    /// Height of the rows above the connections, pinned lanes included.
    pub(super) taken: Px,
    /// The density, which gives the height of single rows.
    pub(super) density: Density,
}

/// The viewer's wishes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes<'a> {
    /// What the viewer opened or closed, by watch.
    pub(super) choices: &'a Choices,
    /// How the lanes are grouped, sorted and folded.
    pub(super) setup: &'a Setup,
    /// The findings that the viewer muted.
    pub(super) muted: &'a Muted,
}

impl Wishes<'_> {
    /// Returns what the viewer chose for a watch.
    pub(super) fn choice(&self, store: &Store, watch: WatchId) -> Option<Choice> {
        self.choices.get(store.names().watch_name(watch)).copied()
    }

    /// Whether no watch opens by itself at its news: all watches without a choice of the viewer are strips, or open for
    /// trouble alone.
    fn are_folded(&self) -> bool {
        self.setup.folding != Folding::ByItself
    }
}

/// The state of the lanes. The state has one entry for each watch in the store with the watch's objects, and one for
/// each server. So the number of names in the store bounds its size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrangement {
    /// Whether anything was ever arranged.
    pub(super) has_begun: bool,
    watches: Vec<Kept>,
    /// Servers with a connection that failed in view: the rows of their connections stay.
    failed: Vec<ServerId>,
    /// Servers whose connections have a row, by name.
    pub(super) connections: Vec<ServerId>,
    /// Whether watchscope's own requests have a row.
    pub(super) has_own_requests: bool,
    /// The order of watches, and their sections.
    pub(super) order: Order,
    /// The folding of the last arrangement.
    folding: Folding,
    /// When watches were last opened for trouble.
    refolded: Made,
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

/// Whether a watch is of Kubernetes Events. Events are many and describe other objects, so their watches do not open by
/// themselves.
fn is_of_events(name: &WatchName) -> bool {
    let resource = name.resource();
    let plural = resource.split(['.', '?', '#']).next();
    plural == Some("events")
}

/// Returns the next arrangement, from the log, the room, the viewer's wishes, and the arrangement before. Without a
/// wish of the viewer, rows change only if the moment is live (the view follows now), or if nothing was arranged
/// before.
pub(super) fn arrange(
    store: &Store,
    wishes: Wishes<'_>,
    room: Room,
    moment: Moment,
    before: Arrangement,
) -> Arrangement {
    let names = store.names();
    let mut after = before;
    let watches = names.watches_by_name();
    after.watches.resize_with(watches.len(), Kept::default);
    let nothing = State::default();
    let state = store.state().unwrap_or(&nothing);
    let known = |watch| state.watches.get(names.watch_name(watch));
    let has_begun = std::mem::replace(&mut after.has_begun, true);
    let is_live = moment.is_live || !has_begun;
    after.show(store, state, moment.window, is_live);
    if is_live {
        after.notice(store, state);
        after.notice_records(store, moment.window);
        after.connect(store, state);
    }
    let found = || troubles(store, state, wishes.muted, moment.now);
    after.refold(store, wishes, is_live, &found);
    let sorting = wishes.setup.sorting;
    for &watch in watches {
        let kept = &mut after.watches[watch.0 as usize];
        let choice = wishes.choice(store, watch);
        if kept.is_open(choice)
            && (is_live || kept.objects.is_empty() || kept.differs(choice, sorting))
        {
            kept.choose(store, watch, known(watch), choice, sorting, moment);
        }
    }
    if is_live && !wishes.are_folded() {
        after.open(store, state, wishes, room, moment);
    }
    after.judge(store, state, wishes);
    let free = after.fold(store, wishes, room);
    if is_live {
        after.widen(store, state, wishes, free, room.density, moment);
    }
    after
        .order
        .update(store, state, wishes.setup, moment, &found);
    after
}

impl Arrangement {
    /// Applies the viewer's folding of all watches. With strips, all watches that opened by themselves close at once.
    /// With trouble, watches with trouble open at once, and later ones when their trouble comes while the page follows
    /// now.
    fn refold(
        &mut self,
        store: &Store,
        wishes: Wishes<'_>,
        is_live: bool,
        found: &dyn Fn() -> Vec<Trouble>,
    ) {
        let folding = wishes.setup.folding;
        let is_new = std::mem::replace(&mut self.folding, folding) != folding;
        if is_new && folding == Folding::Strips {
            self.watches
                .iter_mut()
                .for_each(|kept| kept.is_open = false);
        }
        if is_new && folding == Folding::ByItself {
            // Each watch with news may open by itself again.
            self.watches.iter_mut().for_each(|kept| kept.tried = Seq(0));
        }
        let is_due = is_new || (is_live && self.refolded.is_due(store));
        if folding == Folding::Trouble && is_due {
            self.refolded = Made::now(store);
            for (kept, trouble) in self.watches.iter_mut().zip(found()) {
                kept.is_open |= trouble.is_any();
            }
        }
    }

    /// Updates which watches have a row. If the moment is not live, no watch loses its row.
    fn show(&mut self, store: &Store, state: &State, window: (Time, Time), is_live: bool) {
        for &watch in store.names().watches_by_name() {
            let kept = &mut self.watches[watch.0 as usize];
            let stands = || {
                let known = state.watches.get(store.names().watch_name(watch));
                known.is_some_and(|known| {
                    let phase = known.phase.as_ref();
                    phase.is_none_or(|phase| phase.phase != Phase::Stopped)
                })
            };
            let keeps = if is_live { stands() } else { kept.is_shown };
            let mut traces = store.watch_traces(watch).into_iter();
            kept.is_shown = keeps || traces.any(|trace| is_wanted(trace, window));
        }
    }

    /// Updates the seq of the last news of watches, and which of them have a finding of lag.
    fn notice(&mut self, store: &Store, state: &State) {
        let names = store.names();
        for &watch in names.watches_by_name() {
            let kept = &mut self.watches[watch.0 as usize];
            let known = state.watches.get(names.watch_name(watch));
            if let Some(moment) = known.and_then(|known| known.last_change) {
                kept.news = kept.news.max(moment.seq);
            }
            let traces = store.watch_traces(watch);
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

    /// Gives a row to the connections of each server with a connection that several watches share now, or with one that
    /// failed.
    fn connect(&mut self, store: &Store, state: &State) {
        let names = store.names();
        let (mut used, mut shared) = (BTreeSet::new(), Vec::new());
        for connection in state.watches.values().filter_map(|watch| watch.connection) {
            if !used.insert(connection)
                && let Some(open) = state.connections.get(&connection)
                && !shared.contains(&&open.remote)
            {
                shared.push(&open.remote);
            }
        }
        let is_shared = |server: ServerId| shared.contains(&names.server_name(server));
        let servers = names.servers_by_name().iter().copied();
        self.connections = servers
            .filter(|&server| self.failed.contains(&server) || is_shared(server))
            .collect();
    }

    /// Returns the height of all rows except those of quiet watches, and the number of quiet watches.
    fn height(&self, store: &Store, wishes: Wishes<'_>, room: Room) -> (Px, usize) {
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
            let choice = wishes.choice(store, watch);
            if !kept.is_shown {
                continue;
            }
            if kept.is_open(choice) {
                all = all + height(RowKind::Watch) + kept.under(room.density);
            } else if kept.is_quiet(choice) {
                quiet += 1;
            } else {
                all = all + height(RowKind::Strip);
                if kept.shows_version(choice, wishes.are_folded()) {
                    all = all + height(RowKind::Version);
                }
            }
        }
        (all, quiet)
    }

    /// Opens the watches with news, the latest first, while all rows still end above the lower edge. A watch without
    /// room stays closed until its next news.
    fn open(
        &mut self,
        store: &Store,
        state: &State,
        wishes: Wishes<'_>,
        room: Room,
        moment: Moment,
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
                    && wishes.choice(store, watch).is_none()
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
            kept.choose(store, watch, known, None, wishes.setup.sorting, moment);
            let (mut height, quiet) = self.height(store, wishes, room);
            for _ in 0..self.versions_due(store, state, wishes) {
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

    /// Whether the watch `known` has had a change, and no watch on its connection shows its resourceVersion.
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

    /// Returns how many resourceVersions [`Self::judge`] will give a row: one for each connection of open, not yet
    /// judged watches that has no such row.
    fn versions_due(&self, store: &Store, state: &State, wishes: Wishes<'_>) -> usize {
        let mut due: Vec<Option<ConnectionId>> = Vec::new();
        for &watch in store.names().watches_by_name() {
            let kept = &self.watches[watch.0 as usize];
            let name = store.names().watch_name(watch);
            let known = state.watches.get(name);
            let connection = known.and_then(|known| known.connection);
            if !kept.is_judged
                && kept.is_open(wishes.choice(store, watch))
                && self.lacks_version(store, state, known)
                && !due.contains(&connection)
            {
                due.push(connection);
            }
        }
        due.len()
    }

    /// Decides which open watches show their resourceVersion: on each connection, the open watch with the most
    /// modifications and deletions. Each watch is judged once, as soon as it is open and has had a change.
    fn judge(&mut self, store: &Store, state: &State, wishes: Wishes<'_>) {
        let names = store.names();
        let known = |watch| state.watches.get(names.watch_name(watch));
        let mut next: Vec<(u64, ConnectionId, WatchId)> = Vec::new();
        for &watch in names.watches_by_name() {
            let kept = &self.watches[watch.0 as usize];
            if !kept.is_judged
                && kept.is_open(wishes.choice(store, watch))
                && let Some(known) = known(watch)
                && let (Some(_), Some(connection)) = (known.last_change, known.connection)
            {
                next.push((known.modified + known.deleted, connection, watch));
            }
        }
        if next.is_empty() {
            return;
        }
        tree::sort_by(&mut next, |a, b| b.0.cmp(&a.0));
        let with_version = names
            .watches_by_name()
            .iter()
            .filter(|watch| self.watches[watch.0 as usize].has_version);
        let mut shown: BTreeSet<ConnectionId> = with_version
            .filter_map(|&watch| known(watch)?.connection)
            .collect();
        for (_, connection, watch) in next {
            let kept = &mut self.watches[watch.0 as usize];
            kept.is_judged = true;
            kept.has_version |= shown.insert(connection);
        }
    }

    /// Folds the quiet watches without room into one row; the last watches by name fold first. Returns the height that
    /// is left on the screen; `None` if it is unlimited.
    fn fold(&mut self, store: &Store, wishes: Wishes<'_>, room: Room) -> Option<Px> {
        let (height, quiet) = self.height(store, wishes, room);
        let mut stand = quiet;
        let mut left = None;
        if let Some(most) = room.height {
            let one = room.density.whole_height(RowKind::Strip).0.max(1);
            let mut free = (most - height).0.max(0);
            if quiet as i32 > free / one {
                free = (free - room.density.whole_height(RowKind::Quiet).0).max(0);
                stand = (free / one) as usize;
            }
            left = Some(Px(free - stand as i32 * one));
        }
        for &watch in store.names().watches_by_name() {
            let choice = wishes.choice(store, watch);
            let kept = &mut self.watches[watch.0 as usize];
            kept.is_folded = false;
            if kept.is_shown && kept.is_quiet(choice) {
                kept.is_folded = stand == 0;
                stand = stand.saturating_sub(1);
            }
        }
        left
    }

    /// Gives open watches rows for more than [`OBJECTS_MOST`] objects while the height `free` has room. Each watch gets
    /// an equal share, or what it can use if that is less. Grouped lanes get none: their objects stand in other sections,
    /// with headings.
    fn widen(
        &mut self,
        store: &Store,
        state: &State,
        wishes: Wishes<'_>,
        free: Option<Px>,
        density: Density,
        moment: Moment,
    ) {
        let names = store.names();
        let height = |kind| density.whole_height(kind).0.max(1);
        // One row stays free for a selected object that has none.
        let mut free = free.map_or(0, |free| free.0 - height(RowKind::Object));
        let mut wants: Vec<(usize, WatchId)> = Vec::new();
        for &watch in names.watches_by_name() {
            let kept = &self.watches[watch.0 as usize];
            let choice = wishes.choice(store, watch);
            let mut want = 0;
            if kept.is_shown && kept.is_open(choice) {
                if !kept.gone.is_empty() {
                    free -= height(RowKind::Gone);
                }
                if choice != Some(Choice::Whole) && wishes.setup.grouping == Grouping::None {
                    want = kept.wanted.saturating_sub(OBJECTS_MOST);
                }
            }
            wants.push((want, watch));
        }
        tree::sort(&mut wants);
        let mut rows = (free.max(0) / height(RowKind::Object)) as usize;
        let mut waiting = wants.iter().filter(|(want, _)| *want > 0).count();
        for (want, watch) in wants {
            let extra = if want > 0 {
                want.min(rows / waiting)
            } else {
                0
            };
            rows -= extra;
            waiting -= usize::from(want > 0);
            let kept = &mut self.watches[watch.0 as usize];
            if kept.extra != extra {
                kept.extra = extra;
                let known = state.watches.get(names.watch_name(watch));
                let choice = wishes.choice(store, watch);
                if kept.is_open(choice) {
                    kept.choose(store, watch, known, choice, wishes.setup.sorting, moment);
                }
            }
        }
    }
}
