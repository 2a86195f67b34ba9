//! What the end-to-end tests are told with: a real cluster, watchscope as a process, a browser,
//! and waiting that ends.
//!
//! * [`KubeCluster`]: etcd and kube-apiserver on loopback, with users, rights and etcd's own history as truth.
//! * [`WatchscopeBinary`]: one run to its end, or a server with its link.
//! * [`Browser`]: Chromium through chromedriver, with its console and pictures.
//! * [`RemoteBrowser`]: Chromium or Firefox without a network, which reports each request.
//! * [`Feeder`], [`stage`]: a cluster that says what it is told, and what the browser benchmarks share.
//! * [`page_weight`]: what a browser fetches before the first paint.
//! * [`reading`]: watchscope's way from a socket into the log, in this process.
//! * [`change_load`]: the changes of a busy cluster, as they are sealed; [`anatomy`]: what their bytes are spent on.
//! * [`pod_load`]: Pods of a real apiserver that are started.
//! * [`usage`]: processor time and memory of a process.
//! * [`Exposition`]: a strict reader of `/metrics`.
//! * [`eventually()`]: look again until it holds; the only waiting there is.
//! * [`or_skip!`]: a test that cannot have what it needs says so and is counted.
//!
//! Everything started here lies in a folder of its own, listens on loopback, and is gone when its
//! value is dropped; [`Process`] says what happens when the tests themselves are killed.

pub mod anatomy;
mod browser;
pub mod change_file;
pub mod change_load;
mod eventually;
mod exposition;
mod feeder;
pub mod kube;
mod lifeline;
pub mod page_weight;
pub mod pod_load;
mod ports;
mod process;
pub mod reading;
mod remote;
mod served;
mod skip;
pub mod stage;
pub mod usage;
mod watchscope;

pub use browser::{Browser, BrowserTools};
pub use eventually::{eventually, patient};
pub use exposition::{Exposition, ExpositionForm, Series};
pub use feeder::Feeder;
pub use kube::{ClusterOptions, KubeCluster, KubeTools, SecondApiserver};
pub use ports::free_port;
pub use process::{Finished, Process, finish};
pub use remote::{Kind as BrowserKind, RemoteBrowser};
pub use served::{Records, Served};
pub use skip::{Missing, said_to_skip};
pub use watchscope::{Launch, Link, Terminal, Watchscope, WatchscopeBinary};
