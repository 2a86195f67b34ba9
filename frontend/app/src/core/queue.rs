//! The queue of the page's messages. It handles one message at a time, completely, and loses none.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The most waiting messages; one more panics. Only messages that come from another message's effects wait. Messages of
/// the browser come as tasks of their own, when the queue is empty.
pub const MOST_WAITING: usize = 64;

/// Messages in the order in which they are sent. It holds at most [`MOST_WAITING`]; then [`send`](Self::send) panics.
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
    /// Handles a message, and then each message that is sent meanwhile. While another message is handled, this one
    /// waits for its turn and `send` returns at once.
    ///
    /// # Panics
    /// If more than [`MOST_WAITING`] messages wait: the messages' effects then send new messages faster than they are
    /// handled.
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

    /// Takes the next message. Nothing is borrowed while it is handled.
    fn take(&self) -> Option<M> {
        self.waiting.borrow_mut().pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles a message. Each one below 10 sends two more meanwhile.
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
    fn messages_sent_while_one_is_handled_follow_it_in_order_and_once() {
        let queue = Queue::default();
        let handled = RefCell::new(Vec::new());
        for message in [1, 2] {
            queue.send(message, |message| handle(&queue, &handled, message));
        }
        assert_eq!(*handled.borrow(), [1, 10, 11, 2, 20, 21]);
    }

    #[test]
    #[should_panic(expected = "messages call back more messages")]
    fn messages_that_call_back_without_end_panic() {
        let queue = Queue::default();
        queue.send(0, |_| {
            for message in 0..=MOST_WAITING {
                queue.send(message, |_| {});
            }
        });
    }
}
