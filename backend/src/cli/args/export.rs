//! Arguments of `export`: what it takes from recordings, and into which files it writes.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use watchscope_export::Size;
use watchscope_hiding::HiddenPart;
use watchscope_model::Time;
use watchscope_timeline::Theme;

use super::recordings::RecordingsArgs;
use super::values::duration;

/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;
/// The smallest and the largest side of a picture, in px.
const SIDES_PX: std::ops::RangeInclusive<u32> = 320..=8_192;
/// The largest offset of a zone from UTC, in minutes.
const ZONE_MOST_MIN: i32 = 18 * 60;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The recordings to export.
    #[command(flatten)]
    pub(crate) recordings: RecordingsArgs,
    /// File to write; its ending chooses the form: svg, png, html, md, csv, jsonl, trace or wscope. A path that ends in / is
    /// a folder for the charts. May be given several times
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) out: Vec<PathBuf>,
    /// Start of the range: 2026-11-19T03:11:48Z, or 03:11:48 of the last day that has it, in UTC [default: a minute before
    /// the first finding; without findings, the beginning]
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<When>,
    /// End of the range [default: a minute after the last finding; without findings, the end]
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<When>,
    /// Lanes to export: `all` with every object, `expanded` as the page opens them, `findings` for the watches that findings
    /// concern, or watches by name, such as shop/pods
    #[arg(
        long,
        env = "WATCHSCOPE_LANES",
        value_name = "all|expanded|findings|NAME,…",
        value_delimiter = ',',
        default_value = "expanded"
    )]
    pub(crate) lanes: Vec<String>,
    /// Parts to hide in all files and in the title, by name, or `all`. Pseudonyms replace them, new ones each time
    #[arg(
        long,
        env = "WATCHSCOPE_HIDE",
        value_name = "PART,…",
        value_enum,
        value_delimiter = ','
    )]
    pub(crate) hide: Vec<HideArg>,
    /// Form of html files instead of the page with the recording: `report`, pages to print
    #[arg(long, value_name = "FORM", value_enum, hide_possible_values = true)]
    pub(crate) form: Option<FormArg>,
    /// Time that the charts cover, around the range: 10h [default: ten times the range]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) context: Option<Duration>,
    /// The look and the texts of the picture.
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

/// The look and the texts of a picture.
#[derive(Debug, Args)]
#[command(next_help_heading = "Picture")]
pub(crate) struct PictureArgs {
    /// Its title, and that of the timeline [default: the namespaces and the cluster]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Its colours [default: light; an html file follows the system]
    #[arg(
        long,
        env = "WATCHSCOPE_THEME",
        value_name = "light|dark",
        value_enum,
        hide_possible_values = true
    )]
    pub(crate) theme: Option<ThemeArg>,
    /// Its width and least height in px; many lanes make it higher
    #[arg(long, env = "WATCHSCOPE_SIZE", value_name = "WIDTHxHEIGHT", value_parser = size, default_value = "1920x1080")]
    pub(crate) size: Size,
    /// A font for letters that Noto Sans lacks, for png: a TrueType or OpenType file
    #[arg(long, env = "WATCHSCOPE_FONT", value_name = "FILE")]
    pub(crate) font: Option<PathBuf>,
    /// Time zone to show beside UTC: +01:00
    #[arg(long, env = "WATCHSCOPE_ZONE", value_name = "OFFSET", value_parser = zone, default_value = "UTC", allow_hyphen_values = true)]
    pub(crate) zone: i32,
}

/// Another form of a file than its ending chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// Pages to print.
    Report,
}

/// A part that can be hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HideArg {
    /// All of these.
    All,
    /// Names of objects and of client programs.
    Names,
    /// Names of namespaces.
    Namespaces,
    /// Keys and values in label selectors.
    Labels,
    /// Uids of objects and of the cluster.
    Uids,
    /// Addresses of servers.
    Addresses,
    /// Names of nodes.
    Nodes,
    /// The cluster's name.
    Cluster,
    /// Bodies of objects; they are left out with any other part too.
    Bodies,
}

impl HideArg {
    /// The parts that this argument means.
    pub(crate) const fn parts(self) -> &'static [HiddenPart] {
        match self {
            Self::All => &HiddenPart::ALL,
            Self::Names => &[HiddenPart::Names],
            Self::Namespaces => &[HiddenPart::Namespaces],
            Self::Labels => &[HiddenPart::Labels],
            Self::Uids => &[HiddenPart::Uids],
            Self::Addresses => &[HiddenPart::Addresses],
            Self::Nodes => &[HiddenPart::Nodes],
            Self::Cluster => &[HiddenPart::Cluster],
            Self::Bodies => &[HiddenPart::Bodies],
        }
    }
}

