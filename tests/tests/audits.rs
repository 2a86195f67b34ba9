//! The audit against a real kube-apiserver and the simulated one: what is so is found to be so, and the reads are seen.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use watchscope_tests::{Finished, KubeCluster, KubeTools, WatchscopeBinary, eventually, or_skip};

use crate::http;
use crate::records::of;
use crate::relay::Relay;
use crate::simulated::Simulated;
use crate::writer::Writer;

const LONG: Duration = Duration::from_secs(240);

fn lines(finished: &Finished) -> Result<Vec<Value>> {
    let lines = finished.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).with_context(|| format!("JSON, not {line}")))
        .collect()
}

/// All that was compared, and that nothing came of it but that it is so.
fn agreements(records: &[Value]) -> Result<Vec<&Value>> {
    let of_kind = |kind: &str| -> Vec<&Value> {
        let records = records.iter();
        records.filter(|record| record["type"] == kind).collect()
    };
    let (verdicts, audits) = (of_kind("verdict"), of_kind("audit"));
    ensure!(verdicts.is_empty(), "{verdicts:?}");
    for audit in &audits {
        ensure!(audit["outcome"] == "agrees", "{audit}");
    }
    Ok(audits)
}

#[tokio::test]
async fn an_audit_of_a_healthy_apiserver_under_writes_finds_that_all_is_so() -> Result<()> {
    const KEPT: u32 = 30;
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    let kubectl = cluster.kubectl();
    kubectl.run(&["create", "namespace", "audited"]).await?;
    let names = |kind: &str, range: std::ops::Range<u32>| {
        let names: Vec<String> = range.map(|n| format!("{kind}-{n}")).collect();
        names.into_iter()
    };
    writer.create("audited", names("kept", 0..KEPT)).await?;
    let label = ["label", "configmaps", "--all", "app=kept", "-n", "audited"];
    kubectl.run(&label).await?;
    let audit = |arguments: &[&str]| {
        let mut all = vec!["audit", "configmaps", "-n", "audited", "-o", "jsonl"];
        all.extend(arguments);
        binary.with(&all).kubeconfig(cluster.kubeconfig())
    };
    for arguments in [
        &[][..],
        &["--http1"],
        &["-l", "app=kept"],
        &["--metadata-only"],
    ] {
        let is_over = Cell::new(false);
        let auditing = async {
            let finished = audit(arguments).run(LONG).await;
            is_over.set(true);
            finished
        };
        let writing = async {
            while !is_over.get() {
                writer.churn("audited", names("passing", 0..40)).await?;
            }
            anyhow::Ok(())
        };
        let (finished, written) = tokio::join!(auditing, writing);
        let (finished, ()) = (finished?, written?);
        let is_selected = arguments.contains(&"-l");
        // Those that come and go are looked up too, or the stream tells of them.
        ensure!(finished.code() == Some(0), "{finished:?}");
        let records = lines(&finished)?;
        let audits = agreements(&records)?;
        let listed = audits.iter().find(|audit| {
            let method = audit["method"].as_str().unwrap_or_default();
            method.starts_with("list")
        });
        let listed = listed.with_context(|| format!("no list was compared: {audits:?}"))?;
        let compared = listed["compared"].as_u64().unwrap_or_default();
        // Those that come and go have no label.
        let is_all = if is_selected {
            compared == u64::from(KEPT)
        } else {
            compared >= u64::from(KEPT)
        };
        ensure!(is_all, "{arguments:?}: {listed}");
    }
    Ok(())
}

/// A kubeconfig like that of a simulated cluster, but by way of a relay.
fn by_relay(simulated: &Simulated, relay: &Relay) -> Result<PathBuf> {
    let kubeconfig = std::fs::read_to_string(&simulated.kubeconfig)?;
    let path = simulated.process.home().join("by-relay");
    let text = kubeconfig.replace(&simulated.origin, &relay.origin());
    std::fs::write(&path, text)?;
    Ok(path)
}

/// What each request that passed asks for, and who says to ask.
fn requests(asked: &str) -> Vec<(&str, &str)> {
    let heads = asked.split("\r\n\r\n");
    let requests = heads.filter_map(|head| {
        let mut lines = head.lines();
        let target = lines.next()?.split(' ').nth(1)?;
        let agent = lines.find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("user-agent").then_some(value)
        });
        Some((target, agent.unwrap_or_default()))
    });
    requests.collect()
}

