//! The parts of the world that an apiserver uses.

use std::time::Duration;

use watchscope_model::tree::BTreeSet;

use super::alarm::Alarm;
use super::answers::Answers;
use crate::etcd::Etcd;
use crate::fault::Fault;
use crate::kinds::{Kinds, ResourceId};
use crate::message::ServerId;
use crate::random::Random;
use crate::settings::ApiserverConfig;
use crate::time::{Time, Wall};
use crate::version::Version;

/// The world, as an apiserver sees it in one step.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) wall: Wall,
    /// The apiserver that takes the step, and its version.
    pub(crate) server: ServerId,
    pub(crate) version: Version,
    pub(crate) settings: &'a ApiserverConfig,
    /// Delay from a write request to its answer: minimum and maximum.
    pub(crate) commit_latency: (Duration, Duration),
    /// Whether the apiserver answers about itself and in Tables.
    pub(crate) answers: Answers,
    pub(crate) faults: &'a BTreeSet<Fault>,
    pub(crate) etcd: &'a mut Etcd,
    pub(crate) kinds: &'a mut Kinds,
    pub(crate) random: &'a mut Random,
    pub(crate) alarms: &'a mut Vec<(Time, Alarm)>,
}

impl Context<'_> {
    /// Returns whether a fault is on for which `is` returns `true`.
    pub(super) fn is_on(&self, is: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(is)
    }

    /// Returns whether a fault is on for which `is` returns `true` and that strikes this server and `resource`.
    pub(super) fn is_on_for(&self, resource: ResourceId, is: impl Fn(&Fault) -> bool) -> bool {
        if self.faults.is_empty() {
            return false;
        }
        let name = self.kinds.get(resource).qualified();
        let meant = |fault: &Fault| fault.concerns(self.server, &name);
        self.is_on(|fault| is(fault) && meant(fault))
    }
}
