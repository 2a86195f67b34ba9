//! Coverage of time: loaded, not loaded yet, expired, dropped, lost, never known.

use watchscope_model::fold::Moment;
use watchscope_model::wire::Availability;
use watchscope_model::{EpochId, LogId, Seq, Time};

use super::cache::Store;
use super::chapter::Chapter;
use super::epoch::Epoch;

/// Most kept chapters of a stretch of time, counted from the newest, among which a missing one is requested; older ones
/// are not requested. The view of a whole log begins with the oldest of this number of chapters. At about 1 MiB each,
/// 160 chapters take about two fifths of [`DEFAULT_BUDGET_BYTES`](super::DEFAULT_BUDGET_BYTES), and their traces about
/// half of that budget.
pub const MOST_AT_ONCE: usize = 160;

/// The coverage of a stretch of time: whether its records are loaded, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All records are loaded.
    Loaded,
    /// The server has records that are not loaded yet.
    NotLoaded,
    /// The server no longer has the records.
    Expired,
    /// The page dropped chapters at the begin of the epoch for lack of room. The server lists the last dropped chapter
    /// as no longer kept, or not at all. Records before that chapter count as dropped too, even if they were never
    /// loaded.
    Dropped,
    /// watchscope recorded something, but lost the records or cannot read them.
    Lost,
    /// A seam: the time between two epochs, in which nobody watched.
    Seam,
}

impl Coverage {
    /// Returns whether the records are loaded or at the server.
    #[must_use]
    pub fn is_kept(self) -> bool {
        matches!(self, Self::Loaded | Self::NotLoaded)
    }
}

/// A stretch of time and its coverage. Only a seam may have no length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The begin of the stretch; time 0 if it is not known.
    pub from: Time,
    /// The end of the stretch, at which the next stretch may begin.
    pub to: Time,
    /// The coverage of the stretch.
    pub coverage: Coverage,
}

/// Facts about a seam besides its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeamFacts {
    /// How far the epoch after the seam begins before the end of the epochs before the seam, in µs; 0 if it begins
    /// later.
    pub(crate) clock_back_us: i64,
    /// Whether the epoch after the seam watched another cluster than the epoch before the seam.
    pub(crate) is_another_cluster: bool,
}

/// Consecutive records with one coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    first: Seq,
    last: Seq,
    from: Time,
    to: Time,
    coverage: Coverage,
    /// Whether the piece is an entry of the catalogue for several merged chapters.
    is_merged: bool,
}

