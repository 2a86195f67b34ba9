//! What a reading machine asks of its host, and what the host hands in.

/// What a machine needs next, or its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// These bytes of the file. The range lies within the length that the machine was made with.
    Read {
        /// Where they begin.
        offset: u64,
        /// How many.
        len: usize,
    },
    /// These bytes inflated (raw deflate, RFC 1951). The host stops as soon as more than `raw_bytes` come out, and then
    /// hands in what it has.
    Inflate {
        /// The deflated bytes.
        bytes: Vec<u8>,
        /// How many bytes they are once inflated; at most [`MAX_RAW_BYTES`](crate::MAX_RAW_BYTES).
        raw_bytes: u32,
    },
    /// The machine is at its end.
    Done(T),
}

impl<T> Step<T> {
    /// The result; else what is needed, as a step of a machine that drives this one.
    ///
    /// # Errors
    /// If the machine is not at its end.
    pub fn into_done<U>(self) -> Result<T, Step<U>> {
        match self {
            Self::Read { offset, len } => Err(Step::Read { offset, len }),
            Self::Inflate { bytes, raw_bytes } => Err(Step::Inflate { bytes, raw_bytes }),
            Self::Done(result) => Ok(result),
        }
    }
}

/// What a host hands to a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing yet: the machine begins.
    Begin,
    /// The bytes it asked for; fewer, if the file has become shorter.
    Bytes(Vec<u8>),
    /// What came of inflating; `None` if the bytes are no deflate stream.
    Inflated(Option<Vec<u8>>),
}
