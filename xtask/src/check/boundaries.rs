//! The crate graph and the imports that ARCHITECTURE.md's rules allow.
//!
//! Each rule is a function over plain data, so that its tests can break it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use cargo_metadata::{DependencyKind, Metadata, PackageId};
use walkdir::WalkDir;

use super::mentions::{self, Mention};
use crate::project::Project;
use crate::violation::Violation;

const SHARED: &[&str] = &[
    "watchscope-charts",
    "watchscope-diagnosis",
    "watchscope-export",
    "watchscope-hiding",
    "watchscope-journal",
    "watchscope-log",
    "watchscope-model",
    "watchscope-probe",
    "watchscope-recording",
    "watchscope-replay",
    "watchscope-scenarios",
    "watchscope-search",
    "watchscope-simulator",
    "watchscope-timeline",
];

/// Which crates of ours a crate may depend on, dev-dependencies included. Nothing uses the backend
/// but the tests. A new arrow is a change of the design: it goes into ARCHITECTURE.md first.
const ARROWS: &[(&str, &[&str])] = &[
    ("watchscope-model", &[]),
    ("watchscope-log", &["watchscope-model"]),
    ("watchscope-probe", &["watchscope-model"]),
    ("watchscope-hiding", &["watchscope-model"]),
    (
        "watchscope-recording",
        &["watchscope-hiding", "watchscope-model"],
    ),
    ("watchscope-diagnosis", &["watchscope-model"]),
    (
        "watchscope-journal",
        &["watchscope-diagnosis", "watchscope-model"],
    ),
    ("watchscope-timeline", &["watchscope-model"]),
    (
        "watchscope-replay",
        &[
            "watchscope-log",
            "watchscope-model",
            "watchscope-recording",
            "watchscope-search",
            "watchscope-timeline",
        ],
    ),
    ("watchscope-search", &["watchscope-model"]),
    (
        "watchscope-charts",
        &["watchscope-model", "watchscope-timeline"],
    ),
    (
        "watchscope-export",
        &[
            "watchscope-charts",
            "watchscope-hiding",
            "watchscope-model",
            "watchscope-recording",
            "watchscope-timeline",
        ],
    ),
    ("watchscope-simulator", &["watchscope-model"]),
    (
        "watchscope-scenarios",
        &[
            "watchscope-diagnosis",
            "watchscope-hiding",
            "watchscope-journal",
            "watchscope-log",
            "watchscope-model",
            "watchscope-probe",
            "watchscope-simulator",
            "watchscope-timeline",
        ],
    ),
    ("watchscope", SHARED),
    ("watchscope-binary", &["watchscope"]),
    (
        "watchscope-app",
        &[
            "watchscope-export",
            "watchscope-hiding",
            "watchscope-log",
            "watchscope-model",
            "watchscope-probe",
            "watchscope-recording",
            "watchscope-search",
            "watchscope-timeline",
        ],
    ),
    (
        "watchscope-lesson-worker",
        &[
            "watchscope-diagnosis",
            "watchscope-log",
            "watchscope-model",
            "watchscope-probe",
            "watchscope-scenarios",
            "watchscope-simulator",
            "watchscope-timeline",
        ],
    ),
    (
        "watchscope-recording-worker",
        &[
            "watchscope-log",
            "watchscope-model",
            "watchscope-probe",
            "watchscope-recording",
            "watchscope-replay",
            "watchscope-search",
        ],
    ),
    ("watchscope-unpacker", &[]),
    (
        "watchscope-story-digests",
        &["watchscope-export", "watchscope-scenarios"],
    ),
    (
        "watchscope-tests",
        &[
            "watchscope",
            "watchscope-diagnosis",
            "watchscope-export",
            "watchscope-log",
            "watchscope-model",
            "watchscope-probe",
            "watchscope-recording",
            "watchscope-scenarios",
            "watchscope-simulator",
            "watchscope-timeline",
        ],
    ),
    ("xtask", &[]),
];

/// Packages that a pure crate may not use, however far down.
const IMPURE_PACKAGES: &[&str] = &[
    "async-std",
    "axum",
    "chrono",
    "gloo-net",
    "gloo-timers",
    "hyper",
    "jiff",
    "kube",
    "kube-client",
    "leptos",
    "mio",
    "reqwest",
    "smol",
    "tokio",
    "web-sys",
    "web-time",
];

