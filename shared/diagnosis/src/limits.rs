//! Times that both the audit, which reports, and the findings, which judge, use.

/// Time in µs after which the audit repeats a list that the server refused because its watch cache had not reached the
/// list's version (docs/semantics/requests.md#too-large). Two refusals at least 20 s apart show a watch opened at a
/// version that the server will not reach soon (F32). The number has no source: a cache that is only behind makes
/// progress within this time.
pub(crate) const TOO_LARGE_US: i64 = 20_000_000;
/// Time in µs for which reads must show newer versions of objects before a stream that delivers nothing counts as
/// lagging (F31; docs/semantics/checks.md#ahead). The number has no source: it is over three times as long as a read
/// waits for its cache (docs/semantics/servers.md#fresh-wait).
pub(crate) const AHEAD_US: i64 = 10_000_000;
/// Time in µs of silence after which the probe takes a second look at a stream that has had a bookmark
/// (docs/semantics/clients.md#probe-silence). The watch of a dead stream (F04) counts as blind since its last progress,
/// but at most since this time before the end.
pub(crate) const IDLE_US: i64 = 90_000_000;
