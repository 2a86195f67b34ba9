//! Random logs in chapters, and queries that are parts of their texts.

use std::sync::Arc;

use proptest::prelude::*;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::event::{
    Attribution, Bookmark, Change, Finding, Gap, ListComplete, ListPage, Note, StreamOpened,
    Verdict, WatchStarted,
};
use watchscope_model::vocabulary::{
    Author, Cause, Certainty, ChangeType, Divergence, Origin, Severity, Standing,
};
use watchscope_model::{
    Event, Object, Record, RequestId, ResourceVersion, Seq, State, StreamId, Text, Time, Uid,
};

/// A chapter: the fold before it, its records and its frames.
#[derive(Clone, Debug)]
pub(crate) struct Chapter {
    pub(crate) before: State,
    pub(crate) records: Vec<Record>,
    pub(crate) frames: Vec<u8>,
}

fn version() -> impl Strategy<Value = ResourceVersion> {
    prop_oneof![
        6 => (1_000u64..1_100).prop_map(ResourceVersion::Number),
        2 => (1u64..5_000_000).prop_map(ResourceVersion::Number),
        1 => "[A-Za-z0-9]{0,6}".prop_map(|text| ResourceVersion::parse(&text)),
        1 => (1_000u64..1_100).prop_map(|number| ResourceVersion::from(number).unordered()),
    ]
}

fn object() -> impl Strategy<Value = Arc<Object>> {
    let uid = prop_oneof![
        (0u8..6).prop_map(|uid| Uid::Uuid([uid * 41; 16])),
        "[a-zA-Z]{0,9}".prop_map(|text| Uid::parse(&text)),
    ];
    let name = prop_oneof![8 => "(web|API|ö)-[0-9]{1,2}", 1 => "\\PC{0,8}"];
    (prop::option::of("[ab/]{1,3}"), name, uid).prop_map(|(namespace, name, uid)| {
        Arc::new(Object {
            namespace: namespace.map(Text::from),
            name: name.into(),
            uid,
        })
    })
}

fn change() -> impl Strategy<Value = Event> {
    let manager = prop::option::of("(kubelet|Argo-CD|\\PC{0,4})");
    (object(), version(), manager, any::<bool>()).prop_map(
        |(object, resource_version, manager, is_gone)| {
            let change = if is_gone {
                ChangeType::Deleted
            } else {
                ChangeType::Modified
            };
            Change {
                watch: "shop/pods".into(),
                stream: Some(StreamId(1)),
                change,
                origin: Origin::Live,
                object,
                resource_version,
                generation: None,
                manager: manager.map(Text::from),
                subresource: None,
                bytes: None,
                stray: None,
                owner: None,
            }
            .into()
        },
    )
}

