//! The rules of readers: the messages that a viewer gets for the messages that it sends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod world;

use watchscope_log::{BEHIND_US, MAX_BACKFILLS, Parting, Refusal, Step};
use watchscope_model::Seq;
use watchscope_model::chapter::decode_chapter;
use watchscope_model::wire::{
    Acknowledge, Backfill, CommandDone, Hello, MAX_MESSAGE_BYTES, PROTOCOL_VERSION, Pause,
    Subscribe, WINDOW_BYTES,
};

use world::{START, Viewer, World, note};

/// The ring of most tests, in bytes: 64 MiB.
const RING: u64 = 64 << 20;

/// An empty log with a ring of `ring_bytes`, and a viewer that waits at its head.
fn live(ring_bytes: u64) -> (World, Viewer) {
    let mut world = World::new(ring_bytes);
    let viewer = Viewer::joined(&mut world);
    (world, viewer)
}

/// Asserts that the viewer has the log's fold.
fn assert_whole(world: &World, viewer: &Viewer) {
    assert_eq!(viewer.page.state, world.folded(world.head()));
}

#[test]
fn a_new_viewer_gets_welcome_snapshot_and_then_live() {
    let mut world = World::new(RING);
    world.changes(10);
    let mut viewer = Viewer::connect(&world);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "welcome heartbeat snapshot");
    world.changes(3);
    world.changes(4);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "segment*2");
    assert_whole(&world, &viewer);
    let welcome = viewer.page.welcome.unwrap();
    assert_eq!(
        (welcome.first, welcome.head, welcome.first_at),
        (Seq(1), Seq(11), START)
    );
}

#[test]
fn a_snapshot_larger_than_a_message_comes_in_pieces_before_any_segment() {
    let mut world = World::new(RING);
    world.changes(20_000);
    let mut viewer = Viewer::connect(&world);
    viewer.fill(&mut world);
    world.changes(1);
    viewer.settle(&mut world);
    let story = viewer.page.tell();
    assert!(
        story.starts_with("welcome heartbeat piece*") && story.ends_with(" snapshot segment"),
        "{story}"
    );
    assert_whole(&world, &viewer);
}

#[test]
fn a_viewer_reads_on_across_chapters_without_their_openings() {
    let (mut world, mut viewer) = live(RING);
    let openings = |world: &World| world.ring.chapter(world.head()).unwrap().first;
    let before = openings(&world);
    for _ in 0..1_200 {
        world.changes(100);
        world.pass_ms(16);
        viewer.settle(&mut world);
    }
    assert!(openings(&world) > before);
    assert_eq!(viewer.page.tell(), "segment*1200");
    assert_whole(&world, &viewer);
}

#[test]
fn a_viewer_that_acknowledges_nothing_gets_one_window() {
    let mut world = World::new(RING);
    let mut viewer = Viewer::connect(&world);
    let mut sent = viewer.fill(&mut world);
    world.notes(3 << 20);
    sent += viewer.fill(&mut world);
    assert!(sent <= WINDOW_BYTES && sent > WINDOW_BYTES - MAX_MESSAGE_BYTES as u64);
    assert_eq!(viewer.fill(&mut world), 0);
    viewer.deliver(usize::MAX);
    viewer.acknowledge(&world);
    assert!(viewer.fill(&mut world) > WINDOW_BYTES / 2);
}

/// Simulates a link of `bytes_per_s`, a page that acknowledges four times a second, and a log that writes `log` bytes
/// per second.
fn run_link(world: &mut World, viewer: &mut Viewer, seconds: u64, bytes_per_s: u64, log: u64) {
    let mut credit = 0;
    for tick in 0..seconds * 20 {
        world.notes(log / 20);
        world.pass_ms(50);
        viewer.fill(world);
        credit += bytes_per_s / 20;
        while let Some(message) = viewer.wire.front()
            && message.len() as u64 <= credit
        {
            credit -= message.len() as u64;
            viewer.deliver(1);
        }
        if viewer.wire.is_empty() {
            credit = 0;
        }
        if tick % 5 == 4 {
            viewer.acknowledge(world);
        }
    }
}

