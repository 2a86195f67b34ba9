//! The page: files embedded in the binary, or read from a folder during work on the page.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::PathBuf;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, get_service};
use flate2::read::GzDecoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderValue, IF_NONE_MATCH, VARY,
};
use http::{StatusCode, Uri};
use rust_embed::EmbeddedFile;
use tower::ServiceBuilder;
use tower_http::services::ServeDir;

use super::headers::policy_of;

/// The file with which a browser starts.
const INDEX: &str = "index.html";

/// The hex digits that xtask puts into a file's name if the content under that name never changes.
const HASH_DIGITS: usize = 16;
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK_EACH_TIME: HeaderValue = HeaderValue::from_static("no-cache");

/// The ending of an embedded file that is compressed with gzip.
const GZIPPED: &str = ".gz";

/// The files of the page that a binary carries, each once: compressed with gzip under its name and `.gz`, or as it is.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedPage {
    /// Returns the embedded file of this name, if there is one.
    pub get: fn(&str) -> Option<EmbeddedFile>,
    /// Whether the binary was built without the page, so that a stub takes its place.
    pub is_stub: bool,
}

impl EmbeddedPage {
    /// An embedded page without files.
    pub const NONE: Self = Self {
        get: |_| None,
        is_stub: true,
    };

    /// Returns the content of this file of the page, inflated; `None` if there is no such file.
    #[must_use]
    pub fn read(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        self.find(name).map(|found| found.plain())
    }

    /// Finds a file of the page. The compressed form of a file is an answer to Accept-Encoding, not a file of its own.
    fn find(&self, name: &str) -> Option<Found> {
        if name.ends_with(GZIPPED) {
            return None;
        }
        let gzipped = (self.get)(&format!("{name}{GZIPPED}"));
        let gzipped = gzipped.map(|file| Found {
            file,
            is_gzip: true,
        });
        gzipped.or_else(|| {
            let file = (self.get)(name)?;
            let is_gzip = false;
            Some(Found { file, is_gzip })
        })
    }
}

/// An embedded file of the page.
struct Found {
    file: EmbeddedFile,
    is_gzip: bool,
}

impl Found {
    /// Returns the file's content. It inflates a compressed file anew each time: nearly every client takes gzip.
    fn plain(&self) -> Cow<'static, [u8]> {
        if !self.is_gzip {
            return self.file.data.clone();
        }
        let mut plain = Vec::new();
        GzDecoder::new(&*self.file.data)
            .read_to_end(&mut plain)
            .expect("the build compressed these bytes");
        plain.into()
    }
}

/// The source of the page's files.
#[derive(Clone, Debug)]
pub enum PageSource {
    /// The binary.
    Embedded(EmbeddedPage),
    /// A folder.
    Folder(PathBuf),
}

/// The routes of the page: all paths that no other route takes.
pub(super) fn router<S>(source: PageSource) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    match source {
        PageSource::Folder(folder) => {
            let files = ServeDir::new(&folder).precompressed_gzip();
            let service = ServiceBuilder::new().map_response(|mut response: http::Response<_>| {
                response.headers_mut().insert(CACHE_CONTROL, ASK_EACH_TIME);
                response
            });
            let policy = move |request: Request, next: Next| {
                let document = is_document(&request).then(|| folder.join(INDEX));
                async move {
                    let mut response = next.run(request).await;
                    if let Some(document) = document
                        && let Ok(document) = tokio::fs::read_to_string(document).await
                    {
                        allow(&mut response, policy_of(&document));
                    }
                    response
                }
            };
            Router::new()
                .fallback_service(get_service(service.service(files)))
                .layer(from_fn(policy))
        }
        PageSource::Embedded(page) => {
            let answer =
                move |uri: Uri, headers: HeaderMap| async move { embedded(page, &uri, &headers) };
            Router::new().fallback_service(get(answer))
        }
    }
}

/// Whether a request asks for the page's document.
pub(super) fn is_document(request: &Request) -> bool {
    name_of(request.uri()) == INDEX
}

fn name_of(uri: &Uri) -> &str {
    match uri.path() {
        "/" => INDEX,
        path => path.trim_start_matches('/'),
    }
}

fn allow(response: &mut Response, policy: Option<HeaderValue>) {
    if let Some(policy) = policy {
        response
            .headers_mut()
            .insert(CONTENT_SECURITY_POLICY, policy);
    }
}

fn embedded(page: EmbeddedPage, uri: &Uri, headers: &HeaderMap) -> Response {
    let name = name_of(uri);
    let Some(found) = page.find(name) else {
        return (StatusCode::NOT_FOUND, "there is no such page\n").into_response();
    };
    let policy = (name == INDEX)
        .then(|| policy_of(&String::from_utf8_lossy(&found.plain())))
        .flatten();
    let mut response = answer(name, found, headers);
    allow(&mut response, policy);
    if page.is_stub {
        let mark = HeaderValue::from_static("1");
        response.headers_mut().insert("x-ui-stub", mark);
    }
    response
}

