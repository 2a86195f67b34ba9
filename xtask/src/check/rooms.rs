//! The rooms of our crates: which room may use which, and the rule that files inside a room form no circle.
//!
//! A room is a part of a crate with one role: mostly a top-level module. [`plan`] lists the rooms and the allowed
//! arrows between them. It also lists violations in today's code as owed. These lists only shrink: an arrow or a circle
//! that is gone must leave its list.
//!
//! The check reads tokens, not types. It sees paths (`crate::store::Store`, `super::x`), and follows re-exports of a
//! module to the file that has the item. It leaves tests out.

mod plan;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use self::plan::{Crate, PLAN, Room};
use self::source::Sources;
pub(super) use self::source::without_tests;
use super::boundaries::reached;
use crate::project::Project;
use crate::violation::Violation;

/// The file that a violation of the plan names.
const PLAN_FILE: &str = "xtask/src/check/rooms/plan.rs";

/// Returns all violations of the plan in the checkout.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let mut broken = Vec::new();
    for plan in PLAN {
        broken.extend(of_plan(plan));
        let folder = project.root.join(plan.folder).join("src");
        broken.extend(of_crate(plan, &Sources::read(&folder, plan.name)?));
    }
    broken.sort();
    Ok(broken)
}

/// Checks the plan itself: the allowed arrows form no circle, and name rooms that exist.
fn of_plan(plan: &Crate) -> Vec<Violation> {
    let names: BTreeSet<&str> = plan.rooms.iter().map(|room| room.name).collect();
    let mut broken = Vec::new();
    let mut graph = BTreeMap::new();
    for room in plan.rooms {
        for used in room.uses.iter().chain(room.owes) {
            if !names.contains(used) {
                broken.push(violation(
                    format!("{}, {}", plan.folder, room.name),
                    format!("may use {used}, which is no room"),
                    "name a room".to_owned(),
                ));
            }
        }
        graph.insert(room.name, room.uses.iter().copied().collect());
    }
    for circle in circles(&graph) {
        broken.push(violation(
            plan.folder.to_owned(),
            format!("its rooms {} may use each other", circle.join(", ")),
            "arrows turn one way".to_owned(),
        ));
    }
    broken
}

/// Returns the violations of a plan in the files of its crate.
fn of_crate(plan: &Crate, sources: &Sources) -> Vec<Violation> {
    let mut broken = Vec::new();
    let mut used: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut inside: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for file in sources.files() {
        let Some(room) = plan.room(file) else {
            broken.push(violation(
                format!("{}/src/{file}", plan.folder),
                "is in no room".to_owned(),
                format!("give it one in {PLAN_FILE}"),
            ));
            continue;
        };
        for (target, line) in sources.arrows(file) {
            let Some(other) = plan.room(target) else {
                continue;
            };
            if other.name == room.name {
                let files = inside.entry(room.name).or_default();
                files.entry(file).or_default().insert(target);
                continue;
            }
            used.insert((room.name, other.name));
            if !room.may_use(other.name) && !room.owes.contains(&other.name) {
                broken.push(violation(
                    format!("{}/src/{file}:{line}", plan.folder),
                    format!(
                        "{} uses {} ({target}), against the plan of the rooms",
                        room.name, other.name
                    ),
                    format!(
                        "move what both need below both, or change {PLAN_FILE} and ARCHITECTURE.md"
                    ),
                ));
            }
        }
    }
    for room in plan.rooms {
        for owed in room.owes {
            if !used.contains(&(room.name, owed)) {
                broken.push(violation(
                    format!("{}, {}", plan.folder, room.name),
                    format!("uses {owed} no longer, which is still listed as owed"),
                    format!("take it off the list in {PLAN_FILE}"),
                ));
            }
        }
    }
    broken.extend(of_circles(plan, &inside));
    broken
}

