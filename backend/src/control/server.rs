//! The instance's side of the token socket.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io, process};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use super::folder::{FolderError, Folders};
use super::{DEADLINE, MAX_LINE_BYTES};
use crate::origin::{AllowedHosts, Scheme};
use crate::session::{Base, LINK_LIFETIME, Sessions};

/// The token socket of this instance. Dropping it removes its file.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
}

impl ControlSocket {
    /// Opens the socket of the instance on `port`. A socket of that name on which nobody answers is replaced.
    ///
    /// # Errors
    /// See [`BindError`]. The instance can serve without the socket, but `watchscope token` does not find it then.
    pub fn bind(folders: &Folders, port: u16) -> Result<Self, BindError> {
        let folder = folders.for_a_socket()?;
        let path = folder.join(format!("{port}.sock"));
        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
            return Err(BindError::Alive { path });
        }
        let bind_error = |source| BindError::Bind {
            path: path.clone(),
            source,
        };
        // The socket gets its name only once it listens and has its mode. So no other process takes it for a dead one.
        let hidden = folder.join(format!(".{port}.{}", process::id()));
        remove(&hidden).map_err(bind_error)?;
        let listener = UnixListener::bind(&hidden).map_err(bind_error)?;
        let inode = fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600))
            .and_then(|()| fs::rename(&hidden, &path))
            .and_then(|()| fs::metadata(&path))
            .map_err(bind_error)?
            .ino();
        Ok(Self {
            listener,
            path,
            inode,
        })
    }

    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers one conversation after another, until it is dropped.
    pub async fn serve(&self, sessions: &Sessions, base: &Base, hosts: &AllowedHosts) {
        loop {
            // A failed accept concerns only its caller, or ends when a file descriptor is free again.
            let Ok((mut stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            };
            let conversation = async {
                let asked = read_line(&mut stream).await?;
                let answer = match asked.as_deref().map(Request::parse) {
                    None => return Ok(()),
                    Some(Ok(request)) => request.answer(sessions, base, hosts),
                    Some(Err(problem)) => format!("error {problem}\n"),
                };
                stream.write_all(answer.as_bytes()).await
            };
            match timeout(DEADLINE, conversation).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a conversation on the token socket broke off")
                }
                Err(_) => tracing::debug!("a conversation on the token socket took too long"),
            }
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // The file is removed only if it is still ours: a later instance may have replaced it.
        if fs::metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Why the token socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// There is no folder for it.
    #[error("no folder for the token socket: {0}")]
    Folder(#[from] FolderError),
    /// Another instance answers there: it has the same port on another address.
    #[error("another watchscope answers at {}", path.display())]
    Alive {
        /// The socket.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot open the token socket {}: {source}", path.display())]
    Bind {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A request of the client.
struct Request {
    revokes: bool,
    base: Option<Base>,
}

impl Request {
    fn parse(line: &str) -> Result<Self, String> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let revokes = match verb {
            "link" => false,
            "revoke" => true,
            _ => {
                return Err(
                    "this watchscope is of another version: link or revoke was expected".to_owned(),
                );
            }
        };
        let base = (!rest.is_empty())
            .then(|| rest.parse())
            .transpose()
            .map_err(|error| format!("{error}"))?;
        Ok(Self { revokes, base })
    }

    fn answer(self, sessions: &Sessions, base: &Base, hosts: &AllowedHosts) -> String {
        let base = self.base.unwrap_or_else(|| base.clone());
        let is_answered = match base.scheme() {
            Scheme::Http => hosts.allows(base.host()),
            Scheme::Https => hosts.is_added(base.host()),
        };
        if !is_answered {
            return format!(
                "error this watchscope does not answer to {base}; https and names other than loopback's need --allow-host NAME\n"
            );
        }
        if self.revokes {
            sessions.revoke();
            tracing::info!("all sessions were revoked");
        }
        format!("ok {}\n", sessions.new_link(base, LINK_LIFETIME))
    }
}

/// Reads one line, without its line feed. Returns none if the other side closed without a byte.
pub(super) async fn read_line(stream: &mut UnixStream) -> io::Result<Option<String>> {
    let mut line = String::new();
    BufReader::new(stream.take(MAX_LINE_BYTES))
        .read_line(&mut line)
        .await?;
    match line.strip_suffix('\n') {
        Some(whole) => Ok(Some(whole.to_owned())),
        None if line.is_empty() => Ok(None),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a line that does not end",
        )),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
