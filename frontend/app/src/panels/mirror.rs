//! What panels read of the model: a value that views follow.

use std::sync::{PoisonError, RwLock};

use leptos::prelude::*;

/// A value that the panels show. A view that reads it follows it. It lives as long as the page.
///
/// It stands in for a signal: Leptos compiles its own for each type of value, and those of the page were a tenth of its
/// second part. Here one kind of trigger serves all types.
#[derive(Debug)]
pub(super) struct Mirror<T: 'static> {
    changed: Trigger,
    value: &'static RwLock<T>,
}

impl<T> Clone for Mirror<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Mirror<T> {}

impl<T> Mirror<T> {
    /// A value of the page, which is never freed.
    pub(super) fn new(value: T) -> Self {
        Self {
            changed: Trigger::new(),
            value: Box::leak(Box::new(RwLock::new(value))),
        }
    }

    /// Reads it; the view around follows it.
    pub(super) fn with<R>(self, read: impl FnOnce(&T) -> R) -> R {
        self.changed.track();
        self.with_untracked(read)
    }

    /// Reads it once.
    pub(super) fn with_untracked<R>(self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.value.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes it, and has the views that follow it drawn anew.
    pub(super) fn set(self, value: T) {
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = value;
        self.changed.notify();
    }
}

impl<T: Clone> Mirror<T> {
    /// A copy of it; the view around follows it.
    pub(super) fn get(self) -> T {
        self.with(T::clone)
    }

    /// A copy of it as it is now.
    pub(super) fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }
}
