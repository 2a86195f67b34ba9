//! Acts of a lesson that a person moves: wherever an act stands within its bounds, the records tell who heard of it.

use std::time::Duration;

use watchscope_model::vocabulary::ChangeType;
use watchscope_model::{Entry, Inside};
use watchscope_scenarios::lessons::{
    Bars, Form, Lanes, Lesson, LessonPlayer, Panel, Run, english, lesson, lessons,
};
use watchscope_simulator::Received;
use watchscope_timeline::inside::stretches::stretches;

use crate::lessons::store_of;

pub(crate) fn player(lesson: Lesson) -> LessonPlayer {
    let run = Run {
        seed: 1,
        server: lesson.server,
        client: lesson.client,
    };
    LessonPlayer::new(lesson, run)
}

pub(crate) fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Plays `away` with the deletion at a time. Returns the revision of the deletion, and the clients that received it.
fn moved(at: Duration) -> (u64, Vec<String>) {
    let mut lesson = lesson("away").unwrap();
    assert!(lesson.move_act(0, at));
    let mut player = player(lesson);
    let entries = player.advance(secs(18.0));
    let deleted = entries.iter().find_map(|entry| match entry {
        Entry::Inside(record) => match &record.inside {
            Inside::InsideWrite(write) if &*write.object.name == "report" => {
                (record.at == player.time(at)).then_some(write.revision)
            }
            _ => None,
        },
        Entry::Record(_) => None,
    });
    let received = player.take_received();
    let heard = received.iter().filter(|(_, record)| {
        matches!(&record.received, Received::Change { change: ChangeType::Deleted, name, .. } if name == "report")
    });
    let heard = heard.map(|(_, record)| record.client.to_string());
    (deleted.unwrap(), heard.collect())
}

#[test]
fn the_deletion_of_away_is_heard_by_those_who_have_a_stream_or_resume() {
    let both = ["correct", "naive"];
    for (at_s, heard) in [
        (2.0, &both[..]),
        (5.9, &both),
        (6.0, &both[..1]),
        (8.0, &both[..1]),
        (10.9, &both[..1]),
        (11.5, &both),
        (15.5, &both),
    ] {
        let (revision, mut clients) = moved(secs(at_s));
        clients.sort();
        assert_eq!(clients, heard, "at {at_s} s");
        assert_eq!(revision, 9, "at {at_s} s");
    }
}

#[test]
fn an_act_stays_within_its_bounds_and_what_is_to_be_found_can_be_found() {
    for lesson in lessons() {
        for (place, act) in lesson.movables.iter().enumerate() {
            let mut moved = lesson.clone();
            assert!(act.bounds.0 <= act.written && act.written <= act.bounds.1);
            assert!(act.bounds.1 < act.settled && act.settled < lesson.lasts);
            moved.move_act(place, Duration::ZERO);
            assert_eq!(moved.movables[place].at, act.bounds.0);
            moved.move_act(place, lesson.lasts);
            assert_eq!(moved.movables[place].at, act.bounds.1);
            for find in &act.finds {
                if let Some(only_at) = find.only_at {
                    assert!(act.snaps.contains(&only_at), "{}", find.key);
                }
            }
        }
        assert!(!lesson.clone().move_act(lesson.movables.len(), secs(1.0)));
    }
}

#[test]
fn lanes_and_panels_only_come_with_the_passages_and_questions_are_whole() {
    for lesson in lessons() {
        let (mut lanes, mut panels): (Lanes, &[Panel]) = (Lanes::Sides, &[]);
        let texts = english(&lesson).unwrap();
        for (passage, texts) in lesson.passages.iter().zip(&texts.passages) {
            let name = format!("{}: {}", lesson.name, passage.key);
            assert!(passage.lanes >= lanes, "{name}");
            let stays = panels.iter().all(|panel| passage.panels.contains(panel));
            assert!(stays, "{name}");
            (lanes, panels) = (passage.lanes, passage.panels);
            assert!(
                passage.moves.is_none_or(|act| act < lesson.movables.len()),
                "{name}"
            );
            let Some(question) = passage.question else {
                continue;
            };
            let replies = &texts.question.as_ref().unwrap().replies;
            if let Form::Choose { answers, right } = question.form {
                assert_eq!(replies.len(), answers, "{name}");
                for (answer, reply) in replies.iter().enumerate() {
                    assert_eq!(reply.is_empty(), answer == right, "{name}");
                }
            } else {
                // Each lane and each cell can be wrong.
                assert!(replies.iter().all(|reply| !reply.is_empty()), "{name}");
                let bits = match question.form {
                    Form::Draw(_) => Bars::BITS,
                    _ => 1,
                };
                assert_eq!(
                    question.form.answers(),
                    1 << (bits * replies.len()),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn a_question_has_two_tries_and_the_right_answer_or_a_request_to_see_it_settles_it() {
    let question = lesson("away").unwrap().passages[0].question.unwrap();
    let right = question.form.right();
    assert!(!question.is_settled(&[]) && !question.is_settled(&[0]));
    assert!(question.is_settled(&[0, 2]) && question.is_settled(&[right]));
    assert!(question.is_settled(&[question.form.answers()]));
    // A set of lanes and a table are answered by a number, too.
    let tap = lesson("ghost").unwrap().passages[1].question.unwrap().form;
    assert_eq!((tap.right(), tap.answers()), (0b100, 8));
    let fill = lesson("away").unwrap().passages[2].question.unwrap().form;
    assert_eq!((fill.right(), fill.answers()), (0b11_10_11, 64));
    // A column of a histogram may be one step off.
    let draw = lesson("herd").unwrap().passages[1].question.unwrap();
    let right = draw.form.right();
    let higher = right + (1 << (9 * Bars::BITS));
    assert!(draw.is_settled(&[higher]) && !draw.is_settled(&[higher + (1 << (9 * Bars::BITS))]));
}

#[test]
fn a_timetable_has_the_times_of_a_run_that_goes_on() {
    let mut player = player(lesson("away").unwrap());
    player.advance(secs(7.0));
    player.break_it(0);
    let timetable = player.timetable();
    let begin = player.time(Duration::ZERO);
    let rest = player.advance(secs(37.0));
    let rest: Vec<Duration> = rest
        .iter()
        .map(|entry| Duration::from_micros(entry.at().micros_since(begin).unsigned_abs()))
        .collect();
    assert!(timetable.is_sorted() && timetable.last() <= rest.last());
    assert!(
        timetable
            .iter()
            .filter(|at| **at > secs(7.0))
            .all(|at| rest.contains(at))
    );
}

#[test]
fn the_strips_under_the_bar_say_who_had_no_stream_and_who_held_a_ghost() {
    let mut player = player(lesson("away").unwrap());
    let entries = player.advance(secs(37.0));
    let begin = player.time(Duration::ZERO);
    let found = stretches(&store_of(&entries, begin), player.now());
    let of = |found: &[(watchscope_model::Time, watchscope_model::Time)]| -> Vec<(i64, i64)> {
        let tenths = |at: &watchscope_model::Time| at.micros_since(begin) / 100_000;
        found
            .iter()
            .map(|(from, to)| (tenths(from), tenths(to)))
            .collect()
    };
    assert_eq!(of(&found.away), [(60, 110)]);
    assert_eq!(of(&found.haunted), [(80, 260)]);
}
