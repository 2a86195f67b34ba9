//! The normaliser. Uids, times and resourceVersions become tokens that keep their order, and the headers listed here
//! are dropped. Nothing else changes.
//!
//! Times are in whole seconds. Whether two moments of one exchange share a second is chance, so near times get one
//! token.
//! All times are also kept as they are; [`super::compare::contradictions`] compares the order of any two with the other
//! server's.
//! A server lists managed fields by such seconds. They are checked to be in a server's order, and then listed by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::dialogue::Step;

/// Headers about one connection, one request or one configuration, which say nothing about the protocol.
const DROPPED: &[&str] = &[
    // Random for each request.
    "audit-id",
    // Follow from the length of the body, which varies with uids and versions.
    "content-length",
    "transfer-encoding",
    // The clock's time.
    "date",
    // The uids of the objects of priority and fairness, new in each cluster.
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
];

/// The text before a resourceVersion in an object that a message quotes.
const VERSION_IN_TEXT: &str = "\\\"resourceVersion\\\":\\\"";

/// Seconds below which two moments share one token. A loaded machine may take up to that between two steps.
const SAME_MOMENT_SECS: i64 = 5;

/// A time in a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// The request: `GET /api/v1/…`.
    pub(super) request: String,
    /// The time as the server writes it.
    pub(super) text: String,
    /// Seconds since 1970.
    pub(super) secs: i64,
}

/// A step with its tokens in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// The request: `GET /api/v1/…`.
    pub(super) request: String,
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, Vec<String>>,
    pub(super) body: Vec<Document>,
    pub(super) end: &'static str,
}

/// A body, or a line of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Document {
    Json {
        value: Value,
        /// Whether it is written as Go writes JSON: no spaces, and `<`, `>`, `&` escaped.
        as_go_writes: bool,
        /// Whether a line end follows.
        line_end: bool,
        /// Whether managed fields are in the order that a server keeps.
        managers_in_order: bool,
    },
    Text(String),
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Document::Json { value, .. } => value.fmt(f),
            Document::Text(text) => f.write_str(text),
        }
    }
}

/// Returns a whole transcript with its tokens in place, and its times as the server wrote them.
pub(super) fn normal(steps: &[Step]) -> (Vec<Plain>, Vec<Moment>) {
    let mut gathering = Tokens::default();
    for step in steps {
        plain(step, &mut gathering);
    }
    let mut tokens = gathering.numbered();
    let mut moments = Vec::new();
    let mut normal = Vec::new();
    for step in steps {
        let plain = plain(step, &mut tokens);
        let seen = tokens.seen.drain(..).map(|(text, secs)| Moment {
            request: plain.request.clone(),
            text,
            secs,
        });
        moments.extend(seen);
        normal.push(plain);
    }
    (normal, moments)
}

fn plain(step: &Step, tokens: &mut Tokens) -> Plain {
    let mut request = format!("{} {}", step.ask.method, target(&step.ask.target, tokens));
    if !step.ask.body.is_empty() {
        request.push_str(" with ");
        request.push_str(&document(&step.ask.body, tokens).to_string());
    }
    let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in &step.head.headers {
        if !DROPPED.contains(&name.as_str()) {
            headers.entry(name.clone()).or_default().push(value.clone());
        }
    }
    Plain {
        request,
        status: step.head.status,
        headers,
        body: step
            .body
            .iter()
            .map(|text| document(text, tokens))
            .collect(),
        end: step.end,
    }
}

/// Returns path and query, with tokens for the query's versions and continue tokens.
fn target(target: &str, tokens: &mut Tokens) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let parts: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some(("resourceVersion", value)) => {
                format!("resourceVersion={}", tokens.version(value))
            }
            Some(("continue", value)) => format!("continue={}", tokens.continuation(value)),
            _ => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", parts.join("&"))
}

