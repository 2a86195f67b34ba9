//! The saved picture: the view on screen, with all that it needs to be understood alone.
//!
//! A saved picture has a title with cluster and UTC range, and a summary of losses. The picture has the tree, ruler and
//! lanes, and a legend of the signs in view. The picture names the filter in force, and watchscope with its version. A
//! saved picture is another display list for the same painter.

mod findings;
mod flags;
mod losses;
mod page;

use watchscope_model::{Seq, Time};

use crate::draw::{Flagged, Picture, RULER_HEIGHT, lanes, ruler_of};
use crate::format::{clock, count, date, duration, number, text_width};
use crate::glyph::Glyph;
use crate::lanes::{Row, RowKind};
use crate::scene::{Align, Area, Hatch, Primitive, Px, Scene};
use crate::tokens::Token;

use self::findings::{findings, height_of_findings};
use self::flags::Flags;
pub use self::flags::{FLAGS_MOST, Flag};
use self::losses::losses;
use self::page::{Cut, EDGE, Look, Page, shortened, spared};

/// Factor by which a saved picture is larger than the page, so that it is still legible at half its width. The number
/// has no source.
pub const SAVED_SCALE: f64 = 1.22;

/// The texts of a saved picture beside the view. A text that is wider than the picture is cut off at the picture's
/// edge; a source that is too wide ends in `…`.
#[derive(Clone, Debug)]
pub struct Caption<'a> {
    /// The picture's title.
    pub title: &'a str,
    /// The filter in force, as typed; empty if no filter is set.
    pub filter: &'a str,
    /// watchscope's version: `1.4.0`.
    pub version: &'a str,
    /// The viewer's offset from UTC, in minutes; positive east of Greenwich.
    pub zone_offset_min: i32,
    /// Least height of the picture, in px of the scene.
    pub least_height: Px,
    /// What was hidden from the log before it was drawn, in words without a full stop. If nothing was, this is empty,
    /// and the picture does not mention it.
    pub hidden: &'a str,
    /// The SHA-256, in hex digits, of the recording that the picture shows. The text is empty, and the picture names no
    /// source, unless the picture shows one ended recording with nothing hidden.
    pub source: &'a str,
    /// Notes of the range, by rising time; may be empty. The first [`FLAGS_MOST`] notes are drawn, further notes are
    /// only counted.
    pub notes: &'a [Flag],
}

/// Width of the tree in a saved picture, in px. A longer name of a lane is shortened in its middle. The number has no
/// source.
const TREE_WIDTH: Px = Px::whole(212);
/// Height of the picture's head with title, range and losses, in px: the lowest of the head's 8 possible facts stands
/// at 107 px.
const HEAD_HEIGHT: Px = Px::whole(108);
/// Height of the picture's foot, in px: two lines of text, 16 px apart, and the space around them. The number has no
/// other source.
const FOOT_HEIGHT: Px = Px::whole(56);
/// Height of the line of the foot that names the source, in px: the same as the distance of the lines above it.
const SOURCE_LINE: Px = Px::whole(16);
/// Height of a line of the legend, in px. The highest sign of a legend is a plate of 13 px. The number has no other
/// source.
const LEGEND_LINE: Px = Px::whole(20);
/// Least distance of a legend from the page's sides, in px, so that it does not touch the outline. The number has no
/// source.
const LEGEND_INSET: Px = Px::whole(6);

/// Width of the tree in a small picture, in px. The lanes are as wide as the view. A longer name of a lane is shortened
/// in its middle. The number has no source.
pub const SMALL_TREE_WIDTH: Px = Px::whole(176);

/// Returns the width in px of the lanes in a saved picture of `width_px` px: 260 px less, for the tree and both edges.
/// The result is negative for a picture of less than 260 px.
#[must_use]
pub fn lanes_width_px(width_px: f64) -> f64 {
    width_px - (EDGE + EDGE + TREE_WIDTH).to_f64()
}

/// Returns the default title of a picture: `Watches of shop in kind-dev`, or `Watches of kind-dev` if `namespaces` is
/// empty.
#[must_use]
pub fn title(namespaces: &str, cluster: &str) -> String {
    if namespaces.is_empty() {
        format!("Watches of {cluster}")
    } else {
        format!("Watches of {namespaces} in {cluster}")
    }
}

