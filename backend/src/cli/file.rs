//! The configuration file. It sets options by their long names; flags and environment override it, and it overrides the
//! defaults.
//!
//! A setting becomes the default of clap's own option. So flag and environment take precedence, and each value is parsed in
//! one way, wherever it was written.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches as _};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::args::{Cli, EVERYTHING, command_line};
use super::plugin::as_called;

/// The path of the file, below the user's configuration folder.
const PLACE: &str = "watchscope/config.toml";
/// The option that names the file; it is no setting itself.
const CONFIG: &str = "config";
/// The most edits between a mistaken name and the one that is suggested.
const NEAR: usize = 3;

/// Why no command is run.
#[derive(Debug)]
pub(super) enum Refused {
    /// The help, the version, or a wrong command line.
    Clap(clap::Error),
    /// The configuration file is wrong.
    File(FileError),
}

/// The fault of the configuration file.
#[derive(Debug, Error)]
pub(super) enum FileError {
    /// The file does not exist, or cannot be read.
    #[error("--config {}: cannot read it: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not TOML, or sets something that cannot be set in it.
    #[error("{}:{line}: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The fault.
        why: String,
    },
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Self::Clap(error)
    }
}

impl From<FileError> for Refused {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// Reads the command line, the environment and the configuration file: the one that is named, or the one in the usual place.
pub(super) fn parse(arguments: &[OsString]) -> Result<Cli, Refused> {
    let program = arguments.first().map(OsString::as_os_str);
    let command = as_called(command_line(), program.unwrap_or_default());
    let arguments = &with_config_behind(&command, arguments);
    let matches = command.clone().try_get_matches_from(arguments)?;
    let cli = Cli::from_arg_matches(&matches)?;
    let Some(file) = File::find(cli.config)? else {
        return Cli::from_arg_matches(&matches).map_err(Refused::Clap);
    };
    let settings = file.settings(&command)?;
    let overruled = file.overruled(&settings, &command, &matches)?;
    let command = with_defaults(command, &settings, &overruled);
    command
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| file.explain(&settings, error))
}

/// Returns the arguments with a leading `--config FILE` behind the command. clap reads no command behind an option of the
/// program, since those belong to serving, but this one belongs to every command.
fn with_config_behind(command: &Command, arguments: &[OsString]) -> Vec<OsString> {
    let mut arguments = arguments.to_vec();
    let words = match arguments.get(1).and_then(|word| word.to_str()) {
        Some("--config") => 2,
        Some(word) if word.starts_with("--config=") => 1,
        _ => return arguments,
    };
    let behind = arguments.get(words + 1);
    if behind.is_some_and(|word| command.find_subcommand(word).is_some()) {
        arguments[1..=words + 1].rotate_left(words);
    }
    arguments
}

/// Returns the first value that the configuration file sets for an option. `None` if it sets none. A missing or wrong file
/// counts as empty: the completion of a command line reports no errors.
pub(super) fn setting(named: Option<PathBuf>, command: &Command, name: &str) -> Option<String> {
    let settings = File::find(named).ok()??.settings(command).ok()?;
    let setting = settings.into_iter().find(|setting| setting.name == name)?;
    setting.values.into_iter().next()
}

/// A configuration file that was read.
struct File {
    path: PathBuf,
    text: String,
}

/// The setting of one line.
struct Setting {
    name: String,
    line: usize,
    /// The values as the command line would have them; if empty, the option stays unset.
    values: Vec<String>,
}

