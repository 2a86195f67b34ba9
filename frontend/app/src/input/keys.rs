//! The one table of keys: which key requests which action, and in which scope.
//!
//! Letters go by their place on the keyboard, so that W, A, S and D form a cross on every layout. Signs go by the text
//! that the key writes.

use super::actions::{Action, LessonAction};

/// Where a binding holds. If several scopes have a binding for a key, the narrowest scope in force wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The palette is open.
    Palette,
    /// Another dialog is open. The page's own keys do nothing meanwhile.
    Dialog,
    /// The search's field has the focus.
    Search,
    /// The page shows a lesson.
    Lesson,
    /// The page shows a recording.
    Replay,
    /// The page itself.
    Page,
}

impl Scope {
    /// Returns the heading of the scope in the help.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Palette => "In the palette",
            Self::Dialog => "In a dialog",
            Self::Search => "In the search",
            Self::Lesson => "In the lesson",
            Self::Replay => "In the recording",
            Self::Page => "On the page",
        }
    }
}

/// The scopes that are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// Whether the palette is open.
    pub palette: bool,
    /// Whether another dialog is open.
    pub dialog: bool,
    /// Whether the search's field has the focus.
    pub search: bool,
    /// Whether the page shows a lesson.
    pub lesson: bool,
    /// Whether the page shows a recording.
    pub replay: bool,
}

impl InForce {
    /// Returns the scopes, the narrowest first. A dialog covers the page, so its scope stands alone.
    #[must_use]
    pub fn scopes(self) -> &'static [Scope] {
        match self {
            Self { palette: true, .. } => &[Scope::Palette],
            Self { dialog: true, .. } => &[Scope::Dialog],
            Self { search: true, .. } => &[Scope::Search],
            Self { lesson: true, .. } => &[Scope::Lesson, Scope::Page],
            Self { replay: true, .. } => &[Scope::Replay, Scope::Page],
            _ => &[Scope::Page],
        }
    }
}

/// The element that must have the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The picture has the focus, or nothing.
    Picture,
    /// The picture, the tree or nothing has the focus. Elsewhere the key is the browser's.
    PictureOrTree,
    /// Any element but a text field has the focus. A button handles Space and Enter itself.
    NoField,
    /// Any element has the focus.
    Any,
}

/// The modifier keys of a press.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modifiers {
    /// Ctrl, or Command on a Mac.
    pub ctrl: bool,
    /// Alt.
    pub alt: bool,
    /// Shift. For a sign it does not count, because layouts write the same sign with and without it.
    pub shift: bool,
}

const PLAIN: Modifiers = Modifiers {
    ctrl: false,
    alt: false,
    shift: false,
};
const SHIFT: Modifiers = Modifiers {
    shift: true,
    ..PLAIN
};
const ALT: Modifiers = Modifiers { alt: true, ..PLAIN };
const CTRL: Modifiers = Modifiers {
    ctrl: true,
    ..PLAIN
};

