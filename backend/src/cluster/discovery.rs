//! Discovery: asks a cluster which resources it serves. It uses aggregated discovery (KEP-3352, stable in 1.30), else the
//! form with one request for each group, which every version has. It also finds which of them other apiservers serve, since
//! neither form shows that.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::catalog::{ApiPart, Catalog, DiscoveryFailure, Resource};
use super::client::{Answer, Client, ClientError};

/// The accepted forms, newest first. Servers before 1.26 ignore all but the last.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                          application/json";

/// The API group in which a cluster registers the server of each group version.
const REGISTRATION: &str = "apiregistration.k8s.io";

/// Groups that always have an apiserver of their own: `OpenShift`'s projects are a view of namespaces. Accounts that may
/// only see their own projects may not ask which server serves them.
const ALWAYS_AGGREGATED: [&str; 1] = ["project.openshift.io"];

/// The most bytes of an answer; a larger one is refused. A thousand CRDs make about 1 MB.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The discovery of one cluster, which keeps the latest catalogue. Bounded by what the server serves, at most 64 MiB an
/// answer.
#[derive(Debug)]
pub struct Discovery {
    client: Arc<Client>,
    /// Locked during a round of requests, so that callers which arrive meanwhile share its result.
    latest: Mutex<Option<(Instant, Arc<Catalog>)>>,
}

/// Error: nothing about the cluster's resources is known.
#[derive(Debug, thiserror::Error)]
#[error("cannot ask the server what it serves: {0}")]
pub struct DiscoveryError(#[from] pub ClientError);

impl Discovery {
    /// Makes a discovery that has sent no request yet.
    pub fn new(client: Arc<Client>) -> Self {
        Self {
            client,
            latest: Mutex::new(None),
        }
    }

    /// Returns the catalogue. It asks the server again if the kept one is older than `max_age`; zero always asks. While a
    /// group does not answer, its earlier resources stay in the catalogue, together with the failure. On an error the kept
    /// catalogue stays for the next caller that accepts it.
    pub async fn refresh(&self, max_age: Duration) -> Result<Arc<Catalog>, DiscoveryError> {
        let mut latest = self.latest.lock().await;
        if let Some((at, catalog)) = &*latest
            && at.elapsed() < max_age
        {
            return Ok(Arc::clone(catalog));
        }
        let mut catalog = ask(&self.client).await?;
        let before = latest.as_ref().map(|(_, before)| &**before);
        if let Some(before) = before {
            keep_unanswered(&mut catalog, before);
        }
        let aggregated = ask_aggregated(&self.client, &catalog).await?;
        mark_aggregated(&mut catalog, aggregated.as_ref(), before);
        let catalog = Arc::new(catalog);
        *latest = Some((Instant::now(), Arc::clone(&catalog)));
        Ok(catalog)
    }
}

/// Returns what the server serves, with the fewest requests: it does not find out which resources other apiservers serve.
///
/// # Errors
/// If nothing about the cluster's resources can be known.
pub async fn served(client: &Client) -> Result<Catalog, DiscoveryError> {
    Ok(ask(client).await?)
}

async fn ask(client: &Client) -> Result<Catalog, ClientError> {
    let mut catalog = Catalog::default();
    let mut refused = None;
    let mut answers = 0;
    for root in ["/api", "/apis"] {
        let read = match client
            .get(root, AGGREGATED, MAX_ANSWER_BYTES)
            .await?
            .json::<Root>(root)
        {
            Ok(read) => read,
            Err(error) => {
                let part = if root == "/api" {
                    ApiPart::CoreGroup
                } else {
                    ApiPart::NamedGroups
                };
                catalog.failures.push(DiscoveryFailure {
                    part,
                    reason: reason_of(&error),
                });
                refused.get_or_insert(error);
                continue;
            }
        };
        answers += 1;
        match read {
            Root::Aggregated { items } => {
                for group in items {
                    add_aggregated(&mut catalog, group);
                }
            }
            Root::Versions { versions } => {
                for version in versions {
                    add_legacy(client, &mut catalog, "", &version).await?;
                }
            }
            Root::Groups { groups } => {
                for group in groups {
                    for version in group.versions_in_order() {
                        add_legacy(client, &mut catalog, &group.name, &version).await?;
                    }
                }
            }
        }
    }
    match refused {
        Some(error) if answers == 0 => Err(error),
        _ => Ok(catalog),
    }
}

/// Returns the group versions that another apiserver serves (an `APIService` with `spec.service`). `None` if they may not be
/// read: then all groups count as the cluster's own, as nearly all are.
async fn ask_aggregated(
    client: &Client,
    catalog: &Catalog,
) -> Result<Option<BTreeSet<(String, String)>>, ClientError> {
    let is_it =
        |resource: &&Resource| resource.group == REGISTRATION && resource.plural == "apiservices";
    let Some(services) = catalog.resources.iter().find(is_it) else {
        return Ok(None);
    };
    let path = services.collection_path(None);
    let answer = client
        .get(&path, "application/json", MAX_ANSWER_BYTES)
        .await?;
    let Ok(list) = answer.json::<ApiServices>(&path) else {
        return Ok(None);
    };
    let by_others = list.items.into_iter().map(|service| service.spec);
    let by_others = by_others.filter(|spec| spec.service.is_some());
    let group_versions = by_others.map(|spec| (spec.group, spec.version));
    Ok(Some(group_versions.collect()))
}

/// Marks the resources that other apiservers serve: by the answer, else as the catalogue `before` has them.
fn mark_aggregated(
    catalog: &mut Catalog,
    answered: Option<&BTreeSet<(String, String)>>,
    before: Option<&Catalog>,
) {
    let is_known = |resource: &Resource| {
        let same = |other: &&Resource| {
            (&other.group, &other.version) == (&resource.group, &resource.version)
        };
        let before = before.and_then(|before| before.resources.iter().find(same));
        before.is_some_and(|before| before.is_aggregated)
    };
    for resource in &mut catalog.resources {
        let is_aggregated = match answered {
            Some(all) => all.contains(&(resource.group.clone(), resource.version.clone())),
            None => is_known(resource),
        };
        resource.is_aggregated =
            is_aggregated || ALWAYS_AGGREGATED.contains(&resource.group.as_str());
    }
}

fn add_aggregated(catalog: &mut Catalog, group: AggregatedGroup) {
    let AggregatedGroup {
        metadata: Metadata { name: group_name },
        versions,
    } = group;
    for version in versions {
        if version.freshness.as_deref() == Some("Stale") {
            let part = ApiPart::Version {
                group: group_name.clone(),
                version: version.version.clone(),
            };
            let reason = "the server that serves it does not answer".to_owned();
            catalog.failures.push(DiscoveryFailure { part, reason });
        }
        for resource in version.resources {
            let kind = resource.response_kind.map(|of| of.kind).unwrap_or_default();
            catalog.resources.push(Resource {
                group: group_name.clone(),
                version: version.version.clone(),
                singular: singular_of(resource.singular_resource, &kind),
                plural: resource.resource,
                kind,
                short_names: resource.short_names,
                is_namespaced: resource.scope == "Namespaced",
                verbs: resource.verbs,
                is_aggregated: false,
            });
        }
    }
}

/// Adds one group version in the old form. A failure concerns only this version, unless the server cannot be reached any
/// more.
async fn add_legacy(
    client: &Client,
    catalog: &mut Catalog,
    group: &str,
    version: &str,
) -> Result<(), ClientError> {
    let path = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    let answer: Answer = client
        .get(&path, "application/json", MAX_ANSWER_BYTES)
        .await?;
    let list: LegacyList = match answer.json(&path) {
        Ok(list) => list,
        Err(error) => {
            let part = ApiPart::Version {
                group: group.to_owned(),
                version: version.to_owned(),
            };
            catalog.failures.push(DiscoveryFailure {
                part,
                reason: reason_of(&error),
            });
            return Ok(());
        }
    };
    for resource in list.resources {
        // Subresources are listed among the resources.
        if resource.name.contains('/') {
            continue;
        }
        catalog.resources.push(Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            singular: singular_of(resource.singular_name, &resource.kind),
            plural: resource.name,
            kind: resource.kind,
            short_names: resource.short_names,
            is_namespaced: resource.namespaced,
            verbs: resource.verbs,
            is_aggregated: false,
        });
    }
    Ok(())
}

