//! The connection's inputs, and what it wants: what touches the browser becomes an effect, the rest is done here.

use super::effect::Effect;
use super::model::Model;
use crate::source::connection::{self, Input, Status};

impl Model {
    /// Puts an input into the connection and does what it asks for.
    pub fn input(&mut self, input: Input<'_>) {
        self.step(input);
        let wake_ms = self.link.connection.wake_ms();
        self.effects.push(Effect::WakeAt(wake_ms));
        if !self.is_connected() {
            self.link.backfill.interrupted();
        }
        self.effects.push(Effect::Show);
        self.changed();
    }

    /// The socket is open: says where the store stands.
    pub(super) fn opened(&mut self) {
        self.input(Input::Opened(self.store.resume_point()));
    }

    /// Whether the page hears from the server.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.link.connection.status() == Status::Live
    }

    fn step(&mut self, input: Input<'_>) {
        let now = self.now;
        for effect in self.link.connection.step(input, now.ms, now.random) {
            // What a delivery brings up comes before the connection's next effect.
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
                // The store goes on from what it has taken in.
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
