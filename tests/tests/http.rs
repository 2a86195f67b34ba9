//! Plain HTTP as a script or an attacker sends it: bytes on a socket, nothing added.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use watchscope_tests::patient;

/// How long an answer may take; after it the request fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer that was read to its end.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |(header, _): &&(String, String)| header.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(named)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.body).with_context(|| format!("not JSON: {}", self.body))
    }
}

/// Returns the address of an origin: `127.0.0.1:8080` for `http://127.0.0.1:8080`.
pub(crate) fn address(origin: &str) -> &str {
    origin.trim_start_matches("http://")
}

/// Returns a request's head. It names the server itself unless the headers contain `Host`.
pub(crate) fn head(method: &str, origin: &str, path: &str, headers: &[(&str, &str)]) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        head += &format!("Host: {}\r\n", address(origin));
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head + "\r\n"
}

/// Sends a request on a connection of its own and reads its answer to the end.
pub(crate) async fn ask(
    method: &str,
    origin: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<Answer> {
    let mut all = vec![("Connection", "close")];
    all.extend(headers);
    let asking = async {
        let mut stream = TcpStream::connect(address(origin)).await?;
        stream
            .write_all(head(method, origin, path, &all).as_bytes())
            .await?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await?;
        parse(&bytes)
    };
    timeout(patient(PATIENCE), asking)
        .await
        .with_context(|| format!("{method} {origin}{path} is not answered in time"))?
        .with_context(|| format!("{method} {origin}{path}"))
}

pub(crate) async fn get(origin: &str, path: &str, headers: &[(&str, &str)]) -> Result<Answer> {
    ask("GET", origin, path, headers).await
}

/// Exchanges a link's secret for a session, as the page does; returns the cookie.
pub(crate) async fn exchange(origin: &str, secret: &str) -> Result<String> {
    let bearer = format!("Bearer {secret}");
    let headers = [("Origin", origin), ("Authorization", bearer.as_str())];
    let answer = ask("POST", origin, "/session", &headers).await?;
    anyhow::ensure!(answer.status == 204, "{answer:?}");
    let cookie = answer.header("set-cookie").context("a cookie is set")?;
    Ok(cookie.split(';').next().unwrap_or_default().to_owned())
}

/// Parses an answer from all of its bytes.
fn parse(bytes: &[u8]) -> Result<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text
        .split_once("\r\n\r\n")
        .with_context(|| format!("no whole head: {text:?}"))?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|code| code.parse().ok())
        .with_context(|| format!("no status: {head}"))?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let is_chunked = headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("transfer-encoding") && value.contains("chunked")
    });
    let body = if is_chunked {
        unchunked(body)?
    } else {
        body.to_owned()
    };
    Ok(Answer {
        status,
        headers,
        body,
    })
}

fn unchunked(mut rest: &str) -> Result<String> {
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").context("a chunk has a size")?;
        let size = usize::from_str_radix(size, 16).with_context(|| format!("size {size:?}"))?;
        if size == 0 {
            return Ok(body);
        }
        body += after.get(..size).context("a chunk is whole")?;
        rest = after
            .get(size + 2..)
            .context("a chunk ends with a line end")?;
    }
}
