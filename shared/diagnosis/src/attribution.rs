//! Why a stream ended: the rules of docs/semantics/streams.md#rules, in their order.
//!
//! A replay of at least 10 events right after an early orderly end shows a slow reader
//! (docs/semantics/streams.md#rule-slow-reader): likely, twice in a row too, and definite only where our own slow
//! reading was measured.
//!
//! Where the resume after an early orderly end meets a 410 and no 429, the list that follows shows whether the cache was
//! built anew (F16, F17) or has run over (F11). A cache drops events only while it holds at least 100, so it was built
//! anew if the list stands less than 100 revisions above the oldest one left. How near that oldest one is to the
//! watch's progress proves nothing: a cache that has just run over has one as near.

use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{Cause, Certainty};
use watchscope_model::{Row, Seq, tree};

use crate::ends::{BARREN_MS, End, Ends, Fact, FactKind, ServerError};
use crate::server_words;

/// A stream that ends so close to the timeout it asked for ended by it (F05), in milliseconds.
const TIMEOUT_SLACK_MS: u64 = 2_000;
/// An end in good order that comes so much later than the timeout was held up on its way, as a buffering proxy does
/// (F44): a server ends the stream by then. Later than this the server does not keep to timeouts. In milliseconds.
const TIMEOUT_LATE_MS: u64 = 60_000;
/// Lives of a stream that asked for no timeout (1800 s to 3600 s: docs/semantics/servers.md#watch-lifetime), in
/// milliseconds.
const SERVER_TIMEOUT_MS: std::ops::RangeInclusive<u64> = 1_800_000..=3_602_000;
/// The smallest buffer of a watcher at the server (F36): a stream with fewer events cannot have filled it.
const SMALLEST_BUFFER: u64 = 10;
/// So many barren streams in a row are more than chance (F10).
const BARREN_STREAMS: u32 = 3;
/// So many streams in a row that ended before all of their initial events had come are more than chance (F37).
const CUT_SHORT_STREAMS: u32 = 2;
/// A stream found dead so long after it should have ended may as well be of a server that keeps to no timeouts, in
/// milliseconds.
const OVERDUE_MS: u64 = 30_000;
/// A stream that lived this close to the asked timeout is not said to be cut off for slowness (F36), in milliseconds.
const SLOW_MARGIN_MS: u64 = 5_000;

/// Why a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) why: Attributed,
    pub(crate) certainty: Certainty,
    /// The end itself, then what else says so.
    pub(crate) evidence: Vec<Seq>,
}

impl Answer {
    fn new(why: impl Into<Attributed>, certainty: Certainty, end: &End) -> Self {
        Self {
            why: why.into(),
            certainty,
            evidence: vec![end.seq],
        }
    }

    fn with(mut self, evidence: impl IntoIterator<Item = Seq>) -> Self {
        self.evidence.extend(evidence);
        tree::sort(&mut self.evidence);
        self.evidence.dedup();
        self
    }
}

/// Whether the end itself says why, so that neither others' ends nor waiting are needed. A reset is plain too, but what
/// follows may show that the server went away.
pub(crate) fn is_plain(end: &End) -> bool {
    by_itself(end).is_some() || end.pause.is_some_and(|pause| !pause.is_short)
}

