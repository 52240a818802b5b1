//! An agent program's sessions: its prompts are answered with memory, what is said in it is kept,
//! and how its tests went becomes the outcome of what was recalled.
//!
//! What each moment of a session does.

mod content;
mod given;
mod judges;
mod notes;
mod taken;

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_types::{
    Credit, MemoryKind, MemorySource, NewRecord, QuotedMemory, RecallRequest, RecordId, UserId,
    Verdict, normal_tag,
};
use tokio::time::timeout;

use super::{Memories, Memory};
use crate::hook::{HookAnswer, HookEvent, HookReport};
use crate::problem::Problem;
use crate::wire::{Answer, Hit, OutcomeLine, instant};
use given::NOTED;
pub use given::{Given, LeftOut, Noted};
use judges::Ran;
pub(super) use notes::Sessions;
use taken::Next;

/// Memories put into one prompt.
const INJECTED_MAX: usize = 4;
/// Looked at for them: others may belong to other projects, or be this session's own.
const CANDIDATES: usize = 48;
/// Newest memories that are looked through for a project's.
const LOOKED_AT: usize = 200;
/// Characters of one memory in a prompt.
const INJECTED_CHARS: usize = 400;
const EDITED_MAX: usize = 40;
/// A shorter prompt ("yes", "go on") asks nothing and says nothing.
const PROMPT_CHARS_MIN: usize = 12;
/// One minus the cosine up to which a memory speaks to a prompt by itself.
const NEAR: f32 = 0.5;
/// Words in common with a prompt from which it does.
const WORDS_IN_COMMON: usize = 3;
/// How long a prompt waits for what is recalled, and then for its own keeping: its program waits a
/// quarter of a second for both.
const RECALL: Duration = Duration::from_millis(140);
const KEEPING: Duration = Duration::from_millis(40);
/// Quality of a finished answer: with tests that passed, with none, with tests that failed.
const QUALITY: [f32; 3] = [0.9, 0.8, 0.1];

impl Memory {
    /// Something happened in a session.
    pub(crate) async fn hook(
        &self,
        event: HookEvent,
        report: HookReport,
    ) -> Result<HookAnswer, Problem> {
        let key = (self.user.clone(), report.session.clone());
        match event {
            HookEvent::SessionStart => {
                let (memory, project) = (self.clone(), report.project.clone());
                // Nor does the session wait for those who are told of it.
                tokio::spawn(async move {
                    let own = Some(project).filter(|project| !project.is_empty());
                    memory.tell_loaded(own).await;
                });
                return self.latest(key, &report.project).await;
            }
            HookEvent::UserPrompt => {
                let (memory, session) = (self.clone(), key.clone());
                // The prompt does not wait for it.
                tokio::spawn(async move { memory.taken(session, Next::Prompt).await });
                return self.prompted(key, &report, RECALL).await;
            }
            HookEvent::PostTool => self.tool_used(key, &report).await?,
            HookEvent::Answer => self.answered(&report).await?,
            HookEvent::PreCompact => {
                // What stood in the conversation may not stand there any more.
                self.all
                    .sessions
                    .change(key, |session| session.seen.clear());
                self.answered(&report).await?;
            }
            HookEvent::Stop | HookEvent::SessionEnd => {
                self.answered(&report).await?;
                let edited = self
                    .all
                    .sessions
                    .change(key.clone(), |session| std::mem::take(&mut session.edited));
                if !edited.is_empty() {
                    let files: Vec<String> = edited.into_iter().collect();
                    let text = format!("Edited {}", files.join(", "));
                    self.keep_said(self.said(&report, text, MemorySource::WorkerResult))
                        .await?;
                }
                let broken_off = report.succeeded == Some(false);
                self.stopped(key.clone(), broken_off).await?;
                if event == HookEvent::SessionEnd {
                    if !broken_off {
                        self.taken(key, Next::End).await?;
                    }
                    self.taught(&report.session).await?;
                }
            }
        }
        Ok(HookAnswer::default())
    }

    /// A session that is over leaves what was learned in it.
    async fn taught(&self, session: &str) -> Result<(), Problem> {
        if session.is_empty() {
            return Ok(());
        }
        self.extract(session, false).await.map(drop)
    }

    /// The agent's words are kept where they say something.
    async fn answered(&self, report: &HookReport) -> Result<(), Problem> {
        if !content::says_something(&report.text) {
            return Ok(());
        }
        let said = report.text.clone();
        let said = self.said(report, said, MemorySource::WorkerResult);
        self.keep_said(said).await
    }

