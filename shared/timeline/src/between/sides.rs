//! What each side held at a moment: etcd, the caches of the apiservers, the watch, the clients.

use std::sync::Arc;

use watchscope_model::belief::Belief;
use watchscope_model::id::Place;
use watchscope_model::layers::Stock;
use watchscope_model::vocabulary::{ClientPhase, Divergence};
use watchscope_model::{Object, Text, WatchName};

use super::folds::{Folds, divergence, has_listed};
use crate::levels::{namespace_of, selects};

/// The most clients that are compared, which bounds the columns: the first by name at B. The others are left out. The
/// number has no source.
pub const CLIENTS_MOST: usize = 4;

/// A side that may hold an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// etcd. Of a real cluster it is known by the watch and its verdicts.
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
    /// It held the object, at some version.
    Held,
    /// It did not; nor does a client that has ended.
    NotHeld,
    /// It held the object, and a second read confirmed that etcd did not, though the row's watch held it.
    Ghost,
    /// It is a client that does not watch the object's resource or namespace.
    NotWatched,
    /// No record can tell.
    Unknown,
}

impl Holding {
    fn of(is_held: bool) -> Self {
        if is_held { Self::Held } else { Self::NotHeld }
    }
}

/// Returns all sides of two moments; at most [`CLIENTS_MOST`] clients.
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

/// Returns what a side held of an object of a watch.
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

/// Returns the resource of a watch without its selectors.
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

/// Returns what etcd held. A simulated cluster says so itself. Of a real one, an open stream and confirmed verdicts
/// tell; within a gap and before the first stream nothing does.
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

/// Returns what a client reported. A report need not name all objects, and a client with a selector may lack others.
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
