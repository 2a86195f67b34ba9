//! LIST and GET by resourceVersion, match and limit: every cell of docs/semantics/lists-and-watches.md#list. Also pages
//! under writes.

use anyhow::{Result, ensure};
use serde_json::json;

use super::dialogue::{Dialogue, config_map};
use super::exchanges;
use super::wire::Ask;

exchanges![
    a_list_without_a_version_is_as_new_as_the_last_write,
    an_empty_list_has_a_version,
    a_list_without_a_version_comes_in_pages_of_one_version,
    a_page_that_holds_all_has_no_continue_token,
    a_list_at_zero_ignores_the_limit,
    a_list_at_zero_not_older_than_zero,
    a_list_at_a_version_is_at_least_as_new,
    a_list_not_older_than_a_version_is_of_now,
    a_list_from_the_future_is_too_large,
    a_limited_list_at_a_version_is_of_exactly_that_version,
    a_limited_list_not_older_than_a_version_is_of_now,
    an_exact_list_is_of_that_version,
    an_exact_list_in_pages_stays_at_that_version,
    an_exact_list_before_everything_is_empty,
    an_exact_list_from_the_future_is_too_large,
    pages_under_writes_show_one_state,
    a_continued_list_may_not_name_a_version,
    a_continued_list_may_name_version_zero,
    a_continued_list_may_not_name_a_match,
    continue_tokens_that_were_tampered_with_are_refused,
    an_inconsistent_continue_token_goes_on_with_the_latest,
    one_name_is_listed_by_a_field_selector,
    lists_with_selectors_do_not_count_what_remains,
    all_namespaces_are_listed_in_order_of_their_keys,
    uncached_events_are_listed_by_etcd,
    one_object_is_read_at_each_kind_of_version,
    an_object_from_the_future_is_too_large,
    impossible_combinations_of_list_options_are_refused,
    malformed_list_options_are_refused,
    a_list_says_how_long_it_waits_for_its_answer,
    an_answer_that_takes_too_long_is_given_up,
];

/// Creates three configmaps; returns the version of the last write.
async fn three(d: &mut Dialogue<'_>) -> Result<String> {
    d.config_map("a").await?;
    d.config_map("b").await?;
    d.config_map("c").await?.version()
}

async fn a_list_without_a_version_is_as_new_as_the_last_write(d: &mut Dialogue<'_>) -> Result<()> {
    let last = three(d).await?;
    let list = d.get(d.core("configmaps")).await?;
    ensure!(
        list.version()? == last,
        "the list's version is that of the last write"
    );
    d.touch("b", "2").await?;
    d.remove("a").await?;
    d.get(d.core("configmaps")).await?;
    Ok(())
}

async fn an_empty_list_has_a_version(d: &mut Dialogue<'_>) -> Result<()> {
    d.get(d.core("configmaps")).await?;
    d.get(d.group("apps/v1", "deployments")).await?;
    d.get("/api/v1/namespaces/nowhere/configmaps").await?;
    Ok(())
}

async fn a_list_without_a_version_comes_in_pages_of_one_version(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    three(d).await?;
    let first = d.get(d.core("configmaps?limit=2")).await?;
    let token = first.text("/metadata/continue")?;
    d.get(d.core(&format!("configmaps?limit=2&continue={token}")))
        .await?;
    let first = d.get(d.core("configmaps?limit=1")).await?;
    let token = first.text("/metadata/continue")?;
    d.get(d.core(&format!("configmaps?continue={token}")))
        .await?;
    Ok(())
}

async fn a_page_that_holds_all_has_no_continue_token(d: &mut Dialogue<'_>) -> Result<()> {
    three(d).await?;
    d.get(d.core("configmaps?limit=3")).await?;
    d.get(d.core("configmaps?limit=500")).await?;
    d.get(d.core("configmaps?limit=0")).await?;
    Ok(())
}

