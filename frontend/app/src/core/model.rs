//! The page's state, as plain data.

use watchscope_model::Time;
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::wire::{Catalogue, Heartbeat, History, Welcome};
use watchscope_timeline::draw::Marked;
use watchscope_timeline::evidence::Evidence;
use watchscope_timeline::lanes::{Lanes, Rows};
use watchscope_timeline::records::Records;
use watchscope_timeline::store::{KeepOutside, StoreError};
use watchscope_timeline::{LaneId, RecordId, Scene, Store, View};

use super::cursors::CursorDeed;
use super::effect::{Effect, PanelEffect};
use super::notes::NoteDeed;
use super::palette::PaletteDeed;
use super::panel_state::PanelState;
use super::person::Person;
use super::screen::Screen;
use super::search::SearchDeed;
use super::shown::Shown;
use super::table::TableDeed;
use crate::source::backfill::Backfill;
use crate::source::clock::ServerClock;
use crate::source::connection::{Connection, Input};
use crate::source::feed::Delivery;

/// The view's span before the page knows the log, in microseconds.
const UNKNOWN_SPAN_US: i64 = 300_000_000;
/// The view's width before the page knows the canvas's, in px.
const UNKNOWN_WIDTH_PX: f64 = 1_000.0;

/// The page's state. Only [`update`](super::update::update) changes it.
#[derive(Debug)]
pub struct Model {
    /// The connection to the server, and the server's reports about itself.
    pub link: Link,
    /// All records in the page's memory.
    pub store: Store,
    /// The time range of the picture.
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
    /// The selected, focused and lit lanes and records.
    pub pick: Pick,
    /// The person's marks on the time axis.
    pub marked: Marked,
    /// The surface of the picture: its sizes and theme.
    pub screen: Screen,
    /// Which pictures are stale, and which callbacks are pending.
    pub frame: FramePolicy,
    /// State that only the second part uses.
    pub panels: PanelState,
    /// The contents of the panels.
    pub shown: Shown,
    /// The text of the live region.
    pub said: String,
    /// The last error, until the person dismisses it.
    pub trouble: Option<String>,
    /// The second part, once it is loaded.
    pub second: Option<&'static Second>,
    /// The functions of the third part, once it is loaded.
    pub late: Option<&'static Late>,
    /// Time and chance of the message in progress.
    pub now: Now,
    /// The effects of the message in progress.
    pub(super) effects: Vec<Effect>,
}

/// The connection, and the server's reports about itself.
#[derive(Debug)]
pub struct Link {
    /// The machine of session and socket.
    pub connection: Connection,
    /// The server's clock.
    pub clock: ServerClock,
    /// The pen's time in the last picture.
    pub(super) heard_at: Time,
    /// The pending request for a chapter.
    pub(super) backfill: Backfill,
    /// A range whose records are loaded besides the view's.
    pub(super) also_loads: Option<(Time, Time)>,
    /// Deliveries that came before the second part, which takes them. They are live segments, one catalogue and one
    /// chapter. The server sends at most 1 MiB of segments, since the page does not acknowledge them.
    pub(super) held: Vec<Delivery>,
    /// When the server greeted, in milliseconds of the browser's clock.
    pub(super) welcomed_ms: u64,
    /// Whether the page was opened by an address that names a view; the picture then need not show the newest records.
    pub(super) is_led: bool,
    /// Whether the log has begun again. The next snapshot then drops the store's records; they stay until it comes.
    pub starts_over: bool,
    /// Whether the next snapshot is the first, which chooses the view.
    pub(super) is_first_view: bool,
    /// The server's last heartbeat.
    pub heartbeat: Option<Heartbeat>,
    /// The number of the last answered command. All records that it caused have been delivered.
    pub done: Option<u64>,
    /// Why the server refused that command, if it was a note.
    pub refused: Option<NoteRefusal>,
    /// The server's last greeting.
    pub welcome: Option<Welcome>,
    /// Contexts to choose from, and the reason why none is chosen.
    pub contexts: Option<(Vec<String>, String)>,
    /// The state of the history on disk; `None` if the server keeps none.
    pub history: Option<History>,
    /// Time from the last live record to its arrival, in milliseconds.
    pub lag_ms: Option<u64>,
}

/// The selected, focused and lit lanes and records.
#[derive(Debug, Default)]
pub struct Pick {
    /// The lane that has the focus.
    pub focused: Option<LaneId>,
    /// The lane that the detail panel describes.
    pub selected: Option<LaneId>,
    /// The record that the detail panel describes.
    pub record: Option<RecordId>,
    /// The evidence of the selected finding.
    pub evidence: Option<Evidence>,
    /// The record of the evidence that the person points at.
    pub lit: Option<RecordId>,
    /// Whether the person uses the keyboard, so that the focus must be visible.
    pub by_keyboard: bool,
    /// Whether the next layout scrolls to the selected lane.
    pub stays_in_sight: bool,
}

