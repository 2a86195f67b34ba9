//! The end of a stream: its record, its losses and its gap, and what the probe does next.

use watchscope_model::event::StreamEnded;
use watchscope_model::vocabulary::{Cause, FrameLoss, PhaseReason};

use crate::backoff::jittered;
use crate::port::Ending;
use crate::probe::{Probe, Task, Turn};
use crate::stream::{ACCEPTED_MS, Facts, Opening, OwnEnd, Remedy, Stream};

/// The age in ms below which a stream that ends is short (docs/semantics/streams.md#rule-barren). Diagnosis has the
/// same bound. The number has no source: it is twice the 1 s below which client-go takes an end as an error
/// (docs/semantics/clients.md#reflector-end).
const SHORT_MS: u64 = 2_000;
/// The number of consecutive short streams without a document after which their history counts as expired (F10;
/// docs/semantics/streams.md#rule-barren). Diagnosis has the same bound. One or two short streams without a document
/// may occur by chance. The number has no source.
const BARE_STREAMS: u32 = 3;
/// The number of consecutive watch-list streams without an end bookmark after which the probe lists instead (F37). One
/// such stream may occur by chance. Streams that the probe ended itself, or that an ERROR ended, do not count.
/// Diagnosis rates F37 as likely from the second one on (docs/semantics/streams.md#rule-initial-events-cut-again).
const UNFINISHED_STREAMS: u32 = 2;
/// The least time in ms from the request of a stream to the request of the next
/// (docs/semantics/clients.md#probe-resume). It holds if the stream ended in order, and it and the stream before it
/// were short. Jitter of up to the same time comes on top. client-go's RetryWatcher waits for the same time
/// (docs/semantics/clients.md#retry-watcher).
const SPACING_MS: u64 = 1_000;

impl Probe {
    /// Ends a stream by the probe's own decision.
    pub(crate) fn end_stream(&mut self, stream: Stream, end: OwnEnd, turn: &mut Turn<'_>) {
        let cause = match end {
            OwnEnd::Decode => Cause::Decode,
            OwnEnd::AfterError => Cause::ErrorEvent,
            OwnEnd::Dead => Cause::IdleTimeout,
            OwnEnd::Initial | OwnEnd::Before => Cause::Cancelled,
        };
        self.close(turn);
        self.stream_ended(&stream, cause.into(), turn);
        match end {
            OwnEnd::AfterError => self.after_error(&stream.facts, turn),
            OwnEnd::Decode => self.relist(true, PhaseReason::Decode, turn),
            OwnEnd::Dead => {
                let (task, _) = self.next_task();
                self.begin(task, PhaseReason::Idle, turn);
            }
            OwnEnd::Initial => {
                self.fall_back_to_list();
                self.list.restart(false);
                self.begin(Task::List, PhaseReason::WatchListRefused, turn);
            }
            OwnEnd::Before => {
                self.list.restart(false);
                self.begin(Task::List, PhaseReason::FirstList, turn);
            }
        }
    }

