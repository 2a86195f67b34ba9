//! Every row of the catalogue that can be produced comes out as it is written.

use std::collections::BTreeSet;

use watchscope_scenarios::catalogue::{self, PENDING};

#[test]
fn each_row_looks_on_the_wire_and_does_to_its_clients_what_it_says() {
    let wrong: Vec<String> = catalogue::rows()
        .iter()
        .flat_map(|row| (0..3).flat_map(|seed| row.play(seed)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_row_of_the_catalogue_is_here_or_says_what_it_waits_for() {
    let here: Vec<&str> = catalogue::rows().iter().map(|row| row.code).collect();
    let pending = PENDING.iter().map(|(code, _)| *code);
    let all: Vec<&str> = here.iter().copied().chain(pending).collect();
    let expected: Vec<String> = (1..=50).map(|n| format!("F{n:02}")).collect();
    let distinct: BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(distinct.iter().copied().collect::<Vec<_>>(), expected);
    assert_eq!(all.len(), 50, "no row is here and pending");
}

#[test]
fn every_row_has_clients_and_something_to_see() {
    for row in catalogue::rows() {
        assert!(
            !row.wire.is_empty() && !row.clients.is_empty(),
            "{}",
            row.code
        );
        assert!(
            row.clients.iter().any(|client| client.is_correct),
            "{}",
            row.code
        );
    }
}

#[test]
fn a_row_that_is_judged_against_another_story_is_found_wrong() {
    let rows = catalogue::rows();
    for pair in rows.windows(2) {
        let mut swapped = pair[0].clone();
        swapped.wire.clone_from(&pair[1].wire);
        swapped.clients.clone_from(&pair[1].clients);
        if pair[0].wire != pair[1].wire {
            assert!(
                !swapped.play(0).is_empty(),
                "{} judged as {}",
                pair[0].code,
                pair[1].code
            );
        }
    }
}
