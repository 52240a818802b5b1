//! Pauses: for which projects and agents memory is off or only read, for an hour, until a time, or
//! until it is resumed.

use std::path::{Path, PathBuf};

use reprise_knowledge::{read_pauses, save_pauses};
use reprise_types::is_same_project;

use super::prompts::list_prompts;
use crate::prelude::*;
use crate::wire::find_meant_name;

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
        /// Only this project, as `tags` lists it; all projects by default.
        #[arg(long, help = "Only this project or the project of this folder; all by default")]
        pub project: Option<String> as SelectorName,
        /// Only this agent, such as `claude-code`; all agents by default.
        #[arg(long)]
        pub agent: Option<String> as SelectorName,
        /// The project has no memory yet.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, requires = "project")]
        pub new: bool,
        /// Minutes until it ends by itself; without it, `resume` ends it.
        #[arg(long)]
        pub minutes: Option<u32> as ItemCount,
        /// What agents may still do [default: off].
        #[arg(long)]
        pub mode: Option<PauseMode>,
    }) -> PauseReport {
        let now = memory.now();
        let project = match asked.project {
            Some(name) => Some(memory.require_project(name.trim(), asked.new).await?),
            None => None,
        };
        let agent = match asked.agent {
            Some(name) => Some(memory.require_agent(name.trim()).await?),
            None => None,
        };
        let rule = PauseRule {
            until: asked.minutes.map(|minutes| now + TimeDelta::minutes(minutes.into())),
            project,
            agent,
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
        pub project: Option<String> as SelectorName,
        /// The pause of this agent.
        #[arg(long)]
        pub agent: Option<String> as SelectorName,
        /// Every pause.
        #[arg(long)]
        pub all: bool,
        /// The project of the folder.
        #[schemars(extend("x-rare" = true))]
        #[arg(skip)]
        pub here: Option<String> as SelectorName,
    }) -> PauseReport {
        let mut pauses = memory.pause_store().list_rules(memory.user(), memory.now());
        let (mut project, mut agent) = (asked.project, asked.agent);
        if project.is_none() && agent.is_none() && !asked.all {
            project = find_pause_here(&pauses, asked.here)?;
        }
        let is_known = |project: Option<&str>, agent: Option<&str>| {
            asked.all || pauses.iter().any(|rule| rule.is_for(project, agent))
        };
        // A pause of a project that has no memory any more is ended, too.
        if !is_known(project.as_deref(), agent.as_deref()) {
            if let Some(name) = &mut project {
                *name = memory.require_project_with_memory(name).await?;
            }
            if let Some(name) = &mut agent {
                *name = memory.require_agent(name).await?;
            }
        }
        let ends = |rule: &PauseRule| {
            asked.all || rule.is_for(project.as_deref(), agent.as_deref())
        };
        let all = pauses.len();
        pauses.retain(|rule| !ends(rule));
        let ended = Some(all - pauses.len());
        memory.pause_store().save_rules(memory.user(), pauses.clone())?;
        Ok(PauseReport { pauses, ended })
    }

    fn render_text(report: &PauseReport) -> Cow<'_, str> {
        let says = describe_pauses(report);
        match (report.ended, report.pauses.is_empty()) {
            (Some(0), _) => format!("there was no such pause; {says}").into(),
            (Some(_), true) => "resumed: agents get memories and store new ones".into(),
            (Some(_), false) => format!("resumed; another pause still holds:\n{says}").into(),
            (None, _) => says,
        }
    }
}

/// Returns the project whose pause ends where nothing is named: none where memory is paused in all
/// projects, or nowhere.
fn find_pause_here(pauses: &[PauseRule], here: Option<String>) -> Result<Option<String>, Problem> {
    if pauses.is_empty() || pauses.iter().any(|rule| rule.is_for(None, None)) {
        return Ok(None);
    }
    let is_here = |rule: &PauseRule| rule.is_for(here.as_deref(), None);
    if here.is_some() && pauses.iter().any(is_here) {
        return Ok(here);
    }
    let report = PauseReport {
        pauses: pauses.to_vec(),
        ended: None,
    };
    Err(Problem::invalid(format!(
        "{}; name what is to be resumed with `--project` or `--agent`, or all with `--all`",
        describe_pauses(&report).replace('\n', "; ")
    )))
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

/// Most rules of one user.
const RULES_MAX: usize = 200;
/// Prompts whose agents are known besides those of [`HOOK_AGENTS`].
const PROMPTS_READ: usize = 1_000;

/// Agents whose hooks ask memory, under the names that their hooks report.
pub const HOOK_AGENTS: [&str; 7] = ExternalId::AGENT_PROGRAMS;
/// Other names of agents: of their programs, and of the hooks that they share.
const AGENT_ALIASES: [(&str, &str); 2] = [("claude", "claude-code"), ("vscode", "copilot")];

/// Returns the name that an agent's hooks report.
fn normalize_agent(name: &str) -> String {
    let name = name.trim().to_lowercase();
    let name = name.strip_suffix("-cli").unwrap_or(&name);
    let alias = AGENT_ALIASES.iter().find(|(alias, _)| *alias == name);
    alias.map_or(name, |(_, own)| *own).to_owned()
}

/// What memory does where it is paused.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum PauseMode {
    /// Prompts receive nothing, and nothing is stored.
    #[default]
    Off,
    /// Prompts receive memory, and nothing is stored.
    ReadOnly,
}

