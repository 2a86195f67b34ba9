//! Loads the configuration of a cluster by kubectl's rules.

use std::fmt::Write as _;
use std::io;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use http::Uri;
use kube::config::{
    AuthInfo, ExecConfig, ExecInteractiveMode, InClusterError, Kubeconfig, KubeconfigError,
};

use super::environment::Environment;
use crate::transport::{Endpoint, EndpointError, Proxy, ProxyError};

/// The most bytes of a kubeconfig; a larger one is refused. etcd could not even hold it in a Secret.
const MAX_KUBECONFIG_BYTES: u64 = 8 * 1024 * 1024;

/// The source of the configuration. It is kept, because it is read again when credentials fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// kubectl's rules.
    Lookup(ConfigLookup),
    /// One server without credentials, such as the simulator.
    Url(Uri),
}

/// kubectl's rules: the given file, else `KUBECONFIG`, else `~/.kube/config`, else the pod's own configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigLookup {
    /// `--kubeconfig`: only this file is read.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`: used instead of the current context.
    pub context: Option<String>,
    /// The environment variables.
    pub environment: Environment,
}

/// A cluster to connect to.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// The context's name; none in a cluster and for a bare URL.
    pub context: Option<String>,
    /// The cluster's name in the kubeconfig, `in-cluster`, or the host of a bare URL.
    pub cluster: String,
    /// The namespace of the context, or `default`.
    pub namespace: String,
    /// The server.
    pub endpoint: Endpoint,
    /// The proxy to connect through.
    pub proxy: Option<Proxy>,
    /// Whether this is the configuration of the pod that we run in, and not a kubeconfig.
    pub is_in_cluster: bool,
    /// Whether the kubeconfig switches off verification of the server's certificate.
    pub is_insecure: bool,
    /// Whether credentials come without a person: no plugin runs, or only one that its kubeconfig marks with
    /// `interactiveMode: Never`. Any other may ask in the terminal or open a browser.
    pub asks_nobody: bool,
    /// All contexts of the kubeconfig.
    pub contexts: Vec<ContextEntry>,
    /// kube's configuration, with credentials and TLS.
    pub(super) kube: kube::Config,
}

/// One context of a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextEntry {
    /// Its name.
    pub name: String,
    /// Its cluster's name.
    pub cluster: String,
    /// Its namespace, if it names one.
    pub namespace: Option<String>,
}

/// Why there is no cluster to connect to.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No configuration was found.
    #[error(
        "no kubeconfig found and not in a cluster: {looked}. \
         Give one with --kubeconfig, or try `watchscope demo`, which needs none"
    )]
    NotFound {
        /// The places that were searched, and what was found there.
        looked: String,
    },
    /// A file cannot be read.
    #[error("the kubeconfig {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is not a kubeconfig.
    #[error("the kubeconfig {} is not valid: {detail}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The fault, without the file's text, which may hold secrets.
        detail: String,
    },
    /// Two files cannot be merged.
    #[error("the files in KUBECONFIG cannot be merged: {detail}")]
    Merge {
        /// The fault.
        detail: String,
    },
    /// No context is chosen.
    #[error(
        "{files} names no current context; choose one with --context: {}",
        names(contexts)
    )]
    NoCurrentContext {
        /// The files that were read.
        files: String,
        /// The contexts to choose from.
        contexts: Vec<ContextEntry>,
    },
    /// The chosen context does not exist.
    #[error("{files} has no context {context}; it has: {}", names(contexts))]
    UnknownContext {
        /// The files that were read.
        files: String,
        /// The chosen context, or the current one.
        context: String,
        /// The contexts to choose from.
        contexts: Vec<ContextEntry>,
    },
    /// The chosen context cannot be used.
    #[error("the context {context} in {files} cannot be used: {detail}")]
    UnusableContext {
        /// The files that were read.
        files: String,
        /// The context.
        context: String,
        /// The reason.
        detail: String,
        /// The contexts to choose from.
        contexts: Vec<ContextEntry>,
    },
    /// We run in a pod, but its configuration cannot be used.
    #[error(
        "in a cluster (KUBERNETES_SERVICE_HOST is set), but its configuration cannot be used: {0}"
    )]
    InCluster(#[source] InClusterError),
    /// The server's URL is wrong.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The proxy's URL is wrong.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
}

impl ConfigError {
    /// The reason, as a sentence for the page. The page lists the contexts itself.
    pub fn reason(&self) -> String {
        match self {
            Self::NoCurrentContext { files, .. } => format!("{files} names no current context."),
            Self::UnknownContext { files, context, .. } => {
                format!("{files} has no context {context}.")
            }
            other => format!("{other}."),
        }
    }

    /// The contexts to choose from, for the page.
    pub fn contexts(&self) -> &[ContextEntry] {
        match self {
            Self::NoCurrentContext { contexts, .. }
            | Self::UnknownContext { contexts, .. }
            | Self::UnusableContext { contexts, .. } => contexts,
            _ => &[],
        }
    }
}

