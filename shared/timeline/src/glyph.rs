//! Glyphs: the paths of each glyph on a box of 12 px, and its colour.

use crate::tokens::Token;

/// How a part of a glyph is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Filled with the glyph's ink.
    Fill,
    /// Filled with the row's ground: the inside of a hollow glyph.
    Ground,
    /// Stroked with the glyph's ink, with a line this many hundredths of a box px wide; mitre joins, butt caps.
    Stroke(u16),
}

/// One path of a glyph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// How the path is painted.
    pub paint: Paint,
    /// The path in SVG's path language, on a box of 12 × 12 with y down; the box's centre (6, 6) is drawn at the mark's
    /// position.
    pub path: &'static str,
}

macro_rules! glyphs {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $words:literal, $ink:ident, ($ink_x:literal, $ink_y:literal), [$($paint:ident $(($width:literal))? $path:literal),*];)*) => {
        /// The sign of a mark. The glyph's shape says what happened; its colour says the same once more. A filled sign
        /// of a change stands for a live event, or in the row of a simulated etcd for a write. A hollow sign of a
        /// change stands for one that came by a list or by initial events, or is inferred.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Glyph {
            $($(#[$doc])* $name,)*
        }

        impl Glyph {
            /// All glyphs, in the order of a legend. A glyph's index in the list is `glyph as usize`.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns a short name for dumps and ids, of lower-case letters and hyphens; each glyph has a different
            /// name.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// Returns the glyph's words in a legend.
            #[must_use]
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }

            /// Returns the glyph's colour, which a mark may override.
            #[must_use]
            pub const fn ink(self) -> Token {
                match self { $(Self::$name => Token::$ink,)* }
            }

            /// Returns a point of the glyph's box that has the glyph's colour: x and y in px of the box, from its upper
            /// left corner.
            #[must_use]
            pub const fn ink_point(self) -> (f64, f64) {
                match self { $(Self::$name => ($ink_x, $ink_y),)* }
            }

            /// Returns the glyph's paths, in paint order; never empty. The halo is the first path, widened and painted
            /// in the colour of the row's ground. In an SVG, a glyph whose first path is stroked has no halo; on the
            /// canvas it has one.
            #[must_use]
            pub const fn parts(self) -> &'static [Part] {
                match self { $(Self::$name => &[$(Part { paint: Paint::$paint $(($width))?, path: $path }),*],)* }
            }
        }
    };
}

/// Side of the box that the paths are drawn on, in px. A painter scales the box to the size of the mark. The
/// number has no source.
pub const GLYPH_BOX: f64 = 12.0;
/// Width of the halo around a glyph, in px of the page, whatever the size of the glyph. The canvas uses this width for
/// the halo beside a plate, too. The number has no source.
pub const GLYPH_HALO_PX: f64 = 1.5;

