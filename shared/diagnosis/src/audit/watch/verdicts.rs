//! Verdicts: raised, confirmed, cleared.

use watchscope_model::Object;
use watchscope_model::event::{Change, Verdict};
use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::{Certainty, Standing};

use super::context::StepContext;
use crate::audit::compare::Difference;

/// Returns a verdict as cleared.
pub(super) fn cleared(verdict: &Verdict) -> Verdict {
    Verdict {
        state: Standing::Cleared,
        ..verdict.clone()
    }
}

/// Returns the verdict that a change clears: the object that was compared is no longer held.
pub(crate) fn overtaken(watch: &Watch, change: &Change) -> Option<Verdict> {
    let standing = &watch.verdict_on(&change.object)?.verdict;
    let is_replay = watch
        .held(&change.object)
        .is_some_and(|held| held.resource_version.is_after(&change.resource_version));
    (!is_replay).then(|| cleared(standing))
}

/// What became of a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// It was found for the first time.
    Raised,
    /// It was found a second time.
    Confirmed,
    /// Its verdict is confirmed already.
    Known,
}

/// Returns the verdict that states exactly this difference, if it stands.
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

/// Clears the verdict on an object, if one stands.
pub(super) fn clear(object: &Object, step: &mut StepContext<'_>) {
    if let Some(open) = step.watch.verdict_on(object) {
        step.out.push(cleared(&open.verdict).into());
    }
}
