//! The texts about each row of the failure catalogue: the one source of `watchscope explain` and docs/findings.

use watchscope_model::Row;

/// The texts about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The row.
    pub row: Row,
    /// What the failure is.
    pub what: &'static str,
    /// Why it happens.
    pub cause: &'static str,
    /// How it looks on the wire.
    pub wire: &'static str,
    /// The affected versions.
    pub versions: &'static str,
    /// What a naive client does.
    pub naive: &'static str,
    /// How a correct client reacts.
    pub correct: &'static str,
    /// How to confirm it.
    pub confirm: &'static str,
    /// Sources and further reading.
    pub references: &'static str,
}

/// The heading of the text about the wire. The picture stands under it, too.
const WIRE: &str = "On the wire";

/// Returns the texts about a row.
#[must_use]
pub fn explanation(row: Row) -> &'static Explanation {
    &EXPLANATIONS[row as usize]
}

/// Returns the row whose code is nearest to a typed code: by its number, if it has one.
#[must_use]
pub fn nearest(asked: &str) -> Row {
    let digits: String = asked.chars().filter(char::is_ascii_digit).collect();
    let number = digits.parse::<usize>().unwrap_or(1);
    Row::ALL[number.clamp(1, Row::COUNT) - 1]
}

impl Explanation {
    /// Returns the row's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.row.name()
    }

    /// Returns the texts about the row, each with its heading.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &'static str); 8] {
        [
            ("What it is", self.what),
            ("Root cause", self.cause),
            (WIRE, self.wire),
            ("Versions", self.versions),
            ("A naive client", self.naive),
            ("A correct client", self.correct),
            ("How to confirm", self.confirm),
            ("References", self.references),
        ]
    }

    /// Returns the row's page in docs/findings, where its picture lies beside it.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = format!(
            "# {} {}\n\nSeverity: {}.\n",
            self.row,
            self.name(),
            self.row.usual_severity()
        );
        for (heading, text) in self.parts() {
            page += &format!("\n## {heading}\n\n{text}\n");
            if heading == WIRE {
                let (code, name) = (self.row, self.name());
                page += &format!(
                    "\n![{code} {name}, as its story goes. On the wire: {text}]({code}.svg)\n"
                );
            }
        }
        page
    }
}

#[allow(
    clippy::too_many_arguments,
    reason = "one column each, in the order of the struct"
)]
const fn explain(
    row: Row,
    what: &'static str,
    cause: &'static str,
    wire: &'static str,
    versions: &'static str,
    naive: &'static str,
    correct: &'static str,
    confirm: &'static str,
    references: &'static str,
) -> Explanation {
    Explanation {
        row,
        what,
        cause,
        wire,
        versions,
        naive,
        correct,
        confirm,
        references,
    }
}

/// The text about versions of a failure that all versions have.
const ANY: &str = "Every version.";

