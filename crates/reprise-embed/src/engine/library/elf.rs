//! Whether an ELF file is all there. The loader maps segments without looking at the file's length,
//! and a process that then touches a missing page is killed by the system, which no guard catches.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use reprise_files::{Access, open_path};

/// Length of the 64-bit header, in bytes.
const HEADER_BYTES: usize = 64;
/// `e_ident`: the magic, then 64 bit, then little endian: all that ONNX Runtime is published for.
const IDENTITY: &[u8; 6] = b"\x7fELF\x02\x01";
/// `p_type` of a segment that is mapped.
const LOAD: u64 = 1;

/// Reads the program headers and compares the mapped segments' ends with the file's length.
pub(super) fn is_whole(path: &Path) -> std::io::Result<bool> {
    let mut file = open_path(path, Access::Read)?;
    let file_bytes = file.metadata()?.len();
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    if !header.starts_with(IDENTITY) {
        return Ok(false);
    }
    // e_phoff, e_phentsize, e_phnum.
    let table_start = number(&header, 32, 8);
    let entry_bytes = number(&header, 54, 2);
    let entries = number(&header, 56, 2);
    // 16-bit factors: the product cannot overflow.
    let table_bytes = entry_bytes * entries;
    let table_end = table_start.checked_add(table_bytes);
    if entries == 0 || entry_bytes < 56 || table_end.is_none_or(|end| end > file_bytes) {
        return Ok(false);
    }
    let mut table = vec![0; table_bytes as usize];
    file.seek(SeekFrom::Start(table_start))?;
    file.read_exact(&mut table)?;
    // p_type, p_offset, p_filesz.
    let is_inside = |entry: &[u8]| {
        number(entry, 0, 4) != LOAD
            || number(entry, 8, 8)
                .checked_add(number(entry, 32, 8))
                .is_some_and(|end| end <= file_bytes)
    };
    Ok(table.chunks_exact(entry_bytes as usize).all(is_inside))
}

/// A little-endian number of `size` bytes; bytes that are not there are zero.
fn number(bytes: &[u8], start: usize, size: usize) -> u64 {
    let digits = bytes.iter().skip(start).take(size);
    digits
        .rev()
        .fold(0, |number, digit| number << 8 | u64::from(*digit))
}
