//! The image: a layout of OCI (<https://github.com/opencontainers/image-spec>) for all architectures, made without a container
//! runtime.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use super::architecture::{Architecture, Program};
use super::archive::{self, Effort, Entries, Entry};
use super::release::Release;
use crate::page::sha256;

/// The path of the program in the image.
const PROGRAM: &str = "usr/bin/watchscope";
/// The folder of the licences in the image.
const LICENCES: &str = "usr/share/licenses/watchscope";
/// The user and group that the program runs as, neither of them root. Kubernetes needs numbers to see that.
const USER: &str = "65532:65532";
/// What the program does without arguments: it serves all namespaces of the cluster that it runs in.
const ARGUMENTS: [&str; 2] = ["serve", "-A"];

const LAYOUT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const SCHEMA: u8 = 2;

/// A reference to another part of the image.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u8,
    media_type: String,
    manifests: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u8,
    media_type: String,
    config: Descriptor,
    layers: Vec<Descriptor>,
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct Config {
    created: String,
    #[serde(flatten)]
    platform: Platform,
    config: Run,
    rootfs: Layers,
    history: Vec<Step>,
}

/// How a runtime starts the program.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Run {
    user: String,
    entrypoint: Vec<String>,
    cmd: Vec<String>,
    labels: BTreeMap<String, String>,
}

/// The layers of an image before they are compressed.
#[derive(Serialize, Deserialize)]
struct Layers {
    r#type: String,
    diff_ids: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Step {
    created: String,
    created_by: String,
}

/// The files of a layout by their paths in it.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Returns the files of a layout with an image for each architecture. `licences` are texts by their names.
pub(super) fn layout(
    release: &Release,
    programs: &BTreeMap<Architecture, Vec<u8>>,
    licences: &[(&str, &[u8])],
    effort: Effort,
) -> Result<Files> {
    let mut files = Files::from([("oci-layout".to_owned(), LAYOUT.into())]);
    let mut manifests = Vec::new();
    for (architecture, program) in programs {
        let mut entries = Entries::from([(PROGRAM.to_owned(), entry(program, true))]);
        for (name, text) in licences {
            entries.insert(format!("{LICENCES}/{name}"), entry(text, false));
        }
        let tar = archive::tar(&entries, release.time_s)?;
        let platform = Platform {
            architecture: architecture.name().to_owned(),
            os: "linux".to_owned(),
        };
        let config = config(release, platform.clone(), digest(&tar));
        let manifest = Manifest {
            schema_version: SCHEMA,
            media_type: MANIFEST.to_owned(),
            config: put(&mut files, CONFIG, serde_json::to_vec(&config)?),
            layers: vec![put(&mut files, LAYER, archive::gzip(&tar, effort)?)],
            annotations: labels(release),
        };
        let manifest = put(&mut files, MANIFEST, serde_json::to_vec(&manifest)?);
        manifests.push(Descriptor {
            platform: Some(platform),
            ..manifest
        });
    }
    let all = index(manifests, labels(release));
    let all = put(&mut files, INDEX, serde_json::to_vec(&all)?);
    // Tools that read a layout find an image in it by this name.
    let name = ("org.opencontainers.image.ref.name", &release.version);
    let annotations = BTreeMap::from([(name.0.to_owned(), name.1.clone())]);
    let top = index(vec![Descriptor { annotations, ..all }], BTreeMap::new());
    files.insert("index.json".to_owned(), serde_json::to_vec(&top)?);
    Ok(files)
}

fn entry(bytes: &[u8], is_program: bool) -> Entry<'_> {
    Entry { bytes, is_program }
}

fn index(manifests: Vec<Descriptor>, annotations: BTreeMap<String, String>) -> Index {
    Index {
        schema_version: SCHEMA,
        media_type: INDEX.to_owned(),
        manifests,
        annotations,
    }
}

fn config(release: &Release, platform: Platform, diff_id: String) -> Config {
    Config {
        created: release.time.clone(),
        platform,
        config: Run {
            user: USER.to_owned(),
            entrypoint: vec![format!("/{PROGRAM}")],
            cmd: ARGUMENTS.map(str::to_owned).into(),
            labels: labels(release),
        },
        rootfs: Layers {
            r#type: "layers".to_owned(),
            diff_ids: vec![diff_id],
        },
        history: vec![Step {
            created: release.time.clone(),
            created_by: "cargo xtask dist".to_owned(),
        }],
    }
}

/// Returns what the image says about itself, by the keys of OCI's annotations.
fn labels(release: &Release) -> BTreeMap<String, String> {
    let mut labels = vec![
        ("title", "watchscope"),
        ("description", super::SUMMARY),
        ("version", &release.version),
        ("created", &release.time),
        ("licenses", &release.licence),
    ];
    labels.extend(release.commit.as_deref().map(|commit| ("revision", commit)));
    labels
        .into_iter()
        .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.to_owned()))
        .collect()
}

/// Puts a blob under its digest, and returns a reference to it.
fn put(files: &mut Files, media_type: &str, bytes: Vec<u8>) -> Descriptor {
    let descriptor = Descriptor {
        media_type: media_type.to_owned(),
        digest: digest(&bytes),
        size: bytes.len(),
        platform: None,
        annotations: BTreeMap::new(),
    };
    files.insert(path(&descriptor.digest), bytes);
    descriptor
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}

/// Returns the path of a blob.
fn path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}

/// Checks a layout: its digests, and that each image holds a program for its own architecture. Returns the architectures.
pub(super) fn check(files: &Files) -> Result<Vec<Architecture>> {
    let top: Index = parsed(files.get("index.json").context("it has no index.json")?)?;
    let mut architectures = Vec::new();
    for image in &top.manifests {
        let all: Index = parsed(blob(files, image)?)?;
        for reference in &all.manifests {
            architectures.push(check_one(files, reference)?);
        }
    }
    Ok(architectures)
}

fn check_one(files: &Files, reference: &Descriptor) -> Result<Architecture> {
    let platform = reference.platform.as_ref();
    let platform = platform.context("an image in it names no architecture")?;
    let name = &platform.architecture;
    let architecture = Architecture::of_name(name)
        .with_context(|| format!("it has an image for {name}, which we do not build"))?;
    let manifest: Manifest = parsed(blob(files, reference)?)?;
    let config: Config = parsed(blob(files, &manifest.config)?)?;
    ensure!(
        config.platform == *platform,
        "the image for {name} says that it is for {}",
        config.platform.architecture
    );
    let mut program = None;
    for (layer, diff_id) in manifest.layers.iter().zip(&config.rootfs.diff_ids) {
        let tar = archive::gunzip(blob(files, layer)?)?;
        ensure!(
            digest(&tar) == *diff_id,
            "a layer for {name} is another one than its image says"
        );
        program = archive::find(&tar, PROGRAM)?.or(program);
    }
    let program = program.with_context(|| format!("the image for {name} has no {PROGRAM}"))?;
    let found = Program::read(&program).with_context(|| format!("{PROGRAM} for {name}"))?;
    ensure!(
        found.architecture == architecture,
        "the image for {name} holds a program for {}",
        found.architecture
    );
    Ok(architecture)
}

fn blob<'a>(files: &'a Files, descriptor: &Descriptor) -> Result<&'a [u8]> {
    let name = &descriptor.digest;
    let bytes = files
        .get(&path(name))
        .with_context(|| format!("it lacks {name}"))?;
    ensure!(
        digest(bytes) == *name && bytes.len() == descriptor.size,
        "{name} has another content"
    );
    Ok(bytes)
}

fn parsed<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    serde_json::from_slice(bytes).context("a part of it is not what OCI describes")
}
