//! `watchscope export`: writes a stretch of recordings into files that other programs can open.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use watchscope_export::{
    DrawnChart, Form, LanesError, REPORT_SIZE, ReportParts, Says, Shown, Taken, WantedLanes,
    charts, context, csv, html, jsonl, markdown, recording, report, svg, trace, view,
};
use watchscope_hiding::{Parts, Seed};
use watchscope_model::summary::TroubleKind;
use watchscope_model::{Time, WatchName};
use watchscope_probe::REDACTION_VERSION;
use watchscope_recording::{Excerpt, ExcerptRun, Lanes, Stretch};
use watchscope_timeline::Theme;

use super::args::{ExportArgs, FormArg, HideArg};
use super::exit::Failure;
use crate::raster::{Fonts, png};
use crate::recordings::{Joined, Past as _, UNFINISHED, deflated, source_of};
use crate::web::EmbeddedPage;

/// The time that is shown before the first finding and after the last one, in microseconds.
const AROUND_US: i64 = 60_000_000;

/// The page's file that is the template of an HTML file.
const TEMPLATE: &str = "single.html";

/// What one `-o` requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    File(Form),
    /// The charts of the records, each as an SVG file in the folder that `-o` names.
    Charts,
}

impl Wanted {
    fn needs_picture(self) -> bool {
        matches!(self, Self::File(Form::Svg | Form::Png))
    }

    fn needs_charts(self) -> bool {
        matches!(self, Self::File(Form::Report) | Self::Charts)
    }
}

