//! A lane in words: its name, and its content.

use super::phase::phase_sentence;
use crate::findings::{Muted, tally};
use crate::format::{clock_ms, count, duration, version};
use crate::id::LaneId;
use crate::inside::layer_words;
use crate::phrases::OWN_REQUESTS;
use crate::store::{Known, Store};

/// Returns a lane's name in words; empty if the store does not know its layer. Hostile: show as text. Panics if the
/// store has no such watch, object or server.
#[must_use]
pub fn lane_words(store: &Store, lane: LaneId) -> String {
    let (watch, object) = store.lane_names(lane);
    match (lane, watch, object) {
        (LaneId::Findings, ..) => "Findings".to_string(),
        (LaneId::OwnRequests, ..) => OWN_REQUESTS.to_string(),
        (LaneId::Layer(layer), ..) => store
            .layer_name(layer)
            .map_or_else(String::new, ToString::to_string),
        (LaneId::Connection(_), ..) => match store.lane_server(lane) {
            Some(server) => format!("connections to {server}"),
            None => String::new(),
        },
        (LaneId::Quiet, ..) => "Quiet watches".to_string(),
        (LaneId::More(_), Some(watch), _) => format!("{watch}, other objects"),
        (LaneId::Gone(_), Some(watch), _) => format!("{watch}, gone objects"),
        (LaneId::Version(_), Some(watch), _) => format!("{watch}, resourceVersion"),
        (_, Some(watch), Some(object)) => format!("{} of {watch}", object.name),
        (_, Some(watch), None) => watch.to_string(),
        (_, None, _) => String::new(),
    }
}

/// Returns a lane's content for a screen reader, now or as of a moment, in sentences. Each lane of a watch, except that
/// of an object, has the sentences of the watch. For a lane of no watch, except a layer, the sentences are about the
/// open findings, also muted ones. Before the first snapshot they say that nothing is known yet. Hostile: show as text.
/// Panics as [`Store::lane_names`] does.
#[must_use]
pub fn accessible(known: Known<'_>, lane: LaneId) -> String {
    let Known { store, at: now, .. } = known;
    let Some(state) = known.state else {
        return "Nothing is known yet.".to_string();
    };
    if let LaneId::Layer(layer) = lane {
        return layer_words(store, layer, now);
    }
    let (watch_name, object) = store.lane_names(lane);
    let Some(watch_name) = watch_name else {
        let words = tally(known, &Muted::default()).words;
        if words.is_empty() {
            return "No finding is open.".to_string();
        }
        return format!("Standing: {words}.");
    };
    let Some(watch) = state.watches.get(watch_name) else {
        return format!("{watch_name} is not watched in this run of watchscope.");
    };
    if let Some(object) = object {
        let held = watch.objects.sorted().into_iter().find(|held| {
            held.object.name == object.name && held.object.namespace == object.namespace
        });
        return match held {
            Some(held) => format!(
                "Held at resourceVersion {} since {}.",
                version(&held.resource_version),
                clock_ms(held.since.at)
            ),
            None => "Not held.".to_string(),
        };
    }
    let doing = watch
        .phase
        .as_ref()
        .map_or("Not started.".to_string(), |phase| {
            phase_sentence(phase.phase, phase.reason, phase.delay_ms)
        });
    let changes = watch.added + watch.modified + watch.deleted;
    let since = watch.phase.as_ref().map_or(String::new(), |phase| {
        format!(
            " For {} so far.",
            duration(now.micros_since(phase.since.at))
        )
    });
    format!(
        "{doing}{since} {} held, {}.",
        count(watch.objects.len() as u64, "object"),
        count(changes, "change")
    )
}
