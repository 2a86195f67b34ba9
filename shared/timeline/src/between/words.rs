//! The differences between two moments in words.

use watchscope_model::{Object, WatchName};

use super::differences::DifferenceKind;
use super::last::Between;
use super::sides::Side;
use crate::format::{count, number};
use crate::phrases::object_words;

/// A part of the headline over the differences between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadPart {
    /// The words.
    pub words: String,
    /// Whether the part counts divergences, so that it is shown in their colour.
    pub is_parted: bool,
}

/// Returns the headline: how many objects came, went, changed and parted (now diverge), in this order; a zero is left
/// out. The part of `went` also has the number of inferred last changes, of rows of all kinds, if there are any. If
/// nothing differs, the headline is one part that says so. If [`Between::objects`] is 0 and the objects of some watch
/// are unknown, it says that no watch had a list at both. The headline is never empty.
#[must_use]
pub fn head_words(between: &Between) -> Vec<HeadPart> {
    let plain = |words: String| HeadPart {
        words,
        is_parted: false,
    };
    if between.objects == 0 && !between.unlisted.is_empty() {
        return vec![plain("No watch had a list at both.".to_owned())];
    }
    if between.rows.is_empty() {
        let objects = count(between.objects, "object");
        return vec![plain(format!("A and B are the same: {objects}."))];
    }
    let inferred = between.rows.iter().filter(|row| row.is_inferred).count();
    let kinds = [
        (DifferenceKind::Came, "came"),
        (DifferenceKind::Went, "went"),
        (DifferenceKind::Changed, "changed"),
        (DifferenceKind::Parted, "parted"),
    ];
    let counted = kinds.map(|(kind, word)| (kind, word, between.count(kind) as u64));
    let parts = counted.into_iter().filter(|&(_, _, count)| count > 0);
    parts
        .map(|(kind, word, count)| {
            let how = match kind {
                DifferenceKind::Went if inferred > 0 => {
                    format!(" ({} inferred)", number(inferred as u64))
                }
                _ => String::new(),
            };
            HeadPart {
                words: format!("{} {word}{how}", number(count)),
                is_parted: kind == DifferenceKind::Parted,
            }
        })
        .collect()
}

/// Returns the resource and the name of an object, as a row shows them. The resource is [`WatchName::resource`], cut
/// before its selectors: `pods`, `widgets.example.com`. Without selectors the watch's number stays: `pods#2`. The name
/// is `shop/web-0`, or `web-0` without a namespace. Hostile: show it as text.
#[must_use]
pub fn place_words(watch: &WatchName, object: &Object) -> (String, String) {
    let resource = watch.resource().split('?').next().unwrap_or_default();
    (resource.to_owned(), object_words(object))
}

/// Returns the name of a side, which heads its column: `etcd`, `cache 2`, `this watch`, or a client's name. Hostile:
/// show as text.
#[must_use]
pub fn side_words(side: &Side) -> String {
    match side {
        Side::Etcd => "etcd".to_owned(),
        Side::Cache(server) => format!("cache {server}"),
        Side::Watch => "this watch".to_owned(),
        Side::Client(name) => name.to_string(),
    }
}
