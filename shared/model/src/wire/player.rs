//! Messages between a page and the player of a lesson in its worker: the lesson's text, its present state, and the
//! person's commands.
//!
//! Page and worker are of one build, so these messages have no version. Times named `…_us` are microseconds since the
//! lesson began.

use super::message::{decode, messages};
use crate::codec::{DecodeError, Reader, Writer};
use crate::field::{AsJson, Fields, fields, read_struct, struct_fields, write_struct};
use crate::time::Time;

messages! {
    /// A command of the person to the player of a lesson.
    LessonCommand {
        /// Plays up to the next passage, or to the lesson's end.
        0 Play {}
        /// Stops playing.
        1 Halt {}
        /// Sets the speed.
        2 SetSpeed {
            /// The speed in thousandths of the speed of a clock, from 100 to 1,000,000; any other is refused.
            thousandths: u32,
        }
        /// Shows the next record.
        3 Step {}
        /// Goes to the begin of the next passage, or to the lesson's end.
        4 NextPassage {}
        /// Goes back to the begin of this passage; from there to the begin of the passage before.
        5 PreviousPassage {}
        /// Goes to a time; a time past the lesson's end goes to its end.
        6 Seek {
            /// The time, which is not negative.
            to_us: i64,
        }
        /// Does something to the cluster now.
        7 Break {
            /// The index in [`LessonText::breaks`]; an unknown one does nothing.
            place: u32,
        }
        /// Runs again with another seed.
        8 SetSeed {
            /// The seed.
            seed: u64,
        }
        /// Runs again with another version of the server.
        9 SetServer {
            /// The version, such as `1.36`; an unreadable one is refused.
            version: String,
        }
        /// Runs again with another version of client-go.
        10 SetClient {
            /// The version, such as `1.34`; an unknown one is refused.
            version: String,
        }
        /// Undoes all changes: seed, versions, breaks and moved acts.
        11 AsWritten {}
        /// Runs again with an act of the script at another time.
        12 MoveAct {
            /// The index in [`LessonText::acts`]; an unknown one is refused.
            act: u32,
            /// The act's time. A time outside the act's bounds means the nearest bound.
            to_us: i64,
        }
        /// Answers the question of a passage. An answer to an unknown question is refused.
        13 Answer {
            /// The index of the passage in [`LessonText::passages`].
            passage: u32,
            /// The answer, as [`QuestionText::form`] says; [`QuestionText::see`] means that the person wants to see the
            /// right one.
            answer: u32,
        }
    }
}

