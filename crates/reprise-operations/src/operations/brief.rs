//! A recall as agents need it: light results first, `get` for the whole.

mod found;

use reprise_engine::{context_candidates, without_sensitive};
use reprise_types::{Degraded, Verdict};

use super::recall;
use crate::prelude::*;
use found::{Found, Place};

/// A light answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// The answer as text.
    #[serde(skip)]
    pub text: String,
    /// The receipt: an outcome names it.
    pub recall_id: RecallId,
    /// What may be made of the best.
    pub verdict: Verdict,
    /// Not even the best is likely to be relevant.
    pub nothing_relevant: bool,
    /// What the answer had to do without.
    pub degraded: Vec<Degraded>,
    /// How the question or the filter was understood.
    pub notes: Vec<String>,
    /// Tokens of the text, four bytes each.
    pub tokens: usize,
    /// More was found than fits.
    pub truncated: bool,
    /// How long the recall took, in milliseconds.
    pub elapsed_ms: f64,
    /// What would go into a prompt, best first, then what is only related.
    pub results: Vec<Value>,
}

operation! {
    Spec::reads(
        "brief",
        "Find what is known. Results are light; `get` gives the whole.",
    )
    .tool("recall", Profile::Lean)
    .also(&["search"]);
    /// A question.
    #[derive(Default)]
    RecallBriefly(memory, arguments: Arguments {
        /// In the user's words.
        #[serde(alias = "text")]
        pub query: String,
        /// Results; 5 by default.
        #[serde(alias = "top_k")]
        pub limit: Option<usize>,
        /// Which records may answer.
        #[serde(flatten)]
        pub filter: Filter,
        /// Answer as memory stood at this time.
        #[schemars(extend("x-rare" = true))]
        pub as_of: Option<String>,
        /// Whose knowledge: the user's own, what others published, or both.
        #[schemars(extend("x-rare" = true))]
        pub scope: Option<RecallScope>,
        /// Where you are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub context: Vec<String>,
        /// Leave out lessons that do not hold there.
        #[schemars(extend("x-rare" = true))]
        pub applying: bool,
        /// Whole texts.
        pub full: bool,
        /// Of the answer.
        #[serde(alias = "budget")]
        pub max_tokens: Option<usize>,
    }) -> Brief {
        let Arguments {
            full, max_tokens, ..
        } = arguments;
        let limit = max_tokens.map_or(TOP_K_DEFAULT, context_candidates);
        let asked = recall::RecallArguments {
            query: arguments.query,
            limit: Some(arguments.limit.unwrap_or(limit)),
            filter: arguments.filter,
            as_of: arguments.as_of,
            scope: arguments.scope,
            context: arguments.context,
            applying: arguments.applying,
            ..recall::RecallArguments::default()
        };
        let began = Instant::now();
        let mut found = recall::found(memory, &asked).await?;
        let sensitive = without_sensitive(&mut found);
        if sensitive > 0 {
            let count = counted(sensitive, "sensitive record");
            found.notes.push(format!(
                "{count} left out; `reprise recall` shows what they say, and `get` with an id"
            ));
        }
        found.results.retain(RetrievedMemory::is_related);
        found.results.sort_by_key(|one| !one.shown);
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        let place = Place {
            here: &asked.context,
            question: &asked.query,
            calendar: memory.calendar(),
        };
        let shown = Found::of(&found, &place, full, max_tokens, system_entropy());
        Ok(Brief {
            tokens: found::tokens(shown.text.len()),
            text: shown.text,
            recall_id: found.recall_id,
            verdict: found.verdict,
            nothing_relevant: found.nothing_relevant,
            degraded: found.degraded,
            notes: found.notes,
            truncated: shown.truncated,
            elapsed_ms,
            results: shown.results,
        })
    }

    fn text(brief: &Brief) -> Cow<'_, str> {
        brief.text.as_str().into()
    }
}

/// What a recall of these says, cut to `most` tokens.
#[cfg(test)]
pub(super) fn quoted(results: Vec<RetrievedMemory>, most: Option<usize>, full: bool) -> String {
    let mut recall = reprise_types::Recall::nothing(RecallId::from_u128(7));
    recall.results = results;
    let place = Place {
        here: &[],
        question: "",
        calendar: Calendar {
            now: DateTime::UNIX_EPOCH,
            zone: reprise_types::Zone::Utc,
        },
    };
    Found::of(&recall, &place, full, most, 7).text
}
