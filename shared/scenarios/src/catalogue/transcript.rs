//! What is heard of a client: its requests, and what it says it was told.

use std::ops::RangeInclusive;

use serde_json::Value;
use watchscope_model::time::SECOND_US;
use watchscope_model::{Event, Record, ResourceVersion, Time, WatchName};

use super::Asked;

/// A client's requests, counted by what they show.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    pub(super) requests: usize,
    lists: usize,
    watch_lists: usize,
    from_the_same: usize,
    from_below: usize,
    behind: usize,
}

impl Heard {
    /// What is heard of a client, beside what a watch of ours was told.
    pub(super) fn of(client: &str, records: &[Record], watch: &WatchName) -> Self {
        let mut heard = Self::default();
        // The version of the last watch, and how many in a row asked for it.
        let (mut last, mut run) = (0, 0);
        let mut known = 0;
        let mut ours: Vec<(Time, u64)> = Vec::new();
        for record in records {
            if let Some(version) = told_to(watch, &record.event) {
                ours.push((record.at, version));
            }
            match &record.event {
                Event::ClientRequest(told) if &*told.client == client => {
                    let (from, is_watch) = asked(&told.request);
                    heard.requests += 1;
                    heard.from_below += usize::from((1..known).contains(&from));
                    if !is_watch {
                        heard.lists += 1;
                        (last, run) = (0, 0);
                        continue;
                    }
                    heard.watch_lists +=
                        usize::from(told.request.contains("sendInitialEvents=true"));
                    run = if from == last { run + 1 } else { 1 };
                    last = from;
                    if from > 0 {
                        heard.from_the_same = heard.from_the_same.max(run);
                    }
                }
                Event::ClientReport(told) if &*told.client == client => {
                    let Some((until, most)) = told.belief.as_deref().and_then(versions) else {
                        continue;
                    };
                    known = known.max(most);
                    let before = |(at, _): &&(Time, u64)| record.at.micros_since(*at) >= SECOND_US;
                    let ours = ours.iter().rev().find(before);
                    heard.behind += usize::from(ours.is_some_and(|(_, ours)| until < *ours));
                }
                _ => {}
            }
        }
        heard
    }

    /// What something asked is called, how much of it there was, and how much there should be.
    pub(super) fn count<'a>(
        &self,
        asked: &'a Asked,
    ) -> (&'static str, usize, &'a RangeInclusive<usize>) {
        match asked {
            Asked::Lists(range) => ("lists", self.lists, range),
            Asked::WatchLists(range) => ("watch-lists", self.watch_lists, range),
            Asked::FromTheSame(range) => {
                ("watches from the same version", self.from_the_same, range)
            }
            Asked::FromBelow(range) => ("requests from below", self.from_below, range),
            Asked::Behind(range) => ("reports of an old state", self.behind, range),
        }
    }
}

/// The version a watch of ours came to by an event.
fn told_to(watch: &WatchName, event: &Event) -> Option<u64> {
    if event.watch() != Some(watch) {
        return None;
    }
    let version = match event {
        Event::ListComplete(list) => &list.resource_version,
        Event::Change(change) => &change.resource_version,
        _ => return None,
    };
    number(version)
}

fn number(version: &ResourceVersion) -> Option<u64> {
    version.to_string().parse().ok()
}

/// The version a request (`GET PATH?QUERY`) asks for, zero for none, and whether it is a watch.
fn asked(request: &str) -> (u64, bool) {
    let query = request.split_once('?').map_or("", |(_, query)| query);
    let of = |name: &str| {
        let mut parameters = query.split('&').filter_map(|pair| pair.split_once('='));
        parameters
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let from = of("resourceVersion").and_then(|version| version.parse().ok());
    (from.unwrap_or(0), of("watch") == Some("true"))
}

/// Until where a reported belief goes, and the highest version in it; of several parts, the furthest.
fn versions(belief: &str) -> Option<(u64, u64)> {
    let parts: Vec<Value> = serde_json::from_str(belief).ok()?;
    let until = |part: &Value| part["resourceVersion"].as_str()?.parse::<u64>().ok();
    let until = parts.iter().filter_map(until).max()?;
    let held = parts.iter().filter_map(|part| part["held"].as_object());
    let version = |held: &Value| held.as_str()?.rsplit_once('@')?.1.parse::<u64>().ok();
    let held = held.flat_map(|held| held.values()).filter_map(version);
    Some((until, held.max().unwrap_or(0).max(until)))
}
