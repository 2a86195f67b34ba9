//! `watchscope __complete WORDS…`: the candidates for the last word, in cobra's protocol, for the scripts of the shells.
//!
//! It never asks a person, opens no browser, and takes at most about half a second.

mod answer;
mod cache;
mod known;
mod served;
mod source;
mod walk;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Command;

use self::answer::{Answer, Directive};
use self::source::{Source, source_of};
use self::walk::{Asked, Place, walk};
use super::args::command_line;
use super::file;
use super::out;
use crate::cluster::{ConfigLookup, ConfigSource, Environment};

/// The first word of the hidden command. cobra's scripts and kubectl call plugins by it.
pub(super) const COMMAND: &str = "__complete";

/// Prints the candidates for the last of these words, which are those behind the program's name. It has no errors: where
/// nothing is known, it prints no candidate.
pub(super) async fn complete(words: &[OsString]) {
    let mut root = command_line();
    root.build();
    let mut words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if words.is_empty() {
        words.push(String::new());
    }
    let answer = answer(&root, &walk(&root, &words)).await;
    // An unwritable standard output is ignored: the shell has gone.
    let _ = out::print(&answer.text());
}

async fn answer(root: &Command, asked: &Asked<'_>) -> Answer {
    let mut candidates = Vec::new();
    match &asked.place {
        Place::Flags => candidates = asked.flags(),
        Place::Value(option) => return values(root, asked, source_of(option)).await,
        Place::Word { positional } => {
            candidates.extend(asked.commands());
            // Without a letter the commands stand alone, because a cluster may have hundreds of resources.
            if let Some(positional) = positional
                && (candidates.is_empty() || !asked.word.is_empty())
            {
                let answer = values(root, asked, source_of(positional)).await;
                if candidates.is_empty() {
                    return answer;
                }
                candidates.extend(answer.candidates);
            }
        }
    }
    Answer {
        candidates,
        directive: Directive::NoFiles,
    }
}

/// Returns the candidates for a value from its source.
async fn values(root: &Command, asked: &Asked<'_>, source: Source) -> Answer {
    let candidates = match source {
        Source::Files => return Answer::of(Directive::Files),
        Source::Folders => return Answer::of(Directive::Folders),
        Source::Recordings => return Answer::of(Directive::Recordings),
        Source::Unknown => Vec::new(),
        Source::Choices(choices) => choices,
        Source::Stories => known::stories(),
        Source::Lessons => known::lessons(),
        Source::Findings => known::findings(),
        Source::Faults => known::faults(),
        Source::Shells => known::shells(),
        Source::Contexts => served::contexts(&cluster(root, asked)),
        Source::Namespaces => served::namespaces(&cluster(root, asked)).await,
        Source::Resources => served::resources(&cluster(root, asked), asked.last_item()).await,
    };
    Answer {
        candidates: asked.matching(candidates),
        directive: Directive::NoFiles,
    }
}

/// Returns where the cluster's configuration is, from the words, the environment and the configuration file.
fn cluster(root: &Command, asked: &Asked<'_>) -> ConfigSource {
    let given = |name: &str| -> Option<String> {
        let option = root.get_arguments().find(|option| option.get_id() == name);
        let variable = option.and_then(clap::Arg::get_env);
        let of_environment = || std::env::var(variable?).ok();
        asked.given(name).map(str::to_owned).or_else(of_environment)
    };
    let file = given("config").map(PathBuf::from);
    let setting = |name: &str| given(name).or_else(|| file::setting(file.clone(), root, name));
    ConfigSource::Lookup(ConfigLookup {
        kubeconfig: setting("kubeconfig").map(PathBuf::from),
        context: setting("context"),
        environment: Environment::from_process(),
    })
}

#[cfg(test)]
mod tests;
