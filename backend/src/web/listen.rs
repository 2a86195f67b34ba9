//! The address to listen on: loopback by default. Another address needs a name that was allowed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;

use crate::origin::{AllowedHosts, HostPort};
use crate::session::Base;

/// The port if none is given.
pub const DEFAULT_PORT: u16 = 8080;
/// The number of ports that are tried, from the default one on, before the system picks a port.
const NEXT_PORTS: u16 = 100;

/// The address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// `127.0.0.1:8080`, or the next free port.
    Default,
    /// Exactly this address; port 0 lets the system pick.
    At(SocketAddr),
}

impl Listen {
    /// Checks whether this address may be used. An address off loopback needs an allowed name. So does a loopback address
    /// that the page does not accept as a Host.
    ///
    /// # Errors
    /// [`ListenError::OpenToOthers`], [`ListenError::Nameless`].
    pub fn check(self, hosts: &AllowedHosts) -> Result<(), ListenError> {
        match self {
            Self::At(address) if hosts.first_added().is_none() => {
                if !address.ip().is_loopback() {
                    Err(ListenError::OpenToOthers { address })
                } else if !hosts.allows(&literal(address)) {
                    Err(ListenError::Nameless { address })
                } else {
                    Ok(())
                }
            }
            Self::Default | Self::At(_) => Ok(()),
        }
    }

    /// Binds the listener.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub async fn bind(self, hosts: &AllowedHosts) -> Result<TcpListener, ListenError> {
        self.check(hosts)?;
        match self {
            Self::Default => bind_default(DEFAULT_PORT).await,
            Self::At(address) => {
                TcpListener::bind(address)
                    .await
                    .map_err(|source| match source.kind() {
                        io::ErrorKind::AddrInUse => ListenError::Taken { address },
                        _ => ListenError::Bind { address, source },
                    })
            }
        }
    }
}

/// Reads an address and a port. `localhost` means 127.0.0.1; other names are not resolved.
///
/// # Errors
/// [`MalformedAddress`] for anything else.
pub fn address(text: &str) -> Result<SocketAddr, MalformedAddress> {
    let spelled = match text.strip_prefix("localhost:") {
        Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST),
        None => text.to_owned(),
    };
    spelled.parse().map_err(|_| MalformedAddress)
}

/// Error: the text is not an address with a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use ADDRESS:PORT, such as 127.0.0.1:8080, localhost:8080 or [::1]:0")]
pub struct MalformedAddress;

async fn bind_default(first: u16) -> Result<TcpListener, ListenError> {
    let mut ports = (first..first.saturating_add(NEXT_PORTS)).chain([0]);
    loop {
        let port = ports.next().unwrap_or_default();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port != 0 => {}
            Err(source) => return Err(ListenError::Bind { address, source }),
        }
    }
}

/// Returns the base of links to a listener at `address`. On loopback it is the address itself, if the page accepts it as a
/// Host: `localhost` has a second address, on whose port another program may listen. Else it is the first allowed name.
#[must_use]
pub fn link_base(address: SocketAddr, hosts: &AllowedHosts) -> Base {
    let own = literal(address);
    let is_own = address.ip().is_loopback() && hosts.allows(&own);
    Base::new(match hosts.first_added() {
        Some(name) if !is_own => HostPort::new(name, address.port()),
        _ => own,
    })
}

/// The host and port of an address, as a link has it.
fn literal(address: SocketAddr) -> HostPort {
    let name = match address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    HostPort::new(&name, address.port())
}

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Others could reach it, and no name is allowed for them.
    #[error(
        "--listen {address}: others could reach it there; name the host they will use with --allow-host NAME, or listen on 127.0.0.1"
    )]
    OpenToOthers {
        /// The address.
        address: SocketAddr,
    },
    /// The page does not accept this address as a Host.
    #[error(
        "--listen {address}: the page answers to localhost, 127.0.0.1 and [::1] only; add --allow-host {}, or listen on 127.0.0.1",
        address.ip()
    )]
    Nameless {
        /// The address.
        address: SocketAddr,
    },
    /// The port is in use.
    #[error(
        "--listen {address}: the port is taken; name another, or leave --listen out to take the next free one"
    )]
    Taken {
        /// The address.
        address: SocketAddr,
    },
    /// The system refuses.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

