//! The steps of a "why" in words: one plain sentence each.

use super::record::describe_record;
use crate::evidence::{Evidence, Item};
use crate::format::{clock_ms, count, number};
use crate::id::RecordId;
use crate::store::Store;
use crate::why::{Step, What, Why, why};

/// Returns the "why" of a record in words, as [`Evidence`] whose items are the steps; `None` if [`why`] returns `None`.
/// For a record that raised no finding, code, name and summary are empty.
#[must_use]
pub fn why_words(store: &Store, of: RecordId) -> Option<Evidence> {
    let found = why(store, of)?;
    let Why {
        at,
        severity,
        ref steps,
        ..
    } = found;
    let items = steps.iter().map(|step| Item {
        record: step.record,
        place: Some((step.lane, step.at)),
        words: words(store, step),
        way: Some(step.way),
    });
    let items = items.collect();
    Some(match Evidence::of(store, of) {
        Some(finding) => Evidence { items, ..finding },
        None => Evidence {
            finding: of,
            at,
            code: "".into(),
            name: "".into(),
            summary: String::new(),
            severity,
            items,
        },
    })
}

/// Returns the time of a step, its lane and its sentence.
fn words(store: &Store, step: &Step) -> [String; 3] {
    let described = describe_record(store, step.lane, step.record);
    let own = described.what;
    let until = step.until.map_or_else(String::new, clock_ms);
    let from = clock_ms(step.at);
    let what = match step.what {
        What::Written | What::Record => own,
        What::Cached => "The watch cache has the change.".to_owned(),
        What::StoppedAt(end) => format!("The change {}.", end.words()[0]),
        What::LastLearned => format!("The last that this watch received of it: {own}"),
        What::ReceivedElsewhere => format!("Another watch received it: {own}"),
        What::NotOpen => {
            format!("No stream of this watch was open until {until}. The change stops here.")
        }
        What::NotKnown(None) => format!("not known: {from} to {until}"),
        What::NotKnown(Some(lost)) => {
            format!(
                "not known: {from} to {until}; {} lost",
                count(lost, "event")
            )
        }
        What::Resumed => "The watch resumed from where it was. No event is lost.".to_owned(),
        What::VersionBefore => format!("The version before: {own}"),
        What::WentBack(from) => {
            format!(
                "etcd was restored: it went back from revision {}. {own}",
                number(from)
            )
        }
    };
    [from, described.lane, what]
}
