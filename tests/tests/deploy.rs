//! `deploy/watchscope.yaml` on a real apiserver: the server accepts it, and its account may read the listed resources
//! only.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use watchscope_tests::{
    KubeCluster, KubeTools, Served, WatchscopeBinary, eventually, or_skip, project_root,
};

use crate::writer::Writer;

const LONG: Duration = Duration::from_secs(60);
const ACCOUNT: &str = "system:serviceaccount:watchscope:watchscope";

fn manifest() -> PathBuf {
    project_root().join("deploy/watchscope.yaml")
}

/// Returns all objects of the manifest.
async fn objects(cluster: &KubeCluster) -> Result<Vec<Value>> {
    let path = manifest();
    let path = path.to_str().context("UTF-8")?;
    let arguments = ["apply", "--dry-run=client", "-o", "json", "-f", path];
    let list: Value = serde_json::from_str(&cluster.kubectl().run(&arguments).await?)?;
    Ok(list["items"].as_array().context("a list")?.clone())
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Result<&'a Value> {
    let found = objects.iter().find(|object| object["kind"] == kind);
    found.with_context(|| format!("the manifest has a {kind}"))
}

#[tokio::test]
async fn the_manifest_is_accepted_and_its_pod_is_admitted_as_restricted() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubectl = cluster.kubectl();
    let objects = objects(&cluster).await?;
    // The server checks objects in a namespace only once the namespace exists.
    kubectl.apply(of_kind(&objects, "Namespace")?).await?;

    let path = manifest();
    let path = path.to_str().context("UTF-8")?;
    let accepted = kubectl
        .outcome(&["apply", "--dry-run=server", "-f", path], b"")
        .await?;
    let warnings = accepted.stderr.clone();
    let accepted = accepted.success()?;
    assert_eq!(accepted.lines().count(), objects.len(), "{accepted}");
    assert!(
        accepted
            .lines()
            .all(|line| line.ends_with("(server dry run)")),
        "{accepted}"
    );
    assert!(
        !warnings.contains("PodSecurity"),
        "the template violates nothing: {warnings}"
    );

    // Row 31. For a Deployment the server only warns; it admits or refuses a Pod.
    let template = &of_kind(&objects, "Deployment")?["spec"]["template"];
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "probe", "namespace": "watchscope", "labels": template["metadata"]["labels"]},
        "spec": template["spec"],
    });
    let admit = async |pod: &Value| {
        let arguments = ["create", "--dry-run=server", "-f", "-"];
        kubectl
            .outcome(&arguments, pod.to_string().as_bytes())
            .await
    };
    admit(&pod).await?.success()?;
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
    let refused = admit(&pod).await?;
    assert!(
        refused
            .stderr
            .contains("violates PodSecurity \"restricted:"),
        "{refused:?}"
    );
    Ok(())
}

/// Runs the program with these words and the rights of a namespace's account `watchscope`, until this number of watches
/// stream. Returns their names. Fails if one is refused.
pub(crate) async fn every_lane_streams(
    binary: &WatchscopeBinary,
    cluster: &KubeCluster,
    namespace: &str,
    words: &[&str],
    watches: usize,
) -> Result<BTreeSet<String>> {
    let token = cluster
        .kubectl()
        .run(&["create", "token", "watchscope", "-n", namespace])
        .await?;
    let mut config: Value = serde_json::from_slice(&std::fs::read(cluster.kubeconfig())?)?;
    config["users"][0]["user"] = json!({"token": token.trim()});
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, config.to_string())?;
    let served = Served::start(binary.with(words).kubeconfig(&kubeconfig)).await?;
    let mut records = served.records().await?;
    let mut streaming = BTreeSet::new();
    while streaming.len() < watches {
        let record = records.next().await?;
        if record["type"] == "watch.phase" {
            assert_ne!(record["to"], "refused", "{record}");
            if record["to"] == "streaming" {
                streaming.insert(record["watch"].to_string());
            }
        }
    }
    Ok(streaming)
}

