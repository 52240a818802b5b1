//! What every command is given, and how it talks to the person at the terminal.

use std::io::{BufRead, IsTerminal};

use reprise_embed::{Model, ModelStore};

use super::endpoint;
use super::remote::Elsewhere;
use crate::cli::prelude::*;
use crate::config::{Config, ModelName};
use crate::env::Places;

/// What every command needs to know.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Context {
    pub(crate) places: Places,
    pub(crate) config: Config,
    /// The daemon of another machine, which is asked in the place of one here.
    pub(crate) remote: Option<Elsewhere>,
    /// Print JSON instead of prose.
    pub(crate) json: bool,
    pub(crate) no_model: bool,
    /// Somebody named the configuration file: what is started for this command takes it too.
    pub(crate) is_config_named: bool,
    /// Leave a running daemon alone.
    pub(crate) no_daemon: bool,
    /// How long a daemon may be silent.
    pub(crate) patience: Duration,
}

impl Context {
    /// The model of this machine in use; `None` where none is wanted, the one that is named was
    /// never added, or it stands behind an endpoint.
    pub(super) fn model(&self) -> Option<Model> {
        let found = match &self.config.memory.model {
            ModelName::BuiltIn(variant) => Some(Model::BuiltIn(*variant)),
            ModelName::Endpoint(_) => None,
            ModelName::Added(name) => {
                let added = ModelStore::new(self.places.models.clone()).added_as(name);
                added.map(Model::Added)
            }
        };
        found.filter(|_| !self.no_model)
    }

    /// The space of its vectors. Without a model whoever writes may bring those of any one space.
    pub(super) fn space(&self) -> Option<EmbeddingSpace> {
        match self.config.endpoint().filter(|_| !self.no_model) {
            Some(named) => {
                let card = named.and_then(|named| endpoint::known(self, &named));
                card.ok().map(|card| card.space())
            }
            None => self.model().map(|model| model.space()),
        }
    }

    /// The same with the model of this user.
    pub(super) fn of_user(&self, user: &UserId) -> Self {
        let config = self.config.clone().of_user(user);
        Self {
            config,
            ..self.clone()
        }
    }

    /// How many numbers a vector of a new memory has.
    pub(super) fn dimensions(&self) -> u16 {
        self.space().map_or(DIMENSIONS, |space| space.dimensions)
    }
}

/// Whether a person at a terminal says yes; `refusal` is the error where nobody can be asked.
pub(super) fn agreed(question: &str, refusal: &'static str) -> anyhow::Result<bool> {
    let stdin = io::stdin();
    anyhow::ensure!(stdin.is_terminal(), refusal);
    note(&[question, " Type yes:"].concat());
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}

/// A line for the person at the terminal, written as `format!` takes it.
macro_rules! tell {
    ($($text:tt)+) => { $crate::cli::context::note(&format!($($text)+)) };
}
pub(super) use tell;

/// A line for the person at the terminal, never part of the data.
pub(super) fn note(text: &str) {
    // Nothing is left to be done if stderr is gone.
    drop(writeln!(crate::printer::stderr(), "{text}"));
}
