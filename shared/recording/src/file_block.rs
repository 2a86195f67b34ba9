//! The JSON of a file block (`F`): which log and watches the chapters after it belong to.

use serde::{Deserialize, Serialize};
use watchscope_hiding::HiddenPart;
use watchscope_model::{EpochId, LogId, State, Text};

use crate::error::DamageKind;

/// The most bytes in a file block (`F`). The writer leaves out the last half of the watches, repeatedly, until the
/// block fits. If the block does not fit without watches either, it is written nevertheless. A reader reports a longer
/// block as damage. The number has no source: 2,000 watches of 500 bytes each fit.
pub const MAX_FILE_BLOCK_BYTES: usize = 1 << 20;
/// The most watches in an `F` block, so that they usually fit in 1 MiB. Writer and reader keep the first watches and
/// leave out the others. The number has no source: it leaves about 500 bytes for each watch.
const MAX_WATCHES: usize = 2_000;

/// The content of a file block (`F`): the log, the cluster and the watches of the chapters after it.
///
/// A reader ignores unknown fields and takes a missing field as empty (a missing number as 0). All texts may be
/// hostile. An `F` block that can be read has at most [`MAX_FILE_BLOCK_BYTES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FileBlock {
    /// Version of the watchscope that wrote the file, such as `0.9.0`; a copy states the version of the copied file.
    /// Empty if the block does not state it.
    pub watchscope: String,
    /// Version of the redaction rules for bodies, from 1; 0 if the block does not state it.
    pub redaction: u32,
    /// Id of the log; empty if the block does not state it.
    pub log: String,
    /// Id of the run of the log's writer; empty if the block does not state it.
    pub epoch: String,
    /// The cluster; `None` if no cluster had answered, or if the block does not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterName>,
    /// The watches, which may be none; [`with_state`](Self::with_state) sorts them by name. A writer keeps the first
    /// 2,000 watches, and fewer if the block is too long. A reader keeps the first 2,000 watches, too.
    pub watches: Vec<Watched>,
    /// How the file was made; [`Form::Recorded`] if the block does not state it.
    pub form: Form,
    /// The contents that the writer left out, each as a phrase in English. Empty if the writer left out nothing, or if
    /// the block does not state it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// The parts whose texts are pseudonyms or `[hidden]`, or that are left out. watchscope writes each part once, in
    /// the order of [`HiddenPart`]. Empty if nothing was hidden, or if the block does not state it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<HiddenPart>,
}

/// A cluster: its names and its version. A text that the block does not state is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterName {
    /// The cluster's name: that of the kubeconfig's context, `in-cluster`, or the host of a bare URL. A simulated
    /// cluster has a name of its own.
    pub name: String,
    /// Base URL of the cluster's apiserver, such as `https://10.0.0.1:6443`.
    pub server: String,
    /// Version of the cluster's apiserver, such as `v1.36.0` (the `gitVersion` of its `/version`); empty if the
    /// apiserver returned none.
    pub version: String,
    /// The uid of the cluster's namespace `kube-system`; empty if it could not be read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// A watch: its name, and the resource, scope and selectors of its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Watched {
    /// The watch's name, such as `shop/pods`; unique in the log.
    pub watch: String,
    /// API group; empty for core.
    pub group: String,
    /// API version, such as `v1`; empty if discovery had not found the resource.
    pub version: String,
    /// Resource, plural and in lower case, as in the path of a request.
    pub resource: String,
    /// Namespace; `None` for all namespaces, and for cluster-scoped resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Label selector, as in a request; `None` for a watch without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Field selector, as in a request; `None` for a watch without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<String>,
}

/// How a file was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Form {
    /// The file was recorded while the log was written.
    #[default]
    Recorded,
    /// The file was made from whole chapters of other files, byte for byte.
    Copy,
    /// The file was made from an exact range of a log, or from some watches and clients in it, encoded anew.
    Extract,
    /// The file was made in a form that a later version added. Every unknown word reads as this value.
    #[serde(other)]
    Later,
}

impl FileBlock {
    /// Makes the block of a log and a run of its writer, in form [`Form::Recorded`]. The other fields are empty, and
    /// `redaction` is 0.
    #[must_use]
    pub fn new(log: &LogId, epoch: &EpochId) -> Self {
        Self {
            log: log.as_str().to_owned(),
            epoch: epoch.as_str().to_owned(),
            ..Self::default()
        }
    }

    /// Adds the cluster that a fold knows; if the fold knows none, the block keeps its own. Replaces the watches with
    /// all watches of the fold, stopped ones included, sorted by name. watchscope's own requests about a watch are left
    /// out.
    #[must_use]
    pub fn with_state(self, state: &State) -> Self {
        let text = |text: &Text| text.to_string();
        let cluster = state.cluster.as_ref().map(|cluster| ClusterName {
            name: text(&cluster.cluster),
            server: text(&cluster.server),
            version: text(&cluster.version),
            uid: cluster.uid.as_ref().map(text).unwrap_or_default(),
        });
        let watches = state.watches.iter().filter(|(name, _)| !name.is_aside());
        let watches = watches.map(|(name, watch)| Watched {
            watch: text(&name.0),
            group: text(&watch.group),
            version: text(&watch.version),
            resource: text(&watch.resource),
            namespace: watch.namespace.as_ref().map(text),
            label_selector: watch.label_selector.as_ref().map(text),
            field_selector: watch.field_selector.as_ref().map(text),
        });
        Self {
            cluster: cluster.or(self.cluster),
            watches: watches.collect(),
            ..self
        }
    }

