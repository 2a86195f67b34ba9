//! An honest but unreliable server, the driver of a probe that watches it, and the log that they fill.
//!
//! The server's history is the truth. It answers lists in pages, and watches from any resourceVersion that it still
//! has. Everything else fails at random: dials fail, requests are refused, bodies are cut at any byte, history
//! expires. Streams end, fall silent or report errors.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use watchscope_model::event::Event;
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::{Cause, Phase};
use watchscope_model::{ConnectionId, Record, RequestId, Seq, State, Time};
use watchscope_probe::{
    Channel, Context, Effect, Failure, FailureKind, Get, Input, Output, Probe, ProbeConfig,
};

use crate::stage::{Counter, pods};

/// The name of the watch.
pub(crate) const WATCH: &str = "shop/pods";

/// One write to the truth.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Write {
    pub(crate) version: u64,
    pub(crate) change: &'static str,
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl Write {
    fn object(&self) -> String {
        object(&self.name, &self.uid, self.version)
    }
}

fn object(name: &str, uid: &str, version: u64) -> String {
    format!(
        r#"{{"kind":"Pod","metadata":{{"name":"{name}","namespace":"shop","uid":"{uid}","resourceVersion":"{version}"}}}}"#
    )
}

/// The server.
#[derive(Default)]
pub(crate) struct Server {
    version: u64,
    pub(crate) objects: BTreeMap<String, (String, u64)>,
    pub(crate) history: Vec<Write>,
    /// Watches from below this version get 410.
    oldest: u64,
    /// Open lists by token: the remaining items, and the list's version.
    lists: BTreeMap<String, (Vec<String>, u64)>,
}

impl Server {
    fn write(&mut self, rng: &mut ChaCha8Rng) {
        self.version += 1 + below(rng, 5);
        let name = format!("pod-{}", below(rng, 6));
        let version = self.version;
        let (change, uid) = match self.objects.get(&name) {
            None => ("ADDED", format!("u-{version}")),
            Some((uid, _)) if below(rng, 3) > 0 => ("MODIFIED", uid.clone()),
            Some((uid, _)) => ("DELETED", uid.clone()),
        };
        if change == "DELETED" {
            self.objects.remove(&name);
        } else {
            self.objects.insert(name.clone(), (uid.clone(), version));
        }
        self.history.push(Write {
            version,
            change,
            name,
            uid,
        });
    }

    /// The objects at a version.
    fn objects_at(&self, version: u64) -> BTreeMap<String, (String, u64)> {
        let mut objects = BTreeMap::new();
        for write in self.history.iter().filter(|write| write.version <= version) {
            if write.change == "DELETED" {
                objects.remove(&write.name);
            } else {
                objects.insert(write.name.clone(), (write.uid.clone(), write.version));
            }
        }
        objects
    }

