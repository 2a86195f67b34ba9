//! Measures the history on disk: bytes per change record, bodies against their JSON, and losses by a kill.
//!
//! The bytes are those of the files after an hour of 2,000 changes a second, without bodies. The bodies are those of
//! 500 Pods that are created in a kube-apiserver and started.
//! For the kills a child process writes a log with a history, and prints each record that is in the log. It is killed
//! at a random moment, 200 times in one folder.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use watchscope::log::{LogConfig, LogHandle, Read, Since};
use watchscope::recordings::{Joined, deflated};
use watchscope::transport::Protocols;
use watchscope_log::Sealed;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::event::Note;
use watchscope_model::vocabulary::Author;
use watchscope_model::{Event, Seq};
use watchscope_recording::{BLOCK_HEADER_BYTES, FileBlock, Piece, Tag, Writer, compact};
use watchscope_tests::anatomy::Anatomy;
use watchscope_tests::change_load::{BUSY, ChangeLoad};
use watchscope_tests::pod_load::{PODS, STATUSES, make_namespace, start_pods};
use watchscope_tests::reading::{Kept, Reading, begin_history, kubeconfig};
use watchscope_tests::{ClusterOptions, KubeCluster, KubeTools};

const HOUR_S: f64 = 3_600.0;
const BYTES_BAR: f64 = 12.0;
/// The size in bytes at which a file of the history ends.
const FILE_BYTES: u64 = 64 << 20;
const KILLS: usize = 200;
/// The most bytes of bodies on disk for each byte of their JSON as the server sent it.
const BODIES_BAR: f64 = 0.1;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            bytes()?;
            runtime.block_on(bodies())?;
            runtime.block_on(kills())
        }
        ["child", folder] => runtime.block_on(write_until_killed(Path::new(folder))),
        _ => bail!("unknown arguments {arguments:?}"),
    }
}

/// The files of an hour, counted but not kept.
struct Files {
    writer: Writer,
    of: FileBlock,
    begun: usize,
    bytes: u64,
    frames: u64,
    /// The open chapter's bytes of each part.
    parts: [Vec<u8>; PARTS.len()],
    /// The bytes of each part, deflated separately.
    shares: [u64; PARTS.len()],
}

const PARTS: [&str; 3] = ["snapshots", "dictionaries", "changes"];

impl Files {
    fn begin(opening: &[u8]) -> Result<Self> {
        let of = FileBlock::new(&"prod".into(), &"9f3b52c07d1ea846".into());
        let (writer, _) = Writer::begin(&of)?;
        let mut files = Self {
            writer,
            of,
            begun: 1,
            bytes: 0,
            frames: 0,
            parts: Default::default(),
            shares: Default::default(),
        };
        files.open(opening)?;
        Ok(files)
    }

    fn open(&mut self, opening: &[u8]) -> Result<()> {
        self.count(opening)?;
        self.writer.open_chapter(opening)?;
        Ok(())
    }

    fn take(&mut self, Sealed { segment, closed }: Sealed) -> Result<()> {
        self.count(segment.frame())?;
        self.writer.segment(segment.frame())?;
        let Some((_, next)) = closed else {
            return Ok(());
        };
        self.close()?;
        if self.writer.file_bytes() >= FILE_BYTES {
            self.end()?;
            self.writer = Writer::begin(&self.of)?.0;
            self.begun += 1;
        }
        self.open(&next.opening)
    }

    fn count(&mut self, frame: &[u8]) -> Result<()> {
        let anatomy = Anatomy::of(frame)?;
        let content = if anatomy.is_head { 0 } else { 2 };
        self.frames += frame.len() as u64;
        self.parts[content].extend_from_slice(anatomy.content);
        self.parts[1].extend_from_slice(anatomy.dictionary);
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        for (part, share) in self.parts.iter_mut().zip(&mut self.shares) {
            *share += deflated(part).len() as u64;
            part.clear();
        }
        let closing = self.writer.close_chapter()?;
        let packing = closing.packing.context("a chapter fits in a block")?;
        self.writer.packed(&packing, &deflated(packing.raw()))?;
        Ok(())
    }

