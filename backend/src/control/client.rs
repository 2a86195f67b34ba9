//! The client of the token socket, `watchscope token`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::folder::{FolderError, Folders};
use super::{DEADLINE, server};
use crate::session::Base;

/// The options of `watchscope token`.
#[derive(Clone, Debug, Default)]
pub struct TokenRequest {
    /// `--revoke`: end all sessions and sockets first.
    pub revokes: bool,
    /// `--listen PORT`: the port of the instance.
    pub port: Option<u16>,
    /// `--url BASE`: the address to which the link leads.
    pub base: Option<Base>,
}

/// Requests a fresh link from the running instance, and returns it ready to print. Sockets on which nobody answers are
/// removed.
///
/// # Errors
/// See [`TokenError`] and its exit codes.
pub async fn token(folders: &Folders, request: &TokenRequest) -> Result<String, TokenError> {
    let mut alive = alive(folders).await?;
    let ports: Vec<u16> = alive.keys().copied().collect();
    let port = match (request.port, ports.as_slice()) {
        (_, []) => return Err(TokenError::NoneRunning),
        (None, &[only]) => only,
        (None, _) => return Err(TokenError::Several { ports }),
        (Some(port), _) => port,
    };
    let mut stream = alive
        .remove(&port)
        .ok_or(TokenError::NotThere { port, ports })?;
    let answer = timeout(DEADLINE, converse(&mut stream, request))
        .await
        .map_err(|_| TokenError::Talk(io::ErrorKind::TimedOut.into()))?
        .map_err(TokenError::Talk)?;
    match answer.split_once(' ') {
        Some(("ok", link)) if link.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(link.to_owned())
        }
        Some(("error", problem)) => Err(TokenError::Refused {
            problem: problem.escape_debug().to_string(),
        }),
        _ => Err(TokenError::Talk(io::ErrorKind::InvalidData.into())),
    }
}

async fn converse(stream: &mut UnixStream, request: &TokenRequest) -> io::Result<String> {
    let verb = if request.revokes { "revoke" } else { "link" };
    let base = request
        .base
        .as_ref()
        .map(|base| format!(" {base}"))
        .unwrap_or_default();
    stream
        .write_all(format!("{verb}{base}\n").as_bytes())
        .await?;
    server::read_line(stream)
        .await?
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Connects to the instances that answer, by port. If two folders have one port, the first folder's counts.
async fn alive(folders: &Folders) -> Result<BTreeMap<u16, UnixStream>, TokenError> {
    let mut alive = BTreeMap::new();
    for folder in folders.existing()? {
        for (port, path) in sockets(&folder)? {
            match UnixStream::connect(&path).await {
                Ok(stream) => {
                    alive.entry(port).or_insert(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    // The process that made it is dead. If the file is gone already, that is as good.
                    let _ = fs::remove_file(&path);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(TokenError::Look { path, source }),
            }
        }
    }
    Ok(alive)
}

/// Returns the files named `PORT.sock`, with their ports.
fn sockets(folder: &Path) -> Result<Vec<(u16, PathBuf)>, TokenError> {
    let look = |source| TokenError::Look {
        path: folder.to_owned(),
        source,
    };
    let mut sockets = Vec::new();
    for entry in fs::read_dir(folder).map_err(look)? {
        let path = entry.map_err(look)?.path();
        let port = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_suffix(".sock"));
        if let Some(port) = port.and_then(|port| port.parse().ok()) {
            sockets.push((port, path));
        }
    }
    Ok(sockets)
}

/// Why there is no fresh link.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// No instance runs.
    #[error(
        "no watchscope of this user is running here; start one with `watchscope`, or ask where it runs: `kubectl exec … -- watchscope token`"
    )]
    NoneRunning,
    /// Several instances run, and none was picked.
    #[error(
        "several are running, on ports {}; pick one with --listen PORT",
        list(ports)
    )]
    Several {
        /// Their ports.
        ports: Vec<u16>,
    },
    /// No instance runs on the picked port.
    #[error("none is running on port {port}; alive: {}", list(ports))]
    NotThere {
        /// The port that was picked.
        port: u16,
        /// The ports of the running instances.
        ports: Vec<u16>,
    },
    /// The instance refuses the request.
    #[error("{problem}")]
    Refused {
        /// Its reason.
        problem: String,
    },
    /// The folder is not safe to use.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A folder or socket could not be opened.
    #[error("cannot open {}: {source}", path.display())]
    Look {
        /// The folder or socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The instance gave no valid answer in time.
    #[error("the running watchscope did not answer: {0}")]
    Talk(io::Error),
}

