//! Diagnosis: records in, judgements out.
//!
//! ```text
//!   record, and the fold before it ─► observe ─┐
//!                                              ├─► Diagnosis ─► attributions and findings (events to append)
//!                     the log's time ─► conclude ┘
//! ```
//!
//! Diagnosis has no clock and no fold of its own. The writer of the log (the backend, a story or a replay) passes each
//! record with the fold before it, asks when to call again, and appends the judgements. The same records give the same
//! judgements, whoever wrote the log.
//!
//! * [`attribution`] says why each stream ended (docs/semantics/streams.md#rules).
//! * [`findings`] says which failures of the catalogue (docs/findings) the records show.
//! * [`audit`] compares what watches hold with etcd, by reads of its own.
//! * [`explain`] has the texts about each failure.

mod attribution;
pub mod audit;
mod awake;
pub mod explain;
mod findings;
mod limits;
mod server_words;
mod text;
mod versions;

use watchscope_model::event::{Attribution, Clock, Finding};
use watchscope_model::fold::Moment;
use watchscope_model::options::ListOptions;
use watchscope_model::vocabulary::Standing;
use watchscope_model::{Event, Record, Row, State, Time};

pub use self::attribution::{
    MAX_ENDS, MAX_FACTS, REVISED_US, SUSPICION_REVISED_US, TOGETHER_US, is_suspicion,
};
use self::attribution::{StreamFacts, attribute};
use self::awake::Awake;
use self::findings::Findings;
pub use self::findings::{
    MAX_CLIENTS, MAX_EVIDENCE, MAX_FINDINGS, QUIET_US, REPORTED_AGAIN_US, REPORTED_RARELY_US,
};

/// Returns whether an event raises F33: etcd holds an older state than its watches have received, or another history
/// (docs/semantics/versions.md#restored-measured). False for a recurrence while that finding is open, and for a finding
/// about a single watch, server or client. After such an event each watch must list again, because its objects may
/// belong to a history that etcd no longer has.
#[must_use]
pub fn is_restored(event: &Event) -> bool {
    matches!(
        event,
        Event::Finding(Finding {
            code,
            state: Standing::Raised,
            watch: None,
            server: None,
            client: None,
            count: Some(1),
            ..
        }) if &**code == Row::F33.code()
    )
}

/// The state machine of diagnosis. The machine holds open streams, ends and facts while these can matter, the open
/// findings, and client programs. Each watch has at most one open stream. [`MAX_ENDS`], [`MAX_FACTS`], [`MAX_FINDINGS`]
/// and [`MAX_CLIENTS`] bound the others; the doc of each says what happens at its bound. All other memory grows with
/// the watches, streams, connections and servers of the log, and with the objects that have an open verdict.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    facts: StreamFacts,
    findings: Findings,
    awake: Awake,
}

impl Diagnosis {
    /// Returns a diagnosis that continues after a fold. The fold's open streams are judged when they end. Findings that
    /// are open in the fold are unknown to the diagnosis, so it neither counts nor clears them.
    #[must_use]
    pub fn since(state: &State) -> Self {
        Self {
            facts: StreamFacts::since(state),
            findings: Findings::since(state),
            awake: Awake::default(),
        }
    }

    /// Adds the next record of the log, judgements included. Each record must be added once, in the log's order.
    /// `before` is the fold of all records before it.
    pub fn observe(&mut self, before: &State, record: &Record) {
        if let Event::Clock(Clock {
            paused_ms: Some(paused_ms),
            ..
        }) = record.event
        {
            self.awake.pause(record.at, paused_ms);
        }
        let now = Moment {
            seq: record.seq,
            at: self.awake.of(record.at),
        };
        let options = match &record.event {
            Event::RequestSent(sent) => sent.options(),
            _ => ListOptions::default(),
        };
        self.facts.observe(before, &record.event, &options, now);
        let (awake, facts) = (&self.awake, &self.facts);
        self.findings
            .observe(before, &record.event, &options, now, awake, facts);
    }

    /// Returns when [`Diagnosis::conclude`] may have an event, on the log's clock, if no record comes before that;
    /// `None` if no event is to come. A past time means now.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        let due = [self.facts.wake_at(), self.findings.wake_at()];
        let due = due.into_iter().flatten().min();
        due.map(|due| self.awake.logged(due))
    }

    /// Returns the events to append at `now`, in their order: findings, then attributions. There are no events before
    /// [`Diagnosis::wake_at`], and there may be none at that time.
    ///
    /// An attribution says why a stream ended. An attribution is repeated with a better judgement if a later event
    /// gives one. [`REVISED_US`] says until when, and [`SUSPICION_REVISED_US`] for a suspicion. Findings are raised,
    /// updated and cleared.
    #[must_use]
    pub fn conclude(&mut self, now: Time) -> Vec<Event> {
        let now = self.awake.of(now);
        let mut out = Vec::new();
        if self.findings.wake_at().is_some_and(|due| due <= now) {
            self.findings.conclude(now, &self.awake, &mut out);
        }
        if self.facts.wake_at().is_none_or(|due| due > now) {
            return out;
        }
        for place in self.facts.judgeable(now) {
            let judgement = attribute(self.facts.end(place), &self.facts);
            if let Some((watch, stream)) = self.facts.publish(place, &judgement) {
                let event = Attribution {
                    watch,
                    stream,
                    code: judgement.why.code().into(),
                    certainty: judgement.certainty,
                    evidence: judgement.evidence,
                };
                out.push(event.into());
            }
        }
        self.facts.forget(now);
        out
    }
}
