//! Reads watchscope's records, and compares them with etcd's own history.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use watchscope_tests::kube::{Change, ChangeKind};
use watchscope_tests::{Watchscope, eventually};

/// Returns the records of one type about one watch. A finding about several watches counts for each that it names.
pub(crate) fn of<'a>(records: &'a [Value], kind: &str, watch: &str) -> Vec<&'a Value> {
    records
        .iter()
        .filter(|record| record["type"] == kind && is_about(record, watch))
        .collect()
}

/// Whether a record is about this watch, or names it among several.
fn is_about(record: &Value, watch: &str) -> bool {
    let names = record["names"].as_array();
    record["watch"] == watch || names.is_some_and(|names| names.iter().any(|name| name == watch))
}

/// Waits until `look` accepts watchscope's records; fails when watchscope has ended.
pub(crate) async fn until<T>(
    watchscope: &mut Watchscope,
    within: Duration,
    what: &str,
    look: impl Fn(&[Value]) -> Result<T>,
) -> Result<T> {
    eventually(what, within, async || {
        watchscope.still_runs()?;
        look(&watchscope.records()?)
    })
    .await
}

/// Returns the first record of that type about the watch that `holds` accepts.
pub(crate) fn find<'a>(
    records: &'a [Value],
    kind: &str,
    watch: &str,
    holds: impl Fn(&Value) -> bool,
) -> Result<&'a Value> {
    of(records, kind, watch)
        .into_iter()
        .find(|record| holds(record))
        .with_context(|| {
            let tail = records.len().saturating_sub(8);
            let last: Vec<String> = records[tail..].iter().map(ToString::to_string).collect();
            format!(
                "no such {kind} of {watch}; the last records:\n{}",
                last.join("\n")
            )
        })
}

/// Fails unless the watch has reached the phase of streaming.
pub(crate) fn streams(records: &[Value], watch: &str) -> Result<()> {
    find(records, "watch.phase", watch, |phase| {
        phase["to"] == "streaming"
    })?;
    Ok(())
}

/// Checks that every record but the leading lines has the next seq, and that time does not go back.
pub(crate) fn numbered_without_holes(records: &[Value]) -> Result<()> {
    let mut seq = 0;
    let mut at = "";
    for record in records.iter().filter(|record| record["type"] != "log") {
        seq += 1;
        ensure!(record["seq"] == seq, "seq {seq} is expected: {record}");
        let time = record["at"].as_str().context("a record has a time")?;
        ensure!(at <= time, "time goes back: {record}");
        at = time;
    }
    Ok(())
}

/// The result of following a watch's records through the truth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Followed {
    /// The revision up to which everything is accounted for.
    pub(crate) position: u64,
    /// The number of completed lists.
    pub(crate) lists: usize,
    /// The number of live changes.
    pub(crate) live: usize,
    /// The number of deletions that a relist revealed.
    pub(crate) inferred: usize,
    /// The number of changes that a relist skipped, since it shows only their result.
    pub(crate) passed_over: usize,
    /// Names and resourceVersions of the objects that the watch holds.
    pub(crate) held: BTreeMap<String, String>,
}

/// Follows one watch through the history. Fails at the first change that is missing, doubled, out of order or of
/// another version. Fails at a list after which the held objects differ from those that existed, and at a bookmark past
/// a missing change.
pub(crate) fn follow(history: &[Change], records: &[Value], watch: &str) -> Result<Followed> {
    let mut followed = Followed::default();
    for record in records.iter().filter(|record| record["watch"] == watch) {
        followed
            .take(history, record)
            .with_context(|| format!("at {record}"))?;
    }
    Ok(followed)
}

