//! What each key does. Letters go by their place on the keyboard, so that W, A, S and D form a cross on every layout.

/// An action that a key requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Zoom in at the middle of the picture.
    ZoomIn,
    /// Zoom out at the middle of the picture.
    ZoomOut,
    /// Show everything that is kept.
    Fit,
    /// Move towards the past.
    PanEarlier,
    /// Move towards now.
    PanLater,
    /// The lane above.
    LaneUp,
    /// The lane below.
    LaneDown,
    /// A screen of lanes up.
    PageUp,
    /// A screen of lanes down.
    PageDown,
    /// Open the group of the focused lane.
    Expand,
    /// Close the group of the focused lane.
    Collapse,
    /// The oldest record kept.
    Oldest,
    /// Now, and follow it.
    Follow,
    /// Pause the picture, or follow again.
    TogglePause,
    /// The record before in the lane.
    PreviousRecord,
    /// The next record in the lane.
    NextRecord,
    /// Bring the selection into view; again: fit it.
    Focus,
    /// Open what is focused.
    Open,
    /// Clear the selection, close what is open.
    Clear,
    /// Play a recording faster.
    Faster,
    /// Play it more slowly.
    Slower,
    /// Show the marked range in all of the window.
    ZoomToRange,
    /// Open the export dialog.
    Export,
    /// Show charts.
    Charts,
    /// Go to the filter field.
    Search,
    /// Show or hide the findings.
    Findings,
    /// Show or hide the table of watches.
    Watches,
    /// Write a note about the moment that panels answer for.
    WriteNote,
    /// Write a note about the marked range.
    WriteNoteOnRange,
    /// Show or hide the notes.
    Notes,
    /// Show or hide the keys.
    Help,
}

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// Its place on the keyboard (`KeyW`).
    pub code: &'a str,
    /// What it writes (`w`, `?`).
    pub key: &'a str,
    /// Whether Ctrl, Alt or Meta is down; such keys belong to the browser or the system.
    pub modified: bool,
    /// Shift.
    pub shift: bool,
}

/// Returns the action of a key when the picture has the focus; `None` if it has none.
#[must_use]
pub fn action(key: Key<'_>) -> Option<Action> {
    if key.modified {
        return None;
    }
    // A sign that the key writes comes first. Otherwise the key's place on the keyboard decides.
    let by_sign = match key.key {
        "?" => Some(Action::Help),
        "/" => Some(Action::Search),
        "+" | "=" => Some(Action::ZoomIn),
        "-" | "_" => Some(Action::ZoomOut),
        "0" => Some(Action::Fit),
        "," => Some(Action::PreviousRecord),
        "." => Some(Action::NextRecord),
        ">" => Some(Action::Faster),
        "<" => Some(Action::Slower),
        _ => None,
    };
    by_sign.or(match key.code {
        "KeyW" => Some(Action::ZoomIn),
        "KeyS" => Some(Action::ZoomOut),
        "KeyA" => Some(Action::PanEarlier),
        "KeyD" => Some(Action::PanLater),
        "KeyF" => Some(Action::Focus),
        "KeyR" => Some(Action::ZoomToRange),
        "KeyE" => Some(Action::Export),
        "KeyC" => Some(Action::Charts),
        "KeyI" => Some(Action::Findings),
        "KeyT" => Some(Action::Watches),
        "KeyM" if key.shift => Some(Action::WriteNoteOnRange),
        "KeyM" => Some(Action::WriteNote),
        "KeyN" => Some(Action::Notes),
        "ArrowLeft" if key.shift => Some(Action::Collapse),
        "ArrowRight" if key.shift => Some(Action::Expand),
        "ArrowLeft" => Some(Action::PanEarlier),
        "ArrowRight" => Some(Action::PanLater),
        "ArrowUp" => Some(Action::LaneUp),
        "ArrowDown" => Some(Action::LaneDown),
        "PageUp" => Some(Action::PageUp),
        "PageDown" => Some(Action::PageDown),
        "Home" => Some(Action::Oldest),
        "End" => Some(Action::Follow),
        "Space" => Some(Action::TogglePause),
        "Enter" | "NumpadEnter" => Some(Action::Open),
        "Escape" => Some(Action::Clear),
        _ => None,
    })
}

/// Whether an action works wherever the focus is, except in a text field.
#[must_use]
pub fn is_global(action: Action) -> bool {
    matches!(
        action,
        Action::Search
            | Action::Findings
            | Action::Watches
            | Action::Notes
            | Action::WriteNote
            | Action::WriteNoteOnRange
            | Action::Help
            | Action::Clear
            | Action::TogglePause
            | Action::Follow
    )
}

/// The keys as the help shows them: keys, and what they do.
pub const HELP: &[(&str, &str)] = &[
    (
        "Space",
        "pause the picture, or follow again; play a recording",
    ),
    ("< >", "play a recording more slowly, faster"),
    ("End", "go to now and follow"),
    ("Home", "go to the oldest record kept"),
    ("W S", "zoom in, out"),
    ("A D", "earlier, later"),
    ("← →", "earlier, later"),
    ("↑ ↓", "lane above, below"),
    ("Shift ← →", "close, open the group"),
    ("+ − 0", "zoom in, out, show all that is kept"),
    (", .", "record before, after, in the lane"),
    ("Enter", "open what is focused"),
    ("F", "bring the selection into view; again: fit it"),
    ("R", "zoom to the marked range"),
    ("E", "export what is in view, or the marked range"),
    ("C", "charts of the same"),
    ("I", "findings"),
    ("T", "table of watches"),
    ("N", "notes"),
    (
        "M",
        "write a note about this moment; Shift: about the range",
    ),
    (
        "Esc",
        "close what has the focus, clear range, then selection",
    ),
    ("/", "filter the lanes"),
    ("?", "these keys"),
    ("Wheel", "scroll lanes; sideways or with Shift: time"),
    ("Ctrl wheel, pinch", "zoom at the pointer"),
    ("Drag", "pan time and lanes"),
    (
        "Drag the ruler, Shift drag",
        "mark a range; Alt: without snapping",
    ),
    ("Click", "select, and have panels answer for that time"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(code: &str, key: &str) -> Option<Action> {
        action(Key {
            code,
            key,
            modified: false,
            shift: false,
        })
    }

    #[test]
    fn letters_go_by_place_and_signs_by_what_is_written() {
        assert_eq!(
            pressed("KeyW", "z"),
            Some(Action::ZoomIn),
            "a French keyboard"
        );
        assert_eq!(
            pressed("Digit7", "/"),
            Some(Action::Search),
            "a German keyboard"
        );
        assert_eq!(pressed("Minus", "?"), Some(Action::Help));
        assert_eq!(pressed("KeyX", "x"), None);
    }

    #[test]
    fn the_browsers_own_shortcuts_are_left_alone() {
        let key = Key {
            code: "KeyW",
            key: "w",
            modified: true,
            shift: false,
        };
        assert_eq!(action(key), None);
    }
}
