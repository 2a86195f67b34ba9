//! Bodies of objects as the panel shows them: read, laid out in lines, compared line by line.
//!
//! The order of keys and the spelling of numbers stay as the server wrote them; `JSON.parse` would change both.

pub mod diff;
pub mod json;
