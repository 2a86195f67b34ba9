//! The environment variables that decide which cluster is used, and through which proxy.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::transport::{Endpoint, Proxy, ProxyError};

/// The variables as a value, so that tests need not change those of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `KUBECONFIG`: a list of files.
    pub kubeconfig: Option<OsString>,
    /// The home directory, for `.kube/config`.
    pub home: Option<PathBuf>,
    /// `KUBERNETES_SERVICE_HOST`, set in every pod.
    pub service_host: Option<String>,
    /// `HTTPS_PROXY` or `https_proxy`.
    pub https_proxy: Option<String>,
    /// `HTTP_PROXY` or `http_proxy`.
    pub http_proxy: Option<String>,
    /// `NO_PROXY` or `no_proxy`.
    pub no_proxy: Option<String>,
}

impl Environment {
    /// Reads the variables of the process.
    pub fn from_process() -> Self {
        let text = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        };
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            home: std::env::home_dir(),
            service_host: text(&["KUBERNETES_SERVICE_HOST"]),
            https_proxy: text(&["HTTPS_PROXY", "https_proxy"]),
            http_proxy: text(&["HTTP_PROXY", "http_proxy"]),
            no_proxy: text(&["NO_PROXY", "no_proxy"]),
        }
    }

    /// Returns the proxy for an endpoint, by the rules of Go's ProxyFromEnvironment, which kubectl follows. Loopback is
    /// never proxied, and `NO_PROXY` lists exceptions.
    pub(super) fn proxy_for(&self, endpoint: &Endpoint) -> Result<Option<Proxy>, ProxyError> {
        let url = if endpoint.is_tls {
            &self.https_proxy
        } else {
            &self.http_proxy
        };
        let Some(url) = url else { return Ok(None) };
        let is_loopback = endpoint.host == "localhost"
            || endpoint
                .host
                .parse::<IpAddr>()
                .is_ok_and(|ip| ip.is_loopback());
        let is_excepted = self
            .no_proxy
            .iter()
            .flat_map(|list| list.split(','))
            .any(|exception| is_excepted(exception.trim(), &endpoint.host, endpoint.port));
        if is_loopback || is_excepted {
            Ok(None)
        } else {
            Proxy::parse(url).map(Some)
        }
    }
}

/// Whether one entry of `NO_PROXY` covers a host. An entry is `*`, an address, a CIDR block, a domain (itself and all below
/// it), or `.domain` (only what is below it). A domain or address may have a port.
fn is_excepted(exception: &str, host: &str, port: u16) -> bool {
    if exception.is_empty() {
        return false;
    }
    if exception == "*" {
        return true;
    }
    let host_ip = host.parse::<IpAddr>().ok();
    if let Some((network, prefix)) = exception.split_once('/')
        && let (Ok(network), Ok(prefix)) = (network.parse::<IpAddr>(), prefix.parse::<u32>())
    {
        return host_ip.is_some_and(|ip| is_in_network(ip, network, prefix));
    }
    let (name, wanted_port) = match exception.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => {
            (name, digits.parse::<u16>().ok())
        }
        _ => (exception, None),
    };
    if wanted_port.is_some_and(|wanted| wanted != port) {
        return false;
    }
    let name = name
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_ascii_lowercase();
    if let Ok(ip) = name.parse::<IpAddr>() {
        return host_ip == Some(ip);
    }
    let host = host.to_ascii_lowercase();
    let name = name.strip_prefix('*').unwrap_or(&name);
    match name.strip_prefix('.') {
        Some(domain) => host
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.')),
        None => {
            host == name
                || host
                    .strip_suffix(name)
                    .is_some_and(|rest| rest.ends_with('.'))
        }
    }
}

fn is_in_network(ip: IpAddr, network: IpAddr, prefix: u32) -> bool {
    let (ip, network, width) = match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) => {
            (u128::from(ip.to_bits()), u128::from(network.to_bits()), 32)
        }
        (IpAddr::V6(ip), IpAddr::V6(network)) => (ip.to_bits(), network.to_bits(), 128),
        _ => return false,
    };
    let Some(host_bits) = u32::checked_sub(width, prefix) else {
        return false;
    };
    (ip ^ network).checked_shr(host_bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxied(no_proxy: &str, url: &str) -> bool {
        let environment = Environment {
            https_proxy: Some("proxy.example:3128".into()),
            no_proxy: Some(no_proxy.into()),
            ..Environment::default()
        };
        let endpoint = Endpoint::from_uri(&url.parse().unwrap()).unwrap();
        environment.proxy_for(&endpoint).unwrap().is_some()
    }

    #[test]
    fn no_proxy_takes_domains_addresses_blocks_and_ports() {
        for (no_proxy, url, expected) in [
            ("", "https://api.example:6443", true),
            ("*", "https://api.example:6443", false),
            ("example", "https://api.example:6443", false),
            ("example", "https://myexample:6443", true),
            (".example", "https://api.example:6443", false),
            (".example", "https://example:6443", true),
            ("*.example", "https://api.EXAMPLE:6443", false),
            ("other, api.example:6443", "https://api.example:6443", false),
            ("api.example:443", "https://api.example:6443", true),
            ("10.0.0.0/8", "https://10.1.2.3:6443", false),
            ("10.0.0.0/8", "https://11.1.2.3:6443", true),
            ("10.0.0.0/0", "https://11.1.2.3:6443", false),
            ("10.0.0.0/99", "https://10.1.2.3:6443", true),
            ("fd00::/16", "https://[fd00::1]:6443", false),
            ("fd00::1", "https://[fd00::1]:6443", false),
            ("[fd00::1]:6443", "https://[fd00::1]:6443", false),
            ("", "https://127.0.0.1:6443", false),
            ("", "https://localhost:6443", false),
            ("", "http://api.example", false),
        ] {
            assert_eq!(
                proxied(no_proxy, url),
                expected,
                "NO_PROXY={no_proxy} {url}"
            );
        }
    }
}
