//! The page's own decisions, without a browser: the host compiles and tests them.

pub mod queue;
