//! Notes of persons on the page, without a browser: the messages sent, the flags, the panel, and the words for a
//! refused note.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../shared/timeline/tests/suite/common/mod.rs"]
mod common;
mod host;

use common::{Log, at};
use host::{Host, log, welcome_recorded};
use watchscope_app::core::msg::Msg;
use watchscope_app::core::notes::{NoteDeed, NoteForm, NoteRow};
use watchscope_app::core::person::{FocusedPanel, Person};
use watchscope_app::input::actions::Action;
use watchscope_app::input::gesture::Pointer;
use watchscope_model::chapter::ChapterWriter;
use watchscope_model::event::Note;
use watchscope_model::notes::push_note;
use watchscope_model::vocabulary::{Author, NoteRefusal};
use watchscope_model::wire::{CommandDone, History, WriteNote, encode_server};
use watchscope_model::{KeptNote, NoteKey, Seq, Time};
use watchscope_timeline::{LaneId, WatchId};

/// The lane of `shop/pods`: watches are numbered by their names.
const PODS: LaneId = LaneId::Watch(WatchId(1));

/// A page that shows a log, and the server behind it.
struct Page {
    host: Host,
    log: Log,
    writer: ChapterWriter,
    ms: f64,
}

impl Page {
    fn new() -> Self {
        let log = log();
        let (host, mut writer) = Host::shows(&log, 2);
        host.gets_panels(&log, &mut writer, 2);
        let ms = 2_000.0;
        let mut page = Self {
            host,
            log,
            writer,
            ms,
        };
        page.passes();
        page
    }

    /// Draws a frame that updates the panels.
    fn passes(&mut self) -> Vec<String> {
        self.ms += 1_000.0;
        self.host.frame(self.ms)
    }

    fn does(&self, deed: NoteDeed) -> Vec<String> {
        self.host.person(Person::Note(deed))
    }

    /// Writes a text into the form and saves it; returns what was sent.
    fn saves(&self, text: &str) -> WriteNote {
        self.does(NoteDeed::Typed(text.into()));
        assert_eq!(
            self.does(NoteDeed::Save)[0],
            "write a note",
            "{:?}",
            self.form()
        );
        self.host.notes.borrow().last().unwrap().clone()
    }

    /// Lets the server write a sent note into its log and confirm it.
    fn takes(&mut self, sent: &WriteNote) -> NoteKey {
        let note = Note {
            watch: sent.watch.clone(),
            object: sent.object.clone(),
            from: sent.from,
            to: sent.to,
            replaces: sent.replaces.clone(),
            ..Note::new(
                Author::Person,
                String::from_utf8(sent.text.0.clone()).unwrap(),
            )
        };
        let from = self.log.records.len();
        let seq = self.log.push(11.0 + from as f64, note);
        self.host.live(&self.log, &mut self.writer, from);
        self.answers(sent.command, None);
        self.passes();
        NoteKey {
            log: "log".into(),
            epoch: self.log.epoch.clone(),
            seq,
        }
    }

    fn answers(&self, command: u64, refused: Option<NoteRefusal>) {
        let done = CommandDone::of_note(command, refused);
        self.host
            .send(Msg::Message(encode_server(&done.into(), &[])));
    }

    fn form(&self) -> Option<NoteForm> {
        self.host.model.borrow().shown.notes.form.clone()
    }

    fn refusal(&self) -> String {
        self.form()
            .and_then(|form| form.refusal)
            .unwrap_or_default()
    }

    fn rows(&self) -> Vec<NoteRow> {
        self.host.model.borrow().shown.notes.rows.clone()
    }

    fn headings(&self) -> Vec<String> {
        self.rows().into_iter().map(|row| row.heading).collect()
    }

    /// Returns the numbers on the flags; a draft has 0.
    fn flags(&self) -> Vec<u32> {
        let model = self.host.model.borrow();
        let marks = model.panels.notes.marks.iter();
        marks.map(|mark| mark.number.unwrap_or(0)).collect()
    }

    fn said(&self) -> String {
        self.host.model.borrow().said.clone()
    }

    fn is_open(&self) -> bool {
        self.host.model.borrow().panels.notes.is_open
    }