/// Whether managed fields are in a server's order: by operation, second of the last write, manager, version and
/// subresource (apimachinery's `sortEncodedManagedFields`).
///
/// It then sorts them without the second, since it is chance whether two writes of one exchange share a second.
fn order_managers(value: &mut Value) -> bool {
    let mut in_order = true;
    match value {
        Value::Object(map) => {
            if let Some(Value::Array(entries)) = map.get_mut("managedFields") {
                let key = |entry: &Value, names: [&str; 5]| {
                    names.map(|name| entry[name].as_str().unwrap_or("").to_owned())
                };
                let whole = ["operation", "time", "manager", "apiVersion", "subresource"];
                let timeless = ["operation", "", "manager", "apiVersion", "subresource"];
                in_order = entries.is_sorted_by_key(|entry| key(entry, whole));
                entries.sort_by_key(|entry| key(entry, timeless));
            }
            for value in map.values_mut() {
                in_order &= order_managers(value);
            }
        }
        Value::Array(values) => {
            for value in values {
                in_order &= order_managers(value);
            }
        }
        _ => {}
    }
    in_order
}

fn document(text: &str, tokens: &mut Tokens) -> Document {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return Document::Text(tokens.text(text));
    };
    let line_end = text.ends_with('\n');
    let as_go_writes = go_json(&value) == text.trim_end_matches('\n');
    let managers_in_order = order_managers(&mut value);
    walk(&mut value, "", tokens);
    Document::Json {
        value,
        as_go_writes,
        line_end,
        managers_in_order,
    }
}

/// Returns JSON as Go's encoder writes it.
fn go_json(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

fn walk(value: &mut Value, key: &str, tokens: &mut Tokens) {
    match value {
        Value::String(text) => {
            *text = match key {
                "resourceVersion" => tokens.version(text),
                "continue" => tokens.continuation(text),
                "cells" => tokens.cell(text),
                "message" => tokens.message(text),
                _ => tokens.text(text),
            };
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, key, tokens)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                walk(value, key, tokens);
            }
        }
        _ => {}
    }
}

/// The tokens of a transcript. While values are gathered they stay as they are.
#[derive(Debug, Default)]
struct Tokens {
    numbered: bool,
    versions: BTreeSet<u128>,
    uids: Vec<String>,
    /// The times, in seconds since 1970.
    moments: BTreeSet<i64>,
    /// The times of a step in order, as they are written and in seconds.
    seen: Vec<(String, i64)>,
}

impl Tokens {
    fn numbered(mut self) -> Self {
        self.numbered = true;
        self
    }

    /// Returns a resourceVersion's rank among those of the transcript. A text that is no version of etcd stays.
    fn version(&mut self, text: &str) -> String {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u128>() {
            Ok(number) if is_number && number > 0 && !text.starts_with('0') => self.number(number),
            _ => text.to_owned(),
        }
    }

    fn number(&mut self, number: u128) -> String {
        if !self.numbered {
            self.versions.insert(number);
            return number.to_string();
        }
        format!("v{}", self.versions.range(..=number).count())
    }

