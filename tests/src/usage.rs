//! What a process has used: processor time and memory.

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of processor time that this process and its threads have used.
#[must_use]
pub fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Memory that a process holds (its resident set), in KiB; `process` is its id, or `self`.
///
/// # Errors
/// If there is no such process, or the system does not say.
pub fn resident_kib(process: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
