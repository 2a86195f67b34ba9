//! Logs written by hand: events at times, encoded into the frames that a hub would send.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses its part, and fails where it cannot go on"
)]

pub mod random;

use std::sync::Arc;

use watchscope_model::chapter::ChapterWriter;
use watchscope_model::codec::split_frame;
use watchscope_model::event::*;
use watchscope_model::id::Owner;
use watchscope_model::summary::Summarizer;
use watchscope_model::vocabulary::*;
use watchscope_model::wire::{Availability, CatalogueEntry};
use watchscope_model::*;
use watchscope_timeline::{Lanes, Picture, Px, Rows, Scene, Store, View};

/// 2026-11-19T09:31:00Z.
pub const START: Time = Time(1_795_080_660_000_000);

/// A time after every record.
pub const FOREVER: Time = Time(i64::MAX);

/// Returns the time `seconds` after the start.
pub fn at(seconds: f64) -> Time {
    START.plus_micros((seconds * 1e6) as i64)
}

pub fn object(name: &str, uid: u64) -> Arc<Object> {
    Arc::new(Object {
        namespace: Some("shop".into()),
        name: name.into(),
        uid: Uid::parse(&format!("uid-{uid}")),
    })
}

/// Changes the kind of the notes with the text `LATER` to a kind that no version knows.
pub fn with_unknown_kinds(mut frames: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while !frames.is_empty() {
        let (frame, rest) = split_frame(frames).unwrap();
        frames = rest;
        let mut frame = frame.bytes.to_vec();
        while let Some(text) = frame.windows(5).position(|window| window == b"LATER") {
            // Kind, length of the fields, author, length of the text.
            let kind = text - 4;
            assert_eq!(frame[kind], 27, "a note");
            frame[kind] = 99;
            frame[text..text + 5].copy_from_slice(b"later");
        }
        let checksum = crc32fast::hash(&frame[10..]);
        frame[6..10].copy_from_slice(&checksum.to_le_bytes());
        out.extend(frame);
    }
    out
}

/// A log under construction.
#[derive(Clone)]
pub struct Log {
    pub records: Vec<Record>,
    pub state: State,
    pub epoch: EpochId,
}

/// Returns a finding about a watch, which does not say since when.
pub fn finding(
    code: &str,
    severity: Severity,
    state: Standing,
    watch: &str,
    summary: &str,
) -> Finding {
    Finding {
        code: code.into(),
        candidates: Vec::new(),
        name: format!("{code} name").as_str().into(),
        severity,
        state,
        certainty: Certainty::Likely,
        watch: Some(watch.into()),
        server: None,
        evidence: vec![Seq(1)],
        summary: summary.into(),
        client: None,
        count: None,
        since: None,
        worst: None,
        connection: None,
        group: None,
        resource: None,
        watches: None,
        resumed: None,
        relisted: None,
        names: Vec::new(),
    }
}

impl Log {
    pub fn new(epoch: &str) -> Self {
        Self {
            records: Vec::new(),
            state: State::default(),
            epoch: epoch.into(),
        }
    }

    /// Returns a run that begins `begins` seconds after the start: a list of one pod, then one change of it each
    /// second.
    pub fn steady(epoch: &str, begins: f64, changes: u64) -> Self {
        let mut log = Self::new(epoch);
        log.opened(begins, "shop/pods", 1, &["cart-0"], 100);
        for step in 1..=changes {
            let (kind, origin) = (ChangeType::Modified, Origin::Live);
            let s = begins + step as f64;
            log.change(s, "shop/pods", kind, origin, "cart-0", 100 + step);
        }
        log
    }

    /// Appends an event `seconds` after the start; returns its seq.
    pub fn push(&mut self, seconds: f64, event: impl Into<Event>) -> Seq {
        self.push_at(at(seconds), event)
    }

    /// Appends an event at a time; returns its seq.
    pub fn push_at(&mut self, at: Time, event: impl Into<Event>) -> Seq {
        let mut event = event.into();
        self.state.complete(&mut event);
        let record = Record {
            seq: Seq(self.records.len() as u64 + 1),
            at,
            event,
        };
        self.state.apply(&record);
        self.records.push(record);
        self.state.seq
    }

    /// Returns the fold of the first `count` records.
    pub fn state_after(&self, count: usize) -> State {
        let mut state = State::default();
        self.records[..count]
            .iter()
            .for_each(|record| state.apply(record));
        state
    }

    /// Returns the chapter of records `from..to` (by count).
    pub fn chapter(&self, from: usize, to: usize) -> Vec<u8> {
        let (mut writer, mut bytes) =
            ChapterWriter::open("log".into(), self.epoch.clone(), &self.state_after(from));
        for run in self.records[from..to].chunks(7) {
            run.iter().for_each(|record| writer.push(record));
            bytes.extend(writer.seal().unwrap());
        }
        bytes
    }

    /// Returns the catalogue entry for the chapter of records `from..to` (by count).
    pub fn listed(&self, from: usize, to: usize, availability: Availability) -> CatalogueEntry {
        let mut summarizer = Summarizer::new(self.state_after(from));
        self.records[from..to]
            .iter()
            .for_each(|record| summarizer.record(record));
        CatalogueEntry {
            availability,
            is_merged: false,
            summary: summarizer.summary(),
        }
    }

