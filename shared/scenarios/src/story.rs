//! A story: a simulated cluster, and what happens in it at which time, with the narrator's lines.

use std::fmt;
use std::time::Duration;

use serde_json::json;
use watchscope_model::tree::{self, BTreeMap};
use watchscope_simulator::{
    ClientId, Config, EtcdVersion, Fault, NotInThisEtcd, Request, Target, Time, Version, World,
};

use crate::faults::PlannedFault;
use crate::script::{Act, Deed, Line};

/// A scripted run of a simulated cluster.
#[derive(Clone, Debug)]
pub struct Story {
    /// The story's name on the command line and in links: for a row of the catalogue its code. No two of
    /// [`stories`](crate::stories()) have the same name.
    pub name: &'static str,
    /// The story's subject, in one line without a full stop: for a row of the catalogue the row's name.
    pub title: &'static str,
    /// The configuration of the story's cluster.
    pub config: Config,
    /// The watches that show the story.
    pub view: View,
    /// The story's acts, in order of time; the list may be empty. In a story with a period the times of all acts are
    /// below the period.
    pub acts: Vec<Act>,
    /// The length of a round, above zero, after which the acts begin again, without end; `None` if the acts happen
    /// once.
    pub period: Option<Duration>,
}

/// The watches that show a story.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The namespace of the watches; empty for all namespaces.
    pub namespace: String,
    /// The resources, with their groups: `pods`, `deployments.apps`. Each resource gets one watch, in this order. The
    /// list may be empty, and no resource is in it twice.
    pub resources: Vec<String>,
    /// A label selector for the watches of all resources, as Kubernetes writes it; empty for no selector.
    pub label_selector: String,
    /// Whether the watches share one connection (HTTP/2), because the story is about a shared connection.
    pub http2: bool,
}

impl View {
    /// Returns a view of resources (`pods`, `deployments.apps`) in a namespace, or in all namespaces if `namespace` is
    /// empty. The view has no selector, and each of its watches has a connection of its own.
    #[must_use]
    pub fn of(namespace: &str, resources: &[&str]) -> Self {
        let resources = resources.iter().map(|&name| name.to_owned());
        Self {
            namespace: namespace.to_owned(),
            resources: resources.collect(),
            ..Self::default()
        }
    }
}

impl Story {
    /// Returns all deeds of one round, in order of time.
    pub fn deeds(&self) -> impl Iterator<Item = &Deed> {
        self.acts.iter().flat_map(|act| &act.deeds)
    }

    /// Sets the release of etcd, which decides which of etcd's defects can be injected.
    ///
    /// # Errors
    /// [`NotInThisEtcd`] if the story injects a fault that the release does not have ([`EtcdVersion::check`]).
    pub fn over_etcd(mut self, version: EtcdVersion) -> Result<Self, NotInThisEtcd> {
        for deed in self.deeds() {
            if let Deed::Inject(fault) = deed {
                version.check(fault)?;
            }
        }
        self.config.etcd.version = Some(version);
        Ok(self)
    }

    /// Sets the servers' versions. One version applies to all servers of the story. Several versions replace the
    /// story's servers by one server for each item of the list, in its order. An empty list changes nothing, and one
    /// version changes nothing if the story lists no server.
    ///
    /// # Errors
    /// [`TooFewServers`] if several versions are named, but fewer than the story's servers.
    pub fn on_servers(mut self, versions: &[Version]) -> Result<Self, TooFewServers> {
        let needed = self.config.servers.len();
        match versions {
            [] => {}
            [one] => self.config.servers = vec![*one; needed],
            all if all.len() < needed => return Err(TooFewServers { needed }),
            all => self.config.servers = all.to_vec(),
        }
        Ok(self)
    }

    /// Returns the release of etcd of the oldest of the story's servers, as [`EtcdVersion::shipped_with`] says. `None`
    /// if that release is not simulated (Kubernetes below 1.17), or the story lists no server.
    #[must_use]
    pub fn shipped_etcd(&self) -> Option<EtcdVersion> {
        let oldest = self.config.servers.iter().min()?;
        EtcdVersion::shipped_with(*oldest)
    }
}

/// The error that several versions were named, but fewer than the story's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewServers {
    /// The number of servers that the story needs.
    pub needed: usize,
}

impl fmt::Display for TooFewServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooFewServers { needed } = self;
        write!(
            f,
            "it is about {needed} servers; name one version for all, or {needed} or more"
        )
    }
}

impl std::error::Error for TooFewServers {}

/// A story to be performed, with a person's faults, which happen once and not in each round of the story.
#[derive(Clone, Debug)]
pub struct Script {
    /// The story.
    pub story: Story,
    /// The faults that a person requested, in any order; the list may be empty. The faults' times count from the
    /// story's begin, not from a round's begin.
    pub faults: Vec<PlannedFault>,
}

impl From<Story> for Script {
    fn from(story: Story) -> Self {
        Self {
            story,
            faults: Vec::new(),
        }
    }
}

/// The player of a story: it knows which act is next. The world's owner owns the player. The player's memory is bounded
/// by its script and by the number of clients that [`StoryPlayer::act`] starts.
#[derive(Clone, Debug)]
pub struct StoryPlayer {
    story: Story,
    began: Time,
    round: u32,
    next: usize,
    /// The acts that switch the person's faults on and off, the last first.
    besides: Vec<Act>,
    clients: BTreeMap<String, ClientId>,
    /// Whether the viewer's watches read arriving bytes; `None` if the viewer cannot stop reading.
    reads: Option<bool>,
}

