//! Asks for the past one chapter at a time. Which one is wanted, the store knows.

use watchscope_model::id::{EpochId, LogId, Seq};

/// A chapter, by log, run and the record behind it.
pub type Wanted = (LogId, EpochId, Seq);

/// At most one request is under way; one that brought nothing new is not made again on the same connection.
#[derive(Clone, Debug, Default)]
pub struct Backfill {
    asked: Option<Wanted>,
    fruitless: Option<Wanted>,
}

impl Backfill {
    /// The chapter to ask for now, of the one the store wants.
    pub fn ask(&mut self, wanted: Option<Wanted>) -> Option<Wanted> {
        if self.asked.is_some() || wanted == self.fruitless {
            return None;
        }
        self.asked.clone_from(&wanted);
        wanted
    }

    /// The answer came, with this number of records that were not held; returns what was asked for.
    pub fn answered(&mut self, new_records: usize) -> Option<Wanted> {
        let asked = self.asked.take();
        self.fruitless = asked.clone().filter(|_| new_records == 0);
        asked
    }

    /// The connection is gone, and the answer with it.
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
