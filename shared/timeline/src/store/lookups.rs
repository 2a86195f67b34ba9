//! Looks up records and epochs, and the fold up to a record.

use std::collections::{BTreeMap, BTreeSet};

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::split_known_frame;
use watchscope_model::{Entry, EpochId, Layers, Record, Seq, State, Time};

use super::cache::Store;
use super::chapter::Chapter;
use super::epoch::Epoch;
use crate::id::RecordId;

impl Store {
    /// Returns a record, decoded anew from its chapter; `None` if it is not loaded, is an inside record, or is of an
    /// unknown kind.
    #[must_use]
    pub fn record(&self, id: RecordId) -> Option<Record> {
        self.entry(id)?.into_record()
    }

    /// Returns the record or inside record with an id, decoded anew from its chapter; `None` if it is not loaded, or is
    /// of an unknown kind.
    #[must_use]
    pub fn entry(&self, id: RecordId) -> Option<Entry> {
        let epoch = self.epoch(id.epoch)?;
        let chapter = epoch
            .chapters
            .iter()
            .find(|chapter| chapter.first <= id.seq && id.seq <= chapter.last)?;
        let bytes = chapter.bytes.read();
        let (mut reader, mut rest) = opened(chapter, &bytes)?;
        while !rest.is_empty() {
            let (frame, after) = split_known_frame(rest).ok()?;
            if ChapterReader::end_of(frame).ok()? > id.seq {
                let place = id.seq.0.checked_sub(reader.next_seq().0)?;
                let entries = reader.frame_entries(frame).ok()?;
                return entries.into_iter().nth(usize::try_from(place).ok()?)?;
            }
            reader.skip_frame(frame).ok()?;
            rest = after;
        }
        None
    }

    /// Returns the first record of each loaded chapter, by epoch (the oldest first) and then by seq. A chapter without
    /// records yet gives the id of the record that it will begin with. Empty if no chapter is loaded.
    #[must_use]
    pub fn loaded_chapters(&self) -> Vec<RecordId> {
        let of = |epoch: &Epoch| {
            let epoch_number = epoch.number;
            let chapters = epoch.chapters.iter();
            let firsts = chapters.map(move |chapter| RecordId {
                epoch: epoch_number,
                seq: chapter.first,
            });
            firsts.collect::<Vec<_>>()
        };
        self.epochs.iter().flat_map(of).collect()
    }

    /// Passes each record of the loaded chapter that begins with `first` to `take`, decoded anew, in order. Inside
    /// records and records of unknown kinds are left out. If the server cut the log into chapters elsewhere than the
    /// store did, records of neighbouring chapters, or dropped records, come too, before `first` or at the end. Does
    /// nothing if no loaded chapter begins with `first`.
    pub fn each_record_of(&self, first: RecordId, mut take: impl FnMut(Record)) {
        let chapters = self.epoch(first.epoch).map(|epoch| epoch.chapters.iter());
        let chapter =
            chapters.and_then(|mut chapters| chapters.find(|chapter| chapter.first == first.seq));
        let Some(chapter) = chapter else { return };
        let bytes = chapter.bytes.read();
        let Some((mut reader, mut rest)) = opened(chapter, &bytes) else {
            return;
        };
        // What was taken into the store can be decoded.
        while let Ok((frame, after)) = split_known_frame(rest) {
            let Ok(entries) = reader.frame_entries(frame) else {
                return;
            };
            entries
                .into_iter()
                .flatten()
                .filter_map(Entry::into_record)
                .for_each(&mut take);
            rest = after;
        }
    }

