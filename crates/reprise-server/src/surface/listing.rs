//! Memory page by page.

use reprise_types::{Calendar, UserId};

use super::Surface;
use crate::problem::Problem;
use crate::wire::{ListBody, Listed};

impl Surface {
    /// A page of the live records, the newest first.
    pub async fn list(&self, user: &UserId, body: &ListBody) -> Result<Listed, Problem> {
        let body = ListBody {
            tag: self.tag_rules.resolve(&body.tag),
            ..body.clone()
        };
        let calendar = self.calendar();
        let page = self.read(user, move |memory| body.page(memory, &calendar));
        page.await?.map_err(Problem::invalid)
    }

    /// The days of whoever asks: those of this machine.
    pub(super) fn calendar(&self) -> Calendar {
        Calendar::of_machine(self.clock.now())
    }
}
