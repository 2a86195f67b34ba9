//! A place of the page, as a link names it: time range, lanes and selection.
//!
//! ```text
//!   v=1 & log=LOG & from=US & to=US & at=US & mark=US-US & ab=US[-US] & filter=TEXT & lane=KEY & record=EPOCH.SEQ
//!       & panel=findings & panel=watches & theme=dark|light
//!       & group=namespace|kind|server|owner|client & sort=trouble|change|rate & fold=strips|trouble
//!       & pin=KEY … & hide=KEY … & table=TABLE[/COLUMN[-][/KIND[/TEXT]]] & find=TEXT
//! ```
//! Times are microseconds since 1970, in UTC. Without `from` and `to` the view follows now. `at` is the moment for
//! which panels answer, `mark` the marked range, `ab` the cursors A and B, and each `panel` an open panel. `table` is the
//! open table: its sort column (`-`: the highest first), the chosen kind and the text of its filter. `find` is a text that
//! the palette opens with: a time, `rv:VERSION` or `uid:UID`. Pins and hidden lanes that would make
//! the fragment longer than 4 KiB are left out, the last ones first. Texts are percent-encoded. The parser
//! skips parts that a later version adds.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use watchscope_model::{EpochId, LogId, Seq, Time};

use watchscope_timeline::draw::Cursors;
use watchscope_timeline::lanes::{Folding, Grouping, Setup, Sorting};

use super::screen::ThemeChoice;

/// The characters that a fragment escapes: all but those of lane keys.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'/')
    .remove(b':')
    .remove(b'_');
/// The times that a link may name: 1970 to 9999. The parser ignores other times.
const TIMES: std::ops::Range<Time> = Time(0)..Time(253_402_300_800_000_000);
/// The most bytes of a fragment that is parsed. A longer one names no place.
const MAX_BYTES: usize = 4 << 10;

/// A place of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The log to which the place belongs.
    pub log: Option<LogId>,
    /// The time range of the view; `None` to follow now.
    pub range: Option<(Time, Time)>,
    /// The moment for which panels answer.
    pub at: Option<Time>,
    /// The marked range.
    pub marked: Option<(Time, Time)>,
    /// The cursors A and B.
    pub cursors: Cursors,
    /// The filter of the lanes.
    pub filter: String,
    /// How the lanes are grouped, sorted and folded, and which are pinned or hidden.
    pub setup: Setup,
    /// The key of the lane that is selected.
    pub lane: Option<String>,
    /// The selected record: its epoch and its number.
    pub record: Option<(EpochId, Seq)>,
    /// Whether the findings are open.
    pub has_findings: bool,
    /// Whether the table of watches is open.
    pub has_watches: bool,
    /// The open table with its order and filter; empty if none is open.
    pub table: String,
    /// The text that the palette opens with; empty if it stays closed.
    pub find: String,
    /// The theme. A fragment does not name the system's.
    pub theme: ThemeChoice,
}

impl Place {
    /// Parses a fragment, with or without its `#`. Returns `None` if it names no place or has more than 4 KiB.
    #[must_use]
    pub fn parse(fragment: &str) -> Option<Self> {
        let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
        (fragment.len() <= MAX_BYTES)
            .then(|| Self::parse_any(fragment))
            .flatten()
    }

