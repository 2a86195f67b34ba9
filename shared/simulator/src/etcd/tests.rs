//! Tests of etcd's watches, row by row of docs/semantics/servers.md#etcd. The tests' driver hands alarms back when they
//! are due.

use std::time::Duration;

use serde_json::json;

use super::*;

/// The id of pods: their index among the built-in types.
const PODS: ResourceId = ResourceId(0);
/// The id of configmaps: their index among the built-in types.
const MAPS: ResourceId = ResourceId(2);
/// The only apiserver of most tests.
const SERVER: ServerId = ServerId(0);

struct Rig {
    etcd: Etcd,
    now: Time,
    alarms: Vec<(Time, EtcdAlarm)>,
    received: Vec<String>,
}

fn rig() -> Rig {
    Rig {
        etcd: Etcd::new(&EtcdConfig::default()),
        now: Time::from_secs(1),
        alarms: Vec::new(),
        received: Vec::new(),
    }
}

/// Returns a test rig with a defect switched on or off.
fn rig_with(defect: Defect, on: bool) -> Rig {
    let mut rig = rig();
    rig.etcd.switch(defect, on);
    rig
}

impl Rig {
    fn write(&mut self, name: &str) -> u64 {
        let key = format!("/registry/pods/shop/{name}");
        let value = json!({"metadata": {"name": name}});
        self.etcd.put(PODS, &key, value, self.now);
        self.collect();
        self.run(MOMENT);
        self.etcd.revision()
    }

    fn delete(&mut self, name: &str) -> u64 {
        let key = format!("/registry/pods/shop/{name}");
        self.etcd.delete(PODS, &key, json!({}), self.now);
        self.collect();
        self.run(MOMENT);
        self.etcd.revision()
    }

    fn watch(&mut self, start: u64) -> WatcherId {
        self.watch_of(PODS, "/registry/pods/", start)
    }

    fn watch_of(&mut self, resource: ResourceId, prefix: &str, start: u64) -> WatcherId {
        let request = WatchRequest {
            stream: key(resource),
            prefix: prefix.to_owned(),
            start,
            progress_notify: true,
            requires_leader: true,
        };
        let id = self.etcd.watch(request, self.now);
        self.collect();
        id
    }

    fn run(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some((at, alarm)) = self.next_alarm(until) {
            self.now = self.now.max(at);
            self.etcd.alarm(&alarm, self.now);
            self.collect();
        }
        self.now = until;
    }

    fn next_alarm(&mut self, until: Time) -> Option<(Time, EtcdAlarm)> {
        self.alarms.sort_by_key(|(at, _)| *at);
        let due = self.alarms.first().is_some_and(|(at, _)| *at <= until);
        due.then(|| self.alarms.remove(0))
    }

    fn collect(&mut self) {
        self.alarms.extend(self.etcd.take_alarms());
        for sent in self.etcd.take_sent() {
            let Some(response) = sent.response else {
                self.received.push("broken".to_owned());
                continue;
            };
            match response.content {
                Content::Events(events) => {
                    for event in events {
                        let change = &event.change;
                        let nil = match change.kind {
                            ChangeKind::Added => "",
                            _ if event.has_previous => "",
                            _ => " prevKV=nil",
                        };
                        let (kind, name) = (change.kind.as_str(), change.object.name());
                        self.received
                            .push(format!("{kind} {name} {}{nil}", change.revision));
                    }
                }
                Content::Progress => self
                    .received
                    .push(format!("progress {}", response.revision)),
                Content::Compacted => self.received.push("compacted".to_owned()),
                Content::NoLeader => self.received.push("no leader".to_owned()),
            }
        }
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.received)
    }

    /// Makes each response of etcd take `per_response`, so that channels fill up.
    fn starve(&mut self, per_response: Duration) {
        self.etcd.slow_streams(None, None, Some(per_response));
    }

    fn feed(&mut self) {
        self.etcd.slow_streams(None, None, None);
    }
}

fn key(resource: ResourceId) -> StreamKey {
    StreamKey {
        server: SERVER,
        resource,
        purpose: Purpose::Cache,
    }
}

/// A time after which the send loop of a stream is free again: one response takes 10 µs by default, and the time for
/// its bytes. The number has no other source.
const MOMENT: Duration = Duration::from_millis(1);
/// One hour, in which a quiet etcd must send nothing. The number has no source.
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_synced_watcher_gets_each_write_of_its_keys_at_once() {
    let mut rig = rig();
    rig.watch(2);
    rig.watch_of(MAPS, "/registry/configmaps/", 2);
    rig.write("a");
    rig.write("a");
    rig.delete("a");
    assert_eq!(rig.take(), ["ADDED a 2", "MODIFIED a 3", "DELETED a 4"]);
}

