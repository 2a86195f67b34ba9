//! watchscope's claims about a real kube-apiserver, compared with what really happened to it.

use std::collections::BTreeMap;
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

use crate::real_cluster::followed_to_the_end;
use crate::records::{find, of, streams, until};
use crate::relay::Relay;
use crate::writer::Writer;

/// How long a story may wait. A connection is given up after 45 s of silence, and the machine may be busy.
pub(crate) const LONG: Duration = Duration::from_secs(150);
pub(crate) const WATCHES: [&str; 2] = ["default/configmaps", "default/services"];
/// The flag for HTTP/1.1; without it TLS negotiates HTTP/2.
pub(crate) const HTTP1: &str = "--http1";
/// How long an end must be past before its attribution counts as final, in milliseconds. Diagnosis revises it for 2.25
/// s, and then it must be written.
const SETTLED_MS: i64 = 4_000;

/// Returns the codes of all findings, each once, in the order in which they were raised.
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

/// Returns the final attribution of each ended stream of a watch.
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

/// Asserts that each watch ended first by `code`. A later end must be F11: the server's next cache began after the
/// version that the watch had reached. There must be one finding, and it counts those 410s.
pub(crate) fn all_ended_by(code: &str, records: &[Value]) {
    let mut expired = 0;
    for watch in WATCHES {
        let told = attributions(records, watch);
        let ended = of(records, "stream.ended", watch);
        assert_eq!(told.first(), Some(&code), "{watch}: {ended:?}");
        let more = &told[1..];
        assert!(more.iter().all(|code| *code == "F11"), "{watch}: {told:?}");
        expired += u64::from(!more.is_empty());
    }
    assert_eq!(found(records), [code]);
    let findings = records.iter().rfind(|record| record["type"] == "finding");
    let relisted = findings.map_or(0, |last| last["relisted"].as_u64().unwrap_or(0));
    assert_eq!(relisted, expired, "{findings:?}");
}

/// Starts `watchscope watch` of configmaps and services, and waits until both stream over the protocol that the flags
/// choose.
pub(crate) async fn watching(
    binary: &WatchscopeBinary,
    kubeconfig: &Path,
    flags: &[&str],
) -> Result<Watchscope> {
    let protocol = if flags.contains(&HTTP1) {
        "http/1.1"
    } else {
        "h2"
    };
    let mut all = vec!["watch", "configmaps", "services", "-o", "jsonl"];
    all.extend(flags);
    let mut watchscope = binary.with(&all).kubeconfig(kubeconfig).start()?;
    until(&mut watchscope, LONG, "both stream", |records| {
        for watch in WATCHES {
            streams(records, watch)?;
        }
        let mut opened = records
            .iter()
            .filter(|record| record["type"] == "connection.opened");
        ensure!(opened.all(|opened| opened["alpn"] == protocol));
        Ok(())
    })
    .await?;
    Ok(watchscope)
}

/// Starts one such watch over each protocol, with these flags, so that one trouble meets both.
pub(crate) async fn watching_over_both(
    binary: &WatchscopeBinary,
    kubeconfig: &Path,
    flags: &[&str],
) -> Result<[(&'static [&'static str], Watchscope); 2]> {
    let over = async |protocol: &'static [&'static str]| {
        let flags = [flags, protocol].concat();
        anyhow::Ok((protocol, watching(binary, kubeconfig, &flags).await?))
    };
    let (shared, single) = tokio::try_join!(over(&[]), over(&[HTTP1]))?;
    Ok([shared, single])
}