/// The texts about all rows, F01 first.
pub const EXPLANATIONS: [Explanation; Row::COUNT] = [
    explain(
        Row::F01,
        "A program reads a watch's result channel after it was closed, and takes the zero values it gets for events.",
        "Reading a closed Go channel never blocks: it yields the zero value, at once, for ever.",
        "The stream ends once; after that nothing more is on the wire.",
        "Any client that reads the channel without asking whether it is open.",
        "Millions of empty events a minute, a busy CPU and a full log, until something else stops it.",
        "Ask whether the channel is closed (`event, ok := <-ch`), and watch again, or use an informer.",
        "The client's iterations rise by more than 1000 a second while it has no open stream and sends no request.",
        "kubernetes/kubernetes e2e test of PersistentVolumeClaims (\"watches ghost you\")",
    ),
    explain(
        Row::F02,
        "A program sees that the channel is closed and goes on with its loop, which reads it again.",
        "`continue` in the branch for a closed channel: the loop never waits and never watches again.",
        "The stream ends once; after that nothing more is on the wire.",
        "Any client written so.",
        "An endless \"channel closed\" in its log, a busy CPU, and a state that stands still.",
        "Leave the loop, and open the watch again where it stopped.",
        "Iterations rise by more than 1000 a second, events handled do not, no request is sent.",
        "client-go watch pitfalls, WatchDeployment v2",
    ),
    explain(
        Row::F03,
        "A program returns when its watch ends, and nobody starts it again.",
        "The end of a watch is taken for the end of the work.",
        "The stream ends; no further request ever comes from this client.",
        "Any client written so.",
        "It goes silent: what it knows is as it was when the stream ended.",
        "A watch may end at any time: watch again from the last resourceVersion, or list and watch.",
        "No request of the client for more than 30 s after the end, while its process lives.",
        "client-go watch pitfalls, WatchDeployment v1",
    ),
    explain(
        Row::F04,
        "A connection is dead and neither side was told.",
        "A NAT or load balancer forgot an idle flow, or a node is gone, without FIN or RST. With HTTP/2 all watches share it.",
        "No bytes, no bookmark, no end, until the kernel gives up: after about 5 minutes where the connection is idle and probed every 30 s, after 13 to 30 minutes where data is under way.",
        "client-go before 1.18.18, 1.19.5 and 1.20.0 waits for the kernel: it sets no deadline of its own from timeoutSeconds. Since then HTTP/2 pings find it after 45 s, and an informer lists, since a lost ping is an ERROR 500 to it.",
        "It believes that all is quiet.",
        "Ping (HTTP/2: after 30 s without a frame, dead 15 s later), or give reads a deadline beyond the bookmarks' period.",
        "A second watch from the same resourceVersion over a new connection brings an event or a later bookmark.",
        "kubernetes/client-go#374, kubernetes/kubernetes#65012, #95981",
    ),
    explain(
        Row::F05,
        "The server ends a watch because its time is over. This is normal.",
        "A watch lives as long as its timeoutSeconds asks; without, 30 to 60 minutes.",
        "Mostly a bookmark about 2 s before, then an orderly end.",
        ANY,
        "What F01, F02 and F03 do.",
        "Resume at once from the last resourceVersion; do not list.",
        "The stream's age is within 2 s of the timeout it asked for.",
        "apiserver endpoints/handlers/get.go",
    ),
    explain(
        Row::F06,
        "An apiserver went away: it was killed or restarted, or a load balancer moved to another.",
        "The process ended without closing its streams in order.",
        "All streams over its connections end together with EOF or reset; dials are refused, or reach another address.",
        ANY,
        "It returns, spins, or lists everything at once with all others.",
        "Resume from the last resourceVersion, with backoff and jitter.",
        "At least four fifths of the streams to one address end within 250 ms; the next dial is refused or goes elsewhere, or all connections are gone and its watch caches begin anew (429).",
        "\"Watches ghost you\"",
    ),
    explain(
        Row::F07,
        "An apiserver shuts down in order and closes its watches.",
        "A rollout of the control plane, with or without a grace period for watches.",
        "Orderly ends; then 429 or 503 that says it shuts down, with Retry-After. A grace period spreads the ends at 200 a second or more: 200 watches end within a second, and 12,000 within the 60 s of a grace period of 60 s.",
        "The grace period for watches exists since 1.27.",
        "It retries at once, again and again.",
        "Honour Retry-After, take a new connection, resume.",
        "The refusal's text says \"shutting down\".",
        "kubernetes/kubernetes#114925",
    ),
    explain(
        Row::F08,
        "A connection was reset.",
        "The peer, or something between, sent RST.",
        "ECONNRESET in the middle of a stream; all streams of that connection end with it.",
        ANY,
        "client-go closes the channel without an error, and logs \"Unable to decode an event\" only with -v=5 or more: what F01, F02 and F03 do follows.",
        "Resume from the last resourceVersion: nothing is lost.",
        "The cause of the end is `tcp-reset`.",
        "client-go watch pitfalls (tcpkill)",
    ),
    explain(
        Row::F09,
        "The server asked for another connection (GOAWAY), and the stream was cut as well.",
        "`--goaway-chance`, or a load balancer that recycles connections. A correct server lets open streams go on.",
        "A GOAWAY frame; new requests take a new connection; here the open streams ended too.",
        "HTTP/2 only. goaway-chance since 1.18.",
        "It takes the frame for a failure.",
        "Keep the stream, send what is new elsewhere; if the stream ends, resume.",
        "A GOAWAY on the connection, then the end of most of its streams.",
        "kubernetes/kubernetes#88567, #73277, #135285",
    ),
    explain(
        Row::F10,
        "The server accepts a watch and ends it at once, again and again, instead of saying that its history is gone.",
        "Some front ends and uncached types signal expiry by a bare close.",
        "200, no event, an end within 2 s; the same for the same resourceVersion.",
        "Reported of Events and of managed front ends.",
        "It reconnects without end from the same resourceVersion and never lists.",
        "After two or three such ends list without a resourceVersion.",
        "Three streams in a row from the same resourceVersion without an event or ERROR.",
        "kubernetes/kubernetes#104171, #137089; fabric8io/kubernetes-client#7896; projectcalico/typha#227",
    ),
    explain(
        Row::F11,
        "The history a watch asked for has left the server's watch cache.",
        "The watch was away while more changes came than the cache keeps (about 75 s of them), or the cache began anew.",
        "200, then an ERROR event with code 410 and \"too old resource version: X (Y)\"; Y is the oldest that can be resumed from.",
        ANY,
        "It crashes, or asks for the same resourceVersion for ever.",
        "List again, compare with what is held, then watch from the list's resourceVersion.",
        "The ERROR's text.",
        "apache/airflow#23521; elastic/beats#6504",
    ),
    explain(
        Row::F12,
        "The history a watch asked for was compacted in etcd.",
        "A type is quiet while others are written, so the resourceVersion of its watch grows old; or the type has no watch cache. On a quiet type bookmarks move only with etcd's progress notifications: every 10 minutes by default, every 5 s where kubeadm or GCE set it.",
        "An ERROR event with code 410: \"The resourceVersion for the provided watch is too old\".",
        "Types without a watch cache at every version; all where bookmarks are not used.",
        "As with F11.",
        "Ask for bookmarks; list again and compare.",
        "The ERROR's text, and a resourceVersion older than 5 minutes.",
        "kubernetes/kubernetes#72187",
    ),
    explain(
        Row::F13,
        "410 came as the status of the answer, where a server answers 200 and says it in the stream.",
        "An aggregated server or a proxy says it in its own way.",
        "HTTP status 410 to a watch request.",
        "Aggregated servers and proxies.",
        "It takes it for a failed request and asks the same again.",
        "Treat it like the ERROR event of F11.",
        "The status of the answer to a watch request.",
        "kube-rs/kube#1042",
    ),
    explain(
        Row::F14,
        "Lists and watches contradict each other: the list is answered from the past, the watch from there is refused.",
        "The list reaches a server whose cache stands still, the watch one that has forgotten that far back.",
        "A list at r, a watch from r, 410; and again.",
        "Several apiservers. Before 1.21 a quiet cache stood still at its list's resourceVersion.",
        "It lists without end.",
        "After the first failure list without a resourceVersion. client-go does so since 1.18.6 and 1.19.0, but its REST layer repeats a list that is answered with 504 for about 40 s before.",
        "Three lists within a minute, each after a 410, that come no further.",
        "kubernetes/kubernetes#133810, #107133, #100745, #91073",
    ),
    explain(
        Row::F15,
        "A server refuses many requests with 429.",
        "It has too much to do: too many requests in flight, or priority and fairness rejects; or its cache of a type does not become ready.",
        "Bursts of 429, mostly with Retry-After.",
        "Priority and fairness since 1.20; 429 of a cache that is not ready since 1.31, where a request waited before.",
        "It asks again at once, or lists although nothing was lost.",
        "Honour Retry-After with jitter, and keep the resourceVersion.",
        "Five refusals of one server within 10 s, or three in a row of one watch; or a cache that is not ready for 20 s.",
        "kubernetes/kubernetes#48610; KEP-4568",
    ),
    explain(
        Row::F16,
        "The server ended all watches of a type, because its cache of that type begins anew.",
        "The cache's own watch of etcd failed: no leader for 3 s, compaction, an event that could not be read.",
        "Orderly ends of all watches of one resource while their connections live; then 429 \"(re)initializing\", before 1.31 no answer until the cache is ready, and then 410.",
        "With no leader all types before 1.25, and since then where there is none for more than 30 s.",
        "All clients list at once.",
        "Resume first, with backoff; list only when told that the history is gone.",
        "The refusal's text, and other types that go on. Where it is ready again at once, the list after the 410: a cache keeps at least 100 events, so a server that stands less than 100 revisions above the oldest one left has dropped none.",
        "kubernetes/kubernetes#111116, #30873, #97294",
    ),
    explain(
        Row::F17,
        "An edit of a CustomResourceDefinition ended the watches of its type. This is by design.",
        "The storage of the type is built anew.",
        "Orderly ends of the watches of one custom resource; 429 or 410 when they come back.",
        "Since 1.15; before, the watches were left open and never heard of anything again.",
        "All clients of the type list at once.",
        "Resume, then list and compare when told to, with jitter. A watch that was left behind is told nothing: list, and watch anew.",
        "The definition changed (generation + 1) at most 130 s before; a watch that was left behind says nothing since, though lists move on. Else the list after the 410, as with F16.",
        "kubernetes/kubernetes#123074, #78029",
    ),
    explain(
        Row::F18,
        "A resource that was watched is not served any more.",
        "Its definition was deleted, or its version is no longer served.",
        "DELETED events, an end, then 404.",
        ANY,
        "It asks without a pause and gets 404 for ever.",
        "Stop the watch, and look at discovery from time to time.",
        "404 after at least one success, and discovery does not list the resource; or 404 again.",
        "apiextensions-apiserver customresource_handler.go",
    ),
    explain(
        Row::F19,
        "A client watches again without a resourceVersion.",
        "It keeps none, or forgot it at its restart.",
        "Everything comes again as ADDED, with no mark at the end; what was deleted in between is never told.",
        "What such a watch begins with depends on the version: docs/semantics/lists-and-watches.md#watch-without-version.",
        "It handles everything twice, and believes in what is gone.",
        "List and watch, or ask for initial events with their end marked and replace what is held.",
        "A watch request without resourceVersion of a client that held objects.",
        "Watch pitfalls, final version; kubernetes/kubernetes#13809",
    ),
    explain(
        Row::F20,
        "Many clients watch without a resourceVersion, and each is a watch of etcd.",
        "In some versions such watches are not served from the watch cache, and share one stream of etcd with it.",
        "Nothing for who causes it; others lag, and etcd gives events without what was there before.",
        "1.27.0 to 1.27.12, 1.28.0 to 1.28.8, 1.29.0 to 1.29.3.",
        "Nothing: it is the others that suffer.",
        "Always send a resourceVersion; upgrade.",
        "Count the open watches without one, and watch bookmarks lag behind the cluster's revision.",
        "kubernetes/kubernetes#123448, #115096, #123532; etcd-io/etcd#16839, #15402",
    ),
    explain(
        Row::F21,
        "A client resumes from the resourceVersion of an initial ADDED event.",
        "Initial events do not come in the order of their versions: the last may be months old.",
        "A watch from far below what the client has seen: replays of old ADDED, MODIFIED and DELETED, or 410.",
        "Any client that takes each event's resourceVersion for its progress.",
        "It handles the DELETED of names that live again.",
        "Take the resourceVersion of the list, or of the bookmark at the end of the initial events.",
        "The request's resourceVersion is below that of an object the client holds.",
        "kubernetes/kubernetes#74022, #49745; kubernetes-client/python#819",
    ),
    explain(
        Row::F22,
        "A list answers with a state from before what was known.",
        "resourceVersion=0 may be answered by any cache, and this one lags: another server, or one that just started.",
        "A list at a lower resourceVersion than was seen; objects at lower versions, or that were seen deleted.",
        "Every version that has more than one apiserver, or a restart.",
        "It goes back in time: creates again what was deleted.",
        "List at least at what is known (NotOlderThan), or without a resourceVersion.",
        "Compare the list's resourceVersion with one seen before it was asked for.",
        "kubernetes/kubernetes#59848, #60478",
    ),
    explain(
        Row::F23,
        "A DELETED event carries the version its object had before, not that of its deletion.",
        "The watch cache sent the previous object unchanged.",
        "DELETED with a resourceVersion not above the last one known of that object.",
        "Before 1.7.13, 1.8.8 and 1.9.3.",
        "It resumes from there and sees history again: ADDED and DELETED of objects that live.",
        "Never let the resourceVersion go back; ignore what is not newer than what is held.",
        "Compare the event's version with that of the object held.",
        "kubernetes/kubernetes#58545, #58547, #63356, #64209",
    ),
    explain(
        Row::F24,
        "The watch cache of a server lost events, and believes in objects that are gone.",
        "etcd delivered an event without its previous value, since that was compacted while the event waited, for about 5 minutes or more; the cache's reflector went on from its last version instead of listing.",
        "Nothing, or an orderly end. The objects stay in lists from the cache and are never deleted on watches.",
        "1.25 and later retry without a list; 1.15 to 1.24 list and heal, and so do 1.12.9, 1.13.6, 1.14.2 and their later patches.",
        "It trusts the cache for ever.",
        "The client cannot end this by itself. Compare the object with etcd (a GET), or list from another server.",
        "A GET without resourceVersion says 404 for an object that the watch still holds.",
        "kubernetes/kubernetes#123072, #76624, #76675, #111387",
    ),
    explain(
        Row::F25,
        "etcd skipped events of a starved watch without a word.",
        "A compacted notice could not be queued, and the watcher was moved beyond it.",
        "Events are missing, with no error.",
        "etcd before 3.4.31 and 3.5.13.",
        "It never notices.",
        "As with F24.",
        "As with F24; or a second watch has more events; or `generation` rises by more than one.",
        "etcd-io/etcd#17529, #17555",
    ),
    explain(
        Row::F26,
        "A deletion came without its object and could not be told.",
        "etcd had compacted the previous value, and the apiserver emitted an unusable event.",
        "Nothing at the clients.",
        "Before 1.12.9, 1.13.6 and 1.14.2.",
        "It keeps the object.",
        "As with F24.",
        "As with F24.",
        "kubernetes/kubernetes#76624",
    ),
    explain(
        Row::F27,
        "A deletion at the very revision of a compaction was lost.",
        "Faults of etcd at the boundary of a compaction.",
        "A watch that resumes exactly there misses the DELETED.",
        "etcd before 3.4.36 and 3.5.18.",
        "It keeps the object.",
        "As with F24.",
        "As with F24; it is the likelier where the watch resumed at a compaction.",
        "etcd-io/etcd#18089, #19179",
    ),
    explain(
        Row::F28,
        "Objects were deleted while nobody watched.",
        "The outage was longer than the history, so the watch began anew with a list.",
        "A relist in which objects that were held are missing.",
        ANY,
        "It believes in ghosts, if it only adds what the list has.",
        "Compare the list with what was held, and treat what is missing as deleted (DeletedFinalStateUnknown).",
        "Held before the list, not in it, and no DELETED came.",
        "client-go DeltaFIFO",
    ),
    explain(
        Row::F29,
        "An event came twice, or history was replayed.",
        "Initial events overlap live ones, or a watch resumed from too early.",
        "The same object at the same version twice; or a version not above where the watch began.",
        "Before 1.14 at the start of watches; etcd before 3.4.24 and 3.5.8.",
        "It does its work twice.",
        "Be idempotent: ignore what is not newer than what is held.",
        "Compare versions with those that came before.",
        "kubernetes/kubernetes#73845; etcd-io/etcd#15274",
    ),
    explain(
        Row::F30,
        "Events came in the wrong order.",
        "A partitioned member of etcd, or a fault of the store.",
        "A version in a stream that is below one before it.",
        "etcd before 3.4.25 and 3.5.8.",
        "It ends with an older state than it knew.",
        "Drop it, and list.",
        "Compare the event's version with the highest of its stream.",
        "etcd-io/etcd#15271; kubernetes/kubernetes#49745",
    ),
    explain(
        Row::F31,
        "Servers are apart: one has not come as far as another.",
        "Each has caches of its own, which progress by themselves.",
        "Bookmarks and lists with different resourceVersions from different addresses.",
        "Every version with more than one apiserver.",
        "It goes back in time when it reconnects.",
        "Resume by resourceVersion.",
        "Watch each server by itself (`watchscope --servers all`), and compare when they reach the same version. Of one address: a stream delivers nothing for 10 s while reads show objects at higher resourceVersions.",
        "KEP-1904; kubernetes/kubernetes#97294",
    ),
    explain(
        Row::F32,
        "A watch asks for a version its server has not reached.",
        "Servers are apart, or etcd was restored to an earlier state.",
        "200, and then silence: nothing comes until the server has passed that version.",
        ANY,
        "It waits, and knows of nothing.",
        "Compare with a list of the same server; list again.",
        "A list of the same server has a lower resourceVersion, for more than 3 s, or the server refuses lists at the resourceVersion that was asked for (504), for 20 s and more; before 1.34 it lists them from etcd. Where the newest list is below what the server sent before, it is F33.",
        "kubernetes/kubernetes#135452, #107457",
    ),
    explain(
        Row::F33,
        "etcd was restored from a backup: its revision went back.",
        "Objects written after the backup are gone, and changed ones are as they were. Where the revision was not raised, watches wait for versions that etcd has yet to give out again.",
        "Without raising the revision: a resume gets 200 and silence (F32), lists are far below what was known. With it: 410, and living objects come back at lower versions in a list above what was known.",
        ANY,
        "It is stale for hours.",
        "Drop everything and begin anew. Restart every apiserver: its watch cache keeps the old state.",
        "A list without a resourceVersion is below what the same server sent before; once every server was asked, it is sure. Or a list has a living object, by its uid, at a lower version than the watch holds it.",
        "kubernetes/kubernetes#107457, #118501; etcd-io/etcd#16028",
    ),
    explain(
        Row::F34,
        "A watch asked for bookmarks and has none.",
        "None are promised. Types without a watch cache (Events) have none; a full buffer drops them; or the connection is dead (F04). On a quiet type they move only with etcd's progress notifications: every 10 minutes by default, every 5 s where kubeadm or GCE set it.",
        "No BOOKMARK for more than 150 s although the cluster has moved on.",
        "Since 1.16, up to 1.18 only one, 2 s before the deadline; since 1.19 about every 60 s, for cached types only. Up to 1.30 none before the cache's first event or progress notification.",
        "Its resourceVersion grows old, and it is told 410 when it comes back.",
        "Do not rely on them.",
        "Other watches have come further, long ago.",
        "KEP-956",
    ),
    explain(
        Row::F35,
        "A bookmark is wrong: it says more than was sent, or the one at the end of initial events never comes.",
        "Progress overtakes events on its way through etcd or the cache.",
        "An event not above an earlier bookmark; or initial events that never end.",
        "etcd before 3.4.25 and 3.5.8.",
        "It loses events when it resumes, or never gets ready.",
        "Take it for a gap and list; fall back to a list.",
        "Compare events with bookmarks before them.",
        "etcd-io/etcd#15220; kubernetes/kubernetes#122805; kcp-dev/kcp#3871",
    ),
    explain(
        Row::F36,
        "The server ended a watch because its reader is too slow.",
        "The reader or the network does not keep up, and the server's buffer of 10 to 1000 events is full.",
        "An orderly end of one stream, of any age, after many events.",
        ANY,
        "It comes back at once and is cut off again, then told 410.",
        "Read fast and work elsewhere; back off.",
        "The reader stalled before the end, or the next stream replays at least 10 events at once: likely, twice in a row too. Certain only where the reader's own slowness was measured.",
        "kubernetes/kubernetes#97798, #116903, #125123",
    ),
    explain(
        Row::F37,
        "A watch that begins with the state never comes to the end of it.",
        "The watch's buffer fills with changes while the initial events are sent.",
        "Streams of initial events that end before the bookmark that marks their end, again and again.",
        "1.32 and later, where watch-list is used.",
        "It begins again without end and never gets ready.",
        "Fall back to a list.",
        "Two streams of initial events without that bookmark.",
        "kubernetes/kubernetes#127553, #129197",
    ),
    explain(
        Row::F38,
        "An object cannot be read or converted, and blocks its whole type.",
        "A broken custom resource, or a conversion webhook that is down.",
        "ERROR 500, or a list that fails with 500, with the same words each time.",
        ANY,
        "It tries every second, and has nothing of the type.",
        "Read each object by itself, and go on without the broken one; surface it.",
        "The same words at least twice; or, of Secrets, of whom no words are kept, five lists in a row.",
        "kubernetes/kubernetes#57705",
    ),
    explain(
        Row::F39,
        "An event brought an object of another kind than was asked for.",
        "A Table, a Status or another version reached a watch that did not ask for it.",
        "A data event whose kind is not that of the watch.",
        ANY,
        "client-go logs it and skips it: what it said is lost.",
        "Count it, and list.",
        "The event's kind.",
        "kubernetes/kubernetes#128867",
    ),
    explain(
        Row::F40,
        "Credentials were rejected when a watch came back.",
        "A token expired or was rotated. An open stream is not checked again, so it shows only now.",
        "A stream that is well; then 401.",
        ANY,
        "It gets 401 for ever, mostly without a word.",
        "Load the credentials anew, once, and try again.",
        "401 after at least one success, and again after that.",
        "bunkerity/bunkerweb#3750",
    ),
    explain(
        Row::F41,
        "Permission was withdrawn while a watch was open.",
        "RBAC changed. An open stream is not checked again: it goes on until it ends.",
        "A stream that is well; then 403.",
        ANY,
        "It goes stale, or asks without end.",
        "Stop and say so.",
        "403 twice in a row for what was allowed before: to list, or to watch.",
        "kubernetes authorization reference",
    ),
    explain(
        Row::F42,
        "Things of different scope were compared, or an object came that was not asked for.",
        "Keys without namespace, or a comparison of a cluster-wide list with a watch of one namespace.",
        "Nothing; or an object of another namespace, or with other labels than the watch's selector asks for.",
        "Any client that keys by name alone.",
        "It finds differences that are none.",
        "Compare only the same resource, namespace and selectors; key by namespace, name and uid.",
        "Compare the paths and selectors of its watches and lists.",
        "kube-rs reflector store",
    ),
    explain(
        Row::F43,
        "An object left the selector of a watch, or came into it.",
        "A label or field changed. The server translates that into DELETED and ADDED.",
        "DELETED of an object that lives; ADDED of an old uid.",
        ANY,
        "It takes it for a deletion.",
        "Take it for leaving and entering the view.",
        "The same uid comes back, another watch still has it, or a GET finds it with that uid.",
        "apiserver storage/cacher",
    ),
    explain(
        Row::F44,
        "Something between buffers the stream.",
        "A proxy keeps what the server sends until its buffer is full.",
        "Headers come late, and events late and together.",
        "Proxies with response buffering.",
        "It seems to hang.",
        "Switch buffering off in the proxy.",
        "Headers more than 10 s after the request, or events 2 s later than by each server directly, again and again.",
        "kubernetes/kubernetes#11678, #75837",
    ),
    explain(
        Row::F45,
        "The first event of a watch is missing.",
        "The watch was registered while the cache began anew.",
        "An event between the list's resourceVersion and the first live one is not there.",
        "Around 1.27; fixed in its patches.",
        "It has a ghost, or misses an object.",
        "Use a fixed server; compare with a list.",
        "A list at the same version differs by an object of exactly that stretch.",
        "kubernetes/kubernetes#116122, #49992",
    ),
    explain(
        Row::F46,
        "A resync was taken for a change.",
        "An informer gives its handlers everything again from time to time, from its own memory.",
        "Nothing.",
        "Informers with a resync period.",
        "It does its work twice.",
        "Ignore updates whose resourceVersion did not change.",
        "Handler calls without an event.",
        "client-go shared informer",
    ),
    explain(
        Row::F47,
        "A stream ended inside an event.",
        "The connection was cut in the middle of a line.",
        "Bytes at the end that are no whole document.",
        ANY,
        "It fails to parse, or drops it and says nothing.",
        "Drop it, and resume from the last whole event: it comes again.",
        "The cause of the end is `eof-in-frame`.",
        "apache/apisix#8144",
    ),
    explain(
        Row::F48,
        "A helper that resumes watches ends when the history is gone.",
        "RetryWatcher cannot list: it passes 410 on and is over. This is by design.",
        "410 in the stream, and no further request.",
        "client-go RetryWatcher, and what is built on it (Until).",
        "It is silent, like F03.",
        "List and begin a new one.",
        "No request for 30 s after a watch that ended at once.",
        "kubernetes/kubernetes#67350",
    ),
    explain(
        Row::F49,
        "Changes of one object were merged before its handler saw them.",
        "Queues keep one entry for each object: whoever is slow sees the last state only. This is by design.",
        "All events are on the wire.",
        "DeltaFIFO up to 1.32, and every work queue.",
        "It counts on seeing each change.",
        "Look at the state, not at the events.",
        "More events than turns of the handler.",
        "client-go DeltaFIFO, workqueue",
    ),
    explain(
        Row::F50,
        "A watch is never answered, because too many share its connection.",
        "The other side allows so many streams over a connection of HTTP/2, mostly 250.",
        "Requests without headers until a stream of the same connection ends.",
        "Aggregated servers behind a proxying apiserver.",
        "Some of its watches hang.",
        "Use more connections.",
        "No headers for 10 s beside a hundred streams of the connection, or until one of its streams ended.",
        "kubernetes/kubernetes#60042",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks facts that were read in the release tags of client-go, apiserver, apimachinery and etcd.
    #[test]
    fn rows_name_the_releases_and_intervals_that_were_read_in_the_sources() {
        for (code, part, fact) in [
            (
                Row::F04,
                "On the wire",
                "about 5 minutes where the connection is idle",
            ),
            (Row::F04, "Versions", "before 1.18.18, 1.19.5 and 1.20.0"),
            (
                Row::F04,
                "Versions",
                "no deadline of its own from timeoutSeconds",
            ),
            (Row::F04, "Versions", "a lost ping is an ERROR 500"),
            (Row::F07, "On the wire", "200 watches end within a second"),
            (Row::F08, "A naive client", "only with -v=5 or more"),
            (Row::F12, "Root cause", "every 10 minutes by default"),
            (Row::F14, "A correct client", "since 1.18.6 and 1.19.0"),
            (Row::F14, "A correct client", "for about 40 s"),
            (Row::F15, "Versions", "not ready since 1.31"),
            (Row::F24, "Root cause", "for about 5 minutes or more"),
            (Row::F24, "Versions", "1.12.9, 1.13.6, 1.14.2"),
            (Row::F26, "Versions", "Before 1.12.9, 1.13.6 and 1.14.2."),
            (Row::F34, "Root cause", "every 10 minutes by default"),
            (
                Row::F34,
                "Versions",
                "Up to 1.30 none before the cache's first event",
            ),
            (Row::F36, "How to confirm", "likely, twice in a row too"),
        ] {
            let row = explanation(code);
            let (_, text) = row
                .parts()
                .into_iter()
                .find(|(heading, _)| *heading == part)
                .expect("a part");
            assert!(text.contains(fact), "{code}, {part}: {fact}");
        }
    }

    #[test]
    fn every_row_is_explained_in_its_place_with_nothing_left_out() {
        for (place, row) in Row::ALL.into_iter().zip(EXPLANATIONS) {
            assert_eq!(row.row, place);
            let texts = [
                row.what,
                row.cause,
                row.wire,
                row.versions,
                row.naive,
                row.correct,
                row.confirm,
            ];
            for text in texts {
                assert!(text.ends_with('.'), "{}: {text}", row.row);
            }
            assert!(!row.references.is_empty(), "{}", row.row);
        }
        let nearest = ["F51", "f7", "411", "x", "F00"].map(nearest);
        assert_eq!(nearest, [Row::F50, Row::F07, Row::F50, Row::F01, Row::F01]);
    }
}
