//! The alarms by which etcd asks to be woken.

use super::stream::StreamKey;
use crate::message::ServerId;
use crate::time::Time;

/// A reason for which etcd is woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EtcdAlarm {
    /// A watch stream's send loop is free to send the next response.
    StreamFree(StreamKey),
    /// The next round that catches up unsynced watchers is due.
    Sync,
    /// Victims (watchers whose events found their channel full) try to send again.
    Victims,
    /// A stream's periodic progress notification is due.
    Progress(StreamKey),
    /// The leader was lost three election timeouts ago, at `since`: for one member, or for all members.
    NoLeader {
        member: Option<ServerId>,
        since: Time,
    },
}