impl ClusterConfig {
    /// The bytes that distinguish this cluster from others of the same name: its certificate authority, else its address.
    #[must_use]
    pub fn identity(&self) -> Vec<u8> {
        let kube = &self.kube;
        let in_file = || {
            let path = kube.root_cert_file.as_ref()?;
            std::fs::read(path).ok()
        };
        let authority = kube
            .root_cert
            .as_ref()
            .map(|certificates| certificates.concat());
        let authority = authority.or_else(in_file).filter(|bytes| !bytes.is_empty());
        authority.unwrap_or_else(|| self.endpoint.to_string().into_bytes())
    }
}

impl ConfigSource {
    /// Reads the configuration. It blocks on files, but runs no plugin and makes no connection.
    pub fn load(&self) -> Result<ClusterConfig, ConfigError> {
        match self {
            Self::Lookup(lookup) => lookup.load(),
            Self::Url(url) => {
                let endpoint = Endpoint::from_uri(url)?;
                Ok(ClusterConfig {
                    context: None,
                    cluster: endpoint.host.clone(),
                    namespace: "default".to_owned(),
                    endpoint,
                    proxy: None,
                    is_in_cluster: false,
                    is_insecure: false,
                    asks_nobody: true,
                    contexts: Vec::new(),
                    kube: kube::Config::new(url.clone()),
                })
            }
        }
    }

    /// Returns the same source, bound to the context that was found. So a later `kubectl config use-context` does not move a
    /// running watchscope to another cluster.
    pub(super) fn pinned_to(&self, config: &ClusterConfig) -> Self {
        match self {
            Self::Lookup(lookup) => Self::Lookup(ConfigLookup {
                context: config.context.clone(),
                ..lookup.clone()
            }),
            Self::Url(_) => self.clone(),
        }
    }
}

impl ConfigLookup {
    fn load(&self) -> Result<ClusterConfig, ConfigError> {
        let mut looked = String::new();
        let (kubeconfig, files) = self.read_files(&mut looked)?;
        let is_empty = kubeconfig.contexts.is_empty()
            && kubeconfig.clusters.is_empty()
            && kubeconfig
                .current_context
                .as_deref()
                .unwrap_or_default()
                .is_empty();
        if !is_empty {
            return self.in_kubeconfig(kubeconfig, files);
        }
        if self.kubeconfig.is_none()
            && self.context.is_none()
            && self.environment.service_host.is_some()
        {
            return self.in_pod();
        }
        if self.environment.service_host.is_none() {
            looked.push_str("KUBERNETES_SERVICE_HOST is not set");
        } else {
            looked.push_str("in-cluster configuration has no contexts and is not a file");
        }
        Err(ConfigError::NotFound { looked })
    }

