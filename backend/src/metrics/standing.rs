//! Gauges of the present state, from the log's own fold.

use std::collections::BTreeMap;

use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::{Divergence, Phase, Severity, Standing};
use watchscope_model::{State, Text, Time};

use super::exposition::{Exposition, Label};
use super::families as f;
use super::tally::Tally;
use super::words::Code;

/// The sums over the watches of one resource now.
#[derive(Default)]
struct ResourceSums {
    phases: BTreeMap<Phase, u64>,
    objects: u64,
    silence_us: Option<i64>,
    gap_us: i64,
    version: Option<u64>,
    divergent: BTreeMap<Divergence, u64>,
}

/// Adds the gauges at `now` of the log with that name. `tally` has seen the same records as `state`.
pub(crate) fn standing(state: &State, tally: &Tally, log: &Text, now: Time, out: &mut Exposition) {
    let cluster = || Label::from(log);
    for ((group, resource), sums) in sums_by_resource(state, tally, now) {
        let of = || [cluster(), group.into(), resource.into()];
        let with = |word: Label| [cluster(), group.into(), resource.into(), word];
        for phase in Phase::ALL {
            let count = sums.phases.get(phase).copied().unwrap_or(0);
            out.add(&f::WATCHES, with(phase.word().into()), count);
        }
        out.add(&f::OBJECTS, of(), sums.objects);
        if let Some(silence_us) = sums.silence_us {
            out.add(&f::SILENCE, of(), seconds(silence_us));
        }
        out.add(&f::OPEN_GAP, of(), seconds(sums.gap_us));
        if let Some(version) = sums.version {
            out.add(&f::LAST_VERSION, of(), version);
        }
        for kind in Divergence::ALL {
            let count = sums.divergent.get(kind).copied().unwrap_or(0);
            out.add(&f::DIVERGENT, with(kind.word().into()), count);
        }
    }
    let nothing = Text::from("");
    for ((group, resource, code, severity), count) in findings(state, tally, &nothing) {
        let labels = [
            cluster(),
            group.into(),
            resource.into(),
            code.label(),
            severity.word().into(),
        ];
        out.add(&f::FINDINGS, labels, count);
    }
    out.add(&f::LOG_RECORDS, [cluster()], state.seq.0);
    out.add(&f::CONNECTIONS, [cluster()], state.connections.len());
    let is_connected = u64::from(!state.connections.is_empty());
    out.add(&f::CLUSTER_UP, [cluster()], is_connected);
    let off_ms = state.clock_off_ms.unwrap_or(0);
    out.add(
        &f::CLOCK_OFF,
        [cluster()],
        seconds(off_ms.saturating_mul(1_000)),
    );
}

fn sums_by_resource<'a>(
    state: &State,
    tally: &'a Tally,
    now: Time,
) -> BTreeMap<(&'a Text, &'a Text), ResourceSums> {
    let mut all: BTreeMap<(&Text, &Text), ResourceSums> = BTreeMap::new();
    for (name, watch) in &state.watches {
        // Side watches, witnesses and reads of the audit are not counted.
        let Some(resource) = tally.resource_of(name) else {
            continue;
        };
        let sums = all.entry(resource).or_default();
        let phase = watch.phase.as_ref().map(|open| open.phase);
        if let Some(phase) = phase {
            *sums.phases.entry(phase).or_default() += 1;
        }
        if phase == Some(Phase::Stopped) {
            continue;
        }
        if watch.stream.is_some()
            && let Some(up_to_date_at) = tally.up_to_date_at(name)
        {
            sums.silence_us = sums.silence_us.max(Some(now.micros_since(up_to_date_at)));
        }
        sums.take(watch, now);
    }
    all
}

impl ResourceSums {
    fn take(&mut self, watch: &Watch, now: Time) {
        self.objects += watch.objects.len() as u64;
        if let Some(gap) = &watch.gap {
            self.gap_us = self.gap_us.max(now.micros_since(gap.since.at));
        }
        if let Some(version) = watch.progress.as_ref().and_then(|version| version.number()) {
            self.version = Some(self.version.map_or(version, |lowest| lowest.min(version)));
        }
        for open in watch.verdicts.values() {
            if open.verdict.state == Standing::Confirmed {
                *self.divergent.entry(open.verdict.kind).or_default() += 1;
            }
        }
    }
}

/// Counts the standing findings by resource, code and severity. The resource is `nothing` if a finding concerns neither a
/// watch nor a type.
fn findings<'a>(
    state: &'a State,
    tally: &'a Tally,
    nothing: &'a Text,
) -> BTreeMap<(&'a Text, &'a Text, Code, Severity), u64> {
    let mut all = BTreeMap::new();
    for open in state.findings.values() {
        let finding = &open.finding;
        let watch = finding.watch.as_ref();
        let (group, resource) = match (watch, &finding.group, &finding.resource) {
            (Some(watch), ..) => tally.resource_of(watch),
            (None, group, Some(resource)) => Some((group.as_ref().unwrap_or(nothing), resource)),
            (None, ..) => None,
        }
        .unwrap_or((nothing, nothing));
        let key = (
            group,
            resource,
            Code::of(&finding.code),
            finding.worst_severity(),
        );
        *all.entry(key).or_default() += 1;
    }
    all
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a float is what the format has; 2^53 microseconds are 285 years"
)]
fn seconds(us: i64) -> f64 {
    us as f64 / 1e6
}