/// How a key is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cap {
    /// By its place on the keyboard (`KeyW`).
    Code(&'static str),
    /// By the text that it writes (`?`).
    Sign(&'static str),
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Where it holds.
    pub scope: Scope,
    /// The key.
    pub cap: Cap,
    /// The modifier keys that must be down. No other may be.
    pub modifiers: Modifiers,
    /// What must have the focus.
    pub reach: Reach,
    /// The action.
    pub action: Action,
    /// Why the key means something else than in a wider scope; `None` if no wider scope has it.
    pub because: Option<&'static str>,
}

const fn key(cap: Cap, action: Action, reach: Reach) -> Binding {
    Binding {
        scope: Scope::Page,
        cap,
        modifiers: PLAIN,
        reach,
        action,
        because: None,
    }
}

/// A key of the page that needs the focus on the picture.
const fn on_picture(cap: Cap, action: Action) -> Binding {
    key(cap, action, Reach::Picture)
}

/// A key of the page that works from every element but a text field.
const fn anywhere(cap: Cap, action: Action) -> Binding {
    key(cap, action, Reach::NoField)
}

impl Binding {
    const fn with(self, modifiers: Modifiers) -> Self {
        Self { modifiers, ..self }
    }

    const fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    const fn because(self, reason: &'static str) -> Self {
        Self {
            because: Some(reason),
            ..self
        }
    }
}

use Cap::{Code, Sign};

/// All keys of the page. Never used: function keys, and Ctrl with N, T, W, R, L, P, S, Tab or a digit, which belong to the
/// browser.
pub const BINDINGS: &[Binding] = &[
    anywhere(Code("Space"), Action::Play)
        .within(Scope::Replay)
        .because("A recording has no now to follow."),
    anywhere(Code("Space"), Action::Lesson(LessonAction::Play))
        .within(Scope::Lesson)
        .because("A lesson has its own clock."),
    anywhere(Code("PageDown"), Action::Lesson(LessonAction::NextPassage))
        .within(Scope::Lesson)
        .because("A lesson has few lanes, and goes by passages."),
    anywhere(
        Code("PageUp"),
        Action::Lesson(LessonAction::PreviousPassage),
    )
    .within(Scope::Lesson)
    .because("A lesson has few lanes, and goes by passages."),
    anywhere(Sign("."), Action::Lesson(LessonAction::Step))
        .within(Scope::Lesson)
        .because("A lesson shows one message at a time."),
    anywhere(Sign("1"), Action::Lesson(LessonAction::FirstAnswer)).within(Scope::Lesson),
    anywhere(Sign("2"), Action::Lesson(LessonAction::SecondAnswer)).within(Scope::Lesson),
    anywhere(Sign("3"), Action::Lesson(LessonAction::ThirdAnswer)).within(Scope::Lesson),
    anywhere(Sign("4"), Action::Lesson(LessonAction::FourthAnswer)).within(Scope::Lesson),
    anywhere(Code("Enter"), Action::Lesson(LessonAction::Check))
        .within(Scope::Lesson)
        .because("A lesson's question is checked by it, and lanes open by a click."),
    anywhere(Code("KeyD"), Action::Lesson(LessonAction::TakeAct))
        .within(Scope::Lesson)
        .because("A lesson sets the view's time, and D stands for drag."),
    on_picture(Sign("<"), Action::Slower).within(Scope::Replay),
    on_picture(Sign(">"), Action::Faster).within(Scope::Replay),
    anywhere(Code("Space"), Action::TogglePause),
    anywhere(Code("End"), Action::Follow),
    on_picture(Code("Home"), Action::Oldest),
    on_picture(Code("KeyA"), Action::PanEarlier),
    on_picture(Code("ArrowLeft"), Action::PanEarlier),
    on_picture(Code("KeyD"), Action::PanLater),
    on_picture(Code("ArrowRight"), Action::PanLater),
    on_picture(Code("KeyW"), Action::ZoomIn),
    on_picture(Sign("+"), Action::ZoomIn),
    on_picture(Sign("="), Action::ZoomIn),
    on_picture(Code("KeyS"), Action::ZoomOut),
    on_picture(Sign("-"), Action::ZoomOut),
    on_picture(Sign("_"), Action::ZoomOut),
    on_picture(Sign("0"), Action::Fit),
    on_picture(Code("ArrowUp"), Action::LaneUp),
    on_picture(Code("ArrowDown"), Action::LaneDown),
    on_picture(Code("PageUp"), Action::PageUp),
    on_picture(Code("PageDown"), Action::PageDown),
    on_picture(Code("ArrowLeft"), Action::Collapse).with(SHIFT),
    on_picture(Code("ArrowRight"), Action::Expand).with(SHIFT),
    on_picture(Code("Enter"), Action::Open),
    on_picture(Code("NumpadEnter"), Action::Open),
    anywhere(Code("KeyY"), Action::Why),
    on_picture(Sign(","), Action::PreviousRecord),
    on_picture(Sign("."), Action::NextRecord),
    on_picture(Code("KeyF"), Action::Focus),
    on_picture(Code("KeyB"), Action::MarkCursor),
    on_picture(Code("KeyR"), Action::ZoomToRange),
    on_picture(Code("KeyE"), Action::Export),
    on_picture(Code("KeyC"), Action::Charts),
    anywhere(Code("KeyI"), Action::Findings),
    anywhere(Code("KeyT"), Action::Watches),
    anywhere(Code("KeyV"), Action::Tables),
    anywhere(Code("KeyN"), Action::NextTrouble),
    anywhere(Code("KeyN"), Action::PreviousTrouble).with(SHIFT),
    anywhere(Code("KeyO"), Action::Notes),
    anywhere(Code("KeyL"), Action::LanesBar),
    on_picture(Sign("["), Action::CollapseAll),
    on_picture(Sign("]"), Action::OpenTrouble),
    on_picture(Code("KeyP"), Action::Pin),
    on_picture(Code("KeyH"), Action::Hide),
    on_picture(Code("ArrowUp"), Action::PinUp).with(ALT),
    on_picture(Code("ArrowDown"), Action::PinDown).with(ALT),
    anywhere(Code("KeyM"), Action::WriteNote),
    anywhere(Code("KeyM"), Action::WriteNoteOnRange).with(SHIFT),
    anywhere(Sign("/"), Action::Filter),
    anywhere(Code("KeyG"), Action::GoToLane),
    key(Code("KeyF"), Action::Search, Reach::PictureOrTree).with(CTRL),
    key(Code("Enter"), Action::NextHit, Reach::Any)
        .within(Scope::Search)
        .because("The search's field has the focus."),
    key(Code("NumpadEnter"), Action::NextHit, Reach::Any)
        .within(Scope::Search)
        .because("The search's field has the focus."),
    key(Code("Enter"), Action::PreviousHit, Reach::Any)
        .with(SHIFT)
        .within(Scope::Search),
    key(Code("Escape"), Action::CloseSearch, Reach::Any)
        .within(Scope::Search)
        .because("The search's field has the focus."),
    key(Code("KeyK"), Action::Palette, Reach::PictureOrTree).with(CTRL),
    anywhere(Code("Escape"), Action::Clear),
    anywhere(Sign("?"), Action::Help),
    key(Code("ArrowUp"), Action::RowUp, Reach::Any)
        .within(Scope::Palette)
        .because("The palette covers the lanes."),
    key(Code("ArrowDown"), Action::RowDown, Reach::Any)
        .within(Scope::Palette)
        .because("The palette covers the lanes."),
    key(Code("Enter"), Action::Choose, Reach::Any)
        .within(Scope::Palette)
        .because("The palette covers the lanes."),
    key(Code("NumpadEnter"), Action::Choose, Reach::Any)
        .within(Scope::Palette)
        .because("The palette covers the lanes."),
    key(Code("KeyK"), Action::Palette, Reach::Any)
        .with(CTRL)
        .within(Scope::Palette),
    key(Code("Escape"), Action::Clear, Reach::Any).within(Scope::Dialog),
    key(Sign("?"), Action::Help, Reach::NoField).within(Scope::Dialog),
];

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// Its place on the keyboard (`KeyW`).
    pub code: &'a str,
    /// What it writes (`w`, `?`).
    pub key: &'a str,
    /// The modifier keys that are down.
    pub modifiers: Modifiers,
}

