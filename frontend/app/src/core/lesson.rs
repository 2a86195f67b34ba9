//! What the panels of a lesson compute: marks of its text, times in words, the scale of its bar, and where a dragged act
//! lands.

use watchscope_model::wire::player::{ActText, COLUMN_BITS, COLUMN_MOST, LessonText};

/// A lesson longer than this has a bar on which each passage has room. The number has no source.
const LONG_US: i64 = 120_000_000;

/// Within this distance of a time to which an act snaps, a drag lands on that time.
const SNAP_US: i64 = 150_000;
/// The steps of a drag and of the arrow keys.
pub const STEP_US: i64 = 100_000;
/// The steps of the arrow keys with Shift.
pub const STRIDE_US: i64 = 1_000_000;

/// The height of a ring around a moment, in px.
const RING_PX: f64 = 22.0;
/// The distance of two rings beside each other, in px, so that neither covers the other or its number.
const RINGS_APART_PX: f64 = 32.0;

/// Returns the x of a ring, in px: the nearest to its moment at which it covers no ring before it.
#[must_use]
pub fn ring_x(before: &[(f64, f64)], (x_px, y_px): (f64, f64)) -> f64 {
    let beside = before.iter().filter(|(_, y)| (y - y_px).abs() < RING_PX);
    let beside: Vec<f64> = beside.map(|&(x, _)| x).collect();
    // Half a pixel less: sums of these numbers are not exact.
    let is_free = |x_px: &f64| {
        let is_apart = |x: &f64| (x - x_px).abs() > RINGS_APART_PX - 0.5;
        beside.iter().all(is_apart)
    };
    let edges = beside
        .iter()
        .flat_map(|x| [x + RINGS_APART_PX, x - RINGS_APART_PX]);
    let free = std::iter::once(x_px).chain(edges).filter(is_free);
    let off_px = |place: &f64| (place - x_px).abs();
    free.min_by(|a, b| off_px(a).total_cmp(&off_px(b)))
        .unwrap_or(x_px)
}

/// Returns the place of a time on the bar, from 0 to 1. On the bar of a long lesson, half of the length is for time, and
/// the other half gives each passage the same room.
#[must_use]
pub fn share_from_time(text: &LessonText, at_us: i64) -> f64 {
    let [(from_us, from), (to_us, to)] = piece(text, |&(us, _)| us <= at_us);
    let part = (at_us - from_us) as f64 / (to_us - from_us).max(1) as f64;
    from + (to - from) * part.clamp(0.0, 1.0)
}

/// Returns the time at a place of the bar; the reverse of [`share_from_time`].
#[must_use]
pub fn time_from_share(text: &LessonText, share: f64) -> i64 {
    let [(from_us, from), (to_us, to)] = piece(text, |&(_, known)| known <= share);
    let part = ((share - from) / (to - from).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    from_us + ((to_us - from_us) as f64 * part) as i64
}

/// Returns the begin and the end of the piece of the bar behind the places that `is_before` names, each with its time
/// and its place.
fn piece(text: &LessonText, is_before: impl Fn(&(i64, f64)) -> bool) -> [(i64, f64); 2] {
    let places = places(text);
    let next = places.partition_point(is_before);
    let next = next.clamp(1, places.len() - 1);
    [places[next - 1], places[next]]
}

/// Returns the times between which the bar is even, with their places. The first is 0 and the last is the lesson's end.
fn places(text: &LessonText) -> Vec<(i64, f64)> {
    let lasts_us = text.lasts_us.max(1);
    let begins = text.passages.iter().map(|passage| passage.at_us);
    let is_within = |at_us: &i64| (1..lasts_us).contains(at_us);
    let begins = begins.filter(|at_us| lasts_us > LONG_US && is_within(at_us));
    let mut times = vec![0];
    times.extend(begins);
    times.push(lasts_us);
    let parts = (times.len() - 1) as f64;
    let place = |(number, at_us): (usize, i64)| {
        let share = at_us as f64 / lasts_us as f64;
        (at_us, (share + number as f64 / parts) / 2.0)
    };
    times.into_iter().enumerate().map(place).collect()
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Plain text.
    Plain(String),
    /// Stressed text, `*…*` in the source.
    Stressed(String),
    /// Code, `` `…` `` in the source.
    Code(String),
    /// The moment with this number, from 1; `{1}` in the source.
    Moment(u32),
}

/// The marks of a person who answers a question: bit n is for the lane or the cell with index n, below 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The lanes in the set, or the cells of objects that a client holds.
    pub set: u32,
    /// The lanes or cells that the person has filled in.
    pub filled: u32,
}

