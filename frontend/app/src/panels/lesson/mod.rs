//! The panels of a lesson: its text, questions, controls, what is beside the picture, and what lies over it. They belong
//! to the third part, but for the question whether there is a lesson.
//!
//! ```text
//!   worker ─► talk ─► shown (mirrors) ─► head, narration, question, sides, ends, crowd, loops, wire, controls, menu, rings, ruler, acts
//!                └──────── LessonCommand ◄─────────────────────────────┘
//! ```

mod acts;
mod controls;
mod crowd;
mod drag;
mod draw;
mod ends;
mod goal;
mod head;
mod judged;
mod keys;
mod layout;
mod loops;
mod marks;
mod menu;
mod narration;
mod on;
mod pace;
mod question;
mod rings;
mod ruler;
mod shown;
mod sides;
mod talk;
mod texts;
mod wire;

pub(super) use self::head::LessonHead;
pub(super) use self::layout::{LessonOver, LessonPanels};
pub(super) use self::on::is_on;
pub(super) use self::talk::{drawn, offer};
