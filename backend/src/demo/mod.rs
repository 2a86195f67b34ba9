//! A simulated cluster on loopback sockets, for `watchscope demo` and `watchscope simulate`.
//!
//! ```text
//!   client ──HTTP/1.1──► front ──asks──► pump (owns the World, lives in real time) ◄── story
//!          ◄─────────────      ◄─parcels─
//! ```
//!
//! Nothing here knows our probe: it reaches the simulated apiserver as it reaches a real one.

mod front;
mod pump;

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use watchscope_scenarios::{Line, Story, Telling};
use watchscope_simulator::World;

use self::pump::Pump;

/// Lines of the narrator that may wait; further ones are dropped until they are taken.
const LINES: usize = 64;

/// A simulated apiserver that serves.
#[derive(Debug)]
pub struct Demo {
    /// Where.
    pub address: SocketAddr,
    /// What the narrator says.
    pub lines: mpsc::Receiver<Line>,
    serving: tokio::task::JoinHandle<()>,
}

impl Demo {
    /// Makes the cluster of a story and serves it on `listener`.
    ///
    /// # Errors
    /// If the listener has no address.
    pub fn start(story: Story, seed: u64, listener: TcpListener) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let world = World::new(story.config.clone(), seed);
        let telling = Telling::begin(story, world.now());
        let (sender, lines) = mpsc::channel(LINES);
        let pump = Pump::start(world, Some(telling), sender);
        let serving = tokio::spawn(front::serve(listener, pump));
        Ok(Self {
            address,
            lines,
            serving,
        })
    }
}

/// Ends the cluster and all its connections.
impl Drop for Demo {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
