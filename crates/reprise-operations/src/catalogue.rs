//! What an operation is, and the catalogue that every face reads: routes, descriptions, tools and
//! schemas are derived from it.
//!
//! # How to add an operation
//!
//! 1. Into the file of its noun (`operations/records.rs`, `links.rs`, ...) write what it answers,
//!    and `operation!` with its [`Spec`], its arguments (where they are typed, `clap::Args`; the
//!    comments of the fields are what callers read) and what it does. `operations/care.rs` begins
//!    with the shortest.
//! 2. Add `Entry::of::<NOUN::Name>()` to `operations.rs`; to type it, `Ask<NameArguments>` to the
//!    commands of the binary.
//!
//! It is then served as `POST /v1/users/{user}/NAME` (or where its `routes` say), described in
//! `/openapi.json`, and run by `reprise call NAME`. `.tool(..)` makes it a tool of MCP in the
//! profiles from the one given on: what agents pay for in every session, so say little.
//!
//! - In process: `run::<Name>(&memories.of(user), &arguments).await`, which takes secrets out
//!   first. From another process: the client of `reprise-server`, with the same types.
//! - Words are those of `wire/filter.rs` and its neighbours: `query`, `text`, `limit`, `kind`,
//!   `tag`, `session`, `since`, `until`, `max_tokens`. A former name stays as a serde alias.
//! - What several operations need of memory stands in `memories/`, not in another operation.
//! - A problem is one sentence: what happened, to what, what to do next.

mod arguments;
mod gate;

use std::pin::Pin;
use std::str::FromStr;

use crate::bounds::{Room, bound};
use crate::prelude::*;

pub use arguments::from_pairs;
use gate::unwritable;
pub use gate::{Ran, taken_out};

/// Something that can be asked of one user's memory.
pub trait Operation: 'static {
    /// How the faces show it.
    const SPEC: Spec;
    /// What it is given: a JSON object.
    type Arguments: DeserializeOwned + Serialize + JsonSchema + Send + 'static;
    /// What it answers: a JSON object.
    type Answer: DeserializeOwned + Serialize + JsonSchema + Send;

    /// Does it.
    fn run(
        memory: &Memory,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Answer, Problem>> + Send;

    /// What it does to memory with these arguments: a dry run only reads.
    fn effect(_arguments: &Self::Arguments) -> Effect {
        Self::SPEC.effect
    }

    /// The answer as an agent or a person reads it; the JSON where nothing shorter says it.
    fn text(answer: &Self::Answer) -> Cow<'_, str> {
        serde_json::to_string(answer).unwrap_or_default().into()
    }
}

/// One operation: its [`Spec`]; its name with what it is given, a struct of its own or one that
/// others have too; its answer, and how it is done. Whatever else of [`Operation`] it says itself
/// comes last.
macro_rules! operation {
    (
        $spec:expr;
        $(#[$($attribute:tt)*])*
        $name:ident($memory:tt, $given:tt: $arguments:ident { $($fields:tt)* }) -> $answer:ty
        $run:block
        $($more:tt)*
    ) => {
        #[serde_with::apply(bool => #[serde(default, skip_serializing_if = "std::ops::Not::not")])]
        #[skip_serializing_none]
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$($attribute)*])*
        pub struct $arguments {
            $($fields)*
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
    /// Whoever may open the user's memory.
    Admitted,
    /// Programs of this machine: through the socket or in process.
    Machine,
}

/// The method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It reads.
    Get,
    /// It does something.
    Post,
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
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether arguments come in a body; else they stand in the query string.
    #[must_use]
    pub fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Patch)
    }
}

/// Where HTTP serves an operation. `{user}` in the path is whose memory it is; a path without it
/// leaves that to the request's token or header. Other names in braces are arguments.
pub type Route = (Method, &'static str);

/// Which tools a client of MCP sees: each costs its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Profile {
    /// What memory is useless without.
    Lean,
    /// What most agents need.
    #[default]
    Default,
    /// All of memory, with aliases, rare arguments and administration.
    Full,
    /// What most agents need, and a governed workspace.
    Workspace,
}

