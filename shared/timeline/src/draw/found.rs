//! Draws ticks where a search has hits: on the lane of each hit, or on the row that stands for that lane.

use watchscope_model::{Time, tree};

use super::look::HAIR;
use crate::id::{LaneId, RecordId, WatchId};
use crate::lanes::{Row, RowKind, Rows};
use crate::scene::{Area, Hit, Primitive, Px, Scene, Step, Stroke, Target};
use crate::tokens::Token;
use crate::view::View;

/// Half the width of a tick, in px. Two ticks touch if their centres are at most twice this apart. The number has no
/// source.
const HALF: Px = Px::whole(5);
/// Height of a tick: 5.5 px, in 64ths of a px. The number has no source.
const HEIGHT: Px = Px(352);
/// Height of the bar that joins ticks that touch, in px. The number has no source.
const BAR: Px = Px::whole(4);
/// Half the width of the frame of the current hit: 9.5 px, in 64ths of a px. The number has no source.
const FRAME_HALF: Px = Px(608);
/// Line width of the current hit's frame: 1.5 px, in 64ths of a px. The number has no source.
const FRAME_LINE: Px = Px(96);

/// A hit of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundMark {
    /// The lane of the hit. The lane need not have a row.
    pub lane: LaneId,
    /// The time of the hit's record.
    pub at: Time,
    /// The hit's record; `None` if no record is the hit, or if the store does not know its epoch.
    pub record: Option<RecordId>,
}

/// Adds a tick for each of the marks to the scene of the lanes, on the upper edge of the row of its lane. For a lane
/// without a row, the tick is on the row that stands for the lane. That is the row of further or gone objects, the
/// watch's, or that of quiet watches. A mark out of sight, or for which no row stands, has no tick. The current hit has
/// a frame instead of a tick; other marks at the same px of its row have no tick either.
///
/// `top` is the scene's upper edge, in px from the top of all rows. Ticks of one row that touch become one. So a row
/// has at most one tick for each 11 px, and a scene has at most as many ticks as there are marks. A tick answers to the
/// pointer as the record of its first mark, if that mark has one.
pub fn found_ticks(
    scene: &mut Scene,
    (rows, top): (&Rows, Px),
    view: &View,
    marks: &[FoundMark],
    current: Option<FoundMark>,
) {
    let (from, to) = (-FRAME_HALF, scene.width + FRAME_HALF);
    let is_seen = |mark: &&FoundMark| {
        let x = view.x(mark.at);
        from <= x && x <= to
    };
    let mut seen = marks.iter().chain(&current).filter(is_seen).peekable();
    if seen.peek().is_none() {
        return;
    }
    let places = Places::of(rows);
    let window = rows.window(top, top + scene.height);
    let place_of = |mark: &FoundMark| {
        let row = places.row_of(mark.lane)?;
        window
            .contains(&row)
            .then(|| (row, view.x(mark.at).floor()))
    };
    let framed = current.as_ref().and_then(place_of);
    let placed = seen.filter_map(|mark| Some((place_of(mark)?, mark.record)));
    let mut placed: Vec<_> = placed.filter(|(place, _)| Some(*place) != framed).collect();
    tree::sort(&mut placed);
    let mut run: Option<TickRun> = None;
    for ((row, x), record) in placed {
        run = match run {
            Some(run) if run.row == row && x - run.last <= HALF + HALF => {
                Some(TickRun { last: x, ..run })
            }
            other => {
                tick(scene, (rows, top), other);
                Some(TickRun {
                    row,
                    first: x,
                    last: x,
                    record,
                })
            }
        };
    }
    tick(scene, (rows, top), run);
    if let Some((row, x)) = framed {
        frame(scene, &rows.rows[row], top, x);
    }
}

/// Ticks of a row that touch.
#[derive(Clone, Copy)]
struct TickRun {
    /// The index of the row.
    row: usize,
    /// The x of the first tick.
    first: Px,
    /// The x of the last tick.
    last: Px,
    /// The record of the first tick.
    record: Option<RecordId>,
}

