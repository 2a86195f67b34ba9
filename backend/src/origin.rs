//! The checks of the names in a request, Host and Origin. They refuse a request that names any host but ours.
//!
//! The checks are pure functions of target and headers. Only a list of names helps against DNS rebinding: there Host and
//! Origin agree, since both name the attacker. Nothing here reads a forwarded header (`X-Forwarded-*`, `Forwarded`).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use http::header::{HOST, ORIGIN};
use http::uri::Scheme as UriScheme;
use http::{HeaderMap, StatusCode, Uri};

/// The names of this machine's loopback addresses.
const LOOPBACK_NAMES: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

/// The scheme by which a browser reaches the page. watchscope itself speaks http; https means that a proxy in front of it
/// does TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// Through TLS that a proxy terminates.
    Https,
}

impl Scheme {
    /// Splits `SCHEME://REST`. Only a scheme in lower case is accepted, as browsers write it.
    #[must_use]
    pub fn split(text: &str) -> Option<(Self, &str)> {
        let plain = text.strip_prefix("http://").map(|rest| (Self::Http, rest));
        plain.or_else(|| Some((Self::Https, text.strip_prefix("https://")?)))
    }

    /// The port that a URL without a port means.
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

/// A host and port as Host, Origin and links write them. The name is in lower case; an IPv6 address has its brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    name: String,
    /// None stands for the scheme's default port.
    port: Option<u16>,
}

impl HostPort {
    /// Makes the host and port of an address. `name` must be well formed; it is not checked.
    #[must_use]
    pub fn new(name: &str, port: u16) -> Self {
        Self {
            name: name.to_ascii_lowercase(),
            port: Some(port),
        }
    }

    /// Reads `NAME`, `NAME:PORT`, `[IPV6]` or `[IPV6]:PORT`. Other spellings of one host are not unified: `localhost.` and
    /// `127.1` stay different names, which no list holds.
    ///
    /// # Errors
    /// [`MalformedHost`] for anything else, including user information and an empty port.
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

    /// Returns the scheme of `origin` if its name and port are this host's, so that this host served the page; else none.
    #[must_use]
    pub fn scheme_of(&self, origin: &str) -> Option<Scheme> {
        let (scheme, rest) = Scheme::split(origin)?;
        let host = Self::parse(rest).ok()?;
        let is_this = host.name == self.name && host.port_by(scheme) == self.port_by(scheme);
        is_this.then_some(scheme)
    }

    /// The port; none stands for the scheme's default port.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
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

/// Error: the text names no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a host name with an optional port")]
pub struct MalformedHost;

/// The host names that the server accepts, on any port: those of loopback, and each `--allow-host`.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    added: Vec<String>,
}

impl AllowedHosts {
    /// Accepts loopback's names and those in `added`.
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

    /// Accepts loopback's names alone.
    #[must_use]
    pub fn loopback() -> Self {
        Self { added: Vec::new() }
    }

    /// Whether the server accepts that name. The port does not matter, since a port-forward picks its own.
    #[must_use]
    pub fn allows(&self, host: &HostPort) -> bool {
        is_loopback(&host.name) || self.added.contains(&host.name)
    }

    /// Whether that name was added by `--allow-host` and is not loopback's. Only under such a name may a proxy do TLS in
    /// front of us, or a browser distrust the name because TLS is missing.
    #[must_use]
    pub fn is_added(&self, host: &HostPort) -> bool {
        !is_loopback(&host.name) && self.added.contains(&host.name)
    }

    /// The first name that `--allow-host` added.
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

/// Error: the value of an `--allow-host` names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--allow-host {text:?}: use a host name or address without scheme, port or trailing dot, such as scope.example.com"
)]
pub struct BadAllowHost {
    /// The value as given.
    pub text: String,
}

/// Why a request is refused for the names in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRefusal {
    /// The request has no Host, several, or one that names no host.
    HostMalformed,
    /// The Host is not one of the accepted names.
    HostNotAllowed,
    /// The Origin is not that of this host, or there are several.
    OriginForeign,
}

impl NameRefusal {
    /// The HTTP status of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::HostMalformed => StatusCode::BAD_REQUEST,
            Self::HostNotAllowed | Self::OriginForeign => StatusCode::FORBIDDEN,
        }
    }

    /// The body of the answer: what is wrong and what to do. It repeats nothing that the request sent.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::HostMalformed => "the request must name exactly one host",
            Self::HostNotAllowed => {
                "watchscope does not answer to this host name; use localhost, or start it with --allow-host NAME"
            }
            Self::OriginForeign => {
                "this page of another origin may not use watchscope; a proxy must pass Host on, and --allow-host name it"
            }
        }
    }
}

/// Checks Host and Origin alone, for a server without sessions: any page in a browser could call it.
///
/// # Errors
/// The refusal, from which the answer is made.
pub fn judge_names(
    hosts: &AllowedHosts,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), NameRefusal> {
    let host = named_host(hosts, uri, headers)?;
    own_origin(hosts, headers, &host).map(drop)
}

/// Returns the one host that a request names, if the server accepts it.
///
/// # Errors
/// [`NameRefusal::HostMalformed`] or [`NameRefusal::HostNotAllowed`].
pub(crate) fn named_host(
    hosts: &AllowedHosts,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<HostPort, NameRefusal> {
    let mut named = headers.get_all(HOST).iter();
    let header = named.next().ok_or(NameRefusal::HostMalformed)?;
    if named.next().is_some() {
        return Err(NameRefusal::HostMalformed);
    }
    // RFC 9112 section 3.2.2: if the target is in absolute form, the Host header is ignored.
    let text = match uri.authority() {
        Some(authority) if uri.scheme() == Some(&UriScheme::HTTP) => authority.as_str(),
        Some(_) => return Err(NameRefusal::HostMalformed),
        None => header.to_str().map_err(|_| NameRefusal::HostMalformed)?,
    };
    let host = HostPort::parse(text).map_err(|_| NameRefusal::HostMalformed)?;
    if hosts.allows(&host) {
        Ok(host)
    } else {
        Err(NameRefusal::HostNotAllowed)
    }
}

/// Checks the Origin of a request. Returns the scheme of our own page, or none if the request has no Origin. The scheme
/// https is accepted only under a name of `--allow-host`, since only there may a proxy do TLS in front of us.
///
/// # Errors
/// [`NameRefusal::OriginForeign`] for the Origin of another page, or for several.
pub(crate) fn own_origin(
    hosts: &AllowedHosts,
    headers: &HeaderMap,
    host: &HostPort,
) -> Result<Option<Scheme>, NameRefusal> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let Some(origin) = origins.next() else {
        return Ok(None);
    };
    let scheme = origin
        .to_str()
        .ok()
        .and_then(|origin| host.scheme_of(origin))
        .filter(|&scheme| scheme == Scheme::Http || hosts.is_added(host))
        .filter(|_| origins.next().is_none());
    scheme.map(Some).ok_or(NameRefusal::OriginForeign)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of row 6 of the attack table.
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
