//! The list of all stories, and the search for one by name.

use std::time::Duration;

use serde_json::json;
use watchscope_simulator::Request;

use crate::catalogue::{self, Row, finds::finds};
use crate::demo;
use crate::script::{Act, Deed, Line};
use crate::story::{Story, touch};

/// The URL path of the service that changes beside a story.
const SERVICES: &str = "/api/v1/namespaces/default/services";
/// The time between two changes of the service beside a story. F34 is found if a watch gets no bookmark for over 150 s
/// although the cluster's resourceVersion rises (docs/findings/F34.md). In 150 s the service changes at least seven
/// times. The number has no other source.
const CHANGES_EVERY: Duration = Duration::from_secs(20);

/// The most stories that [`nearest`] returns, so that an error that names them stays short. Of more stories that are
/// equally near, the first are returned. The number has no source.
const NEAREST_MOST: usize = 3;

/// Returns all 51 stories: the demo's, then one for each row of the catalogue, F01 first.
#[must_use]
pub fn stories() -> Vec<Story> {
    let rows = catalogue::rows().into_iter().map(for_viewer);
    std::iter::once(demo::story()).chain(rows).collect()
}

/// Returns the name and the title of each story, in the order of [`stories()`]. It makes no story.
pub fn titles() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = watchscope_model::Row::ALL
        .into_iter()
        .map(|row| (row.code(), row.name()));
    std::iter::once((demo::NAME, demo::TITLE)).chain(rows)
}

/// Returns the story of a row for a person who watches it. The story has the other watches that its finding needs. Its
/// last line says that the story is over.
fn for_viewer(row: Row) -> Story {
    let (of, lasts) = (row.row, row.lasts);
    let mut story = row.for_viewer();
    if finds(of).needs_others {
        accompany(&mut story, lasts);
    }
    story.acts.sort_by_key(|act| act.at);
    let last = story.acts.last().map_or(Duration::ZERO, |act| act.at);
    let text = format!(
        "The story {name} is over. Nothing more is done to this cluster; it goes on as it is. \
         `watchscope demo {name}` starts it again.",
        name = story.name
    );
    story.acts.push(Act {
        at: lasts.max(last),
        deeds: Vec::new(),
        says: Some(Line {
            text,
            watch: None,
            over: true,
        }),
    });
    story
}

/// Adds to a story a watch of services, and changes to one service.
fn accompany(story: &mut Story, lasts: Duration) {
    story.view.resources.push("services".to_owned());
    let body = json!({
        "metadata": {"name": "beside"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}},
    });
    let mut deed = Deed::Call(Request::new("POST", SERVICES).json(&body));
    let (mut at, mut turn) = (Duration::from_secs(1), 0);
    while at < lasts {
        story.acts.push(Act {
            at,
            deeds: vec![deed],
            says: None,
        });
        turn += 1;
        deed = Deed::Call(touch(&format!("{SERVICES}/beside"), turn));
        at += CHANGES_EVERY;
    }
}

/// Returns the story with a `name` or a `title`. For a row of the catalogue the `name` is the row's code, and the
/// `title` is the catalogue's name of the row. Only ASCII letters and digits count, in any case. Examples of such
/// names: `F08`, `f08`, `connection-reset`. `None` if no story has the name.
#[must_use]
pub fn story(asked: &str) -> Option<Story> {
    let asked = plain(asked);
    let is_asked = |story: &Story| [story.name, story.title].map(plain).contains(&asked);
    stories().into_iter().find(is_asked)
}

/// Returns the stories that an unknown name may mean: at least one and at most three, in the order of [`stories()`].
/// For a number, with or without an `F`, returns the row with the nearest number. For any other text, returns the
/// stories whose name, title or word of the title is most similar by Levenshtein distance.
#[must_use]
pub fn nearest(asked: &str) -> Vec<Story> {
    let asked = plain(asked);
    let mut stories = stories();
    if let Some(number) = number(&asked) {
        // The demo's story has index 0, so F01 has 1.
        let place = number.clamp(1, stories.len() - 1);
        return vec![stories.swap_remove(place)];
    }
    let distance = |story: &Story| {
        let words = story.title.split_whitespace().map(plain);
        let wholes = [story.name, story.title].map(plain);
        let all = words.chain(wholes);
        all.map(|word| strsim::levenshtein(&asked, &word)).min()
    };
    let least = stories.iter().map(distance).min();
    stories.retain(|story| Some(distance(story)) == least);
    stories.truncate(NEAREST_MOST);
    stories
}

