//! A world with clients in it, and their records.

use std::time::Duration;

use serde_json::{Value, json};
use watchscope_simulator::{
    ClientEvent, ClientId, ClientRecord, ClientReport, Comparison, Config, Cut, Fault, Pause,
    Program, Request, Scope, Target, Time, World,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The configmaps of the default namespace.
pub(crate) fn maps() -> Scope {
    Scope::new("v1", "configmaps", "ConfigMap").in_namespace("default")
}

/// The world, and the records that its clients reported.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) records: Vec<ClientRecord>,
    began: Time,
}

impl Stage {
    pub(crate) fn new(config: Config, seed: u64) -> Stage {
        let mut world = World::new(config, seed);
        let began = world.now() + Duration::from_secs(1);
        world.run_until(began);
        Stage {
            world,
            records: Vec::new(),
            began,
        }
    }

    /// A cluster where nothing happens by itself.
    pub(crate) fn quiet() -> Stage {
        Stage::new(Config::empty(), 7)
    }

    /// Starts a client called `client` whose scope is the configmaps of the default namespace.
    pub(crate) fn start(&mut self, program: &Program) -> ClientId {
        self.world.start_client("client", program, &maps())
    }

    pub(crate) fn run(&mut self, span: Duration) {
        let until = self.world.now() + span;
        assert_eq!(
            self.world.run_until(until),
            Pause::Reached,
            "all deliveries are the clients'"
        );
        self.records
            .extend(std::iter::from_fn(|| self.world.next_client_record()));
    }

    pub(crate) fn run_secs(&mut self, secs: u64) {
        self.run(Duration::from_secs(secs));
    }

    pub(crate) fn create(&mut self, name: &str) {
        let body = json!({"metadata": {"name": name}, "data": {"n": "0"}});
        self.call(Request::new("POST", MAPS).json(&body), 201);
    }

    pub(crate) fn write(&mut self, name: &str, n: u64) {
        let patch = json!({"data": {"n": n.to_string()}}).to_string();
        let mut request = Request::new("PATCH", &format!("{MAPS}/{name}"))
            .header("content-type", "application/merge-patch+json");
        request.body = patch.into();
        self.call(request, 200);
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.call(Request::new("DELETE", &format!("{MAPS}/{name}")), 200);
    }

    pub(crate) fn call(&mut self, request: Request, status: u16) -> Value {
        let response = self.world.call(&request);
        assert_eq!(response.head.status, status, "{}", response.json());
        response.json()
    }

    /// Ends all watches in order.
    pub(crate) fn close_streams(&mut self) {
        self.world.inject(Fault::CloseStreams {
            target: Target::All,
        });
    }

    /// What a client does and counts now.
    pub(crate) fn report(&self, client: ClientId) -> ClientReport {
        self.world.client_report(client).unwrap()
    }

    /// How the client's only belief differs from the truth.
    pub(crate) fn compare(&self, client: ClientId) -> Comparison {
        let mut comparisons = self.world.compare_client(client);
        assert_eq!(comparisons.len(), 1);
        comparisons.remove(0)
    }

    /// Resets all connections.
    pub(crate) fn reset_connections(&mut self) {
        self.world.inject(Fault::Cut {
            target: Target::All,
            cut: Cut::Reset,
        });
    }

    /// Stalls the client's open connections silently; new ones work.
    pub(crate) fn stall_open_connections(&mut self, client: ClientId) {
        for connection in self.world.client_connections(client) {
            self.world.inject(Fault::Stall {
                target: Target::Connection(connection),
            });
        }
    }

    /// Takes the requests since the last call, as `list …` and `watch …`, without the timeouts of watches.
    pub(crate) fn asked(&mut self) -> Vec<String> {
        let requests = self
            .records
            .drain(..)
            .filter_map(|record| match record.event {
                ClientEvent::Request(request) => Some(request),
                _ => None,
            });
        requests.map(|request| asked(&request)).collect()
    }

    /// Takes the records since the last call, one a line.
    pub(crate) fn lines(&mut self) -> String {
        let lines: Vec<String> = self
            .records
            .drain(..)
            .map(|r| line(&r, self.began))
            .collect();
        lines.join("\n")
    }
}

fn line(record: &ClientRecord, began: Time) -> String {
    let ms = record.at.since(began).as_millis();
    let text = match &record.event {
        ClientEvent::Started { program, version } => {
            format!("started {program} {}", version.unwrap_or("-"))
        }
        ClientEvent::Request(request) => request.clone(),
        ClientEvent::Report(report) => {
            let belief = report.belief.as_deref().map(believed).unwrap_or_default();
            let (phase, iterations, handled) = (report.phase, report.iterations, report.handled);
            format!("{phase} iterations={iterations} handled={handled}{belief}")
        }
    };
    format!("{:>4}.{:03} {text}", ms / 1000, ms % 1000)
}

/// A request as `list` or `watch`, with the parameters that distinguish versions.
fn asked(request: &str) -> String {
    let query = request.split_once('?').map_or("", |(_, query)| query);
    let (mut verb, mut rest) = ("list", Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=').unwrap() {
            ("watch", _) => verb = "watch",
            ("timeoutSeconds", secs) => {
                assert!((290..600).contains(&secs.parse::<u64>().unwrap()), "{secs}");
            }
            ("timeout", _) => {}
            ("continue", _) => rest.push("continue".to_owned()),
            ("resourceVersion", version) => rest.insert(0, format!("rv={version}")),
            ("resourceVersionMatch", how) => rest.push(how.to_owned()),
            ("sendInitialEvents", "true") => rest.push("initial".to_owned()),
            ("allowWatchBookmarks", "true") => rest.push("bookmarks".to_owned()),
            (name, value) => rest.push(format!("{name}={value}")),
        }
    }
    rest.insert(0, verb.to_owned());
    rest.join(" ")
}

/// The names and versions of a reported belief.
fn believed(json: &str) -> String {
    let beliefs: Vec<Value> = serde_json::from_str(json).unwrap();
    let mut text = String::new();
    for belief in beliefs {
        let held = belief["held"].as_object().unwrap().iter();
        let held: Vec<String> = held
            .map(|(key, held)| {
                let name = key.rsplit('/').next().unwrap();
                let version = held.as_str().unwrap().rsplit('@').next().unwrap();
                format!("{name}@{version}")
            })
            .collect();
        let until = belief["resourceVersion"].as_str().unwrap_or("-");
        text.push_str(&format!(" knows {until}: [{}]", held.join(" ")));
    }
    text
}
