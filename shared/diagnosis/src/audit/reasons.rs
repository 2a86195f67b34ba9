//! Reasons why a read of the audit cannot decide, or why its result is limited. Only this file turns reasons into
//! sentences.

use std::fmt;

use watchscope_model::vocabulary::{AuditReason, Authority};
use watchscope_model::{ResourceVersion, Text};

use crate::text::count;

/// A reason why a read cannot decide or its result is limited, with the numbers and names for its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The watch cache may have answered the list.
    MayBeACaches,
    /// The watch cache may have answered the list, and the server refuses exact lists.
    RefusesBoth,
    /// The watch cache may have answered the list, and the differences are looked up.
    LookedUp,
    /// The watch cache may have answered the list, and the differences are known to be wrong.
    KnownDifference,
    /// An aggregated apiserver's versions have no known order, so only equality can be found.
    OnlyEqual,
    /// An aggregated apiserver's versions have no known order, and something differs.
    NotEqual,
    /// An aggregated apiserver's versions have no known order, and the list has several pages.
    PagesUnordered,
    /// An object's versions are not numbers.
    Unordered,
    /// The watch's version is not a number.
    NoPosition,
    /// Exact lists are refused. The newest list has the watch's version by chance, and cannot be repeated at that
    /// version.
    RefusesExact,
    /// Exact lists are refused, so a difference cannot be confirmed.
    CannotConfirm,
    /// Exact lists are refused, and one page of the newest list does not show all objects.
    FirstPageOnly,
    /// Objects are listed by name, because GETs of them are refused.
    RefusesGet,
    /// The server cannot list metadata alone.
    ListsWhole,
    /// The watch has more than [`MOST_LISTED`](super::MOST_LISTED) objects.
    TooLong,
    /// The state of the watch at the read's version is unknown.
    NoPast,
    /// The version was compacted, so it can no longer be read.
    Compacted,
    /// This number of items could not be read.
    Unreadable(u64),
    /// This number of objects have versions that cannot be compared.
    NotComparable(u64),
    /// The list has another resourceVersion than was requested.
    OtherVersion {
        asked: ResourceVersion,
        listed: ResourceVersion,
    },
    /// The server answered with this HTTP status, not with 200.
    Refused(u16),
    /// There was no connection.
    Unreached,
    /// The answer cannot be read.
    NoAnswer,
    /// The watch received changes during the read.
    MovedOn,
    /// The watch has no open stream.
    NotStreaming,
    /// The sweep of a watch ended when only some of its objects had been looked up.
    Cut { by: Cut, so: u64, all: u64 },
    /// Some of the objects of a sweep could not be looked up.
    NotLookedUp { failed: u64, all: u64 },
    /// This number of objects changed during a sweep.
    Changed(u64),
    /// An object only left the watch's selector: etcd still has it.
    OnlyLeft,
    /// The watch has made no progress for `for_s` seconds and has not reached a list's version.
    StandsStill {
        at: ResourceVersion,
        listed: ResourceVersion,
        for_s: i64,
    },
    /// The server's watch cache has not reached the requested version.
    CacheBehind {
        asked: ResourceVersion,
        current: ResourceVersion,
    },
    /// The watch was opened at a version above that which the server's watch cache has reached.
    FromTheFuture {
        known: ResourceVersion,
        opened: ResourceVersion,
        listed: ResourceVersion,
    },
    /// The newest list's version is below the watch's progress.
    WentBack {
        listed: ResourceVersion,
        seen: ResourceVersion,
    },
    /// Reads show an object that is newer than the stream, which delivered nothing for `for_s` seconds.
    ReadsAhead {
        at: ResourceVersion,
        for_s: i64,
        read: ResourceVersion,
    },
    /// The list was made by another server.
    OtherServer { holds: Elsewhere, server: Text },
    /// The result of a comparison with a second watch's events between these versions.
    Second {
        of: SecondWatch,
        from: ResourceVersion,
        to: ResourceVersion,
    },
}

/// The events that end a sweep early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The watch was stopped.
    Stopped,
    /// The watch's stream ended, and no stream followed soon.
    NotStreaming,
    /// The watch was listed anew.
    ListedAnew,
}

/// The result of a comparison with another server's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// The list has exactly what the watch holds.
    Same,
    /// The list differs only in objects with a known verdict.
    Known,
    /// The differences are looked up in etcd.
    LookedUp,
}

