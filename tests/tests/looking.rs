//! A person at the page: pans with mouse and touchpad, opens what is in the picture, and changes its colours.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use thirtyfour::{By, Key, WebDriver};
use watchscope_tests::{Served, eventually, or_skip};

use crate::browser::{FINE, LONG, Tab, Visit};

/// Ctrl and Shift, as the protocol encodes held keys.
const CTRL: u8 = 2;
const SHIFT: u8 = 8;

/// Opens rows until none is closed.
pub(crate) async fn open_all(tab: &Tab<'_>) -> Result<()> {
    let clicks = "const closed = document.querySelectorAll('.row[aria-expanded=false] .caret');
        closed.forEach(caret => caret.click());
        return closed.length";
    eventually("all is open", LONG, async || {
        ensure!(tab.script(clicks).await? == 0);
        // With over 60 rows the lanes bar comes, and moves the picture down.
        let has_few = tab.summary().await?["rows"].as_u64() <= Some(60);
        ensure!(has_few || !tab.text("[data-part='lanes-words']").await?.is_empty());
        Ok(())
    })
    .await
}

/// Returns the point that lies this many eighths of the way from one point to another.
pub(crate) fn between(from: (i32, i32), to: (i32, i32), eighths: i32) -> (i32, i32) {
    let at = |a: i32, b: i32| a + (b - a) * eighths / 8;
    (at(from.0, to.0), at(from.1, to.1))
}

/// A mouse over the page.
pub(crate) struct Mouse<'a>(pub(crate) &'a WebDriver);

impl Mouse<'_> {
    async fn tell(&self, parameters: Value) -> Result<()> {
        let command = "Input.dispatchMouseEvent";
        self.0.cdp().send_raw(command, parameters).await?;
        Ok(())
    }

    /// Presses at one point, moves in eight steps, and releases at the other.
    pub(crate) async fn drag(&self, from: (i32, i32), to: (i32, i32)) -> Result<()> {
        self.drag_as("mouse", from, to).await
    }

    /// Like [`Mouse::drag`], with a mouse or a pen.
    pub(crate) async fn drag_as(
        &self,
        pointer: &str,
        from: (i32, i32),
        to: (i32, i32),
    ) -> Result<()> {
        let at = |kind: &str, x: i32, y: i32, buttons: u8| json!({"type": kind, "pointerType": pointer, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1});
        self.tell(at("mouseMoved", from.0, from.1, 0)).await?;
        self.tell(at("mousePressed", from.0, from.1, 1)).await?;
        for step in 1..=8 {
            let (x, y) = between(from, to, step);
            self.tell(at("mouseMoved", x, y, 1)).await?;
        }
        self.tell(at("mouseReleased", to.0, to.1, 0)).await
    }

    /// Moves over a point.
    pub(crate) async fn hover(&self, at: (i32, i32)) -> Result<()> {
        self.tell(json!({"type": "mouseMoved", "x": at.0, "y": at.1}))
            .await
    }

    async fn click(&self, at: (i32, i32)) -> Result<()> {
        self.drag(at, at).await
    }

    /// Turns the wheel, or moves two fingers on a touchpad, by this many px right and down.
    async fn wheel(&self, at: (i32, i32), by: (f64, f64), held: u8) -> Result<()> {
        self.tell(json!({
            "type": "mouseWheel", "x": at.0, "y": at.1, "deltaX": by.0, "deltaY": by.1, "modifiers": held,
        }))
        .await
    }
}

/// Returns left and top of the canvas in the window, in px.
pub(crate) async fn corner(tab: &Tab<'_>) -> Result<(f64, f64)> {
    let script =
        "const {left, top} = document.querySelector('canvas.chart').getBoundingClientRect();
        return [left, top]";
    Ok(serde_json::from_value(tab.script(script).await?)?)
}

/// Waits until a value of the page's summary differs from that before; returns the new summary.
pub(crate) async fn changed(tab: &Tab<'_>, what: &'static str, before: &Value) -> Result<Value> {
    eventually(what, LONG, async || {
        let now = tab.summary().await?;
        ensure!(now[what] != before[what], "{now}");
        Ok(now)
    })
    .await
}

pub(crate) fn number(summary: &Value, name: &str) -> Result<f64> {
    summary[name]
        .as_f64()
        .with_context(|| format!("{name} in {summary}"))
}

