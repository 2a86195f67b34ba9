//! What of an object never leaves the probe, as a table, and the copy that leaves it out.
//!
//! Values go, key names and sizes stay: a value becomes the JSON string `(redacted, N bytes)`, so a redacted body is
//! JSON of the same shape. The decoder follows the table while it reads an object and notes each value that must go
//! as a span of the line; the body is then copied once, without them. Nothing else makes a copy of a line.

use std::io::Write as _;
use std::ops::Range;

/// Version of the rules below; rises with every change of them. Recordings carry it.
pub const REDACTION_VERSION: u32 = 2;

/// What to do with the value in some place of an object.
#[derive(Debug)]
pub(crate) enum Rule {
    /// It goes.
    Cut,
    /// If it is an object, all its values go and its keys stay; else it goes.
    CutEach,
    /// In an object, these keys have rules of their own; the rest stays. Anything else cannot be judged.
    At(&'static [(&'static str, Rule)]),
    /// In an array, each element is treated so. Anything else cannot be judged.
    Each(&'static Rule),
    /// Any shape: `env[].value` and the last-applied annotation go wherever they are, also where the keys of
    /// `managedFields` quote them.
    Walk,
    /// A part of the table used in several places.
    As(&'static Rule),
}

/// kubectl keeps a copy of the whole object here, Secrets' values included.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

static ANNOTATIONS: Rule = Rule::At(&[(LAST_APPLIED, Rule::Cut)]);
static METADATA: Rule = Rule::At(&[("annotations", Rule::As(&ANNOTATIONS))]);
static CONTAINERS: Rule = Rule::Each(&Rule::At(&[(
    "env",
    Rule::Each(&Rule::At(&[("value", Rule::Cut)])),
)]));
static POD_SPEC: Rule = Rule::At(&[
    ("containers", Rule::As(&CONTAINERS)),
    ("initContainers", Rule::As(&CONTAINERS)),
    ("ephemeralContainers", Rule::As(&CONTAINERS)),
]);
static TEMPLATE: Rule = Rule::At(&[
    ("metadata", Rule::As(&METADATA)),
    ("spec", Rule::As(&POD_SPEC)),
]);
static TEMPLATED: Rule = Rule::At(&[("template", Rule::As(&TEMPLATE))]);

// The tables begin at the object's own fields; `metadata` of the object itself is always read, by the decoder.
static POD: Rule = Rule::At(&[("spec", Rule::As(&POD_SPEC))]);
static WORKLOAD: Rule = Rule::At(&[("spec", Rule::As(&TEMPLATED))]);
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
static SECRET: Rule = Rule::At(&[("data", Rule::CutEach), ("stringData", Rule::CutEach)]);
static CONFIG_MAP: Rule = Rule::At(&[("data", Rule::CutEach), ("binaryData", Rule::CutEach)]);
static NOTHING: Rule = Rule::At(&[]);
static ANY: Rule = Rule::Walk;

/// The rule for the objects of a resource. Only kinds whose shape is known are read by it; all others are walked.
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

/// A value that must go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Where it is in the text that was read.
    pub(crate) place: Range<usize>,
    /// What stands there instead.
    pub(crate) instead: Instead,
}

/// What stands instead of what must go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    /// A string that says its size in bytes: of a string that of its text, of anything else its JSON's.
    Size(usize),
    /// This string: a key, of which only a part must go.
    Key(String),
}

/// Appends `raw` to `out`, each of the `cuts` (in order, not overlapping, in a text in which `raw` begins at `start`)
/// replaced by what stands instead.
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
    fn a_cut_value_becomes_a_string_that_says_its_size() {
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
