//! What stands in the configuration file, `$XDG_CONFIG_HOME/reprise/config.toml`, and the defaults.
//!
//! Precedence: flag, environment, file, default. The file's form.

mod model;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use reprise_agent::MemoryConfig;
use reprise_embed::Variant;
use reprise_engine::LearnSettings;
use reprise_files::Folder;
use reprise_global::{Caller, TierOptions};
use reprise_knowledge::ProjectionKind;
use reprise_operations::{Projection, TagRules, Workspaces, hinted};
use reprise_redact::is_plain_to_another;
use reprise_server::PeopleSettings;
use reprise_types::{RecallScope, UserId};
use serde::Deserialize;
use toml_edit::DocumentMut;

use crate::cli::endpoint::Named;
use crate::cli::remote::RemoteTable;
use crate::env::Places;
use crate::roots::AiLessons;

pub(crate) use model::{EvalModels, Model, ModelName};

/// How long a hook waits for published knowledge: its program waits a quarter of a second in all.
const HOOK_DEADLINE: Duration = Duration::from_millis(150);
/// Most results that a cross-encoder reads.
const RERANKED_MAX: usize = 100;
/// Longest file that is read.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The whole file. What is not there has its default; what is not known is refused.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Whose memory it is where neither `--user` nor the environment says.
    pub(crate) user: Option<UserId>,
    tags: Tags,
    #[serde(alias = "server")]
    pub(crate) serve: Serve,
    pub(crate) memory: Memory,
    pub(crate) recall: RecallTable,
    learning: Learning,
    pub(crate) global: Global,
    /// The model that plans for the host of `demo week`.
    pub(crate) planner: Model,
    /// The models of `eval answer`.
    pub(crate) eval: EvalModels,
    /// The daemon of another machine.
    pub(crate) remote: RemoteTable,
    /// Files that other programs read, and where they stand.
    projections: Vec<ProjectionPlace>,
    /// Governed workspaces by the names that requests to the daemon use.
    pub(crate) workspaces: Workspaces,
    /// What another program has configured.
    #[serde(skip)]
    pub(crate) ai_lessons: AiLessons,
}

/// Who belongs together in the global store of a data directory.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Global {
    /// From an organisation to its members.
    organisations: BTreeMap<String, Vec<String>>,
    /// Users of the paid tier.
    paid: Vec<String>,
    /// A service that is asked in the place of the data directory's own store.
    url: Option<String>,
    /// Send tokens there over plain HTTP too, although it is another machine.
    pub(crate) allow_plain_http: bool,
    /// How it knows this user ...
    token: Option<String>,
    /// ... or each of several.
    tokens: BTreeMap<String, String>,
    /// How long a recall waits for published knowledge.
    deadline_ms: Option<u64>,
    /// Whether hooks ask for published knowledge too ...
    hooks: bool,
    /// ... and how long one waits for it.
    hook_deadline_ms: Option<u64>,
    /// From this score on one's own comes before all that is published ...
    local_high: Option<f32>,
    /// ... and what has this quality before one's own that is less sure.
    quality_high: Option<f32>,
    /// Whose knowledge a recall asks for that does not say.
    pub(crate) scope: RecallScope,
    /// For a service: people who sign in at an issuer.
    pub(crate) oidc: Option<PeopleSettings>,
}

/// A service of published knowledge, as a user reaches it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GlobalService {
    pub(crate) url: String,
    /// The error is a sentence.
    pub(crate) token: Result<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Tags {
    /// From a spelling to the tag that is kept.
    aliases: BTreeMap<String, String>,
    /// The tags that a team has agreed on: another one is kept and doubted.
    known: Vec<String>,
}

