//! Reads the server's messages: head snapshots, live segments, chapters of the past, and the begin of the server's
//! ring.

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::{DecodeError, split_frame};
use watchscope_model::fold::Moment;
use watchscope_model::{Entry, EpochId, Event, KeptNote, Seq, Time};

use super::cache::Store;
use super::chapter::{Chapter, LiveCut};
use super::encoded::Encoded;
use super::epoch::Live;
use super::grow::make_space;
use super::trace::Trace;
use crate::levels::LayerTrace;

/// Data that the store cannot read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The bytes are damaged, of a later version, of another kind than announced, or would need too much memory.
    #[error("cannot read what the server sent: {0}; reload the page")]
    Decode(#[from] DecodeError),
    /// A segment came before any snapshot.
    #[error("a segment came before any snapshot; reload the page")]
    NoSnapshot,
    /// A chapter belongs to an epoch that the store does not know.
    #[error("a chapter of the unknown epoch {0} came; reload the page")]
    UnknownEpoch(EpochId),
}

/// The format of frames from which a change without a controller means that the object has none. In a frame of an older
/// format the object's controller may not have been recorded (`shared/model/src/field.rs`).
const WITH_CONTROLLERS: u8 = 3;

/// Whether an event may begin, change or end trouble. Nearly all records are changes of objects, which cannot.
fn may_be_trouble(event: &Event) -> bool {
    matches!(
        event,
        Event::Finding(_)
            | Event::Gap(_)
            | Event::Verdict(_)
            | Event::WatchPhase(_)
            | Event::WatchStarted(_)
            | Event::WatchStopped(_)
    )
}

impl Store {
    /// Reads a head snapshot (the frame after `Snapshot`). The live log continues from this snapshot.
    ///
    /// If the store does not know the epoch, a new epoch begins. All that is open in the old one is then known until
    /// its last record. A known epoch goes on as the live epoch, with records missing if the snapshot is ahead of its
    /// last record. If another epoch becomes live, chapters of the other epochs that are not loaded count as expired
    /// until the server lists them again. The snapshot's inside state is read with the next segment. The call itself
    /// drops no chapter.
    ///
    /// # Errors
    /// [`StoreError::Decode`] if the frame cannot be read; the store stays as it was in that case.
    pub fn snapshot(&mut self, frame: &[u8]) -> Result<(), StoreError> {
        let (reader, opening) = ChapterReader::open(frame)?;
        self.version += 1;
        self.trouble_version += 1;
        let state = opening.state;
        let known = self
            .epochs
            .iter()
            .position(|epoch| epoch.id == opening.epoch);
        let place = self.go_live(known, opening.log, opening.epoch);
        let epoch = &mut self.epochs[place];
        if epoch
            .live
            .as_ref()
            .is_none_or(|live| live.state.seq != state.seq)
        {
            epoch.end_live();
        }
        epoch.trace.go_live(&state, &mut self.names);
        epoch
            .chapters
            .retain(|chapter| chapter.first <= chapter.last);
        epoch.chapters.push(Chapter {
            first: state.seq.next(),
            last: state.seq,
            from: state.at,
            to: state.at,
            cut: None,
            bytes: Encoded::keep(frame, None),
            unknown: 0,
        });
        epoch.live = Some(Live {
            reader,
            state,
            unread_layers: Some(opening.layers),
        });
        Ok(())
    }

