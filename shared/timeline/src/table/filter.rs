//! Which rows of a table a person wants: by kind, and by text.

use std::collections::BTreeMap;

use watchscope_model::vocabulary::Severity;

use super::cells::{concerns, occurrence};
use super::column::Tab;
use super::kind::Kind;
use super::row::TableRow;
use crate::format::number;
use crate::id::LaneId;
use crate::store::Store;
use crate::words::lane_words;

/// The most words of a filter: each is a bit of a `u32`. Further words are ignored.
const WORDS_MOST: usize = 32;

/// What a person chooses in the list of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Rows of all kinds.
    #[default]
    All,
    /// Rows of ADDED, MODIFIED and DELETED, also those of status only, and those by lists.
    Changes,
    /// Rows of one kind.
    Kind(Kind),
    /// Findings of one severity.
    Severity(Severity),
}

impl Choice {
    /// Returns the choices of a table in the order of a list, [`Choice::All`] first. Empty for [`Tab::Watches`], whose
    /// rows are all of one kind.
    #[must_use]
    pub fn of(tab: Tab) -> Vec<Self> {
        let mut choices = vec![Self::All];
        match tab {
            Tab::Records => {
                choices.push(Self::Changes);
                choices.extend(Kind::ALL.map(Self::Kind));
            }
            Tab::Versions => choices.extend(Kind::ALL[..4].iter().copied().map(Self::Kind)),
            Tab::Findings => choices.extend(
                [
                    Severity::Divergence,
                    Severity::Error,
                    Severity::Warning,
                    Severity::Note,
                ]
                .map(Self::Severity),
            ),
            Tab::Watches => choices.clear(),
        }
        choices
    }

    /// Returns the choice in words: `all`, `changes`, or the words of its kind or severity.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Changes => "changes".to_owned(),
            Self::Kind(kind) => kind.words().to_owned(),
            Self::Severity(severity) => severity.to_string(),
        }
    }

    fn has(self, store: &Store, row: &TableRow) -> bool {
        match self {
            Self::All => true,
            Self::Changes => row.kind <= Kind::Deleted,
            Self::Kind(kind) => row.kind == kind,
            Self::Severity(severity) => {
                occurrence(store, row).is_some_and(|found| found.severity == severity)
            }
        }
    }
}

/// A filter. A row passes if it is of the choice and has each word, in upper or lower case, in its kind, its lane or
/// its resourceVersion. A finding may have a word in its code, name, watches or sentence, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    words: Vec<String>,
    choice: Choice,
}

impl Filter {
    /// Returns the filter of a text and a choice. Spaces separate words. The first 32 words count, further words are
    /// ignored. An empty text asks for no word.
    #[must_use]
    pub fn new(text: &str, choice: Choice) -> Self {
        let words = text.split_whitespace().take(WORDS_MOST);
        Self {
            words: words.map(str::to_lowercase).collect(),
            choice,
        }
    }

    /// Returns whether the filter lets every row through: it has no word, and its choice is [`Choice::All`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.choice == Choice::All
    }

    /// Returns whether `words`, in upper or lower case, contain each word of the filter, also inside longer words. True
    /// for a filter without words. The choice does not count.
    #[must_use]
    pub fn has_words(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        self.words.iter().all(|word| words.contains(word))
    }

    /// Keeps the rows that the filter lets through, in their order.
    pub fn keep(&self, store: &Store, rows: &mut Vec<TableRow>) {
        if self.is_empty() {
            return;
        }
        let mut lanes: BTreeMap<LaneId, u32> = BTreeMap::new();
        let kinds = Kind::ALL.map(|kind| (kind, self.found_in(kind.words())));
        rows.retain(|row| {
            if !self.choice.has(store, row) {
                return false;
            }
            let lane = lanes.entry(row.lane);
            let mut found = *lane.or_insert_with(|| self.found_in(&lane_words(store, row.lane)));
            let kind = kinds.iter().find(|(kind, _)| *kind == row.kind);
            found |= kind.map_or(0, |(_, found)| *found);
            if found != self.all()
                && let Some(version) = row.version()
            {
                found |= self.found_in(&number(version)) | self.found_in(&version.to_string());
            }
            if found != self.all()
                && row.kind == Kind::Finding
                && let Some(of) = occurrence(store, row)
            {
                let words = format!("{} {} {} {}", of.code, of.name, concerns(of), of.summary);
                found |= self.found_in(&words);
            }
            found == self.all()
        });
    }

    /// Returns a number with one bit set for each word of the filter.
    fn all(&self) -> u32 {
        (1_u64 << self.words.len()).wrapping_sub(1) as u32
    }

    /// Returns a number with one bit set for each word of the filter that `words` contain.
    fn found_in(&self, words: &str) -> u32 {
        if self.words.is_empty() {
            return 0;
        }
        let words = words.to_lowercase();
        let found = self.words.iter().enumerate();
        let found = found.filter(|(_, word)| words.contains(word.as_str()));
        found.fold(0, |bits, (place, _)| bits | 1 << place)
    }
}
