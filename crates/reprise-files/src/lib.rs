//! Access to files that the user did not name in this command.
//!
//! A repository, a backup or another program may have created anything at the path of one of our
//! files. A [`Folder`] opens files below a directory handle: no link is followed, a pipe or a
//! device is refused without waiting, nothing is read beyond a largest size, and a file is replaced
//! as a whole. [`LineReader`] reads large files line by line.

mod beneath;
mod encoding;
mod error;
mod folder;
mod lines;
mod moves;
mod replace;
mod status;
mod user_paths;

pub use encoding::{TextReader, decode_text, decode_utf16, strip_byte_order_mark};
pub use error::{FileError, is_missing};
pub use folder::{Folder, OpenMode};
pub use lines::LineReader;
pub use moves::ChangeOutcome;
pub use status::{FileFingerprint, FileKind, FileStatus, FolderEntry};
pub use user_paths::{
    clone_path, free_bytes, move_path_to_free, open_if_exists, open_path, read_if_exists,
};