    /// Encodes the block as JSON, with at most [`MAX_WATCHES`] watches. The JSON is over [`MAX_FILE_BLOCK_BYTES`] only
    /// if the other fields are.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut kept = self.watches.len().min(MAX_WATCHES);
        loop {
            let block = Self {
                watches: self.watches[..kept].to_vec(),
                ..self.clone()
            };
            let bytes =
                serde_json::to_vec(&block).expect("texts and numbers are always written as JSON");
            if bytes.len() <= MAX_FILE_BLOCK_BYTES || kept == 0 {
                return bytes;
            }
            kept /= 2;
        }
    }

    /// Decodes the JSON, and keeps the first [`MAX_WATCHES`] watches. It fails if the JSON is over
    /// [`MAX_FILE_BLOCK_BYTES`], or cannot be read.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DamageKind> {
        if bytes.len() > MAX_FILE_BLOCK_BYTES {
            return Err(DamageKind::Payload("it is longer than 1 MiB"));
        }
        let mut block: Self =
            serde_json::from_slice(bytes).map_err(|error| DamageKind::Json(error.to_string()))?;
        block.watches.truncate(MAX_WATCHES);
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> FileBlock {
        FileBlock {
            watchscope: "0.1.0".into(),
            redaction: 1,
            cluster: Some(ClusterName {
                name: "prod".into(),
                server: "https://10.0.0.1:6443".into(),
                version: "v1.33.1".into(),
                uid: "5c1f".into(),
            }),
            watches: vec![Watched {
                watch: "shop/pods?app=web".into(),
                version: "v1".into(),
                resource: "pods".into(),
                namespace: Some("shop".into()),
                label_selector: Some("app=web".into()),
                ..Watched::default()
            }],
            form: Form::Extract,
            withheld: vec!["1 of 2 watches".into()],
            ..FileBlock::new(&"demo".into(), &"e1".into())
        }
    }

    #[test]
    fn a_file_block_is_json_that_reads_back() {
        let bytes = block().encode();
        insta::assert_snapshot!(String::from_utf8(bytes.clone()).unwrap(), @r#"{"watchscope":"0.1.0","redaction":1,"log":"demo","epoch":"e1","cluster":{"name":"prod","server":"https://10.0.0.1:6443","version":"v1.33.1","uid":"5c1f"},"watches":[{"watch":"shop/pods?app=web","group":"","version":"v1","resource":"pods","namespace":"shop","labelSelector":"app=web"}],"form":"extract","withheld":["1 of 2 watches"]}"#);
        assert_eq!(FileBlock::decode(&bytes), Ok(block()));
    }

    #[test]
    fn a_fold_names_its_cluster_and_watches() {
        use watchscope_model::event::{ClusterConnected, WatchStarted};
        use watchscope_model::{Event, Time};

        let started = |watch: &str| WatchStarted {
            watch: watch.into(),
            group: "".into(),
            version: "v1".into(),
            resource: "pods".into(),
            namespace: Some("shop".into()),
            label_selector: Some("app=web".into()),
            field_selector: None,
            server: None,
            aggregated: None,
        };
        let connected = ClusterConnected {
            cluster: "prod".into(),
            server: "https://10.0.0.1:6443".into(),
            version: "v1.33.1".into(),
            uid: Some("5c1f".into()),
        };
        let events: [Event; 3] = [
            connected.into(),
            started("shop/pods?app=web").into(),
            started("shop/pods?app=web#w").into(),
        ];
        let mut state = State::default();
        for event in events {
            let record = state.stamp(event, Time(1));
            state.apply(&record);
        }
        let expected = FileBlock {
            form: Form::Recorded,
            withheld: Vec::new(),
            ..block()
        };
        let bare = FileBlock {
            cluster: None,
            watches: Vec::new(),
            ..expected.clone()
        };
        assert_eq!(bare.with_state(&state), expected);
    }

    #[test]
    fn unknown_fields_are_ignored_and_missing_ones_are_empty() {
        let later = br#"{"log":"demo","epoch":"e2","form":"dream","moon":{"phase":3}}"#;
        let expected = FileBlock {
            form: Form::Later,
            ..FileBlock::new(&"demo".into(), &"e2".into())
        };
        assert_eq!(FileBlock::decode(later), Ok(expected));
    }

    #[test]
    fn invalid_json_and_a_block_over_1_mib_are_damage() {
        assert!(matches!(
            FileBlock::decode(b"{\"log\":"),
            Err(DamageKind::Json(_))
        ));
        let long = vec![b' '; MAX_FILE_BLOCK_BYTES + 1];
        assert!(FileBlock::decode(&long).is_err());
    }

    #[test]
    fn watches_that_do_not_fit_are_left_out() {
        let mut block = block();
        block.watches = vec![
            Watched {
                watch: "x".repeat(1_000),
                ..Watched::default()
            };
            5_000
        ];
        let bytes = block.encode();
        assert!(bytes.len() <= MAX_FILE_BLOCK_BYTES);
        let read = FileBlock::decode(&bytes).unwrap();
        assert!(read.watches.len() > 100 && read.watches.len() < 2_000);
    }
}
