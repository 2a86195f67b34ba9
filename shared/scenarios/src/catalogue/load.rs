//! A row of the failure catalogue about an overloaded server.

use watchscope_model::Row::F15;
use watchscope_model::vocabulary::Cause;
use watchscope_simulator::{ClientPhase, Fault, KubeWatcher, Program, Throttle};

use super::{Asked, Row, Wire, close, correct, delete, informer_of, naive, reflector};
use crate::script::Deed;

pub(super) fn rows() -> Vec<Row> {
    vec![f15()]
}

fn f15() -> Row {
    let throttled = Fault::TooManyRequests {
        resource: None,
        throttle: Throttle::PriorityAndFairness,
        retry_after_secs: 2,
    };
    Row::new(F15)
        .client(
            Program::KubeWatcher(KubeWatcher {
                backoff: false,
                ..KubeWatcher::default()
            }),
            // It asks again as fast as it is refused.
            naive("tight-loop", ClientPhase::Watching, 0).asking(1000..=usize::MAX),
        )
        .client(
            reflector(20),
            // It lists again, though nothing was lost.
            naive("relisting", ClientPhase::Watching, 0).showing([Asked::Lists(2..=20)]),
        )
        .client(
            informer_of(34),
            correct("informer")
                .asking(3..=12)
                .showing([Asked::Lists(1..=1)]),
        )
        .at(5, [Deed::Inject(throttled.clone()), close(), delete("a")])
        .at(15, [Deed::Lift(throttled)])
        .wire([
            Wire::Ended(Cause::End, 1..=1),
            Wire::Status(429, 2..=10),
            Wire::Lists(1..=1),
        ])
}
