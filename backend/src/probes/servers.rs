//! Which apiservers of a cluster are watched, each with watches and connections of its own.
//!
//! ```text
//!   default/kubernetes, its EndpointSlices ──Answer──► addresses ──► one pool of connections each, in the order found
//! ```

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use watchscope_model::WatchName;

use super::connections::Connections;
use crate::cluster::{Client, ClientError};

/// Most apiservers that are watched one by one; further ones are told in a warning.
const MAX_SERVERS: usize = 16;

/// The longest answer that is read; one slice is about 1 kB.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Where the addresses of a cluster's apiservers are written (each writes its own; kube-apiserver 1.21 and later).
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes";

/// Which apiservers are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Servers {
    /// Any that the cluster's address leads to.
    #[default]
    Any,
    /// Those with these addresses, each on its own.
    These(Vec<SocketAddr>),
    /// Each of those that the EndpointSlices of the service `default/kubernetes` name, as they come and go.
    All,
}

/// A text that names no apiservers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServersError {
    /// No address with a port.
    #[error(
        "{text:?} is neither `all` nor an address with its port, as 10.0.0.1:6443 or [fd00::1]:6443"
    )]
    Address {
        /// The text.
        text: String,
    },
    /// More than are watched.
    #[error("{count} apiservers are more than the {MAX_SERVERS} that are watched at most")]
    TooMany {
        /// How many.
        count: usize,
    },
}

impl FromStr for Servers {
    type Err = ServersError;

    /// `any`, `all`, or addresses with ports, between commas.
    fn from_str(text: &str) -> Result<Self, ServersError> {
        if text.eq_ignore_ascii_case("any") {
            return Ok(Self::Any);
        }
        if text.eq_ignore_ascii_case("all") {
            return Ok(Self::All);
        }
        let mut these: Vec<SocketAddr> = Vec::new();
        for word in text.split(',').map(str::trim) {
            let address = word.parse().map_err(|_| ServersError::Address {
                text: word.to_owned(),
            })?;
            if !these.contains(&address) {
                these.push(address);
            }
        }
        if these.len() > MAX_SERVERS {
            return Err(ServersError::TooMany { count: these.len() });
        }
        Ok(Self::These(these))
    }
}

/// Why the apiservers of a cluster are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    /// The request failed, or was refused.
    #[error(transparent)]
    Request(#[from] ClientError),
    /// They name nobody.
    #[error("the EndpointSlices of default/kubernetes name no apiserver")]
    Nobody,
}

/// Asks which apiservers there are.
pub(super) async fn look(client: &Client) -> Result<Vec<SocketAddr>, LookError> {
    let slices = client
        .get_json::<Slices>(SLICES, "application/json", MAX_ANSWER_BYTES)
        .await?;
    let mut addresses = slices.addresses();
    if addresses.is_empty() {
        return Err(LookError::Nobody);
    }
    if addresses.len() > MAX_SERVERS {
        let count = addresses.len();
        tracing::warn!("of {count} apiservers only {MAX_SERVERS} are watched");
        addresses.truncate(MAX_SERVERS);
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
    /// The addresses, in order. A server of two families is one server: its IPv4 address.
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

/// The connections to each apiserver that is watched on its own, by the ordinal of its watches: the first's are
/// `shop/pods`, the second's `shop/pods#2`. One that goes and comes again keeps its place. Bounded by [`MAX_SERVERS`]
/// at a time.
#[derive(Clone, Default)]
pub(crate) struct Pools(Arc<Mutex<Vec<Arc<Connections>>>>);

impl Pools {
    /// Those that the watch's own requests go over.
    pub(crate) fn of(&self, watch: &WatchName) -> Option<Arc<Connections>> {
        let (_, ordinal) = watch.what_and_ordinal();
        let index = usize::try_from(ordinal).ok()?.checked_sub(1)?;
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(index)
            .map(Arc::clone)
    }

    pub(super) fn push(&self, connections: Arc<Connections>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connections);
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
    fn each_ready_address_is_a_server_in_order_and_a_second_family_is_none() {
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
    fn where_there_is_only_ipv6_that_is_taken_and_a_slice_without_ports_names_nobody() {
        let body = r#"{"items":[
            {"addressType":"IPv6","endpoints":[{"addresses":["fd00::1"]}],"ports":[{"port":443}]},
            {"addressType":"IPv6","endpoints":[{"addresses":["fd00::2"]}],"ports":null},
            {"addressType":"IPv4","endpoints":null,"ports":[{"port":443}]}]}"#;
        assert_eq!(found(body), ["[fd00::1]:443"]);
    }

    #[test]
    fn servers_are_read_from_words() {
        assert_eq!("ALL".parse(), Ok(Servers::All));
        let two = Servers::These(vec![
            "10.0.0.1:6443".parse().unwrap(),
            "[fd00::1]:443".parse().unwrap(),
        ]);
        assert_eq!(
            "10.0.0.1:6443, [fd00::1]:443,10.0.0.1:6443".parse(),
            Ok(two)
        );
        for wrong in ["", "10.0.0.1", "master-1:6443", "10.0.0.1:6443,"] {
            assert!(wrong.parse::<Servers>().is_err(), "{wrong:?}");
        }
        let many: Vec<String> = (0..17).map(|n| format!("10.0.0.{n}:6443")).collect();
        assert_eq!(
            many.join(",").parse::<Servers>(),
            Err(ServersError::TooMany { count: 17 })
        );
    }
}