/// The colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeArg {
    /// For a light background.
    Light,
    /// For a dark background.
    Dark,
}

impl From<ThemeArg> for Theme {
    fn from(theme: ThemeArg) -> Self {
        match theme {
            ThemeArg::Light => Self::Light,
            ThemeArg::Dark => Self::Dark,
        }
    }
}

/// A time in the form that a person gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// A moment.
    Moment(Time),
    /// A time of day, in microseconds since midnight in UTC.
    OfDay(i64),
}

impl When {
    /// Returns the moment in a log that spans `from` to `to`. A time of day means the last such time in the log. If the log
    /// has none, it means that time on the log's last day.
    pub(crate) fn within(self, (from, to): (Time, Time)) -> Time {
        match self {
            Self::Moment(at) => at,
            Self::OfDay(of_day) => {
                let last = Time(to.0.div_euclid(DAY_US) * DAY_US + of_day);
                let before = last.plus_micros(-DAY_US);
                if last > to && before >= from {
                    before
                } else {
                    last
                }
            }
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no time; write 2026-11-19T03:11:48Z, or 03:11:48 for a time in UTC"
            )
        };
        if let Ok(moment) = text.parse::<jiff::Timestamp>() {
            return Ok(Self::Moment(Time(moment.as_microsecond())));
        }
        let of_day: jiff::civil::Time = text.parse().map_err(|_| wrong())?;
        let micros = of_day.duration_since(jiff::civil::Time::midnight());
        i64::try_from(micros.as_micros())
            .map(Self::OfDay)
            .map_err(|_| wrong())
    }
}

/// Reads `1920x1080`.
fn size(text: &str) -> Result<Size, String> {
    let sides = text.split_once(['x', '×']);
    let sides = sides.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match sides {
        Some((width_px, height_px))
            if SIDES_PX.contains(&width_px) && SIDES_PX.contains(&height_px) =>
        {
            Ok(Size {
                width_px,
                height_px,
            })
        }
        _ => Err(format!(
            "{text:?} is no size; write 1920x1080, with sides of {} to {} px",
            SIDES_PX.start(),
            SIDES_PX.end()
        )),
    }
}

/// Reads `UTC`, `+01:00`, `-5` as minutes.
fn zone(text: &str) -> Result<i32, String> {
    if matches!(text, "UTC" | "utc" | "Z") {
        return Ok(0);
    }
    let minutes = || {
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+')?),
        };
        let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
        let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
        let is_one = (0..24).contains(&hours) && (0..60).contains(&minutes);
        is_one.then_some(sign * (hours * 60 + minutes))
    };
    let minutes = minutes().filter(|minutes| minutes.abs() <= ZONE_MOST_MIN);
    minutes.ok_or_else(|| format!("{text:?} is no offset from UTC; write UTC or +01:00"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_the_last_that_the_log_has() {
        let at = |text: &str| Time::parse(text).unwrap();
        let log = (at("2026-11-18T20:00:00Z"), at("2026-11-19T09:00:00Z"));
        let of = |text: &str| text.parse::<When>().unwrap().within(log).to_string();
        assert_eq!(of("03:11:48"), "2026-11-19T03:11:48.000000Z");
        assert_eq!(of("21:00"), "2026-11-18T21:00:00.000000Z");
        assert_eq!(
            of("12:00"),
            "2026-11-19T12:00:00.000000Z",
            "the log has no such time"
        );
        assert_eq!(
            of("2026-11-19T03:11:48.5+01:00"),
            "2026-11-19T02:11:48.500000Z"
        );
        for wrong in ["", "3 o'clock", "2026-11-19", "25:00"] {
            assert!(wrong.parse::<When>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn valid_sizes_and_zones_are_read_and_others_refused() {
        assert_eq!(size("1280x720").unwrap().width_px, 1_280);
        for wrong in ["", "1280", "1280x", "0x0", "99999x1080"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            [zone("UTC"), zone("+01:30"), zone("-5")],
            [Ok(0), Ok(90), Ok(-300)]
        );
        for wrong in ["", "CET", "+24:00", "+1:60", "1"] {
            assert!(zone(wrong).is_err(), "{wrong}");
        }
    }
}
