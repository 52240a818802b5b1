//! How prompts went, in words; and the last seven days in numbers: how many prompts there were, how
//! many received memory, and how the work of those went that used it.

mod turn;

use std::collections::BTreeSet;

use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_operations::{
    LeftOutReason, NothingAddedReason, Prompt, PromptOutcome, PromptRecall, PromptResult,
    UnansweredReason,
};
use reprise_types::Cursor;

use crate::prelude::*;

use turn::NO_CREDIT;
pub(super) use turn::{
    OpenUse, Turn, describe_asked_times, describe_match, find_open_uses, first_characters,
    render_use_chip,
};

pub(super) const DAYS: i64 = 7;
/// Programs that say no name; no switch can name them.
pub(super) const UNNAMED: &str = "unnamed program";
/// Prompts that are loaded at once, and most that are counted.
const PAGE: usize = 200;
const COUNTED_MAX: usize = 1_000;

/// Which prompts of a week are meant; its name is a value of `show` in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptGroup {
    All,
    Received,
    Helped,
    Failed,
}

impl PromptGroup {
    /// Each group with its value of `show`, its name after a number, and its name alone.
    pub(super) const ALL: [(Self, &'static str, &'static str, &'static str); 4] = [
        (Self::All, "week", "prompts", "All prompts"),
        (
            Self::Received,
            "received",
            "received memories",
            "Received memories",
        ),
        (Self::Helped, "helped", "helped (confirmed)", "Helped"),
        (Self::Failed, "failed", "failed anyway", "Failed anyway"),
    ];

    /// Says what the prompts of this group have in common, where its name does not.
    pub(super) fn describe(self) -> Option<&'static str> {
        match self {
            Self::All | Self::Received => None,
            Self::Helped => Some(HELPED),
            Self::Failed => Some(
                "The agent used a memory that it received, and its work failed. This alone does \
                 not show that the memory was wrong.",
            ),
        }
    }

    /// Says that no prompt of the last seven days is in this group.
    pub(super) fn describe_none(self) -> &'static str {
        match self {
            Self::All => "No prompt was sent in the last 7 days.",
            Self::Received => "No prompt of the last 7 days received a memory.",
            Self::Helped => {
                "In the last 7 days, no test and no report confirms work that used a memory."
            }
            Self::Failed => "In the last 7 days, no agent used a memory and failed.",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, own, ..)| *own == name);
        found.map(|(group, ..)| *group)
    }

    pub(super) fn contains(self, prompt: &Prompt) -> bool {
        match self {
            Self::All => true,
            Self::Received => prompt.received_memories(),
            Self::Helped => prompt.result_with_memory() == Some(PromptResult::Helped),
            Self::Failed => prompt.result_with_memory() == Some(PromptResult::Failed),
        }
    }
}

/// Renders what a prompt received and how it went, as chips; `open_use` is what is known of the use
/// of memories if its work has no result.
pub(super) fn render_outcome_chips(prompt: &Prompt, open_use: OpenUse) -> Markup {
    let (received, used) = (prompt.count_received(), prompt.count_used());
    html! {
        @if has_conflict(prompt) { span class="chip warn" { "conflicts" } }
        @if prompt.given.is_none() {
            span class="faint" { (describe_unanswered(prompt)[0]) }
        } @else if received > 0 {
            span class="chip" {
                (text::pluralize(received, "memory added", "memories added"))
                @if used > 0 { ", " (used) " used" }
            }
            @if used == 0 {
                @if prompt.outcome.is_some() { span class="chip faint" title=(NO_CREDIT) { "not used" } }
                @else {
                    @let (words, class, meaning) = open_use.describe();
                    span class=(class) title=(meaning) { (words) }
                }
            }
        } @else if prompt.received_memories() {
            span class="chip" { "published memories added" }
        } @else {
            span class="faint" {
                "nothing added"
                @if let Some(why) = main_reason(prompt) { ": " (describe_left_out(why)[0]) }
            }
        }
        @match prompt.result_with_memory() {
            Some(PromptResult::Unconfirmed) => {
                span class="chip" title=(UNCONFIRMED) { "done without a test" }
            }
            Some(PromptResult::Helped) => {
                span class="chip good" title=[PromptGroup::Helped.describe()] { "helped" }
            }
            Some(PromptResult::Failed) => {
                span class="chip warn" title=[PromptGroup::Failed.describe()] { "failed anyway" }
            }
            None => {}
        }
    }
}

/// Counts the prompts that were imported, which could not receive any memory.
pub(super) fn count_imported(prompts: &[Prompt]) -> usize {
    let is_imported = |one: &&Prompt| one.given.is_none() && one.unanswered.is_none();
    prompts.iter().filter(is_imported).count()
}

