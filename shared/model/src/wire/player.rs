//! Messages between a page and the player of a lesson in its worker: the lesson's text, its present state, and the
//! person's commands.
//!
//! Page and worker are of one build, so these messages have no version, and a lesson bounds their texts and lists.
//! Times named `…_us` are microseconds since the lesson began. Times of type [`Time`] are on the log's clock, which is
//! the cluster's. Indices count from 0. A list may be empty unless its doc says otherwise.

use super::message::{decode, messages};
use crate::codec::{DecodeError, Reader, Writer};
use crate::field::{AsJson, Fields, fields, read_struct, struct_fields, write_struct};
use crate::time::Time;

messages! {
    /// A command of the person to the player of a lesson. A refused command is not carried out. Each command, also a
    /// refused one, removes [`LessonNow::note`].
    LessonCommand {
        /// Plays up to the begin of the next passage; from the last passage on, to the lesson's end.
        0 Play {}
        /// Stops playing.
        1 Halt {}
        /// Sets the speed at which the lesson plays.
        2 SetSpeed {
            /// The speed in thousandths of the speed of a clock, from 100 to 1,000,000; any other is refused.
            thousandths: u32,
        }
        /// Stops playing, and shows records up to the next one with a line on the wire or a moment of the passage. It
        /// goes at most to the begin of the next passage, or to the lesson's end.
        3 Step {}
        /// Stops playing, and goes to the begin of the next passage; from the last passage on, to the lesson's end.
        4 NextPassage {}
        /// Stops playing, and goes back to the begin of this passage; from there to the begin of the passage before.
        /// Without such a passage it goes to the lesson's begin.
        5 PreviousPassage {}
        /// Stops playing, and goes to a time.
        6 Seek {
            /// The time. A time past the lesson's end means its end; a negative one is refused.
            to_us: i64,
        }
        /// Does something to the cluster at the time that is shown, or up to 10 ms later. In a run with 256 breaks it
        /// does nothing.
        7 Break {
            /// The index in [`LessonText::breaks`]; an unknown one does nothing.
            place: u32,
        }
        /// Runs again with another seed, up to the time that is shown; undoes all breaks.
        8 SetSeed {
            /// The seed; any number is allowed.
            seed: u64,
        }
        /// Runs again with another version of the server, up to the time that is shown; undoes all breaks.
        9 SetServer {
            /// The version, such as `1.36` or `v1.27.3`; one that the simulator does not know is refused.
            version: String,
        }
        /// Runs again with another version of client-go, up to the time that is shown; undoes all breaks.
        10 SetClient {
            /// The version, such as `1.34` or `v1.9.2`; one that the simulator does not know is refused.
            version: String,
        }
        /// Runs again as written, up to the time that is shown: undoes another seed, other versions, breaks and moved
        /// acts. Answers stay.
        11 AsWritten {}
        /// Runs again with an act of the script at another time, up to the time that is shown.
        12 MoveAct {
            /// The index in [`LessonText::acts`]; an unknown one is refused.
            act: u32,
            /// The act's time. A time outside the act's bounds means the nearest bound; a negative one is refused.
            to_us: i64,
        }
        /// Answers the question of a passage. It is refused if the passage has no question, if the question is settled,
        /// or if this answer was given before.
        13 Answer {
            /// The index of the passage in [`LessonText::passages`]; an unknown one is refused.
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
        /// The words of the buttons that do something to the cluster, in the order of the buttons.
        breaks: Vec<String>,
        /// The acts that the person can move.
        acts: Vec<ActText>,
        /// What the person is to reach at the end, the easiest first.
        goals: Vec<GoalText>,
        /// All lessons, in the order in which a person learns them.
        lessons: Vec<LessonLine>,
        /// The minor versions of the server that a person can choose, such as `1.36`; the newest first.
        servers: Vec<String>,
        /// The versions of client-go that a person can choose, such as `1.34`; the newest first.
        clients: Vec<String>,
        /// The name in the link, if no lesson has it. The most similar lesson is opened instead. Absent if a lesson has
        /// the name, or if the link names none.
        unknown: Option<String>,
        /// The names that are most similar to `unknown`, in the order of the lessons; all names if none is similar.
        /// Empty if `unknown` is absent.
        nearest: Vec<String>,
        /// Whether the link named no lesson, so that the page offers all. The first lesson is then open.
        is_offer: bool,
    }
    /// A passage of a lesson. It is shown from its time on, until the next passage. The first passage is also shown
    /// before its time.
    struct PassageText {
        /// The passage's title.
        title: String,
        /// The time from which the passage is shown.
        at_us: i64,
        /// The begin of the time that the picture shows.
        from_us: i64,
        /// The end of the time that the picture shows.
        to_us: i64,
        /// The paragraphs, in order. `*…*` is emphasis, `` `…` `` is code, and `{1}` stands for the first of `moments`.
        text: Vec<String>,
        /// The words of the moments that the text names, by number from 1.
        moments: Vec<String>,
        /// The question before the next passage; absent if there is none.
        question: Option<QuestionText>,
        /// The index in [`LessonText::acts`] of the act that the person is to move; absent if there is none.
        act: Option<u64>,
        /// Which lanes the passage needs. 0: etcd, apiservers and clients. 1: watch caches, too. 2: the streams from
        /// caches to clients, too. 3: all.
        lanes: u32,
        /// Whether the passage needs the messages on the wire.
        has_wire: bool,
        /// Whether the passage needs the table of the objects that each side holds.
        has_holds: bool,
        /// Whether the passage needs the clients' loops.
        has_code: bool,
        /// Whether the passage needs the table of the ends of watches.
        has_ends: bool,
        /// Whether the passage needs the histogram of requests and of ends of watches.
        has_crowd: bool,
        /// Whether the passage needs the buttons that do something to the cluster.
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
        /// The question, as a sentence.
        asks: String,
        /// The form of an answer. 0: the index of one of `answers`. 1: a set of `answers`, which are lanes. 2: a table
        /// of objects and clients, whose cells are `answers`, row by row. 3: a table of `answers`, which are ends of a
        /// watch. 4: a histogram, whose columns are `answers`. A set or a table is a number. Its bit n says whether the
        /// answer with index n is in the set, whether that client holds that object, or whether an ERROR comes before
        /// that end. A histogram is a number, too. Its bits from 3n on are the height of the column with index n, from 0
        /// to 7; a column that is off by one step is right.
        form: u32,
        /// The answers, lanes, cells, ends or columns, in words.
        answers: Vec<String>,
        /// The keys of the lanes to tap; empty for another form.
        lanes: Vec<String>,
        /// The names of a table's rows; empty for another form.
        rows: Vec<String>,
        /// The names of a table's columns; empty for another form.
        columns: Vec<String>,
        /// The height of each column of a histogram in the run as written; empty for another form.
        counts: Vec<u64>,
        /// How much one step of a column stands for; 0 for another form.
        step: u32,
        /// The right answer.
        right: u32,
        /// The answer that asks to see the right one. Any possible answer is less.
        see: u32,
        /// The explanation, which is shown once the question is settled.
        because: String,
        /// A reply to each of `answers`, for a person who has it wrong.
        replies: Vec<String>,
        /// Whether the page hides what each side holds until the question is settled.
        covers: bool,
    }
    /// An act of the script that the person can move. It deletes an object.
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
        /// The times to which a drag within 0.15 s snaps, in no fixed order. Any other drag ends at a whole tenth of a
        /// second, or at a bound.
        snaps_us: Vec<i64>,
        /// What there is to find by moving the act, as phrases.
        finds: Vec<String>,
    }
    /// A lesson in the list of lessons.
    struct LessonLine {
        /// The lesson's name in links.
        name: String,
        /// The lesson's title.
        title: String,
        /// The question that the lesson answers.
        question: String,
        /// What the lesson teaches, in one line without a full stop.
        teaches: String,
    }
    /// The present state of a lesson. To go back, or to change something, the player runs the lesson again. After that,
    /// and at the beginning, it shows nothing before the page has joined. Fields that depend on shown records are then
    /// empty.
    struct LessonNow {
        /// The number of the run, from 1; each run has a log of its own.
        run: u64,
        /// The time up to which the lesson is shown, or will be once the page has joined.
        at_us: i64,
        /// The lesson's begin.
        begin: Time,
        /// The index in [`LessonText::passages`] of the shown passage.
        passage: u32,
        /// The moments of the shown passage, in their order; one for each of [`PassageText::moments`].
        moments: Vec<MomentNow>,
        /// Whether the lesson plays.
        is_playing: bool,
        /// The chosen speed in thousandths of the speed of a clock; 1,000 at first.
        speed_thousandths: u32,
        /// The speed at which the lesson plays now, in thousandths. If the chosen speed is 1,000, it is higher in a
        /// passage with a speed of its own. It is also higher inside a stretch of over 2 s without a change of the
        /// picture.
        pace_thousandths: u32,
        /// The run's seed; 1 as written.
        seed: u64,
        /// The minor version of the server, such as `1.36`.
        server: String,
        /// The version of client-go, such as `1.34`.
        client: String,
        /// The acts that the person can move, in the order of [`LessonText::acts`].
        acts: Vec<ActNow>,
        /// The number of breaks in this run so far, at most 256.
        clicks: u32,
        /// How far this run reached the goals, in the order of [`LessonText::goals`].
        goals: Vec<GoalNow>,
        /// Whether the text describes this run: seed and versions are as written, no act is moved, and nothing was
        /// broken in it so far.
        is_as_written: bool,
        /// A note about parts of the link that the lesson lacks, such as a time past its end, in sentences. Absent if
        /// the lesson lacks none, and after the first command.
        note: Option<String>,
        /// The fragment of a link that leads here, without `#`.
        link: String,
        /// The answers that the person gave, in their order, to the questions of all passages.
        answers: Vec<GivenAnswer>,
        /// The indices of the passages whose question is settled, sorted.
        settled: Vec<u64>,
        /// The last 60 messages between clients and servers, the oldest first.
        wire: Vec<WireLine>,
        /// The client programs, in the order in which they started.
        clients: Vec<ClientNow>,
        /// The last 24 ends of watches of Go programs, the oldest first.
        ends: Vec<EndNow>,
        /// The minor versions of the apiservers of this run, such as `1.36`, in the order of their numbers.
        servers: Vec<String>,
        /// What all clients asked for in the last [`CROWD_SECONDS`], by server and then by second. A second in which nothing
        /// happened at a server is absent.
        crowd: Vec<CrowdNow>,
        /// The findings that are not cleared, the newest first.
        findings: Vec<FindingNow>,
    }
    /// An act that the person can move, in the present run.
    struct ActNow {
        /// The act's time in this run.
        at_us: i64,
        /// Which clients learned the news that the act decides about, in phrases such as `naive does not hear it`. A
        /// client is absent while that is open.
        fates: Vec<String>,
        /// What the person found by moving the act, in the order of [`ActText::finds`].
        finds: Vec<FindNow>,
        /// The times at which the act was so far, at most 32, each once. A time counts once a run has shown which
        /// clients receive the deletion. Further times are left out.
        tried: Vec<TriedNow>,
    }
    /// A time at which an act was, in this run or an earlier one.
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
        /// The act's time when it was found first; absent until then.
        at_us: Option<i64>,
    }
    /// A moment of a passage, as far as it is shown.
    struct MomentNow {
        /// The seq of the moment's record in the run's log; absent until it is shown.
        seq: Option<u64>,
        /// The time of the moment's record; 0 until it is shown.
        at: Time,
        /// The name of the moment's lane, such as `etcd` or `client NAME`; empty until it is shown.
        lane: String,
        /// The name of the lane around the moment's lane; absent if there is none, and until it is shown.
        within: Option<String>,
    }
    /// An answer that the person gave.
    struct GivenAnswer {
        /// The index of the passage.
        passage: u32,
        /// The answer, as [`QuestionText::form`] says.
        answer: u32,
    }
    /// A message between a client and a server, or the end of a response or of a connection.
    struct WireLine {
        /// The time at which the client sent or received it.
        at: Time,
        /// The client's name; for watchscope's own requests, the name of the watch that they are logged under.
        who: String,
        /// Whether the client sent it.
        asks: bool,
        /// Whether it is an error, or an end that is not in order.
        is_error: bool,
        /// The message in short, cut at 400 characters.
        words: String,
    }
    /// The end of a watch of a Go program: its result channel is closed.
    struct EndNow {
        /// The time at which the channel was closed.
        at: Time,
        /// The client's name.
        who: String,
        /// How the watch ended on the wire, in words.
        wire: String,
        /// The line in the program's log, in words; empty without a line.
        line: String,
        /// The code of the last ERROR that the channel carried; absent if it carried none.
        error: Option<u64>,
    }
    /// What clients asked of one server in one second, and what became of it.
    struct CrowdNow {
        /// The server's number, from 0.
        server: u32,
        /// The second, counted from the lesson's begin.
        second: u32,
        /// The requests for lists and for watches.
        requests: u32,
        /// The watches that ended, but not by the client's own will.
        ends: u32,
        /// The requests that were refused: by a status other than 200, or by an ERROR event in a watch.
        refusals: u32,
    }
    /// A client program.
    struct ClientNow {
        /// The client's name.
        name: String,
        /// The program, as [`ClientStarted::program`](crate::event::ClientStarted) states it.
        program: String,
        /// The program's version; absent if it has only one.
        version: Option<String>,
        /// The word of the phase that the program reported last; absent before its first report.
        phase: Option<String>,
    }
    /// A finding that is not cleared, by its last record.
    struct FindingNow {
        /// The code, such as `F19`.
        code: String,
        /// The failure's name.
        name: String,
        /// What happened and what followed, in sentences.
        summary: String,
        /// The severity, as a word: `note`, `warning`, `error` or `divergence`.
        severity: String,
        /// The certainty, as a word: `definite`, `likely` or `suspected`.
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
    EndNow,
    CrowdNow,
    ClientNow,
    FindingNow,
);

