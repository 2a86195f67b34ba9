//! The reader machine: turns one viewer's messages and the ring into the messages for that viewer.
//!
//! ```text
//!  Greeting ──hello──► Joining ──snapshot──► Live ──left behind, or back from a pause──► Joining
//!              └────────resumed───────────────▲
//! ```
//!
//! Control messages go first, then a snapshot, then live data, then the past. A viewer gets the messages of each kind
//! in their order. A message names records that the viewer does not get: moved, expired, not resumed.

mod port;
mod transfer;
mod window;

use std::collections::VecDeque;

use bytes::Bytes;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::split_frame;
use watchscope_model::wire::{
    self, Acknowledge, Backfill, Bye, ClientMessage, Expired, FromViewer, HEARTBEAT_MS, Heartbeat,
    Hello, MAX_MESSAGE_BYTES, Moved, NotRead, PROTOCOL_VERSION, ServerMessage, Welcome,
};
use watchscope_model::{Seq, Text, Time};

use self::port::MAX_CONTROL;
pub use self::port::{Asked, Fetched, MAX_BACKFILLS, Parting, Recording, Refusal, Served, Step};
use self::transfer::{Dropped, Transfer};
pub use self::window::{BEHIND_BYTES, BEHIND_US};
use self::window::{Content, Window};
use crate::catalogue::Cursor;
use crate::ring::Ring;

/// The most time in microseconds between two looks at the lag while a live message waits for room in the window. If
/// only a message of the past or of the catalogue waits, the next look comes with the heartbeat at the latest. The time
/// is that of `TREND_US`, from one sample of the lag to the next, so more looks would show little more.
const LAG_CHECK_US: i64 = 1_000_000;

/// One viewer of the log: a cursor into the ring.
///
/// The reader holds the cursors, at most [`MAX_BACKFILLS`] requests beside the one that is being served, and control
/// messages. [`Refusal::Unread`] bounds the control messages that the viewer causes; the driver bounds those that it
/// adds ([`Reader::tell`]). The reader holds the marks of at most 1 MiB of unacknowledged data: about 100, if the
/// viewer acknowledges. It also holds one snapshot or segment in transit, shared with other readers, one chapter of a
/// file, and one message of the catalogue. A viewer that exceeds a bound is refused ([`Refusal`]).
#[derive(Debug)]
pub struct Reader {
    version: Text,
    recording: Option<Recording>,
    feed: Feed,
    is_paused: bool,
    is_subscribed: bool,
    control: VecDeque<Bytes>,
    backfills: VecDeque<Backfill>,
    past: Option<Past>,
    /// The part of the catalogue that the viewer was sent.
    catalogue: Cursor,
    /// The next message of the catalogue, which waits for space in the window.
    listing: Option<Bytes>,
    window: Window,
    transfers: u64,
    heartbeat_at: Option<Time>,
    parting: Option<Parting>,
    /// Whether the viewer needs a snapshot because it was left behind.
    is_late: bool,
    served: Served,
}

/// The state of a viewer's live data.
#[derive(Debug)]
enum Feed {
    /// The viewer has not sent hello.
    Greeting,
    /// The viewer needs a snapshot of the head; `moved_from` is the first record that it does not get live.
    Joining { moved_from: Option<Seq> },
    /// A snapshot, or a segment larger than a message, is in transit; `next` is the first record after it. A newer
    /// snapshot or segment never replaces the one in transit.
    Sending {
        transfer: Transfer,
        is_snapshot: bool,
        next: Seq,
    },
    /// All records before `next` are sent.
    Live { next: Seq },
}

/// A chapter that the viewer requested.
#[derive(Debug)]
enum Past {
    /// The host reads the chapter from a file.
    Fetched(Backfill),
    /// The chapter is in transit.
    Sent(Backfill, Transfer),
}

/// The live data that can be sent now.
enum Live {
    Send(Bytes, Content),
    /// The viewer's state changed, so the caller must look again for live data.
    Changed,
    NeedsSnapshot,
    /// A message waits for space in the window.
    Blocked,
    Idle,
}

