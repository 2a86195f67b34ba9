//! A later watchscope, for the tests of upgrade and rollback. It has the versions of protocol and files raised by one, and no
//! page.

use std::process::ExitCode;

use watchscope::web::EmbeddedPage;

fn main() -> ExitCode {
    watchscope::cli::run(EmbeddedPage::NONE, None)
}
