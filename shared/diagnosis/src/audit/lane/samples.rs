//! Which object is looked up in etcd next, where lists may hide what is wrong, and when: evenly over time, so that no
//! server is sent bursts.

use std::collections::BTreeMap;
use std::sync::Arc;

use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::{Object, Time};

use super::conclude::FOLLOWED;
use crate::audit::{FULL_WATCH, Level};

/// The least time from one object to the next, in microseconds: 16 a minute, which leave two lists and two reads to
/// confirm of a watch's requests.
const LEAST_US: i64 = 3_750_000;
/// The least time until an object is looked up again, in microseconds, by `light` and by `full`.
const AGAIN_US: [i64; 2] = [30_000_000, 15_000_000];
/// The longest, of a watch that `full` reads whole: within two minutes, and one of [`FULL_WATCH`] objects with its lists
/// and those of five others needs 116 requests a minute.
const WHOLE_US: i64 = 115_000_000;
/// Most objects of a watch of which it is remembered when each was looked up; of more they are looked up in turn.
const MOST_REMEMBERED: usize = 1_024;

/// When which object was looked up: at most twice [`MOST_REMEMBERED`], about 60 bytes each.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    looked_up: BTreeMap<Place, Time>,
    /// Where they are looked up in turn: which was the last.
    cursor: usize,
}

impl Samples {
    /// How long after one object the next is looked up, in microseconds.
    pub(super) fn period_us(level: Level, held: usize) -> i64 {
        let held_us = i64::try_from(held.max(1)).unwrap_or(i64::MAX);
        let [light, full] = AGAIN_US.map(|again| (again / held_us).max(LEAST_US));
        match level {
            Level::Full if held <= FULL_WATCH => full.min(WHOLE_US / held_us),
            _ => light,
        }
    }

    /// The object to be looked up next: the one whose last look is longest ago, what is said to be wrong first.
    pub(super) fn next(&mut self, watch: &Watch, now: Time) -> Option<Arc<Object>> {
        let held = watch.objects.len();
        let next = if held <= MOST_REMEMBERED {
            self.longest_ago(watch)
        } else {
            let is_due = |object: &&Arc<Object>| {
                let last = self.looked_up.get(&Place((*object).clone()));
                last.is_none_or(|at| now.micros_since(*at) >= AGAIN_US[0])
            };
            let accused = accused(watch).find(is_due);
            accused.or_else(|| {
                self.cursor = (self.cursor + 1) % held;
                let in_turn = watch.objects.iter().nth(self.cursor);
                in_turn.map(|held| &held.object)
            })
        };
        let next = next.cloned()?;
        self.looked_up(&next, now);
        Some(next)
    }

    /// An object was looked up for another watch. Whether that is as good as the look that was to come next.
    pub(super) fn overheard(&mut self, watch: &Watch, object: &Arc<Object>, now: Time) -> bool {
        let is_next = watch.objects.len() <= MOST_REMEMBERED
            && self
                .longest_ago(watch)
                .is_some_and(|next| Place(next.clone()) == Place(object.clone()));
        self.looked_up(object, now);
        is_next
    }

    fn longest_ago<'a>(&self, watch: &'a Watch) -> Option<&'a Arc<Object>> {
        let held = watch.objects.iter().map(|held| &held.object);
        let last = |object: &&Arc<Object>| self.looked_up.get(&Place((*object).clone())).copied();
        accused(watch).chain(held).min_by_key(last)
    }

    fn looked_up(&mut self, object: &Arc<Object>, now: Time) {
        self.looked_up.insert(Place(object.clone()), now);
        if self.looked_up.len() > 2 * MOST_REMEMBERED {
            // Those that are gone, or were looked up in turn.
            let newest = now.plus_micros(-AGAIN_US[0]);
            self.looked_up.retain(|_, at| *at > newest);
        }
    }
}

/// Objects that are said to be wrong.
fn accused(watch: &Watch) -> impl Iterator<Item = &Arc<Object>> {
    let open = watch.verdicts.values().take(FOLLOWED);
    open.map(|open| &open.verdict.object)
}