    /// Reads and merges the files. A missing file is an error only if it was given by name.
    fn read_files(&self, looked: &mut String) -> Result<(Kubeconfig, String), ConfigError> {
        let environment = &self.environment;
        let paths: Vec<PathBuf> = if let Some(path) = &self.kubeconfig {
            let _ = write!(
                looked,
                "{} (--kubeconfig) has no contexts; ",
                path.display()
            );
            vec![path.clone()]
        } else if let Some(list) = &environment.kubeconfig {
            let _ = write!(looked, "KUBECONFIG={} has no contexts; ", list.display());
            std::env::split_paths(list)
                .filter(|path| !path.as_os_str().is_empty())
                .collect()
        } else if let Some(home) = &environment.home {
            let path = home.join(".kube").join("config");
            let _ = write!(
                looked,
                "KUBECONFIG is not set; {} is missing or empty; ",
                path.display()
            );
            vec![path]
        } else {
            looked.push_str("KUBECONFIG is not set; there is no home directory; ");
            Vec::new()
        };
        let mut merged = Kubeconfig::default();
        let mut files = Vec::new();
        for path in &paths {
            match read_file(path) {
                Ok(next) => {
                    merged = merged.merge(next).map_err(|error| ConfigError::Merge {
                        detail: error.to_string(),
                    })?;
                    files.push(path.display().to_string());
                }
                Err(ConfigError::Unreadable { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && self.kubeconfig.is_none() => {}
                Err(error) => return Err(error),
            }
        }
        Ok((merged, files.join(", ")))
    }

    fn in_kubeconfig(
        &self,
        mut kubeconfig: Kubeconfig,
        files: String,
    ) -> Result<ClusterConfig, ConfigError> {
        let contexts: Vec<ContextEntry> = kubeconfig
            .contexts
            .iter()
            .map(|named| ContextEntry {
                name: named.name.clone(),
                cluster: named
                    .context
                    .as_ref()
                    .map(|context| context.cluster.clone())
                    .unwrap_or_default(),
                namespace: named
                    .context
                    .as_ref()
                    .and_then(|context| context.namespace.clone()),
            })
            .collect();
        let wanted = self
            .context
            .clone()
            .or(kubeconfig.current_context.clone())
            .unwrap_or_default();
        if wanted.is_empty() {
            return Err(ConfigError::NoCurrentContext { files, contexts });
        }
        let Some(entry) = contexts.iter().find(|entry| entry.name == wanted).cloned() else {
            return Err(ConfigError::UnknownContext {
                files,
                context: wanted,
                contexts,
            });
        };
        let unusable = |detail: String| ConfigError::UnusableContext {
            files: files.clone(),
            context: wanted.clone(),
            detail,
            contexts: contexts.clone(),
        };
        let proxy_url = kubeconfig
            .clusters
            .iter()
            .find(|named| named.name == entry.cluster)
            .and_then(|named| named.cluster.as_ref())
            .and_then(|cluster| cluster.proxy_url.clone())
            .filter(|url| !url.is_empty());
        kubeconfig.current_context = Some(wanted.clone());
        let mut kube = kube::Config::try_from(kubeconfig)
            .map_err(|error| unusable(kubeconfig_text(error, &entry)))?;
        let asks_nobody = asks_nobody(&kube.auth_info);
        if let Some(exec) = &mut kube.auth_info.exec
            && exec.interactive_mode != Some(ExecInteractiveMode::Always)
            && !io::stdin().is_terminal()
        {
            // kubectl too treats IfAvailable (the default) as interactive only on a terminal.
            exec.interactive_mode = Some(ExecInteractiveMode::Never);
        }
        let endpoint =
            Endpoint::from_uri(&kube.cluster_url).map_err(|error| unusable(error.to_string()))?;
        let proxy = match &proxy_url {
            Some(url) => Some(Proxy::parse(url).map_err(|error| unusable(error.to_string()))?),
            None => self.environment.proxy_for(&endpoint)?,
        };
        Ok(ClusterConfig {
            context: Some(entry.name),
            cluster: entry.cluster,
            namespace: entry
                .namespace
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| "default".to_owned()),
            endpoint,
            proxy,
            is_in_cluster: false,
            is_insecure: kube.accept_invalid_certs,
            asks_nobody,
            contexts,
            kube,
        })
    }

    fn in_pod(&self) -> Result<ClusterConfig, ConfigError> {
        let kube = kube::Config::incluster().map_err(ConfigError::InCluster)?;
        let endpoint = Endpoint::from_uri(&kube.cluster_url)?;
        let proxy = self.environment.proxy_for(&endpoint)?;
        Ok(ClusterConfig {
            context: None,
            cluster: "in-cluster".to_owned(),
            namespace: kube.default_namespace.clone(),
            endpoint,
            proxy,
            is_in_cluster: true,
            is_insecure: false,
            asks_nobody: true,
            contexts: Vec::new(),
            kube,
        })
    }
}

fn asks_nobody(user: &AuthInfo) -> bool {
    let plugin = user.exec.as_ref();
    let may_ask = |exec: &ExecConfig| exec.interactive_mode != Some(ExecInteractiveMode::Never);
    user.auth_provider.is_none() && !plugin.is_some_and(may_ask)
}

fn read_file(path: &Path) -> Result<Kubeconfig, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let invalid = |detail: String| ConfigError::Invalid {
        path: path.to_owned(),
        detail,
    };
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > MAX_KUBECONFIG_BYTES {
        return Err(invalid(format!(
            "it has {length} bytes, more than {MAX_KUBECONFIG_BYTES}"
        )));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        // kube's reader takes UTF-16 in pairs of bytes, and does not check that the second byte exists.
        if bytes.len() % 2 == 1 {
            return Err(invalid(
                "it is UTF-16 cut in the middle of a character".to_owned(),
            ));
        }
    }
    Kubeconfig::read_from(path).map_err(|error| match error {
        KubeconfigError::ReadConfig(source, _) => unreadable(source),
        KubeconfigError::Parse(error) => invalid(first_line(&error.to_string())),
        other => invalid(other.to_string()),
    })
}

/// Returns kube's error about a context, with the names that kube leaves out.
fn kubeconfig_text(error: KubeconfigError, entry: &ContextEntry) -> String {
    match error {
        KubeconfigError::LoadClusterOfContext(name) if name.is_empty() => {
            "it names no cluster".to_owned()
        }
        KubeconfigError::LoadClusterOfContext(name) => format!("there is no cluster {name}"),
        KubeconfigError::MissingClusterUrl => {
            format!("the cluster {} has no server", entry.cluster)
        }
        other => other.to_string(),
    }
}

fn names(contexts: &[ContextEntry]) -> String {
    if contexts.is_empty() {
        return "none".to_owned();
    }
    contexts
        .iter()
        .map(|entry| entry.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the parser's first line, which has fault and place. The lines below quote the file.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
