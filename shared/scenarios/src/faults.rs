//! Faults by name, for people who switch a fault on. One table has the faults' names, parameters and help, and parses
//! them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use watchscope_simulator::{Cut, Defect, Fault, Rights, ServerId, Target, Throttle};

use crate::script::{Act, Deed, Line};

/// A fault with the times at which it begins and ends: `reset@30`, `delay:700@10-60`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// The fault.
    pub fault: Fault,
    /// When the fault begins, since the story began.
    pub at: Duration,
    /// When the fault ends, since the story began; later than `at`. `None` if the fault never ends or is momentary.
    pub until: Option<Duration>,
    /// The fault's name and parameter as the person gave them.
    asked: String,
}

/// Why a text is no planned fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoFault {
    /// No fault has this name.
    Unknown {
        /// The given name.
        asked: String,
        /// The most similar names of faults, at least one and at most three, in the order of [`help`].
        nearest: Vec<&'static str>,
    },
    /// The fault does not take the given parameter, or needs a parameter and got none.
    Parameter {
        /// The fault's name.
        name: &'static str,
        /// The parameters that the fault takes, in words that follow "takes" in the error's sentence.
        takes: String,
    },
    /// The text behind `@` is no time, or the end that it names is not later than the begin.
    Moment {
        /// The text, without the `@`.
        given: String,
    },
    /// The text names an end, but the fault is momentary and takes none.
    Momentary {
        /// The fault's name.
        name: &'static str,
    },
}

impl fmt::Display for NoFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoFault::Unknown { asked, nearest } => {
                write!(
                    f,
                    "there is no fault {asked:?}; nearest: {}",
                    nearest.join(", ")
                )
            }
            NoFault::Parameter { name, takes } => write!(f, "{name} takes {takes}"),
            NoFault::Moment { given } => write!(
                f,
                "{given:?} is no time; write @SECONDS or @SECONDS-SECONDS, as @30-60"
            ),
            NoFault::Momentary { name } => {
                write!(f, "{name} is over at once; write {name}@SECONDS")
            }
        }
    }
}

impl std::error::Error for NoFault {}

impl PlannedFault {
    /// Returns the begin of the fault and its end, if it has one, as acts in order of time. Each act has a narrator's
    /// line.
    #[must_use]
    pub fn acts(&self) -> Vec<Act> {
        let act = |at: Duration, deed: Deed, text: String| Act {
            at,
            deeds: vec![deed],
            says: Some(Line {
                text,
                watch: None,
                over: false,
            }),
        };
        let asked = &self.asked;
        let text = if self.fault.is_momentary() {
            format!("Fault {asked}.")
        } else {
            format!("Fault {asked} begins.")
        };
        let begin = act(self.at, Deed::Inject(self.fault.clone()), text);
        let end = self.until.map(|until| {
            let text = format!("Fault {asked} is over.");
            act(until, Deed::Lift(self.fault.clone()), text)
        });
        std::iter::once(begin).chain(end).collect()
    }
}

impl FromStr for PlannedFault {
    type Err = NoFault;

    /// Parses `NAME[:PARAMETER][@SECONDS[-SECONDS]]`; seconds may have a fraction. Without a parameter the fault has
    /// its default; a fault that strikes one object has none, and is refused. Without a time the fault begins at once.
    /// Names are in lower case, and white space is not skipped.
    ///
    /// # Errors
    /// [`NoFault`] if the name is unknown, the parameter does not fit, the time cannot be read, or a momentary fault
    /// has an end.
    fn from_str(text: &str) -> Result<PlannedFault, NoFault> {
        let (what, when) = match text.split_once('@') {
            Some((what, when)) => (what, Some(when)),
            None => (text, None),
        };
        let (name, parameter) = match what.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (what, None),
        };
        let Some(named) = TABLE.iter().find(|named| named.name == name) else {
            return Err(NoFault::Unknown {
                asked: name.to_owned(),
                nearest: nearest(name),
            });
        };
        let fault = named.fault(parameter)?;
        let (at, until) = match when {
            None => (Duration::ZERO, None),
            Some(when) => moments(when).ok_or_else(|| NoFault::Moment {
                given: when.to_owned(),
            })?,
        };
        if until.is_some() && fault.is_momentary() {
            return Err(NoFault::Momentary { name: named.name });
        }
        Ok(PlannedFault {
            fault,
            at,
            until,
            asked: what.to_owned(),
        })
    }
}

