//! The queue of the page's messages: it handles one at a time, whole, and loses none.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The most messages that may wait. Only what one message's effects send can wait: whatever the browser sends comes as a
/// task of its own, after the queue is empty again.
pub const MOST_WAITING: usize = 64;

/// Messages in the order in which they were sent.
#[derive(Debug)]
pub struct Queue<M> {
    waiting: RefCell<VecDeque<M>>,
    is_handling: Cell<bool>,
}

impl<M> Default for Queue<M> {
    fn default() -> Self {
        Self {
            waiting: RefCell::new(VecDeque::new()),
            is_handling: Cell::new(false),
        }
    }
}

impl<M> Queue<M> {
    /// Handles a message, and then each that is sent meanwhile. While another one is being handled, the message waits for
    /// its turn, and `send` returns at once.
    ///
    /// # Panics
    /// If more than [`MOST_WAITING`] messages wait: their effects then send more messages than they answer.
    pub fn send(&self, message: M, mut handle: impl FnMut(M)) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.push_back(message);
        assert!(
            waiting.len() <= MOST_WAITING,
            "messages call back more messages"
        );
        drop(waiting);
        if self.is_handling.replace(true) {
            return;
        }
        while let Some(next) = self.take() {
            handle(next);
        }
        self.is_handling.set(false);
    }

    /// The message whose turn it is. Nothing is borrowed while it is handled.
    fn take(&self) -> Option<M> {
        self.waiting.borrow_mut().pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each message below 10 sends two more while it is handled.
    fn handle(queue: &Queue<u32>, handled: &RefCell<Vec<u32>>, message: u32) {
        let before = handled.borrow().len();
        if message < 10 {
            for more in [message * 10, message * 10 + 1] {
                queue.send(more, |message| handle(queue, handled, message));
            }
        }
        assert_eq!(
            handled.borrow().len(),
            before,
            "a message was handled within another"
        );
        handled.borrow_mut().push(message);
    }

    #[test]
    fn what_is_sent_while_a_message_is_handled_comes_after_it_in_order_and_once() {
        let queue = Queue::default();
        let handled = RefCell::new(Vec::new());
        for message in [1, 2] {
            queue.send(message, |message| handle(&queue, &handled, message));
        }
        assert_eq!(*handled.borrow(), [1, 10, 11, 2, 20, 21]);
    }

    #[test]
    #[should_panic(expected = "messages call back more messages")]
    fn messages_that_call_back_without_end_are_found_out() {
        let queue = Queue::default();
        queue.send(0, |_| {
            for message in 0..=MOST_WAITING {
                queue.send(message, |_| {});
            }
        });
    }
}