/// Row 22 of the attack table.
#[tokio::test]
async fn the_shipped_account_may_read_what_is_listed_and_nothing_else() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubectl = cluster.kubectl();
    let path = manifest();
    kubectl
        .run(&["apply", "-f", path.to_str().context("UTF-8")?])
        .await?;
    let writer = Writer::start(&cluster).await?;

    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "watchscope"}});
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let rules = eventually("the rules are in force", LONG, async || {
        let (status, answer) = writer
            .ask(Method::POST, reviews, Some(&review), Some(ACCOUNT))
            .await?;
        ensure!(
            status == 201 && answer["status"]["incomplete"] == false,
            "{answer}"
        );
        let rules = told(&answer["status"]["resourceRules"])?;
        ensure!(rules.contains("customresourcedefinitions"), "{rules}");
        Ok(rules)
    })
    .await?;
    // Every user has the two lines of `create`: system:basic-user.
    insta::assert_snapshot!(rules, @"
    create authentication.k8s.io: selfsubjectreviews
    create authorization.k8s.io: selfsubjectaccessreviews,selfsubjectrulesreviews
    get,list,watch apiextensions.k8s.io: customresourcedefinitions
    get,list,watch apiregistration.k8s.io: apiservices
    get,list,watch apps: controllerrevisions,daemonsets,deployments,replicasets,statefulsets
    get,list,watch autoscaling: horizontalpodautoscalers
    get,list,watch batch: cronjobs,jobs
    get,list,watch coordination.k8s.io: leases
    get,list,watch core: configmaps,endpoints,events,limitranges,namespaces,nodes,persistentvolumeclaims,persistentvolumes,pods,podtemplates,replicationcontrollers,resourcequotas,serviceaccounts,services
    get,list,watch discovery.k8s.io: endpointslices
    get,list,watch events.k8s.io: events
    get,list,watch networking.k8s.io: ingressclasses,ingresses,networkpolicies
    get,list,watch policy: poddisruptionbudgets
    get,list,watch scheduling.k8s.io: priorityclasses
    get,list,watch storage.k8s.io: csidrivers,csinodes,csistoragecapacities,storageclasses,volumeattachments
    ");

    let account = "/api/v1/namespaces/watchscope/serviceaccounts/watchscope";
    let configmaps = "/api/v1/namespaces/watchscope/configmaps";
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let token =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let pod = "/api/v1/namespaces/watchscope/pods/p";
    let attempts = [
        (Method::POST, configmaps.to_owned(), Some(&body)),
        (Method::PUT, format!("{configmaps}/a"), Some(&body)),
        (Method::PATCH, format!("{configmaps}/a"), Some(&body)),
        (Method::DELETE, format!("{configmaps}/a"), None),
        (Method::DELETE, configmaps.to_owned(), None),
        (Method::POST, format!("{pod}/exec?command=id"), None),
        (Method::POST, format!("{pod}/portforward"), None),
        (Method::GET, format!("{pod}/log"), None),
        (Method::GET, "/api/v1/nodes/n/proxy/pods".to_owned(), None),
        (Method::POST, format!("{account}/token"), Some(&token)),
        (Method::GET, "/api/v1/secrets".to_owned(), None),
        (Method::GET, "/api/v1/secrets?watch=1".to_owned(), None),
        (Method::GET, "/metrics".to_owned(), None),
    ];
    for (method, path, body) in attempts {
        let (status, answer) = writer
            .ask(method.clone(), &path, body, Some(ACCOUNT))
            .await?;
        assert_eq!(status, 403, "{method} {path}: {answer}");
    }
    let (status, _) = writer
        .ask(Method::GET, "/api/v1/configmaps", None, Some(ACCOUNT))
        .await?;
    assert_eq!(status, 200, "a listed resource may be read");

    let words = ["serve", "-A"];
    let streaming = every_lane_streams(&binary, &cluster, "watchscope", &words, 8).await?;
    assert!(
        streaming.contains("\"*/deployments.apps\""),
        "{streaming:?}"
    );
    Ok(())
}

/// Returns rules as sorted lines: verbs, group and resources.
fn told(rules: &Value) -> Result<String> {
    let words = |value: &Value| -> String {
        let words = value.as_array().into_iter().flatten();
        let mut words: Vec<&str> = words.filter_map(Value::as_str).collect();
        words.sort_unstable();
        words.join(",")
    };
    let mut lines: Vec<String> = rules
        .as_array()
        .context("rules")?
        .iter()
        .map(|rule| {
            let mut line = String::new();
            let groups = words(&rule["apiGroups"]);
            let group = if groups.is_empty() { "core" } else { &groups };
            let resources = words(&rule["resources"]);
            // Writing to a String does not fail.
            let _ = write!(line, "{} {group}: {resources}", words(&rule["verbs"]));
            line
        })
        .collect();
    lines.sort();
    Ok(lines.join("\n"))
}
