//! A mini scheduler (docs/semantics/cases.md#life-of-an-event). The scheduler has informers of nodes and pods over one
//! connection, two filtering handlers on the pods, and a loop that binds pods. One handler feeds the cache of scheduled
//! pods; the second handler feeds the queue of unscheduled pods.
//!
//! One event can be a deletion for the first filter and an addition for the second. A pod that gets its node leaves the
//! queue and enters the cache. The loop binds pods with the scheduler's own `schedulerName`, one at a time, to the node
//! with the fewest pods.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use watchscope_model::tree::BTreeMap;

use super::belief::{Belief, Key};
use super::go::ClientGo;
use super::go::informer::{Informer, Notification};
use super::go::rest::{Answer, CallId, Rest};
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use super::wire::Document;
use crate::message::Request;
use crate::scope::Scope;
use crate::time::Time;

/// The `schedulerName` of the pods that the mini scheduler schedules.
pub(super) const SCHEDULER_NAME: &str = "mini-scheduler";
/// Time after which a pod that could not be bound is tried again. A person can see a wait of this length in a picture;
/// the number has no other source.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// A notification as a filtering handler passes it on (`FilteringResourceEventHandler`).
#[derive(Clone, Debug, PartialEq, Eq)]
enum Filtered<'a> {
    Nothing,
    Put(&'a Arc<Document>),
    Delete(&'a Arc<Document>),
}

fn filtered(notification: &Notification, passes: impl Fn(&Document) -> bool) -> Filtered<'_> {
    match notification {
        Notification::Add { new } if passes(new) => Filtered::Put(new),
        Notification::Update { new, .. } if passes(new) => Filtered::Put(new),
        Notification::Update { old, .. } | Notification::Delete { old, .. } if passes(old) => {
            Filtered::Delete(old)
        }
        _ => Filtered::Nothing,
    }
}

fn is_scheduled(pod: &Document) -> bool {
    !pod.spec.node_name.is_empty()
}

fn is_for_us(pod: &Document) -> bool {
    !is_scheduled(pod) && pod.spec.scheduler_name == SCHEDULER_NAME
}

/// A request to bind a pod that has no answer yet.
#[derive(Debug)]
struct Binding {
    call: CallId,
    pod: Arc<Document>,
    node: String,
}

/// The mini scheduler.
#[derive(Debug)]
pub(super) struct MiniScheduler {
    rest: Rest,
    nodes: Informer,
    pods: Informer,
    /// Scheduled pods, from the handlers' notifications, and pods that the scheduler assumes to be scheduled.
    cache: Belief,
    /// The node of each pod of the cache.
    node_of: BTreeMap<Key, String>,
    /// Pods that wait to be scheduled, from the handlers' notifications.
    queue: Belief,
    order: VecDeque<Key>,
    /// Pods that could not be bound, and when each is tried again.
    waiting: BTreeMap<Key, Time>,
    binding: Option<Binding>,
    iterations: u64,
    handled: u64,
}

impl MiniScheduler {
    /// Makes a mini scheduler, which watches the pods of the scope's namespace, and all nodes.
    pub(super) fn new(version: ClientGo, scope: &Scope) -> MiniScheduler {
        let nodes = Scope::new("v1", "nodes", "Node");
        let pods = Scope::new("v1", "pods", "Pod").in_namespace(&scope.namespace);
        let part = |name, fields: &str| Belief::part(name, pods.clone().with_fields(fields));
        let queued = format!("spec.nodeName=,spec.schedulerName={SCHEDULER_NAME}");
        MiniScheduler {
            rest: Rest::new(version),
            nodes: Informer::new(version, nodes, None),
            cache: part("cache", "spec.nodeName!="),
            queue: part("queue", &queued),
            pods: Informer::new(version, pods, None),
            node_of: BTreeMap::new(),
            order: VecDeque::new(),
            waiting: BTreeMap::new(),
            binding: None,
            iterations: 0,
            handled: 0,
        }
    }

    fn handle(&mut self, notification: &Notification) {
        match filtered(notification, is_scheduled) {
            Filtered::Put(pod) => {
                self.handled += 1;
                self.cache_pod(pod, pod.spec.node_name.clone());
            }
            Filtered::Delete(pod) => {
                self.handled += 1;
                self.node_of.remove(&pod.key());
                self.cache.drop(&pod.key());
            }
            Filtered::Nothing => {}
        }
        match filtered(notification, is_for_us) {
            Filtered::Put(pod) => {
                self.handled += 1;
                let key = pod.key();
                self.queue.hold(key.clone(), pod.held());
                if !self.order.contains(&key) && !self.waiting.contains_key(&key) {
                    self.order.push_back(key);
                }
            }
            Filtered::Delete(pod) => {
                self.handled += 1;
                self.leave_queue(&pod.key());
            }
            Filtered::Nothing => {}
        }
    }

    fn cache_pod(&mut self, pod: &Document, node: String) {
        self.node_of.insert(pod.key(), node);
        self.cache.hold(pod.key(), pod.held());
    }

    fn leave_queue(&mut self, key: &Key) {
        self.queue.drop(key);
        self.order.retain(|queued| queued != key);
        self.waiting.remove(key);
    }

