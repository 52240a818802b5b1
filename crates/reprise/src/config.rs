//! The configuration file, `$XDG_CONFIG_HOME/reprise/config.toml`, and its defaults.
//!
//! Precedence: flag, environment, file, default.

mod ai_lessons;
pub(crate) mod last_good;
mod listed_settings;
mod model;
mod remote_table;
mod saved_setting;
mod serve_table;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use reprise_agent::MemoryConfig;
use reprise_engine::LearnSettings;
use reprise_files::Folder;
use reprise_global::{Caller, OrgProject, TierOptions};
use reprise_knowledge::ProjectionKind;
use reprise_operations::{ConfiguredProjection, TagRules, add_hint};
use reprise_redact::is_plain_http_to_other_machine;
use reprise_server::PeopleSettings;
use reprise_types::{RecallScope, UserId};
use reprise_workspace_operations::Workspaces;
use serde::Deserialize;
use toml_edit::DocumentMut;

use crate::cli::endpoint::EndpointSetting;
use crate::env::Places;

pub(crate) use ai_lessons::AiLessons;
pub(crate) use last_good::MomentConfig;
use model::LanguageProposal;
pub(crate) use model::{EvalModels, ModelName, ModelTable, VectorsChoice};
pub(crate) use remote_table::RemoteTable;
pub(crate) use saved_setting::save_setting;
pub(crate) use serve_table::{OauthTable, ServeTable};

/// How long a hook waits for published knowledge: its program waits a quarter of a second in all.
const HOOK_DEADLINE: Duration = Duration::from_millis(150);
/// Most results that a cross-encoder reads.
const RERANKED_MAX: usize = 100;
/// Longest file that is read.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Longest time in the file, in seconds.
const YEAR_SECONDS: u64 = 366 * 24 * 60 * 60;
/// Longest wait for a model in the file, in milliseconds.
const WAIT_MS_MAX: u64 = 600_000;

/// The whole file. A missing field has its default; an unknown one is refused.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// User if neither `--user` nor the environment names one.
    pub(crate) user: Option<UserId>,
    tags: TagsTable,
    #[serde(alias = "server")]
    pub(crate) serve: ServeTable,
    pub(crate) memory: MemoryTable,
    pub(crate) recall: RecallTable,
    learning: LearningTable,
    pub(crate) global: GlobalTable,
    /// The model that plans for the host of `demo week`.
    pub(crate) planner: ModelTable,
    /// The models of `eval answer`.
    pub(crate) eval: EvalModels,
    /// The daemon of another machine.
    pub(crate) remote: RemoteTable,
    /// Paths of the files for other programs.
    projections: Vec<ProjectionTable>,
    /// Governed workspaces by the names that requests to the daemon use.
    pub(crate) workspaces: Workspaces,
    /// Settings of ai-lessons.
    #[serde(skip)]
    pub(crate) ai_lessons: AiLessons,
}

/// Settings of published knowledge.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GlobalTable {
    /// From an organisation to its members.
    organisations: BTreeMap<String, Vec<String>>,
    /// From a project, as `ORGANISATION/PROJECT`, to its members.
    projects: BTreeMap<String, Vec<String>>,
    /// Users of the paid tier.
    paid: Vec<String>,
    /// Service that is used in place of the data directory's own store.
    pub(crate) url: Option<String>,
    /// Send tokens there over plain HTTP too, although it is another machine.
    pub(crate) allow_plain_http: bool,
    /// Token of every user without one in `tokens`.
    token: Option<String>,
    /// Tokens of single users.
    tokens: BTreeMap<String, String>,
    /// How long a recall waits for published knowledge.
    deadline_ms: Option<u64>,
    /// Whether hooks ask for published knowledge, too.
    hooks: bool,
    /// How long a hook waits for published knowledge.
    hook_deadline_ms: Option<u64>,
    /// Score from which on own memories rank before all published knowledge.
    local_high: Option<f32>,
    /// Quality from which on published knowledge ranks before own memories of a lower score.
    quality_high: Option<f32>,
    /// Default scope of a recall.
    pub(crate) scope: RecallScope,
    /// For a service: people who sign in at an issuer.
    pub(crate) oidc: Option<PeopleSettings>,
}

