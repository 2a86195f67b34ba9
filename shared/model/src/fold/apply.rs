//! How the fold applies a record: what the record opens, changes and ends.

use super::moment::Moment;
use super::objects::{Held, Objects};
use super::state::{
    Cluster, Connection, List, OpenFinding, OpenGap, OpenPhase, OpenRequest, OpenStream,
    OpenVerdict, State, Watch, verdict_key,
};
use crate::event::{
    Change, Event, Finding, ListComplete, Record, RequestAnswered, StreamEnded, StreamOpened,
};
use crate::id::{ResourceVersion, Seq, StreamId};
use crate::inside::{Inside, InsideRecord};
use crate::time::Time;
use crate::vocabulary::{Cause, ChangeType, LossPlace, Origin, Phase, Standing, Verb};

impl State {
    /// Fills in a value that only the state knows: the seq since which the gap of a `gap` event is open. It changes no
    /// other event, nor a `gap` event of a watch without an open gap.
    pub fn complete(&self, event: &mut Event) {
        if let Event::Gap(gap) = event
            && let Some(open) = self
                .watches
                .get(&gap.watch)
                .and_then(|watch| watch.gap.as_ref())
        {
            gap.since = open.since.seq;
        }
    }

    /// Returns the record that an event becomes if it is appended next, without folding it. The record's seq is the
    /// next one. The start of a gap is filled in ([`State::complete`]). A time before the last record's is raised to
    /// the last record's.
    #[must_use]
    pub fn stamp(&self, mut event: Event, at: Time) -> Record {
        self.complete(&mut event);
        Record {
            seq: self.seq.next(),
            at: at.max(self.at),
            event,
        }
    }

    /// Returns the record that an event of the inside becomes if it is appended next; stamps as [`State::stamp`] does.
    #[must_use]
    pub fn stamp_inside(&self, inside: Inside, at: Time) -> InsideRecord {
        InsideRecord {
            seq: self.seq.next(),
            at: at.max(self.at),
            inside,
        }
    }

    /// Takes the seq and time of the next record without folding it. The caller passes over records that its fold need
    /// not have: records of the inside, those of unknown kinds, and others by its own choice.
    pub fn pass(&mut self, seq: Seq, at: Time) {
        (self.seq, self.at) = (seq, at);
    }

    /// Folds the next record.
    ///
    /// The caller passes records in the order of their seqs, without holes; nothing here checks that. Of a watch that
    /// was not started, the fold keeps nothing but findings, and counts nothing but records that the log lost.
    pub fn apply(&mut self, record: &Record) {
        let now = Moment::from(record);
        (self.seq, self.at) = (record.seq, record.at);
        match &record.event {
            Event::ClusterConnected(event) => self.cluster = Some(Cluster::new(event, now)),
            Event::ConnectionOpened(event) => {
                self.connections
                    .insert(event.connection, Connection::new(event, now));
            }
            Event::ConnectionGoaway(event) => {
                if let Some(connection) = self.connections.get_mut(&event.connection) {
                    connection.goaway = Some(now);
                }
            }
            Event::ConnectionClosed(event) => {
                self.connections.remove(&event.connection);
                for watch in self.watches.values_mut() {
                    if watch.connection == Some(event.connection) {
                        watch.connection = None;
                    }
                }
            }
            Event::WatchStarted(event) => {
                let mut watch = Watch::new(event, now);
                if let Some(before) = self.watches.remove(&event.watch) {
                    watch.count_on_from(before);
                }
                self.watches.insert(event.watch.clone(), watch);
            }
            Event::Finding(event) => self.apply_finding(event, now),
            Event::Loss(event) if event.place == LossPlace::Log => add(&mut self.lost, event.count),
            Event::Clock(event) => self.clock_off_ms = Some(event.off_ms),
            _ => {}
        }
        if let Some(watch) = record
            .event
            .watch()
            .and_then(|name| self.watches.get_mut(name))
        {
            watch.apply(&record.event, now);
        }
    }

    fn apply_finding(&mut self, event: &Finding, now: Moment) {
        let key = event.key();
        if event.state == Standing::Cleared {
            self.findings.remove(&key);
            return;
        }
        let known = self.findings.get(&key);
        let (since, count) = known.map_or((now, 0), |open| (open.since, open.count));
        let last_raised = match event.state {
            Standing::Raised => known.map(|_| now),
            _ => known.and_then(|open| open.last_raised),
        };
        let open = OpenFinding {
            finding: event.clone(),
            since,
            count: event
                .count
                .unwrap_or(count.wrapping_add(u64::from(event.state == Standing::Raised))),
            last_raised,
        };
        self.findings.insert(key, open);
    }
}

