//! What a lesson says beside its picture: the last lines on the wire, what each client does, and what was found.
//!
//! All of it is read from the records that are shown, as the picture is.

use std::collections::VecDeque;

use serde_json::{Value, json};
use watchscope_model::event::{Event, Finding};
use watchscope_model::vocabulary::{Cause, Origin, Standing};
use watchscope_model::{Entry, Text, Time};

/// The last of these many lines are kept.
const LINES_MOST: usize = 24;
/// Letters of a line.
const LETTERS_MOST: usize = 400;

/// What was heard so far.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    lines: VecDeque<Line>,
    clients: Vec<Client>,
    /// What stands.
    findings: Vec<Finding>,
}

/// Something said between a client and its server.
#[derive(Debug)]
struct Line {
    at: Time,
    who: String,
    /// Whether the client said it.
    asks: bool,
    is_error: bool,
    words: String,
}

/// A client program. As many as a lesson starts.
#[derive(Debug)]
struct Client {
    name: Text,
    program: Text,
    version: Option<Text>,
    phase: Option<Text>,
}

impl Heard {
    /// Takes what is shown next.
    pub(crate) fn take(&mut self, entries: &[Entry]) {
        for entry in entries {
            if let Entry::Record(record) = entry {
                self.hear(&record.event, record.at);
            }
        }
    }

    fn hear(&mut self, event: &Event, at: Time) {
        let asked = |who: &str, words: String| Some((who.to_owned(), true, false, words));
        let told = |who: &str, is_error, words| Some((who.to_owned(), false, is_error, words));
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
                told(&answer.watch.0, true, words)
            }
            Event::ListComplete(list) => {
                let words = format!(
                    "200, resourceVersion {}, {} {}",
                    list.resource_version,
                    list.items,
                    if list.items == 1 { "item" } else { "items" }
                );
                told(&list.watch.0, false, words)
            }
            Event::Change(change) if matches!(change.origin, Origin::Live | Origin::Initial) => {
                let words = frame(
                    change.change.word(),
                    &format!(
                        r#""metadata":{{"name":"{}","resourceVersion":"{}",…}},…"#,
                        change.object.name, change.resource_version
                    ),
                );
                told(&change.watch.0, false, words)
            }
            Event::Bookmark(bookmark) => {
                let version = &bookmark.resource_version;
                let object = format!(r#""metadata":{{"resourceVersion":"{version}",…}},…"#);
                told(&bookmark.watch.0, false, frame("BOOKMARK", &object))
            }
            Event::StreamError(error) => {
                let message = error.message.as_deref().unwrap_or_default();
                let object = format!(r#""code":{},"message":"{message}",…"#, error.code);
                told(&error.watch.0, true, frame("ERROR", &object))
            }
            Event::StreamEnded(ended) => {
                let words = match ended.cause {
                    Cause::End => "the response ends, in order".to_owned(),
                    cause => format!("the response breaks off: {cause}"),
                };
                told(&ended.watch.0, ended.cause != Cause::End, words)
            }
            Event::ClientRequest(request) => asked(&request.client, request.request.clone()),
            Event::ClientStarted(started) => {
                self.clients.push(Client {
                    name: started.client.clone(),
                    program: started.program.clone(),
                    version: started.version.clone(),
                    phase: None,
                });
                None
            }
            Event::ClientReport(report) => {
                let mut clients = self.clients.iter_mut();
                if let Some(client) = clients.find(|client| client.name == report.client) {
                    client.phase = Some(report.phase.clone());
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
        if let Some((who, asks, is_error, words)) = line {
            if self.lines.len() == LINES_MOST {
                self.lines.pop_front();
            }
            self.lines.push_back(Line {
                at,
                who,
                asks,
                is_error,
                words: words.chars().take(LETTERS_MOST).collect(),
            });
        }
    }

    /// The lines, the oldest first.
    pub(crate) fn lines(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            json!({
                "atUs": line.at.0, "who": line.who, "asks": line.asks, "isError": line.is_error,
                "words": line.words,
            })
        });
        lines.collect()
    }

    /// What each client runs and does.
    pub(crate) fn clients(&self) -> Value {
        let clients = self.clients.iter().map(|client| {
            json!({
                "name": &*client.name, "program": &*client.program,
                "version": client.version.as_deref(), "phase": client.phase.as_deref(),
            })
        });
        clients.collect()
    }

    /// What stands, the newest first.
    pub(crate) fn findings(&self) -> Value {
        let findings = self.findings.iter().rev().map(|finding| {
            json!({
                "code": &*finding.code, "name": &*finding.name, "summary": finding.summary,
                "severity": finding.severity.word(), "certainty": finding.certainty.word(),
            })
        });
        findings.collect()
    }
}

/// A watch frame as far as it is of interest.
fn frame(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{{{object}}}}}"#)
}
