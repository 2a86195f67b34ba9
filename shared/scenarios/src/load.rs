//! The load that a person adds beside a story: `objects=5000,rate=2000`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use watchscope_simulator::{Controllers, Load};

use crate::story::Story;

/// The most objects of a load; more are refused with [`NoLoad::Bounds`]. At an estimate of 2 kB each, 50,000 objects
/// take 100 MB. The numbers have no other source.
const MOST_OBJECTS: u32 = 50_000;
/// The most writes per second of a load; more are refused with [`NoLoad::Bounds`]. It is 100 times the rate of events
/// of pods in a large cluster (docs/semantics/servers.md#load). The factor has no source.
const MOST_PER_SECOND: u32 = 20_000;
/// The number of the load's writes after which etcd is compacted, so that etcd's history stays bounded. A configured
/// interval may compact earlier. A compaction keeps the writes since the compaction before it. So the history holds up
/// to 100,000 writes. At an estimate of 2 kB each, they take about 200 MB. The numbers have no other source.
const WRITES_PER_COMPACTION: u32 = 50_000;
/// The shortest time between two compactions that a load sets; a shorter time is raised to this one. At 25,000 writes a
/// second, more than [`MOST_PER_SECOND`], [`WRITES_PER_COMPACTION`] writes take this time. The number has no other
/// source.
const LEAST_INTERVAL: Duration = Duration::from_secs(2);
/// The namespace of the load if the story shows all namespaces.
const NAMESPACE: &str = "load";
/// The resource of the load's objects.
const RESOURCE: &str = "configmaps";

/// The size of a load: how many objects it has, and how often it writes. Only parsing a size from a text checks the
/// bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadSize {
    /// The number of objects, 1 to 50,000.
    pub objects: u32,
    /// The number of writes per second, 0 to 20,000.
    pub per_second: u32,
}

impl Default for LoadSize {
    /// Returns the default size: 1,000 objects, 100 writes per second.
    fn default() -> Self {
        Self {
            objects: 1_000,
            per_second: 100,
        }
    }
}

/// Why a text is no load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLoad {
    /// A part between commas is neither `objects=…` nor `rate=…`; an empty text has one such part.
    Key {
        /// The part between commas that was given.
        given: String,
    },
    /// A value is missing, is no whole number, or is out of bounds.
    Bounds {
        /// The key of the value: `objects` or `rate`.
        key: &'static str,
        /// The least value that the key takes.
        least: u32,
        /// The greatest value that the key takes.
        most: u32,
        /// The given value; empty if it is missing.
        given: String,
    },
}

impl fmt::Display for NoLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { given } => write!(
                f,
                "{given:?} is neither objects=NUMBER (1 to {MOST_OBJECTS}) nor rate=NUMBER (0 to {MOST_PER_SECOND} a \
                 second)"
            ),
            Self::Bounds {
                key,
                least,
                most,
                given,
            } => write!(
                f,
                "{key} is {given:?}; it is a number from {least} to {most}"
            ),
        }
    }
}

impl std::error::Error for NoLoad {}

impl FromStr for LoadSize {
    type Err = NoLoad;

    /// Parses a text such as `objects=5000,rate=2000`. A missing key has its default; of a key that comes twice the
    /// last value counts.
    ///
    /// # Errors
    /// [`NoLoad`] if a part has another key, or a value is no whole number within its bounds.
    fn from_str(text: &str) -> Result<Self, NoLoad> {
        let mut size = Self::default();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, field, least, most) = match key {
                "objects" => ("objects", &mut size.objects, 1, MOST_OBJECTS),
                "rate" => ("rate", &mut size.per_second, 0, MOST_PER_SECOND),
                _ => {
                    return Err(NoLoad::Key {
                        given: part.to_owned(),
                    });
                }
            };
            let number = value.parse().ok();
            *field = number
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| NoLoad::Bounds {
                    key,
                    least,
                    most,
                    given: value.to_owned(),
                })?;
        }
        Ok(size)
    }
}

/// Why a story takes no load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakesNoLoad {
    /// The story's cluster has no controllers, so nothing but the story happens in the cluster.
    NoControllers,
    /// The story's watches have a label selector, so they would not show the load's objects.
    LabelSelector,
}

