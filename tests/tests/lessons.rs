//! Lessons in Chromium: from any folder of a static file server, with no watchscope behind it; and from demo and serve.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use watchscope_scenarios::lessons::{Run, digest_of, english, english_lines, lessons};
use watchscope_simulator::{ClientGo, Version};
use watchscope_tests::{
    Browser, BrowserTools, Missing, Served, WatchscopeBinary, eventually, or_skip, project_root,
};

use crate::browser::{LONG, Tab, Visit, has_page};
use crate::simulated::Simulated;

/// The most bytes of the worker's module under gzip. A click loads it, and only with a lesson. The texts of the
/// lessons are not in it.
const MOST_BYTES: u64 = 530_000;
/// The most bytes of the module that opens and saves recordings, under gzip.
const MOST_RECORDING_BYTES: u64 = 186_000;
/// The most bytes of the modules that the first export fetches, under gzip: all forms, charts and hiding. Store and
/// drawing are the page's own.
const MOST_EXPORT_BYTES: u64 = 226_000;
/// The most bytes of a request's head; a longer one is answered as if it ended there.
const REQUEST_BYTES: usize = 64 << 10;

/// Returns the folder of the page that `cargo xtask build` made.
fn page_folder() -> Result<PathBuf, Missing> {
    let folder = project_root().join("dist");
    if folder.join("index.html").is_file() {
        return Ok(folder);
    }
    Err(Missing {
        what: "the page in dist/".to_owned(),
        install: "it with `cargo xtask build`".to_owned(),
    })
}

/// A file server that knows nothing of watchscope. The page lies below `/any/folder/`, and a module has no type of its
/// own.
pub(crate) struct Files {
    pub(crate) page: String,
    /// The first lines and all headers of the requests so far.
    asked: Arc<Mutex<String>>,
    accepting: JoinHandle<()>,
}

impl Drop for Files {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Files {
    pub(crate) async fn serve(folder: PathBuf) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let page = format!("http://{}/any/folder/", listener.local_addr()?);
        let asked = Arc::new(Mutex::new(String::new()));
        let heard = asked.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (folder, heard) = (folder.clone(), heard.clone());
                // A browser that disconnects is no failure of the server.
                tokio::spawn(async move { drop(answer(stream, &folder, &heard).await) });
            }
        });
        Ok(Self {
            page,
            asked,
            accepting,
        })
    }

    fn asked(&self) -> String {
        self.asked
            .lock()
            .map(|asked| asked.clone())
            .unwrap_or_default()
    }
}