impl Reader {
    /// Returns the reader of a viewer that has sent nothing yet, for a live log. `version` is watchscope's, for the
    /// welcome.
    #[must_use]
    pub fn new(version: Text) -> Self {
        Self {
            version,
            recording: None,
            feed: Feed::Greeting,
            is_paused: false,
            is_subscribed: true,
            control: VecDeque::new(),
            backfills: VecDeque::new(),
            past: None,
            catalogue: Cursor::default(),
            listing: None,
            window: Window::default(),
            transfers: 0,
            heartbeat_at: None,
            parting: None,
            is_late: false,
            served: Served::default(),
        }
    }

    /// Sets what the welcome states about the recording that is read; `None` for a live log. Call this before the
    /// viewer's hello is received.
    #[must_use]
    pub fn of_recording(self, recording: Option<Recording>) -> Self {
        Self { recording, ..self }
    }

    /// Returns the counters so far; before the first message all are 0, and [`Served::waited_us`] is `None`.
    #[must_use]
    pub fn served(&self) -> Served {
        Served {
            unacknowledged_bytes: self.window.unacknowledged(),
            ..self.served
        }
    }

    /// Returns the seq of the next live record. All records before it were sent, are part of the viewer's snapshot, or
    /// were held by the viewer when it resumed. The seq does not change during a pause. `None` before hello, while the
    /// viewer waits for a snapshot, and while a snapshot, or a segment in pieces, is in transit.
    #[must_use]
    pub fn sent_before(&self) -> Option<Seq> {
        match &self.feed {
            Feed::Live { next } => Some(*next),
            _ => None,
        }
    }

    /// Processes one message of the viewer. Returns a request that the host must carry out; `None` for every other
    /// message. Messages of a kind that only a later version knows are ignored.
    ///
    /// # Errors
    /// A [`Refusal`] if the message breaks the protocol. The caller must end the conversation after an error.
    pub fn receive(
        &mut self,
        message: &[u8],
        ring: &Ring,
        now: Time,
    ) -> Result<Option<Asked>, Refusal> {
        let Some(message) = wire::decode_viewer(message)? else {
            return Ok(None);
        };
        let is_answered = match &message {
            FromViewer::Note(_) => true,
            FromViewer::Message(message) => matches!(
                message,
                ClientMessage::Command(_) | ClientMessage::Backfill(_)
            ),
        };
        if is_answered && self.control.len() >= MAX_CONTROL {
            return Err(Refusal::Unread);
        }
        let is_hello = matches!(message, FromViewer::Message(ClientMessage::Hello(_)));
        if is_hello != matches!(self.feed, Feed::Greeting) {
            return Err(Refusal::Hello);
        }
        let message = match message {
            FromViewer::Message(message) => message,
            FromViewer::Note(note) => return Ok(Some(Asked::Note(note))),
        };
        match message {
            ClientMessage::Hello(hello) => self.greet(&hello, ring, now),
            ClientMessage::Acknowledge(Acknowledge { bytes }) => {
                if !self.window.acknowledge(bytes, ring, now) {
                    return Err(Refusal::Acknowledged {
                        acknowledged: bytes,
                    });
                }
            }
            ClientMessage::Backfill(backfill) => {
                if self.backfills.len() >= MAX_BACKFILLS {
                    return Err(Refusal::Backfills);
                }
                self.backfills.push_back(backfill);
            }
            ClientMessage::Subscribe(subscribe) => {
                self.want(self.is_paused, subscribe.logs.contains(ring.log()), ring);
            }
            ClientMessage::Pause(pause) => self.want(pause.paused, self.is_subscribed, ring),
            ClientMessage::Command(command) => return Ok(Some(Asked::Command(command))),
        }
        Ok(None)
    }

    /// Returns whether the viewer has sent hello in the protocol version of this server.
    #[must_use]
    pub fn is_greeted(&self) -> bool {
        self.heartbeat_at.is_some()
    }

