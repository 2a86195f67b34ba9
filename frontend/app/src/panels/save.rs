//! "Save picture": the view at twice its size with its caption, as a PNG the browser downloads.

use leptos::prelude::document;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use watchscope_timeline::picture::{Caption, saved, title};
use watchscope_timeline::{Px, Theme, Token, format};
use web_sys::{Blob, HtmlAnchorElement, Url};

use crate::core::model::Model;
use crate::core::person::Person;
use crate::paint::canvas::hidden_canvas;
use crate::paint::painter::Painter;
use crate::paint::palette::Palette;
use crate::runtime::page::{act, elements, read};

/// Device px to a CSS px of the page: twice, so that text stays sharp when the picture is shown at half width.
const SCALE: f64 = 2.0;

/// Saves what is on screen.
pub(super) fn save_picture() {
    let painted = paint(&read());
    if painted.is_none() {
        act(Person::Trouble(
            "The picture could not be made: the browser gave no canvas for it.",
        ));
    }
}

/// Paints what is on screen as on paper, and hands it on; nothing if the browser gives no canvas.
fn paint(model: &Model) -> Option<()> {
    let now = model.pen();
    let summary = &model.shown.summary;
    let title = title(&summary.namespaces, &summary.cluster);
    let version = model
        .link
        .welcome
        .as_ref()
        .map_or_else(String::new, |welcome| welcome.version.to_string());
    let caption = Caption {
        title: &title,
        filter: model.lanes.filter(),
        version: &version,
        zone_offset_min: -js_sys::Date::new_0().get_timezone_offset() as i32,
        least_height: Px::ZERO,
        hidden: "",
        notes: &[],
    };
    let scene = saved(&model.picture(now), &caption);
    let (width, height) = (scene.width.to_f64(), scene.height.to_f64());
    let canvas = hidden_canvas(
        &elements().document,
        (width * SCALE).ceil() as u32,
        (height * SCALE).ceil() as u32,
    )?;
    // On paper, as most documents are.
    let palette = Palette {
        theme: Theme::Light,
        forced: false,
    };
    let mut painter = Painter::new(&canvas, SCALE, palette)?;
    painter.paint(Token::Ground0, &[(&scene, 0.0, 0.0)]);
    let name = format!(
        "watchscope {} {} UTC.png",
        format::date(model.view.left()),
        format::clock(model.view.left()).replace(':', "-")
    );
    let done = Closure::once_into_js(move |blob: Option<Blob>| {
        if blob.and_then(|blob| download(&blob, &name)).is_none() {
            act(Person::Trouble(
                "The picture could not be saved: the browser made no PNG of it.",
            ));
        }
    });
    canvas.to_blob(done.unchecked_ref()).ok()
}

/// Hands a file to the browser's downloads.
pub(super) fn download(blob: &Blob, name: &str) -> Option<()> {
    let url = Url::create_object_url_with_blob(blob).ok()?;
    let anchor: HtmlAnchorElement = document().create_element("a").ok()?.dyn_into().ok()?;
    anchor.set_href(&url);
    anchor.set_download(name);
    anchor.click();
    // The download has its own reference by now.
    Url::revoke_object_url(&url).ok()
}
