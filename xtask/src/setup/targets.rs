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
    } else if let Some(compiler) = foreign_compiler(target) {
        ensure_foreign_gcc(installs, target, compiler)?;
    }
    Ok(())
}

/// A C compiler for another processor, as Debian packages it.
struct ForeignCompiler {
    program: &'static str,
    packages: [&'static str; 2],
}

/// Returns the compiler for a musl target of another processor than this machine's. It sees glibc's headers. That suffices:
/// the parts in C of the TLS library, ring, use functions that both have. rustc links Rust's own copy of musl.
fn foreign_compiler(target: &str) -> Option<&'static ForeignCompiler> {
    const ARM: ForeignCompiler = ForeignCompiler {
        program: "aarch64-linux-gnu-gcc",
        packages: ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    };
    const X86: ForeignCompiler = ForeignCompiler {
        program: "x86_64-linux-gnu-gcc",
        packages: ["gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"],
    };
    match target {
        _ if target == own_musl() => None,
        "aarch64-unknown-linux-musl" => Some(&ARM),
        "x86_64-unknown-linux-musl" => Some(&X86),
        _ => None,
    }
}

/// Returns the variables by which cargo and ring's build script find a compiler for another processor. Those that are set
/// stay as they are.
pub(crate) fn cross_compiler(target: &str) -> Vec<(String, &'static str)> {
    let Some(compiler) = foreign_compiler(target) else {
        return Vec::new();
    };
    let name = target.replace('-', "_");
    let linker = format!("CARGO_TARGET_{}_LINKER", name.to_uppercase());
    let variables = [c_compiler(target), linker].into_iter();
    let unset = variables.filter(|variable| std::env::var_os(variable).is_none());
    unset.map(|variable| (variable, compiler.program)).collect()
}

/// Returns the variable that names a target's C compiler.
fn c_compiler(target: &str) -> String {
    format!("CC_{}", target.replace('-', "_"))
}

fn ensure_foreign_gcc(installs: Installs, target: &str, compiler: &ForeignCompiler) -> Result<()> {
    let variable = c_compiler(target);
    let ForeignCompiler { program, packages } = compiler;
    let is_there = || shell::on_path(program).is_some() || std::env::var_os(&variable).is_some();
    if !is_there() {
        apt::install(installs, packages);
    }
    if is_there() {
        return Ok(());
    }
    bail!(
        "{target} needs {program}: install {}, or name a C compiler for it in {variable}",
        packages.join(" and ")
    )
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
    let variable = c_compiler(target);
    let is_there = || shell::on_path("musl-gcc").is_some() || std::env::var_os(&variable).is_some();
    if !is_there() {
        apt::install(installs, &["musl-tools"]);
    }
    if is_there() {
        return Ok(());
    }
    bail!("{target} needs musl-gcc: install musl-tools, or name a C compiler for it in {variable}")
}
