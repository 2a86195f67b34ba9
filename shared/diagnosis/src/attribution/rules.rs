//! The rules by which a stream's end is judged, in the order of docs/semantics/streams.md#rules.
//!
//! A replay of at least 10 events right after an early orderly end makes a slow reader likely
//! (docs/semantics/streams.md#rule-slow-reader). Two such ends in a row make it no surer. A slow reader is definite
//! only if watchscope also measured its own slow reading.
//!
//! The resume after an early orderly end may meet a 410 and no 429. In this case the next list shows whether the watch
//! cache was built anew (F16, F17) or dropped old events (F11). A watch cache drops events only while it holds at least
//! 100. So the cache was built anew if the list's version is less than 100 revisions above the cache's oldest revision.
//! The distance of that oldest revision from the watch's progress proves nothing: it is equally small in a cache that
//! has just dropped events.

use watchscope_model::Row;
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{Cause, Certainty};

use super::case::{Case, is_most};
use super::end::{BARREN_MS, End};
use super::fact::FactKind;
use super::facts::StreamFacts;
use super::judgement::Judgement;
use super::own;

/// Number of barren streams in a row from which on they are more than chance (F10;
/// docs/semantics/streams.md#rule-barren). From this number on a barren end is likely F10; below it, F10 is suspected.
/// The number has no source.
const BARREN_STREAMS: u32 = 3;
/// Number of streams in a row that ended before all their initial events had come, from which on they are more than
/// chance (F37; docs/semantics/streams.md#rule-initial-events-cut-again). From this number on such an end is likely
/// F37; below it, F37 is suspected. The number has no source.
const CUT_SHORT_STREAMS: u32 = 2;

/// A rule: one reason for which streams end.
///
/// A rule may rely on the fact that no earlier rule applied. The comments in [`RULES`] say where.
struct Rule {
    /// The row of docs/semantics that states the rule.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test holds it against the page")
    )]
    anchor: &'static str,
    /// Returns the judgement of the rule; `None` if the rule does not apply.
    judge: fn(&Case<'_>) -> Option<Judgement>,
}

/// All rules, in order. The first rule that applies decides.
const RULES: &[Rule] = &[
    // watchscope's own actions, and rules about the end alone.
    Rule {
        anchor: "docs/semantics/streams.md#rule-own-pause",
        judge: own_pause,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-own-cancel",
        judge: |case| own::own_cancel(case.end),
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-error",
        judge: |case| own::error_event(case.end),
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-timeout",
        judge: |case| own::timeout(case.end),
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-silence",
        judge: |case| own::silence(case.end),
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-goaway-last-word",
        judge: |case| own::goaway_last_word(case.end),
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-unread",
        judge: |case| own::unread_frame(case.end),
    },
    // A server that went away, with the results of the next requests.
    Rule {
        anchor: "docs/semantics/streams.md#rule-shutting-down",
        judge: shutting_down,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-server-gone",
        judge: server_gone,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-server-restarted",
        judge: server_restarted,
    },
    // A server that shuts down or goes away does so whether or not watchscope paused. So a short pause comes here only.
    Rule {
        anchor: "docs/semantics/streams.md#rule-short-pause",
        judge: |case| own::pause(case.end),
    },
    // A server that goes away resets its connections. So a reset comes after `shutting_down`, `server_gone` and
    // `server_restarted`.
    Rule {
        anchor: "docs/semantics/streams.md#rule-reset",
        judge: |case| own::reset(case.end),
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-goaway-cut",
        judge: goaway_cut,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-cache-initializing",
        judge: cache_initializing,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-whole-server",
        judge: whole_server,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-cut-in-frame",
        judge: cut_in_frame,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-broken-unexplained",
        judge: broken_unexplained,
    },
    // From here on the end is orderly. These rules look at the streams of one type.
    Rule {
        anchor: "docs/semantics/streams.md#rule-not-served",
        judge: not_served,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-definition-edited",
        judge: definition_edited,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-cache-rebuilt",
        judge: cache_rebuilt,
    },
    // While watchscope reads slowly, it leaves all streams unread, so they may end together for it. So this rule comes
    // before `all_types`.
    Rule {
        anchor: "docs/semantics/streams.md#rule-slow-measured",
        judge: slow_measured,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-goaway-orderly",
        judge: goaway,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-all-types",
        judge: all_types,
    },
    // Initial events that are cut short again say more than the ends of other streams.
    Rule {
        anchor: "docs/semantics/streams.md#rule-initial-events-cut-again",
        judge: initial_events_cut_again,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-one-type",
        judge: one_type,
    },
    // A judgement from circumstances is never certain (docs/semantics/streams.md#never-certain).
    Rule {
        anchor: "docs/semantics/streams.md#rule-barren",
        judge: barren,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-initial-events-cut",
        judge: initial_events_cut,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-slow-reader",
        judge: slow_reader,
    },
    Rule {
        anchor: "docs/semantics/streams.md#rule-unexplained",
        judge: |case| Some(unexplained(case.end)),
    },
];

