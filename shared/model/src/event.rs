//! The events of the log, one struct per `type` of the JSON form, and the record around them.
//!
//! Kinds and fields are only ever appended: a reader skips a kind it does not know. What does not apply or is not
//! known is absent, never null. Texts of cluster origin are hostile and shown as text only.

use std::sync::Arc;

use crate::field::{Headers, struct_fields};
use crate::id::{
    ConnectionId, EpochId, LogId, Object, Owner, RequestId, ResourceVersion, Seq, StreamId, Text,
    WatchName,
};
use crate::options::ListOptions;
use crate::rewrite::classed_fields;
use crate::row::{Attributed, Row};
use crate::time::Time;
use crate::vocabulary::{
    AuditMethod, AuditOutcome, AuditReason, Author, Authority, Cause, Certainty, ChangeType,
    ClientPhase, ClientProgram, Divergence, ErrorText, FrameLoss, LossPlace, Origin, Phase,
    PhaseReason, Severity, Standing, Verb,
};

/// Most watches that a finding about several names; the others are counted.
pub const MAX_NAMES: usize = 16;

/// Defines a kind of record: a struct for each of its types, and the enum of all. Each text field gives its class.
macro_rules! events {
    ($(#[$all_meta:meta])* enum $all:ident; $($(#[$meta:meta])* $kind:literal $json_type:literal $name:ident { $($(#[$field_meta:meta])* $field:ident $json:literal : $type:ty $(as $class:ident)?,)* })*) => {
        $crate::rewrite::classed_fields! {$(
            $(#[$meta])*
            struct $name { $($(#[$field_meta])* $field $json: $type $(as $class)?,)* }
        )*}

        $(#[$all_meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $all {
            $($(#[$meta])* $name($name),)*
        }

        impl $crate::rewrite::Rewrite for $all {
            fn rewrite(&mut self, with: &mut dyn $crate::rewrite::Rewriter) {
                match self { $(Self::$name(event) => event.rewrite(with),)* }
            }
        }

        $(impl $name {
            /// Its number in the binary form.
            pub const KIND: u64 = $kind;
        }

        impl From<$name> for $all {
            fn from(event: $name) -> Self {
                Self::$name(event)
            }
        })*

        impl $all {
            /// Every kind this build knows: its number in the binary form and its `type` in the JSON form.
            pub const KINDS: &'static [(u64, &'static str)] = &[$(($name::KIND, $json_type)),*];

            /// The event's number in the binary form.
            #[must_use]
            pub fn kind(&self) -> u64 {
                match self { $(Self::$name(_) => $name::KIND,)* }
            }

            /// The event's `type` in the JSON form.
            #[must_use]
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$name(_) => $json_type,)* }
            }

            pub(crate) fn write_fields(&self, writer: &mut $crate::codec::Writer<'_>) {
                match self { $(Self::$name(event) => $crate::field::Fields::write_present(event, writer),)* }
            }

            /// Reads the fields of a kind; `None` if this build does not know the kind.
            pub(crate) fn read_fields(kind: u64, reader: &mut $crate::codec::Reader<'_>) -> Option<Self> {
                Some(match kind {
                    $($name::KIND => Self::$name($crate::field::Fields::read_fields(reader)),)*
                    _ => return None,
                })
            }

            pub(crate) fn entries<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self { $(Self::$name(event) => $crate::field::Fields::entries(event, map),)* }
            }
        }
    };
}
pub(crate) use events;

classed_fields! {
    /// The place of a person's note: what a later one replaces, and by which it is known.
    #[derive(Eq, PartialOrd, Ord)]
    struct NoteKey {
        /// The log.
        log "log": LogId,
        /// The run of its writer.
        epoch "epoch": EpochId,
        /// The place of its record in that run.
        seq "seq": Seq,
    }
}
struct_fields!(NoteKey, Note);

events! {
    /// What happened. One variant per `type` of the JSON form.
    enum Event;

    /// A cluster answered for the first time since it was lost or we started.
    1 "cluster.connected" ClusterConnected {
        /// The cluster's name (of the kubeconfig's context, or the simulated one's).
        cluster "cluster": Text as Cluster,
        /// Base URL of the apiserver.
        server "server": Text as Address,
        /// The server's `gitVersion`.
        version "version": Text as Fixed,
        /// The uid of the namespace `kube-system`, by which one cluster differs from another; absent where it may not be
        /// read.
        uid "uid": Option<Text> as Uid,
    }
    /// A connection to an apiserver is ready for requests.
    2 "connection.opened" ConnectionOpened {
        /// The connection.
        connection "connection": ConnectionId,
        /// Host and port asked for.
        server "server": Text as Address,
        /// Address reached.
        remote "remote": Text as Address,
        /// Protocol agreed on (`http/1.1`, `h2`).
        alpn "alpn": Option<Text> as Fixed,
        /// TLS version and cipher suite.
        tls "tls": Option<Text> as Fixed,
        /// What the server that answers on it says of its version (`gitVersion`); absent where it was not asked, or does
        /// not say. The audit asks.
        version "version": Option<Text> as Fixed,
    }
    /// The server said it takes no new streams on a connection (HTTP/2).
    3 "connection.goaway" ConnectionGoaway {
        /// The connection.
        connection "connection": ConnectionId,
        /// Last HTTP/2 stream the server will serve.
        last_stream "lastStream": u64,
        /// HTTP/2 error code.
        code "code": u64,
    }
    /// A connection is gone.
    4 "connection.closed" ConnectionClosed {
        /// The connection.
        connection "connection": ConnectionId,
        /// Why.
        cause "cause": Cause,
        /// The longest the server took to answer a ping (HTTP/2), in milliseconds; absent where it answered none.
        ping_ms "pingMs": Option<u64>,
    }
    /// Someone wants to watch a resource.
    5 "watch.started" WatchStarted {
        /// The watch.
        watch "watch": WatchName,
        /// API group; empty for core.
        group "group": Text as Group,
        /// API version.
        version "version": Text as Fixed,
        /// Resource, plural.
        resource "resource": Text as Resource,
        /// Namespace; absent for all namespaces and for cluster-scoped resources.
        namespace "namespace": Option<Text> as Namespace,
        /// Label selector.
        label_selector "labelSelector": Option<Text> as LabelSelector,
        /// Field selector.
        field_selector "fieldSelector": Option<Text> as FieldSelector,
        /// The address of the apiserver it is pinned to; absent where any that the cluster's address leads to will do.
        server "server": Option<Text> as Address,
        /// Whether another apiserver serves it through the cluster's (an APIService with `spec.service`), so that its
        /// resourceVersions are only compared for equality; absent if not, or if that was not known yet.
        aggregated "aggregated": Option<bool>,
    }
    /// A watch does something else now.
    6 "watch.phase" WatchPhase {
        /// The watch.
        watch "watch": WatchName,
        /// What it did before; absent for the first phase.
        from "from": Option<Phase>,
        /// What it does now.
        to "to": Phase,
        /// Why.
        reason "reason": PhaseReason,
        /// How long it will wait, in milliseconds.
        delay_ms "delayMs": Option<u64>,
        /// What was tried and what came back, in a sentence, where no request says it: a dial, a handshake, an
        /// exec plugin.
        error "error": Option<String> as Free,
    }
    /// A watch is not wanted any more.
    7 "watch.stopped" WatchStopped {
        /// The watch.
        watch "watch": WatchName,
        /// Why.
        reason "reason": PhaseReason,
    }
    /// A request about a resource went out.
    8 "request.sent" RequestSent {
        /// The watch; side watches are named `…#s`, witness watches `…#w`, the audit's reads `…#a`.
        watch "watch": WatchName,
        /// The request.
        request "request": RequestId,
        /// The connection it went over.
        connection "connection": ConnectionId,
        /// Kubernetes verb: `list`, `watch` or `get`.
        verb "verb": Text as Fixed,
        /// URL path.
        path "path": Text as Path,
        /// Query, as sent.
        query "query": Option<String> as Query,
    }
    /// A request got its response head, or failed before one.
    9 "request.answered" RequestAnswered {
        /// The watch.
        watch "watch": WatchName,
        /// The request.
        request "request": RequestId,
        /// HTTP status; absent if there was no response.
        status "status": Option<u16>,
        /// Headers that matter: audit id, flow schema, priority level, Retry-After, Warning, Content-Type.
        headers "headers": Headers,
        /// What the server asked us to wait, in milliseconds.
        retry_after_ms "retryAfterMs": Option<u64>,
        /// What went wrong, in a sentence; absent on success.
        error "error": Option<String> as Free,
        /// Whose words `error` is, where a server refused; absent if it is not known.
        error_text "errorText": Option<ErrorText>,
    }
    /// A page of a list arrived.
    10 "list.page" ListPage {
        /// The watch.
        watch "watch": WatchName,
        /// The request that brought it.
        request "request": RequestId,
        /// The list's resourceVersion (the same on every page).
        resource_version "resourceVersion": ResourceVersion,
        /// Items on this page.
        items "items": u64,
        /// Items the server says remain; absent if it does not say or none do.
        remaining "remaining": Option<u64>,
        /// The first object of the page that the watch holds at a later version, where that shows that etcd went back.
        object "object": Option<Arc<Object>>,
        /// That object's version on the page.
        listed "listed": Option<ResourceVersion>,
    }
    /// A list is complete and compared with what was held.
    11 "list.complete" ListComplete {
        /// The watch.
        watch "watch": WatchName,
        /// The list's resourceVersion.
        resource_version "resourceVersion": ResourceVersion,
        /// Items in the list.
        items "items": u64,
        /// Items not held before.
        added "added": u64,
        /// Items held at another version before.
        changed "changed": u64,
        /// Objects held before and not in the list.
        removed "removed": u64,
    }
    /// The server accepted a watch request: a stream is open.
    12 "stream.opened" StreamOpened {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// The request that opened it.
        request "request": RequestId,
        /// The resourceVersion it was opened from; absent if unset.
        resource_version "resourceVersion": Option<ResourceVersion>,
        /// Its number on its connection; absent with HTTP/1.1.
        http2_stream "http2Stream": Option<u64>,
    }
    /// A stream is over.
    13 "stream.ended" StreamEnded {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// Why.
        cause "cause": Cause,
        /// Its age in milliseconds, from the sending of the request.
        age_ms "ageMs": u64,
        /// Documents received, bookmarks and errors too.
        events "events": u64,
        /// Bytes of decoded body received.
        bytes "bytes": u64,
        /// The error code of the RST_STREAM that ended it (RFC 9113, section 7).
        reset_code "resetCode": Option<u32>,
        /// The longest time in which watchscope itself did not read it, in milliseconds, if that was noticeable (100 ms).
        unread_ms "unreadMs": Option<u64>,
    }
    /// Diagnosis says why a stream ended; a later one for the same stream replaces it.
    14 "attribution" Attribution {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// An F number, `ours`, `normal` or `unknown`.
        code "code": Text as Fixed,
        /// How sure.
        certainty "certainty": Certainty,
        /// Records it rests on.
        evidence "evidence": Vec<Seq>,
    }
    /// An object came, changed or went, as the watch learned it.
    15 "change" Change {
        /// The watch.
        watch "watch": WatchName,
        /// The stream that brought it; absent for lists.
        stream "stream": Option<StreamId>,
        /// What happened.
        change "change": ChangeType,
        /// Where it was learned.
        origin "origin": Origin,
        /// The object.
        object "object": Arc<Object>,
        /// Its resourceVersion; for a DELETED that is inferred, or came without one, the last one held.
        resource_version "resourceVersion": ResourceVersion,
        /// `metadata.generation`.
        generation "generation": Option<u64>,
        /// The manager of the newest managedFields entry; absent if entries of that second disagree.
        manager "manager": Option<Text> as Free,
        /// The subresource of that entry.
        subresource "subresource": Option<Text> as Fixed,
        /// Bytes of the object as it came; absent for an inferred DELETED.
        bytes "bytes": Option<u64>,
        /// Whether the watch's selectors do not ask for it, as its labels or its name say; absent where they do, or where
        /// that cannot be told.
        stray "stray": Option<bool>,
        /// Its controller: the reference in `metadata.ownerReferences` with `controller: true`.
        owner "owner": Option<Owner>,
    }
    /// A bookmark: nothing up to its resourceVersion is missing.
    16 "bookmark" Bookmark {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// How far the stream has come.
        resource_version "resourceVersion": ResourceVersion,
        /// Whether it ends the initial events (`k8s.io/initial-events-end`).
        initial_events_end "initialEventsEnd": Option<bool>,
    }
    /// The server sent an ERROR event; the stream is over.
    17 "stream.error" StreamError {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// Status code.
        code "code": u64,
        /// Status reason.
        reason "reason": Option<Text> as Free,
        /// Status message; absent where it might quote a Secret.
        message "message": Option<String> as Free,
    }
    /// A stretch in which a watch may have missed events, written when it closes.
    18 "gap" Gap {
        /// The watch.
        watch "watch": WatchName,
        /// Seq of the end that began it: a `stream.ended`, the `request.answered` that refused the stream after a list,
        /// or the `watch.phase` in which that stream could not be reached. The log's writer fills it in.
        since "since": Seq,
        /// Progress when it began; absent if unknown.
        from "from": Option<ResourceVersion>,
        /// Where the watch goes on from.
        to "to": Option<ResourceVersion>,
        /// The cause of the end that began it.
        reason "reason": Cause,
        /// Whether the watch was resumed from progress, so that nothing is lost.
        resumed "resumed": bool,
        /// How many events were lost; 0 if resumed, absent if unknown.
        lost "lost": Option<u64>,
    }
    /// An audit read was compared with what a watch holds.
    19 "audit" Audit {
        /// The watch.
        watch "watch": WatchName,
        /// The resourceVersion at which it was compared.
        resource_version "resourceVersion": Option<ResourceVersion>,
        /// How it was read: the word of an [`AuditMethod`].
        method "method": Text as Fixed,
        /// Objects compared.
        compared "compared": u64,
        /// The result of the comparison: the word of an [`AuditOutcome`].
        outcome "outcome": Text as Fixed,
        /// What this read cannot reveal, or why nothing can be told, in a sentence.
        reason "reason": Option<Text> as Ours,
        /// The object, where one alone was compared and it is told which.
        object "object": Option<Arc<Object>>,
        /// Whose account was read, where that matters; absent: not known.
        authority "authority": Option<Authority>,
        /// Whether all was compared that the watch held at the version; absent: it was not, or that is not known.
        whole "whole": Option<bool>,
        /// What `reason` says, for code: the first of its reasons; absent: it has none, or an older writer did not say.
        why "why": Option<AuditReason>,
    }
    /// What a watch holds and what a read returned differ, or no longer do.
    20 "verdict" Verdict {
        /// The watch.
        watch "watch": WatchName,
        /// The object.
        object "object": Arc<Object>,
        /// How they differ.
        kind "kind": Divergence,
        /// The version held.
        held "held": Option<ResourceVersion>,
        /// The version read.
        listed "listed": Option<ResourceVersion>,
        /// New, confirmed or over.
        state "state": Standing,
        /// How sure.
        certainty "certainty": Certainty,
    }
    /// A failure of the catalogue, recognised.
    21 "finding" Finding {
        /// Its code (`F11`).
        code "code": Text as Fixed,
        /// Other codes that look alike from here.
        candidates "candidates": Vec<Text> as Fixed,
        /// Its name.
        name "name": Text as Ours,
        /// How bad the occurrence is that this record states, judged by what followed as far as that is known.
        severity "severity": Severity,
        /// Raised (again), updated or over.
        state "state": Standing,
        /// How sure.
        certainty "certainty": Certainty,
        /// The watch it concerns, if it is one alone.
        watch "watch": Option<WatchName>,
        /// The server it concerns, or that its connection leads to, or that serves its type.
        server "server": Option<Text> as Address,
        /// Records it rests on; never empty.
        evidence "evidence": Vec<Seq>,
        /// What happened and what became of it, in sentences with the numbers in them: of one occurrence, and for how many
        /// others the record stands.
        summary "summary": String as Ours,
        /// The client program it concerns.
        client "client": Option<Text> as Name,
        /// How often it occurred so far, this time included; absent: as often as it was raised.
        count "count": Option<u64>,
        /// When the occurrence that this record states began; absent: with this record.
        since "since": Option<Time>,
        /// The worst severity of all occurrences so far, this one included; absent: that of this record.
        worst "worst": Option<Severity>,
        /// The connection that the watches share which it concerns.
        connection "connection": Option<ConnectionId>,
        /// The API group of the type that those watches share; empty for core.
        group "group": Option<Text> as Group,
        /// That type's resource, plural.
        resource "resource": Option<Text> as Resource,
        /// How many watches this occurrence concerns; absent where it is about one thing only.
        watches "watches": Option<u64>,
        /// How many of them went on from their progress; absent where no gap belongs to it.
        resumed "resumed": Option<u64>,
        /// How many of them listed again; absent where no gap belongs to it.
        relisted "relisted": Option<u64>,
        /// Those watches, at most [`MAX_NAMES`]: first those that lost events or are blind still, then those that listed
        /// again, then those that resumed; each by name.
        names "names": Vec<WatchName>,
    }
    /// Something was dropped, by us or before us; loss is data.
    22 "loss" Loss {
        /// Where.
        place "where": LossPlace,
        /// How many (records, bodies or documents).
        count "count": u64,
        /// First record concerned.
        from_seq "fromSeq": Option<Seq>,
        /// Last record concerned.
        to_seq "toSeq": Option<Seq>,
        /// The watch concerned.
        watch "watch": Option<WatchName>,
        /// Bytes discarded.
        bytes "bytes": Option<u64>,
        /// Why, in a sentence.
        reason "reason": Option<String> as Free,
        /// What kind of frame it was; absent where no frame was lost, or the kind is not known.
        what "what": Option<FrameLoss>,
    }
    /// The wall clock departed from `at` by more than a second, or watchscope did not run for more than a second.
    23 "clock" Clock {
        /// Wall clock less `at`, in milliseconds.
        off_ms "offMs": i64,
        /// For how long before this record nothing was read, in milliseconds: the machine slept, or watchscope was
        /// stopped or starved. Of what others did meanwhile nothing is said by its time.
        paused_ms "pausedMs": Option<u64>,
    }
    /// A client program of a simulated (or tapped) cluster started.
    24 "client.started" ClientStarted {
        /// The client.
        client "client": Text as Name,
        /// What it is: the word of a [`ClientProgram`], or another.
        program "program": Text as Fixed,
        /// Its version.
        version "version": Option<Text> as Fixed,
    }
    /// A client sent a request.
    25 "client.request" ClientRequest {
        /// The client.
        client "client": Text as Name,
        /// What it asked, as `VERB PATH?QUERY`.
        request "request": String as Request,
    }
    /// What a client does, counts and believes.
    26 "client.report" ClientReport {
        /// The client.
        client "client": Text as Name,
        /// What it does.
        phase "phase": Text as Fixed,
        /// Turns of its loop.
        iterations "iterations": u64,
        /// Events its handler took.
        handled "handled": u64,
        /// What it believes, as JSON.
        belief "belief": Option<String> as Belief,
    }
    /// A sentence by a story's narrator or a person.
    27 "note" Note {
        /// Who wrote it.
        author "author": Author,
        /// The sentence.
        text "text": String as Said,
        /// The watch it is about.
        watch "watch": Option<WatchName>,
        /// Whether a story is over with it: the cluster goes on, and nothing more is done to it.
        over "over": Option<bool>,
        /// The object it is about.
        object "object": Option<Arc<Object>>,
        /// When the time it is about begins, by `at` of any epoch; absent: it is about the time of its record.
        from "from": Option<Time>,
        /// When that time ends; absent: it is one moment.
        to "to": Option<Time>,
        /// The earlier note of a person that it takes the place of.
        replaces "replaces": Option<NoteKey>,
    }
}

impl Event {
    /// The watch the event belongs to, if one.
    #[must_use]
    pub fn watch(&self) -> Option<&WatchName> {
        match self {
            Self::WatchStarted(event) => Some(&event.watch),
            Self::WatchPhase(event) => Some(&event.watch),
            Self::WatchStopped(event) => Some(&event.watch),
            Self::RequestSent(event) => Some(&event.watch),
            Self::RequestAnswered(event) => Some(&event.watch),
            Self::ListPage(event) => Some(&event.watch),
            Self::ListComplete(event) => Some(&event.watch),
            Self::StreamOpened(event) => Some(&event.watch),
            Self::StreamEnded(event) => Some(&event.watch),
            Self::Attribution(event) => Some(&event.watch),
            Self::Change(event) => Some(&event.watch),
            Self::Bookmark(event) => Some(&event.watch),
            Self::StreamError(event) => Some(&event.watch),
            Self::Gap(event) => Some(&event.watch),
            Self::Audit(event) => Some(&event.watch),
            Self::Verdict(event) => Some(&event.watch),
            Self::Finding(event) => event.watch.as_ref(),
            Self::Loss(event) => event.watch.as_ref(),
            Self::Note(event) => event.watch.as_ref(),
            Self::ClusterConnected(_)
            | Self::ConnectionOpened(_)
            | Self::ConnectionGoaway(_)
            | Self::ConnectionClosed(_)
            | Self::Clock(_)
            | Self::ClientStarted(_)
            | Self::ClientRequest(_)
            | Self::ClientReport(_) => None,
        }
    }
}

impl WatchStarted {
    /// A watch of a type's `v1` in all namespaces, without selectors.
    #[must_use]
    pub fn plain(watch: WatchName, group: &str, resource: &str) -> Self {
        Self {
            watch,
            group: group.into(),
            version: "v1".into(),
            resource: resource.into(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            server: None,
            aggregated: None,
        }
    }
}

impl Note {
    /// A sentence about the time of its record, and about nothing more narrow than the cluster.
    #[must_use]
    pub fn new(author: Author, text: String) -> Self {
        Self {
            author,
            text,
            watch: None,
            over: None,
            object: None,
            from: None,
            to: None,
            replaces: None,
        }
    }
}

impl Loss {
    /// All records from one to another, both included.
    #[must_use]
    pub fn of_run(place: LossPlace, first: Seq, last: Seq) -> Self {
        Self {
            place,
            count: last.0 - first.0 + 1,
            from_seq: Some(first),
            to_seq: Some(last),
            watch: None,
            bytes: None,
            reason: None,
            what: None,
        }
    }
}

impl ConnectionClosed {
    /// One whose server was not asked whether it lives.
    #[must_use]
    pub fn unasked(connection: ConnectionId, cause: Cause) -> Self {
        Self {
            connection,
            cause,
            ping_ms: None,
        }
    }
}

impl ClientReport {
    /// What the client does; unknown where its word is none of the list.
    #[must_use]
    pub fn doing(&self) -> ClientPhase {
        ClientPhase::of(&self.phase)
    }
}

impl RequestSent {
    /// What it does.
    #[must_use]
    pub fn verb(&self) -> Verb {
        Verb::of(&self.verb)
    }

    /// What it asks for, if it is a list or a watch.
    #[must_use]
    pub fn options(&self) -> ListOptions<'_> {
        ListOptions::parse(self.query.as_deref().unwrap_or_default())
    }
}

impl RequestAnswered {
    /// Whether what was asked for did not come: no answer, a broken one, or one that is not 200.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.error.is_some() || self.status != Some(200)
    }
}