/// Waits until each watch has opened `opened` streams, and the attributions of all ends are final.
pub(crate) async fn streaming_again(
    watchscope: &mut Watchscope,
    opened: usize,
) -> Result<Vec<Value>> {
    until(
        watchscope,
        LONG,
        "all stream again, and each end is attributed",
        |records| {
            for watch in WATCHES {
                let told = of(records, "stream.opened", watch).len();
                ensure!(told >= opened, "{watch} opened {told} streams");
                let ended = of(records, "stream.ended", watch).len();
                let attributed = attributions(records, watch).len();
                ensure!(attributed >= ended, "{attributed} of {ended} ends");
                // If an answer within the stream refuses it, one gap spans both ends, so one gap record closes both.
                let closed = last_seq(records, "gap", watch);
                let open = last_seq(records, "stream.ended", watch);
                ensure!(closed > open, "the gap since {open:?} is not closed");
            }
            let last_end = records
                .iter()
                .rfind(|record| record["type"] == "stream.ended");
            let since = last_end.map_or(i64::MAX, |end| now_ms() - at_ms(end));
            ensure!(since > SETTLED_MS, "only {since} ms");
            Ok(records.to_vec())
        },
    )
    .await
}

/// Returns the seq of the last record of that type about the watch.
fn last_seq(records: &[Value], kind: &str, watch: &str) -> Option<u64> {
    of(records, kind, watch).last()?["seq"].as_u64()
}

/// Returns the time of the clock that stamps watchscope's records, in milliseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "records carry the wall clock, and the test needs their age"
)]
pub(crate) fn now_ms() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Returns a record's time in milliseconds since 1970.
pub(crate) fn at_ms(record: &Value) -> i64 {
    let at = record["at"].as_str().unwrap_or_default();
    watchscope_model::Time::parse(at).map_or(0, |at| at.0 / 1_000)
}