async fn a_list_at_zero_ignores_the_limit(d: &mut Dialogue<'_>) -> Result<()> {
    three(d).await?;
    // After this list the cache is as new as the list, so the next answer is the same on both servers.
    d.get(d.core("configmaps")).await?;
    d.get(d.core("configmaps?resourceVersion=0&limit=1"))
        .await?;
    d.get(d.core("configmaps?resourceVersion=0")).await?;
    Ok(())
}

async fn a_list_at_zero_not_older_than_zero(d: &mut Dialogue<'_>) -> Result<()> {
    three(d).await?;
    d.get(d.core("configmaps")).await?;
    d.get(d.core("configmaps?resourceVersion=0&resourceVersionMatch=NotOlderThan"))
        .await?;
    d.get(d.core("configmaps?resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=2"))
        .await?;
    Ok(())
}

async fn a_list_at_a_version_is_at_least_as_new(d: &mut Dialogue<'_>) -> Result<()> {
    let first = d.config_map("a").await?.version()?;
    let second = d.config_map("b").await?.version()?;
    d.get(d.core(&format!("configmaps?resourceVersion={second}")))
        .await?;
    d.get(d.core(&format!("configmaps?resourceVersion={first}")))
        .await?;
    Ok(())
}

async fn a_list_not_older_than_a_version_is_of_now(d: &mut Dialogue<'_>) -> Result<()> {
    let first = d.config_map("a").await?.version()?;
    d.config_map("b").await?;
    d.get(d.core("configmaps")).await?;
    let target = format!("configmaps?resourceVersion={first}&resourceVersionMatch=NotOlderThan");
    d.get(d.core(&target)).await?;
    Ok(())
}

/// A version far above every existing one.
const FUTURE: &str = "999999999";

async fn a_list_from_the_future_is_too_large(d: &mut Dialogue<'_>) -> Result<()> {
    three(d).await?;
    d.get(d.core("configmaps")).await?;
    d.get(d.core(&format!("configmaps?resourceVersion={FUTURE}")))
        .await?;
    Ok(())
}

async fn a_limited_list_at_a_version_is_of_exactly_that_version(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    let last = three(d).await?;
    d.touch("a", "2").await?;
    d.remove("c").await?;
    let target = format!("configmaps?resourceVersion={last}&limit=2");
    let first = d.get(d.core(&target)).await?;
    let token = first.text("/metadata/continue")?;
    d.get(d.core(&format!("configmaps?limit=2&continue={token}")))
        .await?;
    Ok(())
}

async fn a_limited_list_not_older_than_a_version_is_of_now(d: &mut Dialogue<'_>) -> Result<()> {
    let last = three(d).await?;
    d.remove("a").await?;
    d.get(d.core("configmaps")).await?;
    let options = format!("resourceVersion={last}&resourceVersionMatch=NotOlderThan&limit=1");
    let first = d.get(d.core(&format!("configmaps?{options}"))).await?;
    let token = first.text("/metadata/continue")?;
    d.get(d.core(&format!("configmaps?limit=1&continue={token}")))
        .await?;
    Ok(())
}

async fn an_exact_list_is_of_that_version(d: &mut Dialogue<'_>) -> Result<()> {
    let last = three(d).await?;
    d.touch("a", "2").await?;
    d.remove("c").await?;
    let exact =
        |version: &str| format!("configmaps?resourceVersion={version}&resourceVersionMatch=Exact");
    d.get(d.core(&exact(&last))).await?;
    let now = d.get(d.core("configmaps")).await?.version()?;
    d.get(d.core(&exact(&now))).await?;
    Ok(())
}

async fn an_exact_list_in_pages_stays_at_that_version(d: &mut Dialogue<'_>) -> Result<()> {
    let last = three(d).await?;
    d.remove("b").await?;
    let target = format!("configmaps?resourceVersion={last}&resourceVersionMatch=Exact&limit=1");
    let first = d.get(d.core(&target)).await?;
    let token = first.text("/metadata/continue")?;
    d.remove("c").await?;
    d.get(d.core(&format!("configmaps?continue={token}")))
        .await?;
    Ok(())
}