impl Followed {
    fn take(&mut self, history: &[Change], record: &Value) -> Result<()> {
        match record["type"].as_str().context("a record has a type")? {
            "change" if record["origin"] == "live" => self.take_live(history, record),
            "change" => self.take_listed(record),
            "list.complete" => self.take_list(history, version(record)?),
            // A list.complete follows the end of the initial events, and is checked instead.
            "bookmark" if record["initialEventsEnd"] == true => Ok(()),
            "bookmark" => {
                let version = version(record)?;
                if let Some(missed) = self.next(history)
                    && missed.revision <= version
                {
                    bail!("the bookmark leaves out {}", told(missed));
                }
                self.position = self.position.max(version);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_live(&mut self, history: &[Change], record: &Value) -> Result<()> {
        ensure!(self.lists > 0, "live before the first list");
        let next = self
            .next(history)
            .context("etcd knows of no further change")?;
        let word = match next.kind {
            ChangeKind::Created => "ADDED",
            ChangeKind::Modified => "MODIFIED",
            ChangeKind::Deleted => "DELETED",
        };
        let revision = next.revision.to_string();
        let is_next = record["change"] == word
            && record["name"] == next.name()
            && record["resourceVersion"] == revision;
        ensure!(is_next, "etcd's next change is {}", told(next));
        self.position = next.revision;
        self.live += 1;
        self.hold(record)
    }

    fn take_listed(&mut self, record: &Value) -> Result<()> {
        if record["origin"] == "inferred" {
            self.inferred += 1;
        }
        self.hold(record)
    }

    fn take_list(&mut self, history: &[Change], version: u64) -> Result<()> {
        let existed = existing_at(history, version);
        ensure!(
            self.held == existed,
            "held after the list: {:?}; in etcd at {version}: {existed:?}",
            self.held
        );
        if self.lists > 0 {
            let over = |change: &&Change| (self.position + 1..=version).contains(&change.revision);
            self.passed_over += history.iter().filter(over).count();
        }
        self.position = self.position.max(version);
        self.lists += 1;
        Ok(())
    }

    fn hold(&mut self, record: &Value) -> Result<()> {
        let name = record["name"].as_str().context("a change has a name")?;
        let version = record["resourceVersion"]
            .as_str()
            .context("a change has a version")?;
        if record["change"] == "DELETED" {
            ensure!(self.held.remove(name).is_some(), "{name} was not held");
        } else {
            self.held.insert(name.to_owned(), version.to_owned());
        }
        Ok(())
    }

    fn next<'a>(&self, history: &'a [Change]) -> Option<&'a Change> {
        history
            .iter()
            .find(|change| change.revision > self.position)
    }
}

/// Returns names and resourceVersions of the objects that existed at a revision.
pub(crate) fn existing_at(history: &[Change], revision: u64) -> BTreeMap<String, String> {
    let mut existing = BTreeMap::new();
    for change in history
        .iter()
        .take_while(|change| change.revision <= revision)
    {
        let name = change.name().to_owned();
        match change.kind {
            ChangeKind::Deleted => existing.remove(&name),
            ChangeKind::Created | ChangeKind::Modified => {
                existing.insert(name, change.revision.to_string())
            }
        };
    }
    existing
}

fn version(record: &Value) -> Result<u64> {
    let text = record["resourceVersion"].as_str();
    Ok(text.context("it has a resourceVersion")?.parse()?)
}

fn told(change: &Change) -> String {
    format!("{:?} {} {}", change.kind, change.key, change.revision)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WATCH: &str = "shop/configmaps";

    fn history() -> Vec<Change> {
        let change = |revision, kind, name: &str| Change {
            revision,
            kind,
            key: format!("/registry/configmaps/shop/{name}"),
            value: Vec::new(),
            previous: Vec::new(),
        };
        vec![
            change(5, ChangeKind::Created, "a"),
            change(7, ChangeKind::Modified, "a"),
            change(8, ChangeKind::Created, "b"),
            change(9, ChangeKind::Deleted, "a"),
        ]
    }

    fn change(change: &str, origin: &str, name: &str, version: u64) -> Value {
        json!({"type": "change", "watch": WATCH, "change": change, "origin": origin, "name": name,
            "resourceVersion": version.to_string()})
    }

    fn complete(version: u64) -> Value {
        json!({"type": "list.complete", "watch": WATCH, "resourceVersion": version.to_string()})
    }

    #[test]
    fn a_log_with_each_change_once_and_in_order_is_followed_to_the_end() {
        let records = [
            change("ADDED", "list", "a", 5),
            complete(6),
            change("MODIFIED", "live", "a", 7),
            change("ADDED", "live", "b", 8),
            change("DELETED", "live", "a", 9),
        ];
        let followed = follow(&history(), &records, WATCH).unwrap();
        assert_eq!(
            (followed.position, followed.live, followed.passed_over),
            (9, 3, 0)
        );
        assert_eq!(followed.held, existing_at(&history(), 9));
    }

    #[test]
    fn a_change_that_is_missing_doubled_or_of_another_version_is_found() {
        let start = [change("ADDED", "list", "a", 5), complete(6)];
        let missing = vec![change("ADDED", "live", "b", 8)];
        let doubled = vec![
            change("MODIFIED", "live", "a", 7),
            change("MODIFIED", "live", "a", 7),
        ];
        let other_version = vec![change("MODIFIED", "live", "a", 6)];
        let invented = vec![change("ADDED", "live", "c", 7)];
        for wrong in [missing, doubled, other_version, invented] {
            let records: Vec<Value> = start.iter().cloned().chain(wrong).collect();
            assert!(follow(&history(), &records, WATCH).is_err(), "{records:#?}");
        }
    }

    #[test]
    fn a_list_that_differs_from_what_existed_and_a_bookmark_past_a_change_are_found() {
        let stale = [change("ADDED", "list", "a", 5), complete(8)];
        assert!(follow(&history(), &stale, WATCH).is_err());
        let past = [
            change("ADDED", "list", "a", 5),
            complete(6),
            json!({"type": "bookmark", "watch": WATCH, "resourceVersion": "8"}),
        ];
        assert!(follow(&history(), &past, WATCH).is_err());
    }

    #[test]
    fn a_relist_accounts_for_the_changes_that_it_skipped() {
        let records = [
            change("ADDED", "list", "a", 5),
            complete(6),
            change("DELETED", "inferred", "a", 5),
            change("ADDED", "list", "b", 8),
            complete(9),
        ];
        let followed = follow(&history(), &records, WATCH).unwrap();
        assert_eq!(
            (followed.inferred, followed.passed_over, followed.lists),
            (1, 3, 2)
        );
    }
}
