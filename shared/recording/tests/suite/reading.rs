//! Tests of reading: whatever the damage or cut, a recording returns unbroken runs of the log's records.

use crate::cases::cases;
use crate::world::{Written, body_of, checked, file_block, folded, host, plan, records_of, write};
use proptest::prelude::*;
use watchscope_model::Record;
use watchscope_model::chapter::ChapterWriter;
use watchscope_recording::{BLOCK_HEADER_BYTES, Contents, Tag, Writer};

/// Returns all records, or `None` if damage is reported; checks that each record is the log's.
fn read_or_reported(bytes: &[u8], log: &[Record]) -> Option<Vec<Record>> {
    let contents = host::open(bytes).ok()?;
    let mut is_reported = !contents.damaged.is_empty() || contents.cut.is_some();
    assert!(contents.files.iter().all(|file| *file == file_block()));
    assert!(is_reported || contents.files.len() == 1);
    let mut all = Vec::new();
    for entry in &contents.chapters {
        match host::chapter(bytes, entry) {
            Ok(chapter) => {
                is_reported |= !chapter.damaged.is_empty();
                all.extend(checked(entry, &chapter, log));
            }
            Err(_) => is_reported = true,
        }
        for &place in &entry.bodies {
            match host::bodies(bytes, place) {
                Ok(bodies) => assert!(bodies.iter().all(|(seq, body)| body == body_of(seq))),
                Err(_) => is_reported = true,
            }
        }
    }
    (!is_reported).then_some(all)
}

