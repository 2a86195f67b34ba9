//! The same protocol exchanges with the simulator and with a real kube-apiserver, over sockets, compared word by word.
//!
//! * An exchange is a function over a [`Dialogue`]. It has its own namespace, of the same name on both servers.
//! * [`normal`] replaces uids, times and resourceVersions, so that only their order is compared.
//! * A difference fails unless docs/simulator.md lists it with its reason. A listed difference that does not occur
//!   fails too.
//!
//! `WATCHSCOPE_TEST_EXCHANGE=words` runs only the exchanges whose sentence contains the words. It prints all their
//! differences.

mod compare;
mod dialogue;
mod listed;
mod normal;
mod side;
mod wire;

mod definitions;
mod forms;
mod lists;
mod objects;
mod patient;
mod refusals;
mod servers;
mod watches;
mod writes;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::future::Future;
use std::pin::Pin;

use anyhow::{Context as _, Result, ensure};
use watchscope_tests::{KubeTools, or_skip};

use self::compare::{Difference, contradictions, differences};
use self::dialogue::{Dialogue, Step};
use self::normal::normal;
use self::side::Side;

/// Requests that both servers get.
#[derive(Clone, Copy)]
pub(crate) struct Exchange {
    /// The name of its function, which is a sentence.
    name: &'static str,
    run: Run,
}

type Run = for<'a> fn(&'a mut Dialogue<'_>) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// Lists functions as exchanges, in the order in which they run.
macro_rules! exchanges {
    ($($name:ident),* $(,)?) => {
        /// The exchanges of this family.
        pub(super) const ALL: &[super::Exchange] = &[$(
            super::Exchange { name: stringify!($name), run: |dialogue| Box::pin($name(dialogue)) },
        )*];
    };
}
use exchanges;

const FAMILIES: &[(&str, &[Exchange])] = &[
    ("lists", lists::ALL),
    ("watches", watches::ALL),
    ("writes", writes::ALL),
    ("objects", objects::ALL),
    ("forms", forms::ALL),
    ("definitions", definitions::ALL),
    ("servers", servers::ALL),
];

/// The least number of exchanges that the documents promise.
const PROMISED: usize = 60;

#[test]
fn there_are_as_many_exchanges_as_promised_and_each_sentence_occurs_once() {
    let mut names: Vec<&str> = all().map(|exchange| exchange.name).collect();
    let count = names.len();
    assert!(count >= PROMISED, "{count} of {PROMISED}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

fn all() -> impl Iterator<Item = Exchange> {
    FAMILIES
        .iter()
        .flat_map(|(_, exchanges)| exchanges.iter().copied())
}

#[tokio::test]
async fn the_simulator_answers_every_exchange_as_a_real_apiserver_does() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let only = std::env::var("WATCHSCOPE_TEST_EXCHANGE").ok();
    let sides = (Side::simulated().await?, Side::real(&tools).await?);
    compare_all(sides, all(), only.as_deref()).await
}

/// This server can be filled with requests, and is stopped in the end.
#[tokio::test]
async fn the_simulator_refuses_and_stops_as_a_real_apiserver_does() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let sides = (
        Side::simulated().await?,
        Side::real_that_fills_up(&tools).await?,
    );
    let exchanges = refusals::ALL.iter().copied();
    compare_all(sides, exchanges, Some("")).await
}

#[tokio::test]
#[ignore = "waits for minutes"]
async fn the_simulator_answers_patient_exchanges_as_a_real_apiserver_does() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let exchanges = patient::ALL.iter().copied();
    let sides = (Side::simulated().await?, Side::real(&tools).await?);
    compare_all(sides, exchanges, Some("")).await
}

/// Compares the exchanges whose sentence contains the words of `only`. Each listed difference of one of them must
/// occur. Without `only`, so must differences that are listed for every exchange, or for an exchange that does not
/// exist.
async fn compare_all(
    (mut simulated, mut real): (Side, Side),
    exchanges: impl Iterator<Item = Exchange>,
    only: Option<&str>,
) -> Result<()> {
    let rows = listed::rows()?;
    let mut used = vec![false; rows.len()];
    let mut report = String::new();
    let (mut ran, mut unlisted) = (BTreeSet::new(), 0);
    for (number, exchange) in exchanges.enumerate() {
        let sentence = exchange.name.replace('_', " ");
        if only.is_some_and(|only| !sentence.contains(only)) {
            continue;
        }
        let namespace = format!("exchange-{number}");
        let (ours, theirs) = tokio::join!(
            transcript(exchange, &mut simulated, &namespace),
            transcript(exchange, &mut real, &namespace),
        );
        ran.insert(sentence.clone());
        let found: Vec<Difference> = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                let ((ours, our_times), (theirs, their_times)) = (normal(&ours), normal(&theirs));
                let mut found = differences(&ours, &theirs);
                found.extend(contradictions(&our_times, &their_times));
                found
            }
            (ours, theirs) => {
                unlisted += 1;
                for (side, outcome) in [("simulated", ours), ("real", theirs)] {
                    if let Err(error) = outcome {
                        writeln!(report, "{sentence}\n    {side}: {error:#}")?;
                    }
                }
                continue;
            }
        };
        let mut told = Vec::new();
        for difference in found {
            let mut covered = false;
            for (row, used) in rows.iter().zip(&mut used) {
                if row.covers(&sentence, &difference) {
                    (covered, *used) = (true, true);
                }
            }
            if !covered {
                told.push(difference);
            }
        }
        if !told.is_empty() {
            unlisted += told.len();
            writeln!(report, "{sentence}")?;
            told.dedup_by(|b, a| {
                (&a.place, &a.simulated, &a.real) == (&b.place, &b.simulated, &b.real)
            });
            for difference in told {
                writeln!(report, "{difference}")?;
            }
        }
    }
    let elsewhere: BTreeSet<String> = refusals::ALL
        .iter()
        .chain(patient::ALL)
        .map(|exchange| exchange.name.replace('_', " "))
        .collect();
    for (row, _) in rows.iter().zip(&used).filter(|(_, used)| !**used) {
        let asked = ran.contains(&row.exchange);
        if asked || (only.is_none() && !elsewhere.contains(&row.exchange)) {
            unlisted += 1;
            writeln!(
                report,
                "listed, but no longer a difference: {} at {}",
                row.exchange, row.place
            )?;
        }
    }
    let ran = ran.len();
    ensure!(
        unlisted == 0,
        "{unlisted} differences in {ran} exchanges that docs/simulator.md does not list:\n{report}"
    );
    Ok(())
}

/// Runs an exchange with one server.
async fn transcript(exchange: Exchange, side: &mut Side, namespace: &str) -> Result<Vec<Step>> {
    let mut dialogue = Dialogue::begin(side, namespace).await?;
    let outcome = (exchange.run)(&mut dialogue).await;
    let steps = std::mem::take(&mut dialogue.steps);
    outcome.with_context(|| {
        let last = steps.last().map(|step| {
            format!(
                "{} {} -> {} {}",
                step.ask.method,
                step.ask.target,
                step.head.status,
                step.body.concat()
            )
        });
        format!(
            "{} after {}",
            dialogue.side.name(),
            last.unwrap_or_default()
        )
    })?;
    Ok(steps)
}
