//! The moments at which etcd wants to be woken.

use super::stream::StreamKey;
use crate::message::ServerId;
use crate::time::Time;

/// Something etcd wants to be woken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EtcdAlarm {
    /// A stream's send loop is free.
    StreamFree(StreamKey),
    /// Unsynced watchers are to be caught up.
    Sync,
    /// Victims are to be tried again.
    Victims,
    /// A stream's periodic progress is due.
    Progress(StreamKey),
    /// Three election timeouts without a leader, for one member or all, since a moment.
    NoLeader {
        member: Option<ServerId>,
        since: Time,
    },
}