    /// Returns a continue token's content as text. A token that does not encode back to the same text stays.
    fn continuation(&mut self, text: &str) -> String {
        let decoded = URL_SAFE_NO_PAD
            .decode(text)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Map<String, Value>>(&bytes).ok());
        let Some(map) = decoded else {
            return text.to_owned();
        };
        let encoded = URL_SAFE_NO_PAD.encode(Value::Object(map.clone()).to_string());
        if encoded != text {
            return text.to_owned();
        }
        let parts: Vec<String> = map
            .iter()
            .map(|(key, value)| match (key.as_str(), value.as_u64()) {
                ("rv", Some(number)) if number > 0 => format!("rv:{}", self.number(number.into())),
                _ => format!("{key}:{value}"),
            })
            .collect();
        format!("token({})", parts.join(","))
    }

    /// Returns a message with tokens. In a message about resourceVersions, each number is a version.
    fn message(&mut self, text: &str) -> String {
        let lower = text.to_lowercase();
        if !lower.contains("resource version:") && !lower.contains("resourceversion in") {
            return self.text(text);
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let digits = rest[start..]
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len() - start);
            out.push_str(&rest[..start]);
            out.push_str(&self.version(&rest[start..start + digits]));
            rest = &rest[start + digits..];
        }
        out.push_str(rest);
        out
    }

    /// Returns a cell of a Table; an age becomes `AGE`.
    fn cell(&mut self, text: &str) -> String {
        let units = text.chars().filter(char::is_ascii_alphabetic).count();
        let is_age = text.starts_with(|c: char| c.is_ascii_digit())
            && text.ends_with(['s', 'm', 'h', 'd', 'y'])
            && text
                .chars()
                .all(|c| c.is_ascii_digit() || "smhdy".contains(c))
            && units <= 2;
        if is_age {
            return "AGE".to_owned();
        }
        // `2 (5m ago)`: the number of restarts, and the age of the last.
        if let Some((count, _)) = text.strip_suffix(" ago)").and_then(|t| t.split_once(" (")) {
            return format!("{count} (AGE ago)");
        }
        self.text(text)
    }

    /// Returns a text with tokens for its uids and times.
    fn text(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(uid) = rest.get(..36).filter(|found| is_uid(found)) {
                out.push_str(&self.uid(uid));
                rest = &rest[36..];
            } else if let Some(rest_of) = rest.strip_prefix(VERSION_IN_TEXT) {
                // An object that a message quotes.
                let digits = rest_of.find('"').unwrap_or(0);
                out.push_str(VERSION_IN_TEXT);
                out.push_str(&self.version(rest_of[..digits].trim_end_matches('\\')));
                rest = &rest_of[rest_of[..digits].trim_end_matches('\\').len()..];
            } else if let Some((secs, length)) = time_at(rest) {
                out.push_str(&self.moment(secs, &rest[..length]));
                rest = &rest[length..];
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out
    }

    fn uid(&mut self, uid: &str) -> String {
        let place = self.uids.iter().position(|known| known == uid);
        let place = place.unwrap_or_else(|| {
            self.uids.push(uid.to_owned());
            self.uids.len() - 1
        });
        format!("uid{}", place + 1)
    }

    fn moment(&mut self, secs: i64, text: &str) -> String {
        if !self.numbered {
            self.moments.insert(secs);
            return text.to_owned();
        }
        self.seen.push((text.to_owned(), secs));
        let mut rank = 0;
        let mut before = None;
        for moment in self.moments.range(..=secs) {
            if before.is_none_or(|before| moment - before > SAME_MOMENT_SECS) {
                rank += 1;
            }
            before = Some(*moment);
        }
        let with_fraction = if text.contains('.') { ".micros" } else { "" };
        format!("time{rank}{with_fraction}")
    }
}

