//! The table of decisions in ARCHITECTURE.md names files and functions that exist.
//!
//! The table has at least [`ROWS`] rows of three cells: a behaviour, a file, and the functions of that file which decide it. A
//! method stands as `Type::function`, any other function as `function`. A function that only tests compile decides
//! nothing, so it does not count.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::rooms::without_tests;
use crate::project::Project;
use crate::violation::Violation;

/// The page that holds the table, from the root of the project.
const PAGE: &str = "ARCHITECTURE.md";

/// The heading above the table.
const HEADING: &str = "## Where is it decided?";

/// The least number of rows: the behaviours that people ask for most.
const ROWS: usize = 40;

/// Returns the files and functions that the table names and the source lacks, and a violation if the table is too
/// short.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    violations_below(&project.root)
}

fn violations_below(root: &Path) -> Result<Vec<Violation>> {
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let rows = rows(&page);
    let mut broken = Vec::new();
    if rows.len() < ROWS {
        broken.push(Violation {
            place: PAGE.to_owned(),
            problem: format!(
                "its table of decisions has {} rows, fewer than {ROWS}",
                rows.len()
            ),
            remedy: format!("name the {ROWS} behaviours that are asked for most"),
        });
    }
    for row in rows {
        broken.extend(check(&row, root)?);
    }
    Ok(broken)
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    /// The row's line in the page, from 1 on.
    line: usize,
    /// The texts in code style of the second cell.
    files: Vec<&'a str>,
    /// The texts in code style of the third cell.
    functions: Vec<&'a str>,
}

/// The rows of the table below [`HEADING`]; none if the page has no such heading.
fn rows(page: &str) -> Vec<Row<'_>> {
    let lines = page.lines().enumerate();
    let section = lines
        .skip_while(|(_, line)| *line != HEADING)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "));
    let table = section.filter(|(_, line)| line.starts_with('|'));
    table
        .skip(2)
        .map(|(line, text)| {
            let mut cells = text.trim_matches('|').split('|').skip(1).map(in_code_style);
            Row {
                line: line + 1,
                files: cells.next().unwrap_or_default(),
                functions: cells.next().unwrap_or_default(),
            }
        })
        .collect()
}

fn in_code_style(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns what is wrong with a row.
fn check(row: &Row<'_>, root: &Path) -> Result<Vec<Violation>> {
    let violation = |problem: String, remedy: &str| Violation {
        place: format!("{PAGE}:{}", row.line),
        problem,
        remedy: remedy.to_owned(),
    };
    let [file] = row.files[..] else {
        let problem = format!("names {} files in its second cell", row.files.len());
        return Ok(vec![violation(problem, "name one, from the root")]);
    };
    if row.functions.is_empty() {
        let problem = format!("names no function of {file}");
        return Ok(vec![violation(problem, "name the one that decides")]);
    }
    let path = root.join(file);
    if !path.is_file() {
        let problem = format!("names {file}, which does not exist");
        return Ok(vec![violation(problem, "name the file that decides now")]);
    }
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let known = functions(&text).with_context(|| format!("in {file}"))?;
    let missing = row.functions.iter().filter(|name| !known.contains(**name));
    Ok(missing
        .map(|name| {
            let problem = format!("names {name}, and {file} has no such function");
            violation(problem, "name the function that decides now")
        })
        .collect())
}

/// Returns the functions of a source file: methods as `Type::function`, all others by their names alone.
fn functions(source: &str) -> Result<BTreeSet<String>> {
    let tokens: TokenStream = source
        .parse()
        .map_err(|error| anyhow!("not Rust: {error}"))?;
    let mut found = BTreeSet::new();
    walk(tokens, None, &mut found);
    Ok(found)
}

/// Collects the functions of one level of items. `of` is the type that its methods belong to.
fn walk(tokens: TokenStream, of: Option<&str>, found: &mut BTreeSet<String>) {
    let (tokens, _) = without_tests(tokens);
    // The tokens of the item so far.
    let mut item: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match &token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let item = std::mem::take(&mut item);
                if let Some(name) = after(&item, "fn") {
                    found.insert(name_of(of, &name));
                } else if after(&item, "mod").is_some() {
                    walk(group.stream(), None, found);
                } else if let Some(name) = after(&item, "trait").or_else(|| implementor(&item)) {
                    walk(group.stream(), Some(&name), found);
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => item.clear(),
            _ => item.push(token),
        }
    }
}

fn name_of(of: Option<&str>, function: &str) -> String {
    match of {
        Some(of) => format!("{of}::{function}"),
        None => function.to_owned(),
    }
}

/// Returns the identifier behind a keyword of an item's head.
fn after(item: &[TokenTree], keyword: &str) -> Option<String> {
    let place = item.iter().position(|token| is(token, keyword))?;
    match item.get(place + 1) {
        Some(TokenTree::Ident(name)) => Some(name.to_string()),
        _ => None,
    }
}

