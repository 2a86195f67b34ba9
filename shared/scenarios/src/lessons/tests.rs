//! Tests of the lessons' claims: each moment comes before its passage, and the records show what a passage claims.

use watchscope_model::{Entry, Layers, State};

use super::player::digest;
use super::*;

fn run_of(lesson: &Lesson) -> Run {
    Run {
        seed: 1,
        server: lesson.server,
        client: lesson.client,
    }
}

fn player(lesson: &Lesson) -> LessonPlayer {
    LessonPlayer::new(lesson.clone(), run_of(lesson))
}

/// The folds of the log at one time of a lesson.
struct Then {
    state: State,
    layers: Layers,
}

impl Then {
    fn of(name: &str, at_s: f64) -> Self {
        let lesson = lesson(name).unwrap();
        let (mut state, mut layers) = (State::default(), Layers::default());
        for entry in player(&lesson).advance(secs(at_s)) {
            match &entry {
                Entry::Record(record) => state.apply(record),
                Entry::Inside(record) => state.pass(record.seq, record.at),
            }
            layers.apply(&entry);
        }
        Self { state, layers }
    }

    fn in_etcd(&self, resource: &str) -> Vec<(String, u64)> {
        let stock = &self.layers.etcd.as_ref().unwrap().objects[resource];
        let named = stock.iter().filter(|(object, _)| {
            object.namespace.as_deref() == Some("default") && &*object.name != "kube-root-ca.crt"
        });
        named
            .map(|(object, revision)| (object.name.to_string(), revision))
            .collect()
    }

    fn cached(&self, resource: &str) -> Vec<String> {
        let stock = &self.layers.servers[&0].caches[resource].objects;
        let named = stock
            .iter()
            .filter(|(object, _)| object.namespace.as_deref() == Some("default"));
        named.map(|(object, _)| object.name.to_string()).collect()
    }

    fn ours(&self) -> Vec<(String, String)> {
        let watch = self.state.watches.values().next().unwrap();
        let held = watch.objects.iter();
        held.map(|held| {
            (
                held.object.name.to_string(),
                held.resource_version.to_string(),
            )
        })
        .collect()
    }

    fn believes(&self, client: &str, name: &str) -> bool {
        let belief = self.layers.clients[client].belief.clone();
        belief.unwrap_or_default().contains(&format!("/{name}\""))
    }

    fn phase(&self, client: &str) -> String {
        self.layers.clients[client].phase.to_string()
    }
}

fn pair(name: &str, version: &str) -> (String, String) {
    (name.to_owned(), version.to_owned())
}

#[test]
fn every_moment_comes_before_the_passage_that_names_it() {
    for lesson in lessons() {
        let mut player = player(&lesson);
        player.advance(lesson.lasts);
        for (place, passage) in lesson.passages.iter().enumerate() {
            for (moment, found) in passage.moments.iter().zip(player.found(place)) {
                let is_there = found.is_some_and(|found| found.at <= player.time(passage.at));
                assert!(
                    is_there,
                    "{}: {}: {:?}: {found:?}",
                    lesson.name, passage.key, moment.sought
                );
            }
        }
    }
}

#[test]
fn passages_are_well_formed() {
    for lesson in lessons() {
        let mut before = Duration::ZERO;
        let texts = english(&lesson).unwrap();
        for (passage, texts) in lesson.passages.iter().zip(&texts.passages) {
            let whole = texts.text.concat();
            let is_there = |place: usize| whole.contains(&format!("{{{place}}}"));
            let name = format!("{}: {}", lesson.name, passage.key);
            assert!(passage.at > before && passage.at < lesson.lasts, "{name}");
            assert!((1..=passage.moments.len()).all(is_there), "{name}");
            assert!(!is_there(passage.moments.len() + 1), "{name}");
            assert!(
                passage.shows.0 < passage.at && passage.at < passage.shows.1,
                "{name}"
            );
            assert_eq!(whole.matches('*').count() % 2, 0, "{name}");
            assert_eq!(whole.matches('`').count() % 2, 0, "{name}");
            if let Some(question) = passage.question {
                assert!(question.form.right() < question.form.answers(), "{name}");
            }
            before = passage.at;
        }
        // Each question stands before the passage with its answer. The last passage sums up, so the passage before it
        // has no question.
        let reveals = lesson.passages.len() - 2;
        for (place, passage) in lesson.passages.iter().enumerate() {
            let name = format!("{}: {}", lesson.name, passage.key);
            assert_eq!(passage.question.is_some(), place < reveals, "{name}");
        }
    }
}

#[test]
fn the_first_lesson_has_the_revisions_of_the_talk() {
    let then = Then::of("watch-event", 2.0);
    assert_eq!(then.layers.etcd.as_ref().unwrap().revision, 518);
    assert_eq!(then.ours(), [pair("db-0", "6")]);
    let then = Then::of("watch-event", 4.5);
    assert_eq!(then.ours(), [pair("db-0", "6"), pair("web-1", "519")]);
    // 83 writes by others lie between.
    let then = Then::of("watch-event", 9.5);
    assert_eq!(then.layers.etcd.as_ref().unwrap().revision, 602);
    assert_eq!(then.ours(), [pair("db-0", "6"), pair("web-1", "519")]);
    let then = Then::of("watch-event", 10.5);
    assert_eq!(then.ours()[1], pair("web-1", "603"));
    let then = Then::of("watch-event", 14.0);
    assert_eq!(then.ours(), [pair("db-0", "6"), pair("web-1", "604")]);
    assert_eq!(
        then.in_etcd("pods"),
        [("db-0".to_owned(), 6), ("web-1".to_owned(), 604)]
    );
    assert_eq!(then.cached("pods"), ["db-0", "web-1"]);
    assert!(then.believes("controller", "web-1"));
    let then = Then::of("watch-event", 17.0);
    assert_eq!(then.layers.etcd.as_ref().unwrap().revision, 605);
    assert_eq!(then.ours(), [pair("db-0", "6")]);
    assert!(!then.believes("controller", "web-1"));
}

