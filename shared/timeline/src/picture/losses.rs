//! What a saved picture lacks in its range: gaps, watchscope's own losses, and records that are not loaded, in words.

use watchscope_model::Time;
use watchscope_model::vocabulary::LossPlace;

use crate::draw::Picture;
use crate::format::{count, duration};
use crate::store::Coverage;
use crate::tokens::Token;

/// What is missing of a stretch of time, in words.
pub(super) struct Losses {
    pub(super) gaps: String,
    pub(super) gaps_ink: Token,
    pub(super) own: String,
    /// How long nobody watched, if there was such a time.
    pub(super) unwatched: Option<String>,
    /// What an extract leaves out, if anything.
    pub(super) withheld: Option<String>,
    pub(super) unknown: String,
}

/// Returns what is missing between two times, both included.
pub(super) fn losses(picture: &Picture<'_>, from: Time, to: Time) -> Losses {
    let within = |at: Time| at >= from && at <= to;
    let epochs = picture.store.epochs().iter();
    let all = epochs.flat_map(|epoch| {
        let watches = epoch.trace.watches.iter().flatten();
        let of_watches = watches.flat_map(|watch| &watch.losses);
        epoch.trace.losses.iter().chain(of_watches)
    });
    let (mut own, mut frames, mut withheld) = (0, 0, 0);
    for loss in all.filter(|loss| within(loss.moment.at)) {
        if loss.is_own() {
            own += loss.count;
        } else if loss.place == LossPlace::Frame {
            frames += loss.count;
        } else if loss.place == LossPlace::Withheld {
            withheld += loss.count;
        }
    }
    let gaps = picture.store.gaps(from, to, picture.now);
    let coverage = picture.store.coverage(picture.now);
    let lasting_us = |is: fn(Coverage) -> bool| -> i64 {
        let stretches = coverage.iter().filter(|stretch| is(stretch.coverage));
        let within = stretches.map(|stretch| {
            let (begin, end) = (stretch.from.max(from), stretch.to.min(to));
            end.micros_since(begin).max(0)
        });
        within.sum()
    };
    let unknown_us = lasting_us(|is| !matches!(is, Coverage::Loaded | Coverage::Seam));
    let seams_us = lasting_us(|is| is == Coverage::Seam);
    Losses {
        gaps: match gaps.total() {
            0 => "none".to_string(),
            total => format!("{total}: {}", gaps.words()),
        },
        gaps_ink: if gaps.lost > 0 {
            Token::Error
        } else {
            Token::Text1
        },
        own: count(own, "record"),
        unwatched: (seams_us > 0).then(|| duration(seams_us)),
        withheld: (withheld > 0).then(|| count(withheld, "record")),
        unknown: match (unknown_us, frames) {
            (0, 0) => "nothing".to_string(),
            (0, _) => format!("{} not read", count(frames, "frame")),
            (_, 0) => format!("{} not held", duration(unknown_us)),
            _ => {
                let held = duration(unknown_us);
                format!("{held} not held, {} not read", count(frames, "frame"))
            }
        },
    }
}
