//! The program as a plugin of kubectl: a file or link named `kubectl-watchscope`. Its texts then say `kubectl watchscope`.

use std::ffi::OsStr;
use std::path::Path;

use clap::Command;

/// The name of the file by which kubectl finds a plugin.
const FILE: &str = "kubectl-watchscope";
/// How a person calls the plugin.
const CALLED: &str = "kubectl watchscope";
/// The program's name in examples: at the begin of a line, and quoted.
const EXAMPLES: [(&str, &str); 2] = [
    ("\n  watchscope ", "\n  kubectl watchscope "),
    ("`watchscope ", "`kubectl watchscope "),
];

/// Returns the command line whose usage and examples have the name by which the program was called.
pub(super) fn as_called(command: Command, program: &OsStr) -> Command {
    let is_plugin = Path::new(program).file_stem() == Some(OsStr::new(FILE));
    if !is_plugin {
        return command;
    }
    let command = command.bin_name(CALLED).mut_subcommands(renamed);
    renamed(command)
}

/// Returns the command with the plugin's name in its examples.
fn renamed(command: Command) -> Command {
    let Some(text) = command.get_after_help() else {
        return command;
    };
    let text = EXAMPLES
        .iter()
        .fold(text.to_string(), |text, (ours, plugins)| {
            text.replace(ours, plugins)
        });
    command.after_help(text)
}

#[cfg(test)]
mod tests {
    use super::super::args::command_line;
    use super::*;

    fn help(program: &str, name: &str) -> String {
        let command = as_called(command_line(), OsStr::new(program)).term_width(80);
        let words = [program, name, "--help"].into_iter();
        let words = words.filter(|word| !word.is_empty());
        let help = command.try_get_matches_from(words).unwrap_err();
        help.render().to_string()
    }

    #[test]
    fn only_under_its_name_as_a_plugin_it_calls_itself_kubectl_watchscope() {
        let plugin = help("/opt/krew/kubectl-watchscope", "watch");
        assert!(plugin.contains("Usage: kubectl watchscope watch [OPTIONS]"));
        assert!(plugin.contains("\n  kubectl watchscope watch pods,nodes -A\n"));
        for program in ["/usr/bin/watchscope", "watchscope", "kubectl-watch"] {
            let own = help(program, "watch");
            assert!(!own.contains("kubectl watchscope"), "{program}: {own}");
            assert!(own.contains("\n  watchscope watch pods,nodes -A\n"));
        }
    }

    #[test]
    fn every_help_of_the_plugin_fits_80_columns_and_has_no_example_of_another_name() {
        let all = command_line();
        let names = all.get_subcommands().map(Command::get_name);
        for name in std::iter::once("").chain(names) {
            let help = help("kubectl-watchscope", name);
            let widest = help.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{name}: {help}");
            assert!(!help.contains("\n  watchscope "), "{name}: {help}");
        }
    }
}
