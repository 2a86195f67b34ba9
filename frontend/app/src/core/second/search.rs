//! The search: hits come from the server, or from the records that the page holds, and a person goes from one to the
//! next.

use serde::Deserialize;
use watchscope_model::{EpochId, Object, Record, Seq, Time};
use watchscope_search::{Query, What, lane_of};
use watchscope_timeline::format;

use crate::core::effect::{Effect, Focus, PanelEffect};
use crate::core::model::Model;
use crate::core::place::Place;
use crate::core::search::{
    HITS_MOST, Progress, SearchDeed, SearchHit, SearchShown, SearchState, Searched, Where,
};

/// A line of the server's answer. Lines of later versions are passed over.
#[derive(Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Line {
    Hit {
        epoch: String,
        seq: u64,
        at: String,
        watch: Option<String>,
        namespace: Option<String>,
        name: Option<String>,
        #[serde(default)]
        matched: Vec<String>,
        #[serde(default)]
        held: bool,
    },
    NotRead {},
    Failed {
        why: String,
    },
    NotKept {
        kept_from: KeptFrom,
    },
    End {
        next: Option<String>,
        kept_from: Option<KeptFrom>,
        bodies_since: Option<String>,
        #[serde(default)]
        no_bodies: bool,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct KeptFrom {
    at: String,
}

impl Model {
    /// Opens the search, or gives its field the focus.
    fn open_search(&mut self) {
        self.panels.search.get_or_insert_default();
        self.focus_soon(Focus::Search);
    }

    /// Handles an action on the search, or an answer.
    pub fn do_with_search(&mut self, deed: SearchDeed) {
        match deed {
            SearchDeed::Open => self.open_search(),
            SearchDeed::Typed(text) => self.begin_search(text.into()),
            SearchDeed::Next => self.step_hit(true),
            SearchDeed::Previous => self.step_hit(false),
            SearchDeed::Close => self.close_search(),
            SearchDeed::Lines { number, lines } => self.take_lines(number, &lines),
            SearchDeed::Failed { number, why } => {
                if let Some(search) = self.search_of(number) {
                    search.progress = Progress::Failed(why.into());
                }
            }
            SearchDeed::NoServer { number } => {
                let chapters = self.store.loaded_chapters();
                if let Some(search) = self.search_of(number) {
                    search.searched.no_bodies = true;
                    search.searched.place = Where::Loaded;
                    self.panels.search_rest = chapters;
                    self.want(Effect::Panel(PanelEffect::SearchOn { number }));
                }
            }
            SearchDeed::Step { number } => self.search_loaded(number),
        }
        self.show_search();
    }

    /// Closes the search. Its answers count no longer.
    fn close_search(&mut self) {
        if self.panels.search.take().is_some() {
            self.panels.searches += 1;
            self.want(Effect::Panel(PanelEffect::EndSearch));
            self.focus_soon(Focus::Picture);
            self.redraw();
        }
    }

    fn search_of(&mut self, number: u64) -> Option<&mut SearchState> {
        let search = self.panels.search.as_mut();
        search.filter(|search| search.number == number)
    }

    fn begin_search(&mut self, text: String) {
        self.panels.searches += 1;
        let number = self.panels.searches;
        let mut search = SearchState {
            number,
            ..SearchState::default()
        };
        search.searched.place = if self.recording().is_some() {
            Where::Recording
        } else if self.link.history.is_some() {
            Where::History
        } else {
            Where::Memory
        };
        self.panels.search_rest = Vec::new();
        match Query::parse(&text) {
            Ok(_) => {
                search.progress = Progress::Looking;
                self.want(Effect::Panel(PanelEffect::Search {
                    number,
                    text: text.clone(),
                    before: None,
                }));
            }
            Err(_) if text.is_empty() => self.want(Effect::Panel(PanelEffect::EndSearch)),
            Err(error) => search.progress = Progress::Failed(format!("{error}.")),
        }
        search.text = text;
        self.panels.search = Some(search);
        self.redraw();
    }

    /// Takes lines of the server's answer in. At an answer's limit the next one is requested.
    fn take_lines(&mut self, number: u64, lines: &str) {
        let Some(search) = self.search_of(number) else {
            return;
        };
        let mut next_request = None;
        for line in lines.lines() {
            let Ok(line) = serde_json::from_str::<Line>(line) else {
                continue;
            };
            match line {
                Line::Hit {
                    epoch,
                    seq,
                    at,
                    watch,
                    namespace,
                    name,
                    matched,
                    held,
                } => {
                    let Some(at) = Time::parse(&at) else {
                        continue;
                    };
                    let object = name.map(|name| (namespace, name));
                    search.add(SearchHit {
                        epoch: EpochId(epoch.as_str().into()),
                        seq: Seq(seq),
                        at,
                        lane: lane_key(watch.as_deref(), object.as_ref()),
                        matched: matched.join(", "),
                        is_held: held,
                    });
                }
                Line::NotRead {} => search.searched.not_read += 1,
                Line::Failed { why } => search.progress = Progress::Failed(why),
                Line::NotKept { kept_from } => {
                    search.searched.kept_from = Time::parse(&kept_from.at);
                    search.progress = Progress::Done;
                }
                Line::End {
                    next,
                    kept_from,
                    bodies_since,
                    no_bodies,
                } => {
                    let searched = &mut search.searched;
                    searched.no_bodies |= no_bodies;
                    let kept_from = kept_from.and_then(|place| Time::parse(&place.at));
                    searched.kept_from = kept_from.or(searched.kept_from);
                    let since = bodies_since.and_then(|at| Time::parse(&at));
                    searched.bodies_since = searched.bodies_since.or(since);
                    if search.progress == Progress::Looking {
                        match next {
                            Some(before) => next_request = Some((search.text.clone(), before)),
                            None => search.progress = Progress::Done,
                        }
                    }
                }
                Line::Other => {}
            }
        }
        if let Some((text, before)) = next_request {
            self.want(Effect::Panel(PanelEffect::Search {
                number,
                text,
                before: Some(before),
            }));
        }
        self.redraw();
    }

    /// Searches the next of the chapters that the page holds.
    fn search_loaded(&mut self, number: u64) {
        let Some(text) = self.search_of(number).map(|search| search.text.clone()) else {
            return;
        };
        let Ok(query) = Query::parse(&text) else {
            return;
        };
        let Some(first) = self.panels.search_rest.pop() else {
            self.end_local(number);
            return;
        };
        let mut hits = Vec::new();
        if let Some(name) = self.store.epoch_of(first).cloned() {
            self.store.each_record_of(first, |record: Record| {
                let matched = query.matched(&record.event);
                if matched.is_empty() {
                    return;
                }
                let (object, _) = lane_of(&record.event);
                let watch = record.event.watch().map(|watch| watch.as_str().to_owned());
                hits.push(SearchHit {
                    epoch: name.clone(),
                    seq: record.seq,
                    at: record.at,
                    lane: lane_key_of(watch.as_deref(), object.as_deref()),
                    matched: matched
                        .iter()
                        .map(What::word)
                        .collect::<Vec<_>>()
                        .join(", "),
                    is_held: false,
                });
            });
        }
        let Some(search) = self.search_of(number) else {
            return;
        };
        for hit in hits.into_iter().rev() {
            search.add(hit);
        }
        if search.progress == Progress::Looking {
            self.want(Effect::Panel(PanelEffect::SearchOn { number }));
        }
        // The hits have ticks in the picture.
        self.redraw();
    }

    fn end_local(&mut self, number: u64) {
        let kept_from = self.store.oldest_kept();
        if let Some(search) = self.search_of(number) {
            search.progress = Progress::Done;
            search.searched.kept_from = kept_from;
        }
    }

    /// Goes to the next hit, or to the one before. After the last comes the first.
    fn step_hit(&mut self, forward: bool) {
        let Some(search) = self.panels.search.as_mut() else {
            return;
        };
        let count = search.hits.len();
        if count == 0 {
            return;
        }
        let place = match (search.current, forward) {
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(place), true) => (place + 1) % count,
            (Some(place), false) => (place + count - 1) % count,
        };
        search.current = Some(place);
        let hit = search.hits[place].clone();
        self.go_to_hit(&hit);
    }

    fn go_to_hit(&mut self, hit: &SearchHit) {
        let id = hit.record(&self.store);
        if let Some(id) = id.filter(|id| self.store.has(*id)) {
            self.show_record(id, Some(hit.at));
            return;
        }
        self.leave_place();
        self.mark_time(hit.at);
        self.center(hit.at);
        let place = Place {
            range: Some((self.view.left(), self.view.right())),
            lane: Some(hit.lane.clone()),
            record: (!hit.is_held).then(|| (hit.epoch.clone(), hit.seq)),
            ..Place::default()
        };
        self.panels.address.wanted = Some((place, self.now.ms));
        self.say("This is being loaded.".to_owned());
    }

    /// Computes the words of the search.
    fn show_search(&mut self) {
        self.shown.search = self.panels.search.as_ref().map(|search| {
            let current = search.current.and_then(|place| search.hits.get(place));
            let current = current.map(|hit| {
                format!(
                    "{}, {}: {}",
                    hit.lane,
                    format::clock_ms(hit.at),
                    hit.matched
                )
            });
            SearchShown {
                text: search.text.clone(),
                count: count_words(search),
                current: current.unwrap_or_default(),
                left_out: left_out(&search.searched),
                has_hits: !search.hits.is_empty(),
            }
        });
    }
}

