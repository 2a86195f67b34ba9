//! Watches of the same objects by several apiservers, compared with each other.
//!
//! One server may be behind the others (F31). A server may fail to deliver an event: a watch at another server is the
//! best witness of that, and needs no read of etcd (docs/semantics/checks.md#witness). The watch over the configured
//! address is compared with these watches, too. An event that it delivers late, although every server has delivered the
//! event directly, is held up on its way (F44).
//!
//! Versions of one etcd can be compared (docs/semantics/checks.md#servers). It is normal that servers are at different
//! versions, and that an event comes late now and then. It is not normal that one event in twenty comes seconds later,
//! or that a server delivers later events but not an earlier one.

mod behind;
mod events;
mod groups;
mod lag;
mod lost;

pub(super) use self::groups::Servers;
