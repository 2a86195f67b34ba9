//! The saved picture: the view as it is on screen, with all that it needs to stand on its own.
//!
//! A title with cluster and UTC range, what was lost, the tree, ruler and lanes, a legend of what is present and
//! nothing else, the filters in force, and who made it. Another display list for the same painter.

use watchscope_model::vocabulary::LossPlace;
use watchscope_model::{Seq, Time};

use crate::draw::{Picture, RULER_HEIGHT, lanes, ruler};
use crate::format::{clock, count, date, duration, number, text_width};
use crate::glyph::Glyph;
use crate::lanes::{Row, RowKind};
use crate::scene::{Align, Area, Hatch, Primitive, Px, Scene, Stroke, TextLine};
use crate::store::Coverage;
use crate::tokens::Token;

/// How much larger than on the page a saved picture is drawn, so that it survives half its width.
pub const SAVED_SCALE: f64 = 1.22;

/// What a saved picture says beside the view.
#[derive(Clone, Debug)]
pub struct Caption<'a> {
    /// Its title.
    pub title: &'a str,
    /// The filter in force, as typed; empty for none.
    pub filter: &'a str,
    /// watchscope's version.
    pub version: &'a str,
    /// The viewer's offset from UTC, in minutes.
    pub zone_offset_min: i32,
}

const EDGE: Px = Px::whole(24);
const TREE_WIDTH: Px = Px::whole(212);
const HEAD_HEIGHT: Px = Px::whole(78);
const LEGEND_LINE: Px = Px::whole(20);

/// Draws the picture to save: `picture` is the view on screen.
#[must_use]
pub fn saved(picture: &Picture<'_>, caption: &Caption<'_>) -> Scene {
    let lanes_scene = lanes(picture);
    let lanes_x = EDGE + TREE_WIDTH;
    let width = lanes_x + lanes_scene.width + EDGE;
    let mut page = Page {
        scene: Scene {
            width,
            ..Scene::default()
        },
    };
    let lanes_y = HEAD_HEIGHT + RULER_HEIGHT;
    let window = picture
        .rows
        .window(picture.top, picture.top + picture.height);
    let rows = &picture.rows.rows[window];
    let shown = rows
        .last()
        .map_or(Px::ZERO, |row| row.bottom() - picture.top)
        .min(picture.height);
    let bottom = lanes_y + shown;
    let legend = lanes_scene.legend.clone();
    let legend_lines = legend_items(&legend, lanes_scene.width + TREE_WIDTH);
    let legend_height = Px::whole(16) + Px(LEGEND_LINE.0 * legend_lines.len() as i32);
    let height = bottom + legend_height + Px::whole(56);
    page.scene.height = height;
    page.fill(
        Area {
            x: Px::ZERO,
            y: Px::ZERO,
            w: width,
            h: height,
        },
        Token::Ground0,
    );
    page.head(picture, caption, width);
    let ruler_scene = ruler(picture.view, picture.now);
    page.clipped(ruler_scene, lanes_x, HEAD_HEIGHT, RULER_HEIGHT);
    page.fill(
        Area {
            x: EDGE,
            y: HEAD_HEIGHT,
            w: TREE_WIDTH,
            h: RULER_HEIGHT,
        },
        Token::Ground2,
    );
    page.text(
        EDGE + Px::whole(6),
        HEAD_HEIGHT + Px::whole(17),
        "Lane",
        Look::small(Token::Text3),
    );
    let head_right = lanes_x - Px::whole(8);
    page.text(
        head_right,
        HEAD_HEIGHT + Px::whole(17),
        "changes",
        Look::small(Token::Text3).end(),
    );
    page.clipped(lanes_scene, lanes_x, lanes_y, shown);
    page.scene.primitives.push(Primitive::Clip(Area {
        x: EDGE,
        y: lanes_y,
        w: TREE_WIDTH,
        h: shown,
    }));
    for row in rows {
        page.tree_row(row, row.y - picture.top + lanes_y, lanes_x);
    }
    page.scene.primitives.push(Primitive::Unclip);
    page.line(EDGE, width - EDGE, bottom, Token::Line2);
    page.legend(&legend_lines, bottom + Px::whole(20));
    page.foot(picture, caption, bottom + legend_height, width);
    page.scene
}

/// How a text of the frame looks.
#[derive(Clone, Copy)]
struct Look {
    size: u8,
    weight: u16,
    ink: Token,
    align: Align,
}

