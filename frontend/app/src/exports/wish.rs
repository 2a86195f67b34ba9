//! The wish of a person, as the dialog sends it.

use serde::Deserialize;
use watchscope_export::{Shown, Size, WantedLanes};
use watchscope_hiding::{HiddenPart, Parts};
use watchscope_model::Time;
use watchscope_timeline::Theme;

/// The records to export, and their form.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wish {
    /// The first time, in microseconds.
    from_us: i64,
    /// The last time.
    to_us: i64,
    lanes: Lanes,
    /// The lanes that a person opened and closed on the page.
    choices: String,
    /// The page's filter, as typed.
    filter: String,
    hide: Vec<HiddenPart>,
    /// The person's title; empty for a default one.
    pub(super) title: String,
    is_dark: bool,
    width_px: u32,
    height_px: u32,
    /// The viewer's offset from UTC, in minutes.
    pub(super) zone_offset_min: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Lanes {
    /// All, with all rows.
    All,
    /// As the page shows them.
    Page,
    /// Those with findings.
    Findings,
}

impl Wish {
    pub(super) fn range(&self) -> (Time, Time) {
        (Time(self.from_us), Time(self.to_us))
    }

    pub(super) fn lanes(&self) -> WantedLanes {
        match self.lanes {
            Lanes::All | Lanes::Page => WantedLanes::All,
            Lanes::Findings => WantedLanes::WithFindings,
        }
    }

    pub(super) fn parts(&self) -> Parts {
        self.hide.iter().copied().collect()
    }

    pub(super) fn theme(&self) -> Theme {
        if self.is_dark {
            Theme::Dark
        } else {
            Theme::Light
        }
    }

    pub(super) fn size(&self) -> Size {
        Size {
            width_px: self.width_px,
            height_px: self.height_px,
        }
    }

    /// Returns the rows that a picture shows. A filter names objects: where names are hidden, it would show whose
    /// pseudonym is whose.
    pub(super) fn shown(&self) -> Shown<'_> {
        match self.lanes {
            Lanes::Page if self.parts().changes_texts() => Shown::AsOnPage {
                choices: "",
                filter: "",
            },
            Lanes::Page => Shown::AsOnPage {
                choices: &self.choices,
                filter: &self.filter,
            },
            Lanes::All | Lanes::Findings => Shown::All,
        }
    }
}
