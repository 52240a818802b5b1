//! What provisioning tells whoever waits for it. Words and numbers only; drawing is the caller's.

use std::fmt;

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