fn finding(code: &str, name: &str) -> Finding {
    Finding {
        code: code.into(),
        candidates: vec!["F02".into()],
        name: name.into(),
        severity: Severity::Warning,
        state: Standing::Raised,
        certainty: Certainty::Likely,
        watch: Some("shop/pods".into()),
        server: None,
        evidence: vec![Seq(1)],
        summary: "what happened".to_owned(),
        client: None,
        count: None,
        since: None,
        worst: None,
        connection: None,
        group: None,
        resource: None,
        watches: None,
        resumed: None,
        relisted: None,
        names: Vec::new(),
    }
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => change(),
        1 => Just(WatchStarted::plain("shop/pods".into(), "", "pods").into()),
        1 => (version(), prop::option::of((object(), version()))).prop_map(|(resource_version, lower)| {
            let (object, listed) = lower.unzip();
            ListPage { watch: "shop/pods".into(), request: RequestId(1), resource_version, items: 1, remaining: None, object, listed }.into()
        }),
        1 => version().prop_map(|resource_version| ListComplete {
            watch: "shop/pods".into(), resource_version, items: 1, added: 0, changed: 1, removed: 0 }.into()),
        1 => prop::option::of(version()).prop_map(|resource_version| StreamOpened {
            watch: "shop/pods".into(), stream: StreamId(1), request: RequestId(1), resource_version, http2_stream: None }.into()),
        1 => version().prop_map(|resource_version| Bookmark {
            watch: "shop/pods".into(), stream: StreamId(1), resource_version, initial_events_end: None }.into()),
        1 => (prop::option::of(version()), prop::option::of(version())).prop_map(|(from, to)| Gap {
            watch: "shop/pods".into(), since: Seq(1), from, to, reason: Cause::ALL[0], resumed: false, lost: None }.into()),
        1 => (object(), prop::option::of(version()), prop::option::of(version())).prop_map(|(object, held, listed)| Verdict {
            watch: "shop/pods".into(), object, kind: Divergence::Ghost, held, listed, state: Standing::Raised, certainty: Certainty::Likely }.into()),
        1 => prop::sample::select(&["F08", "F11", "normal"]).prop_map(|code| Attribution {
            watch: "shop/pods".into(), stream: StreamId(1), code: code.into(), certainty: Certainty::Likely, evidence: vec![] }.into()),
        1 => ("F[01][0-9]", "[a-c ]{1,5}").prop_map(|(code, name)| finding(&code, &name).into()),
        1 => ("\\PC{0,20}", prop::option::of(object())).prop_map(|(text, object)| {
            Note { object, ..Note::new(Author::Person, text) }.into()
        }),
    ]
}

/// Chapters of one run, each with its segments. Only the last chapter may be without a record: a log begins the next
/// chapter when the one before it is full, so no two chapters begin with the same seq.
pub(crate) fn chapters() -> impl Strategy<Value = Vec<Chapter>> {
    let chapter = (
        prop::collection::vec((event(), 0i64..50_000), 0..60),
        1usize..12,
    );
    prop::collection::vec(chapter, 1..4).prop_map(
        |mut chapters: Vec<(Vec<(Event, i64)>, usize)>| {
            let last = chapters.pop();
            chapters.retain(|(events, _)| !events.is_empty());
            chapters.extend(last);
            let mut state = State {
                at: Time(1_763_715_600_000_000),
                ..State::default()
            };
            let (mut writer, mut head) = ChapterWriter::open("demo".into(), "e1".into(), &state);
            let mut out = Vec::new();
            for (events, run) in chapters {
                let before = state.clone();
                let (mut records, mut frames) = (Vec::new(), std::mem::take(&mut head));
                for (event, later) in events {
                    let at = state.at.plus_micros(later);
                    let record = state.stamp(event, at);
                    state.apply(&record);
                    writer.push(&record);
                    records.push(record);
                    if records.len() % run == 0 {
                        frames.extend(writer.seal().unwrap());
                    }
                }
                frames.extend(writer.seal().unwrap_or_default());
                head = writer.open_next(&state);
                out.push(Chapter {
                    before,
                    records,
                    frames,
                });
            }
            out
        },
    )
}

/// A query that is a part of a text of the log, or any other.
pub(crate) fn query_of(chapters: Vec<Chapter>) -> impl Strategy<Value = (Vec<Chapter>, String)> {
    let mut texts: Vec<String> = Vec::new();
    for record in chapters.iter().flat_map(|chapter| &chapter.records) {
        texts.extend(crate::plain::texts_of(&record.event));
    }
    texts.push("web-1".to_owned());
    let part = (
        prop::sample::select(texts),
        any::<prop::sample::Index>(),
        1usize..40,
        any::<bool>(),
    );
    let part = part.prop_map(|(text, from, length, is_upper)| {
        let chars: Vec<char> = text.chars().collect();
        let from = if chars.is_empty() {
            0
        } else {
            from.index(chars.len())
        };
        let part: String = chars.iter().skip(from).take(length).collect();
        let part = if part.is_empty() {
            "x".to_owned()
        } else {
            part
        };
        if is_upper {
            part.to_ascii_uppercase()
        } else {
            part
        }
    });
    let other = prop_oneof![8 => part, 1 => "[a-z0-9/]{1,3}", 1 => "\\PC{1,4}"];
    (Just(chapters), other)
}
