//! An apiserver whose answers break on the wire, in another manner for each watch. The watch gets an event, the others
//! are untouched, and nothing is lost silently.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use watchscope_tests::{Feeder, Watchscope, WatchscopeBinary, eventually, or_skip};

use crate::kubeconfig;
use crate::records::{find, of};

const LONG: Duration = Duration::from_secs(60);
/// How long watchscope is stopped: longer than servers may differ (F31).
const PAUSE: Duration = Duration::from_millis(3_500);

/// The resources that are served, and how the first watch or list of each breaks.
const SERVED: [(&str, &str, Breaks); 9] = [
    ("pods", "Pod", Breaks::Nothing),
    ("configmaps", "ConfigMap", Breaks::Frame),
    ("services", "Service", Breaks::Line),
    ("events", "Event", Breaks::Chunk),
    ("endpoints", "Endpoints", Breaks::Length),
    ("serviceaccounts", "ServiceAccount", Breaks::Encoding),
    ("limitranges", "LimitRange", Breaks::Kind),
    ("podtemplates", "PodTemplate", Breaks::UntilClose),
    ("resourcequotas", "ResourceQuota", Breaks::Surplus),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breaks {
    /// Nothing breaks.
    Nothing,
    /// A line of a watch is not JSON.
    Frame,
    /// A line of a watch has nine megabytes without an end.
    Line,
    /// A chunk announces 256 bytes and brings 10, then the connection closes.
    Chunk,
    /// A list's Content-Length is larger than its body.
    Length,
    /// A line of a watch is not UTF-8.
    Encoding,
    /// A line of a watch is an object of another kind.
    Kind,
    /// A list and a watch have neither length nor chunks, as through a proxy of HTTP/1.0. They end with their
    /// connection, the watch after a whole line.
    UntilClose,
    /// More bytes follow a list than its Content-Length says.
    Surplus,
}

/// The number of requests for each resource; lists and watches are counted separately.
type Asked = Arc<Mutex<BTreeMap<(String, bool), usize>>>;

/// Serves until the task is dropped.
async fn serve(listener: TcpListener, asked: Asked) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        // A client that disconnects ends its own connection, wherever the answer was.
        tokio::spawn(converse(stream, Arc::clone(&asked)));
    }
}

async fn converse(stream: TcpStream, asked: Asked) -> Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut target = String::new();
        let mut line = String::new();
        while stream.read_line(&mut line).await? > 2 {
            if target.is_empty() {
                target = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
            line.clear();
        }
        if target.is_empty() {
            return Ok(());
        }
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let served = SERVED
            .iter()
            .find(|(plural, ..)| path == format!("/api/v1/namespaces/default/{plural}"));
        match served {
            None => answer(&mut stream, &root(path)).await?,
            Some(&(plural, kind, breaks)) => {
                let is_watch = query.contains("watch=true");
                let nth = {
                    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
                    let count = asked.entry((plural.to_owned(), is_watch)).or_default();
                    *count += 1;
                    *count
                };
                let breaks = if nth == 1 { breaks } else { Breaks::Nothing };
                if is_watch {
                    return watch(stream, kind, breaks, version_in(query)).await;
                }
                // There is no object before the first watch, and all objects exist once it has begun.
                let watched = asked
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .contains_key(&(plural.to_owned(), true));
                let items: Vec<Value> = OBJECTS
                    .iter()
                    .filter(|_| watched)
                    .map(|(version, name)| object(kind, name, *version))
                    .collect();
                let version = if watched { "13" } else { "10" };
                let list = json!({
                    "kind": format!("{kind}List"), "apiVersion": "v1",
                    "metadata": {"resourceVersion": version}, "items": items,
                });
                if breaks == Breaks::Length {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n";
                    stream.write_all(head.as_bytes()).await?;
                    stream.write_all(list.to_string().as_bytes()).await?;
                    return Ok(());
                }
                if breaks == Breaks::UntilClose {
                    stream.write_all(UNTIL_CLOSE.as_bytes()).await?;
                    stream.write_all(list.to_string().as_bytes()).await?;
                    return Ok(());
                }
                let surplus = if breaks == Breaks::Surplus {
                    "surplus"
                } else {
                    ""
                };
                answer_and(&mut stream, &list, surplus).await?;
            }
        }
    }
}