/// The result of a comparison with a second watch's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecondWatch {
    /// Both watches delivered the same events.
    Same,
    /// The second watch lacks this number of events.
    Lacks(u64),
    /// The second watch has this number of events more.
    HasMore(u64),
}

impl Reason {
    /// Returns the kind of the reason, as the record has it.
    pub(super) fn kind(&self) -> AuditReason {
        match self {
            Self::MayBeACaches => AuditReason::MayBeACaches,
            Self::RefusesBoth => AuditReason::RefusesBoth,
            Self::LookedUp => AuditReason::LookedUp,
            Self::KnownDifference => AuditReason::KnownDifference,
            Self::OnlyEqual => AuditReason::OnlyEqual,
            Self::NotEqual => AuditReason::NotEqual,
            Self::PagesUnordered => AuditReason::PagesUnordered,
            Self::Unordered => AuditReason::Unordered,
            Self::NoPosition => AuditReason::NoPosition,
            Self::RefusesExact => AuditReason::RefusesExact,
            Self::CannotConfirm => AuditReason::CannotConfirm,
            Self::FirstPageOnly => AuditReason::FirstPageOnly,
            Self::RefusesGet => AuditReason::RefusesGet,
            Self::ListsWhole => AuditReason::ListsWhole,
            Self::TooLong => AuditReason::TooLong,
            Self::NoPast => AuditReason::NoPast,
            Self::Compacted => AuditReason::Compacted,
            Self::Unreadable(_) => AuditReason::Unreadable,
            Self::NotComparable(_) => AuditReason::NotComparable,
            Self::OtherVersion { .. } => AuditReason::OtherVersion,
            Self::Refused(_) => AuditReason::Refused,
            Self::Unreached => AuditReason::Unreached,
            Self::NoAnswer => AuditReason::NoAnswer,
            Self::MovedOn => AuditReason::MovedOn,
            Self::Cut {
                by: Cut::Stopped, ..
            } => AuditReason::Stopped,
            Self::Cut {
                by: Cut::ListedAnew,
                ..
            } => AuditReason::ListedAnew,
            Self::NotStreaming
            | Self::Cut {
                by: Cut::NotStreaming,
                ..
            } => AuditReason::NotStreaming,
            Self::NotLookedUp { .. } => AuditReason::NotLookedUp,
            Self::Changed(_) => AuditReason::Changed,
            Self::OnlyLeft => AuditReason::OnlyLeft,
            Self::StandsStill { .. } => AuditReason::StandsStill,
            Self::CacheBehind { .. } => AuditReason::CacheBehind,
            Self::FromTheFuture { .. } => AuditReason::FromTheFuture,
            Self::WentBack { .. } => AuditReason::WentBack,
            Self::ReadsAhead { .. } => AuditReason::ReadsAhead,
            Self::OtherServer { .. } => AuditReason::OtherServer,
            Self::Second { of, .. } => match of {
                SecondWatch::Same => AuditReason::Span,
                SecondWatch::Lacks(_) => AuditReason::SecondLacks,
                SecondWatch::HasMore(_) => AuditReason::SecondHasMore,
            },
        }
    }

