//! The last seven days in numbers: how many prompts there were, how many received memory, and how
//! many of those it helped or made worse.

use std::collections::BTreeSet;

use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_operations::{Prompt, PromptRecall};

use crate::prelude::*;

pub(super) const DAYS: i64 = 7;
/// Prompts that are loaded at once, and most that are counted.
const PAGE: usize = 200;
const COUNTED_MAX: usize = 1_000;

/// Which prompts of a week are meant; its name is a value of `show` in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptGroup {
    All,
    Received,
    Helped,
    Hurt,
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
        (Self::Helped, "helped", "helped", "Helped by memory"),
        (Self::Hurt, "hurt", "made worse", "Made worse by memory"),
    ];

    /// Says that no prompt of the last seven days is in this group.
    pub(super) fn describe_none(self) -> &'static str {
        match self {
            Self::All => "No prompt was sent in the last 7 days.",
            Self::Received => "No prompt of the last 7 days received a memory.",
            Self::Helped => "No prompt of the last 7 days was helped by memory.",
            Self::Hurt => "No prompt of the last 7 days was made worse by memory.",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, own, ..)| *own == name);
        found.map(|(group, ..)| *group)
    }

    pub(super) fn contains(self, prompt: &Prompt) -> bool {
        let went_well = || Some(prompt.outcome.as_ref()?.quality >= 0.5);
        match self {
            Self::All => true,
            Self::Received => prompt.given.as_ref().is_some_and(|it| count_given(it) > 0),
            Self::Helped => count_used(prompt) > 0 && went_well() == Some(true),
            Self::Hurt => count_used(prompt) > 0 && went_well() == Some(false),
        }
    }
}

/// Counts the records that a prompt received.
pub(super) fn count_given(given: &PromptRecall) -> usize {
    let found = given.found.iter();
    found.filter(|one| one.left_out.is_none()).count()
}

/// Counts the memories in a prompt that its run used.
pub(super) fn count_used(prompt: &Prompt) -> usize {
    let used = prompt.outcome.as_ref().map(|outcome| &outcome.used);
    let given = prompt.given.iter().flat_map(|given| &given.found);
    let put_in = given.filter(|one| one.left_out.is_none());
    put_in
        .filter(|one| used.is_some_and(|used| used.contains(&one.id)))
        .count()
}

/// The prompts of the last seven days, the newest first.
#[derive(Debug, Default)]
pub(super) struct Week {
    pub(super) prompts: Vec<Prompt>,
    /// Whether there are more than are counted.
    pub(super) is_cut: bool,
}

impl Week {
    pub(super) async fn load(visit: &PageRequest) -> PageResult<Self> {
        let since = visit.page.now() - TimeDelta::days(DAYS);
        let mut week = Self::default();
        let mut cursor = None;
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

    /// Returns the mean number of tokens that memory added to a session.
    pub(super) fn tokens_per_session(&self) -> Option<u64> {
        let asked = self.prompts.iter().filter(|one| one.given.is_some());
        let (mut sessions, mut tokens) = (BTreeSet::new(), 0_usize);
        for prompt in asked {
            sessions.insert(prompt.session.as_str());
            tokens += prompt.tokens + prompt.opening_tokens;
        }
        let mean = tokens.checked_div(sessions.len())?;
        Some(mean as u64)
    }
}