async fn answer(mut stream: TcpStream, folder: &Path, heard: &Mutex<String>) -> Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && request.len() < REQUEST_BYTES {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8(request)?;
    if let Ok(mut heard) = heard.lock() {
        heard.push_str(&request);
    }
    let path = request.split(' ').nth(1).context("a path")?;
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let name = path.strip_prefix("/any/folder/").unwrap_or("..");
    let name = if name.is_empty() { "index.html" } else { name };
    let is_plain = !name.contains("..") && !name.contains('/');
    let file = is_plain.then(|| std::fs::read(folder.join(name)).ok());
    let (status, body) = match file.flatten() {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", b"nothing here".to_vec()),
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        // Modules get this type too.
        _ => "text/plain",
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    Ok(stream.shutdown().await?)
}

/// Waits until the picture has lanes; returns the lesson's own state.
async fn is_open(tab: &Tab<'_>) -> Result<Value> {
    eventually("the lesson is drawn", LONG, async || {
        let summary = tab.summary().await?;
        ensure!(summary["rows"].as_u64() > Some(0), "{summary}");
        state(tab).await
    })
    .await
}

async fn state(tab: &Tab<'_>) -> Result<Value> {
    let state = tab.script("return watchscopeLesson.state()").await?;
    ensure!(state["lesson"].is_string(), "{state}");
    Ok(state)
}

/// Fails if the console has more than the 404 for a session, which nobody answers here.
pub(crate) async fn console_is_quiet(browser: &Browser) -> Result<()> {
    let mut lines = browser.console().await?;
    lines.retain(|line| !(line.contains("/any/folder/session ") && line.contains("404")));
    ensure!(lines.is_empty(), "{lines:#?}");
    Ok(())
}

pub(crate) async fn open_files() -> Result<Result<(Files, Browser), Missing>> {
    let (folder, tools) = match (page_folder(), BrowserTools::find()) {
        (Ok(folder), Ok(tools)) => (folder, tools),
        (Err(missing), _) | (_, Err(missing)) => return Ok(Err(missing)),
    };
    Ok(Ok((
        Files::serve(folder).await?,
        Browser::start(&tools).await?,
    )))
}

#[tokio::test]
async fn a_lesson_plays_and_goes_back_from_any_folder_of_a_file_server() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let (driver, tab) = (browser.driver(), Tab(browser.driver()));
    driver
        .goto(format!("{}#lesson=ghost&at=10", files.page))
        .await?;
    let opened = is_open(&tab).await?;
    assert_eq!(
        (&opened["lesson"], &opened["at"]),
        (&"ghost".into(), &10.into())
    );

    tab.script(
        "document.querySelector('.lesson-controls select').value = '10';
        document.querySelector('.lesson-controls select').dispatchEvent(new Event('change'));
        document.querySelector('.play').click()",
    )
    .await?;
    let told = eventually("it plays to the next passage", LONG, async || {
        let state = state(&tab).await?;
        ensure!(state["at"] == 12 && state["playing"] == false, "{state}");
        Ok(state)
    })
    .await?;
    assert_eq!((&told["passage"], &told["run"]), (&2.into(), &1.into()));
    eventually("its moments are ringed", LONG, async || {
        let rings = state(&tab).await?["rings"].clone();
        ensure!(rings == serde_json::json!([true, true]), "{rings}");
        Ok(())
    })
    .await?;

    tab.script("document.querySelector('.steps button').click()")
        .await?;
    eventually(
        "it has gone back, and shows the state at that time",
        LONG,
        async || {
            let state = state(&tab).await?;
            ensure!(state["at"] == 4 && state["run"] == 2, "{state}");
            ensure!(state["rewindMs"].is_number(), "{state}");
            let sides = tab.text(".lesson-sides").await?;
            ensure!(
                sides.contains("etcd is at revision") && !sides.contains("ghost"),
                "{sides}"
            );
            Ok(())
        },
    )
    .await?;
    assert!(
        !files.asked().contains("/any/folder/ws"),
        "{}",
        files.asked()
    );
    console_is_quiet(&browser).await
}

#[tokio::test]
async fn without_a_server_the_secret_is_not_sent_and_the_lessons_are_offered() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let (driver, tab) = (browser.driver(), Tab(browser.driver()));
    driver.goto(format!("{}#t=a-secret", files.page)).await?;
    is_open(&tab).await?;
    eventually("the menu is open", LONG, async || {
        let menu = tab.text(".lesson-menu[open]").await?;
        let is_whole = english_lines()?
            .iter()
            .all(|line| menu.contains(&line.title));
        ensure!(is_whole, "{menu}");
        Ok(())
    })
    .await?;
    assert_eq!(tab.script("return location.hash").await?, "#t=a-secret");
    let asked = files.asked();
    assert!(
        !asked.contains("POST") && !asked.contains("a-secret"),
        "{asked}"
    );

    driver.goto("about:blank").await?;
    driver.goto(format!("{}#lesson=gost", files.page)).await?;
    is_open(&tab).await?;
    eventually("the nearest name is shown", LONG, async || {
        let menu = tab.text(".lesson-menu[open]").await?;
        ensure!(
            menu.contains("There is no lesson “gost”. The nearest: ghost."),
            "{menu}"
        );
        Ok(())
    })
    .await?;
    console_is_quiet(&browser).await
}

