//! Decides which files of a history are dropped and which are merged, from their sizes and times.

use std::ops::Range;
use std::time::Duration;

use watchscope_model::Time;

/// The size in bytes at which a file is ended, unless the budget is small.
pub(super) const FILE_BYTES: u64 = 64 << 20;
/// The fewest files that a full budget holds, so that the oldest can go while most records stay.
const FILES_IN_BUDGET: u64 = 8;
/// The size in bytes below which a file is small.
const SMALL_BYTES: u64 = 4 << 20;
/// The number of small neighbours at which they are merged.
const MERGED_AT: usize = 8;

/// The size and time of a file that is not being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weighed {
    pub(super) bytes: u64,
    /// The time of its last record; `None` if it cannot be read.
    pub(super) last_at: Option<Time>,
}

/// Returns the size in bytes at which a file is ended under a budget.
pub(super) fn file_bytes(size_bytes: u64) -> u64 {
    FILE_BYTES.min(size_bytes / FILES_IN_BUDGET)
}

/// Returns the indices of the files to drop. `files` begins with the oldest. Files older than `age` go. The oldest others go
/// until the rest fits into `size_bytes` beside the `open_bytes` of the file that is being written.
pub(super) fn dropped(
    files: &[Weighed],
    open_bytes: u64,
    size_bytes: u64,
    age: Duration,
    now: Time,
) -> Vec<usize> {
    let age_us = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    let is_old = |file: &Weighed| {
        file.last_at
            .is_some_and(|last_at| now.micros_since(last_at) > age_us)
    };
    let mut total = open_bytes;
    let mut dropped = Vec::new();
    // From the newest on, each file that does not fit behind the newer ones goes.
    for (place, file) in files.iter().enumerate().rev() {
        if is_old(file) {
            dropped.push(place);
            continue;
        }
        total = total.saturating_add(file.bytes);
        if total > size_bytes {
            dropped.push(place);
        }
    }
    dropped.reverse();
    dropped
}

/// The size and format version of a file that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Readable {
    pub(super) bytes: u64,
    pub(super) version: u32,
}

