//! The open table as text in the page's link: which one, its order, and its filter.
//!
//! ```text
//!   records/Lasted-/gap/shop      TABLE[/COLUMN[-][/KIND[/TEXT]]]
//! ```
//! A column is named by its heading; `-` behind it sorts from the highest. What is as usual at the end is left out. A
//! later version's table opens no table; its columns and kinds count as the usual ones.

use watchscope_timeline::health::COLUMNS;
use watchscope_timeline::table::{Choice, Order, Tab, columns};

use crate::core::table::TableState;

/// The most bytes of the filter's text in a link. The rest of a longer text is left out.
const TEXT_MOST: usize = 256;

/// Returns the text of an open table.
pub(super) fn link_of(state: &TableState) -> String {
    let (column, falling) = order_of(state);
    let usual = TableState {
        tab: state.tab,
        ..first()
    };
    let is_usual = order_of(&usual) == (column, falling);
    let order = match headings(state.tab).nth(column).filter(|_| !is_usual) {
        Some(name) if falling => format!("{name}-"),
        Some(name) => name.to_owned(),
        None => String::new(),
    };
    let choice = Choice::of(state.tab).get(state.choice).copied();
    let kind = match choice.unwrap_or_default() {
        Choice::All => String::new(),
        choice => choice.words(),
    };
    let text = &state.text[..state.text.floor_char_boundary(TEXT_MOST)];
    let parts = [state.tab.word(), &order, &kind, text];
    let last = parts.iter().rposition(|part| !part.is_empty());
    parts[..=last.unwrap_or(0)].join("/")
}

/// Returns the table that a text names; `None` if it names none.
pub(super) fn state_of(link: &str) -> Option<TableState> {
    let mut parts = link.splitn(4, '/');
    let tab = Tab::from_word(parts.next()?)?;
    let mut state = TableState { tab, ..first() };
    let order = parts.next().unwrap_or_default();
    let (name, falling) = match order.strip_suffix('-') {
        Some(name) => (name, true),
        None => (order, false),
    };
    if let Some(column) = headings(tab).position(|heading| heading == name) {
        match tab {
            Tab::Watches => {
                (state.health_order.column, state.health_order.falling) = (column, falling);
            }
            tab => state.orders[tab as usize] = Order { column, falling },
        }
    }
    let kind = parts.next().unwrap_or_default();
    let chosen = Choice::of(tab)
        .iter()
        .position(|choice| choice.words() == kind);
    state.choice = chosen.unwrap_or(0);
    let text = parts.next().unwrap_or_default();
    text[..text.floor_char_boundary(TEXT_MOST)].clone_into(&mut state.text);
    Some(state)
}

/// Returns the column of the open table's order, and whether the highest is first.
fn order_of(state: &TableState) -> (usize, bool) {
    match state.tab {
        Tab::Watches => (state.health_order.column, state.health_order.falling),
        tab => {
            let order = state.orders[tab as usize];
            (order.column, order.falling)
        }
    }
}

/// Returns a table as it opens.
fn first() -> TableState {
    TableState {
        orders: Tab::ALL.map(Order::first_of),
        ..TableState::default()
    }
}

/// Iterates over the headings of a table's columns.
fn headings(tab: Tab) -> impl Iterator<Item = &'static str> {
    let of_watches = COLUMNS.iter().map(|(name, _)| *name);
    let of_watches = of_watches.filter(move |_| tab == Tab::Watches);
    of_watches.chain(columns(tab).iter().map(|column| column.name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_table_as_it_opens_is_its_word_alone() {
        for tab in Tab::ALL {
            let state = TableState { tab, ..first() };
            assert_eq!(link_of(&state), tab.word());
        }
    }

    #[test]
    fn an_unknown_table_opens_none_and_unknown_parts_count_as_usual() {
        assert!(state_of("").is_none());
        assert!(state_of("charts/Time-").is_none());
        let state = state_of("records/Colour-/purple/a/b").expect("a table");
        assert_eq!((state.choice, &*state.text), (0, "a/b"));
        assert_eq!(state.orders, first().orders);
    }

    proptest! {
        #[test]
        fn a_table_reads_back_from_its_text(
            tab in prop::sample::select(Tab::ALL.to_vec()), column in 0usize..12, falling: bool, choice in 0usize..24,
            text in "\\PC{0,40}",
        ) {
            let mut state = TableState { tab, text, ..first() };
            if column < headings(tab).count() {
                match tab {
                    Tab::Watches => (state.health_order.column, state.health_order.falling) = (column, falling),
                    tab => state.orders[tab as usize] = Order { column, falling },
                }
            }
            if choice < Choice::of(tab).len() {
                state.choice = choice;
            }
            let read = state_of(&link_of(&state)).expect("a table");
            prop_assert_eq!((read.tab, read.choice, &read.text), (tab, state.choice, &state.text));
            prop_assert_eq!((read.orders, read.health_order), (state.orders, state.health_order));
        }

        #[test]
        fn any_text_is_read_or_refused(link: String) {
            let _ = state_of(&link);
        }
    }
}
