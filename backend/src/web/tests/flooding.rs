//! Too many, too slow and silent connections (row 18) in one process, and the orderly end.

use futures_util::SinkExt as _;

use super::guessing::echo;
use super::*;
use crate::web::MAX_OPENING_SOCKETS;

/// Row 18: connections that never finish a request.
#[tokio::test]
async fn ten_thousand_half_open_connections_cost_a_fixed_number_and_viewers_continue() {
    let world = World::with(Limits {
        grace: Duration::from_millis(1),
        ..usual_limits()
    })
    .await;
    let mut viewer = world.socket().await;
    echo(&mut viewer, "before").await;
    let mut strangers = Vec::new();
    for round in 0..100 {
        for index in 0..100 {
            let mut stream = world.connect().await;
            let half = [
                "GET /ws HTTP/1.1\r\nUpgr",
                "",
                "GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
            ][index % 3];
            stream.write_all(half.as_bytes()).await.unwrap();
            strangers.push(stream);
        }
        let asked = tokio::time::Instant::now();
        echo(&mut viewer, &format!("round {round}")).await;
        assert!(
            asked.elapsed() < Duration::from_secs(2),
            "round {round}: {:?}",
            asked.elapsed()
        );
        assert_eq!(
            world.ask("GET", "/", &[]).await.status,
            200,
            "a newcomer that sends its request at once is served"
        );
        // The client's ends of the closed connections are dropped, so that the test itself stays small.
        strangers.drain(..strangers.len().saturating_sub(150));
    }
    assert!(world.traffic.evicted() >= 9_000, "{:?}", world.traffic);
    assert_eq!(world.traffic.admitted(), 1);
}

#[tokio::test]
async fn viewers_that_reconnect_at_once_are_all_accepted() {
    let world = World::start().await;
    let cookie = world.cookie();
    let viewers = (0..200).map(|_| async {
        let mut socket = world
            .socket_as(&cookie)
            .await
            .expect("the viewer is accepted");
        echo(&mut socket, "hello").await;
        socket
    });
    assert!(200 > usual_limits().strangers);
    assert_eq!(futures_util::future::join_all(viewers).await.len(), 200);
}

/// Row 18: slow headers.
#[tokio::test]
async fn a_slow_head_is_cut_off_at_its_deadline() {
    let world = World::with(Limits {
        header_deadline: Duration::from_millis(400),
        ..usual_limits()
    })
    .await;
    let mut stream = world.connect().await;
    let began = tokio::time::Instant::now();
    let trickle = async {
        loop {
            if stream.write_all(b"G").await.is_err()
                || matches!(peek_end(&stream).await, Some(true))
            {
                return;
            }
        }
    };
    timeout(PATIENCE, trickle)
        .await
        .expect("the connection is cut off");
    assert!(began.elapsed() >= Duration::from_millis(400));

    // A connection that sent one request and then nothing ends in the same way.
    let mut idle = world.connect().await;
    let once = format!("GET /session HTTP/1.1\r\nHost: {}\r\n\r\n", world.host());
    idle.write_all(once.as_bytes()).await.unwrap();
    assert_eq!(read_answer(&mut idle).await.status, 200);
    let end = timeout(PATIENCE, idle.read(&mut [0; 1]))
        .await
        .expect("the connection is cut off");
    assert_eq!(end.unwrap(), 0);
}

/// Waits a moment, and returns whether the other side has closed.
async fn peek_end(stream: &TcpStream) -> Option<bool> {
    timeout(Duration::from_millis(20), stream.peek(&mut [0; 1]))
        .await
        .ok()
        .map(|read| !matches!(read, Ok(1..)))
}

/// Row 18: sockets that do not read.
#[tokio::test]
async fn connections_that_read_nothing_end_at_the_write_deadline() {
    let world = World::with(Limits {
        write_deadline: Duration::from_millis(400),
        ..usual_limits()
    })
    .await;
    let mut viewer = world.socket().await;
    let mut deaf = world.socket().await;
    deaf.send(Message::binary(b"flood".to_vec())).await.unwrap();
    let mut stuck = world.connect().await;
    let bearer = format!("Bearer {TOKEN}");
    let text = request(
        "GET",
        "/api/records?since=flood",
        &world.host(),
        &[("Authorization", &bearer)],
    );
    stuck.write_all(text.as_bytes()).await.unwrap();
    let mut pace = tokio::time::interval(Duration::from_millis(10));
    let gone = async {
        while world.traffic.admitted() > 1 {
            pace.tick().await;
            echo(&mut viewer, "still here").await;
        }
    };
    timeout(PATIENCE, gone).await.expect("both connections end");
    echo(&mut viewer, "still here").await;
}

