//! The frame reader compared with the library: both read the same frames from recorded streams and from mutations of them.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::{join_all, poll_fn};
use h2::{Ping, Reason, RecvStream, client, server};
use http::{Request, Response};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, join, sink};

use crate::transport::frames::{Fact, FrameReader};

const PREFACE_BYTES: usize = 24;
const PING: u8 = 6;
const ACK: u8 = 1;
/// Requests on each connection.
const REQUESTS: usize = 3;
/// The most bytes that the reader may hold for any input.
const READER_BYTES: usize = 64;
const FOLDER: &str = "src/transport/tests/corpus";
/// The bytes that [`serve`] sent, complete and cut off.
const RECORDED: [&[u8]; 2] = [
    include_bytes!("corpus/leaving.bin"),
    include_bytes!("corpus/breaking.bin"),
];

/// A server's side of a connection. It answers, resets a stream and pings the client. Then it leaves in order, or breaks
/// off.
async fn serve(io: DuplexStream, leaves: bool) {
    let mut connection = server::handshake(io).await.unwrap();
    let mut open = Vec::new();
    for body in ["a list ", "a watch ", "another "] {
        let (_, mut respond) = connection.accept().await.unwrap().unwrap();
        let mut sending = respond.send_response(Response::new(()), false).unwrap();
        for times in [4, 1, 9] {
            sending
                .send_data(Bytes::from(body.repeat(times)), false)
                .unwrap();
        }
        open.push(sending);
    }
    let mut pings = connection.ping_pong().unwrap();
    pings.send_ping(Ping::opaque()).unwrap();
    run_idle(&mut connection).await;
    open[0].send_data("the end".into(), true).unwrap();
    open[1].send_reset(Reason::INTERNAL_ERROR);
    run_idle(&mut connection).await;
    if leaves {
        connection.graceful_shutdown();
        run_idle(&mut connection).await;
        open[2].send_data("the end".into(), true).unwrap();
    } else {
        connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
    }
    run_idle(&mut connection).await;
}

/// Runs both sides until neither has anything more to send.
async fn run_idle(connection: &mut server::Connection<DuplexStream, Bytes>) {
    for _ in 0..50 {
        poll_fn(|cx| {
            let _ = connection.poll_closed(cx);
            Poll::Ready(())
        })
        .await;
        tokio::task::yield_now().await;
    }
}

/// The client's view of a connection.
struct Outcome {
    /// How the connection ended.
    end: Result<(), h2::Error>,
    /// How its streams ended.
    streams: Vec<Result<(), h2::Error>>,
    /// The pings that it answered.
    answered: usize,
    /// All bytes that the server sent.
    read: Vec<u8>,
}

/// Reads from `io` with the library as the client.
async fn read_by_library<T: AsyncRead + AsyncWrite + Unpin>(io: T) -> Outcome {
    let traffic = Arc::new(Mutex::new(Traffic::default()));
    let io = Wire {
        io,
        traffic: Arc::clone(&traffic),
    };
    let (mut sender, mut driver) = client::handshake(io).await.unwrap();
    // The requests are sent at once, so that incoming frames are answers.
    let mut answers = Vec::new();
    for _ in 0..REQUESTS {
        let request = Request::get("http://server/").body(()).unwrap();
        answers.push(sender.send_request(request, true).unwrap().0);
    }
    let mut own = driver.ping_pong().unwrap();
    own.send_ping(Ping::opaque()).unwrap();
    let streams = join_all(answers.into_iter().map(async |answer| {
        let mut body: RecvStream = answer.await?.into_body();
        while let Some(piece) = body.data().await {
            let _ = body.flow_control().release_capacity(piece?.len());
        }
        Ok(())
    }));
    let (end, streams) = tokio::join!(&mut driver, streams);
    // Without this the library would close once all requests are answered.
    drop(sender);
    let mut traffic = traffic.lock().unwrap();
    Outcome {
        end,
        streams,
        answered: answers_to_pings(&traffic.written[PREFACE_BYTES..]),
        read: std::mem::take(&mut traffic.read),
    }
}

