//! What a status bar shows of a session: how many memories its prompts received, how many it has
//! left, and when the last one was stored.

use crate::operations::sessions::HookAnswer;
use crate::prelude::*;

/// Between the parts of the line.
const BETWEEN: &str = " \u{b7} ";

impl Memory {
    /// Builds the line of a session's status bar.
    pub(super) async fn build_status_line(&self, session: &str) -> Result<HookAnswer, Problem> {
        let received = self.find_seen(session).await?.count();
        let filter = MemoryFilter {
            session_id: Some(session.to_owned()).filter(|session| !session.is_empty()),
            ..MemoryFilter::default()
        };
        let kept = if self.exists() {
            let newest = move |memory: &Snapshot| {
                let page = memory.list(&ListRequest {
                    filter,
                    limit: 1,
                    after: None,
                });
                let newest = page.records.first().map(|record| record.timestamp);
                (page.considered, newest)
            };
            self.run_on_snapshot(newest).await?
        } else {
            (0, None)
        };
        let context = format_line(received, kept, self.now());
        Ok(HookAnswer { context })
    }
}

/// Formats the line: memories that its prompts received, memories that it left, and the time of the
/// newest.
fn format_line(
    received: usize,
    (kept, newest): (u32, Option<DateTime<Utc>>),
    now: DateTime<Utc>,
) -> String {
    let mut line = format!("memory: {received} in{BETWEEN}{kept} kept");
    if let Some(newest) = newest {
        let age = format_age(now - newest);
        line.push_str(&[BETWEEN, "saved ", &age, " ago"].concat());
    }
    line
}

/// Formats a time in its largest whole unit.
fn format_age(age: TimeDelta) -> String {
    let seconds = age.num_seconds().max(0);
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let unit = units.iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = unit.copied().unwrap_or((1, "s"));
    format!("{} {name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_came_in_what_was_kept_and_when() {
        let now = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(3);
        let before = |seconds| Some(now - TimeDelta::seconds(seconds));
        assert_eq!(format_line(0, (0, None), now), "memory: 0 in \u{b7} 0 kept");
        let cases = [
            (0, "0 s"),
            (12, "12 s"),
            (119, "1 min"),
            (7_200, "2 h"),
            (172_800, "2 d"),
        ];
        for (seconds, age) in cases {
            let line = format_line(3, (41, before(seconds)), now);
            let expected = format!("memory: 3 in \u{b7} 41 kept \u{b7} saved {age} ago");
            assert_eq!(line, expected);
        }
    }
}