/// Delays all messages of the worker until a second after the page's panels are ready.
const LATE_WORKER: &str = "
    const held = [];
    let late = true, lesson;
    const release = () => { late = false; held.splice(0).forEach((tell) => tell()); };
    const Usual = Worker;
    window.Worker = class extends Usual {
        set onmessage(take) {
            super.onmessage = (event) => (late ? held.push(() => take(event)) : take(event));
        }
    };
    Object.defineProperty(window, 'watchscopeLesson', {
        get: () => lesson,
        set(value) {
            const ready = value.ready;
            value.ready = (page) => {
                ready(page);
                setTimeout(release, 1000);
            };
            lesson = value;
        },
    });
";

#[tokio::test]
async fn a_page_that_is_drawn_before_its_lesson_arrives_waits_for_it() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let (driver, tab) = (browser.driver(), Tab(browser.driver()));
    let cdp = driver.cdp();
    cdp.send_raw("Page.enable", json!({})).await?;
    let script = json!({"source": LATE_WORKER});
    cdp.send_raw("Page.addScriptToEvaluateOnNewDocument", script)
        .await?;
    driver.goto(format!("{}#lesson=away", files.page)).await?;
    is_open(&tab).await?;
    console_is_quiet(&browser).await
}

#[tokio::test]
async fn a_lesson_has_the_same_records_in_the_browser_as_on_the_host() -> Result<()> {
    let (files, browser) = or_skip!(open_files().await?);
    let (driver, tab) = (browser.driver(), Tab(browser.driver()));
    driver.goto(format!("{}#lesson=away", files.page)).await?;
    is_open(&tab).await?;
    for lesson in lessons() {
        let mut runs = vec![(1, String::new(), ""), (7, String::new(), "")];
        let servers = (Version::OLDEST.minor()..=Version::NEWEST_MINOR).step_by(4);
        runs.extend(servers.map(|minor| (1, format!("1.{minor}"), "")));
        let clients = ClientGo::all().step_by(4);
        runs.extend(clients.map(|client| (1, String::new(), client.name())));
        for (seed, server, client) in runs {
            let script = format!(
                "watchscopeLesson.digest('{}', {seed}, '{server}', '{client}').then(arguments[arguments.length - 1])",
                lesson.name
            );
            let answer = driver.execute_async(script.as_str(), vec![]).await?;
            let run = Run {
                seed,
                server: server.parse().unwrap_or(lesson.server),
                client: client.parse().unwrap_or(lesson.client),
            };
            let here = format!("{:016x}", digest_of(&lesson, run));
            assert_eq!(answer.json(), &Value::from(here), "{} {run:?}", lesson.name);
        }
    }
    console_is_quiet(&browser).await
}

#[tokio::test]
async fn the_demo_offers_the_lessons_and_a_lesson_leads_back() -> Result<()> {
    let visit = or_skip!(Visit::of_demo(&[]).await?);
    let (_, tab) = visit.open().await?;
    tab.script("document.querySelector('.tools a').click()")
        .await?;
    eventually("the menu is open", LONG, async || {
        let menu = tab.text(".lesson-menu[open]").await?;
        ensure!(menu.contains("Watches ghost you"), "{menu}");
        Ok(())
    })
    .await?;
    is_open(&tab).await?;
    tab.script("[...document.querySelectorAll('.lesson-head button')].find(b => b.textContent === 'Open as live view').click()")
        .await?;
    eventually("the demo is live again", LONG, async || {
        let lanes = tab.lanes().await?;
        ensure!(lanes.iter().any(|lane| lane == "shop/pods"), "{lanes:?}");
        Ok(())
    })
    .await?;
    visit.browser.console_is_quiet().await
}

#[tokio::test]
async fn serve_offers_the_lessons_too() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(BrowserTools::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let command = binary.with(&["serve", "jobs", "-n", "shop"]);
    let served = Served::start(command.kubeconfig(&simulated.kubeconfig)).await?;
    or_skip!(has_page(&served.link).await);
    let browser = Browser::start(&tools).await?;
    let tab = Tab(browser.driver());
    browser.driver().goto(served.link.text()).await?;
    tab.is_live().await?;
    tab.script("document.querySelector('.tools a').click()")
        .await?;
    eventually("the menu is open", LONG, async || {
        let menu = tab.text(".lesson-menu[open]").await?;
        let is_whole = english_lines()?
            .iter()
            .all(|line| menu.contains(&line.title));
        ensure!(is_whole, "{menu}");
        Ok(())
    })
    .await?;
    browser.console_is_quiet().await
}