    /// Schedules the next pod of the queue (`scheduleOne`).
    fn schedule(&mut self, ctx: &mut Context<'_>) {
        let due: Vec<Key> = self
            .waiting
            .iter()
            .filter(|(_, at)| **at <= ctx.now)
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            self.waiting.remove(&key);
            self.order.push_back(key);
        }
        if self.binding.is_some() || !self.nodes.has_synced() || !self.pods.has_synced() {
            return;
        }
        let Some(key) = self.order.pop_front() else {
            return;
        };
        self.iterations += 1;
        let pod = self.pods.indexer().get(&key).cloned();
        let (Some(pod), Some(node)) = (pod, self.fitting_node()) else {
            self.waiting.insert(key, ctx.now + TRY_AGAIN);
            return;
        };
        let body = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": key.1, "namespace": key.0, "uid": pod.metadata.uid},
            "target": {"kind": "Node", "name": node},
        });
        let path = format!("/api/v1/namespaces/{}/pods/{}/binding", key.0, key.1);
        let request = Request::new("POST", &path).json(&body);
        let call = self.rest.write(request, ctx);
        self.binding = Some(Binding { call, pod, node });
    }

    /// Returns the schedulable node with the fewest pods in the cache; of several equal nodes the first by name. `None`
    /// if no node is schedulable.
    fn fitting_node(&self) -> Option<String> {
        let nodes = self.nodes.indexer().values();
        let fitting = nodes.filter(|node| !node.spec.unschedulable);
        let load = |node: &str| self.node_of.values().filter(|n| *n == node).count();
        let names = fitting.map(|node| node.metadata.name.clone());
        names.min_by_key(|name| load(name))
    }

    fn bound(&mut self, binding: Binding, answer: &Answer, now: Time) {
        let key = binding.pod.key();
        let is_there = self.pods.indexer().contains_key(&key);
        if *answer != Answer::Written {
            if self.queue.objects.contains_key(&key) {
                self.waiting.insert(key, now + TRY_AGAIN);
            }
        } else if is_there && !self.node_of.contains_key(&key) {
            // Assumes that the pod is scheduled, until the informer delivers it.
            self.cache_pod(&binding.pod, binding.node);
        }
    }
}

impl Machine for MiniScheduler {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        if matches!(input, Input::Start) {
            self.nodes.start(&mut self.rest, ctx);
            self.pods.start(&mut self.rest, ctx);
        }
        for (call, answer) in self.rest.take(input, ctx) {
            if let Some(binding) = self.binding.take_if(|binding| binding.call == call) {
                self.bound(binding, &answer, ctx.now);
            } else if self.nodes.has_call(call) {
                self.nodes.take(call, answer, &mut self.rest, ctx);
            } else {
                self.pods.take(call, answer, &mut self.rest, ctx);
            }
        }
        let node_notifications = self.nodes.wake(&mut self.rest, ctx);
        self.handled += u64::try_from(node_notifications.len()).unwrap_or(u64::MAX);
        for notification in self.pods.wake(&mut self.rest, ctx) {
            self.handle(&notification);
        }
        self.schedule(ctx);
    }

    fn wake_at(&self) -> Option<Time> {
        let informers = earlier(self.nodes.wake_at(), self.pods.wake_at());
        let is_ready = self.binding.is_none() && self.nodes.has_synced() && self.pods.has_synced();
        let next = (is_ready && !self.order.is_empty()).then_some(Time::ZERO);
        let own = earlier(next, self.waiting.values().min().copied());
        earlier(earlier(informers, own), self.rest.wake_at())
    }

    /// Returns the phase of the nodes' informer until it watches, then the phase of the pods' informer.
    fn phase(&self) -> ClientPhase {
        match self.nodes.phase() {
            ClientPhase::Watching => self.pods.phase(),
            phase => phase,
        }
    }

    /// Returns the number of pods that the loop has taken from the queue.
    fn iterations(&self, _now: Time) -> u64 {
        self.iterations
    }

    fn handled(&self, _now: Time) -> u64 {
        self.handled
    }

    fn beliefs(&self) -> Vec<&Belief> {
        vec![
            self.nodes.belief(),
            self.pods.belief(),
            &self.cache,
            &self.queue,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Spec;
    use super::*;

    fn pod(node: &str) -> Arc<Document> {
        Arc::new(Document {
            spec: Spec {
                node_name: node.to_owned(),
                scheduler_name: SCHEDULER_NAME.to_owned(),
                ..Spec::default()
            },
            ..Document::default()
        })
    }

    #[test]
    fn one_update_is_a_deletion_for_one_filter_and_an_addition_for_the_other() {
        let (old, new) = (pod(""), pod("node-1"));
        let bound = Notification::Update {
            old: Arc::clone(&old),
            new: Arc::clone(&new),
        };
        assert_eq!(filtered(&bound, is_scheduled), Filtered::Put(&new));
        assert_eq!(filtered(&bound, is_for_us), Filtered::Delete(&old));
        let gone = Notification::Delete {
            old: Arc::clone(&new),
        };
        assert_eq!(filtered(&gone, is_scheduled), Filtered::Delete(&new));
        assert_eq!(filtered(&gone, is_for_us), Filtered::Nothing);
    }
}
