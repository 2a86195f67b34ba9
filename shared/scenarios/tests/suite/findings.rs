//! Tests of the findings in the catalogue's stories: each row's own failure is found in time, and no other failure.

mod pictures;
mod sentences;
mod truths;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::json;
use watchscope_diagnosis::audit::Level;
use watchscope_diagnosis::explain::EXPLANATIONS;
use watchscope_model::event::Finding;
use watchscope_model::json::to_line;
use watchscope_model::vocabulary::{Certainty, Standing};
use watchscope_model::{Event, Record, Time, WatchName};
use watchscope_probe::WatchSpec;
use watchscope_scenarios::catalogue::finds::{FINDS, Finds, UNSEEN};
use watchscope_scenarios::catalogue::{self, Row};
use watchscope_scenarios::{Act, Deed, Run, address_of};
use watchscope_simulator::{Cut, Fault, Request, ServerId, Target, Version};

use self::sentences::{Sentence, has, sentence_of, unexpected_but};

const SERVICES: &str = "/api/v1/namespaces/default/services";
/// The most writes, about, for the watches beside a row's. A long story has them at longer intervals.
const MOST_WRITES: u64 = 100;

/// A variant of a row's story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// As written.
    Written,
    /// With another version of its servers, which report inside records. Definitions are watched too.
    OtherVersion,
    /// With other watches and writes for them beside it.
    Load,
    /// Like `Load`; while the failure happens, the connection of another watch is reset.
    AnotherFailure,
    /// As written, with the light audit that is the default.
    AuditedLightly,
    /// With other watches and writes for them beside it, all audited fully.
    AuditedFully,
    /// As written, with inside records.
    WithInside,
}

const VARIANTS: [Variant; 6] = [
    Variant::Written,
    Variant::OtherVersion,
    Variant::Load,
    Variant::AnotherFailure,
    Variant::AuditedLightly,
    Variant::AuditedFully,
];

fn service(n: u64) -> Deed {
    let body = json!({
        "metadata": {"name": format!("s{n}")},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}},
    });
    Deed::Call(Request::new("POST", SERVICES).json(&body))
}

fn act(row: &mut Row, ms: u64, deed: Deed) {
    row.story.acts.push(Act {
        at: Duration::from_millis(ms),
        deeds: vec![deed],
        says: None,
    });
    row.story.acts.sort_by_key(|act| act.at);
}

/// The watches beside a row's own story, and the versions of its servers.
#[derive(Clone, Copy, Debug)]
struct Setup {
    /// Another version of its servers; `None` for the written one.
    version: Option<Version>,
    /// Whether definitions are watched too.
    watches_definitions: bool,
    tells_inside: bool,
    /// The time between two writes for other watches, in milliseconds; `None` without other watches.
    writes_every_ms: Option<u64>,
    /// When the connection of one of those is reset, in milliseconds of the story.
    resets_at_ms: Option<u64>,
    audit: Level,
}

impl Setup {
    fn of(variant: Variant, finds: &Finds) -> Self {
        let other = variant == Variant::OtherVersion;
        let resets = variant == Variant::AnotherFailure;
        let has_load = resets || matches!(variant, Variant::Load | Variant::AuditedFully);
        Self {
            version: other.then(|| finds.version.parse().expect("a version of the simulator's")),
            watches_definitions: other,
            tells_inside: other || variant == Variant::WithInside,
            writes_every_ms: has_load.then_some(3_000),
            resets_at_ms: resets.then_some(finds.strikes_s * 1_000 + 400),
            audit: match variant {
                Variant::AuditedLightly => Level::Light,
                Variant::AuditedFully => Level::Full,
                _ if finds.is_audited => Level::Full,
                _ => Level::Off,
            },
        }
    }

    /// Draws a setup: a version in the range with the same findings, perhaps some load, and perhaps a reset at any
    /// time.
    fn drawn(row: &Row, finds: &Finds, rng: &mut ChaCha8Rng) -> Self {
        let mut below = |most: u64| rng.next_u64() % most.max(1);
        let written = row.story.config.servers[0];
        let other: Version = finds.version.parse().expect("a version of the simulator's");
        let (oldest, newest) = (written.min(other), written.max(other));
        let between =
            (oldest.minor() + 1..newest.minor()).filter_map(|minor| Version::new(minor, 0).ok());
        let versions: Vec<Version> = between.chain([oldest, newest]).collect();
        let version = versions[below(versions.len() as u64) as usize];
        let writes = below(4) > 0 && finds.is_alone.is_none();
        let writes_every_ms = writes.then(|| 500 + below(5_000));
        let lasts_ms = finds.lasts_s.unwrap_or(row.lasts.as_secs()) * 1_000;
        let resets = writes_every_ms.is_some() && below(2) == 0;
        let resets_at_ms = resets.then(|| 2_000 + below(lasts_ms));
        let audit = [Level::Off, Level::Light, Level::Full][below(3) as usize];
        Self {
            version: (version != written).then_some(version),
            watches_definitions: below(2) == 0,
            tells_inside: below(2) == 0,
            writes_every_ms,
            resets_at_ms,
            audit: if finds.is_audited { Level::Full } else { audit },
        }
    }

