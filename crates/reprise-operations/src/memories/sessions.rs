//! An agent program's sessions: its prompts are answered with memory, what is said in it is kept,
//! and how its tests went becomes the outcome of what was recalled.
//!
//! What each moment of a session does.

mod history;
mod notes;
mod opening;

use reprise_engine::{decide, without_sensitive};
use reprise_knowledge::{Ran, ran};
use reprise_types::{Verdict, normal_tag};
use tokio::time::timeout;

use super::prompts::{Given, LeftOut, NOTED, Noted};
use crate::hook::{HookAnswer, HookEvent, HookReport};
use crate::prelude::*;
use crate::wire::OutcomeReport;
use notes::{Asked, Next, says_something};

pub(super) use notes::{SESSIONS_MAX, Session};

/// Looked at for them: others may belong to other projects, or be this session's own.
const CANDIDATES: usize = 48;
/// Characters of one memory in a prompt.
const INJECTED_CHARS: usize = 400;
const EDITED_MAX: usize = 40;
/// A shorter prompt ("yes", "go on") asks nothing and says nothing.
const PROMPT_CHARS_MIN: usize = 12;
/// How long a prompt waits for what is recalled, and then for its own keeping: its program waits a
/// quarter of a second for both.
const RECALL: Duration = Duration::from_millis(140);
const KEEPING: Duration = Duration::from_millis(40);
/// Lines of what others published, beside those of the user's own memory.
const PUBLISHED_MAX: usize = 2;

/// Quality of a finished answer, by how its tests went where there were any.
fn quality_of(passed: Option<bool>) -> f32 {
    match passed {
        Some(true) => 0.9,
        None => 0.8,
        Some(false) => 0.1,
    }
}

impl Memory {
    /// Looks at, or changes, what is known of a session.
    fn session<T>(&self, name: &str, change: impl FnOnce(&mut Session) -> T) -> T {
        let key = (self.user.clone(), name.to_owned());
        let mut sessions = lock(&self.all.sessions);
        change(sessions.get_or_insert_mut(key, Session::default))
    }

    /// Something happened in a session.
    pub(crate) async fn hook(
        &self,
        event: HookEvent,
        report: HookReport,
    ) -> Result<HookAnswer, Problem> {
        let (session, at) = (report.session.as_str(), self.at(&report));
        match event {
            // Told later, both would answer nobody: what was not put into a prompt teaches nothing.
            HookEvent::SessionStart if report.at.is_some() => {}
            HookEvent::UserPrompt if report.at.is_some() => {
                self.taken(session, Next::Prompt, at).await?;
                self.session(session, |session| session.prompted(None));
                self.heard(&report, MemorySource::UserInput).await?;
            }
            HookEvent::SessionStart => {
                let (memory, project) = (self.clone(), report.project.clone());
                // Nor does the session wait for those who are told of it.
                tokio::spawn(async move {
                    let own = Some(project).filter(|project| !project.is_empty());
                    memory.tell_loaded(own).await;
                });
                return self.opened(session, &report.project, true).await;
            }
            HookEvent::UserPrompt => {
                let (memory, session) = (self.clone(), session.to_owned());
                // The prompt does not wait for it.
                tokio::spawn(async move { memory.taken(&session, Next::Prompt, at).await });
                return self.prompted(&report, RECALL).await;
            }
            HookEvent::PostTool => self.tool_used(&report).await?,
            HookEvent::Answer => self.answered(&report).await?,
            HookEvent::PreCompact => {
                // What stood in the conversation may not stand there any more.
                self.session(session, |session| session.seen.clear());
                self.answered(&report).await?;
                if report.at.is_none() {
                    return self.opened(session, &report.project, false).await;
                }
            }
            HookEvent::Stop | HookEvent::SessionEnd => {
                self.answered(&report).await?;
                let edited = self.session(session, |session| std::mem::take(&mut session.edited));
                if !edited.is_empty() {
                    let files: Vec<String> = edited.into_iter().collect();
                    let text = format!("Edited {}", files.join(", "));
                    let edited = self.done(&report, text, RecordType::Document);
                    self.keep_said(edited).await?;
                }
                let broken_off = report.succeeded == Some(false);
                self.stopped(session, broken_off, at).await?;
                if event == HookEvent::SessionEnd {
                    if !broken_off {
                        self.taken(session, Next::End, at).await?;
                    }
                    // A session that is over leaves what was learned in it.
                    if !session.is_empty() {
                        self.extract(session, false).await?;
                    }
                }
            }
        }
        Ok(HookAnswer::default())
    }

