//! Follows a redaction rule through a value of any form, and collects the values to cut.

use crate::redact::{Cut, Instead, LAST_APPLIED, Rule, copy_without};
use watchscope_model::json_reader::{JsonError, Next, Reader};

/// The values to cut, in the order of the text.
pub(super) type Cuts = Vec<Cut>;

/// Reads a value and collects its cuts by a rule. Null counts as an absent value, as in Kubernetes. Any other value
/// whose form is not the rule's is an error, so that no unforeseen value passes.
pub(super) fn follow(
    reader: &mut Reader<'_>,
    rule: &'static Rule,
    cuts: &mut Cuts,
) -> Result<(), JsonError> {
    match (rule, reader.peek()?) {
        (Rule::As(rule), _) => follow(reader, rule, cuts),
        (Rule::Walk, _) => walk(reader, Place::Any, cuts),
        (_, Next::Null) => reader.skip().map(|_| ()),
        (Rule::CutEach, Next::Object) => reader.object(|reader, _| cut(reader, cuts)),
        (Rule::Cut | Rule::CutEach, _) => cut(reader, cuts),
        (Rule::At(places), Next::Object) => {
            reader.object(|reader, key| follow_at(reader, places, &key, cuts))
        }
        (Rule::Each(rule), Next::Array) => reader.array(|reader| follow(reader, rule, cuts)),
        (Rule::At(_) | Rule::Each(_), _) => Err(reader.unexpected()),
    }
}

/// Reads the value of a key, by the rule for the key if there is such a rule. It fails as [`follow`] does.
pub(super) fn follow_at(
    reader: &mut Reader<'_>,
    places: &'static [(&'static str, Rule)],
    key: &str,
    cuts: &mut Cuts,
) -> Result<(), JsonError> {
    match places.iter().find(|(name, _)| *name == key) {
        Some((_, rule)) => follow(reader, rule, cuts),
        None => reader.skip().map(|_| ()),
    }
}

/// Skips a value and cuts it. Null has no content and stays. It fails if the value is not JSON.
pub(super) fn cut(reader: &mut Reader<'_>, cuts: &mut Cuts) -> Result<(), JsonError> {
    let is_null = reader.peek()? == Next::Null;
    let (place, size) = reader.skip_sized()?;
    if !is_null {
        cuts.push(Cut {
            place,
            instead: Instead::Size(size),
        });
    }
    Ok(())
}

/// A position in a value of an unknown kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Any position.
    Any,
    /// The value of a key `env`.
    Env,
    /// An element of an array in `env`.
    Variable,
}

impl Place {
    /// The position of a key's value.
    fn of(key: &str) -> Self {
        if key == "env" { Self::Env } else { Self::Any }
    }

    /// The position of the elements of an array that is at this position.
    fn of_element(self) -> Self {
        match self {
            Self::Env => Self::Variable,
            Self::Any | Self::Variable => Self::Any,
        }
    }
}

/// Reads any value. It cuts `value` in each element of an array `env`, and the last-applied annotation, at any depth.
/// The reader's nesting limit bounds the recursion. It fails if the value is not JSON, or a key cannot be judged.
fn walk(reader: &mut Reader<'_>, place: Place, cuts: &mut Cuts) -> Result<(), JsonError> {
    match reader.peek()? {
        Next::Object => reader.object(|reader, key| {
            if key == LAST_APPLIED || key == "value" && place == Place::Variable {
                cut(reader, cuts)
            } else if key == FIELDS {
                walk_fields(reader, Place::Any, cuts)
            } else {
                walk(reader, Place::of(&key), cuts)
            }
        }),
        Next::Array => reader.array(|reader| walk(reader, place.of_element(), cuts)),
        Next::String | Next::Null | Next::Other => reader.skip().map(|_| ()),
    }
}

/// The key of the fields of one manager in an entry of `managedFields` (`ManagedFieldsEntry` of apimachinery
/// `meta/v1`).
pub(super) const FIELDS: &str = "fieldsV1";

/// Reads the fields that a manager owns, in an object of an unknown kind. Keys begin with `f:` before a field's name,
/// `k:` before the keys of a list element, `v:` before a set element, `i:` before an index.
///
/// Elements are quoted as JSON in these keys, so the values to cut in an element must be cut here, too. Everything
/// below the `value` of an element of `env` is cut. Keys that differ only in cut values become equal; no reader of the
/// body uses these keys. It fails as [`redact_key`] does, and if the value is not JSON.
pub(super) fn fields(reader: &mut Reader<'_>, cuts: &mut Cuts) -> Result<(), JsonError> {
    walk_fields(reader, Place::Any, cuts)
}

fn walk_fields(reader: &mut Reader<'_>, place: Place, cuts: &mut Cuts) -> Result<(), JsonError> {
    if reader.peek()? != Next::Object {
        return walk(reader, place, cuts);
    }
    reader.object_placed(|reader, key, key_place| match key.split_at_checked(2) {
        Some(("f:", "value")) if place == Place::Variable => cut_unless_empty(reader, cuts),
        Some(("f:", name)) => walk_fields(reader, Place::of(name), cuts),
        Some((prefix @ ("k:" | "v:"), element)) => {
            let place = place.of_element();
            if let Some(redacted) = redact_key(reader, prefix, element, place)? {
                cuts.push(Cut {
                    place: key_place,
                    instead: Instead::Key(redacted),
                });
            }
            walk_fields(reader, place, cuts)
        }
        Some(("i:", _)) => walk_fields(reader, place.of_element(), cuts),
        _ => walk(reader, Place::of(&key), cuts),
    })
}

/// Returns a key that quotes an element, without the values to cut; `None` if the element has no such value. A key that
/// is not JSON cannot be judged and is an error.
fn redact_key(
    reader: &Reader<'_>,
    prefix: &str,
    element: &str,
    place: Place,
) -> Result<Option<String>, JsonError> {
    let mut cuts = Cuts::new();
    let mut quoted = reader.inside(element);
    walk(&mut quoted, place, &mut cuts)
        .and_then(|()| quoted.end())
        .map_err(|_| reader.unjudged())?;
    if cuts.is_empty() {
        return Ok(None);
    }
    let mut redacted = prefix.as_bytes().to_vec();
    copy_without(element, 0, &cuts, &mut redacted);
    Ok(Some(String::from_utf8_lossy(&redacted).into_owned()))
}

/// Skips an object of fields and cuts it, unless the object is empty. A value of another type is cut, except null. It
/// fails if the value is not JSON.
fn cut_unless_empty(reader: &mut Reader<'_>, cuts: &mut Cuts) -> Result<(), JsonError> {
    let start = reader.clone();
    let mut is_empty = reader.peek()? == Next::Object;
    if is_empty {
        reader.object(|reader, _| {
            is_empty = false;
            reader.skip().map(|_| ())
        })?;
    }
    if is_empty {
        return Ok(());
    }
    *reader = start;
    cut(reader, cuts)
}