/// Draws the picture to save; `picture` is the view on screen. The saved picture is 260 px wider than the view. The
/// picture is as high as its content needs, and at least [`Caption::least_height`]. It shows the rows that are on
/// screen, and counts all other rows. Of the findings in its time range, the picture lists the 40 oldest, and counts
/// all others.
#[must_use]
pub fn saved(picture: &Picture<'_>, caption: &Caption<'_>) -> Scene {
    // The saved picture has its own row of notes, with their texts below.
    let picture = &Picture {
        flagged: Flagged::default(),
        ..*picture
    };
    let (mut page, lanes) = Page::of(picture, EDGE, TREE_WIDTH);
    let top = HEAD_HEIGHT;
    let flags = Flags::new(caption.notes, page.scene.width);
    let legend_end = top + flags.row_height() + page.height_of(&lanes);
    let notes_end = legend_end + flags.texts_height();
    let findings = findings(picture, shown(picture));
    let lanes_bottom = top + RULER_HEIGHT + flags.row_height() + lanes.height;
    let findings_end = notes_end + height_of_findings(&findings);
    let foot_height = if caption.source.is_empty() {
        FOOT_HEIGHT
    } else {
        FOOT_HEIGHT + SOURCE_LINE
    };
    let height = (findings_end + foot_height).max(caption.least_height);
    page.ground(height);
    page.head(picture, caption, page.scene.width);
    page.lanes(picture, lanes, top, Some(flags.row_height()));
    page.flags(&flags, picture.view, (top + RULER_HEIGHT, lanes_bottom));
    page.flag_texts(&flags, legend_end);
    page.findings(&findings, notes_end, page.scene.width);
    page.foot(picture, caption, height - foot_height, page.scene.width);
    page.outline();
    page.scene
}

/// Draws a picture for a text that explains it: tree, ruler, lanes, and a legend of the signs in view. The drawn
/// picture is [`SMALL_TREE_WIDTH`] wider than the view, and as high as the rows on screen need. Other rows are left
/// out.
#[must_use]
pub fn small(picture: &Picture<'_>) -> Scene {
    let (mut page, lanes) = Page::of(picture, Px::ZERO, SMALL_TREE_WIDTH);
    page.ground(page.height_of(&lanes));
    page.lanes(picture, lanes, Px::ZERO, None);
    page.outline();
    page.scene
}

/// The lanes of a picture, measured.
struct Measured<'a> {
    scene: Scene,
    rows: &'a [Row],
    /// Height of the lanes on screen, without what is scrolled away.
    height: Px,
    legend: Vec<Vec<Item>>,
}

/// One entry of a legend.
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