/// How many seconds of requests [`LessonNow::crowd`] covers: the present one, and those right before it.
pub const CROWD_SECONDS: u32 = 20;
/// The bits of the height of a column, in an answer that is a histogram ([`QuestionText::form`]).
pub const COLUMN_BITS: u32 = 3;
/// The greatest height of a column, in steps.
pub const COLUMN_MOST: u32 = (1 << COLUMN_BITS) - 1;

/// Returns the height of the column with the index `place` in an answer, in steps; 0 where an answer has no such column.
#[must_use]
pub fn column_height(answer: u32, place: usize) -> u32 {
    let at = u32::try_from(place).unwrap_or(u32::MAX);
    let at = at.saturating_mul(COLUMN_BITS);
    answer.checked_shr(at).unwrap_or(0) & COLUMN_MOST
}

/// Whether a column of an answer is right: at most one step off that of the right answer.
#[must_use]
pub fn is_column_right(answer: u32, right: u32, place: usize) -> bool {
    column_height(answer, place).abs_diff(column_height(right, place)) <= 1
}

/// Encodes a command: its kind, the length of its fields, and its fields.
#[must_use]
pub fn encode_command(command: &LessonCommand) -> Vec<u8> {
    Writer::plain(|writer| {
        writer.varint(command.kind());
        writer.sized(|fields| command.write_fields(fields));
    })
}

/// Decodes a command; `None` for an unknown kind. Bytes after the command are ignored.
///
/// # Errors
/// The first error in the bytes.
pub fn decode_command(bytes: &[u8]) -> Result<Option<LessonCommand>, DecodeError> {
    Ok(decode(bytes, LessonCommand::read_fields)?.map(|(command, _)| command))
}

/// Encodes a [`LessonText`] or a [`LessonNow`]: the length of its fields, then its fields.
#[must_use]
pub fn encode_lesson<T: Fields>(value: &T) -> Vec<u8> {
    Writer::plain(|writer| write_struct(value, writer))
}

/// Decodes what [`encode_lesson`] wrote, as the same type: the bytes do not state it. Bytes after the fields are
/// ignored.
///
/// # Errors
/// The first error in the bytes.
pub fn decode_lesson<T: Fields>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::plain(bytes);
    let value = read_struct(&mut reader);
    reader.finish(value)
}
