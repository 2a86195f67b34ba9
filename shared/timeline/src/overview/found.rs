//! Draws ticks where a search has hits, in the foot of the strip.

use watchscope_model::{Time, tree};

use super::paint::foot_of;
use super::scale::{BREAK_PX, Overview};
use crate::scene::{Area, Primitive, Px, Scene};
use crate::tokens::Token;

/// Width of a tick, in px. The number has no source.
const TICK_PX: i64 = 2;
/// Width of the current hit's tick, in px: 1 px more than [`TICK_PX`], so that it stands out. The number has no other
/// source.
const CURRENT_PX: i64 = 3;
/// Opacity of ticks in percent; the current hit's tick has 100. The number has no source.
const FAINT: u8 = 75;

/// Adds a tick for each of the times to the scene of a strip. Ticks that touch become one, so the strip's width bounds
/// their number. All hits before the axis share one tick left of the break, or at the left edge without a stub. A hit
/// after the strip's end has its tick at the right edge. The current hit has a wider tick.
pub fn found_ticks(scene: &mut Scene, scale: &Overview, times: &[Time], current: Option<Time>) {
    let last = scale.pixels() as i64 - CURRENT_PX;
    let before = (scale.before_px() - BREAK_PX - CURRENT_PX).max(0);
    let place = |at: Time| {
        let x = match scale.px_of(at) {
            x if x < scale.before_px() => before,
            x => x,
        };
        (x - 1).clamp(0, last)
    };
    let mut places: Vec<i64> = times.iter().map(|&at| place(at)).collect();
    tree::sort(&mut places);
    let foot = foot_of(scene.height);
    let mut run: Option<(i64, i64)> = None;
    for x in places {
        run = match run {
            Some((from, to)) if x <= to => Some((from, x + TICK_PX)),
            other => {
                tick(scene, other, &foot, FAINT);
                Some((x, x + TICK_PX))
            }
        };
    }
    tick(scene, run, &foot, FAINT);
    let current = current.map(place).map(|x| (x, x + CURRENT_PX));
    tick(scene, current, &foot, 100);
}

fn tick(scene: &mut Scene, xs: Option<(i64, i64)>, ys: &std::ops::Range<i64>, opacity: u8) {
    let Some((from, to)) = xs else {
        return;
    };
    let px = |whole: i64| Px::whole(whole as i32);
    scene.primitives.push(Primitive::Rect {
        area: Area::between(px(from), px(to), px(ys.start), px(ys.end)),
        fill: Some(Token::Text1),
        stroke: None,
        radius: 0,
        opacity,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::REACH_US;
    use crate::store::Store;
    use crate::view::View;

    /// Returns the strip of an empty log, 600 px for 1 min and more, with the ticks of these seconds.
    fn ticks(seconds: &[i64], current: Option<i64>) -> Vec<(f64, f64, u8)> {
        let now = Time(60_000_000);
        let view = View::between(Time(0), now, 600.0);
        let scale = Overview::new(&Store::default(), now, &view, REACH_US);
        let mut scene = Scene {
            height: Px::whole(48),
            ..Scene::default()
        };
        let at = |second: i64| Time(second * 1_000_000);
        let times: Vec<Time> = seconds.iter().map(|&second| at(second)).collect();
        found_ticks(&mut scene, &scale, &times, current.map(at));
        let ticks = scene.primitives.iter().map(|tick| match tick {
            Primitive::Rect { area, opacity, .. } => (area.x.to_f64(), area.w.to_f64(), *opacity),
            other => panic!("{other:?}"),
        });
        ticks.collect()
    }

    #[test]
    fn ticks_that_touch_are_one_and_the_current_one_is_wider() {
        let apart = ticks(&[10, 40], None);
        assert_eq!(apart.len(), 2);
        assert!(
            apart
                .iter()
                .all(|(_, width, opacity)| (*width, *opacity) == (2.0, 75))
        );
        assert_eq!(ticks(&[10, 10, 10], None).len(), 1);
        let with_current = ticks(&[10, 40], Some(10));
        assert_eq!(
            with_current.last().map(|(_, w, o)| (*w, *o)),
            Some((3.0, 100))
        );
    }

    #[test]
    fn the_width_of_the_strip_bounds_the_number_of_ticks() {
        let all: Vec<i64> = (-1_000..1_000).collect();
        let drawn = ticks(&all, None);
        assert!(drawn.len() <= 300, "{}", drawn.len());
        assert!(
            drawn
                .iter()
                .all(|(x, width, _)| *x >= 0.0 && x + width <= 600.0)
        );
    }
}
