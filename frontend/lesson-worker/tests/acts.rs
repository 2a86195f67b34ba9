//! What a person does in a lesson: moves an act, reaches a goal, steps and plays.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod page;

use watchscope_lesson_worker::Session;
use watchscope_model::wire::player::{Answer, Break, NextPassage, Play, PreviousPassage, Step};

use self::page::{Page, at_s, moved, now, open, received};

/// All lessons.
const LESSONS: [&str; 13] = [
    "watch-event",
    "ghost",
    "three-tries",
    "who-hung-up",
    "silent",
    "expired",
    "quiet",
    "herd",
    "away",
    "back-in-time",
    "stale",
    "starved",
    "poisoned",
];

/// Moves the act; returns what became of it, and what has been found.
fn fates(session: &mut Session, to_s: f64) -> (Vec<String>, Vec<Option<i64>>) {
    session.say(moved(to_s)).unwrap();
    Page::join(session, 0.0);
    let act = now(session).acts.remove(0);
    let finds = act.finds.iter().map(|find| find.at_us);
    (act.fates, finds.collect())
}

#[test]
fn a_moved_deletion_shows_who_hears_it_and_what_was_found() {
    let mut session = open("away", Some(18.0));
    Page::join(&mut session, 0.0);
    let [correct, naive] = ["correct hears it", "naive hears it"].map(String::from);
    let deaf = "naive does not hear it".to_owned();
    let only = (
        vec![correct.clone(), deaf],
        vec![None, Some(8_000_000), None],
    );
    let act = now(&session).acts.remove(0);
    assert_eq!((act.at_us, act.fates), (8_000_000, only.0.clone()));
    assert_eq!(fates(&mut session, 9.2), only);
    let both = vec![correct, naive];
    assert_eq!(fates(&mut session, 13.6).0, both);
    // The bounds hold both ends.
    assert_eq!(fates(&mut session, 0.0).0, both);
    assert_eq!(now(&session).acts[0].at_us, 2_000_000);
    assert_eq!(fates(&mut session, 30.0).0, both);
    assert_eq!(now(&session).acts[0].at_us, 15_500_000);
    let all = vec![Some(13_600_000), Some(8_000_000), Some(6_000_000)];
    assert_eq!(fates(&mut session, 6.0), (only.0, all));
    // The wire has no word of the deletion for the client that slept.
    assert!(
        !received(&session, "naive")
            .iter()
            .any(|(_, words)| words.contains("DELETED"))
    );
}

#[test]
fn the_forgetting_decides_who_hears_of_the_deletion() {
    let mut session = open("expired", Some(44.0));
    Page::join(&mut session, 0.0);
    let list = "informer learns of the deletion from its list";
    let deaf = "naive does not hear of the deletion";
    assert_eq!(now(&session).acts[0].fates, [list, deaf]);
    let naive = "naive hears of the deletion";
    assert_eq!(fates(&mut session, 16.0).0, [list, naive]);
    let both = ["informer hears of the deletion", naive];
    let (last, finds) = fates(&mut session, 39.0);
    assert_eq!(last, both);
    let found = [Some(12_500_000), Some(16_000_000), Some(39_000_000)];
    assert_eq!(finds, found);
}

#[test]
fn the_start_decides_whether_a_pod_comes_by_an_event_or_in_the_list() {
    let mut session = open("watch-event", Some(17.0));
    Page::join(&mut session, 0.0);
    assert_eq!(now(&session).acts[0].fates, ["controller hears of web-1"]);
    for (at_s, fate) in [
        (3.9, "controller hears of web-1"),
        (7.0, "controller learns of web-1 from its list"),
        (12.0, "controller learns of web-1 from its list"),
        (15.5, "controller does not hear of web-1"),
    ] {
        assert_eq!(fates(&mut session, at_s).0, [fate], "at {at_s} s");
    }
    assert!(
        now(&session).acts[0]
            .finds
            .iter()
            .all(|find| find.at_us.is_some())
    );
}

#[test]
fn the_deletion_of_ghost_is_heard_by_all_only_before_the_streams_end() {
    let mut session = open("ghost", Some(33.0));
    Page::join(&mut session, 0.0);
    let of = |heard: [bool; 3]| -> Vec<String> {
        let clients = ["broken", "fixed", "informer"].into_iter().zip(heard);
        let fate = |(client, hears): (&str, bool)| match hears {
            true => format!("{client} hears it"),
            false => format!("{client} does not hear it"),
        };
        clients.map(fate).collect()
    };
    let only = of([false, false, true]);
    assert_eq!(now(&session).acts[0].fates, only);
    assert_eq!(fates(&mut session, 4.0).0, of([true; 3]));
    assert_eq!(fates(&mut session, 30.0).0, only);
    let (last, finds) = fates(&mut session, 6.0);
    assert_eq!(last, only);
    assert!(finds.iter().all(Option::is_some), "{finds:?}");
}

