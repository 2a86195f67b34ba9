//! Starts the page.

/// Starts the page in its document.
#[cfg(target_arch = "wasm32")]
fn main() {
    watchscope_app::start::start();
}

/// The page runs in a browser; `cargo xtask build` makes it.
#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
