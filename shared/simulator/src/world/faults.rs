//! Faults: what each does to the parts when it is switched on, happens, or is lifted.

use std::collections::BTreeSet;

use super::World;
use crate::fault::{Fault, Target};
use crate::message::{ConnectionId, RequestId, ServerId};

impl World {
    /// Switches a fault on, or makes it happen if it is a moment.
    pub fn inject(&mut self, fault: Fault) {
        match &fault {
            Fault::Cut { target, cut } => {
                for connection in self.connections_of(target) {
                    self.cut(connection, *cut);
                }
            }
            Fault::CloseStreams { target } => {
                for watch in self.watches_of(target) {
                    if let Some(server) = self.server_of(watch) {
                        self.with_server(server, |server, ctx| server.end_watch(watch, ctx));
                    }
                }
            }
            Fault::TearFrame { target, cut } => {
                for watch in self.watches_of(target) {
                    self.torn.insert(watch, *cut);
                }
            }
            Fault::Expire { resource } => self.expire(resource.as_deref()),
            Fault::EtcdDefect(defect) => self.etcd.switch(*defect, true),
            Fault::NoLeader => self.etcd.lose_leader(self.now),
            Fault::PartitionMember { server } => self.etcd.partition(*server, self.now),
            Fault::MissWrites { server } => self.etcd.miss_writes(*server, true),
            Fault::RestartEtcd { during_compaction } => {
                self.etcd.restart(*during_compaction, self.now);
            }
            Fault::CompactEtcd => self.compact_now(self.etcd.revision()),
            Fault::TakeSnapshot => self.etcd.take_snapshot(),
            Fault::RestoreSnapshot { bump } => self.etcd.restore(*bump, self.now),
            Fault::SlowEtcdStreams {
                server,
                resource,
                per_response,
            } => {
                let resource = resource.as_deref();
                let named = resource.and_then(|name| self.kinds.named(name));
                if resource.is_none() || named.is_some() {
                    self.etcd.slow_streams(*server, named, Some(*per_response));
                }
            }
            Fault::Reinitialise { server, resource } => {
                for id in self.server_ids() {
                    if server.is_none_or(|wanted| wanted == id) {
                        self.with_server(id, |server, ctx| {
                            server.reinitialise(resource.as_deref(), ctx);
                        });
                    }
                }
            }
            Fault::Refuse
            | Fault::TooManyRequests { .. }
            | Fault::Stall { .. }
            | Fault::Delay { .. }
            | Fault::Lag { .. }
            | Fault::FreezeCaches { .. }
            | Fault::SilentExpiry { .. }
            | Fault::GoneAsStatus { .. }
            | Fault::NoBookmarks { .. }
            | Fault::NoEndBookmark { .. }
            | Fault::UnsortedInitial { .. }
            | Fault::StartRace { .. }
            | Fault::RepeatEvents { .. }
            | Fault::SwapEvents { .. }
            | Fault::CorruptObject { .. }
            | Fault::CannotConvert { .. }
            | Fault::WrongKind { .. } => {}
        }
        self.settle();
        if !fault.is_momentary() {
            self.faults.insert(fault);
        }
    }

    /// Switches off a fault that is on.
    pub fn lift(&mut self, fault: &Fault) {
        if !self.faults.remove(fault) {
            return;
        }
        match fault {
            Fault::Expire { resource } => {
                for server in &mut self.servers {
                    server.keep_history(resource.as_deref(), &self.kinds);
                }
                let still_on: Vec<Fault> = self.faults.iter().cloned().collect();
                for other in still_on {
                    if let Fault::Expire { resource } = other {
                        self.expire(resource.as_deref());
                    }
                }
            }
            Fault::Stall { .. } => self.release_held(),
            Fault::EtcdDefect(defect) => self.etcd.switch(*defect, false),
            Fault::NoLeader => {
                self.etcd.elect_leader();
                self.unpark();
            }
            Fault::PartitionMember { server } => {
                self.etcd.heal(*server, self.now);
                self.unpark();
            }
            Fault::MissWrites { server } => self.etcd.miss_writes(*server, false),
            Fault::SlowEtcdStreams {
                server, resource, ..
            } => {
                let resource = resource.as_deref().and_then(|name| self.kinds.named(name));
                self.etcd.slow_streams(*server, resource, None);
            }
            Fault::FreezeCaches { .. } => self.thaw(),
            Fault::SwapEvents { .. } => {
                for id in self.server_ids() {
                    self.with_server(id, |server, ctx| server.tell_swapped(ctx));
                }
            }
            _ => {}
        }
        self.settle();
    }

    pub(super) fn server_ids(&self) -> Vec<ServerId> {
        self.servers.iter().map(|s| s.id).collect()
    }

    /// Whether connections to a server are accepted.
    pub(super) fn is_listening(&self, server: ServerId) -> bool {
        self.servers.get(usize::from(server.0)).is_some()
    }

    pub(super) fn is_stalled(&self, connection: ConnectionId) -> bool {
        self.faults.iter().any(|fault| match fault {
            Fault::Stall { target } => self.matches(target, connection),
            _ => false,
        })
    }

    fn unpark(&mut self) {
        for id in self.server_ids() {
            self.with_server(id, |server, ctx| server.unpark(ctx));
        }
    }

    fn expire(&mut self, resource: Option<&str>) {
        for id in self.server_ids() {
            self.with_server(id, |server, ctx| server.expire(resource, ctx));
        }
    }

    fn matches(&self, target: &Target, connection: ConnectionId) -> bool {
        match target {
            Target::All => true,
            Target::Connection(one) => *one == connection,
            Target::Server(server) => self.network.server(connection) == Some(*server),
            Target::Resource(_) | Target::UserAgent(_) => {
                self.connections_of(target).contains(&connection)
            }
        }
    }

    fn connections_of(&self, target: &Target) -> BTreeSet<ConnectionId> {
        match target {
            Target::All | Target::Connection(_) | Target::Server(_) => self
                .network
                .connections()
                .filter(|connection| self.matches(target, *connection))
                .collect(),
            Target::UserAgent(prefix) => self.network.with_user_agent(prefix),
            Target::Resource(_) => {
                let watches = self.watches_of(target);
                watches
                    .into_iter()
                    .filter_map(|w| self.network.owner(w))
                    .collect()
            }
        }
    }

    fn watches_of(&self, target: &Target) -> BTreeSet<RequestId> {
        match target {
            Target::All => self.servers.iter().flat_map(|s| s.watches()).collect(),
            Target::Resource(name) => match self.kinds.named(name) {
                Some(resource) => self
                    .servers
                    .iter()
                    .flat_map(|s| s.watches_of(resource))
                    .collect(),
                None => BTreeSet::new(),
            },
            Target::Connection(_) | Target::UserAgent(_) | Target::Server(_) => {
                let connections = self.connections_of(target);
                let on_them = |w: &RequestId| {
                    self.network
                        .owner(*w)
                        .is_some_and(|c| connections.contains(&c))
                };
                let all = self.servers.iter().flat_map(|s| s.watches());
                all.filter(on_them).collect()
            }
        }
    }

    fn server_of(&self, request: RequestId) -> Option<ServerId> {
        self.network.server(self.network.owner(request)?)
    }
}
