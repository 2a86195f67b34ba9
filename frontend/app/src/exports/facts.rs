//! The facts about a file that the dialog shows before its export.

use serde::Serialize;
use watchscope_export::Counts;
use watchscope_hiding::{HiddenPart, Hider, Known, Parts};

/// The most names that are shown with what replaces them.
const MOST_EXAMPLES: usize = 6;

/// The facts that the dialog shows beside the preview.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    pub(super) title: String,
    pub(super) watches: usize,
    pub(super) records: u64,
    pub(super) changes: u64,
    pub(super) findings: usize,
    pub(super) notes: usize,
    /// The number of texts of each part that can be hidden.
    pub(super) parts: Vec<Part>,
    /// Names, and what replaces them.
    pub(super) examples: Vec<Example>,
    /// The parts that are not hidden, in words; never empty.
    pub(super) not_hidden: Vec<&'static str>,
}

/// A part that can be hidden.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    part: HiddenPart,
    count: usize,
}

/// A name, and what replaces it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Example {
    name: String,
    becomes: String,
}

impl Facts {
    pub(super) fn new(
        title: String,
        counts: Counts,
        known: &Known,
        parts: Parts,
        hider: Option<&Hider>,
    ) -> Self {
        let all = HiddenPart::ALL.into_iter();
        Self {
            title,
            watches: counts.watches,
            records: counts.records,
            changes: counts.changes,
            findings: counts.findings,
            notes: counts.notes,
            parts: all
                .map(|part| Part {
                    part,
                    count: known.count(part),
                })
                .collect(),
            examples: hider.map_or_else(Vec::new, |hider| examples(known, parts, hider)),
            not_hidden: parts.not_hidden(),
        }
    }
}

/// Returns examples of the hidden parts in turn, at most [`MOST_EXAMPLES`].
fn examples(known: &Known, parts: Parts, hider: &Hider) -> Vec<Example> {
    let mut of_parts: Vec<_> = parts.iter().map(|part| known.texts_of(part)).collect();
    let mut examples = Vec::new();
    while examples.len() < MOST_EXAMPLES && !of_parts.is_empty() {
        of_parts.retain_mut(|texts| {
            // Some names stay, such as those of Kubernetes itself.
            let changed = texts
                .map(|name| (name, hider.said(name)))
                .find(|(name, becomes)| name != becomes);
            let is_one = changed.is_some();
            examples.extend(changed.map(|(name, becomes)| Example {
                name: name.to_owned(),
                becomes,
            }));
            is_one
        });
    }
    examples.truncate(MOST_EXAMPLES);
    examples
}
