//! Values of the command line that have a form of their own: durations, sizes and ports.

use std::time::Duration;

/// The shortest time that a watch may ask for. Empty streams that end in good order sooner are barren (F10); ours are not
/// to be among them.
pub(super) const WATCH_TIMEOUT_MIN: Duration = Duration::from_secs(4);

/// The smallest log. Less does not hold a chapter of a large cluster and the bodies beside it.
const MEMORY_MIN_BYTES: u64 = 16 << 20;

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

/// Reads how long a watch is to be kept open.
pub(super) fn watch_timeout(text: &str) -> Result<Duration, String> {
    let timeout = duration(text)?;
    if timeout < WATCH_TIMEOUT_MIN {
        return Err("a watch asks for 4s at least".to_owned());
    }
    Ok(timeout)
}

/// Reads a number of bytes, with or without a unit.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "B" => 1,
        "Ki" | "KiB" => 1 << 10,
        "M" | "Mi" | "MiB" => 1 << 20,
        "G" | "Gi" | "GiB" => 1_u64 << 30,
        unit => {
            return Err(format!(
                "{unit:?} is no unit of memory; write 224MiB or 1GiB"
            ));
        }
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("{text:?} is no size; write 224MiB or 1GiB"))?;
    let size = number
        .checked_mul(factor)
        .ok_or("that is more than any machine has")?;
    if size < MEMORY_MIN_BYTES {
        return Err("watchscope needs at least 16MiB for its log".to_owned());
    }
    Ok(size)
}

/// Reads a port, alone or behind an address.
pub(super) fn port(text: &str) -> Result<u16, String> {
    let digits = text.rsplit(':').next().unwrap_or(text);
    digits
        .parse()
        .map_err(|_| format!("{text:?} names no port"))
}
