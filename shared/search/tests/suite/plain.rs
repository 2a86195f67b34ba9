//! What of a record matches a query, found the plain way: all texts in lower case, one by one.

use std::sync::Arc;

use watchscope_model::{Event, Object, ResourceVersion};
use watchscope_search::{Matched, What};

/// What of an event matches.
pub(crate) fn matched(query: &str, event: &Event) -> Matched {
    let query = query.to_ascii_lowercase();
    let found = parts_of(event);
    let is_match = |(what, text): &(What, String)| {
        let text = text.to_ascii_lowercase();
        match what {
            What::ResourceVersion | What::Code => text == query,
            What::Uid if query.len() >= 8 => text.starts_with(&query),
            What::Uid => text == query && !is_uuid(&text),
            // Only a match that has the slash between both counts.
            What::Place => {
                let slash = text
                    .split_once('\u{0}')
                    .map(|(namespace, _)| namespace.len());
                let joined = text.replace('\u{0}', "/");
                slash.is_some_and(|slash| {
                    let begins = joined.char_indices().map(|(place, _)| place);
                    let mut begins = begins.filter(|&place| joined[place..].starts_with(&query));
                    begins.any(|place| place <= slash && slash < place + query.len())
                })
            }
            _ => text.contains(&query),
        }
    };
    found
        .iter()
        .filter(|part| is_match(part))
        .map(|(what, _)| *what)
        .collect()
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
}

/// All texts of an event that a search looks at.
pub(crate) fn texts_of(event: &Event) -> Vec<String> {
    let parts = parts_of(event).into_iter();
    parts.map(|(_, text)| text.replace('\u{0}', "/")).collect()
}

fn parts_of(event: &Event) -> Vec<(What, String)> {
    match event {
        Event::Change(change) => {
            let mut parts = named(Some(&change.object), [Some(&change.resource_version), None]);
            parts.extend(
                change
                    .manager
                    .iter()
                    .map(|manager| (What::Manager, manager.to_string())),
            );
            parts
        }
        Event::ListPage(page) => {
            let versions = [Some(&page.resource_version), page.listed.as_ref()];
            named(page.object.as_ref(), versions)
        }
        Event::ListComplete(list) => named(None, [Some(&list.resource_version), None]),
        Event::StreamOpened(opened) => named(None, [opened.resource_version.as_ref(), None]),
        Event::Bookmark(bookmark) => named(None, [Some(&bookmark.resource_version), None]),
        Event::Gap(gap) => named(None, [gap.from.as_ref(), gap.to.as_ref()]),
        Event::Verdict(verdict) => named(
            Some(&verdict.object),
            [verdict.held.as_ref(), verdict.listed.as_ref()],
        ),
        Event::Attribution(attribution) => vec![(What::Code, attribution.code.to_string())],
        Event::Finding(finding) => vec![
            (What::Code, finding.code.to_string()),
            (What::Finding, finding.name.to_string()),
        ],
        Event::Note(note) => {
            let mut parts = named(note.object.as_ref(), [None, None]);
            parts.push((What::Note, note.text.clone()));
            parts
        }
        _ => Vec::new(),
    }
}

fn named(
    object: Option<&Arc<Object>>,
    versions: [Option<&ResourceVersion>; 2],
) -> Vec<(What, String)> {
    let mut parts = Vec::new();
    for version in versions.into_iter().flatten() {
        parts.push((What::ResourceVersion, version.to_string()));
    }
    if let Some(object) = object {
        parts.push((What::Name, object.name.to_string()));
        parts.push((What::Uid, object.uid.to_string()));
        if let Some(namespace) = &object.namespace {
            parts.push((What::Place, format!("{namespace}\u{0}{}", object.name)));
        }
    }
    parts
}
