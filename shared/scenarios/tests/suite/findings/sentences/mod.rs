//! The sentences of diagnosis. Each occurs in a story, or only in a script of shared/diagnosis, with the reason.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use watchscope_model::event::Finding;

/// A sentence of diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sentence {
    code: &'static str,
    /// The words that it is known by, with `…` for parts that differ.
    says: &'static str,
    /// Why it occurs in no story; `None` if it does.
    in_no_story: Option<&'static str>,
}

const fn in_story(code: &'static str, says: &'static str) -> Sentence {
    Sentence {
        code,
        says,
        in_no_story: None,
    }
}

const fn in_script(code: &'static str, says: &'static str, why: &'static str) -> Sentence {
    Sentence {
        code,
        says,
        in_no_story: Some(why),
    }
}

/// The reason for sentences about several watches of a type.
const ONE_OF_A_TYPE: &str = "a story has one watch of its type, over a connection of its own";

const SENTENCES: [Sentence; 121] = [
    in_story(
        "F01",
        "reads a closed channel and takes the zero values for events",
    ),
    in_story("F02", "reads a closed channel and goes on"),
    in_story("F03", "returned when its stream ended"),
    in_story("F04", "received nothing more, and nothing reported an end"),
    in_script(
        "F04",
        "its stream did not end at its timeout",
        "simulated servers keep to timeouts; if versions have an order, a second read shows more",
    ),
    in_story(
        "F06",
        "went away … or something on the way closed its connections",
    ),
    in_story(
        "F06",
        "went away … it could not be reached at once, or only at another address",
    ),
    in_story("F07", "ended the stream … because it shuts down"),
    in_story("F08", "The connection of … was reset"),
    in_story("F09", "The server sent GOAWAY, and the stream of"),
    in_story("F10", "were accepted and ended at once"),
    in_story("F11", "no longer has the history that"),
    in_story("F12", "etcd has compacted the history … while others wrote"),
    in_script(
        "F12",
        "etcd has compacted the history",
        "only a type that is quiet for 5 min expires in etcd, and nothing else ends a watch of it meanwhile",
    ),
    in_story("F13", "HTTP status 410 said that the history of … is gone"),
    in_script(
        "F14",
        "learned … that its history is gone, and no list went beyond",
        "after a second 410 or a 504 the probe lists the newest state, and simulated servers return all of it",
    ),
    in_story(
        "F14",
        "No list went beyond … and no watch from there lasted",
    ),
    in_story("F15", "refused … in a row of … with 429: it is overloaded"),
    in_story("F15", "refused … requests in … with 429: it is overloaded"),
    in_story(
        "F15",
        "with 429 for … its cache of the type does not become ready",
    ),
    in_script(
        "F16",
        "etcd had no leader, so the server ended",
        "simulated servers watch all types by a cache",
    ),
    in_story("F16", "its cache of the resource begins anew"),
    in_story("F17", "the storage of its type was rebuilt"),
    in_story(
        "F17",
        "since its definition was edited: the server left it behind",
    ),
    in_story("F18", "was served before, and is not found now"),
    in_story("F19", "watches again without a resourceVersion"),
    in_story("F20", "clients watch without a resourceVersion"),
    in_story(
        "F21",
        "asked for events after … though it holds an object at",
    ),
    in_script(
        "F22",
        "had reached … but a list returned the older state at",
        "simulated servers list no state older than the requested one",
    ),
    in_script(
        "F22",
        "in a list … the list shows an older state",
        "an older list is dropped before its objects are read if versions are numbers, as in simulated servers",
    ),
    in_story("F22", "listed … and got the state at … though"),
    in_story("F23", "DELETED of … carried … though … had reached"),
    in_story(
        "F24",
        "with an ERROR … etcd gave it an event without the previous value",
    ),
    in_story("F24", "Two reads … is held at … and is not in etcd"),
    in_story("F24", "Two reads … is in etcd at … and is not held"),
    in_story("F24", "Two reads … is held at … and etcd has it at"),
    in_story("F24", "About … a second watch delivered"),
    in_story(
        "F24",
        "in a list … the server that answered missed the deletion",
    ),
    in_story(
        "F24",
        "A list at … has … the server that answered has lost an event",
    ),
    in_story("F24", "delivered … reached … without it"),
    in_story(
        "F24",
        "but its ADDED never was: an event was lost on the way",
    ),
    in_story(
        "F24",
        "but the DELETED of the old one never was: an event was lost on the way",
    ),
    in_story("F24", "The generation of … rose by"),
    in_story(
        "F28",
        "The list shows that … disappeared while no stream reported it",
    ),
    in_story("F29", "a second time"),
    in_script(
        "F29",
        "asked for events after … but got",
        "simulated servers begin every watch behind its start version, as the watch cache does",
    ),
    in_story("F30", "was delivered to … at … after"),
    in_story("F31", "delivered … but … has not yet"),
    in_story(
        "F31",
        "Reads showed objects of … and has delivered nothing in",
    ),
    in_story(
        "F31",
        "and does not reach the version of the list: its server is behind, or no events get through",
    ),
    in_story(
        "F32",
        "The watch was opened at … its server knows nothing beyond",
    ),
    in_story(
        "F32",
        "The watch was opened at … Two lists at … apart, were refused (504)",
    ),
    in_story(
        "F33",
        "still come from the time before that. The server's watch cache",
    ),
    in_story(
        "F33",
        "and all … servers agree: etcd went back to an older state",
    ),
    in_script(
        "F33",
        "there is no other server: etcd went back to an older state",
        "stories pin watches to each of two servers, or to none",
    ),
    in_story(
        "F33",
        "A list of the newest state is at … etcd went back to an older state",
    ),
    in_story("F33", "listed … and got the state at … though"),
    in_story("F33", "do not show it: etcd has another history now"),
    in_story(
        "F33",
        "A list at … In one history of etcd … never goes down",
    ),
    in_story("F34", "had no bookmark, though … reached"),
    in_story("F34", "its own events came for … and it had no bookmark"),
    in_script(
        "F35",
        "A bookmark at … came to … but its stream had already reached",
        "simulated servers send a bookmark behind the events that it covers",
    ),
    in_story("F35", "A bookmark said that … had everything up to"),
    in_story("F35", "asked for initial events. None came for"),
    in_story("F35", "reads initial events, but none came for"),
    in_story("F36", "and watchscope itself had not read it for"),
    in_script(
        "F36",
        "events came at once when it resumed",
        "simulated servers fill the buffer of a watch only if we do not read",
    ),
    in_story(
        "F37",
        "before its initial events were complete, and not for the first time",
    ),
    in_story(
        "F37",
        "asked for initial events again: at least two streams ended",
    ),
    in_story(
        "F38",
        "cannot be read or converted, so the server returns nothing of its type",
    ),
    in_script(
        "F38",
        "in a row ended with an ERROR about an object that cannot be read … The lists between them succeeded",
        "a simulated server that cannot convert an object cannot list it either",
    ),
    in_script(
        "F38",
        "watchscope keeps no server's message about Secrets",
        "every simulated Secret can be read",
    ),
    in_script(
        "F38",
        "received data that could not be read; watchscope closed the stream",
        "everything that simulated servers write can be read",
    ),
    in_story("F39", "received an object of another kind"),
    in_story("F40", "does not know its credentials now (401)"),
    in_story(
        "F41",
        "was allowed before, and is forbidden now (403); its stream had gone on",
    ),
    in_story("F41", "was allowed before, and is forbidden now (403)."),
    in_story(
        "F41",
        "goes on: it delivers objects that this account may no longer read",
    ),
    in_story("F42", "it compares different scopes"),
    in_script(
        "F42",
        "which does not watch its namespace",
        "simulated servers deliver to a watch only events of its namespace",
    ),
    in_script(
        "F42",
        "whose selectors do not match it",
        "simulated servers deliver to a watch only events that its selectors match",
    ),
    in_story("F43", "its DELETED only meant that it left the selector"),
    in_story("F43", "but … has it at … it only left the selector."),
    in_story("F43", "a GET of it returned 200 with the same uid"),
    in_story("F44", "The headers of the watch … came after"),
    in_story("F44", "The watch request of … has no answer"),
    in_story(
        "F44",
        "All its servers directly delivered … something on the way holds it back",
    ),
    in_story("F44", "A watch of … has no answer for"),
    in_story(
        "F45",
        "Its event should have been the first of the stream from",
    ),
    in_story("F46", "nothing that it holds changed: a resync"),
    in_story("F47", "ended inside an event"),
    in_story("F48", "returned right after it asked to resume"),
    in_story("F49", "changes of one object were merged"),
    in_story("F50", "The watch request of … over its connection"),
    in_script(
        "F50",
        "The headers of the watch … came after",
        "no stream ends in a story that caps the streams of our connection",
    ),
    in_story("F50", "A watch of … has no answer for"),
    in_script(
        "F04",
        "A connection to … delivered nothing more, and nothing reported an end",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F04",
        "its streams did not end at their timeouts",
        ONE_OF_A_TYPE,
    ),
    in_story("F07", "ended its streams, because it shuts down"),
    in_script("F08", "A connection to … was reset", ONE_OF_A_TYPE),
    in_script(
        "F09",
        "and the streams of that connection ended with it",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F13",
        "With HTTP status 410 … said that history is gone",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F14",
        "repeatedly had no version from which its watches can resume",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F16",
        "ended the streams of … its cache of the resource begins anew",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F16",
        "they read etcd directly, without a cache",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F17",
        "ended the streams of … the storage of the type was rebuilt",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F18",
        "was served by … before, and is not found now",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F31",
        "is behind: others delivered events at least",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F44",
        "Events come late over the configured address",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F06",
        "went away while … had no stream, and its history was lost with it",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F31",
        "Reads showed newer objects than … has delivered to its watches",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F32",
        "Watches were opened at versions that their servers have not reached",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F15",
        "refuses requests for several types with 429",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F37",
        "ended streams of … before their initial events were complete",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F38",
        "could not be read; watchscope closed the streams",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F38",
        "cannot be read or converted, so … returns nothing of its type.",
        ONE_OF_A_TYPE,
    ),
    in_story("F40", "does not know the credentials now (401)"),
    in_script(
        "F41",
        "was allowed at … before, and is forbidden now",
        ONE_OF_A_TYPE,
    ),
    in_story("F44", "Watch requests to … had no answer for"),
    in_script(
        "F47",
        "Streams of a connection to … ended inside an event",
        ONE_OF_A_TYPE,
    ),
    in_script(
        "F50",
        "Watch requests over a connection to … had no answer for",
        ONE_OF_A_TYPE,
    ),
];

