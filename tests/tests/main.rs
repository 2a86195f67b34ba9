//! The end-to-end stories, in one binary so that they link once. A module per subject.
#![allow(
    clippy::unwrap_used,
    reason = "clippy does not recognise a test's helpers as test code"
)]

mod arranging;
mod attacks;
mod audits;
mod barriers;
mod browser;
mod chart;
mod claims;
mod commands;
mod comparing;
mod completing;
mod conformance;
mod course;
mod deploy;
mod divergence;
mod documented;
mod each_server;
mod exporting;
mod faults;
mod findings;
mod fingers;
mod first_paint;
mod guiding;
mod harness;
mod history;
mod hostile;
mod http;
mod in_cluster;
mod kubeconfig;
mod kubelets;
mod lessons;
mod living;
mod looking;
mod metrics;
mod modelled;
mod noting;
mod opening;
mod outputs;
mod packaged;
mod page;
mod palette;
mod past;
mod proxied;
mod real_clients;
mod real_cluster;
mod recordings;
mod records;
mod relay;
mod rotations;
mod schema;
mod search;
mod simulated;
mod single;
mod store;
mod stories;
mod tables;
mod trouble;
mod upgrades;
mod why;
mod writer;
