//! A simulated cluster on loopback sockets, for `watchscope demo` and `watchscope simulate`.
//!
//! ```text
//!   client ──HTTP/1.1 or 2──► front ──asks──► pump (owns the World, lives in real time) ◄── story
//!          ◄──────────────────      ◄─parcels─
//! ```
//!
//! Nothing here knows our probe. The probe reaches the simulated apiserver in the same way as a real one.

mod exchange;
mod front;
mod http1;
mod http2;
mod output;
mod pump;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use watchscope_scenarios::{Script, StoryPlayer};
use watchscope_simulator::World;

pub use self::output::DemoOutput;
use self::pump::{Act, Ask, Pump};

/// The most outputs that wait to be taken. While the queue is full, lines of the narrator are dropped, and events of the
/// simulated cluster wait in the pump.
const MOST_OUTPUTS: usize = 64;

/// A running simulated apiserver.
#[derive(Debug)]
pub struct Demo {
    /// Its address.
    pub address: SocketAddr,
    /// Its outputs beside the API.
    pub outputs: mpsc::Receiver<DemoOutput>,
    pump: Pump,
    serving: tokio::task::JoinHandle<()>,
}

impl Demo {
    /// Makes the cluster of a story and serves it on `listener`.
    ///
    /// # Errors
    /// If the listener has no address.
    pub fn start(
        script: impl Into<Script>,
        seed: u64,
        listener: TcpListener,
    ) -> std::io::Result<Self> {
        let script = script.into();
        let world = World::new(script.story.config.clone(), seed);
        Self::serve(script, world, listener)
    }

    /// Like [`Demo::start`], with a cluster that also records its inside: its outputs include events of etcd, caches and
    /// connections.
    ///
    /// # Errors
    /// If the listener has no address.
    pub fn start_with_inside_records(
        script: impl Into<Script>,
        seed: u64,
        listener: TcpListener,
    ) -> std::io::Result<Self> {
        let script = script.into();
        let mut world = World::new(script.story.config.clone(), seed);
        world.tell_inside();
        Self::serve(script, world, listener)
    }

    fn serve(script: Script, world: World, listener: TcpListener) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let player = StoryPlayer::begin(script, world.now());
        let (sender, outputs) = mpsc::channel(MOST_OUTPUTS);
        let pump = Pump::start(world, Some(player), sender);
        let serving = tokio::spawn(front::serve(listener, address, pump.clone()));
        Ok(Self {
            address,
            outputs,
            pump,
            serving,
        })
    }

    /// Runs `act` on the cluster itself, without its network: for example to inject a fault or to read the true state.
    /// Returns the act's result; none if the cluster has ended.
    pub async fn act<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut World) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        let act = Act(Box::new(move |world| {
            let _ = reply.send(act(world));
        }));
        self.pump.ask(Ask::Act(act)).await;
        answer.await.ok()
    }
}

/// Ends the cluster and all its connections.
impl Drop for Demo {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