/// Writes a stretch of recordings of one log into files. `page` has the template of an HTML file.
///
/// # Errors
/// Exit code 1 if the stretch is empty, or if a form or a lane does not exist. Also 1 if a file cannot be read or written.
/// Exit code 2 if the recordings are of several logs.
pub(super) fn export(args: &ExportArgs, page: EmbeddedPage) -> Result<(), Failure> {
    // The endings are checked before anything is read, so that a wrong one costs no time.
    let outs = args
        .out
        .iter()
        .map(|out| Ok((out, wanted(out, args.form)?)));
    let outs: Vec<(&PathBuf, Wanted)> = outs.collect::<Result<_, Failure>>()?;
    let template = match outs
        .iter()
        .find(|(_, wanted)| *wanted == Wanted::File(Form::Html))
    {
        Some((out, _)) => template(page, out)?,
        None => String::new(),
    };
    let joined = args.recordings.open()?;
    let summaries = joined.summaries();
    let all = span(summaries.map(|summary| (summary.first_at, summary.last_at)))
        .ok_or_else(|| Failure::failed("The recording holds no record."))?;
    let range = stretch(args, &joined, all)?;
    let (from, to) = range;
    let mut damaged: Vec<String> = joined.newer().iter().map(ToString::to_string).collect();
    let runs = excerpt(&joined, range, &mut damaged)?;
    let taken = Taken::new(from, to, runs).ok_or_else(|| {
        let (first, last) = all;
        Failure::failed(format!(
            "No record is from {from} to {to}.\nThe recording has {first} to {last}: choose with --from and --to."
        ))
    })?;
    let taken = taken.with_notes(&joined.notes());
    let source = source_of(&args.recordings.files, &joined).map_err(Failure::failed)?;
    let taken = taken.with_source(source);
    let (lanes, shown) = lanes(&args.lanes);
    let taken = lanes.of(taken).map_err(|error| no_lanes(error, range))?;
    let needs_charts = outs.iter().any(|(_, wanted)| wanted.needs_charts());
    let wanted_us = args
        .context
        .map(|wanted| i64::try_from(wanted.as_micros()).unwrap_or(i64::MAX));
    let (from, to) = context(range, wanted_us, all);
    // The records that the charts cover, if their range is larger than the exported one.
    let mut looked_at = None;
    if needs_charts && (from, to) != range {
        let runs = excerpt(&joined, (from, to), &mut damaged)?;
        let looked = Taken::new(from, to, runs);
        let watches = taken.watches();
        looked_at = match looked {
            Some(looked) if looked.watches() != watches => {
                looked.only(watches).map_err(Failure::failed)?
            }
            looked => looked,
        };
    }
    let mut title = args.picture.title.clone();
    let hides = parts(&args.hide);
    let (taken, looked_at) = if hides.is_empty() {
        (taken, looked_at)
    } else {
        let seed = seed()?;
        let hide = |taken: Taken| taken.hiding(hides, seed.clone()).map_err(Failure::failed);
        let looked_at = looked_at.map(|looked| hide(looked).map(|(hidden, _)| hidden));
        let looked_at = looked_at.transpose()?;
        let (hidden, hider) = hide(taken)?;
        title = title.map(|title| hider.said(&title));
        tracing::info!("not hidden: {}", hides.not_hidden().join(", "));
        (hidden, looked_at)
    };
    let title = title.unwrap_or_else(|| taken.title());
    let says = Says {
        title: &title,
        zone_offset_min: args.picture.zone,
    };
    let asked_theme = args.picture.theme.map(Theme::from);
    let theme = asked_theme.unwrap_or(Theme::Light);
    let needs_picture = outs.iter().any(|(_, wanted)| wanted.needs_picture());
    let needs_report = outs
        .iter()
        .any(|(_, wanted)| *wanted == Wanted::File(Form::Report));
    let picture = |is_wanted: bool, size| {
        let drawn = is_wanted.then(|| svg(&taken, &says, size, theme, shown));
        drawn.transpose().map(Option::unwrap_or_default)
    };
    let (pictures, drawn_charts) = std::thread::scope(|scope| {
        // Pictures and charts each read all records. At the same time they take half as long.
        let drawing = scope.spawn(|| {
            let looked = needs_charts.then_some(looked_at.as_ref().unwrap_or(&taken));
            let drawn = looked.map(|looked| charts(looked, Some(range), &says, theme));
            drawn.transpose().map(Option::unwrap_or_default)
        });
        let pictures = (
            picture(needs_picture, args.picture.size),
            picture(needs_report, REPORT_SIZE),
        );
        let drawn = drawing.join();
        (
            pictures,
            drawn.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    });
    let drawn = pictures.0.map_err(Failure::failed)?;
    let of_report = pictures.1.map_err(Failure::failed)?;
    let drawn_charts = drawn_charts.map_err(Failure::failed)?;
    for (out, wanted) in outs {
        let form = match wanted {
            Wanted::File(form) => form,
            Wanted::Charts => {
                write_charts(out, &drawn_charts)?;
                continue;
            }
        };
        let bytes = match form {
            Form::Svg => drawn.clone().into_bytes(),
            Form::Png => {
                let fonts = fonts(args.picture.font.as_deref())?;
                let failed = |error| Failure::failed(format!("{}: {error}.", out.display()));
                png(&drawn, &fonts).map_err(failed)?
            }
            Form::Html => {
                let recording = recording(&taken, deflated).map_err(Failure::failed)?;
                html(&template, &title, view(asked_theme), &recording)
                    .map_err(Failure::failed)?
                    .into_bytes()
            }
            Form::Report => {
                let parts = ReportParts {
                    says: &says,
                    picture: &of_report,
                    charts: &drawn_charts,
                    context: looked_at
                        .as_ref()
                        .map_or(range, |looked| (looked.from, looked.to)),
                };
                report(&taken, &parts)
                    .map_err(Failure::failed)?
                    .into_bytes()
            }
            Form::Markdown => markdown(&taken, &says)
                .map_err(Failure::failed)?
                .into_bytes(),
            Form::Csv => csv(&taken).map_err(Failure::failed)?,
            Form::Jsonl => jsonl(&taken).map_err(Failure::failed)?,
            Form::Trace => trace(&taken).map_err(Failure::failed)?,
            Form::Recording => recording(&taken, deflated).map_err(Failure::failed)?,
        };
        write_whole(out, &bytes)?;
        tracing::info!("{}: {} bytes", out.display(), bytes.len());
    }
    if damaged.is_empty() {
        return Ok(());
    }
    damaged.dedup();
    Err(Failure::failed(format!(
        "A part could not be read; the rest is exported.\n{}",
        damaged.join("\n")
    )))
}

/// Writes each chart into a file of a folder. It makes the folder if that does not exist.
fn write_charts(folder: &Path, charts: &[DrawnChart]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::failed(format!(
            "{}: cannot be made: {error}\nName another folder with -o.",
            folder.display()
        ))
    })?;
    for chart in charts {
        let path = folder.join(chart.name).with_extension("svg");
        write_whole(&path, chart.svg.as_bytes())?;
        tracing::info!("{}: {}", path.display(), chart.title);
    }
    Ok(())
}

/// The parts to hide.
fn parts(args: &[HideArg]) -> Parts {
    args.iter().flat_map(|arg| arg.parts()).copied().collect()
}

