//! The page's copy of the texts (assets/findings.json) equals the texts.

use std::collections::BTreeMap;
use std::path::Path;

use watchscope_diagnosis::explain::EXPLANATIONS;

#[test]
fn the_page_has_the_same_text_about_each_row_as_explain() {
    let rows: BTreeMap<&str, _> = EXPLANATIONS
        .iter()
        // The picture under its plain name: the page's build replaces it with the name that has its hash.
        .map(|row| {
            (
                row.row.code(),
                (format!("{{{{{}.svg}}}}", row.row), row.parts()),
            )
        })
        .collect();
    let wanted = serde_json::to_string(&rows)
        .expect("texts are JSON")
        .replace("]]],", "]]],\n")
        + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/findings.json");
    if std::env::var_os("WATCHSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &wanted).expect("assets/ can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == wanted,
        "assets/findings.json is not current: run the tests of shared/diagnosis with WATCHSCOPE_WRITE_DOCS=1"
    );
}
