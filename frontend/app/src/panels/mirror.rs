//! A value of the model that views follow.

use std::sync::{PoisonError, RwLock};

use leptos::prelude::*;

/// A value that the panels show. A view that reads it is drawn again when it changes. It lives as long as the page.
///
/// It replaces a signal of Leptos. Leptos compiles its signals for each type of value, and the page's signals were a
/// tenth of its second part. Here one kind of trigger serves all types.
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
    /// Returns a mirror with a first value, which is never freed.
    pub(super) fn new(value: T) -> Self {
        Self {
            changed: Trigger::new(),
            value: Box::leak(Box::new(RwLock::new(value))),
        }
    }

    /// Reads the value, and makes the view around follow it.
    pub(super) fn with<R>(self, read: impl FnOnce(&T) -> R) -> R {
        self.changed.track();
        self.with_untracked(read)
    }

    /// Reads the value without following it.
    pub(super) fn with_untracked<R>(self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.value.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes the value, and has the views that follow it drawn again.
    pub(super) fn set(self, value: T) {
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = value;
        self.changed.notify();
    }
}

impl<T: Clone> Mirror<T> {
    /// Returns a copy, and makes the view around follow the value.
    pub(super) fn get(self) -> T {
        self.with(T::clone)
    }

    /// Returns a copy without following the value.
    pub(super) fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }
}