    /// Returns whether the row's own failure must be found in time. A light audit may be too late for a failure that
    /// only reads show.
    fn must_show(&self, finds: &Finds) -> bool {
        let may_be_late = finds.is_audited && self.audit == Level::Light;
        !finds.family.is_empty() && !may_be_late
    }
}

/// Plays a row's story in a setup; returns the run, and the time at which it began.
fn play(row: &Row, finds: &Finds, setup: &Setup, seed: u64) -> (Run, Time) {
    let mut row = row.clone();
    if let Some(secs) = finds.lasts_s {
        row.lasts = Duration::from_secs(secs);
    }
    let mut others = Vec::new();
    if let Some(version) = setup.version {
        row.story.config.servers.fill(version);
    }
    if setup.watches_definitions {
        others.push(WatchSpec::of(
            "-",
            "customresourcedefinitions.apiextensions.k8s.io",
            "CustomResourceDefinition",
        ));
    }
    if finds.needs_each_server {
        others.extend(by_each_server());
    }
    let writes_every_ms = setup
        .writes_every_ms
        .or(finds.needs_others.then_some(3_000));
    if let Some(every_ms) = writes_every_ms {
        others.extend([
            WatchSpec::of("default", "services", "Service"),
            WatchSpec::of("default", "secrets", "Secret"),
        ]);
        let last_ms = row.lasts.as_secs() * 1_000;
        // A long story has load from its beginning to its end too.
        let every_ms = every_ms.max(last_ms / MOST_WRITES);
        for n in 0..last_ms / every_ms {
            act(&mut row, n * every_ms + 100, service(n));
        }
    }
    if let Some(at_ms) = setup.resets_at_ms {
        let reset = Fault::Cut {
            target: Target::Resource("services".to_owned()),
            cut: Cut::Reset,
        };
        act(&mut row, at_ms, Deed::Inject(reset));
    }
    let began = Run::of_story(row.story.clone(), seed).now();
    let run = row.run_audited(seed, &others, setup.tells_inside, setup.audit);
    (run, began)
}

/// Returns the findings of a run, each with its second of the story.
fn findings_of(run: &Run, began: Time) -> Vec<(f64, &Finding)> {
    let finding = |record| match record {
        &Record {
            at,
            event: Event::Finding(ref finding),
            ..
        } => Some((at.micros_since(began) as f64 / 1e6, finding)),
        _ => None,
    };
    run.records().iter().filter_map(finding).collect()
}

fn subject(finding: &Finding) -> String {
    let subject = finding.subject();
    subject.map_or_else(String::new, |subject| subject.to_string())
}

/// Returns whether a finding is of the row, or has the row among its candidates.
fn names(finding: &Finding, finds: &Finds) -> bool {
    let mut codes = std::iter::once(&finding.code).chain(&finding.candidates);
    codes.any(|code| **code == *finds.row.code())
}

/// Returns when the row's failure happens, in seconds of the story.
fn struck(run: &Run, began: Time, finds: &Finds) -> f64 {
    let Some(code) = finds.strikes_with else {
        return finds.strikes_s as f64;
    };
    let is_it =
        |record: &&Record| matches!(&record.event, Event::StreamError(error) if error.code == code);
    let first = run.records().iter().find(is_it);
    first.map_or(f64::MAX, |record| {
        record.at.micros_since(began) as f64 / 1e6
    })
}

/// Returns whether a finding is about the reset of the setup.
fn is_of_setup(finding: &Finding, setup: &Setup) -> bool {
    setup.resets_at_ms.is_some()
        && &*finding.code == "F08"
        && subject(finding) == "default/services"
}

