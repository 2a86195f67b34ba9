//! A session over the wire: a page gets what a server would send, and going back gives the same again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod page;

use watchscope_lesson_worker::{Session, SessionError};
use watchscope_model::wire::player::{
    Answer, AsWritten, Break, LessonCommand, LessonNow, MoveAct, NextPassage, Play,
    PreviousPassage, Seek, SetClient, SetSeed, SetServer, SetSpeed, Step, WireLine, decode_lesson,
    encode_lesson,
};
use watchscope_model::wire::{ServerMessage, decode_server};
use watchscope_scenarios::lessons::english_json;
use watchscope_timeline::LaneId;
use watchscope_timeline::inside::beliefs::belief_table;

use self::page::{Page, at_s, index, moved, now, open, open_link, received, seek};

#[test]
fn a_page_that_comes_gets_a_snapshot_with_lanes_at_once() {
    let mut session = open("watch-event", None);
    let page = Page::join(&mut session, 5.0);
    assert_eq!(page.is_resumed, Some(false));
    assert_eq!(page.store.state().unwrap().watches.len(), 1);
    assert_eq!(at_s(&session), 2.0);
    assert!(!now(&session).is_playing);
}

#[test]
fn it_plays_to_the_next_passage_at_the_chosen_speed_and_stops_there() {
    let mut session = open("watch-event", None);
    let mut page = Page::join(&mut session, 0.0);
    session
        .say(
            SetSpeed {
                thousandths: 10_000,
            }
            .into(),
        )
        .unwrap();
    session.say(Play {}.into()).unwrap();
    session.tick(0.0);
    assert!(session.tick(50.0));
    assert_eq!(at_s(&session), 2.5);
    let before = page.head();
    for tick in 2..20 {
        session.tick(50.0 * f64::from(tick));
        page.take(&mut session, 50.0 * f64::from(tick));
    }
    let view = now(&session);
    assert_eq!((view.at_us, view.is_playing), (4_500_000, false));
    assert_eq!(view.passage, 1);
    assert!(view.moments.iter().all(|moment| moment.seq.is_some()));
    assert!(page.head() > before);
}

#[test]
fn a_page_that_goes_back_gets_every_record_from_the_first() {
    let mut session = open("ghost", None);
    session.say(seek(33.0)).unwrap();
    let run = session.number();
    session.say(seek(12.0)).unwrap();
    assert_ne!(session.number(), run);
    assert_eq!(at_s(&session), 12.0);
    let page = Page::join(&mut session, 0.0);
    assert_eq!(page.store.records(), page.head());
    let mut straight = open("ghost", Some(12.0));
    let other = Page::join(&mut straight, 0.0);
    assert!(page.store.state() == other.store.state());
}

#[test]
fn the_text_says_whether_it_tells_of_this_run() {
    let mut session = open("away", None);
    assert!(now(&session).is_as_written);
    session.say(Break { place: 0 }.into()).unwrap();
    assert!(!now(&session).is_as_written);
    session.say(AsWritten {}.into()).unwrap();
    assert!(now(&session).is_as_written);
    assert_eq!(at_s(&session), 3.0);
    session.say(SetSeed { seed: 7 }.into()).unwrap();
    assert!(!now(&session).is_as_written);
    session.say(SetSeed { seed: 1 }.into()).unwrap();
    session
        .say(
            SetServer {
                version: "1.27".into(),
            }
            .into(),
        )
        .unwrap();
    assert_eq!(now(&session).server, "1.27");
    session
        .say(
            SetClient {
                version: "1.19".into(),
            }
            .into(),
        )
        .unwrap();
    assert_eq!(now(&session).client, "1.19");
    assert!(!now(&session).is_as_written);
}

#[test]
fn every_lesson_runs_with_every_version() {
    let session = open("ghost", None);
    let text = session.lesson();
    assert_eq!(decode_lesson(&encode_lesson(&text)).as_ref(), Ok(&text));
    let servers = text.servers.iter().cloned();
    let servers = servers.map(|version| LessonCommand::from(SetServer { version }));
    let clients = text.clients.iter().cloned();
    let clients = clients.map(|version| LessonCommand::from(SetClient { version }));
    let versions: Vec<LessonCommand> = servers.chain(clients).collect();
    for lesson in &text.lessons {
        let mut session = open(&lesson.name, None);
        for version in &versions {
            session.say(version.clone()).unwrap();
            session.say(seek(60.0)).unwrap();
            Page::join(&mut session, 0.0);
        }
    }
}

