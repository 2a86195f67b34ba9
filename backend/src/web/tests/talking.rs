//! The messages that a viewer may send on its socket, and the socket's answers.

use futures_util::SinkExt as _;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use super::guessing::echo;
use super::*;

#[tokio::test]
async fn whole_messages_go_both_ways_up_to_64_kib() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    let mut said = world.hub.said.subscribe();
    for size in [1, 125, 126, 65_535, 65_536] {
        let text = "x".repeat(size);
        echo(&mut socket, &text).await;
        assert_eq!(said.recv().await.unwrap().len(), size);
    }
    for size in [16_384, 16_385, 32_768, 32_769] {
        echo(&mut socket, &"x".repeat(size)).await;
    }
    socket
        .send(Message::Ping(Bytes::from_static(b"are you there")))
        .await
        .unwrap();
    let pong = timeout(PATIENCE, socket.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(pong, Message::Pong(Bytes::from_static(b"are you there")));
    socket.close(None).await.unwrap();
    assert_eq!(
        close_code(&mut socket).await,
        None,
        "the viewer's own close is answered"
    );
}

/// Row 17.
#[tokio::test]
async fn a_message_over_64_kib_is_answered_with_close_1009() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    let _ = socket.send(Message::binary(vec![7; 65_537])).await;
    assert_eq!(close_code(&mut socket).await, Some(1009));

    let mut large = world.socket().await;
    let _ = large.send(Message::binary(vec![7; 8 << 20])).await;
    assert_eq!(
        close_code(&mut large).await,
        Some(1009),
        "the close arrives although the rest was never read"
    );

    let mut pieces = world.socket().await;
    for piece in 0..3 {
        let opcode = OpCode::Data(if piece == 0 {
            Data::Binary
        } else {
            Data::Continue
        });
        let _ = pieces
            .send(Message::Frame(Frame::message(
                vec![7; 30_000],
                opcode,
                false,
            )))
            .await;
    }
    assert_eq!(close_code(&mut pieces).await, Some(1009));

    // The frame only declares its size, 2^62 bytes.
    let mut declared = world.socket().await;
    let stream = declared.get_mut();
    stream
        .write_all(&[0x82, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
        .await
        .unwrap();
    assert_eq!(close_code(&mut declared).await, Some(1009));
}

/// Row 17.
#[tokio::test]
async fn the_thousandth_message_in_a_second_is_answered_with_close_1008_and_fewer_are_not() {
    let world = World::start().await;
    for ping in [true, false] {
        for (count, closes) in [(999, true), (900, false)] {
            let mut socket = world.socket().await;
            echo(&mut socket, "hello").await;
            for _ in 0..count {
                let payload = Bytes::from_static(b"x");
                let message = if ping {
                    Message::Ping(payload)
                } else {
                    Message::Pong(payload)
                };
                let _ = socket.feed(message).await;
            }
            let _ = socket.flush().await;
            if closes {
                assert_eq!(close_code(&mut socket).await, Some(1008), "ping: {ping}");
            } else {
                echo(&mut socket, "still here").await;
            }
        }
    }
}

#[tokio::test]
async fn a_viewer_that_breaks_the_protocol_gets_the_fitting_close() {
    let world = World::start().await;
    let mut text = world.socket().await;
    text.send(Message::text("hello")).await.unwrap();
    assert_eq!(close_code(&mut text).await, Some(1003));
    let mut unmasked = world.socket().await;
    unmasked
        .get_mut()
        .write_all(&[0x82, 0x01, 0x07])
        .await
        .unwrap();
    assert_eq!(close_code(&mut unmasked).await, Some(1002));
}

#[tokio::test]
async fn the_hub_closes_with_its_own_code_and_a_reason_that_fits() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    socket
        .send(Message::binary(b"close".to_vec()))
        .await
        .unwrap();
    assert_eq!(close_code(&mut socket).await, Some(1013));
    let mut refused = world.socket().await;
    refused
        .send(Message::binary(b"refuse".to_vec()))
        .await
        .unwrap();
    match timeout(PATIENCE, refused.next()).await.unwrap() {
        Some(Ok(Message::Close(Some(frame)))) => {
            assert_eq!(
                (u16::from(frame.code), frame.reason.as_str()),
                (4000, "é".repeat(61).as_str())
            );
        }
        other => panic!("{other:?}"),
    }
}

