//! Canaries: values that must never come out of a probe, at any place and in any spelling.

use insta::assert_snapshot;
use proptest::prelude::*;
use watchscope_model::json::to_line;
use watchscope_probe::ProbeConfig;

use crate::stage::{play, watching};

/// All results for an object: in a list, and in a MODIFIED with two spellings. Bodies are checked to be JSON.
fn come_out(group: &str, kind: &str, config: &ProbeConfig, object: &str) -> Vec<String> {
    let plain = format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}\n");
    let turned = format!("{{ \"object\":{object} ,\"type\" : \"MODIFIED\"}}\n");
    let list = format!(
        r#"{{"kind":"{kind}List","metadata":{{"resourceVersion":"1"}},"items":[{object}]}}"#
    );
    let empty =
        format!(r#"{{"kind":"{kind}List","metadata":{{"resourceVersion":"1"}},"items":[]}}"#);
    let mut out = Vec::new();
    out.extend(said(group, kind, config, &empty, &plain));
    out.extend(said(group, kind, config, &empty, &turned));
    out.extend(said(group, kind, config, &list, ""));
    out
}

/// The changes, losses and errors of a list and a stream, with their bodies, which are checked to be JSON.
fn said(group: &str, kind: &str, config: &ProbeConfig, list: &str, stream: &str) -> Vec<String> {
    let spec = watching(group, kind);
    let mut lines = Vec::new();
    for (event, body) in play(spec, config, &[list.as_bytes()], &[stream.as_bytes()], None) {
        if matches!(event.type_name(), "change" | "loss" | "stream.error") {
            lines.push(to_line(&event));
        }
        if let Some(body) = body {
            let text = String::from_utf8(body).unwrap();
            assert!(
                serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(),
                "not JSON: {text}"
            );
            lines.push(text);
        }
    }
    lines
}

fn default_out(group: &str, kind: &str, object: &str) -> Vec<String> {
    come_out(group, kind, &ProbeConfig::default(), object)
}

/// Asserts that the results hold changes, but never the canary.
#[track_caller]
fn check_silent(group: &str, kind: &str, object: &str) {
    assert!(object.contains("canary"), "the test would always pass");
    let out = default_out(group, kind, object);
    assert_eq!(
        out.iter()
            .filter(|line| line.contains(r#""type":"change""#))
            .count(),
        3,
        "{out:#?}"
    );
    for line in out {
        assert!(!line.contains("canary"), "{line}");
    }
}

/// The metadata of most objects here.
const META: &str = r#""metadata":{"name":"x","resourceVersion":"5"}"#;

#[test]
fn a_secret_keeps_its_keys_and_sizes() {
    let object = r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"5","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"password\":\"Y2FuYXJ5\"}}","team":"shop"},"managedFields":[{"manager":"kubectl","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:data":{"f:password":{}}}}]},"data":{"password":"Y2FuYXJ5","empty":""},"stringData":{"token":"canary"},"type":"Opaque"}"#;
    assert_snapshot!(default_out("", "Secret", object)[1], @r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"5","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"(redacted, 32 bytes)","team":"shop"},"managedFields":[{"manager":"kubectl","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:data":{"f:password":{}}}}]},"data":{"password":"(redacted, 8 bytes)","empty":"(redacted, 0 bytes)"},"stringData":{"token":"(redacted, 6 bytes)"},"type":"Opaque"}"#);
    check_silent("", "Secret", object);
}