/// Copies resources from `before` that belong to a part which failed now.
fn keep_unanswered(catalog: &mut Catalog, before: &Catalog) {
    let is_known = |catalog: &Catalog, resource: &Resource| {
        catalog.resources.iter().any(|other| {
            (&other.group, &other.version, &other.plural)
                == (&resource.group, &resource.version, &resource.plural)
        })
    };
    for resource in &before.resources {
        let is_unanswered = catalog
            .failures
            .iter()
            .any(|failure| failure.part.holds(resource));
        if is_unanswered && !is_known(catalog, resource) {
            catalog.resources.push(resource.clone());
        }
    }
}

fn reason_of(error: &ClientError) -> String {
    match error {
        ClientError::Status { status, .. } => status.to_string(),
        other => other.to_string(),
    }
}

/// Returns the singular name. Old servers leave it out; then it is the kind in lower case.
fn singular_of(singular: String, kind: &str) -> String {
    if singular.is_empty() {
        kind.to_ascii_lowercase()
    } else {
        singular
    }
}

/// The possible answers of `/api` and `/apis`; each form has a field of its own.
#[derive(Deserialize)]
#[serde(untagged)]
enum Root {
    Aggregated { items: Vec<AggregatedGroup> },
    Versions { versions: Vec<String> },
    Groups { groups: Vec<LegacyGroup> },
}

#[derive(Deserialize)]
struct AggregatedGroup {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<AggregatedVersion>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    /// Missing for the core group.
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct AggregatedVersion {
    version: String,
    #[serde(default)]
    resources: Vec<AggregatedResource>,
    freshness: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AggregatedResource {
    resource: String,
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyGroup {
    name: String,
    #[serde(default)]
    versions: Vec<LegacyVersion>,
    preferred_version: Option<LegacyVersion>,
}

impl LegacyGroup {
    fn versions_in_order(&self) -> Vec<String> {
        let preferred = self.preferred_version.iter().chain(&self.versions);
        let mut ordered: Vec<String> = Vec::new();
        for version in preferred {
            if !ordered.contains(&version.version) {
                ordered.push(version.version.clone());
            }
        }
        ordered
    }
}

#[derive(Deserialize)]
struct LegacyVersion {
    version: String,
}

#[derive(Deserialize)]
struct LegacyList {
    #[serde(default)]
    resources: Vec<LegacyResource>,
}

#[derive(Deserialize)]
struct ApiServices {
    #[serde(default)]
    items: Vec<ApiService>,
}

#[derive(Deserialize)]
struct ApiService {
    spec: ApiServiceSpec,
}

#[derive(Deserialize)]
struct ApiServiceSpec {
    #[serde(default)]
    group: String,
    #[serde(default)]
    version: String,
    /// The address of that apiserver. It is missing for groups that the cluster itself serves, including custom resources.
    service: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LegacyResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}