/// Starts a relay to the cluster's apiserver. Returns it with a copy of the kubeconfig, in `folder`, that leads through
/// it.
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
async fn connections_that_a_middlebox_resets_are_only_resets_over_both_protocols() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let folder = tempfile::tempdir()?;
    let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
    let mut both = watching_over_both(&binary, &kubeconfig, &[]).await?;
    relay.reset();
    for (protocol, watchscope) in &mut both {
        let records = streaming_again(watchscope, 2).await?;
        for watch in WATCHES {
            assert_eq!(
                attributions(&records, watch),
                ["F08"],
                "{protocol:?} {watch}"
            );
            let gap = find(&records, "gap", watch, |_| true)?;
            assert_eq!(gap["resumed"], true, "{gap}");
        }
        assert_eq!(found(&records), ["F08"], "{protocol:?}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "over a minute: cargo xtask test --long"]
async fn a_flow_that_a_middlebox_forgets_is_only_found_dead_over_both_protocols() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    let folder = tempfile::tempdir()?;
    let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
    // A silence of 90 s is suspicious only after a bookmark. Initial events end with one at once.
    let flags = [HTTP1, "--watch-list"];
    let (shared, mut single) = tokio::try_join!(
        watching(&binary, &kubeconfig, &[]),
        watching(&binary, &kubeconfig, &flags)
    )?;
    until(&mut single, LONG, "the initial events end", |records| {
        for watch in WATCHES {
            find(records, "bookmark", watch, |_| true)?;
        }
        Ok(())
    })
    .await?;
    relay.silence();
    writer
        .create("default", std::iter::once("unheard".to_owned()))
        .await?;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "unheard"},
        "spec": {"clusterIP": "None"}});
    let path = "/api/v1/namespaces/default/services";
    writer.write(Method::POST, path, Some(&service)).await?;

    // After 30 s of silence a ping goes out; it is unanswered for 15 s.
    let by_ping = (shared, 44_000..90_000, false);
    // After 90 s of silence a probe watches for 3 s beside the stream, and gets the changes that the stream did not
    // deliver.
    let by_looking = (single, 89_000..150_000, true);
    for (mut watchscope, dead_ms, looks) in [by_ping, by_looking] {
        let records = streaming_again(&mut watchscope, 2).await?;
        for watch in WATCHES {
            assert_eq!(attributions(&records, watch), ["F04"], "{watch}");
            let ended = find(&records, "stream.ended", watch, |_| true)?;
            assert_eq!(ended["cause"], "idle-timeout", "{ended}");
            let age_ms = ended["ageMs"].as_u64().unwrap_or_default();
            assert!(dead_ms.contains(&age_ms), "{ended}");
            let aside = format!("{watch}#s");
            let looked = of(&records, "request.answered", &aside);
            let statuses: Vec<&Value> = looked.iter().map(|answer| &answer["status"]).collect();
            let expected: &[u64] = if looks { &[200] } else { &[] };
            assert_eq!(json!(statuses), json!(expected), "{watch}");
            let gap = find(&records, "gap", watch, |_| true)?;
            assert_eq!(gap["resumed"], true, "{gap}");
            // The next stream delivers each missed change once.
            let changes = of(&records, "change", watch);
            let unheard: Vec<&&Value> = changes
                .iter()
                .filter(|change| change["name"] == "unheard")
                .collect();
            assert_eq!(unheard.len(), 1, "{unheard:?}");
            assert_eq!(unheard[0]["origin"], "live");
            assert!(unheard[0]["seq"].as_u64() > ended["seq"].as_u64());
        }
        assert_eq!(found(&records), ["F04"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_stall_that_passes_is_no_finding_and_loses_nothing_over_both_protocols() -> Result<()> {
    /// The stall: shorter than the silence after which a connection is pinged.
    const STALL: Duration = Duration::from_secs(20);
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    let folder = tempfile::tempdir()?;
    let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
    let mut both = watching_over_both(&binary, &kubeconfig, &[]).await?;
    let stalled_ms = now_ms();
    relay.stall(STALL);
    let names: Vec<String> = (0..20).map(|number| format!("stalled-{number}")).collect();
    writer.churn("default", names.iter().cloned()).await?;

    for (protocol, watchscope) in &mut both {
        let watch = WATCHES[0];
        let told = |records: &[Value]| -> Vec<Value> {
            let changes = of(records, "change", watch).into_iter();
            let stalled = |change: &&Value| {
                let name = change["name"].as_str().unwrap_or_default();
                name.starts_with("stalled-")
            };
            changes.filter(stalled).cloned().collect()
        };
        let records = until(watchscope, LONG, "all of it passes", |records| {
            let told = told(records);
            ensure!(told.len() >= 60, "{} changes", told.len());
            let since = told.last().map_or(0, |last| now_ms() - at_ms(last));
            ensure!(since > SETTLED_MS, "only {since} ms");
            Ok(records.to_vec())
        })
        .await?;
        let told = told(&records);
        let held_back_ms = at_ms(&told[0]) - stalled_ms;
        assert!(held_back_ms > 19_500, "only {held_back_ms} ms: {}", told[0]);
        for name in &names {
            let of_it = told.iter().filter(|change| change["name"] == *name);
            let kinds: Vec<&Value> = of_it.map(|change| &change["change"]).collect();
            assert_eq!(
                kinds,
                ["ADDED", "MODIFIED", "DELETED"],
                "{protocol:?} {name}"
            );
        }
        for watch in WATCHES {
            assert!(of(&records, "stream.ended", watch).is_empty(), "{watch}");
            let aside = of(&records, "request.sent", &format!("{watch}#s"));
            assert!(aside.is_empty(), "{aside:?}");
        }
        assert_eq!(found(&records), Vec::<&str>::new(), "{protocol:?}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "over a minute: cargo xtask test --long"]
async fn answers_that_a_middlebox_holds_back_are_found_late_over_both_protocols() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let held_back = async |flags: &[&str]| {
        let folder = tempfile::tempdir()?;
        let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
        // Streams end soon, so that the next request goes over a connection that is already open.
        let flags = [&["--watch-timeout", "5s"], flags].concat();
        let mut watchscope = watching(&binary, &kubeconfig, &flags).await?;
        relay.buffer(Duration::from_secs(12));
        let records = until(&mut watchscope, LONG, "headers come late", |records| {
            let of_any = WATCHES.iter().find_map(|watch| {
                let told = |finding: &Value| {
                    // The headers did come in the end, so the finding rises from suspected to likely.
                    finding["code"] == "F44" && finding["certainty"] == "likely"
                };
                find(records, "finding", watch, told).ok()
            });
            ensure!(of_any.is_some(), "{:?}", found(records));
            Ok(records.to_vec())
        })
        .await?;
        assert_eq!(found(&records), ["F44"], "{flags:?}");
        let told = WATCHES.map(|watch| attributions(&records, watch)).concat();
        assert!(
            !told.is_empty() && told.iter().all(|code| *code == "normal"),
            "{flags:?}: {told:?}"
        );
        anyhow::Ok(())
    };
    tokio::try_join!(held_back(&[]), held_back(&[HTTP1]))?;
    Ok(())
}

#[tokio::test]
async fn a_connection_that_ends_inside_an_event_loses_nothing_over_both_protocols() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    let torn = async |name: &str, flags: &[&str]| {
        let folder = tempfile::tempdir()?;
        let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
        let mut watchscope = watching(&binary, &kubeconfig, flags).await?;
        relay.tear_after(100_000);
        // An event of 300 kB, and the relay passes its first third.
        let large = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"text": "large ".repeat(50_000)}});
        let path = "/api/v1/namespaces/default/configmaps";
        writer.write(Method::POST, path, Some(&large)).await?;
        let watch = WATCHES[0];
        let records = until(
            &mut watchscope,
            LONG,
            "the change arrives whole, and a finding is raised",
            |records| {
                find(records, "change", watch, |change| change["name"] == name)?;
                ensure!(
                    !attributions(records, watch).is_empty(),
                    "no end is attributed"
                );
                find(records, "finding", watch, |_| true)?;
                Ok(records.to_vec())
            },
        )
        .await?;
        let ended = find(&records, "stream.ended", watch, |_| true)?;
        assert_eq!(ended["cause"], "eof-in-frame", "{flags:?} {ended}");
        // If all watches share the connection, the server may as well have ended it.
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
        anyhow::Ok(())
    };
    tokio::try_join!(torn("shared", &[]), torn("single", &[HTTP1]))?;
    Ok(())
}

#[tokio::test]
async fn the_death_of_an_apiserver_is_found_and_a_resume_loses_nothing() -> Result<()> {
    dies_and_comes_back_after(&[]).await
}

/// The watches' versions are older than everything in its next cache. Each gets a 410, which is a consequence.
#[tokio::test]
async fn an_apiserver_that_dies_while_others_write_is_one_finding_and_its_410s_are_none()
-> Result<()> {
    dies_and_comes_back_after(&["one", "two", "three"]).await
}

/// Kills an apiserver, writes objects of a kind that nobody watches directly into etcd, and starts the apiserver again.
async fn dies_and_comes_back_after(written: &[&str]) -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let mut cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    let mut both = watching_over_both(&binary, cluster.kubeconfig(), &[]).await?;
    cluster.kill_apiserver()?;
    for (_, watchscope) in &mut both {
        until(watchscope, LONG, "the streams are gone", |records| {
            for watch in WATCHES {
                find(records, "stream.ended", watch, |_| true)?;
            }
            Ok(())
        })
        .await?;
    }
    for name in written {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": "default"},
        });
        let key = format!("/registry/serviceaccounts/default/{name}");
        cluster.etcd().put(&key, &account).await?;
    }
    cluster.start_apiserver().await?;
    for (_, watchscope) in &mut both {
        let records = streaming_again(watchscope, 2).await?;
        all_ended_by("F06", &records);
        if !written.is_empty() {
            for watch in WATCHES {
                assert_eq!(attributions(&records, watch), ["F06", "F11"]);
            }
        }
    }
    Ok(())
}

