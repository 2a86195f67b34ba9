//! Collects all names in the records of a log: the first of two passes over the records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use watchscope_model::belief::Belief;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::DecodeError;
use watchscope_model::field::Headers;
use watchscope_model::id::Owner;
use watchscope_model::options::{ListOptions, percent_decode};
use watchscope_model::rewrite::{Rewrite as _, Rewriter, TextClass};
use watchscope_model::{Entry, LogId, Object, Text, Uid, WatchName};

use crate::address::Address;
use crate::part::{HiddenPart, Parts};
use crate::pseudonym::LETTERS;
use crate::request::{Segment, named_by, segments};
use crate::selector;

/// The names in a log: each text that names something, with the parts that it names. The collector is a [`Rewriter`]
/// that changes nothing.
///
/// The different texts and watches in the records bound the size, whatever the number of records. Empty texts are not
/// held. Uids with the form of a UUID in lower case are not held either, because a hider finds such uids by their form.
#[derive(Clone, Debug)]
pub struct Known {
    /// Texts that name something, each with the parts that it names.
    pub(crate) texts: BTreeMap<Text, Parts>,
    /// The API groups in the log.
    pub(crate) groups: BTreeSet<Text>,
    /// The resources in the log, with or without their groups.
    pub(crate) resources: BTreeSet<Text>,
    /// The watches by name, each with its selectors; watchscope's own requests about a watch are not among them.
    pub(crate) watches: BTreeMap<WatchName, Selectors>,
    /// The part that the names of objects of the last rewritten watch belong to.
    objects: HiddenPart,
    /// The watch that was rewritten last; `None` before the first.
    watch: Option<WatchName>,
}

/// The selectors of a watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selectors {
    pub(crate) label: Option<Text>,
    pub(crate) field: Option<Text>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            texts: BTreeMap::default(),
            groups: BTreeSet::default(),
            resources: BTreeSet::default(),
            watches: BTreeMap::default(),
            objects: HiddenPart::Names,
            watch: None,
        }
    }
}

impl Known {
    /// Reads a chapter: a head frame, and segment frames in their order; there may be no segment frame. Adds the names
    /// in the opening snapshot and in all records to those of earlier calls. Records of kinds from a later version are
    /// skipped.
    ///
    /// # Errors
    /// If a frame cannot be read, or does not continue the frame before it. Names from the frames before the bad one
    /// stay.
    pub fn chapter<'a>(
        &mut self,
        head: &[u8],
        segments: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), DecodeError> {
        let (mut reader, mut opening) = ChapterReader::open(head)?;
        let mut layers = reader.layers(&opening.state, &opening.layers)?;
        opening.log.rewrite(self);
        opening.state.rewrite(self);
        layers.rewrite(self);
        for segment in segments {
            for entry in reader.entries(segment)?.into_iter().flatten() {
                match entry {
                    Entry::Record(mut record) => record.event.rewrite(self),
                    Entry::Inside(mut record) => record.inside.rewrite(self),
                }
            }
        }
        Ok(())
    }

    /// Returns the number of different texts that belong to a part. A text that belongs to several parts counts for
    /// each of them. A controller's name that only follows from the name of an object that it made counts, too. Uids
    /// with the form of a UUID in lower case do not count. [`HiddenPart::Bodies`] and [`HiddenPart::Later`] have no
    /// texts.
    #[must_use]
    pub fn count(&self, part: HiddenPart) -> usize {
        let parts = self.texts.values();
        parts.filter(|parts| parts.has(part)).count()
    }

    /// Iterates over the texts that [`Known::count`] counts for a part, sorted by their bytes; there may be none. A
    /// text may belong to other parts, too.
    pub fn texts_of(&self, part: HiddenPart) -> impl Iterator<Item = &str> {
        let texts = self.texts.iter();
        texts.filter_map(move |(text, parts)| parts.has(part).then_some(&**text))
    }

    fn name(&mut self, part: HiddenPart, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.texts.get_mut(text) {
            Some(parts) => *parts = parts.with(part),
            None => {
                self.texts.insert(text.into(), Parts::default().with(part));
            }
        }
    }

    fn label_selector(&mut self, selector: &str) {
        selector::labels(selector, |word, _| self.name(HiddenPart::Labels, word));
    }

    fn field_selector(&mut self, selector: &str) {
        selector::fields(selector, |part, value, _| {
            if let Some(part) = part {
                self.name(part, value);
            }
        });
    }

    fn path(&mut self, path: &str) {
        segments(path, |segment, word| {
            if let Segment::Names(part) = segment {
                self.name(part, &percent_decode(word));
            }
        });
    }

    fn query(&mut self, query: &str) {
        let options = ListOptions::parse(query);
        if let Some(selector) = options.label_selector {
            self.label_selector(&selector);
        }
        if let Some(selector) = options.field_selector {
            self.field_selector(&selector);
        }
    }

    fn place(&mut self, object: &Object, named: HiddenPart) {
        if let Some(namespace) = &object.namespace {
            self.name(HiddenPart::Namespaces, namespace);
        }
        self.name(named, &object.name);
        if named == HiddenPart::Names {
            for maker in makers_of(&object.name) {
                self.name(named, maker);
            }
        }
        self.uid(&object.uid);
    }

    /// Adds a uid that is not a UUID. UUIDs are found in any text by their form.
    fn uid(&mut self, uid: &Uid) {
        if let Uid::Other(text) = uid {
            self.name(HiddenPart::Uids, text);
        }
    }
}

