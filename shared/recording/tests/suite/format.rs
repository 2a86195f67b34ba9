//! Files of every format version can be read, and a reader written from docs/recordings.md alone finds the same in
//! them.
//!
//! `WATCHSCOPE_WRITE_FIXTURES=1` writes the fixtures of the current version anew.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;

use crate::world::records::{event, stamped};
use crate::world::{Act, decoded, host, write};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use watchscope_model::codec::{self, split_frame};
use watchscope_model::event::Note;
use watchscope_model::notes::MAX_NOTES;
use watchscope_model::summary::{MAX_TROUBLES, Summary};
use watchscope_model::vocabulary::Author;
use watchscope_model::{Event, KeptNote, NoteKey, Object, Record, Seq, Time, Uid};
use watchscope_recording::{
    BLOCK_HEADER_BYTES, Contents, DamageKind, FORMAT_VERSION, MAGIC, MAX_NOTES_BLOCK_BYTES, Tag,
    Writer,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// The endings of the fixtures: a finished file, the same file cut, and the same with a damaged payload and header.
const FORMS: [&str; 3] = ["", "-cut", "-damaged"];

/// The versions with fixtures: of the file, and of the frames in it.
const VERSIONS: [(u32, u8); 3] = [(1, 2), (1, 3), (1, 4)];

/// The first version whose fixtures include a file with notes.
const WITH_NOTES: (u32, u8) = (1, 4);

/// Iterates over all fixtures: version and form.
fn fixtures() -> impl Iterator<Item = ((u32, u8), &'static str)> {
    VERSIONS.into_iter().flat_map(|version| {
        let forms = FORMS.into_iter().map(move |form| (version, form));
        forms.chain((version >= WITH_NOTES).then_some((version, "-notes")))
    })
}

/// The same file with notes of an earlier run.
fn with_notes(file: &[u8]) -> Vec<u8> {
    let key = |seq: u64| NoteKey {
        log: "demo".into(),
        epoch: "e0".into(),
        seq: Seq(seq),
    };
    let first = Note {
        watch: Some("shop/pods".into()),
        object: Some(Arc::new(Object {
            namespace: Some("shop".into()),
            name: "web-1".into(),
            uid: Uid::parse("5c1f2d3e-0000-4000-8000-000000000001"),
        })),
        from: Some(Time(1_763_715_000_000_000)),
        to: Some(Time(1_763_715_060_000_000)),
        ..Note::new(
            Author::Person,
            "The rollout began here.\nSee <b>the ticket</b>.".into(),
        )
    };
    let second = Note {
        replaces: Some(key(7)),
        ..Note::new(Author::Person, "It began \u{202e}earlier\u{1b}[2J.".into())
    };
    let notes = [(7, first), (9, second)].map(|(seq, note)| KeptNote {
        key: key(seq),
        at: Time(1_763_715_500_000_000),
        note,
    });
    let (mut writer, cut) = Writer::resume(&host::open(file).unwrap()).unwrap();
    let mut file = file[..cut as usize].to_vec();
    file.extend(writer.notes(&notes).unwrap());
    file.extend(writer.finish().unwrap());
    assert_eq!(writer.contents().notes, notes);
    file
}

fn path((file, frames): (u32, u8), form: &str, ending: &str) -> String {
    format!("{FOLDER}/version-{file}-{frames}{form}.{ending}")
}

/// Returns records of every kind that the generator knows, the same in each run.
fn records() -> Vec<Record> {
    let mut runner = TestRunner::deterministic();
    let strategy = event();
    let mut events: Vec<Event> = Vec::new();
    for _ in 0..400 {
        let event = strategy.new_tree(&mut runner).unwrap().current();
        let known = events.iter().filter(|other| other.kind() == event.kind());
        let enough = if matches!(event, Event::Change(_)) {
            12
        } else {
            3
        };
        if known.count() < enough {
            events.push(event);
        }
    }
    stamped(events.into_iter().map(|event| (event, 700_000)))
}

fn write_fixtures() {
    let log = records();
    let acts: Vec<Act> = (0..log.len())
        .map(|place| match place {
            11 => Act::Close,
            23 => Act::CloseLate,
            35 => Act::Leave,
            _ if place % 4 == 3 => Act::Flush,
            _ => Act::Go,
        })
        .collect();
    let file = write(&log, &acts, true, true).bytes;
    let blocks = host::open(&file).unwrap().blocks;
    let cut = file[..blocks[blocks.len() - 2].end() as usize - 5].to_vec();
    let mut damaged = file.clone();
    let flip = |file: &mut Vec<u8>, tag: Tag, nth: usize, byte: usize| {
        let block = blocks.iter().filter(|block| block.header.tag == tag);
        let offset = block.clone().nth(nth).unwrap().offset as usize;
        file[offset + byte] ^= 0x10;
    };
    flip(&mut damaged, Tag::Bodies, 0, 5);
    flip(&mut damaged, Tag::Chapter, 1, BLOCK_HEADER_BYTES + 200);
    // Damages the index, so that the file is read header by header.
    *damaged.last_mut().unwrap() ^= 1;
    let noted = with_notes(&file);
    let forms = FORMS.iter().chain([&"-notes"]);
    for (form, file) in forms.zip([file, cut, damaged, noted]) {
        let lines = lines_of(&file);
        let version = (FORMAT_VERSION, codec::FORMAT_VERSION);
        std::fs::write(path(version, form, "wscope"), file).unwrap();
        std::fs::write(path(version, form, "jsonl"), lines).unwrap();
    }
}

/// Returns all that a reader finds in a file as lines: `F` blocks, chapters with summaries and records, and damage.
fn lines_of(file: &[u8]) -> String {
    let contents = host::open(file).unwrap();
    let mut out = String::new();
    for file in &contents.files {
        writeln!(out, "{}", serde_json::to_string(file).unwrap()).unwrap();
    }
    for note in &contents.notes {
        writeln!(out, "{}", watchscope_model::json::to_line(note)).unwrap();
    }
    let mut damaged = contents.damaged.clone();
    for entry in &contents.chapters {
        let summary = &entry.summary;
        out.push_str(&lines_of_summary(summary));
        let chapter = host::chapter(file, entry).unwrap();
        damaged.extend(chapter.damaged);
        let (state, records) = decoded(&chapter.frames);
        let mut snapshot = Vec::new();
        state.json_lines(&mut snapshot);
        out.push_str(&String::from_utf8(snapshot).unwrap());
        for record in &records {
            writeln!(out, "{}", watchscope_model::json::to_line(record)).unwrap();
        }
        for &place in &entry.bodies {
            for (seq, body) in host::bodies(file, place).unwrap().iter() {
                writeln!(out, "body {seq} {}", str::from_utf8(body).unwrap()).unwrap();
            }
        }
    }
    for damage in damaged {
        writeln!(out, "{damage}").unwrap();
    }
    if let Some(cut) = contents.cut {
        writeln!(out, "cut in block {} at byte {}", cut.block, cut.offset).unwrap();
    }
    out
}

fn lines_of_summary(summary: &Summary) -> String {
    let mut out = format!(
        "chapter {} to {}, {} to {}, kinds",
        summary.first, summary.last, summary.first_at, summary.last_at
    );
    for (kind, count) in &summary.counts {
        write!(out, " {kind}x{count}").unwrap();
    }
    let worst = summary.worst.map_or("nothing", |worst| worst.word());
    writeln!(out, ", worst {worst}").unwrap();
    for trouble in &summary.troubles {
        writeln!(
            out,
            "{} for {} us: {} {} ({}), open {} {}",
            trouble.start,
            trouble.length_us,
            trouble.count,
            trouble.kind,
            trouble.severity,
            trouble.open_at_begin,
            trouble.open_at_end
        )
        .unwrap();
    }
    out
}

#[test]
fn files_of_every_format_version_are_read() {
    if std::env::var_os("WATCHSCOPE_WRITE_FIXTURES").is_some() {
        write_fixtures();
    }
    assert_eq!(
        VERSIONS.last(),
        Some(&(FORMAT_VERSION, codec::FORMAT_VERSION))
    );
    for (version, form) in fixtures() {
        let file = std::fs::read(path(version, form, "wscope")).unwrap();
        let expected = std::fs::read_to_string(path(version, form, "jsonl")).unwrap();
        let lines = lines_of(&file);
        assert!(
            lines.lines().eq(expected.lines()),
            "version {version:?}{form} now reads as\n{lines}"
        );
    }
}

/// Returns what the other reader should print, according to our reader.
fn blocks_of(file: &[u8], contents: &Contents) -> Vec<String> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for place in &contents.blocks {
        let (begin, end) = (place.offset as usize, place.end() as usize);
        let payload = &file[begin + BLOCK_HEADER_BYTES..end];
        let is_whole = crc32(payload) == place.header.checksum;
        let frames = match place.header.tag {
            _ if !is_whole => None,
            Tag::Opening | Tag::Segments => Some(payload[8..].to_vec()),
            Tag::Chapter => {
                let summary = u32::from_le_bytes(payload[8..12].try_into().unwrap()) as usize;
                host::inflate(&payload[16 + summary..], place.header.raw_bytes)
            }
            _ => None,
        };
        let notes = is_whole && place.header.tag == Tag::Notes;
        let notes = notes.then(|| format!(",\"notes\":{}", contents.notes.len()));
        let frames = frames.map_or(notes.unwrap_or_default(), |frames| {
            format!(",\"frames\":{}", counts_of(&frames))
        });
        let line = format!(
            "{{\"block\":{},\"offset\":{begin},\"tag\":\"{}\",\"stored\":{},\"raw\":{},\"ok\":{is_whole}{frames}}}",
            place.number, place.header.tag, place.header.stored_bytes, place.header.raw_bytes
        );
        lines.push((place.offset, line));
    }
    for damage in &contents.damaged {
        if let DamageKind::Skipped { bytes } = damage.kind {
            let (block, offset) = (damage.block, damage.offset);
            let line = format!("{{\"block\":{block},\"offset\":{offset},\"skipped\":{bytes}}}");
            lines.push((offset, line));
        }
    }
    if let Some(cut) = contents.cut {
        lines.push((cut.offset, format!("{{\"cut\":{}}}", cut.offset)));
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

fn crc32(bytes: &[u8]) -> u32 {
    watchscope_model::codec::checksum(&[bytes])
}

fn counts_of(mut frames: &[u8]) -> String {
    let (mut heads, mut segments) = (0, 0);
    while !frames.is_empty() {
        let (frame, rest) = split_frame(frames).unwrap();
        match frame.bytes[0] {
            b'H' => heads += 1,
            _ => segments += 1,
        }
        frames = rest;
    }
    let kinds = [("H", heads), ("S", segments)];
    let counts = kinds.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(kind, count)| format!("\"{kind}\":{count}"))
        .collect();
    format!("{{{}}}", counts.join(","))
}

/// Runs the reader in Python, which must be installed.
fn python(file: &str) -> std::process::Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/read_recording.py");
    Command::new("python3")
        .args([script, file])
        .output()
        .expect("python3 runs; install it")
}

