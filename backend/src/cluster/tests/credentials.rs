//! Credentials that are sent, rotated, renewed and refused.

use std::fs;
use std::time::Duration;

use tempfile::TempDir;

use super::harness::{Server, client, cluster, file_source, plugin_user, write_kubeconfig};
use crate::cluster::{ClientError, ConfigSource, CredentialError};
use crate::transport::tests::authority::Authority;

const ACCEPT: &str = "application/json";
const LIMIT: usize = 1024;

/// Starts a TLS server that accepts one Authorization value.
async fn server_for(authority: &Authority, accepted: &'static str) -> Server {
    let tls = authority.server_config(authority.loopback(), false);
    Server::start(Some(tls), move |asked| {
        if asked.authorization == accepted {
            (200, "{}".into())
        } else {
            (401, "{}".into())
        }
    })
    .await
}

#[tokio::test]
async fn a_token_is_sent_as_bearer() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let server = server_for(&authority, "Bearer s3cret").await;
    let path = write_kubeconfig(folder.path(), server.port, &authority, "token: s3cret");
    let client = client(&file_source(&path));
    for _ in 0..2 {
        assert_eq!(
            client.get("/version", ACCEPT, LIMIT).await.unwrap().status,
            200
        );
    }
    let connections: Vec<_> = server
        .asked()
        .iter()
        .map(|asked| asked.connection)
        .collect();
    assert_eq!(connections, [1, 1], "the connection is used again");
}

#[tokio::test]
async fn user_and_password_are_sent_as_basic() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let server = server_for(&authority, "Basic bWU6c2VjcmV0").await;
    let path = write_kubeconfig(
        folder.path(),
        server.port,
        &authority,
        "username: me\npassword: secret",
    );
    assert_eq!(
        client(&file_source(&path))
            .get("/version", ACCEPT, LIMIT)
            .await
            .unwrap()
            .status,
        200
    );
}

#[tokio::test]
async fn a_rotated_token_is_used_and_the_last_one_while_the_file_is_gone() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let tls = authority.server_config(authority.loopback(), false);
    let server = Server::start(Some(tls), |_| (200, "{}".into())).await;
    let path = write_kubeconfig(folder.path(), server.port, &authority, "tokenFile: token");
    let token = folder.path().join("token");
    // `kubectl create token` ends its output with a newline.
    fs::write(&token, "first\n").unwrap();
    let client = client(&file_source(&path));
    client.get("/1", ACCEPT, LIMIT).await.unwrap();
    fs::write(&token, "second\n").unwrap();
    client.get("/2", ACCEPT, LIMIT).await.unwrap();
    fs::remove_file(&token).unwrap();
    client.get("/3", ACCEPT, LIMIT).await.unwrap();
    fs::write(&token, "\n").unwrap();
    client.get("/4", ACCEPT, LIMIT).await.unwrap();
    assert_eq!(
        server.authorizations(),
        [
            "Bearer first",
            "Bearer second",
            "Bearer second",
            "Bearer second"
        ]
    );
}

#[tokio::test]
async fn a_token_file_without_a_token_is_an_error() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let path = write_kubeconfig(folder.path(), 1, &authority, "tokenFile: token");
    let token = folder.path().join("token");
    for (content, expected) in [
        (None, "No such file"),
        (Some(" \n"), "it holds no token"),
        (Some("a\u{7}b"), "it holds no token"),
    ] {
        if let Some(content) = content {
            fs::write(&token, content).unwrap();
        }
        let error = cluster(&file_source(&path))
            .session()
            .await
            .map(drop)
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(&format!(
                "the token file {} cannot be used: {expected}",
                token.display()
            )),
            "{text}"
        );
    }
}

#[tokio::test]
async fn after_a_401_everything_is_read_again_and_one_retry_follows() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let server = server_for(&authority, "Bearer fresh").await;
    let path = write_kubeconfig(folder.path(), server.port, &authority, "token: stale");
    let client = client(&file_source(&path));
    assert_eq!(client.cluster().session().await.unwrap().generation(), 1);
    write_kubeconfig(folder.path(), server.port, &authority, "token: fresh");
    assert_eq!(
        client.get("/version", ACCEPT, LIMIT).await.unwrap().status,
        200
    );
    assert_eq!(client.cluster().session().await.unwrap().generation(), 2);
    let seen: Vec<_> = server
        .asked()
        .into_iter()
        .map(|asked| (asked.authorization, asked.connection))
        .collect();
    assert_eq!(
        seen,
        [
            ("Bearer stale".to_owned(), 1),
            ("Bearer fresh".to_owned(), 2)
        ],
        "with a new connection"
    );
}

#[tokio::test]
async fn a_lasting_401_is_returned_without_further_renewals() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let server = server_for(&authority, "Bearer other").await;
    let path = write_kubeconfig(folder.path(), server.port, &authority, "token: stale");
    let client = client(&file_source(&path));
    for _ in 0..3 {
        assert_eq!(
            client.get("/version", ACCEPT, LIMIT).await.unwrap().status,
            401
        );
    }
    // The first request is renewed and retried once. Further ones within 2 s are not.
    assert_eq!(server.authorizations().len(), 4);
    assert_eq!(client.cluster().session().await.unwrap().generation(), 2);
    let error = client.version().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "GET /version was answered 401 Unauthorized: {}"
    );
}

