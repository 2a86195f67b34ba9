//! What the page fetches of the texts (assets/findings.json) is what they say.

use std::collections::BTreeMap;
use std::path::Path;

use watchscope_diagnosis::explain::EXPLANATIONS;

#[test]
fn the_page_says_of_each_row_what_explain_says() {
    let rows: BTreeMap<&str, _> = EXPLANATIONS
        .iter()
        // The picture under its plain name: the page's build puts the one with its hash there.
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
