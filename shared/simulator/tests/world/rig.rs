//! A driver of the world for tests: it sends requests, lets time pass, and keeps the deliveries.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::test_runner::Config as ProptestConfig;
use serde_json::Value;
use watchscope_simulator::{
    Arrival, Config, ConnectionId, Cut, Flow, Head, Pause, Request, RequestId, Response, Time,
    World,
};

/// The deliveries for one request.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) head: Option<Head>,
    /// Chunks of the body, with the times at which they came.
    pub(crate) chunks: Vec<(Time, Vec<u8>)>,
    pub(crate) ended_at: Option<Time>,
    pub(crate) reset: Option<u32>,
}

/// A world, and all its deliveries.
pub(crate) struct Rig {
    pub(crate) world: World,
    pub(crate) replies: BTreeMap<RequestId, Reply>,
    pub(crate) connected: BTreeMap<ConnectionId, Time>,
    pub(crate) refused: Vec<ConnectionId>,
    pub(crate) going_away: Vec<ConnectionId>,
    pub(crate) closed: BTreeMap<ConnectionId, (Time, Cut)>,
}

impl Rig {
    pub(crate) fn new(config: Config) -> Rig {
        Rig {
            world: World::new(config, 7),
            replies: BTreeMap::new(),
            connected: BTreeMap::new(),
            refused: Vec::new(),
            going_away: Vec::new(),
            closed: BTreeMap::new(),
        }
    }

    /// A cluster where nothing happens by itself.
    pub(crate) fn quiet() -> Rig {
        let mut config = Config::empty();
        config.etcd.keep_journal = true;
        Rig::new(config)
    }

    pub(crate) fn connect(&mut self) -> ConnectionId {
        self.world.connect(Flow::Immediate)
    }

    pub(crate) fn send(&mut self, connection: ConnectionId, request: Request) -> RequestId {
        self.world.send(connection, request)
    }

    /// Sends a GET on its own connection.
    pub(crate) fn open(&mut self, target: &str) -> RequestId {
        let connection = self.connect();
        self.send(connection, Request::get(target))
    }

    pub(crate) fn run(&mut self, span: Duration) {
        let until = self.world.now() + span;
        self.run_until(until);
    }

    pub(crate) fn run_secs(&mut self, secs: u64) {
        self.run(Duration::from_secs(secs));
    }

    pub(crate) fn run_until(&mut self, until: Time) {
        while self.world.run_until(until) == Pause::Deliveries {
            self.take();
        }
    }

    /// Takes the deliveries that wait.
    pub(crate) fn take(&mut self) {
        while let Some(delivery) = self.world.next_delivery() {
            let at = delivery.at;
            match delivery.arrival {
                Arrival::Connected => {
                    self.connected.insert(delivery.connection, at);
                }
                Arrival::Refused => self.refused.push(delivery.connection),
                Arrival::Head { request, head } => {
                    self.replies.entry(request).or_default().head = Some(head)
                }
                Arrival::Chunk { request, bytes } => {
                    self.replies
                        .entry(request)
                        .or_default()
                        .chunks
                        .push((at, bytes.to_vec()));
                }
                Arrival::End { request } => {
                    self.replies.entry(request).or_default().ended_at = Some(at)
                }
                Arrival::Reset { request, code } => {
                    self.replies.entry(request).or_default().reset = Some(code)
                }
                Arrival::GoAway => self.going_away.push(delivery.connection),
                Arrival::Closed(cut) => {
                    self.closed.insert(delivery.connection, (at, cut));
                }
            }
        }
    }

    /// Sends a request and waits for its whole answer.
    pub(crate) fn ask(&mut self, request: Request) -> Response {
        let connection = self.connect();
        let id = self.send(connection, request);
        let until = self.world.now() + Duration::from_secs(40);
        while self.world.run_until(until) == Pause::Deliveries {
            self.take();
            if self.replies.get(&id).is_some_and(|r| r.ended_at.is_some()) {
                break;
            }
        }
        let reply = self.replies.remove(&id).expect("the request was answered");
        assert!(reply.ended_at.is_some(), "the answer is whole");
        Response {
            head: reply.head.clone().expect("an answer has a head"),
            body: reply.body().into(),
        }
    }

