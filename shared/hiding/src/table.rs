//! The table of known texts and their new forms, and the rules that rewrite each class of text by this table.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use watchscope_model::id::is_built_in_group;
use watchscope_model::options::percent_decode;
use watchscope_model::request::percent_encode;
use watchscope_model::{Text, Uid, WatchName};

use crate::address::Address;
use crate::known::{Known, Selectors, WatchParts};
use crate::part::{HiddenPart, Parts};
use crate::pseudonym::Seed;
use crate::request::{Segment, segments};
use crate::selector;
use crate::sentence::{Check, Names, rewritten};
use crate::words::is_harmless;

/// The replacement of a whole text with an unknown word that the [`Check`] does not allow. A known name, a uid and an
/// IP address are no unknown words.
pub(crate) const HIDDEN: &str = "[hidden]";

/// Texts, each with the parts that it names.
type Named = Vec<(Text, Parts)>;

/// Known texts and their new forms.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) parts: Parts,
    seed: Seed,
    /// Names and their new forms: a pseudonym, or the name with the names inside it replaced.
    names: BTreeMap<Text, Text>,
    /// API groups and resources, with their new forms.
    types: BTreeMap<Text, Text>,
    /// The new names of watches, by their names.
    watches: BTreeMap<Text, WatchName>,
    /// Names of watches that begin or end with a character that is neither a letter nor a digit, the longest first.
    odd: Vec<WatchName>,
    longest: usize,
}

impl Table {
    pub(crate) fn new(known: Known, parts: Parts, seed: Seed) -> Self {
        let mut table = Self {
            parts,
            seed,
            names: BTreeMap::default(),
            types: BTreeMap::default(),
            watches: BTreeMap::default(),
            odd: Vec::new(),
            longest: 0,
        };
        let texts: Named = known.texts.into_iter().collect();
        // The names are sorted, so their order decides which of two equal pseudonyms is changed.
        let (hidden, kept): (Named, Named) =
            texts.into_iter().partition(|(_, named)| named.meets(parts));
        let mut taken: BTreeSet<Text> = BTreeSet::default();
        for (name, named) in hidden {
            let mut attempt = 0;
            let pseudonym = loop {
                let pseudonym: Text = table.pseudonym(&name, named, attempt).into();
                if !taken.contains(&pseudonym) {
                    break pseudonym;
                }
                attempt += 1;
            };
            taken.insert(pseudonym.clone());
            table.learn(name, pseudonym);
        }
        // Other names may contain hidden ones. All are rewritten before any of them is known, because a known name may
        // stay whole.
        let within: Vec<Text> = kept
            .iter()
            .map(|(name, _)| table.inside(name).into())
            .collect();
        for ((name, _), new) in kept.into_iter().zip(within) {
            table.learn(name, new);
        }
        for group in known.groups {
            let new = table.group(&group).as_ref().into();
            table.learn_type(group, new);
        }
        for what in known.resources {
            let new = table.what(&what).into();
            table.learn_type(what, new);
        }
        table.learn_watches(known.watches);
        table
    }

    fn learn(&mut self, name: Text, new: Text) {
        self.longest = self.longest.max(name.len());
        self.names.insert(name, new);
    }

    fn learn_type(&mut self, name: Text, new: Text) {
        self.longest = self.longest.max(name.len());
        self.types.insert(name, new);
    }

    fn learn_watches(&mut self, watches: BTreeMap<WatchName, Selectors>) {
        for (name, selectors) in watches {
            let new = self.watch_anew(&name, &selectors);
            let is_plain = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            let letters = || name.as_str().chars();
            if !is_plain(letters().next()) || !is_plain(letters().next_back()) {
                self.odd.push(name.clone());
            }
            self.longest = self.longest.max(name.as_str().len());
            self.watches.insert(name.0, new);
        }
        let by_length = |name: &WatchName| (std::cmp::Reverse(name.as_str().len()), name.clone());
        self.odd.sort_by_key(by_length);
    }

    /// Returns the pseudonym of a hidden name.
    fn pseudonym(&self, name: &str, named: Parts, attempt: usize) -> String {
        let part = named.iter().find(|part| self.parts.has(*part));
        self.seed
            .pseudonym(part.unwrap_or(HiddenPart::Names), name, attempt)
    }

