//! A log and its viewers without a clock or a socket, for the tests of readers.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(unreachable_pub, reason = "shared by test files")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use watchscope_log::{Fetched, FileRun, Ring, Sealer, Step};
use watchscope_model::chapter::{ChapterReader, decode_chapter};
use watchscope_model::event::{Change, Note, WatchStarted};
use watchscope_model::summary::Summary;
use watchscope_model::vocabulary::{Author, ChangeType, Origin};
use watchscope_model::wire::{
    Acknowledge, Backfill, CatalogueEntry, ClientMessage, Expired, Hello, Joiner,
    MAX_MESSAGE_BYTES, Moved, PROTOCOL_VERSION, Pause, ServerMessage, Welcome, catalogue_entries,
    decode_server, encode_client,
};
use watchscope_model::{EpochId, Event, Object, Record, Seq, State, Time, Uid};

/// When every test's log begins.
pub const START: Time = Time(1_763_715_600_000_000);

/// A log and its clock, with every record ever written.
pub struct World {
    pub state: State,
    pub sealer: Sealer,
    pub ring: Ring,
    pub now: Time,
    pub written: Vec<Record>,
    /// The chapters that were copied into files.
    pub files: Vec<Kept>,
    objects: u64,
}

/// A chapter in a file.
#[derive(Clone, Debug)]
pub struct Kept {
    pub epoch: EpochId,
    pub summary: Summary,
    /// Its frames; `None` if it is damaged.
    pub frames: Option<Bytes>,
}

impl World {
    pub fn new(ring_bytes: u64) -> Self {
        Self::of_epoch("e1", ring_bytes)
    }

    pub fn of_epoch(epoch: &str, ring_bytes: u64) -> Self {
        let (sealer, first) = Sealer::new("demo".into(), epoch.into(), START);
        let ring = Ring::new("demo".into(), epoch.into(), ring_bytes, first);
        let mut world = Self {
            state: State {
                at: START,
                ..State::default()
            },
            sealer,
            ring,
            now: START,
            written: Vec::new(),
            files: Vec::new(),
            objects: 0,
        };
        world.push(
            WatchStarted {
                watch: "shop/pods".into(),
                group: "".into(),
                version: "v1".into(),
                resource: "pods".into(),
                namespace: Some("shop".into()),
                label_selector: None,
                field_selector: None,
                server: None,
                aggregated: None,
            }
            .into(),
        );
        world.seal();
        world
    }

    pub fn push(&mut self, event: Event) {
        let record = self.state.stamp(event, self.now);
        self.state.apply(&record);
        let sealed = self.sealer.take(&record, &self.state);
        self.written.push(record);
        if let Some(sealed) = sealed {
            self.ring.push(sealed);
        }
    }

    pub fn seal(&mut self) {
        if let Some(sealed) = self.sealer.seal(self.now, &self.state) {
            self.ring.push(sealed);
        }
    }

    /// Writes a segment with `count` changes, each of a new object.
    pub fn changes(&mut self, count: u64) {
        for _ in 0..count {
            self.objects += 1;
            let number = self.objects;
            self.push(change(number));
        }
        self.seal();
    }

    /// Writes segments of at least `bytes` bytes together, in notes of 1 kB.
    pub fn notes(&mut self, bytes: u64) {
        let until = self.ring.total_bytes() + bytes;
        while self.ring.total_bytes() < until {
            self.push(note(1_000));
            self.seal();
        }
    }

    pub fn pass_ms(&mut self, millis: u64) {
        self.now = self.now.plus_millis(millis);
    }

    /// Copies the closed chapters of the ring into files.
    pub fn keep(&mut self) {
        let mut first = self.ring.first();
        while let Some(chapter) = self.ring.chapter(first)
            && let Some(last) = chapter.segments.last().map(|segment| segment.last)
            && self
                .ring
                .chapter(last.next())
                .is_some_and(|next| next.first > first)
        {
            let mut frames = chapter.opening.to_vec();
            for segment in &chapter.segments {
                frames.extend_from_slice(segment.frame());
            }
            let epoch = self.ring.epoch().clone();
            let is_new = |kept: &Kept| kept.epoch != epoch || kept.summary.first != first;
            if self.files.iter().all(is_new) {
                let summary = summary_of(&self.written, first, last);
                self.files.push(Kept {
                    epoch,
                    summary,
                    frames: Some(frames.into()),
                });
            }
            first = last.next();
        }
        for kept in &self.files {
            if kept.epoch == *self.ring.epoch() {
                let (first, last) = (kept.summary.first, kept.summary.last);
                self.ring.catalogue_mut().keep(first, last);
            }
        }
    }

