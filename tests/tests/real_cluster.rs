//! Watches of a real kube-apiserver. The truth is etcd's own history, read from revision 1.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use watchscope_tests::kube::Rule;
use watchscope_tests::{
    ClusterOptions, KubeCluster, KubeTools, Served, Watchscope, WatchscopeBinary, eventually,
    or_skip,
};

use crate::records::{
    Followed, existing_at, find, follow, numbered_without_holes, of, streams, until,
};
use crate::writer::Writer;

const LONG: Duration = Duration::from_secs(60);

/// Starts `watchscope watch … -o jsonl` with the test's arguments.
fn watch(
    binary: &WatchscopeBinary,
    kubeconfig: &Path,
    namespace: &str,
    arguments: &[&str],
) -> Result<Watchscope> {
    let mut all = vec!["watch", "-o", "jsonl", "-n", namespace];
    all.extend(arguments);
    binary.with(&all).kubeconfig(kubeconfig).start()
}

/// Waits until a watch has reached the end of etcd's history of the namespace's configmaps, and follows it there.
pub(crate) async fn followed_to_the_end(
    cluster: &KubeCluster,
    watchscope: &mut Watchscope,
    namespace: &str,
) -> Result<Followed> {
    let history = cluster
        .etcd()
        .history(&format!("/registry/configmaps/{namespace}/"))
        .await?;
    let head = history.last().context("there is history")?.revision;
    let name = format!("{namespace}/configmaps");
    let records = until(
        watchscope,
        LONG,
        "the watch has reached the end of the history",
        |records| {
            let tells_head = of(records, "change", &name)
                .into_iter()
                .chain(of(records, "list.complete", &name))
                .filter_map(|record| record["resourceVersion"].as_str()?.parse::<u64>().ok())
                .any(|version| version >= head);
            ensure!(tells_head, "revision {head} is not delivered yet");
            Ok(records.to_vec())
        },
    )
    .await?;
    numbered_without_holes(&records)?;
    let followed = follow(&history, &records, &name)?;
    assert_eq!(followed.held, existing_at(&history, head));
    Ok(followed)
}

#[tokio::test]
async fn every_change_in_etcds_history_is_in_the_log_exactly_once_and_in_order() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    cluster
        .kubectl()
        .run(&["create", "namespace", "churn"])
        .await?;
    let start = |flags: &[&str]| {
        let arguments: Vec<&str> = ["configmaps"].iter().chain(flags).copied().collect();
        watch(&binary, cluster.kubeconfig(), "churn", &arguments)
    };
    let mut whole = start(&[])?;
    let mut metadata = start(&["--metadata-only"])?;
    let mut watch_list = start(&["--watch-list"])?;
    for watchscope in [&mut whole, &mut metadata, &mut watch_list] {
        until(watchscope, LONG, "it has listed and streams", |records| {
            find(records, "list.complete", "churn/configmaps", |_| true)?;
            streams(records, "churn/configmaps")
        })
        .await?;
    }

    let names = |range: std::ops::Range<u32>| range.map(|n| format!("settings-{n}"));
    writer.churn("churn", names(0..100)).await?;
    let mut late = start(&[])?;
    writer.churn("churn", names(100..300)).await?;

    for (watchscope, how) in [
        (&mut whole, "whole"),
        (&mut metadata, "metadata"),
        (&mut watch_list, "watch-list"),
    ] {
        let followed = followed_to_the_end(&cluster, watchscope, "churn")
            .await
            .context(how)?;
        let told = (followed.lists, followed.live, followed.passed_over);
        assert_eq!(told, (1, 900, 0), "{how}");
    }
    // A watch that starts in the middle misses nothing after its list.
    let followed = followed_to_the_end(&cluster, &mut late, "churn").await?;
    assert_eq!((followed.lists, followed.passed_over), (1, 0));

    // Each watch sent the kind of request that its flags choose.
    let kind_of_first = |watchscope: &Watchscope| -> Result<(String, Value)> {
        let records = watchscope.records()?;
        let sent = find(&records, "request.sent", "churn/configmaps", |_| true)?;
        let first = find(&records, "change", "churn/configmaps", |_| true)?;
        Ok((sent["verb"].to_string(), first["bytes"].clone()))
    };
    let (verb, whole_bytes) = kind_of_first(&whole)?;
    assert_eq!(verb, "\"list\"");
    let (_, metadata_bytes) = kind_of_first(&metadata)?;
    assert_ne!(
        metadata_bytes, whole_bytes,
        "metadata-only objects are other bytes"
    );
    let (verb, _) = kind_of_first(&watch_list)?;
    assert_eq!(verb, "\"watch\"", "watch-list begins with a watch");
    Ok(())
}