    /// Returns the new form of a name. In an unknown name, the known names inside it are replaced.
    pub(crate) fn name<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        match self.names.get(name) {
            Some(new) => Cow::Borrowed(new),
            None => Cow::Owned(self.inside(name)),
        }
    }

    /// Returns the new form of an API group. The groups of Kubernetes itself stay: none is named after something in a
    /// cluster, though something in a cluster may have the same name.
    pub(crate) fn group<'a>(&'a self, group: &'a str) -> Cow<'a, str> {
        if is_built_in_group(group) {
            Cow::Borrowed(group)
        } else {
            Cow::Owned(self.inside(group))
        }
    }

    /// Returns the new form of a resource with its group.
    pub(crate) fn what(&self, what: &str) -> String {
        match what.split_once('.') {
            Some((resource, group)) => format!("{resource}.{}", self.group(group)),
            None => what.to_owned(),
        }
    }

    /// Returns a text with known names replaced.
    pub(crate) fn inside(&self, text: &str) -> String {
        self.sentence(text, Check::None)
    }

    /// Like [`Self::inside`], if each word outside of known names passes the check; else returns [`HIDDEN`].
    pub(crate) fn sentence(&self, text: &str, check: Check) -> String {
        rewritten(text, self, check).unwrap_or_else(|| HIDDEN.to_owned())
    }

    fn has(&self, part: HiddenPart) -> bool {
        self.parts.has(part)
    }

    pub(crate) fn uid_of(&self, uid: &Uid) -> Uid {
        match uid {
            Uid::Uuid(bytes) if self.has(HiddenPart::Uids) => Uid::Uuid(self.seed.uid(*bytes)),
            Uid::Uuid(_) => uid.clone(),
            Uid::Other(text) => match Uid::parse(&text.to_ascii_lowercase()) {
                // A UUID in upper case is no name: it would be found as a uid in itself, again and again.
                Uid::Uuid(_) if !self.has(HiddenPart::Uids) => uid.clone(),
                lower @ Uid::Uuid(_) => self.uid_of(&lower),
                Uid::Other(_) => Uid::parse(&self.name(text)),
            },
        }
    }

    pub(crate) fn uid_text(&self, text: &str) -> String {
        self.uid_of(&Uid::parse(text)).to_string()
    }

    pub(crate) fn address(&self, text: &str) -> String {
        let address = Address::of(text);
        let mut out = address.begin.to_owned();
        out.push_str(&self.name(address.host));
        out.push_str(address.port);
        for (place, segment) in address.path.split('/').enumerate() {
            if place > 0 {
                out.push('/');
            }
            self.address_segment(segment, &mut out);
        }
        out
    }

    /// Writes the new form of a path segment that belongs to a server's address.
    fn address_segment(&self, segment: &str, out: &mut String) {
        if segment.is_empty() || !self.has(HiddenPart::Addresses) {
            out.push_str(&self.name(segment));
        } else {
            out.push_str(&self.seed.pseudonym(HiddenPart::Addresses, segment, 0));
        }
    }

    pub(crate) fn labels(&self, selector: &str) -> String {
        selector::labels(selector, |word, out| out.push_str(&self.label(word)))
    }

    /// Returns the new form of a word in a label selector. An unknown word is hidden if labels are hidden.
    fn label<'a>(&'a self, word: &'a str) -> Cow<'a, str> {
        if self.has(HiddenPart::Labels) && !self.names.contains_key(word) {
            return Cow::Owned(self.seed.pseudonym(HiddenPart::Labels, word, 0));
        }
        self.name(word)
    }

    pub(crate) fn fields(&self, selector: &str) -> String {
        selector::fields(selector, |part, value, out| match part {
            Some(_) => out.push_str(&self.name(value)),
            // The value may name anything; two different values stay different.
            None if rewritten(value, self, Check::Words).as_deref() == Some(value) => {
                out.push_str(value);
            }
            None => out.push_str(&self.seed.pseudonym(HiddenPart::Labels, value, 0)),
        })
    }

    pub(crate) fn path(&self, path: &str) -> String {
        let mut out = String::new();
        segments(path, |segment, word| {
            match segment {
                Segment::Fixed => out.push_str(word),
                Segment::Group => out.push_str(&self.group(word)),
                Segment::Names(_) => percent_encode(&self.name(&percent_decode(word)), &mut out),
                Segment::Address => self.address_segment(word, &mut out),
            }
            out.push('/');
        });
        out.pop();
        out
    }

    pub(crate) fn query(&self, query: &str) -> String {
        /// Request parameters whose values are numbers or words of the API, which stay. All but `pretty` are in
        /// docs/semantics/requests.md#parameters; `pretty` is in the API reference ("Common Parameters").
        const PLAIN: [&str; 8] = [
            "watch",
            "resourceVersion",
            "resourceVersionMatch",
            "limit",
            "sendInitialEvents",
            "allowWatchBookmarks",
            "timeoutSeconds",
            "pretty",
        ];
        let pairs = query.split('&').map(|pair| {
            let Some((name, value)) = pair.split_once('=') else {
                return self.sentence(pair, Check::Words);
            };
            if PLAIN.contains(&name) {
                return pair.to_owned();
            }
            let decoded = percent_decode(value);
            let anew = match name {
                "labelSelector" => self.labels(&decoded),
                "fieldSelector" => self.fields(&decoded),
                // The token of a page holds the name of the object after it, in base64.
                "continue" => self.seed.pseudonym(HiddenPart::Later, &decoded, 0),
                _ => self.sentence(&decoded, Check::Words),
            };
            let mut pair = format!("{}=", self.sentence(name, Check::Words));
            percent_encode(&anew, &mut pair);
            pair
        });
        pairs.collect::<Vec<String>>().join("&")
    }

    pub(crate) fn request(&self, text: &str) -> String {
        let (verb, target) = text.split_once(' ').unwrap_or(("", text));
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let mut out = String::new();
        if !verb.is_empty() {
            out.push_str(&self.sentence(verb, Check::Words));
            out.push(' ');
        }
        out.push_str(&self.path(path));
        if let Some(query) = query {
            out.push('?');
            out.push_str(&self.query(query));
        }
        out
    }

    /// Returns a client's belief (its report of held objects), rewritten, with only the fields that
    /// [`watchscope_model::belief`] reads.
    pub(crate) fn belief(&self, text: &str) -> String {
        let Ok(Value::Array(parts)) = serde_json::from_str(text) else {
            return "[]".to_owned();
        };
        let parts = parts.iter().map(|part| {
            let mut anew = Map::new();
            for kept in ["resource", "resourceVersion", "objects"] {
                if let Some(value) = part.get(kept) {
                    anew.insert(kept.to_owned(), value.clone());
                }
            }
            if let Some(name) = part.get("part").and_then(Value::as_str) {
                anew.insert("part".to_owned(), self.sentence(name, Check::Words).into());
            }
            let held = part.get("held").and_then(Value::as_object);
            let held = held.into_iter().flatten().map(|(place, version)| {
                let place: Vec<Cow<'_, str>> =
                    place.splitn(2, '/').map(|name| self.name(name)).collect();
                let version = version.as_str().and_then(|text| text.rsplit_once('@'));
                let (uid, version) = version.unwrap_or_default();
                let version = format!("{}@{version}", self.uid_text(uid));
                (place.join("/"), Value::from(version))
            });
            anew.insert("held".to_owned(), Value::Object(held.collect()));
            Value::Object(anew)
        });
        Value::Array(parts.collect()).to_string()
    }

    pub(crate) fn watch(&self, name: &WatchName) -> WatchName {
        let about = name.about();
        let watch = about.as_ref().unwrap_or(name);
        let new = match self.watches.get(&watch.0) {
            Some(new) => new.clone(),
            None => self.watch_anew(watch, &Selectors::default()),
        };
        match name.as_aside() {
            Some(aside) => new.aside(aside),
            None => new,
        }
    }

    fn watch_anew(&self, name: &WatchName, selectors: &Selectors) -> WatchName {
        if !self.parts.changes_texts() {
            return name.clone();
        }
        let parts = WatchParts::of(name);
        let mut out = String::new();
        if let Some(client) = parts.client {
            out.push_str(&self.name(client));
            out.push(':');
        }
        match parts.namespace {
            "*" | "-" => out.push_str(parts.namespace),
            namespace => out.push_str(&self.name(namespace)),
        }
        out.push('/');
        out.push_str(&self.what(parts.what));
        if let Some(written) = parts.selectors {
            let label = selectors
                .label
                .as_deref()
                .map(|selector| self.labels(selector));
            let field = selectors
                .field
                .as_deref()
                .map(|selector| self.fields(selector));
            let mut anew: Vec<String> = [label, field].into_iter().flatten().collect();
            if anew.is_empty() {
                // It is unknown which selector this is, so its words are hidden if any are.
                anew.push(selector::labels(written, |word, out| {
                    out.push_str(&self.seed.pseudonym(HiddenPart::Labels, word, 0));
                }));
            }
            out.push('?');
            out.push_str(&anew.join("&"));
        }
        out.push_str(parts.ordinal);
        WatchName(out.into())
    }
}

impl Names for Table {
    fn shown<'a>(&'a self, text: &'a str) -> Option<&'a str> {
        if let Some(new) = self.names.get(text) {
            return Some(new);
        }
        if let Some(new) = self.types.get(text) {
            return Some(new);
        }
        self.watches.get(text).map(WatchName::as_str)
    }

    fn is_weak(&self, text: &str) -> bool {
        self.names.contains_key(text) && is_harmless(text)
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn odd<'a>(&'a self, rest: &str) -> Option<(usize, &'a str)> {
        let found = self
            .odd
            .iter()
            .find(|name| rest.starts_with(name.as_str()))?;
        let new = self.watches.get(&found.0)?;
        Some((found.as_str().len(), new.as_str()))
    }

    fn uid(&self, uid: &str, out: &mut String) {
        out.push_str(&self.uid_text(uid));
    }

    fn ip(&self, ip: &str, out: &mut String) {
        if self.has(HiddenPart::Addresses) {
            out.push_str(&self.seed.pseudonym(HiddenPart::Addresses, ip, 0));
        } else {
            out.push_str(ip);
        }
    }
}
