//! Commands with which a person checks the evidence of a finding. The commands only read from the cluster.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use watchscope_model::codec::DecodeError;
use watchscope_model::id::Place;
use watchscope_model::options::ListOptions;
use watchscope_model::request::{collection_path, percent_encode};
use watchscope_model::{Event, ResourceVersion, WatchName};
use watchscope_recording::Watched;

use crate::taken::Taken;

/// The most commands for lost gaps of a watch, and the most for its objects with a verdict, so that a person can run
/// all. The first resourceVersions and objects get a command. Gaps from the same resourceVersion share one; a gap from
/// an unknown one gets none. The number has no source.
const MOST_OF_WATCH: usize = 3;
/// The checks of one watch.
#[derive(Default)]
struct WatchChecks {
    /// The resourceVersions from which the watch could not resume.
    gone: Vec<ResourceVersion>,
    /// Objects that differed between a read of the audit and the watch.
    objects: BTreeSet<Place>,
}

/// The checks of all watches, collected event by event.
#[derive(Default)]
pub(crate) struct ByHand(BTreeMap<WatchName, WatchChecks>);

impl ByHand {
    /// Collects the checks that an event gives reason for.
    pub(crate) fn take(&mut self, event: &Event) {
        if let (Event::Gap(_) | Event::Verdict(_), Some(watch)) = (event, event.watch()) {
            self.0.entry(watch.clone()).or_default().take(event);
        }
    }

    /// Returns the commands, one per line, with comments; an empty text if no finding names a watch of the export.
    ///
    /// # Errors
    /// If a frame cannot be read.
    pub(crate) fn commands(mut self, taken: &Taken) -> Result<String, DecodeError> {
        let mut out = String::new();
        for name in taken.watches_with_findings()? {
            let mut watched = taken.runs.iter().rev().flat_map(|run| &run.run.of.watches);
            if let Some(watched) = watched.find(|watched| *watched.watch == *name.as_str()) {
                let checks = self.0.remove(&name).unwrap_or_default();
                checks.write(watched, &mut out);
            }
        }
        Ok(out)
    }
}

impl WatchChecks {
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

    /// Writes the commands of one watch; writing to a String does not fail.
    fn write(&self, watched: &Watched, out: &mut String) {
        let path = collection(watched, watched.namespace.as_deref());
        let selected = ListOptions {
            label_selector: watched.label_selector.as_deref().map(Cow::Borrowed),
            field_selector: watched.field_selector.as_deref().map(Cow::Borrowed),
            ..ListOptions::default()
        };
        let mut ask = |comment: &str, path: &str, options: &[ListOptions<'_>]| {
            let _ = writeln!(out, "# {comment}");
            for options in options {
                let _ = writeln!(out, "kubectl get --raw '{path}?{}'", options.query());
            }
        };
        let whole = ListOptions {
            limit: Some(500),
            ..selected.clone()
        };
        let from = |version: Cow<'static, str>| ListOptions {
            version: Some(version),
            ..selected.clone()
        };
        let resource = encoded(&watched.resource);
        ask(
            &format!("{resource}: the list, and the list of a watch cache"),
            &path,
            &[whole, from("0".into())],
        );
        for version in &self.gone {
            let stream = ListOptions {
                watch: true,
                timeout_s: Some(5),
                ..from(version.to_string().into())
            };
            let version = encoded(&version.to_string());
            let comment = format!("whether its history goes back to {version}: 410 if not");
            ask(&comment, &path, &[stream]);
        }
        for Place(object) in &self.objects {
            let namespace = object.namespace.as_deref();
            let path = collection(watched, namespace.or(watched.namespace.as_deref()));
            let name = encoded(&object.name);
            let _ = writeln!(
                out,
                "# whether etcd has it: 404 if not\nkubectl get --raw '{path}/{name}'"
            );
        }
    }
}

/// Returns the URL path of a watch's resource in a namespace; in all namespaces for `None`.
fn collection(watched: &Watched, namespace: Option<&str>) -> String {
    collection_path(
        &watched.group,
        &watched.version,
        namespace,
        &watched.resource,
    )
}

/// Percent-encodes a name for a URL path. The encoding leaves no character that has a meaning to a shell.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    percent_encode(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_resumes_and_differing_objects_have_commands() {
        let watched = Watched {
            watch: "shop/pods".to_owned(),
            group: String::new(),
            version: "v1".to_owned(),
            resource: "pods".to_owned(),
            namespace: Some("shop".to_owned()),
            label_selector: None,
            field_selector: None,
        };
        let cart = watchscope_model::Object {
            namespace: Some("shop".into()),
            name: "cart-0".into(),
            uid: watchscope_model::Uid::parse("u"),
        };
        let checks = WatchChecks {
            gone: vec![1214.into()],
            objects: BTreeSet::from([Place(cart.into())]),
        };
        let mut out = String::new();
        checks.write(&watched, &mut out);
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
        WatchChecks::default().write(&watched, &mut out);
        insta::assert_snapshot!(out, @r"
        # x%0A%60%60%60: the list, and the list of a watch cache
        kubectl get --raw '/apis/a%27%3B%20rm%20-rf%20~%20%23/v1/namespaces/%24%28id%29/x%0A%60%60%60?limit=500&labelSelector=a%20in%20%28b%2C%20c%29'
        kubectl get --raw '/apis/a%27%3B%20rm%20-rf%20~%20%23/v1/namespaces/%24%28id%29/x%0A%60%60%60?resourceVersion=0&labelSelector=a%20in%20%28b%2C%20c%29'
        ");
    }
}
