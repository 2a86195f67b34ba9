//! Follows a redaction rule through a value of any shape and notes what must go.

use crate::json::{JsonError, Next, Reader};
use crate::redact::{Cut, LAST_APPLIED, Rule};

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
        cuts.push(Cut { place, size });
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

/// Reads any value: `value` of each element of an array `env` goes, and the last-applied annotation, wherever they
/// are. The reader's nesting limit bounds the recursion.
fn walk(reader: &mut Reader<'_>, place: Place, cuts: &mut Cuts) -> Result<(), JsonError> {
    match reader.peek()? {
        Next::Object => reader.object(|reader, key| {
            if key == LAST_APPLIED || key == "value" && place == Place::Variable {
                cut(reader, cuts)
            } else {
                let place = if key == "env" { Place::Env } else { Place::Any };
                walk(reader, place, cuts)
            }
        }),
        Next::Array => {
            let place = match place {
                Place::Env => Place::Variable,
                Place::Any | Place::Variable => Place::Any,
            };
            reader.array(|reader| walk(reader, place, cuts))
        }
        Next::String | Next::Null | Next::Other => reader.skip().map(|_| ()),
    }
}