/// Returns whether a text has these words in this order.
pub(crate) fn has(text: &str, says: &str) -> bool {
    let mut rest = text;
    says.split(" … ").all(|words| match rest.find(words) {
        Some(place) => {
            rest = &rest[place + words.len()..];
            true
        }
        None => false,
    })
}

/// Returns the sentence of a finding: the first whose words it has.
pub(crate) fn sentence_of(finding: &Finding) -> Option<Sentence> {
    let is_it = |it: &&Sentence| it.code == &*finding.code && has(&finding.summary, it.says);
    SENTENCES.iter().find(is_it).copied()
}

/// Returns what is wrong if stories have these sentences, and no others.
pub(crate) fn unexpected_but(in_stories: &BTreeSet<Sentence>) -> String {
    let mut wrong = String::new();
    for sentence in &SENTENCES {
        let is_in_story = in_stories.contains(sentence);
        if sentence.in_no_story.is_none() != is_in_story {
            let which = if is_in_story { "a" } else { "no" };
            let Sentence { code, says, .. } = sentence;
            writeln!(wrong, "{which} story has the sentence {code} {says:?}").expect("a string");
        }
    }
    wrong
}

/// Words that are added to sentences, or that say why a finding was cleared.
const PARTS: [&str; 53] = [
    "The client sends requests again.",
    "The watch agrees with etcd again.",
    "A list at … differs from what … holds. Its stream is at",
    "A list of the newest state is at … below … which … has seen",
    "and there is no other server",
    "and all … servers agree",
    "Its stream delivered again, or ended.",
    "The newest list is below what the watch has seen: etcd went back, the server's cache is not behind.",
    "of this watch … wrong.",
    "is held at … and is not in etcd",
    "is in etcd at … and is not held",
    "is held at … and etcd has it at",
    "findings are open.",
    "It did not happen again for",
    "clients still watch without a resourceVersion.",
    "The client's loop no longer spins.",
    "The client reads its stream.",
    "takes the zero values for events",
    "Just before that, watchscope itself had not run.",
    "Its definition had just been edited.",
    "It resumed from … nothing was lost.",
    "It listed again; what happened in between is unknown.",
    "It could not resume from its version",
    ". It asked to resume from",
    "while others wrote, so its version expired.",
    "over its connection … open.",
    "It was answered once a stream of its connection had ended (F50).",
    "It was answered though no stream of its connection had ended (F44).",
    "another apiserver may send its headers with its first event",
    "a server sends its headers at once",
    "The server's cache is ready.",
    "It may be listed again.",
    "The server lists the type again.",
    "stream delivers the type again.",
    "It holds … which is gone.",
    "It has caught up",
    "p95 of its lag is",
    "The bookmark that ends the initial events came.",
    "Its stream was dead (F04): nothing could come.",
    "An item of its last list could not be read; that may be the cause.",
    "The stream of … ended {after}.",
    "Two reads at one resourceVersion agree: {what}. The stream never reported it.",
    "runs {per_s} times a second without an open stream and without a request",
    "{} in a row of {}",
    "{server} refused {what} with 429: it is overloaded.",
    "{} was delivered to {} at {}, {why}.",
    "{} at {version}, {} s ago",
    "it was just put there",
    "{}{others}: etcd went back to an older state.",
    "Streams of … at … ended.",
    "Other watches have it from the same cause",
    "Its history was gone with it (410), so it listed again",
    "listed again and may have missed events",
];