/// Which pictures are stale, and which callbacks are pending.
#[derive(Debug)]
pub struct FramePolicy {
    pub(super) drawn_version: u64,
    pub(super) drawn_view: Option<View>,
    pub(super) is_dirty: bool,
    /// Whether a frame is requested.
    pub(super) is_armed: bool,
    /// Whether a timer is running that will request a frame.
    pub(super) is_waiting: bool,
    pub(super) published_ms: f64,
    /// The number of the last record at that time.
    pub(super) published_head: u64,
    /// The least time between two pictures that only records make stale, in milliseconds.
    pub(super) pace_ms: f64,
    /// When the overview was drawn last, in milliseconds since the page's start.
    pub(super) overview_ms: f64,
    pub(super) is_overview_stale: bool,
    pub(super) is_unpublished: bool,
    pub(super) moved_ms: f64,
    pub(super) is_second_asked: bool,
    /// Smoothed time of a frame, in milliseconds.
    pub frame_ms: f64,
    /// Smoothed time of rows and scene within it, in milliseconds.
    pub scene_ms: f64,
    /// The number of the last record that the canvas shows.
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
            published_head: 0,
            pace_ms: 0.0,
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
    /// Whether no picture has been drawn yet.
    pub(super) fn is_unpainted(&self) -> bool {
        self.drawn_view.is_none()
    }
}

/// Time and chance of one message, as the runtime reads them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// The browser's clock.
    pub local: Time,
    /// The same clock in milliseconds.
    pub ms: u64,
    /// A random number from 0 to 1, 1 excluded.
    pub random: f64,
}

/// The functions of the model that only the third part of the page has. The second part, which every page loads, does not
/// carry their code.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// Handles an action on the palette.
    pub palette: fn(&mut Model, PaletteDeed),
    /// Handles an action on the search, or an answer to it.
    pub search: fn(&mut Model, SearchDeed),
    /// Handles an action on the cursors A and B.
    pub cursors: fn(&mut Model, CursorDeed),
    /// Handles an action on the tables.
    pub table: fn(&mut Model, TableDeed),
    /// Finds the steps that explain the selection. The flag says whether the person asked for them.
    pub why: fn(&mut Model, bool),
    /// Finds the beliefs of all sides about the selection.
    pub beliefs: fn(&mut Model),
    /// Updates what the detail shows besides the selection: why the object is present or absent, the selection then and
    /// now, and the comparison with the cluster.
    pub detail: fn(&mut Model, Time),
    /// Computes the words about the marked range, and hands a dialog the records that it requested.
    pub range: fn(&mut Model, Time),
    /// Fills the panel of findings and the table of watches, if they are open.
    pub findings: fn(&mut Model, Time),
    /// Handles an action on notes.
    pub note: fn(&mut Model, NoteDeed),
    /// Fills the panel of notes, if it is open.
    pub notes: fn(&mut Model, Time),
    /// Handles an action that only a panel of the third part sends.
    pub person: fn(&mut Model, Person),
    /// Adds the ticks of the search's hits to the picture.
    pub tick_lanes: fn(&mut Model),
    /// Adds them to the overview.
    pub tick_overview: fn(&mut Model),
}

impl Late {
    /// The functions of the third part. Only code of the third part may name this constant, because whatever names it
    /// contains the code of these functions.
    pub const ALL: Self = Self {
        palette: Model::do_with_palette,
        search: Model::do_with_search,
        cursors: Model::do_with_cursors,
        table: Model::do_with_table,
        why: Model::explain_selection,
        beliefs: Model::compare_beliefs,
        detail: Model::update_detail,
        range: Model::update_range,
        findings: Model::fill_findings,
        note: Model::do_with_note,
        notes: Model::fill_notes,
        person: Model::person_of_panel,
        tick_lanes: Model::tick_lanes,
        tick_overview: Model::tick_overview,
    };
}

/// The table of functions that the first part calls in the second. The second part fills it when it is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Second {
    /// Takes a segment of live records. Returns an input for the connection if the segment is undecodable.
    pub segment: fn(&mut Model, &[u8]) -> Option<Input<'static>>,
    /// Keeps the bytes of chapters outside of the WebAssembly memory.
    pub keep: KeepOutside,
    /// Takes a chapter of the past, as [`Store::chapter`] does; returns the number of new records.
    pub chapter: fn(&mut Store, &[u8]) -> Result<usize, StoreError>,
    /// Takes a part of the catalogue.
    pub catalogue: fn(&mut Model, &Catalogue, &[u8]) -> Result<(), StoreError>,
    /// The functions that draw records.
    pub records: &'static Records,
    /// Drops all records, because the log has begun again.
    pub forget: fn(&mut Model),
    /// Handles a person's action.
    pub person: fn(&mut Model, Person),
    /// Advances the time of a recording that plays, before a picture.
    pub play_on: fn(&mut Model),
    /// Draws the overview again.
    pub overview: fn(&mut Model),
    /// Computes those contents of the panels that depend on records and time.
    pub publish: fn(&mut Model, Time),
    /// Updates the panels that changed.
    pub show: fn(&Model),
    /// Moves the elements that lie over the picture after it was painted.
    pub drawn: fn(),
    /// Carries out an effect of the panels.
    pub carry_out: fn(PanelEffect),
}

impl Model {
    /// Returns the state of a page before the first message.
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
            late: None,
            now,
            effects: Vec::new(),
        }
    }

    /// Returns the present time by the server's clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.link.clock.now(self.now.local)
    }

    /// Returns the pen's time: now while connected, otherwise its time in the last picture.
    #[must_use]
    pub fn pen(&self) -> Time {
        if self.is_connected() {
            self.now()
        } else {
            self.link.heard_at
        }
    }

    /// Sets the text of the live region. The caller's message must end with [`Effect::Show`].
    pub fn say(&mut self, words: String) {
        self.said = words;
    }

    /// Adds an effect to the message in progress.
    pub fn want(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}
