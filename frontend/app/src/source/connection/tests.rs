//! The connection, tested by its inputs and effects, and by its messages to the server.

use super::*;
use watchscope_model::Time;
use watchscope_model::wire::{Segment, Welcome, decode_client, encode_server};

struct Page {
    connection: Connection,
    now_ms: u64,
}

impl Page {
    fn new() -> Self {
        Self {
            connection: Connection::default(),
            now_ms: 1_000,
        }
    }

    fn step(&mut self, input: Input<'_>) -> Vec<String> {
        self.connection
            .step(input, self.now_ms, 1.0)
            .iter()
            .map(effect_words)
            .collect()
    }

    fn session(&mut self, session: bool) -> Vec<String> {
        self.step(Input::Session(Some(status(session))))
    }

    fn connected() -> Self {
        let mut page = Self::new();
        page.step(Input::TakenIn);
        page.step(Input::Link(None));
        page.session(true);
        page.step(Input::Opened(None));
        page.step(Input::Message(&welcome()));
        page
    }
}

fn welcome() -> Vec<u8> {
    let welcome = Welcome {
        protocol: PROTOCOL_VERSION,
        log: "l".into(),
        epoch: "e".into(),
        first: Seq(1),
        head: Seq(1),
        resumed: false,
        at: Time(0),
        version: "0".into(),
        first_at: Time(0),
        recording: None,
        recorded_from: None,
        recorded_to: None,
        judged_again: None,
    };
    encode_server(&welcome.into(), &[])
}

fn segment() -> Vec<u8> {
    encode_server(&Segment { log: "l".into() }.into(), &[b"frame"])
}

fn held(last: u64) -> Option<Position> {
    Some(("l".into(), "e".into(), Seq(last)))
}

fn effect_words(effect: &Effect) -> String {
    match effect {
        Effect::Send(bytes) => match decode_client(bytes).unwrap().unwrap() {
            ClientMessage::Hello(hello) => {
                format!("hello last={:?}", hello.last.map(|last| last.0))
            }
            ClientMessage::Acknowledge(acknowledge) => {
                format!("acknowledge {}", acknowledge.bytes)
            }
            ClientMessage::Pause(pause) => format!("pause {}", pause.paused),
            ClientMessage::Backfill(backfill) => format!("backfill {}", backfill.before),
            other => format!("{other:?}"),
        },
        Effect::Deliver(delivery) => {
            let text = format!("{delivery:?}");
            text.split(['(', ' ']).next().unwrap().to_owned()
        }
        Effect::TellUndecodable(error) => format!("undecodable: {error}"),
        other => format!("{other:?}"),
    }
}

fn status(session: bool) -> SessionStatus {
    SessionStatus {
        product: "watchscope".into(),
        protocol: PROTOCOL_VERSION,
        instance: "i".into(),
        session,
    }
}

#[test]
fn a_link_is_exchanged_for_a_session_and_other_tabs_hear_of_it() {
    let mut page = Page::new();
    assert_eq!(page.step(Input::Link(Some("s".into()))), ["AskSession"]);
    assert_eq!(page.session(false), ["Exchange(\"s\")"]);
    assert_eq!(
        page.step(Input::Exchanged(Some(204))),
        ["TellTabs", "OpenSocket"]
    );
    assert_eq!(page.step(Input::Opened(None)), ["hello last=None"]);
    assert_eq!(page.step(Input::Message(&welcome())), ["Welcome"]);
    assert_eq!(page.connection.status(), Status::Live);
}

#[test]
fn a_spent_link_is_reported_unless_there_is_a_session_anyway() {
    let mut page = Page::new();
    page.step(Input::Link(Some("s".into())));
    page.session(true);
    assert_eq!(page.step(Input::Exchanged(Some(401))), ["OpenSocket"]);

    let mut page = Page::new();
    page.step(Input::Link(Some("s".into())));
    page.session(false);
    assert!(page.step(Input::Exchanged(Some(401))).is_empty());
    assert_eq!(page.connection.status(), Status::Locked(Lock::LinkSpent));
    assert_eq!(page.step(Input::Link(Some("t".into()))), ["AskSession"]);
    assert_eq!(page.session(false), ["Exchange(\"t\")"]);
}

#[test]
fn after_a_restart_the_session_is_over_until_another_tab_has_one() {
    let mut page = Page::connected();
    page.step(Input::Closed);
    page.now_ms += 500;
    assert_eq!(page.step(Input::Timer), ["AskSession"]);
    assert!(page.session(false).is_empty());
    assert_eq!(page.connection.status(), Status::Locked(Lock::SessionOver));
    assert_eq!(page.connection.wake_ms(), None);
    assert_eq!(page.step(Input::Poke), ["AskSession"]);
    assert_eq!(page.session(true), ["OpenSocket"]);
}