impl Rewriter for Known {
    fn text(&mut self, class: TextClass, text: &str) -> Option<Text> {
        match class {
            TextClass::Group => keep(&mut self.groups, text),
            TextClass::Resource => {
                self.objects = named_by(text);
                keep(&mut self.resources, text);
            }
            TextClass::Name => self.name(HiddenPart::Names, text),
            TextClass::Namespace => self.name(HiddenPart::Namespaces, text),
            TextClass::Node => self.name(HiddenPart::Nodes, text),
            TextClass::Cluster => self.name(HiddenPart::Cluster, text),
            TextClass::Uid => self.uid(&Uid::parse(text)),
            TextClass::Address => self.name(HiddenPart::Addresses, Address::of(text).host),
            TextClass::LabelSelector => {
                self.label_selector(text);
                if let Some(selectors) = self.selectors() {
                    selectors.label = Some(text.into());
                }
            }
            TextClass::FieldSelector => {
                self.field_selector(text);
                if let Some(selectors) = self.selectors() {
                    selectors.field = Some(text.into());
                }
            }
            TextClass::Path => self.path(text),
            TextClass::Query => self.query(text),
            TextClass::Request => {
                let target = text.split_once(' ').map_or(text, |(_, target)| target);
                let (path, query) = target.split_once('?').unwrap_or((target, ""));
                self.path(path);
                self.query(query);
            }
            TextClass::Belief => {
                for belief in Belief::read(text) {
                    let named = named_by(&belief.resource);
                    belief
                        .held
                        .iter()
                        .for_each(|held| self.place(&held.object, named));
                }
            }
            TextClass::Fixed | TextClass::Free | TextClass::Ours | TextClass::Said => {}
        }
        None
    }

    fn watch(&mut self, name: &WatchName) -> Option<WatchName> {
        if self.watch.as_ref() == Some(name) {
            return None;
        }
        let about = name.about().unwrap_or_else(|| name.clone());
        let parts = WatchParts::of(&about);
        self.objects = named_by(parts.resource());
        if let Some(client) = parts.client {
            self.name(HiddenPart::Names, client);
        }
        if !matches!(parts.namespace, "*" | "-") {
            self.name(HiddenPart::Namespaces, parts.namespace);
        }
        keep(&mut self.resources, parts.what);
        self.watches.entry(about).or_default();
        self.watch = Some(name.clone());
        None
    }

    fn object(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        self.place(object, self.objects);
        None
    }

    fn owner(&mut self, owner: &Owner) -> Option<Owner> {
        self.name(kind_names(owner.kind()), owner.name());
        self.uid(owner.uid());
        if let Some(deployment) = deployment_of(owner) {
            self.name(HiddenPart::Names, deployment);
        }
        None
    }

