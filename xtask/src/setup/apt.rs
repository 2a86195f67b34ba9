//! Installs Debian's packages where a task may: as root, on a Debian-like system. It prints a line about it.

use std::path::Path;
use std::process::Command;

use crate::setup::Installs;
use crate::shell;

/// Installs the packages if that is allowed and possible here. It returns no error; the caller looks again afterwards.
pub(crate) fn install(installs: Installs, packages: &[&str]) {
    if installs == Installs::Forbidden || !may_use_apt() {
        return;
    }
    let install = || {
        let mut command = Command::new("apt-get");
        command
            .args(["install", "--yes", "--no-install-recommends"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive");
        shell::run(&mut command)
    };
    let what = format!("installing {} with apt-get", packages.join(", "));
    let outcome = shell::step(&what, || {
        // A machine without package lists fails at once; then the lists are fetched for a second attempt.
        install().or_else(|_| {
            shell::run(Command::new("apt-get").arg("update"))?;
            install()
        })
    });
    if let Err(error) = outcome {
        eprintln!("  not installed: {error:#}");
    }
}

fn may_use_apt() -> bool {
    let debian_like = Path::new("/etc/debian_version").exists();
    let root = shell::read(Command::new("id").arg("-u")).is_ok_and(|uid| uid == "0");
    debian_like && root && shell::on_path("apt-get").is_some()
}
