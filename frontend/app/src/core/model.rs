//! Everything that changes, as plain data.

use watchscope_model::Time;
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::wire::{Catalogue, Heartbeat, History, Welcome};
use watchscope_timeline::draw::Marked;
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::lanes::{Lanes, Rows};
use watchscope_timeline::records::Records;
use watchscope_timeline::store::StoreError;
use watchscope_timeline::{LaneId, RecordId, Scene, Store, View};

use super::effect::{Effect, PanelEffect};
use super::panel_state::PanelState;
use super::person::Person;
use super::screen::Screen;
use super::shown::Shown;
use crate::source::backfill::Backfill;
use crate::source::clock::ServerClock;
use crate::source::connection::{Connection, Input};
use crate::source::feed::Delivery;

/// What the picture spans before anything is known of the log, in microseconds.
const UNKNOWN_SPAN_US: i64 = 300_000_000;
/// Its width before that of the canvas is known, in px.
const UNKNOWN_WIDTH_PX: f64 = 1_000.0;

/// The page's state. [`update`](super::update::update) alone changes it.
#[derive(Debug)]
pub struct Model {
    /// The connection to the server, and what the server says about itself.
    pub link: Link,
    /// All records that are held.
    pub store: Store,
    /// Which stretch of time is shown.
    pub view: View,
    /// Which lanes are shown, and how.
    pub lanes: Lanes,
    /// The lanes' rows in the last picture.
    pub rows: Rows,
    /// The last picture below the ruler.
    pub scene: Scene,
    /// The ruler on top of it.
    pub ruler: Scene,
    /// How far the rows are scrolled, in px.
    pub scroll_px: f64,
    /// What is selected, focused and lit.
    pub pick: Pick,
    /// What the person has marked on the time axis.
    pub marked: Marked,
    /// What the picture is drawn on.
    pub screen: Screen,
    /// When a picture is drawn.
    pub frame: FramePolicy,
    /// What only the second part keeps.
    pub panels: PanelState,
    /// What the panels show.
    pub shown: Shown,
    /// What the live region says.
    pub said: String,
    /// What went wrong, until the person dismisses it.
    pub trouble: Option<String>,
    /// The second part, once it is loaded.
    pub second: Option<Second>,
    /// Time and chance of the message that is being handled.
    pub now: Now,
    /// What the browser is to do after it.
    pub(super) effects: Vec<Effect>,
}

/// The connection, and what the server says about itself.
#[derive(Debug)]
pub struct Link {
    /// The machine of session and socket.
    pub connection: Connection,
    /// The server's clock.
    pub clock: ServerClock,
    /// Where the pen was in the last picture.
    pub(super) heard_at: Time,
    /// Which chapter is asked for.
    pub(super) backfill: Backfill,
    /// What is loaded beside what the view shows.
    pub(super) also_loads: Option<(Time, Time)>,
    /// What came before the second part, which takes it in: live segments (the server sends at most 1 MiB of them: they are
    /// not acknowledged), one catalogue and one chapter.
    pub(super) held: Vec<Delivery>,
    /// When the server greeted, in the browser's milliseconds.
    pub(super) welcomed_ms: u64,
    /// The page was opened by an address that names a place: what it shows need not be the newest.
    pub(super) is_led: bool,
    /// The next snapshot is of a log that has begun again: what is held goes when it is here, not before.
    pub starts_over: bool,
    /// The next snapshot is the first: the view is chosen by it.
    pub(super) is_first_view: bool,
    /// The last word of the server on itself.
    pub heartbeat: Option<Heartbeat>,
    /// The command that was answered last; all that came of it is here.
    pub done: Option<u64>,
    /// Why it was not carried out, if it was a note.
    pub refused: Option<NoteRefusal>,
    /// How the server greeted.
    pub welcome: Option<Welcome>,
    /// Contexts to choose from, and why none is chosen.
    pub contexts: Option<(Vec<String>, String)>,
    /// How the history on disk fares; `None` if none is kept.
    pub history: Option<History>,
    /// How late the last records came.
    pub lag_ms: Option<u64>,
}

/// What is selected, focused and lit.
#[derive(Debug, Default)]
pub struct Pick {
    /// The lane that has the focus.
    pub focused: Option<LaneId>,
    /// The lane that the detail is about.
    pub selected: Option<LaneId>,
    /// The record that it is about.
    pub record: Option<RecordId>,
    /// What the selected finding rests on.
    pub evidence: Option<Evidence>,
    /// The record of it that is pointed at.
    pub lit: Option<RecordId>,
    /// Whether the person moves by keys, and wants to see what has the focus.
    pub by_keyboard: bool,
    /// The selected lane stays in sight at the next layout.
    pub stays_in_sight: bool,
}

