//! A user's memory for one command: through the daemon if one runs, otherwise with the same
//! operations in this process. Reading operations need no lock and work next to a writer; the
//! others hold the lock.

use reprise_operations::{CatalogueEntry, Memories, decode_answer, describe_redactions};

use super::progress::{IN_PROCESS, show_progress};
use super::runtime::Runtime;
use super::serve;
use super::store::torn_tails;
use crate::cli::prelude::*;

/// Connection of a command to a user's memory.
pub(super) enum Session {
    Remote(Box<DaemonConnection>, UserId),
    InProcess(Runtime, Box<Memories>, UserId),
}

/// Whether a file is the cache of a repository's shared lessons: its own folder is named after it,
/// whatever the folders above are called.
fn is_repository_cache(file: &Path) -> bool {
    let folder = file.parent().and_then(Path::file_name);
    let user = folder.and_then(|folder| folder.to_str()?.parse::<UserId>().ok());
    user.is_some_and(|user| user.is_repository_memory())
}

impl Session {
    /// Opens a session for operations with at most this effect.
    pub(super) fn open(context: &Context, user: &UserId, effect: Effect) -> anyhow::Result<Self> {
        if let Some(daemon) = DaemonConnection::find_running(context)? {
            return Ok(Self::Remote(Box::new(daemon), user.clone()));
        }
        let mut config = serve::config(context)?;
        // The model is not loaded if nothing needs a vector.
        config.pool.opens_at_once = false;
        config.limits.purposeful_budget = IN_PROCESS;
        // Background work is left to a daemon.
        config.limits.tick = IN_PROCESS;
        let chosen = context.config.memory.vectors;
        let (reads, whose) = (effect == Effect::Reads, (context.clone(), user.clone()));
        let cosines = model::share_cosines(context);
        config.open_engine = Arc::new(move |path, options| {
            let mut options = options.clone();
            options.ports.cosines = Some(Arc::clone(&cosines));
            // A reader rebuilds the cache of a repository's shared lessons from its files.
            let is_cache = is_repository_cache(path);
            if reads && !is_cache {
                (options.read_only, options.create) = (true, false);
            }
            let open = || store::open_engine(chosen, path, &options);
            let (context, user) = &whose;
            let opened =
                store::retry_while_locked(context, user, store::TURN, store::lock_holder, open)?;
            if options.read_only {
                torn_tails::tell_of_unread_tail(user, path, &opened.1);
            }
            Ok(opened)
        });
        let runtime = runtime::build_threaded()?;
        let service = runtime.block_on(MemoryService::start(config, None))?;
        // A reading operation changes no file of another program.
        let projections = match effect {
            Effect::Reads => Vec::new(),
            _ => context.config.projections(user),
        };
        let sharing = super::global::sharing(context, true);
        let memories = serve::memories(context, service, projections, sharing);
        Ok(Self::InProcess(runtime, Box::new(memories), user.clone()))
    }

    /// Runs an operation, and prints the secrets that were removed from its arguments.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what is asked is made for this call"
    )]
    pub(super) fn call<O: Operation>(&self, arguments: O::Arguments) -> Result<O::Answer, Problem> {
        let (answer, redacted) = self.call_with_redactions::<O>(&arguments)?;
        if !redacted.is_empty() {
            note(&describe_redactions(&redacted));
        }
        Ok(answer)
    }

    /// Runs an operation; returns its answer and the secrets that were removed from its arguments.
    pub(super) fn call_with_redactions<O: Operation>(
        &self,
        arguments: &O::Arguments,
    ) -> Result<(O::Answer, Vec<Redaction>), Problem> {
        match self {
            Self::Remote(daemon, user) => {
                let answer = daemon.ask_for_person(&Call::for_operation::<O>(user, arguments)?)?;
                decode_answer(answer).map_err(Problem::invalid)
            }
            Self::InProcess(runtime, memories, user) => {
                let memory = memories.user_memory(user).with_machine_caller();
                let answer = reprise_operations::run::<O>(&memory, arguments);
                runtime.block_on(show_progress(answer))
            }
        }
    }

    /// Runs an entry of the catalogue.
    pub(super) fn run(
        &self,
        entry: &CatalogueEntry,
        arguments: Map<String, Value>,
    ) -> Result<Value, Problem> {
        match self {
            Self::Remote(daemon, user) => {
                daemon.ask_for_person(&Call::from_spec(&entry.spec, user, arguments))
            }
            Self::InProcess(runtime, memories, user) => {
                let memory = memories.user_memory(user).with_machine_caller();
                let answer = show_progress((entry.call)(memory, arguments));
                let answer = runtime.block_on(answer)?;
                serde_json::from_slice(&answer).map_err(Problem::invalid)
            }
        }
    }

    /// Fits the adapter if that is due, as a daemon does in the background.
    pub(super) fn fit_adapter(&self) -> Result<(), Problem> {
        match self {
            Self::Remote(..) => Ok(()),
            Self::InProcess(runtime, memories, user) => {
                runtime.block_on(memories.consolidate_and_refresh_now(user))
            }
        }
    }
}

/// Shuts the memories down; everything accepted is on disk afterwards.
impl Drop for Session {
    fn drop(&mut self) {
        if let Self::InProcess(runtime, memories, _) = self {
            let failing = runtime.block_on(async {
                let failing = memories.update_all_projections().await;
                memories.shut_down().await;
                failing
            });
            for why in failing {
                tell!("warning: {why}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_known_by_its_own_folder_alone() {
        let is_cache = |path: &str| is_repository_cache(Path::new(path));
        assert!(is_cache("/d/ada+repository-1a2b/memory.rvf"));
        assert!(!is_cache("/d+repository-x/ada/memory.rvf"));
        assert!(!is_cache("/d/ada/memory.rvf"));
    }
}
