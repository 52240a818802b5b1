//! What memory adds to a prompt: searched, chosen and written in one place, for the hook of a
//! prompt and for a person who wants to see it before.

use reprise_knowledge::{SessionTurn, extract_own_words};
use reprise_types::RelevanceVerdict;
use tokio::time::timeout;

use super::asked_times::restrict_to_asked_times;
use super::injected::{OTHERS, WHOLE, frame_nonce, render_injected, view_hit};
use super::opening::{OwedOpening, note_excerpts};
use super::{PauseMode, project_tag};
use crate::operations::recall::{AskedRecall, PromptReader, is_foreign};
use crate::operations::sessions::prompts::{InjectedBlock, LeftOutReason, NOTED, PromptRecall};
use crate::operations::sessions::{HookAnswer, HookReport, OPENING_DEADLINE_MS};
use crate::prelude::*;
use crate::wire::WEAK;

/// Looked at for them: others may belong to other projects, or be this session's own.
const CANDIDATES: usize = 48;
/// Most lines of what others published, in addition to those of the user's own memory.
const PUBLISHED_MAX: usize = 2;

/// What was found for a prompt, and the text that is added to it.
pub(super) struct FoundForPrompt {
    /// What the user's own memory has; `None` if it answered too late.
    pub(super) noted: Option<PromptRecall>,
    /// The user's own memories in the text: a run may give credit to them.
    pub(super) own: Vec<RecordId>,
    /// All memories in the text that were found for this prompt.
    pub(super) given: BTreeSet<RecordId>,
    /// The text, and a note of it.
    pub(super) answer: Result<(HookAnswer, Option<InjectedBlock>), Problem>,
}

/// What a prompt would receive if it were the first of a new session.
#[derive(Debug, Clone)]
pub struct PromptPreview {
    /// The text as the agent would read it; empty if it would get none.
    pub text: String,
    /// Estimated tokens of the text.
    pub tokens: usize,
    /// What was found, or why memory would not be asked.
    pub found: Result<PromptRecall, UnaskedReason>,
}

/// Why memory is not asked for a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaskedReason {
    /// Memory is paused there.
    Paused,
    /// The tokens of today are used up.
    NoTokensLeft,
    /// The text is too short, or is not a person's.
    SaysNothing,
    /// Memory answered too late.
    Late,
}

/// Returns whether the words of a prompt say enough to look for memories about them.
pub(super) fn is_worth_asking(words: &str) -> bool {
    SessionTurn::is_worth_keeping(words)
}

impl Memory {
    /// Finds what the hook of a prompt with this text would add to it in a project, in a session
    /// that has received nothing yet. Nothing is stored, and no list of questions has it.
    pub async fn preview_prompt(
        &self,
        text: &str,
        project: &str,
    ) -> Result<PromptPreview, Problem> {
        let unasked = |reason| {
            Ok(PromptPreview {
                text: String::new(),
                tokens: 0,
                found: Err(reason),
            })
        };
        if self.find_pause_mode(project, "") == Some(PauseMode::Off) {
            return unasked(UnaskedReason::Paused);
        }
        let words = extract_own_words(text).filter(|words| is_worth_asking(words));
        let Some(words) = words else {
            return unasked(UnaskedReason::SaysNothing);
        };
        if !self.has_tokens_left().await? {
            return unasked(UnaskedReason::NoTokensLeft);
        }
        let report = HookReport {
            text: words,
            project: project.to_owned(),
            ..HookReport::default()
        };
        let memory = self.clone().without_recall_notes();
        // A person waits for the model that a prompt may have to do without.
        let opened_within = OPENING_DEADLINE_MS.into();
        let (seen, opening) = (BTreeSet::new(), OwedOpening::default());
        let found = memory.find_for_prompt(
            &report,
            &seen,
            opening,
            Duration::from_millis(opened_within),
        );
        let found = Box::pin(found).await;
        let (answer, block) = found.answer?;
        Ok(PromptPreview {
            text: answer.context,
            tokens: block.map_or(0, |block| block.tokens),
            found: found.noted.ok_or(UnaskedReason::Late),
        })
    }

    /// Finds what helps with a prompt and writes the text for it: what the session should have
    /// begun with, the user's own memories, and what others published. `seen` is in the session
    /// already.
    pub(super) async fn find_for_prompt(
        &self,
        report: &HookReport,
        seen: &BTreeSet<RecordId>,
        owed: OwedOpening,
        within: Duration,
    ) -> FoundForPrompt {
        let recalled = self.recall_for_prompt(report, seen, within);
        let (recalled, others) = tokio::join!(recalled, self.recall_published(report, seen));
        let hits = recalled.iter().flat_map(|(_, hits)| hits);
        let (own, given) = (
            list_own_ids(hits.clone()),
            hits.chain(&others).map(|hit| hit.record.id).collect(),
        );
        let (noted, added) = match recalled {
            Ok((noted, hits)) => (Some(noted), Ok(hits)),
            Err(problem) => (None, Err(problem)),
        };
        let answer = match added {
            Err(problem) if others.is_empty() && owed.lines.is_empty() => Err(problem),
            added => {
                let sure = render_sureness(noted.as_ref());
                let hits = added.unwrap_or_default();
                Ok(self.render_prompt_block(&report.session, &sure, owed, hits, others))
            }
        };
        FoundForPrompt {
            noted,
            own,
            given,
            answer,
        }
    }

