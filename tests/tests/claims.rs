//! What watchscope claims of a real kube-apiserver, compared with what really happened to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use watchscope_tests::kube::Rule;
use watchscope_tests::{
    ClusterOptions, KubeCluster, KubeTools, Watchscope, WatchscopeBinary, eventually, or_skip,
};

use crate::records::{find, of, streams, until};
use crate::relay::Relay;
use crate::writer::Writer;

/// A connection is given up after 45 s of silence, and the machine may be busy.
pub(crate) const LONG: Duration = Duration::from_secs(150);
pub(crate) const WATCHES: [&str; 2] = ["default/configmaps", "default/services"];

/// The codes of all findings, each once, in the order in which they were raised.
pub(crate) fn found(records: &[Value]) -> Vec<&str> {
    let mut codes = Vec::new();
    for finding in records.iter().filter(|record| record["type"] == "finding") {
        let code = finding["code"].as_str().unwrap_or_default();
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}

/// What is said last of each ended stream of a watch.
pub(crate) fn attributions<'a>(records: &'a [Value], watch: &str) -> Vec<&'a str> {
    let mut told: Vec<(&Value, &str)> = Vec::new();
    for event in of(records, "attribution", watch) {
        let code = event["code"].as_str().unwrap_or_default();
        match told
            .iter_mut()
            .find(|(stream, _)| **stream == event["stream"])
        {
            Some(known) => known.1 = code,
            None => told.push((&event["stream"], code)),
        }
    }
    told.into_iter().map(|(_, code)| code).collect()
}

/// `watchscope watch` of configmaps and services, streaming.
pub(crate) async fn watching(
    binary: &WatchscopeBinary,
    kubeconfig: &Path,
    flags: &[&str],
) -> Result<Watchscope> {
    let mut all = vec!["watch", "configmaps", "services", "-o", "jsonl"];
    all.extend(flags);
    let mut watchscope = binary.with(&all).kubeconfig(kubeconfig).start()?;
    until(&mut watchscope, LONG, "both stream", |records| {
        for watch in WATCHES {
            streams(records, watch)?;
        }
        Ok(())
    })
    .await?;
    Ok(watchscope)
}

/// Waits until each watch has opened so many streams and what is said of the ends before is settled.
pub(crate) async fn streaming_again(
    watchscope: &mut Watchscope,
    opened: usize,
) -> Result<Vec<Value>> {
    until(
        watchscope,
        LONG,
        "all stream again, and it is said why",
        |records| {
            for watch in WATCHES {
                let told = of(records, "stream.opened", watch).len();
                ensure!(told >= opened, "{watch} opened {told} streams");
                let ended = of(records, "stream.ended", watch).len();
                let attributed = attributions(records, watch).len();
                ensure!(attributed >= ended, "{attributed} of {ended} ends");
                // One gap lasts over an answer that is refused within the stream, so it closes both ends.
                let closed = last_seq(records, "gap", watch);
                let open = last_seq(records, "stream.ended", watch);
                ensure!(closed > open, "the gap since {open:?} is not closed");
            }
            // The last word on an end comes 2.25 s after it, and then it has to be written.
            let last_end = records
                .iter()
                .rfind(|record| record["type"] == "stream.ended");
            let since = last_end.map_or(i64::MAX, |end| now_ms() - at_ms(end));
            ensure!(since > 4_000, "only {since} ms");
            Ok(records.to_vec())
        },
    )
    .await
}

/// The number of the last record of that type about the watch.
fn last_seq(records: &[Value], kind: &str, watch: &str) -> Option<u64> {
    of(records, kind, watch).last()?["seq"].as_u64()
}

/// The time by the clock that watchscope's records have, in milliseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "records carry the wall clock, and how long ago they came is asked"
)]
fn now_ms() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// A record's time, in milliseconds since 1970.
fn at_ms(record: &Value) -> i64 {
    let at = record["at"].as_str().unwrap_or_default();
    watchscope_model::Time::parse(at).map_or(0, |at| at.0 / 1_000)
}