    /// A page of the state at a version.
    fn page(&mut self, query: &str, at: u64) -> Result<String, u16> {
        let (mut items, version) = match parameter(query, "continue") {
            Some(token) => self.lists.remove(token).ok_or(410_u16)?,
            None => {
                let objects = self.objects_at(at);
                let items = objects
                    .iter()
                    .map(|(name, (uid, version))| object(name, uid, *version))
                    .collect();
                (items, at)
            }
        };
        let limit = parameter(query, "limit").map_or(500, |text| text.parse().unwrap());
        let rest = if limit > 0 && items.len() > limit {
            items.split_off(limit)
        } else {
            Vec::new()
        };
        let mut token = String::new();
        if !rest.is_empty() {
            let name = format!("t{version}-{}-{}", self.version, rest.len());
            token = format!(r#","continue":"{name}""#);
            self.lists.insert(name, (rest, version));
        }
        Ok(format!(
            r#"{{"kind":"PodList","metadata":{{"resourceVersion":"{version}"{token}}},"items":[{}]}}"#,
            items.join(",")
        ))
    }

    /// The lines that a watch from `version` delivers by now.
    fn lines_after(&self, version: u64) -> String {
        self.history
            .iter()
            .filter(|write| write.version > version)
            .map(|write| {
                format!(
                    "{{\"type\":\"{}\",\"object\":{}}}\n",
                    write.change,
                    write.object()
                )
            })
            .collect()
    }
}

fn bookmark(version: u64, ends_initial: bool) -> String {
    let annotations = if ends_initial {
        r#","annotations":{"k8s.io/initial-events-end":"true"}"#
    } else {
        ""
    };
    format!(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"metadata\":{{\"resourceVersion\":\"{version}\"{annotations}}}}}}}\n"
    )
}

fn error(code: u16, reason: &str) -> String {
    format!(
        "{{\"type\":\"ERROR\",\"object\":{{\"kind\":\"Status\",\"code\":{code},\"reason\":\"{reason}\"}}}}\n"
    )
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn below(rng: &mut ChaCha8Rng, limit: u64) -> u64 {
    rng.next_u64() % limit
}

/// The activity on the main connection.
enum Wire {
    Nothing,
    Dialling,
    Asked(RequestId, Get),
    /// A body with its remaining bytes.
    Body(RequestId, Vec<u8>),
    /// A stream: the version up to which it was sent, its undelivered bytes, and whether it has gone deaf.
    Stream {
        request: RequestId,
        version: u64,
        bytes: Vec<u8>,
        deaf: bool,
    },
}

/// The driver, the server, and the log that they fill.
pub(crate) struct World {
    rng: ChaCha8Rng,
    pub(crate) probe: Option<Probe>,
    ids: Counter,
    pub(crate) server: Server,
    wire: Wire,
    main: Option<ConnectionId>,
    side: Option<ConnectionId>,
    side_asked: Option<(RequestId, Get)>,
    side_dialling: bool,
    connections: u64,
    now: Time,
    timer: Option<Time>,
    output: Output,
    pub(crate) log: Vec<Event>,
    pub(crate) fold: State,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let config = ProbeConfig {
            watch_list: below(&mut rng, 3) == 0,
            page_size: 1 + below(&mut rng, 8) as u32,
            ..ProbeConfig::default()
        };
        let mut world = Self {
            probe: Some(Probe::new(pods(), config, seed)),
            rng,
            ids: Counter::default(),
            server: Server::default(),
            wire: Wire::Nothing,
            main: None,
            side: None,
            side_asked: None,
            side_dialling: false,
            connections: 0,
            now: Time(0),
            timer: None,
            output: Output::default(),
            log: Vec::new(),
            fold: State::default(),
        };
        for _ in 0..5 {
            world.server.write(&mut world.rng);
        }
        world.step(Input::Start);
        world
    }

    fn chance(&mut self, one_in: u64) -> bool {
        below(&mut self.rng, one_in) == 0
    }

    fn step(&mut self, input: Input<'_>) {
        let probe = self.probe.take().unwrap();
        let before = probe.progress().cloned();
        let mut context = Context {
            now: self.now,
            ids: &mut self.ids,
        };
        let probe = probe.step(input, &mut context, &mut self.output);
        if let Some(before) = before {
            assert!(
                !before.is_after(probe.progress().unwrap()),
                "progress went down"
            );
        }
        self.probe = Some(probe);
        let effects: Vec<Effect> = self.output.effects.drain(..).collect();
        for emitted in self.output.events.drain(..) {
            let mut record = Record {
                seq: Seq(self.log.len() as u64 + 1),
                at: self.now,
                event: emitted.event,
            };
            self.fold.complete(&mut record.event);
            self.fold.apply(&record);
            self.log.push(record.event);
        }
        self.output.clear();
        if let (Some(probe), Some(watch)) = (&self.probe, self.fold.watches.get(&WATCH.into())) {
            let (own, folded) = (probe.progress(), watch.progress.as_ref());
            assert_eq!(own, folded, "the log has the probe's progress");
        }
        for effect in effects {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Connect {
                channel: Channel::Main,
            } => {
                assert!(self.main.is_none(), "one main connection at a time");
                self.wire = Wire::Dialling;
            }
            Effect::Connect {
                channel: Channel::Side,
            } => self.side_dialling = true,
            Effect::Send {
                connection,
                request,
                get,
            } => {
                if self.main == Some(connection) {
                    assert!(
                        matches!(self.wire, Wire::Nothing),
                        "one request at a time on a connection"
                    );
                    self.wire = Wire::Asked(request, get);
                } else {
                    assert_eq!(self.side, Some(connection), "sent on an open connection");
                    self.side_asked = Some((request, get));
                }
            }
            Effect::Close {
                channel: Channel::Main,
                ..
            } => {
                self.main = None;
                self.wire = Wire::Nothing;
            }
            Effect::Close {
                channel: Channel::Side,
                ..
            } => {
                self.side = None;
                self.side_asked = None;
                self.side_dialling = false;
            }
            Effect::SetTimer(at) => self.timer = Some(at),
            Effect::ReloadCredentials | Effect::Discover => {}
        }
    }

    fn pass(&mut self, millis: u64) {
        let until = self.now.plus_millis(millis);
        // A driver can only handle a limited number of timers. This bound catches a probe that always asks for a timer
        // in the past.
        for _ in 0..1_000 {
            let Some(due) = self.timer.filter(|&due| due <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(due);
            self.timer = None;
            self.step(Input::Timer);
        }
        panic!("the timer fires without end");
    }

    fn connect(&mut self, channel: Channel) {
        self.connections += 1;
        let connection = ConnectionId(self.connections);
        match channel {
            Channel::Main => {
                self.main = Some(connection);
                self.wire = Wire::Nothing;
            }
            Channel::Side => {
                self.side = Some(connection);
                self.side_dialling = false;
            }
        }
        self.step(Input::Connected {
            channel,
            connection,
        });
    }

    fn head(&mut self, request: RequestId, status: u16) {
        self.step(Input::Head {
            request,
            status,
            headers: Headers::default(),
            http2_stream: None,
        });
    }

    /// Ends the response; with trouble, the connection closes too.
    fn over(&mut self, request: RequestId, cause: Cause) {
        self.wire = Wire::Nothing;
        if cause != Cause::End {
            let connection = self.main.take().unwrap();
            if self.chance(2) {
                self.step(Input::Closed { connection, cause });
                self.step(Input::BodyEnd {
                    request,
                    end: cause.into(),
                });
            } else {
                self.step(Input::BodyEnd {
                    request,
                    end: cause.into(),
                });
                self.step(Input::Closed { connection, cause });
            }
        } else {
            self.step(Input::BodyEnd {
                request,
                end: cause.into(),
            });
        }
    }

    fn cause(&mut self) -> Cause {
        [Cause::End, Cause::Eof, Cause::TcpReset, Cause::Tls][below(&mut self.rng, 4) as usize]
    }

    /// Moves the wire one step; with `trouble` it may fail.
    fn wire_moves(&mut self, trouble: bool) {
        match std::mem::replace(&mut self.wire, Wire::Nothing) {
            Wire::Nothing => {}
            Wire::Dialling => {
                if trouble && self.chance(6) {
                    let failure = Failure {
                        kind: FailureKind::Unreachable,
                        sentence: "refused".into(),
                    };
                    let channel = Channel::Main;
                    self.step(Input::ConnectFailed { channel, failure });
                } else {
                    self.connect(Channel::Main);
                }
            }
            Wire::Asked(request, get) => self.answer(request, &get, trouble),
            Wire::Body(request, mut bytes) => {
                if trouble && self.chance(12) {
                    let cut = below(&mut self.rng, bytes.len() as u64 + 1) as usize;
                    self.step(Input::Body {
                        request,
                        bytes: &bytes[..cut],
                    });
                    self.over(request, Cause::TcpReset);
                    return;
                }
                let piece = (1 + below(&mut self.rng, 400) as usize).min(bytes.len());
                let rest = bytes.split_off(piece);
                self.wire = Wire::Body(request, rest);
                self.step(Input::Body {
                    request,
                    bytes: &bytes,
                });
                if matches!(&self.wire, Wire::Body(_, rest) if rest.is_empty()) {
                    self.over(request, Cause::End);
                }
            }
            Wire::Stream {
                request,
                version,
                bytes,
                deaf,
            } => self.stream_moves(request, version, bytes, deaf, trouble),
        }
    }

    fn stream_moves(
        &mut self,
        request: RequestId,
        version: u64,
        mut bytes: Vec<u8>,
        mut deaf: bool,
        trouble: bool,
    ) {
        bytes.extend_from_slice(self.server.lines_after(version).as_bytes());
        let version = version.max(self.server.version);
        if trouble {
            match below(&mut self.rng, 40) {
                0 => {
                    let cut = below(&mut self.rng, bytes.len() as u64 + 1) as usize;
                    self.wire = Wire::Stream {
                        request,
                        version,
                        bytes: Vec::new(),
                        deaf,
                    };
                    // A deaf stream has lost the bytes sent on it, so no later bytes may be delivered.
                    if !deaf {
                        self.step(Input::Body {
                            request,
                            bytes: &bytes[..cut],
                        });
                    }
                    if matches!(self.wire, Wire::Stream { .. }) {
                        let cause = self.cause();
                        self.over(request, cause);
                    }
                    return;
                }
                1 => bytes.extend_from_slice(error(410, "Expired").as_bytes()),
                2 => bytes.extend_from_slice(error(500, "InternalError").as_bytes()),
                3 => bytes.extend_from_slice(error(429, "TooManyRequests").as_bytes()),
                4 => bytes.extend_from_slice(b"<html>\n"),
                5 => deaf = true,
                6 if bytes.is_empty() && !deaf => {
                    return self.over(request, Cause::End);
                }
                _ => {}
            }
        }
        if self.chance(3) {
            bytes.extend_from_slice(bookmark(version, false).as_bytes());
        }
        let piece = below(&mut self.rng, 600) as usize;
        let (now, rest) = bytes.split_at(if trouble {
            piece.min(bytes.len())
        } else {
            bytes.len()
        });
        self.wire = Wire::Stream {
            request,
            version,
            bytes: rest.to_vec(),
            deaf,
        };
        if !deaf && !now.is_empty() {
            self.step(Input::Body {
                request,
                bytes: now,
            });
        }
    }

    fn answer(&mut self, request: RequestId, get: &Get, trouble: bool) {
        if trouble {
            match below(&mut self.rng, 24) {
                0 => {
                    let connection = self.main.take().unwrap();
                    let cause = Cause::TcpReset;
                    return self.step(Input::Closed { connection, cause });
                }
                1 => {
                    self.main = None;
                    let failure = Failure {
                        kind: FailureKind::Broken,
                        sentence: "reset".into(),
                    };
                    return self.step(Input::RequestFailed { request, failure });
                }
                2..=5 => {
                    let status =
                        [401, 403, 404, 410, 429, 500, 503, 504][below(&mut self.rng, 8) as usize];
                    self.head(request, status);
                    self.wire = Wire::Body(request, b"no".to_vec());
                    return;
                }
                _ => {}
            }
        }
        let version: Option<u64> =
            parameter(&get.query, "resourceVersion").map(|text| text.parse().unwrap());
        // With trouble another server may answer whose cache is behind, but never behind the requested version.
        // Without a resourceVersion the answer is the most recent state.
        let floor = version.filter(|_| get.query.contains("NotOlderThan"));
        let at = match floor {
            Some(floor) if trouble && below(&mut self.rng, 4) == 0 => {
                let span = self.server.version.saturating_sub(floor) + 1;
                self.server.version - below(&mut self.rng, span)
            }
            _ => self.server.version,
        };
        if !get.query.starts_with("watch=") {
            match self.server.page(&get.query, at) {
                Ok(page) => {
                    self.wire = Wire::Body(request, page.into_bytes());
                    self.head(request, 200);
                }
                Err(status) => {
                    self.wire = Wire::Body(request, b"gone".to_vec());
                    self.head(request, status);
                }
            }
            return;
        }
        let mut bytes = Vec::new();
        let from = if get.query.contains("sendInitialEvents") {
            for (name, (uid, version)) in &self.server.objects_at(at) {
                let object = object(name, uid, *version);
                bytes.extend_from_slice(
                    format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n").as_bytes(),
                );
            }
            bytes.extend_from_slice(bookmark(at, true).as_bytes());
            at
        } else {
            let from = version.expect("a watch has a resourceVersion");
            if from < self.server.oldest {
                bytes.extend_from_slice(error(410, "Expired").as_bytes());
            }
            from
        };
        self.wire = Wire::Stream {
            request,
            version: from,
            bytes,
            deaf: false,
        };
        self.head(request, 200);
    }

    /// The side watch always gets an honest answer; the answer may be that its history is gone.
    fn side_moves(&mut self) {
        if self.side_dialling && self.chance(4) {
            self.side_dialling = false;
            let until = self.now.plus_millis(60_000);
            self.step(Input::SideLater(until));
        } else if self.side_dialling {
            self.connect(Channel::Side);
        } else if let Some((request, get)) = self.side_asked.take() {
            let from = parameter(&get.query, "resourceVersion")
                .unwrap()
                .parse()
                .unwrap();
            let text = if from < self.server.oldest {
                error(410, "Expired")
            } else {
                self.server.lines_after(from) + &bookmark(self.server.version, false)
            };
            self.head(request, 200);
            self.step(Input::Body {
                request,
                bytes: text.as_bytes(),
            });
            self.pass(1_000);
            if self.side.is_some() {
                let cause = Cause::End;
                self.step(Input::BodyEnd {
                    request,
                    end: cause.into(),
                });
            }
        }
    }

    pub(crate) fn trouble(&mut self) {
        match below(&mut self.rng, 10) {
            0..=2 => self.server.write(&mut self.rng),
            3 => {
                let millis = below(&mut self.rng, 3_000);
                self.pass(millis);
            }
            4 if self.chance(6) => self.pass(95_000),
            5 if self.chance(8) => {
                self.server.oldest = self.server.version;
                self.server.lists.clear();
            }
            6 => self.side_moves(),
            _ => self.wire_moves(true),
        }
    }

    /// Stops all trouble, until the probe streams and has received everything.
    pub(crate) fn calm(&mut self) {
        self.server.oldest = 0;
        // This write is lost on a stream that has gone deaf.
        self.server.write(&mut self.rng);
        let mut rounds = 0;
        for _ in 0..2_000 {
            self.wire_moves(false);
            self.side_moves();
            self.pass(700);
            let is_current = matches!(&self.wire, Wire::Stream { bytes, version, deaf: false, .. }
                if bytes.is_empty() && *version == self.server.version);
            let streams = self.fold.watches[&WATCH.into()]
                .phase
                .as_ref()
                .is_some_and(|phase| phase.phase == Phase::Streaming);
            // A stream with a new ERROR stays for 1 s.
            rounds = if is_current && streams { rounds + 1 } else { 0 };
            if rounds == 4 {
                return;
            }
        }
        panic!("the probe did not come back");
    }
}
