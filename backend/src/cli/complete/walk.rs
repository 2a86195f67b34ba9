//! Reads a command line up to the cursor, by clap's own tree of commands: what stands there, and which values came before.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, Command};

use super::answer::Candidate;

/// What stands at the cursor.
#[derive(Debug)]
pub(super) enum Place<'a> {
    /// The name of a flag: the word begins with `-`.
    Flags,
    /// The value of this option.
    Value(&'a Arg),
    /// A command, or the value of this positional argument.
    Word {
        /// The argument; none if all are given.
        positional: Option<&'a Arg>,
    },
}

/// A command line up to the cursor.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    /// The command to which the word belongs.
    command: &'a Command,
    /// What stands at the cursor.
    pub(super) place: Place<'a>,
    /// The word under the cursor. For `--name=value` it is the part behind `=`, as cobra has it.
    pub(super) word: String,
    /// Whether a command may stand here.
    may_be_command: bool,
    /// All values before the cursor, by the id of their argument. A flag has none.
    given: BTreeMap<&'a str, Vec<String>>,
}

impl Asked<'_> {
    /// The last value given for an argument.
    pub(super) fn given(&self, id: &str) -> Option<&str> {
        self.given.get(id)?.last().map(String::as_str)
    }

    /// The last item of the word, if the word is a list.
    pub(super) fn last_item(&self) -> &str {
        &self.word[self.list_bytes()..]
    }

    /// The commands that may stand here and begin with the word.
    pub(super) fn commands(&self) -> Vec<Candidate> {
        let commands = self.command.get_subcommands();
        let commands = commands.filter(|command| {
            self.may_be_command
                && !command.is_hide_set()
                && command.get_name().starts_with(&self.word)
        });
        let named = |command: &Command| {
            let about = command.get_about().map(ToString::to_string);
            Candidate::new(command.get_name(), about.unwrap_or_default())
        };
        commands.map(named).collect()
    }

    /// The flags that begin with the word and may still be given. Short ones come only for `-` and the letter itself.
    pub(super) fn flags(&self) -> Vec<Candidate> {
        let mut flags = Vec::new();
        for option in self.command.get_arguments() {
            if option.is_positional() || option.is_hide_set() || self.is_excluded(option) {
                continue;
            }
            let help = option
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let long = option.get_long().map(|name| format!("--{name}"));
            let short = option.get_short().map(|letter| format!("-{letter}"));
            let names = short.into_iter().chain(long);
            let names = names.filter(|name| name.starts_with(&self.word));
            flags.extend(names.map(|name| Candidate::new(name, &help)));
        }
        flags
    }

    /// Whether the option was given and takes no second value, or excludes one that was given.
    fn is_excluded(&self, option: &Arg) -> bool {
        let was_given = |option: &Arg| self.given.contains_key(option.get_id().as_str());
        if was_given(option) {
            return !is_list(option);
        }
        // One of the two names the other as its conflict.
        let excludes = |one: &Arg, other: &Arg| {
            let conflicts = self.command.get_arg_conflicts_with(one);
            conflicts
                .iter()
                .any(|conflict| conflict.get_id() == other.get_id())
        };
        let others = self.command.get_arguments();
        let mut given = others.filter(|other| was_given(other));
        given.any(|other| excludes(option, other) || excludes(other, option))
    }

    /// Returns the candidates that begin with the word. In a list, each follows the items before it, and items that stand
    /// there already are left out.
    pub(super) fn matching(&self, candidates: Vec<Candidate>) -> Vec<Candidate> {
        let (before, item) = self.word.split_at(self.list_bytes());
        let earlier: Vec<&str> = match self.option() {
            Some(option) if is_list(option) => {
                let words = self.given.get(option.get_id().as_str());
                let words = words.into_iter().flatten().map(String::as_str);
                let words = words.chain(std::iter::once(before));
                words.flat_map(|word| word.split(',')).collect()
            }
            _ => Vec::new(),
        };
        let fits = |candidate: &Candidate| {
            candidate.value.starts_with(item) && !earlier.contains(&candidate.value.as_str())
        };
        let fitting = candidates.into_iter().filter(fits);
        let following = fitting.map(|candidate| Candidate {
            value: format!("{before}{}", candidate.value),
            ..candidate
        });
        following.collect()
    }

    fn option(&self) -> Option<&Arg> {
        match self.place {
            Place::Value(option) => Some(option),
            Place::Word { positional } => positional,
            Place::Flags => None,
        }
    }

    /// Bytes of the word up to its last item.
    fn list_bytes(&self) -> usize {
        let delimiter = self.option().and_then(Arg::get_value_delimiter);
        let last = delimiter.and_then(|delimiter| self.word.rfind(delimiter));
        last.map_or(0, |at| at + 1)
    }
}

