//! The stories there are, and how one is asked for.

use std::time::Duration;

use serde_json::json;
use watchscope_simulator::Request;

use crate::catalogue::{self, Row, finds::finds};
use crate::demo;
use crate::script::{Act, Deed, Line};
use crate::story::{Story, touch};

const SERVICES: &str = "/api/v1/namespaces/default/services";
/// A service that is beside the story changes so often.
const CHANGES_EVERY: Duration = Duration::from_secs(20);

/// As many are named to one who asked for none that there is.
const NEAREST_MOST: usize = 3;

/// All stories: the demo's, then one for each row of the catalogue, F01 first.
#[must_use]
pub fn stories() -> Vec<Story> {
    let rows = catalogue::rows().into_iter().map(told);
    std::iter::once(demo::story()).chain(rows).collect()
}

/// The story of a row for one who asks for it: it has the company that its failure needs to be seen, and says when it is
/// over.
fn told(row: Row) -> Story {
    let (of, lasts) = (row.row, row.lasts);
    let mut story = row.told();
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

/// Watches services too, one of which changes again and again.
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

/// The story asked for by its name, which of a row is its code, or by the catalogue's name of the row: `F08`, `f08`,
/// `connection-reset`.
#[must_use]
pub fn story(asked: &str) -> Option<Story> {
    let asked = plain(asked);
    let is_asked = |story: &Story| [story.name, story.title].map(plain).contains(&asked);
    stories().into_iter().find(is_asked)
}

/// The stories that may be meant by what is none's name, at most three: of a number the row with the nearest; else those
/// with a word that takes the fewest letters changed, added or left out to reach.
#[must_use]
pub fn nearest(asked: &str) -> Vec<Story> {
    let asked = plain(asked);
    let mut stories = stories();
    if let Some(number) = number(&asked) {
        // The demo's stands before F01.
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

/// Of `f77` 77.
fn number(asked: &str) -> Option<usize> {
    asked.strip_prefix('f').unwrap_or(asked).parse().ok()
}

/// Only what matters: letters in lower case, and digits.
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
    fn each_story_is_asked_for_by_its_name_or_the_catalogues() {
        for story in stories() {
            for asked in [story.name.to_owned(), story.name.to_ascii_lowercase()] {
                assert_eq!(found(&asked), Some(story.name), "{asked}");
            }
            assert_eq!(found(story.title), Some(story.name));
            assert_eq!(found(&story.title.replace(' ', "-")), Some(story.name));
        }
        assert_eq!(stories().len(), 51);
        assert_eq!(found("goaway"), Some("F09"));
        for none in ["", "F51", "F0", "reset", "-"] {
            assert_eq!(found(none), None, "{none}");
        }
    }

    #[test]
    fn one_who_asks_for_none_that_there_is_hears_of_the_nearest() {
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
    fn a_story_of_the_catalogue_says_at_its_end_that_it_is_over() {
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

    /// Bookmarks that do not come are missed only where others have come further.
    #[test]
    fn the_story_of_missing_bookmarks_has_the_company_it_needs_to_be_found() {
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
    fn a_story_of_the_catalogue_begins_with_what_the_catalogue_says() {
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
