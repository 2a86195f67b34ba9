//! The weight of the page: its files as a running watchscope sends them compressed with gzip.

use std::fmt;

use anyhow::{Context as _, Result};
use reqwest::Client;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING};

/// The most bytes of all files that the first paint needs: 110 kB. A test fails above it.
pub const MOST_FOR_FIRST_PAINT_BYTES: usize = 110_000;

/// A file of the page, with its weight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weighed {
    /// Its bytes under gzip.
    pub bytes: usize,
    /// Its path.
    pub path: String,
}

impl fmt::Display for Weighed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8} {}", self.bytes, self.path)
    }
}

/// Fetches these paths of a server and returns the files of the page, the heaviest first. A path whose answer is not
/// compressed is no file of the page.
pub async fn weigh(origin: &str, paths: &[String]) -> Result<Vec<Weighed>> {
    let client = Client::builder().no_proxy().build()?;
    let mut files = Vec::new();
    for path in paths {
        let url = format!("{origin}{path}");
        let answer = client.get(&url).header(ACCEPT_ENCODING, "gzip");
        let answer = answer
            .send()
            .await
            .with_context(|| format!("fetching {url}"))?;
        let coding = answer.headers().get(CONTENT_ENCODING);
        if coding.is_some_and(|coding| coding == "gzip") {
            files.push(Weighed {
                bytes: answer.bytes().await?.len(),
                path: path.clone(),
            });
        }
    }
    files.sort_unstable_by(|a, b| b.cmp(a));
    Ok(files)
}

/// Returns the paths that a browser fetches before the first paint: the document's own, and each that the document
/// names.
#[must_use]
pub fn needed_first(document: &str) -> Vec<String> {
    let attributes = [" href=\"", " src=\""];
    let named = attributes.iter().flat_map(|attribute| {
        let values = document.split(attribute).skip(1);
        values.filter_map(|rest| Some(rest.split_once('"')?.0))
    });
    // A path without a dot is not a file: it is an answer about the session.
    let files = named.filter(|path| path.contains('.'));
    let files = files.map(|path| format!("/{}", path.trim_start_matches('/')));
    ["/".to_owned()].into_iter().chain(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_document_names_is_needed_first() {
        let document = "<link rel=\"icon\" href=\"i.svg\" data-href=\"later.svg\"><a href=\"#x\"><script src=\"b.js\">";
        assert_eq!(needed_first(document), ["/", "/i.svg", "/b.js"]);
    }
}
