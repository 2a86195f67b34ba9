//! Seeds that follow a redaction rule through a value of any shape.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize as _;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::redact::{LAST_APPLIED, Rule};

/// Where the values that must go are noted: spans of `base`, in the order of the text.
pub(super) struct Cuts<'a> {
    /// The text being read.
    base: &'a str,
    /// The spans so far.
    spans: &'a mut Vec<Range<usize>>,
}

impl<'a> Cuts<'a> {
    pub(super) fn new(base: &'a str, spans: &'a mut Vec<Range<usize>>) -> Self {
        Self { base, spans }
    }

    fn cut(&mut self, value: &str) {
        if value == "null" {
            return;
        }
        // `value` is borrowed from `base`, so the distance of their addresses is its place in it.
        let start = value.as_ptr() as usize - self.base.as_ptr() as usize;
        self.spans.push(start..start + value.len());
    }
}

/// Reads a value and notes what must go by a rule.
pub(super) struct Follow<'c, 'a> {
    pub(super) rule: &'static Rule,
    pub(super) cuts: &'c mut Cuts<'a>,
}

impl<'de> DeserializeSeed<'de> for Follow<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Self { rule, cuts } = self;
        match rule {
            Rule::As(rule) => Follow { rule, cuts }.deserialize(deserializer),
            Rule::Cut => {
                cuts.cut(<&RawValue>::deserialize(deserializer)?.get());
                Ok(())
            }
            Rule::CutEach => {
                let raw = <&RawValue>::deserialize(deserializer)?.get();
                if raw.starts_with('{') {
                    CutEach { cuts }
                        .deserialize(&mut serde_json::Deserializer::from_str(raw))
                        .map_err(D::Error::custom)
                } else {
                    cuts.cut(raw);
                    Ok(())
                }
            }
            Rule::At(_) | Rule::Each(_) => deserializer.deserialize_any(Shape { rule, cuts }),
            Rule::Walk => Walk {
                place: Place::Any,
                cuts,
            }
            .deserialize(deserializer),
        }
    }
}

/// A value nobody looks at; only checked to be JSON, and not nested deeper than serde_json's limit of 128.
#[derive(Clone, Copy)]
pub(super) struct Skip;

impl<'de> DeserializeSeed<'de> for Skip {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| ())
    }
}

/// A key, borrowed unless it has escapes.
pub(super) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// A place whose shape the table knows. Null and absence are the same in Kubernetes; any other shape is an error, so
/// that nothing is passed on that the table did not foresee.
struct Shape<'c, 'a> {
    rule: &'static Rule,
    cuts: &'c mut Cuts<'a>,
}

impl<'de> Visitor<'de> for Shape<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.rule {
            Rule::Each(_) => "an array",
            _ => "an object",
        })
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Rule::At(places) = self.rule else {
            return Err(A::Error::custom("an array was expected"));
        };
        while let Some(key) = map.next_key_seed(Key)? {
            match places.iter().find(|(name, _)| *name == key) {
                Some((_, rule)) => map.next_value_seed(Follow {
                    rule,
                    cuts: self.cuts,
                })?,
                None => map.next_value_seed(Skip)?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Rule::Each(rule) = self.rule else {
            return Err(A::Error::custom("an object was expected"));
        };
        while seq
            .next_element_seed(Follow {
                rule,
                cuts: self.cuts,
            })?
            .is_some()
        {}
        Ok(())
    }
}

/// An object whose every value goes.
struct CutEach<'c, 'a> {
    cuts: &'c mut Cuts<'a>,
}

impl<'de> DeserializeSeed<'de> for CutEach<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for CutEach<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((_, value)) = map.next_entry::<IgnoredAny, &RawValue>()? {
            self.cuts.cut(value.get());
        }
        Ok(())
    }
}

/// Any value of a kind nobody knows: `value` of each element of an array `env` goes, and the last-applied annotation,
/// wherever they are.
struct Walk<'c, 'a> {
    place: Place,
    cuts: &'c mut Cuts<'a>,
}

/// Where in such a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Anywhere.
    Any,
    /// The value of a key `env`.
    Env,
    /// An element of an array there.
    Variable,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { place, cuts } = self;
        while let Some(key) = map.next_key_seed(Key)? {
            let goes = key == LAST_APPLIED || key == "value" && place == Place::Variable;
            if goes {
                map.next_value_seed(Follow {
                    rule: &Rule::Cut,
                    cuts,
                })?;
            } else {
                let place = if key == "env" { Place::Env } else { Place::Any };
                map.next_value_seed(Walk { place, cuts })?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { place, cuts } = self;
        let place = match place {
            Place::Env => Place::Variable,
            Place::Any | Place::Variable => Place::Any,
        };
        while seq.next_element_seed(Walk { place, cuts })?.is_some() {}
        Ok(())
    }
}
