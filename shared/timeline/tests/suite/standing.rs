//! The findings as a list, the table of watches, and why an object is here.

use crate::common::random::random_log;
use crate::common::{FOREVER, Log, at, finding};
use insta::assert_snapshot;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::event::{Attribution, Audit, Change, Finding, Note, Verdict, WatchStopped};
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_timeline::findings::{self, Board, Muted};
use watchscope_timeline::health::{self, Order};
use watchscope_timeline::records::RECORDS;
use watchscope_timeline::scene::StretchKind;
use watchscope_timeline::store::Known;
use watchscope_timeline::words::{
    ProblemPlace, check, checked, event_words, presence, presence_basis, problems, severity_token,
};
use watchscope_timeline::{LaneId, Lanes, RecordId, Store, Token, View};

const PODS: &str = "shop/pods";
const MAPS: &str = "shop/configmaps";

fn shown(board: &Board) -> String {
    let mut out = String::new();
    for group in &board.standing {
        let (code, name) = (&group.code, &group.name);
        out += &format!("{} {code} {name} ×{}\n", group.severity, group.count);
        for item in &group.items {
            let evidence: Vec<u64> = item.evidence.iter().map(|id| id.seq.0).collect();
            out += &format!(
                "  {} | {} | {} | {evidence:?}\n",
                item.subject,
                item.particulars(),
                item.summary
            );
            if !item.watches.is_empty() {
                out += &format!("    {}\n", item.watches);
            }
        }
    }
    for muted in &board.muted {
        out += &format!(
            "muted {} because {} stands={}\n",
            muted.key, muted.reason, muted.stands
        );
    }
    for over in &board.over {
        out += &format!(
            "over {} ×{} {} | {}\n",
            over.key, over.times, over.subject, over.summary
        );
    }
    out
}

/// Findings of every severity. One occurs twice, one is cleared twice, and one is about a program.
fn found() -> Log {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 100);
    log.opened(1.0, MAPS, 2, &["env"], 101);
    let mut tell = |s, code, severity, state, watch, summary| {
        log.finding(s, code, severity, state, watch, summary);
    };
    use Severity::*;
    use Standing::*;
    tell(10.0, "F08", Note, Raised, PODS, "reset once");
    tell(11.0, "F08", Note, Raised, MAPS, "reset once too");
    tell(12.0, "F11", Warning, Raised, MAPS, "fell off");
    tell(13.0, "F23", Error, Raised, PODS, "went back");
    tell(14.0, "F24", Divergence, Raised, PODS, "cart-0 is a ghost");
    tell(15.0, "F08", Note, Raised, PODS, "reset twice");
    tell(16.0, "F30", Error, Raised, MAPS, "out of order");
    tell(17.0, "F30", Error, Cleared, MAPS, "out of order");
    tell(18.0, "F30", Error, Raised, MAPS, "out of order again");
    tell(19.0, "F30", Error, Cleared, MAPS, "in order");
    log.push(
        20.0,
        Finding {
            code: "F25".into(),
            candidates: vec!["F26".into(), "F27".into()],
            name: "gap from starvation in etcd".into(),
            severity: Divergence,
            state: Raised,
            certainty: Certainty::Suspected,
            watch: None,
            server: None,
            evidence: vec![Seq(1), Seq(3)],
            summary: "nobody hears it".into(),
            client: Some("informer".into()),
            count: Some(7),
            since: Some(at(4.0)),
            worst: None,
            connection: None,
            group: None,
            resource: None,
            watches: None,
            resumed: None,
            relisted: None,
            names: Vec::new(),
        },
    );
    log
}

fn muted(keys: &[(&str, &str)]) -> Muted {
    let mut muted = Muted::default();
    keys.iter().for_each(|(key, reason)| muted.add(key, reason));
    muted
}