    /// Reads the next live segment; returns how many records were in it, inside records and unknown kinds included. If
    /// the store is above its budget when its size is next checked ([`Store::new`]), it drops chapters.
    ///
    /// # Errors
    /// [`StoreError::NoSnapshot`] if there is no snapshot to continue from; [`StoreError::Decode`] if the frame, or the
    /// inside state of the snapshot before it, cannot be read. After an error the page connects anew.
    pub fn segment(&mut self, frame: &[u8]) -> Result<usize, StoreError> {
        let epoch = self.epochs.last_mut().ok_or(StoreError::NoSnapshot)?;
        let live = epoch.live.as_mut().ok_or(StoreError::NoSnapshot)?;
        let is_full = epoch
            .chapters
            .last()
            .is_some_and(|chapter| chapter.bytes.len() >= self.chapter_bytes);
        let reader = is_full.then(|| live.reader.clone());
        let first = live.reader.next_seq();
        if let Some(bytes) = live.unread_layers.take() {
            epoch.layers = live.reader.layers(&live.state, &bytes)?;
            let now = Moment {
                seq: live.state.seq,
                at: live.state.at,
            };
            epoch
                .layer_trace
                .seed(&epoch.layers, now, &mut self.layer_names);
        }
        let entries = live.reader.entries(frame)?;
        let version = frame.get(1).copied().unwrap_or_default();
        self.names.await_controllers(version >= WITH_CONTROLLERS);
        self.version += 1;
        if let Some(reader) = reader {
            if let Some(whole) = epoch.chapters.last_mut() {
                whole.bytes.settle(self.outside);
            }
            // A live log has no end, so it is cut: its oldest part can then be dropped alone.
            let at = live.state.at;
            let cut = LiveCut {
                reader,
                state: live.state.clone(),
                layers: epoch.layers.clone(),
            };
            epoch.chapters.push(Chapter {
                first,
                last: Seq(first.0 - 1),
                from: at,
                to: at,
                cut: Some(Box::new(cut)),
                bytes: Encoded::keep(&[], None),
                unknown: 0,
            });
            epoch.trace.go_live(&live.state, &mut self.names);
        }
        let chapter = epoch.chapters.last_mut().ok_or(StoreError::NoSnapshot)?;
        for entry in entries.iter().flatten() {
            if live.state.seq == Seq(0) {
                chapter.from = entry.at();
            }
            match entry {
                Entry::Record(record) => {
                    epoch.trace.absorb(record, &mut live.state, &mut self.names);
                    self.trouble_version += u64::from(may_be_trouble(&record.event));
                    self.notes.record(&epoch.log, &epoch.id, record);
                }
                Entry::Inside(record) => live.state.pass(record.seq, record.at),
            }
            epoch
                .layer_trace
                .absorb(entry, &mut epoch.layers, &mut self.layer_names);
            chapter.to = entry.at();
        }
        chapter.unknown += entries.iter().filter(|entry| entry.is_none()).count() as u64;
        chapter.last = Seq(live.reader.next_seq().0 - 1);
        live.state.seq = chapter.last;
        if let Some(bytes) = chapter.bytes.growing() {
            make_space(bytes, frame.len());
            bytes.extend_from_slice(frame);
        }
        self.compare_over_seams();
        self.make_room(frame.len());
        Ok(entries.len())
    }

    /// Reads a chapter of the past (the frames after `Chapter`); returns how many of its records were new, inside
    /// records and unknown kinds included. The number is 0 if the chapter has no records, or the store holds all of
    /// them or dropped them for good. Records of the newest live chapter, and later records, are skipped: segments
    /// bring them. If the store is above its budget when its size is next checked ([`Store::new`]), it drops chapters.
    ///
    /// The store may hold some of the chapter's records already. The server cuts chapters by size, while the page holds
    /// live records from snapshot to snapshot.
    ///
    /// # Errors
    /// [`StoreError::Decode`] if the chapter cannot be read, [`StoreError::UnknownEpoch`] if its epoch is unknown.
    /// After an error the store has no new records, but may have given numbers to new names, and may know other
    /// controllers of objects.
    pub fn chapter(&mut self, bytes: &[u8]) -> Result<usize, StoreError> {
        let new = self.take_chapter(bytes)?;
        if new > 0 {
            self.compare_over_seams();
            self.make_room(bytes.len());
        }
        Ok(new)
    }

    /// Reads a chapter as [`Store::chapter`] does, without dropping chapters and without comparing lists over seams.
    ///
    /// # Errors
    /// As those of [`Store::chapter`].
    pub(super) fn take_chapter(&mut self, bytes: &[u8]) -> Result<usize, StoreError> {
        self.names.await_many();
        let taken = self.read_chapter(bytes);
        self.names.settle();
        taken
    }

