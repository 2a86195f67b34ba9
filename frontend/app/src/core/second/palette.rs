//! The palette: finds an action, a lane or a place by the text that a person typed, and does what the chosen row says.

use watchscope_model::Time;
use watchscope_timeline::{LaneId, format};

use crate::core::effect::Focus;
use crate::core::model::Model;
use crate::core::palette::{Goal, PaletteDeed, PaletteOpen, PaletteRow, PaletteShown, RowKind};
use crate::core::search::SearchDeed;
use crate::input::actions::Action;
use crate::input::keys::{self, Scope};

/// The most rows of each kind.
const ROWS_MOST: usize = 4;
/// The most bytes of the text. The rest of a longer text does not count.
const TEXT_MOST: usize = 256;
/// The length of a day, in microseconds.
const DAY_US: i64 = 86_400_000_000;

/// Where a row of the palette leads.
#[derive(Clone, Debug, PartialEq)]
enum Destination {
    Action(Action),
    Goal(Goal),
    Recent(String),
}

/// What matches a text.
#[derive(Debug, Default)]
struct Found {
    /// The rows with their destinations.
    rows: Vec<(Destination, PaletteRow)>,
    /// The number of actions, and of those that match.
    actions: usize,
    actions_matching: usize,
    /// The number of lanes, and of those that match.
    lanes: usize,
    lanes_matching: usize,
}

/// How well a name matches a text; the least is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    /// Each word of the text begins a word of the name.
    Words,
    /// Each word of the text begins a word of the name or of the namespace or watch around it.
    Around,
    /// The letters of the text occur in the name, in this order. Such names count only if no name matches better.
    Letters,
}

impl Model {
    /// Opens the palette, or closes it.
    fn toggle_palette(&mut self, lanes_only: bool) {
        let palette = &mut self.panels.palette;
        if palette.open.take().is_some() {
            self.shown.palette = None;
            return;
        }
        palette.open = Some(PaletteOpen {
            lanes_only,
            ..PaletteOpen::default()
        });
        self.focus_soon(Focus::Palette);
    }

    /// Closes the palette. Returns whether it was open.
    fn close_palette(&mut self) -> bool {
        self.shown.palette = None;
        self.panels.palette.open.take().is_some()
    }

    /// Handles an action on the palette.
    pub fn do_with_palette(&mut self, deed: PaletteDeed) {
        match deed {
            PaletteDeed::Open { lanes_only } => self.toggle_palette(lanes_only),
            PaletteDeed::Up => self.step_row(false),
            PaletteDeed::Down => self.step_row(true),
            PaletteDeed::Choose => self.choose_row(),
            PaletteDeed::Renew => {}
            PaletteDeed::Typed(text) => {
                if let Some(open) = &mut self.panels.palette.open {
                    open.text = text.into();
                    open.picked = 0;
                }
            }
            PaletteDeed::Ask(text) => {
                self.panels.palette.open = Some(PaletteOpen {
                    text: text.into(),
                    ..PaletteOpen::default()
                });
                self.focus_soon(Focus::Palette);
            }
            PaletteDeed::Pick(place) => self.pick_row(place),
            PaletteDeed::Do(place) => {
                self.pick_row(place);
                self.choose_row();
            }
            PaletteDeed::Closed => {
                // After a choice the browser reports it too, when the focus may be elsewhere already.
                if self.close_palette() {
                    self.focus_soon(Focus::Picture);
                }
            }
        }
        self.show_palette();
    }

    /// Chooses the row above or below. After the last row comes the first.
    fn step_row(&mut self, down: bool) {
        let Some(shown) = &self.shown.palette else {
            return;
        };
        let count = shown.rows.len().max(1);
        let step = if down { 1 } else { count - 1 };
        self.pick_row((shown.picked + step) % count);
    }

    fn pick_row(&mut self, place: usize) {
        if let Some(open) = &mut self.panels.palette.open {
            open.picked = place;
        }
    }

