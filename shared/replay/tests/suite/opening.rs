//! Tests of opening: which files open, and what a page shows about a file that does not open or is damaged.

use std::time::Duration;

use watchscope_model::{EpochId, Time};
use watchscope_recording::{ClusterName, FORMAT_VERSION, FileBlock, Form, MAGIC};
use watchscope_replay::{Next, Notice};

use crate::common::Log;
use crate::files::{File, cuts, damage_chapter, fixture, scanned, whole};
use crate::viewer::{Local, Page, open};

/// Returns both lines that a page shows about a file that does not open.
fn refused(file: &[u8]) -> String {
    let Notice { what, advice } = open(file).unwrap_err().notice();
    format!("{what}\n{advice}")
}

/// Returns both lines that a page shows about a file that opens in part.
fn missing(file: &[u8]) -> String {
    match open(file).unwrap().missing() {
        Some(Notice { what, advice }) => format!("{what}\n{advice}"),
        None => "nothing".to_owned(),
    }
}

fn begun(version: u32) -> Vec<u8> {
    [&MAGIC[..], &version.to_le_bytes()].concat()
}

#[test]
fn a_file_that_is_no_recording_is_refused_with_the_wrong_byte_and_advice() {
    let transferred = b"\x89WSR\n\x1a\n\x01\0\0\0F";
    let files: [&[u8]; 7] = [
        b"{\"type\":\"log\"}\n",
        b"PK\x03\x04 is a zip file",
        b"",
        &begun(0),
        &begun(FORMAT_VERSION)[..6],
        transferred,
        &begun(9),
    ];
    insta::assert_snapshot!(files.map(refused).join("\n"), @r#"
    a.wscope is not a recording: byte 0 is "{", a .wscope begins with 0x89 "WSR"
    JSON lines cannot be opened. Ask for the .wscope file.
    a.wscope is not a recording: byte 0 is "P", a .wscope begins with 0x89 "WSR"
    Open a .wscope file, as watchscope record writes.
    a.wscope is not a recording: it is empty
    Open a .wscope file, as watchscope record writes.
    a.wscope is not a recording: byte 8 says format 0
    Open a .wscope file, as watchscope record writes.
    a.wscope ends inside its first 12 bytes
    Copy the file again, as a binary file.
    a.wscope was changed by a transfer as text: its first 8 bytes are not as written
    Copy it again, as a binary file.
    a.wscope is in format 9, says byte 8; this page reads up to format 1
    Open it with a newer watchscope.
    "#);
}

#[test]
fn a_file_without_records_says_so() {
    let log = Log::steady("a", 0.0, 5);
    let none = File::of("log", &log.epoch).unfinished();
    let opened = File::of("log", &log.epoch).open(&log, (0, 0)).unfinished();
    let files: [&[u8]; 3] = [&begun(1), &none, &opened];
    insta::assert_snapshot!(files.map(refused).join("\n"), @r"
    a.wscope has no record that can be read
    Record for longer, or choose another file.
    a.wscope has no record that can be read
    Record for longer, or choose another file.
    a.wscope has no record that can be read
    Record for longer, or choose another file.
    ");
}

#[test]
fn a_file_of_several_logs_names_a_few_of_them() {
    let log = Log::steady("a", 0.0, 5);
    let mut file = File::of("log", &log.epoch).closed(&log, &[(0, 9)]);
    for number in 0..6 {
        let name = format!("log-{number}{}", "x".repeat(number * 30));
        file = file.then(&name, &log.epoch).closed(&log, &[(0, 9)]);
    }
    insta::assert_snapshot!(refused(&file.finished()), @r"
    a.wscope holds several logs: log, log-0, log-1xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, log-2xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… and 3 more
    Run watchscope replay FILE --log NAME.
    ");
}

#[test]
fn a_file_with_nothing_readable_names_block_and_byte() {
    let log = Log::steady("a", 0.0, 5);
    let mut file = whole(&log, 9);
    damage_chapter(&mut file, 0);
    damage_chapter(&mut file, 1);
    // Damages the `F`, which names the log.
    let mut of = whole(&log, 9);
    of[40] ^= 1;
    insta::assert_snapshot!([refused(&file), refused(&of)].join("\n"), @r"
    no record in a.wscope can be read: block 2 at byte 493 is damaged: its checksum is e508b05d, it should be 920f80cb
    Copy the file again, as a binary file.
    no record in a.wscope can be read: block 0 at byte 12 is damaged: its checksum is 40af5203, it should be bd0c4426
    Copy the file again, as a binary file.
    ");
}

#[test]
fn a_whole_file_misses_nothing() {
    assert_eq!(missing(&whole(&Log::steady("a", 0.0, 20), 9)), "nothing");
    assert_eq!(missing(&fixture("version-1-2.wscope")), "nothing");
}

#[test]
fn a_file_that_is_damaged_in_part_opens_and_names_the_first_place() {
    let log = Log::steady("a", 0.0, 40);
    let mut last = whole(&log, 9);
    damage_chapter(&mut last, cuts(&log, 9).len() - 1);
    let mut headers = whole(&log, 9);
    let chapters = scanned(&headers).chapters;
    for number in [1, 3, 5] {
        let place = chapters[number].closed.unwrap();
        headers[place.offset as usize + 5] ^= 1;
    }
    // Damages the index too, because it knows the headers.
    *headers.last_mut().unwrap() ^= 1;
    let cut = whole(&log, 9);
    let cut = &cut[..scanned(&cut).chapters[3].closed.unwrap().end() as usize - 5];
    let said = [missing(&last), missing(&headers), missing(cut)];
    insta::assert_snapshot!(said.join("\n"), @r"
    a.wscope, block 6 at byte 2008 is damaged: its checksum is a668950d, it should be d16fa59b
    What could be read is shown. Copy the file again, as a binary file.
    a.wscope, block 2 at byte 493 is damaged: no block can be read in 369 bytes; 2 more places are damaged
    What could be read is shown. Copy the file again, as a binary file.
    a.wscope ends inside block 4 at byte 1244
    All before it is shown. The file was cut on its way, or is still being written.
    ");
}

#[test]
fn a_damaged_newest_chapter_is_replaced_by_the_one_before() {
    let log = Log::steady("a", 0.0, 40);
    let mut file = whole(&log, 9);
    let last = cuts(&log, 9).len() - 1;
    damage_chapter(&mut file, last);
    let opened = open(&file).unwrap();
    let end = cuts(&log, 9)[last - 1].1;
    let page = Page::visit(&mut Local {
        opened,
        file: &file,
    });
    assert_eq!(page.welcome.unwrap().head.0, end as u64);
    assert_eq!(page.store.records(), end as u64);
}

/// Two runs and a third, which has one chapter or only its snapshot.
fn runs(has_third: bool) -> Vec<u8> {
    let (first, second, third) = (
        Log::steady("a", 0.0, 20),
        Log::steady("b", 60.0, 10),
        Log::steady("c", 90.0, 5),
    );
    let file = File::of("log", &first.epoch)
        .closed(&first, &cuts(&first, 9))
        .then("log", &second.epoch)
        .closed(&second, &cuts(&second, 9))
        .then("log", &third.epoch);
    let file = match has_third {
        true => file.closed(&third, &[(0, 4)]),
        false => file.open(&third, (0, 0)),
    };
    file.finished()
}

/// Damages all chapters of the runs from `run` on.
fn damage_from(file: &mut [u8], run: usize) {
    let chapters = scanned(file).chapters;
    for (number, entry) in chapters.iter().enumerate() {
        if entry.file >= Some(run) && entry.closed.is_some() {
            damage_chapter(file, number);
        }
    }
}

/// Returns the run that a page starts from, how many records it shows, and the time of the last record.
fn started(file: &[u8]) -> (String, u64, Time) {
    let opened = open(file).unwrap();
    let page = Page::visit(&mut Local { opened, file });
    let welcome = page.welcome.unwrap();
    assert!(page.not_read.is_empty(), "what is left out is not listed");
    let to = welcome.recorded_to.unwrap();
    (welcome.epoch.to_string(), page.store.records(), to)
}

#[test]
fn a_last_run_without_a_record_is_passed_over_without_a_notice() {
    let file = runs(false);
    let second = Log::steady("b", 60.0, 10);
    let (records, end) = (second.records.len(), second.records.last().unwrap().at);
    let all = records + Log::steady("a", 0.0, 20).records.len();
    assert_eq!(started(&file), ("b".to_owned(), all as u64, end));
    assert_eq!(missing(&file), "nothing");
    let last = Log::steady("c", 90.0, 5).records[3].at;
    assert_eq!(started(&runs(true)), ("c".to_owned(), all as u64 + 4, last));
}

#[test]
fn unreadable_last_runs_are_left_out_and_counted() {
    let (mut file, mut both) = (runs(false), runs(true));
    damage_from(&mut file, 1);
    damage_from(&mut both, 1);
    let first = Log::steady("a", 0.0, 20);
    let (records, end) = (first.records.len(), first.records.last().unwrap().at);
    let expected = ("a".to_owned(), records as u64, end);
    assert_eq!(
        (started(&file), started(&both)),
        (expected.clone(), expected)
    );
    let said = [missing(&file), missing(&both)];
    insta::assert_snapshot!(said.join("\n"), @r"
    a.wscope, block 6 at byte 1703 is damaged: its checksum is dd651c58, it should be aa622cce; 2 more places are damaged; no record of its last run can be read
    What could be read is shown. Copy the file again, as a binary file.
    a.wscope, block 6 at byte 1703 is damaged: its checksum is dd651c58, it should be aa622cce; 3 more places are damaged; no record of its last 2 runs can be read
    What could be read is shown. Copy the file again, as a binary file.
    ");
}

/// Returns what a page receives about a file.
fn about(file: &[u8]) -> String {
    serde_json::to_string_pretty(open(file).unwrap().about()).unwrap()
}

#[test]
fn a_page_receives_the_numbers_of_an_opened_file_and_its_last_run() {
    insta::assert_snapshot!(about(&fixture("version-1-2-cut.wscope")), @r#"
    {
      "name": "a.wscope",
      "bytes": 4032,
      "isEnded": false,
      "fromUs": 1763715600700000,
      "toUs": 1763715642000000,
      "records": 60,
      "epochs": 1,
      "cluster": null,
      "form": "recorded",
      "withheld": [],
      "hidden": [],
      "watchscope": "0.1.0",
      "notice": {
        "what": "a.wscope ends inside block 24 at byte 3587",
        "advice": "All before it is shown. The file was cut on its way, or is still being written."
      }
    }
    "#);
    let (first, second) = (Log::steady("a", 0.0, 20), Log::steady("b", 60.0, 10));
    let hostile = |text: &str| text.repeat(300);
    let of = |epoch: &EpochId, withheld: Vec<String>| FileBlock {
        watchscope: "0.1.0".into(),
        form: Form::Extract,
        cluster: Some(ClusterName {
            name: hostile("é"),
            ..ClusterName::default()
        }),
        withheld,
        ..FileBlock::new(&"log".into(), epoch)
    };
    let texts = (0..30).map(|number| format!("text {number}"));
    let file = File::with(&of(&first.epoch, texts.collect()))
        .closed(&first, &cuts(&first, 9))
        .then_with(&of(&second.epoch, vec!["text 3".into(), hostile("x")]))
        .closed(&second, &cuts(&second, 9));
    let opened = open(&file.finished()).unwrap();
    let about = opened.about();
    let records = (first.records.len() + second.records.len()) as u64;
    assert_eq!(
        (about.records, about.epochs, about.form),
        (records, 2, Form::Extract)
    );
    assert_eq!(
        (about.from_us, about.to_us),
        (first.records[0].at.0, second.records.last().unwrap().at.0)
    );
    assert_eq!(
        (about.withheld.len(), &*about.withheld[15]),
        (16, "text 15")
    );
    let cluster = about.cluster.as_ref().unwrap();
    assert_eq!(
        (cluster.name.chars().count(), &*about.watchscope),
        (257, "0.1.0")
    );
}

#[test]
fn a_machine_that_has_finished_begins_anew() {
    use watchscope_recording::Input;
    use watchscope_replay::Opening;
    let file = whole(&Log::steady("a", 0.0, 20), 9);
    let mut opening = Opening::new("a.wscope", file.len() as u64);
    for _ in 0..2 {
        crate::viewer::drive(&file, |input: Input| opening.step(input)).unwrap();
    }
}

#[test]
fn a_viewer_without_a_hello_receives_nothing() {
    let mut opened = open(&whole(&Log::steady("a", 0.0, 20), 9)).unwrap();
    assert!(matches!(opened.next(Duration::ZERO), Next::Wait(None)));
}
