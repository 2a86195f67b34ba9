//! `/metrics` over real sockets: its numbers are those of the log, and it answers each scraper, whatever the others do.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use watchscope_tests::{
    Exposition, ExpositionForm, Launch, Served, WatchscopeBinary, eventually, free_port, or_skip,
};

use crate::http;

const LONG: Duration = Duration::from_secs(120);
const OPEN_METRICS: (&str, &str) = (
    "Accept",
    "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
);

/// Starts a server; returns it with the origin of its health listener.
async fn served(launch: impl FnOnce(&str) -> Launch) -> Result<(Served, String)> {
    let health = format!("127.0.0.1:{}", free_port()?);
    let served = Served::start(launch(&health)).await?;
    Ok((served, format!("http://{health}")))
}

async fn scrape(health: &str) -> Result<Exposition> {
    let answer = http::get(health, "/metrics", &[]).await?;
    ensure!(answer.status == 200, "{answer:?}");
    Exposition::read(&answer.body, ExpositionForm::Plain)
}

/// The demo resets a connection, lets a watch expire, and relists it with deletes that nobody sent. The numbers of one
/// scrape must be those of the records up to that moment; the test counts these again from their JSON form.
#[tokio::test]
#[ignore = "a minute: cargo xtask test --long"]
async fn the_counters_are_those_of_the_log() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let demo = |health: &str| binary.with(&["demo", "--health-listen", health]);
    let (served, health) = served(demo).await?;
    let mut records = served.records().await?;
    let is_inferred = |record: &Value| record["type"] == "change" && record["origin"] == "inferred";
    let mut lines = records.up_to(is_inferred).await?;
    let told_at = lines.last().and_then(|line| line["seq"].as_u64());
    let told_at = told_at.context("a record has a seq")?;

    let mut upto = 0;
    let exposition = eventually("the scrape is later than the relist", LONG, async || {
        let exposition = scrape(&health).await?;
        let seq = exposition.get("watchscope_log_records_total", &[("cluster", "demo")]);
        // Attributions settle some seconds after an end, so this looks until each end has one.
        let ends = exposition.sum("watchscope_stream_ends_total", &[]);
        let attributed = exposition.sum("watchscope_stream_attributions_total", &[]);
        let seq = seq.context("the log has records")?;
        ensure!(
            seq > told_at as f64 && ends == attributed,
            "{seq} {ends} {attributed}"
        );
        upto = seq as u64;
        Ok(exposition)
    })
    .await?;
    while lines
        .last()
        .is_none_or(|line| line["seq"].as_u64() < Some(upto))
    {
        lines.push(records.next().await?);
    }
    let expected = Counted::of(
        lines
            .iter()
            .filter(|line| line["seq"].as_u64() <= Some(upto)),
    );
    for (series, value) in &expected.0 {
        let (name, labels) = series;
        let labels: Vec<(&str, &str)> = labels
            .iter()
            .map(|(label, value)| (*label, value.as_str()))
            .collect();
        let told = exposition.sum(name, &labels);
        assert_eq!(told, *value, "{name} {labels:?}");
    }
    // The total of each of these is no more than was counted.
    for name in [
        "watchscope_watch_events_total",
        "watchscope_relist_total",
        "watchscope_stream_ends_total",
        "watchscope_stream_attributions_total",
        "watchscope_changes_total",
        "watchscope_inferred_deletes_total",
        "watchscope_gaps_total",
        "watchscope_lost_events_total",
        "watchscope_requests_total",
        "watchscope_findings_raised_total",
    ] {
        let told = exposition.sum(name, &[]);
        assert_eq!(told, expected.sum(name), "{name}");
        assert!(told > 0.0, "the demo shows something of {name}");
    }
    Ok(())
}

/// A series by its name and the labels that are compared.
type Counter = (&'static str, Vec<(&'static str, String)>);

/// Series and their values, counted from lines of the JSON form.
#[derive(Debug, Default)]
struct Counted(BTreeMap<Counter, f64>);