/// Answers with one file: as it is embedded, if the client accepts that, else inflated.
fn answer(name: &str, found: Found, headers: &HeaderMap) -> Response {
    let hash = found.file.metadata.sha256_hash();
    let hex = hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    let is_gzip = found.is_gzip && accepts(headers, "gzip");
    // The two forms of a file differ in their bytes, so their tags differ.
    let form = if is_gzip { "-gzip" } else { "" };
    let etag = HeaderValue::try_from(format!("\"{hex}{form}\"")).expect("hex digits make a header");
    let unchanged = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known == etag);

    let mut response = if unchanged {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let bytes = if is_gzip {
            found.file.data
        } else {
            found.plain()
        };
        let body: axum::body::Body = match bytes {
            Cow::Borrowed(bytes) => bytes.into(),
            Cow::Owned(bytes) => bytes.into(),
        };
        Response::new(body)
    };
    let answer = response.headers_mut();
    answer.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
    answer.insert(
        CACHE_CONTROL,
        if is_hashed(name) {
            FOR_EVER
        } else {
            ASK_EACH_TIME
        },
    );
    answer.insert(ETAG, etag);
    answer.insert(VARY, HeaderValue::from_name(ACCEPT_ENCODING));
    if is_gzip {
        answer.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// The content types of the page's files. Other types are not guessed.
fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, suffix)| suffix) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "map") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Whether the name contains the hash of the content: `-` and 16 hex digits, then `.` or `_`.
fn is_hashed(name: &str) -> bool {
    name.match_indices('-').any(|(at, _)| {
        let tail = &name.as_bytes()[at + 1..];
        tail.len() > HASH_DIGITS
            && tail[..HASH_DIGITS].iter().all(u8::is_ascii_hexdigit)
            && matches!(tail[HASH_DIGITS], b'.' | b'_')
    })
}