#[test]
fn an_unsynced_watcher_is_caught_up_within_100_ms() {
    let mut rig = rig();
    for _ in 0..3 {
        rig.write("a");
    }
    rig.watch(3);
    assert!(rig.take().is_empty(), "not at once");
    rig.run(Duration::from_millis(100));
    assert_eq!(rig.take(), ["MODIFIED a 3", "MODIFIED a 4"]);
    rig.write("a");
    assert_eq!(rig.take(), ["MODIFIED a 5"], "now it is synced");
}

#[test]
fn a_watcher_far_behind_is_caught_up_in_batches_of_1000_revisions() {
    let mut rig = rig();
    for _ in 0..2500 {
        rig.write("a");
    }
    rig.watch(2);
    let mut batches = Vec::new();
    while let Some((at, alarm)) = rig.next_alarm(rig.now + Duration::from_secs(1)) {
        rig.now = rig.now.max(at);
        rig.etcd.alarm(&alarm, rig.now);
        rig.collect();
        let received = rig.take();
        if received.iter().any(|line| line.contains('a')) {
            batches.push(received.len());
        }
    }
    assert_eq!(batches, [1000, 1000, 500]);
}

#[test]
fn watchers_of_one_stream_share_its_128_slots_and_victims_lose_nothing() {
    let mut rig = rig();
    let quiet = rig.watch_of(PODS, "/registry/pods/other/", 2);
    rig.watch(2);
    rig.starve(Duration::from_secs(1));
    for _ in 0..300 {
        rig.write("a");
    }
    let streams: Vec<_> = rig.etcd.streams().collect();
    assert_eq!(streams[0].1, 128, "its channel is full");
    assert!(!streams[0].2, "and a watcher is not synced");
    rig.feed();
    rig.run(Duration::from_secs(5));
    let received: Vec<String> = rig.take().into_iter().filter(|l| l.contains('a')).collect();
    assert_eq!(received.len(), 300);
    let revisions: Vec<u64> = received
        .iter()
        .map(|line| line.split(' ').nth(2).unwrap().parse().unwrap())
        .collect();
    assert!(revisions.is_sorted(), "in order");
    rig.etcd.cancel(quiet, rig.now);
}

#[test]
fn victims_wait_for_room_without_an_alarm_for_each_10_ms() {
    let mut rig = rig();
    rig.watch(2);
    rig.starve(Duration::from_secs(1));
    for _ in 0..130 {
        rig.write("a");
    }
    rig.take();
    // The channel is full, and its send loop takes the next response only once a second.
    let mut alarms = 0;
    while let Some((at, alarm)) = rig.next_alarm(rig.now + Duration::from_millis(2500)) {
        rig.now = rig.now.max(at);
        rig.etcd.alarm(&alarm, rig.now);
        rig.collect();
        alarms += usize::from(alarm == EtcdAlarm::Victims);
    }
    assert!((1..=3).contains(&alarms), "{alarms}");
    rig.feed();
    rig.run(Duration::from_secs(200));
    rig.received.retain(|line| line.contains('a'));
    assert!(rig.received.ends_with(&["MODIFIED a 131".to_owned()]));
}

#[test]
fn a_victim_gets_the_room_that_a_cancelled_watcher_leaves() {
    let mut rig = rig();
    let other = rig.watch(2);
    rig.write("a");
    rig.starve(Duration::from_secs(60));
    let own = rig.watch_of(PODS, "/registry/pods/shop/", 3);
    for _ in 0..80 {
        rig.write("a");
    }
    let waiting = |rig: &Rig| rig.etcd.streams().next().map(|(_, waiting, _)| waiting);
    assert_eq!(waiting(&rig), Some(128));
    rig.etcd.cancel(other, rig.now);
    rig.collect();
    let left = waiting(&rig).unwrap();
    assert!(left < 128);
    // Long before the send loop takes the next response.
    rig.run(Duration::from_millis(20));
    assert!(waiting(&rig).unwrap() > left);
    rig.etcd.cancel(own, rig.now);
}

#[test]
fn prev_kv_is_read_when_a_response_is_sent_and_nil_if_it_is_compacted_by_then() {
    let mut rig = rig();
    rig.write("a");
    rig.watch(3);
    rig.starve(Duration::from_secs(10));
    for _ in 0..3 {
        rig.write("a");
    }
    rig.etcd.compact(4);
    rig.feed();
    rig.run(Duration::from_secs(20));
    let mut received = rig.take();
    received.retain(|line| !line.starts_with("progress"));
    assert_eq!(
        received,
        ["MODIFIED a 3", "MODIFIED a 4 prevKV=nil", "MODIFIED a 5"],
        "the first was sent before"
    );
}

