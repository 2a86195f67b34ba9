//! The picture of all exported lanes, as an SVG that needs no other file.

use watchscope_model::Notes;
use watchscope_model::codec::DecodeError;
use watchscope_model::wire::{Availability, CatalogueEntry};
use watchscope_recording::{FrameSummarizer, Out};
use watchscope_timeline::draw::Ways;
use watchscope_timeline::picture::{Caption, Flag, SAVED_SCALE, lanes_width_px, saved};
use watchscope_timeline::store::StoreError;
use watchscope_timeline::svg::svg_of_width;

use watchscope_timeline::{Lanes, Picture, Px, Row, Store, Theme, View};

use crate::taken::{Says, Taken, frames};

/// The memory for the records of a picture, in bytes: 384 MiB, as the page has by default (`DEFAULT_BUDGET_BYTES`).
/// Above 384 MiB the store drops records, and the picture lacks them.
const BUDGET_BYTES: usize = 384 << 20;
/// The most height of the lanes, in px of the picture: a PNG and its viewers need memory for each px. If the lanes are
/// taller, they are drawn as on the page, where quiet watches are strips. Rows that even then have no room are left out
/// and counted. The number has no other source.
const MOST_HEIGHT_PX: u32 = 8_192;

/// The size of a picture in px.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Width of the picture in px. In a picture of less than 319 px the lanes would be under 1 px wide, so the picture
    /// is drawn wider and scaled down.
    pub width_px: u32,
    /// Least height of the picture in px. Lanes, notes and findings may make the picture higher; the lanes have at most
    /// 8,192 px.
    pub height_px: u32,
}

/// The size of a report's picture: as wide as a page of A4 with 150 px an inch. At this width the picture's letters are
/// readable on the page. The least height has no source.
pub const REPORT_SIZE: Size = Size {
    width_px: 1_240,
    height_px: 900,
};

/// The rows that a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'a> {
    /// All rows; if all rows together are taller than 8,192 px, only the rows that the page would show.
    All,
    /// The rows that watchscope's page would show: a quiet watch is one strip.
    AsOnPage {
        /// The rows that a person opened and closed, as [`Lanes::choices`] writes them; empty if the person changed
        /// none. Lines of this text that cannot be parsed are skipped.
        choices: &'a str,
        /// The filter as the person typed it; empty for no filter. The picture's caption names the filter.
        filter: &'a str,
    },
}

/// Draws the picture as SVG, with title, notes, findings and caption. The caption says what is hidden, and counts the
/// rows without room. The caption names the hash of the source file if the hash is known and nothing is hidden. Lanes
/// have at most 8,192 px; above 384 MiB of records, the picture lacks some records. The first 40 current notes and the
/// 40 oldest findings are drawn; further ones are counted. The time range is that of [`View::between`].
///
/// # Errors
/// [`StoreError`] if a frame cannot be read.
pub fn svg(
    taken: &Taken,
    says: &Says<'_>,
    size: Size,
    theme: Theme,
    shown: Shown<'_>,
) -> Result<String, StoreError> {
    let store = store_of(taken)?;
    let width_px = f64::from(size.width_px) / SAVED_SCALE;
    let view = View::between(taken.from, taken.to, lanes_width_px(width_px));
    let now = taken.to;
    let drawn = |px: u32| Px::from_f64(f64::from(px) / SAVED_SCALE);
    let (least, most) = (drawn(size.height_px), drawn(MOST_HEIGHT_PX));
    let mut lanes = Lanes::showing_all();
    if let Shown::AsOnPage { choices, filter } = shown {
        lanes.shows_all = false;
        lanes.set_choices(choices);
        lanes.set_filter(filter);
    }
    lanes.height = Some(least);
    let mut rows = lanes.rows(&store, &view, now);
    if rows.height > most && lanes.shows_all {
        lanes.shows_all = false;
        lanes.height = Some(most);
        rows = lanes.rows(&store, &view, now);
    }
    // Draws whole rows only; the caption counts those without room.
    let bottoms = rows.rows.iter().map(Row::bottom);
    let height = if rows.height <= most {
        rows.height
    } else {
        bottoms
            .filter(|&bottom| bottom <= most)
            .max()
            .unwrap_or(most)
    };
    let picture = Picture {
        height,
        ways: Ways::Stopped,
        ..Picture::new(&store, &rows, &view, now)
    };
    let version = taken.runs.last().map_or("", |run| &*run.run.of.watchscope);
    let mut notes = taken.notes_elsewhere();
    for note in store.notes().records() {
        notes.insert(note.clone());
    }
    let notes = flags(&notes, taken);
    let hidden = taken.hidden();
    // The hash of a file in which something is hidden names the file all the same.
    let source = taken.source.as_deref().filter(|_| hidden.is_empty());
    let caption = Caption {
        title: says.title,
        filter: lanes.filter(),
        version,
        zone_offset_min: says.zone_offset_min,
        least_height: least,
        hidden: &hidden,
        source: source.unwrap_or_default(),
        notes: &notes,
    };
    let scene = saved(&picture, &caption);
    Ok(svg_of_width(&scene, theme, size.width_px))
}

/// Returns the current notes of persons about the range.
fn flags(notes: &Notes, taken: &Taken) -> Vec<Flag> {
    let standing = notes.in_range(taken.from, taken.to);
    let flags = standing.into_iter().map(|standing| {
        let note = &standing.note;
        let rest = note.text.trim_start().split_once('\n');
        let watch = note.watch.as_ref().map(ToString::to_string);
        let object = note.object.as_ref().map(|object| object.name.to_string());
        let place: Vec<String> = watch.into_iter().chain(object).collect();
        Flag {
            from: standing.from,
            to: standing.to,
            heading: standing.heading().to_owned(),
            text: rest.map_or_else(String::new, |(_, rest)| rest.to_owned()),
            place: place.join(" "),
        }
    });
    flags.collect()
}

/// Returns a store with the export's records, like the store of a page. It fails if a frame cannot be read.
fn store_of(taken: &Taken) -> Result<Store, StoreError> {
    let mut store = Store::new(BUDGET_BYTES);
    // A page receives the newest chapter first and live, and the others as its past.
    let newest = taken.runs.last().and_then(|run| run.run.chapters.last());
    let Some(newest) = newest else {
        return Ok(store);
    };
    store.snapshot(&newest.head)?;
    for segment in &newest.segments {
        store.segment(segment)?;
    }
    let last = taken.runs.len() - 1;
    for (place, run) in taken.runs.iter().enumerate() {
        let entries: Result<Vec<CatalogueEntry>, DecodeError> =
            run.run.chapters.iter().map(listed).collect();
        let order = if place == last {
            u64::MAX
        } else {
            place as u64
        };
        store.list(&run.log, &run.epoch, order, entries?);
        let chapters = run.run.chapters.iter();
        for chapter in chapters.filter(|chapter| !std::ptr::eq(*chapter, newest)) {
            store.chapter(&frames(chapter))?;
        }
    }
    Ok(store)
}

/// Returns the catalogue's entry of a chapter, as a server would make it. It fails if a frame cannot be read.
fn listed(chapter: &Out) -> Result<CatalogueEntry, DecodeError> {
    let mut summarizer = FrameSummarizer::open(&chapter.head)?;
    for segment in &chapter.segments {
        summarizer.segment(segment)?;
    }
    Ok(CatalogueEntry {
        availability: Availability::Kept,
        is_merged: false,
        summary: summarizer.summary(),
    })
}
