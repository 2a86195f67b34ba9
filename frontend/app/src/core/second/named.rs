//! The resourceVersion or the uid that a text names, and where it is: at once among what is loaded, else by a search.
//!
//! ```text
//!   rv:81204377   uid:0b5c7f3a…   81204377   0b5c7f3a-11d2…
//! ```

use watchscope_model::Time;
use watchscope_search::Query;
use watchscope_timeline::store::Coverage;
use watchscope_timeline::{LaneId, format, words};

use crate::core::model::Model;
use crate::core::palette::{Goal, Looked, NamedRow};

/// The words before a resourceVersion.
const BEFORE_VERSION: [&str; 4] = ["rv:", "rv ", "resourceversion:", "resourceversion "];
/// The words before a uid.
const BEFORE_UID: [&str; 2] = ["uid:", "uid "];
/// The fewest digits of a number without such a word that is searched for, and whose nearest is offered. A shorter one
/// is often a part of a name; it is offered only if a loaded record has it.
const BARE_DIGITS: usize = 4;
/// The fewest characters of a uid without such a word: the first group of a UUID.
const BARE_UID: usize = 8;
/// The most objects that are offered for the beginning of a uid, the first by watch and name.
const OBJECTS_MOST: usize = 2;

/// The words beside a search for what is loaded already.
const ALL_KEPT: &str = "in all that is kept";

/// What a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    /// A resourceVersion.
    Version {
        /// As it is searched for.
        text: String,
        /// Whether the text says that it is one.
        is_said: bool,
    },
    /// The beginning of a uid.
    Uid {
        /// As it is searched for.
        text: String,
        /// Whether the text says that it is one, or is too long for a number.
        is_said: bool,
    },
}

impl Model {
    /// Looks up what the palette's text names, unless it is known already.
    pub(super) fn look_up_named(&mut self) {
        let Some(open) = &self.panels.palette.open else {
            self.panels.palette.looked = None;
            return;
        };
        let version = self.store.version();
        let known = self.panels.palette.looked.as_ref();
        let is_known = known.is_some_and(|known| {
            known.text == open.text && (known.is_found || known.version == version)
        });
        if is_known {
            return;
        }
        let mut looked = Looked {
            text: open.text.clone(),
            version,
            ..Looked::default()
        };
        for named in named(&looked.text) {
            match named {
                Named::Version { text, is_said } => {
                    self.look_for_version(&text, is_said, &mut looked)
                }
                Named::Uid { text, is_said } => self.look_for_uid(&text, is_said, &mut looked),
            }
        }
        self.panels.palette.looked = Some(looked);
    }

    fn look_for_version(&self, text: &str, is_said: bool, looked: &mut Looked) {
        let number = text.parse().ok();
        let nearest = number.and_then(|number| self.store.nearest_version(number));
        let exact = nearest.filter(|place| Some(place.version) == number);
        let place_words = |lane: LaneId, at: Time| {
            format!(
                "{}, {}",
                words::lane_words(&self.store, lane),
                format::clock_ms(at)
            )
        };
        if let Some(place) = exact {
            looked.is_found = true;
            looked.rows.push(NamedRow {
                goal: Goal::Record(place.record, place.at),
                words: format!("Go to resourceVersion {text}"),
                beside: place_words(place.lane, place.at),
            });
        }
        if exact.is_some() || is_said || text.len() >= BARE_DIGITS {
            let beside = match exact {
                Some(_) => ALL_KEPT.to_owned(),
                None => format!("{text} is {}", self.missing_words()),
            };
            looked
                .rows
                .push(search_row("resourceVersion", text, beside));
        }
        let offers_nearest = is_said || text.len() >= BARE_DIGITS;
        if let Some(place) = nearest.filter(|_| exact.is_none() && offers_nearest) {
            looked.rows.push(NamedRow {
                goal: Goal::Record(place.record, place.at),
                words: format!("Go to resourceVersion {}, the nearest", place.version),
                beside: place_words(place.lane, place.at),
            });
        }
    }

