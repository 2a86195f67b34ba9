//! A server that has too much to do.

use watchscope_model::vocabulary::Cause;
use watchscope_simulator::{Fault, Throttle};

use super::{Row, Wire, close, correct, delete, informer, reflector};
use crate::story::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f15()]
}

fn f15() -> Row {
    let throttled = Fault::TooManyRequests {
        resource: None,
        throttle: Throttle::PriorityAndFairness,
        retry_after_secs: 2,
    };
    Row::new("F15")
        // It relists, though nothing was lost.
        .client(reflector(20), correct("relisting").asking(6..=40))
        .client(informer(), correct("informer").asking(3..=12))
        .at(5, [Deed::Inject(throttled.clone()), close(), delete("a")])
        .at(15, [Deed::Lift(throttled)])
        .wire([
            Wire::Ended(Cause::End, 1..=1),
            Wire::Status(429, 2..=10),
            Wire::Lists(1..=1),
        ])
}