impl Counted {
    fn of<'a>(lines: impl Iterator<Item = &'a Value>) -> Self {
        let mut counted = Self::default();
        let mut resources = BTreeMap::new();
        let mut lists: BTreeMap<String, u64> = BTreeMap::new();
        let mut last_found: BTreeMap<String, u64> = BTreeMap::new();
        let mut verbs = BTreeMap::new();
        let mut attributions = BTreeMap::new();
        for line in lines {
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            let watch = text("watch");
            let kind = text("type");
            if kind == "watch.started" {
                resources.insert(watch.clone(), text("resource"));
            }
            let resource = resources.get(&watch).cloned();
            let is_of_a_watch = !watch.is_empty() && !kind.starts_with("request.");
            assert!(
                !is_of_a_watch || resource.is_some() || kind == "note",
                "a watch starts before all else: {line}"
            );
            let mut add = |name, labels: &[(&'static str, String)], by: f64| {
                let mut labels = labels.to_vec();
                if let Some(resource) = resource.clone() {
                    labels.push(("resource", resource));
                }
                *counted.0.entry((name, labels)).or_default() += by;
            };
            let has_stream = !line["stream"].is_null();
            match kind.as_str() {
                "change" => {
                    add("watchscope_changes_total", &[("type", text("change"))], 1.0);
                    if text("origin") == "inferred" {
                        add("watchscope_inferred_deletes_total", &[], 1.0);
                    }
                    if has_stream && text("origin") != "inferred" {
                        add("watchscope_watch_events_total", &[], 1.0);
                    }
                }
                "bookmark" | "stream.error" => add("watchscope_watch_events_total", &[], 1.0),
                "stream.opened" => add("watchscope_streams_total", &[], 1.0),
                "stream.ended" => {
                    add(
                        "watchscope_stream_ends_total",
                        &[("cause", text("cause"))],
                        1.0,
                    );
                }
                "attribution" => {
                    let stream = line["stream"].as_u64();
                    attributions.insert(stream, (text("code"), resource.clone()));
                }
                "list.complete" => {
                    add("watchscope_lists_total", &[], 1.0);
                    let items = line["items"].as_f64().unwrap_or_default();
                    add("watchscope_list_items_total", &[], items);
                    let differences = ["added", "changed", "removed"];
                    let found = differences.iter().filter_map(|name| line[name].as_u64());
                    last_found.insert(watch.clone(), found.sum::<u64>());
                    let before = lists.entry(watch).or_default();
                    *before += 1;
                    if *before > 1 {
                        add("watchscope_relist_total", &[], 1.0);
                    }
                }
                "gap" => {
                    // A gap that is not resumed is closed by the list before it.
                    let found = last_found
                        .remove(&watch)
                        .filter(|_| !line["from"].is_null());
                    let outcome = match (line["resumed"].as_bool(), found) {
                        (Some(true), _) => "resumed",
                        (_, Some(_)) => "relisted",
                        (_, None) => "unknown",
                    };
                    if outcome == "relisted" {
                        let lost = found.unwrap_or_default() as f64;
                        add("watchscope_lost_events_total", &[], lost);
                    }
                    add(
                        "watchscope_gaps_total",
                        &[("outcome", outcome.to_owned())],
                        1.0,
                    );
                }
                // A repeated finding is raised again, with its count.
                "finding" if text("state") == "raised" && line["count"] == 1 => {
                    let labels = [("code", text("code")), ("severity", text("severity"))];
                    let series = ("watchscope_findings_raised_total", labels.to_vec());
                    *counted.0.entry(series).or_default() += 1.0;
                }
                "request.sent" => {
                    verbs.insert(line["request"].as_u64(), text("verb"));
                }
                "request.answered" => {
                    let verb = verbs.get(&line["request"].as_u64()).cloned();
                    let code = line["status"].as_u64().map(|status| status.to_string());
                    let labels = vec![
                        ("verb", verb.unwrap_or_default()),
                        ("code", code.unwrap_or_else(|| "none".to_owned())),
                    ];
                    let series = ("watchscope_requests_total", labels);
                    *counted.0.entry(series).or_default() += 1.0;
                }
                "connection.opened" => {
                    let series = ("watchscope_connections_opened_total", Vec::new());
                    *counted.0.entry(series).or_default() += 1.0;
                }
                "connection.closed" => {
                    let labels = vec![("cause", text("cause"))];
                    let series = ("watchscope_connections_closed_total", labels);
                    *counted.0.entry(series).or_default() += 1.0;
                }
                _ => {}
            }
        }
        for (code, resource) in attributions.into_values() {
            let mut labels = vec![("code", code)];
            labels.extend(resource.map(|resource| ("resource", resource)));
            let series = ("watchscope_stream_attributions_total", labels);
            *counted.0.entry(series).or_default() += 1.0;
        }
        counted
    }

    fn sum(&self, name: &str) -> f64 {
        let of = self.0.iter().filter(|((series, _), _)| *series == name);
        of.map(|(_, value)| value).sum()
    }
}