impl TokenError {
    /// The exit code: 2 for wrong usage, 1 for a failure.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Several { .. } => 2,
            _ => 1,
        }
    }
}

fn list(ports: &[u16]) -> String {
    ports
        .iter()
        .map(u16::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::control::{BindError, ControlSocket};
    use crate::origin::{AllowedHosts, Scheme};
    use crate::session::Sessions;

    struct World {
        folders: Folders,
        _root: tempfile::TempDir,
    }

    fn world() -> World {
        let root = tempfile::tempdir().unwrap();
        World {
            folders: Folders::under(None, root.path()),
            _root: root,
        }
    }

    /// Starts an instance on that port. Also returns the task that answers for it.
    fn instance(world: &World, port: u16) -> (Sessions, tokio::task::JoinHandle<()>) {
        let sessions = Sessions::new();
        let socket = ControlSocket::bind(&world.folders, port).unwrap();
        let mode = fs::metadata(socket.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mine = sessions.clone();
        let base = format!("http://127.0.0.1:{port}").parse().unwrap();
        let hosts = AllowedHosts::new(["scope.test"]).unwrap();
        let serving = tokio::spawn(async move { socket.serve(&mine, &base, &hosts).await });
        (sessions, serving)
    }

    async fn ask(world: &World, request: TokenRequest) -> Result<String, TokenError> {
        token(&world.folders, &request).await
    }

    fn at_port(port: u16) -> TokenRequest {
        TokenRequest {
            port: Some(port),
            ..TokenRequest::default()
        }
    }

    fn secret(link: &str, base: &str) -> String {
        link.strip_prefix(&format!("{base}/#t="))
            .expect(link)
            .to_owned()
    }

    #[tokio::test]
    async fn the_only_running_instance_gives_a_fresh_link_each_time() {
        let world = world();
        let (sessions, _serving) = instance(&world, 8080);
        let first = ask(&world, TokenRequest::default()).await.unwrap();
        let secret_of_first = secret(&first, "http://127.0.0.1:8080");
        assert!(sessions.exchange(&secret_of_first, Scheme::Http).is_ok());
        for base in ["http://localhost:9000", "https://scope.test"] {
            let request = TokenRequest {
                base: Some(base.parse().unwrap()),
                ..TokenRequest::default()
            };
            let link = ask(&world, request).await.unwrap();
            let base: Base = base.parse().unwrap();
            let secret = secret(&link, &base.to_string());
            assert!(sessions.exchange(&secret, base.scheme()).is_ok());
        }
    }

    #[tokio::test]
    async fn revoking_ends_all_sessions_and_gives_a_fresh_link() {
        let world = world();
        let (sessions, _serving) = instance(&world, 8080);
        let link = ask(&world, TokenRequest::default()).await.unwrap();
        let token = sessions
            .exchange(&secret(&link, "http://127.0.0.1:8080"), Scheme::Http)
            .unwrap();
        let link = ask(
            &world,
            TokenRequest {
                revokes: true,
                ..TokenRequest::default()
            },
        )
        .await
        .unwrap();
        assert!(sessions.grant_session([token.expose()], None).is_none());
        assert!(
            sessions
                .exchange(&secret(&link, "http://127.0.0.1:8080"), Scheme::Http)
                .is_ok()
        );
    }

    #[tokio::test]
    async fn a_base_the_instance_would_refuse_is_refused_before_anything_is_revoked() {
        let world = world();
        let (sessions, _serving) = instance(&world, 8080);
        let link = ask(&world, TokenRequest::default()).await.unwrap();
        let token = sessions
            .exchange(&secret(&link, "http://127.0.0.1:8080"), Scheme::Http)
            .unwrap();
        for base in ["http://scope.example.com", "https://localhost:8080"] {
            let request = TokenRequest {
                revokes: true,
                base: Some(base.parse().unwrap()),
                port: None,
            };
            let error = ask(&world, request).await.unwrap_err();
            assert_eq!(error.exit_code(), 1);
            assert!(error.to_string().contains("--allow-host"), "{error}");
            assert!(sessions.grant_session([token.expose()], None).is_some());
        }
    }

    #[tokio::test]
    async fn several_instances_are_listed_unless_one_is_picked_and_none_is_an_error() {
        let world = world();
        let error = ask(&world, TokenRequest::default()).await.unwrap_err();
        assert!(matches!(error, TokenError::NoneRunning), "{error}");
        assert_eq!(error.exit_code(), 1);

        let (_first, _serving_first) = instance(&world, 8080);
        let (second, serving_second) = instance(&world, 8081);
        let error = ask(&world, TokenRequest::default()).await.unwrap_err();
        assert_eq!(
            (error.exit_code(), error.to_string().contains("8080, 8081")),
            (2, true),
            "{error}"
        );
        let picked = ask(&world, at_port(8081)).await.unwrap();
        assert!(
            second
                .exchange(&secret(&picked, "http://127.0.0.1:8081"), Scheme::Http)
                .is_ok()
        );
        let error = ask(&world, at_port(9)).await.unwrap_err();
        assert_eq!(
            (
                error.exit_code(),
                error.to_string().contains("alive: 8080, 8081")
            ),
            (1, true),
            "{error}"
        );

        serving_second.abort();
        let _ = serving_second.await;
        assert!(
            ask(&world, TokenRequest::default()).await.is_ok(),
            "its socket is removed with it"
        );
    }

    #[tokio::test]
    async fn dead_sockets_are_removed_and_living_ones_not_replaced() {
        let world = world();
        let folder = world.folders.for_a_socket().unwrap();
        for port in [8080, 8081] {
            drop(
                std::os::unix::net::UnixListener::bind(folder.join(format!("{port}.sock")))
                    .unwrap(),
            );
        }
        let (_sessions, _serving) = instance(&world, 8080);
        assert!(matches!(
            ControlSocket::bind(&world.folders, 8080),
            Err(BindError::Alive { .. })
        ));
        assert!(ask(&world, TokenRequest::default()).await.is_ok());
        assert!(!folder.join("8081.sock").exists());
    }

    #[tokio::test]
    async fn nonsense_and_silence_on_the_socket_do_no_harm() {
        let world = world();
        let (_sessions, _serving) = instance(&world, 8080);
        let path = world.folders.for_a_socket().unwrap().join("8080.sock");
        let long = "x".repeat(4096);
        for nonsense in [
            "hello\n",
            "link https://elsewhere\n",
            "link \u{0} \n",
            &long,
            "link",
        ] {
            let mut stream = UnixStream::connect(&path).await.unwrap();
            // The server reads nothing beyond the bound, so the write may fail.
            let _ = stream.write_all(nonsense.as_bytes()).await;
            let _ = stream.shutdown().await;
            let answer = server::read_line(&mut stream).await;
            let refused = match &answer {
                Ok(Some(line)) => line.starts_with("error "),
                Ok(None) | Err(_) => true,
            };
            assert!(refused, "{nonsense:?}: {answer:?}");
        }
        let silent = UnixStream::connect(&path).await.unwrap();
        drop(silent);
        assert!(ask(&world, TokenRequest::default()).await.is_ok());
    }
}
