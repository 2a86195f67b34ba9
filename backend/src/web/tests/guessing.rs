//! Links, cookies and bearers: entering, being logged out, and guessing.

use super::*;

async fn status(world: &World, cookie: &str) -> Answer {
    world.ask("GET", "/session", &[("Cookie", cookie)]).await
}

#[tokio::test]
async fn a_link_becomes_a_cookie_once_and_every_accepted_host_shows_the_session() {
    let world = World::start().await;
    let (secret, own) = (format!("Bearer {}", world.secret()), world.origin());
    let instance = world.sessions.instance();
    let expected = |session: bool| {
        format!(
            "{{\"product\":\"watchscope\",\"protocol\":2,\"instance\":\"{instance}\",\"session\":{session}}}"
        )
    };
    let before = world.ask("GET", "/session", &[]).await;
    assert_eq!((before.status, &before.body), (200, &expected(false)));
    let exchanged = world
        .ask(
            "POST",
            "/session",
            &[("Origin", &own), ("Authorization", &secret)],
        )
        .await;
    assert_eq!((exchanged.status, exchanged.body.as_str()), (204, ""));
    let cookie = exchanged.header("set-cookie").unwrap();
    let pair = cookie.split("; ").next().unwrap();
    assert_eq!(status(&world, pair).await.body, expected(true));
    assert_eq!(
        status(&world, "watchscope_other=x").await.body,
        expected(false)
    );
    let again = world
        .ask(
            "POST",
            "/session",
            &[("Origin", &own), ("Authorization", &secret)],
        )
        .await;
    assert_eq!(again.status, 401);
    assert_eq!(
        world
            .ask("POST", "/session", &[("Origin", &own)])
            .await
            .status,
        401,
        "without any secret"
    );
}

#[tokio::test]
async fn only_the_document_carries_the_answer_of_the_session_route() {
    let world = World::start().await;
    let cookie = world.cookie();
    for headers in [&[][..], &[("Cookie", cookie.as_str())]] {
        let session = world.ask("GET", "/session", headers).await;
        let quoted = session.body.replace('"', "\\\"");
        for path in ["/", "/index.html"] {
            let document = world.ask("GET", path, headers).await;
            assert_eq!(
                document.header("server-timing"),
                Some(&*format!("session;desc=\"{quoted}\""))
            );
        }
        for path in ["/session", "/styles.css", "/boot.js"] {
            let other = world.ask("GET", path, headers).await;
            assert_eq!(other.header("server-timing"), None, "{path}");
        }
    }
}

/// Row 10.
#[tokio::test]
async fn the_cookie_is_for_this_host_this_site_and_no_script() {
    let world = World::start().await;
    let (secret, own) = (format!("Bearer {}", world.secret()), world.origin());
    let exchanged = world
        .ask(
            "POST",
            "/session",
            &[("Origin", &own), ("Authorization", &secret)],
        )
        .await;
    let cookie = exchanged.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    let (name, value) = pair.split_once('=').unwrap();
    assert_eq!(name, format!("watchscope_{}", world.sessions.instance()));
    assert!(value.len() >= 22, "at least 128 bits: {value}");
    assert_eq!(
        attributes, "Path=/; HttpOnly; SameSite=Strict",
        "no Domain: for this host alone"
    );
}

#[tokio::test]
async fn cookies_of_earlier_instances_are_removed_on_entering() {
    let world = World::start().await;
    let (secret, own) = (format!("Bearer {}", world.secret()), world.origin());
    let left: Vec<String> = (0..10)
        .map(|restart| format!("watchscope_{restart:016x}=x"))
        .collect();
    let headers = [
        ("Origin", own.as_str()),
        ("Authorization", &secret),
        ("Cookie", &left.join("; ")),
    ];
    let exchanged = world.ask("POST", "/session", &headers).await;
    let set: Vec<&str> = exchanged
        .head
        .lines()
        .filter_map(|line| line.strip_prefix("set-cookie: "))
        .collect();
    assert_eq!(set.len(), 3, "{set:?}");
    assert!(set[0].starts_with(&world.sessions.cookie_name()));
    assert_eq!(set[1], "watchscope_0000000000000000=; Path=/; Max-Age=0");
}

