//! The charts of an export: measured from its records, and drawn.

use thiserror::Error;
use watchscope_charts::{Chart, ChartError, Frame, Span, draw};
use watchscope_model::Time;
use watchscope_model::codec::DecodeError;
use watchscope_timeline::{Scene, Theme, svg};

use crate::measured::{Audits, Ends, Events, Gaps, Lags, Lists, Lives, Scope, Versions};
use crate::taken::{Says, Taken};

/// A chart as SVG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnChart {
    /// The name of the chart's file without the ending, such as `life-of-streams`; a chart has the same name in every
    /// export.
    pub name: &'static str,
    /// The chart's title: a sentence that states what the chart shows. A title may have names from a cluster, so it is
    /// hostile text.
    pub title: String,
    /// The chart as SVG.
    pub svg: String,
}

/// Why charts could not be drawn.
#[derive(Debug, Error)]
pub enum ChartsError {
    /// A frame of the log cannot be read.
    #[error("reading the log: {0}")]
    Frame(#[from] DecodeError),
    /// A chart could not be drawn.
    #[error("drawing the chart {name}: {source}")]
    Draw {
        /// The chart's name.
        name: &'static str,
        /// The drawing error.
        source: ChartError,
    },
}

/// Draws all eight charts of an export, in the order of a report. The charts' time axes show `taken.from` to
/// `taken.to`, at least 1 µs; the chart of gaps has no time axis. A grey band marks `reported`, if it differs from the
/// time axes; `None` draws no band. A chart without numbers is drawn, too, and says so. Of `says`, only the time zone
/// is used. A chart has at most 122 buckets of time. A chart keeps separate numbers for at most 256 watches or other
/// names; the numbers of further names are added up or left out.
///
/// # Errors
/// If a frame cannot be read, or a chart cannot be drawn.
pub fn charts(
    taken: &Taken,
    reported: Option<(Time, Time)>,
    says: &Says<'_>,
    theme: Theme,
) -> Result<Vec<DrawnChart>, ChartsError> {
    let reported = reported.map(|(from, to)| Span { from, to });
    let scope = Scope::of(taken, reported, says.zone_offset_min)?;
    let charts = measured(taken, &scope)?;
    let drawn = charts.into_iter().map(|(name, chart)| {
        let scene = scene(&chart, &scope.frame);
        let scene = scene.map_err(|source| ChartsError::Draw { name, source })?;
        Ok(DrawnChart {
            name,
            title: chart.title,
            svg: svg::svg(&scene, theme),
        })
    });
    drawn.collect()
}

/// Draws a chart; it fails as [`draw`] does.
fn scene(chart: &Chart, frame: &Frame) -> Result<Scene, ChartError> {
    draw(chart, frame)
}

/// Measures the data of all charts; each chart comes with the name of its file. It fails if a frame cannot be read.
fn measured(taken: &Taken, scope: &Scope) -> Result<[(&'static str, Chart); 8], DecodeError> {
    let (mut lives, mut ends) = (Lives::new(scope), Ends::new(scope));
    let (mut events, mut gaps) = (Events::new(scope), Gaps::default());
    let (mut lags, mut lists) = (Lags::new(scope), Lists::new(scope));
    let (mut versions, mut audits) = (Versions::new(scope), Audits::new(scope));
    scope.read(
        taken,
        &mut [
            &mut lives,
            &mut ends,
            &mut events,
            &mut gaps,
            &mut lags,
            &mut lists,
            &mut versions,
            &mut audits,
        ],
    )?;
    Ok([
        ("life-of-streams", lives.chart(scope)),
        ("ends-by-cause", ends.chart(scope)),
        ("rate-of-events", events.chart(scope)),
        ("gaps", gaps.chart(scope)),
        ("lag-of-servers", lags.chart(scope)),
        ("time-of-lists", lists.chart(scope)),
        ("speed-of-versions", versions.chart(scope)),
        ("audit-requests", audits.chart(scope)),
    ])
}
