//! The messages that a viewer gets beside the log: contexts to choose from, the state of the history, goodbyes.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use watchscope_log::Reader;
use watchscope_model::wire::{Contexts, History};

use super::ending::Ending;
use crate::history::HistoryState;

/// The shortest time between two messages about a history if only its bytes have changed.
const HISTORY_EVERY: Duration = Duration::from_secs(10);

/// The messages of one viewer beside the log.
pub(super) struct News {
    contexts: Fresh<Contexts>,
    history: Fresh<HistoryState>,
    ending: Fresh<Ending>,
    /// The state of the history that was sent last, and when.
    sent: Option<(Instant, History)>,
}

impl News {
    /// The news of a viewer that has just connected. It also gets the values that were set before.
    pub(super) fn new(
        contexts: watch::Receiver<Option<Contexts>>,
        history: watch::Receiver<Option<HistoryState>>,
        ending: watch::Receiver<Option<Ending>>,
    ) -> Self {
        Self {
            contexts: Fresh::new(contexts),
            history: Fresh::new(history),
            ending: Fresh::new(ending),
            sent: None,
        }
    }

    /// Passes changed values on to the viewer with this number. All but goodbyes wait until the welcome was sent.
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
            if is_news(self.sent.as_ref(), &history) {
                reader.tell(history.clone());
                self.sent = Some((Instant::now(), history));
            }
        }
    }

    /// Waits until a value has changed, which [`News::pass_on`] then takes. Cancel safe.
    pub(super) async fn came(&mut self, is_greeted: bool) {
        tokio::select! {
            () = self.ending.changed() => {}
            () = self.contexts.changed(), if is_greeted => {}
            () = self.history.changed(), if is_greeted => {}
        }
    }
}

/// A value that others set, and whether it was taken since the last change.
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

    /// Returns the value if it is set and was not taken yet.
    fn take(&mut self) -> Option<T> {
        let is_changed = self.value.has_changed().unwrap_or(false);
        let is_fresh = std::mem::take(&mut self.is_fresh);
        (is_changed || is_fresh).then(|| self.value.borrow_and_update().clone())?
    }

    /// Waits for a change; it never returns once nobody can set the value any more. Cancel safe.
    async fn changed(&mut self) {
        if self.value.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.is_fresh = true;
    }
}

/// Whether the state of a history is worth a message: its trouble changed, or [`HISTORY_EVERY`] has passed since the last.
fn is_news(sent: Option<&(Instant, History)>, history: &History) -> bool {
    let Some((at, sent)) = sent else {
        return true;
    };
    let key = |of: &History| (of.trouble, of.trouble_since, of.lost, of.since.is_some());
    key(sent) != key(history) || at.elapsed() >= HISTORY_EVERY
}
