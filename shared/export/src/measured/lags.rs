//! Measures how far servers are behind each other, by comparing when the watch streams of several servers deliver the
//! same event.

use std::collections::{BTreeMap, VecDeque};

use watchscope_charts::{Callout, Chart, Line, Lines, Merge, Plot, Scale, shortened};
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Event, Record, State, Text, Time};
use watchscope_timeline::format::duration;

use super::parts::Durations;
use super::{MOST_LETTERS, Measure, Scope, when};

/// The most events whose first delivery is held, so that the lag of a later delivery can be measured. When one more
/// event comes, the oldest is forgotten. A later delivery of a forgotten event counts as its first delivery, with a lag
/// of 0. At 200 events a second, as of the pods of a large cluster (docs/semantics/servers.md#load), 4,096 events last
/// 20 s. The number has no other source.
const REMEMBERED: usize = 4_096;
/// The most servers whose lag is measured: the first ones that delivered an event. Further servers have no line, and
/// the chart's notes say so. Their deliveries still count as the first ones of events. The number has no source.
const MOST_SERVERS: usize = 16;
/// The least p95 of a server's lag in its worst bucket, in microseconds, for the chart to call the server behind. A
/// person notices such a lag. The number has no other source.
const BEHIND_US: i64 = 1_000_000;

/// The least lag that is drawn, in microseconds; a smaller lag is drawn as this lag. The first server to deliver an
/// event has a lag of 0, which a logarithmic axis does not have. The number has no other source.
const LEAST_US: i64 = 1_000;

/// The key of an event: resource and scope of the watch, API group, namespace and name of the object, resourceVersion,
/// and index of the run.
type Key = (Text, Text, Option<Text>, Text, u64, usize);

/// The lags of servers by server and bucket, for servers that watches are pinned to (`--servers`).
pub(crate) struct Lags {
    grid: watchscope_charts::Grid,
    first: BTreeMap<Key, (Time, Text)>,
    order: VecDeque<Key>,
    by_server: BTreeMap<Text, Vec<Durations>>,
    forgotten: u64,
}

impl Lags {
    pub(crate) fn new(scope: &Scope) -> Self {
        Self {
            grid: scope.columns,
            first: BTreeMap::new(),
            order: VecDeque::new(),
            by_server: BTreeMap::new(),
            forgotten: 0,
        }
    }

    fn lagged(&mut self, server: &Text, at: Time, micros: i64) {
        let is_known = self.by_server.contains_key(server);
        if !is_known && self.by_server.len() >= MOST_SERVERS {
            self.forgotten += 1;
            return;
        }
        let count = self.grid.count;
        let buckets = self.by_server.entry(server.clone());
        let buckets = buckets.or_insert_with(|| vec![Durations::default(); count]);
        let place = self.grid.place(at);
        if let Some(bucket) = place.and_then(|place| buckets.get_mut(place)) {
            bucket.add(micros);
        }
    }

    pub(crate) fn chart(self, scope: &Scope) -> Chart {
        // The server with the worst p95 comes first.
        let mut worst: Vec<(i64, usize, &Text)> = Vec::new();
        for (server, buckets) in &self.by_server {
            let p95s = buckets.iter().enumerate();
            let p95s = p95s.filter_map(|(place, bucket)| Some((bucket.percentile(95)?, place)));
            worst.extend(p95s.max().map(|(p95, place)| (p95, place, server)));
        }
        worst.sort_by(|one, two| two.cmp(one));
        let short = |server: &Text| shortened(server, MOST_LETTERS);
        let title = match worst.first() {
            None => "The records do not say how far servers are behind".to_owned(),
            Some((p95, place, server)) if *p95 >= BEHIND_US => format!(
                "{} was {} behind at {}",
                short(server),
                duration(*p95),
                when(self.grid, *place)
            ),
            Some((p95, ..)) => format!("No server was more than {} behind", duration(*p95)),
        };
        let callout = worst.first().filter(|(p95, ..)| *p95 >= BEHIND_US);
        let callout = callout.map(|(p95, place, _)| Callout {
            at: self.grid.begins(*place),
            value: *p95,
            words: format!("p95 {}", duration(*p95)),
        });
        let mut series = Vec::new();
        for (.., server) in &worst {
            for percent in [50, 95] {
                let buckets = self.by_server.get(*server).into_iter().flatten();
                series.push(Line {
                    name: format!("{} p{percent}", short(server)),
                    values: buckets
                        .map(|bucket| Some(bucket.percentile(percent)?.max(LEAST_US)))
                        .collect(),
                });
            }
        }
        // The two servers with the worst p95 have lines of their own: p50 and p95.
        let others: Vec<Line> = series.split_off(series.len().min(4));
        if let Some(mut rest) = others.into_iter().reduce(larger) {
            super::parts::OTHERS.clone_into(&mut rest.name);
            series.push(rest);
        }
        let mut missing = vec!["servers that no watch is pinned to (--servers)".to_owned()];
        if self.forgotten > 0 {
            missing.push(format!("servers after the first {MOST_SERVERS}"));
        }
        Chart {
            title,
            unit: format!(
                "time after the first server that delivered an event, p50 and p95 of {}, log scale from 1 ms",
                duration(self.grid.step_us)
            ),
            notes: scope.notes(&missing),
            plot: Plot::Lines(Lines {
                scale: Scale::LogMicros,
                grid: self.grid,
                series,
                merge: Merge::Largest,
                callout,
            }),
        }
    }
}

fn larger(mut one: Line, two: Line) -> Line {
    for (value, other) in one.values.iter_mut().zip(two.values) {
        *value = (*value).max(other);
    }
    one
}

impl Measure for Lags {
    fn take(&mut self, record: &Record, state: &State, run: usize) {
        let Event::Change(change) = &record.event else {
            return;
        };
        let (Some(watch), Some(version)) = (
            state.watches.get(&change.watch),
            change.resource_version.number(),
        ) else {
            return;
        };
        let Some(server) = watch
            .server
            .as_ref()
            .filter(|_| change.origin == Origin::Live)
        else {
            return;
        };
        let (what, _) = change.watch.what_and_ordinal();
        let object = &change.object;
        let key: Key = (
            what.into(),
            watch.group.clone(),
            object.namespace.clone(),
            object.name.clone(),
            version,
            run,
        );
        match self.first.get(&key) {
            Some((first, by)) if by != server => {
                let lag = record.at.micros_since(*first).max(0);
                self.lagged(server, record.at, lag);
            }
            Some(_) => {}
            None => {
                self.lagged(server, record.at, 0);
                self.order.push_back(key.clone());
                self.first.insert(key, (record.at, server.clone()));
                if self.order.len() > REMEMBERED
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.first.remove(&oldest);
                }
            }
        }
    }
}