fn without_blocks(contents: Contents) -> Contents {
    Contents {
        size: 0,
        blocks: Vec::new(),
        cut: None,
        ..contents
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(96)))]

    #[test]
    fn a_file_cut_at_any_byte_has_the_records_up_to_its_last_whole_block((log, acts, with_bodies) in plan(), finishes: bool, cuts in prop::collection::vec(any::<prop::sample::Index>(), 8)) {
        let written = write(&log, &acts, with_bodies, finishes);
        let begins = written.moments[0].0;
        for cut in cuts.iter().map(|cut| begins + cut.index(written.bytes.len() - begins + 1)) {
            let bytes = &written.bytes[..cut];
            let contents = host::open(bytes).unwrap();
            prop_assert_eq!(&contents.damaged, &[]);
            let read = records_of(bytes, &contents, &log);
            prop_assert_eq!(&read[..], &log[..written.records_at(cut)]);
            let is_whole = contents.blocks.last().is_some_and(|block| block.end() == cut as u64);
            prop_assert_eq!(contents.cut.is_none(), is_whole);
        }
    }

    #[test]
    fn a_finished_file_reads_the_same_with_its_index_and_without((log, acts, with_bodies) in plan()) {
        let Written { mut bytes, .. } = write(&log, &acts, with_bodies, true);
        let indexed = host::open(&bytes).unwrap();
        prop_assert_eq!(records_of(&bytes, &indexed, &log), log);
        *bytes.last_mut().unwrap() ^= 1;
        let scanned = host::open(&bytes).unwrap();
        prop_assert_eq!(&scanned, &indexed);
        let index = indexed.blocks.last().unwrap();
        prop_assert_eq!(index.header.tag, Tag::Index);
        bytes.truncate(index.offset as usize);
        let unfinished = host::open(&bytes).unwrap();
        prop_assert_eq!(without_blocks(unfinished), without_blocks(indexed));
    }

    #[test]
    fn a_byte_changed_anywhere_is_reported_or_changes_nothing((log, acts, with_bodies) in plan(), finishes: bool, flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 8)) {
        let written = write(&log, &acts, with_bodies, finishes);
        let whole = written.records_at(written.bytes.len());
        for (at, flip) in flips {
            let mut bytes = written.bytes.clone();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            if let Some(read) = read_or_reported(&bytes, &log) {
                prop_assert_eq!(&read[..], &log[..whole], "byte {}", at);
            }
        }
    }

    #[test]
    fn a_block_that_names_another_chapter_is_reported((log, acts, with_bodies) in plan(), which: prop::sample::Selector) {
        let written = write(&log, &acts, with_bodies, false);
        let contents = host::open(&written.bytes).unwrap();
        let chapters = contents.chapters.iter().map(|chapter| chapter.summary.first);
        let names = chapters.map(|first| first.0).chain([u64::MAX]);
        for block in contents.blocks.iter().filter(|block| matches!(block.header.tag, Tag::Segments | Tag::Bodies)) {
            let key_at = block.offset as usize + BLOCK_HEADER_BYTES;
            let key = key_at..key_at + 8;
            let mut bytes = written.bytes.clone();
            let others = names.clone().map(u64::to_le_bytes).filter(|name| bytes[key.clone()] != *name);
            let other = which.select(others);
            bytes[key].copy_from_slice(&other);
            prop_assert_eq!(read_or_reported(&bytes, &log), None, "block {}", block.number);
        }
    }

    #[test]
    fn a_file_cut_at_any_byte_can_be_continued((log, acts, with_bodies) in plan(), finishes: bool, cut in any::<prop::sample::Index>()) {
        let written = write(&log, &acts, with_bodies, finishes);
        let begins = written.moments[0].0;
        let mut bytes = written.bytes[..begins + cut.index(written.bytes.len() - begins + 1)].to_vec();
        let contents = host::open(&bytes).unwrap();
        let (mut writer, length) = Writer::resume(&contents).unwrap();
        bytes.truncate(length as usize);
        prop_assert_eq!(&writer.contents().chapters, &contents.chapters);
        let (before, after) = log.split_at(written.records_at(bytes.len()));
        let (mut encoder, head) = ChapterWriter::open("log".into(), "epoch".into(), &folded(before));
        bytes.extend(writer.open_chapter(&head).unwrap());
        after.iter().for_each(|record| encoder.push(record));
        if let Some(segment) = encoder.seal() {
            bytes.extend(writer.segment(&segment).unwrap());
        }
        let closing = writer.close_chapter().unwrap();
        bytes.extend(closing.append);
        prop_assert_eq!(closing.packing.is_some(), !after.is_empty());
        if let Some(packing) = closing.packing {
            bytes.extend(writer.packed(&packing, &host::deflate(packing.raw())).unwrap());
        }
        bytes.extend(writer.finish().unwrap());
        let contents = host::open(&bytes).unwrap();
        prop_assert_eq!(contents.blocks.last().map(|block| block.header.tag), Some(Tag::Index));
        prop_assert_eq!(records_of(&bytes, &contents, &log), log);
        *bytes.last_mut().unwrap() ^= 1;
        prop_assert_eq!(host::open(&bytes).unwrap(), contents);
    }

    #[test]
    fn bytes_changed_inserted_or_removed_never_give_another_record((log, acts, with_bodies) in plan(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..3, any::<Vec<u8>>()), 1..6)) {
        let mut bytes = write(&log, &acts, with_bodies, true).bytes;
        for (at, kind, new) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = bytes[at].wrapping_add(1),
                1 => drop(bytes.splice(at..at, new)),
                _ => drop(bytes.drain(at..bytes.len().min(at + new.len()))),
            }
            if bytes.is_empty() {
                break;
            }
        }
        read_or_reported(&bytes, &log);
    }

    #[test]
    fn behind_a_damaged_header_the_next_blocks_are_read((log, acts, _) in plan(), block in any::<prop::sample::Index>(), byte in 0..BLOCK_HEADER_BYTES, flip in 1u8..) {
        let mut bytes = write(&log, &acts, false, false).bytes;
        let whole = host::open(&bytes).unwrap();
        let block = whole.blocks[block.index(whole.blocks.len())];
        bytes[block.offset as usize + byte] ^= flip;
        let contents = host::open(&bytes).unwrap();
        let damage = contents.damaged.first().unwrap();
        prop_assert_eq!((damage.block, damage.offset), (block.number, block.offset));
        let others: Vec<_> = whole.blocks.iter().filter(|other| other.number != block.number).copied().collect();
        prop_assert_eq!(contents.blocks, others);
    }
}
