//! Waiting for what another process or another task makes: looked at again and again until it is
//! there.
//!
//! The one bound of such waits, and what the last look saw when it gives up.

use std::fmt::Debug;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// No machine that the README names needs as long: a test that waits so long waits for ever.
pub const PATIENCE: Duration = Duration::from_mins(5);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// What `look` returns once it is there. Panics with what it saw last where that never comes.
#[track_caller]
pub fn wait_for<T, E: Debug>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let since = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) => refuse_late(what, since, &seen),
        }
        sleep(PAUSE);
    }
}

/// As [`wait_for`], for what is asked on a runtime, which goes on meanwhile.
pub async fn wait_for_async<T, E: Debug>(
    what: &str,
    mut look: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let since = Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) => refuse_late(what, since, &seen),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// `seen` as an error until it `holds`, for the functions that wait.
pub fn seen_if<T>(holds: bool, seen: T) -> Result<T, T> {
    if holds { Ok(seen) } else { Err(seen) }
}

/// Fails the test once the wait was too long.
#[track_caller]
fn refuse_late(what: &str, since: Instant, seen: &impl Debug) {
    let message = late_message(what, since.elapsed(), seen);
    assert!(message.is_none(), "{}", message.unwrap_or_default());
}

fn late_message(what: &str, waited: Duration, seen: &impl Debug) -> Option<String> {
    let seconds = waited.as_secs();
    (waited >= PATIENCE)
        .then(|| format!("{what}: not there after {seconds} s; the last look saw {seen:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_is_waited_for() {
        let mut looks = 0;
        let found = wait_for("the third look", || {
            looks += 1;
            seen_if(looks == 3, looks)
        });
        assert_eq!(found, 3);
    }

    #[test]
    fn what_never_comes_is_told_with_the_last_answer() {
        let message = late_message("a record", PATIENCE, &"no memory");
        assert_eq!(
            message.as_deref(),
            Some("a record: not there after 300 s; the last look saw \"no memory\"")
        );
        assert_eq!(late_message("a record", PAUSE, &"no memory"), None);
    }
}
