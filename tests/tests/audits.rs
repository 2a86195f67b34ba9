//! The audit against a real kube-apiserver and a simulated one: it confirms a correct watch, and its reads are visible.

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

/// Returns all audits; fails if one disagrees or there is a verdict.
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
async fn an_audit_of_a_healthy_apiserver_under_writes_finds_no_difference() -> Result<()> {
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
        // Objects that come and go are looked up too, unless the stream delivers their change first.
        ensure!(finished.code() == Some(0), "{finished:?}");
        let records = lines(&finished)?;
        let audits = agreements(&records)?;
        let listed = audits.iter().find(|audit| {
            let method = audit["method"].as_str().unwrap_or_default();
            method.starts_with("list")
        });
        let listed = listed.with_context(|| format!("no list was compared: {audits:?}"))?;
        let compared = listed["compared"].as_u64().unwrap_or_default();
        // Objects that come and go have no label.
        let is_all = if is_selected {
            compared == u64::from(KEPT)
        } else {
            compared >= u64::from(KEPT)
        };
        ensure!(is_all, "{arguments:?}: {listed}");
    }
    Ok(())
}

/// Writes a kubeconfig like that of a simulated cluster, with a relay in place of the server.
fn by_relay(simulated: &Simulated, relay: &Relay) -> Result<PathBuf> {
    let kubeconfig = std::fs::read_to_string(&simulated.kubeconfig)?;
    let path = simulated.process.home().join("by-relay");
    let text = kubeconfig.replace(&simulated.origin, &relay.origin());
    std::fs::write(&path, text)?;
    Ok(path)
}

/// Returns the target and the user agent of each request that passed.
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

/// From 1.34 on the watch cache serves this server's lists, so the audit looks each object up in etcd. It sends at most
/// as many requests a minute as the server's budget allows. Objects that it did not look up in time stay undecided.
#[tokio::test]
async fn an_audit_whose_lists_may_come_from_a_cache_looks_up_each_object_until_its_time_is_over()
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
async fn reads_of_an_automatic_audit_have_a_lane_and_a_user_agent_of_their_own() -> Result<()> {
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
    // The audit's requests use connections of their own.
    for audited in &audited {
        let shared = watched
            .iter()
            .find(|watched| watched["connection"] == audited["connection"]);
        ensure!(shared.is_none(), "{audited} and {shared:?}");
    }
    // The audit's requests have a user agent of their own at the server, and a lane of their own in the log.
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

/// In story F45 the watch never gets the deletion of `a`. The audit compares once all of its watches stream. So the
/// relay holds the list of another watch back until the deletion is past.
#[tokio::test]
pub(crate) async fn an_audit_that_finds_a_ghost_names_it_and_exits_with_3() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start_with(&binary, 0, &["f45"]).await?;
    let address = http::address(&simulated.origin);
    let relay = Relay::holding(address, "/services?").await?;
    let by_relay = by_relay(&simulated, &relay)?;
    let arguments = ["audit", "configmaps", "services", "-o", "jsonl", "--http1"];
    let launch = binary.with(&arguments).kubeconfig(&by_relay);
    let (finished, released) = tokio::join!(
        launch.run(LONG),
        eventually(
            "the watch got the changes after the deletion",
            LONG,
            async || {
                let told = relay.told();
                let changes = told.matches("\"MODIFIED\"").count();
                ensure!(changes == 2, "{told}");
                relay.let_through();
                Ok(())
            }
        )
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
async fn an_audit_that_cannot_compare_reports_undecided() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    // No stream opens within 1 ms.
    let arguments = ["audit", "configmaps", "-n", "shop", "--for", "1ms"];
    let launch = binary.with(&arguments).kubeconfig(&simulated.kubeconfig);
    let finished = launch.run(LONG).await?;
    assert_eq!(finished.code(), Some(4), "{finished:?}");
    ensure!(finished.stderr.contains("undecided: "), "{finished:?}");
    Ok(())
}
