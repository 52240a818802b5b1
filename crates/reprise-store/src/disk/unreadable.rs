//! A file that is read on past sectors that cannot be read.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{DiskFile, FileIdentity};

/// Bytes that are read at once where a larger read failed: a sector.
const PIECE: usize = 512;

/// Shows what cannot be read as zeros, which no hash matches, so that its reader finds damage there
/// and goes on. What is made of it must not replace the file: the disk may read it another time.
#[derive(Debug)]
pub(crate) struct PastUnreadable {
    file: Arc<dyn DiskFile>,
    has_unreadable: AtomicBool,
}

impl PastUnreadable {
    pub(crate) fn new(file: &Arc<dyn DiskFile>) -> Arc<Self> {
        Arc::new(Self {
            file: Arc::clone(file),
            has_unreadable: AtomicBool::new(false),
        })
    }

    /// Whether something could not be read so far.
    pub(crate) fn has_unreadable(&self) -> bool {
        self.has_unreadable.load(Ordering::Relaxed)
    }
}

impl DiskFile for PastUnreadable {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let is_end = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
        match self.file.read_exact_at(offset, out) {
            Err(error) if !is_end(&error) => {}
            read => return read,
        }
        let (mut at, mut rest) = (offset, out);
        while !rest.is_empty() {
            let size = (PIECE - at as usize % PIECE).min(rest.len());
            let (piece, behind) = rest.split_at_mut(size);
            match self.file.read_exact_at(at, piece) {
                Err(error) if is_end(&error) => return Err(error),
                Err(_) => {
                    piece.fill(0);
                    self.has_unreadable.store(true, Ordering::Relaxed);
                }
                Ok(()) => {}
            }
            at += size as u64;
            rest = behind;
        }
        Ok(())
    }

    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(offset, bytes)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.file.set_size(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.file.identity()
    }

    fn link_count(&self) -> io::Result<u64> {
        self.file.link_count()
    }
}
