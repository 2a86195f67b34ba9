//! The files with the texts of the lessons: one for each lesson, the list of all lessons, and the table of these files.
//!
//! The sources are `shared/scenarios/src/lessons/texts/NAME.json`. The worker's script has the table in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};

use super::names::Source;

/// The keys of a lesson's texts that the list of all lessons has.
const LISTED: [&str; 3] = ["title", "question", "teaches"];
/// The name of the list in the table, which no lesson has.
const INDEX: &str = "index";
/// The table's file, which the worker's script refers to.
const TABLE: &str = "lesson-texts.json";

/// Returns the files. `folder` has the sources.
pub(super) fn files(folder: &Path) -> Result<BTreeMap<String, Source>> {
    let mut files = BTreeMap::new();
    let (mut index, mut table) = (Map::new(), Map::new());
    let entries = fs::read_dir(folder)
        .with_context(|| format!("reading the texts of the lessons in {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.and_then(|name| name.strip_suffix(".json"));
        let name = name.with_context(|| format!("{} is no NAME.json", path.display()))?;
        ensure!(name != INDEX, "no lesson can have the name {INDEX}");
        let json = fs::read_to_string(&path)
            .with_context(|| format!("reading the texts of the lesson {name}"))?;
        let texts: Value = serde_json::from_str(&json)
            .with_context(|| format!("the texts of the lesson {name} are no JSON"))?;
        let listed = LISTED
            .iter()
            .map(|key| ((*key).to_owned(), texts[*key].clone()));
        index.insert(name.to_owned(), Value::Object(listed.collect()));
        let file = format!("lesson-{name}.json");
        table.insert(name.to_owned(), reference(&file));
        files.insert(file, Source::Finished(texts.to_string().into_bytes()));
    }
    let file = "lesson-index.json".to_owned();
    table.insert(INDEX.to_owned(), reference(&file));
    let index = Value::Object(index).to_string();
    files.insert(file, Source::Finished(index.into_bytes()));
    let table = Value::Object(table).to_string();
    files.insert(TABLE.to_owned(), Source::Template(table));
    Ok(files)
}

/// Returns a reference to a file by its hashed name.
fn reference(file: &str) -> Value {
    format!("{{{{{file}}}}}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lesson_has_a_file_and_a_line_in_the_list() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let texts = r#"{"title": "A", "question": "B?", "teaches": "C", "passages": {"one": 1}}"#;
        fs::write(folder.path().join("away.json"), texts)?;
        fs::write(folder.path().join("ghost.json"), texts)?;
        let files = files(folder.path())?;
        let text = |name: &str| match &files[name] {
            Source::Template(text) => text.clone(),
            Source::Finished(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        };
        let index: Value = serde_json::from_str(&text("lesson-index.json"))?;
        assert_eq!(index["away"]["question"], "B?");
        assert_eq!(index["ghost"].as_object().map(Map::len), Some(LISTED.len()));
        let table: Value = serde_json::from_str(&text(TABLE))?;
        assert_eq!(table["ghost"], "{{lesson-ghost.json}}");
        assert_eq!(table[INDEX], "{{lesson-index.json}}");
        assert!(text("lesson-away.json").contains(r#""passages":{"one":1}"#));
        Ok(())
    }

    #[test]
    fn a_file_that_is_no_json_is_named() -> Result<()> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("away.json"), "{")?;
        let error = files(folder.path()).err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some("the texts of the lesson away are no JSON")
        );
        Ok(())
    }
}
