//! Rewrites all texts of records so that no hidden name is left: the second of two passes over the records.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use watchscope_model::field::Headers;
use watchscope_model::id::{Owner, is_built_in_group};
use watchscope_model::options::percent_decode;
use watchscope_model::request::percent_encode;
use watchscope_model::rewrite::{Rewriter, TextClass};
use watchscope_model::{LogId, Object, Text, Uid, WatchName};

use crate::address::Address;
use crate::known::{Known, Selectors, WatchParts};
use crate::part::{HiddenPart, Parts};
use crate::pseudonym::Seed;
use crate::request::{Segment, segments};
use crate::selector;
use crate::sentence::{Check, Names, rewritten};
use crate::words::is_harmless;

/// The replacement of a text that cannot be checked.
const HIDDEN: &str = "[hidden]";
/// The most rewritten texts that are cached. At this number all are dropped, which costs time only.
const REMEMBERED: usize = 4_096;

/// Rewrites the texts of a log whose names are all known.
///
/// It holds each known text with its new form, shared with its clones; each object with its new form; and at most
/// 4,096 other texts.
#[derive(Clone, Debug)]
pub struct Hider {
    names: Arc<Table>,
    objects: BTreeMap<Arc<Object>, Arc<Object>>,
    owners: BTreeMap<Owner, Owner>,
    texts: BTreeMap<(TextClass, Text), Option<Text>>,
}

impl Hider {
    /// A hider of parts of a log, with pseudonyms from a seed.
    #[must_use]
    pub fn new(known: Known, parts: Parts, seed: Seed) -> Self {
        Self {
            names: Arc::new(Table::new(known, parts, seed)),
            objects: BTreeMap::default(),
            owners: BTreeMap::default(),
            texts: BTreeMap::default(),
        }
    }

    /// The parts that are hidden.
    #[must_use]
    pub fn parts(&self) -> Parts {
        self.names.parts
    }

    /// A person's text with known names replaced.
    #[must_use]
    pub fn said(&self, text: &str) -> String {
        self.names.inside(text)
    }

    /// The new form of a text that is not a name as a whole.
    fn anew(&self, class: TextClass, text: &str) -> String {
        let names = &self.names;
        match class {
            TextClass::Address => names.address(text),
            TextClass::LabelSelector => names.labels(text),
            TextClass::FieldSelector => names.fields(text),
            TextClass::Path => names.path(text),
            TextClass::Query => names.query(text),
            TextClass::Request => names.request(text),
            TextClass::Belief => names.belief(text),
            TextClass::Free => names.sentence(text, Check::Quoting),
            TextClass::Ours => names.sentence(text, Check::Words),
            _ => names.inside(text),
        }
    }
}

impl Rewriter for Hider {
    fn text(&mut self, class: TextClass, text: &str) -> Option<Text> {
        if !self.parts().changes_texts() {
            return None;
        }
        match class {
            TextClass::Fixed => return None,
            TextClass::Group => return changed(&self.names.group(text), text),
            TextClass::Resource => return changed(&self.names.what(text), text),
            TextClass::Name | TextClass::Namespace | TextClass::Node | TextClass::Cluster => {
                return changed(&self.names.name(text), text);
            }
            TextClass::Uid => return changed(&self.names.uid_text(text), text),
            _ => {}
        }
        let key = (class, Text::from(text));
        if let Some(known) = self.texts.get(&key) {
            return known.clone();
        }
        if self.texts.len() >= REMEMBERED {
            self.texts.clear();
        }
        let new = changed(&self.anew(class, text), text);
        self.texts.insert(key, new.clone());
        new
    }

    fn watch(&mut self, name: &WatchName) -> Option<WatchName> {
        let new = self.names.watch(name);
        (new != *name).then_some(new)
    }

    fn object(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        if !self.parts().changes_texts() {
            return None;
        }
        if let Some(new) = self.objects.get(object) {
            return Some(new.clone());
        }
        let names = &self.names;
        let new = Arc::new(Object {
            namespace: object
                .namespace
                .as_deref()
                .map(|namespace| names.name(namespace).into()),
            name: names.name(&object.name).into(),
            uid: names.uid_of(&object.uid),
        });
        self.objects.insert(object.clone(), new.clone());
        Some(new)
    }

