//! Hides names in a log before it is exported: names become pseudonyms. A text with another word that may name
//! something becomes `[hidden]`, or within a selector or a URL a pseudonym.
//!
//! ```text
//!   records ──► Known (which texts name what) ──┐
//!   parts to hide, a secret seed ───────────────┴─► Hider ──► the same records, rewritten
//! ```
//!
//! Records are read twice: the first pass collects all names, and the second rewrites all texts. So a name is hidden
//! even in sentences of records before the record that introduces the name.
//!
//! * A pseudonym replaces a hidden name that is a whole text, or stands between characters that are neither letters nor
//!   digits. Such names are also replaced within longer names, selectors, paths, sentences and notes. Within a text, a
//!   name that is an ordinary word or a number is replaced only beside `"`, `'`, `/` or `=`.
//! * A sentence of a server or of watchscope stays only if each of its words is a known name, a number, or in
//!   `words.txt`.
//! * A pseudonym depends on the seed, the name, and the hidden parts that the name belongs to in the log. So the
//!   pseudonyms in files of one log from one seed agree. Only if two names of a log get equal pseudonyms, their
//!   pseudonyms also depend on the log's other names.
//!
//! The crate is pure: no clock, no random numbers, no I/O. The caller draws the seed and stores it nowhere.

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
mod table;
mod words;

pub use self::hide::Hide;
pub use self::hider::Hider;
pub use self::known::Known;
pub use self::part::{HiddenPart, Parts};
pub use self::pseudonym::Seed;
