//! What a lesson asks of a person: its goals can be reached, and its questions' right answers are what the run shows.

use std::time::Duration;

use watchscope_model::belief::Belief;
use watchscope_model::vocabulary::{CachePhase, ChangeType};
use watchscope_model::{Entry, Event, Inside, Time};
use watchscope_scenarios::lessons::{
    self, Aim, Bars, Form, Lesson, LessonPlayer, Run, lesson, lessons,
};
use watchscope_simulator::{ChannelEnd, Received, ReceivedRecord, Tallied, TallyRecord};
use watchscope_timeline::draw;
use watchscope_timeline::format::text_width;
use watchscope_timeline::inside::stretches::haunted_by;
use watchscope_timeline::lanes::{Density, LayerRows, RowKind};
use watchscope_timeline::records::RECORDS;
use watchscope_timeline::scene::Align;
use watchscope_timeline::{LaneId, Lanes, Picture, Primitive, Px, Token, View};

use crate::lessons::store_of;
use crate::moved::{player, secs};

/// Plays a lesson with breaks at these times, to its end. Returns since when each goal is reached, in seconds.
fn reached(name: &str, breaks: &[(f64, usize)]) -> Vec<Option<i64>> {
    let lesson = lesson(name).unwrap();
    let (goals, lasts) = (lesson.goals.clone(), lesson.lasts);
    let mut player = player(lesson);
    let mut entries = Vec::new();
    for (at_s, place) in breaks {
        entries.extend(player.advance(secs(*at_s)));
        player.break_it(*place);
    }
    // Later acts of the script may end what a goal wants, as in away.
    entries.extend(player.advance(lasts));
    let begin = player.time(Duration::ZERO);
    let store = store_of(&entries, begin);
    let at = |(place, aim): (usize, Aim)| match aim {
        Aim::Ghosts(client, ghosts) => {
            let at = haunted_by(&store, client, ghosts, player.now())?;
            Some(at.micros_since(begin) / 1_000_000)
        }
        Aim::Moment(_) => Some(i64::try_from(player.reached(place)?.as_secs()).unwrap()),
    };
    let goals = goals.iter().map(|goal| goal.shows).enumerate();
    goals.map(at).collect()
}

#[test]
fn a_run_as_written_reaches_no_goal() {
    for lesson in lessons() {
        assert!(!lesson.goals.is_empty(), "{}", lesson.name);
        let none = vec![None; lesson.goals.len()];
        assert_eq!(reached(lesson.name, &[]), none, "{}", lesson.name);
        assert!(lesson.goals.iter().all(|goal| goal.clicks > 0));
    }
}

#[test]
fn the_goal_of_away_is_reached_with_two_clicks_and_with_one() {
    let (end_watches, delete_stock) = (0, 1);
    let two = reached("away", &[(20.0, end_watches), (21.0, delete_stock)]);
    assert_eq!(two, [Some(21), Some(21)]);
    assert_eq!(reached("away", &[(20.0, delete_stock)]), [None, None]);
    assert_eq!(reached("away", &[(9.0, delete_stock)]), [Some(9), Some(9)]);
}

#[test]
fn the_goals_of_watch_event_need_the_right_moment_for_one_click() {
    let end_watches = 3;
    assert_eq!(
        reached("watch-event", &[(12.0, end_watches)]),
        [Some(12), None]
    );
    assert_eq!(
        reached("watch-event", &[(9.4, end_watches)]),
        [None, Some(9)]
    );
    assert_eq!(reached("watch-event", &[(4.5, end_watches)]), [None, None]);
    assert_eq!(reached("watch-event", &[(16.0, end_watches)]), [None, None]);
}

#[test]
fn the_goals_of_expired_are_reached_by_three_clicks_or_by_one_in_the_outage() {
    let (reset, forget, delete_stock) = (0, 1, 3);
    let at = 52.0;
    let three = reached("expired", &[(at, reset), (at, delete_stock), (at, forget)]);
    assert!(three[0].is_some(), "{three:?}");
    let one = reached("expired", &[(11.5, delete_stock)]);
    assert!(one[1].is_some(), "{one:?}");
    assert_eq!(reached("expired", &[(52.0, delete_stock)]), [None, None]);
}

#[test]
fn the_goals_of_ghost_are_reached_by_one_click_each() {
    let delete_web_0 = 3;
    assert_eq!(reached("ghost", &[(12.0, delete_web_0)]), [Some(12), None]);
    assert_eq!(reached("ghost", &[(4.0, delete_web_0)]), [None, Some(4)]);
}

#[test]
fn the_goals_of_three_tries_need_the_right_line_and_the_second_needs_it_in_time() {
    let (short_sleep, short_timer, resumes) = (0, 1, 2);
    for at in [3.0, 12.5, 17.0] {
        for wrong in [short_sleep, short_timer] {
            let goals = reached("three-tries", &[(at, wrong)]);
            assert_eq!(goals, [None, None], "{wrong} at {at} s");
        }
    }
    assert_eq!(
        reached("three-tries", &[(3.0, resumes)]),
        [Some(11), Some(11)]
    );
    for late in [12.5, 17.0] {
        let goals = reached("three-tries", &[(late, resumes)]);
        assert_eq!(goals, [Some(25), None], "at {late} s");
    }
    assert_eq!(reached("three-tries", &[(27.0, resumes)]), [None, None]);
}