#[tokio::test]
async fn an_apiserver_killed_during_writes_loses_no_change_silently() -> Result<()> {
    killed_in_the_middle_of_writes(&[], "h2").await
}

#[tokio::test]
async fn an_apiserver_killed_over_http1_loses_no_change_silently_either() -> Result<()> {
    killed_in_the_middle_of_writes(&["--http1"], "http/1.1").await
}

/// Kills the apiserver under watches of configmaps and services with these flags, which select `protocol`.
async fn killed_in_the_middle_of_writes(flags: &[&str], protocol: &str) -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let mut cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    let writer = Writer::start(&cluster).await?;
    let arguments: Vec<&str> = ["configmaps", "services"]
        .iter()
        .chain(flags)
        .copied()
        .collect();
    let mut watchscope = watch(&binary, cluster.kubeconfig(), "default", &arguments)?;
    let records = until(&mut watchscope, LONG, "both stream", |records| {
        streams(records, "default/configmaps")?;
        streams(records, "default/services")?;
        Ok(records.to_vec())
    })
    .await?;
    // With HTTP/2 both watches share one connection; with HTTP/1.1 each has its own.
    let opened: Vec<&Value> = records
        .iter()
        .filter(|record| record["type"] == "connection.opened")
        .collect();
    assert!(
        opened.iter().all(|opened| opened["alpn"] == protocol),
        "{opened:?}"
    );
    assert_eq!(opened.len(), if protocol == "h2" { 1 } else { 2 });

    let names = (0..80).map(|n| format!("settings-{n}"));
    let killing = async {
        until(&mut watchscope, LONG, "writes are under way", |records| {
            ensure!(of(records, "change", "default/configmaps").len() > 40);
            Ok(())
        })
        .await?;
        cluster.kill_apiserver()?;
        until(
            &mut watchscope,
            LONG,
            "the watch has lost its stream",
            |records| {
                find(records, "stream.ended", "default/configmaps", |_| true)?;
                Ok(())
            },
        )
        .await?;
        cluster.start_apiserver().await
    };
    let (written, killed) = tokio::join!(writer.churn("default", names), killing);
    killed?;
    written?;

    let followed = followed_to_the_end(&cluster, &mut watchscope, "default").await?;
    assert!(followed.live > 40, "{followed:?}");
    let records = watchscope.records()?;
    let ended = find(&records, "stream.ended", "default/configmaps", |_| true)?;
    let cause = ended["cause"].as_str().unwrap_or_default();
    assert!(
        ["tcp-reset", "eof", "eof-in-frame", "tls"].contains(&cause),
        "{ended}"
    );
    // Each broken stream is a gap, and the gap says whether changes may be missing.
    let gaps = of(&records, "gap", "default/configmaps");
    let gap = gaps.first().context("the break is a gap")?;
    assert_eq!(gap["since"], ended["seq"]);
    let was_relisted = followed.lists > 1;
    assert_eq!(
        gap["resumed"], !was_relisted,
        "{gap}; {} lists",
        followed.lists
    );
    if followed.passed_over > 0 {
        assert!(
            was_relisted,
            "only a relist stands for changes: {followed:?}"
        );
    }
    // The end of a connection is logged after the ends of its streams.
    let sent = find(&records, "request.sent", "default/configmaps", |sent| {
        sent["verb"] == "watch"
    })?;
    let connection = &sent["connection"];
    let closed = records
        .iter()
        .find(|record| record["type"] == "connection.closed" && record["connection"] == *connection)
        .context("the connection's end is logged")?;
    assert!(closed["seq"].as_u64() > ended["seq"].as_u64(), "{closed}");
    Ok(())
}