#[test]
fn a_watch_below_the_compacted_revision_is_refused_and_one_at_it_is_served() {
    let mut rig = rig();
    for _ in 0..5 {
        rig.write("a");
    }
    rig.etcd.compact(4);
    rig.watch(3);
    rig.run(Duration::from_millis(100));
    assert_eq!(rig.take(), ["compacted"]);
    rig.watch(4);
    rig.run(Duration::from_millis(100));
    assert_eq!(
        rig.take(),
        ["MODIFIED a 4 prevKV=nil", "MODIFIED a 5", "MODIFIED a 6"]
    );
}

/// Returns the texts that a watcher behind a full channel gets when its next revision is compacted, and the revision of
/// the lost write.
fn starved_and_compacted(defect: Option<Defect>) -> (Vec<String>, u64) {
    let mut rig = rig();
    if let Some(defect) = defect {
        rig.etcd.switch(defect, true);
    }
    rig.watch(2);
    rig.starve(Duration::from_secs(1));
    for _ in 0..140 {
        rig.write("a");
    }
    let deleted = rig.write("gone");
    rig.delete("gone");
    rig.write("a");
    // The victim's batch takes the first free slot. Then the watcher is behind, and the channel is full again.
    rig.etcd.compact(rig.etcd.revision());
    rig.run(Duration::from_secs(3));
    rig.feed();
    rig.run(Duration::from_secs(30));
    rig.write("a");
    rig.run(Duration::from_secs(1));
    (rig.take(), deleted)
}

#[test]
fn a_starved_watcher_is_cancelled_as_compacted_once_there_is_room() {
    let (received, _) = starved_and_compacted(None);
    assert!(
        received.iter().any(|l| l.starts_with("compacted")),
        "{received:?}"
    );
    assert!(!received.iter().any(|l| l.contains("gone")));
}

#[test]
fn etcd_17529_skips_what_a_starved_watcher_missed_without_a_notice() {
    let (received, _) = starved_and_compacted(Some(Defect::GapUnderStarvation));
    assert!(
        !received.iter().any(|l| l.starts_with("compacted")),
        "{received:?}"
    );
    assert!(!received.iter().any(|l| l.contains("gone")), "the gap");
    assert!(
        received.iter().rev().any(|l| l.starts_with("MODIFIED a")),
        "it goes on as if nothing had happened"
    );
    let last = received
        .iter()
        .rfind(|l| l.starts_with("MODIFIED"))
        .unwrap();
    assert_eq!(last, "MODIFIED a 145");
}

#[test]
fn progress_is_sent_each_interval_while_something_happens_elsewhere() {
    let mut rig = rig();
    rig.watch_of(MAPS, "/registry/configmaps/", 2);
    rig.write("a");
    rig.run(Duration::from_secs(6));
    assert_eq!(rig.take(), ["progress 2"]);
    rig.run(HOUR);
    assert!(rig.take().is_empty(), "nothing new, so no progress");
    rig.write("a");
    rig.run(Duration::from_secs(6));
    assert_eq!(rig.take(), ["progress 3"]);
}

#[test]
fn progress_is_skipped_once_after_an_event_and_not_lost() {
    let mut rig = rig();
    rig.watch(2);
    rig.watch_of(MAPS, "/registry/configmaps/", 2);
    rig.write("a");
    rig.run(Duration::from_secs(11));
    let received = rig.take();
    assert_eq!(
        received,
        ["ADDED a 2", "progress 2", "progress 2"],
        "of the quiet stream at the first tick, of the other at the second"
    );
}

#[test]
fn progress_on_request_waits_for_all_watchers_of_the_stream_to_be_synced() {
    let mut rig = rig();
    rig.write("a");
    rig.watch(2);
    rig.etcd.request_progress(key(PODS), rig.now);
    rig.collect();
    assert!(rig.take().is_empty(), "it is not synced yet");
    rig.run(Duration::from_millis(100));
    rig.etcd.request_progress(key(PODS), rig.now);
    rig.collect();
    rig.run(MOMENT);
    assert_eq!(rig.take(), ["ADDED a 2", "progress 2"]);
}

