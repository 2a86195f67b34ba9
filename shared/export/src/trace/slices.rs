//! The open slices of a trace. Each open slice is alone on its track, so no slice overlaps another.

use std::collections::{BTreeMap, BTreeSet};

use watchscope_model::id::ConnectionId;
use watchscope_model::{Text, WatchName};

use super::packets::{Packets, Says, TrackId};
use super::tracks::{Kind, Tracks};

/// The thing that a slice shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lasting {
    Stream(WatchName),
    Gap(WatchName),
    List(WatchName),
    Connection(ConnectionId),
    /// A finding, by its key.
    Finding(Text),
}

/// Why a slice is closed although no record ends it: the value of the slice's annotation `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unended {
    /// The exported range ends while the slice is open.
    Range,
    /// The run of the log's writer ends while the slice is open.
    Seam,
    /// Records are missing after the point at which the slice is closed.
    Hole,
    /// The watch was stopped or started again.
    Watch,
    /// Another slice with the same key begins while the slice is open.
    Again,
    /// The list that the slice shows was given up before it was complete.
    Incomplete,
}

impl Unended {
    fn words(self) -> &'static str {
        match self {
            Self::Range => "open at the end of the range",
            Self::Seam => "not known: watchscope stopped here",
            Self::Hole => "not known: records are missing from here on",
            Self::Watch => "its watch was stopped or started again",
            Self::Again => "not known: it begins again here",
            Self::Incomplete => "it did not become complete",
        }
    }
}

/// An open slice.
#[derive(Debug)]
struct Open {
    track: TrackId,
    /// The parent and slot of the slice's track; `None` if at most one slice of its kind can be open at once.
    slot: Option<(TrackId, usize)>,
}

/// The tracks of one kind side by side under one parent. A slice takes the lowest free track. There are therefore at
/// most as many tracks as slices that were open at once.
#[derive(Debug, Default)]
struct Slots {
    made: usize,
    free: BTreeSet<usize>,
}

impl Slots {
    fn take(&mut self) -> usize {
        self.free.pop_first().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        })
    }
}

/// The open slices of one run of the log's writer.
#[derive(Debug)]
pub(super) struct Slices {
    /// The number of the run, counted from 1.
    run: u32,
    open: BTreeMap<Lasting, Open>,
    /// The slots of connections (`true`) and of findings (`false`), by parent track.
    slots: BTreeMap<(TrackId, bool), Slots>,
}

impl Slices {
    pub(super) fn new(run: u32) -> Self {
        Self {
            run,
            open: BTreeMap::new(),
            slots: BTreeMap::new(),
        }
    }

    pub(super) fn is_open(&self, lasting: &Lasting) -> bool {
        self.open.contains_key(lasting)
    }

    /// Begins a slice on the track of its kind under a parent track. An open slice with the same key is closed first.
    pub(super) fn begin(
        &mut self,
        (out, tracks): (&mut Packets, &mut Tracks),
        parent: TrackId,
        lasting: Lasting,
        name: &str,
        says: Says,
    ) {
        self.close(out, &lasting, Unended::Again);
        let run = self.run;
        let mut take = |is_connection| {
            let slots = self.slots.entry((parent, is_connection)).or_default();
            slots.take()
        };
        let (category, kind, slot) = match &lasting {
            Lasting::Stream(_) => ("stream", Kind::Streams { run }, None),
            Lasting::Gap(_) => ("gap", Kind::Gaps { run }, None),
            Lasting::List(_) => ("list", Kind::Lists { run }, None),
            Lasting::Connection(_) => {
                let slot = take(true);
                ("connection", Kind::Connections { run, slot }, Some(slot))
            }
            Lasting::Finding(_) => {
                let slot = take(false);
                ("finding", Kind::Findings { run, slot }, Some(slot))
            }
        };
        let track = tracks.of(out, parent, kind);
        out.begin(track, category, name, says);
        let slot = slot.map(|slot| (parent, slot));
        self.open.insert(lasting, Open { track, slot });
    }

    /// Ends a slice; returns whether it was open.
    pub(super) fn end(&mut self, out: &mut Packets, lasting: &Lasting, says: Says) -> bool {
        let Some(Open { track, slot }) = self.open.remove(lasting) else {
            return false;
        };
        out.end(track, says);
        if let Some((parent, slot)) = slot {
            let is_connection = matches!(lasting, Lasting::Connection(_));
            let slots = self.slots.entry((parent, is_connection)).or_default();
            slots.free.insert(slot);
        }
        true
    }

    /// Ends a slice, if it is open, for a reason other than a record that ends it.
    pub(super) fn close(&mut self, out: &mut Packets, lasting: &Lasting, why: Unended) {
        self.end(out, lasting, Says::default().text("end", why.words()));
    }

    /// Ends all open slices, for a reason other than records that end them.
    pub(super) fn close_all(&mut self, out: &mut Packets, why: Unended) {
        let all: Vec<Lasting> = self.open.keys().cloned().collect();
        all.iter().for_each(|lasting| self.close(out, lasting, why));
    }
}
