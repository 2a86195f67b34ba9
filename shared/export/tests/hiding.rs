//! Tests that no form has a hidden name: unique words are planted in every kind of text, and searched for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../timeline/tests/suite/common/mod.rs"]
mod common;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use common::{Log, at};
use insta::assert_snapshot;
use watchscope_export::{
    ReportParts, Says, Shown, Size, Taken, charts, csv, html, jsonl, markdown, recording, report,
    svg, trace,
};
use watchscope_hiding::{HiddenPart, Parts, Seed};
use watchscope_model::chapter::ChapterReader;
use watchscope_model::event::*;
use watchscope_model::field::Headers;
use watchscope_model::id::Owner;
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_recording::{Excerpt, Input, Lanes, ReadChapter, Scan, Step, Stretch};
use watchscope_timeline::Theme;

/// Words that name something of the cluster. Each stands in its own kind of text.
const NAMES: [&str; 11] = [
    "quagga",
    "okapi",
    "tapir",
    "dingo",
    "jackal",
    "lemur",
    "walrus",
    "bongo",
    "gecko",
    "ocelot",
    "10.20.30.40",
];
const UID: &str = "5c1f0e7a-1b2c-4d3e-8f90-0123456789ab";

fn object(namespace: Option<&str>, name: &str) -> Arc<Object> {
    Arc::new(Object {
        namespace: namespace.map(Into::into),
        name: name.into(),
        uid: Uid::parse(UID),
    })
}

