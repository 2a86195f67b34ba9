//! A simulated cluster in virtual time: etcd, apiservers with watch caches, a network, a workload, and faults.
//!
//! Clients reach the cluster by structured messages ([`Request`], [`Delivery`]), not by bytes. Tests therefore drive
//! the same [`World`] in virtual time that the demo's server puts on sockets. The simulated servers behave like
//! Kubernetes 1.36. They behave like another [`Version`] where a case study or the failure catalogue needs the
//! difference. The crate deliberately has no clocks, threads or I/O, and knows nothing of watchscope's probe, the
//! client that is tested against it.
//!
//! ```
//! use watchscope_simulator::{Arrival, Config, Flow, Pause, Request, Time, World};
//!
//! let mut world = World::new(Config::empty(), 1);
//! let connection = world.connect(Flow::Immediate);
//! world.send(connection, Request::get("/api/v1/namespaces"));
//! let mut status = 0;
//! while world.run_until(Time::from_secs(1)) == Pause::Deliveries {
//!     while let Some(delivery) = world.next_delivery() {
//!         if let Arrival::Head { head, .. } = delivery.arrival {
//!             status = head.status;
//!         }
//!     }
//! }
//! assert_eq!(status, 200);
//! ```

mod apiserver;
mod change;
mod client;
mod config;
mod defect;
mod etcd;
mod etcd_version;
mod fault;
mod inside;
mod json;
mod kinds;
mod kubectl;
mod manager;
mod message;
mod names;
mod network;
mod object;
mod queue;
mod random;
mod registry;
mod schema;
mod scope;
mod selector;
mod settings;
mod status;
mod time;
mod truth;
mod version;
mod workload;
mod world;

pub use apiserver::answers::Answers;
pub use change::Change;
pub use client::{
    Belief, ChannelEnd, ClientEvent, ClientGo, ClientId, ClientPhase, ClientRecord, ClientReport,
    Comparison, Controller, Edit, Held, Key, KubeList, KubeRs, KubeWatcher, LogLine, Program,
    UnknownVersion, WatchDeployment, WireEnd,
};
pub use config::Config;
pub use defect::Defect;
pub use etcd_version::{EtcdVersion, NotInThisEtcd, UnknownEtcdVersion};
pub use fault::{Fault, Rights, Target, Throttle};
pub use inside::{
    CacheLook, CacheState, ConnectionLook, EtcdLook, InsideEvent, InsideRecord, WatcherLook,
};
pub use json::json_text;
pub use kinds::{CustomColumn, Printer, ResourceId, ResourceType};
pub use message::{
    Arrival, ConnectionId, Cut, Delivery, Flow, Head, Request, RequestId, Response, ServerId,
};
pub use object::{ChangeKind, Object};
pub use scope::Scope;
pub use settings::{ApiserverConfig, EtcdConfig, Load, NetworkConfig, WorkloadConfig};
pub use time::Time;
pub use truth::Truth;
pub use version::{UnknownServerVersion, Version};
pub use workload::Controllers;
pub use world::{Pause, Received, ReceivedRecord, Tallied, TallyRecord, World};
