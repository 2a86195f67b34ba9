//! The backend: it watches clusters, keeps their log and serves it to viewers. `cli` is the entry.

mod audit;
pub mod cli;
pub mod cluster;
pub mod control;
pub mod demo;
pub mod follow;
pub mod history;
pub mod hub;
pub mod log;
mod metrics;
pub mod origin;
pub mod probes;
mod raster;
pub mod recordings;
pub mod replay;
mod scrape;
pub mod session;
mod stop;
pub mod transport;
pub mod upstream;
pub mod web;