/// Returns why a stream ended, as far as is known by now: the judgement of the first rule that applies.
pub(crate) fn attribute(end: &End, facts: &StreamFacts) -> Judgement {
    let case = Case::new(end, facts);
    let judgement = RULES.iter().find_map(|rule| (rule.judge)(&case));
    judgement.unwrap_or_else(|| unexplained(end))
}

fn own_pause(case: &Case<'_>) -> Option<Judgement> {
    let end = case.end;
    let is_short = end.pause.is_some_and(|pause| pause.is_short);
    if is_short && end.cause != Cause::IdleTimeout {
        return None;
    }
    own::pause(end)
}

fn shutting_down(case: &Case<'_>) -> Option<Judgement> {
    let mut records = case.of_group(FactKind::ShuttingDown);
    records.extend(case.facts.shut_down(case.end));
    if records.is_empty() {
        return None;
    }
    let judgement = case.end.judged(Row::F07, Certainty::Likely);
    Some(judgement.with(case.also()).with(records))
}

fn server_gone(case: &Case<'_>) -> Option<Judgement> {
    let mut gone = case.of_group(FactKind::Unreachable);
    gone.extend(case.of_group(FactKind::Moved));
    // A lone reset stays a reset. A lone end before a dial that fails may be the server's.
    let is_lone_end = case.group().alive == 0 && case.end.cause != Cause::TcpReset;
    let is_whole_server = case.is_whole_server();
    if gone.is_empty() || !(is_whole_server || is_lone_end) {
        return None;
    }
    let certainty = if is_whole_server {
        Certainty::Likely
    } else {
        Certainty::Suspected
    };
    let judgement = case.end.judged(Row::F06, certainty);
    Some(judgement.with(case.also()).with(gone))
}

/// Judges that the server restarted: all its connections closed and its watch caches begin anew, and it was back before
/// any watch dialled it. If only a cache begins anew, the connections stay open (F16).
fn server_restarted(case: &Case<'_>) -> Option<Judgement> {
    if !case.is_whole_server() || case.end.goaway.is_some() || !case.is_connection_gone() {
        return None;
    }
    let initializing = case.of_group(FactKind::Initializing);
    if initializing.is_empty() {
        return None;
    }
    let judgement = case.end.judged(Row::F06, Certainty::Likely);
    Some(
        judgement
            .with(case.also())
            .with(case.of_group(FactKind::Closed))
            .with(initializing),
    )
}

fn goaway_cut(case: &Case<'_>) -> Option<Judgement> {
    goaway(case).filter(|_| case.end.cause != Cause::End)
}

fn goaway(case: &Case<'_>) -> Option<Judgement> {
    case.left().cloned()
}

/// Judges that a watch cache begins anew. For a custom resource the reason is mostly an edit of its CRD.
fn cache_initializing(case: &Case<'_>) -> Option<Judgement> {
    let end = case.end;
    let initializing = case.of_group(FactKind::Initializing);
    if initializing.is_empty() {
        return None;
    }
    let (row, certainty) = match end.edit {
        Some(_) => (Row::F17, Certainty::Likely),
        None if end.stream.is_custom => (Row::F17, Certainty::Suspected),
        None => (Row::F16, Certainty::Likely),
    };
    let judgement = end.judged(row, certainty).with(case.also());
    Some(judgement.with(initializing).with(end.edit))
}

fn whole_server(case: &Case<'_>) -> Option<Judgement> {
    if !case.is_whole_server() || !case.is_connection_gone() || case.left().is_some() {
        return None;
    }
    let judgement = case.end.judged(Row::F06, Certainty::Suspected);
    Some(
        judgement
            .with(case.also())
            .with(case.of_group(FactKind::Closed)),
    )
}

fn cut_in_frame(case: &Case<'_>) -> Option<Judgement> {
    let is_cut = case.end.cause == Cause::EofInFrame;
    is_cut.then(|| case.end.judged(Row::F47, Certainty::Definite))
}

fn broken_unexplained(case: &Case<'_>) -> Option<Judgement> {
    (case.end.cause != Cause::End).then(|| unexplained(case.end))
}