/// The most bytes of the texts of one lesson under gzip.
const MOST_TEXT_BYTES: u64 = 40_000;

#[test]
fn the_texts_of_a_lesson_are_a_small_file_and_not_in_the_module() -> Result<()> {
    let folder = or_skip!(page_folder());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    let module = names
        .iter()
        .find(|name| name.starts_with("lesson-") && name.ends_with("_bg.wasm"));
    let module = std::fs::read(folder.join(module.context("the module")?))?;
    let has = |text: &str| memchr::memmem::find(&module, text.as_bytes()).is_some();
    for lesson in lessons() {
        let texts = english(&lesson)?;
        let begin = format!("lesson-{}-", lesson.name);
        let file = names
            .iter()
            .find(|name| name.starts_with(&begin) && name.ends_with(".json.gz"));
        let file = file.with_context(|| format!("no texts of {}", lesson.name))?;
        let bytes = folder.join(file).metadata()?.len();
        ensure!(
            (500..=MOST_TEXT_BYTES).contains(&bytes),
            "{file}: {bytes} bytes"
        );
        for passage in &texts.passages {
            ensure!(!has(&passage.text[0]), "{}: {}", lesson.name, passage.title);
        }
        // What the script names is in the module, so the search would find texts.
        ensure!(has(lesson.name) && !has(&texts.title), "{}", texts.title);
    }
    Ok(())
}

/// Copies the page into a folder, with other texts of `away`; `None` leaves the file out.
fn page_with(texts: Option<&str>) -> Result<Result<tempfile::TempDir, Missing>> {
    let page = match page_folder() {
        Ok(page) => page,
        Err(missing) => return Ok(Err(missing)),
    };
    let folder = tempfile::tempdir()?;
    for entry in std::fs::read_dir(&page)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let to = folder.path().join(&name);
        if !name.starts_with("lesson-away-") {
            std::fs::copy(entry.path(), to)?;
        } else if let Some(texts) = texts {
            std::fs::write(to, texts)?;
        }
    }
    Ok(Ok(folder))
}

#[tokio::test]
async fn texts_that_are_absent_or_do_not_fit_are_said_on_the_page() -> Result<()> {
    for (texts, says) in [
        (None, "its texts cannot be loaded"),
        (
            Some(r#"{"title": "A"}"#),
            "texts of away: question is missing",
        ),
        (Some("<!doctype html>"), "texts of away: no JSON"),
    ] {
        let folder = or_skip!(page_with(texts)?);
        let tools = or_skip!(BrowserTools::find());
        let files = Files::serve(folder.path().to_owned()).await?;
        let browser = Browser::start(&tools).await?;
        let tab = Tab(browser.driver());
        let address = format!("{}#lesson=away", files.page);
        browser.driver().goto(address).await?;
        eventually("the page says why", LONG, async || {
            let page = tab.text("body").await?;
            ensure!(page.contains(says), "{page}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[test]
fn the_workers_modules_stay_within_their_weights() -> Result<()> {
    let folder = or_skip!(page_folder());
    let is_of = |name: &str, begin: &str| name.starts_with(begin) && name.ends_with(".wasm.gz");
    for (begin, most) in [
        ("lesson-", MOST_BYTES),
        ("recording-", MOST_RECORDING_BYTES),
        ("frontend_export", MOST_EXPORT_BYTES),
    ] {
        let mut all = 0;
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // The page has the second part's modules before the first export, and the third's before its dialog.
            let is_there = name.contains("_second") || name.contains("_third");
            if is_of(&name, begin) && !is_there {
                all += entry.metadata()?.len();
            }
        }
        let fits = (1_000..=most).contains(&all);
        assert!(fits, "{begin}: {all} bytes of gzip");
    }
    Ok(())
}
