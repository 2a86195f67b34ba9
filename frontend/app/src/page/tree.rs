//! The lane tree at the left: DOM, so that it can be read, searched and restyled; visible rows only.

use leptos::prelude::*;
use watchscope_timeline::LaneId;

use super::engine::Handle;
use super::glyph::GlyphPicture;
use super::panels::{Panels, TreeRow};

/// The tree, its head, and the grip that changes its width.
#[component]
pub(super) fn Tree(panels: Panels, handle: Handle) -> impl IntoView {
    let rows = NodeRef::<leptos::html::Div>::new();
    handle.set_rows(rows);
    view! {
        <div class="tree-head"><span>{move || panels.date.get()}</span><span class="quiet">"changes"</span></div>
        <div
            class="tree"
            id="tree"
            role="tree"
            aria-label="Lanes"
            on:wheel=move |event| handle.wheel_on_tree(&event)
        >
            <div class="rows" role="presentation" node_ref=rows>
                <For each=move || panels.rows.get() key=TreeRow::clone children=move |row| view! { <RowView row handle/> }/>
            </div>
        </div>
        <div
            class="tree-grip"
            role="separator"
            aria-orientation="vertical"
            aria-label="Width of the lane tree"
            tabindex="0"
            on:pointerdown=move |event| handle.grip_tree(&event)
            on:keydown=move |event| {
                let step = match event.key().as_str() {
                    "ArrowLeft" => -16.0,
                    "ArrowRight" => 16.0,
                    _ => return,
                };
                event.prevent_default();
                event.stop_propagation();
                handle.widen_tree(step);
            }
        ></div>
    }
}

#[component]
fn RowView(row: TreeRow, handle: Handle) -> impl IntoView {
    let lane = row.lane;
    let mut class = "row".to_owned();
    for (set, name) in [
        (row.is_watch, "watch"),
        (row.selected, "selected"),
        (row.ringed, "focused"),
        (row.diverged, "divergence"),
    ] {
        if set {
            class.push(' ');
            class.push_str(name);
        }
    }
    let caret = row.expanded.is_some();
    let title = format!("{}{}", row.prefix, row.name);
    view! {
        <div
            class=class
            id=row_id(lane)
            role="treeitem"
            attr:aria-level=if row.is_watch { "1" } else { "2" }
            aria-expanded=row.expanded.map(|expanded| expanded.to_string())
            aria-selected=row.selected.to_string()
            data-lane=row.key.clone()
            title=title
            style:top=format!("{}px", row.top_px)
            style:height=format!("{}px", row.height_px)
            style=("--indent", format!("{}px", row.indent_px))
            on:click=move |_| handle.select_lane(lane)
            on:dblclick=move |_| handle.toggle_lane(lane)
        >
            {caret.then(|| view! {
                <span class="caret" aria-hidden="true" on:click=move |event| {
                    event.stop_propagation();
                    handle.toggle_lane(lane);
                }></span>
            })}
            <span class="name"><span class="prefix">{row.prefix.clone()}</span>{row.name.clone()}</span>
            {row.mark.map(|(glyph, ink)| view! { <GlyphPicture glyph ink size=12/> })}
            <span class="count">{row.count.clone()}</span>
        </div>
    }
}

/// The id of a lane's element, for `aria-activedescendant`.
pub(super) fn row_id(lane: LaneId) -> String {
    match lane {
        LaneId::Findings => "lane-findings".to_owned(),
        LaneId::Watch(watch) => format!("lane-w{}", watch.0),
        LaneId::Connection(watch) => format!("lane-c{}", watch.0),
        LaneId::Version(watch) => format!("lane-v{}", watch.0),
        LaneId::Object(watch, object) => format!("lane-o{}-{}", watch.0, object.0),
    }
}
