//! What memory costs: the tokens that it added to prompts and to the beginnings of sessions in the
//! last seven days, by day, by agent and by project, and the limit of a day.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use reprise_operations::Prompt;
use reprise_types::short_project_name;

use crate::chart::{ChartBar, render_bars};
use crate::pages::week::{DAYS, Week};
use crate::prelude::*;

/// The setting that limits the tokens of a day.
const LIMIT: &str = "memory.prompt_tokens_per_day";
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
    agent.unwrap_or("unnamed program").to_owned()
}

fn project_of(prompt: &Prompt) -> String {
    let mut tags = prompt.tags.iter();
    let named = tags.find_map(|tag| tag.strip_prefix("project:"));
    named.map_or("no project", short_project_name).to_owned()
}

/// Renders the tokens of the last seven days, and the limit.
pub(super) fn render_tokens(visit: &PageRequest, week: &Week) -> Markup {
    let mut all = TokenSum::default();
    week.prompts.iter().for_each(|one| all.add(one));
    let calendar = visit.page.calendar();
    let today = calendar.day_of(visit.page.now());
    let of_days = add_up(&week.prompts, |one| calendar.day_of(one.at));
    let day_tokens = |day: NaiveDate| -> usize {
        let found = of_days.iter().find(|(own, _)| *own == day);
        found.map_or(0, |(_, sum)| sum.total())
    };
    let days = (0..DAYS).rev().map(|back| today - TimeDelta::days(back));
    let bars: Vec<ChartBar> = days
        .map(|day| ChartBar {
            name: day.format("%a %-d %b").to_string(),
            count: day_tokens(day),
            path: None,
        })
        .collect();
    let settings = visit.page.host().settings();
    let limit = settings.iter().find(|one| one.name == LIMIT);
    let limit = limit.map_or("no limit", |one| &one.value);
    html! {
        section id="tokens" {
            h2 { "Tokens of the last 7 days" }
            p class="lead" data-tokens=(all.total()) {
                (count_tokens(all.total()))
                @if let Some(mean) = week.tokens_per_session() { " (" (text::format_count(mean)) " per session)" }
                ": " (count_tokens(all.openings)) " when sessions started, " (count_tokens(all.prompts)) " in prompts."
            }
            @if all.total() > 0 {
                (render_bars("Tokens per day", &bars))
                @for (label, sums) in [
                    ("Agent", add_up(&week.prompts, agent_of)), ("Project", add_up(&week.prompts, project_of)),
                ] {
                    (table(&format!("Tokens by {}", label.to_lowercase()),
                        &[label, "#Session starts", "#Prompts", "#Together"],
                        sums.iter().take(LISTED).map(|(name, sum)| html! {
                            td { (text::shorten(name, 60)) }
                            td class="number" { (text::format_count(sum.openings as u64)) }
                            td class="number" { (text::format_count(sum.prompts as u64)) }
                            td class="number" { (text::format_count(sum.total() as u64)) }
                        })
                    ))
                }
            }
            p class="faint" {
                "Limit per day: " b { (text::shorten(limit, 40)) } ". Set " code { "prompt_tokens_per_day" }
                " in the section " code { "[memory]" } " of the "
                a href="/care/configuration" { "configuration" } " to change it."
            }
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
