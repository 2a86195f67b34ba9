//! The moments at which etcd asks to be woken.

use super::stream::StreamKey;
use crate::message::ServerId;
use crate::time::Time;

/// A reason for which etcd is woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EtcdAlarm {
    /// A stream's send loop is free.
    StreamFree(StreamKey),
    /// The next round catches up unsynced watchers.
    Sync,
    /// Victims try to send again.
    Victims,
    /// A stream's periodic progress notification is due.
    Progress(StreamKey),
    /// The leader was lost three election timeouts ago, at `since`: for one member, or for all.
    NoLeader {
        member: Option<ServerId>,
        since: Time,
    },
}