/// Returns circles of files inside rooms that are not listed, and listed circles that do not exist.
fn of_circles(
    plan: &Crate,
    inside: &BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>>,
) -> Vec<Violation> {
    let found: BTreeSet<Vec<&str>> = inside.values().flat_map(circles).collect();
    let listed: BTreeSet<Vec<&str>> = plan
        .machines
        .iter()
        .chain(plan.circles)
        .map(|circle| circle.to_vec())
        .collect();
    let new = found.difference(&listed).map(|circle| {
        violation(
            format!("{}/src/{}", plan.folder, circle[0]),
            format!("forms a circle with {}", circle[1..].join(", ")),
            "move what they share into a file below them".to_owned(),
        )
    });
    let gone = listed.difference(&found).map(|circle| {
        violation(
            format!("{}/src/{}", plan.folder, circle[0]),
            format!(
                "is listed in a circle that is not there as such: {}",
                circle.join(", ")
            ),
            format!("make the list in {PLAN_FILE} as small as the circle is"),
        )
    });
    new.chain(gone).collect()
}

fn violation(place: String, problem: String, remedy: String) -> Violation {
    Violation {
        place,
        problem,
        remedy,
    }
}

/// Returns the groups of two or more names that all reach each other, each group sorted.
fn circles<'a>(graph: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let uses = |name: &'a str| graph.get(name).into_iter().flatten().copied();
    let reaches: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|name| (*name, reached(name, uses)))
        .collect();
    let mut all = BTreeSet::new();
    for (name, others) in &reaches {
        let circle: Vec<&str> = others
            .iter()
            .copied()
            .filter(|other| reaches.get(other).is_some_and(|back| back.contains(name)))
            .collect();
        if circle.len() > 1 {
            all.insert(circle);
        }
    }
    all.into_iter().collect()
}

impl Crate {
    /// Returns the room of a file below src/: the one with the longest matching part of the path.
    fn room(&self, file: &str) -> Option<&Room> {
        let beginning = |room: &&Room| {
            let fits = room.parts.iter().filter(|part| is_part(file, part));
            fits.map(|part| part.len()).max()
        };
        let fitting = self.rooms.iter().filter(|room| beginning(room).is_some());
        fitting.max_by_key(beginning)
    }
}

