//! WATCH by resourceVersion and sendInitialEvents: every cell of docs/semantics/lists-and-watches.md#watch. Also what
//! ends a stream.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use super::dialogue::{Dialogue, config_map};
use super::exchanges;
use super::wire::Ask;

exchanges![
    a_watch_after_a_version_has_only_what_came_later,
    a_watch_after_the_newest_version_waits,
    a_watch_from_the_future_is_silent_until_its_version_has_passed,
    a_watch_without_a_version_begins_with_the_state,
    a_watch_without_a_version_or_bookmarks_marks_no_end_of_the_state,
    a_watch_at_zero_begins_with_the_state,
    a_watch_list_without_a_version_marks_the_end_of_the_state,
    a_watch_list_at_zero_marks_the_end_of_the_state,
    a_watch_list_at_a_version_marks_the_end_of_the_state,
    a_watch_list_without_objects_is_only_its_mark,
    a_watch_list_without_bookmarks_marks_no_end,
    a_watch_list_from_the_future_is_refused_in_band,
    a_watch_without_initial_events_starts_now,
    a_watch_without_initial_events_at_zero_starts_now,
    a_watch_without_initial_events_at_a_version_starts_there,
    impossible_combinations_of_watch_options_are_refused,
    malformed_watch_options_are_refused,
    the_watch_flag_is_read_as_go_reads_it,
    a_watch_ends_in_order_at_its_timeout,
    a_watch_has_a_bookmark_before_its_timeout,
    a_watch_without_bookmarks_has_none_before_its_timeout,
    a_deleted_object_comes_with_the_version_of_its_deletion,
    an_object_with_a_finalizer_is_modified_then_deleted,
    events_of_several_objects_come_in_order_of_their_versions,
    an_object_leaves_and_enters_a_selection_by_its_labels,
    a_watch_of_one_name_sees_only_it,
    a_field_selector_translates_events_too,
    a_watch_of_all_namespaces_sees_those_it_selects,
    uncached_events_are_watched_in_etcd,
    a_watch_ignores_limit_and_continue,
    the_old_watch_path_watches_too,
    a_write_that_changes_nothing_is_no_event,
    a_watch_with_a_negative_timeout_ends_at_once,
];

/// Modifies, deletes and creates an object, so that each kind of event occurs once.
async fn change_all(d: &mut Dialogue<'_>) -> Result<()> {
    d.touch("a", "2").await?;
    d.remove("b").await?;
    d.config_map("c").await?;
    Ok(())
}

async fn a_watch_after_a_version_has_only_what_came_later(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let version = d.config_map("b").await?.version()?;
    change_all(d).await?;
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&resourceVersion={version}")))
        .await?;
    d.frames(&mut watch, 3).await?;
    Ok(())
}

async fn a_watch_after_the_newest_version_waits(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let version = d.config_map("b").await?.version()?;
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=true&resourceVersion={version}")))
        .await?;
    change_all(d).await?;
    d.frames(&mut watch, 3).await?;
    Ok(())
}

async fn a_watch_from_the_future_is_silent_until_its_version_has_passed(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    let version: u64 = d.config_map("a").await?.version()?.parse()?;
    let target = format!("configmaps?watch=1&resourceVersion={}", version + 2);
    let mut watch = d.watch(d.core(&target)).await?;
    for n in 1..=4 {
        d.touch("a", &format!("{n} later")).await?;
    }
    d.frames(&mut watch, 2).await?;
    Ok(())
}

/// Creates two configmaps; their order by key is the reverse of that by version. Returns the newer version.
async fn state(d: &mut Dialogue<'_>) -> Result<String> {
    d.config_map("z").await?;
    let version = d.config_map("a").await?.version()?;
    // A consistent read makes the cache as new as etcd.
    d.prepare(Ask::new("GET", d.core("configmaps"))).await?;
    Ok(version)
}

/// Opens a watch, reads `initial` frames, creates a configmap, and reads its frame.
async fn watched(d: &mut Dialogue<'_>, options: &str, initial: usize) -> Result<()> {
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&{options}")))
        .await?;
    d.frames(&mut watch, initial).await?;
    d.config_map("later").await?;
    d.frames(&mut watch, 1).await?;
    Ok(())
}

async fn a_watch_without_a_version_begins_with_the_state(d: &mut Dialogue<'_>) -> Result<()> {
    state(d).await?;
    watched(d, "allowWatchBookmarks=true", 3).await
}

