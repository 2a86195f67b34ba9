//! Waiting for something that takes a while, without guessing how long.

use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use tokio::time::{Instant, sleep, timeout_at};

/// How long to leave the machine alone between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks again and again until a look succeeds, and returns what it gave.
/// After the time (see [`patient`]) it is an error that says what was awaited and what the last look said.
pub async fn eventually<T>(
    what: &str,
    within: Duration,
    mut look: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let within = patient(within);
    let deadline = Instant::now() + within;
    let mut last: Option<Error> = None;
    loop {
        match timeout_at(deadline, look()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last = Some(error),
            // A look that hangs is cut off; what the one before said is the better reason.
            Err(_) => {
                last.get_or_insert_with(|| anyhow!("the look itself did not end"));
            }
        }
        if Instant::now() + PAUSE >= deadline {
            let last = last.unwrap_or_else(|| anyhow!("never looked"));
            return Err(last.context(format!("{what}: not within {within:?}")));
        }
        sleep(PAUSE).await;
    }
}

/// The time, stretched by `WATCHSCOPE_TEST_PATIENCE` (a factor, 1 by default) for slow machines.
#[must_use]
pub fn patient(time: Duration) -> Duration {
    let factor = std::env::var("WATCHSCOPE_TEST_PATIENCE")
        .ok()
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|factor| factor.is_finite() && (0.0..=1000.0).contains(factor))
        .unwrap_or(1.0);
    time.mul_f64(factor)
}
