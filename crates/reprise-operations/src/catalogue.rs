//! What an operation is, and the catalogue that every face reads: routes, descriptions, tools and
//! schemas are derived from it.
//!
//! # How to add an operation
//!
//! 1. Into the file of its noun (`operations/records.rs`, `links.rs`, ...) write what it answers,
//!    and `operation!` with its [`Spec`], its arguments, each with its kind of `bounds/kinds.rs`
//!    (where they are typed, `clap::Args`; the comments of the fields are what callers read), and
//!    what it does. `operations/care.rs` begins with the shortest.
//! 2. Add `CatalogueEntry::of::<NOUN::Name>()` to `operations.rs`; to type it, its line to
//!    `operation_commands!` in `reprise/src/args/`. What is no memory's own is an operation of a
//!    context of its own, in a crate of its own, and the program adds it to the catalogue with
//!    `with_operations`, as it does with those of `reprise-workspace-operations` (ADR 0063).
//!
//! It is then served as `POST /v1/users/{user}/NAME` (or where its `routes` say), described in
//! `/openapi.json`, and run by `reprise call NAME`. `.tool(..)` makes it a tool of MCP in the
//! profiles from the one given on: what agents pay for in every session, so say little.
//!
//! What a service of published knowledge does is an operation as well, of another context: its
//! declarations are in `reprise-server/src/global/operations.rs` (ADR 0061).
//!
//! - In process: `run::<Name>(&memories.of(user), &arguments).await`, which takes secrets out
//!   first. From another process: the client of `reprise-server`, with the same types.
//! - Words are those of `wire/filter.rs` and its neighbours: `query`, `text`, `limit`, `kind`,
//!   `tag`, `session`, `since`, `until`, `max_tokens`. A former name stays as a serde alias.
//! - What an operation does to a memory is in its noun's folder; `memories/` has what all run over.
//! - A problem is one sentence: what happened, to what, what to do next.

mod arguments;
mod gate;
mod profile;

use std::pin::Pin;

use reprise_redact::Redaction;

use crate::bounds::{Room, add_missing_bounds};
use crate::prelude::*;

pub use arguments::parse_query_pairs;
use gate::{Admitted, encoding_problem};
pub use gate::{decode_answer, describe_redactions, encode_answer};
pub use profile::{AddedProfile, Profile};

/// What operations run over: one user's memory, or a request to a service.
pub trait OperationContext {
    /// Why one of its operations was not done.
    type Error;
}

impl OperationContext for Memory {
    type Error = Problem;
}

/// Makes the context of an operation of the memory that a request uses.
pub trait Enter<Context>: Fn(Memory) -> Context + Clone + Send + Sync + 'static {}

impl<Context, F: Fn(Memory) -> Context + Clone + Send + Sync + 'static> Enter<Context> for F {}

/// Something that can be asked of one user's memory, or of another context.
pub trait Operation<Context: OperationContext = Memory>: 'static {
    /// How the faces show it.
    const SPEC: Spec;
    /// What it is given: a JSON object.
    type Arguments: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// What it answers: a JSON object.
    type Answer: DeserializeOwned + Serialize + JsonSchema + Send;

    /// Runs the operation.
    fn run(
        context: &Context,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Answer, Context::Error>> + Send;

    /// What it does to memory with these arguments: a dry run only reads.
    fn effect(_arguments: &Self::Arguments) -> Effect {
        Self::SPEC.effect
    }

    /// The answer as an agent or a person reads it; the JSON where nothing shorter says it.
    fn render_text(answer: &Self::Answer) -> Cow<'_, str> {
        serde_json::to_string(answer).unwrap_or_default().into()
    }
}

