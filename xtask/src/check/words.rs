//! Finds idioms that make our sentences hard to read, and refuses new ones.
//!
//! `xtask/words.txt` has a line for each idiom in each part of the project: part, count, idiom. A count may only fall.
//! A higher count in the source is refused, and so is a line whose count is higher than the source's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::texts::{self, Joined, TextFile};
use crate::project::Project;
use crate::violation::Violation;

/// What to write instead of "told".
pub(super) const EXACT_VERB: &str =
    "use the exact verb: delivered, sent, reported, logged, raised or shown";

/// Idioms, each with what to write instead.
const IDIOMS: [(&str, &str); 12] = [
    ("so long", "name the number: `after 30 s`"),
    ("so many", "name the number: `at most 16 objects`"),
    ("so much", "name the number: `at most 2 MiB`"),
    ("so often", "name the number: `3 times`"),
    (
        "who asks",
        "name who it is: the caller, the viewer, a pending request",
    ),
    (
        "who waits",
        "name who it is: the caller, the viewer, a pending request",
    ),
    ("is told", EXACT_VERB),
    ("are told", EXACT_VERB),
    ("was told", EXACT_VERB),
    ("told of", EXACT_VERB),
    ("of which", "begin another sentence"),
    ("of what", "name the thing"),
];

/// The path of the list of counts, from the root of the project.
const COUNTS: &str = "xtask/words.txt";

/// Folders and files of the root that are read.
const READ: [&str; 9] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "README.md",
    "assets",
    "backend",
    "docs",
    "frontend",
    "shared",
    "tests",
];

/// Endings of the files that hold sentences.
const WITH_SENTENCES: [&str; 4] = ["rs", "md", "js", "html"];

/// An idiom in a file.
struct Place {
    /// The path, from the root of the project.
    path: String,
    line: usize,
    idiom: usize,
}

/// The number of times that each idiom occurs in each part of the project.
type Counts = BTreeMap<(String, usize), usize>;

/// Returns a violation for each count that is higher or lower than the list says.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let found = counts(&places(&project.root)?);
    Ok(compare(&found, &read(&project.root)?))
}

/// Returns a line for each occurrence of an idiom, with what to write instead.
pub(crate) fn list(project: &Project) -> Result<String> {
    let mut text = String::new();
    for Place { path, line, idiom } in places(&project.root)? {
        let (idiom, plain) = IDIOMS[idiom];
        writeln!(text, "{path}:{line}: {idiom:?}; {plain}")?;
    }
    Ok(text)
}

/// Writes the counts if none is higher than the list says; otherwise returns those that are higher, and writes nothing.
pub(crate) fn write(project: &Project) -> Result<Vec<Violation>> {
    let found = counts(&places(&project.root)?);
    let known = read(&project.root)?;
    let is_higher = |violation: &Violation| violation.remedy != TOO_HIGH;
    let higher: Vec<Violation> = compare(&found, &known)
        .into_iter()
        .filter(is_higher)
        .collect();
    if higher.is_empty() {
        let path = project.root.join(COUNTS);
        fs::write(&path, text_of(&found)).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(higher)
}

/// The remedy for a line of the list that is higher than the count.
const TOO_HIGH: &str = "run `cargo xtask check words --write`";

fn compare(found: &Counts, known: &Counts) -> Vec<Violation> {
    let keys = found.keys().chain(known.keys());
    let keys: std::collections::BTreeSet<&(String, usize)> = keys.collect();
    let count = |counts: &Counts, key: &(String, usize)| counts.get(key).copied().unwrap_or(0);
    let differing = keys.into_iter().filter_map(|key| {
        let (now, before) = (count(found, key), count(known, key));
        let (idiom, plain) = IDIOMS[key.1];
        let remedy = match now.cmp(&before) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => {
                format!("{plain}; `cargo xtask check words` says where it stands")
            }
            std::cmp::Ordering::Less => TOO_HIGH.to_owned(),
        };
        Some(Violation {
            place: key.0.clone(),
            problem: format!("says {idiom:?} {now} times, and {before} in {COUNTS}"),
            remedy,
        })
    });
    differing.collect()
}

fn counts(places: &[Place]) -> Counts {
    let mut counts = Counts::new();
    for place in places {
        let part = part_of(&place.path).to_owned();
        *counts.entry((part, place.idiom)).or_default() += 1;
    }
    counts
}

