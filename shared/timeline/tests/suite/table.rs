//! The tables of the picture: each fact of a tooltip is in a cell, and rows are sorted, filtered and bounded as they say.

use std::collections::BTreeSet;

use crate::cases::cases;
use crate::common::random::random_log;
use crate::common::{Log, START, at, picture};
use watchscope_model::event::*;
use watchscope_model::vocabulary::*;
use watchscope_model::*;
use watchscope_timeline::scene::{Hit, Target};
use watchscope_timeline::table::{
    Choice, Filter, Kind, Order, ROWS_MOST, Tab, TableRow, cells, columns, findings, in_view, line,
    said_of, sort, versions,
};
use watchscope_timeline::words::describe;
use watchscope_timeline::{LaneId, Lanes, Store, View};

/// Returns the cells of rows, each row as one text.
fn texts(store: &Store, tab: Tab, rows: &[TableRow], now: Time) -> Vec<String> {
    let said = said_of(store, rows, now);
    let rows = rows.iter().zip(&said);
    rows.map(|(row, said)| cells(store, tab, row, said, now).join(" | "))
        .collect()
}

/// Checks that each fact of each tooltip of a picture is in the cells of its row. Returns the kinds of rows met.
pub(crate) fn check_tooltips(
    store: &Store,
    lanes: &mut Lanes,
    view: &View,
    now: Time,
) -> BTreeSet<Kind> {
    let (shown, scene) = picture(store, lanes, view, now);
    // A glyph at the edge reaches into the picture, so its record is just outside.
    let margin_us = (view.us_per_px * 40.0) as i64;
    let range = (
        view.left().plus_micros(-margin_us),
        view.right().plus_micros(margin_us),
    );
    let rows = in_view(store, &shown, range, now, ROWS_MOST).rows;
    let texts = texts(store, Tab::Records, &rows, now);
    let mut met = BTreeSet::new();
    for hit in scene.hits.iter().filter(|hit| hit.target != Target::Lane) {
        let tooltip = describe(store, hit, now);
        let of: Vec<usize> = (0..rows.len())
            .filter(|&place| rows[place].is_of(hit.lane, &hit.target))
            .collect();
        match &hit.target {
            Target::Merged { count, .. } => assert_eq!(of.len(), *count as usize, "{hit:?}"),
            Target::Findings(raised) => assert_eq!(of.len(), raised.len(), "{hit:?}"),
            Target::Record(_) | Target::Stretch(..) => {
                check(hit, [&tooltip.time, &tooltip.what], &of, &texts);
            }
            Target::Lane => {}
        }
        if of.iter().any(|&place| rows[place].lane == hit.lane) {
            let own = of.iter().filter(|&&place| rows[place].lane == hit.lane);
            let own: Vec<usize> = own.copied().collect();
            check(hit, [&tooltip.lane, &tooltip.lane], &own, &texts);
        }
        met.extend(of.iter().map(|&place| rows[place].kind));
    }
    met
}

fn check(hit: &Hit, facts: [&String; 2], of: &[usize], texts: &[String]) {
    for fact in facts {
        let has = of.iter().any(|&place| texts[place].contains(fact.as_str()));
        assert!(
            has,
            "{hit:?}: {fact:?} is in no cell of {:?}",
            of.iter().map(|&place| &texts[place]).collect::<Vec<_>>()
        );
    }
}

