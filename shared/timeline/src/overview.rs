//! The overview: all that is kept of a log as one strip, with the part that is on screen framed.
//!
//! ```text
//!   Store ─┬─► coverage ──────────► grounds, seams      ─┐
//!          ├─► marks, catalogue ──► density             ─┼─► Scene
//!          └─► traces, catalogue ─► ticks, divergences  ─┘
//!   Overview (which time, how wide) ─► x, words, what a pointer grips
//! ```
//!
//! It draws hours from the catalogue's summaries before a record of them is loaded. Its work and its primitives are
//! bounded by its width: whatever falls on one px is merged, and the worst problem wins.

mod density;
mod known;
mod paint;
mod problems;
mod scale;
mod troubles;

use watchscope_model::Time;
use watchscope_model::time::SECOND_US;

pub use self::density::Counted;
pub use self::paint::{overview, overview_again};
pub use self::scale::{Grip, Moments, Overview, REACH_US, grip_at};
pub use self::troubles::{TroubleMark, next_trouble, previous_trouble, troubles};
use crate::format::duration;
use crate::store::{Store, Stretch};

/// The two lines of the strip's label: how far back it reaches, and how much of all that is kept that is, as
/// `Overview 10 h` and `of 1 d 21 h kept, 3 epochs`.
#[must_use]
pub fn words(store: &Store, scale: &Overview, now: Time) -> (String, String) {
    let reach = format!("Overview {}", lasted(scale.reach_us()));
    let coverage = store.coverage(now);
    let is_kept = |stretch: &&Stretch| stretch.coverage.is_kept();
    let begins = coverage.iter().find(is_kept).map(|first| first.from);
    let Some(begins) = begins.filter(|&begins| begins < scale.begin()) else {
        return (reach, "all that is kept".to_owned());
    };
    let kept = lasted(now.micros_since(begins));
    let ends = store.epochs().iter().filter_map(|epoch| epoch.ends());
    let epochs = ends.filter(|&ends| ends >= begins).count() as u64;
    let runs = if epochs > 1 {
        format!(", {epochs} epochs")
    } else {
        String::new()
    };
    (reach, format!("of {kept} kept{runs}"))
}

/// A duration in whole minutes from a minute on, so that words do not change each second.
fn lasted(micros: i64) -> String {
    let minute_us = 60 * SECOND_US;
    if micros < minute_us {
        return duration(micros.max(0) / SECOND_US * SECOND_US);
    }
    duration(micros / minute_us * minute_us)
}
