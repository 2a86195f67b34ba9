//! Where the candidates for the value of an argument come from.

use clap::{Arg, ValueHint};

use super::answer::Candidate;

/// Where the candidates for a value come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The argument's own closed list.
    Choices(Vec<Candidate>),
    /// Contexts of the kubeconfig.
    Contexts,
    /// Namespaces of the cluster.
    Namespaces,
    /// Resources that the cluster serves.
    Resources,
    /// Stories of simulated clusters.
    Stories,
    /// Lessons.
    Lessons,
    /// Failures of the catalogue.
    Findings,
    /// Faults of simulated clusters.
    Faults,
    /// Shells that have a script.
    Shells,
    /// Recordings, and folders of them.
    Recordings,
    /// Folders.
    Folders,
    /// Any files.
    Files,
    /// Nobody knows: a number, a time, a name of the person's choice.
    Unknown,
}

/// Returns the source of an argument's values. clap knows closed lists and paths; the others go by the argument's id.
pub(super) fn source_of(option: &Arg) -> Source {
    let choices: Vec<Candidate> = option
        .get_possible_values()
        .iter()
        .filter(|choice| !choice.is_hide_set())
        .map(|choice| {
            let help = choice.get_help().map(ToString::to_string);
            Candidate::new(choice.get_name(), help.unwrap_or_default())
        })
        .collect();
    if !choices.is_empty() {
        return Source::Choices(choices);
    }
    match (option.get_id().as_str(), option.get_value_hint()) {
        ("files" | "from", ValueHint::AnyPath) => Source::Recordings,
        (_, ValueHint::DirPath) => Source::Folders,
        (_, ValueHint::AnyPath | ValueHint::FilePath) => Source::Files,
        ("resources" | "metadata_only", _) => Source::Resources,
        ("namespace", _) => Source::Namespaces,
        // The context of a kubeconfig has a variable. The `--context` of an export is a duration and has none.
        ("context", _) if option.get_env().is_some() => Source::Contexts,
        ("story", _) => Source::Stories,
        ("lesson", _) => Source::Lessons,
        ("code", _) => Source::Findings,
        ("fault", _) => Source::Faults,
        ("shell", _) => Source::Shells,
        _ => Source::Unknown,
    }
}
