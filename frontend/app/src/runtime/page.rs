//! The page's only owner: of model, queue, and the browser's objects.

use std::cell::{Cell, Ref, RefCell};

use watchscope_model::Time;
use watchscope_timeline::LaneId;

use super::effects::Browser;
use super::elements::Elements;
use crate::core::model::{Model, Now};
use crate::core::msg::Msg;
use crate::core::person::Person;
use crate::core::queue::Queue;
use crate::core::update::update;

thread_local! {
    /// The one page of the document, which lives as long as the document.
    static PAGE: Cell<Option<&'static Page>> = const { Cell::new(None) };
}

struct Page {
    model: RefCell<Model>,
    queue: Queue<Msg>,
    elements: &'static Elements,
    browser: RefCell<Browser>,
}

/// Makes the page; `load` loads its second part.
pub(crate) fn open(elements: &'static Elements, load: fn()) {
    let page = Page {
        model: RefCell::new(Model::new(now())),
        queue: Queue::default(),
        elements,
        browser: RefCell::new(Browser::new(elements, send, load)),
    };
    PAGE.set(Some(Box::leak(Box::new(page))));
}

/// Whether there is a page. A worker has none.
pub(crate) fn is_open() -> bool {
    PAGE.get().is_some()
}

/// Handles a message now, or after the one that is being handled.
pub(crate) fn send(message: Msg) {
    let page = page();
    page.queue.send(message, |message| {
        let started_ms = page.elements.clock_ms();
        let effects = update(&mut page.model.borrow_mut(), message, now());
        let mut browser = page.browser.borrow_mut();
        browser.begin(started_ms);
        for effect in effects {
            browser.carry_out(effect, &page.model.borrow());
        }
    });
}

/// Sends an action of the person.
pub(crate) fn act(person: Person) {
    send(Msg::Person(person));
}

/// Returns the model between two messages. Nothing that runs while the model changes calls this.
pub(crate) fn read() -> Ref<'static, Model> {
    page().model.borrow()
}

/// The elements of the document that the first part draws on.
pub(crate) fn elements() -> &'static Elements {
    page().elements
}

/// The lane of the lane tree's row with this id.
pub(crate) fn lane_of_row(id: &str) -> Option<LaneId> {
    page().browser.borrow().lane_of_row(id)
}

fn page() -> &'static Page {
    PAGE.get().expect("the page opens before it listens")
}

/// Returns time and chance for one message.
fn now() -> Now {
    let ms = js_sys::Date::now();
    Now {
        local: Time((ms * 1_000.0) as i64),
        ms: ms as u64,
        random: js_sys::Math::random(),
    }
}