/// Whether Accept-Encoding accepts that coding; `q=0` refuses it (RFC 9110 section 12.5.3).
fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let mut by_star = false;
    for item in headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|v| v.split(','))
    {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let refused = parts
            .filter_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
            .any(|weight| weight.trim_matches(['0', '.']).is_empty());
        if name.eq_ignore_ascii_case(coding) {
            return !refused;
        }
        by_star |= name == "*" && !refused;
    }
    by_star
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use axum::body::{Body, to_bytes};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use http::Request;
    use rust_embed::Metadata;
    use tower::ServiceExt as _;

    use super::*;

    fn wants(encodings: &str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_str(encodings).unwrap())])
    }

    #[test]
    fn a_coding_is_used_only_when_it_is_accepted() {
        for (header, br, gzip) in [
            ("gzip, deflate, br, zstd", true, true),
            ("gzip;q=1.0, br;q=0", false, true),
            ("br;q=0.000", false, false),
            ("BR", true, false),
            ("*", true, true),
            ("*;q=0, gzip", false, true),
            ("br; q=0, *", false, true),
            ("identity", false, false),
            ("", false, false),
        ] {
            let headers = wants(header);
            assert_eq!(
                (accepts(&headers, "br"), accepts(&headers, "gzip")),
                (br, gzip),
                "{header}"
            );
        }
        assert!(!accepts(&HeaderMap::new(), "br"));
    }

    #[test]
    fn only_files_with_a_hash_in_their_name_are_cached_for_ever() {
        for hashed in [
            "app-0123456789abcdef.js",
            "app-0123456789abcdef_bg.wasm",
            "icons/a-b-0123456789abcdef.svg",
        ] {
            assert!(is_hashed(hashed), "{hashed}");
        }
        for plain in [
            "index.html",
            "app.js",
            "app-0123.js",
            "app-0123456789abcdeg.js",
            "app-0123456789abcdef",
        ] {
            assert!(!is_hashed(plain), "{plain}");
        }
    }

    fn embedded_file(text: &'static str, hash: u8) -> EmbeddedFile {
        let metadata = Metadata::__rust_embed_new([hash; 32], None, None);
        EmbeddedFile {
            data: Cow::Borrowed(text.as_bytes()),
            metadata,
        }
    }

    /// A page of one short file.
    pub(crate) const SHORT: EmbeddedPage = EmbeddedPage {
        get: |name| (name == INDEX).then(|| embedded_file("<!doctype html>", 1)),
        is_stub: false,
    };

    /// A page with one compressed file and one that is embedded as it is.
    const MIXED: EmbeddedPage = EmbeddedPage {
        get: |name| match name {
            "app-0123456789abcdef.js.gz" => Some(EmbeddedFile {
                data: Cow::Owned(gzipped("script")),
                ..embedded_file("", 2)
            }),
            INDEX => Some(embedded_file("page", 7)),
            _ => None,
        },
        is_stub: false,
    };

    fn gzipped(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[tokio::test]
    async fn a_compressed_file_is_inflated_for_a_client_that_takes_no_gzip() {
        for (header, body, coding) in [
            ("gzip, br", gzipped("script"), Some("gzip")),
            ("br", b"script".to_vec(), None),
            ("identity", b"script".to_vec(), None),
        ] {
            let uri = Uri::from_static("/app-0123456789abcdef.js");
            let response = embedded(MIXED, &uri, &wants(header));
            let headers = response.headers();
            let coded = headers.get(CONTENT_ENCODING);
            assert_eq!(coded.map(|value| value.to_str().unwrap()), coding);
            assert_eq!(headers[CONTENT_TYPE], "text/javascript; charset=utf-8");
            assert_eq!(
                headers[CACHE_CONTROL],
                "public, max-age=31536000, immutable"
            );
            assert_eq!(headers[VARY], "accept-encoding");
            assert_eq!(to_bytes(response.into_body(), 64).await.unwrap(), body);
        }
        assert_eq!(
            MIXED.read("app-0123456789abcdef.js").as_deref(),
            Some(b"script".as_slice())
        );
        assert!(MIXED.read("app-0123456789abcdef.js.gz").is_none());
    }

    #[test]
    fn a_file_that_the_browser_has_in_this_form_is_not_sent_again() {
        let uri = Uri::from_static("/app-0123456789abcdef.js");
        let status = |form: &str, known: &HeaderValue| {
            let mut headers = wants(form);
            headers.insert(IF_NONE_MATCH, known.clone());
            embedded(MIXED, &uri, &headers).status()
        };
        let first = embedded(MIXED, &uri, &wants("gzip"));
        let known = &first.headers()[ETAG];
        assert_eq!(status("gzip", known), StatusCode::NOT_MODIFIED);
        assert_eq!(status("identity", known), StatusCode::OK);
        let plain = embedded(MIXED, &uri, &wants("identity"));
        let plain = &plain.headers()[ETAG];
        assert_eq!(status("identity", plain), StatusCode::NOT_MODIFIED);
        assert_eq!(status("gzip", plain), StatusCode::OK);

        let document = embedded(MIXED, &Uri::from_static("/"), &HeaderMap::new());
        assert_eq!(document.headers()[CACHE_CONTROL], "no-cache");
    }

    async fn ask(router: &Router, path: &str) -> (StatusCode, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    #[tokio::test]
    async fn the_embedded_page_answers_at_the_root_and_nothing_else_is_found() {
        let router: Router = router(PageSource::Embedded(SHORT));
        let (status, body) = ask(&router, "/").await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, "<!doctype html>"));
        for absent in [
            "/nothing.js",
            "//index.html.gz",
            "/index.html.gz",
            "/../Cargo.toml",
            "/%2e%2e/Cargo.toml",
            "/etc/passwd",
        ] {
            assert_eq!(
                ask(&router, absent).await.0,
                StatusCode::NOT_FOUND,
                "{absent}"
            );
        }
    }

    #[tokio::test]
    async fn a_folder_is_served_without_leaving_it_and_without_caching() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("ui");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("index.html"), "from the folder").unwrap();
        std::fs::write(parent.path().join("outside"), "secret").unwrap();
        let router: Router = router(PageSource::Folder(folder));
        assert_eq!(
            ask(&router, "/").await,
            (StatusCode::OK, "from the folder".to_owned())
        );
        for path in [
            "/../outside",
            "/%2e%2e/outside",
            "/..%2foutside",
            "/index.html/../../outside",
            "/%00",
        ] {
            let (status, body) = ask(&router, path).await;
            assert_eq!(
                (status, body.contains("secret")),
                (StatusCode::NOT_FOUND, false),
                "{path}"
            );
        }
    }

    #[tokio::test]
    async fn only_a_document_from_a_folder_has_the_policy_in_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let carries =
            "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'sha256-x'\">";
        std::fs::write(folder.path().join(INDEX), carries).unwrap();
        std::fs::write(folder.path().join("other.html"), carries).unwrap();
        let router: Router = router(PageSource::Folder(folder.path().to_owned()));
        for (path, policy) in [
            ("/", Some("script-src 'sha256-x'; frame-ancestors 'self'")),
            (
                "/index.html",
                Some("script-src 'sha256-x'; frame-ancestors 'self'"),
            ),
            ("/other.html", None),
            ("/none", None),
        ] {
            let request = Request::builder().uri(path).body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            let header = response.headers().get(CONTENT_SECURITY_POLICY);
            assert_eq!(
                header.map(|value| value.to_str().unwrap()),
                policy,
                "{path}"
            );
        }
    }
}
