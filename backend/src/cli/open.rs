//! `watchscope open`: the page of the watchscope in a cluster, through kubectl's port-forward and exec.
//!
//! ```text
//!  kubectl get pods ──► the pod ──exec `watchscope token`──► secret, port ──port-forward──► link ──► browser
//! ```
//! It runs until Ctrl-C or until kubectl ends. kubectl ends with it.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::args::OpenArgs;
use super::browser;
use super::exit::Failure;
use super::kubectl::{Forward, Kubectl, KubectlError};
use super::out;
use super::page::eprint_line;
use super::pods::{LABEL, NoPod, running};
use super::signals::stop_flag;
use super::terminal::plain;
use crate::origin::{HostPort, Scheme};
use crate::session::{Base, Link};
use crate::stop::stopped;
use crate::web::listen::DEFAULT_PORT;

/// The time for our own signal to arrive. Ctrl-C at a terminal reaches kubectl too, and its end may be seen first.
const SIGNAL_WITHIN: Duration = Duration::from_millis(300);

/// Opens the page, and forwards its port until a signal.
///
/// # Errors
/// Exit code 1: kubectl is missing or ends by itself, no pod runs, or the pod gives no link.
pub(super) async fn open(args: OpenArgs) -> Result<(), Failure> {
    let mut stop = stop_flag().map_err(Failure::failed)?;
    let begun = tokio::select! {
        biased;
        () = stopped(&mut stop) => return Ok(()),
        begun = begin(&args) => begun,
    };
    let Begun {
        mut forward,
        link,
        pod,
    } = match begun {
        Ok(begun) => begun,
        Err(failure) => return unless_stopped(failure, stop).await,
    };
    let link = link.to_string();
    out::print(&format!("{link}\n"))?;
    if browser::is_wanted(args.no_open) {
        browser::show(&link);
    }
    let (port, namespace) = (forward.port, &args.namespace);
    let said = format!("127.0.0.1:{port} leads to {pod} in namespace {namespace}; Ctrl-C ends it.");
    eprint_line(&plain(&said));
    let error = tokio::select! {
        biased;
        () = stopped(&mut stop) => {
            forward.end().await;
            return Ok(());
        }
        error = forward.ended() => error,
    };
    let advice = "the pod or the connection to the cluster has gone: run `watchscope open` again";
    unless_stopped(failed(&error, advice), stop).await
}

/// A forwarded port, and the link to it.
struct Begun {
    forward: Forward,
    link: Link,
    /// The pod, as kubectl's commands name it: `pod/NAME`.
    pod: String,
}

async fn begin(args: &OpenArgs) -> Result<Begun, Failure> {
    let namespace = &args.namespace;
    let kubectl = Kubectl::new(&args.config, namespace);
    let pods = kubectl.answer("get", &["pods", "--selector", LABEL, "--output=json"]);
    let pods = pods
        .await
        .map_err(|error| failed(&error, "it needs the verb list on pods"))?;
    let pod = running(&pods).map_err(|error| without_pod(&error, namespace))?;
    let pod = format!("pod/{pod}");
    let words = [&*pod, "--", "watchscope", "token"];
    let token = kubectl.answer("exec", &words).await;
    let token = token.map_err(|error| {
        failed(
            &error,
            "it needs the verb create on pods/exec, and in the pod what deploy/watchscope.yaml sets up",
        )
    })?;
    let link = String::from_utf8_lossy(&token).trim().parse::<Link>();
    let Ok(Link {
        base,
        secret: Some(secret),
    }) = link
    else {
        return Err(Failure::failed(format!(
            "`watchscope token` in {pod} printed no link\nit may be of another version: see docs/in-cluster.md"
        )));
    };
    let forward = kubectl.forward(&pod, args.port, port_in_pod(&base)).await;
    let forward = forward.map_err(|error| match args.port {
        Some(port) => failed(
            &error,
            format_args!(
                "it needs the verb create on pods/portforward, and port {port} to be free"
            ),
        ),
        None => failed(&error, "it needs the verb create on pods/portforward"),
    })?;
    let base = Base::new(HostPort::new("127.0.0.1", forward.port));
    let link = Link {
        base,
        secret: Some(secret),
    };
    Ok(Begun { forward, link, pod })
}

/// Returns the port on which the watchscope in the pod listens: that of the link it prints. If the link leads to a proxy,
/// it is the port that watchscope takes by default.
fn port_in_pod(base: &Base) -> u16 {
    match base.scheme() {
        Scheme::Http => base.host().port().unwrap_or(DEFAULT_PORT),
        Scheme::Https => DEFAULT_PORT,
    }
}

/// Returns the failure of kubectl in two lines: the error, and what to do about it.
fn failed(error: &KubectlError, advice: impl fmt::Display) -> Failure {
    match error {
        KubectlError::Missing => Failure::failed(format!(
            "{error}\ninstall it: https://kubernetes.io/docs/tasks/tools"
        )),
        _ => Failure::failed(format!("{error}\n{advice}")),
    }
}

fn without_pod(error: &NoPod, namespace: &str) -> Failure {
    let advice = match error {
        NoPod::None => {
            "make one with `kubectl apply -f deploy/watchscope.yaml`, or name its namespace with -n"
                .to_owned()
        }
        NoPod::NotRunning { name } => {
            format!("`kubectl --namespace {namespace} describe pod {name}` says why")
        }
        NoPod::Unreadable(_) => "`kubectl version` says which kubectl this is".to_owned(),
    };
    Failure::failed(format!("namespace {namespace}: {error}\n{advice}"))
}

/// Returns the failure unless a signal has stopped us, which is none.
async fn unless_stopped(failure: Failure, mut stop: watch::Receiver<bool>) -> Result<(), Failure> {
    match timeout(SIGNAL_WITHIN, stopped(&mut stop)).await {
        Ok(()) => Ok(()),
        Err(_) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_in_the_pod_is_that_of_its_link_unless_a_proxy_stands_before_it() {
        for (base, port) in [
            ("http://127.0.0.1:9000", 9000),
            ("http://scope.test", 8080),
            ("https://scope.test:8443", 8080),
        ] {
            assert_eq!(port_in_pod(&base.parse().unwrap()), port, "{base}");
        }
    }
}
