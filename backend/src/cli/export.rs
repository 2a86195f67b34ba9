//! `watchscope export`: a stretch of recordings as files that others can open.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use watchscope_export::{Form, Says, Taken, csv, jsonl, markdown, recording, svg};
use watchscope_model::summary::TroubleKind;
use watchscope_model::{Time, WatchName};
use watchscope_probe::REDACTION_VERSION;
use watchscope_recording::{Excerpt, ExcerptRun, Lanes, Stretch};

use super::args::ExportArgs;
use super::exit::Failure;
use crate::raster::{Fonts, png};
use crate::recordings::{Joined, Past as _, UNFINISHED, deflated};

/// What is shown before the first finding and after the last one, in microseconds.
const AROUND_US: i64 = 60_000_000;

/// Which lanes a person wants.
enum LanesWanted {
    All,
    Expanded,
    Findings,
    Watches(BTreeSet<WatchName>),
}

/// Writes a stretch of recordings of one log into files.
///
/// # Errors
/// Exit code 1 if nothing is in the stretch, a form or a lane does not exist, or a file cannot be read or written; 2 if the
/// recordings are of several logs.
pub(super) fn export(args: &ExportArgs) -> Result<(), Failure> {
    // Before anything is read: a wrong ending costs no time.
    let outs: Result<Vec<(&PathBuf, Form)>, Failure> = args
        .out
        .iter()
        .map(|out| Ok((out, form_of(out)?)))
        .collect();
    let outs = outs?;
    let joined = args.recordings.open()?;
    let summaries = joined.summaries();
    let all = span(summaries.map(|summary| (summary.first_at, summary.last_at)))
        .ok_or_else(|| Failure::failed("The recording holds no record."))?;
    let (from, to) = stretch(args, &joined, all)?;
    let mut damaged = Vec::new();
    let runs = excerpt(&joined, (from, to), &mut damaged)?;
    let taken = Taken::new(from, to, runs).ok_or_else(|| {
        let (first, last) = all;
        Failure::failed(format!(
            "No record is from {from} to {to}.\nThe recording has {first} to {last}: choose with --from and --to."
        ))
    })?;
    let taken = taken.with_notes(&joined.notes());
    let wanted = LanesWanted::of(&args.lanes);
    let shows_all = !matches!(wanted, LanesWanted::Expanded);
    let taken = only(taken, wanted)?;
    let title = args.picture.title.clone();
    let title = title.unwrap_or_else(|| taken.title());
    let says = Says {
        title: &title,
        zone_offset_min: args.picture.zone,
    };
    let is_drawn = outs
        .iter()
        .any(|(_, form)| matches!(form, Form::Svg | Form::Png));
    let drawn = if is_drawn {
        let (size, theme) = (args.picture.size, args.picture.theme.into());
        svg(&taken, &says, size, theme, shows_all).map_err(Failure::failed)?
    } else {
        String::new()
    };
    for (out, form) in outs {
        let bytes = match form {
            Form::Svg => drawn.clone().into_bytes(),
            Form::Png => {
                let fonts = fonts(args.picture.font.as_deref())?;
                let failed = |error| Failure::failed(format!("{}: {error}.", out.display()));
                png(&drawn, &fonts).map_err(failed)?
            }
            Form::Markdown => markdown(&taken, &says)
                .map_err(Failure::failed)?
                .into_bytes(),
            Form::Csv => csv(&taken).map_err(Failure::failed)?,
            Form::Jsonl => jsonl(&taken).map_err(Failure::failed)?,
            Form::Recording => recording(&taken, deflated).map_err(Failure::failed)?,
        };
        write_whole(out, &bytes)?;
        tracing::info!("{}: {} bytes", out.display(), bytes.len());
    }
    if damaged.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "A part could not be read; the rest is exported.\n{}",
        damaged.join("\n")
    )))
}

/// The fonts of pictures in pixels.
fn fonts(other: Option<&Path>) -> Result<Fonts, Failure> {
    let named = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::failed(format!(
            "{}: {error}.\nName another font with --font.",
            path.display()
        ))
    };
    let Some(path) = other else {
        return Fonts::new(None).map_err(Failure::failed);
    };
    let bytes = std::fs::read(path).map_err(|error| named(path, &error))?;
    Fonts::new(Some(bytes)).map_err(|error| named(path, &error))
}

fn form_of(out: &Path) -> Result<Form, Failure> {
    let name = out.file_name().map(|name| name.to_string_lossy());
    name.and_then(|name| Form::of_name(&name)).ok_or_else(|| {
        let endings: Vec<&str> = Form::ALL.iter().map(|form| form.ending()).collect();
        Failure::failed(format!(
            "{}: its ending says no form.\nThe endings are {}.",
            out.display(),
            endings.join(", ")
        ))
    })
}

