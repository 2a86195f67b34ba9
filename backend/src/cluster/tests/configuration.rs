//! Kubeconfigs, valid and broken.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::cluster::{ClusterConfig, ConfigError, ConfigLookup, ConfigSource, Environment};

const GOOD: &str = "
current-context: prod
clusters:
- {name: p, cluster: {server: 'https://prod.example:6443'}}
- {name: d, cluster: {server: 'https://dev.example', proxy-url: 'socks5://proxy.example:1080'}}
contexts:
- {name: prod, context: {cluster: p, user: u, namespace: shop}}
- {name: dev, context: {cluster: d, user: u}}
users:
- {name: u, user: {token: s3cret}}
";

/// Loads with `kubeconfig` as `~/.kube/config`, and a context if one is given.
fn load(kubeconfig: &str, context: Option<&str>) -> Result<ClusterConfig, ConfigError> {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join(".kube")).unwrap();
    fs::write(home.path().join(".kube/config"), kubeconfig).unwrap();
    let loaded = lookup(home.path(), |lookup| {
        lookup.context = context.map(str::to_owned)
    });
    loaded.map_err(|error| match error {
        // The name of the folder differs in each run.
        ConfigError::NoCurrentContext { contexts, .. } => ConfigError::NoCurrentContext {
            files: "~/.kube/config".into(),
            contexts,
        },
        ConfigError::UnknownContext {
            context, contexts, ..
        } => ConfigError::UnknownContext {
            files: "~/.kube/config".into(),
            context,
            contexts,
        },
        ConfigError::UnusableContext {
            context,
            detail,
            contexts,
            ..
        } => ConfigError::UnusableContext {
            files: "~/.kube/config".into(),
            context,
            detail,
            contexts,
        },
        ConfigError::Invalid { detail, .. } => ConfigError::Invalid {
            path: "~/.kube/config".into(),
            detail,
        },
        other => other,
    })
}

fn lookup(
    home: &Path,
    change: impl FnOnce(&mut ConfigLookup),
) -> Result<ClusterConfig, ConfigError> {
    let environment = Environment {
        home: Some(home.to_owned()),
        ..Environment::default()
    };
    let mut lookup = ConfigLookup {
        environment,
        ..ConfigLookup::default()
    };
    change(&mut lookup);
    ConfigSource::Lookup(lookup).load()
}

#[test]
fn the_current_context_is_used_unless_another_is_named() {
    let prod = load(GOOD, None).unwrap();
    assert_eq!(
        (
            prod.context.as_deref(),
            prod.cluster.as_str(),
            prod.namespace.as_str()
        ),
        (Some("prod"), "p", "shop")
    );
    assert_eq!(prod.endpoint.to_string(), "https://prod.example:6443");
    assert!(prod.proxy.is_none() && !prod.is_in_cluster && !prod.is_insecure);
    assert_eq!(
        prod.contexts
            .iter()
            .map(|entry| entry.name.as_str())
            .collect::<Vec<_>>(),
        ["prod", "dev"]
    );

    let dev = load(GOOD, Some("dev")).unwrap();
    assert_eq!(
        (dev.cluster.as_str(), dev.namespace.as_str()),
        ("d", "default")
    );
    assert_eq!(dev.endpoint.to_string(), "https://dev.example:443");
    assert_eq!(
        dev.proxy.unwrap().to_string(),
        "socks5://proxy.example:1080"
    );
}

#[test]
fn only_a_plugin_in_the_mode_never_is_known_to_ask_nobody() {
    let asks_nobody = |user: &str| {
        let text = GOOD.replace("{token: s3cret}", user);
        load(&text, None).unwrap().asks_nobody
    };
    let plugin = |mode: &str| {
        let mode = format!("{{exec: {{apiVersion: v1, command: x{mode}}}}}");
        asks_nobody(&mode)
    };
    assert!(asks_nobody("{token: s3cret}") && asks_nobody("{}"));
    assert!(plugin(", interactiveMode: Never"));
    assert!(!plugin(""), "IfAvailable is the default");
    assert!(!plugin(", interactiveMode: IfAvailable"));
    assert!(!plugin(", interactiveMode: Always"));
    assert!(!asks_nobody("{auth-provider: {name: gcp, config: {}}}"));
}

