//! The families of metrics: name, type, labels and help text. docs/metrics.md has one row for each, which a test checks.
//!
//! Tests and dashboards may rely on these names, so they are only ever added. The first six are those of the security
//! reference, section C.

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only rises, until watchscope restarts.
    Counter,
    /// It is the present value.
    Gauge,
    /// A histogram of durations.
    Histogram,
    /// It is always 1, and its labels are the information.
    Info,
}

impl Kind {
    /// The word of docs/metrics.md and of the older text form.
    #[cfg(test)]
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge | Self::Info => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A family of series.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// The name of its series; for a histogram without `_bucket`, `_sum` and `_count`.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The names of its labels. [`super`] states which values they can have.
    pub(crate) labels: &'static [&'static str],
    /// One or two sentences without line feeds, backslashes and quotes, so that no form has to escape anything.
    pub(crate) help: &'static str,
}

impl Family {
    /// The name in OpenMetrics, which leaves out `_total` of a counter and `_info` of an info.
    pub(super) fn open_metrics_name(&self) -> &'static str {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.name.strip_suffix(suffix).unwrap_or(self.name)
    }
}

/// Returns the family that has this name in OpenMetrics.
pub(super) fn of_open_metrics_name(name: &str) -> Option<&'static Family> {
    FAMILIES
        .iter()
        .copied()
        .find(|family| family.open_metrics_name() == name)
}

macro_rules! families {
    ($($id:ident $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub(crate) static $id: Family = Family {
            name: $name,
            kind: Kind::$kind,
            labels: &[$($label),*],
            help: $help,
        };)*

        /// All families, in the order of docs/metrics.md.
        pub(crate) static FAMILIES: &[&Family] = &[$(&$id),*];
    };
}

