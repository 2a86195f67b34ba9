//! The table of values that never leave the probe, and the copy that leaves them out.
//!
//! The table takes the names of fields from k8s.io/api `core/v1`, `apps/v1` and `batch/v1`.
//!
//! Values are cut; names of keys and sizes of values stay. A cut value becomes the JSON string `(redacted, N bytes)`,
//! so a redacted body is JSON of the same form.
//!
//! The decoder follows the table while it reads an object, and notes each value to cut as a span of the line. After
//! that the body is copied once, without the noted values. No other code copies a line.

use std::io::Write as _;
use std::ops::Range;

/// The version of the rules below, from 1. The version rises by 1 with every change of the rules. Recordings carry the
/// version, so that a reader knows by which rules their bodies were redacted (docs/recordings.md).
pub const REDACTION_VERSION: u32 = 2;

/// The treatment of the value at a position in an object.
#[derive(Debug)]
pub(crate) enum Rule {
    /// The value is cut.
    Cut,
    /// If the value is an object, all values in it are cut and the keys stay; any other value is cut.
    CutEach,
    /// If the value is an object, these keys have rules of their own and its other values stay. A value of another form
    /// cannot be judged.
    At(&'static [(&'static str, Rule)]),
    /// If the value is an array, the rule holds for each element. A value of another form cannot be judged.
    Each(&'static Rule),
    /// In a value of any form, `env[].value` and the last-applied annotation are cut at any position, also where the
    /// keys of `managedFields` quote them.
    Walk,
    /// A rule that the table uses at several positions.
    As(&'static Rule),
}

/// The annotation in which `kubectl apply` stores the configuration that it applied (`LastAppliedConfigAnnotation` of
/// k8s.io/api `core/v1`). This annotation may hold a copy of any value of the object. So its value is cut in the
/// metadata of each object, pod template and job template. In an object of an unknown kind it is cut at any position.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Annotations: [`LAST_APPLIED`] is cut.
static ANNOTATIONS: Rule = Rule::At(&[(LAST_APPLIED, Rule::Cut)]);
/// `metadata` of a template: [`ANNOTATIONS`] holds for its annotations.
static METADATA: Rule = Rule::At(&[("annotations", Rule::As(&ANNOTATIONS))]);
/// A list of containers: the values of environment variables are cut (`EnvVar` of k8s.io/api `core/v1`).
static CONTAINERS: Rule = Rule::Each(&Rule::At(&[(
    "env",
    Rule::Each(&Rule::At(&[("value", Rule::Cut)])),
)]));
/// `spec` of a pod: the three lists of containers (`PodSpec` of k8s.io/api `core/v1`).
static POD_SPEC: Rule = Rule::At(&[
    ("containers", Rule::As(&CONTAINERS)),
    ("initContainers", Rule::As(&CONTAINERS)),
    ("ephemeralContainers", Rule::As(&CONTAINERS)),
]);
/// A pod template: its `metadata` and `spec` (`PodTemplateSpec` of k8s.io/api `core/v1`).
static TEMPLATE: Rule = Rule::At(&[
    ("metadata", Rule::As(&METADATA)),
    ("spec", Rule::As(&POD_SPEC)),
]);
/// A value with a pod template at `template`.
static TEMPLATED: Rule = Rule::At(&[("template", Rule::As(&TEMPLATE))]);

// The tables begin at the object's own fields. The decoder always reads the `metadata` of the object itself.

/// A Pod.
static POD: Rule = Rule::At(&[("spec", Rule::As(&POD_SPEC))]);
/// An object with a pod template in its `spec`: ReplicationController, Deployment, ReplicaSet, StatefulSet, DaemonSet,
/// Job (k8s.io/api `core/v1`, `apps/v1`, `batch/v1`).
static WORKLOAD: Rule = Rule::At(&[("spec", Rule::As(&TEMPLATED))]);
/// A CronJob: a pod template in the `spec` of its job template (`JobTemplateSpec` of k8s.io/api `batch/v1`).
static CRON_JOB: Rule = Rule::At(&[(
    "spec",
    Rule::At(&[(
        "jobTemplate",
        Rule::At(&[
            ("metadata", Rule::As(&METADATA)),
            ("spec", Rule::As(&TEMPLATED)),
        ]),
    )]),
)]);
/// A Secret: all values in `data` and `stringData` are cut (`Secret` of k8s.io/api `core/v1`).
static SECRET: Rule = Rule::At(&[("data", Rule::CutEach), ("stringData", Rule::CutEach)]);
/// A ConfigMap, if configmaps are redacted: all values in `data` and `binaryData` are cut (`ConfigMap` of k8s.io/api
/// `core/v1`).
static CONFIG_MAP: Rule = Rule::At(&[("data", Rule::CutEach), ("binaryData", Rule::CutEach)]);
/// An object without values to cut outside its `metadata`: an Event of the core group, or a ConfigMap if configmaps are
/// not redacted.
static NOTHING: Rule = Rule::At(&[]);
/// An object of any other kind: it is walked.
static ANY: Rule = Rule::Walk;

/// The rule for the objects of a resource. Kinds with a known form have rules of their own; all others are walked.
pub(crate) fn rule_for(group: &str, kind: &str, redact_configmaps: bool) -> &'static Rule {
    match (group, kind) {
        ("", "Secret") => &SECRET,
        ("", "ConfigMap") if redact_configmaps => &CONFIG_MAP,
        ("", "ConfigMap" | "Event") => &NOTHING,
        ("", "Pod") => &POD,
        ("", "PodTemplate") => &TEMPLATED,
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job") => &WORKLOAD,
        ("batch", "CronJob") => &CRON_JOB,
        _ => &ANY,
    }
}

/// A value to cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The value's range in the text that was read.
    pub(crate) place: Range<usize>,
    /// The value's replacement.
    pub(crate) instead: Instead,
}

/// The replacement of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    /// A string with the value's size in bytes. The size is that of the text for a string, and that of the JSON for
    /// another value.
    Size(usize),
    /// This string: a key in which only a part was cut.
    Key(String),
}

/// Appends `raw` to `out`, with each cut replaced. The cuts are in order and do not overlap; their ranges are in a
/// text in which `raw` begins at `start`.
pub(crate) fn copy_without(raw: &str, start: usize, cuts: &[Cut], out: &mut Vec<u8>) {
    let bytes = raw.as_bytes();
    let mut from = 0;
    for Cut { place, instead } in cuts {
        let cut = place.start - start..place.end - start;
        out.extend_from_slice(&bytes[from..cut.start]);
        // Writing to a Vec does not fail.
        let _ = match instead {
            Instead::Size(size) => write!(out, "\"(redacted, {size} bytes)\""),
            Instead::Key(key) => write!(out, "{}", serde_json::Value::from(key.as_str())),
        };
        from = cut.end;
    }
    out.extend_from_slice(&bytes[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_value_becomes_a_string_with_its_size() {
        let raw = r#"{"a":"abc","b":"x\ny","c":[1,2]}"#;
        let cut = |place: Range<usize>, size| Cut {
            place: place.start + 9..place.end + 9,
            instead: Instead::Size(size),
        };
        let mut out = Vec::new();
        copy_without(
            raw,
            9,
            &[cut(5..10, 3), cut(15..21, 3), cut(26..31, 5)],
            &mut out,
        );
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"a":"(redacted, 3 bytes)","b":"(redacted, 3 bytes)","c":"(redacted, 5 bytes)"}"#
        );
    }
}
