//! When fetching failed last, so that every command after it does not wait for the same failure.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use reprise_types::{Clock, SystemClock};

/// The file whose time is that of the failure.
const FILE: &str = ".failed";
/// For so long nobody tries again unasked.
const WAIT: Duration = Duration::from_mins(10);

/// How long ago the last failure was, where that is not long; `None` also where the file's time is
/// one to come: clocks are set.
pub(super) fn recent(directory: &Path) -> Option<Duration> {
    let failed = fs::metadata(directory.join(FILE)).ok()?.modified().ok()?;
    let ago = now().duration_since(failed).ok()?;
    (ago < WAIT).then_some(ago)
}

fn now() -> SystemTime {
    SystemClock.now().into()
}

/// Remembers how the last attempt went. Where that cannot be written the next one tries again.
pub(super) fn note(directory: &Path, failed: bool) {
    let file = directory.join(FILE);
    // Made anew: an old file keeps its old time.
    let noted = fs::remove_file(&file).is_ok();
    let noted = noted | (failed && File::create(&file).is_ok());
    tracing::debug!(failed, noted, "the model was fetched for");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_remembered_for_a_while_and_a_success_forgets_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(recent(folder.path()), None);
        note(folder.path(), true);
        assert!(recent(folder.path()).is_some());
        let set = |at: SystemTime| {
            let file = File::options().write(true).open(folder.path().join(FILE));
            file.unwrap().set_modified(at).unwrap();
        };
        set(now() - WAIT);
        assert_eq!(recent(folder.path()), None, "long ago");
        set(now() + WAIT);
        assert_eq!(recent(folder.path()), None, "to come");
        note(folder.path(), true);
        assert!(recent(folder.path()).is_some());
        note(folder.path(), false);
        assert_eq!(recent(folder.path()), None);
    }
}
