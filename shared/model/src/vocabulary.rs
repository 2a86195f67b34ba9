//! The closed lists of words that records use: causes, phases, reasons, origins, severities.
//!
//! Each has a stable number in the binary form (its place in the list; lists are only ever appended) and a stable
//! word in the JSON form. A number this build does not know reads as [`None`] where the field is optional and as
//! the list's `Unknown` word elsewhere.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $word,)*
            /// A word appended by a later version of watchscope.
            Unknown,
        }

        impl $name {
            /// All words this build knows, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$word),*];

            /// The word as the JSON form writes it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                    Self::Unknown => "unknown",
                }
            }

            /// The number in the binary form.
            #[must_use]
            pub fn number(self) -> u64 {
                Self::ALL.iter().position(|&word| word == self).unwrap_or(Self::ALL.len()) as u64
            }

            /// What a text is the word of.
            #[must_use]
            pub fn of(word: &str) -> Self {
                Self::ALL.iter().copied().find(|known| known.word() == word).unwrap_or(Self::Unknown)
            }

            /// The word of a number.
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
    /// Why a stream or a connection ended.
    Cause {
        /// Orderly end of the body.
        End = "end",
        /// The connection closed at a frame boundary without the body's end.
        Eof = "eof",
        /// The connection closed, or the body ended, inside a frame.
        EofInFrame = "eof-in-frame",
        /// HTTP/2 RST_STREAM.
        RstStream = "rst-stream",
        /// HTTP/2 GOAWAY.
        Goaway = "goaway",
        /// TCP reset.
        TcpReset = "tcp-reset",
        /// TLS failed under way.
        Tls = "tls",
        /// We closed it because nothing came and a side watch proved it dead.
        IdleTimeout = "idle-timeout",
        /// We closed it because nobody wants it any more.
        Cancelled = "cancelled",
        /// We closed it because its frames could not be decoded.
        Decode = "decode",
        /// The server sent an ERROR event; always this, once one came.
        ErrorEvent = "error-event",
        /// The server refused to open the stream that was to follow a list; begins gaps, and ends no stream.
        Refused = "refused",
    }

    /// What a watch is doing.
    Phase {
        /// Dialling, or waiting for the answer to a watch request.
        Connecting = "connecting",
        /// Reading a list.
        Listing = "listing",
        /// A stream is open.
        Streaming = "streaming",
        /// Backing off before the next request.
        Waiting = "waiting",
        /// The server said no (401, 403, 404, 4xx); the next try is far.
        Refused = "refused",
        /// Not wanted any more.
        Stopped = "stopped",
    }

    /// Why a watch went into its phase.
    PhaseReason {
        /// The watch has just been started.
        Started = "started",
        /// A list is needed first.
        FirstList = "first-list",
        /// The list is complete; a stream is opened from its resourceVersion.
        Listed = "listed",
        /// The server accepted the watch.
        Opened = "opened",
        /// The stream ended and is opened again from progress.
        Resume = "resume",
        /// Two streams in a row were short; the next waits for its turn.
        ShortStream = "short-stream",
        /// 410: the history is gone; relist.
        Expired = "expired",
        /// 504 with ResourceVersionTooLarge: this server has not reached our resourceVersion.
        TooLarge = "too-large",
        /// An ERROR event other than 410; relist.
        ErrorEvent = "error-event",
        /// Frames could not be decoded; relist.
        Decode = "decode",
        /// 429: the server asks to come later.
        TooManyRequests = "too-many-requests",
        /// 401.
        Unauthorized = "unauthorized",
        /// 403.
        Forbidden = "forbidden",
        /// 404: the resource is not served.
        NotFound = "not-found",
        /// Another 4xx.
        BadRequest = "bad-request",
        /// A 5xx.
        ServerError = "server-error",
        /// The server refused the connection or could not be reached.
        Unreachable = "unreachable",
        /// The TLS handshake failed.
        TlsFailed = "tls-failed",
        /// No answer in time.
        Timeout = "timeout",
        /// The connection broke before the answer was complete.
        Broken = "broken",
        /// Nothing came for too long and a side watch proved the stream dead.
        Idle = "idle",
        /// Someone asked the watch to stop.
        StopRequested = "stop-requested",
        /// Discovery does not know the resource (yet).
        NotDiscovered = "not-discovered",
        /// No credentials could be had (exec plugin, token file).
        Credentials = "credentials",
        /// The wait is over.
        RetryDue = "retry-due",
        /// watch-list was refused by this server; falling back to list.
        WatchListRefused = "watch-list-refused",
        /// The initial events are complete.
        InitialEventsEnd = "initial-events-end",
        /// A response did not have the shape of a list.
        Malformed = "malformed",
        /// A list shows that etcd went back (F33); the watch begins anew.
        Restored = "restored",
    }

    /// What happened to an object.
    ChangeType {
        /// It came into the watch's view.
        Added = "ADDED",
        /// It changed.
        Modified = "MODIFIED",
        /// It left the watch's view.
        Deleted = "DELETED",
    }

    /// Where a change was learned.
    Origin {
        /// From a list.
        List = "list",
        /// From a watch-list's initial events, or a stream's synthetic phase.
        Initial = "initial",
        /// From the stream, live.
        Live = "live",
        /// By us: held, and not in a list.
        Inferred = "inferred",
    }

    /// What a client program does, as it reports. Records have the word, since a program may have others.
    ClientPhase {
        /// It waits for an answer to a request that is neither a list nor yet a stream.
        Connecting = "connecting",
        /// It reads a list.
        Listing = "listing",
        /// It reads initial events, until their end is marked.
        Syncing = "syncing",
        /// It reads a stream of changes.
        Watching = "watching",
        /// It waits before it tries again.
        Backoff = "backoff",
        /// It sleeps because it was written so, not because something failed.
        Sleeping = "sleeping",
        /// It turns in a loop that never waits, reading a stream that is no more (F01, F02).
        Spinning = "spinning",
        /// It returned and does nothing any more, though its process lives (F03, F48).
        Returned = "returned",
        /// It ended with a failure it reports.
        Failed = "failed",
        /// It ended as it was meant to.
        Done = "done",
    }

    /// Which client program reports. Records have the word, since a tapped cluster may have others.
    ClientProgram {
        /// It lists now and then.
        Poller = "poller",
        /// It compares two scopes.
        Comparer = "comparer",
        /// A bare reflector of client-go.
        Reflector = "reflector",
        /// The loop of an end-to-end test over a watch of claims.
        PvcLoop = "e2e-pvc-loop",
        /// A function that watches a Deployment until it is ready.
        WatchDeployment = "watch-deployment",
        /// A loop that resumes from the last event, whatever it was.
        LastSeen = "resume-from-last-event",
        /// The RetryWatcher of client-go.
        RetryWatcher = "retry-watcher",
        /// A controller over an informer of client-go.
        Informer = "informer",
        /// A scheduler.
        MiniScheduler = "mini-scheduler",
        /// The watcher of kube-rs.
        KubeWatcher = "kube-rs-watcher",
    }
    /// What a request does, in Kubernetes' own verbs. Records have the word.
    Verb {
        /// One object.
        Get = "get",
        /// A list, or a page of it.
        List = "list",
        /// A stream of events.
        Watch = "watch",
    }
    /// How the audit read. Records have the word.
    AuditMethod {
        /// No list could be made, or none of use.
        List = "list",
        /// All, at the version that the watch is at.
        ListExact = "list exact",
        /// The same, since the first time something differed.
        ListExactAgain = "list exact again",
        /// The same, refused since the server's cache has not come so far (504); the audit's version is where the cache is.
        ListExactTooLarge = "list exact too large",
        /// What is there now.
        ListNewest = "list newest",
        /// The newest list is of before what the watch has seen, twice: the revision went back (F33).
        ListNewestTwice = "list newest twice",
        /// What a server listed for its own watch, held against a watch of another one.
        ListElsewhere = "list of another server",
        /// Reads, the first and the last at least 10 s apart, show objects at versions that the stream, which delivered
        /// nothing meanwhile, has not come to (F31); the audit's version is the highest of them.
        AheadTwice = "reads ahead",
        /// How far the server's cache is.
        ListAny = "list any",
        /// The server's cache is behind where the watch was opened, twice (F32).
        ListAnyTwice = "list any twice",
        /// One object, or samples that are not named, by a list of its name at the version that the watch is at.
        ListOne = "list one exact",
        /// Two reads of etcd lack an object at the version at which the watch delivered it (F33).
        ListOneTwice = "list one as told twice",
        /// One object, or samples that are not named, by path: as etcd has them now.
        Get = "get",
        /// One object, by path, of which the watch's stream brought DELETED: etcd has it, with the uid it had (F43).
        GetLeft = "get of what left",
        /// Each object that the watch held at the version, one by one in etcd, for one who asked.
        GetEach = "get each",
        /// What another watch told of the same time (docs/semantics/checks.md#witness): events, and no objects.
        SecondWatch = "second watch",
    }
    /// The result of a comparison by the audit. Records have the word.
    AuditOutcome {
        /// All that was compared is as the watch holds it.
        Agrees = "agrees",
        /// Something is not.
        Differs = "differs",
        /// What was read says neither.
        CannotTell = "cannot-tell",
    }
    /// Whose account a read of the audit is (docs/semantics/checks.md#reads).
    Authority {
        /// etcd's.
        Etcd = "etcd",
        /// It may be that of the apiserver's watch cache.
        PerhapsCache = "perhaps-cache",
    }
    /// Why a read of the audit cannot tell, or what it leaves open: the first of the reasons that its sentence gives.
    AuditReason {
        /// The list may be the watch cache's, and so show what only the cache believes.
        MayBeACaches = "may-be-a-caches",
        /// So may it, and the server refuses to list at an exact resourceVersion.
        RefusesBoth = "may-be-a-caches-and-no-exact-list",
        /// So may it; what differs is looked up in etcd.
        LookedUp = "looked-up",
        /// So may it; it differs in what is known to be wrong.
        KnownDifference = "known-difference",
        /// The versions are those of another apiserver, and only compared for equality.
        OnlyEqual = "only-equal",
        /// The same, and whether what differs is still to come is not known.
        NotEqual = "not-equal",
        /// The same, and a list of several pages need not be of one state.
        PagesUnordered = "pages-unordered",
        /// Versions that are no numbers do not say which is newer.
        Unordered = "unordered",
        /// Where the watch stands is not known as a number.
        NoPosition = "no-position",
        /// The server refuses lists at an exact resourceVersion; the newest is of the watch's.
        RefusesExact = "refuses-exact",
        /// The server refuses to list an object that differs at the watch's resourceVersion.
        CannotConfirm = "cannot-confirm",
        /// The server refuses exact lists, and of the newest list only the first page is compared.
        FirstPageOnly = "first-page-only",
        /// Looking objects up by their paths is not allowed; they were listed by their names.
        RefusesGet = "refuses-get",
        /// The server does not list metadata alone; whole objects were read.
        ListsWhole = "lists-whole",
        /// The watch is too long to be listed as a whole.
        TooLong = "too-long",
        /// What the watch held where it stands is not known.
        NoPast = "no-past",
        /// What was held then can no longer be read or rebuilt.
        Compacted = "compacted",
        /// Items could not be read.
        Unreadable = "unreadable",
        /// Objects have versions that cannot be compared.
        NotComparable = "not-comparable",
        /// The server listed another version than it was asked for.
        OtherVersion = "other-version",
        /// The server refused the read.
        Refused = "refused",
        /// There was no connection to ask over.
        Unreached = "unreached",
        /// There was no answer that could be read.
        NoAnswer = "no-answer",
        /// The watch moved on while it was read.
        MovedOn = "moved-on",
        /// The watch is not streaming.
        NotStreaming = "not-streaming",
        /// The watch was stopped before each object was looked up.
        Stopped = "stopped",
        /// The watch was listed anew before each object was looked up.
        ListedAnew = "listed-anew",
        /// Some objects could not be looked up in etcd.
        NotLookedUp = "not-looked-up",
        /// Some objects changed before they were looked up.
        Changed = "changed",
        /// The object only left the selector.
        OnlyLeft = "only-left",
        /// The watch has not come to the version of a list that differs.
        StandsStill = "stands-still",
        /// The server's cache has not come to the version that was asked for.
        CacheBehind = "cache-behind",
        /// The server knows nothing as new as what the watch was opened at.
        FromTheFuture = "from-the-future",
        /// The newest list is from before what the watch has seen.
        WentBack = "went-back",
        /// Reads show newer objects than the stream has come to.
        ReadsAhead = "reads-ahead",
        /// The list was made by another server.
        OtherServer = "other-server",
        /// A second watch was compared, of a span of versions.
        Span = "span",
        /// A second watch did not deliver some events of this one.
        SecondLacks = "second-lacks",
        /// A second watch delivered events that this one did not.
        SecondHasMore = "second-has-more",
    }
    /// What kind of frame could not become an event.
    FrameLoss {
        /// It cannot be read: no JSON, no UTF-8, or not of the shape of an event or list.
        Malformed = "malformed",
        /// Its object is of another kind than the watch asked for (F39).
        OtherKind = "other-kind",
        /// It is longer than watchscope takes.
        TooLong = "too-long",
        /// It did not end.
        CutShort = "cut-short",
        /// It came after an ERROR event, or after watchscope had ended the stream.
        AfterEnd = "after-end",
        /// It is an item of a list that cannot be read.
        Item = "item",
    }
    /// Whose words tell why a server refused a request.
    ErrorText {
        /// The server's message.
        Message = "message",
        /// The reason of the server's Status: there is no message, or it may quote a Secret and is not kept.
        Reason = "reason",
        /// watchscope's, which name the HTTP status: the server's body says nothing, or may quote a Secret.
        StatusOnly = "status-only",
    }
    /// Where something was lost.
    LossPlace {
        /// Records dropped by the ring.
        Ring = "ring",
        /// Bodies dropped from the body ring.
        Body = "body",
        /// Bytes of a stream that could not become an event.
        Frame = "frame",
        /// Records the log could not take.
        Log = "log",
        /// Records that a history could not write to its file.
        File = "file",
        /// Records that whoever made an extract left out.
        Withheld = "withheld",
    }

    /// What keeps a history from being written.
    DiskTrouble {
        /// There is no room, by the file system, a quota or a limit of the process.
        Full = "full",
        /// It may not be written.
        ReadOnly = "read-only",
        /// The folder or the file was removed.
        Gone = "gone",
        /// It takes writes, and each takes long.
        Slow = "slow",
        /// Anything else.
        Failing = "failing",
    }

    /// One scale of certainty for all.
    Certainty {
        /// Proven.
        Definite = "definite",
        /// All evidence says so.
        Likely = "likely",
        /// Some evidence says so.
        Suspected = "suspected",
    }

    /// How bad a finding is.
    Severity {
        /// Worth knowing.
        Note = "note",
        /// Worth acting on.
        Warning = "warning",
        /// Something failed.
        Error = "error",
        /// The watch and the truth have parted.
        Divergence = "divergence",
    }

    /// The state of a finding or verdict.
    Standing {
        /// New.
        Raised = "raised",
        /// More evidence.
        Updated = "updated",
        /// Confirmed a second time at the same resourceVersion.
        Confirmed = "confirmed",
        /// Over.
        Cleared = "cleared",
    }

    /// The outcome of comparing what a watch holds with what a read returned.
    Divergence {
        /// Held, not in the list.
        Ghost = "ghost",
        /// In the list, not held.
        Missing = "missing",
        /// Held at an older version than the list's.
        Stale = "stale",
        /// Held at a newer version than the list's.
        ListOlder = "list-older",
    }

    /// How far the cacher of a resource is, inside a simulated apiserver.
    CachePhase {
        /// It reads all there is; reads of it wait or are refused.
        Listing = "listing",
        /// It answers, and watches etcd.
        Ready = "ready",
        /// It lost etcd and begins again soon; reads of it are refused.
        Failed = "failed",
    }

    /// How a connection of a simulated network is.
    Way {
        /// What is sent arrives.
        Open = "open",
        /// What is sent is held, and neither side knows.
        Stalled = "stalled",
        /// The server's side is gone; what was under way may still arrive.
        Cut = "cut",
        /// It is gone.
        Closed = "closed",
    }

    /// Who wrote a note.
    Author {
        /// A story's narrator.
        Story = "story",
        /// A person.
        Person = "person",
    }

    /// Why a note of a person was not taken.
    NoteRefusal {
        /// It says nothing, and replaces no note that it would withdraw.
        Empty = "empty",
        /// It is longer than 4 KiB.
        TooLong = "too-long",
        /// Its text is no UTF-8.
        NotText = "not-text",
        /// No watch of the log has this name.
        UnknownWatch = "unknown-watch",
        /// No object has such a name: it is empty or too long.
        BadObject = "bad-object",
        /// Its time ends before it begins, or ends without a begin.
        BadSpan = "bad-span",
        /// What it is to replace is no note of a person that is kept.
        UnknownNote = "unknown-note",
        /// The session wrote ten notes in the last minute.
        TooOften = "too-often",
        /// The log holds as many notes as it may.
        TooMany = "too-many",
        /// Other commands of this viewer, or of all, wait for their answer.
        Busy = "busy",
        /// The log is over: a recording, or a process that ends.
        NotKept = "not-kept-here",
    }
}

impl Severity {
    /// All of them, the least severe first.
    pub const RISING: [Self; 5] = [
        Self::Unknown,
        Self::Note,
        Self::Warning,
        Self::Error,
        Self::Divergence,
    ];

    /// How bad, as a number that rises.
    #[must_use]
    pub fn rank(self) -> usize {
        let place = Self::RISING.iter().position(|&other| other == self);
        place.unwrap_or(0)
    }

    /// The worse of two.
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
    fn numbers_and_words_go_both_ways_and_the_unknown_is_unknown() {
        for &cause in Cause::ALL {
            assert_eq!(Cause::from_number(cause.number()), cause);
        }
        assert_eq!(Cause::from_number(99), Cause::Unknown);
        assert_eq!(Cause::EofInFrame.word(), "eof-in-frame");
    }
}