/// Returns the texts between quotation marks in a source of diagnosis, without its own tests and without texts that no
/// person reads.
fn texts(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let lines: Vec<&str> = code.lines().filter(|line| !is_comment(line)).collect();
    let code = lines.join("\n");
    let mut texts: Vec<String> = Vec::new();
    for (n, text) in code.split('"').enumerate() {
        if n % 2 == 1 {
            let lines = text.split("\\\n").map(str::trim_start);
            texts.push(lines.collect());
        }
    }
    texts.retain(|text| text.split(' ').count() > 4);
    texts
}

#[test]
fn every_sentence_of_diagnosis_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../diagnosis/src/findings");
    let mut files = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).expect("a folder") {
            let path = file.expect("a file").path();
            let list = if path.is_dir() {
                &mut folders
            } else {
                &mut files
            };
            list.push(path);
        }
    }
    files.sort();
    let (mut wrong, mut all) = (String::new(), Vec::new());
    for file in files {
        let source = std::fs::read_to_string(file).expect("a source");
        all.extend(texts(&source));
    }
    for text in &all {
        let mut known = SENTENCES.iter().map(|sentence| sentence.says).chain(PARTS);
        if !known.any(|says| has(text, says)) {
            writeln!(wrong, "{text:?}").expect("a string");
        }
    }
    for part in PARTS {
        if !all.iter().any(|text| has(text, part)) {
            writeln!(wrong, "no text has {part:?}").expect("a string");
        }
    }
    assert!(all.len() > 80, "{}", all.len());
    assert!(wrong.is_empty(), "not in the list:\n{wrong}");
}
