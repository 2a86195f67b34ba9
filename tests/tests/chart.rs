//! The Helm chart, in each form of `deploy/chart/ci`: what helm renders, and what a real apiserver says to it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use watchscope_tests::{
    Finished, KubeCluster, KubeTools, Missing, WatchscopeBinary, finish, or_skip, project_root,
};

use crate::deploy::every_lane_streams;

const LONG: Duration = Duration::from_secs(60);
/// The CustomResourceDefinition of a PodMonitor, with those fields alone that the chart sets.
const POD_MONITOR: &str = include_str!("../fixtures/podmonitor-crd.json");
/// The form whose output is `deploy/watchscope.yaml`.
const MANIFEST: &str = "manifest";

/// helm, from the module that tests/helm pins.
pub(crate) struct Helm(PathBuf);

impl Helm {
    /// Finds the helm that `cargo xtask test` builds.
    pub(crate) fn find() -> Result<Self, Missing> {
        std::env::var_os("WATCHSCOPE_TEST_HELM")
            .map(PathBuf::from)
            .filter(|program| program.is_file())
            .map(Self)
            .ok_or_else(|| Missing {
                what: "helm".to_owned(),
                install: "Go 1.26 or newer and run `cargo xtask test`".to_owned(),
            })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs a command for the chart. It may not read the settings of this machine.
    async fn run(&self, words: &[&str], more: &[&str]) -> Result<Finished> {
        let home = tempfile::tempdir()?;
        let mut command = Command::new(&self.0);
        command.args(words).arg("deploy/chart").args(more);
        command.current_dir(project_root()).env("HOME", home.path());
        for variable in ["KUBECONFIG", "HELM_CONFIG_HOME", "HELM_CACHE_HOME"] {
            command.env_remove(variable);
        }
        finish(command, b"", LONG).await
    }

    /// Renders a form for a release and a namespace.
    async fn rendered(&self, form: &str, release: &str, namespace: &str) -> Result<String> {
        let values = values(form);
        let more = ["--namespace", namespace, "--values", &values];
        let finished = self.run(&["template", release], &more).await?;
        finished.success()
    }

    /// Returns the standard error of a render that fails for these settings.
    async fn refusal(&self, settings: &[&str]) -> Result<String> {
        let settings = settings.join(",");
        let more = ["--set", &settings];
        let finished = self.run(&["template", "watchscope"], &more).await?;
        ensure!(finished.code() == Some(1), "{finished:?}");
        ensure!(finished.stdout.is_empty(), "{finished:?}");
        Ok(finished.stderr)
    }
}

fn values(form: &str) -> String {
    format!("deploy/chart/ci/{form}-values.yaml")
}

/// Returns the names of all forms.
fn forms() -> Result<Vec<String>> {
    let mut forms = Vec::new();
    for file in std::fs::read_dir(project_root().join("deploy/chart/ci"))? {
        let name = file?.file_name().into_string().ok().context("UTF-8")?;
        let form = name.strip_suffix("-values.yaml").context("a form")?;
        forms.push(form.to_owned());
    }
    forms.sort();
    ensure!(forms.len() > 4, "{forms:?}");
    Ok(forms)
}

#[tokio::test]
async fn the_manifest_is_what_the_chart_renders() -> Result<()> {
    let helm = or_skip!(Helm::find());
    let rendered = helm.rendered(MANIFEST, "watchscope", "watchscope").await?;
    let path = project_root().join("deploy/watchscope.yaml");
    if std::env::var_os("WATCHSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &rendered)?;
    }
    let manifest = std::fs::read_to_string(path)?;
    assert!(
        manifest == rendered,
        "WATCHSCOPE_WRITE_DOCS=1 in this test's environment writes deploy/watchscope.yaml anew; helm renders\n{rendered}"
    );
    Ok(())
}

#[tokio::test]
async fn helm_lint_finds_nothing_in_any_form() -> Result<()> {
    let helm = or_skip!(Helm::find());
    for form in forms()? {
        let more = ["--strict", "--values", &values(&form)];
        let said = helm.run(&["lint"], &more).await?.success()?;
        assert!(
            said.contains("1 chart(s) linted, 0 chart(s) failed"),
            "{said}"
        );
        assert!(!said.contains("[WARNING]"), "{form}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn chart_and_program_have_one_version() -> Result<()> {
    let helm = or_skip!(Helm::find());
    let shown = helm.run(&["show", "chart"], &[]).await?.success()?;
    let version = env!("CARGO_PKG_VERSION");
    assert!(shown.contains(&format!("\nversion: {version}")), "{shown}");
    assert!(
        shown.contains(&format!("appVersion: {version}\n")),
        "{shown}"
    );
    Ok(())
}

/// Makes what the forms need beside their own objects: namespaces under `restricted`, the definition of a PodMonitor,
/// a class of priority.
async fn prepare(cluster: &KubeCluster, namespaces: &[&str]) -> Result<()> {
    let kubectl = cluster.kubectl();
    for name in namespaces {
        let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": labels}});
        kubectl.apply(&namespace).await?;
    }
    kubectl.apply(&serde_json::from_str(POD_MONITOR)?).await?;
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "low"}, "value": 1});
    kubectl.apply(&class).await?;
    let definition = "crd/podmonitors.monitoring.coreos.com";
    let wait = ["wait", "--for=condition=Established", definition];
    kubectl.run(&wait).await?;
    Ok(())
}

