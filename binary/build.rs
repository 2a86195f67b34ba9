//! Copies the built page from `dist/` to `$OUT_DIR/ui`, where it is embedded. If there is none, it writes a stub that says
//! how to build it (cfg `ui_stub`), so that the program builds all the same.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const STUB: &str = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>watchscope</title>\
    <link rel=\"icon\" href=\"data:,\"></head>\n<body>\n<p>This watchscope was built without its page. \
    Build it with <code>cargo xtask build</code>.</p>\n</body>\n</html>\n";

fn main() -> io::Result<()> {
    println!("cargo::rustc-check-cfg=cfg(ui_stub)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../dist");
    let dist = Path::new("../dist");
    let ui = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?).join("ui");
    if ui.exists() {
        fs::remove_dir_all(&ui)?;
    }
    fs::create_dir_all(&ui)?;
    if dist.join("index.html").is_file() {
        copy_folder(dist, &ui)
    } else {
        println!("cargo::rustc-cfg=ui_stub");
        if env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
            println!(
                "cargo::warning=dist/ holds no page: embedding a stub; `cargo xtask build` builds the page first"
            );
        }
        fs::write(ui.join("index.html"), STUB)
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