/// One operation: its [`Spec`]; its name with what it is given, a struct of its own or one that
/// others have too (made by `arguments!`); its answer, and how it is done. Whatever else of
/// [`Operation`] it says itself comes last.
macro_rules! operation {
    (
        $spec:expr;
        $(#[$($attribute:tt)*])*
        $name:ident($memory:tt, $given:tt: $arguments:ident { $($fields:tt)* }) -> $answer:ty
        $run:block
        $($more:tt)*
    ) => {
        arguments! {
            #[serde_with::apply(
                bool => #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            )]
            #[skip_serializing_none]
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            $(#[$($attribute)*])*
            pub struct $arguments {
                $($fields)*
            }
        }

        operation! {
            $spec;
            $name($memory, $given: $arguments) -> $answer $run
            $($more)*
        }
    };
    (
        $spec:expr;
        $name:ident($memory:tt, $given:tt: $arguments:ty) -> $answer:ty
        $run:block
        $($more:tt)*
    ) => {
        #[derive(Debug)]
        pub struct $name;

        impl Operation for $name {
            const SPEC: Spec = $spec;
            type Arguments = $arguments;
            type Answer = $answer;

            async fn run($memory: &Memory, $given: $arguments) -> Result<$answer, Problem> $run

            $($more)*
        }

        const _: () = $crate::bounds::require_arguments::<$arguments>();
    };
}
pub(crate) use operation;

/// What an operation may do to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// Something is there afterwards that was not before; nothing is lost.
    Adds,
    /// Something is gone afterwards.
    Destroys,
}

/// Who may ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// Every caller that may open the user's memory.
    Admitted,
    /// Programs of this machine: through the socket or in process.
    Machine,
    /// Callers of a service whose token has this right.
    Holders(Right),
}

/// A group of operations on published knowledge.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Ask, and read what was found.
    Read,
    /// Publish and take back, rate, report.
    Write,
    /// Approve or refuse what other members publish for the organisation.
    Review,
    /// Make snapshots, read the audit log and metrics.
    Operate,
}

/// The method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It reads.
    Get,
    /// It does something.
    Post,
    /// It makes what the path names, or sets it.
    Put,
    /// It changes what the path names.
    Patch,
    /// It removes what the path names.
    Delete,
}

impl Method {
    /// As HTTP writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether arguments come in a body; else they stand in the query string.
    #[must_use]
    pub fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// Where HTTP serves an operation. `{user}` in the path is whose memory it is; a path without it
/// leaves that to the request's token or header. Other names in braces are arguments.
pub type OperationRoute = (Method, &'static str);

/// An operation as a tool of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// What agents call it.
    pub name: &'static str,
    /// Other names, shown in the full profile.
    pub aliases: &'static [&'static str],
    /// The smallest profile that shows it.
    pub profile: Profile,
    /// JSON of the arguments that hold where an agent does not say.
    pub presets: &'static str,
}

/// How the faces show an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Its name: one word, or several joined by `_`.
    pub name: &'static str,
    /// One line that helps to choose between operations.
    pub summary: &'static str,
    /// What it may do to memory.
    pub effect: Effect,
    /// Who may ask for it.
    pub callers: Callers,
    /// Where HTTP serves it; empty for `POST /v1/users/{user}/NAME`.
    pub routes: &'static [OperationRoute],
    /// Its form for agents, if it is one of their tools.
    pub tool: Option<Tool>,
    /// The argument that a bare body is read as: a list, one object of it, or one object a line.
    pub bare_body: Option<&'static str>,
    /// Whether what it is given never becomes memory, so that no secret is taken out of it.
    pub keeps_no_memory: bool,
}

