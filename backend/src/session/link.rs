//! The link that a person opens: the page's address and, in the fragment, a secret that is good for one exchange.

use std::fmt;
use std::str::FromStr;

use super::secret::Secret;
use crate::origin::{HostPort, Scheme};

/// The address of the page: `http://HOST:PORT`, or https behind a proxy. It has no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    scheme: Scheme,
    host: HostPort,
}

impl Base {
    /// The address of that host and port, over http.
    #[must_use]
    pub fn new(host: HostPort) -> Self {
        Self {
            scheme: Scheme::Http,
            host,
        }
    }

    /// The scheme of the address.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host and port of the address.
    #[must_use]
    pub fn host(&self) -> &HostPort {
        &self.host
    }
}

impl FromStr for Base {
    type Err = BadBase;

    fn from_str(text: &str) -> Result<Self, BadBase> {
        let bad = || BadBase {
            text: text.to_owned(),
        };
        let (scheme, rest) = Scheme::split(text).ok_or_else(bad)?;
        let host = rest.strip_suffix('/').unwrap_or(rest);
        Ok(Self {
            scheme,
            host: HostPort::parse(host).map_err(|_| bad())?,
        })
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)
    }
}

/// Error: `--url` is not of the form `http://HOST:PORT` or `https://HOST`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--url {text:?}: use http://HOST:PORT, such as http://localhost:9000, or https://HOST")]
pub struct BadBase {
    /// The value as given.
    pub text: String,
}

/// The one line on standard output: the address, with a secret. In a cluster, where logs are shipped, it has no secret.
#[derive(Clone, Debug)]
pub struct Link {
    /// The address of the page.
    pub base: Base,
    /// The one-time secret, if the link carries one.
    pub secret: Option<Secret>,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.base)?;
        match &self.secret {
            Some(secret) => write!(f, "#t={}", secret.expose()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_shows_its_secret_only_in_the_fragment() {
        let base: Base = "http://localhost:9000/".parse().unwrap();
        let secret = Secret::random();
        let link = Link {
            base: base.clone(),
            secret: Some(secret.clone()),
        };
        assert_eq!(
            link.to_string(),
            format!("http://localhost:9000/#t={}", secret.expose())
        );
        assert_eq!(
            Link { base, secret: None }.to_string(),
            "http://localhost:9000/"
        );
        assert!(!format!("{link:?}").contains(secret.expose()));
    }

    #[test]
    fn a_base_is_an_http_address_and_nothing_more() {
        assert_eq!(
            "http://[::1]:8080".parse::<Base>().unwrap().to_string(),
            "http://[::1]:8080"
        );
        assert_eq!(
            "http://LOCALHOST".parse::<Base>().unwrap().to_string(),
            "http://localhost"
        );
        assert_eq!(
            "https://scope.test/".parse::<Base>().unwrap().to_string(),
            "https://scope.test"
        );
        for bad in [
            "localhost:9000",
            "ws://localhost:9000",
            "http://localhost:9000/x",
            "http://a@b:1",
            "http://",
        ] {
            assert!(bad.parse::<Base>().is_err(), "{bad}");
        }
    }
}