/// Row 9.
#[tokio::test]
async fn a_thousand_guesses_see_ten_401_and_then_429() {
    let world = World::start().await;
    let own = world.origin();
    for (path, method, origin) in [
        ("/session", "POST", Some(own.as_str())),
        ("/api/state", "GET", None),
    ] {
        let mut stream = world.connect().await;
        let mut statuses = Vec::new();
        for guess in 0..1000 {
            let mut text = format!(
                "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer guess-{guess}\r\n",
                world.host()
            );
            text += &origin
                .map(|origin| format!("Origin: {origin}\r\n"))
                .unwrap_or_default();
            stream.write_all((text + "\r\n").as_bytes()).await.unwrap();
            statuses.push(read_status(&mut stream).await);
        }
        assert_eq!(statuses[..10], [401; 10], "{path}");
        assert_eq!(statuses[10..], [429; 990], "{path}");
    }
    let secret = format!("Bearer {}", world.secret());
    let right = world
        .ask(
            "POST",
            "/session",
            &[("Origin", &own), ("Authorization", &secret)],
        )
        .await;
    assert_eq!(
        (right.status, right.header("retry-after")),
        (429, Some("60"))
    );
    assert_eq!(world.refusals.count(Refusal::WrongCredential), 20);
}

/// Reads one answer of a connection that stays open, by its Content-Length. Returns its status.
async fn read_status(stream: &mut TcpStream) -> u16 {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(
            timeout(PATIENCE, stream.read_u8())
                .await
                .expect("an answer comes")
                .unwrap(),
        );
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap()
        .parse()
        .unwrap();
    stream.read_exact(&mut vec![0; length]).await.unwrap();
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Row 11: after a restart.
#[tokio::test]
async fn a_cookie_of_an_earlier_process_opens_nothing() {
    let before = World::start().await;
    let cookie = before.cookie();
    before.stop().await;
    let after = World::start().await;
    let renamed = format!(
        "{}={}",
        after.sessions.cookie_name(),
        cookie.split_once('=').unwrap().1
    );
    for cookie in [cookie, renamed] {
        let own = after.origin();
        let headers = [("Origin", own.as_str()), ("Cookie", cookie.as_str())];
        assert_eq!(after.ask("GET", "/api/state", &headers).await.status, 401);
        assert_eq!(after.upgrade(&headers).await.status, 401);
        assert!(
            status(&after, &cookie)
                .await
                .body
                .ends_with("\"session\":false}")
        );
    }
}

/// Row 11: revoked while it is in use.
#[tokio::test]
async fn revoking_closes_every_socket_and_stream_within_a_second_and_spends_the_cookies() {
    let world = World::start().await;
    let cookie = world.cookie();
    let mut by_cookie = world.socket_as(&cookie).await.unwrap();
    let mut silent = world.socket().await;
    let mut request = format!("ws://{}/ws", world.host())
        .into_client_request()
        .unwrap();
    request
        .headers_mut()
        .insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
    let (mut by_bearer, _) = tokio_tungstenite::client_async(request, world.connect().await)
        .await
        .unwrap();
    let mut live = world.connect().await;
    let headers = [
        ("Cookie", cookie.as_str()),
        ("Sec-Fetch-Site", "same-origin"),
    ];
    live.write_all(super::request("GET", "/api/records", &world.host(), &headers).as_bytes())
        .await
        .unwrap();
    assert!(read_answer(&mut live).await.body.contains(CANARY));
    for socket in [&mut by_cookie, &mut by_bearer] {
        echo(socket, "hello").await;
    }

    let revoked = tokio::time::Instant::now();
    world.sessions.revoke();
    for socket in [&mut by_cookie, &mut by_bearer, &mut silent] {
        assert_eq!(close_code(socket).await, Some(1008));
    }
    let mut rest = Vec::new();
    timeout(PATIENCE, live.read_to_end(&mut rest))
        .await
        .expect("the stream ends")
        .unwrap();
    assert!(
        revoked.elapsed() < Duration::from_secs(1),
        "{:?}",
        revoked.elapsed()
    );
    let own = world.origin();
    let headers = [("Origin", own.as_str()), ("Cookie", cookie.as_str())];
    assert_eq!(world.upgrade(&headers).await.status, 401);
    assert_eq!(world.ask("GET", "/api/state", &headers).await.status, 401);
    assert!(
        world.socket_as(&world.cookie()).await.is_ok(),
        "a fresh link works"
    );
}

/// Sends a message and waits for its echo.
pub(super) async fn echo(socket: &mut WebSocketStream<TcpStream>, text: &str) {
    use futures_util::SinkExt as _;
    socket
        .send(Message::binary(text.as_bytes().to_vec()))
        .await
        .unwrap();
    loop {
        match timeout(PATIENCE, socket.next())
            .await
            .expect("an echo comes")
        {
            Some(Ok(Message::Binary(bytes))) if bytes == text.as_bytes() => return,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            other => panic!("{other:?}"),
        }
    }
}
