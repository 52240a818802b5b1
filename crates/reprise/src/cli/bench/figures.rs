//! What every bench takes from its times and its process.

use std::path::Path;

/// Resident memory of this process, in bytes; 0 where the machine does not say.
pub(super) fn resident_bytes() -> u64 {
    resident_bytes_of(Path::new("/proc/self/status"))
}

/// The same of the process with this status file.
pub(super) fn resident_bytes_of(status: &Path) -> u64 {
    let status = fs_err::read_to_string(status).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The value below which `share` (0..1) of the sorted values lie.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((share * last as f64).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}
