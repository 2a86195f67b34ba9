//! The ticks of the search's hits in the picture and on the overview. The third part of the page has this code.

use watchscope_model::Time;
use watchscope_timeline::draw::{self, FoundMark};
use watchscope_timeline::overview;
use watchscope_timeline::scene::{Hit, Px, Target};
use watchscope_timeline::{LaneId, Store};

use crate::core::model::Model;
use crate::core::search::{SearchHit, SearchState};

impl Model {
    /// Adds a tick for each hit in view to the picture. A scene has at most as many ticks as a search has hits.
    pub fn tick_lanes(&mut self) {
        let hidden = self.lanes.setup().hidden();
        let Some(search) = self.panels.search.as_mut() else {
            return;
        };
        search.find_lanes(&self.store, hidden);
        let current = search.current.and_then(|place| search.mark(place));
        let before = self.scene.hits.len();
        draw::found_ticks(
            &mut self.scene,
            (&self.rows, Px::from_f64(self.scroll_px)),
            &self.view,
            &search.ticks.marks,
            current,
        );
        // A record that is not loaded has nothing to show: a click on its tick selects the lane.
        let is_loaded = |hit: &Hit| matches!(hit.target, Target::Record(id) if self.store.has(id));
        let ticks = self.scene.hits.split_off(before);
        self.scene.hits.extend(ticks.into_iter().filter(is_loaded));
    }

    /// Adds a tick for each hit to the overview, also for a hit whose lane is unknown or hidden. Its width bounds their
    /// number.
    pub fn tick_overview(&mut self) {
        let Some(search) = &self.panels.search else {
            return;
        };
        if let Some((scale, scene)) = &mut self.panels.overview.drawn {
            let times: Vec<Time> = search.hits.iter().map(|hit| hit.at).collect();
            let current = search.current.and_then(|place| times.get(place).copied());
            overview::found_ticks(scene, scale, &times, current);
        }
    }
}

impl SearchState {
    /// Finds the lanes of new hits, and of those whose lanes were unknown if the store met new ones.
    fn find_lanes(&mut self, store: &Store, hidden: &[String]) {
        let known = store.count_lanes();
        let ticks = &mut self.ticks;
        let is_whole = ticks.lanes.len() == self.hits.len();
        if is_whole && ticks.known == known && ticks.hidden == hidden {
            return;
        }
        ticks.known = known;
        ticks.hidden = hidden.to_vec();
        ticks.lanes.resize(self.hits.len(), None);
        for (lane, hit) in ticks.lanes.iter_mut().zip(&self.hits) {
            *lane = lane.or_else(|| lane_of(store, &hit.lane));
        }
        let found = ticks.lanes.iter().zip(&self.hits);
        let found = found.filter(|(_, hit)| !is_hidden(hit, hidden));
        let marks = found.filter_map(|(lane, hit)| {
            Some(FoundMark {
                lane: (*lane)?,
                at: hit.at,
                record: hit.record(store),
            })
        });
        ticks.marks = marks.collect();
    }

    /// Returns the mark of a hit, if its lane is known.
    fn mark(&self, place: usize) -> Option<FoundMark> {
        let lane = (*self.ticks.lanes.get(place)?)?;
        let at = self.hits.get(place)?.at;
        // It has a frame, which does not answer to the pointer.
        Some(FoundMark {
            lane,
            at,
            record: None,
        })
    }
}

fn lane_of(store: &Store, key: &str) -> Option<LaneId> {
    match key {
        "findings" => Some(LaneId::Findings),
        key => store.lane_of_key(key),
    }
}

/// Whether a person hid the hit's lane, or the watch that the lane belongs to.
fn is_hidden(hit: &SearchHit, hidden: &[String]) -> bool {
    hidden.iter().any(|key| {
        let rest = hit.lane.strip_prefix(key.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}
