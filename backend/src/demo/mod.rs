//! A simulated cluster on loopback sockets, for `watchscope demo` and `watchscope simulate`.
//!
//! ```text
//!   client ──HTTP/1.1 or 2──► front ──asks──► pump (owns the World, lives in real time) ◄── story
//!          ◄──────────────────      ◄─parcels─
//! ```
//!
//! Nothing here knows our probe: it reaches the simulated apiserver as it reaches a real one.

mod front;
mod http1;
mod http2;
mod pump;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use watchscope_scenarios::{Line, Script, Telling, Told};
use watchscope_simulator::World;

use self::pump::{Act, Ask, Pump};

/// What may wait to be taken; further lines of the narrator are dropped until then, and what the world tells of itself
/// waits with it.
const WORDS: usize = 64;

/// Something the cluster says beside its API.
#[derive(Clone, Debug)]
pub enum Word {
    /// The narrator's.
    Line(Line),
    /// Of its client programs and its inside, in order.
    Told(Vec<Told>),
}

/// A simulated apiserver that serves.
#[derive(Debug)]
pub struct Demo {
    /// Where.
    pub address: SocketAddr,
    /// What it says beside its API.
    pub words: mpsc::Receiver<Word>,
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

    /// The same with a cluster that tells its inside: its words have etcd, caches and connections too.
    ///
    /// # Errors
    /// If the listener has no address.
    pub fn start_telling_inside(
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
        let telling = Telling::begin(script, world.now());
        let (sender, words) = mpsc::channel(WORDS);
        let pump = Pump::start(world, Some(telling), sender);
        let serving = tokio::spawn(front::serve(listener, address, pump.clone()));
        Ok(Self {
            address,
            words,
            pump,
            serving,
        })
    }

    /// Does something to the cluster itself, past its network: injects a fault, looks at the truth. Returns what the
    /// act returned; nothing if the cluster has ended.
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
