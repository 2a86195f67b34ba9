//! Rows of the failure catalogue about the start of watches and their progress: bookmarks, initial events, the first
//! event.

use std::time::Duration;

use watchscope_model::Row::{F35, F37, F45};
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_simulator::{ClientPhase, Cut, Fault, ServerId};

use super::{
    FIRST, MAPS_TYPE, Row, Wire, close, correct, create, cut, delete, informer, informer_of,
    inject, lift, naive, poller, polling, reflector, write,
};

pub(super) fn rows() -> Vec<Row> {
    vec![f35(), f37(), f45()]
}

fn maps() -> String {
    MAPS_TYPE.to_owned()
}

pub(super) fn f35() -> Row {
    let behind = |server: ServerId| Fault::FreezeCaches {
        server,
        resource: Some(maps()),
    };
    Row::new(F35)
        .client(informer_of(30), naive("resuming", ClientPhase::Watching, 1))
        .client(poller(), polling("poller"))
        .at(3, [inject(Fault::BookmarksAhead { resource: maps() })])
        .at(50, [inject(behind(FIRST)), delete("a")])
        .at(70, [cut(Cut::Reset)])
        .at(75, [lift(behind(FIRST))])
        .says(
            70,
            "A bookmark said that all events up to now were sent. A watch from there misses the events that were \
             still on their way.",
        )
        .at(80, [inject(Fault::NoEndBookmark { resource: maps() })])
        .client_at(
            82,
            informer(),
            naive("never-synced", ClientPhase::Syncing, 0).missing(2),
        )
        .wire([
            Wire::Bookmarks(1..=3),
            Wire::Ended(Cause::TcpReset, 1..=1),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
            Wire::Lists(1..=1),
        ])
        .lasts(100)
}

fn f37() -> Row {
    let many: Vec<_> = (1..=250).map(|n| create(&format!("y{n}"))).collect();
    let mut row = Row::new(F37)
        .config(|config| config.apiserver.initial_event_latency = Duration::from_millis(10))
        .at(0, many)
        .client_at(
            8,
            informer(),
            naive("watch-list", ClientPhase::Syncing, 0).missing(253).asking(20..=60),
        )
        .client_at(8, reflector(34), correct("list-and-watch"))
        .says(
            8,
            "Sending the existing objects takes seconds. Meanwhile more changes come than the watch's buffer holds.",
        )
        .by_watch_list()
        .wire([Wire::Ended(Cause::End, 2..=20), Wire::Lists(0..=1)])
        .lasts(30);
    for n in 1..=590 {
        row = row.at_ms(500 + n * 50, [write("b", n)]);
    }
    row
}

pub(super) fn f45() -> Row {
    Row::new(F45)
        .client(informer_of(30), naive("resuming", ClientPhase::Watching, 1))
        .client(poller(), polling("poller"))
        .at(3, [inject(Fault::StartRace { resource: maps() })])
        // With this write it resumes from just before the event it misses, whatever else was written since it listed.
        .at(4, [write("b", 1)])
        .at(5, [close()])
        .at(6, [delete("a")])
        .at(7, [write("b", 2)])
        .wire([
            Wire::Ended(Cause::End, 1..=1),
            Wire::Changes(ChangeType::Deleted, Origin::Live, 0..=0),
            Wire::Changes(ChangeType::Modified, Origin::Live, 2..=2),
        ])
        .lasts(30)
}
