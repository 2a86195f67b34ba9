//! Fingers and a pen over the picture: on a phone, and on a screen of 3840x2160.

use std::ops::Range;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{Key, WebDriver};
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab, Visit};
use crate::looking::{Mouse, between, changed, corner, number, open_all};
use crate::page::emulate;

/// A point of the window, in px.
type Point = (i32, i32);

/// Up to two fingers on a touch screen.
pub(crate) struct Fingers<'a>(&'a WebDriver);

impl<'a> Fingers<'a> {
    /// Makes the tab's screen one that can be touched.
    pub(crate) async fn on(driver: &'a WebDriver) -> Result<Self> {
        let parameters = json!({"enabled": true, "maxTouchPoints": 2});
        emulate(driver, "Emulation.setTouchEmulationEnabled", parameters).await?;
        Ok(Self(driver))
    }

    async fn tell(&self, kind: &str, points: &[Point]) -> Result<()> {
        let points: Vec<Value> = points
            .iter()
            .enumerate()
            .map(|(id, (x, y))| json!({"x": x, "y": y, "id": id}))
            .collect();
        let parameters = json!({"type": kind, "touchPoints": points});
        emulate(self.0, "Input.dispatchTouchEvent", parameters).await
    }

    pub(crate) async fn press(&self, at: Point) -> Result<()> {
        self.tell("touchStart", &[at]).await
    }

    pub(crate) async fn lift(&self) -> Result<()> {
        self.tell("touchEnd", &[]).await
    }

    async fn tap(&self, at: Point) -> Result<()> {
        self.press(at).await?;
        self.lift().await
    }

    /// Moves each finger from its point to another, in eight steps.
    async fn drag(&self, from: &[Point], to: &[Point]) -> Result<()> {
        self.tell("touchStart", from).await?;
        for step in 1..=8 {
            let at: Vec<Point> = std::iter::zip(from, to)
                .map(|(from, to)| between(*from, *to, step))
                .collect();
            self.tell("touchMove", &at).await?;
        }
        self.lift().await
    }
}