fn not_served(case: &Case<'_>) -> Option<Judgement> {
    let not_served = case.of_group(FactKind::NotServed);
    if not_served.is_empty() {
        return None;
    }
    Some(
        case.end
            .judged(Row::F18, Certainty::Likely)
            .with(not_served),
    )
}

fn definition_edited(case: &Case<'_>) -> Option<Judgement> {
    let edit = case.end.edit?;
    Some(case.end.judged(Row::F17, Certainty::Likely).with([edit]))
}

/// Judges that the watch cache was built anew, from the 410 and the list after it. If the server also closed the
/// connection, another server may have answered both.
fn cache_rebuilt(case: &Case<'_>) -> Option<Judgement> {
    let end = case.end;
    let rebuilt = end.rebuilt?;
    let is_closed = !case.of_watch(FactKind::Closed).is_empty();
    if is_closed || case.is_near_timeout() || case.left().is_some() {
        return None;
    }
    let row = if end.stream.is_custom {
        Row::F17
    } else {
        Row::F16
    };
    Some(end.judged(row, Certainty::Likely).with(rebuilt))
}

fn slow_measured(case: &Case<'_>) -> Option<Judgement> {
    if !case.may_be_slow() || case.end.unread_ms.is_none() {
        return None;
    }
    let replayed = case.of_watch(FactKind::Replayed);
    let certainty = if replayed.is_empty() {
        Certainty::Likely
    } else {
        Certainty::Definite
    };
    Some(case.end.judged(Row::F36, certainty).with(replayed))
}

fn all_types(case: &Case<'_>) -> Option<Judgement> {
    let judged = || case.end.judged(Row::F16, Certainty::Suspected);
    case.is_whole_server().then(|| judged().with(case.also()))
}

fn initial_events_cut_again(case: &Case<'_>) -> Option<Judgement> {
    let is_again = case.end.cut_short >= CUT_SHORT_STREAMS;
    is_again.then(|| case.end.judged(Row::F37, Certainty::Likely))
}

fn one_type(case: &Case<'_>) -> Option<Judgement> {
    let (end, group) = (case.end, case.group());
    let same_resource: Vec<&End> = group
        .ended
        .iter()
        .copied()
        .filter(|other| other.stream.resource == end.stream.resource)
        .collect();
    let (_, alive_of_resource) = case.facts.together(end, |other| {
        other.remote == end.stream.remote && other.resource == end.stream.resource
    });
    let others_live = group.alive > alive_of_resource;
    let is_most_of_resource =
        same_resource.len() >= 2 && is_most(same_resource.len(), alive_of_resource);
    (is_most_of_resource && others_live).then(|| {
        end.judged(Row::F16, Certainty::Suspected)
            .with(same_resource.iter().map(|other| other.seq))
    })
}

fn barren(case: &Case<'_>) -> Option<Judgement> {
    let end = case.end;
    if end.events > 0 || end.age_ms >= BARREN_MS {
        return None;
    }
    let certainty = if end.barren >= BARREN_STREAMS {
        Certainty::Likely
    } else {
        Certainty::Suspected
    };
    Some(end.judged(Row::F10, certainty))
}

fn initial_events_cut(case: &Case<'_>) -> Option<Judgement> {
    (case.end.cut_short > 0).then(|| case.end.judged(Row::F37, Certainty::Suspected))
}

fn slow_reader(case: &Case<'_>) -> Option<Judgement> {
    let end = case.end;
    if !case.may_be_slow() || case.group().ended.len() > 1 {
        return None;
    }
    let replayed = case.of_watch(FactKind::Replayed);
    if replayed.is_empty() {
        return Some(end.judged(Row::F36, Certainty::Suspected));
    }
    let judgement = end.judged(Row::F36, Certainty::Likely);
    Some(judgement.with(replayed).with(end.slow_before))
}

fn unexplained(end: &End) -> Judgement {
    end.judged(Attributed::Unknown, Certainty::Unknown)
}

#[cfg(test)]
mod tests {
    use watchscope_model::{Seq, StreamId, Time};

    use super::super::end::{OwnPause, Stream};
    use super::*;

    /// The page that has a row for each rule.
    const PAGE: &str = include_str!(concat!("../../../../docs/semantics", "/streams.md"));

    /// An end of a stream that lived for 30 s and delivered 12 events.
    fn end(cause: Cause) -> End {
        End {
            id: StreamId(1),
            stream: Stream {
                watch: "*/pods".into(),
                resource: "pods".into(),
                is_custom: false,
                connection: None,
                remote: None,
                since: Time(0),
                from: None,
                timeout_ms: Some(400_000),
                error: None,
                unread: None,
                pause: None,
                edit: None,
            },
            seq: Seq(1),
            at: Time(30_000_000),
            cause,
            age_ms: 30_000,
            events: 12,
            unread_ms: None,
            goaway: None,
            pause: None,
            barren: 0,
            edit: None,
            cut_short: 0,
            slow_before: None,
            highest: None,
            rebuilt: None,
            published: None,
        }
    }

