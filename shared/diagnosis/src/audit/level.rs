//! How much is audited without being asked.

/// Most objects of a small watch where lists may hide a ghost: each is looked up every 56 s, which with two lists a
/// minute and two reads to confirm is what [`PER_WATCH`] allows. Where lists are etcd's it is a page of them ([`PAGE`]).
pub const SMALL_WATCH: usize = 15;
/// Most objects of a watch that [`Level::Full`] reads whole within two minutes: what a server's [`PER_MINUTE`] allow.
pub const FULL_WATCH: usize = 200;

/// How much is audited without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing.
    Off,
    /// Each watch is listed every half minute, and where lists may hide a ghost (1.34 and later) its objects are looked
    /// up one by one, at most 16 a minute: a wrong object of a small watch ([`SMALL_WATCH`]) is confirmed within a
    /// minute.
    #[default]
    Light,
    /// Each watch is listed every quarter of a minute, and where lists may hide a ghost each object of a watch of at most
    /// [`FULL_WATCH`] is looked up within two minutes.
    Full,
}
