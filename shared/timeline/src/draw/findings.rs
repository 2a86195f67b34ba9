//! Draws the line of each finding while it is open. The chips of findings are drawn with the records, by `chips.rs`.

use watchscope_model::vocabulary::Severity;

use super::drawer::Drawer;
use super::look::{LEAST, Layer};
use crate::lanes::Row;
use crate::phrases::severity_ink;
use crate::scene::Px;

/// Height of a finding's chip, in px: room for the finding's code. The number has no other source.
pub(super) const CHIP_HEIGHT: Px = Px::whole(14);
/// Distance of a finding's chip from the top edge of the row, in px. The number has no source.
pub(super) const CHIP_TOP: Px = Px::whole(5);

impl Drawer<'_> {
    pub(super) fn findings_row(&mut self, row: &Row) {
        let y = self.y(row) + CHIP_TOP + Px::whole(16);
        let epochs = self.epochs.clone();
        let mut lines: Vec<(Severity, Px, Px)> = Vec::new();
        for epoch in epochs {
            let all = epoch.trace.findings.all();
            let until = all.partition_point(|span| span.start.at <= self.right);
            for span in &all[..until] {
                let end = span.end_at(epoch.end);
                if end < self.left {
                    continue;
                }
                let x0 = self.x(span.start.at);
                let x1 = self.x(end).max(x0 + LEAST);
                lines.push((span.what.severity, x0, x1));
                let ink = severity_ink(span.what.severity);
                self.trails_off(epoch, span, y, ink);
            }
        }
        for severity in Severity::RISING {
            for &(_, x0, x1) in lines.iter().filter(|line| line.0 == severity) {
                let (xs, ys) = ((x0, x1), (y, y + Px::whole(2)));
                self.fill(Layer::Finding, xs, ys, severity_ink(severity));
            }
        }
    }
}
