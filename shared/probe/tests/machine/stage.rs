//! Scripted inputs for a probe, one per line, and its results as text.
//!
//! The script plays the driver and the server:
//! ```text
//! start | stop | +90s (time passes, the timer fires when due)
//! connected | connect failed unreachable WHY
//! 200 | 429 retry-after=5          a response head (a head with a list or stream body goes on with the lines below)
//! list 100 a@5 b@7 [continue=TOKEN]      a whole page and the end of its body
//! ADDED a@101 | MODIFIED | DELETED | BOOKMARK 105 [end] | ERROR 410 Expired [MESSAGE]
//! status 403 Forbidden [MESSAGE]   a Status as a whole body
//! line TEXT | raw TEXT             any line; any bytes without a line feed
//! end | end tcp-reset | closing | closed tcp-reset | request failed broken WHY
//! found v1 Pod | not found | credentials failed WHY
//! side …                           any of the above for the side watch
//! ```
//! An object is `NAME@VERSION` or `NAME@VERSION/UID`. Effects come out as `> …`, events in the JSON form.

use std::fmt::Write as _;

use watchscope_model::Event;
use watchscope_model::field::Headers;
use watchscope_model::json::to_line;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, RequestId, StreamId, Time};
use watchscope_probe::{
    Channel, Context, Effect, Failure, FailureKind, Ids, Input, Output, Probe, ProbeConfig, Served,
    WatchSpec,
};

/// Ids that rise from 1.
#[derive(Default)]
pub(crate) struct Counter {
    requests: u64,
    streams: u64,
}

impl Ids for Counter {
    fn request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }

    fn stream(&mut self) -> StreamId {
        self.streams += 1;
        StreamId(self.streams)
    }
}

/// A probe with its driver and server.
pub(crate) struct Stage {
    probe: Option<Probe>,
    ids: Counter,
    pub(crate) now: Time,
    timer: Option<Time>,
    connections: u64,
    main: (Option<ConnectionId>, Option<RequestId>),
    side: (Option<ConnectionId>, Option<RequestId>),
    output: Output,
    pub(crate) transcript: String,
}

/// A watch of a resource in all namespaces.
pub(crate) fn watching(group: &str, kind: &str) -> WatchSpec {
    WatchSpec {
        name: "*/things".into(),
        group: group.into(),
        resource: format!("{}s", kind.to_lowercase()).into(),
        served: Some(Served {
            version: "v1".into(),
            kind: kind.into(),
            is_aggregated: false,
        }),
        namespace: None,
        label_selector: None,
        field_selector: None,
        server: None,
    }
}

/// A watch of the pods of a namespace.
pub(crate) fn pods() -> WatchSpec {
    WatchSpec {
        name: "shop/pods".into(),
        namespace: Some("shop".into()),
        ..watching("", "Pod")
    }
}

/// An event and its body.
pub(crate) type Played = (Event, Option<Vec<u8>>);

/// The results for a list in these pieces, then a stream in these pieces, then the stream's end if given.
pub(crate) fn play(
    spec: WatchSpec,
    config: &ProbeConfig,
    list: &[&[u8]],
    stream: &[&[u8]],
    end: Option<Cause>,
) -> Vec<Played> {
    let mut probe = Probe::new(spec, config.clone(), 1);
    let (mut ids, mut output) = (Counter::default(), Output::default());
    let mut request = RequestId(0);
    let mut played = Vec::new();
    let mut inputs: Vec<Step<'_>> = vec![Step::Start, Step::Connected, Step::Head];
    inputs.extend(list.iter().map(|bytes| Step::Body(bytes)));
    inputs.extend([Step::End(Cause::End), Step::Head]);
    inputs.extend(stream.iter().map(|bytes| Step::Body(bytes)));
    inputs.extend(end.map(Step::End));
    for step in inputs {
        let mut context = Context {
            now: Time(0),
            ids: &mut ids,
        };
        probe = probe.step(step.input(request), &mut context, &mut output);
        for effect in &output.effects {
            if let Effect::Send { request: sent, .. } = effect {
                request = *sent;
            }
        }
        for emitted in &output.events {
            let body = emitted
                .body
                .clone()
                .map(|body| output.bodies[body].to_vec());
            played.push((emitted.event.clone(), body));
        }
        output.clear();
    }
    played
}

