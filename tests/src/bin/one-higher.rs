//! watchscope with the versions of its protocol and files raised by one, and without its page: a later watchscope, for
//! the tests of upgrade and rollback.

use std::process::ExitCode;

use watchscope::web::EmbeddedPage;

#[tokio::main]
async fn main() -> ExitCode {
    watchscope::cli::run(EmbeddedPage::NONE, None).await
}
