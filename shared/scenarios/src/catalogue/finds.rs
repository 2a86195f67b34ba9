//! What diagnosis must find in each row's story, what may stand beside it, and by when.
//!
//! One line a row. A row without a family is silent: nothing of it can be seen, or nothing goes wrong; [`UNSEEN`] says why.

use std::time::Duration;

use watchscope_model::Row::{self, *};

/// What is to be found in a row's story.
#[derive(Clone, Copy, Debug)]
pub struct Finds {
    /// The row.
    pub row: Row,
    /// A finding of one of these is the row's; empty: none.
    pub family: &'static [Row],
    /// What else truly happens in the story, and may be found too.
    pub companions: &'static [Row],
    /// What an audit finds besides, where there is one, and is so.
    pub by_reads: &'static [Row],
    /// When what is to be found happens, in seconds of the story.
    pub strikes_s: u64,
    /// The code of the first ERROR with which it happens, where chance decides when that comes; `strikes_s` then is by
    /// when the story makes sure of it.
    pub strikes_with: Option<u64>,
    /// How long its rule waits, in seconds.
    pub waits_s: u64,
    /// Another version of its servers with which it looks the same.
    pub version: &'static str,
    /// How long the story is told, where its own end is too early.
    pub lasts_s: Option<u64>,
    /// Only other watches around it show it: alone it looks like quiet.
    pub needs_others: bool,
    /// Only reads show it: it is told with `--audit full`.
    pub is_audited: bool,
    /// Only watches by each of its servers show it.
    pub needs_each_server: bool,
    /// Why chance draws no writes beside it: what fails depends on the very next revision.
    pub is_alone: Option<&'static str>,
    /// What is found, or how surely, only beside something else; all other findings are the same however it is told.
    pub varies: &'static [Varies],
    /// Words of the sentence that it is found by, with `…` for what differs; empty: whatever that is.
    pub says: &'static str,
}

/// A finding that depends on what is around a story.
#[derive(Clone, Copy, Debug)]
pub struct Varies {
    /// Its row.
    pub row: Row,
    /// Why.
    pub why: &'static str,
}

pub(super) const fn varies(row: Row, why: &'static str) -> Varies {
    Varies { row, why }
}

/// Who is cut off alone was reset; who is cut off with others lost his server.
pub(super) const CUT_OFF: [Varies; 2] = [
    varies(
        F06,
        "several watches that are cut off together have lost their server",
    ),
    varies(F08, "a watch that is cut off alone was reset"),
];

/// History that is gone with a server is told with that.
pub(super) const GONE_WITH_SERVER: Varies = varies(
    F11,
    "the 410 after a server went away is told with that, which several watches show",
);

/// Bookmarks that do not come are missed only where others have come further.
pub(super) const MISSING: Varies = varies(
    F34,
    "that bookmarks are missing shows beside watches that get some",
);

impl Finds {
    /// How long after it struck it must be found: twice the waiting of its rule and a second.
    #[must_use]
    pub fn within(&self) -> Duration {
        Duration::from_secs(2 * self.waits_s + 1)
    }
}

/// Rows that are not found yet, and why. Everything else is.
pub const UNSEEN: [(Row, &str); 1] = [(F05, "a normal timeout is an attribution, never a finding")];

pub(super) const fn row(
    row: Row,
    family: &'static [Row],
    strikes_s: u64,
    waits_s: u64,
    companions: &'static [Row],
) -> Finds {
    Finds {
        row,
        family,
        companions,
        by_reads: &[],
        strikes_s,
        strikes_with: None,
        waits_s,
        version: "1.30.0",
        lasts_s: None,
        needs_others: false,
        is_audited: false,
        needs_each_server: false,
        is_alone: None,
        varies: &[],
        says: "",
    }
}

impl Finds {
    pub(super) const fn with(self, version: &'static str) -> Self {
        Self { version, ..self }
    }

    pub(super) const fn among_others(self) -> Self {
        Self {
            needs_others: true,
            ..self
        }
    }

    pub(super) const fn audited(self) -> Self {
        Self {
            is_audited: true,
            ..self
        }
    }

    pub(super) const fn and_by_reads(self, by_reads: &'static [Row]) -> Self {
        Self { by_reads, ..self }
    }

    pub(super) const fn with_error(self, code: u64) -> Self {
        Self {
            strikes_with: Some(code),
            ..self
        }
    }

    pub(super) const fn by_each_server(self) -> Self {
        Self {
            needs_each_server: true,
            ..self
        }
    }

    pub(super) const fn alone(self, why: &'static str) -> Self {
        Self {
            is_alone: Some(why),
            ..self
        }
    }

    pub(super) const fn but(self, varies: &'static [Varies]) -> Self {
        Self { varies, ..self }
    }

