//! Host names: what a Host header names, which names we answer to, and which Origin belongs to them.
//!
//! Against DNS rebinding only a list of names helps: there Host and Origin agree, both naming the attacker.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The names of this machine's loopback.
const LOOPBACK_NAMES: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

/// How a browser reaches the page. We speak http; https is somebody's in front of us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Plain.
    Http,
    /// Through TLS that a proxy terminates.
    Https,
}

impl Scheme {
    /// Splits `SCHEME://REST`; the scheme in lower case, as browsers write it.
    #[must_use]
    pub fn split(text: &str) -> Option<(Self, &str)> {
        let plain = text.strip_prefix("http://").map(|rest| (Self::Http, rest));
        plain.or_else(|| Some((Self::Https, text.strip_prefix("https://")?)))
    }

    /// The port when none is written.
    fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

/// A host and port as Host, Origin and links write them; the name in lower case, an IPv6 address in its brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    name: String,
    /// None is the scheme's own.
    port: Option<u16>,
}

impl HostPort {
    /// The host and port of an address.
    #[must_use]
    pub fn new(name: &str, port: u16) -> Self {
        Self {
            name: name.to_ascii_lowercase(),
            port: Some(port),
        }
    }

    /// Reads `NAME`, `NAME:PORT`, `[IPV6]` or `[IPV6]:PORT`. Spelling is kept: `localhost.` and `127.1` are names of
    /// their own, which no list holds.
    ///
    /// # Errors
    /// [`MalformedHost`] for anything else, user information and an empty port included.
    pub fn parse(text: &str) -> Result<Self, MalformedHost> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, after) = rest.split_once(']').ok_or(MalformedHost)?;
                address.parse::<Ipv6Addr>().map_err(|_| MalformedHost)?;
                (&text[..address.len() + 2], after)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                let (name, after) = text.split_at(end);
                let plain =
                    |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
                if name.is_empty() || !name.bytes().all(plain) {
                    return Err(MalformedHost);
                }
                (name, after)
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            Some(digits)
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                Some(digits.parse().map_err(|_| MalformedHost)?)
            }
            _ => return Err(MalformedHost),
        };
        Ok(Self {
            name: name.to_ascii_lowercase(),
            port,
        })
    }

    /// The scheme of `origin`, if it is that of a page served by this host: this name and this port.
    #[must_use]
    pub fn scheme_of(&self, origin: &str) -> Option<Scheme> {
        let (scheme, rest) = Scheme::split(origin)?;
        let host = Self::parse(rest).ok()?;
        let is_this = host.name == self.name && host.port_by(scheme) == self.port_by(scheme);
        is_this.then_some(scheme)
    }

    fn port_by(&self, scheme: Scheme) -> u16 {
        self.port.unwrap_or(scheme.port())
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            None => f.write_str(&self.name),
            Some(port) => write!(f, "{}:{port}", self.name),
        }
    }
}

/// The text names no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a host name with an optional port")]
pub struct MalformedHost;

/// The names we answer to, on any port: loopback's own, and each `--allow-host`.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    added: Vec<String>,
}

impl AllowedHosts {
    /// Loopback and the names added.
    ///
    /// # Errors
    /// [`BadAllowHost`] when a name is not a plain host name or address.
    pub fn new<I, T>(added: I) -> Result<Self, BadAllowHost>
    where
        I: IntoIterator<Item = T>,
        T: AsRef<str>,
    {
        let added = added
            .into_iter()
            .map(|name| allowed_name(name.as_ref()))
            .collect::<Result<_, _>>()?;
        Ok(Self { added })
    }

    /// Loopback alone.
    #[must_use]
    pub fn loopback() -> Self {
        Self { added: Vec::new() }
    }

    /// Whether we answer to that name; its port does not matter, since a port-forward picks its own.
    #[must_use]
    pub fn allows(&self, host: &HostPort) -> bool {
        is_loopback(&host.name) || self.added.contains(&host.name)
    }

    /// Whether that name is one of `--allow-host` and not loopback's: only there may TLS be in front of us, or a browser
    /// call us by a name that it does not trust without TLS.
    #[must_use]
    pub fn is_added(&self, host: &HostPort) -> bool {
        !is_loopback(&host.name) && self.added.contains(&host.name)
    }

    /// The first name added by `--allow-host`.
    #[must_use]
    pub fn first_added(&self) -> Option<&str> {
        self.added.first().map(String::as_str)
    }
}

fn is_loopback(name: &str) -> bool {
    LOOPBACK_NAMES.contains(&name)
}