#[test]
fn a_viewer_slower_than_the_log_is_moved_to_the_head_and_never_far_behind() {
    let (mut world, mut viewer) = live(RING);
    run_link(&mut world, &mut viewer, 30, 20_000, 100_000);
    assert!(
        (2..=6).contains(&viewer.page.moved.len()),
        "{:?}",
        viewer.page.moved
    );
    let last = viewer.page.records.last().unwrap();
    assert!(world.now.micros_since(last.at) < BEHIND_US + 7_000_000);
    // A faster link lets the viewer catch up.
    run_link(&mut world, &mut viewer, 10, 10_000_000, 100_000);
    viewer.settle(&mut world);
    assert_whole(&world, &viewer);
}

#[test]
fn a_viewer_over_4_mib_behind_is_moved_in_any_time() {
    let (mut world, mut viewer) = live(RING);
    world.notes(5 << 20);
    viewer.fill(&mut world);
    viewer.deliver(usize::MAX);
    assert_eq!(viewer.page.moved.len(), 0);
    // After the acknowledgement the window is free, and the viewer is moved. Records that it was not sent are past
    // ones.
    viewer.acknowledge(&world);
    world.notes(3 << 20);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.moved.len(), 1);
    assert_whole(&world, &viewer);
}

#[test]
fn a_viewer_that_catches_up_is_not_moved() {
    let (mut world, mut viewer) = live(RING);
    // The viewer reads nothing for 4 s; then its link is ten times as fast as the log.
    for _ in 0..80 {
        world.notes(10_000);
        world.pass_ms(50);
        viewer.fill(&mut world);
    }
    run_link(&mut world, &mut viewer, 10, 2_000_000, 200_000);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.moved, []);
    assert_whole(&world, &viewer);
}

#[test]
fn a_viewer_far_behind_whose_lag_shrinks_is_not_moved() {
    let mut world = World::new(RING);
    world.changes(40_000);
    let mut viewer = Viewer::connect(&world);
    // The snapshot alone takes about 20 s on this link. After it the link is slightly faster than the log.
    run_link(&mut world, &mut viewer, 80, 100_000, 50_000);
    assert_eq!(viewer.page.moved, []);
    let last = viewer.page.records.last().unwrap();
    assert!(world.now.micros_since(last.at) < 1_000_000);
}

#[test]
fn a_snapshot_in_transit_is_never_replaced_and_lag_counts_from_its_acknowledgement() {
    let mut world = World::new(RING);
    world.changes(40_000);
    let mut viewer = Viewer::connect(&world);
    // The snapshot takes 20 s, far over the limit of a move, and the log continues meanwhile.
    for _ in 0..20 {
        viewer.fill(&mut world);
        viewer.deliver(1);
        viewer.acknowledge(&world);
        world.notes(200_000);
        world.pass_ms(1_000);
    }
    while viewer.page.live_seq().is_none() {
        viewer.fill(&mut world);
        viewer.deliver(1);
        viewer.acknowledge(&world);
    }
    viewer.settle(&mut world);
    let story = viewer.page.tell();
    assert!(viewer.page.moved.is_empty(), "{story}");
    assert_eq!(story.matches("snapshot").count(), 1, "{story}");
    assert_whole(&world, &viewer);
}

#[test]
fn a_viewer_whose_next_record_was_dropped_is_moved_even_within_the_lag_limits() {
    let (mut world, mut viewer) = live(3 << 20);
    world.notes(8 << 20);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "moved snapshot");
    assert_whole(&world, &viewer);
}

#[test]
fn moves_of_a_viewer_are_counted_and_a_pause_is_not_its_fault() {
    let (mut world, mut viewer) = live(3 << 20);
    let joined = viewer.reader.served();
    assert_eq!((joined.moves, joined.moved_past), (0, 0));
    assert_eq!(joined.unacknowledged_bytes, 0);
    world.changes(1);
    world.pass_ms(100);
    viewer.fill(&mut world);
    let followed = viewer.reader.served();
    assert_eq!(followed.messages, joined.messages + 1);
    assert_eq!(
        followed.unacknowledged_bytes,
        followed.bytes - joined.bytes,
        "sent and not acknowledged"
    );
    viewer.settle(&mut world);

    viewer.pause(&world, true);
    world.changes(3);
    viewer.pause(&world, false);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.moved.len(), 1);
    assert_eq!(viewer.reader.served().moves, 0);

    world.notes(8 << 20);
    viewer.settle(&mut world);
    let moved = &viewer.page.moved[1];
    let served = viewer.reader.served();
    assert_eq!(
        (served.moves, served.moved_past),
        (1, moved.to.0 - moved.from.0 + 1)
    );
}

