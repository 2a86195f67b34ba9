//! The files beside the page's code agree with it.

use watchscope_model::wire::{Hello, PROTOCOL_VERSION, encode_client};
use watchscope_timeline::{Theme, Token};

const STYLES: &str = include_str!("../../../assets/styles.css");
const PANELS: &str = include_str!("../../../assets/panels.css");
const LESSONS: &str = include_str!("../../../assets/lessons.css");
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
    for line in rules.lines().chain(PANELS.lines()).chain(LESSONS.lines()) {
        assert!(!line.contains('#'), "{line}");
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

#[test]
fn the_document_forbids_what_the_server_forbids() {
    const SERVERS: &str = include_str!("../../../backend/src/web/headers.rs");
    let policy = INDEX
        .split_once("Content-Security-Policy\" content=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(policy, _)| policy)
        .expect("the document has a policy");
    // A document cannot forbid to be framed; the server does.
    let theirs = SERVERS.replace("\\\n    ", "");
    assert!(
        theirs.contains(&format!("\"{policy}; frame-ancestors 'none'\"")),
        "{policy}"
    );
}

#[test]
fn the_socket_opened_ahead_says_what_the_page_would() {
    const BOOT: &str = include_str!("../../../assets/boot.js");
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        log: None,
        epoch: None,
        last: None,
    };
    let bytes = encode_client(&hello.into())
        .iter()
        .enumerate()
        // Kind and length stand before the version.
        .map(|(place, byte)| {
            if place == 2 {
                "PROTOCOL".to_owned()
            } else {
                byte.to_string()
            }
        })
        .collect::<Vec<String>>();
    assert!(BOOT.contains(&format!("const HELLO = [{}];", bytes.join(", "))));
    assert!(BOOT.contains(&format!("const PROTOCOL = {PROTOCOL_VERSION};")));
}

#[test]
fn the_document_has_the_elements_that_the_page_looks_for() {
    let sources = [
        include_str!("../src/page/stage.rs"),
        include_str!("../src/page/panels/listen.rs"),
        include_str!("../src/page/panels/mod.rs"),
    ];
    let ids: Vec<&str> = sources
        .iter()
        .flat_map(|source| [" element(\"", "find(\"", "put(\""].map(|call| (source, call)))
        .flat_map(|(source, call)| source.split(call).skip(1))
        .filter_map(|rest| rest.split_once('"').map(|(id, _)| id))
        .collect();
    assert!(ids.contains(&"chart") && ids.contains(&"over"), "{ids:?}");
    for id in ids {
        let attribute = format!("id=\"{id}\"");
        assert_eq!(INDEX.matches(&attribute).count(), 1, "{attribute}");
    }
}
