//! Chooses which object is looked up in etcd next, and when, if lists may hide a wrong object. The lookups are spread
//! evenly over time, so that no server gets bursts.

use std::sync::Arc;

use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::read::Seen;
use watchscope_model::tree::BTreeMap;
use watchscope_model::{Object, Text, Time, Uid};

use crate::audit::level::{FULL_WATCH, Level, SMALL_WATCH};

/// Shortest time in µs from one lookup of a sample to the next. These 16 lookups a minute leave, of a watch's 20
/// requests, two lists and two reads that confirm (docs/audit.md#how-much-is-read). Only a watch of at most 200 objects
/// ([`FULL_WATCH`]) at level `full` may have a shorter time ([`WHOLE_US`]).
const LEAST_US: i64 = 3_750_000;
/// Shortest times in µs until sampling looks the same object up again, at level `light` and at level `full`. They are
/// the times between lists at these levels. The first is also the time for which a suspect is not chosen again, at each
/// level. When lookup times are forgotten, those within the first stay.
const AGAIN_US: [i64; 2] = [30_000_000, 15_000_000];
/// Time in µs within which the level `full` looks up each object of a watch of at most [`FULL_WATCH`] objects: less
/// than two minutes. Requests that have to wait make it longer. For [`FULL_WATCH`] objects that is one lookup every
/// 0.575 s, or 104 requests a minute. The other 16 of the server's 120 are for lists, second watches and reads that
/// confirm (docs/audit.md#how-much-is-read).
const WHOLE_US: i64 = 115_000_000;
/// Most objects of a watch for which the time of the last lookup decides which object is next. The objects of a larger
/// watch are looked up in their order. Up to twice as many lookup times are remembered; beyond that, those older than
/// 30 s are forgotten. The limit bounds how many objects are compared for each choice. The number has no source.
const MOST_REMEMBERED: usize = 1_024;

/// Most suspect objects that are remembered. Of more suspects, those whose owner was deleted are dropped first, then
/// those with the latest deletionTimestamp. The limit bounds the memory. The number has no source.
const MOST_SUSPECTS: usize = 64;

/// Why an object may be a ghost. The most serious reason comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Suspicion {
    /// The object's deletion was requested at this time (deletionTimestamp), and it still exists.
    DeletedAt(Text),
    /// The object's owner was deleted.
    WithoutOwner,
}

/// When each object was last looked up (at most twice [`MOST_REMEMBERED`], about 60 bytes each), and the suspects.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    looked_up: BTreeMap<Place, Time>,
    suspects: BTreeMap<Place, Suspicion>,
    /// Whether the last lookup was of a suspect.
    was_suspect: bool,
    /// The index of the last object that was looked up, if objects are looked up in their order.
    cursor: usize,
}

impl Samples {
    /// Returns the time from one lookup to the next, in microseconds.
    pub(super) fn period_us(level: Level, watch: &Watch) -> i64 {
        let held = watch.objects.len();
        let in_turn = held + missing(watch).count();
        let in_turn_us = |most: usize| i64::try_from(in_turn.clamp(1, most)).unwrap_or(i64::MAX);
        let all_us = in_turn_us(usize::MAX);
        let [light, full] = AGAIN_US.map(|again| (again / all_us).max(LEAST_US));
        match level {
            Level::Full if held <= FULL_WATCH => full.min(WHOLE_US / in_turn_us(FULL_WATCH)),
            _ => light,
        }
    }

    /// Notes which items of a list may be ghosts. `gone` returns whether an owner was deleted some time ago.
    pub(super) fn listed(&mut self, items: &[Seen], gone: impl Fn(&Uid) -> bool) {
        for Seen {
            object,
            deleted_at,
            owners,
            ..
        } in items
        {
            let suspicion = match deleted_at {
                Some(at) => Some(Suspicion::DeletedAt(at.clone())),
                None if owners.iter().any(&gone) => Some(Suspicion::WithoutOwner),
                None => None,
            };
            let place = Place(object.clone());
            match suspicion {
                Some(suspicion) => self.suspects.insert(place, suspicion),
                None => self.suspects.remove(&place),
            };
            if self.suspects.len() > MOST_SUSPECTS
                && let Some((least, _)) = self.suspects.iter().max_by_key(|(_, why)| *why)
            {
                let least = least.clone();
                self.suspects.remove(&least);
            }
        }
    }