/// A relay to the cluster's apiserver, and in a folder a kubeconfig like this one, but by way of it.
pub(crate) async fn by_a_relay(
    cluster: &KubeCluster,
    kubeconfig: &Path,
    folder: &Path,
) -> Result<(Relay, PathBuf)> {
    let direct = cluster.address().to_string();
    let relay = Relay::to(&direct).await?;
    let text = fs::read_to_string(kubeconfig)?;
    ensure!(text.contains(&direct), "no {direct} in {text}");
    let path = folder.join("by-way-of-a-relay");
    fs::write(&path, text.replace(&direct, &relay.address.to_string()))?;
    Ok((relay, path))
}

#[tokio::test]
async fn connections_that_a_middlebox_resets_are_resets_and_no_more_over_both_protocols()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let folder = tempfile::tempdir()?;
    let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
    for flags in [&[][..], &["--http1"]] {
        let mut watchscope = watching(&binary, &kubeconfig, flags).await?;
        relay.reset();
        let records = streaming_again(&mut watchscope, 2).await?;
        for watch in WATCHES {
            assert_eq!(attributions(&records, watch), ["F08"], "{flags:?} {watch}");
            let gap = find(&records, "gap", watch, |_| true)?;
            assert_eq!(gap["resumed"], true, "{gap}");
        }
        assert_eq!(found(&records), ["F08"], "{flags:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_flow_that_a_middlebox_forgets_is_found_dead_and_nothing_else() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let folder = tempfile::tempdir()?;
    let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
    let mut watchscope = watching(&binary, &kubeconfig, &[]).await?;
    relay.silence();
    let records = streaming_again(&mut watchscope, 2).await?;
    for watch in WATCHES {
        assert_eq!(attributions(&records, watch), ["F04"], "{watch}");
        // 30 s of silence, then a ping that nobody answers for 15 s.
        let ended = find(&records, "stream.ended", watch, |_| true)?;
        assert_eq!(ended["cause"], "idle-timeout", "{ended}");
        let age_ms = ended["ageMs"].as_u64().unwrap_or_default();
        assert!((44_000..90_000).contains(&age_ms), "{ended}");
    }
    assert_eq!(found(&records), ["F04"]);
    Ok(())
}

#[tokio::test]
async fn answers_that_a_middlebox_holds_back_are_said_to_be_late_over_both_protocols() -> Result<()>
{
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let held_back = async |flags: &[&str]| {
        let folder = tempfile::tempdir()?;
        let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
        // Streams end soon, so that the next is asked for over a connection that is open.
        let flags = [&["--watch-timeout", "5s"], flags].concat();
        let mut watchscope = watching(&binary, &kubeconfig, &flags).await?;
        relay.buffer(Duration::from_secs(12));
        let records = until(&mut watchscope, LONG, "headers come late", |records| {
            let of_any = WATCHES.iter().find_map(|watch| {
                let told = |finding: &Value| {
                    let says = finding["summary"].as_str().unwrap_or_default();
                    finding["code"] == "F44" && says.contains("came after 1")
                };
                find(records, "finding", watch, told).ok()
            });
            ensure!(of_any.is_some(), "{:?}", found(records));
            Ok(records.to_vec())
        })
        .await?;
        assert_eq!(found(&records), ["F44"], "{flags:?}");
        for watch in WATCHES {
            let told = attributions(&records, watch);
            assert!(
                told.iter().all(|code| *code == "normal"),
                "{flags:?} {watch}: {told:?}"
            );
        }
        anyhow::Ok(())
    };
    let (shared, single) = tokio::join!(held_back(&[]), held_back(&["--http1"]));
    shared?;
    single
}

#[tokio::test]
async fn a_connection_that_ends_inside_an_event_loses_nothing_over_both_protocols() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    let folder = tempfile::tempdir()?;
    let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
    for (name, flags) in [("shared", &[][..]), ("single", &["--http1"])] {
        let mut watchscope = watching(&binary, &kubeconfig, flags).await?;
        relay.tear_after(100_000);
        // One event of 300 kB, of which the first third comes.
        let large = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"text": "large ".repeat(50_000)}});
        let path = "/api/v1/namespaces/default/configmaps";
        writer.write(Method::POST, path, Some(&large)).await?;
        let watch = WATCHES[0];
        let records = until(
            &mut watchscope,
            LONG,
            "it comes whole, and it is said",
            |records| {
                find(records, "change", watch, |change| change["name"] == name)?;
                ensure!(!attributions(records, watch).is_empty(), "nothing is said");
                find(records, "finding", watch, |_| true)?;
                Ok(records.to_vec())
            },
        )
        .await?;
        let ended = find(&records, "stream.ended", watch, |_| true)?;
        assert_eq!(ended["cause"], "eof-in-frame", "{flags:?} {ended}");
        // Where all share the connection, it may as well have been the server's end.
        let (code, certainty) = if flags.is_empty() {
            ("F06", "suspected")
        } else {
            ("F47", "definite")
        };
        let told = of(&records, "attribution", watch)[0];
        assert_eq!(
            (&told["code"], &told["certainty"]),
            (&json!(code), &json!(certainty))
        );
        assert_eq!(found(&records), [code], "{flags:?}");
        let changes = of(&records, "change", watch);
        let whole = changes.iter().filter(|change| change["name"] == name);
        assert_eq!(whole.count(), 1, "{flags:?}");
        relay.mend();
    }
    Ok(())
}

