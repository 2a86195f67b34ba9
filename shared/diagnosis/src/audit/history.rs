//! The per-key log: what a watch held at a version r that it has passed, W(r), computed from what it holds now.
//!
//! The log's fold has what a watch holds now. So the per-key log only keeps what the stream's events have replaced: for
//! each live event, the object that the watch held under the same namespace and name before. Objects that do not change
//! cost nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::Change;
use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Origin, Phase};
use watchscope_model::{Object, ResourceVersion, Time};

/// Time in µs for which a step is kept. The watch's next step drops older ones, and the states before the dropped steps
/// become unknown. By default etcd keeps a revision for 10 min at most (docs/semantics/servers.md#compaction), so a
/// list at an exact version shows no older state.
pub const KEPT_US: i64 = 600_000_000;
/// Most steps of one watch; a further step replaces the oldest, and the states before that one become unknown. 20
/// changes a second over ten minutes are 12,000 steps of about 400 bytes, 4.7 MiB (docs/benchmarks.md). The most steps
/// take 13 MiB. The number has no other source.
pub const MAX_STEPS: usize = 32_768;

/// An object and its resourceVersion.
pub(super) type Version = (Arc<Object>, ResourceVersion);

/// A live event, and the object that it replaced. A step takes about 400 bytes with the names that it keeps in memory
/// (docs/benchmarks.md).
#[derive(Clone, Debug)]
struct Step {
    at: Time,
    version: ResourceVersion,
    place: Place,
    before: Option<Version>,
}

/// The lowest version whose state is known.
#[derive(Clone, Debug, Default)]
enum Floor {
    /// No past state is known: there was no complete list, or another list is being read.
    #[default]
    Unknown,
    /// The states from this resourceVersion on are known, itself included.
    At(ResourceVersion),
    /// No state up to this resourceVersion, itself included, is known: the stream delivered an event out of order, so
    /// the held objects are no state that etcd ever had.
    Above(ResourceVersion),
}

/// The per-key log of one watch: at most [`MAX_STEPS`] steps no older than [`KEPT_US`].
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    steps: VecDeque<Step>,
    floor: Floor,
    /// The object that an inferred DELETED removed, until the ADDED comes from which that DELETED was inferred. The
    /// inferred DELETED has the version of the ADDED. `None` if no such ADDED is to come.
    replaced: Option<Version>,
    /// The watch's progress when its stream last delivered an event older than the held object. Such an event is no
    /// step. `None` if there was none since the log last began.
    passed_over: Option<ResourceVersion>,
}

/// The objects of a watch at a past resourceVersion, as differences from its current objects.
#[derive(Debug)]
pub(super) struct Past<'a> {
    watch: &'a Watch,
    then: BTreeMap<&'a Place, Option<&'a Version>>,
}

impl History {
    /// Returns the per-key log of a watch in a fold. If the watch has completed a list, the state that it holds now is
    /// known, and no state before; otherwise no state is known.
    pub(super) fn since(watch: &Watch) -> Self {
        let floor = match &watch.progress {
            Some(progress)
                if watch
                    .list
                    .as_ref()
                    .is_some_and(|list| list.complete.is_some()) =>
            {
                Floor::At(progress.clone())
            }
            _ => Floor::Unknown,
        };
        Self {
            floor,
            ..Self::default()
        }
    }

    /// Begins anew from a complete list or complete initial events. The watch then holds the state at the list's
    /// version, or still its own state if the list is older than its progress.
    pub(super) fn listed(&mut self, before: &Watch, version: &ResourceVersion) {
        let newest = match &before.progress {
            Some(progress) if progress.is_after(version) => progress,
            _ => version,
        };
        self.begin(Floor::At(newest.clone()));
    }