    pub(super) const fn saying(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    pub(super) const fn lasting(self, secs: u64) -> Self {
        Self {
            lasts_s: Some(secs),
            ..self
        }
    }
}

/// All rows, F01 first. F12 strikes by itself, at the first resume after ten quiet minutes; its story makes sure of it by
/// 1203 s. Waiting is 2 s where a stream's end is attributed (docs/semantics/streams.md#revised) or what was allowed is
/// asked for once more (F40, F41), 10 s for an answer that does not come, 30 s for a client that returned, 90 s of
/// silence (F04), a round of the audit (15 s) and what it takes to be sure where that is needed, and a bookmark's
/// minute before it where nothing else brings the watch past what it missed (F27).
pub const FINDS: [Finds; Row::COUNT] = [
    row(F01, &[F01], 5, 1, &[]),
    row(F02, &[F02], 5, 1, &[F08]),
    row(F03, &[F03], 5, 30, &[]),
    row(F04, &[F04], 67, 90, &[]),
    row(F05, &[], 0, 0, &[F03]),
    row(F06, &[F06, F07], 5, 2, &[F03]).but(&[varies(
        F06,
        "the end of several watches together is surer than that of one",
    )]),
    row(F07, &[F06, F07], 8, 2, &[F02]),
    row(F08, &[F08], 5, 2, &[F03]),
    row(F09, &[F09], 10, 2, &[F03]),
    row(F10, &[F10], 8, 4, &[F06, F08, F11, F14, F28]).but(&CUT_OFF),
    row(F11, &[F11], 5, 3, &[F06, F08, F14, F21, F28])
        .but(&[varies(F21, "before 1.32 initial events come in no order")]),
    row(F12, &[F12], 1_203, 3, &[F06, F08, F34])
        .with_error(410)
        .but(&[CUT_OFF[0], CUT_OFF[1], MISSING]),
    row(F13, &[F13], 8, 3, &[F06, F08, F11, F28]).but(&CUT_OFF),
    row(F14, &[F14], 11, 15, &[F11, F22, F28]).with("1.29.4"),
    row(F15, &[F15], 5, 10, &[]),
    // A server below 1.31 lets requests wait instead of answering 429.
    row(F16, &[F16], 6, 2, &[F11, F28]).with("1.31.0"),
    // As F16; and the first end may be without a word, which that of the edit after the next is not.
    row(F17, &[F17], 5, 4, &[F11])
        .with("1.31.0")
        .but(&[varies(F17, "who watches definitions has seen the edit")]),
    row(F18, &[F18], 5, 2, &[]),
    row(F19, &[F19], 10, 0, &[]),
    row(F20, &[F20], 1, 0, &[F49]).with("1.28.0"),
    // Below 1.32 initial events come in any order: by chance in the right one.
    row(F21, &[F21, F29], 6, 0, &[]).with("1.33.0"),
    row(F22, &[F22], 6, 1, &[F08]).with("1.29.4"),
    row(F23, &[F23], 5, 0, &[F21]).with("1.9.1"),
    row(F24, &[F24], 60, 20, &[F06, F08, F11, F19, F20])
        .with("1.27.3")
        .audited()
        .lasting(140),
    row(F25, &[F24], 60, 20, &[F19, F20])
        .with("1.27.3")
        .audited()
        .lasting(140),
    row(F26, &[F24], 15, 20, &[])
        .with("1.13.0")
        .audited()
        .lasting(60),
    row(F27, &[F24], 6, 80, &[F11, F16])
        .with("1.29.4")
        .audited()
        .lasting(170)
        .alone("only who goes on from the revision of the compaction misses what comes behind it"),
    row(F28, &[F28], 8, 10, &[F06, F08, F11]).but(&[CUT_OFF[0], CUT_OFF[1], GONE_WITH_SERVER]),
    row(F29, &[F21, F29], 5, 0, &[]),
    row(F30, &[F30], 5, 0, &[]),
    row(F31, &[F31], 5, 3, &[F08, F19])
        .with("1.25.0")
        .by_each_server(),
    row(F32, &[F32], 8, 25, &[F08]).with("1.29.4").audited(),
    row(F33, &[F33], 5, 20, &[F24, F45])
        .with("1.29.4")
        .audited()
        .lasting(60)
        .but(&[
            varies(
                F24,
                "revisions that are given out anew make an old object look lost",
            ),
            varies(
                F33,
                "where others write, revisions are soon past where they were",
            ),
        ]),
    row(F34, &[F34], 0, 150, &[F48]).among_others(),
    // Until the event comes, the watch holds at the bookmark's version what was gone before.
    row(F35, &[F35], 82, 10, &[F08])
        .with("1.35.0")
        .and_by_reads(&[F24]),
    row(F36, &[F36], 35, 2, &[F03]),
    row(F37, &[F37], 0, 3, &[]).with("1.35.0"),
    row(F38, &[F38], 5, 2, &[F28]),
    row(F39, &[F39], 5, 0, &[]),
    row(F40, &[F40], 8, 2, &[]),
    row(F41, &[F41], 8, 2, &[]),
    row(F42, &[F42], 1, 2, &[]),
    row(F43, &[F43], 6, 0, &[]),
    row(F44, &[F44], 0, 10, &[]),
    row(F45, &[F24], 7, 20, &[])
        .audited()
        .lasting(60)
        .alone("only the event right behind the revision that is asked for is missed"),
    row(F46, &[F46], 21, 0, &[]),
    row(F47, &[F47], 5, 2, &[F03]),
    row(F48, &[F48], 6, 30, &[F06, F08, F11, F28]),
    row(F49, &[F49], 10, 2, &[]),
    row(F50, &[F50], 1, 10, &[F44]).with("1.35.0"),
];

/// Each place is its row's.
const _: () = {
    let mut place = 0;
    while place < Row::COUNT {
        assert!(FINDS[place].row as usize == place);
        place += 1;
    }
};

/// What is to be found in the row's own story.
#[must_use]
pub fn finds(row: Row) -> &'static Finds {
    static BY_ROW: [Finds; Row::COUNT] = FINDS;
    &BY_ROW[row as usize]
}