/// Says why a stream ended, as far as is known by now.
pub(crate) fn attribute(end: &End, ends: &Ends) -> Answer {
    let of_pause = || {
        let pause = end.pause?;
        Some(by_pause(end, pause.is_short)?.with([pause.seq]))
    };
    // What a server said, or that it went away, a short pause did not do.
    let is_short = end.pause.is_some_and(|pause| pause.is_short);
    if (!is_short || end.cause == Cause::IdleTimeout)
        && let Some(answer) = of_pause()
    {
        return answer;
    }
    if end.cause != Cause::TcpReset
        && let Some(answer) = by_itself(end)
    {
        return answer;
    }
    let (together, alive) = match &end.stream.remote {
        Some(remote) => ends.together(end, |other| other.remote.as_ref() == Some(remote)),
        None => (vec![end], 0),
    };
    let also = || together.iter().map(|other| other.seq);
    let is_whole_server = together.len() >= 2 && is_most(together.len(), alive);
    let seqs = |kind| -> Vec<Seq> {
        ends.facts_after(kind, end, &together)
            .map(|fact: &Fact| fact.seq)
            .collect()
    };

    // A server that went away (docs/semantics/streams.md#rule-server-gone), with what the next requests met.
    let mut shutting_down = seqs(FactKind::ShuttingDown);
    shutting_down.extend(ends.shut_down(end));
    if !shutting_down.is_empty() {
        return Answer::new(Row::F07, Certainty::Likely, end)
            .with(also())
            .with(shutting_down);
    }
    let mut gone = seqs(FactKind::Unreachable);
    gone.extend(seqs(FactKind::Moved));
    // A lone reset stays what it is; a lone end before a dial that fails may be the server's.
    let is_lone_end = alive == 0 && end.cause != Cause::TcpReset;
    if !gone.is_empty() && (is_whole_server || is_lone_end) {
        let certainty = if is_whole_server {
            Certainty::Likely
        } else {
            Certainty::Suspected
        };
        return Answer::new(Row::F06, certainty, end)
            .with(also())
            .with(gone);
    }
    let closed = seqs(FactKind::Closed);
    // A stream that the server ends or resets leaves its connection, so those of most must have gone with their streams.
    let leaves_connection = matches!(end.cause, Cause::End | Cause::RstStream);
    let with_connection = together.iter().filter(|other| {
        let mut facts = ends.facts_after(FactKind::Closed, other, std::slice::from_ref(other));
        facts.any(|fact| fact.connection == other.stream.connection)
    });
    let gone_with_it = with_connection.count();
    let is_connection_gone =
        !leaves_connection || is_most(gone_with_it, together.len() - gone_with_it);
    // A cache that begins anew leaves its connections (F16). Where all of a server's went and its caches begin anew, the
    // server restarted, and was back before anything dialled it.
    let initializing = seqs(FactKind::Initializing);
    if is_whole_server && is_connection_gone && !initializing.is_empty() && end.goaway.is_none() {
        return Answer::new(Row::F06, Certainty::Likely, end)
            .with(also())
            .with(closed)
            .with(initializing);
    }
    if let Some(answer) = of_pause() {
        return answer;
    }
    if let Some(reset) = by_itself(end) {
        return reset;
    }
    // A GOAWAY lets open streams go on, so it explains an end only where the others of the connection end too.
    let left = end.goaway.and_then(|goaway| {
        let (on_connection, going_on) =
            ends.together(end, |other| other.connection == end.stream.connection);
        // The last of them in good order may be anything that has no better reason.
        let certainty = if end.cause == Cause::End && on_connection.len() == 1 {
            Certainty::Suspected
        } else {
            Certainty::Likely
        };
        is_most(on_connection.len(), going_on).then(|| {
            Answer::new(Row::F09, certainty, end)
                .with([goaway])
                .with(on_connection.iter().map(|other| other.seq))
        })
    });
    if end.cause != Cause::End
        && let Some(answer) = left
    {
        return answer;
    }
    if !initializing.is_empty() {
        // The cache of a custom resource begins anew mostly because its definition was edited.
        let (why, certainty) = match end.edit {
            Some(_) => (Row::F17, Certainty::Likely),
            None if end.stream.is_custom => (Row::F17, Certainty::Suspected),
            None => (Row::F16, Certainty::Likely),
        };
        return Answer::new(why, certainty, end)
            .with(also())
            .with(initializing)
            .with(end.edit);
    }
    let is_near_timeout = end
        .stream
        .timeout_ms
        .is_some_and(|timeout_ms| end.age_ms.abs_diff(timeout_ms) <= SLOW_MARGIN_MS);
    let own = |kind| -> Vec<Seq> {
        ends.facts_after(kind, end, std::slice::from_ref(&end))
            .map(|fact: &Fact| fact.seq)
            .collect()
    };
    if is_whole_server && is_connection_gone && left.is_none() {
        return Answer::new(Row::F06, Certainty::Suspected, end)
            .with(also())
            .with(closed);
    }
    if end.cause == Cause::EofInFrame {
        return Answer::new(Row::F47, Certainty::Definite, end);
    }
    if end.cause != Cause::End {
        return Answer::new(Attributed::Unknown, Certainty::Unknown, end);
    }

    // What ended streams of one type (docs/semantics/streams.md#rule-one-type).
    let not_served = seqs(FactKind::NotServed);
    if !not_served.is_empty() {
        return Answer::new(Row::F18, Certainty::Likely, end).with(not_served);
    }
    if let Some(edit) = end.edit {
        return Answer::new(Row::F17, Certainty::Likely, end).with([edit]);
    }
    // A cache that was built anew, as the 410 and the list after it show. Where the server closed the connection too, the
    // one that answers then may be another.
    let is_closed = !own(FactKind::Closed).is_empty();
    if let Some(rebuilt) = end.rebuilt
        && left.is_none()
        && !is_near_timeout
        && !is_closed
    {
        let is_custom = end.stream.is_custom;
        let why = if is_custom { Row::F17 } else { Row::F16 };
        return Answer::new(why, Certainty::Likely, end).with(rebuilt);
    }
    let may_be_slow = end.events >= SMALLEST_BUFFER && !is_near_timeout;
    // Our own slow reading comes first where it is measured (docs/semantics/streams.md#rule-slow-measured): it is all
    // streams' that we leave unread.
    let replayed = own(FactKind::Replayed);
    if may_be_slow && end.unread_ms.is_some() {
        let certainty = if replayed.is_empty() {
            Certainty::Likely
        } else {
            Certainty::Definite
        };
        return Answer::new(Row::F36, certainty, end).with(replayed);
    }
    if let Some(answer) = left {
        return answer;
    }
    if is_whole_server {
        return Answer::new(Row::F16, Certainty::Suspected, end).with(also());
    }
    // Initial events that are cut short again tell more than who ended beside it.
    if end.cut_short >= CUT_SHORT_STREAMS {
        return Answer::new(Row::F37, Certainty::Likely, end);
    }
    let same_resource: Vec<&End> = together
        .iter()
        .copied()
        .filter(|other| other.stream.resource == end.stream.resource)
        .collect();
    let (_, alive_of_resource) = ends.together(end, |other| {
        other.remote == end.stream.remote && other.resource == end.stream.resource
    });
    let others_live = alive > alive_of_resource;
    if same_resource.len() >= 2 && is_most(same_resource.len(), alive_of_resource) && others_live {
        return Answer::new(Row::F16, Certainty::Suspected, end)
            .with(same_resource.iter().map(|other| other.seq));
    }

    // What rests on circumstances is never certain (docs/semantics/streams.md#never-certain).
    if end.events == 0 && end.age_ms < BARREN_MS {
        let certainty = if end.barren >= BARREN_STREAMS {
            Certainty::Likely
        } else {
            Certainty::Suspected
        };
        return Answer::new(Row::F10, certainty, end);
    }
    if end.cut_short > 0 {
        return Answer::new(Row::F37, Certainty::Suspected, end);
    }
    if may_be_slow && together.len() == 1 {
        if replayed.is_empty() {
            return Answer::new(Row::F36, Certainty::Suspected, end);
        }
        return Answer::new(Row::F36, Certainty::Likely, end)
            .with(replayed)
            .with(end.slow_before);
    }
    Answer::new(Attributed::Unknown, Certainty::Unknown, end)
}

