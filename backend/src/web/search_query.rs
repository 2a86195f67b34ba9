//! The query part of `/api/search`, and its answer for a position that is not kept.

use std::borrow::Cow;

use http::Uri;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use thiserror::Error;
use watchscope_search::KeptFrom;

use crate::hub::api::SearchRequest;

/// Why a query part is no search.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum BadSearch {
    /// A parameter is unknown, has no value, or stands twice.
    #[error("this route takes q, log and before, each once")]
    Parameters,
    /// The text to look for is missing.
    #[error("q: the text to search for is missing")]
    NoQuery,
    /// A value is no UTF-8 once its percent signs are decoded.
    #[error("{name}: its value is not UTF-8")]
    NotUtf8 {
        /// The parameter.
        name: &'static str,
    },
}

/// Reads the parameters of a search. A plus sign stands for a space, as browsers write one.
pub(super) fn request(uri: &Uri) -> Result<SearchRequest, BadSearch> {
    let (mut query, mut log, mut before) = (None, None, None);
    let pairs = uri.query().unwrap_or_default().split('&');
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').ok_or(BadSearch::Parameters)?;
        let (name, value) = match name {
            "q" => ("q", &mut query),
            "log" => ("log", &mut log),
            "before" => ("before", &mut before),
            _ => return Err(BadSearch::Parameters),
        };
        let text = text.replace('+', " ");
        let decoded = percent_decode_str(&text).decode_utf8();
        let decoded = decoded.map_err(|_| BadSearch::NotUtf8 { name })?;
        if value.replace(Cow::into_owned(decoded)).is_some() {
            return Err(BadSearch::Parameters);
        }
    }
    Ok(SearchRequest {
        query: query.ok_or(BadSearch::NoQuery)?,
        log,
        before,
    })
}

/// Returns the line that says what is kept.
pub(super) fn not_kept(from: &KeptFrom) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct NotKept<'a> {
        r#type: &'static str,
        kept_from: &'a KeptFrom,
    }
    let mut line = Vec::new();
    let not_kept = NotKept {
        r#type: "notKept",
        kept_from: from,
    };
    watchscope_model::json::push_line(&not_kept, &mut line);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<SearchRequest, BadSearch> {
        request(&format!("/api/search?{query}").parse().unwrap())
    }

    #[test]
    fn values_are_decoded_once() {
        let found = read("q=shop%2Fweb+1%2525%2B&before=e.7&log=prod").unwrap();
        assert_eq!(found.query, "shop/web 1%25+");
        assert_eq!(found.before.as_deref(), Some("e.7"));
        assert_eq!(found.log.as_deref(), Some("prod"));
    }

    #[test]
    fn what_is_no_search_is_refused() {
        assert_eq!(read(""), Err(BadSearch::NoQuery));
        assert_eq!(read("q=a&q=b"), Err(BadSearch::Parameters));
        assert_eq!(read("q"), Err(BadSearch::Parameters));
        assert_eq!(read("q=a&since=e.1"), Err(BadSearch::Parameters));
        assert_eq!(read("q=%ff"), Err(BadSearch::NotUtf8 { name: "q" }));
    }
}
