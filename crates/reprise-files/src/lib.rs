//! The one way to a file that the user did not name in this command.
//!
//! A repository, a backup or another program may have put anything where a file of ours is looked
//! for. A [`Folder`] opens beneath a directory handle: no link is followed, a pipe or a device is
//! refused without waiting, nothing is read past a largest size, and a file is replaced whole.
//! [`Lines`] reads what is big line by line.

mod beneath;
mod error;
mod folder;
mod found;
mod lines;
mod named;
mod place;
mod replace;

pub use error::{FileError, is_missing};
pub use folder::{Access, Folder};
pub use found::{Entry, Found, Kind, Stamp};
pub use lines::{Lines, unmarked};
pub use named::{clone_path, open_named, open_path, read_named};
pub use place::Placed;
