//! The machine that opens a recording without a server: it scans the file, reads the newest chapter, and returns an
//! [`Opened`].
//!
//! ```text
//!   Scan ─► Contents ─► the newest chapter ─┬─ read ─► Opened
//!                         ▲  no: the one before it, in the run or in the run before
//!                         └──────────────────┘
//! ```

use thiserror::Error;
use watchscope_log::Ring;
use watchscope_model::codec::DecodeError;
use watchscope_recording::{
    ChapterEntry, Contents, Damage, DamageKind, FILE_HEADER_BYTES, FORMAT_VERSION, Input, MAGIC,
    ReadChapter, ReadError, Scan, Step,
};

use crate::joined::{ChapterPlace, JoinedFiles, LogError};
use crate::opened::Opened;
use crate::words::{COPY_AGAIN, Notice, byte, few};

/// Why a recording cannot be opened. The error's text states what is wrong and where; [`OpenError::advice`] states what
/// to do.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OpenError {
    /// The file does not begin like a recording, or it is empty.
    #[error("{name} is not a recording: {}", beginning(found, *at))]
    NotARecording {
        /// The file's name.
        name: String,
        /// Index of the first wrong byte, from 0; 8 for an unknown format.
        at: usize,
        /// The first wrong byte; `None` if the file ends before its index.
        found: Option<u8>,
    },
    /// The file ends inside its first 12 bytes.
    #[error("{name} ends inside its first 12 bytes")]
    CutInHeader {
        /// The file's name.
        name: String,
    },
    /// The file begins with the letters of a recording, but its first 8 bytes are not as written: a transfer as text
    /// changes line ends so.
    #[error("{name} was changed by a transfer as text: its first 8 bytes are not as written")]
    Transferred {
        /// The file's name.
        name: String,
    },
    /// A later version wrote the file.
    #[error(
        "{name} is in format {version}, says byte 8; this page reads up to format {FORMAT_VERSION}"
    )]
    Newer {
        /// The file's name.
        name: String,
        /// The file's format version.
        version: u32,
    },
    /// The file holds several logs.
    #[error("{name} holds several logs: {}", few(logs))]
    SeveralLogs {
        /// The file's name.
        name: String,
        /// Ids of the logs, sorted, each once; at least two. The error's text names the first 4.
        logs: Vec<String>,
    },
    /// The file holds no record, and no damage explains why.
    #[error("{name} has no record that can be read")]
    Empty {
        /// The file's name.
        name: String,
    },
    /// No chapter with records can be read.
    #[error("no record in {name} can be read: {damage}")]
    Damaged {
        /// The file's name.
        name: String,
        /// The damage of the newest chapter; if the file lists no chapter with records, its first damage.
        damage: Damage,
    },
    /// The file has changed since it was chosen: a read of the scan gave another number of bytes than requested. After
    /// the scan, such a read counts as damage.
    #[error("{name} gave fewer bytes at byte {offset} than it has")]
    ShortRead {
        /// The file's name.
        name: String,
        /// Index of the byte at which the read began, from 0.
        offset: u64,
    },
}

impl OpenError {
    /// Returns what a person can do, in one or two sentences.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NotARecording {
                at: 0,
                found: Some(b'{'),
                ..
            } => "JSON lines cannot be opened. Ask for the .wscope file.",
            Self::NotARecording { .. } => "Open a .wscope file, as watchscope record writes.",
            Self::CutInHeader { .. } | Self::Damaged { .. } => COPY_AGAIN,
            Self::Transferred { .. } => "Copy it again, as a binary file.",
            Self::Newer { .. } => "Open it with a newer watchscope.",
            Self::SeveralLogs { .. } => "Run watchscope replay FILE --log NAME.",
            Self::Empty { .. } => "Record for longer, or choose another file.",
            Self::ShortRead { .. } => "It was changed while it was read. Open it again.",
        }
    }

    /// Returns the error's text and its advice.
    #[must_use]
    pub fn notice(&self) -> Notice {
        Notice {
            what: self.to_string(),
            advice: self.advice().to_owned(),
        }
    }

    fn of(error: &ReadError, name: &str, first: &[u8]) -> Self {
        let name = name.to_owned();
        match *error {
            ReadError::NotARecording => {
                let mut bytes = first.iter().zip(MAGIC);
                let other = bytes.position(|(found, expected)| *found != expected);
                let at = other.unwrap_or(first.len().min(MAGIC.len()));
                let found = first.get(at).copied();
                Self::NotARecording { name, at, found }
            }
            ReadError::CutInHeader => Self::CutInHeader { name },
            ReadError::Transferred => Self::Transferred { name },
            ReadError::Newer { version } => Self::Newer { name, version },
            ReadError::ShortRead { offset } => Self::ShortRead { name, offset },
        }
    }
}

/// Returns words for the first wrong byte, and for the byte that should be at its index.
fn beginning(found: &Option<u8>, at: usize) -> String {
    match (found, MAGIC.get(at)) {
        (None, _) => "it is empty".to_owned(),
        (Some(found), Some(_)) if at == 0 => {
            let found = byte(*found);
            format!("byte 0 is {found}, a .wscope begins with 0x89 \"WSR\"")
        }
        (Some(found), Some(expected)) => {
            format!(
                "byte {at} is {}, it should be {}",
                byte(*found),
                byte(*expected)
            )
        }
        (Some(found), None) => format!("byte {at} says format {found}"),
    }
}

