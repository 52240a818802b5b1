//! Keeping a prompt, with what it received: after a restart that alone says what its conversation
//! has.

use crate::operations::sessions::HookReport;
use crate::operations::sessions::prompts::{
    BLOCKS, SHORTENED, prompt_filter, read_detail, received_block,
};
use crate::prelude::*;

/// What a conversation has of memory.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenMemories {
    /// All that they say is in it.
    pub(super) whole: BTreeSet<RecordId>,
    /// A sentence of each is in it: a prompt may still need the rest.
    pub(super) in_part: BTreeSet<RecordId>,
}

impl SeenMemories {
    /// Returns whether anything of a memory is in the conversation.
    pub(super) fn contains(&self, id: &RecordId) -> bool {
        self.whole.contains(id) || self.in_part.contains(id)
    }

    /// Removes what others have.
    pub(super) fn remove(&mut self, other: &Self) {
        self.whole.retain(|id| !other.whole.contains(id));
        self.in_part.retain(|id| !other.in_part.contains(id));
    }

    /// Counts the memories of which anything is in it.
    pub(super) fn count(&self) -> usize {
        self.whole.union(&self.in_part).count()
    }
}

/// Longest time between a program's prompt and its record.
const KEPT_WITHIN: TimeDelta = TimeDelta::seconds(5);

impl Memory {
    /// Notes of a prompt whose program went on without the answer, if it is stored as answered,
    /// that nothing of that was received.
    pub(super) async fn note_undelivered(&self, report: &HookReport) -> Result<(), Problem> {
        let Some(at) = report
            .at
            .filter(|_| !report.session.is_empty() && self.exists())
        else {
            return Ok(());
        };
        let session = report.session.clone();
        let said = self.words_record(report, &report.text, RecordType::Prompt);
        let said = Redactor::new().redact_text(&said.text).text;
        let find = move |memory: &Snapshot| {
            let prompts = list_session_prompts(memory, &session);
            let answered = prompts.iter().filter(|prompt| {
                prompt.text == said
                    && received_block(memory, prompt, BLOCKS[0]).is_some()
                    && (prompt.timestamp - at).abs() <= KEPT_WITHIN
            });
            let nearest = answered.min_by_key(|prompt| (prompt.timestamp - at).abs());
            nearest.map(|prompt| prompt.id)
        };
        let Some(prompt) = self.run_on_snapshot(find).await? else {
            return Ok(());
        };
        let now = self.now();
        let mark = move |engine: &mut Engine| engine.mark_undelivered(prompt, now);
        self.run_on_engine(mark).await??;
        Ok(())
    }

    /// Stores a prompt. One that is said again and receives something is a prompt of its own,
    /// unless its program went on without the answer and has told of it already.
    pub(super) async fn store_prompt(&self, record: NewRecord) -> Result<(), Problem> {
        if !self.may_be_stored(&record).await? {
            return Ok(());
        }
        let again = has_received(&record).then(|| record.clone());
        let fate = self.store_words_again(record, 1).await?;
        let (Some(again), RecordFate::Duplicate { .. }) = (again, fate) else {
            return Ok(());
        };
        let session = again.session_id.clone();
        if self.run_on_session(&session, |session| session.is_late(self.request_key())) {
            return Ok(());
        }
        let said = self.run_on_snapshot(move |memory| list_session_prompts(memory, &session).len());
        self.store_words_again(again, said.await? + 1)
            .await
            .map(drop)
    }
}

/// Returns whether a prompt notes that it received something.
fn has_received(prompt: &NewRecord) -> bool {
    let details = prompt.details.as_ref();
    details.is_some_and(|noted| BLOCKS.iter().any(|name| noted.get(name).is_some()))
}

/// Lists the prompts of a session, oldest first.
fn list_session_prompts(memory: &Snapshot, session: &str) -> Vec<MemoryRecord> {
    memory.list_matching_records(&prompt_filter(Some(session)))
}

/// Returns the memories that a session began with and that its prompts received, since its
/// conversation was shortened: by what its prompts note, and at the given moment.
pub(super) fn list_received(
    memory: &Snapshot,
    session: &str,
    shortened: Option<DateTime<Utc>>,
) -> SeenMemories {
    let prompts = list_session_prompts(memory, session);
    let noted = prompts.iter();
    let noted = noted.filter_map(|prompt| read_detail(prompt, SHORTENED));
    let shortened: Option<DateTime<Utc>> = noted.chain(shortened).max();
    let blocks = prompts.iter().flat_map(|prompt| {
        let names = BLOCKS.into_iter();
        names.filter_map(|name| received_block(memory, prompt, name))
    });
    let mut seen = SeenMemories::default();
    for block in blocks.filter(|block| shortened.is_none_or(|at| block.at > at)) {
        for line in block.list_lines() {
            let found = || memory.get(line.id).and_then(Result::ok);
            let is_whole = line
                .excerpt
                .is_none_or(|part| found().is_none_or(|found| part.says_it_all(&found.text)));
            let seen = if is_whole {
                &mut seen.whole
            } else {
                &mut seen.in_part
            };
            seen.insert(line.id);
        }
    }
    seen
}
