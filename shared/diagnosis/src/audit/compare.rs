//! Compares the objects that a watch held at a resourceVersion with the objects that were read at it, key by key.

use std::cmp::Ordering;
use std::sync::Arc;

use watchscope_model::read::Seen;
use watchscope_model::vocabulary::Divergence;
use watchscope_model::{Object, ResourceVersion, fnv};

use super::history::Past;

/// Most differences that are kept of one comparison of a watch with a list: the first found. Further differences are
/// dropped, and the outcome is marked as incomplete. The limit bounds the records of one comparison. The number has no
/// source: a watch with more differences is wrong as a whole.
pub const MAX_DIFFERENCES: usize = 100;

/// The difference between the object held and the object read under one namespace and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The object that the watch holds; if it holds none, the object that was read.
    pub(super) object: Arc<Object>,
    pub(super) kind: Divergence,
    pub(super) held: Option<ResourceVersion>,
    pub(super) listed: Option<ResourceVersion>,
}

/// The result of comparing the objects of one namespace and name.
pub(super) enum Compared {
    Equal,
    Differs(Difference),
    /// The versions differ and have no order.
    Unclear,
}

/// Compares the held and the read object of one namespace and name. An object of the same name with another uid counts
/// as another version.
pub(super) fn compare(
    held: Option<(&Arc<Object>, &ResourceVersion)>,
    read: Option<&Seen>,
) -> Compared {
    let differs = |object: &Arc<Object>, kind| {
        Compared::Differs(Difference {
            object: object.clone(),
            kind,
            held: held.map(|(_, version)| version.clone()),
            listed: read.map(|seen| seen.version.clone()),
        })
    };
    match (held, read) {
        (None, None) => Compared::Equal,
        (Some((object, _)), None) => differs(object, Divergence::Ghost),
        (None, Some(seen)) => differs(&seen.object, Divergence::Missing),
        (Some((object, version)), Some(seen)) => match version.compare(&seen.version) {
            _ if *version == seen.version && object.uid == seen.object.uid => Compared::Equal,
            Some(Ordering::Less) => differs(object, Divergence::Stale),
            Some(Ordering::Greater) => differs(object, Divergence::ListOlder),
            Some(Ordering::Equal) | None => Compared::Unclear,
        },
    }
}

/// A comparison with a list, page by page. For each item of the list it keeps 8 bytes.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) at: ResourceVersion,
    /// The continue token of the next page; `None` before the first page.
    pub(super) token: Option<String>,
    /// The differences that the first comparison found, if this is the second; else `None`.
    pub(super) first: Option<Vec<Difference>>,
    pub(super) compared: u64,
    pub(super) unclear: u64,
    /// The number of pages compared so far.
    pages: usize,
    differences: Vec<Difference>,
    /// Whether there were more than [`MAX_DIFFERENCES`] differences.
    is_cut: bool,
    /// Hashes of the listed keys so far. Two keys with the same hash can hide a ghost, but never make one.
    seen: Vec<u64>,
}

/// The outcome of a comparison.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) compared: u64,
    /// The differences in objects that the watch still holds as it did at the compared version.
    pub(super) differences: Vec<Difference>,
    /// Whether `differences` was not cut at [`MAX_DIFFERENCES`].
    pub(super) is_all: bool,
    /// The number of pages of the compared list.
    pub(super) pages: usize,
}

impl Comparison {
    pub(super) fn new(at: ResourceVersion, first: Option<Vec<Difference>>) -> Self {
        Self {
            at,
            token: None,
            first,
            compared: 0,
            unclear: 0,
            pages: 0,
            differences: Vec::new(),
            is_cut: false,
            seen: Vec::new(),
        }
    }

    /// Returns whether no page was compared yet and this is no second comparison, so that the version to compare at may
    /// still change.
    pub(super) fn is_new(&self) -> bool {
        self.pages == 0 && self.first.is_none()
    }

    /// Compares a page of the list with the watch's past state.
    pub(super) fn take(&mut self, items: &[Seen], past: &Past<'_>) {
        self.pages += 1;
        for item in items {
            self.seen.push(hash(&item.object));
            self.compared += 1;
            match compare(past.get(&item.object), Some(item)) {
                Compared::Equal => {}
                Compared::Unclear => self.unclear += 1,
                Compared::Differs(difference) => self.note(difference),
            }
        }
    }

    /// Ends the comparison after its last page, and returns the outcome.
    pub(super) fn finish(mut self, past: &Past<'_>) -> Outcome {
        self.seen.sort_unstable();
        for (object, version) in past.all() {
            if self.seen.binary_search(&hash(object)).is_err() {
                self.compared += 1;
                self.note(Difference {
                    object: object.clone(),
                    kind: Divergence::Ghost,
                    held: Some(version.clone()),
                    listed: None,
                });
            }
        }
        self.differences
            .retain(|difference| past.still_holds(&difference.object));
        self.differences
            .sort_by(|a, b| place(&a.object).cmp(&place(&b.object)));
        Outcome {
            compared: self.compared,
            differences: self.differences,
            is_all: !self.is_cut,
            pages: self.pages,
        }
    }

    /// Returns whether any item of the list differed so far.
    pub(super) fn has_found(&self) -> bool {
        !self.differences.is_empty()
    }

    fn note(&mut self, difference: Difference) {
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(difference);
        } else {
            self.is_cut = true;
        }
    }
}

fn place(object: &Object) -> (Option<&str>, &str) {
    (object.namespace.as_deref(), &object.name)
}

/// Returns the hash of an object's namespace and name, with a zero byte between them, which no name contains.
fn hash(object: &Object) -> u64 {
    let (namespace, name) = place(object);
    let parts = [namespace.unwrap_or("").as_bytes(), &[0], name.as_bytes()];
    parts.into_iter().fold(fnv::EMPTY, fnv::after)
}
