//! Follows a redaction rule through a value of any shape and notes what must go.

use crate::json::{JsonError, Next, Reader};
use crate::redact::{Cut, Instead, LAST_APPLIED, Rule, copy_without};

/// The values that must go, in the order of the text being read.
pub(super) type Cuts = Vec<Cut>;

/// Reads a value and notes what must go by a rule. Null and absence are the same in Kubernetes; any other shape than
/// the rule knows is an error, so that nothing is passed on that it did not foresee.
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

/// Reads the value of a key for which there may be a rule.
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

/// Passes over a value that must go. Null says nothing and stays.
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

/// Where in a value of a kind nobody knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Anywhere.
    Any,
    /// The value of a key `env`.
    Env,
    /// An element of an array there.
    Variable,
}

impl Place {
    /// The value of a key.
    fn of(key: &str) -> Self {
        if key == "env" { Self::Env } else { Self::Any }
    }

    /// An element of the array that stands here.
    fn of_element(self) -> Self {
        match self {
            Self::Env => Self::Variable,
            Self::Any | Self::Variable => Self::Any,
        }
    }
}

/// Reads any value: `value` of each element of an array `env` goes, and the last-applied annotation, wherever they
/// are. The reader's nesting limit bounds the recursion.
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

/// The key of `managedFields` under which the fields of a manager are.
pub(super) const FIELDS: &str = "fieldsV1";

/// Reads which fields a manager owns, in an object of a kind nobody knows: `f:` and the name of a field, `k:` and the
/// keys of an element of a list, `v:` and an element of a set, `i:` and the place of one. Elements are quoted as JSON,
/// so what must go of an element must go there too; below the `value` of an element of `env` all goes.
/// Keys that differ only in what goes become equal; nothing reads the body by them.
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

/// A key that quotes an element, without what must go of it; nothing if it may stay. One that is no JSON cannot be
/// judged.
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

/// Passes over fields that must go, if there are any.
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