impl Look {
    const fn small(ink: Token) -> Self {
        Self {
            size: 11,
            weight: 400,
            ink,
            align: Align::Start,
        }
    }

    const fn end(self) -> Self {
        Self {
            align: Align::End,
            ..self
        }
    }
}

/// One thing a legend explains.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Glyph(Glyph),
    Hatch(Hatch),
    Plate,
}

impl Item {
    fn words(&self) -> &'static str {
        match self {
            Self::Glyph(glyph) => glyph.words(),
            Self::Hatch(hatch) => hatch.words(),
            Self::Plate => "that many",
        }
    }

    fn width(&self) -> Px {
        let mark = if matches!(self, Self::Hatch(_)) {
            26
        } else {
            18
        };
        Px::whole(mark) + spared(text_width(self.words(), 11, 400)) + Px::whole(12)
    }
}

/// What is present, in the sheet's order, broken into lines.
fn legend_items(legend: &crate::scene::Legend, width: Px) -> Vec<Vec<Item>> {
    let items = legend.glyphs.iter().map(|&glyph| Item::Glyph(glyph));
    let items = items.chain(legend.hatches.iter().map(|&hatch| Item::Hatch(hatch)));
    let mut lines = vec![Vec::new()];
    let mut used = Px::ZERO;
    for item in items.chain(legend.plates.then_some(Item::Plate)) {
        if used + item.width() > width {
            lines.push(Vec::new());
            used = Px::ZERO;
        }
        used = used + item.width();
        if let Some(line) = lines.last_mut() {
            line.push(item);
        }
    }
    lines
}

struct Page {
    scene: Scene,
}

impl Page {
    fn fill(&mut self, area: Area, ink: Token) {
        let fill = Some(ink);
        self.scene.primitives.push(Primitive::Rect {
            area,
            fill,
            stroke: None,
            radius: 0,
            opacity: 100,
        });
    }

    fn line(&mut self, x0: Px, x1: Px, y: Px, ink: Token) {
        self.fill(
            Area {
                x: x0,
                y,
                w: x1 - x0,
                h: Px::whole(1),
            },
            ink,
        );
    }

    fn text(&mut self, x: Px, y: Px, text: impl Into<String>, look: Look) {
        let text = text.into();
        // Wider faces are given what they need; only what is wider still is squeezed.
        let max_width = Some(spared(text_width(&text, look.size, look.weight)));
        let Look {
            size,
            weight,
            ink,
            align,
        } = look;
        self.scene.primitives.push(Primitive::Text(TextLine {
            x,
            y,
            text,
            size,
            weight,
            ink,
            halo: None,
            align,
            max_width,
        }));
    }

    /// Another scene at a place, cut to `height`.
    fn clipped(&mut self, other: Scene, x: Px, y: Px, height: Px) {
        let area = Area {
            x,
            y,
            w: other.width,
            h: height,
        };
        self.scene.primitives.push(Primitive::Clip(area));
        self.scene.append(other, x, y);
        self.scene.primitives.push(Primitive::Unclip);
    }

    fn head(&mut self, picture: &Picture<'_>, caption: &Caption<'_>, width: Px) {
        let title = Look {
            size: 20,
            weight: 600,
            ink: Token::Text1,
            align: Align::Start,
        };
        self.text(EDGE, Px::whole(30), caption.title, title);
        let view = picture.view;
        let (from, to) = (view.left(), view.right().min(picture.now).max(view.left()));
        let zone = zone_words(caption.zone_offset_min);
        let range = format!(
            "{}, {} – {} UTC ({}; {zone})",
            date(from),
            clock(from),
            clock(to),
            duration(to.micros_since(from))
        );
        self.text(
            EDGE,
            Px::whole(50),
            range,
            Look {
                size: 12,
                ..Look::small(Token::Text2)
            },
        );
        let cluster = picture
            .store
            .state()
            .and_then(|state| state.cluster.as_ref())
            .map_or_else(
                || "cluster not known".to_string(),
                |cluster| {
                    format!(
                        "cluster {}, Kubernetes {}, {}",
                        cluster.cluster, cluster.version, cluster.server
                    )
                },
            );
        self.text(
            EDGE,
            Px::whole(66),
            cluster,
            Look {
                size: 12,
                ..Look::small(Token::Text2)
            },
        );
        let losses = losses(picture, from, to);
        let scale = format!("1 px = {}", duration(view.us_per_px as i64));
        let facts = [
            ("Gaps", losses.gaps, losses.gaps_ink),
            ("Lost by watchscope", losses.own, Token::Text1),
            ("Not shown", losses.unknown, Token::Text1),
            ("Scale", scale, Token::Text1),
        ];
        // As wide as the longest value needs; a face may be wider than reckoned.
        let value_width = |value: &str| spared(text_width(value, 11, 600));
        let widest = facts.iter().map(|(_, value, _)| value_width(value)).max();
        let values_x = width - EDGE - widest.unwrap_or(Px::ZERO).max(Px::whole(160));
        for (place, (label, value, ink)) in facts.into_iter().enumerate() {
            let y = Px::whole(20 + 15 * place as i32);
            let labels_x = values_x - Px::whole(12);
            self.text(labels_x, y, label, Look::small(Token::Text3).end());
            self.text(
                values_x,
                y,
                value,
                Look {
                    weight: 600,
                    ..Look::small(ink)
                },
            );
        }
    }

