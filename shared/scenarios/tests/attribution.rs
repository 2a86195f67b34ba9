//! Why streams end, said of the catalogue's stories: each row's own reason, and no other's.

use std::collections::BTreeMap;

use watchscope_model::{Event, StreamId};
use watchscope_scenarios::{Run, catalogue};

/// What was last said of each stream, counted: `F08 definite ×2`.
fn reasons(run: &Run) -> String {
    let mut last: BTreeMap<StreamId, String> = BTreeMap::new();
    for record in run.records() {
        if let Event::Attribution(told) = &record.event {
            last.insert(told.stream, format!("{} {}", told.code, told.certainty));
        }
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reason in last.into_values() {
        *counts.entry(reason).or_default() += 1;
    }
    let counted = counts
        .iter()
        .map(|(reason, count)| format!("{reason} ×{count}"));
    counted.collect::<Vec<_>>().join(", ")
}

#[test]
fn each_row_of_the_catalogue_ends_its_streams_for_its_own_reason() {
    let told: String = catalogue::rows()
        .iter()
        .map(|row| {
            let by_seed: Vec<String> = (0..3).map(|seed| reasons(&row.run(seed))).collect();
            format!("{}: {}\n", row.code, by_seed.join(" | "))
        })
        .collect();
    insta::assert_snapshot!(told, @r#"
    F01: unknown unknown ×1 | unknown unknown ×1 | unknown unknown ×1
    F02: F08 definite ×1 | F08 definite ×1 | F08 definite ×1
    F03: unknown unknown ×1 | unknown unknown ×1 | unknown unknown ×1
    F04:  |  | 
    F05: normal definite ×9 | normal definite ×8 | normal definite ×9
    F06: F06 suspected ×1 | F06 suspected ×1 | F06 suspected ×1
    F07: F07 likely ×1 | F07 likely ×1 | F07 likely ×1
    F08: F08 definite ×1 | F08 definite ×1 | F08 definite ×1
    F10: F10 likely ×3, F10 suspected ×2, unknown unknown ×1 | F10 likely ×3, F10 suspected ×2, unknown unknown ×1 | F10 likely ×3, F10 suspected ×2, unknown unknown ×1
    F11: F08 definite ×1, F11 definite ×1 | F08 definite ×1, F11 definite ×1 | F08 definite ×1, F11 definite ×1
    F12: F08 definite ×1, F12 definite ×1, normal definite ×2 | F08 definite ×1, F12 definite ×1, normal definite ×2 | F08 definite ×1, F12 definite ×1, normal definite ×2
    F15: unknown unknown ×1 | unknown unknown ×1 | unknown unknown ×1
    F16: F11 definite ×1, F16 likely ×1 | F11 definite ×1, F16 likely ×1 | F11 definite ×1, F16 likely ×1
    F17: F11 definite ×1, unknown unknown ×1 | F11 definite ×1, unknown unknown ×1 | F11 definite ×1, unknown unknown ×1
    F18: F18 likely ×1 | F18 likely ×1 | F18 likely ×1
    F19: unknown unknown ×1 | unknown unknown ×1 | unknown unknown ×1
    F21: unknown unknown ×1 | unknown unknown ×1 | unknown unknown ×1
    F28: F08 definite ×1, F11 definite ×1 | F08 definite ×1, F11 definite ×1 | F08 definite ×1, F11 definite ×1
    F34:  |  | 
    F36:  |  | 
    F42:  |  | 
    F43:  |  | 
    F46:  |  | 
    F47: F47 definite ×1 | F47 definite ×1 | F47 definite ×1
    F48: F08 definite ×1, F11 definite ×1 | F08 definite ×1, F11 definite ×1 | F08 definite ×1, F11 definite ×1
    F49:  |  |
    "#);
}
