//! A real etcd, kube-apiserver and kubectl, and the controllers and scheduler of a cluster. They come from
//! `KUBEBUILDER_ASSETS`, or are built once from the Go modules that tests/cluster/go.mod pins, into
//! target/kube/VERSION/. An informer and helm come from Go modules in the same way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use crate::project::Project;
use crate::shell;

/// The oldest Go that builds tests/cluster, according to k8s.io/apiserver's own go.mod.
const OLDEST_GO: (u32, u32) = (1, 26);

/// The programs that a folder of Kubernetes test programs holds, with the packages that they are built from.
const PROGRAMS: [Program; 3] = [
    ("etcd", "go.etcd.io/etcd/server/v3"),
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
];

/// The programs that such a folder mostly lacks.
const CONTROLLERS: [Program; 2] = [
    (
        "kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
    ),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
];

/// A program's file name, and the package that it is built from.
type Program = (&'static str, &'static str);

/// Returns the folder with the three programs, or what the user could install or set to get it.
pub(crate) fn ensure_assets(project: &Project) -> Result<Result<PathBuf, String>> {
    if let Some(folder) = std::env::var_os("KUBEBUILDER_ASSETS") {
        let folder = PathBuf::from(folder);
        let missing: Vec<&str> = missing(&PROGRAMS, &folder).map(|(name, _)| name).collect();
        ensure!(
            missing.is_empty(),
            "KUBEBUILDER_ASSETS is {}, which has no {}: unset it, or point it at a folder that has",
            folder.display(),
            missing.join(", ")
        );
        return Ok(Ok(folder));
    }
    let built = built(project, &PROGRAMS)?;
    Ok(built.map_err(|wanted| format!("{wanted}, or set KUBEBUILDER_ASSETS")))
}

/// Returns the folder with kube-controller-manager and kube-scheduler, or what the user could install. They are built
/// even if `KUBEBUILDER_ASSETS` names a folder, if that folder lacks them.
pub(crate) fn ensure_controllers(project: &Project) -> Result<Result<PathBuf, String>> {
    let set = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    match set.filter(|folder| missing(&CONTROLLERS, folder).next().is_none()) {
        Some(folder) => Ok(Ok(folder)),
        None => built(project, &CONTROLLERS),
    }
}

/// The garbage that Go's compiler may leave, in percent of the memory in use (GOGC). Building etcd takes 22 % less CPU
/// than with the usual 100. Without a limit it takes 30 % less, but then the compiler of a large package uses
/// gigabytes.
const GARBAGE: &str = "400";

/// Returns the folder of these programs, building those that it lacks, or what the user could install.
fn built(project: &Project, programs: &[Program]) -> Result<Result<PathBuf, String>> {
    let module = Module::open(&project.root.join("tests/cluster"))?;
    let folder = project.target().join("kube").join(&module.kubernetes);
    if module.is_built(programs, &folder) {
        return Ok(Ok(folder));
    }
    let Some(go) = find_go() else {
        let (major, minor) = OLDEST_GO;
        return Ok(Err(format!("Go {major}.{minor} or newer")));
    };
    module.build(&go, programs, &folder)?;
    Ok(Ok(folder))
}

/// Returns those of the programs that a folder does not hold.
fn missing(programs: &[Program], folder: &Path) -> impl Iterator<Item = Program> {
    let is_missing = |(name, _): &Program| !shell::is_program(&folder.join(name));
    programs.iter().copied().filter(is_missing)
}

/// Builds the informer of client-go from tests/cluster; the tests watch the simulator with it. Returns its path, or
/// what the user could install.
///
/// The informer is ours, so a folder that `KUBEBUILDER_ASSETS` names does not hold it.
pub(crate) fn ensure_informer(project: &Project) -> Result<Result<PathBuf, String>> {
    go_program(project, "informer", "tests/cluster", "./informer")
}

/// Builds helm from the module that tests/helm pins; the tests lint and render the chart with it. Returns its path, or
/// what the user could install.
///
/// The module requires the Kubernetes libraries of tests/cluster. Beside them helm takes about 1.5 minutes of CPU once.
pub(crate) fn ensure_helm(project: &Project) -> Result<Result<PathBuf, String>> {
    go_program(project, "helm", "tests/helm", "helm.sh/helm/v4/cmd/helm")
}

/// Builds a package of the Go module in `module` into target/kube/. Returns the program's path, or what the user could
/// install.
fn go_program(
    project: &Project,
    name: &str,
    module: &str,
    package: &str,
) -> Result<Result<PathBuf, String>> {
    let Some(go) = find_go() else {
        let (major, minor) = OLDEST_GO;
        return Ok(Err(format!("Go {major}.{minor} or newer")));
    };
    let folder = project.target().join("kube");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let program = folder.join(name);
    // Go finds out itself whether anything needs to be built.
    shell::step(&format!("building {name}"), || {
        shell::run(
            Command::new(&go)
                .args(["build", "-trimpath", "-ldflags", "-s -w", "-o"])
                .arg(&program)
                .arg(package)
                .env("CGO_ENABLED", "0")
                .env("GOGC", GARBAGE)
                .current_dir(project.root.join(module)),
        )
    })?;
    Ok(Ok(program))
}

/// The Go module that pins the programs.
struct Module {
    folder: PathBuf,
    /// The version of Kubernetes with its leading v.
    kubernetes: String,
    /// A hash of everything that the build depends on. A folder with another stamp is built anew.
    stamp: String,
}

