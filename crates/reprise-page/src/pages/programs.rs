//! Connected agents with their last prompt and what memory did for them, and how to connect more.

mod tokens;

use reprise_operations::{Prompt, UnansweredReason};

use super::pause::{
    POLICIES_EXPLAINED, list_pauses, render_pauses, render_policy, render_switched_toast,
};
use super::week::{DAYS, HELPED, PromptGroup, UNNAMED, Week};
use crate::page::AgentProgram;
use crate::prelude::*;

/// The programs that `reprise connect` knows: label and name.
const PROGRAMS: [(&str, &str); 10] = [
    ("Claude Code", "claude-code"),
    ("Codex", "codex"),
    ("Cursor", "cursor"),
    ("Gemini CLI", "gemini"),
    ("OpenCode", "opencode"),
    ("VS Code", "vscode"),
    ("Copilot CLI", "copilot-cli"),
    ("Windsurf", "windsurf"),
    ("Zed", "zed"),
    ("Kiro", "kiro"),
];

/// Returns the label of an agent's program, or the name that it says of itself.
pub(super) fn label_of(name: &str) -> &str {
    let known = PROGRAMS.iter().find(|(_, known)| *known == name);
    known.map_or(name, |(label, _)| *label)
}

/// What a column of the table of agents means, which its head does not say.
const TIMES_EXPLAINED: &str = "Answer time: 95 of 100 prompts had their memories within it.";

/// A program that sent prompts in the last seven days, or that is connected.
#[derive(Default)]
struct AgentRow {
    name: String,
    /// When it sent its last prompt; `None` for one that is connected and sent none.
    seen: Option<DateTime<Utc>>,
    prompts: usize,
    /// Prompts that memory did not answer in time, or after the tokens of a day were used up.
    late: usize,
    over_limit: usize,
    /// Prompts that came in later, for which memory was never asked.
    imported: usize,
    received: usize,
    /// Memories in all its prompts.
    given: usize,
    helped: usize,
    /// Milliseconds of each recall, the fastest first.
    times: Vec<u32>,
}

impl AgentRow {
    /// Counts a prompt for which memory gave no answer.
    fn add_unanswered(&mut self, prompt: &Prompt) {
        match (&prompt.given, prompt.unanswered) {
            (Some(_), _) => {}
            (None, Some(UnansweredReason::Late)) => self.late += 1,
            (None, Some(UnansweredReason::NoTokensLeft)) => self.over_limit += 1,
            (None, None) => self.imported += 1,
        }
    }

    /// Says how many of its prompts memory did not answer, and why.
    fn describe_unanswered(&self) -> String {
        let counts = [
            (self.late, "late"),
            (self.over_limit, "over the daily limit"),
            (self.imported, "imported"),
        ];
        let some = counts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = some.map(|(count, why)| format!("{count} {why}")).collect();
        if parts.is_empty() {
            "0".to_owned()
        } else {
            parts.join(", ")
        }
    }
}

/// Adds up the prompts of each program, the latest first; then come the connected ones that sent
/// none.
fn list_agents(week: &Week, programs: &[AgentProgram]) -> Vec<AgentRow> {
    let mut agents: Vec<AgentRow> = Vec::new();
    for prompt in &week.prompts {
        let name = prompt.agent.as_deref().unwrap_or(UNNAMED);
        let at = agents.iter().position(|one| one.name == name);
        let at = at.unwrap_or_else(|| {
            agents.push(AgentRow {
                name: name.to_owned(),
                seen: Some(prompt.at),
                ..AgentRow::default()
            });
            agents.len() - 1
        });
        let agent = &mut agents[at];
        agent.add_unanswered(prompt);
        agent.prompts += 1;
        agent.received += usize::from(PromptGroup::Received.contains(prompt));
        agent.helped += usize::from(PromptGroup::Helped.contains(prompt));
        agent.given += prompt.count_received();
        let time = prompt.given.as_ref().map(|given| given.elapsed_ms);
        agent.times.extend(time.filter(|time| *time > 0));
    }
    for agent in &mut agents {
        agent.times.sort_unstable();
    }
    for program in programs.iter().filter(|program| program.is_connected) {
        if !agents.iter().any(|agent| is_same(program, &agent.name)) {
            agents.push(AgentRow {
                name: program.name.clone(),
                ..AgentRow::default()
            });
        }
    }
    agents
}

/// Returns whether a program is the one that says this name with its prompts.
fn is_same(program: &AgentProgram, name: &str) -> bool {
    program.name == name || program.name.strip_suffix("-cli") == Some(name)
}

/// Says whether the settings of an agent on this machine have our hooks.
fn describe_hooks(agent: &AgentRow, programs: &[AgentProgram]) -> &'static str {
    if agent.name == UNNAMED {
        return "not known";
    }
    match programs
        .iter()
        .find(|program| is_same(program, &agent.name))
    {
        Some(program) if program.has_hooks => "present",
        Some(program) if program.is_connected => "none, tools only",
        _ => "not found here",
    }
}

