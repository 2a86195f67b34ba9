//! Tests of several files as one log: its runs, their order, and their chapters.

use watchscope_log::Fetched;
use watchscope_model::{EpochId, Seq};
use watchscope_recording::Contents;
use watchscope_replay::{JoinedFiles, first_body, first_chapter, holding};

use crate::common::Log;
use crate::files::{File, cuts, scanned, whole};

/// Lists the runs and their chapters: `a 1-9 10-18, b 1-9`.
fn pictured(joined: &JoinedFiles<Contents>) -> String {
    let runs = joined.runs().iter().map(|run| {
        let chapters = joined.chapters(run);
        let chapters: Vec<String> = chapters
            .map(|(_, entry)| format!("{}-{}", entry.summary.first, entry.summary.last))
            .collect();
        format!("{} {}", run.epoch, chapters.join(" "))
    });
    runs.collect::<Vec<_>>().join(", ")
}

fn joined(groups: &[&[&Vec<u8>]]) -> JoinedFiles<Contents> {
    let groups = groups.iter().map(|files| {
        let files = files.iter().map(|file| scanned(file));
        files.collect()
    });
    JoinedFiles::new(groups.collect(), None).unwrap()
}

#[test]
fn runs_are_sorted_by_time_and_runs_of_a_folder_by_its_files() {
    let (first, second) = (Log::steady("a", 0.0, 5), Log::steady("b", 100.0, 5));
    let (a, b) = (whole(&first, 9), whole(&second, 9));
    assert_eq!(
        pictured(&joined(&[&[&b], &[&a]])),
        "a 1-9 10-16, b 1-9 10-16"
    );
    // A clock was set back between the two runs.
    assert_eq!(pictured(&joined(&[&[&b, &a]])), "b 1-9 10-16, a 1-9 10-16");
}

#[test]
fn the_longest_copy_of_a_chapter_comes_first_and_it_is_listed_once() {
    let log = Log::steady("a", 0.0, 20);
    let cut = File::of("log", &log.epoch)
        .closed(&log, &[(0, 12)])
        .open(&log, (12, 20));
    let (cut, all) = (cut.unfinished(), whole(&log, 12));
    let joined = joined(&[&[&cut], &[&all]]);
    assert_eq!(pictured(&joined), "a 1-12 1-12 13-24 13-20 25-31");
    let newest = joined.newest_first().into_iter();
    let newest: Vec<Seq> = newest
        .map(|place| joined.entry(place).1.summary.last)
        .collect();
    assert_eq!(newest, [31, 24, 20, 12, 12].map(Seq));
    assert_eq!(joined.last(&joined.runs()[0]), Seq(31));
    let holding = joined.holding(&"a".into(), Seq(14));
    let holding: Vec<Seq> = holding.map(|(_, entry)| entry.summary.last).collect();
    assert_eq!(holding, [Seq(24), Seq(20)]);
}

#[test]
fn a_record_that_no_file_lists_is_held_by_none() {
    let file = scanned(&whole(&Log::steady("a", 0.0, 20), 12));
    let found = |epoch: &str, seq: u64| {
        let epoch: EpochId = epoch.into();
        holding(&file, &epoch, Seq(seq)).map(|entry| entry.summary.first)
    };
    assert_eq!(found("a", 13), Some(Seq(13)));
    assert_eq!(found("a", 32), None);
    assert_eq!(found("b", 13), None);
}

#[test]
fn files_of_several_logs_are_refused_by_name_and_one_log_can_be_picked() {
    let log = Log::steady("a", 0.0, 5);
    let files = || {
        let other = File::of("other", &log.epoch).closed(&log, &cuts(&log, 9));
        vec![
            vec![scanned(&whole(&log, 9))],
            vec![scanned(&other.finished())],
        ]
    };
    let refused = |log| JoinedFiles::new(files(), log).unwrap_err().to_string();
    insta::assert_snapshot!(refused(None), @"these are recordings of several logs: log, other; choose one with --log");
    insta::assert_snapshot!(refused(Some("third")), @r#"there is no recording of the log "third" here; there is log, other"#);
    let one = JoinedFiles::new(files(), Some("other")).unwrap();
    assert_eq!(pictured(&one), "a 1-9 10-16");
}

#[test]
fn a_run_with_a_name_over_1_kib_is_passed_over() {
    let log = Log::steady("a", 0.0, 5);
    let long: EpochId = "e".repeat(1_025).as_str().into();
    let file = File::of("log", &log.epoch).closed(&log, &[(0, 9)]);
    let file = file.then("log", &long).closed(&log, &[(0, 9)]).finished();
    assert_eq!(pictured(&joined(&[&[&file]])), "a 1-9");
}

#[test]
fn the_first_result_of_several_files_counts_or_else_an_error() {
    let chapter = Fetched::Chapter {
        first: Seq(1),
        last: Seq(2),
        frames: vec![7].into(),
    };
    let unread = || Fetched::NotRead {
        reason: "no".to_owned(),
    };
    assert_eq!(first_chapter([unread(), chapter.clone()]), chapter);
    assert_eq!(first_chapter([unread(), Fetched::Gone]), unread());
    assert_eq!(first_chapter([]), Fetched::Gone);
    let body = || Ok(Some(vec![7].into()));
    let damaged = || Err("no".to_owned());
    assert_eq!(first_body([damaged(), Ok(None), body()]), body());
    assert_eq!(first_body([damaged(), Ok(None)]), damaged());
    assert_eq!(first_body([Ok(None)]), Ok(None));
}
