//! The closed lists of words that records use: causes, phases, reasons, origins, severities.
//!
//! Each word has a stable number in the binary form: its index in the list, which only grows at the end. Each word has
//! a stable text in the JSON form. A number that this build does not know reads as `Unknown`.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $word,)*
            /// A word that this build does not know, such as one of a later version of watchscope.
            Unknown,
        }

        impl $name {
            /// All words that this build knows, sorted by number, from 0. `Unknown` is not among them.
            pub const ALL: &'static [Self] = &[$(Self::$word),*];

            /// The text in the JSON form; `unknown` for `Unknown`.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                    Self::Unknown => "unknown",
                }
            }

            /// The number in the binary form: the index in `ALL`. `Unknown` has the number after the last word,
            /// whatever number it was read from.
            #[must_use]
            pub fn number(self) -> u64 {
                Self::ALL.iter().position(|&word| word == self).unwrap_or(Self::ALL.len()) as u64
            }

            /// The word of a text; `Unknown` for a text that is not in the list.
            #[must_use]
            pub fn of(word: &str) -> Self {
                Self::ALL.iter().copied().find(|known| known.word() == word).unwrap_or(Self::Unknown)
            }

            /// The word of a number; `Unknown` for a number that is not in the list.
            #[must_use]
            pub fn from_number(number: u64) -> Self {
                usize::try_from(number).ok().and_then(|place| Self::ALL.get(place).copied()).unwrap_or(Self::Unknown)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }
    )*};
}

