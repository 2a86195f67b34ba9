//! The command line as a person sees it: its helps, and how values are read.

use std::collections::{BTreeMap, BTreeSet};

use super::values::{WATCH_TIMEOUT_MIN, age, history_size, memory, watch_timeout};
use super::*;

/// Returns the text of `--help` for each command, `watchscope` alone included, on a terminal of 80 columns.
fn helps() -> BTreeMap<String, String> {
    let all = command_line();
    let names = all.get_subcommands().map(clap::Command::get_name);
    let help = |name: &str| {
        let words = ["watchscope", name, "--help"];
        let words = words.into_iter().filter(|word| !word.is_empty());
        let command = command_line().term_width(80);
        let shown = command.try_get_matches_from(words).unwrap_err();
        assert_eq!(shown.kind(), clap::error::ErrorKind::DisplayHelp);
        (name.to_owned(), shown.render().to_string())
    };
    std::iter::once("").chain(names).map(help).collect()
}

#[test]
fn the_command_line_is_consistent() {
    command_line().debug_assert();
}

#[test]
fn every_help_fits_80_columns_and_names_no_variable_behind_an_option() {
    for (command, help) in helps() {
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{command}: {widest:?}\n{help}");
        assert!(!help.contains("[env"), "{help}");
    }
}

/// Checks the statement of [`PLACES`]. Options that belong to one use have no variable, since it would also affect the next
/// use.
#[test]
fn every_option_has_a_variable_of_its_name_unless_it_belongs_to_one_use() {
    let all = command_line();
    let commands = std::iter::once(&all).chain(all.get_subcommands());
    let mut without = Vec::new();
    for option in commands.flat_map(clap::Command::get_arguments) {
        let Some(name) = option.get_long() else {
            continue;
        };
        let expected = format!("WATCHSCOPE_{}", name.to_uppercase().replace('-', "_"));
        match option.get_env() {
            Some(variable) => assert_eq!(variable, expected.as_str()),
            None => without.push(name),
        }
    }
    assert_eq!(
        without,
        [
            "out",
            "from",
            "to",
            "form",
            "context",
            "title",
            "namespace",
            "port",
            "revoke",
            "output",
            "out"
        ]
    );
}

/// A variable, and a line of the configuration file, reach each command that has an option of that name. So all of them must
/// be able to read it. `token --listen PORT` reads `ADDRESS:PORT` too.
#[test]
fn options_that_share_a_variable_take_values_of_one_form() {
    let all = command_line();
    let commands = std::iter::once(&all).chain(all.get_subcommands());
    let mut forms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for option in commands.flat_map(clap::Command::get_arguments) {
        if let Some(variable) = option.get_env() {
            let names = option.get_value_names().unwrap_or_default();
            let form: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            let variable = variable.to_string_lossy().into_owned();
            forms.entry(variable).or_default().insert(form.join(" "));
        }
    }
    forms.retain(|_, forms| forms.len() > 1);
    let differing: Vec<&String> = forms.keys().collect();
    assert_eq!(differing, ["WATCHSCOPE_LISTEN"], "{forms:?}");
}

#[test]
fn the_demos_help_lists_its_stories_and_faults() {
    assert_eq!(helps()["demo"], include_str!("tests/help.txt"));
}

#[test]
fn without_a_command_the_words_are_resources_to_serve() {
    let cli = Cli::try_parse_from(["watchscope", "pods", "deploy", "-n", "shop"]).unwrap();
    assert!(cli.command.is_none());
    assert_eq!(cli.serve.resources, ["pods", "deploy"]);
    assert_eq!(cli.serve.what.namespace.as_deref(), Some("shop"));
}

#[test]
fn metadata_only_stands_alone_or_names_resources() {
    let metadata_only = |args: &[&str]| {
        let args = ["watchscope", "watch", "pods"].iter().chain(args);
        match Cli::try_parse_from(args).unwrap().command {
            Some(Command::Watch(watch)) => watch.follow.what.metadata_only,
            _ => panic!("no watch"),
        }
    };
    assert_eq!(metadata_only(&["--metadata-only"]), ["*"]);
    assert_eq!(
        metadata_only(&["--metadata-only=pods,nodes"]),
        ["pods", "nodes"]
    );
    assert!(metadata_only(&[]).is_empty());
}

#[test]
fn durations_and_sizes_are_read_as_people_write_them() {
    assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
    assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5_400)));
    assert_eq!(duration("45"), Ok(Duration::from_secs(45)));
    assert!(duration("soon").is_err());
    assert_eq!(watch_timeout("4s"), Ok(WATCH_TIMEOUT_MIN));
    assert!(watch_timeout("3s").is_err());
    assert_eq!(memory("1GiB"), Ok(1 << 30));
    assert!(memory("3 apples").is_err() && memory("1KiB").is_err());
    assert_eq!(history_size("16MiB"), Ok(16 << 20));
    assert!(history_size("15MiB").is_err());
    assert_eq!(age("7d"), Ok(Duration::from_secs(7 * 86_400)));
    assert_eq!(age("12h"), Ok(Duration::from_secs(12 * 3_600)));
    for wrong in ["59s", "d", "-1d", "soon", "0"] {
        assert!(age(wrong).is_err(), "{wrong}");
    }
    assert_eq!(port("127.0.0.1:8081"), Ok(8081));
}