impl Spec {
    const fn new(name: &'static str, effect: Effect, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            effect,
            callers: Callers::Admitted,
            routes: &[],
            tool: None,
            bare_body: None,
            keeps_no_memory: false,
        }
    }

    /// An operation that changes nothing.
    #[must_use]
    pub const fn for_reading(name: &'static str, summary: &'static str) -> Self {
        Self::new(name, Effect::Reads, summary)
    }

    /// One that adds and takes nothing away.
    #[must_use]
    pub const fn for_adding(name: &'static str, summary: &'static str) -> Self {
        Self::new(name, Effect::Adds, summary)
    }

    /// One that takes something away.
    #[must_use]
    pub const fn for_destroying(name: &'static str, summary: &'static str) -> Self {
        Self::new(name, Effect::Destroys, summary)
    }

    /// Restricts the operation to programs of this machine.
    #[must_use]
    pub const fn with_machine_callers_only(self) -> Self {
        self.with_callers(Callers::Machine)
    }

    /// Says who may ask for the operation.
    #[must_use]
    pub const fn with_callers(self, callers: Callers) -> Self {
        Self { callers, ..self }
    }

    /// Sets the routes where HTTP serves the operation.
    #[must_use]
    pub const fn with_routes(self, routes: &'static [OperationRoute]) -> Self {
        Self { routes, ..self }
    }

    /// Makes the operation a tool of this name, shown from this profile on.
    #[must_use]
    pub const fn with_tool(self, name: &'static str, profile: Profile) -> Self {
        let tool = Some(Tool {
            name,
            aliases: &[],
            profile,
            presets: "{}",
        });
        Self { tool, ..self }
    }

    /// Adds other names of the tool.
    #[must_use]
    pub const fn with_tool_aliases(mut self, aliases: &'static [&'static str]) -> Self {
        if let Some(tool) = &mut self.tool {
            tool.aliases = aliases;
        }
        self
    }

    /// Sets default arguments of the tool, as a JSON object.
    #[must_use]
    pub const fn with_tool_presets(mut self, presets: &'static str) -> Self {
        if let Some(tool) = &mut self.tool {
            tool.presets = presets;
        }
        self
    }

    /// Reads a bare list or object in a body as this argument.
    #[must_use]
    pub const fn with_bare_body(self, argument: &'static str) -> Self {
        let bare_body = Some(argument);
        Self { bare_body, ..self }
    }

    /// Leaves secrets in its arguments: what it keeps is no memory.
    #[must_use]
    pub const fn with_secrets_left_in(self) -> Self {
        let keeps_no_memory = true;
        Self {
            keeps_no_memory,
            ..self
        }
    }

    /// The first of the routes that it names.
    #[must_use]
    pub fn first_route(&self) -> OperationRoute {
        self.routes.first().copied().unwrap_or((Method::Post, ""))
    }

    /// Where HTTP serves it: method and path, the first of them its own.
    #[must_use]
    pub fn list_routes(&self) -> Vec<(Method, String)> {
        if self.routes.is_empty() {
            return vec![(Method::Post, format!("/v1/users/{{user}}/{}", self.name))];
        }
        let routes = self.routes.iter();
        let routes = routes.map(|(method, path)| (*method, (*path).to_owned()));
        routes.collect()
    }
}

/// What a tool answers: the same twice, for a reader and for a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolAnswer {
    /// For a reader.
    pub text: String,
    /// For a program.
    pub structured: Value,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send>>;

/// What runs an operation with JSON arguments.
type Runner<T> = Arc<dyn Fn(Memory, Map<String, Value>) -> BoxFuture<T> + Send + Sync>;

/// One operation of a catalogue, its types forgotten. Cheap to clone.
#[derive(Clone)]
pub struct CatalogueEntry {
    /// How the faces show it.
    pub spec: Spec,
    arguments: fn(&mut SchemaGenerator) -> Schema,
    room: fn() -> Room,
    answer: fn(&mut SchemaGenerator) -> Schema,
    /// Runs it; the answer is JSON.
    pub call: Runner<Vec<u8>>,
    /// Runs it for an agent.
    pub call_tool: Runner<ToolAnswer>,
}

reprise_types::show_fields!(CatalogueEntry { spec });

impl CatalogueEntry {
    /// The entry of an operation.
    #[must_use]
    pub fn of<O: Operation>() -> Self {
        Self::in_context::<Memory, O>(|memory: Memory| memory)
    }

    /// The entry of an operation of another context, which `enter` makes for each request.
    #[must_use]
    pub fn in_context<C, O>(enter: impl Enter<C>) -> Self
    where
        C: OperationContext<Error = Problem> + Send + Sync + 'static,
        O: Operation<C>,
    {
        let enter_for_tool = enter.clone();
        Self {
            spec: O::SPEC,
            arguments: |generator| O::Arguments::json_schema(generator),
            room: || Bounds::get_for_type::<O::Arguments>().room(),
            answer: |generator| O::Answer::json_schema(generator),
            call: Arc::new(move |memory, arguments| {
                let enter = enter.clone();
                Box::pin(async move {
                    let done = execute::<C, O>(memory, enter, O::SPEC.name, arguments).await?;
                    encode_answer(&done.0, &done.1)
                })
            }),
            call_tool: Arc::new(move |memory, arguments| {
                let enter = enter_for_tool.clone();
                Box::pin(execute_for_agent::<C, O>(memory, enter, arguments))
            }),
        }
    }

    /// The schema of its arguments, with the bounds of each. What it refers to is the generator's
    /// to bound.
    pub fn arguments_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = (self.arguments)(generator);
        add_missing_bounds(&mut schema);
        schema
    }

    /// The schema of its arguments as their kinds describe it, and no more.
    #[cfg(test)]
    pub(crate) fn raw_arguments_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.arguments)(generator)
    }

    /// How much JSON its arguments may be.
    #[must_use]
    pub fn room(&self) -> Room {
        (self.room)()
    }

    /// The schema of its answer.
    pub fn answer_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.answer)(generator)
    }
}