/// At least four fifths.
fn is_most(ended: usize, alive: usize) -> bool {
    ended * 5 >= (ended + alive) * 4
}

/// What the end itself says (docs/semantics/streams.md#rule-own-cancel to docs/semantics/streams.md#rule-unread, and
/// docs/semantics/streams.md#rule-reset).
fn by_itself(end: &End) -> Option<Answer> {
    match end.cause {
        Cause::Cancelled => Some(Answer::new(Attributed::Ours, Certainty::Definite, end)),
        Cause::ErrorEvent => Some(by_error(end)),
        Cause::End => by_timeout(end),
        Cause::TcpReset => Some(Answer::new(Row::F08, Certainty::Definite, end)),
        Cause::IdleTimeout => Some(by_silence(end)),
        // Where bodies end with their connection, a timeout does.
        Cause::Eof => {
            is_at_timeout(end).then(|| Answer::new(Attributed::Normal, Certainty::Likely, end))
        }
        Cause::Goaway => Some(Answer::new(Row::F09, Certainty::Definite, end).with(end.goaway)),
        Cause::Decode => Some(by_unread(end)),
        Cause::EofInFrame | Cause::RstStream | Cause::Tls | Cause::Refused | Cause::Unknown => None,
    }
}

/// What a stream ended of that watchscope did not read for a while, as its machine slept: of that, unless something was
/// said. Its timeout may have passed meanwhile.
///
/// A short one only makes a server give up what is not read, and us what is not heard.
fn by_pause(end: &End, is_short: bool) -> Option<Answer> {
    let is_of_pause = match end.cause {
        Cause::Cancelled | Cause::ErrorEvent | Cause::Goaway | Cause::Decode => false,
        Cause::End | Cause::RstStream | Cause::IdleTimeout => true,
        _ => !is_short,
    };
    if !is_of_pause || by_timeout(end).is_some() {
        return None;
    }
    let timeout_ms = end.stream.timeout_ms.unwrap_or(*SERVER_TIMEOUT_MS.start());
    let why = if end.cause == Cause::End && end.age_ms + TIMEOUT_SLACK_MS >= timeout_ms {
        Attributed::Normal
    } else {
        Attributed::Ours
    };
    Some(Answer::new(why, Certainty::Likely, end))
}