#[tokio::test]
async fn a_real_compaction_is_a_410_a_relist_and_inferred_deletions() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    // Without its cache the apiserver reads from etcd, so etcd's compaction determines the answer.
    let options = ClusterOptions {
        apiserver_flags: vec!["--watch-cache=false".to_owned()],
        ..ClusterOptions::default()
    };
    let mut cluster = KubeCluster::start(&tools, options).await?;
    let writer = Writer::start(&cluster).await?;
    let names = |range: std::ops::Range<u32>| range.map(|n| format!("settings-{n}"));
    writer.create("default", names(0..12)).await?;
    let mut watchscope = watch(&binary, cluster.kubeconfig(), "default", &["configmaps"])?;
    until(&mut watchscope, LONG, "it streams", |records| {
        streams(records, "default/configmaps")
    })
    .await?;

    // watchscope is stopped while its stream breaks, five objects go, two come, and etcd compacts these changes.
    watchscope.signal(Signal::STOP)?;
    cluster.kill_apiserver()?;
    cluster.start_apiserver().await?;
    for name in names(0..5) {
        let path = format!("/api/v1/namespaces/default/configmaps/{name}");
        writer.write(Method::DELETE, &path, None).await?;
    }
    writer.create("default", names(12..14)).await?;
    let history = cluster
        .etcd()
        .history("/registry/configmaps/default/")
        .await?;
    let head = cluster.etcd().revision().await?;
    cluster.etcd().compact(head).await?;
    watchscope.signal(Signal::CONT)?;

    let records = until(
        &mut watchscope,
        LONG,
        "it has listed again and streams",
        |records| {
            let lists = of(records, "list.complete", "default/configmaps").len();
            let opened = of(records, "stream.opened", "default/configmaps").len();
            ensure!(lists >= 2 && opened >= 3, "{lists} lists, {opened} streams");
            Ok(records.to_vec())
        },
    )
    .await?;
    let gone = find(&records, "stream.error", "default/configmaps", |_| true)?;
    assert_eq!(
        (&gone["code"], &gone["reason"]),
        (&json!(410), &json!("Expired"))
    );
    let relist = of(&records, "list.complete", "default/configmaps")[1];
    assert_eq!(
        (&relist["added"], &relist["changed"], &relist["removed"]),
        (&json!(2), &json!(0), &json!(5))
    );
    let gaps = of(&records, "gap", "default/configmaps");
    assert!(
        gaps.iter().any(|gap| gap["resumed"] == false),
        "the relist closes a gap that was not resumed: {gaps:?}"
    );
    // The finding says that etcd has compacted the requested history, and that watchscope had not run before.
    let found = until(&mut watchscope, LONG, "the 410 is found", |records| {
        let found = find(records, "finding", "default/configmaps", |finding| {
            finding["code"] == "F12"
        })?;
        Ok(found.clone())
    })
    .await?;
    assert_eq!(
        (&found["severity"], &found["certainty"]),
        (&json!("note"), &json!("definite")),
        "{found}"
    );
    let says = found["summary"].as_str().unwrap_or_default();
    assert!(says.contains("watchscope itself had not run"), "{says}");
    let followed = follow(&history, &records, "default/configmaps")?;
    assert_eq!((followed.inferred, followed.passed_over), (5, 7));
    assert_eq!(followed.held, existing_at(&history, head));
    Ok(())
}

