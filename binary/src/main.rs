//! The program watchscope: the backend, with the page in it.
//!
//! It is a package of its own, so that a new page makes cargo build nothing else anew.

use std::process::ExitCode;

use rust_embed::RustEmbed;
use watchscope::web::EmbeddedPage;

/// The files of the page, compressed with gzip, or a stub (`build.rs`).
#[derive(RustEmbed)]
#[folder = "$OUT_DIR/ui"]
struct Files;

const PAGE: EmbeddedPage = EmbeddedPage {
    get: <Files as RustEmbed>::get,
    is_stub: cfg!(ui_stub),
};

/// The commit that was built, where `build.rs` could know it.
const COMMIT: Option<&str> = option_env!("WATCHSCOPE_COMMIT");

fn main() -> ExitCode {
    watchscope::cli::run(PAGE, COMMIT)
}