async fn a_watch_without_a_version_or_bookmarks_marks_no_end_of_the_state(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    state(d).await?;
    watched(d, "timeoutSeconds=20", 2).await
}

async fn a_watch_at_zero_begins_with_the_state(d: &mut Dialogue<'_>) -> Result<()> {
    state(d).await?;
    watched(d, "resourceVersion=0&allowWatchBookmarks=true", 3).await
}

const LIST: &str = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

async fn a_watch_list_without_a_version_marks_the_end_of_the_state(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    state(d).await?;
    watched(d, &format!("{LIST}&allowWatchBookmarks=true"), 3).await
}

async fn a_watch_list_at_zero_marks_the_end_of_the_state(d: &mut Dialogue<'_>) -> Result<()> {
    state(d).await?;
    watched(
        d,
        &format!("{LIST}&allowWatchBookmarks=true&resourceVersion=0"),
        3,
    )
    .await
}

async fn a_watch_list_at_a_version_marks_the_end_of_the_state(d: &mut Dialogue<'_>) -> Result<()> {
    let version = state(d).await?;
    watched(
        d,
        &format!("{LIST}&allowWatchBookmarks=true&resourceVersion={version}"),
        3,
    )
    .await
}

async fn a_watch_list_without_objects_is_only_its_mark(d: &mut Dialogue<'_>) -> Result<()> {
    watched(d, &format!("{LIST}&allowWatchBookmarks=true"), 1).await
}

async fn a_watch_list_without_bookmarks_marks_no_end(d: &mut Dialogue<'_>) -> Result<()> {
    state(d).await?;
    watched(d, LIST, 2).await
}

async fn a_watch_list_from_the_future_is_refused_in_band(d: &mut Dialogue<'_>) -> Result<()> {
    state(d).await?;
    let options = format!("{LIST}&allowWatchBookmarks=true&resourceVersion=999999999");
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&{options}")))
        .await?;
    d.read_to_end(&mut watch).await
}

const NO_LIST: &str = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";

async fn a_watch_without_initial_events_starts_now(d: &mut Dialogue<'_>) -> Result<()> {
    state(d).await?;
    watched(d, &format!("{NO_LIST}&allowWatchBookmarks=true"), 0).await
}

async fn a_watch_without_initial_events_at_zero_starts_now(d: &mut Dialogue<'_>) -> Result<()> {
    state(d).await?;
    watched(d, &format!("{NO_LIST}&resourceVersion=0"), 0).await
}

async fn a_watch_without_initial_events_at_a_version_starts_there(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    let version = state(d).await?;
    d.touch("a", "2").await?;
    watched(d, &format!("{NO_LIST}&resourceVersion={version}"), 1).await
}

async fn impossible_combinations_of_watch_options_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    for options in [
        "resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=NotOlderThan",
        "resourceVersion=1&resourceVersionMatch=Exact",
        "sendInitialEvents=true",
        "sendInitialEvents=false",
        "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
        "sendInitialEvents=true&resourceVersionMatch=Newest",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=abc",
    ] {
        d.get(d.core(&format!("configmaps?watch=1&{options}")))
            .await?;
    }
    Ok(())
}

async fn malformed_watch_options_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    for options in [
        "resourceVersion=nonsense",
        "resourceVersion=-1",
        "resourceVersion=nonsense&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        "timeoutSeconds=soon",
        "labelSelector=a%20b",
        "fieldSelector=spec.colour%3Dred",
    ] {
        d.get(d.core(&format!("configmaps?watch=1&{options}")))
            .await?;
    }
    d.get("/api/v1/namespaces/nowhere/widgets?watch=1").await?;
    Ok(())
}

async fn the_watch_flag_is_read_as_go_reads_it(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.get(d.core("configmaps?watch=0")).await?;
    d.get(d.core("configmaps?watch=False")).await?;
    let mut watch = d
        .watch(d.core("configmaps?watch=perhaps&timeoutSeconds=1"))
        .await?;
    d.read_to_end(&mut watch).await?;
    let mut watch = d.watch(d.core("configmaps?watch&timeoutSeconds=1")).await?;
    d.read_to_end(&mut watch).await
}

async fn a_watch_ends_in_order_at_its_timeout(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    let began = tokio::time::Instant::now();
    let mut watch = d
        .watch(d.core("configmaps?watch=1&timeoutSeconds=1"))
        .await?;
    d.read_to_end(&mut watch).await?;
    ensure!(
        began.elapsed().as_millis() >= 900,
        "the watch ended before its timeout"
    );
    Ok(())
}