/// Makes the seed of this command's pseudonyms. It is stored nowhere.
fn seed() -> Result<Seed, Failure> {
    let mut chance = [0; 32];
    getrandom::fill(&mut chance)
        .map_err(|error| Failure::failed(format!("No random bytes for pseudonyms: {error}.")))?;
    Ok(Seed::new(chance))
}

/// Loads the fonts for PNG pictures.
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

/// Returns what a file or folder is to become.
fn wanted(out: &Path, form: Option<FormArg>) -> Result<Wanted, Failure> {
    if out.to_string_lossy().ends_with(std::path::is_separator) {
        return Ok(Wanted::Charts);
    }
    Ok(Wanted::File(match (form_of(out)?, form) {
        (Form::Html, Some(FormArg::Report)) => Form::Report,
        (of_name, _) => of_name,
    }))
}

/// Returns the page's template of an HTML file.
fn template(page: EmbeddedPage, out: &Path) -> Result<String, Failure> {
    let file = page.read(TEMPLATE).ok_or_else(|| {
        Failure::failed(format!(
            "{}: this watchscope was built without its page, which the file would hold.\n\
             Build it with `cargo xtask build`, or choose another form.",
            out.display()
        ))
    })?;
    Ok(String::from_utf8_lossy(&file).into_owned())
}

fn form_of(out: &Path) -> Result<Form, Failure> {
    let name = out.file_name().map(|name| name.to_string_lossy());
    name.and_then(|name| Form::of_name(&name)).ok_or_else(|| {
        let mut endings: Vec<&str> = Form::ALL.iter().map(|form| form.ending()).collect();
        endings.dedup();
        Failure::failed(format!(
            "{}: its ending says no form.\nThe endings are {}.",
            out.display(),
            endings.join(", ")
        ))
    })
}

/// The time from the earliest start to the latest end of some stretches.
fn span(stretches: impl Iterator<Item = (Time, Time)>) -> Option<(Time, Time)> {
    stretches.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

/// Returns the stretch to export: the requested one, else that of the findings, else all.
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
    // A requested start may lie after the findings, and a requested end before them.
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
    // Outside of the recording nothing is known. A range that lies completely outside stays, so that an error can name it.
    let within = (from.max(all.0), to.min(all.1));
    let is_within = within.0 < within.1;
    Ok(if is_within { within } else { (from, to) })
}

/// The time from the start of the first finding above note to the end or last occurrence of the last one.
fn findings(joined: &Joined) -> Option<(Time, Time)> {
    let troubles = joined.summaries().flat_map(|summary| &summary.troubles);
    let findings = troubles.filter(|trouble| trouble.kind == TroubleKind::Finding);
    span(findings.map(|trouble| {
        let length_us = i64::try_from(trouble.length_us).unwrap_or(i64::MAX);
        (trouble.start, trouble.start.plus_micros(length_us))
    }))
}

/// Reads the records of a stretch of time.
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

/// Returns the watches to export, and which of their rows.
fn lanes(words: &[String]) -> (WantedLanes, Shown<'static>) {
    let words: Vec<&str> = words.iter().map(|word| word.trim()).collect();
    match words[..] {
        ["all"] => (WantedLanes::All, Shown::All),
        ["expanded"] => {
            let shown = Shown::AsOnPage {
                choices: "",
                filter: "",
            };
            (WantedLanes::All, shown)
        }
        ["findings"] => (WantedLanes::WithFindings, Shown::All),
        _ => {
            let names = words.into_iter().map(WatchName::from).collect();
            (WantedLanes::Named(names), Shown::All)
        }
    }
}

/// Returns the failure, with advice, for lanes that cannot be exported.
fn no_lanes(error: LanesError, (from, to): (Time, Time)) -> Failure {
    match error {
        LanesError::NoFinding => Failure::failed(
            "No finding of the range concerns a watch.\nWith --lanes expanded all watches are exported.",
        ),
        LanesError::Unknown { name, known } => {
            let known: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
            Failure::failed(format!(
                "No watch of the range is called {name}.\nThere are all, expanded, findings, and {}.",
                known.join(", ")
            ))
        }
        LanesError::Empty => Failure::failed(format!(
            "These lanes have no record from {from} to {to}.\nChoose with --lanes, --from and --to."
        )),
        LanesError::Frame(error) => Failure::failed(error),
        LanesError::Excerpt(error) => Failure::failed(error),
    }
}

/// Writes a file beside its name, then renames it. So the name always has the whole new file or the old one.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let failed = |error: std::io::Error| {
        // The system's error, without the name of the temporary file.
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
        // Other programs write files with this mode too; the umask removes rights from it.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
