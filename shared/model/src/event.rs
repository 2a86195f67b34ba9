//! The events of the log, one struct per `type` of the JSON form, and the record around them. The events of the inside
//! of a simulated cluster are in [`crate::inside`].
//!
//! Kinds and fields are only appended: a reader skips a kind that it does not know. A value that does not apply or is
//! unknown is absent, never null. Texts from a cluster are hostile; they are shown as text only.
//!
//! If watchscope's writers bound a text or a list, the doc of its field states the bound. Nothing here checks such a
//! bound, so a file may exceed it; only the size of its frame bounds a record.

use std::sync::Arc;

use crate::field::{Headers, struct_fields};
use crate::id::{
    ConnectionId, EpochId, LogId, Object, Owner, RequestId, ResourceVersion, Seq, StreamId, Text,
    WatchName,
};
use crate::kinds::events;
use crate::rewrite::classed_fields;
use crate::time::Time;
use crate::vocabulary::{
    AuditReason, Author, Authority, Cause, Certainty, ChangeType, Divergence, ErrorText, FrameLoss,
    LossPlace, Origin, Phase, PhaseReason, Severity, Standing,
};

/// The most watches that a finding names, so that its record stays small. Of more watches, the first in the order of
/// [`Finding::names`] are named, and the field `watches` counts all. The number has no source.
pub const MAX_NAMES: usize = 16;

classed_fields! {
    /// The key of a person's note: log, epoch and seq of its record. A later note names the key to replace this note.
    /// Keys sort by log, then epoch, then seq.
    #[derive(Eq, PartialOrd, Ord)]
    struct NoteKey {
        /// The log.
        log "log": LogId,
        /// The run of the log's writer.
        epoch "epoch": EpochId,
        /// The seq of the note's record in that epoch.
        seq "seq": Seq,
    }
}
struct_fields!(NoteKey, Note);

