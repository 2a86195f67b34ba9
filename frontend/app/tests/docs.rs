//! docs/page.md names every key in its scope, and every gesture.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::path::Path;

use watchscope_app::input::keys::{BINDINGS, GESTURES, Scope, shown};

/// All scopes.
const SCOPES: [Scope; 6] = [
    Scope::Page,
    Scope::Search,
    Scope::Palette,
    Scope::Dialog,
    Scope::Lesson,
    Scope::Replay,
];

/// Returns the text of docs/page.md below a heading of the third level, up to the next heading.
fn section(heading: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/page.md");
    let page = std::fs::read_to_string(path).unwrap();
    let heading = format!("\n### {heading}\n");
    let (_, below) = page
        .split_once(&heading)
        .unwrap_or_else(|| panic!("docs/page.md has no heading {heading:?}"));
    below.split("\n#").next().unwrap().to_owned()
}

/// Returns the keys of a scope, by the words on them.
fn keys(scope: Scope) -> BTreeSet<String> {
    let bindings = BINDINGS.iter().filter(|binding| binding.scope == scope);
    let words = bindings.flat_map(|binding| {
        let words = shown(binding.action, scope);
        words.split("  ").map(str::to_owned).collect::<Vec<_>>()
    });
    words.collect()
}

#[test]
fn the_page_names_every_key_in_its_scope_and_no_other() {
    for scope in SCOPES {
        let section = section(scope.words());
        let named = section.split('`').skip(1).step_by(2).map(str::to_owned);
        let named: BTreeSet<String> = named.collect();
        for key in keys(scope) {
            assert!(
                named.contains(&key),
                "docs/page.md: no `{key}` under {:?}",
                scope.words()
            );
        }
        for key in &named {
            assert!(
                keys(scope).contains(key),
                "docs/page.md: `{key}` is no key under {:?}",
                scope.words()
            );
        }
    }
    let scopes: BTreeSet<Scope> = BINDINGS.iter().map(|binding| binding.scope).collect();
    assert_eq!(scopes, SCOPES.into_iter().collect());
}

#[test]
fn the_page_names_every_gesture() {
    let section = section("With a pointer");
    for (gesture, _) in GESTURES {
        assert!(
            section.contains(&format!("| {gesture} |")),
            "docs/page.md: no gesture {gesture:?}"
        );
    }
}
