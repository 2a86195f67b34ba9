//! Draws the revision up to which a client program of a lesson knows everything: the one from which it would resume.

use crate::draw::{Drawer, EpochView, Ways};
use crate::id::LayerId;
use crate::lanes::Row;

/// The fewest revisions of etcd in view for which a client's progress is drawn. With fewer, the numbers at the writes
/// tell it, and the line would cross them. The number has no source.
const REVISIONS_LEAST: u64 = 50;

impl Drawer<'_> {
    /// Draws a client's progress in a lesson, on etcd's scale: a flat line stays behind, and each bookmark raises it.
    /// A client that keeps no revision, or has ended, has no such line.
    pub(super) fn progress(&mut self, row: &Row, epoch: EpochView<'_>, id: LayerId) {
        if !matches!(self.picture.ways, Ways::Lesson | Ways::Covered) {
            return;
        }
        let points = self.shown(epoch.layers, id);
        let level = points.last().map(|point| &point.level);
        let keeps = level.filter(|level| {
            level.client.is_some() && !level.keeps_no_revision && !level.has_ended()
        });
        let (Some(_), Some(scale)) = (keeps, self.layer_scale(row)) else {
            return;
        };
        if scale.high - scale.low < REVISIONS_LEAST {
            return;
        }
        if let Some(line) = self.line_of_layer(epoch, id) {
            self.version_line(&line, scale, None);
        }
    }
}
