//! Notes of persons outlive the process, the ring and the file that held their record.

use watchscope_model::event::Note;
use watchscope_model::vocabulary::{Author, NoteRefusal};
use watchscope_model::{NoteKey, Seq};

use super::*;

fn said(text: &str) -> Note {
    Note::new(Author::Person, text.to_owned())
}

fn texts(log: &LogHandle) -> Vec<String> {
    log.with_notes(|notes| {
        let standing = notes.standing().into_iter();
        standing.map(|note| note.note.text.clone()).collect()
    })
}

/// Appends about 1 MiB of records that do not deflate.
async fn append_random(log: &LogHandle, random: &mut u64) {
    for _ in 0..100 {
        let text: String = (0..10_000)
            .map(|_| {
                *random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                char::from(b' ' + (*random >> 58) as u8)
            })
            .collect();
        log.append(note(&text)).await.unwrap();
    }
    sleep(Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_note_survives_a_killed_process_and_can_be_changed() {
    let bench = Bench::new();
    let log = open_run("e1", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 3, 10).await;
    let seq = log.write_note(said("It broke here.")).await.unwrap();
    until(&history, |state| state.kept_to == seq).await;
    history.history.kill().await;
    drop(log);

    let log = open_run("e2", 64 << 20);
    let history = bench.begin(&log).await;
    append(&log, 1, 10).await;
    until(&history, |state| state.kept_to == Seq(1)).await;
    assert_eq!(texts(&log), ["It broke here."]);
    let replacing = |seq: u64| Note {
        replaces: Some(NoteKey {
            log: log.log().clone(),
            epoch: "e1".into(),
            seq: Seq(seq),
        }),
        ..said("It broke before.")
    };
    let unknown = log.write_note(replacing(seq.0 + 1)).await;
    assert_eq!(unknown, Err(NoteRefusal::UnknownNote));
    log.write_note(replacing(seq.0)).await.unwrap();
    assert_eq!(texts(&log), ["It broke before."]);
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn a_note_is_carried_on_when_the_file_with_its_record_is_dropped() {
    let mut bench = Bench::new();
    bench.config.size_bytes = 8 << 20;
    let log = open_run("e1", 1 << 20);
    let history = bench.begin(&log).await;
    log.write_note(said("Kept.")).await.unwrap();
    let mut random = 1_u64;
    for _ in 0..20 {
        append_random(&log, &mut random).await;
    }
    let head = log.head().await.0.seq;
    until(&history, |state| state.kept_to == head).await;
    assert!(bench.seqs("e1")[0] > 1, "its record is gone");
    assert_eq!(texts(&log), ["Kept."]);
    let holding = |bench: &Bench| {
        let files = bench.files();
        let notes = files.iter().flat_map(|file| &file.contents().notes);
        notes.map(|note| note.note.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(holding(&bench), ["Kept."], "the note is once in one file");
    // Now the file is dropped into which the note was carried. The ring dropped its record long ago.
    for _ in 0..20 {
        append_random(&log, &mut random).await;
    }
    let head = log.head().await.0.seq;
    until(&history, |state| state.kept_to == head).await;
    assert_eq!(holding(&bench), ["Kept."]);
    assert!(bench.disk.bytes() <= 10 << 20);
    end(log, history).await;

    let log = open_run("e2", 1 << 20);
    let history = bench.begin(&log).await;
    append(&log, 1, 10).await;
    until(&history, |state| state.kept_to == Seq(1)).await;
    assert_eq!(texts(&log), ["Kept."]);
    end(log, history).await;
}

#[tokio::test(start_paused = true)]
async fn notes_that_are_carried_on_take_an_eighth_of_the_budget_the_newest_first() {
    let mut bench = Bench::new();
    bench.config.size_bytes = 1 << 20;
    let log = open_run("e1", 1 << 20);
    let history = bench.begin(&log).await;
    for number in 0..60 {
        let text = format!("{number:02}{}", "n".repeat(4_000));
        log.write_note(said(&text)).await.unwrap();
    }
    let mut random = 1_u64;
    for _ in 0..6 {
        append_random(&log, &mut random).await;
    }
    let head = log.head().await.0.seq;
    until(&history, |state| state.kept_to == head).await;
    let kept = texts(&log);
    // The eighth is 131,072 bytes, and a note takes about 4,050.
    assert_eq!(kept.len(), 32);
    assert_eq!((&kept[0][..2], &kept[31][..2]), ("28", "59"));
    end(log, history).await;
}
