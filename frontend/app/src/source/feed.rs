//! Decodes what the server sends into what the store takes.

use watchscope_model::codec::{
    ChapterReader, DecodeError, MAX_FRAME_BYTES, Opening, decode_chapter,
};
use watchscope_model::event::Record;
use watchscope_model::id::{EpochId, LogId, Seq, Text};
use watchscope_model::time::Time;
use watchscope_model::wire::{
    Bye, Heartbeat, Hello, Joiner, PROTOCOL_VERSION, ServerMessage, Welcome, decode_server,
};

/// What a message brought.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// The server agreed to talk.
    Welcome(Welcome),
    /// The fold at the head; what is held of the same epoch stays, and a stretch between is past like any other.
    Head(Opening),
    /// The next records, in order.
    Records(Vec<Record>),
    /// A chapter of the past, cut before `before`.
    Chapter {
        /// Its opening snapshot.
        opening: Opening,
        /// Its records.
        records: Vec<Record>,
        /// The record it was cut before.
        before: Seq,
    },
    /// These records are no longer in the ring.
    Expired {
        /// First.
        first: Seq,
        /// Last.
        last: Seq,
    },
    /// The viewer was too slow: these records were not sent.
    Moved {
        /// First.
        first: Seq,
        /// Last.
        last: Seq,
    },
    /// All is well.
    Heartbeat(Heartbeat),
    /// There is no cluster; these can be chosen.
    Contexts {
        /// Names of contexts.
        names: Vec<Text>,
        /// Why there is none.
        reason: String,
    },
    /// What became of a command.
    CommandDone {
        /// Its number.
        command: u64,
        /// What went wrong.
        error: Option<String>,
    },
    /// The server ends the connection.
    Bye(Bye),
}

/// Holds the live chapter's dictionary, the pieces of at most one large message, and the place in the log.
///
/// Outlives connections: a resumed one goes on in the same chapter.
#[derive(Debug)]
pub struct Feed {
    log: Option<LogId>,
    epoch: Option<EpochId>,
    live: Option<ChapterReader>,
    joiner: Joiner,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            log: None,
            epoch: None,
            live: None,
            joiner: Joiner::new(MAX_FRAME_BYTES),
        }
    }
}

impl Feed {
    /// The first message of a connection: where this viewer stands.
    #[must_use]
    pub fn hello(&self) -> Hello {
        let last = self
            .live
            .as_ref()
            .map(|reader| Seq(reader.next_seq().0.saturating_sub(1)));
        Hello {
            protocol: PROTOCOL_VERSION,
            log: self.log.clone(),
            epoch: last.and(self.epoch.clone()),
            last,
        }
    }

    /// A new connection: pieces of the last one will not be completed.
    pub fn reconnected(&mut self) {
        self.joiner = Joiner::new(MAX_FRAME_BYTES);
    }

    /// Forgets the place in the log, so that the next connection starts from a snapshot.
    pub fn forget(&mut self) {
        self.live = None;
    }

    /// The log and epoch being read.
    #[must_use]
    pub fn position(&self) -> Option<(&LogId, &EpochId)> {
        self.log.as_ref().zip(self.epoch.as_ref())
    }

    /// Takes one message; `None` if it was of a later kind, or a piece of one not whole yet.
    ///
    /// # Errors
    /// If it cannot be decoded or does not follow the one before. The place in the log is then lost:
    /// [`forget`](Self::forget) and connect again.
    pub fn take(&mut self, message: &[u8]) -> Result<Option<Delivery>, DecodeError> {
        match decode_server(message)? {
            None => Ok(None),
            Some((ServerMessage::Piece(piece), data)) => match self.joiner.push(&piece, data)? {
                Some(whole) => match decode_server(&whole)? {
                    Some((ServerMessage::Piece(_), _)) => {
                        Err(DecodeError::Message("a piece holds a piece"))
                    }
                    Some((message, data)) => self.deliver(message, data),
                    None => Ok(None),
                },
                None => Ok(None),
            },
            Some((message, data)) => self.deliver(message, data),
        }
    }