impl Store {
    /// Returns the stretches of time up to `now`, in order, with their coverage. The stretches do not overlap. The
    /// first stretch begins at the oldest known record. If earlier records have expired, were dropped, or have no known
    /// time, the first stretch begins at time 0, because their begin is not known. Only the end of such a first stretch
    /// has a meaning. The last stretch reaches to the last known record if that is later than `now`. Neighbouring
    /// stretches with the same coverage are one, except seams. The number of loaded and listed chapters bounds that of
    /// stretches. The result is empty before anything was loaded or listed. `now` is the present on the log's clock.
    #[must_use]
    pub fn coverage(&self, now: Time) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (place, epoch) in self.epochs.iter().enumerate() {
            let is_last = place + 1 == self.epochs.len();
            let mut floor = stretches.last().map_or(Time(0), |last| last.to);
            if !stretches.is_empty()
                && let Some(begins) = epoch.begins().filter(|_| epoch.begins_known())
                && floor < begins
            {
                stretches.push(seam(floor, begins));
                floor = begins;
            } else if !stretches.is_empty() && epoch.begins_known() {
                // The clock was set back, or no time passed.
                stretches.push(seam(floor, floor));
            }
            for piece in epoch.pieces(floor, is_last.then_some(now)) {
                push(&mut stretches, piece);
            }
        }
        stretches
    }

    /// Returns whether all records of a stretch of time are loaded, up to now. `false` also for a stretch that begins
    /// before the log, or only later than now.
    pub(crate) fn is_loaded(&self, (from, to): (Time, Time), now: Time) -> bool {
        let to = to.min(now);
        let mut loaded_to = from;
        for stretch in self.coverage(now) {
            if stretch.coverage == Coverage::Loaded && stretch.from <= loaded_to {
                loaded_to = loaded_to.max(stretch.to);
            }
        }
        from < to && loaded_to >= to
    }

    /// Returns the next chapter to request, so that all from `left` to `right` becomes loaded. This is the newest
    /// missing chapter of the stretch, given as log, epoch, and the record after the chapter. For a chapter that
    /// extends beyond `right` by more than the length of the stretch, an earlier record is returned, so that less is
    /// loaded. A catalogue entry for several merged chapters that ends after `right` is skipped. Returns `None` if all
    /// is loaded that can be, or if 160 newer chapters of the stretch are known. Also returns `None` if the loaded
    /// chapters of the stretch take over two fifths of the budget.
    #[must_use]
    pub fn backfill(&self, left: Time, right: Time) -> Option<(LogId, EpochId, Seq)> {
        if self.shown_bytes(left, right) > self.most_shown_bytes() {
            return None;
        }
        let until = right.plus_micros(right.micros_since(left));
        let mut count = 0;
        for epoch in self.epochs.iter().rev() {
            for piece in epoch.pieces(Time(0), None).iter().rev() {
                let is_shown = piece.to > left && piece.from <= right;
                // Of a merged piece the newest chapter would come first, wherever the view is.
                let is_in_reach = !piece.is_merged || piece.to <= right;
                if !is_shown || !piece.coverage.is_kept() {
                    continue;
                }
                if piece.coverage == Coverage::NotLoaded && is_in_reach {
                    let before = piece.behind(until);
                    return Some((epoch.log.clone(), epoch.id.clone(), before));
                }
                count += 1;
                if count == MOST_AT_ONCE {
                    return None;
                }
            }
        }
        None
    }

    /// Returns the facts about the seam that begins at a time; the default ones if no seam begins there.
    pub(crate) fn seam_at(&self, from: Time) -> SeamFacts {
        let mut ended = Time(0);
        let mut before: Option<&Epoch> = None;
        for epoch in &self.epochs {
            if let (Some(before), Some(begins)) = (before, epoch.begins())
                && ended == from
            {
                return SeamFacts {
                    clock_back_us: ended.micros_since(begins).max(0),
                    is_another_cluster: before.is_of_another_cluster(epoch),
                };
            }
            ended = epoch.ends().map_or(ended, |ends| ended.max(ends));
            before = Some(epoch);
        }
        SeamFacts::default()
    }

    /// Returns the encoded bytes of the chapters that reach into a stretch of time.
    pub(super) fn shown_bytes(&self, left: Time, right: Time) -> usize {
        let chapters = self.epochs.iter().flat_map(|epoch| &epoch.chapters);
        let shown = chapters.filter(|chapter| chapter.to > left && chapter.from <= right);
        shown.map(|chapter| chapter.bytes.len()).sum()
    }

    /// Returns whether a chapter that is loaded or at the server reaches into a stretch of time, edges included. The
    /// chapter may have no record in the stretch itself. The last chapter of the live epoch counts as reaching beyond
    /// its last record.
    #[must_use]
    pub fn keeps(&self, from: Time, to: Time) -> bool {
        let mut epochs = self.epochs.iter().rev();
        epochs.any(|epoch| {
            let pieces = epoch.pieces(Time(0), None);
            let is_live = epoch.live.is_some();
            let last = pieces.last().map(|piece| piece.last);
            pieces.iter().any(|piece| {
                // The live run goes on after its last piece.
                let goes_on = is_live && Some(piece.last) == last;
                piece.coverage.is_kept() && piece.from <= to && (goes_on || from <= piece.to)
            })
        })
    }

    /// Returns when the oldest chapter begins that is loaded or at the server, as far as that time is known; `None` if
    /// there is no such chapter with a known begin.
    #[must_use]
    pub fn oldest_kept(&self) -> Option<Time> {
        self.kept_from_newest().min()
    }

    /// Returns the begin of the oldest among the newest [`MOST_AT_ONCE`] chapters that are loaded or at the server. A
    /// catalogue entry for several merged chapters counts as one chapter, and so do unlisted records between two
    /// chapters. `None` if there is no such chapter with a known begin.
    #[must_use]
    pub fn oldest_shown_at_once(&self) -> Option<Time> {
        self.kept_from_newest().take(MOST_AT_ONCE).min()
    }

    /// Returns when each chapter that is loaded or at the server begins, the newest first.
    fn kept_from_newest(&self) -> impl Iterator<Item = Time> {
        self.epochs.iter().rev().flat_map(|epoch| {
            let pieces = epoch.pieces(Time(0), None).into_iter().rev();
            let is_kept = |piece: &Piece| piece.coverage.is_kept() && piece.from > Time(0);
            pieces.filter(is_kept).map(|piece| piece.from)
        })
    }
}