/// A service of published knowledge, as a user reaches it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GlobalServiceConfig {
    pub(crate) url: String,
    /// The error is a sentence.
    pub(crate) token: Result<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TagsTable {
    /// From a spelling to the tag that is kept.
    aliases: BTreeMap<String, String>,
    /// The tags that a team has agreed on: another one is kept and doubted.
    known: Vec<String>,
}

/// A file or folder that another program reads.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectionTable {
    user: UserId,
    /// Kind: sunwell, ai-lessons, frames or markdown.
    kind: String,
    path: PathBuf,
    /// Only records of this project.
    project: Option<String>,
}

/// The memories that are open, and the model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MemoryTable {
    /// The model that makes vectors; what another made is made anew.
    pub(crate) model: ModelName,
    /// Models of single users who have another one.
    models: BTreeMap<UserId, ModelName>,
    /// Where the vectors of a new memory are asked for; an existing one keeps what it has.
    pub(crate) vectors: VectorsChoice,
    /// Whether a multilingual model is proposed if most memories are not English.
    language: LanguageProposal,
    /// Sent as bearer token to an endpoint.
    key: Option<String>,
    /// Send texts there over plain HTTP too, although it is another machine.
    allow_plain_http: bool,
    /// Unused for so long, a memory is closed; the model's memory is given back then too.
    passivate_after_seconds: Option<u64>,
    /// Memories open at once.
    open_max: Option<usize>,
    /// Threads that embed, each with a model of its own while many texts wait.
    embedder_threads: Option<usize>,
    /// Whether a memory that nobody asks is tended.
    tend: Option<bool>,
    /// Most tokens that hooks put into prompts on one day.
    pub(crate) prompt_tokens_per_day: Option<usize>,
    /// Optional kinds of secrets that are redacted, too.
    redact: Vec<String>,
}

/// Settings of recalls in addition to the search.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RecallTable {
    /// The cross-encoder that judges the first results a second time: the name of an added one, or
    /// a folder.
    pub(crate) reranker: Option<PathBuf>,
    /// Number of results that the cross-encoder judges.
    rerank_first: Option<usize>,
    /// Longest time for the cross-encoder, in milliseconds.
    rerank_ms: Option<u64>,
    /// Longest time for the cross-encoder before a prompt, in milliseconds.
    rerank_prompt_ms: Option<u64>,
}

/// Weights, 0..=1, of runs that count less for learning.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LearningTable {
    /// Weight of a run that failed for an outside cause: auth, network, rate limit, provider.
    exogenous_weight: Option<f32>,
    /// Weight of a run whose use of records was inferred, not reported.
    implicit_weight: Option<f32>,
}

/// Returns the configured user before the arguments are parsed, because `--user` shows it as its
/// default. Errors in the file are reported when it is read again.
pub(crate) fn find_configured_user(arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let mut arguments = arguments.map(|word| word.to_string_lossy().into_owned());
    let flag = arguments.find_map(|word| match word.split_once('=') {
        Some(("--config", file)) => Some(Some(file.to_owned())),
        _ if word == "--config" => Some(None),
        _ => None,
    });
    let named = flag.and_then(|file| file.or_else(|| arguments.next()));
    let places = Places::new(
        None,
        None,
        named.map(PathBuf::from).or_else(crate::env::config_file),
    );
    let text = read_text(&places.ok()?.config).ok()??;
    // It comes before any table, and an error elsewhere changes nothing of whose memory it is.
    let mut lines = text
        .lines()
        .take_while(|line| !line.trim_start().starts_with('['));
    let user: UserId = lines.find_map(|line| {
        let line: DocumentMut = line.parse().ok()?;
        line.get("user")?.as_str()?.parse().ok()
    })?;
    Some(user.to_string())
}

/// Reads the text of a file; `None` if it does not exist.
fn read_text(path: &Path) -> anyhow::Result<Option<String>> {
    // The empty device is an empty configuration.
    if path == Path::new("/dev/null") {
        return Ok(Some(String::new()));
    }
    let bytes = reprise_files::read_if_exists(path, BYTES_MAX)?;
    let text = bytes.map(String::from_utf8).transpose();
    text.with_context(|| format!("`{}` is no text; correct it", path.display()))
}

