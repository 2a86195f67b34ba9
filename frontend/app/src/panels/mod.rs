//! Panels and controls, by Leptos. They mirror the model, and send it the person's actions. They belong to the second
//! part.
//!
//! ```text
//!   Model ─► signals ─► header, lanes, overlay, findings, watches, notes, detail, status
//!                             └─► events, listen ─► Person ─► core
//!   PanelEffect ─► effects ─► mount, focus, storage, bodies, texts
//! ```

#![allow(unreachable_pub, reason = "the component macro makes its items pub")]

mod address;
mod as_of;
mod beliefs;
mod bodies;
mod captions;
mod check;
mod compared_object;
mod copy;
mod cursors;
mod debug;
mod detail;
mod download;
mod effects;
mod events;
mod evidence;
mod export;
mod findings;
mod focus;
mod glyph;
mod header;
mod lanes;
mod lesson;
mod lesson_keys;
mod listen;
mod mirror;
mod mount;
mod notes;
mod overlay;
mod overview;
mod palette;
mod player;
mod range;
mod replay;
mod search;
mod signals;
mod status;
mod storage;
mod tables;
mod texts;
mod third;
mod trouble;
mod watches;
mod why;

pub(crate) use self::effects::carry_out;

use crate::core::model::Model;

/// Updates the panels that changed. Loads the third part when the first of its panels opens.
pub(crate) fn show(model: &Model) {
    signals::show(model);
    third::show(model);
}

/// Moves the elements that lie over the picture or the tree, after it was painted.
pub(crate) fn drawn() {
    lanes::show_sections();
    third::drawn();
}
