//! The rows of a simulated cluster's layers: etcd, the apiservers' watch caches, the client programs.

use watchscope_model::{Text, Time};

use super::{Density, Lanes, RowBuilder, RowKind};
use crate::glyph::Glyph;
use crate::id::{LaneId, LayerId};
use crate::store::{Layer, Level, Store};
use crate::tokens::Token;

/// What stands over the layers.
const HEADING: &str = "Inside the cluster";
/// Where there are more client programs than this, their connections show only where they are opened.
const CLIENTS_OPEN_MOST: usize = 8;

impl Lanes {
    /// Opens or closes the rows under a layer.
    pub fn toggle_layer(&mut self, layer: LayerId) {
        match self.toggled_layers.iter().position(|&id| id == layer) {
            Some(place) => {
                self.toggled_layers.swap_remove(place);
            }
            None => self.toggled_layers.push(layer),
        }
    }

    /// Opens or closes the rows under a layer, if there are some.
    pub fn set_layer_open(&mut self, store: &Store, layer: LayerId, is_open: bool) {
        let names = store.layer_names();
        let has_rows = match names.layer(layer) {
            Some(Layer::All | Layer::Server(_)) => true,
            Some(Layer::Client(client)) => names.connections_of(client).is_some(),
            _ => false,
        };
        if has_rows && self.is_layer_open(store, layer) != is_open {
            self.toggle_layer(layer);
        }
    }

    fn is_layer_open(&self, store: &Store, layer: LayerId) -> bool {
        // On a narrow page the watches come first.
        let usually = match store.layer_names().layer(layer) {
            Some(Layer::All) => self.density != Density::Labelled,
            Some(Layer::Client(_)) => {
                let clients = store.layer_names().clients();
                self.density != Density::Labelled && clients <= CLIENTS_OPEN_MOST
            }
            _ => false,
        };
        usually != self.toggled_layers.contains(&layer)
    }

    /// The rows of the layers as they are at a time; none for a cluster that tells nothing of its inside.
    pub(crate) fn layer_rows(&self, store: &Store, builder: &mut RowBuilder, at: Time) {
        let names = store.layer_names();
        let all = names.sorted();
        let Some(heading) = names.find(&Layer::All) else {
            return;
        };
        if !self.filter.terms.is_empty() {
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
                    for &(layer, id) in &all {
                        let Layer::Cache(of, resource) = layer else {
                            continue;
                        };
                        let is_fed = level(id).is_some_and(|level| level.waiting.1 > 0);
                        if of == server && (looked_at.contains(&resource) || (is_open && is_fed)) {
                            let prefix = "cache\u{a0}";
                            builder.layer(RowKind::LayerTrace, id, prefix, resource, 44, level(id));
                        }
                    }
                }
                Layer::Client(client) => {
                    builder.layer(RowKind::Layer, id, "client\u{a0}", client, 28, level(id));
                    let Some(connections) = names.connections_of(client) else {
                        continue;
                    };
                    let is_open = self.is_layer_open(store, id);
                    if let Some(row) = builder.rows.rows.last_mut() {
                        row.expanded = Some(is_open);
                    }
                    if is_open {
                        let kind = RowKind::LayerConnection;
                        builder.layer(kind, connections, "", "connection", 44, level(connections));
                    }
                }
                Layer::Connections(client) => {
                    let is_program = names.find(&Layer::Client(client.clone())).is_some();
                    if !is_program {
                        let (kind, prefix) = (RowKind::LayerConnection, "connections\u{a0}");
                        builder.layer(kind, id, prefix, client, 28, level(id));
                    }
                }
                Layer::All | Layer::Cache(..) => {}
            }
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
        let has_ghosts = level.is_some_and(|level| level.ghosts > 0);
        let count = level
            .map(|level| level.objects)
            .filter(|&objects| objects > 0);
        let row = self.push(LaneId::Layer(id), kind, false, prefix, name.into(), count);
        row.indent_px = indent_px;
        row.mark = has_ghosts.then_some((Glyph::Ghost, Token::Divergence));
    }
}

/// What a layer is like at a time, in whichever epoch.
pub(crate) fn level_at(store: &Store, layer: LayerId, at: Time) -> Option<&Level> {
    let epochs = store.epochs().iter().rev();
    epochs
        .filter_map(|epoch| epoch.layer_trace.level_at(layer, at))
        .map(|(_, level)| level)
        .next()
}
