//! What a viewer gets beside the log: contexts to choose from, how the history fares, goodbyes.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use watchscope_log::Reader;
use watchscope_model::wire::{Contexts, History};

use super::ending::Ending;
use crate::history::HistoryState;

/// How often a history is sent whose bytes alone change.
const HISTORY_EVERY: Duration = Duration::from_secs(10);

/// The messages of one viewer beside the log.
pub(super) struct News {
    contexts: Fresh<Contexts>,
    history: Fresh<HistoryState>,
    ending: Fresh<Ending>,
    /// The history that was sent last, and when.
    told: Option<(Instant, History)>,
}

impl News {
    /// The news of a viewer that has just connected: it also gets what was set before it came.
    pub(super) fn new(
        contexts: watch::Receiver<Option<Contexts>>,
        history: watch::Receiver<Option<HistoryState>>,
        ending: watch::Receiver<Option<Ending>>,
    ) -> Self {
        Self {
            contexts: Fresh::new(contexts),
            history: Fresh::new(history),
            ending: Fresh::new(ending),
            told: None,
        }
    }

    /// Passes on what has changed to the viewer, the `number`-th of its hub. All but goodbyes come after the welcome.
    pub(super) fn pass_on(&mut self, reader: &mut Reader, number: u64) {
        if let Some(ending) = self.ending.take() {
            reader.part(ending.parting(number));
        }
        if !reader.is_greeted() {
            return;
        }
        if let Some(contexts) = self.contexts.take() {
            reader.tell(contexts);
        }
        if let Some(history) = self.history.take() {
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
            () = self.ending.changed() => {}
            () = self.contexts.changed(), if is_greeted => {}
            () = self.history.changed(), if is_greeted => {}
        }
    }
}

/// A value that others set, and whether it was looked at since.
struct Fresh<T> {
    value: watch::Receiver<Option<T>>,
    is_fresh: bool,
}

impl<T: Clone> Fresh<T> {
    fn new(value: watch::Receiver<Option<T>>) -> Self {
        Self {
            value,
            is_fresh: true,
        }
    }

    /// The value, if there is one that was not taken yet.
    fn take(&mut self) -> Option<T> {
        let is_changed = self.value.has_changed().unwrap_or(false);
        let is_fresh = std::mem::take(&mut self.is_fresh);
        (is_changed || is_fresh).then(|| self.value.borrow_and_update().clone())?
    }

    /// Returns when it has changed; never once nobody can change it any more. Cancel safe.
    async fn changed(&mut self) {
        if self.value.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.is_fresh = true;
    }
}

/// Whether a history is to be sent: its trouble has changed, or its bytes and that some time ago.
fn is_news(told: Option<&(Instant, History)>, history: &History) -> bool {
    let Some((at, told)) = told else {
        return true;
    };
    let key = |of: &History| (of.trouble, of.trouble_since, of.lost, of.since.is_some());
    key(told) != key(history) || at.elapsed() >= HISTORY_EVERY
}