impl Watch {
    fn apply(&mut self, event: &Event, now: Moment) {
        self.counts.add(event.kind());
        self.count(event, now);
        match event {
            Event::WatchPhase(event) => {
                self.phase = Some(OpenPhase {
                    phase: event.to,
                    reason: event.reason,
                    delay_ms: event.delay_ms,
                    since: now,
                    error: event.error.clone(),
                });
                if matches!(event.to, Phase::Waiting | Phase::Refused) {
                    self.apply_rest(now);
                }
            }
            Event::WatchStopped(event) => {
                self.phase = Some(OpenPhase {
                    phase: Phase::Stopped,
                    reason: event.reason,
                    delay_ms: None,
                    since: now,
                    error: None,
                });
                self.request = None;
                self.stream = None;
                self.gap = None;
                self.connection = None;
                self.objects = Objects::default();
                self.verdicts.clear();
            }
            Event::RequestSent(event) => {
                self.connection = Some(event.connection);
                self.request = Some(OpenRequest {
                    request: event.request,
                    verb: event.verb.clone(),
                    timeout_ms: event.query.as_deref().and_then(timeout_ms),
                    since: now,
                });
            }
            Event::RequestAnswered(event) if event.has_failed() => {
                self.apply_refusal(event, now);
            }
            Event::ListPage(event) => self.apply_page(&event.resource_version, event.items, now),
            Event::ListComplete(event) => self.apply_list(event, now),
            Event::StreamOpened(event) => self.apply_opened(event, now),
            Event::StreamEnded(event) => self.apply_ended(event, now),
            Event::Change(event) => self.apply_change(event, now),
            Event::Bookmark(event) => {
                if let Some(stream) = &mut self.stream {
                    stream.bookmark = Some(now);
                }
                self.learn(&event.resource_version);
            }
            Event::StreamError(_) => self.last_change = Some(now),
            Event::Gap(event) => {
                if !event.resumed {
                    self.last_change = Some(now);
                    self.last_lost = Some(self.gap.as_ref().map_or(now, |gap| gap.since));
                }
                self.gap = None;
            }
            Event::Loss(event) => add(&mut self.lost, event.count),
            Event::Verdict(event) => {
                let key = verdict_key(&event.object);
                if event.state == Standing::Cleared {
                    self.verdicts.remove(&key);
                } else {
                    let since = self.verdicts.get(&key).map_or(now, |open| open.since);
                    self.verdicts.insert(
                        key,
                        OpenVerdict {
                            verdict: event.clone(),
                            since,
                        },
                    );
                }
            }
            _ => {}
        }
    }

    /// Adds an event to the totals of the watch, before the event itself is folded.
    fn count(&mut self, event: &Event, now: Moment) {
        let totals = &mut self.totals;
        match event {
            Event::Change(_) | Event::Bookmark(_) => totals.hear(now.at),
            Event::ListComplete(event) => {
                totals.hear(now.at);
                // This list is already among the counted records.
                if self.counts.of(ListComplete::KIND) > 1 {
                    totals.relist(event.items);
                }
                if self.gap.as_ref().is_some_and(OpenGap::is_measurable) {
                    let changed = event.added.wrapping_add(event.changed);
                    totals.miss(changed.wrapping_add(event.removed));
                }
            }
            Event::StreamEnded(event) => totals.end(event.stream, event.cause),
            Event::Attribution(event) => totals.attribute(event),
            Event::Gap(event) => {
                let since = self.gap.as_ref().map_or(now, |gap| gap.since);
                let listed = self.list.as_ref().and_then(|list| list.complete);
                let is_measured = self.gap.as_ref().is_some_and(OpenGap::is_measurable)
                    && listed.is_some_and(|listed| listed.seq > since.seq);
                totals.close(event, now.at.micros_since(since.at), is_measured);
            }
            _ => {}
        }
    }

