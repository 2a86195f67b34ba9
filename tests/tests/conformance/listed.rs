//! The known differences: the table in docs/simulator.md, which the test reads.

use anyhow::{Context as _, Result, ensure};

use super::compare::Difference;

const PAGE: &str = include_str!("../../../docs/simulator.md");

/// The heading above the table.
const HEADING: &str = "## Where it differs from kube-apiserver";

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// An exchange's sentence, or `every`.
    pub(super) exchange: String,
    /// A place as [`Difference::place`] names it; `.*` at its end stands for that place and all below it.
    pub(super) place: String,
    pub(super) reason: String,
}

impl Row {
    pub(super) fn covers(&self, exchange: &str, difference: &Difference) -> bool {
        let of_exchange = self.exchange == "every" || self.exchange == exchange;
        let at_place = match self.place.strip_suffix(".*") {
            Some(above) => difference
                .place
                .strip_prefix(above)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', ' '])),
            None => difference.place == self.place,
        };
        of_exchange && at_place
    }
}

/// Returns all rows.
pub(super) fn rows() -> Result<Vec<Row>> {
    parse(PAGE)
}

fn parse(page: &str) -> Result<Vec<Row>> {
    let (_, section) = page
        .split_once(HEADING)
        .with_context(|| format!("docs/simulator.md has no heading {HEADING:?}"))?;
    let section = section.split("\n## ").next().unwrap_or(section);
    section
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            ensure!(cells.len() == 3, "a row of three cells: {line}");
            ensure!(!cells[2].is_empty(), "a difference has its reason: {line}");
            Ok(Row {
                exchange: cells[0].to_owned(),
                place: cells[1].trim_matches('`').to_owned(),
                reason: cells[2].to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_cover_exactly_the_places_that_they_name() -> Result<()> {
        let page = "x\n## Where it differs from kube-apiserver\n\n| Exchange | Where | Why |\n|---|---|---|\n\
                    | every | `header warning` | none |\n| a b | `body.spec.*` | because |\n\n## More\n| no | `a` | b |\n";
        let rows = parse(page)?;
        assert_eq!(rows.len(), 2);
        let at = |place: &str| Difference {
            request: String::new(),
            place: place.to_owned(),
            simulated: String::new(),
            real: String::new(),
        };
        assert!(rows[0].covers("anything", &at("header warning")));
        assert!(!rows[0].covers("anything", &at("status")));
        for place in ["body.spec", "body.spec.a", "body.spec[]", "body.spec order"] {
            assert!(rows[1].covers("a b", &at(place)), "{place}");
        }
        assert!(!rows[1].covers("a b", &at("body.specs")));
        assert!(!rows[1].covers("a c", &at("body.spec")));
        Ok(())
    }

    #[test]
    fn the_page_has_a_reason_for_every_row() -> Result<()> {
        rows()?;
        Ok(())
    }
}