    /// Like [`Self::parse`], for a text of any length without `#`.
    #[must_use]
    pub fn parse_any(fragment: &str) -> Option<Self> {
        let (mut place, mut is_place) = (Self::default(), false);
        let (mut from, mut to) = (None, None);
        for part in fragment.split('&') {
            let Some((key, value)) = part.split_once('=') else {
                continue;
            };
            let text = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            let time_of = |value: &str| {
                let time = value.parse().ok().map(Time);
                time.filter(|at| TIMES.contains(at))
            };
            let time = || time_of(value);
            match key {
                // A place in a file. The page around this one goes there.
                "open" => return None,
                "v" => is_place = value == "1",
                "log" => place.log = Some(LogId(text().into())),
                "panel" => match value {
                    "findings" => place.has_findings = true,
                    "watches" => place.has_watches = true,
                    _ => {}
                },
                "theme" => place.theme = ThemeChoice::from_word(value),
                "from" => from = time(),
                "to" => to = time(),
                "at" => place.at = time(),
                "mark" => {
                    let edges = value.split_once('-');
                    let edges = edges.and_then(|(from, to)| time_of(from).zip(time_of(to)));
                    place.marked = edges.filter(|(from, to)| from < to);
                }
                "ab" => {
                    let (a, b) = match value.split_once('-') {
                        Some((a, b)) => (time_of(a), time_of(b)),
                        None => (time_of(value), None),
                    };
                    let b = b.filter(|b| a.is_some_and(|a| a <= *b));
                    place.cursors = Cursors { a, b };
                }
                "filter" => place.filter = text(),
                "table" => place.table = text(),
                "find" => place.find = text(),
                "group" => place.setup.grouping = Grouping::from_word(value),
                "sort" => place.setup.sorting = Sorting::from_word(value),
                "fold" => place.setup.folding = Folding::from_word(value),
                // A key too many, or one that cannot be a key, is skipped.
                "pin" => drop(place.setup.pin(&text())),
                "hide" => drop(place.setup.hide(&text())),
                "lane" => place.lane = Some(text()),
                "record" => {
                    let record = text();
                    let parts = record.rsplit_once('.');
                    place.record =
                        parts.and_then(|(epoch, seq)| Some((epoch.into(), Seq(seq.parse().ok()?))));
                }
                _ => {}
            }
        }
        place.range = from.zip(to).filter(|(from, to)| from < to);
        is_place.then_some(place)
    }

    /// Returns the fragment that names the place, without `#`. It is empty for the place of a page that has just
    /// opened.
    #[must_use]
    pub fn fragment(&self) -> String {
        self.fragment_of(MAX_BYTES)
    }

