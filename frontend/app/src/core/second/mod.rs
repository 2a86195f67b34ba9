//! What a person does to the model, and what the panels show of it. Only the second part of the page reaches this.
//!
//! ```text
//!   Person ─► person ─┬─ act         keys and buttons
//!                     ├─ view        time, scrolling, pointers
//!                     ├─ selection   what is selected, hovered, gone to      ─► Shown ─► panels
//!                     ├─ findings    findings, muting, table of watches
//!                     ├─ overview    the strip of all that is kept
//!                     ├─ address     the place in the address bar, and links to places
//!                     ├─ as_of       the moment that panels answer for
//!                     ├─ range       a range of time that is marked
//!                     ├─ notes       notes of persons: written, changed, withdrawn, gone to
//!                     ├─ export      what the dialogs of exports and charts are given
//!                     ├─ replay      a recording that is played
//!                     ├─ comparison  with the cluster, as it was asked for
//!                     └─ lesson      what a lesson asks for
//!   each 250 ms ─► show                words of header, status bar, empty states
//!   segments    ─► records             into the store
//! ```

mod act;
mod address;
mod as_of;
mod comparison;
mod export;
mod findings;
mod lesson;
mod notes;
mod overview;
mod person;
mod range;
mod records;
mod replay;
mod selection;
mod show;
mod view;