#[test]
fn the_deletion_of_back_in_time_is_heard_again_at_each_end_before_the_next_write() {
    let mut session = open("back-in-time", Some(14.0));
    Page::join(&mut session, 0.0);
    let second = "second hears it";
    let fates_now = now(&session).acts[0].fates.clone();
    assert_eq!(fates_now, ["first hears it 3 times", second]);
    assert_eq!(
        fates(&mut session, 11.0).0,
        ["first hears it twice", second]
    );
    let (last, finds) = fates(&mut session, 13.0);
    assert_eq!(last, ["first hears it", second]);
    assert!(finds.iter().all(Option::is_some), "{finds:?}");
}

#[test]
fn a_goal_that_is_a_moment_is_reached_when_the_run_shows_it() {
    let mut session = open("ghost", Some(4.0));
    Page::join(&mut session, 0.0);
    session.say(Break { place: 3 }.into()).unwrap();
    session.say(NextPassage {}.into()).unwrap();
    Page::join(&mut session, 0.0);
    let goals = now(&session).goals;
    let reached = goals[1].at_us.unwrap();
    assert!(goals[0].at_us.is_none() && (4_000_000..5_000_000).contains(&reached));
}

#[test]
fn a_step_shows_something_and_never_runs_over_a_passage() {
    for name in LESSONS {
        let mut session = open(name, Some(0.0));
        Page::join(&mut session, 0.0);
        let text = session.lesson();
        let mut before = now(&session);
        let mut steps = 0;
        while before.at_us < text.lasts_us {
            session.say(Step {}.into()).unwrap();
            Page::join(&mut session, 0.0);
            let after = now(&session);
            let later = text.passages.iter().map(|passage| passage.at_us);
            let next = later.clone().find(|at_us| *at_us > before.at_us);
            let next = next.unwrap_or(text.lasts_us);
            assert!(
                after.at_us <= next,
                "{name}: {} to {}",
                before.at_us,
                after.at_us
            );
            let shows = after.wire != before.wire || after.moments != before.moments;
            assert!(shows || after.at_us == next, "{name}: {}", after.at_us);
            before = after;
            steps += 1;
        }
        assert!(steps > 10, "{name}: {steps}");
    }
}