fn is(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

/// Returns the type that an `impl` is for, without its path and parameters: `Known` of
/// `impl<'a> fmt::Display for Known<'a>`.
fn implementor(item: &[TokenTree]) -> Option<String> {
    let start = item.iter().position(|token| is(token, "impl"))?;
    let mut name = None;
    let mut depth = 0_usize;
    let mut is_arrow = false;
    for token in &item[start + 1..] {
        match token {
            TokenTree::Punct(punct) => {
                match punct.as_char() {
                    '<' => depth += 1,
                    '>' if !is_arrow => depth = depth.saturating_sub(1),
                    _ => {}
                }
                is_arrow = punct.as_char() == '-' && punct.spacing() == Spacing::Joint;
                continue;
            }
            TokenTree::Ident(ident) if depth == 0 => {
                if ident == "where" {
                    break;
                }
                name = (ident != "for").then(|| ident.to_string());
            }
            _ => {}
        }
        is_arrow = false;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        /// fn in_a_comment() {}
        pub const fn dropped(files: &[u8]) -> Vec<usize> { fn inner() {} vec![] }
        impl Budget {
            pub(super) fn free_at(&self) -> Time { self.at }
            async fn wait<F: Fn() -> u8>(&self) {}
        }
        impl<'a, F: Fn() -> u8> fmt::Display for Known<'a, F> where F: Send {
            fn fmt(&self) {}
        }
        trait Audit { fn due(&self); fn next(&self) -> u8 { 1 } }
        mod words { fn plain() {} }
        #[cfg(test)]
        mod tests { fn tested() {} }
    ";

    fn named(source: &str) -> Vec<String> {
        functions(source).unwrap().into_iter().collect()
    }

    #[test]
    fn methods_are_named_by_their_type_and_tests_are_left_out() {
        assert_eq!(
            named(SOURCE),
            [
                "Audit::next",
                "Budget::free_at",
                "Budget::wait",
                "Known::fmt",
                "dropped",
                "plain"
            ]
        );
    }

    fn page(rows: &[&str]) -> String {
        let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
        format!(
            "# Architecture\n\n| Room | Is |\n|---|---|\n| a | b |\n\n{HEADING}\n\nWords.\n\n\
             | Behaviour | File | Function |\n|---|---|---|\n{rows}\n## Next\n\n| Not | `a` | `b` |\n|---|---|---|\n"
        )
    }

    fn broken(rows: &[&str]) -> Result<String> {
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join("src"))?;
        fs::write(folder.path().join("src/budget.rs"), SOURCE)?;
        fs::write(folder.path().join(PAGE), page(rows))?;
        let found = violations_below(folder.path())?;
        let lines = found.iter().map(|violation| format!("{violation}\n"));
        Ok(lines.collect())
    }

    #[test]
    fn a_table_of_forty_rows_whose_functions_exist_passes() -> Result<()> {
        let row = "| when one waits | `src/budget.rs` | `Budget::free_at`, `dropped` |";
        assert_eq!(broken(&[row; ROWS])?, "");
        Ok(())
    }

    #[test]
    fn a_table_that_is_too_short_and_a_missing_table_are_reported() -> Result<()> {
        let row = "| when one waits | `src/budget.rs` | `Budget::free_at` |";
        insta::assert_snapshot!(broken(&[row; 2])?, @"ARCHITECTURE.md: its table of decisions has 2 rows, fewer than 40; name the 40 behaviours that are asked for most");
        assert_eq!(rows("# Architecture\n\n| a | `b` | `c` |\n"), []);
        Ok(())
    }

    #[test]
    fn a_missing_function_or_file_is_reported_by_name() -> Result<()> {
        let good = "| when one waits | `src/budget.rs` | `Budget::free_at` |";
        let mut rows = vec![good; ROWS - 6];
        rows.extend([
            "| a method of another type | `src/budget.rs` | `Known::free_at`, `dropped` |",
            "| a method without its type | `src/budget.rs` | `free_at` |",
            "| a function of tests | `src/budget.rs` | `tested` |",
            "| a file that moved | `src/ledger.rs` | `dropped` |",
            "| no function | `src/budget.rs` | dropped |",
            "| two files | `src/budget.rs`, `src/other.rs` | `dropped` |",
        ]);
        insta::assert_snapshot!(broken(&rows)?, @"
        ARCHITECTURE.md:47: names Known::free_at, and src/budget.rs has no such function; name the function that decides now
        ARCHITECTURE.md:48: names free_at, and src/budget.rs has no such function; name the function that decides now
        ARCHITECTURE.md:49: names tested, and src/budget.rs has no such function; name the function that decides now
        ARCHITECTURE.md:50: names src/ledger.rs, which does not exist; name the file that decides now
        ARCHITECTURE.md:51: names no function of src/budget.rs; name the one that decides
        ARCHITECTURE.md:52: names 2 files in its second cell; name one, from the root
        ");
        Ok(())
    }

    #[test]
    fn all_functions_that_this_checkout_names_exist() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(violations_below(&root)?, []);
        Ok(())
    }
}
