//! The page's decisions, without a browser: the host compiles and tests them.
//!
//! ```text
//!   Msg ─► update(Model, Msg, Now) ─► effects   (runtime carries them out)
//!             ├─ link     socket, session   ─► deliver ─► store, clock
//!             ├─ frame    what is stale     ─► layout  ─► rows, scene, rows of the lane tree
//!             └─ second   a person's actions, contents of the panels (second part)
//! ```
//! Time, chance and the browser's sizes come with each message, so that a test can supply its own.

pub mod captions;
pub mod cursors;
pub mod deliver;
pub mod effect;
pub mod frame;
pub mod lanes;
pub mod layout;
pub mod lesson;
pub mod link;
pub mod model;
pub mod msg;
pub mod notes;
pub mod palette;
pub mod panel_state;
pub mod person;
pub mod place;
pub mod queue;
pub mod screen;
pub mod search;
pub mod second;
pub mod shown;
pub mod summary;
pub mod table;
pub mod tree_rows;
pub mod update;
