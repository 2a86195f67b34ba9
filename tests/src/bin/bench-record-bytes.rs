//! Measures the mean encoded bytes per change record, over whole chapters with their snapshots and dictionaries.
//!
//! The load is 2,000 changes a second over 5,000 living objects of a busy cluster, a tenth of them replaced per minute.
//! Every byte of a chapter counts: opening snapshot, segment headers, definitions, bookmarks. Deterministic: the same
//! seed gives the same bytes.

use std::io::Write as _;

use anyhow::{Result, ensure};
use tokio::time::Instant;
use watchscope_log::Sealed;
use watchscope_model::Event;
use watchscope_model::chapter::decode_chapter;
use watchscope_model::codec::split_frame;
use watchscope_tests::anatomy::Anatomy;
use watchscope_tests::change_load::{BUSY, ChangeLoad};

const BAR: f64 = 24.0;
const CHAPTERS: usize = 12;

/// The bytes of the chapters: those that are closed, and the one that is being written.
#[derive(Default)]
struct Written {
    chapter: Vec<u8>,
    closed: Vec<Vec<u8>>,
}

impl Written {
    fn take(&mut self, Sealed { segment, closed }: Sealed) {
        self.chapter.extend_from_slice(segment.frame());
        if let Some((_, next)) = closed {
            let whole = std::mem::replace(&mut self.chapter, next.opening.to_vec());
            self.closed.push(whole);
        }
    }
}

fn main() -> Result<()> {
    let mut early = Vec::new();
    let (mut load, opening) = ChangeLoad::start(BUSY, &mut |sealed| early.push(sealed));
    let mut written = Written {
        chapter: opening.opening.to_vec(),
        closed: Vec::new(),
    };
    early.into_iter().for_each(|sealed| written.take(sealed));
    let started = Instant::now();
    while written.closed.len() < CHAPTERS {
        load.step(&mut |sealed| written.take(sealed));
    }
    let passed = started.elapsed();

    let (mut bytes, mut records, mut snapshots) = (0, 0, 0);
    // Bytes of the snapshots' dictionaries and folds, then of the segments' definitions and records.
    let mut parts = [0; 4];
    for chapter in &written.closed {
        let (opening, decoded) = decode_chapter(chapter)?;
        ensure!(!decoded.is_empty(), "a chapter without records");
        bytes += chapter.len();
        let mut rest = &chapter[..];
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest)?;
            rest = after;
            let anatomy = Anatomy::of(frame.bytes)?;
            let place = if anatomy.is_head { 0 } else { 2 };
            parts[place] += anatomy.dictionary.len();
            parts[place + 1] += anatomy.content.len();
        }
        snapshots += usize::from(opening.state.seq.0 > 0);
        records += decoded
            .iter()
            .filter(|record| matches!(record.event, Event::Change(_)))
            .count();
    }
    let mean = bytes as f64 / records as f64;
    let verdict = if mean <= BAR { "met" } else { "missed" };
    writeln!(
        std::io::stderr(),
        "{CHAPTERS} chapters, {snapshots} with a snapshot of {} objects, {bytes} bytes, {records} changes; \
         {:.0} ns a change to make, stamp, fold and encode",
        BUSY.living,
        passed.as_nanos() as f64 / load.changes() as f64
    )?;
    let [head, fold, new, changes] = parts.map(|part| part as f64 / records as f64);
    writeln!(
        std::io::stderr(),
        "bytes a change: {head:.2} dictionary of the snapshot, {fold:.2} snapshot, {new:.2} definitions in segments, \
         {changes:.2} records"
    )?;
    writeln!(
        std::io::stdout(),
        "| mean encoded bytes per change record, whole chapters | at most {BAR:.0} | {mean:.1} | {verdict} |"
    )?;
    Ok(())
}