    fn mark(&self, from: Time, to: Time) {
        let link = format!(
            "v=1&log=log&from={}&to={}&mark={}-{}",
            at(0.0).0,
            at(10.0).0,
            from.0,
            to.0
        );
        self.host.person(Person::GoTo(link.as_str().into()));
    }
}

#[test]
fn m_writes_a_note_and_shift_m_one_about_the_range() {
    let pressed = |shift| host::action_of("KeyM", "m", shift);
    assert_eq!(pressed(false), Some(Action::WriteNote));
    assert_eq!(pressed(true), Some(Action::WriteNoteOnRange));
}

#[test]
fn a_note_about_the_selected_watch_and_the_marked_moment_gets_a_flag_once_the_log_has_it() {
    let mut page = Page::new();
    page.host.person(Person::OpenLane(PODS));
    page.host.model.borrow_mut().marked.as_of = Some(at(2.5));
    let done = page.host.person(Person::Key(Action::WriteNote, None));
    assert!(
        done.iter().any(|words| words.contains("NoteField")),
        "{done:?}"
    );
    assert_eq!(page.flags(), [0], "the draft's flag");
    let form = page.form().unwrap();
    assert_eq!((&*form.time, &*form.choices[0]), ("09:31:02", "shop/pods"));
    assert_eq!(form.choices.last().unwrap(), "the whole log");
    let sent = page.saves("a reset\nof the proxy");
    assert!(page.form().unwrap().is_saving);
    assert_eq!(sent.watch, Some("shop/pods".into()));
    assert_eq!(
        (sent.from, sent.to, sent.object.clone()),
        (Some(at(2.5)), None, None)
    );
    page.takes(&sent);
    assert_eq!(page.form(), None);
    assert_eq!(page.flags(), [1]);
    let row = page.rows().remove(0);
    assert_eq!((&*row.heading, &*row.rest), ("a reset", "of the proxy"));
    assert_eq!((&*row.time, &*row.about), ("09:31:02", "shop/pods"));
    assert!(row.is_selected);
    assert_eq!(page.said(), "Note saved.");
}

#[test]
fn without_a_marked_moment_a_note_is_about_the_pointers_moment_or_now() {
    let page = Page::new();
    let from = |page: &Page| {
        page.host
            .model
            .borrow()
            .panels
            .notes
            .draft
            .as_ref()
            .unwrap()
            .from
    };
    page.host.person(Person::Key(Action::WriteNote, None));
    let now = page.host.model.borrow().now();
    assert_eq!(from(&page), now);
    let x_px = page.host.model.borrow().view.x_from_time(at(4.0));
    page.does(NoteDeed::Typed("kept".into()));
    page.host.person(Person::Motion(Pointer {
        id: 1,
        x_px,
        y_px: 120.0,
        touch: false,
        shift: false,
        alt: false,
    }));
    page.host.person(Person::Key(Action::WriteNote, None));
    assert!(
        from(&page).micros_since(at(4.0)).abs() < 100_000,
        "the draft moved there"
    );
    let form = page.form().unwrap();
    assert_eq!(form.text, "kept");
    assert_eq!(form.choices, ["the whole log"], "nothing is selected");
}

#[test]
fn a_note_about_the_marked_range_has_its_span_and_goes_back_there() {
    let mut page = Page::new();
    page.host
        .person(Person::Key(Action::WriteNoteOnRange, None));
    assert_eq!((page.form(), &*page.said()), (None, "No range is marked."));
    page.mark(at(2.0), at(6.0));
    page.host
        .person(Person::Key(Action::WriteNoteOnRange, None));
    assert_eq!(page.form().unwrap().time, "09:31:02 to 09:31:06, 4 s");
    let sent = page.saves("here");
    assert_eq!((sent.from, sent.to), (Some(at(2.0)), Some(at(6.0))));
    page.takes(&sent);
    page.host.person(Person::ClearRange);
    let row = page.rows().remove(0);
    assert_eq!(row.until.as_deref(), Some("to 09:31:06, 4 s"));
    page.does(NoteDeed::Show(row.id));
    assert_eq!(
        page.host.model.borrow().marked.range,
        Some((at(2.0), at(6.0)))
    );
    assert!(page.is_open(), "the panel stays");
}

