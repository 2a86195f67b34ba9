//! Chapters: an opening snapshot and the segments after it. One writer writes a chapter, and many readers read it.

pub use crate::change::ChangeGlance;
use crate::change::{glance_change, read_change, write_change};
use crate::codec::dictionary::{Frozen, Interner, Used};
use crate::codec::frame::{DecodeError, Frame, FrameKind, seal_frame, split_frame};
use crate::codec::port::Ids;
use crate::codec::reader::Reader;
use crate::codec::tables::Tables;
use crate::codec::varint::{push_inline, push_varint};
use crate::codec::writer::Writer;
use crate::event::{Change, Event, Record};
use crate::field::Fields;
use crate::fold::{Moment, State};
use crate::id::{EpochId, LogId, ResourceVersion, Seq};
use crate::inside::{Entry, Inside, InsideRecord};
use crate::layers::Layers;
use crate::time::Time;

/// The folds that a snapshot holds: that of the records, and that of the inside if the log has records of the inside.
#[derive(Clone, Copy, Debug)]
pub struct Fold<'a> {
    state: &'a State,
    layers: Option<&'a Layers>,
}

impl<'a> Fold<'a> {
    /// The folds of a log with records of the inside. Empty `layers` count as a log without an inside.
    #[must_use]
    pub fn new(state: &'a State, layers: &'a Layers) -> Self {
        Self {
            state,
            layers: Some(layers),
        }
    }
}

/// The fold of a log without an inside.
impl<'a> From<&'a State> for Fold<'a> {
    fn from(state: &'a State) -> Self {
        Self {
            state,
            layers: None,
        }
    }
}

/// An encoder of consecutive chapters: an opening, then segments of the pushed records, then the next opening.
///
/// The writer holds the chapter's dictionary and the open segment. The caller bounds their size, by sealing segments
/// and opening the next chapter. A frame payload over [`MAX_FRAME_BYTES`](crate::codec::MAX_FRAME_BYTES) is written,
/// but cannot be read. The caller must push records in the order of their seqs, without holes; nothing here checks
/// that.
#[derive(Debug)]
pub struct ChapterWriter {
    log: LogId,
    epoch: EpochId,
    interner: Interner,
    open: Vec<u8>,
    open_count: u64,
    /// The first record of the open segment; `None` while it has no record.
    first: Option<Moment>,
    last_at: Time,
    /// The resourceVersion of the last `change` in the open segment, from which the next one is a distance; 0 before
    /// the first.
    base_version: u64,
}

