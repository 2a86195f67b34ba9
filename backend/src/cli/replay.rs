//! `watchscope replay`: serves the page over recordings.

use tokio::sync::watch;
use watchscope_replay::NO_CLUSTER;

use super::args::{Judge, ReplayArgs};
use super::exit::Failure;
use super::judged::judged_again;
use super::page::{Plan, eprint_line};
use super::signals::stop_flag;
use crate::hub::LogHub;
use crate::recordings::source_of;
use crate::replay::{Replay, name_of};
use crate::stop::stopped;
use crate::web::EmbeddedPage;

/// Serves the page over recordings of one log.
///
/// # Errors
/// Exit code 1 if they cannot be read, 2 if they are of several logs.
pub(super) async fn replay(args: ReplayArgs, page: EmbeddedPage) -> Result<(), Failure> {
    let plan = Plan::of(args.listen, page)?;
    let opened = tokio::task::block_in_place(|| {
        let joined = args.recordings.open()?;
        let name = name_of(&args.recordings.files);
        let source = match args.judge {
            Judge::Recorded => {
                source_of(&args.recordings.files, &joined).map_err(Failure::failed)?
            }
            // The page shows other judgements than those of the file.
            Judge::Again => None,
        };
        let judged = match args.judge {
            Judge::Recorded => {
                for error in joined.newer() {
                    tracing::warn!("{error}");
                }
                for file in joined.files() {
                    for damage in &file.contents().damaged {
                        tracing::warn!("{}: {damage}", file.path().display());
                    }
                }
                None
            }
            Judge::Again => judged_again(&joined)?,
        };
        let opened = match judged {
            None => Replay::open(joined, &name),
            Some(judged) => {
                for line in &judged.comparison {
                    eprint_line(line);
                }
                Replay::judged_again(judged.joined, joined, judged.numbers, &name)
            }
        };
        let opened = opened.map_err(|error| Failure::failed(format!("{name}: {error}")))?;
        Ok::<_, Failure>((opened, source))
    });
    let (opened, source) = opened?;
    let Replay {
        log,
        past,
        recording,
    } = opened;
    let mut stop = stop_flag().map_err(Failure::failed)?;
    let page = plan.open().await?;
    let (hub, mut commands) = LogHub::new(log.clone(), env!("CARGO_PKG_VERSION"));
    let hub = hub.with_recording(recording, past, source);
    let (end, ending) = watch::channel(false);
    let (goodbye, stopping) = (hub.clone(), stop.clone());
    let refusing = async move {
        loop {
            tokio::select! {
                () = stopped(&mut stop) => break,
                Some(command) = commands.recv() => {
                    // A viewer that has gone needs no answer.
                    let _ = command.reply.send(Err(NO_CLUSTER.to_owned()));
                }
            }
        }
        goodbye.go_away();
        end.send_replace(true);
    };
    let history = watch::channel(None).1;
    let serving = page.run(hub, log, history, false, stopping, ending);
    let (served, ()) = tokio::join!(serving, refusing);
    served
}
