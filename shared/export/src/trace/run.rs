//! Writes one run of the log's writer into a trace: each record begins or ends a slice, or is an instant.

use std::collections::BTreeMap;

use watchscope_model::event::{Change, Finding, Verdict};
use watchscope_model::id::Place;
use watchscope_model::vocabulary::{LossPlace, Origin, Phase, Standing};
use watchscope_model::{
    Entry, Event, Object, Record, ResourceVersion, Seq, State, Time, WatchName,
};
use watchscope_timeline::words::{event_words, inside_words};

use super::packets::{Packets, Says, TrackId};
use super::slices::{Lasting, Slices, Unended};
use super::tracks::{Kind, Tracks, object_name};
use crate::taken::TakenRun;

/// The writer of one run of the log's writer into a trace.
pub(super) struct RunTrace<'a> {
    out: &'a mut Packets,
    tracks: &'a mut Tracks,
    of: &'a TakenRun,
    slices: Slices,
    /// The track of events that concern no single watch; 0 before the first record.
    cluster: TrackId,
    /// The previous record's seq, and the watch that the record is about.
    before: Option<(Seq, Option<WatchName>)>,
    /// For each watch, the number of its resourceVersions that cannot be shown as a value.
    valueless: BTreeMap<WatchName, u64>,
    /// The number of events about objects without a track.
    trackless: u64,
}

impl<'a> RunTrace<'a> {
    /// Makes the writer of a run; `number` counts runs from 1.
    pub(super) fn new(
        out: &'a mut Packets,
        tracks: &'a mut Tracks,
        number: u32,
        of: &'a TakenRun,
    ) -> Self {
        Self {
            out,
            tracks,
            of,
            slices: Slices::new(number),
            cluster: 0,
            before: None,
            valueless: BTreeMap::new(),
            trackless: 0,
        }
    }

    /// Begins the run's sequence of packets, with an instant that describes the run.
    fn begin_run(&mut self, at: Time) {
        self.out.begin_sequence(at);
        let of = &self.of.run.of;
        let cluster = of.cluster.as_ref();
        let name = cluster.map_or("a cluster", |cluster| &*cluster.name);
        self.cluster = self.tracks.of(self.out, 0, Kind::Cluster(name.into()));
        let mut says = Says::default()
            .text("log", self.of.log.as_str())
            .text("epoch", self.of.epoch.as_str())
            .text("watchscope", &of.watchscope);
        if let Some(cluster) = cluster {
            says = says
                .text("server", &cluster.server)
                .text("kubernetes", &cluster.version);
        }
        if !of.withheld.is_empty() {
            says = says.text("left out", &of.withheld.join(", "));
        }
        self.out.instant(self.cluster, "run", "run begins", says);
    }

    /// Writes the next entry of the run; `before` is the fold before this entry.
    pub(super) fn entry(&mut self, entry: &Entry, before: &State) {
        if self.cluster == 0 {
            self.begin_run(entry.at());
        }
        let last = self.before.take();
        let follows = last
            .as_ref()
            .is_some_and(|(seq, _)| seq.next() == entry.seq());
        if follows {
            let watch = last.and_then(|(_, watch)| watch);
            watch.iter().for_each(|watch| self.settle(watch, before));
            self.out.go_on_to(entry.at());
        } else {
            self.slices.close_all(self.out, Unended::Hole);
            self.out.go_on_to(entry.at());
            self.stand(before);
        }
        let watch = match entry {
            Entry::Record(record) => {
                self.record(record);
                record.event.watch().cloned()
            }
            Entry::Inside(record) => {
                let track = self.tracks.of(self.out, self.cluster, Kind::Inside);
                let says = Says::default()
                    .number("record", record.seq.0)
                    .text("words", &inside_words(&record.inside));
                let kind = record.inside.type_name();
                self.out.instant(track, kind, kind, says);
                None
            }
        };
        self.before = Some((entry.seq(), watch));
    }

