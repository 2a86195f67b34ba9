//! The licences of all parts in one file, each text once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use spdx::{Expression, LicenseItem, ParseMode};
use walkdir::WalkDir;

use super::components::{Component, Components, Texts};

/// How the names of files begin that have a licence or a notice in them, in lower case.
const NAMES: [&str; 6] = [
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "unlicense",
];
/// The folders below a package's own in which such files are looked for.
const DEPTH: usize = 2;
const LINE: &str =
    "--------------------------------------------------------------------------------";

/// Returns the file: all parts with the names of their licences, then each text with the parts that it is of.
pub(super) fn file(components: &Components) -> Result<String> {
    let others = || {
        components
            .values()
            .filter(|one| !matches!(one.texts, Texts::Ours))
    };
    let mut file = "watchscope is under the Apache License 2.0. It contains parts of others, which are under these licences.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for component in others() {
        writeln!(file, "{}: {}", title(component), component.licence)?;
        for text in texts_of(component)? {
            texts.entry(text).or_default().push(title(component));
        }
    }
    // Sorted by the first part that has the text.
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
    for (text, parts) in texts {
        writeln!(file, "\n{LINE}\n{}\n{LINE}\n\n{text}", parts.join(", "))?;
    }
    Ok(file)
}

fn title(component: &Component) -> String {
    let version = component
        .version
        .iter()
        .map(|version| format!(" {version}"));
    component.name.clone() + &version.collect::<String>()
}

/// Returns the texts of a part: its own files, or SPDX's texts of its licences where it has none.
fn texts_of(component: &Component) -> Result<Vec<String>> {
    let own = match &component.texts {
        Texts::Ours => return Ok(Vec::new()),
        Texts::Known(text) => vec![tidy(text)],
        Texts::In(folder) => in_folder(folder)?,
        Texts::OfSpdx => Vec::new(),
    };
    if !own.is_empty() {
        return Ok(own);
    }
    let title = title(component);
    let licence = Expression::parse_mode(&component.licence, ParseMode::LAX)
        .ok()
        .with_context(|| format!("{title} is under {:?}", component.licence))?;
    let items = licence.requirements().map(|required| &required.req.license);
    let texts = items.map(|item| match item {
        LicenseItem::Spdx { id, .. } => Ok(tidy(id.text())),
        LicenseItem::Other { .. } => anyhow::bail!("{title} has no text of its licence"),
    });
    texts.collect()
}

fn in_folder(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in WalkDir::new(folder).max_depth(DEPTH).sort_by_file_name() {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let is_code = name.ends_with(".rs");
        if entry.file_type().is_file()
            && !is_code
            && NAMES.iter().any(|begin| name.starts_with(begin))
        {
            let path = entry.path();
            let text = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            texts.push(tidy(&String::from_utf8_lossy(&text)));
        }
    }
    texts.retain(|text| !text.is_empty());
    Ok(texts)
}

/// Returns a text as each copy of it should be: without spaces at the ends of lines and empty lines at its ends.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::components::tests::part;
    use super::*;

    #[test]
    fn each_text_stands_once_and_a_part_without_files_gets_that_of_spdx() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("it lies in a folder"))?;
            fs::write(path, text)
        };
        for (path, text) in [
            ("a/LICENSE-MIT", "Of a and b.  \r\n\r\n"),
            ("a/src/license.rs", "code"),
            ("b/LICENSE", "\nOf a and b.\n"),
            ("b/fonts/LICENSE_OFL.txt", "Of the font."),
        ] {
            write(path, text)?;
        }
        let of = |name: &str, licence| part(name, licence, Texts::In(folder.path().join(name)));
        fs::create_dir(folder.path().join("c"))?;
        let components = Components::from([
            of("a", "MIT"),
            of("b", "MIT"),
            of("c", "0BSD"),
            part("ours", "Apache-2.0", Texts::Ours),
        ]);
        let file = file(&components)?;
        let (most, last) = file
            .split_once("c 1.0.0\n---")
            .expect("the text of c is the last");
        insta::assert_snapshot!(most, @r"
        watchscope is under the Apache License 2.0. It contains parts of others, which are under these licences.

        a 1.0.0: MIT
        b 1.0.0: MIT
        c 1.0.0: 0BSD

        --------------------------------------------------------------------------------
        a 1.0.0, b 1.0.0
        --------------------------------------------------------------------------------

        Of a and b.

        --------------------------------------------------------------------------------
        b 1.0.0
        --------------------------------------------------------------------------------

        Of the font.

        --------------------------------------------------------------------------------
        ");
        assert!(last.contains("Permission to use, copy, modify"), "{last}");
        Ok(())
    }
}
