//! The task that owns a simulated cluster. It advances the cluster in real time and passes messages between it and sockets.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use watchscope_model::event::Loss;
use watchscope_model::vocabulary::LossPlace;
use watchscope_scenarios::{StoryPlayer, WorldRecord, take_world_records};
use watchscope_simulator::{
    Arrival, ConnectionId, Cut, Flow, Head, Request, RequestId, Time, World,
};

use super::output::DemoOutput;

/// The most requests and deliveries that may wait between a socket and the cluster. If a socket takes no deliveries, the
/// stream's window stops the cluster long before this.
const QUEUE: usize = 1024;

/// The most events of the cluster that wait to be taken. Above it all of them are dropped, and one loss event takes their
/// place.
const MOST_RECORDS: usize = 1 << 16;

/// The longest time that the cluster advances before messages are read again, also after a time in which the process did not
/// run. Otherwise a burst would meet clients that could not read meanwhile, and the apiserver would cut them off.
pub(super) const SLICE: Duration = Duration::from_millis(20);

/// The shortest time in which sockets are served before the cluster advances again.
const LEAST_WAIT: Duration = Duration::from_micros(200);

/// A message from a socket to the cluster.
#[derive(Debug)]
pub(super) enum Ask {
    /// A client connected.
    Connect(oneshot::Sender<Wire>),
    /// The client sent a request. The answer comes over the connection's wire.
    Send(ConnectionId, Request, oneshot::Sender<RequestId>),
    /// The client took bytes of a response.
    Consume(RequestId, usize),
    /// The client cancelled a response (HTTP/2).
    Cancel(RequestId),
    /// The client closed the connection.
    Close(ConnectionId),
    /// A caller acts on the cluster itself.
    Act(Act),
}

/// An action on the cluster between two of its moments.
pub(super) struct Act(pub(super) Box<dyn FnOnce(&mut World) + Send>);

impl std::fmt::Debug for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Act")
    }
}

/// A socket's access to one connection in the cluster.
#[derive(Debug)]
pub(super) struct Wire {
    /// The connection's id in the cluster.
    pub(super) connection: ConnectionId,
    /// The deliveries for the connection.
    pub(super) deliveries: mpsc::Receiver<Parcel>,
}

/// A delivery for a connection.
#[derive(Debug)]
pub(super) enum Parcel {
    /// The connection is refused.
    Refused,
    /// A response begins.
    Head(RequestId, Head),
    /// Bytes of a response.
    Chunk(RequestId, Bytes),
    /// A response ends.
    End(RequestId),
    /// A response is reset, with the error code of HTTP/2.
    Reset(RequestId, u32),
    /// The connection takes no new requests.
    GoAway,
    /// The connection is cut.
    Closed(Cut),
}

/// A handle to the task of a simulated cluster.
#[derive(Clone, Debug)]
pub(super) struct Pump {
    asks: mpsc::Sender<Ask>,
    refusing: watch::Receiver<bool>,
}

impl Pump {
    /// Starts the task that owns `world` and drives `player`. Outputs beside the API go to `outputs`. The task ends
    /// when all handles are dropped.
    pub(super) fn start(
        world: World,
        player: Option<StoryPlayer>,
        outputs: mpsc::Sender<DemoOutput>,
    ) -> Self {
        let (asks, receiver) = mpsc::channel(QUEUE);
        let refuses = watch::Sender::new(world.refuses_connections());
        let refusing = refuses.subscribe();
        let pump = Running {
            began: Instant::now(),
            began_at: world.now(),
            world,
            player,
            outputs,
            records: Vec::new(),
            wires: BTreeMap::new(),
            refuses,
        };
        tokio::spawn(pump.run(receiver));
        Self { asks, refusing }
    }

    /// Returns whether the simulated apiserver refuses connections, and its changes.
    pub(super) fn refusing(&self) -> watch::Receiver<bool> {
        self.refusing.clone()
    }

    /// Sends a message to the cluster; `false` once the cluster has ended.
    pub(super) async fn ask(&self, ask: Ask) -> bool {
        self.asks.send(ask).await.is_ok()
    }

    /// Sends a message without waiting, from code that cannot wait. If the queue is full, a task waits in its place: each
    /// lost [`Ask::Consume`] would make the stream's window smaller until the stream ends.
    pub(super) fn ask_now(&self, ask: Ask) {
        if let Err(TrySendError::Full(ask)) = self.asks.try_send(ask)
            && let Ok(runtime) = Handle::try_current()
        {
            let asks = self.asks.clone();
            // Without a cluster nobody needs the message.
            runtime.spawn(async move { asks.send(ask).await.ok() });
        }
    }
}

struct Running {
    world: World,
    player: Option<StoryPlayer>,
    outputs: mpsc::Sender<DemoOutput>,
    /// The cluster's records that nobody has taken yet; see [`MOST_RECORDS`].
    records: Vec<WorldRecord>,
    wires: BTreeMap<ConnectionId, mpsc::Sender<Parcel>>,
    began: Instant,
    began_at: Time,
    /// Whether the simulated apiserver refuses connections.
    refuses: watch::Sender<bool>,
}