/// Returns the time that 95 of 100 recalls do not exceed.
fn percentile_95(sorted: &[u32]) -> Option<u32> {
    let at = (sorted.len() * 95).div_ceil(100).checked_sub(1)?;
    sorted.get(at).copied()
}

pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let month = Week::load_days(&visit, tokens::DAYS_CHARTED).await?;
    let rules = list_pauses(&visit).await?;
    let by_day = tokens::DailyTokens::of(&visit, &month);
    let week = month.keep_since(visit.page.now() - TimeDelta::days(DAYS));
    let programs = visit.page.host().agent_programs().await?;
    let agents = list_agents(&week, &programs);
    let (calendar, now) = (visit.page.calendar(), visit.page.now());
    let is_live = |agent: &AgentRow| agent.seen.is_some_and(|at| now - at < TimeDelta::hours(1));
    let switched = render_switched_toast(&visit, &pairs, "/agents").await?;
    let heads = [
        "Agent",
        "Hooks",
        "Last prompt",
        "#Prompts",
        "#Without an answer",
        "#With memories",
        "#Memories received",
        "#Helped",
        "#Answer time (ms)",
        "Memory",
    ];
    let body = html! {
        (switched)
        (undo::render_done_toast(&visit, pairs.get("done")))
        (render_pauses(&visit, &rules, "/agents"))
        section {
            h2 { "Last 7 days" }
            @if agents.is_empty() {
                p class="why" {
                    "No agent sent a prompt in the last 7 days. Connect one below."
                }
            } @else {
                p class="why" { (POLICIES_EXPLAINED) }
                (table("Agents", &heads, agents.iter().map(|agent| html! {
                    td {
                        span class=(if is_live(agent) { "light on" } else { "light" }) {}
                        " " b { (text::shorten(&agent.name, 60)) }
                    }
                    td { (describe_hooks(agent, &programs)) }
                    @match agent.seen {
                        Some(at) => {
                            td title=(calendar.format_to_minute(at)) { (calendar.format_relative(at)) }
                        }
                        None => { td class="faint" { "none" } }
                    }
                    td class="number" { (text::format_count(agent.prompts as u64)) }
                    td class="number" { (agent.describe_unanswered()) }
                    td class="number" { (text::format_count(agent.received as u64)) }
                    td class="number" { (text::format_count(agent.given as u64)) }
                    td class="number" { (text::format_count(agent.helped as u64)) }
                    td class="number" {
                        @match percentile_95(&agent.times) {
                            Some(time) => { (time) }
                            None => "\u{2013}",
                        }
                    }
                    td {
                        @if agent.name == UNNAMED { span class="faint" { "by project only" } }
                        @else { (render_policy(&visit, &rules, None, Some(agent.name.as_str()), "/agents")) }
                    }
                })))
                @if week.is_cut { p class="faint" { "Only the newest prompts are counted." } }
                p class="faint" { (HELPED) " " (TIMES_EXPLAINED) }
            }
        }
        (tokens::render_tokens(&visit, &week, &by_day))
        (render_connect(&visit, &programs))
    };
    Ok(render_page(&visit, "/agents", "Agents", &body))
}

/// Renders the command of each program, and the settings for all others.
fn render_connect(visit: &PageRequest, programs: &[AgentProgram]) -> Markup {
    let user = visit.command("");
    let mut arguments = vec!["mcp"];
    arguments.extend(user.split_whitespace());
    let servers = json!({
        "mcpServers": { "memory": { "command": "reprise", "args": arguments } }
    });
    let servers = serde_json::to_string_pretty(&servers).unwrap_or_default();
    html! {
        section class="card" id="connect" {
            h2 { "Connect an agent" }
            p class="why" {
                "One command adds the hooks and the memory server to the program's settings. Add "
                code { "--show" } " to see the changes first, " code { "--undo" } " to take them back."
            }
            ul class="programs" { @for (label, name) in PROGRAMS {
                @let state = programs.iter().find(|program| program.name == name);
                li {
                    span class=(if state.is_some_and(|one| one.is_connected) { "light on" } else { "light" }) {}
                    b { (label) }
                    small { (describe_program(state)) }
                    code data-copy { (visit.command(&format!("reprise connect {name}"))) }
                }
            } }
            details class="fold" {
                summary { "Connect another program by MCP" }
                pre class="block" data-copy { (servers) }
            }
            p class="faint" {
                "A program on another machine needs HTTP and a token: "
                a href="/care/access" { "Tokens and HTTP" } "."
            }
        }
    }
}

/// Says whether a program is on this machine, and connected.
fn describe_program(program: Option<&AgentProgram>) -> &'static str {
    match program {
        Some(program) if program.is_connected => "connected",
        Some(_) => "found, not connected",
        None => "not found here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_95th_percentile_is_one_of_the_times() {
        assert_eq!(percentile_95(&[]), None);
        assert_eq!(percentile_95(&[7]), Some(7));
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile_95(&hundred), Some(95));
    }
}
