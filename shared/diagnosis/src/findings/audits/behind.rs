//! Streams that deliver nothing while reads show newer objects (F17, F31), and watches opened at a version that their
//! server has not reached (F32).

use watchscope_model::event::Audit;
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::vocabulary::{Certainty, Severity};
use watchscope_model::{ResourceVersion, Row, State, WatchName};

use super::restored::number;
use super::state::{Audits, TURN_US};
use crate::awake::Awake;
use crate::findings::draft::{FindingDraft, Shared, Subject};
use crate::findings::place::Place;
use crate::findings::registry::FindingRegistry;
use crate::limits::{AHEAD_US, TOO_LARGE_US};
use crate::text::seconds;

/// Returns what watches share whose server is behind newer reads (F31); `None` if the server is unknown.
pub(super) fn behind_reads(watch: &WatchName, state: &State) -> Option<Shared> {
    let place = Place::of(watch, state)?;
    let server = place.server_words();
    Some(Shared {
        subject: place.server()?,
        summary: format!(
            "Reads showed newer objects than {server} has delivered to its watches: it is behind, or something holds \
             its events back."
        ),
        together_us: TURN_US,
        waits_until: None,
    })
}

/// Returns what watches share that were opened above the versions that their servers have reached (F32).
pub(super) fn beyond_servers() -> Shared {
    Shared {
        subject: Subject::Cluster,
        summary: "Watches were opened at versions that their servers have not reached. The servers send nothing \
            until they reach them."
            .to_owned(),
        together_us: TURN_US,
        waits_until: None,
    }
}

impl Audits {
    /// Raises F31 or F32: reads show newer objects than a stream that delivers nothing.
    pub(super) fn lags(
        &mut self,
        event: &Audit,
        (watch, progress, shared): (&Watch, &ResourceVersion, Option<Shared>),
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let silent = self.silent.get(&event.watch);
        if silent.is_some_and(|silent| !silent.is_empty()) {
            return;
        }
        let (Some(read), Some(stream)) = (&event.resource_version, &watch.stream) else {
            return;
        };
        let lag_s = AHEAD_US / 1_000_000;
        let summary = format!(
            "Reads showed objects of {} at up to {read}. Its stream is at {progress} and has delivered nothing in \
             the {lag_s} s since the first of these reads. Its server is behind, or something holds its events back.",
            event.watch,
        );
        // A stream that has delivered an event was not opened above its server's version.
        let is_resumed = stream.bookmark.is_none() && stream.resource_version == watch.progress;
        let alike: &'static [Row] = if is_resumed {
            &[Row::F04, Row::F32, Row::F44]
        } else {
            &[Row::F04, Row::F44]
        };
        let subject = Subject::Watch(event.watch.clone());
        let since = record.at.plus_micros(-AHEAD_US);
        let evidence = vec![record.seq];
        let found = FindingDraft::of(
            Row::F31,
            Certainty::Likely,
            subject,
            evidence,
            since,
            summary,
        );
        let found = FindingDraft {
            // A lag may end by itself. One that lasts for two periods of bookmarks is a warning.
            severity: Severity::Note,
            ..found.alike(alike).sharing(shared)
        };
        let silent = self.silent.entry(event.watch.clone()).or_default();
        silent.insert(found.row);
        registry.raise(found.until_cleared(), record.at);
    }

    /// Raises F32 at the second refusal of a list at a watch's version, because the server has not reached that
    /// version. The second refusal counts only if it comes at least [`TOO_LARGE_US`] after the first, for a stream that
    /// has delivered nothing.
    pub(super) fn too_large(
        &mut self,
        event: &Audit,
        watch: &Watch,
        awake: &Awake,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (Some(current), Some(stream)) = (&event.resource_version, &watch.stream) else {
            return;
        };
        let from = stream.resource_version.as_ref();
        let Some(from) = from.filter(|from| from.is_after(current)) else {
            return;
        };
        let has_come = stream.bookmark.is_some() || watch.progress.as_ref() != Some(from);
        if has_come || self.is_to_begin_anew(watch) {
            return;
        }
        let opened = stream.since;
        let known = self.too_large.get(&event.watch);
        let Some((_, first)) = known.filter(|(of, _)| *of == opened.seq) else {
            let first = (opened.seq, record);
            self.too_large.insert(event.watch.clone(), first);
            return;
        };
        let apart_us = record.at.micros_since(first.at);
        let silent = self.silent.entry(event.watch.clone()).or_default();
        if apart_us < TOO_LARGE_US || !silent.insert(Row::F32) {
            return;
        }
        let back = number(from).saturating_sub(number(current));
        let summary = format!(
            "The watch was opened at {from}, but its server has only reached {current}, {back} below that. It sends \
             nothing until it gets there. Two lists at {from}, {} apart, were refused (504).",
            seconds(u64::try_from(apart_us / 1_000).unwrap_or(0)),
        );
        let evidence = vec![opened.seq, first.seq, record.seq];
        let (sure, subject) = (Certainty::Likely, Subject::Watch(event.watch.clone()));
        let since = awake.of(opened.at);
        let found = FindingDraft::of(Row::F32, sure, subject, evidence, since, summary);
        let found = found.alike(&[Row::F31]).sharing(Some(beyond_servers()));
        registry.raise(found.until_cleared(), record.at);
    }

    /// Raises F17 or F31: a list differs from the held objects, and the watch does not reach the list's version
    /// (docs/semantics/checks.md#behind).
    pub(super) fn stands_still(
        &mut self,
        event: &Audit,
        (progress, shared): (&ResourceVersion, Option<Shared>),
        edit: Option<Moment>,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (watch, Some(read)) = (&event.watch, &event.resource_version) else {
            return;
        };
        let what = format!(
            "A list at {read} differs from what {watch} holds. Its stream is at {progress}"
        );
        let subject = Subject::Watch(watch.clone());
        let found = if let Some(Moment { seq, at }) = edit {
            let ago = seconds(record.at.millis_since(at));
            let summary = format!(
                "{what} and has delivered nothing for {ago}, since its definition was edited: the server left it \
                 behind."
            );
            let evidence = vec![seq, record.seq];
            let found =
                FindingDraft::of(Row::F17, Certainty::Likely, subject, evidence, at, summary);
            FindingDraft {
                // It does not end by itself.
                severity: Severity::Error,
                ..found.alike(&[Row::F04, Row::F31])
            }
        } else {
            let summary = format!(
                "{what} and does not reach the version of the list: its server is behind, or no events get \
                    through."
            );
            // Reads may have shown newer objects before.
            let silent = self.silent.get(watch);
            let sure = match silent.is_some_and(|silent| silent.contains(&Row::F31)) {
                true => Certainty::Likely,
                false => Certainty::Suspected,
            };
            let evidence = vec![record.seq];
            let found = FindingDraft::of(Row::F31, sure, subject, evidence, record.at, summary);
            found.alike(&[Row::F04, Row::F32]).sharing(shared)
        };
        let silent = self.silent.entry(watch.clone()).or_default();
        silent.insert(found.row);
        registry.raise(found.until_cleared(), record.at);
    }

    /// Clears the findings about a watch's silence, because its stream delivered an event or ended.
    pub(crate) fn clear_silence(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        if !self.too_large.is_empty() {
            self.too_large.remove(watch);
        }
        if self.silent.is_empty() {
            return;
        }
        for row in self.silent.remove(watch).unwrap_or_default() {
            let why = "Its stream delivered again, or ended.";
            registry.clear(row, Subject::Watch(watch.clone()), record.seq, why);
        }
    }
}
