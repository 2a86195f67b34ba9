//! The level of the audit: how much it reads without a viewer's request.

/// Most objects of a watch that counts as small at level `light`, if lists may hide a ghost. Each object of a small
/// watch is looked up at least once in 56 s. [`PER_WATCH`] allows this beside two lists a minute and two reads that
/// confirm (docs/audit.md#how-much-is-read). The objects of a larger watch are looked up less often; there, every other
/// lookup is of a suspect, if there is one.
///
/// [`PER_WATCH`]: super::PER_WATCH
pub const SMALL_WATCH: usize = 15;
/// Most objects of a watch that [`Level::Full`] all looks up within two minutes, if lists may hide a ghost. 200
/// objects, of one watch or of six together, fit into a server's [`PER_MINUTE`] beside the lists and second watches
/// (docs/audit.md#how-much-is-read). The objects of a larger watch are looked up as [`Level::Light`] does.
///
/// [`PER_MINUTE`]: super::PER_MINUTE
pub const FULL_WATCH: usize = 200;

/// How much the audit reads by itself, without a viewer's request (docs/audit.md#how-much-is-read). It reads only for
/// watches with an open stream. It reads less often at [`PER_MINUTE`](super::PER_MINUTE), at
/// [`PER_WATCH`](super::PER_WATCH), and while a server is busy or refuses reads. After a difference it reads more
/// often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The audit reads nothing without a viewer's request.
    Off,
    /// Lists each watch every 30 s, and more rarely with each further page. If lists may hide a ghost (1.34 and later,
    /// or an unknown version; docs/semantics/checks.md#reads) it also looks each watch's objects up one by one, at most
    /// 16 a minute. A watch of more than [`MOST_LISTED`](super::MOST_LISTED) objects is not listed as a whole; its
    /// objects are looked up one by one with every server version.
    #[default]
    Light,
    /// Lists each watch every 15 s, or as `Light` while three quarters of the server's budget are spent and lists may
    /// hide a ghost. If lists may hide a ghost, it also looks up each object of a watch of at most [`FULL_WATCH`]
    /// objects within two minutes. The objects of a larger watch are looked up as by `Light`. Once a minute it makes a
    /// second watch of the same objects, if the watch's progress has moved since the last one
    /// (docs/semantics/checks.md#witness).
    Full,
}
