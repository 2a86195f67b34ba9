//! Pictures as PNG: resvg renders their SVG in Noto Sans, which the binary carries. Fonts of the system are never used. So
//! the same binary gives the same bytes on every machine of one architecture.

use std::collections::BTreeSet;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};
use skrifa::{FontRef, MetadataProvider as _};
use thiserror::Error;

/// The most bytes of a picture before compression: those of 8,192 x 8,192 px.
const MOST_BYTES: u64 = 4 * 8_192 * 8_192;
/// The most letters that an error names when no font has them.
const NAMED: usize = 3;

/// Why a picture cannot become a PNG.
#[derive(Debug, Error)]
pub(crate) enum RasterError {
    /// It is not a valid SVG.
    #[error("the picture cannot be read: {0}")]
    Svg(#[from] usvg::Error),
    /// It is empty, or larger than [`MOST_BYTES`].
    #[error(
        "a picture of {width} x {height} px is too large for a PNG; choose a smaller --size or fewer --lanes"
    )]
    Size {
        /// Its width in px.
        width: u32,
        /// Its height in px.
        height: u32,
    },
    /// The file given as a font is not one.
    #[error("the file is no TrueType or OpenType font")]
    Font,
    /// It has letters that no font has.
    #[error("no font here has {letters}; name one that has them with --font")]
    Letters {
        /// Up to [`NAMED`] of them, as code points.
        letters: String,
    },
    /// Its compression failed.
    #[error("the PNG cannot be made: {0}")]
    Png(String),
}

/// The fonts that pictures are drawn in.
#[derive(Debug)]
pub(crate) struct Fonts(Arc<fontdb::Database>);

impl Fonts {
    /// Loads Noto Sans, and the font in `other` for scripts that Noto Sans lacks.
    ///
    /// # Errors
    /// If `other` is not a font.
    pub(crate) fn new(other: Option<Vec<u8>>) -> Result<Self, RasterError> {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(notosans::REGULAR_TTF.to_vec());
        fonts.load_font_data(notosans::BOLD_TTF.to_vec());
        fonts.set_sans_serif_family("Noto Sans");
        let ours = fonts.len();
        if let Some(other) = other {
            fonts.load_font_data(other);
            if fonts.len() == ours {
                return Err(RasterError::Font);
            }
        }
        Ok(Self(Arc::new(fonts)))
    }

    /// Returns the letters of a text that no font has.
    fn lacks(&self, text: &str) -> BTreeSet<char> {
        let mut left: BTreeSet<char> = text.chars().filter(|letter| !letter.is_ascii()).collect();
        for face in self.0.faces() {
            self.0.with_face_data(face.id, |data, index| {
                if let Ok(font) = FontRef::from_index(data, index) {
                    let letters = font.charmap();
                    left.retain(|letter| letters.map(*letter).is_none());
                }
            });
        }
        left
    }
}

