//! What a release is: its version, commit and time.

use std::process::Command;

use anyhow::{Context as _, Result};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::project::Project;
use crate::shell;

/// The variable by which a packager sets the time of all files, in seconds since 1970
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// What all files of a release say about it.
#[derive(Clone, Debug)]
pub(super) struct Release {
    pub(super) version: String,
    /// The licence of our own code, as an SPDX expression.
    pub(super) licence: String,
    /// The commit in 40 hexadecimal digits; `None` without Git.
    pub(super) commit: Option<String>,
    /// The time of the commit in seconds since 1970, or what `SOURCE_DATE_EPOCH` says. Without both it is 0.
    pub(super) time_s: u64,
    /// The same time as RFC 3339 writes it.
    pub(super) time: String,
}

impl Release {
    /// Reads the release from the checkout.
    pub(super) fn of(project: &Project) -> Result<Self> {
        let packages = project.metadata.workspace_packages();
        let program = packages
            .iter()
            .find(|package| *package.name == super::PROGRAM);
        let program = program.with_context(|| format!("there is no package {}", super::PROGRAM))?;
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            shell::read(command.args(arguments).current_dir(&project.root)).ok()
        };
        let time_s = match std::env::var(EPOCH) {
            Ok(text) => text.parse().with_context(|| format!("reading {EPOCH}"))?,
            Err(_) => {
                let of_commit = git(&["log", "-1", "--format=%ct"]);
                of_commit.and_then(|text| text.parse().ok()).unwrap_or(0)
            }
        };
        let time = OffsetDateTime::from_unix_timestamp(time_s.try_into()?)?;
        Ok(Self {
            version: program.version.to_string(),
            licence: program.license.clone().context("our code has a licence")?,
            commit: git(&["rev-parse", "HEAD"]),
            time_s,
            time: time.format(&Rfc3339)?,
        })
    }

    #[cfg(test)]
    pub(super) fn example() -> Self {
        Self {
            version: "1.2.3".to_owned(),
            licence: "Apache-2.0".to_owned(),
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            time_s: 1_000_000_000,
            time: "2001-09-09T01:46:40Z".to_owned(),
        }
    }
}
