//! Rows of the attack table that need the whole program, or two processes of it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use futures_util::{SinkExt as _, StreamExt as _};
use rustix::fs::inotify;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use watchscope::recordings::Joined;
use watchscope_model::wire::{Hello, PROTOCOL_VERSION, encode_client};
use watchscope_tests::{
    KubeCluster, KubeTools, Kubectl, Served, WatchscopeBinary, eventually, free_port, or_skip,
    patient,
};

use crate::http;
use crate::kubeconfig;

const LONG: Duration = Duration::from_secs(60);

/// Row 5: a foreign name that resolves to this server (DNS rebinding).
#[tokio::test]
async fn a_rebound_name_is_refused_on_every_route() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let (_watchscope, link) = binary.with(&["demo"]).serve().await?;
    for path in [
        "/",
        "/index.html",
        "/session",
        "/ws",
        "/api/records",
        "/api/state",
        "/api/objects/a.1",
        "/elsewhere",
    ] {
        let rebound = [
            ("Host", "attacker.test:8080"),
            ("Origin", "http://attacker.test:8080"),
        ];
        let answer = http::get(link.origin(), path, &rebound).await?;
        assert!(matches!(answer.status, 403 | 421), "{path}: {answer:?}");
        let own = http::get(link.origin(), path, &[]).await?;
        assert!(!matches!(own.status, 403 | 421), "{path}: {own:?}");
        assert_eq!(own.header("access-control-allow-origin"), None);
    }
    Ok(())
}

/// Rows 8 and 11 of the attack table.
#[tokio::test]
async fn a_session_dies_with_its_process_and_its_secrets_are_in_no_log() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let port = free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let demo = || {
        let launch = binary.with(&["demo", "--listen", &listen]);
        launch.env("RUST_LOG", "watchscope=trace")
    };
    let (mut first, link) = demo().serve().await?;
    let secret = link.secret().context("a secret")?.to_owned();
    let cookie = http::exchange(link.origin(), &secret).await?;
    let headers = [
        ("Cookie", cookie.as_str()),
        ("Sec-Fetch-Site", "same-origin"),
    ];
    let state = http::get(link.origin(), "/api/state", &headers).await?;
    assert_eq!(state.status, 200);
    let value = cookie.split_once('=').context("a value")?.1;
    let said = first.stderr();
    assert!(!said.contains(&secret) && !said.contains(value), "{said}");

    first.kill()?;
    let (_second, link) = demo().serve().await?;
    let state = http::get(link.origin(), "/api/state", &headers).await?;
    assert_eq!(state.status, 401, "the cookie was the first process's");
    assert!(http::exchange(link.origin(), &secret).await.is_err());
    let session = http::get(link.origin(), "/session", &headers).await?;
    assert_eq!(session.json()?["session"], false);
    let fresh = http::exchange(link.origin(), link.secret().context("a secret")?).await?;
    let headers = [
        ("Cookie", fresh.as_str()),
        ("Sec-Fetch-Site", "same-origin"),
    ];
    let state = http::get(link.origin(), "/api/state", &headers).await?;
    assert_eq!(state.status, 200);
    Ok(())
}

/// Row 18, with attacker and server in two processes.
#[tokio::test]
async fn ten_thousand_half_requests_delay_neither_a_viewer_nor_a_newcomer() -> Result<()> {
    const ROUNDS: usize = 100;
    const EACH: usize = 100;
    let binary = or_skip!(WatchscopeBinary::find());
    let served = Served::start(binary.with(&["demo"])).await?;
    let origin = served.link.origin();
    let mut records = served.records().await?;
    records
        .up_to(|record| record["type"] == "stream.opened")
        .await?;

    let attack = async {
        let mut strangers = Vec::new();
        for round in 0..ROUNDS {
            for index in 0..EACH {
                let half = [
                    "GET /ws HTTP/1.1\r\nUpgr",
                    "",
                    "GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
                ][index % 3];
                let mut stream = TcpStream::connect(http::address(origin)).await?;
                // The server may close the connection at any time; that is its defence.
                let _ = stream.write_all(half.as_bytes()).await;
                strangers.push(stream);
            }
            let asked = Instant::now();
            let answer = http::get(origin, "/session", &[]).await?;
            ensure!(answer.status == 200, "{answer:?}");
            let took = asked.elapsed();
            ensure!(
                took < patient(Duration::from_secs(5)),
                "in round {round} a newcomer waits {took:?}"
            );
            // Drops all but the newest 300 connections, so that the attacker has descriptors for more.
            strangers.drain(..strangers.len().saturating_sub(300));
        }
        anyhow::Ok(())
    };
    // The viewer reads on meanwhile, record by record.
    let viewing = async {
        let mut seq = None;
        loop {
            let record = records.next().await?;
            let next = record["seq"].as_u64().context("a record has a seq")?;
            ensure!(
                seq.is_none_or(|seq: u64| next == seq + 1),
                "{seq:?}, then {record}"
            );
            seq = Some(next);
        }
    };
    tokio::select! {
        attacked = attack => attacked?,
        viewed = viewing => return viewed,
    }
    // The viewer is still connected, and still gets new records.
    let head = served.state().await?;
    let head: Value = serde_json::from_str(head.lines().next().unwrap_or_default())?;
    let head = head["head"].as_u64().context("a head")?;
    records
        .up_to(|record| record["seq"].as_u64().is_some_and(|seq| seq > head))
        .await?;
    Ok(())
}

