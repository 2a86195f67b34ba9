//! Checks that an event continues the life of the held object: lost events (F24), and objects that come back to a
//! selector (F43).

use watchscope_model::Row;
use watchscope_model::event::Change;
use watchscope_model::fold::{Held, Moment, Watch};
use watchscope_model::vocabulary::{Certainty, ChangeType};

use super::lost::{LostEvent, lost};
use super::state::{GONE, Memory, StreamState, remember};
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::questions::has_selector;
use crate::findings::registry::FindingRegistry;
use crate::text::name;

/// API groups whose resources raise an object's generation by one with each write of its spec. Only in these groups
/// does a greater step raise a suspicion of lost events (F24), because types of other groups need not count each write
/// (docs/semantics/checks.md#generation). The choice of the two groups has no other source.
const COUNTING_GROUPS: [&str; 2] = ["apps", "batch"];

/// Checks that an event continues the life of the object that is held (docs/semantics/checks.md#life and
/// docs/semantics/checks.md#generation).
pub(super) fn check_life(
    event: &Change,
    held: Option<&Held>,
    watch: &Watch,
    open: &StreamState,
    memory: &mut Memory,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let has_selector = has_selector(watch);
    let uid = &event.object.uid;
    if uid.is_empty() {
        return;
    }
    match (event.change, held) {
        (ChangeType::Added, Some(held)) if held.object.uid == *uid => {
            lost(LostEvent::Deleted, event, open, record, registry);
        }
        (ChangeType::Modified, None) => lost(LostEvent::Added, event, open, record, registry),
        (ChangeType::Modified, Some(held)) => {
            let step = match (held.generation, event.generation) {
                (Some(from), Some(to)) => to.saturating_sub(from),
                _ => 0,
            };
            if step > 1 && COUNTING_GROUPS.contains(&&*watch.group) {
                lost(LostEvent::Modified { step }, event, open, record, registry);
            }
        }
        (ChangeType::Deleted, _) if has_selector => {
            remember(&mut memory.left, uid.clone(), GONE);
        }
        (ChangeType::Added, None) if has_selector && memory.left.contains(uid) => {
            memory.left.retain(|gone| gone != uid);
            let summary = format!(
                "{} came back to {} with the same uid at {}: its DELETED only meant that it left the selector.",
                name(&event.object),
                event.watch,
                event.resource_version
            );
            let found = FindingDraft::of(
                Row::F43,
                Certainty::Definite,
                Subject::Watch(event.watch.clone()),
                vec![record.seq],
                record.at,
                summary,
            );
            registry.raise(found, record.at);
        }
        _ => {}
    }
}