#[test]
fn passages_are_gone_through_forward_and_back() {
    let mut session = open("expired", None);
    session.say(NextPassage {}.into()).unwrap();
    assert_eq!(now(&session).passage, 1);
    session.say(Step {}.into()).unwrap();
    session.say(PreviousPassage {}.into()).unwrap();
    assert_eq!(at_s(&session), 12.0);
    Page::join(&mut session, 0.0);
    session.say(PreviousPassage {}.into()).unwrap();
    assert_eq!(now(&session).passage, 0);
}

#[test]
fn a_time_past_the_end_opens_at_the_end_with_a_note() {
    let session = open("watch-event", Some(1e6));
    let view = now(&session);
    assert_eq!(view.at_us, 60_000_000);
    assert_eq!(
        view.note.as_deref(),
        Some("The link is to a time past the end; this is the end, 60 s.")
    );
    let session = open("watch-event", Some(60.0));
    assert_eq!(now(&session).note, None);
}

#[test]
fn a_link_to_a_time_after_the_last_record_shows_what_each_side_believes() {
    let known = open("ghost", None);
    let text = known.lesson();
    let ends = text.lessons.iter().map(|lesson| (&*lesson.name, 1e6));
    for (name, at_s) in ends.chain([("ghost", 37.0), ("away", 60.0), ("watch-event", 30.0)]) {
        let mut session = open(name, Some(at_s));
        let page = Page::join(&mut session, 0.0);
        let table = belief_table(&page.store, LaneId::Findings, None);
        let table = table.unwrap_or_else(|| panic!("{name} at {at_s}: it shows no beliefs"));
        assert!(
            table.columns.len() > 2 && !table.rows.is_empty(),
            "{name} at {at_s}: {table:?}"
        );
    }
}