/// Returns the binding of a key in the scopes in force; `None` if it has none.
#[must_use]
pub fn binding(key: Key<'_>, in_force: InForce) -> Option<&'static Binding> {
    let of = |scope: Scope| {
        let mut bindings = BINDINGS.iter().filter(|binding| binding.scope == scope);
        // A sign that the key writes comes first. Otherwise the key's place on the keyboard decides.
        let by_sign = bindings.clone().find(|binding| match binding.cap {
            Cap::Sign(sign) => {
                let shift = key.modifiers.shift;
                sign == key.key
                    && Modifiers {
                        shift,
                        ..binding.modifiers
                    } == key.modifiers
            }
            Cap::Code(_) => false,
        });
        by_sign.or_else(|| {
            bindings.find(|binding| match binding.cap {
                Cap::Code(code) => {
                    // A key without a meaning of its own for Shift keeps its plain one.
                    let has_shift = |other: &Binding| {
                        other.scope == scope
                            && other.cap == binding.cap
                            && other.modifiers
                                == Modifiers {
                                    shift: true,
                                    ..binding.modifiers
                                }
                    };
                    let is_pressed = binding.modifiers == key.modifiers
                        || (key.modifiers.shift
                            && binding.modifiers
                                == Modifiers {
                                    shift: false,
                                    ..key.modifiers
                                }
                            && !BINDINGS.iter().any(has_shift));
                    code == key.code && is_pressed
                }
                Cap::Sign(_) => false,
            })
        })
    };
    in_force.scopes().iter().find_map(|scope| of(*scope))
}

/// Returns the keys of an action in a scope as a person reads them: `W +`.
#[must_use]
pub fn shown(action: Action, scope: Scope) -> String {
    let mut words: Vec<String> = Vec::new();
    for binding in BINDINGS {
        if binding.action != action || binding.scope != scope {
            continue;
        }
        let Modifiers { ctrl, alt, shift } = binding.modifiers;
        let held = [(ctrl, "Ctrl "), (alt, "Alt "), (shift, "Shift ")];
        let held = held.into_iter().filter(|held| held.0).map(|held| held.1);
        let word = held.chain([cap_words(binding.cap)]).collect::<String>();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join("  ")
}

/// Returns the word on a key.
fn cap_words(cap: Cap) -> &'static str {
    match cap {
        // Both signs of one key have the word of the sign that zooms on every layout.
        Cap::Sign("=") => "+",
        Cap::Sign("-" | "_") => "−",
        Cap::Sign(sign) => sign,
        Cap::Code(code) => match code {
            "ArrowLeft" => "←",
            "ArrowRight" => "→",
            "ArrowUp" => "↑",
            "ArrowDown" => "↓",
            "NumpadEnter" => "Enter",
            "Escape" => "Esc",
            _ => code.strip_prefix("Key").unwrap_or(code),
        },
    }
}

/// What pointers do, in the words of the help: gestures, and what they do.
pub const GESTURES: &[(&str, &str)] = &[
    ("Wheel", "scroll lanes; sideways or with Shift: time"),
    ("Ctrl wheel, pinch", "zoom at the pointer"),
    ("Drag", "pan time and lanes"),
    (
        "Drag the ruler, Shift drag",
        "mark a range; Alt: without snapping",
    ),
    ("Long press", "with a finger: set A, then B, as B does"),
    ("Click", "select, and have panels answer for that time"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: InForce = InForce {
        palette: false,
        dialog: false,
        search: false,
        lesson: false,
        replay: false,
    };

    fn pressed_with(
        code: &str,
        key: &str,
        modifiers: Modifiers,
        in_force: InForce,
    ) -> Option<Action> {
        let key = Key {
            code,
            key,
            modifiers,
        };
        binding(key, in_force).map(|binding| binding.action)
    }

    fn pressed(code: &str, key: &str) -> Option<Action> {
        pressed_with(code, key, PLAIN, PAGE)
    }

    #[test]
    fn letters_go_by_place_and_signs_by_what_is_written() {
        assert_eq!(
            pressed("KeyW", "z"),
            Some(Action::ZoomIn),
            "a French keyboard"
        );
        assert_eq!(
            pressed_with("Digit7", "/", SHIFT, PAGE),
            Some(Action::Filter),
            "a German keyboard"
        );
        assert_eq!(pressed_with("Minus", "?", SHIFT, PAGE), Some(Action::Help));
        assert_eq!(pressed("KeyX", "x"), None);
    }

    #[test]
    fn shift_counts_only_for_keys_that_have_a_meaning_with_it() {
        let with_shift = |code, key| pressed_with(code, key, SHIFT, PAGE);
        assert_eq!(with_shift("KeyM", "M"), Some(Action::WriteNoteOnRange));
        assert_eq!(with_shift("ArrowLeft", "ArrowLeft"), Some(Action::Collapse));
        assert_eq!(with_shift("KeyI", "I"), Some(Action::Findings));
    }

    #[test]
    fn the_browsers_own_shortcuts_are_left_alone() {
        assert_eq!(pressed_with("KeyW", "w", CTRL, PAGE), None);
        let browsers = [
            "KeyN", "KeyT", "KeyW", "KeyR", "KeyL", "KeyP", "KeyS", "Tab",
        ];
        for binding in BINDINGS {
            let Cap::Code(code) = binding.cap else {
                assert!(!binding.modifiers.ctrl, "{binding:?}");
                continue;
            };
            let is_digit = code.starts_with("Digit") || code.starts_with("Numpad0");
            let is_the_browsers = browsers.contains(&code) || is_digit;
            assert!(!(binding.modifiers.ctrl && is_the_browsers), "{binding:?}");
            let number = code.strip_prefix('F');
            let is_function = number.is_some_and(|number| number.parse::<u8>().is_ok());
            assert!(!is_function, "{binding:?}");
        }
    }

    #[test]
    fn no_key_has_two_meanings_within_a_scope() {
        let mut seen = BTreeSet::new();
        for binding in BINDINGS {
            let is_new = seen.insert((binding.scope, binding.cap, binding.modifiers));
            assert!(is_new, "{binding:?}");
        }
    }

    #[test]
    fn a_narrower_scope_gives_its_reason_for_another_meaning_and_only_then() {
        for narrow in BINDINGS
            .iter()
            .filter(|binding| binding.scope != Scope::Page)
        {
            let wide = BINDINGS.iter().find(|wide| {
                wide.scope == Scope::Page
                    && wide.cap == narrow.cap
                    && wide.modifiers == narrow.modifiers
            });
            let differs = wide.is_some_and(|wide| wide.action != narrow.action);
            assert_eq!(differs, narrow.because.is_some(), "{narrow:?}");
        }
    }

    #[test]
    fn the_narrowest_scope_wins_and_a_dialog_covers_the_page() {
        let space = |in_force| pressed_with("Space", " ", PLAIN, in_force);
        let replay = InForce {
            replay: true,
            ..PAGE
        };
        let lesson = InForce {
            lesson: true,
            ..PAGE
        };
        let dialog = InForce {
            dialog: true,
            ..PAGE
        };
        let palette = InForce {
            palette: true,
            ..replay
        };
        assert_eq!(space(PAGE), Some(Action::TogglePause));
        assert_eq!(space(replay), Some(Action::Play));
        assert_eq!(space(lesson), Some(Action::Lesson(LessonAction::Play)));
        assert_eq!(space(dialog), None);
        assert_eq!(
            pressed_with("Escape", "Escape", PLAIN, dialog),
            Some(Action::Clear)
        );
        let enter = pressed_with("Enter", "Enter", PLAIN, palette);
        assert_eq!(enter, Some(Action::Choose));
        assert_eq!(
            pressed_with("KeyI", "i", PLAIN, replay),
            Some(Action::Findings)
        );
    }

    #[test]
    fn every_action_has_a_key_and_a_place_in_the_help() {
        let listed: BTreeSet<Action> = Action::ALL.into_iter().collect();
        assert_eq!(listed.len(), Action::ALL.len());
        let bound: BTreeSet<Action> = BINDINGS.iter().map(|binding| binding.action).collect();
        assert_eq!(listed, bound);
    }

    #[test]
    fn keys_are_shown_by_the_words_on_them() {
        assert_eq!(shown(Action::ZoomIn, Scope::Page), "W  +");
        assert_eq!(shown(Action::Palette, Scope::Page), "Ctrl K");
        assert_eq!(shown(Action::Open, Scope::Page), "Enter");
        assert_eq!(shown(Action::WriteNoteOnRange, Scope::Page), "Shift M");
        assert_eq!(shown(Action::Play, Scope::Page), "");
    }
}