/// While etcd is away, an apiserver's own watches of etcd wait, and then resume from their version. No stream ends, so
/// no finding and no verdict is raised. An etcd that runs without a leader behaves otherwise.
#[tokio::test]
async fn an_etcd_that_is_away_and_comes_back_raises_nothing_over_both_protocols() -> Result<()> {
    /// How long etcd is away: longer than an apiserver waits that etcd tells of a missing leader.
    const AWAY: Duration = Duration::from_secs(10);
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
    let mut both = watching_over_both(&binary, cluster.kubeconfig(), &flags).await?;
    cluster.kill_etcd()?;
    let killed = tokio::time::Instant::now();
    let kubectl = cluster.kubectl().clone();
    let asks_etcd = async || kubectl.run(&["get", "--raw", "/readyz/etcd"]).await;
    eventually("the apiserver reports etcd missing", LONG, async || {
        ensure!(asks_etcd().await.is_err(), "it says that etcd is there");
        Ok(())
    })
    .await?;
    tokio::time::sleep_until(killed + AWAY).await;
    cluster.start_etcd().await?;
    eventually("the apiserver has etcd again", LONG, async || {
        asks_etcd().await.map(drop)
    })
    .await?;
    writer.create("default", name("after")).await?;
    let path = "/api/v1/namespaces/default/configmaps/before";
    writer.write(Method::DELETE, path, None).await?;
    for (protocol, watchscope) in &mut both {
        let watch = WATCHES[0];
        let followed = followed_to_the_end(&cluster, watchscope, "default").await?;
        assert_eq!((followed.lists, followed.live), (1, 2), "{protocol:?}");
        let records = until(watchscope, LONG, "an audit has compared", |records| {
            let last = last_seq(records, "change", watch);
            find(records, "audit", watch, |audit| {
                audit["seq"].as_u64() > last && audit["outcome"] == "agrees"
            })?;
            Ok(records.to_vec())
        })
        .await?;
        for watch in WATCHES {
            let ended = of(&records, "stream.ended", watch);
            assert!(ended.is_empty(), "{protocol:?}: {ended:?}");
        }
        let claimed: Vec<&Value> = records
            .iter()
            .filter(|record| record["type"] == "finding" || record["type"] == "verdict")
            .collect();
        assert!(claimed.is_empty(), "{protocol:?}: {claimed:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_right_withdrawn_under_an_open_stream_is_found_when_the_stream_ends() -> Result<()> {
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
    let mut both = watching_over_both(&binary, &by_relay, &[]).await?;

    cluster.allow("leaver", &[services]).await?;
    eventually("the right is gone", LONG, async || {
        ensure!(may("configmaps").await.is_err(), "still allowed");
        Ok(())
    })
    .await?;
    // The open stream goes on. Only its end, here by a reset, shows that the watch may not resume.
    for (_, watchscope) in &both {
        let before = watchscope.records()?;
        assert!(of(&before, "stream.ended", WATCHES[0]).is_empty());
    }
    relay.reset();
    for (protocol, watchscope) in &mut both {
        let records = until(watchscope, LONG, "the refusal is found", |records| {
            for code in ["F08", "F41"] {
                find(records, "finding", WATCHES[0], |finding| {
                    finding["code"] == code
                })?;
            }
            ensure!(of(records, "stream.opened", WATCHES[1]).len() >= 2);
            // By now the finding of the watch that goes on is raised too.
            find(records, "finding", WATCHES[1], |_| true)?;
            Ok(records.to_vec())
        })
        .await?;
        let mut codes = found(&records);
        codes.sort_unstable();
        assert_eq!(codes, ["F08", "F41"], "{protocol:?}");
        let of_other = of(&records, "finding", WATCHES[1]);
        assert!(
            of_other.iter().all(|finding| finding["code"] == "F08"),
            "{protocol:?}: {of_other:?}"
        );
    }
    Ok(())
}

#[tokio::test]
#[ignore = "over a minute: cargo xtask test --long"]
async fn two_minutes_of_churn_on_a_healthy_cluster_raise_no_alarm() -> Result<()> {
    healthy(Duration::from_secs(120)).await
}

#[tokio::test]
#[ignore = "an hour: cargo xtask test --long"]
async fn an_hour_of_churn_on_a_healthy_cluster_raises_no_alarm() -> Result<()> {
    healthy(Duration::from_secs(3_600)).await
}

/// The objects that stay, and the objects that come and go together in a round.
const KEPT: usize = 20;
const A_ROUND: usize = 20;

/// The audit's methods, and the most milliseconds between two agreements by each. Lists of all are made every 15 s, or
/// every 30 s where most of the budget is spent. Lookups in etcd of several objects are reported together.
const COMPARED: [(&str, i64); 2] = [("list", 45_000), ("get", 90_000)];

/// Creates, writes and deletes objects until `lasts` is over, under a watch that is audited as often as possible.
async fn healthy(lasts: Duration) -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    // The long test and the short one run side by side, so each has a namespace of its own.
    let namespace = &format!("churned-{}", lasts.as_secs());
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
    let kept = (0..KEPT).map(|number| format!("kept-{number}"));
    writer.create(namespace, kept).await?;
    let launch = binary.with(&flags).kubeconfig(cluster.kubeconfig());
    let mut watchscope = launch.start()?;
    let watch = &format!("{namespace}/configmaps");
    until(&mut watchscope, LONG, "it streams", |records| {
        streams(records, watch)
    })
    .await?;
    let began = tokio::time::Instant::now();
    let mut rounds = 0;
    while began.elapsed() < lasts {
        let names = (0..A_ROUND).map(|number| format!("settings-{rounds}-{number}"));
        writer.churn(namespace, names).await?;
        rounds += 1;
        // Pauses, so that a comparison finds a quiet moment and other tests get their share of the machine.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    // An agreement about all objects of a list, or about several objects that were looked up in etcd one by one.
    let agrees = |audit: &Value, kind: &str| {
        let method = audit["method"].as_str().unwrap_or_default();
        audit["outcome"] == "agrees" && audit["name"].is_null() && method.starts_with(kind)
    };
    let compared = |audit: &Value| audit["compared"].as_u64().unwrap_or_default();
    let records = until(
        &mut watchscope,
        LONG,
        "an audit has compared the last change",
        |records| {
            let changes = of(records, "change", watch);
            let (told, written) = (changes.len(), KEPT + rounds * A_ROUND * 3);
            ensure!(told >= written, "{told} of {written} changes");
            let last = changes.last().map(|change| version(change));
            for (kind, _) in COMPARED {
                find(records, "audit", watch, |audit| {
                    agrees(audit, kind) && Some(version(audit)) >= last
                })?;
            }
            Ok(records.to_vec())
        },
    )
    .await?;
    // Each write is delivered once and in its order; each stream resumes where the one before ended.
    let mut told: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for change in of(&records, "change", watch) {
        let name = change["name"].as_str().unwrap_or_default();
        let kind = change["change"].as_str().unwrap_or_default();
        let origin = if name.starts_with("kept") {
            "list"
        } else {
            "live"
        };
        assert_eq!(change["origin"], origin, "{change}");
        told.entry(name).or_default().push(kind);
    }
    assert_eq!(told.len(), KEPT + rounds * A_ROUND);
    for (name, kinds) in told {
        let all = ["ADDED", "MODIFIED", "DELETED"];
        let written = if name.starts_with("kept") { 1 } else { 3 };
        assert_eq!(kinds, all[..written], "{name}");
    }
    assert_eq!(of(&records, "list.complete", watch).len(), 1);
    // Audits ran all the time: lists compared all objects, and each object that stayed was compared with etcd's.
    let audits = of(&records, "audit", watch);
    for (kind, within_ms) in COMPARED {
        let mut at = at_ms(of(&records, "stream.opened", watch)[0]);
        for audit in audits.iter().filter(|audit| agrees(audit, kind)) {
            let since = at_ms(audit) - at;
            assert!(since < within_ms, "{since} ms before {audit}");
            at = at_ms(audit);
            assert!(kind == "get" || compared(audit) >= KEPT as u64, "{audit}");
        }
    }
    let looked_up: u64 = audits
        .iter()
        .filter(|a| agrees(a, "get"))
        .map(|a| compared(a))
        .sum();
    assert!(looked_up >= KEPT as u64, "{looked_up} in {lasts:?}");
    let differs = audits.iter().find(|audit| audit["outcome"] == "differs");
    assert_eq!(differs, None);
    let findings: Vec<&Value> = records
        .iter()
        .filter(|record| record["type"] == "finding" || record["type"] == "verdict")
        .collect();
    assert!(findings.is_empty(), "{findings:?}");
    Ok(())
}

/// Returns the resourceVersion that a record names.
fn version(record: &Value) -> u64 {
    let text = record["resourceVersion"].as_str().unwrap_or_default();
    text.parse().unwrap_or_default()
}
