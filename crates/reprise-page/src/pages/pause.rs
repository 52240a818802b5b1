//! Pausing memory: everywhere, for a project, or for an agent.

use chrono::Days;
use reprise_operations::operations::sessions::pausing::{
    Pause, PauseArguments, Pauses, Resume, ResumeArguments,
};
use reprise_operations::{PauseMode, PauseRule};

use crate::prelude::*;

/// Pages on which a pause can be chosen.
const BACK: [&str; 3] = ["/", PROJECTS, "/agents"];
/// The page of projects.
const PROJECTS: &str = "/projects";

/// The choices for one project or agent: form value, label and meaning.
const POLICIES: [(&str, &str, &str); 3] = [
    (
        "remember",
        "On",
        "On: agents get memories and store new ones",
    ),
    (
        "read_only",
        "Read only",
        "Read only: agents get memories, nothing new is stored",
    ),
    ("off", "Off", "Off: agents get and store nothing"),
];

/// What the choices mean, above a table of them.
pub(super) const POLICIES_EXPLAINED: &str = "Memory is on: agents get memories and store new ones. \
    Read only: they get memories, and nothing new is stored. Off: neither.";

/// The name of the pair in an address that says which project or agent was switched.
const SWITCHED: &str = "switched";

/// Renders what the switch of one project or agent did; `back` is the page that has it.
pub(super) async fn render_switched_toast(
    visit: &PageRequest,
    pairs: &QueryPairs,
    back: &str,
) -> PageResult<Markup> {
    let Some(name) = pairs.get(SWITCHED) else {
        return Ok(html! {});
    };
    let is_project = back == PROJECTS;
    let rules = list_pauses(visit).await?;
    let rule = rules.iter().find(|rule| {
        if is_project {
            rule.is_for(Some(name), None)
        } else {
            rule.is_for(None, Some(name))
        }
    });
    let is_paused = rules.iter().any(|rule| rule.is_for(None, None));
    let sentence = describe_switch(rule.map(|rule| rule.mode), is_project);
    Ok(toast(&html! {
        (text::shorten(name, 60)) " " (sentence)
        @if is_paused { " All memory is still paused in the header." }
    }))
}

/// Continues a sentence that begins with the name of a project or an agent.
fn describe_switch(mode: Option<PauseMode>, is_project: bool) -> &'static str {
    match (mode, is_project) {
        (None, true) => "is remembered again.",
        (None, false) => "remembers again.",
        (Some(PauseMode::ReadOnly), true) => {
            "is read only: agents get memories there and store nothing. Other projects are not \
             affected."
        }
        (Some(PauseMode::ReadOnly), false) => {
            "is read only: it gets memories and stores nothing. Other agents are not affected."
        }
        (Some(PauseMode::Off), true) => {
            "is off: agents get and store nothing there. Other projects are not affected."
        }
        (Some(PauseMode::Off), false) => {
            "is off: it gets and stores nothing. Other agents are not affected."
        }
    }
}

/// Lists the pauses that hold now.
pub(super) async fn list_pauses(visit: &PageRequest) -> PageResult<Vec<PauseRule>> {
    let report = visit.run_optional::<Pauses>(NoArguments {}).await?;
    Ok(report.map(|report| report.pauses).unwrap_or_default())
}

/// Renders every pause that holds now, wherever it was begun, each with a button that ends it.
pub(super) fn render_pauses(visit: &PageRequest, rules: &[PauseRule], back: &str) -> Markup {
    let calendar = visit.page.calendar();
    html! {
        @if !rules.is_empty() {
            ul class="notice pauses" aria-label="Paused now" {
                @for rule in rules {
                    li {
                        span { (describe_rule(rule, &calendar)) }
                        @if !visit.read_only {
                            (form(visit, "/pause", &html! {
                                @if let Some(project) = &rule.project { input type="hidden" name="project" value=(project); }
                                @if let Some(agent) = &rule.agent { input type="hidden" name="agent" value=(agent); }
                                input type="hidden" name="back" value=(back);
                                button name="mode" value="remember" { "Resume" }
                            }))
                        }
                    }
                }
            }
        }
    }
}

