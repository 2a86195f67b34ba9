//! Exports of logs that are written by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use watchscope_export::Taken;
use watchscope_model::Time;
use watchscope_recording::{Excerpt, Lanes, Stretch};

use crate::common::Log;

/// Returns the export of logs, each one run, from one time to another.
pub(crate) fn taken(logs: &[&Log], from: Time, to: Time) -> Taken {
    let excerpt = Excerpt::new(Stretch::Times { from, to }, Lanes::All, "0.1.0", 2);
    let chapters = logs.iter().map(|log| log.chapter(0, log.records.len()));
    let runs = excerpt.runs(chapters).unwrap();
    Taken::new(from, to, runs).unwrap()
}
