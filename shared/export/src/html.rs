//! A recording with the page that shows it, as one HTML file that opens from a disk and makes no request.
//!
//! The build makes the page as a template (xtask/src/page/single.rs), whose policy allows its one script by hash. What is
//! put in here stands in elements that do nothing, so no text of it is markup or a script.

use thiserror::Error;
use watchscope_timeline::Theme;

use crate::digits::digits;
use crate::letters;

/// Where the template has places: for the title of the document, for title and view as the script reads them, and for the
/// recording. Each is there once, in this order.
const TITLE: &str = "{{watchscope:title}}";
const OPENED: &str = "{{watchscope:opened}}";
const RECORDING: &str = "{{watchscope:recording}}";

/// Why no file can be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HtmlError {
    /// The template is none of this version.
    #[error("the template of the page has no {0}")]
    NoPlace(&'static str),
}

/// The whole file. `view` is the place that it opens at, as a link's fragment names one without its `#`; empty, it opens as
/// a recording does. `recording` is a recording's file.
///
/// # Errors
/// If the template lacks a place.
pub fn html(
    template: &str,
    title: &str,
    view: &str,
    recording: &[u8],
) -> Result<String, HtmlError> {
    let at = |rest: &'_ str, place: &'static str| rest.find(place).ok_or(HtmlError::NoPlace(place));
    let (before_title, rest) = template.split_at(at(template, TITLE)?);
    let rest = &rest[TITLE.len()..];
    let (before_opened, rest) = rest.split_at(at(rest, OPENED)?);
    let rest = &rest[OPENED.len()..];
    let (before_recording, rest) = rest.split_at(at(rest, RECORDING)?);
    let rest = &rest[RECORDING.len()..];
    Ok([
        before_title,
        &letters::escaped(title, letters::put_in_markup),
        before_opened,
        &opened(title, view),
        before_recording,
        &digits(recording),
        rest,
    ]
    .concat())
}

/// The view in a theme of all that the file has; without one, as the system is.
#[must_use]
pub const fn view(theme: Option<Theme>) -> &'static str {
    match theme {
        None => "",
        Some(Theme::Dark) => "v=1&theme=dark",
        Some(Theme::Light) => "v=1&theme=light",
    }
}

/// Title and view as JSON.
fn opened(title: &str, view: &str) -> String {
    format!(
        "{{\"title\":\"{}\",\"view\":\"{}\"}}",
        letters::escaped(title, put_in_json),
        view.chars().fold(String::new(), |mut out, letter| {
            put_in_json(letter, &mut out);
            out
        })
    )
}

/// A letter in a JSON string that no element ends at.
fn put_in_json(letter: char, out: &mut String) {
    match letter {
        '"' | '\\' | '<' | '>' | '&' | '\0'..='\u{1f}' => {
            out.push_str(&format!("\\u{:04x}", u32::from(letter)));
        }
        letter => out.push(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "<title>{{watchscope:title}}</title><script type=\"application/json\">{{watchscope:opened}}</script>\
                            <script type=\"application/octet-stream\">{{watchscope:recording}}</script><script>run()</script>";

    #[test]
    fn each_thing_stands_in_its_place() {
        let made = html(TEMPLATE, "Shop", "v=1&from=5&to=9", b"wscope").unwrap();
        insta::assert_snapshot!(made, @r#"<title>Shop</title><script type="application/json">{"title":"Shop","view":"v=1\u0026from=5\u0026to=9"}</script><script type="application/octet-stream">NI=?9L0R</script><script>run()</script>"#);
    }

    #[test]
    fn a_hostile_title_is_text_in_the_document_and_in_its_data() {
        let title = "</title></script><!--<script>alert(1)</script>\"'\\ {{watchscope:recording}} \u{202e}gnp.\u{2028}x";
        let made = html(TEMPLATE, title, "v=1&filter=</script><!--\"\n", b"a").unwrap();
        let markup = made.matches('<').count();
        assert_eq!(markup, TEMPLATE.matches('<').count(), "{made}");
        let (_, rest) = made.split_once("application/json\">").unwrap();
        let (json, _) = rest.split_once("</script>").unwrap();
        let read: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(
            read["title"],
            "</title></script><!--<script>alert(1)</script>\"'\\ {{watchscope:recording}}  gnp. x"
        );
        assert_eq!(read["view"], "v=1&filter=</script><!--\"\n");
        assert!(!made.contains('\u{202e}') && made.ends_with("<script>run()</script>"));
    }

    #[test]
    fn a_title_is_cut() {
        let made = html(TEMPLATE, &"a".repeat(100_000), "", b"").unwrap();
        assert!(made.len() < 2_000, "{}", made.len());
    }

    #[test]
    fn a_template_without_a_place_is_refused() {
        for place in [TITLE, OPENED, RECORDING] {
            let template = TEMPLATE.replace(place, "");
            assert_eq!(html(&template, "", "", b""), Err(HtmlError::NoPlace(place)));
        }
    }

    #[test]
    fn a_theme_that_was_asked_for_is_in_the_view() {
        assert_eq!(view(None), "");
        assert_eq!(view(Some(Theme::Dark)), "v=1&theme=dark");
    }
}
