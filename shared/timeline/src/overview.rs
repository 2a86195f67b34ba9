//! The overview: one strip for all that is kept of a log, with a frame around the part on screen.
//!
//! ```text
//!   Store ─┬─► coverage ──────────► grounds, seams      ─┐
//!          ├─► marks, catalogue ──► density             ─┼─► Scene
//!          └─► traces, catalogue ─► ticks, divergences  ─┘
//!   Overview (which time, how wide) ─► x, words, what a pointer grips, ticks of a search
//! ```
//! The overview draws times from the catalogue's summaries before their records are loaded. The strip's width bounds
//! the work and the primitives: events on one px are merged, and of several problems the most severe is drawn.

mod density;
mod found;
mod known;
mod paint;
mod problems;
mod scale;
mod troubles;

use watchscope_model::Time;
use watchscope_model::time::SECOND_US;

pub use self::density::Counted;
pub use self::found::found_ticks;
pub use self::paint::{overview, overview_again};
pub use self::scale::{Grip, Moments, Overview, REACH_US, grip_at};
pub use self::troubles::{TroubleMark, troubles};
use crate::format::duration;
use crate::store::{Store, Stretch};

/// Returns the two lines of the strip's label: how far back the strip reaches, and how much of the log is kept. For
/// example `Overview 10 h` and `of 1 d 21 h kept, 3 epochs`. The second line is `all that is kept` if the strip shows
/// the whole kept log, or nothing is kept. The number of epochs counts those that end at or after the begin of the
/// first kept records; a number of 1 is left out. `now` is the present on the log's clock.
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

/// Returns a duration; from 1 min on in whole minutes, so that the words do not change each second.
fn lasted(micros: i64) -> String {
    let minute_us = 60 * SECOND_US;
    if micros < minute_us {
        return duration(micros.max(0) / SECOND_US * SECOND_US);
    }
    duration(micros / minute_us * minute_us)
}