impl fmt::Display for TakesNoLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoControllers => {
                "its cluster has no controllers, so it takes no load; the story shop does"
            }
            Self::LabelSelector => {
                "its watches have a label selector and would not show the load; the story shop does"
            }
        })
    }
}

impl std::error::Error for TakesNoLoad {}

impl Story {
    /// Adds a load of configmaps, and a watch of configmaps unless the view has one. The load's configmaps are in the
    /// namespace that the story shows, or in `load` if the story shows all namespaces. The size is not checked. An
    /// earlier load is replaced. The time between two compactions of etcd falls to the time of 50,000 writes, but not
    /// below 2 s; a shorter configured time stays.
    ///
    /// # Errors
    /// [`TakesNoLoad`] if the story's cluster has no controllers, or its watches have a label selector.
    pub fn under_load(mut self, size: LoadSize) -> Result<Self, TakesNoLoad> {
        if self.config.controllers == Controllers::NONE {
            return Err(TakesNoLoad::NoControllers);
        }
        if !self.view.label_selector.is_empty() {
            return Err(TakesNoLoad::LabelSelector);
        }
        let namespace = match self.view.namespace.as_str() {
            "" => NAMESPACE,
            namespace => namespace,
        };
        self.config.workload.load = Some(Load {
            namespace: namespace.to_owned(),
            objects: size.objects,
            per_second: size.per_second,
        });
        let writes = Duration::from_secs(u64::from(WRITES_PER_COMPACTION));
        let interval = (writes / size.per_second.max(1)).max(LEAST_INTERVAL);
        let etcd = &mut self.config.etcd;
        etcd.compaction_interval = etcd.compaction_interval.min(interval);
        if !self.view.resources.iter().any(|shown| shown == RESOURCE) {
            self.view.resources.push(RESOURCE.to_owned());
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        text.parse::<LoadSize>()
            .map_or_else(|error| error.to_string(), |size| format!("{size:?}"))
    }

    #[test]
    fn a_load_is_read_with_its_defaults() {
        let size = |objects, per_second| {
            Ok(LoadSize {
                objects,
                per_second,
            })
        };
        assert_eq!("objects=5000,rate=2000".parse(), size(5_000, 2_000));
        assert_eq!("rate=0".parse(), size(1_000, 0));
        assert_eq!("objects=50000".parse(), size(50_000, 100));
    }

    #[test]
    fn an_unknown_key_and_a_number_out_of_bounds_are_refused_with_the_bounds() {
        insta::assert_snapshot!(refused("objects=5000,speed=3"), @r#""speed=3" is neither objects=NUMBER (1 to 50000) nor rate=NUMBER (0 to 20000 a second)"#);
        insta::assert_snapshot!(refused("objects=0"), @r#"objects is "0"; it is a number from 1 to 50000"#);
        insta::assert_snapshot!(refused("rate=20001"), @r#"rate is "20001"; it is a number from 0 to 20000"#);
        insta::assert_snapshot!(refused("rate"), @r#"rate is ""; it is a number from 0 to 20000"#);
        insta::assert_snapshot!(refused(""), @r#""" is neither objects=NUMBER (1 to 50000) nor rate=NUMBER (0 to 20000 a second)"#);
    }

    #[test]
    fn a_load_is_shown_and_has_etcd_compacted_before_its_history_grows() {
        let size = LoadSize {
            objects: 10,
            per_second: 2_000,
        };
        let story = crate::demo::story().under_load(size).unwrap();
        assert_eq!(story.config.etcd.compaction_interval.as_secs(), 25);
        let most = LoadSize {
            per_second: MOST_PER_SECOND,
            ..size
        };
        let story = crate::demo::story().under_load(most).unwrap();
        assert_eq!(story.config.etcd.compaction_interval.as_millis(), 2_500);
        assert!(story.view.resources.iter().any(|shown| shown == RESOURCE));
        let of_objects = Story {
            config: watchscope_simulator::Config::of_objects(),
            ..crate::demo::story()
        };
        let refused = of_objects.under_load(size).unwrap_err();
        assert_eq!(refused, TakesNoLoad::NoControllers);
    }
}
