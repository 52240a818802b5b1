//! Memory page by page.

use reprise_types::{Calendar, UserId};

use super::Surface;
use crate::problem::{Problem, ProblemKind};
use crate::wire::{ListBody, Listed};

impl Surface {
    /// A page of the live records, the newest first.
    pub async fn list(&self, user: &UserId, body: &ListBody) -> Result<Listed, Problem> {
        let snapshot = self.snapshot(user).await?;
        let body = ListBody {
            tag: self.tag_rules.resolve(&body.tag),
            ..body.clone()
        };
        let calendar = self.calendar();
        let page = tokio::task::spawn_blocking(move || body.page(&snapshot, &calendar));
        let page = page.await.map_err(|error| {
            Problem::new(
                ProblemKind::Internal,
                format!("the records could not be read ({error}); run `reprise check`"),
            )
        })?;
        page.map_err(Problem::invalid)
    }

    /// The days of whoever asks: those of this machine.
    pub(super) fn calendar(&self) -> Calendar {
        Calendar::of_machine(self.clock.now())
    }
}
