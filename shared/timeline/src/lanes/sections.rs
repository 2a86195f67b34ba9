//! Builds the rows of watches and objects in their sections: pinned lanes first, then one section after the other.

use watchscope_model::id::Extent;
use watchscope_model::tree::{BTreeMap, BTreeSet};
use watchscope_model::{State, Text, Time, WatchName};

use super::arrange::{Arrangement, Room, Wishes, arrange};
use super::builder::RowBuilder;
use super::choice::Choice;
use super::in_view::{has_mark, is_wanted};
use super::kept::{Kept, Moment};
use super::objects::{VisibleObject, VisibleObjects};
use super::order::{Section, add_weight, weight_of_object};
use super::owners::OwnerFinder;
use super::row::{RowKind, SECTION, SectionBegin};
use super::setup::{Folding, Grouping, Sorting};
use super::tree::{Lanes, LayerRows};
use crate::findings::is_of_cause;
use crate::id::{LaneId, ObjectId, WatchId};
use crate::store::{Known, Store, WatchTrace};
use crate::view::View;

/// Width of the column with the names of sections, in px. Rows beside this column are indented by this width. The
/// number has no source.
const COLUMN_PX: u8 = 72;

/// The rows of one watch, before they are added to a section.
struct Part<'a> {
    watch: WatchId,
    name: &'a WatchName,
    traces: Vec<&'a WatchTrace>,
    kept: &'a Kept,
    is_open: bool,
    is_whole: bool,
    /// Whether the watch's resourceVersion has a row.
    has_version: bool,
    /// Whether a row that stands for objects without rows follows.
    has_rest: bool,
    objects: Vec<VisibleObject>,
}

/// The rows of one section.
#[derive(Default)]
struct Content<'a> {
    weight: (u64, u64),
    parts: Vec<Part<'a>>,
    apart: Vec<(WatchId, VisibleObject)>,
}

impl RowBuilder {
    /// Begins a section, with room for its name if it has a heading. Returns the index of its first row, and whether it
    /// has a heading.
    fn begin_section(&mut self, has_heading: bool) -> (usize, bool) {
        if has_heading {
            self.rows.height = self.rows.height + SECTION;
        }
        (self.rows.rows.len(), has_heading)
    }

    /// Ends a section. A section without rows is removed, with its heading.
    fn end_section(&mut self, (row, has_heading): (usize, bool), name: &Text) {
        if row == self.rows.rows.len() {
            if has_heading {
                self.rows.height = self.rows.height - SECTION;
            }
            return;
        }
        self.rows.sections.push(SectionBegin {
            row,
            name: name.clone(),
            has_heading,
        });
    }
}

impl Lanes {
    /// Adds all rows except those of findings and of layers.
    pub(crate) fn watch_and_other_rows(
        &mut self,
        store: &Store,
        builder: &mut RowBuilder,
        view: &View,
        now: Time,
    ) {
        let window = (view.left(), view.right().min(now));
        self.resolve(store);
        let mut taken = builder.rows.height;
        for _ in &self.pinned {
            taken = taken + self.density.whole_height(RowKind::Object);
        }
        let room = Room {
            height: self.height,
            taken,
            density: self.density,
        };
        // A picture with all rows is drawn for one view, so it always follows that view.
        let follows = (view.following && !self.is_held) || self.shows_all;
        let moment = Moment {
            now,
            window,
            is_live: follows,
            may_sort: follows && !self.is_pointed,
        };
        let before = std::mem::take(&mut self.arrangement);
        let wishes = Wishes {
            choices: &self.choices,
            setup: &self.setup,
            muted: &self.muted,
        };
        let mut after = arrange(store, wishes, room, moment, before);
        if !self.is_filtered() {
            // A lesson that does not show watchscope's own watch does not show its connections.
            let has_connections = self.layers < LayerRows::Programs;
            for &server in after.connections.iter().filter(|_| has_connections) {
                builder.connection(store, server);
            }
        }
        self.section_rows(store, builder, &mut after, window);
        if after.has_own_requests {
            builder.own_requests(store);
        }
        self.arrangement = after;
    }