    fn look_for_uid(&self, text: &str, is_said: bool, looked: &mut Looked) {
        let Ok(query) = Query::parse(text) else {
            return;
        };
        let mut lanes: Vec<LaneId> = Vec::new();
        // Objects that are held now first: their names may have had other uids before.
        let held = self
            .store
            .state()
            .into_iter()
            .flat_map(|state| &state.watches);
        for (name, watch) in held {
            let objects = watch.objects.iter().map(|held| &held.object);
            let objects = objects.filter(|object| query.is_uid(&object.uid));
            lanes.extend(objects.filter_map(|object| self.store.find_lane(name, Some(object))));
        }
        let met = self.store.lanes().filter(|lane| {
            let (_, object) = self.store.lane_names(*lane);
            object.is_some_and(|object| query.is_uid(&object.uid))
        });
        for lane in met {
            if !lanes.contains(&lane) {
                lanes.push(lane);
            }
        }
        lanes.truncate(OBJECTS_MOST);
        looked.is_found |= !lanes.is_empty();
        for &lane in &lanes {
            let last = self.store.last_before(lane, self.now());
            let last = last.and_then(|id| self.store.entry(id));
            let (watch, object) = self.store.lane_names(lane);
            let watch = watch.map_or_else(String::new, ToString::to_string);
            let name = object.map_or_else(String::new, |object| object.name.to_string());
            looked.rows.push(NamedRow {
                goal: Goal::Lane(lane),
                words: format!("Go to object {name}"),
                beside: match last {
                    Some(last) => format!("{watch}, last at {}", format::clock_ms(last.at())),
                    None => watch,
                },
            });
        }
        if lanes.is_empty() && !is_said {
            return;
        }
        let beside = match lanes.is_empty() {
            true => format!("{text} is {}", self.missing_words()),
            false => ALL_KEPT.to_owned(),
        };
        looked.rows.push(search_row("uid", text, beside));
        if let Some(oldest) = self.store.oldest_kept().filter(|_| lanes.is_empty()) {
            looked.rows.push(NamedRow {
                goal: Goal::At(oldest),
                words: format!("Go to {}", format::clock_ms(oldest)),
                beside: "the oldest record that is kept".to_owned(),
            });
        }
    }

    /// Returns `not kept; kept from 2026-11-19 09:31:00`, or that it is not loaded if not all that is kept is loaded.
    fn missing_words(&self) -> String {
        let is_elsewhere = self
            .store
            .coverage(self.now())
            .iter()
            .any(|stretch| matches!(stretch.coverage, Coverage::NotLoaded | Coverage::Dropped));
        match is_elsewhere {
            true => "not loaded".to_owned(),
            false => self.not_kept_words(),
        }
    }

    /// Returns `not kept; kept from 2026-11-19 09:31:00`.
    pub(super) fn not_kept_words(&self) -> String {
        self.store.oldest_kept().map_or_else(
            || "not kept; nothing is kept".to_owned(),
            |oldest| {
                format!(
                    "not kept; kept from {} {}",
                    format::date(oldest),
                    format::clock(oldest)
                )
            },
        )
    }
}

fn search_row(what: &str, text: &str, beside: String) -> NamedRow {
    NamedRow {
        goal: Goal::Search(text.to_owned()),
        words: format!("Search for {what} {text}"),
        beside,
    }
}

/// Returns what a text names; both a resourceVersion and a uid for eight digits and more.
fn named(text: &str) -> Vec<Named> {
    let text = text.trim();
    let after = |words: &[&str]| {
        let mut found = words.iter().filter_map(|word| {
            let (begin, rest) = text.split_at_checked(word.len())?;
            begin.eq_ignore_ascii_case(word).then_some(rest.trim())
        });
        found.find(|rest| !rest.is_empty()).map(str::to_owned)
    };
    // Pages and people write thousands with commas.
    let digits = |text: &str| text.replace(',', "");
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(text) = after(&BEFORE_VERSION) {
        let number = digits(&text);
        let text = if is_number(&number) { number } else { text };
        return vec![Named::Version {
            text,
            is_said: true,
        }];
    }
    if let Some(text) = after(&BEFORE_UID) {
        return vec![Named::Uid {
            text,
            is_said: true,
        }];
    }
    let mut all = Vec::new();
    let number = digits(text);
    let is_a_number = is_number(&number);
    if is_a_number {
        all.push(Named::Version {
            text: number,
            is_said: false,
        });
    }
    let is_of_uid = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let has_hyphens = [8, 13, 18, 23]
        .iter()
        .all(|&place| text.as_bytes().get(place).is_none_or(|byte| *byte == b'-'));
    if (BARE_UID..=36).contains(&text.len()) && has_hyphens && text.bytes().all(is_of_uid) {
        let text = text.to_owned();
        all.push(Named::Uid {
            text,
            is_said: !is_a_number,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str, is_said: bool) -> Named {
        Named::Version {
            text: text.to_owned(),
            is_said,
        }
    }

    fn uid(text: &str, is_said: bool) -> Named {
        Named::Uid {
            text: text.to_owned(),
            is_said,
        }
    }

    #[test]
    fn a_text_names_a_resource_version_or_a_uid_by_its_word_or_its_form() {
        assert_eq!(named("rv:81204377"), [version("81204377", true)]);
        assert_eq!(named(" RV 81,204,377 "), [version("81204377", true)]);
        assert_eq!(named("resourceVersion: abc"), [version("abc", true)]);
        assert_eq!(named("UID:0b5c"), [uid("0b5c", true)]);
        assert_eq!(named("812"), [version("812", false)]);
        assert_eq!(
            named("81204377"),
            [version("81204377", false), uid("81204377", false)]
        );
        assert_eq!(named("0b5c7f3a-11d2"), [uid("0b5c7f3a-11d2", true)]);
    }

    #[test]
    fn other_texts_name_neither() {
        for text in [
            "",
            "rv:",
            "uid: ",
            "web-1",
            "0b5c7f3",
            "0b5c7f3a11d2",
            "09:31",
            "8120437x",
        ] {
            assert_eq!(named(text), [], "{text}");
        }
    }
}
