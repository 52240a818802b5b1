//! A user's memory for one command: asked of the daemon where one runs, else of the same
//! operations in this process. Those that read need no lock and work beside whoever writes; the
//! others hold it.

use reprise_operations::{
    Around, Entry, Memories, Projection, Ran, Repositories, Sharing, taken_out,
};

use super::runtime::Runtime;
use super::serve;
use crate::cli::prelude::*;

/// In process nobody else waits: the model may take as long as it needs.
const PATIENCE: Duration = Duration::from_hours(1);

/// What a command asks operations of.
pub(super) enum Session {
    There(Box<Daemon>, UserId),
    Here(Runtime, Box<Memories>, UserId),
}

impl Session {
    /// For operations with this effect at most.
    pub(super) fn open(context: &Context, user: &UserId, effect: Effect) -> anyhow::Result<Self> {
        if let Some(daemon) = Daemon::running(context)? {
            return Ok(Self::There(Box::new(daemon), user.clone()));
        }
        let mut config = serve::config(context)?;
        // The model is not even looked for where nothing needs a vector.
        config.pool.opens_at_once = false;
        config.limits.recall_budget = PATIENCE;
        // What a daemon does in the background waits for one.
        config.limits.tick = PATIENCE;
        let (reads, whose) = (effect == Effect::Reads, (context.clone(), user.clone()));
        config.open_engine = Arc::new(move |path, options| {
            let mut options = options.clone();
            // What a repository shares is made anew from its files by whoever asks.
            let is_cache = path.to_string_lossy().contains(UserId::REPOSITORY);
            if reads && !is_cache {
                (options.read_only, options.create) = (true, false);
            }
            let open = || Engine::open(Arc::new(RealDisk), path, &options);
            store::in_turn(&whose.0, &whose.1, store::TURN, store::holder, open)
        });
        let runtime = runtime::threaded()?;
        let service = runtime.block_on(MemoryService::start(config, None))?;
        // What reads changes no file of another program.
        let projections = match effect {
            Effect::Reads => Vec::new(),
            _ => context.config.projections(user),
        };
        let sharing = super::global::sharing(context, true);
        let memories = memories(context, service, projections, sharing);
        Ok(Self::Here(runtime, Box::new(memories), user.clone()))
    }

    /// Runs an operation, and says what was taken out of its arguments.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what is asked is made for this call"
    )]
    pub(super) fn call<O: Operation>(&self, arguments: O::Arguments) -> Result<O::Answer, Problem> {
        let Ran { answer, redacted } = self.ran::<O>(&arguments)?;
        if !redacted.is_empty() {
            note(&taken_out(&redacted));
        }
        Ok(answer)
    }

    /// Runs an operation.
    pub(super) fn ran<O: Operation>(
        &self,
        arguments: &O::Arguments,
    ) -> Result<Ran<O::Answer>, Problem> {
        match self {
            Self::There(daemon, user) => {
                let answer = daemon.ask(&Call::of::<O>(user, arguments)?)?;
                Ran::read(answer).map_err(Problem::invalid)
            }
            Self::Here(runtime, memories, user) => {
                let memory = memories.of(user).on_machine();
                runtime.block_on(reprise_operations::run::<O>(&memory, arguments))
            }
        }
    }

    /// Runs an entry of the catalogue.
    pub(super) fn run(
        &self,
        entry: &Entry,
        arguments: Map<String, Value>,
    ) -> Result<Value, Problem> {
        match self {
            Self::There(daemon, user) => daemon.ask(&Call::operation(&entry.spec, user, arguments)),
            Self::Here(runtime, memories, user) => {
                let memory = memories.of(user).on_machine();
                let answer = runtime.block_on(entry.call(memory, arguments))?;
                serde_json::from_slice(&answer).map_err(Problem::invalid)
            }
        }
    }

    /// Does what a daemon does in the background, in process: fits the adapter where that is due.
    pub(super) fn settle(&self) -> Result<(), Problem> {
        match self {
            Self::There(..) => Ok(()),
            Self::Here(runtime, memories, user) => runtime.block_on(memories.settle(user)),
        }
    }
}

/// Everything accepted is on disk afterwards.
impl Drop for Session {
    fn drop(&mut self) {
        if let Self::Here(runtime, memories, _) = self {
            let failing = runtime.block_on(async {
                let failing = memories.refresh_projections().await;
                memories.shut_down().await;
                failing
            });
            for why in failing {
                tell!("warning: {why}");
            }
        }
    }
}

/// The memories of a process that holds them itself, with all that the configuration says.
pub(super) fn memories(
    context: &Context,
    service: MemoryService,
    projections: Vec<Projection>,
    sharing: Sharing,
) -> Memories {
    copies::note_projections(context, &projections);
    Memories::new(service, Arc::new(SystemClock)).with(Around {
        tags: context.config.tag_rules(),
        workspaces: context.config.workspaces.clone(),
        sharing,
        repositories: Repositories::of_data(&context.places.data),
        projections,
    })
}