    /// Ends the run: closes open slices, and writes how many events and resourceVersions are not drawn.
    pub(super) fn end(mut self, why: Unended) {
        if self.cluster == 0 {
            return;
        }
        self.slices.close_all(self.out, why);
        for (watch, count) in std::mem::take(&mut self.valueless) {
            let track = self.watch(&watch);
            let says = Says::default().number("count", count);
            let name = "resourceVersions without a value";
            self.out.instant(track, "not drawn", name, says);
        }
        if self.trackless > 0 {
            let track = self.tracks.of(self.out, self.cluster, Kind::OtherObjects);
            let says = Says::default().number("count", self.trackless);
            let name = "events of objects without a track";
            self.out.instant(track, "not drawn", name, says);
        }
        let says = Says::default().text(
            "words",
            match why {
                Unended::Seam => "Nobody watched from here until the next run begins.",
                _ => "The range ends here.",
            },
        );
        self.out.instant(self.cluster, "run", "run ends", says);
    }

    /// Begins the slices that are open before the first record, or after a hole in the records.
    fn stand(&mut self, state: &State) {
        for (connection, of) in &state.connections {
            let says = began(of.since.seq, &of.since.at.to_string())
                .text("remote", &of.remote)
                .text("server", &of.server);
            let name = format!("connection {connection}");
            self.begin(self.cluster, Lasting::Connection(*connection), &name, says);
        }
        for (name, watch) in &state.watches {
            if let Some(stream) = &watch.stream {
                let says = began(stream.since.seq, &stream.since.at.to_string());
                let lasting = Lasting::Stream(name.clone());
                self.begin_of(name, lasting, &format!("stream {}", stream.stream), says);
            }
            if let Some(gap) = &watch.gap {
                let says = began(gap.since.seq, &gap.since.at.to_string())
                    .text("reason", gap.reason.word());
                self.begin_of(name, Lasting::Gap(name.clone()), "gap", says);
            }
            let phase = watch.phase.as_ref();
            if let Some(phase) = phase.filter(|phase| phase.phase == Phase::Listing) {
                let says = began(phase.since.seq, &phase.since.at.to_string());
                self.begin_of(name, Lasting::List(name.clone()), "list", says);
            }
        }
        for open in state.findings.values() {
            let says = began(open.since.seq, &open.since.at.to_string());
            self.begin_finding(&open.finding, says);
        }
    }

    /// Ends and begins slices of a watch that only the fold after the previous record shows: a gap that began, a stream
    /// that ended.
    fn settle(&mut self, name: &WatchName, state: &State) {
        let Some(watch) = state.watches.get(name) else {
            return;
        };
        if watch.stream.is_none() {
            let lasting = Lasting::Stream(name.clone());
            self.slices.close(self.out, &lasting, Unended::Watch);
        }
        let lasting = Lasting::Gap(name.clone());
        match &watch.gap {
            Some(gap) if !self.slices.is_open(&lasting) => {
                let says = Says::default()
                    .number("since_record", gap.since.seq.0)
                    .text("reason", gap.reason.word());
                self.begin_of(name, lasting, "gap", says);
            }
            Some(_) => {}
            None => self.slices.close(self.out, &lasting, Unended::Watch),
        }
    }

    fn record(&mut self, record: &Record) {
        let seq = record.seq;
        let event = &record.event;
        match event {
            Event::Change(change) => self.change(seq, change),
            Event::Verdict(verdict) => self.verdict(seq, verdict),
            Event::Finding(finding) => self.finding(seq, finding),
            Event::ConnectionOpened(opened) => {
                let name = format!("connection {}", opened.connection);
                let lasting = Lasting::Connection(opened.connection);
                let says = is(record)
                    .text("remote", &opened.remote)
                    .text("server", &opened.server);
                self.begin(self.cluster, lasting, &name, says);
            }
            Event::ConnectionClosed(closed) => {
                let lasting = Lasting::Connection(closed.connection);
                let says = ends(record).text("cause", closed.cause.word());
                let name = format!("connection {}", closed.connection);
                self.end_of(self.cluster, lasting, &name, says);
            }
            Event::StreamOpened(opened) => {
                let from = opened.resource_version.as_ref();
                let from = from.map(ToString::to_string);
                let says = is(record).some("from", from.as_deref());
                let name = format!("stream {}", opened.stream);
                self.begin_of(
                    &opened.watch,
                    Lasting::Stream(opened.watch.clone()),
                    &name,
                    says,
                );
            }
            Event::StreamEnded(ended) => {
                let says = ends(record)
                    .text("cause", ended.cause.word())
                    .number("events", ended.events)
                    .number("bytes", ended.bytes);
                let parent = self.watch(&ended.watch);
                let name = format!("stream {}", ended.stream);
                self.end_of(parent, Lasting::Stream(ended.watch.clone()), &name, says);
            }
            Event::Gap(gap) => {
                let mut says = ends(record).flag("resumed", gap.resumed);
                if let Some(lost) = gap.lost {
                    says = says.number("lost", lost);
                }
                let parent = self.watch(&gap.watch);
                self.end_of(parent, Lasting::Gap(gap.watch.clone()), "gap", says);
            }
            Event::ListComplete(list) => {
                let says = ends(record)
                    .number("items", list.items)
                    .text("resourceVersion", &list.resource_version.to_string());
                let parent = self.watch(&list.watch);
                self.end_of(parent, Lasting::List(list.watch.clone()), "list", says);
                self.version(&list.watch, &list.resource_version);
            }
            // It replaces a record that was left out; the first `loss` of the run counts them.
            Event::Loss(loss) if loss.place == LossPlace::Withheld && loss.count == 0 => {}
            _ => self.other(record),
        }
    }