#[test]
fn the_wait_of_a_segment_is_reported_only_with_that_segment() {
    let (mut world, mut viewer) = live(RING);
    world.changes(1);
    world.pass_ms(70);
    let step = viewer.reader.next(&world.ring, world.now);
    assert!(matches!(step, Step::Send(_)), "{step:?}");
    assert_eq!(viewer.reader.served().waited_us, Some(70_000));
    let step = viewer.reader.next(&world.ring, world.now);
    assert!(matches!(step, Step::Wait { .. }), "{step:?}");
    assert_eq!(viewer.reader.served().waited_us, None);
}

#[test]
fn a_viewer_that_comes_back_soon_continues_from_its_last_record() {
    let mut world = World::new(RING);
    let mut viewer = Viewer::connect(&world);
    world.changes(5);
    viewer.settle(&mut world);
    viewer.page.tell();
    viewer.reconnect(&world);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "resumed heartbeat");
    world.changes(5);
    world.pass_ms(4_000);
    viewer.reconnect(&world);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "resumed heartbeat segment");
    assert_whole(&world, &viewer);
}

#[test]
fn a_viewer_that_comes_back_too_late_joins_at_the_head() {
    let (mut world, mut viewer) = live(RING);
    world.changes(5);
    world.pass_ms(6_000);
    viewer.reconnect(&world);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "welcome heartbeat snapshot");
    world.notes(5 << 20);
    viewer.reconnect(&world);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "welcome heartbeat snapshot");
    assert_whole(&world, &viewer);
}

#[test]
fn a_viewer_that_comes_back_gets_the_range_that_the_ring_has_dropped() {
    let (mut world, mut viewer) = live(3 << 20);
    world.notes(8 << 20);
    viewer.reconnect(&world);
    viewer.settle(&mut world);
    let gone = format!("expired:2-{}", world.ring.first().0 - 1);
    assert_eq!(
        viewer.page.tell(),
        format!("welcome {gone} heartbeat snapshot")
    );
    // Counts show what the dropped records were: the first opening held has the counts of all records before it.
    let chapter = world.ring.chapter(world.ring.first()).unwrap();
    let (opening, _) = decode_chapter(&chapter.opening).unwrap();
    assert_eq!(opening.state, world.folded(Seq(chapter.first.0 - 1)));
}

#[test]
fn a_position_in_another_run_or_log_or_in_the_future_does_not_resume() {
    let world = World::new(RING);
    let mut restarted = World::of_epoch("e2", RING);
    let mut viewer = Viewer::connect(&world);
    viewer.settle(&mut World::new(RING));
    viewer.page.tell();
    viewer.reconnect(&restarted);
    viewer.settle(&mut restarted);
    assert_eq!(viewer.page.tell(), "welcome heartbeat snapshot");
    assert_eq!(viewer.page.welcome.as_ref().unwrap().epoch, "e2".into());
    for (log, last) in [("demo", 99), ("other", 1)] {
        let mut viewer = Viewer::silent();
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            log: Some(log.into()),
            epoch: Some("e2".into()),
            last: Some(Seq(last)),
        };
        viewer.say(&restarted, hello);
        viewer.settle(&mut restarted);
        assert_eq!(
            viewer.page.tell(),
            "welcome heartbeat snapshot",
            "{log} {last}"
        );
    }
}

#[test]
fn a_hidden_tab_gets_heartbeats_only_and_moves_to_the_head_when_it_comes_back() {
    let (mut world, mut viewer) = live(RING);
    viewer.pause(&world, true);
    for _ in 0..60 {
        world.changes(2);
        world.pass_ms(1_000);
        viewer.settle(&mut world);
    }
    assert_eq!(viewer.page.tell(), "heartbeat*3");
    viewer.pause(&world, false);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "moved snapshot");
    assert_eq!(
        (viewer.page.moved[0].from, viewer.page.moved[0].to),
        (Seq(2), Seq(121))
    );
    // Nothing happened while it was hidden, so it is not moved.
    viewer.pause(&world, true);
    viewer.pause(&world, false);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "");
    world.changes(1);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "segment");
}

#[test]
fn a_viewer_subscribed_to_other_logs_gets_nothing_live_until_it_comes_back() {
    let (mut world, mut viewer) = live(RING);
    viewer.say(
        &world,
        Subscribe {
            logs: vec!["other".into()],
        },
    );
    world.changes(2);
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "");
    viewer.say(
        &world,
        Subscribe {
            logs: vec!["other".into(), "demo".into()],
        },
    );
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "moved snapshot");
}

