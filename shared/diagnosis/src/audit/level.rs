//! How much is audited without a viewer's request.

/// The number of objects up to which a watch is small, where lists may hide a ghost. Each is looked up every 56 s: with
/// two lists a minute and two reads to confirm, [`PER_WATCH`] allows that. Where lists are etcd's a watch is small up
/// to a page of objects ([`PAGE`]).
///
/// [`PER_WATCH`]: super::PER_WATCH
/// [`PAGE`]: super::PAGE
pub const SMALL_WATCH: usize = 15;
/// The number of objects up to which [`Level::Full`] reads a watch whole within two minutes, by a server's
/// [`PER_MINUTE`].
///
/// [`PER_MINUTE`]: super::PER_MINUTE
pub const FULL_WATCH: usize = 200;

/// How much is audited without a viewer's request.
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