#[test]
fn flags_are_numbered_by_the_notes_times_and_a_click_opens_the_panel_at_one() {
    let mut page = Page::new();
    for (s, text) in [(8.0, "late"), (2.0, "early")] {
        page.host.model.borrow_mut().marked.as_of = Some(at(s));
        page.host.person(Person::Key(Action::WriteNote, None));
        let sent = page.saves(text);
        page.takes(&sent);
    }
    assert_eq!(page.headings(), ["early", "late"]);
    page.host.person(Person::Act(Action::Notes));
    assert!(!page.is_open());
    page.host.person(Person::GoTo(
        format!("v=1&log=log&from={}&to={}", at(0.0).0, at(10.0).0)
            .as_str()
            .into(),
    ));
    page.passes();
    let (x_px, y_px, top_px) = {
        let model = page.host.model.borrow();
        let top_px = model.lanes_top_px();
        (model.view.x_from_time(at(8.0)), top_px - 10.0, top_px)
    };
    assert_eq!(top_px, 48.0, "ruler and flags");
    let pointer = Pointer {
        id: 1,
        x_px,
        y_px,
        touch: false,
        shift: false,
        alt: false,
    };
    page.host.person(Person::Motion(pointer));
    let tooltip = page.host.model.borrow().shown.tooltip.clone().unwrap();
    assert_eq!(tooltip.lines, ["late", "09:31:08", "the whole log"]);
    page.host.person(Person::Press(pointer));
    page.host.person(Person::Release {
        pointer,
        at_ms: 5.0,
    });
    let done = page.host.person(Person::Click);
    assert!(
        done.iter().any(|words| words.contains("SelectedNote")),
        "{done:?}"
    );
    assert!(page.is_open());
    let selected: Vec<bool> = page.rows().iter().map(|row| row.is_selected).collect();
    assert_eq!(selected, [false, true]);
}

#[test]
fn a_changed_note_keeps_its_time_and_a_withdrawn_one_disappears() {
    let mut page = Page::new();
    page.host.model.borrow_mut().marked.as_of = Some(at(2.5));
    page.host.person(Person::Key(Action::WriteNote, None));
    let sent = page.saves("a resett");
    let first = page.takes(&sent);
    let id = page.rows()[0].id;
    page.does(NoteDeed::Edit(id));
    let form = page.form().unwrap();
    assert!(form.is_change);
    assert_eq!(form.text, "a resett");
    assert_eq!(page.flags(), [1], "the note has its flag already");
    let sent = page.saves("a reset");
    assert_eq!(
        (sent.replaces.as_ref(), sent.from),
        (Some(&first), Some(at(2.5)))
    );
    page.takes(&sent);
    assert_eq!(page.headings(), ["a reset"]);
    assert_eq!(page.rows()[0].id, id, "it is the same note");
    assert!(page.rows()[0].written.starts_with("changed "));
    assert_eq!(page.said(), "Note changed.");
    page.does(NoteDeed::Withdraw(id));
    let sent = page.host.notes.borrow().last().unwrap().clone();
    assert_eq!(
        (&*sent.text.0, sent.replaces.as_ref()),
        (&b""[..], Some(&first))
    );
    page.takes(&sent);
    assert_eq!((page.headings(), page.flags()), (vec![], vec![]));
    assert_eq!(page.said(), "Note withdrawn.");
    assert_eq!(
        page.host.model.borrow().lanes_top_px(),
        26.0,
        "the row disappears"
    );
}

#[test]
fn another_viewers_note_is_shown_at_once_and_not_as_a_narrators_line() {
    let mut page = Page::new();
    page.host.person(Person::Act(Action::Notes));
    let other = WriteNote {
        command: 99,
        text: watchscope_model::wire::RawText(b"of another tab".to_vec()),
        watch: None,
        object: None,
        from: Some(at(1.0)),
        to: None,
        replaces: None,
    };
    page.takes(&other);
    assert_eq!(page.headings(), ["of another tab"]);
    assert_eq!(page.host.model.borrow().shown.note, None);
}

