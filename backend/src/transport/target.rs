//! The target of a dial: the server's address, the proxy, and the TLS settings.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::Uri;
use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

/// All settings needed to open a connection to one server.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server.
    pub endpoint: Endpoint,
    /// The only address of the server to dial; none for any. It is verified as the endpoint is.
    pub pin: Option<SocketAddr>,
    /// The proxy to connect through, if any.
    pub proxy: Option<Proxy>,
    /// The TLS settings, which exist exactly if the endpoint or the proxy is reached over TLS.
    pub tls: Option<Arc<ClientConfig>>,
    /// The name against which the server's certificate is verified, if it is not the endpoint's host (`tls-server-name` of a
    /// kubeconfig).
    pub tls_server_name: Option<String>,
    /// The HTTP versions that may be used.
    pub protocols: Protocols,
}

impl Target {
    /// The host and port to dial.
    pub(super) fn address(&self) -> (String, u16) {
        match self.pin {
            Some(pin) => (pin.ip().to_string(), pin.port()),
            None => (self.endpoint.host.clone(), self.endpoint.port),
        }
    }

    /// The address to dial, as `host:port`.
    pub(super) fn authority(&self) -> String {
        let (host, port) = self.address();
        authority(&host, port)
    }
}

/// The HTTP versions that may be used with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocols {
    /// Over TLS the server chooses, HTTP/2 before HTTP/1.1; on clear text HTTP/1.1. client-go does the same.
    #[default]
    Negotiated,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 on clear text without negotiation ("prior knowledge"), for a server that is known to speak it. Over TLS the
    /// same as [`Protocols::Negotiated`].
    Http2,
}

impl Protocols {
    /// The protocols that are offered in a TLS handshake.
    pub(super) fn alpn(self) -> Vec<Vec<u8>> {
        let http1 = b"http/1.1".to_vec();
        match self {
            Self::Http1 => vec![http1],
            Self::Negotiated | Self::Http2 => vec![b"h2".to_vec(), http1],
        }
    }

    /// Whether HTTP/2 is used with a server that chose `alpn`.
    pub(super) fn speaks_http2(self, alpn: Option<&str>, is_tls: bool) -> bool {
        match self {
            Self::Http1 => false,
            Self::Negotiated => alpn == Some("h2"),
            Self::Http2 => alpn == Some("h2") || !is_tls,
        }
    }
}

/// The parts of a server's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether the scheme is `https` and not `http`.
    pub is_tls: bool,
    /// The host name or address; an IPv6 address without its brackets.
    pub host: String,
    /// The port; 443 or 80 if the URL has none.
    pub port: u16,
    /// The path that precedes the path of each request: empty, or beginning with `/` and not ending with one. Gateways that
    /// serve several clusters need it.
    pub base_path: String,
}

/// Error: the URL is not that of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The scheme is neither http nor https.
    #[error("the server URL {url} has no http:// or https:// in front")]
    Scheme {
        /// The URL.
        url: String,
    },
    /// There is no host.
    #[error("the server URL {url} names no host")]
    Host {
        /// The URL.
        url: String,
    },
}

impl Endpoint {
    /// Reads a server's URL. Query and user info are ignored, as kubectl does.
    pub fn from_uri(uri: &Uri) -> Result<Self, EndpointError> {
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => {
                return Err(EndpointError::Scheme {
                    url: uri.to_string(),
                });
            }
        };
        let host = uri.host().unwrap_or_default();
        let host = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(host);
        if host.is_empty() {
            return Err(EndpointError::Host {
                url: uri.to_string(),
            });
        }
        Ok(Self {
            is_tls,
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            base_path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// `host:port`, an IPv6 address in brackets.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }

    /// The value of the Host header. The default port is left out.
    pub(crate) fn host_header(&self) -> String {
        let default_port = if self.is_tls { 443 } else { 80 };
        if self.port != default_port {
            return self.authority();
        }
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.base_path)
    }
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyScheme {
    /// CONNECT over plain HTTP/1.1.
    Http,
    /// CONNECT over TLS. The target's TLS settings verify the proxy, as in client-go.
    Https,
    /// SOCKS5. The proxy resolves the name.
    Socks5,
}

/// A proxy. Its `Display` and `Debug` never show the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its protocol.
    pub scheme: ProxyScheme,
    /// The host name or address; an IPv6 address without its brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The user and password, if the URL has them.
    pub credentials: Option<(String, String)>,
}

/// Error: the URL is not that of a proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// The scheme is not http, https or socks5.
    #[error("the proxy URL's scheme {scheme} is not http, https or socks5")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// It is not a URL, or has no host. The text is left out, since it may hold a password.
    #[error("the proxy URL is not of the form scheme://host:port")]
    Malformed,
}

