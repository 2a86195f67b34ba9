//! Every row of the catalogue meets its expectations.

use watchscope_scenarios::catalogue::{self, Expected};
use watchscope_simulator::ClientPhase;

/// `WATCHSCOPE_TEST_ROW=F14` plays this row alone.
#[test]
fn each_row_meets_its_expectations_on_the_wire_and_of_clients() {
    let only = std::env::var("WATCHSCOPE_TEST_ROW").ok();
    let wrong: Vec<String> = catalogue::rows()
        .iter()
        .filter(|row| only.as_ref().is_none_or(|only| row.code == only))
        .flat_map(|row| (0..3).flat_map(|seed| row.play(seed)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn all_fifty_rows_are_listed_in_order() {
    let here: Vec<&str> = catalogue::rows().iter().map(|row| row.code).collect();
    let expected: Vec<String> = (1..=50).map(|n| format!("F{n:02}")).collect();
    assert_eq!(here, expected);
}

#[test]
fn every_row_has_clients_and_something_to_see() {
    for row in catalogue::rows() {
        let (correct, naive): (Vec<&Expected>, Vec<&Expected>) =
            row.clients.iter().partition(|client| client.is_correct);
        assert!(!row.wire.is_empty(), "{}", row.code);
        assert!(!correct.is_empty(), "{}", row.code);
        // A naive client fares otherwise than every correct one, or the row says why none does.
        let worse = naive
            .iter()
            .find(|naive| correct.iter().all(|correct| naive.excludes(correct)));
        assert_eq!(worse.is_none(), row.spares.is_some(), "{}", row.code);
    }
}

#[test]
fn a_correct_client_believes_the_truth_or_has_reported_its_failure() {
    for row in catalogue::rows() {
        for client in row.clients.iter().filter(|client| client.is_correct) {
            let is_true = (client.ghosts, client.missing, client.stale) == (0, 0, 0);
            let has_failed = client.phase == ClientPhase::Failed;
            assert!(is_true || has_failed, "{} {}", row.code, client.client);
        }
    }
}

#[test]
fn a_row_that_is_judged_against_another_story_fails() {
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
