//! Words for the cluster and the connections to it.

use watchscope_model::event::{
    ClusterConnected, ConnectionClosed, ConnectionGoaway, ConnectionOpened,
};

use crate::phrases::{cause_words, protocol};

pub(super) fn cluster_connected(event: &ClusterConnected) -> String {
    format!(
        "Cluster {} answered at {}; it runs {}.",
        event.cluster, event.server, event.version
    )
}

pub(super) fn connection_opened(event: &ConnectionOpened) -> String {
    let with = event
        .alpn
        .as_deref()
        .map_or(String::new(), |alpn| format!(" with {}", protocol(alpn)));
    let runs = event.version.as_ref().map_or(String::new(), |version| {
        format!("; the server runs {version}")
    });
    format!(
        "Connection {} to {} opened{with}{runs}.",
        event.connection, event.remote
    )
}

pub(super) fn connection_goaway(event: &ConnectionGoaway) -> String {
    format!(
        "The server takes no new streams on connection {} (GOAWAY, code {}).",
        event.connection, event.code
    )
}

pub(super) fn connection_closed(event: &ConnectionClosed) -> String {
    format!(
        "Connection {} is gone: {}.",
        event.connection,
        cause_words(event.cause)
    )
}