#[test]
fn etcd_15220_lets_progress_overtake_events() {
    let overtakes = |defect: bool| {
        let mut rig = rig_with(Defect::ProgressAheadOfEvents, defect);
        rig.watch(2);
        rig.starve(Duration::from_millis(100));
        for _ in 0..3 {
            rig.write("a");
        }
        rig.etcd.request_progress(key(PODS), rig.now);
        rig.collect();
        rig.run(Duration::from_secs(1));
        let received = rig.take();
        let progress = received
            .iter()
            .position(|l| l == "progress 4")
            .unwrap_or(99);
        let last_event = received.iter().position(|l| l == "MODIFIED a 4").unwrap();
        progress < last_event
    };
    assert!(overtakes(true));
    assert!(!overtakes(false));
}

#[test]
fn pr_17566_withholds_progress_from_an_idle_watch() {
    let received = |defect: bool| {
        let mut rig = rig_with(Defect::NoProgressForIdleWatch, defect);
        rig.write("a");
        // The watcher wants an old revision, and gets no event from it.
        rig.watch_of(MAPS, "/registry/configmaps/", 2);
        rig.etcd.request_progress(key(MAPS), rig.now);
        rig.run(Duration::from_millis(200));
        rig.take();
        rig.etcd.request_progress(key(MAPS), rig.now);
        rig.collect();
        rig.take()
    };
    assert_eq!(received(false), ["progress 2"]);
    assert!(received(true).is_empty());
}

#[test]
fn etcd_15271_starts_over_after_a_partition() {
    let received = |defect: bool| {
        let mut rig = rig_with(Defect::BackInTimeAfterPartition, defect);
        rig.watch(2);
        rig.write("a");
        rig.write("a");
        rig.take();
        rig.etcd.partition(SERVER, rig.now);
        rig.write("a");
        rig.run(MOMENT);
        assert!(rig.take().is_empty(), "the member is cut off");
        rig.etcd.heal(SERVER, rig.now);
        rig.collect();
        rig.run(Duration::from_millis(200));
        rig.take()
    };
    assert_eq!(received(false), ["MODIFIED a 4"]);
    assert_eq!(
        received(true),
        ["ADDED a 2", "MODIFIED a 3", "MODIFIED a 4"]
    );
}

#[test]
fn etcd_20221_sends_older_events_to_a_watch_on_a_future_revision() {
    let received = |defect: bool| {
        let mut rig = rig_with(Defect::OldEventsOnFutureWatch, defect);
        rig.write("a");
        rig.watch(10);
        rig.etcd.partition(SERVER, rig.now);
        rig.etcd.heal(SERVER, rig.now);
        rig.collect();
        rig.run(Duration::from_millis(200));
        rig.write("a");
        rig.take()
    };
    assert!(received(false).is_empty());
    assert_eq!(received(true), ["MODIFIED a 3"]);
}

#[test]
fn pr_15274_sends_recent_events_twice_to_a_watcher_that_catches_up() {
    let received = |defect: bool| {
        let mut rig = rig_with(Defect::DuplicateEvents, defect);
        rig.write("a");
        rig.run(Duration::from_millis(950));
        rig.write("a");
        rig.watch(2);
        rig.run(Duration::from_millis(100));
        rig.take()
    };
    assert_eq!(received(false), ["ADDED a 2", "MODIFIED a 3"]);
    assert_eq!(
        received(true),
        ["ADDED a 2", "MODIFIED a 3", "MODIFIED a 3"]
    );
}

/// Returns what a watch gets that starts at a deletion. etcd is compacted exactly at that deletion's revision, and
/// restarted if `restarts` is set.
fn watched_from_a_compacted_deletion(mut rig: Rig, restarts: bool) -> Vec<String> {
    rig.write("a");
    let deleted = rig.delete("a");
    rig.write("b");
    rig.etcd.compact(deleted);
    if restarts {
        rig.etcd.restart(false, rig.now);
    }
    rig.watch(deleted);
    rig.run(Duration::from_millis(100));
    rig.take()
}

#[test]
fn a_deletion_at_the_compacted_revision_is_lost_by_etcd_18089_and_after_a_restart_by_etcd_19179() {
    for (defect, restarts) in [
        (Defect::DeleteLostByCompactionAtIt, false),
        (Defect::DeleteLostByRestartAfterCompaction, true),
    ] {
        let received = |on| watched_from_a_compacted_deletion(rig_with(defect, on), restarts);
        assert_eq!(received(false), ["DELETED a 3 prevKV=nil", "ADDED b 4"]);
        assert_eq!(received(true), ["ADDED b 4"], "{defect:?}");
    }
}