    /// Adds the rows of pinned lanes, of all sections, and of the watches that are folded for lack of room.
    fn section_rows(
        &self,
        store: &Store,
        builder: &mut RowBuilder,
        after: &mut Arrangement,
        window: (Time, Time),
    ) {
        let sorting = self.setup.sorting;
        let mut owners = OwnerFinder::new(store);
        let (mut pinned, mut contents) = (BTreeMap::new(), BTreeMap::<Section, Content<'_>>::new());
        let (mut folded, mut parts) = (0, Vec::new());
        let mut order = std::mem::take(&mut after.order);
        for &watch in &order.watches {
            let Some(kept) = after.of(watch) else {
                continue;
            };
            match self.part(store, builder, watch, kept, window) {
                Some(part) => parts.push(part),
                None => folded += usize::from(self.is_folded(store, watch, kept)),
            }
        }
        if self.setup.grouping == Grouping::Owner {
            // After this the finder knows each object that owns another one.
            for part in &parts {
                for object in &part.objects {
                    owners.uppermost(part.watch, object.object);
                }
            }
        }
        for mut part in parts {
            let watch = part.watch;
            if self.pinned.contains(&LaneId::Watch(watch)) {
                pinned.insert(watch, part);
                continue;
            }
            for object in std::mem::take(&mut part.objects) {
                match self.section_apart(store, &part, object.object, &mut owners) {
                    Some(section) => {
                        let content = contents.entry(section).or_default();
                        let object = object.with_last(&part.traces);
                        let weight = weight_of_object(&object, sorting);
                        add_weight(&mut content.weight, weight, sorting);
                        content.apart.push((watch, object));
                    }
                    None => part.objects.push(object),
                }
            }
            let content = contents.entry(order.section_of(watch)).or_default();
            add_weight(&mut content.weight, order.weight_of(watch), sorting);
            content.parts.push(part);
        }
        self.pinned_rows(store, builder, pinned, window);
        let came: Vec<(Section, (u64, u64))> = contents
            .iter()
            .map(|(section, content)| (section.clone(), content.weight))
            .collect();
        let is_grouped = self.setup.grouping != Grouping::None;
        let has_columns = self.has_columns();
        for place in order.place_sections(&came, sorting) {
            let section = &came[place].0;
            let Some(mut content) = contents.remove(section) else {
                continue;
            };
            let is_first =
                !self.pinned.is_empty() && builder.rows.rows.last().is_some_and(|row| row.pinned);
            let begins = is_grouped || is_first;
            let begin = builder.begin_section(begins && !has_columns && !section.name.is_empty());
            self.sort_apart(store, &mut content.apart);
            for part in content.parts {
                self.part_rows(store, builder, &part, window);
            }
            let in_namespace = is_grouped;
            for (watch, object) in &content.apart {
                builder.object_apart(store, *watch, object, in_namespace);
            }
            if begins {
                builder.end_section(begin, &section.name);
            }
            for row in builder.rows.rows[begin.0..]
                .iter_mut()
                .filter(|_| has_columns)
            {
                row.indent_px += COLUMN_PX;
            }
        }
        if folded > 0 || (self.quiet_is_open && after.folds() && self.folds_quiet()) {
            builder.quiet(folded, self.quiet_is_open);
        }
        after.order = order;
    }

    /// Returns whether names of sections stand in a column of their own, which is so if the lanes are grouped by
    /// namespace and the tree is wide.
    #[must_use]
    pub fn has_columns(&self) -> bool {
        self.is_wide && self.setup.grouping == Grouping::Namespace
    }

    /// Whether quiet watches without room fold into one row. Grouped lanes do not fold: sections hold all of their
    /// watches.
    fn folds_quiet(&self) -> bool {
        self.setup.grouping == Grouping::None && self.setup.folding == Folding::ByItself
    }

    /// Adds the rows of the pinned lanes, in the viewer's order.
    fn pinned_rows(
        &self,
        store: &Store,
        builder: &mut RowBuilder,
        mut watches: BTreeMap<WatchId, Part<'_>>,
        window: (Time, Time),
    ) {
        let begin = builder.begin_section(!self.pinned.is_empty());
        for &lane in &self.pinned {
            match lane {
                LaneId::Object(watch, object) => {
                    let traces = store.watch_traces(watch);
                    let found = VisibleObject::of(&traces, object, window);
                    builder.object_apart(store, watch, &found, false).indent_px = 12;
                }
                LaneId::Watch(watch) => {
                    if let Some(part) = watches.remove(&watch) {
                        self.part_rows(store, builder, &part, window);
                    }
                }
                _ => {}
            }
        }
        builder.end_section(begin, &"Pinned".into());
        for row in &mut builder.rows.rows[begin.0..] {
            row.pinned = true;
        }
    }

    /// Returns the section in which an object stands apart from its watch; `None` if the object stands under its watch.
    fn section_apart(
        &self,
        store: &Store,
        part: &Part<'_>,
        object: ObjectId,
        owners: &mut OwnerFinder<'_>,
    ) -> Option<Section> {
        match self.setup.grouping {
            Grouping::Owner => owners
                .uppermost(part.watch, object)
                .map(|name| Section::named(&name)),
            Grouping::Namespace if part.name.extent() == Extent::All => {
                let place = store.names().object_at(part.watch, object);
                place.namespace.as_deref().map(Section::named)
            }
            _ => None,
        }
    }

    /// Sorts objects that stand apart from their watches: owners before the objects that they own, then by rate if
    /// sorted by rate, then by watch and name.
    fn sort_apart(&self, store: &Store, apart: &mut [(WatchId, VisibleObject)]) {
        let sorting = self.setup.sorting;
        let depth = |resource: &str| match resource.split('.').next() {
            Some("deployments" | "cronjobs" | "statefulsets" | "daemonsets") => 0,
            Some("replicasets" | "jobs") => 1,
            _ => 2,
        };
        watchscope_model::tree::sort_by(apart, |a, b| {
            let name = |of: &(WatchId, VisibleObject)| store.names().watch_name(of.0);
            let by_depth = depth(name(a).resource()).cmp(&depth(name(b).resource()));
            let by_weight = weight_of_object(&b.1, sorting).cmp(&weight_of_object(&a.1, sorting));
            let place =
                |of: &(WatchId, VisibleObject)| store.names().object_at(of.0, of.1.object).clone();
            by_depth
                .then(match sorting {
                    Sorting::Rate => by_weight,
                    _ => std::cmp::Ordering::Equal,
                })
                .then_with(|| name(a).cmp(name(b)))
                .then_with(|| {
                    let (a, b) = (place(a), place(b));
                    (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name))
                })
        });
    }

