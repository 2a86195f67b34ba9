//! Requests from elsewhere: other origins, other names, and other methods.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::*;

/// All routes, and some that do not exist.
const ROUTES: [&str; 12] = [
    "/",
    "/index.html",
    "/app.js",
    "/ws",
    "/session",
    "/api/records",
    "/api/state",
    "/api/notes",
    "/api/search?q=a",
    "/api/objects/e.7",
    "/api/nothing",
    "/nothing",
];

/// Row 1.
#[tokio::test]
async fn an_upgrade_from_a_foreign_origin_is_refused_counted_and_logged_despite_its_cookie() {
    let world = World::start().await;
    let (log, _guard) = captured_log();
    let cookie = world.cookie();
    let answer = world
        .upgrade(&[("Origin", "http://evil.test"), ("Cookie", &cookie)])
        .await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert_eq!(world.refusals.count(Refusal::OriginForeign), 1);
    let line = log
        .text()
        .lines()
        .find(|line| line.contains("refused a request"))
        .unwrap_or_default()
        .to_owned();
    assert!(
        line.contains("origin-foreign") && line.contains("http://evil.test"),
        "{line}"
    );
    assert_eq!(
        world
            .upgrade(&[("Origin", &world.origin()), ("Cookie", &cookie)])
            .await
            .status,
        101
    );
}

/// Rows 2 and 3.
#[tokio::test]
async fn only_the_exact_origin_of_the_page_upgrades() {
    let world = World::start().await;
    let (cookie, port) = (world.cookie(), world.address.port());
    let foreign = [
        "null".to_owned(),
        "file://".to_owned(),
        "chrome-extension://abcdefghijklmnop".to_owned(),
        "moz-extension://7f3a".to_owned(),
        format!("http://localhost.evil.test:{port}"),
        format!("http://127.0.0.1.evil.test:{port}"),
        format!("http://127.0.0.1:{port}"),
        "http://localhost".to_owned(),
        format!("http://localhost:{}", port - 1),
        format!("https://localhost:{port}"),
        format!("ws://localhost:{port}"),
        format!("http://localhost:{port}, http://localhost:{port}"),
        format!("http://localhost:{port}/"),
    ];
    for origin in &foreign {
        let answer = world
            .upgrade(&[("Origin", origin), ("Cookie", &cookie)])
            .await;
        assert_eq!(answer.status, 403, "{origin}");
    }
    let own = world.origin();
    let twice = world
        .upgrade(&[
            ("Origin", &own),
            ("Origin", "http://evil.test"),
            ("Cookie", &cookie),
        ])
        .await;
    assert_eq!(twice.status, 403);
    assert_eq!(
        world.refusals.count(Refusal::OriginForeign),
        foreign.len() as u64 + 1
    );
}

/// Row 4.
#[tokio::test]
async fn without_an_origin_only_the_bearer_of_the_token_file_upgrades() {
    let world = World::start().await;
    let (cookie, bearer) = (world.cookie(), format!("Bearer {TOKEN}"));
    assert_eq!(world.upgrade(&[]).await.status, 401);
    assert_eq!(
        world.upgrade(&[("Authorization", &bearer)]).await.status,
        101
    );
    assert_eq!(
        world
            .upgrade(&[("Authorization", &format!("bearer  {TOKEN}"))])
            .await
            .status,
        101
    );
    assert_eq!(
        world
            .upgrade(&[("Authorization", "Bearer guess")])
            .await
            .status,
        401
    );
    assert_eq!(
        world
            .upgrade(&[("Authorization", "Basic Og==")])
            .await
            .status,
        401
    );
    assert_eq!(
        world.upgrade(&[("Cookie", &cookie)]).await.status,
        403,
        "a cookie alone never suffices"
    );
    for path in ["/ws", "/api/state", "/api/records"] {
        let mut headers = vec![("Authorization", bearer.as_str()), ("Origin", "")];
        let own = world.origin();
        for origin in [own.as_str(), "null"] {
            headers[1].1 = origin;
            assert_eq!(
                world.ask("GET", path, &headers).await.status,
                403,
                "a page with the token: {path} {origin}"
            );
        }
    }
}

