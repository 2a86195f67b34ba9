//! Reads what a client program believes from the JSON of its reports. All other code uses this reader.

use std::sync::Arc;

use crate::id::{Object, ResourceVersion, Text, Uid};
use crate::json_reader::{JsonError, Next, Reader};
use crate::vocabulary::ClientPhase;

/// What a client believes about one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Belief {
    /// The resource: `pods`, `deployments.apps`; empty if the report names none.
    pub resource: Text,
    /// The part of the client that holds this belief, if the client has several parts; else empty.
    pub part: Text,
    /// The revision up to which the client believes to know everything. `None` if the client keeps no revision, or one
    /// that is no decimal text of at most 64 bits without leading zeros.
    pub revision: Option<u64>,
    /// The number of objects that the client holds. If the report does not state it as a whole number of 64 bits, it is
    /// the number of objects in `held`.
    pub objects: u64,
    /// The objects that the report names, in its order. An object that the report names twice is listed twice. The
    /// report may name fewer objects than the client holds, or none: client programs of the simulator name at most 64.
    pub held: Vec<Held>,
}

/// An object that a client holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The object: its namespace (`None` if the report names none), name and uid.
    pub object: Arc<Object>,
    /// The object's resourceVersion, as the client reported it; any text.
    pub version: Text,
}

impl Belief {
    /// Reads the `belief` of a `client.report`: a JSON list with an entry for each resource, whose order is kept.
    ///
    /// A text that is no JSON list, or has more than 128 levels, gives an empty list. So does half of a surrogate pair
    /// in a text that is read. An absent field, or a field of another type, reads as empty, and an entry that is no
    /// object as a belief with empty fields. Entries of `held` of another form are skipped. If a field appears twice,
    /// the last one counts. The length of the text bounds the result.
    #[must_use]
    pub fn read(text: &str) -> Vec<Self> {
        let mut reader = Reader::new(text);
        let mut beliefs = Vec::new();
        let read = reader.array(|reader| {
            beliefs.push(Self::next(reader)?);
            Ok(())
        });
        match read.and_then(|()| reader.end()) {
            Ok(()) => beliefs,
            Err(_) => Vec::new(),
        }
    }

    fn next(reader: &mut Reader<'_>) -> Result<Self, JsonError> {
        let mut belief = Self::default();
        let mut objects = None;
        if reader.peek()? != Next::Object {
            reader.skip()?;
            return Ok(belief);
        }
        reader.object(|reader, name| {
            match &*name {
                "resource" => belief.resource = text(reader)?.unwrap_or_default(),
                "part" => belief.part = text(reader)?.unwrap_or_default(),
                "resourceVersion" => {
                    belief.revision = text(reader)?.and_then(|version| number(&version));
                }
                "objects" => {
                    let place = reader.skip()?;
                    objects = reader.text()[place].parse().ok();
                }
                "held" => belief.held = Held::all(reader)?,
                _ => {
                    reader.skip()?;
                }
            }
            Ok(())
        })?;
        belief.objects = objects.unwrap_or(belief.held.len() as u64);
        Ok(belief)
    }

    /// Whether the report names each object that the client holds: as many as its count states. True if the report
    /// states no count.
    #[must_use]
    pub fn names_all(&self) -> bool {
        self.objects == self.held.len() as u64
    }
}

impl Held {
    /// Reads a JSON object with an entry for each held object; returns none if the value is no JSON object. It fails if
    /// the value is not JSON.
    fn all(reader: &mut Reader<'_>) -> Result<Vec<Self>, JsonError> {
        let mut all = Vec::new();
        if reader.peek()? != Next::Object {
            reader.skip()?;
            return Ok(all);
        }
        reader.object(|reader, key| {
            let value = text(reader)?;
            all.extend(value.and_then(|value| Self::of(&key, &value)));
            Ok(())
        })?;
        Ok(all)
    }

    /// Reads an entry: the key is `NAMESPACE/NAME` or a name alone, the value is `UID@RESOURCEVERSION`. Any other
    /// value gives `None`.
    fn of(key: &str, value: &str) -> Option<Self> {
        let (namespace, name) = match key.split_once('/') {
            Some((namespace, name)) => (Some(namespace.into()), name),
            None => (None, key),
        };
        let (uid, version) = value.rsplit_once('@')?;
        let object = Arc::new(Object {
            namespace,
            name: name.into(),
            uid: Uid::parse(uid),
        });
        Some(Self {
            object,
            version: version.into(),
        })
    }