    /// Writes a record as an instant on the track of its watch, or on the cluster's track if it is about no watch.
    fn other(&mut self, record: &Record) {
        let event = &record.event;
        let track = match event {
            Event::ClientStarted(_) | Event::ClientRequest(_) | Event::ClientReport(_) => {
                self.tracks.of(self.out, self.cluster, Kind::Clients)
            }
            _ => match event.watch() {
                Some(watch) => self.watch(watch),
                None => self.cluster,
            },
        };
        let kind = event.type_name();
        self.out.instant(track, kind, kind, is(record));
        match event {
            Event::Bookmark(bookmark) => {
                self.version(&bookmark.watch, &bookmark.resource_version);
            }
            Event::RequestSent(sent) if sent.options().initial_events => {
                self.begin_list(record, &sent.watch);
            }
            Event::WatchPhase(phase) => match phase.to {
                Phase::Listing => self.begin_list(record, &phase.watch),
                Phase::Streaming | Phase::Unknown => {}
                _ => self.close(Lasting::List(phase.watch.clone()), Unended::Incomplete),
            },
            Event::WatchStopped(stopped) => {
                let watch = &stopped.watch;
                self.close(Lasting::Stream(watch.clone()), Unended::Watch);
                self.close(Lasting::Gap(watch.clone()), Unended::Watch);
                self.close(Lasting::List(watch.clone()), Unended::Watch);
            }
            _ => {}
        }
    }

    fn begin_list(&mut self, record: &Record, watch: &WatchName) {
        let lasting = Lasting::List(watch.clone());
        self.close(lasting.clone(), Unended::Incomplete);
        let says = Says::default().number("since_record", record.seq.0);
        self.begin_of(watch, lasting, "list", says);
    }

    fn change(&mut self, seq: Seq, change: &Change) {
        let version = change.resource_version.to_string();
        let mut says = Says::default()
            .number("record", seq.0)
            .text("origin", change.origin.word())
            .text("resourceVersion", &version)
            .text("uid", &change.object.uid.to_string())
            .some("manager", change.manager.as_deref());
        if change.stray == Some(true) {
            says = says.flag("stray", true);
        }
        let name = change.change.word();
        self.of_object(&change.watch, &change.object, "change", name, says);
        if change.origin == Origin::Live {
            self.version(&change.watch, &change.resource_version);
        }
    }

    fn verdict(&mut self, seq: Seq, verdict: &Verdict) {
        let event = Event::from(verdict.clone());
        let says = Says::default()
            .number("record", seq.0)
            .text("state", verdict.state.word())
            .text("certainty", verdict.certainty.word())
            .text("words", &event_words(&event));
        let name = verdict.kind.word();
        self.of_object(&verdict.watch, &verdict.object, "verdict", name, says);
    }

    /// Writes an instant on an object's track, or on the shared track of objects without a track of their own.
    fn of_object(
        &mut self,
        watch: &WatchName,
        object: &std::sync::Arc<Object>,
        category: &str,
        name: &str,
        says: Says,
    ) {
        let parent = self.watch(watch);
        let place = Place(object.clone());
        match self.tracks.of_object(self.out, parent, &place) {
            Some(track) => self.out.instant(track, category, name, says),
            None => {
                self.trackless += 1;
                let track = self.tracks.of(self.out, self.cluster, Kind::OtherObjects);
                let says = says
                    .text("watch", watch.as_str())
                    .text("object", &object_name(object));
                self.out.instant(track, category, name, says);
            }
        }
    }

