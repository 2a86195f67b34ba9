//! What watchscope does and says when a real apiserver shows another certificate.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use watchscope_tests::{ClusterOptions, KubeCluster, KubeTools, WatchscopeBinary, or_skip};

use crate::claims::{LONG, WATCHES, attributions, by_a_relay, found, streaming_again, watching};
use crate::records::{find, of, until};

#[tokio::test]
async fn a_renewed_certificate_is_taken_and_another_authoritys_is_refused_in_words_until_trusted()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let mut cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    let folder = tempfile::tempdir()?;
    let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
    let mut watchscope = watching(&binary, &kubeconfig, &[]).await?;
    cluster.renew_certificate().await?;
    relay.reset();
    let records = streaming_again(&mut watchscope, 2).await?;
    for watch in WATCHES {
        assert_eq!(attributions(&records, watch), ["F08"], "{watch}");
    }
    assert_eq!(found(&records), ["F08"]);

    let next = cluster.change_authority().await?;
    relay.reset();
    let records = until(&mut watchscope, LONG, "it says why it waits", |records| {
        for watch in WATCHES {
            let waits = find(records, "watch.phase", watch, |phase| {
                phase["reason"] == "tls-failed"
            })?;
            let words = waits["error"].as_str().unwrap_or_default();
            for word in ["127.0.0.1", "an authority that is not trusted"] {
                ensure!(words.contains(word), "{word} in {words}");
            }
            ensure!(waits["delayMs"].as_u64() > Some(0), "{waits}");
        }
        Ok(records.to_vec())
    })
    .await?;
    let opened = |records: &[Value]| WATCHES.map(|watch| of(records, "stream.opened", watch).len());
    assert_eq!(opened(&records), [2, 2], "none is open");

    // The kubeconfig at the same place now names the next authority.
    let text = fs::read_to_string(next)?;
    let direct = cluster.address().to_string();
    fs::write(
        &kubeconfig,
        text.replace(&direct, &relay.address.to_string()),
    )?;
    let records = streaming_again(&mut watchscope, 3).await?;
    for watch in WATCHES {
        assert_eq!(attributions(&records, watch), ["F08", "F08"], "{watch}");
        let gaps = of(&records, "gap", watch);
        let last = gaps.last().context("a gap")?;
        assert_eq!(last["resumed"], true, "{last}");
    }
    assert_eq!(found(&records), ["F08"]);
    Ok(())
}
