//! Credential plugins that work, fail and hang.

use std::fs;
use std::time::Duration;

use tempfile::TempDir;

use super::harness::{Server, client, cluster, file_source, plugin_user, write_kubeconfig};
use crate::cluster::CredentialError;
use crate::transport::tests::authority::Authority;

/// Sends several requests to a server that accepts any credentials. Returns the Authorization values that it received, and
/// how many times the plugin ran.
async fn asked(times: usize, plugin: &str) -> (Vec<String>, usize) {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let tls = authority.server_config(authority.loopback(), false);
    let server = Server::start(Some(tls), |_| (200, "{}".into())).await;
    let user = plugin_user(folder.path(), plugin);
    let path = write_kubeconfig(folder.path(), server.port, &authority, &user);
    let client = client(&file_source(&path));
    for _ in 0..times {
        client
            .get("/version", "application/json", 1024)
            .await
            .unwrap();
    }
    let runs = fs::read_to_string(folder.path().join("runs"))
        .unwrap()
        .lines()
        .count();
    (server.authorizations(), runs)
}

#[tokio::test]
async fn an_expired_plugin_token_is_renewed_by_the_plugin() {
    let plugin = r#"
        echo x >>runs; n=$(wc -l <runs)
        printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":'
        printf '{"token":"%s-%s-%s","expirationTimestamp":"2020-01-01T00:00:00Z"}}' "$1" "$WHO" "$n""#;
    // The session itself runs the plugin first. Then each request finds the token expired.
    let expected = [
        "Bearer token-s3cret-2".to_owned(),
        "Bearer token-s3cret-3".to_owned(),
    ];
    assert_eq!(asked(2, plugin).await, (expected.to_vec(), 3));
}

#[tokio::test]
async fn a_lasting_plugin_token_costs_one_run() {
    let plugin = r#"
        echo x >>runs
        printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t"}}'"#;
    assert_eq!(asked(3, plugin).await, (vec!["Bearer t".to_owned(); 3], 1));
}

/// Returns the error of a session whose plugin is this script.
async fn complaint(plugin: &str) -> String {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let user = plugin_user(folder.path(), plugin);
    let path = write_kubeconfig(folder.path(), 1, &authority, &user);
    cluster(&file_source(&path))
        .session()
        .await
        .map(drop)
        .unwrap_err()
        .to_string()
}

#[tokio::test]
async fn a_plugin_that_fails_is_quoted_without_its_secrets() {
    for (plugin, expected) in [
        (
            "echo s3cret; echo first >&2; echo please log in >&2; echo >&2; exit 3",
            "exit status: 3: please log in",
        ),
        ("exit 1", "exit status: 1"),
        (
            "echo '{\"token\": \"s3cret\"'",
            "its output is not an ExecCredential",
        ),
        (
            "echo '{\"kind\":\"ExecCredential\"}'",
            "its output has no status",
        ),
    ] {
        assert_eq!(
            complaint(plugin).await,
            format!("the credential plugin /bin/sh failed: {expected}")
        );
    }
}

#[tokio::test]
async fn a_missing_plugin_is_named_in_the_error() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let user = "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, interactiveMode: Never}";
    let path = write_kubeconfig(folder.path(), 1, &authority, user);
    let cluster = cluster(&file_source(&path));
    let expected =
        "the credential plugin no-such-plugin failed: No such file or directory (os error 2)";
    // The second request is within 2 s of the first. It gets the same answer without a second run.
    for _ in 0..2 {
        assert_eq!(
            cluster.session().await.map(drop).unwrap_err().to_string(),
            expected
        );
    }
}

#[tokio::test]
async fn a_plugin_that_hangs_times_out_and_is_not_started_twice() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let runs = || fs::read_to_string(folder.path().join("runs")).unwrap_or_default();
    let user = plugin_user(
        folder.path(),
        "echo x >>runs; while [ ! -e stop ]; do sleep 0.05; done; exit 1",
    );
    let path = write_kubeconfig(folder.path(), 1, &authority, &user);
    let cluster = cluster(&file_source(&path));
    tokio::time::pause();
    for _ in 0..2 {
        let asking = tokio::spawn({
            let cluster = cluster.clone();
            async move { cluster.session().await.map(drop) }
        });
        while runs().is_empty() {
            assert!(!asking.is_finished(), "the plugin was not started");
            tokio::task::yield_now().await;
        }
        // The second caller needs a moment to queue before the time is over.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(Duration::from_secs(61)).await;
        let error = asking.await.unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the credential plugin /bin/sh has not answered within 60 s"
        );
    }
    assert_eq!(runs(), "x\n");
    // The next caller waits for the plugin to end. Only then does the plugin start again.
    fs::write(folder.path().join("stop"), "").unwrap();
    tokio::time::advance(Duration::from_secs(3)).await;
    tokio::time::resume();
    let error = cluster.session().await.map(drop).unwrap_err();
    assert!(matches!(error, CredentialError::Plugin { .. }), "{error}");
    assert_eq!(runs(), "x\nx\n");
}