/// Returns the `resourceVersion` of a query.
fn version_in(query: &str) -> u32 {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("resourceVersion=")?.parse().ok())
        .unwrap_or_default()
}

/// Returns the server's discovery documents.
fn root(path: &str) -> Value {
    match path {
        "/version" => json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3"}),
        "/api" => json!({"kind": "APIVersions", "versions": ["v1"]}),
        "/api/v1" => {
            let resources: Vec<Value> = SERVED
                .iter()
                .map(|(plural, kind, _)| {
                    json!({"name": plural, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind,
                        "verbs": ["get", "list", "watch"]})
                })
                .collect();
            json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": resources})
        }
        _ => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}),
    }
}

/// The head of an answer whose body ends with its connection.
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";

async fn answer(stream: &mut BufReader<TcpStream>, body: &Value) -> Result<()> {
    answer_and(stream, body, "").await
}

/// Sends an answer with bytes behind its body, in one write.
async fn answer_and(stream: &mut BufReader<TcpStream>, body: &Value, surplus: &str) -> Result<()> {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream
        .write_all(format!("{head}{body}{surplus}").as_bytes())
        .await?;
    Ok(())
}

/// The three objects that each resource has in the end, with the versions at which they were created.
const OBJECTS: [(u32, &str); 3] = [(11, "first"), (12, "second"), (13, "third")];

fn object(kind: &str, name: &str, version: u32) -> Value {
    json!({
        "kind": kind, "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string()},
    })
}

/// Writes a watch's body: the events after `since`, with the second one broken, then silence.
async fn watch(
    mut stream: BufReader<TcpStream>,
    kind: &str,
    breaks: Breaks,
    since: u32,
) -> Result<()> {
    if breaks == Breaks::UntilClose {
        stream.write_all(UNTIL_CLOSE.as_bytes()).await?;
        stream.write_all(&event(kind, "first", 11)).await?;
        return Ok(());
    }
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    for (version, name) in OBJECTS.into_iter().filter(|(version, _)| *version > since) {
        match breaks {
            _ if name != "second" => chunk(&mut stream, &event(kind, name, version)).await?,
            Breaks::Nothing | Breaks::Length | Breaks::UntilClose | Breaks::Surplus => {
                chunk(&mut stream, &event(kind, name, version)).await?;
            }
            Breaks::Frame => {
                chunk(&mut stream, b"{\"type\":\"ADDED\",\"object\":{]}\n").await?;
            }
            Breaks::Encoding => {
                chunk(
                    &mut stream,
                    b"{\"type\":\"ADDED\",\"object\":\"\xff\xfe\"}\n",
                )
                .await?;
            }
            Breaks::Kind => chunk(&mut stream, &event("Stranger", name, version)).await?,
            Breaks::Line => {
                let piece = vec![b'x'; 1 << 20];
                for _ in 0..9 {
                    chunk(&mut stream, &piece).await?;
                }
                chunk(&mut stream, b"\n").await?;
            }
            Breaks::Chunk => {
                stream.write_all(b"100\r\n{\"type\":\"A").await?;
                return Ok(());
            }
        }
    }
    std::future::pending().await
}

/// Returns an object's line in a watch.
fn event(kind: &str, name: &str, version: u32) -> Vec<u8> {
    let object = object(kind, name, version);
    format!("{}\n", json!({"type": "ADDED", "object": object})).into_bytes()
}

async fn chunk(stream: &mut BufReader<TcpStream>, bytes: &[u8]) -> Result<()> {
    let mut size = String::new();
    write!(size, "{:x}\r\n", bytes.len())?;
    stream.write_all(size.as_bytes()).await?;
    stream.write_all(bytes).await?;
    stream.write_all(b"\r\n").await?;
    Ok(())
}

/// Starts a watchscope that watches all resources of such a server.
async fn watching(
    binary: &WatchscopeBinary,
    folder: &std::path::Path,
) -> Result<(Watchscope, Asked)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = format!("http://{}", listener.local_addr()?);
    let asked = Asked::default();
    tokio::spawn(serve(listener, Arc::clone(&asked)));
    let kubeconfig = kubeconfig::write(folder, &server, &json!({}))?;
    let mut arguments = vec!["watch", "-o", "jsonl"];
    arguments.extend(SERVED.iter().map(|(plural, ..)| *plural));
    let watchscope = binary.with(&arguments).kubeconfig(&kubeconfig).start()?;
    Ok((watchscope, asked))
}

