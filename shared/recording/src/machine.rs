//! The requests of a reading machine to its host, and the answers of the host.

/// A machine's next request, or its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Read these bytes of the file. The range lies within the length that the file had when it was scanned or written.
    Read {
        /// First byte of the range.
        offset: u64,
        /// Length of the range in bytes.
        len: usize,
    },
    /// Inflate these bytes (raw deflate, RFC 1951). The host stops as soon as more than `raw_bytes` bytes come out, and
    /// hands in the bytes so far. If another number of bytes comes out, more or fewer, the machine reports damage.
    Inflate {
        /// The deflated bytes.
        bytes: Vec<u8>,
        /// The stated length of the bytes once inflated; at most [`MAX_RAW_BYTES`](crate::MAX_RAW_BYTES).
        raw_bytes: u32,
    },
    /// The machine has finished with this result.
    Done(T),
}

impl<T> Step<T> {
    /// Returns the result, or passes on the request as a step of a machine that drives this one.
    ///
    /// # Errors
    /// The error is the machine's request, if the machine has not finished.
    pub fn into_done<U>(self) -> Result<T, Step<U>> {
        match self {
            Self::Read { offset, len } => Err(Step::Read { offset, len }),
            Self::Inflate { bytes, raw_bytes } => Err(Step::Inflate { bytes, raw_bytes }),
            Self::Done(result) => Ok(result),
        }
    }
}

/// A host's answer to a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The first input of every machine that reads: the machine begins, and there is no answer yet.
    Begin,
    /// The requested bytes; fewer if the file has become shorter. A machine takes fewer bytes than requested as an
    /// error or as damage.
    Bytes(Vec<u8>),
    /// The inflated bytes; `None` if the input is no deflate stream. A machine takes `None` as damage.
    Inflated(Option<Vec<u8>>),
}
