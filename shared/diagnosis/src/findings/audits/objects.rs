//! Objects that are confirmed to be wrong (F24 to F27, F45).

use watchscope_model::event::Verdict;
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, Divergence, Standing};
use watchscope_model::{Object, ResourceVersion, Row, State};

use super::state::Audits;
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::registry::FindingRegistry;
use crate::findings::streams::{Start, Streams};
use crate::text::{count, name};

/// Rows that leave a ghost: the candidates of a finding (F24) about an object that a watch holds and that is not in
/// etcd. Each row has a page in docs/findings.
const GHOST: &[Row] = &[Row::F25, Row::F26, Row::F27, Row::F33, Row::F45];
/// Rows that hide an object, or a change of it: the candidates of a finding (F24) about a missing or stale object. Each
/// row has a page in docs/findings.
const HIDDEN: &[Row] = &[Row::F25, Row::F33, Row::F45];
/// Rows that look like a race at a stream's start: the candidates of a finding about such a race (F45). Each row has a
/// page in docs/findings.
const LIKE_A_RACE: &[Row] = &[Row::F24, Row::F25, Row::F33];

impl Audits {
    /// Handles a verdict that the audit raised, confirmed or cleared.
    pub(crate) fn judged(
        &mut self,
        event: &Verdict,
        before: &State,
        streams: &Streams,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let place = (event.object.namespace.clone(), event.object.name.clone());
        let subject = Subject::Watch(event.watch.clone());
        let wrong = self.wrong.entry(event.watch.clone()).or_default();
        let grounds = self.grounds.entry(event.watch.clone()).or_default();
        match event.state {
            Standing::Raised => {
                let read = grounds.read.unwrap_or(record.seq);
                grounds.first_reads.insert(place, read);
            }
            Standing::Cleared => {
                grounds.first_reads.remove(&place);
                let was_wrong = wrong.remove(&place);
                if was_wrong && wrong.is_empty() {
                    for row in [Row::F24, Row::F45] {
                        let why = "The watch agrees with etcd again.";
                        registry.clear(row, subject.clone(), record.seq, why);
                    }
                } else if was_wrong {
                    let (before, now) = (are_wrong(wrong.len() + 1), are_wrong(wrong.len()));
                    for row in [Row::F24, Row::F45] {
                        registry.amend(row, subject.clone(), |found| {
                            found.summary = found.summary.replace(&before, &now);
                        });
                    }
                }
            }
            Standing::Confirmed => {
                let alike = match event.kind {
                    Divergence::Ghost => GHOST,
                    Divergence::Missing | Divergence::Stale => HIDDEN,
                    // The list is behind, or from another etcd. The watch is not wrong.
                    _ => return,
                };
                wrong.insert(place);
                let watch = before.watches.get(&event.watch);
                let (certainty, why) = registry.unread.unless_why(&event.watch, Certainty::Likely);
                let mut summary = sentence(event, wrong.len());
                // The missed event has the version of the read. The version of a ghost's event is unknown.
                let missed = event.listed.as_ref().and_then(ResourceVersion::number);
                let start = missed.and_then(|missed| streams.start_around(&event.watch, missed));
                let (row, alike) = match start {
                    Some(Start { from, until }) => {
                        summary += &format!(
                            " Its event should have been the first of the stream from {from}, which delivered \
                             nothing below {until}."
                        );
                        (Row::F45, LIKE_A_RACE)
                    }
                    None => (Row::F24, alike),
                };
                let summary = summary + why;
                let mut evidence = grounds.evidence(event, watch);
                if evidence.is_empty() {
                    evidence.push(record.seq);
                }
                let found = FindingDraft::of(row, certainty, subject, evidence, record.at, summary);
                registry.raise(found.alike(alike).proven().until_cleared(), record.at);
            }
            _ => {}
        }
    }
}

pub(super) fn sentence(event: &Verdict, wrong: usize) -> String {
    let name = name(&event.object as &Object);
    let version = |version: &Option<ResourceVersion>| {
        version
            .as_ref()
            .map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    let (held, listed) = (version(&event.held), version(&event.listed));
    let what = match event.kind {
        Divergence::Ghost => format!("{name} is held at {held} and is not in etcd"),
        Divergence::Missing => format!("{name} is in etcd at {listed} and is not held"),
        _ => format!("{name} is held at {held}, and etcd has it at {listed}"),
    };
    let wrong = are_wrong(wrong);
    format!("Two reads at one resourceVersion agree: {what}. The stream never reported it. {wrong}")
}

fn are_wrong(objects: usize) -> String {
    let are = if objects == 1 { "is" } else { "are" };
    format!(
        "{} of this watch {are} wrong.",
        count(objects as u64, "object")
    )
}
