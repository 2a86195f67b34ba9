//! What the audit's reads show: objects that are wrong (F24 to F27, F45), events that only a second watch told (C9), a
//! revision that went back (F33), a watch from the future (F32).
//!
//! Which of the causes it was cannot be seen from outside: the event is not there.

use watchscope_model::event::{Audit, Verdict};
use watchscope_model::fold::Moment;
use watchscope_model::tree::{self, BTreeMap, BTreeSet};
use watchscope_model::vocabulary::{Certainty, Divergence, Standing};
use watchscope_model::{Object, ResourceVersion, State, Text, WatchName};

use super::book::{Book, Found, Subject};
use super::streams::SILENT_LOSS;
use super::words::{self, count, name};
use crate::audit::{FROM_THE_FUTURE, WENT_BACK, WITNESS};
use crate::awake::Awake;

/// Rows that leave an object which is gone.
const GHOST: &[&str] = &["F25", "F26", "F27", "F33", "F45"];
/// Rows that hide an object, or a change of it.
const HIDDEN: &[&str] = &["F25", "F33", "F45"];

/// Objects that are confirmed to be wrong, by watch; at most as many as verdicts stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Audits {
    wrong: BTreeMap<WatchName, BTreeSet<(Option<Text>, Text)>>,
}

impl Audits {
    pub(super) fn judged(
        &mut self,
        event: &Verdict,
        before: &State,
        record: Moment,
        book: &mut Book,
    ) {
        let place = (event.object.namespace.clone(), event.object.name.clone());
        let subject = Subject::Watch(event.watch.clone());
        let wrong = self.wrong.entry(event.watch.clone()).or_default();
        match event.state {
            Standing::Cleared => {
                let was_wrong = wrong.remove(&place);
                if was_wrong && wrong.is_empty() {
                    book.clear(
                        "F24",
                        subject,
                        record.seq,
                        "What the watch holds is so again.",
                    );
                }
            }
            Standing::Confirmed => {
                wrong.insert(place);
                let alike = match event.kind {
                    Divergence::Ghost => GHOST,
                    Divergence::Missing | Divergence::Stale => HIDDEN,
                    // The list is behind, or of another etcd: nothing is wrong with the watch.
                    _ => return,
                };
                let watch = before.watches.get(&event.watch);
                let (certainty, why) = words::unless_unread(watch, Certainty::Likely);
                let summary = sentence(event, wrong.len()) + why;
                let raised = watch.and_then(|watch| {
                    let mut open = watch.verdicts.values();
                    open.find(|open| open.verdict.object == event.object)
                });
                let mut evidence = vec![record.seq];
                evidence.extend(raised.map(|open| open.since.seq));
                tree::sort(&mut evidence);
                let found = Found::of("F24", certainty, subject, evidence, record.at, summary);
                book.raise(found.alike(alike).until_cleared(), record.at);
            }
            _ => {}
        }
    }

    pub(super) fn audited(
        event: &Audit,
        before: &State,
        record: Moment,
        awake: &Awake,
        book: &mut Book,
    ) {
        let Some(watch) = before.watches.get(&event.watch) else {
            return;
        };
        let (Some(read), Some(progress)) = (&event.resource_version, &watch.progress) else {
            return;
        };
        let back = progress.number().unwrap_or(0).saturating_sub(number(read));
        let mut evidence = vec![record.seq];
        match &*event.method {
            WENT_BACK => {
                let summary = format!(
                    "A list of the newest state is at {read}, {back} below {progress}, which {} has seen: etcd holds an \
                     older state than it did.",
                    event.watch
                );
                let found = Found::of(
                    "F33",
                    Certainty::Likely,
                    Subject::Cluster,
                    evidence,
                    record.at,
                    summary,
                );
                book.raise(found.alike(&["F32"]), record.at);
            }
            WITNESS if &*event.outcome == Audit::DIFFERS => {
                evidence.extend(watch.stream.as_ref().map(|stream| stream.since.seq));
                tree::sort(&mut evidence);
                let (certainty, why) = words::unless_unread(Some(watch), Certainty::Definite);
                let told = event.reason.as_deref().unwrap_or("");
                let summary = format!("Of {}, {told}.{why}", event.watch);
                let subject = Subject::Watch(event.watch.clone());
                let found = Found::of("F24", certainty, subject, evidence, record.at, summary);
                book.raise(found.alike(SILENT_LOSS), record.at);
            }
            FROM_THE_FUTURE => {
                evidence.extend(watch.stream.as_ref().map(|stream| stream.since.seq));
                tree::sort(&mut evidence);
                let summary = format!(
                    "The watch was opened at {progress}; its server knows nothing beyond {read}, {back} before that, and \
                     says nothing until it does, though lists have changed."
                );
                let subject = Subject::Watch(event.watch.clone());
                let since = watch
                    .stream
                    .as_ref()
                    .map_or(record.at, |stream| awake.of(stream.since.at));
                let found = Found::of("F32", Certainty::Likely, subject, evidence, since, summary);
                book.raise(found.alike(&["F31"]), record.at);
            }
            _ => {}
        }
    }

    pub(super) fn forget(&mut self, watch: &WatchName) {
        self.wrong.remove(watch);
    }
}

fn number(version: &ResourceVersion) -> u64 {
    version.number().unwrap_or(0)
}

fn sentence(event: &Verdict, wrong: usize) -> String {
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
    format!(
        "Read twice at one resourceVersion, {what}; the stream never said so. {} of this watch {} wrong.",
        count(wrong as u64, "object"),
        if wrong == 1 { "is" } else { "are" }
    )
}