/// Texts that must appear nowhere outside the program; each is searched plain and in base64.
const CANARIES: [&str; 9] = [
    "canary-secret-data",
    "canary-secret-string-data",
    "canary-secret-patched",
    "canary-last-applied",
    "canary-not-base64",
    "canary-env-of-pod",
    "canary-env-of-template",
    "canary-env-of-init",
    "canary-config-map",
];

/// A text that may appear in the same places.
const IN_PLAIN_SIGHT: &str = "bird-in-plain-sight";

fn canaries_in(bytes: &[u8]) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(bytes);
    CANARIES
        .into_iter()
        .filter(|canary| {
            let encoded = STANDARD_NO_PAD.encode(canary);
            // The last character of the encoding depends on the bytes after the text.
            text.contains(canary) || text.contains(&encoded[..encoded.len() - 1])
        })
        .collect()
}

#[test]
fn a_canary_is_found_plain_and_in_base64() {
    assert_eq!(canaries_in(b"a canary-env-of-pod."), ["canary-env-of-pod"]);
    let encoded = "Y2FuYXJ5LWNvbmZpZy1tYXA=";
    assert_eq!(canaries_in(encoded.as_bytes()), ["canary-config-map"]);
    assert!(canaries_in(b"no bird here").is_empty());
}

/// Returns the objects of all changes among these records, and the number of changes.
async fn changed_objects(served: &Served, lines: &[Value]) -> Result<(String, usize)> {
    let epoch = lines[0]["epoch"].as_str().context("an epoch")?.to_owned();
    let mut objects = String::new();
    let mut changes = 0;
    for line in lines.iter().filter(|line| line["type"] == "change") {
        let path = format!("/api/objects/{epoch}.{}", line["seq"]);
        let answer = served.get(&path).await?;
        ensure!(answer.status() == 200, "{line}: {}", answer.status());
        objects += &answer.text().await?;
        changes += 1;
    }
    Ok((objects, changes))
}

/// Writes objects with canaries in them, and a secret that the apiserver refuses. Changes and deletes the other secret.
async fn write_canaries(kubectl: &Kubectl) -> Result<()> {
    // Client-side apply writes the last-applied annotation, which holds a copy of the object.
    let apply = async |object: &Value| {
        let arguments = ["-n", "vault", "apply", "-f", "-"];
        kubectl
            .outcome(&arguments, object.to_string().as_bytes())
            .await
    };
    let labels = json!({"bird": IN_PLAIN_SIGHT});
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "keys", "labels": labels},
        "data": {"bird-key-a": base64("canary-secret-data")},
        "stringData": {"bird-key-b": "canary-secret-string-data"},
    });
    apply(&secret).await?.success()?;
    let broken = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "broken"},
        "data": {"key": "canary-not-base64!"},
    });
    assert_ne!(
        apply(&broken).await?.code(),
        Some(0),
        "the apiserver refuses it"
    );
    let env = |canary: &str| json!([{"name": "BIRD_NAME", "value": canary}]);
    let container =
        |name: &str, canary: &str| json!({"name": name, "image": "i", "env": env(canary)});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "nest", "labels": labels},
        "spec": {
            "containers": [container("c", "canary-env-of-pod")],
            "initContainers": [container("i", "canary-env-of-init")],
        },
    });
    apply(&pod).await?.success()?;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "nests", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": "canary-last-applied",
                }},
                "spec": {"containers": [container("c", "canary-env-of-template")]},
            },
        },
    });
    apply(&deployment).await?.success()?;
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "song", "labels": labels},
        "data": {"bird-key-c": "canary-config-map"},
    });
    apply(&config_map).await?.success()?;
    let patch = r#"{"stringData":{"bird-key-b":"canary-secret-patched"}}"#;
    kubectl
        .run(&["-n", "vault", "patch", "secret", "keys", "-p", patch])
        .await?;
    kubectl
        .run(&["-n", "vault", "delete", "secret", "keys"])
        .await?;
    Ok(())
}

