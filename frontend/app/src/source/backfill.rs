//! Requests the past one chapter at a time; the store decides which one.

use watchscope_model::id::{EpochId, LogId, Seq};

/// A chapter: its log, its run, and the seq of the record after it.
pub type Wanted = (LogId, EpochId, Seq);

/// The request under way, at most one. A request that brought no new record is not repeated on the same connection.
#[derive(Clone, Debug, Default)]
pub struct Backfill {
    asked: Option<Wanted>,
    fruitless: Option<Wanted>,
}

impl Backfill {
    /// Returns the chapter to request now, given the one that the store wants.
    pub fn ask(&mut self, wanted: Option<Wanted>) -> Option<Wanted> {
        if self.asked.is_some() || wanted == self.fruitless {
            return None;
        }
        self.asked.clone_from(&wanted);
        wanted
    }

    /// Handles the answer, which brought this number of new records; returns the requested chapter.
    pub fn answered(&mut self, new_records: usize) -> Option<Wanted> {
        let asked = self.asked.take();
        self.fruitless = asked.clone().filter(|_| new_records == 0);
        asked
    }

    /// Forgets the request: the connection is gone.
    pub fn interrupted(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chapter_is_asked_for_at_a_time_and_never_twice_in_vain() {
        let mut backfill = Backfill::default();
        let chapter = |seq| Some(("l".into(), "e".into(), Seq(seq)));
        assert_eq!(backfill.ask(None), None);
        assert_eq!(backfill.ask(chapter(9)), chapter(9));
        assert_eq!(backfill.ask(chapter(9)), None, "it is on its way");
        backfill.answered(4);
        assert_eq!(backfill.ask(chapter(5)), chapter(5));
        backfill.answered(0);
        assert_eq!(backfill.ask(chapter(5)), None, "it brought nothing");
        backfill.interrupted();
        assert_eq!(backfill.ask(chapter(5)), chapter(5));
    }
}
