//! Random logs, random views of them, and comparable pictures.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use watchscope_model::event::*;
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_timeline::{Lanes, Rows, Scene, Store, View};

use super::{Log, START, picture};

const WATCHES: [&str; 3] = ["shop/pods", "shop/configmaps", "*/events"];

/// A seeded random generator.
pub struct Chance(ChaCha8Rng);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// Returns a log of about `count` records: watches that list, stream, break, wait, resume, relist, diverge.
pub fn random_log(seed: u64, count: usize) -> Log {
    let mut chance = Chance::new(seed);
    let mut log = Log::new("a");
    let mut s = 0.0;
    let (mut version, mut id) = (1_000_u64, 1_u64);
    for watch in WATCHES {
        log.opened(s, watch, id, &["a-0", "b-1"], version);
        id += 1;
        s += 1.0;
    }
    while log.records.len() < count {
        s += if chance.one_in(12) {
            chance.below(20_000) as f64 / 1e3
        } else {
            chance.below(900) as f64 / 1e3
        };
        version += if chance.one_in(30) {
            5_000
        } else {
            1 + chance.below(4)
        };
        id += 1;
        step(&mut log, &mut chance, s, version, id);
    }
    log
}

fn step(log: &mut Log, chance: &mut Chance, s: f64, version: u64, id: u64) {
    let watch = chance.of(&WATCHES);
    let name = WatchName::from(watch);
    let state = log.state.watches[&name].clone();
    let object = chance.of(&["a-0", "b-1", "c-2", "d-3", "e-4"]);
    if chance.one_in(25) {
        let kind = chance.of(Divergence::ALL);
        let standing = chance.of(&[Standing::Raised, Standing::Confirmed, Standing::Cleared]);
        log.verdict(s, watch, object, kind, standing);
        return;
    }
    if chance.one_in(25) {
        let severity = chance.of(Severity::ALL);
        let code = chance.of(&["F08", "F11", "F24"]);
        let standing = chance.of(&[Standing::Raised, Standing::Updated, Standing::Cleared]);
        log.finding(
            s,
            code,
            severity,
            standing,
            watch,
            "something with 3 numbers",
        );
        return;
    }
    if chance.one_in(60) {
        log.push(
            s,
            Loss {
                place: LossPlace::Frame,
                count: 1,
                from_seq: None,
                to_seq: None,
                watch: Some(name.clone()),
                bytes: Some(10),
                reason: None,
                what: None,
            },
        );
        return;
    }
    if let Some(stream) = &state.stream {
        let number = stream.stream;
        match chance.below(24) {
            0 => {
                log.end(
                    s,
                    watch,
                    number.0,
                    chance.of(&[Cause::End, Cause::TcpReset, Cause::Eof]),
                );
            }
            1 => {
                log.error(s, watch, number.0, chance.of(&[410, 500]));
                log.end(s, watch, number.0, Cause::ErrorEvent);
            }
            2 => {
                // Diagnosis attributes only streams that have ended.
                let ended = log
                    .records
                    .iter()
                    .rev()
                    .find_map(|record| match &record.event {
                        Event::StreamEnded(ended) if ended.watch == name => Some(ended.stream),
                        _ => None,
                    });
                let code = chance.of(&["F05", "normal", "unknown", "F08"]).into();
                if let Some(stream) = ended {
                    let (certainty, evidence) = (Certainty::Likely, vec![]);
                    log.push(
                        s,
                        Attribution {
                            watch: name,
                            stream,
                            code,
                            certainty,
                            evidence,
                        },
                    );
                }
            }
            3 | 4 => {
                log.bookmark(s, watch, number.0, version);
            }
            5 => {
                // A server whose versions went back.
                log.change(
                    s,
                    watch,
                    ChangeType::Modified,
                    Origin::Live,
                    object,
                    version.saturating_sub(600),
                );
            }
            _ => {
                let kind = chance.of(ChangeType::ALL);
                let sub = chance.of(&[None, Some("status")]);
                log.change_as(
                    s,
                    watch,
                    kind,
                    Origin::Live,
                    object,
                    version,
                    (1 + chance.below(2), sub),
                );
            }
        }
        return;
    }
    match state.phase.as_ref().map(|phase| phase.phase) {
        Some(Phase::Listing) => {
            for object in ["a-0", "c-2"] {
                if chance.one_in(2) {
                    log.change(
                        s,
                        watch,
                        ChangeType::Modified,
                        Origin::List,
                        object,
                        version,
                    );
                }
            }
            for object in ["b-1", "d-3"] {
                let held = log.state.watches[&name]
                    .held(&super::object(object, 1))
                    .is_some();
                if held && chance.one_in(2) {
                    log.change(
                        s,
                        watch,
                        ChangeType::Deleted,
                        Origin::Inferred,
                        object,
                        version,
                    );
                }
            }
            log.list(s, watch, version, 3, (0, 1, 1));
            if log.state.watches[&name].gap.is_some() {
                let lost = chance.of(&[None, Some(3)]);
                log.gap(s, watch, false, lost);
            }
            log.phase(s, watch, Phase::Connecting, PhaseReason::Listed, None);
        }
        _ if chance.one_in(3) => {
            let reason = chance.of(&[PhaseReason::TooManyRequests, PhaseReason::Unreachable]);
            log.phase(s, watch, Phase::Waiting, reason, Some(1_600));
        }
        _ if chance.one_in(8) => {
            log.phase(
                s,
                watch,
                Phase::Refused,
                PhaseReason::Forbidden,
                Some(30_000),
            );
        }
        _ if chance.one_in(4) => {
            log.phase(s, watch, Phase::Listing, PhaseReason::Expired, None);
        }
        _ => {
            if let Some(old) = state.connection.filter(|_| chance.one_in(2)) {
                let cause = chance.of(&[Cause::TcpReset, Cause::End]);
                log.push(s, ConnectionClosed::unasked(old, cause));
            }
            // The number of a connection is unique in its epoch, so a closed one does not come back.
            let open = log.state.watches[&name]
                .connection
                .filter(|_| chance.one_in(2));
            let connection = open.map_or(id, |open| open.0);
            if !log
                .state
                .connections
                .contains_key(&ConnectionId(connection))
            {
                log.connection(s, connection, "10.20.0.12:6443");
            }
            log.request(
                s,
                watch,
                id,
                connection,
                "watch",
                "watch=1&timeoutSeconds=300",
            );
            if log.state.watches[&name].gap.is_some() {
                log.gap(s, watch, true, Some(0));
            }
            log.open(s, watch, id, id, version);
        }
    }
}

