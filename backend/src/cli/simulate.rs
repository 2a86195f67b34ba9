//! `watchscope simulate`: only the simulated apiserver, for kubectl and any other client.

use std::io::Write as _;
use std::path::Path;

use tokio::net::TcpListener;
use watchscope_scenarios::Story;
use watchscope_simulator::EtcdVersion;

use super::args::SimulateArgs;
use super::exit::Failure;
use super::signals::stop_flag;
use crate::demo::{Demo, Word};
use crate::stop::stopped;

/// Serves the simulated apiserver until told to stop. Prints its address once it serves.
pub(super) async fn simulate(args: SimulateArgs) -> Result<(), Failure> {
    let story = over_etcd(find_story(args.story.as_deref())?, args.etcd_version)?;
    let namespace = story.view.namespace.clone();
    if !args.listen.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "--listen {}: the simulated apiserver asks nobody who they are; listen on 127.0.0.1",
            args.listen
        )));
    }
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        Failure::failed(format!(
            "--listen {}: cannot listen there: {error}",
            args.listen
        ))
    })?;
    let mut stop = stop_flag().map_err(Failure::failed)?;
    let mut demo = Demo::start(story, args.seed, listener).map_err(Failure::failed)?;
    let url = format!("http://{}", demo.address);
    if let Some(path) = &args.kubeconfig_out {
        write_kubeconfig(path, &url, &namespace)?;
    }
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{url}").and_then(|()| out.flush());
    drop(out);
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return Ok(()),
            word = demo.words.recv() => match word {
                Some(Word::Line(line)) => {
                    let _ = writeln!(std::io::stderr(), "{}", line.text);
                }
                Some(Word::Told(_)) => {}
                None => return Err(Failure::failed("the simulated cluster ended")),
            }
        }
    }
}

/// The story of a name, or the demo's.
pub(super) fn find_story(name: Option<&str>) -> Result<Story, Failure> {
    let Some(name) = name else {
        return Ok(watchscope_scenarios::demo::story());
    };
    watchscope_scenarios::story(name).ok_or_else(|| {
        let near = watchscope_scenarios::nearest(name);
        let near = near
            .iter()
            .map(|story| format!("{} ({})", story.name, story.title));
        Failure::usage(format!(
            "there is no story {name:?}; nearest: {}. Stories are shop and F01 to F50.",
            near.collect::<Vec<_>>().join(", ")
        ))
    })
}

/// The story over the release of etcd that was asked for, if one was.
pub(super) fn over_etcd(story: Story, version: Option<EtcdVersion>) -> Result<Story, Failure> {
    let Some(version) = version else {
        return Ok(story);
    };
    let name = story.name;
    let over = story.over_etcd(version);
    over.map_err(|error| Failure::usage(format!("--etcd-version {version}: story {name}: {error}")))
}

fn write_kubeconfig(path: &Path, url: &str, namespace: &str) -> Result<(), Failure> {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: watchscope-simulated\n\
         clusters:\n- name: watchscope-simulated\n  cluster:\n    server: {url}\n\
         contexts:\n- name: watchscope-simulated\n  context:\n    cluster: watchscope-simulated\n    \
         namespace: {namespace}\n    user: anyone\n\
         users:\n- name: anyone\n  user: {{}}\n"
    );
    std::fs::write(path, text).map_err(|error| {
        Failure::failed(format!(
            "--kubeconfig-out {}: cannot write it: {error}",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_that_there_is_not_is_wrong_usage_and_names_the_nearest() {
        let failure = |name| find_story(Some(name)).err().map(|it| (it.code, it.message));
        let message = "there is no story \"f77\"; nearest: F50 (cap on streams of a proxied watch). Stories are shop \
                       and F01 to F50.";
        assert_eq!(failure("f77"), Some((2, message.to_owned())));
        assert_eq!(failure("f11"), None);
        assert_eq!(find_story(None).map(|story| story.name).ok(), Some("shop"));
    }

    #[test]
    fn a_defect_that_a_release_of_etcd_does_not_have_is_wrong_usage_and_names_those_that_have_it() {
        let story = |version: &str| {
            let story = find_story(Some("F25")).ok().unwrap();
            let told = over_etcd(story, Some(version.parse().unwrap()));
            told.err().map(|it| (it.code, it.message))
        };
        let message = "--etcd-version 3.5.13: story F25: etcd 3.5.13 does not have etcd#17529; 3.4.0 to 3.4.30 and \
                       3.5.0 to 3.5.12 have it";
        assert_eq!(story("3.5.13"), Some((2, message.to_owned())));
        assert_eq!(story("3.5.12"), None);
    }
}
