//! An agent program's sessions: its prompts are answered with memory, what is said in it is kept,
//! and how its tests went becomes the outcome of what was recalled.
//!
//! The operation that a hook calls, and what each moment of a session does.

mod asked_times;
mod budget;
mod commands;
mod ending;
mod history;
mod injected;
mod kept_prompts;
mod notes;
mod opening;
mod prompt_block;
mod statusline;

use reprise_knowledge::{
    SessionTurn, extract_own_words, hook_request_key, may_state_correction, says_enough,
    says_something, states_decision, states_rule, states_withdrawal,
};
use reprise_types::normalize_tag;
use tokio::time::timeout;

use super::hook_report::{HookAnswer, HookEvent, HookReport};
use super::implied_quality::quality_by_tests;
use super::pausing::PauseMode;
use super::prompts::{PromptRecall, UnansweredReason};
use crate::prelude::*;
use crate::wire::OutcomeReport;
use injected::{RULE, WHOLE, frame_nonce, render_injected};
use notes::{AnsweredPrompt, NextEvent, SessionTrace};
use prompt_block::is_worth_asking;

pub(crate) use budget::TokenDay;
pub(crate) use notes::{LiveSession, SESSIONS_MAX};
pub(in crate::operations) use opening::{WorkPart, is_rule, list_rules, list_work};
pub use prompt_block::{PromptPreview, UnaskedReason};

/// Longest text that is kept of what was said, in bytes.
const KEPT_BYTES_MAX: usize = 8 * 1024;
/// Shares of a hook's deadline in which a prompt waits for what is recalled, and then for its own
/// keeping: 140 ms and 40 ms of 250 ms. Lessons of checkouts get the rest.
const RECALL_SHARE: (u32, u32) = (14, 25);
const KEEPING_SHARE: (u32, u32) = (4, 25);

operation! {
    Spec::for_adding("hook", "A moment of a session: keeps it, answers a prompt.")
        .with_routes(&[(Method::Post, "/v1/users/{user}/hooks/{event}")]);
    /// What happened.
    Hook(memory, arguments: HookArguments {
        /// The moment, by our name or by Claude Code's.
        pub event: String as NameText,
        /// What is reported of it.
        #[serde(flatten)]
        pub report: HookReport,
    }) -> HookAnswer {
        // A hook that has run out of time goes away; what it reported is kept all the same.
        let memory = memory.clone();
        let event = arguments.parse_event()?;
        run_to_end(async move { memory.handle_hook(event, arguments.report).await }).await
    }
}

impl HookArguments {
    fn parse_event(&self) -> Result<HookEvent, Problem> {
        self.event.parse().map_err(Problem::not_found)
    }
}

/// Runs the work to its end, even if the caller goes away meanwhile.
async fn run_to_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::spawn(work).await;
    done.map_err(|error| Problem::new(ProblemKind::Internal, format!("a hook failed ({error})")))?
}

/// How many were taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MomentsTaken {
    /// Kept, or known already.
    pub taken: u64,
    /// Why each of the others was not; sending it again would change nothing.
    pub refused: Vec<String>,
}

operation! {
    Spec::for_adding(
        "moments",
        "Moments of sessions that are told later, in their order.",
    );
    /// What could not be told when it happened.
    #[derive(Default)]
    Moments(memory, arguments: MomentsArguments {
        /// Oldest first, each with its time.
        pub moments: Vec<HookArguments>,
    }) -> MomentsTaken {
        // What happens twice is kept once: what is said in a session is known by its words.
        let memory = memory.clone();
        run_to_end(async move {
            let mut done = MomentsTaken::default();
            for mut moment in arguments.moments {
                // Nobody waits for an answer any more, also if its time was not said.
                moment.report.at.get_or_insert(memory.now());
                let handled = match moment.parse_event() {
                    Ok(event) => memory.handle_hook(event, moment.report).await,
                    Err(problem) => Err(problem),
                };
                match handled {
                    Ok(_) => done.taken += 1,
                    Err(problem) if problem.is_passing() => return Err(problem),
                    Err(problem) => done.refused.push(problem.detail),
                }
            }
            Ok(done)
        })
        .await
    }
}

impl Memory {
    /// Looks at, or changes, what is known of a session.
    fn run_on_session<T>(&self, name: &str, change: impl FnOnce(&mut LiveSession) -> T) -> T {
        let key = (self.user.clone(), name.to_owned());
        let mut sessions = lock(&self.all.sessions);
        change(sessions.get_or_insert_mut(key, LiveSession::default))
    }

