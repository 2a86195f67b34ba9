//! The ruler over the lanes: ticks, times, and the pen's time.

use watchscope_model::Time;

use super::Picture;
use crate::format::{clock, text_width, tick};
use crate::scene::{Align, Area, Primitive, Px, Scene, TextLine};
use crate::tokens::Token;

/// Height of the ruler.
pub const RULER_HEIGHT: Px = Px::whole(26);

/// Draws the ruler of a picture: the time of what is marked on a badge, else that of now.
#[must_use]
pub fn ruler(picture: &Picture<'_>) -> Scene {
    let Picture { view, marked, .. } = *picture;
    let now = marked.as_of.unwrap_or(picture.now);
    let width = Px::from_f64(view.width_px);
    let mut scene = Scene {
        width,
        height: RULER_HEIGHT,
        ..Scene::default()
    };
    let hair = Px::whole(1);
    let rect = |scene: &mut Scene, area: Area, ink: Token, radius: u8| {
        scene.primitives.push(Primitive::Rect {
            area,
            fill: Some(ink),
            stroke: None,
            radius,
            opacity: 100,
        });
    };
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
    if let (Some(range), Some(records)) = (marked.range, picture.records) {
        (records.range_on_ruler)(&mut scene, view, range);
    }
    if has_badge {
        let area = Area {
            x: badge_x,
            y: Px::whole(4),
            w: badge_w,
            h: Px::whole(17),
        };
        rect(&mut scene, area, Token::Text1, 1);
        scene.primitives.push(Primitive::Text(TextLine {
            x: badge_x + badge_w.half(),
            y: Px::whole(16),
            text: clock(now),
            size: 11,
            weight: 600,
            ink: Token::Ground0,
            halo: None,
            align: Align::Middle,
            max_width: None,
        }));
    }
    scene
}