/// Returns whether a finding is about a watch that the setup added, and the inside of the cluster shows that it is true.
/// The row's own watches may have nothing but what its line lists.
fn is_true_beside(finding: &Finding, row: &Row, finds: &Finds, setup: &Setup, seed: u64) -> bool {
    let watch = finding.watch.as_ref();
    if !watch.is_some_and(|watch| AROUND.contains(&watch.as_str())) {
        return false;
    }
    let setup = Setup {
        tells_inside: true,
        ..*setup
    };
    let (run, _) = play(row, finds, &setup, seed);
    truths::shows(&run, finding)
}

/// The kinds of findings in a story, which no setup may change: code, kind of subject, and highest certainty.
type Kinds = BTreeSet<(String, &'static str, Certainty)>;

/// Returns the kinds of the findings about the row's own watches and clients, and about servers.
fn kinds(findings: &[(f64, &Finding)]) -> Kinds {
    let mut kinds = BTreeMap::new();
    for (_, finding) in findings
        .iter()
        .filter(|(_, it)| it.state == Standing::Raised)
    {
        let is_around = |watch: &WatchName| AROUND.contains(&watch.as_str());
        let subject = match (&finding.watch, &finding.client) {
            (Some(watch), _) if is_around(watch) => continue,
            _ if !finding.names.is_empty() && finding.names.iter().all(is_around) => continue,
            _ if finding.watches.is_some() => "watch",
            (Some(_), _) => "watch",
            (None, Some(_)) => "client",
            (None, None) => "server",
        };
        let key = (finding.code.to_string(), subject);
        let surest = kinds.entry(key).or_insert(finding.certainty);
        // Certainties are sorted, the surest first.
        *surest = (*surest).min(finding.certainty);
    }
    let flat = kinds.into_iter();
    flat.map(|((code, subject), certainty)| (code, subject, certainty))
        .collect()
}

/// The result of a row in a setup.
struct Judged {
    /// When its own failure was found, in seconds since it happened.
    at: Option<f64>,
    kinds: Kinds,
    /// The codes of the findings of an audit besides.
    read: BTreeSet<&'static str>,
    sentences: BTreeSet<Sentence>,
    /// The expectations that were not met.
    wrong: String,
}

fn judge(row: &Row, finds: &Finds, setup: &Setup, seed: u64) -> Judged {
    let (run, began) = play(row, finds, setup, seed);
    let findings = findings_of(&run, began);
    let mut wrong = String::new();
    let name = format!("{} {} (seed {seed}, {setup:?})", row.code, row.form);
    let raised = |(_, finding): &&(f64, &Finding)| finding.state == Standing::Raised;
    let own = findings.iter().filter(raised).find(|(_, finding)| {
        let code = &finding.row().expect("a row of this version");
        // Reads may be the first to show it, with a sentence of their own.
        let is_read = setup.audit != Level::Off && finds.by_reads.contains(code);
        let is_of_form = finds.family.contains(code) && has(&finding.summary, finds.says);
        names(finding, finds) && (is_of_form || is_read)
    });
    let struck = struck(&run, began, finds);
    let by = struck + finds.within().as_secs_f64();
    match own {
        None if setup.must_show(finds) => writeln!(wrong, "{name}: not found").expect("a string"),
        // A reset of the connection may show a failure before the next request would.
        Some((at, _))
            if *at < struck && setup.resets_at_ms.is_none_or(|ms| ms as f64 > *at * 1e3) =>
        {
            writeln!(wrong, "{name}: found at {at} s, before {struck} s").expect("a string");
        }
        Some((at, _)) if *at > by && setup.must_show(finds) => {
            writeln!(wrong, "{name}: found at {at} s, not by {by} s").expect("a string");
        }
        _ => {}
    }
    let first = run.records().first().map(|record| record.at);
    let recorded = run
        .records()
        .iter()
        .filter_map(|record| match &record.event {
            Event::Finding(finding) => Some((record.at, finding)),
            _ => None,
        });
    for (at, finding) in recorded {
        // Nothing that a finding reports was before the run, and nothing is yet to come.
        if finding
            .since
            .is_none_or(|since| since > at || Some(since) < first)
        {
            writeln!(
                wrong,
                "{name}: at {at:?} since {:?}: {finding:?}",
                finding.since
            )
            .expect("a string");
        }
    }
    let (mut seen, mut sentences) = (BTreeSet::new(), BTreeSet::new());
    let mut read = BTreeSet::new();
    for (_, finding) in findings
        .iter()
        .filter(|(_, it)| it.state != Standing::Cleared)
    {
        match sentence_of(finding) {
            Some(sentence) => sentences.extend([sentence]),
            None => {
                writeln!(wrong, "{name}: not among the sentences: {finding:?}").expect("a string")
            }
        }
    }
    // No story restores etcd twice.
    let again = |(_, it): &&(f64, &Finding)| has(&it.summary, "went back another time");
    if let Some((at, finding)) = findings.iter().find(again) {
        writeln!(wrong, "{name}: at {at} s {finding:?}").expect("a string");
    }
    for (at, finding) in findings.iter().filter(raised) {
        let code = finding.row().expect("a row of this version");
        let by_reads = finds.by_reads.iter().find(|by| **by == code);
        let by_reads = by_reads.filter(|_| setup.audit != Level::Off);
        read.extend(by_reads.map(|by| by.code()));
        let is_expected = finds.family.contains(&code)
            || finds.companions.contains(&code)
            || by_reads.is_some()
            || is_of_setup(finding, setup)
            || is_true_beside(finding, row, finds, setup, seed);
        if !is_expected && seen.insert((code, subject(finding))) {
            let (subject, what) = (subject(finding), &finding.summary);
            writeln!(wrong, "{name}: at {at} s {code} of {subject:?}: {what}").expect("a string");
        }
        let is_last = *at <= run.now().micros_since(began) as f64 / 1e6;
        let has_evidence = !finding.evidence.is_empty()
            && finding
                .evidence
                .iter()
                .all(|seq| (1..=run.records().len() as u64).contains(&seq.0));
        if !has_evidence || !is_last || finding.name.is_empty() {
            writeln!(wrong, "{name}: {finding:?}").expect("a string");
        }
    }
    let at = own.map(|(at, _)| *at - struck);
    Judged {
        at,
        kinds: kinds(&findings),
        read,
        sentences,
        wrong,
    }
}

/// Returns the records as lines, each with its second of the story.
fn lines(records: &[Record], began: Time) -> String {
    let line = |record: &Record| {
        let at_s = record.at.micros_since(began) as f64 / 1e6;
        format!("{at_s:.3} {}\n", to_line(record))
    };
    records.iter().map(line).collect()
}

fn rows() -> Vec<(Row, Finds)> {
    only(catalogue::rows().into_iter().zip(FINDS).collect())
}

/// Returns the rows in other forms than those of their own stories.
fn forms() -> Vec<(Row, Finds)> {
    only(catalogue::forms::forms())
}

fn only(mut rows: Vec<(Row, Finds)>) -> Vec<(Row, Finds)> {
    if let Ok(only) = std::env::var("WATCHSCOPE_TEST_ROW") {
        rows.retain(|(row, _)| row.code == only);
    }
    rows
}

/// `WATCHSCOPE_TEST_ROW=F14` plays only this row.
#[test]
fn each_row_is_found_in_time_in_every_variant_and_no_other_failure() {
    let (mut table, mut others) = (String::from(TABLE_HEAD), String::from(FORMS_HEAD));
    let (mut wrong, mut sentences) = (String::new(), BTreeSet::new());
    for (row, finds) in rows().into_iter().chain(forms()) {
        let mut times = Vec::new();
        let mut played = 0;
        let mut first = None;
        let (mut varied, mut read) = (BTreeSet::new(), BTreeSet::new());
        for variant in VARIANTS {
            for seed in SEEDS {
                let setup = Setup::of(variant, &finds);
                let judged = judge(&row, &finds, &setup, seed);
                let mut kinds = judged.kinds;
                wrong += &judged.wrong;
                sentences.extend(judged.sentences);
                if !setup.must_show(&finds) && !finds.family.is_empty() {
                    continue;
                }
                played += 1;
                times.extend(judged.at);
                kinds.retain(|(code, ..)| !judged.read.contains(&**code));
                read.extend(judged.read);
                let first = first.get_or_insert_with(|| kinds.clone());
                for (code, subject, certainty) in kinds.symmetric_difference(first) {
                    if finds.varies.iter().any(|varies| varies.row.code() == code) {
                        varied.insert(code.clone());
                        continue;
                    }
                    let name = format!("{} {} {variant:?} (seed {seed})", row.code, row.form);
                    let here = if kinds.contains(&(code.clone(), subject, *certainty)) {
                        "only here"
                    } else {
                        "not here"
                    };
                    writeln!(
                        wrong,
                        "{name}: {code} of a {subject}, {certainty}, is found {here}"
                    )
                    .expect("a string");
                }
            }
        }
        for varies in finds.varies {
            if !varied.contains(varies.row.code()) {
                let (code, form) = (row.code, row.form);
                writeln!(wrong, "{code} {form}: {} is always found", varies.row).expect("a string");
            }
        }
        for code in finds.by_reads {
            if !read.contains(code.code()) {
                let (code_of, form) = (row.code, row.form);
                writeln!(wrong, "{code_of} {form}: no audit finds {code}").expect("a string");
            }
        }
        let table = if row.form.is_empty() {
            &mut table
        } else {
            &mut others
        };
        *table += &line(&row, &finds, played, &times);
    }
    let is_all = std::env::var_os("WATCHSCOPE_TEST_ROW").is_none();
    if is_all {
        wrong += &unexpected_but(&sentences);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    if is_all {
        is_current("detection.md", &(table + &others));
    }
}

/// Watches of the default namespace's configmaps, one by each of two servers.
fn by_each_server() -> [WatchSpec; 2] {
    [0, 1].map(|index| WatchSpec {
        name: WatchName::new(
            "default",
            "configmaps",
            "",
            None,
            None,
            u32::from(index) + 2,
        ),
        server: Some(address_of(ServerId(index))),
        ..WatchSpec::of("default", "configmaps", "ConfigMap")
    })
}

/// How often the test with drawn setups plays each row.
const DRAWS: u64 = 40;

/// `WATCHSCOPE_TEST_SEED=7` draws the same setups as the run that printed it. `WATCHSCOPE_TEST_STORY=11` plays only the
/// drawn story with this seed, of a row and of its forms, and prints its records; a failure names the seed of its story.
#[test]
#[ignore = "three thousand stories: cargo xtask test --long"]
fn each_row_is_found_in_time_with_any_version_and_load() {
    let given = std::env::var("WATCHSCOPE_TEST_SEED").ok();
    let given = given.map(|text| text.parse().expect("a seed is a number"));
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
    let drawn: u64 = given.unwrap_or(since.as_secs());
    println!("WATCHSCOPE_TEST_SEED={drawn}");
    let only = std::env::var("WATCHSCOPE_TEST_STORY").ok();
    let only: Option<u64> = only.map(|text| text.parse().expect("a seed is a number"));
    let mut wrong = String::new();
    for (row, finds) in rows().into_iter().chain(forms()) {
        // Each row draws for itself, so that it can be played alone.
        let mut rng = ChaCha8Rng::seed_from_u64(drawn);
        rng.set_stream(row.code[1..].parse().expect("F and a number"));
        for _ in 0..DRAWS {
            let setup = Setup::drawn(&row, &finds, &mut rng);
            let seed = rng.next_u64();
            if only.is_some_and(|only| only != seed) {
                continue;
            }
            if only.is_some() {
                let (run, began) = play(&row, &finds, &setup, seed);
                println!("{} {}\n{}", row.code, row.form, lines(run.records(), began));
            }
            wrong += &judge(&row, &finds, &setup, seed).wrong;
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Returns a row's line in docs/detection.md.
fn line(row: &Row, finds: &Finds, played: usize, times: &[f64]) -> String {
    let (code, name) = (finds.row, finds.row.name());
    let what = if row.form.is_empty() { name } else { row.form };
    if let Some((_, why)) = UNSEEN.iter().find(|(unseen, _)| *unseen == code) {
        return format!("| {code} | {what} | {played} | no: {why} | | |\n");
    }
    if finds.family.is_empty() {
        return format!("| {code} | {what} | {played} | not to be found | | |\n");
    }
    let found = times.len();
    let slowest = times.iter().copied().fold(f64::MIN, f64::max);
    let by = finds.within().as_secs();
    format!("| {code} | {what} | {played} | {found} | {slowest:.1} | {by} |\n")
}

/// The watches that some setups add beside a row's.
const AROUND: [&str; 3] = [
    "default/services",
    "default/secrets",
    "-/customresourcedefinitions.apiextensions.k8s.io",
];

const SEEDS: std::ops::Range<u64> = 0..2;

const TABLE_HEAD: &str = "# What is found\n\n\
    The tests of shared/scenarios play each row of the failure catalogue in six variants, each with two seeds:\n\n\
    * as written;\n\
    * with another version of its servers;\n\
    * with other watches and writes around it;\n\
    * with these, and a reset of one of them at the same time;\n\
    * as written, with `--audit light`;\n\
    * with others around it, all with `--audit full`.\n\n\
    Each variant must find the row in time and find nothing that did not happen. Its certainty must be that of the \
    others. A row that is an exception gives the reason.\n\n\
    Only reads show F24 to F27, F32, F33 and F45. They are played with `--audit full`; with `--audit light` they need \
    not be found in time.\n\n\
    Seconds are virtual, from the failure to the finding. The bound is twice the waiting time of the row's rule, plus \
    a second. The tests write this page with `WATCHSCOPE_WRITE_DOCS=1`, and fail if it is not current.\n\n\
    | Row | Failure | Played | Found | Slowest, s | Bound, s |\n|---|---|---|---|---|---|\n";

const FORMS_HEAD: &str = "\n## In other forms\n\n\
    A row may have other forms than its own story. They are played in the same variants under the same rules. The \
    sentence of its finding identifies a form. Some story plays each sentence of diagnosis, except those that the \
    tests name with a reason. A twin differs from the form above it in one thing, and its run may not find the \
    row.\n\n\
    | Row | What shows it | Played | Found | Slowest, s | Bound, s |\n|---|---|---|---|---|---|\n";

/// Compares a page of docs/ with its expected text; with `WATCHSCOPE_WRITE_DOCS=1` writes it.
fn is_current(page: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    if std::env::var_os("WATCHSCOPE_WRITE_DOCS").is_some() {
        let folder = path.parent().expect("docs");
        std::fs::create_dir_all(folder).expect("docs can be made");
        std::fs::write(&path, text).expect("docs can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/{page} is not current: run the tests of shared/scenarios with WATCHSCOPE_WRITE_DOCS=1"
    );
}

#[test]
fn the_pages_of_the_findings_are_current() {
    let mut index = String::from(
        "# Findings\n\nThe failure catalogue. `watchscope explain F11` prints the same text.\n\n",
    );
    for row in EXPLANATIONS {
        is_current(&format!("findings/{}.md", row.row), &row.markdown());
        writeln!(index, "* [{} {}]({}.md)", row.row, row.name(), row.row).expect("a string");
    }
    is_current("findings/README.md", &index);
}

#[test]
fn every_row_is_either_found_or_listed_as_unseen() {
    let unseen: Vec<_> = UNSEEN.iter().map(|(row, _)| *row).collect();
    for (row, finds) in catalogue::rows().iter().zip(FINDS) {
        assert_eq!(row.row, finds.row);
        let is_unseen = unseen.contains(&row.row);
        assert_eq!(finds.family.is_empty(), is_unseen, "{}", row.code);
    }
}

#[test]
fn inside_records_change_no_finding() {
    for (row, finds) in rows().into_iter().chain(forms()) {
        let found = |variant| {
            let (run, began) = play(&row, &finds, &Setup::of(variant, &finds), 5);
            let found = findings_of(&run, began).into_iter();
            found
                .map(|(at, it)| (at, it.clone()))
                .collect::<Vec<(f64, Finding)>>()
        };
        let silent = found(Variant::Written);
        let is_own =
            |(_, it): &(f64, Finding)| it.row().is_some_and(|row| finds.family.contains(&row));
        let has_own = silent.iter().any(is_own);
        assert_eq!(has_own, !finds.family.is_empty(), "{}", row.code);
        assert_eq!(silent, found(Variant::WithInside), "{}", row.code);
    }
}

#[test]
fn the_fold_holds_open_findings_with_their_counts() {
    for (row, _) in rows() {
        let run = row.run(0);
        let mut standing: BTreeMap<(String, String), u64> = BTreeMap::new();
        for record in run.records() {
            let Event::Finding(finding) = &record.event else {
                continue;
            };
            let key = (finding.code.to_string(), subject(finding));
            if finding.state == Standing::Cleared {
                assert!(standing.remove(&key).is_some(), "{}: {finding:?}", row.code);
            } else {
                let before = standing.insert(key, finding.count.unwrap_or(0));
                assert!(before <= finding.count, "{}: {finding:?}", row.code);
                let is_first = before.is_none();
                assert_eq!(
                    is_first,
                    finding.count == Some(1) && is_first,
                    "{}",
                    row.code
                );
            }
        }
        let folded: BTreeMap<(String, String), u64> = run
            .state()
            .findings
            .values()
            .map(|open| {
                let finding = &open.finding;
                ((finding.code.to_string(), subject(finding)), open.count)
            })
            .collect();
        assert_eq!(folded, standing, "{}", row.code);
    }
}
