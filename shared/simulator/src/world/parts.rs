//! How the world lends its parts to each other, and passes on the messages that one part's step produced for other
//! parts.

use std::collections::VecDeque;
use std::time::Duration;

use watchscope_model::tree::BTreeMap;

use super::{Event, World};
use crate::apiserver::{Apiserver, Context};
use crate::etcd::{Response, Sent, StreamKey};
use crate::fault::Fault;
use crate::message::ServerId;
use crate::random::Random;
use crate::time::Time;
use crate::workload::{self, Task, Workload};

/// Time after which a task of the workload is tried again that was due while etcd had no leader. Tasks are those of
/// controllers, kubelets and activities. This time keeps the number of attempts low; it has no other source.
const LEADERLESS_RETRY: Duration = Duration::from_secs(1);

/// The most responses that are held for a stream while its cache is frozen. A further response drops all held ones; in
/// their place the stream breaks when the fault is lifted. etcd's client holds all responses
/// (docs/semantics/servers.md#watch-stream); the bound limits the memory of a world. The number has no source.
const FROZEN_MOST: usize = 200_000;

/// The link from etcd to the apiservers.
///
/// Bounded: the link has one entry per stream, and at most 200,000 held responses per frozen stream.
#[derive(Debug)]
pub(super) struct EtcdLink {
    random: Random,
    /// When the last response under way on each stream arrives. A later response of the stream never arrives before
    /// this time.
    last_arrival: BTreeMap<StreamKey, Time>,
    frozen: BTreeMap<StreamKey, VecDeque<Option<Response>>>,
}

impl EtcdLink {
    pub(super) fn new(random: Random) -> EtcdLink {
        EtcdLink {
            random,
            last_arrival: BTreeMap::new(),
            frozen: BTreeMap::new(),
        }
    }
}