/// Counts the answers to pings among complete frames.
fn answers_to_pings(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let [a, b, c, kind, flags, _, _, _, _, rest @ ..] = bytes {
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        count += usize::from(*kind == PING && flags & ACK != 0);
        bytes = rest.get(length..).unwrap_or_default();
    }
    count
}

/// Keeps the bytes that are read from it and written to it.
struct Wire<T> {
    io: T,
    traffic: Arc<Mutex<Traffic>>,
}

#[derive(Default)]
struct Traffic {
    read: Vec<u8>,
    written: Vec<u8>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Wire<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.io).poll_read(cx, buffer);
        let new = &buffer.filled()[before..];
        self.traffic.lock().unwrap().read.extend(new);
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Wire<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = written {
            let mut traffic = self.traffic.lock().unwrap();
            traffic.written.extend(&bytes[..count]);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// A server that sends these bytes, one piece at a time, and then ends in order.
struct Played<'a> {
    bytes: &'a [u8],
    cuts: &'a [usize],
    at: usize,
    is_waiting: bool,
}

impl AsyncRead for Played<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Between two pieces the client may write.
        self.is_waiting = !self.is_waiting;
        if self.is_waiting {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.cuts.iter().find(|cut| **cut > self.at);
        let until = next.map_or(self.bytes.len(), |cut| *cut);
        let piece = &self.bytes[self.at..until.min(self.at + buffer.remaining())];
        buffer.put_slice(piece);
        self.at += piece.len();
        Poll::Ready(Ok(()))
    }
}

fn read(bytes: &[u8], cuts: &[usize]) -> (Vec<Fact>, FrameReader) {
    let mut facts = Vec::new();
    let mut reader = FrameReader::default();
    let mut from = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        reader = reader.read(&bytes[from..cut], |fact| facts.push(fact));
        from = cut;
    }
    (facts, reader)
}

/// Compares the reader's facts with the library's results for the same bytes.
fn check(bytes: &[u8], cuts: &[usize]) -> Result<(), TestCaseError> {
    let (facts, reader) = read(bytes, cuts);
    prop_assert_eq!(&(facts.clone(), reader), &read(bytes, &[]));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let played = Played {
        bytes,
        cuts,
        at: 0,
        is_waiting: false,
    };
    let outcome = runtime.block_on(read_by_library(join(played, sink())));
    // The library may leave a server that sent GOAWAY before it has read everything.
    let leaves = |fact: &Fact| matches!(fact, Fact::GoAway { .. });
    let is_all_read = outcome.read.len() == bytes.len() && !facts.iter().any(leaves);

    let asked = facts
        .iter()
        .filter(|fact| matches!(fact, Fact::Ping { is_ack: false }))
        .count();
    prop_assert!(outcome.answered <= asked, "{} of {asked}", outcome.answered);
    for error in outcome.streams.iter().filter_map(|end| end.as_ref().err()) {
        if error.is_remote() && error.is_reset() {
            let code = error.reason().map_or(0, u32::from);
            let is_known =
                |fact: &Fact| matches!(fact, Fact::Reset { code: sent, .. } if *sent == code);
            prop_assert!(facts.iter().any(is_known), "{error}: {facts:?}");
        }
    }
    match &outcome.end {
        Err(error) if error.is_remote() && error.is_go_away() => {
            let code = error.reason().map_or(0, u32::from);
            let is_known =
                |fact: &Fact| matches!(fact, Fact::GoAway { code: sent, .. } if *sent == code);
            prop_assert!(facts.iter().any(is_known), "{error}: {facts:?}");
        }
        Ok(()) if is_all_read => {
            // The library accepted every frame.
            prop_assert_eq!(reader.torn(), None);
            prop_assert_eq!(outcome.answered, asked);
        }
        // The library needed more bytes of a frame.
        Err(error) if is_all_read && error.is_io() => {
            prop_assert!(reader.torn().is_some(), "{error}")
        }
        _ => {}
    }
    Ok(())
}

