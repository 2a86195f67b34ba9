//! Small stories and their pictures.

use crate::common::{Log, at, picture, picture_of};
use watchscope_model::vocabulary::*;
use watchscope_timeline::lanes::Density;
use watchscope_timeline::picture::{Caption, saved};
use watchscope_timeline::{Lanes, Picture, Px, View};

/// Returns the stories of the look: a reset with resume, an expiry with relist and inferred deletes, a ghost, a quiet
/// lane.
fn demo() -> Log {
    use ChangeType::*;
    let mut log = Log::new("a");
    let (pods, maps, svc) = ("shop/pods", "shop/configmaps", "shop/services");
    log.opened(
        -60.0,
        pods,
        1,
        &["cart-0", "cart-1", "report-7xq4m"],
        88_235_000,
    );
    log.opened(
        -59.0,
        maps,
        2,
        &["api-env", "feature-flags", "params-1", "params-2"],
        88_235_001,
    );
    log.opened(-58.0, svc, 3, &[], 88_235_002);
    let live = |log: &mut Log, s: f64, change, name: &str, version: u64| {
        log.change(s, pods, change, Origin::Live, name, version);
    };
    for (place, s) in [12.0, 17.0, 23.0, 61.0, 104.0].iter().enumerate() {
        live(
            &mut log,
            *s,
            Modified,
            "cart-1",
            88_235_100 + 30 * place as u64,
        );
        log.change_as(
            *s + 4.6,
            pods,
            Modified,
            Origin::Live,
            "cart-0",
            88_235_110 + 30 * place as u64,
            (1, Some("status")),
        );
        if place % 2 == 0 {
            log.bookmark(*s + 10.0, pods, 10, 88_235_115 + 30 * place as u64);
        }
    }
    log.end(127.0, pods, 10, Cause::TcpReset);
    log.end(127.001, maps, 20, Cause::TcpReset);
    log.push(
        127.002,
        watchscope_model::event::ConnectionClosed::unasked(
            watchscope_model::ConnectionId(1),
            Cause::TcpReset,
        ),
    );
    log.phase(127.01, pods, Phase::Connecting, PhaseReason::Resume, None);
    log.phase(
        127.01,
        maps,
        Phase::Waiting,
        PhaseReason::TooManyRequests,
        Some(10_000),
    );
    log.connection(133.0, 4, "10.20.0.12:6443");
    log.request(133.1, pods, 401, 4, "watch", "watch=1&timeoutSeconds=388");
    log.gap(134.2, pods, true, Some(0));
    log.open(134.2, pods, 12, 401, 88_235_236);
    for s in 0..4 {
        let s = 140.0 + 12.0 * f64::from(s);
        log.phase(s, maps, Phase::Connecting, PhaseReason::RetryDue, None);
        log.phase(
            s + 0.5,
            maps,
            Phase::Waiting,
            PhaseReason::TooManyRequests,
            Some(10_000),
        );
    }
    log.phase(194.0, maps, Phase::Connecting, PhaseReason::RetryDue, None);
    log.open(195.0, maps, 21, 402, 88_235_001);
    log.error(196.0, maps, 21, 410);
    log.end(196.0, maps, 21, Cause::ErrorEvent);
    log.phase(196.1, maps, Phase::Listing, PhaseReason::Expired, None);
    log.change(
        203.0,
        maps,
        Modified,
        Origin::List,
        "feature-flags",
        88_235_500,
    );
    log.change(
        203.0,
        maps,
        Deleted,
        Origin::Inferred,
        "params-1",
        88_234_952,
    );
    log.change(
        203.0,
        maps,
        Deleted,
        Origin::Inferred,
        "params-2",
        88_234_953,
    );
    log.list(203.1, maps, 88_235_600, 214, (0, 1, 2));
    log.gap(203.2, maps, false, None);
    log.phase(203.3, maps, Phase::Connecting, PhaseReason::Listed, None);
    log.open(204.5, maps, 22, 403, 88_235_600);
    log.finding(
        204.6,
        "F11",
        Severity::Error,
        Standing::Raised,
        maps,
        "410, relisted, 2 deletes inferred",
    );
    log.finding(
        214.6,
        "F11",
        Severity::Error,
        Standing::Cleared,
        maps,
        "410, relisted, 2 deletes inferred",
    );
    for step in 0..6_u32 {
        let s = 281.0 + 4.6 * f64::from(step);
        let name = if step % 2 == 0 {
            "api-q4zjn"
        } else {
            "api-w8tgd"
        };
        live(
            &mut log,
            s,
            if step < 2 { Added } else { Modified },
            name,
            88_235_700 + 20 * u64::from(step),
        );
    }
    live(&mut log, 305.0, Modified, "api-q4zjn", 88_277_800);
    for step in 0..40_u32 {
        live(
            &mut log,
            330.0 + 1.1 * f64::from(step),
            Modified,
            "cart-1",
            88_277_900 + 10 * u64::from(step),
        );
    }
    live(&mut log, 380.0, Modified, "report-7xq4m", 88_278_500);
    live(&mut log, 390.0, Deleted, "api-w8tgd", 88_278_600);
    log.verdict(
        420.0,
        pods,
        "report-7xq4m",
        Divergence::Ghost,
        Standing::Confirmed,
    );
    log.finding(
        437.0,
        "F24",
        Severity::Divergence,
        Standing::Raised,
        pods,
        "pod held, not in etcd",
    );
    log.end(450.0, svc, 30, Cause::End);
    log.phase(
        450.0,
        svc,
        Phase::Refused,
        PhaseReason::Forbidden,
        Some(120_000),
    );
    log
}

#[test]
fn the_story_of_the_look_is_drawn() {
    let log = demo();
    let store = log.store();
    let now = at(500.0);
    let view = View::between(at(0.0), at(510.0), 1_200.0);
    let mut lanes = Lanes::showing_all();
    let (rows, scene) = picture(&store, &mut lanes, &view, now);
    if let Ok(path) = std::env::var("WATCHSCOPE_SVG") {
        use watchscope_timeline::{Theme, svg::svg};
        std::fs::write(format!("{path}/story-dark.svg"), svg(&scene, Theme::Dark)).unwrap();
        let caption = Caption {
            title: "Watches of shop",
            filter: "kind≠lease",
            version: "0.1.0",
            zone_offset_min: 60,
            least_height: Px::ZERO,
            hidden: "",
            source: "",
            notes: &[],
        };
        let input = Picture {
            height: rows.height,
            ..picture_of(&store, &rows, &view, now)
        };
        std::fs::write(
            format!("{path}/saved.svg"),
            svg(&saved(&input, &caption), Theme::Light),
        )
        .unwrap();
        std::fs::write(format!("{path}/story-light.svg"), svg(&scene, Theme::Light)).unwrap();
    }
    assert_eq!(rows.rows.len(), 17);
}

#[test]
fn labelled_rows_leave_room_for_the_name_above_each_lane_and_keep_their_height() {
    let store = demo().store();
    let view = View::between(at(-70.0), at(300.0), 400.0);
    let rows = |density| {
        let mut lanes = Lanes::showing_all();
        lanes.density = density;
        lanes.rows(&store, &view, at(300.0)).rows
    };
    let (plain, labelled) = (rows(Density::Compact), rows(Density::Labelled));
    let mut bottom = Px::ZERO;
    for (plain, labelled) in plain.iter().zip(&labelled) {
        assert_eq!((plain.id, plain.height), (labelled.id, labelled.height));
        assert_eq!(labelled.y - labelled.label, bottom);
        assert!(labelled.label >= Px::whole(14));
        bottom = labelled.bottom();
    }
}
