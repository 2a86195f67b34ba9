//! A record's seq and time, as the start of a state.

use serde::ser::SerializeMap;

use crate::codec::{Reader, Writer};
use crate::event::Record;
use crate::field::Field;
use crate::id::Seq;
use crate::rewrite::{Rewrite, Rewriter};
use crate::time::Time;

/// The seq and time of a record, such as the record since which a state holds. Moments sort by seq, then time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The record's seq.
    pub seq: Seq,
    /// The record's time; never before that of a lower seq of the same epoch.
    pub at: Time,
}

impl From<&Record> for Moment {
    fn from(record: &Record) -> Self {
        Self {
            seq: record.seq,
            at: record.at,
        }
    }
}

impl serde::Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("at", &self.at)?;
        map.end()
    }
}

impl Rewrite for Moment {
    fn rewrite(&mut self, _with: &mut dyn Rewriter) {}
}

impl Field for Moment {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.seq_before(self.seq);
        writer.time(self.at);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            seq: reader.seq_before(),
            at: reader.time(),
        }
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, self)
    }
}