/// Describes a pause in a sentence: for whom it holds, until when, and what agents get.
fn describe_rule(rule: &PauseRule, calendar: &Calendar) -> String {
    let short = |name: &str| text::plain_line(name, 60);
    let whom = match (rule.project.as_deref(), rule.agent.as_deref()) {
        (None, None) => "All memory".to_owned(),
        (Some(project), None) => format!("Memory for the project {}", short(project)),
        (None, Some(agent)) => format!("Memory for {}", short(agent)),
        (Some(project), Some(agent)) => {
            format!("Memory for {} in {}", short(agent), short(project))
        }
    };
    let until = rule.until.map(|until| {
        if calendar.day_of(until) == calendar.today() {
            format!(" until {}", calendar.format_time_of_day(until))
        } else {
            format!(" until {}", calendar.format_to_minute(until))
        }
    });
    let is_whole = rule.project.is_none() && rule.agent.is_none();
    let (state, meaning) = match rule.mode {
        PauseMode::ReadOnly => (
            "read only",
            "agents get memories, and nothing new is stored",
        ),
        PauseMode::Off => (
            if is_whole { "paused" } else { "off" },
            "agents get nothing, and nothing is stored",
        ),
    };
    let before = if is_whole {
        ", whatever is chosen below"
    } else {
        ""
    };
    format!(
        "{whom} is {state}{}: {meaning}{before}.",
        until.unwrap_or_default()
    )
}

/// Renders the choice of what memory does for a project or an agent.
pub(super) fn render_policy(
    visit: &PageRequest,
    rules: &[PauseRule],
    project: Option<&str>,
    agent: Option<&str>,
    back: &str,
) -> Markup {
    let rule = rules.iter().find(|rule| rule.is_for(project, agent));
    let chosen = match rule.map(|rule| rule.mode) {
        None => "remember",
        Some(PauseMode::ReadOnly) => "read_only",
        Some(PauseMode::Off) => "off",
    };
    let label = project.or(agent).unwrap_or("all projects");
    html! {
        @if visit.read_only {
            (POLICIES.iter().find(|(name, ..)| *name == chosen).map_or("", |(_, text, _)| *text))
        }
        (form(visit, "/pause", &html! {
            @if let Some(project) = project { input type="hidden" name="project" value=(project); }
            @if let Some(agent) = agent { input type="hidden" name="agent" value=(agent); }
            input type="hidden" name="back" value=(back);
            div class="policy" role="group" aria-label=(format!("Memory for {label}")) {
                @for (name, text, meaning) in POLICIES {
                    button name="mode" value=(name) title=(meaning)
                        aria-pressed=(chosen == name) { (text) }
                }
            }
        }))
    }
}

/// Pauses memory, changes a pause, or ends it.
pub(crate) async fn set_pause(posted: Posted) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let name = |field: &str| Some(posted.text(field).trim().to_owned()).filter(|it| !it.is_empty());
    let (project, agent) = (name("project"), name("agent"));
    let switched = project.clone().or_else(|| agent.clone());
    let mode = match posted.text("mode") {
        "read_only" => Some(PauseMode::ReadOnly),
        "off" => Some(PauseMode::Off),
        _ => None,
    };
    if let Some(mode) = mode {
        let minutes = match posted.text("how") {
            "hour" => Some(60),
            "today" => Some(minutes_of_today(&visit.page.calendar())),
            _ => None,
        };
        let arguments = PauseArguments {
            project,
            agent,
            new: false,
            minutes,
            mode: Some(mode),
        };
        visit.run::<Pause>(arguments).await?;
    } else {
        let arguments = ResumeArguments {
            project,
            agent,
            all: false,
            here: None,
        };
        visit.run::<Resume>(arguments).await?;
    }
    let back = BACK.iter().find(|path| **path == posted.text("back"));
    if let (Some(back), Some(switched)) = (back, switched) {
        let path = format!("{back}?{SWITCHED}={}", percent_encode(&switched));
        return Ok(Redirect::to(&path));
    }
    let done = match mode {
        None => "resumed",
        Some(PauseMode::ReadOnly) => "read_only",
        Some(PauseMode::Off) => "paused",
    };
    Ok(Redirect::to(&format!(
        "{}?done={done}",
        back.unwrap_or(&"/")
    )))
}

/// Returns the minutes until the day ends on this machine.
fn minutes_of_today(calendar: &Calendar) -> u32 {
    let tomorrow = calendar.today().checked_add_days(Days::new(1));
    let end = tomorrow.map(|day| calendar.parse_since(&day.to_string()));
    let left = end.and_then(Result::ok).map(|end| end - calendar.now);
    let minutes = left.map_or(24 * 60, |left| left.num_minutes().max(1));
    u32::try_from(minutes).unwrap_or(24 * 60)
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use reprise_types::Zone;

    use super::*;

    #[test]
    fn today_ends_at_midnight() {
        let now = Utc.with_ymd_and_hms(2026, 1, 20, 22, 30, 0).unwrap();
        let calendar = Calendar {
            now,
            zone: Zone::Utc,
        };
        assert_eq!(minutes_of_today(&calendar), 90);
    }
}