impl SearchState {
    /// Adds a hit. The first hit beyond [`HITS_MOST`] ends the search.
    fn add(&mut self, hit: SearchHit) {
        if self.hits.len() < HITS_MOST {
            self.hits.push(hit);
        } else {
            self.progress = Progress::Full;
        }
    }
}

/// Returns `7 of 41`, or what stands there instead.
fn count_words(search: &SearchState) -> String {
    let count = search.hits.len() as u64;
    let number = format::number(count);
    let of = match search.current {
        Some(place) => format!("{} of {number}", format::number(place as u64 + 1)),
        None => number,
    };
    match &search.progress {
        Progress::Idle => String::new(),
        Progress::Failed(why) => why.clone(),
        Progress::Looking if count == 0 => "Looking…".to_owned(),
        Progress::Looking => format!("{of}, more"),
        Progress::Full => format!("{of} and further ones, which are not listed"),
        Progress::Done if count == 0 => match search.searched.kept_from {
            Some(from) => format!(
                "No hit in {}, kept since {} {}",
                place_words(search.searched.place),
                format::date(from),
                format::clock(from)
            ),
            None => "No hit: nothing is kept".to_owned(),
        },
        Progress::Done => of,
    }
}

fn place_words(place: Where) -> &'static str {
    match place {
        Where::Memory => "the server's memory",
        Where::History => "the server's memory and history",
        Where::Recording => "the recording",
        Where::Loaded => "what this page has loaded",
    }
}