/// Edits a configuration file, creating it if it is missing; everything else in it stays. Returns
/// whether that changed anything.
pub(crate) fn edit_file(
    file: &Path,
    change: impl FnOnce(&Folder, &mut DocumentMut) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    let folder = file.parent().context("the configuration has no folder")?;
    let folder = Folder::open_or_create(folder)?;
    let name = file.file_name().context("the configuration has no name")?;
    let text = folder.read_text(name, BYTES_MAX)?.unwrap_or_default();
    let document = text.parse::<DocumentMut>();
    let mut document = document.with_context(|| format!("`{}` cannot be read", file.display()))?;
    change(&folder, &mut document)?;
    let after = document.to_string();
    if after != text {
        folder.replace(name, after.as_bytes())?;
    }
    Ok(after != text)
}

impl Config {
    /// Reads a file; one that nobody named gives the defaults if it is missing or unreadable.
    pub(crate) fn read(path: &Path, is_named: bool) -> anyhow::Result<Self> {
        let read = read_text(path).or_else(|error| {
            if is_named {
                return Err(error);
            }
            crate::cli::note(&format!("{error:#}; it is passed over"));
            Ok(None)
        });
        Self::parse(path, read?.as_deref(), is_named)
    }

    /// Parses the text of a file; `None` if it does not exist.
    fn parse(path: &Path, text: Option<&str>, is_named: bool) -> anyhow::Result<Self> {
        let Some(text) = text else {
            let path = path.display();
            if is_named {
                anyhow::bail!("there is no configuration `{path}`; correct --config");
            }
            return Ok(Self::default());
        };
        let wrong = || format!("`{}` is not a configuration; correct it", path.display());
        let config: Self = toml_edit::de::from_str(text)
            .map_err(|error| anyhow::Error::msg(format_error(&error, text)))
            .with_context(wrong)?;
        config.check_numbers().with_context(wrong)?;
        let kinds = reprise_redact::switch_on_kinds(&config.memory.redact);
        kinds.map_err(anyhow::Error::msg).with_context(wrong)?;
        config.learn_settings().with_context(wrong)?;
        config.tier_options().with_context(wrong)?;
        for place in &config.projections {
            let kind = place.kind.parse::<ProjectionKind>();
            kind.map_err(anyhow::Error::msg).with_context(wrong)?;
        }
        Ok(config)
    }

    /// Refuses numbers that no machine can mean.
    fn check_numbers(&self) -> anyhow::Result<()> {
        let (memory, recall, serve) = (&self.memory, &self.recall, &self.serve);
        let count = |count: Option<usize>| count.map(|count| count as u64);
        let (after, idle) = (memory.passivate_after_seconds, serve.idle_exit_seconds);
        for (name, number, most) in [
            ("memory.passivate_after_seconds", after, YEAR_SECONDS),
            ("memory.open_max", count(memory.open_max), 100_000),
            (
                "memory.embedder_threads",
                count(memory.embedder_threads),
                256,
            ),
            ("recall.rerank_ms", recall.rerank_ms, WAIT_MS_MAX),
            (
                "recall.rerank_prompt_ms",
                recall.rerank_prompt_ms,
                WAIT_MS_MAX,
            ),
            ("serve.idle_exit_seconds", idle, YEAR_SECONDS),
        ] {
            if let Some(number) = number {
                let is_possible = number <= most;
                anyhow::ensure!(is_possible, "{name} is {number}; it may be up to {most}");
            }
        }
        Ok(())
    }

    /// Returns the rules of tags; this file takes precedence over ai-lessons.
    pub(crate) fn tag_rules(&self) -> TagRules {
        let (own, theirs) = (&self.tags, &self.ai_lessons);
        let aliases = theirs.tag_aliases.iter().chain(&own.aliases);
        let aliases = aliases.map(|(from, to)| (from.clone(), to.clone()));
        let known = own.known.iter().chain(&theirs.known_tags).cloned();
        TagRules::new(aliases, known)
    }

