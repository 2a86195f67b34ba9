//! The header's summary of the watches: cluster, namespaces, number of streaming watches.

use watchscope_model::State;
use watchscope_model::id::WatchName;
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::vocabulary::Phase;

/// The state of all watches in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The cluster's name; empty before the cluster has answered.
    pub cluster: String,
    /// The cluster's version.
    pub version: String,
    /// The watched namespaces: `all`, one name, two names, or two names and the number of the others.
    pub namespaces: String,
    /// The state of the watches: `9 watches streaming`.
    pub words: String,
}

/// Summarises a state. Side watches and stopped watches do not count. A resource that is watched at several servers is
/// one watch, and it streams if all of them do.
#[must_use]
pub fn summarise(state: &State) -> Summary {
    let mut wanted: BTreeMap<&str, bool> = BTreeMap::new();
    let mut names = Vec::new();
    for (name, watch) in &state.watches {
        let phase = watch.phase.as_ref().map(|open| open.phase);
        if !name.is_aside() && phase != Some(Phase::Stopped) {
            names.push(name);
            let streams = wanted.entry(name.what_and_ordinal().0).or_insert(true);
            *streams &= phase == Some(Phase::Streaming);
        }
    }
    let streaming = wanted.values().filter(|streams| **streams).count();
    let cluster = state.cluster.as_ref();
    Summary {
        cluster: cluster.map_or_else(String::new, |cluster| cluster.cluster.to_string()),
        version: cluster.map_or_else(String::new, |cluster| cluster.version.to_string()),
        namespaces: namespaces(names.into_iter()),
        words: words(wanted.len(), streaming),
    }
}

fn words(watches: usize, streaming: usize) -> String {
    match (watches, streaming) {
        (0, _) => String::new(),
        (1, 1) => "1 watch streaming".to_owned(),
        (1, 0) => "1 watch, not streaming".to_owned(),
        (all, some) if all == some => format!("{all} watches streaming"),
        (all, some) => format!("{some} of {all} watches streaming"),
    }
}

fn namespaces<'a>(names: impl Iterator<Item = &'a WatchName>) -> String {
    let mut found: Vec<&str> = names
        .map(WatchName::namespace)
        .filter(|&name| name != "-")
        .collect();
    tree::sort(&mut found);
    found.dedup();
    match found[..] {
        [] => String::new(),
        _ if found.contains(&"*") => "all".to_owned(),
        [one] => one.to_owned(),
        [one, two] => format!("{one}, {two}"),
        [one, two, ..] => format!("{one}, {two} and {} more", found.len() - 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchscope_model::Time;
    use watchscope_model::event::{Event, Record, WatchPhase, WatchStarted};
    use watchscope_model::vocabulary::PhaseReason;

    fn sentence(phases: &[(&str, Phase)]) -> String {
        let mut state = State::default();
        let mut apply = |event: Event| {
            let record = Record {
                seq: state.seq.next(),
                at: Time(0),
                event,
            };
            state.apply(&record);
        };
        for &(name, phase) in phases {
            let started = WatchStarted::plain(name.into(), "", "pods");
            let phase = WatchPhase {
                watch: name.into(),
                from: None,
                to: phase,
                reason: PhaseReason::Started,
                delay_ms: None,
                error: None,
            };
            apply(started.into());
            apply(phase.into());
        }
        let summary = summarise(&state);
        format!("{}: {}", summary.namespaces, summary.words)
    }

    #[test]
    fn streaming_watches_are_counted() {
        let streaming = Phase::Streaming;
        let watches = [("shop/pods", streaming), ("shop/jobs.batch", streaming)];
        assert_eq!(sentence(&watches), "shop: 2 watches streaming");
    }

    #[test]
    fn side_watches_and_stopped_ones_do_not_count() {
        let watches = [
            ("a/pods", Phase::Streaming),
            ("b/pods", Phase::Waiting),
            ("-/nodes", Phase::Refused),
            ("a/pods#s", Phase::Streaming),
            ("a/jobs.batch", Phase::Stopped),
        ];
        assert_eq!(sentence(&watches), "a, b: 1 of 3 watches streaming");
    }

    #[test]
    fn watches_at_several_servers_count_as_one_that_streams_if_all_do() {
        let watches = [
            ("a/pods", Phase::Streaming),
            ("a/pods#2", Phase::Streaming),
            ("a/pods#3", Phase::Streaming),
            ("a/jobs.batch", Phase::Streaming),
            ("a/jobs.batch#2", Phase::Waiting),
        ];
        assert_eq!(sentence(&watches), "a: 1 of 2 watches streaming");
        assert_eq!(sentence(&watches[..3]), "a: 1 watch streaming");
    }
}
