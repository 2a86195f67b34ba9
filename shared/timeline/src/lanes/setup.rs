//! The viewer's wishes for all lanes: how they are grouped, sorted and folded, and which are pinned or hidden.

/// Most lanes that a viewer can pin, because a page stores pins and links carry them. A further pin is refused. The
/// number has no source.
pub const PINS_MOST: usize = 100;
/// Most lanes that a viewer can hide, because a page stores hidden lanes and links carry them. Hiding a further lane is
/// refused. The number has no source.
pub const HIDDEN_MOST: usize = 500;
/// Most bytes of the key of a lane that is pinned or hidden, so that a page stores at most 614 kB of keys. A longer key
/// is refused; a watch with a long selector can have a longer key. The number has no other source.
const KEY_BYTES_MOST: usize = 1_024;

/// What the lanes of one section have in common. Lanes without that property stand in a section of their own, such as
/// `no owner`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// The lanes have no sections; pinned lanes still stand apart.
    #[default]
    None,
    /// One section for each namespace.
    Namespace,
    /// One section for each resource.
    Kind,
    /// One section for each apiserver that watches are pinned to, or are or were last connected to.
    Server,
    /// One section for each uppermost known controller of objects, such as a Deployment. The controller's own row
    /// stands there, too.
    Owner,
    /// One section for each program that watches, which is watchscope alone. Watches that only check another watch have
    /// a section of their own.
    Client,
}

impl Grouping {
    /// The groupings that a page offers, in the order of its list; [`Grouping::None`] is not among them.
    pub const OFFERED: [Self; 5] = [
        Self::Namespace,
        Self::Kind,
        Self::Server,
        Self::Owner,
        Self::Client,
    ];

    /// Returns the word for the grouping, which links and pages use: `none`, `namespace` and so on.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Namespace => "namespace",
            Self::Kind => "kind",
            Self::Server => "server",
            Self::Owner => "owner",
            Self::Client => "client",
        }
    }

    /// Returns the grouping that a lower-case word names; [`Grouping::None`] for any other word.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        let mut all = Self::OFFERED.into_iter();
        all.find(|grouping| grouping.word() == word)
            .unwrap_or_default()
    }
}

/// What the order of watches and objects follows. Watches that are equal are sorted by name.
///
/// An order of watches other than by name changes with the log at most once a second, and when a new watch comes. While
/// the view does not follow now, or the viewer points at a lane, the order stays, and a new watch stands last.
///
/// Of the objects under a watch, those with an open verdict come first, then those with the latest change. They keep
/// this order until one of them gets a row, the room for rows changes, or the viewer sorts or opens. With a filter or
/// [`Lanes::shows_all`](super::Lanes::shows_all), objects are sorted by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sorting {
    /// Watches by name; the objects of a watch too, if the viewer opened all of them.
    #[default]
    Name,
    /// The watch with the worst trouble first, among all trouble that is loaded or in the fold at the head, without
    /// muted findings; of equally bad trouble, the latest first. Watches without trouble come last.
    Trouble,
    /// The watch with the latest change first; watches without a change come last. A broken stream and an ERROR count,
    /// too. So does a gap when it ends without a resume, or begins because no stream can be opened.
    LastChange,
    /// The greatest rate first: all changes since the watch was first started, divided by the hours since its last
    /// start. Of objects, those with the most loaded changes that a stream delivered come first.
    Rate,
}

impl Sorting {
    /// All sortings, in the order of a page's list.
    pub const ALL: [Self; 4] = [Self::Name, Self::Trouble, Self::LastChange, Self::Rate];

    /// Returns the word for the sorting, which links use: `name`, `trouble`, `change` or `rate`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Trouble => "trouble",
            Self::LastChange => "change",
            Self::Rate => "rate",
        }
    }

    /// Returns the words for the sorting, which pages use: those of [`Sorting::word`], but `last change` instead of
    /// `change`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::LastChange => "last change",
            other => other.word(),
        }
    }

    /// Returns the sorting that a word names, as [`Sorting::word`] returns it; [`Sorting::Name`] for any other word.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|sorting| sorting.word() == word)
            .unwrap_or_default()
    }
}

/// Which watches are open, among those for which the viewer made no choice. With
/// [`Lanes::shows_all`](super::Lanes::shows_all) all of these are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Folding {
    /// A watch opens by itself when it has news, if all rows then still fit: in a page's first rows, and later while
    /// the view follows now. A watch of Kubernetes Events never opens by itself.
    #[default]
    ByItself,
    /// All watches are strips, and no watch opens by itself.
    Strips,
    /// Watches with trouble are open, and stay open when their trouble is over. Trouble that comes later opens a watch
    /// only while the view follows now. Other watches stay as they are, and no watch opens for other news.
    Trouble,
}

impl Folding {
    /// Returns the word for the folding, which links use: `itself`, `strips` or `trouble`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ByItself => "itself",
            Self::Strips => "strips",
            Self::Trouble => "trouble",
        }
    }

    /// Returns the folding that a word names; [`Folding::ByItself`] for any other word.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "strips" => Self::Strips,
            "trouble" => Self::Trouble,
            _ => Self::ByItself,
        }
    }
}

/// The viewer's wishes for all lanes. Lanes are named by their keys
/// ([`Store::lane_key`](crate::store::Store::lane_key)), because keys outlive the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// What the lanes of one section have in common.
    pub grouping: Grouping,
    /// What the order of watches and objects follows.
    pub sorting: Sorting,
    /// Which watches without a choice of the viewer are open.
    pub folding: Folding,
    /// The keys of pinned lanes, from top to bottom; at most [`PINS_MOST`].
    pub(super) pinned: Vec<String>,
    /// The keys of hidden lanes, in the order of hiding; at most [`HIDDEN_MOST`].
    pub(super) hidden: Vec<String>,
}

