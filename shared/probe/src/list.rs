//! Reads a list: its pages, the changes in them, and the objects that are missing.

use std::borrow::Cow;
use std::sync::Arc;

use watchscope_model::event::{Change, ListComplete, ListPage, WatchStopped};
use watchscope_model::id::is_built_in_group;
use watchscope_model::vocabulary::{Cause, ChangeType, FrameLoss, Origin, Phase, PhaseReason};
use watchscope_model::{Object, RequestId, ResourceVersion, StreamId, Time};

use crate::decode::page::Item;
use crate::decode::{self, DecodeError, Decoder, ObjectHead, decode_page};
use crate::held::{Held, Relation, Reversal};
use crate::port::Emitted;
use crate::probe::{Probe, Streaks, Task, Turn};

/// A list in progress, over all its pages and attempts; or initial events, which are read like a list.
#[derive(Debug)]
pub(crate) struct ListRun {
    /// The number of the list, which marks every object in it.
    pub(crate) number: u64,
    /// Whether to request a state not older than progress, instead of the most recent one.
    pub(crate) at_progress: bool,
    /// The continue token of the next page; absent for the first page.
    pub(crate) token: Option<String>,
    /// The number of items requested per page; absent to request all in one page.
    pub(crate) limit: Option<u32>,
    /// The resourceVersion of the pages so far.
    version: Option<ResourceVersion>,
    items: u64,
    /// The number of items whose name cannot be read. Any held object may be one of the unreadable items.
    nameless: u64,
    added: u64,
    changed: u64,
    removed: u64,
    /// The number of continue tokens that expired (410) during this list.
    expired_tokens: u32,
}

impl ListRun {
    pub(crate) fn new(page_size: u32) -> Self {
        Self {
            number: 1,
            at_progress: false,
            token: None,
            limit: Some(page_size.max(1)),
            version: None,
            items: 0,
            nameless: 0,
            added: 0,
            changed: 0,
            removed: 0,
            expired_tokens: 0,
        }
    }

    /// Begins the list again with the first page. Changes that were already written stay counted, because they are part
    /// of this list's result.
    pub(crate) fn restart(&mut self, at_progress: bool) {
        self.number += 1;
        self.at_progress = at_progress;
        self.token = None;
        self.version = None;
        self.items = 0;
        self.nameless = 0;
    }

    /// Ends a list that is not complete. The objects that it brought stay held, and the next list is compared with
    /// them.
    pub(crate) fn break_off(&mut self) {
        self.number += 1;
        (self.added, self.changed, self.removed) = (0, 0, 0);
    }

    /// Ends a complete list; the next list counts from zero.
    pub(crate) fn finish(&mut self, page_size: u32) {
        *self = Self {
            number: self.number + 1,
            ..Self::new(page_size)
        };
    }
}

/// The time in ms after which a watch begins anew by itself, if diagnosis has not made all watches begin anew.
/// Diagnosis acts on the record of the page, so it needs far less time. The number has no source.
const RESTORED_MS: u64 = 1_000;

/// A page of a list while it arrives.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) request: RequestId,
    body: Vec<u8>,
    pub(crate) heard_at: Time,
}

impl Page {
    pub(crate) fn new(request: RequestId, now: Time) -> Self {
        Self {
            request,
            body: Vec::new(),
            heard_at: now,
        }
    }

    /// Adds a piece of the body; returns `false` if the page is longer than `limit` bytes.
    pub(crate) fn push(&mut self, bytes: &[u8], limit: usize, now: Time) -> bool {
        self.heard_at = now;
        self.body.extend_from_slice(bytes);
        self.body.len() <= limit
    }
}

