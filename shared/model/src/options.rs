//! The options of a list or watch, as the query of its request states them: `limit=500&resourceVersion=603`.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::request::percent_encode;

/// The options of a list or watch. An option that the query does not state is absent or false.
/// docs/semantics/requests.md#parameters describes each option.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions<'a> {
    /// Whether the request is a watch; if false, it is a list.
    pub watch: bool,
    /// The requested resourceVersion, unescaped; `None` if unset or empty.
    pub version: Option<Cow<'a, str>>,
    /// How the answer's version must relate to the requested one; `None` if unset, or a word other than `Exact` and
    /// `NotOlderThan`.
    pub version_match: Option<VersionMatch>,
    /// The continue token that the page before returned, unescaped; `None` for the first page.
    pub continues: Option<Cow<'a, str>>,
    /// The most items of a page; `None` if unset or not a number of 64 bits.
    pub limit: Option<u64>,
    /// The label selector, unescaped; `None` if unset or empty.
    pub label_selector: Option<Cow<'a, str>>,
    /// The field selector, unescaped; `None` if unset or empty.
    pub field_selector: Option<Cow<'a, str>>,
    /// Whether `sendInitialEvents` is true: the stream begins with the present objects
    /// (docs/semantics/lists-and-watches.md#watch-list). The value is false if the option is false or unset, although
    /// these two differ in a watch without a version.
    pub initial_events: bool,
    /// Whether the server may send bookmarks (`allowWatchBookmarks`).
    pub bookmarks: bool,
    /// The longest time that the stream, or the request for a list, may last, in seconds (`timeoutSeconds`). `None` if
    /// unset or not a number of 64 bits.
    pub timeout_s: Option<u64>,
}

/// How the version of a list must relate to the requested resourceVersion (docs/semantics/lists-and-watches.md#list).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// The answer must have exactly the requested version.
    Exact,
    /// The answer must have the requested version or a later one.
    NotOlderThan,
}

impl<'a> ListOptions<'a> {
    /// Whether the options have a label selector or a field selector. `Some` of an empty text counts as one.
    #[must_use]
    pub fn selects(&self) -> bool {
        self.label_selector.is_some() || self.field_selector.is_some()
    }

    /// Reads a query without its `?`. Unknown options, and values that cannot be read, are ignored. If an option comes
    /// twice, the first one counts, as in Go's `url.Values`. A flag is true without a value, with `1`, and with `true`
    /// in letters of any case. Only values that are texts are unescaped: an option's name, a flag, a number or a word
    /// with escapes is not read. An empty query gives no options.
    #[must_use]
    pub fn parse(query: &'a str) -> Self {
        let mut options = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            let text = || Some(percent_decode(value)).filter(|text| !text.is_empty());
            match name {
                "watch" => options.watch = is_true(value),
                "resourceVersion" => options.version = text(),
                "resourceVersionMatch" => options.version_match = VersionMatch::of(value),
                "continue" => options.continues = text(),
                "limit" => options.limit = value.parse().ok(),
                "labelSelector" => options.label_selector = text(),
                "fieldSelector" => options.field_selector = text(),
                "sendInitialEvents" => options.initial_events = is_true(value),
                "allowWatchBookmarks" => options.bookmarks = is_true(value),
                "timeoutSeconds" => options.timeout_s = value.parse().ok(),
                _ => {}
            }
        }
        options
    }

    /// Appends the options to a query, always in the same order and with the same escapes. If the query is not empty,
    /// `&` is written first. Options that are `None` or false are left out.
    pub fn write(&self, query: &mut String) {
        let mut option = |name: &str, value: &str| {
            if !query.is_empty() {
                query.push('&');
            }
            // Writing to a String does not fail.
            let _ = write!(query, "{name}=");
            percent_encode(value, query);
        };
        let flags = [
            ("watch", self.watch),
            ("allowWatchBookmarks", self.bookmarks),
        ];
        for (name, _) in flags.iter().filter(|(_, is_asked)| *is_asked) {
            option(name, "true");
        }
        if let Some(timeout_s) = self.timeout_s {
            option("timeoutSeconds", &timeout_s.to_string());
        }
        if self.initial_events {
            option("sendInitialEvents", "true");
        }
        if let Some(limit) = self.limit {
            option("limit", &limit.to_string());
        }
        let texts = [
            ("continue", self.continues.as_deref()),
            ("resourceVersion", self.version.as_deref()),
            (
                "resourceVersionMatch",
                self.version_match.map(VersionMatch::word),
            ),
            ("labelSelector", self.label_selector.as_deref()),
            ("fieldSelector", self.field_selector.as_deref()),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                option(name, value);
            }
        }
    }

    /// Returns the options as a query without `?`, as [`ListOptions::write`] writes it; empty if no option is set.
    #[must_use]
    pub fn query(&self) -> String {
        let mut query = String::new();
        self.write(&mut query);
        query
    }
}