#[test]
fn each_fact_of_a_tooltip_is_in_a_cell_of_its_row() {
    let mut met = BTreeSet::new();
    for seed in 0..u64::from(cases(40)) {
        let log = random_log(seed + 9_000, 300);
        let (store, now) = (log.store(), log.state.at.plus_millis(500));
        let span = now.micros_since(START);
        for part in [1, 3, 40] {
            let view = View::between(START, START.plus_micros(span / part), 900.0);
            for collapsed in [false, true] {
                let mut lanes = Lanes::showing_all();
                lanes.set_all_expanded(&store, !collapsed);
                met.extend(check_tooltips(&store, &mut lanes, &view, now));
            }
        }
    }
    met.extend(aside());
    let missing: Vec<&Kind> = Kind::ALL
        .iter()
        .filter(|kind| !met.contains(kind))
        .collect();
    // `layers` has the layers.
    insta::assert_debug_snapshot!(missing, @r#"
    [
        Layer,
    ]
    "#);
}

/// Checks what random logs do not have: initial events, a read of the audit, and requests of our own.
fn aside() -> BTreeSet<Kind> {
    let mut log = shop();
    let pods = WatchName::from("shop/pods");
    log.push(
        8.5,
        Bookmark {
            watch: pods.clone(),
            stream: StreamId(1),
            resource_version: 109.into(),
            initial_events_end: Some(true),
        },
    );
    log.push(
        9.0,
        Audit {
            watch: pods.clone(),
            resource_version: Some(109.into()),
            method: "list exact".into(),
            compared: 1,
            outcome: "same".into(),
            reason: None,
            object: None,
            authority: None,
            whole: None,
            why: None,
        },
    );
    let audit = pods.aside(Aside::Audit);
    log.request(9.5, audit.as_str(), 90, 2, "list", "resourceVersion=109");
    log.push(
        10.0,
        RequestAnswered {
            watch: audit,
            request: RequestId(90),
            status: Some(429),
            headers: field::Headers::default(),
            retry_after_ms: None,
            error: None,
            error_text: None,
        },
    );
    let view = View::between(START, at(20.0), 900.0);
    check_tooltips(&log.store(), &mut Lanes::showing_all(), &view, at(20.0))
}

/// Returns two pods. One is deleted.
fn shop() -> Log {
    use ChangeType::{Deleted, Modified};
    let mut log = Log::new("a");
    let pods = "shop/pods";
    log.opened(0.0, pods, 1, &["cart-0", "cart-1"], 100);
    log.change(5.0, pods, Modified, Origin::Live, "cart-1", 105);
    log.change(6.0, pods, Modified, Origin::Live, "cart-0", 106);
    log.bookmark(7.0, pods, 1, 107);
    log.change(8.0, pods, Deleted, Origin::Live, "cart-1", 108);
    log
}

/// Returns the rows of a table of a log, as kind, lane and version.
fn rows_of(log: &Log, choice: Choice, text: &str, column: usize) -> Vec<String> {
    let (store, now) = (log.store(), at(20.0));
    let view = View::between(START, at(20.0), 900.0);
    let mut lanes = Lanes::showing_all();
    let (shown, _) = picture(&store, &mut lanes, &view, now);
    let mut rows = in_view(&store, &shown, (START, at(20.0)), now, ROWS_MOST).rows;
    Filter::new(text, choice).keep(&store, &mut rows);
    let columns = columns(Tab::Records);
    let order = Order::first_of(Tab::Records).pressed(column, columns);
    sort(&store, &mut rows, columns[column].by, order.falling);
    texts(&store, Tab::Records, &rows, now)
}

#[test]
fn rows_are_sorted_by_a_column_and_filtered_by_kind_and_text() {
    let log = shop();
    insta::assert_debug_snapshot!(rows_of(&log, Choice::Changes, "", 2), @r#"
    [
        "09:31:06.000 | MODIFIED | cart-0 of shop/pods | 106 |  | MODIFIED cart-0 at resourceVersion 106 by kubelet.",
        "09:31:00.100 | ADDED | cart-0 of shop/pods | 50 |  | ADDED cart-0 at resourceVersion 50, learned from a list.",
        "09:31:08.000 | DELETED | cart-1 of shop/pods | 108 |  | DELETED cart-1 at resourceVersion 108 by kubelet.",
        "09:31:05.000 | MODIFIED | cart-1 of shop/pods | 105 |  | MODIFIED cart-1 at resourceVersion 105 by kubelet.",
        "09:31:00.100 | ADDED | cart-1 of shop/pods | 51 |  | ADDED cart-1 at resourceVersion 51, learned from a list.",
    ]
    "#);
    insta::assert_debug_snapshot!(rows_of(&log, Choice::All, "CART-1 modified", 3), @r#"
    [
        "09:31:05.000 | MODIFIED | cart-1 of shop/pods | 105 |  | MODIFIED cart-1 at resourceVersion 105 by kubelet.",
    ]
    "#);
    insta::assert_debug_snapshot!(rows_of(&log, Choice::Kind(Kind::Bookmark), "107", 0), @r#"
    [
        "09:31:07.000 | BOOKMARK | shop/pods | 107 |  | BOOKMARK: nothing up to resourceVersion 107 is missing.",
    ]
    "#);
    assert!(rows_of(&log, Choice::All, "cart-9", 0).is_empty());
}

#[test]
fn every_column_sorts_both_ways_and_loses_no_row() {
    let log = random_log(77, 300);
    let (store, now) = (log.store(), log.state.at);
    let mut lanes = Lanes::showing_all();
    let view = View::between(START, now, 900.0);
    let (shown, _) = picture(&store, &mut lanes, &view, now);
    let all = in_view(&store, &shown, (START, now), now, ROWS_MOST).rows;
    for tab in [Tab::Records, Tab::Findings, Tab::Versions] {
        for column in columns(tab) {
            let mut sorted = all.clone();
            sort(&store, &mut sorted, column.by, false);
            let mut falling = sorted.clone();
            sort(&store, &mut falling, column.by, true);
            for rows in [&sorted, &falling] {
                assert_eq!(rows.len(), all.len());
                assert!(all.iter().all(|row| rows.contains(row)), "{column:?}");
            }
        }
    }
}

#[test]
fn beyond_the_bound_the_newest_rows_are_listed_and_the_rest_is_counted() {
    let log = Log::steady("a", 0.0, 50);
    let (store, now) = (log.store(), at(60.0));
    let mut lanes = Lanes::showing_all();
    let view = View::between(START, now, 900.0);
    let (shown, _) = picture(&store, &mut lanes, &view, now);
    let found = in_view(&store, &shown, (START, now), now, 10);
    assert_eq!(found.rows.len(), 10);
    assert!(found.total > 50, "{}", found.total);
    let changes = found.rows.iter().filter(|row| row.kind == Kind::Modified);
    let times: Vec<Time> = changes.map(|row| row.at).collect();
    assert_eq!(times.first(), Some(&at(50.0)));
    assert!(
        times
            .windows(2)
            .all(|pair| pair[0].micros_since(pair[1]) == 1_000_000)
    );
}

#[test]
fn an_object_has_its_versions_until_the_next_one_or_its_end() {
    let log = shop();
    let store = log.store();
    let rows = versions(
        &store,
        LaneId::Watch(watchscope_timeline::WatchId(0)),
        at(20.0),
    )
    .rows;
    insta::assert_debug_snapshot!(texts(&store, Tab::Versions, &rows, at(20.0)), @r#"
    [
        "cart-1 of shop/pods | 108 | 09:31:08.000 | 09:31:08.000 |  | DELETED | kubelet | DELETED cart-1 at resourceVersion 108 by kubelet.",
        "cart-0 of shop/pods | 106 | 09:31:06.000 | now | 14 s | MODIFIED | kubelet | MODIFIED cart-0 at resourceVersion 106 by kubelet.",
        "cart-1 of shop/pods | 105 | 09:31:05.000 | 09:31:08.000 | 3 s | MODIFIED | kubelet | MODIFIED cart-1 at resourceVersion 105 by kubelet.",
        "cart-1 of shop/pods | 51 | 09:31:00.100 | 09:31:05.000 | 4.9 s | ADDED | kubelet | ADDED cart-1 at resourceVersion 51, learned from a list.",
        "cart-0 of shop/pods | 50 | 09:31:00.100 | 09:31:06.000 | 5.9 s | ADDED | kubelet | ADDED cart-0 at resourceVersion 50, learned from a list.",
    ]
    "#);
}

#[test]
fn all_findings_that_are_loaded_are_listed_with_each_fact_of_their_tooltips() {
    for seed in 0..u64::from(cases(20)) {
        let log = random_log(seed + 300, 300);
        let (store, now) = (log.store(), log.state.at.plus_millis(500));
        let rows = findings(&store, now).rows;
        let texts = texts(&store, Tab::Findings, &rows, now);
        for (row, text) in rows.iter().zip(&texts) {
            let hit = Hit {
                area: Default::default(),
                lane: row.lane,
                target: row.target(),
                drawn: None,
            };
            let tooltip = describe(&store, &hit, now);
            let (code, rest) = tooltip.what.split_once(' ').unwrap();
            let (name, summary) = rest.split_once(": ").unwrap();
            for fact in [&tooltip.time, code, name, summary] {
                assert!(text.contains(fact), "{fact:?} is not in {text:?}");
            }
        }
    }
}

#[test]
fn a_cell_that_a_spreadsheet_would_compute_begins_with_an_apostrophe() {
    let cells = ["=cmd()", "+1", "-1", "@x", "plain", "a,\"b\"\nc"];
    assert_eq!(
        line(cells),
        "'=cmd(),'+1,'-1,'@x,plain,\"a,\"\"b\"\"\nc\"\r\n"
    );
}
