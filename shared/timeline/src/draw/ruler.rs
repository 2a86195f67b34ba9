//! Draws the ruler over the lanes: ticks, times, and the pen's time.

use watchscope_model::Time;

use crate::format::{clock, text_width, tick};
use crate::scene::{Align, Area, Primitive, Px, Scene, TextLine};
use crate::tokens::Token;
use crate::view::View;

/// Height of the ruler, in px. The number has no source.
pub const RULER_HEIGHT: Px = Px::whole(26);

/// Opacity in percent of a marked range's ground, on the ruler, on the row of flags and over the lanes. The number has
/// no source.
pub(super) const RANGE_GROUND: u8 = 7;
/// Width and height in px of the handles at a marked range's edges. The numbers have no source.
const HANDLE: (Px, Px) = (Px::whole(3), Px::whole(18));

/// Draws the ruler of a view, [`RULER_HEIGHT`] high. A badge at `now` shows its UTC time of day; no badge is drawn if
/// `now` is out of view. `now` is the pen's time, or the moment that panels answer for.
#[must_use]
pub fn ruler(view: &View, now: Time) -> Scene {
    let width = Px::from_f64(view.width_px);
    let mut scene = Scene {
        width,
        height: RULER_HEIGHT,
        ..Scene::default()
    };
    let hair = Px::whole(1);
    rect(
        &mut scene,
        Area {
            x: Px::ZERO,
            y: Px::ZERO,
            w: width,
            h: RULER_HEIGHT,
        },
        Token::Ground2,
        0,
    );
    rect(
        &mut scene,
        Area {
            x: Px::ZERO,
            y: RULER_HEIGHT - hair,
            w: width,
            h: hair,
        },
        Token::Line2,
        0,
    );
    let (major, minor) = view.tick_steps();
    let pen = view.x(now).floor();
    let badge_w = Px::whole(62);
    let badge_x = (pen - badge_w).max(Px::ZERO).min(width - badge_w);
    let has_badge = pen >= Px::ZERO && pen <= width + hair;
    let right = view.right().0;
    let mut at = view.left().0.div_euclid(major) * major;
    while at <= right {
        let x = view.x(Time(at)).floor();
        let is_major = at.rem_euclid(major) == 0;
        if x >= Px::ZERO {
            let (height, ink) = if is_major {
                (8, Token::Line3)
            } else {
                (4, Token::Line2)
            };
            let height = Px::whole(height);
            rect(
                &mut scene,
                Area {
                    x,
                    y: RULER_HEIGHT - height,
                    w: hair,
                    h: height,
                },
                ink,
                0,
            );
        }
        if is_major {
            let text = tick(Time(at), major);
            let (from, to) = (
                x + Px::whole(5),
                x + Px::whole(5) + text_width(&text, 11, 400),
            );
            let is_free = !has_badge || to < badge_x - Px::whole(8) || from > badge_x + badge_w;
            if from >= Px::ZERO && to < width && is_free {
                scene.primitives.push(Primitive::Text(TextLine {
                    x: from,
                    y: Px::whole(16),
                    text,
                    size: 11,
                    weight: 400,
                    ink: Token::Text2,
                    halo: None,
                    align: Align::Start,
                    max_width: None,
                }));
            }
        }
        at += minor;
    }
    if has_badge {
        badge(&mut scene, (badge_x, badge_w), clock(now));
    }
    scene
}

/// Height of a badge, in px: room for a time. The number has no other source.
pub(super) const BADGE_HEIGHT: Px = Px::whole(17);
/// Distance of a badge from the top of the ruler, in px, so that it stands about in the middle. The lines of cursors
/// begin at this y, too. The number has no other source.
pub(super) const BADGE_TOP: Px = Px::whole(4);

/// Draws a filled rectangle, with corners of `radius` px.
pub(super) fn rect(scene: &mut Scene, area: Area, ink: Token, radius: u8) {
    scene.primitives.push(Primitive::Rect {
        area,
        fill: Some(ink),
        stroke: None,
        radius,
        opacity: 100,
    });
}

/// Draws a text on a bright badge of the ruler; `xs` has the badge's left edge and width.
pub(super) fn badge(scene: &mut Scene, (x, w): (Px, Px), text: String) {
    let area = Area {
        x,
        y: BADGE_TOP,
        w,
        h: BADGE_HEIGHT,
    };
    rect(scene, area, Token::Text1, 1);
    scene.primitives.push(Primitive::Text(TextLine {
        x: x + w.half(),
        y: Px::whole(16),
        text,
        size: 11,
        weight: 600,
        ink: Token::Ground0,
        halo: None,
        align: Align::Middle,
        max_width: None,
    }));
}

/// Draws a marked range on the ruler of a view.
pub(crate) fn mark_range(scene: &mut Scene, view: &View, (from, to): (Time, Time)) {
    let within = |x: Px| x.max(-HANDLE.0).min(scene.width + HANDLE.0);
    let (from, to) = (within(view.x(from).floor()), within(view.x(to).floor()));
    let mut rect = |area: Area, opacity: u8| {
        scene.primitives.push(Primitive::Rect {
            area,
            fill: Some(Token::Text1),
            stroke: None,
            radius: 0,
            opacity,
        });
    };
    rect(
        Area::between(from, to, Px::ZERO, RULER_HEIGHT),
        RANGE_GROUND,
    );
    let bottom = (RULER_HEIGHT - Px::whole(2), RULER_HEIGHT);
    rect(Area::between(from, to, bottom.0, bottom.1), 100);
    for x in [from - HANDLE.0.half(), to - HANDLE.0.half()] {
        let ys = (RULER_HEIGHT - HANDLE.1, RULER_HEIGHT);
        rect(Area::between(x, x + HANDLE.0, ys.0, ys.1), 100);
    }
}
