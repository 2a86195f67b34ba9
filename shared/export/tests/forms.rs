//! Tests of the forms of one export: they agree, two exports are equal, and no text of a cluster is markup in them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../timeline/tests/suite/common/mod.rs"]
mod common;
mod taken;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::random::random_log;
use common::{Log, at};
use insta::assert_snapshot;
use sha2::{Digest as _, Sha256};
use taken::taken;
use watchscope_export::{
    ReportParts, Says, Shown, Size, Taken, charts, csv, jsonl, markdown, recording, report, svg,
};
use watchscope_model::event::Note;
use watchscope_model::vocabulary::{Author, Cause, Severity, Standing};
use watchscope_model::{KeptNote, NoteKey, Notes, Seq, WatchName};
use watchscope_timeline::Theme;

const SIZE: Size = Size {
    width_px: 1_920,
    height_px: 1_080,
};

const SAYS: Says<'static> = Says {
    title: "A night <b>in</b> | `shop`",
    zone_offset_min: 60,
};

/// Two runs: the first one loses its history, then watchscope was restarted.
fn night() -> (Log, Log) {
    let mut first = Log::steady("a", 0.0, 9);
    first.open(0.2, "shop/pods", 7, 101, 100);
    first.end(10.0, "shop/pods", 7, Cause::TcpReset);
    first.finding(
        10.1,
        "F08",
        Severity::Note,
        Standing::Raised,
        "shop/pods",
        "It was reset.",
    );
    first.error(11.0, "shop/pods", 7, 410);
    first.gap(12.0, "shop/pods", false, None);
    first.finding(
        12.1,
        "F11",
        Severity::Error,
        Standing::Raised,
        "shop/pods",
        "History is gone.",
    );
    first.finding(
        13.0,
        "F08",
        Severity::Note,
        Standing::Cleared,
        "shop/pods",
        "It streams.",
    );
    let mut second = Log::steady("b", 60.0, 9);
    second.push(
        70.0,
        Note {
            watch: Some(WatchName::from("shop/pods")),
            ..Note::new(
                Author::Story,
                "A | `name` <script>alert(1)</script> [x](https://y) @all".to_owned(),
            )
        },
    );
    (first, second)
}

#[test]
fn a_table_and_lines_have_each_record_of_the_range_once() {
    let log = random_log(3, 400);
    let (from, to) = (log.records[50].at, log.records[300].at);
    let within = log
        .records
        .iter()
        .filter(|record| (from..=to).contains(&record.at));
    let count = within.count();
    let taken = taken(&[&log], from, to);
    let lines = String::from_utf8(jsonl(&taken).unwrap()).unwrap();
    // And the `log` line of each run.
    assert_eq!(lines.lines().count(), count + 1);
    let table = csv(&taken).unwrap();
    let table = String::from_utf8(table).unwrap();
    assert_eq!(table.matches("\r\n").count(), count + 1);
}

#[test]
fn a_cell_that_a_spreadsheet_would_compute_is_text() {
    let mut log = Log::steady("a", 0.0, 1);
    log.push(
        2.0,
        Note::new(Author::Story, "=HYPERLINK(\"https://x\",\"y\")".to_owned()),
    );
    let table = csv(&taken(&[&log], at(0.0), at(9.0))).unwrap();
    let table = String::from_utf8(table).unwrap();
    let line = table.lines().last().unwrap();
    assert!(
        line.ends_with("\"'=HYPERLINK(\"\"https://x\"\",\"\"y\"\")\""),
        "{line}"
    );
}