/// Renders a picture as PNG, in the size that its SVG states.
///
/// # Errors
/// If it is too large, or if no font has one of its letters.
pub(crate) fn png(svg: &str, fonts: &Fonts) -> Result<Vec<u8>, RasterError> {
    let lacks = fonts.lacks(svg);
    if !lacks.is_empty() {
        let named = lacks.iter().take(NAMED);
        let named: Vec<String> = named
            .map(|letter| format!("U+{:04X}", *letter as u32))
            .collect();
        let more = if lacks.len() > NAMED {
            " and others"
        } else {
            ""
        };
        let letters = named.join(", ") + more;
        return Err(RasterError::Letters { letters });
    }
    let options = usvg::Options {
        fontdb: fonts.0.clone(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options)?;
    let size = tree.size().to_int_size();
    let (width, height) = (size.width(), size.height());
    let is_in_reach = u64::from(width) * u64::from(height) * 4 <= MOST_BYTES;
    let pixmap = is_in_reach.then(|| Pixmap::new(width, height)).flatten();
    let mut pixmap = pixmap.ok_or(RasterError::Size { width, height })?;
    resvg::render(&tree, Transform::identity(), &mut pixmap.as_mut());
    pixmap
        .encode_png()
        .map_err(|error| RasterError::Png(error.to_string()))
}

#[cfg(test)]
mod tests {
    use watchscope_timeline::format::text_width;

    use super::*;

    fn picture(text: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20\" font-family=\"Arial,sans-serif\">\
             <rect width=\"40\" height=\"20\" fill=\"#fff\"/><text x=\"2\" y=\"14\">{text}</text></svg>"
        )
    }

    #[test]
    fn a_text_is_drawn_in_the_binarys_font_with_the_same_bytes_each_time() {
        let fonts = Fonts::new(None).unwrap();
        let drawn = png(&picture("a → b"), &fonts).unwrap();
        assert_eq!(drawn, png(&picture("a → b"), &fonts).unwrap());
        assert_eq!(&drawn[1..4], b"PNG");
        assert_ne!(
            drawn,
            png(&picture(""), &fonts).unwrap(),
            "the letters are drawn"
        );
    }

    #[test]
    fn letters_that_no_font_has_are_named_and_not_left_out() {
        let fonts = Fonts::new(None).unwrap();
        let error = png(&picture("日本語の名前"), &fonts).unwrap_err();
        insta::assert_snapshot!(error, @"no font here has U+306E, U+524D, U+540D and others; name one that has them with --font");
        assert!(matches!(
            Fonts::new(Some(b"no font".to_vec())),
            Err(RasterError::Font)
        ));
    }

    #[test]
    fn a_picture_that_is_too_large_is_refused() {
        let large = picture("a").replace("width=\"40\"", "width=\"40000\"");
        let large = large.replacen("height=\"20\"", "height=\"40000\"", 1);
        let error = png(&large, &Fonts::new(None).unwrap()).unwrap_err();
        assert!(
            matches!(error, RasterError::Size { width: 40_000, .. }),
            "{error}"
        );
    }

    /// Returns how wide a text is in the binary's font, in px.
    fn measured_px(text: &str, size: f32, is_bold: bool) -> f32 {
        let data = if is_bold {
            notosans::BOLD_TTF
        } else {
            notosans::REGULAR_TTF
        };
        let font = FontRef::new(data).unwrap();
        let (letters, location) = (font.charmap(), skrifa::instance::LocationRef::default());
        let widths = font.glyph_metrics(skrifa::instance::Size::new(size), location);
        let glyphs = text.chars().filter_map(|letter| letters.map(letter));
        glyphs.filter_map(|glyph| widths.advance_width(glyph)).sum()
    }

    #[test]
    fn no_label_of_a_findings_picture_is_wider_than_its_estimate() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/findings");
        let mut labels = 0;
        let mut wrong: Vec<(f32, String)> = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "svg") {
                continue;
            }
            let svg = std::fs::read_to_string(&path).unwrap();
            let tree = usvg::roxmltree::Document::parse(&svg).unwrap();
            for node in tree.descendants().filter(|node| node.has_tag_name("text")) {
                let number = |name: &str| {
                    node.attribute(name)
                        .and_then(|value| value.parse::<u16>().ok())
                };
                let (size, weight) = (
                    number("font-size").unwrap(),
                    number("font-weight").unwrap_or(400),
                );
                let text = node.text().unwrap_or_default();
                let reckoned = text_width(text, size as u8, weight).to_f64() as f32;
                let excess = measured_px(text, f32::from(size), weight >= 600) - reckoned;
                labels += 1;
                if excess > 3.0 {
                    wrong.push((excess, format!("{text:?} {size} {weight} {reckoned}")));
                }
            }
        }
        wrong.sort_by(|one, other| other.0.total_cmp(&one.0));
        assert!(labels > 1_000, "{labels}");
        assert!(
            wrong.is_empty(),
            "{} of {labels}: {:#?}",
            wrong.len(),
            &wrong[..wrong.len().min(12)]
        );
    }
}
