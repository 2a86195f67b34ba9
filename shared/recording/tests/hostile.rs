//! Files from strangers: reading never panics, and takes memory in proportion to their bytes only.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../allocations.rs"]
mod allocations;
#[path = "../../cases.rs"]
mod cases;
#[path = "suite/world/mod.rs"]
mod world;

use allocations::peak_of;
use cases::cases;
use proptest::prelude::*;
use watchscope_model::Seq;
use watchscope_model::codec::checksum;
use watchscope_recording::{
    BLOCK_HEADER_BYTES, DamageKind, FILE_HEADER_BYTES, Header, Input, MAX_BLOCKS, MAX_CHAPTERS,
    MAX_RAW_BYTES, ReadError, Scan, Step, Tag,
};
use world::raw::{begun, block};
use world::{host, plan, write};

/// Opens a file and reads all its chapters; checks the peak of memory.
fn read_all(file: &[u8]) {
    let (contents, peak) = peak_of(|| host::open(file));
    // The peak includes the host's copy of each answer. The 4 MiB are the decoder's own bound.
    let most = 32 * file.len() + (4 << 20);
    assert!(peak <= most, "{} bytes took {peak}", file.len());
    let Ok(contents) = contents else { return };
    for entry in &contents.chapters {
        let _ = host::chapter(file, entry);
        for &place in &entry.bodies {
            let _ = host::bodies(file, place);
        }
    }
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    let small = prop::collection::vec(0u8..5, 0..300);
    prop_oneof![small, prop::collection::vec(any::<u8>(), 0..300)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn arbitrary_bytes_behind_the_magic_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        read_all(&[begun(), bytes.clone()].concat());
        read_all(&bytes);
    }

    #[test]
    fn hostile_payloads_behind_right_checksums_are_read_without_panic(
        blocks in prop::collection::vec((prop::sample::select(b"FOSCBNIX".to_vec()), payload(), 0u32..2_000), 0..12),
    ) {
        let blocks = blocks.iter().flat_map(|(tag, payload, raw_bytes)| block(*tag, payload, *raw_bytes));
        read_all(&begun().into_iter().chain(blocks).collect::<Vec<u8>>());
    }

    #[test]
    fn changed_payloads_behind_right_checksums_are_read_without_panic(
        (log, acts, with_bodies) in plan(), finishes: bool, edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut file = write(&log, &acts, with_bodies, finishes).bytes;
        let blocks = host::open(&file).unwrap().blocks;
        for (block, byte, value) in edits {
            let place = blocks[block.index(blocks.len())];
            let (begin, end) = (place.offset as usize + BLOCK_HEADER_BYTES, place.end() as usize);
            if begin < end {
                file[begin + byte.index(end - begin)] = value;
                let header = Header { checksum: checksum(&[&file[begin..end]]), ..place.header };
                file[place.offset as usize..begin].copy_from_slice(&header.bytes());
            }
        }
        read_all(&file);
    }
}

#[test]
fn a_deflate_bomb_is_stopped_at_the_stated_length() {
    let bomb = host::deflate(&vec![0; 16 << 20]);
    let key = 1u64.to_le_bytes();
    let bodies = block(b'B', &[&key[..], &bomb].concat(), 1_000);
    let file = [begun(), bodies].concat();
    let place = host::open(&file).unwrap().blocks[0];
    let (read, peak) = peak_of(|| host::bodies(&file, place));
    let damage = read.unwrap_err();
    assert_eq!(
        damage.kind,
        DamageKind::RawLength {
            stated: 1_000,
            found: 1_001
        }
    );
    assert_eq!(
        damage.to_string(),
        "block 0 at byte 12 is damaged: it inflates to 1001 bytes, it should be 1000"
    );
    assert!(peak < 1 << 20, "{peak}");
}

#[test]
fn a_block_with_a_stated_length_over_64_mib_is_never_inflated() {
    let file = [begun(), block(b'B', &[0; 40], MAX_RAW_BYTES + 1)].concat();
    let contents = host::open(&file).unwrap();
    assert_eq!(contents.blocks, []);
    assert_eq!(contents.damaged[0].kind, DamageKind::Skipped { bytes: 60 });
}

#[test]
fn a_file_shorter_than_its_stated_size_is_refused() {
    let mut scan = Scan::new(1_000);
    assert!(matches!(
        scan.step(Input::Begin),
        Ok(Step::Read { offset: 0, .. })
    ));
    let short = scan.step(Input::Bytes(begun()));
    assert_eq!(short, Err(ReadError::ShortRead { offset: 0 }));
}

