//! `reprise models`: install, add, choose, list, verify, remove.

use reprise_embed::{AddSource, AddedModel, FileState, PullRequest};

use super::endpoint;
use crate::args::ModelsCommand;
use crate::cli::prelude::*;
use crate::config::{self, ModelName};

/// The model that is known by its name alone.
const MULTILINGUAL: &str = "multilingual-e5-small";

pub(super) fn run(context: &Context, command: &ModelsCommand) -> anyhow::Result<Exit> {
    match command {
        ModelsCommand::Pull { from } => {
            let request = PullRequest {
                from: from.clone(),
                retry_library: true,
                variants: vec![match &context.config.memory.model {
                    ModelName::BuiltIn(variant) => *variant,
                    ModelName::Added(_) | ModelName::Endpoint(_) => Variant::default(),
                }],
                ..PullRequest::default()
            };
            model::pull(context, &request)?;
            list(context)
        }
        ModelsCommand::List => list(context),
        ModelsCommand::Add {
            model,
            name,
            f32,
            width,
            from,
        } => {
            if let Some(setting) = model.to_str().filter(|name| is_endpoint(name)) {
                return add_endpoint(context, setting);
            }
            let form = if *f32 { Variant::F32 } else { Variant::Int8 };
            let source = source(model, name.as_deref(), *width, from.as_deref())?;
            let added =
                model::shown(|progress| model::models(context).add(&source, form, progress))?;
            output::print(context, &added, |_| list(context).map(drop))?;
            let name = added.name;
            tell!("`reprise models use {name}` puts it to use");
            Ok(Exit::Success)
        }
        ModelsCommand::Use { name, user } => choose(context, name, user.as_ref()),
        ModelsCommand::Remove { name } => {
            let store = model::models(context);
            anyhow::ensure!(
                !context.config.uses(name),
                "`{name}` is in use; run `reprise models use int8` first"
            );
            anyhow::ensure!(
                store.remove(name)?,
                "no model `{name}` was added; `reprise models list` says which were"
            );
            list(context)
        }
        ModelsCommand::Verify => {
            let store = model::models(context);
            for added in store.added() {
                store.verify_added(&added)?;
            }
            if store.installed().is_some() || store.added().is_empty() {
                store.verify()?;
            }
            let line = "every file has its pinned hash, and the model embeds as it should";
            output::line(context, &json!({ "verified": true }), line)
        }
    }
}

fn list(context: &Context) -> anyhow::Result<Exit> {
    let store = model::models(context);
    if !context.json {
        let dir = terminal::title(store.dir().display());
        writeln!(crate::printer::stdout(), "{dir}")?;
    }
    output::list(context, &store.list(), |file| {
        let state = match file.state {
            FileState::Installed => "installed",
            FileState::Missing => "missing",
            FileState::Damaged => "damaged: run `reprise models pull`",
        };
        let size = size(file.size_bytes);
        format!("  {:<34} {:<10} {size:>9}  {state}", file.name, file.role)
    })?;
    let in_use = context.space();
    let is_used = |model: &AddedModel| in_use.as_ref() == Some(&model.space());
    let row = |model: &AddedModel| {
        let mut card = json!(model);
        card["role"] = json!("model");
        card["in_use"] = json!(is_used(model));
        card
    };
    output::rows(context, store.added(), row, |model| {
        let size = size(model.size_bytes());
        let license = model.license.as_deref().unwrap_or("licence unknown");
        let used = if is_used(model) { ", in use" } else { "" };
        let version = model.version.split('-').next().unwrap_or_default();
        format!(
            "  {:<34} {version:<10} {size:>9}  {} wide, {license}{used}; from {}",
            model.name, model.dimensions, model.origin
        )
    })
}

fn is_endpoint(name: &str) -> bool {
    matches!(ModelName::from(name.to_owned()), ModelName::Endpoint(_))
}

/// Asks an endpoint for a vector and keeps how wide it is.
fn add_endpoint(context: &Context, setting: &str) -> anyhow::Result<Exit> {
    let named = context.config.named(setting).map_err(anyhow::Error::msg)?;
    let card = endpoint::probe(context, &named).map_err(anyhow::Error::msg)?;
    let (model, width) = (&card.model, card.dimensions);
    let line = format!("`{model}` answers at {}, {width} wide", card.url);
    output::line(context, &card, line)?;
    tell!(
        "`reprise models use {setting}` puts it to use; what is kept and asked is then sent there"
    );
    Ok(Exit::Success)
}

/// What a person wants to add.
fn source(
    model: &Path,
    name: Option<&str>,
    width: Option<u16>,
    from: Option<&Path>,
) -> anyhow::Result<AddSource> {
    if model.as_os_str() == MULTILINGUAL {
        return Ok(AddSource::Multilingual(from.map(Path::to_owned)));
    }
    anyhow::ensure!(
        model.is_dir(),
        "`{}` is no folder of a model; give one that sentence-transformers wrote, or \
         `{MULTILINGUAL}`",
        model.display()
    );
    Ok(AddSource::Folder {
        path: model.to_owned(),
        name: name.map(str::to_owned),
        width,
    })
}

/// Writes the model into the configuration file, for all or for one user; its other lines stay as
/// they are.
fn choose(context: &Context, name: &str, user: Option<&UserId>) -> anyhow::Result<Exit> {
    if is_endpoint(name) {
        let named = context.config.named(name).map_err(anyhow::Error::msg)?;
        endpoint::probe(context, &named).map_err(anyhow::Error::msg)?;
        if named.leaves() {
            tell!(
                "from now on what is kept and asked is sent to {}, without secrets and without \
                 `<private>` parts",
                named.url
            );
        }
    }
    if let ModelName::Added(_) = ModelName::from(name.to_owned()) {
        anyhow::ensure!(
            model::models(context).added_as(name).is_some(),
            "no model `{name}` was added; run `reprise models add`, or give one of `reprise models \
             list`"
        );
    }
    let path = &context.places.config;
    config::edit(path, |_, document| {
        let memory = document["memory"].or_insert(toml_edit::table());
        match user {
            Some(user) => {
                let models = memory["models"].or_insert(toml_edit::table());
                models[user.as_str()] = toml_edit::value(name);
            }
            None => memory["model"] = toml_edit::value(name),
        }
        Ok(())
    })?;
    let chosen = json!({ "model": name, "user": user, "config": path });
    let whose = user.map_or_else(String::new, |user| format!(" of {user}"));
    let path = path.display();
    let line = format!("`{name}` makes the vectors{whose} from now on, says {path}");
    output::line(context, &chosen, line)?;
    note("a running daemon keeps its model until `reprise stop`");
    Ok(Exit::Success)
}