    /// Queues a message that is not part of the log. The message is sent after the messages queued before, and before
    /// all data of the log. The queue keeps it until it is sent; the driver bounds the number of queued messages. After
    /// [`Self::part`], a message passed here is dropped.
    pub fn tell(&mut self, message: impl Into<ServerMessage>) {
        if self.parting.is_none() {
            self.control
                .push_back(wire::encode_server(&message.into(), &[]).into());
        }
    }

    /// Ends the conversation: after the queued control messages comes a [`Bye`], then [`Step::End`]. A second call
    /// changes nothing.
    pub fn part(&mut self, parting: Parting) {
        if self.parting.is_none() {
            self.tell(Bye {
                reason: parting.reason.clone(),
                retry_after_ms: parting.retry_after_ms,
            });
            self.parting = Some(parting);
        }
    }

    /// Returns the next act of the driver. A message counts as sent once this returns it. After the [`Bye`] of
    /// [`Self::part`], each call returns [`Step::End`].
    pub fn next(&mut self, ring: &Ring, now: Time) -> Step {
        self.served.waited_us = None;
        loop {
            if let Some(message) = self.control.pop_front() {
                return self.send(message, Content::Control, now);
            }
            if let Some(parting) = &self.parting {
                return Step::End(parting.clone());
            }
            let Some(heartbeat_at) = self.heartbeat_at else {
                return Step::Wait {
                    until: None,
                    needs_snapshot: false,
                };
            };
            if now >= heartbeat_at {
                self.heartbeat_at = Some(now.plus_millis(HEARTBEAT_MS));
                self.tell(heartbeat(ring, now));
                continue;
            }
            let live = self.live(ring, now);
            match live {
                Live::Send(message, content) => return self.send(message, content, now),
                Live::Changed => continue,
                Live::NeedsSnapshot | Live::Blocked | Live::Idle => {}
            }
            if let Some(fetch) = self.begin_past(ring) {
                return Step::Fetch(fetch);
            }
            if let Some(message) = self.past(ring, now) {
                return self.send(message, Content::Part, now);
            }
            if self.past.is_none() && !self.backfills.is_empty() {
                continue;
            }
            if let Some(message) = self.list(ring, now) {
                return self.send(message, Content::Part, now);
            }
            if self.control.is_empty() {
                let until = if matches!(live, Live::Blocked) {
                    heartbeat_at.min(now.plus_micros(LAG_CHECK_US))
                } else {
                    heartbeat_at
                };
                return Step::Wait {
                    until: Some(until),
                    needs_snapshot: matches!(live, Live::NeedsSnapshot),
                };
            }
        }
    }

    fn send(&mut self, message: Bytes, content: Content, now: Time) -> Step {
        self.window.send(message.len(), content, now);
        self.served.messages += 1;
        self.served.bytes += message.len() as u64;
        Step::Send(message)
    }

    fn greet(&mut self, hello: &Hello, ring: &Ring, now: Time) {
        if hello.protocol != PROTOCOL_VERSION {
            self.part(Parting {
                reason: "version".into(),
                retry_after_ms: None,
            });
            return;
        }
        let is_this_log = hello.log.as_ref().is_none_or(|log| log == ring.log());
        let held = hello
            .last
            .filter(|_| is_this_log && hello.epoch.as_ref() == Some(ring.epoch()))
            .map(Seq::next);
        let resumed = held.filter(|&next| may_resume(next, ring, now));
        let recording = self.recording.clone();
        let recording = recording.as_ref();
        self.tell(Welcome {
            protocol: PROTOCOL_VERSION,
            log: ring.log().clone(),
            epoch: ring.epoch().clone(),
            first: ring.first(),
            head: ring.head(),
            resumed: resumed.is_some(),
            at: now,
            version: self.version.clone(),
            first_at: ring.first_at(),
            recording: recording.map(|recording| recording.name.clone()),
            recorded_from: recording.map(|recording| recording.from),
            recorded_to: recording.map(|recording| recording.to),
            judged_again: recording.map(|recording| recording.is_judged_again),
        });
        if let Some(next) = held.filter(|&next| next < ring.first()) {
            self.tell(Expired {
                log: ring.log().clone(),
                first: next,
                last: Seq(ring.first().0 - 1),
                epoch: ring.epoch().clone(),
            });
        }
        // A viewer shows at once how full the ring is.
        self.tell(heartbeat(ring, now));
        self.heartbeat_at = Some(now.plus_millis(HEARTBEAT_MS));
        self.feed = match resumed {
            Some(next) => {
                self.window.resume(next, ring, now);
                Feed::Live { next }
            }
            None => Feed::Joining { moved_from: None },
        };
    }

