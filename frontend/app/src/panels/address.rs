//! The address bar: the fragment that names a place. In the frame of an opened file that of the page around it is meant.

use crate::runtime::page::elements;

/// The fragment of the address, with its `#`; empty if it has none.
pub(super) fn fragment() -> String {
    elements().window.location().hash().unwrap_or_default()
}

/// The whole address, as a person copies it.
pub(super) fn whole() -> String {
    let window = &elements().window;
    // A page is framed by its own origin alone, for an opened file.
    let around = window.top().ok().flatten();
    let location = around.as_ref().unwrap_or(window).location();
    location.href().unwrap_or_default()
}
