//! The tables, without a browser: what they list, how they follow the picture, and what choosing a row does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::at;
use host::{Host, LATE, SECOND, log};
use watchscope_app::core::msg::Msg;
use watchscope_app::core::person::Person;
use watchscope_app::core::table::{Step, TableDeed, TableView};
use watchscope_app::input::actions::Action;
use watchscope_timeline::View;
use watchscope_timeline::table::Tab;

/// Returns a page with the tables open.
fn page() -> Host {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    host.person(Person::Act(Action::Tables));
    host
}

/// Returns a page that was opened by a link.
fn page_at(fragment: &str) -> Host {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    host.person(Person::GoTo(fragment.into()));
    host
}

fn does(host: &Host, deed: TableDeed) {
    host.person(Person::Table(deed));
}

fn shown(host: &Host) -> TableView {
    host.model.borrow().shown.table.clone().unwrap()
}

/// Returns the rows in the document: a star for the selected one, then the cells.
fn rows(host: &Host) -> Vec<String> {
    let shown = shown(host);
    let rows = shown.rows.iter();
    let rows = rows.map(|row| {
        (
            if row.is_selected { "* " } else { "" },
            row.cells.join(" | "),
        )
    });
    rows.map(|(sign, cells)| format!("{sign}{cells}")).collect()
}

