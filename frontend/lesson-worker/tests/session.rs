//! A session over the wire: a page gets what a server would send, and going back gives the same again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use serde_json::Value;
use watchscope_lesson_worker::{Session, SessionError};
use watchscope_model::wire::{
    Hello, PROTOCOL_VERSION, ServerMessage, decode_server, encode_client,
};
use watchscope_timeline::inside::beliefs::belief_table;
use watchscope_timeline::{LaneId, Store};

/// A page: takes the session's messages, as the page's source does.
#[derive(Default)]
struct Page {
    store: Store,
    is_resumed: Option<bool>,
}

impl Page {
    /// Connects a page and takes all messages.
    fn join(session: &mut Session, now_ms: f64) -> Self {
        let mut page = Self::default();
        session.read(now_ms);
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            log: None,
            epoch: None,
            last: None,
        };
        session
            .receive(&encode_client(&hello.into()), now_ms)
            .unwrap();
        page.take(session, now_ms);
        page
    }

    fn take(&mut self, session: &mut Session, now_ms: f64) {
        while let Some(message) = session.next(now_ms) {
            match decode_server(&message).unwrap() {
                Some((ServerMessage::Welcome(welcome), _)) => {
                    self.is_resumed = Some(welcome.resumed);
                }
                Some((ServerMessage::Snapshot(_), frame)) => self.store.snapshot(frame).unwrap(),
                Some((ServerMessage::Segment(_), frame)) => {
                    self.store.segment(frame).unwrap();
                }
                // The module itself has no catalogue; a workspace that is built whole has one everywhere.
                Some((ServerMessage::Heartbeat(_) | ServerMessage::Catalogue(_), _)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Returns the seq of its last record.
    fn head(&self) -> u64 {
        self.store.state().unwrap().seq.0
    }
}

fn now(session: &Session) -> Value {
    serde_json::from_str::<Value>(&session.now()).unwrap()["now"].take()
}

#[test]
fn a_page_that_comes_gets_a_snapshot_with_lanes_at_once() {
    let mut session = Session::open("watch-event", None).unwrap();
    let page = Page::join(&mut session, 5.0);
    assert_eq!(page.is_resumed, Some(false));
    assert_eq!(page.store.state().unwrap().watches.len(), 1);
    assert_eq!(now(&session)["at"], 2.0);
    assert_eq!(now(&session)["playing"], false);
}

#[test]
fn it_plays_to_the_next_passage_at_the_chosen_speed_and_stops_there() {
    let mut session = Session::open("watch-event", None).unwrap();
    let mut page = Page::join(&mut session, 0.0);
    session.tick(0.0);
    session.say("speed 10").unwrap();
    session.say("play").unwrap();
    assert!(session.tick(50.0));
    assert_eq!(now(&session)["at"], 2.5);
    let before = page.head();
    for tick in 2..20 {
        session.tick(50.0 * f64::from(tick));
        page.take(&mut session, 50.0 * f64::from(tick));
    }
    let view = now(&session);
    assert_eq!(
        (&view["at"], &view["playing"]),
        (&4.5.into(), &false.into())
    );
    assert_eq!(view["passage"], 1);
    assert!(
        view["found"]
            .as_array()
            .unwrap()
            .iter()
            .all(Value::is_object)
    );
    assert!(page.head() > before);
}

#[test]
fn a_page_that_goes_back_gets_every_record_from_the_first() {
    let mut session = Session::open("ghost", None).unwrap();
    session.say("seek 33").unwrap();
    let run = session.number();
    session.say("seek 12").unwrap();
    assert_ne!(session.number(), run);
    assert_eq!(now(&session)["at"], 12.0);
    let page = Page::join(&mut session, 0.0);
    assert_eq!(page.store.records(), page.head());
    let mut straight = Session::open("ghost", Some(12.0)).unwrap();
    let other = Page::join(&mut straight, 0.0);
    assert!(page.store.state() == other.store.state());
}

#[test]
fn the_text_says_whether_it_tells_of_this_run() {
    let mut session = Session::open("away", None).unwrap();
    assert_eq!(now(&session)["asWritten"], true);
    session.say("break 0").unwrap();
    assert_eq!(now(&session)["asWritten"], false);
    session.say("as-written").unwrap();
    assert_eq!(now(&session)["asWritten"], true);
    assert_eq!(now(&session)["at"], 3.0);
    session.say("seed 7").unwrap();
    assert_eq!(now(&session)["asWritten"], false);
    session.say("seed 1").unwrap();
    session.say("server 1.27").unwrap();
    assert_eq!(now(&session)["server"], "1.27");
    session.say("client 1.19").unwrap();
    assert_eq!(now(&session)["client"], "1.19");
    assert_eq!(now(&session)["asWritten"], false);
}

#[test]
fn every_lesson_runs_with_every_version() {
    let session = Session::open("ghost", None).unwrap();
    let view: Value = serde_json::from_str(&session.lesson()).unwrap();
    let lessons = view["lesson"]["lessons"].as_array().unwrap();
    for name in lessons
        .iter()
        .map(|lesson| lesson["name"].as_str().unwrap())
    {
        let mut session = Session::open(name, None).unwrap();
        for kind in ["server", "client"] {
            for version in view["lesson"][format!("{kind}s")].as_array().unwrap() {
                let version = version.as_str().unwrap();
                session.say(&format!("{kind} {version}")).unwrap();
                session.say("seek 60").unwrap();
                Page::join(&mut session, 0.0);
            }
        }
    }
}

#[test]
fn passages_are_gone_through_forward_and_back() {
    let mut session = Session::open("expired", None).unwrap();
    session.say("next").unwrap();
    assert_eq!(now(&session)["passage"], 1);
    session.say("step").unwrap();
    session.say("previous").unwrap();
    assert_eq!(now(&session)["at"], 12.0);
    Page::join(&mut session, 0.0);
    session.say("previous").unwrap();
    assert_eq!(now(&session)["passage"], 0);
}

#[test]
fn a_time_past_the_end_opens_at_the_end_with_a_note() {
    let session = Session::open("watch-event", Some(1e6)).unwrap();
    let view = now(&session);
    assert_eq!(view["at"], 60.0);
    assert_eq!(
        view["note"],
        "The link is to a time past the end; this is the end, 60 s."
    );
    let session = Session::open("watch-event", Some(60.0)).unwrap();
    assert_eq!(now(&session)["note"], Value::Null);
}

#[test]
fn a_link_to_a_time_after_the_last_record_shows_what_each_side_believes() {
    let known = Session::open("ghost", None).unwrap();
    let view: Value = serde_json::from_str(&known.lesson()).unwrap();
    let lessons = view["lesson"]["lessons"].as_array().unwrap().iter();
    let names = lessons.map(|lesson| lesson["name"].as_str().unwrap());
    let ends = names.map(|name| (name, 1e6));
    for (name, at_s) in ends.chain([("ghost", 37.0), ("away", 60.0), ("watch-event", 30.0)]) {
        let mut session = Session::open(name, Some(at_s)).unwrap();
        let page = Page::join(&mut session, 0.0);
        let table = belief_table(&page.store, LaneId::Findings, None);
        let table = table.unwrap_or_else(|| panic!("{name} at {at_s}: it shows no beliefs"));
        assert!(
            table.columns.len() > 2 && !table.rows.is_empty(),
            "{name} at {at_s}: {table:?}"
        );
    }
}

/// Returns what a client received so far, with the times in seconds.
fn received(session: &Session, who: &str) -> Vec<(f64, String)> {
    let view = now(session);
    let began = view["beginUs"].as_f64().unwrap();
    let lines = view["wire"].as_array().unwrap().iter();
    let lines = lines.filter(|line| line["who"] == who && line["asks"] == false);
    lines
        .map(|line| {
            let at_s = (line["atUs"].as_f64().unwrap() - began) / 1e6;
            (at_s, line["words"].as_str().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn the_wire_has_what_the_clients_receive_too() {
    // naive gets the present objects as ADDED a second time, and no word of report.
    let mut session = Session::open("away", Some(12.5)).unwrap();
    Page::join(&mut session, 0.0);
    let naive = received(&session, "naive");
    let added = |name: &str, from_s: f64| {
        let start = format!(r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{name}","#);
        let of = naive
            .iter()
            .filter(|(at_s, words)| *at_s > from_s && words.starts_with(&start));
        of.count()
    };
    for (name, all, again) in [("prices", 2, 1), ("stock", 2, 1), ("report", 1, 0)] {
        assert_eq!(
            (added(name, 0.0), added(name, 10.0)),
            (all, again),
            "{naive:?}"
        );
    }
    assert!(
        naive.iter().all(|(_, words)| !words.contains("DELETED")),
        "{naive:?}"
    );
    assert!(
        naive
            .iter()
            .any(|(_, words)| words == "the response ends, in order")
    );
    let correct = received(&session, "correct");
    assert!(
        correct.iter().any(|(_, words)| words.contains("DELETED")),
        "{correct:?}"
    );
    assert_eq!(correct[0].1, "200, resourceVersion 8, 3 items");

    // Both clients receive 410 within a stream that was answered with 200.
    let mut session = Session::open("expired", Some(20.0)).unwrap();
    Page::join(&mut session, 0.0);
    for client in ["informer", "naive"] {
        let view = received(&session, client);
        let is_gone = |(_, words): &(f64, String)| {
            words.starts_with(r#"{"type":"ERROR","object":{"code":410,"message":"too old resource version: 9 (11)""#)
        };
        assert!(view.iter().any(is_gone), "{client}: {view:?}");
        let view = now(&session);
        let wrong = view["wire"].as_array().unwrap().iter();
        let mut wrong = wrong.filter(|line| line["who"] == client && line["isError"] == true);
        assert!(wrong.next().is_some());
    }
}

#[test]
fn the_wire_is_in_order_and_keeps_its_last_lines() {
    let mut session = Session::open("expired", Some(44.0)).unwrap();
    Page::join(&mut session, 0.0);
    let view = now(&session);
    let times = view["wire"].as_array().unwrap().iter();
    let times: Vec<u64> = times.map(|line| line["atUs"].as_u64().unwrap()).collect();
    assert_eq!(times.len(), 60);
    assert!(times.is_sorted(), "{times:?}");
    let refused = received(&session, "naive");
    assert!(refused.last().unwrap().0 > 43.0, "{refused:?}");
}

#[test]
fn an_unknown_lesson_or_command_is_refused() {
    let unknown = Session::open("gost", None).err();
    assert_eq!(unknown, Some(SessionError::Lesson(vec!["ghost"])));
    let mut session = Session::open("ghost", None).unwrap();
    for command in [
        "",
        "fly",
        "speed",
        "speed 0",
        "speed 2000",
        "seek -1",
        "seed x",
        "server 1.99",
    ] {
        let refused = SessionError::Command(command.to_owned());
        assert_eq!(session.say(command), Err(refused));
    }
}

#[test]
fn a_reader_is_looked_after_while_nothing_plays() {
    let mut session = Session::open("ghost", None).unwrap();
    Page::join(&mut session, 0.0);
    assert!(session.next(1_000.0).is_none());
    let heartbeat = session.next(20_001.0).unwrap();
    let decoded = decode_server(&heartbeat).unwrap();
    assert!(matches!(decoded, Some((ServerMessage::Heartbeat(_), _))));
}

#[test]
fn the_texts_beside_the_picture_are_of_the_moment_shown() {
    let mut session = Session::open("ghost", Some(22.0)).unwrap();
    Page::join(&mut session, 0.0);
    let view = now(&session);
    let wire = view["wire"].as_array().unwrap();
    let is_deleted = |line: &Value| {
        line["words"].as_str().unwrap().starts_with(
            r#"{"type":"DELETED","object":{"metadata":{"name":"web-1","resourceVersion":"8""#,
        )
    };
    assert!(wire.iter().any(is_deleted), "{wire:?}");
    let phases = |view: &Value| -> Vec<String> {
        let clients = view["clients"].as_array().unwrap().iter();
        clients
            .map(|client| format!("{} {}", client["name"], client["phase"]))
            .collect()
    };
    let then = [
        r#""broken" "spinning""#,
        r#""fixed" "failed""#,
        r#""informer" "watching""#,
    ];
    assert_eq!(phases(&view), then);
    assert_eq!(view["findings"][0]["code"], "F01");
    // Before, none of it was known.
    session.say("seek 5").unwrap();
    Page::join(&mut session, 0.0);
    let view = now(&session);
    assert!(!view["wire"].as_array().unwrap().iter().any(is_deleted));
    assert!(
        phases(&view)
            .iter()
            .all(|client| client.ends_with(r#""watching""#)),
        "{view}"
    );
    assert_eq!(view["findings"], Value::Array(Vec::new()));
}