/// Runs an operation with its own types, as every face does. Returns its answer, and what was taken
/// out of what it was given.
pub async fn run<O: Operation>(
    memory: &Memory,
    arguments: &O::Arguments,
) -> Result<(O::Answer, Vec<Redaction>), Problem> {
    let arguments = match serde_json::to_value(arguments).map_err(Problem::invalid)? {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    let enter = |memory: Memory| memory;
    execute::<Memory, O>(memory.clone(), enter, O::SPEC.name, arguments).await
}

async fn execute<C, O>(
    memory: Memory,
    enter: impl Enter<C>,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<(O::Answer, Vec<Redaction>), Problem>
where
    C: OperationContext<Error = Problem> + Send + Sync,
    O: Operation<C>,
{
    if O::SPEC.callers == Callers::Machine {
        memory.refuse_remote_callers()?;
    }
    // First of all: what is too much is neither looked through nor copied.
    let bounds = Bounds::get_for_type::<O::Arguments>();
    arguments::check_bounds(name, &bounds, &arguments)?;
    let keeps = O::SPEC.effect != Effect::Reads;
    let is_named = keeps && memory.request_key().is_some();
    let Admitted {
        mut arguments,
        redacted,
        contents,
    } = gate::redact_secrets(O::SPEC, &bounds, is_named, arguments).await?;
    if let Some(session) = bounds.find_session(&mut arguments) {
        memory.resolve_session(session).await?;
    }
    let given = arguments::parse_arguments(name, arguments)?;
    if O::effect(&given) == Effect::Reads {
        let answer = O::run(&enter(memory), given).await?;
        return Ok((answer, redacted));
    }
    let request = memory.claim_request(contents)?;
    match O::run(&enter(request.memory.clone()), given).await {
        Ok(answer) => Ok((answer, redacted)),
        Err(problem) => {
            request.release();
            Err(problem)
        }
    }
}

async fn execute_for_agent<C, O>(
    memory: Memory,
    enter: impl Enter<C>,
    mut arguments: Map<String, Value>,
) -> Result<ToolAnswer, Problem>
where
    C: OperationContext<Error = Problem> + Send + Sync,
    O: Operation<C>,
{
    let (name, presets) = O::SPEC
        .tool
        .map_or((O::SPEC.name, "{}"), |tool| (tool.name, tool.presets));
    let presets: Map<String, Value> = serde_json::from_str(presets).map_err(encoding_problem)?;
    for (name, value) in presets {
        arguments.entry(name).or_insert(value);
    }
    let memory = memory.with_agent_caller();
    let (answer, redacted) = execute::<C, O>(memory, enter, name, arguments).await?;
    let mut text = O::render_text(&answer).into_owned();
    if !redacted.is_empty() {
        text = [text.as_str(), &describe_redactions(&redacted)].join("\n");
    }
    let json = encode_answer(&answer, &redacted)?;
    Ok(ToolAnswer {
        text,
        structured: serde_json::from_slice(&json).map_err(encoding_problem)?,
    })
}

/// The operations that the faces show. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Catalogue(Arc<[CatalogueEntry]>);

impl Catalogue {
    /// A catalogue of these entries, in the order in which they are shown.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = CatalogueEntry>) -> Self {
        Self(entries.into_iter().collect())
    }

    /// Adds operations behind these: what a program offers besides a memory's own.
    #[must_use]
    pub fn with_operations(&self, added: impl IntoIterator<Item = CatalogueEntry>) -> Self {
        Self::new(self.entries().cloned().chain(added))
    }

    /// Every entry.
    pub fn entries(&self) -> impl Iterator<Item = &CatalogueEntry> {
        self.0.iter()
    }

    /// How much JSON the arguments of any tool may be.
    pub fn largest_tool_room(&self) -> Room {
        let tools = self.entries().filter(|entry| entry.spec.tool.is_some());
        tools
            .map(CatalogueEntry::room)
            .fold(Room::default(), Room::max_with)
    }

    /// The operation of this name.
    #[must_use]
    pub fn find_operation(&self, name: &str) -> Option<&CatalogueEntry> {
        self.entries().find(|entry| entry.spec.name == name)
    }

    /// The tool of this name or alias.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<&CatalogueEntry> {
        self.entries().find(|entry| {
            let tool = entry.spec.tool.as_ref();
            tool.is_some_and(|tool| tool.name == name || tool.aliases.contains(&name))
        })
    }
}