impl Setup {
    /// Returns the keys of pinned lanes, from top to bottom, without doubles: 0 to [`PINS_MOST`] of them.
    #[must_use]
    pub fn pinned(&self) -> &[String] {
        &self.pinned
    }

    /// Returns the keys of hidden lanes, in the order in which they were hidden, without doubles: 0 to [`HIDDEN_MOST`]
    /// of them.
    #[must_use]
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// Pins a lane below the lanes already pinned, and shows it if it was hidden. A lane that is pinned already keeps
    /// its position. Returns whether the lane is pinned after the call. The call refuses a lane if [`PINS_MOST`] lanes
    /// are pinned already. The call also refuses a key that is empty, has control characters, or has over 1,024 bytes.
    /// A refused lane stays as it was. The key may be of a lane that no store knows.
    pub fn pin(&mut self, key: &str) -> bool {
        if self.pinned.iter().any(|pinned| pinned == key) {
            return true;
        }
        if self.pinned.len() >= PINS_MOST || !is_key(key) {
            return false;
        }
        self.hidden.retain(|hidden| hidden != key);
        self.pinned.push(key.to_owned());
        true
    }

    /// Unpins a lane. Returns whether it was pinned. Unpinning does not hide the lane.
    pub fn unpin(&mut self, key: &str) -> bool {
        let before = self.pinned.len();
        self.pinned.retain(|pinned| pinned != key);
        self.pinned.len() < before
    }

    /// Hides a lane, and unpins it. A lane that is hidden already keeps its position in [`Setup::hidden`]. Returns
    /// whether the lane is hidden after the call. The call refuses a lane if [`HIDDEN_MOST`] lanes are hidden already,
    /// and a key whose form [`Setup::pin`] refuses. A refused lane stays as it was.
    pub fn hide(&mut self, key: &str) -> bool {
        if self.hidden.iter().any(|hidden| hidden == key) {
            return true;
        }
        if self.hidden.len() >= HIDDEN_MOST || !is_key(key) {
            return false;
        }
        self.unpin(key);
        self.hidden.push(key.to_owned());
        true
    }

    /// Shows a hidden lane again. Does nothing if the lane is not hidden.
    pub fn show(&mut self, key: &str) {
        self.hidden.retain(|hidden| hidden != key);
    }

    /// Shows all hidden lanes again.
    pub fn show_all(&mut self) {
        self.hidden.clear();
    }

    /// Moves a pinned lane to a position among the pinned lanes, counted from 0; a position beyond the end means the
    /// last one. Returns whether the order has changed; `false` for a lane that is not pinned.
    pub fn move_pin(&mut self, key: &str, to: usize) -> bool {
        let Some(from) = self.pinned.iter().position(|pinned| pinned == key) else {
            return false;
        };
        let to = to.min(self.pinned.len() - 1);
        let moved = self.pinned.remove(from);
        self.pinned.insert(to, moved);
        from != to
    }
}

/// Whether a text can be the key of a lane that is pinned or hidden.
fn is_key(key: &str) -> bool {
    !key.is_empty() && key.len() <= KEY_BYTES_MOST && !key.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for grouping in Grouping::OFFERED {
            assert_eq!(Grouping::from_word(grouping.word()), grouping);
        }
        for sorting in Sorting::ALL {
            assert_eq!(Sorting::from_word(sorting.word()), sorting);
        }
        for folding in [Folding::ByItself, Folding::Strips, Folding::Trouble] {
            assert_eq!(Folding::from_word(folding.word()), folding);
        }
        assert_eq!(Grouping::from_word("colour"), Grouping::None);
    }

    #[test]
    fn a_lane_is_pinned_or_hidden_and_never_both() {
        let mut setup = Setup::default();
        assert!(setup.pin("shop/pods") && setup.pin("shop/pods"));
        assert_eq!(setup.pinned(), ["shop/pods"]);
        assert!(setup.hide("shop/pods"));
        assert_eq!((setup.pinned().len(), setup.hidden().len()), (0, 1));
        assert!(setup.pin("shop/pods"));
        assert_eq!((setup.pinned().len(), setup.hidden().len()), (1, 0));
    }

    #[test]
    fn pins_move_among_themselves_and_never_beyond_an_end() {
        let mut setup = Setup::default();
        assert!(["a", "b", "c"].iter().all(|key| setup.pin(key)));
        assert!(setup.move_pin("a", 9));
        assert_eq!(setup.pinned(), ["b", "c", "a"]);
        assert!(!setup.move_pin("a", 2) && !setup.move_pin("z", 0));
        assert!(setup.move_pin("a", 0));
        assert_eq!(setup.pinned(), ["a", "b", "c"]);
    }

    #[test]
    fn a_further_pin_or_a_key_that_is_too_long_is_refused() {
        let mut setup = Setup::default();
        for number in 0..PINS_MOST {
            assert!(setup.pin(&format!("lane-{number}")));
        }
        assert!(!setup.pin("one more"));
        assert!(
            !setup.hide(&"x".repeat(KEY_BYTES_MOST + 1)) && !setup.hide("") && !setup.hide("a\nb")
        );
        assert!((0..HIDDEN_MOST).all(|number| setup.hide(&format!("other-{number}"))));
        assert!(!setup.hide("one more"));
    }
}
