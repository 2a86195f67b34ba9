//! The rows of a simulated cluster's layers: etcd, the apiservers' watch caches, the client programs.

use watchscope_model::tree;
use watchscope_model::{Text, Time};

use crate::glyph::Glyph;
use crate::id::{LaneId, LayerId};
use crate::lanes::{Density, Lanes, LayerRows, RowBuilder, RowKind};
use crate::levels::{Layer, Level, Tone};
use crate::phrases::crowd_words;
use crate::store::Store;
use crate::tokens::Token;
use crate::view::View;

/// The heading over the rows of layers.
const HEADING: &str = "Inside the cluster";
/// Most client programs, without crowds, whose connections and streams show by themselves, so that the rows fit on a
/// screen. If there are more clients, or names stand above the lanes ([`Density::Labelled`]), these rows show only once
/// the viewer opens them. The number has no source.
const CLIENTS_OPEN_MOST: usize = 8;
/// Most streams that are shown for a watch cache, so that its rows fit on a screen: the streams with the most waiting
/// events. Other streams have no row. The number has no source.
const STREAMS_MOST: usize = 8;

impl Lanes {
    /// Closes the rows under a layer if they are open, and opens them if they are closed. For a layer without rows, the
    /// choice applies once it has some. The choice is stored as the opposite of the default: if the default changes, as
    /// at the ninth client program, open and closed change places.
    pub fn toggle_layer(&mut self, layer: LayerId) {
        match self.toggled_layers.iter().position(|&id| id == layer) {
            Some(place) => {
                self.toggled_layers.swap_remove(place);
            }
            None => self.toggled_layers.push(layer),
        }
    }

    /// Opens the rows under a layer if `is_open`, otherwise closes them. Does nothing if the layer has no rows under it
    /// or is unknown, or if it is open or closed as asked. For an apiserver, a crowd or the heading, the choice is kept
    /// even without rows.
    pub fn set_layer_open(&mut self, store: &Store, layer: LayerId, is_open: bool) {
        let names = store.layer_names();
        let has_rows = match names.layer(layer) {
            Some(Layer::All | Layer::Server(_) | Layer::Crowd(_)) => true,
            Some(Layer::Cache(server, resource)) => {
                !names.streams_from(*server, resource).is_empty()
            }
            Some(Layer::Client(client)) => names.connections_of(client).is_some(),
            _ => false,
        };
        if has_rows && self.is_layer_open(store, layer) != is_open {
            self.toggle_layer(layer);
        }
    }

    /// Opens all watch caches if `caches` is true, otherwise closes them: their streams stand under them. Likewise
    /// opens or closes all clients by `clients`: their connections stand under them. A layer without rows under it
    /// stays as it is.
    pub fn open_layers(&mut self, store: &Store, caches: bool, clients: bool) {
        for (layer, id) in store.layer_names().sorted() {
            match layer {
                Layer::Cache(..) => self.set_layer_open(store, id, caches),
                Layer::Client(_) => self.set_layer_open(store, id, clients),
                _ => {}
            }
        }
    }

    fn is_layer_open(&self, store: &Store, layer: LayerId) -> bool {
        // The watches come first. The inside shows once the viewer opens it, or in a lesson.
        let names = store.layer_names();
        let is_quiet = || names.clients() <= CLIENTS_OPEN_MOST;
        let usually = self.density != Density::Labelled
            && match names.layer(layer) {
                Some(Layer::All) => self.shows_all,
                Some(Layer::Cache(..)) => is_quiet(),
                Some(Layer::Client(client)) => names.crowd(client).is_none() && is_quiet(),
                _ => false,
            };
        usually != self.toggled_layers.contains(&layer)
    }

