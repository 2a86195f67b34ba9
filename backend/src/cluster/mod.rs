//! Which cluster is used, with which credentials, and what it serves.
//!
//! A [`ConfigSource`] (kubectl's rules, or a bare URL) gives a [`ClusterConfig`]. A [`Cluster`] makes [`Session`]s from it.
//! Each session is one generation of TLS settings and credentials; it is rebuilt from the source if the server answers 401,
//! or if the client certificate expires. [`Client`] makes small requests. [`Discovery`] keeps the [`Catalog`] of resources.
//! [`apiservers()`] finds the servers. kube provides configuration, credentials and TLS settings; `transport` provides the
//! connection.

mod apiservers;
mod catalog;
mod client;
mod config;
mod credentials;
mod discovery;
mod environment;
mod session;

#[cfg(test)]
mod tests;

pub use apiservers::{ApiserversError, MAX_APISERVERS, apiservers};
pub use catalog::{ApiPart, Catalog, DiscoveryFailure, ResolveError, Resource};
pub use client::{Answer, Client, ClientError, ServerVersion};
pub use config::{ClusterConfig, ConfigError, ConfigLookup, ConfigSource, ContextEntry};
pub use credentials::CredentialError;
pub use discovery::{Discovery, DiscoveryError, served};
pub use environment::Environment;
pub use session::{Cluster, Session};
