//! `reprise learn`, `related`, `link`, `show`, `edit`, `delete`, `tags`: the tools of an agent,
//! typed.

use std::io::Write;

use anyhow::{Context as _, bail};
use reprise_agent::MemoryService;
use reprise_operations::{Catalogue, Memories, ToolAnswer};
use reprise_server::Call;
use reprise_types::{SystemClock, UserId, unframed};
use serde_json::{Map, Value, json};

use super::daemon::Daemon;
use super::{Context, host, serve};
use crate::args::{
    self, EditArguments, LearnArguments, LinkArguments, NamedArguments, RelatedArguments,
    TagsArguments, WhoseArguments,
};
use crate::exit::Exit;

pub(super) fn learn(context: &Context, arguments: &LearnArguments) -> anyhow::Result<Exit> {
    if let [word] = arguments.text.as_slice()
        && let Some(command) = args::slip_of_learn(word)
    {
        bail!(
            "`learn {word}` is no command; `learn {command}` is one, and `learn --content {word}` \
             keeps the word itself"
        );
    }
    let lesson = serde_json::to_value(arguments.lesson())?;
    run(context, &arguments.whose, "learn", lesson)
}

pub(super) fn related(context: &Context, arguments: &RelatedArguments) -> anyhow::Result<Exit> {
    let what = json!({ "id": arguments.named.id, "depth": arguments.depth });
    run(context, &arguments.named.whose, "related", what)
}

pub(super) fn link(context: &Context, arguments: &LinkArguments) -> anyhow::Result<Exit> {
    let LinkArguments {
        from,
        to,
        relation,
        whose,
    } = arguments;
    let what = json!({ "from_id": from, "to_id": to, "relation": relation });
    run(context, whose, "link", what)
}

pub(super) fn show(context: &Context, arguments: &NamedArguments) -> anyhow::Result<Exit> {
    let what = json!({ "id": arguments.id });
    run(context, &arguments.whose, "get", what)
}

pub(super) fn edit(context: &Context, arguments: &EditArguments) -> anyhow::Result<Exit> {
    let mut what = serde_json::to_value(arguments.lesson.lesson())?;
    what["id"] = json!(arguments.named.id);
    run(context, &arguments.named.whose, "update", what)
}

pub(super) fn delete(context: &Context, arguments: &NamedArguments) -> anyhow::Result<Exit> {
    let what = json!({ "id": arguments.id, "reason": "asked for on the command line" });
    run(context, &arguments.whose, "delete", what)
}

pub(super) fn tags(context: &Context, arguments: &TagsArguments) -> anyhow::Result<Exit> {
    if let Some([from, into]) = arguments.merge.as_deref() {
        let what = json!({ "from": from, "into": into });
        return run(context, &arguments.whose, "merge_tags", what);
    }
    run(
        context,
        &arguments.whose,
        "tags",
        json!({ "review": arguments.review }),
    )
}

fn run(
    context: &Context,
    whose: &WhoseArguments,
    tool: &str,
    arguments: Value,
) -> anyhow::Result<Exit> {
    let answer = match Daemon::running(context)? {
        Some(daemon) => {
            let path = Call::path_of(&whose.user, &["tools", tool]);
            daemon.ask(&Call::post(path, &arguments))?
        }
        None => by_file(context, &whose.user, tool, arguments)?,
    };
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(out, "{}", answer.structured)?;
    } else {
        writeln!(out, "{}", unframed(&answer.text))?;
    }
    Ok(Exit::Success)
}

/// The same tool in this process, under the file's lock.
fn by_file(
    context: &Context,
    user: &UserId,
    tool: &str,
    arguments: Value,
) -> anyhow::Result<ToolAnswer> {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    let is_new = matches!(tool, "learn" | "update");
    host::runtime()?.block_on(async {
        let mut config = serve::config(context)?;
        // Only what is new needs a vector; the model is not even looked for otherwise.
        config.pool.opens_at_once = is_new;
        let service = MemoryService::start(config, None).await?;
        let memories = Memories::new(service, std::sync::Arc::new(SystemClock));
        let memories = memories.with_tags(context.config.tag_rules());
        let catalogue = Catalogue::default();
        let tool = catalogue.tool(tool).context("there is no such tool")?;
        let memory = memories.of(user).on_machine();
        let answer = tool.call_tool(memory, arguments).await;
        memories.shut_down().await;
        Ok(answer?)
    })
}
