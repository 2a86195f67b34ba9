//! Builds the rows, from top to bottom.

use watchscope_model::id::Extent;
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};

use super::in_view::worst_mark;
use super::kept::Kept;
use super::objects::VisibleObject;
use super::row::{Density, Row, RowKind, Rows};
use crate::format::{count, number};
use crate::glyph::Glyph;
use crate::id::{LaneId, ObjectId, ServerId, WatchId};
use crate::phrases::OWN_REQUESTS;
use crate::store::{ObjectTrace, OwnRequestStep, Store, WatchTrace};
use crate::tokens::Token;

/// Rows under construction.
pub(crate) struct RowBuilder {
    pub(super) density: Density,
    pub(crate) rows: Rows,
}

impl RowBuilder {
    pub(crate) fn push(
        &mut self,
        id: LaneId,
        kind: RowKind,
        diverged: bool,
        prefix: &str,
        name: Text,
        count: Option<u64>,
    ) -> &mut Row {
        let is_compact = self.density != Density::Comfortable;
        let (label, height) = self.density.heights(kind, diverged);
        let glyph_size = match (kind, diverged) {
            (RowKind::Object, false) | (RowKind::LayerStream, _) if is_compact => 10,
            (RowKind::LayerStream, _) => 10,
            (RowKind::Object, true) if !is_compact => 14,
            _ => 12,
        };
        let indent_px = match kind {
            RowKind::Findings
            | RowKind::Watch
            | RowKind::Strip
            | RowKind::Connection
            | RowKind::Quiet
            | RowKind::OwnRequests => 12,
            RowKind::More | RowKind::Gone => 28,
            _ => 44,
        };
        let y = self.rows.height + label;
        self.rows.height = y + height;
        self.rows.rows.push(Row {
            id,
            kind,
            y,
            label,
            height,
            glyph_size,
            indent_px,
            prefix: prefix.into(),
            name,
            count,
            expanded: None,
            mark: None,
            finding: None,
            diverged,
            pinned: false,
        });
        self.rows.rows.last_mut().expect("a row was just pushed")
    }

    pub(super) fn findings(&mut self, store: &Store, (left, right): (Time, Time), is_needed: bool) {
        let spans = store
            .epochs()
            .iter()
            .flat_map(|epoch| epoch.trace.findings.all());
        // Counted as the panel does: findings of one row of the catalogue are one.
        let (mut codes, mut worst): (Vec<&Text>, _) = (Vec::new(), Severity::Unknown);
        for span in spans.filter(|span| span.start.at <= right && span.end_at(right) >= left) {
            if !codes.contains(&&span.what.code) {
                codes.push(&span.what.code);
            }
            worst = worst.worse(span.what.severity);
        }
        if codes.is_empty() && (!is_needed || store.names().watches_by_name().is_empty()) {
            return;
        }
        let row = self.push(
            LaneId::Findings,
            RowKind::Findings,
            false,
            "",
            "Findings".into(),
            Some(codes.len() as u64),
        );
        row.mark = match worst {
            Severity::Divergence => Some((Glyph::Ghost, Token::Divergence)),
            Severity::Error => Some((Glyph::Error, Token::Error)),
            _ => None,
        };
    }

    /// Adds the row of watchscope's own requests. This row is the last, because it is not about the cluster.
    pub(super) fn own_requests(&mut self, store: &Store) {
        let own_requests = store
            .epochs()
            .iter()
            .flat_map(|epoch| &epoch.trace.own_requests);
        let sent = own_requests
            .filter(|request| request.step == OwnRequestStep::Sent)
            .count();
        let (id, kind) = (LaneId::OwnRequests, RowKind::OwnRequests);
        self.push(id, kind, false, "", OWN_REQUESTS.into(), Some(sent as u64));
    }

    /// Adds the row of the connections to a server, named by the number of the open connection.
    pub(super) fn connection(&mut self, store: &Store, server: ServerId) {
        let remote = store.names().server_name(server);
        let open = store
            .state()
            .into_iter()
            .flat_map(|state| &state.connections);
        let mut open = open.filter(|(_, connection)| connection.remote == *remote);
        let name = match (open.next(), open.next()) {
            (Some((id, _)), None) => format!("conn {id} → {remote}"),
            _ => format!("connections → {remote}"),
        };
        let (id, kind) = (LaneId::Connection(server), RowKind::Connection);
        self.push(id, kind, false, "", name.into(), None);
    }