    /// Adds the file's bytes, as the file is after its end.
    fn end(&mut self) -> Result<()> {
        for piece in compact(&self.writer.contents(), std::slice::from_ref(&self.of))? {
            self.bytes += match piece {
                Piece::Bytes(bytes) => bytes.len() as u64,
                Piece::Copy { len, .. } => len,
            };
        }
        Ok(())
    }
}

fn bytes() -> Result<()> {
    let mut early = Vec::new();
    let (mut load, opening) = ChangeLoad::start(BUSY, &mut |sealed| early.push(sealed));
    let mut files = Files::begin(&opening.opening)?;
    let mut failed = early.into_iter().try_for_each(|sealed| files.take(sealed));
    while load.seconds() < HOUR_S {
        load.step(&mut |sealed| {
            if failed.is_ok() {
                failed = files.take(sealed);
            }
        });
        if failed.is_err() {
            break;
        }
    }
    failed?;
    files.close()?;
    files.end()?;
    let changes = load.changes() as f64;
    let mean = files.bytes as f64 / changes;
    let all: u64 = files.shares.iter().sum();
    let shares = PARTS
        .iter()
        .zip(files.shares)
        .map(|(part, share)| format!("{part} {:.0} %", share as f64 / all as f64 * 100.0));
    println!(
        "| bytes on disk per change record, an hour of 2,000 changes a second | at most {BYTES_BAR} | {mean:.1} ({}; {:.1} before deflating; {} files) | {} |",
        shares.collect::<Vec<_>>().join(", "),
        files.frames as f64 / changes,
        files.begun,
        if mean <= BYTES_BAR { "met" } else { "missed" }
    );
    Ok(())
}

