//! The lessons in Chromium, from their begin to their end: by keys alone, and by touch in a narrow window.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::prelude::Key;
use watchscope_tests::{eventually, or_skip};

use crate::browser::{LONG, Tab};
use crate::lessons::{Files, console_is_quiet, open_files};

/// How a person answers a question: wrongly first, and then right.
enum Reply {
    /// By the numbers of two answers, from 1.
    Choose(u32, u32),
    /// By the numbers of the lanes to tap, from 1; the second list mends the first.
    Tap(&'static [u32], &'static [u32]),
    /// By a letter for each cell: h for holds, g for gone; of an end, e for ERROR, c for closed.
    Fill(&'static str, &'static str),
    /// By the height of each column, in steps.
    Draw(&'static [usize], &'static [usize]),
}

use Reply::{Choose, Draw, Fill, Tap};

/// A lesson, as a person walks through it.
struct Walk {
    lesson: &'static str,
    /// A time behind the begin of the last passage, in seconds.
    late: u32,
    /// The answers to each passage's question.
    replies: [Option<Reply>; 7],
    /// The passage with the act, and how many tenths of a second it is moved.
    act: (usize, i32),
    /// For each goal: how many passages before the last one to click, and the buttons to click, from 0.
    goals: [(usize, &'static [usize]); 2],
}

const WALKS: [Walk; 13] = [
    Walk {
        lesson: "watch-event",
        late: 49,
        replies: [
            Some(Choose(1, 3)),
            Some(Tap(&[1, 2], &[2])),
            Some(Choose(3, 2)),
            Some(Choose(1, 2)),
            Some(Choose(1, 2)),
            None,
            None,
        ],
        act: (5, 40),
        goals: [(3, &[3]), (4, &[3])],
    },
    Walk {
        lesson: "three-tries",
        late: 2_350,
        replies: [
            Some(Choose(1, 3)),
            Some(Tap(&[1, 2, 4], &[3, 4])),
            Some(Choose(1, 2)),
            Some(Choose(1, 2)),
            Some(Choose(1, 3)),
            None,
            None,
        ],
        act: (3, 30),
        goals: [(3, &[2]), (6, &[2])],
    },
    Walk {
        lesson: "who-hung-up",
        late: 655,
        replies: [
            Some(Choose(1, 3)),
            Some(Fill("eeee", "ccce")),
            Some(Choose(1, 3)),
            Some(Choose(1, 2)),
            Some(Choose(1, 2)),
            None,
            None,
        ],
        act: (3, 24),
        goals: [(5, &[0]), (2, &[0, 4])],
    },
    Walk {
        lesson: "silent",
        late: 1_150,
        replies: [
            Some(Choose(1, 3)),
            Some(Tap(&[1, 2], &[2])),
            Some(Choose(1, 2)),
            Some(Choose(1, 3)),
            Some(Choose(1, 2)),
            None,
            None,
        ],
        act: (3, 30),
        goals: [(4, &[0]), (5, &[2])],
    },
    Walk {
        lesson: "expired",
        late: 49,
        replies: [
            Some(Choose(1, 2)),
            Some(Choose(2, 1)),
            Some(Choose(1, 3)),
            Some(Fill("hhhhhh", "hhghhh")),
            Some(Tap(&[1, 2], &[2])),
            None,
            None,
        ],
        act: (5, 30),
        goals: [(0, &[0, 3, 1]), (5, &[3])],
    },
    Walk {
        lesson: "quiet",
        late: 988,
        replies: [
            Some(Choose(1, 3)),
            Some(Tap(&[1, 2, 3], &[1])),
            Some(Choose(1, 2)),
            Some(Choose(2, 1)),
            Some(Choose(1, 2)),
            None,
            None,
        ],
        act: (3, 30),
        goals: [(5, &[0]), (5, &[1])],
    },
    Walk {
        lesson: "herd",
        late: 115,
        replies: [
            Some(Choose(1, 3)),
            Some(Draw(
                &[7, 1, 0, 0, 0, 0, 0, 0, 0, 0],
                &[0, 6, 6, 0, 0, 0, 0, 0, 0, 0],
            )),
            Some(Choose(1, 2)),
            Some(Choose(1, 2)),
            Some(Tap(&[1, 3], &[1])),
            None,
            None,
        ],
        act: (3, 30),
        goals: [(6, &[0]), (5, &[0])],
    },
    Walk {
        lesson: "back-in-time",
        late: 21,
        replies: [
            Some(Choose(1, 2)),
            Some(Tap(&[1, 2], &[2])),
            Some(Choose(1, 3)),
            Some(Choose(2, 1)),
            Some(Choose(1, 2)),
            None,
            None,
        ],
        act: (4, 40),
        goals: [(4, &[1]), (1, &[0, 1, 2])],
    },
    Walk {
        lesson: "stale",
        late: 162,
        replies: [
            Some(Choose(1, 3)),
            Some(Choose(1, 3)),
            Some(Tap(&[1, 2, 3], &[1])),
            Some(Choose(1, 2)),
            Some(Choose(1, 3)),
            None,
            None,
        ],
        act: (4, 30),
        goals: [(3, &[0]), (1, &[1])],
    },
    Walk {
        lesson: "away",
        late: 36,
        replies: [
            Some(Choose(1, 2)),
            Some(Choose(2, 1)),
            Some(Fill("hhgghh", "hhghhh")),
            Some(Choose(1, 3)),
            Some(Choose(3, 1)),
            None,
            None,
        ],
        act: (4, 12),
        goals: [(2, &[0, 1]), (4, &[1])],
    },
    Walk {
        lesson: "starved",
        late: 715,
        replies: [
            Some(Choose(1, 2)),
            Some(Tap(&[2], &[1, 2])),
            Some(Choose(1, 3)),
            Some(Choose(2, 1)),
            Some(Choose(1, 2)),
            None,
            None,
        ],
        act: (4, 30),
        goals: [(5, &[0]), (5, &[1])],
    },
    Walk {
        lesson: "poisoned",
        late: 115,
        replies: [
            Some(Choose(1, 2)),
            Some(Tap(&[1], &[1, 2])),
            Some(Choose(1, 3)),
            Some(Choose(1, 2)),
            Some(Choose(2, 1)),
            None,
            None,
        ],
        act: (3, 30),
        goals: [(1, &[0]), (1, &[1])],
    },
    Walk {
        lesson: "ghost",
        late: 49,
        replies: [
            Some(Choose(1, 3)),
            Some(Tap(&[1], &[1, 3])),
            Some(Choose(2, 1)),
            Some(Choose(2, 1)),
            Some(Choose(1, 3)),
            None,
            None,
        ],
        act: (4, 20),
        goals: [(5, &[3]), (6, &[3])],
    },
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

async fn open(tab: &Tab<'_>, files: &Files, lesson: &str, rest: &str) -> Result<()> {
    tab.0.goto("about:blank").await?;
    tab.0
        .goto(format!("{}#lesson={lesson}{rest}", files.page))
        .await?;
    eventually("the lesson is drawn", LONG, async || {
        let summary = tab.summary().await?;
        ensure!(summary["rows"].as_u64() > Some(0), "{summary}");
        Ok(())
    })
    .await?;
    until(tab, "the lesson has a state", |state| {
        state["lesson"] == lesson
    })
    .await?;
    Ok(())
}

/// Waits until the question is judged: a reply to a wrong answer with a second try, or the explanation of the right one.
async fn is_judged(tab: &Tab<'_>, is_right: bool) -> Result<()> {
    eventually("the answer is judged", LONG, async || {
        let judged = tab
            .script(
                "const reply = document.querySelector('.reply');
                const wrong = document.querySelectorAll('.answers .wrong').length;
                return {
                    right: reply?.textContent.startsWith('Yes.') ?? false,
                    wrong: document.querySelector('.show-me') !== null && wrong > 0,
                    replies: (reply?.textContent ?? '').length > 20,
                };",
            )
            .await?;
        let wanted = json!({"right": is_right, "wrong": !is_right, "replies": true});
        ensure!(judged == wanted, "{judged}");
        Ok(())
    })
    .await
}

/// Answers a question by keys.
async fn answer(tab: &Tab<'_>, reply: &Reply, is_right: bool) -> Result<()> {
    match reply {
        Choose(wrong, right) => {
            let key = if is_right { right } else { wrong };
            tab.press(key.to_string()).await?;
        }
        Tap(wrong, right) => {
            for key in if is_right { *right } else { *wrong } {
                tab.press(key.to_string()).await?;
            }
            tab.press(Key::Enter).await?;
        }
        Draw(wrong, right) => {
            tab.press("1").await?;
            for (place, height) in if is_right { right } else { wrong }.iter().enumerate() {
                has_focus(tab, &format!("[data-cell=\"{place}\"]")).await?;
                press_here(tab, Key::Home).await?;
                for _ in 0..*height {
                    press_here(tab, Key::Up).await?;
                }
                press_here(tab, Key::Tab).await?;
            }
            has_focus(tab, ".check-marks").await?;
            press_here(tab, Key::Enter).await?;
        }
        Fill(wrong, right) => {
            tab.press("1").await?;
            let letters = if is_right { right } else { wrong };
            for (place, letter) in letters.chars().enumerate() {
                has_focus(tab, &format!("[data-cell=\"{place}\"]")).await?;
                tab.0
                    .active_element()
                    .await?
                    .send_keys(letter.to_string())
                    .await?;
            }
            has_focus(tab, ".check-marks").await?;
            press_here(tab, Key::Enter).await?;
        }
    }
    is_judged(tab, is_right).await
}

async fn has_focus(tab: &Tab<'_>, selector: &str) -> Result<()> {
    eventually("it has the focus", LONG, async || {
        let script = format!("return document.activeElement.matches({selector:?})");
        let has = tab.script(&script).await?;
        ensure!(has == true, "{selector} has no focus");
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

/// Walks through a lesson by keys alone.
async fn walk_by_keys(tab: &Tab<'_>, files: &Files, walk: &Walk) -> Result<()> {
    open(tab, files, walk.lesson, "").await?;
    // It opens with few lanes, and without the panels that later passages need. Two rows are no lanes: that of findings
    // and the heading.
    eventually("few lanes are shown", LONG, async || {
        let lanes = tab.lanes().await?;
        ensure!((2..=7).contains(&lanes.len()), "{lanes:?}");
        Ok(())
    })
    .await?;
    let help = "return [...document.querySelectorAll('button[aria-label=\"Keys and glyphs\"]')]
        .map((button) => button.getAttribute('aria-keyshortcuts'))";
    ensure!(
        tab.script(help).await? == json!(["?"]),
        "one button opens the help"
    );
    let is_hidden =
        "return getComputedStyle(document.querySelector('.lesson-wire')).display === 'none'";
    ensure!(tab.script(is_hidden).await? == true, "the wire is shown");
    for (place, reply) in walk.replies.iter().enumerate() {
        until(tab, "the passage is shown", |state| {
            state["passage"] == place
        })
        .await?;
        if let Some(reply) = reply {
            answer(tab, reply, false).await?;
            answer(tab, reply, true).await?;
        }
        if place == walk.act.0 {
            move_by_keys(tab, walk.act.1).await?;
        }
        if place + 1 < walk.replies.len() {
            tab.press(Key::PageDown).await?;
        }
    }
    let text = tab.text(".lesson-text").await?;
    let goes_on = text.contains("Next lesson") || text.contains("All lessons");
    ensure!(text.contains("Again") && goes_on, "{text}");
    tab.press(Key::PageUp).await?;
    until(tab, "it goes back", |state| state["passage"] == 5).await?;
    // Space plays, and stops at the next passage.
    tab.press(" ").await?;
    until(tab, "it plays to the end", |state| {
        state["passage"] == 6 && state["playing"] == false
    })
    .await?;
    Ok(())
}

/// Returns the time of the lesson's act, in ms.
async fn act_ms(tab: &Tab<'_>) -> Result<i64> {
    state(tab).await?["actsMs"][0].as_i64().context("a time")
}

/// Moves the act by tenths of a second, to its bounds, and back.
async fn move_by_keys(tab: &Tab<'_>, tenths: i32) -> Result<()> {
    let is_at = |ms: i64| move |state: &Value| state["actsMs"] == json!([ms]);
    let written = act_ms(tab).await?;
    tab.press("d").await?;
    for _ in 0..tenths {
        press_here(tab, Key::Right).await?;
    }
    until(
        tab,
        "the act moved by tenths",
        is_at(written + 100 * i64::from(tenths)),
    )
    .await?;
    press_here(tab, Key::End).await?;
    until(tab, "the act is at its last bound", |state| {
        state["actsMs"][0].as_i64() > Some(written)
    })
    .await?;
    press_here(tab, Key::Home).await?;
    until(tab, "the act is at its first bound", |state| {
        state["actsMs"][0].as_i64() < Some(written)
    })
    .await?;
    eventually("at least two things are found", LONG, async || {
        let found = found(tab).await?;
        ensure!(found.as_u64() >= Some(2), "{found}");
        Ok(())
    })
    .await?;
    // The link has the moved act, and a reload keeps it.
    eventually("the link has the act", LONG, async || {
        let hash = tab.script("return location.hash").await?;
        ensure!(
            hash.as_str().context("a fragment")?.contains("moved="),
            "{hash}"
        );
        Ok(())
    })
    .await?;
    press_here(tab, Key::Escape).await?;
    until(tab, "the act is back", is_at(written)).await?;
    tab.script("document.activeElement.blur()").await?;
    Ok(())
}

#[tokio::test]
async fn each_lesson_is_walked_from_start_to_end_by_keys_alone() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    for walk in &WALKS {
        let walked = walk_by_keys(&tab, &files, walk).await;
        walked.with_context(|| walk.lesson)?;
    }
    console_is_quiet(&browser).await
}

#[tokio::test]
async fn the_moments_of_away_are_found_by_moving_the_deletion() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    open(&tab, &files, "away", "&at=18").await?;
    let is_at = |ms: u64| move |state: &Value| state["actsMs"] == json!([ms]);
    tab.press("d").await?;
    press_here(&tab, Key::Home).await?;
    until(&tab, "the act is at its first bound", is_at(2_000)).await?;
    // From 2 s to 6 s, where the streams end.
    for _ in 0..40 {
        press_here(&tab, Key::Right).await?;
    }
    until(&tab, "the act is at 6 s", is_at(6_000)).await?;
    eventually("all is found", LONG, async || {
        let found = found(&tab).await?;
        ensure!(found == 3, "{found}");
        Ok(())
    })
    .await?;
    console_is_quiet(&browser).await
}

#[tokio::test]
async fn a_link_opens_with_the_act_where_it_was_moved() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    open(&tab, &files, "away", "&at=18&moved=report:9.2").await?;
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

/// Waits until the goal says this.
async fn goal_says(tab: &Tab<'_>, words: &str) -> Result<()> {
    eventually("the goal says so", LONG, async || {
        let goal = tab.text(".yours .goal").await?;
        ensure!(goal.contains(words), "{goal}");
        Ok(())
    })
    .await
}

/// Goes back by keys from the last passage, clicks the buttons by key, and goes on to the end.
async fn reach(tab: &Tab<'_>, back: usize, buttons: &[usize]) -> Result<()> {
    let last = 6;
    until(tab, "the last passage is shown", |state| {
        state["passage"] == last
    })
    .await?;
    for step in 1..=back {
        tab.press(Key::PageUp).await?;
        until(tab, "it goes back", |state| state["passage"] == last - step).await?;
    }
    for button in buttons {
        let focus = format!("document.querySelectorAll('.breaks button')[{button}].focus()");
        tab.script(&focus).await?;
        press_here(tab, Key::Enter).await?;
    }
    // To the end: some goals show only later.
    for _ in 0..=back {
        tab.press(Key::PageDown).await?;
    }
    let clicks = buttons.len();
    let noun = if clicks == 1 { "click" } else { "clicks" };
    goal_says(tab, &format!("s with {clicks} {noun}.")).await
}

#[tokio::test]
async fn every_goal_is_reached_and_too_many_clicks_are_said() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    for walk in &WALKS {
        open(&tab, &files, walk.lesson, &format!("&at={}", walk.late)).await?;
        tab.press(Key::PageUp).await?;
        goal_says(&tab, "0 clicks of").await?;
        for (place, (back, buttons)) in walk.goals.iter().enumerate() {
            let reached = reach(&tab, *back, buttons).await;
            reached.with_context(|| format!("{} {place}", walk.lesson))?;
            let hash = tab.script("return location.hash").await?;
            let hash = hash.as_str().context("a fragment")?;
            ensure!(hash.contains("broke="), "{hash}");
            tab.script("document.querySelector('.as-written').click()")
                .await?;
            until(&tab, "it is as written", |state| state["asWritten"] == true).await?;
            tab.press(Key::PageUp).await?;
        }
        goal_says(&tab, "You have reached all goals.").await?;
    }
    let all = "document.querySelectorAll('.breaks button').forEach(one => one.click())";
    tab.script(all).await?;
    goal_says(&tab, "cannot reach it").await?;
    console_is_quiet(&browser).await
}

/// Touches the middle of an element, moves the finger by these pixels, and lifts it.
async fn touch(tab: &Tab<'_>, selector: &str, by_px: f64) -> Result<()> {
    touch_at(tab, selector, 0.5, by_px).await
}

/// Touches an element at this part of its height from the top, moves the finger by these pixels, and lifts it.
async fn touch_at(tab: &Tab<'_>, selector: &str, part: f64, by_px: f64) -> Result<()> {
    let script = format!(
        "const element = document.querySelector(`{selector}`);
        element.scrollIntoView({{block: 'nearest'}});
        const box = element.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height * {part}, box.height];"
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

/// Answers a question by touch.
async fn touch_answer(tab: &Tab<'_>, reply: &Reply, is_right: bool) -> Result<()> {
    let nth = |place: u32| format!(".answers button:nth-child({place})");
    match reply {
        Choose(wrong, right) => {
            touch(tab, &nth(if is_right { *right } else { *wrong }), 0.0).await?;
        }
        Tap(wrong, right) => {
            for place in if is_right { *right } else { *wrong } {
                touch(tab, &nth(*place), 0.0).await?;
            }
            touch(tab, ".check-marks", 0.0).await?;
        }
        Draw(wrong, right) => {
            for (place, height) in if is_right { right } else { wrong }.iter().enumerate() {
                // A pixel from the edge is still in the column.
                let part = (1.0 - *height as f64 / 7.0).clamp(0.02, 0.98);
                touch_at(tab, &format!("[data-cell=\"{place}\"]"), part, 0.0).await?;
            }
            touch(tab, ".check-marks", 0.0).await?;
        }
        Fill(wrong, right) => {
            let letters = if is_right { right } else { wrong };
            for (place, letter) in letters.chars().enumerate() {
                let side = if matches!(letter, 'h' | 'e') { 1 } else { 2 };
                let cell = format!("[data-cell=\"{place}\"]:nth-of-type({side})");
                touch(tab, &cell, 0.0).await?;
            }
            touch(tab, ".check-marks", 0.0).await?;
        }
    }
    is_judged(tab, is_right).await
}

async fn walk_by_touch(tab: &Tab<'_>, files: &Files, walk: &Walk) -> Result<()> {
    open(tab, files, walk.lesson, "").await?;
    for (place, reply) in walk.replies.iter().enumerate() {
        until(tab, "the passage is shown", |state| {
            state["passage"] == place
        })
        .await?;
        if let Some(reply) = reply {
            touch_answer(tab, reply, false).await?;
            touch_answer(tab, reply, true).await?;
        }
        if place == walk.act.0 {
            let written = act_ms(tab).await?;
            touch(tab, ".act-handle", 60.0).await?;
            until(tab, "the act moved", |state| {
                state["actsMs"][0].as_i64() > Some(written)
            })
            .await?;
            eventually("the page says that the run was changed", LONG, async || {
                let note = tab.text(".when .note").await?;
                ensure!(note.contains("As written"), "{note}");
                Ok(())
            })
            .await?;
        }
        if place + 1 < walk.replies.len() {
            touch(tab, ".keys button:nth-of-type(3)", 0.0).await?;
        }
    }
    for (tab_place, panel) in [
        (2, ".lesson-sides"),
        (3, ".lesson-wire"),
        (1, ".lesson-text"),
    ] {
        let button = format!(".lesson-tabs button:nth-child({tab_place})");
        touch(tab, &button, 0.0).await?;
        eventually("the panel is shown", LONG, async || {
            let text = tab.text(panel).await?;
            ensure!(!text.is_empty(), "{panel} is empty");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn each_lesson_is_walked_from_start_to_end_by_touch_in_a_narrow_window() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let tab = Tab(browser.driver());
    let cdp = tab.0.cdp();
    let screen = json!({"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": true});
    cdp.send_raw("Emulation.setDeviceMetricsOverride", screen)
        .await?;
    let fingers = json!({"enabled": true, "maxTouchPoints": 1});
    cdp.send_raw("Emulation.setTouchEmulationEnabled", fingers)
        .await?;
    for walk in &WALKS {
        let walked = walk_by_touch(&tab, &files, walk).await;
        walked.with_context(|| walk.lesson)?;
    }
    console_is_quiet(&browser).await
}