    fn owner(&mut self, owner: &Owner) -> Option<Owner> {
        if !self.parts().changes_texts() {
            return None;
        }
        if let Some(new) = self.owners.get(owner) {
            return Some(new.clone());
        }
        let new = Owner::new(
            owner.kind().into(),
            self.names.name(owner.name()).into(),
            self.names.uid_of(owner.uid()),
        );
        self.owners.insert(owner.clone(), new.clone());
        Some(new)
    }

    fn log(&mut self, log: &LogId) -> Option<LogId> {
        changed(&self.names.name(log.as_str()), log.as_str()).map(LogId)
    }

    fn headers(&mut self, headers: &mut Headers) {
        for (name, value) in &mut headers.0 {
            let class = class_of_header(name);
            if let Some(text) = self.text(class, value) {
                *value = text;
            }
        }
    }
}

/// The class of a header's value.
fn class_of_header(name: &str) -> TextClass {
    /// Headers with values that are words of a protocol.
    const FIXED: [&str; 2] = ["content-type", "retry-after"];
    /// Headers with uids: priority and fairness identifies its flow schema and priority level by them.
    const UIDS: [&str; 3] = [
        "audit-id",
        "x-kubernetes-pf-flowschema-uid",
        "x-kubernetes-pf-prioritylevel-uid",
    ];
    if FIXED.contains(&name) {
        TextClass::Fixed
    } else if UIDS.contains(&name) {
        TextClass::Uid
    } else {
        TextClass::Free
    }
}

fn changed(new: &str, old: &str) -> Option<Text> {
    (new != old).then(|| new.into())
}

/// Texts, each with the parts that it names.
type Named = Vec<(Text, Parts)>;

/// Known texts and their new forms.
#[derive(Clone, Debug)]
struct Table {
    parts: Parts,
    seed: Seed,
    /// Names and their new forms: a pseudonym, or the name with the names inside it replaced.
    names: BTreeMap<Text, Text>,
    /// API groups and resources, with their new forms.
    types: BTreeMap<Text, Text>,
    /// Watches, by name.
    watches: BTreeMap<Text, WatchName>,
    /// Names of watches that begin or end with neither a letter nor a digit, the longest first.
    odd: Vec<WatchName>,
    longest: usize,
}

impl Table {
    fn new(known: Known, parts: Parts, seed: Seed) -> Self {
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

    /// The pseudonym of a hidden name.
    fn pseudonym(&self, name: &str, named: Parts, attempt: usize) -> String {
        let part = named.iter().find(|part| self.parts.has(*part));
        self.seed
            .pseudonym(part.unwrap_or(HiddenPart::Names), name, attempt)
    }

    /// The new form of a name. In an unknown name, the known names inside it are replaced.
    fn name<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        match self.names.get(name) {
            Some(new) => Cow::Borrowed(new),
            None => Cow::Owned(self.inside(name)),
        }
    }

    /// The new form of an API group. Those of Kubernetes stay: none is named after a part of a cluster, though a part
    /// may have their name.
    fn group<'a>(&'a self, group: &'a str) -> Cow<'a, str> {
        if is_built_in_group(group) {
            Cow::Borrowed(group)
        } else {
            Cow::Owned(self.inside(group))
        }
    }

    /// The new form of a resource with its group.
    fn what(&self, what: &str) -> String {
        match what.split_once('.') {
            Some((resource, group)) => format!("{resource}.{}", self.group(group)),
            None => what.to_owned(),
        }
    }

    /// A text with known names replaced.
    fn inside(&self, text: &str) -> String {
        self.sentence(text, Check::None)
    }

    /// Like [`Self::inside`], if each other word passes the check; else [`HIDDEN`].
    fn sentence(&self, text: &str, check: Check) -> String {
        rewritten(text, self, check).unwrap_or_else(|| HIDDEN.to_owned())
    }

    fn has(&self, part: HiddenPart) -> bool {
        self.parts.has(part)
    }

    fn uid_of(&self, uid: &Uid) -> Uid {
        match uid {
            Uid::Uuid(bytes) if self.has(HiddenPart::Uids) => Uid::Uuid(self.seed.uid(*bytes)),
            Uid::Uuid(_) => uid.clone(),
            Uid::Other(text) => Uid::parse(&self.name(text)),
        }
    }

