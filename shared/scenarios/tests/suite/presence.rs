//! Compares the page's sentence about why an object is here with etcd's own history.

use std::time::Duration;

use watchscope_diagnosis::audit::Level;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::vocabulary::AuditOutcome;
use watchscope_model::{Event, State, WatchName};
use watchscope_scenarios::Run;
use watchscope_scenarios::catalogue::{self, Row};
use watchscope_simulator::{ChangeKind, Version};
use watchscope_timeline::store::Known;
use watchscope_timeline::words::presence;
use watchscope_timeline::{LaneId, Store};

/// Returns whether an object of this name existed at a revision.
fn was_there(run: &Run, name: &str, revision: u64) -> bool {
    let mut is_there = false;
    for change in run.world.truth().history_of("configmaps") {
        if change.object.name() == name && change.revision <= revision {
            is_there = change.kind != ChangeKind::Deleted;
        }
    }
    is_there
}

/// Returns the revision of the read that confirms an object, if the page names a read of etcd.
fn confirmed_at(store: &Store, lane: LaneId) -> Option<u64> {
    let shown = presence(Known::now(store, store.head_at()?), lane)?;
    let (_, words) = shown
        .grounds
        .iter()
        .find(|(name, _)| *name == "confirmed")?;
    let (_, rest) = words
        .strip_prefix("A read at ")?
        .split_once(", at resourceVersion ")?;
    let digits: String = rest
        .chars()
        .take_while(|c| *c != ')')
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// From 1.34 on a list at an exact resourceVersion may come from the cache (docs/semantics/versions.md#gate-snapshots).
/// Such a list agrees with a ghost while the cache holds it.
#[test]
fn an_object_that_the_page_calls_confirmed_existed_at_the_reads_version() {
    let (mut blind, mut confirmed) = (0, 0);
    let watch: WatchName = "default/configmaps".into();
    let forms = catalogue::forms::forms().into_iter().map(|(row, _)| row);
    // What a member of etcd has lost is lost to each read of it.
    let is_lost_to_reads = |row: &Row| row.form.ends_with("in the list of another server");
    let is_seen = |row: &Row| row.code == "F24" && !is_lost_to_reads(row);
    let ghosts: Vec<_> = forms.filter(is_seen).collect();
    let of = |version| ghosts.iter().cloned().map(move |row| (row, version));
    for (mut row, (minor, patch)) in of((36, 3)).chain(of((30, 0))) {
        row.story.config.etcd.keep_journal = true;
        row.story
            .config
            .servers
            .fill(Version::new(minor, patch).expect("a version"));
        row.lasts = row.lasts.max(Duration::from_secs(200));
        let run = row.run_audited(3, &[], false, Level::Full);
        let state = State::default();
        let (mut writer, head) = ChapterWriter::open("log".into(), "a".into(), &state);
        let mut store = Store::default();
        store.snapshot(&head).expect("a snapshot");
        for record in run.records() {
            writer.push(record);
            let Event::Audit(audit) = &record.event else {
                continue;
            };
            if audit.watch != watch || audit.outcome() != AuditOutcome::Agrees {
                continue;
            }
            let reason = audit.reason.as_deref().unwrap_or_default();
            blind += u64::from(reason.contains("cache"));
            let segment = writer.seal().expect("a record");
            store.segment(&segment).expect("a segment");
            let held = &store.state().expect("a head").watches[&watch].objects;
            for held in held.sorted() {
                let object = &held.object;
                let lane = store.find_lane(&watch, Some(object)).expect("it was met");
                if let Some(at) = confirmed_at(&store, lane) {
                    confirmed += 1;
                    let words = presence(Known::now(&store, record.at), lane);
                    assert!(
                        was_there(&run, &object.name, at),
                        "{} of {minor}: {words:?}",
                        object.name
                    );
                }
            }
        }
    }
    assert!(blind > 0 && confirmed > 0, "{blind} {confirmed}");
}