    /// Does what the chosen row says, and closes the palette. A row that cannot be done now says why in the live region.
    fn choose_row(&mut self) {
        let Some(open) = self.panels.palette.open.clone() else {
            return;
        };
        let found = self.found(&open);
        let Some((destination, row)) = found.rows.into_iter().nth(open.picked) else {
            return;
        };
        if let Some(why) = row.refused {
            self.say(why.to_owned());
            return;
        }
        self.close_palette();
        match destination {
            // A field takes the focus only once the palette has closed.
            Destination::Action(Action::Filter) => self.focus_soon(Focus::Filter),
            Destination::Action(action) => self.act(action, None),
            Destination::Goal(goal) => self.go_to_goal(goal),
            Destination::Recent(fragment) => {
                self.leave_place();
                self.go_to(&fragment);
            }
        }
    }

    fn go_to_goal(&mut self, goal: Goal) {
        match goal {
            Goal::Record(record, at) => self.show_record(record, Some(at)),
            Goal::Lane(lane) => self.go_to_lane(lane),
            Goal::At(at) => {
                self.leave_place();
                self.mark_time(at);
                self.center(at);
            }
            Goal::Search(text) => {
                self.do_with_search(SearchDeed::Open);
                self.do_with_search(SearchDeed::Typed(text.into()));
            }
        }
    }

    /// Brings a lane into the window and selects it. A lane without a row gets one first.
    fn go_to_lane(&mut self, lane: LaneId) {
        self.leave_place();
        self.uncover();
        if !self.panels.filter.is_empty() {
            self.lanes.set_filter("");
            self.panels.filter.clear();
        }
        if self.rows.find(lane).is_none()
            && let LaneId::Object(watch, _) = lane
        {
            self.lanes.set_whole(&self.store, watch, true);
        }
        self.pick.stays_in_sight = true;
        self.focus_lane(lane);
        self.select_lane(lane);
    }

    /// Computes the palette's rows, while it is open.
    fn show_palette(&mut self) {
        self.look_up_named();
        self.shown.palette = self.panels.palette.open.as_ref().map(|open| {
            let found = self.found(open);
            let lanes = format::count(found.lanes as u64, "lane");
            let nothing = if !found.rows.is_empty() {
                String::new()
            } else if open.lanes_only {
                format!("No lane matches: {lanes} searched.")
            } else if open.text.trim().is_empty() {
                "No place was visited yet. Type a part of an action or of a lane, or a time: 09:31:02.".to_owned()
            } else {
                format!("Nothing matches: all actions and {lanes} searched.")
            };
            let lanes = format!("{} of {lanes}", format::number(found.lanes_matching as u64));
            let counts = if open.lanes_only {
                lanes
            } else if open.text.trim().is_empty() {
                String::new()
            } else {
                let (matching, all) = (found.actions_matching, found.actions);
                format!("{matching} of {all} actions, {lanes}")
            };
            let is_lane = |found: &&(Destination, PaletteRow)| found.1.kind == RowKind::Lane;
            let lanes_listed = found.rows.iter().filter(is_lane).count();
            PaletteShown {
                picked: open.picked.min(found.rows.len().saturating_sub(1)),
                text: open.text.clone(),
                lanes_only: open.lanes_only,
                more_lanes: found.lanes_matching - lanes_listed,
                rows: found.rows.into_iter().map(|found| found.1).collect(),
                counts,
                nothing,
            }
        });
    }

    /// Finds what matches the text: actions, lanes, places, and last what cannot be done now.
    fn found(&self, open: &PaletteOpen) -> Found {
        let text = &open.text[..open.text.floor_char_boundary(TEXT_MOST)];
        let wanted = Wanted::parse(text);
        let mut found = Found::default();
        if !open.lanes_only && !wanted.is_empty() {
            self.find_actions(&wanted, &mut found);
        }
        if open.lanes_only || !wanted.is_empty() {
            let most = if open.lanes_only {
                3 * ROWS_MOST
            } else {
                ROWS_MOST
            };
            self.find_lanes(&wanted, most, &mut found);
        }
        let named = self.named_places(text);
        let most = ROWS_MOST.saturating_sub(named.len());
        found.rows.extend(named);
        if !open.lanes_only {
            found.rows.extend(self.recent_places(&wanted, most));
        }
        found.rows.sort_by_key(|(_, row)| row.refused.is_some());
        found
    }

