//! The history of a cluster in etcd, read over the JSON form of its v3 API.
//!
//! Each write has its own revision of etcd. Kubernetes uses it as the resourceVersion of the object that was written.

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, Response};
use serde::Deserialize;
use serde_json::{Value, json};

/// The key NUL: etcd's first possible key. As the end of a range it means "all keys from the first on".
const EVERYTHING: &[u8] = b"\0";

/// The store of a test's cluster.
#[derive(Clone, Debug)]
pub struct Etcd {
    address: String,
    client: Client,
}

/// The ids of a member and of the leader that it knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) member: String,
    pub(crate) leader: String,
}

/// What happened to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The key was created.
    Created,
    /// The key got another value.
    Modified,
    /// The key was deleted.
    Deleted,
}

/// One change in the store's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The store's revision at the change, which is the object's resourceVersion.
    pub revision: u64,
    /// What the change did to the key.
    pub kind: ChangeKind,
    /// The key as Kubernetes forms it: `/registry/configmaps/NAMESPACE/NAME`.
    pub key: String,
    /// The value after the change; empty for a deletion.
    pub value: Vec<u8>,
    /// The value before the change; empty for a creation.
    pub previous: Vec<u8>,
}

impl Change {
    /// Parses the object after the change, or for a deletion the one before it.
    pub fn object(&self) -> Result<Value> {
        let bytes = match self.kind {
            ChangeKind::Created | ChangeKind::Modified => &self.value,
            ChangeKind::Deleted => &self.previous,
        };
        serde_json::from_slice(bytes)
            .with_context(|| format!("{} at {} is not JSON", self.key, self.revision))
    }

    /// The last part of the key, which is the object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or(&self.key)
    }
}

impl Etcd {
    pub(crate) fn new(port: u16) -> Result<Self> {
        Ok(Self {
            address: format!("http://127.0.0.1:{port}"),
            // A proxy of this machine must not stand between the tests and loopback.
            client: Client::builder().no_proxy().build()?,
        })
    }

    /// Returns the store's newest revision.
    pub async fn revision(&self) -> Result<u64> {
        let answer: RangeAnswer = self
            .post(
                "/v3/kv/range",
                &json!({"key": STANDARD.encode(EVERYTHING), "limit": 1}),
            )
            .await?
            .json()
            .await?;
        number(&answer.header.revision)
    }

    /// Returns every change from revision 1 to now whose key has the prefix, in order. It is an error if the store was
    /// compacted, since its beginning is lost.
    ///
    /// Reads again at most twice if the connection breaks. On a machine under load, etcd's JSON gateway closed the
    /// connection in the middle of its answer.
    pub async fn history(&self, key_prefix: &str) -> Result<Vec<Change>> {
        let head = self.revision().await?;
        for _ in 0..2 {
            match self.changes_until(head, key_prefix).await {
                Err(error) if error.downcast_ref::<reqwest::Error>().is_some() => {}
                read => return read,
            }
        }
        self.changes_until(head, key_prefix).await
    }