    fn deliver(
        &mut self,
        message: ServerMessage,
        data: &[u8],
    ) -> Result<Option<Delivery>, DecodeError> {
        Ok(Some(match message {
            ServerMessage::Welcome(welcome) => {
                if !welcome.resumed {
                    self.live = None;
                }
                self.log = Some(welcome.log.clone());
                self.epoch = Some(welcome.epoch.clone());
                Delivery::Welcome(welcome)
            }
            ServerMessage::Snapshot(_) => {
                let (reader, opening) = ChapterReader::open(data)?;
                let follows = self.epoch.as_ref() == Some(&opening.epoch)
                    && self
                        .live
                        .as_ref()
                        .is_some_and(|live| live.next_seq() == reader.next_seq());
                self.live = Some(reader);
                self.epoch = Some(opening.epoch.clone());
                if follows {
                    // The next chapter's dictionary: its records go on where the last ones ended.
                    return Ok(None);
                }
                Delivery::Head(opening)
            }
            ServerMessage::Segment(_) => {
                let live = self
                    .live
                    .as_mut()
                    .ok_or(DecodeError::Message("a segment came before any snapshot"))?;
                Delivery::Records(live.segment(data)?.into_iter().flatten().collect())
            }
            ServerMessage::Chapter(chapter) => {
                let (opening, mut records) = decode_chapter(data)?;
                records.retain(|record| record.seq < chapter.before);
                Delivery::Chapter {
                    opening,
                    records,
                    before: chapter.before,
                }
            }
            ServerMessage::Moved(moved) => Delivery::Moved {
                first: moved.from,
                last: moved.to,
            },
            ServerMessage::Expired(expired) => Delivery::Expired {
                first: expired.first,
                last: expired.last,
            },
            ServerMessage::Heartbeat(heartbeat) => Delivery::Heartbeat(heartbeat),
            ServerMessage::Contexts(contexts) => Delivery::Contexts {
                names: contexts.names,
                reason: contexts.reason,
            },
            ServerMessage::CommandDone(done) => Delivery::CommandDone {
                command: done.command,
                error: done.error,
            },
            ServerMessage::Bye(bye) => Delivery::Bye(bye),
            ServerMessage::Piece(_) => {
                return Err(DecodeError::Message("a piece holds a piece"));
            }
        }))
    }
}

/// The clock of the server as the browser sees it: the difference, from the last message that told the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerClock {
    offset_us: i64,
    known: bool,
}

impl ServerClock {
    /// The server said it is `at`, when the browser's clock said `local`.
    pub fn set(&mut self, at: Time, local: Time) {
        let offset_us = at.micros_since(local);
        // A message that came late shows a server behind; the least delayed one is the best witness.
        if !self.known || offset_us > self.offset_us {
            self.offset_us = offset_us;
        }
        self.known = true;
    }

    /// The server's time when the browser's clock says `local`.
    #[must_use]
    pub fn now(&self, local: Time) -> Time {
        local.plus_micros(self.offset_us)
    }

    /// Forgets it; a suspended laptop or another server makes it worthless.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use watchscope_model::codec::ChapterWriter;
    use watchscope_model::event::Clock;
    use watchscope_model::fold::State;
    use watchscope_model::wire::{Chapter, Segment, Snapshot, cut_into_pieces, encode_server};

    /// A log of `clock` records that closes its chapter every `per_chapter` of them.
    pub(crate) struct Server {
        state: State,
        writer: ChapterWriter,
        chapter: Vec<u8>,
    }

    impl Server {
        pub(crate) fn new() -> Self {
            let state = State::default();
            let (writer, chapter) = ChapterWriter::open("l".into(), "e".into(), &state);
            Self {
                state,
                writer,
                chapter,
            }
        }

        pub(crate) fn welcome(&self, resumed: bool) -> Vec<u8> {
            encode_server(
                &Welcome {
                    protocol: PROTOCOL_VERSION,
                    log: "l".into(),
                    epoch: "e".into(),
                    first: Seq(1),
                    head: self.state.seq,
                    resumed,
                    at: self.state.at,
                    version: "0".into(),
                    first_at: Time(0),
                }
                .into(),
                &[],
            )
        }

        pub(crate) fn snapshot(&self) -> Vec<u8> {
            let frame = self.writer.head_snapshot(&self.state);
            encode_server(
                &Snapshot {
                    log: "l".into(),
                    seq: self.state.seq,
                }
                .into(),
                &[&frame],
            )
        }