impl Probe {
    /// Handles a page over the limit: gives it up, and after a wait requests the list again, in pages of an eighth of
    /// the items.
    pub(crate) fn page_too_long(&mut self, page: Page, turn: &mut Turn<'_>) {
        let items = self.list.limit.unwrap_or(self.config.page_size);
        let limit = self.config.page_limit;
        self.page_lost(
            &page,
            FrameLoss::TooLong,
            &format!("a page of {items} items is longer than {limit} bytes"),
            turn,
        );
        self.close(turn);
        self.list.restart(self.list.at_progress);
        self.list.limit = Some((items / 8).max(1));
        self.fail(PhaseReason::Malformed, turn);
    }

    /// Writes the loss of a page that did not come whole or could not be read.
    pub(crate) fn page_lost(
        &self,
        page: &Page,
        what: FrameLoss,
        reason: &str,
        turn: &mut Turn<'_>,
    ) {
        self.lose(what, page.body.len() as u64, reason, turn);
    }

    /// Processes a page whose body has ended.
    pub(crate) fn page_over(&mut self, page: Page, cause: Cause, turn: &mut Turn<'_>) {
        if cause != Cause::End {
            let reason = format!("the page was cut short ({cause})");
            self.page_lost(&page, FrameLoss::CutShort, &reason, turn);
            self.fail(PhaseReason::Broken, turn);
            return;
        }
        if let Err(error) = self.take_page(&page, turn) {
            self.page_lost(&page, error.loss(), &error.to_string(), turn);
            self.list.restart(self.list.at_progress);
            self.fail(PhaseReason::Malformed, turn);
        }
    }

    fn take_page(&mut self, page: &Page, turn: &mut Turn<'_>) -> Result<(), DecodeError> {
        let Some(mut decoder) = self.decoder.take() else {
            return Ok(());
        };
        let taken = self.read_page(page, &mut decoder, turn);
        self.decoder = Some(decoder);
        let token = match taken? {
            Taken::Page(token) => token,
            Taken::Older(version) => {
                self.list_was_older(&version, turn);
                return Ok(());
            }
            Taken::Restored => {
                self.etcd_went_back(turn);
                return Ok(());
            }
        };
        if token.is_some() {
            self.list.token = token;
            self.begin(Task::List, PhaseReason::FirstList, turn);
            return Ok(());
        }
        let version = self.list.version.clone().unwrap_or_else(|| 0.into());
        self.complete_list(version, None, turn);
        self.begin(Task::Watch, PhaseReason::Listed, turn);
        Ok(())
    }

    fn read_page(
        &mut self,
        page: &Page,
        decoder: &mut Decoder,
        turn: &mut Turn<'_>,
    ) -> Result<Taken, DecodeError> {
        let own_list_kind = !is_built_in_group(&self.spec.group);
        let decoded = decode_page(&page.body, decoder, own_list_kind)?;
        let version = self.version(ResourceVersion::parse(&decoded.resource_version));
        if self
            .list
            .version
            .as_ref()
            .is_some_and(|first| *first != version)
        {
            // Every page of a list must have the same resourceVersion; otherwise the pages are not one state.
            return Err(DecodeError::Pages);
        }
        if decoded.token.is_some() && decoded.token.as_deref() == self.list.token.as_deref() {
            return Err(DecodeError::Circle);
        }
        self.list.version = Some(version.clone());
        self.list.items += decoded.items.len() as u64;
        let is_older = self.is_older_than_progress(&version);
        // A later page may come from another server, so only the first one proves anything.
        let lower = if is_older || self.list.token.is_some() {
            None
        } else {
            self.lower_than_held(&decoded.items)
        };
        let is_restored = lower.is_some() || (is_older && !self.list.at_progress);
        let (object, listed) = lower.unzip();
        turn.emit(ListPage {
            watch: self.spec.name.clone(),
            request: page.request,
            resource_version: version.clone(),
            items: decoded.items.len() as u64,
            remaining: decoded.remaining,
            object,
            listed,
        });
        if is_restored {
            return Ok(Taken::Restored);
        }
        if is_older {
            return Ok(Taken::Older(version));
        }
        for item in &decoded.items {
            self.take_item(item, decoder, turn);
        }
        Ok(Taken::Page(decoded.token.map(Cow::into_owned)))
    }

