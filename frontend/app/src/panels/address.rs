//! The address bar. Inside the frame of an opened file, this is the address of the page around the frame.

use crate::runtime::page::elements;

/// Returns the fragment of the address, with its `#`; empty if there is none.
pub(super) fn fragment() -> String {
    elements().window.location().hash().unwrap_or_default()
}

/// Returns the whole address, as a person copies it.
pub(super) fn whole() -> String {
    let window = &elements().window;
    // Only the page's own origin frames it, for an opened file.
    let around = window.top().ok().flatten();
    let location = around.as_ref().unwrap_or(window).location();
    location.href().unwrap_or_default()
}
