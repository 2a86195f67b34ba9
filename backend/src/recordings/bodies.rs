//! The bodies that go into a recording, collected while the log still has them.

use bytes::Bytes;
use watchscope_model::Seq;
use watchscope_recording::{MAX_BODIES, Packing, WriteError, Writer};

use crate::log::{KeptBody, LogHandle};

/// Bytes of bodies that become a block.
const BLOCK_BYTES: usize = 8 << 20;

/// Bodies that wait to be written.
///
/// Bounded: at 8 MiB, or 1,048,576 bodies, they become blocks; what comes at once is at most what the log holds. A body that left the log's memory before it was collected
/// is missing; the log says so in a `loss`.
#[derive(Debug)]
pub(super) struct BodyCollector {
    log: LogHandle,
    collected_to: Seq,
    waiting: Vec<KeptBody>,
    bytes: usize,
}

impl BodyCollector {
    pub(super) fn new(log: LogHandle) -> Self {
        Self {
            log,
            collected_to: Seq(0),
            waiting: Vec::new(),
            bytes: 0,
        }
    }

    /// Begins with a chapter, whose records begin with `first`.
    pub(super) fn begin(&mut self, first: Seq) {
        self.collected_to = Seq(first.0.saturating_sub(1));
        self.waiting.clear();
        self.bytes = 0;
    }

    /// Collects the bodies of the records up to `to`. Returns whether they are enough for a block.
    pub(super) fn collect(&mut self, to: Seq) -> bool {
        if to > self.collected_to {
            let from = self.collected_to.next();
            self.collected_to = to;
            let before = self.waiting.len();
            self.waiting.extend(self.log.bodies(from, to));
            let new = &mut self.waiting[before..];
            self.bytes += new.iter().map(|body| body.bytes.len()).sum::<usize>();
            if self.bytes < BLOCK_BYTES {
                // They wait, as parts of larger allocations that the log wants to give back.
                for body in new {
                    body.bytes = Bytes::copy_from_slice(&body.bytes);
                }
            }
        }
        self.bytes >= BLOCK_BYTES || self.waiting.len() >= MAX_BODIES
    }

    /// Blocks of the chapter that begins with `first`, of all that waits.
    ///
    /// The versions of an object stand side by side: what they have in common deflates to nearly nothing.
    pub(super) fn blocks(&mut self, first: Seq) -> Result<Vec<Packing>, WriteError> {
        let mut waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let uid = |body: &KeptBody| body.object.as_ref().map(|object| object.uid.to_string());
        waiting.sort_by_cached_key(|body| (uid(body), body.seq));
        let mut blocks = Vec::new();
        let mut rest = &waiting[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take(MAX_BODIES).take_while(|body| {
                let before = bytes;
                bytes += body.bytes.len();
                before < BLOCK_BYTES
            });
            let (block, after) = rest.split_at(fits.count());
            let bodies = block.iter().map(|body| (body.seq, &body.bytes[..]));
            blocks.extend(Writer::bodies(first, bodies)?);
            rest = after;
        }
        Ok(blocks)
    }
}