    pub(crate) fn get(&mut self, target: &str) -> (u16, Value) {
        let response = self.ask(Request::get(target));
        (response.head.status, response.json())
    }

    /// Creates an object from inside the world, past network and faults.
    pub(crate) fn create(&mut self, collection: &str, body: &Value) -> Value {
        let response = self
            .world
            .call(&Request::new("POST", collection).json(body));
        assert_eq!(response.head.status, 201, "{}", response.json());
        response.json()
    }

    pub(crate) fn config_map(&mut self, name: &str) -> Value {
        let body = serde_json::json!({"metadata": {"name": name}, "data": {"n": "0"}});
        self.create("/api/v1/namespaces/default/configmaps", &body)
    }

    pub(crate) fn write(&mut self, name: &str, n: u64) -> Value {
        let patch = serde_json::json!({"data": {"n": n.to_string()}});
        self.merge(
            &format!("/api/v1/namespaces/default/configmaps/{name}"),
            &patch,
        )
    }

    pub(crate) fn merge(&mut self, target: &str, patch: &Value) -> Value {
        let mut request = Request::new("PATCH", target);
        request.body = patch.to_string().into();
        let request = request.header("content-type", "application/merge-patch+json");
        let response = self.world.call(&request);
        assert_eq!(response.head.status, 200, "{}", response.json());
        response.json()
    }

    pub(crate) fn delete(&mut self, target: &str) -> Value {
        let response = self.world.call(&Request::new("DELETE", target));
        assert_eq!(response.head.status, 200, "{}", response.json());
        response.json()
    }

    pub(crate) fn reply(&self, id: RequestId) -> &Reply {
        self.replies.get(&id).expect("the request was answered")
    }

    /// The frames of a watch as short lines: type, name, resourceVersion; an error as its code and message.
    pub(crate) fn lines(&self, id: RequestId) -> Vec<String> {
        self.replies.get(&id).map_or_else(Vec::new, Reply::lines)
    }
}

/// The configuration of a property with `usual` random cases, or as many as `PROPTEST_CASES` says.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig {
            cases: usual,
            ..default
        },
    }
}

/// An object's resourceVersion.
pub(crate) fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap();
    text.parse().unwrap()
}

impl Reply {
    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks
            .iter()
            .flat_map(|(_, bytes)| bytes.clone())
            .collect()
    }

    pub(crate) fn status(&self) -> u16 {
        self.head.as_ref().map_or(0, |head| head.status)
    }

    /// The whole frames of a watch, with the times at which they came.
    pub(crate) fn frames(&self) -> Vec<(Time, Value)> {
        self.chunks
            .iter()
            .filter_map(|(at, bytes)| Some((*at, serde_json::from_slice(bytes).ok()?)))
            .collect()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |frame: &Value| {
            let (kind, object) = (frame["type"].as_str().unwrap_or("?"), &frame["object"]);
            let version = object["metadata"]["resourceVersion"]
                .as_str()
                .unwrap_or("-");
            match kind {
                "ERROR" => format!(
                    "ERROR {} {}",
                    object["code"],
                    object["message"].as_str().unwrap_or("")
                ),
                "BOOKMARK"
                    if object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true" =>
                {
                    format!("BOOKMARK {version} end of initial events")
                }
                "BOOKMARK" => format!("BOOKMARK {version}"),
                _ => format!(
                    "{kind} {} {version}",
                    object["metadata"]["name"].as_str().unwrap_or("?")
                ),
            }
        };
        self.frames().iter().map(|(_, frame)| line(frame)).collect()
    }
}