#[test]
fn a_refused_note_stays_in_the_form_with_the_reason() {
    for &refusal in NoteRefusal::ALL.iter().chain(&[NoteRefusal::Unknown]) {
        let mut page = Page::new();
        page.host.person(Person::Key(Action::WriteNote, None));
        let sent = page.saves("text");
        page.answers(sent.command, Some(refusal));
        page.passes();
        let form = page.form().unwrap();
        assert!(!form.is_saving);
        assert_eq!(form.text, "text");
        let words = form.refusal.unwrap();
        assert!(
            words.ends_with('.') && words.len() > 30,
            "{refusal}: {words}"
        );
        assert_eq!(page.said(), words);
        // The refusal concerned the text before.
        page.does(NoteDeed::Typed("texts".into()));
        assert_eq!(page.refusal(), "");
    }
}

#[test]
fn a_note_that_the_page_knows_to_be_wrong_is_not_sent() {
    let page = Page::new();
    page.host.person(Person::Key(Action::WriteNote, None));
    let saves = |text: &str| {
        page.does(NoteDeed::Typed(text.into()));
        let done = page.does(NoteDeed::Save);
        assert!(
            !done.iter().any(|words| words == "write a note"),
            "{done:?}"
        );
        page.refusal()
    };
    assert_eq!(saves(" \n"), "The note is empty. Write a line, or cancel.");
    assert_eq!(
        saves(&"é".repeat(2_049)),
        "The text has 4,098 bytes; a note has at most 4,096."
    );
    page.host
        .send(Msg::Link(watchscope_app::source::connection::Input::Closed));
    assert_eq!(
        saves("fine"),
        "Not connected: nothing was saved. The text stays here."
    );
}

#[test]
fn an_answer_that_does_not_come_is_waited_for_15_s() {
    let mut page = Page::new();
    page.host.person(Person::Key(Action::WriteNote, None));
    page.saves("text");
    page.passes();
    assert!(page.form().unwrap().is_saving);
    page.ms += 15_000.0;
    // The server's heartbeats come every 20 s.
    page.host.person(Person::Redraw);
    page.passes();
    assert!(
        page.refusal().contains("may be in the log"),
        "{}",
        page.refusal()
    );
}

#[test]
fn escape_in_the_form_closes_the_panel_that_m_opened_and_in_the_list_the_panel() {
    let page = Page::new();
    page.host.person(Person::Key(Action::WriteNote, None));
    page.does(NoteDeed::Cancel);
    assert_eq!(
        (page.form(), page.is_open(), page.flags()),
        (None, false, vec![])
    );
    page.host.person(Person::Act(Action::Notes));
    page.host.person(Person::Act(Action::WriteNote));
    page.does(NoteDeed::Cancel);
    assert!(page.is_open());
    page.host
        .person(Person::Key(Action::Clear, Some(FocusedPanel::Notes)));
    assert!(!page.is_open());
}

#[test]
fn a_text_outlasts_its_panel_and_a_selection_meanwhile() {
    let page = Page::new();
    page.host.person(Person::Key(Action::WriteNote, None));
    page.does(NoteDeed::Typed("half a".into()));
    page.host.person(Person::OpenLane(PODS));
    page.host.person(Person::Act(Action::Watches));
    page.host.person(Person::Act(Action::Notes));
    assert_eq!(page.form().unwrap().text, "half a");
}

#[test]
fn the_panel_shows_beforehand_how_long_notes_are_kept() {
    let mut page = Page::new();
    let keeping = |page: &Page| page.host.model.borrow().shown.notes.keeping;
    assert!(keeping(&page).starts_with("Without --history"));
    let history = History {
        bytes: 1,
        size_bytes: 2,
        since: None,
        kept_to: Seq(1),
        lost: 0,
        trouble: None,
        trouble_since: None,
    };
    page.host
        .send(Msg::Message(encode_server(&history.into(), &[])));
    page.passes();
    assert!(keeping(&page).starts_with("The history keeps them"));
}

