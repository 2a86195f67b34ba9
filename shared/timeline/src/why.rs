//! Why something is as it is: one chain of records, from the write to where it stopped, and the lesson that teaches it.

mod gather;
mod lesson;
mod step;

pub use self::gather::{verdict_of, why};
pub use self::lesson::{Taught, taught};
pub(crate) use self::step::What;
pub use self::step::{MOST_STEPS, Step, Why};
