//! Which cluster, how to be let in, and what it serves.
//!
//! A [`ConfigSource`] (kubectl's look-up, or a bare URL) becomes a [`ClusterConfig`]; a [`Cluster`]
//! turns that into [`Session`]s, each a generation of TLS settings and credentials, rebuilt from
//! the source when the server answers 401 or the client certificate runs out. [`Client`] makes
//! small plain requests; [`Discovery`] keeps the [`Catalog`] of what can be watched; [`apiservers()`] finds out who serves it.
//! Configuration, credentials and TLS settings are kube's; the connection is `transport`'s.

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
pub use discovery::{Discovery, DiscoveryError};
pub use environment::Environment;
pub use session::{Cluster, Session};
