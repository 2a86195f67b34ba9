//! A case: a stream's end with the facts around it that the rules need.

use std::cell::OnceCell;

use watchscope_model::vocabulary::{Cause, Certainty};
use watchscope_model::{Row, Seq};

use super::end::End;
use super::fact::{Fact, FactKind};
use super::facts::StreamFacts;
use super::judgement::Judgement;

/// Smallest buffer that a server has for a watch, in events (F36; docs/semantics/servers.md#buffers). A stream with
/// fewer events cannot have filled this buffer.
const SMALLEST_BUFFER: u64 = 10;
/// Greatest difference in ms between a stream's age and its timeout at which the end counts as that timeout. Such an
/// end shows no slowness (F36; docs/semantics/streams.md#rule-slow-reader) and no rebuilt cache (F16, F17). The number
/// has no source. It is wider than the 2 s of a sure timeout, so a slightly late timeout counts as neither of these.
const SLOW_MARGIN_MS: u64 = 5_000;

/// An end with the facts around it. Values that only later rules need are computed on first use.
pub(super) struct Case<'a> {
    pub(super) end: &'a End,
    pub(super) facts: &'a StreamFacts,
    group: OnceCell<Group<'a>>,
    left: OnceCell<Option<Judgement>>,
}

/// The streams to one server that ended together with the judged end, this end included, one for each watch. Streams
/// whose ends explain themselves are left out, except those that a reset ended.
pub(super) struct Group<'a> {
    pub(super) ended: Vec<&'a End>,
    /// The number of streams to the server that lived on, and that had opened over 250 ms before the judged end.
    pub(super) alive: usize,
}

impl<'a> Case<'a> {
    pub(super) fn new(end: &'a End, facts: &'a StreamFacts) -> Self {
        Self {
            end,
            facts,
            group: OnceCell::new(),
            left: OnceCell::new(),
        }
    }

    pub(super) fn group(&self) -> &Group<'a> {
        self.group.get_or_init(|| {
            let (ended, alive) = match &self.end.stream.remote {
                Some(remote) => self
                    .facts
                    .together(self.end, |other| other.remote.as_ref() == Some(remote)),
                None => (vec![self.end], 0),
            };
            Group { ended, alive }
        })
    }

    /// Returns the records of the group's ends.
    pub(super) fn also(&self) -> impl Iterator<Item = Seq> {
        self.group().ended.iter().map(|other| other.seq)
    }

    /// Returns the records of the facts of a kind that came after the end and concern any watch of the group.
    pub(super) fn of_group(&self, kind: FactKind) -> Vec<Seq> {
        self.after(kind, &self.group().ended)
    }

    /// Returns the records of the facts of a kind that came after the end and concern the end's own watch.
    pub(super) fn of_watch(&self, kind: FactKind) -> Vec<Seq> {
        self.after(kind, &[self.end])
    }

    fn after(&self, kind: FactKind, ends: &[&End]) -> Vec<Seq> {
        let facts = self.facts.facts_after(kind, self.end, ends);
        facts.map(|fact: &Fact| fact.seq).collect()
    }

    /// Returns whether at least four fifths of the streams to the server ended together, and at least two did.
    pub(super) fn is_whole_server(&self) -> bool {
        let Group { ended, alive } = self.group();
        ended.len() >= 2 && is_most(ended.len(), *alive)
    }

    /// Returns whether the connections of at least four fifths of the group's streams closed with their streams.
    ///
    /// A server that ends or resets a stream leaves its connection open. All other ends close the connection. The end's
    /// own connection alone shows nothing about the server (docs/semantics/streams.md#with-connections).
    pub(super) fn is_connection_gone(&self) -> bool {
        let ended = &self.group().ended;
        let is_closed = |other: &&&End| {
            if !matches!(other.cause, Cause::End | Cause::RstStream) {
                return true;
            }
            let own = std::slice::from_ref(*other);
            let mut facts = self.facts.facts_after(FactKind::Closed, other, own);
            facts.any(|fact| fact.connection == other.stream.connection)
        };
        let closed = ended.iter().filter(is_closed).count();
        is_most(closed, ended.len() - closed)
    }

    /// Returns the judgement that the server announced by a GOAWAY that it leaves (F09); `None` if it does not apply.
    ///
    /// A GOAWAY lets open streams go on. So it explains an end only if at least four fifths of the connection's streams
    /// end together.
    pub(super) fn left(&self) -> Option<&Judgement> {
        let left = self.left.get_or_init(|| {
            let end = self.end;
            let goaway = end.goaway?;
            let is_of_connection = end.stream.connection;
            let (ended, alive) = self
                .facts
                .together(end, |other| other.connection == is_of_connection);
            // The last stream of the connection may have ended in order for any other reason.
            let certainty = if end.cause == Cause::End && ended.len() == 1 {
                Certainty::Suspected
            } else {
                Certainty::Likely
            };
            is_most(ended.len(), alive).then(|| {
                end.judged(Row::F09, certainty)
                    .with([goaway])
                    .with(ended.iter().map(|other| other.seq))
            })
        });
        left.as_ref()
    }

    pub(super) fn is_near_timeout(&self) -> bool {
        let is_near = |timeout_ms| self.end.age_ms.abs_diff(timeout_ms) <= SLOW_MARGIN_MS;
        self.end.stream.timeout_ms.is_some_and(is_near)
    }

    /// Returns whether the stream can have filled the server's buffer of a watch, and did not end near its timeout.
    pub(super) fn may_be_slow(&self) -> bool {
        self.end.events >= SMALLEST_BUFFER && !self.is_near_timeout()
    }
}

/// Returns whether at least four fifths of all streams, `ended` and `alive`, ended.
pub(super) fn is_most(ended: usize, alive: usize) -> bool {
    ended * 5 >= (ended + alive) * 4
}