    /// Returns the next object to look up: of the held objects and those with a `missing` verdict, the one whose last
    /// lookup is the longest ago; `None` if there is none. Among equally long ago, suspect objects come first, then
    /// missing ones. A watch that holds over [`MOST_REMEMBERED`] objects gets its held objects in their order. If the
    /// watch has too many objects to look all up in time, every other lookup is of a suspect.
    pub(super) fn next(&mut self, watch: &Watch, level: Level, now: Time) -> Option<Arc<Object>> {
        let held = watch.objects.len();
        self.suspects
            .retain(|place, _| watch.held(&place.0).is_some());
        let all_in_time = match level {
            Level::Full => FULL_WATCH,
            _ => SMALL_WATCH,
        };
        let last = |object: &Arc<Object>| self.looked_up.get(&Place(object.clone())).copied();
        let is_due = |object: &Arc<Object>| {
            last(object).is_none_or(|at| now.micros_since(at) >= AGAIN_US[0])
        };
        let may_be_suspect = held > all_in_time && !self.was_suspect;
        let suspects = self.suspects.iter();
        let suspects = suspects.map(|(place, why)| (&place.0, Some(why)));
        // In a watch that is looked up in order they would wait too long for their turn.
        let accused = accused(watch).filter(|_| held > MOST_REMEMBERED);
        let suspect = accused
            .map(|object| (object, None))
            .chain(suspects)
            .filter(|(object, _)| may_be_suspect && is_due(object))
            .min_by_key(|(object, why)| (last(object), *why))
            .map(|(object, _)| object.clone());
        self.was_suspect = suspect.is_some();
        let next = if suspect.is_some() {
            suspect
        } else if held <= MOST_REMEMBERED {
            self.longest_ago(watch).cloned()
        } else {
            self.cursor = (self.cursor + 1) % held;
            let in_turn = watch.objects.iter().nth(self.cursor);
            in_turn.map(|held| held.object.clone())
        };
        if let Some(next) = &next {
            self.looked_up(next, now);
        }
        next
    }

    /// Notes that an object was looked up otherwise, as for another watch. Returns whether this lookup replaces the
    /// next one.
    pub(super) fn overheard(&mut self, watch: &Watch, object: &Arc<Object>, now: Time) -> bool {
        let is_next = watch.objects.len() <= MOST_REMEMBERED
            && self
                .longest_ago(watch)
                .is_some_and(|next| Place(next.clone()) == Place(object.clone()));
        self.looked_up(object, now);
        is_next
    }

    /// Returns all objects that are held or have a `missing` verdict, in the order in which they are to be looked up;
    /// `None` if there are more than `most`.
    pub(super) fn all(&self, watch: &Watch, most: usize) -> Option<Vec<Arc<Object>>> {
        let all = missing(watch).chain(held(watch));
        let mut all: Vec<_> = all.take(most.saturating_add(1)).cloned().collect();
        if all.len() > most {
            return None;
        }
        all.sort_by_cached_key(|object| self.turn_of(object));
        Some(all)
    }

    fn longest_ago<'a>(&self, watch: &'a Watch) -> Option<&'a Arc<Object>> {
        let all = missing(watch).chain(held(watch));
        all.min_by_key(|object| self.turn_of(object))
    }

    /// Returns the sort key of an object: the smallest is looked up first.
    fn turn_of(&self, object: &Arc<Object>) -> (Option<Time>, bool, Option<Suspicion>) {
        let place = Place(object.clone());
        let suspicion = self.suspects.get(&place);
        let is_trusted = suspicion.is_none();
        (
            self.looked_up.get(&place).copied(),
            is_trusted,
            suspicion.cloned(),
        )
    }

    pub(super) fn looked_up(&mut self, object: &Arc<Object>, now: Time) {
        self.looked_up.insert(Place(object.clone()), now);
        if self.looked_up.len() > 2 * MOST_REMEMBERED {
            // Objects looked up before that are gone, or were looked up in order.
            let newest = now.plus_micros(-AGAIN_US[0]);
            self.looked_up.retain(|_, at| *at > newest);
        }
    }
}

fn held(watch: &Watch) -> impl Iterator<Item = &Arc<Object>> {
    watch.objects.iter().map(|held| &held.object)
}

/// Returns the objects with an open verdict.
fn accused(watch: &Watch) -> impl Iterator<Item = &Arc<Object>> {
    let open = watch.verdicts.values();
    open.map(|open| &open.verdict.object)
}

/// Returns the objects with a `missing` verdict.
fn missing(watch: &Watch) -> impl Iterator<Item = &Arc<Object>> {
    accused(watch).filter(|object| watch.held(object).is_none())
}