/// One pause. It holds where both its project and its agent fit; without either, everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseRule {
    /// The project that is paused; all projects by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The program that is paused; all programs by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub mode: PauseMode,
    /// When it ends by itself; without it, `resume` ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime<Utc>>,
}

impl PauseRule {
    /// Returns whether the rule is for this project, by any of its names, and this agent.
    pub fn is_for(&self, project: Option<&str>, agent: Option<&str>) -> bool {
        let is_project = match (self.project.as_deref(), project) {
            (Some(own), Some(given)) => is_same_project(own, given),
            (own, given) => own == given,
        };
        is_project && self.agent.as_deref().map(normalize_agent) == agent.map(normalize_agent)
    }

    fn applies_to(&self, project: &str, agent: &str) -> bool {
        let of_project = self.project.as_deref();
        let of_agent = self.agent.as_deref();
        of_project.is_none_or(|own| is_same_project(own, project))
            && of_agent.is_none_or(|own| own.eq_ignore_ascii_case(agent))
    }
}

/// The pauses of all users, in a file that every process of this machine reads.
#[derive(Debug, Clone, Default)]
pub struct PauseStore {
    data: Option<PathBuf>,
}

type RulesByUser = BTreeMap<String, Vec<PauseRule>>;

impl PauseStore {
    /// Those that are listed in a data directory.
    #[must_use]
    pub fn in_data_dir(data: &Path) -> Self {
        Self {
            data: Some(data.to_owned()),
        }
    }

    /// Returns the data directory, where other files of all processes are, too.
    pub(crate) fn data_dir(&self) -> Option<&PathBuf> {
        self.data.as_ref()
    }

    fn read_rules(&self) -> RulesByUser {
        let text = self.data.as_deref().and_then(read_pauses);
        let rules = text.and_then(|text| serde_json::from_str(&text).ok());
        rules.unwrap_or_default()
    }

    /// Lists a user's pauses that have not ended.
    pub(crate) fn list_rules(&self, user: &UserId, now: DateTime<Utc>) -> Vec<PauseRule> {
        let mut rules = self.read_rules().remove(user.as_str()).unwrap_or_default();
        rules.retain(|rule| rule.until.is_none_or(|until| until > now));
        rules
    }

    /// Says which pauses of a user have not ended; `None` if there is none.
    #[must_use]
    pub fn describe_rules(&self, user: &UserId, now: DateTime<Utc>) -> Option<String> {
        let (pauses, ended) = (self.list_rules(user, now), None);
        let report = PauseReport { pauses, ended };
        (!report.pauses.is_empty()).then(|| describe_pauses(&report).into_owned())
    }

    /// Replaces a user's pauses.
    pub(crate) fn save_rules(&self, user: &UserId, rules: Vec<PauseRule>) -> Result<(), Problem> {
        let Some(data) = &self.data else {
            return Err(Problem::invalid(
                "there is no data directory here that could keep a pause; run `reprise serve`",
            ));
        };
        if rules.len() > RULES_MAX {
            return Err(Problem::invalid(format!(
                "{RULES_MAX} pauses are the most; resume one first"
            )));
        }
        let failed = |error: &dyn std::fmt::Display| {
            let detail = format!("the pause could not be saved ({error}); try again");
            Problem::new(ProblemKind::Internal, detail)
        };
        let mut all = self.read_rules();
        all.insert(user.to_string(), rules);
        all.retain(|_, rules| !rules.is_empty());
        let text = serde_json::to_string(&all).map_err(|error| failed(&error))?;
        save_pauses(data, &text).map_err(|error| failed(&error))
    }

    /// Returns what memory does for an agent in a project; `None` if nothing is paused there.
    pub(crate) fn find_mode(
        &self,
        user: &UserId,
        project: &str,
        agent: &str,
        now: DateTime<Utc>,
    ) -> Option<PauseMode> {
        let rules = self.list_rules(user, now).into_iter();
        let mut modes = rules
            .filter(|rule| rule.applies_to(project, agent))
            .map(|rule| rule.mode);
        let first = modes.next()?;
        let is_off = first == PauseMode::Off || modes.any(|mode| mode == PauseMode::Off);
        Some(if is_off {
            PauseMode::Off
        } else {
            PauseMode::ReadOnly
        })
    }
}

