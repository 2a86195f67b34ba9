//! Passes the keys of a lesson to its panels, which come with the third part.

use std::cell::Cell;

use crate::input::actions::LessonAction;

thread_local! {
    /// What does the actions of a lesson, once its panels are there.
    static DOES: Cell<Option<fn(LessonAction)>> = const { Cell::new(None) };
}

/// Sets what does the actions of a lesson.
pub(super) fn begin_with(does: fn(LessonAction)) {
    DOES.set(Some(does));
}

/// Does an action of the lesson. Before its panels are there, it does nothing.
pub(super) fn do_in_lesson(action: LessonAction) {
    if let Some(does) = DOES.get() {
        does(action);
    }
}