    /// Like [`Self::fragment`], with pins and hidden lanes up to this number of bytes.
    #[must_use]
    pub fn fragment_of(&self, bytes: usize) -> String {
        let elsewhere = Self {
            log: self.log.clone(),
            ..Self::default()
        };
        if *self == elsewhere {
            return String::new();
        }
        let mut out = "v=1".to_owned();
        let mut add = |key: &str, value: &str| {
            out.push('&');
            out.push_str(key);
            out.push('=');
            out.extend(utf8_percent_encode(value, ESCAPED));
        };
        if let Some(log) = &self.log {
            add("log", log.as_str());
        }
        if let Some((from, to)) = self.range {
            add("from", &from.0.to_string());
            add("to", &to.0.to_string());
        }
        if let Some(at) = self.at {
            add("at", &at.0.to_string());
        }
        if let Some((from, to)) = self.marked {
            add("mark", &format!("{}-{}", from.0, to.0));
        }
        match (self.cursors.a, self.cursors.b) {
            (Some(a), Some(b)) => add("ab", &format!("{}-{}", a.0, b.0)),
            (Some(a), None) => add("ab", &a.0.to_string()),
            (None, _) => {}
        }
        let texts = [
            ("filter", &self.filter),
            ("table", &self.table),
            ("find", &self.find),
        ];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            add(key, text);
        }
        if let Some(lane) = &self.lane {
            add("lane", lane);
        }
        if let Some((epoch, seq)) = &self.record {
            add("record", &format!("{epoch}.{seq}"));
        }
        let panels = [
            ("findings", self.has_findings),
            ("watches", self.has_watches),
        ];
        for (panel, _) in panels.into_iter().filter(|(_, is_open)| *is_open) {
            add("panel", panel);
        }
        if self.theme != ThemeChoice::System {
            add("theme", self.theme.word());
        }
        let setup = &self.setup;
        if setup.grouping != Grouping::None {
            add("group", setup.grouping.word());
        }
        if setup.sorting != Sorting::Name {
            add("sort", setup.sorting.word());
        }
        if setup.folding != Folding::ByItself {
            add("fold", setup.folding.word());
        }
        let pins = setup.pinned().iter().map(|key| ("pin", key));
        let hidden = setup.hidden().iter().map(|key| ("hide", key));
        for (name, key) in pins.chain(hidden) {
            let before = out.len();
            out.push('&');
            out.push_str(name);
            out.push('=');
            out.extend(utf8_percent_encode(key, ESCAPED));
            if out.len() > bytes {
                out.truncate(before);
                break;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_place_has_no_fragment_and_other_fragments_name_no_place() {
        assert_eq!(Place::default().fragment(), "");
        for fragment in [
            "",
            "#",
            "#t=abc",
            "#lesson=ghost",
            "v=2&from=1&to=2",
            "#open=a.wscope&v=1&from=1&to=2",
        ] {
            assert_eq!(Place::parse(fragment), None, "{fragment}");
        }
        let later = Place::parse("#v=1&from=5&to=9&zoom=3").unwrap();
        assert_eq!(later.range, Some((Time(5), Time(9))));
    }

    #[test]
    fn an_empty_or_reversed_range_is_ignored() {
        for fragment in [
            "v=1&from=9&to=9",
            "v=1&from=9&to=5",
            "v=1&from=9",
            "v=1&from=x&to=7",
            "v=1&from=1&to=9223372036854775807",
        ] {
            assert_eq!(Place::parse(fragment).unwrap().range, None, "{fragment}");
        }
    }

    proptest! {
        #[test]
        fn a_place_reads_back_from_its_fragment(
            range in prop::option::of((0i64..1_000, 1i64..1_000)), at in prop::option::of(0i64..9),
            marked in prop::option::of((0i64..1_000, 1i64..1_000)),
            cursors in prop::option::of((0i64..1_000, prop::option::of(0i64..1_000))), filter: String, lane: Option<String>,
            record in prop::option::of(("[a-z0-9.]{1,9}", any::<u64>())),
            log: Option<String>, has_findings: bool, has_watches: bool, table: String, find: String,
            theme in prop::sample::select(vec![ThemeChoice::System, ThemeChoice::Dark, ThemeChoice::Light]),
            wishes in (0usize..6, 0usize..4, prop::collection::vec("[^\\p{Cc}]{1,20}", 0..5), 0usize..5),
        ) {
            let (grouping, sorting, keys, pins) = wishes;
            let mut setup = Setup::default();
            setup.grouping = Grouping::OFFERED.get(grouping).copied().unwrap_or_default();
            setup.sorting = Sorting::ALL[sorting];
            for (place, key) in keys.iter().enumerate() {
                if place < pins { setup.pin(key) } else { setup.hide(key) };
            }
            let stretch = |of: Option<(i64, i64)>| of.map(|(from, length)| (Time(from), Time(from + length)));
            let place = Place {
                log: log.map(|log| LogId(log.as_str().into())),
                range: stretch(range),
                at: at.map(Time),
                marked: stretch(marked),
                cursors: Cursors {
                    a: cursors.map(|(a, _)| Time(a)),
                    b: cursors.and_then(|(a, b)| Some(Time(a + b?))),
                },
                filter,
                setup,
                lane,
                record: record.map(|(epoch, seq)| (epoch.as_str().into(), Seq(seq))),
                has_findings,
                has_watches,
                table,
                find,
                theme,
            };
            let fragment = place.fragment();
            prop_assume!(fragment.len() <= MAX_BYTES);
            // A place that names only the log has an empty fragment.
            let read = Place::parse(&fragment).unwrap_or(Place { log: place.log.clone(), ..Place::default() });
            prop_assert_eq!(read, place);
        }

        #[test]
        fn arbitrary_fragments_do_not_panic(fragment: String) {
            let _ = Place::parse(&fragment);
        }
    }
}
