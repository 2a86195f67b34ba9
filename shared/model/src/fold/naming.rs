//! The JSON form of the fold: one line per thing, with its type and its name.

use serde::ser::SerializeMap;

use super::state::State;
use crate::field::Fields;
use crate::json::push_line;

/// One line of the state's JSON form.
pub(crate) struct StateLine<'a, I, T> {
    pub(crate) type_name: &'static str,
    pub(crate) id: Option<I>,
    pub(crate) value: &'a T,
}

/// A thing of a line that writes the entries that name it.
pub(crate) trait Naming {
    fn entry<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl<T: serde::Serialize> Naming for (&'static str, &T) {
    fn entry<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(self.0, self.1)
    }
}

impl<A: Naming, B: Naming> Naming for (A, B, ()) {
    fn entry<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.entry(map)?;
        self.1.entry(map)
    }
}

impl Naming for &str {
    fn entry<M: SerializeMap>(&self, _map: &mut M) -> Result<(), M::Error> {
        Ok(())
    }
}

impl<I: Naming, T: Fields> serde::Serialize for StateLine<'_, I, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.type_name)?;
        if let Some(id) = &self.id {
            id.entry(&mut map)?;
        }
        self.value.entries(&mut map)?;
        map.end()
    }
}

impl State {
    /// Appends the fold as JSON lines. First comes the cluster, if it answered. After it come a line for each
    /// connection, a line for each watch followed by its objects, and a line for each finding. Lines of each kind are
    /// sorted by key, and objects by namespace and name. `seq`, `at`, `lost` and the clock's offset have no line.
    pub fn json_lines(&self, out: &mut Vec<u8>) {
        if let Some(cluster) = &self.cluster {
            push_line(
                &StateLine {
                    type_name: "cluster",
                    id: None::<&str>,
                    value: cluster,
                },
                out,
            );
        }
        for (id, connection) in &self.connections {
            push_line(
                &StateLine {
                    type_name: "connection",
                    id: Some(("connection", id)),
                    value: connection,
                },
                out,
            );
        }
        for (name, watch) in &self.watches {
            push_line(
                &StateLine {
                    type_name: "watch",
                    id: Some(("watch", name)),
                    value: watch,
                },
                out,
            );
            for held in watch.objects.sorted() {
                push_line(
                    &StateLine {
                        type_name: "object",
                        id: Some(("watch", name)),
                        value: held,
                    },
                    out,
                );
            }
        }
        for open in self.findings.values() {
            push_line(
                &StateLine {
                    type_name: "finding",
                    id: None::<&str>,
                    value: open,
                },
                out,
            );
        }
    }
}