/// Returns the rendered objects as the server would store them. Fails at a refusal, and at a warning.
async fn accepted(cluster: &KubeCluster, rendered: &str) -> Result<Vec<Value>> {
    let apply = ["apply", "--server-side", "--force-conflicts"];
    let arguments = [&apply[..], &["--dry-run=server", "-o", "json", "-f", "-"]].concat();
    let kubectl = cluster.kubectl();
    let finished = kubectl.outcome(&arguments, rendered.as_bytes()).await?;
    ensure!(finished.stderr.is_empty(), "{}", finished.stderr);
    let mut written: Value = serde_json::from_str(&finished.success()?)?;
    // kubectl writes a single object without a list around it.
    let objects = match written["items"].take() {
        Value::Array(objects) => objects,
        _ => vec![written],
    };
    // A document begins with its source.
    let documents = rendered.matches("\n# Source: ").count();
    ensure!(objects.len() == documents && documents > 0, "{rendered}");
    Ok(objects)
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Checks that the object grants only reading, by name, and never Secrets. A Role names no resource of the whole cluster.
fn reads_by_name(object: &Value, of_the_cluster: &str) {
    for rule in object["rules"].as_array().into_iter().flatten() {
        for verb in texts(&rule["verbs"]) {
            assert!(["get", "list", "watch"].contains(&verb), "{rule}");
        }
        assert!(rule.get("nonResourceURLs").is_none(), "{rule}");
        assert!(
            texts(&rule["apiGroups"]).all(|group| group != "*"),
            "{rule}"
        );
        for resource in texts(&rule["resources"]) {
            assert!(resource != "secrets", "{rule}");
            assert!(!resource.contains(['*', '/']), "{rule}");
            if object["kind"] == "Role" {
                let is_cluster_wide = of_the_cluster
                    .lines()
                    .any(|name| name.split('.').next() == Some(resource));
                assert!(!is_cluster_wide, "a Role cannot grant {resource}");
            }
        }
    }
}

/// Checks that the server admits the Deployment's pod under `restricted`: for a Deployment it only warns.
async fn pod_is_admitted(cluster: &KubeCluster, deployment: &Value) -> Result<()> {
    let kubectl = cluster.kubectl();
    let namespace = &deployment["metadata"]["namespace"];
    let template = &deployment["spec"]["template"];
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": template["spec"]["serviceAccountName"], "namespace": namespace}});
    kubectl.apply(&account).await?;
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "probe", "namespace": namespace, "labels": template["metadata"]["labels"]},
        "spec": template["spec"]});
    let create = ["create", "--dry-run=server", "-f", "-"];
    let admitted = kubectl.outcome(&create, pod.to_string().as_bytes()).await?;
    admitted.success()?;
    Ok(())
}