/// Draws one tick for ticks of a row that touch: from the x of the first to the x of the last.
fn tick(scene: &mut Scene, (rows, top): (&Rows, Px), run: Option<TickRun>) {
    let Some(run) = run else {
        return;
    };
    let TickRun {
        row,
        first,
        last,
        record,
    } = run;
    let y = rows.rows[row].y - top + HAIR;
    let mut triangle = |x: Px| {
        let steps = scene.path(&[
            Step::Move(x - HALF, y),
            Step::Line(x + HALF, y),
            Step::Line(x, y + HEIGHT),
            Step::Close,
        ]);
        scene.primitives.push(Primitive::Path {
            steps,
            fill: Some(Token::Text1),
            stroke: Some(Stroke::solid(Token::Ground0, HAIR)),
            opacity: 100,
        });
    };
    triangle(first);
    if first < last {
        triangle(last);
        scene.primitives.push(Primitive::Rect {
            area: Area::between(first, last, y, y + BAR),
            fill: Some(Token::Text1),
            stroke: None,
            radius: 0,
            opacity: 100,
        });
    }
    if let Some(record) = record {
        scene.hits.push(Hit {
            area: Area::between(first - HALF, last + HALF, y, y + HEIGHT),
            lane: rows.rows[row].id,
            target: Target::Record(record),
            drawn: None,
        });
    }
}

/// Draws the frame of the current hit.
fn frame(scene: &mut Scene, row: &Row, top: Px, x: Px) {
    let y = row.y - top + HAIR.half();
    let area = Area {
        x: x - FRAME_HALF,
        y,
        w: FRAME_HALF + FRAME_HALF,
        h: row.height - HAIR,
    };
    scene.primitives.push(Primitive::Rect {
        area,
        fill: None,
        stroke: Some(Stroke::solid(Token::Text1, FRAME_LINE)),
        radius: 2,
        opacity: 100,
    });
}

/// For each lane, the index of its row, sorted by lane.
struct Places(Vec<(LaneId, usize)>);

impl Places {
    /// Reads all rows. For a lane with several rows, the first row counts. A closed row of gone objects stands for the
    /// lanes of these objects.
    fn of(rows: &Rows) -> Self {
        let mut places: Vec<(LaneId, usize)> = rows
            .rows
            .iter()
            .enumerate()
            .map(|(place, row)| (row.id, place))
            .collect();
        let gone = rows.rows.iter().enumerate();
        let gone = gone.filter(|(_, row)| row.kind == RowKind::Gone);
        let gone: Vec<(WatchId, usize)> = gone
            .filter_map(|(place, row)| Some((row.id.watch()?, place)))
            .collect();
        for &(watch, object) in &rows.gone_of {
            let of_watch = gone.iter().find(|(of, _)| *of == watch);
            places.extend(of_watch.map(|(_, place)| (LaneId::Object(watch, object), *place)));
        }
        // The sort keeps the order of rows of one lane, so the first one stays.
        tree::sort_by_key(&mut places, |(lane, place)| (*lane, *place));
        places.dedup_by_key(|(lane, _)| *lane);
        Self(places)
    }