/// Whether a file is that module, or lies below it.
fn is_part(file: &str, module: &str) -> bool {
    let rest = file.strip_prefix(module);
    rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

impl Room {
    fn may_use(&self, other: &str) -> bool {
        self.uses.contains(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn room(
        name: &'static str,
        parts: &'static [&'static str],
        uses: &'static [&'static str],
        owes: &'static [&'static str],
    ) -> Room {
        Room {
            name,
            parts,
            uses,
            owes,
        }
    }

    const ROOMS: &[Room] = &[
        room("root", &["lib"], &["draw"], &[]),
        room("store", &["store"], &[], &[]),
        room("trace", &["store/trace"], &[], &["words"]),
        room("draw", &["draw"], &["store", "trace"], &[]),
        room("words", &["words"], &[], &[]),
    ];

    const HOUSE: Crate = Crate {
        name: "a-house",
        folder: "shared/house",
        rooms: ROOMS,
        machines: &[],
        circles: &[],
    };

    /// Returns the violations of a plan in a crate of these files, one a line.
    fn broken(plan: &Crate, files: &[(&str, &str)]) -> String {
        let texts: Vec<(String, String)> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let sources = Sources::of(&texts, plan.name).unwrap();
        lines(of_crate(plan, &sources))
    }

    fn lines(violations: Vec<Violation>) -> String {
        let lines = violations.iter().map(|violation| format!("{violation}\n"));
        lines.collect()
    }

    /// A file that still uses the owed arrow, so that the plan's list is right.
    const OWED: (&str, &str) = ("store/trace.rs", "use crate::words::Said;");

    #[test]
    fn only_an_arrow_against_the_plan_is_reported_with_its_line() {
        let files = [
            ("lib.rs", "mod draw; mod store; mod words;"),
            (
                "draw.rs",
                "use crate::store::Store;\n\nfn f() -> crate::words::Said { todo!() }",
            ),
            ("store.rs", "mod trace; pub struct Store;"),
            OWED,
            ("words.rs", "pub struct Said;"),
        ];
        insta::assert_snapshot!(broken(&HOUSE, &files), @"shared/house/src/draw.rs:3: draw uses words (words.rs), against the plan of the rooms; move what both need below both, or change xtask/src/check/rooms/plan.rs and ARCHITECTURE.md");
    }

    #[test]
    fn an_arrow_is_found_in_each_form_of_path() {
        let written = [
            "use super::words;",
            "use crate::{store, words::Said};",
            "fn f(_: a_house::words::Said) {}",
            "use super::*; fn f(_: super::words::Said) {}",
            "fn f() { assert!(crate::words::is()); }",
        ];
        for draw in written {
            let files = [
                ("lib.rs", ""),
                ("draw.rs", draw),
                OWED,
                ("words.rs", ""),
                ("store.rs", ""),
            ];
            let broken = broken(&HOUSE, &files);
            assert!(
                broken.contains("draw uses words (words.rs)"),
                "{draw}: {broken}"
            );
        }
    }

    #[test]
    fn a_re_exported_item_belongs_to_the_file_that_has_it() {
        let files = [
            ("lib.rs", "pub use words::Told;\npub use draw::Picture;"),
            ("store/trace.rs", "use crate::Told;"),
            (
                "draw/mod.rs",
                "mod picture; pub use self::picture::Picture;",
            ),
            ("draw/picture.rs", "pub struct Picture;"),
            ("draw/words.rs", "use super::Picture;"),
            ("words.rs", "pub struct Told;"),
        ];
        assert_eq!(broken(&HOUSE, &files), "");
    }

    #[test]
    fn tests_may_use_every_room() {
        let files = [
            (
                "store.rs",
                "#[cfg(test)]\nmod tests { use crate::words::Said; }\n#[cfg(test)]\nuse crate::draw::Picture;",
            ),
            ("store/tests.rs", "use crate::words::Said;"),
            ("store/tests/more.rs", "use crate::words::Said;"),
            ("words.rs", ""),
            ("draw.rs", ""),
            OWED,
        ];
        assert_eq!(broken(&HOUSE, &files), "");
    }

    #[test]
    fn an_arrow_that_is_gone_must_leave_the_list_of_owed_ones() {
        let files = [("store/trace.rs", ""), ("words.rs", "")];
        insta::assert_snapshot!(broken(&HOUSE, &files), @"shared/house, trace: uses words no longer, which is still listed as owed; take it off the list in xtask/src/check/rooms/plan.rs");
    }

    #[test]
    fn a_file_without_a_room_is_reported() {
        insta::assert_snapshot!(broken(&HOUSE, &[OWED, ("words.rs", ""), ("stored.rs", "")]), @"shared/house/src/stored.rs: is in no room; give it one in xtask/src/check/rooms/plan.rs");
    }

    #[test]
    fn a_circle_of_files_is_reported_unless_exactly_it_is_listed() {
        let files = [
            (
                "words.rs",
                "mod event; mod state; mod end; fn f() { event::g() }\npub struct Said;",
            ),
            (
                "words/event.rs",
                "use super::Said; pub fn g() { super::state::h() }",
            ),
            (
                "words/state.rs",
                "pub fn h(_: super::event::E, _: super::end::F) {}",
            ),
            ("words/end.rs", "pub struct F;"),
            OWED,
        ];
        insta::assert_snapshot!(broken(&HOUSE, &files), @"shared/house/src/words.rs: forms a circle with words/event.rs, words/state.rs; move what they share into a file below them");
        let listed = |circles| Crate { circles, ..HOUSE };
        let same = listed(&[&["words.rs", "words/event.rs", "words/state.rs"]]);
        assert_eq!(broken(&same, &files), "");
        let larger = listed(&[&[
            "words.rs",
            "words/end.rs",
            "words/event.rs",
            "words/state.rs",
        ]]);
        insta::assert_snapshot!(broken(&larger, &files), @"
    shared/house/src/words.rs: forms a circle with words/event.rs, words/state.rs; move what they share into a file below them
    shared/house/src/words.rs: is listed in a circle that is not there as such: words.rs, words/end.rs, words/event.rs, words/state.rs; make the list in xtask/src/check/rooms/plan.rs as small as the circle is
    ");
    }

    #[test]
    fn a_plan_whose_arrows_form_a_circle_is_refused() {
        const IN_A_CIRCLE: &[Room] = &[
            room("store", &["store"], &["draw"], &[]),
            room("draw", &["draw"], &["lanes", "store"], &[]),
        ];
        let plan = Crate {
            rooms: IN_A_CIRCLE,
            ..HOUSE
        };
        insta::assert_snapshot!(lines(of_plan(&plan)), @"
    shared/house, draw: may use lanes, which is no room; name a room
    shared/house: its rooms draw, store may use each other; arrows turn one way
    ");
    }
}
