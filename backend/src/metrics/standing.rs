//! Gauges: what stands now, from the log's own fold.

use std::collections::BTreeMap;

use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::{Divergence, Phase, Severity, Standing};
use watchscope_model::{State, Text, Time};

use super::exposition::{Exposition, Label};
use super::families as f;
use super::tally::Tally;
use super::words::Code;

/// What the watches of one resource have in common now.
#[derive(Default)]
struct Together {
    phases: BTreeMap<Phase, u64>,
    objects: u64,
    silence_us: Option<i64>,
    gap_us: i64,
    version: Option<u64>,
    divergent: BTreeMap<Divergence, u64>,
}

/// Adds all that stands at `now` in the log of that name. `tally` has seen the same records as `state`.
pub(crate) fn standing(state: &State, tally: &Tally, log: &Text, now: Time, out: &mut Exposition) {
    let cluster = || Label::from(log);
    for ((group, resource), together) in together(state, tally, now) {
        let of = || [cluster(), group.into(), resource.into()];
        let with = |word: Label| [cluster(), group.into(), resource.into(), word];
        for phase in Phase::ALL {
            let count = together.phases.get(phase).copied().unwrap_or(0);
            out.add(&f::WATCHES, with(phase.word().into()), count);
        }
        out.add(&f::OBJECTS, of(), together.objects);
        if let Some(silence_us) = together.silence_us {
            out.add(&f::SILENCE, of(), seconds(silence_us));
        }
        out.add(&f::OPEN_GAP, of(), seconds(together.gap_us));
        if let Some(version) = together.version {
            out.add(&f::LAST_VERSION, of(), version);
        }
        for kind in Divergence::ALL {
            let count = together.divergent.get(kind).copied().unwrap_or(0);
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

fn together<'a>(
    state: &State,
    tally: &'a Tally,
    now: Time,
) -> BTreeMap<(&'a Text, &'a Text), Together> {
    let mut all: BTreeMap<(&Text, &Text), Together> = BTreeMap::new();
    for (name, watch) in &state.watches {
        // Not counted: what is only asked to find out about another.
        let Some(resource) = tally.resource_of(name) else {
            continue;
        };
        let together = all.entry(resource).or_default();
        let phase = watch.phase.as_ref().map(|open| open.phase);
        if let Some(phase) = phase {
            *together.phases.entry(phase).or_default() += 1;
        }
        if phase == Some(Phase::Stopped) {
            continue;
        }
        if watch.stream.is_some()
            && let Some(heard_at) = tally.heard_at(name)
        {
            together.silence_us = together.silence_us.max(Some(now.micros_since(heard_at)));
        }
        together.take(watch, now);
    }
    all
}

impl Together {
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

/// How many findings stand, by resource, code and severity; of one about neither a watch nor a type the resource is
/// `nothing`.
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
