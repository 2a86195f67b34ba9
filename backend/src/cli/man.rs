//! `watchscope man`: the manual pages, made from the same texts as the helps.

use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::args::{ManArgs, command_line};
use super::exit::Failure;
use super::out;

/// A manual page.
struct Page {
    /// The name of its file, such as `watchscope-serve.1`.
    file: String,
    /// The page, in roff.
    text: Vec<u8>,
}

/// Writes the pages of all commands into a folder; without one, prints the page of the program itself.
///
/// # Errors
/// Exit code 1 if folder, files or standard output cannot be written.
pub(super) fn man(args: &ManArgs) -> Result<(), Failure> {
    let unwritten = |error: &io::Error, path: &Path| {
        Failure::failed(format!("-o {}: cannot write it: {error}", path.display()))
    };
    let pages = pages().map_err(Failure::failed)?;
    let Some(folder) = &args.out else {
        let first = pages.first().map(|page| page.text.as_slice());
        return out::print(&String::from_utf8_lossy(first.unwrap_or_default()));
    };
    std::fs::create_dir_all(folder).map_err(|error| unwritten(&error, folder))?;
    for page in pages {
        let path = folder.join(page.file);
        std::fs::write(&path, page.text).map_err(|error| unwritten(&error, &path))?;
    }
    Ok(())
}

/// Returns the page of the program, then those of its commands.
fn pages() -> io::Result<Vec<Page>> {
    let mut all = command_line().disable_help_subcommand(true);
    all.build();
    let commands = all.get_subcommands();
    let commands = commands.filter(|command| !command.is_hide_set());
    std::iter::once(&all).chain(commands).map(page).collect()
}

fn page(command: &Command) -> io::Result<Page> {
    let notes = command.get_after_help().map(ToString::to_string);
    let man = Man::new(command.clone().after_help(None::<&str>))
        .source(format!("watchscope {}", env!("CARGO_PKG_VERSION")))
        .manual("watchscope");
    let mut text = Vec::new();
    man.render(&mut text)?;
    if let Some(notes) = notes {
        with_notes(&notes).to_writer(&mut text)?;
    }
    Ok(Page {
        file: man.get_filename(),
        text,
    })
}

/// Returns the end of a help as a section. Indented lines are examples and lists, so they stay as they are; clap_mangen would
/// fill them like a paragraph.
fn with_notes(notes: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]);
    for block in notes.split("\n\n") {
        roff.control("PP", []);
        let mut is_filled = true;
        for (place, line) in block.lines().enumerate() {
            if is_filled == line.starts_with(' ') {
                roff.control(if is_filled { "nf" } else { "fi" }, []);
                is_filled = !is_filled;
            } else if is_filled && place > 0 {
                roff.control("br", []);
            }
            roff.text([roman(line)]);
        }
        if !is_filled {
            roff.control("fi", []);
        }
    }
    roff
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn each_command_has_a_page_and_the_program_has_the_first() {
        let files: Vec<String> = pages().unwrap().into_iter().map(|page| page.file).collect();
        let command = command_line();
        let of_commands = command.get_subcommands();
        let of_commands = of_commands.map(|command| format!("watchscope-{}.1", command.get_name()));
        let expected: Vec<String> = std::iter::once("watchscope.1".to_owned())
            .chain(of_commands)
            .collect();
        assert_eq!(files, expected);
    }

    #[test]
    fn a_page_has_the_usage_and_keeps_examples_as_they_are() {
        let pages = pages().unwrap();
        let page = pages
            .iter()
            .find(|page| page.file == "watchscope-explain.1");
        let text = String::from_utf8(page.unwrap().text.clone()).unwrap();
        assert_snapshot!(text, @r#"
    .ie \n(.g .ds Aq \(aq
    .el .ds Aq '
    .TH watchscope-explain 1  "watchscope 0.1.0" watchscope
    .SH NAME
    watchscope\-explain \- Explain a failure of the catalogue: how it looks, and what to do
    .SH SYNOPSIS
    \fBwatchscope explain\fR [\fB\-\-config\fR] [\fB\-h\fR|\fB\-\-help\fR] <\fICODE\fR> 
    .SH DESCRIPTION
    Explain a failure of the catalogue: how it looks, and what to do
    .SH OPTIONS
    .TP
    \fB\-\-config\fR \fI<FILE>\fR
    Configuration file [default: $XDG_CONFIG_HOME/watchscope/config.toml]
    .TP
    \fB\-h\fR, \fB\-\-help\fR
    Print help
    .TP
    <\fICODE\fR>
    The code of a finding or of a stream\*(Aqs end, F01 to F50
    .ie \n(.g .ds Aq \(aq
    .el .ds Aq '
    .SH NOTES
    .PP
    Example:
    .nf
      watchscope explain F11
    .fi
    "#);
    }
}
