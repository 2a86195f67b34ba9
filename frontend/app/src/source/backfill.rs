//! Asks for chapters of the past. Which one is wanted next, the store knows.

use watchscope_model::id::{EpochId, LogId, Seq};

/// Requests under way at most: the next chapter is read and sent while one is taken in.
const AT_ONCE: usize = 2;

/// A chapter, by log, run and the record behind it.
pub type Wanted = (LogId, EpochId, Seq);

/// At most two requests are under way, which the server answers in their order; a chapter that brought nothing new is not asked
/// for again on the same connection.
#[derive(Clone, Debug, Default)]
pub struct Backfill {
    asked: Vec<Wanted>,
    fruitless: Option<Wanted>,
}

impl Backfill {
    /// What was asked for and has not come, in the order of asking.
    #[must_use]
    pub fn asked(&self) -> &[Wanted] {
        &self.asked
    }

    /// The chapter to ask for now, of the one the store wants besides those that are asked for.
    pub fn ask(&mut self, wanted: Option<Wanted>) -> Option<Wanted> {
        if self.asked.len() == AT_ONCE || wanted == self.fruitless {
            return None;
        }
        self.asked.extend(wanted.clone());
        wanted
    }

    /// The answer to the oldest request came, with this number of records that were not held; returns what was asked for.
    pub fn answered(&mut self, new_records: usize) -> Option<Wanted> {
        let asked = (!self.asked.is_empty()).then(|| self.asked.remove(0));
        self.fruitless = asked.clone().filter(|_| new_records == 0);
        asked
    }

    /// The connection is gone, and the answers with it.
    pub fn interrupted(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_chapters_are_asked_for_at_a_time_and_none_twice_in_vain() {
        let mut backfill = Backfill::default();
        let chapter = |seq| Some(("l".into(), "e".into(), Seq(seq)));
        assert_eq!(backfill.ask(None), None);
        assert_eq!(backfill.ask(chapter(9)), chapter(9));
        assert_eq!(backfill.ask(chapter(5)), chapter(5));
        assert_eq!(backfill.ask(chapter(3)), None, "two are on their way");
        assert_eq!(backfill.answered(4), chapter(9));
        assert_eq!(backfill.asked(), [chapter(5).unwrap()]);
        assert_eq!(backfill.answered(0), chapter(5));
        assert_eq!(backfill.ask(chapter(5)), None, "it brought nothing");
        assert_eq!(backfill.answered(0), None, "nobody asked");
        backfill.interrupted();
        assert_eq!(backfill.ask(chapter(5)), chapter(5));
    }
}
