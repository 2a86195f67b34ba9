//! Lists: the cells of docs/semantics/lists-and-watches.md#list, pages, forms, and refusals.

use std::time::Duration;

use serde_json::{Value, json};
use watchscope_simulator::{Config, Defect, Fault, Request, ServerId, Version};

use crate::rig::{Rig, version};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A cluster with the configmaps a to e, and their resourceVersions.
fn five() -> (Rig, Vec<u64>) {
    let mut rig = Rig::quiet();
    rig.run_secs(1);
    let versions = ["a", "b", "c", "d", "e"].map(|name| version(&rig.config_map(name)));
    rig.run_secs(1);
    (rig, versions.into())
}

/// The names in a list, without the cluster's own, and its version relative to `base`.
fn names_of(list: &Value, base: u64) -> String {
    let names: Vec<&str> = list["items"]
        .as_array()
        .map(|items| {
            items
                .iter()
                .map(|i| i["metadata"]["name"].as_str().unwrap())
                .filter(|name| name.len() < 4)
                .collect()
        })
        .unwrap_or_default();
    let more = match list["metadata"]["remainingItemCount"].as_u64() {
        Some(left) => format!(" and {left} more"),
        None if list["metadata"]["continue"].is_string() => " and more".to_owned(),
        None => String::new(),
    };
    let own = list["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse::<u64>()
        .unwrap();
    let own = i64::try_from(own).unwrap() - i64::try_from(base).unwrap();
    format!("{} at {own:+}{more}", names.join(""))
}

#[test]
fn each_combination_of_version_match_and_limit_reads_its_own_revision() {
    let (mut rig, versions) = five();
    let c = versions[2];
    let e = versions[4];
    let cases = [
        "",
        "limit=2",
        "resourceVersion=0",
        "resourceVersion=0&limit=2",
        "resourceVersion=0&resourceVersionMatch=NotOlderThan",
        "resourceVersion=C",
        "resourceVersion=C&limit=2",
        "resourceVersion=C&resourceVersionMatch=NotOlderThan&limit=2",
        "resourceVersion=C&resourceVersionMatch=Exact",
        "resourceVersion=C&resourceVersionMatch=Exact&limit=2",
    ];
    let mut lines = Vec::new();
    for case in cases {
        let (status, list) = rig.get(&format!("{MAPS}?{}", case.replace('C', &c.to_string())));
        assert_eq!(status, 200, "{case}: {list}");
        lines.push(format!("{case:60} {}", names_of(&list, e)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
                                                                 abcde at +0
    limit=2                                                      ab at +0 and 4 more
    resourceVersion=0                                            abcde at +0
    resourceVersion=0&limit=2                                    abcde at +0
    resourceVersion=0&resourceVersionMatch=NotOlderThan          abcde at +0
    resourceVersion=C                                            abcde at +0
    resourceVersion=C&limit=2                                    ab at -2 and 2 more
    resourceVersion=C&resourceVersionMatch=NotOlderThan&limit=2  ab at +0 and 4 more
    resourceVersion=C&resourceVersionMatch=Exact                 abc at -2
    resourceVersion=C&resourceVersionMatch=Exact&limit=2         ab at -2 and 2 more
    ");
}

#[test]
fn a_list_without_version_waits_until_the_cache_knows_of_every_write() {
    let (mut rig, _) = five();
    let pods = "/api/v1/pods";
    let stale = rig.get(&format!("{pods}?resourceVersion=0")).1;
    let written = version(&rig.config_map("f"));
    let connection = rig.connect();
    let asked_at = rig.world.now();
    let id = rig.send(connection, Request::get(pods));
    rig.run_secs(1);
    let reply = rig.reply(id);
    let fresh: Value = serde_json::from_slice(&reply.body()).unwrap();
    assert!(version(&stale) < written);
    assert_eq!(
        version(&fresh),
        written,
        "of a resource that had no event itself"
    );
    let waited = reply.ended_at.unwrap().since(asked_at);
    assert!(
        waited >= Duration::from_millis(100) && waited < Duration::from_millis(110),
        "progress is asked for after 100 ms: {waited:?}"
    );
}

#[test]
fn a_version_from_the_future_is_504_after_three_seconds() {
    let (mut rig, versions) = five();
    let future = versions[4] + 100;
    for query in [
        format!("resourceVersion={future}"),
        format!("resourceVersion={future}&resourceVersionMatch=NotOlderThan&limit=1"),
        format!("resourceVersion={future}&resourceVersionMatch=Exact"),
    ] {
        let before = rig.world.now();
        let (status, error) = rig.get(&format!("{MAPS}?{query}"));
        assert_eq!(status, 504);
        let message = error["message"].as_str().unwrap();
        assert_eq!(
            message,
            format!(
                "Timeout: Too large resource version: {future}, current: {}",
                versions[4]
            )
        );
        assert_eq!(
            error["details"]["causes"][0]["reason"],
            "ResourceVersionTooLarge"
        );
        let waited = rig.world.now().since(before).as_millis();
        assert!((3000..3010).contains(&waited), "{waited} ms");
    }
}

/// From 1.34 on the cache serves exact lists (cacher/delegator.go, shouldDelegateExactRV).
#[test]
fn an_exact_list_waits_for_a_cache_that_stands_still_where_caches_keep_snapshots() {
    let exact_list = |minor: u8, lifts: bool| {
        let mut config = Config::empty();
        config.servers = vec![Version::new(minor, 0).unwrap()];
        let mut rig = Rig::new(config);
        rig.run_secs(1);
        let before = version(&rig.config_map("a"));
        rig.run_secs(1);
        let frozen = Fault::FreezeCaches {
            server: ServerId(0),
            resource: Some("configmaps".to_owned()),
        };
        rig.world.inject(frozen.clone());
        let at = version(&rig.config_map("b"));
        if lifts {
            rig.world.lift(&frozen);
        }
        let began = rig.world.now();
        let (status, list) = rig.get(&format!(
            "{MAPS}?resourceVersion={at}&resourceVersionMatch=Exact"
        ));
        let waited_s = rig.world.now().since(began).as_secs();
        let message = list["message"].as_str().unwrap_or("").to_owned();
        let message = message.replace(&at.to_string(), "P");
        let message = message.replace(&before.to_string(), "Y");
        let names = (status == 200).then(|| names_of(&list, at));
        (status, waited_s, message, names.unwrap_or_default())
    };
    let etcds = (200, 0, String::new(), "ab at +0".to_owned());
    assert_eq!(exact_list(33, false), etcds);
    let (status, waited_s, message, _) = exact_list(36, false);
    let too_large = "Timeout: Too large resource version: P, current: Y";
    assert_eq!((status, waited_s, &*message), (504, 3, too_large));
    assert_eq!(exact_list(36, true), etcds, "it is there in time");
}

/// Snapshots serve only recursive reads (cacher/delegator.go, ShouldDelegateExactRV). So etcd serves a list of one
/// name, even if the cache holds something else.
#[test]
fn no_snapshot_serves_a_list_of_one_name_at_an_exact_version() {
    let (mut rig, _) = five();
    // The deletion of `a` is lost on its way to the cache (F27).
    let slow = Fault::SlowEtcdStreams {
        server: None,
        resource: None,
        per_response: Duration::from_secs(2),
    };
    let lost = Fault::EtcdDefect(Defect::DeleteLostByCompactionAtIt);
    rig.world.inject(lost);
    rig.world.inject(slow.clone());
    rig.write("b", 1);
    rig.run_secs(1);
    rig.delete(&format!("{MAPS}/a"));
    rig.world.inject(Fault::CompactEtcd);
    rig.world.inject(Fault::RestartEtcd {
        during_compaction: false,
    });
    rig.world.lift(&slow);
    rig.run_secs(5);
    rig.write("b", 2);
    rig.run_secs(5);
    let now = rig.world.truth().revision();
    let mut at = |more: &str| {
        let (status, list) = rig.get(&format!(
            "{MAPS}?resourceVersion={now}&resourceVersionMatch=Exact{more}"
        ));
        assert_eq!(status, 200, "{list}");
        names_of(&list, now)
    };
    assert_eq!(at(""), "abcde at +0");
    assert_eq!(at("&fieldSelector=metadata.name%3Da"), " at +0");
}

#[test]
fn a_version_that_comes_within_three_seconds_is_waited_for() {
    let (mut rig, versions) = five();
    let connection = rig.connect();
    let soon = versions[4] + 1;
    let id = rig.send(
        connection,
        Request::get(&format!("{MAPS}?resourceVersion={soon}")),
    );
    rig.run_secs(2);
    assert!(!rig.replies.contains_key(&id));
    rig.config_map("f");
    rig.run_secs(1);
    let list: Value = serde_json::from_slice(&rig.reply(id).body()).unwrap();
    assert_eq!(names_of(&list, soon), "abcdef at +0");
}

#[test]
fn pages_of_a_list_are_of_one_revision_while_others_write() {
    let (mut rig, versions) = five();
    let mut pages = Vec::new();
    let mut token = String::new();
    loop {
        let target = format!("{MAPS}?limit=2&continue={token}");
        let (status, page) = rig.get(&target);
        assert_eq!(status, 200, "{page}");
        pages.push(names_of(&page, versions[4]));
        rig.delete(&format!("{MAPS}/{}", ["a", "d", "e"][pages.len() - 1]));
        rig.config_map(&format!("c{}", pages.len()));
        match page["metadata"]["continue"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(
        pages,
        ["ab at +0 and 4 more", "cd at +0 and 2 more", "e at +0"]
    );
}

#[test]
fn a_compacted_page_offers_to_go_on_inconsistently() {
    let (mut rig, _) = five();
    let token = rig.get(&format!("{MAPS}?limit=2")).1["metadata"]["continue"].clone();
    rig.delete(&format!("{MAPS}/c"));
    rig.run_secs(700);
    rig.config_map("z");
    let (status, error) = rig.get(&format!(
        "{MAPS}?limit=2&continue={}",
        token.as_str().unwrap()
    ));
    assert_eq!(
        (status, error["reason"].as_str().unwrap()),
        (410, "Expired")
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("The provided continue parameter is too old")
    );
    let next = error["metadata"]["continue"].as_str().unwrap();
    let (status, page) = rig.get(&format!("{MAPS}?limit=2&continue={next}"));
    assert_eq!(status, 200);
    assert_eq!(
        names_of(&page, version(&page)),
        "de at +0 and 2 more",
        "with what is there now"
    );
}

#[test]
fn a_list_of_one_name_at_an_exact_version_says_the_newest_from_1_19_to_1_23() {
    let outcome = |server: &str| {
        let mut config = Config::empty();
        config.servers = vec![server.parse().unwrap()];
        let mut rig = Rig::new(config);
        rig.run_secs(1);
        let first = version(&rig.config_map("a"));
        let newest = version(&rig.write("a", 1));
        let of_one = format!(
            "{MAPS}?fieldSelector=metadata.name%3Da&resourceVersionMatch=Exact&resourceVersion="
        );
        let (_, list) = rig.get(&format!("{of_one}{first}"));
        assert_eq!(version(&list["items"][0]), first);
        rig.run_secs(700);
        rig.write("a", 2);
        let (compacted, _) = rig.get(&format!("{of_one}{first}"));
        (version(&list) == newest, compacted)
    };
    let outcome = ["1.19.0", "1.23.17", "1.24.0", "1.36.0"].map(outcome);
    assert_eq!(
        outcome,
        [(true, 500), (true, 500), (false, 410), (false, 410)]
    );
}

#[test]
fn an_exact_version_that_is_compacted_is_410() {
    let (mut rig, versions) = five();
    rig.write("a", 1);
    rig.run_secs(700);
    let (status, error) = rig.get(&format!(
        "{MAPS}?resourceVersion={}&resourceVersionMatch=Exact",
        versions[4]
    ));
    assert_eq!(status, 410);
    assert_eq!(
        error["message"],
        "The resourceVersion for the provided list is too old."
    );
}

#[test]
fn selectors_and_forms_apply_to_lists() {
    let (mut rig, _) = five();
    rig.merge(
        &format!("{MAPS}/b"),
        &json!({"metadata": {"labels": {"tier": "front"}}}),
    );
    rig.run_secs(1);
    let base = rig.world.truth().revision();
    let labelled = rig.get(&format!("{MAPS}?labelSelector=tier%3Dfront")).1;
    assert_eq!(names_of(&labelled, base), "b at +0");
    let named = rig
        .get(&format!("{MAPS}?fieldSelector=metadata.name%3Dc"))
        .1;
    assert_eq!(names_of(&named, base), "c at +0");
    let page = rig.get(&format!("{MAPS}?labelSelector=!tier&limit=1")).1;
    assert_eq!(
        names_of(&page, base),
        "a at +0 and more",
        "no count with a selector"
    );

    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let metadata = rig.ask(Request::get(MAPS).header("accept", accept)).json();
    assert_eq!(metadata["kind"], "PartialObjectMetadataList");
    assert_eq!(metadata["items"][0]["kind"], "PartialObjectMetadata");
    assert_eq!(metadata["items"][0].get("data"), None);

    let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let table = rig.ask(Request::get(MAPS).header("accept", accept)).json();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"][1]["cells"], json!(["b", 1, "2s"]));
    assert_eq!(table["rows"][1]["object"]["kind"], "PartialObjectMetadata");
}

#[test]
fn items_of_built_in_lists_have_no_kind_of_their_own() {
    let (mut rig, _) = five();
    let list = rig.get(MAPS).1;
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["items"][0].get("kind"), None);
    assert_eq!(list["items"][0].get("apiVersion"), None);
    assert_eq!(rig.get(&format!("{MAPS}/a")).1["kind"], "ConfigMap");
}

#[test]
fn a_big_list_comes_in_chunks_and_is_whole() {
    let mut rig = Rig::quiet();
    rig.run_secs(1);
    for i in 0..2000 {
        rig.config_map(&format!("map-{i:04}"));
    }
    let id = rig.open("/api/v1/configmaps");
    rig.run_secs(1);
    let reply = rig.reply(id);
    assert!(reply.chunks.len() > 5);
    let length = &reply.head.as_ref().unwrap().headers;
    let length = &length
        .iter()
        .find(|(name, _)| name == "content-length")
        .unwrap()
        .1;
    assert_eq!(*length, reply.body().len().to_string());
    let list: Value = serde_json::from_slice(&reply.body()).unwrap();
    assert_eq!(
        list["items"].as_array().unwrap().len(),
        2000 + 4,
        "with each namespace's certificate"
    );
}

#[test]
fn forbidden_parameters_of_a_list_are_refused() {
    let (mut rig, _) = five();
    let lines: Vec<String> = [
        "resourceVersion=abc",
        "continue=zzz",
        "labelSelector=a+b",
        "fieldSelector=spec.color%3Dred",
        "limit=abc",
        "resourceVersionMatch=Exact",
        "sendInitialEvents=true",
    ]
    .iter()
    .map(|query| {
        let (status, error) = rig.get(&format!("/api/v1/pods?{query}"));
        format!("{status} {}", error["message"].as_str().unwrap())
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    400 invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax
    400 invalid continue token: continue key is not valid: invalid character 'Ï' looking for beginning of value
    400 unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
    400 field label not supported: spec.color
    400 strconv.ParseInt: parsing "abc": invalid syntax
    422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided
    422 ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list
    "#);
}

#[test]
fn events_are_listed_from_etcd() {
    let mut rig = Rig::new(Config::default());
    let before = rig.world.now();
    let (status, list) = rig.get("/api/v1/events?limit=3&resourceVersion=0");
    assert_eq!(status, 200);
    assert_eq!(
        list["items"].as_array().unwrap().len(),
        3,
        "etcd honours a limit at version 0"
    );
    assert!(rig.world.now().since(before) < Duration::from_millis(10));
    let single = rig.get("/api/v1/namespaces/nowhere/events").1;
    assert_eq!(single["items"], json!([]));
}

/// Every five minutes the apiserver compacts the revision noted five minutes before
/// (docs/semantics/servers.md#compaction).
#[test]
fn a_revision_lives_five_to_ten_minutes() {
    let lives = [10, 150, 290, 310, 599].map(|written_after| {
        let mut rig = Rig::quiet();
        rig.run_secs(written_after);
        let revision = version(&rig.config_map("a"));
        rig.write("a", 1);
        let written = rig.world.now();
        let exact = format!(
            "/api/v1/namespaces/default/events?resourceVersion={revision}&resourceVersionMatch=Exact"
        );
        while rig.get(&exact).0 != 410 {
            rig.run_secs(1);
        }
        rig.world.now().since(written).as_secs()
    });
    for lived in lives {
        assert!((299..=602).contains(&lived), "{lives:?}");
    }
    assert!(lives.iter().any(|lived| *lived < 320), "{lives:?}");
    assert!(lives.iter().any(|lived| *lived > 580), "{lives:?}");
}
