//! Measures the export command: pictures, a page in one file, and a report with its charts.
//!
//! The recordings are of the change load, a cluster of 5,000 objects. The pictures show ten minutes at 50 changes a
//! second. The reports read 278 changes a second, which is a million records an hour.
//! Time is that of the whole command, including reading the file. The least of several runs counts, since other
//! programs share the machine. Memory is the most that the command held in that run.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use watchscope_model::Time;
use watchscope_tests::WatchscopeBinary;
use watchscope_tests::change_file::write_run;
use watchscope_tests::change_load::{BUSY, Pace};
use watchscope_tests::stage::row;
use watchscope_tests::usage::most_resident_kib;

const ROUNDS: usize = 5;
const SVG_MS_BAR: f64 = 150.0;
const SVG_MB_BAR: f64 = 2.0;
const PNG_MS_BAR: f64 = 1_500.0;
const PNG_MB_BAR: f64 = 4.0;
const EMPTY_HTML_MB_BAR: f64 = 1.1;
const HTML_MB_BAR: f64 = 3.0;
const HOUR_S_BAR: f64 = 5.0;
const LARGE_S_BAR: f64 = 15.0;
const MEMORY_MIB_BAR: f64 = 512.0;
/// The interval between two readings of a command's memory.
const LOOK: Duration = Duration::from_millis(5);

/// Time and memory of one export.
struct Took {
    ms: f64,
    resident_kib: u64,
}

fn main() -> Result<()> {
    let binary = WatchscopeBinary::find()?;
    let folder = tempfile::tempdir()?;
    let quiet = folder.path().join("quiet.wscope");
    pace_of(50, 0.5, &quiet)?;
    let busy = folder.path().join("busy.wscope");
    pace_of(278, 5.0, &busy)?;

    let range = |from_s: u64, to_s: u64| {
        let at = |seconds: u64| BUSY.start.plus_millis(1_000 * seconds).to_string();
        ["--from".to_owned(), at(from_s), "--to".to_owned(), at(to_s)]
    };
    let export = |file: &Path, out: &str, more: &[String]| -> Result<(Took, f64)> {
        let out = folder.path().join(out);
        let mut best: Option<Took> = None;
        for _ in 0..ROUNDS {
            let mut command = Command::new(binary.path());
            command
                .env_clear()
                .arg("export")
                .arg(file)
                .arg("-o")
                .arg(&out)
                .args(more);
            let took = run(&mut command)?;
            eprintln!(
                "{}: {:.0} ms, {} MiB",
                out.display(),
                took.ms,
                took.resident_kib >> 10
            );
            best = match best {
                Some(best) if best.ms <= took.ms => Some(best),
                _ => Some(took),
            };
        }
        let bytes = std::fs::metadata(&out)?.len() as f64;
        Ok((best.context("a round")?, bytes / 1e6))
    };

    let ten_minutes = range(600, 1_200);
    let (svg, svg_mb) = export(&quiet, "a.svg", &ten_minutes)?;
    println!(
        "{}",
        row(
            "SVG of a full view, 1920x1080: the command",
            SVG_MS_BAR,
            svg.ms,
            "ms"
        )
    );
    println!("{}", row("its size", SVG_MB_BAR, svg_mb, "MB"));
    let large = [
        &ten_minutes[..],
        &["--size".to_owned(), "3840x2160".to_owned()],
    ]
    .concat();
    let (png, png_mb) = export(&quiet, "a.png", &large)?;
    println!(
        "{}",
        row(
            "PNG of it, 3840x2160: the command",
            PNG_MS_BAR,
            png.ms,
            "ms"
        )
    );
    println!("{}", row("its size", PNG_MB_BAR, png_mb, "MB"));
    // The busy recording has 278 changes a second, so these 360 s hold 100,000 records.
    let hundred_thousand = range(600, 960);
    let (_, html_mb) = export(&busy, "a.html", &hundred_thousand)?;
    let (_, recording_mb) = export(&busy, "a.wscope", &hundred_thousand)?;
    // The page holds seven bits of the recording in a character. Three characters of 128 take two bytes.
    let empty_mb = html_mb - recording_mb * 8.0 / 7.0 * 131.0 / 128.0;
    println!(
        "{}",
        row("HTML without data", EMPTY_HTML_MB_BAR, empty_mb, "MB")
    );
    println!(
        "{}",
        row("HTML with 100,000 records", HTML_MB_BAR, html_mb, "MB")
    );
    let report = ["--form".to_owned(), "report".to_owned()];
    let hour = [
        &range(3_600, 7_200)[..],
        &report,
        &["--context".to_owned(), "1h".to_owned()],
    ]
    .concat();
    let (hour, _) = export(&busy, "hour.html", &hour)?;
    println!(
        "{}",
        row(
            "report of 1 h and 1M records, charts over the same",
            HOUR_S_BAR,
            hour.ms / 1e3,
            "s"
        )
    );
    let (whole, _) = export(
        &busy,
        "whole.html",
        &[&range(8_100, 9_900)[..], &report].concat(),
    )?;
    println!(
        "{}",
        row(
            "report of 30 min, charts over 5 h and 5M records",
            LARGE_S_BAR,
            whole.ms / 1e3,
            "s"
        )
    );
    let most = hour.resident_kib.max(whole.resident_kib) as f64 / 1_024.0;
    println!(
        "{}",
        row("the most memory of both", MEMORY_MIB_BAR, most, "MiB")
    );
    Ok(())
}

/// Writes a recording with this many changes a second over this many hours.
fn pace_of(changes_per_s: u64, hours: f64, path: &Path) -> Result<()> {
    let pace = Pace {
        changes_per_s,
        start: Time(BUSY.start.0),
        ..BUSY
    };
    write_run(path, pace, |load| load.seconds() < hours * 3_600.0).map(|_| ())
}

/// Runs a command to its end; fails if its exit code is not 0.
fn run(command: &mut Command) -> Result<Took> {
    let began = Instant::now();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let process = child.id().to_string();
    let mut resident_kib = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // The process may end before its memory is read; the last reading then stays.
        resident_kib = most_resident_kib(&process).unwrap_or(resident_kib);
        std::thread::sleep(LOOK);
    };
    ensure!(status.success(), "{command:?}: {status}");
    Ok(Took {
        ms: began.elapsed().as_secs_f64() * 1e3,
        resident_kib,
    })
}