#[tokio::test]
async fn each_form_is_accepted_under_restricted_and_only_reads_without_secrets() -> Result<()> {
    let helm = or_skip!(Helm::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let namespaced = ["api-resources", "--namespaced=false", "-o", "name"];
    let of_the_cluster = cluster.kubectl().run(&namespaced).await?;
    ensure!(of_the_cluster.contains("nodes\n"), "{of_the_cluster}");
    let mut kinds = Vec::new();
    for form in forms()? {
        // The release has the name of its namespace: other tests apply objects of the release `watchscope`.
        let namespace = format!("chart-{form}");
        prepare(&cluster, &[&namespace, "shop"]).await?;
        let rendered = helm.rendered(&form, &namespace, &namespace).await?;
        let objects = accepted(&cluster, &rendered).await?;
        for object in &objects {
            reads_by_name(object, &of_the_cluster);
            if object["kind"] == "Deployment" {
                pod_is_admitted(&cluster, object).await?;
            }
        }
        let mut of_form: Vec<&str> = objects
            .iter()
            .filter_map(|one| one["kind"].as_str())
            .collect();
        of_form.sort_unstable();
        kinds.push(format!("{form}: {}", of_form.join(" ")));
    }
    insta::assert_snapshot!(kinds.join("\n"), @"
    all: ClusterRole ClusterRoleBinding Deployment PodMonitor ServiceAccount
    claim: ClusterRole ClusterRoleBinding Deployment NetworkPolicy PersistentVolumeClaim PodMonitor ServiceAccount
    default: ClusterRole ClusterRoleBinding Deployment ServiceAccount
    manifest: ClusterRole ClusterRoleBinding Deployment Namespace ServiceAccount
    one-namespace: Deployment NetworkPolicy Role RoleBinding ServiceAccount
    own-parts: Deployment
    ");
    Ok(())
}

/// Returns the words with which the rendered Deployment starts the program.
fn arguments(objects: &[Value]) -> Result<Vec<String>> {
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
    let template = &deployment.context("a Deployment")?["spec"]["template"];
    let arguments = texts(&template["spec"]["containers"][0]["args"]);
    Ok(arguments.map(str::to_owned).collect())
}

#[tokio::test]
async fn the_program_takes_the_arguments_of_each_form() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let helm = or_skip!(Helm::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    for form in forms()? {
        let namespace = format!("chart-{form}");
        prepare(&cluster, &[&namespace, "shop"]).await?;
        let rendered = helm.rendered(&form, &namespace, &namespace).await?;
        let mut arguments = arguments(&accepted(&cluster, &rendered).await?)?;
        // With it the program reads all words before, and serves nothing.
        arguments.push("--help".to_owned());
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let finished = binary.with(&words).run(LONG).await?;
        assert_eq!(finished.code(), Some(0), "{finished:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_rights_of_one_namespace_suffice_for_the_watches_of_that_form() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let helm = or_skip!(Helm::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let namespace = "chart-rights";
    prepare(&cluster, &[namespace, "shop"]).await?;
    let rendered = helm
        .rendered("one-namespace", "watchscope", namespace)
        .await?;
    let arguments = arguments(&accepted(&cluster, &rendered).await?)?;
    let apply = ["apply", "-f", "-"];
    let applied = cluster.kubectl().outcome(&apply, rendered.as_bytes());
    applied.await?.success()?;
    let words = arguments.iter().map(String::as_str);
    let words: Vec<&str> = words
        .filter(|word| !word.starts_with("--health-listen"))
        .collect();
    let streaming = every_lane_streams(&binary, &cluster, namespace, &words, 7).await?;
    assert!(
        streaming.contains("\"shop/deployments.apps\""),
        "{streaming:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_wrong_value_is_named_with_what_to_write() -> Result<()> {
    let helm = or_skip!(Helm::find());
    let mut said = Vec::new();
    for settings in [
        &["history.sizeMiB=1Gi"][..],
        &["history.enabled=yes"],
        &["watch.resources=pods"],
        &["metrics.port=80"],
        &["image.tagg=1.0"],
    ] {
        let refusal = helm.refusal(settings).await?;
        let line = refusal.lines().find(|line| line.starts_with("- "));
        said.push(format!("{settings:?} {}", line.context(refusal.clone())?));
    }
    for resources in ["secrets", "*", "pods/exec"] {
        let rule = format!("rbac.extraRules[0].resources={{{resources}}}");
        let refusal = helm
            .refusal(&["rbac.extraRules[0].apiGroups={apps}", &rule])
            .await?;
        let line = refusal.lines().find(|line| line.starts_with("Error: "));
        let line = line.and_then(|line| line.split_once("): "));
        said.push(line.context(refusal.clone())?.1.to_owned());
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    ["history.sizeMiB=1Gi"] - at '/history/sizeMiB': got string, want integer
    ["history.enabled=yes"] - at '/history/enabled': got string, want boolean
    ["watch.resources=pods"] - at '/watch/resources': got string, want array
    ["metrics.port=80"] - at '/metrics/port': minimum: got 80, want 1,024
    ["image.tagg=1.0"] - at '/image': additional properties 'tagg' not allowed
    rbac.extraRules[0] names secrets, whose lists and watches hand out their contents: leave them out
    rbac.extraRules[0] has a wildcard, which would grant Secrets: name each group and each resource
    rbac.extraRules[0] names a subresource, and get on pods/exec runs commands: name resources alone
    "#);
    Ok(())
}
