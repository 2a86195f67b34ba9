//! The harness of the end-to-end tests: a real cluster, watchscope as a process, a browser, and bounded waiting.
//!
//! * [`KubeCluster`]: etcd and kube-apiserver on loopback, with users and rights. etcd's own history is the truth.
//! * [`WatchscopeBinary`]: one run to its end, or a server with its link.
//! * [`Browser`]: Chromium through chromedriver, with its console and pictures.
//! * [`RemoteBrowser`]: Chromium or Firefox without a network, which reports each request.
//! * [`Feeder`], [`stage`]: an apiserver that sends what its caller queues, and the parts that browser benchmarks
//!   share.
//! * [`event_server`]: an apiserver of streams with many events. [`loopback`]: parts of such servers.
//! * [`page_weight`]: what a browser fetches before the first paint.
//! * [`reading`]: watchscope in this process, from a socket into the log.
//! * [`change_load`]: the changes of a busy cluster, sealed. [`anatomy`]: the parts of a frame, to count their bytes.
//! * [`pod_load`]: Pods of a real apiserver, created and started.
//! * [`usage`]: processor time and memory of a process.
//! * [`Exposition`]: a strict reader of `/metrics`.
//! * [`eventually()`]: looks again until a condition holds, or fails when its time is over.
//! * [`or_skip!`]: a test that lacks a program prints so and is counted.
//!
//! Everything started here lies in a folder of its own and listens on loopback. It is gone when its value is dropped.
//! [`Process`] says what happens when the tests themselves are killed.

pub mod anatomy;
mod browser;
pub mod change_file;
pub mod change_load;
pub mod event_server;
mod eventually;
mod exposition;
mod feeder;
pub mod kube;
mod lifeline;
pub mod loopback;
pub mod page_weight;
pub mod pod_load;
mod ports;
mod process;
mod project;
pub mod reading;
mod remote;
mod served;
mod skip;
pub mod stage;
pub mod usage;
pub mod viewer;
mod watchscope;

pub use browser::{Browser, BrowserTools};
pub use eventually::{eventually, patient};
pub use exposition::{Exposition, ExpositionForm, Series};
pub use feeder::Feeder;
pub use kube::{ClusterOptions, KubeCluster, KubeTools, Kubectl, SecondApiserver};
pub use ports::free_port;
pub use process::{Finished, Process, finish};
pub use project::project_root;
pub use remote::{Kind as BrowserKind, RemoteBrowser};
pub use served::{Records, Served};
pub use skip::{Missing, said_to_skip};
pub use watchscope::{Launch, Link, Terminal, Watchscope, WatchscopeBinary};