/// Row 18: upgrades that never say hello.
#[tokio::test]
async fn upgrades_without_a_hello_are_bounded() {
    let world = World::start().await;
    let cookie = world.cookie();
    let mut viewer = world.socket_as(&cookie).await.unwrap();
    echo(&mut viewer, "hello").await;
    let mut silent = Vec::new();
    for _ in 0..MAX_OPENING_SOCKETS {
        silent.push(world.socket_as(&cookie).await.unwrap());
    }
    let refused = world
        .upgrade(&[("Origin", &world.origin()), ("Cookie", &cookie)])
        .await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("5"))
    );
    assert_eq!(world.refusals.count(Refusal::TooManyUpgrades), 1);
    echo(&mut silent[0], "hello").await;
    assert!(world.socket_as(&cookie).await.is_ok(), "a hello makes room");
    echo(&mut viewer, "still here").await;
}

#[tokio::test]
async fn connections_with_a_session_are_bounded_and_the_next_gets_503() {
    let world = World::with(Limits {
        admitted: 2,
        ..usual_limits()
    })
    .await;
    let cookie = world.cookie();
    let mut sockets = Vec::new();
    for _ in 0..2 {
        sockets.push(world.socket_as(&cookie).await.unwrap());
    }
    let refused = world
        .upgrade(&[("Origin", &world.origin()), ("Cookie", &cookie)])
        .await;
    assert_eq!(refused.status, 503);
    assert_eq!(world.refusals.count(Refusal::TooManyConnections), 1);
    assert_eq!(
        world.ask("GET", "/", &[]).await.status,
        200,
        "the page itself is still served"
    );
    sockets.pop().unwrap().close(None).await.unwrap();
    while world.traffic.admitted() > 1 {
        tokio::task::yield_now().await;
    }
    assert!(world.socket_as(&cookie).await.is_ok());
}

#[tokio::test]
async fn heads_over_their_bounds_are_refused() {
    let world = World::start().await;
    let long = "x".repeat(40_000);
    let many: Vec<(&str, &str)> = vec![("X-Many", "x"); 70];
    for answer in [
        world.ask("GET", "/", &[("X-Long", &long)]).await,
        world.ask("GET", "/", &many).await,
        world.ask("GET", &format!("/{long}"), &[]).await,
    ] {
        assert!(matches!(answer.status, 414 | 431), "{answer:?}");
    }
    assert_eq!(world.raw("nonsense\r\n\r\n").await.status, 400);
}

#[tokio::test]
async fn an_answer_arrives_whole_although_the_request_is_never_read() {
    let world = World::start().await;
    let stream = world.connect().await;
    let head = request(
        "POST",
        "/session",
        &world.host(),
        &[("Content-Length", "4194304")],
    );
    let (mut reads, mut writes) = stream.into_split();
    let sending = tokio::spawn(async move {
        writes.write_all(head.as_bytes()).await.unwrap();
        // A reset, which could overtake the answer, would be an error here.
        writes
            .write_all(&vec![b'x'; 4 << 20])
            .await
            .map(|()| writes)
    });
    let mut answer = Vec::new();
    timeout(PATIENCE, reads.read_to_end(&mut answer))
        .await
        .expect("the answer ends in time")
        .expect("the end is orderly");
    assert!(answer.starts_with(b"HTTP/1.1 403"));
    assert!(sending.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_shutdown_ends_idle_connections_at_once_and_waits_for_answers_and_sockets() {
    let mut world = World::start().await;
    let mut idle = world.connect().await;
    let mut viewer = world.socket().await;
    echo(&mut viewer, "hello").await;
    let _ = world.stop.take().unwrap().send(());
    assert_eq!(
        timeout(PATIENCE, idle.read(&mut [0; 1]))
            .await
            .expect("the idle connection ends")
            .unwrap(),
        0
    );
    echo(&mut viewer, "still here while the hub says goodbye").await;
    assert!(
        TcpStream::connect(world.address).await.is_err(),
        "no new connection is accepted"
    );
    viewer
        .send(Message::binary(b"close".to_vec()))
        .await
        .unwrap();
    assert_eq!(close_code(&mut viewer).await, Some(1013));
    drop(viewer);
    timeout(PATIENCE, &mut world.serving)
        .await
        .expect("the server ends")
        .unwrap();
}

#[tokio::test]
async fn a_shutdown_ends_at_the_drain_deadline() {
    let world = World::with(Limits {
        drain_deadline: Duration::from_millis(200),
        ..usual_limits()
    })
    .await;
    let mut viewer = world.socket().await;
    echo(&mut viewer, "hello").await;
    world.stop().await;
}
