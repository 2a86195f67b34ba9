//! The text of a lesson, and the state of a session, as the page gets them.

use std::time::Duration;

use watchscope_model::Time;
use watchscope_model::wire::player::{
    ActNow, ActText, FindNow, GivenAnswer, GoalNow, GoalText, LessonLine, LessonNow, LessonText,
    MomentNow, PassageText, QuestionText, TriedNow,
};
use watchscope_scenarios::lessons::{
    ActTexts, Aim, Form, Found, Goal, Lanes, Learned, Lesson, LessonPlayer, Line, Movable, Panel,
    Passage, PassageTexts, Question, QuestionTexts, Texts,
};
use watchscope_simulator::{ClientGo, Version};

use crate::transcript::Transcript;

/// The words of a lesson, and the list of all lessons.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) texts: Texts,
    pub(crate) lines: Vec<Line>,
}

/// The present state of a session.
pub(crate) struct Now<'a> {
    pub(crate) player: &'a LessonPlayer,
    pub(crate) words: &'a Words,
    pub(crate) transcript: &'a Transcript,
    pub(crate) at: Duration,
    pub(crate) is_playing: bool,
    pub(crate) speed_thousandths: u32,
    pub(crate) pace_thousandths: u32,
    /// Whether nothing was changed: the text describes this run.
    pub(crate) is_as_written: bool,
    pub(crate) note: Option<&'a str>,
    pub(crate) link: String,
    /// The indices of passages, and of the answers to their questions.
    pub(crate) answers: &'a [(usize, usize)],
    /// For each act that can be moved, and each thing to find with it: where the act was when it was found.
    pub(crate) finds: &'a [Vec<Option<Duration>>],
    /// The times to which each act that can be moved was moved, and how many clients of how many learned the news then.
    pub(crate) tried: &'a [Vec<Tried>],
}

/// A time to which an act was moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried {
    pub(crate) at: Duration,
    pub(crate) heard: usize,
    pub(crate) clients: usize,
}

/// How a page came to a lesson.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival {
    /// The name in the link, if there is no such lesson.
    pub(crate) unknown: Option<String>,
    /// The names nearest to an unknown one.
    pub(crate) nearest: Vec<&'static str>,
    /// Whether the link named no lesson.
    pub(crate) is_offer: bool,
}

/// Returns a lesson, its texts, and the list of all lessons.
pub(crate) fn lesson(lesson: &Lesson, words: &Words, arrival: &Arrival) -> LessonText {
    let place = words.lines.iter().position(|line| line.name == lesson.name);
    let listed = words.lines.iter().map(|line| LessonLine {
        name: line.name.to_owned(),
        title: line.title.clone(),
        question: line.question.clone(),
        teaches: line.teaches.clone(),
    });
    let servers = (Version::OLDEST.minor()..=Version::NEWEST_MINOR).rev();
    let mut clients: Vec<String> = ClientGo::all()
        .map(|client| client.name().to_owned())
        .collect();
    clients.reverse();
    let texts = &words.texts;
    let passages = lesson.passages.iter().zip(&texts.passages);
    let acts = lesson.movables.iter().zip(&texts.acts);
    let goals = lesson.goals.iter().zip(&texts.goals);
    LessonText {
        name: lesson.name.to_owned(),
        title: texts.title.clone(),
        number: place.map_or(0, |place| number(place + 1)),
        lasts_us: micros(lesson.lasts),
        passages: passages
            .map(|(script, texts)| passage(script, texts))
            .collect(),
        breaks: texts.breaks.clone(),
        acts: acts.map(|(act, texts)| act_text(act, texts)).collect(),
        goals: goals.map(|(goal, words)| goal_text(goal, words)).collect(),
        lessons: listed.collect(),
        servers: servers.map(|minor| format!("1.{minor}")).collect(),
        clients,
        unknown: arrival.unknown.clone(),
        nearest: arrival.nearest.iter().map(ToString::to_string).collect(),
        is_offer: arrival.is_offer,
    }
}