impl Proxy {
    /// Reads a proxy's URL. Without a scheme it counts as http, as Go reads HTTPS_PROXY.
    pub fn parse(url: &str) -> Result<Self, ProxyError> {
        let with_scheme;
        let url = if url.contains("://") {
            url
        } else {
            with_scheme = format!("http://{url}");
            &with_scheme
        };
        let uri: Uri = url.parse().map_err(|_| ProxyError::Malformed)?;
        let (scheme, default_port) = match uri.scheme_str() {
            Some("http") => (ProxyScheme::Http, 80),
            Some("https") => (ProxyScheme::Https, 443),
            Some("socks5" | "socks5h") => (ProxyScheme::Socks5, 1080),
            other => {
                return Err(ProxyError::Scheme {
                    scheme: other.unwrap_or_default().to_owned(),
                });
            }
        };
        let authority = uri.authority().ok_or(ProxyError::Malformed)?;
        let host = authority.host();
        let host = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(host);
        if host.is_empty() {
            return Err(ProxyError::Malformed);
        }
        let credentials = authority.as_str().rsplit_once('@').map(|(user_info, _)| {
            let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
            let decode = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
            (decode(user), decode(password))
        });
        Ok(Self {
            scheme,
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(default_port),
            credentials,
        })
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            ProxyScheme::Http => "http",
            ProxyScheme::Https => "https",
            ProxyScheme::Socks5 => "socks5",
        };
        write!(f, "{scheme}://{}", authority(&self.host, self.port))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

/// `host:port`, an IPv6 address in brackets.
pub(crate) fn authority(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// The name against which a certificate is verified; none if it is no valid name.
pub(crate) fn server_name(host: &str) -> Option<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn endpoint(url: &str) -> Result<Endpoint, EndpointError> {
        Endpoint::from_uri(&url.parse().unwrap())
    }

    #[test]
    fn an_endpoint_keeps_its_base_path_and_default_port() {
        let gateway = endpoint("https://rancher.example/k8s/clusters/c-1/").unwrap();
        assert_eq!(
            (gateway.port, gateway.base_path.as_str()),
            (443, "/k8s/clusters/c-1")
        );
        assert_eq!(gateway.host_header(), "rancher.example");
        let six = endpoint("https://[fd00::1]:6443").unwrap();
        assert_eq!(
            (six.host.as_str(), six.authority().as_str()),
            ("fd00::1", "[fd00::1]:6443")
        );
        assert_eq!(six.to_string(), "https://[fd00::1]:6443");
        assert!(matches!(
            endpoint("ftp://x/"),
            Err(EndpointError::Scheme { .. })
        ));
        assert!(matches!(
            endpoint("localhost:8080"),
            Err(EndpointError::Scheme { .. })
        ));
    }

    #[test]
    fn a_proxy_url_is_read_and_its_password_never_shown() {
        let proxy = Proxy::parse("http://me:p%40ss@proxy.example:3128").unwrap();
        assert_eq!(proxy.credentials, Some(("me".into(), "p@ss".into())));
        assert_eq!(
            format!("{proxy} {proxy:?}"),
            "http://proxy.example:3128 Proxy(http://proxy.example:3128)"
        );
        assert_eq!(
            Proxy::parse("proxy:8080").unwrap().scheme,
            ProxyScheme::Http
        );
        assert_eq!(Proxy::parse("socks5://[::1]").unwrap().port, 1080);
        assert!(matches!(
            Proxy::parse("ftp://x"),
            Err(ProxyError::Scheme { .. })
        ));
        assert_eq!(Proxy::parse("http://"), Err(ProxyError::Malformed));
    }

    proptest! {
        #[test]
        fn any_proxy_text_is_read_or_refused_without_its_password(
            text in "(http|socks5|)(://|)\\PC{0,20}(:s3cret@|)\\PC{0,20}"
        ) {
            let shown = match Proxy::parse(&text) {
                Ok(proxy) => format!("{proxy} {proxy:?}"),
                Err(error) => error.to_string(),
            };
            prop_assert!(!shown.contains("s3cret"), "{}", shown);
        }
    }
}