#[test]
fn the_timeline_lists_failures_and_the_time_between_runs() {
    let (first, second) = night();
    let taken = taken(&[&first, &second], at(0.0), at(90.0));
    assert_snapshot!(markdown(&taken, &SAYS).unwrap(), @r#"
    # A night &lt;b&gt;in&lt;/b&gt; \| \`shop\`

    2026-11-19 09:31:00.000 to 2026-11-19 09:32:30.000 UTC (1 min 30 s). Times below are UTC.

    Log log, epoch a, records 1 to 28, by watchscope 0.1.0.

    Log log, epoch b, records 1 to 21, by watchscope 0.1.0.

    ## Findings

    | Since | Until | Code | What happened | Evidence |
    |---|---|---|---|---|
    | 09:31:18.900 | 09:31:21.800 | F08 | F08 name: It was reset. Over: It streams. | 1 |
    | 09:31:20.900 | not known after 09:31:21.800 | F11 | F11 name: History is gone. | 1 |

    ## Timeline

    | Time | Where | What | Record |
    |---|---|---|---|
    | **2026-11-19** | | | |
    | 09:31:00.000 | shop/pods | Watch shop/pods started. | 1 |
    | 09:31:18.900 | shop/pods | F08 F08 name raised: It was reset. | 24 |
    | 09:31:19.800 | shop/pods | ERROR 410 (Expired) ended stream 7. The history after the last resourceVersion is gone: only a list can show what was missed. | 25 |
    | 09:31:20.800 | shop/pods | The gap closed without a resume: it is unknown how many events were missed. | 26 |
    | 09:31:20.900 | shop/pods | F11 F11 name raised: History is gone. | 27 |
    | 09:31:21.800 | shop/pods | F08 F08 name cleared: It streams. | 28 |
    | 09:31:21.800 |  | Nobody watched until 09:32:00.000, for 38 s: watchscope was restarted. |  |
    | 09:32:10.000 | shop/pods | A \| \`name\` &lt;script&gt;alert(1)&lt;/script&gt; \[x\](https&#58;//y) &#64;all | 21 |

    ## Checks by hand

    These commands read and change nothing. From Kubernetes 1.34 on a list may be that of a watch cache too; what is read of one object is etcd's.

    ```sh
    # pods: the list, and the list of a watch cache
    kubectl get --raw '/api/v1/namespaces/shop/pods?limit=500'
    kubectl get --raw '/api/v1/namespaces/shop/pods?resourceVersion=0'
    ```
    "#);
}

#[test]
fn two_exports_are_equal_and_hostile_text_is_text_in_each_form() {
    let (first, second) = night();
    let taken = || taken(&[&first, &second], at(0.0), at(90.0));
    let picture = |taken: &Taken| svg(taken, &SAYS, SIZE, Theme::Light, Shown::All).unwrap();
    let drawn = picture(&taken());
    assert_eq!(drawn, picture(&taken()));
    assert!(drawn.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1920\""));
    assert!(
        drawn.contains("A night &lt;b&gt;in&lt;/b&gt; | `shop`"),
        "the title"
    );
    assert!(drawn.contains("watchscope restarted"), "the seam");
    assert!(drawn.contains("F11 name: History is gone."), "the findings");
    for text in [drawn, markdown(&taken(), &SAYS).unwrap()] {
        assert!(!text.contains("<script") && !text.contains("<b>"), "{text}");
    }
    let file = |taken: &Taken| recording(taken, <[u8]>::to_vec).unwrap();
    assert_eq!(file(&taken()), file(&taken()));
}

/// The same night with notes of persons: two close together, one about a span, and one written the day before.
fn night_with_notes() -> (Log, Log) {
    let (mut first, mut second) = night();
    let person = |text: &str| Note::new(Author::Person, text.to_owned());
    first.push(
        14.0,
        person("The reset\nA switch was restarted; nobody had said so."),
    );
    let spans = Note {
        watch: Some(WatchName::from("shop/pods")),
        from: Some(at(11.0)),
        to: Some(at(30.0)),
        ..person(
            "History is gone <script>\nWhat came in between is not known. The list that followed says only what is there.",
        )
    };
    second.push(71.0, spans);
    let close = Note {
        from: Some(at(11.5)),
        ..person("Retried by hand")
    };
    second.push(72.0, close);
    (first, second)
}

#[test]
fn a_picture_numbers_the_notes_of_its_range_by_time_and_shows_their_texts() {
    let (first, second) = night_with_notes();
    let taken = taken(&[&first, &second], at(0.0), at(90.0));
    let drawn = svg(&taken, &SAYS, SIZE, Theme::Light, Shown::All).unwrap();
    let place = |text: &str| drawn.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(
        place(">History is gone &lt;script&gt;<") < place(">What came in between is not known.")
    );
    // Notes are numbered by the times that they are about, not by those of their records.
    assert!(
        place(">History is gone &lt;script&gt;<") < place(">Retried by hand<")
            || drawn.contains(">3<")
    );
    assert!(!drawn.contains("<script"));
    let within = taken
        .only(BTreeSet::from(["shop/pods".into()]))
        .unwrap()
        .unwrap();
    let drawn = svg(&within, &SAYS, SIZE, Theme::Light, Shown::All).unwrap();
    assert!(
        drawn.contains("History is gone"),
        "it has the note on the shown watch"
    );
}

#[test]
fn a_report_has_no_script_makes_no_request_and_shows_hostile_text_as_text() {
    let (first, second) = night();
    let taken = taken(&[&first, &second], at(0.0), at(90.0));
    let mut images = charts(&taken, None, &SAYS, Theme::Light).unwrap();
    for chart in &mut images {
        chart.title = "\"><script>".to_owned();
    }
    let parts = ReportParts {
        says: &SAYS,
        picture: &images[0].svg,
        charts: &images[1..],
        context: (taken.from, taken.to),
    };
    let page = report(&taken, &parts).unwrap();
    assert_eq!(page, report(&taken, &parts).unwrap());
    for markup in ["<script", "<b>in", "url(", "@import", "javascript:"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert_eq!(
        page.matches(" src=\"").count(),
        page.matches(" src=\"data:image/svg+xml;base64,").count()
    );
    assert_eq!(page.matches("<img ").count(), images.len());
    let policy = page
        .split("style-src '")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    let style = page
        .split("<style>")
        .nth(1)
        .unwrap()
        .split("</style>")
        .next()
        .unwrap();
    assert_eq!(
        policy,
        format!("sha256-{}", STANDARD.encode(Sha256::digest(style)))
    );
    assert!(page.contains("default-src 'none'; img-src data:;"));
    // The report has these texts.
    for words in [
        "A night &lt;b&gt;in&lt;/b&gt; | `shop`",
        "unknown, in 1 gap",
        "History is gone.",
        "Nobody watched until",
        "Hidden: nothing.",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_report_says_that_evidence_lies_before_its_range() {
    let mut log = Log::steady("a", 0.0, 30);
    let (severity, state) = (Severity::Error, Standing::Raised);
    log.finding(50.0, "F08", severity, state, "shop/pods", "it was reset");
    let page_from = |from: f64| {
        let taken = taken(&[&log], at(from), at(60.0));
        let charts = charts(&taken, None, &SAYS, Theme::Light).unwrap();
        let parts = ReportParts {
            says: &SAYS,
            picture: &charts[0].svg,
            charts: &charts[1..],
            context: (taken.from, taken.to),
        };
        report(&taken, &parts).unwrap()
    };
    assert!(page_from(40.0).contains(">before this range<"));
    assert!(!page_from(0.0).contains(">before this range<"));
}

#[test]
fn an_export_of_some_lanes_has_only_their_records() {
    let log = random_log(5, 300);
    let end = log.records.last().unwrap().at;
    let all = taken(&[&log], at(0.0), end);
    let watches = all.watches();
    assert!(watches.len() > 1, "{watches:?}");
    let one: BTreeSet<WatchName> = watches.first().cloned().into_iter().collect();
    let some = all.only(one.clone()).unwrap().unwrap();
    assert_eq!(some.watches(), one);
    let table = String::from_utf8(csv(&some).unwrap()).unwrap();
    let (one, other) = (one.first().unwrap(), watches.last().unwrap());
    let drawn = svg(&some, &SAYS, SIZE, Theme::Light, Shown::All).unwrap();
    assert!(drawn.contains(">0 records</text>") && drawn.contains(">Left out</text>"));
    assert!(
        !drawn.contains("lost by watchscope"),
        "these records are left out on purpose"
    );
    assert!(table.contains(&format!(",{one},")) && !table.contains(&format!(",{other},")));
}

#[test]
fn notes_about_the_range_are_exported_wherever_they_were_written() {
    let (first, second) = night();
    let place = |epoch: &str, seq: u64| NoteKey {
        log: "log".into(),
        epoch: epoch.into(),
        seq: Seq(seq),
    };
    let kept = |seq: u64, note: Note| KeptNote {
        key: place("c", seq),
        at: at(5_000.0),
        note,
    };
    let said = |text: &str| Note::new(Author::Person, text.to_owned());
    let mut notes = Notes::default();
    for note in [
        kept(
            3,
            Note {
                watch: Some(WatchName::from("shop/pods")),
                from: Some(at(10.5)),
                to: Some(at(12.5)),
                ..said(
                    "Here <script>alert(1)</script> it | broke \u{202e}\u{1b}[2J\nSee the ticket.",
                )
            },
        ),
        kept(
            4,
            Note {
                from: Some(at(11.0)),
                ..said("withdrawn")
            },
        ),
        kept(
            5,
            Note {
                replaces: Some(place("c", 4)),
                ..said("")
            },
        ),
        kept(
            6,
            Note {
                from: Some(at(900.0)),
                ..said("Of another time.")
            },
        ),
    ] {
        notes.insert(note);
    }
    let taken = taken(&[&first, &second], at(0.0), at(90.0)).with_notes(&notes);
    let text = markdown(&taken, &SAYS).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("Note")).collect();
    assert_snapshot!(lines.join("\n"), @r"| 09:31:10.500 | shop/pods | (1) Note: Here &lt;script&gt;alert(1)&lt;/script&gt; it \| broke   \[2J See the ticket. (about 2026-11-19 09:31:10.500 to 2026-11-19 09:31:12.500 UTC) | c.3 |");
    let lines = String::from_utf8(jsonl(&taken).unwrap()).unwrap();
    let outside: Vec<&str> = lines
        .lines()
        .filter(|line| line.contains(r#""author":"person""#))
        .collect();
    assert_snapshot!(outside.join("\n"), @r#"{"type":"note","log":"log","epoch":"c","seq":3,"at":"2026-11-19T10:54:20.000000Z","author":"person","text":"Here <script>alert(1)</script> it | broke \u202e\u001b[2J\nSee the ticket.","watch":"shop/pods","from":"2026-11-19T09:31:10.500000Z","to":"2026-11-19T09:31:12.500000Z"}"#);
    let table = String::from_utf8(csv(&taken).unwrap()).unwrap();
    assert!(
        table.contains("c,3,") && !table.contains("Of another time"),
        "{table}"
    );
    let file = recording(&taken, <[u8]>::to_vec).unwrap();
    assert!(!file.is_empty());
}

#[test]
fn a_picture_of_very_many_watches_has_strips_and_counts_those_without_room() {
    let mut log = Log::steady("a", 0.0, 3);
    for watch in 0..900 {
        log.opened(0.2, &format!("shop/r{watch}"), 100 + watch, &["a"], 100);
    }
    let taken = taken(&[&log], at(0.0), at(3.0));
    let drawn = svg(&taken, &SAYS, SIZE, Theme::Light, Shown::All).unwrap();
    assert!(drawn.contains("and 430 quiet watches"), "{drawn}");
    let (_, rest) = drawn.split_once("height=\"").unwrap();
    let height: u32 = rest.split_once('"').unwrap().0.parse().unwrap();
    assert!(height < 10_000, "{height}");
}
