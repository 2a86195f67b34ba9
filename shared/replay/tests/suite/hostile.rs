//! Files from strangers: reading never panics, never requests bytes beyond the file, and always ends.

use std::time::Duration;

use proptest::prelude::*;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::codec::checksum;
use watchscope_model::wire::{
    Acknowledge, Backfill, ClientMessage, Hello, PROTOCOL_VERSION, encode_client,
};
use watchscope_model::{EpochId, Seq, State, Time};
use watchscope_recording::{BLOCK_HEADER_BYTES, FileBlock, Header, Tag, Writer};
use watchscope_replay::{Next, Opened};

use crate::cases::cases;
use crate::common::Log;
use crate::common::random::random_log;
use crate::files::{File, cuts, fixture, scanned};
use crate::raw::{begun, block};
use crate::viewer::{self, open};

/// Opens a file, if it can be opened, and requests all that it lists. Every answer ends.
fn look_at_all(file: &[u8]) {
    let Ok(mut opened) = open(file) else {
        return;
    };
    let mut bytes = 0;
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        log: None,
        epoch: None,
        last: None,
    };
    say(&mut opened, hello);
    listen(&mut opened, file, &mut bytes);
    let contents = opened.contents();
    let listed = contents.chapters.iter().filter_map(|entry| {
        let of = contents.file_of(entry)?;
        Some((
            of.log.clone(),
            EpochId::from(&*of.epoch),
            entry.summary.last,
        ))
    });
    for (log, epoch, last) in listed.collect::<Vec<_>>() {
        let asked = Backfill {
            log: log.as_str().into(),
            epoch: epoch.clone(),
            before: last.next(),
        };
        say(&mut opened, asked);
        listen(&mut opened, file, &mut bytes);
        let mut machine = opened.body(&epoch, last);
        let _ = viewer::run(file, |input| machine.step(input));
    }
}

fn say(opened: &mut Opened, message: impl Into<ClientMessage>) {
    opened
        .receive(&encode_client(&message.into()), Duration::ZERO)
        .unwrap();
}

fn listen(opened: &mut Opened, file: &[u8], bytes: &mut u64) {
    for _ in 0..10_000 {
        match opened.next(Duration::ZERO) {
            Next::Send(message) => {
                *bytes += message.len() as u64;
                say(opened, Acknowledge { bytes: *bytes });
            }
            Next::Fetch(number, mut machine) => {
                let fetched = viewer::run(file, |input| machine.step(input));
                opened.fetched(number, fetched);
            }
            Next::Wait(_) => return,
            Next::End(parting) => panic!("{parting:?}"),
        }
    }
    panic!("it goes on sending");
}

/// Recordings of several runs: closed, open and with bodies.
fn recordings() -> Vec<Vec<u8>> {
    let (random, plain) = (random_log(3, 150), Log::steady("b", 9_000.0, 30));
    let several = File::of("log", &random.epoch)
        .closed(&random, &cuts(&random, 60))
        .bodies(&random, (0, 60))
        .then("log", &plain.epoch)
        .closed(&plain, &[(0, 10), (10, 20)])
        .bodies(&plain, (10, 20))
        .open(&plain, (20, 35));
    let names = [
        "version-1-2.wscope",
        "version-1-3-cut.wscope",
        "version-1-3-damaged.wscope",
        "version-1-4.wscope",
    ];
    let mut files = vec![several.unfinished()];
    files.extend(names.map(fixture));
    files
}

fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, prop::sample::Index, u8)>> {
    let edit = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u8>(),
    );
    prop::collection::vec(edit, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn arbitrary_bytes_open_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        look_at_all(&bytes);
        look_at_all(&[begun(), bytes].concat());
    }

    #[test]
    fn blocks_of_arbitrary_payloads_open_or_are_refused(
        blocks in prop::collection::vec((prop::sample::select(b"FOSCBNIX".to_vec()), prop::collection::vec(0u8..6, 0..200), 0u32..2_000), 0..12),
    ) {
        let blocks = blocks.iter().flat_map(|(tag, payload, raw_bytes)| block(*tag, payload, *raw_bytes));
        look_at_all(&begun().into_iter().chain(blocks).collect::<Vec<u8>>());
    }

    #[test]
    fn recordings_with_changed_bytes_open_or_are_refused(which in 0usize..4, flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..8), end in any::<prop::sample::Index>(), is_cut: bool) {
        let mut file = recordings().swap_remove(which);
        for (at, flip) in flips {
            let at = at.index(file.len());
            file[at] ^= flip;
        }
        if is_cut {
            file.truncate(end.index(file.len()));
        }
        look_at_all(&file);
    }

    #[test]
    fn recordings_with_changed_payloads_behind_right_checksums_open_or_are_refused(which in 0usize..4, edits in edits(), has_index: bool) {
        let mut file = recordings().swap_remove(which);
        for (block, byte, value) in edits {
            let blocks = scanned(&file).blocks;
            let place = blocks[block.index(blocks.len())];
            let (begin, end) = (place.offset as usize + BLOCK_HEADER_BYTES, place.end() as usize);
            if begin == end {
                continue;
            }
            file[begin + byte.index(end - begin)] = value;
            // Corrects a frame's checksum too, if the block holds a single frame.
            if matches!(place.header.tag, Tag::Opening | Tag::Segments) && end - begin > 18 {
                let crc = checksum(&[&file[begin + 18..end]]);
                file[begin + 14..begin + 18].copy_from_slice(&crc.to_le_bytes());
            }
            let header = Header { checksum: checksum(&[&file[begin..end]]), ..place.header };
            file[place.offset as usize..begin].copy_from_slice(&header.bytes());
        }
        if !has_index {
            *file.last_mut().unwrap() ^= 1;
        }
        look_at_all(&file);
    }

    #[test]
    fn frames_at_the_ends_of_all_seqs_and_times_open_or_are_refused(seq in prop_oneof![Just(0), Just(u64::MAX), Just(u64::MAX - 1), Just(u64::MAX - 2), any::<u64>()], at in prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), any::<i64>()], is_open: bool, records in 0usize..4) {
        let mut state = State::default();
        state.pass(Seq(seq), Time(at));
        let (mut encoder, head) = ChapterWriter::open("log".into(), "a".into(), &state);
        for record in &Log::steady("a", 0.0, 5).records[..records] {
            let mut record = record.clone();
            (record.seq, record.at) = (state.seq.next(), Time(at));
            encoder.push(&record);
            state.apply(&record);
        }
        let segment = encoder.seal();
        let (mut writer, mut file) = Writer::begin(&FileBlock::new(&"log".into(), &"a".into())).unwrap();
        if is_open {
            file.extend(writer.open_chapter(&head).unwrap());
            if let Some(segment) = segment && let Ok(bytes) = writer.segment(&segment) {
                file.extend(bytes);
            }
            file.extend(writer.flush().unwrap());
        } else if let Ok(packing) = Writer::whole_chapter(&head, segment.as_deref()) {
            // A stored block of deflate, marked as the last: its length, and the complement of the length.
            let raw = packing.raw();
            let length = (raw.len() as u16).to_le_bytes();
            let deflated = [&[1, length[0], length[1], !length[0], !length[1]], raw].concat();
            file.extend(writer.packed(&packing, &deflated).unwrap());
        }
        look_at_all(&file);
    }
}

#[test]
fn a_log_with_a_name_over_1_kib_is_not_opened() {
    let name = "l".repeat(1_025);
    let log = Log::steady("a", 0.0, 5);
    let named = File::of(&name, &log.epoch).closed(&log, &[(0, 9)]);
    assert!(open(&named.finished()).is_err());
    let (mut encoder, head) =
        ChapterWriter::open(name.as_str().into(), "a".into(), &State::default());
    log.records.iter().for_each(|record| encoder.push(record));
    let segment = encoder.seal().unwrap();
    let file = FileBlock::new(&"log".into(), &"a".into());
    let (mut writer, mut file) = Writer::begin(&file).unwrap();
    file.extend(writer.open_chapter(&head).unwrap());
    file.extend(writer.segment(&segment).unwrap());
    file.extend(writer.flush().unwrap());
    insta::assert_snapshot!(open(&file).unwrap_err(), @"no record in a.wscope can be read: block 1 at byte 118 is damaged: the message is no watchscope message: the name of its log or run is longer than 1 kB");
}