    /// Returns the rows of the layers as they are now, or at the end of a view. A cluster that reports nothing of its
    /// inside has no such rows.
    pub(super) fn layer_rows(
        &self,
        store: &Store,
        builder: &mut RowBuilder,
        view: &View,
        now: Time,
    ) {
        let at = if self.shows_all {
            view.right().min(now)
        } else {
            now
        };
        let names = store.layer_names();
        let all = names.sorted();
        let Some(heading) = names.find(&Layer::All) else {
            return;
        };
        if self.is_filtered() {
            builder.rows.hidden += 1;
            return;
        }
        let is_open = self.is_layer_open(store, heading);
        let row = builder.push(
            LaneId::Layer(heading),
            RowKind::Layer,
            false,
            "",
            HEADING.into(),
            None,
        );
        row.expanded = Some(is_open);
        row.indent_px = 12;
        if !is_open {
            return;
        }
        let level = |id| level_at(store, id, at);
        let looked_at: Vec<&Text> = all
            .iter()
            .filter(|(layer, _)| matches!(layer, Layer::Client(_)))
            .filter_map(|&(_, id)| Some(&level(id)?.looks_at.0))
            .collect();
        for &(layer, id) in &all {
            match layer {
                Layer::Etcd => builder.layer(RowKind::LayerTrace, id, "", "etcd", 28, level(id)),
                Layer::Server(server) => {
                    let is_open = self.is_layer_open(store, id);
                    let name = format!("apiserver {server}");
                    builder.layer(RowKind::Layer, id, "", &name, 28, level(id));
                    if let Some(row) = builder.rows.rows.last_mut() {
                        row.expanded = Some(is_open);
                    }
                    for (resource, client, id) in names.streams_past(*server) {
                        if looked_at.contains(&resource) {
                            let (kind, prefix) = (RowKind::LayerStream, "from etcd to\u{a0}");
                            builder.layer(kind, id, prefix, client, 44, level(id));
                        }
                    }
                    for &(layer, id) in &all {
                        let Layer::Cache(of, resource) = layer else {
                            continue;
                        };
                        let is_fed = level(id).is_some_and(|level| level.waiting.slots > 0);
                        let is_shown = looked_at.contains(&resource) || (is_open && is_fed);
                        if of == server && is_shown && self.layers < LayerRows::Sides {
                            let prefix = "cache\u{a0}";
                            builder.layer(RowKind::LayerTrace, id, prefix, resource, 44, level(id));
                            self.stream_rows(store, builder, (id, *server, resource), at);
                        }
                    }
                }
                Layer::Client(client) if names.crowd(client).is_none() => {
                    self.client_rows(store, builder, (client, id), 28, at);
                }
                Layer::Crowd(crowd) => {
                    let is_open = self.is_layer_open(store, id);
                    let members = names.members(crowd);
                    let members = members.into_iter();
                    let members: Vec<_> = members.filter(|&(_, id)| level(id).is_some()).collect();
                    let Some(name) = crowd_words(members.iter().map(|&(name, _)| name)) else {
                        continue;
                    };
                    builder.layer(RowKind::Layer, id, "clients\u{a0}", &name, 28, None);
                    if let Some(row) = builder.rows.rows.last_mut() {
                        row.expanded = Some(is_open);
                        row.count = Some(members.len() as u64);
                        let levels = members.iter().filter_map(|&(_, id)| level(id));
                        // The marks of folded members must stay visible.
                        row.mark = levels.into_iter().find_map(mark_of);
                        row.finding = self.worst_finding(store, |finding| {
                            let client = finding.client.as_ref();
                            client.is_some_and(|client| names.crowd(client) == Some(id))
                        });
                    }
                    for &member in members.iter().filter(|_| is_open) {
                        self.client_rows(store, builder, member, 44, at);
                    }
                }
                Layer::Connections(client) => {
                    let is_program = names.find(&Layer::Client(client.clone())).is_some();
                    if !is_program && self.layers < LayerRows::Programs {
                        let (kind, prefix) = (RowKind::LayerConnection, "connections\u{a0}");
                        builder.layer(kind, id, prefix, client, 28, level(id));
                    }
                }
                Layer::All
                | Layer::Cache(..)
                | Layer::Stream(..)
                | Layer::Direct(..)
                | Layer::Client(_) => {}
            }
        }
    }

