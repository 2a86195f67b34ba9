//! Scripted stories, and the virtual driver that joins simulator and probes.
//!
//! A [`Story`] says what happens in a simulated cluster. The owner of the [`World`](watchscope_simulator::World)
//! performs its [`StoryPlayer`]: the demo's server in real time, tests in virtual time.

pub mod catalogue;
mod clients;
pub mod demo;
mod digest;
pub mod faults;
pub mod inside;
pub mod lessons;
mod load;
pub mod run;
pub mod script;
mod stories;
pub mod story;

pub use digest::{Digest, digest, digested, records};
pub use faults::{NoFault, PlannedFault};
pub use inside::{WorldRecord, take_world_records};
pub use load::{LoadSize, NoLoad, TakesNoLoad};
pub use run::{Run, address_of};
pub use script::{Act, Deed, Line};
pub use stories::{nearest, stories, story, titles};
pub use story::{Script, Story, StoryPlayer, TooFewServers, View};
