//! What of one record matches a query.

use std::sync::Arc;

use watchscope_model::event::Change;
use watchscope_model::{Event, Object, ResourceVersion, Text};

use crate::hit::{Matched, What};
use crate::query::Query;

/// A receiver of the parts of a record that a search looks at.
pub(crate) trait Parts {
    /// Receives an object that the record names.
    fn object(&mut self, object: &Arc<Object>);
    /// Receives a resourceVersion that the record names.
    fn version(&mut self, version: &ResourceVersion);
    /// Receives a text that many records may repeat, such as a code or a manager.
    fn text(&mut self, what: What, text: &Text);
    /// Receives the text of a note.
    fn note(&mut self, text: &str);
}

/// Passes the parts of an event that a search looks at. Only this function says which parts those are.
pub(crate) fn parts_of(event: &Event, parts: &mut impl Parts) {
    match event {
        Event::Change(change) => {
            parts.object(&change.object);
            parts.version(&change.resource_version);
            if let Some(manager) = &change.manager {
                parts.text(What::Manager, manager);
            }
        }
        Event::ListPage(page) => {
            parts.version(&page.resource_version);
            optional(page.object.as_ref(), [page.listed.as_ref(), None], parts);
        }
        Event::ListComplete(list) => parts.version(&list.resource_version),
        Event::StreamOpened(opened) => {
            optional(None, [opened.resource_version.as_ref(), None], parts);
        }
        Event::Bookmark(bookmark) => parts.version(&bookmark.resource_version),
        Event::Gap(gap) => optional(None, [gap.from.as_ref(), gap.to.as_ref()], parts),
        Event::Audit(audit) => {
            let version = audit.resource_version.as_ref();
            optional(audit.object.as_ref(), [version, None], parts);
        }
        Event::Verdict(verdict) => {
            let versions = [verdict.held.as_ref(), verdict.listed.as_ref()];
            optional(Some(&verdict.object), versions, parts);
        }
        Event::Attribution(attribution) => parts.text(What::Code, &attribution.code),
        Event::Finding(finding) => {
            parts.text(What::Code, &finding.code);
            parts.text(What::Finding, &finding.name);
        }
        Event::Note(note) => {
            parts.note(&note.text);
            optional(note.object.as_ref(), [None, None], parts);
        }
        _ => {}
    }
}

fn optional(
    object: Option<&Arc<Object>>,
    versions: [Option<&ResourceVersion>; 2],
    parts: &mut impl Parts,
) {
    if let Some(object) = object {
        parts.object(object);
    }
    for version in versions.into_iter().flatten() {
        parts.version(version);
    }
}

impl Query {
    /// Returns what of an event matches; empty if nothing does. The function does not look at the body.
    #[must_use]
    pub fn matched(&self, event: &Event) -> Matched {
        let mut matching = Matching {
            query: self,
            matched: Matched::default(),
        };
        parts_of(event, &mut matching);
        matching.matched
    }

    /// Returns what of an object matches.
    pub(crate) fn matched_object(&self, object: &Object) -> Matched {
        let mut matched = Matched::default();
        matched.add_if(self.is_in(object.name.as_bytes()), What::Name);
        matched.add_if(self.is_across(object), What::Place);
        matched.add_if(self.is_uid(&object.uid), What::Uid);
        matched
    }

    /// Whether a text matches, if it is one of kind `what`.
    pub(crate) fn matches_text(&self, what: What, text: &str) -> bool {
        match what {
            What::Code => self.is(text),
            _ => self.is_in(text.as_bytes()),
        }
    }
}

struct Matching<'a> {
    query: &'a Query,
    matched: Matched,
}

impl Parts for Matching<'_> {
    fn object(&mut self, object: &Arc<Object>) {
        self.matched.join(self.query.matched_object(object));
    }

    fn version(&mut self, version: &ResourceVersion) {
        let is_match = self.query.is_version(version);
        self.matched.add_if(is_match, What::ResourceVersion);
    }

    fn text(&mut self, what: What, text: &Text) {
        let is_match = self.query.matches_text(what, text);
        self.matched.add_if(is_match, what);
    }

    fn note(&mut self, text: &str) {
        self.matched
            .add_if(self.query.is_in(text.as_bytes()), What::Note);
    }
}

/// Returns the object of a change, verdict, page of a list, audit or note, and the code of a finding or an attribution.
/// Each is `None` for other events. The object is also `None` if a page, audit or note names no single object.
pub fn lane_of(event: &Event) -> (Option<Arc<Object>>, Option<Text>) {
    match event {
        Event::Change(Change { object, .. }) => (Some(object.clone()), None),
        Event::Verdict(verdict) => (Some(verdict.object.clone()), None),
        Event::ListPage(page) => (page.object.clone(), None),
        Event::Audit(audit) => (audit.object.clone(), None),
        Event::Note(note) => (note.object.clone(), None),
        Event::Finding(finding) => (None, Some(finding.code.clone())),
        Event::Attribution(attribution) => (None, Some(attribution.code.clone())),
        _ => (None, None),
    }
}
