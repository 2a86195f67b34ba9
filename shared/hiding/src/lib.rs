//! What is hidden of a log before it leaves: names become pseudonyms, and text that cannot be checked becomes `[hidden]`.
//!
//! ```text
//!   records ──► Known (which texts name what) ──┐
//!   parts to hide, a secret seed ───────────────┴─► Hider ──► the same records, rewritten
//! ```
//!
//! Records are read twice: first all names are collected, then all texts are rewritten, so that a name is hidden in a
//! sentence that comes before the record that introduces it.
//!
//! * A hidden name is replaced by its pseudonym wherever it stands as a whole, or between characters that are no letters
//!   and digits: in longer names, selectors, paths, sentences and notes.
//! * A sentence (of a server, or of ours) stays only if each word of it is a known name, a number, or in `words.txt`.
//! * A pseudonym depends on the seed and the name alone, so all files that are made with one seed agree.
//!
//! Pure: no clock, no chance, no I/O. Whoever hides draws the seed, and keeps it nowhere.

#![forbid(unsafe_code)]

mod address;
mod hide;
mod hider;
mod known;
mod part;
mod pseudonym;
mod request;
mod selector;
mod sentence;
mod words;

pub use self::hide::Hide;
pub use self::hider::Hider;
pub use self::known::Known;
pub use self::part::{HiddenPart, Parts};
pub use self::pseudonym::Seed;