    /// Adds a change. `before` is the state of the watch before the change.
    pub(super) fn changed(&mut self, before: &Watch, change: &Change, now: Time) {
        if is_reading(before) {
            return self.begin(Floor::Unknown);
        }
        let held = before.held(&change.object);
        if held.is_some_and(|held| held.resource_version.is_after(&change.resource_version)) {
            // The event is a replay, or came before in the order; the fold passes over it.
            self.passed_over.clone_from(&before.progress);
            return;
        }
        let held = held.map(|held| (held.object.clone(), held.resource_version.clone()));
        if change.origin == Origin::Inferred {
            self.replaced = held;
            return;
        }
        let was_replaced = self.replaced.take();
        let is_in_order = match &before.progress {
            Some(progress) if change.resource_version == *progress => self.is_beside_last(change),
            Some(progress) => change.resource_version.is_after(progress),
            None => false,
        };
        if !is_in_order {
            // The state of this event is not one that the watch has passed.
            let highest = match &before.progress {
                Some(progress) if progress.compare(&change.resource_version).is_some() => {
                    Floor::Above(progress.clone())
                }
                _ => Floor::At(change.resource_version.clone()),
            };
            return self.begin(highest);
        }
        let place = Place(change.object.clone());
        self.steps.push_back(Step {
            at: now,
            version: change.resource_version.clone(),
            before: held.or_else(|| was_replaced.filter(|old| Place(old.0.clone()) == place)),
            place,
        });
        while self.steps.len() > MAX_STEPS
            || self
                .steps
                .front()
                .is_some_and(|step| now.micros_since(step.at) > KEPT_US)
        {
            if let Some(step) = self.steps.pop_front() {
                self.floor = Floor::At(step.version);
            }
        }
    }

    /// Returns whether a change has the version of the last step, and no step at that version is of the same object.
    /// One transaction of etcd may change several objects, as at the end of a lease.
    fn is_beside_last(&self, change: &Change) -> bool {
        let (version, place) = (&change.resource_version, Place(change.object.clone()));
        let mut last = self
            .steps
            .iter()
            .rev()
            .take_while(|step| step.version == *version)
            .peekable();
        last.peek().is_some() && last.all(|step| step.place != place)
    }

    fn begin(&mut self, floor: Floor) {
        self.steps.clear();
        self.replaced = None;
        self.passed_over = None;
        self.floor = floor;
    }

    /// Returns what the watch held at a resourceVersion. `None` if the watch has not reached that version, or if the
    /// state at it is unknown or no longer kept.
    pub(super) fn at<'a>(
        &'a self,
        watch: &'a Watch,
        version: &ResourceVersion,
    ) -> Option<Past<'a>> {
        let progress = watch.progress.as_ref()?;
        if is_reading(watch) || self.replaced.is_some() || version.is_after(progress) {
            return None;
        }
        let is_known = match &self.floor {
            Floor::Unknown => false,
            // Versions without an order can still be equal.
            Floor::At(floor) => version == progress || floor == version || version.is_after(floor),
            Floor::Above(floor) => version.is_after(floor),
        };
        if !is_known || (version != progress && version.compare(progress).is_none()) {
            return None;
        }
        let mut then = BTreeMap::new();
        for step in self.steps.iter().rev() {
            if !step.version.is_after(version) {
                break;
            }
            then.insert(&step.place, step.before.as_ref());
        }
        Some(Past { watch, then })
    }

    /// Returns object and version of each event that the stream delivered above `from`, up to and including `to`.
    /// `None` if these events are unknown, or the stream delivered events out of order.
    pub(super) fn delivered<'a>(
        &'a self,
        watch: &Watch,
        from: &ResourceVersion,
        to: &'a ResourceVersion,
    ) -> Option<impl Iterator<Item = (&'a Place, &'a ResourceVersion)>> {
        let is_known = match &self.floor {
            Floor::Unknown => false,
            Floor::At(floor) | Floor::Above(floor) => floor == from || from.is_after(floor),
        };
        let is_known = is_known
            && self
                .passed_over
                .as_ref()
                .is_none_or(|over| over == from || from.is_after(over));
        let from = from.clone();
        let is_between =
            move |step: &&Step| step.version.is_after(&from) && !step.version.is_after(to);
        (is_known && !is_reading(watch) && self.replaced.is_none()).then(|| {
            let between = self.steps.iter().filter(is_between);
            between.map(|step| (&step.place, &step.version))
        })
    }

    /// Returns the number of kept steps.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns the memory of the steps, with the objects that they keep in memory, in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let object = |object: &Arc<Object>| {
            let texts = object.name.len() + object.namespace.as_deref().map_or(0, str::len);
            size_of::<Object>() + texts + 48
        };
        let step = |step: &Step| {
            let before = step.before.as_ref().map_or(0, |(old, _)| object(old));
            object(&step.place.0) + before
        };
        self.steps.capacity() * size_of::<Step>() + self.steps.iter().map(step).sum::<usize>()
    }
}

/// Returns whether the watch is listing, so that the objects that it holds are no state of one version.
fn is_reading(watch: &Watch) -> bool {
    watch
        .phase
        .as_ref()
        .is_some_and(|phase| phase.phase == Phase::Listing)
}

