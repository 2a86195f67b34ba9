//! How many random cases a test runs; taken in by the tests of the pure crates.

/// As many as the test usually runs, or as `PROPTEST_CASES` says: `cargo xtask test --long` asks for 10,000.
pub(crate) fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let asked = asked.map(|text| text.parse().expect("PROPTEST_CASES is a number"));
    asked.unwrap_or(usual)
}