#[test]
fn if_nothing_is_found_the_error_lists_the_searched_places() {
    let home = TempDir::new().unwrap();
    let error = lookup(home.path(), |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "no kubeconfig found and not in a cluster: KUBECONFIG is not set; {}/.kube/config is missing or empty; \
             KUBERNETES_SERVICE_HOST is not set. \
             Give one with --kubeconfig, or try `watchscope demo`, which needs none",
            home.path().display()
        )
    );
    let error = lookup(home.path(), |lookup| {
        lookup.environment.kubeconfig = Some(OsString::from("/nowhere/a:/nowhere/b"));
    });
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains("in a cluster: KUBECONFIG=/nowhere/a:/nowhere/b has no contexts; KUBERNETES"),
        "{text}"
    );
    let empty = home.path().join("empty");
    fs::write(&empty, "").unwrap();
    let text = lookup(home.path(), |lookup| {
        lookup.kubeconfig = Some(empty.clone())
    })
    .unwrap_err()
    .to_string();
    assert!(
        text.contains(&format!(
            "{} (--kubeconfig) has no contexts",
            empty.display()
        )),
        "{text}"
    );
}

#[test]
fn a_file_given_by_name_must_be_there_and_be_a_file() {
    let home = TempDir::new().unwrap();
    for path in [home.path().join("missing"), home.path().to_owned()] {
        let error =
            lookup(home.path(), |lookup| lookup.kubeconfig = Some(path.clone())).unwrap_err();
        assert!(matches!(error, ConfigError::Unreadable { .. }), "{error:?}");
        assert!(error.to_string().starts_with(&format!(
            "the kubeconfig {} cannot be read: ",
            path.display()
        )));
    }
}

#[test]
fn the_files_of_kubeconfig_are_merged_and_missing_ones_ignored() {
    let home = TempDir::new().unwrap();
    let at = |name: &str| {
        home.path()
            .join(name)
            .into_os_string()
            .into_string()
            .unwrap()
    };
    fs::write(at("first"), "current-context: dev\nclusters:\n- {name: d, cluster: {server: 'https://first.example'}}\n").unwrap();
    fs::write(at("second"), GOOD).unwrap();
    let list = format!("{}::{}:{}", at("missing"), at("first"), at("second"));
    let config = lookup(home.path(), |lookup| {
        lookup.environment.kubeconfig = Some(list.into())
    })
    .unwrap();
    assert_eq!(config.context.as_deref(), Some("dev"));
    assert_eq!(
        config.endpoint.host, "first.example",
        "the first file to name a cluster wins"
    );
    assert_eq!(config.contexts.len(), 2);
}

#[test]
fn without_a_usable_context_the_error_lists_all_contexts() {
    let without = GOOD.replace("current-context: prod", "current-context: ''");
    let error = load(&without, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "~/.kube/config names no current context; choose one with --context: prod, dev"
    );
    assert_eq!(error.reason(), "~/.kube/config names no current context.");
    assert_eq!(error.contexts().len(), 2);
    assert_eq!(load(&without, Some("dev")).unwrap().cluster, "d");

    let error = load(GOOD, Some("test")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "~/.kube/config has no context test; it has: prod, dev"
    );
    assert_eq!(error.reason(), "~/.kube/config has no context test.");
    assert_eq!(error.contexts()[1].cluster, "d");
}