    /// Whether a watch without rows is folded into the row of quiet watches.
    fn is_folded(&self, store: &Store, watch: WatchId, kept: &Kept) -> bool {
        let lane = LaneId::Watch(watch);
        let name = store.names().watch_name(watch);
        kept.is_shown
            && kept.is_folded
            && self.folds_quiet()
            && !self.hidden.contains(&lane)
            && self.filter.allows_watch(name)
    }

    /// Returns the rows of a watch, if it has any.
    fn part<'a>(
        &self,
        store: &'a Store,
        builder: &mut RowBuilder,
        watch: WatchId,
        kept: &'a Kept,
        window: (Time, Time),
    ) -> Option<Part<'a>> {
        let traces = store.watch_traces(watch);
        let is_shown = if self.shows_all {
            traces.iter().any(|trace| is_wanted(trace, window))
        } else {
            kept.is_shown
        };
        let is_selected = self.selected.and_then(LaneId::watch) == Some(watch);
        let is_pinned = self.pinned.contains(&LaneId::Watch(watch));
        if !is_shown && !is_selected && !is_pinned {
            return None;
        }
        if self.hidden.contains(&LaneId::Watch(watch)) && !is_selected {
            return None;
        }
        let name = store.names().watch_name(watch);
        if !self.filter.allows_watch(name) && !is_pinned {
            builder.rows.hidden += 1;
            return None;
        }
        let choice = self.choices.get(name).copied();
        let is_open = self.opens(choice, Some(kept));
        let shows_all = self.shows_all && choice.is_none();
        // What the viewer searches is shown, also in a closed watch.
        let is_search = self.is_filtered();
        let is_whole = shows_all || is_search || choice == Some(Choice::Whole);
        let stays = shows_all || is_search || is_selected || is_pinned || self.quiet_is_open;
        if kept.is_folded && self.folds_quiet() && !stays {
            return None;
        }
        let found = if is_search || shows_all {
            self.objects(store, watch, &traces, window)
        } else if is_open {
            self.kept_objects(store, watch, &traces, kept, window)
        } else {
            VisibleObjects::default()
        };
        builder.rows.hidden += found.hidden;
        if found.objects.is_empty() && !self.filter.allows(name, None) && !is_pinned {
            builder.rows.hidden += 1;
            return None;
        }
        let are_folded = self.setup.folding != Folding::ByItself;
        Some(Part {
            watch,
            name,
            traces,
            kept,
            is_open,
            is_whole: is_whole && !is_search,
            has_version: kept.shows_version(choice, are_folded) || (shows_all && is_open),
            has_rest: is_open && !shows_all && !is_search,
            objects: found.objects,
        })
    }

    /// Adds the rows of a watch.
    fn part_rows(
        &self,
        store: &Store,
        builder: &mut RowBuilder,
        part: &Part<'_>,
        window: (Time, Time),
    ) {
        let (watch, name) = (part.watch, part.name);
        let in_namespace = self.setup.grouping == Grouping::Namespace
            && !self.pinned.contains(&LaneId::Watch(watch));
        let row = builder.watch(store, watch, &part.traces, part.is_open, window);
        if in_namespace {
            row.prefix = "".into();
        }
        let known = Known::now(store, window.1);
        row.finding = self.worst_finding(store, |finding| {
            finding.concerns(name) || (finding.has_more() && is_of_cause(known, finding, name))
        });
        if part.has_version {
            let (lane, kind) = (LaneId::Version(watch), RowKind::Version);
            builder.push(lane, kind, false, "", "resourceVersion".into(), None);
        }
        if !part.is_open {
            return;
        }
        for object in &part.objects {
            builder.object(store, watch, object);
        }
        if part.has_rest {
            if part.kept.others > 0 {
                builder.more(watch, part.kept, part.is_whole);
            }
            self.gone_rows(store, builder, part, window);
        }
    }

    /// Adds the row of a watch's gone objects, and the rows of these objects if the viewer opened it.
    fn gone_rows(
        &self,
        store: &Store,
        builder: &mut RowBuilder,
        part: &Part<'_>,
        window: (Time, Time),
    ) {
        let watch = part.watch;
        let gone = part.kept.gone.iter().copied();
        let gone: Vec<ObjectId> = gone
            .filter(|&object| !self.is_apart(LaneId::Object(watch, object)))
            .collect();
        if gone.is_empty() {
            return;
        }
        let is_open = self.gone_open.contains(&watch);
        // Without a watch of the current run, nobody knows whether they exist.
        let is_watched = |state: &State| state.watches.contains_key(part.name);
        let is_unwatched = !store.state().is_some_and(is_watched);
        builder.gone(store, watch, &gone, is_unwatched, is_open);
        for &object in gone.iter().filter(|_| is_open) {
            builder.object(
                store,
                watch,
                &VisibleObject::of(&part.traces, object, window),
            );
        }
    }

    /// Whether an object is pinned, hidden or selected, so that the row for further objects does not stand for it.
    fn is_apart(&self, lane: LaneId) -> bool {
        self.pinned.contains(&lane) || self.hidden.contains(&lane) || self.selected == Some(lane)
    }

    /// Returns the objects of a watch that have something in view and pass the filter. A filter with a word that lanes
    /// must have finds all objects of the log.
    fn objects(
        &self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        (left, right): (Time, Time),
    ) -> VisibleObjects {
        let name = store.names().watch_name(watch);
        let mut found = VisibleObjects {
            objects: Vec::new(),
            hidden: 0,
        };
        let finds_all = !self.shows_all && self.filter.has_word();
        let known = store.state().and_then(|state| state.watches.get(name));
        for &object in store.names().objects_by_name(watch) {
            let lane = LaneId::Object(watch, object);
            let lives = |start: Time, end: Time| start <= right && end >= left;
            let mut parts = traces
                .iter()
                .filter_map(|trace| Some((trace, trace.objects.get(object.0 as usize)?)));
            // A held object keeps its row. A deleted one has a row only if it is in view.
            let is_held = !self.shows_all
                && known.is_some_and(|known| {
                    known.held(store.names().object_at(watch, object)).is_some()
                });
            let shown = self.selected == Some(lane)
                || is_held
                || finds_all
                || parts.any(|(trace, part)| {
                    let verdicts = part.verdicts.all().iter();
                    let mut verdicts = verdicts.map(|span| (span.start.at, span.end_at(right)));
                    verdicts.any(|(start, end)| lives(start, end))
                        || part
                            .lives
                            .all()
                            .iter()
                            .any(|span| lives(span.start.at, span.end_at(right)))
                        || has_mark(trace, &part.marks, left, right)
                });
            if !shown || self.pinned.contains(&lane) || self.hidden.contains(&lane) {
                continue;
            }
            if self
                .filter
                .allows(name, Some(store.names().object_at(watch, object)))
            {
                found
                    .objects
                    .push(VisibleObject::of(traces, object, (left, right)));
            } else {
                found.hidden += 1;
            }
        }
        found
    }

    /// Returns the objects that have rows by the kept state of the watch, and the selected object.
    fn kept_objects(
        &self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        kept: &Kept,
        window: (Time, Time),
    ) -> VisibleObjects {
        let name = store.names().watch_name(watch);
        let is_whole = self.choices.get(name) == Some(&Choice::Whole);
        let shown = if is_whole { &kept.whole } else { &kept.objects };
        let selected = match self.selected {
            Some(LaneId::Object(of, object)) if of == watch => Some(object),
            _ => None,
        };
        let selected = selected.filter(|object| !shown.contains(object));
        let apart: BTreeSet<LaneId> = self.pinned.iter().copied().collect();
        let is_here = |object: &&ObjectId| {
            let lane = LaneId::Object(watch, **object);
            !apart.contains(&lane)
                && (!self.hidden.contains(&lane) || self.selected == Some(lane))
                && (object.0 as usize) < store.names().objects_by_name(watch).len()
        };
        let objects = shown.iter().chain(&selected).filter(is_here);
        VisibleObjects {
            objects: objects
                .map(|&object| VisibleObject::of(traces, object, window))
                .collect(),
            hidden: 0,
        }
    }
}