/// Returns a line for each fault, by subject from the network to etcd. A line has the fault's name, its parameter's
/// default (or the parameter's form if there is no default), and words about the effect. A line has at most 76 columns.
#[must_use]
pub fn help() -> Vec<String> {
    let usage = |named: &Named| match named.parameter {
        Parameter::None => named.name.to_owned(),
        Parameter::Object => format!("{}:{}", named.name, named.parameter.default()),
        _ => format!("{}[:{}]", named.name, named.parameter.default()),
    };
    let lines = TABLE.iter().map(|named| {
        let usage = usage(named);
        format!("{usage:30} {}", named.what)
    });
    lines.collect()
}

/// Returns the name of each fault, and words about its effect, in the order of [`help`].
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|named| (named.name, named.what))
}

/// The most names that an error about an unknown name suggests, so that the error stays one line. Of more names that
/// are equally near, the first are suggested. The number has no source.
const NEAREST_MOST: usize = 3;

/// Returns the names of faults that are most similar to `asked` by Levenshtein distance, as a whole or in one of their
/// words.
fn nearest(asked: &str) -> Vec<&'static str> {
    let asked = asked.to_ascii_lowercase();
    let distance = |name: &str| {
        let words = name.split('-').chain([name]);
        let distances = words.map(|word| strsim::levenshtein(&asked, word));
        distances.min().unwrap_or(usize::MAX)
    };
    let mut names: Vec<&str> = TABLE.iter().map(|named| named.name).collect();
    let least = names.iter().map(|name| distance(name)).min();
    names.retain(|name| Some(distance(name)) == least);
    names.truncate(NEAREST_MOST);
    names
}

/// Parses texts such as `30` and `30-60`, in seconds with or without a fraction. `None` for any other text, and if the
/// end is not later than the begin.
fn moments(text: &str) -> Option<(Duration, Option<Duration>)> {
    let seconds = |text: &str| {
        let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let seconds: f64 = text.parse().ok().filter(|_| is_plain)?;
        Duration::try_from_secs_f64(seconds).ok()
    };
    match text.split_once('-') {
        None => Some((seconds(text)?, None)),
        Some((at, until)) => {
            let (at, until) = (seconds(at)?, seconds(until)?);
            (at < until).then_some((at, Some(until)))
        }
    }
}

/// The kind of parameter that a fault takes after its name and a colon.
#[derive(Clone, Copy, Debug)]
enum Parameter {
    None,
    /// A whole number, with its unit and its default.
    Number(&'static str, u32),
    /// One resource, such as `pods` or `deployments.apps`; without a parameter the fault strikes all resources.
    Resource,
    /// One resource, with a default because the fault needs exactly one resource.
    OneResource,
    /// One object as `RESOURCE/NAME`, without which the fault is refused.
    Object,
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
}

/// The default of faults that need a resource, as [`Parameter::OneResource`] reads it: every simulated cluster serves
/// configmaps.
const USUAL_RESOURCE: &str = "configmaps";

impl Parameter {
    fn default(self) -> String {
        match self {
            Parameter::None => String::new(),
            Parameter::Number(_, default) => default.to_string(),
            Parameter::Resource => "RESOURCE".to_owned(),
            Parameter::OneResource => USUAL_RESOURCE.to_owned(),
            Parameter::Object => "RESOURCE/NAME".to_owned(),
            Parameter::Word(words) => words.first().copied().unwrap_or_default().to_owned(),
        }
    }

