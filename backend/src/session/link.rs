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

impl FromStr for Link {
    type Err = BadLink;

    fn from_str(text: &str) -> Result<Self, BadLink> {
        let (base, secret) = match text.split_once("#t=") {
            Some((base, secret)) => (base, Some(Secret::of_a_link(secret).ok_or(BadLink)?)),
            None => (text, None),
        };
        let base = base.parse().map_err(|_| BadLink)?;
        Ok(Self { base, secret })
    }
}

/// Error: the text is no link of a watchscope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a link of a watchscope, such as http://127.0.0.1:8080/#t=SECRET")]
pub struct BadLink;

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

    #[test]
    fn a_link_that_another_watchscope_printed_is_read_back() {
        let secret = Secret::random();
        let text = format!("http://127.0.0.1:8081/#t={}", secret.expose());
        let link: Link = text.parse().unwrap();
        assert_eq!(link.to_string(), text);
        assert_eq!(link.base.host().port(), Some(8081));
        let without: Link = "https://scope.test/".parse().unwrap();
        assert!(without.secret.is_none() && without.base.host().port().is_none());
        let long = format!("http://a/#t={}", "x".repeat(129));
        for bad in [
            "",
            "http://127.0.0.1:8081/#t=",
            "http://127.0.0.1:8081/#t=short",
            "http://127.0.0.1:8081/#t=a secret of two words and more",
            "http://127.0.0.1:8081/x#t=a-secret-of-enough-characters",
            &long,
        ] {
            assert!(bad.parse::<Link>().is_err(), "{bad}");
        }
    }
}