events! {
    /// An event of the log that a client could have observed. It has one variant per `type` of the JSON form, except
    /// the types of [`Inside`](crate::Inside).
    enum Event;

    /// A cluster answered: for the first time since watchscope chose it, or with another version or uid than before.
    1 "cluster.connected" ClusterConnected {
        /// The cluster's name: that of the kubeconfig's context, `in-cluster`, or the host of a bare URL. A simulated
        /// cluster has a name of its own.
        cluster "cluster": Text as Cluster,
        /// Base URL of the apiserver, such as `https://10.0.0.1:6443`.
        server "server": Text as Address,
        /// The server's `gitVersion`, such as `v1.34.1`; empty if it returned none.
        version "version": Text as Fixed,
        /// The uid of the namespace `kube-system`, which identifies the cluster; absent until watchscope could read it.
        uid "uid": Option<Text> as Uid,
    }
    /// A connection to an apiserver is ready for requests.
    2 "connection.opened" ConnectionOpened {
        /// The connection.
        connection "connection": ConnectionId,
        /// The host and port in the configuration, as `HOST:PORT`.
        server "server": Text as Address,
        /// The IP address and port that the connection reached, as `ADDRESS:PORT`.
        remote "remote": Text as Address,
        /// The protocol negotiated by ALPN (`http/1.1`, `h2`); absent if none was negotiated.
        alpn "alpn": Option<Text> as Fixed,
        /// TLS version and cipher suite, with a space between them; absent without TLS.
        tls "tls": Option<Text> as Fixed,
        /// The `gitVersion` that the server on this connection returned; absent if watchscope did not request it, or
        /// the server returned none. Only the audit requests this version.
        version "version": Option<Text> as Fixed,
    }
    /// The server announced that it takes no new streams on a connection (HTTP/2 GOAWAY;
    /// docs/semantics/servers.md#goaway-chance).
    3 "connection.goaway" ConnectionGoaway {
        /// The connection.
        connection "connection": ConnectionId,
        /// The number of the last HTTP/2 stream that the server may have processed (RFC 9113, section 6.8).
        last_stream "lastStream": u64,
        /// The HTTP/2 error code (RFC 9113, section 7); 0 is no error.
        code "code": u64,
    }
    /// A connection closed.
    4 "connection.closed" ConnectionClosed {
        /// The connection.
        connection "connection": ConnectionId,
        /// Why the connection closed.
        cause "cause": Cause,
        /// The longest time the server took to answer a ping (HTTP/2), in milliseconds; absent if it answered none or
        /// was sent none.
        ping_ms "pingMs": Option<u64>,
    }
    /// A watch of a resource was requested, or begins anew because etcd was restored to an earlier state (F33).
    5 "watch.started" WatchStarted {
        /// The watch.
        watch "watch": WatchName,
        /// API group; empty for core.
        group "group": Text as Group,
        /// API version, such as `v1`; empty if discovery has not found the resource.
        version "version": Text as Fixed,
        /// The resource, plural, such as `pods`.
        resource "resource": Text as Resource,
        /// The namespace; absent for all namespaces and for cluster-scoped resources.
        namespace "namespace": Option<Text> as Namespace,
        /// Label selector, unescaped; absent if there is none.
        label_selector "labelSelector": Option<Text> as LabelSelector,
        /// Field selector, unescaped; absent if there is none.
        field_selector "fieldSelector": Option<Text> as FieldSelector,
        /// The address of the apiserver that the watch is pinned to, as `HOST:PORT`; absent if any server behind the
        /// cluster's address will do.
        server "server": Option<Text> as Address,
        /// Whether an aggregated apiserver behind the cluster's own serves the resource (an APIService with
        /// `spec.service`). resourceVersions of such a resource are only compared for equality
        /// (docs/semantics/checks.md#trap-aggregated). Absent if the cluster's own apiserver serves it, or if
        /// watchscope did not know yet which one does.
        aggregated "aggregated": Option<bool>,
    }
    /// A watch changed its phase, or began another wait or was refused again without a change of phase.
    6 "watch.phase" WatchPhase {
        /// The watch.
        watch "watch": WatchName,
        /// The phase before; absent in the first record after the watch started.
        from "from": Option<Phase>,
        /// The phase now; the same as `from` if the watch waits or is refused once more.
        to "to": Phase,
        /// Why the watch went into the phase `to`.
        reason "reason": PhaseReason,
        /// The time that the watch will wait, in milliseconds; absent if it does not wait.
        delay_ms "delayMs": Option<u64>,
        /// What watchscope tried and which error it got, in a sentence. Present only for an error that no request's
        /// record shows: of a dial, a handshake, or the loading of credentials.
        error "error": Option<String> as Free,
    }
    /// A watch was stopped.
    7 "watch.stopped" WatchStopped {
        /// The watch.
        watch "watch": WatchName,
        /// Why the watch was stopped.
        reason "reason": PhaseReason,
    }
    /// A request about a resource was sent by watchscope.
    8 "request.sent" RequestSent {
        /// The watch. Side watches are named `…#s`, witness watches `…#w`, and reads of the audit `…#a`.
        watch "watch": WatchName,
        /// The request.
        request "request": RequestId,
        /// The connection that carries the request.
        connection "connection": ConnectionId,
        /// The Kubernetes verb: `list`, `watch` or `get`.
        verb "verb": Text as Fixed,
        /// The path of the URL, percent-encoded, without the query.
        path "path": Text as Path,
        /// The query without its `?`, percent-encoded as sent; absent for a GET of one object.
        query "query": Option<String> as Query,
    }
    /// The head of a response arrived, or the request failed before a head arrived. For a read of the audit, and for a
    /// refusal, the record is written only once the body has ended or is no longer awaited. For a refused side watch it
    /// is written at once.
    9 "request.answered" RequestAnswered {
        /// The watch.
        watch "watch": WatchName,
        /// The request.
        request "request": RequestId,
        /// The HTTP status; absent if no response came.
        status "status": Option<u16>,
        /// The headers that matter, in the order in which they came: audit id, Connection, Content-Type, the uids of
        /// flow schema and priority level, Retry-After, Warning. The probe keeps the first 16, each cut at 512
        /// characters. The list is empty if no such header came.
        headers "headers": Headers,
        /// The time that a refusing server asked the client to wait, in milliseconds: from Retry-After, else from the
        /// Status. Absent if the server asked for no wait.
        retry_after_ms "retryAfterMs": Option<u64>,
        /// What went wrong, in a sentence. Absent on success, and for a refused read of the audit, unless the refusal's
        /// body broke off. A server's words are cut at 500 characters.
        error "error": Option<String> as Free,
        /// Who wrote the text of `error`, if a server refused the request. Absent if there was no answer, for reads of
        /// the audit, and if an older watchscope wrote the record.
        error_text "errorText": Option<ErrorText>,
    }
    /// A page of a list arrived and could be read.
    10 "list.page" ListPage {
        /// The watch.
        watch "watch": WatchName,
        /// The request that brought the page.
        request "request": RequestId,
        /// The list's resourceVersion, the same on every page (docs/semantics/lists-and-watches.md#list).
        resource_version "resourceVersion": ResourceVersion,
        /// The number of items on this page, unreadable ones included.
        items "items": u64,
        /// The number of items that remain, by the server's count; absent if the server states none
        /// (docs/semantics/lists-and-watches.md#list).
        remaining "remaining": Option<u64>,
        /// The first object on a list's first page that the watch holds at a later version, if the page shows that etcd
        /// was restored (F33). Absent if the page does not show that, on later pages, and if the whole list is older
        /// than the watch's progress.
        object "object": Option<Arc<Object>>,
        /// The version that the page states for `object`; absent if `object` is absent.
        listed "listed": Option<ResourceVersion>,
    }
    /// A list, or the initial events of a watch-list, is complete, and its objects were compared with the objects that
    /// the watch held before. `added`, `changed` and `removed` count over all attempts at the list.
    ///
    /// A list may be older than the watch's progress although its request excluded older states (F22). The watch then
    /// gives the list up after its first page, and changes nothing. The record of such a list has the number of items
    /// of its first page, and counts 0 added, changed and removed. A list that shows a restore of etcd (F33) has no
    /// such record.
    11 "list.complete" ListComplete {
        /// The watch.
        watch "watch": WatchName,
        /// The list's resourceVersion.
        resource_version "resourceVersion": ResourceVersion,
        /// The number of items in the list, unreadable ones included.
        items "items": u64,
        /// The number of items that the watch did not hold before, or held with another uid at a version that was not
        /// later.
        added "added": u64,
        /// The number of items that the watch held at another version before. An item that was held at a later version
        /// counts only if the server lost an event (F24).
        changed "changed": u64,
        /// The number of objects that the watch held before and that the list lacks, or has with another uid. The watch
        /// keeps an object that it holds at a later version than that item, or, if missing, than the list. The watch
        /// keeps all missing objects if the name of an item cannot be read.
        removed "removed": u64,
    }
    /// The server accepted a watch request with status 200: a stream is open. Streams of side watches and witnesses
    /// have no records of their own.
    12 "stream.opened" StreamOpened {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// The request that opened the stream.
        request "request": RequestId,
        /// The resourceVersion that the request named; absent if it named none.
        resource_version "resourceVersion": Option<ResourceVersion>,
        /// The HTTP/2 stream's number on its connection; absent with HTTP/1.1.
        http2_stream "http2Stream": Option<u64>,
    }
    /// A stream ended.
    13 "stream.ended" StreamEnded {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// Why the stream ended, as seen on the wire.
        cause "cause": Cause,
        /// The stream's age in milliseconds, counted from the sending of its request.
        age_ms "ageMs": u64,
        /// The number of documents that were read, bookmarks and an ERROR included. Lost documents, and documents after
        /// an ERROR, do not count.
        events "events": u64,
        /// The number of bytes of decoded body received.
        bytes "bytes": u64,
        /// The error code of the RST_STREAM frame that ended the stream (RFC 9113, section 7). Absent if no such frame
        /// ended it, and after an ERROR.
        reset_code "resetCode": Option<u32>,
        /// The longest time in which watchscope did not read the stream, in milliseconds. Only unread times that ended
        /// within the stream's last 10 s count. Absent if each such time was below 100 ms, if watchscope ended the
        /// stream, and after an ERROR.
        unread_ms "unreadMs": Option<u64>,
    }
    /// Diagnosis stated why a stream ended. A later attribution for the same stream replaces it.
    14 "attribution" Attribution {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// The code of an [`Attributed`](crate::row::Attributed): `F` and two digits, `ours`, `normal` or `unknown`.
        code "code": Text as Fixed,
        /// How certain the attribution is.
        certainty "certainty": Certainty,
        /// The seqs of the records that the attribution rests on, sorted, each once; the record of the stream's end is
        /// always among them. Records of other streams' ends may be among them, so the number of streams bounds the
        /// list.
        evidence "evidence": Vec<Seq>,
    }
    /// An object came, changed or went, as the watch learned it.
    15 "change" Change {
        /// The watch.
        watch "watch": WatchName,
        /// The stream that delivered the change, or whose events imply an inferred one; absent if a list shows the
        /// change.
        stream "stream": Option<StreamId>,
        /// The type of the change.
        change "change": ChangeType,
        /// Where the watch learned of the change.
        origin "origin": Origin,
        /// The object.
        object "object": Arc<Object>,
        /// The object's resourceVersion as the server sent it; for a DELETED normally that of the deletion
        /// (docs/semantics/requests.md#framing). For a DELETED that is inferred or came without a resourceVersion, it
        /// is the last one that the watch held.
        resource_version "resourceVersion": ResourceVersion,
        /// `metadata.generation`; absent if the object has none, if it is no whole number of 64 bits, and for an
        /// inferred DELETED.
        generation "generation": Option<u64>,
        /// The manager of the newest managedFields entry, cut at 512 characters. Entries without a time do not count.
        /// Absent if there is no entry, if it names no manager, if entries of the newest second disagree, and for an
        /// inferred DELETED.
        manager "manager": Option<Text> as Free,
        /// The subresource of the newest managedFields entry, such as `status`, cut at 512 characters. Absent for a
        /// write to the object itself, without an entry, if entries of the newest second disagree, and for an inferred
        /// DELETED.
        subresource "subresource": Option<Text> as Fixed,
        /// The size of the object in bytes, as it came; absent for an inferred DELETED.
        bytes "bytes": Option<u64>,
        /// Whether the watch's selectors do not match the object, by its labels, its name or its namespace. Absent if
        /// they match it, if that is unknown, and for a DELETED.
        stray "stray": Option<bool>,
        /// The object's controller: the reference in `metadata.ownerReferences` with `controller: true`. Absent if the
        /// object has no controller, if a reference has an unknown form, and for an inferred DELETED.
        owner "owner": Option<Owner>,
    }
    /// A bookmark: the server states that the stream has delivered every event up to the bookmark's resourceVersion,
    /// included (docs/semantics/lists-and-watches.md#bookmarks).
    16 "bookmark" Bookmark {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// The resourceVersion up to which the stream is complete.
        resource_version "resourceVersion": ResourceVersion,
        /// Whether the bookmark ends the initial events (annotation `k8s.io/initial-events-end`,
        /// docs/semantics/lists-and-watches.md#watch-list); absent if it does not.
        initial_events_end "initialEventsEnd": Option<bool>,
    }
    /// The server sent an ERROR event, which ends the stream (docs/semantics/requests.md#errors).
    17 "stream.error" StreamError {
        /// The watch.
        watch "watch": WatchName,
        /// The stream.
        stream "stream": StreamId,
        /// The Status code, such as 410; 0 if the Status has none.
        code "code": u64,
        /// The Status reason, such as `Expired`, cut at 512 characters; absent if it is empty.
        reason "reason": Option<Text> as Free,
        /// The Status message, cut at 500 characters; absent if it is empty, or might quote a Secret.
        message "message": Option<String> as Free,
    }
    /// A gap: a stretch in which a watch may have missed events. Its record is written when the gap closes; there is no
    /// record if the watch stops or begins anew before that.
    18 "gap" Gap {
        /// The watch.
        watch "watch": WatchName,
        /// The seq of the record that began the gap: a `stream.ended`, unless the stream after a list could not be
        /// opened. In that case it is the `request.answered` that refused the stream, or the `watch.phase` of the wait
        /// after no server was reached. The log's writer fills in this seq; it is 0 if the writer's fold has no open
        /// gap of the watch.
        since "since": Seq,
        /// The watch's progress when the gap began; absent if the watch had none.
        from "from": Option<ResourceVersion>,
        /// The watch's progress when the gap closed, from which it goes on; absent if the watch has none.
        to "to": Option<ResourceVersion>,
        /// The cause of the stream's end that began the gap; [`Cause::Refused`] if no stream's end began it.
        reason "reason": Cause,
        /// Whether the watch resumed from its progress, so that no event is lost
        /// (docs/semantics/servers.md#cache-resume).
        resumed "resumed": bool,
        /// The number of events lost in the gap: 0 if the watch resumed, absent if unknown.
        lost "lost": Option<u64>,
    }
    /// A read of the audit was compared with the objects that a watch holds (docs/semantics/checks.md#procedure). An
    /// `audit` record may also state why the audit can decide nothing, perhaps without a read.
    19 "audit" Audit {
        /// The watch.
        watch "watch": WatchName,
        /// The resourceVersion at which the read was compared with the watch, or that the read showed; absent if
        /// unknown.
        resource_version "resourceVersion": Option<ResourceVersion>,
        /// How the read was made: the word of an [`AuditMethod`](crate::vocabulary::AuditMethod).
        method "method": Text as Fixed,
        /// The number of compared objects; if the events of two watches were compared, the number of this watch's
        /// compared events. 0 if nothing was compared, or if the comparison was given up.
        compared "compared": u64,
        /// The result of the comparison: the word of an [`AuditOutcome`](crate::vocabulary::AuditOutcome).
        outcome "outcome": Text as Fixed,
        /// What this read cannot reveal, or why it decides nothing, in a sentence: reasons joined by `; `. Absent if
        /// there is no reason.
        reason "reason": Option<Text> as Ours,
        /// The object, if the read compared a single one and the record names it; else absent.
        object "object": Option<Arc<Object>>,
        /// Who answered the read, as far as the record states it. Absent if it does not, as for a GET of one object.
        authority "authority": Option<Authority>,
        /// Whether the read compared all objects that the watch held at `resource_version`; absent if it did not, or if
        /// unknown.
        whole "whole": Option<bool>,
        /// The first reason in `reason`, as a word for code; absent if there is no reason, or if an older watchscope
        /// wrote the record.
        why "why": Option<AuditReason>,
    }
    /// The object that a watch holds and the object that a read of the audit returned differ, or no longer differ
    /// (docs/semantics/checks.md#procedure).
    20 "verdict" Verdict {
        /// The watch.
        watch "watch": WatchName,
        /// The object.
        object "object": Arc<Object>,
        /// How the watch and the read differ in the object.
        kind "kind": Divergence,
        /// The version that the watch holds; absent if it holds no object of that name ([`Divergence::Missing`]).
        held "held": Option<ResourceVersion>,
        /// The version that the read returned; absent if the read did not return the object ([`Divergence::Ghost`]).
        listed "listed": Option<ResourceVersion>,
        /// Whether the difference is new, confirmed or over.
        state "state": Standing,
        /// How certain the difference is: likely when raised, definite when confirmed. A cleared verdict repeats the
        /// certainty of its last record before.
        certainty "certainty": Certainty,
    }
    /// A failure of the catalogue was recognised.
    21 "finding" Finding {
        /// The failure's code (`F11`).
        code "code": Text as Fixed,
        /// Other codes that look the same from where watchscope observes, each once, in no fixed order; empty if there
        /// are none.
        candidates "candidates": Vec<Text> as Fixed,
        /// The failure's name ([`Row::name`](crate::Row::name)).
        name "name": Text as Ours,
        /// The severity of the occurrence that this record states, as far as its outcome is known.
        severity "severity": Severity,
        /// Whether the finding is raised (for the first time or again), updated or over.
        state "state": Standing,
        /// How certain the finding is.
        certainty "certainty": Certainty,
        /// The watch that the finding concerns, if it concerns a single one; else absent.
        watch "watch": Option<WatchName>,
        /// The server that the finding concerns, that the concerned connection leads to, or that serves the concerned
        /// type, as `HOST:PORT`; absent if there is none.
        server "server": Option<Text> as Address,
        /// The seqs of the records that the finding rests on; not empty, perhaps unsorted, and at most 16. If there are
        /// more, the later ones are left out. If a finding lasts or concerns several watches, the records between the
        /// first and the latest are left out instead. A cleared finding has only the record that cleared it. A finding
        /// that was cleared because its time was over, or because others took its room, keeps its evidence.
        evidence "evidence": Vec<Seq>,
        /// What happened and what followed, in sentences with their numbers. The sentences describe one occurrence, and
        /// count the other occurrences that this record covers.
        summary "summary": String as Ours,
        /// The name of the client program that the finding concerns; absent if it concerns none.
        client "client": Option<Text> as Name,
        /// The number of occurrences of the finding so far, this one included. If absent, each `raised` record of the
        /// finding is one occurrence.
        count "count": Option<u64>,
        /// When the occurrence that this record states began. If absent, it began at this record's time.
        since "since": Option<Time>,
        /// The worst severity of all occurrences of the finding so far, this one included. If absent, it is the
        /// severity of this record.
        worst "worst": Option<Severity>,
        /// The connection that the concerned watches share; absent if the finding is not about a connection.
        connection "connection": Option<ConnectionId>,
        /// The API group of the resource type that the concerned watches share; empty for core, absent if the finding
        /// is not about a type.
        group "group": Option<Text> as Group,
        /// The resource, plural, that the concerned watches share; absent if the finding is not about a type.
        resource "resource": Option<Text> as Resource,
        /// The number of watches that this occurrence concerns; absent if the finding is not about several watches. The
        /// number is 1 if only one of several watches is left.
        watches "watches": Option<u64>,
        /// The number of the concerned watches that resumed from their progress; absent if no gap belongs to the
        /// finding.
        resumed "resumed": Option<u64>,
        /// The number of the concerned watches that listed again; absent if no gap belongs to the finding.
        relisted "relisted": Option<u64>,
        /// The names of the concerned watches, at most [`MAX_NAMES`]; the other watches are only counted. The list is
        /// empty if the finding does not concern several watches. The order is: watches whose stream did not end, with
        /// an open gap, that lost events, that listed again, that resumed. Stopped watches come last, in the same order
        /// of groups. Each group sorts by name.
        names "names": Vec<WatchName>,
    }
    /// Something was dropped by watchscope, was lost before it reached watchscope, or was left out on purpose.
    22 "loss" Loss {
        /// Where the loss happened.
        place "where": LossPlace,
        /// The number of lost or left-out records, events, bodies or frames. 0 in a `loss` record that replaces a
        /// left-out record which an earlier `loss` record counts (docs/recordings.md#extracts).
        count "count": u64,
        /// The first record that was lost or left out, or whose body was dropped. Absent if there is none, or the
        /// record is unknown.
        from_seq "fromSeq": Option<Seq>,
        /// The last such record, included; absent if `from_seq` is.
        to_seq "toSeq": Option<Seq>,
        /// The watch concerned; absent if the watch is unknown, or if the loss does not concern a single watch.
        watch "watch": Option<WatchName>,
        /// The number of discarded bytes; absent if unknown.
        bytes "bytes": Option<u64>,
        /// Why something was lost, in a sentence; absent if `place` already states the reason.
        reason "reason": Option<String> as Free,
        /// Why a frame could not become an event; absent if no frame was lost, or if the reason is unknown.
        what "what": Option<FrameLoss>,
    }
    /// The distance between the wall clock and `at` changed by over 1 s, or watchscope did not run for over 1 s.
    23 "clock" Clock {
        /// The wall clock minus `at`, in milliseconds; negative if the wall clock is behind. The record of a pause
        /// repeats the last recorded value; it has 0 if there was none.
        off_ms "offMs": i64,
        /// The time before this record in which watchscope read nothing, in milliseconds: the machine slept, or
        /// watchscope was stopped or starved. The time of a record does not show when a server acted during that pause.
        /// Absent if there was no pause.
        paused_ms "pausedMs": Option<u64>,
    }
    /// A client program of a simulated (or tapped) cluster started.
    24 "client.started" ClientStarted {
        /// The client's name. A later start with the same name replaces the client.
        client "client": Text as Name,
        /// The program: the word of a [`ClientProgram`](crate::vocabulary::ClientProgram), or another word.
        program "program": Text as Fixed,
        /// The program's version; absent if it has only one.
        version "version": Option<Text> as Fixed,
    }
    /// A client sent a request.
    25 "client.request" ClientRequest {
        /// The client.
        client "client": Text as Name,
        /// The request, as `METHOD PATH?QUERY`, with the query percent-encoded; `METHOD PATH` without a query.
        request "request": String as Request,
    }
    /// A client's report of its phase, its counts and its belief.
    26 "client.report" ClientReport {
        /// The client.
        client "client": Text as Name,
        /// The client's phase: the word of a [`ClientPhase`](crate::vocabulary::ClientPhase), or another word.
        phase "phase": Text as Fixed,
        /// The number of iterations of the client's loop since its start.
        iterations "iterations": u64,
        /// The number of events that the client's handler took since its start.
        handled "handled": u64,
        /// The client's belief, as JSON (see [`crate::belief`]); absent if it is as last reported.
        belief "belief": Option<String> as Belief,
    }
    /// A note: a sentence of a story's narrator or of a person.
    27 "note" Note {
        /// Who wrote the note.
        author "author": Author,
        /// The note's text. A person's text has at most 4,096 bytes ([`crate::notes::MAX_NOTE_BYTES`]); a story's text
        /// has no bound. A person's note with an empty text withdraws the note that it replaces.
        text "text": String as Said,
        /// The watch that the note is about; absent if it is about the whole cluster.
        watch "watch": Option<WatchName>,
        /// Whether the story ends with this note: the cluster continues to run, and the story changes nothing more in
        /// it. Absent if the story goes on, and for a person's note.
        over "over": Option<bool>,
        /// The object that the note is about; absent if it is about none.
        object "object": Option<Arc<Object>>,
        /// Start of the time that the note is about, by `at` of any epoch; absent if it is about the time of its own
        /// record.
        from "from": Option<Time>,
        /// End of the time that the note is about, included; absent if that time is one moment.
        to "to": Option<Time>,
        /// The earlier note of a person that this note replaces; absent for a new note.
        replaces "replaces": Option<NoteKey>,
    }
}

impl Event {
    /// The watch that the event belongs to; `None` if it belongs to none. A finding that has only `names`, and no
    /// single `watch`, belongs to none.
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

/// An event with its seq and its time. A record never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The record's seq in its epoch.
    pub seq: Seq,
    /// The time on the log's clock when the log's writer took the event. For a judgement it is the time at which the
    /// judgement was due; in a simulated log, the event's own time. It is never earlier than the time of the record
    /// before.
    pub at: Time,
    /// The event.
    pub event: Event,
}
