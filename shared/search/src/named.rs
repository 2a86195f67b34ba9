//! What the records of a chapter name: objects, texts and resourceVersions, each once.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use watchscope_model::{Event, Object, ResourceVersion, Text};

use crate::hit::What;
use crate::matching::{Parts, parts_of};
use crate::versions::Versions;

/// What the records of a chapter name: objects, texts and resourceVersions, each once. The chapter bounds the size.
/// resourceVersions that are numbers are kept as at most 32 ranges, which may contain numbers that no record has; other
/// resourceVersions are kept as texts.
#[derive(Clone, Debug, Default)]
pub struct Named {
    pub(crate) objects: IndexSet<Arc<Object>, FxBuildHasher>,
    pub(crate) texts: IndexSet<Text, FxBuildHasher>,
    pub(crate) versions: Versions,
}

impl Named {
    /// Adds what a record's event names: all that [`Query::matched`](crate::Query::matched) looks at.
    pub fn add(&mut self, event: &Event) {
        parts_of(event, self);
    }
}

impl Parts for Named {
    fn object(&mut self, object: &Arc<Object>) {
        if !self.objects.contains(object) {
            self.objects.insert(object.clone());
        }
    }

    fn version(&mut self, version: &ResourceVersion) {
        match version {
            ResourceVersion::Number(number) => self.versions.add(*number),
            ResourceVersion::Other(text) => {
                self.texts.insert(text.clone());
            }
        }
    }

    fn text(&mut self, _: What, text: &Text) {
        if !self.texts.contains(text) {
            self.texts.insert(text.clone());
        }
    }

    fn note(&mut self, text: &str) {
        self.texts.insert(text.into());
    }
}