impl Memory {
    pub(crate) fn pause_store(&self) -> &PauseStore {
        &self.all.around.pauses
    }

    /// Returns the name that an agent's hooks report: of one that has hooks, or has sent a prompt.
    async fn require_agent(&self, typed: &str) -> Result<String, Problem> {
        let name = normalize_agent(typed);
        if HOOK_AGENTS.contains(&name.as_str()) {
            return Ok(name);
        }
        let others = if self.exists() {
            let read = |memory: &Snapshot| list_prompts(memory, None, PROMPTS_READ, None).0;
            self.run_on_snapshot(read).await?
        } else {
            Vec::new()
        };
        let mut others = others.into_iter().filter_map(|prompt| prompt.agent);
        if let Some(own) = others.find(|own| own.eq_ignore_ascii_case(&name)) {
            return Ok(own);
        }
        let aliases = AGENT_ALIASES.iter().map(|(alias, _)| *alias);
        let meant = find_meant_name(&name, HOOK_AGENTS.into_iter().chain(aliases));
        let meant = meant.map(|meant| format!(" (did you mean `{}`?)", normalize_agent(meant)));
        Err(Problem::not_found(format!(
            "no agent with hooks is called `{typed}`{}; those are {}",
            meant.unwrap_or_default(),
            HOOK_AGENTS.join(", ")
        )))
    }

    /// Lists the user's pauses that have not ended.
    pub fn list_pauses(&self) -> Vec<PauseRule> {
        self.pause_store().list_rules(&self.user, self.now())
    }

    /// Returns what memory does for an agent in a project now; `None` if nothing is paused.
    pub(crate) fn find_pause_mode(&self, project: &str, agent: &str) -> Option<PauseMode> {
        self.pause_store()
            .find_mode(&self.user, project, agent, self.now())
    }
}

#[cfg(test)]
mod tests {
    use crate::memories::MemorySettings;
    use crate::testing::{SetClock, memory_config, no_model, start_memories};

    use super::*;

    /// A memory of two projects.
    async fn start_with_projects(folder: &Path) -> (Memories, Memory) {
        let config = memory_config(folder, 4, Arc::new(|| Err(no_model())));
        let memories = start_memories(config, SetClock::starting_at("2026-03-02T10:00:00Z")).await;
        let memories = memories.with_settings(MemorySettings {
            pauses: PauseStore::in_data_dir(folder),
            ..MemorySettings::default()
        });
        let memory = memories.user_memory(&UserId::default());
        for project in ["github.com/acme/shop", "api-1f2e3d4c"] {
            let mut fact = NewRecord::new("a fact", MemorySource::UserInput, MemoryKind::Finding);
            fact.tags = vec![format!("project:{project}")];
            memory.store_one(fact).await.unwrap();
        }
        (memories, memory)
    }

