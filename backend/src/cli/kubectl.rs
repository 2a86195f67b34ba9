//! kubectl as a child process: a command that answers within bounds, or a forwarded port that lives until it is ended.
//!
//! kubectl shares our standard input and standard error. So its credential plugins can ask the person, and its own errors
//! stand above ours. No kubectl outlives its value here: dropping the value kills it.

use std::convert::Infallible;
use std::ffi::OsString;
use std::future::pending;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use std::{fmt, io};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::args::KubeconfigArgs;

/// The time that one command has for its answer. It includes a login that a credential plugin asks for.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);
/// The most bytes of an answer: the JSON of some 300 pods.
const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// The most bytes that `port-forward` may write before it forwards.
const MAX_BEGIN_BYTES: u64 = 4096;
/// The time between SIGTERM and SIGKILL.
const END_WITHIN: Duration = Duration::from_secs(2);
/// How kubectl's line begins once it listens. Port and remote port follow: `40123 -> 8080`.
const FORWARDING: &str = "Forwarding from 127.0.0.1:";

/// kubectl, for one namespace of one cluster.
#[derive(Debug)]
pub(super) struct Kubectl {
    /// The flags that name cluster and namespace.
    place: Vec<OsString>,
}

impl Kubectl {
    /// kubectl for this namespace of the cluster that the arguments name.
    pub(super) fn new(config: &KubeconfigArgs, namespace: &str) -> Self {
        let flag = |name: &str, value: OsString| {
            let mut flag = OsString::from(name);
            flag.push(value);
            flag
        };
        let kubeconfig = config.kubeconfig.clone();
        let kubeconfig = kubeconfig.map(|path| flag("--kubeconfig=", path.into()));
        let context = config.context.clone();
        let context = context.map(|name| flag("--context=", name.into()));
        let namespace = flag("--namespace=", namespace.into());
        let place = kubeconfig.into_iter().chain(context).chain([namespace]);
        Self {
            place: place.collect(),
        }
    }

    /// Runs a command to its end, and returns its standard output.
    ///
    /// # Errors
    /// See [`KubectlError`]. A kubectl that still runs then is killed.
    pub(super) async fn answer(
        &self,
        verb: &'static str,
        words: &[&str],
    ) -> Result<Vec<u8>, KubectlError> {
        let (mut child, stdout) = self.start(verb, words)?;
        let answering = async {
            let mut answer = Vec::new();
            let mut bounded = stdout.take(MAX_ANSWER_BYTES);
            bounded.read_to_end(&mut answer).await?;
            if bounded.limit() == 0 {
                return Err(KubectlError::TooMuch { verb });
            }
            let status = child.wait().await?;
            if status.success() {
                Ok(answer)
            } else {
                Err(KubectlError::Ended { verb, status })
            }
        };
        let answered = timeout(ANSWER_WITHIN, answering).await;
        answered.unwrap_or(Err(KubectlError::Silent { verb }))
    }

    /// Starts to forward a port of this machine's loopback to one of a pod: `local`, or any free one. Returns once kubectl
    /// listens.
    ///
    /// # Errors
    /// See [`KubectlError`]. A kubectl that still runs then is killed.
    pub(super) async fn forward(
        &self,
        pod: &str,
        local: Option<u16>,
        remote: u16,
    ) -> Result<Forward, KubectlError> {
        let verb = "port-forward";
        let local = local.map(|port| port.to_string()).unwrap_or_default();
        let ports = format!("{local}:{remote}");
        let words = ["--address=127.0.0.1", pod, &ports];
        let (mut child, stdout) = self.start(verb, &words)?;
        let beginning = async {
            let mut lines = BufReader::new(stdout).take(MAX_BEGIN_BYTES).lines();
            while let Some(line) = lines.next_line().await? {
                if let Some(port) = forwarded_port(&line) {
                    return Ok((port, lines.into_inner().into_inner()));
                }
            }
            if lines.get_ref().limit() == 0 {
                return Err(KubectlError::TooMuch { verb });
            }
            let status = child.wait().await?;
            Err(KubectlError::Ended { verb, status })
        };
        let begun = timeout(ANSWER_WITHIN, beginning).await;
        let (port, rest) = begun.unwrap_or(Err(KubectlError::Silent { verb }))?;
        Ok(Forward { child, rest, port })
    }