/// Row 19.
#[tokio::test]
async fn compression_is_never_negotiated() {
    let world = World::start().await;
    let (cookie, own) = (world.cookie(), world.origin());
    let offer = "permessage-deflate; client_max_window_bits";
    let answer = world
        .upgrade(&[
            ("Origin", &own),
            ("Cookie", &cookie),
            ("Sec-WebSocket-Extensions", offer),
        ])
        .await;
    assert_eq!(
        (answer.status, answer.header("sec-websocket-extensions")),
        (101, None)
    );
    let mut socket = world.socket().await;
    // This bit marks a compressed message.
    socket
        .get_mut()
        .write_all(&[0xc2, 0x81, 1, 2, 3, 4, 5])
        .await
        .unwrap();
    assert_eq!(close_code(&mut socket).await, Some(1002));
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_says_no_hello_within_ten_seconds_is_closed() {
    use futures_util::{future, sink};
    let (to_client, mut closes) = tokio::sync::mpsc::channel(4);
    let outgoing = sink::unfold(to_client, |to_client, message: Message| async move {
        to_client
            .send(message)
            .await
            .map_err(|_| WsError::ConnectionClosed)?;
        Ok::<_, WsError>(to_client)
    });
    let socket = Both {
        incoming: stream::pending(),
        outgoing: Box::pin(outgoing),
    };
    let opening = Arc::new(());
    let held = Arc::downgrade(&opening);
    let viewer = FakeHub {
        said: broadcast::Sender::new(1),
    }
    .viewer(SessionId(1));
    let began = tokio::time::Instant::now();
    super::super::socket::run(socket, viewer, future::pending(), opening).await;
    assert_eq!(began.elapsed().as_secs(), 10);
    assert!(held.upgrade().is_none());
    match closes.recv().await {
        Some(Message::Close(Some(frame))) => assert_eq!(u16::from(frame.code), 1008),
        other => panic!("{other:?}"),
    }
}

/// Joins a stream and a sink into one socket.
struct Both<R, W> {
    incoming: R,
    outgoing: W,
}

impl<R, W: Unpin> futures_util::Stream for Both<R, W>
where
    R: futures_util::Stream<Item = Result<Message, WsError>> + Unpin,
{
    type Item = R::Item;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.incoming.poll_next_unpin(cx)
    }
}

impl<R: Unpin, W, M> futures_util::Sink<M> for Both<R, W>
where
    W: futures_util::Sink<M> + Unpin,
{
    type Error = W::Error;

    fn poll_ready(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), W::Error>> {
        self.outgoing.poll_ready_unpin(cx)
    }

    fn start_send(mut self: std::pin::Pin<&mut Self>, item: M) -> Result<(), W::Error> {
        self.outgoing.start_send_unpin(item)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), W::Error>> {
        self.outgoing.poll_flush_unpin(cx)
    }

    fn poll_close(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), W::Error>> {
        self.outgoing.poll_close_unpin(cx)
    }
}

#[tokio::test]
async fn a_bad_handshake_is_answered_with_what_is_missing() {
    let world = World::start().await;
    let (cookie, own) = (world.cookie(), world.origin());
    for (name, value, status) in [
        ("Upgrade", "h2c", 426),
        ("Sec-WebSocket-Version", "8", 426),
        ("Sec-WebSocket-Key", "short", 400),
        ("Connection", "close", 400),
        ("Connection", "keep-alive, Upgrade", 101),
    ] {
        let mut headers: Vec<_> = UPGRADE
            .into_iter()
            .filter(|(header, _)| *header != name)
            .collect();
        headers.extend([(name, value), ("Origin", &own), ("Cookie", &cookie)]);
        assert_eq!(
            world.ask("GET", "/ws", &headers).await.status,
            status,
            "{name}: {value}"
        );
    }
    let plain = world
        .ask("GET", "/ws", &[("Origin", &own), ("Cookie", &cookie)])
        .await;
    assert_eq!(
        (plain.status, plain.header("upgrade")),
        (426, Some("websocket"))
    );
}