    /// Returns the row of a lane, or the row that stands for it.
    fn row_of(&self, lane: LaneId) -> Option<usize> {
        let find = |lane: LaneId| {
            let place = self.0.binary_search_by_key(&lane, |(of, _)| *of).ok()?;
            Some(self.0[place].1)
        };
        let stands_for = |watch: WatchId| {
            let more = lane.object().and_then(|_| find(LaneId::More(watch)));
            more.or_else(|| find(LaneId::Watch(watch)))
                .or_else(|| find(LaneId::Quiet))
        };
        find(lane).or_else(|| stands_for(lane.watch()?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use watchscope_model::Seq;

    use super::*;
    use crate::id::ObjectId;

    /// The watch of the tests.
    const WATCH: WatchId = WatchId(0);

    fn row(id: LaneId, kind: RowKind, y: i32) -> Row {
        Row {
            id,
            kind,
            y: Px::whole(y),
            label: Px::ZERO,
            height: Px::whole(18),
            glyph_size: 10,
            indent_px: 12,
            prefix: "".into(),
            name: "".into(),
            count: None,
            expanded: None,
            mark: None,
            finding: None,
            diverged: false,
            pinned: false,
        }
    }

    fn object(number: u32) -> LaneId {
        LaneId::Object(WATCH, ObjectId(number))
    }

    /// Returns a watch with two objects, the row of its other objects, and the row of its gone objects.
    fn rows() -> Rows {
        Rows {
            rows: vec![
                row(LaneId::Watch(WATCH), RowKind::Watch, 0),
                row(object(0), RowKind::Object, 18),
                row(object(1), RowKind::Object, 36),
                row(LaneId::More(WATCH), RowKind::More, 54),
                row(LaneId::Gone(WATCH), RowKind::Gone, 72),
            ],
            height: Px::whole(90),
            gone_of: vec![(WATCH, ObjectId(7))],
            ..Rows::default()
        }
    }

    fn view() -> View {
        View::between(Time(0), Time(1_000_000), 1_000.0)
    }

    fn mark(lane: LaneId, ms: i64) -> FoundMark {
        FoundMark {
            lane,
            at: Time(ms * 1_000),
            record: None,
        }
    }

    /// Draws marks at 1 px for each ms, and returns the y of each triangle with its tip's x.
    fn tips(marks: &[FoundMark], current: Option<FoundMark>) -> Vec<(i32, i32)> {
        let mut scene = Scene {
            width: Px::whole(1_000),
            height: Px::whole(90),
            ..Scene::default()
        };
        found_ticks(&mut scene, (&rows(), Px::ZERO), &view(), marks, current);
        let tips = scene
            .steps
            .chunks(4)
            .map(|steps| match (steps[0], steps[2]) {
                (Step::Move(_, y), Step::Line(x, _)) => (y.to_f64() as i32, x.to_f64() as i32),
                other => panic!("{other:?}"),
            });
        tips.collect()
    }

    #[test]
    fn a_tick_stands_on_the_row_of_its_lane_or_on_the_row_that_stands_for_it() {
        let marks = [
            mark(LaneId::Watch(WATCH), 100),
            mark(object(1), 200),
            mark(object(5), 300),
            mark(object(7), 400),
            mark(LaneId::Version(WATCH), 500),
            mark(LaneId::Findings, 600),
        ];
        assert_eq!(
            tips(&marks, None),
            [(1, 100), (1, 500), (37, 200), (55, 300), (73, 400)]
        );
    }

    #[test]
    fn ticks_that_touch_are_one_bar_with_two_ends() {
        let marks = [0, 8, 15, 26].map(|ms| mark(object(0), 100 + ms));
        assert_eq!(tips(&marks, None), [(19, 100), (19, 115), (19, 126)]);
    }

    #[test]
    fn a_tick_answers_to_the_pointer_as_the_record_of_its_first_mark() {
        let with = |ms: i64, seq: u64| FoundMark {
            record: Some(RecordId {
                epoch: 0,
                seq: Seq(seq),
            }),
            ..mark(object(0), ms)
        };
        let mut scene = Scene {
            width: Px::whole(1_000),
            height: Px::whole(90),
            ..Scene::default()
        };
        let marks = [
            with(105, 8),
            with(100, 7),
            with(300, 9),
            mark(object(1), 300),
        ];
        found_ticks(&mut scene, (&rows(), Px::ZERO), &view(), &marks, None);
        let hits = scene.hits.iter().map(|hit| {
            let (from, to) = (hit.area.x.to_f64(), hit.area.right().to_f64());
            (from, to, hit.lane, hit.target.clone())
        });
        let record = |seq| Target::Record(with(0, seq).record.unwrap());
        assert_eq!(
            hits.collect::<Vec<_>>(),
            [
                (95.0, 110.0, object(0), record(7)),
                (295.0, 305.0, object(0), record(9))
            ]
        );
    }

    #[test]
    fn the_current_hit_has_a_frame_and_no_tick() {
        let current = mark(object(0), 100);
        let marks = [current, mark(object(0), 300)];
        assert_eq!(tips(&marks, Some(current)), [(19, 300)]);
        assert!(tips(&[], Some(mark(object(0), 5_000))).is_empty());
    }

    proptest! {
        #[test]
        fn each_mark_in_view_is_under_a_tick_and_a_row_has_at_most_one_for_each_eleven_px(
            times in prop::collection::vec(-200i64..1_200, 0..400),
        ) {
            let marks: Vec<FoundMark> = times.iter().map(|&ms| mark(object(0), ms)).collect();
            let mut scene = Scene {
                width: Px::whole(1_000),
                height: Px::whole(90),
                ..Scene::default()
            };
            found_ticks(&mut scene, (&rows(), Px::ZERO), &view(), &marks, None);
            let rects = scene.primitives.iter().filter_map(|of| match of {
                Primitive::Rect { area, .. } => Some((area.x, area.right())),
                _ => None,
            });
            let ends = scene.steps.chunks(4).filter_map(|steps| match steps[2] {
                Step::Line(x, _) => Some((x, x)),
                _ => None,
            });
            let drawn: Vec<(Px, Px)> = rects.chain(ends).collect();
            for ms in times.into_iter().filter(|ms| (0..=1_000).contains(ms)) {
                let x = Px::whole(ms as i32);
                prop_assert!(drawn.iter().any(|&(from, to)| from <= x && x <= to), "{}", ms);
            }
            prop_assert!(scene.primitives.len() <= 3 * (1_000 / 11 + 2));
        }
    }
}
