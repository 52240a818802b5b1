//! What memory costs: the tokens that it added to prompts and to the beginnings of sessions, by day
//! over a month, by agent and by project over a week, and the limit of a day.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use reprise_operations::Prompt;
use reprise_types::short_project_name;

use crate::chart::{ChartBar, render_bars};
use crate::pages::configuration;
use crate::pages::week::{UNNAMED, Week};
use crate::prelude::*;

/// The setting that limits the tokens of a day.
const LIMIT: &str = "memory.prompt_tokens_per_day";
/// Days of the chart.
pub(super) const DAYS_CHARTED: i64 = 30;
/// Most agents and projects that are listed.
const LISTED: usize = 12;

/// Tokens that memory added.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct TokenSum {
    /// To the beginnings of sessions.
    openings: usize,
    prompts: usize,
}

impl TokenSum {
    fn add(&mut self, prompt: &Prompt) {
        self.openings += prompt.opening_tokens;
        self.prompts += prompt.tokens;
    }

    fn total(self) -> usize {
        self.openings + self.prompts
    }
}

/// Adds up the tokens of prompts by what `key` reads of each, the most first.
fn add_up<K: Ord>(prompts: &[Prompt], key: impl Fn(&Prompt) -> K) -> Vec<(K, TokenSum)> {
    let mut sums: BTreeMap<K, TokenSum> = BTreeMap::new();
    for prompt in prompts {
        sums.entry(key(prompt)).or_default().add(prompt);
    }
    let mut sums: Vec<_> = sums
        .into_iter()
        .filter(|(_, sum)| sum.total() > 0)
        .collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.total()));
    sums
}

fn agent_of(prompt: &Prompt) -> String {
    let agent = prompt.agent.as_deref();
    agent.unwrap_or(UNNAMED).to_owned()
}

fn project_of(prompt: &Prompt) -> String {
    let mut tags = prompt.tags.iter();
    let named = tags.find_map(|tag| tag.strip_prefix("project:"));
    named.map_or("no project", short_project_name).to_owned()
}

/// The tokens of each of the last days, the oldest first.
pub(super) struct DailyTokens {
    days: Vec<(NaiveDate, usize)>,
    /// Whether there were more prompts than are counted.
    is_cut: bool,
}

impl DailyTokens {
    pub(super) fn of(visit: &PageRequest, month: &Week) -> Self {
        let calendar = visit.page.calendar();
        let sums = add_up(&month.prompts, |one| calendar.day_of(one.at));
        let days = (0..DAYS_CHARTED).rev().map(|back| {
            let day = calendar.today() - TimeDelta::days(back);
            let sum = sums.iter().find(|(own, _)| *own == day);
            (day, sum.map_or(0, |(_, sum)| sum.total()))
        });
        Self {
            days: days.collect(),
            is_cut: month.is_cut,
        }
    }

    fn total(&self) -> usize {
        self.days.iter().map(|(_, count)| count).sum()
    }

    /// Renders a bar for each day, and what all of them add up to.
    fn render(&self) -> Markup {
        let bars = self.days.iter().map(|(day, count)| ChartBar {
            name: day.format("%a %-d %b").to_string(),
            count: *count,
            path: None,
        });
        let bars: Vec<ChartBar> = bars.collect();
        let average = text::find_mean(self.total(), self.days.len()).unwrap_or_default();
        html! {
            (render_bars(&format!("Each of the last {DAYS_CHARTED} days"), "tokens", &bars))
            p class="faint" data-month-tokens=(self.total()) {
                (count_tokens(self.total())) " in the last " (DAYS_CHARTED) " days, "
                (text::format_count(average as u64)) " a day on average."
                @if self.is_cut { " Only the newest prompts are counted." }
            }
        }
    }
}

/// Renders the tokens of the last seven days and of the month, and the limit.
pub(super) fn render_tokens(visit: &PageRequest, week: &Week, by_day: &DailyTokens) -> Markup {
    let mut all = TokenSum::default();
    week.prompts.iter().for_each(|one| all.add(one));
    html! {
        section id="tokens" {
            h2 { "Tokens of the last 7 days" }
            p class="lead" data-tokens=(all.total()) {
                (count_tokens(all.total()))
                @if let Some(mean) = week.tokens_per_session() { " (" (text::format_count(mean)) " per session that asked)" }
                ": " (count_tokens(all.openings)) " when sessions started, " (count_tokens(all.prompts)) " in prompts."
            }
            @if by_day.total() > 0 { div class="card" { (by_day.render()) } }
            @if all.total() > 0 {
                @for (label, sums) in [
                    ("Agent", add_up(&week.prompts, agent_of)), ("Project", add_up(&week.prompts, project_of)),
                ] {
                    (table(&format!("Tokens by {}", label.to_lowercase()),
                        &[label, "#At session starts", "#In prompts", "#Together"],
                        sums.iter().take(LISTED).map(|(name, sum)| html! {
                            td { (text::shorten(name, 60)) }
                            td class="number" { (text::format_count(sum.openings as u64)) }
                            td class="number" { (text::format_count(sum.prompts as u64)) }
                            td class="number" { (text::format_count(sum.total() as u64)) }
                        })
                    ))
                }
            }
            (configuration::render_setting_card(visit, LIMIT, "/agents"))
        }
    }
}

fn count_tokens(count: usize) -> String {
    text::pluralize(count, "token", "tokens")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_added_up_by_agent_and_what_added_none_is_left_out() {
        let prompt = |agent: &str, tokens: usize, opening_tokens: usize| -> Prompt {
            let read = json!({
                "id": RecordId::from_parts(1, 1), "at": "2026-11-28T10:00:00Z", "text": "why",
                "session": "s", "tags": ["project:github.com/acme/shop"], "agent": agent,
                "tokens": tokens, "opening_tokens": opening_tokens, "given": null,
                "outcome": null,
            });
            serde_json::from_value(read).unwrap()
        };
        let all = [
            prompt("codex", 10, 0),
            prompt("cursor", 5, 100),
            prompt("codex", 20, 0),
            prompt("zed", 0, 0),
        ];
        let sums = add_up(&all, agent_of);
        let sums: Vec<(&str, usize, usize)> = sums
            .iter()
            .map(|(name, sum)| (name.as_str(), sum.openings, sum.prompts))
            .collect();
        assert_eq!(sums, [("cursor", 100, 5), ("codex", 0, 30)]);
        assert_eq!(add_up(&all, project_of)[0].0, "shop");
    }
}