/// Returns a scene without numbers that depend on the order in which names came.
pub fn comparable(store: &Store, rows: &Rows, scene: &Scene) -> String {
    let mut text = String::new();
    for row in &rows.rows {
        let (id, height) = (
            watchscope_timeline::words::lane_words(store, row.id),
            row.height,
        );
        text.push_str(&format!(
            "row {id} {} {height} {:?} {:?}\n",
            row.y, row.mark, row.expanded
        ));
    }
    text + &scene.dump() + &scene.dump_hits()
}

pub fn draw(store: &Store, view: &View, now: Time, collapsed: bool) -> String {
    let mut lanes = Lanes::showing_all();
    if collapsed {
        lanes.set_all_expanded(store, false);
    }
    let (rows, scene) = picture(store, &mut lanes, view, now);
    comparable(store, &rows, &scene)
}

/// Returns a late reader of a log: a head snapshot after some records, then some chapters of the past, newest first.
/// Also returns from which record and time on it has all.
pub fn late_reader(log: &Log, chance: &mut Chance) -> (Store, usize, Time) {
    let mut store = Store::default();
    let mut cut = chance.below(log.records.len() as u64 + 1) as usize;
    log.send_from(&mut store, cut);
    for _ in 0..chance.below(4) {
        let from = chance.below(cut as u64 + 1) as usize;
        if from < cut {
            store.chapter(&log.chapter(from, cut)).unwrap();
            cut = from;
        }
    }
    let from = cut
        .checked_sub(1)
        .map_or(START, |last| log.records[last].at);
    (store, cut, from)
}

/// Returns views that lie in `from..to`, with a margin for marks that reach over an edge.
pub fn views(chance: &mut Chance, from: Time, to: Time) -> Vec<View> {
    const MARGIN_PX: f64 = 70.0;
    let span = to.micros_since(from) as f64;
    (0..4)
        .map(|_| {
            let width = 300.0 + chance.below(900) as f64;
            let share = 1.0 / (1.0 + chance.below(40) as f64);
            let us_per_px = span * share / (width + MARGIN_PX);
            let free = span - us_per_px * (width + MARGIN_PX);
            let left = from.0 as f64
                + us_per_px * MARGIN_PX
                + free * (chance.below(1_000) as f64 / 1_000.0);
            View {
                left_us: left,
                us_per_px,
                width_px: width,
                following: false,
                grows_from: None,
                pen_px: 0.0,
                free_px: 0.0,
            }
        })
        .filter(|view| view.us_per_px > 1.0)
        .collect()
}

pub fn first_difference(a: &str, b: &str) -> String {
    a.lines().zip(b.lines()).find(|(a, b)| a != b).map_or_else(
        || format!("{} and {} lines", a.lines().count(), b.lines().count()),
        |(a, b)| format!("\n{a}\n{b}"),
    )
}