impl Profile {
    /// Whether a client with this profile sees what is shown from `least` on.
    #[must_use]
    pub fn shows(self, least: Self) -> bool {
        match (self, least) {
            (Self::Workspace, Self::Full) => false,
            (_, least) => least <= self,
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "lean" => Ok(Self::Lean),
            "default" => Ok(Self::Default),
            "full" => Ok(Self::Full),
            "workspace" => Ok(Self::Workspace),
            _ => Err("the profiles are lean, default, full and workspace".to_owned()),
        }
    }
}

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
    /// One line for whoever chooses between operations.
    pub summary: &'static str,
    /// What it may do to memory.
    pub effect: Effect,
    /// Who may ask for it.
    pub callers: Callers,
    /// Where HTTP serves it; empty for `POST /v1/users/{user}/NAME`.
    pub routes: &'static [Route],
    /// Its form for agents, if it is one of their tools.
    pub tool: Option<Tool>,
    /// The argument that a bare body stands for: a list or one object of it, or a line each.
    pub bare_body: Option<&'static str>,
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
        }
    }

    /// An operation that changes nothing.
    #[must_use]
    pub const fn reads(name: &'static str, summary: &'static str) -> Self {
        Self::new(name, Effect::Reads, summary)
    }

    /// One that adds and takes nothing away.
    #[must_use]
    pub const fn adds(name: &'static str, summary: &'static str) -> Self {
        Self::new(name, Effect::Adds, summary)
    }

    /// One that takes something away.
    #[must_use]
    pub const fn destroys(name: &'static str, summary: &'static str) -> Self {
        Self::new(name, Effect::Destroys, summary)
    }

    /// The same for programs of this machine only.
    #[must_use]
    pub const fn for_machine(self) -> Self {
        let callers = Callers::Machine;
        Self { callers, ..self }
    }

    /// The same at these routes.
    #[must_use]
    pub const fn at(self, routes: &'static [Route]) -> Self {
        Self { routes, ..self }
    }

    /// The same as a tool of this name, from this profile on.
    #[must_use]
    pub const fn tool(self, name: &'static str, profile: Profile) -> Self {
        let tool = Some(Tool {
            name,
            aliases: &[],
            profile,
            presets: "{}",
        });
        Self { tool, ..self }
    }

    /// The same tool under other names too.
    #[must_use]
    pub const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        if let Some(tool) = &mut self.tool {
            tool.aliases = aliases;
        }
        self
    }

    /// The same tool with arguments, as a JSON object, for where an agent does not say.
    #[must_use]
    pub const fn presetting(mut self, presets: &'static str) -> Self {
        if let Some(tool) = &mut self.tool {
            tool.presets = presets;
        }
        self
    }

    /// The same, taking a bare list or object in a body for this argument.
    #[must_use]
    pub const fn body_of(self, argument: &'static str) -> Self {
        let bare_body = Some(argument);
        Self { bare_body, ..self }
    }

    /// Where HTTP serves it: method and path, the first of them its own.
    #[must_use]
    pub fn paths(&self) -> Vec<(Method, String)> {
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

type Running<T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send>>;

/// One operation of a catalogue, its types forgotten.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// How the faces show it.
    pub spec: Spec,
    arguments: fn(&mut SchemaGenerator) -> Schema,
    room: fn() -> Room,
    answer: fn(&mut SchemaGenerator) -> Schema,
    call: fn(Memory, Map<String, Value>) -> Running<Vec<u8>>,
    tool: fn(Memory, Map<String, Value>) -> Running<ToolAnswer>,
}

