//! Events on their way to the writer.

use std::ops::Range;

use bytes::Bytes;
use watchscope_model::Event;

/// Events to append together, in order, with the bodies that some of them have.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Each event, and the range of its body in `bodies` if it has one.
    pub events: Vec<(Event, Option<Range<usize>>)>,
    /// The redacted bodies, one after another in one allocation.
    pub bodies: Bytes,
}

impl From<Event> for Batch {
    fn from(event: Event) -> Self {
        Self {
            events: vec![(event, None)],
            bodies: Bytes::new(),
        }
    }
}

impl From<Vec<Event>> for Batch {
    fn from(events: Vec<Event>) -> Self {
        Self {
            events: events.into_iter().map(|event| (event, None)).collect(),
            bodies: Bytes::new(),
        }
    }
}