impl VersionMatch {
    fn word(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::NotOlderThan => "NotOlderThan",
        }
    }

    fn of(value: &str) -> Option<Self> {
        match value {
            "Exact" => Some(Self::Exact),
            "NotOlderThan" => Some(Self::NotOlderThan),
            _ => None,
        }
    }
}

/// Returns the path, as it stands, and the options of a client's request `GET PATH?QUERY`. Without a query no option is
/// set. `None` for any other verb.
#[must_use]
pub fn read_get(request: &str) -> Option<(&str, ListOptions<'_>)> {
    let target = request.strip_prefix("GET ")?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some((path, ListOptions::parse(query)))
}

/// Reads a boolean of a query: no value, `1`, or `true` in letters of any case is true.
fn is_true(value: &str) -> bool {
    value.is_empty() || value == "1" || value.eq_ignore_ascii_case("true")
}

/// Decodes a text of a query: `%` and two hexadecimal digits become a byte, and `+` becomes a space. A text without `%`
/// and `+` is borrowed. A broken escape stays as it is. Bytes that are not UTF-8 afterwards become U+FFFD.
#[must_use]
pub fn percent_decode(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let hex = |byte: &u8| char::from(*byte).to_digit(16);
    let mut bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    while let [first, rest @ ..] = bytes {
        bytes = rest;
        match (first, rest) {
            (b'+', _) => decoded.push(b' '),
            (b'%', [high, low, after @ ..]) => match (hex(high), hex(low)) {
                (Some(high), Some(low)) => {
                    decoded.push((high * 16 + low) as u8);
                    bytes = after;
                }
                _ => decoded.push(*first),
            },
            _ => decoded.push(*first),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::request::percent_encode;

    #[test]
    fn the_options_of_a_watch_are_read() {
        let query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=421&sendInitialEvents=true&resourceVersion=603\
                     &resourceVersionMatch=NotOlderThan&labelSelector=app%20in%20%28cart%2Cpay%29";
        let read = ListOptions {
            watch: true,
            version: Some("603".into()),
            version_match: Some(VersionMatch::NotOlderThan),
            label_selector: Some("app in (cart,pay)".into()),
            initial_events: true,
            bookmarks: true,
            timeout_s: Some(421),
            ..ListOptions::default()
        };
        assert_eq!(ListOptions::parse(query), read);
    }

    #[test]
    fn the_options_of_a_list_are_read() {
        let read = ListOptions {
            version: Some("0".into()),
            version_match: Some(VersionMatch::Exact),
            continues: Some("a==".into()),
            limit: Some(500),
            field_selector: Some("metadata.name=a b".into()),
            ..ListOptions::default()
        };
        let query = "limit=500&continue=a%3D%3D&resourceVersion=0&resourceVersionMatch=Exact\
                     &fieldSelector=metadata.name%3Da+b";
        assert_eq!(ListOptions::parse(query), read);
    }

    #[test]
    fn absent_options_and_values_that_cannot_be_read_are_absent() {
        let none = ListOptions::default();
        for query in [
            "",
            "pretty=true",
            "watch=false&allowWatchBookmarks=0",
            "resourceVersion=&continue=&labelSelector=",
            "limit=many&timeoutSeconds=-1&resourceVersionMatch=Newer",
        ] {
            assert_eq!(ListOptions::parse(query), none, "{query}");
        }
    }

    #[test]
    fn booleans_are_read_as_in_apiservers() {
        for (query, is_watch) in [
            ("watch=1", true),
            ("watch=True", true),
            ("watch", true),
            ("watch=", true),
            ("watch=yes", false),
            ("watch=false&watch=true", false),
        ] {
            assert_eq!(ListOptions::parse(query).watch, is_watch, "{query}");
        }
    }

    #[test]
    fn a_text_without_escapes_is_borrowed() {
        let options = ListOptions::parse("resourceVersion=603");
        assert!(matches!(options.version, Some(Cow::Borrowed("603"))));
    }

    proptest! {
        #[test]
        fn options_that_were_written_are_read_back(
            flags in any::<[bool; 3]>(),
            numbers in any::<[Option<u64>; 2]>(),
            texts in prop::array::uniform4(prop::option::of(".+")),
        ) {
            let [version, continues, labels, fields] = texts.map(|text| text.map(Cow::Owned));
            let options = ListOptions {
                watch: flags[0],
                version_match: version.is_some().then_some(VersionMatch::Exact),
                version,
                continues,
                limit: numbers[0],
                label_selector: labels,
                field_selector: fields,
                initial_events: flags[1],
                bookmarks: flags[2],
                timeout_s: numbers[1],
            };
            let query = options.query();
            prop_assert_eq!(ListOptions::parse(&query), options);
        }

        #[test]
        fn a_text_that_was_encoded_is_read_back(text in ".+") {
            let mut query = "labelSelector=".to_owned();
            percent_encode(&text, &mut query);
            prop_assert_eq!(ListOptions::parse(&query).label_selector, Some(text.into()));
        }

        #[test]
        fn any_query_can_be_read(query in any::<String>()) {
            let _ = ListOptions::parse(&query);
        }
    }
}
