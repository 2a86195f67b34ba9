//! Clusters of local servers and kubeconfig files.

mod configuration;
mod credentials;
mod discovering;
mod harness;
mod plugins;
mod serving;