/// A log in which every kind of text has a name.
fn log() -> Log {
    let mut log = Log::new("a");
    let pods: WatchName =
        "quagga/pods?app in (tapir,x)&metadata.name=okapi-7d9f8b6c4d-x2z5q#2".into();
    let nodes: WatchName = "-/nodes".into();
    log.push(
        0.0,
        ClusterConnected {
            cluster: "walrus".into(),
            server: "https://bongo.example.com:6443/k8s/gecko".into(),
            version: "v1.33.1".into(),
            uid: Some(UID.into()),
        },
    );
    log.push(
        0.1,
        ConnectionOpened {
            connection: ConnectionId(1),
            server: "bongo.example.com:6443".into(),
            remote: "10.20.30.40:6443".into(),
            alpn: Some("h2".into()),
            tls: None,
            version: None,
        },
    );
    for (watch, resource, namespace) in [(&pods, "pods", Some("quagga")), (&nodes, "nodes", None)] {
        log.push(
            0.2,
            WatchStarted {
                namespace: namespace.map(Into::into),
                label_selector: namespace.map(|_| "app in (tapir,x)".into()),
                field_selector: namespace.map(|_| "metadata.name=okapi-7d9f8b6c4d-x2z5q".into()),
                ..WatchStarted::plain(watch.clone(), "", resource)
            },
        );
    }
    let token =
        STANDARD.encode(r#"{"v":"meta.k8s.io/v1","start":"quagga/okapi-7d9f8b6c4d-x2z5q"}"#);
    log.push(
        0.3,
        RequestSent {
            watch: pods.clone(),
            request: RequestId(1),
            connection: ConnectionId(1),
            verb: "list".into(),
            path: "/k8s/gecko/api/v1/namespaces/quagga/pods".into(),
            query: Some(format!(
                "limit=500&continue={token}&labelSelector=app%20in%20%28tapir%2Cx%29"
            )),
        },
    );
    log.push(
        0.4,
        RequestAnswered {
            watch: pods.clone(),
            request: RequestId(1),
            status: Some(403),
            headers: Headers(vec![
                ("audit-id".into(), UID.into()),
                ("warning".into(), "299 - \"jackal is deprecated\"".into()),
            ]),
            retry_after_ms: None,
            error: Some("pods is forbidden: User \"jackal\" cannot list resource \"pods\"".into()),
            error_text: Some(ErrorText::Message),
        },
    );
    log.push(
        0.5,
        WatchPhase {
            watch: pods.clone(),
            from: None,
            to: Phase::Waiting,
            reason: PhaseReason::Unreachable,
            delay_ms: Some(100),
            error: Some("dial tcp 10.20.30.40:6443: connect: connection refused".into()),
        },
    );
    let change = |watch: &WatchName, object, version: u64, owner| Change {
        watch: watch.clone(),
        stream: None,
        change: ChangeType::Added,
        origin: Origin::List,
        object,
        resource_version: version.into(),
        generation: None,
        manager: Some("gecko-controller".into()),
        subresource: None,
        bytes: None,
        stray: None,
        owner,
    };
    let set = Owner::new(
        "ReplicaSet".into(),
        "okapi-7d9f8b6c4d".into(),
        Uid::parse(UID),
    );
    let pod = object(Some("quagga"), "okapi-7d9f8b6c4d-x2z5q");
    log.push(1.0, change(&pods, pod.clone(), 100, Some(set)));
    log.push(1.1, change(&nodes, object(None, "dingo"), 101, None));
    let node = Owner::new("Node".into(), "dingo".into(), Uid::parse(UID));
    log.push(
        1.2,
        change(
            &pods,
            object(Some("quagga"), "lemur-dingo"),
            102,
            Some(node),
        ),
    );
    log.push(
        2.0,
        StreamError {
            watch: pods.clone(),
            stream: StreamId(1),
            code: 410,
            reason: Some("Expired".into()),
            message: Some("too old resource version: 100 (140)".into()),
        },
    );
    log.push(
        2.1,
        Verdict {
            watch: pods.clone(),
            object: pod,
            kind: Divergence::Ghost,
            held: Some(100.into()),
            listed: None,
            state: Standing::Raised,
            certainty: Certainty::Definite,
        },
    );
    log.finding(
        3.0,
        "F11",
        Severity::Error,
        Standing::Raised,
        pods.as_str(),
        "The history that quagga/pods?app in (tapir,x)&metadata.name=okapi-7d9f8b6c4d-x2z5q#2 asked for is gone. It holds \
         quagga/okapi-7d9f8b6c4d-x2z5q, which is gone, at 10.20.30.40:6443.",
    );
    log.push(
        4.0,
        Note {
            watch: Some(pods.clone()),
            object: Some(object(Some("quagga"), "lemur-dingo")),
            replaces: Some(NoteKey {
                log: "log".into(),
                epoch: "a".into(),
                seq: Seq(1),
            }),
            ..Note::new(Author::Person, "okapi in quagga lost its node dingo".into())
        },
    );
    log.push(
        5.0,
        ClientStarted {
            client: "ocelot".into(),
            program: "informer".into(),
            version: None,
        },
    );
    log.push(
        5.1,
        ClientRequest {
            client: "ocelot".into(),
            request: "GET /api/v1/namespaces/quagga/pods/lemur-dingo?watch=true".into(),
        },
    );
    log.push(
        5.2,
        ClientReport {
            client: "ocelot".into(),
            phase: "watching".into(),
            iterations: 1,
            handled: 1,
            belief: Some(format!(
                r#"[{{"resource":"pods","resourceVersion":"102","held":{{"quagga/lemur-dingo":"{UID}@102"}}}}]"#
            )),
        },
    );
    log.push(
        9.0,
        Loss {
            reason: Some("a frame of quagga that jackal sent could not be read".into()),
            ..Loss::of_run(LossPlace::Frame, Seq(1), Seq(1))
        },
    );
    log
}

/// Exports the log from one time on, in three chapters, so that snapshots within it are checked too.
fn taken(from: f64) -> Taken {
    let log = log();
    let (from, to) = (at(from), at(9.0));
    let excerpt = Excerpt::new(Stretch::Times { from, to }, Lanes::All, "0.1.0", 2);
    let count = log.records.len();
    let parts = [(0, 4), (4, 9), (9, count)];
    let runs = excerpt.runs(parts.map(|(first, last)| log.chapter(first, last)));
    Taken::new(from, to, runs.unwrap()).unwrap()
}

fn all() -> Parts {
    HiddenPart::ALL.into_iter().collect()
}

/// Returns every form of an export, and the decoded frames of its recording.
fn forms(taken: &Taken, title: &str) -> Vec<(&'static str, Vec<u8>)> {
    let says = Says {
        title,
        zone_offset_min: 0,
    };
    let size = Size {
        width_px: 1_920,
        height_px: 1_080,
    };
    // A recording whose chapters are not deflated can be searched as it is.
    let file = recording(taken, <[u8]>::to_vec).unwrap();
    let drawn = svg(taken, &says, size, Theme::Light, Shown::All).unwrap();
    let drawn_charts = charts(taken, None, &says, Theme::Light).unwrap();
    let parts = ReportParts {
        says: &says,
        picture: &drawn,
        charts: &drawn_charts,
        context: (taken.from, taken.to),
    };
    let of_report = report(taken, &parts).unwrap();
    let template =
        "{{watchscope:title}}\n{{watchscope:opened}}\nrecording:{{watchscope:recording}}";
    let page = html(template, title, "v=1", &file).unwrap();
    let (said, characters) = page.split_once("\nrecording:").unwrap();
    let held = of_seven_bits(characters);
    assert_eq!(held, file);
    vec![
        ("state", states(&file)),
        ("html", [said.as_bytes(), &held].concat()),
        ("wscope", file),
        ("svg", drawn.into_bytes()),
        ("md", markdown(taken, &says).unwrap().into_bytes()),
        ("csv", csv(taken).unwrap()),
        ("jsonl", jsonl(taken).unwrap()),
        ("trace", trace(taken).unwrap()),
        ("report", of_report.into_bytes()),
    ]
}

/// Decodes characters of seven bits, as assets/single.js does.
fn of_seven_bits(characters: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in characters.chars() {
        let code = u32::from(letter);
        let value = if code < 0x80 { code } else { code - 0xc0 };
        bits = (bits << 7 | value) & 0xffff;
        count += 7;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// Returns the folds at the begin and the end of each chapter, as JSON lines.
fn states(file: &[u8]) -> Vec<u8> {
    let read = |from: u64, length: u64| file[from as usize..(from + length) as usize].to_vec();
    let mut scan = Scan::new(file.len() as u64);
    let mut input = Input::Begin;
    let contents = loop {
        input = match scan.step(input).unwrap() {
            Step::Read { offset, len } => Input::Bytes(read(offset, len as u64)),
            Step::Inflate { bytes, .. } => Input::Inflated(Some(bytes)),
            Step::Done(contents) => break contents,
        };
    };
    let mut lines = Vec::new();
    for entry in &contents.chapters {
        let mut chapter = ReadChapter::new(entry);
        let mut input = Input::Begin;
        let frames = loop {
            input = match chapter.step(input).unwrap() {
                Step::Read { offset, len } => Input::Bytes(read(offset, len as u64)),
                Step::Inflate { bytes, .. } => Input::Inflated(Some(bytes)),
                Step::Done(chapter) => break chapter.frames,
            };
        };
        let (mut reader, opening) = ChapterReader::open(frames.head()).unwrap();
        lines.extend(opening.log.as_str().bytes());
        let mut state = opening.state;
        state.json_lines(&mut lines);
        for segment in frames.segments() {
            let entries = reader.entries(segment).unwrap();
            for entry in entries.into_iter().flatten() {
                if let Entry::Record(record) = entry {
                    state.apply(&record);
                }
            }
        }
        state.json_lines(&mut lines);
    }
    lines
}

/// Returns whether bytes have a word, also in base64.
fn has(bytes: &[u8], word: &str) -> bool {
    let plain = |bytes: &[u8]| {
        bytes
            .windows(word.len())
            .any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
    };
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let runs = bytes
        .split(|byte| !is_base64(byte))
        .filter(|run| run.len() > 8);
    plain(bytes)
        || runs.into_iter().any(|run| {
            (0..4).any(|skipped| {
                let run = &run[skipped.min(run.len())..];
                let run = &run[..run.len() / 4 * 4];
                let decoded = STANDARD
                    .decode(run)
                    .or_else(|_| URL_SAFE_NO_PAD.decode(run));
                decoded.is_ok_and(|decoded| plain(&decoded))
            })
        })
}

#[test]
fn no_hidden_name_is_in_any_form() {
    let title = "okapi in quagga, seen from walrus";
    // From the begin, and from a time at which everything is already open.
    for from in [0.0, 6.0] {
        let shown = forms(&taken(from), title);
        let (hidden, hider) = taken(from).hiding(all(), Seed::new([7; 32])).unwrap();
        let forms = forms(&hidden, &hider.said(title));
        for word in NAMES.into_iter().chain([UID]) {
            let is_there = shown.iter().any(|(_, bytes)| has(bytes, word));
            assert!(is_there, "{word} is nowhere, so that nothing is shown");
            for (form, bytes) in &forms {
                assert!(!has(bytes, word), "{word} is in {form}");
            }
        }
    }
}

#[test]
fn parts_that_are_not_chosen_stay_unchanged() {
    let parts = Parts::default().with(HiddenPart::Namespaces);
    let (hidden, _) = taken(0.0).hiding(parts, Seed::new([7; 32])).unwrap();
    let lines = String::from_utf8(jsonl(&hidden).unwrap()).unwrap();
    let has = |word: &str| lines.contains(word);
    assert!(!has("quagga"));
    // Text between known names is hidden all the same, because jackal may be a name.
    let kept = NAMES
        .into_iter()
        .filter(|name| !["quagga", "jackal", "gecko"].contains(name));
    for name in kept {
        assert!(has(name), "{name}");
    }
}

#[test]
fn hidden_records_are_the_same_with_pseudonyms() {
    let (hidden, _) = taken(0.0).hiding(all(), Seed::new([7; 32])).unwrap();
    let lines = String::from_utf8(jsonl(&hidden).unwrap()).unwrap();
    assert_snapshot!(lines, @r#"
    {"type":"log","log":"cluster-wfzmv9c8","epoch":"a","first":1,"head":18}
    {"type":"cluster.connected","seq":1,"at":"2026-11-19T09:31:00.000000Z","cluster":"cluster-xr52t6bn","server":"https://host-86lqxbnl:6443/host-pwjzqfm4/host-cqff4c7x","version":"v1.33.1","uid":"899239f8-7f16-fef8-41f5-a11194d5bd4f"}
    {"type":"connection.opened","seq":2,"at":"2026-11-19T09:31:00.100000Z","connection":1,"server":"host-86lqxbnl:6443","remote":"host-n9klr6m9:6443","alpn":"h2"}
    {"type":"watch.started","seq":3,"at":"2026-11-19T09:31:00.200000Z","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","group":"","version":"v1","resource":"pods","namespace":"ns-gvn8dtxf","labelSelector":"label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)","fieldSelector":"metadata.name=name-zb5wjcrj-97szsv-ghv72d"}
    {"type":"watch.started","seq":4,"at":"2026-11-19T09:31:00.200000Z","watch":"-/nodes","group":"","version":"v1","resource":"nodes"}
    {"type":"request.sent","seq":5,"at":"2026-11-19T09:31:00.300000Z","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","request":1,"connection":1,"verb":"list","path":"/host-pwjzqfm4/host-cqff4c7x/api/v1/namespaces/ns-gvn8dtxf/pods","query":"limit=500&continue=name-gsjk6jbw&labelSelector=label-kxvlrqsn%20in%20%28label-74jvlg5p%2Clabel-n9zrg9f2%29"}
    {"type":"request.answered","seq":6,"at":"2026-11-19T09:31:00.400000Z","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","request":1,"status":403,"headers":{"audit-id":"899239f8-7f16-fef8-41f5-a11194d5bd4f","warning":"[hidden]"},"error":"[hidden]","errorText":"message"}
    {"type":"watch.phase","seq":7,"at":"2026-11-19T09:31:00.500000Z","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","to":"waiting","reason":"unreachable","delayMs":100,"error":"dial tcp host-n9klr6m9:6443: connect: connection refused"}
    {"type":"change","seq":8,"at":"2026-11-19T09:31:01.000000Z","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","change":"ADDED","origin":"list","namespace":"ns-gvn8dtxf","name":"name-zb5wjcrj-97szsv-ghv72d","uid":"899239f8-7f16-fef8-41f5-a11194d5bd4f","resourceVersion":"100","manager":"[hidden]","owner":{"kind":"ReplicaSet","name":"name-zb5wjcrj-97szsv","uid":"899239f8-7f16-fef8-41f5-a11194d5bd4f"}}
    {"type":"change","seq":9,"at":"2026-11-19T09:31:01.100000Z","watch":"-/nodes","change":"ADDED","origin":"list","name":"node-txtwd4fd","uid":"899239f8-7f16-fef8-41f5-a11194d5bd4f","resourceVersion":"101","manager":"[hidden]"}
    {"type":"change","seq":10,"at":"2026-11-19T09:31:01.200000Z","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","change":"ADDED","origin":"list","namespace":"ns-gvn8dtxf","name":"name-kwqrhv6r-l2bh2w","uid":"899239f8-7f16-fef8-41f5-a11194d5bd4f","resourceVersion":"102","manager":"[hidden]","owner":{"kind":"Node","name":"node-txtwd4fd","uid":"899239f8-7f16-fef8-41f5-a11194d5bd4f"}}
    {"type":"stream.error","seq":11,"at":"2026-11-19T09:31:02.000000Z","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","stream":1,"code":410,"reason":"Expired","message":"too old resource version: 100 (140)"}
    {"type":"verdict","seq":12,"at":"2026-11-19T09:31:02.100000Z","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","namespace":"ns-gvn8dtxf","name":"name-zb5wjcrj-97szsv-ghv72d","uid":"899239f8-7f16-fef8-41f5-a11194d5bd4f","kind":"ghost","held":"100","state":"raised","certainty":"definite"}
    {"type":"finding","seq":13,"at":"2026-11-19T09:31:03.000000Z","code":"F11","name":"F11 name","severity":"error","state":"raised","certainty":"likely","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","evidence":[1],"summary":"The history that ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2 asked for is gone. It holds ns-gvn8dtxf/name-zb5wjcrj-97szsv-ghv72d, which is gone, at host-n9klr6m9:6443."}
    {"type":"note","seq":14,"at":"2026-11-19T09:31:04.000000Z","author":"person","text":"name-zb5wjcrj in ns-gvn8dtxf lost its node node-txtwd4fd","watch":"ns-gvn8dtxf/pods?label-kxvlrqsn in (label-74jvlg5p,label-n9zrg9f2)&metadata.name=name-zb5wjcrj-97szsv-ghv72d#2","namespace":"ns-gvn8dtxf","name":"name-kwqrhv6r-l2bh2w","uid":"899239f8-7f16-fef8-41f5-a11194d5bd4f","replaces":{"log":"cluster-wfzmv9c8","epoch":"a","seq":1}}
    {"type":"client.started","seq":15,"at":"2026-11-19T09:31:05.000000Z","client":"name-nzgdfs7v","program":"informer"}
    {"type":"client.request","seq":16,"at":"2026-11-19T09:31:05.100000Z","client":"name-nzgdfs7v","request":"GET /api/v1/namespaces/ns-gvn8dtxf/pods/name-kwqrhv6r-l2bh2w?watch=true"}
    {"type":"client.report","seq":17,"at":"2026-11-19T09:31:05.200000Z","client":"name-nzgdfs7v","phase":"watching","iterations":1,"handled":1,"belief":"[{\"resource\":\"pods\",\"resourceVersion\":\"102\",\"held\":{\"ns-gvn8dtxf/name-kwqrhv6r-l2bh2w\":\"899239f8-7f16-fef8-41f5-a11194d5bd4f@102\"}}]"}
    {"type":"loss","seq":18,"at":"2026-11-19T09:31:09.000000Z","where":"frame","count":1,"fromSeq":1,"toSeq":1,"reason":"[hidden]"}
    "#);
    let (again, _) = taken(0.0).hiding(all(), Seed::new([7; 32])).unwrap();
    assert_eq!(jsonl(&hidden).unwrap(), jsonl(&again).unwrap());
    let (other, _) = taken(0.0).hiding(all(), Seed::new([8; 32])).unwrap();
    assert_ne!(jsonl(&hidden).unwrap(), jsonl(&other).unwrap());
}