    fn finding(&mut self, seq: Seq, finding: &Finding) {
        let lasting = Lasting::Finding(finding.key());
        if finding.state == Standing::Cleared && self.slices.is_open(&lasting) {
            let says = Says::default()
                .number("end_record", seq.0)
                .text("end_words", &finding.summary);
            self.slices.end(self.out, &lasting, says);
            return;
        }
        let says = Says::default().number("record", seq.0);
        if finding.state == Standing::Cleared || self.slices.is_open(&lasting) {
            let track = match &finding.watch {
                Some(watch) => self.watch(watch),
                None => self.cluster,
            };
            let name = format!("{} {} {}", finding.code, finding.name, finding.state.word());
            let says = says_of(finding, says);
            self.out.instant(track, "finding", &name, says);
        } else {
            self.begin_finding(finding, says);
        }
    }

    fn begin_finding(&mut self, finding: &Finding, says: Says) {
        let parent = match &finding.watch {
            Some(watch) => self.watch(watch),
            None => self.cluster,
        };
        let lasting = Lasting::Finding(finding.key());
        let name = format!("{} {}", finding.code, finding.name);
        self.begin(parent, lasting, &name, says_of(finding, says));
    }

    /// Writes the value of a watch's resourceVersion. A resourceVersion that is no number, or is 2^63 or more, is only
    /// counted.
    fn version(&mut self, watch: &WatchName, version: &ResourceVersion) {
        let value = version.number().and_then(|number| number.try_into().ok());
        match value {
            Some(value) => {
                let parent = self.watch(watch);
                let track = self.tracks.of(self.out, parent, Kind::Version);
                self.out.value(track, value);
            }
            None => *self.valueless.entry(watch.clone()).or_default() += 1,
        }
    }

    /// Returns the track of a watch. watchscope's own requests about a watch have a track below the watch's track.
    fn watch(&mut self, name: &WatchName) -> TrackId {
        let parent = match name.about() {
            Some(about) => self.tracks.of(self.out, self.cluster, Kind::Watch(about)),
            None => self.cluster,
        };
        self.tracks.of(self.out, parent, Kind::Watch(name.clone()))
    }

    fn begin_of(&mut self, watch: &WatchName, lasting: Lasting, name: &str, says: Says) {
        let parent = self.watch(watch);
        self.begin(parent, lasting, name, says);
    }

    fn begin(&mut self, parent: TrackId, lasting: Lasting, name: &str, says: Says) {
        let to = (&mut *self.out, &mut *self.tracks);
        self.slices.begin(to, parent, lasting, name, says);
    }

    /// Ends a slice. A slice that no record began gets no length.
    fn end_of(&mut self, parent: TrackId, lasting: Lasting, name: &str, says: Says) {
        if !self.slices.is_open(&lasting) {
            let began = Says::default().text("began", "not known");
            self.begin(parent, lasting.clone(), name, began);
        }
        self.slices.end(self.out, &lasting, says);
    }

    fn close(&mut self, lasting: Lasting, why: Unended) {
        self.slices.close(self.out, &lasting, why);
    }
}

/// Returns the annotations of a record that is an instant or begins a slice.
fn is(record: &Record) -> Says {
    Says::default()
        .number("record", record.seq.0)
        .text("words", &event_words(&record.event))
}

/// Returns the annotations of a record that ends a slice. Their names differ from those of a slice's begin, because a
/// viewer merges the annotations of begin and end by name.
fn ends(record: &Record) -> Says {
    Says::default()
        .number("end_record", record.seq.0)
        .text("end_words", &event_words(&record.event))
}

/// Returns the annotations of a slice that began before the range, or where records are missing.
fn began(seq: Seq, at: &str) -> Says {
    Says::default()
        .number("since_record", seq.0)
        .text("began", at)
}

fn says_of(finding: &Finding, says: Says) -> Says {
    says.text("severity", finding.severity.word())
        .text("certainty", finding.certainty.word())
        .text("words", &finding.summary)
}