    /// The agent has said something.
    async fn answered(&self, report: &HookReport) -> Result<(), Problem> {
        self.session(&report.session, |session| session.say(&report.text));
        self.heard(report, MemorySource::WorkerResult).await
    }

    /// Somebody's words are kept where they say something.
    async fn heard(&self, report: &HookReport, source: MemorySource) -> Result<(), Problem> {
        if !says_something(&report.text) {
            return Ok(());
        }
        let said = self.said(report, report.text.clone(), source);
        self.keep_said(said).await
    }

    /// Tests and commits are kept as they end, builds where they fail, edits with the answer.
    async fn tool_used(&self, report: &HookReport) -> Result<(), Problem> {
        let (files, ran) = (&report.files, ran(&report.command));
        self.session(&report.session, |session| {
            session.say(&report.command);
            for file in files {
                session.say(file);
            }
            let room = EDITED_MAX.saturating_sub(session.edited.len());
            session.edited.extend(files.iter().take(room).cloned());
            if files.is_empty() && ran == Some(Ran::Tests) {
                session.judged = report.succeeded.or(session.judged);
            }
        });
        if !files.is_empty() {
            return Ok(());
        }
        let told = ran.and_then(|ran| ran.told(&report.command, report.succeeded, &report.text));
        let Some((text, what)) = told else {
            return Ok(());
        };
        self.keep_said(self.done(report, text, what)).await
    }

    /// A prompt is answered with what is known `within` so long, and kept in any case.
    async fn prompted(&self, report: &HookReport, within: Duration) -> Result<HookAnswer, Problem> {
        let short = report.text.trim().chars().count() < PROMPT_CHARS_MIN;
        if short || !says_something(&report.text) {
            return Ok(HookAnswer::default());
        }
        let seen = self.session(&report.session, |session| session.seen.clone());
        // It was said before whatever its program does next, however long its keeping takes.
        let mut record = self.said(report, report.text.clone(), MemorySource::UserInput);
        let recalled = self.of_project(report, &seen, within);
        let (recalled, others) = tokio::join!(recalled, self.of_others(report, &seen));
        let asked = recalled.as_ref().ok().map(|(given, hits)| Asked {
            recall_id: given.recall_id,
            prompt: report.text.clone(),
            put_in: ids_of_own(hits),
        });
        let given = recalled.iter().flat_map(|(_, hits)| hits).chain(&others);
        let given: Vec<RecordId> = given.map(|hit| hit.record.id).collect();
        self.session(&report.session, |session| {
            session.see(&given);
            session.prompted(asked);
        });
        // A model that is still being loaded holds no prompt up: it is kept all the same.
        record.details = Some(Given::details(
            recalled.as_ref().ok().map(|(given, _)| given),
        ));
        let memory = self.clone();
        let keeping = tokio::spawn(async move {
            let kept = memory.keep_said(record).await;
            kept.inspect_err(|problem| tracing::warn!(%problem, "a prompt was not kept"))
        });
        if let Ok(Ok(kept)) = timeout(KEEPING, keeping).await {
            kept?;
        }
        let (verdict, hits) = match recalled {
            Ok((given, hits)) => (given.verdict, hits),
            Err(problem) if others.is_empty() => return Err(problem),
            Err(_) => (Verdict::Nothing, Vec::new()),
        };
        let sure = match verdict {
            Verdict::Relevant => "From earlier sessions; ",
            _ => "From earlier sessions, weak matches: check before you rely on one; ",
        };
        let calendar = self.calendar();
        let lines = |hits: Vec<RetrievedMemory>| -> Vec<Line> {
            let lines = hits.into_iter().map(|hit| Line::of(hit, &calendar));
            lines.collect()
        };
        let parts = [(sure, WHOLE, lines(hits)), (OTHERS, "", lines(others))];
        Ok(injected(&parts, system_entropy()))
    }