impl Marks {
    /// Returns the marks with a lane added to the set, or taken out of it.
    #[must_use]
    pub fn tapped(self, place: u32) -> Self {
        let bit = 1_u32.checked_shl(place).unwrap_or(0);
        Self {
            set: self.set ^ bit,
            filled: self.filled | bit,
        }
    }

    /// Returns the marks with a cell filled in.
    #[must_use]
    pub fn filled_in(self, place: u32, holds: bool) -> Self {
        let bit = 1_u32.checked_shl(place).unwrap_or(0);
        let set = if holds {
            self.set | bit
        } else {
            self.set & !bit
        };
        Self {
            set,
            filled: self.filled | bit,
        }
    }

    /// Returns the marks with a column of a histogram drawn to a height of at most 7 steps. The marks have 10 columns.
    #[must_use]
    pub fn drawn(self, place: u32, height: u32) -> Self {
        let at = place * COLUMN_BITS;
        let mask = COLUMN_MOST.checked_shl(at).unwrap_or(0);
        let height = height.min(COLUMN_MOST).checked_shl(at).unwrap_or(0);
        Self {
            set: self.set & !mask | height,
            filled: self.filled | 1_u32.checked_shl(place).unwrap_or(0),
        }
    }

    /// Whether all of this many marks are filled in.
    #[must_use]
    pub fn is_full(self, count: usize) -> bool {
        self.filled.count_ones() as usize >= count
    }
}

/// Cuts a text at its marks. A mark without an end is plain text.
#[must_use]
pub fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '*' | '`' => Some(first),
            '{' => Some('}'),
            _ => None,
        };
        let after = &rest[first.len_utf8()..];
        let marked = end.and_then(|end| after.split_once(end));
        let part = marked.and_then(|(inner, left)| {
            let part = match first {
                '*' => Part::Stressed(inner.to_owned()),
                '`' => Part::Code(inner.to_owned()),
                _ => Part::Moment(inner.parse().ok()?),
            };
            Some((part, left))
        });
        match part {
            Some((part, left)) => {
                if !plain.is_empty() {
                    parts.push(Part::Plain(std::mem::take(&mut plain)));
                }
                parts.push(part);
                rest = left;
            }
            None => {
                plain.push(first);
                rest = after;
            }
        }
    }
    if !plain.is_empty() {
        parts.push(Part::Plain(plain));
    }
    parts
}

/// Returns a time of a lesson in seconds with one decimal, cut off: `18.0 s`.
#[must_use]
pub fn seconds(at_us: i64) -> String {
    format!("{} s", tenths(at_us))
}