    fn takes(self) -> String {
        match self {
            Parameter::None => "no parameter".to_owned(),
            Parameter::Number(unit, default) => {
                format!("a number of {unit}, such as {default}")
            }
            Parameter::Resource | Parameter::OneResource => {
                "a resource, such as pods or deployments.apps".to_owned()
            }
            Parameter::Object => {
                "a resource and the name of an object, such as configmaps/prices".to_owned()
            }
            Parameter::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    fn read(self, given: Option<&str>) -> Option<Given> {
        let number = |number| {
            Some(Given {
                number,
                ..Given::default()
            })
        };
        let text = |text: &str| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '/');
            (!text.is_empty() && text.chars().all(is_name)).then(|| Given {
                text: text.to_owned(),
                ..Given::default()
            })
        };
        match (self, given) {
            (Parameter::None | Parameter::Resource, None) => Some(Given::default()),
            (Parameter::None, Some(_)) | (Parameter::Object, None) => None,
            (Parameter::Number(_, default), None) => number(default),
            (Parameter::Number(..), Some(given)) => number(given.parse().ok()?),
            (Parameter::OneResource, None) => text(USUAL_RESOURCE),
            (Parameter::Word(words), given) => {
                text(given.map_or_else(|| words.first(), |g| words.iter().find(|w| **w == g))?)
            }
            (Parameter::Resource | Parameter::OneResource, Some(given)) => {
                text(given).filter(|_| !given.contains('/'))
            }
            (Parameter::Object, Some(given)) => {
                let (resource, name) = given.split_once('/')?;
                let whole = !resource.is_empty() && !name.is_empty() && !name.contains('/');
                text(given).filter(|_| whole)
            }
        }
    }
}

/// The value of a fault's parameter. Fields that its kind of parameter does not have are empty.
#[derive(Clone, Debug, Default)]
struct Given {
    number: u32,
    text: String,
}

impl Given {
    fn millis(&self) -> Duration {
        Duration::from_millis(self.number.into())
    }

    fn secs(&self) -> Duration {
        Duration::from_secs(self.number.into())
    }

    fn count(&self) -> usize {
        usize::try_from(self.number).unwrap_or(usize::MAX)
    }

    fn resource(&self) -> Option<String> {
        (!self.text.is_empty()).then(|| self.text.clone())
    }