fields! {
    /// A lesson and its text.
    struct LessonText {
        /// The lesson's name in links.
        name: String,
        /// The lesson's title.
        title: String,
        /// The lesson's number among all lessons, from 1.
        number: u32,
        /// The lesson's length.
        lasts_us: i64,
        /// The passages, in order of time. There is at least one.
        passages: Vec<PassageText>,
        /// The words of the buttons that do something to the cluster.
        breaks: Vec<String>,
        /// The acts that the person can move.
        acts: Vec<ActText>,
        /// What the person is to reach at the end, the easiest first.
        goals: Vec<GoalText>,
        /// All lessons, in the order in which a person learns them.
        lessons: Vec<LessonLine>,
        /// The versions of the server, the newest first.
        servers: Vec<String>,
        /// The versions of client-go, the newest first.
        clients: Vec<String>,
        /// The name in the link, if there is no such lesson.
        unknown: Option<String>,
        /// The names nearest to an unknown one; empty without one.
        nearest: Vec<String>,
        /// Whether the link named no lesson, so that the page offers all.
        is_offer: bool,
    }
    /// A passage of a lesson.
    struct PassageText {
        /// The passage's title.
        title: String,
        /// The time from which the passage is shown.
        at_us: i64,
        /// The begin of the time that the picture shows.
        from_us: i64,
        /// The end of the time that the picture shows.
        to_us: i64,
        /// The paragraphs. `*…*` is emphasis, `` `…` `` is code, and `{1}` is the first moment.
        text: Vec<String>,
        /// The words of the moments.
        moments: Vec<String>,
        /// The question before the next passage.
        question: Option<QuestionText>,
        /// The index in [`LessonText::acts`] of the act that the passage is about.
        act: Option<u64>,
        /// Which lanes the passage needs. 0: etcd, apiservers and clients. 1: caches, too. 2: the ways between them, too.
        /// 3: all.
        lanes: u32,
        /// Whether the passage needs the messages on the wire.
        has_wire: bool,
        /// Whether the passage needs the table of the objects that each side holds.
        has_holds: bool,
        /// Whether the passage needs the clients' loops.
        has_code: bool,
        /// Whether the passage needs what the person can do to the cluster.
        has_breaks: bool,
    }
    /// What the person is to reach by own clicks.
    struct GoalText {
        /// The goal, as a sentence.
        words: String,
        /// The most clicks; at least one.
        clicks: u32,
        /// The client that is to hold ghosts; absent for a goal that the worker checks.
        client: Option<String>,
        /// The least number of ghosts that the client is to hold at once.
        ghosts: u64,
    }
    /// A question.
    struct QuestionText {
        /// The question.
        asks: String,
        /// The form of an answer. 0: the index of one of `answers`. 1: a set of `answers`, which are lanes. 2: a table of
        /// objects and clients, whose cells are `answers`, row by row. A set or a table is a number. Its bit n says
        /// whether the answer with index n is in the set, or whether that client holds that object.
        form: u32,
        /// The answers, lanes or cells, in words.
        answers: Vec<String>,
        /// The keys of the lanes to tap; empty for another form.
        lanes: Vec<String>,
        /// The names of a table's rows; empty for another form.
        rows: Vec<String>,
        /// The names of a table's columns; empty for another form.
        columns: Vec<String>,
        /// The right answer.
        right: u32,
        /// The answer that asks to see the right one. Any possible answer is less.
        see: u32,
        /// The explanation once the question is settled.
        because: String,
        /// A reply to each of `answers`, for a person who has it wrong.
        replies: Vec<String>,
        /// Whether the page hides what the question asks for until it is settled.
        covers: bool,
    }
    /// An act of the script that the person can move.
    struct ActText {
        /// The act in words, such as `DELETE report`.
        words: String,
        /// The key of the lane on which the act happens.
        lane: String,
        /// The act's time as written.
        written_us: i64,
        /// The earliest time to which the act can be moved.
        from_us: i64,
        /// The latest time to which the act can be moved.
        to_us: i64,
        /// The times to which a drag within 0.15 s snaps.
        snaps_us: Vec<i64>,
        /// What there is to find by moving the act, in words.
        finds: Vec<String>,
    }
    /// A lesson in the list of lessons.
    struct LessonLine {
        /// The lesson's name in links.
        name: String,
        /// The lesson's title.
        title: String,
        /// What the lesson teaches.
        teaches: String,
    }
    /// The present state of a lesson.
    struct LessonNow {
        /// The number of the run; each run has a log of its own.
        run: u64,
        /// The time up to which the lesson is shown.
        at_us: i64,
        /// The lesson's begin on the log's clock.
        begin: Time,
        /// The index of the shown passage.
        passage: u32,
        /// The moments of the shown passage, in their order.
        moments: Vec<MomentNow>,
        /// Whether the lesson plays.
        is_playing: bool,
        /// The chosen speed in thousandths.
        speed_thousandths: u32,
        /// The speed at which the lesson plays now, in thousandths: higher where nothing happens.
        pace_thousandths: u32,
        /// The seed.
        seed: u64,
        /// The version of the server.
        server: String,
        /// The version of client-go.
        client: String,
        /// The acts that the person can move, in the order of [`LessonText::acts`].
        acts: Vec<ActNow>,
        /// How often the person did something to the cluster in this run.
        clicks: u32,
        /// How far this run reached the goals, in the order of [`LessonText::goals`].
        goals: Vec<GoalNow>,
        /// Whether nothing was changed: the text describes this run.
        is_as_written: bool,
        /// A note about the last command.
        note: Option<String>,
        /// The fragment of a link that leads here.
        link: String,
        /// The answers that the person gave, in their order.
        answers: Vec<GivenAnswer>,
        /// The indices of the passages whose question is settled.
        settled: Vec<u64>,
        /// The last messages between clients and servers.
        wire: Vec<WireLine>,
        /// The client programs.
        clients: Vec<ClientNow>,
        /// The findings that are not cleared, the newest first.
        findings: Vec<FindingNow>,
    }
    /// An act that the person can move, in the present run.
    struct ActNow {
        /// The act's time.
        at_us: i64,
        /// Which clients learned the news that the act decides about, in phrases such as `naive does not hear it`. A
        /// client is absent while that is open.
        fates: Vec<String>,
        /// What the person found by moving the act, in the order of [`ActText::finds`].
        finds: Vec<FindNow>,
        /// The times to which the act was moved so far, at most 32, with what became of it then.
        tried: Vec<TriedNow>,
    }
    /// A time to which an act was moved.
    struct TriedNow {
        /// The act's time.
        at_us: i64,
        /// How many clients learned the news.
        heard: u32,
        /// How many clients there were.
        clients: u32,
    }
    /// How far a run reached a goal.
    struct GoalNow {
        /// When the run reached it; absent until then, and for a goal that the page checks.
        at_us: Option<i64>,
    }
    /// Whether the person found something by moving an act.
    struct FindNow {
        /// The act's time when it was found; absent until then.
        at_us: Option<i64>,
    }
    /// A moment of a passage, as far as it is shown.
    struct MomentNow {
        /// The seq of the moment's record; absent until it is shown.
        seq: Option<u64>,
        /// The moment's time on the log's clock; 0 until it is shown.
        at: Time,
        /// The name of the moment's lane; empty until it is shown.
        lane: String,
        /// The name of the lane around the moment's lane.
        within: Option<String>,
    }
    /// An answer that the person gave.
    struct GivenAnswer {
        /// The index of the passage.
        passage: u32,
        /// The answer, as [`QuestionText::form`] says.
        answer: u32,
    }
    /// A message between a client and a server.
    struct WireLine {
        /// The time on the log's clock.
        at: Time,
        /// The client.
        who: String,
        /// Whether the client sent it.
        asks: bool,
        /// Whether it is an error.
        is_error: bool,
        /// The message.
        words: String,
    }
    /// A client program.
    struct ClientNow {
        /// The client's name.
        name: String,
        /// The program.
        program: String,
        /// The program's version.
        version: Option<String>,
        /// What the program does now.
        phase: Option<String>,
    }
    /// A finding.
    struct FindingNow {
        /// The code, such as `F19`.
        code: String,
        /// The name.
        name: String,
        /// What was found.
        summary: String,
        /// The severity in a word.
        severity: String,
        /// The certainty in a word.
        certainty: String,
    }
}

