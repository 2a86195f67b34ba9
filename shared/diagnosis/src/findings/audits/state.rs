//! The findings from the audit so far, and the records that are their evidence.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::{Change, Verdict};
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::tree::{self, BTreeMap, BTreeSet};
use watchscope_model::{Object, Row, Seq, Text, WatchName};

use super::restored::Restored;

/// Most changes of each watch whose records are remembered; a further change replaces the oldest. For an object that
/// changed earlier, the record since which it is held is named as its last event. The limit bounds the memory of each
/// watch. The number has no source.
const CHANGES_KEPT: usize = 256;
/// Time in µs within which the audit's results for several watches may have one cause. Findings that last are joined at
/// any distance, and all findings with this time last. The audit reads one watch after the other; it comes to each of
/// six small watches of a server within a minute (docs/audit.md#how-much-is-read). The number has no other source.
pub(super) const TURN_US: i64 = 60_000_000;

/// The results of the audit: objects that are confirmed to be wrong, streams that deliver nothing, and an etcd that
/// went back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audits {
    pub(super) wrong: BTreeMap<WatchName, BTreeSet<(Option<Text>, Text)>>,
    /// The records that may be evidence for findings about a watch's objects.
    pub(super) grounds: BTreeMap<WatchName, Grounds>,
    /// The watches whose streams deliver nothing, with the reasons: opened at a version that their server has not
    /// reached (F32), silent since an edit of the CRD (F17), or behind (F31).
    pub(super) silent: BTreeMap<WatchName, BTreeSet<Row>>,
    /// The watches whose list at their version was refused because the server had not reached it: the record that
    /// opened the stream, and the first refusal.
    pub(super) too_large: BTreeMap<WatchName, (Seq, Moment)>,
    /// The last moment at which etcd was found to have gone back (F33); `None` if it never was.
    pub(super) restored: Option<Restored>,
}

/// Records that may be evidence for a finding about an object of a watch.
#[derive(Clone, Debug, Default)]
pub(super) struct Grounds {
    /// The watch's last changes, at most [`CHANGES_KEPT`].
    changes: VecDeque<(Arc<Object>, Seq)>,
    /// The last read of the audit that differed from what the watch held; `None` if none did.
    pub(super) read: Option<Seq>,
    /// For each object whose verdict is raised and not confirmed, the first read that differed.
    pub(super) first_reads: BTreeMap<(Option<Text>, Text), Seq>,
}

impl Grounds {
    pub(super) fn changed(&mut self, object: &Arc<Object>, seq: Seq) {
        if self.changes.len() == CHANGES_KEPT {
            self.changes.pop_front();
        }
        self.changes.push_back((object.clone(), seq));
    }

    /// Returns the records of the object's last event, of the last bookmark, and of the two reads that differ. Records
    /// that are not known are left out.
    pub(super) fn evidence(&mut self, event: &Verdict, watch: Option<&Watch>) -> Vec<Seq> {
        let place = (event.object.namespace.clone(), event.object.name.clone());
        let mut changes = self.changes.iter().rev();
        let changed = changes.find(|(object, _)| **object == *event.object);
        let held = watch.and_then(|watch| watch.held(&event.object));
        let last = changed.map(|(_, seq)| *seq);
        let last = last.or_else(|| Some(held?.since.seq));
        let stream = watch.and_then(|watch| watch.stream.as_ref());
        let bookmark = stream.and_then(|stream| Some(stream.bookmark?.seq));
        let mut evidence = Vec::new();
        evidence.extend(last);
        evidence.extend(bookmark);
        evidence.extend(self.first_reads.remove(&place));
        evidence.extend(self.read);
        tree::sort(&mut evidence);
        evidence.dedup();
        evidence
    }
}

impl Audits {
    /// Notes a change. A later verdict may name it as evidence.
    pub(crate) fn changed(&mut self, event: &Change, record: Moment) {
        let grounds = self.grounds.entry(event.watch.clone()).or_default();
        grounds.changed(&event.object, record.seq);
    }

    /// Forgets a stopped watch.
    pub(crate) fn forget(&mut self, watch: &WatchName) {
        self.wrong.remove(watch);
        self.grounds.remove(watch);
        self.silent.remove(watch);
        self.too_large.remove(watch);
    }
}