    /// Folds a failed answer. If a server refused to open a stream, a gap begins, unless one is open. No events come
    /// from now on, and events since progress may be lost.
    fn apply_refusal(&mut self, event: &RequestAnswered, now: Moment) {
        let request = self.request.take();
        let is_watch = request
            .filter(|request| request.request == event.request)
            .is_some_and(|request| Verb::of(&request.verb) == Verb::Watch);
        if is_watch && event.status.is_some() {
            self.stay_without_stream(now);
        }
    }

    /// Folds a wait or refusal. If the list is complete and no stream is open, the next stream cannot be opened, and a
    /// gap begins, unless one is open.
    fn apply_rest(&mut self, now: Moment) {
        let is_listed = self
            .list
            .as_ref()
            .is_some_and(|list| list.complete.is_some());
        if is_listed && self.stream.is_none() {
            self.stay_without_stream(now);
        }
    }

    /// Folds that no stream can go on from progress: a gap begins, unless one is open or the watch has no progress.
    fn stay_without_stream(&mut self, now: Moment) {
        let can_resume = self
            .progress
            .as_ref()
            .is_some_and(ResourceVersion::is_position);
        if can_resume && self.gap.is_none() {
            self.last_change = Some(now);
            self.gap = Some(OpenGap {
                since: now,
                reason: Cause::Refused,
                stream: StreamId(0),
                from: self.progress.clone(),
            });
        }
    }

    fn apply_page(&mut self, version: &ResourceVersion, items: u64, now: Moment) {
        self.request = None;
        match &mut self.list {
            Some(list) if list.complete.is_none() && list.resource_version == *version => {
                add(&mut list.items, items);
            }
            list => {
                *list = Some(List {
                    since: now,
                    resource_version: version.clone(),
                    items,
                    complete: None,
                });
            }
        }
    }

    fn apply_list(&mut self, event: &ListComplete, now: Moment) {
        let since = match &self.list {
            Some(list) if list.complete.is_none() => list.since,
            _ => now,
        };
        self.list = Some(List {
            since,
            resource_version: event.resource_version.clone(),
            items: event.items,
            complete: Some(now),
        });
        self.see(&event.resource_version);
        if event.resource_version.is_position() {
            self.advance(&event.resource_version);
        }
    }

    fn apply_opened(&mut self, event: &StreamOpened, now: Moment) {
        let timeout_ms = self
            .request
            .as_ref()
            .filter(|request| request.request == event.request)
            .and_then(|request| request.timeout_ms);
        self.stream = Some(OpenStream {
            stream: event.stream,
            request: event.request,
            resource_version: event.resource_version.clone(),
            timeout_ms,
            since: now,
            bookmark: None,
        });
    }

    fn apply_ended(&mut self, event: &StreamEnded, now: Moment) {
        self.stream = None;
        self.request = None;
        if !matches!(event.cause, Cause::Cancelled | Cause::End) {
            self.last_change = Some(now);
        }
        if event.cause != Cause::Cancelled && self.gap.is_none() {
            self.gap = Some(OpenGap {
                since: now,
                reason: event.cause,
                stream: event.stream,
                from: self.progress.clone(),
            });
        }
    }

    fn apply_change(&mut self, event: &Change, now: Moment) {
        match event.change {
            ChangeType::Added => add(&mut self.added, 1),
            ChangeType::Modified => add(&mut self.modified, 1),
            ChangeType::Deleted => add(&mut self.deleted, 1),
            ChangeType::Unknown => {}
        }
        if event.origin == Origin::Live {
            self.last_change = Some(now);
        }
        let mut is_step = event.origin == Origin::Live;
        if event.change == ChangeType::Deleted {
            // Some servers send a DELETED with the object's last version, not with that of the deletion. Such a
            // DELETED leaves progress as it is. Versions that are numbers need no such check, because the fold never
            // lowers them.
            let version = &event.resource_version;
            let is_last = |held: &Held| held.resource_version == *version;
            is_step &=
                version.number().is_some() || !self.objects.get(&event.object).is_some_and(is_last);
            self.objects.remove(event);
        } else {
            self.objects.hold(event, now);
        }
        if is_step {
            self.learn(&event.resource_version);
        }
    }
}

/// Adds to a counter. The counter wraps, because a hostile file may state any number.
fn add(figure: &mut u64, by: u64) {
    *figure = figure.wrapping_add(by);
}

