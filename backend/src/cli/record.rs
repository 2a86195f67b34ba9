//! `watchscope record`: writes the log into a file.

use std::sync::Arc;

use super::args::RecordArgs;
use super::begin::{Begun, begin, listed};
use super::exit::Failure;
use super::signals::limits_are_errors;
use crate::recordings::{self, HostDisk, Recorder, file_block};

/// Records until `--for` is over, Ctrl-C, or a failure of the disk.
///
/// # Errors
/// Exit code 1 if the file cannot be written or nothing could be listed, 2 for a resource that does not exist.
pub(super) async fn record(args: RecordArgs) -> Result<(), Failure> {
    limits_are_errors().map_err(Failure::failed)?;
    let begun = begin(args.resources, &args.follow, args.bodies).await?;
    let Begun {
        log,
        watches,
        mut over,
    } = begun;
    // The file is created only now, so that a wrong command leaves none.
    let of = file_block(log.log(), log.epoch());
    let recorder = match Recorder::create(Arc::new(HostDisk), &args.out, of) {
        Ok(recorder) => recorder,
        Err(error) => {
            watches.stop().await;
            return Err(Failure::failed(error));
        }
    };
    let recorder = if args.bodies {
        recorder.with_bodies(log.clone())
    } else {
        recorder
    };
    let mut recording = tokio::spawn(recordings::record(log.frames(), recorder));
    let mut recorded = tokio::select! {
        () = &mut over => None,
        recorded = &mut recording => Some(recorded),
    };
    let (state, _) = log.head().await;
    watches.stop().await;
    log.close().await;
    if recorded.is_none() {
        recorded = Some(recording.await);
    }
    let recorder = recorded
        .expect("it was awaited above")
        .map_err(Failure::failed)?
        .map_err(Failure::failed)?;
    let records = state.seq.0;
    let lost = recorder.lost();
    for (from, to) in &lost.runs {
        tracing::warn!(
            "records {from} to {to} left the ring before they could be written; --memory makes it larger"
        );
    }
    if lost.more_runs > 0 {
        tracing::warn!(
            "{} more records left the ring so, in {} runs",
            lost.more_records,
            lost.more_runs
        );
    }
    let bytes = recorder.finish().map_err(Failure::failed)?.bytes;
    tracing::info!("{records} records, {bytes} bytes in {}", args.out.display());
    listed(&state)
}
