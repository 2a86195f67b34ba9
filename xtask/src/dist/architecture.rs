//! The processors that we build for, and what a program file says about its own.

use std::fmt;

use anyhow::{Context as _, Result, bail, ensure};

/// The first bytes of an ELF file for a 64-bit, little-endian machine.
const ELF_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
/// The kind of a program header that names the dynamic loader.
const PT_INTERP: u32 = 3;

/// A processor. Its names are those of Go, which OCI and krew use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Architecture {
    /// 64-bit x86.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Architecture {
    /// All that `cargo xtask dist` builds for.
    pub(crate) const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// Returns the name that OCI and krew use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Returns the architecture of a name that OCI and krew use.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the name that Rust and the GNU tools use.
    pub(crate) fn gnu_name(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }

    /// Returns Rust's target of a static Linux program.
    pub(crate) fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.gnu_name())
    }

    /// Returns the architecture of this machine, if it is one of ours.
    pub(crate) fn of_this_machine() -> Option<Self> {
        let ours = |one: &Self| one.gnu_name() == std::env::consts::ARCH;
        Self::ALL.into_iter().find(ours)
    }

    /// Returns the number in an ELF header (`e_machine`).
    fn machine(self) -> u16 {
        match self {
            Self::Amd64 => 62,
            Self::Arm64 => 183,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the header of a program says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    pub(crate) architecture: Architecture,
    /// Whether it runs without a loader and libraries of the system.
    pub(crate) is_static: bool,
}

impl Program {
    /// Reads the header of an ELF file. Any other file, and a program for another processor than ours, is an error.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        ensure!(
            bytes.starts_with(ELF_64_LITTLE),
            "is no Linux program for a 64-bit processor"
        );
        let machine = u16::from_le_bytes(at(bytes, 18)?);
        let architecture = Architecture::ALL
            .into_iter()
            .find(|one| one.machine() == machine);
        let Some(architecture) = architecture else {
            bail!("is a program for another processor (ELF machine {machine})");
        };
        let first = u64::from_le_bytes(at(bytes, 32)?);
        let size = u16::from_le_bytes(at(bytes, 54)?);
        let count = u16::from_le_bytes(at(bytes, 56)?);
        let mut is_static = true;
        for index in 0..u64::from(count) {
            let header = first.saturating_add(index * u64::from(size));
            let kind = u32::from_le_bytes(at(bytes, usize::try_from(header)?)?);
            is_static &= kind != PT_INTERP;
        }
        Ok(Self {
            architecture,
            is_static,
        })
    }
}

fn at<const N: usize>(bytes: &[u8], offset: usize) -> Result<[u8; N]> {
    let rest = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    rest.copied().context("its header is cut off")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the smallest file that is a program by its header.
    pub(crate) fn program(machine: u16, first_header: u32) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(ELF_64_LITTLE);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&first_header.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> String {
        match Program::read(bytes) {
            Ok(program) => format!("{} static={}", program.architecture, program.is_static),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_header_says_the_processor_and_whether_a_loader_is_needed() {
        assert_eq!(read(&program(62, 1)), "amd64 static=true");
        assert_eq!(read(&program(183, PT_INTERP)), "arm64 static=false");
        insta::assert_snapshot!(read(&program(40, 1)), @"is a program for another processor (ELF machine 40)");
        insta::assert_snapshot!(read(b"#!/bin/sh"), @"is no Linux program for a 64-bit processor");
        insta::assert_snapshot!(read(&program(62, 1)[..66]), @"its header is cut off");
    }

    #[test]
    fn this_program_is_one_for_this_machine() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        if let Some(architecture) = Architecture::of_this_machine() {
            assert_eq!(Program::read(&own).unwrap().architecture, architecture);
        }
    }
}