    /// Reads a chapter; returns how many of its records were new. The caller announces new names before the call, and
    /// sorts them after it.
    ///
    /// # Errors
    /// As those of [`Store::chapter`].
    fn read_chapter(&mut self, bytes: &[u8]) -> Result<usize, StoreError> {
        let (head, mut rest) = split_frame(bytes)?;
        self.names
            .await_controllers(head.version >= WITH_CONTROLLERS);
        let (mut reader, opening) = ChapterReader::open_frame(head)?;
        let mut layers = reader.layers(&opening.state, &opening.layers)?;
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest)?;
            frames.push(frame);
            rest = after;
        }
        let last_frame = frames.last().copied();
        let end = last_frame.map_or(Ok(reader.next_seq()), ChapterReader::end_of)?;
        let epoch = self
            .epochs
            .iter_mut()
            .find(|epoch| epoch.id == opening.epoch)
            .ok_or_else(|| StoreError::UnknownEpoch(opening.epoch.clone()))?;
        let mut state = opening.state;
        let (first, last) = epoch.room_for(state.seq.next(), Seq(end.0.saturating_sub(1)));
        // Records that are held already are only folded.
        let held: Vec<(Seq, Seq)> = epoch
            .chapters
            .iter()
            .map(|chapter| (chapter.first, chapter.last))
            .filter(|held| first <= held.0 && held.0 <= held.1 && held.1 <= last)
            .collect();
        let held_count: u64 = held.iter().map(|held| held.1.0 + 1 - held.0.0).sum();
        let new = (last.0 + 1).saturating_sub(first.0) - held_count;
        let (mut from, mut to, mut unknown) = (None, state.at, 0);
        // It is folded while it is decoded: a whole decoded chapter takes 20 MB.
        let (mut runs, mut run) = (Vec::new(), None);
        // Notes are added once the whole chapter is read, so that an unreadable one changes nothing.
        let mut notes = Vec::new();
        let mut seq = state.seq;
        for frame in frames {
            for entry in reader.frame_entries(frame)? {
                seq = seq.next();
                let is_within = first <= seq && seq <= last;
                let is_new = is_within && !held.iter().any(|held| held.0 <= seq && seq <= held.1);
                let Some(entry) = entry else {
                    unknown += u64::from(is_within);
                    continue;
                };
                if from.is_none() && seq >= first {
                    from = Some(if state.seq == Seq(0) {
                        entry.at()
                    } else {
                        state.at
                    });
                }
                if seq <= last {
                    to = entry.at();
                }
                if !is_new {
                    runs.extend(run.take());
                    layers.apply(&entry);
                    match entry {
                        Entry::Record(record) => state.apply(&record),
                        Entry::Inside(record) => state.pass(record.seq, record.at),
                    }
                    continue;
                }
                let (trace, layer_trace) = run.get_or_insert_with(|| {
                    let mut layer_trace = LayerTrace::default();
                    let now = Moment {
                        seq: state.seq,
                        at: state.at,
                    };
                    layer_trace.seed(&layers, now, &mut self.layer_names);
                    (Trace::seeded(&state, &mut self.names), layer_trace)
                });
                layer_trace.absorb(&entry, &mut layers, &mut self.layer_names);
                match entry {
                    Entry::Record(record) => {
                        notes.extend(KeptNote::of(&epoch.log, &epoch.id, &record));
                        trace.absorb(&record, &mut state, &mut self.names);
                    }
                    Entry::Inside(record) => state.pass(record.seq, record.at),
                }
            }
        }
        if new == 0 {
            return Ok(0);
        }
        self.version += 1;
        self.trouble_version += 1;
        self.notes.extend(notes);
        runs.extend(run);
        for (mut trace, layer_trace) in runs {
            trace.freeze(to);
            epoch.merge((trace, layer_trace));
        }
        epoch
            .chapters
            .retain(|chapter| !held.contains(&(chapter.first, chapter.last)));
        let place = epoch
            .chapters
            .partition_point(|chapter| chapter.first < first);
        epoch.chapters.insert(
            place,
            Chapter {
                first,
                last,
                from: from.unwrap_or(to),
                to,
                cut: None,
                bytes: Encoded::keep(bytes, self.outside),
                unknown,
            },
        );
        Ok(usize::try_from(new).unwrap_or(usize::MAX))
    }

    /// Sets the first record in the server's ring, and its time `at` on the log's clock (messages `Welcome` and
    /// `Heartbeat`). The server never gets dropped records back, so an earlier record than the known one is ignored. An
    /// epoch that the store does not know is ignored, too.
    pub fn ring_begins(&mut self, epoch: &EpochId, first: Seq, at: Time) {
        let epoch = self.epochs.iter_mut().find(|other| other.id == *epoch);
        if let Some(epoch) = epoch
            && epoch.ring_first.is_none_or(|known| known.seq <= first)
            && epoch.ring_first != Some(Moment { seq: first, at })
        {
            epoch.ring_first = Some(Moment { seq: first, at });
            self.version += 1;
        }
    }
}