    fn find_actions(&self, wanted: &Wanted, found: &mut Found) {
        let scopes = self.scopes_of_page();
        let mut matching = Vec::new();
        for action in Action::ALL {
            let mut keys = scopes.iter().map(|scope| keys::shown(action, *scope));
            // Actions of the palette itself have no key on the page.
            let Some(keys) = keys.find(|keys| !keys.is_empty()) else {
                continue;
            };
            if matches!(action, Action::Palette | Action::GoToLane) {
                continue;
            }
            found.actions += 1;
            if let Some(fits) = wanted.matches(action.words()) {
                matching.push((self.refusal(action), fits, action, keys));
            }
        }
        let best = matching.iter().map(|(_, fits, ..)| *fits).min();
        matching.retain(|(_, fits, ..)| fits.counts_beside(best));
        found.actions_matching = matching.len();
        matching.sort_by_key(|(refused, fits, ..)| (refused.is_some(), *fits));
        let rows = matching.into_iter().take(ROWS_MOST);
        found.rows.extend(rows.map(|(refused, _, action, keys)| {
            let row = PaletteRow {
                kind: RowKind::Action,
                words: wanted.marked(&capitalised(action.words())),
                beside: keys,
                refused,
            };
            (Destination::Action(action), row)
        }));
    }

    fn find_lanes(&self, wanted: &Wanted, most: usize, found: &mut Found) {
        // The best matches so far, in their order. A later lane comes after those that match as well.
        let mut best: Vec<(Match, LaneId)> = Vec::new();
        for lane in self.store.lanes() {
            found.lanes += 1;
            let (watch, object) = self.store.lane_names(lane);
            let watch = watch.map_or("", |watch| watch.as_str());
            let fits = match object {
                Some(object) => {
                    let around = [object.namespace.as_deref().unwrap_or_default(), watch];
                    wanted.matches_within(&object.name, &around)
                }
                None => wanted.matches(watch),
            };
            let Some(fits) =
                fits.filter(|fits| fits.counts_beside(best.first().map(|best| best.0)))
            else {
                continue;
            };
            if best
                .first()
                .is_some_and(|(other, _)| !other.counts_beside(Some(fits)))
            {
                // What matched by letters alone counts no longer.
                best.clear();
                found.lanes_matching = 0;
            }
            found.lanes_matching += 1;
            let place = best.partition_point(|(other, _)| *other <= fits);
            if place < most {
                best.insert(place, (fits, lane));
                best.truncate(most);
            }
        }
        found.rows.extend(best.into_iter().map(|(_, lane)| {
            let (watch, object) = self.store.lane_names(lane);
            let watch = watch.map_or_else(String::new, ToString::to_string);
            let (words, beside) = match object {
                Some(object) => {
                    // The name of a watch of one namespace begins with it.
                    let namespace = object.namespace.as_deref().filter(|namespace| {
                        watch
                            .strip_prefix(namespace)
                            .is_none_or(|rest| !rest.starts_with('/'))
                    });
                    let beside = namespace.map_or_else(
                        || watch.clone(),
                        |namespace| format!("{watch} · {namespace}"),
                    );
                    (object.name.to_string(), beside)
                }
                None => (watch, "watch".to_owned()),
            };
            let row = PaletteRow {
                kind: RowKind::Lane,
                words: wanted.marked(&words),
                beside,
                refused: None,
            };
            (Destination::Goal(Goal::Lane(lane)), row)
        }));
    }

    /// Returns the rows of the time, the resourceVersion and the uid that a text names; at most 4.
    fn named_places(&self, text: &str) -> Vec<(Destination, PaletteRow)> {
        let day = self.view.right().min(self.now());
        let mut rows = Vec::new();
        let mut add = |goal: Goal, words: String, beside: String| {
            let row = PaletteRow {
                kind: RowKind::Place,
                words: vec![(words, false)],
                beside,
                refused: None,
            };
            rows.push((Destination::Goal(goal), row));
        };
        let text = text.trim();
        if let Some(at) = time_of(text, day) {
            let oldest = self.store.oldest_kept();
            let is_kept = oldest.is_some_and(|oldest| oldest <= at) && at <= self.now();
            let (at, beside) = if is_kept {
                (at, format::date(at))
            } else {
                // The nearest time that is kept.
                let nearest = match oldest {
                    Some(oldest) if at < oldest => oldest,
                    _ => self.now(),
                };
                let asked = match Time::parse(text) {
                    Some(at) => format!("{} {}", format::date(at), format::clock(at)),
                    None => text.to_owned(),
                };
                (nearest, format!("{asked} is {}", self.not_kept_words()))
            };
            add(
                Goal::At(at),
                format!("Go to {}", format::clock_ms(at)),
                beside,
            );
        }
        if let Some(looked) = &self.panels.palette.looked {
            for row in &looked.rows {
                add(row.goal.clone(), row.words.clone(), row.beside.clone());
            }
        }
        rows
    }