async fn an_exact_list_before_everything_is_empty(d: &mut Dialogue<'_>) -> Result<()> {
    let before = d.get(d.core("configmaps")).await?.version()?;
    three(d).await?;
    let target = format!("configmaps?resourceVersion={before}&resourceVersionMatch=Exact");
    d.get(d.core(&target)).await?;
    Ok(())
}

async fn an_exact_list_from_the_future_is_too_large(d: &mut Dialogue<'_>) -> Result<()> {
    three(d).await?;
    let target = format!("configmaps?resourceVersion={FUTURE}&resourceVersionMatch=Exact");
    d.get(d.core(&target)).await?;
    d.get(d.core(&format!("{target}&limit=1"))).await?;
    Ok(())
}

async fn pages_under_writes_show_one_state(d: &mut Dialogue<'_>) -> Result<()> {
    for n in 0..6 {
        d.config_map(&format!("item-{n}")).await?;
    }
    let mut page = d.get(d.core("configmaps?limit=2")).await?;
    let mut round = 0;
    while let Ok(token) = page.text("/metadata/continue") {
        d.touch("item-0", &format!("round {round}")).await?;
        d.remove(&format!("item-{}", 5 - round)).await?;
        d.config_map(&format!("late-{round}")).await?;
        page = d
            .get(d.core(&format!("configmaps?limit=2&continue={token}")))
            .await?;
        round += 1;
    }
    d.get(d.core("configmaps?limit=2")).await?;
    Ok(())
}

/// Returns the continue token of a first page with one object.
async fn token(d: &mut Dialogue<'_>) -> Result<String> {
    let target = d.core("configmaps?limit=1");
    d.prepare(Ask::new("GET", target))
        .await?
        .text("/metadata/continue")
}

async fn a_continued_list_may_not_name_a_version(d: &mut Dialogue<'_>) -> Result<()> {
    let last = three(d).await?;
    let token = token(d).await?;
    d.get(d.core(&format!(
        "configmaps?continue={token}&resourceVersion={last}"
    )))
    .await?;
    Ok(())
}

async fn a_continued_list_may_name_version_zero(d: &mut Dialogue<'_>) -> Result<()> {
    three(d).await?;
    let token = token(d).await?;
    d.get(d.core(&format!(
        "configmaps?continue={token}&resourceVersion=0&limit=1"
    )))
    .await?;
    Ok(())
}

async fn a_continued_list_may_not_name_a_match(d: &mut Dialogue<'_>) -> Result<()> {
    let last = three(d).await?;
    let token = token(d).await?;
    for (version, matching) in [
        (last.as_str(), "Exact"),
        (last.as_str(), "NotOlderThan"),
        ("", "NotOlderThan"),
    ] {
        let options =
            format!("continue={token}&resourceVersion={version}&resourceVersionMatch={matching}");
        d.get(d.core(&format!("configmaps?{options}"))).await?;
    }
    Ok(())
}

