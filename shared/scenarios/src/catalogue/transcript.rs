//! The transcript of a client program: counts of its requests, and of its reports about its state.

use std::ops::RangeInclusive;

use serde_json::Value;
use watchscope_model::time::SECOND_US;
use watchscope_model::{Event, Record, ResourceVersion, Time, WatchName};

use super::Asked;

/// A client's requests and reports, counted by what they show.
#[derive(Clone, Debug, Default)]
pub(super) struct Transcript {
    pub(super) requests: usize,
    lists: usize,
    watch_lists: usize,
    from_the_same: usize,
    from_below: usize,
    behind: usize,
}

/// A resourceVersion that our watch received, and when.
#[derive(Clone, Copy, Debug)]
struct Received {
    at: Time,
    version: u64,
}

impl Transcript {
    /// Counts a client's requests and reports, some of them against the resourceVersions that our own watch had
    /// received.
    pub(super) fn of(client: &str, records: &[Record], watch: &WatchName) -> Self {
        let mut transcript = Self::default();
        // The version of the last watch, and how many watches in a row asked for it.
        let (mut last, mut run) = (0, 0);
        let mut known = 0;
        let mut ours: Vec<Received> = Vec::new();
        for record in records {
            if let Some(version) = version_received(watch, &record.event) {
                ours.push(Received {
                    at: record.at,
                    version,
                });
            }
            match &record.event {
                Event::ClientRequest(request) if &*request.client == client => {
                    let (from, is_watch) = asked(&request.request);
                    transcript.requests += 1;
                    transcript.from_below += usize::from((1..known).contains(&from));
                    if !is_watch {
                        transcript.lists += 1;
                        (last, run) = (0, 0);
                        continue;
                    }
                    transcript.watch_lists +=
                        usize::from(request.request.contains("sendInitialEvents=true"));
                    run = if from == last { run + 1 } else { 1 };
                    last = from;
                    if from > 0 {
                        transcript.from_the_same = transcript.from_the_same.max(run);
                    }
                }
                Event::ClientReport(report) if &*report.client == client => {
                    let Some((until, most)) = report.belief.as_deref().and_then(versions) else {
                        continue;
                    };
                    known = known.max(most);
                    let before = |ours: &&Received| record.at.micros_since(ours.at) >= SECOND_US;
                    let ours = ours.iter().rev().find(before);
                    transcript.behind += usize::from(ours.is_some_and(|ours| until < ours.version));
                }
                _ => {}
            }
        }
        transcript
    }

    /// Returns the words for an expectation's count, the count, and the expected range.
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

/// Returns the resourceVersion that our watch reached by an event; `None` for any other event.
fn version_received(watch: &WatchName, event: &Event) -> Option<u64> {
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

/// Returns the resourceVersion that a request (`GET PATH?QUERY`) names, 0 if it names none, and whether it is a watch.
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

/// Returns the resourceVersion up to which a reported belief goes, and the highest one in the belief. Of a belief's
/// several parts, the one with the highest resourceVersion counts. `None` if no part has a resourceVersion.
fn versions(belief: &str) -> Option<(u64, u64)> {
    let parts: Vec<Value> = serde_json::from_str(belief).ok()?;
    let until = |part: &Value| part["resourceVersion"].as_str()?.parse::<u64>().ok();
    let until = parts.iter().filter_map(until).max()?;
    let held = parts.iter().filter_map(|part| part["held"].as_object());
    let version = |held: &Value| held.as_str()?.rsplit_once('@')?.1.parse::<u64>().ok();
    let held = held.flat_map(|held| held.values()).filter_map(version);
    Some((until, held.max().unwrap_or(0).max(until)))
}