/// Returns the legend's entries for the signs in view, in their fixed order, broken into lines of at most `width`.
fn legend_items(legend: &crate::scene::Legend, width: Px) -> Vec<Vec<Item>> {
    let items = legend.glyphs.iter().map(|&glyph| Item::Glyph(glyph));
    let items = items.chain(legend.hatches.iter().map(|&hatch| Item::Hatch(hatch)));
    let mut lines = Vec::new();
    let mut used = Px::ZERO;
    for item in items.chain(legend.plates.then_some(Item::Plate)) {
        if lines.is_empty() || used + item.width() > width {
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

impl Page {
    /// Returns a page as wide as a picture needs, and the picture's lanes.
    fn of<'a>(picture: &Picture<'a>, edge: Px, tree_width: Px) -> (Self, Measured<'a>) {
        let scene = lanes(picture);
        let window = picture
            .rows
            .window(picture.top, picture.top + picture.height);
        let rows = &picture.rows.rows[window];
        let height = rows
            .last()
            .map_or(Px::ZERO, |row| row.bottom() - picture.top)
            .min(picture.height);
        let inset = LEGEND_INSET.max(edge) - edge;
        let legend_width = tree_width + scene.width - inset - inset;
        let legend = legend_items(&scene.legend, legend_width);
        let page = Self {
            scene: Scene {
                width: edge + tree_width + scene.width + edge,
                ..Scene::default()
            },
            edge,
            tree_width,
        };
        let measured = Measured {
            scene,
            rows,
            height,
            legend,
        };
        (page, measured)
    }

    /// Returns the height of ruler, lanes and legend.
    fn height_of(&self, lanes: &Measured<'_>) -> Px {
        let legend = match lanes.legend.len() as i32 {
            0 => Px::ZERO,
            lines => Px::whole(16) + Px(LEGEND_LINE.0 * lines),
        };
        RULER_HEIGHT + lanes.height + legend
    }

    /// Draws ruler, tree, lanes and legend from `top` down. If `headed` is given, that height stays free below the
    /// ruler, and the columns get headings.
    fn lanes(&mut self, picture: &Picture<'_>, lanes: Measured<'_>, top: Px, headed: Option<Px>) {
        let (edge, tree_width) = (self.edge, self.tree_width);
        let lanes_x = edge + tree_width;
        let lanes_y = top + RULER_HEIGHT + headed.unwrap_or(Px::ZERO);
        let ruler_scene = ruler_of(picture);
        self.clipped(ruler_scene, lanes_x, top, RULER_HEIGHT);
        self.fill(
            Area {
                x: edge,
                y: top,
                w: tree_width,
                h: RULER_HEIGHT,
            },
            Token::Ground2,
        );
        if headed.is_some() {
            let (y, look) = (top + Px::whole(17), Look::small(Token::Text3));
            self.text(edge + Px::whole(6), y, "Lane", look);
            self.text(lanes_x - Px::whole(8), y, "changes", look.end());
        }
        self.clipped(lanes.scene, lanes_x, lanes_y, lanes.height);
        self.scene.primitives.push(Primitive::Clip(Area {
            x: edge,
            y: lanes_y,
            w: tree_width,
            h: lanes.height,
        }));
        for row in lanes.rows {
            self.tree_row(row, row.y - picture.top + lanes_y, lanes_x);
        }
        self.scene.primitives.push(Primitive::Unclip);
        let bottom = lanes_y + lanes.height;
        self.line(edge, self.scene.width - edge, bottom, Token::Line2);
        self.legend(&lanes.legend, bottom + Px::whole(20));
    }

    /// Adds another scene at (`x`, `y`), cut to `height`.
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
        let (from, to) = shown(picture);
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
        let rows = picture.rows;
        let shown = rows.window(picture.top, picture.top + picture.height).len();
        let unseen = match rows.rows.len() - shown {
            0 => "none".to_owned(),
            more => format!("{} above or below", count(more as u64, "lane")),
        };
        let hidden = match rows.hidden {
            0 => "none".to_owned(),
            hidden => format!("{} by the filter", count(hidden as u64, "lane")),
        };
        let scale = format!("1 px = {}", duration(view.us_per_px as i64));
        let fact = |label, value| Some((label, value, Token::Text1));
        let facts = [
            Some(("Gaps", losses.gaps, losses.gaps_ink)),
            losses
                .unwatched
                .and_then(|lasted| fact("Nobody watched", lasted)),
            fact("Lost by watchscope", losses.own),
            fact("Not loaded", losses.unknown),
            losses
                .withheld
                .and_then(|left_out| fact("Left out", left_out)),
            fact("Lanes not shown", unseen),
            fact("Lanes hidden", hidden),
            fact("Scale", scale),
        ];
        let facts: Vec<(&str, String, Token)> = facts.into_iter().flatten().collect();
        // As wide as the longest value needs; a face may be wider than calculated.
        let value_width = |value: &str| spared(text_width(value, 11, 600));
        let widest = facts.iter().map(|(_, value, _)| value_width(value)).max();
        let values_x = width - EDGE - widest.unwrap_or(Px::ZERO).max(Px::whole(160));
        for (place, (label, value, ink)) in facts.into_iter().enumerate() {
            let y = Px::whole(16 + 13 * place as i32);
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
            self.edge,
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
        let x = self.edge + if strong { Px::whole(6) } else { Px::whole(16) };
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
        let name = format!("{}{}", row.prefix, row.name);
        let name = shortened(&name, room, weight, Cut::Middle);
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
        let left = self.edge.max(LEGEND_INSET);
        for line in lines {
            let mut x = left;
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
        let mut filters = format!(
            "Filter: {filter}. Shown {shown} of {} in this range.",
            count(all as u64, "lane")
        );
        if !caption.hidden.is_empty() {
            filters.push_str(" Hidden: ");
            filters.push_str(caption.hidden);
            filters.push('.');
        }
        self.text(EDGE, y + Px::whole(18), filters, Look::small(Token::Text3));
        let head = picture
            .store
            .resume_point()
            .map_or(String::new(), |(_, epoch, head)| {
                let Seq(head) = head;
                format!(" Log epoch {epoch}, up to seq {}.", number(head))
            });
        let last = picture.store.head_at().unwrap_or(picture.now);
        let made = format!(
            "watchscope {}, last record {} {} UTC by the clock of its host.{head}",
            caption.version,
            date(last),
            clock(last)
        );
        self.text(EDGE, y + Px::whole(34), made, Look::small(Token::Text3));
        if !caption.source.is_empty() {
            let source = format!("Drawn of a recording with sha256 {}", caption.source);
            let source = shortened(&source, width - EDGE - EDGE, 400, Cut::End);
            let at = y + Px::whole(34) + SOURCE_LINE;
            self.text(EDGE, at, source, Look::small(Token::Text3));
        }
    }
}

/// Returns the picture's time range, cut to the times about which the log can know something.
fn shown(picture: &Picture<'_>) -> (Time, Time) {
    let view = picture.view;
    (view.left(), view.right().min(picture.now).max(view.left()))
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
