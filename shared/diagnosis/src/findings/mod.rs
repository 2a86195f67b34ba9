//! Findings: the rows of the failure catalogue that records show (docs/findings and
//! docs/semantics/checks.md#stream-checks).
//!
//! ```text
//!   record, and the fold before it ─┬─► ends            why streams ended, once it is settled
//!                                   ├─► streams         order, bookmarks, lives of objects
//!                                   ├─► requests        refusals, silence before an answer, lists
//!                                   ├─► clients         what client programs do and believe
//!                                   ├─► audits          what the audit's reads show
//!                                   ├─► selector_exits  objects that left a view, and come back
//!                                   └─► servers         several servers against each other
//!                                          └─► registry: raised, counted, cleared
//! ```
//!
//! Findings that need reads (ghosts, missing and stale objects) use the records of the [audit](crate::audit) like any
//! other records.

mod audits;
mod clients;
mod draft;
mod ends;
mod entry;
mod members;
mod place;
mod questions;
mod registry;
mod requests;
mod selector_exits;
mod servers;
mod streams;
mod timers;
mod unread;

use watchscope_model::event::WatchStopped;
use watchscope_model::fold::Moment;
use watchscope_model::options::ListOptions;
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Event, State, Time};

use self::audits::Audits;
use self::clients::Clients;
pub use self::clients::MAX_CLIENTS;
pub use self::draft::MAX_EVIDENCE;
use self::ends::{Course, Ended, Where};
pub use self::entry::{QUIET_US, REPORTED_AGAIN_US, REPORTED_RARELY_US};
use self::registry::FindingRegistry;
pub use self::registry::MAX_FINDINGS;
use self::requests::Requests;
use self::selector_exits::SelectorExits;
use self::servers::Servers;
use self::streams::Streams;
use self::timers::{Timer, Timers};
use crate::attribution::StreamFacts;
use crate::awake::Awake;

/// The state machine of findings. It must be given each record of the log once, attributions included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    registry: FindingRegistry,
    timers: Timers,
    ends: Ended,
    streams: Streams,
    requests: Requests,
    clients: Clients,
    audits: Audits,
    selector_exits: SelectorExits,
    servers: Servers,
}

impl Findings {
    /// Returns the findings for a log that continues after a fold.
    pub(crate) fn since(state: &State) -> Self {
        Self {
            streams: Streams::since(state),
            requests: Requests::since(state),
            servers: Servers::since(state),
            registry: FindingRegistry::since(state),
            ..Self::default()
        }
    }

