//! Commands with which a person asks a cluster again what a finding rests on. They read and change nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use watchscope_model::codec::DecodeError;
use watchscope_model::id::Place;
use watchscope_model::{Entry, Event, Object, ResourceVersion, WatchName};
use watchscope_recording::Watched;

use crate::taken::Taken;

/// The most gaps and objects of a watch for which there are commands: those that came first.
const MOST_OF_WATCH: usize = 3;
/// What stands in a path as it is. All else is encoded, so that no name of a cluster means anything to a shell.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What is asked about a watch.
#[derive(Default)]
struct Asked {
    /// From which resourceVersions it could not go on.
    gone: Vec<ResourceVersion>,
    /// Objects that it held otherwise than they were read.
    objects: BTreeSet<Place>,
}

/// The commands, each in a line, with comments; empty where no finding concerns a watch.
///
/// # Errors
/// If a frame cannot be read.
pub(crate) fn commands(taken: &Taken) -> Result<String, DecodeError> {
    let with = taken.watches_with_findings()?;
    let mut asked: BTreeMap<WatchName, Asked> = BTreeMap::new();
    for run in &taken.runs {
        run.read(|entry, _| {
            if let Entry::Record(record) = entry
                && let Some(watch) = record.event.watch().filter(|watch| with.contains(*watch))
            {
                let of = asked.entry(watch.clone()).or_default();
                of.take(&record.event);
            }
        })?;
    }
    let mut out = String::new();
    for name in &with {
        let watched = taken.runs.iter().rev().flat_map(|run| &run.run.of.watches);
        let watched = watched
            .into_iter()
            .find(|watched| *watched.watch == *name.as_str());
        if let Some(watched) = watched {
            let of = asked.remove(name).unwrap_or_default();
            of.write(watched, &mut out);
        }
    }
    Ok(out)
}

impl Asked {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Gap(gap) if !gap.resumed && self.gone.len() < MOST_OF_WATCH => {
                let from = gap.from.iter().filter(|from| !self.gone.contains(from));
                let from: Vec<ResourceVersion> = from.cloned().collect();
                self.gone.extend(from);
            }
            Event::Verdict(verdict) if self.objects.len() < MOST_OF_WATCH => {
                self.objects.insert(Place(verdict.object.clone()));
            }
            _ => {}
        }
    }

    /// Writing to a String does not fail.
    fn write(&self, watched: &Watched, out: &mut String) {
        let path = path(watched, None);
        let selectors = [
            ("labelSelector", &watched.label_selector),
            ("fieldSelector", &watched.field_selector),
        ];
        let selectors = selectors.into_iter().filter_map(|(name, selector)| {
            let selector = encoded(selector.as_deref()?);
            Some(format!("&{name}={selector}"))
        });
        let selectors: String = selectors.collect();
        let resource = encoded(&watched.resource);
        let _ = writeln!(out, "# {resource}: the list, and the list of a watch cache");
        for query in ["limit=500", "resourceVersion=0"] {
            let _ = writeln!(out, "kubectl get --raw '{path}?{query}{selectors}'");
        }
        for version in &self.gone {
            let version = encoded(&version.to_string());
            let _ = writeln!(
                out,
                "# whether its history goes back to {version}: 410 if not\n\
                 kubectl get --raw '{path}?watch=true&timeoutSeconds=5&resourceVersion={version}{selectors}'"
            );
        }
        for Place(object) in &self.objects {
            let path = self::path(watched, Some(object));
            let _ = writeln!(
                out,
                "# whether etcd has it: 404 if not\nkubectl get --raw '{path}'"
            );
        }
    }
}

/// The path of a watch's resource in the API, or of an object of it.
fn path(watched: &Watched, object: Option<&Object>) -> String {
    let Watched {
        group,
        version,
        resource,
        ..
    } = watched;
    let mut path = match group.is_empty() {
        true => format!("/api/{}", encoded(version)),
        false => format!("/apis/{}/{}", encoded(group), encoded(version)),
    };
    let of_object = object.and_then(|object| object.namespace.as_deref());
    if let Some(namespace) = of_object.or(watched.namespace.as_deref()) {
        path += &format!("/namespaces/{}", encoded(namespace));
    }
    path += &format!("/{}", encoded(resource));
    if let Some(object) = object {
        path += &format!("/{}", encoded(&object.name));
    }
    path
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_go_on_and_what_differed_is_asked_again() {
        let watched = Watched {
            watch: "shop/pods".to_owned(),
            group: String::new(),
            version: "v1".to_owned(),
            resource: "pods".to_owned(),
            namespace: Some("shop".to_owned()),
            label_selector: None,
            field_selector: None,
        };
        let cart = Object {
            namespace: Some("shop".into()),
            name: "cart-0".into(),
            uid: watchscope_model::Uid::parse("u"),
        };
        let asked = Asked {
            gone: vec![1214.into()],
            objects: BTreeSet::from([Place(cart.into())]),
        };
        let mut out = String::new();
        asked.write(&watched, &mut out);
        insta::assert_snapshot!(out, @r"
        # pods: the list, and the list of a watch cache
        kubectl get --raw '/api/v1/namespaces/shop/pods?limit=500'
        kubectl get --raw '/api/v1/namespaces/shop/pods?resourceVersion=0'
        # whether its history goes back to 1214: 410 if not
        kubectl get --raw '/api/v1/namespaces/shop/pods?watch=true&timeoutSeconds=5&resourceVersion=1214'
        # whether etcd has it: 404 if not
        kubectl get --raw '/api/v1/namespaces/shop/pods/cart-0'
        ");
    }

    #[test]
    fn no_name_of_a_cluster_leaves_its_quotes() {
        let watched = Watched {
            watch: "w".to_owned(),
            group: "a'; rm -rf ~ #".to_owned(),
            version: "v1".to_owned(),
            resource: "x\n```".to_owned(),
            namespace: Some("$(id)".to_owned()),
            label_selector: Some("a in (b, c)".to_owned()),
            field_selector: None,
        };
        let mut out = String::new();
        Asked::default().write(&watched, &mut out);
        insta::assert_snapshot!(out, @r"
        # x%0A%60%60%60: the list, and the list of a watch cache
        kubectl get --raw '/apis/a%27%3B%20rm%20-rf%20~%20%23/v1/namespaces/%24%28id%29/x%0A%60%60%60?limit=500&labelSelector=a%20in%20%28b%2C%20c%29'
        kubectl get --raw '/apis/a%27%3B%20rm%20-rf%20~%20%23/v1/namespaces/%24%28id%29/x%0A%60%60%60?resourceVersion=0&labelSelector=a%20in%20%28b%2C%20c%29'
        ");
    }
}