    /// Gives the catalogue the present list of chapters in files.
    pub fn list_files(&mut self) {
        let mut runs: Vec<FileRun> = Vec::new();
        for kept in &self.files {
            let place = runs.iter().position(|run| run.epoch == kept.epoch);
            let place = place.unwrap_or_else(|| {
                runs.push(FileRun {
                    epoch: kept.epoch.clone(),
                    order: runs.len() as u64,
                    chapters: Vec::new(),
                });
                runs.len() - 1
            });
            runs[place].chapters.push(kept.summary.clone());
        }
        self.ring.catalogue_mut().set_files(&runs);
    }

    /// The result of a host's look into the files.
    pub fn fetch(&self, backfill: &Backfill) -> Fetched {
        let last = Seq(backfill.before.0 - 1);
        let found = self.files.iter().find(|kept| {
            kept.epoch == backfill.epoch && kept.summary.first <= last && last <= kept.summary.last
        });
        match found.map(|kept| (&kept.summary, &kept.frames)) {
            None => Fetched::Gone,
            Some((_, None)) => Fetched::NotRead {
                reason: "it is damaged".to_owned(),
            },
            Some((summary, Some(frames))) => Fetched::Chapter {
                first: summary.first,
                last: summary.last,
                frames: frames.clone(),
            },
        }
    }

    pub fn head(&self) -> Seq {
        self.ring.head()
    }

    /// The fold of all records up to `seq`.
    pub fn folded(&self, seq: Seq) -> State {
        let mut state = State {
            at: START,
            ..State::default()
        };
        self.written
            .iter()
            .take_while(|record| record.seq <= seq)
            .for_each(|record| state.apply(record));
        state
    }

    /// The records written from `first` up to before `end`.
    pub fn written(&self, first: Seq, end: Seq) -> &[Record] {
        &self.written[first.0 as usize - 1..end.0 as usize - 1]
    }
}

/// A summary of records without trouble.
fn summary_of(written: &[Record], first: Seq, last: Seq) -> Summary {
    let records = &written[first.0 as usize - 1..last.0 as usize];
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.event.kind()).or_insert(0) += 1;
    }
    Summary {
        first,
        last,
        first_at: records[0].at,
        last_at: records[records.len() - 1].at,
        counts: counts.into_iter().collect(),
        worst: None,
        troubles: Vec::new(),
    }
}

pub fn change(number: u64) -> Event {
    Change {
        watch: "shop/pods".into(),
        stream: None,
        change: ChangeType::Added,
        origin: Origin::Live,
        object: Arc::new(Object {
            namespace: Some("shop".into()),
            name: format!("web-{number}").into(),
            uid: Uid::Uuid(u128::from(number).to_be_bytes()),
        }),
        resource_version: (1_000 + number).into(),
        generation: Some(1),
        manager: None,
        subresource: None,
        bytes: Some(5_900),
        stray: None,
        owner: None,
    }
    .into()
}

pub fn note(bytes: usize) -> Event {
    Note::new(Author::Story, "n".repeat(bytes)).into()
}

/// A viewer: the reader at the server, the messages in transit, and the page.
pub struct Viewer {
    pub reader: watchscope_log::Reader,
    pub wire: VecDeque<Bytes>,
    pub page: Page,
    pub end: Option<String>,
    /// The chapters requested on this connection.
    pub backfills: usize,
    /// The request for the host while the disk is slow.
    pub fetches: Option<Backfill>,
    pub disk_is_slow: bool,
}

impl Viewer {
    /// A viewer that has connected and sent nothing.
    pub fn silent() -> Self {
        Self {
            reader: watchscope_log::Reader::new("0.1.0".into()),
            wire: VecDeque::new(),
            page: Page::default(),
            end: None,
            backfills: 0,
            fetches: None,
            disk_is_slow: false,
        }
    }

    /// A viewer that has connected and sent its first hello.
    pub fn connect(world: &World) -> Self {
        let mut viewer = Self::silent();
        viewer.hello(world);
        viewer
    }

    /// A viewer that has connected and received everything so far; its story begins after that.
    pub fn joined(world: &mut World) -> Self {
        let mut viewer = Self::connect(world);
        viewer.settle(world);
        viewer.page.tell();
        viewer
    }

    /// Connects again with the page's records; messages in transit are lost.
    pub fn reconnect(&mut self, world: &World) {
        self.reader = watchscope_log::Reader::new("0.1.0".into());
        self.wire.clear();
        self.backfills = 0;
        self.fetches = None;
        self.page.reconnected();
        self.hello(world);
    }