#[test]
fn the_goals_of_quiet_need_a_restart_between_bookmarks_and_an_event_that_etcd_still_has() {
    let (restart, write_event) = (0, 1);
    assert_eq!(reached("quiet", &[(400.0, restart)]), [Some(403), None]);
    // Right after its bookmark marks knows all that the new process knows.
    assert_eq!(reached("quiet", &[(183.0, restart)]), [None, None]);
    assert_eq!(reached("quiet", &[(400.0, write_event)]), [None, Some(662)]);
    // etcd forgets at 10 minutes what was there at 5.
    assert_eq!(reached("quiet", &[(200.0, write_event)]), [None, None]);
    assert_eq!(reached("quiet", &[(669.0, write_event)]), [None, None]);
}

/// The requests of a client of a lesson with the time of each in seconds, from a time on.
fn asked_from(entries: &[Entry], begin: Time, client: &str, from_s: f64) -> Vec<(f64, String)> {
    let requests = entries.iter().filter_map(|entry| match entry {
        Entry::Record(record) => match &record.event {
            Event::ClientRequest(sent) if &*sent.client == client => {
                let at_s = record.at.micros_since(begin) as f64 / 1e6;
                Some((at_s, sent.request.clone()))
            }
            _ => None,
        },
        Entry::Inside(_) => None,
    });
    requests.filter(|(at_s, _)| *at_s >= from_s).collect()
}

/// The numbers that the text of quiet names, and the answers that it tells.
#[test]
fn the_clients_of_quiet_ask_from_the_numbers_of_the_text_and_are_answered_so() {
    let mut player = player(lesson("quiet").unwrap());
    let entries = player.advance(secs(990.0));
    let begin = player.time(Duration::ZERO);
    let asks = |client, from_s| asked_from(&entries, begin, client, from_s);
    let first = |client, from_s| asks(client, from_s).remove(0).1;
    assert!(first("plain", 660.0).contains("resourceVersion=11&"));
    assert!(first("marks", 660.0).contains("resourceVersion=197&"));
    assert!(first("retry", 660.0).contains("resourceVersion=11&"));
    // marks never lists again, and retry never asks again.
    assert!(
        asks("marks", 2.0)
            .iter()
            .all(|(_, request)| request.contains("watch=true"))
    );
    assert_eq!(asks("retry", 660.0).len(), 1);
    // While the server closes at once, plain asks hundreds of times; a 410 as status makes it wait.
    let asked = asks("plain", 900.0);
    let spun = asked.iter().filter(|(at_s, _)| *at_s < 900.3).count();
    let waited = asked
        .iter()
        .filter(|(at_s, _)| (900.5..920.0).contains(at_s))
        .count();
    assert!((100..1_000).contains(&spun), "{spun}");
    assert!((2..10).contains(&waited), "{waited}");
    assert!(
        asked
            .iter()
            .any(|(at_s, request)| *at_s > 920.0 && request.contains("limit"))
    );
    let received = player.take_received();
    let words = |client: &str| -> Vec<String> {
        let own = received
            .iter()
            .filter(|(_, record)| &*record.client == client);
        own.map(|(_, record)| format!("{:?}", record.received))
            .collect()
    };
    let has = |client: &str, part: &str| words(client).iter().any(|word| word.contains(part));
    assert!(has("plain", "too old resource version: 11 (185)"));
    assert!(has(
        "retry",
        "The resourceVersion for the provided watch is too old."
    ));
    assert!(has("plain", "status: 410"));
    let bookmarks = |client| {
        words(client)
            .iter()
            .filter(|word| word.contains("Bookmark"))
            .count()
    };
    assert!(bookmarks("marks") > 10);
    assert_eq!(["plain", "retry"].map(bookmarks), [0, 0]);
}

#[test]
fn the_goals_of_who_hung_up_need_the_end_that_comes_as_an_error() {
    let (rst_stream, reset, goaway, end_watches, delete_prices) = (0, 1, 2, 3, 4);
    for silent in [reset, goaway, end_watches] {
        assert_eq!(reached("who-hung-up", &[(14.0, silent)]), [None, None]);
        let two = [(58.0, silent), (58.0, delete_prices)];
        assert_eq!(reached("who-hung-up", &two), [None, None]);
    }
    assert_eq!(reached("who-hung-up", &[(14.0, rst_stream)])[1], None);
    assert!(reached("who-hung-up", &[(14.0, rst_stream)])[0].is_some());
    let late = reached("who-hung-up", &[(58.0, rst_stream), (58.0, delete_prices)]);
    assert_eq!(late[0], None);
    assert!(late[1].is_some());
}

