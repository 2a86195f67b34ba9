//! The fragment of a link to a lesson: its time, and everything that the person changed.
//!
//! ```text
//!   lesson=away&at=18&seed=7&server=1.27&client=1.19&moved=report:9.2&broke=12.5:0,14:1&answered=0:1,2:3
//! ```

use std::time::Duration;

use watchscope_scenarios::lessons::{Lesson, Run};

/// The most moved acts, breaks and answers that a link can have, of each kind. Further ones are ignored.
const ITEMS_MOST: usize = 256;

/// What a link to a lesson says. What cannot be read is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Link {
    /// The lesson's name; `None` if the link names none.
    pub(crate) name: Option<String>,
    /// The time to show.
    pub(crate) at: Option<Duration>,
    /// The seed.
    pub(crate) seed: Option<u64>,
    /// The version of the server, as written.
    pub(crate) server: Option<String>,
    /// The version of client-go, as written.
    pub(crate) client: Option<String>,
    /// The moved acts by name, and their times.
    pub(crate) moved: Vec<(String, Duration)>,
    /// The times of breaks, and their indices among the lesson's breaks.
    pub(crate) broke: Vec<(Duration, usize)>,
    /// The indices of passages, and of the answers to their questions.
    pub(crate) answered: Vec<(usize, usize)>,
}

impl Link {
    /// Reads a fragment, with or without its `#`.
    pub(crate) fn read(fragment: &str) -> Self {
        let mut link = Self::default();
        for part in fragment.trim_start_matches('#').split('&') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let pairs = || value.split(',').filter_map(|item| item.split_once(':'));
            match key {
                "lesson" => link.name = Some(value.to_owned()).filter(|name| !name.is_empty()),
                "at" => link.at = seconds(value),
                "seed" => link.seed = value.parse().ok(),
                "server" => link.server = Some(value.to_owned()),
                "client" => link.client = Some(value.to_owned()),
                "moved" => {
                    let moved =
                        pairs().filter_map(|(name, at)| Some((name.to_owned(), seconds(at)?)));
                    link.moved = moved.take(ITEMS_MOST).collect();
                }
                "broke" => {
                    let broke =
                        pairs().filter_map(|(at, place)| Some((seconds(at)?, place.parse().ok()?)));
                    link.broke = broke.take(ITEMS_MOST).collect();
                    link.broke.sort_unstable();
                }
                "answered" => {
                    let answered = pairs().filter_map(|(passage, answer)| {
                        Some((passage.parse().ok()?, answer.parse().ok()?))
                    });
                    link.answered = answered.take(ITEMS_MOST).collect();
                }
                _ => {}
            }
        }
        link
    }
}

/// Writes the fragment of a link to a time of a lesson. It leaves out what is as written.
pub(crate) fn write(
    lesson: &Lesson,
    at: Duration,
    (run, own): (Run, Run),
    broke: &[(Duration, usize)],
    answered: &[(usize, usize)],
) -> String {
    let mut link = format!("lesson={}&at={}", lesson.name, in_seconds(at));
    if run.seed != own.seed {
        link.push_str(&format!("&seed={}", run.seed));
    }
    if run.server != own.server {
        link.push_str(&format!("&server=1.{}", run.server.minor()));
    }
    if run.client != own.client {
        link.push_str(&format!("&client={}", run.client.name()));
    }
    let mut list = |key: &str, items: Vec<String>| {
        if !items.is_empty() {
            link.push_str(&format!("&{key}={}", items.join(",")));
        }
    };
    let moved = lesson.movables.iter();
    let moved = moved.filter(|act| act.at != act.written);
    list(
        "moved",
        moved
            .map(|act| format!("{}:{}", act.name, in_seconds(act.at)))
            .collect(),
    );
    let broke = broke.iter();
    list(
        "broke",
        broke
            .map(|(at, place)| format!("{}:{place}", in_seconds(*at)))
            .collect(),
    );
    let answered = answered.iter();
    list(
        "answered",
        answered
            .map(|(passage, answer)| format!("{passage}:{answer}"))
            .collect(),
    );
    link
}

/// Writes a time in seconds, to the microsecond, without zeros at the end.
fn in_seconds(at: Duration) -> String {
    let text = format!("{}.{:06}", at.as_secs(), at.subsec_micros());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Reads a decimal number of seconds, to the microsecond; further digits are ignored.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let digits = format!("{:0<6}", part.get(..6).unwrap_or(part));
    let whole = if whole.is_empty() { "0" } else { whole };
    let whole = Duration::from_secs(whole.parse().ok()?);
    whole.checked_add(Duration::from_micros(digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_with_everything_that_it_says() {
        let link = Link::read(
            "#lesson=away&at=18.5&seed=7&server=1.27&client=1.19&moved=report:9.2&broke=14:1,12.5:0&answered=0:1,2:3",
        );
        let ms = Duration::from_millis;
        assert_eq!(
            link,
            Link {
                name: Some("away".into()),
                at: Some(ms(18_500)),
                seed: Some(7),
                server: Some("1.27".into()),
                client: Some("1.19".into()),
                moved: vec![("report".into(), ms(9_200))],
                broke: vec![(ms(12_500), 0), (ms(14_000), 1)],
                answered: vec![(0, 1), (2, 3)],
            }
        );
    }

    #[test]
    fn what_cannot_be_read_is_absent() {
        let link =
            Link::read("#lesson=&at=-1&seed=x&moved=report,stock:y&broke=:&answered=1&other");
        let nothing = Link {
            moved: Vec::new(),
            ..Link::default()
        };
        assert_eq!(link, nothing);
    }

    #[test]
    fn times_are_written_without_zeros_at_the_end() {
        let times = [0, 18_000_000, 9_200_000, 1].map(Duration::from_micros);
        assert_eq!(times.map(in_seconds), ["0", "18", "9.2", "0.000001"]);
    }
}
