//! Outcomes read from a session that is over: where its tests judged what was done after a prompt,
//! the records of earlier sessions that left a trace in it learn from that, as if they had been
//! recalled then.

use super::notes::SAID_BYTES_MAX;
use super::{CANDIDATES, is_foreign, quality_by_tests};
use crate::prelude::*;

/// How a passed run's record ends.
const PASSED: &str = "` passed";

/// A prompt, what was said and done after it, and how its last test went.
#[derive(Debug, Clone)]
struct JudgedPrompt {
    id: RecordId,
    at: DateTime<Utc>,
    prompt: String,
    tags: Vec<String>,
    said: String,
    passed: Option<bool>,
}

/// The prompts of a session that a test judged; `turns` in their order.
fn judge_prompts(turns: Vec<MemoryRecord>) -> Vec<JudgedPrompt> {
    let mut all: Vec<JudgedPrompt> = Vec::new();
    for turn in turns {
        let what = turn.record_type();
        if what == RecordType::Prompt {
            all.push(JudgedPrompt {
                id: turn.id,
                at: turn.timestamp,
                prompt: turn.body.text,
                tags: turn.body.tags,
                said: String::new(),
                passed: None,
            });
            continue;
        }
        let Some(last) = all.last_mut() else { continue };
        if what == RecordType::Test {
            last.passed = Some(turn.text.ends_with(PASSED));
        }
        if last.said.len() + turn.text.len() < SAID_BYTES_MAX {
            last.said.push_str(&["\n", &turn.text].concat());
        }
    }
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
            let request = RecallRequest {
                top_k: CANDIDATES,
                filter: MemoryFilter {
                    until: Some(one.at - TimeDelta::milliseconds(1)),
                    ..MemoryFilter::default()
                },
                ..RecallRequest::new(one.prompt.as_str())
            };
            let found = self.recall_alone(request, None).await?;
            let earlier = found.results.into_iter().filter(|found| {
                found.record.session_id != session && !is_foreign(&found.record, &one.tags)
            });
            let earlier = earlier.map(|found| found.record.id).collect();
            let line = OutcomeLine {
                query: Some(one.prompt.clone()),
                quality: quality_by_tests(one.passed),
                run_id: Some(format!("session {session} {}", one.id)),
                ..OutcomeLine::default()
            };
            let told = self
                .learn_from_traced(earlier, one.prompt, one.said, line)
                .await?;
            learned += told.map_or(0, |told| told.learned);
        }
        Ok(learned)
    }
}
