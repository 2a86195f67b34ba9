//! Finds the host in an address: `https://10.0.0.1:6443/k8s`, `10.0.0.1:6443`, `[::1]:6443`.

use core::net::IpAddr;

/// The parts of an address; joined, they are the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    /// The scheme, `https://`, or nothing, and the opening bracket if the host is an IPv6 address.
    pub(crate) begin: &'a str,
    /// The host: a name or an IP address.
    pub(crate) host: &'a str,
    /// The closing bracket if the host is an IPv6 address, and the port with its colon; may be empty.
    pub(crate) port: &'a str,
    /// The path with its slash, and everything after the path; may be empty.
    pub(crate) path: &'a str,
}

impl<'a> Address<'a> {
    /// Splits a text into the parts of an address; every text can be split.
    pub(crate) fn of(text: &'a str) -> Self {
        let authority_at = text.find("://").map_or(0, |at| at + 3);
        let (scheme, rest) = text.split_at(authority_at);
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (before, host, port) = split(authority);
        Self {
            begin: &text[..scheme.len() + before],
            host,
            port,
            path,
        }
    }
}

/// Returns the length of the text before the host (an opening bracket), the host, and the text after the host.
fn split(authority: &str) -> (usize, &str, &str) {
    if let Some(inside) = authority.strip_prefix('[') {
        let host = &inside[..inside.find(']').unwrap_or(inside.len())];
        return (1, host, &inside[host.len()..]);
    }
    if authority.parse::<IpAddr>().is_ok() {
        return (0, authority, "");
    }
    let port_at = authority.rfind(':').filter(|&at| {
        let port = &authority[at + 1..];
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let (host, port) = authority.split_at(port_at.unwrap_or(authority.len()));
    (0, host, port)
}

/// Returns the length of the IP address at the start of a text; `None` if the text begins with none.
pub(crate) fn leading_ip(text: &str) -> Option<usize> {
    let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':');
    let run = &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())];
    // A port may follow the address, or the end of a sentence.
    let ends = run.char_indices().filter(|(_, c)| matches!(c, '.' | ':'));
    let ends = ends.map(|(at, _)| at).chain([run.len()]).rev();
    let is_word = |at: usize| text[at..].chars().next().is_some_and(char::is_alphanumeric);
    ends.filter(|&end| !is_word(end))
        .find(|&end| run[..end].parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_in_every_form_of_an_address() {
        let host = |text| Address::of(text).host;
        assert_eq!(host("https://10.0.0.1:6443"), "10.0.0.1");
        assert_eq!(host("https://k8s.example.com/k8s/c-1"), "k8s.example.com");
        assert_eq!(host("[2001:db8::1]:6443"), "2001:db8::1");
        assert_eq!(host("2001:db8::1"), "2001:db8::1");
        assert_eq!(host("apiserver"), "apiserver");
        assert_eq!(host(""), "");
        for text in [
            "https://a:1/b?c",
            "[::1]:80",
            "a:b",
            "://",
            "[",
            "http://[::1",
        ] {
            let Address {
                begin,
                host,
                port,
                path,
            } = Address::of(text);
            assert_eq!(format!("{begin}{host}{port}{path}"), text);
        }
    }

    #[test]
    fn an_ip_address_ends_before_its_port_and_its_sentence() {
        let ip = |text: &'static str| leading_ip(text).map(|end| &text[..end]);
        assert_eq!(ip("10.0.0.1:6443: refused"), Some("10.0.0.1"));
        assert_eq!(ip("10.0.0.1."), Some("10.0.0.1"));
        assert_eq!(ip("2001:db8::1]:443"), Some("2001:db8::1"));
        assert_eq!(ip("10:05:02 UTC"), None);
        assert_eq!(ip("1165,"), None);
        assert_eq!(ip("10.0.0.1x"), None);
    }
}
