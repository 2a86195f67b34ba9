//! Compares two transcripts. Each difference has a place that a list can name.

use std::fmt;

use serde_json::{Map, Value};

use super::normal::{Document, Moment, Plain};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The request that it belongs to, as the real server got it.
    pub(super) request: String,
    /// Where the difference is: `status`, `header warning`, `body.metadata.generation`, `frame.object.kind`, `frames`,
    /// `end`. An index of an array is `[]`.
    pub(super) place: String,
    pub(super) simulated: String,
    pub(super) real: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    {}", self.request)?;
        writeln!(f, "      {}", self.place)?;
        writeln!(f, "        simulated: {}", self.simulated)?;
        write!(f, "        real:      {}", self.real)
    }
}

/// Returns all differences of two transcripts.
pub(super) fn differences(simulated: &[Plain], real: &[Plain]) -> Vec<Difference> {
    let mut found = Vec::new();
    if simulated.len() != real.len() {
        found.push(Difference {
            request: "the exchange".to_owned(),
            place: "steps".to_owned(),
            simulated: simulated.len().to_string(),
            real: real.len().to_string(),
        });
    }
    for (ours, theirs) in simulated.iter().zip(real) {
        let mut step = Comparison {
            request: &theirs.request,
            found: &mut found,
        };
        step.texts("request", &ours.request, &theirs.request);
        if ours.status != theirs.status {
            // Bodies under different statuses are about different things, so they are not compared.
            let told = |plain: &Plain| {
                let body: Vec<String> = plain.body.iter().map(Document::to_string).collect();
                format!("{} {}", plain.status, body.join(" "))
            };
            step.note("status", told(ours), told(theirs));
            continue;
        }
        for name in ours.headers.keys().chain(theirs.headers.keys()) {
            let place = format!("header {name}");
            let of = |plain: &Plain| match plain.headers.get(name) {
                Some(values) => values.join(" | "),
                None => ABSENT.to_owned(),
            };
            step.once(&place, &of(ours), &of(theirs));
        }
        let watch = ours.body.len() != 1 || theirs.body.len() != 1 || ours.end != "whole";
        let root = if watch { "frame" } else { "body" };
        if ours.body.len() != theirs.body.len() {
            step.texts(
                "frames",
                &ours.body.len().to_string(),
                &theirs.body.len().to_string(),
            );
        }
        for (ours, theirs) in ours.body.iter().zip(&theirs.body) {
            step.documents(root, ours, theirs);
        }
        step.texts("end", ours.end, theirs.end);
    }
    found
}

/// Returns pairs of times that the two servers have in opposite orders. Times within one second of each other, on
/// either server, have no order. Each time is reported at most once.
pub(super) fn contradictions(simulated: &[Moment], real: &[Moment]) -> Vec<Difference> {
    let mut found = Vec::new();
    // If the transcripts have different lengths, the documents' differences say more.
    if simulated.len() != real.len() {
        return found;
    }
    for (at, (ours, theirs)) in simulated.iter().zip(real).enumerate() {
        let earlier = simulated.iter().zip(real).take(at);
        let contradicts = |(before, there): &(&Moment, &Moment)| {
            let (here, there) = (before.secs.cmp(&ours.secs), there.secs.cmp(&theirs.secs));
            here.is_ne() && here == there.reverse()
        };
        if let Some((before, there)) = earlier.into_iter().find(contradicts) {
            found.push(Difference {
                request: theirs.request.clone(),
                place: "order of times".to_owned(),
                simulated: format!("{}, before it {}", ours.text, before.text),
                real: format!("{}, before it {}", theirs.text, there.text),
            });
        }
    }
    found
}

const ABSENT: &str = "(absent)";

struct Comparison<'a> {
    request: &'a str,
    found: &'a mut Vec<Difference>,
}

