//! Streams that deliver nothing while reads show newer objects (F31), and watches opened at a version that the server
//! has not reached (F32).

use watchscope_model::event::Audit;
use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome};
use watchscope_model::{ResourceVersion, Time};

use super::context::StepContext;
use super::questions::{is_streaming, position, says_nothing};
use super::state::{Ahead, CachePosition, TooLarge, WatchAudit};
use crate::audit::level::Level;
use crate::audit::reasons::Reason;
use crate::limits::{AHEAD_US, IDLE_US, TOO_LARGE_US};

/// Time in µs that the probe's second look at a silent stream may take (docs/semantics/clients.md#probe-silence). A
/// side watch takes 3 s; the other second is for its connection, and has no source. The look begins after [`IDLE_US`]
/// of silence, and the publication of a lag waits for its end. After this time the lag is published, even if the second
/// look takes longer.
const LOOK_US: i64 = 4_000_000;

/// Returns when the second look at a silent stream is over, if that look is under way or begins within [`AHEAD_US`];
/// else `None`.
///
/// A stream without bookmarks gets no second look for minutes, so the function returns `None` for it.
fn second_look_over(watch: &Watch, now: Time) -> Option<Time> {
    let stream = watch.stream.as_ref()?;
    let bookmark = stream.bookmark?;
    let last = watch.last_change.filter(|last| last.seq > stream.since.seq);
    let heard = last.map_or(bookmark.at, |last| last.at.max(bookmark.at));
    let over_us = IDLE_US + LOOK_US;
    let is_near = (IDLE_US - AHEAD_US..over_us).contains(&now.micros_since(heard));
    is_near.then(|| heard.plus_micros(over_us))
}

impl WatchAudit {
    /// Notes a read with an object at a version that the stream has yet to deliver. Publishes a lag if the stream has
    /// delivered nothing for [`AHEAD_US`] since the first such read. The version of a list itself shows no lag,
    /// because its objects may be older.
    ///
    /// A second look at the stream's silence may show soon that its connection is dead (F04). In this case the server
    /// need not be behind, so the publication of the lag waits for the second look: at most 14 s
    /// (docs/semantics/checks.md#ahead).
    pub(super) fn note_ahead(&mut self, version: &ResourceVersion, step: &mut StepContext<'_>) {
        let watch = step.watch;
        let (Some(progress), Some(stream)) = (position(watch), &watch.stream) else {
            return;
        };
        if !version.is_after(progress) || !is_streaming(watch) || self.level == Level::Off {
            return;
        }
        let (now, stream) = (step.now, stream.since.seq);
        let known = self.ahead.filter(|ahead| ahead.stream == stream);
        let ahead = self.ahead.insert(known.unwrap_or(Ahead {
            stream,
            since: now,
            due: Some(now.plus_micros(AHEAD_US)),
            is_published: false,
        }));
        if now.micros_since(ahead.since) < AHEAD_US || ahead.is_published {
            return;
        }
        ahead.due = second_look_over(watch, now);
        if ahead.due.is_some() {
            return;
        }
        ahead.is_published = true;
        let since_s = now.micros_since(ahead.since) / 1_000_000;
        let why = Reason::ReadsAhead {
            at: progress.clone(),
            for_s: since_s,
            read: version.clone(),
        };
        let (method, outcome) = (AuditMethod::AheadTwice, AuditOutcome::CannotTell);
        let record = Audit {
            resource_version: Some(version.clone()),
            ..self.audit(step, method, outcome, &[why])
        };
        self.publish(step, record);
    }

    /// Handles the version that the server's watch cache has reached, for a watch that is behind and whose stream has
    /// delivered nothing.
    pub(super) fn any(&mut self, version: ResourceVersion, step: &mut StepContext<'_>) {
        let (Some(progress), Some(behind)) = (&step.watch.progress, &mut self.round.behind) else {
            return;
        };
        if !says_nothing(step.watch) || !progress.is_after(&version) {
            // The event will come, or the watch is behind for another reason.
            behind.cache = CachePosition::NotBehind;
            return;
        }
        match behind.cache {
            CachePosition::Unasked => {
                behind.cache = CachePosition::BehindOnce;
                return self.look_again(step.now);
            }
            CachePosition::NotBehind => return,
            CachePosition::BehindOnce | CachePosition::BehindTwice => {
                behind.cache = CachePosition::BehindTwice
            }
        }
        let why = Reason::FromTheFuture {
            known: version.clone(),
            opened: progress.clone(),
            listed: behind.version.clone(),
        };
        self.publish_undecided(step, AuditMethod::ListAnyTwice, Some(version), why);
    }

    /// Publishes that a list at `at` was refused, because the server's watch cache has only reached `current`. Lets the
    /// next round come soon, which shows whether the refusal lasts.
    pub(super) fn publish_too_large(
        &mut self,
        at: &ResourceVersion,
        current: ResourceVersion,
        step: &mut StepContext<'_>,
    ) {
        let now = step.now;
        if let Some(stream) = &step.watch.stream {
            let stream = stream.since.seq;
            let known = self.too_large.filter(|first| first.stream == stream);
            let first = known.unwrap_or(TooLarge { stream, at: now });
            self.too_large = Some(first);
            let again = [first.at, now].map(|at| at.plus_micros(TOO_LARGE_US));
            let again = again.into_iter().find(|again| *again > now);
            self.round.next_at = self
                .round
                .next_at
                .zip(again)
                .map(|(due, again)| due.min(again));
        }
        let (method, outcome) = (AuditMethod::ListExactTooLarge, AuditOutcome::CannotTell);
        let why = Reason::CacheBehind {
            asked: at.clone(),
            current: current.clone(),
        };
        let record = Audit {
            resource_version: Some(current),
            ..self.audit(step, method, outcome, &[why])
        };
        self.publish(step, record);
    }
}