#[test]
fn a_reader_written_from_the_documentation_finds_the_same_blocks() {
    for (version, form) in fixtures() {
        let path = path(version, form, "wscope");
        let output = python(&path);
        let lines = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let file = std::fs::read(&path).unwrap();
        let expected = blocks_of(&file, &host::open(&file).unwrap());
        assert_eq!(lines.lines().collect::<Vec<_>>(), expected, "{path}");
        assert!(expected.len() > 10);
    }
}

#[test]
fn the_documentation_names_every_number_of_the_format() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recordings.md");
    let page = std::fs::read_to_string(page).unwrap();
    let magic: Vec<String> = MAGIC.iter().map(|byte| format!("{byte:02X}")).collect();
    for phrase in [
        magic.join(" "),
        format!("format version: {FORMAT_VERSION}"),
        with_commas(watchscope_recording::MAX_RAW_BYTES.into()),
        with_commas(watchscope_recording::MAX_STORED_BYTES.into()),
        with_commas(watchscope_recording::MAX_BLOCKS as u64),
        with_commas(watchscope_recording::MAX_CHAPTERS as u64),
        with_commas(watchscope_recording::MAX_BODIES as u64),
        format!("at most {}", MAX_TROUBLES),
        format!("at most {} MiB", MAX_NOTES_BLOCK_BYTES >> 20),
        with_commas(MAX_NOTES as u64),
        format!(
            "each {}th closed chapter",
            watchscope_recording::CHAPTERS_BETWEEN_INDEXES
        ),
    ] {
        assert!(
            page.contains(&phrase),
            "docs/recordings.md does not say {phrase}"
        );
    }
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