    /// Writes what is added to a prompt: the user's own memories and what others published.
    fn render_prompt_block(
        &self,
        session: &str,
        sure: &str,
        owed: OwedOpening,
        hits: Vec<RetrievedMemory>,
        others: Vec<RetrievedMemory>,
    ) -> (HookAnswer, Option<InjectedBlock>) {
        let calendar = self.calendar();
        let lines = |hits: Vec<RetrievedMemory>| -> Vec<HitView> {
            let lines = hits.into_iter().map(|hit| view_hit(hit, &calendar));
            lines.collect()
        };
        let parts = [
            (owed.head.as_str(), WHOLE, owed.lines),
            (sure, WHOLE, lines(hits)),
            (OTHERS, "", lines(others)),
        ];
        let nonce = frame_nonce(session, &parts);
        let (answer, mut block) = render_injected(&parts, &owed.more, nonce, self.now());
        if let Some(block) = &mut block {
            note_excerpts(block, &owed.excerpts);
        }
        (answer, block)
    }

    /// What others published that would help with a prompt, where hooks ask for it: of this project
    /// or of none, and in no prompt of the session yet.
    async fn recall_published(
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
            match self.open_global_tier().await {
                Ok(tier) => tier.recall_within_deadline(&request, deadline).await,
                Err(problem) => {
                    tracing::debug!(%problem, "a hook did not ask for published knowledge");
                    Vec::new()
                }
            }
        };
        let mut hits = timeout(deadline, asked).await.unwrap_or_default();
        if hits.is_empty() {
            return hits;
        }
        let own = self.list_project_tags(&report.project, deadline).await;
        let stays = |hit: &RetrievedMemory| {
            !seen.contains(&hit.record.id) && !is_foreign(&hit.record, &own)
        };
        hits.retain(stays);
        hits.truncate(PUBLISHED_MAX);
        hits
    }

    /// Lists the tags of a project under each of its names, or under this one if the others are
    /// not known `within` so long.
    async fn list_project_tags(&self, project: &str, within: Duration) -> Vec<String> {
        let own = Vec::from_iter(project_tag(project));
        if own.is_empty() || !self.exists() {
            return own;
        }
        let name = project.to_owned();
        let names = self.run_on_snapshot(move |memory| memory.list_project_names(&name));
        let names = timeout(within, names).await.ok().and_then(Result::ok);
        names.map_or(own, |names| {
            let tags = names.iter().filter_map(|name| project_tag(name));
            tags.collect()
        })
    }

    /// Recalls what would help, belongs to this project or to none, holds here, and is in no prompt
    /// of the session yet: neither as its own words nor as injected memory. What is left out for
    /// that makes nothing else more or less likely. Returns everything that was found, too.
    pub(super) async fn recall_for_prompt(
        &self,
        report: &HookReport,
        seen: &BTreeSet<RecordId>,
        within: Duration,
    ) -> Result<(PromptRecall, Vec<RetrievedMemory>), Problem> {
        let (at, began, text) = (self.now(), Instant::now(), report.text.as_str());
        let request = RecallRequest {
            top_k: CANDIDATES,
            now: Some(at),
            ..RecallRequest::new(text)
        };
        let timed = restrict_to_asked_times(request.clone(), &self.calendar());
        let names_time = !timed.query_times.is_empty();
        let left_out_rules = self.run_on_session(&report.session, |session| {
            session.left_out_rules.retain(|id| !seen.contains(id));
            session.left_out_rules.clone()
        });
        let mut reader = PromptReader {
            left_out_rules,
            session: report.session.clone(),
            project: report.project.clone(),
            own_tags: self.list_project_tags(&report.project, within).await,
            seen: seen.clone(),
            deadline: report.deadline(),
            within,
        };
        let memory = self.clone().without_recall_notes();
        let asked = AskedRecall::for_prompt(timed, reader.clone());
        let mut found = memory.answer(asked).await?;
        if names_time && !found.is_answered {
            // What helps may be older than the time that a prompt names.
            reader.within = within.saturating_sub(began.elapsed());
            found = memory
                .answer(AskedRecall::for_prompt(request, reader))
                .await?;
        }
        let (recall, mut noted) = (found.recall, found.noted);
        self.note_recall(text, &recall, at, began);
        let (recall_id, verdict) = (recall.recall_id, recall.verdict);
        let half_answer = recall.half_answer().map(str::to_owned);
        let only_times = Some(recall.only_times);
        let hits: Vec<RetrievedMemory> =
            recall.results.into_iter().filter(|one| one.shown).collect();
        let is_in = |id| hits.iter().any(|hit| hit.record.id == id);
        let mut places = 0..NOTED;
        noted.retain(|one| places.next().is_some() || is_in(one.id));
        for one in noted.iter_mut().filter(|one| one.left_out.is_none()) {
            one.left_out = (!is_in(one.id)).then_some(LeftOutReason::Weak);
        }
        let given = PromptRecall {
            recall_id,
            verdict,
            elapsed_ms: u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX),
            half_answer,
            only_times,
            found: noted,
        };
        Ok((given, hits))
    }
}

/// Returns the words before what was found for a prompt: how far it is to be relied on.
fn render_sureness(given: Option<&PromptRecall>) -> String {
    let is_sure = given.is_some_and(|given| given.verdict == RelevanceVerdict::Relevant);
    let half_answer = given.and_then(|given| given.half_answer.as_deref());
    let sure = if is_sure {
        "From earlier sessions; ".to_owned()
    } else {
        format!("From earlier sessions, {WEAK}; ")
    };
    match half_answer {
        Some(half) => [half, " ", &sure].concat(),
        None => sure,
    }
}

/// What a run may give credit to: what others said is not in this memory.
fn list_own_ids<'a>(hits: impl Iterator<Item = &'a RetrievedMemory>) -> Vec<RecordId> {
    let own = hits.filter(|hit| hit.published.is_none());
    own.map(|hit| hit.record.id).collect()
}