    /// Adds the next record. `options` are the list options of the request, if the record is a request.
    pub(crate) fn observe(
        &mut self,
        before: &State,
        event: &Event,
        options: &ListOptions<'_>,
        record: Moment,
        awake: &Awake,
        facts: &StreamFacts,
    ) {
        let Self {
            registry,
            timers,
            ends,
            streams,
            requests,
            clients,
            audits,
            selector_exits,
            servers,
        } = self;
        match event {
            Event::Change(event) => {
                streams.changed(event, before, record, registry);
                clients.deleted(event, before, record, timers);
                requests.changed(event, before, record);
                selector_exits.changed(event, before, record, registry);
                audits.changed(event, record);
                if event.origin == Origin::Live {
                    requests.delivered(&event.watch, record, registry);
                    audits.clear_silence(&event.watch, record, registry);
                }
                servers.changed(event, record, registry, timers);
            }
            Event::Bookmark(event) => {
                if event.initial_events_end == Some(true) {
                    ends.waits_no_more(&event.watch, record, timers);
                }
                streams.bookmarked(event, record, registry, timers);
                requests.delivered(&event.watch, record, registry);
                audits.clear_silence(&event.watch, record, registry);
                servers.bookmarked(event, record, registry, timers);
            }
            Event::StreamOpened(event) => {
                let is_initial = facts.asks_initial(&event.watch);
                let asks = (requests.asks_bookmarks(&event.watch), is_initial);
                streams.opened(event, asks, before, record, timers);
                servers.opened(event, is_initial, before, record, timers);
                requests.opened(event, timers);
            }
            Event::StreamEnded(event) => {
                audits.clear_silence(&event.watch, record, registry);
                let (from, moved_at) = streams.ended(event, record, registry, timers);
                let watch = before.watches.get(&event.watch);
                let listed = watch.and_then(|watch| watch.list.as_ref()?.complete);
                let gap = watch.and_then(|watch| watch.gap.as_ref());
                let course = Course {
                    from,
                    moved_at: moved_at.max(listed.map(|listed| awake.of(listed.at))),
                    gap_at: gap.map_or(record.at, |gap| awake.of(gap.since.at)),
                    edit: watch.and_then(|_| facts.last_edit(event.stream)),
                };
                requests.ended(event, before, record, registry);
                servers.ended(&event.watch);
                let was = Where::of(&event.watch, before);
                ends.ended(event, course, was, record, registry, timers);
            }
            Event::Attribution(event) => ends.attributed(event, before, record, registry, timers),
            Event::Gap(event) => ends.gap(event, record, registry),
            Event::StreamError(event) => {
                ends.error(event, facts.awaits_list(&event.watch));
                requests.stream_error(event, record, registry);
            }
            Event::RequestSent(event) => {
                clients.reads(event);
                registry.unread.asked(event, options);
                requests.sent(event, options, before, record, timers);
            }
            Event::RequestAnswered(event) => {
                clients.read(event, record, timers);
                requests.answered(event, before, record, registry, timers);
            }
            Event::ListComplete(event) => {
                requests.listed(event, before, record, registry);
                servers.listed(event, record, timers);
                selector_exits.listed(event);
                audits.listed(event, before, record, registry);
                registry.unread.listed(event, before);
            }
            Event::ListPage(event) => {
                selector_exits.page(event);
                audits.page(event, before, record, registry);
                ends.waits_no_more(&event.watch, record, timers);
            }
            Event::WatchPhase(event) => {
                requests.entered(event, record, registry);
                audits.entered(event, before, record, registry);
            }
            Event::WatchStarted(event) => servers.started(event, before, record.at),
            Event::ClientStarted(event) => clients.started(event, record),
            Event::ClientRequest(event) => clients.asked(event, before, record, registry, timers),
            Event::ClientReport(event) => {
                clients.reported(event, before, streams, record, registry, timers);
            }
            Event::Verdict(event) => audits.judged(event, before, streams, record, registry),
            Event::Audit(event) => {
                selector_exits.audited(event, record, registry);
                audits.audited(event, before, record, (awake, facts), registry);
            }
            Event::Loss(event) => registry.unread.lost(event),
            Event::Clock(event) if event.paused_ms.is_some() => ends.paused(record),
            Event::WatchStopped(WatchStopped { watch, .. }) => {
                audits.forget(watch);
                selector_exits.forget(watch);
                registry.unread.forget(watch);
                streams.forget(watch, timers);
                servers.forget(watch, timers);
                requests.forget(watch, timers);
                ends.forget(watch);
                registry.forget_watch(watch, record.seq);
            }
            _ => {}
        }
    }

    /// Returns when [`Findings::conclude`] may have something to judge or report; a past time means now. `None` if
    /// nothing is to come.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        let timer = self.timers.first_at();
        [self.registry.wake_at(), timer].into_iter().flatten().min()
    }

    /// Judges what is due at `now`, and appends the records to write.
    pub(crate) fn conclude(&mut self, now: Time, awake: &Awake, out: &mut Vec<Event>) {
        while let Some((at, timer)) = self.timers.next(now) {
            let registry = &mut self.registry;
            match timer {
                Timer::Bookmark(stream) => {
                    self.streams
                        .no_bookmark(stream, at, registry, &mut self.timers);
                }
                Timer::Initial(stream) => {
                    self.streams.no_end(stream, at, registry, &mut self.timers);
                }
                Timer::Answer(watch) => self.requests.no_answer(&watch, at, registry),
                Timer::Settled(stream) => match self.ends.waits_for_list(stream, at) {
                    Some(until) => self.timers.set(until, Timer::Settled(stream)),
                    None => self.ends.settled(stream, at, registry),
                },
                Timer::Behind(what) => {
                    self.servers.behind(&what, at, registry, &mut self.timers);
                }
                Timer::Ghost(client) => self.clients.ghost(&client, at, registry),
                Timer::Client(client) => self.clients.silent(&client, at, registry),
            }
        }
        self.registry.take(now, awake, out);
    }
}
