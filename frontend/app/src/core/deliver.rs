//! Takes the server's deliveries into store, clock and view.

use watchscope_model::Seq;
use watchscope_timeline::View;

use super::model::Model;
use crate::source::connection::Input;
use crate::source::feed::Delivery;

impl Model {
    /// Takes a delivery. Returns an input for the connection if the delivery was undecodable. A delivery that needs the
    /// second part waits in `link.held` until that part is loaded.
    pub(super) fn deliver(&mut self, delivery: Delivery) -> Option<Input<'static>> {
        let undecodable =
            |error: &dyn std::fmt::Display| Some(Input::Undecodable(error.to_string()));
        let local = self.now.local;
        if self.second.is_none() && needs_second(&delivery) {
            self.link.held.push(delivery);
            return None;
        }
        if !self.is_only_a_sign(&delivery) {
            self.heard();
        }
        match delivery {
            Delivery::Welcome(welcome) => {
                self.link.clock.reset();
                self.link.clock.set(welcome.at, local);
                match welcome.recorded_to {
                    // Nothing comes after a recording's last record.
                    Some(to) => self.link.clock.hold(to),
                    None if !self.panels.is_lesson => self.link.clock.release(),
                    None => {}
                }
                self.link.contexts = None;
                self.link.history = None;
                // A new epoch enters the store with the head, which follows.
                self.store
                    .ring_begins(&welcome.epoch, welcome.first, welcome.first_at);
                self.link.is_first_view = self.link.welcome.is_none();
                self.link.welcomed_ms = self.now.ms;
                self.link.welcome = Some(welcome);
            }
            Delivery::Head(frame) => {
                let is_past = |held: &Delivery| !matches!(held, Delivery::Segment(_));
                self.link.held.retain(is_past);
                if std::mem::take(&mut self.link.starts_over)
                    && let Some(second) = self.second
                {
                    (second.forget)(self);
                }
                if let Err(error) = self.store.snapshot(&frame) {
                    return undecodable(&error);
                }
                if let Some(welcome) = &self.link.welcome {
                    self.store
                        .ring_begins(&welcome.epoch, welcome.first, welcome.first_at);
                    let is_first_view = std::mem::take(&mut self.link.is_first_view);
                    if is_first_view && !self.panels.address.has_led {
                        let width_px = self.view.width_px;
                        let (begin, last) = (welcome.first_at, self.store.last_news());
                        let opened = View::opened(self.now(), begin, last, width_px);
                        self.view = self.recorded_view().unwrap_or(opened);
                    }
                }
                self.ask_for_newest();
            }
            Delivery::Segment(frame) => return (self.second?.segment)(self, &frame),
            Delivery::Chapter(frames) => {
                let second = self.second?;
                let taken = (second.chapter)(&mut self.store, &frames);
                let asked = self.link.backfill.answered(*taken.as_ref().unwrap_or(&0));
                if let Some((_, epoch, before)) = asked
                    && !matches!(taken, Ok(1..))
                {
                    // The page does not request this chapter again; it requests older ones.
                    self.store.not_read(&epoch, Seq(before.0.saturating_sub(1)));
                }
                if let Err(error) = taken {
                    self.trouble = Some(format!("A chapter of the past is unreadable: {error}"));
                }
                self.ask_for_past();
            }
            Delivery::Catalogue(header, entries) => {
                if let Err(error) = (self.second?.catalogue)(self, &header, &entries) {
                    return undecodable(&error);
                }
                self.ask_for_past();
            }
            Delivery::NotRead(not_read) => {
                let last = Seq(not_read.before.0.saturating_sub(1));
                self.store.not_read(&not_read.epoch, last);
                self.link.backfill.answered(0);
                self.trouble = Some(not_read.reason);
            }
            Delivery::Expired { epoch, last } => {
                self.store.expired(&epoch, last);
                self.link.backfill.answered(0);
            }
            Delivery::Moved { records } => {
                self.say(format!(
                    "This page fell behind; {records} records are loaded again as they are looked at."
                ));
            }
            Delivery::Heartbeat(heartbeat) => {
                self.link.clock.set(heartbeat.at, local);
                if let Some(welcome) = &mut self.link.welcome {
                    // A new epoch enters the store with the head, which follows.
                    (welcome.first, welcome.first_at) = (heartbeat.first, heartbeat.first_at);
                    self.store
                        .ring_begins(&welcome.epoch, heartbeat.first, heartbeat.first_at);
                }
                self.link.heartbeat = Some(heartbeat);
            }
            Delivery::Contexts { names, reason } => {
                let names = names.iter().map(ToString::to_string).collect();
                self.link.contexts = Some((names, reason));
            }
            Delivery::History(history) => self.link.history = Some(history),
            Delivery::CommandDone {
                command,
                error,
                refused,
            } => {
                self.link.done = Some(command);
                self.link.refused = refused;
                if let Some(error) = error {
                    self.say(error.clone());
                    self.trouble = Some(error);
                }
            }
            Delivery::Bye(_) => {}
        }
        None
    }

    /// Whether it is a heartbeat that says nothing new but the time. A page in which nothing happens draws no frame for
    /// it.
    fn is_only_a_sign(&self, delivery: &Delivery) -> bool {
        let Delivery::Heartbeat(heartbeat) = delivery else {
            return false;
        };
        self.link.heartbeat.as_ref().is_some_and(|known| {
            let bytes = (heartbeat.ring_bytes, heartbeat.ring_capacity);
            heartbeat.first == known.first && bytes == (known.ring_bytes, known.ring_capacity)
        })
    }

    /// Returns a view of the whole recording, with a fortieth of its length, and at least 0.5 s, free at each end.
    /// `None` for a live log.
    pub(super) fn recorded_view(&self) -> Option<View> {
        let welcome = self.link.welcome.as_ref()?;
        let (from, to) = welcome.recorded_from.zip(welcome.recorded_to)?;
        let room_us = (to.micros_since(from) / 40).max(500_000);
        Some(View::between(
            from.plus_micros(-room_us),
            to.plus_micros(room_us),
            self.view.width_px,
        ))
    }
}

/// Whether only the second part can take the delivery.
fn needs_second(delivery: &Delivery) -> bool {
    matches!(
        delivery,
        Delivery::Segment(_) | Delivery::Chapter(_) | Delivery::Catalogue(..)
    )
}