#[test]
fn etcd_17780_lowers_the_revision_after_a_crash_in_a_compaction() {
    let revision = |defect: bool| {
        let mut rig = rig_with(Defect::RevisionDecreasesAfterCrash, defect);
        rig.write("b");
        rig.write("a");
        rig.delete("a");
        rig.etcd.restart(true, rig.now);
        rig.etcd.revision()
    };
    assert_eq!(revision(false), 4);
    assert_eq!(revision(true), 2);
}

#[test]
fn watches_are_cancelled_after_three_election_timeouts_without_a_leader() {
    let mut rig = rig();
    rig.watch(2);
    rig.etcd.lose_leader(rig.now);
    rig.collect();
    rig.run(Duration::from_millis(2900));
    assert!(rig.take().is_empty());
    rig.run(Duration::from_millis(200));
    assert_eq!(rig.take(), ["no leader"]);
    rig.watch(2);
    assert_eq!(rig.take(), ["no leader"], "nor is another one served");
    rig.etcd.elect_leader();
    rig.watch(2);
    rig.write("a");
    assert_eq!(rig.take(), ["ADDED a 2"]);
}

#[test]
fn without_a_leader_a_new_stream_is_refused_and_an_existing_one_accepts_watches() {
    let mut rig = rig();
    rig.watch(2);
    rig.etcd.lose_leader(rig.now);
    rig.collect();
    rig.run(Duration::from_millis(900));
    let early = rig.watch_of(MAPS, "/registry/configmaps/", 2);
    rig.etcd.cancel(early, rig.now);
    assert!(rig.take().is_empty(), "nobody knows yet");
    rig.run(Duration::from_millis(200));
    rig.watch_of(MAPS, "/registry/configmaps/", 2);
    assert_eq!(rig.take(), ["no leader"]);
    rig.watch(2);
    assert!(rig.take().is_empty(), "its stream is there");
    rig.run(Duration::from_secs(2));
    assert_eq!(rig.take(), ["no leader", "no leader"]);
}

#[test]
fn a_short_loss_of_the_leader_is_not_noticed_by_watches() {
    let mut rig = rig();
    rig.watch(2);
    rig.etcd.lose_leader(rig.now);
    rig.collect();
    rig.run(Duration::from_secs(2));
    rig.etcd.elect_leader();
    rig.run(Duration::from_secs(5));
    rig.write("a");
    assert_eq!(rig.take(), ["ADDED a 2"]);
}

#[test]
fn a_restore_goes_back_and_with_a_bump_marks_all_history_as_compacted() {
    for (bump, revision, compacted) in [(None, 2, 0), (Some(1000), 1002, 1002)] {
        let mut rig = rig();
        rig.watch(2);
        rig.write("a");
        rig.etcd.take_snapshot();
        rig.write("b");
        rig.take();
        rig.etcd.restore(bump, rig.now);
        rig.collect();
        assert_eq!(rig.take(), ["broken"]);
        assert_eq!(
            (rig.etcd.revision(), rig.etcd.compacted()),
            (revision, compacted)
        );
        assert!(rig.etcd.get("/registry/pods/shop/b").is_none());
        rig.watch(4);
        rig.run(Duration::from_millis(200));
        let received = rig.take();
        if bump.is_some() {
            assert_eq!(received, ["compacted"]);
        } else {
            rig.write("c");
            assert!(rig.take().is_empty(), "revision 3 came again unseen");
            rig.write("d");
            assert_eq!(rig.take(), ["ADDED d 4"]);
        }
    }
}

#[test]
fn a_round_catches_up_512_watchers_and_the_next_one_the_rest() {
    /// The number of watchers: more than the 512 of one round, fewer than those of two. The number has no other source.
    const WATCHERS: u16 = 600;
    let mut rig = rig();
    rig.write("a");
    rig.take();
    for server in 0..WATCHERS {
        // Each has its own stream, so that no channel is full.
        let stream = StreamKey {
            server: ServerId(server),
            ..key(PODS)
        };
        let request = WatchRequest {
            stream,
            prefix: "/registry/pods/".to_owned(),
            start: 1,
            progress_notify: false,
            requires_leader: true,
        };
        rig.etcd.watch(request, rig.now);
        rig.collect();
    }
    // The loop runs every 100 ms, and again at once while it makes progress.
    rig.run(Duration::from_micros(98_900));
    assert_eq!(rig.take().len(), 0);
    rig.run(Duration::from_micros(600));
    assert_eq!(rig.take().len(), 512);
    rig.run(Duration::from_millis(2));
    assert_eq!(rig.take().len(), usize::from(WATCHERS) - 512);
}
