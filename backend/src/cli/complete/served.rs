//! Candidates that come from a kubeconfig and its cluster: contexts, namespaces, resources.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::answer::Candidate;
use super::cache::Kept;
use crate::cluster::{Catalog, Client, Cluster, ConfigError, ConfigSource, ContextEntry, served};
use crate::probes::DEFAULT_RESOURCES;
use crate::transport::{DialLimits, Protocols};

/// The time that a cluster has to answer. A person notices a longer one.
const CLUSTER_HAS: Duration = Duration::from_millis(500);

/// A resource as it is kept and offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Offered {
    /// The shortest name that means this resource: its plural, if no other group takes precedence.
    name: String,
    /// The name with its group.
    full_name: String,
    /// The kind of its objects.
    kind: String,
    /// The short names that mean it.
    short_names: Vec<String>,
}

/// Returns the contexts of the kubeconfig, also if none is chosen.
pub(super) fn contexts(source: &ConfigSource) -> Vec<Candidate> {
    let contexts = match source.load() {
        Ok(config) => config.contexts,
        Err(error) => ConfigError::contexts(&error).to_vec(),
    };
    let candidate = |context: ContextEntry| {
        let namespace = context.namespace.filter(|name| !name.is_empty());
        let place = namespace.map_or_else(String::new, |name| format!(", namespace {name}"));
        Candidate::new(context.name, format!("cluster {}{place}", context.cluster))
    };
    contexts.into_iter().map(candidate).collect()
}

/// Returns the namespaces of the cluster.
pub(super) async fn namespaces(source: &ConfigSource) -> Vec<Candidate> {
    let names = kept_or_asked(source, "namespaces", async |client: Arc<Client>| {
        client.namespaces().await.ok()
    });
    let names: Vec<String> = names.await.unwrap_or_default();
    let names = names.into_iter().filter(|name| is_a_name(name));
    names.map(|name| Candidate::new(name, "")).collect()
}

/// Returns the resources that can be watched, by the names that fit the letters typed so far. While no cluster answers,
/// these are the ones that `serve` watches by itself.
pub(super) async fn resources(source: &ConfigSource, typed: &str) -> Vec<Candidate> {
    let offered = kept_or_asked(source, "resources", async |client: Arc<Client>| {
        let catalog = served(&client).await.ok()?;
        Some(offered(&catalog))
    });
    match offered.await {
        Some(offered) => named(&offered, typed),
        None => {
            let usual = DEFAULT_RESOURCES.iter();
            usual.map(|name| Candidate::new(*name, "")).collect()
        }
    }
}

/// Returns the kept answer, or asks the cluster and keeps its answer. `None` if there is no cluster, if it does not answer in
/// time, or if its credentials may come from a person.
async fn kept_or_asked<T: Serialize + DeserializeOwned>(
    source: &ConfigSource,
    what: &str,
    ask: impl AsyncFnOnce(Arc<Client>) -> Option<T>,
) -> Option<T> {
    let config = source.load().ok()?;
    let kept = Kept::of(&config, what);
    if let Some(answer) = kept.as_ref().and_then(Kept::read) {
        return Some(answer);
    }
    if !config.asks_nobody {
        return None;
    }
    let limits = DialLimits::default();
    let cluster = Cluster::new(source, config, Protocols::Http2, limits);
    let client = Arc::new(Client::new(Arc::new(cluster)));
    let answer = timeout(CLUSTER_HAS, ask(client)).await.ok()??;
    if let Some(kept) = kept {
        // Without a cache the next Tab asks again.
        let _ = kept.write(&answer);
    }
    Some(answer)
}

fn offered(catalog: &Catalog) -> Vec<Offered> {
    let watchable = catalog.watchable();
    let offered = watchable.map(|resource| {
        let full_name = resource.full_name();
        let means_it = |name: &str| {
            let meant = catalog.resolve(name);
            meant.is_ok_and(|meant| meant.full_name() == full_name)
        };
        let name = if means_it(&resource.plural) {
            resource.plural.clone()
        } else {
            full_name.clone()
        };
        let short_names = resource.short_names.iter();
        Offered {
            name,
            kind: resource.kind.clone(),
            short_names: short_names.filter(|name| means_it(name)).cloned().collect(),
            full_name,
        }
    });
    let are_names = |offered: &Offered| is_a_name(&offered.full_name);
    offered.filter(are_names).collect()
}

/// Returns names for the typed letters, and leaves it to the caller to drop those that do not fit. A short name comes only
/// once a letter is typed. A full name comes only where the shorter one does not fit, so each resource is listed once.
fn named(offered: &[Offered], typed: &str) -> Vec<Candidate> {
    let mut names = Vec::new();
    for resource in offered {
        let is_short = |name: &&String| !typed.is_empty() && name.starts_with(typed);
        for short in resource.short_names.iter().filter(is_short) {
            if is_a_name(short) {
                names.push(Candidate::new(
                    short,
                    format!("short for {}", resource.name),
                ));
            }
        }
        let name = if resource.name.starts_with(typed) {
            &resource.name
        } else {
            &resource.full_name
        };
        names.push(Candidate::new(name, &resource.kind));
    }
    names
}

/// Whether a server's text is a name as Kubernetes has them. Any other could mean something to a shell.
fn is_a_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_allowed)
}