glyphs! {
    /// An ADDED that a stream delivered live, or a creation in a simulated etcd.
    Added = "added", "ADDED", Added, (6.0, 7.5), [Fill "M6 1L11.2 10.5H.8Z"];
    /// A MODIFIED that a stream delivered live, or a change in a simulated etcd.
    Modified = "modified", "MODIFIED", Modified, (6.0, 6.0), [Fill "M6 1.75a4.25 4.25 0 1 1 0 8.5a4.25 4.25 0 1 1 0 -8.5Z"];
    /// A MODIFIED of status only that a stream delivered live: a half disc, because status hangs under spec.
    Status = "status", "MODIFIED, status only", Modified, (6.0, 6.5), [Fill "M.75 4.5H11.25A5.25 5.25 0 0 1 .75 4.5Z"];
    /// A DELETED that a stream delivered live, or a deletion in a simulated etcd. The bar of the object's life ends at
    /// the glyph's centre.
    Deleted = "deleted", "DELETED", Deleted, (6.0, 4.5), [Fill "M.8 1.5H11.2L6 11Z"];
    /// An ADDED learned from a list or from initial events.
    AddedByList = "added-by-list", "ADDED, from a list", Added, (6.0, 9.75), [Ground "M6 1L11.2 10.5H.8Z", Stroke(150) "M6 2.7L10 9.75H2Z"];
    /// A MODIFIED learned from a list or from initial events.
    ModifiedByList = "modified-by-list", "changed, from a list", Modified, (6.0, 2.5), [Ground "M6 1.75a4.25 4.25 0 1 1 0 8.5a4.25 4.25 0 1 1 0 -8.5Z", Stroke(150) "M6 2.5a3.5 3.5 0 1 1 0 7a3.5 3.5 0 1 1 0 -7Z"];
    /// A MODIFIED of status only, learned from a list or from initial events.
    StatusByList = "status-by-list", "status changed, from a list", Modified, (6.0, 5.25), [Ground "M.75 4.5H11.25A5.25 5.25 0 0 1 .75 4.5Z", Stroke(150) "M1.75 5.25H10.25A4.25 4.25 0 0 1 1.75 5.25Z"];
    /// A delete that no stream of the watch delivered: the watch held the object, and a list or a stream shows that it
    /// is gone.
    DeletedInferred = "deleted-inferred", "inferred delete", Deleted, (6.0, 2.25), [Ground "M.8 1.5H11.2L6 11Z", Stroke(150) "M2 2.25H10L6 9.3Z"];
    /// A BOOKMARK that does not end the initial events. The picture draws such a bookmark as a tick.
    Bookmark = "bookmark", "BOOKMARK", Bookmark, (6.0, 6.0), [Fill "M5.25 3h1.5v6h-1.5z"];
    /// The bookmark that ends the initial events.
    InitialEnd = "initial-events-end", "end of initial events", Bookmark, (6.0, 2.75), [Fill "M2.5 2H9.5v1.5H6.75V10h-1.5V3.5H2.5Z"];
    /// An ERROR event. Beside the name of a row it stands for a refusal, a lost gap or an error finding, too.
    Error = "error", "ERROR", Error, (6.0, 6.0), [Fill "M6 .5L11.5 6L6 11.5L.5 6Z"];
    /// Opening bracket of a list.
    ListStart = "list-start", "list starts", List, (4.25, 6.0), [Stroke(150) "M8.5 1.25H4.25V10.75H8.5"];
    /// Closing bracket of a list.
    ListEnd = "list-end", "list ends", List, (7.75, 6.0), [Stroke(150) "M3.5 1.25H7.75V10.75H3.5"];
    /// A list after the watch's first list; also the first list of an epoch, once it is compared with the epoch before.
    Relist = "relist", "relist", List, (3.9, 6.0), [Fill "M3 0h1.75v12H3zM7.25 0H9v12H7.25z"];
    /// The watch dials, or waits for an answer.
    Connecting = "connecting", "connecting", Stream, (6.0, 9.5), [Fill "M.5 8.5h2v2h-2zM5 8.5h2v2h-2zM9.5 8.5h2v2h-2z"];
    /// The watch waits before its next try (backoff).
    Waiting = "waiting", "waiting", Stream, (2.0, 9.5), [Stroke(200) "M0 9.5h4.5M7.5 9.5h4.5"];
    /// The server refused the request.
    Refused = "refused", "refused", Error, (6.0, 9.5), [Stroke(200) "M0 9.5H12", Stroke(150) "M3.5 1.5l5 5M8.5 1.5l-5 5"];
    /// A plateau that falls square: the stream ended normally.
    EndNormal = "end-normal", "normal end", Stream, (7.5, 6.0), [Stroke(175) "M0 2.5H7.5V10.5"];
    /// A torn plateau: the stream ended abnormally.
    EndAbnormal = "end-abnormal", "abnormal end", Error, (4.0, 2.0), [Stroke(175) "M0 2H7.5L10.5 4.1L5.5 6.2L10.5 8.3L7.5 10.6"];
    /// A plateau that fades: how the stream ended is unknown.
    EndUnknown = "end-unknown", "end unknown", Stream, (3.0, 2.5), [Stroke(175) "M0 2.5H5", Fill "M6.4 3h1.8v1.8H6.4zM7.8 6h1.8v1.8H7.8zM9.2 9h1.8v1.8H9.2z"];
    /// A resourceVersion jump.
    Jump = "jump", "resourceVersion jump", Jump, (6.0, 4.0), [Stroke(150) "M.5 10.25H6V5", Fill "M2.2 5.4L6 .6L9.8 5.4Z"];
    /// A resourceVersion that went back.
    Reversal = "reversal", "resourceVersion went back", Error, (6.0, 8.0), [Stroke(150) "M.5 1.75H6V7", Fill "M1.5 6.2H10.5L6 11.8Z"];
    /// A ghost: the watch holds the object, and the audit's read lacks it. Also an object that a simulated layer holds
    /// and etcd does not. Beside the name of the row of findings it stands for a finding of severity divergence.
    Ghost = "ghost", "ghost", Divergence, (6.0, 1.3), [Ground "M2 10.9V5.5A4 4 0 0 1 10 5.5V10.9L8 9.2L6 10.9L4 9.2Z", Stroke(150) "M2 10.6V5.3A4 4 0 0 1 10 5.3V10.6L8 9L6 10.6L4 9Z", Fill "M4 4.6h1.4v2H4zM6.6 4.6H8v2H6.6z"];
    /// A missing object: the audit's read has the object, and the watch does not hold it.
    Missing = "missing", "missing", Divergence, (6.0, 9.0), [Stroke(150) "M.75 3.5V.75H3.5M8.5 .75H11.25V3.5M11.25 8.5V11.25H8.5M3.5 11.25H.75V8.5", Stroke(140) "M4.3 4.5A1.75 1.75 0 1 1 6.6 6.1Q6 6.4 6 7.3", Fill "M5.25 8.3h1.5v1.5h-1.5z"];
    /// A stale object: the watch holds it at an older resourceVersion than the audit's read has. Also a divergence of a
    /// kind that this build does not know.
    Stale = "stale", "stale", Divergence, (1.75, 6.0), [Stroke(175) "M5.75 2L1.75 6L5.75 10M10.5 2L6.5 6L10.5 10"];
    /// The watch holds the object at a newer resourceVersion than the audit's read has.
    ListOlder = "list-older", "list older", Divergence, (10.25, 6.0), [Stroke(175) "M1.5 2L5.5 6L1.5 10M6.25 2L10.25 6L6.25 10"];
    /// An audit read agrees with what the watch holds. In the colour `line3`, the read cannot tell.
    ReadAgrees = "read-agrees", "read agrees", Bookmark, (6.0, 6.0), [Fill "M3.25 3.25h5.5v5.5h-5.5z"];
    /// An audit read differs from what the watch holds.
    ReadDiffers = "read-differs", "read differs", Divergence, (6.0, 6.0), [Ground "M2 2h8v8H2z", Stroke(150) "M2.5 2.5h7v7h-7zM9.5 2.5L2.5 9.5"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_uses_only_the_commands_a_painter_knows() {
        for glyph in Glyph::ALL {
            for part in glyph.parts() {
                let known = |c: char| "MLHVAZQahvlmz0123456789. -".contains(c);
                assert!(
                    part.path.starts_with('M') && part.path.chars().all(known),
                    "{}",
                    glyph.id()
                );
            }
        }
    }

    #[test]
    fn hollow_glyphs_fill_with_the_ground_first_and_solid_ones_do_not() {
        for glyph in [
            Glyph::AddedByList,
            Glyph::ModifiedByList,
            Glyph::StatusByList,
            Glyph::DeletedInferred,
        ] {
            assert_eq!(glyph.parts()[0].paint, Paint::Ground, "{}", glyph.id());
        }
        for glyph in [Glyph::Added, Glyph::Modified, Glyph::Status, Glyph::Deleted] {
            assert_eq!(glyph.parts()[0].paint, Paint::Fill, "{}", glyph.id());
        }
    }
}
