//! F24: an event that must have happened, and was not delivered.

use watchscope_model::Row;
use watchscope_model::event::Change;
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, Severity};

use super::state::StreamState;
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::registry::FindingRegistry;
use crate::text::name;

/// Rows that leave a ghost, or hide an object, without a sign: the candidates of a finding (F24) about a lost event. On
/// a stream these failures look alike. Each row has a page in docs/findings.
pub(crate) const SILENT_LOSS: &[Row] = &[Row::F25, Row::F26, Row::F27, Row::F45];

/// An event that must have happened, and was not delivered.
#[derive(Clone, Copy)]
pub(super) enum LostEvent {
    Added,
    Modified { step: u64 },
    Deleted,
}

pub(super) fn lost(
    what: LostEvent,
    event: &Change,
    open: &StreamState,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let object = name(&event.object);
    let (watch, change, version) = (&event.watch, event.change, &event.resource_version);
    let (severity, certainty, summary) = match what {
        LostEvent::Added => (
            Severity::Error,
            Certainty::Likely,
            format!(
                "{change} of {object} was delivered to {watch} at {version}, but its ADDED never was: an event was \
                 lost on the way."
            ),
        ),
        LostEvent::Deleted => (
            Severity::Error,
            Certainty::Likely,
            format!(
                "{object} was delivered to {watch} as a new object at {version}, but the DELETED of the old one \
                 never was: an event was lost on the way."
            ),
        ),
        LostEvent::Modified { step } => (
            Severity::Warning,
            Certainty::Suspected,
            format!(
                "The generation of {object} rose by {step} from one event of {watch} to the next: events between them \
                 may have been lost."
            ),
        ),
    };
    registry.raise(
        FindingDraft {
            severity,
            ..FindingDraft::of(
                Row::F24,
                certainty,
                Subject::Watch(watch.clone()),
                vec![record.seq, open.opened],
                record.at,
                summary,
            )
            .alike(SILENT_LOSS)
        },
        record.at,
    );
}
