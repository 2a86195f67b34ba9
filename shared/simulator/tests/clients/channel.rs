//! What becomes of the ends of a watch in the channel of a Go program.

use watchscope_simulator::{ClientGo, ClientPhase, Cut, Fault, Program, Received, Target, WireEnd};

use crate::stage::Stage;

/// Returns what the program of a version meets at the end of its watch that a fault causes: on the wire, in the log, and
/// in the channel. Also returns what the program requested then.
fn met(version: ClientGo, fault: Fault) -> (String, Vec<String>) {
    let mut stage = Stage::quiet();
    stage.create("a");
    stage.world.tell_received();
    let client = stage.start(&Program::Reflector { version });
    stage.run_secs(5);
    stage.asked();
    stage.world.inject(fault);
    stage.write("a", 1);
    stage.run_secs(5);
    assert_eq!(stage.report(client).phase, ClientPhase::Watching);
    assert!(stage.compare(client).agrees());
    let received = std::iter::from_fn(|| stage.world.next_received());
    let ends: Vec<String> = received
        .filter_map(|record| match record.received {
            Received::ChannelClosed(end) => {
                Some(format!("{:?} {:?} {:?}", end.wire, end.line, end.error))
            }
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    (ends.concat(), stage.asked())
}

fn target() -> Target {
    Target::All
}

#[test]
fn five_ends_close_the_channel_without_a_word_and_the_program_resumes() {
    let version = ClientGo::minor(34);
    let ends = [
        Fault::CloseStreams { target: target() },
        Fault::Cut {
            target: target(),
            cut: Cut::Reset,
        },
        Fault::Cut {
            target: target(),
            cut: Cut::Eof,
        },
        Fault::GoAway {
            target: target(),
            cut: Some(Cut::Eof),
        },
        Fault::GoAway {
            target: target(),
            cut: Some(Cut::Reset),
        },
        Fault::TearFrame {
            target: target(),
            cut: Cut::Eof,
        },
    ];
    let met = ends.map(|fault| {
        let (end, asked) = met(version, fault);
        assert_eq!(asked, ["watch rv=14 bookmarks"], "{end}");
        end
    });
    insta::assert_snapshot!(met.join("\n"), @r"
    InOrder None None
    Reset Some(Verbose(5)) None
    Eof Some(Verbose(1)) None
    GoAway Some(Verbose(5)) None
    GoAway Some(Verbose(5)) None
    Eof Some(Verbose(1)) None
    ");
}

#[test]
fn two_ends_put_an_error_into_the_channel_and_the_program_lists() {
    let version = ClientGo::minor(34);
    for (fault, wire) in [
        (
            Fault::ResetStreams {
                target: target(),
                code: 2,
            },
            WireEnd::StreamReset,
        ),
        (
            Fault::GarbleFrame { target: target() },
            WireEnd::Undecodable,
        ),
    ] {
        let (end, asked) = met(version, fault);
        assert_eq!(end, format!("{wire:?} None Some(500)"));
        assert!(asked[0].starts_with("list rv="), "{asked:?}");
    }
}