impl ChapterWriter {
    /// Opens a chapter after the last record that `fold` has folded; returns the writer and the opening frame. The
    /// first record to push must have the seq after the fold's last.
    #[must_use]
    pub fn open<'a>(log: LogId, epoch: EpochId, fold: impl Into<Fold<'a>>) -> (Self, Vec<u8>) {
        let fold = fold.into();
        let mut writer = Self {
            log,
            epoch,
            interner: Interner::default(),
            open: Vec::new(),
            open_count: 0,
            first: None,
            last_at: fold.state.at,
            base_version: 0,
        };
        let mut body = Vec::new();
        write_fold(fold, &mut writer.interner, &mut body);
        let mut dictionary = Vec::new();
        writer.interner.write_new(&mut dictionary);
        let frame = writer.head(&dictionary, &body);
        (writer, frame)
    }

    /// Closes this chapter and opens the next; returns the opening frame. `fold` must have folded exactly the records
    /// that have been sealed.
    ///
    /// The next chapter keeps the numbers of the dictionary's entries that `fold` uses, and drops the other entries.
    /// Because of that, a reader of this chapter's segments can read the next chapter's segments without its opening.
    ///
    /// The open segment must be empty: a debug build panics if it is not. In a release build its records may be read
    /// with other texts.
    #[must_use]
    pub fn open_next<'a>(&mut self, fold: impl Into<Fold<'a>>) -> Vec<u8> {
        debug_assert_eq!(self.open_count, 0, "a chapter is opened between segments");
        let (used, body) = self.body(fold.into());
        let mut dictionary = Vec::new();
        self.interner.write_used_and_prune(&used, &mut dictionary);
        self.head(&dictionary, &body)
    }

    /// Appends a record to the open segment. Times must not decrease: if a record's time is earlier than that of the
    /// record before it, a reader gets too late times. This concerns that record and all later ones of the segment.
    pub fn push(&mut self, record: &Record) {
        let (seq, at, kind) = (record.seq, record.at, record.event.kind());
        match &record.event {
            Event::Change(change) => self.append(seq, at, kind, Some(change), |fields| {
                write_change(change, fields);
            }),
            event => self.append(seq, at, kind, None, |fields| event.write_fields(fields)),
        }
    }

    /// Appends a record of the inside to the open segment, as [`ChapterWriter::push`] does.
    pub fn push_inside(&mut self, record: &InsideRecord) {
        let inside = &record.inside;
        self.append(record.seq, record.at, inside.kind(), None, |fields| {
            inside.write_fields(fields);
        });
    }

    fn append(
        &mut self,
        seq: Seq,
        at: Time,
        kind: u64,
        change: Option<&Change>,
        write: impl FnOnce(&mut Writer<'_>),
    ) {
        let first = *self.first.get_or_insert(Moment { seq, at });
        let since = if self.open_count == 0 {
            first.at
        } else {
            self.last_at
        };
        self.last_at = at;
        self.open_count += 1;
        push_varint(
            u64::try_from(at.micros_since(since)).unwrap_or(0),
            &mut self.open,
        );
        push_varint(kind, &mut self.open);
        let subject = change.map(|change| {
            self.interner
                .define_object(&change.object, change.owner.as_ref())
        });
        let mut writer = Writer {
            out: &mut self.open,
            ids: Some(&mut self.interner),
            base_version: self.base_version,
            base_at: first.at,
            base_seq: first.seq,
            subject,
        };
        writer.sized(write);
        if let Some(change) = change {
            writer.go_on_from(&change.resource_version);
        }
        self.base_version = writer.base_version;
    }

    /// The size of the open segment in bytes: its records, plus an upper bound of their dictionary definitions. 0 if
    /// the segment has no record.
    #[must_use]
    pub fn open_bytes(&self) -> usize {
        self.open.len() + self.interner.unwritten_bytes()
    }

    /// The number of records in the open segment.
    #[must_use]
    pub fn open_count(&self) -> u64 {
        self.open_count
    }

    /// Seals the open segment, returns its frame and begins an empty segment; `None` if the segment has no record. A
    /// payload over [`MAX_FRAME_BYTES`](crate::codec::MAX_FRAME_BYTES) cannot be read.
    pub fn seal(&mut self) -> Option<Vec<u8>> {
        let Moment { seq, at } = self.first.take()?;
        let mut head = Vec::new();
        push_varint(seq.0, &mut head);
        push_varint(self.open_count, &mut head);
        push_varint(at.0 as u64, &mut head);
        self.interner.write_new(&mut head);
        let frame = seal_frame(FrameKind::Segment, &[&head, &self.open]);
        self.open.clear();
        self.open_count = 0;
        self.base_version = 0;
        Some(frame)
    }

    /// Returns a snapshot for a reader that joins between two segments. The snapshot carries this chapter's dictionary,
    /// so the reader can read the segments that follow. `fold` must have folded exactly the records that have been
    /// sealed. The open segment must be empty: a debug build panics if it is not, and a release build does not check
    /// it.
    #[must_use]
    pub fn head_snapshot<'a>(&self, fold: impl Into<Fold<'a>>) -> Vec<u8> {
        debug_assert_eq!(
            self.open_count, 0,
            "a head snapshot is taken between segments"
        );
        let (used, body) = self.body(fold.into());
        let mut dictionary = Vec::new();
        self.interner.write_all(&used, &mut dictionary);
        self.head(&dictionary, &body)
    }

    /// Encodes a fold with the numbers of this chapter's dictionary; returns the entries that the fold uses, and the
    /// bytes.
    fn body(&self, fold: Fold<'_>) -> (Used, Vec<u8>) {
        let (mut used, mut body) = (Used::default(), Vec::new());
        write_fold(fold, &mut Frozen(&self.interner, &mut used), &mut body);
        (used, body)
    }

    fn head(&self, dictionary: &[u8], body: &[u8]) -> Vec<u8> {
        let mut names = Vec::new();
        push_inline(self.log.as_str().as_bytes(), &mut names);
        push_inline(self.epoch.as_str().as_bytes(), &mut names);
        seal_frame(FrameKind::Head, &[&names, dictionary, body])
    }
}

fn write_fold(fold: Fold<'_>, ids: &mut dyn Ids, out: &mut Vec<u8>) {
    let state = fold.state;
    push_varint(state.seq.0, out);
    push_varint(state.at.0 as u64, out);
    let mut writer = Writer {
        out,
        ids: Some(ids),
        base_version: 0,
        base_at: state.at,
        base_seq: state.seq,
        subject: None,
    };
    state.write_fields(&mut writer);
    // A length stands before the layers, so a reader may leave them for later. Future fields of the state come after
    // them.
    if let Some(layers) = fold.layers.filter(|layers| !layers.is_empty()) {
        writer.sized(|fields| layers.write_fields(fields));
    }
}

