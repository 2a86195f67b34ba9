//! What each fault does to the parts when it is switched on, when it happens, and when it is lifted.

use std::time::Duration;

use watchscope_model::tree::BTreeSet;

use super::World;
use super::spoil::Spoil;
use crate::apiserver::Denial;
use crate::fault::{Fault, Target};
use crate::message::{ConnectionId, RequestId, ServerId};

/// The direction of traffic between clients and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From a client to a server.
    Up,
    /// From a server to a client.
    Down,
}

impl World {
    /// Switches a lasting fault on, or makes a momentary fault happen. Equal lasting faults are on once, and one
    /// [`World::lift`] switches them off. A fault that etcd's release does not have does nothing;
    /// [`EtcdVersion::check`](crate::EtcdVersion::check) finds such a fault beforehand. Without a configured release
    /// etcd can have every fault.
    pub fn inject(&mut self, fault: Fault) {
        self.has_news = true;
        if !self.etcd.can_have(&fault) {
            return;
        }
        match &fault {
            Fault::Cut { target, cut } => {
                for connection in self.connections_of(target) {
                    self.cut(connection, *cut);
                }
            }
            Fault::GoAway { target, cut } => {
                for connection in self.connections_of(target) {
                    self.go_away(connection, *cut);
                }
            }
            Fault::CloseStreams { target } => {
                for watch in self.watches_of(target) {
                    if let Some(server) = self.server_of(watch) {
                        self.with_server(server, |server, ctx| server.end_watch(watch, ctx));
                    }
                }
            }
            Fault::ResetStreams { target, code } => {
                for watch in self.watches_of(target) {
                    self.reset_stream(watch, *code);
                }
            }
            Fault::TearFrame { target, cut } => {
                for watch in self.watches_of(target) {
                    self.torn.insert(watch, Spoil::Tear(*cut));
                }
            }
            Fault::GarbleFrame { target } => {
                for watch in self.watches_of(target) {
                    self.torn.insert(watch, Spoil::Garble);
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
            Fault::Shutdown {
                server,
                delay,
                grace,
                sends_retry_after,
            } => {
                self.begin_shutdown(*server, *delay, *grace, *sends_retry_after);
            }
            Fault::Refuse
            | Fault::TooManyRequests { .. }
            | Fault::Stall { .. }
            | Fault::LoseRequests { .. }
            | Fault::LoseAnswers { .. }
            | Fault::Buffer { .. }
            | Fault::CapStreams { .. }
            | Fault::KillIdle { .. }
            | Fault::ExpireTokens { .. }
            | Fault::RevokeAccess { .. }
            | Fault::OutOfRotation { .. }
            | Fault::BalanceRequests
            | Fault::Delay { .. }
            | Fault::Lag { .. }
            | Fault::FreezeCaches { .. }
            | Fault::SilentExpiry { .. }
            | Fault::GoneAsStatus { .. }
            | Fault::NoBookmarks { .. }
            | Fault::BookmarksAhead { .. }
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
        let kills_idle = matches!(fault, Fault::KillIdle { .. });
        if !fault.is_momentary() {
            self.faults.insert(fault);
        }
        if kills_idle {
            let connections: Vec<ConnectionId> = self.network.connections().collect();
            for connection in connections {
                self.watch_idleness(connection);
            }
        }
    }

    /// Switches off the lasting fault that is equal to `fault`. Does nothing if no such fault is on; a momentary fault
    /// never is.
    pub fn lift(&mut self, fault: &Fault) {
        self.has_news = true;
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
            Fault::Stall { .. } | Fault::LoseRequests { .. } | Fault::LoseAnswers { .. } => {
                self.release_held();
            }
            Fault::Buffer { .. } => self.release_kept(),
            Fault::CapStreams { .. } => self.release_waiting(),
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
                let resource = resource.as_deref();
                let named = resource.and_then(|name| self.kinds.named(name));
                if resource.is_none() || named.is_some() {
                    self.etcd.slow_streams(*server, named, None);
                }
            }
            Fault::FreezeCaches { .. } => self.thaw(),
            Fault::Shutdown { server, .. } => self.start_server(*server),
            Fault::SwapEvents { .. } => {
                for id in self.server_ids() {
                    self.with_server(id, |server, ctx| server.deliver_swapped(ctx));
                }
            }
            _ => {}
        }
        self.settle();
    }

    pub(super) fn server_ids(&self) -> Vec<ServerId> {
        self.servers.iter().map(|s| s.id).collect()
    }

    pub(super) fn is_stalled(&self, connection: ConnectionId, direction: Direction) -> bool {
        self.network.is_forgotten(connection)
            || self.faults.iter().any(|fault| match (fault, direction) {
                (Fault::Stall { target }, _)
                | (Fault::LoseRequests { target }, Direction::Up)
                | (Fault::LoseAnswers { target }, Direction::Down) => {
                    self.matches(target, connection)
                }
                _ => false,
            })
    }

    /// Returns how many bytes of each response a proxy in front of a connection keeps; `None` without such a proxy.
    pub(super) fn buffer_of(&self, connection: ConnectionId) -> Option<usize> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::Buffer { target, bytes } if self.matches(target, connection) => Some(*bytes),
            _ => None,
        })
    }

    /// Returns the most requests that a connection may have open; `None` without a cap.
    pub(super) fn stream_cap(&self, connection: ConnectionId) -> Option<usize> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::CapStreams { target, streams } if self.matches(target, connection) => {
                Some(*streams)
            }
            _ => None,
        })
    }

    /// Returns the time after which a middlebox forgets idle connections, and whether it resets them; `None` without
    /// such a middlebox.
    pub(super) fn idle_killer(&self) -> Option<(Duration, bool)> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::KillIdle { after, says_so } => Some((*after, *says_so)),
            _ => None,
        })
    }

    /// Returns the denials that apply to a connection's client: invalid tokens and revoked rights.
    pub(super) fn denials(&self, connection: ConnectionId) -> Vec<Denial> {
        let denials = self.faults.iter().filter_map(|fault| match fault {
            Fault::ExpireTokens { target } if self.matches(target, connection) => {
                Some(Denial::Unauthorized)
            }
            Fault::RevokeAccess {
                target,
                resource,
                rights,
            } if self.matches(target, connection) => Some(Denial::Forbidden {
                user: self.network.user(connection).to_owned(),
                resource: resource.clone(),
                rights: *rights,
            }),
            _ => None,
        });
        denials.collect()
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
            Target::Server(server) => {
                let wanted = self.servers.iter().filter(|s| s.id == *server);
                wanted.flat_map(|s| s.watches()).collect()
            }
            Target::Connection(_) | Target::UserAgent(_) => {
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
        self.network.server_of(request)
    }
}
