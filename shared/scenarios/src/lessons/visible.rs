//! Which entries of a lesson's log change the picture, so that a stretch without such entries plays faster.

use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::Standing;
use watchscope_model::{Entry, Event};

/// Finds the entries that change the picture. The caller passes it every entry of a run, in order.
///
/// A clock record changes nothing, and a repetition changes nothing. A repetition is one of these: a report with the
/// phase and belief of the one before, a request like the client's last one, an update of a finding. The number of
/// clients bounds the memory.
#[derive(Debug, Default)]
pub(super) struct Visible {
    /// The phase of each client's last report.
    phases: BTreeMap<String, String>,
    /// The last request of each client.
    requests: BTreeMap<String, String>,
}

impl Visible {
    /// Returns whether an entry changes the picture.
    pub(super) fn takes(&mut self, entry: &Entry) -> bool {
        let Entry::Record(record) = entry else {
            return true;
        };
        match &record.event {
            Event::ClientReport(report) => {
                let phase = report.phase.to_string();
                let before = self.phases.insert(report.client.to_string(), phase);
                report.belief.is_some() || before.as_deref() != Some(&*report.phase)
            }
            Event::ClientRequest(sent) => {
                let request = sent.request.clone();
                let before = self.requests.insert(sent.client.to_string(), request);
                before.as_ref() != Some(&sent.request)
            }
            Event::Finding(finding) => finding.state != Standing::Updated,
            Event::Clock(_) => false,
            _ => true,
        }
    }
}