#[tokio::test]
async fn one_renewal_serves_all_callers_and_a_failed_one_leaves_the_session() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let path = write_kubeconfig(folder.path(), 1, &authority, "token: one");
    let cluster = cluster(&file_source(&path));
    let first = cluster.session().await.unwrap();
    let (left, right) = tokio::join!(cluster.renew(&first), cluster.renew(&first));
    let (left, right) = (left.unwrap(), right.unwrap());
    assert_eq!((left.generation(), right.generation()), (2, 2));

    fs::write(&path, "users: broken").unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3)).await;
    let error = cluster.renew(&left).await.map(drop).unwrap_err();
    assert!(matches!(error, CredentialError::Reload { .. }), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with("the configuration could not be read again: the kubeconfig "),
        "{error}"
    );
    assert_eq!(cluster.session().await.unwrap().generation(), 2);
}

#[tokio::test]
async fn another_current_context_does_not_move_a_running_cluster() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let path = write_kubeconfig(folder.path(), 1, &authority, "token: one");
    let cluster = cluster(&file_source(&path));
    let session = cluster.session().await.unwrap();
    let elsewhere =
        "- {name: there, context: {cluster: other, user: me}}\ncurrent-context: there\n";
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("current-context: here\n", "");
    let text = text.replace(
        "contexts:\n",
        &format!(
            "contexts:\n{}",
            elsewhere.lines().next().unwrap().to_owned() + "\n"
        ),
    );
    fs::write(&path, text + "current-context: there\n").unwrap();
    cluster.renew(&session).await.unwrap();
    assert_eq!(cluster.config().context.as_deref(), Some("here"));
    assert_eq!(cluster.config().contexts.len(), 2);
}

#[tokio::test]
async fn client_certificates_come_from_files_data_and_plugins() {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let identity = authority.issue(&["viewer"], 2020, 2120);
    fs::write(folder.path().join("viewer.crt"), &identity.certificate_pem).unwrap();
    fs::write(folder.path().join("viewer.key"), &identity.key_pem).unwrap();
    let by_file = "client-certificate: viewer.crt\nclient-key: viewer.key".to_owned();
    let by_data = format!(
        "client-certificate-data: {}\nclient-key-data: {}",
        BASE64_STANDARD.encode(&identity.certificate_pem),
        BASE64_STANDARD.encode(&identity.key_pem)
    );
    let credential = serde_json::json!({
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1",
        "status": {"clientCertificateData": identity.certificate_pem, "clientKeyData": identity.key_pem},
    });
    fs::write(
        folder.path().join("credential.json"),
        credential.to_string(),
    )
    .unwrap();
    let by_plugin = plugin_user(folder.path(), "cat credential.json");
    for user in [by_file, by_data, by_plugin] {
        let tls = authority.server_config(authority.loopback(), true);
        let server = Server::start(Some(tls), |_| (200, "{}".into())).await;
        let path = write_kubeconfig(folder.path(), server.port, &authority, &user);
        let answer = client(&file_source(&path))
            .get("/version", ACCEPT, LIMIT)
            .await
            .unwrap();
        assert_eq!(answer.status, 200);
        assert!(server.asked()[0].has_certificate);
        assert_eq!(server.asked()[0].authorization, "");
    }
}

#[tokio::test]
async fn an_expiring_client_certificate_is_read_again() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let tls = authority.server_config(authority.loopback(), true);
    let server = Server::start(Some(tls), |_| (200, "{}".into())).await;
    let write_identity = |to_year| {
        let identity = authority.issue(&["viewer"], 2000, to_year);
        fs::write(folder.path().join("viewer.crt"), &identity.certificate_pem).unwrap();
        fs::write(folder.path().join("viewer.key"), &identity.key_pem).unwrap();
    };
    write_identity(2001);
    let user = "client-certificate: viewer.crt\nclient-key: viewer.key";
    let path = write_kubeconfig(folder.path(), server.port, &authority, user);
    let client = client(&file_source(&path));
    assert_eq!(client.cluster().session().await.unwrap().generation(), 1);
    write_identity(2120);
    assert_eq!(client.cluster().session().await.unwrap().generation(), 2);
    assert_eq!(
        client.get("/version", ACCEPT, LIMIT).await.unwrap().status,
        200
    );
    assert_eq!(
        client.cluster().session().await.unwrap().generation(),
        2,
        "the new certificate is valid for long"
    );
}