/// A file or folder that another program reads.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectionPlace {
    user: UserId,
    /// sunwell, ai-lessons, frames or markdown.
    kind: String,
    path: PathBuf,
    /// Only records of this project.
    project: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Serve {
    /// As `--http`.
    pub(crate) http: Option<SocketAddr>,
    /// As `--idle-exit`.
    pub(crate) idle_exit_seconds: Option<u64>,
    /// As `--requests-per-second`.
    pub(crate) requests_per_second: Option<NonZeroU32>,
    /// As `--otlp`.
    pub(crate) otlp: Option<String>,
    /// How programs sign in; without an issuer in it the daemon is its own.
    pub(crate) oauth: Option<OauthTable>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OauthTable {
    /// How clients reach the daemon, where a proxy stands before it.
    pub(crate) url: Option<String>,
    /// Whose tokens are taken ...
    pub(crate) issuer: Option<String>,
    /// ... made for whom: the address of MCP under `url` where not said ...
    pub(crate) audience: Option<String>,
    /// ... with the user in which claim ...
    pub(crate) user_claim: Option<String>,
    /// ... and granted what.
    pub(crate) scopes: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Language {
    /// Proposed once it would help, and never chosen by itself.
    #[default]
    Auto,
    /// Whatever it is, the model stays.
    Any,
}

/// The memories that are open, and the model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Memory {
    /// The model that makes vectors; what another made is made anew.
    pub(crate) model: ModelName,
    /// The same of users who have another one.
    models: BTreeMap<UserId, ModelName>,
    /// Whether a multilingual model is proposed where most is not English.
    language: Language,
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
}

/// What a recall does beside searching.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RecallTable {
    /// The folder of a cross-encoder that judges the first results a second time.
    pub(crate) reranker: Option<PathBuf>,
    /// So many of them,
    rerank_first: Option<usize>,
    /// within this time.
    rerank_ms: Option<u64>,
}

/// How much runs teach that say less than others; weights are 0..=1.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Learning {
    /// Of a failure from outside: auth, network, rate limit, provider.
    exogenous_weight: Option<f32>,
    /// Of a use that nobody has named.
    implicit_weight: Option<f32>,
}

/// Whose memory the configuration says it is, before the arguments are read: `--user` shows it as
/// its default. What is wrong with the file is said when it is read for good.
pub(crate) fn user_of(arguments: impl Iterator<Item = OsString>) -> Option<String> {
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
        named.map(PathBuf::from).or_else(crate::env::config),
    );
    let text = text_of(&places.ok()?.config).ok()??;
    let file: DocumentMut = text.parse().ok()?;
    let user: UserId = file.get("user")?.as_str()?.parse().ok()?;
    Some(user.to_string())
}

/// What stands in a file; `None` where there is none.
fn text_of(path: &Path) -> anyhow::Result<Option<String>> {
    let bytes = reprise_files::read_named(path, BYTES_MAX)?;
    let text = bytes.map(String::from_utf8).transpose();
    text.with_context(|| format!("`{}` is no text; correct it", path.display()))
}