#[test]
fn the_records_of_the_picture_are_listed_with_the_newest_first() {
    let host = page();
    insta::assert_debug_snapshot!(rows(&host), @r#"
    [
        "since 09:31:03.000 (7 s) | life | cart-2 of shop/pods |  | 7 s | The watch holds this object. ADDED cart-2 at resourceVersion 12, learned from a list.",
        "09:31:03.000 | ADDED | cart-2 of shop/pods | 12 |  | ADDED cart-2 at resourceVersion 12, learned from a list.",
        "since 09:31:02.000 (8 s) | life | cart-1 of shop/pods |  | 8 s | The watch holds this object. ADDED cart-1 at resourceVersion 11, learned from a list.",
        "09:31:02.000 | ADDED | cart-1 of shop/pods | 11 |  | ADDED cart-1 at resourceVersion 11, learned from a list.",
        "since 09:31:01.000 (9 s) | life | cart-0 of shop/pods |  | 9 s | The watch holds this object. ADDED cart-0 at resourceVersion 10, learned from a list.",
        "09:31:01.000 | ADDED | cart-0 of shop/pods | 10 |  | ADDED cart-0 at resourceVersion 10, learned from a list.",
    ]
    "#);
}

#[test]
fn a_row_is_selected_with_its_record_and_the_tables_stay_open() {
    let host = page();
    does(&host, TableDeed::Typed("cart-1 added".into()));
    assert_eq!(host.model.borrow().said, "1 of 6 rows.");
    does(&host, TableDeed::Open(0));
    let model = host.model.borrow();
    let record = model.pick.record.unwrap();
    assert_eq!(model.store.entry(record).unwrap().at(), at(2.0));
    assert_eq!(model.marked.as_of, Some(at(2.0)));
    drop(model);
    assert!(shown(&host).rows[0].is_selected);
}

#[test]
fn keys_move_the_active_cell_within_the_table_and_open_its_row() {
    let host = page();
    does(&host, TableDeed::Window { first: 0, count: 2 });
    for step in [Step::Down, Step::Down, Step::Down, Step::Right] {
        does(&host, TableDeed::Move(step));
    }
    let table = shown(&host);
    assert_eq!(
        (table.active, table.first, table.scrolls),
        (Some((2, 1)), 1, false)
    );
    does(&host, TableDeed::Move(Step::Last));
    let table = shown(&host);
    assert_eq!(table.active, Some((table.total - 1, 1)));
    assert_eq!((table.first, table.scrolls), (table.total - 2, true));
    does(&host, TableDeed::Move(Step::First));
    does(&host, TableDeed::Move(Step::Up));
    assert_eq!(shown(&host).active, Some((0, 1)));
    does(&host, TableDeed::OpenActive);
    assert!(host.model.borrow().panels.selection.is_some());
}

#[test]
fn the_table_follows_the_pictures_time_range() {
    let host = page();
    let total = shown(&host).total;
    let view = View::between(at(2.5), at(3.5), 800.0);
    host.model.borrow_mut().view = view;
    host.person(Person::Redraw);
    host.frame(2_000.0);
    let table = shown(&host);
    assert!(table.total < total, "{}", table.total);
    let added = rows(&host)
        .into_iter()
        .filter(|row| row.contains("| ADDED |"));
    assert_eq!(added.count(), 1);
}

#[test]
fn a_table_without_a_row_says_why() {
    let host = page();
    does(&host, TableDeed::Show(Tab::Findings));
    assert_eq!(shown(&host).nothing, "No finding is loaded.");
    does(&host, TableDeed::Show(Tab::Versions));
    assert!(shown(&host).nothing.starts_with("No lane is selected."));
    does(&host, TableDeed::Show(Tab::Records));
    does(&host, TableDeed::Typed("zzqq".into()));
    assert_eq!(shown(&host).nothing, "No row matches the filter.");
}

#[test]
fn a_table_is_copied_as_csv_in_its_order() {
    let host = page();
    does(&host, TableDeed::Typed("added".into()));
    does(&host, TableDeed::Sort(2));
    let (text, rows) = host.model.borrow().table_csv();
    assert_eq!(rows, 3);
    insta::assert_snapshot!(text.replace("\r\n", "\n"), @r#"
    begin,end,Time,Kind,Lane,resourceVersion,Lasted,What
    2026-11-19T09:31:01.000000Z,2026-11-19T09:31:01.000000Z,09:31:01.000,ADDED,cart-0 of shop/pods,10,,"ADDED cart-0 at resourceVersion 10, learned from a list."
    2026-11-19T09:31:02.000000Z,2026-11-19T09:31:02.000000Z,09:31:02.000,ADDED,cart-1 of shop/pods,11,,"ADDED cart-1 at resourceVersion 11, learned from a list."
    2026-11-19T09:31:03.000000Z,2026-11-19T09:31:03.000000Z,09:31:03.000,ADDED,cart-2 of shop/pods,12,,"ADDED cart-2 at resourceVersion 12, learned from a list."
    "#);
}

#[test]
fn another_panel_takes_the_place_of_the_tables() {
    let host = page();
    host.person(Person::Act(Action::Watches));
    assert!(host.model.borrow().shown.table.is_none());
    host.person(Person::Act(Action::Tables));
    assert!(!host.model.borrow().panels.watches_open);
    host.person(Person::Act(Action::Tables));
    assert!(host.model.borrow().panels.table.is_none());
}

/// Returns the fragment that the page writes into the address bar.
fn address(host: &Host, ms: f64) -> String {
    host.frame(ms);
    host.model.borrow().panels.address.written.clone()
}

#[test]
fn the_open_table_its_order_and_its_filter_are_in_the_link_and_survive_a_reload() {
    let host = page();
    assert!(
        address(&host, 3_000.0).contains("&table=records"),
        "as it opens"
    );
    does(&host, TableDeed::Typed("cart".into()));
    does(&host, TableDeed::Sort(1));
    does(&host, TableDeed::Choose(1));
    let fragment = address(&host, 6_000.0);
    assert!(
        fragment.contains("&table=records/Kind/changes/cart"),
        "{fragment}"
    );
    let again = page_at(&fragment);
    let table = shown(&again);
    assert_eq!(
        (table.tab, table.sorted, table.choice),
        (Tab::Records, (1, false), 1)
    );
    assert_eq!(table.text, "cart");
    assert_eq!(shown(&host).total, table.total);
    does(&host, TableDeed::Toggle);
    assert!(!address(&host, 9_000.0).contains("table="));
}

#[test]
fn a_link_without_a_table_closes_it_and_an_unknown_table_opens_none() {
    let host = page();
    host.person(Person::GoTo("#v=1&filter=cart".into()));
    assert!(host.model.borrow().shown.table.is_none());
    host.person(Person::GoTo("#v=1&table=charts".into()));
    assert!(host.model.borrow().shown.table.is_none());
    host.person(Person::GoTo("#v=1&table=watches/Age-".into()));
    assert_eq!(
        (shown(&host).tab, shown(&host).sorted),
        (Tab::Watches, (2, true))
    );
}

#[test]
fn a_table_of_a_link_opens_once_the_third_part_is_loaded() {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.frame(100.0);
    host.send(Msg::Loaded(&SECOND));
    host.live(&log, &mut writer, 2);
    host.person(Person::GoTo("#v=1&table=versions".into()));
    assert!(
        host.model.borrow().shown.table.is_some(),
        "it loads that part"
    );
    // Panels are published while that part is loaded.
    host.frame(2_000.0);
    host.send(Msg::Late(&LATE));
    assert_eq!(shown(&host).tab, Tab::Versions);
    assert!(!shown(&host).columns.is_empty());
}