#[tokio::test]
async fn a_certificate_that_the_server_rejects_is_read_again() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let tls = authority.server_config(authority.loopback(), true);
    let server = Server::start(Some(tls), |_| (200, "{}".into())).await;
    let path = write_kubeconfig(folder.path(), server.port, &authority, "token: t");
    let client = client(&file_source(&path));
    client.cluster().session().await.unwrap();
    let identity = authority.issue(&["viewer"], 2020, 2120);
    fs::write(folder.path().join("viewer.crt"), &identity.certificate_pem).unwrap();
    fs::write(folder.path().join("viewer.key"), &identity.key_pem).unwrap();
    write_kubeconfig(
        folder.path(),
        server.port,
        &authority,
        "client-certificate: viewer.crt\nclient-key: viewer.key",
    );
    assert_eq!(
        client.get("/version", ACCEPT, LIMIT).await.unwrap().status,
        200
    );
}

#[tokio::test]
async fn a_rotated_authority_is_read_again() {
    let (folder, before, after) = (
        TempDir::new().unwrap(),
        Authority::new("old"),
        Authority::new("new"),
    );
    let tls = after.server_config(after.loopback(), false);
    let server = Server::start(Some(tls), |_| (200, "{}".into())).await;
    let path = write_kubeconfig(folder.path(), server.port, &before, "token: t");
    let client = client(&file_source(&path));
    let error = client.get("/version", ACCEPT, LIMIT).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Dial(dial) if dial.code() == "tls-unknown-authority"),
        "{error:?}"
    );
    write_kubeconfig(folder.path(), server.port, &after, "token: t");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3)).await;
    tokio::time::resume();
    assert_eq!(
        client.get("/version", ACCEPT, LIMIT).await.unwrap().status,
        200
    );
}

#[tokio::test]
async fn impersonation_headers_are_sent() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let server = server_for(&authority, "Bearer t").await;
    let user = "token: t\nas: someone\nas-groups: [one, two]";
    let path = write_kubeconfig(folder.path(), server.port, &authority, user);
    client(&file_source(&path))
        .get("/version", ACCEPT, LIMIT)
        .await
        .unwrap();
    let head = &server.asked()[0].head;
    let lines: Vec<_> = head
        .lines()
        .filter(|line| line.starts_with("impersonate-"))
        .collect();
    assert_eq!(
        lines,
        [
            "impersonate-user: someone",
            "impersonate-group: one",
            "impersonate-group: two"
        ]
    );
}

#[tokio::test]
async fn no_credentials_go_over_plain_http() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let server = Server::start(None, |_| (200, "{}".into())).await;
    let path = write_kubeconfig(folder.path(), server.port, &authority, "token: s3cret");
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("https://localhost", "http://localhost");
    fs::write(&path, text).unwrap();
    let source: ConfigSource = file_source(&path);
    assert_eq!(
        client(&source)
            .get("/version", ACCEPT, LIMIT)
            .await
            .unwrap()
            .status,
        200
    );
    assert_eq!(server.authorizations(), [""]);
}

#[tokio::test]
async fn tls_settings_that_cannot_be_used_are_an_error() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    fs::write(folder.path().join("viewer.crt"), "no certificate").unwrap();
    fs::write(folder.path().join("viewer.key"), "no key: s3cret").unwrap();
    let user = "client-certificate: viewer.crt\nclient-key: viewer.key";
    let path = write_kubeconfig(folder.path(), 1, &authority, user);
    let error = cluster(&file_source(&path))
        .session()
        .await
        .map(drop)
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "the TLS settings of context here cannot be used: identity PEM is missing"
        ),
        "{text}"
    );
    assert!(!text.contains("s3cret"), "{text}");
}

/// A certificate without extensions. No tool in these tests can issue one.
const VERSION_1_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n\
MIIBGTCBwQIUGgBFevxPa+jeWOi1iSRdvt3s1l4wCgYIKoZIzj0EAwIwDTELMAkG\n\
A1UEAwwCY2EwIBcNMjYxMTIxMTAyNDE1WhgPMjEyNjEwMjgxMDI0MTVaMBExDzAN\n\
BgNVBAMMBnZpZXdlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIVWVAZ0e9yv\n\
uvDNthPs8ZN+wcdRPm6Izc+d6o3vjhUuaSHfP0tFgtbC7THZ12joZorIjOyI4tWK\n\
6eRuWNchqUUwCgYIKoZIzj0EAwIDRwAwRAIgLOXyNz5XnEnFFe96gCXTQWfDPI/T\n\
7UJ0Den0Edj9nhACIEbZavSfkW0WOV5rgymr6P9F43qkzVFIAh78KeIW3eBA\n\
-----END CERTIFICATE-----\n";

#[tokio::test]
async fn a_version_1_certificate_is_named_as_such() {
    let (folder, authority) = (TempDir::new().unwrap(), Authority::new("ours"));
    let identity = authority.issue(&["viewer"], 2020, 2120);
    fs::write(folder.path().join("viewer.crt"), VERSION_1_CERTIFICATE).unwrap();
    fs::write(folder.path().join("viewer.key"), &identity.key_pem).unwrap();
    let user = "client-certificate: viewer.crt\nclient-key: viewer.key";
    let path = write_kubeconfig(folder.path(), 1, &authority, user);
    let error = cluster(&file_source(&path))
        .session()
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the TLS settings of context here cannot be used: the client certificate is of X.509 version 1; \
         issue it again with an extension (openssl x509 -req -extfile …), which makes it version 3"
    );
}