#[test]
fn a_workload_keeps_everything_but_literal_env_values() {
    let object = r#"{"kind":"Deployment","metadata":{"name":"x","resourceVersion":"5"},"spec":{"replicas":2,"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"canary"}},"spec":{"initContainers":[{"name":"i","env":[{"name":"A","value":"canary"}]}],"containers":[{"name":"c","image":"img","env":[{"name":"B","value":"canary"},{"name":"C","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],"args":["--x"]}],"ephemeralContainers":[{"env":[{"value":"canary"}]}]}}}}"#;
    assert_snapshot!(default_out("apps", "Deployment", object)[1], @r#"{"kind":"Deployment","metadata":{"name":"x","resourceVersion":"5"},"spec":{"replicas":2,"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"(redacted, 6 bytes)"}},"spec":{"initContainers":[{"name":"i","env":[{"name":"A","value":"(redacted, 6 bytes)"}]}],"containers":[{"name":"c","image":"img","env":[{"name":"B","value":"(redacted, 6 bytes)"},{"name":"C","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],"args":["--x"]}],"ephemeralContainers":[{"env":[{"value":"(redacted, 6 bytes)"}]}]}}}}"#);
    check_silent("apps", "Deployment", object);
}

#[test]
fn every_built_in_workload_is_covered() {
    let pod_spec = r#"{"containers":[{"env":[{"name":"A","value":"canary"}]}]}"#;
    let template = format!(r#"{{"template":{{"spec":{pod_spec}}}}}"#);
    for (group, kind, spec) in [
        ("", "Pod", pod_spec.to_owned()),
        ("", "ReplicationController", template.clone()),
        ("apps", "Deployment", template.clone()),
        ("apps", "ReplicaSet", template.clone()),
        ("apps", "StatefulSet", template.clone()),
        ("apps", "DaemonSet", template.clone()),
        ("batch", "Job", template.clone()),
        (
            "batch",
            "CronJob",
            format!(r#"{{"jobTemplate":{{"spec":{template}}}}}"#),
        ),
    ] {
        check_silent(
            group,
            kind,
            &format!(r#"{{"kind":"{kind}",{META},"spec":{spec}}}"#),
        );
    }
    check_silent(
        "",
        "PodTemplate",
        &format!(r#"{{"kind":"PodTemplate",{META},"template":{{"spec":{pod_spec}}}}}"#),
    );
    // The template of a StatefulSet or DaemonSet is also in its revisions.
    check_silent(
        "apps",
        "ControllerRevision",
        &format!(r#"{{"kind":"ControllerRevision",{META},"data":{{"spec":{template}}}}}"#),
    );
}

#[test]
fn in_an_unknown_kind_env_values_are_cut_at_any_place() {
    let object = format!(
        r#"{{"kind":"Widget",{META},"spec":{{"value":"stays","env":[{{"name":"A","value":"canary"}},{{"value":{{"deep":["canary"]}}}},"bare",[{{"value":"stays"}}]],"deep":[[{{"env":[{{"value":17,"env":[{{"value":"canary"}}]}}]}}]],"env2":[{{"value":"stays"}}]}},"env":"prod"}}"#
    );
    assert_snapshot!(default_out("example.com", "Widget", &object)[1], @r#"{"kind":"Widget","metadata":{"name":"x","resourceVersion":"5"},"spec":{"value":"stays","env":[{"name":"A","value":"(redacted, 6 bytes)"},{"value":"(redacted, 19 bytes)"},"bare",[{"value":"stays"}]],"deep":[[{"env":[{"value":"(redacted, 2 bytes)","env":[{"value":"(redacted, 6 bytes)"}]}]}]],"env2":[{"value":"stays"}]},"env":"prod"}"#);
    check_silent("example.com", "Widget", &object);
}

/// An object of a custom kind with `fields` in its `managedFields`.
fn owned(fields: &str) -> String {
    format!(
        r#"{{"kind":"Widget","metadata":{{"name":"x","resourceVersion":"5","managedFields":[{{"manager":"kubectl","operation":"Apply","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{fields}}}]}},"spec":{{"env":[{{"name":"A","value":"canary"}}]}}}}"#
    )
}

#[test]
fn a_value_does_not_come_out_as_a_key_of_its_list() {
    // x-kubernetes-list-map-keys: [value], and [name, value].
    let object = owned(
        r#"{"f:spec":{"f:env":{".":{},"k:{\"value\":\"canary\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"A\",\"value\":\"canary \\\"2\\\"\"}":{}}}}"#,
    );
    assert_snapshot!(default_out("x.io", "Widget", &object)[1], @r#"{"kind":"Widget","metadata":{"name":"x","resourceVersion":"5","managedFields":[{"manager":"kubectl","operation":"Apply","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:env":{".":{},"k:{\"value\":\"(redacted, 6 bytes)\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"A\",\"value\":\"(redacted, 10 bytes)\"}":{}}}}}]},"spec":{"env":[{"name":"A","value":"(redacted, 6 bytes)"}]}}"#);
    check_silent("x.io", "Widget", &object);
    // A set of maps; one of maps with a list inside; a value that is itself a set; other spellings.
    for fields in [
        r#"{"f:spec":{"f:env":{"v:{\"name\":\"A\",\"value\":\"canary\"}":{}}}}"#,
        r#"{"f:spec":{"f:env":{"i:0":{"f:value":{"v:\"canary\"":{}}}}}}"#,
        r#"{"f:spec":{"f:boxes":{"v:{\"env\":[{\"value\":\"canary\"}]}":{}}}}"#,
        r#"{"f:spec":{"f:env":{"k:{\"name\":\"A\"}":{"f:value":{"v:\"canary\"":{},"f:x":{}}}}}}"#,
        r#"{"\u0066:spec":{"f:\u0065nv":{"\u006b:{\"v\u0061lue\" : \"canary\"}":{}}}}"#,
        r#"{"f:spec":{"f:env":{"k:{\"value\":\"canary\"":{}}}}"#,
        r#"{"f:spec":{"env":[{"value":"canary"}]}}"#,
    ] {
        check_silent("x.io", "Widget", &owned(fields));
        // The same fields in an object inside another.
        let inner = format!(
            r#"{{"kind":"Widget",{META},"spec":{{"template":{{"metadata":{{"managedFields":[{{"fieldsV1":{fields}}}]}}}}}}}}"#
        );
        check_silent("x.io", "Widget", &inner);
        let config = ProbeConfig {
            metadata_only: true,
            ..ProbeConfig::default()
        };
        for line in come_out("x.io", "Widget", &config, &owned(fields)) {
            assert!(!line.contains("canary"), "{line}");
        }
    }
}

#[test]
fn the_owners_of_fields_stay_unchanged() {
    let object = r#"{"kind":"Widget","metadata":{"name":"x","resourceVersion":"5","managedFields":[{"manager":"a","fieldsV1":{"f:metadata":{"f:finalizers":{".":{},"v:\"x.io/keep\"":{}}},"f:spec":{"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},"f:ports":{"k:{\"port\":80,\"value\":\"http\"}":{"f:value":{"f:x":{}}}}}}},{"manager":"b","fieldsV1":null},{"manager":"c"}]}}"#;
    assert_eq!(default_out("x.io", "Widget", object)[1], object);
}

#[test]
fn other_spellings_of_keys_hide_nothing() {
    for object in [
        format!(r#"{{"kind":"Secret",{META},"\u0064ata":{{"a":"canary"}}}}"#),
        format!(r#"{{"kind":"Secret",{META},"data" : {{"\u0061" : "canary"}} }}"#),
        format!(r#"{{"data":{{"a":"canary"}},{META},"kind":"Secret"}}"#),
        format!(r#"{{"kind":"Secret",{META},"data":{{"a":"x"}},"data":{{"b":"canary"}}}}"#),
        format!(r#"{{"kind":"Secret",{META},"data":{{"b":"canary","b":"canary"}}}}"#),
        r#"{"kind":"Secret","metadata":{"annotations":{"a":"b"},"annotations":{"kubectl.kubernetes.io\/last-applied-configuration":"canary"},"name":"x","resourceVersion":"5"}}"#.to_owned(),
    ] {
        check_silent("", "Secret", &object);
    }
    check_silent(
        "",
        "Pod",
        &format!(
            r#"{{"kind":"Pod",{META},"sp\u0065c":{{"containers":[{{"env":[{{"v\u0061lue":"canary"}}]}}]}}}}"#
        ),
    );
    check_silent(
        "x.io",
        "Widget",
        &format!(r#"{{"kind":"Widget",{META},"a":[{{"\u0065nv":[{{"v\u0061lue":"canary"}}]}}]}}"#),
    );
}

#[test]
fn values_of_unexpected_types_are_cut_or_the_body_is_withheld() {
    for data in [
        r#""canary""#,
        r#"["canary"]"#,
        r#"{"a":{"b":["canary"]}}"#,
        r#"{"a":["canary",1,null]}"#,
    ] {
        check_silent(
            "",
            "Secret",
            &format!(r#"{{"kind":"Secret",{META},"data":{data}}}"#),
        );
    }
    for spec in [
        r#"{"containers":{"env":[{"value":"canary"}]}}"#,
        r#"{"containers":[{"env":{"A":"canary"}}]}"#,
        r#"{"containers":[{"env":["canary"]}]}"#,
        r#"{"containers":[["canary"]]}"#,
        r#"{"containers":"canary"}"#,
        r#"["canary"]"#,
        r#""canary""#,
    ] {
        let object = format!(r#"{{"kind":"Pod",{META},"spec":{spec}}}"#);
        check_silent("", "Pod", &object);
        let out = default_out("", "Pod", &object);
        assert_eq!(out.len(), 6, "a change and a loss each time: {out:#?}");
        assert!(out[1].contains(r#""where":"body""#), "{}", out[1]);
    }
}

#[test]
fn nulls_stay_and_reveal_nothing() {
    let object = format!(r#"{{"kind":"Secret",{META},"data":null,"stringData":{{"a":null}}}}"#);
    assert_eq!(default_out("", "Secret", &object)[1], object);
    let object = format!(
        r#"{{"kind":"Pod",{META},"spec":{{"containers":[{{"env":null}},null,{{"env":[null,{{"value":null}}]}}],"initContainers":null}}}}"#
    );
    assert_eq!(default_out("", "Pod", &object)[1], object);
}

#[test]
fn config_maps_stay_unless_their_redaction_is_requested() {
    let object =
        format!(r#"{{"kind":"ConfigMap",{META},"data":{{"a":"b"}},"binaryData":{{"c":"ZA=="}}}}"#);
    assert_eq!(default_out("", "ConfigMap", &object)[1], object);
    let config = ProbeConfig {
        redact_configmaps: true,
        ..ProbeConfig::default()
    };
    assert_snapshot!(come_out("", "ConfigMap", &config, &object)[1], @r#"{"kind":"ConfigMap","metadata":{"name":"x","resourceVersion":"5"},"data":{"a":"(redacted, 1 bytes)"},"binaryData":{"c":"(redacted, 4 bytes)"}}"#);
}

#[test]
fn without_bodies_the_same_events_come_and_no_body() {
    let config = ProbeConfig {
        with_bodies: false,
        ..ProbeConfig::default()
    };
    for spec in [
        r#"{"containers":[{"env":[{"value":"canary"}]}]}"#,
        // The body must be withheld, and its loss is an event all the same.
        r#"{"containers":"canary"}"#,
    ] {
        let object = format!(r#"{{"kind":"Pod",{META},"spec":{spec}}}"#);
        let events = |lines: Vec<String>| -> Vec<String> {
            let is_event = |line: &String| line.starts_with(r#"{"type":"#);
            lines.into_iter().filter(is_event).collect()
        };
        let without = come_out("", "Pod", &config, &object);
        assert_eq!(without, events(default_out("", "Pod", &object)), "{spec}");
    }
}

#[test]
fn metadata_only_objects_lose_the_annotation_too() {
    let config = ProbeConfig {
        metadata_only: true,
        ..ProbeConfig::default()
    };
    let object = r#"{"kind":"PartialObjectMetadata","metadata":{"name":"x","resourceVersion":"5","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"canary"}}}"#;
    for line in come_out("", "Secret", &config, object) {
        assert!(!line.contains("canary"), "{line}");
    }
}

#[test]
fn an_object_that_cannot_be_read_is_not_quoted() {
    for object in [
        r#"{"kind":"canary"}"#.to_owned(),
        format!(r#"{{"kind":"Secret",{META},"data":{{"a":"canary}}"#),
        format!(r#"{{"kind":"Secret",{META},"data":canary}}"#),
        r#"{"kind":"Secret","metadata":{"name":{"a":"canary"}}}"#.to_owned(),
        format!(
            r#"{{"kind":"Secret",{META},"data":{}"canary"{}}}"#,
            "[".repeat(400),
            "]".repeat(400)
        ),
    ] {
        let out = default_out("", "Secret", &object);
        assert!(!out.is_empty());
        for line in out.iter().filter(|line| !line.contains("kind canary")) {
            assert!(!line.contains("canary"), "{line}");
        }
        assert!(
            out.iter().all(|line| line.contains(r#""type":"loss""#)),
            "{out:#?}"
        );
    }
}

#[test]
fn error_events_about_secrets_keep_reason_and_code_only() {
    let error = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,\"reason\":\"InternalError\",\"message\":\"canary\"}}\n";
    let list = r#"{"kind":"SecretList","metadata":{"resourceVersion":"1"},"items":[]}"#;
    let out = said("", "Secret", &ProbeConfig::default(), list, error);
    assert_eq!(
        out,
        [
            r#"{"type":"stream.error","watch":"*/things","stream":1,"code":500,"reason":"InternalError"}"#
        ]
    );
}

/// A value of any form. Strings to cut become canaries if they are the `value` of an `env` element.
fn anything() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[a-zäß\"\\\\/\n ]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        let key = prop_oneof![
            Just("env".to_owned()),
            Just("value".to_owned()),
            Just("name".to_owned()),
            "[a-z\"\\\\é]{0,6}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map(key, inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The rule in a second, slow implementation: a walked value with everything cut that must be.
fn walked(value: &serde_json::Value, in_env: bool) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(values) => values
            .iter()
            .map(|value| match (in_env, value) {
                (true, Value::Object(map)) => Value::Object(
                    map.iter()
                        .map(|(key, value)| {
                            let new = if key == "value" && !value.is_null() {
                                gone(value)
                            } else {
                                walked(value, key == "env")
                            };
                            (key.clone(), new)
                        })
                        .collect(),
                ),
                _ => walked(value, false),
            })
            .collect(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), walked(value, key == "env")))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn gone(value: &serde_json::Value) -> serde_json::Value {
    let size = match value {
        serde_json::Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    format!("(redacted, {size} bytes)").into()
}

proptest! {
    #[test]
    fn a_walked_body_is_the_object_without_exactly_the_env_values(spec in anything()) {
        let object = format!(r#"{{"kind":"Widget",{META},"spec":{spec}}}"#);
        let out = default_out("x.io", "Widget", &object);
        let expected = walked(&serde_json::from_str(&object).unwrap(), false);
        for body in [&out[1], &out[3], &out[5]] {
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap(), expected.clone());
        }
    }

    #[test]
    fn the_values_of_a_secret_never_come_out_in_any_form(data in anything(), tail in "[a-z]{8}") {
        let canary = format!("canary{tail}");
        let object = format!(r#"{{"kind":"Secret",{META},"data":{{"k":{data},"c":"{canary}"}},"stringData":[{data},"{canary}"]}}"#);
        for line in default_out("", "Secret", &object) {
            prop_assert!(!line.contains(&canary), "{}", line);
        }
    }
}