    fn hello(&mut self, world: &World) {
        let hello = self.page.hello();
        self.say(world, hello);
    }

    pub fn say(&mut self, world: &World, message: impl Into<ClientMessage>) {
        self.try_say(world, message).expect("the reader takes it");
    }

    pub fn try_say(
        &mut self,
        world: &World,
        message: impl Into<ClientMessage>,
    ) -> Result<(), watchscope_log::Refusal> {
        let bytes = encode_client(&message.into());
        self.reader
            .receive(&bytes, &world.ring, world.now)
            .map(|_| ())
    }

    pub fn pause(&mut self, world: &World, paused: bool) {
        self.say(world, Pause { paused });
    }

    pub fn backfill(&mut self, world: &World, before: Seq) {
        let backfill = Backfill {
            log: "demo".into(),
            epoch: world.ring.epoch().clone(),
            before,
        };
        self.backfills += 1;
        self.say(world, backfill);
    }

    /// Acknowledges all bytes that the page has received.
    pub fn acknowledge(&mut self, world: &World) {
        let bytes = self.page.bytes;
        self.say(world, Acknowledge { bytes });
    }

    /// Puts all messages of the reader on the wire, and makes snapshots at its request; returns the number of bytes.
    pub fn fill(&mut self, world: &mut World) -> u64 {
        let mut bytes = 0;
        loop {
            match self.reader.next(&world.ring, world.now) {
                Step::Send(message) => {
                    assert!(message.len() <= MAX_MESSAGE_BYTES);
                    bytes += message.len() as u64;
                    self.wire.push_back(message);
                }
                Step::Wait {
                    needs_snapshot: true,
                    ..
                } => {
                    let (sealed, snapshot) = world.sealer.snapshot(world.now, &world.state);
                    if let Some(sealed) = sealed {
                        world.ring.push(sealed);
                    }
                    world.ring.set_snapshot(snapshot);
                }
                Step::Fetch(backfill) => {
                    assert_eq!(self.fetches, None, "one chapter is fetched at a time");
                    self.fetches = Some(backfill);
                    if !self.disk_is_slow {
                        self.answer(world);
                    }
                }
                Step::Wait { .. } => return bytes,
                Step::End(parting) => {
                    self.end = Some(parting.reason.to_string());
                    return bytes;
                }
            }
        }
    }

    /// The host answers the pending request from the files.
    pub fn answer(&mut self, world: &World) {
        if let Some(backfill) = self.fetches.take() {
            self.reader.fetched(world.fetch(&backfill));
        }
    }

    /// Delivers up to `count` messages to the page.
    pub fn deliver(&mut self, count: usize) {
        for message in self.wire.drain(..count.min(self.wire.len())) {
            self.page.take(&message);
        }
    }

    /// Fills, delivers and acknowledges until no message comes.
    pub fn settle(&mut self, world: &mut World) {
        loop {
            self.deliver(usize::MAX);
            self.acknowledge(world);
            self.fill(world);
            if self.wire.is_empty() {
                return;
            }
        }
    }
}

/// The state of a page after its messages. It panics at any hole that was not announced.
#[derive(Default)]
pub struct Page {
    /// The bytes received on this connection.
    pub bytes: u64,
    /// The messages received, a word each.
    pub story: Vec<String>,
    pub welcome: Option<Welcome>,
    pub epoch: Option<EpochId>,
    pub state: State,
    live: Option<ChapterReader>,
    joiner: Option<Joiner>,
    pub moved: Vec<Moved>,
    /// Stretches that were announced as missing from live data.
    pub absences: Vec<(Seq, Seq)>,
    pub expired: Vec<Expired>,
    /// The entries of the catalogue, by the order and name of their runs, and by first record.
    pub catalogue: BTreeMap<(u64, String), BTreeMap<Seq, CatalogueEntry>>,
    pub catalogue_messages: usize,
    pub records: Vec<Record>,
    pub chapters: Vec<Loaded>,
    pub heartbeats: usize,
    pub live_during_past: usize,
    is_past_coming: bool,
    /// Whether a welcome announced a snapshot.
    joins: bool,
}

/// A chapter of the past.
pub struct Loaded {
    pub state: State,
    pub first: Seq,
    pub before: Seq,
    pub records: Vec<Record>,
}

impl Page {
    pub fn hello(&self) -> Hello {
        let last = self
            .live
            .as_ref()
            .map(|live| Seq(live.next_seq().0.saturating_sub(1)));
        Hello {
            protocol: PROTOCOL_VERSION,
            log: None,
            epoch: last.and(self.epoch.clone()),
            last,
        }
    }