impl Running {
    async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        loop {
            self.live();
            let refuses = self.world.refuses_connections();
            self.refuses
                .send_if_modified(|before| std::mem::replace(before, refuses) != refuses);
            let wait = self.next_wait();
            tokio::select! {
                ask = asks.recv() => match ask {
                    None => return,
                    Some(ask) => {
                        self.take(ask);
                        while let Ok(ask) = asks.try_recv() {
                            self.take(ask);
                        }
                    }
                },
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Returns the virtual time that corresponds to now: it passes like real time since the start.
    fn due(&self) -> Time {
        self.began_at + self.began.elapsed()
    }

    fn next_wait(&self) -> Duration {
        let next = [
            self.world.next_event_at(),
            self.player.as_ref().and_then(StoryPlayer::next_at),
        ];
        let next = next.into_iter().flatten().min();
        let due = self.due();
        if due.since(self.world.now()) > SLICE {
            // It is behind, so the next slice is due already.
            return LEAST_WAIT;
        }
        next.map_or(SLICE, |at| at.since(due))
            .clamp(LEAST_WAIT, SLICE)
    }

    /// Advances the cluster up to now, act by act, but at most by [`SLICE`].
    fn live(&mut self) {
        let most = self.world.now() + SLICE;
        loop {
            let due = self.due().min(most);
            let act_at = self.player.as_ref().and_then(StoryPlayer::next_at);
            let until = act_at.map_or(due, |at| at.min(due));
            self.world.run_until(until);
            let had_deliveries = self.deliver();
            let lines = match &mut self.player {
                Some(player) if act_at.is_some_and(|at| at <= self.world.now()) => {
                    player.perform(&mut self.world)
                }
                _ => Vec::new(),
            };
            for line in lines {
                let _ = self.outputs.try_send(DemoOutput::Line(line));
            }
            self.pass_on();
            for request in self.world.take_unmodelled() {
                let count = self.world.unmodelled();
                tracing::warn!("501 ({count} so far): {request}");
            }
            if !had_deliveries && self.world.now() >= due {
                return;
            }
        }
    }

    /// Passes on the cluster's own events.
    fn pass_on(&mut self) {
        let records = take_world_records(&mut self.world);
        self.records
            .extend(records.into_iter().map(|(_, record)| record));
        if self.records.len() > MOST_RECORDS {
            let loss = Loss {
                place: LossPlace::Log,
                count: self.records.len() as u64,
                from_seq: None,
                to_seq: None,
                watch: None,
                bytes: None,
                reason: Some("the queue for events of the simulated cluster was full".to_owned()),
                what: None,
            };
            self.records = vec![WorldRecord::Event(loss.into())];
        }
        if !self.records.is_empty()
            && let Ok(place) = self.outputs.try_reserve()
        {
            place.send(DemoOutput::Records(std::mem::take(&mut self.records)));
        }
    }

    fn deliver(&mut self) -> bool {
        let mut had_any = false;
        while let Some(delivery) = self.world.next_delivery() {
            had_any = true;
            let parcel = match delivery.arrival {
                Arrival::Connected => continue,
                Arrival::GoAway => Parcel::GoAway,
                Arrival::Reset { request, code } => Parcel::Reset(request, code),
                Arrival::Refused => Parcel::Refused,
                Arrival::Head { request, head } => Parcel::Head(request, head),
                Arrival::Chunk { request, bytes } => Parcel::Chunk(request, bytes),
                Arrival::End { request } => Parcel::End(request),
                Arrival::Closed(cut) => Parcel::Closed(cut),
            };
            let is_last = matches!(parcel, Parcel::Refused | Parcel::Closed(_));
            let Some(wire) = self.wires.get(&delivery.connection) else {
                continue;
            };
            // A full wire means that a socket takes nothing, although its window should have stopped the cluster. The wire
            // is dropped, and the connection is closed.
            if wire.try_send(parcel).is_err() || is_last {
                self.wires.remove(&delivery.connection);
                self.world.close(delivery.connection);
            }
        }
        had_any
    }

    fn take(&mut self, ask: Ask) {
        match ask {
            Ask::Connect(reply) => {
                let connection = self.world.connect(Flow::Credit);
                let (sender, deliveries) = mpsc::channel(QUEUE);
                self.wires.insert(connection, sender);
                if reply
                    .send(Wire {
                        connection,
                        deliveries,
                    })
                    .is_err()
                {
                    self.wires.remove(&connection);
                    self.world.close(connection);
                }
            }
            Ask::Send(connection, request, reply) => {
                let request = self.world.send(connection, request);
                let _ = reply.send(request);
            }
            Ask::Consume(request, bytes) => self.world.consume(request, bytes),
            Ask::Cancel(request) => self.world.cancel(request),
            Ask::Close(connection) => {
                self.wires.remove(&connection);
                self.world.close(connection);
            }
            Ask::Act(Act(act)) => act(&mut self.world),
        }
    }
}