    #[tokio::test]
    async fn a_pause_is_of_a_project_and_an_agent_that_are_there_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (memories, memory) = start_with_projects(folder.path()).await;
        let asked = |project: Option<&str>, agent: Option<&str>| PauseArguments {
            project: project.map(str::to_owned),
            agent: agent.map(str::to_owned),
            ..PauseArguments::default()
        };
        for unknown in ["shp", "./", ".", "/nonexistent", "acme", "~"] {
            let refused = Pause::run(&memory, asked(Some(unknown), None)).await;
            let refused = refused.expect_err(unknown).detail;
            assert!(refused.contains(&format!("`{unknown}`")), "{refused}");
        }
        let slip = Pause::run(&memory, asked(Some("shp"), None)).await;
        assert!(slip.unwrap_err().detail.contains("did you mean `shop`?"));
        for unknown in ["clade", "emacs"] {
            let refused = Pause::run(&memory, asked(None, Some(unknown))).await;
            let refused = refused.expect_err(unknown).detail;
            assert!(refused.contains("codex"), "{refused}");
        }
        assert_eq!(memory.list_pauses(), []);
        for (typed, name) in [
            ("shop", "github.com/acme/shop"),
            ("shop ", "github.com/acme/shop"),
            ("acme/shop", "github.com/acme/shop"),
            ("SHOP", "github.com/acme/shop"),
            ("api", "api-1f2e3d4c"),
        ] {
            Pause::run(&memory, asked(Some(typed), None)).await.unwrap();
            assert_eq!(memory.find_pause_mode(name, "codex"), Some(PauseMode::Off));
            let held = memory.list_pauses();
            assert_eq!(held[0].project.as_deref(), Some(name), "{typed}");
            let ended = ResumeArguments {
                project: Some(typed.to_owned()),
                ..ResumeArguments::default()
            };
            let report = Resume::run(&memory, ended).await.unwrap();
            assert_eq!((report.pauses, report.ended), (vec![], Some(1)), "{typed}");
        }
        for (typed, name) in [
            ("Claude-Code", "claude-code"),
            ("claude", "claude-code"),
            ("copilot-cli", "copilot"),
            ("vscode", "copilot"),
            ("gemini-cli", "gemini"),
        ] {
            Pause::run(&memory, asked(None, Some(typed))).await.unwrap();
            assert_eq!(
                memory.find_pause_mode("x", name),
                Some(PauseMode::Off),
                "{typed}"
            );
            assert!(memory.list_pauses()[0].is_for(None, Some(typed)), "{typed}");
            let ended = ResumeArguments {
                agent: Some(typed.to_owned()),
                ..ResumeArguments::default()
            };
            assert_eq!(Resume::run(&memory, ended).await.unwrap().ended, Some(1));
        }
        let unknown = ResumeArguments {
            project: Some("shp".to_owned()),
            ..ResumeArguments::default()
        };
        assert!(Resume::run(&memory, unknown).await.is_err());
        memories.shut_down().await;
    }

    #[tokio::test]
    async fn where_nothing_is_named_the_pause_of_the_folders_project_ends() {
        let folder = tempfile::tempdir().unwrap();
        let (memories, memory) = start_with_projects(folder.path()).await;
        let of_shop = PauseArguments {
            project: Some("shop".to_owned()),
            ..PauseArguments::default()
        };
        Pause::run(&memory, of_shop).await.unwrap();
        let here = |here: &str| ResumeArguments {
            here: Some(here.to_owned()),
            ..ResumeArguments::default()
        };
        let refused = Resume::run(&memory, here("api-1f2e3d4c"))
            .await
            .unwrap_err();
        assert!(
            refused.detail.contains("github.com/acme/shop"),
            "{refused:?}"
        );
        let report = Resume::run(&memory, here("github.com/acme/shop")).await;
        let report = report.unwrap();
        assert_eq!((report.pauses, report.ended), (vec![], Some(1)));
        let nothing = Resume::run(&memory, here("github.com/acme/shop")).await;
        assert_eq!(nothing.unwrap().ended, Some(0));
        memories.shut_down().await;
    }

    #[test]
    fn a_pause_holds_for_its_project_and_agent_and_ends_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (pauses, user) = (PauseStore::in_data_dir(folder.path()), UserId::default());
        let now = DateTime::UNIX_EPOCH;
        let rule = |project: Option<&str>, mode, until| PauseRule {
            project: project.map(str::to_owned),
            agent: None,
            mode,
            until,
        };
        let mode = |project: &str| pauses.find_mode(&user, project, "codex", now);
        assert_eq!(mode("shop"), None);
        let later = Some(now + TimeDelta::hours(1));
        let rules = vec![
            rule(Some("shop"), PauseMode::Off, None),
            rule(None, PauseMode::ReadOnly, later),
        ];
        pauses.save_rules(&user, rules).unwrap();
        assert_eq!(mode("shop"), Some(PauseMode::Off));
        assert_eq!(mode("other"), Some(PauseMode::ReadOnly));
        let after = now + TimeDelta::hours(2);
        assert_eq!(pauses.find_mode(&user, "other", "codex", after), None);
        pauses.save_rules(&user, Vec::new()).unwrap();
        assert_eq!(mode("shop"), None);
    }

    #[test]
    fn a_pause_of_a_project_meets_it_under_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let (pauses, user) = (PauseStore::in_data_dir(folder.path()), UserId::default());
        let now = DateTime::UNIX_EPOCH;
        for (paused, met, others) in [
            ("shop", "shop-1f2e3d4c", "shop-web"),
            ("shop", "github.com/acme/shop", "github.com/shop/api"),
            ("shop-1f2e3d4c", "shop", "shop-aaaaaaaa"),
        ] {
            let rule = PauseRule {
                project: Some(paused.to_owned()),
                agent: None,
                mode: PauseMode::Off,
                until: None,
            };
            assert!(rule.is_for(Some(met), None), "one pause, by either name");
            pauses.save_rules(&user, vec![rule]).unwrap();
            let mode = |project: &str| pauses.find_mode(&user, project, "codex", now);
            assert_eq!(mode(met), Some(PauseMode::Off), "{paused} {met}");
            assert_eq!(mode(others), None, "{paused} {others}");
        }
    }
}
