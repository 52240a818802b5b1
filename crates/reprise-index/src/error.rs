//! Why a saved index cannot be used. Every one of them means: rebuild from the log.

/// A saved index that this build must not answer from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A part is not there.
    #[error("the saved index has no {part} part; rebuild it from the log")]
    Missing { part: &'static str },
    #[error(
        "the saved {part} part has version {got}, this build reads {expected}; \
         rebuild it from the log"
    )]
    Version {
        part: &'static str,
        got: u8,
        /// The version this build writes.
        expected: u8,
    },
    #[error(
        "the saved index has vectors of {got} numbers, the store's have {expected}; \
         rebuild it from the log"
    )]
    Dimensions {
        got: usize,
        /// The store's width.
        expected: usize,
    },
    /// Checksum, length or content is wrong.
    #[error("the saved {part} part is damaged ({what}); rebuild it from the log")]
    Damaged {
        part: &'static str,
        /// What does not hold.
        what: &'static str,
    },
}