impl File {
    /// Reads the file that was named, which must exist, or the one in the usual place, which need not.
    fn find(named: Option<PathBuf>) -> Result<Option<Self>, FileError> {
        let is_named = named.is_some();
        let Some(path) = named.or_else(usual_place) else {
            return Ok(None);
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Self { path, text })),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => Ok(None),
            Err(error) => Err(FileError::Unreadable { path, error }),
        }
    }

    fn wrong(&self, at: usize, why: impl Into<String>) -> FileError {
        FileError::Line {
            path: self.path.clone(),
            line: self.line(at),
            why: why.into(),
        }
    }

    fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// Returns all settings, in the order of their names.
    fn settings(&self, command: &Command) -> Result<Vec<Setting>, FileError> {
        let table = DeTable::parse(&self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.wrong(at, one_line(error.message()))
        })?;
        let known: Vec<&Arg> = options(command).collect();
        let set = table.get_ref().iter().map(|(name, value)| {
            let at = name.span().start;
            let name: &str = name.get_ref();
            if matches!(value.get_ref(), DeValue::Table(_)) {
                return Err(self.wrong(
                    at,
                    format!("{name}: there are no sections; write OPTION = VALUE"),
                ));
            }
            let Some(option) = known.iter().find(|option| name_of(option) == Some(name)) else {
                return Err(self.wrong(at, unknown(name, &known)));
            };
            let values =
                values(option, value).map_err(|why| self.wrong(at, format!("{name}: {why}")))?;
            Ok(Setting {
                name: name.to_owned(),
                line: self.line(at),
                values,
            })
        });
        set.collect()
    }

    /// Returns the settings that another option overrides, because it excludes them and was given by flag or environment.
    fn overruled(
        &self,
        settings: &[Setting],
        command: &Command,
        matches: &ArgMatches,
    ) -> Result<BTreeSet<String>, FileError> {
        let (command, matches) = match matches.subcommand() {
            Some((name, matches)) => (command.find_subcommand(name).unwrap_or(command), matches),
            None => (command, matches),
        };
        let set = |option: &Arg| {
            let setting = settings
                .iter()
                .find(|setting| name_of(option) == Some(&setting.name));
            setting.filter(|setting| !setting.is_off())
        };
        let mut overruled = BTreeSet::new();
        for one in command.get_arguments() {
            for other in command.get_arg_conflicts_with(one) {
                match (set(one), set(other)) {
                    (Some(one), Some(other)) => {
                        let later = if one.line > other.line { one } else { other };
                        let why = format!("{} and {} exclude each other", one.name, other.name);
                        return Err(FileError::Line {
                            path: self.path.clone(),
                            line: later.line,
                            why,
                        });
                    }
                    (Some(set), None) if is_given(other, matches) => {
                        overruled.insert(set.name.clone());
                    }
                    (None, Some(set)) if is_given(one, matches) => {
                        overruled.insert(set.name.clone());
                    }
                    _ => {}
                }
            }
        }
        Ok(overruled)
    }

    /// Returns the error with the line of the file that caused it. The command line was valid by itself, so the file must be
    /// the cause.
    fn explain(&self, settings: &[Setting], error: clap::Error) -> Refused {
        let shown = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(shown)) => shown.as_str(),
            _ => return Refused::Clap(error),
        };
        let named = shown.split([' ', '=']).next().unwrap_or(shown);
        let setting = settings
            .iter()
            .find(|setting| named.strip_prefix("--") == Some(&setting.name));
        let Some(setting) = setting else {
            return Refused::Clap(error);
        };
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        Refused::File(FileError::Line {
            path: self.path.clone(),
            line: setting.line,
            why: first.trim_start_matches("error: ").to_owned(),
        })
    }
}

impl Setting {
    /// Whether the setting only confirms that a flag is not set.
    fn is_off(&self) -> bool {
        self.values.is_empty() || self.values == ["false"]
    }
}

/// The usual place of the file: `$XDG_CONFIG_HOME/watchscope/config.toml` if that is an absolute path, else the same below
/// `~/.config`.
fn usual_place() -> Option<PathBuf> {
    let set = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = set
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".config")))?;
    Some(folder.join(Path::new(PLACE)))
}

/// Returns all options that a file can set: those of any command that also have a variable.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    std::iter::once(command)
        .chain(command.get_subcommands())
        .flat_map(Command::get_arguments)
        .filter(|option| name_of(option).is_some())
}

/// The name of an option in the file: its long flag, or its id if it has no flag. None if a file cannot set it.
fn name_of(option: &Arg) -> Option<&str> {
    option.get_env()?;
    let name = option
        .get_long()
        .unwrap_or_else(|| option.get_id().as_str());
    (name != CONFIG).then_some(name)
}

fn is_given(option: &Arg, matches: &ArgMatches) -> bool {
    let id = option.get_id().as_str();
    let source = matches.value_source(id);
    let is_off = is_flag(option) && !matches.get_flag(id);
    matches!(
        source,
        Some(ValueSource::CommandLine | ValueSource::EnvVariable)
    ) && !is_off
}

fn is_flag(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::SetTrue)
}

fn unknown(name: &str, known: &[&Arg]) -> String {
    let names: BTreeSet<&str> = known
        .iter()
        .filter(|option| !option.is_hide_set())
        .filter_map(|option| name_of(option))
        .collect();
    let distance = |known: &&str| strsim::osa_distance(&name.to_lowercase(), known);
    let nearest = names
        .into_iter()
        .min_by_key(distance)
        .filter(|near| distance(near) <= NEAR);
    match nearest {
        Some(near) => format!("there is no option {name:?}; did you mean {near}?"),
        None => format!("there is no option {name:?}; `watchscope serve --help` lists them"),
    }
}

