//! A second pair of eyes: what a member publishes for an organisation that asks for reviews waits
//! until another member has approved it, and so does what says nearly the same as what was taken
//! down, no matter who publishes it.

use chrono::{DateTime, Utc};
use reprise_types::{RecordId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Shelf};
use crate::error::{GlobalError, GlobalResult};
use crate::published::Published;
use crate::record::{Publication, Version};
use crate::takedown::{REASON_BYTES_MAX, check_reason};

/// Most publications of one author that wait for a review in one organisation.
const SUBMISSIONS_MAX: usize = 50;

/// What an organisation asks of those who publish for its members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrganisationSettings {
    /// What a member publishes for the organisation is found by its author alone until another
    /// member has approved it.
    pub review: bool,
}

/// A publication that waits for a review, as a reviewer reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Submission {
    /// The id of the publication: the one that it will have, or has in its earlier versions.
    pub id: RecordId,
    pub author: UserId,
    /// The version that it becomes once it is approved.
    pub version: Version,
    pub submitted_at: DateTime<Utc>,
    /// SHA-256 of its bytes, in hex.
    pub checksum: String,
    pub publication: Publication,
    /// What was taken down and says nearly the same, if it waits for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_taken_down: Option<RecordId>,
}

/// What of the caller's waits for a review, or was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnSubmission {
    pub id: RecordId,
    pub version: Version,
    /// Its title and when it was submitted, while it waits; nothing of what was refused is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<DateTime<Utc>>,
    /// What was taken down and says nearly the same, if it waits for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_taken_down: Option<RecordId>,
    /// Why it was refused; `None` while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What a reviewer says of a publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmissionVerdict {
    /// Publish it for the members of the organisation; otherwise it is refused.
    pub approve: bool,
    /// Why: its author reads it, and it stays in the audit log. A refusal needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = REASON_BYTES_MAX), regex(pattern = r"^[^\x00-\x1f\x7f-\x9f]*$"))]
    pub reason: Option<String>,
}

impl SubmissionVerdict {
    pub fn check(&self) -> GlobalResult<()> {
        match &self.reason {
            Some(reason) => check_reason(reason),
            None if self.approve => Ok(()),
            None => Err(GlobalError::invalid(
                "a refusal needs a reason, which its author reads; say what to change",
            )),
        }
    }
}

/// Why a publication waits for a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewCause {
    /// The organisation asks for a second pair of eyes.
    Organisation,
    /// It says nearly the same as this, which was taken down.
    NearTakenDown(RecordId),
}

impl ReviewCause {
    /// Returns what was taken down and says nearly the same.
    pub fn near_taken_down(self) -> Option<RecordId> {
        match self {
            Self::Organisation => None,
            Self::NearTakenDown(id) => Some(id),
        }
    }
}

/// What became of a thing on which a reviewer or an operator decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionReport {
    /// What it was called before.
    pub id: RecordId,
    pub author: UserId,
    /// Its report as it is published now; `None` if it was refused, or if nothing was held of what
    /// was taken down, so that its author may publish it again.
    pub published: Option<Published>,
}

/// Returns the organisation's shelf of a caller; refuses a caller without an organisation.
pub fn organisation_shelf(caller: &Caller) -> GlobalResult<Shelf> {
    caller.org.clone().map(Shelf::Org).ok_or_else(|| {
        GlobalError::invalid(format!(
            "user `{}` is in no organisation, and only an organisation asks for reviews; ask with \
             a token of a member",
            caller.user
        ))
    })
}

/// Refuses the review of one's own publication.
pub fn check_reviewer(author: &UserId, reviewer: &UserId, id: RecordId) -> GlobalResult<()> {
    if author != reviewer {
        return Ok(());
    }
    Err(GlobalError::Conflict {
        message: format!("{id} is yours; somebody else reviews it"),
    })
}

/// Refuses one more submission of an author who has as many as may wait.
pub fn check_submission_count(waiting: usize) -> GlobalResult<()> {
    if waiting < SUBMISSIONS_MAX {
        return Ok(());
    }
    Err(GlobalError::Conflict {
        message: format!(
            "{SUBMISSIONS_MAX} of your publications wait for a review, which is the limit; take one \
             back, or ask a reviewer to review them"
        ),
    })
}

/// Says that a publication was refused with these very bytes.
pub fn refused_before_error(id: RecordId, reason: &str) -> GlobalError {
    GlobalError::Conflict {
        message: format!("{id} was refused in a review ({reason}); change it and publish it again"),
    }
}

/// Says that a publication is not what its reviewer read.
pub fn submission_changed_error(id: RecordId) -> GlobalError {
    GlobalError::Conflict {
        message: format!("{id} was changed by its author meanwhile; read it again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_a_reason_and_nobody_reviews_his_own() {
        let verdict = |approve: bool, reason: Option<&str>| SubmissionVerdict {
            approve,
            reason: reason.map(str::to_owned),
        };
        assert!(verdict(true, None).check().is_ok());
        assert!(verdict(false, Some("names a customer")).check().is_ok());
        for bad in [None, Some(""), Some("a\nb")] {
            assert!(verdict(false, bad).check().is_err(), "{bad:?}");
        }
        let (ann, bob): (UserId, UserId) = ("ann".parse().unwrap(), "bob".parse().unwrap());
        let id = RecordId::from_u128(1);
        assert!(check_reviewer(&ann, &bob, id).is_ok());
        assert!(check_reviewer(&ann, &ann, id).is_err());
        assert!(check_submission_count(SUBMISSIONS_MAX - 1).is_ok());
        assert!(check_submission_count(SUBMISSIONS_MAX).is_err());
    }
}