    /// Tests and commits are kept as they end, builds where they fail, edits with the answer.
    async fn tool_used(&self, key: (UserId, String), report: &HookReport) -> Result<(), Problem> {
        if !report.files.is_empty() {
            self.all.sessions.change(key, |session| {
                let room = EDITED_MAX.saturating_sub(session.edited.len());
                session
                    .edited
                    .extend(report.files.iter().take(room).cloned());
            });
            return Ok(());
        }
        let ran = judges::ran(&report.command);
        if let (Some(Ran::Tests), Some(succeeded)) = (ran, report.succeeded) {
            self.all
                .sessions
                .change(key, |session| session.judged = Some(succeeded));
        }
        let (command, said) = (&report.command, &report.text);
        let text = match (ran, report.succeeded) {
            (Some(Ran::Tests), Some(true)) => format!("`{command}` passed"),
            (Some(Ran::Tests | Ran::Build), Some(false)) if said.is_empty() => {
                format!("`{command}` failed")
            }
            (Some(Ran::Tests | Ran::Build), Some(false)) => format!("`{command}` failed:\n{said}"),
            (Some(Ran::Commit), went) if went != Some(false) && !said.is_empty() => {
                format!("Committed {said}")
            }
            _ => return Ok(()),
        };
        self.keep_said(self.said(report, text, MemorySource::WorkerResult))
            .await
    }

    /// A prompt is answered with what is known `within` so long, and kept in any case.
    async fn prompted(
        &self,
        key: (UserId, String),
        report: &HookReport,
        within: Duration,
    ) -> Result<HookAnswer, Problem> {
        let short = report.text.trim().chars().count() < PROMPT_CHARS_MIN;
        if short || !content::says_something(&report.text) {
            return Ok(HookAnswer::default());
        }
        let seen = self
            .all
            .sessions
            .change(key.clone(), |session| session.seen.clone());
        // It was said before whatever its program does next, however long its keeping takes.
        let mut record = self.said(report, report.text.clone(), MemorySource::UserInput);
        let recalled = self.of_project(report, &seen, within).await;
        let used = recalled.as_ref().ok().map(|(given, hits)| {
            let ids: Vec<RecordId> = hits.iter().map(|hit| hit.id).collect();
            (given.recall_id, ids)
        });
        self.all.sessions.change(key, |session| {
            session.see(used.as_ref().map_or(&[], |(_, ids)| ids));
            session.recalled = used;
            session.judged = None;
        });
        // A model that is still being loaded holds no prompt up: it is kept all the same.
        record.details = recalled.as_ref().ok().map(|(given, _)| given.details());
        let memory = self.clone();
        let keeping = tokio::spawn(async move {
            let kept = memory.keep_said(record).await;
            kept.inspect_err(|problem| tracing::warn!(%problem, "a prompt was not kept"))
        });
        if let Ok(Ok(kept)) = timeout(KEEPING, keeping).await {
            kept?;
        }
        let (Given { verdict, .. }, hits) = recalled?;
        let found: Vec<_> = hits
            .into_iter()
            .map(|hit| (hit.timestamp, hit.id, hit.text))
            .collect();
        Ok(injected(&found, verdict, Memories::random()))
    }

    /// What was recalled for the last prompt learns from how the work went, unless it was broken
    /// off: then nothing is known of it.
    async fn stopped(&self, key: (UserId, String), broken_off: bool) -> Result<(), Problem> {
        let (recalled, judged) = self.all.sessions.change(key.clone(), |session| {
            (session.recalled.take(), session.judged.take())
        });
        let taught = |(_, used): &(_, Vec<_>)| !used.is_empty() && !broken_off;
        let Some((recall_id, used)) = recalled.filter(taught) else {
            return Ok(());
        };
        let [passed, done, failed] = QUALITY;
        let quality = match judged {
            Some(true) => passed,
            None => done,
            Some(false) => failed,
        };
        let line = OutcomeLine {
            query_id: None,
            recall_id: Some(recall_id),
            query: None,
            used: used.iter().map(RecordId::to_string).collect(),
            quality,
            run_id: None,
            failure_kind: None,
            credit: Some(Credit::Implicit),
        };
        self.outcome(line).await?;
        if judged.is_none() {
            self.unjudged(key, format!("recall {recall_id}"));
        }
        Ok(())
    }

    /// What was kept last in a project.
    async fn latest(&self, key: (UserId, String), project: &str) -> Result<HookAnswer, Problem> {
        let Some(own) = tag_of(project).filter(|_| self.exists()) else {
            return Ok(HookAnswer::default());
        };
        let session = key.1.clone();
        let found = self.read(move |memory| -> Vec<_> {
            let newest = memory.newest(LOOKED_AT).into_iter();
            // A session that goes on after a compaction has words of its own here.
            let of_it = newest
                .filter_map(Result::ok)
                .filter(|record| record.tags.contains(&own) && !record.is_sensitive())
                .filter(|record| session.is_empty() || record.session_id != session);
            of_it
                .take(INJECTED_MAX)
                .map(|record| (record.timestamp, record.id, record.body.text))
                .collect()
        });
        let found = found.await?;
        let shown: Vec<RecordId> = found.iter().map(|(_, id, _)| *id).collect();
        self.all.sessions.change(key, |session| {
            session.seen.clear();
            session.see(&shown);
        });
        Ok(injected(&found, Verdict::Relevant, Memories::random()))
    }