async fn continue_tokens_that_were_tampered_with_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    three(d).await?;
    let encode = |text: &str| {
        use base64::Engine as _;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
    };
    for token in [
        "nonsense".to_owned(),
        "!".to_owned(),
        encode("{}"),
        encode("not json"),
        encode(r#"{"v":"meta.k8s.io/v9","rv":1,"start":"a\u0000"}"#),
        encode(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a\u0000"}"#),
        encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":""}"#),
        encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets\u0000"}"#),
        encode(r#"{"v":"meta.k8s.io/v1","rv":999999999,"start":"a\u0000"}"#),
    ] {
        d.get(d.core(&format!("configmaps?limit=1&continue={token}")))
            .await?;
    }
    Ok(())
}

async fn an_inconsistent_continue_token_goes_on_with_the_latest(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    use base64::Engine as _;
    three(d).await?;
    let token = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .encode(r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}"#);
    d.config_map("bb").await?;
    d.get(d.core(&format!("configmaps?limit=1&continue={token}")))
        .await?;
    d.get(d.core(&format!("configmaps?continue={token}")))
        .await?;
    Ok(())
}

async fn one_name_is_listed_by_a_field_selector(d: &mut Dialogue<'_>) -> Result<()> {
    let last = three(d).await?;
    d.remove("b").await?;
    d.get(d.core("configmaps?fieldSelector=metadata.name%3Da"))
        .await?;
    d.get(d.core("configmaps?fieldSelector=metadata.name%3Db"))
        .await?;
    d.get(d.core("configmaps?fieldSelector=metadata.name!%3Da"))
        .await?;
    let exact = format!(
        "fieldSelector=metadata.name%3Db&resourceVersion={last}&resourceVersionMatch=Exact"
    );
    d.get(d.core(&format!("configmaps?{exact}"))).await?;
    d.get(d.core("configmaps?fieldSelector=metadata.name%3Da&limit=1"))
        .await?;
    d.get(d.core("configmaps?fieldSelector=metadata.name%3Da&resourceVersion=0"))
        .await?;
    Ok(())
}

async fn lists_with_selectors_do_not_count_what_remains(d: &mut Dialogue<'_>) -> Result<()> {
    for name in ["a", "b", "c", "d"] {
        d.config_map(name).await?;
    }
    let first = d
        .get(d.core("configmaps?limit=1&labelSelector=app%20notin%20(b)"))
        .await?;
    let token = first.text("/metadata/continue")?;
    let next = format!("configmaps?limit=1&labelSelector=app%20notin%20(b)&continue={token}");
    d.get(d.core(&next)).await?;
    d.get(d.core("configmaps?limit=1&labelSelector=app%3Dd"))
        .await?;
    d.get(d.core("configmaps?limit=2&fieldSelector=metadata.name!%3Da"))
        .await?;
    d.get(d.core("configmaps?labelSelector=app%3Dnobody"))
        .await?;
    Ok(())
}

async fn all_namespaces_are_listed_in_order_of_their_keys(d: &mut Dialogue<'_>) -> Result<()> {
    let other = format!("{}-b", d.namespace);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
    d.prepare(Ask::new("POST", "/api/v1/namespaces").json(&namespace))
        .await?;
    let mine = d.namespace.clone();
    for (namespace, name) in [(&mine, "z"), (&other, "a"), (&mine, "a")] {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"of": mine});
        let target = format!("/api/v1/namespaces/{namespace}/configmaps");
        d.prepare(Ask::new("POST", target).json(&object)).await?;
    }
    let first = d
        .get(format!(
            "/api/v1/configmaps?labelSelector=of%3D{mine}&limit=2"
        ))
        .await?;
    let token = first.text("/metadata/continue")?;
    d.get(format!(
        "/api/v1/configmaps?labelSelector=of%3D{mine}&limit=2&continue={token}"
    ))
    .await?;
    d.get(format!(
        "/api/v1/configmaps?fieldSelector=metadata.namespace%3D{other}"
    ))
    .await?;
    Ok(())
}

async fn uncached_events_are_listed_by_etcd(d: &mut Dialogue<'_>) -> Result<()> {
    let mut versions = Vec::new();
    for name in ["a", "b", "c"] {
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
            "involvedObject": {"kind": "Pod", "namespace": d.namespace, "name": "p"},
            "reason": "Tested", "message": "an event", "type": "Normal",
        });
        let target = d.core("events");
        versions.push(
            d.prepare(Ask::new("POST", target).json(&event))
                .await?
                .version()?,
        );
    }
    d.get(d.core("events")).await?;
    let first = d.get(d.core("events?resourceVersion=0&limit=1")).await?;
    if let Ok(token) = first.text("/metadata/continue") {
        d.get(d.core(&format!("events?limit=1&continue={token}")))
            .await?;
    }
    d.get(d.core("events?resourceVersion=0")).await?;
    d.get(d.core(&format!("events?resourceVersion={}", versions[1])))
        .await?;
    d.get(d.core(&format!("events?resourceVersion={}&limit=2", versions[1])))
        .await?;
    d.get(d.core(&format!(
        "events?resourceVersion={}&resourceVersionMatch=Exact",
        versions[0]
    )))
    .await?;
    d.get(d.core(&format!(
        "events?resourceVersion={}&resourceVersionMatch=NotOlderThan&limit=2",
        versions[0]
    )))
    .await?;
    d.get(d.core(&format!("events?resourceVersion={FUTURE}")))
        .await?;
    Ok(())
}