/// Whether a text of 36 bytes has the form `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(i, byte)| match i {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// Returns the RFC 3339 time in UTC at the start of a text: its seconds since 1970, and its length in bytes.
fn time_at(text: &str) -> Option<(i64, usize)> {
    let bytes = text.as_bytes();
    let shape = b"0000-00-00T00:00:00";
    let head = bytes.get(..shape.len())?;
    let fits = head.iter().zip(shape).all(|(byte, wanted)| match wanted {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    });
    if !fits {
        return None;
    }
    let fraction = match bytes.get(19)? {
        b'.' => {
            1 + bytes[20..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        }
        _ => 0,
    };
    if bytes.get(19 + fraction)? != &b'Z' {
        return None;
    }
    let part = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    // Days since 1970. Years begin in March here, so that the leap day is the last of a year.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    let secs = days * 86_400 + part(11, 13)? * 3600 + part(14, 16)? * 60 + part(17, 19)?;
    Some((secs, 20 + fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(texts: &[&str]) -> Vec<String> {
        let mut tokens = Tokens::default();
        for text in texts {
            document(text, &mut tokens);
        }
        let mut tokens = tokens.numbered();
        texts
            .iter()
            .map(|text| document(text, &mut tokens).to_string())
            .collect()
    }

    #[test]
    fn versions_keep_their_order_in_every_place() {
        let token = URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":70,"start":"a\u0000"}"#);
        insta::assert_snapshot!(told(&[
            r#"{"metadata":{"resourceVersion":"900"}}"#,
            &format!(r#"{{"metadata":{{"resourceVersion":"12","continue":"{token}"}}}}"#),
            r#"{"message":"too old resource version: 12 (70)","count":12}"#,
            r#"{"metadata":{"resourceVersion":"0"}}"#,
        ]).join("\n"), @r#"
        {"metadata":{"resourceVersion":"v3"}}
        {"metadata":{"resourceVersion":"v1","continue":"token(v:\"meta.k8s.io/v1\",rv:v2,start:\"a\\u0000\")"}}
        {"message":"too old resource version: v1 (v2)","count":12}
        {"metadata":{"resourceVersion":"0"}}
        "#);
    }

    #[test]
    fn times_within_seconds_are_one_moment_and_a_grace_period_later_is_another() {
        insta::assert_snapshot!(told(&[
            r#"{"a":"2026-11-22T09:00:01Z","b":"2026-11-22T09:00:00.000001Z"}"#,
            r#"{"c":"2026-11-22T09:00:32Z","d":"2024-02-29T23:59:59Z"}"#,
        ]).join("\n"), @r#"
        {"a":"time2","b":"time2.micros"}
        {"c":"time3","d":"time1"}
        "#);
        assert_eq!(time_at("1970-01-01T00:00:00Z"), Some((0, 20)));
        assert_eq!(time_at("2000-03-01T00:00:00Z"), Some((951_868_800, 20)));
    }

    #[test]
    fn managed_fields_are_checked_for_a_servers_order_and_listed_without_their_second() {
        let entry = |manager: &str, time: &str| {
            format!(
                r#"{{"manager":"{manager}","operation":"Update","time":"2026-11-22T09:00:0{time}Z"}}"#
            )
        };
        let document_of = |entries: [String; 2]| {
            let text = format!(r#"{{"managedFields":[{}]}}"#, entries.join(","));
            document(&text, &mut Tokens::default())
        };
        let in_order = |document: &Document| {
            matches!(
                document,
                Document::Json {
                    managers_in_order: true,
                    ..
                }
            )
        };
        let by_time = document_of([entry("b", "1"), entry("a", "2")]);
        assert!(in_order(&by_time), "{by_time:?}");
        assert!(
            by_time
                .to_string()
                .starts_with(r#"{"managedFields":[{"manager":"a""#)
        );
        assert!(in_order(&document_of([entry("a", "1"), entry("b", "1")])));
        assert!(!in_order(&document_of([entry("b", "1"), entry("a", "1")])));
        assert!(!in_order(&document_of([entry("a", "2"), entry("b", "1")])));
    }

    #[test]
    fn uids_are_numbered_in_order_and_ages_are_one_token() {
        insta::assert_snapshot!(told(&[
            r#"{"uid":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","m":"uid 6ba7b810-9dad-11d1-80b4-00c04fd430c8."}"#,
            r#"{"cells":["a","5s","3m20s","<none>",2,"1/1","days"]}"#,
        ]).join("\n"), @r#"
        {"uid":"uid1","m":"uid uid1."}
        {"cells":["a","AGE","AGE","<none>",2,"1/1","days"]}
        "#);
    }

    #[test]
    fn json_that_go_would_write_otherwise_is_detected() {
        let of = |text: &str| document(text, &mut Tokens::default());
        let go = |text: &str| {
            matches!(
                of(text),
                Document::Json {
                    as_go_writes: true,
                    ..
                }
            )
        };
        assert!(go("{\"a\":\"\\u003cb\\u003e\"}\n"));
        assert!(!go("{\"a\":\"<b>\"}\n"));
        assert!(!go("{\"a\": 1}"));
    }
}