/// What a package brings along and we do not use, as (package, what it brings): plotters measures text with a font of the
/// document on wasm32, whatever its features; `shared/charts` draws on a backend that measures by itself.
const BROUGHT_ALONG: &[(&str, &str)] = &[("plotters", "web-sys")];

/// Items that read a clock, do I/O or start threads.
const IMPURE_ITEMS: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
];

/// Items that tell what time it is.
const CLOCKS: &[&str] = &[
    "std::time::Instant",
    "std::time::SystemTime",
    "rustix::time",
    "time::OffsetDateTime::now_utc",
    "time::UtcDateTime::now",
];

/// Who may mention what in the backend: (item, modules).
const BACKEND_MENTIONS: &[(&str, &[&str])] = &[
    ("kube", &["cluster", "transport"]),
    ("axum", &["web"]),
    ("prometheus_client", &["metrics"]),
];

/// All broken boundaries of the checkout.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let graph = Graph::new(&project.metadata)?;
    let mut broken = arrows_turn_one_way(&graph);
    broken.extend(tester_and_tested_are_strangers(&graph));
    broken.extend(pure_crates_use_no_impure_package(&graph));
    for (name, node) in &graph.ours {
        let source = node.folder.join("src");
        for file in rust_files(&source)? {
            let mentions = mentions::mentions(&file.text)
                .with_context(|| format!("scanning {}", source.join(&file.path).display()))?;
            let place = |line: usize| {
                let folder = node
                    .folder
                    .strip_prefix(&project.root)
                    .unwrap_or(&node.folder);
                format!("{}/src/{}:{line}", folder.display(), file.path)
            };
            broken.extend(match name.as_str() {
                "watchscope-simulator" => [
                    pure_source(&mentions, &place),
                    tester_source(&mentions, &place),
                ]
                .concat(),
                _ if node.pure => pure_source(&mentions, &place),
                "watchscope" => backend_source(&file.path, &mentions, &place),
                "watchscope-app" => app_source(&file.path, &mentions, &place),
                _ => Vec::new(),
            });
        }
    }
    broken.sort();
    broken.dedup();
    Ok(broken)
}

/// The packages under shared/.
pub(crate) fn pure_packages(project: &Project) -> Vec<&str> {
    let packages = project.metadata.workspace_packages();
    let names = packages.iter().map(|package| package.name.as_str());
    names.filter(|name| SHARED.contains(name)).collect()
}

/// Our crates and what they use.
struct Graph {
    ours: BTreeMap<String, Node>,
}

#[derive(Default)]
struct Node {
    folder: std::path::PathBuf,
    /// Lies under shared/.
    pure: bool,
    /// Our crates it names in its manifest, dev- and build-dependencies included.
    direct: BTreeSet<String>,
    /// All packages that end up in it or its tests' direct dependencies.
    all: BTreeSet<String>,
}

impl Graph {
    fn new(metadata: &Metadata) -> Result<Self> {
        let resolve = metadata
            .resolve
            .as_ref()
            .context("`cargo metadata` resolved no dependency graph")?;
        let names: BTreeMap<&PackageId, &str> = metadata
            .packages
            .iter()
            .map(|package| (&package.id, package.name.as_str()))
            .collect();
        let normal: BTreeMap<&PackageId, Vec<&PackageId>> = resolve
            .nodes
            .iter()
            .map(|node| {
                let used = node.deps.iter().filter(|dependency| {
                    dependency
                        .dep_kinds
                        .iter()
                        .any(|kind| kind.kind == DependencyKind::Normal)
                });
                let used = used.map(|dependency| &dependency.pkg);
                let is_used = |used: &&PackageId| {
                    let edge = (names[&node.id], names[*used]);
                    !BROUGHT_ALONG.contains(&edge)
                };
                (&node.id, used.filter(is_used).collect())
            })
            .collect();
        let ours = metadata.workspace_packages();
        let our_names: BTreeSet<&str> = ours.iter().map(|package| package.name.as_str()).collect();
        let mut nodes = BTreeMap::new();
        for package in ours {
            let folder = package
                .manifest_path
                .parent()
                .context("a manifest lies in a folder")?;
            let mut all = BTreeSet::new();
            let mut open: Vec<&PackageId> = normal.get(&package.id).cloned().unwrap_or_default();
            while let Some(id) = open.pop() {
                if all.insert(names[id].to_owned()) {
                    open.extend(normal.get(id).into_iter().flatten());
                }
            }
            // A dev-dependency counts by its name only: what it uses itself stays on the host.
            all.extend(package.dependencies.iter().map(|used| used.name.clone()));
            let direct = package
                .dependencies
                .iter()
                .map(|used| used.name.clone())
                .filter(|used| our_names.contains(used.as_str()))
                .collect();
            let node = Node {
                pure: folder.starts_with(metadata.workspace_root.join("shared")),
                folder: folder.into(),
                direct,
                all,
            };
            nodes.insert(package.name.to_string(), node);
        }
        Ok(Self { ours: nodes })
    }