/// Asserts that the connection of a list without an end of its own carries nothing more. The log has no request that
/// was never sent.
fn such_connections_carry_nothing_more(records: &[Value]) {
    for (watch, requests) in [("default/podtemplates", 3), ("default/resourcequotas", 2)] {
        let sent = of(records, "request.sent", watch);
        assert_eq!(sent.len(), requests, "{sent:?}");
        let closed = records
            .iter()
            .find(|record| {
                record["type"] == "connection.closed"
                    && record["connection"] == sent[0]["connection"]
            })
            .expect("the list's connection was closed");
        assert!(closed["seq"].as_u64() < sent[1]["seq"].as_u64(), "{closed}");
        assert_ne!(sent[0]["connection"], sent[1]["connection"]);
        let unanswered = of(records, "request.answered", watch);
        assert!(
            unanswered.iter().all(|answer| answer["status"] == 200),
            "{unanswered:?}"
        );
    }
}

#[tokio::test]
async fn a_break_on_the_wire_is_an_event_in_its_watch_and_nothing_is_lost_silently() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let (mut watchscope, _) = watching(&binary, folder.path()).await?;

    // Each watch gets the object after the break.
    let records = eventually(
        "every watch has the object after the break",
        LONG,
        async || {
            watchscope.still_runs()?;
            let records = watchscope.records()?;
            for (plural, ..) in SERVED {
                let watch = format!("default/{plural}");
                find(&records, "change", &watch, |change| {
                    change["name"] == "third"
                })?;
            }
            Ok(records)
        },
    )
    .await?;

    let losses = |watch: &str| -> Vec<(Value, Value)> {
        of(&records, "loss", watch)
            .iter()
            .map(|loss| (loss["where"].clone(), loss["count"].clone()))
            .collect()
    };
    let cause = |watch: &str| -> Option<String> {
        let ended = of(&records, "stream.ended", watch);
        ended.first().map(|ended| ended["cause"].to_string())
    };
    // The unbroken watch: one list, one stream, all objects, no loss.
    assert!(losses("default/pods").is_empty() && cause("default/pods").is_none());
    assert_eq!(of(&records, "request.sent", "default/pods").len(), 2);
    assert_eq!(of(&records, "change", "default/pods").len(), 3);

    for watch in ["default/configmaps", "default/serviceaccounts"] {
        assert_eq!(losses(watch), [(json!("frame"), json!(1))], "{watch}");
        assert_eq!(cause(watch).as_deref(), Some("\"decode\""), "{watch}");
        let gap = find(&records, "gap", watch, |_| true)?;
        assert_eq!(
            gap["resumed"], false,
            "the lost line may have been a change"
        );
    }
    assert_eq!(losses("default/limitranges"), [(json!("frame"), json!(1))]);
    assert_eq!(losses("default/services"), [(json!("frame"), json!(1))]);
    let monster = of(&records, "loss", "default/services")[0];
    let read = monster["bytes"].as_u64().unwrap_or_default();
    assert!(
        read > 8 << 20,
        "the line was dropped at the limit: {monster}"
    );
    let ended = of(&records, "stream.ended", "default/services")[0];
    let whole = event("Service", "first", 11).len() as u64;
    assert_eq!(
        ended["bytes"],
        whole + read,
        "every byte is counted: {ended}"
    );
    assert_eq!(ended["cause"], "decode");

    assert_eq!(cause("default/events").as_deref(), Some("\"eof-in-frame\""));
    let gap = find(&records, "gap", "default/events", |_| true)?;
    assert_eq!(gap["resumed"], true, "{gap}");

    let short = find(&records, "watch.phase", "default/endpoints", |phase| {
        phase["to"] == "waiting"
    })?;
    assert_eq!(
        short["reason"], "broken",
        "a list that is not whole is no list"
    );

    // A stream without an end of its own ended with its connection, and the bytes before were whole.
    assert_eq!(losses("default/podtemplates"), []);
    assert_eq!(cause("default/podtemplates").as_deref(), Some("\"eof\""));
    let surplus = of(&records, "loss", "default/resourcequotas");
    let [surplus] = surplus.as_slice() else {
        anyhow::bail!("one loss: {surplus:?}");
    };
    let reason = surplus["reason"].as_str().unwrap_or_default();
    assert!(
        reason.starts_with("what followed a response is not HTTP"),
        "{surplus}"
    );
    such_connections_carry_nothing_more(&records);
    Ok(())
}