/// Returns which neighbours become one file. `None` stands for a file that cannot be read and stays alone.
///
/// Files of different format versions stay apart. An earlier watchscope that is put back then still reads its own files.
///
/// A crash loop leaves a small file with each start. [`MERGED_AT`] of them become one. So each byte is rewritten at most
/// once in eight starts, until its file is large.
pub(super) fn merged(files: &[Option<Readable>], file_bytes: u64) -> Vec<Range<usize>> {
    let small_bytes = SMALL_BYTES.min(file_bytes);
    let mut merged = Vec::new();
    let (mut begin, mut total, mut of) = (0, 0, None);
    let mut end_run = |run: Range<usize>| {
        if run.len() >= MERGED_AT {
            merged.push(run);
        }
    };
    for (place, file) in files.iter().enumerate() {
        let version = file.map(|file| file.version);
        match file.map(|file| file.bytes) {
            Some(bytes) if bytes < small_bytes => {
                if total + bytes > file_bytes || of != version {
                    end_run(begin..place);
                    (begin, total) = (place, 0);
                }
                total += bytes;
                of = version;
            }
            _ => {
                end_run(begin..place);
                (begin, total) = (place + 1, 0);
            }
        }
    }
    end_run(begin..files.len());
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const DAY: Duration = Duration::from_secs(86_400);

    fn file(bytes: u64, last_s: i64) -> Weighed {
        Weighed {
            bytes,
            last_at: Some(Time(last_s * 1_000_000)),
        }
    }

    fn at(second: i64) -> Time {
        Time(second * 1_000_000)
    }

    fn readable(bytes: u64) -> Option<Readable> {
        Some(Readable { bytes, version: 1 })
    }

    #[test]
    fn the_oldest_files_are_dropped_until_the_rest_fits_beside_the_open_one() {
        let files = [file(40, 1), file(30, 2), file(20, 3)];
        let dropped = |open, size| dropped(&files, open, size, DAY, at(4));
        assert_eq!(dropped(10, 100), [] as [usize; 0]);
        assert_eq!(dropped(10, 99), [0]);
        assert_eq!(dropped(10, 59), [0, 1]);
        assert_eq!(dropped(10, 60), [0]);
        assert_eq!(
            dropped(200, 100),
            [0, 1, 2],
            "the open file alone is over the budget"
        );
    }

    #[test]
    fn a_file_too_old_is_dropped_and_one_without_a_time_only_for_room() {
        let unread = Weighed {
            bytes: 10,
            last_at: None,
        };
        let files = [unread, file(10, 0), file(10, 86_400)];
        assert_eq!(dropped(&files, 0, 100, DAY, at(86_401)), [1]);
        assert_eq!(dropped(&files, 0, 19, DAY, at(86_401)), [0, 1]);
    }

    #[test]
    fn eight_small_neighbours_become_one_and_fewer_stay() {
        let small = [readable(MIB); 8];
        assert_eq!(merged(&small, FILE_BYTES), std::slice::from_ref(&(0..8)));
        assert_eq!(merged(&small[..7], FILE_BYTES), [] as [Range<usize>; 0]);
        let mixed: Vec<Option<Readable>> = [
            &[readable(16 * MIB)][..],
            &small,
            &[None],
            &small[..3],
            &[readable(8 * MIB)],
            &small,
            &small,
        ]
        .concat();
        assert_eq!(merged(&mixed, FILE_BYTES), [1..9, 14..30]);
        assert_eq!(
            merged(&[readable(3 * MIB); 30], FILE_BYTES),
            [0..21, 21..30]
        );
    }

    #[test]
    fn files_of_different_format_versions_stay_apart() {
        let newer = Some(Readable {
            bytes: MIB,
            version: 2,
        });
        let files = [[readable(MIB); 8], [newer; 8], [readable(MIB); 8]].concat();
        assert_eq!(merged(&files, FILE_BYTES), [0..8, 8..16, 16..24]);
        let files = [&[readable(MIB); 7][..], &[newer; 7]].concat();
        assert_eq!(merged(&files, FILE_BYTES), [] as [Range<usize>; 0]);
    }

    proptest! {
        #[test]
        fn what_stays_fits_and_no_newer_file_is_dropped_for_an_older(
            sizes in prop::collection::vec(0..1_000_u64, 0..30), open in 0..1_000_u64, size in 1..10_000_u64,
        ) {
            let files: Vec<Weighed> = sizes.iter().map(|&bytes| file(bytes, 0)).collect();
            let dropped = dropped(&files, open, size, DAY, at(1));
            let kept: u64 = sizes[dropped.len()..].iter().sum();
            prop_assert_eq!(&dropped, &(0..dropped.len()).collect::<Vec<_>>());
            prop_assert!(open + kept <= size || kept == 0);
            if let Some(last) = dropped.last() {
                prop_assert!(open + kept + sizes[*last] > size, "one more file would have fitted");
            }
        }

        /// After any number of starts and crashes few small files remain, and few bytes were rewritten.
        #[test]
        fn a_crash_loop_leaves_few_files_and_writes_each_byte_a_few_times(
            sizes in prop::collection::vec(1..400_000_u64, 1..3_000),
        ) {
            let mut files: Vec<Option<Readable>> = Vec::new();
            let (mut rewritten, all) = (0, sizes.iter().sum::<u64>());
            for size in sizes {
                files.push(readable(size));
                for run in merged(&files, FILE_BYTES).into_iter().rev() {
                    let total: u64 = files[run.clone()].iter().flatten().map(|file| file.bytes).sum();
                    rewritten += total;
                    files.splice(run, [readable(total)]);
                }
                prop_assert!(files.len() as u64 <= 8 + all / (SMALL_BYTES / 2), "{}", files.len());
            }
            prop_assert!(rewritten <= all * 4, "{rewritten} of {all}");
        }
    }
}