    /// Something happened in a session.
    pub(crate) async fn handle_hook(
        &self,
        event: HookEvent,
        report: HookReport,
    ) -> Result<HookAnswer, Problem> {
        let pause = self.find_pause_mode(&report.project, &report.agent);
        match (pause, event) {
            (None, _) => {}
            (Some(PauseMode::ReadOnly), HookEvent::SessionStart | HookEvent::UserPrompt)
                if report.at.is_none() => {}
            // What happens while memory is paused is not stored, now or later.
            (Some(_), _) => return Ok(HookAnswer::default()),
        }
        self.handle_event(event, report, pause.is_none()).await
    }

    /// Does what an event asks for; what it says is stored unless memory is read only.
    async fn handle_event(
        &self,
        event: HookEvent,
        mut report: HookReport,
        is_stored: bool,
    ) -> Result<HookAnswer, Problem> {
        if event == HookEvent::UserPrompt {
            // What the program itself puts where a prompt goes is nobody's prompt.
            let Some(words) = extract_own_words(&report.text) else {
                return Ok(HookAnswer::default());
            };
            report.text = words;
        }
        let (session, at) = (report.session.as_str(), self.time_of_report(&report));
        match event {
            // Told later, both would answer nobody: what was not put into a prompt teaches nothing.
            HookEvent::SessionStart if report.at.is_some() => {
                self.note_late(event, &report);
                self.run_on_session(session, LiveSession::owe_opening);
            }
            HookEvent::StatusLine => return self.build_status_line(session).await,
            HookEvent::UserPrompt if report.at.is_some() => {
                self.revise_last_answer(session, NextEvent::Prompt, at)
                    .await?;
                self.note_late(event, &report);
                self.run_on_session(session, |session| session.begin_prompt(None));
                self.store_unanswered_prompt(&report, UnansweredReason::Late)
                    .await?;
                self.note_undelivered(&report).await?;
            }
            HookEvent::SessionStart => {
                self.notify_loaded_aside(&report.project);
                let opening = self.build_opening(session, &report.project, true).await;
                let request = self.request_key();
                self.run_on_session(session, |session| session.owe_late_opening(request));
                return opening;
            }
            HookEvent::UserPrompt => {
                let (memory, session) = (self.clone(), session.to_owned());
                // The prompt does not wait for it.
                tokio::spawn(async move {
                    memory
                        .revise_last_answer(&session, NextEvent::Prompt, at)
                        .await
                });
                let within = report.deadline() * RECALL_SHARE.0 / RECALL_SHARE.1;
                return self.handle_prompt(&report, within, is_stored).await;
            }
            HookEvent::PostTool => self.handle_tool(&report).await?,
            HookEvent::Answer => self.handle_answer(&report).await?,
            HookEvent::PreCompact => {
                // What stood in the conversation may not stand there any more.
                self.run_on_session(session, |session| session.note_shortened(at));
                self.handle_answer(&report).await?;
                if report.at.is_none() {
                    return self.build_opening(session, &report.project, false).await;
                }
            }
            HookEvent::Stop | HookEvent::SessionEnd => {
                self.handle_answer(&report).await?;
                let edited =
                    self.run_on_session(session, |session| std::mem::take(&mut session.edited));
                if !edited.is_empty() {
                    let files: Vec<String> = edited.into_iter().collect();
                    let text = format!("Edited {}", files.join(", "));
                    let edited = self.words_record(&report, &text, RecordType::Document);
                    self.store_words_record(edited).await?;
                }
                let broken_off = report.succeeded == Some(false);
                self.handle_stop(session, broken_off, at).await?;
                if event == HookEvent::SessionEnd {
                    if !broken_off {
                        self.revise_last_answer(session, NextEvent::End, at).await?;
                    }
                    // A session that is over leaves what was learned in it.
                    if !session.is_empty() {
                        self.extract_and_store_learnings(session, false).await?;
                    }
                }
            }
        }
        Ok(HookAnswer::default())
    }

    /// Notes that the program of an event that is told later went on without the answer.
    fn note_late(&self, event: HookEvent, report: &HookReport) {
        if let Some(at) = report.at {
            let request = report.request_key(event, at);
            self.run_on_session(&report.session, |session| session.note_late(request));
        }
    }

    /// Tells listeners what is known in a project; no session waits for them.
    fn notify_loaded_aside(&self, project: &str) {
        let (memory, project) = (self.clone(), project.to_owned());
        tokio::spawn(async move {
            let own = Some(project).filter(|project| !project.is_empty());
            memory.notify_loaded(own).await;
        });
    }

    /// The agent has said something.
    async fn handle_answer(&self, report: &HookReport) -> Result<(), Problem> {
        self.run_on_session(&report.session, |session| session.note_said(&report.text));
        if !says_something(&report.text) {
            return Ok(());
        }
        let said = self.words_record(report, &report.text, RecordType::Answer);
        self.store_words_record(said).await
    }

