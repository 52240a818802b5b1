//! What a prompt was given, kept with the prompt: what was found for it, what of that was put into
//! it, and why the rest was not.

use reprise_types::Verdict;

use crate::prelude::*;

/// Found records that are noted, beside those that were put into the prompt.
pub(super) const NOTED: usize = 12;

/// Why a found record was not put into a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// It is not likely enough to help, or does not hold where the prompt was written.
    Weak,
    /// It belongs to another project.
    OtherProject,
    /// The session's own words.
    SameSession,
    /// An earlier prompt of the session has it.
    Seen,
    /// Better ones took the room there is.
    NoRoom,
}

/// A record that came up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noted {
    /// Which.
    pub id: RecordId,
    /// How likely it was to answer, 0..1.
    pub score: f32,
    /// Why it was not put into the prompt; nothing where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// What one recall gave to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Given {
    /// The recall: an outcome names it.
    pub recall_id: RecallId,
    /// What was made of its best result.
    pub verdict: Verdict,
    /// Best first.
    pub found: Vec<Noted>,
}

impl Given {
    /// The `details` of a prompt that was given this, or nothing in time.
    pub(super) fn details(given: Option<&Self>) -> Value {
        let mut details = json!({ "type": MemoryRecord::PROMPT });
        if let Some(given) = given {
            details["given"] = json!(given);
        }
        details
    }

    /// What stands in a prompt's record; `None` where it was given nothing, or before this was
    /// noted.
    pub(crate) fn of(record: &MemoryRecord) -> Option<Self> {
        let details = record.details.as_ref().filter(|_| record.is_prompt())?;
        serde_json::from_value(details.get("given")?.clone()).ok()
    }
}