fn passage(passage: &Passage, texts: &PassageTexts) -> PassageText {
    let question = passage.question.as_ref().zip(texts.question.as_ref());
    PassageText {
        title: texts.title.clone(),
        at_us: micros(passage.at),
        from_us: micros(passage.shows.0),
        to_us: micros(passage.shows.1),
        text: texts.text.clone(),
        moments: texts.moments.clone(),
        question: question.map(|(question, texts)| question_text(question, texts)),
        act: passage.moves.map(|act| act as u64),
        lanes: match passage.lanes {
            Lanes::Sides => 0,
            Lanes::Layers => 1,
            Lanes::Ways => 2,
            Lanes::All => 3,
        },
        has_wire: passage.panels.contains(&Panel::Wire),
        has_holds: passage.panels.contains(&Panel::Holds),
        has_code: passage.panels.contains(&Panel::Code),
        has_ends: passage.panels.contains(&Panel::Ends),
        has_crowd: passage.panels.contains(&Panel::Crowd),
        has_breaks: passage.panels.contains(&Panel::Breaks),
    }
}

fn goal_text(goal: &Goal, words: &str) -> GoalText {
    let (client, ghosts) = match goal.shows {
        Aim::Ghosts(client, ghosts) => (Some(client.to_owned()), ghosts),
        Aim::Moment(_) => (None, 0),
    };
    GoalText {
        words: words.to_owned(),
        clicks: goal.clicks,
        client,
        ghosts,
    }
}

fn question_text(question: &Question, texts: &QuestionTexts) -> QuestionText {
    let mut text = QuestionText {
        asks: texts.asks.clone(),
        form: 0,
        answers: texts.answers.clone(),
        lanes: Vec::new(),
        rows: Vec::new(),
        columns: Vec::new(),
        counts: Vec::new(),
        step: 0,
        right: number(question.form.right()),
        see: number(question.form.answers()),
        because: texts.because.clone(),
        replies: texts.replies.clone(),
        covers: question.covers,
    };
    match question.form {
        Form::Choose { .. } => {}
        Form::Tap(taps) => {
            text.form = 1;
            text.lanes = taps.iter().map(|tap| tap.lane.to_owned()).collect();
        }
        Form::Ends(_) => text.form = 3,
        Form::Draw(bars) => {
            text.form = 4;
            text.step = bars.step;
            text.counts = bars.counts().map(u64::from).collect();
            let seconds = (bars.from_s..).zip(bars.counts());
            text.answers = seconds.map(|(second, _)| format!("{second} s")).collect();
        }
        Form::Fill { columns, rows } => {
            text.form = 2;
            text.rows = rows.iter().map(|(row, _)| (*row).to_owned()).collect();
            text.columns = columns.iter().map(ToString::to_string).collect();
            let cells = rows
                .iter()
                .flat_map(|(row, _)| columns.iter().map(move |column| format!("{column}, {row}")));
            text.answers = cells.collect();
        }
    }
    text
}

fn act_text(act: &Movable, texts: &ActTexts) -> ActText {
    ActText {
        words: texts.words.clone(),
        lane: act.lane.to_owned(),
        written_us: micros(act.written),
        from_us: micros(act.bounds.0),
        to_us: micros(act.bounds.1),
        snaps_us: act.snaps.iter().map(|at| micros(*at)).collect(),
        finds: texts.finds.clone(),
    }
}

