//! Tests of findings from client programs' own records.

use crate::stage::Stage;
use watchscope_model::vocabulary::ChangeType;

const MAPS: &str = "/api/v1/configmaps";
const IN_SHOP: &str = "/api/v1/namespaces/shop/configmaps";
const HOLDS: &str =
    r#"[{"resource":"configmaps","resourceVersion":"11","objects":1,"held":{"shop/a":"u@11"}}]"#;

fn nobody() -> Stage {
    Stage::new(1, &["*/pods"])
}

/// A client that watches a scope, lists another every two seconds, and handles something after each list.
fn comparing(watched: &str, listed: &str) -> Stage {
    let mut stage = nobody();
    stage
        .starts("c", "comparer")
        .asks("c", watched)
        .reports("c", "watching", (0, 0), Some(HOLDS))
        .after_s(2);
    for n in 1..=3 {
        stage
            .asks("c", listed)
            .after_s(1)
            .reports("c", "watching", (n, n * 2), None)
            .after_s(1);
    }
    stage
}

#[test]
fn a_client_that_handles_a_list_of_another_scope_compares_different_sets() {
    let watch = format!("{IN_SHOP}?watch=true&resourceVersion=11&labelSelector=tier%3Dweb");
    let same = format!("{IN_SHOP}?limit=500&labelSelector=tier%3Dweb");
    for listed in [&same, "/api/v1/pods"] {
        assert_eq!(comparing(&watch, listed).found(), "");
    }
    let other = format!("{IN_SHOP}?labelSelector=tier%3Ddb");
    insta::assert_snapshot!(comparing(&watch, &other).found(), @r"
3.000 F42 raised error likely x1 c: c watches /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Dweb and listed /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Ddb. Nothing that it watches changed, but it handled 2 differences: it compares different scopes.
5.000 F42 raised error likely x2 c: c watches /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Dweb and listed /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Ddb. Nothing that it watches changed, but it handled 2 differences: it compares different scopes.
7.000 F42 raised error likely x3 c: c watches /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Dweb and listed /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Ddb. Nothing that it watches changed, but it handled 2 differences: it compares different scopes.
");
    insta::assert_snapshot!(comparing(&watch, MAPS).found(), @r"
3.000 F42 raised error likely x1 c: c watches /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Dweb and listed /api/v1/configmaps. Nothing that it watches changed, but it handled 2 differences: it compares different scopes.
5.000 F42 raised error likely x2 c: c watches /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Dweb and listed /api/v1/configmaps. Nothing that it watches changed, but it handled 2 differences: it compares different scopes.
7.000 F42 raised error likely x3 c: c watches /api/v1/namespaces/shop/configmaps?labelSelector=tier%3Dweb and listed /api/v1/configmaps. Nothing that it watches changed, but it handled 2 differences: it compares different scopes.
");
}

#[test]
fn a_client_that_lists_another_scope_and_handles_nothing_is_no_finding() {
    let mut stage = nobody();
    stage
        .starts("c", "informer")
        .asks("c", &format!("{IN_SHOP}?watch=true&resourceVersion=11"))
        .reports("c", "watching", (0, 0), Some(HOLDS))
        .after_s(2)
        .asks("c", MAPS)
        .after_s(1)
        .reports("c", "watching", (1, 0), None)
        .after_s(1)
        .reports("c", "watching", (2, 1), Some(HOLDS));
    insta::assert_snapshot!(stage.found(), @"");
}

#[test]
fn a_crowd_of_watches_without_a_version_is_over_when_most_have_gone() {
    let mut stage = nobody();
    let names: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
    for name in &names {
        stage.starts(name, "watch-deployment");
        stage.asks(name, &format!("{MAPS}?watch=true"));
        stage.reports(name, "watching", (0, 0), None);
    }
    stage.after_s(5);
    for name in &names[..12] {
        stage.reports(name, "returned", (0, 0), None);
    }
    let found = stage.found().to_owned();
    insta::assert_snapshot!(found, @r"
0.000 F20 raised warning suspected x1 : 20 clients watch without a resourceVersion: a server of 1.27 to 1.29 opens a watch of etcd for each.
5.000 F20 cleared warning suspected x1 : Only 9 clients still watch without a resourceVersion.
");
}

/// 1.27.0 to 1.27.12, 1.28.0 to 1.28.8 and 1.29.0 to 1.29.3 ask etcd for each such watch
/// (docs/semantics/lists-and-watches.md#watch-without-version).
#[test]
fn a_crowd_of_watches_without_a_version_is_reported_only_if_each_is_a_watch_of_etcd() {
    let is_found = |version: &str| {
        let mut stage = nobody();
        stage.of_version(version);
        for n in 0..20 {
            let name = format!("c{n}");
            stage.starts(&name, "watch-deployment");
            stage.asks(&name, &format!("{MAPS}?watch=true"));
            stage.reports(&name, "watching", (0, 0), None);
        }
        stage.after_s(5).found().contains("F20 raised")
    };
    for version in [
        "v1.27.0",
        "v1.27.12",
        "v1.28.0",
        "v1.28.8",
        "v1.29.0",
        "v1.29.3-gke.100",
        "none",
    ] {
        assert!(is_found(version), "{version}");
    }
    for version in [
        "v1.26.15", "v1.27.13", "v1.28.9", "v1.29.4", "v1.29.14", "v1.30.0", "v1.37.0",
    ] {
        assert!(!is_found(version), "{version}");
    }
}

#[test]
fn a_client_that_asks_again_after_it_had_returned_receives_events_again() {
    for (returns_after_s, code) in [(0, "F48"), (60, "F03")] {
        let mut stage = nobody();
        stage
            .starts("c", "retry-watcher")
            .asks("c", &format!("{MAPS}?watch=true&resourceVersion=11"))
            .after_s(returns_after_s)
            .reports("c", "returned", (0, 0), None)
            .after_s(120);
        let raised = stage.found().to_owned();
        assert!(raised.contains(&format!("{code} raised")), "{raised}");
        stage.asks("c", MAPS);
        let found = stage.found();
        assert!(found.contains(&format!("{code} cleared")), "{found}");
    }
}

#[test]
fn a_loop_that_stops_turning_spins_no_longer() {
    let mut stage = nobody();
    stage.starts("c", "pvc-loop");
    stage.asks("c", &format!("{MAPS}?watch=true&resourceVersion=11"));
    stage.after_s(5);
    stage.reports("c", "spinning", (0, 0), None).after_s(1);
    stage.reports("c", "spinning", (90_000, 90_000), None);
    stage.after_s(1);
    stage.reports("c", "failed", (180_000, 180_000), None);
    insta::assert_snapshot!(stage.found(), @r"
6.000 F01 raised error definite x1 c: The loop of c runs 90000 times a second without an open stream and without a request: it reads a closed channel and takes the zero values for events.
7.000 F01 cleared error definite x1 c: The client's loop no longer spins.
");
}

#[test]
fn a_list_in_pages_is_of_when_its_first_was_asked_for() {
    let found = |more: &str| {
        let maps = "*/configmaps";
        let mut stage = Stage::new(1, &[maps]);
        stage.starts("c", "informer").after_s(10);
        stage.asks("c", &format!("{MAPS}?limit=500")).after_s(1);
        stage.live(maps, ChangeType::Added, "b", "u2", 12, None);
        stage.after_s(5);
        stage
            .asks("c", &format!("{MAPS}?limit=500{more}"))
            .after_s(1);
        stage
            .reports("c", "listing", (0, 0), Some(HOLDS))
            .after_s(1);
        stage.found().to_owned()
    };
    insta::assert_snapshot!(found("&continue=abc"), @"");
    insta::assert_snapshot!(found(""), @"17.000 F33 raised error suspected x1 c: c listed configmaps and got the state at 11, though */configmaps had delivered 12 before the request.");
}
