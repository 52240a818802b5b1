//! What is asked of memory, and what of the answer its reader is not told.

use reprise_knowledge::asks_to_run;

use crate::operations::sessions::LeftOutReason;
use crate::prelude::*;

/// What is asked of memory, and who reads the answer.
#[derive(Debug, Clone)]
pub struct AskedRecall {
    pub(super) request: RecallRequest,
    /// The question's vector, where the caller has it.
    pub(super) vector: Option<Embedding>,
    pub(super) scope: RecallScope,
    /// Whether the asker has said how many results there may be.
    pub(super) is_limited: bool,
    pub(super) reader: AnswerReader,
}

/// Who reads an answer.
#[derive(Debug, Clone)]
pub(in crate::operations) enum AnswerReader {
    /// The caller of an operation.
    Caller {
        /// Whether it is an agent, who gets what is sensitive by its id alone.
        is_agent: bool,
        /// Where it is, if lessons that do not hold there are left out.
        holding_in: Option<Vec<String>>,
    },
    /// The agent that a prompt is for.
    Prompt(PromptReader),
}

/// The agent that a prompt is for, by its hook.
#[derive(Debug, Clone)]
pub(in crate::operations) struct PromptReader {
    pub(in crate::operations) session: String,
    pub(in crate::operations) project: String,
    /// The tags of the project under each of its names.
    pub(in crate::operations) own_tags: Vec<String>,
    /// Rules for which the beginning of its session had no room.
    pub(in crate::operations) left_out_rules: BTreeSet<RecordId>,
    /// What its conversation has already.
    pub(in crate::operations) seen: BTreeSet<RecordId>,
    /// How long its program waits for the whole answer.
    pub(in crate::operations) deadline: Duration,
    /// How long a recall may take; a model that is late is done without.
    pub(in crate::operations) within: Duration,
}

impl AskedRecall {
    /// Asks the user's own memory for a caller.
    pub(in crate::operations) fn new(request: RecallRequest, is_agent: bool) -> Self {
        Self {
            request,
            vector: None,
            scope: RecallScope::Local,
            is_limited: true,
            reader: AnswerReader::Caller {
                is_agent,
                holding_in: None,
            },
        }
    }

    /// Asks the user's own memory for a prompt.
    pub(in crate::operations) fn for_prompt(request: RecallRequest, reader: PromptReader) -> Self {
        Self {
            reader: AnswerReader::Prompt(reader),
            ..Self::new(request, true)
        }
    }

    /// Returns the hook that asks, if one does.
    pub(super) fn hook(&self) -> Option<&PromptReader> {
        match &self.reader {
            AnswerReader::Prompt(hook) => Some(hook),
            AnswerReader::Caller { .. } => None,
        }
    }

    /// Returns the request that is ranked: it has room for what is left out.
    pub(super) fn request_to_rank(&self) -> RecallRequest {
        let mut request = self.request.clone();
        if let AnswerReader::Caller {
            holding_in: Some(_),
            ..
        } = &self.reader
        {
            request.top_k = request.top_k.saturating_mul(2);
        }
        request
    }

    /// Returns whether nothing but a project limits what may answer: who asks for a type, a tag, a
    /// session or a time gets just that.
    pub(super) fn is_open(&self) -> bool {
        let of_project = MemoryFilter {
            project: self.request.filter.project.clone(),
            ..MemoryFilter::default()
        };
        self.request.as_of.is_none() && self.request.filter == of_project
    }

    /// Returns why the reader is not told a step of a turn: it has the answer that ended the turn.
    pub(super) fn knows_what_came_of(&self, step: &RetrievedMemory) -> Option<LeftOutReason> {
        let answer = step.why.step_of?;
        let seen = &self.hook()?.seen;
        seen.contains(&answer).then_some(LeftOutReason::Seen)
    }

    /// Returns whether the reader may be told a record: whatever a step adds to an answer, or puts
    /// in the place of something else, passes here or is left out again.
    pub(super) fn may_tell(
        &self,
        memory: &Snapshot,
        calendar: &Calendar,
        record: &MemoryRecord,
    ) -> bool {
        let is_hidden = self.is_for_agent() && record.is_sensitive();
        !is_hidden
            && !self.is_expired(memory, calendar, record)
            && self.reason_to_leave_out(record).is_none()
    }

    /// Whether an agent reads the answer, who gets what is sensitive by its id alone.
    pub(super) fn is_for_agent(&self) -> bool {
        matches!(
            self.reader,
            AnswerReader::Prompt(_) | AnswerReader::Caller { is_agent: true, .. }
        )
    }

    /// Whether a record's time is over at the time that is asked about, and nobody marked it as
    /// not expiring.
    pub(super) fn is_expired(
        &self,
        memory: &Snapshot,
        calendar: &Calendar,
        record: &MemoryRecord,
    ) -> bool {
        let now = self.request.as_of.or(self.request.now);
        record.is_expired(now.unwrap_or(calendar.now)) && !memory.are_distinct(record.id, record.id)
    }

    /// Returns why the reader is not told a memory, if it is not.
    pub(super) fn reason_to_leave_out(&self, record: &MemoryRecord) -> Option<LeftOutReason> {
        let question = &self.request.query;
        let holds = |here: &[String]| LessonCard::applies_here(record, here, question);
        let hook = match &self.reader {
            AnswerReader::Caller { holding_in, .. } => {
                let is_over = holding_in.as_ref().is_some_and(|here| !holds(here));
                return is_over.then_some(LeftOutReason::Weak);
            }
            AnswerReader::Prompt(hook) => hook,
        };
        let is_run = matches!(
            record.record_type(),
            RecordType::Test | RecordType::Command | RecordType::Run
        );
        if !hook.session.is_empty() && record.session_id == hook.session {
            Some(LeftOutReason::SameSession)
        } else if is_foreign(record, &hook.own_tags) {
            Some(LeftOutReason::OtherProject)
        } else if hook.seen.contains(&record.id) {
            Some(LeftOutReason::Seen)
        } else {
            // What was run before says nothing of how it will end now.
            let is_weak =
                (is_run && asks_to_run(question)) || !holds(std::slice::from_ref(&hook.project));
            is_weak.then_some(LeftOutReason::Weak)
        }
    }
}

/// Whether a record belongs to a project that none of these tags names.
pub(in crate::operations) fn is_foreign(record: &MemoryRecord, own: &[String]) -> bool {
    let mut tags = record.tags.iter();
    tags.any(|tag| tag.starts_with("project:") && !own.contains(tag))
}
