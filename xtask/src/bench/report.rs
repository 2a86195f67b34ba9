//! docs/benchmarks.md: one section per benchmark. A new measurement replaces the section.

use std::fmt;

use anyhow::{Result, bail};

/// The page before the first section.
pub(crate) const EMPTY_PAGE: &str = "# Benchmarks\n\nWritten by `cargo xtask bench --write`; a figure that misses its bar says so.\n";

/// The beginning of a section; nothing else on the page begins with it.
const HEADING: &str = "\n## ";

/// The result of one benchmark, as the page shows it.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Its name on the command line.
    pub(crate) name: String,
    /// What it measures.
    pub(crate) about: String,
    /// The machine, compiler, day and commit of the measurement.
    pub(crate) machine: String,
    /// The rows of the table, in Markdown.
    pub(crate) rows: Vec<String>,
}

impl Section {
    /// Whether a figure misses its bar.
    pub(crate) fn misses_a_bar(&self) -> bool {
        self.rows.iter().any(|row| row.ends_with("| missed |"))
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Section {
            name,
            about,
            machine,
            rows,
        } = self;
        writeln!(
            f,
            "## {name}\n\n{about}\n\n`cargo xtask bench {name}` on {machine}\n"
        )?;
        writeln!(f, "| Figure | Bar | Measured | Result |\n|---|---|---|---|")?;
        rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

/// Returns the rows that a benchmark wrote. Any other line on its standard output is an error, and so is no row at all.
pub(crate) fn rows(output: &str) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for line in output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let cells = line.matches('|').count() - line.matches("\\|").count();
        if cells != 5 || !line.starts_with('|') || !line.ends_with('|') {
            bail!("a benchmark writes rows `| figure | bar | measured | result |`, not {line:?}");
        }
        rows.push(line.to_owned());
    }
    if rows.is_empty() {
        bail!("the benchmark ended without a figure");
    }
    Ok(rows)
}

/// Returns the page with the section in place of the old one of that name, or at its end.
pub(crate) fn with_section(page: &str, section: &Section) -> String {
    let heading = format!("{HEADING}{}\n", section.name);
    let (before, after) = match page.split_once(&heading) {
        Some((before, old)) => {
            let after = old.find(HEADING).map_or("", |at| &old[at..]);
            (before, after)
        }
        None => (page, ""),
    };
    format!("{}\n\n{section}{after}", before.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str, row: &str) -> Section {
        Section {
            name: name.to_owned(),
            about: format!("What {name} costs."),
            machine: "2 cores.".to_owned(),
            rows: vec![row.to_owned()],
        }
    }

    #[test]
    fn a_section_measured_again_takes_the_place_of_the_old_one() {
        let mut page = EMPTY_PAGE.to_owned();
        for (name, row) in [
            ("ingest", "| a | 1 | 2 | missed |"),
            ("fanout", "| b | 1 | 1 | met |"),
            ("ingest", "| a | 1 | 1 | met |"),
        ] {
            page = with_section(&page, &section(name, row));
        }
        insta::assert_snapshot!(page, @r"
        # Benchmarks

        Written by `cargo xtask bench --write`; a figure that misses its bar says so.

        ## ingest

        What ingest costs.

        `cargo xtask bench ingest` on 2 cores.

        | Figure | Bar | Measured | Result |
        |---|---|---|---|
        | a | 1 | 1 | met |

        ## fanout

        What fanout costs.

        `cargo xtask bench fanout` on 2 cores.

        | Figure | Bar | Measured | Result |
        |---|---|---|---|
        | b | 1 | 1 | met |
        ");
    }

    #[test]
    fn a_figure_that_misses_its_bar_is_seen() {
        assert!(section("ingest", "| a | 1 | 2 | missed |").misses_a_bar());
        assert!(!section("ingest", "| nothing missed | 1 | 1 | met |").misses_a_bar());
    }

    #[test]
    fn only_rows_of_the_table_are_figures() {
        assert_eq!(
            rows("| a | 1 | 2 | met |\n\n").unwrap(),
            ["| a | 1 | 2 | met |"]
        );
        assert!(rows("").is_err());
        assert!(rows("| a | 1 | met |").is_err());
        assert!(rows("warming up").is_err());
    }
}
