//! A chapter: consecutive records as encoded bytes, and how they are read again.

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::split_known_frame;
use watchscope_model::{Entry, Layers, Seq, State, Time};

use super::encoded::Encoded;

/// Estimate of an object's bytes in a fold that shares its names with others. The estimate only decides how much of the
/// budget a cut of the live log takes. The number has no source.
const HELD_BYTES: usize = 160;

/// Consecutive records as encoded bytes.
#[derive(Debug)]
pub(super) struct Chapter {
    pub(super) first: Seq,
    pub(super) last: Seq,
    pub(super) from: Time,
    pub(super) to: Time,
    /// The cut of the live log at which this chapter begins; `None` if the chapter's bytes begin with an opening
    /// snapshot.
    pub(super) cut: Option<Box<LiveCut>>,
    pub(super) bytes: Encoded,
    /// How many of the chapter's records are of kinds that this build does not know. Such records have seqs, but are
    /// not drawn.
    pub(super) unknown: u64,
}

/// A cut of the live log into chapters: the reader that reads on from the cut, and the folds of all records before it.
#[derive(Clone, Debug)]
pub(super) struct LiveCut {
    pub(super) reader: ChapterReader,
    pub(super) state: State,
    pub(super) layers: Layers,
}

impl LiveCut {
    /// Estimates the bytes of the cut's folds: each object that is held is an entry of a map.
    fn bytes(&self) -> usize {
        let watches = self.state.watches.values();
        watches.map(|watch| watch.objects.len() * HELD_BYTES).sum()
    }
}

impl Chapter {
    /// Returns the folds of all records before the chapter and of the chapter's own records up to the first for which
    /// `wanted` returns false. `wanted` gets each entry and the fold before it. `None` if a frame cannot be read.
    pub(super) fn fold_while(
        &self,
        mut wanted: impl FnMut(&Entry, &State) -> bool,
    ) -> Option<(State, Layers)> {
        let bytes = self.bytes.read();
        let (mut reader, mut state, mut layers, mut rest) = match &self.cut {
            Some(cut) => {
                let LiveCut {
                    reader,
                    state,
                    layers,
                } = (**cut).clone();
                (reader, state, layers, &*bytes)
            }
            None => {
                let (head, rest) = split_known_frame(&bytes).ok()?;
                let (reader, opening) = ChapterReader::open_frame(head).ok()?;
                let layers = reader.layers(&opening.state, &opening.layers).ok()?;
                (reader, opening.state, layers, rest)
            }
        };
        while !rest.is_empty() {
            let (frame, after) = split_known_frame(rest).ok()?;
            for entry in reader.frame_entries(frame).ok()?.iter().flatten() {
                if !wanted(entry, &state) {
                    return Some((state, layers));
                }
                layers.apply(entry);
                match entry {
                    Entry::Record(record) => state.apply(record),
                    Entry::Inside(record) => state.pass(record.seq, record.at),
                }
            }
            rest = after;
        }
        Some((state, layers))
    }

    /// Estimates the bytes that the chapter holds.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.held_bytes() + self.cut.as_ref().map_or(0, |cut| cut.bytes())
    }
}