/// Converts a value into the values that the command line would have.
fn values(option: &Arg, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, String> {
    let may_stand_alone = option
        .get_num_args()
        .is_some_and(|count| count.min_values() == 0);
    match value.get_ref() {
        DeValue::Boolean(is_on) if is_flag(option) => Ok(vec![is_on.to_string()]),
        _ if is_flag(option) => Err("it is true or false".to_owned()),
        DeValue::Boolean(true) if may_stand_alone => Ok(vec![EVERYTHING.to_owned()]),
        DeValue::Boolean(false) if may_stand_alone => Ok(Vec::new()),
        DeValue::Array(array) if option.get_value_delimiter().is_some() => {
            array.iter().map(|value| single(value.get_ref())).collect()
        }
        DeValue::Array(_) => Err("it is one value, not a list".to_owned()),
        value => {
            let text = single(value)?;
            Ok(match option.get_value_delimiter() {
                Some(delimiter) => text.split(delimiter).map(str::to_owned).collect(),
                None => vec![text],
            })
        }
    }
}

fn single(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        _ => Err("it is a text in quotes, or a number".to_owned()),
    }
}

/// Returns the command, and its subcommands, with the settings as defaults.
fn with_defaults(command: Command, settings: &[Setting], overruled: &BTreeSet<String>) -> Command {
    let set = |option: Arg| {
        let setting = settings.iter().find(|setting| {
            name_of(&option) == Some(&setting.name) && !overruled.contains(&setting.name)
        });
        match setting {
            Some(setting) if !setting.values.is_empty() => {
                let values = setting.values.clone();
                option.default_values(values)
            }
            _ => option,
        }
    };
    command
        .mut_args(set)
        .mut_subcommands(|command| command.mut_args(set))
}

