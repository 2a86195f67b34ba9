//! The resources that the simulator models and leaves out, compared with all that a real kube-apiserver serves.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use watchscope_tests::kube::Kubectl;
use watchscope_tests::{KubeCluster, KubeTools, WatchscopeBinary, or_skip};

use crate::http;
use crate::simulated::Simulated;

/// The simulator's table of the resources that a real server serves.
const TABLE: &str = include_str!("../../shared/simulator/src/apiserver/served.txt");

#[tokio::test]
async fn the_table_of_served_resources_is_that_of_a_real_apiserver() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubectl = cluster.kubectl();
    let mut real = BTreeSet::new();
    for group_version in group_versions(kubectl).await? {
        let root = match group_version.split_once('/') {
            None => format!("/api/{group_version}"),
            Some(_) => format!("/apis/{group_version}"),
        };
        real.extend(resources(kubectl, &root, &group_version).await?);
    }
    let table: BTreeSet<String> = TABLE.lines().map(str::to_owned).collect();
    let wrong: Vec<&String> = table.symmetric_difference(&real).collect();
    ensure!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[tokio::test]
async fn each_path_of_a_real_apiserver_is_answered_or_reported_as_not_modelled() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let simulated = Simulated::start(&binary, 0).await?;
    let index = cluster.kubectl().run(&["get", "--raw", "/"]).await?;
    let index: Value = serde_json::from_str(&index)?;
    let paths = texts(&index["paths"]);
    // Leaves out resources that other tests define in the same cluster.
    let mut paths: BTreeSet<String> = paths.filter(|path| !path.contains(".test")).collect();
    for line in TABLE.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [group_version, scope, plural, subresources @ ..] = words.as_slice() else {
            anyhow::bail!("a line of three words: {line}");
        };
        let root = match group_version.contains('/') {
            false => format!("/api/{group_version}"),
            true => format!("/apis/{group_version}"),
        };
        let root = match *scope {
            "namespaced" => format!("{root}/namespaces/shop/{plural}"),
            _ => format!("{root}/{plural}"),
        };
        let below = |name: &&str| format!("{root}/a/{name}");
        paths.extend(subresources.iter().map(below));
        paths.insert(root);
    }
    let mut missing = Vec::new();
    for path in paths {
        let answer = http::get(&simulated.origin, &path, &[]).await?;
        // The 404 of a named object that does not exist is an answer too.
        let of_object = || {
            answer
                .json()
                .is_ok_and(|body| body["details"]["name"] == "a")
        };
        let is_known = match answer.status {
            404 => of_object(),
            // Bindings can only be created.
            405 => path.ends_with("/binding"),
            status => matches!(status, 200 | 501),
        };
        if !is_known {
            missing.push(format!("{path}: {} {}", answer.status, answer.body));
        }
    }
    ensure!(missing.is_empty(), "{missing:#?}");
    Ok(())
}

async fn group_versions(kubectl: &Kubectl) -> Result<Vec<String>> {
    let groups = kubectl.run(&["get", "--raw", "/apis"]).await?;
    let groups: Value = serde_json::from_str(&groups)?;
    let groups = groups["groups"].as_array().context("groups")?;
    let versions = groups.iter().flat_map(|group| {
        let versions = group["versions"].as_array().into_iter().flatten();
        versions.filter_map(|version| version["groupVersion"].as_str())
    });
    // Leaves out groups that other tests define in the same cluster.
    let built_in = versions.filter(|name| !name.contains(".test/"));
    Ok(built_in.chain(["v1"]).map(str::to_owned).collect())
}

/// Returns the lines of the table for one group and version.
async fn resources(kubectl: &Kubectl, root: &str, group_version: &str) -> Result<Vec<String>> {
    let list = kubectl.run(&["get", "--raw", root]).await?;
    let list: Value = serde_json::from_str(&list)?;
    let entries = list["resources"].as_array().context("resources")?;
    let names: BTreeSet<&str> = entries.iter().filter_map(|e| e["name"].as_str()).collect();
    let mut lines = Vec::new();
    for entry in entries {
        let name = entry["name"].as_str().context("a name")?;
        if name.contains('/') {
            continue;
        }
        let scope = match entry["namespaced"].as_bool() {
            Some(true) => "namespaced",
            _ => "cluster",
        };
        let mut line = format!("{group_version} {scope} {name}");
        let below = format!("{name}/");
        for subresource in names.iter().filter_map(|other| other.strip_prefix(&below)) {
            line.push(' ');
            line.push_str(subresource);
        }
        lines.push(line);
    }
    Ok(lines)
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|text| text.as_str().map(str::to_owned))
}
