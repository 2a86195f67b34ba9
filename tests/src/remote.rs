//! A browser that the harness drives over the browser's own protocol, without a driver: Chromium by DevTools, Firefox
//! by WebDriver BiDi. Both report each request of a document and its workers. They have no network: their proxy does
//! not exist.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::browser::{FLAGS, program, target_folder};
use crate::{Missing, Process, patient};

/// How long a browser may take to listen, and to answer a command. After it the call fails.
const LONG: Duration = Duration::from_secs(60);
/// The discard port: nothing listens on it here, so every request through it fails.
const NOWHERE: u16 = 9;

/// Which browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Chromium.
    Chromium,
    /// Firefox.
    Firefox,
}

impl Kind {
    fn program(self) -> Result<PathBuf, Missing> {
        let (variable, names, package): (_, &[&str], _) = match self {
            Self::Chromium => ("CHROME", &["chromium", "chromium-browser"], "chromium"),
            Self::Firefox => ("FIREFOX", &["firefox-esr", "firefox"], "firefox-esr"),
        };
        program(variable, names).ok_or_else(|| Missing {
            what: format!("{self:?}"),
            install: format!("{package}, or set {variable}"),
        })
    }
}

/// A browser with one tab and a profile of its own; it is killed when this is dropped.
#[derive(Debug)]
pub struct RemoteBrowser {
    kind: Kind,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The id of Chromium's session with the tab, or of Firefox's browsing context.
    tab: String,
    asked: u64,
    requests: Vec<String>,
    complaints: Vec<String>,
    // Declared after the socket, so that the socket closes before the process ends.
    _process: Process,
    _folder: TempDir,
}

impl RemoteBrowser {
    /// Starts a browser. The inner error says that it is not installed.
    pub async fn start(kind: Kind) -> Result<Result<Self, Missing>> {
        let program = match kind.program() {
            Ok(program) => program,
            Err(missing) => return Ok(Err(missing)),
        };
        let folder = tempfile::tempdir()?;
        let command = match kind {
            Kind::Chromium => chromium(&program, folder.path()),
            Kind::Firefox => firefox(&program, folder.path())?,
        };
        let mut process = Process::start("browser", command, folder.path())?;
        let address = process
            .until("the browser listens", LONG, async |process| {
                address(&process.stderr()).context("it has not said where")
            })
            .await?;
        let address = match kind {
            Kind::Chromium => address,
            Kind::Firefox => format!("{address}/session"),
        };
        let (socket, _) = connect_async(&address).await.context(address)?;
        let mut browser = Self {
            kind,
            socket,
            tab: String::new(),
            asked: 0,
            requests: Vec::new(),
            complaints: Vec::new(),
            _process: process,
            _folder: folder,
        };
        match kind {
            Kind::Chromium => browser.attach().await?,
            Kind::Firefox => browser.begin_session().await?,
        }
        Ok(Ok(browser))
    }

    /// Opens Chromium's tab and asks for reports of requests, exceptions and log entries.
    async fn attach(&mut self) -> Result<()> {
        let made = self
            .call("Target.createTarget", json!({"url": "about:blank"}))
            .await?;
        let attached = self
            .call(
                "Target.attachToTarget",
                json!({"targetId": made["targetId"], "flatten": true}),
            )
            .await?;
        self.tab = text(&attached["sessionId"])?;
        for domain in ["Network.enable", "Runtime.enable", "Log.enable"] {
            self.call(domain, json!({})).await?;
        }
        // Attaches to workers too. Each worker waits until the harness gets reports of its requests.
        let attach = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
        self.call("Target.setAutoAttach", attach).await.map(|_| ())
    }

    /// Opens Firefox's session and asks for reports of requests and log entries.
    async fn begin_session(&mut self) -> Result<()> {
        self.call("session.new", json!({"capabilities": {}}))
            .await?;
        let events = json!({"events": ["network.beforeRequestSent", "log.entryAdded"]});
        self.call("session.subscribe", events).await?;
        let tree = self.call("browsingContext.getTree", json!({})).await?;
        self.tab = text(&tree["contexts"][0]["context"])?;
        Ok(())
    }