    /// What others published that would help with a prompt, where hooks ask for it: of this project
    /// or of none, and in no prompt of the session yet.
    async fn of_others(
        &self,
        report: &HookReport,
        seen: &BTreeSet<RecordId>,
    ) -> Vec<RetrievedMemory> {
        let Some(deadline) = self.all.around.sharing.hooks else {
            return Vec::new();
        };
        let request = RecallRequest {
            top_k: CANDIDATES,
            ..RecallRequest::new(report.text.as_str())
        };
        let asked = async {
            match self.tier().await {
                Ok(tier) => tier.in_passing(&request, deadline).await,
                Err(problem) => {
                    tracing::debug!(%problem, "a hook did not ask for published knowledge");
                    Vec::new()
                }
            }
        };
        let mut hits = timeout(deadline, asked).await.unwrap_or_default();
        let own = tag_of(&report.project);
        let stays = |hit: &RetrievedMemory| {
            !seen.contains(&hit.record.id) && !is_foreign(&hit.record, own.as_slice())
        };
        hits.retain(stays);
        hits.truncate(PUBLISHED_MAX);
        hits
    }

    /// What was recalled for the last prompt and left a trace in what was said and done since
    /// learns from how the work went, unless it was broken off: then nothing is known of it.
    async fn stopped(
        &self,
        session: &str,
        broken_off: bool,
        at: DateTime<Utc>,
    ) -> Result<(), Problem> {
        let (asked, judged, said) = self.session(session, |session| {
            let said = std::mem::take(&mut session.said);
            (session.recalled.take(), session.judged.take(), said)
        });
        let Some(asked) = asked.filter(|asked| !asked.put_in.is_empty() && !broken_off) else {
            return Ok(());
        };
        let line = OutcomeLine {
            recall_id: Some(asked.recall_id),
            quality: quality_of(judged),
            ..OutcomeLine::default()
        };
        let learned = self.traced(asked.put_in, asked.prompt, said, line).await?;
        if learned.is_some() && judged.is_none() {
            let unjudged = Some((format!("recall {}", asked.recall_id), at));
            self.session(session, |session| session.unjudged = unjudged);
        }
        Ok(())
    }

    /// Learns an outcome from those of some records that left a trace in what was `said` after a
    /// prompt; `None` where none did.
    async fn traced(
        &self,
        records: Vec<RecordId>,
        prompt: String,
        said: String,
        line: OutcomeLine,
    ) -> Result<Option<OutcomeReport>, Problem> {
        let used = self.read(move |memory| -> Vec<String> {
            let used = records.iter();
            let used = used.filter(|id| memory.shows_use(**id, &prompt, &said));
            used.map(RecordId::to_string).collect()
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
        self.outcome(line).await.map(Some)
    }

    /// What would help, belongs to this project or to none, holds here, and stands in no prompt of
    /// the session: neither as its own words nor as what memory has put there. What is left out for
    /// that makes nothing else more or less likely. With it what was found at all.
    async fn of_project(
        &self,
        report: &HookReport,
        seen: &BTreeSet<RecordId>,
        within: Duration,
    ) -> Result<(Given, Vec<RetrievedMemory>), Problem> {
        let own = tag_of(&report.project);
        let session = &report.session;
        let request = RecallRequest {
            top_k: CANDIDATES,
            ..RecallRequest::new(report.text.as_str())
        };
        let asked = request.heard(&self.calendar());
        let recall = async {
            let recall = self.recall_within(asked.clone(), within).await?;
            let project = Some(report.project.as_str());
            Ok(self.with_repositories(&asked, project, recall).await)
        };
        let mut recall = self.noted(&asked.query, recall).await?;
        without_sensitive(&mut recall);
        let here = [report.project.clone()];
        let left_out = |found: &RetrievedMemory| {
            let record = &found.record;
            if !session.is_empty() && record.session_id == *session {
                Some(LeftOut::SameSession)
            } else if is_foreign(record, own.as_slice()) {
                Some(LeftOut::OtherProject)
            } else if seen.contains(&record.id) {
                Some(LeftOut::Seen)
            } else {
                (!LessonCard::holds(record, &here, &asked.query)).then_some(LeftOut::Weak)
            }
        };
        let mut noted: Vec<Noted> = recall
            .results
            .iter()
            .map(|found| Noted {
                id: found.record.id,
                score: found.sona_score,
                left_out: left_out(found),
            })
            .collect();
        if noted.iter().any(|one| one.left_out.is_some()) {
            let mut stays = noted.iter().map(|one| one.left_out.is_none());
            recall.results.retain(|_| stays.next() == Some(true));
            decide(&mut recall);
        }
        let (recall_id, verdict) = (recall.recall_id, recall.verdict);
        let hits: Vec<RetrievedMemory> =
            recall.results.into_iter().filter(|one| one.shown).collect();
        let is_in = |id| hits.iter().any(|hit| hit.record.id == id);
        let mut places = 0..NOTED;
        noted.retain(|one| places.next().is_some() || is_in(one.id));
        for one in noted.iter_mut().filter(|one| one.left_out.is_none()) {
            one.left_out = (!is_in(one.id)).then_some(LeftOut::Weak);
        }
        let given = Given {
            recall_id,
            verdict,
            found: noted,
        };
        Ok((given, hits))
    }

    /// Something that an agent did in a session.
    fn done(&self, report: &HookReport, text: String, what: RecordType) -> NewRecord {
        let mut record = self.said(report, text, MemorySource::WorkerResult);
        record.details = Some(json!({ "type": what }));
        record
    }

    /// When a moment was: now, or before now.
    fn at(&self, report: &HookReport) -> DateTime<Utc> {
        let now = self.now();
        report.at.filter(|at| *at < now).unwrap_or(now)
    }

    /// Something said in a session, when it was.
    fn said(&self, report: &HookReport, text: String, source: MemorySource) -> NewRecord {
        let mut record = NewRecord::new(text, source, MemoryKind::Episode);
        record.timestamp = Some(self.at(report));
        record.session_id.clone_from(&report.session);
        record.tags = tag_of(&report.project).into_iter().collect();
        let agent = Some(report.agent.clone()).filter(|agent| !agent.is_empty());
        record.provenance.actor_id = agent;
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
            reprise_types::sha256_hex(words.as_bytes())
        ));
        let memory = self.clone().keyed(key);
        memory.keep_one(record).await.map(drop)
    }
}

