//! What the client programs of a lesson learned of objects: by which events, and from which lists.

use watchscope_model::tree::{BTreeMap, BTreeSet};
use watchscope_model::vocabulary::ChangeType;
use watchscope_scenarios::lessons::{Learned, News};
use watchscope_simulator::{Received, ReceivedRecord};

/// What a client learned: it hears that an object exists now, or does not exist any more.
#[derive(Debug)]
struct Item {
    client: String,
    object: String,
    change: ChangeType,
    how: Learned,
}

/// What all clients learned so far. The writes of a lesson bound it.
#[derive(Debug, Default)]
pub(crate) struct Learning {
    /// The names of the objects that exist, as each client heard.
    held: BTreeMap<String, BTreeSet<String>>,
    /// In the order of learning.
    items: Vec<Item>,
}

impl Learning {
    /// Takes the next message that a client received.
    pub(crate) fn take(&mut self, record: &ReceivedRecord) {
        let client = record.client.to_string();
        let held = self.held.entry(client.clone()).or_default();
        let mut learned: Vec<(String, ChangeType, Learned)> = Vec::new();
        match &record.received {
            Received::Change {
                change: ChangeType::Deleted,
                name,
                ..
            } => {
                held.remove(name);
                learned.push((name.clone(), ChangeType::Deleted, Learned::ByEvent));
            }
            Received::Change { name, .. } => {
                let is_new = held.insert(name.clone());
                learned.extend(is_new.then(|| (name.clone(), ChangeType::Added, Learned::ByEvent)));
            }
            Received::List { names, .. } => {
                let listed: BTreeSet<String> = names.iter().cloned().collect();
                let added = listed.difference(held).cloned();
                learned.extend(added.map(|name| (name, ChangeType::Added, Learned::FromList)));
                let gone = held.difference(&listed).cloned();
                learned.extend(gone.map(|name| (name, ChangeType::Deleted, Learned::FromList)));
                *held = listed;
            }
            _ => {}
        }
        let items = learned.into_iter().map(|(object, change, how)| Item {
            client: client.clone(),
            object,
            change,
            how,
        });
        self.items.extend(items);
    }

    /// Returns how a client first learned the news, and how often if only by events; [`Learned::Never`] if it did not
    /// so far.
    pub(crate) fn of(&self, client: &str, news: &News) -> Learned {
        let is_it = |item: &&Item| {
            item.client == client && item.object == news.object && item.change == news.change
        };
        let items = self.items.iter().filter(is_it);
        let mut hows = items.map(|item| item.how);
        match hows.next() {
            None => Learned::Never,
            Some(Learned::ByEvent) => {
                let again = hows.filter(|how| *how == Learned::ByEvent).count();
                match u32::try_from(again) {
                    Ok(again @ 1..) => Learned::Again(again.saturating_add(1)),
                    _ => Learned::ByEvent,
                }
            }
            Some(how) => how,
        }
    }
}