/// Row 5.
#[tokio::test]
async fn a_rebound_name_gets_nothing_on_any_route() {
    let world = World::start().await;
    let (cookie, host) = (
        world.cookie(),
        format!("attacker.test:{}", world.address.port()),
    );
    let origin = format!("http://{host}");
    for route in ROUTES {
        for method in ["GET", "HEAD", "POST", "OPTIONS"] {
            for headers in [&[("Origin", origin.as_str()), ("Cookie", &cookie)][..], &[]] {
                let answer = world.ask_as(&host, method, route, headers).await;
                assert_eq!(answer.status, 403, "{method} {route}");
                assert!(!answer.body.contains("canary"), "{method} {route}");
            }
        }
    }
    let mut headers = UPGRADE.to_vec();
    headers.extend([("Origin", origin.as_str()), ("Cookie", &cookie)]);
    assert_eq!(
        world.ask_as(&host, "GET", "/ws", &headers).await.status,
        403
    );
}

/// Row 6.
#[tokio::test]
async fn host_is_judged_by_its_exact_name_and_an_absolute_target_by_its_own() {
    let world = World::start().await;
    let port = world.address.port();
    for (host, status) in [
        (format!("LOCALHOST:{port}"), 200),
        ("localhost:9000".to_owned(), 200),
        (format!("127.0.0.1:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        (format!("localhost.:{port}"), 403),
        (format!("127.1:{port}"), 403),
        (format!("[::ffff:127.0.0.1]:{port}"), 403),
        ("0.0.0.0".to_owned(), 403),
        ("evil.test".to_owned(), 403),
        ("localhost:".to_owned(), 400),
        ("localhost evil.test".to_owned(), 400),
        ("user@localhost".to_owned(), 400),
        (String::new(), 400),
    ] {
        for path in ["/", "/session"] {
            assert_eq!(
                world.ask_as(&host, "GET", path, &[]).await.status,
                status,
                "{host:?} {path}"
            );
        }
    }
    for (target, host, status) in [
        ("http://localhost/session", "evil.test", 200),
        ("http://localhost:9000/session", "localhost", 200),
        ("http://evil.test/session", "localhost", 403),
        ("http://localhost./session", "localhost", 403),
        ("https://localhost/session", "localhost", 400),
        ("http://user@localhost/session", "localhost", 400),
    ] {
        assert_eq!(
            world.ask_as(host, "GET", target, &[]).await.status,
            status,
            "{target} {host}"
        );
    }
    let twice = "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(world.raw(twice).await.status, 400);
    let twice_absolute = twice.replace("GET /", "GET http://localhost/");
    assert_eq!(world.raw(&twice_absolute).await.status, 400);
    assert_eq!(
        world
            .raw("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            .await
            .status,
        400
    );
    assert_eq!(world.raw("GET / HTTP/1.0\r\n\r\n").await.status, 400);
    for forwarded in ["X-Forwarded-Host", "X-Host", "X-Original-Host", "Forwarded"] {
        let both = [(forwarded, "host=localhost"), (forwarded, "localhost")];
        assert_eq!(
            world.ask_as("evil.test", "GET", "/", &both).await.status,
            403,
            "{forwarded}"
        );
        assert_eq!(
            world
                .ask("GET", "/", &[(forwarded, "evil.test")])
                .await
                .status,
            200,
            "{forwarded}"
        );
    }
}

/// Row 7.
#[tokio::test]
async fn posts_from_elsewhere_are_refused_and_no_answer_allows_cross_origin_sharing() {
    let world = World::start().await;
    let (cookie, secret) = (world.cookie(), format!("Bearer {}", world.secret()));
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json",
    ] {
        for origin in ["http://evil.test", "null", "http://localhost:1"] {
            let answer = world
                .ask(
                    "POST",
                    "/session",
                    &[
                        ("Origin", origin),
                        ("Cookie", &cookie),
                        ("Authorization", &secret),
                        ("Content-Type", content_type),
                        ("Content-Length", "0"),
                    ],
                )
                .await;
            assert_eq!(answer.status, 403, "{content_type} {origin}");
        }
    }
    assert_eq!(
        world
            .ask("POST", "/session", &[("Authorization", &secret)])
            .await
            .status,
        403,
        "without Origin"
    );
    for route in ROUTES {
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            for origin in ["http://evil.test", &world.origin()] {
                let preflight = [
                    ("Origin", origin),
                    ("Access-Control-Request-Method", "POST"),
                    ("Cookie", &cookie),
                ];
                let answer = world.ask(method, route, &preflight).await;
                assert!(
                    !answer.head.contains("access-control"),
                    "{method} {route} {answer:?}"
                );
                assert!(
                    !answer.head.contains("set-cookie"),
                    "{method} {route} {answer:?}"
                );
                let is_own = origin == world.origin();
                let expected = match (is_own, method, route) {
                    (false, "GET", "/session") => 200,
                    (false, ..) => 403,
                    (true, "GET", _) => continue,
                    (true, "POST", "/session") => 401,
                    (true, _, "/api/nothing") => continue,
                    (true, ..) => 405,
                };
                assert_eq!(answer.status, expected, "{method} {route} {origin}");
            }
        }
    }
    let own = world.origin();
    let exchange = [("Origin", own.as_str()), ("Authorization", secret.as_str())];
    assert_eq!(
        world.ask("POST", "/session", &exchange).await.status,
        204,
        "none of these requests spent the secret"
    );
}

/// Row 10: cookies ignore ports. So a page of another local program can send our cookie, and can set one of our name.
#[tokio::test]
async fn a_page_on_another_port_cannot_read_with_our_cookie() {
    let world = World::start().await;
    let cookie = world.cookie();
    for path in [
        "/api/state",
        "/api/records",
        "/api/notes",
        "/api/objects/e.7",
    ] {
        for site in [
            None,
            Some("same-site"),
            Some("cross-site"),
            Some("none"),
            Some("Same-Origin"),
            Some(""),
        ] {
            let mut headers = vec![("Cookie", cookie.as_str())];
            headers.extend(site.map(|site| ("Sec-Fetch-Site", site)));
            let answer = world.ask("GET", path, &headers).await;
            assert_eq!(answer.status, 403, "{path} {site:?}");
        }
        for origin in ["http://localhost:1", "http://evil.test"] {
            let headers = [
                ("Cookie", &*cookie),
                ("Origin", origin),
                ("Sec-Fetch-Site", "same-origin"),
            ];
            assert_eq!(
                world.ask("GET", path, &headers).await.status,
                403,
                "{path} {origin}"
            );
        }
        let own = [
            ("Cookie", cookie.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        let answer = world.ask("GET", path, &own).await;
        assert_eq!(
            (answer.status, answer.body.contains(CANARY)),
            (200, true),
            "{path}"
        );
        let planted = format!("{}=planted; {cookie}", world.sessions.cookie_name());
        let own = [("Cookie", planted.as_str()), ("Origin", &world.origin())];
        assert_eq!(
            world.ask("GET", path, &own).await.status,
            200,
            "{path}: a planted cookie locks nobody out"
        );
    }
    let many = format!("{}=planted; ", world.sessions.cookie_name()).repeat(20) + &cookie;
    let own = [("Cookie", many.as_str()), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(
        world.ask("GET", "/api/state", &own).await.status,
        401,
        "a browser sends few cookies"
    );
}

/// A world that also accepts the name `scope.test`.
async fn named_world() -> World {
    let hosts = AllowedHosts::new(["scope.test"]).unwrap();
    World::named(hosts, usual_limits()).await
}

/// Returns the whole cookie that an exchange from a page of that host and origin sets.
async fn entered(world: &World, host: &str, origin: &str) -> String {
    let bearer = format!("Bearer {}", world.secret());
    let headers = [("Origin", origin), ("Authorization", &bearer)];
    let answer = world.ask_as(host, "POST", "/session", &headers).await;
    assert_eq!(answer.status, 204, "{host} {origin}");
    answer.header("set-cookie").unwrap().to_owned()
}

async fn upgraded(world: &World, host: &str, origin: &str, cookie: &str) -> u16 {
    let cookie = cookie.split(';').next().unwrap();
    let mut headers = UPGRADE.to_vec();
    headers.extend([("Origin", origin), ("Cookie", cookie)]);
    world.ask_as(host, "GET", "/ws", &headers).await.status
}

/// Rows 3 and 10, behind a proxy that does TLS and passes Host on.
#[tokio::test]
async fn behind_tls_the_origin_is_https_under_an_allowed_name_and_no_plain_page_uses_that_session()
{
    let world = named_world().await;
    let port = world.address.port();
    let secure = entered(&world, "scope.test", "https://scope.test").await;
    assert!(secure.ends_with("; Secure"), "{secure}");
    for (host, origin, status) in [
        ("scope.test", "https://scope.test", 101),
        ("scope.test:443", "https://scope.test", 101),
        ("scope.test:8443", "https://scope.test:8443", 101),
        ("scope.test", "https://scope.test:8443", 403),
        ("scope.test:8443", "https://scope.test", 403),
        ("scope.test", "https://scope.test.evil.test", 403),
        ("scope.test", "https://evil.test", 403),
        // Anybody on the way can write this page.
        ("scope.test", "http://scope.test", 401),
    ] {
        assert_eq!(
            upgraded(&world, host, origin, &secure).await,
            status,
            "{host} {origin}"
        );
    }
    // If a proxy replaces the Host, the request does not show which page this is.
    let inner = format!("127.0.0.1:{port}");
    assert_eq!(
        upgraded(&world, &inner, "https://scope.test", &secure).await,
        403
    );
    let own = world.host();
    let origin = format!("https://{own}");
    assert_eq!(
        upgraded(&world, &own, &origin, &secure).await,
        403,
        "loopback has no TLS"
    );

    let plain = entered(&world, "scope.test:8080", "http://scope.test:8080").await;
    assert!(!plain.contains("Secure"), "{plain}");
    assert_eq!(
        upgraded(&world, "scope.test:8080", "http://scope.test:8080", &plain).await,
        101
    );
    assert_eq!(
        upgraded(&world, "scope.test", "https://scope.test", &plain).await,
        101,
        "TLS may be put in front later"
    );
}

/// Browsers send the site of a fetch to loopback and over TLS only.
#[tokio::test]
async fn without_a_site_from_the_browser_the_header_of_the_page_counts() {
    let world = named_world().await;
    let cookie = world.cookie();
    let (named, own) = ("scope.test:8080".to_owned(), world.host());
    let page = ("X-Watchscope-Page", "1");
    let site = |value: &'static str| ("Sec-Fetch-Site", value);
    for (host, more, status) in [
        (&named, vec![], 403),
        (&named, vec![page], 200),
        (&named, vec![site("same-origin")], 200),
        (&named, vec![site("same-site"), page], 403),
        (&named, vec![site("cross-site"), page], 403),
        (&named, vec![site("none"), page], 403),
        (&own, vec![page], 403),
        (&own, vec![site("same-origin")], 200),
    ] {
        for path in ["/api/objects/e.7", "/api/state"] {
            let mut headers = vec![("Cookie", cookie.as_str())];
            headers.extend(&more);
            let answer = world.ask_as(host, "GET", path, &headers).await;
            assert_eq!(answer.status, status, "{host} {path} {more:?}");
        }
    }
    // Another origin needs a preflight before it sends the header, and gets none. A rebound name fails at the check of Host.
    let asking = [
        ("Origin", "http://scope.test:3000"),
        ("Access-Control-Request-Method", "GET"),
        ("Access-Control-Request-Headers", "x-watchscope-page"),
    ];
    let answer = world.ask_as(&named, "OPTIONS", "/api/state", &asking).await;
    assert_eq!(answer.status, 403);
    assert!(!answer.head.contains("access-control"), "{}", answer.head);
    let headers = [("Cookie", cookie.as_str()), page];
    assert_eq!(
        world
            .ask_as("attacker.test:8080", "GET", "/api/state", &headers)
            .await
            .status,
        403
    );
}

/// Returns the hashes by which a policy allows the script and the style in a document.
fn hashes_of_what_is_inside(document: &str) -> Vec<String> {
    let of = |element: &str| {
        let (_, rest) = document.split_once(&format!("<{element}"))?;
        let (content, _) = rest
            .split_once('>')?
            .1
            .split_once(&format!("</{element}>"))?;
        let hash = STANDARD.encode(Sha256::digest(content));
        Some(format!("'sha256-{hash}'"))
    };
    ["script", "style"].into_iter().filter_map(of).collect()
}

/// Rows 12 and 13: every answer forbids framing, sniffing, inline script and caching of data. Hostile text stays data.
#[tokio::test]
async fn every_answer_carries_the_security_headers_and_data_is_never_a_page() {
    let world = World::start().await;
    let (cookie, own) = (world.cookie(), world.origin());
    let mut answers = vec![
        world
            .upgrade(&[("Origin", &own), ("Cookie", &cookie)])
            .await,
    ];
    for route in
        ROUTES
            .into_iter()
            .chain(["/api/objects/e.1", "/api/records?since=x", "/api/state?x=1"])
    {
        for (method, headers) in [
            ("GET", &[][..]),
            ("GET", &[("Origin", "http://evil.test")][..]),
            ("GET", &[("Origin", own.as_str()), ("Cookie", &cookie)][..]),
            ("HEAD", &[("Origin", own.as_str()), ("Cookie", &cookie)][..]),
            (
                "POST",
                &[("Origin", own.as_str()), ("Authorization", "Bearer guess")][..],
            ),
            (
                "DELETE",
                &[("Origin", own.as_str()), ("Cookie", &cookie)][..],
            ),
        ] {
            let answer = world.ask(method, route, headers).await;
            let is_page = answer
                .header("content-type")
                .is_some_and(|value| value.contains("html"));
            assert!(
                !is_page || matches!(route, "/" | "/index.html"),
                "{route} {answer:?}"
            );
            assert!(!is_page || !answer.body.contains("canary"), "{route}");
            answers.push(answer);
        }
    }
    let statuses: std::collections::BTreeSet<u16> =
        answers.iter().map(|answer| answer.status).collect();
    assert_eq!(
        statuses.into_iter().collect::<Vec<_>>(),
        [101, 200, 400, 401, 403, 404, 405, 410, 426]
    );
    let is_document = |answer: &Answer| {
        let kind = answer.header("content-type");
        kind.is_some_and(|kind| kind.contains("html"))
    };
    let document = answers
        .iter()
        .find(|answer| is_document(answer) && !answer.body.is_empty());
    let hashes = document.map_or_else(Vec::new, |answer| hashes_of_what_is_inside(&answer.body));
    for answer in &answers {
        let policy = answer
            .header("content-security-policy")
            .unwrap_or_else(|| panic!("{answer:?}"));
        // The document's own script and style are allowed by their hashes, and nothing else is.
        let mut policy = policy.to_owned();
        if is_document(answer) {
            for hash in &hashes {
                assert!(policy.contains(hash), "{hash} in {policy}");
                policy = policy.replace(&format!(" {hash}"), "");
            }
        }
        assert_eq!(
            policy,
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; \
             frame-ancestors 'self'"
        );
        for (name, value) in [
            ("x-frame-options", "SAMEORIGIN"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{answer:?}");
        }
        let caching = answer.header("cache-control");
        assert!(
            matches!(caching, Some("no-store" | "no-cache")),
            "{answer:?}"
        );
        assert!(
            !answer.body.contains("canary") || caching == Some("no-store"),
            "{answer:?}"
        );
    }
}

/// Row 27, as far as `web` goes: no request can name a cluster, and no answer redirects.
#[tokio::test]
async fn no_route_takes_an_address_and_no_answer_redirects() {
    let world = World::start().await;
    let (cookie, own) = (world.cookie(), world.origin());
    let headers = [("Origin", own.as_str()), ("Cookie", cookie.as_str())];
    for path in [
        "/api/state?server=https://evil.test",
        "/api/records?cluster=evil",
        "/api/records?since=e.1&since=e.1",
        "/api/records?since",
        "/api/objects/e.7?url=x",
        "/api/state?since=e.1",
        "/api/notes?form=evil",
        "/api/notes?log=other",
    ] {
        let answer = world.ask("GET", path, &headers).await;
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
    }
    for path in [
        "//evil.test",
        "/api/https://evil.test",
        "/api//state",
        "/api/objects/e.7/",
        "/API/state",
        "/%61pi/state",
    ] {
        let answer = world.ask("GET", path, &headers).await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (404, None),
            "{path}: {answer:?}"
        );
    }
    assert_eq!(
        world
            .ask("GET", "/api/records?since=e.1", &headers)
            .await
            .status,
        200
    );
    assert_eq!(
        world
            .ask("GET", "/api/records?since=nonsense", &headers)
            .await
            .status,
        400
    );
    for (object, status) in [
        ("e.7", 200),
        ("e.1", 410),
        ("e.8", 404),
        ("e.-1", 404),
        ("e", 404),
        ("%2e%2e", 404),
    ] {
        let answer = world
            .ask("GET", &format!("/api/objects/{object}"), &headers)
            .await;
        assert_eq!(answer.status, status, "{object}");
    }
}

/// Rows 8, 20 and 29, as far as `web` goes.
#[tokio::test]
async fn no_secret_and_no_cluster_text_reaches_log_metrics_or_refusals() {
    let world = World::start().await;
    let (log, _guard) = captured_log();
    let secret = world.secret();
    let own = world.origin();
    let bearer = format!("Bearer {secret}");
    let exchanged = world
        .ask(
            "POST",
            "/session",
            &[("Origin", &own), ("Authorization", &bearer)],
        )
        .await;
    let cookie = exchanged
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let token = cookie.split_once('=').unwrap().1.to_owned();
    let headers = [("Origin", own.as_str()), ("Cookie", cookie.as_str())];
    let mut seen = Vec::new();
    for path in [
        "/api/state",
        "/api/objects/e.7",
        "/api/objects/e.1",
        "/api/records",
    ] {
        world.ask("GET", path, &headers).await;
    }
    let leaky = format!("/api/state?t={secret}");
    seen.push(world.ask("GET", &leaky, &[("Cookie", &cookie)]).await);
    seen.push(
        world
            .ask(
                "GET",
                &leaky,
                &[("Authorization", &format!("Bearer {TOKEN}x"))],
            )
            .await,
    );
    seen.push(
        world
            .ask(
                "POST",
                "/session",
                &[("Origin", &own), ("Authorization", &bearer)],
            )
            .await,
    );
    seen.push(
        world
            .ask("GET", "/\x1b[31m", &[("Origin", "http://a\tb\u{7f}")])
            .await,
    );
    seen.push(
        world
            .ask("GET", "/", &[("Origin", "http://a\tb\u{e9}")])
            .await,
    );
    let text = log.text();
    assert!(
        text.contains("refused a request") && text.contains("http://a\\tb\\xc3\\xa9"),
        "{text}"
    );
    assert!(!text.contains('\x1b') && !text.contains('\t'), "{text}");
    let everything = format!("{text} {seen:?} {:?} {:?}", world.refusals, world.traffic);
    for hidden in [&secret, &token, TOKEN, "canary", "<script>"] {
        assert!(!everything.contains(hidden), "{hidden}: {everything}");
    }
}
