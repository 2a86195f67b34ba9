//! The metrics of one moment as plain data, and their text in both forms that scrapers read.
//!
//! `prometheus-client` writes OpenMetrics. The older text form, which every scraper reads and people see with curl, is made
//! from it line by line. In the older form a counter's family has the name of its series, and no line marks the end.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use watchscope_model::Text;

use super::families::{self, Family, Kind};
use super::histogram::Histogram;

/// The samples of one moment, by family.
///
/// Bounded by the possible labels: about 70 series for each of at most
/// [`MAX_RESOURCES`](super::tally::MAX_RESOURCES) resources, and a few hundred others.
#[derive(Debug, Default)]
pub(crate) struct Exposition(BTreeMap<&'static str, (&'static Family, Vec<Sample>)>);

#[derive(Debug)]
struct Sample {
    labels: Vec<Label>,
    value: Value,
}

/// The value of a label.
#[derive(Clone, Debug)]
pub(crate) enum Label {
    /// A word of a closed list.
    Word(&'static str),
    /// The name of the log, or of a watched resource.
    Name(Text),
}

/// The value of a sample.
#[derive(Debug)]
pub(crate) enum Value {
    /// The value of a counter, or of a gauge that counts things.
    Count(u64),
    /// The value of any other gauge.
    Level(f64),
    /// The value of a histogram.
    Sizes(Histogram),
}

impl Exposition {
    /// Adds a sample. `labels` has one value for each of the family's labels.
    pub(crate) fn add<const N: usize>(
        &mut self,
        family: &'static Family,
        labels: [Label; N],
        value: impl Into<Value>,
    ) {
        debug_assert_eq!(family.labels.len(), N, "labels of {}", family.name);
        let (_, samples) = self
            .0
            .entry(family.name)
            .or_insert_with(|| (family, Vec::new()));
        samples.push(Sample {
            labels: labels.to_vec(),
            value: value.into(),
        });
    }

    /// Returns the text as OpenMetrics 1.0.
    pub(crate) fn open_metrics(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry).expect("writing to a String does not fail");
        text
    }
}

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (family, samples) in self.0.values() {
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
                Kind::Info => MetricType::Info,
            };
            let name = family.open_metrics_name();
            let mut encoder = encoder.encode_descriptor(name, family.help, None, kind)?;
            for sample in samples {
                let labels: Vec<(&str, &str)> = family
                    .labels
                    .iter()
                    .copied()
                    .zip(sample.labels.iter().map(Label::as_str))
                    .collect();
                if family.kind == Kind::Info {
                    encoder.encode_info(&labels)?;
                } else if labels.is_empty() {
                    sample.value.encode(family.kind, &mut encoder)?;
                } else {
                    let mut encoder = encoder.encode_family(&labels)?;
                    sample.value.encode(family.kind, &mut encoder)?;
                }
            }
        }
        Ok(())
    }
}

impl Value {
    fn encode(&self, kind: Kind, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
        match (self, kind) {
            (Self::Count(count), Kind::Counter) => {
                encoder.encode_counter::<NoLabelSet, _, f64>(count, None)
            }
            (Self::Count(count), _) => encoder.encode_gauge(count),
            (Self::Level(level), _) => encoder.encode_gauge(level),
            (Self::Sizes(sizes), _) => encoder.encode_histogram::<NoLabelSet>(
                sizes.sum_s(),
                sizes.count(),
                &sizes.buckets(),
                None,
            ),
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Value {
    fn from(level: f64) -> Self {
        Self::Level(level)
    }
}

impl From<&Histogram> for Value {
    fn from(sizes: &Histogram) -> Self {
        Self::Sizes(sizes.clone())
    }
}

impl Label {
    fn as_str(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Name(name) => name,
        }
    }
}

impl From<&'static str> for Label {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl From<&Text> for Label {
    fn from(name: &Text) -> Self {
        Self::Name(name.clone())
    }
}

/// Converts an OpenMetrics text of ours into the text form 0.0.4.
pub(crate) fn plain(open_metrics: &str) -> String {
    let mut plain = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            plain.push_str(line);
            plain.push('\n');
            continue;
        };
        let mut words = comment.splitn(3, ' ');
        if let (Some(what), Some(name), Some(rest)) = (words.next(), words.next(), words.next()) {
            let family = families::of_open_metrics_name(name);
            let name = family.map_or(name, |family| family.name);
            let rest = if what == "TYPE" && rest == "info" {
                "gauge"
            } else {
                rest
            };
            plain.push_str(&format!("# {what} {name} {rest}\n"));
        }
    }
    plain
}
