//! The bodies of a chapter that match a query, from memory and from files.

use std::sync::Arc;

use watchscope_model::Seq;
use watchscope_search::{Query, Searched};

use super::source::{Found, time_in_memory};
use crate::log::LogHandle;
use crate::recordings::Past;

/// The bodies of a chapter.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    /// The records whose bodies match, sorted.
    pub(super) seqs: Vec<Seq>,
    pub(super) inflated_bytes: u64,
    pub(super) searched: Searched,
}

/// Looks at the bodies of a chapter. `is_live` is false for recordings, whose bodies are in files alone.
pub(super) fn matching(
    log: &LogHandle,
    files: Option<&Arc<dyn Past>>,
    query: &Query,
    found: &Found,
    is_live: bool,
) -> Result<Bodies, String> {
    let mut bodies = Bodies::default();
    if is_live && found.epoch == *log.epoch() {
        let held = log.bodies(found.first, found.last);
        let wanted = held.iter().filter(|body| query.is_in(&body.bytes));
        bodies.seqs.extend(wanted.map(|body| body.seq));
        let dropped_to = log.bodies_dropped_to();
        if dropped_to < found.first {
            return Ok(bodies);
        }
        let since = (dropped_to < found.last).then(|| time_in_memory(log, dropped_to.next()));
        bodies.searched = since.flatten().map_or(Searched::Part, Searched::Since);
    } else {
        bodies.searched = Searched::Part;
    }
    let Some(files) = files else {
        return Ok(bodies);
    };
    let is_wanted = |body: &[u8]| query.is_in(body);
    let last = Seq(found.before.0.saturating_sub(1)).min(found.last);
    if let Some(kept) = files.bodies_matching(&found.epoch, last, &is_wanted)? {
        bodies.inflated_bytes = kept.inflated_bytes;
        bodies.seqs.extend(kept.seqs);
        bodies.seqs.sort_unstable();
        if kept.are_kept {
            bodies.searched = Searched::All;
        }
    }
    Ok(bodies)
}