#[tokio::test]
async fn an_apiserver_that_dies_is_said_to_have_gone_and_a_resume_to_have_lost_nothing()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let mut cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    for flags in [&[][..], &["--http1"]] {
        let mut watchscope = watching(&binary, cluster.kubeconfig(), flags).await?;
        cluster.kill_apiserver()?;
        until(&mut watchscope, LONG, "the streams are gone", |records| {
            for watch in WATCHES {
                find(records, "stream.ended", watch, |_| true)?;
            }
            Ok(())
        })
        .await?;
        cluster.start_apiserver().await?;
        let records = streaming_again(&mut watchscope, 2).await?;
        for watch in WATCHES {
            let told = attributions(&records, watch);
            assert_eq!(told[0], "F06", "{flags:?} {watch}: {told:?}");
        }
        let mut codes = found(&records);
        // Its new cache may begin after what the watch had seen; nothing else is claimed.
        codes.retain(|code| *code != "F11");
        assert_eq!(codes, ["F06"], "{flags:?}");
    }
    Ok(())
}

#[tokio::test]
async fn etcd_that_dies_and_comes_back_is_blamed_for_no_object() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let options = ClusterOptions {
        etcd_syncs: true,
        ..ClusterOptions::default()
    };
    let mut cluster = KubeCluster::start(&tools, options).await?;
    let writer = Writer::start(&cluster).await?;
    let name = |name: &str| std::iter::once(name.to_owned());
    writer.create("default", name("before")).await?;
    let flags = ["--audit", "full"];
    let mut watchscope = watching(&binary, cluster.kubeconfig(), &flags).await?;
    cluster.kill_etcd()?;
    cluster.start_etcd().await?;
    writer.create("default", name("after")).await?;
    let path = "/api/v1/namespaces/default/configmaps/before";
    writer.write(Method::DELETE, path, None).await?;
    let records = until(
        &mut watchscope,
        LONG,
        "it goes on and was compared",
        |records| {
            let watch = WATCHES[0];
            let after = find(records, "change", watch, |change| change["name"] == "after")?;
            find(records, "change", watch, |change| {
                change["name"] == "before" && change["change"] == "DELETED"
            })?;
            find(records, "audit", watch, |audit| {
                audit["seq"].as_u64() > after["seq"].as_u64() && audit["outcome"] == "agrees"
            })?;
            Ok(records.to_vec())
        },
    )
    .await?;
    let verdict = records.iter().find(|record| record["type"] == "verdict");
    assert_eq!(verdict, None, "objects that are as they are");
    // Whatever ended may be said to have ended; nothing is said of what is held.
    let of_ends = ["F06", "F07", "F08", "F11", "F16", "F15", "F44"];
    let codes = found(&records);
    assert!(codes.iter().all(|code| of_ends.contains(code)), "{codes:?}");
    Ok(())
}