#[test]
fn the_wire_has_what_the_clients_receive_too() {
    // naive gets the present objects as ADDED a second time, and no word of report.
    let mut session = open("away", Some(12.5));
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
    let mut session = open("expired", Some(20.0));
    Page::join(&mut session, 0.0);
    for client in ["informer", "naive"] {
        let view = received(&session, client);
        let is_gone = |(_, words): &(f64, String)| {
            words.starts_with(r#"{"type":"ERROR","object":{"code":410,"message":"too old resource version: 9 (11)""#)
        };
        assert!(view.iter().any(is_gone), "{client}: {view:?}");
        let view = now(&session);
        let mut wire = view.wire.iter();
        assert!(wire.any(|line| line.who == client && line.is_error));
    }
}

#[test]
fn the_wire_is_in_order_and_keeps_its_last_lines() {
    let mut session = open("expired", Some(44.0));
    Page::join(&mut session, 0.0);
    let view = now(&session);
    let times: Vec<_> = view.wire.iter().map(|line| line.at).collect();
    assert_eq!(times.len(), 60);
    assert!(times.is_sorted(), "{times:?}");
    let refused = received(&session, "naive");
    assert!(refused.last().unwrap().0 > 43.0, "{refused:?}");
}

#[test]
fn texts_of_another_lesson_are_refused_by_name_and_key() {
    let away = english_json("away").unwrap();
    let refused = |texts: &str, index: &str| match Session::open("#lesson=ghost", texts, index) {
        Err(SessionError::Texts(error)) => error.to_string(),
        _ => panic!("it opens"),
    };
    let error = refused(away, &index());
    assert_eq!(error, "texts of ghost: passages.wait is missing");
    let ghost = english_json("ghost").unwrap();
    let error = refused(ghost, "{}");
    assert_eq!(error, "texts of index: watch-event is missing");
    let error = refused("<!doctype html>", &index());
    assert_eq!(
        error,
        "texts of ghost: no JSON: expected value at line 1 column 1"
    );
}

#[test]
fn an_unknown_command_is_refused() {
    let mut session = open("ghost", None);
    let version = || "1.99".to_owned();
    for command in [
        LessonCommand::from(SetSpeed { thousandths: 0 }),
        SetSpeed {
            thousandths: 2_000_000,
        }
        .into(),
        Seek { to_us: -1 }.into(),
        SetServer { version: version() }.into(),
        SetClient { version: version() }.into(),
        MoveAct { act: 9, to_us: 0 }.into(),
        Answer {
            passage: 99,
            answer: 0,
        }
        .into(),
    ] {
        let refused = SessionError::Command(command.clone());
        assert_eq!(session.say(command), Err(refused));
    }
}

#[test]
fn a_reader_is_looked_after_while_nothing_plays() {
    let mut session = open("ghost", None);
    Page::join(&mut session, 0.0);
    assert!(session.next(1_000.0).is_none());
    let heartbeat = session.next(20_001.0).unwrap();
    let decoded = decode_server(&heartbeat).unwrap();
    assert!(matches!(decoded, Some((ServerMessage::Heartbeat(_), _))));
}

#[test]
fn the_texts_beside_the_picture_are_of_the_moment_shown() {
    let mut session = open("ghost", Some(22.0));
    Page::join(&mut session, 0.0);
    let view = now(&session);
    let is_deleted = |line: &WireLine| {
        line.words.starts_with(
            r#"{"type":"DELETED","object":{"metadata":{"name":"web-1","resourceVersion":"8""#,
        )
    };
    assert!(view.wire.iter().any(is_deleted), "{view:?}");
    let phases = |view: &LessonNow| -> Vec<(String, Option<String>)> {
        let clients = view.clients.iter();
        clients
            .map(|client| (client.name.clone(), client.phase.clone()))
            .collect()
    };
    let then = [
        ("broken", "spinning"),
        ("fixed", "failed"),
        ("informer", "watching"),
    ];
    let then = then.map(|(name, phase)| (name.to_owned(), Some(phase.to_owned())));
    assert_eq!(phases(&view), then);
    assert_eq!(view.findings[0].code, "F01");
    // Before, none of it was known.
    session.say(seek(5.0)).unwrap();
    Page::join(&mut session, 0.0);
    let view = now(&session);
    assert!(!view.wire.iter().any(is_deleted));
    let mut clients = view.clients.iter();
    assert!(clients.all(|client| client.phase.as_deref() == Some("watching")));
    assert_eq!(view.findings, []);
}

#[test]
fn a_link_keeps_everything_that_the_person_changed() {
    let mut session = open("away", Some(12.5));
    Page::join(&mut session, 0.0);
    session
        .say(
            SetServer {
                version: "1.27".into(),
            }
            .into(),
        )
        .unwrap();
    Page::join(&mut session, 0.0);
    session.say(Break { place: 3 }.into()).unwrap();
    session.say(seek(18.0)).unwrap();
    session.say(moved(9.2)).unwrap();
    // Two drags in a row lose no break.
    session.say(moved(9.3)).unwrap();
    let page = Page::join(&mut session, 0.0);
    session
        .say(
            Answer {
                passage: 1,
                answer: 3,
            }
            .into(),
        )
        .unwrap();
    let link = now(&session).link;
    assert_eq!(
        link,
        "lesson=away&at=18&server=1.27&moved=report:9.3&broke=12.5:3&answered=1:3"
    );
    let mut opened = open_link(&format!("#{link}"));
    let same = Page::join(&mut opened, 0.0);
    assert!(page.store.state() == same.store.state());
    assert_eq!(now(&opened).link, link);
    assert!(!now(&opened).is_as_written);
    opened.say(AsWritten {}.into()).unwrap();
    Page::join(&mut opened, 0.0);
    assert_eq!(now(&opened).link, "lesson=away&at=18&answered=1:3");
    assert!(now(&opened).is_as_written);
}

#[test]
fn a_link_to_what_there_is_not_opens_the_nearest_and_says_so() {
    let text = open_link("#lesson=gost&at=5").lesson();
    assert_eq!(
        (&*text.name, text.unknown.as_deref()),
        ("ghost", Some("gost"))
    );
    assert_eq!(text.nearest, ["ghost"]);
    let text = open_link("").lesson();
    assert_eq!((&*text.name, text.is_offer), ("watch-event", true));
    let session = open_link("lesson=ghost&moved=report:3&server=2.0");
    assert_eq!(
        now(&session).note.as_deref(),
        Some(
            "The link moves an act that is not in this lesson: report. The link names an unknown version of the \
             server: 2.0."
        )
    );
}