    /// Sets whether the viewer wants live data: its tab is not hidden, and it is subscribed. A viewer that wants live
    /// data again after new records were sealed is moved to the head.
    fn want(&mut self, is_paused: bool, is_subscribed: bool, ring: &Ring) {
        let was_wanted = self.is_wanted();
        (self.is_paused, self.is_subscribed) = (is_paused, is_subscribed);
        if self.is_wanted()
            && !was_wanted
            && let Feed::Live { next } = self.feed
            && next <= ring.head()
        {
            self.rejoin(next);
        }
    }

    fn is_wanted(&self) -> bool {
        self.is_subscribed && !self.is_paused
    }

    fn rejoin(&mut self, next: Seq) {
        self.feed = Feed::Joining {
            moved_from: Some(next),
        };
    }

    fn fall_behind(&mut self, next: Seq) {
        self.is_late = true;
        self.rejoin(next);
    }

    fn live(&mut self, ring: &Ring, now: Time) -> Live {
        let is_wanted = self.is_wanted();
        match self.feed {
            Feed::Joining { moved_from } if is_wanted => self.join(moved_from, ring, now),
            Feed::Live { next } if is_wanted => self.follow(next, ring, now),
            Feed::Greeting | Feed::Joining { .. } | Feed::Live { .. } => Live::Idle,
            Feed::Sending { .. } => self.go_on_sending(ring, now),
        }
    }

    fn go_on_sending(&mut self, ring: &Ring, now: Time) -> Live {
        let Feed::Sending {
            transfer,
            is_snapshot,
            next,
        } = &mut self.feed
        else {
            return Live::Idle;
        };
        let (is_snapshot, next) = (*is_snapshot, *next);
        let bytes = transfer.next_bytes();
        let has_room = if is_snapshot {
            self.window.admits_snapshot(bytes)
        } else {
            self.window.admits_live(bytes, now)
        };
        if !has_room {
            return Live::Blocked;
        }
        let Ok((message, is_last)) = transfer.next(ring) else {
            self.fall_behind(next);
            return Live::Changed;
        };
        if !is_last {
            return Live::Send(message, Content::Part);
        }
        self.feed = Feed::Live { next };
        let content = if is_snapshot {
            Content::Snapshot { next }
        } else {
            Content::Records { next }
        };
        Live::Send(message, content)
    }

    /// Starts to send a snapshot, once the window has space and the ring has a snapshot that goes beyond the viewer's
    /// records.
    fn join(&mut self, moved_from: Option<Seq>, ring: &Ring, now: Time) -> Live {
        if !self.window.admits_snapshot(MAX_MESSAGE_BYTES) {
            return Live::Blocked;
        }
        let snapshot = ring
            .snapshot(now)
            .filter(|snapshot| moved_from.is_none_or(|from| snapshot.seq >= from));
        let Some(snapshot) = snapshot else {
            return Live::NeedsSnapshot;
        };
        if let Some(from) = moved_from {
            if std::mem::take(&mut self.is_late) {
                self.served.moves += 1;
                self.served.moved_past += snapshot.seq.next().0.saturating_sub(from.0);
            }
            self.tell(Moved {
                log: ring.log().clone(),
                from,
                to: snapshot.seq,
            });
        }
        self.feed = Feed::Sending {
            transfer: Transfer::message(snapshot.message.clone(), self.transfers),
            is_snapshot: true,
            next: snapshot.seq.next(),
        };
        self.transfers += 1;
        Live::Changed
    }