#[test]
fn a_lost_connection_is_tried_again_ever_later_and_resumed_from_the_last_record() {
    let mut page = Page::connected();
    page.step(Input::Closed);
    let mut waits = Vec::new();
    for _ in 0..7 {
        let Status::NotConnected {
            since_ms: 1_000,
            next_try_ms: Some(next),
            ..
        } = page.connection.status()
        else {
            panic!("{:?}", page.connection.status())
        };
        waits.push(next - page.now_ms);
        page.now_ms = next;
        assert_eq!(page.step(Input::Timer), ["AskSession"]);
        page.step(Input::Session(None));
    }
    assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    assert_eq!(page.step(Input::TryNow), ["AskSession"]);
    page.session(true);
    assert_eq!(page.step(Input::Opened(held(5))), ["hello last=Some(5)"]);
    page.step(Input::Message(&welcome()));
    assert_eq!(page.step(Input::Message(&segment())), ["Segment"]);
    page.step(Input::Closed);
    assert_eq!(page.connection.wake_ms(), Some(page.now_ms + 500));
}

#[test]
fn a_silent_connection_is_dead_after_45_seconds() {
    let mut page = Page::connected();
    page.now_ms += 250;
    assert_eq!(page.step(Input::Timer).len(), 1);
    assert_eq!(page.connection.wake_ms(), Some(46_000));
    page.now_ms = 46_000;
    assert_eq!(page.step(Input::Timer), ["CloseSocket"]);
    assert!(matches!(
        page.connection.status(),
        Status::NotConnected {
            why: Trouble::Silent,
            ..
        }
    ));
}

#[test]
fn segments_are_acknowledged_only_once_they_can_be_taken_in() {
    let mut page = Page::new();
    page.step(Input::Link(None));
    page.session(true);
    page.step(Input::Opened(None));
    page.step(Input::Message(&welcome()));
    page.now_ms += 250;
    let welcomed = welcome().len();
    let acknowledged = |bytes| format!("acknowledge {bytes}");
    assert_eq!(page.step(Input::Timer), [acknowledged(welcomed)]);
    for _ in 0..2 {
        assert_eq!(page.step(Input::Message(&segment())), ["Segment"]);
        page.now_ms += 250;
        assert!(page.step(Input::Timer).is_empty());
    }
    assert!(page.step(Input::TakenIn).is_empty());
    page.now_ms += 250;
    let all = welcomed + 2 * segment().len();
    assert_eq!(page.step(Input::Timer), [acknowledged(all)]);
    page.step(Input::Message(&segment()));
    page.now_ms += 250;
    let all = all + segment().len();
    assert_eq!(page.step(Input::Timer), [acknowledged(all)]);
}

#[test]
fn undecodable_messages_are_reported_and_the_next_connection_starts_from_a_snapshot() {
    let mut page = Page::connected();
    assert_eq!(
        page.step(Input::Message(&[2, 9, 1])),
        [
            "undecodable: the data ends early: 8 more bytes are needed at byte 2",
            "CloseSocket"
        ]
    );
    page.now_ms += 500;
    page.step(Input::Timer);
    page.session(true);
    assert_eq!(page.step(Input::Opened(held(5))), ["hello last=None"]);
    page.step(Input::Message(&welcome()));
    assert_eq!(
        page.step(Input::Undecodable("a frame".into())),
        ["undecodable: a frame", "CloseSocket"]
    );
}

#[test]
fn a_hidden_tab_pauses_and_a_shown_one_goes_on() {
    let mut page = Page::connected();
    assert_eq!(page.step(Input::Hidden(true)), ["pause true"]);
    assert!(page.step(Input::Hidden(true)).is_empty());
    assert_eq!(page.step(Input::Hidden(false)), ["pause false"]);
}

#[test]
fn another_protocol_version_ends_in_a_reload_and_no_further_try() {
    let mut page = Page::new();
    page.step(Input::Link(None));
    let mut other = status(true);
    other.protocol = 99;
    assert!(page.step(Input::Session(Some(other))).is_empty());
    assert_eq!(
        page.connection.status(),
        Status::OtherVersion { theirs: 99 }
    );
    assert!(page.step(Input::Poke).is_empty());
}

#[test]
fn a_goodbye_is_obeyed_its_wait_and_its_end() {
    let bye = |reason: &str, retry_after_ms| {
        let bye = Bye {
            reason: reason.into(),
            retry_after_ms,
        };
        encode_server(&bye.into(), &[])
    };
    let mut page = Page::connected();
    page.step(Input::Message(&bye("too-slow", Some(20_000))));
    assert_eq!(page.connection.wake_ms(), Some(21_000));
    let mut page = Page::connected();
    assert_eq!(
        page.step(Input::Message(&bye("session-ended", None))),
        ["Bye", "CloseSocket", "AskSession"]
    );
    let mut page = Page::connected();
    page.step(Input::Message(&bye("banned", None)));
    assert_eq!(page.connection.wake_ms(), None);
    assert_eq!(
        page.connection.status(),
        Status::Ended {
            reason: "banned".into()
        }
    );
}

#[test]
fn a_log_that_begins_again_is_taken_from_its_begin() {
    let mut page = Page::connected();
    assert_eq!(page.step(Input::Anew), ["OpenSocket"]);
    assert_eq!(page.step(Input::Opened(held(7))), ["hello last=None"]);
    page.step(Input::Message(&welcome()));
    assert_eq!(page.connection.status(), Status::Live);
    let mut elsewhere = Page::new();
    assert!(elsewhere.step(Input::Anew).is_empty());
}
