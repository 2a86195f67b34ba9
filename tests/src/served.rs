//! `watchscope serve` as scripts reach it: with the bearer token of a token file.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use crate::{Launch, Link, Watchscope, patient};
use anyhow::{Context as _, Result, ensure};
use reqwest::{Client, Response};
use serde_json::Value;
use tempfile::TempDir;

/// The bearer token that scripts send.
const TOKEN: &str = "a-token-of-forty-characters-for-the-tests";

/// How long the next record may take; after it [`Records::next`] fails.
const NEXT: Duration = Duration::from_secs(60);

/// A server that accepts a bearer token.
#[derive(Debug)]
pub struct Served {
    /// The process.
    pub watchscope: Watchscope,
    /// The link for a person.
    pub link: Link,
    client: Client,
    _folder: TempDir,
}

impl Served {
    /// Starts the server and waits for its link.
    pub async fn start(launch: Launch) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("token");
        std::fs::write(&path, TOKEN)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let (watchscope, link) = launch.env("WATCHSCOPE_TOKEN_FILE", &path).serve().await?;
        Ok(Self {
            watchscope,
            link,
            client: Client::builder().no_proxy().build()?,
            _folder: folder,
        })
    }

    /// The `Authorization` header's value: `Bearer …`.
    #[must_use]
    pub fn bearer() -> String {
        format!("Bearer {TOKEN}")
    }

    /// Requests a path and returns the answer, whatever its status.
    pub async fn get(&self, path: &str) -> Result<Response> {
        let url = format!("{}{path}", self.link.origin());
        let request = self.client.get(url).bearer_auth(TOKEN);
        Ok(request.send().await?)
    }

    /// Returns the fold at the head, as text.
    pub async fn state(&self) -> Result<String> {
        let answer = self.get("/api/state").await?;
        ensure!(answer.status() == 200, "{}", answer.status());
        Ok(answer.text().await?)
    }

    /// Returns the stream of records: from the first one kept, then live.
    pub async fn records(&self) -> Result<Records> {
        let answer = self.get("/api/records").await?;
        ensure!(answer.status() == 200, "{}", answer.status());
        Ok(Records {
            answer,
            unread: Vec::new(),
        })
    }
}

/// A stream of records.
#[derive(Debug)]
pub struct Records {
    answer: Response,
    unread: Vec<u8>,
}

impl Records {
    /// Returns the next line; fails after 60 s without one, and when the stream ends.
    pub async fn next(&mut self) -> Result<Value> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(serde_json::from_slice(&line)?);
            }
            let chunk = tokio::time::timeout(patient(NEXT), self.answer.chunk())
                .await
                .context("no further record comes")??;
            let chunk = chunk.context("the stream of records ended")?;
            self.unread.extend_from_slice(&chunk);
        }
    }

    /// Returns all lines up to the first for which `is_last` holds, with that line.
    pub async fn up_to(&mut self, mut is_last: impl FnMut(&Value) -> bool) -> Result<Vec<Value>> {
        let mut lines = Vec::new();
        loop {
            let line = self.next().await?;
            let ends = is_last(&line);
            lines.push(line);
            if ends {
                return Ok(lines);
            }
        }
    }
}
