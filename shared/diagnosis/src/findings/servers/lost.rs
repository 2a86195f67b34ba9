//! F24: a server delivered a later event or bookmark without delivering an event before it.

use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::Certainty;
use watchscope_model::{Row, Text, WatchName};

use super::groups::Group;
use super::lag::{EventKey, bit};
use crate::findings::draft::{FindingDraft, Subject};
use crate::findings::registry::FindingRegistry;
use crate::findings::streams::SILENT_LOSS;
use crate::text::place;

impl Group {
    /// Notes that a watch has reached `version`, so that it must have delivered all its events below it.
    pub(super) fn passed(
        &mut self,
        watch: &WatchName,
        version: u64,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let stream = self.members.get(watch).and_then(|member| member.stream);
        let (Some(stream), Some(bit)) = (stream, bit(watch)) else {
            return;
        };
        let first = (stream.from.saturating_add(1), None, Text::default());
        let kept: Vec<EventKey> = self
            .events
            .range(first..)
            .take_while(|((key, ..), _)| *key < version)
            .filter(|(_, event)| event.had_by & bit == 0)
            .map(|(key, _)| key.clone())
            .collect();
        for key in kept {
            self.kept(&key, watch, record, registry);
        }
    }

    /// Reports, once, that a server's stream passed the version of an event without delivering it.
    pub(super) fn kept(
        &mut self,
        key: &EventKey,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (Some(event), Some(member)) = (self.events.get_mut(key), self.members.get(watch))
        else {
            return;
        };
        let (version, namespace, object) = key;
        let Some(stream) = member.stream.filter(|stream| *version > stream.from) else {
            return;
        };
        event.had_by |= bit(watch).unwrap_or(0);
        let (certainty, why) = registry.unread.unless_why(watch, Certainty::Definite);
        let summary = format!(
            "{} delivered {} of {} at {version}; {} reached {} without it.{why}",
            event.first,
            event.change,
            place(namespace.as_ref(), object),
            member.server,
            stream.reached,
        );
        let mut evidence = vec![event.seq, record.seq];
        evidence.dedup();
        let found = FindingDraft::of(
            Row::F24,
            certainty,
            Subject::Watch(watch.clone()),
            evidence,
            event.at,
            summary,
        );
        registry.raise(found.alike(SILENT_LOSS).proven(), record.at);
        self.settle(key);
    }
}