/// From the earliest begin to the latest end of some stretches of time.
fn span(stretches: impl Iterator<Item = (Time, Time)>) -> Option<(Time, Time)> {
    stretches.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

/// Which stretch is exported: what was asked for, else that of the findings, else all.
fn stretch(args: &ExportArgs, joined: &Joined, all: (Time, Time)) -> Result<(Time, Time), Failure> {
    let (first, last) = match findings(joined) {
        Some((first, last)) => (
            first.plus_micros(-AROUND_US).max(all.0),
            last.plus_micros(AROUND_US).min(all.1),
        ),
        None => all,
    };
    let (from, to) = (args.from, args.to);
    let (from, to) = (from.map(|at| at.within(all)), to.map(|at| at.within(all)));
    // A begin that was asked for may lie behind the findings, and an end before them.
    let (from, to) = match (from, to) {
        (Some(from), Some(to)) => (from, to),
        (Some(from), None) => (from, if from < last { last } else { all.1 }),
        (None, Some(to)) => (if first < to { first } else { all.0 }, to),
        (None, None) => (first, last),
    };
    if from >= to {
        return Err(Failure::failed(format!(
            "The range from {from} to {to} is empty.\nThe recording has {} to {}: choose with --from and --to.",
            all.0, all.1
        )));
    }
    // Outside of the recording nothing is known; if all of the range lies there, that is said.
    let within = (from.max(all.0), to.min(all.1));
    let is_within = within.0 < within.1;
    Ok(if is_within { within } else { (from, to) })
}

/// When the first finding above note began and the last one ended or occurred.
fn findings(joined: &Joined) -> Option<(Time, Time)> {
    let troubles = joined.summaries().flat_map(|summary| &summary.troubles);
    let findings = troubles.filter(|trouble| trouble.kind == TroubleKind::Finding);
    span(findings.map(|trouble| {
        let length_us = i64::try_from(trouble.length_us).unwrap_or(i64::MAX);
        (trouble.start, trouble.start.plus_micros(length_us))
    }))
}

/// What the recordings have of a stretch of time.
fn excerpt(
    joined: &Joined,
    (from, to): (Time, Time),
    damaged: &mut Vec<String>,
) -> Result<Vec<ExcerptRun>, Failure> {
    let stretch = Stretch::Times { from, to };
    let version = env!("CARGO_PKG_VERSION");
    let mut excerpt = Excerpt::new(stretch, Lanes::All, version, REDACTION_VERSION);
    let mut runs = Vec::new();
    for run in joined.runs() {
        for (file, entry) in joined.chapters(run) {
            let summary = &entry.summary;
            if summary.records() == 0 || summary.last_at < from || summary.first_at > to {
                continue;
            }
            let path = file.path().display();
            match file.chapter(entry).map_err(Failure::failed)? {
                Ok(chapter) => {
                    let why = chapter.damaged.iter();
                    damaged.extend(why.map(|damage| format!("{path}: {damage}")));
                    let ended = excerpt.chapter(chapter.frames.into_bytes());
                    let ended =
                        ended.map_err(|error| Failure::failed(format!("{path}: {error}")))?;
                    runs.extend(ended);
                }
                Err(damage) => damaged.push(format!("{path}: {damage}")),
            }
        }
    }
    runs.extend(excerpt.finish());
    Ok(runs)
}

impl LanesWanted {
    fn of(words: &[String]) -> Self {
        let words: Vec<&str> = words.iter().map(|word| word.trim()).collect();
        match words[..] {
            ["all"] => Self::All,
            ["expanded"] => Self::Expanded,
            ["findings"] => Self::Findings,
            _ => Self::Watches(words.into_iter().map(WatchName::from).collect()),
        }
    }
}

/// The lanes of it that are wanted.
fn only(taken: Taken, wanted: LanesWanted) -> Result<Taken, Failure> {
    let watches = match wanted {
        LanesWanted::All | LanesWanted::Expanded => return Ok(taken),
        LanesWanted::Findings => {
            let with = taken.watches_with_findings().map_err(Failure::failed)?;
            if with.is_empty() {
                return Err(Failure::failed(
                    "No finding of the range concerns a watch.\nWith --lanes expanded all watches are exported.",
                ));
            }
            with
        }
        LanesWanted::Watches(names) => {
            let known = taken.watches();
            if let Some(unknown) = names.iter().find(|name| !known.contains(*name)) {
                let known: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
                return Err(Failure::failed(format!(
                    "No watch of the range is called {unknown}.\nThere are all, expanded, findings, and {}.",
                    known.join(", ")
                )));
            }
            names
        }
    };
    let (from, to) = (taken.from, taken.to);
    let taken = taken.only(watches).map_err(Failure::failed)?;
    taken.ok_or_else(|| {
        Failure::failed(format!(
            "These lanes have no record from {from} to {to}.\nChoose with --lanes, --from and --to."
        ))
    })
}

/// Writes a file beside its name and renames it: under the name is the whole file or what was there before.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let failed = |error: std::io::Error| {
        // What the system says, without the name of the file beside it.
        let said = error.get_ref().and_then(|error| error.source());
        let said = said.map_or_else(|| error.to_string(), ToString::to_string);
        Failure::failed(format!(
            "{}: cannot be written: {said}\nName another file with -o.",
            path.display()
        ))
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".watchscope-").suffix(UNFINISHED);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // As other programs write files; what the umask takes away is taken away.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