/// The User-Agent of our own watches, by which [`Deed::Read`] finds their connections. The audit's User-Agent begins
/// with this text, too.
const WATCHER: &str = "watchscope";

impl StoryPlayer {
    /// Begins the story at `now` in the world's time: the present time, or a later one. This call performs no act yet.
    #[must_use]
    pub fn begin(script: impl Into<Script>, now: Time) -> Self {
        let Script { story, faults } = script.into();
        let mut besides: Vec<Act> = Vec::new();
        besides.extend(faults.iter().flat_map(PlannedFault::acts));
        tree::sort_by_key(&mut besides, |act| std::cmp::Reverse(act.at));
        Self {
            story,
            began: now,
            round: 0,
            next: 0,
            besides,
            clients: BTreeMap::new(),
            reads: None,
        }
    }

    /// Makes the player one for a viewer that calls [`Self::reads`] after each [`Self::perform`], and stops reading
    /// while it returns `false`. For all other viewers the network holds the answers back instead ([`Deed::Read`]).
    #[must_use]
    pub fn to_reader(self) -> Self {
        Self {
            reads: Some(true),
            ..self
        }
    }

    /// Returns whether the viewer's watches read arriving bytes. Returns `true` until a [`Deed::Read`] stops the
    /// reading, and always for a viewer that cannot stop reading.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.reads != Some(false)
    }

    /// Returns the client programs that this player started and did not stop, sorted by name.
    #[must_use]
    pub fn clients(&self) -> &BTreeMap<String, ClientId> {
        &self.clients
    }

    /// Returns when the next act is due, in the world's time. `None` once the story and the person's faults are over; a
    /// story with a period and acts is never over. A past time means that the act is due now.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        let besides = self.besides.last().map(|act| self.began + act.at);
        [self.next_of_story(), besides].into_iter().flatten().min()
    }

    fn next_of_story(&self) -> Option<Time> {
        let act = self.story.acts.get(self.next)?;
        let rounds = self
            .story
            .period
            .unwrap_or_default()
            .saturating_mul(self.round);
        Some(self.began + rounds + act.at)
    }

    /// Performs all acts that are due at the world's time, in order of time; at equal times the story's acts come
    /// before the person's faults. Returns the narrator's lines in the order of the acts. The list may be empty.
    pub fn perform(&mut self, world: &mut World) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(at) = self.next_at()
            && at <= world.now()
        {
            let act = if self.next_of_story() == Some(at) {
                self.next += 1;
                self.story.acts[self.next - 1].clone()
            } else if let Some(act) = self.besides.pop() {
                act
            } else {
                break;
            };
            for deed in &act.deeds {
                self.act(deed, world);
            }
            lines.extend(act.says);
            if self.next == self.story.acts.len() && self.story.period.is_some() {
                self.next = 0;
                self.round += 1;
            }
        }
        lines
    }

    /// Performs one deed in the world, now. The deed's consequences happen as the world runs on.
    pub fn act(&mut self, deed: &Deed, world: &mut World) {
        match deed {
            Deed::Inject(fault) => world.inject(fault.clone()),
            Deed::Lift(fault) => world.lift(fault),
            Deed::Call(request) => {
                // The cluster's answer is part of the story. For example, a 404 in a later round is no failure.
                world.call(request);
            }
            Deed::Fill { path, revision } => {
                // Counts from the start, because a write that fails would never reach the revision.
                for next in world.truth().revision()..*revision {
                    world.call(&touch(path, next));
                }
            }
            Deed::Start {
                name,
                program,
                scope,
            } => {
                let id = world.start_client(name, program, scope);
                self.started(name, id, world);
            }
            Deed::StartAt {
                server,
                name,
                program,
                scope,
            } => {
                let id = world.start_client_at(*server, name, program, scope);
                self.started(name, id, world);
            }
            Deed::Crowd {
                name,
                program,
                scope,
                count,
            } => {
                world.start_crowd(name, program, scope, *count);
            }
            Deed::Stop(name) => {
                if let Some(id) = self.clients.remove(name) {
                    world.stop_client(id);
                }
            }
            // No lesson has this deed.
            Deed::Read(reads) => {
                let lost = Fault::LoseAnswers {
                    target: Target::UserAgent(WATCHER.to_owned()),
                };
                match &mut self.reads {
                    Some(known) => *known = *reads,
                    None if *reads => world.lift(&lost),
                    None => world.inject(lost),
                }
            }
            Deed::Restart {
                namespace,
                deployment,
            } => {
                let now = watchscope_model::Time(world.wall_us(world.now())).to_string();
                world.call(&restart(namespace, deployment, &now));
            }
        }
    }

    /// Keeps the id of a client that was started. A program that a round before started by the same name is stopped.
    fn started(&mut self, name: &str, id: ClientId, world: &mut World) {
        if let Some(before) = self.clients.insert(name.to_owned(), id) {
            world.stop_client(before);
        }
    }
}

/// Returns a request that changes an annotation of an object, with no other effect.
pub(crate) fn touch(path: &str, turn: u64) -> Request {
    let patch = json!({"metadata": {"annotations": {"turn": turn.to_string()}}});
    merge_patch(path, &patch)
}

fn merge_patch(path: &str, patch: &serde_json::Value) -> Request {
    let mut request =
        Request::new("PATCH", path).header("content-type", "application/merge-patch+json");
    request.body = watchscope_simulator::json_text(patch).into();
    request
}

fn restart(namespace: &str, deployment: &str, now: &str) -> Request {
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {
        "kubectl.kubernetes.io/restartedAt": now,
    }}}}});
    let path = format!(
        "/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}?fieldManager=kubectl-rollout"
    );
    merge_patch(&path, &patch)
}
