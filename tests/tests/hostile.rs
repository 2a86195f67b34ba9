//! A cluster whose every text is an attack. The page shows it as text; terminals and JSON lines get it escaped.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use thirtyfour::By;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use watchscope_tests::{Browser, BrowserTools, Served, WatchscopeBinary, eventually, or_skip};

use crate::browser::{LONG, Tab, has_page};
use crate::exporting::{choose, export, open_dialog};
use crate::kubeconfig;
use crate::records::find;

/// Runs if a text is used as markup.
const IMAGE: &str = "<img src=x onerror=window.attacked=1>";
/// Closes an attribute, then runs.
const SCRIPT: &str = "\"'></title><script>window.attacked=1</script>";
/// Runs if a text is used as an address.
const ADDRESS: &str = "javascript:window.attacked=1";
/// Clears a terminal, by the usual sequence and by its one-character form. Begins a new line; deletes; and writes the
/// rest from right to left.
const TERMINAL: &str = "pod\u{1b}[2J\u{9b}2J\n{\"type\":\"forged\"}\r\u{7f}\u{8}\u{202e}dop";

/// Names that no real apiserver accepts; watchscope does not rely on that.
const NAMES: [&str; 3] = [IMAGE, SCRIPT, TERMINAL];

fn object(name: &str, version: &str) -> Value {
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {
            "name": name, "namespace": "default", "uid": format!("{SCRIPT}{}", name.len()), "resourceVersion": version,
            "annotations": {"home": ADDRESS, IMAGE: SCRIPT}, "labels": {IMAGE: SCRIPT},
            "managedFields": [{"manager": IMAGE, "operation": "Update", "time": "2026-01-01T00:00:00Z"}],
        },
        "spec": {"containers": [{"name": SCRIPT, "image": ADDRESS, "args": [IMAGE]}]},
        "status": {"message": IMAGE},
    })
}

/// What the cluster's watches, and its lists at an exact version, deliver.
#[derive(Clone, Copy, PartialEq)]
enum Telling {
    /// Each object changes once, then an error follows, then silence.
    Changes,
    /// Watches deliver nothing, though at the version of the first list all objects were gone.
    Ghosts,
}

/// Serves until the test is over.
async fn serve(listener: TcpListener, telling: Telling) {
    while let Ok((stream, _)) = listener.accept().await {
        // A client that disconnects ends its own connection.
        tokio::spawn(converse(BufReader::new(stream), telling));
    }
}

async fn converse(mut stream: BufReader<TcpStream>, telling: Telling) -> Result<()> {
    loop {
        let (mut target, mut line) = (String::new(), String::new());
        while stream.read_line(&mut line).await? > 2 {
            if target.is_empty() {
                target = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
            line.clear();
        }
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let body = match path {
            "" => return Ok(()),
            "/version" => json!({"major": "1", "minor": "36", "gitVersion": IMAGE}),
            "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
            "/api/v1" => json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [{
                "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod",
                "verbs": ["get", "list", "watch"],
            }]}),
            "/apis" => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}),
            _ if query.contains("watch=true") => {
                let silent = telling == Telling::Ghosts;
                return watch(stream, !silent && query.contains("resourceVersion=10")).await;
            }
            _ if telling == Telling::Ghosts && query.contains("resourceVersion=10&") => json!({
                "kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "10"}, "items": [],
            }),
            _ => json!({
                "kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "10"},
                "items": NAMES.map(|name| object(name, "9")),
            }),
        };
        let body = body.to_string();
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await?;
    }
}

async fn watch(mut stream: BufReader<TcpStream>, has_changes: bool) -> Result<()> {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    // Only once: after the error the watch resumes from the last change.
    if has_changes {
        let mut lines: Vec<Value> = std::iter::zip(NAMES, ["11", "12", "13"])
            .map(|(name, version)| json!({"type": "MODIFIED", "object": object(name, version)}))
            .collect();
        lines.push(json!({"type": "ERROR", "object": {
            "kind": "Status", "apiVersion": "v1", "code": 429, "reason": "TooManyRequests",
            "message": format!("{IMAGE} {TERMINAL}"),
        }}));
        for line in lines {
            let line = format!("{line}\n");
            let chunk = format!("{:x}\r\n{line}\r\n", line.len());
            stream.write_all(chunk.as_bytes()).await?;
        }
        stream.write_all(b"0\r\n\r\n").await?;
        return Ok(());
    }
    std::future::pending().await
}

/// Starts such a cluster; returns a kubeconfig for it.
async fn cluster(folder: &std::path::Path, telling: Telling) -> Result<std::path::PathBuf> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = format!("http://{}", listener.local_addr()?);
    tokio::spawn(serve(listener, telling));
    kubeconfig::write(folder, &server, &json!({}))
}

/// Row 29 of the attack table.
#[tokio::test]
async fn control_characters_of_a_cluster_reach_no_terminal_and_json_lines_keep_them_as_escapes()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let kubeconfig = cluster(folder.path(), Telling::Changes).await?;
    for format in ["text", "jsonl"] {
        let launch = binary.with(&["watch", "pods", "-o", format]);
        let mut watchscope = launch.kubeconfig(&kubeconfig).start()?;
        let said = watchscope
            .until("the error is printed", LONG, async |process| {
                let said = process.stdout();
                ensure!(said.matches("stream.error").count() == 1, "{said:?}");
                Ok(said)
            })
            .await?;
        let wrong: Vec<char> = said
            .chars()
            .filter(|c| c.is_control() && *c != '\n')
            .collect();
        assert!(wrong.is_empty(), "{format}: {wrong:?} in {said:?}");
        assert!(
            !said
                .lines()
                .any(|line| line.starts_with("{\"type\":\"forged\"")),
            "{format}: {said}"
        );
        if format == "text" {
            assert!(said.contains(r"pod\u{1b}[2J\u{9b}2J\n"), "{said}");
            assert!(!said.contains('\u{202e}'), "{said}");
        } else {
            // JSON keeps the name unchanged.
            let records = watchscope.records()?;
            let change = find(&records, "change", "default/pods", |change| {
                change["resourceVersion"] == "13"
            })?;
            assert_eq!(change["name"], TERMINAL);
        }
    }
    Ok(())
}