impl World {
    pub(super) fn with_server<T: Default>(
        &mut self,
        server: ServerId,
        act: impl FnOnce(&mut Apiserver, &mut Context<'_>) -> T,
    ) -> T {
        let Some(apiserver) = self.servers.get_mut(usize::from(server.0)) else {
            return T::default();
        };
        let mut alarms = Vec::new();
        let mut ctx = Context {
            now: self.now,
            wall: self.wall,
            server,
            version: apiserver.version(),
            settings: &self.config.apiserver,
            commit_latency: self.config.etcd.commit_latency,
            answers: self.config.answers,
            faults: &self.faults,
            etcd: &mut self.etcd,
            kinds: &mut self.kinds,
            random: &mut self.random,
            alarms: &mut alarms,
        };
        let result = act(apiserver, &mut ctx);
        for (at, alarm) in alarms {
            self.queue.schedule(at, Event::Server(server, alarm));
        }
        self.settle();
        result
    }

    pub(super) fn with_workload(
        &mut self,
        act: impl FnOnce(&mut Workload, &mut workload::Context<'_>),
    ) {
        let mut tasks = Vec::new();
        let mut definitions = Vec::new();
        let mut ctx = workload::Context {
            now: self.now,
            wall: self.wall,
            config: &self.config.workload,
            etcd: &mut self.etcd,
            kinds: &self.kinds,
            random: &mut self.random,
            tasks: &mut tasks,
            definitions: &mut definitions,
        };
        act(&mut self.workload, &mut ctx);
        for (at, task) in tasks {
            self.queue.schedule(at, Event::Task(task));
        }
        for definition in definitions {
            self.serve_definition(&definition);
        }
        self.settle();
    }

    /// Runs a task of the workload. Without a leader of etcd nothing can be written, so the task is tried again after
    /// [`LEADERLESS_RETRY`].
    pub(super) fn work(&mut self, task: Task) {
        if self.etcd.is_leaderless() {
            let later = self.now + LEADERLESS_RETRY;
            return self.queue.schedule(later, Event::Task(task));
        }
        self.with_workload(|workload, ctx| workload.work(task, ctx));
    }

    /// Gives a server a response on a watch stream of etcd, or holds the response while the server's cache is frozen. A
    /// `response` of `None` means that the stream broke.
    pub(super) fn etcd_says(&mut self, stream: StreamKey, response: Option<Response>) {
        let name = self.kinds.get(stream.resource).qualified();
        let frozen = self.faults.iter().any(|fault| {
            matches!(fault, Fault::FreezeCaches { .. }) && fault.concerns(stream.server, &name)
        });
        if frozen {
            let held = self.etcd_link.frozen.entry(stream).or_default();
            if held.len() >= FROZEN_MOST {
                held.clear();
                held.push_back(None);
            } else {
                held.push_back(response);
            }
            return;
        }
        self.with_server(stream.server, |server, ctx| match response {
            Some(response) => server.receive(stream, response, ctx),
            None => server.stream_broke(stream, ctx),
        });
    }

    /// Passes on the held responses of caches that are no longer frozen.
    pub(super) fn thaw(&mut self) {
        for (stream, held) in std::mem::take(&mut self.etcd_link.frozen) {
            for response in held {
                self.etcd_says(stream, response);
            }
        }
    }

    /// Compacts `revision`, and schedules the next compaction, which compacts the revision that is present now. If etcd
    /// has no leader, compacts nothing, and the next compaction compacts `revision`.
    pub(super) fn compact(&mut self, revision: u64) {
        let next = if self.etcd.is_leaderless() {
            revision
        } else {
            self.compact_now(revision);
            self.etcd.revision()
        };
        let at = self.now + self.config.etcd.compaction_interval;
        self.queue.schedule(at, Event::Compact(next));
    }

    pub(super) fn compact_now(&mut self, revision: u64) {
        self.etcd.compact(revision);
        let compacted = self.etcd.compacted();
        for server in &mut self.servers {
            server.compacted(compacted, self.now);
        }
    }

    /// Begins or ceases to serve the resource of a CustomResourceDefinition.
    fn serve_definition(&mut self, definition: &workload::Definition) {
        match definition {
            workload::Definition::Established(value) => {
                if let Some(resource) = self.kinds.add_custom(value) {
                    let is_served = self.kinds.get(resource).served;
                    // A changed definition gets a new storage: its watches end and its history begins anew (F17).
                    for id in self.server_ids() {
                        self.with_server(id, |server, ctx| {
                            server.stop_serving(resource, is_served, ctx);
                            if is_served {
                                server.serve(resource, false, ctx);
                            }
                        });
                    }
                }
            }
            workload::Definition::Gone(resource) => {
                let resource = *resource;
                self.kinds.stop_serving(resource);
                for id in self.server_ids() {
                    self.with_server(id, |server, ctx| server.stop_serving(resource, false, ctx));
                }
            }
        }
    }

    /// Passes on what a step produced: etcd's responses to servers, writes to informers, replies to the network.
    pub(super) fn settle(&mut self) {
        for sent in self.etcd.take_sent() {
            self.carry(sent);
        }
        for (at, alarm) in self.etcd.take_alarms() {
            self.queue.schedule(at, Event::Etcd(alarm));
        }
        for change in self.etcd.take_committed() {
            self.observe_write(&change);
            let (least, most) = self.config.etcd.watch_latency;
            let at = self.now + self.etcd_link.random.span(least, most);
            self.last_observed = self.last_observed.max(at);
            self.queue
                .schedule(self.last_observed, Event::Observed(change));
        }
        for index in 0..self.servers.len() {
            for request in self.servers[index].take_dirty() {
                self.pump(request);
            }
        }
    }

    fn carry(&mut self, sent: Sent) {
        let (least, most) = self.config.etcd.watch_latency;
        let lag = self.lag(sent.stream.server);
        let latency = self.etcd_link.random.span(least, most);
        let at = sent.at.max(self.now) + latency + lag;
        let last = self.etcd_link.last_arrival.entry(sent.stream).or_default();
        *last = at.max(*last);
        self.queue
            .schedule(*last, Event::FromEtcd(sent.stream, sent.response));
    }

    fn lag(&self, server: ServerId) -> Duration {
        self.faults
            .iter()
            .map(|fault| match fault {
                Fault::Lag { server: lags, by } if *lags == server => *by,
                _ => Duration::ZERO,
            })
            .sum()
    }
}
