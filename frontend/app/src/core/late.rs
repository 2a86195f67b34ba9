//! The functions of the model that only the third part of the page has.

use super::model::Model;
use super::palette::PaletteDeed;
use super::search::SearchDeed;

/// The table of these functions. The third part hands it over when it is loaded, so that the second part, which every page
/// loads, does not carry their code.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// Handles an action on the palette.
    pub palette: fn(&mut Model, PaletteDeed),
    /// Handles an action on the search, or an answer to it.
    pub search: fn(&mut Model, SearchDeed),
}

/// There is one table, so all are equal.
impl PartialEq for Late {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
