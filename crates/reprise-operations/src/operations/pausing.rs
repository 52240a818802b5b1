//! Memory paused for an hour, until a time, or until it is resumed.

use crate::memories::{PauseMode, PauseRule};
use crate::prelude::*;

/// The pauses that hold now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseReport {
    pub pauses: Vec<PauseRule>,
    /// How many pauses ended, where some should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<usize>,
}

/// Writes the pauses as sentences.
fn describe_pauses(report: &PauseReport) -> Cow<'_, str> {
    if report.pauses.is_empty() {
        return "nothing is paused: agents get memories and store new ones".into();
    }
    let lines = report.pauses.iter().map(|rule| {
        let what = match rule.mode {
            PauseMode::Off => "paused: agents get and store nothing",
            PauseMode::ReadOnly => "read only: agents get memories and store nothing",
        };
        let project = rule
            .project
            .as_deref()
            .map(|one| format!(" in project `{one}`"));
        let agent = rule
            .agent
            .as_deref()
            .map(|one| format!(" for agent `{one}`"));
        let until = rule.until.map_or("`reprise resume`".to_owned(), |at| {
            at.format("%Y-%m-%d %H:%M UTC").to_string()
        });
        format!(
            "memory{}{} is {what}, until {until}",
            project.unwrap_or_default(),
            agent.unwrap_or_default()
        )
    });
    lines.collect::<Vec<_>>().join("\n").into()
}

operation! {
    Spec::for_adding("pause", "Pause memory: hooks store nothing, and add nothing unless it is read only.")
        .with_tool("pause", Profile::Full);
    /// What is paused, and for how long.
    #[derive(Default, clap::Args)]
    Pause(memory, asked: PauseArguments {
        /// Only this project; all projects by default.
        #[arg(long)]
        pub project: Option<String> as NameText,
        /// Only this agent, such as `claude-code`; all agents by default.
        #[arg(long)]
        pub agent: Option<String> as NameText,
        /// Minutes until it ends by itself; without it, `resume` ends it.
        #[arg(long)]
        pub minutes: Option<u32> as ItemCount,
        /// What agents may still do [default: off].
        #[arg(long)]
        pub mode: Option<PauseMode>,
    }) -> PauseReport {
        let now = memory.now();
        let rule = PauseRule {
            until: asked.minutes.map(|minutes| now + TimeDelta::minutes(minutes.into())),
            project: asked.project.filter(|name| !name.trim().is_empty()),
            agent: asked.agent.filter(|name| !name.trim().is_empty()),
            mode: asked.mode.unwrap_or_default(),
        };
        let mut pauses = memory.pause_store().list_rules(memory.user(), now);
        pauses.retain(|old| !old.is_for(rule.project.as_deref(), rule.agent.as_deref()));
        pauses.push(rule);
        memory.pause_store().save_rules(memory.user(), pauses.clone())?;
        Ok(PauseReport { pauses, ended: None })
    }

    fn render_text(report: &PauseReport) -> Cow<'_, str> {
        describe_pauses(report)
    }
}

operation! {
    Spec::for_adding("resume", "End a pause.").with_tool("resume", Profile::Full);
    /// Which pause.
    #[derive(Default, clap::Args)]
    Resume(memory, asked: ResumeArguments {
        /// The pause of this project.
        #[arg(long)]
        pub project: Option<String> as NameText,
        /// The pause of this agent.
        #[arg(long)]
        pub agent: Option<String> as NameText,
        /// Every pause.
        #[arg(long)]
        pub all: bool,
    }) -> PauseReport {
        let mut pauses = memory.pause_store().list_rules(memory.user(), memory.now());
        let ends = |rule: &PauseRule| {
            asked.all || rule.is_for(asked.project.as_deref(), asked.agent.as_deref())
        };
        let all = pauses.len();
        pauses.retain(|rule| !ends(rule));
        let ended = Some(all - pauses.len());
        memory.pause_store().save_rules(memory.user(), pauses.clone())?;
        Ok(PauseReport { pauses, ended })
    }

    fn render_text(report: &PauseReport) -> Cow<'_, str> {
        let says = describe_pauses(report);
        if report.ended == Some(0) {
            return format!("there was no such pause; {says}").into();
        }
        says
    }
}

operation! {
    Spec::for_reading("pauses", "The pauses of memory that hold now.");
    Pauses(memory, _asked: NoArguments) -> PauseReport {
        let pauses = memory.pause_store().list_rules(memory.user(), memory.now());
        Ok(PauseReport { pauses, ended: None })
    }

    fn render_text(report: &PauseReport) -> Cow<'_, str> {
        describe_pauses(report)
    }
}
