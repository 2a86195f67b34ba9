//! The lesson `away` in Chromium, from its begin to its end: by keys alone, and by touch in a narrow window.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::prelude::Key;
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab};
use crate::lessons::{Files, console_is_quiet, open_files};

/// The answers to each passage's question, by the keys that choose them: a wrong one, and the right one.
const ANSWERS: [Option<(&str, &str)>; 7] = [
    Some(("1", "2")),
    Some(("2", "1")),
    Some(("1", "2")),
    Some(("1", "3")),
    Some(("3", "1")),
    None,
    None,
];

async fn state(tab: &Tab<'_>) -> Result<Value> {
    tab.script("return globalThis.watchscopeLesson?.state() ?? {}")
        .await
}

/// Waits until the lesson's state is so, and nothing old is shown.
async fn until(tab: &Tab<'_>, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
    eventually(what, LONG, async || {
        let state = state(tab).await?;
        ensure!(is_so(&state) && state["old"] == false, "{what}: {state}");
        Ok(state)
    })
    .await
}

async fn open(tab: &Tab<'_>, files: &Files, fragment: &str) -> Result<()> {
    tab.0.goto(format!("{}#{fragment}", files.page)).await?;
    eventually("the lesson is drawn", LONG, async || {
        let summary = tab.summary().await?;
        ensure!(summary["rows"].as_u64() > Some(0), "{summary}");
        Ok(())
    })
    .await?;
    until(tab, "the lesson has a state", |state| {
        state["lesson"] == "away"
    })
    .await?;
    Ok(())
}

/// Returns which answers are marked as right and wrong, and whether the reply has words.
async fn judged(tab: &Tab<'_>) -> Result<Value> {
    tab.script(
        "const count = (mark) => document.querySelectorAll(`.answers .${mark}`).length;
        const reply = document.querySelector('.reply')?.textContent ?? '';
        return {right: count('right'), wrong: count('wrong'), replies: reply.length > 5};",
    )
    .await
}

async fn is_judged(tab: &Tab<'_>, right: u64, wrong: u64) -> Result<()> {
    eventually("the answer is judged", LONG, async || {
        let judged = judged(tab).await?;
        let wanted = json!({"right": right, "wrong": wrong, "replies": true});
        ensure!(judged == wanted, "{judged}");
        Ok(())
    })
    .await
}

/// Presses a key on the element that has the focus.
async fn press_here(tab: &Tab<'_>, key: Key) -> Result<()> {
    Ok(tab.0.active_element().await?.send_keys(key).await?)
}

/// Returns how many things the person has found by moving the act.
async fn found(tab: &Tab<'_>) -> Result<Value> {
    tab.script("return document.querySelectorAll('.finds li.found').length")
        .await
}

#[tokio::test]
async fn away_is_walked_from_start_to_end_by_keys_alone() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    open(&tab, &files, "lesson=away").await?;
    // It opens with few lanes, and without the panels that later passages need.
    eventually("few lanes are shown", LONG, async || {
        let lanes = tab.lanes().await?;
        ensure!(lanes.len() <= 9, "{lanes:?}");
        Ok(())
    })
    .await?;
    let is_hidden =
        "return getComputedStyle(document.querySelector('.lesson-wire')).display === 'none'";
    assert_eq!(tab.script(is_hidden).await?, true);
    for (place, answers) in ANSWERS.iter().enumerate() {
        until(&tab, "the passage is shown", |state| {
            state["passage"] == place
        })
        .await?;
        if let Some((wrong, right)) = answers {
            tab.press(*wrong).await?;
            is_judged(&tab, 0, 1).await?;
            tab.press(*right).await?;
            is_judged(&tab, 1, 1).await?;
        }
        if place == 4 {
            move_by_keys(&tab).await?;
        }
        if place + 1 < ANSWERS.len() {
            tab.press(Key::PageDown).await?;
        }
    }
    let text = tab.text(".lesson-text").await?;
    ensure!(
        text.contains("Again") && text.contains("Next lesson"),
        "{text}"
    );
    tab.press(Key::PageUp).await?;
    until(&tab, "it goes back", |state| state["passage"] == 5).await?;
    // Space plays, and stops at the next passage.
    tab.press(" ").await?;
    until(&tab, "it plays to the end", |state| {
        state["passage"] == 6 && state["playing"] == false
    })
    .await?;
    console_is_quiet(&browser).await
}

async fn move_by_keys(tab: &Tab<'_>) -> Result<()> {
    let is_at = |ms: u64| move |state: &Value| state["actsMs"] == json!([ms]);
    tab.press("d").await?;
    for _ in 0..12 {
        press_here(tab, Key::Right).await?;
    }
    until(tab, "the act moved by tenths", is_at(9_200)).await?;
    press_here(tab, Key::End).await?;
    until(tab, "the act is at its last bound", is_at(15_500)).await?;
    press_here(tab, Key::Home).await?;
    until(tab, "the act is at its first bound", is_at(2_000)).await?;
    // From 2 s to 6 s, where the streams end.
    for _ in 0..40 {
        press_here(tab, Key::Right).await?;
    }
    until(tab, "the act is at 6 s", is_at(6_000)).await?;
    eventually("all is found", LONG, async || {
        let found = found(tab).await?;
        ensure!(found == 3, "{found}");
        Ok(())
    })
    .await?;
    // The link has the moved act, and a reload keeps it.
    let hash = tab.script("return location.hash").await?;
    let hash = hash.as_str().context("a fragment")?;
    ensure!(hash.contains("moved=report:6"), "{hash}");
    press_here(tab, Key::Escape).await?;
    until(tab, "the act is back", is_at(8_000)).await?;
    tab.script("document.activeElement.blur()").await?;
    Ok(())
}