    /// Sends all records live, from an empty snapshot.
    pub fn send_all(&self, store: &mut Store) {
        self.send_from(store, 0);
    }

    /// Sends a head snapshot after `from` records, then the rest live.
    pub fn send_from(&self, store: &mut Store, from: usize) {
        self.send(store, from, self.records.len());
    }

    /// Sends a head snapshot after `from` records, then those up to `to` live.
    pub fn send(&self, store: &mut Store, from: usize, to: usize) {
        let mut writer = self.begin(store, from);
        self.go_on(&mut writer, store, from, to);
    }

    /// Sends a head snapshot after `from` records; returns the writer of the records after it.
    pub fn begin(&self, store: &mut Store, from: usize) -> ChapterWriter {
        let (writer, head) =
            ChapterWriter::open("log".into(), self.epoch.clone(), &self.state_after(from));
        store.snapshot(&head).unwrap();
        writer
    }

    /// Sends the records `from..to` live. The writer has written those before.
    pub fn go_on(&self, writer: &mut ChapterWriter, store: &mut Store, from: usize, to: usize) {
        for run in self.records[from..to].chunks(5) {
            run.iter().for_each(|record| writer.push(record));
            store.segment(&writer.seal().unwrap()).unwrap();
        }
    }

    pub fn store(&self) -> Store {
        let mut store = Store::default();
        self.send_all(&mut store);
        store
    }

    // Short forms of the protocol.

    pub fn watch(&mut self, s: f64, watch: &str) {
        self.watch_by(s, watch, None);
    }

    /// Starts a watch that is pinned to a server.
    pub fn watch_by(&mut self, s: f64, watch: &str, server: Option<&str>) {
        let name = WatchName::from(watch);
        let started = WatchStarted {
            group: "".into(),
            version: "v1".into(),
            resource: name.resource().into(),
            namespace: Some(name.namespace().into()),
            label_selector: None,
            field_selector: None,
            watch: name.clone(),
            server: server.map(Into::into),
            aggregated: None,
        };
        self.push(s, started);
    }

    pub fn phase(
        &mut self,
        s: f64,
        watch: &str,
        to: Phase,
        reason: PhaseReason,
        delay_ms: Option<u64>,
    ) -> Seq {
        let name = WatchName::from(watch);
        let from = self.state.watches[&name]
            .phase
            .as_ref()
            .map(|phase| phase.phase);
        self.push(
            s,
            WatchPhase {
                watch: name,
                from,
                to,
                reason,
                delay_ms,
                error: None,
            },
        )
    }

    pub fn connection(&mut self, s: f64, id: u64, remote: &str) {
        self.push(
            s,
            ConnectionOpened {
                connection: ConnectionId(id),
                server: remote.into(),
                remote: remote.into(),
                alpn: Some("http/1.1".into()),
                tls: Some("TLS 1.3".into()),
                version: None,
            },
        );
    }

    pub fn request(
        &mut self,
        s: f64,
        watch: &str,
        id: u64,
        connection: u64,
        verb: &str,
        query: &str,
    ) {
        self.push(
            s,
            RequestSent {
                watch: watch.into(),
                request: RequestId(id),
                connection: ConnectionId(connection),
                verb: verb.into(),
                path: "/api/v1/namespaces/shop/pods".into(),
                query: Some(query.into()),
            },
        );
    }

    pub fn open(&mut self, s: f64, watch: &str, stream: u64, request: u64, from: u64) {
        let open = StreamOpened {
            watch: watch.into(),
            stream: StreamId(stream),
            request: RequestId(request),
            resource_version: Some(from.into()),
            http2_stream: None,
        };
        self.push(s, open);
        self.phase(s, watch, Phase::Streaming, PhaseReason::Opened, None);
    }

    pub fn end(&mut self, s: f64, watch: &str, stream: u64, cause: Cause) -> Seq {
        let open = self.state.watches[&WatchName::from(watch)]
            .stream
            .as_ref()
            .map_or(at(s), |open| open.since.at);
        let age_ms = at(s).millis_since(open);
        self.push(
            s,
            StreamEnded {
                watch: watch.into(),
                stream: StreamId(stream),
                cause,
                age_ms,
                events: 1,
                bytes: 100,
                reset_code: None,
                unread_ms: None,
            },
        )
    }

    pub fn gap(&mut self, s: f64, watch: &str, resumed: bool, lost: Option<u64>) -> Seq {
        let reason = Cause::TcpReset;
        self.push(
            s,
            Gap {
                watch: watch.into(),
                since: Seq(0),
                from: None,
                to: None,
                reason,
                resumed,
                lost,
            },
        )
    }

    pub fn list(
        &mut self,
        s: f64,
        watch: &str,
        version: u64,
        items: u64,
        diff: (u64, u64, u64),
    ) -> Seq {
        let (added, changed, removed) = diff;
        self.push(
            s,
            ListComplete {
                watch: watch.into(),
                resource_version: version.into(),
                items,
                added,
                changed,
                removed,
            },
        )
    }