    /// Runs all rules over an end. Returns the rules that apply, in their order, each with its judgement.
    fn answers(end: &End) -> String {
        let facts = StreamFacts::default();
        let case = Case::new(end, &facts);
        let lines = RULES.iter().filter_map(|rule| {
            let judgement = (rule.judge)(&case)?;
            let (_, name) = rule.anchor.split_once("#rule-")?;
            let (code, certainty) = (judgement.why.code(), judgement.certainty);
            Some(format!("{name}: {code} {certainty}"))
        });
        let lines: Vec<String> = lines.collect();
        let first = attribute(end, &facts);
        let decided = format!("{} {}", first.why.code(), first.certainty);
        assert!(lines[0].ends_with(&decided), "{lines:?}, {decided}");
        lines.join("\n")
    }

    #[test]
    fn the_rules_are_those_of_the_table_in_its_order() {
        let names = RULES.iter().filter_map(|rule| rule.anchor.split_once('#'));
        let names: Vec<&str> = names.map(|(_, name)| name).collect();
        let rows = PAGE.lines().filter_map(|line| {
            let row = line.strip_prefix("| <a id=\"")?;
            row.split('"')
                .next()
                .filter(|name| name.starts_with("rule-"))
        });
        assert_eq!(names, rows.collect::<Vec<_>>());
        assert_eq!(names.len(), RULES.len());
    }

    fn pause(is_short: bool) -> Option<OwnPause> {
        let seq = Seq(2);
        Some(OwnPause { seq, is_short })
    }

    #[test]
    fn the_first_rule_that_answers_decides_after_a_pause() {
        let cancelled = End {
            pause: pause(false),
            ..end(Cause::Cancelled)
        };
        insta::assert_snapshot!(answers(&cancelled), @"
        own-cancel: ours definite
        broken-unexplained: unknown unknown
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
        let after_sleep = End {
            pause: pause(false),
            ..end(Cause::TcpReset)
        };
        insta::assert_snapshot!(answers(&after_sleep), @"
        own-pause: ours likely
        short-pause: ours likely
        reset: F08 definite
        broken-unexplained: unknown unknown
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
        let after_stall = End {
            pause: pause(true),
            ..end(Cause::End)
        };
        insta::assert_snapshot!(answers(&after_stall), @"
        short-pause: ours likely
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
        let silent = End {
            pause: pause(true),
            ..end(Cause::IdleTimeout)
        };
        insta::assert_snapshot!(answers(&silent), @"
        own-pause: ours likely
        silence: F04 definite
        short-pause: ours likely
        broken-unexplained: unknown unknown
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
    }

    #[test]
    fn the_first_rule_that_answers_decides_without_a_pause() {
        let refused = End {
            goaway: Some(Seq(3)),
            ..end(Cause::EofInFrame)
        };
        insta::assert_snapshot!(answers(&refused), @"
        goaway-cut: F09 likely
        cut-in-frame: F47 definite
        broken-unexplained: unknown unknown
        goaway-orderly: F09 likely
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
        let left = End {
            goaway: Some(Seq(3)),
            rebuilt: Some([Seq(4), Seq(5)]),
            unread_ms: Some(200),
            ..end(Cause::End)
        };
        insta::assert_snapshot!(answers(&left), @"
        slow-measured: F36 likely
        goaway-orderly: F09 suspected
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
        let rebuilt = End {
            rebuilt: Some([Seq(4), Seq(5)]),
            edit: Some(Seq(6)),
            cut_short: 2,
            ..end(Cause::End)
        };
        insta::assert_snapshot!(answers(&rebuilt), @"
        definition-edited: F17 likely
        cache-rebuilt: F16 likely
        initial-events-cut-again: F37 likely
        initial-events-cut: F37 suspected
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
        let barren = End {
            age_ms: 100,
            events: 0,
            barren: 3,
            cut_short: 1,
            ..end(Cause::End)
        };
        insta::assert_snapshot!(answers(&barren), @"
        barren: F10 likely
        initial-events-cut: F37 suspected
        unexplained: unknown unknown
        ");
        insta::assert_snapshot!(answers(&end(Cause::End)), @"
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
        insta::assert_snapshot!(answers(&end(Cause::Tls)), @"
        broken-unexplained: unknown unknown
        slow-reader: F36 suspected
        unexplained: unknown unknown
        ");
    }
}
