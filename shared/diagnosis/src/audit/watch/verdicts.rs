//! Raises, confirms and clears verdicts.

use watchscope_model::Object;
use watchscope_model::event::{Change, Verdict};
use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::{Certainty, Standing};

use super::context::StepContext;
use crate::audit::compare::Difference;

/// Returns the same verdict with the state `cleared`.
pub(super) fn cleared(verdict: &Verdict) -> Verdict {
    Verdict {
        state: Standing::Cleared,
        ..verdict.clone()
    }
}

/// Returns the open verdict that a change clears, because the watch no longer holds the compared state of the object.
/// `None` if the change clears none.
pub(crate) fn overtaken(watch: &Watch, change: &Change) -> Option<Verdict> {
    let standing = &watch.verdict_on(&change.object)?.verdict;
    let is_replay = watch
        .held(&change.object)
        .is_some_and(|held| held.resource_version.is_after(&change.resource_version));
    (!is_replay).then(|| cleared(standing))
}

/// The effect of a difference on its verdict.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// The verdict was raised: the difference was found for the first time.
    Raised,
    /// The verdict was confirmed: the difference was found a second time.
    Confirmed,
    /// The verdict was confirmed by earlier reads.
    Known,
}

/// Returns the open verdict of exactly this difference; `None` if there is none.
pub(super) fn standing<'a>(found: &Difference, watch: &'a Watch) -> Option<&'a Verdict> {
    let open = watch.verdict_on(&found.object).map(|open| &open.verdict);
    open.filter(|standing| {
        standing.kind == found.kind
            && standing.held == found.held
            && standing.listed == found.listed
            && standing.object == found.object
    })
}

pub(super) fn is_confirmed(found: &Difference, watch: &Watch) -> bool {
    standing(found, watch).is_some_and(|standing| standing.state == Standing::Confirmed)
}

/// Raises or confirms the verdict on a difference.
pub(super) fn judge(found: &Difference, is_second: bool, step: &mut StepContext<'_>) -> Judged {
    if is_confirmed(found, step.watch) {
        return Judged::Known;
    }
    if standing(found, step.watch).is_some() && !is_second {
        return Judged::Raised;
    }
    let (state, certainty) = if is_second {
        (Standing::Confirmed, Certainty::Definite)
    } else {
        (Standing::Raised, Certainty::Likely)
    };
    step.out.push(
        Verdict {
            watch: step.name.clone(),
            object: found.object.clone(),
            kind: found.kind,
            held: found.held.clone(),
            listed: found.listed.clone(),
            state,
            certainty,
        }
        .into(),
    );
    if is_second {
        Judged::Confirmed
    } else {
        Judged::Raised
    }
}

/// Clears the open verdict on an object, if there is one.
pub(super) fn clear(object: &Object, step: &mut StepContext<'_>) {
    if let Some(open) = step.watch.verdict_on(object) {
        step.out.push(cleared(&open.verdict).into());
    }
}
