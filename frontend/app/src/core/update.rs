//! Handles a message: changes the model and returns the effects for the browser.

use super::effect::Effect;
use super::model::{Model, Now};
use super::msg::Msg;
use super::person::Person;
use super::screen::Surroundings;
use crate::source::connection::Input;

/// Handles a message. Returns the effects for the browser, in their order.
pub fn update(model: &mut Model, message: Msg, now: Now) -> Vec<Effect> {
    model.now = now;
    match message {
        Msg::Start {
            theme,
            surroundings,
            link,
            is_led,
        } => {
            model.link.is_led = is_led;
            model.screen.theme = theme;
            model.surrounded(surroundings);
            model.input(Input::Link(link));
        }
        Msg::Frame {
            now_ms,
            size,
            window,
        } => model.frame(now_ms, size, window),
        Msg::Step => model.stepped(),
        Msg::Painted(painted) => model.painted(painted),
        Msg::Resized(size) => model.resized(size),
        Msg::Surroundings(surroundings) => model.surrounded(surroundings),
        Msg::Link(input) => model.input(input),
        Msg::Message(bytes) => model.input(Input::Message(&bytes)),
        Msg::Opened => model.opened(),
        Msg::Loaded(second) => model.join(second),
        Msg::NotLoaded => model.want(Effect::TellIncomplete),
        Msg::Late(late) => {
            model.late = Some(late);
            act(model, Person::LateCame);
        }
        Msg::Person(person) => act(model, person),
    }
    std::mem::take(&mut model.effects)
}

/// Handles an action of a person. Panels come with the second part, so it is loaded.
fn act(model: &mut Model, person: Person) {
    if let Some(second) = model.second {
        (second.person)(model, person);
    }
}

impl Model {
    /// Takes the system's preferences, and draws again.
    fn surrounded(&mut self, surroundings: Surroundings) {
        self.screen.surroundings = surroundings;
        self.effects.push(Effect::Theme);
        self.redraw();
    }
}
