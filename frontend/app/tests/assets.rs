//! The files beside the page's code agree with it.

use watchscope_timeline::{Theme, Token};

const STYLES: &str = include_str!("../../../assets/styles.css");
const INDEX: &str = include_str!("../../../assets/index.html");

#[test]
fn panels_and_picture_have_the_same_colours_in_both_themes() {
    for &token in Token::ALL {
        let line = format!(
            "--{}: light-dark({}, {});",
            token.name(),
            token.value(Theme::Light),
            token.value(Theme::Dark)
        );
        assert!(STYLES.contains(&line), "styles.css lacks {line}");
    }
}

#[test]
fn styles_name_colours_by_token_only() {
    let rules = STYLES
        .split_once("/* Ground rules */")
        .map(|(_, rules)| rules)
        .expect("the tokens come first");
    for (number, line) in rules.lines().enumerate() {
        assert!(!line.contains('#'), "rule line {}: {line}", number + 1);
    }
}

#[test]
fn the_document_needs_nothing_inline_so_that_the_security_policy_can_forbid_it() {
    for inline in ["style=", "<style", "onload", "onerror", "javascript:"] {
        assert!(!INDEX.contains(inline), "{inline}");
    }
    let scripts: Vec<&str> = INDEX.split("<script").skip(1).collect();
    assert!(scripts.iter().all(|script| script.contains("src=")));
}