words! {
    /// Why a stream or a connection ended, as seen on the wire.
    Cause {
        /// The body ended in order.
        End = "end",
        /// The connection closed at a frame boundary, before the body's end.
        Eof = "eof",
        /// The connection closed, or the body ended, within a frame.
        EofInFrame = "eof-in-frame",
        /// An HTTP/2 RST_STREAM frame ended the stream (RFC 9113, section 6.4).
        RstStream = "rst-stream",
        /// An HTTP/2 GOAWAY frame ended the stream or connection (RFC 9113, section 6.8).
        Goaway = "goaway",
        /// A TCP reset ended the connection.
        TcpReset = "tcp-reset",
        /// TLS failed on the open connection.
        Tls = "tls",
        /// watchscope or the kernel closed the connection as dead. A side watch delivered more
        /// (docs/semantics/clients.md#probe-silence), a ping or sent packets got no answer, or the stream was silent
        /// past its timeout.
        IdleTimeout = "idle-timeout",
        /// watchscope closed the stream or connection, because it no longer needs it, as after a stop. watchscope also
        /// closes the stream or connection if no answer begins in time, or if initial events do not complete. A stream
        /// whose initial events are older than the watch's progress, or of another history of etcd, ends with this
        /// cause, too.
        Cancelled = "cancelled",
        /// watchscope closed the stream or connection, because its frames or its HTTP could not be decoded. Frames that
        /// are too long, or have another kind than requested, count as undecodable.
        Decode = "decode",
        /// The server sent an ERROR event (docs/semantics/requests.md#errors). A stream that delivered an ERROR event
        /// always has this cause.
        ErrorEvent = "error-event",
        /// The server refused the stream that was to follow a list, or could not be reached for it. Only gaps have this
        /// cause, never the end of a stream.
        Refused = "refused",
    }

    /// The phase of a watch.
    Phase {
        /// The watch dials, or waits for the answer to a watch request.
        Connecting = "connecting",
        /// The watch requests or reads a list, or reads the initial events of a stream.
        Listing = "listing",
        /// A stream is open and past its initial events.
        Streaming = "streaming",
        /// The watch waits for the delay that its record states before it sends its next request.
        Waiting = "waiting",
        /// The watch cannot go on before somebody changes something. The server refused the watch (401, 403, 404, or
        /// another status, mostly a 4xx), its resource is not discovered, or its credentials cannot be loaded. A
        /// refused watch tries again after 30 to 120 s, or sooner if discovery finds its resource.
        Refused = "refused",
        /// The watch was stopped.
        Stopped = "stopped",
    }

    /// Why a watch went into its phase.
    PhaseReason {
        /// The watch has just been started, or discovery has just found its resource.
        Started = "started",
        /// The watch needs a list, or the next page of one, before it can open a stream.
        FirstList = "first-list",
        /// The list is complete, and the watch opens the stream after it.
        Listed = "listed",
        /// The server accepted the watch.
        Opened = "opened",
        /// The stream ended, and the watch opens the next one from its progress; or a watch-list begins again.
        Resume = "resume",
        /// Two consecutive streams lasted under 2 s, so the next request waits until 1 to 2 s after the request of the
        /// last stream. After three such streams without a document the watch lists instead (F10).
        ShortStream = "short-stream",
        /// 410: the history or a continue token is gone, and the watch lists again
        /// (docs/semantics/requests.md#expired).
        Expired = "expired",
        /// 504 with ResourceVersionTooLarge: this server has not reached the requested resourceVersion
        /// (docs/semantics/requests.md#too-large). It is also the reason if a list is older than the watch's progress,
        /// although the request excluded older states (F22).
        TooLarge = "too-large",
        /// An ERROR event other than 410, 429 or a watch-list's 504; the watch lists again.
        ErrorEvent = "error-event",
        /// Frames could not be decoded, were too long or had another kind; the watch lists again.
        Decode = "decode",
        /// 429: the server asks the client to come later (docs/semantics/requests.md#too-many-requests).
        TooManyRequests = "too-many-requests",
        /// 401: the server did not accept the credentials (docs/semantics/requests.md#refused).
        Unauthorized = "unauthorized",
        /// 403: the right is missing (docs/semantics/requests.md#rights).
        Forbidden = "forbidden",
        /// 404: the resource is not served (docs/semantics/requests.md#refused).
        NotFound = "not-found",
        /// Another status, mostly a 4xx: the server does not accept the request (docs/semantics/requests.md#refused).
        BadRequest = "bad-request",
        /// A 5xx or 408: the server failed or gave up.
        ServerError = "server-error",
        /// The server or a proxy refused the connection, or the server could not be reached.
        Unreachable = "unreachable",
        /// The TLS handshake failed.
        TlsFailed = "tls-failed",
        /// No connection, answer or further part of a list came in time.
        Timeout = "timeout",
        /// The connection broke before an answer or a list was complete, or an answer was no valid HTTP. Or a stream
        /// did not end in order. It is also the reason if a stream ended before its initial events were complete.
        Broken = "broken",
        /// The stream was silent for 90 s or more, and was proved dead or is past its timeout
        /// (docs/semantics/clients.md#probe-silence).
        Idle = "idle",
        /// A stop of the watch was requested, perhaps to begin it anew (F33).
        StopRequested = "stop-requested",
        /// Discovery does not list the resource (yet).
        NotDiscovered = "not-discovered",
        /// Credentials (exec plugin, token file) or TLS settings could not be loaded.
        Credentials = "credentials",
        /// The wait is over, and the watch tries the same step again.
        RetryDue = "retry-due",
        /// This server refused watch-list, or did not complete it; the watch falls back to a list.
        WatchListRefused = "watch-list-refused",
        /// The initial events are over; only the bookmark at their end shows that they were complete
        /// (docs/semantics/lists-and-watches.md#watch-list).
        InitialEventsEnd = "initial-events-end",
        /// A response did not have the form of a list, its pages do not fit together, or a page was longer than the
        /// probe reads.
        Malformed = "malformed",
        /// A list shows that etcd went back (F33); the watch begins anew.
        Restored = "restored",
    }

    /// What happened to an object, in the view of a watch (docs/semantics/requests.md#framing).
    ChangeType {
        /// The object came into the watch's view.
        Added = "ADDED",
        /// The object changed.
        Modified = "MODIFIED",
        /// The object left the watch's view.
        Deleted = "DELETED",
    }

    /// Where the watch learned of a change.
    Origin {
        /// From a list.
        List = "list",
        /// From the initial events of a stream: of a watch-list, or of a watch without a resourceVersion
        /// (docs/semantics/lists-and-watches.md#initial-events).
        Initial = "initial",
        /// From a live event of the stream.
        Live = "live",
        /// From watchscope: the watch held the object, and a complete state lacks it, or another uid has its name now.
        Inferred = "inferred",
    }

    /// The phase of a client program, as the program reports it. Records hold the text, because a program may have
    /// other phases.
    ClientPhase {
        /// The program waits for an answer to a request that is neither a list nor an open stream.
        Connecting = "connecting",
        /// The program reads a list.
        Listing = "listing",
        /// The program reads initial events until the mark of their end.
        Syncing = "syncing",
        /// The program reads a stream of changes.
        Watching = "watching",
        /// The program waits before it tries again.
        Backoff = "backoff",
        /// The program sleeps because its code does so, not because something failed.
        Sleeping = "sleeping",
        /// The program runs a loop that never waits, reading a stream that has ended (F01, F02).
        Spinning = "spinning",
        /// The program's watch loop returned, and the program does nothing any more, although its process lives (F03,
        /// F48).
        Returned = "returned",
        /// The program ended with a failure that it reports.
        Failed = "failed",
        /// The program ended as intended.
        Done = "done",
    }

    /// A client program. Records hold the text, because a tapped cluster may have others.
    ClientProgram {
        /// A program that lists from time to time.
        Poller = "poller",
        /// A program that compares two scopes that differ (F42).
        Comparer = "comparer",
        /// A bare reflector of client-go (docs/semantics/clients.md#reflector).
        Reflector = "reflector",
        /// The loop of an end-to-end test over a watch of PersistentVolumeClaims.
        PvcLoop = "e2e-pvc-loop",
        /// A function that watches a Deployment until it is ready.
        WatchDeployment = "watch-deployment",
        /// A loop that resumes from the resourceVersion of the last event, of whatever type.
        LastSeen = "resume-from-last-event",
        /// The RetryWatcher of client-go (docs/semantics/clients.md#retry-watcher).
        RetryWatcher = "retry-watcher",
        /// A controller over an informer of client-go (docs/semantics/clients.md#informer).
        Informer = "informer",
        /// A scheduler.
        MiniScheduler = "mini-scheduler",
        /// The watcher of kube-rs (docs/semantics/clients.md#kube-rs).
        KubeWatcher = "kube-rs-watcher",
    }
    /// The Kubernetes verb of a request. Records hold the text.
    Verb {
        /// A request for one object (docs/semantics/requests.md#rights).
        Get = "get",
        /// A list, or a page of one.
        List = "list",
        /// A request for a stream of events.
        Watch = "watch",
    }
    /// How the audit made a read (docs/semantics/checks.md#reads), and for some methods what the read showed. Records
    /// hold the text.
    AuditMethod {
        /// No single read: the watch does not stream, its resourceVersion is not known, or it does not reach the
        /// version of a list that differs.
        List = "list",
        /// A list of all objects at exactly the watch's version.
        ListExact = "list exact",
        /// A second list of all objects at exactly the watch's version, after the first one differed.
        ListExactAgain = "list exact again",
        /// The exact list was refused with 504, because the server's cache has not reached the version
        /// (docs/semantics/requests.md#too-large). The resourceVersion of the audit's record is the cache's.
        ListExactTooLarge = "list exact too large",
        /// A list of the newest objects.
        ListNewest = "list newest",
        /// Two lists of the newest objects were older than what the watch has seen: etcd's revision went back (F33).
        ListNewestTwice = "list newest twice",
        /// A list that one server made for its own watch was compared with the objects of a watch of another server.
        ListElsewhere = "list of another server",
        /// Reads show objects at versions that the stream has not reached (F31). The first and the last read are at
        /// least 10 s apart, and the stream delivered nothing between them. The resourceVersion of the audit's record
        /// is the highest of an object in the last read.
        AheadTwice = "reads ahead",
        /// A list at any version (`resourceVersion=0`), which shows the version of the server's cache.
        ListAny = "list any",
        /// Two lists at any version, which show that the server's cache is behind the version at which the watch was
        /// opened (F32).
        ListAnyTwice = "list any twice",
        /// A list by name of one object at the watch's version, or of several sampled objects that the record does not
        /// name.
        ListOne = "list one exact",
        /// Two reads of etcd lack an object at the version at which the watch delivered it (F33).
        ListOneTwice = "list one as told twice",
        /// A GET of one object, or of several sampled objects that the record does not name: the newest state in etcd
        /// (docs/semantics/lists-and-watches.md#get). A reply to a request for which no read was made has this method,
        /// too.
        Get = "get",
        /// A GET of an object that the stream reported DELETED: etcd holds it with the same uid (F43).
        GetLeft = "get of what left",
        /// A GET in etcd of each object that the watch held at the compared version, made for a pending request. If
        /// GETs are refused, each object is listed by its name.
        GetEach = "get each",
        /// The events of another watch over the same time (docs/semantics/checks.md#witness); no objects are compared.
        SecondWatch = "second watch",
    }
    /// The result of a comparison by the audit. Records hold the text.
    AuditOutcome {
        /// All compared objects are as the watch holds them, or all compared events are as the watch delivered them.
        /// For [`AuditMethod::GetLeft`]: the object only left the selector.
        Agrees = "agrees",
        /// At least one object differs, or another watch delivered an event that the audited watch did not.
        Differs = "differs",
        /// The read decides nothing.
        CannotTell = "cannot-tell",
    }
    /// The source of an answer to a read of the audit (docs/semantics/checks.md#reads).
    Authority {
        /// etcd. Lists of another apiserver (aggregated types) count as answered by etcd, too.
        Etcd = "etcd",
        /// Perhaps the apiserver's watch cache.
        PerhapsCache = "perhaps-cache",
    }
    /// Why a read of the audit decides nothing or leaves a question open: the first reason in the sentence of its
    /// record.
    AuditReason {
        /// The list may come from the watch cache, so it may show only what the cache believes.
        MayBeACaches = "may-be-a-caches",
        /// The list may come from the watch cache, and the server refuses lists at an exact resourceVersion.
        RefusesBoth = "may-be-a-caches-and-no-exact-list",
        /// The list may come from the watch cache; objects that differ are looked up in etcd.
        LookedUp = "looked-up",
        /// The list may come from the watch cache; it differs only in objects that are known to be wrong.
        KnownDifference = "known-difference",
        /// The versions are those of another apiserver, and are only compared for equality.
        OnlyEqual = "only-equal",
        /// The versions are only compared for equality, and it is unknown whether the watch will still deliver what
        /// differs.
        NotEqual = "not-equal",
        /// The versions are only compared for equality, and a list of several pages need not show one state.
        PagesUnordered = "pages-unordered",
        /// The versions are not numbers, so they do not show which is newer.
        Unordered = "unordered",
        /// The watch's resourceVersion is not known as a number.
        NoPosition = "no-position",
        /// The server refuses lists at an exact resourceVersion; the newest list has the watch's version.
        RefusesExact = "refuses-exact",
        /// The server refuses to list an object that differs at the watch's version.
        CannotConfirm = "cannot-confirm",
        /// The server refuses exact lists, and only the first page of the newest list is compared.
        FirstPageOnly = "first-page-only",
        /// The server does not allow GETs; the objects were listed by their names.
        RefusesGet = "refuses-get",
        /// The server does not list metadata alone (docs/semantics/requests.md#forms); whole objects were read.
        ListsWhole = "lists-whole",
        /// The watch holds more than 5,000 objects, too many for a whole list.
        TooLong = "too-long",
        /// The watch's state at its progress is unknown, because its stream delivered events out of order.
        NoPast = "no-past",
        /// The state at the version to be compared can no longer be read or rebuilt.
        Compacted = "compacted",
        /// Some items could not be read.
        Unreadable = "unreadable",
        /// The versions of some objects cannot be compared.
        NotComparable = "not-comparable",
        /// The server listed another version than the requested one.
        OtherVersion = "other-version",
        /// The server answered the read with a status other than 200.
        Refused = "refused",
        /// No connection was available for the read.
        Unreached = "unreached",
        /// No readable answer came.
        NoAnswer = "no-answer",
        /// The watch moved on during the read.
        MovedOn = "moved-on",
        /// The watch is not streaming.
        NotStreaming = "not-streaming",
        /// The watch was stopped before each object was looked up.
        Stopped = "stopped",
        /// The watch listed again before each object was looked up.
        ListedAnew = "listed-anew",
        /// Some objects could not be looked up in etcd.
        NotLookedUp = "not-looked-up",
        /// Some objects changed before they were looked up.
        Changed = "changed",
        /// The object has the same uid in etcd: it only left the selector (F43).
        OnlyLeft = "only-left",
        /// The watch does not reach the version of a list that differs (docs/semantics/checks.md#behind).
        StandsStill = "stands-still",
        /// The server's cache has not reached the requested version.
        CacheBehind = "cache-behind",
        /// Everything that the server knows is older than the version at which the watch was opened.
        FromTheFuture = "from-the-future",
        /// The newest list is older than what the watch has seen.
        WentBack = "went-back",
        /// Reads show newer objects than the stream has reached.
        ReadsAhead = "reads-ahead",
        /// The list was made by another server.
        OtherServer = "other-server",
        /// Another watch was compared over a span of versions, and delivered the same events.
        Span = "span",
        /// Another watch did not deliver some events that the audited watch delivered.
        SecondLacks = "second-lacks",
        /// Another watch delivered events that the audited watch did not.
        SecondHasMore = "second-has-more",
    }
    /// Why a frame could not become an event.
    FrameLoss {
        /// The frame cannot be read: it is not JSON or not UTF-8, is neither an event nor a list, or lacks a required
        /// field. Bytes after a response that are not HTTP count, too.
        Malformed = "malformed",
        /// The frame's object has another kind than the watch requested (F39).
        OtherKind = "other-kind",
        /// The frame is longer than watchscope reads: by default 8 MiB (an event), 256 MiB (a page) or 64 KiB (a
        /// refusal's body).
        TooLong = "too-long",
        /// The stream or response ended within the frame, or watchscope gave the response up.
        CutShort = "cut-short",
        /// The frame came after an ERROR event, or after watchscope had ended the stream.
        AfterEnd = "after-end",
        /// The frame is an item of a list, and cannot be read or has another kind than the watch requested.
        Item = "item",
    }
    /// Who wrote the text of an error in a refused request's record.
    ErrorText {
        /// The server, or a proxy before it: the text is the message of its Status, or a body that is no Status.
        Message = "message",
        /// The server: the text is the reason of its Status. The Status has no message, or its message may quote a
        /// Secret and is not kept.
        Reason = "reason",
        /// watchscope: the text names the HTTP status, because the server's body has no text, may quote a Secret, or
        /// was not read.
        StatusOnly = "status-only",
    }
    /// Where something was lost, and what.
    LossPlace {
        /// Records that the ring dropped before a reader had them.
        Ring = "ring",
        /// Bodies that the store of bodies dropped, or that could not be redacted.
        Body = "body",
        /// Frames of a stream, items or pages of a list, and bytes of a response that could not become an event.
        Frame = "frame",
        /// Events that the log could not take, because its queue was full.
        Log = "log",
        /// Records that a file lacks: a history could not write them, or the part of the file that held them is
        /// damaged.
        File = "file",
        /// Records that an extract lacks: they were left out on purpose, or its writer did not know their kind.
        Withheld = "withheld",
    }

    /// Why a history cannot be written, or only late.
    DiskTrouble {
        /// The file system, a quota or a limit of the process leaves no room.
        Full = "full",
        /// The file system is read-only, or watchscope has no right to write to the folder or file.
        ReadOnly = "read-only",
        /// The folder or the file was removed.
        Gone = "gone",
        /// A piece of work on the history's files takes over 5 s. Records are still written, but late.
        Slow = "slow",
        /// Any other trouble.
        Failing = "failing",
    }

    /// How certain a finding, verdict or attribution is; one scale for all, the most certain first.
    Certainty {
        /// The statement is proven.
        Definite = "definite",
        /// All evidence supports the statement, which is not proven.
        Likely = "likely",
        /// Some evidence supports the statement.
        Suspected = "suspected",
    }

    /// The severity of a finding, the least severe first.
    Severity {
        /// The finding is worth knowing.
        Note = "note",
        /// The finding is worth acting on.
        Warning = "warning",
        /// Something failed.
        Error = "error",
        /// The watch and the cluster's true state differ.
        Divergence = "divergence",
    }

    /// The state of a finding or verdict, as a record states it.
    Standing {
        /// The finding or verdict is new, or occurred again.
        Raised = "raised",
        /// The evidence, severity or outcome of the finding changed; it did not occur again.
        Updated = "updated",
        /// A second read at the same resourceVersion confirmed the verdict (docs/semantics/checks.md#confirm). Only
        /// verdicts have this state.
        Confirmed = "confirmed",
        /// The finding or verdict is over.
        Cleared = "cleared",
    }

    /// How a watch and a read of the audit differ in an object (docs/semantics/checks.md#procedure).
    Divergence {
        /// The watch holds the object, and the read lacks it.
        Ghost = "ghost",
        /// The read has the object, and the watch lacks it.
        Missing = "missing",
        /// The watch holds an older version than the read returned.
        Stale = "stale",
        /// The watch holds a newer version than the read returned.
        ListOlder = "list-older",
    }

    /// The phase of a resource's cacher inside a simulated apiserver (docs/semantics/servers.md#watch-cache).
    CachePhase {
        /// The cacher reads all objects from etcd; reads of the cache wait or are refused
        /// (docs/semantics/requests.md#not-ready).
        Listing = "listing",
        /// The cacher answers reads, and watches etcd.
        Ready = "ready",
        /// The cacher's list or watch of etcd failed. After 1 s the cacher begins again
        /// (docs/semantics/servers.md#cache-start); until it is ready, reads of the cache wait or are refused. In a
        /// record with this phase and revision 0, the cache is gone or its first list failed.
        Failed = "failed",
    }

    /// The state of a connection's link in a simulated network.
    Way {
        /// Sent bytes arrive.
        Open = "open",
        /// Sent bytes are held back in at least one direction, and neither side knows it.
        Stalled = "stalled",
        /// The server's side is closed; bytes in transit may still arrive.
        Cut = "cut",
        /// Both sides are closed.
        Closed = "closed",
    }

    /// The author of a note.
    Author {
        /// A story's narrator.
        Story = "story",
        /// A person.
        Person = "person",
    }

    /// Why a person's note was refused.
    NoteRefusal {
        /// The note's text is empty, and it replaces no note that it could withdraw.
        Empty = "empty",
        /// The note's text is longer than 4,096 bytes ([`crate::notes::MAX_NOTE_BYTES`]).
        TooLong = "too-long",
        /// The note's text is not UTF-8.
        NotText = "not-text",
        /// The note names a watch that is neither of this epoch, nor known of earlier epochs in the history. At most
        /// 20,000 of those are known.
        UnknownWatch = "unknown-watch",
        /// The note's object has an empty name, or a namespace, name or uid of over 512 bytes
        /// ([`crate::notes::MAX_OBJECT_TEXT_BYTES`]).
        BadObject = "bad-object",
        /// The note's time ends before it begins, or has an end and no start.
        BadSpan = "bad-span",
        /// The note that should be replaced is not one of the persons' notes that are kept.
        UnknownNote = "unknown-note",
        /// 10 notes of the session went to the log in the last minute ([`crate::notes::NOTES_A_MINUTE`]), including
        /// notes that the log refused. A session without notes in that minute also gets this answer while 1,024 other
        /// sessions have some.
        TooOften = "too-often",
        /// The log holds 10,000 notes, the most that it may ([`crate::notes::MAX_NOTES`]).
        TooMany = "too-many",
        /// Four commands or notes of this viewer already wait for their answers.
        Busy = "busy",
        /// The log keeps no notes: it is that of a recording or of a lesson, or the process ends.
        NotKept = "not-kept-here",
    }
}

impl Severity {
    /// All severities, the least severe first; `Unknown` is before all others. The order of the type itself (`Ord`)
    /// puts `Unknown` last.
    pub const RISING: [Self; 5] = [
        Self::Unknown,
        Self::Note,
        Self::Warning,
        Self::Error,
        Self::Divergence,
    ];

    /// The severity's index in [`Severity::RISING`], from 0 for `Unknown` to 4 for a divergence.
    #[must_use]
    pub fn rank(self) -> usize {
        let place = Self::RISING.iter().position(|&other| other == self);
        place.unwrap_or(0)
    }

    /// The more severe of two, by [`Severity::rank`]; any other severity is worse than `Unknown`.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_convert_both_ways_and_others_are_unknown() {
        for &cause in Cause::ALL {
            assert_eq!(Cause::from_number(cause.number()), cause);
        }
        assert_eq!(Cause::from_number(99), Cause::Unknown);
        assert_eq!(Cause::EofInFrame.word(), "eof-in-frame");
    }
}