/// Reads the `timeoutSeconds` of a query, in milliseconds. It does not use [`crate::options`], because the fold is in
/// the page's first download.
fn timeout_ms(query: &str) -> Option<u64> {
    let seconds = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("timeoutSeconds="))?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event::{Bookmark, Gap, Loss, WatchStarted, WatchStopped};
    use crate::id::{Object, WatchName};
    use crate::vocabulary::{Origin, PhaseReason};

    fn watch_of_pods() -> WatchName {
        WatchName::from("shop/pods")
    }

    fn started() -> Event {
        WatchStarted::plain(watch_of_pods(), "", "pods").into()
    }

    fn added(origin: Origin) -> Event {
        Change {
            watch: watch_of_pods(),
            stream: None,
            change: ChangeType::Added,
            origin,
            object: Arc::new(Object {
                namespace: None,
                name: "a".into(),
                uid: crate::Uid::parse("u"),
            }),
            resource_version: 7.into(),
            generation: None,
            manager: None,
            subresource: None,
            bytes: None,
            stray: None,
            owner: None,
        }
        .into()
    }

    fn ended(cause: Cause) -> Event {
        StreamEnded {
            watch: watch_of_pods(),
            stream: StreamId(1),
            cause,
            age_ms: 1,
            events: 0,
            bytes: 0,
            reset_code: None,
            unread_ms: None,
        }
        .into()
    }

    fn gap(resumed: bool) -> Event {
        Gap {
            watch: watch_of_pods(),
            since: Seq(1),
            from: None,
            to: None,
            reason: Cause::End,
            resumed,
            lost: None,
        }
        .into()
    }

    #[test]
    fn a_list_a_bookmark_and_a_timeout_that_is_resumed_leave_a_watch_quiet() {
        let bookmark = Bookmark {
            watch: watch_of_pods(),
            stream: StreamId(1),
            resource_version: 9.into(),
            initial_events_end: None,
        };
        let quiet = [
            added(Origin::List),
            bookmark.into(),
            ended(Cause::End),
            gap(true),
        ];
        let loud = [added(Origin::Live), ended(Cause::TcpReset), gap(false)];
        let last_change = |event: Event| {
            let mut state = State::default();
            for (seq, event) in (1..).zip([started(), event]) {
                let at = Time(0);
                state.apply(&Record {
                    seq: Seq(seq),
                    at,
                    event,
                });
            }
            state.watches[&watch_of_pods()].last_change
        };
        for event in quiet {
            assert_eq!(last_change(event.clone()), None, "{event:?}");
        }
        for event in loud {
            let seq = last_change(event.clone()).map(|moment| moment.seq);
            assert_eq!(seq, Some(Seq(2)), "{event:?}");
        }
    }

    #[test]
    fn only_records_that_the_log_dropped_count_as_lost_to_the_log() {
        let mut state = State::default();
        for (seq, place) in (1..).zip([LossPlace::Body, LossPlace::Log, LossPlace::Ring]) {
            let event = Loss {
                place,
                count: 5,
                from_seq: None,
                to_seq: None,
                watch: None,
                bytes: None,
                reason: None,
                what: None,
            };
            state.apply(&Record {
                seq: Seq(seq),
                at: Time(0),
                event: event.into(),
            });
        }
        assert_eq!(state.lost, 5);
    }

    #[test]
    fn a_watch_that_is_stopped_and_started_again_keeps_its_counts_and_holds_nothing() {
        let list = ListComplete {
            watch: watch_of_pods(),
            resource_version: 9.into(),
            items: 1,
            added: 1,
            changed: 0,
            removed: 0,
        };
        let stopped = WatchStopped {
            watch: watch_of_pods(),
            reason: PhaseReason::StopRequested,
        };
        let events = [
            started(),
            added(Origin::List),
            list.into(),
            gap(false),
            stopped.into(),
            started(),
        ];
        let mut state = State::default();
        for (seq, event) in (1..).zip(events) {
            state.apply(&Record {
                seq: Seq(seq),
                at: Time(0),
                event,
            });
        }
        let again = &state.watches[&watch_of_pods()];
        assert_eq!((again.objects.len(), &again.progress), (0, &None));
        assert_eq!(again.since.seq, Seq(6));
        assert_eq!((again.added, again.totals.lost()), (1, 1));
        assert_eq!(again.counts.of(ListComplete::KIND), 1);
        assert_eq!(again.counts.of(WatchStarted::KIND), 2);
    }
}
