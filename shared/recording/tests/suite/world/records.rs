//! Random logs in which watches start, list, stream, break and diverge.

use std::sync::Arc;

use proptest::prelude::*;
use watchscope_model::event::{
    Attribution, Bookmark, Change, Clock, ConnectionClosed, ConnectionOpened, Finding, Gap,
    ListComplete, Loss, Note, RequestAnswered, RequestSent, StreamEnded, StreamError, StreamOpened,
    Verdict, WatchPhase, WatchStarted, WatchStopped,
};
use watchscope_model::field::Headers;
use watchscope_model::id::Owner;
use watchscope_model::vocabulary::{
    Author, Cause, Certainty, ChangeType, Divergence, LossPlace, Origin, Phase, PhaseReason,
    Severity, Standing,
};
use watchscope_model::{
    ConnectionId, Event, Object, Record, RequestId, ResourceVersion, Seq, State, StreamId, Time,
    Uid, WatchName,
};

pub const START: Time = Time(1_763_715_600_000_000);
pub const WATCHES: [&str; 3] = ["shop/pods", "shop/configmaps", "-/nodes"];

pub fn watch() -> impl Strategy<Value = WatchName> {
    prop::sample::select(&WATCHES).prop_map(WatchName::from)
}

fn version() -> impl Strategy<Value = ResourceVersion> {
    (1_000u64..5_000).prop_map(ResourceVersion::Number)
}

fn object() -> impl Strategy<Value = Arc<Object>> {
    ("web-[0-9]{1,2}", 0u8..3).prop_map(|(name, uid)| {
        Arc::new(Object {
            namespace: Some("shop".into()),
            name: name.as_str().into(),
            uid: Uid::Uuid([uid; 16]),
        })
    })
}

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn finding() -> impl Strategy<Value = Event> {
    let subject = (prop::option::of(watch()), word(&["F08", "F11"]));
    let words = (word(Severity::ALL), word(Standing::ALL));
    let names = prop::collection::vec(watch(), 0..3);
    (subject, words, names).prop_map(|((watch, code), (severity, state), names)| {
        Finding {
            code: code.into(),
            candidates: Vec::new(),
            name: "a name".into(),
            severity,
            state,
            certainty: Certainty::Likely,
            watch,
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
            names,
        }
        .into()
    })
}

pub fn event() -> impl Strategy<Value = Event> {
    let change = (
        watch(),
        word(ChangeType::ALL),
        word(Origin::ALL),
        object(),
        version(),
        prop::option::of(object()),
    )
        .prop_map(|(watch, change, origin, object, resource_version, owner)| {
            Change {
                watch,
                stream: Some(StreamId(1)),
                change,
                origin,
                object,
                resource_version,
                generation: Some(2),
                manager: Some("kubelet".into()),
                subresource: None,
                bytes: Some(900),
                stray: None,
                owner: owner.map(|owner| {
                    Owner::new("ReplicaSet".into(), owner.name.clone(), owner.uid.clone())
                }),
            }
            .into()
        });
    let started = watch().prop_map(|watch| {
        WatchStarted {
            watch,
            group: "".into(),
            version: "v1".into(),
            resource: "pods".into(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            server: None,
            aggregated: None,
        }
        .into()
    });
    let ended = (watch(), word(Cause::ALL)).prop_map(|(watch, cause)| {
        StreamEnded {
            watch,
            stream: StreamId(1),
            cause,
            age_ms: 5,
            events: 6,
            bytes: 7,
            reset_code: None,
            unread_ms: None,
        }
        .into()
    });
    let gap = (watch(), word(Cause::ALL), any::<bool>()).prop_map(|(watch, reason, resumed)| {
        Gap {
            watch,
            since: Seq(0),
            from: None,
            to: None,
            reason,
            resumed,
            lost: resumed.then_some(0),
        }
        .into()
    });
    let verdict = (
        watch(),
        object(),
        word(Divergence::ALL),
        word(Standing::ALL),
    )
        .prop_map(|(watch, object, kind, state)| {
            Verdict {
                watch,
                object,
                kind,
                held: None,
                listed: None,
                state,
                certainty: Certainty::Definite,
            }
            .into()
        });
    let answered = (watch(), prop::option::of(400u16..520)).prop_map(|(watch, status)| {
        RequestAnswered {
            watch,
            request: RequestId(1),
            status,
            headers: Headers(Vec::new()),
            retry_after_ms: None,
            error: Some("no".to_owned()),
            error_text: None,
        }
        .into()
    });
    prop_oneof![
        8 => change,
        3 => started,
        1 => watch().prop_map(|watch| WatchStopped { watch, reason: PhaseReason::StopRequested }.into()),
        2 => (watch(), word(Phase::ALL), word(PhaseReason::ALL)).prop_map(|(watch, to, reason)| WatchPhase { watch, from: None, to, reason, delay_ms: None, error: None }.into()),
        1 => (0u64..3).prop_map(|id| ConnectionOpened { connection: ConnectionId(id), server: "s".into(), remote: "r".into(), alpn: None, tls: None, version: None }.into()),
        1 => (0u64..3).prop_map(|id| ConnectionClosed { connection: ConnectionId(id), cause: Cause::End, ping_ms: None }.into()),
        1 => watch().prop_map(|watch| RequestSent { watch, request: RequestId(1), connection: ConnectionId(1), verb: "watch".into(), path: "/api/v1/pods".into(), query: None }.into()),
        1 => answered,
        1 => (watch(), version()).prop_map(|(watch, resource_version)| ListComplete { watch, resource_version, items: 3, added: 1, changed: 1, removed: 0 }.into()),
        1 => watch().prop_map(|watch| StreamOpened { watch, stream: StreamId(1), request: RequestId(1), resource_version: None, http2_stream: None }.into()),
        3 => ended,
        1 => (watch(), version()).prop_map(|(watch, resource_version)| Bookmark { watch, stream: StreamId(1), resource_version, initial_events_end: None }.into()),
        1 => watch().prop_map(|watch| StreamError { watch, stream: StreamId(1), code: 410, reason: Some("Expired".into()), message: None }.into()),
        2 => gap,
        2 => verdict,
        2 => finding(),
        1 => watch().prop_map(|watch| Attribution { watch, stream: StreamId(1), code: "F08".into(), certainty: Certainty::Likely, evidence: vec![Seq(1)] }.into()),
        1 => prop::option::of(watch()).prop_map(|watch| Loss { place: LossPlace::Frame, count: 2, from_seq: None, to_seq: None, watch, bytes: None, reason: None, what: None }.into()),
        1 => (-9i64..9).prop_map(|off_ms| Clock { off_ms, paused_ms: None }.into()),
        1 => "[a-z ]{0,40}".prop_map(|text| Note::new(Author::Story, text).into()),
    ]
}

/// Stamps events one after the other.
pub fn stamped(events: impl IntoIterator<Item = (Event, i64)>) -> Vec<Record> {
    let (mut state, mut at) = (State::default(), START);
    events
        .into_iter()
        .map(|(event, later_us)| {
            at = at.plus_micros(later_us);
            let record = state.stamp(event, at);
            state.apply(&record);
            record
        })
        .collect()
}

pub fn log() -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec((event(), 0i64..5_000_000), 1..120).prop_map(stamped)
}