fn tag_of(project: &str) -> Option<String> {
    (!project.is_empty())
        .then(|| normal_tag(&format!("project:{project}")))
        .flatten()
}

/// Whether a record belongs to a project that none of these tags names.
fn is_foreign(record: &MemoryRecord, own: &[String]) -> bool {
    let mut tags = record.tags.iter();
    tags.any(|tag| tag.starts_with("project:") && !own.contains(tag))
}

/// One memory in a prompt.
#[derive(Debug, Clone)]
struct Line {
    at: DateTime<Utc>,
    id: RecordId,
    /// What it is, who said it and when, and whether it still stands.
    told: String,
    /// What it is to a session that begins or goes on: `Open: `, `Last session: `.
    said: &'static str,
    text: String,
}

impl Line {
    fn of(found: RetrievedMemory, calendar: &Calendar) -> Self {
        let RetrievedMemory {
            record,
            why,
            published,
            ..
        } = found;
        let mut told = match published {
            Some(by) => by.words(),
            None => Told::of(&record, why.contradicted_by).words(calendar),
        };
        if why.answered.is_some() {
            told.push_str("; after the same was asked");
        }
        Self {
            at: record.timestamp,
            id: record.id,
            told,
            said: "",
            text: record.body.text,
        }
    }
}

/// How the rest of a line is reached.
const WHOLE: &str = "`get` of the memory server gives the whole of an id.";
const OTHERS: &str = "Published by others: check before you rely on one.";

/// What is put into a prompt, each part under a line that begins with its head and goes on with how
/// to read more; nothing for no lines.
fn injected(parts: &[(&str, &str, Vec<Line>)], nonce: u128) -> HookAnswer {
    let mut memory = QuotedMemory::new(nonce);
    for (head, more, lines) in parts.iter().filter(|(.., lines)| !lines.is_empty()) {
        memory.line(&[*head, *more].concat(), "");
        for line in lines {
            let text: String = one_line(&line.text).chars().take(INJECTED_CHARS).collect();
            let when = instant(line.at);
            let day = when.get(..10).unwrap_or_default();
            let label = format!("- [{day}, {}] ({}) {}", line.id, line.told, line.said);
            memory.line(&label, &text);
        }
    }
    HookAnswer {
        context: memory.into_text(),
    }
}

/// What a run may give credit to: what others said is not in this memory.
fn ids_of_own(hits: &[RetrievedMemory]) -> Vec<RecordId> {
    let own = hits.iter().filter(|hit| hit.published.is_none());
    own.map(|hit| hit.record.id).collect()
}

#[cfg(test)]
mod tests;
