//! Starts the page.

/// Mounts the page in the document's body.
#[cfg(target_arch = "wasm32")]
fn main() {
    watchscope_app::page::mount();
}

/// The page runs in a browser; `cargo xtask build` makes it.
#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}
