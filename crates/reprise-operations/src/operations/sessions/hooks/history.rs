//! Outcomes read from a session that is over: where its tests judged what was done after a prompt,
//! the memories that the prompt had received and that left a trace learn from that. What was in no
//! prompt gets no credit: two sessions that edit the same file need not know of each other.

use reprise_knowledge::find_test_verdict;

use super::notes::{SAID_BYTES_MAX, SessionTrace};
use super::quality_by_tests;
use crate::operations::sessions::prompts::{InjectedBlock, PromptRecall, read_detail};
use crate::prelude::*;

/// A prompt that received memories, what was said and done after it, and how its last test went.
#[derive(Debug, Clone)]
struct JudgedPrompt {
    recall_id: RecallId,
    /// What was put into it.
    put_in: Vec<RecordId>,
    prompt: String,
    said: String,
    passed: Option<bool>,
    /// When its last test ended.
    at: DateTime<Utc>,
}

impl JudgedPrompt {
    /// Reads what a prompt received; `None` if that was nothing.
    fn of(prompt: &MemoryRecord) -> Option<Self> {
        let block: InjectedBlock = read_detail(prompt, "block")?;
        Some(Self {
            recall_id: PromptRecall::of(prompt)?.recall_id,
            put_in: block.list_lines().map(|line| line.id).collect(),
            prompt: prompt.text.clone(),
            said: String::new(),
            passed: None,
            at: prompt.timestamp,
        })
    }
}

/// The prompts of a session that received memories and that a test judged; `turns` in their order.
fn judge_prompts(turns: Vec<MemoryRecord>) -> Vec<JudgedPrompt> {
    let (mut all, mut last) = (Vec::new(), None::<JudgedPrompt>);
    for turn in turns {
        let what = turn.record_type();
        if what == RecordType::Prompt {
            all.extend(std::mem::replace(&mut last, JudgedPrompt::of(&turn)));
            continue;
        }
        let Some(last) = &mut last else { continue };
        if let Some(passed) = find_test_verdict(&turn) {
            (last.passed, last.at) = (Some(passed), turn.timestamp);
        }
        if last.said.len() + turn.text.len() < SAID_BYTES_MAX {
            last.said.push_str(&["\n", &turn.text].concat());
        }
    }
    all.extend(last);
    all.retain(|one| one.passed.is_some());
    all
}

impl Memory {
    /// Learns from how the tests of a session went. Returns how many outcomes are new.
    pub(crate) async fn learn_from_history(&self, session: &str) -> Result<u64, Problem> {
        let filter = MemoryFilter {
            session_id: Some(session.to_owned()),
            ..MemoryFilter::default()
        };
        let read = self.run_on_snapshot(move |memory| {
            let mut turns = memory.list_matching_records(&filter);
            turns.sort_by_key(|turn| (turn.timestamp, turn.id));
            judge_prompts(turns)
        });
        let mut learned = 0;
        for one in read.await? {
            // A session that went on to its end has learned it under the same name.
            let line = OutcomeLine {
                recall_id: Some(one.recall_id),
                query: Some(one.prompt.clone()),
                quality: quality_by_tests(one.passed),
                ..OutcomeLine::default()
            };
            let trace = SessionTrace {
                said: one.said,
                ..SessionTrace::default()
            };
            let told = self
                .learn_from_traced(one.put_in, one.prompt, trace, line, one.at)
                .await?;
            learned += told.map_or(0, |told| told.learned);
        }
        Ok(learned)
    }
}
