//! The pictures of docs/findings: each row's own story as the page draws it. A picture has the lanes that matter, in
//! the seconds around the finding.

mod shot;

use watchscope_model::chapter::ChapterWriter;
use watchscope_model::{Event, InsideRecord, Record, State, Time};
use watchscope_scenarios::Run;
use watchscope_scenarios::catalogue::Row;
use watchscope_scenarios::catalogue::finds::Finds;
use watchscope_timeline::draw::Ways;
use watchscope_timeline::picture::small;
use watchscope_timeline::records::RECORDS;
use watchscope_timeline::svg::svg;
use watchscope_timeline::{LaneId, Lanes, Picture, Store, Theme, View};

use self::shot::Shot;
use super::{Setup, Variant, is_current, play, rows};

/// The width of the lanes, in px. With the tree beside them it is 720 px: as wide as a text of documentation.
const LANES_WIDTH_PX: f64 = 544.0;
/// The most bytes of a picture. A larger one shows too much, and the test fails.
const MOST_BYTES: usize = 30_000;
/// The number of records that are sealed at once.
const SEGMENT_RECORDS: u64 = 256;
const SEED: u64 = 1;

/// Returns the store of a page that followed the story's log from its beginning, without findings about other subjects.
fn store_of(run: &Run, shot: &Shot, began: Time) -> Store {
    let state = State {
        at: began,
        ..State::default()
    };
    let (mut writer, opening) = ChapterWriter::open("story".into(), "1".into(), &state);
    let mut store = Store::default();
    store.snapshot(&opening).expect("an opening of ours");
    let mut inside = run.inside().iter().peekable();
    let mut seq = state.seq;
    let mut next = || {
        seq = seq.next();
        seq
    };
    let mut last = began;
    let mut take = |writer: &mut ChapterWriter| {
        if let Some(segment) = writer.seal() {
            store.segment(&segment).expect("a segment of ours");
        }
    };
    for record in run.records() {
        if matches!(&record.event, Event::Finding(finding) if !shot.shows(finding)) {
            continue;
        }
        while let Some((at, report)) = inside.next_if(|(at, _)| *at <= record.at) {
            last = last.max(*at);
            writer.push_inside(&InsideRecord {
                seq: next(),
                at: last,
                inside: report.clone(),
            });
        }
        last = last.max(record.at);
        writer.push(&Record {
            seq: next(),
            at: last,
            event: record.event.clone(),
        });
        if writer.open_count() >= SEGMENT_RECORDS {
            take(&mut writer);
        }
    }
    take(&mut writer);
    store
}

/// The most rows with which all objects of a watch are drawn; with more rows only some are.
const ROWS_MOST: usize = 100;

/// Draws the row's picture as SVG, on light ground.
fn picture_of(row: &Row, finds: &Finds) -> String {
    let (run, began) = play(row, finds, &Setup::of(Variant::WithInside, finds), SEED);
    let shot = Shot::of(row, finds, &run, began);
    let store = store_of(&run, &shot, began);
    let view = View::between(shot.from, shot.to, LANES_WIDTH_PX);
    let mut lanes = Lanes::showing_all();
    lanes.records = Some(&RECORDS.rows);
    let mut all = lanes.rows(&store, &view, run.now());
    if all.rows.len() > ROWS_MOST {
        // Like the page, draws the objects that changed last, and counts the others.
        for row in &all.rows {
            if let LaneId::Watch(watch) = row.id {
                lanes.set_expanded(&store, watch, true);
            }
        }
        all = lanes.rows(&store, &view, run.now());
    }
    let rows = shot.chosen(&store, all);
    let picture = Picture {
        ways: Ways::Stopped,
        ..Picture::new(&store, &rows, &view, run.now())
    };
    let text = svg(&small(&picture), Theme::Light);
    if let Some(code) = &shot.code {
        assert!(text.contains(&format!(">{code}</text>")), "{}", row.code);
    }
    text
}

/// `WATCHSCOPE_TEST_ROW=F14` draws only this row.
#[test]
fn the_pictures_of_the_findings_are_current_and_small() {
    let mut large = Vec::new();
    for (row, finds) in rows() {
        let picture = picture_of(&row, &finds);
        is_current(&format!("findings/{}.svg", row.code), &picture);
        if picture.len() > MOST_BYTES {
            large.push((row.code, picture.len()));
        }
    }
    assert!(large.is_empty(), "too large: {large:?}");
}