#[test]
fn an_unusable_context_is_refused_with_the_reason() {
    for (from, to, why) in [
        ("{cluster: p,", "{cluster: q,", "there is no cluster q"),
        ("{cluster: p,", "{cluster: '',", "it names no cluster"),
        (
            "server: 'https://prod.example:6443'",
            "insecure-skip-tls-verify: true",
            "the cluster p has no server",
        ),
        (
            "https://prod.example:6443",
            "prod.example:6443",
            "the server URL prod.example:6443 has no http:// or https:// in front",
        ),
        (
            "https://prod.example:6443",
            "https://prod example",
            "failed to parse cluster url: invalid uri character",
        ),
        (
            "server: 'https://prod.example:6443'",
            "server: 'https://x', proxy-url: 'ftp://me:secret@x'",
            "the proxy URL's scheme ftp is not http, https or socks5",
        ),
        (
            "server: 'https://prod.example:6443'",
            "server: 'https://x', certificate-authority: /nowhere/ca.crt",
            "failed to load certificate authority: failed to read file '\"/nowhere/ca.crt\"': No such file or directory (os error 2)",
        ),
    ] {
        assert!(GOOD.contains(from));
        let error = load(&GOOD.replace(from, to), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the context prod in ~/.kube/config cannot be used: {why}")
        );
        assert_eq!(error.contexts().len(), 2, "the page may offer the others");
    }
}

#[test]
fn a_file_that_is_no_kubeconfig_is_refused_without_quoting_it() {
    for broken in [
        "users:\n- {name: u, user: {token: [s3cret]}}\n",
        "users: s3cret",
        "\"s3cret",
        "users:\n- name: u\n  user:\n   token: s3cret\n  broken: : s3cret\n",
        "s3cret: *s3cret",
        "- s3cret",
    ] {
        let error = load(broken, None).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("the kubeconfig ~/.kube/config is not valid: "),
            "{text}"
        );
        assert!(!text.contains("s3cret"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
}

#[test]
fn files_that_would_break_the_reader_are_refused_before_it() {
    let folder = TempDir::new().unwrap();
    let torn = folder.path().join("torn");
    fs::write(&torn, [0xff, 0xfe, b'a']).unwrap();
    let monster = folder.path().join("monster");
    fs::File::create(&monster)
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    for (path, expected) in [(torn, "UTF-16 cut"), (monster, "more than 8388608")] {
        let error = lookup(folder.path(), |lookup| lookup.kubeconfig = Some(path)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_pod_without_a_service_accounts_files_says_so() {
    // Inside a pod these files exist, and this test cannot cover that.
    if Path::new("/var/run/secrets/kubernetes.io/serviceaccount").exists() {
        return;
    }
    let home = TempDir::new().unwrap();
    let error = lookup(home.path(), |lookup| {
        lookup.environment.service_host = Some("10.0.0.1".into())
    })
    .unwrap_err();
    assert!(matches!(error, ConfigError::InCluster(_)), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with("in a cluster (KUBERNETES_SERVICE_HOST is set), but "),
        "{error}"
    );
}

#[test]
fn a_kubeconfigs_proxy_takes_precedence_over_the_environments() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("config");
    fs::write(&path, GOOD).unwrap();
    let proxy_of = |context: &str, no_proxy: &str| {
        let config = lookup(home.path(), |lookup| {
            lookup.kubeconfig = Some(path.clone());
            lookup.context = Some(context.to_owned());
            lookup.environment.https_proxy = Some("http://from.environment:3128".into());
            lookup.environment.no_proxy = Some(no_proxy.to_owned());
        });
        config.unwrap().proxy.map(|proxy| proxy.host)
    };
    assert_eq!(proxy_of("prod", "").as_deref(), Some("from.environment"));
    assert_eq!(proxy_of("prod", "example"), None);
    assert_eq!(
        proxy_of("dev", "example").as_deref(),
        Some("proxy.example"),
        "NO_PROXY does not concern proxy-url"
    );
}

#[test]
fn a_bare_url_is_a_cluster_without_credentials() {
    let config = ConfigSource::Url("http://127.0.0.1:8001".parse().unwrap())
        .load()
        .unwrap();
    assert_eq!(
        (config.cluster.as_str(), config.namespace.as_str()),
        ("127.0.0.1", "default")
    );
    assert!(
        ConfigSource::Url("localhost:80".parse().unwrap())
            .load()
            .is_err()
    );
}
