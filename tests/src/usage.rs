//! Processor time and memory that a process has used.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::time::{ClockId, clock_gettime};

/// The processor time of a process and its threads since the process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuTime {
    /// In user mode and in the kernel, in ns.
    pub total_ns: u64,
    /// In the kernel alone, in ns. Linux counts it in steps of 10 ms.
    pub kernel_ns: u64,
}

impl CpuTime {
    /// The longest time; every measured one is less.
    pub const MAX: Self = Self {
        total_ns: u64::MAX,
        kernel_ns: u64::MAX,
    };

    /// Returns the time of this process.
    ///
    /// # Errors
    /// If the system does not report the kernel's share.
    pub fn of_this_process() -> Result<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        // The program's name, in brackets, may have spaces. `stime` is field 15, the 13th after the name (proc(5)).
        let after_name = stat.rsplit_once(')').context("a name")?.1;
        let ticks: u64 = after_name
            .split_whitespace()
            .nth(12)
            .context("the kernel's time")?
            .parse()?;
        Ok(Self {
            total_ns: cpu_ns(),
            kernel_ns: ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second(),
        })
    }
}

/// Returns the processor time in ns that this process and its threads have used.
#[must_use]
pub fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the processor time in ns that the threads of another process have used, of those that still run.
///
/// # Errors
/// If there is no such process, or the system does not report it.
pub fn cpu_ns_of(process: u32) -> Result<u64> {
    let mut total_ns = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let times = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let ran_ns = times.split(' ').next().context("the time of a thread")?;
        total_ns += ran_ns.parse::<u64>()?;
    }
    Ok(total_ns)
}

/// Starts this program again with other arguments and returns the numbers that it prints. Its standard error is passed
/// on. A benchmark measures processor time and memory in a process of its own.
///
/// # Errors
/// If the program fails, or takes more than 120 s.
pub async fn numbers_of_child(arguments: &[&str]) -> Result<Vec<u64>> {
    let child = tokio::process::Command::new(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let output = tokio::time::timeout(Duration::from_secs(120), child.wait_with_output());
    let output = output.await.context("it hangs")??;
    ensure!(output.status.success(), "{arguments:?}: {}", output.status);
    let line = String::from_utf8(output.stdout)?;
    let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
    numbers.with_context(|| format!("{arguments:?} said {line:?}"))
}

/// Returns the memory that a process holds now (its resident set), in KiB. `process` is its id, or `self`.
///
/// # Errors
/// If there is no such process, or the system does not report it.
pub fn resident_kib(process: &str) -> Result<u64> {
    status_kib(process, "VmRSS:")
}

/// Returns the most memory that a process has held so far, in KiB. `process` is its id, or `self`.
///
/// # Errors
/// If there is no such process, or the system does not report it.
pub fn most_resident_kib(process: &str) -> Result<u64> {
    status_kib(process, "VmHWM:")
}

fn status_kib(process: &str, field: &'static str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .context(field)?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
