//! Replaces the catalogue in builds whose readers need no list of chapters; it lists nothing.

use watchscope_model::summary::Summary;
use watchscope_model::{EpochId, LogId, Record, Seq, State, Time};

/// A catalogue that lists nothing. Builds without the feature `catalogue`, such as that of lessons, have this type in
/// place of the full catalogue.
#[derive(Clone, Debug)]
pub struct Catalogue;

/// The part of the catalogue that a reader has received: nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor;

/// A summarizer that does nothing.
#[derive(Debug)]
pub(crate) struct Summing;

#[allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    clippy::needless_pass_by_ref_mut,
    reason = "its interface is that of the full catalogue"
)]
impl Catalogue {
    pub(crate) fn new(_: EpochId) -> Self {
        Self
    }

    pub(crate) fn put(&mut self, _: Summary) {}

    pub(crate) fn left_ring(&mut self, _: Seq) {}

    pub(crate) fn is_in_file(&self, _: &EpochId, _: Seq) -> bool {
        false
    }

    pub(crate) fn next_message(&self, _: &LogId, _: &mut Cursor) -> Option<Vec<u8>> {
        None
    }
}

#[allow(
    clippy::unused_self,
    reason = "its interface is that of the full summarizer"
)]
impl Summing {
    pub(crate) fn new(_: State) -> Self {
        Self
    }

    pub(crate) fn record(&mut self, _: &Record) {}

    pub(crate) fn pass(&mut self, _: u64, _: Time) {}

    pub(crate) fn next_chapter(&mut self) {}

    pub(crate) fn summary(&self) -> Summary {
        Summary {
            first: Seq(0),
            last: Seq(0),
            first_at: Time(0),
            last_at: Time(0),
            counts: Vec::new(),
            worst: None,
            troubles: Vec::new(),
        }
    }
}
