//! Builds test programs with cargo, without running them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::{Artifact, Message};

use crate::shell;

/// An executable of tests.
pub(crate) struct TestProgram {
    pub(crate) executable: PathBuf,
    /// The folder of its package, in which cargo would run it.
    pub(crate) folder: PathBuf,
    /// Cargo's message about it.
    pub(crate) artifact: Artifact,
}

/// Builds the programs that `cargo test` would run; it is an error if there are none.
pub(crate) fn build(command: &mut Command) -> Result<Vec<TestProgram>> {
    command
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit());
    let said = shell::read(command)?;
    let mut programs = Vec::new();
    for message in Message::parse_stream(said.as_bytes()) {
        let message = message.context("reading what cargo built")?;
        if let Message::CompilerArtifact(mut artifact) = message
            && let Some(executable) = artifact.executable.take()
            && artifact.profile.test
        {
            let folder = artifact.manifest_path.parent();
            programs.push(TestProgram {
                executable: executable.into(),
                folder: folder.context("a manifest lies in a folder")?.into(),
                artifact,
            });
        }
    }
    let line = shell::command_line(command);
    ensure!(!programs.is_empty(), "`{line}` built no tests");
    Ok(programs)
}