#[tokio::test]
async fn both_forms_are_well_formed_and_a_refused_request_is_counted() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let demo = |health: &str| binary.with(&["demo", "--health-listen", health]);
    let (served, health) = served(demo).await?;
    let plain = http::get(&health, "/metrics", &[]).await?;
    assert_eq!(
        plain.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let plain = Exposition::read(&plain.body, ExpositionForm::Plain)?;
    let open = http::get(&health, "/metrics", &[OPEN_METRICS]).await?;
    assert_eq!(
        open.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let open = Exposition::read(&open.body, ExpositionForm::OpenMetrics)?;
    let renamed = |(name, kind): (&String, &String)| match kind.as_str() {
        "counter" => (format!("{name}_total"), kind.clone()),
        "info" => (format!("{name}_info"), "gauge".to_owned()),
        _ => (name.clone(), kind.clone()),
    };
    let renamed: BTreeMap<String, String> = open.types.iter().map(renamed).collect();
    assert_eq!(renamed, plain.types, "the same families in both");
    assert_eq!(plain.get("watchscope_viewers", &[]), Some(0.0));

    // The page's listener has no /metrics, and counts its own refusals.
    let refused = http::get(served.link.origin(), "/api/state", &[]).await?;
    assert_eq!(refused.status, 401, "{refused:?}");
    let elsewhere = http::get(served.link.origin(), "/metrics", &[]).await?;
    assert_eq!(elsewhere.status, 404, "{elsewhere:?}");
    eventually("the refusal is counted", LONG, async || {
        let exposition = scrape(&health).await?;
        let labels = [("reason", "no-session")];
        let refused = exposition.get("watchscope_web_refused_total", &labels);
        ensure!(refused == Some(1.0), "{refused:?}");
        Ok(())
    })
    .await
}

/// There are more hostile connections than the listener holds: some request and never read, some never finish a
/// request. The kubelet's probe and a correct scraper are still served.
#[tokio::test]
async fn hostile_scrapers_do_not_keep_others_from_being_served() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let demo = |health: &str| binary.with(&["demo", "--health-listen", health]);
    let (_served, health) = served(demo).await?;
    let request = http::head("GET", &health, "/metrics", &[]);
    let mut hostile = Vec::new();
    for number in 0..150 {
        let mut stream = TcpStream::connect(http::address(&health)).await?;
        let asks = match number % 3 {
            0 => request.repeat(20),
            1 => request[..20].to_owned(),
            _ => String::new(),
        };
        // A connection that the server has closed cannot be written to; that is no error.
        let _ = stream.write_all(asks.as_bytes()).await;
        hostile.push(stream);
    }
    assert_eq!(http::get(&health, "/livez", &[]).await?.body, "ok\n");
    scrape(&health).await?;
    for method in ["POST", "PUT", "DELETE"] {
        let answer = http::ask(method, &health, "/metrics", &[]).await?;
        assert_eq!(answer.status, 405, "{method}");
    }
    drop(hostile);
    Ok(())
}

#[test]
fn a_text_that_breaks_a_rule_is_refused() {
    let good = "# HELP a_total Of a.\n# TYPE a_total counter\na_total{x=\"y\\\"z\"} 1\n\
                # HELP h Of h.\n# TYPE h histogram\nh_sum 3.5\nh_count 2\nh_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 2\n";
    let read = |text: &str| Exposition::read(text, ExpositionForm::Plain);
    let exposition = read(good).unwrap();
    assert_eq!(exposition.get("a_total", &[("x", "y\"z")]), Some(1.0));
    assert_eq!(exposition.sum("h_bucket", &[("le", "1.0")]), 1.0);
    for (from, to) in [
        ("# HELP a_total Of a.\n", ""),
        ("# TYPE a_total counter\n", ""),
        ("# TYPE a_total counter", "# TYPE a_total gauge"),
        ("# TYPE a_total counter", "# TYPE b_total counter"),
        ("# TYPE h histogram", "# TYPE h summary"),
        ("a_total{x=\"y\\\"z\"} 1", "a_total{x=\"y\\\"z\"} -1"),
        ("a_total{x=\"y\\\"z\"} 1", "a_total{x=\"y\\\"z\"} one"),
        ("a_total{x=\"y\\\"z\"} 1", "a_total{x=\"y\\\"z} 1"),
        ("a_total{x=\"y\\\"z\"} 1", "a_total{x=\"y\\q\"} 1"),
        ("a_total{x=\"y\\\"z\"} 1", "a_total{x=\"y\",x=\"z\"} 1"),
        ("a_total{x=\"y\\\"z\"} 1", "a_total{x=\"y\"}  1"),
        ("a_total{x=\"y\\\"z\"} 1", "b_total 1"),
        ("a_total{x=\"y\\\"z\"} 1\n", ""),
        ("a_total{x=\"y\\\"z\"} 1\n", "a_total 1\na_total 1\n"),
        ("a_total{x=\"y\\\"z\"} 1\n", "a_total 1\n\n"),
        ("h_count 2", "h_count 3"),
        ("h_sum 3.5\n", ""),
        ("h_bucket{le=\"1.0\"} 1", "h_bucket{le=\"1.0\"} 3"),
        ("h_bucket{le=\"+Inf\"} 2\n", ""),
        ("h_bucket{le=\"+Inf\"} 2\n", "h_bucket{le=\"+Inf\"} 2"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from:?}");
        assert!(read(&bad).is_err(), "{bad}");
    }
    let open = "# HELP a Of a.\n# TYPE a counter\na_total 1\n# EOF\n";
    assert!(Exposition::read(open, ExpositionForm::OpenMetrics).is_ok());
    assert!(read(open).is_err());
    let unended = open.replace("# EOF\n", "");
    assert!(Exposition::read(&unended, ExpositionForm::OpenMetrics).is_err());
    assert!(Exposition::read(good, ExpositionForm::OpenMetrics).is_err());
}
