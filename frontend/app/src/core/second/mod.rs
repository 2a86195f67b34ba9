//! A person's actions on the model, and the contents of the panels. Only the second part of the page uses this.
//!
//! ```text
//!   Person ─► person ─┬─ of_panels   actions of panels in the third part
//!                     ├─ act         keys and buttons
//!                     ├─ view        time, scrolling, pointers
//!                     ├─ selection   selection, hover, going to records      ─► Shown ─► panels
//!                     ├─ lanes       all lanes: groups, order, pins, hidden lanes
//!                     ├─ findings    findings, muting, table of watches
//!                     ├─ overview    the strip of all records that are kept
//!                     ├─ address     the place in the address bar, and links to places
//!                     ├─ as_of       the moment for which panels answer
//!                     ├─ range       the marked range of time
//!                     ├─ notes       notes of persons: writing, changing, withdrawing, going to them
//!                     │    note_words   a row of the panel, the form, refusals
//!                     │    note_flags   flags in the picture
//!                     ├─ export      the input of the dialogs of exports and charts
//!                     ├─ palette     finding an action, a lane or a place
//!                     │    named        the resourceVersion or the uid that a text names
//!                     ├─ search      hits in the log, and going from one to the next
//!                     │    search_ticks   their ticks in the picture and on the overview
//!                     ├─ table       tables: records in view, findings, watches, versions
//!                     ├─ replay      playing a recording
//!                     ├─ captions    the captions of a first visit
//!                     ├─ comparison  comparisons with the cluster
//!                     ├─ why         the steps that explain the selection
//!                     └─ lesson      a lesson's requests
//!   each 250 ms ─► show                words of header, status bar, empty states
//!   segments    ─► records             into the store
//! ```

mod act;
mod address;
mod as_of;
mod captions;
mod comparison;
mod cursors;
mod export;
mod findings;
mod lanes;
mod late;
mod lesson;
mod named;
mod note_flags;
mod note_words;
mod notes;
mod notes_saved;
mod of_panels;
mod overview;
mod palette;
mod person;
mod range;
mod records;
mod replay;
mod search;
mod search_ticks;
mod selection;
mod show;
mod table;
mod table_link;
mod trouble;
mod view;
mod why;