impl ListenError {
    /// The exit code: 2 for wrong usage, 1 for a failure.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::OpenToOthers { .. } | Self::Nameless { .. } => 2,
            Self::Taken { .. } | Self::Bind { .. } => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Listen {
        Listen::At(address(text).unwrap())
    }

    /// Row 28 of the attack table.
    #[tokio::test]
    async fn listening_off_loopback_without_an_allowed_host_is_wrong_usage_with_advice() {
        for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8080"] {
            let error = at(open).bind(&AllowedHosts::loopback()).await.unwrap_err();
            assert!(matches!(error, ListenError::OpenToOthers { .. }), "{error}");
            assert_eq!(error.exit_code(), 2);
            assert!(
                error.to_string().contains("--allow-host") && !error.to_string().contains('\n'),
                "{error}"
            );
        }
        let named = AllowedHosts::new(["scope.example.com"]).unwrap();
        let listener = at("0.0.0.0:0").bind(&named).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let base = link_base(listener.local_addr().unwrap(), &named);
        assert_eq!(base.to_string(), format!("http://scope.example.com:{port}"));
    }

    #[tokio::test]
    async fn an_address_that_the_page_does_not_accept_needs_an_allowed_name() {
        let other = at("127.0.0.2:0");
        let error = other.bind(&AllowedHosts::loopback()).await.unwrap_err();
        assert_eq!(
            (error.exit_code(), error.to_string().as_str()),
            (
                2,
                "--listen 127.0.0.2:0: the page answers to localhost, 127.0.0.1 and [::1] only; \
                 add --allow-host 127.0.0.2, or listen on 127.0.0.1"
            )
        );
        for (added, name) in [("127.0.0.2", "127.0.0.2"), ("scope.test", "scope.test")] {
            let hosts = AllowedHosts::new([added]).unwrap();
            assert!(other.check(&hosts).is_ok());
            let base = link_base("127.0.0.2:81".parse().unwrap(), &hosts);
            assert_eq!(base.to_string(), format!("http://{name}:81"));
            assert!(hosts.allows(&HostPort::new(name, 81)), "the link works");
        }
    }

    #[tokio::test]
    async fn a_taken_default_port_moves_on_and_a_taken_explicit_one_fails() {
        let hosts = AllowedHosts::loopback();
        let holder = at("127.0.0.1:0").bind(&hosts).await.unwrap();
        let taken = holder.local_addr().unwrap();
        let moved = bind_default(taken.port())
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        assert_eq!(moved.ip(), taken.ip());
        assert_ne!(moved.port(), taken.port());
        let error = Listen::At(taken).bind(&hosts).await.unwrap_err();
        assert!(matches!(error, ListenError::Taken { .. }), "{error}");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn an_address_is_an_ip_and_a_port_or_localhost() {
        let read = |text: &str| address(text).map(|address| address.to_string());
        assert_eq!(read("localhost:0").as_deref(), Ok("127.0.0.1:0"));
        assert_eq!(read("[::1]:81").as_deref(), Ok("[::1]:81"));
        for bad in [
            "8080",
            ":8080",
            "localhost",
            "example.com:80",
            "127.0.0.1",
            "127.0.0.1:65536",
            "",
        ] {
            assert_eq!(read(bad), Err(MalformedAddress), "{bad}");
        }
        let base = link_base(
            "[::1]:8080".parse().unwrap(),
            &AllowedHosts::new(["a.example.com"]).unwrap(),
        );
        assert_eq!(base.to_string(), "http://[::1]:8080");
    }
}