    /// The next live record; `None` before the first snapshot.
    pub fn live_seq(&self) -> Option<Seq> {
        self.live.as_ref().map(ChapterReader::next_seq)
    }

    fn reconnected(&mut self) {
        self.bytes = 0;
        self.joiner = None;
        self.is_past_coming = false;
    }

    pub fn take(&mut self, message: &[u8]) {
        self.bytes += message.len() as u64;
        self.read(message);
    }

    /// Takes the story since the last call, in one line; a repeated word stands once with its count.
    pub fn tell(&mut self) -> String {
        let mut words: Vec<(String, usize)> = Vec::new();
        for word in self.story.drain(..) {
            match words.last_mut() {
                Some((last, count)) if *last == word => *count += 1,
                _ => words.push((word, 1)),
            }
        }
        words
            .iter()
            .map(|(word, count)| match count {
                1 => word.clone(),
                _ => format!("{word}*{count}"),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn read(&mut self, message: &[u8]) {
        let (message, data) = decode_server(message).unwrap().unwrap();
        match message {
            ServerMessage::Welcome(welcome) => {
                self.story.push(if welcome.resumed {
                    "resumed".into()
                } else {
                    "welcome".into()
                });
                self.joins = !welcome.resumed;
                if self.joins {
                    self.live = None;
                }
                self.epoch = Some(welcome.epoch.clone());
                self.welcome = Some(welcome);
            }
            ServerMessage::Snapshot(snapshot) => {
                self.story.push("snapshot".into());
                let (reader, opening) = ChapterReader::open(data).unwrap();
                assert_eq!(opening.state.seq, snapshot.seq);
                if self.joins {
                    let from = self.state.seq.next();
                    self.absences.push((from, snapshot.seq));
                } else {
                    let moved = self.moved.last().expect("a snapshot is announced");
                    assert_eq!(
                        (moved.from, moved.to),
                        (self.state.seq.next(), snapshot.seq)
                    );
                    self.absences.push((moved.from, moved.to));
                }
                self.joins = false;
                self.live = Some(reader);
                self.state = opening.state;
            }
            ServerMessage::Segment(_) => {
                self.story.push("segment".into());
                self.live_during_past += usize::from(self.is_past_coming);
                let live = self.live.as_mut().expect("a snapshot came before");
                for record in live.segment(data).unwrap() {
                    let record = record.unwrap();
                    self.state.apply(&record);
                    self.records.push(record);
                }
            }
            ServerMessage::Moved(moved) => {
                self.story.push("moved".into());
                self.moved.push(moved);
            }
            ServerMessage::Expired(expired) => {
                self.story
                    .push(format!("expired:{}-{}", expired.first, expired.last));
                self.expired.push(expired);
            }
            ServerMessage::Chapter(chapter) => {
                self.story.push("chapter".into());
                self.is_past_coming = false;
                let (opening, mut records) = decode_chapter(data).unwrap();
                records.retain(|record| record.seq < chapter.before);
                self.chapters.push(Loaded {
                    state: opening.state,
                    first: chapter.first,
                    before: chapter.before,
                    records,
                });
            }
            ServerMessage::Catalogue(header) => {
                self.catalogue_messages += 1;
                let run = (header.order, header.epoch.as_str().to_owned());
                let run = self.catalogue.entry(run).or_default();
                for entry in catalogue_entries(data).unwrap() {
                    let (first, last) = (entry.summary.first, entry.summary.last);
                    if entry.is_merged {
                        run.retain(|known, _| *known < first || *known > last);
                    }
                    run.insert(first, entry);
                }
            }
            ServerMessage::NotRead(not_read) => {
                self.story
                    .push(format!("not read:{} {}", not_read.before, not_read.reason));
            }
            ServerMessage::Heartbeat(_) => {
                self.story.push("heartbeat".into());
                self.heartbeats += 1;
            }
            ServerMessage::History(_) => self.story.push("history".into()),
            ServerMessage::Bye(bye) => self.story.push(format!("bye:{}", bye.reason)),
            ServerMessage::Piece(piece) => {
                self.story.push("piece".into());
                self.is_past_coming = true;
                let joiner = self.joiner.get_or_insert_with(|| Joiner::new(64 << 20));
                if let Some(whole) = joiner.push(&piece, data).unwrap() {
                    self.is_past_coming = false;
                    self.read(&whole);
                }
            }
            ServerMessage::Contexts(_) => self.story.push("contexts".into()),
            ServerMessage::CommandDone(done) => self.story.push(format!("done:{}", done.command)),
        }
    }
}
