//! Judges the audit's records, row by row.

use watchscope_model::event::Audit;
use watchscope_model::fold::Moment;
use watchscope_model::tree::{self};
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome, Certainty};
use watchscope_model::{Row, State};

use super::behind::{behind_reads, beyond_servers};
use super::restored::number;
use super::state::Audits;
use crate::attribution::StreamFacts;
use crate::awake::Awake;
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::registry::FindingRegistry;
use crate::findings::streams::SILENT_LOSS;

impl Audits {
    /// Handles a read that the audit published.
    pub(crate) fn audited(
        &mut self,
        event: &Audit,
        before: &State,
        record: Moment,
        (awake, facts): (&Awake, &StreamFacts),
        registry: &mut FindingRegistry,
    ) {
        let Some(watch) = before.watches.get(&event.watch) else {
            return;
        };
        if event.outcome() == AuditOutcome::Differs {
            let grounds = self.grounds.entry(event.watch.clone()).or_default();
            grounds.read = Some(record.seq);
        }
        let (Some(read), Some(progress)) = (&event.resource_version, &watch.progress) else {
            return;
        };
        let back = progress.number().unwrap_or(0).saturating_sub(number(read));
        match event.method() {
            AuditMethod::ListNewestTwice => {
                self.went_back((&event.watch, read), record.seq, before, record, registry);
            }
            AuditMethod::ListOneTwice if event.outcome() == AuditOutcome::Differs => {
                self.note_never_existed(event, (before, watch), awake, record, registry);
            }
            AuditMethod::SecondWatch if event.outcome() == AuditOutcome::Differs => {
                let mut evidence = vec![record.seq];
                evidence.extend(watch.stream.as_ref().map(|stream| stream.since.seq));
                tree::sort(&mut evidence);
                let unread = &registry.unread;
                let (certainty, why) = unread.unless_why(&event.watch, Certainty::Definite);
                let details = event.reason.as_deref().unwrap_or("");
                let summary = format!("About {}: {details}.{why}", event.watch);
                let subject = Subject::Watch(event.watch.clone());
                let found =
                    FindingDraft::of(Row::F24, certainty, subject, evidence, record.at, summary);
                registry.raise(found.alike(SILENT_LOSS).proven(), record.at);
            }
            AuditMethod::ListAnyTwice => {
                let mut evidence = vec![record.seq];
                evidence.extend(watch.stream.as_ref().map(|stream| stream.since.seq));
                tree::sort(&mut evidence);
                let summary = format!(
                    "The watch was opened at {progress}, but its server knows nothing beyond {read}, {back} below \
                     that. It sends nothing until it gets there, though lists have changed."
                );
                let subject = Subject::Watch(event.watch.clone());
                let since = watch
                    .stream
                    .as_ref()
                    .map_or(record.at, |stream| awake.of(stream.since.at));
                let found = FindingDraft::of(
                    Row::F32,
                    Certainty::Likely,
                    subject,
                    evidence,
                    since,
                    summary,
                );
                let silent = self.silent.entry(event.watch.clone()).or_default();
                silent.insert(Row::F32);
                let found = found.alike(&[Row::F31]).sharing(Some(beyond_servers()));
                registry.raise(found.until_cleared(), record.at);
            }
            AuditMethod::ListExactTooLarge => self.too_large(event, watch, awake, record, registry),
            // A longer silence shows a stream that an edit left behind.
            AuditMethod::AheadTwice if facts.silent_since_edit(&event.watch, before).is_none() => {
                let shared = behind_reads(&event.watch, before);
                self.lags(event, (watch, progress, shared), record, registry);
            }
            // The watch does not reach the version of a list that differed.
            AuditMethod::List
                if event.outcome() == AuditOutcome::CannotTell
                    && number(read) > number(progress) =>
            {
                let edit = facts.silent_since_edit(&event.watch, before);
                let shared = behind_reads(&event.watch, before);
                self.stands_still(event, (progress, shared), edit, record, registry);
            }
            _ => {}
        }
    }
}