    /// The object's resourceVersion; `None` if it is no decimal number of at most 64 bits without leading zeros.
    #[must_use]
    pub fn revision(&self) -> Option<u64> {
        number(&self.version)
    }

    /// Whether this and the other object have the same namespace and name; uids may differ.
    #[must_use]
    pub fn is_in_place_of(&self, other: &Self) -> bool {
        self.object.name == other.object.name && self.object.namespace == other.object.namespace
    }
}

/// Reads a value as a text; `None` if the value is no string. It fails if the value is not JSON.
fn text(reader: &mut Reader<'_>) -> Result<Option<Text>, JsonError> {
    if reader.peek()? == Next::String {
        return Ok(Some(reader.string()?.as_ref().into()));
    }
    reader.skip()?;
    Ok(None)
}

fn number(version: &str) -> Option<u64> {
    ResourceVersion::parse(version).number()
}

impl ClientPhase {
    /// Whether the client has ended (`failed` or `done`): its process is gone and holds nothing. False for an unknown
    /// phase.
    #[must_use]
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Failed | Self::Done)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_belief_is_read_and_entries_of_another_form_are_skipped() {
        let text = r#"[{"resource":"configmaps","resourceVersion":"604","objects":70,
            "held":{"shop/a":"u1@519","b":"u2@603","odd":7}}]"#;
        let [belief] = &Belief::read(text)[..] else {
            panic!("one belief")
        };
        assert_eq!(
            (&*belief.resource, belief.revision, belief.objects),
            ("configmaps", Some(604), 70)
        );
        let names: Vec<(&str, Option<u64>)> = belief
            .held
            .iter()
            .map(|held| (&*held.object.name, held.revision()))
            .collect();
        assert_eq!(names, [("a", Some(519)), ("b", Some(603))]);
        assert_eq!(belief.held[1].object.namespace, None);
        assert_eq!(Belief::read("nothing"), []);
        assert_eq!(Belief::read("{}"), []);
        assert_eq!(Belief::read("[] 1"), []);
    }

    /// Reads by serde_json's values, in which each field is once.
    fn by_values(text: &str) -> Vec<Belief> {
        let Ok(Value::Array(parts)) = serde_json::from_str(text) else {
            return Vec::new();
        };
        let one = |part: &Value| {
            let text = |name: &str| -> Text { part[name].as_str().unwrap_or_default().into() };
            let held = part["held"].as_object().into_iter().flatten();
            let held = held.filter_map(|(key, value)| Held::of(key, value.as_str()?));
            let held: Vec<Held> = held.collect();
            Belief {
                resource: text("resource"),
                part: text("part"),
                revision: part["resourceVersion"].as_str().and_then(number),
                objects: part["objects"].as_u64().unwrap_or(held.len() as u64),
                held,
            }
        };
        parts.iter().map(one).collect()
    }

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-9.0..9.0_f64).prop_map(Value::from),
            "[a-z\"\\\\/é\n]{0,3}(@[0-9]{1,3})?".prop_map(Value::from),
        ]
    }

    /// A scalar, or an object of scalars.
    fn value() -> impl Strategy<Value = Value> {
        let object = prop::collection::btree_map("[a-z/\"]{0,4}", scalar(), 0..4);
        let object = object.prop_map(|object| object.into_iter().collect());
        prop_oneof![scalar(), object.prop_map(Value::Object)]
    }

    proptest! {
        #[test]
        fn beliefs_are_read_as_serde_json_reads_them(parts in prop::collection::vec((value(), value(), value(), value(), value(), value()), 0..3), cut in 0..400_usize) {
            let parts = parts.into_iter().map(|(resource, part, version, objects, held, other)| {
                let none = other.is_number();
                let belief = json!({
                    "resource": resource, "part": part, "resourceVersion": version, "objects": objects, "held": held,
                    "other": other.clone(),
                });
                if none { other } else { belief }
            });
            let text = Value::Array(parts.collect()).to_string();
            prop_assert_eq!(Belief::read(&text), by_values(&text));
            let cut: String = text.chars().take(cut).collect();
            prop_assert_eq!(Belief::read(&cut), by_values(&cut));
        }
    }
}
