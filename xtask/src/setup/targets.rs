//! The wasm32 standard library, which the page and the purity checks are compiled against.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::project::Project;
use crate::setup::Installs;
use crate::shell;

/// The page's target.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Adds the target when it is missing. rust-toolchain.toml cannot be relied on for that:
/// rustup ignores its `targets` where automatic installs are switched off.
pub(crate) fn ensure_target(project: &Project, installs: Installs) -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = shell::read(
        Command::new(rustc)
            .args(["--print", "sysroot"])
            .current_dir(&project.root),
    )?;
    if Path::new(&sysroot)
        .join("lib/rustlib")
        .join(TARGET)
        .is_dir()
    {
        return Ok(());
    }
    let add = format!("rustup target add {TARGET}");
    if installs == Installs::Forbidden {
        bail!("the page needs the {TARGET} target: run `{add}`, or leave out --no-install");
    }
    if shell::on_path("rustup").is_none() {
        bail!(
            "the page needs the {TARGET} target and there is no rustup to add it: \
             install the target's standard library for the compiler in {sysroot}"
        );
    }
    shell::step(&format!("adding the {TARGET} target"), || {
        shell::run(
            Command::new("rustup")
                .args(["target", "add", TARGET])
                .current_dir(&project.root),
        )
    })
}