impl<'a> Past<'a> {
    /// Returns what the watch held under an object's namespace and name at the past version; `None` if it held nothing.
    pub(super) fn get(
        &self,
        object: &Arc<Object>,
    ) -> Option<(&'a Arc<Object>, &'a ResourceVersion)> {
        match self.then.get(&Place(object.clone())) {
            Some(before) => before.map(|(object, version)| (object, version)),
            None => self
                .watch
                .held(object)
                .map(|held| (&held.object, &held.resource_version)),
        }
    }

    /// Returns whether the watch still holds for this namespace and name what it held at the past version.
    pub(super) fn still_holds(&self, object: &Arc<Object>) -> bool {
        !self.then.contains_key(&Place(object.clone()))
    }

    /// Returns all objects that the watch held at the past version, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a Arc<Object>, &'a ResourceVersion)> {
        let unchanged = self
            .watch
            .objects
            .iter()
            .filter(|held| !self.then.contains_key(&Place(held.object.clone())))
            .map(|held| (&held.object, &held.resource_version));
        let changed = self
            .then
            .values()
            .flatten()
            .map(|(object, version)| (object, version));
        unchanged.chain(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchscope_model::event::{ListComplete, WatchPhase, WatchStarted};
    use watchscope_model::vocabulary::{ChangeType, PhaseReason};
    use watchscope_model::{Event, Record, State, Uid, WatchName};

    struct Stage {
        state: State,
        history: History,
        name: WatchName,
    }

    impl Stage {
        fn new() -> Self {
            let name: WatchName = "*/pods".into();
            let mut stage = Self {
                state: State::default(),
                history: History::default(),
                name,
            };
            let started = WatchStarted::plain(stage.name.clone(), "", "pods");
            stage.take(started.into(), 0);
            stage
        }

        fn take(&mut self, event: Event, at: i64) {
            let record = Record {
                seq: self.state.seq.next(),
                at: Time(at),
                event,
            };
            if let Some(before) = self.state.watches.get(&self.name) {
                match &record.event {
                    Event::Change(change) => self.history.changed(before, change, record.at),
                    Event::ListComplete(list) => {
                        self.history.listed(before, &list.resource_version)
                    }
                    _ => {}
                }
            }
            self.state.apply(&record);
        }

        fn phase(&mut self, to: Phase) {
            let phase = WatchPhase {
                watch: self.name.clone(),
                from: Some(Phase::Connecting),
                to,
                reason: PhaseReason::Started,
                delay_ms: None,
                error: None,
            };
            self.take(phase.into(), 0);
        }

        fn change(&mut self, what: ChangeType, origin: Origin, name: &str, version: u64, at: i64) {
            let change = Change {
                watch: self.name.clone(),
                stream: None,
                change: what,
                origin,
                object: Arc::new(Object {
                    namespace: Some("shop".into()),
                    name: name.into(),
                    uid: Uid::parse("0a0a0a0a-0000-0000-0000-000000000000"),
                }),
                resource_version: version.into(),
                generation: None,
                manager: None,
                subresource: None,
                bytes: None,
                stray: None,
                owner: None,
            };
            self.take(change.into(), at);
        }

        fn list(&mut self, names: &[&str], version: u64) {
            self.phase(Phase::Listing);
            for name in names {
                self.change(ChangeType::Added, Origin::List, name, 1, 0);
            }
            let list = ListComplete {
                watch: self.name.clone(),
                resource_version: version.into(),
                items: names.len() as u64,
                added: names.len() as u64,
                changed: 0,
                removed: 0,
            };
            self.take(list.into(), 0);
            self.phase(Phase::Streaming);
        }

        fn live(&mut self, what: ChangeType, name: &str, version: u64) {
            self.change(what, Origin::Live, name, version, 0);
        }

        /// Returns the objects that were held at a version, `a@1 b@5`, or `unknown`.
        fn at(&self, version: u64) -> String {
            let watch = &self.state.watches[&self.name];
            let Some(past) = self.history.at(watch, &version.into()) else {
                return "unknown".into();
            };
            let mut all: Vec<String> = past
                .all()
                .map(|(object, version)| format!("{}@{version}", object.name))
                .collect();
            all.sort();
            all.join(" ")
        }
    }

    #[test]
    fn every_state_since_the_list_is_rebuilt() {
        let mut stage = Stage::new();
        stage.list(&["a", "b"], 10);
        stage.live(ChangeType::Modified, "a", 12);
        stage.live(ChangeType::Deleted, "b", 13);
        stage.live(ChangeType::Added, "c", 15);
        stage.live(ChangeType::Added, "b", 16);
        let lines: Vec<String> = (9..=17).map(|version| stage.at(version)).collect();
        let expected = [
            "unknown",
            "a@1 b@1",
            "a@1 b@1",
            "a@12 b@1",
            "a@12",
            "a@12",
            "a@12 c@15",
            "a@12 b@16 c@15",
            "unknown",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn objects_that_go_in_one_transaction_are_in_order_and_an_object_that_goes_twice_is_not() {
        let mut stage = Stage::new();
        stage.list(&["a", "b"], 10);
        stage.live(ChangeType::Deleted, "a", 12);
        stage.live(ChangeType::Deleted, "b", 12);
        let lines = [10, 11, 12].map(|version| stage.at(version));
        assert_eq!(lines, ["a@1 b@1", "a@1 b@1", ""]);
        stage.live(ChangeType::Deleted, "a", 12);
        assert_eq!([10, 12].map(|version| stage.at(version)), ["unknown"; 2]);
    }

    #[test]
    fn nothing_is_known_while_a_state_is_read() {
        let mut stage = Stage::new();
        assert_eq!(stage.at(0), "unknown");
        stage.list(&["a"], 10);
        stage.phase(Phase::Listing);
        assert_eq!(stage.at(10), "unknown");
        stage.change(ChangeType::Added, Origin::List, "b", 3, 0);
        stage.phase(Phase::Streaming);
        assert_eq!(stage.at(10), "unknown");
        stage.list(&["a", "b"], 20);
        assert_eq!([stage.at(10), stage.at(20)], ["unknown", "a@1 b@3"]);
    }

    #[test]
    fn an_event_out_of_order_leaves_no_state_of_the_past() {
        let mut stage = Stage::new();
        stage.list(&["a", "b"], 10);
        stage.live(ChangeType::Modified, "a", 15);
        // 1.9.2's DELETED with the old version of its object (F23).
        stage.live(ChangeType::Deleted, "b", 1);
        assert_eq!([stage.at(12), stage.at(15)], ["unknown", "unknown"]);
        stage.live(ChangeType::Modified, "a", 18);
        assert_eq!([stage.at(16), stage.at(18)], ["a@15", "a@18"]);
    }

    #[test]
    fn a_replay_changes_nothing() {
        let mut stage = Stage::new();
        stage.list(&["a"], 10);
        stage.live(ChangeType::Modified, "a", 15);
        stage.live(ChangeType::Modified, "a", 12);
        assert_eq!([stage.at(12), stage.at(15)], ["a@1", "a@15"]);
    }

    #[test]
    fn steps_older_than_ten_minutes_are_forgotten() {
        let mut stage = Stage::new();
        stage.list(&["a"], 10);
        for n in 0..30 {
            stage.change(
                ChangeType::Modified,
                Origin::Live,
                "a",
                11 + n,
                60_000_000 * n as i64,
            );
        }
        assert_eq!(stage.history.len(), 11);
        assert_eq!([stage.at(28), stage.at(29)], ["unknown", "a@29"]);
    }

    #[test]
    fn a_hundred_and_fifty_thousand_objects_with_twenty_changes_a_second_take_less_than_64_mib() {
        let mut stage = Stage::new();
        stage.phase(Phase::Listing);
        let name = |n: u64| format!("a-deployment-{:05}-{n:010}", n % 1_000);
        for n in 0..150_000 {
            stage.change(ChangeType::Added, Origin::List, &name(n), 1, 0);
        }
        stage.list(&[], 10);
        for n in 0..12_000_u64 {
            let at = 50_000 * n as i64;
            stage.change(
                ChangeType::Modified,
                Origin::Live,
                &name(n * 12),
                11 + n,
                at,
            );
        }
        assert_eq!(stage.history.len(), 12_000);
        let watch = &stage.state.watches[&stage.name];
        let past = stage.history.at(watch, &10.into()).unwrap();
        assert!(past.all().all(|(_, version)| *version == 1.into()));
        assert_eq!(past.all().count(), 150_000);
        let (bytes, most) = (stage.history.bytes(), 64 << 20);
        assert!(bytes < most / 8, "{bytes} bytes");
    }
}