/// Row 29, for the standard error of `audit`.
#[tokio::test]
async fn control_characters_of_a_ghosts_name_do_not_reach_the_terminal_by_standard_error()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let kubeconfig = cluster(folder.path(), Telling::Ghosts).await?;
    let launch = binary.with(&["audit", "pods"]).kubeconfig(&kubeconfig);
    let finished = launch.run(LONG).await?;
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    for said in [&finished.stdout, &finished.stderr] {
        let wrong: Vec<char> = said
            .chars()
            .filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}')
            .collect();
        assert!(wrong.is_empty(), "{wrong:?} in {said:?}");
        ensure!(said.contains(r"pod\u{1b}[2J\u{9b}2J\n"), "{said}");
    }
    Ok(())
}

/// Rows 13 and 14, in a browser. The content security policy stops nothing, since nothing tries to run.
#[tokio::test]
async fn text_of_a_cluster_is_text_in_every_place_of_the_page() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let folder = tempfile::tempdir()?;
    let kubeconfig = cluster(folder.path(), Telling::Changes).await?;
    let launch = binary.with(&["serve", "pods"]).kubeconfig(&kubeconfig);
    let served = Served::start(launch).await?;
    or_skip!(has_page(&served.link).await);
    let browser = Browser::start(&tools).await?;
    let (driver, tab) = (browser.driver(), Tab(browser.driver()));
    let witness = "window.violations = [];
        document.addEventListener('securitypolicyviolation', event =>
            window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));";
    let parameters = json!({"source": witness});
    let command = "Page.addScriptToEvaluateOnNewDocument";
    driver.cdp().send_raw(command, parameters).await?;
    driver.goto(served.link.text()).await?;
    tab.is_live().await?;
    let is_text = async |place: &str| -> Result<()> {
        // The preview of an export is a picture; the browser runs nothing inside it.
        let found = "return [window.attacked ?? null, window.violations,
            document.querySelectorAll('img:not(.preview > img), iframe, [onerror], a[href^=\"javascript\" i]').length,
            [...document.scripts].filter(script => script.textContent.includes('attacked')).length]";
        let found = tab.script(found).await?;
        assert_eq!(found, json!([null, [], 0, 0]), "{place}");
        Ok(())
    };
    let contains = async |selector: &str, text: &str| {
        eventually(text, LONG, async || {
            let told = tab.text(selector).await?;
            ensure!(told.contains(text), "{selector}: {told:?}");
            Ok(())
        })
        .await
    };

    // Checks header and lane tree.
    contains(".header", IMAGE).await?;
    for name in [IMAGE, SCRIPT] {
        contains(".rows", name).await?;
    }
    is_text("the lane tree").await?;

    // Checks everything that the page shows about an object.
    let rows = driver.find_all(By::Css(".row[data-lane]")).await?;
    let mut opened = 0;
    for row in rows {
        let lane = row.attr("data-lane").await?.unwrap_or_default();
        if !lane.contains("attacked") {
            continue;
        }
        row.click().await?;
        let wanted = if lane.contains("<img") { IMAGE } else { SCRIPT };
        contains(".detail h2", wanted).await?;
        for (name, shown) in [
            ("Object", ADDRESS),
            ("Request", "kubectl get"),
            ("Event", IMAGE),
        ] {
            let script = format!(
                "[...document.querySelectorAll('.detail [role=tab]')].find(tab => tab.textContent === {name:?}).click()"
            );
            tab.script(&script).await?;
            contains(".detail", shown).await?;
            is_text(name).await?;
        }
        opened += 1;
    }
    assert_eq!(opened, 2, "one lane for each such name");

    // Checks tooltip, findings, table, a filter, and saved pictures.
    let hover = "const chart = document.querySelector('canvas.chart');
        const {left, top} = chart.getBoundingClientRect();
        for (const hit of JSON.parse(window.watchscope.hits())) {
            const [clientX, clientY] = [left + hit.x, top + hit.y];
            chart.dispatchEvent(new PointerEvent('pointermove', {clientX, clientY, pointerId: 1, bubbles: true}));
        }";
    tab.script(hover).await?;
    for key in ["i", "t"] {
        tab.press(key).await?;
        is_text(key).await?;
    }
    let field = driver.find(By::Css(".filter input")).await?;
    field
        .send_keys("<img src=y onerror=window.attacked=1>")
        .await?;
    contains("[data-part=empty]", "all hidden by <img src=y").await?;
    field.clear().await?;
    open_dialog(&tab).await?;
    // The view may be empty if no record came for a while, so all loaded records are exported.
    choose(&tab, "range", "loaded").await?;
    for (form, ending) in [("svg", "svg"), ("png", "png"), ("report", "html")] {
        choose(&tab, "form", form).await?;
        export(driver, &browser.downloads(), ending).await?;
        is_text(form).await?;
    }
    is_text("at the end").await?;
    browser.console_is_quiet().await
}
