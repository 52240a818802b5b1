//! A user's whole file: brought together with a branch of it, or let go of for another program.
//!
//! Must never live here: copying or replacing a file.

use reprise_engine::Engine;
use reprise_types::{RecordId, UserId};

use super::{Change, Surface};
use crate::problem::Problem;
use crate::wire::MergeReport;

/// The name under which a branch knows its parent.
#[must_use]
pub fn fork_stream(parent: &UserId) -> String {
    format!("fork/{parent}")
}

impl Surface {
    /// Brings what only `branch`, a branch of this user's memory, has into it.
    pub(crate) async fn merge(
        &self,
        user: &UserId,
        branch: &UserId,
    ) -> Result<MergeReport, Problem> {
        self.refuse_unknown(user)?;
        let stream = fork_stream(user);
        let is_branch = move |engine: &mut Engine| engine.cursor(&stream).is_some();
        if !self.with_engine(branch, is_branch).await? {
            return Err(Problem::invalid(format!(
                "`{branch}` is a memory, but no branch of `{user}`; `reprise branch list` names them"
            )));
        }
        let (theirs, now) = (self.snapshot(branch).await?, self.clock.now());
        let merge = move |engine: &mut Engine| engine.merge(&theirs, now);
        let report = MergeReport::from(self.with_engine(user, merge).await??);
        if report.added + report.retagged > 0 {
            let ids: Vec<RecordId> = Vec::new();
            let (user, what) = (user.clone(), "merged");
            self.tell(Change { user, what, ids });
        }
        Ok(report)
    }

    /// Closes a user's file, so that another program can have it; the next request opens it again.
    pub(crate) async fn release(&self, user: &UserId) -> Result<(), Problem> {
        Ok(self.service.release(user).await?)
    }
}