    /// Returns the next segment to send, or moves the viewer to the head if it is left behind.
    fn follow(&mut self, next: Seq, ring: &Ring, now: Time) -> Live {
        self.window.watch_lag(ring, now);
        if next > ring.head() {
            return Live::Idle;
        }
        let Some(segment) = ring.segment(next) else {
            // The ring dropped the segment before it was sent.
            self.fall_behind(next);
            return Live::Changed;
        };
        let after = segment.last.next();
        if self
            .window
            .admits_live(segment.message.len().min(MAX_MESSAGE_BYTES), now)
        {
            self.served.waited_us = Some(now.micros_since(segment.first_at));
            if segment.message.len() <= MAX_MESSAGE_BYTES {
                self.feed = Feed::Live { next: after };
                return Live::Send(segment.message.clone(), Content::Records { next: after });
            }
            self.feed = Feed::Sending {
                transfer: Transfer::message(segment.message.clone(), self.transfers),
                is_snapshot: false,
                next: after,
            };
            self.transfers += 1;
            return Live::Changed;
        }
        if self.window.is_left_behind(ring, now) {
            self.fall_behind(next);
            return Live::Changed;
        }
        Live::Blocked
    }

    /// Begins to send the next requested chapter, if none is in transit; returns the request if the host must fetch it.
    /// A chapter that neither the ring nor a file holds is answered with `Expired`.
    fn begin_past(&mut self, ring: &Ring) -> Option<Backfill> {
        if self.past.is_some() {
            return None;
        }
        let backfill = self.backfills.pop_front()?;
        let before = backfill.before;
        let is_of_run = backfill.log == *ring.log() && backfill.epoch == *ring.epoch();
        let is_here = is_of_run && before <= ring.head().next();
        let transfer = is_here
            .then(|| Transfer::chapter(ring, before, self.transfers))
            .flatten();
        if let Some(transfer) = transfer {
            self.transfers += 1;
            self.past = Some(Past::Sent(backfill, transfer));
            return None;
        }
        let is_of_log = backfill.log == *ring.log();
        let last = Seq(backfill.before.0.saturating_sub(1));
        if is_of_log && ring.catalogue().is_in_file(&backfill.epoch, last) {
            self.past = Some(Past::Fetched(backfill.clone()));
            return Some(backfill);
        }
        self.tell_expired(backfill);
        None
    }

    /// Takes the host's result for the chapter of the last [`Step::Fetch`]. The host calls this once for each such
    /// step: at any other time it would break off a chapter that is being sent.
    pub fn fetched(&mut self, fetched: Fetched) {
        let Some(Past::Fetched(backfill)) = self.past.take() else {
            return;
        };
        match fetched {
            Fetched::Chapter {
                first,
                last,
                frames,
            } => {
                let (bytes, before) =
                    cut(&frames, backfill.before).unwrap_or((frames.len(), last.next()));
                let header = wire::Chapter {
                    log: backfill.log.clone(),
                    first,
                    before,
                };
                let message = wire::encode_server(&header.into(), &[&frames[..bytes]]);
                let transfer = Transfer::message(message.into(), self.transfers);
                self.transfers += 1;
                self.past = Some(Past::Sent(backfill, transfer));
            }
            Fetched::Gone => self.tell_expired(backfill),
            Fetched::NotRead { reason } => self.tell(NotRead {
                log: backfill.log,
                epoch: backfill.epoch,
                before: backfill.before,
                reason,
            }),
        }
    }

    /// Returns the next message of a requested chapter, if the window has space for it.
    fn past(&mut self, ring: &Ring, now: Time) -> Option<Bytes> {
        let Some(Past::Sent(_, transfer)) = &mut self.past else {
            return None;
        };
        if !self.window.admits_past(transfer.next_bytes(), now) {
            return None;
        }
        match transfer.next(ring) {
            Ok((message, is_last)) => {
                if is_last {
                    self.past = None;
                }
                Some(message)
            }
            // A file may hold the chapter, so it is looked up again.
            Err(Dropped) => {
                if let Some(Past::Sent(backfill, _)) = self.past.take() {
                    self.backfills.push_front(backfill);
                }
                None
            }
        }
    }

