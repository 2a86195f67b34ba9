//! What each side held at a moment: etcd, the caches of the apiservers, the watch, the clients.

use std::sync::Arc;

use watchscope_model::belief::Belief;
use watchscope_model::id::Place;
use watchscope_model::layers::Stock;
use watchscope_model::vocabulary::{ClientPhase, Divergence};
use watchscope_model::{Object, Text, WatchName};

use super::folds::{Folds, divergence, has_listed};
use crate::levels::{namespace_of, selects};

/// The most clients that are compared, which bounds the columns: the first by name of those that exist at B. Other
/// clients are left out. The number has no source.
pub const CLIENTS_MOST: usize = 4;

/// A side of the comparison, which may hold an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// etcd. In a real cluster, its content is known only from the watch and its verdicts.
    Etcd,
    /// The watch cache of an apiserver of a simulated cluster, by the server's number.
    Cache(u64),
    /// The watch of the row.
    Watch,
    /// A client program of a simulated cluster, by its name.
    Client(Text),
}

/// What a side held of an object at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The side held the object, at some resourceVersion.
    Held,
    /// The side did not hold the object. A client that has ended holds nothing.
    NotHeld,
    /// The side held the object, and a confirmed verdict on the row's watch says that it is a ghost: etcd did not have
    /// it.
    Ghost,
    /// The side is a client that does not watch the object's resource or namespace.
    NotWatched,
    /// No record says whether the side held the object.
    Unknown,
}

impl Holding {
    fn of(is_held: bool) -> Self {
        if is_held { Self::Held } else { Self::NotHeld }
    }
}

/// Returns all sides that exist at two moments; at most [`CLIENTS_MOST`] clients, and only clients that exist at B.
pub(super) fn sides_of(a: Folds<'_>, b: Folds<'_>) -> Vec<Side> {
    let mut sides = vec![Side::Etcd];
    let servers = |folds: Folds<'_>| folds.layers.servers.keys().copied().collect::<Vec<u64>>();
    let mut caches = servers(b);
    caches.extend(
        servers(a)
            .into_iter()
            .filter(|id| !b.layers.servers.contains_key(id)),
    );
    sides.extend(caches.into_iter().map(Side::Cache));
    sides.push(Side::Watch);
    let clients = b.layers.clients.keys().take(CLIENTS_MOST);
    sides.extend(clients.cloned().map(Side::Client));
    sides
}

/// Returns whether a side held an object of a watch at a moment.
pub(super) fn holding(
    side: &Side,
    folds: Folds<'_>,
    watch: &WatchName,
    object: &Arc<Object>,
) -> Holding {
    let held = match side {
        Side::Etcd => in_etcd(folds, watch, object),
        Side::Cache(server) => {
            let caches = folds
                .layers
                .servers
                .get(server)
                .map(|server| &server.caches);
            let cache = caches.and_then(|caches| caches.get(resource_of(watch)));
            cache.map_or(Holding::Unknown, |cache| in_stock(&cache.objects, object))
        }
        Side::Watch => match folds.state.watches.get(watch) {
            Some(watch) if has_listed(watch) => Holding::of(watch.objects.get(object).is_some()),
            _ => Holding::Unknown,
        },
        Side::Client(name) => in_client(folds, name, watch, object),
    };
    let watch = folds.state.watches.get(watch);
    let is_ghost = watch.and_then(|watch| divergence(watch, object)) == Some(Divergence::Ghost);
    if is_ghost && held == Holding::Held && *side != Side::Etcd {
        Holding::Ghost
    } else {
        held
    }
}

/// Returns the resource in a watch's name, without the selectors.
fn resource_of(watch: &WatchName) -> &str {
    watch.resource().split('?').next().unwrap_or_default()
}

fn in_stock(stock: &Stock, object: &Arc<Object>) -> Holding {
    match stock.get(object) {
        Some(_) => Holding::Held,
        None if stock.unnamed() > 0 => Holding::Unknown,
        None => Holding::NotHeld,
    }
}

/// Returns whether etcd held an object. A simulated cluster reports it. In a real cluster, confirmed verdicts say it,
/// and otherwise what the watch holds while its stream is open. Within a gap and without a stream it is unknown.
fn in_etcd(folds: Folds<'_>, watch: &WatchName, object: &Arc<Object>) -> Holding {
    if let Some(etcd) = &folds.layers.etcd {
        let stock = etcd.objects.get(resource_of(watch));
        return stock.map_or(Holding::NotHeld, |stock| in_stock(stock, object));
    }
    let Some(watch) = folds.state.watches.get(watch) else {
        return Holding::Unknown;
    };
    match divergence(watch, object) {
        Some(Divergence::Ghost) => Holding::NotHeld,
        Some(Divergence::Missing) => Holding::Held,
        _ if watch.stream.is_none() || watch.gap.is_some() => Holding::Unknown,
        _ => Holding::of(watch.objects.get(object).is_some()),
    }
}

/// Returns whether a client held an object, by its own report. If the report need not name all objects, or the client
/// has a selector, an object that it does not name is unknown.
fn in_client(folds: Folds<'_>, name: &Text, watch: &WatchName, object: &Arc<Object>) -> Holding {
    let Some(client) = folds.layers.clients.get(name) else {
        return Holding::Unknown;
    };
    if ClientPhase::of(&client.phase).has_ended() {
        return Holding::NotHeld;
    }
    let Some(belief) = client.belief.as_deref() else {
        return Holding::Unknown;
    };
    let request = client.request.as_deref().unwrap_or_default();
    let namespace = namespace_of(request);
    let is_elsewhere = !namespace.is_empty() && object.namespace.as_deref() != Some(namespace);
    let beliefs = Belief::read(belief);
    let mut parts = beliefs
        .iter()
        .filter(|belief| &*belief.resource == resource_of(watch))
        .peekable();
    if is_elsewhere || parts.peek().is_none() {
        return Holding::NotWatched;
    }
    let place = Place(object.clone());
    let (mut is_held, mut is_whole) = (false, !selects(request));
    for belief in parts {
        is_held |= belief
            .held
            .iter()
            .any(|held| Place(held.object.clone()) == place);
        is_whole &= belief.names_all();
    }
    match (is_held, is_whole) {
        (true, _) => Holding::Held,
        (false, true) => Holding::NotHeld,
        (false, false) => Holding::Unknown,
    }
}
