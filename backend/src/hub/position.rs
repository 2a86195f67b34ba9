//! A position in a log as text: `EPOCH.SEQ`.

use watchscope_model::Seq;

/// Splits a position into epoch and seq; `None` if the text is no position.
pub(super) fn split_position(text: &str) -> Option<(&str, Seq)> {
    let (epoch, seq) = text.split_once('.')?;
    let is_number = !seq.is_empty() && seq.bytes().all(|byte| byte.is_ascii_digit());
    let seq = seq.parse().ok().filter(|_| is_number)?;
    (!epoch.is_empty()).then_some((epoch, Seq(seq)))
}
