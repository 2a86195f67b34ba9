//! Which files open, and what a page shows for those that do not, or not whole.

use std::time::Duration;

use watchscope_recording::{FORMAT_VERSION, MAGIC};
use watchscope_replay::{Next, Notice};

use crate::files::{File, cuts, damage_chapter, fixture, run, scanned, whole};
use crate::viewer::{Local, Page, open};

/// Both lines that a page shows for a file that does not open.
fn refused(file: &[u8]) -> String {
    let Notice { what, advice } = open(file).unwrap_err().notice();
    format!("{what}\n{advice}")
}

/// Both lines that a page shows for a file that opens, but not whole.
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
fn a_file_that_is_no_recording_is_refused_with_the_byte_that_shows_it_and_what_to_do() {
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
    let log = run("a", 0.0, 5);
    let none = File::of("log", &log.epoch).unfinished();
    let opened = File::of("log", &log.epoch).open(&log, (0, 0)).unfinished();
    let files: [&[u8]; 3] = [&begun(1), &none, &opened];
    insta::assert_snapshot!(files.map(refused).join("\n"), @r"
    there is no record in a.wscope
    Record for longer, or choose another file.
    there is no record in a.wscope
    Record for longer, or choose another file.
    there is no record in a.wscope
    Record for longer, or choose another file.
    ");
}

#[test]
fn a_file_of_several_logs_names_a_few_of_them() {
    let log = run("a", 0.0, 5);
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
    let log = run("a", 0.0, 5);
    let mut file = whole(&log, 9);
    damage_chapter(&mut file, 0);
    damage_chapter(&mut file, 1);
    // The block that says which log it is.
    let mut of = whole(&log, 9);
    of[40] ^= 1;
    insta::assert_snapshot!([refused(&file), refused(&of)].join("\n"), @r"
    no record in a.wscope can be read: block 2 at byte 498 is damaged: its checksum is 612883fd, it should be 162fb36b
    Copy the file again, as a binary file.
    no record in a.wscope can be read: block 0 at byte 12 is damaged: its checksum is 40af5203, it should be bd0c4426
    Copy the file again, as a binary file.
    ");
}

#[test]
fn a_whole_file_misses_nothing() {
    assert_eq!(missing(&whole(&run("a", 0.0, 20), 9)), "nothing");
    assert_eq!(missing(&fixture("version-1-2.wscope")), "nothing");
}

#[test]
fn a_file_that_is_damaged_in_part_opens_and_names_the_first_place() {
    let log = run("a", 0.0, 40);
    let mut last = whole(&log, 9);
    damage_chapter(&mut last, cuts(&log, 9).len() - 1);
    let mut headers = whole(&log, 9);
    let chapters = scanned(&headers).chapters;
    for number in [1, 3, 5] {
        let place = chapters[number].closed.unwrap();
        headers[place.offset as usize + 5] ^= 1;
    }
    // Its index, which knows the headers, is damaged too.
    *headers.last_mut().unwrap() ^= 1;
    let cut = whole(&log, 9);
    let cut = &cut[..scanned(&cut).chapters[3].closed.unwrap().end() as usize - 5];
    let said = [missing(&last), missing(&headers), missing(cut)];
    insta::assert_snapshot!(said.join("\n"), @r"
    a.wscope, block 6 at byte 2032 is damaged: its checksum is 8f2146a0, it should be f8267636
    What could be read is shown. Copy the file again, as a binary file.
    a.wscope, block 2 at byte 498 is damaged: no block can be read in 373 bytes; 2 more places are damaged
    What could be read is shown. Copy the file again, as a binary file.
    a.wscope ends inside block 4 at byte 1259
    All before it is shown. The file was cut on its way, or is still being written.
    ");
}

#[test]
fn a_newest_chapter_that_is_damaged_gives_way_to_the_one_before() {
    let log = run("a", 0.0, 40);
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

#[test]
fn a_machine_at_its_end_begins_anew() {
    use watchscope_recording::Input;
    use watchscope_replay::Opening;
    let file = whole(&run("a", 0.0, 20), 9);
    let mut opening = Opening::new("a.wscope", file.len() as u64);
    for _ in 0..2 {
        crate::viewer::drive(&file, |input: Input| opening.step(input)).unwrap();
    }
}

#[test]
fn a_viewer_that_has_not_said_hello_gets_nothing() {
    let mut opened = open(&whole(&run("a", 0.0, 20), 9)).unwrap();
    assert!(matches!(opened.next(Duration::ZERO), Next::Wait(None)));
}