#[test]
fn a_lesson_plays_its_quiet_stretches_fast_and_no_passage_makes_one_wait_long() {
    let mut slow = Vec::new();
    for name in LESSONS {
        let mut session = open(name, None);
        let mut page = Page::join(&mut session, 0.0);
        let mut clock_ms = 0.0;
        session.tick(clock_ms);
        for place in 0..session.lesson().passages.len() - 1 {
            session.say(Play {}.into()).unwrap();
            session.tick(clock_ms);
            let (from_ms, from_s) = (clock_ms, at_s(&session));
            let (mut changed_ms, mut head, mut quiet_ms) = (clock_ms, page.head(), 0.0);
            while now(&session).is_playing {
                clock_ms += 16.0;
                session.tick(clock_ms);
                page.take(&mut session, clock_ms);
                if page.head() != head {
                    (changed_ms, head) = (clock_ms, page.head());
                }
                quiet_ms = f64::max(quiet_ms, clock_ms - changed_ms);
            }
            let took_ms = clock_ms - from_ms;
            let length = at_s(&session) - from_s;
            if took_ms > 8_000.0 || quiet_ms > 6_000.0 {
                slow.push(format!(
                    "{name} {place}: {length} s in {took_ms} ms, {quiet_ms} quiet"
                ));
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn marks_answer_a_question_by_a_number_and_a_link_keeps_them() {
    let mut session = open("ghost", Some(8.0));
    Page::join(&mut session, 0.0);
    let question = session.lesson().passages[1].question.clone().unwrap();
    assert_eq!((question.form, question.right, question.see), (1, 0b100, 8));
    assert_eq!(question.lanes[2], "client informer");
    let answer = |answer| Answer { passage: 1, answer };
    session.say(answer(0b111).into()).unwrap();
    assert!(now(&session).settled.is_empty());
    assert!(session.say(answer(9).into()).is_err());
    session.say(answer(0b100).into()).unwrap();
    assert_eq!(now(&session).settled, [1]);
    assert!(now(&session).link.ends_with("&answered=1:7,1:4"));
    let question = session.lesson().passages[0].question.clone().unwrap();
    assert_eq!((question.form, question.see), (0, 3));
    let text = open("away", None).lesson();
    let question = text.passages[2].question.clone().unwrap();
    assert_eq!(
        (question.form, question.rows.len(), question.columns.len()),
        (2, 3, 2)
    );
    assert_eq!(question.answers[3], "naive, report");
}

#[test]
fn the_compaction_of_poisoned_decides_who_is_cured_and_by_what() {
    let mut session = open("poisoned", Some(66.0));
    Page::join(&mut session, 0.0);
    let list = |client: &str| format!("{client} learns of the deletion from its list");
    let event = |client: &str| format!("{client} hears of the deletion");
    let deaf = "new does not hear of the deletion".to_owned();
    let cured = [list("old"), deaf.clone()];
    assert_eq!(now(&session).acts[0].fates, cured);
    assert_eq!(fates(&mut session, 30.0).0, [event("old"), deaf]);
    assert_eq!(fates(&mut session, 45.0).0, [event("old"), list("new")]);
    assert_eq!(fates(&mut session, 10.0).0, [event("old"), event("new")]);
    let (last, finds) = fates(&mut session, 55.0);
    assert_eq!(last, [event("old"), event("new")]);
    assert!(finds.iter().all(Option::is_some), "{finds:?}");
}

/// The cache's watch jumps to etcd's newest revision at 620 s.
#[test]
fn the_deletion_of_starved_is_lost_up_to_the_jump_and_heard_behind_it() {
    let mut session = open("starved", Some(668.0));
    Page::join(&mut session, 0.0);
    let deaf = ["informer does not hear it"];
    assert_eq!(now(&session).acts[0].fates, deaf);
    for lost in [258.0, 299.0, 600.0, 620.0] {
        assert_eq!(fates(&mut session, lost).0, deaf, "{lost}");
    }
    assert_eq!(fates(&mut session, 621.0).0, ["informer hears it"]);
    let (last, finds) = fates(&mut session, 655.0);
    assert_eq!(last, ["informer hears it"]);
    assert!(finds.iter().all(Option::is_some), "{finds:?}");
}

#[test]
fn a_drawn_histogram_is_right_a_step_off_and_the_crowd_is_counted_up_to_the_pen() {
    let mut session = open("herd", Some(12.5));
    Page::join(&mut session, 0.0);
    let question = session.lesson().passages[1].question.clone().unwrap();
    assert_eq!(
        (question.form, question.step, question.see),
        (4, 25, 1 << 30)
    );
    assert_eq!(
        (&*question.answers[0], &*question.answers[9]),
        ("13 s", "22 s")
    );
    assert_eq!(question.counts, [0, 142, 158, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(question.right, 6 << 3 | 6 << 6);
    let answer = |answer| Answer { passage: 1, answer };
    session.say(answer(4 << 3 | 6 << 6).into()).unwrap();
    assert!(now(&session).settled.is_empty());
    session.say(answer(1 | 7 << 3 | 5 << 6).into()).unwrap();
    assert_eq!(now(&session).settled, [1]);
    let crowd = |session: &Session| {
        let now = now(session);
        assert_eq!(now.servers, ["1.24", "1.27"]);
        let seconds = now.crowd.into_iter();
        let words = seconds.map(|one| {
            let (requests, ends, refusals) = (one.requests, one.ends, one.refusals);
            format!(
                "{} {}: {requests} {ends} {refusals}",
                one.server, one.second
            )
        });
        words.collect::<Vec<String>>()
    };
    assert_eq!(crowd(&session), ["0 1: 200 0 0", "1 1: 200 0 0"]);
    let mut session = open("herd", Some(23.5));
    Page::join(&mut session, 0.0);
    // The last 20 s only.
    assert_eq!(crowd(&session), ["0 14: 142 100 100", "0 15: 158 0 0"]);
}

#[test]
fn after_going_back_each_passage_plays_to_the_next_whatever_the_ticks() {
    for name in LESSONS {
        let mut session = open(name, None);
        let passages = session.lesson().passages.len();
        let mut clock_ms = 0.0;
        Page::join(&mut session, clock_ms);
        for place in 0..passages - 1 {
            session.say(NextPassage {}.into()).unwrap();
            session.say(PreviousPassage {}.into()).unwrap();
            // The page may connect before the person plays, at once after it, or later.
            let joins_after = [0, 1, 2, 7, 40][place % 5];
            let mut page = (joins_after == 0).then(|| Page::join(&mut session, clock_ms));
            session.say(Play {}.into()).unwrap();
            let mut ticks = 0;
            while session.is_playing() {
                ticks += 1;
                clock_ms += [16.0, 7.0, 90.0, 33.0][ticks % 4];
                session.tick(clock_ms);
                if ticks == joins_after {
                    page = Some(Page::join(&mut session, clock_ms));
                }
                if let Some(page) = &mut page {
                    page.take(&mut session, clock_ms);
                }
                assert!(ticks < 2_000, "{name}: {place} at {} s", at_s(&session));
            }
            assert_eq!(now(&session).passage as usize, place + 1, "{name}");
        }
    }
}

#[test]
fn the_time_that_a_command_takes_is_no_time_of_the_lesson() {
    let mut session = open("back-in-time", Some(18.0));
    Page::join(&mut session, 0.0);
    session.tick(1_000.0);
    session.say(Play {}.into()).unwrap();
    // The worker ticks at once, and tells the page only of later ticks.
    session.tick(1_500.0);
    assert_eq!((at_s(&session), session.is_playing()), (18.0, true));
    assert!(session.tick(1_516.0) && at_s(&session) > 18.0);
}
