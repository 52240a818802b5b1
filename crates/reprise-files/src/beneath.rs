//! Opens a name below a directory handle without following a link anywhere on the path.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

/// The flags with which a folder is opened.
pub(crate) const FOLDER_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Whether a path has at least one part and each is a plain name.
pub(crate) fn is_plain_path(name: &Path) -> bool {
    let mut parts = name.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Opens a plain name. The kernel resolves it as one step where it can; elsewhere each part is
/// opened below the one before.
pub(crate) fn open(
    folder: BorrowedFd<'_>,
    name: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    // Opening a pipe or a device returns at once, and it does not become our terminal.
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Some(opened) = kernel::open(folder, name, flags, mode) {
        return opened;
    }
    open_by_walking(folder, name, flags, mode)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod kernel {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{ResolveFlags, openat2};

    use super::{BorrowedFd, Errno, Mode, OFlags, OwnedFd, Path};

    /// How often a resolution is repeated that a rename has disturbed.
    const TRIES_MAX: usize = 16;
    /// Whether the system call is missing: Linux is older than 5.6, or a sandbox forbids it.
    static IS_MISSING: AtomicBool = AtomicBool::new(false);

    /// Opens a name by one system call; `None` if the kernel cannot, or was disturbed too often.
    pub(super) fn open(
        folder: BorrowedFd<'_>,
        name: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Option<Result<OwnedFd, Errno>> {
        if IS_MISSING.load(Ordering::Relaxed) {
            return None;
        }
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES_MAX {
            match openat2(folder, name, flags, mode, resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS) => {
                    IS_MISSING.store(true, Ordering::Relaxed);
                    return None;
                }
                // Some sandboxes return this for a call that they do not know.
                Err(Errno::PERM) => return None,
                opened => return Some(opened),
            }
        }
        None
    }
}

fn open_by_walking(
    folder: BorrowedFd<'_>,
    name: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let mut at: Option<OwnedFd> = None;
    let mut parts = name.components().peekable();
    while let Some(part) = parts.next() {
        let here = at.as_ref().map_or(folder, AsFd::as_fd);
        let part = part.as_os_str();
        let opened = if parts.peek().is_some() {
            openat(here, part, FOLDER_FLAGS | OFlags::NOFOLLOW, Mode::empty())
        } else {
            openat(here, part, flags | OFlags::NOFOLLOW, mode)
        };
        match opened {
            Ok(opened) => at = Some(opened),
            // Linux returns this for a link if a folder is expected.
            Err(Errno::NOTDIR) if is_link(here, part.as_ref()) => return Err(Errno::LOOP),
            Err(error) => return Err(error),
        }
    }
    at.ok_or(Errno::NOENT)
}

fn is_link(folder: BorrowedFd<'_>, name: &Path) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    type Open = fn(BorrowedFd<'_>, &Path, OFlags, Mode) -> Result<OwnedFd, Errno>;

    #[test]
    fn the_kernel_and_the_walk_refuse_the_same_names() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s").unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::write(root.path().join("a/b/file"), "f").unwrap();
        symlink(outside.path(), root.path().join("a/out")).unwrap();
        symlink(outside.path().join("secret"), root.path().join("a/b/link")).unwrap();
        symlink("file", root.path().join("a/b/near")).unwrap();
        let handle = fs::File::open(root.path()).unwrap();
        let ways: [(&str, Open); 2] = [("open", open), ("walk", open_by_walking)];
        for (way, open) in ways {
            for (name, expected) in [
                ("a/b/file", Ok(())),
                ("a/b", Ok(())),
                ("a/out/secret", Err(Errno::LOOP)),
                ("a/out", Err(Errno::LOOP)),
                ("a/b/link", Err(Errno::LOOP)),
                ("a/b/near", Err(Errno::LOOP)),
                ("a/none/file", Err(Errno::NOENT)),
                ("a/b/file/x", Err(Errno::NOTDIR)),
            ] {
                let opened = open(handle.as_fd(), name.as_ref(), OFlags::RDONLY, Mode::empty());
                assert_eq!(opened.map(drop), expected, "{way}: {name}");
            }
            let flags = OFlags::RDWR | OFlags::CREATE;
            let made = open(handle.as_fd(), "a/b/link".as_ref(), flags, Mode::RUSR);
            assert_eq!(made.map(drop), Err(Errno::LOOP), "{way}");
        }
        for name in ["", "/etc/passwd", "../x", "a/../../x", "a/.."] {
            assert!(!is_plain_path(name.as_ref()), "{name}");
        }
        assert!(is_plain_path("a/b".as_ref()));
    }
}
