//! What a person wants, as the dialog says it.

use serde::Deserialize;
use watchscope_export::{Shown, Size, WantedLanes};
use watchscope_hiding::{HiddenPart, Parts};
use watchscope_model::Time;
use watchscope_timeline::Theme;

/// What is exported of the records, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wish {
    /// From when, in microseconds.
    from_us: i64,
    /// Until when.
    to_us: i64,
    lanes: Lanes,
    /// What a person opened and closed on the page.
    choices: String,
    /// The page's filter, as typed.
    filter: String,
    hide: Vec<HiddenPart>,
    /// In the person's words; empty for one of ours.
    pub(crate) title: String,
    is_dark: bool,
    width_px: u32,
    height_px: u32,
    /// The viewer's offset from UTC, in minutes.
    pub(crate) zone_offset_min: i32,
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
    pub(crate) fn range(&self) -> (Time, Time) {
        (Time(self.from_us), Time(self.to_us))
    }

    pub(crate) fn lanes(&self) -> WantedLanes {
        match self.lanes {
            Lanes::All | Lanes::Page => WantedLanes::All,
            Lanes::Findings => WantedLanes::WithFindings,
        }
    }

    pub(crate) fn parts(&self) -> Parts {
        self.hide.iter().copied().collect()
    }

    pub(crate) fn theme(&self) -> Theme {
        if self.is_dark {
            Theme::Dark
        } else {
            Theme::Light
        }
    }

    pub(crate) fn size(&self) -> Size {
        Size {
            width_px: self.width_px,
            height_px: self.height_px,
        }
    }

    /// Which rows a picture shows. A filter is of names: where those are hidden it would show which pseudonym is whose.
    pub(crate) fn shown(&self) -> Shown<'_> {
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
