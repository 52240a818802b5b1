//! What is known already of what a new record says.

use reprise_knowledge::{find_contradictions, find_known_matches};

use super::names::RecordNames;
use crate::prelude::*;

/// A record that a new one has to do with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Known")]
pub struct KnownRecord {
    pub id: RecordId,
    /// Why both cannot hold; null where it says the same or is only similar.
    pub contrary: Option<String>,
    /// Why it is only similar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similar: Option<String>,
    /// What it says, as far as a line goes.
    pub text: String,
}

impl Memory {
    /// What said the same as a record, or the contrary, before it came.
    pub(crate) async fn list_known_records(
        &self,
        id: RecordId,
    ) -> Result<Vec<KnownRecord>, Problem> {
        let for_agent = self.is_agent;
        let look = move |memory: &Snapshot| {
            let names = RecordNames { memory, for_agent };
            let found = find_known_matches(memory, id).into_iter();
            let told = found.map(|known| KnownRecord {
                text: names.record_text(known.id),
                id: known.id,
                contrary: known.contrary,
                similar: known.similar,
            });
            told.collect()
        };
        self.run_on_snapshot(look).await
    }

    /// Notes which known records a new one contradicts, so that no answer gives the older one as if
    /// it still held. What goes wrong here is left to the next tending.
    pub(in crate::operations) async fn note_contradictions(&self, id: RecordId) {
        let now = self.now();
        let look = move |memory: &Snapshot| find_contradictions(memory, id);
        let noted = async {
            let pairs = self.run_on_snapshot(look).await?;
            if pairs.is_empty() {
                return Ok(());
            }
            let note = move |engine: &mut Engine| engine.mark_contradictions(&pairs, now);
            self.run_on_engine(note).await??;
            Ok::<(), Problem>(())
        };
        if let Err(problem) = noted.await {
            tracing::warn!(%problem, "a contradiction was not noted");
        }
    }
}
