//! The archive: which file of a history holds which records, for readers of the past.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use watchscope_log::Fetched;
use watchscope_model::{EpochId, Seq};
use watchscope_replay::{first_body, first_chapter};

use crate::recordings::{
    Disk, MatchingBodies, OpenFile, Past, fetched, fetched_bodies_matching, fetched_body,
};

/// The files of a history as they are now; cheap to clone. The history keeps the list up to date.
#[derive(Clone, Debug)]
pub struct Archive {
    disk: Arc<dyn Disk>,
    files: Arc<Mutex<Vec<ArchivedFile>>>,
}

/// A file and the stretches of runs that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchivedFile {
    pub(super) path: PathBuf,
    /// For each run, the first and the last of its records here.
    pub(super) runs: Vec<(EpochId, Seq, Seq)>,
}

impl Archive {
    /// Makes an archive on a disk, with no file listed yet.
    #[must_use]
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            files: Arc::default(),
        }
    }

    pub(super) fn set(&self, files: Vec<ArchivedFile>) {
        *self.lock() = files;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ArchivedFile>> {
        // The list is replaced in one step, so a poisoned lock holds a whole one.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the files that may hold a record.
    fn holding(&self, epoch: &EpochId, seq: Seq) -> Vec<PathBuf> {
        let holds = |file: &&ArchivedFile| {
            let mut runs = file.runs.iter();
            runs.any(|(of, first, last)| of == epoch && *first <= seq && seq <= *last)
        };
        let files = self.lock();
        let holding = files.iter().filter(holds);
        holding.map(|file| file.path.clone()).collect()
    }
}

impl Past for Archive {
    fn chapter(&self, epoch: &EpochId, seq: Seq) -> Fetched {
        let paths = self.holding(epoch, seq).into_iter();
        first_chapter(paths.map(|path| {
            let file = OpenFile::open_on(&*self.disk, &path);
            fetched(file, epoch, seq)
        }))
    }

    fn body(&self, epoch: &EpochId, seq: Seq) -> Result<Option<Bytes>, String> {
        let paths = self.holding(epoch, seq).into_iter();
        first_body(paths.map(|path| {
            let file = OpenFile::open_on(&*self.disk, &path);
            fetched_body(file, epoch, seq)
        }))
    }
    fn bodies_matching(
        &self,
        epoch: &EpochId,
        seq: Seq,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<MatchingBodies>, String> {
        let mut found = Ok(None);
        for path in self.holding(epoch, seq) {
            let file = OpenFile::open_on(&*self.disk, &path);
            found = fetched_bodies_matching(file, epoch, seq, is_wanted);
            if matches!(found, Ok(Some(_))) {
                break;
            }
        }
        found
    }
}
