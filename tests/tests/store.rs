//! What watchscope claims when the store behind a real apiserver changes: another leader, a state from before.

use anyhow::{Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use watchscope_tests::{ClusterOptions, KubeCluster, KubeTools, WatchscopeBinary, or_skip};

use crate::claims::{LONG, WATCHES, found, watching};
use crate::real_cluster::followed_to_the_end;
use crate::records::{existing_at, find, follow, of, streams, until};
use crate::writer::Writer;

const FIRST: &str = "default/configmaps";
const SECOND: &str = "default/configmaps#2";

#[tokio::test]
async fn etcd_that_is_put_back_is_found_restored_and_believed_again_by_every_server() -> Result<()>
{
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let options = ClusterOptions {
        etcd_syncs: true,
        ..ClusterOptions::default()
    };
    let mut cluster = KubeCluster::start(&tools, options).await?;
    let writer = Writer::start(&cluster).await?;
    let names = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        names.into_iter()
    };
    let path = |name: &str| format!("/api/v1/namespaces/default/configmaps/{name}");
    writer
        .create("default", names(&["kept", "changed", "deleted"]))
        .await?;
    cluster.kill_apiserver()?;
    cluster.kill_etcd()?;
    cluster.save_etcd()?;
    cluster.start_etcd().await?;
    cluster.start_apiserver().await?;
    let second = cluster.start_second().await?;

    let both = format!("{},{}", cluster.address(), second.address());
    let flags = ["--audit", "full", "--servers", &both];
    let mut of_any = watching(&binary, cluster.kubeconfig(), &flags[..2]).await?;
    let mut of_each = watching(&binary, cluster.kubeconfig(), &flags).await?;
    until(&mut of_each, LONG, "the second streams", |records| {
        streams(records, SECOND)
    })
    .await?;
    // What will never have been: some come and go, one goes, one changes. It is much, since etcd's revision goes on
    // growing after it is put back, and what has caught up with a watch does not look restored any more.
    let lost = (0..200).map(|n| format!("lost-{n}"));
    writer.churn("default", lost).await?;
    writer.write(Method::DELETE, &path("deleted"), None).await?;
    let patch = json!({"data": {"n": "2"}});
    writer
        .write(Method::PATCH, &path("changed"), Some(&patch))
        .await?;
    for (watchscope, watches) in [
        (&mut of_any, &[FIRST][..]),
        (&mut of_each, &[FIRST, SECOND]),
    ] {
        until(watchscope, LONG, "all of it is told", |records| {
            for watch in watches {
                find(records, "change", watch, |change| {
                    change["name"] == "changed" && change["change"] == "MODIFIED"
                })?;
            }
            Ok(())
        })
        .await?;
    }

    cluster.kill_apiserver()?;
    drop(second);
    cluster.kill_etcd()?;
    cluster.restore_etcd()?;
    cluster.start_etcd().await?;
    cluster.start_apiserver().await?;
    let _second = cluster.start_second().await?;
    for (watchscope, watches) in [
        (&mut of_any, &[FIRST][..]),
        (&mut of_each, &[FIRST, SECOND]),
    ] {
        until(
            watchscope,
            LONG,
            "it is found, and all is listed anew",
            |records| {
                let restored = records
                    .iter()
                    .find(|record| record["type"] == "finding" && record["code"] == "F33");
                let Some(restored) = restored else {
                    anyhow::bail!("no F33: {:?}", found(records));
                };
                for watch in watches {
                    find(records, "list.complete", watch, |list| {
                        list["seq"].as_u64() > restored["seq"].as_u64()
                    })?;
                }
                Ok(())
            },
        )
        .await?;
    }
    writer.create("default", names(&["after"])).await?;
    let history = cluster
        .etcd()
        .history("/registry/configmaps/default/")
        .await?;
    let head = cluster.etcd().revision().await?;
    for (watchscope, watches) in [
        (&mut of_any, &[FIRST][..]),
        (&mut of_each, &[FIRST, SECOND]),
    ] {
        let records = until(watchscope, LONG, "it goes on", |records| {
            for watch in watches {
                find(records, "change", watch, |change| change["name"] == "after")?;
            }
            Ok(records.to_vec())
        })
        .await?;
        for watch in watches {
            let started = records
                .iter()
                .rposition(|record| record["type"] == "watch.started" && record["watch"] == *watch);
            let anew = &records[started.unwrap_or_default()..];
            let followed = follow(&history, anew, watch)?;
            assert_eq!(followed.held, existing_at(&history, head), "{watch}");
        }
        let mut codes = found(&records);
        // The servers went too, which is said; nothing else is.
        codes.retain(|code| !["F06", "F07", "F08", "F32"].contains(code));
        assert_eq!(codes, ["F33"]);
    }
    Ok(())
}

#[tokio::test]
async fn another_leader_of_etcd_is_no_finding_and_costs_no_change() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let options = ClusterOptions {
        further_etcds: 2,
        ..ClusterOptions::default()
    };
    let mut cluster = KubeCluster::start(&tools, options).await?;
    let writer = Writer::start(&cluster).await?;
    let flags = ["--audit", "full"];
    let mut watchscope = watching(&binary, cluster.kubeconfig(), &flags).await?;

    let churn = |range: std::ops::Range<u32>| range.map(|n| format!("settings-{n}"));
    let moving = async {
        for (to, told) in [(1, 20), (2, 60), (1, 100)] {
            until(&mut watchscope, LONG, "writes are under way", |records| {
                let now = of(records, "change", FIRST).len();
                ensure!(now >= told, "{now} changes");
                Ok(())
            })
            .await?;
            cluster.move_etcd_leader(to).await?;
        }
        Ok(())
    };
    let writing = writer.churn("default", churn(0..60));
    let (moved, written): (Result<()>, _) = tokio::join!(moving, writing);
    moved?;
    written?;
    let followed = followed_to_the_end(&cluster, &mut watchscope, "default").await?;
    let records = watchscope.records()?;
    let ended: Vec<&Value> = WATCHES
        .iter()
        .flat_map(|watch| of(&records, "stream.ended", watch))
        .collect();
    assert!(ended.is_empty(), "{ended:?}");
    assert_eq!(
        (followed.lists, followed.live, followed.passed_over),
        (1, 180, 0)
    );
    let claimed: Vec<&Value> = records
        .iter()
        .filter(|record| record["type"] == "finding" || record["type"] == "verdict")
        .collect();
    assert!(claimed.is_empty(), "{claimed:?}");

    // The one that dies says nothing before it goes, and the others have to find out and choose.
    let killing = async {
        until(&mut watchscope, LONG, "writes are under way", |records| {
            let now = of(records, "change", FIRST).len();
            ensure!(now >= 200, "{now} changes");
            Ok(())
        })
        .await?;
        cluster.kill_etcd_member(1)
    };
    let (killed, written) = tokio::join!(killing, writer.churn("default", churn(60..100)));
    killed?;
    written?;
    let followed = followed_to_the_end(&cluster, &mut watchscope, "default").await?;
    assert!(followed.live > 180, "{followed:?}");
    let records = watchscope.records()?;
    let verdict = records.iter().find(|record| record["type"] == "verdict");
    assert_eq!(verdict, None, "objects that are as they are");
    // An apiserver that has no leader for 3 s ends its watches.
    let of_ends = ["F11", "F15", "F16"];
    let codes = found(&records);
    assert!(codes.iter().all(|code| of_ends.contains(code)), "{codes:?}");
    Ok(())
}
