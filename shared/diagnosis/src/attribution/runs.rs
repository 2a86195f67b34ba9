//! Streams of a watch in a row: how many were barren (ended at once without an event), how many were cut short, and
//! what the last stream replayed.

use watchscope_model::event::StreamEnded;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ResourceVersion, StreamId, Time, WatchName};

use super::end::{Stream, is_barren};

/// Least number of events that a resuming stream delivers at once for which a full buffer of the server is likely (F36;
/// docs/semantics/streams.md#rule-slow-reader). The number is the size of the smallest buffer of a watch
/// (docs/semantics/servers.md#buffers).
pub(crate) const REPLAYED: u64 = 10;

/// Counts of streams in a row: for each watch, one count of each kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    barren: BTreeMap<WatchName, BarrenRun>,
    /// The number of streams in a row that ended before all their initial events had come.
    cut_short: BTreeMap<WatchName, u32>,
    /// Streams that have just resumed a watch, with what each has delivered since.
    replays: BTreeMap<StreamId, Replay>,
}

/// Barren streams of one watch in a row.
#[derive(Clone, Debug, Default)]
struct BarrenRun {
    /// The resourceVersion at which all these streams began; `None` if they began without one.
    from: Option<ResourceVersion>,
    streams: u32,
}

/// The deliveries of a stream since it resumed its watch.
#[derive(Clone, Copy, Debug)]
struct Replay {
    since: Time,
    events: u64,
}

impl Runs {
    /// Notes that a stream resumed its watch.
    pub(super) fn resumed(&mut self, stream: StreamId, now: Time) {
        let replay = Replay {
            since: now,
            events: 0,
        };
        self.replays.insert(stream, replay);
    }

    /// Notes that a stream delivered an event. Returns true once for a stream: when it has delivered [`REPLAYED`]
    /// events within `at_once_us` after it resumed its watch.
    pub(super) fn delivered(
        &mut self,
        stream: Option<StreamId>,
        now: Time,
        at_once_us: i64,
    ) -> bool {
        let Some(stream) = stream else {
            return false;
        };
        let Some(replay) = self.replays.get_mut(&stream) else {
            return false;
        };
        replay.events += 1;
        let is_at_once = now.micros_since(replay.since) <= at_once_us;
        let is_enough = is_at_once && replay.events >= REPLAYED;
        if is_enough || !is_at_once {
            self.replays.remove(&stream);
        }
        is_enough
    }

    /// Returns whether no stream is being counted after a resume.
    pub(super) fn has_no_replay(&self) -> bool {
        self.replays.is_empty()
    }

    /// Notes that a stream ended. Returns how many streams of its watch in a row were barren and began at the same
    /// resourceVersion, this stream included; 0 if it was not barren, or if its end was not orderly.
    pub(super) fn barren(&mut self, event: &StreamEnded, stream: &Stream) -> u32 {
        self.replays.remove(&event.stream);
        if !(is_barren(event) && event.cause == Cause::End) {
            self.barren.remove(&event.watch);
            return 0;
        }
        let run = self.barren.entry(event.watch.clone()).or_default();
        if run.from != stream.from {
            *run = BarrenRun {
                from: stream.from.clone(),
                streams: 0,
            };
        }
        run.streams = run.streams.saturating_add(1);
        run.streams
    }

    /// Notes that a stream ended. Returns how many streams of its watch in a row were cut short, this stream included;
    /// 0 if it was not.
    pub(super) fn cut_short(&mut self, watch: &WatchName, is_cut_short: bool) -> u32 {
        if !is_cut_short {
            self.cut_short.remove(watch);
            return 0;
        }
        let run = self.cut_short.entry(watch.clone()).or_default();
        *run = run.saturating_add(1);
        *run
    }

    /// Forgets a stopped watch. `is_open` says which streams are still open.
    pub(super) fn forget(&mut self, watch: &WatchName, is_open: impl Fn(&StreamId) -> bool) {
        self.barren.remove(watch);
        self.cut_short.remove(watch);
        self.replays.retain(|stream, _| is_open(stream));
    }
}
