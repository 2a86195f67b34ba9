//! The findings that diagnosis must make in each row's story, the findings that it may make, and the time by which.
//!
//! Each row has one line. A row without a family is silent: its failure shows in no record, or nothing goes wrong.
//! [`UNSEEN`] says why, if the row's own story is silent.

use std::time::Duration;

use watchscope_model::Row::{self, *};

/// The findings that must or may be made in a row's story, or in another form of its failure.
#[derive(Clone, Copy, Debug)]
pub struct Finds {
    /// The row whose failure happens in the story.
    pub row: Row,
    /// The rows that the finding may name: a finding must name one of these rows. Empty for a silent row or form, which
    /// no finding may name.
    pub family: &'static [Row],
    /// Rows of other failures that truly happen in the story, so findings of these rows may be made, but need not be.
    /// The list may be empty.
    pub companions: &'static [Row],
    /// Rows besides `family` that a finding may name if the story runs with an audit. The list may be empty.
    pub by_reads: &'static [Row],
    /// When the failure happens, in seconds since the story began.
    pub strikes_s: u64,
    /// The code of the first ERROR event with which the failure happens, if chance decides the failure's time; else
    /// `None`. With a code, `strikes_s` is the latest time at which the failure can happen; the story ensures it.
    pub strikes_with: Option<u64>,
    /// How long the finding's rule waits after the failure, in seconds; 0 if the rule finds the failure at once.
    pub waits_s: u64,
    /// A Kubernetes version of the row's servers with which the findings are the same, such as `1.30.0`. They are also
    /// the same with each minor version between it and the story's own version. It may equal the story's own.
    pub version: &'static str,
    /// The length of the story in seconds, in place of the row's `lasts`; `None` if `lasts` is long enough for the
    /// finding.
    pub lasts_s: Option<u64>,
    /// Whether the failure shows only beside other watches: a watch alone would look merely quiet.
    pub needs_others: bool,
    /// Whether only the audit's reads show the failure, so that the story runs with `--audit full`.
    pub is_audited: bool,
    /// Whether the failure shows only with a watch on each of the story's servers.
    pub needs_each_server: bool,
    /// Why no random writes are added to the story: the failure depends on the very next revision. `None` if random
    /// writes may be added.
    pub is_alone: Option<&'static str>,
    /// Findings whose presence or certainty depends on a variant's other watches and servers, or on its timing; the
    /// list may be empty. All other findings are the same in each variant of the story.
    pub varies: &'static [Varies],
    /// Words that the finding's sentence must have, with `…` for parts that differ; empty if the sentence may have any
    /// words.
    pub says: &'static str,
}

/// A finding that depends on the other watches and servers, or on the timing, in a variant of a story.
#[derive(Clone, Copy, Debug)]
pub struct Varies {
    /// The row of the catalogue that the finding names.
    pub row: Row,
    /// The reason why the finding varies, as a clause without a full stop.
    pub why: &'static str,
}

pub(super) const fn varies(row: Row, why: &'static str) -> Varies {
    Varies { row, why }
}

/// The findings of a cut connection that depend on other watches. A watch that is cut off alone is judged as reset.
/// Watches that are cut off together are judged to have lost their server.
pub(super) const CUT_OFF: [Varies; 2] = [
    varies(
        F06,
        "several watches that are cut off together have lost their server",
    ),
    varies(F08, "a watch that is cut off alone was reset"),
];

/// The finding of a 410 that depends on other watches. After the loss of a server, the 410 is part of the finding about
/// that loss.
pub(super) const GONE_WITH_SERVER: Varies = varies(
    F11,
    "several watches show that a server went away, and the 410 is part of that finding",
);

/// The finding of missing bookmarks of a quiet watch, which depends on other watches. Without events of the watch
/// itself, it is made only if another watch had a newer resourceVersion over 75 s ago. The number is `BOOKMARK_LATE_US`
/// of diagnosis.
pub(super) const MISSING: Varies = varies(
    F34,
    "missing bookmarks show beside watches that receive some",
);