#[test]
fn past_chapters_come_newest_first_until_the_ring_has_dropped_them() {
    let mut world = World::new(6 << 20);
    world.changes(1_000);
    world.notes(8 << 20);
    let mut viewer = Viewer::joined(&mut world);
    let mut before = viewer.page.live_seq().unwrap();
    while viewer.page.expired.is_empty() {
        viewer.backfill(&world, before);
        viewer.settle(&mut world);
        if let Some(chapter) = viewer.page.chapters.last()
            && viewer.page.expired.is_empty()
        {
            assert_eq!(chapter.before, before);
            assert_eq!(chapter.state, world.folded(Seq(chapter.first.0 - 1)));
            assert_eq!(chapter.records, world.written(chapter.first, before));
            before = chapter.first;
        }
    }
    assert!(viewer.page.chapters.len() > 2);
    assert_eq!(before, world.ring.first());
    let expired = &viewer.page.expired[0];
    assert_eq!((expired.first, expired.last), (Seq(1), Seq(before.0 - 1)));
}

#[test]
fn a_chapter_is_cut_at_before_and_the_open_one_comes_too() {
    let mut world = World::new(RING);
    world.changes(10);
    world.changes(10);
    let mut viewer = Viewer::joined(&mut world);
    for before in [22, 12, 15, 2] {
        viewer.backfill(&world, Seq(before));
        viewer.settle(&mut world);
        let chapter = viewer.page.chapters.last().unwrap();
        assert_eq!((chapter.first, chapter.before), (Seq(1), Seq(before)));
        assert_eq!(chapter.records, world.written(Seq(1), Seq(before)));
    }
}

#[test]
fn backfills_of_another_run_and_of_nothing_are_answered_as_expired() {
    let (mut world, mut viewer) = live(RING);
    viewer.say(
        &world,
        Backfill {
            log: "demo".into(),
            epoch: "e0".into(),
            before: Seq(50),
        },
    );
    viewer.backfill(&world, Seq(1));
    viewer.settle(&mut world);
    assert_eq!(viewer.page.tell(), "expired:1-49 expired:1-0");
    assert_eq!(viewer.page.expired[0].epoch, "e0".into());
}

#[test]
fn live_data_goes_between_the_pieces_of_the_past() {
    let mut world = World::new(RING);
    world.changes(20_000);
    let mut viewer = Viewer::joined(&mut world);
    viewer.backfill(&world, viewer.page.live_seq().unwrap());
    while viewer.page.chapters.is_empty() {
        world.changes(1);
        // Two messages a segment, one at a time, as a socket takes them.
        for _ in 0..2 {
            if let Step::Send(message) = viewer.reader.next(&world.ring, world.now) {
                viewer.page.take(&message);
                viewer.acknowledge(&world);
            }
        }
    }
    let story = viewer.page.tell();
    assert!(
        story.starts_with("segment piece segment piece segment"),
        "{story}"
    );
    assert!(viewer.page.live_during_past > 3);
}

#[test]
fn past_data_leaves_half_the_window_to_live_data() {
    let mut world = World::new(RING);
    world.changes(40_000);
    let mut viewer = Viewer::joined(&mut world);
    viewer.backfill(&world, viewer.page.live_seq().unwrap());
    let sent = viewer.fill(&mut world);
    assert!(sent > WINDOW_BYTES / 4 && sent <= WINDOW_BYTES / 2);
    world.changes(10);
    assert!(viewer.fill(&mut world) > 0);
}

#[test]
fn a_chapter_dropped_while_it_is_sent_is_answered_as_expired() {
    let mut world = World::new(4 << 20);
    world.changes(30_000);
    let mut viewer = Viewer::joined(&mut world);
    viewer.backfill(&world, Seq(10));
    viewer.fill(&mut world);
    world.notes(8 << 20);
    viewer.deliver(usize::MAX);
    viewer.acknowledge(&world);
    viewer.settle(&mut world);
    assert!(viewer.page.chapters.is_empty() || viewer.page.expired.is_empty());
    assert_eq!(viewer.page.chapters.len() + viewer.page.expired.len(), 1);
}

#[test]
fn a_segment_larger_than_a_message_comes_in_pieces_and_past_data_continues_after_it() {
    let mut world = World::new(RING);
    world.changes(20_000);
    let mut viewer = Viewer::joined(&mut world);
    viewer.backfill(&world, viewer.page.live_seq().unwrap());
    viewer.fill(&mut world);
    world.push(note(200_000));
    world.seal();
    viewer.settle(&mut world);
    assert_eq!(viewer.page.chapters.len(), 1);
    assert_whole(&world, &viewer);
}