    /// Our crates that a crate reaches, through dev-dependencies of any of them too.
    fn reached<'a>(&'a self, from: &'a str) -> BTreeSet<&'a str> {
        reached(from, |name| {
            let node = self.ours.get(name).into_iter();
            node.flat_map(|node| node.direct.iter().map(String::as_str))
        })
    }
}

/// All that is used from somewhere, directly or by what is used.
pub(super) fn reached<'a, I>(from: &'a str, uses: impl Fn(&'a str) -> I) -> BTreeSet<&'a str>
where
    I: Iterator<Item = &'a str>,
{
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for used in uses(name) {
            if reached.insert(used) {
                open.push(used);
            }
        }
    }
    reached
}

fn arrows_turn_one_way(graph: &Graph) -> Vec<Violation> {
    let mut broken = Vec::new();
    for (name, node) in &graph.ours {
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| known == name) else {
            broken.push(Violation {
                place: name.clone(),
                problem: "has no place in the crate graph".to_owned(),
                remedy: "add it to ARROWS in xtask/src/check/boundaries.rs and to ARCHITECTURE.md"
                    .to_owned(),
            });
            continue;
        };
        for used in &node.direct {
            if !allowed.contains(&used.as_str()) {
                broken.push(Violation {
                    place: format!("{}/Cargo.toml", node.folder.display()),
                    problem: format!("{name} depends on {used}, against the crate graph"),
                    remedy: "move the code to where the arrows allow it".to_owned(),
                });
            }
        }
        if node.pure != SHARED.contains(&name.as_str()) {
            broken.push(Violation {
                place: name.clone(),
                problem: "is under shared/ or in SHARED, but not both".to_owned(),
                remedy: "make xtask/src/check/boundaries.rs agree with the folders".to_owned(),
            });
        }
    }
    broken
}

/// The simulator and the probe share no opinion of the protocol.
fn tester_and_tested_are_strangers(graph: &Graph) -> Vec<Violation> {
    let (simulator, probe) = ("watchscope-simulator", "watchscope-probe");
    [(simulator, probe), (probe, simulator)]
        .into_iter()
        .filter(|(from, to)| graph.reached(from).contains(to))
        .map(|(from, to)| Violation {
            place: from.to_owned(),
            problem: format!("reaches {to}, so the tester and the tested share an opinion"),
            remedy: "join them in watchscope-scenarios only".to_owned(),
        })
        .collect()
}

fn pure_crates_use_no_impure_package(graph: &Graph) -> Vec<Violation> {
    let mut broken = Vec::new();
    for (name, node) in graph.ours.iter().filter(|(_, node)| node.pure) {
        for package in IMPURE_PACKAGES
            .iter()
            .filter(|name| node.all.contains(**name))
        {
            broken.push(Violation {
                place: name.clone(),
                problem: format!("uses the package {package}"),
                remedy: format!("see `cargo tree --package {name} --invert {package}`; crates under shared/ have no clock, I/O, async or threads"),
            });
        }
    }
    broken
}

fn pure_source(mentions: &[Mention], place: &dyn Fn(usize) -> String) -> Vec<Violation> {
    reaching(mentions, IMPURE_ITEMS, place, |item| {
        format!("a pure crate has no {item}: take what it would give as a parameter")
    })
}

/// What of the model says how requests of the protocol are made, which the tester has to know by itself.
const OF_REQUESTS: &[&str] = &[
    "watchscope_model::audit",
    "watchscope_model::options",
    "watchscope_model::request",
];

fn tester_source(mentions: &[Mention], place: &dyn Fn(usize) -> String) -> Vec<Violation> {
    reaching(mentions, OF_REQUESTS, place, |_| {
        "tester and tested share no opinion of the protocol: the simulator has its own".to_owned()
    })
}