/// The timeout of 3 s is that of a probe beside a silent stream, which relies on the bookmark. A server sends one for a
/// version that the watch has not reached by its own events. It does so two seconds before the timeout, by a timer of
/// 1.25 s. It sends another if that was early, and none if the machine delays it by more than 0.75 s.
async fn a_watch_has_a_bookmark_before_its_timeout(d: &mut Dialogue<'_>) -> Result<()> {
    const ATTEMPTS: usize = 5;
    d.config_map("b").await?;
    let version = d.config_map("a").await?.version()?;
    d.touch("a", "2").await?;
    let target = format!(
        "configmaps?watch=1&timeoutSeconds=3&allowWatchBookmarks=true&resourceVersion={version}&fieldSelector=metadata.name=a"
    );
    for attempt in 0..ATTEMPTS {
        let mut watch = d.watch(d.core(&target)).await?;
        d.touch("b", &attempt.to_string()).await?;
        d.read_to_end(&mut watch).await?;
        let told = d.steps.last_mut().context("the watch is a step")?;
        told.body.dedup();
        if told.body.iter().any(|line| line.contains("BOOKMARK")) {
            return Ok(());
        }
        d.steps.pop();
    }
    bail!("{ATTEMPTS} watches had no bookmark")
}

async fn a_watch_without_bookmarks_has_none_before_its_timeout(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    d.touch("a", "2").await?;
    let target = format!("configmaps?watch=1&timeoutSeconds=4&resourceVersion={version}");
    let mut watch = d.watch(d.core(&target)).await?;
    d.read_to_end(&mut watch).await
}

async fn a_deleted_object_comes_with_the_version_of_its_deletion(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    d.config_map("a").await?;
    let version = d.touch("a", "last").await?.version()?;
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&resourceVersion={version}")))
        .await?;
    d.remove("a").await?;
    d.config_map("a").await?;
    let frames = d.frames(&mut watch, 2).await?;
    ensure!(frames[0]["object"]["metadata"]["resourceVersion"] != json!(version));
    Ok(())
}

async fn an_object_with_a_finalizer_is_modified_then_deleted(d: &mut Dialogue<'_>) -> Result<()> {
    let mut object = config_map("held");
    object["metadata"]["finalizers"] = json!(["watchscope.test/hold"]);
    let made = d.post(d.core("configmaps"), &object).await?;
    let target = format!("configmaps?watch=1&resourceVersion={}", made.version()?);
    let mut watch = d.watch(d.core(&target)).await?;
    d.delete(d.core("configmaps/held")).await?;
    d.delete(d.core("configmaps/held")).await?;
    d.merge(
        d.core("configmaps/held"),
        &json!({"metadata": {"finalizers": null}}),
    )
    .await?;
    d.get(d.core("configmaps/held")).await?;
    d.frames(&mut watch, 2).await?;
    Ok(())
}

async fn events_of_several_objects_come_in_order_of_their_versions(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    let version = state(d).await?;
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&resourceVersion={version}")))
        .await?;
    for n in 0..3 {
        d.touch("z", &n.to_string()).await?;
        d.touch("a", &n.to_string()).await?;
    }
    d.frames(&mut watch, 6).await?;
    Ok(())
}

async fn an_object_leaves_and_enters_a_selection_by_its_labels(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("web").await?.version()?;
    let label = |value: &str| json!({"metadata": {"labels": {"app": value}}});
    d.merge(d.core("configmaps/web"), &label("other")).await?;
    d.merge(d.core("configmaps/web"), &label("web")).await?;
    d.touch("web", "2").await?;
    d.merge(d.core("configmaps/web"), &label("other")).await?;
    d.touch("web", "3").await?;
    d.remove("web").await?;
    d.config_map("web").await?;
    let target = format!("configmaps?watch=1&labelSelector=app%3Dweb&resourceVersion={version}");
    let mut watch = d.watch(d.core(&target)).await?;
    d.frames(&mut watch, 5).await?;
    Ok(())
}

async fn a_watch_of_one_name_sees_only_it(d: &mut Dialogue<'_>) -> Result<()> {
    let version = state(d).await?;
    d.touch("z", "2").await?;
    d.touch("a", "2").await?;
    d.remove("a").await?;
    let target =
        format!("configmaps?watch=1&fieldSelector=metadata.name%3Da&resourceVersion={version}");
    let mut watch = d.watch(d.core(&target)).await?;
    d.frames(&mut watch, 2).await?;
    Ok(())
}

