//! A judgement in short form: its subject, its content and its time.

use watchscope_model::event::{Attribution, Finding};
use watchscope_model::vocabulary::{Certainty, Severity, Standing};
use watchscope_model::{Event, Seq, StreamId, Text, Time, WatchName};

/// The most time in microseconds between two judgements that count as the same; judgements further apart count as
/// different. A judgement made again that was not recorded is appended once it is overdue by more than this time. A
/// host whose timer fired at most this late may have recorded one of the two. The number has no source: a longer time
/// would hide judgements that came at another time.
pub const LATE_US: i64 = 100_000;

/// The subject of a judgement. Only judgements with the same subject are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// The end of a stream.
    End {
        /// The stream.
        stream: StreamId,
        /// The stream's watch.
        watch: WatchName,
    },
    /// A finding.
    Finding {
        /// The finding's code (`F11`).
        code: Text,
        /// The watch, connection, type, server or client that the finding concerns, as [`Finding::subject`] names it;
        /// `None` for the whole cluster.
        subject: Option<Text>,
    },
}

/// The content of a judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// Why the stream ended.
    End {
        /// An F number, `ours`, `normal` or `unknown`.
        code: Text,
        /// How certain the attribution is.
        certainty: Certainty,
    },
    /// The state of the finding.
    Finding {
        /// Whether the finding is raised, updated or over.
        state: Standing,
        /// The finding's severity.
        severity: Severity,
    },
}

/// A judgement in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The judgement's subject.
    pub about: About,
    /// The judgement's content.
    pub says: Says,
    /// The time of the judgement's record. If the judgement is made again, this is its due time, or the time of the
    /// record before if that is later.
    pub at: Time,
}

impl Judgement {
    /// The judgement in an event; `None` for all other events.
    pub(super) fn of(event: &Event, at: Time) -> Option<Self> {
        let (about, says) = match event {
            Event::Attribution(Attribution {
                watch,
                stream,
                code,
                certainty,
                ..
            }) => (
                About::End {
                    stream: *stream,
                    watch: watch.clone(),
                },
                Says::End {
                    code: code.clone(),
                    certainty: *certainty,
                },
            ),
            Event::Finding(finding) => (
                About::of(finding),
                Says::Finding {
                    state: finding.state,
                    severity: finding.severity,
                },
            ),
            _ => return None,
        };
        Some(Self { about, says, at })
    }

    /// Whether the two judgements have the same subject and content, at most [`LATE_US`] apart.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let apart_us = self.at.micros_since(other.at).saturating_abs();
        self.about == other.about && self.says == other.says && apart_us <= LATE_US
    }

    /// Whether the judgement's subject is still open after it. The end of a stream stays open until it is forgotten.
    pub(super) fn stands(&self) -> bool {
        match self.says {
            Says::End { .. } => true,
            Says::Finding { state, .. } => state != Standing::Cleared,
        }
    }
}

impl About {
    pub(super) fn of(finding: &Finding) -> Self {
        Self::Finding {
            code: finding.code.clone(),
            subject: finding.subject(),
        }
    }
}

/// The seqs of the records that a judgement rests on.
pub(super) fn evidence(event: &Event) -> &[Seq] {
    match event {
        Event::Attribution(attribution) => &attribution.evidence,
        Event::Finding(finding) => &finding.evidence,
        _ => &[],
    }
}

/// The subject of a judgement and the watches that it names.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    about: About,
    /// The watches that the judgement names: at most [`watchscope_model::event::MAX_NAMES`] and one more.
    watches: Vec<WatchName>,
    has_more: bool,
}

impl Reach {
    pub(super) fn of(event: &Event, about: &About) -> Self {
        match event {
            Event::Finding(finding) => Self::of_finding(finding),
            _ => Self {
                about: about.clone(),
                watches: Vec::new(),
                has_more: false,
            },
        }
    }

    pub(super) fn of_finding(finding: &Finding) -> Self {
        let watches = finding.names.iter().chain(&finding.watch);
        Self {
            about: About::of(finding),
            watches: watches.cloned().collect(),
            has_more: finding.has_more(),
        }
    }

    /// Whether the two judgements have the same subject, or are findings of the same code that concern, or may concern,
    /// a common watch.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let has = |watch| other.watches.contains(watch);
        let is_alike = match (&self.about, &other.about) {
            (About::Finding { code, .. }, About::Finding { code: of, .. }) => {
                code == of && (self.has_more || other.has_more || self.watches.iter().any(has))
            }
            _ => false,
        };
        is_alike || self.about == other.about
    }
}