fn seam(from: Time, to: Time) -> Stretch {
    Stretch {
        from,
        to,
        coverage: Coverage::Seam,
    }
}

fn push(out: &mut Vec<Stretch>, piece: Piece) {
    let from = out
        .last()
        .map_or(piece.from, |last| piece.from.max(last.to));
    if from >= piece.to {
        return;
    }
    match out.last_mut() {
        Some(last) if last.coverage == piece.coverage && last.to >= from => last.to = piece.to,
        _ => out.push(Stretch {
            from,
            to: piece.to,
            coverage: piece.coverage,
        }),
    }
}

impl Piece {
    /// Returns the record before which records of this piece up to the time `until` lie, estimated from the piece's
    /// times. The estimate is rounded up to eighths of the records, so that a view that moves on needs few further
    /// requests.
    fn behind(&self, until: Time) -> Seq {
        let eighth_us = (self.to.micros_since(self.from) / 8).max(1);
        let eighths = (until.micros_since(self.from).max(0) / eighth_us).unsigned_abs() + 1;
        let records = self.last.0.saturating_sub(self.first.0) + 1;
        if eighths >= 8 || records < 8 {
            return self.last.next();
        }
        Seq(self.first.0 + records / 8 * eighths)
    }
}

impl Chapter {
    fn piece(&self) -> Piece {
        Piece {
            first: self.first,
            last: self.last,
            from: self.from,
            to: self.to,
            coverage: Coverage::Loaded,
            is_merged: false,
        }
    }
}

impl Epoch {
    /// Returns all records that are loaded or listed, in order, from `floor` on. The last piece reaches to `now`, if
    /// `now` is given.
    fn pieces(&self, floor: Time, now: Option<Time>) -> Vec<Piece> {
        let mut known = self.known();
        if let (Some(last), Some(now)) = (known.last_mut(), now) {
            last.to = last.to.max(now);
        }
        // An earlier run begins where its list does; earlier records have expired.
        let listed = self.catalogue.first().filter(|_| self.live.is_none());
        let listed = listed.map(|entry| Moment {
            seq: entry.summary.first,
            at: entry.summary.first_at,
        });
        let begins = Moment {
            seq: Seq(1),
            at: floor,
        };
        let Moment {
            seq: ring_first,
            at: ring_at,
        } = self.ring_first.or(listed).unwrap_or(begins);
        let mut pieces = Vec::with_capacity(known.len() + 2);
        let (mut after, mut cursor) = (Seq(0), floor);
        if let Some(Moment { seq, at: dropped }) = self.dropped {
            pieces.push(Piece {
                first: Seq(1),
                last: seq,
                from: cursor,
                to: dropped,
                coverage: Coverage::Dropped,
                is_merged: false,
            });
            (after, cursor) = (seq, cursor.max(dropped));
        }
        for (place, piece) in known.into_iter().enumerate() {
            let begins = piece.from.max(cursor);
            if after.next() < piece.first {
                let split = if after.next() >= ring_first {
                    let is_first = place == 0;
                    if is_first {
                        ring_at.clamp(cursor, begins)
                    } else {
                        cursor
                    }
                } else if piece.first <= ring_first {
                    begins
                } else {
                    ring_at.clamp(cursor, begins)
                };
                let hole = |first, last, from, to, coverage| Piece {
                    first,
                    last,
                    from,
                    to,
                    coverage,
                    is_merged: false,
                };
                let before = Seq(piece.first.0 - 1);
                if after.next() < ring_first {
                    let last = before.min(Seq(ring_first.0 - 1));
                    pieces.push(hole(after.next(), last, cursor, split, Coverage::Expired));
                }
                if piece.first > ring_first {
                    let first = ring_first.max(after.next());
                    pieces.push(hole(first, before, split, begins, Coverage::NotLoaded));
                }
            }
            pieces.push(Piece {
                from: begins,
                ..piece
            });
            (after, cursor) = (after.max(piece.last), piece.to.max(cursor));
        }
        if let Some(Moment { seq, .. }) = self.dropped {
            // Dropped records stay dropped, although the server lists them.
            pieces.retain(|piece| piece.coverage == Coverage::Dropped || piece.last > seq);
        }
        pieces
    }

