//! Finds idioms that make our sentences hard to read, and refuses them.
//!
//! An idiom may stand only where [`ALLOWED`] says so, and as many times as it says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

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

/// An idiom that is right in one file.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    /// The path, from the root of the project.
    path: &'static str,
    /// An idiom of [`IDIOMS`].
    idiom: &'static str,
    /// The number of times that it stands in the file. A lower number in the source is refused, too.
    times: usize,
    /// Why no other words can stand there.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers; a test holds that it is there")
    )]
    why: &'static str,
}

/// The word of a method of the audit in records and in JSON. Recordings have it, so it stays.
const METHOD: &str = "names the method `get of what left`, which records hold";

/// All allowances.
const ALLOWED: &[Allowance] = &[
    Allowance {
        path: "docs/audit.md",
        idiom: "of what",
        times: 1,
        why: METHOD,
    },
    Allowance {
        path: "shared/diagnosis/tests/suite/audit.rs",
        idiom: "of what",
        times: 1,
        why: METHOD,
    },
    Allowance {
        path: "shared/model/src/vocabulary.rs",
        idiom: "of what",
        times: 1,
        why: METHOD,
    },
];

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
const WITH_SENTENCES: [&str; 5] = ["rs", "md", "js", "json", "html"];

/// An idiom in a file.
struct Place {
    /// The path, from the root of the project.
    path: String,
    line: usize,
    idiom: usize,
}

/// The number of times that each idiom stands in each file, by path and idiom.
type Counts = BTreeMap<(String, &'static str), usize>;

/// Returns a violation for each idiom that stands in a file more or fewer times than is allowed.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let mut found = Counts::new();
    for Place { path, idiom, .. } in places(&project.root)? {
        *found.entry((path, IDIOMS[idiom].0)).or_default() += 1;
    }
    Ok(compare(&found, ALLOWED))
}

/// Returns a line for each place of an idiom, with what to write instead. It lists allowed places, too.
pub(crate) fn list(project: &Project) -> Result<String> {
    let mut text = String::new();
    for Place { path, line, idiom } in places(&project.root)? {
        let (idiom, plain) = IDIOMS[idiom];
        writeln!(text, "{path}:{line}: {idiom:?}; {plain}")?;
    }
    Ok(text)
}

fn compare(found: &Counts, allowed: &[Allowance]) -> Vec<Violation> {
    let allowed: Counts = allowed
        .iter()
        .map(|it| ((it.path.to_owned(), it.idiom), it.times))
        .collect();
    let keys: BTreeSet<_> = found.keys().chain(allowed.keys()).collect();
    let count = |counts: &Counts, key| counts.get(key).copied().unwrap_or(0);
    let differing = keys.into_iter().filter_map(|key| {
        let (stands, may) = (count(found, key), count(&allowed, key));
        let (path, idiom) = key;
        let remedy = match stands.cmp(&may) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => {
                let known = IDIOMS.iter().find(|(known, _)| known == idiom);
                let plain = known.map_or("use other words", |(_, plain)| plain);
                format!("{plain}; `cargo xtask check words` names the lines")
            }
            std::cmp::Ordering::Less => {
                "lower its allowance in xtask/src/check/words.rs".to_owned()
            }
        };
        Some(Violation {
            place: path.clone(),
            problem: format!("says {idiom:?} {stands} times, and may {may} times"),
            remedy,
        })
    });
    differing.collect()
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
    fn an_idiom_stands_only_where_it_is_allowed_and_as_often() {
        let allowed = |path, idiom, times| Allowance {
            path,
            idiom,
            times,
            why: "a name",
        };
        let allowed = [
            allowed("docs/audit.md", "of what", 2),
            allowed("docs/metrics.md", "of what", 1),
        ];
        let found = [
            ("README.md", "so long", 1),
            ("docs/audit.md", "of what", 1),
            ("docs/metrics.md", "of what", 1),
        ];
        let found = found.map(|(path, idiom, times)| ((path.to_owned(), idiom), times));
        let wrong = compare(&Counts::from(found), &allowed);
        let wrong: String = wrong.iter().map(|it| format!("{it}\n")).collect();
        insta::assert_snapshot!(wrong, @r#"
        README.md: says "so long" 1 times, and may 0 times; name the number: `after 30 s`; `cargo xtask check words` names the lines
        docs/audit.md: says "of what" 1 times, and may 2 times; lower its allowance in xtask/src/check/words.rs
        "#);
    }

    #[test]
    fn each_allowance_names_a_known_idiom_and_its_reason() {
        for Allowance {
            path, idiom, why, ..
        } in ALLOWED
        {
            assert!(
                IDIOMS.iter().any(|(known, _)| known == idiom),
                "{path}: {idiom}"
            );
            assert!(!why.is_empty(), "{path}");
        }
    }
}