/// From 1.34 on its lists are served by the watch cache: each object is looked up in etcd, as many a minute as the server
/// is asked at most, and of those that were not in time nothing is known.
#[tokio::test]
async fn an_audit_whose_lists_may_be_a_caches_looks_each_object_up_for_as_long_as_it_is_given()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    let kubectl = cluster.kubectl();
    for (namespace, objects, lasts, code) in [
        ("few", 3, "150s", 0),
        ("many", 60, "150s", 0),
        ("late", 150, "10s", 4),
    ] {
        kubectl.run(&["create", "namespace", namespace]).await?;
        let names = (0..objects).map(|n| format!("settings-{n}"));
        writer.create(namespace, names).await?;
        let arguments = [
            "audit",
            "configmaps",
            "-n",
            namespace,
            "-o",
            "jsonl",
            "--for",
            lasts,
        ];
        let launch = binary.with(&arguments).kubeconfig(cluster.kubeconfig());
        let finished = launch.run(LONG).await?;
        assert_eq!(finished.code(), Some(code), "{finished:?}");
        let records = lines(&finished)?;
        let last = records.last().context("a record")?;
        assert_eq!(last["method"], "get each", "{last}");
        let looked_up = last["compared"].as_u64().unwrap_or_default();
        if code == 0 {
            agreements(&records)?;
            assert_eq!(looked_up, objects, "{last}");
        } else {
            ensure!(looked_up > 60 && looked_up < 120, "{last}");
            let says = format!("{looked_up} of {objects} objects had been looked up");
            ensure!(finished.stderr.contains(&says), "{finished:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_watch_that_is_audited_by_itself_shows_its_reads_in_a_lane_of_their_own_and_their_name_to_the_server()
-> Result<()> {
    const WATCH: &str = "shop/configmaps";
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let relay = Relay::to(http::address(&simulated.origin)).await?;
    let arguments = [
        "watch",
        "-o",
        "jsonl",
        "configmaps",
        "-n",
        "shop",
        "--audit",
        "full",
    ];
    let launch = binary
        .with(&arguments)
        .kubeconfig(&by_relay(&simulated, &relay)?);
    let mut watchscope = launch.start()?;
    let records = eventually("it has audited", LONG, async || {
        watchscope.still_runs()?;
        let records = watchscope.records()?;
        ensure!(!of(&records, "audit", WATCH).is_empty(), "no audit yet");
        Ok(records)
    })
    .await?;
    let audits = agreements(&records)?;
    ensure!(audits[0]["compared"].as_u64() > Some(0), "{audits:?}");

    let sent = |lane: &str| of(&records, "request.sent", lane);
    let answered = of(&records, "request.answered", &format!("{WATCH}#a"));
    let (watched, audited) = (sent(WATCH), sent(&format!("{WATCH}#a")));
    ensure!(!watched.is_empty() && !audited.is_empty(), "{records:?}");
    ensure!(!answered.is_empty(), "{records:?}");
    // Connections of its own.
    for audited in &audited {
        let shared = watched
            .iter()
            .find(|watched| watched["connection"] == audited["connection"]);
        ensure!(shared.is_none(), "{audited} and {shared:?}");
    }
    // The server knows by the user agent what the log knows by the lane.
    let asked = relay.asked();
    let of_objects = requests(&asked)
        .into_iter()
        .filter(|(target, _)| target.contains("/shop/configmaps"));
    let (theirs, ours): (Vec<_>, Vec<_>) =
        of_objects.partition(|(_, agent)| agent.starts_with("watchscope-audit/"));
    for (lane, requests) in [(watched, ours), (audited, theirs)] {
        for sent in lane {
            let (path, query) = (sent["path"].as_str(), sent["query"].as_str());
            let target = [path, query].map(Option::unwrap_or_default).join("?");
            let target = target.trim_end_matches('?');
            let is_asked = requests.iter().any(|(asked, _)| *asked == target);
            ensure!(is_asked, "{sent} is not among {requests:?}");
        }
    }
    Ok(())
}

/// The watch of the story F45 is never told that `a` is gone. The audit compares once all of its watches stream: one that
/// waits for its list until then leaves time for that to happen.
#[tokio::test]
async fn an_audit_that_finds_a_ghost_names_it_and_ends_with_3() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start_with(&binary, 0, &["f45"]).await?;
    let address = http::address(&simulated.origin);
    let relay = Relay::holding(address, "/services?").await?;
    let by_relay = by_relay(&simulated, &relay)?;
    let arguments = ["audit", "configmaps", "services", "-o", "jsonl", "--http1"];
    let launch = binary.with(&arguments).kubeconfig(&by_relay);
    let (finished, released) = tokio::join!(
        launch.run(LONG),
        eventually("the watch was told what came after", LONG, async || {
            let told = relay.told();
            let changes = told.matches("\"MODIFIED\"").count();
            ensure!(changes == 2, "{told}");
            relay.let_through();
            Ok(())
        })
    );
    released?;
    let finished = finished?;
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    let records = lines(&finished)?;
    let of_a = |kind: &str| -> Vec<&Value> {
        let of_kind = records.iter().filter(|record| record["type"] == kind);
        of_kind.filter(|record| record["name"] == "a").collect()
    };
    let said: Vec<_> = of_a("verdict")
        .iter()
        .map(|said| (&said["kind"], &said["state"]))
        .collect();
    assert_eq!(
        json!(said),
        json!([["ghost", "raised"], ["ghost", "confirmed"]])
    );
    let reads = of_a("audit");
    assert!(
        !reads.is_empty() && reads.iter().all(|read| read["outcome"] == "differs"),
        "{reads:?}"
    );
    ensure!(
        finished.stderr.contains("default/configmaps"),
        "{finished:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_audit_that_cannot_be_made_says_so() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    // Nothing streams within so short a time.
    let arguments = ["audit", "configmaps", "-n", "shop", "--for", "1ms"];
    let launch = binary.with(&arguments).kubeconfig(&simulated.kubeconfig);
    let finished = launch.run(LONG).await?;
    assert_eq!(finished.code(), Some(4), "{finished:?}");
    ensure!(finished.stderr.contains("undecided: "), "{finished:?}");
    Ok(())
}