    /// Sets the tab's size in px and, in Chromium only, the theme of the system.
    pub async fn looks(&mut self, width: u32, height: u32, is_dark: bool) -> Result<()> {
        match self.kind {
            Kind::Chromium => {
                let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
                self.call("Emulation.setDeviceMetricsOverride", size)
                    .await?;
                let theme = if is_dark { "dark" } else { "light" };
                let feature = json!({"name": "prefers-color-scheme", "value": theme});
                self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}))
                    .await?;
            }
            Kind::Firefox => {
                let size =
                    json!({"context": self.tab, "viewport": {"width": width, "height": height}});
                self.call("browsingContext.setViewport", size).await?;
            }
        }
        Ok(())
    }

    /// Opens an address in the tab.
    pub async fn goto(&mut self, url: &str) -> Result<()> {
        match self.kind {
            Kind::Chromium => self.call("Page.navigate", json!({"url": url})).await?,
            Kind::Firefox => {
                let to = json!({"context": self.tab, "url": url, "wait": "complete"});
                self.call("browsingContext.navigate", to).await?
            }
        };
        Ok(())
    }

    /// Evaluates an expression, awaits its promise if it is one, and returns its value as text.
    pub async fn script(&mut self, expression: &str) -> Result<String> {
        let expression = format!("(async () => String({expression}))()");
        let answer = match self.kind {
            Kind::Chromium => {
                let asked = json!({"expression": expression, "awaitPromise": true});
                self.call("Runtime.evaluate", asked).await?
            }
            Kind::Firefox => {
                let target = json!({"context": self.tab});
                let asked =
                    json!({"expression": expression, "awaitPromise": true, "target": target});
                self.call("script.evaluate", asked).await?
            }
        };
        text(&answer["result"]["value"]).with_context(|| format!("{expression}: {answer}"))
    }

    /// Saves a picture of the tab as `test-pictures/NAME.png` in cargo's target folder. Returns its path.
    pub async fn picture(&mut self, name: &str) -> Result<PathBuf> {
        let answer = match self.kind {
            Kind::Chromium => self.call("Page.captureScreenshot", json!({})).await?,
            Kind::Firefox => {
                self.call(
                    "browsingContext.captureScreenshot",
                    json!({"context": self.tab}),
                )
                .await?
            }
        };
        let folder = target_folder()?.join("test-pictures");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.png"));
        std::fs::write(&path, STANDARD.decode(text(&answer["data"])?)?)?;
        Ok(path)
    }

    /// The addresses that the tab and its workers have requested so far, including the documents that the tab opened.
    #[must_use]
    pub fn requests(&self) -> &[String] {
        &self.requests
    }

    /// Errors and warnings of the console so far.
    #[must_use]
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Sends a command and returns its answer; fails after 60 s without one, and if the browser reports an error.
    async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let session = self.tab.clone();
        let id = self.send(&session, method, params).await?;
        loop {
            let message = timeout(patient(LONG), self.socket.next()).await;
            let message = message.with_context(|| format!("{method} is not answered"))?;
            let message = message.context("the browser is gone")??;
            let Message::Text(message) = message else {
                continue;
            };
            let message: Value = serde_json::from_str(&message)?;
            if message["id"] == id {
                if !message["error"].is_null() {
                    bail!("{method}: {message}");
                }
                return Ok(message["result"].clone());
            }
            self.hear(&message).await?;
        }
    }

    /// Sends a command without waiting; returns its id.
    async fn send(&mut self, session: &str, method: &str, params: Value) -> Result<u64> {
        self.asked += 1;
        let mut asked = json!({"id": self.asked, "method": method, "params": params});
        if self.kind == Kind::Chromium && !session.is_empty() {
            asked["sessionId"] = json!(session);
        }
        self.socket
            .send(Message::Text(asked.to_string().into()))
            .await?;
        Ok(self.asked)
    }

    /// Handles a message that the browser sends by itself.
    async fn hear(&mut self, message: &Value) -> Result<()> {
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Target.attachedToTarget" => {
                let worker = text(&params["sessionId"])?;
                for method in ["Network.enable", "Runtime.runIfWaitingForDebugger"] {
                    self.send(&worker, method, json!({})).await?;
                }
            }
            "Network.requestWillBeSent" => self.requests.push(text(&params["request"]["url"])?),
            // Firefox's own requests belong to no tab.
            "network.beforeRequestSent" if params["context"] == self.tab.as_str() => {
                self.requests.push(text(&params["request"]["url"])?);
            }
            "Runtime.exceptionThrown" => self.complaints.push(params.to_string()),
            "Log.entryAdded" if params["entry"]["level"] != "info" => {
                self.complaints.push(params["entry"].to_string());
            }
            "log.entryAdded" if params["level"] == "error" || params["level"] == "warn" => {
                self.complaints.push(params.to_string());
            }
            _ => {}
        }
        Ok(())
    }
}

fn chromium(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(FLAGS)
        .arg("--remote-debugging-port=0")
        .arg(format!("--proxy-server=127.0.0.1:{NOWHERE}"))
        .arg("--proxy-bypass-list=<-loopback>")
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg("about:blank")
        .env("HOME", folder)
        .env("TMPDIR", folder);
    command
}

fn firefox(program: &Path, folder: &Path) -> Result<Command> {
    let profile = folder.join("profile");
    std::fs::create_dir(&profile)?;
    let mut preferences = String::new();
    for (name, value) in [
        ("network.proxy.type", json!(1)),
        ("network.proxy.http", json!("127.0.0.1")),
        ("network.proxy.http_port", json!(NOWHERE)),
        ("network.proxy.ssl", json!("127.0.0.1")),
        ("network.proxy.ssl_port", json!(NOWHERE)),
        ("network.proxy.allow_hijacking_localhost", json!(true)),
        ("app.normandy.enabled", json!(false)),
        ("datareporting.policy.dataSubmissionEnabled", json!(false)),
    ] {
        preferences.push_str(&format!("user_pref({name:?}, {value});\n"));
    }
    std::fs::write(profile.join("user.js"), preferences)?;
    let mut command = Command::new(program);
    command
        .args(["--headless", "--no-remote", "--remote-debugging-port", "0"])
        .arg("--profile")
        .arg(profile)
        .arg("about:blank")
        .env("HOME", folder)
        .env("TMPDIR", folder);
    Ok(command)
}

/// Returns the address that the browser says it listens on, once the line is whole:
/// `… listening on ws://127.0.0.1:34567/…`.
fn address(stderr: &str) -> Option<String> {
    let (_, behind) = stderr.split_once("listening on ws://")?;
    let (address, _) = behind.split_once('\n')?;
    Some(format!("ws://{}", address.trim_end()))
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().context("a text")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_say_where_they_listen_once_the_line_is_whole() {
        let chromium = "\nDevTools listening on ws://127.0.0.1:5/devtools/browser/a-b\n";
        assert_eq!(
            address(chromium).as_deref(),
            Some("ws://127.0.0.1:5/devtools/browser/a-b")
        );
        let firefox = "WebDriver BiDi listening on ws://127.0.0.1:5\n";
        assert_eq!(address(firefox).as_deref(), Some("ws://127.0.0.1:5"));
        assert_eq!(address(firefox.trim_end()), None);
    }
}
