//! A story: a cluster, and what happens in it when, with a sentence for each.

use std::time::Duration;

use serde_json::json;
use watchscope_model::WatchName;
use watchscope_model::tree::BTreeMap;
use watchscope_simulator::{
    ClientId, Config, EtcdVersion, Fault, NotInThisEtcd, Program, Request, Scope, Time, World,
};

/// A scripted run of a simulated cluster.
#[derive(Clone, Debug)]
pub struct Story {
    /// The name one asks for it by.
    pub name: &'static str,
    /// What it shows, in a line.
    pub title: &'static str,
    /// The cluster.
    pub config: Config,
    /// What of it is worth watching, and how.
    pub view: View,
    /// What happens, in order of time.
    pub acts: Vec<Act>,
    /// After this long the acts begin again; absent: once.
    pub period: Option<Duration>,
}

/// What to watch of a story's cluster, and how.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The namespace; empty for all of them.
    pub namespace: String,
    /// Resources, with their groups: `pods`, `deployments.apps`.
    pub resources: Vec<String>,
    /// A label selector for all of them; empty for none.
    pub label_selector: String,
    /// Whether the watches share a connection (HTTP/2), since what happens is about one that is shared.
    pub http2: bool,
}

impl View {
    /// These resources of a namespace, each over a connection of its own.
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
    /// The same over a release of etcd.
    ///
    /// # Errors
    /// If a defect is in the story that the release does not have.
    pub fn over_etcd(mut self, version: EtcdVersion) -> Result<Self, NotInThisEtcd> {
        let deeds = self.acts.iter().flat_map(|act| &act.deeds);
        for deed in deeds {
            if let Deed::Inject(fault) = deed {
                version.check(fault)?;
            }
        }
        self.config.etcd.version = Some(version);
        Ok(self)
    }
}

/// Something that happens at one moment of a story.
#[derive(Clone, Debug)]
pub struct Act {
    /// When, since the story (or its current round) began.
    pub at: Duration,
    /// What is done to the cluster.
    pub deeds: Vec<Deed>,
    /// What the narrator says about it.
    pub says: Option<Line>,
}

/// A narrator's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The sentence.
    pub text: String,
    /// The watch it is about.
    pub watch: Option<WatchName>,
}

/// One thing done to the cluster.
#[derive(Clone, Debug)]
pub enum Deed {
    /// A fault is switched on, or happens.
    Inject(Fault),
    /// A fault is switched off.
    Lift(Fault),
    /// Somebody with every right does a request, past network and faults.
    Call(Request),
    /// Somebody with every right changes an object again and again, until etcd is at a revision: each write takes one.
    Fill {
        /// The object's path.
        path: &'static str,
        /// The revision.
        revision: u64,
    },
    /// A client program starts.
    Start {
        /// The name it is called by; faults find its connections by it.
        name: String,
        /// What it runs.
        program: Program,
        /// What it looks at.
        scope: Scope,
    },
    /// A client program is killed.
    Stop(String),
    /// `kubectl rollout restart`: the pod template gets the time as an annotation.
    Restart {
        /// The deployment's namespace.
        namespace: &'static str,
        /// Its name.
        deployment: &'static str,
    },
}

/// A story being told: which act is next. Owned by whoever owns the world.
#[derive(Clone, Debug)]
pub struct Telling {
    story: Story,
    began: Time,
    round: u32,
    next: usize,
    clients: BTreeMap<String, ClientId>,
}

impl Telling {
    /// Begins the story at the world's present moment.
    #[must_use]
    pub fn begin(story: Story, now: Time) -> Self {
        Self {
            story,
            began: now,
            round: 0,
            next: 0,
            clients: BTreeMap::new(),
        }
    }

    /// The story.
    #[must_use]
    pub fn story(&self) -> &Story {
        &self.story
    }

    /// The client programs it started, by name.
    #[must_use]
    pub fn clients(&self) -> &BTreeMap<String, ClientId> {
        &self.clients
    }

    /// When the next act is due; `None` once the story is over.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        let act = self.story.acts.get(self.next)?;
        let rounds = self
            .story
            .period
            .unwrap_or_default()
            .saturating_mul(self.round);
        Some(self.began + rounds + act.at)
    }

    /// Does all acts that are due in the world; returns what the narrator says.
    pub fn perform(&mut self, world: &mut World) -> Vec<Line> {
        let mut lines = Vec::new();
        while self.next_at().is_some_and(|at| at <= world.now()) {
            let act = self.story.acts[self.next].clone();
            for deed in &act.deeds {
                self.act(deed, world);
            }
            lines.extend(act.says);
            self.next += 1;
            if self.next == self.story.acts.len() && self.story.period.is_some() {
                self.next = 0;
                self.round += 1;
            }
        }
        lines
    }

    /// Does one deed in the world, now.
    pub fn act(&mut self, deed: &Deed, world: &mut World) {
        match deed {
            Deed::Inject(fault) => world.inject(fault.clone()),
            Deed::Lift(fault) => world.lift(fault),
            Deed::Call(request) => {
                // What the cluster says to it is part of the story; a 404 of a later round is no failure.
                world.call(request);
            }
            Deed::Fill { path, revision } => {
                // Counted from the start: what never writes would never end.
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
                if let Some(before) = self.clients.insert(name.clone(), id) {
                    // A later round of the story: the program starts again.
                    world.stop_client(before);
                }
            }
            Deed::Stop(name) => {
                if let Some(id) = self.clients.remove(name) {
                    world.stop_client(id);
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
}

/// Changes an object, and nothing of what it is for.
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
