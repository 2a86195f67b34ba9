//! Rewrites the texts of records, which puts new forms in place of known names: the second of two passes over the
//! records.

use std::collections::BTreeMap;
use std::sync::Arc;

use watchscope_model::field::Headers;
use watchscope_model::id::Owner;
use watchscope_model::rewrite::{Rewriter, TextClass};
use watchscope_model::{LogId, Object, Text, WatchName};

use crate::known::Known;
use crate::part::Parts;
use crate::pseudonym::Seed;
use crate::sentence::Check;
use crate::table::Table;

/// The most rewritten texts that are cached, because many records repeat a text. Before one more is cached, all are
/// dropped, which costs only time. The limit bounds the memory. The number has no source.
const REMEMBERED: usize = 4_096;

/// The rewriter of the texts of a log whose names are all known. A hider is the [`Rewriter`] of the second pass over
/// the records.
///
/// A hider holds each known text with its new form, shared with its clones. Each clone holds for itself every object
/// and every controller that it has rewritten, with its new form; the log bounds their number. A hider also holds at
/// most 4,096 other rewritten texts: before a further text, it drops all of these, and rewrites a dropped text anew
/// when that text comes again.
#[derive(Clone, Debug)]
pub struct Hider {
    names: Arc<Table>,
    objects: BTreeMap<Arc<Object>, Arc<Object>>,
    owners: BTreeMap<Owner, Owner>,
    texts: BTreeMap<(TextClass, Text), Option<Text>>,
}

impl Hider {
    /// Makes a hider of parts of a log, with pseudonyms from a seed. `known` must have the names of the whole log: a
    /// name that it lacks may stay in the texts. If `parts` has only bodies, or is empty, the hider changes no text of
    /// a record.
    #[must_use]
    pub fn new(known: Known, parts: Parts, seed: Seed) -> Self {
        Self {
            names: Arc::new(Table::new(known, parts, seed)),
            objects: BTreeMap::default(),
            owners: BTreeMap::default(),
            texts: BTreeMap::default(),
        }
    }

    /// Returns the parts that are hidden.
    #[must_use]
    pub fn parts(&self) -> Parts {
        self.names.parts
    }

    /// Returns a person's text with hidden names, uids and IP addresses replaced. UUIDs and IP addresses are found by
    /// their form. All other words stay, so a name that the log does not have stays, too. A name that is an ordinary
    /// word or a number also stays, unless `"`, `'`, `/` or `=` stands beside it. If the hidden parts are none, or
    /// bodies alone, the whole text stays.
    #[must_use]
    pub fn said(&self, text: &str) -> String {
        self.names.inside(text)
    }

    /// Returns the new form of a text that is not a name as a whole.
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

/// Returns the class of the text in a header's value.
fn class_of_header(name: &str) -> TextClass {
    /// Headers, in lower case, with values that are words of a protocol. These values stay as they are.
    const FIXED: [&str; 2] = ["content-type", "retry-after"];
    /// Headers, in lower case, with uids. `audit-id` has the request's uid (`HeaderAuditID` of k8s.io/apiserver
    /// `apis/audit`). The others have the uids of its flow schema and priority level (KEP-1040).
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::part::HiddenPart;
    use crate::table::HIDDEN;
    use crate::words::is_harmless;

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
    fn a_uuid_in_upper_case_is_hidden_as_the_same_uid_or_stays() {
        /// A UUID in lower case.
        const LOWER: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";
        let upper = LOWER.to_ascii_uppercase();
        let mut hiding = hider(&NAMES, &[HiddenPart::Uids]);
        let hidden = hiding.text(TextClass::Uid, LOWER).unwrap();
        assert_eq!(hiding.text(TextClass::Uid, &upper).unwrap(), hidden);
        assert_eq!(
            hiding.said(&format!("uid {upper}")),
            format!("uid {hidden}")
        );
        let mut other = hider(&NAMES, &[HiddenPart::Names]);
        assert_eq!(other.text(TextClass::Uid, &upper), None);
        assert_eq!(other.said(&format!("uid {upper}")), format!("uid {upper}"));
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