/// Row 20, from a real apiserver to all outputs of the program.
#[tokio::test]
async fn withheld_values_are_in_no_record_state_object_frame_file_metric_or_log() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let kubectl = cluster.kubectl();
    kubectl.run(&["create", "namespace", "vault"]).await?;
    let metrics = format!("127.0.0.1:{}", free_port()?);
    let folder = tempfile::tempdir()?;
    let history = folder.path().to_str().context("a plain name")?;
    let mut served = Served::start(
        binary
            .with(&[
                "serve",
                "secrets",
                "pods",
                "deployments",
                "configmaps",
                "-n",
                "vault",
                "--redact",
                "configmaps",
                "--health-listen",
                &metrics,
                "--history",
                history,
                "--history-bodies",
                "16MiB",
            ])
            .kubeconfig(cluster.kubeconfig())
            .env("RUST_LOG", "watchscope=trace"),
    )
    .await?;
    let mut records = served.records().await?;

    write_canaries(kubectl).await?;

    // Collects all that the program gives out about these objects.
    let lines = records
        .up_to(|record| {
            record["change"] == "DELETED"
                && record["name"] == "keys"
                && record["watch"] == "vault/secrets"
        })
        .await?;
    let (objects, changes) = changed_objects(&served, &lines).await?;
    assert!(
        changes >= 6,
        "three of the secret, one of each other: {changes}"
    );
    let records: String = lines.iter().map(ToString::to_string).collect();
    let state = served.state().await?;
    let frames = frames(&served).await?;
    let metrics = eventually("metrics are served", LONG, async || {
        http::get(&format!("http://{metrics}"), "/metrics", &[]).await
    })
    .await?;
    for (place, bytes) in [
        ("records", records.as_bytes()),
        ("state", state.as_bytes()),
        ("objects", objects.as_bytes()),
        ("frames", &frames),
        ("metrics", metrics.body.as_bytes()),
        ("stderr", served.watchscope.stderr().as_bytes()),
        ("stdout", served.watchscope.stdout().as_bytes()),
    ] {
        assert_eq!(canaries_in(bytes), [""; 0], "{place}");
    }

    // The same search finds texts that may be shown; so do sizes and names of keys.
    assert!(objects.matches(IN_PLAIN_SIGHT).count() >= changes);
    for words in [
        "bird-key-a",
        "bird-key-b",
        "bird-key-c",
        "BIRD_NAME",
        "(redacted, 17 bytes)",
    ] {
        assert!(objects.contains(words), "{words}");
    }
    assert!(records.contains("\"keys\"") && state.contains("\"song\""));
    assert!(String::from_utf8_lossy(&frames).contains("song"));

    // Segments are deflated when the file ends. So the open file is searched as it is, the ended one also inflated.
    assert_eq!(canaries_in(&kept(folder.path())?.files), [""; 0], "files");
    ensure!(served.watchscope.terminate(LONG).await?.success());
    let kept = kept(folder.path())?;
    for (place, bytes) in [
        ("files", &kept.files),
        ("their frames", &kept.frames),
        ("their bodies", &kept.bodies),
    ] {
        assert_eq!(canaries_in(bytes), [""; 0], "{place}");
    }
    let bodies = String::from_utf8_lossy(&kept.bodies);
    assert!(bodies.matches(IN_PLAIN_SIGHT).count() >= changes);
    assert!(String::from_utf8_lossy(&kept.frames).contains("song"));
    Ok(())
}

/// All bytes of a history: those of its files, and the inflated ones of its frames and bodies.
struct Kept {
    files: Vec<u8>,
    frames: Vec<u8>,
    bodies: Vec<u8>,
}

fn kept(folder: &Path) -> Result<Kept> {
    let joined = Joined::open(&[folder.to_owned()], None)?;
    let mut kept = Kept {
        files: Vec::new(),
        frames: Vec::new(),
        bodies: Vec::new(),
    };
    for file in joined.files() {
        kept.files.extend(std::fs::read(file.path())?);
        for entry in &file.contents().chapters {
            let chapter = file.chapter(entry)?.map_err(|damage| anyhow!("{damage}"))?;
            kept.frames.extend_from_slice(chapter.frames.head());
            for segment in chapter.frames.segments() {
                kept.frames.extend_from_slice(segment);
            }
            for place in &entry.bodies {
                let bodies = file.bodies(*place)?.map_err(|damage| anyhow!("{damage}"))?;
                for (_, body) in bodies.iter() {
                    kept.bodies.extend_from_slice(body);
                    kept.bodies.push(b'\n');
                }
            }
        }
    }
    Ok(kept)
}