/// Returns the present state.
pub(crate) fn now(now: &Now<'_>) -> LessonNow {
    let player = now.player;
    let run = player.run();
    let place = player.lesson().passage_at(now.at);
    let answers = now.answers.iter();
    let acts = player
        .lesson()
        .movables
        .iter()
        .zip(&now.words.texts.acts)
        .zip(now.finds)
        .zip(now.tried);
    LessonNow {
        run: player.number(),
        at_us: micros(now.at),
        begin: player.time(Duration::ZERO),
        passage: number(place),
        moments: player.found(place).map(moment).collect(),
        is_playing: now.is_playing,
        speed_thousandths: now.speed_thousandths,
        pace_thousandths: now.pace_thousandths,
        seed: run.seed,
        server: format!("1.{}", run.server.minor()),
        client: run.client.name().to_owned(),
        acts: acts
            .map(|(((act, texts), finds), tried)| act_now(now, (act, &texts.news), finds, tried))
            .collect(),
        clicks: number(player.deeds().len()),
        goals: (0..player.lesson().goals.len())
            .map(|goal| GoalNow {
                at_us: player.reached(goal).map(micros),
            })
            .collect(),
        is_as_written: now.is_as_written,
        note: now.note.map(ToOwned::to_owned),
        link: now.link.clone(),
        answers: answers
            .map(|(passage, answer)| GivenAnswer {
                passage: number(*passage),
                answer: number(*answer),
            })
            .collect(),
        settled: settled(player.lesson(), now.answers),
        wire: now.transcript.lines(),
        clients: now.transcript.clients(),
        ends: now.transcript.ends(),
        servers: player
            .servers()
            .map(|server| format!("1.{}", server.minor()))
            .collect(),
        crowd: now
            .transcript
            .crowd(player.time(Duration::ZERO), player.time(now.at)),
        findings: now.transcript.findings(),
    }
}

/// Returns the indices of the passages whose question is settled.
fn settled(lesson: &Lesson, answers: &[(usize, usize)]) -> Vec<u64> {
    let settled = lesson
        .passages
        .iter()
        .enumerate()
        .filter(|(place, passage)| {
            let tries: Vec<usize> = tries(answers, *place).collect();
            passage
                .question
                .is_some_and(|question| question.is_settled(&tries))
        });
    settled.map(|(place, _)| place as u64).collect()
}

/// Returns the answers to the question of a passage, in their order.
pub(crate) fn tries(answers: &[(usize, usize)], passage: usize) -> impl Iterator<Item = usize> {
    let of = answers.iter().filter(move |(of, _)| *of == passage);
    of.map(|(_, answer)| *answer)
}

fn moment(found: Option<&Found>) -> MomentNow {
    match found {
        None => MomentNow {
            seq: None,
            at: Time(0),
            lane: String::new(),
            within: None,
        },
        Some(found) => MomentNow {
            seq: Some(found.seq.0),
            at: found.at,
            lane: found.lane.clone(),
            within: found.within.clone(),
        },
    }
}

fn act_now(
    now: &Now<'_>,
    (act, news): (&Movable, &str),
    finds: &[Option<Duration>],
    tried: &[Tried],
) -> ActNow {
    let is_settled = now.at >= act.settled;
    let fate = |client: String| match now.transcript.learned(&client, &act.news) {
        Learned::ByEvent => Some(format!("{client} hears {news}")),
        Learned::Again(2) => Some(format!("{client} hears {news} twice")),
        Learned::Again(times) => Some(format!("{client} hears {news} {times} times")),
        Learned::FromList => Some(format!("{client} learns {news} from its list")),
        Learned::Never => is_settled.then(|| format!("{client} does not hear {news}")),
    };
    let clients = now.transcript.clients().into_iter();
    let clients = clients.filter(|client| act.concerns(&client.name));
    ActNow {
        at_us: micros(act.at),
        fates: clients.filter_map(|client| fate(client.name)).collect(),
        finds: finds
            .iter()
            .map(|at| FindNow {
                at_us: at.map(micros),
            })
            .collect(),
        tried: tried
            .iter()
            .map(|tried| TriedNow {
                at_us: micros(tried.at),
                heard: number(tried.heard),
                clients: number(tried.clients),
            })
            .collect(),
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Returns a time as microseconds. A lesson lasts minutes.
fn micros(at: Duration) -> i64 {
    i64::try_from(at.as_micros()).unwrap_or(i64::MAX)
}