impl Finds {
    /// Returns the longest allowed time from the failure to the finding: 1 s plus twice `waits_s`.
    #[must_use]
    pub fn within(&self) -> Duration {
        Duration::from_secs(2 * self.waits_s + 1)
    }
}

/// The rows of the catalogue that are never found, with the reason. All other rows are found in their own story, some
/// of them as another row of their family.
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

/// The findings of all rows' own stories, F01 first. An entry's index is that of its row. The arguments of `row` are
/// row, family, `strikes_s`, `waits_s` and companions.
///
/// F12 strikes by itself, at the first resume after ten quiet minutes; its story ensures that this resume happens by
/// 1203 s. Most values of `waits_s` are:
///
/// * 2 s if a stream's end is attributed (docs/semantics/streams.md#revised), or if a forbidden request is sent once
///   more (F40, F41)
/// * 10 s for an answer that does not come, 30 s for a client that returned, and 90 s of silence (F04)
/// * a round of the audit (15 s), and the time for a second read if the verdict needs one
/// * a minute for a bookmark before that round, if nothing else brings the watch past the event that it missed (F27)
///
/// Other values have no source. docs/detection.md lists the longest allowed time and the slowest measured time of each
/// finding.
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
        .but(&[varies(F21, "before 1.32 initial events have no order")]),
    row(F12, &[F12], 1_203, 3, &[F06, F08, F34])
        .with_error(410)
        .but(&[CUT_OFF[0], CUT_OFF[1], MISSING]),
    row(F13, &[F13], 8, 3, &[F06, F08, F11, F28]).but(&CUT_OFF),
    row(F14, &[F14], 11, 15, &[F11, F22, F28]).with("1.29.4"),
    row(F15, &[F15], 5, 10, &[]),
    // A server below 1.31 lets requests wait instead of answering 429 (docs/semantics/versions.md#not-ready-429).
    row(F16, &[F16], 6, 2, &[F11, F28]).with("1.31.0"),
    // Like F16. The first end may come without a reason; the end by the edit after next has one.
    row(F17, &[F17], 5, 4, &[F11])
        .with("1.31.0")
        .but(&[varies(F17, "a watch of definitions has seen the edit")]),
    row(F18, &[F18], 5, 2, &[]),
    row(F19, &[F19], 10, 0, &[]),
    row(F20, &[F20], 1, 0, &[F49]).with("1.28.0"),
    // Below 1.32 initial events come in any order, by chance also in the right one
    // (docs/semantics/versions.md#key-order).
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
        .alone("only a watch that resumes from the revision of the compaction misses the events behind it"),
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
                "revisions that are used again make an old object look lost",
            ),
            varies(
                F33,
                "if others write, revisions soon pass their former value",
            ),
        ]),
    row(F34, &[F34], 0, 150, &[F48]).among_others(),
    // Until the event comes, the watch holds an object at the bookmark's version that was gone before.
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
        .alone("only the event right behind the requested revision is missed"),
    row(F46, &[F46], 21, 0, &[]),
    row(F47, &[F47], 5, 2, &[F03]),
    row(F48, &[F48], 6, 30, &[F06, F08, F11, F28]),
    row(F49, &[F49], 10, 2, &[]),
    row(F50, &[F50], 1, 10, &[F44]).with("1.35.0"),
];

/// Fails to compile unless each entry of [`FINDS`] has the index of its row.
const _: () = {
    let mut place = 0;
    while place < Row::COUNT {
        assert!(FINDS[place].row as usize == place);
        place += 1;
    }
};

/// Returns the expected findings of the row's own story.
#[must_use]
pub fn finds(row: Row) -> &'static Finds {
    /// A static copy of [`FINDS`], so that references to its entries live as long as the program.
    static BY_ROW: [Finds; Row::COUNT] = FINDS;
    &BY_ROW[row as usize]
}