/// Returns the part of the project that a file belongs to: a crate, a folder, or a file of the root.
fn part_of(path: &str) -> &str {
    let depth = match path.split('/').next() {
        Some("frontend" | "shared") => 2,
        _ => 1,
    };
    match path.match_indices('/').nth(depth - 1) {
        Some((end, _)) => &path[..end],
        None => path,
    }
}

fn text_of(counts: &Counts) -> String {
    let mut text = String::new();
    for ((part, idiom), count) in counts {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{part} {count} {}", IDIOMS[*idiom].0);
    }
    text
}

fn read(root: &Path) -> Result<Counts> {
    let path = root.join(COUNTS);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    counts_of(&text)
}

fn counts_of(text: &str) -> Result<Counts> {
    let line = |line: &str| -> Option<((String, usize), usize)> {
        let (part, rest) = line.split_once(' ')?;
        let (count, idiom) = rest.split_once(' ')?;
        let place = IDIOMS.iter().position(|(known, _)| *known == idiom)?;
        Some(((part.to_owned(), place), count.parse().ok()?))
    };
    text.lines()
        .enumerate()
        .map(|(number, text)| {
            line(text).with_context(|| {
                format!(
                    "{COUNTS}:{}: {text:?} is not part, count and a known idiom",
                    number + 1
                )
            })
        })
        .collect()
}

/// Finds all idioms in the project's sentences, file by file.
fn places(root: &Path) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for TextFile { path, text } in texts::read(root, &READ, &WITH_SENTENCES)? {
        places.extend(idioms(&text).map(|(line, idiom)| Place {
            path: path.clone(),
            line,
            idiom,
        }));
    }
    Ok(places)
}

/// Returns the line on which each idiom begins, and the idiom's place in [`IDIOMS`].
fn idioms(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let joined = Joined::new(text);
    let text = joined.text.to_ascii_lowercase();
    let mut found = Vec::new();
    for (place, (idiom, _)) in IDIOMS.iter().enumerate() {
        for (at, _) in text.match_indices(idiom) {
            let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let is_within = is_letter(text[..at].chars().next_back())
                || is_letter(text[at + idiom.len()..].chars().next());
            if !is_within {
                found.push((joined.line(at), place));
            }
        }
    }
    found.sort_unstable();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, &'static str)> {
        let found = idioms(text);
        found.map(|(line, idiom)| (line, IDIOMS[idiom].0)).collect()
    }

    fn lines(violations: &[Violation]) -> String {
        let lines = violations.iter();
        lines.map(|violation| format!("{violation}\n")).collect()
    }

    #[test]
    fn an_idiom_across_lines_of_a_comment_is_found_with_its_line() {
        let text = "/// At most so\n/// many.\nfn f() {} // Who asks is told\n// of it.\n";
        assert_eq!(
            found(text),
            [
                (1, "so many"),
                (3, "who asks"),
                (3, "is told"),
                (3, "told of")
            ]
        );
    }

    #[test]
    fn a_part_of_another_word_is_no_idiom() {
        assert_eq!(found("also many, so manyfold, this told"), []);
    }

    #[test]
    fn a_file_belongs_to_its_crate() {
        let parts = ["shared/model/src/id.rs", "backend/src/lib.rs", "README.md"].map(part_of);
        assert_eq!(parts, ["shared/model", "backend", "README.md"]);
    }

    #[test]
    fn counts_may_only_shrink_and_the_list_with_them() {
        let known = counts_of("backend 2 so long\nbackend 1 so many\ndocs 1 of what\n").unwrap();
        let found = counts_of("backend 3 so long\nbackend 1 so many\n").unwrap();
        insta::assert_snapshot!(lines(&compare(&found, &known)), @r#"
    backend: says "so long" 3 times, and 2 in xtask/words.txt; name the number: `after 30 s`; `cargo xtask check words` says where it stands
    docs: says "of what" 0 times, and 1 in xtask/words.txt; run `cargo xtask check words --write`
    "#);
        assert_eq!(
            text_of(&known),
            "backend 2 so long\nbackend 1 so many\ndocs 1 of what\n"
        );
    }

    #[test]
    fn a_malformed_line_of_the_list_is_named() {
        let refused = counts_of("backend 2 so long\nbackend two so many\n").unwrap_err();
        insta::assert_snapshot!(refused, @r#"xtask/words.txt:2: "backend two so many" is not part, count and a known idiom"#);
    }
}