    fn recent_places(&self, wanted: &Wanted, most: usize) -> Vec<(Destination, PaletteRow)> {
        let recent = self.panels.palette.recent.iter();
        let recent = recent.filter(|recent| wanted.matches(&recent.words).is_some());
        let rows = recent.take(most).map(|recent| {
            let row = PaletteRow {
                kind: RowKind::Place,
                words: wanted.marked(&recent.words),
                beside: "visited".to_owned(),
                refused: None,
            };
            (Destination::Recent(recent.fragment.clone()), row)
        });
        rows.collect()
    }

    /// Returns the scopes of the page's own keys, the narrowest first.
    fn scopes_of_page(&self) -> &'static [Scope] {
        keys::InForce {
            lesson: self.panels.is_lesson,
            replay: self.is_replay(),
            ..keys::InForce::default()
        }
        .scopes()
    }

    /// Returns why an action can do nothing now; `None` if it can.
    fn refusal(&self, action: Action) -> Option<&'static str> {
        let has_range = self.marked.range.is_some();
        let has_lane = self.pick.focused.is_some();
        let has_record = self
            .panels
            .selection
            .as_ref()
            .is_some_and(|selection| selection.record().is_some());
        match action {
            Action::ZoomToRange | Action::WriteNoteOnRange if !has_range => {
                Some("No range is marked: drag on the ruler.")
            }
            Action::Focus if !has_record => Some("No record is selected."),
            Action::Expand | Action::Collapse | Action::Open if !has_lane => {
                Some("No lane has the focus.")
            }
            Action::PreviousRecord | Action::NextRecord if !has_lane && !has_record => {
                Some("No lane has the focus.")
            }
            Action::Export | Action::Charts if self.panels.is_lesson => {
                Some("A lesson exports nothing.")
            }
            Action::MarkCursor if self.panels.is_lesson => Some("A lesson has its own time."),
            Action::Lesson(_) => Some("The lesson's own controls do it."),
            _ => None,
        }
    }
}

impl Match {
    /// Whether a name that matches so counts beside one that matches like `best`.
    fn counts_beside(self, best: Option<Self>) -> bool {
        self != Self::Letters || best.is_none_or(|best| best == Self::Letters)
    }
}

/// Whether a word of a name begins with `word`; both are in lower case.
fn begins_word(name: &str, word: &str) -> bool {
    let places = name.match_indices(word);
    let mut before = places.map(|(place, _)| name[..place].chars().next_back());
    before.any(|before| before.is_none_or(|sign| !sign.is_alphanumeric()))
}

/// A text that names are compared with: its words, and its letters, both in lower case.
struct Wanted {
    words: Vec<String>,
    letters: Vec<char>,
}

