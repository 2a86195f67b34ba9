//! Rewriting files: each is written beside itself and then renamed, so the name always leads to a whole file.

use std::io;
use std::path::{Path, PathBuf};

use watchscope_model::State;
use watchscope_recording::{
    ChapterEntry, Contents, FileBlock, Form, FrameSummarizer, Frames, Piece, ReadChapter, Source,
    Writer, compact, copy,
};

use super::disk::{Disk, DiskFile};
use super::machines::{deflated, drive, write_pieces};
use super::open_file::OpenFile;

/// The suffix of a file that is being rewritten. The host removes files with it that it finds.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// A file that was ended.
#[derive(Debug)]
pub struct Finished {
    /// Its size, in bytes.
    pub bytes: u64,
    /// Its contents.
    pub contents: Contents,
}

/// Rewrites a file without the parts that closed chapters superseded. `of` replaces its `F` blocks.
pub(super) fn compacted(
    disk: &dyn Disk,
    path: &Path,
    file: &dyn DiskFile,
    contents: &Contents,
    of: &[FileBlock],
) -> io::Result<Finished> {
    let pieces = compact(contents, of).map_err(io::Error::other)?;
    replaced(disk, path, &pieces, &[file])
}

/// Writes several files as one, which replaces the last of them. The caller then removes the others.
///
/// # Errors
/// The disk's error, or that of a file that cannot be read.
pub(crate) fn merged(disk: &dyn Disk, files: &[OpenFile]) -> io::Result<Finished> {
    copied(disk, files, true)
}

/// Rewrites a file without its bodies.
///
/// # Errors
/// The disk's error, or that of a file that cannot be read.
pub(crate) fn without_bodies(disk: &dyn Disk, path: &Path) -> io::Result<Finished> {
    let file = OpenFile::open_on(disk, path).map_err(io::Error::other)?;
    copied(disk, &[file], false)
}

/// Copies all chapters of files into one file, which replaces the last of them.
fn copied(disk: &dyn Disk, files: &[OpenFile], with_bodies: bool) -> io::Result<Finished> {
    let last = files.last().ok_or(io::ErrorKind::InvalidInput)?;
    let all: Vec<Vec<usize>> = files
        .iter()
        .map(|file| (0..file.contents().chapters.len()).collect())
        .collect();
    let sources: Vec<Source<'_>> = files
        .iter()
        .zip(&all)
        .map(|(file, chapters)| Source {
            contents: file.contents(),
            chapters,
            with_bodies,
        })
        .collect();
    let pieces = copy(&sources, Form::Recorded).map_err(io::Error::other)?;
    let files: Vec<&dyn DiskFile> = files.iter().map(OpenFile::file).collect();
    replaced(disk, last.path(), &pieces, &files)
}

/// Ends a file whose writer is gone: closes its open chapters and compacts it. Returns `None` if a part of the file cannot
/// be read; the file then stays as it is.
///
/// # Errors
/// The disk's error.
pub(crate) fn ended(disk: &dyn Disk, path: &Path) -> io::Result<Option<Finished>> {
    let mut file = disk.open(path, true)?;
    let Ok(contents) = OpenFile::scanned(&*file)? else {
        return Ok(None);
    };
    let Some((mut writer, bytes)) = Writer::resume(&contents) else {
        return Ok(None);
    };
    file.cut(bytes)?;
    let mut state = State::default();
    for (number, entry) in (1..).zip(&contents.chapters) {
        let is_last = number == contents.chapters.len();
        if entry.closed.is_some() && !is_last {
            continue;
        }
        let Some(frames) = frames(&*file, entry)? else {
            return Ok(None);
        };
        if is_last {
            state = folded(&frames).unwrap_or_default();
        }
        if entry.closed.is_none() && entry.summary.records() > 0 {
            let packing = Writer::whole_chapter(frames.head(), frames.segments());
            let Ok(packing) = packing else {
                continue;
            };
            let Ok(bytes) = writer.packed(&packing, &deflated(packing.raw())) else {
                return Ok(None);
            };
            file.append(&bytes)?;
        }
    }
    file.sync()?;
    let of: Vec<FileBlock> = match &contents.files[..] {
        // A file of several runs was merged from ended files.
        [of] => vec![of.clone().with_state(&state)],
        several => several.to_vec(),
    };
    compacted(disk, path, &*file, &writer.contents(), &of).map(Some)
}

/// Reads a chapter's frames; `None` if not all of them can be read.
fn frames(file: &dyn DiskFile, entry: &ChapterEntry) -> io::Result<Option<Frames>> {
    let mut machine = ReadChapter::new(entry);
    let read = drive(file, |input| machine.step(input))?;
    let chapter = read.ok().filter(|chapter| chapter.damaged.is_empty());
    Ok(chapter.map(|chapter| chapter.frames))
}

/// Returns the fold at the end of a chapter, without the objects with which the chapter opened.
fn folded(frames: &Frames) -> Option<State> {
    let mut summarizer = FrameSummarizer::open(frames.head()).ok()?;
    for segment in frames.segments() {
        summarizer.segment(segment).ok()?;
    }
    Some(summarizer.state().clone())
}

/// Writes a new file beside `path`, then renames it to `path`.
fn replaced(
    disk: &dyn Disk,
    path: &Path,
    pieces: &[Piece],
    sources: &[&dyn DiskFile],
) -> io::Result<Finished> {
    let beside = beside(path);
    let mut file = disk.create(&beside)?;
    let written = write_pieces(pieces, sources, &mut *file).and_then(|bytes| {
        file.sync()?;
        let contents = OpenFile::scanned(&*file)?.map_err(io::Error::other)?;
        disk.rename(&beside, path)?;
        Ok(Finished { bytes, contents })
    });
    if written.is_err() {
        // If the removal fails too, the next start removes the file.
        let _ = disk.remove(&beside);
    }
    written
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(UNFINISHED);
    path.with_file_name(name)
}