#[test]
fn open_findings_are_grouped_most_severe_first_and_cleared_ones_are_apart() {
    let store = found().store();
    assert_snapshot!(shown(&findings::board(Known::now(&store, FOREVER), &Muted::default())), @r#"
divergence F24 F24 name ×1
  shop/pods | likely · since 09:31:14 | cart-0 is a ghost | [1]
divergence F25 gap from starvation in etcd ×7
  informer | suspected · 7 times since 09:31:04 · or F26, F27 | nobody hears it | [1, 3]
error F23 F23 name ×1
  shop/pods | likely · since 09:31:13 | went back | [1]
warning F11 F11 name ×1
  shop/configmaps | likely · since 09:31:12 | fell off | [1]
note F08 F08 name ×3
  shop/pods | likely · 2 times since 09:31:10, last at 09:31:15 | reset twice | [1]
  shop/configmaps | likely · since 09:31:11 | reset once too | [1]
over F30 shop/configmaps ×2 shop/configmaps | out of order again
"#);
}

#[test]
fn a_muted_finding_leaves_list_badge_and_header_and_is_listed_with_its_reason() {
    let store = found().store();
    let muted = muted(&[("F24 shop/pods", "known, ticket 42"), ("F99 shop/pods", "")]);
    let board = findings::board(Known::now(&store, FOREVER), &muted);
    assert!(!shown(&board).contains("ghost"), "{}", shown(&board));
    assert_eq!(
        board
            .muted
            .iter()
            .map(|item| (&*item.key, &*item.reason, item.stands))
            .collect::<Vec<_>>(),
        [
            ("F24 shop/pods", "known, ticket 42", true),
            ("F99 shop/pods", "", false)
        ]
    );
    assert_eq!(
        badge(&store, &muted),
        ["shop/configmaps F11 warn", "shop/pods F23 error"]
    );
}

#[test]
fn the_tally_counts_the_findings_of_the_board() {
    let counted = |log: &Log, keys: &[(&str, &str)]| {
        let (store, muted) = (log.store(), muted(keys));
        let tally = findings::tally(Known::now(&store, FOREVER), &muted);
        let board = findings::board(Known::now(&store, FOREVER), &muted);
        let worst = board.standing.first().map(|group| group.severity);
        assert_eq!(tally.groups, board.standing.len() as u64);
        assert_eq!(tally.worst, worst);
        tally.words
    };
    assert_eq!(counted(&Log::new("a"), &[]), "");
    assert_snapshot!(counted(&found(), &[]), @"2 divergences, 1 error, 1 warning, 1 note · 6 places");
    let divergent = [("F24 shop/pods", ""), ("F25 informer", "")];
    assert_snapshot!(counted(&found(), &divergent), @"1 error, 1 warning, 1 note · 4 watches");
}

#[test]
fn one_cause_of_many_watches_is_one_error_in_the_header() {
    let mut log = found();
    for n in 0..60 {
        let client = format!("client-{n}");
        log.push(
            15.0,
            Finding {
                code: "F19".into(),
                candidates: Vec::new(),
                name: "watched again without a resourceVersion".into(),
                severity: Severity::Error,
                state: Standing::Raised,
                certainty: Certainty::Definite,
                watch: None,
                server: None,
                evidence: vec![Seq(1)],
                summary: String::new(),
                client: Some(client.as_str().into()),
                count: None,
                since: None,
                worst: None,
                connection: None,
                group: None,
                resource: None,
                watches: None,
                resumed: None,
                relisted: None,
                names: Vec::new(),
            },
        );
    }
    let store = log.store();
    let all = problems(&store, &Muted::default());
    let words: Vec<&str> = all.iter().map(|problem| problem.words.as_str()).collect();
    assert_snapshot!(words.join("\n"), @"
    F19 watched again without a resourceVersion · 60 clients
    F23 F23 name
    ");
    let board = findings::board(Known::now(&store, FOREVER), &Muted::default());
    let group = board.standing.iter().find(|group| &*group.code == "F19");
    assert_eq!(
        group.and_then(|group| group.places.as_deref()),
        Some("60 clients")
    );
}

/// Returns the badges of the watches.
fn badge(store: &Store, muted: &Muted) -> Vec<String> {
    let mut lanes = Lanes::showing_all();
    lanes.records = Some(&RECORDS.rows);
    lanes.muted = muted.clone();
    let rows = lanes.rows(store, &View::between(at(0.0), at(30.0), 800.0), at(30.0));
    let badges = rows.rows.iter().filter_map(|row| {
        let (code, severity) = row.finding.as_ref()?;
        Some(format!(
            "{}{} {code} {}",
            row.prefix,
            row.name,
            severity_token(*severity).name()
        ))
    });
    badges.collect()
}

#[test]
fn the_badge_of_a_lane_is_its_most_severe_open_finding() {
    let mut log = found();
    assert_eq!(
        badge(&log.store(), &Muted::default()),
        ["shop/configmaps F11 warn", "shop/pods F24 div"]
    );
    log.finding(
        21.0,
        "F24",
        Severity::Divergence,
        Standing::Cleared,
        PODS,
        "gone",
    );
    assert_eq!(
        badge(&log.store(), &Muted::default()),
        ["shop/configmaps F11 warn", "shop/pods F23 error"]
    );
}

/// Returns a finding about two watches that names only the watch of configmaps.
fn of_two(code: &str) -> Finding {
    Finding {
        code: code.into(),
        candidates: Vec::new(),
        name: format!("{code} name").as_str().into(),
        severity: Severity::Warning,
        state: Standing::Raised,
        certainty: Certainty::Likely,
        watch: None,
        server: Some("10.0.0.1:6443".into()),
        evidence: vec![Seq(1)],
        summary: "Of 2 watches: 2 resumed where they stopped.".into(),
        client: None,
        count: Some(1),
        since: Some(at(10.0)),
        worst: None,
        connection: Some(ConnectionId(7)),
        group: None,
        resource: None,
        watches: Some(2),
        resumed: Some(2),
        relisted: Some(0),
        names: vec![MAPS.into()],
    }
}

#[test]
fn a_finding_of_several_watches_is_one_and_the_badge_of_each() {
    // The stream of the pods ended by F08 when the finding's occurrence began.
    let with = |code: &str| {
        let mut log = torn();
        log.push(37.0, of_two(code));
        log.store()
    };
    let store = with("F08");
    assert_snapshot!(shown(&findings::board(Known::now(&store, FOREVER), &Muted::default())), @"
    warning F11 F11 name ×1
      shop/configmaps | likely · since 09:31:36 | fell off | [1]
    warning F08 F08 name ×1
      connection 7 | likely · since 09:31:10 | Of 2 watches: 2 resumed where they stopped. | [1]
        shop/configmaps and 1 more
    ");
    let badges = |store: &Store| badge(store, &muted(&[("F11 shop/configmaps", "")]));
    assert_eq!(
        badges(&store),
        ["shop/configmaps F08 warn", "shop/pods F08 warn"]
    );
    let column = |store: &Store| {
        let rows = health::table(Known::now(store, at(40.9)), &Muted::default());
        let last = rows
            .iter()
            .map(|row| row.cells.last().unwrap().text.clone());
        last.collect::<Vec<_>>()
    };
    assert_eq!(column(&store), ["F08, F11", "F08"]);
    // A finding of another row is not about it, and a muted one is about no watch.
    assert_eq!(badges(&with("F06")), ["shop/configmaps F06 warn"]);
    assert_eq!(column(&with("F06")), ["F06, F11", "–"]);
    let quiet = muted(&[("F08 connection 7", ""), ("F11 shop/configmaps", "")]);
    assert_eq!(badge(&store, &quiet), Vec::<String>::new());
}

#[test]
fn a_problem_leads_to_its_finding_else_to_its_object_or_gap() {
    let mut log = torn();
    log.verdict(37.0, PODS, "cart-1", Divergence::Ghost, Standing::Confirmed);
    let places = |store: &Store| -> Vec<(String, Option<ProblemPlace>)> {
        let problems = problems(store, &Muted::default()).into_iter();
        problems
            .map(|problem| (problem.words, problem.places.first().copied()))
            .collect()
    };
    let store = log.store();
    let pod = store.find_lane(&PODS.into(), Some(&crate::common::object("cart-1", 1)));
    let maps = store.find_lane(&MAPS.into(), None).unwrap();
    let found = places(&store);
    assert_eq!(
        found[0],
        ("1 ghost".to_owned(), pod.map(ProblemPlace::Lane))
    );
    assert!(
        matches!(found[1], (ref words, Some(ProblemPlace::Stretch { lane, kind: StretchKind::Gap, at: began, .. }))
            if words == "1 gap lost" && lane == maps && began == at(20.0))
    );
    // A watch that waits leads to its wait, not to its last record.
    let waits = found.last().unwrap();
    assert_eq!(waits.0, "1 watch waiting");
    assert!(
        matches!(waits.1, Some(ProblemPlace::Stretch { lane, kind: StretchKind::Phase, at: began, .. })
            if lane == maps && began == at(35.0))
    );
    let summary = "held and not in etcd";
    let divergence = Severity::Divergence;
    let raised = log.finding(38.0, "F24", divergence, Standing::Raised, PODS, summary);
    log.finding(39.0, "F24", divergence, Standing::Updated, PODS, summary);
    let id = RecordId {
        epoch: 0,
        seq: raised,
    };
    assert_eq!(places(&log.store())[0].1, Some(ProblemPlace::Finding(id)));

    // A page that has just come also counts what was before it.
    let mut late = Store::default();
    log.send_from(&mut late, log.records.len());
    let shown: Vec<String> = places(&late).into_iter().map(|spot| spot.0).collect();
    assert_eq!(shown[..2], ["1 ghost", "1 gap lost"]);
    // The gap is not loaded; the fold knows its time.
    let gap = places(&late)[1].1;
    let maps = late.find_lane(&MAPS.into(), None).unwrap();
    assert!(
        matches!(gap, Some(ProblemPlace::Stretch { lane, began, at: since, .. })
            if lane == maps && !late.has(began) && since == at(20.0))
    );
}

#[test]
fn a_watch_at_several_servers_counts_once_and_a_checking_watch_does_not_count() {
    let mut log = torn();
    for (name, server) in [("#2", Some("10.0.0.2:6443")), ("#s", None), ("#w", None)] {
        let name = format!("{MAPS}{name}");
        log.watch_by(40.0, &name, server);
        let why = PhaseReason::TooManyRequests;
        log.phase(40.0, &name, Phase::Waiting, why, Some(2_000));
    }
    log.phase(
        41.0,
        "shop/pods#w",
        Phase::Refused,
        PhaseReason::Forbidden,
        None,
    );
    let store = log.store();
    let problems = problems(&store, &Muted::default());
    let words: Vec<&str> = problems.iter().map(|it| it.words.as_str()).collect();
    assert_eq!(words, ["1 gap lost", "1 watch waiting"]);
}

#[test]
fn a_severity_of_a_later_version_is_no_worse_than_any_that_is_known() {
    let mut log = found();
    let unknown = Severity::Unknown;
    log.finding(
        21.0,
        "F98",
        unknown,
        Standing::Raised,
        MAPS,
        "of a later one",
    );
    let store = log.store();
    assert_eq!(
        badge(&store, &Muted::default()),
        ["shop/configmaps F11 warn", "shop/pods F24 div"]
    );
    let view = View::between(at(0.0), at(30.0), 800.0);
    let rows = Lanes::showing_all().rows(&store, &view, at(30.0));
    let of_all = rows.find(LaneId::Findings).and_then(|row| row.mark);
    assert_eq!(of_all.map(|(_, ink)| ink), Some(Token::Divergence));
}

#[test]
fn a_record_is_shown_in_its_objects_lane_else_its_watchs_else_that_of_the_findings() {
    let mut log = found();
    let change = log.change(
        30.0,
        PODS,
        ChangeType::Modified,
        Origin::Live,
        "cart-0",
        140,
    );
    let store = log.store();
    let lane = |seq| {
        let id = watchscope_timeline::RecordId { epoch: 0, seq };
        findings::lane_of(&store, id)
            .map(|lane| watchscope_timeline::words::lane_words(&store, lane))
    };
    assert_eq!(lane(change).as_deref(), Some("cart-0 of shop/pods"));
    assert_eq!(
        lane(Seq(change.0 - 1)).as_deref(),
        Some("Findings"),
        "of a program"
    );
    assert_eq!(lane(Seq(change.0 - 2)).as_deref(), Some(MAPS));
    assert_eq!(lane(Seq(9_999)), None);
    let of_one = read(&mut log, 31.0, ("get", 140, 1), None, Some("cart-0"));
    let of_all = read(&mut log, 32.0, ("list exact", 140, 2), None, None);
    let store = log.store();
    let lane = |seq| {
        let id = RecordId { epoch: 0, seq };
        let lane = findings::lane_of(&store, id);
        lane.map(|lane| watchscope_timeline::words::lane_words(&store, lane))
    };
    assert_eq!(lane(of_one).as_deref(), Some("cart-0 of shop/pods"));
    assert_eq!(lane(of_all).as_deref(), Some(PODS));
}

#[test]
fn the_banner_of_a_restored_etcd_stays_until_it_is_cleared_or_muted() {
    let mut log = found();
    assert_eq!(findings::restored(&log.store(), &Muted::default()), None);
    let summary = "the revision went from 140 back to 90.";
    log.finding(
        40.0,
        "F33",
        Severity::Error,
        Standing::Raised,
        PODS,
        summary,
    );
    let store = log.store();
    let restored = findings::restored(&store, &Muted::default()).expect("it stands");
    assert_snapshot!(restored.words, @"The cluster's history began anew, seen since 09:31:40 (F33, likely): the revision went from 140 back to 90. What was held before may never have been; every client has to list again.");
    let known = muted(&[("F33 shop/pods", "ticket 42")]);
    assert_eq!(findings::restored(&store, &known), None);
    // A later read shows the same restore once more.
    let mut later = log.clone();
    let update = finding("F33", Severity::Error, Standing::Updated, PODS, summary);
    let since = Some(at(74.0));
    later.push(74.0, Finding { since, ..update });
    let seen = findings::restored(&later.store(), &Muted::default()).expect("it stands");
    assert_eq!(seen.words, restored.words);
    // After the banner was read, the finding is still in the list. A restore after that one shows the banner again.
    let mut read = Muted::default();
    read.read(&restored.raising);
    let read = Muted::parse(&read.to_text());
    assert_eq!(findings::restored(&store, &read), None);
    let standing = findings::board(Known::now(&store, FOREVER), &read).standing;
    assert!(standing.iter().any(|group| &*group.code == "F33"));
    let mut again = log.clone();
    for state in [Standing::Cleared, Standing::Raised] {
        again.finding(41.0, "F33", Severity::Error, state, PODS, summary);
    }
    let again = findings::restored(&again.store(), &read).expect("it stands");
    assert_ne!(again.raising, restored.raising);
    log.finding(
        41.0,
        "F33",
        Severity::Error,
        Standing::Cleared,
        PODS,
        summary,
    );
    assert_eq!(findings::restored(&log.store(), &Muted::default()), None);
}

/// Returns a watch whose stream was torn and resumed, and one that lost its history and listed again.
fn torn() -> Log {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0", "cart-1"], 100);
    log.opened(1.0, MAPS, 2, &["env"], 101);
    log.watch(1.5, "shop/pods#w");
    log.bookmark(5.0, PODS, 10, 120);
    log.end(10.0, PODS, 10, Cause::TcpReset);
    log.push(
        10.5,
        Attribution {
            watch: PODS.into(),
            stream: StreamId(10),
            code: "F08".into(),
            certainty: Certainty::Definite,
            evidence: vec![Seq(1)],
        },
    );
    log.gap(12.0, PODS, true, Some(0));
    log.open(12.0, PODS, 12, 401, 120);
    log.end(20.0, MAPS, 20, Cause::ErrorEvent);
    log.phase(20.0, MAPS, Phase::Listing, PhaseReason::Expired, None);
    log.list(35.0, MAPS, 190, 1, (0, 1, 1));
    log.gap(35.0, MAPS, false, None);
    log.phase(
        35.0,
        MAPS,
        Phase::Waiting,
        PhaseReason::TooManyRequests,
        Some(2_000),
    );
    log.finding(
        36.0,
        "F11",
        Severity::Warning,
        Standing::Raised,
        MAPS,
        "fell off",
    );
    log
}

#[test]
fn the_table_shows_each_watch_except_those_that_check_others() {
    let rows = health::table(Known::now(&torn().store(), at(40.9)), &Muted::default());
    assert_snapshot!(health::tsv(&rows).replace('\t', " | "), @r#"
Watch | State | Age | Streams | Ends | Changes | Bookmarks | Gaps | Missed | Relists | Lag | Findings
shop/configmaps | waiting | 39 s | 1 | 1 error-event | 1 | 0 | 1 lost (15 s), 1 open | at least 2 | 1: 1 object | 5 s | F11
shop/pods | streaming | 40 s | 2 | 1 F08 | 2 | 1 | 1 resumed | 0 | 0 | 35 s | –
"#);
    let bad: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| {
            let columns = health::COLUMNS.iter().zip(&row.cells);
            columns
                .filter(|(_, cell)| cell.ink.is_some())
                .map(|(column, _)| column.0)
                .collect()
        })
        .collect();
    assert_eq!(bad, [vec!["State", "Ends", "Gaps", "Missed"], vec!["Ends"]]);
}

#[test]
fn a_watch_that_was_stopped_grows_no_older_and_is_not_the_first_by_lag() {
    let mut log = torn();
    log.push(
        37.0,
        WatchStopped {
            watch: PODS.into(),
            reason: PhaseReason::StopRequested,
        },
    );
    let mut rows = health::table(Known::now(&log.store(), at(400.0)), &Muted::default());
    let lag = Order::default().pressed(10);
    health::sort(&mut rows, lag);
    let shown: Vec<String> = rows
        .iter()
        .map(|row| {
            [0, 1, 2, 10]
                .map(|column| &*row.cells[column].text)
                .join(" | ")
        })
        .collect();
    assert_snapshot!(shown.join("\n"), @r"
    shop/configmaps | waiting | 6 min 39 s | 6 min 5 s
    shop/pods | stopped | 37 s | –
    ");
}

#[test]
fn the_table_counts_all_records_loaded_or_not() {
    let log = torn();
    let table = |store: &Store| {
        health::tsv(&health::table(
            Known::now(store, at(40.9)),
            &Muted::default(),
        ))
    };
    let whole = table(&log.store());
    for cut in 0..=log.records.len() {
        let mut store = Store::default();
        log.send_from(&mut store, cut);
        assert_eq!(table(&store), whole, "the first {cut} are not loaded");
    }
}

#[test]
fn a_column_sorts_numbers_highest_first_and_words_from_a_and_a_second_press_reverses_it() {
    let mut rows = health::table(Known::now(&torn().store(), at(40.9)), &Muted::default());
    let mut sorted = |order| {
        health::sort(&mut rows, order);
        rows.iter()
            .map(|row| row.watch.to_string())
            .collect::<Vec<_>>()
    };
    let streams = Order::default().pressed(3);
    assert_eq!(sorted(streams), [PODS, MAPS]);
    assert_eq!(sorted(streams.pressed(3)), [MAPS, PODS]);
    assert_eq!(sorted(streams.pressed(0)), [MAPS, PODS]);
    assert_eq!(sorted(streams.pressed(0).pressed(0)), [PODS, MAPS]);
    assert_eq!(
        sorted(Order::default().pressed(8)),
        [MAPS, PODS],
        "unknown is more than any number"
    );
}

/// Returns the answer and its grounds.
fn why(log: &Log, name: &str, s: f64) -> String {
    why_of(&log.store(), name, s)
}

fn why_of(store: &Store, name: &str, s: f64) -> String {
    let lane = store
        .find_lane(&PODS.into(), Some(&crate::common::object(name, 1)))
        .expect("it was met");
    let presence = presence(Known::now(store, at(s)), lane).expect("an object's lane");
    let grounds = presence
        .grounds
        .iter()
        .map(|(name, words)| format!("\n{name}: {words}"));
    format!("{}{}", presence.answer, grounds.collect::<String>())
}

#[test]
fn an_answer_names_the_event_that_brought_an_object_and_the_read_that_confirmed_it() {
    let mut log = torn();
    log.change(21.0, PODS, ChangeType::Added, Origin::Live, "web-0", 130);
    log.change(22.0, PODS, ChangeType::Modified, Origin::Live, "web-0", 131);
    log.bookmark(30.0, PODS, 12, 160);
    assert_snapshot!(why(&log, "web-0", 40.0), @r#"
Held since 09:31:36.000 (4 s).
from: ADDED by the stream at 09:31:36.000, at resourceVersion 130.
last event: MODIFIED by the stream at 09:31:37.000, at resourceVersion 131.
confirmed: No read has confirmed it since.
up to date: At 09:31:45.000 the watch was at resourceVersion 160: by its own account it missed nothing up to there.
"#);
    log.list(31.0, PODS, 170, 3, (0, 0, 0));
    log.verdict(32.0, PODS, "cart-0", Divergence::Ghost, Standing::Raised);
    assert_snapshot!(why(&log, "cart-0", 40.0), @r#"
Held since 09:31:00.100 (39 s).
but: ghost · held 8 s after a read without it · not confirmed.
from: The list at 09:31:00.100 had it, at resourceVersion 50: it is older than the list.
last event: ADDED by a list at 09:31:00.100, at resourceVersion 50.
confirmed: The watch's own list at 09:31:46.000 had it, among 3 objects; from Kubernetes 1.31 on such a list may come from the watch cache.
up to date: At 09:31:46.000 the watch was at resourceVersion 170: by its own account it missed nothing up to there.
"#);
}

/// Appends an audit read of the pods.
fn read(
    log: &mut Log,
    s: f64,
    (method, version, compared): (&str, u64, u64),
    reason: Option<&str>,
    object: Option<&str>,
) -> Seq {
    log.push(
        s,
        Audit {
            watch: PODS.into(),
            resource_version: Some(version.into()),
            method: method.into(),
            compared,
            outcome: AuditOutcome::Agrees.word().into(),
            reason: reason.map(Into::into),
            object: object.map(|name| crate::common::object(name, 1)),
            authority: authority(reason),
            whole: whole(method, object, reason),
            why: None,
        },
    )
}

/// Returns the authority of a read with this reason.
fn authority(reason: Option<&str>) -> Option<Authority> {
    Some(match reason {
        Some(OF_A_CACHE) => Authority::PerhapsCache,
        _ => Authority::Etcd,
    })
}

/// Whether a read covers all objects that the watch holds.
fn whole(method: &str, object: Option<&str>, reason: Option<&str>) -> Option<bool> {
    let is_whole = match AuditMethod::of(method) {
        AuditMethod::ListExact
        | AuditMethod::ListExactAgain
        | AuditMethod::ListNewest
        | AuditMethod::ListElsewhere => true,
        AuditMethod::GetEach => reason.is_none(),
        _ => false,
    };
    (is_whole && object.is_none()).then_some(true)
}

/// Returns the words for the read that confirmed it.
fn confirmed(log: &Log, name: &str) -> String {
    let why = why(log, name, 60.0);
    let line = why
        .lines()
        .find_map(|line| line.strip_prefix("confirmed: "));
    line.expect("it is held").to_owned()
}

const OF_A_CACHE: &str =
    "the list may come from the watch cache, which may believe in objects that etcd does not have";

#[test]
fn a_read_from_the_same_cache_does_not_confirm_an_object() {
    let mut log = torn();
    log.change(37.0, PODS, ChangeType::Added, Origin::Live, "web-0", 130);
    read(
        &mut log,
        40.0,
        ("list exact", 130, 3),
        Some(OF_A_CACHE),
        None,
    );
    let shown = "No read has confirmed it since. A read at 09:31:40.000 (list exact, at resourceVersion 130) compared 3 objects and agrees: the list may come from the watch cache, which may believe in objects that etcd does not have.";
    assert_eq!(confirmed(&log, "web-0"), shown);
    // A list from another server's cache, and one from etcd.
    let by_another = Some("read from 10.0.0.2:6443");
    read(
        &mut log,
        41.0,
        ("list of another server", 130, 3),
        by_another,
        None,
    );
    assert_snapshot!(confirmed(&log, "web-0"), @"A read at 09:31:41.000 (list of another server, at resourceVersion 130) compared 3 objects and agrees: read from 10.0.0.2:6443.");
    read(&mut log, 42.0, ("list exact again", 131, 3), None, None);
    read(
        &mut log,
        43.0,
        ("list newest", 131, 3),
        Some(OF_A_CACHE),
        None,
    );
    assert_snapshot!(confirmed(&log, "web-0"), @"A read at 09:31:42.000 (list exact again, at resourceVersion 131) compared 3 objects and agrees.");
}

#[test]
fn events_and_samples_never_count_as_a_read_of_all_objects() {
    let mut log = torn();
    log.change(37.0, PODS, ChangeType::Added, Origin::Live, "web-0", 130);
    let asked = read(&mut log, 38.0, ("list exact", 130, 3), None, None);
    let after = Some(RecordId {
        epoch: 0,
        seq: asked,
    });
    let whole = confirmed(&log, "web-0");
    let of = Some("in the events from 100 to 131");
    read(&mut log, 39.0, ("second watch", 131, 100), of, None);
    // A sample may be of one object twice, and of another one never.
    read(&mut log, 40.0, ("get", 131, 4), None, None);
    read(&mut log, 41.0, ("list one exact", 131, 4), None, None);
    assert_eq!(confirmed(&log, "web-0"), whole);
    let store = log.store();
    let web = store.find_lane(&PODS.into(), Some(&crate::common::object("web-0", 1)));
    assert_eq!(checked(&store, web.expect("it was met"), after), None);
    let shown: Vec<String> = log.records[asked.0 as usize..]
        .iter()
        .map(|record| event_words(&record.event))
        .collect();
    assert_snapshot!(shown.join("\n"), @r"
An audit read of 100 events (second watch): agrees: in the events from 100 to 131.
An audit read of 4 samples (get): agrees.
An audit read of 4 samples (list one exact): agrees.
");
}

#[test]
fn a_sweep_confirms_an_object_unless_some_changed_during_it() {
    let mut log = torn();
    log.change(37.0, PODS, ChangeType::Added, Origin::Live, "web-0", 130);
    let each = ("get each", 131, 2);
    let why = Some("1 changed meanwhile; the stream delivers these changes");
    read(&mut log, 38.0, each, why, None);
    assert_snapshot!(confirmed(&log, "web-0"), @"No read has confirmed it since.");
    let all = read(&mut log, 39.0, each, None, None);
    assert_snapshot!(confirmed(&log, "web-0"), @"A read at 09:31:39.000 (get each, at resourceVersion 131) compared 2 objects and agrees.");
    let shown = event_words(&log.records[all.0 as usize - 1].event);
    assert_snapshot!(shown, @"An audit read of 2 objects (get each): agrees.");
}

#[test]
fn a_read_older_than_an_object_does_not_confirm_it() {
    let mut log = torn();
    log.change(37.0, PODS, ChangeType::Added, Origin::Live, "web-0", 130);
    log.change(37.0, PODS, ChangeType::Modified, Origin::Live, "web-0", 132);
    // Another object is gone, so the read compared as many objects as are held.
    log.change(38.0, PODS, ChangeType::Deleted, Origin::Live, "cart-1", 131);
    let asked = read(&mut log, 39.0, ("list exact", 120, 2), None, None);
    assert_eq!(confirmed(&log, "web-0"), "No read has confirmed it since.");
    let store = log.store();
    let web = store.find_lane(&PODS.into(), Some(&crate::common::object("web-0", 1)));
    let after = Some(RecordId {
        epoch: 0,
        seq: Seq(asked.0 - 1),
    });
    assert_eq!(checked(&store, web.expect("it was met"), after), None);
    let at_its_first = "A read at 09:31:40.000 (list exact, at resourceVersion 130) compared 2 objects and agrees.";
    read(&mut log, 40.0, ("list exact", 130, 2), None, None);
    assert_eq!(confirmed(&log, "web-0"), at_its_first);
}

#[test]
fn an_object_without_added_is_described_by_its_first_event() {
    let mut log = torn();
    log.change(37.0, PODS, ChangeType::Modified, Origin::Live, "web-0", 130);
    let why = why(&log, "web-0", 40.0);
    let from = why.lines().find(|line| line.starts_with("from"));
    assert_snapshot!(from.expect("it is held"), @"from: MODIFIED by the stream at 09:31:37.000, at resourceVersion 130, though no earlier event had it: its ADDED never came.");
}

#[test]
fn a_deletion_inferred_on_a_stream_names_the_stream_and_no_list() {
    let mut log = torn();
    let gone = |stream| Change {
        watch: PODS.into(),
        stream,
        change: ChangeType::Deleted,
        origin: Origin::Inferred,
        object: crate::common::object("cart-0", 1),
        resource_version: 50.into(),
        generation: None,
        manager: None,
        subresource: None,
        bytes: None,
        stray: None,
        owner: None,
    };
    let shown = [None, Some(StreamId(12))].map(|stream| event_words(&Event::from(gone(stream))));
    assert_snapshot!(shown.join("\n"), @r"
cart-0 was held and is not in the list: deleted while the watch was away, last seen at resourceVersion 50.
cart-0 was held and stream 12 shows that it is gone: deleted without a DELETED, last seen at resourceVersion 50.
");
    log.push(37.0, gone(Some(StreamId(12))));
    assert_snapshot!(why(&log, "cart-0", 40.0), @r"
Not held since 09:31:37.000 (3 s).
gone by: Stream 12 showed at 09:31:37.000 that it is gone, so its DELETED is inferred: no DELETED came.
");
}

#[test]
fn an_answer_from_a_part_of_the_records_never_claims_to_know_all() {
    let mut log = torn();
    let born = log.change(37.0, PODS, ChangeType::Added, Origin::Live, "web-0", 130);
    log.change(38.0, PODS, ChangeType::Modified, Origin::Live, "web-0", 131);
    log.list(39.0, PODS, 135, 3, (0, 0, 0));
    // The fold knows a list that is not loaded.
    let mut late = Store::default();
    log.send_from(&mut late, log.records.len());
    let own = "confirmed: The watch's own list at 09:31:39.000 had it, among 3 objects";
    let shown = why_of(&late, "web-0", 60.0);
    assert!(shown.contains(own), "{shown}");
    read(&mut log, 40.0, ("list exact", 136, 3), None, None);
    let last = log.change(41.0, PODS, ChangeType::Modified, Origin::Live, "web-0", 140);
    log.bookmark(42.0, PODS, 12, 160);
    let whole = why(&log, "web-0", 60.0);
    let mut shown = std::collections::BTreeSet::new();
    for cut in born.0 as usize..=log.records.len() {
        let mut store = Store::default();
        log.send_from(&mut store, cut);
        for line in why_of(&store, "web-0", 60.0).lines() {
            if !whole.contains(line) {
                shown.insert(line.to_owned());
            }
        }
    }
    assert_snapshot!(shown.into_iter().collect::<Vec<_>>().join("\n"), @r"
confirmed: No loaded read has confirmed it since.
from: The record that brought it is not loaded.
last event: It is held at resourceVersion 140; the event with that version is not loaded.
");
    // A viewer that was moved to the head lacks the records between.
    for head in last.0 as usize..=log.records.len() {
        let mut store = Store::default();
        log.send(&mut store, 0, born.0 as usize + 1);
        log.send_from(&mut store, head);
        let why = why_of(&store, "web-0", 60.0);
        assert!(!why.contains("at resourceVersion 131"), "{why}");
        assert!(!why.contains("No read"), "{why}");
        // After they are loaded.
        store
            .chapter(&log.chapter(0, log.records.len()))
            .expect("a chapter");
        assert_eq!(why_of(&store, "web-0", 60.0), whole);
    }
    // An object that is gone at the head is not held, even if its end is not loaded.
    log.change(43.0, PODS, ChangeType::Deleted, Origin::Live, "web-0", 170);
    let mut store = Store::default();
    log.send(&mut store, 0, born.0 as usize + 1);
    log.send_from(&mut store, log.records.len());
    assert_snapshot!(why_of(&store, "web-0", 60.0), @r"
Not held now. It was held from 09:31:37.000; the record of its end is not loaded.
from: ADDED by the stream at 09:31:37.000, at resourceVersion 130.
confirmed: The watch's own list at 09:31:39.000 had it, among 3 objects; from Kubernetes 1.31 on such a list may come from the watch cache.
up to date: At 09:31:43.000 the watch was at resourceVersion 170: by its own account it missed nothing up to there.
");
}

#[test]
fn while_the_basis_of_an_answer_stays_only_its_durations_change() {
    let answer = |store: &Store, lane| {
        let shown = presence(Known::now(store, at(20_000.0)), lane)?;
        let mut grounds = shown.grounds;
        grounds.retain(|(name, _)| *name != "up to date");
        Some((shown.held, shown.answer, grounds, shown.record))
    };
    let (mut stayed, mut changed) = (0, 0);
    for seed in 0..3 {
        let log = random_log(seed, 300);
        // Live from the start; live from the middle, with the past in two chapters.
        for from in [0, 150] {
            let mut store = Store::default();
            let mut known = std::collections::BTreeMap::new();
            let mut hold = |store: &Store, words: &str| {
                for (watch, object) in [(PODS, "a-0"), (PODS, "c-2"), (MAPS, "b-1")] {
                    let object = crate::common::object(object, 1);
                    let lane = store.find_lane(&watch.into(), Some(&object));
                    let Some(lane) = lane else { continue };
                    let now = (
                        presence_basis(Known::now(store, at(20_000.0)), lane),
                        answer(store, lane),
                    );
                    if let Some((before, said)) =
                        known.insert((watch, object.name.clone()), now.clone())
                    {
                        if before == now.0 {
                            assert_eq!(said, now.1, "seed {seed}, {words}");
                            stayed += 1;
                        } else {
                            changed += 1;
                        }
                    }
                }
            };
            let opening = log.state_after(from);
            let (mut writer, head) = ChapterWriter::open("log".into(), log.epoch.clone(), &opening);
            store.snapshot(&head).expect("a snapshot");
            for record in &log.records[from..] {
                writer.push(record);
                let segment = writer.seal().expect("a record");
                store.segment(&segment).expect("a segment");
                hold(&store, &format!("record {}", record.seq));
            }
            if from > 0 {
                for (first, last) in [(75, 150), (0, 75)] {
                    store.chapter(&log.chapter(first, last)).expect("a chapter");
                    hold(&store, &format!("chapter {first}"));
                }
            }
        }
    }
    assert!(stayed > 1_000 && changed > 50, "{stayed} {changed}");
}

#[test]
fn an_object_that_is_gone_names_its_deletion_or_the_inference() {
    let mut log = torn();
    log.change(21.0, PODS, ChangeType::Deleted, Origin::Live, "cart-0", 130);
    assert_snapshot!(why(&log, "cart-0", 40.0), @r#"
Not held since 09:31:36.000 (4 s).
gone by: DELETED by the stream at 09:31:36.000, at resourceVersion 130.
"#);
    log.end(22.0, PODS, 12, Cause::TcpReset);
    log.list(31.0, PODS, 170, 0, (0, 0, 1));
    log.change(
        31.0,
        PODS,
        ChangeType::Deleted,
        Origin::Inferred,
        "cart-1",
        100,
    );
    log.gap(31.0, PODS, false, Some(1));
    assert_snapshot!(why(&log, "cart-1", 40.0), @r#"
Not held since 09:31:46.000 (0 µs).
gone by: A list at 09:31:46.000 no longer had it, so its DELETED is inferred: no DELETED came.
not known: From 09:31:37.000 on, it is unknown whether it existed.
"#);
}

#[test]
fn a_comparison_says_what_it_awaits_and_ends_with_its_confirmed_result() {
    let mut log = torn();
    let mut audit = |s, object: Option<&str>, outcome: &str, reason: Option<&str>| {
        log.push(
            s,
            Audit {
                watch: PODS.into(),
                resource_version: Some(120.into()),
                method: "list exact".into(),
                compared: 1,
                outcome: outcome.into(),
                reason: reason.map(Into::into),
                object: object.map(|name| crate::common::object(name, 1)),
                authority: None,
                whole: None,
                why: None,
            },
        )
    };
    let asked = audit(36.5, None, AuditOutcome::Agrees.word(), None);
    audit(
        37.0,
        None,
        AuditOutcome::CannotTell.word(),
        Some("it is looked up in etcd"),
    );
    let after = Some(RecordId {
        epoch: 0,
        seq: asked,
    });
    let lane = |store: &Store| {
        let cart = store.find_lane(&PODS.into(), Some(&crate::common::object("cart-0", 1)));
        cart.expect("it was met")
    };
    let store = log.store();
    let found = checked(&store, lane(&store), after).expect("a result came");
    assert_eq!(found.so_far, "it is looked up in etcd.");
    log.push(
        38.0,
        Audit {
            watch: PODS.into(),
            resource_version: Some(120.into()),
            method: "list one exact".into(),
            compared: 1,
            outcome: AuditOutcome::Differs.word().into(),
            reason: None,
            object: Some(crate::common::object("cart-0", 1)),
            authority: None,
            whole: None,
            why: None,
        },
    );
    log.push(
        38.0,
        Verdict {
            watch: PODS.into(),
            object: crate::common::object("cart-0", 1),
            kind: Divergence::Ghost,
            held: None,
            listed: None,
            state: Standing::Confirmed,
            certainty: Certainty::Definite,
        },
    );
    let store = log.store();
    let found = checked(&store, lane(&store), after).expect("a result came");
    assert_snapshot!(found.so_far, @"An audit read of cart-0 (list one exact): differs.");
    assert_snapshot!(found.words, @"An audit read of cart-0 (list one exact): differs. cart-0 is now ghost (definite).");
}

#[test]
fn a_requested_comparison_is_answered_by_a_record_about_it() {
    let mut log = torn();
    let mut audit = |s, method: &str, object: Option<&str>, compared, outcome: &str| {
        log.push(
            s,
            Audit {
                watch: PODS.into(),
                resource_version: Some(120.into()),
                method: method.into(),
                compared,
                outcome: outcome.into(),
                reason: None,
                object: object.map(|name| crate::common::object(name, 1)),
                authority: authority(None),
                whole: whole(method, object, None),
                why: None,
            },
        )
    };
    let asked = audit(36.5, "list exact", None, 2, AuditOutcome::Agrees.word());
    audit(37.0, "get", None, 1, AuditOutcome::Agrees.word());
    audit(38.0, "get", Some("cart-1"), 1, AuditOutcome::Agrees.word());
    audit(39.0, "get", Some("cart-0"), 1, AuditOutcome::Differs.word());
    let store = log.store();
    let lane = |name| store.find_lane(&PODS.into(), Some(&crate::common::object(name, 1)));
    let after = Some(RecordId {
        epoch: 0,
        seq: asked,
    });
    let answer = |lane| {
        checked(&store, lane, after).map(|found| (found.record.seq.0 - asked.0, found.words))
    };
    let cart = lane("cart-0").expect("it was met");
    // A sample does not name its objects.
    assert_eq!(
        answer(cart),
        Some((3, "An audit read of cart-0 (get): differs.".to_owned()))
    );
    assert_eq!(
        answer(LaneId::Watch(cart.watch().expect("a watch"))),
        Some((3, "An audit read of cart-0 (get): differs.".to_owned()))
    );
    assert_eq!(checked(&store, cart, store.head()), None);
    let argument = check(&store, cart).map(|check| check.argument);
    assert_eq!(argument.as_deref(), Some("shop/pods\nshop/cart-0"));

    assert_eq!(
        confirmed(&log, "cart-1"),
        "A read at 09:31:38.000 (get, at resourceVersion 120) compared it and agrees."
    );
    assert_eq!(
        confirmed(&log, "cart-0"),
        "A read at 09:31:36.500 (list exact, at resourceVersion 120) compared 2 objects and agrees."
    );
}

#[test]
fn a_finished_story_is_shown_up_to_findings_within_a_minute_of_its_end() {
    use Severity::Error;
    use Standing::Raised;
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 100);
    log.finding(10.0, "F23", Error, Raised, PODS, "went back");
    assert_eq!(log.store().story_shown_until(), None);
    let over = Note {
        over: Some(true),
        ..Note::new(Author::Story, "The story is over.".into())
    };
    log.push(30.0, over);
    assert_eq!(log.store().story_shown_until(), Some(at(30.0)));
    log.finding(34.0, "F33", Error, Raised, PODS, "an older history");
    assert_eq!(log.store().story_shown_until(), Some(at(34.0)));
    log.finding(91.0, "F34", Error, Raised, PODS, "no bookmarks");
    assert_eq!(log.store().story_shown_until(), Some(at(34.0)));
}
