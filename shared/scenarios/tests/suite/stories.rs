//! Every story starts, with the watches of the demo.

use std::collections::BTreeSet;
use std::time::Duration;

use watchscope_model::Event;
use watchscope_scenarios::{Deed, Run, Story, catalogue, stories};
use watchscope_simulator::Fault;

/// By this time everything at a story's beginning has happened, and a buffering proxy (F44) has let go.
const BEGINS: Duration = Duration::from_secs(45);

/// Returns the client programs that a story starts by then.
fn programs(story: &Story) -> BTreeSet<String> {
    let acts = story.acts.iter().filter(|act| act.at < BEGINS);
    let deeds = acts.flat_map(|act| &act.deeds);
    let started = deeds.filter_map(|deed| match deed {
        Deed::Start { name, .. } => Some(name.clone()),
        _ => None,
    });
    started.collect()
}

/// If a cache lags by exactly 3 s, chance decides whether a read that waits 3 s for it succeeds.
#[test]
fn no_cache_lags_by_exactly_the_3_s_that_a_read_waits() {
    let forms = catalogue::forms::forms().into_iter();
    let forms = forms.map(|(row, _)| row.story);
    for story in stories().into_iter().chain(forms) {
        let waits = story.config.apiserver.fresh_wait;
        let lags = story.deeds().filter_map(|deed| match deed {
            Deed::Inject(Fault::Lag { by, .. }) => Some(*by),
            _ => None,
        });
        for by in lags {
            assert!(
                by.abs_diff(waits) >= Duration::from_secs(1),
                "{}",
                story.name
            );
        }
    }
}

#[test]
fn each_story_lists_its_view_starts_its_programs_and_is_narrated() {
    for story in stories() {
        let (name, watches) = (story.name, story.view.resources.len());
        let (says, programs) = (story.acts[0].says.clone(), programs(&story));
        let mut run = Run::watched(story, 1);
        run.run_for(BEGINS);
        let (mut listed, mut started) = (BTreeSet::new(), BTreeSet::new());
        let mut notes = Vec::new();
        for record in run.records() {
            match &record.event {
                Event::ListComplete(list) => drop(listed.insert(list.watch.clone())),
                Event::ClientStarted(client) => drop(started.insert(client.client.to_string())),
                Event::Note(note) => notes.push(&note.text),
                _ => {}
            }
        }
        assert_eq!(listed.len(), watches, "{name}");
        assert!(!programs.is_empty(), "{name}");
        assert_eq!(started, programs, "{name}");
        if let Some(line) = says {
            assert_eq!(notes.first(), Some(&&line.text), "{name}");
        }
        assert!(run.inside().len() > 10, "{name}");
    }
}
