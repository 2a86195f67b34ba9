//! What a client reads from bytes.

use serde::Deserialize;

use super::{Held, Key};

/// An object as far as the programs read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Document {
    pub(crate) metadata: Metadata,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

impl Document {
    pub(crate) fn key(&self) -> Key {
        let metadata = &self.metadata;
        (metadata.namespace.clone(), metadata.name.clone())
    }

    pub(crate) fn held(&self) -> Held {
        Held {
            uid: self.metadata.uid.clone(),
            resource_version: self.metadata.resource_version.clone(),
        }
    }
}

/// The bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable;

/// A list, or a page of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct List {
    pub(crate) metadata: Metadata,
    pub(crate) items: Option<Vec<Document>>,
}

impl List {
    pub(crate) fn parse(body: &[u8]) -> Result<List, Undecodable> {
        serde_json::from_slice(body).map_err(|_| Undecodable)
    }
}
