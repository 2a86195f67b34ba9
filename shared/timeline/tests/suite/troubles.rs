//! Trouble: which things are trouble, in which order, and what lies off the edges of a view.

use proptest::prelude::*;
use watchscope_model::vocabulary::*;
use watchscope_model::wire::Availability;
use watchscope_model::{Event, Time};
use watchscope_timeline::findings::Muted;
use watchscope_timeline::scene::{StretchKind, Target};
use watchscope_timeline::troubles::{NAMED, OffSide, Trouble, TroubleOf, TroublePlace};
use watchscope_timeline::words::{trouble_count, trouble_words};
use watchscope_timeline::{Lanes, Primitive, Px, RecordId, Rows, Store, Troubles, View, WatchId};

use crate::cases::cases;
use crate::common::random::{Chance, random_log};
use crate::common::{FOREVER, Log, at, picture};

const PODS: &str = "shop/pods";

fn read(store: &Store, now: Time) -> Troubles {
    Troubles::read(store, &Muted::default(), now)
}

/// Returns each trouble in a line.
fn lines(store: &Store, troubles: &Troubles) -> String {
    let lines = (0..troubles.all().len()).filter_map(|place| {
        let words = trouble_words(store, troubles, place)?;
        let severity = words.severity;
        Some(format!(
            "{} {severity} {} {} {}",
            troubles.number(place),
            words.code,
            words.subject,
            words.at
        ))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn raise(log: &mut Log, s: f64, code: &str, severity: Severity) {
    log.finding(s, code, severity, Standing::Raised, PODS, "x");
}

#[test]
fn each_occurrence_above_a_note_is_trouble_and_a_note_is_none() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    raise(&mut log, 10.0, "F11", Severity::Warning);
    raise(&mut log, 20.0, "F08", Severity::Note);
    raise(&mut log, 30.0, "F11", Severity::Error);
    log.finding(40.0, "F11", Severity::Error, Standing::Cleared, PODS, "x");
    raise(&mut log, 50.0, "F24", Severity::Divergence);
    let store = log.store();
    insta::assert_snapshot!(lines(&store, &read(&store, at(60.0))), @r"
    1 warning F11 shop/pods 09:31:10
    2 error F11 shop/pods 09:31:30
    3 divergence F24 shop/pods 09:31:50, open
    ");
    let mut muted = Muted::default();
    muted.add("F11 shop/pods", "known");
    assert_eq!(Troubles::read(&store, &muted, at(60.0)).total(), 1);
}

#[test]
fn a_record_that_stands_for_several_occurrences_says_so_on_its_chip() {
    let mut log = Log::steady("a", 0.0, 3);
    for (s, count) in [(20.0, 1), (40.0, 5), (60.0, 6)] {
        raise(&mut log, s, "F11", Severity::Warning);
        let last = log.records.pop().unwrap();
        let Event::Finding(mut finding) = last.event else {
            panic!("it raised a finding");
        };
        finding.count = Some(count);
        log.push_at(last.at, finding);
    }
    // The server holds only the last 10 s; the chapters before come in two pieces.
    let mut pieces = Store::default();
    let end = log.records.len();
    log.send_from(&mut pieces, end);
    pieces.chapter(&log.chapter(end - 1, end)).unwrap();
    pieces.chapter(&log.chapter(0, end - 1)).unwrap();
    for store in [log.store(), pieces] {
        let found = read(&store, at(70.0));
        let counts: Vec<u64> = found.all().iter().map(|of| of.stands_for).collect();
        assert_eq!(counts, [1, 4, 1]);
        let chips = |to| {
            let view = View::between(at(0.0), at(to), 900.0);
            let (_, scene) = picture(&store, &mut Lanes::showing_all(), &view, at(70.0));
            let texts = scene
                .primitives
                .iter()
                .filter_map(|primitive| match primitive {
                    Primitive::Text(line) if line.text.starts_with("F11") => {
                        Some(line.text.clone())
                    }
                    _ => None,
                });
            texts.collect::<Vec<_>>()
        };
        assert!(chips(70.0).contains(&"F11 ×4".to_owned()));
        assert_eq!(chips(7_000.0), ["F11 ×6"]);
    }
}

#[test]
fn a_gap_a_refusal_and_a_long_wait_are_trouble_unless_a_finding_stands_for_them() {
    let mut log = Log::new("a");
    for (watch, id) in [("a/pods", 1), ("b/pods", 2), ("c/pods", 3), (PODS, 4)] {
        log.opened(0.0, watch, id, &["cart-0"], 1_000);
    }
    for (watch, stream) in [("a/pods", 1), (PODS, 4)] {
        log.end(10.0, watch, stream, Cause::End);
    }
    raise(&mut log, 11.0, "F11", Severity::Warning);
    for watch in ["a/pods", PODS] {
        log.gap(20.0, watch, false, None);
    }
    let wait = |log: &mut Log, s: f64, watch: &str, phase| {
        log.phase(s, watch, phase, PhaseReason::ShortStream, None);
    };
    wait(&mut log, 30.0, "b/pods", Phase::Waiting);
    wait(&mut log, 34.9, "b/pods", Phase::Connecting);
    wait(&mut log, 35.0, "b/pods", Phase::Streaming);
    wait(&mut log, 40.0, "b/pods", Phase::Waiting);
    wait(&mut log, 45.5, "b/pods", Phase::Connecting);
    wait(&mut log, 45.6, "b/pods", Phase::Waiting);
    wait(&mut log, 60.0, "c/pods", Phase::Refused);
    let store = log.store();
    insta::assert_snapshot!(lines(&store, &read(&store, at(70.0))), @r"
    1 warning gap lost a/pods 09:31:10
    2 warning F11 shop/pods 09:31:11, open
    3 warning waiting b/pods 09:31:40, open
    4 error refused c/pods 09:32:00, open
    ");
}

#[test]
fn a_wait_becomes_trouble_after_5_s_without_another_record() {
    let mut log = Log::new("a");
    log.opened(0.0, PODS, 1, &["cart-0"], 1_000);
    log.phase(10.0, PODS, Phase::Waiting, PhaseReason::ShortStream, None);
    let store = log.store();
    let early = read(&store, at(14.0));
    assert_eq!(early.total(), 0);
    assert!(!early.is_behind(&store, at(14.9)) && early.is_behind(&store, at(15.1)));
    assert_eq!(read(&store, at(15.1)).total(), 1);
}

#[test]
fn chapters_that_are_not_loaded_list_their_trouble_until_their_records_come() {
    let mut log = Log::steady("a", 0.0, 20);
    raise(&mut log, 30.0, "F11", Severity::Warning);
    raise(&mut log, 31.0, "F11", Severity::Warning);
    let cut = log.records.len();
    for step in 40..60 {
        log.bookmark(f64::from(step), PODS, 10, 1_100 + step as u64);
    }
    raise(&mut log, 70.0, "F24", Severity::Divergence);
    let mut store = Store::default();
    log.send_from(&mut store, log.records.len() - 1);
    let entries = vec![
        log.listed(0, cut, Availability::Kept),
        log.listed(cut, log.records.len() - 1, Availability::Kept),
    ];
    store.list(&"log".into(), &log.epoch, 0, entries);
    let found = read(&store, at(80.0));
    insta::assert_snapshot!(lines(&store, &found), @r"
    1 warning finding not loaded yet 09:31:30
    2 warning F11 shop/pods 09:31:31, open
    3 divergence F24 shop/pods 09:32:10, open
    ");
    insta::assert_snapshot!(trouble_count(&found, Some(0)), @"Problem 1 of about 3");
    store.chapter(&log.chapter(0, cut)).unwrap();
    assert!(found.is_behind(&store, at(80.0)));
    let found = read(&store, at(80.0));
    insta::assert_snapshot!(lines(&store, &found), @r"
    1 warning F11 shop/pods 09:31:30
    2 warning F11 shop/pods 09:31:31, open
    3 divergence F24 shop/pods 09:32:10, open
    ");
    insta::assert_snapshot!(trouble_count(&found, Some(2)), @"Last of 3");
}

/// Returns trouble at random times, on at most two of five watches each.
fn random_troubles(seed: u64) -> Vec<Trouble> {
    let mut chance = Chance::new(seed);
    let severities = [Severity::Warning, Severity::Error, Severity::Divergence];
    let count = chance.below(40);
    let one = |seq: u64| {
        let began = chance.below(60) as i64;
        let watches = chance.below(3);
        let is_open = chance.one_in(4);
        Trouble {
            began: Time(began),
            until: match is_open {
                true => FOREVER,
                false => Time(began + chance.below(30) as i64),
            },
            marked_until: Time(began + chance.below(30) as i64),
            severity: chance.of(&severities),
            of: TroubleOf::LostGap,
            watches: (0..watches)
                .map(|of| WatchId((seq + of) as u32 % 5))
                .collect(),
            place: TroublePlace::Finding(RecordId {
                epoch: 0,
                seq: watchscope_model::Seq(seq),
            }),
            stands_for: 1,
        }
    };
    (0..count).map(one).collect()
}

/// Counts those that `is_off` holds for, and returns the worst, by a pass over all.
fn brute(troubles: &Troubles, is_off: impl Fn(&Trouble) -> bool) -> OffSide {
    let all = troubles.all().iter().enumerate();
    let mut off: Vec<(usize, &Trouble)> = all.filter(|(_, of)| is_off(of)).collect();
    let count = off.len() as u64;
    off.sort_by_key(|(_, of)| std::cmp::Reverse((of.severity.rank(), of.began)));
    off.truncate(NAMED);
    let worst = off.iter().map(|(place, _)| *place).collect();
    OffSide { count, worst }
}

/// Compares two edges. Of equally severe trouble of one time, either may be named.
fn same(troubles: &Troubles, a: &OffSide, b: &OffSide) -> bool {
    let badness = |side: &OffSide| -> Vec<(usize, Time)> {
        let of = side.worst.iter().map(|&place| &troubles.all()[place]);
        of.map(|of| (of.severity.rank(), of.began)).collect()
    };
    a.count == b.count && badness(a) == badness(b)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    #[test]
    fn stepping_visits_each_trouble_exactly_once_in_order(seed: u64, from in 0i64..100) {
        let all = random_troubles(seed);
        let troubles = Troubles::of(all.clone());
        let mut began: Vec<Time> = all.iter().map(|of| of.began).collect();
        began.sort_unstable();
        let seen: Vec<Time> = troubles.all().iter().map(|of| of.began).collect();
        prop_assert_eq!(&seen, &began);
        for (place, of) in troubles.all().iter().enumerate() {
            prop_assert_eq!(of.place.record().and_then(|record| troubles.find(record)), Some(place));
            prop_assert_eq!(troubles.number(place), place as u64 + 1);
        }
        // From any time, the next and the previous ones are those that a pass over all finds.
        let from = Time(from);
        prop_assert_eq!(troubles.after(from), seen.iter().position(|&at| at > from));
        prop_assert_eq!(troubles.before(from), seen.iter().rposition(|&at| at < from));
        let nearest = seen.iter().map(|at| at.micros_since(from).abs()).min();
        let found = troubles.nearest(from).map(|place| seen[place].micros_since(from).abs());
        prop_assert_eq!(found, nearest);
    }

    #[test]
    fn the_edges_count_and_name_what_a_pass_over_all_trouble_finds(seed: u64, left in 0i64..90, span in 1i64..40) {
        let troubles = Troubles::of(random_troubles(seed));
        let (left, right) = (Time(left), Time(left + span));
        let before = brute(&troubles, |of| of.marked_until < left);
        prop_assert!(same(&troubles, &troubles.marked_before(left), &before));
        let begins = brute(&troubles, |of| of.began > right);
        prop_assert!(same(&troubles, &troubles.begins_after(right), &begins));
        for watch in (0..5).map(WatchId) {
            let of_watch = |of: &&Trouble| of.watches.contains(&watch);
            let is_left = troubles.all().iter().filter(of_watch).any(|of| of.marked_until < left);
            let is_right = troubles.all().iter().filter(of_watch).any(|of| of.began > right);
            let side = troubles.sides(watch, (left, right)).map(|(side, _)| (side.is_left, side.is_right));
            prop_assert_eq!(side, (is_left || is_right).then_some((is_left, is_right)));
        }
    }

    #[test]
    fn a_window_of_rows_counts_each_trouble_of_a_row_above_or_below_it_once(seed: u64, top in 0i32..300, height in 1i32..300) {
        let mut log = Log::new("a");
        for (place, watch) in ["a/pods", "b/pods", "c/pods", "d/pods", "e/pods"].into_iter().enumerate() {
            log.opened(place as f64, watch, place as u64 + 1, &["x-0", "x-1"], 1_000);
        }
        let store = log.store();
        let view = View::between(at(0.0), at(20.0), 800.0);
        let rows: Rows = Lanes::showing_all().rows(&store, &view, at(20.0));
        let troubles = Troubles::of(random_troubles(seed));
        let (top, bottom) = (Px::whole(top), Px::whole(top + height));
        let (above, below) = troubles.off_rows(&rows, top, bottom);
        let ys = |watch: WatchId| {
            let mut of = rows.rows.iter().filter(|row| row.id.watch() == Some(watch));
            let (first, last) = (of.clone().next().unwrap(), of.next_back().unwrap());
            (first.y - first.label, last.bottom())
        };
        let is_above = |of: &Trouble| of.watches.first().is_some_and(|&watch| ys(watch).1 <= top);
        let is_below = |of: &Trouble| of.watches.first().is_some_and(|&watch| ys(watch).0 >= bottom);
        prop_assert!(same(&troubles, &above, &brute(&troubles, is_above)));
        prop_assert!(same(&troubles, &below, &brute(&troubles, is_below)));
    }

    #[test]
    fn chips_show_each_occurrence_in_view_exactly_once(seed: u64, span_ms in 100u64..400_000) {
        let mut chance = Chance::new(seed);
        let mut log = Log::steady("a", 0.0, 3);
        let (mut s, mut raised) = (20.0, Vec::new());
        for _ in 0..chance.below(60) {
            s += chance.below(9_000) as f64 / 1e3;
            let code = chance.of(&["F08", "F11", "F24"]);
            let severity = chance.of(&[Severity::Note, Severity::Warning, Severity::Error]);
            if chance.one_in(6) {
                log.finding(s, code, severity, Standing::Cleared, PODS, "x");
            } else {
                raised.push((s, code, log.finding(s, code, severity, Standing::Raised, PODS, "x")));
            }
        }
        let store = log.store();
        let left = at(chance.below(400) as f64);
        let view = View::between(left, left.plus_millis(span_ms), 900.0);
        let (_, scene) = picture(&store, &mut Lanes::showing_all(), &view, at(s + 1.0));
        let mut shown: Vec<u64> = Vec::new();
        for hit in &scene.hits {
            match &hit.target {
                Target::Stretch(StretchKind::Finding, id) => shown.push(id.seq.0),
                Target::Findings(ids) => shown.extend(ids.iter().map(|id| id.seq.0)),
                _ => {}
            }
        }
        shown.sort_unstable();
        let in_view = raised.iter().filter(|(s, ..)| (view.left()..=view.right()).contains(&at(*s)));
        for (_, code, seq) in in_view {
            let times = shown.iter().filter(|&&known| known == seq.0).count();
            prop_assert_eq!(times, 1, "{} {}", code, seq);
        }
        let all = shown.len();
        shown.dedup();
        prop_assert_eq!(shown.len(), all);
    }

    #[test]
    fn trouble_is_the_same_however_its_records_were_loaded(seed: u64) {
        let log = random_log(seed, 150);
        let now = log.records[log.records.len() - 1].at.plus_millis(1);
        let whole = log.store();
        let mut chance = Chance::new(seed);
        let mut pieces = Store::default();
        let mut cut = 1 + chance.below(log.records.len() as u64 - 1) as usize;
        log.send_from(&mut pieces, cut);
        while cut > 0 {
            let from = chance.below(cut as u64) as usize;
            pieces.chapter(&log.chapter(from, cut)).unwrap();
            cut = from;
        }
        // Watches have other numbers in the other store, but the same names.
        let [whole, pieces] = [&whole, &pieces].map(|store| lines(store, &read(store, now)));
        prop_assert_eq!(whole, pieces);
    }
}