async fn bodies() -> Result<()> {
    let tools = KubeTools::find()?;
    let cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    make_namespace(&cluster).await?;
    let folder = tempfile::tempdir()?;
    let pods = ["pods".to_owned()];
    let reading = Reading {
        source: kubeconfig(cluster.kubeconfig()),
        resources: &pods,
        metadata_only: false,
        protocols: Protocols::Negotiated,
        history: Some(Kept {
            folder: folder.path(),
            with_bodies: true,
        }),
    };
    let (began, begun) = tokio::sync::oneshot::channel();
    let mut began = Some(began);
    let mut json_bytes = 0;
    let versions = (PODS * (1 + STATUSES)) as u64;
    let read = reading.until(versions, |record| match &record.event {
        Event::StreamOpened(_) => {
            began.take().map(|began| began.send(()));
        }
        Event::Change(change) => json_bytes += change.bytes.unwrap_or(0),
        _ => {}
    });
    let write = async {
        begun.await.context("the watch begins")?;
        start_pods(&cluster).await
    };
    tokio::try_join!(read, write)?;
    let (mut stored, mut kept) = (0, 0);
    for file in Joined::open(&[folder.path().to_owned()], None)?.files() {
        for &place in &file.contents().blocks {
            if place.header.tag == Tag::Bodies {
                stored += u64::from(place.header.stored_bytes) + BLOCK_HEADER_BYTES as u64;
                let bodies = file.bodies(place)?;
                let bodies = bodies.map_err(|damage| anyhow::anyhow!("{damage}"))?;
                kept += bodies.iter().count() as u64;
            }
        }
    }
    ensure!(kept == versions, "{kept} bodies of {versions} are kept");
    let ratio = stored as f64 / json_bytes as f64;
    println!(
        "| bodies on disk / JSON as it came: {PODS} Pods of ten templates from a kube-apiserver, status written {STATUSES} times | at most {BODIES_BAR} | {ratio:.3} ({:.0} B of {:.0} B a version) | {} |",
        stored as f64 / versions as f64,
        json_bytes as f64 / versions as f64,
        if ratio <= BODIES_BAR { "met" } else { "missed" }
    );
    Ok(())
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

/// Writes a log with a history until it is killed. Prints the epoch, and for each record that it reads from the log the
/// seq and the time.
async fn write_until_killed(folder: &Path) -> Result<()> {
    let log = LogHandle::open(LogConfig::new("bench".into()))?;
    let kept = Kept {
        folder,
        with_bodies: false,
    };
    let _history = begin_history(kept, &log).await?;
    println!("{} 0", log.epoch().as_str());
    let writer = log.clone();
    tokio::spawn(async move {
        let mut random = ChaCha8Rng::seed_from_u64(now_ms());
        loop {
            let note = Note::new(
                Author::Story,
                "x".repeat((random.next_u32() % 2_000) as usize),
            );
            if writer.append(Event::from(note)).await.is_err() {
                return;
            }
            let pause = Duration::from_micros(u64::from(random.next_u32() % 2_000));
            tokio::time::sleep(pause).await;
        }
    });
    let mut reader = log.reader(Since::First);
    while let Some(read) = reader.next().await {
        if let Read::Entries(entries) = read
            && let Some(last) = entries.last()
        {
            println!("{} {}", last.seq().0, now_ms());
        }
    }
    Ok(())
}

async fn kills() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut owed: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..KILLS {
        let mut child = tokio::process::Command::new(std::env::current_exe()?)
            .arg("child")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("it has one")?;
        let mut lines = BufReader::new(stdout).lines();
        let epoch = lines.next_line().await?.context("the child ended")?;
        let (epoch, _) = epoch.split_once(' ').context("an epoch")?;
        let life = Duration::from_millis(u64::from(random.next_u32() % 3_000));
        tokio::time::sleep(life).await;
        child.start_kill()?;
        let killed_ms = now_ms();
        child.wait().await?;
        let mut last_owed = 0;
        while let Some(line) = lines.next_line().await? {
            // The last line may be cut short by the kill.
            let Some((seq, at_ms)) = line.split_once(' ') else {
                break;
            };
            let (Ok(seq), Ok(at_ms)) = (seq.parse::<u64>(), at_ms.parse::<u64>()) else {
                break;
            };
            if at_ms + 1_000 < killed_ms {
                last_owed = seq;
            }
        }
        owed.insert(epoch.to_owned(), last_owed);
    }
    let (unopened, missing, files) = judge(folder.path(), &owed)?;
    let all: u64 = owed.values().sum();
    println!(
        "| {KILLS} kills at random moments: files that do not open, and records missing that were older than 1 s | 0; 0 | {unopened}; {missing} of {all} ({files} files are left) | {} |",
        if unopened == 0 && missing == 0 {
            "met"
        } else {
            "missed"
        }
    );
    Ok(())
}

/// Returns the number of files that cannot be opened, of owed records that are missing, and of all files.
fn judge(folder: &Path, owed: &BTreeMap<String, u64>) -> Result<(usize, u64, usize)> {
    let joined = match Joined::open(&[folder.to_owned()], None) {
        Ok(joined) => joined,
        Err(error) => {
            eprintln!("{error}");
            return Ok((1, 0, 0));
        }
    };
    let mut kept: BTreeMap<String, BTreeSet<Seq>> = BTreeMap::new();
    for run in joined.runs() {
        let seqs = kept.entry(run.epoch.clone()).or_default();
        for (file, entry) in joined.chapters(run) {
            let chapter = file
                .chapter(entry)?
                .map_err(|damage| anyhow::anyhow!("{damage}"))?;
            ensure!(chapter.damaged.is_empty(), "{:?}", chapter.damaged);
            let (mut reader, _) = ChapterReader::open(chapter.frames.head())?;
            for segment in chapter.frames.segments() {
                let entries = reader.entries(segment)?;
                seqs.extend(entries.iter().flatten().map(watchscope_model::Entry::seq));
            }
        }
    }
    let none = BTreeSet::new();
    let missing = owed.iter().map(|(epoch, last)| {
        let seqs = kept.get(epoch).unwrap_or(&none);
        (1..=*last).filter(|&seq| !seqs.contains(&Seq(seq))).count() as u64
    });
    Ok((0, missing.sum(), joined.files().len()))
}
