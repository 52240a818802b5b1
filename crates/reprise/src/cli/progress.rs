//! What a person at a terminal sees while a command works: one line on stderr, drawn over and over.
//! While memory takes long it is nothing for a second, and then it counts the seconds.

use std::io::IsTerminal;
use std::pin::pin;

use tokio::time::timeout;

use crate::cli::prelude::*;

/// Cells of a bar.
const BAR: u64 = 30;
/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;
/// Shortest time between two drawings of a line that changes with each item.
const DRAWN_ONCE_IN: Duration = Duration::from_millis(100);
/// What puts the cursor at the beginning of an empty line.
const CLEAR: &str = "\r\u{1b}[K";

/// An answer within this time needs no progress.
const QUIET: Duration = Duration::from_secs(1);
/// Pause between two drawings of the progress.
const REDRAW: Duration = Duration::from_millis(200);
/// In this process nobody else waits for the answer: the model may take as long as it needs.
pub(super) const IN_PROCESS: Duration = Duration::from_hours(1);

/// Waits for an answer, with progress on stderr if that is a terminal. The answering side bounds
/// the time.
pub(super) async fn show_progress<T>(answer: impl Future<Output = T>) -> T {
    let mut line = ProgressLine::start();
    redraw_while_waiting(answer, || {
        line.draw(|took| {
            let seconds = took.as_secs();
            format!(
                "waiting for memory, {seconds} s: the model is being loaded, or the machine is busy"
            )
        });
    })
    .await
}

/// A line of progress on stderr; nothing where that is no terminal. It is cleared when dropped.
#[derive(Debug)]
pub(super) struct ProgressLine {
    is_shown: bool,
    began: Instant,
    drawn: Option<Instant>,
}

impl ProgressLine {
    pub(super) fn start() -> Self {
        Self {
            is_shown: io::stderr().is_terminal(),
            began: Instant::now(),
            drawn: None,
        }
    }

    pub(super) fn is_hidden(&self) -> bool {
        !self.is_shown
    }

    /// Draws the line, unless it was drawn a moment ago; `text` gets the time since the start.
    pub(super) fn draw(&mut self, text: impl FnOnce(Duration) -> String) {
        let is_due = |at: Instant| at.elapsed() >= DRAWN_ONCE_IN;
        if self.is_shown && self.drawn.is_none_or(is_due) {
            self.drawn = Some(Instant::now());
            let size = terminal_size::terminal_size_of(io::stderr());
            let columns = size.map_or(COLUMNS, |(width, _)| usize::from(width.0));
            // A line that wraps would not be cleared as a whole.
            let text = text(self.began.elapsed());
            let text: String = text.chars().take(columns.saturating_sub(1)).collect();
            write_to_terminal(&text);
        }
    }

    /// Draws a bar with how much is done, how fast, and how long the rest will take.
    pub(super) fn draw_count(&mut self, done: u64, total: u64) {
        self.draw(|took| render_count(done, total, took));
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            write_to_terminal("");
        }
    }
}

/// Writes this in place of the line of progress.
fn write_to_terminal(text: &str) {
    // The printer lets nothing pass that clears a line; the text is ours.
    let mut out = io::stderr().lock();
    // Progress that cannot be shown is no failure of the work.
    drop(write!(out, "{CLEAR}{text}").and_then(|()| out.flush()));
}

fn render_count(done: u64, total: u64, took: Duration) -> String {
    let total = total.max(done).max(1);
    let filled = (done * BAR / total) as usize;
    let bar = [
        "\u{2588}".repeat(filled),
        "\u{2591}".repeat(BAR as usize - filled),
    ]
    .concat();
    let rate = done as f64 / took.as_secs_f64().max(f64::EPSILON);
    let left = match (total - done) as f64 / rate {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds.is_finite() => format!("{:.0} min", seconds / 60.0),
        _ => "?".to_owned(),
    };
    format!("{bar} {done} of {total}, {rate:.0}/s, {left} left")
}

/// Calls `draw` again and again once an answer is late.
async fn redraw_while_waiting<T>(answer: impl Future<Output = T>, mut draw: impl FnMut()) -> T {
    let mut answer = pin!(answer);
    let mut pause = QUIET;
    loop {
        if let Ok(answered) = timeout(pause, &mut answer).await {
            return answered;
        }
        draw();
        pause = REDRAW;
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_there_is_waited_for_without_a_word() {
        let mut drawings = 0;
        let answer = redraw_while_waiting(async { 7 }, || drawings += 1).await;
        assert_eq!((answer, drawings), (7, 0));
    }

    #[test]
    fn a_count_says_how_much_how_fast_and_how_long() {
        let line = render_count(1_500, 6_000, Duration::from_secs(10));
        let bar = ["\u{2588}".repeat(7), "\u{2591}".repeat(23)].concat();
        assert_eq!(line, format!("{bar} 1500 of 6000, 150/s, 30 s left"));
        let slow = render_count(1, 6_000, Duration::from_secs(10));
        assert!(slow.ends_with("1 of 6000, 0/s, 1000 min left"), "{slow}");
        let begun = render_count(0, 5, Duration::ZERO);
        assert!(begun.ends_with("0 of 5, 0/s, ? left"), "{begun}");
        let more = render_count(7, 5, Duration::from_secs(7));
        assert!(more.ends_with("7 of 7, 1/s, 0 s left"), "{more}");
    }

    #[tokio::test]
    async fn who_waits_longer_is_shown_that_something_happens() {
        let (answers, answer) = oneshot::channel();
        let (mut answers, mut drawings) = (Some(answers), 0);
        let draw = || {
            drawings += 1;
            if drawings == 2 {
                answers.take().unwrap().send(7).unwrap();
            }
        };
        assert_eq!(redraw_while_waiting(answer, draw).await, Ok(7));
        assert_eq!(drawings, 2);
    }
}