async fn a_field_selector_translates_events_too(d: &mut Dialogue<'_>) -> Result<()> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let made = d.post(d.core("pods"), &pod).await?;
    for phase in ["Running", "Succeeded"] {
        d.merge(
            d.core("pods/p/status"),
            &json!({"status": {"phase": phase}}),
        )
        .await?;
    }
    let target = format!(
        "pods?watch=1&fieldSelector=status.phase%3DRunning&resourceVersion={}",
        made.version()?
    );
    let mut watch = d.watch(d.core(&target)).await?;
    d.frames(&mut watch, 2).await?;
    Ok(())
}

async fn a_watch_of_all_namespaces_sees_those_it_selects(d: &mut Dialogue<'_>) -> Result<()> {
    let mine = d.namespace.clone();
    let mut object = config_map("a");
    object["metadata"]["labels"] = json!({"of": mine});
    let made = d.post(d.core("configmaps"), &object).await?;
    d.config_map("unselected").await?;
    d.touch("a", "2").await?;
    let target = format!(
        "/api/v1/configmaps?watch=1&labelSelector=of%3D{mine}&resourceVersion={}",
        made.version()?
    );
    let mut watch = d.watch(target).await?;
    d.remove("a").await?;
    d.frames(&mut watch, 2).await?;
    Ok(())
}

async fn uncached_events_are_watched_in_etcd(d: &mut Dialogue<'_>) -> Result<()> {
    let event = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
            "involvedObject": {"kind": "Pod", "namespace": d.namespace, "name": "p"},
            "reason": "Tested", "message": "an event", "type": "Normal",
        })
    };
    let (one, two, three) = (event("one"), event("two"), event("three"));
    let version = d.post(d.core("events"), &one).await?.version()?;
    d.post(d.core("events"), &two).await?;
    d.merge(d.core("events/one"), &json!({"count": 2})).await?;
    d.delete(d.core("events/two")).await?;
    let mut watch = d
        .watch(d.core(&format!("events?watch=1&resourceVersion={version}")))
        .await?;
    d.frames(&mut watch, 3).await?;
    let mut watch = d
        .watch(d.core("events?watch=1&allowWatchBookmarks=true"))
        .await?;
    d.frames(&mut watch, 2).await?;
    let mut watch = d.watch(d.core("events?watch=1&resourceVersion=0")).await?;
    d.frames(&mut watch, 1).await?;
    d.post(d.core("events"), &three).await?;
    d.frames(&mut watch, 1).await?;
    Ok(())
}

async fn a_watch_ignores_limit_and_continue(d: &mut Dialogue<'_>) -> Result<()> {
    let version = state(d).await?;
    d.touch("a", "2").await?;
    d.touch("z", "2").await?;
    let target = format!("configmaps?watch=1&limit=1&resourceVersion={version}");
    let mut watch = d.watch(d.core(&target)).await?;
    d.frames(&mut watch, 2).await?;
    Ok(())
}

async fn the_old_watch_path_watches_too(d: &mut Dialogue<'_>) -> Result<()> {
    let version = state(d).await?;
    d.touch("a", "2").await?;
    d.touch("z", "2").await?;
    let namespace = d.namespace.clone();
    let target =
        format!("/api/v1/watch/namespaces/{namespace}/configmaps?resourceVersion={version}");
    let mut watch = d.watch(target).await?;
    d.frames(&mut watch, 2).await?;
    let target =
        format!("/api/v1/watch/namespaces/{namespace}/configmaps/z?resourceVersion={version}");
    let mut watch = d.watch(target).await?;
    d.frames(&mut watch, 1).await?;
    Ok(())
}

async fn a_write_that_changes_nothing_is_no_event(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    let same = d
        .merge(d.core("configmaps/a"), &json!({"data": {"n": "1"}}))
        .await?;
    ensure!(same.version()? == version, "nothing was written");
    d.touch("a", "2").await?;
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&resourceVersion={version}")))
        .await?;
    d.frames(&mut watch, 1).await?;
    Ok(())
}

async fn a_watch_with_a_negative_timeout_ends_at_once(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    let target = d.core(&format!(
        "configmaps?watch=1&timeoutSeconds=-1&resourceVersion={version}"
    ));
    let mut watch = d.watch(target).await?;
    d.read_to_end(&mut watch).await?;
    let target = d.core(&format!(
        "configmaps?watch=1&timeoutSeconds=1&timeout=soon&resourceVersion={version}"
    ));
    let mut watch = d.watch(target).await?;
    d.read_to_end(&mut watch).await
}
