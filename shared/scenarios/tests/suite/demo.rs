//! The demo's story shows its promises within its first minute, and again later.

use std::time::Duration;

use watchscope_model::event::Event;
use watchscope_model::vocabulary::{Cause, ChangeType, Origin, Phase};
use watchscope_model::{Record, WatchName};
use watchscope_probe::{ProbeConfig, WatchSpec};
use watchscope_scenarios::{Run, demo};

fn watched(seed: u64, for_s: u64) -> Run {
    let mut run = Run::of_story(demo::story(), seed);
    for (index, (resource, kind)) in [
        ("pods", "Pod"),
        ("configmaps", "ConfigMap"),
        ("services", "Service"),
        ("deployments.apps", "Deployment"),
    ]
    .into_iter()
    .enumerate()
    {
        run.watch(
            WatchSpec::of("shop", resource, kind),
            ProbeConfig::default(),
            seed + index as u64,
        );
    }
    run.run_for(Duration::from_secs(for_s));
    run
}

fn of<'a>(run: &'a Run, watch: &str) -> Vec<&'a Record> {
    let of_watch = |record: &&Record| {
        record
            .event
            .watch()
            .is_some_and(|name| name.as_str() == watch)
    };
    run.records().iter().filter(of_watch).collect()
}

fn count(records: &[&Record], is: impl Fn(&Event) -> bool) -> usize {
    records.iter().filter(|record| is(&record.event)).count()
}

#[test]
fn the_first_minute_has_a_rollout_a_reset_an_expiry_and_a_quiet_watch_and_they_repeat() {
    for (minutes, at_least) in [(1, 1), (5, 2)] {
        let run = watched(7, minutes * 60);
        let pods = of(&run, "shop/pods");
        let live = |change| move |event: &Event| matches!(event, Event::Change(c) if c.change == change && c.origin == Origin::Live);
        assert!(
            count(&pods, live(ChangeType::Added)) >= 4 * at_least,
            "pods come"
        );
        assert!(
            count(&pods, live(ChangeType::Deleted)) >= 4 * at_least,
            "pods go"
        );
        let reset = |event: &Event| matches!(event, Event::StreamEnded(end) if end.cause == Cause::TcpReset);
        assert!(count(&pods, reset) >= at_least, "a reset");
        let resumed =
            |event: &Event| matches!(event, Event::Gap(gap) if gap.resumed && gap.lost == Some(0));
        assert!(count(&pods, resumed) >= at_least, "resumed without loss");
        assert_eq!(
            count(&pods, |event| matches!(event, Event::ListComplete(_))),
            1,
            "pods are never relisted"
        );

        let configmaps = of(&run, "shop/configmaps");
        let throttled = |event: &Event| matches!(event, Event::RequestAnswered(answer) if answer.status == Some(429));
        assert!(count(&configmaps, throttled) >= at_least, "429");
        let expired =
            |event: &Event| matches!(event, Event::StreamError(error) if error.code == 410);
        assert!(count(&configmaps, expired) >= at_least, "410");
        let inferred = |event: &Event| matches!(event, Event::Change(c) if c.change == ChangeType::Deleted && c.origin == Origin::Inferred);
        assert!(
            count(&configmaps, inferred) >= 2 * at_least,
            "inferred deletes"
        );
        let lost = |event: &Event| matches!(event, Event::Gap(gap) if !gap.resumed);
        assert!(
            count(&configmaps, lost) >= at_least,
            "a gap that may have lost events"
        );

        let services = of(&run, "shop/services");
        assert_eq!(
            count(&services, live(ChangeType::Modified)),
            0,
            "services are quiet"
        );
        let phase = run.state().watches[&WatchName::from("shop/services")]
            .phase
            .as_ref()
            .map(|phase| phase.phase);
        assert_eq!(phase, Some(Phase::Streaming));
    }
}

#[test]
fn the_same_seed_gives_the_same_records() {
    assert_eq!(watched(3, 60).records(), watched(3, 60).records());
}

#[test]
fn after_any_minute_each_watch_holds_exactly_the_clusters_objects() {
    for seed in 0..6 {
        holds_the_truth(seed, 5);
    }
}

#[test]
#[ignore = "two virtual days: cargo xtask test --long"]
fn after_any_minute_of_a_day_each_watch_holds_exactly_the_clusters_objects() {
    for seed in 6..8 {
        holds_the_truth(seed, 24 * 60);
    }
}

/// Checks the watches after each minute.
fn holds_the_truth(seed: u64, minutes: u32) {
    let mut run = watched(seed, 0);
    for _ in 0..minutes {
        run.run_for(Duration::from_secs(57));
        // Far from the story's faults, and with nothing under way, belief and truth must be equal.
        for (watch, qualified) in [
            ("shop/services", "services"),
            ("shop/deployments.apps", "deployments.apps"),
        ] {
            let held = &run.state().watches[&WatchName::from(watch)];
            let names: Vec<String> = held
                .objects
                .sorted()
                .iter()
                .map(|held| held.object.name.to_string())
                .collect();
            let truth: Vec<String> = run
                .world
                .truth()
                .objects(qualified, "shop")
                .iter()
                .map(|o| o.name().to_owned())
                .collect();
            assert_eq!(names, truth, "seed {seed}: {watch}");
        }
    }
}
