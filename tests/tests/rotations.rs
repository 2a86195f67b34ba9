//! A real apiserver serves another certificate, or no longer accepts a client's credentials: watchscope's actions and
//! findings.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use watchscope_tests::kube::Rule;
use watchscope_tests::{
    ClusterOptions, KubeCluster, KubeTools, WatchscopeBinary, eventually, or_skip,
};

use crate::claims::{
    LONG, WATCHES, attributions, by_a_relay, found, streaming_again, watching_over_both,
};
use crate::records::{find, of, until};

#[tokio::test]
async fn a_renewed_certificate_is_accepted_and_another_authoritys_is_refused_until_trusted()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let mut cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    let folder = tempfile::tempdir()?;
    let (relay, kubeconfig) = by_a_relay(&cluster, cluster.kubeconfig(), folder.path()).await?;
    let mut both = watching_over_both(&binary, &kubeconfig, &[]).await?;
    cluster.renew_certificate().await?;
    relay.reset();
    for (protocol, watchscope) in &mut both {
        let records = streaming_again(watchscope, 2).await?;
        for watch in WATCHES {
            assert_eq!(
                attributions(&records, watch),
                ["F08"],
                "{protocol:?} {watch}"
            );
        }
        assert_eq!(found(&records), ["F08"], "{protocol:?}");
    }

    let next = cluster.change_authority().await?;
    relay.reset();
    for (protocol, watchscope) in &mut both {
        let records = until(
            watchscope,
            LONG,
            "the watches wait with the reason",
            |records| {
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
            },
        )
        .await?;
        let opened =
            |records: &[Value]| WATCHES.map(|watch| of(records, "stream.opened", watch).len());
        assert_eq!(opened(&records), [2, 2], "{protocol:?}: none is open");
    }

    // The kubeconfig at the same path now names the next authority.
    let text = fs::read_to_string(next)?;
    let direct = cluster.address().to_string();
    fs::write(
        &kubeconfig,
        text.replace(&direct, &relay.address.to_string()),
    )?;
    for (protocol, watchscope) in &mut both {
        let records = streaming_again(watchscope, 3).await?;
        for watch in WATCHES {
            assert_eq!(
                attributions(&records, watch),
                ["F08", "F08"],
                "{protocol:?} {watch}"
            );
            let gaps = of(&records, "gap", watch);
            let last = gaps.last().context("a gap")?;
            assert_eq!(last["resumed"], true, "{last}");
        }
        assert_eq!(found(&records), ["F08"], "{protocol:?}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "a minute: cargo xtask test --long"]
async fn a_rotated_token_is_read_again_and_a_revoked_one_is_found() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubectl = cluster.kubectl();
    kubectl
        .run(&["create", "serviceaccount", "rotated"])
        .await?;
    may_watch(&cluster, "system:serviceaccount:default:rotated").await?;
    // A token is valid as long as the Secret that it is bound to exists.
    let token = async |secret: &str| {
        let bound = [
            "--bound-object-kind",
            "Secret",
            "--bound-object-name",
            secret,
        ];
        kubectl
            .run(&["create", "secret", "generic", secret])
            .await?;
        let create = [&["create", "token", "rotated"], &bound[..]].concat();
        kubectl.run(&create).await
    };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("token");
    let first = token("first").await?;
    fs::write(&file, &first)?;
    let user = json!({"tokenFile": file});
    let of_token = kubeconfig_of(&cluster, "of-token", folder.path(), user)?;
    let (relay, by_relay) = by_a_relay(&cluster, &of_token, folder.path()).await?;
    let as_rotated = kubectl.with_kubeconfig(&of_token);
    let may = async || as_rotated.run(&["get", "configmaps"]).await.map(drop);
    eventually("the token is good", LONG, may).await?;
    let mut both = watching_over_both(&binary, &by_relay, &[]).await?;

    // The apiserver caches for 10 s that a token is valid, so kubectl tests when it no longer is.
    let revoke = async |secret: &str| {
        kubectl.run(&["delete", "secret", secret]).await?;
        eventually("the token is good no more", LONG, async || {
            ensure!(may().await.is_err(), "still good");
            Ok(())
        })
        .await
    };
    revoke("first").await?;
    fs::write(&file, token("second").await?)?;
    relay.reset();
    for (protocol, watchscope) in &mut both {
        let records = streaming_again(watchscope, 2).await?;
        // The next token was read in time.
        assert_eq!(found(&records), ["F08"], "{protocol:?}");
    }

    revoke("second").await?;
    relay.reset();
    for (_, watchscope) in &mut both {
        until(watchscope, LONG, "it is found", |records| {
            for watch in WATCHES {
                find(records, "finding", watch, |finding| {
                    finding["code"] == "F40" && finding["state"] == "raised"
                })?;
            }
            Ok(())
        })
        .await?;
    }
    fs::write(&file, token("third").await?)?;
    for (protocol, watchscope) in &mut both {
        let records = until(watchscope, LONG, "it is over", |records| {
            // It is one finding of both watches, cleared when the last of them is answered.
            let is_over =
                |finding: &Value| finding["code"] == "F40" && finding["state"] == "cleared";
            let cleared = WATCHES.map(|watch| find(records, "finding", watch, is_over).is_ok());
            ensure!(cleared.contains(&true), "it stands: {:?}", found(records));
            for watch in WATCHES {
                ensure!(of(records, "stream.opened", watch).len() == 3);
            }
            Ok(records.to_vec())
        })
        .await?;
        let mut codes = found(&records);
        codes.sort_unstable();
        assert_eq!(codes, ["F08", "F40"], "{protocol:?}");
    }
    Ok(())
}

/// How long the certificates of clients here are valid: long enough for both watches to stream.
const SHORT: Duration = Duration::from_secs(20);
const DAY: Duration = Duration::from_secs(86_400);

/// Flags that end watches after 4 s, so that each sends a new request with its current credentials.
const ENDING_OFTEN: [&str; 2] = ["--watch-timeout", "4s"];

/// Gives a user the rights to the resources that these tests watch.
async fn may_watch(cluster: &KubeCluster, user: &str) -> Result<()> {
    let read = Rule {
        groups: &[""],
        resources: &["configmaps", "services"],
        verbs: &["get", "list", "watch"],
    };
    cluster.allow(user, &[read]).await
}

/// Writes a certificate and its key to the paths that the kubeconfig, or its plugin, reads.
fn put(folder: &Path, [certificate, key]: [String; 2]) -> Result<()> {
    for (name, text) in [("client.key", key), ("client.crt", certificate)] {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Writes a kubeconfig of that file name for that user.
fn kubeconfig_of(cluster: &KubeCluster, name: &str, folder: &Path, user: Value) -> Result<PathBuf> {
    let mut kubeconfig: Value = serde_json::from_slice(&fs::read(cluster.token_kubeconfig()?)?)?;
    kubeconfig["users"][0]["user"] = user;
    let path = folder.join(name);
    fs::write(&path, kubeconfig.to_string())?;
    Ok(path)
}

/// Waits until the apiserver no longer accepts a certificate.
async fn expired(cluster: &KubeCluster, folder: &Path, pem: &[String; 2]) -> Result<()> {
    let copy = folder.join("copy");
    fs::create_dir_all(&copy)?;
    put(&copy, pem.clone())?;
    let user = json!({
        "client-certificate": copy.join("client.crt"),
        "client-key": copy.join("client.key"),
    });
    let path = kubeconfig_of(cluster, "of-the-copy", folder, user)?;
    let kubectl = cluster.kubectl().with_kubeconfig(&path);
    eventually("the certificate is good no more", LONG, async || {
        let refused = kubectl.run(&["get", "configmaps"]).await;
        ensure!(refused.is_err(), "still good");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_plugins_certificate_that_is_replaced_before_it_expires_is_no_finding() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    may_watch(&cluster, "by-plugin").await?;
    let folder = tempfile::tempdir()?;
    let first = cluster.certificate_for(SHORT, "by-plugin")?;
    put(folder.path(), first.clone())?;
    let plugin = r#"
        pem() { awk '{ printf "%s\\n", $0 }' "$1"; }
        printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{'
        printf '"clientCertificateData":"%s","clientKeyData":"%s"}}' "$(pem client.crt)" "$(pem client.key)"
    "#;
    let user = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", format!("cd '{}' && {plugin}", folder.path().display())],
        "interactiveMode": "Never",
    }});
    let kubeconfig = kubeconfig_of(&cluster, "of-plugin", folder.path(), user)?;
    let mut both = watching_over_both(&binary, &kubeconfig, &ENDING_OFTEN).await?;
    put(folder.path(), cluster.certificate_for(DAY, "by-plugin")?)?;
    expired(&cluster, folder.path(), &first).await?;
    for (protocol, watchscope) in &mut both {
        let so_far = watchscope.records()?.len();
        let records = until(watchscope, LONG, "both send new requests", |records| {
            for watch in WATCHES {
                let asked = of(&records[so_far..], "stream.opened", watch).len();
                ensure!(asked >= 2, "{watch} opened {asked} streams");
            }
            Ok(records.to_vec())
        })
        .await?;
        assert_eq!(found(&records), Vec::<&str>::new(), "{protocol:?}");
        for watch in WATCHES {
            let ends = attributions(&records, watch);
            assert!(
                ends.iter().all(|code| *code == "normal"),
                "{protocol:?} {watch}: {ends:?}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
#[ignore = "a minute: cargo xtask test --long"]
async fn a_certificate_that_expires_without_a_successor_is_found() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    may_watch(&cluster, "by-files").await?;
    let folder = tempfile::tempdir()?;
    put(folder.path(), cluster.certificate_for(SHORT, "by-files")?)?;
    let user = json!({
        "client-certificate": folder.path().join("client.crt"),
        "client-key": folder.path().join("client.key"),
    });
    let kubeconfig = kubeconfig_of(&cluster, "of-files", folder.path(), user)?;
    let mut both = watching_over_both(&binary, &kubeconfig, &ENDING_OFTEN).await?;
    for (protocol, watchscope) in &mut both {
        let records = until(watchscope, LONG, "it is found", |records| {
            for watch in WATCHES {
                find(records, "finding", watch, |finding| {
                    finding["code"] == "F40" && finding["state"] == "raised"
                })?;
            }
            Ok(records.to_vec())
        })
        .await?;
        assert_eq!(found(&records), ["F40"], "{protocol:?}");
    }
    Ok(())
}