        pub(crate) fn segment(&mut self, records: u64) -> Vec<u8> {
            for _ in 0..records {
                let record = Record {
                    seq: self.state.seq.next(),
                    at: self.state.at.plus_millis(1),
                    event: Clock { off_ms: 1 }.into(),
                };
                self.state.apply(&record);
                self.writer.push(&record);
            }
            let frame = self.writer.seal().expect("records were pushed");
            self.chapter.extend_from_slice(&frame);
            encode_server(&Segment { log: "l".into() }.into(), &[&frame])
        }

        fn close_chapter(&mut self) {
            let (writer, opening) = ChapterWriter::open("l".into(), "e".into(), &self.state);
            (self.writer, self.chapter) = (writer, opening);
        }
    }

    fn seqs(delivery: Option<Delivery>) -> Vec<u64> {
        match delivery {
            Some(Delivery::Records(records)) => records.iter().map(|record| record.seq.0).collect(),
            other => panic!("no records but {other:?}"),
        }
    }

    #[test]
    fn a_late_viewer_gets_the_head_then_records_and_a_new_chapter_is_no_new_head() {
        let mut server = Server::new();
        let mut feed = Feed::default();
        assert_eq!(feed.hello().last, None);
        server.segment(3);
        feed.take(&server.welcome(false)).unwrap();
        let head = feed.take(&server.snapshot()).unwrap();
        assert!(matches!(head, Some(Delivery::Head(opening)) if opening.state.seq == Seq(3)));
        assert_eq!(seqs(feed.take(&server.segment(2)).unwrap()), [4, 5]);
        server.close_chapter();
        assert_eq!(feed.take(&server.snapshot()).unwrap(), None);
        assert_eq!(seqs(feed.take(&server.segment(1)).unwrap()), [6]);
        assert_eq!(feed.hello().last, Some(Seq(6)));
    }

    #[test]
    fn a_resumed_connection_goes_on_in_the_same_chapter() {
        let mut server = Server::new();
        let mut feed = Feed::default();
        feed.take(&server.welcome(false)).unwrap();
        feed.take(&server.snapshot()).unwrap();
        feed.take(&server.segment(2)).unwrap();
        let missed = server.segment(2);
        feed.reconnected();
        let hello = feed.hello();
        assert_eq!((hello.epoch, hello.last), (Some("e".into()), Some(Seq(2))));
        feed.take(&server.welcome(true)).unwrap();
        assert_eq!(seqs(feed.take(&missed).unwrap()), [3, 4]);
    }

    #[test]
    fn a_chapter_in_pieces_is_whole_and_cut_before_what_is_held() {
        let mut server = Server::new();
        for _ in 0..100 {
            server.segment(200);
        }
        let message = encode_server(
            &Chapter {
                log: "l".into(),
                first: Seq(1),
                before: Seq(15_000),
            }
            .into(),
            &[&server.chapter],
        );
        let mut feed = Feed::default();
        feed.take(&server.welcome(false)).unwrap();
        let pieces = cut_into_pieces(&message, 1);
        assert!(pieces.len() > 1);
        let mut delivered = None;
        for piece in &pieces {
            assert_eq!(delivered, None);
            delivered = feed.take(piece).unwrap();
        }
        let Some(Delivery::Chapter {
            opening, records, ..
        }) = delivered
        else {
            panic!("no chapter")
        };
        assert_eq!((opening.state.seq, records.len()), (Seq(0), 14_999));
    }

    #[test]
    fn a_segment_out_of_order_is_an_error_and_forgetting_starts_anew() {
        let mut server = Server::new();
        let mut feed = Feed::default();
        feed.take(&server.welcome(false)).unwrap();
        feed.take(&server.snapshot()).unwrap();
        server.segment(1);
        let later = server.segment(1);
        assert!(matches!(
            feed.take(&later),
            Err(DecodeError::Discontinuous {
                expected: 1,
                found: 2
            })
        ));
        feed.forget();
        assert_eq!((feed.hello().epoch, feed.hello().last), (None, None));
    }

    #[test]
    fn the_least_delayed_message_tells_the_servers_time() {
        let mut clock = ServerClock::default();
        clock.set(Time(1_000), Time(500));
        clock.set(Time(2_000), Time(1_900));
        assert_eq!(clock.now(Time(2_000)), Time(2_500));
    }
}