/// Reads the words behind the program's name; the last one is under the cursor. The command must be built.
pub(super) fn walk<'a>(root: &'a Command, words: &[String]) -> Asked<'a> {
    let mut line = Line {
        command: root,
        given: BTreeMap::new(),
        open: None,
        positionals: 0,
        is_any_given: false,
        is_past_flags: false,
    };
    let (word, before) = match words.split_last() {
        Some((word, before)) => (word.as_str(), before),
        None => ("", &[][..]),
    };
    for word in before {
        line.take(word);
    }
    let (place, word) = line.place(word);
    Asked {
        may_be_command: line.may_be_command(),
        command: line.command,
        place,
        word: word.to_owned(),
        given: line.given,
    }
}

/// The words read so far.
struct Line<'a> {
    command: &'a Command,
    given: BTreeMap<&'a str, Vec<String>>,
    /// The option that may take the next word, and the number of values that it has from this use.
    open: Option<(&'a Arg, usize)>,
    /// The number of positional words.
    positionals: usize,
    /// Whether any argument was given that belongs to this command alone.
    is_any_given: bool,
    /// Whether `--` came.
    is_past_flags: bool,
}

impl<'a> Line<'a> {
    fn take(&mut self, word: &str) {
        if let Some((option, values)) = self.open.take()
            && (values == 0 || !word.starts_with('-'))
        {
            self.give(option, Some(word));
            if values + 1 < most_values(option) {
                self.open = Some((option, values + 1));
            }
        } else if !self.is_past_flags && word == "--" {
            self.is_past_flags = true;
        } else if !self.is_past_flags && word.starts_with("--") {
            self.take_long(word);
        } else if !self.is_past_flags && word.len() > 1 && word.starts_with('-') {
            self.take_short(word);
        } else if self.may_be_command()
            && let Some(command) = self.command.find_subcommand(word)
        {
            self.command = command;
            self.is_any_given = false;
        } else {
            if let Some(positional) = self.positional() {
                self.give(positional, Some(word));
            }
            self.positionals += 1;
        }
    }

    fn take_long(&mut self, word: &str) {
        let (name, value) = split_long(word);
        let Some(option) = self.long(name) else {
            return;
        };
        self.give(option, value);
        if value.is_none() && takes_next_word(option) {
            self.open = Some((option, 0));
        }
    }

    /// Takes letters of flags, such as `-Ao`. The rest behind the letter of an option with a value is its value.
    fn take_short(&mut self, word: &str) {
        for (at, letter) in word.char_indices().skip(1) {
            let mut options = self.command.get_arguments();
            let Some(option) = options.find(|option| option.get_short() == Some(letter)) else {
                return;
            };
            let rest = &word[at + letter.len_utf8()..];
            if most_values(option) > 0 && !rest.is_empty() {
                self.give(option, Some(rest.strip_prefix('=').unwrap_or(rest)));
                return;
            }
            self.give(option, None);
            if takes_next_word(option) {
                self.open = Some((option, 0));
            }
        }
    }

    fn give(&mut self, option: &'a Arg, value: Option<&str>) {
        // `--config` belongs to every command, and may stand before it.
        self.is_any_given |= !option.is_global_set();
        let values = self.given.entry(option.get_id().as_str()).or_default();
        values.extend(value.map(str::to_owned));
    }

    /// Returns what the last word is, and the part of it that is completed.
    fn place<'w>(&self, word: &'w str) -> (Place<'a>, &'w str) {
        if let Some((option, values)) = self.open
            && (values == 0 || !word.starts_with('-'))
        {
            return (Place::Value(option), word);
        }
        if !self.is_past_flags && word.starts_with('-') {
            return match split_long(word) {
                (name, Some(value)) => match self.long(name) {
                    Some(option) => (Place::Value(option), value),
                    None => (Place::Flags, word),
                },
                _ => (Place::Flags, word),
            };
        }
        let positional = self.positional();
        (Place::Word { positional }, word)
    }

    fn long(&self, name: &str) -> Option<&'a Arg> {
        let mut options = self.command.get_arguments();
        options.find(|option| option.get_long() == Some(name))
    }

    /// The argument to which the next positional word belongs.
    fn positional(&self) -> Option<&'a Arg> {
        let mut before = 0;
        for positional in self.command.get_positionals() {
            before += most_values(positional);
            if self.positionals < before {
                return Some(positional);
            }
        }
        None
    }

    /// Whether the next word may be a command, by clap's rules.
    fn may_be_command(&self) -> bool {
        let excludes = self.command.is_args_conflicts_with_subcommands_set();
        self.positionals == 0 && !self.is_past_flags && !(excludes && self.is_any_given)
    }
}

/// Splits `--name=value`.
fn split_long(word: &str) -> (&str, Option<&str>) {
    let name = word.strip_prefix("--").unwrap_or(word);
    match name.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (name, None),
    }
}

/// The most words that an argument takes as values at one use.
fn most_values(option: &Arg) -> usize {
    if !option.get_action().takes_values() {
        return 0;
    }
    option.get_num_args().map_or(1, |count| count.max_values())
}

fn takes_next_word(option: &Arg) -> bool {
    most_values(option) > 0 && !option.is_require_equals_set()
}

/// Whether an argument takes several values, in one use or in several.
fn is_list(option: &Arg) -> bool {
    most_values(option) > 1 || matches!(option.get_action(), ArgAction::Append)
}