/// One change to a stream of bytes.
#[derive(Clone, Debug)]
enum Mutation {
    Set(prop::sample::Index, u8),
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    /// A piece of the stream is repeated somewhere.
    Repeat(prop::sample::Index, usize, prop::sample::Index),
    End(prop::sample::Index),
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let at = any::<prop::sample::Index>;
    let one = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        (at(), 0..8_u8).prop_map(|(at, bit)| Mutation::Flip(at, bit)),
        (at(), prop::collection::vec(any::<u8>(), 1..20))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (at(), 1..40_usize).prop_map(|(at, count)| Mutation::Remove(at, count)),
        (at(), 1..60_usize, at()).prop_map(|(from, count, to)| Mutation::Repeat(from, count, to)),
        at().prop_map(Mutation::End),
    ];
    prop::collection::vec(one, 0..5)
}

fn mutated(recorded: &[u8], mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = recorded.to_vec();
    for mutation in mutations {
        if bytes.is_empty() {
            break;
        }
        let length = bytes.len();
        match mutation {
            Mutation::Set(at, byte) => bytes[at.index(length)] = *byte,
            Mutation::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Mutation::Insert(at, new) => {
                let at = at.index(length);
                bytes.splice(at..at, new.iter().copied());
            }
            Mutation::Remove(at, count) => {
                let at = at.index(length);
                bytes.drain(at..length.min(at + count));
            }
            Mutation::Repeat(from, count, to) => {
                let from = from.index(length);
                let piece = bytes[from..length.min(from + count)].to_vec();
                let to = to.index(length);
                bytes.splice(to..to, piece);
            }
            Mutation::End(at) => bytes.truncate(at.index(length)),
        }
    }
    bytes
}

fn mutations_agree(cases: u32) {
    let strategy = (
        0..RECORDED.len(),
        mutations(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    );
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    });
    let run = runner.run(&strategy, |(which, mutations, cuts)| {
        let bytes = mutated(RECORDED[which], &mutations);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        check(&bytes, &cuts)
    });
    run.unwrap();
}

#[test]
fn mutations_of_recorded_frames_are_read_as_the_library_reads_them() {
    mutations_agree(3_000);
}

#[test]
#[ignore = "minutes: cargo xtask test --long"]
fn a_hundred_thousand_mutations_of_recorded_frames_are_read_as_the_library_reads_them() {
    mutations_agree(100_000);
}

#[test]
fn the_reader_holds_at_most_a_header_and_eight_bytes() {
    assert!(size_of::<FrameReader>() <= READER_BYTES);
}

/// The corpus. `WATCHSCOPE_WRITE_DOCS=1` writes it; otherwise it is compared with the bytes of a new connection.
#[tokio::test]
async fn the_corpus_equals_the_bytes_of_a_new_connection() {
    for (name, leaves, recorded) in [
        ("leaving.bin", true, RECORDED[0]),
        ("breaking.bin", false, RECORDED[1]),
    ] {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (outcome, ()) = tokio::join!(read_by_library(ours), serve(theirs, leaves));
        if std::env::var_os("WATCHSCOPE_WRITE_DOCS").is_some() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
            std::fs::write(folder.join(name), &outcome.read).unwrap();
        }
        assert!(outcome.answered > 0);
        let (facts, reader) = read(&outcome.read, &[]);
        assert_eq!((facts, reader), read(recorded, &[]), "{name}");
    }
    let [leaving, breaking] = RECORDED.map(|recorded| {
        let (facts, _) = read(recorded, &[]);
        format!("{facts:?}")
    });
    insta::assert_snapshot!(leaving, @"[Ping { is_ack: true }, Ping { is_ack: false }, Reset { stream: 3, code: 2 }, GoAway { last_stream: 2147483647, code: 0 }, Ping { is_ack: false }, GoAway { last_stream: 5, code: 0 }]");
    insta::assert_snapshot!(breaking, @"[Ping { is_ack: true }, Ping { is_ack: false }, Reset { stream: 3, code: 2 }, GoAway { last_stream: 5, code: 11 }]");
}