#[tokio::test]
async fn a_mouse_drags_and_turns_and_two_fingers_on_a_touchpad_move_and_pinch() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let mouse = Mouse(driver);
    // With all rows open there are more lanes than fit, also a few seconds earlier.
    let mut stream = visit.served.records().await?;
    for _ in 0..2 {
        stream
            .up_to(|record| record["change"] == "DELETED" && record["origin"] == "live")
            .await?;
    }
    open_all(&tab).await?;
    while tab.summary().await?["usPerPx"].as_f64() > Some(40_000.0) {
        tab.press("+").await?;
    }
    let (left, _) = corner(&tab).await?;
    let at = (left as i32 + 500, 400);

    let start = tab.summary().await?;
    assert_eq!(start["following"], true);
    mouse.drag(at, (at.0 + 60, at.1)).await?;
    let dragged = changed(&tab, "following", &start).await?;
    assert_eq!(dragged["scrollPx"], start["scrollPx"]);
    assert_eq!(tab.text(".detail").await?, "", "a drag is no click");
    let scale = number(&dragged, "usPerPx")?;
    // The press paused the picture, at a moment after `start` was read.
    assert!(number(&dragged, "leftUs")? >= number(&start, "leftUs")? - 61.0 * scale);

    // The picture follows the hand.
    mouse.drag(at, (at.0 + 40, at.1)).await?;
    let earlier = changed(&tab, "leftUs", &dragged).await?;
    let went = (number(&dragged, "leftUs")? - number(&earlier, "leftUs")?) / scale;
    assert!((went - 40.0).abs() < 1.0, "{went} px");
    mouse.drag(at, (at.0, at.1 - 120)).await?;
    let down = changed(&tab, "scrollPx", &earlier).await?;
    assert_eq!(
        number(&down, "scrollPx")? - number(&earlier, "scrollPx")?,
        120.0
    );

    // A wheel scrolls lanes. Sideways, as on a touchpad, or with Shift it moves time.
    mouse.wheel(at, (0.0, -60.0), 0).await?;
    let up = changed(&tab, "scrollPx", &down).await?;
    assert_eq!(number(&down, "scrollPx")? - number(&up, "scrollPx")?, 60.0);
    assert_eq!(up["leftUs"], down["leftUs"]);
    let mut before = up;
    for (by, held) in [((40.0, 0.0), 0), ((0.0, 40.0), SHIFT)] {
        mouse.wheel(at, by, held).await?;
        let later = changed(&tab, "leftUs", &before).await?;
        let went = (number(&later, "leftUs")? - number(&before, "leftUs")?) / scale;
        assert!((went - 40.0).abs() < 1.0, "{went} px");
        assert_eq!(later["scrollPx"], before["scrollPx"]);
        before = later;
    }

    // With Ctrl, as a browser reports a pinch, it zooms, and the time under the pointer stays there.
    let under = |summary: &Value| -> Result<f64> {
        Ok(number(summary, "leftUs")? + 500.0 * number(summary, "usPerPx")?)
    };
    for by in [-100.0, 100.0, -4.0, 4.0] {
        mouse.wheel(at, (0.0, by), CTRL).await?;
        let zoomed = changed(&tab, "usPerPx", &before).await?;
        let (new, old) = (number(&zoomed, "usPerPx")?, number(&before, "usPerPx")?);
        assert_eq!(new < old, by < 0.0, "{by}");
        let moved = (under(&zoomed)? - under(&before)?).abs() / new;
        assert!(moved <= 2.0, "{by}: {moved} px");
        before = zoomed;
    }
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn a_layer_shows_the_beliefs_of_each_side_and_a_selected_write_its_propagation() -> Result<()>
{
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    tab.has(".row[data-lane='inside']", 1).await?;
    let inside = By::Css(".row[data-lane='inside'] .caret");
    driver.find(inside).await?.click().await?;
    for lane in [
        "etcd",
        "apiserver 0 configmaps",
        "stream apiserver 0 configmaps informer",
        "client naive",
    ] {
        tab.has(&format!(".row[data-lane='{lane}']"), 1).await?;
    }
    let select = async |lane: &str| -> Result<()> {
        let row = By::Css(format!(".row[data-lane='{lane}'] .name"));
        Ok(driver.find(row).await?.click().await?)
    };
    select("client naive").await?;
    let named =
        "return document.querySelector('.detail [role=tab][aria-selected=true]')?.textContent";
    eventually("the beliefs of each side are shown", LONG, async || {
        ensure!(tab.script(named).await? == "What each side believes");
        let said = tab.text(".detail .sides").await?;
        for words in [
            "configmaps in shop, at ",
            "etcd is at revision ",
            "The watch cache of apiserver 0 is at revision ",
            "watchscope's watch shop/configmaps",
            "informer (",
            "naive (",
        ] {
            ensure!(said.contains(words), "{words:?} in {said:?}");
        }
        Ok(())
    })
    .await?;

    // Goes back through etcd's writes to one that client programs follow. The page describes its propagation and paints
    // its delays.
    let mut stream = visit.served.records().await?;
    let changed = stream
        .up_to(|record| record["name"] == "feature-flags" && record["origin"] == "live")
        .await?;
    let seq = changed.last().and_then(|record| record["seq"].as_u64());
    tab.paints(seq.context("a seq")?).await?;
    tab.press(" ").await?;
    tab.keep_painted_texts().await?;
    select("etcd").await?;
    let event = "[...document.querySelectorAll('.detail [role=tab]')].find(tab => tab.textContent === 'Event')?.click()";
    eventually("the propagation of a write is shown", LONG, async || {
        tab.script(event).await?;
        let told = tab.text("section.detail").await?;
        if !told.contains("informer: cache of apiserver 0 ") {
            tab.press(",").await?;
            anyhow::bail!("{told:?}");
        }
        Ok(())
    })
    .await?;
    eventually("its delays are painted", LONG, async || {
        let texts = tab.painted_texts().await?;
        let is_delay = |text: &String| text == "at once" || text.starts_with('+');
        ensure!(texts.iter().any(is_delay), "{texts:?}");
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}

/// Waits until the status bar shows the number of records and lanes, the lag, and how full the ring is.
async fn bar_has_its_figures(tab: &Tab<'_>) -> Result<()> {
    eventually("the bar has its figures", LONG, async || {
        let bar = tab.text("[data-part=status]").await?;
        for words in [
            " records",
            " lanes",
            " kept",
            " % of ring",
            "lag ",
            "1 px = ",
        ] {
            ensure!(bar.contains(words), "{words:?} in {bar:?}");
        }
        Ok(())
    })
    .await
}

/// Whether a record is a live change of the object that the story opens.
fn is_flags(record: &Value) -> bool {
    record["watch"] == "shop/configmaps"
        && record["name"] == "feature-flags"
        && record["change"] == "MODIFIED"
        && record["origin"] == "live"
}

/// Returns all records up to the second of two versions of one object that the watch delivered, the second with a
/// known writer.
async fn two_versions(served: &Served) -> Result<Vec<Value>> {
    let mut stream = served.records().await?;
    let mut lines = stream.up_to(is_flags).await?;
    lines.extend(
        stream
            .up_to(|record| is_flags(record) && record["manager"].is_string())
            .await?,
    );
    Ok(lines)
}

/// Opens a tab of the detail.
async fn open_tab(driver: &WebDriver, name: &str) -> Result<()> {
    let tabs = driver.find_all(By::Css(".detail [role=tab]")).await?;
    for tab in tabs {
        if tab.text().await? == name {
            tab.click().await?;
            return Ok(());
        }
    }
    anyhow::bail!("no tab {name}")
}

/// Waits until the detail shows the difference between two versions.
async fn shows_difference(tab: &Tab<'_>, before: &Value, after: &Value) -> Result<()> {
    let rows = "return [...document.querySelectorAll('.detail .difference tbody tr')]
        .map(row => [...row.cells].map(cell => cell.textContent))";
    let rows = eventually("the difference is shown", LONG, async || {
        let rows: Vec<[String; 3]> = serde_json::from_value(tab.script(rows).await?)?;
        ensure!(!rows.is_empty(), "{}", tab.text(".detail").await?);
        Ok(rows)
    })
    .await?;
    let quoted = |record: &Value| record["resourceVersion"].to_string();
    let version = [
        "metadata.resourceVersion".to_owned(),
        quoted(before),
        quoted(after),
    ];
    assert!(rows.contains(&version), "{version:?} in {rows:#?}");
    assert!(
        rows.iter().any(|row| row[0].starts_with("data.")),
        "{rows:#?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_click_opens_event_object_writer_difference_and_request_or_a_clients_phase() -> Result<()>
{
    let visit = or_skip!(Visit::of_demo(&["--window-size=1600,1200"]).await?);
    let (driver, tab) = visit.open().await?;
    let (mouse, served) = (Mouse(driver), &visit.served);
    let lines = two_versions(served).await?;
    let versions: Vec<&Value> = lines.iter().filter(|record| is_flags(record)).collect();
    let [.., before, after] = versions.as_slice() else {
        anyhow::bail!("two versions: {versions:?}");
    };
    let seq = after["seq"].as_u64().context("a seq")?;
    tab.press(" ").await?;
    open_all(&tab).await?;
    while tab.summary().await?["usPerPx"].as_f64() > Some(40_000.0) {
        tab.press("+").await?;
    }
    let (left, top) = corner(&tab).await?;
    eventually("the mark is opened", LONG, async || {
        let hits = tab.hits().await?;
        let mark = hits.iter().find(|hit| {
            hit["seq"] == seq
                && hit["count"] == 1
                && hit["lane"] == "shop/configmaps shop/feature-flags"
        });
        if let Some(mark) = mark {
            mouse
                .click((
                    (left + number(mark, "x")?) as i32,
                    (top + number(mark, "y")?) as i32,
                ))
                .await?;
        } else {
            // The mark is newer than the time at which the picture was paused.
            tab.press("\u{e014}").await?;
        }
        let told = tab.text(".detail .prose").await?;
        ensure!(
            told.starts_with("MODIFIED feature-flags at resourceVersion "),
            "{told:?}"
        );
        Ok(())
    })
    .await?;
    let word = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let told = tab.text(".detail .prose").await?;
    assert!(
        told.ends_with(&format!(" by {}.", word(after, "manager"))),
        "{told}"
    );

    open_tab(driver, "Object").await?;
    shows_difference(&tab, before, after).await?;
    let told = tab.text(".detail").await?;
    let written = format!("Written by {}.", word(after, "manager"));
    assert!(told.contains(&written), "{written} in {told}");
    let shown: Value = serde_json::from_str(&tab.text(".detail pre.json").await?)?;
    let epoch = word(&lines[0], "epoch");
    let body = served.get(&format!("/api/objects/{epoch}.{seq}")).await?;
    assert_eq!(shown["data"], body.json::<Value>().await?["data"]);
    assert_eq!(
        shown["metadata"]["resourceVersion"],
        after["resourceVersion"]
    );

    open_tab(driver, "Request").await?;
    let sent = lines
        .iter()
        .rfind(|record| {
            record["type"] == "request.sent"
                && record["watch"] == "shop/configmaps"
                && record["verb"] == "watch"
        })
        .context("the request of the stream")?;
    let by_hand = format!(
        "kubectl get --raw '{}?{}'",
        word(sent, "path"),
        word(sent, "query")
    );
    assert_eq!(tab.text(".detail .code").await?, by_hand);

    // A click in the lane of a watch shows the client's phase and its reason.
    tab.press("\u{e00c}").await?;
    tab.press("\u{e010}").await?;
    let row = "const row = document.querySelector(`.row[data-lane='shop/deployments.apps']`).getBoundingClientRect();
        const chart = document.querySelector('canvas.chart').getBoundingClientRect();
        return [chart.right - 150, row.bottom - 4]";
    eventually("the phase is shown", LONG, async || {
        let (x, y): (f64, f64) = serde_json::from_value(tab.script(row).await?)?;
        mouse.click((x as i32, y as i32)).await?;
        let told = tab.text(".detail .prose").await?;
        let sentence = "Receiving events as they happen, because the server accepted the watch. ";
        ensure!(told.starts_with(sentence), "{told:?}");
        Ok(())
    })
    .await?;

    bar_has_its_figures(&tab).await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn the_picture_is_dark_or_light_as_the_system_or_the_person_says() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&FINE).await?);
    let (driver, tab) = visit.open().await?;
    let system = async |scheme: &str| -> Result<()> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        let command = "Emulation.setEmulatedMedia";
        driver.cdp().send_raw(command, features).await?;
        Ok(())
    };
    // Waits for a glyph whose pixel has the ink of the page's own panels; returns the ink.
    let painted = async |wanted: &str| {
        eventually(wanted, LONG, async || {
            let inks = "const ink = document.createElement('canvas').getContext('2d');
                const probe = document.body.appendChild(document.createElement('i'));
                const inks = ['--bg0', '--added'].map(name => {
                    probe.style.color = `var(${name})`;
                    ink.fillStyle = getComputedStyle(probe).color;
                    return ink.fillStyle.toUpperCase();
                });
                probe.remove();
                return inks";
            let [ground, ink]: [String; 2] = serde_json::from_value(tab.script(inks).await?)?;
            let is_dark = u8::from_str_radix(ground.get(1..3).context("a colour")?, 16)? < 128;
            ensure!(
                is_dark == (wanted == "dark"),
                "the page's ground is {ground}"
            );
            let hits = tab.hits().await?;
            let has_ink = |hit: &&Value| {
                hit["token"] == "added" && hit["color"] == *ink && hit["pixel"] == *ink
            };
            ensure!(hits.iter().find(has_ink).is_some(), "{ink}: {hits:#?}");
            Ok(ink)
        })
        .await
    };
    tab.press("0").await?;
    system("dark").await?;
    let dark = painted("dark").await?;
    system("light").await?;
    let light = painted("light").await?;
    assert_ne!(dark, light);

    // The person's choice overrides the system's, and is remembered.
    let choose = async || {
        // In a window of this width the button is in the menu.
        let script = "document.querySelector(`button[aria-label^='colours']`).click()";
        tab.script(script).await.map(drop)
    };
    choose().await?;
    assert_eq!(painted("dark").await?, dark);
    driver.refresh().await?;
    tab.is_live().await?;
    assert_eq!(painted("dark").await?, dark);
    choose().await?;
    system("dark").await?;
    assert_eq!(painted("light").await?, light);
    choose().await?;
    assert_eq!(
        painted("dark").await?,
        dark,
        "the system's choice holds again"
    );
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn a_marked_time_and_a_marked_range_show_their_content_and_a_link_leads_to_both() -> Result<()>
{
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (driver, tab) = visit.open().await?;
    let (left, top) = corner(&tab).await?;
    let mouse = Mouse(driver);
    let ruler = |x: f64| ((left + x) as i32, (top + 12.0) as i32);
    eventually("there is something to look back at", LONG, async || {
        let summary = tab.summary().await?;
        ensure!(number(&summary, "records")? > 60.0, "{summary}");
        Ok(())
    })
    .await?;

    mouse.click(ruler(120.0)).await?;
    eventually("the header shows the time", LONG, async || {
        let words = tab.text("[data-part=as-of]").await?;
        ensure!(words.starts_with("As of "), "{words:?}");
        ensure!(tab.summary().await?["following"] == false, "{words:?}");
        Ok(())
    })
    .await?;

    mouse.drag(ruler(60.0), ruler(400.0)).await?;
    eventually("the row under the ruler is open", LONG, async || {
        let words = tab.text("[data-part=range]").await?;
        ensure!(words.contains("change"), "{words:?}");
        Ok(())
    })
    .await?;
    let copy = "[data-part=copy-link]";
    driver.find(By::Css(copy)).await?.click().await?;
    let marked = tab.text("[data-part=as-of]").await?;
    let link = driver.current_url().await?.to_string();
    ensure!(link.contains("mark="), "{link}");

    let old = driver.window().await?;
    let new = driver.new_window().await?;
    driver.switch_to_window(new).await?;
    driver.goto(&link).await?;
    tab.is_live().await?;
    eventually("the link leads to time and range", LONG, async || {
        let words = tab.text("[data-part=range]").await?;
        ensure!(words.contains("change"), "{words:?}");
        let as_of = tab.text("[data-part=as-of]").await?;
        ensure!(as_of == marked, "{as_of:?}, {marked:?}");
        Ok(())
    })
    .await?;
    driver.close_window().await?;
    driver.switch_to_window(old).await?;

    // Escape clears the range; the button Now follows again.
    tab.press(Key::Escape + "").await?;
    driver
        .find(By::Css("[data-part=now]"))
        .await?
        .click()
        .await?;
    eventually("the picture follows now", LONG, async || {
        let words = tab.text("[data-part=as-of]").await?;
        ensure!(words == "Following", "{words:?}");
        ensure!(tab.text("[data-part=range]").await?.is_empty());
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}