/// Row 27: a redirect is an answer like any other.
#[tokio::test]
async fn a_redirect_of_an_apiserver_is_not_followed() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let elsewhere = TcpListener::bind("127.0.0.1:0").await?;
    let target = elsewhere.local_addr()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(redirect(stream, target));
        }
    });
    let kubeconfig =
        kubeconfig::write(folder.path(), &server, &json!({"token": "not-for-others"}))?;
    let mut watchscope = binary
        .with(&["watch", "pods", "-o", "jsonl"])
        .kubeconfig(&kubeconfig)
        .start()?;
    let refused = eventually(
        "the redirect is logged and the watch waits",
        LONG,
        async || {
            watchscope.still_runs()?;
            let records = watchscope.records()?;
            let answer = find(&records, "request.answered", "default/pods", |_| true)?;
            let phase = find(&records, "watch.phase", "default/pods", |phase| {
                phase["to"] == "refused" || phase["to"] == "waiting"
            })?;
            ensure!(phase["seq"].as_u64() > answer["seq"].as_u64());
            Ok(answer.clone())
        },
    )
    .await?;
    assert_eq!(refused["status"], 302, "{refused}");
    let nobody = tokio::time::timeout(Duration::ZERO, elsewhere.accept()).await;
    assert!(nobody.is_err(), "the redirect was followed: {nobody:?}");
    Ok(())
}

/// A suspended laptop does the same: the world goes on without the stopped process.
#[tokio::test]
async fn a_pause_of_watchscope_is_logged_before_late_events_and_blames_nobody() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let feeder = Feeder::start(&[3]).await?;
    let kubeconfig = kubeconfig::write(folder.path(), feeder.origin(), &json!({}))?;
    let mut watchscope = binary
        .with(&["watch", "widgets-00", "-n", "shop", "-o", "jsonl"])
        .kubeconfig(&kubeconfig)
        .start()?;
    let watch = "shop/widgets-00";
    eventually("the stream is open", LONG, async || {
        watchscope.still_runs()?;
        find(&watchscope.records()?, "stream.opened", watch, |_| true).cloned()
    })
    .await?;
    watchscope.signal(Signal::STOP)?;
    // This sleep is the fault itself, not a wait for something.
    tokio::time::sleep(PAUSE).await;
    feeder.modify(0, 1).await?;
    watchscope.signal(Signal::CONT)?;
    let records = eventually("the late change is logged", LONG, async || {
        watchscope.still_runs()?;
        let records = watchscope.records()?;
        find(&records, "change", watch, |change| {
            change["change"] == "MODIFIED"
        })?;
        Ok(records)
    })
    .await?;
    let of_type = |kind: &str| -> Vec<&Value> {
        let of_type = records.iter().filter(|record| record["type"] == kind);
        of_type.collect()
    };
    let change = find(&records, "change", watch, |change| {
        change["change"] == "MODIFIED"
    })?;
    let pauses: Vec<(u64, u64)> = of_type("clock")
        .iter()
        .filter_map(|clock| Some((clock["seq"].as_u64()?, clock["pausedMs"].as_u64()?)))
        .collect();
    let paused_ms = u64::try_from(PAUSE.as_millis())?;
    assert!(
        pauses.iter().any(|(seq, lasted_ms)| {
            Some(*seq) < change["seq"].as_u64() && *lasted_ms >= paused_ms - 500
        }),
        "{pauses:?}, then {change}"
    );
    assert_eq!(of_type("finding"), Vec::<&Value>::new());
    Ok(())
}

async fn redirect(stream: TcpStream, target: std::net::SocketAddr) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if line == "\r\n" {
            let head = format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{target}/\r\nContent-Length: 0\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await?;
        }
    }
}