impl ClientStarted {
    /// Which program it is, if it is a known one.
    #[must_use]
    pub fn program(&self) -> ClientProgram {
        ClientProgram::of(&self.program)
    }
}

/// The outcomes of an audit, and how its read was made.
impl Audit {
    /// How it was read.
    #[must_use]
    pub fn method(&self) -> AuditMethod {
        AuditMethod::of(&self.method)
    }

    /// The result of the comparison.
    #[must_use]
    pub fn outcome(&self) -> AuditOutcome {
        AuditOutcome::of(&self.outcome)
    }

    /// Whether all was compared that the watch held at the read's version.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole == Some(true)
    }

    /// Whether it may show what only the apiserver's cache believes (docs/semantics/checks.md#reads), as far as is
    /// known.
    #[must_use]
    pub fn may_be_a_caches(&self) -> bool {
        self.authority != Some(Authority::Etcd)
    }
}

impl Attribution {
    /// What its code says; `None` for what a later version may say.
    #[must_use]
    pub fn why(&self) -> Option<Attributed> {
        Attributed::of(&self.code)
    }
}

impl Finding {
    /// The row of the catalogue; `None` for one of a later version.
    #[must_use]
    pub fn row(&self) -> Option<Row> {
        Row::of(&self.code)
    }

    /// The worst severity of all its occurrences so far.
    #[must_use]
    pub fn worst_severity(&self) -> Severity {
        self.worst.unwrap_or(self.severity)
    }