    /// Handles the end of a stream that the probe did not end.
    pub(crate) fn stream_over(&mut self, stream: Stream, end: Ending, turn: &mut Turn<'_>) {
        let facts = &stream.facts;
        if facts.error.is_some() {
            self.stream_ended(&stream, Cause::ErrorEvent.into(), turn);
            self.after_error(&stream.facts, turn);
            return;
        }
        let age_ms = turn.now.millis_since(facts.sent_at);
        if turn.now.millis_since(facts.opened_at) >= ACCEPTED_MS {
            self.accepted(facts, turn);
        }
        let torn = stream.lines.pending() > 0;
        let cause = match end.cause {
            Cause::End | Cause::Eof if torn => Cause::EofInFrame,
            other => other,
        };
        self.stream_ended(&stream, Ending { cause, ..end }, turn);
        let is_short = age_ms < SHORT_MS;
        self.streaks.short = if is_short { self.streaks.short + 1 } else { 0 };
        self.streaks.bare = if is_short && facts.documents == 0 {
            self.streaks.bare + 1
        } else {
            0
        };
        if facts.opening == Opening::WatchList {
            self.streaks.unfinished += 1;
            if self.streaks.unfinished >= UNFINISHED_STREAMS {
                self.fall_back_to_list();
                self.list.restart(false);
                let delay_ms = self.failures.next_ms(turn.now, &mut self.rng);
                let reason = PhaseReason::WatchListRefused;
                self.wait(delay_ms, reason, Task::List, reason, turn);
            } else {
                self.retry_task(Task::WatchList, PhaseReason::Resume, turn);
            }
        } else if self.streaks.bare >= BARE_STREAMS {
            // The history is gone and the server does not report that (k/k#104171, #137089).
            self.streaks.bare = 0;
            self.relist(false, PhaseReason::ShortStream, turn);
        } else if cause != Cause::End && cause != Cause::Goaway {
            let (task, why) = self.next_task();
            self.retry_task(task, why, turn);
        } else if self.streaks.short >= 2 {
            let due = facts
                .sent_at
                .plus_millis(jittered(SPACING_MS, &mut self.rng));
            let delay_ms = due.millis_since(turn.now);
            let (task, why) = self.next_task();
            self.wait(delay_ms, PhaseReason::ShortStream, task, why, turn);
        } else {
            let (task, why) = self.next_task();
            self.begin(task, why, turn);
        }
    }

    fn after_error(&mut self, facts: &Facts, turn: &mut Turn<'_>) {
        let Some((remedy, _)) = facts.error else {
            return;
        };
        let task = match facts.opening {
            Opening::WatchList => Task::WatchList,
            Opening::Resume | Opening::AnyState => Task::Watch,
        };
        match remedy {
            Remedy::Expired => self.expired(turn),
            Remedy::Later { retry_after_ms } => {
                self.fail_politely(PhaseReason::TooManyRequests, retry_after_ms, task, turn);
            }
            Remedy::TooLarge { retry_after_ms } => self.too_large(retry_after_ms, task, turn),
            Remedy::Relist => self.relist(false, PhaseReason::ErrorEvent, turn),
        }
    }

    /// Waits with the reason `broken` and the delay after a failure, then begins a task.
    fn retry_task(&mut self, task: Task, why: PhaseReason, turn: &mut Turn<'_>) {
        let delay_ms = self.failures.next_ms(turn.now, &mut self.rng);
        self.wait(delay_ms, PhaseReason::Broken, task, why, turn);
    }

    /// Writes the end of a stream and its losses, and opens a gap unless the cause is [`Cause::Cancelled`].
    pub(crate) fn stream_ended(&mut self, stream: &Stream, end: Ending, turn: &mut Turn<'_>) {
        let facts = &stream.facts;
        let cause = match facts.error {
            Some(_) => Cause::ErrorEvent,
            None => end.cause,
        };
        let torn = stream.lines.pending();
        if torn > 0 {
            self.lose(FrameLoss::CutShort, torn, "the last line did not end", turn);
        }
        if facts.trailing.bytes > 0 {
            self.lose_all(
                FrameLoss::AfterEnd,
                facts.trailing.documents(),
                facts.trailing.bytes,
                "bytes after an ERROR event",
                turn,
            );
        }
        match facts.opening {
            Opening::Resume => {}
            Opening::WatchList => self.list.break_off(),
            // Its events are not part of the next list.
            Opening::AnyState => self.list.finish(self.config.page_size),
        }
        turn.emit(StreamEnded {
            watch: self.spec.name.clone(),
            stream: facts.stream,
            cause,
            age_ms: turn.now.millis_since(facts.sent_at),
            events: facts.documents,
            bytes: facts.bytes,
            reset_code: end.reset_code,
            unread_ms: end.unread_ms,
        });
        self.side_cancel(turn);
        if cause != Cause::Cancelled {
            self.open_gap(cause);
        }
    }
}
