//! The servers of a cluster, by its EndpointSlices.

use super::harness::{Answered, Asked, Server, client, file_source, write_kubeconfig};
use crate::cluster::{ApiserversError, apiservers};
use crate::transport::tests::authority::Authority;

const PATH: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes";

/// Asks a server, over TLS, that answers with `answer`, for the apiservers.
async fn asking(answer: fn(&Asked) -> Answered) -> Result<Vec<String>, ApiserversError> {
    let authority = Authority::new("ours");
    let config = authority.server_config(authority.issue(&["localhost"], 2020, 2120), false);
    let server = Server::start(Some(config), answer).await;
    let folder = tempfile::tempdir().unwrap();
    let path = write_kubeconfig(folder.path(), server.port, &authority, "token: s3cret");
    let found = apiservers(&client(&file_source(&path))).await?;
    Ok(found.iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn the_apiservers_are_those_of_the_service_kubernetes() {
    let found = asking(|asked| {
        assert_eq!(asked.path, PATH);
        let body = r#"{"items":[{"addressType":"IPv4","ports":[{"name":"https","port":6443}],
            "endpoints":[{"addresses":["10.0.0.2"]},{"addresses":["10.0.0.1"]}]}]}"#;
        (200, body.to_owned())
    });
    assert_eq!(found.await.unwrap(), ["10.0.0.1:6443", "10.0.0.2:6443"]);
}

#[tokio::test]
async fn a_refusal_is_an_error_and_so_is_an_empty_list() {
    let refused = asking(|_| {
        (
            403,
            r#"{"message":"endpointslices is forbidden"}"#.to_owned(),
        )
    });
    let refused = refused.await.unwrap_err().to_string();
    assert!(
        refused.contains("403") && refused.contains("endpointslices is forbidden"),
        "{refused}"
    );
    let nobody = asking(|_| (200, r#"{"items":[]}"#.to_owned())).await;
    assert!(matches!(nobody, Err(ApiserversError::Nobody)));
    let odd = asking(|_| (200, "[]".to_owned())).await;
    assert!(matches!(odd, Err(ApiserversError::Request(_))));
}

#[tokio::test]
async fn without_verified_tls_no_address_is_used() {
    let server = Server::start(None, |_| (200, r#"{"items":[]}"#.to_owned())).await;
    let found = apiservers(&server.client()).await;
    assert!(matches!(found, Err(ApiserversError::Unverified)));
    assert!(server.asked().is_empty());
}
