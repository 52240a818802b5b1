//! `reprise-workspace serve`: answers the requests of the daemon that has started it, one JSON
//! object a line, until its input ends.

use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};

use reprise_workspace::TreeServer;
use reprise_workspace_types::{NumberedAnswer, NumberedRequest, TreeError, TreeErrorKind};

use crate::prelude::*;

/// Answers each request on a thread of its own; the last ones are answered after the input's end.
pub(crate) fn run() -> anyhow::Result<Exit> {
    let trees = TreeServer::new(Arc::new(SystemClock));
    std::thread::scope(|scope| {
        for line in io::stdin().lock().lines() {
            let NumberedRequest { number, request } =
                serde_json::from_str(&line?).context("a line of the input is no request")?;
            let trees = &trees;
            scope.spawn(move || {
                let answered = catch_unwind(AssertUnwindSafe(|| trees.answer(request)));
                let answer = answered.unwrap_or_else(|_| {
                    let said = "the workspace could not be used; run `recover` there";
                    Err(TreeError::new(TreeErrorKind::Internal, said))
                });
                // Nobody waits for the answer any more where the output is closed.
                drop(print_answer(&NumberedAnswer { number, answer }));
            });
        }
        Ok(Exit::Success)
    })
}

fn print_answer(answer: &NumberedAnswer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut output = io::stdout();
    output.write_all(&line)?;
    output.flush()
}
