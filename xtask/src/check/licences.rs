//! Checks that every package in the lock file has a licence that deny.toml allows, and comes from crates.io or this
//! checkout.
//! It needs no tool beyond cargo.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use spdx::{Expression, LicenseReq, ParseMode};

use crate::project::Project;
use crate::violation::Violation;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The part of deny.toml that this rule reads.
#[derive(Deserialize)]
struct Rules {
    licenses: Licences,
}

#[derive(Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
}

/// A package, reduced to what this rule judges.
struct Package<'a> {
    name: &'a str,
    version: String,
    licence: Option<&'a str>,
    /// The registry or repository that the package comes from; `None` is this checkout.
    source: Option<&'a str>,
}

/// Returns all packages with a licence or a source that is not allowed.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let path = project.root.join("deny.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let rules: Rules = toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    Ok(project
        .metadata
        .packages
        .iter()
        .filter_map(|package| {
            judge(
                &Package {
                    name: package.name.as_str(),
                    version: package.version.to_string(),
                    licence: package.license.as_deref(),
                    source: package.source.as_ref().map(|source| source.repr.as_str()),
                },
                &rules.licenses.allow,
            )
        })
        .collect())
}

fn judge(package: &Package<'_>, allowed: &BTreeSet<String>) -> Option<Violation> {
    let broken = |problem: String, remedy: &str| {
        Some(Violation {
            place: format!("{} {}", package.name, package.version),
            problem,
            remedy: remedy.to_owned(),
        })
    };
    if let Some(source) = package.source
        && source != CRATES_IO
    {
        let problem = format!("comes from {source}");
        return broken(problem, "take it from crates.io");
    }
    let Some(licence) = package.licence else {
        let problem = "states no licence".to_owned();
        return broken(problem, "use another crate");
    };
    let expression = match Expression::parse_mode(licence, ParseMode::LAX) {
        Ok(expression) => expression,
        Err(error) => {
            let problem = format!(
                "states the licence {licence:?}, which is no SPDX expression: {}",
                error.reason
            );
            return broken(problem, "use another crate");
        }
    };
    if expression.evaluate(|required| is_allowed(required, allowed)) {
        return None;
    }
    let problem = format!("is under {licence}, which deny.toml does not allow");
    broken(
        problem,
        "use another crate, or allow the licence in deny.toml with its reason",
    )
}

fn is_allowed(required: &LicenseReq, allowed: &BTreeSet<String>) -> bool {
    allowed.contains(&required.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(licence: Option<&str>, source: Option<&str>) -> String {
        let allowed = [
            "MIT",
            "Apache-2.0",
            "Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ]
        .map(str::to_owned)
        .into();
        let package = Package {
            name: "thing",
            version: "1.0.0".to_owned(),
            licence,
            source,
        };
        judge(&package, &allowed).map_or("fine".to_owned(), |violation| violation.to_string())
    }

    #[test]
    fn one_allowed_licence_of_alternatives_is_enough() {
        assert_eq!(
            verdict(Some("GPL-3.0-only OR MIT"), Some(CRATES_IO)),
            "fine"
        );
        assert_eq!(verdict(Some("MIT/Apache-2.0"), Some(CRATES_IO)), "fine");
        assert_eq!(
            verdict(Some("Apache-2.0 WITH LLVM-exception"), None),
            "fine"
        );
    }

    #[test]
    fn all_of_several_combined_licences_must_be_allowed() {
        assert_eq!(
            verdict(Some("(MIT OR Apache-2.0) AND Unicode-3.0"), None),
            "fine"
        );
        insta::assert_snapshot!(verdict(Some("MIT AND GPL-3.0-only"), None), @"thing 1.0.0: is under MIT AND GPL-3.0-only, which deny.toml does not allow; use another crate, or allow the licence in deny.toml with its reason");
    }

    #[test]
    fn a_package_without_a_licence_or_from_elsewhere_is_refused() {
        insta::assert_snapshot!(verdict(None, None), @"thing 1.0.0: states no licence; use another crate");
        insta::assert_snapshot!(verdict(Some("house rules"), None), @r#"thing 1.0.0: states the licence "house rules", which is no SPDX expression: unknown term; use another crate"#);
        insta::assert_snapshot!(verdict(Some("MIT"), Some("git+https://example.org/thing")), @"thing 1.0.0: comes from git+https://example.org/thing; take it from crates.io");
    }
}