/// An input about the last request.
enum Step<'a> {
    Start,
    Connected,
    Head,
    Body(&'a [u8]),
    End(Cause),
}

impl<'a> Step<'a> {
    fn input(&self, request: RequestId) -> Input<'a> {
        match *self {
            Self::Start => Input::Start,
            Self::Connected => Input::Connected {
                channel: Channel::Main,
                connection: ConnectionId(1),
            },
            Self::Head => Input::Head {
                request,
                status: 200,
                headers: Headers::default(),
                http2_stream: None,
            },
            Self::Body(bytes) => Input::Body { request, bytes },
            Self::End(cause) => Input::BodyEnd {
                request,
                end: cause.into(),
            },
        }
    }
}

/// Plays a story with pods and the default settings.
pub(crate) fn story(script: &str) -> String {
    story_with(pods(), ProbeConfig::default(), script)
}

/// Plays a story.
pub(crate) fn story_with(spec: WatchSpec, config: ProbeConfig, script: &str) -> String {
    let mut stage = Stage::new(Probe::new(spec, config, 7));
    stage.play_all(script);
    stage.transcript
}

/// Plays a story that begins connected, with the first list requested.
pub(crate) fn listing(script: &str) -> String {
    begun(ProbeConfig::default(), "start\nconnected", script)
}

/// Plays a story that begins connected, with the first watch-list requested.
pub(crate) fn watch_listing(script: &str) -> String {
    let config = ProbeConfig {
        watch_list: true,
        ..ProbeConfig::default()
    };
    begun(config, "start\nconnected", script)
}

/// Plays a story that begins on a stream of 3 s, opened from a list at 100 with a@5 and b@7.
pub(crate) fn streaming(script: &str) -> String {
    streaming_with(ProbeConfig::default(), script)
}

/// Like [`streaming`], with other settings.
pub(crate) fn streaming_with(config: ProbeConfig, script: &str) -> String {
    let opening = "start\nconnected\n200\nlist 100 a@5 b@7\n200\n+3s";
    begun(config, opening, script)
}

/// Like [`streaming`], with pods that another apiserver serves.
pub(crate) fn streaming_aggregated(script: &str) -> String {
    let mut spec = pods();
    if let Some(served) = &mut spec.served {
        served.is_aggregated = true;
    }
    let opening = "start\nconnected\n200\nlist 100 a@5 b@7\n200\n+3s";
    begun_with(spec, ProbeConfig::default(), opening, script)
}

/// The transcript of a script after an opening.
fn begun(config: ProbeConfig, opening: &str, script: &str) -> String {
    begun_with(pods(), config, opening, script)
}

fn begun_with(spec: WatchSpec, config: ProbeConfig, opening: &str, script: &str) -> String {
    let mut stage = Stage::new(Probe::new(spec, config, 7));
    stage.play_all(opening);
    stage.transcript.clear();
    stage.play_all(script);
    stage.transcript
}

impl Stage {
    pub(crate) fn new(probe: Probe) -> Self {
        Self {
            probe: Some(probe),
            ids: Counter::default(),
            now: Time(0),
            timer: None,
            connections: 0,
            main: (None, None),
            side: (None, None),
            output: Output::default(),
            transcript: String::new(),
        }
    }

    /// Plays the lines of a script.
    pub(crate) fn play_all(&mut self, script: &str) {
        for line in script.lines().map(str::trim) {
            if !line.is_empty() {
                self.play(line);
            }
        }
    }

