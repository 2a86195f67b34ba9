//! The texts of a lesson beside its picture: the last lines on the wire, the state of each client, and the findings.
//!
//! They come from the records that are shown, as the picture does. The messages that client programs receive are not in
//! the log; the simulated cluster returns them beside the records.

use std::collections::VecDeque;
use std::fmt::Display;

use watchscope_model::event::{Event, Finding};
use watchscope_model::vocabulary::{Cause, Origin, Standing};
use watchscope_model::wire::player::{ClientNow, CrowdNow, EndNow, FindingNow, WireLine};
use watchscope_model::{Entry, Time, tree};
use watchscope_scenarios::lessons::{Learned, News};
use watchscope_simulator::{Cut, LogLine, Received, ReceivedRecord, TallyRecord, WireEnd};

use crate::crowd::Crowd;
use crate::learning::Learning;

/// The most lines that are kept; the oldest ones go.
const LINES_MOST: usize = 60;
/// The most ends of watches that are kept; the oldest ones go.
const ENDS_MOST: usize = 24;
/// Ends of watches that are alike share a row within this time. The number has no source.
const TOGETHER_US: i64 = 250_000;
/// The most letters of a line; the rest is cut off.
const LETTERS_MOST: usize = 400;

/// The texts of all records and messages up to the shown moment.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    lines: VecDeque<WireLine>,
    /// The number of all lines so far.
    taken: u64,
    /// The client programs. A lesson bounds their number.
    clients: Vec<ClientNow>,
    learning: Learning,
    /// The ends of the watches of Go programs.
    ends: VecDeque<EndNow>,
    crowd: Crowd,
    /// The findings that are not cleared.
    findings: Vec<Finding>,
}

impl Transcript {
    /// Takes the next entries to show, and the messages that the client programs received meanwhile.
    pub(crate) fn take(&mut self, entries: &[Entry], received: &[(Time, ReceivedRecord)]) {
        // A client sends once it has received: at equal times the answer comes first.
        for (_, record) in received {
            self.learning.take(record);
        }
        for end in received.iter().filter_map(end_of) {
            self.take_end(end);
        }
        let gone = self.ends.len().saturating_sub(ENDS_MOST);
        self.ends.drain(..gone);
        let mut lines: Vec<WireLine> = received.iter().filter_map(line_of_received).collect();
        for entry in entries {
            if let Entry::Record(record) = entry {
                lines.extend(self.hear(&record.event, record.at));
            }
        }
        tree::sort_by(&mut lines, |one, other| one.at.cmp(&other.at));
        self.taken += lines.len() as u64;
        self.lines.extend(lines);
        let gone = self.lines.len().saturating_sub(LINES_MOST);
        self.lines.drain(..gone);
    }

    /// Takes the next counts of all clients' requests, in a lesson with this begin.
    pub(crate) fn count(&mut self, begin: Time, tally: &[(Time, TallyRecord)]) {
        self.crowd.take(begin, tally);
    }

    /// Returns the counts of the last seconds before a time, in a lesson with this begin.
    pub(crate) fn crowd(&self, begin: Time, at: Time) -> Vec<CrowdNow> {
        self.crowd.now(begin, at)
    }

    /// Adds an end of a watch. Ends of several clients that are alike and together share a row.
    fn take_end(&mut self, end: EndNow) {
        let same = self.ends.back_mut().filter(|last| {
            let alike = (&last.wire, &last.line, last.error) == (&end.wire, &end.line, end.error);
            alike && last.who != end.who && end.at.micros_since(last.at) < TOGETHER_US
        });
        match same {
            Some(last) => last.who = format!("{}, {}", last.who, end.who),
            None => self.ends.push_back(end),
        }
    }

    /// Returns the line of an event, if it has one.
    fn hear(&mut self, event: &Event, at: Time) -> Option<WireLine> {
        let asked = |who: &str, words: String| Some((who.to_owned(), true, false, words));
        let line = |who: &str, is_error, words| Some((who.to_owned(), false, is_error, words));
        let line = match event {
            Event::RequestSent(sent) => {
                let query = sent.query.as_deref().filter(|query| !query.is_empty());
                let query = query.map(|query| format!("?{query}")).unwrap_or_default();
                asked(&sent.watch.0, format!("GET {}{query}", sent.path))
            }
            Event::RequestAnswered(answer) if answer.error.is_some() => {
                let status = answer.status.map(|status| format!("{status} "));
                let words = answer.error.as_deref().unwrap_or_default();
                let words = format!("{}{words}", status.unwrap_or_default());
                line(&answer.watch.0, true, words)
            }
            Event::ListComplete(list) => {
                let words = list_words(&list.resource_version, list.items);
                line(&list.watch.0, false, words)
            }
            Event::Change(change) if matches!(change.origin, Origin::Live | Origin::Initial) => {
                let (name, version) = (&change.object.name, &change.resource_version);
                let words = change_words(change.change.word(), name, version);
                line(&change.watch.0, false, words)
            }
            Event::Bookmark(bookmark) => {
                let words = bookmark_words(&bookmark.resource_version);
                line(&bookmark.watch.0, false, words)
            }
            Event::StreamError(error) => {
                let words = error_words(error.code, error.message.as_deref().unwrap_or_default());
                line(&error.watch.0, true, words)
            }
            Event::StreamEnded(ended) => {
                let words = end_words(ended.cause);
                line(&ended.watch.0, ended.cause != Cause::End, words)
            }
            Event::ClientRequest(request) => asked(&request.client, request.request.clone()),
            Event::ClientStarted(started) => {
                let client = ClientNow {
                    name: started.client.to_string(),
                    program: started.program.to_string(),
                    version: started.version.as_ref().map(ToString::to_string),
                    phase: None,
                };
                // A client that starts again, as with a changed line, keeps its place.
                let mut clients = self.clients.iter_mut();
                match clients.find(|known| known.name == client.name) {
                    Some(known) => *known = client,
                    None => self.clients.push(client),
                }
                None
            }
            Event::ClientReport(report) => {
                let mut clients = self.clients.iter_mut();
                if let Some(client) = clients.find(|client| *client.name == *report.client) {
                    client.phase = Some(report.phase.to_string());
                }
                None
            }
            Event::Finding(finding) => {
                let key = finding.key();
                self.findings.retain(|other| other.key() != key);
                if finding.state != Standing::Cleared {
                    self.findings.push(finding.clone());
                }
                None
            }
            _ => None,
        };
        line.map(|(who, asks, is_error, words)| WireLine {
            at,
            who,
            asks,
            is_error,
            words: words.chars().take(LETTERS_MOST).collect(),
        })
    }

