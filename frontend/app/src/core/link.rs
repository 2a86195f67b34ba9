//! Steps the connection. Its effects that need the browser become the page's effects; the model handles the others.

use super::effect::Effect;
use super::model::Model;
use crate::source::connection::{self, Input, Status};

impl Model {
    /// Gives the connection an input and handles its effects. A new status and a delivery ask for a frame.
    pub fn input(&mut self, input: Input<'_>) {
        let before = self.link.connection.status();
        self.step(input);
        let wake_ms = self.link.connection.wake_ms();
        self.effects.push(Effect::WakeAt(wake_ms));
        if !self.is_connected() {
            self.link.backfill.interrupted();
        }
        self.effects.push(Effect::Show);
        if self.link.connection.status() != before {
            self.heard();
        }
    }

    /// Handles an open socket: the connection resumes from the store's last record.
    pub(super) fn opened(&mut self) {
        self.input(Input::Opened(self.store.resume_point()));
    }

    /// Whether the connection to the server is live.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.link.connection.status() == Status::Live
    }

    fn step(&mut self, input: Input<'_>) {
        let now = self.now;
        for effect in self.link.connection.step(input, now.ms, now.random) {
            // An input that a delivery causes comes before the connection's next effect.
            if let Some(input) = self.take_effect(effect) {
                self.step(input);
            }
        }
    }

    fn take_effect(&mut self, effect: connection::Effect) -> Option<Input<'static>> {
        match effect {
            connection::Effect::Deliver(delivery) => return self.deliver(delivery),
            connection::Effect::TellUndecodable(why) => {
                self.trouble = Some(format!(
                    "What watchscope sent could not be read ({why}). The page starts again from a snapshot; \
                     the records between stay in watchscope."
                ));
            }
            connection::Effect::OpenSocket => {
                // The server resumes after the last record in the store, so it sends these deliveries again.
                self.link.held.clear();
                self.effects.push(Effect::Link(effect));
                if self.frame.is_unpainted() {
                    self.effects.push(Effect::WarmUp);
                }
            }
            effect => self.effects.push(Effect::Link(effect)),
        }
        None
    }
}
