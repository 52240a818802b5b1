//! Forgetting what a selector names.

use std::borrow::Cow;

use reprise_engine::{Engine, EngineError, ForgetSelector};
use reprise_types::{Calendar, ExternalId, RecordId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use crate::catalogue::{Operation, Profile, Spec, post};
use crate::memories::{Memory, span};
use crate::problem::Problem;

/// What is to be forgotten: exactly one of the four.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The record with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The record with this external id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// All records of this session.
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// All that happened before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Why; the audit stub keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Arguments {
    /// The selectors to try, in order: an external id may have come from the batch contract or from
    /// an event log.
    pub fn selectors(&self, calendar: &Calendar) -> Result<Vec<ForgetSelector>, String> {
        match (self.id, &self.external_id, &self.session, &self.before) {
            (Some(id), None, None, None) => Ok(vec![ForgetSelector::Id(id)]),
            (None, Some(external), None, None) => {
                let named = |space| ForgetSelector::External(ExternalId::new(space, external));
                Ok(ExternalId::NAMED.map(named).into())
            }
            (None, None, Some(session), None) => Ok(vec![ForgetSelector::Session(session.clone())]),
            (None, None, None, Some(before)) => {
                let before = calendar.since(before).map_err(|error| error.to_string())?;
                Ok(vec![ForgetSelector::Before(before)])
            }
            _ => Err("name one of id, external_id, session and before".to_owned()),
        }
    }
}

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forgotten {
    /// Newest first; may be nothing.
    pub forgotten: Vec<RecordId>,
}

/// The operation.
#[derive(Debug)]
pub struct Forget;

impl Operation for Forget {
    const SPEC: Spec = Spec::destroys(
        "forget",
        "Forget by id, by external id, a whole session, or all before a time.",
    )
    .at(&[post("/v1/users/{user}/forget")])
    .tool("forget", Profile::Full);
    type Arguments = Arguments;
    type Answer = Forgotten;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Forgotten, Problem> {
        let selectors = arguments.selectors(&memory.calendar());
        let selectors = selectors.map_err(Problem::invalid)?;
        let now = memory.now();
        let reason = arguments.reason;
        let reason = reason.unwrap_or_else(|| "asked for by a client".to_owned());
        let forget = move |engine: &mut Engine| {
            for selector in &selectors {
                let gone = engine.forget(selector, &reason, now)?;
                if !gone.is_empty() {
                    return Ok(gone.iter().map(|gone| gone.id).collect());
                }
            }
            Ok(Vec::new())
        };
        forgotten(memory, forget).await
    }

    fn text(done: &Forgotten) -> Cow<'_, str> {
        format!("{} records forgotten", done.forgotten.len()).into()
    }
}

/// Forgets by `forget`, which answers what is gone, and tells of it.
pub(super) async fn forgotten(
    memory: &Memory,
    forget: impl FnOnce(&mut Engine) -> Result<Vec<RecordId>, EngineError> + Send + 'static,
) -> Result<Forgotten, Problem> {
    let span = span("delete_memory", memory.user());
    let forgotten = memory.with_engine(forget).instrument(span).await??;
    if !forgotten.is_empty() {
        memory.tell("forgotten", forgotten.clone());
    }
    Ok(Forgotten { forgotten })
}