    /// Plays one line of a script and writes its results down.
    pub(crate) fn play(&mut self, line: &str) {
        let _ = writeln!(self.transcript, "{line}");
        if let Some(time) = line.strip_prefix('+') {
            self.pass(duration_us(time));
            return;
        }
        let (channel, line) = match line.strip_prefix("side ") {
            Some(rest) => (Channel::Side, rest),
            None => (Channel::Main, line),
        };
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let request = self.of(channel).1.unwrap_or(RequestId(0));
        match verb {
            "start" => self.step(Input::Start),
            "stop" => self.step(Input::Stop),
            "connected" => {
                self.connections += 1;
                let connection = ConnectionId(self.connections);
                self.of(channel).0 = Some(connection);
                self.step(Input::Connected {
                    channel,
                    connection,
                });
            }
            "later" => {
                let until = self.now.plus_micros(duration_us(rest));
                self.step(Input::SideLater(until));
            }
            "connect" => {
                let failure = failure(rest);
                self.step(Input::ConnectFailed { channel, failure });
            }
            "request" => {
                let failure = failure(rest);
                self.step(Input::RequestFailed { request, failure });
            }
            "list" => self.body(request, &list(rest), true),
            "status" => self.body(request, &status(rest), true),
            "ADDED" | "MODIFIED" | "DELETED" => {
                let object = pod(rest, true);
                let line = format!("{{\"type\":\"{verb}\",\"object\":{object}}}\n");
                self.body(request, &line, false);
            }
            "BOOKMARK" => {
                let (version, end) = rest.split_once(' ').unwrap_or((rest, ""));
                let annotations = match end {
                    "end" => r#","annotations":{"k8s.io/initial-events-end":"true"}"#,
                    _ => "",
                };
                let line = format!(
                    "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{version}\"{annotations}}}}}}}\n"
                );
                self.body(request, &line, false);
            }
            "ERROR" => {
                let line = format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", status(rest));
                self.body(request, &line, false);
            }
            "line" => self.body(request, &format!("{rest}\n"), false),
            "raw" => self.body(request, rest, false),
            "end" => {
                let cause = cause(rest);
                self.step(Input::BodyEnd {
                    request,
                    end: cause.into(),
                });
            }
            "closed" => {
                let connection = self.of(channel).0.unwrap();
                let cause = cause(rest);
                self.step(Input::Closed { connection, cause });
            }
            "closing" => {
                let connection = self.of(channel).0.unwrap();
                self.step(Input::Closing { connection });
            }
            "found" => {
                let (version, kind) = rest.split_once(' ').unwrap();
                self.step(Input::Discovered(Some(Served {
                    version: version.into(),
                    kind: kind.into(),
                    is_aggregated: false,
                })));
            }
            "not" => self.step(Input::Discovered(None)),
            "credentials" => {
                let sentence = rest.strip_prefix("failed ").unwrap().to_owned();
                self.step(Input::CredentialsFailed { sentence });
            }
            code => {
                let status = code.parse().unwrap_or_else(|_| panic!("what is {line:?}?"));
                let headers = rest
                    .split_whitespace()
                    .filter_map(|pair| pair.split_once('='))
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect();
                self.step(Input::Head {
                    request,
                    status,
                    headers: Headers(headers),
                    http2_stream: None,
                });
            }
        }
    }

    /// Lets time pass; the timer fires when it is due.
    pub(crate) fn pass(&mut self, micros: i64) {
        let until = self.now.plus_micros(micros);
        while let Some(due) = self.timer.filter(|&due| due <= until) {
            self.now = self.now.max(due);
            self.timer = None;
            self.step(Input::Timer);
        }
        self.now = until;
    }

    fn of(&mut self, channel: Channel) -> &mut (Option<ConnectionId>, Option<RequestId>) {
        match channel {
            Channel::Main => &mut self.main,
            Channel::Side => &mut self.side,
        }
    }

    fn body(&mut self, request: RequestId, text: &str, whole: bool) {
        let bytes = text.as_bytes();
        self.step(Input::Body { request, bytes });
        if whole {
            let cause = Cause::End;
            self.step(Input::BodyEnd {
                request,
                end: cause.into(),
            });
        }
    }