/// Taps marks within these ranges of x and y of the window until one opens.
async fn opens_a_mark(
    tab: &Tab<'_>,
    within: [Range<i32>; 2],
    tap: impl AsyncFn(Point) -> Result<()>,
) -> Result<()> {
    let (left, top) = corner(tab).await?;
    let place = |hit: &Value| {
        let (x, y) = (hit["x"].as_f64()? + left, hit["y"].as_f64()? + top);
        Some((x as i32, y as i32))
    };
    // The picture may still move under the hand; a tap that misses is repeated.
    eventually("a tap opens what lies there", LONG, async || {
        let hits = tab.hits().await?;
        let marks = hits.iter().filter(|hit| hit["glyph"].is_string());
        let mark = marks
            .filter_map(place)
            .find(|(x, y)| within[0].contains(x) && within[1].contains(y))
            .with_context(|| format!("a mark in {hits:#?}"))?;
        tap(mark).await?;
        ensure!(!tab.text(".detail").await?.is_empty(), "{mark:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn one_finger_pans_two_fingers_zoom_and_a_tap_opens() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.tab();
    // The window is low: rows must not fit, or they would not scroll.
    let size = json!({"width": 420, "height": 640, "deviceScaleFactor": 2, "mobile": true});
    emulate(driver, "Emulation.setDeviceMetricsOverride", size).await?;
    let fingers = Fingers::on(driver).await?;
    visit.open().await?;
    // Waits for enough records to pan, some of them far enough from the edge to be touched.
    let mut stream = visit.served.records().await?;
    for _ in 0..12 {
        stream
            .up_to(|record| record["type"] == "change" && record["origin"] == "live")
            .await?;
    }
    let start = tab.summary().await?;
    assert_eq!(start["following"], true);
    fingers.drag(&[(300, 400)], &[(324, 404)]).await?;
    let panned = changed(&tab, "following", &start).await?;
    assert_eq!(panned["scrollPx"], start["scrollPx"], "the axis is locked");
    fingers.drag(&[(200, 500)], &[(203, 420)]).await?;
    let scrolled = changed(&tab, "scrollPx", &panned).await?;
    assert_eq!(scrolled["leftUs"], panned["leftUs"], "the axis is locked");
    fingers
        .drag(&[(60, 400), (120, 400)], &[(24, 400), (156, 400)])
        .await?;
    let zoomed = changed(&tab, "usPerPx", &scrolled).await?;
    let factor = number(&scrolled, "usPerPx")? / number(&zoomed, "usPerPx")?;
    assert!((factor - 2.2).abs() < 0.1, "60 px became 132: {factor}");
    assert_eq!(tab.text(".detail").await?, "", "none of it was a tap");

    // The button back to now names no key on a touch screen.
    let pill = eventually("new records are counted", LONG, async || {
        let pill = tab
            .script("return document.querySelector('.pill').innerText")
            .await?;
        Ok(pill.as_str().context("a text")?.to_owned())
    })
    .await?;
    assert!(pill.contains("new") && !pill.contains("End"), "{pill}");
    // Moves marks from the edge to the middle and pauses, so that a mark stays at its point.
    fingers.drag(&[(100, 400)], &[(220, 402)]).await?;
    changed(&tab, "leftUs", &zoomed).await?;
    opens_a_mark(&tab, [20..400, 150..440], async |at| fingers.tap(at).await).await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn on_a_screen_of_3840x2160_fingers_and_a_pen_reach_what_lies_far_from_the_corner()
-> Result<()> {
    // More lanes than even this screen shows.
    let load = ["demo", "--load", "objects=400,rate=20"];
    let visit = or_skip!(Visit::of(&load, &[]).await?);
    let (driver, tab) = visit.tab();
    let size = json!({"width": 3840, "height": 2160, "deviceScaleFactor": 1, "mobile": false});
    emulate(driver, "Emulation.setDeviceMetricsOverride", size).await?;
    let fingers = Fingers::on(driver).await?;
    visit.open().await?;
    open_all(&tab).await?;

    let start = tab.summary().await?;
    assert_eq!(start["following"], true);
    fingers.drag(&[(3_000, 1_800)], &[(3_240, 1_806)]).await?;
    let panned = changed(&tab, "following", &start).await?;
    assert_eq!(panned["scrollPx"], start["scrollPx"], "the axis is locked");
    fingers.drag(&[(3_000, 1_900)], &[(3_006, 1_500)]).await?;
    let scrolled = changed(&tab, "scrollPx", &panned).await?;
    assert_eq!(scrolled["leftUs"], panned["leftUs"], "the axis is locked");
    let from = [(2_800, 1_800), (2_900, 1_800)];
    let to = [(2_700, 1_800), (3_000, 1_800)];
    fingers.drag(&from, &to).await?;
    let zoomed = changed(&tab, "usPerPx", &scrolled).await?;
    let factor = number(&scrolled, "usPerPx")? / number(&zoomed, "usPerPx")?;
    assert!(
        (factor - 3.0).abs() < 0.1,
        "100 px became 300: {factor} times"
    );
    assert_eq!(tab.text(".detail").await?, "", "none of it was a tap");
    let far = [2_200..3_800, 1_200..2_060];
    opens_a_mark(&tab, far.clone(), async |at| fingers.tap(at).await).await?;
    tab.press(Key::Escape).await?;
    eventually("the detail closes", LONG, async || {
        ensure!(tab.text(".detail").await?.is_empty());
        Ok(())
    })
    .await?;

    let before = tab.summary().await?;
    let pen = async |from, to| Mouse(driver).drag_as("pen", from, to).await;
    pen((3_000, 1_800), (3_200, 1_802)).await?;
    let dragged = changed(&tab, "leftUs", &before).await?;
    let scale = number(&before, "usPerPx")?;
    let went = (number(&before, "leftUs")? - number(&dragged, "leftUs")?) / scale;
    assert!((went - 200.0).abs() < 1.0, "the pen moved it by {went} px");
    assert_eq!(tab.text(".detail").await?, "", "a drag is no tap");
    opens_a_mark(&tab, far, async |at| pen(at, at).await).await?;
    visit.browser.console_is_quiet().await
}