#[tokio::test]
async fn a_link_opens_with_the_act_where_it_was_moved() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    open(&tab, &files, "lesson=away&at=18&moved=report:9.2").await?;
    let state = until(&tab, "the act is moved", |state| {
        state["actsMs"] == json!([9_200])
    })
    .await?;
    assert_eq!(state["asWritten"], false);
    tab.script("document.querySelector('.as-written').click()")
        .await?;
    until(&tab, "it is as written", |state| {
        state["asWritten"] == true && state["actsMs"] == json!([8_000])
    })
    .await?;
    console_is_quiet(&browser).await
}

#[tokio::test]
async fn the_goal_is_reached_by_two_clicks_and_too_many_clicks_are_said() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    open(&tab, &files, "lesson=away&at=31").await?;
    let goal = async |words: &str| {
        eventually("the goal says so", LONG, async || {
            let goal = tab.text(".yours .goal").await?;
            ensure!(goal.contains(words), "{goal}");
            Ok(())
        })
        .await
    };
    goal("0 clicks of 2 used").await?;
    for _ in 0..2 {
        tab.press(Key::PageUp).await?;
    }
    until(&tab, "it is at 18 s", |state| state["at"] == 18).await?;
    // Ends all watches, and deletes stock while naive sleeps.
    let click =
        "[...document.querySelectorAll('.breaks button')].slice(0, 2).forEach(one => one.click())";
    tab.script(click).await?;
    tab.press(Key::PageDown).await?;
    goal("Reached at 18.0 s with 2 clicks.").await?;
    goal("with one click").await?;
    let hash = tab.script("return location.hash").await?;
    let hash = hash.as_str().context("a fragment")?;
    ensure!(hash.contains("broke=18:0,18:1"), "{hash}");
    tab.script(click).await?;
    goal("cannot reach it").await?;
    console_is_quiet(&browser).await
}

/// Touches the middle of an element, moves the finger by these pixels, and lifts it.
async fn touch(tab: &Tab<'_>, selector: &str, by_px: f64) -> Result<()> {
    let script = format!(
        "const element = document.querySelector(`{selector}`);
        element.scrollIntoView({{block: 'nearest'}});
        const box = element.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2, box.height];"
    );
    // A picture that is drawn, or a note that is written, may still move it.
    let mut before = Value::Null;
    let middle = eventually("it stands still", LONG, async || {
        let now = tab.script(&script).await?;
        let known = std::mem::replace(&mut before, now.clone());
        ensure!(known == now, "{selector} moved from {known} to {now}");
        Ok(now)
    })
    .await?;
    let number = |place: usize| middle[place].as_f64().context("a number");
    let (x, y, height) = (number(0)?, number(1)?, number(2)?);
    ensure!(height >= 44.0, "{selector} is {height} px high");
    let cdp = tab.0.cdp();
    let send = async |kind: &str, points: Value| {
        let parameters = json!({"type": kind, "touchPoints": points});
        cdp.send_raw("Input.dispatchTouchEvent", parameters).await
    };
    send("touchStart", json!([{"x": x, "y": y}])).await?;
    if by_px != 0.0 {
        for step in 1..=8 {
            let x = x + by_px * f64::from(step) / 8.0;
            send("touchMove", json!([{"x": x, "y": y}])).await?;
        }
    }
    send("touchEnd", json!([])).await?;
    Ok(())
}

#[tokio::test]
async fn away_is_walked_from_start_to_end_by_touch_in_a_narrow_window() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    let cdp = tab.0.cdp();
    let screen = json!({"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": true});
    cdp.send_raw("Emulation.setDeviceMetricsOverride", screen)
        .await?;
    let fingers = json!({"enabled": true, "maxTouchPoints": 1});
    cdp.send_raw("Emulation.setTouchEmulationEnabled", fingers)
        .await?;
    open(&tab, &files, "lesson=away").await?;
    for (place, answers) in ANSWERS.iter().enumerate() {
        until(&tab, "the passage is shown", |state| {
            state["passage"] == place
        })
        .await?;
        if let Some((_, right)) = answers {
            let answer = format!(".answers button:nth-child({right})");
            touch(&tab, &answer, 0.0).await?;
            is_judged(&tab, 1, 0).await?;
        }
        if place == 4 {
            touch(&tab, ".act-handle", 60.0).await?;
            until(&tab, "the act moved", |state| {
                state["actsMs"][0].as_u64() > Some(8_000)
            })
            .await?;
            eventually("the page says that the run was changed", LONG, async || {
                let note = tab.text(".note").await?;
                ensure!(note.contains("As written"), "{note}");
                Ok(())
            })
            .await?;
        }
        if place + 1 < ANSWERS.len() {
            touch(&tab, ".keys button:nth-of-type(3)", 0.0).await?;
        }
    }
    for (tab_place, panel) in [
        (2, ".lesson-sides"),
        (3, ".lesson-wire"),
        (1, ".lesson-text"),
    ] {
        let button = format!(".lesson-tabs button:nth-child({tab_place})");
        touch(&tab, &button, 0.0).await?;
        eventually("the panel is shown", LONG, async || {
            let text = tab.text(panel).await?;
            ensure!(!text.is_empty(), "{panel} is empty");
            Ok(())
        })
        .await?;
    }
    console_is_quiet(&browser).await
}
