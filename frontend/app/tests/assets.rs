//! The files beside the page's code agree with it.

use std::collections::BTreeSet;

use watchscope_model::wire::{Hello, PAGE_HEADER, PROTOCOL_VERSION, encode_client};
use watchscope_timeline::{Theme, Token};

const STYLES: &str = include_str!("../../../assets/styles.css");
const BOOT: &str = include_str!("../../../assets/boot.js");
const PANELS: &str = include_str!("../../../assets/panels.css");
const OPEN: &str = include_str!("../../../assets/open.js");
const SCRIPT_OF_LESSONS: &str = include_str!("../../../assets/lessons.js");
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

/// Returns the classes that a sheet styles in every place.
fn classes(sheet: &str) -> BTreeSet<&str> {
    let selectors = sheet.split('}').filter_map(|rule| rule.rsplit_once('{'));
    // Drops a comment before the selectors.
    let selectors = selectors.map(|(before, _)| before.rsplit("*/").next().unwrap_or(before));
    let selectors = selectors.flat_map(|selectors| selectors.split(','));
    let is_class = |selector: &&str| {
        let name = selector.strip_prefix('.');
        name.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '-'))
    };
    selectors.map(str::trim).filter(is_class).collect()
}

#[test]
fn panels_and_lessons_share_no_class_name() {
    let both: Vec<&str> = classes(PANELS)
        .intersection(&classes(LESSONS))
        .copied()
        .collect();
    assert!(both.is_empty(), "{both:?}");
    assert!(classes(PANELS).contains(".banner") && classes(LESSONS).contains(".moment"));
}

#[test]
fn the_document_holds_one_script_and_one_style_that_its_policy_names_by_their_hashes() {
    for inline in ["style=", "onload", "onerror", "javascript:"] {
        assert!(!INDEX.contains(inline), "{inline}");
    }
    // One of each stands in the document, and the policy names its hash.
    for (element, file) in [("script", "boot.js"), ("style", "styles.css")] {
        assert_eq!(
            INDEX.matches(&format!("<{element}")).count(),
            1,
            "{element}"
        );
        assert!(
            INDEX.contains(&format!(">{{{{={file}}}}}</{element}>")),
            "{file}"
        );
        assert!(
            INDEX.contains(&format!("{element}-src 'self'")),
            "{element}"
        );
        assert!(INDEX.contains(&format!(" {{{{#{file}}}}};")), "{file}");
    }
    // Neither contains its own end tag.
    assert!(!BOOT.contains("</script") && !BOOT.contains("<!--"));
    assert!(!STYLES.contains("</style"));
}

#[test]
fn the_document_forbids_what_the_server_forbids() {
    const SERVERS: &str = include_str!("../../../backend/src/web/headers.rs");
    let policy = INDEX
        .split_once("Content-Security-Policy\" content=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(policy, _)| policy)
        .expect("the document has a policy")
        .replace(" {{#boot.js}}", "")
        .replace(" {{#styles.css}}", "");
    // A document cannot forbid other pages to frame it; the server does.
    let theirs = SERVERS.replace("\\\n    ", "");
    assert!(
        theirs.contains(&format!("\"{policy}; frame-ancestors 'self'\"")),
        "{policy}"
    );
}

#[test]
fn the_socket_opened_ahead_greets_as_the_page_would() {
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        log: None,
        epoch: None,
        last: None,
    };
    let bytes = encode_client(&hello.into())
        .iter()
        .enumerate()
        // Kind and length come before the version.
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
    // The substitutes for a server have the same version.
    let protocol = format!(" protocol: {PROTOCOL_VERSION},");
    assert!(SCRIPT_OF_LESSONS.contains(&protocol) && OPEN.contains(&protocol));
    // Browsers write names of headers in any case.
    let header = format!("\"{PAGE_HEADER}\": \"1\"");
    assert!(BOOT.to_lowercase().contains(&header));
}

#[test]
fn the_document_has_all_elements_that_the_page_finds_by_id() {
    let sources = [
        include_str!("../src/runtime/elements.rs"),
        include_str!("../src/panels/listen.rs"),
        include_str!("../src/panels/mount.rs"),
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
