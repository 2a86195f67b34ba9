//! One HTML file with a recording and the page that shows it. The file opens from a disk and makes no request.
//!
//! The build makes the page as a template (xtask/src/page/single.rs), whose Content-Security-Policy allows its one
//! script by hash. This module writes only into elements without behaviour, so no written text is markup or a script.

use thiserror::Error;
use watchscope_timeline::Theme;

use crate::letters;
use crate::seven_bits::seven_bits;

/// The template's placeholder for the document's title. Each placeholder occurs once in the template, in the order in
/// which this file declares them.
const TITLE: &str = "{{watchscope:title}}";
/// The template's placeholder for title and view as JSON, as the page's script reads them.
const OPENED: &str = "{{watchscope:opened}}";
/// The template's placeholder for the recording, as characters of seven bits each.
const RECORDING: &str = "{{watchscope:recording}}";

/// Why no HTML file can be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HtmlError {
    /// The template lacks this placeholder after the previous one: the template belongs to another version of
    /// watchscope.
    #[error("the template of the page has no {0}")]
    NoPlace(&'static str),
}

/// Returns the whole HTML file: the page's `template` with title, view and recording in place of its placeholders.
/// `view` is the fragment of a link without `#`; if `view` is empty, the file opens like any recording. `recording` has
/// the bytes of a recording's file. The first 400 letters of the title are kept; `…` replaces further letters. Control
/// characters in the title become spaces, and so do invisible characters, such as those that change the direction of
/// text.
///
/// # Errors
/// [`HtmlError::NoPlace`] if the template lacks a placeholder, or has them in another order.
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
        &seven_bits(recording),
        rest,
    ]
    .concat())
}

/// Returns the view of the whole recording in a theme, as the fragment of a link without `#`. For `None` the fragment
/// is empty: the file opens in the theme of the viewer's system.
#[must_use]
pub const fn view(theme: Option<Theme>) -> &'static str {
    match theme {
        None => "",
        Some(Theme::Dark) => "v=1&theme=dark",
        Some(Theme::Light) => "v=1&theme=light",
    }
}

/// Encodes title and view as JSON.
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

/// Writes a letter of a JSON string, escaped so that no string can end the HTML element around the JSON.
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

    /// The template of these tests: the three placeholders in the required order.
    const TEMPLATE: &str = "<title>{{watchscope:title}}</title><script type=\"application/json\">{{watchscope:opened}}</script>\
                            <script type=\"application/octet-stream\">{{watchscope:recording}}</script><script>run()</script>";

    #[test]
    fn title_view_and_recording_replace_their_placeholders() {
        let made = html(TEMPLATE, "Shop", "v=1&from=5&to=9", b"a").unwrap();
        insta::assert_snapshot!(made, @r#"<title>Shop</title><script type="application/json">{"title":"Shop","view":"v=1\u0026from=5\u0026to=9"}</script><script type="application/octet-stream">0@</script><script>run()</script>"#);
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
    fn a_long_title_is_cut() {
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
    fn the_chosen_theme_is_in_the_view() {
        assert_eq!(view(None), "");
        assert_eq!(view(Some(Theme::Dark)), "v=1&theme=dark");
    }
}
