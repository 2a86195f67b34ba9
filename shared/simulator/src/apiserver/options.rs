//! The query parameters of lists and watches, and their validation (apimachinery `ValidateListOptions`).

use std::num::{IntErrorKind, ParseIntError};

use super::route::Target;
use crate::status::{ApiError, FieldError, bad_request, invalid, server_error};
use crate::version::Version;

/// The query parameters of a list or watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListOptions {
    pub(crate) watch: bool,
    pub(crate) resource_version: String,
    pub(crate) resource_version_match: String,
    pub(crate) limit: u64,
    pub(crate) continue_token: String,
    /// `timeoutSeconds`, in seconds. Only a watch uses this parameter; in a list it must only be valid.
    pub(crate) timeout_seconds: Option<i64>,
    pub(crate) allow_watch_bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
}

/// The decoded parameters of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Query {
        Query(
            form_urlencoded::parse(text.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns a boolean parameter as apimachinery reads it: `true` if the parameter is present and neither `false` nor
    /// `0`; `None` if absent.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Turns this query into that of a watch of `target`, for a path below `/watch/`. A name in the path becomes a
    /// field selector.
    pub(crate) fn as_watch_of(&mut self, mut target: Target) -> Target {
        let name = std::mem::take(&mut target.name);
        self.0.retain(|(key, _)| key != "watch");
        self.0.push(("watch".to_owned(), "true".to_owned()));
        if !name.is_empty() {
            self.0.retain(|(key, _)| key != "fieldSelector");
            self.0
                .push(("fieldSelector".to_owned(), format!("metadata.name={name}")));
        }
        target
    }

    fn number(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|error: ParseIntError| {
            let why = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
        })
    }
}

impl ListOptions {
    /// Parses, defaults and checks the parameters that a server of a version knows
    /// (docs/semantics/requests.md#parameters). A malformed number is refused with 400, a forbidden combination with
    /// 422.
    pub(crate) fn parse(query: &Query, version: Version) -> Result<ListOptions, ApiError> {
        let text = |name: &str| query.get(name).unwrap_or("").to_owned();
        let mut options = ListOptions {
            watch: query.flag("watch").unwrap_or(false),
            resource_version: text("resourceVersion"),
            resource_version_match: text("resourceVersionMatch"),
            // A negative limit counts as no limit.
            limit: u64::try_from(query.number("limit")?.unwrap_or(0)).unwrap_or(0),
            continue_token: text("continue"),
            timeout_seconds: query.number("timeoutSeconds")?,
            allow_watch_bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events: query.flag("sendInitialEvents"),
            label_selector: text("labelSelector"),
            field_selector: text("fieldSelector"),
        };
        if !version.has_version_match() {
            options.resource_version_match.clear();
        }
        if !version.knows_watch_list() {
            options.send_initial_events = None;
        }
        if version.has_watch_list() {
            options.set_defaults();
        }
        let errors = options.errors(version);
        if errors.is_empty() {
            Ok(options)
        } else {
            Err(invalid("meta.k8s.io", "ListOptions", "", &errors))
        }
    }

    /// Returns the resourceVersion as a number; `None` if unset. A malformed resourceVersion is refused with 400 for a
    /// list and with 500 for a watch.
    pub(crate) fn revision(&self) -> Result<Option<u64>, ApiError> {
        parse_revision(&self.resource_version).map_err(|why| {
            if self.watch {
                server_error(why)
            } else {
                bad_request(format!("invalid resource version: {why}"))
            }
        })
    }

    fn set_defaults(&mut self) {
        let legacy = matches!(self.resource_version.as_str(), "" | "0");
        if self.watch
            && legacy
            && self.send_initial_events.is_none()
            && self.resource_version_match.is_empty()
        {
            self.send_initial_events = Some(true);
            self.resource_version_match = "NotOlderThan".to_owned();
        }
    }

    fn errors(&self, version: Version) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let matching = self.resource_version_match.as_str();
        let mut forbid_match =
            |detail: &str| errors.push(FieldError::forbidden("resourceVersionMatch", detail));
        if self.watch && self.send_initial_events.is_some() && !version.has_watch_list() {
            return vec![FieldError::forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
            )];
        }
        if self.watch {
            if self.send_initial_events.is_some() && matching != "NotOlderThan" {
                forbid_match(
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                );
            }
            if !matching.is_empty() {
                if self.send_initial_events.is_none() {
                    forbid_match(
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                    );
                }
                if matching != "NotOlderThan" {
                    errors.push(FieldError::not_supported(
                        "resourceVersionMatch",
                        matching,
                        &["NotOlderThan"],
                    ));
                }
                if !self.continue_token.is_empty() {
                    errors.push(FieldError::forbidden(
                        "resourceVersionMatch",
                        "resourceVersionMatch is forbidden when continue is provided",
                    ));
                }
            }
            return errors;
        }
        if !matching.is_empty() {
            if self.resource_version.is_empty() {
                forbid_match(
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                );
            }
            if !self.continue_token.is_empty() {
                forbid_match("resourceVersionMatch is forbidden when continue is provided");
            }
            if !matches!(matching, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(
                    "resourceVersionMatch",
                    matching,
                    &["Exact", "NotOlderThan", ""],
                ));
            } else if matching == "Exact" && self.resource_version == "0" {
                forbid_match(
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                );
            }
        }
        if self.send_initial_events.is_some() {
            errors.push(FieldError::forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        errors
    }
}

/// Parses a resourceVersion; returns `None` if the text is empty. The error is apimachinery's text for a
/// resourceVersion that is no whole number of 64 bits.
pub(crate) fn parse_revision(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<ListOptions, String> {
        let options = ListOptions::parse(&Query::parse(query), Version::DEFAULT);
        options.map_err(|e| format!("{} {}", e.code, e.message))
    }

    #[test]
    fn a_watch_without_a_version_asks_for_initial_events() {
        for query in ["watch=1", "watch=true&resourceVersion=0"] {
            let options = parse(query).unwrap();
            assert_eq!(options.send_initial_events, Some(true));
            assert_eq!(options.resource_version_match, "NotOlderThan");
        }
        assert_eq!(
            parse("watch=1&resourceVersion=7")
                .unwrap()
                .send_initial_events,
            None
        );
        assert!(!parse("watch=0").unwrap().watch);
    }

    #[test]
    fn forbidden_combinations_are_422_with_the_servers_words() {
        let refused = |query| parse(query).unwrap_err();
        insta::assert_snapshot!(refused("resourceVersionMatch=Exact"), @r#"422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"#);
        insta::assert_snapshot!(refused("resourceVersion=0&resourceVersionMatch=Exact"), @r#"422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0""#);
        insta::assert_snapshot!(refused("resourceVersion=1&resourceVersionMatch=Newest"), @r#"422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", """#);
        insta::assert_snapshot!(refused("sendInitialEvents=true"), @r#"422 ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"#);
        insta::assert_snapshot!(refused("watch=1&sendInitialEvents=true"), @r#"422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"#);
        insta::assert_snapshot!(refused("watch=1&resourceVersion=5&resourceVersionMatch=NotOlderThan"), @r#"422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"#);
        insta::assert_snapshot!(refused("limit=many"), @r#"400 strconv.ParseInt: parsing "many": invalid syntax"#);
        insta::assert_snapshot!(refused("limit="), @r#"400 strconv.ParseInt: parsing "": invalid syntax"#);
        insta::assert_snapshot!(refused("timeoutSeconds=99999999999999999999"), @r#"400 strconv.ParseInt: parsing "99999999999999999999": value out of range"#);
    }
}
