//! Hits in the opening snapshot of a chapter: objects and findings that match a query. The callers look into the first
//! kept chapter, and into the first chapter behind a hole.

use std::sync::Arc;

use watchscope_model::chapter::Opening;
use watchscope_model::{Object, Text, WatchName};

use crate::hit::{Hit, Matched, What};
use crate::query::Query;

/// The most hits of one snapshot, so that an answer stays small. [`HeldHits::more`] counts further hits. The number has
/// no source.
pub const MAX_HELD: usize = 100;

/// The hits of a snapshot; empty if nothing in the snapshot matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldHits {
    /// The first hits, at most [`MAX_HELD`]: by the name of the watch, then by the object's namespace and name. Open
    /// findings come last, by code and subject as texts. An object that several watches hold is listed once for each of
    /// these watches.
    pub hits: Vec<Hit>,
    /// The number of further hits, which are left out; usually 0.
    pub more: u64,
}

/// Returns the hits of a chapter's opening snapshot: objects that watches hold, and open findings. A quiet object may
/// have no kept record, so that only opening snapshots name it. An object matches by name, by `namespace/name`, by uid
/// or by resourceVersion; a finding matches by code or name.
#[must_use]
pub fn held(query: &Query, opening: &Opening) -> HeldHits {
    let mut found = HeldHits::default();
    let state = &opening.state;
    for (name, watch) in &state.watches {
        let mut objects: Vec<_> = watch.objects.iter().collect();
        objects.sort_unstable_by(|a, b| a.object.cmp(&b.object));
        for held in objects {
            let mut matched = query.matched_object(&held.object);
            let is_version = query.is_version(&held.resource_version);
            matched.add_if(is_version, What::ResourceVersion);
            found.add(opening, matched, (Some(name), Some(&held.object), None));
        }
    }
    for finding in state.findings.values().map(|open| &open.finding) {
        let mut matched = Matched::default();
        matched.add_if(query.matches_text(What::Code, &finding.code), What::Code);
        matched.add_if(
            query.matches_text(What::Finding, &finding.name),
            What::Finding,
        );
        found.add(
            opening,
            matched,
            (finding.watch.as_ref(), None, Some(&finding.code)),
        );
    }
    found
}

type Lane<'a> = (
    Option<&'a WatchName>,
    Option<&'a Arc<Object>>,
    Option<&'a Text>,
);

impl HeldHits {
    fn add(&mut self, opening: &Opening, matched: Matched, (watch, object, code): Lane<'_>) {
        if matched.is_empty() {
            return;
        }
        if self.hits.len() == MAX_HELD {
            self.more += 1;
            return;
        }
        self.hits.push(Hit {
            log: opening.log.clone(),
            epoch: opening.epoch.clone(),
            seq: opening.state.seq,
            at: opening.state.at,
            watch: watch.cloned(),
            object: object.cloned(),
            code: code.cloned(),
            matched,
            is_held: true,
        });
    }
}
