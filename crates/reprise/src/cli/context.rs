//! Settings that every command gets, and messages to the person at the terminal.

use std::io::{BufRead, IsTerminal};

use reprise_embed::{EmbeddingModel, ModelStore};
use reprise_server::PeopleSettings;

use super::endpoint;
use super::remote::RemoteDaemon;
use crate::args::Common;
use crate::cli::prelude::*;
use crate::config::AiLessons;
use crate::config::{Config, ModelName, MomentConfig};
use crate::env::Places;

/// Settings that every command needs.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Context {
    pub(crate) places: Places,
    pub(crate) config: Config,
    /// The daemon of another machine, which replaces a local one.
    pub(crate) remote: Option<RemoteDaemon>,
    /// Print JSON instead of prose.
    pub json: bool,
    pub no_model: bool,
    /// Whether the configuration file was named explicitly; child processes get the same one.
    pub(crate) is_config_named: bool,
    /// Whether an option or the environment names the directory of the models.
    pub(crate) is_models_dir_named: bool,
    /// Leave a running daemon alone.
    pub(crate) no_daemon: bool,
    /// How long a daemon may be silent.
    pub(crate) patience: Duration,
    /// What is wrong with the configuration, where others are in use in place of it.
    pub(crate) config_fault: Option<String>,
    /// What is wrong with the environment, where it was passed over.
    pub(crate) environment_fault: Option<String>,
}

impl Context {
    /// Reads the configuration and finds the directories that the global options name.
    pub fn new(common: Common) -> anyhow::Result<Self> {
        Self::build(common, |places, is_named| {
            let config = Config::read(&places.config, is_named)?;
            Ok((config, None))
        })
    }

    /// Does the same for the moments of an agent's session and for `doctor`, which an error in the
    /// configuration does not stop: its last good form is in use then.
    pub(crate) fn for_moment(common: Common) -> anyhow::Result<Self> {
        let mut context = Self::build(common, |places, is_named| {
            let MomentConfig { config, fault } = MomentConfig::read(places, is_named);
            Ok((config, fault))
        })?;
        let mut faults: Vec<String> = crate::env::passed_over().into_iter().collect();
        let remote = context.remote.as_ref();
        if let Some(Err(problem)) = remote.map(RemoteDaemon::check_address) {
            faults.push(format!("[remote] url or REPRISE_URL: {}", problem.detail));
        }
        context.environment_fault = (!faults.is_empty()).then(|| faults.join("; "));
        Ok(context)
    }

    fn build(
        common: Common,
        read: impl FnOnce(&Places, bool) -> anyhow::Result<(Config, Option<(String, PathBuf)>)>,
    ) -> anyhow::Result<Self> {
        let ai_lessons = crate::env::home_folder().map(|home| AiLessons::read(&home));
        let mut is_config_named = common.config.is_some();
        let is_models_dir_named = common.models_dir.is_some();
        let mut places = Places::new(common.data_dir, common.models_dir, common.config)?;
        let (config, fault) = read(&places, is_config_named)?;
        let config_fault = fault.map(|(says, in_use)| {
            // A daemon that is started now gets what is in use here.
            (places.config, is_config_named) = (in_use, true);
            says
        });
        let config = config.with_ai_lessons(ai_lessons.unwrap_or_default());
        let remote = RemoteDaemon::find(&config.remote, &places).filter(|_| !common.no_daemon);
        Ok(Self {
            config,
            remote,
            places,
            is_config_named,
            is_models_dir_named,
            json: common.json,
            no_model: common.no_model,
            no_daemon: common.no_daemon,
            patience: Duration::from_secs(common.daemon_patience.get().into()),
            config_fault,
            environment_fault: None,
        })
    }

    /// Returns these settings with another data directory.
    #[must_use]
    pub fn with_data_folder(&self, data: &Path) -> Self {
        let mut context = self.clone();
        data.clone_into(&mut context.places.data);
        context
    }

    /// Returns these settings with this form of the built-in model in use.
    #[must_use]
    pub fn with_variant(&self, variant: Variant) -> Self {
        let mut context = self.clone();
        context.config.memory.model = ModelName::BuiltIn(variant);
        context
    }

    /// Directory of the models.
    pub fn models_folder(&self) -> &Path {
        &self.places.models
    }

    /// User that the configuration names.
    pub fn configured_user(&self) -> Option<&UserId> {
        self.config.user.as_ref()
    }

    /// Says whether this user's questions of published knowledge go to a configured service.
    pub fn asks_service_for_published(&self, user: &UserId) -> bool {
        self.config.global_service(user).is_some()
    }

    /// Issuer whose tokens a service of published knowledge takes.
    pub fn issuer_of_people(&self) -> Option<PeopleSettings> {
        self.config.global.oidc.clone()
    }

    /// Returns the local model in use; `None` if none is wanted, the named one was never added, or
    /// it is behind an endpoint.
    pub(super) fn model(&self) -> Option<EmbeddingModel> {
        let found = match &self.config.memory.model {
            ModelName::BuiltIn(variant) => Some(EmbeddingModel::BuiltIn(*variant)),
            ModelName::Endpoint(_) => None,
            ModelName::Added(name) => {
                let added = ModelStore::new(self.places.models.clone()).find_added(name);
                added.map(EmbeddingModel::Added)
            }
        };
        found.filter(|_| !self.no_model)
    }

    /// Returns the space of the model's vectors; `None` without a model: then a writer may bring
    /// vectors of any one space.
    pub(super) fn space(&self) -> Option<EmbeddingSpace> {
        match self.config.endpoint().filter(|_| !self.no_model) {
            Some(named) => {
                let card = named.and_then(|named| endpoint::load_or_probe_card(self, &named));
                card.ok().map(|card| card.space())
            }
            None => self.model().map(|model| model.space()),
        }
    }

    /// Returns these settings with the model of this user.
    #[must_use]
    pub fn of_user(&self, user: &UserId) -> Self {
        let config = self.config.clone().of_user(user);
        Self {
            config,
            ..self.clone()
        }
    }

    /// Returns the number of dimensions of a new memory's vectors.
    pub fn dimensions(&self) -> u16 {
        self.space().map_or(DIMENSIONS, |space| space.dimensions)
    }
}

/// Asks a person at the terminal for a yes; `refusal` is the error without a terminal.
pub fn confirm(question: &str, refusal: &'static str) -> anyhow::Result<bool> {
    let stdin = io::stdin();
    anyhow::ensure!(stdin.is_terminal(), refusal);
    note(&[question, " Type yes:"].concat());
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}

/// Prints a line on stderr, formatted as by `format!`.
macro_rules! tell {
    ($($text:tt)+) => { $crate::cli::context::note(&format!($($text)+)) };
}
pub(super) use tell;

/// Prints a line on stderr, which is never part of the data.
pub fn note(text: &str) {
    // Nothing can be done if stderr is closed.
    drop(writeln!(crate::printer::stderr(), "{text}"));
}