#[tokio::test]
async fn a_forbidden_kind_is_refused_with_its_reason_while_others_stream() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubeconfig = cluster.user("clerk", &["office"])?;
    let rule = Rule {
        groups: &[""],
        resources: &["configmaps"],
        verbs: &["get", "list", "watch"],
    };
    cluster.allow("clerk", &[rule]).await?;
    let kubectl = cluster.kubectl();
    kubectl.run(&["create", "namespace", "office"]).await?;
    let as_clerk = kubectl.with_kubeconfig(&kubeconfig);
    eventually("the right is in force", LONG, async || {
        as_clerk
            .run(&["get", "configmaps", "-n", "office"])
            .await
            .map(drop)
    })
    .await?;

    let mut watchscope = watch(&binary, &kubeconfig, "office", &["configmaps", "pods"])?;
    until(
        &mut watchscope,
        LONG,
        "one streams, one is refused",
        |records| {
            streams(records, "office/configmaps")?;
            let refused = find(records, "watch.phase", "office/pods", |phase| {
                phase["to"] == "refused"
            })?;
            assert_eq!(refused["reason"], "forbidden");
            assert!(
                refused["delayMs"].as_u64().is_some_and(|delay| delay > 0),
                "{refused}"
            );
            let answer = find(records, "request.answered", "office/pods", |_| true)?;
            assert_eq!(answer["status"], 403);
            let words = answer["error"].as_str().unwrap_or_default();
            for word in ["clerk", "cannot list resource", "pods", "office"] {
                assert!(words.contains(word), "{word} in {words}");
            }
            Ok(())
        },
    )
    .await?;
    kubectl
        .run(&["-n", "office", "create", "configmap", "memo"])
        .await?;
    until(
        &mut watchscope,
        LONG,
        "the allowed kind flows on",
        |records| {
            find(records, "change", "office/configmaps", |change| {
                change["name"] == "memo" && change["origin"] == "live"
            })?;
            assert!(of(records, "change", "office/pods").is_empty());
            Ok(())
        },
    )
    .await
}

/// Returns the definition of a kind in that group; its short name is its first two letters.
pub(crate) fn definition(group: &str, kind: &str) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": singular, "kind": kind, "shortNames": [singular[..2]]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

#[tokio::test]
async fn a_custom_resource_is_watched_while_its_definition_goes_and_returns() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubectl = cluster.kubectl();
    kubectl.run(&["create", "namespace", "factory"]).await?;
    let widget = json!({
        "apiVersion": "factory.test/v1", "kind": "Widget",
        "metadata": {"name": "sprocket", "namespace": "factory"}, "spec": {"teeth": 12},
    });
    let establish = async || {
        kubectl.apply(&definition("factory.test", "Widget")).await?;
        eventually("the resource is served", LONG, async || {
            kubectl.apply(&widget).await.map(drop)
        })
        .await
    };
    establish().await?;
    let name = "factory/widgets.factory.test";
    let mut watchscope = watch(
        &binary,
        cluster.kubeconfig(),
        "factory",
        &["wi", "configmaps"],
    )?;
    until(&mut watchscope, LONG, "the widget is there", |records| {
        find(records, "change", name, |change| {
            change["name"] == "sprocket"
        })?;
        streams(records, name)
    })
    .await?;

    kubectl
        .run(&["delete", "customresourcedefinition", "widgets.factory.test"])
        .await?;
    until(
        &mut watchscope,
        LONG,
        "the widget and its kind are gone",
        |records| {
            find(records, "change", name, |change| {
                change["change"] == "DELETED"
            })?;
            find(records, "watch.phase", name, |phase| {
                phase["to"] == "refused"
                    && ["not-found", "not-discovered"]
                        .iter()
                        .any(|reason| phase["reason"] == *reason)
            })?;
            Ok(())
        },
    )
    .await?;

    establish().await?;
    until(
        &mut watchscope,
        LONG,
        "the new widget is there",
        |records| {
            let added = of(records, "change", name)
                .iter()
                .filter(|change| change["change"] == "ADDED")
                .count();
            ensure!(added == 2, "{added} times added");
            let phases = of(records, "watch.phase", name);
            let last = phases.last().context("a phase")?;
            ensure!(last["to"] == "streaming", "{last}");
            Ok(())
        },
    )
    .await?;
    let others = of(&watchscope.records()?, "stream.ended", "factory/configmaps").len();
    assert_eq!(others, 0, "the other watch was not touched");
    Ok(())
}