    /// What it is about, in words: a watch, a connection, a type at a server, a server, or a client program; `None`: all of
    /// the cluster.
    #[must_use]
    pub fn subject(&self) -> Option<Text> {
        if let Some(watch) = &self.watch {
            return Some(watch.0.clone());
        }
        if let Some(ConnectionId(number)) = self.connection {
            return Some(format!("connection {number}").into());
        }
        if let Some(resource) = &self.resource {
            return Some(self.type_words(resource).into());
        }
        self.server.as_ref().or(self.client.as_ref()).cloned()
    }

    /// `widgets.example.com at 10.0.0.1:6443`.
    fn type_words(&self, resource: &str) -> String {
        let mut words = resource.to_owned();
        let group = self.group.as_ref().filter(|group| !group.is_empty());
        for (joint, part) in [(".", group), (" at ", self.server.as_ref())] {
            if let Some(part) = part {
                words.push_str(joint);
                words.push_str(part);
            }
        }
        words
    }

    /// Whether it is about a watch, alone or by name with others.
    #[must_use]
    pub fn concerns(&self, watch: &WatchName) -> bool {
        self.watch.as_ref() == Some(watch) || self.names.contains(watch)
    }

    /// Whether it concerns more watches than it names.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.watches > Some(self.names.len() as u64)
    }

    /// Code and subject, by which the fold knows it: what is told later under the same key is of the same finding.
    #[must_use]
    pub fn key(&self) -> Text {
        Self::key_of(&self.code, self.subject().as_ref())
    }

    /// The key of a code and a subject: `F11 shop/pods`.
    #[must_use]
    pub fn key_of(code: &str, subject: Option<&Text>) -> Text {
        format!("{code} {}", subject.map_or("", |subject| subject)).into()
    }
}

/// An event with its place and time. Never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Place in the epoch.
    pub seq: Seq,
    /// When the log took it.
    pub at: Time,
    /// What happened.
    pub event: Event,
}