    /// Returns those records and inside records of these ids that are loaded and of a known kind; other ids are left
    /// out. Each chapter is decoded at most once.
    #[must_use]
    pub fn entries(&self, ids: &BTreeSet<RecordId>) -> BTreeMap<RecordId, Entry> {
        let mut found = BTreeMap::new();
        for epoch in &self.epochs {
            let id = |seq| RecordId {
                epoch: epoch.number,
                seq,
            };
            for chapter in &epoch.chapters {
                if chapter.first > chapter.last {
                    continue;
                }
                let mut wanted = ids.range(id(chapter.first)..=id(chapter.last));
                let Some(mut next) = wanted.next() else {
                    continue;
                };
                let bytes = chapter.bytes.read();
                let Some((mut reader, mut rest)) = opened(chapter, &bytes) else {
                    continue;
                };
                'chapter: while let Ok((frame, after)) = split_known_frame(rest) {
                    rest = after;
                    if ChapterReader::end_of(frame).is_ok_and(|end| end <= next.seq) {
                        if reader.skip_frame(frame).is_err() {
                            break;
                        }
                        continue;
                    }
                    let first = reader.next_seq();
                    let Ok(entries) = reader.frame_entries(frame) else {
                        break;
                    };
                    for (seq, entry) in (first.0..).zip(entries) {
                        if seq != next.seq.0 {
                            continue;
                        }
                        found.extend(entry.map(|entry| (*next, entry)));
                        match wanted.next() {
                            Some(after) => next = after,
                            None => break 'chapter,
                        }
                    }
                }
            }
        }
        found
    }

    /// Returns the time of the first loaded record after `at` if `is_next`; otherwise that of the last loaded record
    /// before `at`. Records at `at` itself, inside records and unknown kinds do not count. A dropped record counts if
    /// the bytes of a loaded chapter still contain it ([`Store::each_record_of`]). Reads at most the two nearest
    /// chapters; `None` if these have no such record. If epochs overlap in time, the earlier epoch counts for the first
    /// record after `at`, the later epoch for the last record before it.
    #[must_use]
    pub fn record_beside(&self, at: Time, is_next: bool) -> Option<Time> {
        let chapters = self.epochs.iter().flat_map(|epoch| {
            let of = epoch.chapters.iter();
            of.map(move |chapter| (epoch.number, chapter))
        });
        let read = |(epoch, chapter): (u32, &Chapter)| {
            let (mut found, seq) = (None, chapter.first);
            self.each_record_of(RecordId { epoch, seq }, |record| {
                if is_next && record.at > at {
                    found = Some(found.map_or(record.at, |known: Time| known.min(record.at)));
                } else if !is_next && record.at < at {
                    found = found.max(Some(record.at));
                }
            });
            found
        };
        if is_next {
            let mut later = chapters.filter(|(_, chapter)| chapter.to > at).take(2);
            later.find_map(read)
        } else {
            let earlier = chapters.filter(|(_, chapter)| chapter.from < at);
            let earlier: Vec<(u32, &Chapter)> = earlier.collect();
            earlier.into_iter().rev().take(2).find_map(read)
        }
    }

    /// Returns whether the record or inside record with an id is loaded, even if it is of an unknown kind.
    #[must_use]
    pub fn has(&self, id: RecordId) -> bool {
        let epoch = self.epoch(id.epoch);
        epoch.is_some_and(|epoch| epoch.has_record(id.seq))
    }

    /// Returns the folds of all records and of all inside records up to the record `id`, which is included. `None` if
    /// the record's chapter is not loaded, or if the chapter, or the inside state at its begin, cannot be read. Reads
    /// that chapter.
    #[must_use]
    pub fn fold_at(&self, id: RecordId) -> Option<(State, Layers)> {
        let mut chapters = self.epoch(id.epoch)?.chapters.iter();
        let chapter = chapters.find(|chapter| chapter.first <= id.seq && id.seq <= chapter.last)?;
        chapter.fold_while(|entry, _| entry.seq() <= id.seq)
    }

    /// Returns the fold of records and that of inside records at the head of the live log; `None` before the first
    /// snapshot. Between a snapshot and the next segment, the fold of inside records is empty or older.
    #[must_use]
    pub fn live_fold(&self) -> Option<(State, Layers)> {
        let epoch = self.epochs.last()?;
        let live = epoch.live.as_ref()?;
        Some((live.state.clone(), epoch.layers.clone()))
    }

    /// Returns how many loaded records are of kinds that this build does not know, from a later version. These records
    /// are held but not drawn. The number falls when a chapter with such records is dropped.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        let chapters = self.epochs.iter().flat_map(|epoch| &epoch.chapters);
        chapters.map(|chapter| chapter.unknown).sum()
    }

    /// Returns the epoch of a record, for requests about it; `None` if the store does not know the epoch. The record
    /// need not be loaded.
    #[must_use]
    pub fn epoch_of(&self, id: RecordId) -> Option<&EpochId> {
        self.epoch(id.epoch).map(|epoch| &epoch.id)
    }

    /// Returns the id of the record with a seq in the newest epoch, or in epoch 0 if no epoch is known.
    #[must_use]
    pub fn newest(&self, seq: Seq) -> RecordId {
        let epoch = self.newest_epoch().unwrap_or(0);
        RecordId { epoch, seq }
    }

    /// Returns how many records are loaded, inside records and unknown kinds included.
    #[must_use]
    pub fn records(&self) -> u64 {
        let chapters = self.epochs.iter().flat_map(|epoch| &epoch.chapters);
        chapters
            .map(|chapter| {
                chapter
                    .last
                    .0
                    .saturating_add(1)
                    .saturating_sub(chapter.first.0)
            })
            .sum()
    }

    /// Returns all epochs, the oldest first.
    pub(crate) fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    /// Returns the epoch with a number, as [`RecordId`]s have it; `None` if the store does not know it.
    pub(crate) fn epoch(&self, number: u32) -> Option<&Epoch> {
        self.epochs.iter().find(|epoch| epoch.number == number)
    }

    /// Returns the number that an epoch has in [`RecordId`]s; `None` if the store does not know the epoch.
    #[must_use]
    pub fn number_of(&self, id: &EpochId) -> Option<u32> {
        let epoch = self.epochs.iter().find(|epoch| epoch.id == *id)?;
        Some(epoch.number)
    }

    /// Returns the number of the newest epoch; `None` if no epoch is known.
    pub(crate) fn newest_epoch(&self) -> Option<u32> {
        self.epochs.last().map(|epoch| epoch.number)
    }
}

/// Returns a reader that has read the dictionary of a chapter's head frame, and the chapter's other frames. `None` if the head cannot be
/// read.
fn opened<'a>(chapter: &Chapter, bytes: &'a [u8]) -> Option<(ChapterReader, &'a [u8])> {
    match &chapter.cut {
        Some(cut) => Some((cut.reader.clone(), bytes)),
        None => {
            let (head, rest) = split_known_frame(bytes).ok()?;
            Some((ChapterReader::open_dictionary(head).ok()?.0, rest))
        }
    }
}
