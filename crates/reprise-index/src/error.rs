//! Why a saved index cannot be used. The remedy is always to rebuild it from the log.

pub(crate) type IndexResult<T, E = IndexError> = Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    #[error("the saved index has no {part} part; rebuild it from the log")]
    Missing { part: &'static str },
    #[error(
        "the saved {part} part has version {got}, this build reads {expected}; \
         rebuild it from the log"
    )]
    Version {
        part: &'static str,
        got: u8,
        expected: u8,
    },
    #[error(
        "the saved index has vectors of {got} numbers, the store's have {expected}; \
         rebuild it from the log"
    )]
    Dimensions { got: usize, expected: usize },
    /// Checksum, length or content is wrong.
    #[error("the saved {part} part is damaged ({what}); rebuild it from the log")]
    Damaged {
        part: &'static str,
        what: &'static str,
    },
}
