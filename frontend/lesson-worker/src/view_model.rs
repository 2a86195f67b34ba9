//! The input of narration and controls, as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use watchscope_scenarios::lessons::{self, Lesson, LessonPlayer, Passage};
use watchscope_simulator::{ClientGo, Version, json_text};

use crate::transcript::Transcript;

/// The present state of a session.
pub(crate) struct Now<'a> {
    pub(crate) player: &'a LessonPlayer,
    pub(crate) transcript: &'a Transcript,
    pub(crate) at: Duration,
    pub(crate) is_playing: bool,
    pub(crate) speed: f64,
    /// Whether nothing was changed: the text describes this run.
    pub(crate) is_as_written: bool,
    pub(crate) note: Option<&'a str>,
}

/// Returns a lesson, its text, and the list of all lessons.
pub(crate) fn lesson(lesson: &Lesson) -> String {
    let all = lessons::lessons();
    let place = all.iter().position(|known| known.name == lesson.name);
    let listed = all.iter().map(
        |lesson| json!({"name": lesson.name, "title": lesson.title, "teaches": lesson.teaches}),
    );
    let servers = (Version::OLDEST.minor()..=Version::NEWEST_MINOR).rev();
    let clients: Vec<&str> = ClientGo::all().map(ClientGo::name).collect();
    json_text(&json!({"lesson": {
        "name": lesson.name,
        "title": lesson.title,
        "number": place.map_or(0, |place| place + 1),
        "lasts": lesson.lasts.as_secs_f64(),
        "passages": lesson.passages.iter().map(passage).collect::<Value>(),
        "breaks": lesson.breaks.iter().map(|broken| broken.words).collect::<Value>(),
        "lessons": listed.collect::<Value>(),
        "servers": servers.map(|minor| format!("1.{minor}")).collect::<Value>(),
        "clients": clients.into_iter().rev().collect::<Value>(),
    }}))
}

fn passage(passage: &Passage) -> Value {
    let question = passage.question.map(|question| {
        json!({
            "asks": question.asks,
            "answers": question.answers,
            "right": question.right,
            "because": question.because,
            // A question about what somebody believes now is to be answered without looking it up.
            "covers": question.asks.contains("believe"),
        })
    });
    json!({
        "title": passage.title,
        "at": passage.at.as_secs_f64(),
        "shows": [passage.shows.0.as_secs_f64(), passage.shows.1.as_secs_f64()],
        "text": passage.text,
        "moments": passage.moments.iter().map(|moment| moment.words).collect::<Value>(),
        "question": question,
    })
}

/// Returns the present state. Times of the log are in microseconds, as numbers, which hold a lesson's times exactly.
pub(crate) fn now(now: &Now<'_>) -> String {
    let player = now.player;
    let run = player.run();
    let place = player.lesson().passage_at(now.at);
    let found = player.found(place).map(|found| {
        found.map(|found| {
            json!({
                "seq": found.seq.0, "atUs": found.at.0,
                "lane": found.lane, "within": found.within,
            })
        })
    });
    let deeds = player.deeds().iter();
    let deeds = deeds.map(|(at, place)| json!({"at": at.as_secs_f64(), "break": place}));
    json_text(&json!({"now": {
        "run": player.number(),
        "at": now.at.as_secs_f64(),
        "beginUs": player.time(Duration::ZERO).0,
        "passage": place,
        "found": found.collect::<Value>(),
        "playing": now.is_playing,
        "speed": now.speed,
        "seed": run.seed,
        "server": format!("1.{}", run.server.minor()),
        "client": run.client.name(),
        "deeds": deeds.collect::<Value>(),
        "asWritten": now.is_as_written,
        "note": now.note,
        "wire": now.transcript.lines(),
        "clients": now.transcript.clients(),
        "findings": now.transcript.findings(),
    }}))
}
