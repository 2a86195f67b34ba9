//! What the person is to reach at a lesson's end by own clicks.

use super::moment::Sought;

/// Something that the person is to reach by own clicks.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// The key of the goal's words. No two goals of a lesson have the same key.
    pub key: &'static str,
    /// What the run has to show.
    pub shows: Aim,
    /// The most breaks that the person may use; at least one.
    pub clicks: u32,
}

/// What a run has to show to reach a goal.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    /// The client program with this name holds at least this many ghosts at once, for over 1 s. A ghost is an object
    /// that the client holds although it is gone from etcd.
    Ghosts(&'static str, u64),
    /// A moment of this kind happens. It does not happen in the run as written.
    Moment(Sought),
}