#[tokio::test]
async fn a_right_that_is_withdrawn_under_an_open_stream_is_found_when_the_stream_ends() -> Result<()>
{
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let user = cluster.user("leaver", &[])?;
    let verbs = &["get", "list", "watch"];
    let services = Rule {
        groups: &[""],
        resources: &["services"],
        verbs,
    };
    let both = Rule {
        groups: &[""],
        resources: &["configmaps", "services"],
        verbs,
    };
    let folder = tempfile::tempdir()?;
    cluster.allow("leaver", &[both]).await?;
    let as_user = cluster.kubectl().with_kubeconfig(&user);
    let may = async |resource: &str| as_user.run(&["get", resource]).await.map(drop);
    eventually("the right is in force", LONG, async || {
        may("configmaps").await
    })
    .await?;
    let (relay, by_relay) = by_a_relay(&cluster, &user, folder.path()).await?;
    let mut watchscope = watching(&binary, &by_relay, &[]).await?;

    cluster.allow("leaver", &[services]).await?;
    eventually("the right is gone", LONG, async || {
        ensure!(may("configmaps").await.is_err(), "still allowed");
        Ok(())
    })
    .await?;
    // The open stream goes on: only its end, here by a reset, shows that it may not come back.
    let before = watchscope.records()?;
    assert!(of(&before, "stream.ended", WATCHES[0]).is_empty());
    relay.reset();
    let records = until(&mut watchscope, LONG, "the refusal is found", |records| {
        for code in ["F08", "F41"] {
            find(records, "finding", WATCHES[0], |finding| {
                finding["code"] == code
            })?;
        }
        ensure!(of(records, "stream.opened", WATCHES[1]).len() >= 2);
        Ok(records.to_vec())
    })
    .await?;
    let mut codes = found(&records);
    codes.sort_unstable();
    assert_eq!(codes, ["F08", "F41"]);
    assert!(
        of(&records, "finding", WATCHES[1])
            .iter()
            .all(|finding| finding["code"] == "F08")
    );
    Ok(())
}

#[tokio::test]
async fn two_minutes_of_churn_on_a_healthy_cluster_raise_no_alarm() -> Result<()> {
    healthy(Duration::from_secs(120)).await
}

#[tokio::test]
#[ignore = "an hour: cargo xtask test --long"]
async fn an_hour_of_churn_on_a_healthy_cluster_raises_no_alarm() -> Result<()> {
    healthy(Duration::from_secs(3_600)).await
}

/// Creates, writes and deletes for so long, under a watch that is audited as often as may be.
async fn healthy(lasts: Duration) -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    let namespace = "churned";
    let kubectl = cluster.kubectl();
    kubectl.run(&["create", "namespace", namespace]).await?;
    let flags = [
        "watch",
        "configmaps",
        "-n",
        namespace,
        "-o",
        "jsonl",
        "--audit",
        "full",
    ];
    let launch = binary.with(&flags).kubeconfig(cluster.kubeconfig());
    let mut watchscope = launch.start()?;
    let watch = "churned/configmaps";
    until(&mut watchscope, LONG, "it streams", |records| {
        streams(records, watch)
    })
    .await?;
    let began = tokio::time::Instant::now();
    let mut round = 0;
    while began.elapsed() < lasts {
        let names = (0..20).map(|number| format!("settings-{round}-{number}"));
        writer.churn(namespace, names).await?;
        round += 1;
        // Some stay; a pace at which a comparison finds its moment, and others their share of the machine.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let records = until(&mut watchscope, LONG, "it was compared", |records| {
        find(records, "audit", watch, |audit| {
            audit["outcome"] == "agrees"
        })?;
        Ok(records.to_vec())
    })
    .await?;
    let live = of(&records, "change", watch).len();
    assert!(live > 500, "{live} changes in {lasts:?}");
    let findings: Vec<&Value> = records
        .iter()
        .filter(|record| record["type"] == "finding" || record["type"] == "verdict")
        .collect();
    assert!(findings.is_empty(), "{findings:?}");
    Ok(())
}