/// Counts what became of prompts that received memories and neither helped nor failed: each with
/// its words.
pub(super) fn count_other_results(prompts: &[Prompt]) -> Vec<(usize, &'static str)> {
    let received = prompts.iter().filter(|one| one.received_memories());
    let mut counts = [
        (0, "done without a test"),
        (0, "used none of them"),
        (0, "without a result"),
    ];
    for one in received {
        let place = match (one.result_with_memory(), &one.outcome) {
            (Some(PromptResult::Unconfirmed), _) => 0,
            (Some(_), _) => continue,
            (None, Some(_)) => 1,
            (None, None) => 2,
        };
        counts[place].0 += 1;
    }
    let counted = counts.into_iter().filter(|(count, _)| *count > 0);
    counted.collect()
}

/// What is known of a prompt that counts as helped.
pub(super) const HELPED: &str = "Helped: the agent used a memory that it received, and a passed \
     test or a report confirms its work.";
/// What is known of work that ended without a test and without a report.
const UNCONFIRMED: &str = "The agent used a memory that it received and came to an end; no test says \
     that the work is right.";

/// Returns the reason for which a prompt received nothing, if something was found for it.
fn main_reason(prompt: &Prompt) -> Option<LeftOutReason> {
    match prompt.find_nothing_added_reason()? {
        // Its own page counts each reason, and this is the most frequent one.
        NothingAddedReason::LeftOut(why) => {
            let counted = prompt.given.as_ref().map(count_left_out);
            let counted = counted.unwrap_or_default();
            let most = counted.iter().map(|(_, count)| *count).max();
            let first = counted.iter().find(|(_, count)| Some(*count) == most);
            Some(first.map_or(why, |(reason, _)| *reason))
        }
        _ => None,
    }
}

/// Counts the memories that were left out for each reason, in the order of the best of each.
fn count_left_out(given: &PromptRecall) -> Vec<(LeftOutReason, usize)> {
    let mut reasons: Vec<(LeftOutReason, usize)> = Vec::new();
    for why in given.found.iter().filter_map(|one| one.left_out) {
        match reasons.iter_mut().find(|(own, _)| *own == why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((why, 1)),
        }
    }
    reasons
}

/// What is said of each reason: after a number of memories, and of all that were found.
pub(super) fn describe_left_out(why: LeftOutReason) -> [&'static str; 2] {
    match why {
        LeftOutReason::Weak => ["too weak", "every match was too weak"],
        LeftOutReason::OtherProject => [
            "from another project",
            "what was found belongs to another project",
        ],
        LeftOutReason::SameSession => [
            "said in this session",
            "what was found was said in this session",
        ],
        LeftOutReason::Seen => [
            "already received in this session",
            "this session had already received what was found",
        ],
        LeftOutReason::NoRoom => ["with no room left", "there was no room left"],
    }
}

/// Says why a prompt receives nothing, by the reasons for which each memory was left out; `lead` is
/// how the sentence begins.
pub(super) fn describe_nothing_added(lead: &str, given: &PromptRecall) -> String {
    let reasons = count_left_out(given);
    let why = match reasons.as_slice() {
        [] => "no memory matches this prompt".to_owned(),
        [(only, _)] => describe_left_out(*only)[1].to_owned(),
        several => {
            let each = several.iter();
            let each = each.map(|(why, count)| format!("{count} {}", describe_left_out(*why)[0]));
            return format!("{lead}. Left out: {}.", each.collect::<Vec<_>>().join(", "));
        }
    };
    format!("{lead}: {why}.")
}

/// Says in a chip and in a sentence why a prompt got nothing.
pub(super) fn describe_unanswered(prompt: &Prompt) -> [&'static str; 2] {
    match prompt.unanswered {
        Some(UnansweredReason::Late) => [
            "memory answered too late",
            "Memory answered too late: the agent went on without it.",
        ],
        Some(UnansweredReason::NoTokensLeft) => [
            "daily limit reached",
            "Nothing: the tokens for that day were used up.",
        ],
        None => ["imported", "Imported session: no memory was added."],
    }
}

/// Returns whether a memory in a prompt was contradicted by a newer one.
fn has_conflict(prompt: &Prompt) -> bool {
    let given = prompt.given.iter().flat_map(|given| &given.found);
    let mut put_in = given.filter(|one| one.left_out.is_none());
    put_in.any(|one| one.contradicted_by.is_some())
}

/// Says how the work of a prompt went, and what was expected of it.
pub(super) fn describe_result(outcome: &PromptOutcome) -> String {
    let quality = outcome.quality;
    let how = match (outcome.went_well(), outcome.confirmed) {
        (true, true) => "Done, and confirmed by a test or a report",
        (true, false) => "Done without a test",
        (false, _) => "Failed",
    };
    if let Some(expected) = outcome.known_expectation() {
        return format!("{how} ({quality:.2}; similar prompts: {expected:.2}).");
    }
    let similar = text::pluralize(outcome.similar, "similar prompt", "similar prompts");
    format!("{how} ({quality:.2}; {similar} before it: too few to compare).")
}

