//! The filter of lanes, as the viewer typed it.

use watchscope_model::{Object, WatchName};

/// Words that a lane must or must not have: `cart -lease kind≠events`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Filter {
    /// The filter's text, as the viewer typed it.
    pub(super) text: String,
    pub(super) terms: Vec<(Term, bool)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    Word(String),
    Kind(String),
}

impl Filter {
    pub(super) fn parse(text: &str) -> Self {
        let term = |word: &str| -> Option<(Term, bool)> {
            for (separator, wanted) in [("!=", false), ("≠", false), ("=", true), (":", true)] {
                if let Some((key, value)) = word.split_once(separator)
                    && matches!(key, "kind" | "resource")
                {
                    return Some((Term::Kind(value.to_ascii_lowercase()), wanted));
                }
            }
            let (word, wanted) = match word.strip_prefix(['-', '!']) {
                Some(rest) => (rest, false),
                None => (word, true),
            };
            (!word.is_empty()).then(|| (Term::Word(word.to_ascii_lowercase()), wanted))
        };
        Self {
            text: text.trim().to_string(),
            terms: text.split_whitespace().filter_map(term).collect(),
        }
    }

    /// Whether the filter has a word that a lane must have.
    pub(super) fn has_word(&self) -> bool {
        let mut terms = self.terms.iter();
        terms.any(|(term, wanted)| *wanted && matches!(term, Term::Word(_)))
    }

    /// Whether the filter allows any row of a watch, by the watch's kind and by the words that its name must not have.
    pub(super) fn allows_watch(&self, watch: &WatchName) -> bool {
        self.terms.iter().all(|(term, wanted)| match term {
            Term::Kind(kind) => is_kind(watch.resource(), kind) == *wanted,
            Term::Word(word) => *wanted || !has_word(watch.as_str(), word),
        })
    }

    /// Whether the filter allows the lane of a watch, or of its object if `object` is given. The watch itself must be
    /// allowed.
    pub(super) fn allows(&self, watch: &WatchName, object: Option<&Object>) -> bool {
        self.terms.iter().all(|(term, wanted)| match term {
            Term::Kind(_) => true,
            Term::Word(word) => {
                let in_object = object.is_some_and(|object| {
                    has_word(&object.name, word)
                        || object
                            .namespace
                            .as_deref()
                            .is_some_and(|namespace| namespace.eq_ignore_ascii_case(word))
                });
                (in_object || has_word(watch.as_str(), word)) == *wanted
            }
        })
    }
}

/// Whether a name contains a word, regardless of ASCII case. The function compares byte by byte, because names are
/// short. The standard library's search would take one fiftieth of the code that the page needs for its first paint.
fn has_word(name: &str, word: &str) -> bool {
    let (name, word) = (name.as_bytes(), word.as_bytes());
    let mut places = 0..=name.len().saturating_sub(word.len());
    places.any(|place| {
        name.get(place..place + word.len())
            .is_some_and(|part| part.eq_ignore_ascii_case(word))
    })
}

/// Whether a resource is of a kind, written as people write it: plural, singular, with or without group.
pub(super) fn is_kind(resource: &str, kind: &str) -> bool {
    let plural = resource.split(['.', '?', '#']).next().unwrap_or(resource);
    resource == kind
        || plural == kind
        || plural.strip_suffix('s') == Some(kind)
        || plural.strip_suffix("es") == Some(kind)
        || plural
            .strip_suffix("ies")
            .is_some_and(|stem| kind.strip_suffix('y') == Some(stem))
}