#[test]
fn a_note_in_a_recording_is_in_this_page_only_and_the_panel_shows_that() {
    let log = log();
    let (host, mut writer) = Host::shows_after(&welcome_recorded(at(0.0), at(20.0)), &log, 0);
    host.gets_panels(&log, &mut writer, 0);
    let does = |deed| host.person(Person::Note(deed));
    let rows = || -> Vec<(String, String)> {
        let model = host.model.borrow();
        let rows = model.shown.notes.rows.iter();
        rows.map(|row| (row.heading.clone(), row.written.clone()))
            .collect()
    };
    host.person(Person::Key(Action::WriteNote, None));
    does(NoteDeed::Typed("seen by me".into()));
    does(NoteDeed::Save);
    assert_eq!(rows(), [("seen by me".into(), "not saved".into())]);
    assert!(host.model.borrow().shown.notes.form.is_none());
    let keeping = host.model.borrow().shown.notes.keeping;
    assert!(keeping.contains("not saved"), "{keeping}");

    let id = host.model.borrow().shown.notes.rows[0].id;
    does(NoteDeed::Edit(id));
    does(NoteDeed::Typed("seen by us".into()));
    does(NoteDeed::Save);
    assert_eq!(rows(), [("seen by us".into(), "not saved".into())]);
    assert_eq!(
        host.model.borrow().store.notes().len(),
        2,
        "each version counts"
    );
    does(NoteDeed::Withdraw(id));
    assert_eq!(rows(), []);
    let unsaved = || {
        let notes = host.model.borrow().shown.notes.clone();
        (notes.kept, notes.unsaved)
    };
    assert_eq!(unsaved(), (3, 0), "a withdrawn note is no loss");

    host.person(Person::Key(Action::WriteNote, None));
    does(NoteDeed::Typed("seen again".into()));
    does(NoteDeed::Save);
    assert_eq!(unsaved(), (4, 1));
    let (kept, name) = (4, "a.wscope".into());
    host.person(Person::NotesSaved { kept, name });
    assert_eq!(rows(), [("seen again".into(), "saved in a.wscope".into())]);
    assert_eq!(unsaved(), (4, 0));
    let id = host.model.borrow().shown.notes.rows[0].id;
    does(NoteDeed::Withdraw(id));
    assert_eq!(unsaved(), (5, 1), "the file still has the note");
}

#[test]
fn notes_of_other_times_are_requested_once_per_greeting_and_shown() {
    let log = log();
    let (host, mut writer) = Host::shows(&log, 2);
    host.gets_panels(&log, &mut writer, 2);
    let asks = |host: &Host, ms: f64| {
        let done = host.frame(ms);
        done.iter()
            .filter(|words| *words == "Panel(FetchNotes)")
            .count()
    };
    assert_eq!(
        asks(&host, 3_000.0) + asks(&host, 4_000.0),
        0,
        "they were requested when the panels came"
    );
    assert!(host.model.borrow().panels.notes.asked_for_ms.is_some());
    let mut bytes = Vec::new();
    for name in ["log", "other"] {
        let key = NoteKey {
            log: name.into(),
            epoch: "earlier".into(),
            seq: Seq(7),
        };
        let note = Note::new(Author::Person, format!("of {name}"));
        let at = at(-900.0);
        push_note(&KeptNote { key, at, note }, &mut bytes);
    }
    host.person(Person::NotesCame(bytes.into()));
    host.person(Person::Act(Action::Notes));
    let model = host.model.borrow();
    let headings: Vec<&str> = model
        .shown
        .notes
        .rows
        .iter()
        .map(|row| &*row.heading)
        .collect();
    assert_eq!(headings, ["of log"]);
}

#[test]
fn beyond_500_notes_the_earlier_ones_are_only_counted() {
    let mut page = Page::new();
    let from = page.log.records.len();
    for number in 0..600 {
        let note = Note {
            from: Some(at(f64::from(number) / 100.0)),
            ..Note::new(Author::Person, format!("note {number}"))
        };
        page.log.push(12.0, note);
    }
    page.host.live(&page.log, &mut page.writer, from);
    page.host.person(Person::Act(Action::Notes));
    page.passes();
    assert_eq!(page.host.model.borrow().shown.notes.count, 600);
    assert_eq!(page.headings().len(), 500);
    assert_eq!(page.rows()[0].number, 101);
}
