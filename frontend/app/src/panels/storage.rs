//! The browser's storage of this page.

use web_sys::Storage;

use crate::runtime::page::elements;

/// Returns the browser's storage; `None` if the browser forbids it.
pub(super) fn storage() -> Option<Storage> {
    elements().window.local_storage().ok()?
}