    fn tree_row(&mut self, row: &Row, y: Px, right: Px) {
        let strong = matches!(
            row.kind,
            RowKind::Watch | RowKind::Findings | RowKind::Layer
        );
        self.line(
            EDGE,
            right,
            y,
            if strong { Token::Line2 } else { Token::Line1 },
        );
        let ink = match row.kind {
            _ if row.diverged => Token::Divergence,
            RowKind::Watch | RowKind::Findings | RowKind::Layer => Token::Text1,
            _ => Token::Text2,
        };
        let weight = if strong || row.diverged { 600 } else { 400 };
        let look = Look {
            weight,
            ..Look::small(ink)
        };
        let x = EDGE + if strong { Px::whole(6) } else { Px::whole(16) };
        let baseline = y + row.height.half() + Px::whole(4);
        let count_width = row
            .count
            .map_or(Px::ZERO, |count| text_width(&number(count), 11, 400));
        let room = right
            - Px::whole(18)
            - spared(count_width)
            - x
            - if row.mark.is_some() {
                Px::whole(16)
            } else {
                Px::ZERO
            };
        let name = shortened(&format!("{}{}", row.prefix, row.name), room, weight);
        self.text(x, baseline, name, look);
        if let Some((glyph, ink)) = row.mark {
            let x = right - Px::whole(20) - spared(count_width);
            let y = y + row.height.half();
            let ground = Token::Ground0;
            self.scene.primitives.push(Primitive::Glyph {
                glyph,
                x,
                y,
                size: 10,
                ink,
                ground,
                halo: false,
            });
        }
        if let Some(count) = row.count {
            self.text(
                right - Px::whole(8),
                baseline,
                number(count),
                Look::small(Token::Text3).end(),
            );
        }
    }

    fn legend(&mut self, lines: &[Vec<Item>], mut y: Px) {
        for line in lines {
            let mut x = EDGE;
            for item in line {
                let text_x = match item {
                    Item::Glyph(glyph) => {
                        let (ink, ground) = (glyph.ink(), Token::Ground0);
                        let at = x + Px::whole(6);
                        self.scene.primitives.push(Primitive::Glyph {
                            glyph: *glyph,
                            x: at,
                            y: y - Px::whole(4),
                            size: 12,
                            ink,
                            ground,
                            halo: false,
                        });
                        x + Px::whole(16)
                    }
                    Item::Hatch(hatch) => {
                        let area = Area {
                            x,
                            y: y - Px::whole(10),
                            w: Px::whole(20),
                            h: Px::whole(12),
                        };
                        if *hatch == Hatch::Lost {
                            self.fill(area, Token::LostGround);
                        }
                        self.scene.primitives.push(Primitive::Hatch {
                            area,
                            hatch: *hatch,
                            anchor: x,
                        });
                        x + Px::whole(24)
                    }
                    Item::Plate => {
                        let area = Area {
                            x,
                            y: y - Px::whole(10),
                            w: Px::whole(14),
                            h: Px::whole(13),
                        };
                        let foot = [Px::ZERO, area.w, Px::ZERO];
                        self.scene.primitives.push(Primitive::Plate {
                            area,
                            count: 8,
                            ground: Token::Ground0,
                            foot,
                        });
                        x + Px::whole(18)
                    }
                };
                self.text(text_x, y, item.words(), Look::small(Token::Text2));
                x = x + item.width();
            }
            y = y + LEGEND_LINE;
        }
    }

