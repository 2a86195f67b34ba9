//! The apiservers of a cluster: the addresses in the EndpointSlices of the service `default/kubernetes`. Each apiserver
//! writes its own address there.

use std::net::{IpAddr, SocketAddr};

use serde::Deserialize;

use super::client::{Client, ClientError};

/// The most apiservers of a cluster that are watched one by one.
pub const MAX_APISERVERS: usize = 16;

/// The most bytes of an answer that are read; one slice is about 1 kB.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The path of the EndpointSlices with the addresses (each apiserver writes its own; kube-apiserver 1.21 and later).
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes";

/// Why the apiservers of a cluster are not known.
#[derive(Debug, thiserror::Error)]
pub enum ApiserversError {
    /// The request failed, or was refused.
    #[error(transparent)]
    Request(#[from] ClientError),
    /// Anybody who may write EndpointSlices would get our credentials.
    #[error(
        "without TLS that is verified, our credentials go to no address but the configured one; name the apiservers that \
         are trusted (--servers IP:PORT,…)"
    )]
    Unverified,
    /// The EndpointSlices name no apiserver.
    #[error("the EndpointSlices of default/kubernetes name no apiserver")]
    Nobody,
}

/// Requests the addresses of the apiservers. It returns at most [`MAX_APISERVERS`] and logs a warning if there are more.
///
/// # Errors
/// If the addresses cannot be had, or if TLS could not distinguish the servers from impostors.
pub async fn apiservers(client: &Client) -> Result<Vec<SocketAddr>, ApiserversError> {
    let config = client.cluster().config();
    if config.is_insecure || !config.endpoint.is_tls {
        return Err(ApiserversError::Unverified);
    }
    let slices = client
        .get_json::<Slices>(SLICES, "application/json", MAX_ANSWER_BYTES)
        .await?;
    let mut addresses = slices.addresses();
    if addresses.is_empty() {
        return Err(ApiserversError::Nobody);
    }
    if addresses.len() > MAX_APISERVERS {
        let count = addresses.len();
        tracing::warn!("of {count} apiservers only {MAX_APISERVERS} are watched");
        addresses.truncate(MAX_APISERVERS);
    }
    Ok(addresses)
}

#[derive(Deserialize)]
struct Slices {
    items: Vec<Slice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Slice {
    address_type: String,
    #[serde(default)]
    endpoints: Option<Vec<SliceEndpoint>>,
    #[serde(default)]
    ports: Option<Vec<Port>>,
}

#[derive(Deserialize)]
struct SliceEndpoint {
    addresses: Vec<IpAddr>,
    #[serde(default)]
    conditions: Conditions,
}

#[derive(Default, Deserialize)]
struct Conditions {
    ready: Option<bool>,
}

#[derive(Deserialize)]
struct Port {
    name: Option<String>,
    port: Option<u16>,
}

impl Slices {
    /// Returns the addresses, sorted. A server with addresses of both families counts once, by its IPv4 address.
    fn addresses(&self) -> Vec<SocketAddr> {
        let four = self.of("IPv4");
        if four.is_empty() {
            self.of("IPv6")
        } else {
            four
        }
    }

    fn of(&self, family: &str) -> Vec<SocketAddr> {
        let mut found: Vec<SocketAddr> = Vec::new();
        for slice in self
            .items
            .iter()
            .filter(|slice| slice.address_type == family)
        {
            let ports = slice.ports.as_deref().unwrap_or_default();
            let named = ports
                .iter()
                .find(|port| port.name.as_deref() == Some("https"));
            let Some(port) = named.or(ports.first()).and_then(|port| port.port) else {
                continue;
            };
            let ready = |endpoint: &&SliceEndpoint| endpoint.conditions.ready != Some(false);
            for endpoint in slice.endpoints.iter().flatten().filter(ready) {
                found.extend(
                    endpoint
                        .addresses
                        .iter()
                        .map(|&ip| SocketAddr::new(ip, port)),
                );
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Vec<String> {
        let slices: Slices = serde_json::from_str(body).unwrap();
        slices.addresses().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_ready_address_is_one_server_and_a_second_family_adds_none() {
        let body = r#"{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[
            {"addressType":"IPv6","endpoints":[{"addresses":["fd00::1"],"conditions":{"ready":true}}],"ports":[{"name":"https","port":6443}]},
            {"addressType":"IPv4","endpoints":[
                {"addresses":["10.0.0.9"],"conditions":{"ready":true}},
                {"addresses":["10.0.0.3"],"conditions":{}},
                {"addresses":["10.0.0.3"]},
                {"addresses":["10.0.0.5"],"conditions":{"ready":false}}],
             "ports":[{"name":"metrics","port":9},{"name":"https","protocol":"TCP","port":6443}]}]}"#;
        assert_eq!(found(body), ["10.0.0.3:6443", "10.0.0.9:6443"]);
    }

    #[test]
    fn ipv6_counts_if_there_is_no_ipv4_and_a_slice_without_ports_names_no_server() {
        let body = r#"{"items":[
            {"addressType":"IPv6","endpoints":[{"addresses":["fd00::1"]}],"ports":[{"port":443}]},
            {"addressType":"IPv6","endpoints":[{"addresses":["fd00::2"]}],"ports":null},
            {"addressType":"IPv4","endpoints":null,"ports":[{"port":443}]}]}"#;
        assert_eq!(found(body), ["[fd00::1]:443"]);
    }
}