/// The content of a chapter's opening frame, or of a head snapshot. The budget of the frame's decoding bounds it
/// ([`crate::codec`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// The log.
    pub log: LogId,
    /// The run of the log's writer.
    pub epoch: EpochId,
    /// The fold of all records before the chapter; in a head snapshot, the fold of all records before the snapshot.
    pub state: State,
    /// The encoded fold of the inside; empty if there is none. [`ChapterReader::layers`] decodes it.
    pub layers: Vec<u8>,
}

/// A record as [`ChapterReader::glance`] passes it, borrowed for that call.
#[derive(Clone, Copy, Debug)]
pub enum Glance<'a> {
    /// A `change`, without the fields that no search looks at.
    Change(ChangeGlance<'a>),
    /// The event of a record of another kind. Up to format 3 a `change` comes as an event, too.
    Event(&'a Event),
}

/// The type into which a reader decodes a record: [`Record`], without records of the inside, or [`Entry`], with them.
trait Wanted: Sized {
    fn read(kind: u64, fields: &mut Reader<'_>, seq: Seq, at: Time) -> Option<Self>;

    /// The resourceVersion of a `change`, from which later ones in the segment are distances; `None` for other kinds.
    fn base_version(&self) -> Option<&ResourceVersion>;
}

impl Wanted for Record {
    fn read(kind: u64, fields: &mut Reader<'_>, seq: Seq, at: Time) -> Option<Self> {
        let event = if kind == Change::KIND && fields.has_patterns() {
            read_change(fields).into()
        } else {
            Event::read_fields(kind, fields)?
        };
        Some(Self { seq, at, event })
    }

    fn base_version(&self) -> Option<&ResourceVersion> {
        match &self.event {
            Event::Change(change) => Some(&change.resource_version),
            _ => None,
        }
    }
}

impl Wanted for Entry {
    fn read(kind: u64, fields: &mut Reader<'_>, seq: Seq, at: Time) -> Option<Self> {
        match Record::read(kind, fields, seq, at) {
            Some(record) => Some(Self::Record(record)),
            None => Inside::read_fields(kind, fields)
                .map(|inside| Self::Inside(InsideRecord { seq, at, inside })),
        }
    }

    fn base_version(&self) -> Option<&ResourceVersion> {
        self.record().and_then(Wanted::base_version)
    }
}

/// A decoder of the segments that follow one opening, and of the segments of the chapters after that.
///
/// The reader holds the dictionary. The numbers that the writer uses bound its size: a number that is defined again
/// replaces its old meaning.
#[derive(Clone, Debug)]
pub struct ChapterReader {
    tables: Tables,
    next: Seq,
}

impl ChapterReader {
    /// Reads the opening of a chapter, or a head snapshot. Bytes after the frame are ignored.
    ///
    /// # Errors
    /// The errors of [`split_frame`]; [`DecodeError::Tag`] if the frame is no head frame; the first error in its
    /// payload. The layers stay encoded, so damage in them is no error here.
    pub fn open(frame: &[u8]) -> Result<(Self, Opening), DecodeError> {
        let (frame, _) = split_frame(frame)?;
        Self::open_frame(frame)
    }

    /// Like [`Self::open`], for a frame that the caller has already split off.
    ///
    /// # Errors
    /// [`DecodeError::Tag`] if it is no head frame; the first error in its payload. Damage in the layers is no error
    /// here.
    pub fn open_frame(frame: Frame<'_>) -> Result<(Self, Opening), DecodeError> {
        if frame.kind != FrameKind::Head {
            return Err(DecodeError::Tag(b'S'));
        }
        let mut reader = payload_of(frame);
        let log = LogId(reader.inline_str().into());
        let epoch = EpochId(reader.inline_str().into());
        let mut tables = Tables::default();
        tables.read_new(&mut reader);
        let mut reader = reader.with_tables(&tables);
        reader.base_seq = Seq(reader.varint());
        reader.base_at = Time(reader.varint() as i64);
        let state = State::read_fields(&mut reader);
        let layers = if reader.is_at_end() {
            Vec::new()
        } else {
            let bytes = reader.inline();
            reader.charge(bytes.len());
            bytes.to_vec()
        };
        reader.finish(())?;
        let next = Seq(state.seq.0.saturating_add(1));
        let opening = Opening {
            log,
            epoch,
            state,
            layers,
        };
        Ok((Self { tables, next }, opening))
    }

    /// Reads the dictionary of a chapter's opening. The fold, which is most of an opening, stays unread. Returns the
    /// reader, the log and the run of its writer.
    ///
    /// # Errors
    /// [`DecodeError::Tag`] if the frame is no head frame; the first error in the part that is read.
    pub fn open_dictionary(frame: Frame<'_>) -> Result<(Self, LogId, EpochId), DecodeError> {
        if frame.kind != FrameKind::Head {
            return Err(DecodeError::Tag(b'S'));
        }
        let mut reader = payload_of(frame);
        let log = LogId(reader.inline_str().into());
        let epoch = EpochId(reader.inline_str().into());
        let mut tables = Tables::default();
        tables.read_new(&mut reader);
        let next = Seq(reader.varint().saturating_add(1));
        reader.finish((Self { tables, next }, log, epoch))
    }

    /// Decodes the layers of an opening, which came with `state`; empty bytes give no layers. The caller must call this
    /// before it reads the first segment, because later segments may give dictionary numbers another meaning.
    ///
    /// # Errors
    /// The first error in the bytes.
    pub fn layers(&self, state: &State, bytes: &[u8]) -> Result<Layers, DecodeError> {
        if bytes.is_empty() {
            return Ok(Layers::default());
        }
        let mut reader = Reader::new(bytes, &self.tables);
        (reader.base_seq, reader.base_at) = (state.seq, state.at);
        let layers = Layers::read_fields(&mut reader);
        reader.finish(layers)
    }

    /// The seq that the next segment must begin with.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.next
    }

    /// Decodes the next segment; returns its records in order, one entry for each seq; empty if the segment has none. A
    /// record of the inside, or of a kind that this build does not know, becomes `None`. Bytes after the frame are
    /// ignored.
    ///
    /// # Errors
    /// The errors of [`split_frame`]; [`DecodeError::Tag`] if the frame is no segment; [`DecodeError::Discontinuous`]
    /// if it is not the next segment; the first error in its payload. The fields of a record that becomes `None` are
    /// not read, so damage in them is no error. After an error in the payload the reader is unusable.
    pub fn segment(&mut self, frame: &[u8]) -> Result<Vec<Option<Record>>, DecodeError> {
        let (frame, _) = split_frame(frame)?;
        self.read_segment(frame)
    }

    /// Reads the next segment for a search, and passes each record of a known kind to `see`, in order. Records of the
    /// inside are passed over. From format 4 on it copies no text of a `change` that the dictionary has, so it takes a
    /// fraction of the time of [`Self::segment`].
    ///
    /// # Errors
    /// The errors of [`Self::segment`], except those of [`split_frame`]. The records before the damage were passed to
    /// `see`. From format 4 on, an error in the fields after the object of a `change` is not found, because those
    /// fields are not read.
    pub fn glance(
        &mut self,
        frame: Frame<'_>,
        mut see: impl FnMut(Moment, Glance<'_>),
    ) -> Result<(), DecodeError> {
        let (head, count) = self.read_definitions(frame)?;
        let mut reader = head.with_tables(&self.tables);
        let mut at = reader.base_at;
        for _ in 0..count {
            at = at.plus_micros(i64::try_from(reader.varint()).unwrap_or(i64::MAX));
            let kind = reader.varint();
            let place = Moment { seq: self.next, at };
            let base = reader.sized(|fields| {
                if kind == Change::KIND && fields.has_patterns() {
                    return glance_change(fields, |change| see(place, Glance::Change(change)));
                }
                let event = Event::read_fields(kind, fields)?;
                if !fields.has_failed() {
                    see(place, Glance::Event(&event));
                }
                match event {
                    Event::Change(change) => Some(change.resource_version),
                    _ => None,
                }
            });
            if reader.has_failed() {
                break;
            }
            if let Some(version) = &base {
                reader.go_on_from(version);
            }
            let next = place.seq.0.checked_add(1);
            self.next = Seq(next.ok_or(DecodeError::NumberTooLarge { at: 0 })?);
        }
        reader.finish(())
    }

    /// Like [`Self::segment`], but returns the records of the inside, too. Only a record of an unknown kind becomes
    /// `None`.
    ///
    /// # Errors
    /// The errors of [`Self::segment`].
    pub fn entries(&mut self, frame: &[u8]) -> Result<Vec<Option<Entry>>, DecodeError> {
        let (frame, _) = split_frame(frame)?;
        self.frame_entries(frame)
    }

    /// Like [`Self::entries`], for a frame that the caller has already split off.
    ///
    /// # Errors
    /// The errors of [`Self::segment`], except those of [`split_frame`].
    pub fn frame_entries(&mut self, frame: Frame<'_>) -> Result<Vec<Option<Entry>>, DecodeError> {
        self.read_segment(frame)
    }

    /// Returns the seq after a segment's last record, or its first seq if it has none; needs no other frame. The seq
    /// saturates. For a frame that is no segment the result means nothing.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] if the payload ends within the first seq and the count, or is too short for that
    /// count. [`DecodeError::NumberTooLarge`] if the first seq or the count is too large.
    pub fn end_of(segment: Frame<'_>) -> Result<Seq, DecodeError> {
        let mut reader = payload_of(segment);
        let first = reader.varint();
        let count = reader.count(3, 0) as u64;
        reader.finish(Seq(first.saturating_add(count)))
    }

    /// Reads the dictionary's definitions of the next segment, and passes over its records without decoding them.
    ///
    /// # Errors
    /// The errors of [`Self::segment`], except that an error in the records is not found.
    pub fn skip(&mut self, frame: &[u8]) -> Result<(), DecodeError> {
        let (frame, _) = split_frame(frame)?;
        self.skip_frame(frame)
    }

    /// Like [`Self::skip`], for a frame that the caller has already split off.
    ///
    /// # Errors
    /// The errors of [`Self::skip`], except those of [`split_frame`].
    pub fn skip_frame(&mut self, frame: Frame<'_>) -> Result<(), DecodeError> {
        let (reader, count) = self.read_definitions(frame)?;
        self.next = Seq(self.next.0.saturating_add(count as u64));
        reader.finish(())
    }

    fn read_segment<T: Wanted>(&mut self, frame: Frame<'_>) -> Result<Vec<Option<T>>, DecodeError> {
        let (head, count) = self.read_definitions(frame)?;
        let mut reader = head.with_tables(&self.tables);
        let mut records = Vec::new();
        if reader.charge(count.saturating_mul(size_of::<Option<T>>())) {
            records.reserve_exact(count);
        }
        let mut at = reader.base_at;
        for _ in 0..count {
            at = at.plus_micros(i64::try_from(reader.varint()).unwrap_or(i64::MAX));
            let kind = reader.varint();
            let seq = self.next;
            let record = reader.sized(|fields| T::read(kind, fields, seq, at));
            if reader.has_failed() {
                break;
            }
            if let Some(version) = record.as_ref().and_then(T::base_version) {
                reader.go_on_from(version);
            }
            self.next = Seq(seq
                .0
                .checked_add(1)
                .ok_or(DecodeError::NumberTooLarge { at: 0 })?);
            records.push(record);
        }
        reader.finish(records)
    }

    /// Reads a segment up to its first record. Returns the reader, whose position is at the first record and which may
    /// hold an error, and the number of records.
    fn read_definitions<'a>(
        &mut self,
        frame: Frame<'a>,
    ) -> Result<(Reader<'a>, usize), DecodeError> {
        if frame.kind != FrameKind::Segment {
            return Err(DecodeError::Tag(b'H'));
        }
        let mut reader = payload_of(frame);
        let first = reader.varint();
        if reader.has_failed() {
            return Ok((reader, 0));
        }
        if first != self.next.0 {
            return Err(DecodeError::Discontinuous {
                expected: self.next.0,
                found: first,
            });
        }
        let count = reader.count(3, 0);
        reader.base_at = Time(reader.varint() as i64);
        reader.base_seq = self.next;
        self.tables.read_new(&mut reader);
        Ok((reader, count))
    }
}

fn payload_of(frame: Frame<'_>) -> Reader<'_> {
    let mut reader = Reader::new(frame.payload, Tables::NONE);
    reader.format = frame.version;
    reader
}

/// Decodes a whole chapter: its opening, and all records of its segments whose kind this build knows, in order. The
/// list of records may be empty. Records of the inside are left out. The segments of further chapters may follow,
/// without their openings.
///
/// # Errors
/// The error of the first frame that cannot be read. The layers of the opening, and the fields of left-out records, are
/// not read, so damage in them is no error.
pub fn decode_chapter(bytes: &[u8]) -> Result<(Opening, Vec<Record>), DecodeError> {
    let (head, mut rest) = split_frame(bytes)?;
    let (mut reader, opening) = ChapterReader::open(head.bytes)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (frame, after) = split_frame(rest)?;
        records.extend(reader.read_segment(frame)?.into_iter().flatten());
        rest = after;
    }
    Ok((opening, records))
}