    /// Adds the row that stands for a watch's objects without rows of their own.
    pub(super) fn more(&mut self, watch: WatchId, kept: &Kept, is_whole: bool) {
        let name = if is_whole {
            format!("only {}", kept.most())
        } else {
            format!("and {} more", number(kept.others as u64))
        };
        let (id, kind) = (LaneId::More(watch), RowKind::More);
        let row = self.push(id, kind, false, "", name.into(), None);
        row.expanded = Some(is_whole);
    }

    /// Adds the row of the quiet watches that have no rows, or had none until the viewer opened them.
    pub(super) fn quiet(&mut self, folded: usize, is_open: bool) {
        let name = if is_open {
            "fewer quiet watches".to_owned()
        } else {
            format!("and {}", count(folded as u64, "quiet watch"))
        };
        let (id, kind) = (LaneId::Quiet, RowKind::Quiet);
        let row = self.push(id, kind, false, "", name.into(), None);
        row.expanded = Some(is_open);
    }

    pub(super) fn watch(
        &mut self,
        store: &Store,
        watch: WatchId,
        traces: &[&WatchTrace],
        expanded: bool,
        (left, right): (Time, Time),
    ) -> &mut Row {
        let name = store.names().watch_name(watch);
        let rest = name.resource();
        let prefix = match name.namespace() {
            namespace if name.extent() == Extent::Cluster || namespace.is_empty() => String::new(),
            namespace => format!("{namespace}/"),
        };
        let count = traces
            .iter()
            .map(|trace| trace.objects.iter().map(ObjectTrace::changes).sum::<u64>())
            .sum();
        let mark = worst_mark(traces, left, right);
        // If a watch is pinned to a server, only the server distinguishes it from other watches of the same name.
        let server = traces.iter().find_map(|trace| trace.server.as_ref());
        let rest = match server {
            Some(server) => format!("{rest} to {server}"),
            None => rest.to_owned(),
        };
        let kind = if expanded {
            RowKind::Watch
        } else {
            RowKind::Strip
        };
        let row = self.push(
            LaneId::Watch(watch),
            kind,
            false,
            &prefix,
            rest.into(),
            Some(count),
        );
        row.expanded = Some(expanded);
        row.mark = mark;
        row
    }

    pub(super) fn object(
        &mut self,
        store: &Store,
        watch: WatchId,
        found: &VisibleObject,
    ) -> &mut Row {
        let &VisibleObject {
            object,
            mark,
            count,
            ..
        } = found;
        let place = store.names().object_at(watch, object);
        let prefix = namespace_before(store, watch, object);
        let lane = LaneId::Object(watch, object);
        let row = self.push(
            lane,
            RowKind::Object,
            mark.is_some(),
            &prefix,
            place.name.clone(),
            Some(count),
        );
        row.mark = mark;
        row
    }

    /// Adds the row of an object that stands apart from its watch; its name then says the watch.
    pub(super) fn object_apart(
        &mut self,
        store: &Store,
        watch: WatchId,
        found: &VisibleObject,
        in_namespace: bool,
    ) -> &mut Row {
        let name = store.names().watch_name(watch);
        let prefix = match in_namespace {
            true => format!("{} ", name.resource()),
            false => format!("{name} "),
        };
        let row = self.object(store, watch, found);
        row.indent_px = 28;
        row.prefix = prefix.into();
        row
    }

    /// Adds the row of a watch's objects that are gone, or that nobody watches any longer. It names a single one.
    pub(super) fn gone(
        &mut self,
        store: &Store,
        watch: WatchId,
        gone: &[ObjectId],
        is_unwatched: bool,
        is_open: bool,
    ) {
        let what = if is_unwatched {
            "no longer watched"
        } else {
            "gone"
        };
        let name = match *gone {
            [object] => {
                let place = store.names().object_at(watch, object);
                let before = namespace_before(store, watch, object);
                format!("{before}{}, {what}", place.name)
            }
            _ => format!("{} {what}", number(gone.len() as u64)),
        };
        let (id, kind) = (LaneId::Gone(watch), RowKind::Gone);
        let row = self.push(id, kind, false, "", name.into(), None);
        row.expanded = Some(is_open);
        let folded = if is_unwatched {
            &mut self.rows.unwatched
        } else {
            &mut self.rows.gone
        };
        if !is_open {
            *folded += gone.len();
        }
        let gone = gone.iter().map(|&object| (watch, object));
        self.rows.gone_of.extend(gone);
    }
}

/// Returns the namespace of an object with a slash, where its watch has several; else nothing.
fn namespace_before(store: &Store, watch: WatchId, object: ObjectId) -> String {
    let has_all = store.names().watch_name(watch).extent() == Extent::All;
    match &store.names().object_at(watch, object).namespace {
        Some(namespace) if has_all => format!("{namespace}/"),
        _ => String::new(),
    }
}
