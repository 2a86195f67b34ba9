//! Standard libraries of targets other than this machine's: wasm32 for the page, musl for a static binary.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::project::Project;
use crate::setup::{Installs, apt};
use crate::shell;

/// The page's target.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Adds the target if it is missing, and a C compiler for it if it needs one. rust-toolchain.toml is not enough for
/// that: rustup ignores its `targets` where automatic installs are switched off.
pub(crate) fn ensure(project: &Project, installs: Installs, target: &str) -> Result<()> {
    ensure_library(project, installs, target)?;
    if target == own_musl() {
        ensure_musl_gcc(installs, target)?;
    }
    Ok(())
}

fn ensure_library(project: &Project, installs: Installs, target: &str) -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = shell::read(
        Command::new(rustc)
            .args(["--print", "sysroot"])
            .current_dir(&project.root),
    )?;
    if Path::new(&sysroot)
        .join("lib/rustlib")
        .join(target)
        .is_dir()
    {
        return Ok(());
    }
    let add = format!("rustup target add {target}");
    if installs == Installs::Forbidden {
        bail!("this needs the {target} target: run `{add}`, or leave out --no-install");
    }
    if shell::on_path("rustup").is_none() {
        bail!(
            "this needs the {target} target and there is no rustup to add it: \
             install the target's standard library for the compiler in {sysroot}"
        );
    }
    shell::step(&format!("adding the {target} target"), || {
        shell::run(
            Command::new("rustup")
                .args(["target", "add", target])
                .current_dir(&project.root),
        )
    })
}

/// Returns the musl target of this machine's processor; its C compiler is a wrapper around the usual one.
fn own_musl() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// Makes sure that musl-gcc is there: the TLS library has parts in C, which must see musl's headers.
fn ensure_musl_gcc(installs: Installs, target: &str) -> Result<()> {
    let variable = format!("CC_{}", target.replace('-', "_"));
    let is_there = || shell::on_path("musl-gcc").is_some() || std::env::var_os(&variable).is_some();
    if !is_there() {
        apt::install(installs, &["musl-tools"]);
    }
    if is_there() {
        return Ok(());
    }
    bail!("{target} needs musl-gcc: install musl-tools, or name a C compiler for it in {variable}")
}
