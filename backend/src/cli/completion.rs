//! `watchscope completion SHELL`: prints the script by which a shell asks `watchscope __complete` for candidates.

use super::args::CompletionArgs;
use super::exit::Failure;
use super::out;

/// A shell that has a script.
pub(super) struct Shell {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// What its script is for, in a few words.
    pub(super) what: &'static str,
    script: &'static str,
}

/// All shells that have a script.
pub(super) const SHELLS: [Shell; 6] = [
    Shell {
        name: "bash",
        what: "bash 4.2 and later",
        script: include_str!("completion/bash.sh"),
    },
    Shell {
        name: "zsh",
        what: "zsh, after compinit",
        script: include_str!("completion/zsh.zsh"),
    },
    Shell {
        name: "fish",
        what: "fish 3.1 and later",
        script: include_str!("completion/fish.fish"),
    },
    Shell {
        name: "powershell",
        what: "PowerShell 7",
        script: include_str!("completion/powershell.ps1"),
    },
    Shell {
        name: "nushell",
        what: "nushell",
        script: include_str!("completion/nushell.nu"),
    },
    Shell {
        name: "kubectl",
        what: "the plugin kubectl watchscope, in any shell",
        script: include_str!("completion/kubectl.sh"),
    },
];

/// Prints the script of a shell.
///
/// # Errors
/// Exit code 2 for a shell without a script; 1 if standard output cannot be written.
pub(super) fn completion(args: &CompletionArgs) -> Result<(), Failure> {
    let name = &args.shell;
    match SHELLS.iter().find(|shell| shell.name == name) {
        Some(shell) => out::print(shell.script),
        None => Err(Failure::usage(format!(
            "there is no completion for {name:?}; name one of {}",
            SHELLS.map(|shell| shell.name).join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(shell: &str) -> (u8, String) {
        let shell = shell.to_owned();
        let failure = completion(&CompletionArgs { shell }).unwrap_err();
        (failure.code, failure.message)
    }

    #[test]
    fn an_unknown_shell_is_wrong_usage_in_one_line_with_those_that_there_are() {
        let message = "there is no completion for \"tcsh\"; name one of bash, zsh, fish, powershell, nushell, kubectl";
        assert_eq!(refusal("tcsh"), (2, message.to_owned()));
        assert_eq!(refusal("").0, 2);
    }

    #[test]
    fn the_help_names_each_shell() {
        let command = crate::cli::args::command_line();
        let completion = command.find_subcommand("completion").unwrap();
        let shell = completion.get_positionals().next().unwrap();
        let named = shell.get_help().unwrap().to_string();
        let help = completion.get_after_help().unwrap().to_string();
        for shell in SHELLS {
            assert!(help.contains(&format!("watchscope completion {}", shell.name)));
            assert!(named.contains(shell.name));
        }
    }

    /// PowerShell and nushell run in no test, so their scripts are held to what they must say.
    #[test]
    fn each_script_asks_the_program_and_knows_the_directives() {
        for shell in SHELLS {
            let asks = shell.script.contains("__complete");
            assert!(asks, "{}", shell.name);
            assert!(shell.script.lines().all(|line| line.len() <= 120));
            if shell.name != "kubectl" {
                assert!(shell.script.contains("wscope"), "{}", shell.name);
            }
        }
        let powershell = SHELLS[3].script;
        for part in [
            "Register-ArgumentCompleter -Native -CommandName watchscope",
            "[System.Management.Automation.CompletionResult]::new(",
            "$PSNativeCommandArgumentPassing",
        ] {
            assert!(powershell.contains(part), "{part}");
        }
        let nushell = SHELLS[4].script;
        for part in [
            "$env.config.completions.external.completer = {|spans|",
            "run-external $spans.0 \"__complete\" ...($spans | skip 1)",
            "do $watchscope_other_completer $spans",
        ] {
            assert!(nushell.contains(part), "{part}");
        }
    }
}
