//! What a person at a terminal sees while memory takes long: nothing for a second, then a line that
//! counts the seconds until the answer is there.

use std::pin::pin;

use indicatif::ProgressStyle;
use tokio::time::timeout;

use crate::cli::prelude::*;

/// An answer within this time needs no progress.
const QUIET: Duration = Duration::from_secs(1);
/// Pause between two drawings of the progress.
const REDRAW: Duration = Duration::from_millis(200);
/// In this process nobody else waits for the answer: the model may take as long as it needs.
pub(super) const IN_PROCESS: Duration = Duration::from_hours(1);

/// Waits for an answer, with progress on stderr if that is a terminal. The answering side bounds
/// the time.
pub(super) async fn show_progress<T>(answer: impl Future<Output = T>) -> T {
    let mut bar = None;
    let answered = redraw_while_waiting(answer, || bar.get_or_insert_with(start_bar).tick()).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    answered
}

fn start_bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    let text = "waiting for memory, {elapsed}: the model is being loaded, or the machine is busy";
    match ProgressStyle::with_template(text) {
        Ok(style) => bar.with_style(style).with_elapsed(QUIET),
        Err(_) => bar,
    }
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
