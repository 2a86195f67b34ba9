//! A release of small stand-ins for programs: its files, and what is said of a bad one.

use super::architecture::tests::program as program_of;
use super::components::Texts;
use super::components::tests::part;
use super::*;
use crate::setup::emulator;

const LOADER: u32 = 3;
const LOADED: u32 = 1;

fn programs() -> BTreeMap<Architecture, Vec<u8>> {
    [
        (Architecture::Amd64, program_of(62, LOADED)),
        (Architecture::Arm64, program_of(183, LOADED)),
    ]
    .into()
}

fn release(programs: &BTreeMap<Architecture, Vec<u8>>) -> Files {
    let components = Components::from([part("one", "0BSD", Texts::OfSpdx)]);
    let url = "https://downloads.example/";
    assembled(
        &Release::example(),
        &components,
        b"ours",
        programs,
        url,
        Effort::Smallest,
    )
    .unwrap()
}

/// Returns what `check` says of these files.
fn checked(files: &Files) -> String {
    let temporary = tempfile::tempdir().unwrap();
    folder::write(temporary.path(), files).unwrap();
    let said = match check(temporary.path()) {
        Ok(()) => "all is well".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    said.replace(&temporary.path().display().to_string(), "DIST")
}

/// Returns a layout's file of JSON.
fn json(files: &Files, name: &str) -> serde_json::Value {
    serde_json::from_slice(&files[name]).unwrap()
}

fn blob(files: &Files, reference: &serde_json::Value) -> serde_json::Value {
    let digest = reference["digest"].as_str().unwrap();
    json(files, &format!("image/blobs/{}", digest.replace(':', "/")))
}

#[test]
fn a_release_has_archives_image_parts_licences_and_checksums() {
    let files = release(&programs());
    let names = files.keys().filter(|name| !name.contains("blobs"));
    let names: Vec<&str> = names.map(String::as_str).collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    SHA256SUMS
    image/index.json
    image/oci-layout
    watchscope-1.2.3-image.tar
    watchscope-1.2.3-licences.txt
    watchscope-1.2.3-linux-amd64.tar.gz
    watchscope-1.2.3-linux-arm64.tar.gz
    watchscope-1.2.3.cdx.json
    watchscope.yaml
    ");
    assert_eq!(
        files.len() - names.len(),
        2 * 3 + 1,
        "layers, configs, manifests, index"
    );
    assert_eq!(checked(&files), "all is well");
    assert_eq!(files, release(&programs()), "the same bytes again");
}

#[test]
fn the_image_says_how_to_run_it_and_what_it_is() {
    let files = release(&programs());
    let all = blob(&files, &json(&files, "image/index.json")["manifests"][0]);
    let manifest = blob(&files, &all["manifests"][1]);
    let config = blob(&files, &manifest["config"]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&config["config"]).unwrap(), @r#"
    {
      "User": "65532:65532",
      "Entrypoint": [
        "/usr/bin/watchscope"
      ],
      "Cmd": [
        "serve",
        "-A"
      ],
      "Labels": {
        "org.opencontainers.image.created": "2001-09-09T01:46:40Z",
        "org.opencontainers.image.description": "An oscilloscope for Kubernetes watches",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": "0123456789abcdef0123456789abcdef01234567",
        "org.opencontainers.image.title": "watchscope",
        "org.opencontainers.image.version": "1.2.3"
      }
    }
    "#);
    assert_eq!(config["architecture"], "arm64");
}

#[test]
fn a_program_for_another_architecture_is_refused_in_one_line() {
    let swapped = BTreeMap::from([(Architecture::Amd64, program_of(183, LOADED))]);
    insta::assert_snapshot!(checked(&release(&swapped)), @"DIST/image: the image for amd64 holds a program for arm64");
    let other = BTreeMap::from([(Architecture::Amd64, program_of(8, LOADED))]);
    insta::assert_snapshot!(checked(&release(&other)), @"DIST/image: usr/bin/watchscope for amd64: is a program for another processor (ELF machine 8)");

    let refused = |bytes: &[u8]| {
        let error = check_program(bytes, Architecture::Amd64, true).unwrap_err();
        format!("{error:#}")
    };
    insta::assert_snapshot!(refused(&program_of(183, LOADED)), @"the program for amd64 is one for arm64");
    insta::assert_snapshot!(refused(&program_of(62, LOADER)), @"the program for amd64 is not static: it needs a loader of the system");
}

#[test]
fn a_folder_with_a_changed_file_is_refused_in_one_line() {
    let good = release(&programs());
    let with = |change: &dyn Fn(&mut Files)| {
        let mut files = good.clone();
        change(&mut files);
        checked(&files)
    };
    let licences = "watchscope-1.2.3-licences.txt";
    insta::assert_snapshot!(with(&|files| files.get_mut(licences).unwrap().push(b' ')), @"DIST/watchscope-1.2.3-licences.txt has another checksum");
    insta::assert_snapshot!(with(&|files| drop(files.remove(licences))), @"DIST/watchscope-1.2.3-licences.txt is missing");
    insta::assert_snapshot!(with(&|files| drop(files.insert("more".to_owned(), Vec::new()))), @"DIST/more has no checksum");
    // The checksums fit, and still the image is no image.
    insta::assert_snapshot!(with(&|files| {
        files.insert("image/index.json".to_owned(), b"{}".to_vec());
        files.remove("SHA256SUMS");
        folder::add_checksums(files);
    }), @"DIST/image: a part of it is not what OCI describes: missing field `schemaVersion` at line 1 column 2");
}

#[test]
fn a_folder_of_other_files_is_left_alone() {
    let temporary = tempfile::tempdir().unwrap();
    fs::write(temporary.path().join("letters.txt"), "dear").unwrap();
    let files = release(&programs());
    assert!(folder::write(temporary.path(), &files).is_err());
    assert!(temporary.path().join("letters.txt").is_file());
}

/// Runs `cargo xtask dist` with a target folder of its own, and returns the folder that it fills.
fn run_in(target: &Path) -> Result<PathBuf> {
    let project = Project::open()?;
    let output = target.join("files");
    let mut command = project.cargo("run");
    command.args(["--package", crate::project::TASKS, "--", "dist", "--output"]);
    command.arg(&output).env("CARGO_TARGET_DIR", target);
    // It names a script by its path, and other variables of this test's build are no concern of a release.
    command.env_remove("RUSTC_WORKSPACE_WRAPPER");
    shell::run(&mut command)?;
    Ok(output)
}

#[test]
#[ignore = "builds everything twice with all optimisation, for two architectures: half an hour and more"]
fn two_runs_write_the_same_bytes_and_the_program_for_arm64_runs() -> Result<()> {
    let project = Project::open()?;
    let mut runs = Vec::new();
    for name in ["dist-once", "dist-again"] {
        let output = run_in(&project.target().join(name))?;
        runs.push((output.clone(), folder::read(&output)?));
    }
    let (first, second) = (&runs[0], &runs[1]);
    for (name, bytes) in &first.1 {
        assert!(second.1.get(name) == Some(bytes), "{name} differs");
    }
    assert_eq!(first.1.len(), second.1.len());

    let Some(emulator) = emulator::ensure(Installs::Allowed, Architecture::Arm64.gnu_name()) else {
        let line = "skipped: dist::tests::two_runs_write_the_same_bytes, install qemu-user\n";
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes())?;
        return Ok(());
    };
    let unpacked = tempfile::tempdir()?;
    let stem = format!("watchscope-{}-linux-arm64", Release::of(&project)?.version);
    let tar = archive::gunzip(&first.1[&format!("{stem}.tar.gz")])?;
    tar::Archive::new(&tar[..]).unpack(unpacked.path())?;
    let program = unpacked.path().join(stem).join("watchscope");
    let said = shell::read(
        std::process::Command::new(emulator)
            .arg(program)
            .arg("version"),
    )?;
    assert!(said.starts_with("watchscope "), "{said}");
    Ok(())
}