    /// A prompt that memory gave nothing to is kept where it says something.
    async fn store_unanswered_prompt(
        &self,
        report: &HookReport,
        reason: UnansweredReason,
    ) -> Result<(), Problem> {
        if !says_something(&report.text) {
            return Ok(());
        }
        let mut said = self.words_record(report, &report.text, RecordType::Prompt);
        let shortened = self.run_on_session(&report.session, |session| session.shortened);
        let given = Err(reason);
        said.details = Some(PromptRecall::prompt_details(given, None, None, shortened));
        self.store_words_record(said).await?;
        self.learn_stated_rules(&report.session, &report.text).await
    }

    /// Learns what a session told so far if a prompt of it sets or ends a rule, decides something,
    /// or corrects a fact: the next session in the project needs that, and this one may never end.
    async fn learn_stated_rules(&self, session: &str, prompt: &str) -> Result<(), Problem> {
        if !session.is_empty() && teaches(prompt) {
            self.extract_and_store_learnings(session, false).await?;
        }
        Ok(())
    }

    /// A prompt is answered with what is known `within` so long, and kept in any case.
    async fn handle_prompt(
        &self,
        report: &HookReport,
        within: Duration,
        is_stored: bool,
    ) -> Result<HookAnswer, Problem> {
        if !is_worth_asking(&report.text) {
            return Ok(HookAnswer::default());
        }
        if !self.has_tokens_left().await? {
            self.run_on_session(&report.session, |session| session.begin_prompt(None));
            if is_stored {
                self.store_unanswered_prompt(report, UnansweredReason::NoTokensLeft)
                    .await?;
            }
            return Ok(HookAnswer::default());
        }
        // It was said before whatever its program does next, however long its keeping takes.
        let mut record = self.words_record(report, &report.text, RecordType::Prompt);
        let began = Instant::now();
        // A memory is rather given twice than the prompt lost or late.
        let seen = timeout(within, self.find_seen(&report.session)).await;
        let mut seen = seen.ok().and_then(Result::ok).unwrap_or_default().whole;
        let owed = timeout(within, self.build_owed_opening(report)).await;
        let owed = owed.ok().and_then(Result::ok).unwrap_or_default();
        seen.extend(&owed.shown.whole);
        let (mut given, with_opening) = (owed.shown.clone(), !owed.lines.is_empty());
        let within = within.saturating_sub(began.elapsed());
        let found = self.find_for_prompt(report, &seen, owed, within).await;
        let asked = found.noted.as_ref().map(|given| AnsweredPrompt {
            recall_id: given.recall_id,
            prompt: report.text.clone(),
            put_in: found.own,
        });
        given.whole.extend(found.given);
        let request = self.request_key();
        let is_over = began.elapsed() >= report.deadline();
        let (is_read, opening, shortened) = self.run_on_session(&report.session, |session| {
            if let Some(request) = request.filter(|_| is_over) {
                session.note_late(request.to_owned());
            }
            let is_read = session.note_answer(request, given, with_opening);
            session.begin_prompt(asked.filter(|_| is_stored && is_read));
            (is_read, session.opening.take(), session.shortened)
        });
        // A model that is still being loaded holds no prompt up: it is kept all the same.
        let (noted, answer) = (found.noted.filter(|_| is_read), found.answer);
        let block = answer.as_ref().ok().and_then(|(_, block)| block.as_ref());
        let block = block.filter(|_| is_read);
        self.count_tokens(block.map_or(0, |block| block.tokens));
        record.details = Some(PromptRecall::prompt_details(
            noted.as_ref().ok_or(UnansweredReason::Late),
            block,
            opening.as_ref(),
            shortened,
        ));
        if is_stored {
            let patience = report.deadline() * KEEPING_SHARE.0 / KEEPING_SHARE.1;
            self.store_prompt_within(record, patience).await?;
        }
        // A program that is still there, though it is noted as gone, gets nothing either.
        if !is_read {
            return Ok(HookAnswer::default());
        }
        answer.map(|(answer, _)| answer)
    }

    /// Stores a prompt, and waits for that no longer than `patience`.
    async fn store_prompt_within(
        &self,
        record: NewRecord,
        patience: Duration,
    ) -> Result<(), Problem> {
        let memory = self.clone();
        let keeping = tokio::spawn(async move {
            let (session, text) = (record.session_id.clone(), record.text.clone());
            let kept = async {
                memory.store_prompt(record).await?;
                memory.learn_stated_rules(&session, &text).await
            };
            let kept = kept.await;
            kept.inspect_err(|problem| tracing::warn!(%problem, "a prompt was not kept"))
        });
        match timeout(patience, keeping).await {
            Ok(Ok(kept)) => kept,
            _ => Ok(()),
        }
    }

