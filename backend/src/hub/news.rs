//! What a viewer gets beside the log: contexts to choose from, how the history fares, goodbyes.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use watchscope_log::Reader;
use watchscope_model::wire::{Contexts, History};

use super::ending::Ending;
use crate::history::HistoryState;

/// How often a history is told of whose bytes alone change.
const HISTORY_EVERY: Duration = Duration::from_secs(10);

/// What is told to one viewer beside the log.
pub(super) struct News {
    contexts: watch::Receiver<Option<Contexts>>,
    history: watch::Receiver<Option<HistoryState>>,
    ending: watch::Receiver<Option<Ending>>,
    /// What was told of the history last, and when.
    told: Option<(Instant, History)>,
}

impl News {
    /// The news of a viewer that has just connected: it also gets what was told before it came.
    pub(super) fn new(
        mut contexts: watch::Receiver<Option<Contexts>>,
        mut history: watch::Receiver<Option<HistoryState>>,
        mut ending: watch::Receiver<Option<Ending>>,
    ) -> Self {
        contexts.mark_changed();
        history.mark_changed();
        ending.mark_changed();
        Self {
            contexts,
            history,
            ending,
            told: None,
        }
    }

    /// Passes on what has changed to the viewer, the `number`-th of its hub. All but goodbyes come after the welcome.
    pub(super) fn pass_on(&mut self, reader: &mut Reader, number: u64) {
        if self.ending.has_changed().unwrap_or(false)
            && let Some(ending) = &*self.ending.borrow_and_update()
        {
            reader.part(ending.parting(number));
        }
        if !reader.is_greeted() {
            return;
        }
        if self.contexts.has_changed().unwrap_or(false)
            && let Some(contexts) = &*self.contexts.borrow_and_update()
        {
            reader.tell(contexts.clone());
        }
        if self.history.has_changed().unwrap_or(false)
            && let Some(history) = &*self.history.borrow_and_update()
        {
            let history = history.message();
            if is_news(self.told.as_ref(), &history) {
                reader.tell(history.clone());
                self.told = Some((Instant::now(), history));
            }
        }
    }

    /// Returns when something has changed; [`News::pass_on`] finds it. Cancel safe.
    pub(super) async fn came(&mut self, is_greeted: bool) {
        tokio::select! {
            Ok(()) = self.ending.changed() => self.ending.mark_changed(),
            Ok(()) = self.contexts.changed(), if is_greeted => self.contexts.mark_changed(),
            Ok(()) = self.history.changed(), if is_greeted => self.history.mark_changed(),
            else => std::future::pending().await,
        }
    }
}

/// Whether a history is to be told of: its trouble has changed, or its bytes and that some time ago.
fn is_news(told: Option<&(Instant, History)>, history: &History) -> bool {
    let Some((at, told)) = told else {
        return true;
    };
    let key = |of: &History| (of.trouble, of.trouble_since, of.lost, of.since.is_some());
    key(told) != key(history) || at.elapsed() >= HISTORY_EVERY
}