    /// Returns the resource and the name of the given object.
    fn object(&self) -> (String, String) {
        let (resource, name) = self.text.split_once('/').unwrap_or_default();
        (resource.to_owned(), name.to_owned())
    }
}

/// A row of the table of faults: one fault by its name.
struct Named {
    name: &'static str,
    parameter: Parameter,
    what: &'static str,
    fault: fn(&Given) -> Fault,
}

impl Named {
    /// Returns the row's fault with a parameter, or [`NoFault::Parameter`] if the parameter does not fit.
    fn fault(&self, parameter: Option<&str>) -> Result<Fault, NoFault> {
        let given = self.parameter.read(parameter);
        let given = given.ok_or_else(|| NoFault::Parameter {
            name: self.name,
            takes: self.parameter.takes(),
        })?;
        Ok((self.fault)(&given))
    }
}

/// The server that faults of one server strike: the first, which each story has.
const FIRST: ServerId = ServerId(0);

macro_rules! table {
    ($($name:literal $parameter:expr, $what:literal, $fault:expr;)*) => {
        /// All faults by name, in the order of [`help`].
        const TABLE: &[Named] = &[$(Named {
            name: $name,
            parameter: $parameter,
            what: $what,
            fault: $fault,
        }),*];
    };
}

use Parameter::{None as Nothing, Number, Object, OneResource, Resource, Word};

/// The parameters of `too-many-requests`: which part of the server answers 429 (docs/semantics/requests.md#errors). The
/// first parameter is the default.
const EMITTERS: &[&str] = &["fairness", "in-flight", "cache", "stale-cache", "shutdown"];

/// The parameters of `etcd-defect`: numbers of etcd's issues and pull requests
/// (docs/semantics/servers.md#etcd-defects). The first number is the default.
const DEFECTS: &[&str] = &[
    "15220", "15271", "15274", "17529", "17566", "18089", "19179", "20221", "17780",
];

table! {
    "reset" Nothing, "all connections are reset",
        |_| Fault::Cut { target: Target::All, cut: Cut::Reset };
    "eof" Nothing, "all connections end without the bodies' end",
        |_| Fault::Cut { target: Target::All, cut: Cut::Eof };
    "torn-frame" Nothing, "the next frame of each watch is torn",
        |_| Fault::TearFrame { target: Target::All, cut: Cut::Reset };
    "garbled-frame" Nothing, "the next frame of each watch is no JSON",
        |_| Fault::GarbleFrame { target: Target::All };
    "close-streams" Nothing, "all watches end in order",
        |_| Fault::CloseStreams { target: Target::All };
    "reset-streams" Nothing, "all watches are given up (RST_STREAM)",
        |_| Fault::ResetStreams { target: Target::All, code: 2 };
    "goaway" Nothing, "all connections get a GOAWAY",
        |_| Fault::GoAway { target: Target::All, cut: None };
    "refuse" Nothing, "new connections are refused",
        |_| Fault::Refuse;
    "stall" Nothing, "nothing passes, and nothing says so",
        |_| Fault::Stall { target: Target::All };
    "lose-requests" Nothing, "what clients send is lost",
        |_| Fault::LoseRequests { target: Target::All };
    "lose-answers" Nothing, "what servers send is lost",
        |_| Fault::LoseAnswers { target: Target::All };
    "delay" Number("milliseconds", 500), "everything arrives this many ms later",
        |given| Fault::Delay { by: given.millis() };
    "buffer" Number("bytes", 10_000), "a proxy holds back this many bytes",
        |given| Fault::Buffer { target: Target::All, bytes: given.count() };
    "cap-streams" Number("requests", 2), "answers at a time over a connection",
        |given| Fault::CapStreams { target: Target::All, streams: given.count() };
    "kill-idle" Number("seconds", 60), "after this many idle seconds all is lost",
        |given| Fault::KillIdle { after: given.secs(), says_so: false };
    "out-of-rotation" Nothing, "a server gets no new connections",
        |_| Fault::OutOfRotation { server: FIRST };
    "balance-requests" Nothing, "requests go to the servers in turn",
        |_| Fault::BalanceRequests;
    "too-many-requests" Word(EMITTERS), "429; in-flight, cache, shutdown too",
        |given| Fault::TooManyRequests {
            resource: None,
            throttle: match given.text.as_str() {
                "in-flight" => Throttle::MaxInFlight,
                "cache" => Throttle::CacheNotReady,
                "stale-cache" => Throttle::StaleCache,
                "shutdown" => Throttle::Shutdown,
                _ => Throttle::PriorityAndFairness,
            },
            retry_after_secs: 1,
        };
    "expire-tokens" Nothing, "tokens are not valid any more (401)",
        |_| Fault::ExpireTokens { target: Target::All };
    "revoke" OneResource, "nobody may read or write it (403)",
        |given| Fault::RevokeAccess {
            target: Target::All,
            resource: given.text.clone(),
            rights: Rights::All,
        };
    "shutdown" Number("seconds", 5), "a server stops, after this many seconds",
        |given| Fault::Shutdown {
            server: FIRST,
            delay: given.secs(),
            grace: Duration::from_secs(2),
            sends_retry_after: true,
        };
    "expire" Resource, "caches keep no history (410)",
        |given| Fault::Expire { resource: given.resource() };
    "silent-expiry" OneResource, "too old watches end without a 410",
        |given| Fault::SilentExpiry { resource: given.text.clone() };
    "gone-as-status" OneResource, "too old watches get status 410",
        |given| Fault::GoneAsStatus { resource: given.text.clone() };
    "reinitialise" Resource, "watch caches list etcd again",
        |given| Fault::Reinitialise { server: None, resource: given.resource() };
    "freeze-caches" Resource, "a server's caches stand still",
        |given| Fault::FreezeCaches { server: FIRST, resource: given.resource() };
    "lag" Number("seconds", 5), "a server's caches lag this many seconds",
        |given| Fault::Lag { server: FIRST, by: given.secs() };
    "no-bookmarks" OneResource, "no bookmarks are sent",
        |given| Fault::NoBookmarks { resource: given.text.clone() };
    "bookmarks-ahead" OneResource, "bookmarks say too much",
        |given| Fault::BookmarksAhead { resource: given.text.clone() };
    "no-end-bookmark" OneResource, "initial events have no end",
        |given| Fault::NoEndBookmark { resource: given.text.clone() };
    "unsorted-initial" OneResource, "initial events come in no order",
        |given| Fault::UnsortedInitial { resource: given.text.clone() };
    "start-race" OneResource, "a watch misses its first event",
        |given| Fault::StartRace { resource: given.text.clone() };
    "repeat-events" OneResource, "each event is delivered twice",
        |given| Fault::RepeatEvents { resource: given.text.clone() };
    "swap-events" OneResource, "each two events come in the wrong order",
        |given| Fault::SwapEvents { resource: given.text.clone() };
    "wrong-kind" OneResource, "events of another kind",
        |given| Fault::WrongKind { resource: given.text.clone() };
    "corrupt-object" Object, "it cannot be read from etcd",
        |given| {
            let (resource, name) = given.object();
            Fault::CorruptObject { resource, name }
        };
    "cannot-convert" Object, "it cannot be converted",
        |given| {
            let (resource, name) = given.object();
            Fault::CannotConvert { resource, name }
        };
    "etcd-defect" Word(DEFECTS), "15220, 15271, 15274, 17529, 17566, …",
        |given| Fault::EtcdDefect(match given.text.as_str() {
            "15271" => Defect::BackInTimeAfterPartition,
            "15274" => Defect::DuplicateEvents,
            "17529" => Defect::GapUnderStarvation,
            "17566" => Defect::NoProgressForIdleWatch,
            "18089" => Defect::DeleteLostByCompactionAtIt,
            "19179" => Defect::DeleteLostByRestartAfterCompaction,
            "20221" => Defect::OldEventsOnFutureWatch,
            "17780" => Defect::RevisionDecreasesAfterCrash,
            _ => Defect::ProgressAheadOfEvents,
        });
    "slow-etcd" Number("milliseconds", 1000), "milliseconds for each event of etcd",
        |given| Fault::SlowEtcdStreams {
            server: None,
            resource: None,
            per_response: given.millis(),
        };
    "no-leader" Nothing, "etcd has no leader",
        |_| Fault::NoLeader;
    "partition-member" Nothing, "a server's member of etcd is cut off",
        |_| Fault::PartitionMember { server: FIRST };
    "miss-writes" Nothing, "a server's member of etcd misses writes",
        |_| Fault::MissWrites { server: FIRST };
    "restart-etcd" Nothing, "etcd stops and starts again",
        |_| Fault::RestartEtcd { during_compaction: false };
    "compact-etcd" Nothing, "etcd drops its history",
        |_| Fault::CompactEtcd;
    "take-snapshot" Nothing, "etcd's state is saved",
        |_| Fault::TakeSnapshot;
    "restore-snapshot" Number("revisions", 0), "etcd is as saved, with a revision bump",
        |given| Fault::RestoreSnapshot {
            bump: (given.number > 0).then(|| given.number.into()),
        };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(text: &str) -> Result<PlannedFault, String> {
        text.parse().map_err(|why: NoFault| why.to_string())
    }

    fn refused(text: &str) -> String {
        planned(text).unwrap_err()
    }

    #[test]
    fn a_fault_reads_with_its_parameter_and_its_time() {
        let reset = planned("reset@30").unwrap();
        assert_eq!(reset.at, Duration::from_secs(30));
        assert!(matches!(
            reset.fault,
            Fault::Cut {
                cut: Cut::Reset,
                ..
            }
        ));
        let delay = planned("delay:700@0.5-60").unwrap();
        let by = Duration::from_millis(700);
        assert_eq!(delay.fault, Fault::Delay { by });
        assert_eq!(delay.at, Duration::from_millis(500));
        assert_eq!(delay.until, Some(Duration::from_secs(60)));
        assert_eq!(planned("refuse").unwrap().at, Duration::ZERO);
        let expire = planned("expire:deployments.apps").unwrap().fault;
        let resource = Some("deployments.apps".to_owned());
        assert_eq!(expire, Fault::Expire { resource });
        let acts = delay.acts();
        let texts: Vec<&str> = acts
            .iter()
            .filter_map(|act| act.says.as_ref())
            .map(|line| line.text.as_str())
            .collect();
        assert_eq!(
            texts,
            ["Fault delay:700 begins.", "Fault delay:700 is over."]
        );
    }

    #[test]
    fn an_invalid_fault_is_refused_with_what_is_valid() {
        let errors = [
            "rest@30",
            "Delays",
            "bookmark",
            "",
            "delay:soon",
            "reset:1",
            "etcd-defect:1",
            "corrupt-object",
            "corrupt-object:configmaps",
            "revoke:a/b",
            "reset@soon",
            "refuse@60-30",
            "refuse@-1",
            "refuse@inf",
            "reset@1-2",
        ]
        .map(refused);
        insta::assert_snapshot!(errors.join("\n"), @r#"
        there is no fault "rest"; nearest: reset, reset-streams
        there is no fault "Delays"; nearest: delay
        there is no fault "bookmark"; nearest: no-end-bookmark
        there is no fault ""; nearest: out-of-rotation, gone-as-status, no-bookmarks
        delay takes a number of milliseconds, such as 500
        reset takes no parameter
        etcd-defect takes one of 15220, 15271, 15274, 17529, 17566, 18089, 19179, 20221, 17780
        corrupt-object takes a resource and the name of an object, such as configmaps/prices
        corrupt-object takes a resource and the name of an object, such as configmaps/prices
        revoke takes a resource, such as pods or deployments.apps
        "soon" is no time; write @SECONDS or @SECONDS-SECONDS, as @30-60
        "60-30" is no time; write @SECONDS or @SECONDS-SECONDS, as @30-60
        "-1" is no time; write @SECONDS or @SECONDS-SECONDS, as @30-60
        "inf" is no time; write @SECONDS or @SECONDS-SECONDS, as @30-60
        reset is over at once; write reset@SECONDS
        "#);
    }

    #[test]
    fn every_row_reads_by_its_name_and_its_help_fits() {
        for named in TABLE {
            let parameter = match named.parameter {
                Parameter::Object => ":configmaps/a",
                _ => "",
            };
            let text = format!("{}{parameter}@1", named.name);
            assert!(planned(&text).is_ok(), "{text}");
        }
        for (line, named) in help().iter().zip(TABLE) {
            assert!(line.chars().count() <= 76, "{line}");
            assert!(line.starts_with(named.name), "{line}");
        }
        for words in [EMITTERS, DEFECTS] {
            let owner = if words == EMITTERS {
                "too-many-requests"
            } else {
                "etcd-defect"
            };
            let mut made: Vec<Fault> = Vec::new();
            for word in words {
                let fault = planned(&format!("{owner}:{word}")).unwrap().fault;
                assert!(!made.contains(&fault), "{word}");
                made.push(fault);
            }
        }
    }
}