    /// Returns the number of all lines so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the lines, the oldest first.
    pub(crate) fn lines(&self) -> Vec<WireLine> {
        self.lines.iter().cloned().collect()
    }

    /// Returns the program and the phase of each client.
    pub(crate) fn clients(&self) -> Vec<ClientNow> {
        self.clients.clone()
    }

    /// Returns the ends of watches, the oldest first.
    pub(crate) fn ends(&self) -> Vec<EndNow> {
        self.ends.iter().cloned().collect()
    }

    /// Returns how a client learned the news so far.
    pub(crate) fn learned(&self, client: &str, news: &News) -> Learned {
        self.learning.of(client, news)
    }

    /// Returns the findings that are not cleared, the newest first.
    pub(crate) fn findings(&self) -> Vec<FindingNow> {
        let findings = self.findings.iter().rev().map(|finding| FindingNow {
            code: finding.code.to_string(),
            name: finding.name.to_string(),
            summary: finding.summary.clone(),
            severity: finding.severity.word().to_owned(),
            certainty: finding.certainty.word().to_owned(),
        });
        findings.collect()
    }
}

/// Returns the end of a watch, if the record is one.
fn end_of((at, record): &(Time, ReceivedRecord)) -> Option<EndNow> {
    let Received::ChannelClosed(end) = &record.received else {
        return None;
    };
    let wire = match end.wire {
        WireEnd::InOrder => "in order",
        WireEnd::Eof => "end of file",
        WireEnd::Reset => "reset",
        WireEnd::GoAway => "GOAWAY, cut",
        WireEnd::StreamReset => "RST_STREAM",
        WireEnd::PingLost => "ping lost",
        WireEnd::Timeout => "timeout",
        WireEnd::Undecodable => "no JSON",
    };
    Some(EndNow {
        at: *at,
        who: record.client.to_string(),
        wire: wire.to_owned(),
        line: match end.line {
            None => String::new(),
            Some(LogLine::Verbose(level)) => format!("-v={level}"),
            Some(LogLine::Error) => "error".to_owned(),
        },
        error: end.error.map(u64::from),
    })
}

/// Returns the line of a message that a client program received; `None` for what is no message.
fn line_of_received((at, record): &(Time, ReceivedRecord)) -> Option<WireLine> {
    let (is_error, words) = match &record.received {
        Received::ConnectionRefused => (true, "connection refused".to_owned()),
        Received::List {
            resource_version,
            names,
        } => (false, list_words(resource_version, names.len() as u64)),
        Received::Refusal { status, message } => (true, format!("{status} {message}")),
        Received::Answer { status } => (false, status.to_string()),
        Received::Change {
            change,
            name,
            resource_version,
        } => (false, change_words(change.word(), name, resource_version)),
        Received::Bookmark { resource_version } => (false, bookmark_words(resource_version)),
        Received::Error { code, message } => (true, error_words((*code).into(), message)),
        Received::Undecodable => (true, "bytes that are no frame".to_owned()),
        Received::End => (false, end_words(Cause::End)),
        Received::Reset => (true, end_words(Cause::RstStream)),
        Received::Closed(Cut::Reset) => (true, end_words(Cause::TcpReset)),
        Received::Closed(Cut::Eof) => (true, end_words(Cause::Eof)),
        Received::ChannelClosed(_) => return None,
    };
    Some(WireLine {
        at: *at,
        who: record.client.to_string(),
        asks: false,
        is_error,
        words: words.chars().take(LETTERS_MOST).collect(),
    })
}

fn list_words(version: impl Display, items: u64) -> String {
    let noun = if items == 1 { "item" } else { "items" };
    format!("200, resourceVersion {version}, {items} {noun}")
}

fn change_words(word: &str, name: &str, version: impl Display) -> String {
    let object = format!(r#""metadata":{{"name":"{name}","resourceVersion":"{version}",…}},…"#);
    frame(word, &object)
}

fn bookmark_words(version: impl Display) -> String {
    let object = format!(r#""metadata":{{"resourceVersion":"{version}",…}},…"#);
    frame("BOOKMARK", &object)
}

fn error_words(code: u64, message: &str) -> String {
    frame(
        "ERROR",
        &format!(r#""code":{code},"message":"{message}",…"#),
    )
}

fn end_words(cause: Cause) -> String {
    match cause {
        Cause::End => "the response ends, in order".to_owned(),
        cause => format!("the response breaks off: {cause}"),
    }
}

/// Returns the interesting part of a watch frame.
fn frame(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{{{object}}}}}"#)
}