impl Entry {
    /// The entry of an operation.
    #[must_use]
    pub const fn of<O: Operation>() -> Self {
        Self {
            spec: O::SPEC,
            arguments: |generator| O::Arguments::json_schema(generator),
            room: || Bounds::of::<O::Arguments>().room(),
            answer: |generator| O::Answer::json_schema(generator),
            call: |memory, arguments| {
                Box::pin(async move { ran::<O>(&memory, O::SPEC.name, arguments).await?.json() })
            },
            tool: |memory, arguments| Box::pin(told::<O>(memory, arguments)),
        }
    }

    /// The schema of its arguments, with the bounds of each. What it refers to is the generator's
    /// to bound.
    pub fn arguments_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = (self.arguments)(generator);
        bound(&mut schema);
        schema
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

    /// Runs it; the answer is JSON.
    pub async fn call(
        &self,
        memory: Memory,
        arguments: Map<String, Value>,
    ) -> Result<Vec<u8>, Problem> {
        (self.call)(memory, arguments).await
    }

    /// Runs it for an agent.
    pub async fn call_tool(
        &self,
        memory: Memory,
        mut arguments: Map<String, Value>,
    ) -> Result<ToolAnswer, Problem> {
        let presets = self.spec.tool.map_or("{}", |tool| tool.presets);
        let presets: Map<String, Value> = serde_json::from_str(presets).map_err(unwritable)?;
        for (name, value) in presets {
            arguments.entry(name).or_insert(value);
        }
        (self.tool)(memory, arguments).await
    }
}

/// Runs an operation with its own types, as every face does.
pub async fn run<O: Operation>(
    memory: &Memory,
    arguments: &O::Arguments,
) -> Result<Ran<O::Answer>, Problem> {
    let arguments = match serde_json::to_value(arguments).map_err(Problem::invalid)? {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    ran::<O>(memory, O::SPEC.name, arguments).await
}

async fn ran<O: Operation>(
    memory: &Memory,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<Ran<O::Answer>, Problem> {
    if O::SPEC.callers == Callers::Machine {
        memory.refuse_strangers()?;
    }
    // First of all: what is too much is neither looked through nor copied.
    arguments::check::<O::Arguments>(name, &arguments)?;
    let keeps = O::SPEC.effect != Effect::Reads;
    let (arguments, redacted) = gate::take_out(O::SPEC.name, keeps, arguments).await?;
    let answer = O::run(memory, arguments::read(name, arguments)?).await?;
    Ok(Ran { answer, redacted })
}

async fn told<O: Operation>(
    memory: Memory,
    arguments: Map<String, Value>,
) -> Result<ToolAnswer, Problem> {
    let name = O::SPEC.tool.map_or(O::SPEC.name, |tool| tool.name);
    let ran = ran::<O>(&memory.for_agent(), name, arguments).await?;
    let mut text = O::text(&ran.answer).into_owned();
    if !ran.redacted.is_empty() {
        text = [text.as_str(), &taken_out(&ran.redacted)].join("\n");
    }
    Ok(ToolAnswer {
        text,
        structured: serde_json::from_slice(&ran.json()?).map_err(unwritable)?,
    })
}

/// The operations that the faces show. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Catalogue(Arc<[Entry]>);

impl Catalogue {
    /// A catalogue of these entries, in the order in which they are shown.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        Self(entries.into_iter().collect())
    }

    /// Every entry.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    /// How much JSON the arguments of any tool may be.
    pub fn tools_room(&self) -> Room {
        let tools = self.entries().filter(|entry| entry.spec.tool.is_some());
        tools.map(Entry::room).fold(Room::default(), Room::or)
    }

    /// The operation of this name.
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<&Entry> {
        self.entries().find(|entry| entry.spec.name == name)
    }

    /// The tool of this name or alias.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Entry> {
        self.entries().find(|entry| {
            let tool = entry.spec.tool.as_ref();
            tool.is_some_and(|tool| tool.name == name || tool.aliases.contains(&name))
        })
    }
}
