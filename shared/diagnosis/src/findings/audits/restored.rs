//! A moment when etcd was found to have gone back (F33).

use watchscope_model::fold::{Moment, Watch};
use watchscope_model::tree::{BTreeMap, BTreeSet};
use watchscope_model::vocabulary::Phase;
use watchscope_model::{ResourceVersion, Seq, State, Text, WatchName};

/// The state of watches at the moment when etcd was found to have gone back.
#[derive(Clone, Debug)]
pub(super) struct Restored {
    pub(super) at: Seq,
    /// The version that each watch had reached at that moment.
    pub(super) reached: BTreeMap<WatchName, u64>,
    /// If a list below a watch's version showed the restore: that list, and the servers that have answered so. `None`
    /// otherwise, and once all servers have answered.
    pub(super) below: Option<Below>,
}

/// A list of the newest state (without a resourceVersion) that was below the version of its watch.
#[derive(Clone, Debug)]
pub(super) struct Below {
    /// The resource whose servers must answer. Each resource may have an etcd of its own.
    pub(super) resource: Resource,
    /// The finding's sentence, without the answers of the other servers.
    pub(super) sentence: String,
    /// The addresses of the servers that listed a newest state (without a resourceVersion) below what they had
    /// delivered before.
    pub(super) servers: BTreeSet<Text>,
}

impl Restored {
    pub(super) fn now(before: &State, record: Moment, below: Option<Below>) -> Self {
        let reached = before.watches.iter().filter_map(|(name, watch)| {
            let progress = watch.progress.as_ref()?;
            Some((name.clone(), progress.number()?))
        });
        Self {
            at: record.seq,
            reached: reached.collect(),
            below,
        }
    }

    /// Returns whether a watch may have an event of this version from before the restore, because the watch has again
    /// reached the version that it had then. A server's watch cache does not begin anew when etcd goes back; it
    /// delivers the old events once more.
    pub(super) fn is_kept(&self, name: &WatchName, watch: &Watch, version: u64) -> bool {
        let progress = watch.progress.as_ref().map_or(0, number);
        let mut reached = self.reached.get(name).into_iter();
        reached.any(|reached| version <= *reached && *reached <= progress)
    }
}

/// Group and plural name of a resource.
type Resource = (Text, Text);

impl Below {
    /// Returns the number of servers to which watches of the resource are pinned, if each answered with a newest list
    /// below what it had delivered; else `None`. A server that cannot be reached has not answered. Also returns `None`
    /// if no watch of the resource is pinned to a server. Stopped watches, and watches that are not pinned, do not
    /// count.
    pub(super) fn answers(&self, before: &State) -> Option<usize> {
        let watches = before.watches.values();
        let of_it = watches.filter(|watch| {
            let phase = watch.phase.as_ref().map(|phase| phase.phase);
            phase != Some(Phase::Stopped) && resource_of(watch) == self.resource
        });
        let servers: BTreeSet<&Text> = of_it.filter_map(|watch| watch.server.as_ref()).collect();
        let have_all = servers.iter().all(|server| self.servers.contains(*server));
        (have_all && !servers.is_empty()).then_some(servers.len())
    }

    /// Returns the finding's sentence. `all` is the number of servers if all have answered; else `None`.
    pub(super) fn summary(&self, all: Option<usize>) -> String {
        let others = match all {
            None => String::new(),
            Some(1) => ", and there is no other server".to_owned(),
            Some(servers) => format!(", and all {servers} servers agree"),
        };
        format!(
            "{}{others}: etcd went back to an older state.",
            self.sentence
        )
    }
}

pub(super) fn resource_of(watch: &Watch) -> Resource {
    (watch.group.clone(), watch.resource.clone())
}

pub(super) fn number(version: &ResourceVersion) -> u64 {
    version.number().unwrap_or(0)
}