    fn start(
        &self,
        verb: &'static str,
        words: &[&str],
    ) -> Result<(Child, ChildStdout), KubectlError> {
        let mut command = Command::new("kubectl");
        command.arg(verb).args(&self.place).args(words);
        command.stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => KubectlError::Missing,
            _ => KubectlError::Io(error),
        })?;
        let stdout = child.stdout.take().expect("standard output is a pipe");
        Ok((child, stdout))
    }
}

/// A port that kubectl forwards.
#[derive(Debug)]
pub(super) struct Forward {
    child: Child,
    rest: BufReader<ChildStdout>,
    /// The port on 127.0.0.1.
    pub(super) port: u16,
}

impl Forward {
    /// Waits until kubectl ends by itself, and returns how. What kubectl writes until then, a line for each connection, is
    /// dropped.
    pub(super) async fn ended(&mut self) -> KubectlError {
        let Self { child, rest, .. } = self;
        let draining = async {
            // A pipe that cannot be read has ended.
            let _ = tokio::io::copy_buf(rest, &mut tokio::io::sink()).await;
            pending::<Infallible>().await
        };
        let ended = tokio::select! {
            ended = child.wait() => ended,
            never = draining => match never {},
        };
        match ended {
            Ok(status) => KubectlError::Ended {
                verb: "port-forward",
                status,
            },
            Err(error) => KubectlError::Io(error),
        }
    }

    /// Ends kubectl: with SIGTERM, and with SIGKILL if it has not ended 2 s later.
    pub(super) async fn end(mut self) {
        // Without an id it has ended.
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(Pid::from_raw) {
            // A process that cannot be signalled has ended.
            let _ = kill_process(pid, Signal::TERM);
        }
        if timeout(END_WITHIN, self.ended()).await.is_err() {
            // Fails only if it has ended.
            let _ = self.child.kill().await;
        }
    }
}

/// Returns the local port of the line that kubectl writes once it listens. `None` for any other line.
fn forwarded_port(line: &str) -> Option<u16> {
    let (port, _) = line.strip_prefix(FORWARDING)?.split_once(" -> ")?;
    port.parse().ok()
}

/// Why kubectl did not do what it was started for.
#[derive(Debug, thiserror::Error)]
pub(super) enum KubectlError {
    /// There is no kubectl on the `PATH`.
    #[error("kubectl is not on the PATH")]
    Missing,
    /// It ended: with a failure, or although it should forward.
    #[error("`kubectl {verb}` ended ({}); its own words stand above", Shown(*status))]
    Ended {
        /// The first word of its command.
        verb: &'static str,
        /// How it ended.
        status: ExitStatus,
    },
    /// It has not answered in time.
    #[error("`kubectl {verb}` has not answered within {} s", ANSWER_WITHIN.as_secs())]
    Silent {
        /// The first word of its command.
        verb: &'static str,
    },
    /// It wrote more than an answer has.
    #[error("`kubectl {verb}` wrote more than can be its answer")]
    TooMuch {
        /// The first word of its command.
        verb: &'static str,
    },
    /// The system refuses to start it, or to read what it writes.
    #[error("cannot run kubectl: {0}")]
    Io(#[from] io::Error),
}

/// How a process ended, in words.
struct Shown(ExitStatus);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.code() {
            Some(code) => write!(f, "exit code {code}"),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectls_line_names_the_local_port() {
        let port = |line| forwarded_port(line);
        assert_eq!(port("Forwarding from 127.0.0.1:40123 -> 8080"), Some(40123));
        for other in [
            "Forwarding from [::1]:40123 -> 8080",
            "Forwarding from 127.0.0.1:400123 -> 8080",
            "Handling connection for 40123",
            "",
        ] {
            assert_eq!(port(other), None, "{other}");
        }
    }

    #[test]
    fn each_command_names_cluster_and_namespace() {
        let config = KubeconfigArgs {
            kubeconfig: Some("k".into()),
            context: Some("-c".into()),
        };
        let kubectl = Kubectl::new(&config, "-n");
        let place = ["--kubeconfig=k", "--context=-c", "--namespace=-n"];
        assert_eq!(kubectl.place, place);
    }
}