    /// Adds the log's name, because it is made from the cluster's name.
    fn log(&mut self, log: &LogId) -> Option<LogId> {
        self.name(HiddenPart::Cluster, log.as_str());
        None
    }

    fn headers(&mut self, _headers: &mut Headers) {}
}

impl Known {
    /// Returns the selectors of the last watch; of the watch that it is about, if it is watchscope's own request.
    /// `None` before the first watch.
    fn selectors(&mut self) -> Option<&mut Selectors> {
        let name = self.watch.as_ref()?;
        self.watches
            .get_mut(&name.about().unwrap_or_else(|| name.clone()))
    }
}

fn keep(texts: &mut BTreeSet<Text>, text: &str) {
    if !text.is_empty() && !texts.contains(text) {
        texts.insert(text.into());
    }
}

/// Returns the part that the names of objects of a kind belong to.
fn kind_names(kind: &str) -> HiddenPart {
    match kind {
        "Node" => HiddenPart::Nodes,
        _ => HiddenPart::Names,
    }
}

/// Returns the name of the Deployment of a ReplicaSet. The ReplicaSet's name is that of the Deployment plus a hash of
/// its template. `None` if the owner is no ReplicaSet, or if its name has no `-`.
fn deployment_of(owner: &Owner) -> Option<&str> {
    if owner.kind() != "ReplicaSet" {
        return None;
    }
    owner
        .name()
        .rsplit_once('-')
        .map(|(deployment, _)| deployment)
}

/// Returns the names of controllers that a generated pod name begins with: `cart-7d9f8b6c4d-x2z5q` belongs to the
/// ReplicaSet `cart-7d9f8b6c4d`, and this ReplicaSet to the Deployment `cart`. These names are hidden, too, even if no
/// record has them.
///
/// Generated endings have 5 characters, and the hash of a template 6 to 10, from an alphabet without vowels
/// (apimachinery, `util/rand`).
fn makers_of(name: &str) -> impl Iterator<Item = &str> {
    let is_made = |text: &str| text.bytes().all(|byte| LETTERS.contains(&byte));
    let split = |name: &'_ str, lengths: std::ops::RangeInclusive<usize>| {
        let at = name.rfind('-')?;
        let end = &name[at + 1..];
        (lengths.contains(&end.len()) && is_made(end)).then_some(at)
    };
    let set = split(name, 5..=5);
    let deployment = set.and_then(|end| split(&name[..end], 6..=10));
    set.into_iter().chain(deployment).map(|end| &name[..end])
}

/// The parts of a watch's name: `[CLIENT:]NAMESPACE/RESOURCE[.GROUP][?SELECTORS][#N]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchParts<'a> {
    pub(crate) client: Option<&'a str>,
    pub(crate) namespace: &'a str,
    /// The resource, with its group if it has one.
    pub(crate) what: &'a str,
    pub(crate) selectors: Option<&'a str>,
    /// The ordinal such as `#2`, or nothing.
    pub(crate) ordinal: &'a str,
}

impl<'a> WatchParts<'a> {
    /// Splits the name of a watch. The name must not be that of watchscope's own requests about a watch.
    pub(crate) fn of(name: &'a WatchName) -> Self {
        let text = name.as_str();
        let (unnumbered, _) = name.what_and_ordinal();
        let ordinal = &text[unnumbered.len()..];
        let (place, rest) = unnumbered.split_once('/').unwrap_or(("-", unnumbered));
        let (client, namespace) = match place.rsplit_once(':') {
            Some((client, namespace)) => (Some(client), namespace),
            None => (None, place),
        };
        let (what, selectors) = match rest.split_once('?') {
            Some((what, selectors)) => (what, Some(selectors)),
            None => (rest, None),
        };
        Self {
            client,
            namespace,
            what,
            selectors,
            ordinal,
        }
    }

    pub(crate) fn resource(&self) -> &'a str {
        self.what
            .split_once('.')
            .map_or(self.what, |(resource, _)| resource)
    }
}