    /// Returns who answered the read (etcd or a watch cache), if the reason says it.
    pub(super) fn authority(&self) -> Option<Authority> {
        match self {
            Self::MayBeACaches | Self::RefusesBoth | Self::LookedUp | Self::KnownDifference => {
                Some(Authority::PerhapsCache)
            }
            Self::OnlyEqual => Some(Authority::Etcd),
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MayBeACaches => "the list may come from the watch cache, which may believe in objects that etcd \
                does not have",
            Self::RefusesBoth => "the list may come from the watch cache, and the server refuses lists at an exact \
                resourceVersion",
            Self::LookedUp => "the list may come from the watch cache; objects that differ are looked up in etcd",
            Self::KnownDifference => "the list may come from the watch cache; it differs only in objects that are \
                known to be wrong",
            Self::OnlyEqual => "its versions are another apiserver's and are only compared for equality",
            Self::NotEqual => "its versions are another apiserver's and are only compared for equality; events for \
                the objects that differ may still come",
            Self::PagesUnordered => "its versions are another apiserver's, and the pages of a list may show \
                different states",
            Self::Unordered => "versions that are not numbers do not show which is newer",
            Self::NoPosition => "the version of the watch is not known as a number, so no read has the same version",
            Self::RefusesExact => "the server refuses lists at an exact resourceVersion; the newest list is at the \
                version of the watch",
            Self::CannotConfirm => "an object differs, and the server refuses to list it at the version of the watch",
            Self::FirstPageOnly => "the server refuses lists at an exact resourceVersion; only the first page of the \
                newest list is compared",
            Self::RefusesGet => "a GET of these objects is not allowed; they were listed by name",
            Self::ListsWhole => "the server does not list metadata alone, so whole objects were read",
            Self::TooLong => "more than 5,000 objects are not listed at once; they are looked up one by one",
            Self::NoPast => "the state that the watch held is unknown, because its stream delivered events out of \
                order",
            Self::Compacted => "the state that the watch held then can no longer be read or rebuilt",
            Self::Unreached => "there was no connection for the request",
            Self::NoAnswer => "no readable answer came",
            Self::MovedOn => "the watch moved on during the read; ask again",
            Self::NotStreaming => "the watch is not streaming, so there is nothing to compare yet",
            Self::OnlyLeft => "it has the same uid: it only left the selector",
            Self::Unreadable(items) => return write!(f, "{items} items could not be read"),
            Self::NotComparable(objects) => return write!(f, "{objects} objects have versions that cannot be compared"),
            Self::OtherVersion { asked, listed } => return write!(f, "the request asked for {asked}, but the server \
                listed {listed}"),
            Self::Refused(status) => return write!(f, "the server answered {status}"),
            Self::Cut { by, so, all } => {
                let why = match by {
                    Cut::Stopped => "the watch was stopped",
                    Cut::NotStreaming => "the watch stopped streaming",
                    Cut::ListedAnew => "the watch listed again",
                };
                let all = count(*all, "object");
                return write!(f, "{why} when {so} of {all} had been looked up in etcd and agreed");
            }
            Self::NotLookedUp { failed, all } => {
                return write!(f, "{failed} of {} could not be looked up in etcd", count(*all, "object"));
            }
            Self::Changed(objects) => return write!(f, "{objects} changed meanwhile; the stream delivers these \
                changes"),
            Self::StandsStill { at, listed, for_s } => {
                return write!(f, "the watch is at {at} and has not reached {listed} in {for_s} s; a list at {listed} \
                    differed");
            }
            Self::CacheBehind { asked, current } => return write!(f, "the request asked for {asked}, but the server \
                has only reached {current}"),
            Self::FromTheFuture { known, opened, listed } => {
                return write!(
                    f,
                    "the server knows nothing beyond {known}; the stream was opened at {opened}, and a list at \
                     {listed} differs from the held objects",
                );
            }
            Self::WentBack { listed, seen } => {
                return write!(f, "the newest list is at {listed}, though the watch has seen {seen}");
            }
            Self::ReadsAhead { at, for_s, read } => {
                return write!(
                    f,
                    "the stream is at {at} and has delivered nothing for {for_s} s; meanwhile reads showed an object \
                     at {read}"
                );
            }
            Self::OtherServer { holds, server } => {
                let why = match holds {
                    Elsewhere::Same => "",
                    Elsewhere::Known => "only in objects that are known to be wrong; ",
                    Elsewhere::LookedUp => "objects that differ are looked up in etcd, to find which server is wrong; ",
                };
                return write!(f, "{why}read from {server}");
            }
            Self::Second { of, from, to } => {
                return match of {
                    SecondWatch::Same => write!(f, "in the events from {from} to {to}"),
                    SecondWatch::Lacks(events) => {
                        let events = count(*events, "event");
                        write!(f, "the second watch lacked {events} from {from} to {to}")
                    }
                    SecondWatch::HasMore(events) => {
                        let events = count(*events, "event");
                        write!(f, "a second watch delivered {events} from {from} to {to} that this one did not")
                    }
                };
            }
        })
    }
}

/// Returns the sentences of the reasons as one text; `None` without a reason.
pub(super) fn sentence<'a>(reasons: impl Iterator<Item = &'a Reason>) -> Option<Text> {
    let words: Vec<String> = reasons.map(Reason::to_string).collect();
    (!words.is_empty()).then(|| words.join("; ").as_str().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_become_one_sentence_in_their_order() {
        let (by, so, all) = (Cut::ListedAnew, 3, 9);
        let reasons = [Reason::Cut { by, so, all }, Reason::Changed(1)];
        insta::assert_snapshot!(
            sentence(reasons.iter()).unwrap(),
            @"the watch listed again when 3 of 9 objects had been looked up in etcd and agreed; 1 changed meanwhile; the stream delivers these changes"
        );
        assert_eq!(reasons[0].kind(), AuditReason::ListedAnew);
        assert_eq!(sentence([].iter()), None);
    }
}