    /// Returns the next message of the catalogue, if there are new entries and the window has space. Such messages come
    /// only after the first snapshot.
    fn list(&mut self, ring: &Ring, now: Time) -> Option<Bytes> {
        if !self.is_wanted() || !matches!(self.feed, Feed::Live { .. }) {
            return None;
        }
        if self.listing.is_none() {
            let message = ring
                .catalogue()
                .next_message(ring.log(), &mut self.catalogue);
            self.listing = message.map(Bytes::from);
        }
        let bytes = self.listing.as_ref()?.len();
        if !self.window.admits_past(bytes, now) {
            return None;
        }
        self.listing.take()
    }

    fn tell_expired(&mut self, backfill: Backfill) {
        self.tell(Expired {
            log: backfill.log,
            first: Seq(1),
            last: Seq(backfill.before.0.saturating_sub(1)),
            epoch: backfill.epoch,
        });
    }
}

/// Whether segments may continue from `next`: the ring holds that record, a segment begins with it, and its lag is
/// within [`BEHIND_US`] and [`BEHIND_BYTES`].
fn may_resume(next: Seq, ring: &Ring, now: Time) -> bool {
    if next == ring.head().next() {
        return true;
    }
    ring.segment(next).is_some_and(|segment| {
        segment.first == next
            && now.micros_since(segment.first_at) <= BEHIND_US
            && ring.total_bytes() - segment.bytes_before <= BEHIND_BYTES
    })
}

fn heartbeat(ring: &Ring, now: Time) -> Heartbeat {
    Heartbeat {
        head: ring.head(),
        at: now,
        ring_bytes: ring.held_bytes(),
        ring_capacity: ring.capacity_bytes(),
        first: ring.first(),
        first_at: ring.first_at(),
    }
}

/// The number of bytes of a chapter's frames to send for a request up to `before`, and the seq after them. The last
/// segment is sent whole, even if it ends after `before`. `None` if a frame is damaged; the viewer then reports the
/// damage.
fn cut(frames: &[u8], before: Seq) -> Option<(usize, Seq)> {
    let (_, mut rest) = split_frame(frames).ok()?;
    let mut end = None;
    while !rest.is_empty() && end.is_none_or(|end| end < before) {
        let (segment, after) = split_frame(rest).ok()?;
        end = Some(ChapterReader::end_of(segment).ok()?);
        rest = after;
    }
    Some((frames.len() - rest.len(), end?))
}

#[cfg(test)]
mod tests {
    use watchscope_model::chapter::ChapterWriter;
    use watchscope_model::event::Note;
    use watchscope_model::vocabulary::Author;
    use watchscope_model::{Record, State};

    use super::*;

    #[test]
    fn a_request_up_to_a_record_gets_the_segments_before_it() {
        let (mut writer, mut frames) =
            ChapterWriter::open("log".into(), "a".into(), &State::default());
        let mut ends = vec![frames.len()];
        for seq in 1..=12 {
            writer.push(&Record {
                seq: Seq(seq),
                at: Time(seq as i64),
                event: Note::new(Author::Story, "n".to_owned()).into(),
            });
            if seq % 4 == 0 {
                frames.extend(writer.seal().expect("four records"));
                ends.push(frames.len());
            }
        }
        assert_eq!(cut(&frames, Seq(2)), Some((ends[1], Seq(5))));
        assert_eq!(cut(&frames, Seq(5)), Some((ends[1], Seq(5))));
        assert_eq!(cut(&frames, Seq(6)), Some((ends[2], Seq(9))));
        for all in [Seq(13), Seq(99)] {
            assert_eq!(cut(&frames, all), Some((ends[3], Seq(13))));
        }
        frames[ends[0] + 9] ^= 1;
        assert_eq!(cut(&frames, Seq(9)), None);
    }
}