/// Changes a configuration file, made where it is missing, of which all else stays as it is.
/// Answers whether that was a change.
pub(crate) fn edit(
    file: &Path,
    change: impl FnOnce(&Folder, &mut DocumentMut) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    let folder = file.parent().context("the configuration has no folder")?;
    let folder = Folder::make(folder)?;
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
    /// The file at `path`; the defaults where it is missing and nobody named it.
    pub(crate) fn read(path: &Path, is_named: bool) -> anyhow::Result<Self> {
        let Some(text) = text_of(path)? else {
            let path = path.display();
            anyhow::ensure!(
                !is_named,
                "there is no configuration `{path}`; correct --config"
            );
            return Ok(Self::default());
        };
        let wrong = || format!("`{}` is not a configuration; correct it", path.display());
        let config: Self = toml_edit::de::from_str(&text)
            .map_err(|error| anyhow::Error::msg(told(&error, &text)))
            .with_context(wrong)?;
        config.learn_settings().with_context(wrong)?;
        config.global_tier().with_context(wrong)?;
        for place in &config.projections {
            let kind = place.kind.parse::<ProjectionKind>();
            kind.map_err(anyhow::Error::msg).with_context(wrong)?;
        }
        Ok(config)
    }

    /// What it says of tags, before what ai-lessons says.
    pub(crate) fn tag_rules(&self) -> TagRules {
        let (own, theirs) = (&self.tags, &self.ai_lessons);
        let aliases = theirs.tag_aliases.iter().chain(&own.aliases);
        let aliases = aliases.map(|(from, to)| (from.clone(), to.clone()));
        let known = own.known.iter().chain(&theirs.known_tags).cloned();
        TagRules::new(aliases, known)
    }

    /// The projections of one user.
    pub(crate) fn projections(&self, user: &UserId) -> Vec<Projection> {
        let all = self.all_projections().into_iter();
        all.filter(|own| own.user == *user).collect()
    }

    /// Every projection that the file names.
    pub(crate) fn all_projections(&self) -> Vec<Projection> {
        let places = self.projections.iter().filter_map(|place| {
            Some(Projection {
                user: place.user.clone(),
                kind: place.kind.parse().ok()?,
                path: place.path.clone(),
                project: place.project.clone(),
            })
        });
        places.collect()
    }

    /// The service that this user asks; `None` for the data directory's own store.
    pub(crate) fn global_service(&self, user: &UserId) -> Option<GlobalService> {
        let url = self.global.url.as_ref()?;
        let own = self.global.tokens.get(user.as_str());
        let token = own.or(self.global.token.as_ref()).cloned().ok_or_else(|| {
            format!(
                "no token of `{user}` for {url} is configured; put it under [global.tokens] in the \
                 configuration"
            )
        });
        let token = if is_plain_to_another(url) && !self.global.allow_plain_http {
            Err(format!(
                "{url} is plain HTTP to another machine, where a token can be read on its way; name \
                 an https:// address, or set `allow_plain_http = true` under [global] if the way is \
                 safe"
            ))
        } else {
            token
        };
        Some(GlobalService {
            url: url.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// How the global store is asked beside a memory.
    pub(crate) fn global_tier(&self) -> anyhow::Result<TierOptions> {
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

    /// How long a hook waits for published knowledge; `None` where hooks do not ask.
    pub(crate) fn hooks_ask(&self) -> Option<Duration> {
        let deadline = self.global.hook_deadline_ms;
        let deadline = deadline.map_or(HOOK_DEADLINE, Duration::from_millis);
        self.global.hooks.then_some(deadline)
    }

    /// The service that hooks, or recalls that do not say, will ask: connected to in advance, where
    /// plain HTTP may be used.
    pub(crate) fn global_connects(&self) -> Option<&str> {
        let url = self.global.url.as_deref()?;
        let is_asked = self.global.hooks || self.global.scope != RecallScope::Local;
        let may_ask = self.global.allow_plain_http || !is_plain_to_another(url);
        (is_asked && may_ask).then(|| url.trim_end_matches('/'))
    }

    /// What it says of a user who asks the global store.
    pub(crate) fn caller(&self, user: &UserId) -> anyhow::Result<Caller> {
        let is_named = |members: &Vec<String>| members.iter().any(|name| name == user.as_str());
        let mut organisations = self.global.organisations.iter();
        let own = organisations.find(|(_, members)| is_named(members));
        Ok(Caller {
            user: user.clone(),
            org: own.map(|(name, _)| name.parse()).transpose()?,
            paid: is_named(&self.global.paid),
        })
    }

    fn learn_settings(&self) -> anyhow::Result<LearnSettings> {
        let (default, own) = (LearnSettings::default(), &self.learning);
        let exogenous = own.exogenous_weight.unwrap_or(default.exogenous_weight());
        let implicit = own.implicit_weight.unwrap_or(default.implicit_weight());
        Ok(LearnSettings::new(exogenous, implicit)?)
    }

    /// The endpoint that makes the vectors, where one does; an error is a sentence.
    pub(crate) fn endpoint(&self) -> Option<Result<Named, String>> {
        Some(self.named(self.memory.model.endpoint()?))
    }

    /// Every endpoint that makes vectors for somebody.
    pub(crate) fn endpoints(&self) -> Vec<Named> {
        let settings = self.models().filter_map(ModelName::endpoint);
        settings.filter_map(|own| self.named(own).ok()).collect()
    }

    /// The models that are somebody's.
    fn models(&self) -> impl Iterator<Item = &ModelName> {
        std::iter::once(&self.memory.model).chain(self.memory.models.values())
    }

    /// An endpoint with the key that goes with it.
    pub(crate) fn named(&self, setting: &str) -> Result<Named, String> {
        Ok(Named {
            key: self.memory.key.clone(),
            allow_plain_http: self.memory.allow_plain_http,
            ..Named::parse(setting)?
        })
    }

    /// Whether a model for other languages is proposed.
    pub(crate) fn proposes_models(&self) -> bool {
        self.memory.language == Language::Auto
    }

    /// Whether an added model is somebody's.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let added = ModelName::Added(name.to_owned());
        self.models().any(|model| *model == added)
    }

    /// Whether a user has a model that is not that of all.
    pub(crate) fn has_own_model(&self, user: &UserId) -> bool {
        self.memory.models.contains_key(user)
    }

    /// The same with the model of this user.
    pub(crate) fn of_user(mut self, user: &UserId) -> Self {
        if let Some(own) = self.memory.models.get(user) {
            self.memory.model = own.clone();
        }
        self
    }

    /// Puts into a service's configuration what the file says of it.
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
        if self.memory.tend == Some(false) {
            config.tend = None;
        }
        Ok(())
    }

    /// What else may stand in it, with what holds where it does not: name, value, default. Of
    /// tokens it is said only whether there are any.
    pub(crate) fn others(&self) -> Vec<(&'static str, Option<String>, &'static str)> {
        fn row(
            name: &'static str,
            value: Option<impl ToString>,
            default: &'static str,
        ) -> (&'static str, Option<String>, &'static str) {
            (name, value.map(|value| value.to_string()), default)
        }
        let several = |count: usize| Some(count).filter(|count| *count > 0);
        let (memory, recall, learning) = (&self.memory, &self.recall, &self.learning);
        let (tags, global) = (&self.tags, &self.global);
        let model = Some(&memory.model).filter(|model| **model != ModelName::default());
        let model = model.map(ModelName::name);
        let reranker = recall.reranker.as_deref().map(Path::display);
        let (idle, threads) = (memory.passivate_after_seconds, memory.embedder_threads);
        let (exogenous, implicit) = (learning.exogenous_weight, learning.implicit_weight);
        let plain_http = global.allow_plain_http.then_some(true);
        let has_token = global.token.is_some() || !global.tokens.is_empty();
        let own_store = "the data directory's own store";
        vec![
            row("memory.tend", memory.tend, "true"),
            row("memory.model", model, Variant::default().name()),
            row("memory.passivate_after_seconds", idle, "600"),
            row("memory.models", several(memory.models.len()), "none"),
            row("planner.url", self.planner.url.as_ref(), "none"),
            row("eval.answer.url", self.eval.answer.url.as_ref(), "none"),
            row("eval.judge.url", self.eval.judge.url.as_ref(), "none"),
            row("remote.url", self.remote.url.as_ref(), "none"),
            row("memory.open_max", memory.open_max, "256"),
            row("memory.embedder_threads", threads, "one a core"),
            row("learning.exogenous_weight", exogenous, "0.25"),
            row("learning.implicit_weight", implicit, "0.5"),
            row("recall.reranker", reranker, "none"),
            row("recall.rerank_first", recall.rerank_first, "20"),
            row("recall.rerank_ms", recall.rerank_ms, "200"),
            row("tags.aliases", several(tags.aliases.len()), "none"),
            row("tags.known", several(tags.known.len()), "none"),
            row("global.url", global.url.as_ref(), own_store),
            row("global.allow_plain_http", plain_http, "false"),
            row("global.hooks", global.hooks.then_some(true), "false"),
            row("global.hook_deadline_ms", global.hook_deadline_ms, "150"),
            row("global.local_high", global.local_high, "0.6"),
            row("global.quality_high", global.quality_high, "0.7"),
            row("global.token", has_token.then_some("set"), "none"),
        ]
    }
}

/// What is wrong, and in which line.
fn told(error: &toml_edit::de::Error, text: &str) -> String {
    let said = hinted(error.message().to_owned());
    let before = error.span().and_then(|span| text.get(..span.start));
    match before.map(|before| before.matches('\n').count() + 1) {
        Some(line) => format!("line {line}: {said}"),
        None => said,
    }
}

#[cfg(test)]
mod tests;