fn allowed_name(text: &str) -> Result<String, BadAllowHost> {
    let bad = || BadAllowHost {
        text: text.to_owned(),
    };
    let name = match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => text.to_ascii_lowercase(),
    };
    let parsed = HostPort::parse(&name).map_err(|_| bad())?;
    if parsed.name != name || name.starts_with('.') || name.ends_with('.') {
        return Err(bad());
    }
    Ok(name)
}

/// An `--allow-host` that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--allow-host {text:?}: use a host name or address without scheme, port or trailing dot, such as scope.example.com"
)]
pub struct BadAllowHost {
    /// What was given.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row 6 of the attack table, as names.
    #[test]
    fn only_the_exact_loopback_names_are_allowed_on_any_port() {
        let hosts = AllowedHosts::loopback();
        let judge = |text: &str| match HostPort::parse(text) {
            Ok(host) if hosts.allows(&host) => "allowed",
            Ok(_) => "refused",
            Err(MalformedHost) => "malformed",
        };
        for good in [
            "localhost",
            "localhost:1",
            "LOCALHOST:8080",
            "127.0.0.1:65535",
            "[::1]",
            "[::1]:8080",
        ] {
            assert_eq!(judge(good), "allowed", "{good}");
        }
        for strange in [
            "localhost.",
            "localhost.:8080",
            "127.1",
            "127.0.0.2",
            "0.0.0.0",
            "2130706433",
            "0x7f.1",
            "[::]:8080",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "attacker.test:8080",
        ] {
            assert_eq!(judge(strange), "refused", "{strange}");
        }
        for broken in [
            "",
            ":8080",
            "localhost:",
            "localhost:x",
            "localhost:+80",
            "localhost:65536",
            "a:b:c",
            "::1",
            "[::1",
            "[::1]x",
            "[evil]",
            "user@localhost",
            "localhost/x",
            "localhost, evil.test",
            "local host",
            "löcalhost",
        ] {
            assert_eq!(judge(broken), "malformed", "{broken}");
        }
    }

    #[test]
    fn an_origin_belongs_to_a_host_when_name_and_port_are_equal() {
        let host = HostPort::parse("localhost:8080").unwrap();
        assert_eq!(host.scheme_of("http://localhost:8080"), Some(Scheme::Http));
        assert_eq!(
            host.scheme_of("https://localhost:8080"),
            Some(Scheme::Https)
        );
        for foreign in [
            "http://localhost:8081",
            "https://localhost:8081",
            "https://localhost",
            "http://localhost",
            "http://127.0.0.1:8080",
            "null",
            "",
            "http://localhost:8080.evil.test",
            "http://localhost.evil.test:8080",
            "http://localhost:8080/",
            "file://",
            "chrome-extension://abcdefgh",
            "http://user@localhost:8080",
            "HTTP://localhost:8080",
        ] {
            assert_eq!(host.scheme_of(foreign), None, "{foreign}");
        }
        for (host, origin, scheme) in [
            ("a", "http://a", Some(Scheme::Http)),
            ("a:80", "http://a", Some(Scheme::Http)),
            ("a", "http://a:80", Some(Scheme::Http)),
            ("a", "https://a", Some(Scheme::Https)),
            ("a:443", "https://a", Some(Scheme::Https)),
            ("a:80", "https://a", None),
            ("a:443", "http://a", None),
            ("a", "https://a:8443", None),
        ] {
            let host = HostPort::parse(host).unwrap();
            assert_eq!(host.scheme_of(origin), scheme, "{host} {origin}");
        }
    }

    #[test]
    fn added_hosts_are_plain_names_or_addresses() {
        let hosts = AllowedHosts::new([
            "Scope.Example.com",
            "10.0.0.7",
            "fd00::7",
            "[fd00::8]",
            "::1",
        ])
        .unwrap();
        for name in [
            "scope.example.com",
            "10.0.0.7:8080",
            "[fd00::7]:80",
            "[fd00::8]",
            "localhost",
        ] {
            assert!(hosts.allows(&HostPort::parse(name).unwrap()), "{name}");
        }
        assert_eq!(hosts.first_added(), Some("scope.example.com"));
        let is_added = |name: &str| hosts.is_added(&HostPort::parse(name).unwrap());
        assert!(is_added("scope.example.com:9"));
        assert!(!is_added("localhost") && !is_added("[::1]"));
        for bad in [
            "",
            "*",
            "*.example.com",
            "http://a",
            "a:80",
            "a.",
            ".a",
            "[fd00::8]:80",
            "a b",
        ] {
            assert!(AllowedHosts::new([bad]).is_err(), "{bad:?}");
        }
    }
}
