//! How many tokens memory has put into prompts today, and whether the budget of the day has room.

use chrono::NaiveDate;

use crate::operations::sessions::prompts::list_prompts;
use crate::prelude::*;

/// Most prompts of a day that are counted when a daemon starts in the middle of it.
const PROMPTS_MAX: usize = 1_000;

/// Tokens that were put into prompts on one day.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TokenDay {
    day: NaiveDate,
    tokens: usize,
}

impl Memory {
    /// Returns whether memory may put more into prompts today. Without a budget it may.
    pub(super) async fn has_tokens_left(&self) -> Result<bool, Problem> {
        let Some(budget) = self.all.around.prompt_tokens_per_day else {
            return Ok(true);
        };
        let calendar = self.calendar();
        let today = calendar.day_of(self.now());
        let known = lock(&self.all.token_days).get(&self.user).copied();
        let tokens = match known.filter(|known| known.day == today) {
            Some(known) => known.tokens,
            None if self.exists() => {
                let counted = self
                    .run_on_snapshot(move |memory| count_tokens_of_day(memory, &calendar, today));
                let tokens = counted.await?;
                let counted = TokenDay { day: today, tokens };
                lock(&self.all.token_days).insert(self.user.clone(), counted);
                tokens
            }
            None => 0,
        };
        Ok(tokens < budget)
    }

    /// Counts tokens that were put into a prompt, where a budget asks for it.
    pub(super) fn count_tokens(&self, tokens: usize) {
        if self.all.around.prompt_tokens_per_day.is_none() {
            return;
        }
        let today = self.calendar().day_of(self.now());
        let mut days = lock(&self.all.token_days);
        let entry = days.entry(self.user.clone()).or_default();
        if entry.day != today {
            *entry = TokenDay {
                day: today,
                tokens: 0,
            };
        }
        entry.tokens += tokens;
    }
}

/// Counts the tokens that the prompts of a day have received.
fn count_tokens_of_day(memory: &Snapshot, calendar: &Calendar, day: NaiveDate) -> usize {
    let (newest, _) = list_prompts(memory, None, PROMPTS_MAX, None);
    let of_day = newest
        .iter()
        .take_while(|prompt| calendar.day_of(prompt.at) == day);
    of_day
        .map(|prompt| prompt.tokens + prompt.opening_tokens)
        .sum()
}
