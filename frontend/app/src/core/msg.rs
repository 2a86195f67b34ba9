//! The page's messages. The page handles each one completely before the next.

use super::model::{Late, Second};
use super::person::Person;
use super::screen::{Size, Surroundings, ThemeChoice, Window};
use crate::source::connection::Input;

/// A message to the page.
pub enum Msg {
    /// The page has started.
    Start {
        /// The theme that the person chose at an earlier visit.
        theme: ThemeChoice,
        /// The system's preferences.
        surroundings: Surroundings,
        /// The secret of the link that opened the page.
        link: Option<String>,
        /// Whether the page's address names a view (`v=` in its fragment).
        is_led: bool,
    },
    /// The browser is about to paint.
    Frame {
        /// Milliseconds since the page's start.
        now_ms: f64,
        /// The canvas's present size.
        size: Size,
        /// The window's present size.
        window: Window,
    },
    /// The wait of [`ArmAfter`](super::effect::Effect::ArmAfter) is over.
    Step,
    /// The picture was painted.
    Painted(Painted),
    /// The canvas has this size.
    Resized(Size),
    /// The system's preferences changed.
    Surroundings(Surroundings),
    /// The connection has an input.
    Link(Input<'static>),
    /// The socket brought a message.
    Message(Vec<u8>),
    /// The socket is open.
    Opened,
    /// The second part is loaded.
    Loaded(&'static Second),
    /// The third part is loaded.
    Late(&'static Late),
    /// The second part could not be loaded.
    NotLoaded,
    /// A person acted, or a panel did so on the person's behalf.
    Person(Person),
}

/// Measurements of a painted picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Painted {
    /// When it was painted, in milliseconds since the page's start.
    pub at_ms: f64,
    /// Time for rows and scene, in milliseconds.
    pub scene_ms: f64,
    /// Time for the whole frame, in milliseconds.
    pub frame_ms: f64,
}