/// Returns the ends of a client's watches in a run as written, up to a time: the second, the end on the wire, the log,
/// and the ERROR in the channel.
fn ends_of(name: &str, client: &str, until: Duration) -> Vec<(i64, ChannelEnd)> {
    let mut player = player(lesson(name).unwrap());
    player.advance(until);
    let begin = player.time(Duration::ZERO);
    let received = player.take_received().into_iter();
    let ends = received.filter_map(|(at, record)| match record.received {
        Received::ChannelClosed(end) if &*record.client == client => {
            Some((at.micros_since(begin) / 1_000_000, end))
        }
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_table_of_ends_has_what_came_out_of_the_channel_until_the_next_passage() {
    let mut cells = 0;
    for lesson in lessons() {
        for (place, passage) in lesson.passages.iter().enumerate() {
            let Some(Form::Ends(ends)) = passage.question.map(|question| question.form) else {
                continue;
            };
            for client in ["reader", "informer"] {
                let before = ends_of(lesson.name, client, passage.at).len();
                let all = ends_of(lesson.name, client, lesson.passages[place + 1].at);
                let errors = all[before..].iter().map(|(_, end)| end.error.is_some());
                let expected: Vec<bool> = ends.iter().map(|end| end.is_error).collect();
                assert_eq!(
                    errors.collect::<Vec<bool>>(),
                    expected,
                    "{}: {client}",
                    lesson.name
                );
                cells += expected.len();
            }
        }
    }
    assert_eq!(cells, 8);
}

#[test]
fn five_ends_of_who_hung_up_have_one_face_and_two_are_an_error() {
    let lasts = lesson("who-hung-up").unwrap().lasts;
    let words = |client| {
        let ends = ends_of("who-hung-up", client, lasts).into_iter();
        let words =
            ends.map(|(at, end)| format!("{at} {:?} {:?} {:?}", end.wire, end.line, end.error));
        words.collect::<Vec<String>>().join("\n")
    };
    insta::assert_snapshot!(words("reader"), @r"
    8 InOrder None None
    16 Reset Some(Verbose(5)) None
    24 GoAway Some(Verbose(5)) None
    34 Eof Some(Verbose(1)) None
    40 StreamReset None Some(500)
    52 Undecodable None Some(500)
    ");
    insta::assert_snapshot!(words("informer"), @r"
    8 InOrder None None
    16 Reset Some(Verbose(5)) None
    24 GoAway Some(Verbose(5)) None
    34 Eof Some(Verbose(1)) None
    40 StreamReset None Some(500)
    52 Undecodable None Some(500)
    548 InOrder None None
    ");
}

/// The program's timer is 30 minutes, which each event sets back (docs/semantics/cases.md#watch-pitfalls).
#[test]
fn the_timer_of_final_fires_half_an_hour_after_the_last_event() {
    let mut player = player(lesson("three-tries").unwrap());
    let entries = player.advance(secs(2_400.0));
    let begin = player.time(Duration::ZERO);
    let slept = entries.iter().filter_map(|entry| match entry {
        Entry::Record(record) => match &record.event {
            Event::ClientReport(report)
                if &*report.client == "final" && &*report.phase == "sleeping" =>
            {
                Some(record.at.micros_since(begin) / 1_000_000)
            }
            _ => None,
        },
        Entry::Inside(_) => None,
    });
    let mut slept: Vec<i64> = slept.collect();
    slept.dedup();
    assert_eq!(slept, [6, 20, 2_280]);
    let asked = |who: &str, part: &str| {
        let requests = entries.iter().filter(|entry| match entry {
            Entry::Record(record) => match &record.event {
                Event::ClientRequest(sent) => &*sent.client == who && sent.request.contains(part),
                _ => false,
            },
            Entry::Inside(_) => false,
        });
        requests.count()
    };
    assert_eq!(
        ["v1", "v2", "final"].map(|who| asked(who, "watch=true")),
        [1, 1, 4]
    );
    // Its streams end after 5 to 10 minutes each, and it lists once.
    assert!((6..=11).contains(&asked("informer", "watch=true")));
    assert_eq!(
        asked("informer", "limit") + asked("informer", "sendInitialEvents"),
        1
    );
    assert!(held(&lesson("three-tries").unwrap(), "final", secs(2_400.0)).contains(&"cart".into()));
}

#[test]
fn a_lesson_opens_with_at_most_five_lanes() {
    for lesson in lessons() {
        let first = &lesson.passages[0];
        let mut player = player(lesson.clone());
        let entries = player.advance(first.at);
        let store = store_of(&entries, player.time(Duration::ZERO));
        let (from, to) = first.shows;
        let view = View::between(player.time(from), player.time(to), NARROW_PX);
        let mut lanes = Lanes::showing_all();
        lanes.records = Some(&RECORDS.rows);
        lanes.layers = match first.lanes {
            lessons::Lanes::Sides => LayerRows::Sides,
            lessons::Lanes::Layers => LayerRows::Programs,
            other => panic!("{}: {other:?}", lesson.name),
        };
        lanes.open_layers(&store, false, false);
        let rows = lanes.rows(&store, &view, player.now());
        // The page hides watchscope's own watch until a passage needs all lanes.
        let layers = rows.rows.iter().filter(|row| row.id.watch().is_none());
        let names: Vec<String> = layers
            .map(|row| format!("{}{}", row.prefix, row.name))
            .collect();
        assert!(!names.iter().any(|name| name.contains("conn")), "{names:?}");
        // Two rows are no lanes: that of findings, and the heading of the layers.
        let headings = ["Findings", "Inside the cluster"];
        let lanes = names.iter().filter(|name| !headings.contains(&&***name));
        let count = lanes.count();
        assert!((4..=5).contains(&count), "{}: {names:?}", lesson.name);
        assert!(first.panels.is_empty(), "{}", lesson.name);
    }
}

/// The width of a narrow window, in px.
const NARROW_PX: f64 = 420.0;

#[test]
fn in_a_narrow_window_no_words_of_a_stopped_write_meet_a_lanes_name() {
    let mut words = 0;
    for lesson in lessons() {
        for passage in &lesson.passages {
            let mut player = player(lesson.clone());
            let entries = player.advance(passage.at);
            let begin = player.time(Duration::ZERO);
            let store = store_of(&entries, begin);
            let (from, to) = passage.shows;
            let view = View::between(player.time(from), player.time(to), NARROW_PX);
            let mut lanes = Lanes::showing_all();
            lanes.records = Some(&RECORDS.rows);
            lanes.density = Density::Labelled;
            lanes.layers = LayerRows::Programs;
            let rows = lanes.rows(&store, &view, player.now());
            let heading = rows.rows.iter().find(|row| row.kind == RowKind::Layer);
            if let Some(LaneId::Layer(heading)) = heading.map(|row| row.id) {
                lanes.set_layer_open(&store, heading, true);
            }
            let rows = lanes.rows(&store, &view, player.now());
            let scene = draw::lanes(&Picture::new(&store, &rows, &view, player.now()));
            let errors = scene
                .primitives
                .iter()
                .filter_map(|primitive| match primitive {
                    Primitive::Text(line) if line.ink == Token::Error => Some(line),
                    _ => None,
                });
            for line in errors.filter(|line| line.text.contains("revision")) {
                let long = text_width(&line.text, line.size, line.weight);
                let left = if line.align == Align::End {
                    line.x - long
                } else {
                    line.x
                };
                let meets = rows.rows.iter().find(|row| {
                    let name = text_width(&format!("{}{}", row.prefix, row.name), 11, 400);
                    let is_over = line.y > row.y - row.label && line.y - Px::whole(8) < row.y;
                    row.label > Px::ZERO && is_over && left < name + Px::whole(8)
                });
                let of = meets.map(|row| row.name.to_string());
                assert_eq!(of, None, "{}: {}", passage.key, line.text);
                words += 1;
            }
        }
    }
    assert!(words > 3, "{words}");
}

/// Returns the names of the objects that a client holds at a time.
fn held(lesson: &Lesson, client: &str, at: Duration) -> Vec<String> {
    let mut player: LessonPlayer = player(lesson.clone());
    let entries = player.advance(at);
    let beliefs = entries.iter().rev().find_map(|entry| match entry {
        Entry::Record(record) => match &record.event {
            Event::ClientReport(report) if &*report.client == client => report.belief.clone(),
            _ => None,
        },
        Entry::Inside(_) => None,
    });
    let beliefs = Belief::read(&beliefs.unwrap());
    let held = beliefs.iter().flat_map(|belief| &belief.held);
    held.map(|held| held.object.name.to_string()).collect()
}

#[test]
fn a_table_to_fill_has_what_the_clients_hold_at_the_next_passage() {
    let mut cells_seen = 0;
    for lesson in lessons() {
        for (place, passage) in lesson.passages.iter().enumerate() {
            let Some(Form::Fill { columns, rows }) = passage.question.map(|question| question.form)
            else {
                continue;
            };
            for (column, client) in columns.iter().enumerate() {
                let held = held(&lesson, client, lesson.passages[place + 1].at);
                for (object, cells) in rows {
                    let holds = held.iter().any(|name| name == object);
                    let what = format!("{}: {client} and {object}: {held:?}", passage.key);
                    assert_eq!(cells[column], holds, "{what}");
                    cells_seen += 1;
                }
            }
        }
    }
    assert_eq!(cells_seen, 12);
}

#[test]
fn the_goals_of_poisoned_are_a_restart_of_the_server_and_a_later_write() {
    let (restart, create_report, rst_stream, end_watches) = (0, 1, 2, 3);
    let restarted = reached("poisoned", &[(76.0, restart)]);
    assert!(
        restarted[0].is_some() && restarted[1].is_none(),
        "{restarted:?}"
    );
    assert_eq!(
        reached("poisoned", &[(76.0, create_report)]),
        [None, Some(76)]
    );
    // Neither helps, however often the client asks.
    for useless in [rst_stream, end_watches] {
        let twice = [(76.0, useless), (90.0, useless)];
        assert_eq!(reached("poisoned", &twice), [None, None]);
    }
}

#[test]
fn the_goals_of_starved_need_room_on_the_stream_or_an_etcd_that_keeps_its_refusal() {
    let (fix_etcd, stop_readers, end_watches, write_prices) = (0, 1, 2, 3);
    let fixed = reached("starved", &[(262.0, fix_etcd)]);
    assert!(fixed[0].is_some() && fixed[1].is_none(), "{fixed:?}");
    let stopped = reached("starved", &[(262.0, stop_readers)]);
    // A response still takes 5 s.
    assert_eq!(stopped, [Some(285), Some(285)]);
    let late = reached("starved", &[(580.0, stop_readers)]);
    assert!(
        late.iter().all(|at| at.is_some_and(|at| at < 640)),
        "{late:?}"
    );
    for place in [fix_etcd, stop_readers] {
        assert_eq!(reached("starved", &[(625.0, place)]), [None, None]);
    }
    // Their responses leave the stream with the watches, which the readers open again only 5 s later.
    let ended = reached("starved", &[(580.0, end_watches)]);
    assert!(ended.iter().all(Option::is_some), "{ended:?}");
    assert_eq!(reached("starved", &[(580.0, write_prices)]), [None, None]);
    for useless in [end_watches, write_prices] {
        assert_eq!(reached("starved", &[(664.0, useless)]), [None, None]);
    }
}

/// Returns the player of a lesson under a version of the server.
fn player_under(name: &str, server: &str) -> LessonPlayer {
    let lesson = lesson(name).unwrap();
    let run = Run {
        seed: 1,
        server: server.parse().unwrap(),
        client: lesson.client,
    };
    LessonPlayer::new(lesson, run)
}

/// Whether the informer of `starved` holds report at the end, under a version of the server.
fn is_ghost_kept(server: &str) -> bool {
    let mut player = player_under("starved", server);
    let entries = player.advance(secs(720.0));
    let beliefs = entries.iter().rev().find_map(|entry| match entry {
        Entry::Record(record) => match &record.event {
            Event::ClientReport(report) if &*report.client == "informer" => report.belief.clone(),
            _ => None,
        },
        Entry::Inside(_) => None,
    });
    beliefs.unwrap().contains("/report\"")
}

/// The versions of docs/semantics/lists-and-watches.md#watch-without-version, and those whose cache has a stream of its
/// own.
#[test]
fn a_server_that_keeps_readers_from_the_caches_stream_is_not_starved() {
    for server in ["1.27.0", "1.27.12", "1.28.0", "1.29.0"] {
        assert!(is_ghost_kept(server), "{server}");
    }
    for server in ["1.26.0", "1.27.13", "1.28.8", "1.28.9", "1.29.3", "1.30.0"] {
        assert!(!is_ghost_kept(server), "{server}");
    }
}

/// Returns the objects of each list that a client of `poisoned` received under a version of the server, in order of
/// time.
fn lists_of(server: &str, client: &str) -> Vec<String> {
    let mut player = player_under("poisoned", server);
    player.advance(secs(120.0));
    let received = player.take_received().into_iter();
    let lists = received.filter_map(|(_, record)| match record.received {
        Received::List { names, .. } if &*record.client == client => Some(names.join(" ")),
        _ => None,
    });
    lists.collect()
}

#[test]
fn the_lists_of_poisoned_differ_by_server_and_by_what_they_ask_for() {
    let both = "prices report";
    let server = "1.27.0";
    // The first list is from before the deletion. That at 71 s is from the cache that missed it.
    assert_eq!(lists_of(server, "new"), [both, both]);
    assert_eq!(lists_of(server, "old"), [both, "prices", "prices"]);
    assert_eq!(lists_of(server, "fresh"), [both]);
    assert!(
        lists_of(server, "lister")
            .iter()
            .all(|names| names == "prices")
    );
    // The retry of 1.25 does no harm where the readers are served from the cache.
    assert_eq!(lists_of("1.26.0", "fresh"), ["prices"]);
    assert_eq!(lists_of("1.27.13", "fresh"), ["prices"]);
}

#[test]
fn the_caches_of_poisoned_get_the_same_error_and_only_that_of_1_24_fails() {
    let mut player = player(lesson("poisoned").unwrap());
    let entries = player.advance(secs(120.0));
    let begin = player.time(Duration::ZERO);
    let failures = entries.iter().filter_map(|entry| match entry {
        Entry::Inside(record) => match &record.inside {
            Inside::InsideCache(cache) if cache.phase == CachePhase::Failed => {
                Some((cache.server, record.at.micros_since(begin) / 1_000_000))
            }
            _ => None,
        },
        Entry::Record(_) => None,
    });
    assert_eq!(failures.collect::<Vec<_>>(), [(0, 13)]);
    // A reader on the stream of apiserver 1 shows the words of the error.
    let received = player.take_received();
    let errors = received.iter().filter(|(_, record)| {
        matches!(&record.received, Received::Error { code: 500, message }
            if message.contains("etcd event received with PrevKv=nil"))
    });
    assert!(errors.count() > 10);
}

#[test]
fn the_goals_of_silent_need_what_reaches_a_dead_connection() {
    let (reset, end_watches, delete_prices) = (0, 1, 2);
    assert_eq!(reached("silent", &[(170.0, reset)]), [Some(170), None]);
    assert_eq!(reached("silent", &[(170.0, end_watches)]), [None, None]);
    assert_eq!(reached("silent", &[(100.0, reset)]), [None, None]);
    let ghost = reached("silent", &[(132.0, delete_prices)]);
    assert_eq!(ghost[0], None);
    assert!(ghost[1].is_some(), "{ghost:?}");
    assert_eq!(reached("silent", &[(170.0, delete_prices)]), [None, None]);
}

#[test]
fn the_goals_of_back_in_time_need_a_newer_event_between_or_an_old_object_last() {
    let (create_cart, write_web, delete_cart, end_watches) = (0, 1, 2, 3);
    assert_eq!(
        reached("back-in-time", &[(8.5, write_web)]),
        [Some(10), None]
    );
    // Before the deletion it does not help.
    assert_eq!(reached("back-in-time", &[(6.0, write_web)]), [None, None]);
    let three = [(18.0, create_cart), (18.0, write_web), (18.0, delete_cart)];
    assert_eq!(reached("back-in-time", &three), [None, Some(22)]);
    // Only the deletion itself comes again.
    let two = [(18.0, create_cart), (18.0, delete_cart)];
    assert_eq!(reached("back-in-time", &two), [None, None]);
    let apart = [
        (18.0, create_cart),
        (18.3, write_web),
        (18.6, delete_cart),
        (18.9, end_watches),
    ];
    assert_eq!(reached("back-in-time", &apart), [None, Some(18)]);
}

/// Returns the requests of a client, each with the resourceVersion that it names, and the events and lists that the
/// client received, in order of time.
fn told(
    entries: &[Entry],
    received: &[(Time, ReceivedRecord)],
    begin: Time,
    client: &str,
) -> String {
    let asked = asked_from(entries, begin, client, 0.0).into_iter();
    let asked = asked.map(|(at_s, request)| {
        let verb = if request.contains("watch=true") {
            "watch"
        } else {
            "list"
        };
        let from = request.split("resourceVersion=").nth(1);
        let from = from.and_then(|rest| rest.split('&').next());
        (
            at_s,
            format!("{at_s:.0} {verb} {}", from.unwrap_or("unset")),
        )
    });
    let own = received
        .iter()
        .filter(|(_, record)| &*record.client == client);
    let own = own.filter_map(|(at, record)| {
        let words = match &record.received {
            Received::Change {
                change,
                name,
                resource_version,
            } => format!("{} {name} {resource_version}", change.word()),
            Received::List {
                resource_version,
                names,
            } => format!("list of {resource_version}: {}", names.join(", ")),
            Received::Refusal { status, .. } => format!("refused: {status}"),
            _ => return None,
        };
        Some((at.micros_since(begin) as f64 / 1e6, words))
    });
    let mut all: Vec<(f64, String)> = own.chain(asked).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let words = all.into_iter().map(|(_, words)| words);
    words.collect::<Vec<String>>().join("\n")
}

/// The numbers that the text of back-in-time names: what each client asked from, and what it received.
#[test]
fn first_lives_history_again_from_100_and_second_never_goes_back() {
    let mut player = player(lesson("back-in-time").unwrap());
    let entries = player.advance(secs(26.0));
    let begin = player.time(Duration::ZERO);
    let received = player.take_received();
    insta::assert_snapshot!(told(&entries, &received, begin, "first"), @r"
    0 list 0
    list of 80: shop
    1 watch 80
    ADDED cart 100
    ADDED web 110
    DELETED web 110
    ADDED web 130
    DELETED cart 100
    10 watch 100
    ADDED web 110
    DELETED web 110
    ADDED web 130
    DELETED cart 100
    12 watch 100
    ADDED web 110
    DELETED web 110
    ADDED web 130
    DELETED cart 100
    MODIFIED web 150
    17 watch 150
    22 watch 150
    ");
    insta::assert_snapshot!(told(&entries, &received, begin, "second"), @r"
    1 list 0
    list of 80: shop
    1 watch 80
    ADDED cart 100
    ADDED web 110
    DELETED web 120
    ADDED web 130
    DELETED cart 140
    10 watch 140
    12 watch 140
    MODIFIED web 150
    17 watch 150
    22 watch 150
    ");
}

#[test]
fn the_goals_of_stale_need_a_server_that_knows_more_or_a_list_after_the_restore() {
    let (to_0, reset_streams, end_watches) = (0, 1, 2);
    assert_eq!(reached("stale", &[(17.0, to_0)]), [Some(17), None]);
    // The same server gives the same old state.
    for useless in [reset_streams, end_watches] {
        assert_eq!(reached("stale", &[(17.0, useless)]), [None, None]);
    }
    let list = reached("stale", &[(90.0, reset_streams)]);
    assert!(list[0].is_none() && list[1] > Some(120), "{list:?}");
    assert_eq!(reached("stale", &[(90.0, end_watches)]), [None, None]);
    assert_eq!(reached("stale", &[(73.0, reset_streams)]), [None, None]);
}

/// The numbers that the text of stale names: what each client asked for, and what it received.
#[test]
fn old_goes_back_in_time_and_new_waits_for_a_list_from_etcd() {
    let mut player = player(lesson("stale").unwrap());
    let entries = player.advance(secs(172.0));
    let begin = player.time(Duration::ZERO);
    let received = player.take_received();
    insta::assert_snapshot!(told(&entries, &received, begin, "old"), @r"
    1 list 0
    list of 7: job, web-0
    1 watch 7
    DELETED web-0 8
    ADDED web-0 9
    DELETED job 10
    8 watch 10
    12 list 0
    list of 7: job, web-0
    12 watch 7
    DELETED web-0 8
    ADDED web-0 9
    DELETED job 10
    ADDED web-1 11
    MODIFIED web-1 12
    ADDED late 13
    MODIFIED web-1 14
    80 watch 14
    150 watch 14
    151 list 0
    list of 1012: web-0, web-1
    151 watch 1012
    ");
    insta::assert_snapshot!(told(&entries, &received, begin, "new"), @r"
    1 list 0
    list of 7: job, web-0
    1 watch 7
    DELETED web-0 8
    ADDED web-0 9
    DELETED job 10
    8 watch 10
    12 list 10
    refused: 504
    16 list 10
    refused: 504
    20 list 10
    refused: 504
    24 list 10
    refused: 504
    28 list 10
    refused: 504
    32 list 10
    refused: 504
    36 list 10
    refused: 504
    40 list 10
    refused: 504
    44 list 10
    refused: 504
    48 list 10
    refused: 504
    52 list 10
    refused: 504
    55 list unset
    list of 11: web-0, web-1
    55 watch 11
    MODIFIED web-1 12
    ADDED late 13
    MODIFIED web-1 14
    80 watch 14
    150 watch 14
    151 list 14
    list of 1012: web-0, web-1
    151 watch 1012
    ");
}

/// What one server was asked for, or gave, in a stretch of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    lists: u32,
    watches: u32,
    ends: u32,
    expired: u32,
    refused: u32,
}

/// What all clients of a lesson as written asked for, each with its milliseconds since the lesson began.
struct Asked(Vec<(i64, TallyRecord)>);

impl Asked {
    fn of(name: &str) -> Self {
        let lesson = lesson(name).unwrap();
        let lasts = lesson.lasts;
        let mut player = player(lesson);
        player.advance(lasts);
        let begin = player.time(Duration::ZERO);
        let tally = player.take_tally().into_iter();
        Self(
            tally
                .map(|(at, record)| (at.micros_since(begin).div_euclid(1_000), record))
                .collect(),
        )
    }

    /// Counts what one server was asked for in these milliseconds.
    fn counted(&self, server: u16, ms: std::ops::Range<i64>) -> Counted {
        let mut counted = Counted::default();
        for (at_ms, record) in &self.0 {
            if record.server.0 != server || !ms.contains(at_ms) {
                continue;
            }
            let count = match record.tallied {
                Tallied::Listed => &mut counted.lists,
                Tallied::Watched => &mut counted.watches,
                Tallied::Ended => &mut counted.ends,
                Tallied::Failed(410) => &mut counted.expired,
                Tallied::Failed(_) | Tallied::Refused(_) => &mut counted.refused,
            };
            *count += 1;
        }
        counted
    }
}

/// The numbers that the text of herd names.
#[test]
fn the_crowd_of_herd_ends_and_asks_as_often_as_its_text_says() {
    let asked = Asked::of("herd");
    let of = |server, from_s: f64, to_s: f64| {
        let ms = |at_s: f64| (at_s * 1_000.0) as i64;
        asked.counted(server, ms(from_s)..ms(to_s))
    };
    let clients = Counted {
        lists: 100,
        watches: 100,
        ..Counted::default()
    };
    assert_eq!([of(0, 0.0, 10.0), of(1, 0.0, 10.0)], [clients, clients]);
    // Each client of 1.24 asks three times; no client of 1.27 asks at all.
    let election = Counted {
        lists: 100,
        watches: 200,
        ends: 100,
        expired: 100,
        refused: 0,
    };
    let nothing = Counted::default();
    assert_eq!([of(0, 10.0, 46.0), of(1, 10.0, 46.0)], [election, nothing]);
    assert_eq!([of(0, 10.0, 14.0), of(0, 16.0, 46.0)], [nothing, nothing]);
    // A grace of 60 s: a hundred watches end within half a second.
    assert_eq!(of(1, 50.0, 50.51).ends, 100);
    assert!((40..60).contains(&of(1, 50.0, 50.25).ends));
    // Killed: two hundred at one moment. Those of pods resume, and the others list.
    assert_eq!(of(0, 60.0, 60.01).ends, 200);
    let moved = Counted {
        lists: 120,
        watches: 320,
        ends: 0,
        expired: 120,
        refused: 0,
    };
    assert_eq!(of(1, 60.0, 64.3), moved);
    // The edit: those of one type, at one moment, and all of them list.
    let edit = [of(0, 75.0, 75.1), of(1, 75.0, 75.1)];
    assert_eq!(edit[0].ends + edit[1].ends, 41);
    let after = [of(0, 75.0, 90.0), of(1, 75.0, 90.0)];
    assert_eq!(after[0].lists + after[1].lists, 41);
    assert_eq!(after[0].expired + after[1].expired, 41);
    // promo alone lists within a second.
    let [soon, late] = [(75.0, 76.0), (78.0, 82.0)].map(|(from_s, to_s)| of(1, from_s, to_s).lists);
    assert_eq!((soon, late), (1, 40));
    // The deletion: each asks ever more rarely, and gets a 404.
    let refused = |from_s, to_s| of(0, from_s, to_s).refused + of(1, from_s, to_s).refused;
    assert!((41 * 2..41 * 4).contains(&refused(90.0, 120.0)));
    assert!(refused(90.0, 100.0) > refused(110.0, 120.0) * 3 / 2);
    assert!(refused(110.0, 120.0) > 0);
}

#[test]
fn the_goals_of_herd_need_a_cache_that_fails_while_somebody_writes() {
    let fail_caches = 0;
    let at = |at_s| reached("herd", &[(at_s, fail_caches)]);
    assert_eq!(at(8.0)[1], None);
    assert!(at(8.0)[0].is_some());
    assert_eq!(at(20.0), [None, None]);
    assert!(at(12.5)[1].is_some());
    for harmless in [2, 3] {
        assert_eq!(reached("herd", &[(23.5, harmless)]), [None, None]);
    }
}

#[test]
fn a_histogram_to_draw_has_the_requests_of_the_run() {
    let mut columns = 0;
    for lesson in lessons() {
        for passage in &lesson.passages {
            let Some(Form::Draw(bars)) = passage.question.map(|question| question.form) else {
                continue;
            };
            let asked = Asked::of(lesson.name);
            for (second, count) in (i64::from(bars.from_s)..).zip(bars.counts()) {
                let of = asked.counted(bars.server, second * 1_000..(second + 1) * 1_000);
                assert_eq!(of.lists + of.watches, count, "{}: {second} s", lesson.name);
                columns += 1;
            }
            // What is drawn is in the future, and shown at the next passage.
            let drawn = Duration::from_secs(u64::from(bars.from_s));
            assert!(passage.at < drawn + Duration::from_secs(1));
            // Nobody is right with an empty histogram, or with one column for all.
            let question = passage.question.unwrap();
            assert!(!question.form.accepts(0) && question.form.accepts(question.form.right()));
            assert!(question.form.answers() <= 1 << 30);
            let most = bars.heights().max().unwrap();
            assert!((2..=Bars::MOST).contains(&most), "{most}");
        }
    }
    assert_eq!(columns, 10);
}

/// Returns when a client of `silent` received a change of an object, in seconds.
fn heard_at(client: &str, change: ChangeType, version: &str) -> Option<i64> {
    let mut player = player(lesson("silent").unwrap());
    player.advance(secs(1_160.0));
    let begin = player.time(Duration::ZERO);
    let received = player.take_received().into_iter();
    let mut times = received.filter_map(|(at, record)| match record.received {
        Received::Change {
            change: of,
            resource_version,
            ..
        } if &*record.client == client && of == change && resource_version == version => {
            Some(at.micros_since(begin) / 1_000_000)
        }
        _ => None,
    });
    times.next()
}

/// A ping is lost 45 s after the last sign of life; the deadline is 90 s, and the kernel gives up after 5 min
/// (docs/semantics/servers.md#ping, docs/findings/F04.md). Behind a proxy that buffers, only the end of a response
/// counts.
#[test]
fn the_clients_of_silent_learn_of_each_change_when_their_text_says() {
    let clients = ["pings", "deadline", "old"];
    let deleted = clients.map(|client| heard_at(client, ChangeType::Deleted, "9"));
    assert_eq!(deleted, [Some(150), Some(176), Some(391)]);
    let changed = clients.map(|client| heard_at(client, ChangeType::Modified, "11"));
    assert_eq!(changed, [Some(1_119), Some(686), Some(706)]);
    let lasts = lesson("silent").unwrap().lasts;
    let words = |client| {
        let ends = ends_of("silent", client, lasts).into_iter();
        let words = ends.map(|(at, end)| format!("{at} {:?} {:?}", end.wire, end.error));
        words.collect::<Vec<String>>().join(", ")
    };
    insta::assert_snapshot!(words("pings"), @"136 PingLost Some(500), 602 InOrder None, 1119 InOrder None");
    insta::assert_snapshot!(words("old"), @"391 Timeout None, 706 InOrder None, 1100 InOrder None");
}