/// Gives structs the forms that a list of them needs.
macro_rules! listed {
    ($($name:ident),* $(,)?) => {
        struct_fields!($($name),*);
        $(impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&AsJson(self), serializer)
            }
        })*
    };
}

listed!(
    PassageText,
    GoalText,
    GoalNow,
    QuestionText,
    ActText,
    LessonLine,
    ActNow,
    FindNow,
    TriedNow,
    MomentNow,
    GivenAnswer,
    WireLine,
    ClientNow,
    FindingNow,
);

/// Encodes a command.
#[must_use]
pub fn encode_command(command: &LessonCommand) -> Vec<u8> {
    Writer::plain(|writer| {
        writer.varint(command.kind());
        writer.sized(|fields| command.write_fields(fields));
    })
}

/// Decodes a command; `None` for an unknown kind.
///
/// # Errors
/// The first error in the bytes.
pub fn decode_command(bytes: &[u8]) -> Result<Option<LessonCommand>, DecodeError> {
    Ok(decode(bytes, LessonCommand::read_fields)?.map(|(command, _)| command))
}

/// Encodes a text or a state.
#[must_use]
pub fn encode_lesson<T: Fields>(value: &T) -> Vec<u8> {
    Writer::plain(|writer| write_struct(value, writer))
}

/// Decodes a text or a state.
///
/// # Errors
/// The first error in the bytes.
pub fn decode_lesson<T: Fields>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::plain(bytes);
    let value = read_struct(&mut reader);
    reader.finish(value)
}