#[test]
fn a_client_without_history_infers_or_keeps_a_ghost() {
    let then = Then::of("expired", 12.0);
    assert!(then.believes("informer", "report") && then.believes("naive", "report"));
    assert_eq!(then.in_etcd("configmaps").len(), 2);
    let then = Then::of("expired", 28.0);
    assert_eq!(then.ours(), [pair("prices", "9"), pair("stock", "10")]);
    assert!(!then.believes("informer", "report") && then.believes("naive", "report"));
    let then = Then::of("expired", 44.0);
    let belief = then.layers.clients["naive"].belief.clone().unwrap();
    // It holds an old stock, an old prices, and a report that is gone.
    assert!(belief.contains("@9\"") && belief.contains("@8\"") && belief.contains("report"));
    assert!(then.layers.clients["naive"].requests > 25);
}

#[test]
fn a_client_that_watches_anew_without_a_version_keeps_a_ghost() {
    let then = Then::of("away", 9.5);
    assert!(!then.believes("correct", "report") && then.believes("naive", "report"));
    let then = Then::of("away", 18.0);
    assert_eq!(then.phase("naive"), "watching");
    assert!(then.believes("naive", "report"));
    assert!(
        then.layers.clients["naive"]
            .belief
            .as_ref()
            .unwrap()
            .contains("@10\"")
    );
    assert_eq!(then.in_etcd("configmaps").len(), 2);
    let then = Then::of("away", 28.0);
    let etcd = then.in_etcd("configmaps");
    assert!(etcd.contains(&("report".to_owned(), 11)));
    assert!(
        then.layers.clients["naive"]
            .belief
            .as_ref()
            .unwrap()
            .contains("@11\"")
    );
}

#[test]
fn the_broken_loop_spins_the_fixed_one_fails_and_the_informer_resumes() {
    let then = Then::of("ghost", 12.0);
    assert_eq!(
        ["broken", "fixed", "informer"].map(|client| then.phase(client)),
        ["spinning", "failed", "watching"]
    );
    assert!(then.believes("broken", "web-1") && then.believes("fixed", "web-1"));
    assert!(!then.believes("informer", "web-1"));
    assert_eq!(then.in_etcd("pods").len(), 1);
    let then = Then::of("ghost", 22.0);
    assert!(then.layers.clients["broken"].iterations > 1_000_000);
    let then = Then::of("ghost", 33.0);
    assert_eq!(then.phase("broken"), "failed");
}

#[test]
fn going_back_gives_the_same_records_by_any_steps() {
    for lesson in lessons() {
        let mut straight = player(&lesson);
        let mut whole = straight.advance(secs(7.3));
        straight.break_it(0);
        whole.extend(straight.advance(lesson.lasts));
        let mut again = straight.again(run_of(&lesson), lesson.lasts);
        let mut pieces = Vec::new();
        let mut at = Duration::ZERO;
        while again.shown() < lesson.lasts {
            if pieces.len() % 3 == 0 {
                pieces.extend(again.step());
            }
            at += Duration::from_micros(777_777);
            pieces.extend(again.advance(at));
        }
        assert_eq!(again.deeds(), straight.deeds(), "{}", lesson.name);
        assert_eq!(digest(&whole), digest(&pieces), "{}", lesson.name);
        assert!(whole == pieces, "{}", lesson.name);
    }
}

#[test]
fn going_back_undoes_later_deeds() {
    let lesson = lesson("away").unwrap();
    let mut first = player(&lesson);
    first.advance(secs(5.0));
    first.break_it(1);
    let mut again = first.again(run_of(&lesson), secs(4.0));
    let untouched = player(&lesson).advance(lesson.lasts);
    assert_eq!(digest(&again.advance(lesson.lasts)), digest(&untouched));
}

#[test]
fn a_step_shows_the_next_moment_and_no_more() {
    let lesson = lesson("watch-event").unwrap();
    let mut player = player(&lesson);
    player.advance(secs(3.999));
    let step = player.step();
    assert!(!step.is_empty());
    assert!(step.iter().all(|entry| entry.at() == step[0].at()));
    assert_eq!(player.now(), step[0].at());
    let mut last = player.again(run_of(&lesson), lesson.lasts);
    last.advance(lesson.lasts);
    assert!(last.step().is_empty());
}

#[test]
fn another_seed_is_another_run() {
    let lesson = lesson("expired").unwrap();
    let mut other = LessonPlayer::new(
        lesson.clone(),
        Run {
            seed: 2,
            ..run_of(&lesson)
        },
    );
    assert_ne!(
        digest(&other.advance(lesson.lasts)),
        digest(&player(&lesson).advance(lesson.lasts))
    );
}

#[test]
fn an_unknown_lesson_has_nearest_names() {
    assert_eq!(nearest("gost"), ["ghost"]);
    assert_eq!(nearest("Expire"), ["expired"]);
    assert_eq!(nearest("xyz").len(), lessons().len());
    assert_eq!(nearest("").len(), lessons().len());
}
