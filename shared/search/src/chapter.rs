//! The search of one chapter: frames in, hits out.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::chapter::{ChangeGlance, ChapterReader, Glance};
use watchscope_model::codec::{DecodeError, Frame};
use watchscope_model::fold::Moment;
use watchscope_model::{EpochId, LogId, Object, Seq, Text, WatchName};

use crate::hit::{Hit, Matched, What};
use crate::matching::{Parts, lane_of};
use crate::named::Named;
use crate::query::Query;

/// The machine that searches one chapter.
///
/// A chapter can only be read forward, but hits are handed out from the newest to the oldest. So the machine holds the
/// newest hits until the chapter ends, at most as many as the caller wants. The machine also holds the chapter's
/// dictionary, and the result for each of its objects: at most 1,048,576 results. With [`ChapterSearch::naming`] it
/// holds the names in the records, too. The caller passes frame after frame, and may pause between two frames.
#[derive(Debug)]
pub struct ChapterSearch {
    reader: ChapterReader,
    before: Seq,
    collector: Collector,
}

/// The hits of a chapter.
#[derive(Debug)]
pub struct ChapterHits {
    /// The newest hits, the newest first; empty if no record matches. At most as many hits as the caller asked for; 0
    /// counts as 1.
    pub hits: Vec<Hit>,
    /// Whether older records of the chapter match, too. A further search before the last of these hits finds the older
    /// ones.
    pub has_more: bool,
    /// The names in all the chapter's records, also in records from `before` on; `None` without
    /// [`ChapterSearch::naming`]. The names are complete only if all frames were passed.
    pub named: Option<Named>,
}

/// What was found so far.
#[derive(Debug)]
struct Collector {
    query: Query,
    /// The seqs of the records whose bodies match, sorted.
    bodies: Vec<Seq>,
    before: Seq,
    most: usize,
    log: LogId,
    epoch: EpochId,
    hits: VecDeque<Hit>,
    has_more: bool,
    named: Option<Named>,
    known: KnownObjects,
}

/// What of each object matches, by the object's number in the chapter's dictionary, so that each object is compared
/// with the query only once.
#[derive(Debug, Default)]
struct KnownObjects(Vec<Option<(Arc<Object>, Matched)>>);

/// The dictionary numbers below this have their objects remembered. A hostile file may have any number, and the memory
/// grows with the largest remembered number: to 16 MiB, at 16 bytes a number. An object with a larger number is
/// compared anew each time. The number has no source.
const MAX_KNOWN: u64 = 1 << 20;

impl KnownObjects {
    /// Returns what is remembered of an object, if its number still stands for this object.
    fn get(&self, number: Option<u64>, object: &Arc<Object>) -> Option<Matched> {
        let known = self.0.get(usize::try_from(number?).ok()?)?.as_ref();
        known
            .filter(|(of, _)| Arc::ptr_eq(of, object))
            .map(|(_, matched)| *matched)
    }

    fn put(&mut self, number: Option<u64>, object: &Arc<Object>, matched: Matched) {
        let Some(place) = number.filter(|&number| number < MAX_KNOWN) else {
            return;
        };
        let place = place as usize;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place] = Some((object.clone(), matched));
    }
}

impl ChapterSearch {
    /// Begins with a chapter's head frame. The search finds the newest `most` hits among the records before `before`;
    /// the record `before` itself is left out. A `most` of 0 counts as 1. `bodies` has the seqs of the records whose
    /// bodies match, rising; it may be empty.
    ///
    /// # Errors
    /// If the frame is not a head frame, or its dictionary or a field before the dictionary is damaged. The fold in the
    /// frame is not read, so damage in the fold is no error.
    pub fn open(
        query: &Query,
        head: Frame<'_>,
        before: Seq,
        most: usize,
        bodies: Vec<Seq>,
    ) -> Result<Self, DecodeError> {
        let (reader, log, epoch) = ChapterReader::open_dictionary(head)?;
        Ok(Self {
            reader,
            before,
            collector: Collector {
                query: query.clone(),
                bodies,
                before,
                most: most.max(1),
                log,
                epoch,
                hits: VecDeque::new(),
                has_more: false,
                named: None,
                known: KnownObjects::default(),
            },
        })
    }

    /// Returns a search that also collects what the records name, for an [`Index`](crate::Index). Such a search needs
    /// all frames, so the caller must call this before it passes the first segment.
    #[must_use]
    pub fn naming(mut self) -> Self {
        self.collector.named = Some(Named::default());
        self
    }

    /// Returns whether no further frame is needed: no further frame can have a hit, and names are not collected.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.collector.named.is_none() && self.reader.next_seq() >= self.before
    }

    /// Takes in the next segment.
    ///
    /// # Errors
    /// If the segment cannot be read, or does not continue the frame before it. The hits before the damage stay; the
    /// caller passes no further segment. Damage in a part that [`ChapterReader::glance`] does not read is no error.
    pub fn segment(&mut self, frame: Frame<'_>) -> Result<(), DecodeError> {
        let collector = &mut self.collector;
        self.reader.glance(frame, |place, glance| match glance {
            Glance::Change(change) => collector.change(place, &change),
            Glance::Event(event) => {
                if let Some(named) = &mut collector.named {
                    named.add(event);
                }
                let matched = collector.query.matched(event);
                let (object, code) = lane_of(event);
                collector.take(place, matched, || (event.watch().cloned(), object, code));
            }
        })
    }

    /// Ends the search; returns the hits in the segments that were passed.
    #[must_use]
    pub fn finish(self) -> ChapterHits {
        let collector = self.collector;
        ChapterHits {
            hits: collector.hits.into_iter().rev().collect(),
            has_more: collector.has_more,
            named: collector.named,
        }
    }
}

/// The lane of a hit: its watch, object and code.
type Lane = (Option<WatchName>, Option<Arc<Object>>, Option<Text>);

impl Collector {
    fn change(&mut self, place: Moment, change: &ChangeGlance<'_>) {
        let (number, object) = (change.number, change.object);
        let mut matched = match self.known.get(number, object) {
            Some(matched) => matched,
            None => {
                let matched = self.query.matched_object(object);
                self.known.put(number, object, matched);
                if let Some(named) = &mut self.named {
                    named.object(object);
                }
                matched
            }
        };
        let query = &self.query;
        matched.add_if(
            query.is_version(change.resource_version),
            What::ResourceVersion,
        );
        if let Some(manager) = change.manager {
            matched.add_if(query.matches_text(What::Manager, manager), What::Manager);
        }
        if let Some(named) = &mut self.named {
            named.version(change.resource_version);
            if let Some(manager) = change.manager {
                named.text(What::Manager, manager);
            }
        }
        self.take(place, matched, || {
            (Some(change.watch.clone()), Some(object.clone()), None)
        });
    }

    /// Adds a record at `place`, which lies before the search's position, with what of the record matches. `lane`
    /// returns its lane.
    fn take(&mut self, place: Moment, mut matched: Matched, lane: impl FnOnce() -> Lane) {
        if place.seq >= self.before {
            return;
        }
        if self.bodies.binary_search(&place.seq).is_ok() {
            matched.add(What::Body);
        }
        if matched.is_empty() {
            return;
        }
        if self.hits.len() == self.most {
            self.hits.pop_front();
            self.has_more = true;
        }
        let (watch, object, code) = lane();
        self.hits.push_back(Hit {
            log: self.log.clone(),
            epoch: self.epoch.clone(),
            seq: place.seq,
            at: place.at,
            watch,
            object,
            code,
            matched,
            is_held: false,
        });
    }
}
