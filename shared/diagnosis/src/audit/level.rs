//! The level of the audit without a viewer's request.

/// Most objects of a small watch, if lists may hide a ghost. Each is looked up every 56 s, and [`PER_WATCH`] allows
/// that beside two lists a minute and two reads to confirm. A larger watch is slower. If lists come from etcd, a watch
/// is small up to a page of objects ([`PAGE`]).
///
/// [`PER_WATCH`]: super::PER_WATCH
/// [`PAGE`]: super::PAGE
pub const SMALL_WATCH: usize = 15;
/// Most objects of a watch that [`Level::Full`] reads whole within two minutes, with a server's [`PER_MINUTE`]. A
/// larger one is sampled.
///
/// [`PER_MINUTE`]: super::PER_MINUTE
pub const FULL_WATCH: usize = 200;

/// How much the audit reads by itself, without a viewer's request (docs/audit.md#how-much-is-read). It reads less often
/// where [`PER_MINUTE`](super::PER_MINUTE) or [`PER_WATCH`](super::PER_WATCH) is reached, and only watches that stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// No read without a request.
    Off,
    /// Lists each watch every 30 s, and more rarely with each further page. If lists may hide a ghost (1.34 and later,
    /// or an unknown version; docs/semantics/checks.md#reads) it also looks its objects up one by one, at most 16 a
    /// minute. So a wrong object of a small watch ([`SMALL_WATCH`]) is confirmed within a minute. A watch of more than
    /// [`MOST_LISTED`](super::MOST_LISTED) objects is not listed as a whole, but looked up so in every version.
    #[default]
    Light,
    /// Lists each watch every 15 s, or as `Light` while three quarters of the server's budget are spent and lists may
    /// hide a ghost. If they may, it also looks up each object of a watch of at most [`FULL_WATCH`] objects within two
    /// minutes. Those of a larger watch it looks up as `Light` does. Once a minute it makes a second watch of the same
    /// objects, if the watch has moved since the last one (docs/semantics/checks.md#witness).
    Full,
}
