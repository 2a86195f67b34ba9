//! The collector of bodies that go into a recording, while the log still has them.

use bytes::Bytes;
use watchscope_model::Seq;
use watchscope_recording::{MAX_BODIES, Packing, WriteError, Writer};

use crate::log::{KeptBody, LogHandle};

/// The bytes of bodies at which a block is written.
const BLOCK_BYTES: usize = 8 << 20;

/// The bodies that wait to be written.
///
/// Bounded: at 8 MiB, or at 1,048,576 bodies, they become blocks. One collection adds at most what the log holds. A body
/// that left the log's memory before it was collected is missing; the log records that as a `loss`.
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

    /// Begins a chapter whose first record is `first`.
    pub(super) fn begin(&mut self, first: Seq) {
        self.collected_to = Seq(first.0.saturating_sub(1));
        self.waiting.clear();
        self.bytes = 0;
    }

    /// Collects the bodies of the records up to `to`. Returns whether they fill a block.
    pub(super) fn collect(&mut self, to: Seq) -> bool {
        if to > self.collected_to {
            let from = self.collected_to.next();
            self.collected_to = to;
            let before = self.waiting.len();
            self.waiting.extend(self.log.bodies(from, to));
            let new = &mut self.waiting[before..];
            self.bytes += new.iter().map(|body| body.bytes.len()).sum::<usize>();
            if self.bytes < BLOCK_BYTES {
                // These bodies wait, so they are copied: the log wants to free the larger allocations that they are parts
                // of.
                for body in new {
                    body.bytes = Bytes::copy_from_slice(&body.bytes);
                }
            }
        }
        self.bytes >= BLOCK_BYTES || self.waiting.len() >= MAX_BODIES
    }

    /// Packs all waiting bodies into blocks of the chapter that begins with `first`.
    ///
    /// Versions of one object are put side by side, since what they have in common then deflates to nearly nothing.
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
