//! The lane tree at the left: DOM, so that it can be read, searched and restyled; visible rows only.
//!
//! It belongs to the picture and moves with it in the same frame, so it is written here and not by a panel.

use wasm_bindgen::JsCast as _;
use watchscope_timeline::glyph::Paint;
use watchscope_timeline::{Glyph, LaneId, Token};
use web_sys::{Document, Element, HtmlElement, Node};

use super::elements::Elements;
use crate::core::tree_rows::TreeRow;
use crate::decimal::decimal;

/// The letters at the end of an object's name that are always shown: `-h5qmz`.
const TAIL_CHARS: usize = 6;

/// The rows in the document.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    shown: Vec<(TreeRow, HtmlElement)>,
    focused: Option<LaneId>,
    date: String,
}

impl Tree {
    /// Shows the date over the tree.
    pub(crate) fn show_date(&mut self, elements: &Elements, date: String) {
        if self.date != date {
            elements.date.set_text_content(Some(&date));
            self.date = date;
        }
    }

    /// Shows these rows and no others; unchanged rows are not touched. A row that is shown already keeps its count
    /// unless `counts` is true. The browser lays out and paints each changed count: at 60 pictures a second of 90 rows
    /// that took a quarter of a core.
    pub(crate) fn show(&mut self, elements: &Elements, rows: Vec<TreeRow>, counts: bool) {
        self.shown.retain(|(row, element)| {
            let stays = rows.iter().any(|other| other.lane == row.lane);
            if !stays {
                element.remove();
            }
            stays
        });
        for (place, mut row) in rows.into_iter().enumerate() {
            let known = self.shown[place..]
                .iter()
                .position(|(other, _)| other.lane == row.lane);
            match known {
                Some(0) => {}
                Some(later) => {
                    let moved = self.shown.remove(place + later);
                    self.insert(elements, place, moved);
                }
                None => {
                    let Some(element) = new_row(elements) else {
                        continue;
                    };
                    let dressed = (row.clone(), element);
                    dress(elements, &dressed.1, None, &row);
                    self.insert(elements, place, dressed);
                    continue;
                }
            }
            let (old, element) = &mut self.shown[place];
            if !counts {
                row.count.clone_from(&old.count);
            }
            if *old != row {
                dress(elements, element, Some(old), &row);
                *old = row;
            }
        }
    }

    fn insert(&mut self, elements: &Elements, place: usize, row: (TreeRow, HtmlElement)) {
        let before: Option<&Node> = self.shown.get(place).map(|(_, element)| element.as_ref());
        // It fails only if `before` were elsewhere; nothing else writes here.
        let _ = elements.rows.insert_before(&row.1, before);
        self.shown.insert(place, row);
    }

    /// Reports to assistive technology which row has the focus.
    pub(crate) fn focus(&mut self, elements: &Elements, lane: Option<LaneId>) {
        if self.focused == lane {
            return;
        }
        self.focused = lane;
        let _ = match lane {
            Some(lane) => elements
                .canvas
                .set_attribute("aria-activedescendant", &row_id(lane)),
            None => elements.canvas.remove_attribute("aria-activedescendant"),
        };
    }

    /// Returns the lane of the row with this id.
    pub(crate) fn lane_of(&self, id: &str) -> Option<LaneId> {
        self.shown
            .iter()
            .map(|(row, _)| row.lane)
            .find(|&lane| row_id(lane) == id)
    }
}

fn new_row(elements: &Elements) -> Option<HtmlElement> {
    let row = elements.row.clone_node_with_deep(true).ok()?;
    Some(row.unchecked_into())
}