    async fn changes_until(&self, head: u64, key_prefix: &str) -> Result<Vec<Change>> {
        let mut stream = self
            .post(
                "/v3/watch",
                &json!({"create_request": {
                    "key": STANDARD.encode(EVERYTHING),
                    "range_end": STANDARD.encode(EVERYTHING),
                    "start_revision": "1",
                    "prev_kv": true,
                }}),
            )
            .await?;
        let mut changes = Vec::new();
        let mut reached = 1;
        let mut unread = Vec::new();
        // Revision 1 is the empty store. Every later revision is a change of some key.
        while reached < head {
            let chunk = stream.chunk().await?;
            unread.extend_from_slice(&chunk.context("etcd ended the history early")?);
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = unread.drain(..=end).collect();
                let message: WatchMessage = serde_json::from_slice(&line)
                    .with_context(|| format!("in {}", String::from_utf8_lossy(&line)))?;
                for change in message.result.changes()? {
                    reached = reached.max(change.revision);
                    changes.push(change);
                }
            }
        }
        changes.retain(|change| change.revision <= head && change.key.starts_with(key_prefix));
        ensure!(
            changes.is_sorted_by_key(|change| change.revision),
            "etcd's history is out of order"
        );
        Ok(changes)
    }

    /// Drops all history before the revision, at once; etcd then refuses to read from before it.
    pub async fn compact(&self, revision: u64) -> Result<()> {
        let request = json!({"revision": revision.to_string(), "physical": true});
        self.post("/v3/kv/compaction", &request).await?;
        Ok(())
    }

    /// Writes a value directly into the store, for values that the apiserver would refuse.
    pub async fn put(&self, key: &str, value: &Value) -> Result<()> {
        let value = STANDARD.encode(value.to_string());
        let request = json!({"key": STANDARD.encode(key), "value": value});
        self.post("/v3/kv/put", &request).await?;
        Ok(())
    }

    /// Returns the ids of this member and of the leader that it knows.
    pub(crate) async fn standing(&self) -> Result<Standing> {
        let answer = self.post("/v3/maintenance/status", &json!({})).await?;
        let status: StatusAnswer = answer.json().await?;
        Ok(Standing {
            member: status.header.member_id,
            leader: status.leader,
        })
    }

    /// Makes the member with that id the leader. Only the present leader can do so, so call it on that one.
    pub(crate) async fn hand_over(&self, member: &str) -> Result<()> {
        let request = json!({"targetID": member});
        self.post("/v3/maintenance/transfer-leadership", &request)
            .await?;
        Ok(())
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Response> {
        let answer = self
            .client
            .post(format!("{}{path}", self.address))
            .json(body)
            .send()
            .await
            .with_context(|| format!("asking etcd for {path}"))?;
        let status = answer.status();
        if !status.is_success() {
            bail!(
                "etcd answers {path} with {status}: {}",
                answer.text().await?
            );
        }
        Ok(answer)
    }
}

/// 64-bit numbers are strings in this JSON. Zeros and empty fields are absent.
#[derive(Deserialize)]
struct RangeAnswer {
    header: Header,
}

#[derive(Deserialize)]
struct Header {
    revision: String,
    member_id: String,
}

#[derive(Deserialize)]
struct StatusAnswer {
    header: Header,
    /// The leader's id; absent while there is no leader.
    #[serde(default)]
    leader: String,
}

#[derive(Deserialize)]
struct WatchMessage {
    result: WatchResult,
}

#[derive(Deserialize)]
struct WatchResult {
    #[serde(default)]
    canceled: bool,
    #[serde(default)]
    compact_revision: String,
    #[serde(default)]
    cancel_reason: String,
    #[serde(default)]
    events: Vec<WatchEvent>,
}

#[derive(Deserialize)]
struct WatchEvent {
    #[serde(default, rename = "type")]
    kind: String,
    kv: KeyValue,
    prev_kv: Option<KeyValue>,
}

#[derive(Deserialize)]
struct KeyValue {
    key: String,
    mod_revision: String,
    #[serde(default)]
    create_revision: String,
    #[serde(default)]
    value: String,
}

impl WatchResult {
    fn changes(self) -> Result<Vec<Change>> {
        if !self.compact_revision.is_empty() {
            bail!(
                "etcd has compacted its history before revision {}",
                self.compact_revision
            );
        }
        ensure!(
            !self.canceled,
            "etcd cancelled the watch: {}",
            self.cancel_reason
        );
        self.events.into_iter().map(WatchEvent::change).collect()
    }
}

impl WatchEvent {
    fn change(self) -> Result<Change> {
        let kind = if self.kind == "DELETE" {
            ChangeKind::Deleted
        } else if self.kv.create_revision == self.kv.mod_revision {
            ChangeKind::Created
        } else {
            ChangeKind::Modified
        };
        Ok(Change {
            revision: number(&self.kv.mod_revision)?,
            kind,
            key: String::from_utf8(STANDARD.decode(&self.kv.key)?)
                .context("a key of Kubernetes is text")?,
            value: STANDARD.decode(&self.kv.value)?,
            previous: match self.prev_kv {
                Some(previous) => STANDARD.decode(&previous.value)?,
                None => Vec::new(),
            },
        })
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse()
        .with_context(|| format!("{text:?} is no revision"))
}