    /// Gives the probe one input.
    pub(crate) fn step(&mut self, input: Input<'_>) {
        let mut context = Context {
            now: self.now,
            ids: &mut self.ids,
        };
        let probe = self.probe.take().unwrap();
        self.probe = Some(probe.step(input, &mut context, &mut self.output));
        for effect in std::mem::take(&mut self.output.effects) {
            self.carry_out(effect);
        }
        for emitted in std::mem::take(&mut self.output.events) {
            // A story has a single watch, so only the side watch's name is shown.
            let line = to_line(&emitted.event).replace("\"watch\":\"shop/pods\",", "");
            let _ = writeln!(self.transcript, "  {line}");
        }
        self.output.clear();
    }

    fn carry_out(&mut self, effect: Effect) {
        let text = match &effect {
            Effect::Connect { channel } => format!("connect {channel:?}").to_lowercase(),
            Effect::Send {
                connection,
                request,
                ..
            } => {
                let channel = if self.main.0 == Some(*connection) {
                    Channel::Main
                } else {
                    Channel::Side
                };
                assert_eq!(
                    self.of(channel).0,
                    Some(*connection),
                    "sent on an open connection"
                );
                self.of(channel).1 = Some(*request);
                format!("send request {request} on {connection}")
            }
            Effect::Close {
                channel,
                connection,
            } => {
                let place = self.of(*channel);
                if place.0 == *connection {
                    *place = (None, place.1);
                }
                format!("close {channel:?}").to_lowercase()
            }
            Effect::SetTimer(at) => {
                self.timer = Some(*at);
                return;
            }
            Effect::ReloadCredentials => "reload credentials".to_owned(),
            Effect::Discover => "discover".to_owned(),
        };
        let _ = writeln!(self.transcript, "  > {text}");
    }
}

fn duration_us(text: &str) -> i64 {
    if let Some(ms) = text.strip_suffix("ms") {
        ms.parse::<i64>().unwrap() * 1_000
    } else {
        text.strip_suffix('s').unwrap().parse::<i64>().unwrap() * 1_000_000
    }
}

fn cause(text: &str) -> Cause {
    let word = if text.is_empty() { "end" } else { text };
    *Cause::ALL
        .iter()
        .find(|cause| cause.word() == word)
        .unwrap()
}

fn failure(text: &str) -> Failure {
    let text = text.strip_prefix("failed ").unwrap();
    let (kind, sentence) = text.split_once(' ').unwrap();
    Failure {
        kind: match kind {
            "unreachable" => FailureKind::Unreachable,
            "tls" => FailureKind::Tls,
            "timeout" => FailureKind::Timeout,
            _ => FailureKind::Broken,
        },
        sentence: sentence.to_owned(),
    }
}

/// `NAME@VERSION[/UID]` as a pod in JSON.
pub(crate) fn pod(text: &str, with_kind: bool) -> String {
    let (name, version) = text.split_once('@').unwrap();
    let (version, uid) = match version.split_once('/') {
        Some((version, uid)) => (version, uid.to_owned()),
        None => (version, format!("u-{name}")),
    };
    let kind = if with_kind {
        r#""kind":"Pod","apiVersion":"v1","#
    } else {
        ""
    };
    format!(
        r#"{{{kind}"metadata":{{"name":"{name}","namespace":"shop","uid":"{uid}","resourceVersion":"{version}"}}}}"#
    )
}

fn list(text: &str) -> String {
    let mut words = text.split_whitespace();
    let version = words.next().unwrap();
    let mut token = String::new();
    let mut items = Vec::new();
    for word in words {
        match word.strip_prefix("continue=") {
            Some(text) => token = format!(r#","continue":"{text}","remainingItemCount":1"#),
            None => items.push(pod(word, false)),
        }
    }
    format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}"{token}}},"items":[{}]}}"#,
        items.join(",")
    )
}

fn status(text: &str) -> String {
    let mut words = text.splitn(3, ' ');
    let code = words.next().unwrap();
    let reason = words.next().unwrap_or("");
    let message = words.next().unwrap_or("");
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","code":{code}}}"#
    )
}