    /// What resonates, belongs to this project or to none, and stands in no prompt of the session:
    /// neither as its own words nor as what memory has put there. With it what was found at all.
    async fn of_project(
        &self,
        report: &HookReport,
        seen: &BTreeSet<RecordId>,
        within: Duration,
    ) -> Result<(Given, Vec<Hit>), Problem> {
        let own = tag_of(&report.project);
        let session = &report.session;
        let request = RecallRequest {
            top_k: CANDIDATES,
            ..RecallRequest::new(report.text.as_str())
        };
        let request = request.heard(&self.calendar());
        let query = request.query.clone();
        let recall = self.all.recall_within(&self.user, request, within);
        let mut recall = self.noted(&query, recall).await?;
        recall.leave_out_sensitive();
        let answer = Answer::new(None, recall, 0.0);
        let likely = answer.verdict == Verdict::Relevant;
        let foreign = |tag: &String| tag.starts_with("project:") && Some(tag) != own.as_ref();
        let mut given = Given {
            recall_id: answer.recall_id,
            verdict: answer.verdict,
            found: Vec::new(),
        };
        let mut hits = Vec::new();
        for hit in answer.results {
            let left_out = if !session.is_empty() && hit.session_id == *session {
                Some(LeftOut::SameSession)
            } else if hit.tags.iter().any(foreign) {
                Some(LeftOut::OtherProject)
            } else if seen.contains(&hit.id) {
                Some(LeftOut::Seen)
            } else if !likely && !resonates(&hit) {
                Some(LeftOut::Weak)
            } else {
                (hits.len() >= INJECTED_MAX).then_some(LeftOut::NoRoom)
            };
            if left_out.is_none() || given.found.len() < NOTED {
                given.found.push(Noted {
                    id: hit.id,
                    score: hit.sona_score,
                    left_out,
                });
            }
            if left_out.is_none() {
                hits.push(hit);
            }
        }
        Ok((given, hits))
    }

    /// Something said in a session, as of now.
    fn said(&self, report: &HookReport, text: String, source: MemorySource) -> NewRecord {
        let mut record = NewRecord::new(text, source, MemoryKind::Episode);
        record.timestamp = Some(self.now());
        record.session_id.clone_from(&report.session);
        record.tags = tag_of(&report.project).into_iter().collect();
        record
    }

    async fn keep_said(&self, record: NewRecord) -> Result<(), Problem> {
        if record.text.chars().count() < PROMPT_CHARS_MIN {
            return Ok(());
        }
        // The same words in the same session are the same thing, however often a hook fires.
        let words = format!("{}\n{}", record.session_id, record.text);
        let key = Some(format!(
            "hook {}",
            reprise_global::sha256_hex(words.as_bytes())
        ));
        let memory = self.clone().keyed(key);
        memory.keep_one(record).await.map(drop)
    }
}

/// Near in meaning, or several words in common: what of a weak answer, or of none, still speaks to
/// the prompt by itself.
fn resonates(hit: &Hit) -> bool {
    let near = hit.why.raw_distance.is_some_and(|far| far <= NEAR);
    near || hit.why.matched_words.len() >= WORDS_IN_COMMON
}

fn tag_of(project: &str) -> Option<String> {
    (!project.is_empty())
        .then(|| normal_tag(&format!("project:{project}")))
        .flatten()
}

fn injected(
    found: &[(DateTime<Utc>, RecordId, String)],
    verdict: Verdict,
    nonce: u128,
) -> HookAnswer {
    let sure = match verdict {
        Verdict::Relevant => "",
        Verdict::Weak => ", weak matches: check before you rely on one",
        Verdict::Nothing => ", likely about something else: only the nearest that is known",
    };
    let mut memory = QuotedMemory::new(nonce);
    for (number, (timestamp, id, text)) in found.iter().enumerate() {
        if number == 0 {
            let whole = "`get` of the memory server gives the whole of an id.";
            memory.line(&["From earlier sessions", sure, "; ", whole].concat(), "");
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let text: String = words.join(" ").chars().take(INJECTED_CHARS).collect();
        let when = instant(*timestamp);
        let day = when.get(..10).unwrap_or_default();
        memory.line(&format!("- [{day}, {id}] "), &text);
    }
    HookAnswer {
        context: memory.into_text(),
    }
}

#[cfg(test)]
mod tests;
