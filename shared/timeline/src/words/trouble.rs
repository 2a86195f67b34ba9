//! Trouble in words, for the stepper and for the edges of the view.

use watchscope_model::vocabulary::Severity;

use crate::findings::named;
use crate::format::{clock, count, number};
use crate::store::Store;
use crate::troubles::{OffSide, Trouble, TroubleOf, TroublePlace, Troubles};

/// A trouble in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TroubleWords {
    /// The kind of trouble: `F11` for a finding; `gap lost`, `refused` or `waiting` for trouble without a finding. For
    /// trouble of a chapter that is not loaded: its kind, such as `lost gap`.
    pub code: String,
    /// The name of the finding's row in the catalogue of failures; empty for other trouble.
    pub name: String,
    /// The severity of the trouble.
    pub severity: Severity,
    /// The watch of the trouble: `shop/pods`, or `shop/pods and 3 more`. For trouble without a watch: what else the
    /// finding concerns, `the cluster` if the finding names nothing, or `not loaded yet`. Hostile: show as text.
    pub subject: String,
    /// When the trouble began, as UTC time of day: `09:33:51`; `09:33:51, open` while it lasts.
    pub at: String,
    /// How many occurrences the trouble's record stands for, if not 1: `×3`; empty for 1.
    pub times: String,
}

/// Returns the words of the trouble at an index of [`Troubles::all`]; `None` if there is no such index. `store` is the
/// store that the trouble was read from; with another store the call may panic.
#[must_use]
pub fn trouble_words(store: &Store, troubles: &Troubles, place: usize) -> Option<TroubleWords> {
    let trouble = troubles.all().get(place)?;
    let (code, name) = match &trouble.of {
        TroubleOf::Finding { code, name } => (code.to_string(), name.to_string()),
        TroubleOf::LostGap => ("gap lost".to_owned(), String::new()),
        TroubleOf::Refused => ("refused".to_owned(), String::new()),
        TroubleOf::Waiting => ("waiting".to_owned(), String::new()),
        TroubleOf::Listed(kind) => (kind.to_string(), String::new()),
    };
    let subject = match troubles.watch_of(store, place) {
        Some((watch, 0)) => watch.to_string(),
        Some((watch, more)) => format!("{watch} and {more} more"),
        None => other_subject(store, trouble),
    };
    let open = if trouble.is_open() { ", open" } else { "" };
    Some(TroubleWords {
        code,
        name,
        severity: trouble.severity,
        subject,
        at: format!("{}{open}", clock(trouble.began)),
        times: match trouble.stands_for {
            1 => String::new(),
            several => format!("×{}", number(several)),
        },
    })
}

/// Returns the subject of trouble without a watch.
fn other_subject(store: &Store, trouble: &Trouble) -> String {
    let TroublePlace::Finding(raised) = trouble.place else {
        return "not loaded yet".to_owned();
    };
    let trace = store.epoch(raised.epoch).map(|epoch| &epoch.trace);
    let subject = trace.and_then(|trace| {
        let since = trace.occurrences.get(raised.seq)?.what.since;
        trace.findings.get(since)?.what.subject.as_ref()
    });
    named(subject)
}

/// Returns `Problem 2 of 9` for an index of [`Troubles::all`]. The first number is [`Troubles::number`], which is 0 for
/// an index without an entry. The words are `Last of 9` if that number is the total, but `The only problem` if the
/// total is 1. An entry that counts several troubles has the number of the first of these, so such an entry is never
/// the last. The total is `about 40` if it is not exact ([`Troubles::is_exact`]). If `place` is `None`, the words are
/// `9 problems`, or `0 problems` for an empty list.
#[must_use]
pub fn trouble_count(troubles: &Troubles, place: Option<usize>) -> String {
    let about = if troubles.is_exact() { "" } else { "about " };
    let total = troubles.total();
    match place.map(|place| troubles.number(place)) {
        None => format!("{about}{}", count(total, "problem")),
        Some(1) if total == 1 => "The only problem".to_owned(),
        Some(nth) if nth == total => format!("Last of {about}{}", number(total)),
        Some(nth) => format!("Problem {} of {about}{}", number(nth), number(total)),
    }
}

/// Returns `2 problems above`, with `direction` as the last word; empty if the side has no trouble.
#[must_use]
pub fn off_side_words(side: &OffSide, direction: &str) -> String {
    match side.count {
        0 => String::new(),
        several => format!("{} {direction}", count(several, "problem")),
    }
}
