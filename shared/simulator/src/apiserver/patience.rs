//! The timeout that a request sets for itself (`timeout`, as the apiserver's `WithRequestDeadline` reads it).

use std::time::Duration;

use super::options::Query;
use crate::status::{ApiError, bad_request};

/// Returns the timeout that a client sets for a request that is not a watch. Returns `None`, so that the server's own
/// timeout counts, without a timeout or for a timeout of zero or less. A timeout of at least the server's own gives
/// `None`, too (`--request-timeout`, 60 s: docs/semantics/servers.md#request-timeout). A timeout that cannot be parsed
/// is refused with 400.
pub(super) fn patience(query: &Query) -> Result<Option<Duration>, ApiError> {
    let text = query.get("timeout").unwrap_or("");
    if text.is_empty() {
        return Ok(None);
    }
    let nanos = go_duration(text).map_err(|why| {
        bad_request(format!(
            "invalid timeout specified in the request URL - time: {why} {text:?}"
        ))
    })?;
    let nanos = u64::try_from(nanos).unwrap_or(0);
    let patience = Duration::from_nanos(nanos);
    Ok((nanos > 0 && patience < MOST).then_some(patience))
}

/// The server's own timeout of requests. A request's timeout of at least this duration is ignored
/// (docs/semantics/servers.md#request-timeout).
const MOST: Duration = Duration::from_secs(60);

/// Parses a duration as Go's `time.ParseDuration` does, and returns nanoseconds. The error has Go's words.
fn go_duration(text: &str) -> Result<i64, String> {
    let invalid = || "invalid duration".to_owned();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(0);
    }
    let mut total: i64 = 0;
    let mut rest = unsigned;
    loop {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, behind) = rest.split_at(number_end.unwrap_or(rest.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(invalid());
        }
        let unit_end = behind.find(|c: char| c.is_ascii_digit() || c == '.');
        let (unit, next) = behind.split_at(unit_end.unwrap_or(behind.len()));
        let scale: i64 = match unit {
            "" => return Err("missing unit in duration".to_owned()),
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            other => return Err(format!("unknown unit {other:?} in duration")),
        };
        let whole: i64 = match whole {
            "" => 0,
            digits => digits.parse().map_err(|_| invalid())?,
        };
        let mut sum = whole.checked_mul(scale).ok_or_else(invalid)?;
        let mut place = scale;
        for digit in fraction.bytes() {
            place /= 10;
            sum += i64::from(digit - b'0') * place;
        }
        total = total.checked_add(sum).ok_or_else(invalid)?;
        if next.is_empty() {
            break;
        }
        rest = next;
    }
    Ok(if text.starts_with('-') { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> String {
        match patience(&Query::parse(&format!("timeout={text}"))) {
            Ok(patience) => format!("{patience:?}"),
            Err(error) => format!("{} {}", error.code, error.message),
        }
    }

    #[test]
    fn a_timeout_is_read_as_go_reads_durations() {
        for (text, expected) in [
            ("", "None"),
            ("5s", "Some(5s)"),
            ("1.5s", "Some(1.5s)"),
            ("1m", "None"),
            ("59s999ms", "Some(59.999s)"),
            ("%2B300ms", "Some(300ms)"),
            ("1ns", "Some(1ns)"),
            ("0", "None"),
            ("-5s", "None"),
            ("1h", "None"),
        ] {
            assert_eq!(outcome(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_duration_is_refused_in_gos_words() {
        let outcome = ["abc", "5", "5x", "1h1", ".s", "-.", "1e3s"].map(outcome);
        insta::assert_snapshot!(outcome.join("\n"), @r#"
        400 invalid timeout specified in the request URL - time: invalid duration "abc"
        400 invalid timeout specified in the request URL - time: missing unit in duration "5"
        400 invalid timeout specified in the request URL - time: unknown unit "x" in duration "5x"
        400 invalid timeout specified in the request URL - time: missing unit in duration "1h1"
        400 invalid timeout specified in the request URL - time: invalid duration ".s"
        400 invalid timeout specified in the request URL - time: invalid duration "-."
        400 invalid timeout specified in the request URL - time: unknown unit "e" in duration "1e3s"
        "#);
    }
}