impl Wanted {
    fn parse(text: &str) -> Self {
        let text = text.to_lowercase();
        Self {
            words: text.split_whitespace().map(str::to_owned).collect(),
            letters: text.chars().filter(|sign| !sign.is_whitespace()).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns how well a name matches; `None` if it does not.
    fn matches(&self, name: &str) -> Option<Match> {
        self.matches_within(name, &[])
    }

    /// Returns how well a name matches that belongs to what `around` names; `None` if it does not.
    fn matches_within(&self, name: &str, around: &[&str]) -> Option<Match> {
        let name = name.to_lowercase();
        if self.words.iter().all(|word| begins_word(&name, word)) {
            return Some(Match::Words);
        }
        let around: Vec<String> = around.iter().map(|part| part.to_lowercase()).collect();
        let is_around = |word: &String| around.iter().any(|part| begins_word(part, word));
        if !around.is_empty()
            && self
                .words
                .iter()
                .all(|word| begins_word(&name, word) || is_around(word))
        {
            return Some(Match::Around);
        }
        let mut left = self.letters.iter().peekable();
        for sign in name.chars() {
            left.next_if_eq(&&sign);
        }
        left.peek().is_none().then_some(Match::Letters)
    }

    /// Splits a name into pieces; `true` marks a piece that a word of the text begins a word with.
    fn marked(&self, name: &str) -> Vec<(String, bool)> {
        let mut pieces: Vec<(String, bool)> = Vec::new();
        let mut push = |text: &str, is_marked: bool| match pieces.last_mut() {
            Some((piece, marked)) if *marked == is_marked => piece.push_str(text),
            _ => pieces.push((text.to_owned(), is_marked)),
        };
        let (mut rest, mut begins_word) = (name, true);
        while let Some(first) = rest.chars().next() {
            let covered = self
                .words
                .iter()
                .filter_map(|word| prefix_bytes(rest, word))
                .max();
            let marked = covered.filter(|_| begins_word);
            let (piece, after) = rest.split_at(marked.unwrap_or(first.len_utf8()));
            push(piece, marked.is_some());
            begins_word = piece
                .chars()
                .next_back()
                .is_some_and(|sign| !sign.is_alphanumeric());
            rest = after;
        }
        pieces
    }
}

/// Returns the number of bytes of `text` that `word` covers at its begin, regardless of case; `None` if it does not begin
/// with it.
fn prefix_bytes(text: &str, word: &str) -> Option<usize> {
    let mut signs = text.char_indices();
    for wanted in word.chars() {
        let (_, sign) = signs.next()?;
        if !sign.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(signs.next().map_or(text.len(), |(place, _)| place))
}

/// Returns the time that a text names: `09:31`, `09:31:02.5` on the day of `about`, or a whole time of RFC 3339 in UTC.
fn time_of(text: &str, about: Time) -> Option<Time> {
    if let Some(time) = Time::parse(text) {
        return Some(time);
    }
    let parts: Vec<&str> = text.split(':').collect();
    let clock = match parts[..] {
        [hour, minute] => format!("{hour:0>2}:{minute:0>2}:00"),
        [hour, minute, second] => format!("{hour:0>2}:{minute:0>2}:{second:0>2}"),
        _ => return None,
    };
    let day = Time(about.0.div_euclid(DAY_US) * DAY_US);
    let within_day = Time::parse(&format!("1970-01-01T{clock}Z"))?;
    Some(Time(day.0 + within_day.0))
}

fn capitalised(words: &str) -> String {
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(text: &str, name: &str) -> Option<Match> {
        Wanted::parse(text).matches(name)
    }

    #[test]
    fn words_match_by_their_start_and_letters_in_order_after_that() {
        assert_eq!(matched("web 1", "pods web-1"), Some(Match::Words));
        assert_eq!(matched("WEB", "pods web-1"), Some(Match::Words));
        assert_eq!(matched("eb1", "pods web-1"), Some(Match::Letters));
        assert_eq!(matched("1web", "pods web-1"), None);
        let within = |text| Wanted::parse(text).matches_within("web-1", &["shop", "shop/pods"]);
        assert_eq!(within("pods web"), Some(Match::Around));
        assert_eq!(within("we"), Some(Match::Words));
        assert_eq!(matched("", "anything"), Some(Match::Words));
    }

    #[test]
    fn the_matching_begins_of_words_are_marked() {
        let marked = |text, name| {
            let pieces = Wanted::parse(text).marked(name).into_iter();
            let pieces =
                pieces.map(|(piece, marked)| if marked { format!("[{piece}]") } else { piece });
            pieces.collect::<String>()
        };
        assert_eq!(
            marked("co", "Copy shop/configmaps, second"),
            "[Co]py shop/[co]nfigmaps, second"
        );
        assert_eq!(marked("web 1", "web-1"), "[web]-[1]");
        assert_eq!(marked("", "web-1"), "web-1");
        assert_eq!(marked("zäh", "ZÄHLER"), "[ZÄH]LER");
    }

    #[test]
    fn a_time_of_day_is_one_of_the_day_in_view() {
        let about = Time::parse("2026-03-01T23:59:59Z").unwrap();
        let at = |text| time_of(text, about);
        assert_eq!(at("9:31"), Time::parse("2026-03-01T09:31:00Z"));
        assert_eq!(at("09:31:02.5"), Time::parse("2026-03-01T09:31:02.500Z"));
        assert_eq!(
            at("2026-02-28T01:02:03Z"),
            Time::parse("2026-02-28T01:02:03Z")
        );
        for wrong in ["", "9", "25:00", "9:61", "09:31:02:03", "a:b", "-1:00"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