fn left_out(searched: &Searched) -> String {
    let mut parts = Vec::new();
    if searched.no_bodies {
        let why = match searched.place {
            Where::Recording => "the recording has none",
            _ => "no server has them",
        };
        parts.push(format!("Bodies were not searched: {why}"));
    } else if let Some(since) = searched.bodies_since {
        parts.push(format!("Bodies searched since {}", format::clock(since)));
    }
    if searched.not_read > 0 {
        let stretches = format::count(searched.not_read, "damaged stretch");
        parts.push(format!("{stretches} could not be read"));
    }
    parts.join(". ")
}

/// Returns the key of a hit's lane. A hit without a watch is in the lane of findings.
fn lane_key(watch: Option<&str>, object: Option<&(Option<String>, String)>) -> String {
    match (watch, object) {
        (None, _) => "findings".to_owned(),
        (Some(watch), None) => watch.to_owned(),
        (Some(watch), Some((namespace, name))) => {
            format!("{watch} {}/{name}", namespace.as_deref().unwrap_or("-"))
        }
    }
}

fn lane_key_of(watch: Option<&str>, object: Option<&Object>) -> String {
    let object = object.map(|object| {
        let namespace = object.namespace.as_deref().map(str::to_owned);
        (namespace, object.name.to_string())
    });
    lane_key(watch, object.as_ref())
}