/// Writes the differences into a row: caret, name (prefix, text), flag, count.
fn dress(elements: &Elements, element: &HtmlElement, old: Option<&TreeRow>, row: &TreeRow) {
    // Only an invalid name of an attribute is refused.
    let set = |name: &str, value: &str| {
        let _ = element.set_attribute(name, value);
    };
    let same = |part: fn(&TreeRow) -> &str| old.is_some_and(|old| part(old) == part(row));
    if old.is_none() {
        element.set_id(&row_id(row.lane));
        set("data-lane", &row.key);
    }
    let is_counted_on = old.is_some_and(|old| {
        let count = row.count.clone();
        *row == TreeRow {
            count,
            ..old.clone()
        }
    });
    if !is_counted_on {
        place(element, row);
    }
    let child = |place: u32| element.children().item(place);
    if !(same(|row| &row.prefix) && same(|row| &row.name))
        && let Some(name) = child(1)
    {
        set("title", &format!("{}{}", row.prefix, row.name));
        let parts = name.children();
        // Names of one owner differ at their end, so styles.css cuts the beginning if there is no room.
        let end = row.name.char_indices().rev().nth(TAIL_CHARS - 1);
        let end = end.map_or(0, |(end, _)| end);
        let is_object = matches!(row.lane, LaneId::Object(..));
        let end = if is_object { end } else { row.name.len() };
        // A split that may panic brings all of text's errors with it: 4 kB of the first paint.
        let (head, tail) = row.name.split_at_checked(end).unwrap_or((&row.name, ""));
        for (place, text) in [row.prefix.as_str(), head, tail].into_iter().enumerate() {
            if let Some(part) = parts.item(place as u32) {
                part.set_text_content(Some(text));
            }
        }
    }
    if !(same(|row| &row.prefix) && same(|row| &row.name) && same(|row| &row.count)) {
        // Without a label, screen readers would pause between the parts.
        set(
            "aria-label",
            &[&*row.prefix, &row.name, " ", &row.count].concat(),
        );
    }
    if old.is_none_or(|old| old.finding != row.finding) {
        let (code, ink) = row
            .finding
            .as_ref()
            .map_or(("", ""), |(code, ink)| (&**code, ink));
        set("data-finding", code);
        set("data-ink", ink);
    }
    if old.is_none_or(|old| old.mark != row.mark)
        && let Some(flag) = child(2)
    {
        flag.set_text_content(None);
        if let Some((glyph, ink)) = row.mark {
            draw_glyph(&elements.document, &flag, glyph, ink);
        }
    }
    if !same(|row| &row.count)
        && let Some(count) = child(3)
    {
        count.set_text_content(Some(&row.count));
    }
}

/// Writes class, level and place of a row.
fn place(element: &HtmlElement, row: &TreeRow) {
    // Only an invalid name of an attribute is refused.
    let set = |name: &str, value: &str| {
        let _ = element.set_attribute(name, value);
    };
    let mut class = "row".to_owned();
    for (is_set, name) in [
        (row.is_watch, " watch"),
        (row.selected, " selected"),
        (row.ringed, " focused"),
        (row.diverged, " divergence"),
    ] {
        if is_set {
            class.push_str(name);
        }
    }
    element.set_class_name(&class);
    let level = match (row.lane, row.indent_px) {
        (LaneId::Version(_) | LaneId::Object(..) | LaneId::More(_) | LaneId::Gone(_), _) => "2",
        // A layer's level follows from its indentation.
        (LaneId::Layer(_), ..28) => "1",
        (LaneId::Layer(_), ..44) => "2",
        (LaneId::Layer(_), ..60) => "3",
        (LaneId::Layer(_), _) => "4",
        _ => "1",
    };
    set("aria-level", level);
    set("aria-selected", if row.selected { "true" } else { "false" });
    if let Some(expanded) = row.expanded {
        set("aria-expanded", if expanded { "true" } else { "false" });
    }
    // A script may set styles under the content security policy.
    element.style().set_css_text(&format!(
        "top:{}px;height:{}px;--indent:{}px",
        row.top_px, row.height_px, row.indent_px
    ));
}

/// Draws a glyph into an SVG element that has the glyphs' box, with the same paths as on the canvas.
pub(crate) fn draw_glyph(document: &Document, svg: &Element, glyph: Glyph, ink: Token) {
    let ink = format!("var(--{})", ink.name());
    for part in glyph.parts() {
        let Ok(path) = document.create_element_ns(Some("http://www.w3.org/2000/svg"), "path")
        else {
            return;
        };
        let (fill, stroke) = match part.paint {
            Paint::Fill => (ink.as_str(), "none"),
            Paint::Ground => ("none", "none"),
            Paint::Stroke(hundredths) => {
                let width = decimal(f64::from(hundredths) / 100.0, 2);
                let _ = path.set_attribute("stroke-width", &width);
                ("none", ink.as_str())
            }
        };
        for (name, value) in [("d", part.path), ("fill", fill), ("stroke", stroke)] {
            let _ = path.set_attribute(name, value);
        }
        let _ = svg.append_child(&path);
    }
}

/// Returns the id of a lane's element, for `aria-activedescendant`.
fn row_id(lane: LaneId) -> String {
    match lane {
        LaneId::Findings => "lane-findings".to_owned(),
        LaneId::OwnRequests => "lane-asides".to_owned(),
        LaneId::Layer(layer) => format!("lane-l{}", layer.0),
        LaneId::Watch(watch) => format!("lane-w{}", watch.0),
        LaneId::Connection(server) => format!("lane-c{}", server.0),
        LaneId::More(watch) => format!("lane-m{}", watch.0),
        LaneId::Gone(watch) => format!("lane-g{}", watch.0),
        LaneId::Quiet => "lane-quiet".to_owned(),
        LaneId::Version(watch) => format!("lane-v{}", watch.0),
        LaneId::Object(watch, object) => format!("lane-o{}-{}", watch.0, object.0),
    }
}