    fn uid_text(&self, text: &str) -> String {
        self.uid_of(&Uid::parse(text)).to_string()
    }

    fn address(&self, text: &str) -> String {
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

    fn labels(&self, selector: &str) -> String {
        selector::labels(selector, |word, out| out.push_str(&self.label(word)))
    }

    /// The new form of a word in a label selector. An unknown word is hidden if labels are.
    fn label<'a>(&'a self, word: &'a str) -> Cow<'a, str> {
        if self.has(HiddenPart::Labels) && !self.names.contains_key(word) {
            return Cow::Owned(self.seed.pseudonym(HiddenPart::Labels, word, 0));
        }
        self.name(word)
    }

    fn fields(&self, selector: &str) -> String {
        selector::fields(selector, |part, value, out| match part {
            Some(_) => out.push_str(&self.name(value)),
            // The value may name anything; two different values stay different.
            None if rewritten(value, self, Check::Words).as_deref() == Some(value) => {
                out.push_str(value);
            }
            None => out.push_str(&self.seed.pseudonym(HiddenPart::Labels, value, 0)),
        })
    }

    fn path(&self, path: &str) -> String {
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

    fn query(&self, query: &str) -> String {
        /// Options whose values are numbers or words of the API.
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

    fn request(&self, text: &str) -> String {
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

    /// A belief with only the parts that [`watchscope_model::belief`] reads.
    fn belief(&self, text: &str) -> String {
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

    fn watch(&self, name: &WatchName) -> WatchName {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A hider of parts of a log with some known names.
    fn hider(names: &[(TextClass, &str)], parts: &[HiddenPart]) -> Hider {
        let mut known = Known::default();
        for (class, text) in names {
            known.text(*class, text);
        }
        let parts = parts.iter().copied().collect();
        Hider::new(known, parts, Seed::new([7; 32]))
    }

    /// The known names of most tests.
    const NAMES: [(TextClass, &str); 6] = [
        (TextClass::Name, "cart"),
        (TextClass::Name, "cart-web"),
        (TextClass::Namespace, "shop"),
        (TextClass::Name, "watch"),
        (TextClass::Resource, "pods"),
        (TextClass::Cluster, "prod"),
    ];

    #[test]
    fn the_longest_name_is_replaced_and_no_part_of_a_word() {
        let hider = hider(&NAMES, &[HiddenPart::Names]);
        let said = |text| hider.said(text);
        assert_eq!(said("cart"), "name-8hmbvjjj");
        let web = said("cart-web");
        assert!(web.starts_with("name-8hmbvjjj-"), "{web}");
        assert_eq!(
            said("my cart-web, shop/cart"),
            format!("my {web}, shop/name-8hmbvjjj")
        );
        assert_eq!(said("carts and shopcart"), "carts and shopcart");
        assert_eq!(said("cart-x"), "name-8hmbvjjj-x");
    }

    #[test]
    fn a_name_within_a_name_that_stays_is_replaced_too() {
        let mut hider = hider(
            &[(TextClass::Namespace, "shop"), (TextClass::Name, "shop-db")],
            &[HiddenPart::Namespaces],
        );
        let text = hider.text(TextClass::Name, "shop-db").unwrap();
        assert!(text.starts_with("ns-") && text.ends_with("-db"), "{text}");
        let free = hider.text(TextClass::Free, "pods \"shop-db\" not found");
        assert_eq!(
            free.as_deref(),
            Some(&*format!("pods \"{text}\" not found"))
        );
    }

    #[test]
    fn words_of_a_server_stay_only_if_each_is_known_or_harmless() {
        let mut hider = hider(&NAMES, &[HiddenPart::Names]);
        let mut free = |text: &str| {
            let new = hider.text(TextClass::Free, text);
            new.map_or_else(|| text.to_owned(), |new| new.to_string())
        };
        assert_eq!(
            free("pods \"cart\" not found in namespace \"shop\""),
            "pods \"name-8hmbvjjj\" not found in namespace \"shop\""
        );
        assert_eq!(
            free("too old resource version: 6 (17)"),
            "too old resource version: 6 (17)"
        );
        for unknown in [
            "pods \"jackal\" not found",
            "pods \"history\" not found",
            "etcdserver: jackal",
            "the client 7d9f8b6c4d",
        ] {
            assert_eq!(free(unknown), HIDDEN, "{unknown}");
        }
    }

    #[test]
    fn a_name_that_is_an_ordinary_word_is_replaced_only_where_it_is_marked_as_a_name() {
        let mut hider = hider(&NAMES, &[HiddenPart::Names]);
        let mut ours = |text: &str| {
            hider
                .text(TextClass::Ours, text)
                .map(|text| text.to_string())
        };
        assert_eq!(ours("The watch was stopped."), None);
        let marked = ours("It holds shop/watch.").unwrap();
        assert!(marked.starts_with("It holds shop/name-"), "{marked}");
    }

    #[test]
    fn addresses_and_uids_are_found_in_any_sentence() {
        let hides = |part| hider(&[], &[part]);
        let text = "dial tcp 10.1.2.3:443, 5c1f0e7a-1b2c-4d3e-8f90-0123456789ab, [2001:db8::1]:443";
        let addresses = hides(HiddenPart::Addresses).said(text);
        assert!(
            !addresses.contains("10.1")
                && !addresses.contains("2001")
                && addresses.contains("5c1f")
        );
        let uids = hides(HiddenPart::Uids).said(text);
        assert!(uids.contains("10.1.2.3") && !uids.contains("5c1f"));
        assert_eq!(hides(HiddenPart::Names).said(text), text);
    }

    #[test]
    fn if_only_bodies_are_hidden_texts_stay_unchanged() {
        let mut hider = hider(&NAMES, &[HiddenPart::Bodies]);
        assert_eq!(hider.text(TextClass::Free, "jackal"), None);
        assert_eq!(hider.said("cart"), "cart");
        assert_eq!(hider.watch(&"shop/pods?a=b".into()), None);
    }

    #[test]
    fn a_belief_is_rewritten_and_its_unread_parts_are_left_out() {
        let hider = hider(&NAMES, &[HiddenPart::Names]);
        let belief = hider
            .names
            .belief(r#"[{"resource":"pods","secret":"x","objects":2,"held":{"shop/cart":"u@5"}}]"#);
        assert_eq!(
            belief,
            r#"[{"resource":"pods","objects":2,"held":{"shop/name-8hmbvjjj":"u@5"}}]"#
        );
        assert_eq!(hider.names.belief("no JSON"), "[]");
    }

    proptest! {
        #[test]
        fn no_text_of_any_class_keeps_a_hidden_name(
            names in prop::collection::vec("[a-z]{3,8}(-[a-z0-9]{2,6}){0,2}", 1..6),
            before in "[ -~é]{0,12}",
            after in "[ -~é]{0,12}",
            place in any::<prop::sample::Index>(),
        ) {
            let known: Vec<(TextClass, &str)> =
                names.iter().map(|name| (TextClass::Name, &**name)).collect();
            let mut hider = hider(&known, &[HiddenPart::Names]);
            let name = place.get(&names);
            let is_apart = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
            prop_assume!(is_apart(before.chars().next_back()) && is_apart(after.chars().next()));
            // An ordinary word counts as harmless.
            prop_assume!(!is_harmless(name));
            let text = format!("{before}{name}{after}");
            for class in [TextClass::Free, TextClass::Ours, TextClass::Said, TextClass::Name] {
                let new = hider.text(class, &text);
                let new = new.as_deref().unwrap_or(&text);
                let mut words = new.split(|c: char| !c.is_alphanumeric() && c != '-');
                prop_assert!(!words.any(|word| word == name), "{class:?}: {text:?} became {new:?}");
            }
        }

        #[test]
        fn no_text_of_any_class_makes_it_panic(text in "\\PC{0,60}", class in 0_usize..17) {
            /// All classes.
            const CLASSES: [TextClass; 17] = [
                TextClass::Fixed, TextClass::Group, TextClass::Resource, TextClass::Name,
                TextClass::Namespace, TextClass::Node, TextClass::Cluster, TextClass::Uid,
                TextClass::Address, TextClass::LabelSelector, TextClass::FieldSelector,
                TextClass::Path, TextClass::Query, TextClass::Request, TextClass::Belief,
                TextClass::Free, TextClass::Said,
            ];
            let mut hider = hider(&[(CLASSES[class], &text)], &HiddenPart::ALL);
            hider.text(CLASSES[class], &text);
            hider.watch(&WatchName::from(&*text));
        }
    }
}