/// What could not be read: an object of another kind (F39), or nothing that makes sense (F38).
fn by_unread(end: &End) -> Answer {
    match end.stream.unread {
        Some(unread) if unread.is_other_kind => {
            Answer::new(Row::F39, Certainty::Definite, end).with([unread.seq])
        }
        unread => Answer::new(Row::F38, Certainty::Suspected, end).with(unread.map(|it| it.seq)),
    }
}

/// Nothing came, and a second look or an unanswered ping proved it dead; or its end, too, did not come.
fn by_silence(end: &End) -> Answer {
    let is_overdue = |timeout_ms: u64| end.age_ms >= timeout_ms.saturating_add(OVERDUE_MS);
    let certainty = if end.stream.timeout_ms.is_some_and(is_overdue) {
        Certainty::Suspected
    } else {
        Certainty::Definite
    };
    Answer::new(Row::F04, certainty, end)
}

/// Whether it ended just when it was to.
fn is_at_timeout(end: &End) -> bool {
    let asked = end.stream.timeout_ms;
    asked.is_some_and(|timeout_ms| end.age_ms.abs_diff(timeout_ms) <= TIMEOUT_SLACK_MS)
}

/// A normal timeout: never an alarm.
fn by_timeout(end: &End) -> Option<Answer> {
    match end.stream.timeout_ms {
        Some(_) if is_at_timeout(end) => {
            Some(Answer::new(Attributed::Normal, Certainty::Definite, end))
        }
        Some(timeout_ms) => (timeout_ms..=timeout_ms.saturating_add(TIMEOUT_LATE_MS))
            .contains(&end.age_ms)
            .then(|| Answer::new(Attributed::Normal, Certainty::Likely, end)),
        None => SERVER_TIMEOUT_MS
            .contains(&end.age_ms)
            .then(|| Answer::new(Attributed::Normal, Certainty::Likely, end)),
    }
}

/// The catalogue's row of an ERROR event (docs/semantics/streams.md#rule-error).
fn by_error(end: &End) -> Answer {
    let Some(error) = &end.stream.error else {
        return Answer::new(Attributed::Unknown, Certainty::Unknown, end);
    };
    let answer = match row_of(error) {
        Some((row, certainty)) => Answer::new(row, certainty, end),
        None => Answer::new(Attributed::Unknown, Certainty::Unknown, end),
    };
    answer.with([error.seq])
}

/// The row that an ERROR's status stands for, if it is one.
fn row_of(error: &ServerError) -> Option<(Row, Certainty)> {
    let message = error.message.as_deref().unwrap_or("");
    let reason = error.reason.as_deref().unwrap_or("");
    Some(match error.code {
        410 if server_words::is_expired(message) => (Row::F11, Certainty::Definite),
        410 if server_words::is_compacted(message) => (Row::F12, Certainty::Definite),
        // Without its words a 410 does not say which history ended.
        410 => (Row::F11, Certainty::Suspected),
        504 if server_words::is_too_large(message) => (Row::F32, Certainty::Suspected),
        500 if server_words::is_leaderless(message) => (Row::F16, Certainty::Likely),
        500 if server_words::is_storage_read_error(reason) => (Row::F38, Certainty::Likely),
        500 if server_words::is_prev_kv_lost(message) => (Row::F24, Certainty::Suspected),
        _ => return None,
    })
}
