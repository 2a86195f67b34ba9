//! A viewer of a recording, like the page, and a host with the file in memory. The backend's tests use it too.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses its part, and fails where it cannot go on"
)]

use std::convert::Infallible;
use std::io::Read as _;
use std::time::Duration;

use flate2::read::DeflateDecoder;
use watchscope_model::Time;
use watchscope_model::wire::{
    Acknowledge, Backfill, ClientMessage, Hello, Joiner, PROTOCOL_VERSION, ServerMessage, Welcome,
    catalogue_entries, decode_server, encode_client,
};
use watchscope_recording::{Input, Step};
use watchscope_replay::{Next, OpenError, Opened, Opening};
use watchscope_timeline::{Lanes, Picture, Px, Store, View};

/// Inflates, and stops one byte behind the stated length.
pub fn inflate(bytes: &[u8], raw_bytes: u32) -> Option<Vec<u8>> {
    let mut raw = Vec::new();
    let limit = u64::from(raw_bytes) + 1;
    let mut decoder = DeflateDecoder::new(bytes).take(limit);
    decoder.read_to_end(&mut raw).ok()?;
    Some(raw)
}

/// Drives a machine over a file; panics if it requests bytes outside the file.
pub fn drive<T, E>(file: &[u8], mut step: impl FnMut(Input) -> Result<Step<T>, E>) -> Result<T, E> {
    let mut input = Input::Begin;
    loop {
        input = match step(input)? {
            Step::Read { offset, len } => {
                let offset = usize::try_from(offset).unwrap();
                Input::Bytes(file[offset..offset + len].to_vec())
            }
            Step::Inflate { bytes, raw_bytes } => Input::Inflated(inflate(&bytes, raw_bytes)),
            Step::Done(result) => return Ok(result),
        };
    }
}

/// Like `drive`, for a machine that does not fail.
pub fn run<T>(file: &[u8], mut step: impl FnMut(Input) -> Step<T>) -> T {
    let Ok(result) = drive(file, |input| Ok::<_, Infallible>(step(input)));
    result
}

pub fn open(file: &[u8]) -> Result<Opened, OpenError> {
    let mut opening = Opening::new("a.wscope", file.len() as u64);
    drive(file, |input| opening.step(input))
}

/// A server as a viewer sees it.
pub trait Server {
    fn receive(&mut self, message: &[u8]);
    /// Returns the next message; `None` if there is none.
    fn next(&mut self) -> Option<Vec<u8>>;
}

/// An opened file and its host, whose clock stands still.
pub struct Local<'a> {
    pub opened: Opened,
    pub file: &'a [u8],
}

impl Server for Local<'_> {
    fn receive(&mut self, message: &[u8]) {
        self.opened.receive(message, Duration::ZERO).unwrap();
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.opened.next(Duration::ZERO) {
                Next::Send(message) => return Some(message.to_vec()),
                Next::Fetch(number, mut machine) => {
                    let fetched = run(self.file, |input| machine.step(input));
                    self.opened.fetched(number, fetched);
                }
                Next::Wait(_) => return None,
                Next::End(parting) => panic!("{parting:?}"),
            }
        }
    }
}

/// A page that has loaded every chapter of its catalogue.
pub struct Page {
    pub store: Store,
    pub welcome: Option<Welcome>,
    /// All messages, in the order in which they were received.
    pub messages: Vec<Vec<u8>>,
    /// The reasons why chapters could not be read.
    pub not_read: Vec<String>,
    joiner: Joiner,
    bytes: u64,
}

impl Page {
    /// Sends hello to a server, and requests all chapters that the catalogue lists.
    pub fn visit(server: &mut impl Server) -> Self {
        let mut page = Self {
            store: Store::default(),
            welcome: None,
            messages: Vec::new(),
            not_read: Vec::new(),
            joiner: Joiner::new(1 << 30),
            bytes: 0,
        };
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            log: None,
            epoch: None,
            last: None,
        };
        server.receive(&encode_client(&hello.into()));
        let all = (Time(i64::MIN / 2), Time(i64::MAX / 2));
        // Requests each chapter at most once.
        for _ in 0..10_000 {
            page.listen(server);
            let Some((log, epoch, before)) = page.store.backfill(all.0, all.1) else {
                return page;
            };
            let asked = Backfill { log, epoch, before };
            let records = page.store.records();
            server.receive(&encode_client(&asked.clone().into()));
            page.listen(server);
            if page.store.records() == records {
                page.store
                    .not_read(&asked.epoch, watchscope_model::Seq(before.0 - 1));
            }
        }
        panic!("it never stops requesting chapters");
    }

    fn listen(&mut self, server: &mut impl Server) {
        while let Some(message) = server.next() {
            self.bytes += message.len() as u64;
            self.take(&message);
            self.messages.push(message);
            let bytes = self.bytes;
            server.receive(&encode_client(&ClientMessage::from(Acknowledge { bytes })));
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let (message, data) = decode_server(bytes).unwrap().unwrap();
        let store = &mut self.store;
        match message {
            ServerMessage::Piece(piece) => {
                if let Some(whole) = self.joiner.push(&piece, data).unwrap() {
                    self.take(&whole);
                }
            }
            ServerMessage::Welcome(welcome) => self.welcome = Some(welcome),
            ServerMessage::Snapshot(_) => {
                store.snapshot(data).unwrap();
                let welcome = self.welcome.as_ref().unwrap();
                store.ring_begins(&welcome.epoch, welcome.first, welcome.first_at);
            }
            ServerMessage::Segment(_) => {
                store.segment(data).unwrap();
            }
            ServerMessage::Chapter(_) => {
                // A chapter with damaged records adds none.
                let _ = store.chapter(data);
            }
            ServerMessage::Catalogue(header) => {
                let entries = catalogue_entries(data).unwrap();
                store.list(&header.log, &header.epoch, header.order, entries);
            }
            ServerMessage::NotRead(not_read) => {
                let last = watchscope_model::Seq(not_read.before.0 - 1);
                store.not_read(&not_read.epoch, last);
                self.not_read.push(not_read.reason);
            }
            ServerMessage::Expired(expired) => store.expired(&expired.epoch, expired.last),
            ServerMessage::Heartbeat(_) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Returns the display list of all that the recording shows.
    pub fn display_list(&self) -> String {
        let welcome = self.welcome.as_ref().unwrap();
        let (from, to) = (welcome.recorded_from.unwrap(), welcome.recorded_to.unwrap());
        display_list(&self.store, (from, to))
    }
}

/// Returns the display list of a stretch of time.
pub fn display_list(store: &Store, (from, to): (Time, Time)) -> String {
    let view = View::between(from.plus_micros(-500_000), to.plus_micros(500_000), 1_600.0);
    let rows = Lanes::default().rows(store, &view, to);
    let scene = watchscope_timeline::draw::lanes(&Picture {
        height: rows.height.max(Px::whole(60)),
        ..Picture::new(store, &rows, &view, to)
    });
    scene.dump()
}