/// Row 20, the message of a refusal: of one about Secrets, only code and reason are given out.
#[tokio::test]
async fn the_message_of_a_refusal_about_secrets_is_shown_nowhere_and_one_about_pods_is()
-> Result<()> {
    const USER: &str = "canary-in-a-status";
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    // The user has no rights, and the apiserver's refusals name the user.
    let kubeconfig = cluster.user(USER, &[])?;
    for (resource, is_shown) in [("secrets", false), ("pods", true)] {
        let metrics = format!("127.0.0.1:{}", free_port()?);
        let served = Served::start(
            binary
                .with(&[
                    "serve",
                    resource,
                    "-n",
                    "default",
                    "--health-listen",
                    &metrics,
                ])
                .kubeconfig(&kubeconfig)
                .env("RUST_LOG", "watchscope=trace"),
        )
        .await?;
        let lines = served
            .records()
            .await?
            .up_to(|record| record["to"] == "refused")
            .await?;
        let answer = lines
            .iter()
            .find(|record| record["type"] == "request.answered" && record["status"] == 403)
            .with_context(|| format!("no refusal among {lines:?}"))?;
        assert_eq!(answer["watch"], format!("default/{resource}"));
        let records: String = lines.iter().map(ToString::to_string).collect();
        assert_eq!(records.contains(USER), is_shown, "{records}");
        let state = served.state().await?;
        let metrics = eventually("metrics are served", LONG, async || {
            http::get(&format!("http://{metrics}"), "/metrics", &[]).await
        })
        .await?;
        let (stderr, stdout) = (served.watchscope.stderr(), served.watchscope.stdout());
        for (place, text) in [
            ("state", &state),
            ("metrics", &metrics.body),
            ("stderr", &stderr),
            ("stdout", &stdout),
        ] {
            assert!(is_shown || !text.contains(USER), "{place}: {text}");
        }
    }
    Ok(())
}

/// Returns the frames, snapshot and segments, that a viewer of the page gets until they name the last object.
async fn frames(served: &Served) -> Result<Vec<u8>> {
    let url = format!("ws://{}/ws", http::address(served.link.origin()));
    let mut request = url.into_client_request()?;
    let headers = request.headers_mut();
    headers.insert("authorization", Served::bearer().parse()?);
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await?;
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        log: None,
        epoch: None,
        last: None,
    };
    let hello = encode_client(&hello.into());
    socket.send(Message::binary(hello)).await?;
    let mut frames = Vec::new();
    let reading = async {
        // The snapshot names each object that is held.
        while !String::from_utf8_lossy(&frames).contains("song") {
            let message = socket.next().await.context("the socket ends")??;
            frames.extend_from_slice(&message.into_data());
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(patient(LONG), reading)
        .await
        .context("the snapshot does not come")??;
    Ok(frames)
}

/// Row 35 of the attack table.
#[tokio::test]
async fn the_demo_never_opens_a_kubeconfig() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let folder = tempfile::tempdir()?;
    let home_kube = folder.path().join(".kube");
    std::fs::create_dir(&home_kube)?;
    let server = format!("http://127.0.0.1:{}", free_port()?);
    let named = kubeconfig::write(folder.path(), &server, &json!({}))?;
    let at_home = home_kube.join("config");
    std::fs::copy(&named, &at_home)?;
    let opened = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
    for path in [&named, &at_home] {
        inotify::add_watch(&opened, path, inotify::WatchFlags::OPEN)?;
    }
    let opens = || -> usize {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&opened, &mut buffer);
        let mut count = 0;
        while reader.next().is_ok() {
            count += 1;
        }
        count
    };

    let launch = binary
        .with(&["demo"])
        .kubeconfig(&named)
        .env("HOME", folder.path());
    let served = Served::start(launch).await?;
    let mut records = served.records().await?;
    records.up_to(|record| record["type"] == "change").await?;
    assert_eq!(opens(), 0);

    // The same watches do see a program that opens one.
    for launch in [
        binary
            .with(&["watch", "pods", "--for", "0"])
            .kubeconfig(&named),
        binary
            .with(&["watch", "pods", "--for", "0"])
            .env("HOME", folder.path()),
    ] {
        launch.run(LONG).await?;
        assert!(opens() > 0);
    }
    Ok(())
}