impl Comparison<'_> {
    fn note(&mut self, place: &str, simulated: String, real: String) {
        self.found.push(Difference {
            request: self.request.to_owned(),
            place: place.to_owned(),
            simulated,
            real,
        });
    }

    fn texts(&mut self, place: &str, simulated: &str, real: &str) {
        if simulated != real {
            self.note(place, simulated.to_owned(), real.to_owned());
        }
    }

    /// Like [`Self::texts`], but notes one difference for each place of the step.
    fn once(&mut self, place: &str, simulated: &str, real: &str) {
        let noted = |d: &Difference| d.place == place && d.request == self.request;
        if !self.found.last().is_some_and(noted) {
            self.texts(place, simulated, real);
        }
    }

    fn documents(&mut self, root: &str, simulated: &Document, real: &Document) {
        match (simulated, real) {
            (
                Document::Json {
                    value: a,
                    as_go_writes: a_go,
                    line_end: a_end,
                    managers_in_order: a_order,
                },
                Document::Json {
                    value: b,
                    as_go_writes: b_go,
                    line_end: b_end,
                    managers_in_order: b_order,
                },
            ) => {
                self.values(root, a, b);
                let written = |go: bool| if go { "as Go writes JSON" } else { "otherwise" };
                self.texts(&format!("{root} text"), written(*a_go), written(*b_go));
                let ended = |end: bool| if end { "with a line end" } else { "without" };
                self.texts(&format!("{root} line end"), ended(*a_end), ended(*b_end));
                let ordered = |order: bool| {
                    if order {
                        "as a server has them"
                    } else {
                        "otherwise"
                    }
                };
                let place = format!("{root} managers");
                self.texts(&place, ordered(*a_order), ordered(*b_order));
            }
            (Document::Text(a), Document::Text(b)) => self.texts(root, a, b),
            (a, b) => self.note(root, format!("{a:?}"), format!("{b:?}")),
        }
    }

    fn values(&mut self, place: &str, simulated: &Value, real: &Value) {
        match (simulated, real) {
            (Value::Object(a), Value::Object(b)) => self.maps(place, a, b),
            (Value::Array(a), Value::Array(b)) => {
                let place = format!("{place}[]");
                for (a, b) in a.iter().zip(b) {
                    self.values(&place, a, b);
                }
                for a in a.iter().skip(b.len()) {
                    self.note(&place, a.to_string(), ABSENT.to_owned());
                }
                for b in b.iter().skip(a.len()) {
                    self.note(&place, ABSENT.to_owned(), b.to_string());
                }
            }
            (a, b) if a == b => {}
            (a, b) => self.note(place, a.to_string(), b.to_string()),
        }
    }

    fn maps(&mut self, place: &str, simulated: &Map<String, Value>, real: &Map<String, Value>) {
        for (key, ours) in simulated {
            let place = format!("{place}.{key}");
            match real.get(key) {
                Some(theirs) => self.values(&place, ours, theirs),
                None => self.note(&place, ours.to_string(), ABSENT.to_owned()),
            }
        }
        for (key, theirs) in real {
            if !simulated.contains_key(key) {
                let place = format!("{place}.{key}");
                self.note(&place, ABSENT.to_owned(), theirs.to_string());
            }
        }
        let order = |map: &Map<String, Value>, other: &Map<String, Value>| -> Vec<String> {
            map.keys()
                .filter(|key| other.contains_key(*key))
                .cloned()
                .collect()
        };
        let (ours, theirs) = (order(simulated, real), order(real, simulated));
        if ours != theirs {
            self.note(
                &format!("{place} order"),
                ours.join(", "),
                theirs.join(", "),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn step(status: u16, value: Value) -> Plain {
        Plain {
            request: "GET /x".to_owned(),
            status,
            headers: BTreeMap::new(),
            body: vec![Document::Json {
                value,
                as_go_writes: true,
                line_end: true,
                managers_in_order: true,
            }],
            end: "whole",
        }
    }

    #[test]
    fn every_kind_of_difference_has_its_place() {
        let ours = step(200, json!({"b": 1, "a": [1, 2], "x": 1, "m": {"k": "v"}}));
        let mut theirs = step(
            200,
            json!({"a": [1, 3, 4], "b": 1, "y": 2, "m": {"k": "w"}}),
        );
        theirs
            .headers
            .insert("warning".to_owned(), vec!["old".to_owned()]);
        let places: Vec<String> = differences(std::slice::from_ref(&ours), &[theirs])
            .into_iter()
            .map(|d| format!("{}: {} / {}", d.place, d.simulated, d.real))
            .collect();
        insta::assert_snapshot!(places.join("\n"), @r#"
        header warning: (absent) / old
        body.a[]: 2 / 3
        body.a[]: (absent) / 4
        body.x: 1 / (absent)
        body.m.k: "v" / "w"
        body.y: (absent) / 2
        body order: b, a, m / a, b, m
        "#);
        assert_eq!(
            differences(std::slice::from_ref(&ours), std::slice::from_ref(&ours)),
            []
        );
    }

    #[test]
    fn times_contradict_each_other_only_if_they_differ_on_both_servers() {
        let at = |secs: &[i64]| -> Vec<Moment> {
            let moment = |secs: &i64| Moment {
                request: "GET /x".to_owned(),
                text: secs.to_string(),
                secs: *secs,
            };
            secs.iter().map(moment).collect()
        };
        let told = |ours: &[i64], theirs: &[i64]| -> Vec<String> {
            let found = contradictions(&at(ours), &at(theirs)).into_iter();
            found
                .map(|d| format!("{} / {}", d.simulated, d.real))
                .collect()
        };
        assert!(told(&[1, 1, 2], &[5, 6, 9]).is_empty());
        assert!(told(&[1, 2, 2], &[5, 5, 5]).is_empty());
        assert_eq!(
            told(&[2, 1, 1], &[5, 6, 5]),
            ["1, before it 2 / 6, before it 5"]
        );
    }
}
