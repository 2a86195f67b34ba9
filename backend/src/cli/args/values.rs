//! Parsers of values on the command line: durations, sizes and ports.

use std::time::Duration;

/// The shortest timeout that a watch may request. An empty stream that ends in order sooner counts as barren (F10), and ours
/// must not.
pub(super) const WATCH_TIMEOUT_MIN: Duration = Duration::from_secs(4);

/// The smallest memory of a log, in bytes. Less does not hold one chapter of a large cluster and its bodies.
const MEMORY_MIN_BYTES: u64 = 16 << 20;

/// The smallest history, in bytes. At this size each of its files, an eighth, still holds a whole chapter.
const HISTORY_MIN_BYTES: u64 = 16 << 20;

/// The shortest time for which records are kept.
const HISTORY_AGE_MIN: Duration = Duration::from_secs(60);

/// Reads `30s`, `5m`, `1h30m` or a number of seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let parsed: jiff::SignedDuration = text
        .parse()
        .map_err(|_| format!("{text:?} is no duration; write 30s, 5m or 1h30m"))?;
    Duration::try_from(parsed).map_err(|_| format!("{text:?} is negative; a duration goes forward"))
}

/// Reads the timeout that watches request.
pub(super) fn watch_timeout(text: &str) -> Result<Duration, String> {
    let timeout = duration(text)?;
    if timeout < WATCH_TIMEOUT_MIN {
        return Err("a watch asks for 4s at least".to_owned());
    }
    Ok(timeout)
}

/// Reads how long records are kept: a duration, or days as `7d`.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse().ok());
    let age = match days {
        Some(days) => Duration::from_secs(86_400)
            .checked_mul(days)
            .unwrap_or(Duration::MAX),
        None => duration(text).map_err(|_| format!("{text:?} is no duration; write 7d or 12h"))?,
    };
    if age < HISTORY_AGE_MIN {
        return Err("a history keeps records for 1m at least".to_owned());
    }
    Ok(age)
}

/// Reads the memory of the log, in bytes.
pub(super) fn memory(text: &str) -> Result<u64, String> {
    let size = bytes(text)?;
    if size < MEMORY_MIN_BYTES {
        return Err("watchscope needs at least 16MiB for its log".to_owned());
    }
    Ok(size)
}

/// Reads the size of the history, in bytes.
pub(super) fn history_size(text: &str) -> Result<u64, String> {
    let size = bytes(text)?;
    if size < HISTORY_MIN_BYTES {
        return Err("a history needs at least 16MiB".to_owned());
    }
    Ok(size)
}

/// Reads a number of bytes, with or without a unit.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "B" => 1,
        "Ki" | "KiB" => 1 << 10,
        "M" | "Mi" | "MiB" => 1 << 20,
        "G" | "Gi" | "GiB" => 1_u64 << 30,
        unit => {
            return Err(format!(
                "{unit:?} is no unit of bytes; write 224MiB or 1GiB"
            ));
        }
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("{text:?} is no size; write 224MiB or 1GiB"))?;
    let size = number.checked_mul(factor);
    size.ok_or_else(|| "that is more than any machine has".to_owned())
}

/// Reads a port, alone or after an address.
pub(super) fn port(text: &str) -> Result<u16, String> {
    let digits = text.rsplit(':').next().unwrap_or(text);
    digits
        .parse()
        .map_err(|_| format!("{text:?} names no port"))
}
