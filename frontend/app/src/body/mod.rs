//! Bodies of objects for the panel: parsed, laid out in lines, and compared by path.
//!
//! The order of keys and the spelling of numbers stay as the server wrote them; `JSON.parse` would change both.

pub mod diff;
pub mod json;