/// Returns a time of a lesson in seconds with one decimal, cut off, without a unit: `18.0`.
#[must_use]
pub fn tenths(at_us: i64) -> String {
    let tenths = at_us.max(0) / STEP_US;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Returns a time of a lesson in seconds, without decimals if it has none: `18 s`, `0.5 s`.
#[must_use]
pub fn whole_seconds(at_us: i64) -> String {
    if at_us % STRIDE_US == 0 {
        format!("{} s", at_us / STRIDE_US)
    } else {
        seconds(at_us)
    }
}

/// The least distance of two labels of the ruler, in px.
const LABELS_APART_PX: f64 = 64.0;
/// The steps of the ruler, in tenths of a second.
const RULER_STEPS: [i64; 9] = [1, 2, 5, 10, 20, 50, 100, 300, 600];

/// Returns the times with a label on a ruler from a time to another, which is `width_px` wide. There are at most
/// `width_px` / 64 + 1.
#[must_use]
pub fn ruler(from_us: i64, to_us: i64, width_px: f64) -> Vec<i64> {
    let us_per_px = (to_us - from_us) as f64 / width_px.max(1.0);
    let least_us = us_per_px * LABELS_APART_PX;
    let steps = RULER_STEPS.map(|tenths| tenths * STEP_US);
    let Some(step_us) = steps
        .into_iter()
        .find(|step_us| *step_us as f64 >= least_us)
    else {
        return Vec::new();
    };
    let first = (from_us.max(0) + step_us - 1).div_euclid(step_us);
    let last = to_us.div_euclid(step_us);
    (first..=last).map(|number| number * step_us).collect()
}

/// Returns where an act that is dragged to a time lands: in the act's bounds, at a whole tenth of a second, and on a
/// time to which it snaps if one is near.
#[must_use]
pub fn landed(act: &ActText, to_us: i64) -> i64 {
    let near = |at: &&i64| (**at - to_us).abs() <= SNAP_US;
    let nearest = act.snaps_us.iter().filter(near);
    let snapped = nearest.min_by_key(|at| (**at - to_us).abs());
    let stepped = (to_us + STEP_US / 2).div_euclid(STEP_US) * STEP_US;
    within(act, snapped.copied().unwrap_or(stepped))
}

/// Returns the time, or the nearest bound of a time outside the act's bounds.
#[must_use]
pub fn within(act: &ActText, at_us: i64) -> i64 {
    at_us.min(act.to_us).max(act.from_us)
}

#[cfg(test)]
mod tests {
    use watchscope_model::wire::player::{PassageText, column_height, is_column_right};

    use super::*;

    fn lesson(lasts_us: i64, begins_us: &[i64]) -> LessonText {
        let passage = |at_us: &i64| PassageText {
            title: String::new(),
            at_us: *at_us,
            from_us: 0,
            to_us: 0,
            text: Vec::new(),
            moments: Vec::new(),
            question: None,
            act: None,
            lanes: 0,
            has_wire: false,
            has_holds: false,
            has_code: false,
            has_ends: false,
            has_crowd: false,
            has_breaks: false,
        };
        LessonText {
            name: String::new(),
            title: String::new(),
            number: 1,
            lasts_us,
            passages: begins_us.iter().map(passage).collect(),
            breaks: Vec::new(),
            acts: Vec::new(),
            goals: Vec::new(),
            lessons: Vec::new(),
            servers: Vec::new(),
            clients: Vec::new(),
            unknown: None,
            nearest: Vec::new(),
            is_offer: false,
        }
    }

    #[test]
    fn the_columns_of_a_histogram_keep_apart_and_a_step_off_is_column_right() {
        let marks = Marks::default().drawn(9, 7).drawn(0, 5).drawn(9, 3);
        assert_eq!(
            [0, 1, 9].map(|place| column_height(marks.set, place)),
            [5, 0, 3]
        );
        assert_eq!(marks.filled, 0b10_0000_0001);
        assert_eq!(marks.drawn(0, 100).set, marks.drawn(0, 7).set);
        // There is no such column.
        assert_eq!(
            (marks.drawn(11, 7).set, column_height(marks.set, 40)),
            (marks.set, 0)
        );
        let right = Marks::default().drawn(9, 4).drawn(0, 3).set;
        let near = [0, 1, 9].map(|place| is_column_right(marks.set, right, place));
        assert_eq!(near, [false, true, true]);
    }

    #[test]
    fn the_bar_of_a_short_lesson_is_even() {
        let text = lesson(60_000_000, &[3_000_000, 40_000_000]);
        assert_eq!(share_from_time(&text, 15_000_000), 0.25);
        assert_eq!(time_from_share(&text, 0.25), 15_000_000);
    }

    #[test]
    fn the_bar_of_a_long_lesson_has_room_for_each_passage() {
        let begins = [3_000_000, 17_000_000, 2_300_000_000];
        let text = lesson(2_400_000_000, &begins);
        let shares = begins.map(|at_us| (share_from_time(&text, at_us) * 100.0) as i64);
        assert_eq!(shares, [12, 25, 85]);
        for at_us in [
            0,
            2_000_000,
            3_000_000,
            30_000_000,
            2_350_000_000,
            2_400_000_000,
        ] {
            let back = time_from_share(&text, share_from_time(&text, at_us));
            assert!((back - at_us).abs() < 10, "{at_us}: {back}");
        }
        assert_eq!(
            (share_from_time(&text, -5), share_from_time(&text, i64::MAX)),
            (0.0, 1.0)
        );
        assert_eq!(
            (time_from_share(&text, -1.0), time_from_share(&text, 2.0)),
            (0, 2_400_000_000)
        );
    }

    fn act() -> ActText {
        ActText {
            words: "DELETE report".into(),
            lane: "etcd".into(),
            written_us: 8_000_000,
            from_us: 2_000_000,
            to_us: 15_500_000,
            snaps_us: vec![6_000_000, 11_000_000],
            finds: Vec::new(),
        }
    }

    #[test]
    fn a_text_is_cut_at_its_marks() {
        let plain = |text: &str| Part::Plain(text.into());
        assert_eq!(
            parts("*naive* slept {1}; `GET` {x} 2 * 3 ü"),
            [
                Part::Stressed("naive".into()),
                plain(" slept "),
                Part::Moment(1),
                plain("; "),
                Part::Code("GET".into()),
                plain(" {x} 2 * 3 ü"),
            ]
        );
        assert!(parts("").is_empty());
    }

    #[test]
    fn a_dragged_act_lands_on_tenths_on_snaps_and_within_its_bounds() {
        let land = |to_us| landed(&act(), to_us);
        assert_eq!(land(9_240_000), 9_200_000);
        assert_eq!(land(9_250_000), 9_300_000);
        assert_eq!([5_860_000, 6_140_000].map(land), [6_000_000; 2]);
        assert_eq!(land(6_170_000), 6_200_000);
        assert_eq!(land(-1), 2_000_000);
        assert_eq!(land(99_000_000), 15_500_000);
    }

    #[test]
    fn marks_are_set_taken_back_and_filled_in() {
        let marks = Marks::default().tapped(2).tapped(0).tapped(2);
        assert_eq!((marks.set, marks.filled), (0b001, 0b101));
        let marks = Marks::default().filled_in(0, true).filled_in(1, false);
        assert_eq!(
            (marks.set, marks.is_full(2), marks.is_full(3)),
            (1, true, false)
        );
        assert_eq!(marks.filled_in(0, false).set, 0);
        assert_eq!(marks.tapped(40), marks);
    }

    #[test]
    fn a_ruler_has_labels_at_whole_steps_with_room_between_them() {
        let labels = ruler(-500_000, 10_200_000, 700.0);
        assert_eq!(
            labels,
            (0..=10).map(|at| at * 1_000_000).collect::<Vec<i64>>()
        );
        assert_eq!(
            ruler(4_000_000, 24_000_000, 200.0),
            [10_000_000, 20_000_000]
        );
        assert!(ruler(0, 3_600_000_000, 10.0).is_empty());
    }

    #[test]
    fn a_ring_stands_at_its_moment_or_as_near_as_the_others_allow() {
        let before = [(120.0, 50.0), (200.0, 50.0)];
        assert_eq!(ring_x(&before, (160.0, 50.0)), 160.0);
        assert_eq!(ring_x(&before, (120.0, 80.0)), 120.0, "another row");
        assert_eq!(ring_x(&before, (150.0, 50.0)), 152.0, "to the right");
        assert_eq!(ring_x(&before, (170.0, 50.0)), 168.0, "to the left");
        assert_eq!(ring_x(&[(100.0, 0.0), (132.0, 0.0)], (102.0, 0.0)), 68.0);
    }

    #[test]
    fn times_are_in_seconds_with_one_decimal() {
        assert_eq!(seconds(18_000_000), "18.0 s");
        assert_eq!(tenths(9_299_999), "9.2");
        assert_eq!(tenths(-1), "0.0");
    }
}