impl Module {
    fn open(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            fs::read_to_string(folder.join(name))
                .with_context(|| format!("reading {}", folder.join(name).display()))
        };
        let (requirements, sums) = (read("go.mod")?, read("go.sum")?);
        let kubernetes = required_version(&requirements, "k8s.io/kubernetes")
            .with_context(|| format!("{}/go.mod requires no k8s.io/kubernetes", folder.display()))?
            .to_owned();
        let mut hash = Sha256::new();
        hash.update(requirements);
        hash.update(sums);
        hash.update(linker_flags(&kubernetes));
        Ok(Self {
            folder: folder.to_path_buf(),
            kubernetes,
            stamp: crate::page::hex(&hash.finalize()),
        })
    }

    /// Whether a folder holds these programs, built from this module as it stands.
    fn is_built(&self, programs: &[Program], folder: &Path) -> bool {
        self.is_current(folder) && missing(programs, folder).next().is_none()
    }

    /// Whether the programs in a folder were built from this module as it stands.
    fn is_current(&self, folder: &Path) -> bool {
        fs::read_to_string(folder.join("stamp")).is_ok_and(|stamp| stamp == self.stamp)
    }

    /// Builds the programs that the folder lacks. Two tasks that start at once build them only once.
    fn build(&self, go: &Path, programs: &[Program], folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let lock = fs::File::create(folder.join("lock"))?;
        lock.lock()
            .context("waiting for another build of these programs")?;
        if self.is_built(programs, folder) {
            return Ok(());
        }
        if !self.is_current(folder) {
            for (name, _) in PROGRAMS.iter().chain(&CONTROLLERS) {
                let old = folder.join(name);
                if old.exists() {
                    fs::remove_file(&old).with_context(|| format!("removing {}", old.display()))?;
                }
            }
            fs::write(folder.join("stamp"), &self.stamp)?;
        }
        eprintln!(
            "Programs of Kubernetes {} are built once from Go modules, into {} (all five take about 5 minutes on 2 cores)",
            self.kubernetes,
            folder.display()
        );
        for (program, package) in missing(programs, folder) {
            // The file has another name until it is whole.
            let unfinished = folder.join(format!("{program}.unfinished"));
            shell::step(&format!("building {program}"), || {
                shell::run(
                    Command::new(go)
                        .args(["build", "-trimpath", "-ldflags"])
                        .arg(linker_flags(&self.kubernetes))
                        .arg("-o")
                        .arg(&unfinished)
                        .arg(package)
                        .env("CGO_ENABLED", "0")
                        .env("GOGC", GARBAGE)
                        .current_dir(&self.folder),
                )
            })?;
            fs::rename(&unfinished, folder.join(program))
                .with_context(|| format!("naming {}", unfinished.display()))?;
        }
        Ok(())
    }
}

/// Returns flags that stamp the version: an unstamped build calls itself v0.0.0-master, which clients that read
/// versions misread.
fn linker_flags(kubernetes: &str) -> String {
    let plain = kubernetes.trim_start_matches('v');
    let mut parts = plain.split('.');
    let (major, minor) = (parts.next().unwrap_or("0"), parts.next().unwrap_or("0"));
    let version = "k8s.io/component-base/version";
    format!(
        "-s -w -X {version}.gitVersion={kubernetes} -X {version}.gitMajor={major} -X {version}.gitMinor={minor} -X {version}.gitTreeState=clean"
    )
}

/// Returns the version that a go.mod requires of a module.
fn required_version<'a>(requirements: &'a str, module: &str) -> Option<&'a str> {
    requirements.lines().find_map(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| *word == "require");
        (words.next() == Some(module)).then(|| words.next())?
    })
}

fn find_go() -> Option<PathBuf> {
    let go = shell::on_path("go").or_else(|| {
        let usual = PathBuf::from("/usr/local/go/bin/go");
        shell::is_program(&usual).then_some(usual)
    })?;
    let said = shell::read(Command::new(&go).arg("version")).ok()?;
    match go_version(&said) {
        Some(version) if version >= OLDEST_GO => Some(go),
        _ => {
            eprintln!("  {} is too old: {said}", go.display());
            None
        }
    }
}

/// Returns the version in Go's output: `go version go1.26.8 linux/amd64` is (1, 26).
fn go_version(said: &str) -> Option<(u32, u32)> {
    let version = said.split_whitespace().nth(2)?.strip_prefix("go")?;
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_is_compared_by_number() {
        assert_eq!(go_version("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(
            go_version("go version go1.27rc1 linux/arm64"),
            Some((1, 27))
        );
        assert_eq!(go_version("go version devel +abc"), None);
        assert!((1, 9) < OLDEST_GO && OLDEST_GO <= (1, 100));
    }

    #[test]
    fn the_pinned_version_is_read_from_both_forms_of_a_requirement() {
        let block = "require (\n\tk8s.io/api v0.36.3 // indirect\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n";
        assert_eq!(
            required_version(block, "k8s.io/kubernetes"),
            Some("v1.36.3")
        );
        let line = "require k8s.io/kubernetes v1.35.4\n";
        assert_eq!(required_version(line, "k8s.io/kubernetes"), Some("v1.35.4"));
        assert_eq!(required_version(line, "k8s.io/api"), None);
    }

    #[test]
    fn this_checkout_pins_a_version() -> Result<()> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cluster");
        let module = Module::open(&folder)?;
        assert!(
            module.kubernetes.starts_with("v1."),
            "{}",
            module.kubernetes
        );
        assert_eq!(module.stamp.len(), 64, "a whole hash");
        Ok(())
    }
}