fn backend_source(
    path: &str,
    mentions: &[Mention],
    place: &dyn Fn(usize) -> String,
) -> Vec<Violation> {
    let module = path.split(['/', '.']).next().unwrap_or(path);
    let mut broken = Vec::new();
    for (item, modules) in BACKEND_MENTIONS {
        if !modules.contains(&module) {
            broken.extend(reaching(mentions, &[item], place, |item| {
                format!("only {} may mention {item}", modules.join(" and "))
            }));
        }
    }
    // The limits of a search read the processor time of their thread, not the time of day.
    if !matches!(path, "clock.rs" | "log/clock.rs" | "hub/search/limits.rs") {
        broken.extend(reaching(mentions, CLOCKS, place, |_| {
            "only the log's clock reads the time; wait with tokio's".to_owned()
        }));
    }
    broken
}

/// What of the model tells nothing of records: a hash of bytes.
const NO_RECORD: &str = "watchscope_model::fnv";

/// Painting walks the display list; with no record type in sight it has nothing to judge by.
fn app_source(path: &str, mentions: &[Mention], place: &dyn Fn(usize) -> String) -> Vec<Violation> {
    if !path.split(['/', '.']).any(|part| part == "paint") {
        return Vec::new();
    }
    let of_records = mentions
        .iter()
        .filter(|mention| mention.text() != NO_RECORD);
    reaching(of_records, &["watchscope_model"], place, |_| {
        "the painter knows only the display list: decide the meaning in watchscope-timeline"
            .to_owned()
    })
}

fn reaching<'a>(
    mentions: impl IntoIterator<Item = &'a Mention>,
    items: &[&str],
    place: &dyn Fn(usize) -> String,
    remedy: impl Fn(&str) -> String,
) -> Vec<Violation> {
    let mut broken = Vec::new();
    for mention in mentions {
        if let Some(item) = items.iter().find(|item| mention.reaches(item)) {
            broken.push(Violation {
                place: place(mention.line),
                problem: format!("mentions {}", mention.text()),
                remedy: remedy(item),
            });
        }
    }
    broken
}

