//! The start of `watch` and `record`: how they begin to watch, when they end, and whether anything was listed.

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use watchscope_log::SealPace;
use watchscope_model::fold::State;

use super::args::FollowArgs;
use super::exit::Failure;
use super::serve::{lookup, name_of, open_log, settings, start};
use super::signals::stop_flag;
use crate::follow::Following;
use crate::log::LogHandle;
use crate::stop::stopped;

/// The time between two seals if only lines or a file are written: 50 ms, which nobody who reads
/// lines notices. Each seal costs as much as some records. The number has no other source.
const LINES: SealPace = SealPace::steady(50_000);

/// A log that watches write, and the future of its end: a signal, or the end of its time.
pub(super) struct Begun {
    pub(super) log: LogHandle,
    pub(super) watches: Following,
    pub(super) over: BoxFuture<'static, ()>,
}

/// Begins to watch. Without `with_bodies` the log gets no bodies, so it needs no memory for them.
///
/// # Errors
/// Exit code 1 if the apiserver has not answered by the end, 2 for a resource that does not exist.
pub(super) async fn begin(
    resources: Vec<String>,
    args: &FollowArgs,
    with_bodies: bool,
) -> Result<Begun, Failure> {
    let began = Instant::now();
    let source = lookup(&args.cluster);
    let config = source.load().map_err(Failure::failed)?;
    let endpoint = config.endpoint.to_string();
    let log = open_log(&name_of(&config), args.what.memory.bytes, LINES)?;
    let mut settings = settings(&args.what, &args.cluster, resources, false);
    settings.audit = args.audit.into();
    settings.probe.with_bodies = with_bodies;
    let mut stop = stop_flag().map_err(Failure::failed)?;
    let for_duration = args.for_duration;
    let time_over = async move {
        match for_duration {
            Some(span) => tokio::time::sleep_until(began + span).await,
            None => std::future::pending().await,
        }
    };
    let mut over: BoxFuture<'static, ()> = Box::pin(async move {
        tokio::select! {
            () = stopped(&mut stop) => {}
            () = time_over => {}
        }
    });
    let watches = tokio::select! {
        started = start(&source, config, settings, &log) => started?,
        () = &mut over => {
            return Err(Failure::failed(format!(
                "nothing could be listed: {endpoint} has not answered"
            )));
        }
    };
    Ok(Begun { log, watches, over })
}

/// Returns a failure if no list was ever completed.
pub(super) fn listed(state: &State) -> Result<(), Failure> {
    if has_listed(state) {
        return Ok(());
    }
    let why = state.watches.iter().map(|(name, watch)| {
        let phase = watch
            .phase
            .as_ref()
            .map_or("not begun".to_owned(), |phase| {
                format!("{} ({})", phase.phase, phase.reason)
            });
        format!("{name} {phase}")
    });
    Err(Failure::failed(format!(
        "nothing could be listed: {}",
        why.collect::<Vec<_>>().join(", ")
    )))
}

/// Whether a list was ever completed. The list that is being read may be a later one; progress shows an earlier one.
fn has_listed(state: &State) -> bool {
    state.watches.values().any(|watch| {
        let list = watch.list.as_ref();
        watch.progress.is_some() || list.is_some_and(|list| list.complete.is_some())
    })
}

#[cfg(test)]
mod tests {
    use watchscope_model::event::{ListComplete, ListPage, Record, WatchStarted};
    use watchscope_model::{Event, RequestId, Seq, Time};

    use super::*;

    #[test]
    fn a_completed_list_counts_while_the_next_one_is_being_read() {
        let mut state = State::default();
        let mut tell = |event: Event| {
            let seq = state.seq.next();
            state.apply(&Record {
                seq,
                at: Time(seq.0 as i64),
                event,
            });
            has_listed(&state)
        };
        let page = |version: u64| ListPage {
            watch: "shop/pods".into(),
            request: RequestId(version),
            resource_version: version.into(),
            items: 500,
            remaining: Some(1),
            object: None,
            listed: None,
        };
        let started = WatchStarted {
            watch: "shop/pods".into(),
            group: "".into(),
            version: "v1".into(),
            resource: "pods".into(),
            namespace: Some("shop".into()),
            label_selector: None,
            field_selector: None,
            server: None,
            aggregated: None,
        };
        let complete = ListComplete {
            watch: "shop/pods".into(),
            resource_version: 10.into(),
            items: 501,
            added: 501,
            changed: 0,
            removed: 0,
        };
        assert!(!tell(started.into()));
        assert!(!tell(page(10).into()), "a page is not a complete list");
        assert!(tell(complete.into()));
        assert!(tell(page(20).into()), "it was listed before");
        assert_eq!(state.seq, Seq(4));
    }
}
