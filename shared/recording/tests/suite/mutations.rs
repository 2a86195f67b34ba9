//! Changes, drops, doubles and exchanges bytes of fixtures. A reader must go on, and must return no other records.

use crate::world::host;
use watchscope_model::Record;
use watchscope_model::chance::Chance;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::checksum;
use watchscope_recording::{BLOCK_HEADER_BYTES, BlockPlace, Frames, Header, Tag};

/// A file, its blocks and its records.
struct Fixture {
    file: Vec<u8>,
    blocks: Vec<BlockPlace>,
    log: Vec<Record>,
}

impl Fixture {
    fn read(name: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
        let file = std::fs::read(format!("{folder}/{name}")).unwrap();
        let contents = host::open(&file).unwrap();
        let entries = contents.chapters.iter();
        let log = entries
            .flat_map(|entry| crate::world::decoded(&host::chapter(&file, entry).unwrap().frames).1)
            .collect();
        Self {
            file,
            blocks: contents.blocks,
            log,
        }
    }
}

fn below(most: usize, chance: &mut Chance) -> usize {
    (chance.next_u64() % most as u64) as usize
}

/// Changes a few bytes anywhere.
fn mutate(bytes: &mut Vec<u8>, chance: &mut Chance) {
    for _ in 0..=below(4, chance) {
        let (at, other) = (below(bytes.len(), chance), below(bytes.len(), chance));
        let byte = [0, 1, 0x7f, 0x80, 0xff, b'S', b'C', chance.next_u64() as u8][below(8, chance)];
        match below(5, chance) {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            3 => bytes.swap(at, other),
            _ => {
                let (from, to) = (at.min(other), at.max(other));
                let doubled = bytes[from..to].to_vec();
                bytes.splice(from..from, doubled);
            }
        }
    }
}

/// Changes bytes of payloads, and corrects the checksums of blocks and of single frames.
fn mutate_behind_checksums(file: &mut [u8], blocks: &[BlockPlace], chance: &mut Chance) {
    for _ in 0..=below(3, chance) {
        let place = blocks[below(blocks.len(), chance)];
        let (offset, end) = (place.offset as usize, place.end() as usize);
        let (header, payload) = file[offset..end].split_at_mut(BLOCK_HEADER_BYTES);
        let at = below(payload.len(), chance);
        payload[at] = chance.next_u64() as u8;
        if matches!(place.header.tag, Tag::Opening | Tag::Segments) && payload.len() > 18 {
            let crc = checksum(&[&payload[18..]]);
            payload[14..18].copy_from_slice(&crc.to_le_bytes());
        }
        let repaired = Header {
            checksum: checksum(&[payload]),
            ..place.header
        };
        header.copy_from_slice(&repaired.bytes());
    }
}

/// Decodes all that a reader can of a file.
fn read_all(file: &[u8], mut take: impl FnMut(&Frames)) {
    let Ok(contents) = host::open(file) else {
        return;
    };
    for entry in &contents.chapters {
        if let Ok(chapter) = host::chapter(file, entry) {
            take(&chapter.frames);
        }
        for &place in &entry.bodies {
            let _ = host::bodies(file, place);
        }
    }
}

#[test]
fn a_hundred_thousand_mutations_give_no_panic_and_no_other_record() {
    let names = [
        "version-1-2.wscope",
        "version-1-2-cut.wscope",
        "version-1-2-damaged.wscope",
        "version-1-3.wscope",
        "version-1-3-cut.wscope",
        "version-1-3-damaged.wscope",
        "version-1-4.wscope",
        "version-1-4-cut.wscope",
        "version-1-4-damaged.wscope",
        "version-1-4-notes.wscope",
    ];
    let fixtures = names.map(Fixture::read);
    for seed in 0..100_000 {
        let mut chance = Chance::new(seed);
        let fixture = &fixtures[below(fixtures.len(), &mut chance)];
        let mut file = fixture.file.clone();
        if seed % 2 == 0 {
            mutate(&mut file, &mut chance);
            read_all(&file, |frames| {
                let (state, records) = crate::world::decoded(frames);
                let first = state.seq.0 as usize;
                let log = &fixture.log[first..first + records.len()];
                assert!(records == log, "seed {seed} returns other records");
            });
        } else {
            mutate_behind_checksums(&mut file, &fixture.blocks, &mut chance);
            // Damages the index, so that the blocks are read as they are now.
            *file.last_mut().unwrap() ^= 1;
            read_all(&file, |frames| {
                let Ok((mut reader, _)) = ChapterReader::open(frames.head()) else {
                    return;
                };
                let _ = frames.segments().try_for_each(|segment| {
                    let records = reader.segment(segment);
                    records.map(drop)
                });
            });
        }
    }
}