    /// Returns the projections of one user.
    pub(crate) fn projections(&self, user: &UserId) -> Vec<ConfiguredProjection> {
        let all = self.all_projections().into_iter();
        all.filter(|own| own.user == *user).collect()
    }

    /// Returns every configured projection.
    pub(crate) fn all_projections(&self) -> Vec<ConfiguredProjection> {
        let places = self.projections.iter().filter_map(|place| {
            Some(ConfiguredProjection {
                user: place.user.clone(),
                kind: place.kind.parse().ok()?,
                path: place.path.clone(),
                project: place.project.clone(),
            })
        });
        places.collect()
    }

    /// Returns the service of a user; `None` for the data directory's own store.
    pub(crate) fn global_service(&self, user: &UserId) -> Option<GlobalServiceConfig> {
        let url = self.global.url.as_ref()?;
        let own = self.global.tokens.get(user.as_str());
        let token = own.or(self.global.token.as_ref()).cloned().ok_or_else(|| {
            format!(
                "no token of `{user}` for {url} is configured; put it under [global.tokens] in the \
                 configuration"
            )
        });
        let token = if is_plain_http_to_other_machine(url) && !self.global.allow_plain_http {
            Err(format!(
                "{url} is plain HTTP to another machine, where a token can be read on its way; name \
                 an https:// address, or set `allow_plain_http = true` under [global] if the way is \
                 safe"
            ))
        } else {
            token
        };
        Some(GlobalServiceConfig {
            url: url.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// Returns the deadline and thresholds for asking the global store in addition to a memory.
    pub(crate) fn tier_options(&self) -> anyhow::Result<TierOptions> {
        let (mut options, global) = (TierOptions::default(), &self.global);
        if let Some(milliseconds) = global.deadline_ms {
            options.deadline = Duration::from_millis(milliseconds);
        }
        let thresholds = &mut options.thresholds;
        for (name, given, threshold) in [
            ("local_high", global.local_high, &mut thresholds.local_high),
            (
                "quality_high",
                global.quality_high,
                &mut thresholds.global_quality,
            ),
        ] {
            let Some(given) = given else { continue };
            anyhow::ensure!(
                (0.0..=1.0).contains(&given),
                "[global] {name} is {given}, it must be between 0 and 1"
            );
            *threshold = given;
        }
        Ok(options)
    }

    /// Returns how long a hook waits for published knowledge; `None` if hooks do not ask.
    pub(crate) fn hook_deadline(&self) -> Option<Duration> {
        let deadline = self.global.hook_deadline_ms;
        let deadline = deadline.map_or(HOOK_DEADLINE, Duration::from_millis);
        self.global.hooks.then_some(deadline)
    }

    /// Returns the service to connect to in advance: one that hooks or recalls ask by default, and
    /// that may be reached over its protocol.
    pub(crate) fn global_url_to_connect(&self) -> Option<&str> {
        let url = self.global.url.as_deref()?;
        let is_asked = self.global.hooks || self.global.scope != RecallScope::Local;
        let may_ask = self.global.allow_plain_http || !is_plain_http_to_other_machine(url);
        (is_asked && may_ask).then(|| url.trim_end_matches('/'))
    }

    /// Returns the identity of a user for the global store.
    pub(crate) fn caller(&self, user: &UserId) -> anyhow::Result<Caller> {
        let is_named = |members: &Vec<String>| members.iter().any(|name| name == user.as_str());
        let mut organisations = self.global.organisations.iter();
        let own = organisations.find(|(_, members)| is_named(members));
        let org = own.map(|(name, _)| name.parse()).transpose()?;
        let mut projects = Vec::new();
        for (name, members) in &self.global.projects {
            let OrgProject { org: of, project } = name
                .parse()
                .map_err(|why| anyhow::anyhow!("[global.projects] {why}"))?;
            if Some(&of) == org.as_ref() && is_named(members) {
                projects.push(project);
            }
        }
        Ok(Caller {
            user: user.clone(),
            org,
            projects,
            paid: is_named(&self.global.paid),
        })
    }

    fn learn_settings(&self) -> anyhow::Result<LearnSettings> {
        let (default, own) = (LearnSettings::default(), &self.learning);
        let exogenous = own.exogenous_weight.unwrap_or(default.exogenous_weight());
        let implicit = own.implicit_weight.unwrap_or(default.implicit_weight());
        Ok(LearnSettings::new(exogenous, implicit)?)
    }

    /// Returns the endpoint that computes embeddings, if one does; the error is a sentence.
    pub(crate) fn endpoint(&self) -> Option<Result<EndpointSetting, String>> {
        Some(self.parse_endpoint(self.memory.model.endpoint()?))
    }

    /// Returns every endpoint that computes embeddings for some user.
    pub(crate) fn endpoints(&self) -> Vec<EndpointSetting> {
        let settings = self.all_models().filter_map(ModelName::endpoint);
        settings
            .filter_map(|own| self.parse_endpoint(own).ok())
            .collect()
    }

    /// Returns the default model and those of single users.
    fn all_models(&self) -> impl Iterator<Item = &ModelName> {
        std::iter::once(&self.memory.model).chain(self.memory.models.values())
    }

    /// Parses an endpoint and adds the configured key.
    pub(crate) fn parse_endpoint(&self, setting: &str) -> Result<EndpointSetting, String> {
        Ok(EndpointSetting {
            key: self.memory.key.clone(),
            allow_plain_http: self.memory.allow_plain_http,
            ..EndpointSetting::parse(setting)?
        })
    }

    /// Returns whether a model for other languages is proposed.
    pub(crate) fn proposes_models(&self) -> bool {
        self.memory.language == LanguageProposal::Auto
    }

    /// Returns whether some user uses an added model.
    pub(crate) fn is_model_in_use(&self, name: &str) -> bool {
        let added = ModelName::Added(name.to_owned());
        self.all_models().any(|model| *model == added)
    }

    /// Returns whether a user has another model than the default.
    pub(crate) fn has_own_model(&self, user: &UserId) -> bool {
        self.memory.models.contains_key(user)
    }

    /// Returns this configuration with the model of a user.
    pub(crate) fn of_user(mut self, user: &UserId) -> Self {
        if let Some(own) = self.memory.models.get(user) {
            self.memory.model = own.clone();
        }
        self
    }

    /// Applies the settings of the file to a service's configuration.
    pub(crate) fn apply(&self, config: &mut MemoryConfig) -> anyhow::Result<()> {
        config.learn = self.learn_settings()?;
        if let Some(seconds) = self.memory.passivate_after_seconds {
            let after = Duration::from_secs(seconds.max(1));
            config.limits.passivate_after = after;
            config.pool.sleep_after = after;
        }
        if let Some(open_max) = self.memory.open_max {
            config.limits.open_max = open_max.max(1);
        }
        if let Some(threads) = self.memory.embedder_threads {
            config.pool.threads = threads.max(1);
        }
        if let Some(first) = self.recall.rerank_first {
            config.limits.reranked_max = first.clamp(1, RERANKED_MAX);
        }
        if let Some(milliseconds) = self.recall.rerank_ms {
            config.limits.rerank_wait = Duration::from_millis(milliseconds);
        }
        if let Some(milliseconds) = self.recall.rerank_prompt_ms {
            config.limits.rerank_prompt_wait = Duration::from_millis(milliseconds);
        }
        if self.memory.tend == Some(false) {
            config.maintenance = None;
        }
        Ok(())
    }
}

/// Formats a parse error with its line.
fn format_error(error: &toml_edit::de::Error, text: &str) -> String {
    let span = error.span();
    let before = span.and_then(|span| text.get(..span.start));
    let said = match (error.message().strip_prefix("unknown variant "), before) {
        (Some(variant), Some(before)) => {
            let line = before.rsplit('\n').next().unwrap_or_default();
            let key = line.split('=').next().unwrap_or_default().trim();
            format!(
                "`{key}` cannot be {}",
                variant.replacen(", expected ", "; use ", 1)
            )
        }
        _ => add_hint(error.message().to_owned()),
    };
    match before.map(|before| before.matches('\n').count() + 1) {
        Some(line) => format!("line {line}: {said}"),
        None => said,
    }
}

#[cfg(test)]
mod tests;
