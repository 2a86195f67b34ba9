//! Tests that lack a program: they are named and counted, and on CI they fail.

use std::fmt;
use std::io::Write as _;

/// Something that a test needs and this machine lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The thing that is missing: `kube-apiserver`.
    pub what: String,
    /// What to install or set to get it.
    pub install: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is missing, install {}", self.what, self.install)
    }
}

impl std::error::Error for Missing {}

/// Unwraps what a test needs. When it is missing, prints `skipped: TEST, install WHAT` and returns `Ok(())` from the
/// test; `cargo xtask test` counts these lines. With `CI=true` it returns the error instead.
///
/// ```
/// use watchscope_tests::{Missing, or_skip};
///
/// fn a_test() -> anyhow::Result<()> {
///     let port: u16 = or_skip!(Ok::<_, Missing>(8080));
///     assert_eq!(port, 8080);
///     Ok(())
/// }
/// # a_test().unwrap();
/// ```
#[macro_export]
macro_rules! or_skip {
    ($found:expr) => {
        match $found {
            Ok(found) => found,
            Err(missing) => return $crate::said_to_skip(&missing),
        }
    };
}

/// Does for [`or_skip!`] what it does about a missing thing: prints the line, or with `CI=true` returns the error.
pub fn said_to_skip(missing: &Missing) -> anyhow::Result<()> {
    if std::env::var("CI").is_ok_and(|value| value == "true") {
        return Err(missing.clone().into());
    }
    // Writes to standard error directly: a passing test's `eprintln!` is captured and would not be counted.
    let line = skip_line(test_name().as_deref(), missing);
    std::io::stderr().write_all(line.as_bytes())?;
    Ok(())
}

fn skip_line(test: Option<&str>, missing: &Missing) -> String {
    let test = test.unwrap_or("a test");
    format!("skipped: {test}, install {}\n", missing.install)
}

/// Returns the test's name: libtest runs each test in a thread of that name. With one test at a time it uses the main
/// thread, so the name is unknown.
fn test_name() -> Option<String> {
    let thread = std::thread::current();
    thread
        .name()
        .filter(|name| *name != "main")
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_the_one_the_task_runner_counts() {
        let missing = Missing {
            what: "kube-apiserver".to_owned(),
            install: "Go 1.26".to_owned(),
        };
        insta::assert_snapshot!(skip_line(Some("real_cluster::churn"), &missing).trim(), @"skipped: real_cluster::churn, install Go 1.26");
        insta::assert_snapshot!(missing, @"kube-apiserver is missing, install Go 1.26");
    }
}
