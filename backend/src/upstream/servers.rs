//! The apiservers of a cluster that are watched one by one, each with connections of its own.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use watchscope_model::WatchName;

use super::connections::Connections;
use crate::cluster::MAX_APISERVERS;

/// The most apiservers that are watched one by one in the life of a process. Further ones are not watched until a restart; a
/// cluster gets there only if its control-plane nodes are replaced again and again.
pub(crate) const MAX_SERVERS_EVER: usize = 64;

/// The choice of apiservers that are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Servers {
    /// Any apiserver that the cluster's address leads to.
    #[default]
    Any,
    /// The apiservers at these addresses, each on its own.
    These(Vec<SocketAddr>),
    /// Each apiserver in the EndpointSlices of the service `default/kubernetes`, as these change.
    All,
}

/// Error: a text does not name apiservers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServersError {
    /// A word is no address with a port.
    #[error(
        "{text:?} is none of `any`, `all` and an address with its port, as 10.0.0.1:6443 or [fd00::1]:6443"
    )]
    Address {
        /// The word.
        text: String,
    },
    /// There are more than [`MAX_APISERVERS`].
    #[error("{count} apiservers are more than the {MAX_APISERVERS} that are watched at most")]
    TooMany {
        /// Their number.
        count: usize,
    },
}

impl FromStr for Servers {
    type Err = ServersError;

    /// Reads `any`, `all`, or addresses with ports between commas.
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
        if these.len() > MAX_APISERVERS {
            return Err(ServersError::TooMany { count: these.len() });
        }
        Ok(Self::These(these))
    }
}

/// The connections to each apiserver that is watched on its own. The index is the ordinal of its watches less one: those of
/// the first are `shop/pods`, those of the second `shop/pods#2`. An apiserver that disappears and returns keeps its place.
/// Bounded by [`MAX_SERVERS_EVER`].
#[derive(Clone, Default)]
pub(crate) struct Pools(Arc<Mutex<Vec<Arc<Connections>>>>);

impl Pools {
    /// Returns the connections that carry a watch's own requests.
    pub(crate) fn of(&self, watch: &WatchName) -> Option<Arc<Connections>> {
        let (_, ordinal) = watch.what_and_ordinal();
        let index = usize::try_from(ordinal).ok()?.checked_sub(1)?;
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(index)
            .map(Arc::clone)
    }

    /// Adds the connections of one more apiserver. Its watches get the next ordinal.
    pub(crate) fn push(&self, connections: Arc<Connections>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connections);
    }

    /// Closes all connections. Returns when their ends are in the log. Call it after all watches have stopped.
    pub(crate) async fn close(&self) {
        let all = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for connections in all {
            connections.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