/// Joins a message of the TOML reader into one line.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use insta::assert_snapshot;

    use super::*;
    use crate::cli::args::{Command as Task, Output};

    fn run(text: &str, arguments: &[&str]) -> Result<Cli, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let path = file.path().to_str().unwrap();
        let mut all: Vec<OsString> = vec!["watchscope".into()];
        all.extend(arguments.iter().map(OsString::from));
        all.extend(["--config".into(), path.into()]);
        parse(&all).map_err(|refused| match refused {
            Refused::Clap(error) => error.render().to_string(),
            Refused::File(error) => error.to_string().replace(path, "FILE"),
        })
    }

    #[test]
    fn the_file_sets_what_the_flags_set() {
        let text = "namespace = \"shop\"\nallow-host = [\"a.test\", \"b.test\"]\nno-open = true\nseed = 7\n\
                    metadata-only = true\nmemory = \"64MiB\"\nwatch-timeout = 300\nresources = \"pods,deploy\"\n";
        let cli = run(text, &[]).unwrap();
        assert_eq!(cli.serve.what.namespace.as_deref(), Some("shop"));
        assert_eq!(cli.serve.listen.allow_host, ["a.test", "b.test"]);
        assert!(cli.serve.listen.no_open);
        assert_eq!(cli.serve.what.metadata_only, ["*"]);
        assert_eq!(cli.serve.what.memory.bytes, 64 << 20);
        assert_eq!(cli.serve.what.watch_timeout.unwrap().as_secs(), 300);
        assert_eq!(cli.serve.resources, ["pods", "deploy"]);
        match run(text, &["demo"]).unwrap().command {
            Some(Task::Demo(demo)) => {
                assert_eq!((demo.cluster.seed, demo.listen.no_open), (7, true))
            }
            other => panic!("no demo but {other:?}"),
        }
    }

    #[test]
    fn a_flag_overrides_the_file_even_if_it_excludes_another_setting() {
        let cli = run(
            "all-namespaces = true\nmemory = \"64MiB\"",
            &["-n", "shop", "--memory", "32MiB"],
        )
        .unwrap();
        assert_eq!(cli.serve.what.namespace.as_deref(), Some("shop"));
        assert!(!cli.serve.what.all_namespaces);
        assert_eq!(cli.serve.what.memory.bytes, 32 << 20);
        let cli = run("namespace = \"shop\"", &["-A"]).unwrap();
        assert_eq!(
            (cli.serve.what.namespace, cli.serve.what.all_namespaces),
            (None, true)
        );
        let cli = run(
            "resources = [\"pods\"]\nnamespace = \"shop\"\nall-namespaces = false",
            &["--all-resources"],
        )
        .unwrap();
        assert!(cli.serve.resources.is_empty() && cli.serve.all_resources);
        assert_eq!(cli.serve.what.namespace.as_deref(), Some("shop"));
    }

    #[test]
    fn the_file_may_be_named_before_the_command() {
        for named in [&["--config", "/dev/null"][..], &["--config=/dev/null"]] {
            let all = [&["watchscope"], named, &["explain", "F11"]].concat();
            let all: Vec<OsString> = all.iter().map(OsString::from).collect();
            let cli = parse(&all).unwrap();
            assert_eq!(cli.config.unwrap(), Path::new("/dev/null"));
            assert!(matches!(cli.command, Some(Task::Explain(args)) if args.code == "F11"));
        }
        let serving = ["watchscope", "--config", "/dev/null", "-n", "shop", "pods"];
        let cli = parse(&serving.map(OsString::from)).unwrap();
        assert_eq!(cli.serve.what.namespace.as_deref(), Some("shop"));
    }

    #[test]
    fn an_option_of_another_command_is_no_mistake() {
        match run(
            "output = \"jsonl\"\nkubeconfig-out = \"k\"",
            &["watch", "pods"],
        )
        .unwrap()
        .command
        {
            Some(Task::Watch(watch)) => assert_eq!(watch.output, Output::Jsonl),
            other => panic!("no watch but {other:?}"),
        }
    }

    #[test]
    fn the_context_of_a_kubeconfig_is_not_the_context_of_an_exports_charts() {
        let arguments = ["export", "a.wscope", "-o", "charts/"];
        match run("context = \"kind-shop\"", &arguments).unwrap().command {
            Some(Task::Export(export)) => assert_eq!(export.context, None),
            other => panic!("no export but {other:?}"),
        }
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        let mistake = |text: &str| run(text, &[]).unwrap_err();
        assert_snapshot!(mistake("\n# a comment\nnamspace = \"shop\""), @r#"FILE:3: there is no option "namspace"; did you mean namespace?"#);
        assert_snapshot!(mistake("all_namespaces = true"), @r#"FILE:1: there is no option "all_namespaces"; did you mean all-namespaces?"#);
        assert_snapshot!(mistake("colour = 1"), @r#"FILE:1: there is no option "colour"; `watchscope serve --help` lists them"#);
        assert_snapshot!(mistake("[serve]\nlisten = \"x\""), @"FILE:1: serve: there are no sections; write OPTION = VALUE");
        assert_snapshot!(mistake("config = \"other\""), @r#"FILE:1: there is no option "config"; `watchscope serve --help` lists them"#);
        assert_snapshot!(mistake("no-open = \"yes\""), @"FILE:1: no-open: it is true or false");
        assert_snapshot!(mistake("namespace = [\"a\"]"), @"FILE:1: namespace: it is one value, not a list");
        assert_snapshot!(mistake("namespace = 1.5"), @"FILE:1: namespace: it is a text in quotes, or a number");
        assert_snapshot!(mistake("\nlisten = \"8080\""), @"FILE:2: invalid value '8080' for '--listen <ADDRESS:PORT>': use ADDRESS:PORT, such as 127.0.0.1:8080, localhost:8080 or [::1]:0");
        assert_snapshot!(mistake("memory = \"3 apples\""), @r#"FILE:1: invalid value '3 apples' for '--memory <SIZE>': "apples" is no unit of bytes; write 224MiB or 1GiB"#);
        assert_snapshot!(mistake("namespace = \"a\"\nall-namespaces = true"), @"FILE:2: all-namespaces and namespace exclude each other");
        assert_snapshot!(mistake("namespace = \"a\"\nnamespace = \"b\""), @"FILE:2: duplicate key");
        assert_snapshot!(mistake("namespace = "), @"FILE:1: string values must be quoted, expected literal string");
    }

    #[test]
    fn a_file_that_was_named_must_exist() {
        let arguments = ["watchscope", "--config", "/nonexistent/config.toml"];
        let refused = parse(&arguments.map(OsString::from)).unwrap_err();
        let Refused::File(error) = refused else {
            panic!("{refused:?}")
        };
        assert_snapshot!(error, @"--config /nonexistent/config.toml: cannot read it: No such file or directory (os error 2)");
    }
}