#[tokio::test]
async fn with_all_resources_a_new_definition_gets_a_watch_and_secrets_get_none() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubectl = cluster.kubectl();
    kubectl.run(&["create", "namespace", "workshop"]).await?;
    let launch = binary.with(&["serve", "--all-resources", "-n", "workshop"]);
    let served = Served::start(launch.kubeconfig(cluster.kubeconfig())).await?;
    let mut records = served.records().await?;
    let of_usual = |record: &Value, kind: &str| {
        record["type"] == kind && record["watch"] == "workshop/configmaps"
    };
    let before = records
        .up_to(|record| of_usual(record, "stream.opened"))
        .await?;

    kubectl.apply(&definition("workshop.test", "Gear")).await?;
    let gear = json!({
        "apiVersion": "workshop.test/v1", "kind": "Gear",
        "metadata": {"name": "cog", "namespace": "workshop"}, "spec": {"teeth": 12},
    });
    eventually("the resource is served", LONG, async || {
        kubectl.apply(&gear).await.map(drop)
    })
    .await?;
    let after = records
        .up_to(|record| {
            record["change"] == "ADDED"
                && record["name"] == "cog"
                && record["watch"] == "workshop/gears.workshop.test"
        })
        .await?;

    let started = |records: &[Value], watch: &str| {
        let is_start =
            |record: &&Value| record["type"] == "watch.started" && record["watch"] == watch;
        records.iter().filter(is_start).count()
    };
    let of_gears = "workshop/gears.workshop.test";
    assert_eq!(
        (started(&before, of_gears), started(&after, of_gears)),
        (0, 1)
    );
    let all = [before, after].concat();
    assert_eq!(started(&all, "workshop/configmaps"), 1);
    assert_eq!(started(&all, "workshop/secrets"), 0);
    assert!(
        !all.iter().any(|record| of_usual(record, "stream.ended")),
        "discovery does not end the stream of another watch"
    );
    Ok(())
}

#[tokio::test]
async fn five_thousand_objects_are_listed_in_pages_each_exactly_once() -> Result<()> {
    const OBJECTS: usize = 5_000;
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    cluster
        .kubectl()
        .run(&["create", "namespace", "crowd"])
        .await?;
    let names = (0..OBJECTS).map(|n| format!("settings-{n}"));
    writer.create("crowd", names).await?;

    let mut watchscope = watch(&binary, cluster.kubeconfig(), "crowd", &["configmaps"])?;
    let name = "crowd/configmaps";
    let records = until(&mut watchscope, LONG, "the list is complete", |records| {
        find(records, "list.complete", name, |_| true)?;
        Ok(records.to_vec())
    })
    .await?;
    let pages = of(&records, "list.page", name);
    assert_eq!(pages.len(), 10);
    let items = |page: &Value| page["items"].as_u64().unwrap_or_default();
    assert!(pages.iter().all(|page| items(page) == 500), "{pages:#?}");
    assert_eq!(pages[0]["remaining"], OBJECTS - 500);
    let versions: Vec<&Value> = pages.iter().map(|page| &page["resourceVersion"]).collect();
    assert!(
        versions.iter().all(|version| *version == versions[0]),
        "one state, page by page: {versions:?}"
    );
    assert_eq!(of(&records, "change", name).len(), OBJECTS);
    let followed = followed_to_the_end(&cluster, &mut watchscope, "crowd").await?;
    assert_eq!(followed.held.len(), OBJECTS);
    Ok(())
}
