//! The folder of the project.

use std::path::Path;

/// Returns the root of the project, in which the tests were compiled.
#[must_use]
pub fn project_root() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests lie in the project")
}