/// Returns the number of a row's code: 77 for `f77` and `77`; `None` for any other text.
fn number(asked: &str) -> Option<usize> {
    asked.strip_prefix('f').unwrap_or(asked).parse().ok()
}

/// Returns the ASCII letters, in lower case, and digits of a name.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use watchscope_diagnosis::explain::explanation;
    use watchscope_model::Event;
    use watchscope_model::Row;

    use super::*;
    use crate::Run;

    fn found(asked: &str) -> Option<&'static str> {
        story(asked).map(|story| story.name)
    }

    fn near(asked: &str) -> Vec<&'static str> {
        nearest(asked).iter().map(|story| story.name).collect()
    }

    #[test]
    fn each_story_is_found_by_its_name_or_the_catalogues() {
        for story in stories() {
            for asked in [story.name.to_owned(), story.name.to_ascii_lowercase()] {
                assert_eq!(found(&asked), Some(story.name), "{asked}");
            }
            assert_eq!(found(story.title), Some(story.name));
            assert_eq!(found(&story.title.replace(' ', "-")), Some(story.name));
        }
        assert_eq!(stories().len(), 51);
        let named = stories().into_iter().map(|story| (story.name, story.title));
        assert!(named.eq(titles()));
        assert_eq!(found("goaway"), Some("F09"));
        for none in ["", "F51", "F0", "reset", "-"] {
            assert_eq!(found(none), None, "{none}");
        }
    }

    #[test]
    fn an_unknown_name_returns_the_nearest_stories() {
        assert_eq!(near("F77"), ["F50"]);
        assert_eq!(near("f00"), ["F01"]);
        assert_eq!(near("11"), ["F11"]);
        assert_eq!(near("shp"), ["shop"]);
        assert_eq!(near("ghost"), ["F24"]);
        assert_eq!(near("reset"), ["shop", "F08"]);
        for asked in ["", "no-such-story", "F99999999999999999999", "\u{1f980}"] {
            assert!((1..=NEAREST_MOST).contains(&near(asked).len()), "{asked}");
        }
    }

    #[test]
    fn a_story_of_the_catalogue_ends_with_a_line_that_says_so() {
        let mut run = Run::watched(story("F11").unwrap(), 1);
        run.run_for(Duration::from_secs(300));
        let mut notes = run
            .records()
            .iter()
            .filter_map(|record| match &record.event {
                Event::Note(note) => Some(note.text.as_str()),
                _ => None,
            });
        assert_eq!(
            notes.next_back(),
            Some(
                "The story F11 is over. Nothing more is done to this cluster; it goes on as it is. \
                 `watchscope demo F11` starts it again."
            )
        );
        for story in stories().split_off(1) {
            let last = story.acts.last().and_then(|act| act.says.as_ref());
            let says = last.is_some_and(|line| line.over);
            assert!(
                says && story.acts.is_sorted_by_key(|act| act.at),
                "{}",
                story.name
            );
        }
    }

    /// Diagnosis finds missing bookmarks only if other watches have reached a newer resourceVersion.
    #[test]
    fn the_story_of_missing_bookmarks_has_the_other_watches_it_needs() {
        let mut run = Run::watched(story("F34").unwrap(), 1);
        run.run_for(Duration::from_secs(280));
        let mut found = run
            .records()
            .iter()
            .filter_map(|record| match &record.event {
                Event::Finding(finding) => Some(&*finding.code),
                _ => None,
            });
        assert!(found.any(|code| code == "F34"));
    }

    #[test]
    fn a_story_of_the_catalogue_begins_with_the_catalogues_explanation() {
        for story in stories().split_off(1) {
            let first = story.acts.first().and_then(|act| act.says.as_ref());
            let text = first.map(|line| line.text.as_str()).unwrap_or_default();
            let what = Row::of(story.name).map(|row| explanation(row).what);
            let begins = format!("{} {}. {}", story.name, story.title, what.unwrap_or("?"));
            assert!(text.starts_with(&begins), "{text}");
            assert!(story.acts.is_sorted_by_key(|act| act.at), "{}", story.name);
        }
    }
}