/// The machine that opens a recording.
///
/// One request is pending at a time, and each request lies within the file. The machine needs the memory of [`Scan`],
/// and later that of the [`Contents`] and one [`ReadChapter`]. With the ring of the newest readable chapter it also
/// holds at most 256 MiB of frames, and the records decoded from them. The machine tries each chapter at most once. A
/// machine that has finished begins anew with the next step.
#[derive(Debug)]
pub struct Opening {
    name: String,
    size: u64,
    /// The file's first bytes, for the message about a file that is no recording.
    first: Vec<u8>,
    /// `None` before the first step and after the last.
    phase: Option<Phase>,
}

#[derive(Debug)]
enum Phase {
    Scan(Box<Scan>),
    Newest(Box<Newest>),
}

/// The search for the newest chapter that can be read.
#[derive(Debug)]
struct Newest {
    joined: JoinedFiles<Contents>,
    /// The chapters not tried yet, the newest last.
    waiting: Vec<ChapterPlace>,
    reading: Option<(ChapterPlace, ReadChapter)>,
    /// The damage of the chapters that were tried.
    damaged: Vec<Damage>,
}

impl Opening {
    /// Makes a machine for a file of `size` bytes; `name` is the file's name for people, and is in every error.
    #[must_use]
    pub fn new(name: &str, size: u64) -> Self {
        Self {
            name: name.to_owned(),
            size,
            first: Vec::new(),
            phase: None,
        }
    }

    /// Takes in the answer to the last step, and returns the next step; the first answer is [`Input::Begin`].
    ///
    /// # Errors
    /// An [`OpenError`] if nothing of the file can be shown. After an error the machine has finished.
    pub fn step(&mut self, input: Input) -> Result<Step<Opened>, OpenError> {
        match self.phase.take() {
            None => {
                self.first.clear();
                self.scan(Box::new(Scan::new(self.size)), input)
            }
            Some(Phase::Scan(scan)) => self.scan(scan, input),
            Some(Phase::Newest(newest)) => self.look(newest, input),
        }
    }

    fn scan(&mut self, mut scan: Box<Scan>, input: Input) -> Result<Step<Opened>, OpenError> {
        if let Input::Bytes(bytes) = &input
            && self.first.is_empty()
        {
            self.first = bytes[..bytes.len().min(FILE_HEADER_BYTES)].to_vec();
        }
        let step = scan.step(input);
        let step = step.map_err(|error| OpenError::of(&error, &self.name, &self.first))?;
        match step.into_done() {
            Ok(contents) => {
                let newest = Newest::of(contents, &self.name)?;
                self.look(Box::new(newest), Input::Begin)
            }
            Err(needs) => {
                self.phase = Some(Phase::Scan(scan));
                Ok(needs)
            }
        }
    }

    fn look(&mut self, mut newest: Box<Newest>, input: Input) -> Result<Step<Opened>, OpenError> {
        let Some(step) = newest.step(input) else {
            return Err(newest.nothing_read(&self.name));
        };
        match step.into_done() {
            Ok(ring) => {
                let Newest {
                    joined, damaged, ..
                } = *newest;
                let opened = Opened::new(&self.name, joined, ring, &damaged);
                let empty = || OpenError::Empty {
                    name: self.name.clone(),
                };
                opened.map(Step::Done).ok_or_else(empty)
            }
            Err(needs) => {
                self.phase = Some(Phase::Newest(newest));
                Ok(needs)
            }
        }
    }
}

impl Newest {
    fn of(contents: Contents, name: &str) -> Result<Self, OpenError> {
        let joined = JoinedFiles::new(vec![vec![contents]], None).map_err(|error| {
            let (LogError::SeveralLogs { logs } | LogError::OtherLogs { logs, .. }) = error;
            OpenError::SeveralLogs {
                name: name.to_owned(),
                logs,
            }
        })?;
        let mut waiting = joined.newest_first();
        waiting.reverse();
        Ok(Self {
            joined,
            waiting,
            reading: None,
            damaged: Vec::new(),
        })
    }

    /// Continues to read; `None` if no chapter can be read.
    fn step(&mut self, mut input: Input) -> Option<Step<Ring>> {
        loop {
            let (place, mut machine) = match self.reading.take() {
                Some(reading) => reading,
                None => {
                    let place = self.waiting.pop()?;
                    let (_, entry) = self.joined.entry(place);
                    (place, ReadChapter::new(entry))
                }
            };
            let chapter = match machine.step(input).map(Step::into_done) {
                Ok(Err(needs)) => {
                    self.reading = Some((place, machine));
                    return Some(needs);
                }
                Ok(Ok(chapter)) => Ok(chapter),
                Err(damage) => Err(damage),
            };
            let read = chapter.and_then(|chapter| {
                let ring = self.joined.start_from(place, &chapter);
                let ring = ring.map_err(|error| undecodable(self.joined.entry(place).1, error))?;
                Ok((ring, chapter.damaged))
            });
            match read {
                Ok((ring, damaged)) => {
                    self.damaged.extend(damaged);
                    return Some(Step::Done(ring));
                }
                Err(damage) => self.damaged.push(damage),
            }
            input = Input::Begin;
        }
    }

    /// Returns why there is nothing to show.
    fn nothing_read(&self, name: &str) -> OpenError {
        let name = name.to_owned();
        let scanned = self.joined.files().iter().flat_map(|file| &file.damaged);
        match self.damaged.iter().chain(scanned).next() {
            Some(damage) => OpenError::Damaged {
                name,
                damage: damage.clone(),
            },
            None => OpenError::Empty { name },
        }
    }
}

/// The damage of a chapter whose checksums are right and whose frames cannot be decoded.
fn undecodable(entry: &ChapterEntry, error: DecodeError) -> Damage {
    let place = entry.closed.or(entry.opening);
    Damage {
        block: place.map_or(0, |place| place.number),
        offset: place.map_or(0, |place| place.offset),
        kind: DamageKind::Frame(error),
    }
}
