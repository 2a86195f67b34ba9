//! What a finding is about: its row of the catalogue, its subject in words, its watches, and the key by which the fold
//! keeps it.

use crate::event::Finding;
use crate::id::{ConnectionId, Text, WatchName};
use crate::row::Row;
use crate::vocabulary::Severity;

impl Finding {
    /// The finding's row of the catalogue; `None` for a code of a later version, or a code that is no row.
    #[must_use]
    pub fn row(&self) -> Option<Row> {
        Row::of(&self.code)
    }

    /// The worst severity of all occurrences of the finding so far; that of this record if the record states none.
    #[must_use]
    pub fn worst_severity(&self) -> Severity {
        self.worst.unwrap_or(self.severity)
    }

    /// The subject in words: a watch (`shop/pods`), a connection (`connection 7`), a type at a server
    /// (`widgets.example.com at 10.0.0.1:6443`), a server, or a client program. The subject is the first in this list
    /// that the record names. A type without a server is named alone. `None` means the whole cluster.
    #[must_use]
    pub fn subject(&self) -> Option<Text> {
        if let Some(watch) = &self.watch {
            return Some(watch.0.clone());
        }
        if let Some(ConnectionId(number)) = self.connection {
            return Some(format!("connection {number}").into());
        }
        if let Some(resource) = &self.resource {
            return Some(self.type_words(resource).into());
        }
        self.server.as_ref().or(self.client.as_ref()).cloned()
    }

    /// Words for the finding's type: `widgets.example.com at 10.0.0.1:6443`.
    fn type_words(&self, resource: &str) -> String {
        let mut words = resource.to_owned();
        let group = self.group.as_ref().filter(|group| !group.is_empty());
        for (joint, part) in [(".", group), (" at ", self.server.as_ref())] {
            if let Some(part) = part {
                words.push_str(joint);
                words.push_str(part);
            }
        }
        words
    }

    /// Whether the finding concerns a watch, alone or by name with others. False for a watch that the finding only
    /// counts ([`Finding::has_more`]).
    #[must_use]
    pub fn concerns(&self, watch: &WatchName) -> bool {
        self.watch.as_ref() == Some(watch) || self.names.contains(watch)
    }

    /// Whether the finding concerns more watches than `names` holds. False if it does not concern several watches.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.watches > Some(self.names.len() as u64)
    }

    /// The key of the finding's code and its subject ([`Finding::key_of`]). The fold keeps findings by this key, so a
    /// later record with the same key updates the same finding.
    #[must_use]
    pub fn key(&self) -> Text {
        Self::key_of(&self.code, self.subject().as_ref())
    }

    /// The key of a code and a subject, with a space between them: `F11 shop/pods`. Without a subject the key ends with
    /// the space.
    #[must_use]
    pub fn key_of(code: &str, subject: Option<&Text>) -> Text {
        format!("{code} {}", subject.map_or("", |subject| subject)).into()
    }
}