    /// Returns the loaded chapters, and the listed ones as far as they are not loaded, in order.
    fn known(&self) -> Vec<Piece> {
        let mut known = Vec::with_capacity(self.chapters.len() + self.catalogue.len());
        let mut loaded = self.chapters.iter().peekable();
        let mut before: Option<(Seq, Time)> = None;
        let mut covered: Option<(Seq, Time)> = None;
        for entry in &self.catalogue {
            let summary = &entry.summary;
            let coverage = match entry.availability {
                Availability::Kept => Coverage::NotLoaded,
                Availability::Expired => Coverage::Expired,
                Availability::Lost => Coverage::Lost,
            };
            // A chapter begins where the one before it ends.
            let follows = before.filter(|(last, _)| last.next() == summary.first);
            let begins = follows.map_or(summary.first_at, |(_, at)| at);
            before = Some((summary.last, summary.last_at));
            let is_merged = entry.is_merged;
            let (mut next, mut from) = (summary.first, begins);
            // A loaded chapter may reach into the next listed one.
            if let Some((last, to)) = covered.filter(|(last, _)| *last >= next) {
                (next, from) = (last.next(), to.max(from));
            }
            while let Some(chapter) = loaded.next_if(|chapter| chapter.first <= summary.last) {
                if next < chapter.first {
                    known.push(Piece {
                        first: next,
                        last: Seq(chapter.first.0 - 1),
                        from,
                        to: chapter.from.max(from),
                        coverage,
                        is_merged,
                    });
                }
                known.push(chapter.piece());
                covered = covered.max(Some((chapter.last, chapter.to)));
                (next, from) = (next.max(chapter.last.next()), chapter.to.max(from));
            }
            if next <= summary.last {
                known.push(Piece {
                    first: next,
                    last: summary.last,
                    from,
                    to: summary.last_at.max(from),
                    coverage,
                    is_merged,
                });
            }
        }
        known.extend(loaded.map(Chapter::piece));
        known
    }

    /// Returns the earliest known time of the epoch; `None` if no time is known.
    pub(crate) fn begins(&self) -> Option<Time> {
        let chapter = self.chapters.first().map(|chapter| chapter.from);
        let ring = self.ring_first.map(|first| first.at);
        let listed = self.catalogue.first().map(|entry| entry.summary.first_at);
        [chapter, ring, listed]
            .into_iter()
            .flatten()
            .filter(|at| at.0 > 0)
            .min()
    }

    /// Returns the time of the epoch's last known record; `None` if no chapter of the epoch is loaded or listed.
    pub(crate) fn ends(&self) -> Option<Time> {
        let chapter = self.chapters.last().map(|chapter| chapter.to);
        let listed = self.catalogue.last().map(|entry| entry.summary.last_at);
        chapter.max(listed)
    }

    /// Whether the begin of the epoch's first record is known, as loaded, listed, or in the server's ring.
    pub(crate) fn begins_known(&self) -> bool {
        let chapter = self.chapters.first().map(|chapter| chapter.first);
        let ring = self.ring_first.map(|first| first.seq);
        let listed = self.catalogue.first().map(|entry| entry.summary.first);
        [chapter, ring, listed].contains(&Some(Seq(1)))
    }
}