async fn one_object_is_read_at_each_kind_of_version(d: &mut Dialogue<'_>) -> Result<()> {
    let first = d.config_map("a").await?.version()?;
    d.touch("a", "2").await?;
    d.get(d.core("configmaps/a")).await?;
    d.get(d.core("configmaps")).await?;
    d.get(d.core("configmaps/a?resourceVersion=0")).await?;
    d.get(d.core(&format!("configmaps/a?resourceVersion={first}")))
        .await?;
    d.get(d.core("configmaps/a?resourceVersion=nonsense"))
        .await?;
    d.get(d.core("configmaps/gone")).await?;
    d.get(d.core("configmaps/gone?resourceVersion=0")).await?;
    d.get(d.core("configmaps/a?watch=1")).await?;
    Ok(())
}

async fn an_object_from_the_future_is_too_large(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    d.get(d.core("configmaps")).await?;
    d.get(d.core(&format!("configmaps/a?resourceVersion={FUTURE}")))
        .await?;
    Ok(())
}

async fn impossible_combinations_of_list_options_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    for options in [
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Newest",
        "resourceVersionMatch=Newest",
        "sendInitialEvents=true",
        "sendInitialEvents=false",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    ] {
        d.get(d.core(&format!("configmaps?{options}"))).await?;
    }
    Ok(())
}

async fn malformed_list_options_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    for options in [
        "resourceVersion=nonsense",
        "resourceVersion=-1",
        "resourceVersion=1.5",
        "resourceVersion=nonsense&resourceVersionMatch=Exact",
        "resourceVersion=nonsense&limit=1",
        "limit=many",
        "limit=-1",
        "timeoutSeconds=soon",
        "labelSelector=a%20b",
        "labelSelector=%3Dx",
        "labelSelector=a%20in%20(x",
        "labelSelector=a%3E",
        "labelSelector=-a",
        "labelSelector=a%3D-b",
        "labelSelector=a%3Dx%2Cb%20notin%20()",
        "fieldSelector=nonsense",
        "fieldSelector=spec.colour%3Dred",
        "fieldSelector=metadata.name%3E5",
    ] {
        d.get(d.core(&format!("configmaps?{options}"))).await?;
    }
    Ok(())
}

async fn a_list_says_how_long_it_waits_for_its_answer(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for asked in [
        "timeoutSeconds=5",
        "timeoutSeconds=-1",
        "timeoutSeconds=",
        "timeoutSeconds=1.5",
        "timeoutSeconds=99999999999999999999",
        "limit=",
        "timeout=5s",
        "timeout=",
        "timeout=0",
        "timeout=-5s",
        "timeout=90s",
        "timeout=soon",
        "timeout=5",
        "timeout=5x",
    ] {
        d.get(d.core(&format!("configmaps?{asked}"))).await?;
    }
    d.get(d.core("configmaps/a?timeout=soon")).await?;
    d.get("/version?timeout=soon").await?;
    Ok(())
}

async fn an_answer_that_takes_too_long_is_given_up(d: &mut Dialogue<'_>) -> Result<()> {
    d.config_map("a").await?;
    for target in [
        "configmaps?timeout=1ns",
        "configmaps?resourceVersion=999999999&timeout=200ms",
        "configmaps/a?resourceVersion=999999999&timeout=200ms",
        "configmaps?resourceVersion=999999999&timeout=30s",
    ] {
        d.get(d.core(target)).await?;
    }
    Ok(())
}