families! {
    // What watches receive.
    WATCH_EVENTS Counter "watchscope_watch_events_total" ["cluster", "group", "resource"]
        "Documents received on watch streams that carried news: ADDED, MODIFIED, DELETED, BOOKMARK and ERROR. Of a relist's initial events only those count that differed from what the watch held.";
    RELISTS Counter "watchscope_relist_total" ["cluster", "group", "resource"]
        "Lists that a watch had to do again after its first.";
    LISTS Counter "watchscope_lists_total" ["cluster", "group", "resource"]
        "Lists completed, first ones and relists, whole or as initial events of a stream.";
    LIST_ITEMS Counter "watchscope_list_items_total" ["cluster", "group", "resource"]
        "Objects read by lists.";
    LIST_SECONDS Histogram "watchscope_list_duration_seconds" ["cluster", "group", "resource"]
        "Time from the start of a list, all its pages and retries included, to its end.";
    CHANGES Counter "watchscope_changes_total" ["cluster", "group", "resource", "type"]
        "Changes of objects as the watch learned them, by lists and streams: ADDED, MODIFIED, DELETED.";
    INFERRED_DELETES Counter "watchscope_inferred_deletes_total" ["cluster", "group", "resource"]
        "Objects found gone by a relist: their DELETED event was never received.";
    OBJECT_BYTES Counter "watchscope_object_bytes_total" ["cluster", "group", "resource"]
        "Bytes of the objects in changes, from lists and streams, before anything of them was left out. Objects that a relist found unchanged do not count.";
    BOOKMARKS Counter "watchscope_bookmarks_total" ["cluster", "group", "resource"]
        "BOOKMARK events received.";
    WATCH_ERRORS Counter "watchscope_watch_errors_total" ["cluster", "group", "resource", "code"]
        "ERROR events received on watch streams, by the code of their Status; 410 means the history was gone.";
    // How streams end, and what is missed.
    STREAMS Counter "watchscope_streams_total" ["cluster", "group", "resource"]
        "Watch streams opened.";
    STREAM_ENDS Counter "watchscope_stream_ends_total" ["cluster", "group", "resource", "cause"]
        "Watch streams ended, by what was seen on the wire.";
    STREAM_ATTRIBUTIONS Counter "watchscope_stream_attributions_total" ["cluster", "group", "resource", "code"]
        "Watch streams ended, by attribution: normal, ours, unknown, or a row of the failure catalogue. Counted a few seconds after the end.";
    SHORT_STREAMS Counter "watchscope_short_streams_total" ["cluster", "group", "resource"]
        "Watch streams that ended within a second without a single event.";
    STREAM_SECONDS Histogram "watchscope_stream_duration_seconds" ["cluster", "group", "resource"]
        "How long watch streams lived, from the sending of their request.";
    GAPS Counter "watchscope_gaps_total" ["cluster", "group", "resource", "outcome"]
        "Stretches without a stream, closed: resumed (nothing is lost), relisted (a list found the changes, and their events were not received), unknown (what changed is not known).";
    LOST_EVENTS Counter "watchscope_lost_events_total" ["cluster", "group", "resource"]
        "Fewest events lost in gaps: one for each object that the relist after the gap found added, changed or gone. If that is not known, the gap counts with outcome unknown instead.";
    // How watches stand now.
    WATCHES Gauge "watchscope_watches" ["cluster", "group", "resource", "phase"]
        "Watches, by their present phase.";
    OBJECTS Gauge "watchscope_objects" ["cluster", "group", "resource"]
        "Objects that watches hold.";
    SILENCE Gauge "watchscope_watch_silence_seconds" ["cluster", "group", "resource"]
        "Time since anything proved a watch with an open stream up to date: an event, a BOOKMARK, a list. Of several watches, the longest; absent if none has a stream.";
    OPEN_GAP Gauge "watchscope_watch_gap_seconds" ["cluster", "group", "resource"]
        "How long a watch has been without the stream it should have, since the last one ended or was refused; else 0. Of several watches, the longest.";
    LAST_VERSION Gauge "watchscope_watch_last_resource_version" ["cluster", "group", "resource"]
        "The resourceVersion from which a watch would resume. Of several watches, the lowest; absent if it is no number.";
    // What diagnosis and audit find.
    FINDINGS Gauge "watchscope_findings" ["cluster", "group", "resource", "code", "severity"]
        "Findings that stand now, by row of the failure catalogue and the worst severity each has had; one cause of several watches counts once. The resource is empty if the finding is about a connection, a server, the cluster or a client.";
    FINDINGS_RAISED Counter "watchscope_findings_raised_total" ["cluster", "code", "severity"]
        "Findings raised, repeats of a standing one not counted.";
    DIVERGENT Gauge "watchscope_divergent_objects" ["cluster", "group", "resource", "kind"]
        "Objects of a watch that differ from etcd, confirmed by a second read: ghost, missing, stale, list-older.";
    AUDITS Counter "watchscope_audits_total" ["cluster", "group", "resource", "outcome"]
        "Comparisons of a watch with etcd: agrees, differs, cannot-tell.";
    AUDITED Counter "watchscope_audited_objects_total" ["cluster", "group", "resource"]
        "Objects that the audit compared with its own read of them.";
    // The connections to the cluster.
    REQUESTS Counter "watchscope_requests_total" ["cluster", "verb", "code", "purpose"]
        "Requests to apiservers answered, by HTTP status (none: there was no answer) and by purpose: a watch, a side watch, a witness, or the audit.";
    REQUEST_SECONDS Histogram "watchscope_request_duration_seconds" ["cluster", "verb"]
        "Time from the sending of a request to the head of its answer.";
    CONNECTIONS Gauge "watchscope_connections" ["cluster"]
        "Connections to apiservers that are open.";
    CONNECTIONS_OPENED Counter "watchscope_connections_opened_total" ["cluster"]
        "Connections to apiservers opened.";
    CONNECTIONS_CLOSED Counter "watchscope_connections_closed_total" ["cluster", "cause"]
        "Connections to apiservers closed, by cause.";
    GOAWAYS Counter "watchscope_goaways_total" ["cluster"]
        "HTTP/2 GOAWAY frames received from apiservers.";
    CLUSTER_UP Gauge "watchscope_cluster_connected" ["cluster"]
        "1 while a connection to an apiserver of the cluster is open, else 0.";
    CLOCK_OFF Gauge "watchscope_clock_off_seconds" ["cluster"]
        "How far this host's wall clock departed from the log's clock since watchscope started; updated when it changes by over a second.";
    PAUSES Counter "watchscope_pauses_total" ["cluster"]
        "Stretches of more than a second in which watchscope did not run: its machine slept, or had no time for it.";
    // The log.
    LOG_RECORDS Counter "watchscope_log_records_total" ["cluster"]
        "Records written to the log. All numbers of a cluster in one scrape belong to the moment after the last of these records.";
    LOG_DROPPED Counter "watchscope_log_records_dropped_total" ["cluster"]
        "Records the ring has dropped to stay within its budget; pages can load them only from a history.";
    LOSSES Counter "watchscope_losses_total" ["cluster", "where"]
        "What was lost by watchscope or on the way to it: bodies dropped from memory, frames that could not become an event, records the log could not take, records that left memory before the history could write them.";
    RING_BYTES Gauge "watchscope_ring_bytes" ["cluster"]
        "Bytes the ring of records holds.";
    RING_CAPACITY Gauge "watchscope_ring_capacity_bytes" ["cluster"]
        "Bytes the ring of records may hold.";
    BODY_BYTES Gauge "watchscope_body_bytes" ["cluster"]
        "Bytes that bodies of objects take in memory.";
    BODY_CAPACITY Gauge "watchscope_body_capacity_bytes" ["cluster"]
        "Bytes that bodies of objects may take in memory.";
    QUEUED Gauge "watchscope_log_queued_batches" ["cluster"]
        "Batches of events that wait for the log's writer, of at most 64. While it is full, watches wait.";
    // The history, if there is one.
    HISTORY_BYTES Gauge "watchscope_history_bytes" ["cluster"]
        "Bytes of the history's files.";
    HISTORY_CAPACITY Gauge "watchscope_history_capacity_bytes" ["cluster"]
        "Bytes that the history's files may have.";
    HISTORY_OLDEST Gauge "watchscope_history_oldest_timestamp_seconds" ["cluster"]
        "Time of the oldest record in the history's files, in seconds since 1970; absent while there is none.";
    HISTORY_BEHIND Gauge "watchscope_history_behind_seconds" ["cluster"]
        "How long the oldest record that is in no file has waited for the disk; 0 if none waits.";
    HISTORY_FAILING Gauge "watchscope_history_failing" ["cluster"]
        "1 while the history's disk is full, failing or gone, else 0.";
    // Viewers.
    VIEWERS Gauge "watchscope_viewers" []
        "Viewers connected: pages with a socket.";
    VIEWER_QUEUE Gauge "watchscope_viewer_queue_bytes" []
        "Bytes sent to viewers and not acknowledged, of all viewers together; at most 1 MiB each.";
    VIEWER_BYTES Counter "watchscope_viewer_sent_bytes_total" []
        "Bytes of messages sent to viewers.";
    GAP_FRAMES Counter "watchscope_gap_frames_total" []
        "Times a viewer was too slow and was moved to the head of the log.";
    COALESCED Counter "watchscope_coalesced_total" []
        "Records that slow viewers skipped when they were moved to the head: they got them in a snapshot, not one by one.";
    INGEST_TO_SEND Histogram "watchscope_ingest_to_send_seconds" []
        "Time from the writing of a segment's first record to its hand-over to a viewer's socket.";
    // The listener of the page.
    WEB_CONNECTIONS Counter "watchscope_web_connections_total" []
        "Connections accepted by the page's listener.";
    WEB_ADMITTED Gauge "watchscope_web_admitted_connections" []
        "Connections with a session.";
    WEB_EVICTED Counter "watchscope_web_evicted_total" []
        "Connections without a session closed to make room for others.";
    WEB_REFUSED Counter "watchscope_web_refused_total" ["reason"]
        "Requests refused, by reason.";
    BUILD_INFO Info "watchscope_build_info" ["version"]
        "Always 1; the version of watchscope.";
}