/// The prompts of the last seven or more days, the newest first.
#[derive(Debug, Default)]
pub(super) struct Week {
    pub(super) prompts: Vec<Prompt>,
    /// Whether there are more than are counted.
    pub(super) is_cut: bool,
}

impl Week {
    pub(super) async fn load(visit: &PageRequest) -> PageResult<Self> {
        Self::load_days(visit, DAYS).await
    }

    /// Loads the prompts of so many days.
    pub(super) async fn load_days(visit: &PageRequest, days: i64) -> PageResult<Self> {
        let since = visit.page.now() - TimeDelta::days(days);
        Self::load_between(visit, since, None).await
    }

    /// Loads the prompts between two times, or since one.
    pub(super) async fn load_between(
        visit: &PageRequest,
        since: DateTime<Utc>,
        until: Option<DateTime<Utc>>,
    ) -> PageResult<Self> {
        let mut week = Self::default();
        // The next older prompt than the first one after the end.
        let mut cursor = until.map(|until| Cursor {
            timestamp_micros: until.timestamp_micros() + 1,
            id: RecordId::from_u128(0),
        });
        loop {
            let arguments = PromptsArguments {
                session: None,
                limit: Some(PAGE),
                cursor,
            };
            let Some(page) = visit.run_optional::<Prompts>(arguments).await? else {
                return Ok(week);
            };
            let loaded = page.prompts.len();
            let of_week = page.prompts.into_iter().filter(|one| one.at >= since);
            let before = week.prompts.len();
            week.prompts.extend(of_week);
            // The first page with an older prompt is the last one of the week.
            if week.prompts.len() - before < loaded || page.next.is_none() {
                return Ok(week);
            }
            if week.prompts.len() >= COUNTED_MAX {
                week.is_cut = true;
                return Ok(week);
            }
            cursor = page.next;
        }
    }

    /// Keeps the prompts since a time.
    pub(super) fn keep_since(self, since: DateTime<Utc>) -> Self {
        let oldest = self.prompts.last().map(|prompt| prompt.at);
        let is_cut = self.is_cut && oldest.is_some_and(|oldest| oldest >= since);
        let mut prompts = self.prompts;
        prompts.retain(|prompt| prompt.at >= since);
        Self { prompts, is_cut }
    }

    /// Counts the prompts of each of the last seven times 24 hours, the latest last: together they
    /// are all prompts of the week.
    pub(super) fn count_by_day(&self, now: DateTime<Utc>) -> Vec<usize> {
        let mut counts = vec![0; usize::try_from(DAYS).unwrap_or(1)];
        for prompt in &self.prompts {
            let back = usize::try_from((now - prompt.at).num_days()).unwrap_or_default();
            let last = counts.len() - 1;
            counts[last.saturating_sub(back)] += 1;
        }
        counts
    }

    /// Counts the prompts of yesterday.
    pub(super) fn count_yesterday(&self, calendar: &Calendar) -> usize {
        let yesterday = calendar.today() - TimeDelta::days(1);
        let prompts = self.prompts.iter();
        prompts
            .filter(|one| calendar.day_of(one.at) == yesterday)
            .count()
    }

    /// Formats the number of prompts in a group, with a plus if there are more.
    pub(super) fn count(&self, group: PromptGroup) -> String {
        let counted = self
            .prompts
            .iter()
            .filter(|one| group.contains(one))
            .count();
        let more = if self.is_cut { "+" } else { "" };
        format!("{}{more}", text::format_count(counted as u64))
    }

    /// Counts the prompts that were imported, which could not receive any memory.
    pub(super) fn count_imported(&self) -> usize {
        count_imported(&self.prompts)
    }

    /// Counts the tokens that memory added.
    pub(super) fn count_tokens(&self) -> u64 {
        let tokens = self.prompts.iter();
        let tokens = tokens.map(|one| (one.tokens + one.opening_tokens) as u64);
        tokens.sum()
    }

    /// Returns the mean number of tokens that memory added to a session in which it was asked.
    pub(super) fn tokens_per_session(&self) -> Option<u64> {
        let is_asked = |one: &&Prompt| one.given.is_some() || one.unanswered.is_some();
        let asked = self.prompts.iter().filter(is_asked);
        let (mut sessions, mut tokens) = (BTreeSet::new(), 0_usize);
        for prompt in asked {
            sessions.insert(prompt.session.as_str());
            tokens += prompt.tokens + prompt.opening_tokens;
        }
        text::find_mean(tokens, sessions.len()).map(|mean| mean as u64)
    }
}