pub(crate) struct SourceFile {
    /// Below src/, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(crate) fn rust_files(folder: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry?;
        let is_rust = entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "rs");
        if !entry.file_type().is_file() || !is_rust {
            continue;
        }
        let below: Vec<String> = entry
            .path()
            .strip_prefix(folder)?
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        files.push(SourceFile {
            path: below.join("/"),
            text: fs::read_to_string(entry.path())
                .with_context(|| format!("reading {}", entry.path().display()))?,
        });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(crates: &[(&str, &str, &[&str])]) -> Graph {
        let ours = crates
            .iter()
            .map(|(name, folder, used)| {
                let used: BTreeSet<String> = used.iter().map(|used| (*used).to_owned()).collect();
                let node = Node {
                    folder: folder.into(),
                    pure: folder.starts_with("shared/"),
                    direct: used
                        .iter()
                        .filter(|used| used.starts_with("watchscope"))
                        .cloned()
                        .collect(),
                    all: used,
                };
                ((*name).to_owned(), node)
            })
            .collect();
        Graph { ours }
    }

    fn lines(violations: Vec<Violation>) -> String {
        violations
            .iter()
            .map(|violation| format!("{violation}\n"))
            .collect()
    }

    fn at(line: usize) -> String {
        format!("x.rs:{line}")
    }

    #[test]
    fn an_arrow_against_the_graph_is_named_with_its_manifest() {
        let graph = graph(&[
            ("watchscope-model", "shared/model", &["watchscope-log"]),
            ("watchscope-log", "shared/log", &["watchscope-model"]),
        ]);
        insta::assert_snapshot!(lines(arrows_turn_one_way(&graph)), @"shared/model/Cargo.toml: watchscope-model depends on watchscope-log, against the crate graph; move the code to where the arrows allow it");
    }

    #[test]
    fn a_crate_without_a_place_in_the_graph_is_refused() {
        let graph = graph(&[("watchscope-news", "shared/news", &[])]);
        insta::assert_snapshot!(lines(arrows_turn_one_way(&graph)), @"watchscope-news: has no place in the crate graph; add it to ARROWS in xtask/src/check/boundaries.rs and to ARCHITECTURE.md");
    }

    #[test]
    fn the_simulator_may_not_reach_the_probe_by_any_way() {
        let graph = graph(&[
            (
                "watchscope-simulator",
                "shared/simulator",
                &["watchscope-log"],
            ),
            ("watchscope-log", "shared/log", &["watchscope-probe"]),
            ("watchscope-probe", "shared/probe", &[]),
        ]);
        insta::assert_snapshot!(lines(tester_and_tested_are_strangers(&graph)), @"watchscope-simulator: reaches watchscope-probe, so the tester and the tested share an opinion; join them in watchscope-scenarios only");
    }

    #[test]
    fn an_impure_package_is_named_with_the_command_that_finds_it() {
        let graph = graph(&[
            ("watchscope-log", "shared/log", &["tokio"]),
            ("watchscope", "backend", &["tokio"]),
        ]);
        insta::assert_snapshot!(lines(pure_crates_use_no_impure_package(&graph)), @"watchscope-log: uses the package tokio; see `cargo tree --package watchscope-log --invert tokio`; crates under shared/ have no clock, I/O, async or threads");
    }

    #[test]
    fn a_pure_crate_that_reads_a_clock_is_named_with_its_line() {
        let found = mentions::mentions("use std::time::Duration;\nuse std::{fs, time};\n").unwrap();
        insta::assert_snapshot!(lines(pure_source(&found, &at)), @r"
        x.rs:2: mentions std::fs; a pure crate has no std::fs: take what it would give as a parameter
        x.rs:2: mentions std::time; a pure crate has no std::time::Instant: take what it would give as a parameter
        ");
    }

    #[test]
    fn the_simulator_has_its_own_opinion_of_requests() {
        let broken = |source: &str| {
            let found = mentions::mentions(source).unwrap();
            tester_source(&found, &at).len()
        };
        assert_eq!(
            broken("use watchscope_model::{Time, request::is_watch};"),
            1
        );
        assert_eq!(broken("use watchscope_model::{Text, chance::Chance};"), 0);
    }

    #[test]
    fn only_the_modules_at_the_edge_know_their_libraries() {
        let found = mentions::mentions(
            "use kube::Config;\nuse axum::Router;\nfn f() { std::time::SystemTime::now(); }",
        )
        .unwrap();
        let broken = |path: &str| backend_source(path, &found, &at).len();
        assert_eq!(broken("hub.rs"), 3);
        assert_eq!(broken("cluster/discovery.rs"), 2);
        assert_eq!(broken("transport.rs"), 2);
        assert_eq!(broken("web/mod.rs"), 2);
        assert_eq!(broken("log/clock.rs"), 2);
        insta::assert_snapshot!(lines(backend_source("hub.rs", &found, &at)), @r"
        x.rs:1: mentions kube::Config; only cluster and transport may mention kube
        x.rs:2: mentions axum::Router; only web may mention axum
        x.rs:3: mentions std::time::SystemTime::now; only the log's clock reads the time; wait with tokio's
        ");
    }

    #[test]
    fn the_painter_sees_no_records() {
        let found = mentions::mentions("use watchscope_model::Event;").unwrap();
        assert_eq!(app_source("paint/painter.rs", &found, &at).len(), 1);
        assert_eq!(app_source("paint/sprites/text.rs", &found, &at).len(), 1);
        assert_eq!(app_source("source.rs", &found, &at).len(), 0);
        let hash = mentions::mentions("use watchscope_model::fnv; fn f() { fnv::after(0, b) }");
        assert_eq!(app_source("paint/painter.rs", &hash.unwrap(), &at).len(), 0);
        let all = mentions::mentions("use watchscope_model::*;").unwrap();
        assert_eq!(app_source("paint/painter.rs", &all, &at).len(), 1);
    }

    #[test]
    fn this_checkout_is_seen_as_it_is() -> Result<()> {
        let project = Project::open()?;
        let graph = Graph::new(&project.metadata)?;
        let log = &graph.ours["watchscope-log"];
        assert!(log.pure && log.direct.contains("watchscope-model"));
        assert!(log.all.contains("serde"), "through watchscope-model");
        assert!(!graph.ours["xtask"].pure);
        let charts = &graph.ours["watchscope-charts"].all;
        assert!(charts.contains("plotters") && !charts.contains("web-sys"));
        assert!(
            graph
                .reached("watchscope-scenarios")
                .contains("watchscope-probe")
        );
        assert!(!rust_files(&graph.ours["xtask"].folder.join("src"))?.is_empty());
        Ok(())
    }
}