#[test]
fn a_heartbeat_comes_every_20_s_even_if_the_window_is_full() {
    let mut world = World::new(RING);
    let mut viewer = Viewer::connect(&world);
    world.notes(2 << 20);
    viewer.fill(&mut world);
    viewer.wire.clear();
    for _ in 0..65 {
        world.pass_ms(1_000);
        viewer.fill(&mut world);
    }
    viewer.deliver(usize::MAX);
    assert_eq!(viewer.page.tell(), "heartbeat*3");
}

#[test]
fn the_machine_returns_the_time_of_its_next_call() {
    let (mut world, mut viewer) = live(RING);
    let wait = |until| Step::Wait {
        until: Some(until),
        needs_snapshot: false,
    };
    assert_eq!(
        viewer.reader.next(&world.ring, world.now),
        wait(START.plus_millis(20_000))
    );
    world.notes(2 << 20);
    viewer.fill(&mut world);
    assert_eq!(
        viewer.reader.next(&world.ring, world.now),
        wait(START.plus_millis(1_000))
    );
}

#[test]
fn a_goodbye_is_the_last_message() {
    let (mut world, mut viewer) = live(RING);
    world.changes(1);
    viewer.reader.part(Parting {
        reason: "going-away".into(),
        retry_after_ms: Some(900),
    });
    viewer.fill(&mut world);
    viewer.deliver(usize::MAX);
    assert_eq!(viewer.page.tell(), "bye:going-away");
    assert_eq!(viewer.end.as_deref(), Some("going-away"));
}

#[test]
fn a_viewer_of_another_protocol_version_is_sent_away() {
    let mut world = World::new(RING);
    let mut viewer = Viewer::silent();
    let hello = Hello {
        protocol: PROTOCOL_VERSION + 1,
        log: None,
        epoch: None,
        last: None,
    };
    viewer.say(&world, hello);
    viewer.fill(&mut world);
    viewer.deliver(usize::MAX);
    assert_eq!(viewer.page.tell(), "bye:version");
    assert_eq!(viewer.end.as_deref(), Some("version"));
}

#[test]
fn messages_that_break_the_protocol_are_refused() {
    let mut world = World::new(RING);
    let mut silent = Viewer::silent();
    let early = silent.try_say(&world, Acknowledge { bytes: 0 });
    assert_eq!(early, Err(Refusal::Hello));
    let mut viewer = Viewer::connect(&world);
    let again = viewer.page.hello();
    assert_eq!(viewer.try_say(&world, again), Err(Refusal::Hello));
    viewer.settle(&mut world);
    let bytes = viewer.page.bytes + 1;
    assert_eq!(
        viewer.try_say(&world, Acknowledge { bytes }),
        Err(Refusal::Acknowledged {
            acknowledged: bytes
        })
    );
    for _ in 0..MAX_BACKFILLS {
        viewer.backfill(&world, Seq(2));
    }
    let one_more = Backfill {
        log: "demo".into(),
        epoch: "e1".into(),
        before: Seq(2),
    };
    assert_eq!(viewer.try_say(&world, one_more), Err(Refusal::Backfills));
    assert!(matches!(
        viewer.reader.receive(&[0xff; 12], &world.ring, world.now),
        Err(Refusal::Undecodable(_))
    ));
    let unknown_kind = [99, 0];
    assert_eq!(
        viewer.reader.receive(&unknown_kind, &world.ring, world.now),
        Ok(None)
    );
}

#[test]
fn while_64_answers_wait_only_messages_without_an_answer_are_taken() {
    let mut world = World::new(RING);
    let mut viewer = Viewer::connect(&world);
    viewer.settle(&mut world);
    for command in 0..64 {
        viewer.reader.tell(CommandDone::of(command, None));
    }
    let bytes = viewer.page.bytes;
    assert_eq!(viewer.try_say(&world, Acknowledge { bytes }), Ok(()));
    let pause = Pause { paused: true };
    assert_eq!(viewer.try_say(&world, pause), Ok(()));
    let backfill = Backfill {
        log: "demo".into(),
        epoch: "e1".into(),
        before: Seq(2),
    };
    assert_eq!(viewer.try_say(&world, backfill), Err(Refusal::Unread));
}