/// What is stale, and which callbacks are under way.
#[derive(Debug)]
pub struct FramePolicy {
    pub(super) drawn_version: u64,
    pub(super) drawn_view: Option<View>,
    pub(super) is_dirty: bool,
    /// A frame is asked for.
    pub(super) is_armed: bool,
    /// A timer runs that asks for one.
    pub(super) is_waiting: bool,
    pub(super) published_ms: f64,
    /// When the overview was drawn, and whether something has changed since.
    pub(super) overview_ms: f64,
    pub(super) is_overview_stale: bool,
    pub(super) is_unpublished: bool,
    pub(super) moved_ms: f64,
    pub(super) is_second_asked: bool,
    /// What a frame takes, smoothed.
    pub frame_ms: f64,
    /// What rows and scene take of it.
    pub scene_ms: f64,
    /// The last record that the canvas shows.
    pub painted_head: u64,
    /// When the first lane was painted, in milliseconds from the page's start.
    pub first_lane_ms: Option<f64>,
}

impl Default for FramePolicy {
    fn default() -> Self {
        Self {
            drawn_version: u64::MAX,
            drawn_view: None,
            is_dirty: true,
            is_armed: false,
            is_waiting: false,
            published_ms: f64::NEG_INFINITY,
            overview_ms: f64::NEG_INFINITY,
            is_overview_stale: true,
            is_unpublished: true,
            moved_ms: 0.0,
            is_second_asked: false,
            frame_ms: 0.0,
            scene_ms: 0.0,
            painted_head: 0,
            first_lane_ms: None,
        }
    }
}

impl FramePolicy {
    /// Whether there was no picture yet.
    pub(super) fn is_unpainted(&self) -> bool {
        self.drawn_view.is_none()
    }
}

/// Time and chance, as the runtime read them for one message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// The browser's clock.
    pub local: Time,
    /// The same in milliseconds.
    pub ms: u64,
    /// A number from 0 to 1.
    pub random: f64,
}

/// What the first part calls in the second, which fills this table when it is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Second {
    /// Takes in the next live records; returns what the connection is to know of them.
    pub segment: fn(&mut Model, &[u8]) -> Option<Input<'static>>,
    /// [`Store::chapter`]: the past is asked for once there is a present.
    pub chapter: fn(&mut Store, &[u8]) -> Result<usize, StoreError>,
    /// Takes in a part of the catalogue.
    pub catalogue: fn(&mut Model, &Catalogue, &[u8]) -> Result<(), StoreError>,
    /// How records are drawn, once there are some.
    pub records: &'static Records,
    /// Lets go of all that is held: the log has begun again.
    pub forget: fn(&mut Model),
    /// Does what the person asks for.
    pub person: fn(&mut Model, Person),
    /// Moves the time of a recording that is played, before a picture.
    pub play_on: fn(&mut Model),
    /// Draws the overview anew.
    pub overview: fn(&mut Model),
    /// Writes what the panels show of records and time.
    pub publish: fn(&mut Model, Time),
    /// Shows in the panels what has changed.
    pub show: fn(&Model),
    /// The picture was painted: moves what lies over it.
    pub drawn: fn(),
    /// Does in the browser what the model asked the panels for.
    pub carry_out: fn(PanelEffect),
}

impl Model {
    /// The page before anything happened.
    #[must_use]
    pub fn new(now: Now) -> Self {
        Self {
            link: Link {
                connection: Connection::default(),
                clock: ServerClock::default(),
                heard_at: now.local,
                backfill: Backfill::default(),
                also_loads: None,
                held: Vec::new(),
                starts_over: false,
                is_first_view: false,
                welcomed_ms: 0,
                is_led: false,
                heartbeat: None,
                done: None,
                refused: None,
                welcome: None,
                contexts: None,
                history: None,
                lag_ms: None,
            },
            store: Store::default(),
            view: View::following(now.local, UNKNOWN_SPAN_US, UNKNOWN_WIDTH_PX),
            lanes: Lanes::default(),
            rows: Rows::default(),
            scene: Scene::default(),
            ruler: Scene::default(),
            scroll_px: 0.0,
            pick: Pick::default(),
            marked: Marked::default(),
            screen: Screen::default(),
            frame: FramePolicy::default(),
            panels: PanelState::default(),
            shown: Shown::default(),
            said: String::new(),
            trouble: None,
            second: None,
            now,
            effects: Vec::new(),
        }
    }

    /// Now by the server's clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.link.clock.now(self.now.local)
    }

    /// Where the pen is: now, or where it was in the last picture before the server fell silent.
    #[must_use]
    pub fn pen(&self) -> Time {
        if self.is_connected() {
            self.now()
        } else {
            self.link.heard_at
        }
    }

    /// Says something in the live region. Whatever says something ends with [`Effect::Show`].
    pub fn say(&mut self, words: String) {
        self.said = words;
    }

    /// Asks the browser for something after this message.
    pub fn want(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}
