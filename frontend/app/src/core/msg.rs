//! What happens to the page. Each message is handled whole before the next.

use super::model::Second;
use super::person::Person;
use super::screen::{Size, Surroundings, ThemeChoice, Window};
use crate::source::connection::Input;

/// A message.
pub enum Msg {
    /// The page has started.
    Start {
        /// What the person chose when the page was last here.
        theme: ThemeChoice,
        /// How the system wants it to look.
        surroundings: Surroundings,
        /// The secret of the link.
        link: Option<String>,
        /// Whether the address names a place.
        is_led: bool,
    },
    /// The browser is about to paint.
    Frame {
        /// Milliseconds since the page's start.
        now_ms: f64,
        /// The canvas now.
        size: Size,
        /// The window now.
        window: Window,
    },
    /// The time that [`ArmAfter`](super::effect::Effect::ArmAfter) named is over.
    Step,
    /// The picture was painted.
    Painted(Painted),
    /// The canvas has this size.
    Resized(Size),
    /// The system wants another look.
    Surroundings(Surroundings),
    /// The connection has an input.
    Link(Input<'static>),
    /// The socket brought a message.
    Message(Vec<u8>),
    /// The socket is open.
    Opened,
    /// The second part is here.
    Loaded(Second),
    /// The second part could not be loaded.
    NotLoaded,
    /// The person did something, or a panel did it for the person.
    Person(Person),
}

/// What painting a picture took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Painted {
    /// Milliseconds since the page's start.
    pub at_ms: f64,
    /// Rows and scene, in milliseconds.
    pub scene_ms: f64,
    /// All of the frame, in milliseconds.
    pub frame_ms: f64,
}
