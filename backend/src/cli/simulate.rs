//! `watchscope simulate`: serves only the simulated apiserver, for kubectl and any other client.

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;

use tokio::net::TcpListener;
use watchscope_scenarios::{Script, Story};
use watchscope_simulator::EtcdVersion;

use super::args::{SimulateArgs, SimulatedArgs};
use super::exit::Failure;
use super::signals::stop_flag;
use crate::demo::{Demo, DemoOutput};
use crate::stop::stopped;

/// Serves the simulated apiserver until it is stopped. Prints its address once it serves.
pub(super) async fn simulate(args: SimulateArgs) -> Result<(), Failure> {
    let seed = args.cluster.seed;
    let script = script(args.cluster)?;
    let namespace = script.story.view.namespace.clone();
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
    let mut demo = Demo::start(script, seed, listener).map_err(Failure::failed)?;
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
            output = demo.outputs.recv() => match output {
                Some(DemoOutput::Line(line)) => {
                    let _ = writeln!(std::io::stderr(), "{}", line.text);
                }
                Some(DemoOutput::Records(_)) => {}
                None => return Err(Failure::failed("the simulated cluster ended")),
            }
        }
    }
}

/// Returns the story of a name; without a name, the demo's.
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

/// Returns the script that the arguments request: the story, its servers, its load, the release of etcd, and additional
/// faults.
///
/// The default release of etcd is the one that came with the oldest server. A story may be about a defect which that release
/// lacks. Then it runs over a release that has the defect, unless servers were requested.
pub(super) fn script(args: SimulatedArgs) -> Result<Script, Failure> {
    let story = find_story(args.story.as_deref())?;
    let name = story.name;
    let wrong =
        |option: &str, why: &dyn Display| Failure::usage(format!("{option}: story {name}: {why}"));
    let story = story
        .on_servers(&args.server_version)
        .map_err(|error| wrong("--server-version", &error))?;
    let story = match args.load {
        Some(size) => story
            .under_load(size)
            .map_err(|error| wrong("--load", &error))?,
        None => story,
    };
    let check = |version: EtcdVersion| {
        let mut faults = args.fault.iter().map(|planned| &planned.fault);
        faults.try_for_each(|fault| version.check(fault))
    };
    let mut script = Script::from(story.clone());
    if let Some(version) = args.etcd_version {
        let option = format!("--etcd-version {version}");
        check(version).map_err(|error| Failure::usage(format!("{option}: --fault: {error}")))?;
        let over = story.over_etcd(version);
        script.story = over.map_err(|error| wrong(&option, &error))?;
    } else if let Some(version) = story.shipped_etcd() {
        match check(version).and_then(|()| story.over_etcd(version)) {
            Ok(over) => script.story = over,
            Err(error) if !args.server_version.is_empty() => {
                let error = format!("{error}; --etcd-version chooses another");
                return Err(wrong("--server-version", &error));
            }
            Err(_) => {}
        }
    }
    script.faults = args.fault;
    Ok(script)
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
    use clap::Parser as _;

    use super::super::args::{Cli, Command};
    use super::*;

    #[test]
    fn an_unknown_story_is_wrong_usage_and_names_the_nearest() {
        let failure = |name| find_story(Some(name)).err().map(|it| (it.code, it.message));
        let message = "there is no story \"f77\"; nearest: F50 (cap on streams of a proxied watch). Stories are shop \
                       and F01 to F50.";
        assert_eq!(failure("f77"), Some((2, message.to_owned())));
        assert_eq!(failure("f11"), None);
        assert_eq!(find_story(None).map(|story| story.name).ok(), Some("shop"));
    }

    /// Returns what `watchscope simulate` plays with these words: servers, etcd, faults. An error is the exit code and the
    /// message.
    fn asked(words: &[&str]) -> Result<String, (u8, String)> {
        let words = ["watchscope", "simulate"].iter().chain(words);
        let cli = Cli::try_parse_from(words).map_err(|error| {
            let code = u8::try_from(error.exit_code()).unwrap();
            (code, error.to_string())
        })?;
        let Some(Command::Simulate(args)) = cli.command else {
            panic!("no simulate");
        };
        let script = script(args.cluster).map_err(|failure| (failure.code, failure.message))?;
        let config = &script.story.config;
        let servers: Vec<String> = config.servers.iter().map(ToString::to_string).collect();
        let etcd = config.etcd.version.map(|version| version.to_string());
        let etcd = etcd.unwrap_or_else(|| "any".to_owned());
        let faults: Vec<String> = script
            .faults
            .iter()
            .map(|planned| format!(", {:?} at {:?}", planned.fault, planned.at))
            .collect();
        Ok(format!(
            "{} over {etcd}{}",
            servers.join(" "),
            faults.concat()
        ))
    }

    fn refused(words: &[&str]) -> String {
        let (code, message) = asked(words).unwrap_err();
        assert_eq!(code, 2, "{message}");
        message.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn servers_have_the_requested_versions_and_etcd_that_of_the_oldest() {
        let played = |words: &[&str]| asked(words).unwrap();
        assert_eq!(played(&[]), "v1.36.3 over 3.6.8");
        assert_eq!(played(&["--server-version", "1.9.2"]), "v1.9.2 over any");
        assert_eq!(played(&["--server-version=1.27"]), "v1.27.0 over 3.5.7");
        let two = ["--server-version", "1.34.1,1.33"];
        assert_eq!(played(&two), "v1.34.1 v1.33.0 over 3.5.21");
        let twice = ["--server-version=1.34.1", "--server-version=1.33"];
        assert_eq!(played(&twice), "v1.34.1 v1.33.0 over 3.5.21");
        let etcd = ["--server-version=1.27", "--etcd-version=3.5.12"];
        assert_eq!(played(&etcd), "v1.27.0 over 3.5.12");
        // A story about two servers has two, whatever their version.
        assert_eq!(played(&["F31"]), "v1.26.0 v1.26.0 over 3.5.6");
        let one = ["F31", "--server-version=1.36.3"];
        assert_eq!(played(&one), "v1.36.3 v1.36.3 over 3.6.8");
    }

    #[test]
    fn every_story_plays_without_a_choice_of_etcd() {
        for story in watchscope_scenarios::stories() {
            asked(&[story.name]).unwrap();
        }
    }

    #[test]
    fn unknown_versions_are_wrong_usage_and_name_the_nearest() {
        insta::assert_snapshot!(refused(&["--server-version", "1.8"]), @"error: invalid value '1.8' for '--server-version <VERSION,…>': a version is 1.9 to 1.37, with or without a patch, as 1.27.3; nearest: 1.9");
        insta::assert_snapshot!(refused(&["--server-version", "1.36,1.38"]), @"error: invalid value '1.38' for '--server-version <VERSION,…>': a version is 1.9 to 1.37, with or without a patch, as 1.27.3; nearest: 1.37");
        insta::assert_snapshot!(refused(&["--etcd-version", "3.7"]), @"error: invalid value '3.7' for '--etcd-version <VERSION>': a version of etcd is 3.4 to 3.6, with or without a patch, as 3.5.12; nearest: 3.6");
    }

    #[test]
    fn a_defect_that_a_release_of_etcd_lacks_is_wrong_usage_and_lists_the_releases_with_it() {
        insta::assert_snapshot!(refused(&["F25", "--etcd-version", "3.5.13"]), @"--etcd-version 3.5.13: story F25: etcd 3.5.13 does not have etcd#17529; 3.4.0 to 3.4.30 and 3.5.0 to 3.5.12 have it");
        insta::assert_snapshot!(refused(&["F25", "--server-version", "1.36"]), @"--server-version: story F25: etcd 3.6.8 does not have etcd#17529; 3.4.0 to 3.4.30 and 3.5.0 to 3.5.12 have it; --etcd-version chooses another");
        insta::assert_snapshot!(refused(&["--etcd-version=3.6.8", "--fault=etcd-defect:17529"]), @"--etcd-version 3.6.8: --fault: etcd 3.6.8 does not have etcd#17529; 3.4.0 to 3.4.30 and 3.5.0 to 3.5.12 have it");
        let over = ["F25", "--server-version=1.36", "--etcd-version=3.5.12"];
        assert_eq!(asked(&over).unwrap(), "v1.36.0 over 3.5.12");
        // Neither servers nor etcd were requested, so a release with the defect is taken.
        let defect = ["--fault=etcd-defect:17529"];
        assert!(asked(&defect).unwrap().starts_with("v1.36.3 over any, "));
    }

    #[test]
    fn a_load_out_of_bounds_or_that_nobody_would_see_is_wrong_usage() {
        let load = |words: &[&str]| refused(words);
        insta::assert_snapshot!(load(&["F43", "--load", "rate=5"]), @"--load: story F43: its watches have a label selector and would not show the load; the story shop does");
        insta::assert_snapshot!(load(&["--load", "objects=60000"]), @r#"error: invalid value 'objects=60000' for '--load <objects=NUMBER,rate=NUMBER>': objects is "60000"; it is a number from 1 to 50000"#);
        insta::assert_snapshot!(load(&["--load", "speed=3"]), @r#"error: invalid value 'speed=3' for '--load <objects=NUMBER,rate=NUMBER>': "speed=3" is neither objects=NUMBER (1 to 50000) nor rate=NUMBER (0 to 20000 a second)"#);
    }

    #[test]
    fn faults_are_added_by_name_and_an_unknown_one_names_the_nearest() {
        let script = asked(&["--fault", "reset@30,delay:700@40-60"]).unwrap();
        insta::assert_snapshot!(script, @"v1.36.3 over 3.6.8, Cut { target: All, cut: Reset } at 30s, Delay { by: 700ms } at 40s");
        insta::assert_snapshot!(refused(&["--fault", "rest@30"]), @r#"error: invalid value 'rest@30' for '--fault <NAME[:PARAMETER]@SECONDS[-SECONDS],…>': there is no fault "rest"; nearest: reset, reset-streams"#);
        insta::assert_snapshot!(refused(&["--fault", "delay:soon"]), @"error: invalid value 'delay:soon' for '--fault <NAME[:PARAMETER]@SECONDS[-SECONDS],…>': delay takes a number of milliseconds, such as 500");
    }
}