    /// What was recalled for the last prompt and left a trace in what was said and done since
    /// learns from how the work went, unless it was broken off: then nothing is known of it.
    async fn handle_stop(
        &self,
        session: &str,
        broken_off: bool,
        at: DateTime<Utc>,
    ) -> Result<(), Problem> {
        let (asked, judged, trace) = self.run_on_session(session, |session| {
            let trace = SessionTrace {
                said: std::mem::take(&mut session.said),
                printed: std::mem::take(&mut session.printed),
            };
            (session.recalled.take(), session.judged.take(), trace)
        });
        let Some(asked) = asked.filter(|asked| !asked.put_in.is_empty() && !broken_off) else {
            return Ok(());
        };
        let line = OutcomeLine {
            recall_id: Some(asked.recall_id),
            quality: quality_by_tests(judged),
            ..OutcomeLine::default()
        };
        let learned = self
            .learn_from_traced(asked.put_in, asked.prompt, trace, line, at)
            .await?;
        if learned.is_some() && judged.is_none() {
            let unjudged = Some((format!("recall {}", asked.recall_id), at));
            self.run_on_session(session, |session| session.unjudged = unjudged);
        }
        Ok(())
    }

    /// Learns an outcome from those of some records that left a trace after a prompt; `None` where
    /// none did. Of two that contradict each other only the one that the trace agrees with counts.
    async fn learn_from_traced(
        &self,
        records: Vec<RecordId>,
        prompt: String,
        trace: SessionTrace,
        line: OutcomeLine,
        at: DateTime<Utc>,
    ) -> Result<Option<OutcomeReport>, Problem> {
        let used = self.run_on_snapshot(move |memory| -> Vec<String> {
            let used = records.iter();
            let used = used.filter(|id| memory.has_evidence_of_use(**id, &prompt, &trace.said));
            let used: Vec<RecordId> = used.copied().collect();
            let told = [trace.said, trace.printed].join("\n");
            let agreeing = used
                .iter()
                .filter(|id| memory.agrees_with(**id, &used, &told));
            agreeing.map(RecordId::to_string).collect()
        });
        let used = used.await?;
        if used.is_empty() {
            return Ok(None);
        }
        let credit = Some(Credit::Implicit);
        let line = OutcomeLine {
            used,
            credit,
            ..line
        };
        self.learn_outcome_at(line, at).await.map(Some)
    }

    /// When a moment was: now, or before now.
    fn time_of_report(&self, report: &HookReport) -> DateTime<Utc> {
        let now = self.now();
        report.at.filter(|at| *at < now).unwrap_or(now)
    }

    /// Something that was said or done in a session, when it was. Of a prompt that is longer than
    /// what is kept the beginning is kept, as an import knows it.
    fn words_record(&self, report: &HookReport, text: &str, what: RecordType) -> NewRecord {
        let end = text.floor_char_boundary(KEPT_BYTES_MAX);
        let agent = Some(report.agent.as_str()).filter(|agent| !agent.is_empty());
        let turn = SessionTurn {
            text: text.get(..end).unwrap_or_default().trim().to_owned(),
            what,
            at: Some(self.time_of_report(report)),
            session: &report.session,
            agent,
            project_tag: project_tag(&report.project),
        };
        turn.into_record()
    }

    async fn store_words_record(&self, record: NewRecord) -> Result<(), Problem> {
        if self.may_be_stored(&record).await? {
            self.store_words_again(record, 1).await?;
        }
        Ok(())
    }

    /// Returns whether what was said is worth keeping, and nobody wants it away.
    async fn may_be_stored(&self, record: &NewRecord) -> Result<bool, Problem> {
        if !says_enough(&record.text) {
            return Ok(false);
        }
        // What a person has forgotten does not come back because somebody says it again.
        Ok(!self.exists() || !self.is_text_forgotten(&record.text).await?)
    }

    /// Returns whether a text was forgotten, and is not in the memory any more.
    async fn is_text_forgotten(&self, text: &str) -> Result<bool, Problem> {
        let text = Redactor::new().redact_text(text).text;
        self.run_on_snapshot(move |memory| {
            memory.text_forgotten_at(&text).is_some() && memory.find_same_text(&text).is_none()
        })
        .await
    }

    /// Stores what happened in a session for the `times`-th time; once, however often a hook fires.
    async fn store_words_again(
        &self,
        record: NewRecord,
        times: usize,
    ) -> Result<RecordFate, Problem> {
        let key = Some(hook_request_key(&record.session_id, &record.text, times));
        let memory = self.clone().with_request_key(key);
        memory.store_one(record).await
    }
}

/// Returns whether a prompt says what later sessions have to know.
fn teaches(prompt: &str) -> bool {
    states_rule(prompt)
        || states_decision(prompt)
        || states_withdrawal(prompt)
        || may_state_correction(prompt)
}

fn project_tag(project: &str) -> Option<String> {
    (!project.is_empty())
        .then(|| normalize_tag(&format!("project:{project}")))
        .flatten()
}

#[cfg(test)]
mod tests;
