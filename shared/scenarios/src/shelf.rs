//! The stories there are, and how one is asked for.

use crate::catalogue::{self, Row};
use crate::demo;
use crate::story::Story;

/// As many are named to one who asked for none that there is.
const NEAREST_MOST: usize = 3;

/// All stories: the demo's, then one for each row of the catalogue, F01 first.
#[must_use]
pub fn stories() -> Vec<Story> {
    let rows = catalogue::rows().into_iter().map(Row::told);
    std::iter::once(demo::story()).chain(rows).collect()
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
    use watchscope_diagnosis::texts::explanation;

    use super::*;

    fn found(asked: &str) -> Option<&'static str> {
        story(asked).map(|story| story.name)
    }

    fn near(asked: &str) -> Vec<&'static str> {
        nearest(asked).iter().map(|story| story.name).collect()
    }

    #[test]
    fn each_story_is_asked_for_by_its_name_or_the_catalogues() {
        for story in stories() {
            for asked in [story.name.to_owned(), story.name.to_lowercase()] {
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
    fn a_story_of_the_catalogue_begins_with_what_the_catalogue_says() {
        for story in stories().split_off(1) {
            let first = story.acts.first().and_then(|act| act.says.as_ref());
            let text = first.map(|line| line.text.as_str()).unwrap_or_default();
            let what = explanation(story.name).map(|row| row.what);
            let begins = format!("{} {}. {}", story.name, story.title, what.unwrap_or("?"));
            assert!(text.starts_with(&begins), "{text}");
            assert!(story.acts.is_sorted_by_key(|act| act.at), "{}", story.name);
        }
    }
}