    pub fn change(
        &mut self,
        s: f64,
        watch: &str,
        change: ChangeType,
        origin: Origin,
        name: &str,
        version: u64,
    ) -> Seq {
        self.change_as(s, watch, change, origin, name, version, (1, None))
    }

    /// With generation and subresource.
    #[allow(
        clippy::too_many_arguments,
        reason = "a test's shorthand for one record"
    )]
    pub fn change_as(
        &mut self,
        s: f64,
        watch: &str,
        change: ChangeType,
        origin: Origin,
        name: &str,
        version: u64,
        (generation, subresource): (u64, Option<&str>),
    ) -> Seq {
        self.push(
            s,
            Change {
                watch: watch.into(),
                stream: (origin == Origin::Live).then_some(StreamId(1)),
                change,
                origin,
                object: object(name, 1),
                resource_version: version.into(),
                generation: Some(generation),
                manager: Some("kubelet".into()),
                subresource: subresource.map(Into::into),
                bytes: Some(2_000),
                stray: None,
                owner: None,
            },
        )
    }

    /// A live change of an object with a controller, by kind and name.
    pub fn change_owned(
        &mut self,
        s: f64,
        watch: &str,
        change: ChangeType,
        name: &str,
        version: u64,
        owner: Option<(&str, &str)>,
    ) {
        self.change(s, watch, change, Origin::Live, name, version);
        if let Some(Event::Change(change)) = self.records.last_mut().map(|record| &mut record.event)
        {
            let uid = Uid::parse("owner");
            change.owner = owner.map(|(kind, name)| Owner::new(kind.into(), name.into(), uid));
        }
    }

    pub fn bookmark(&mut self, s: f64, watch: &str, stream: u64, version: u64) -> Seq {
        self.push(
            s,
            Bookmark {
                watch: watch.into(),
                stream: StreamId(stream),
                resource_version: version.into(),
                initial_events_end: None,
            },
        )
    }

    pub fn error(&mut self, s: f64, watch: &str, stream: u64, code: u64) -> Seq {
        let reason = Some("Expired".into());
        self.push(
            s,
            StreamError {
                watch: watch.into(),
                stream: StreamId(stream),
                code,
                reason,
                message: None,
            },
        )
    }

    pub fn finding(
        &mut self,
        s: f64,
        code: &str,
        severity: Severity,
        state: Standing,
        watch: &str,
        summary: &str,
    ) -> Seq {
        self.push(s, finding(code, severity, state, watch, summary))
    }

    pub fn verdict(
        &mut self,
        s: f64,
        watch: &str,
        name: &str,
        kind: Divergence,
        state: Standing,
    ) -> Seq {
        self.push(
            s,
            Verdict {
                watch: watch.into(),
                object: object(name, 1),
                kind,
                held: Some(ResourceVersion::from(100)),
                listed: Some(ResourceVersion::from(140)),
                state,
                certainty: Certainty::Likely,
            },
        )
    }

    /// Appends a watch that started, dialled, listed `names`, and opened stream 1.
    pub fn opened(&mut self, s: f64, watch: &str, ids: u64, names: &[&str], version: u64) {
        self.watch(s, watch);
        self.phase(s, watch, Phase::Listing, PhaseReason::FirstList, None);
        self.connection(s + 0.01, ids, "10.20.0.11:6443");
        self.request(s + 0.02, watch, ids * 100, ids, "list", "limit=500");
        let watch_name = WatchName::from(watch);
        self.push(
            s + 0.1,
            ListPage {
                watch: watch_name,
                request: RequestId(ids * 100),
                resource_version: version.into(),
                items: names.len() as u64,
                remaining: None,
                object: None,
                listed: None,
            },
        );
        for (place, name) in names.iter().enumerate() {
            self.change(
                s + 0.1,
                watch,
                ChangeType::Added,
                Origin::List,
                name,
                version - 50 + place as u64,
            );
        }
        self.list(
            s + 0.11,
            watch,
            version,
            names.len() as u64,
            (names.len() as u64, 0, 0),
        );
        self.phase(
            s + 0.11,
            watch,
            Phase::Connecting,
            PhaseReason::Listed,
            None,
        );
        self.request(
            s + 0.12,
            watch,
            ids * 100 + 1,
            ids,
            "watch",
            "watch=1&timeoutSeconds=431&allowWatchBookmarks=true",
        );
        self.open(s + 0.15, watch, ids * 10, ids * 100 + 1, version);
    }
}

/// Returns the rows and the scene of a stretch of time.
pub fn picture(store: &Store, lanes: &mut Lanes, view: &View, now: Time) -> (Rows, Scene) {
    let rows = lanes.rows(store, view, now);
    let scene = watchscope_timeline::draw::lanes(&picture_of(store, &rows, view, now));
    (rows, scene)
}

/// Returns a picture of all rows, in which nothing is selected or marked.
pub fn picture_of<'a>(store: &'a Store, rows: &'a Rows, view: &'a View, now: Time) -> Picture<'a> {
    Picture {
        height: rows.height.max(Px::whole(60)),
        ..Picture::new(store, rows, view, now)
    }
}