    /// Adds the row of a client program, and that of its connections if the viewer sees the client open.
    fn client_rows(
        &self,
        store: &Store,
        builder: &mut RowBuilder,
        (client, id): (&Text, LayerId),
        indent_px: u8,
        at: Time,
    ) {
        let level = |id| level_at(store, id, at);
        let (kind, prefix) = (RowKind::Layer, "client\u{a0}");
        builder.layer(kind, id, prefix, client, indent_px, level(id));
        if let Some(row) = builder.rows.rows.last_mut() {
            row.finding =
                self.worst_finding(store, |finding| finding.client.as_ref() == Some(client));
        }
        let Some(connections) = store.layer_names().connections_of(client) else {
            return;
        };
        let is_open = self.is_layer_open(store, id);
        if let Some(row) = builder.rows.rows.last_mut() {
            row.expanded = Some(is_open);
        }
        if is_open {
            let (kind, indent_px) = (RowKind::LayerConnection, indent_px + 16);
            builder.layer(
                kind,
                connections,
                "",
                "connection",
                indent_px,
                level(connections),
            );
        }
    }

    /// Adds the streams of an open watch cache, those with the most waiting events first: at most [`STREAMS_MOST`]. The
    /// stream to a client of a crowd has a row only while events wait in its buffer.
    fn stream_rows(
        &self,
        store: &Store,
        builder: &mut RowBuilder,
        (cache, server, resource): (LayerId, u64, &Text),
        at: Time,
    ) {
        let names = store.layer_names();
        let streams = names.streams_from(server, resource);
        if streams.is_empty() {
            return;
        }
        let is_open = self.is_layer_open(store, cache);
        if let Some(row) = builder.rows.rows.last_mut() {
            row.expanded = Some(is_open);
        }
        if !is_open {
            return;
        }
        let mut shown: Vec<(u64, &Text, LayerId)> = Vec::new();
        for (client, id) in streams {
            let Some(level) = level_at(store, id, at) else {
                continue;
            };
            let waiting = level.waiting.events;
            let is_program = names.find(&Layer::Client(client.clone())).is_some();
            let is_there = is_program || level.tone != Tone::Resting;
            if is_there && (waiting > 0 || names.crowd(client).is_none()) {
                shown.push((waiting, client, id));
            }
        }
        tree::sort_by(&mut shown, |one, other| {
            (other.0, one.1).cmp(&(one.0, other.1))
        });
        for (_, client, id) in shown.into_iter().take(STREAMS_MOST) {
            let (kind, prefix) = (RowKind::LayerStream, "stream to\u{a0}");
            builder.layer(kind, id, prefix, client, 60, level_at(store, id, at));
        }
    }
}

impl RowBuilder {
    fn layer(
        &mut self,
        kind: RowKind,
        id: LayerId,
        prefix: &str,
        name: &str,
        indent_px: u8,
        level: Option<&Level>,
    ) {
        let count = level
            .map(|level| level.objects)
            .filter(|&objects| objects > 0);
        let row = self.push(LaneId::Layer(id), kind, false, prefix, name.into(), count);
        row.indent_px = indent_px;
        row.mark = level.and_then(mark_of);
    }
}

/// Returns the mark beside a layer's name: a ghost if it holds any; else `None`.
fn mark_of(level: &Level) -> Option<(Glyph, Token)> {
    (level.ghosts > 0).then_some((Glyph::Ghost, Token::Divergence))
}

/// Returns a layer's level at a time, from the newest epoch that has one.
pub(super) fn level_at(store: &Store, layer: LayerId, at: Time) -> Option<&Level> {
    let epochs = store.epochs().iter().rev();
    epochs
        .filter_map(|epoch| epoch.layer_trace.level_at(layer, at))
        .map(|(_, level)| level)
        .next()
}