    fn foot(&mut self, picture: &Picture<'_>, caption: &Caption<'_>, y: Px, width: Px) {
        self.line(EDGE, width - EDGE, y, Token::Line2);
        let rows = picture.rows;
        let filter = if caption.filter.is_empty() {
            "none"
        } else {
            caption.filter
        };
        let shown = rows.window(picture.top, picture.top + picture.height).len();
        let all = rows.rows.len() + rows.hidden;
        let filters = format!(
            "Filter: {filter}. Shown {shown} of {} in this range.",
            count(all as u64, "lane")
        );
        self.text(EDGE, y + Px::whole(18), filters, Look::small(Token::Text3));
        let head = picture
            .store
            .resume_point()
            .map_or(String::new(), |(_, epoch, head)| {
                let Seq(head) = head;
                format!(" Log epoch {epoch}, up to seq {}.", number(head))
            });
        let made = format!(
            "watchscope {}, captured {} {} UTC by the clock of its host.{head}",
            caption.version,
            date(picture.now),
            clock(picture.now)
        );
        self.text(EDGE, y + Px::whole(34), made, Look::small(Token::Text3));
        let area = Area {
            x: Px::ZERO,
            y: Px::ZERO,
            w: self.scene.width,
            h: self.scene.height,
        };
        let stroke = Some(Stroke::solid(Token::Line2, Px::whole(1)));
        self.scene.primitives.push(Primitive::Rect {
            area,
            fill: None,
            stroke,
            radius: 0,
            opacity: 100,
        });
    }
}

/// A reckoned width with what wide faces need on top.
fn spared(width: Px) -> Px {
    width + Px(width.0 / 4)
}

/// A name cut at its middle so that it fits.
fn shortened(name: &str, room: Px, weight: u16) -> String {
    let text_width = |text: &str, size, weight| spared(text_width(text, size, weight));
    if text_width(name, 11, weight) <= room {
        return name.to_string();
    }
    let letters: Vec<char> = name.chars().collect();
    for kept in (2..letters.len()).rev() {
        let (head, tail) = (kept - kept / 2, kept / 2);
        let cut: String = letters[..head]
            .iter()
            .chain(['…'].iter())
            .chain(letters[letters.len() - tail..].iter())
            .collect();
        if text_width(&cut, 11, weight) <= room {
            return cut;
        }
    }
    "…".to_string()
}

fn zone_words(offset_min: i32) -> String {
    if offset_min == 0 {
        return "the viewer is at UTC".to_string();
    }
    let sign = if offset_min < 0 { '−' } else { '+' };
    let (hours, minutes) = (offset_min.abs() / 60, offset_min.abs() % 60);
    let minutes = if minutes == 0 {
        String::new()
    } else {
        format!(":{minutes:02}")
    };
    format!("the viewer is at UTC{sign}{hours}{minutes}")
}

/// What is missing from a stretch of time, in words.
struct Losses {
    gaps: String,
    gaps_ink: Token,
    own: String,
    unknown: String,
}

fn losses(picture: &Picture<'_>, from: Time, to: Time) -> Losses {
    let within = |at: Time| at >= from && at <= to;
    let epochs = picture.store.epochs().iter();
    let all = epochs.flat_map(|epoch| {
        let watches = epoch.trace.watches.iter().flatten();
        let of_watches = watches.flat_map(|watch| &watch.losses);
        epoch.trace.losses.iter().chain(of_watches)
    });
    let (mut own, mut frames) = (0, 0);
    for loss in all.filter(|loss| within(loss.moment.at)) {
        if loss.is_own() {
            own += loss.count;
        } else if loss.place == LossPlace::Frame {
            frames += loss.count;
        }
    }
    let gaps = picture.store.gaps(from, to, picture.now);
    let unknown_us: i64 = picture
        .store
        .coverage(picture.now)
        .iter()
        .filter(|stretch| stretch.coverage != Coverage::Loaded)
        .map(|stretch| {
            stretch
                .to
                .min(to)
                .micros_since(stretch.from.max(from))
                .max(0)
        })
        .sum();
    Losses {
        gaps: match gaps.total() {
            0 => "none".to_string(),
            total => format!("{total}: {}", gaps.words()),
        },
        gaps_ink: if gaps.lost > 0 {
            Token::Error
        } else {
            Token::Text1
        },
        own: count(own, "record"),
        unknown: match (unknown_us, frames) {
            (0, 0) => "nothing".to_string(),
            (0, _) => format!("{} not read", count(frames, "frame")),
            (_, 0) => format!("{} not held", duration(unknown_us)),
            _ => {
                let held = duration(unknown_us);
                format!("{held} not held, {} not read", count(frames, "frame"))
            }
        },
    }
}