#[test]
fn other_files_and_later_versions_are_refused_by_name() {
    let refused = |file: &[u8]| host::open(file).unwrap_err().to_string();
    let mut newer = begun();
    newer[8] = 9;
    let messages = [
        refused(b"PK\x03\x04 is a zip"),
        refused(b""),
        refused(&newer),
        refused(b"\x89WSR\n\x1a\n\x01\0\0\0F"),
        refused(&begun()[..6]),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r"
    byte 0: this is no watchscope recording
    byte 0: this is no watchscope recording
    byte 8: the recording has format version 9; this watchscope reads up to version 1
    byte 0: the recording was changed by a transfer as text; copy it again as a binary file
    byte 0: the recording ends inside its first 12 bytes
    ");
}

#[test]
fn blocks_and_chapters_up_to_the_bound_are_read() {
    let many = |one: &dyn Fn(usize) -> Vec<u8>, count: usize| -> Vec<u8> {
        begun()
            .into_iter()
            .chain((0..count).flat_map(one))
            .collect()
    };
    let contents = host::open(&many(&|_| block(b'N', &[], 0), MAX_BLOCKS + 5)).unwrap();
    assert_eq!(contents.blocks.len(), MAX_BLOCKS);
    let damaged: Vec<String> = contents.damaged.iter().map(ToString::to_string).collect();
    assert_eq!(
        damaged,
        [
            "block 1000000 at byte 20000012 is damaged: only 1000000 blocks are read, and none from here on"
        ]
    );
    let bodies = |place: usize| block(b'B', &(place as u64).to_le_bytes(), 0);
    let contents = host::open(&many(&bodies, MAX_CHAPTERS + 5)).unwrap();
    let [stray, more] = &contents.damaged[..] else {
        panic!("{:?}", contents.damaged);
    };
    assert_eq!(stray.kind, DamageKind::NoChapter { first: Seq(0) });
    assert_eq!(more.block as usize, MAX_CHAPTERS);
    assert_eq!(more.kind, DamageKind::TooManyChapters);
}

#[test]
fn a_file_of_only_its_first_12_bytes_is_an_empty_recording() {
    let contents = host::open(&begun()).unwrap();
    assert_eq!(contents.size, FILE_HEADER_BYTES as u64);
    assert!(contents.chapters.is_empty() && contents.cut.is_none());
}

#[test]
fn a_bad_block_of_notes_is_damage_and_the_rest_is_read() {
    use watchscope_model::event::Note;
    use watchscope_model::notes::{MAX_NOTES, push_note};
    use watchscope_model::vocabulary::Author;
    use watchscope_model::{KeptNote, NoteKey, Time};
    use watchscope_recording::MAX_NOTES_BLOCK_BYTES;

    let notes = |first: u64, count: u64, text: &str| {
        let mut payload = Vec::new();
        for seq in first..first + count {
            let key = NoteKey {
                log: "demo".into(),
                epoch: "e0".into(),
                seq: Seq(seq),
            };
            let note = Note::new(Author::Person, text.to_owned());
            push_note(
                &KeptNote {
                    key,
                    at: Time(1),
                    note,
                },
                &mut payload,
            );
        }
        block(b'N', &payload, payload.len() as u32)
    };
    let text = "x".repeat(MAX_NOTES_BLOCK_BYTES);
    let file = [
        begun(),
        block(b'N', b"\x7fnotes", 6),
        notes(1, 1, &text),
        notes(2, 1, "<script>\u{1b}[2J\u{202e}\0"),
    ]
    .concat();
    let contents = host::open(&file).unwrap();
    let damaged: Vec<u32> = contents.damaged.iter().map(|damage| damage.block).collect();
    assert_eq!(damaged, [0, 1]);
    assert_eq!(contents.notes.len(), 1);
    // A reader holds at most `MAX_NOTES`, however many blocks there are.
    let blocks = (0..6).map(|part| notes(part * 3_000, 3_000, "x"));
    let file = [begun(), blocks.collect::<Vec<_>>().concat()].concat();
    let contents = host::open(&file).unwrap();
    assert_eq!(contents.notes.len(), MAX_NOTES);
    assert_eq!(contents.damaged.len(), 3);
}

#[test]
fn blocks_of_a_later_version_are_passed_over() {
    let file = [begun(), block(b'X', b"later", 5), block(b'N', b"", 0)].concat();
    let contents = host::open(&file).unwrap();
    assert_eq!(contents.damaged, []);
    let tags: Vec<Tag> = contents
        .blocks
        .iter()
        .map(|block| block.header.tag)
        .collect();
    assert_eq!(tags, [Tag::Later(b'X'), Tag::Notes]);
}