    /// The version as the server wrote it, without an order if the API is aggregated.
    pub(crate) fn version(&self, version: ResourceVersion) -> ResourceVersion {
        if self.spec.is_aggregated() {
            version.unordered()
        } else {
            version
        }
    }

    /// The name and the version of an object, which every object must have. It fails if one is missing or empty.
    pub(crate) fn identity<'a>(
        &self,
        head: &'a ObjectHead<'_>,
    ) -> Result<(&'a str, ResourceVersion), DecodeError> {
        let (name, version) = identity(head)?;
        Ok((name, self.version(version)))
    }

    fn is_older_than_progress(&self, version: &ResourceVersion) -> bool {
        let progress = self.progress.as_ref();
        version.is_position() && progress.is_some_and(|progress| progress.is_after(version))
    }

    /// The first item with a lower version than the watch holds, if the items show that etcd was restored.
    fn lower_than_held(&self, items: &[Item<'_>]) -> Option<(Arc<Object>, ResourceVersion)> {
        let progress = self.progress.as_ref().filter(|_| self.has_place())?;
        let mut reversal = Reversal::default();
        for item in items.iter().flatten() {
            let head = &item.head;
            if let Ok((name, version)) = self.identity(head) {
                let uid = head.uid.as_deref().unwrap_or("");
                let who = (head.namespace.as_deref(), name, uid);
                reversal.take(&self.held, progress, who, &version);
            }
        }
        reversal.shown()
    }

    /// Handles a list that shows that etcd was restored (F33). Diagnosis finds the restore in the page's record and
    /// makes all watches begin anew. Diagnosis makes them begin anew only once, so after [`RESTORED_MS`] the watch
    /// begins anew by itself.
    fn etcd_went_back(&mut self, turn: &mut Turn<'_>) {
        self.is_restored = true;
        let why = PhaseReason::Restored;
        self.wait(RESTORED_MS, why, Task::List, why, turn);
    }

    /// Drops the held objects and the progress, and lists again, like a watch that stops and starts.
    pub(crate) fn begin_anew(&mut self, turn: &mut Turn<'_>) {
        let reason = PhaseReason::Restored;
        self.set_phase(Phase::Stopped, reason, turn);
        turn.emit(WatchStopped {
            watch: self.spec.name.clone(),
            reason,
        });
        turn.emit(self.spec.started());
        self.phase = None;
        self.is_restored = false;
        self.progress = None;
        self.held = Held::default();
        self.list = ListRun::new(self.config.page_size);
        self.streaks = Streaks::default();
        self.gap = None;
        self.begin(Task::List, PhaseReason::FirstList, turn);
    }

    /// Handles a list older than progress, although the request excluded older states (F22). The list changes nothing;
    /// the watch waits and lists the most recent state.
    fn list_was_older(&mut self, version: &ResourceVersion, turn: &mut Turn<'_>) {
        turn.emit(ListComplete {
            watch: self.spec.name.clone(),
            resource_version: version.clone(),
            items: self.list.items,
            added: 0,
            changed: 0,
            removed: 0,
        });
        self.relist(false, PhaseReason::TooLarge, turn);
    }

    fn take_item(&mut self, item: &Item<'_>, decoder: &Decoder, turn: &mut Turn<'_>) {
        let (bytes, taken) = match item {
            Ok(object) => {
                // Items of a list have no kind; if one has, it must be the requested one.
                let kind = object.head.kind.as_deref();
                let checked = kind.map_or(Ok(()), |kind| decoder.check_kind(Some(kind)));
                let taken =
                    checked.and_then(|()| self.learn(object, Origin::List, None, decoder, turn));
                (object.raw.len() as u64, taken)
            }
            Err(broken) => (broken.bytes, Err(broken.error.into())),
        };
        // An unreadable item is lost, not gone, so the object held in its place stays.
        if taken.is_err() {
            let place = match item {
                Ok(object) => object
                    .head
                    .name
                    .as_deref()
                    .map(|name| (object.head.namespace.as_deref(), name)),
                Err(broken) => broken
                    .name
                    .as_ref()
                    .map(|(namespace, name)| (namespace.as_deref(), &**name)),
            };
            match place {
                Some((namespace, name)) => {
                    self.held.touch_named(namespace, name, self.list.number);
                }
                None => self.list.nameless += 1,
            }
        }
        if let Err(error) = taken {
            self.lose(
                FrameLoss::Item,
                bytes,
                format!("an item of a list: {error}"),
                turn,
            );
        }
    }

    /// Compares an object of a list (or an initial event) with the held one, and writes the difference. It fails, and
    /// writes nothing, if the object lacks its name or version.
    pub(crate) fn learn(
        &mut self,
        read: &decode::Object<'_>,
        origin: Origin,
        stream: Option<StreamId>,
        decoder: &Decoder,
        turn: &mut Turn<'_>,
    ) -> Result<(), DecodeError> {
        let head = &read.head;
        let (name, version) = self.identity(head)?;
        let uid = head.uid.as_deref().unwrap_or("");
        let (object, relation) = self
            .held
            .relate(head.namespace.as_deref(), name, uid, &version);
        let change = match relation {
            Relation::Newer if origin == Origin::List && self.is_lost_there(&object) => {
                self.held.touch(&object, self.list.number);
                self.list.changed += 1;
                // The held object stays; the record has the list's object in its place.
                let learned = Learned {
                    change: ChangeType::Modified,
                    origin,
                    object,
                    version,
                    stream,
                };
                self.write_change(learned, read, decoder, turn);
                return Ok(());
            }
            Relation::Same | Relation::Newer => {
                self.held.touch(&object, self.list.number);
                return Ok(());
            }
            Relation::Absent => {
                self.list.added += 1;
                ChangeType::Added
            }
            Relation::Older => {
                self.list.changed += 1;
                ChangeType::Modified
            }
            Relation::Replaced(gone, last) => {
                self.list.added += 1;
                self.list.removed += 1;
                self.infer_deleted(gone, last, stream, turn);
                ChangeType::Added
            }
        };
        self.write_change(
            Learned {
                change,
                origin,
                object: object.clone(),
                version: version.clone(),
                stream,
            },
            read,
            decoder,
            turn,
        );
        self.held.hold(object, version, self.list.number);
        Ok(())
    }

    /// Whether a list of a later state has an older version of a held object, because its server has lost an event
    /// (F24). A held object from an earlier attempt at the same list may be newer than the list, which is no loss.
    fn is_lost_there(&self, object: &Object) -> bool {
        let held = self.held.named(object.namespace.as_deref(), &object.name);
        let list = self.list.version.as_ref();
        held.zip(list)
            .is_some_and(|((_, held), list)| *list == held || list.is_after(&held))
    }

    /// Completes a state: held objects that the state lacks are gone. Held objects newer than the state stay: an
    /// earlier attempt read them from a server further ahead. If an item without a name could not be read, all objects
    /// stay.
    pub(crate) fn complete_list(
        &mut self,
        version: ResourceVersion,
        stream: Option<StreamId>,
        turn: &mut Turn<'_>,
    ) {
        if self.list.nameless == 0 {
            for (object, last) in self.held.take_unseen(self.list.number, &version) {
                self.list.removed += 1;
                self.infer_deleted(object, last, stream, turn);
            }
        }
        turn.emit(ListComplete {
            watch: self.spec.name.clone(),
            resource_version: version.clone(),
            items: self.list.items,
            added: self.list.added,
            changed: self.list.changed,
            removed: self.list.removed,
        });
        self.list.finish(self.config.page_size);
        if version.is_position() {
            self.advance(&version);
        }
        self.close_gap(false, turn);
    }

    pub(crate) fn note_initial_item(&mut self) {
        self.list.items += 1;
    }

    pub(crate) fn infer_deleted(
        &mut self,
        object: Arc<Object>,
        last: ResourceVersion,
        stream: Option<StreamId>,
        turn: &mut Turn<'_>,
    ) {
        self.held.remove(&object);
        turn.emit(Change {
            watch: self.spec.name.clone(),
            stream,
            change: ChangeType::Deleted,
            origin: Origin::Inferred,
            object,
            resource_version: last,
            generation: None,
            manager: None,
            subresource: None,
            bytes: None,
            stray: None,
            owner: None,
        });
    }

    /// Writes a change and its redacted body.
    pub(crate) fn write_change(
        &mut self,
        learned: Learned,
        read: &decode::Object<'_>,
        decoder: &Decoder,
        turn: &mut Turn<'_>,
    ) {
        let head = &read.head;
        // A DELETED may have the object's labels after a change that left the selector.
        let is_stray = learned.change != ChangeType::Deleted
            && self
                .selector
                .as_ref()
                .is_some_and(|selector| !selector.asks_for(head));
        let withheld = read.is_withheld();
        let body = if self.config.with_bodies {
            decoder.copy_body(read, &mut turn.out.bodies)
        } else {
            None
        };
        let event = Change {
            watch: self.spec.name.clone(),
            stream: learned.stream,
            change: learned.change,
            origin: learned.origin,
            object: learned.object,
            resource_version: learned.version,
            generation: head.generation,
            manager: head.writer.manager().map(|text| self.texts.text(text)),
            subresource: head.writer.subresource().map(|text| self.texts.text(text)),
            bytes: Some(read.raw.len() as u64),
            stray: is_stray.then_some(true),
            owner: head
                .owner
                .as_ref()
                .map(|owner| self.owners.owner(&owner.kind, &owner.name, &owner.uid)),
        };
        turn.out.events.push(Emitted {
            event: event.into(),
            body,
        });
        if withheld {
            let reason =
                "a part that has to be redacted has an unexpected shape; the body is withheld";
            self.lose_body(read.raw.len() as u64, reason, turn);
        }
    }

    /// Handles an expired continue token (410): lists again, and from the second time on in a single page.
    pub(crate) fn token_expired(&mut self, turn: &mut Turn<'_>) {
        let expired_tokens = self.list.expired_tokens + 1;
        self.list.expired_tokens = expired_tokens;
        if expired_tokens >= 2 {
            self.list.limit = None;
        }
        self.relist(false, PhaseReason::Expired, turn);
    }
}

/// The result of a page.
enum Taken {
    /// The page was processed; holds the continue token of the next page, if there is one.
    Page(Option<String>),
    /// The page is older than progress; holds its version.
    Older(ResourceVersion),
    /// The page shows that etcd was restored.
    Restored,
}

/// A change that the watch learned, and where it came from.
pub(crate) struct Learned {
    pub(crate) change: ChangeType,
    pub(crate) origin: Origin,
    pub(crate) object: Arc<Object>,
    pub(crate) version: ResourceVersion,
    pub(crate) stream: Option<StreamId>,
}

/// The name and the version of an object, which every object must have; the version is as the server wrote it. It fails
/// if one is missing or empty.
pub(crate) fn identity<'a>(
    head: &'a ObjectHead<'_>,
) -> Result<(&'a str, ResourceVersion), DecodeError> {
    let name = head
        .name
        .as_deref()
        .filter(|name| !name.is_empty())
        .ok_or(DecodeError::Missing("metadata.name"))?;
    let version = head
        .resource_version
        .as_deref()
        .filter(|version| !version.is_empty())
        .ok_or(DecodeError::Missing("metadata.resourceVersion"))?;
    Ok((name, ResourceVersion::parse(version)))
}
