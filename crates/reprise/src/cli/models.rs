//! `reprise doctor models`: install, add, choose, list, verify, remove.

use reprise_embed::{
    AddSource, AddedModel, FileState, InstalledModel, ModelStore, NamedModel, PullRequest,
};

use super::endpoint;
use crate::args::ModelsCommand;
use crate::cli::prelude::*;
use crate::config::{self, ModelName};

pub(super) fn run(context: &Context, command: &ModelsCommand) -> anyhow::Result<Exit> {
    match command {
        ModelsCommand::Pull { from } => {
            if let Some(from) = from {
                ensure!(from.exists(), "`{}` does not exist", from.display());
            }
            let request = PullRequest {
                from: from.clone(),
                retry_library: true,
                variants: vec![match &context.config.memory.model {
                    ModelName::BuiltIn(variant) => *variant,
                    ModelName::Added(_) | ModelName::Endpoint(_) => Variant::default(),
                }],
                ..PullRequest::default()
            };
            let installed = model::pull(context, &request)?;
            print_models(context)?;
            Ok(exit_with_library(&installed))
        }
        ModelsCommand::List => print_models(context),
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
            let store = model::models(context);
            let named = model
                .to_str()
                .and_then(|name| find_named_model(&store, name));
            if let Some(judge) = named.as_ref().filter(|named| named.is_judge) {
                return add_judge(context, &store, &judge.name, from.as_deref());
            }
            let source = to_add_source(model, named, name.as_deref(), *width, from.as_deref())?;
            let added =
                model::show_pull_progress(|progress| store.add_model(&source, form, progress))?;
            output::print(context, &added, |_| print_models(context).map(drop))?;
            let name = added.name;
            tell!("to use it, run `reprise doctor models use {name}`");
            Ok(Exit::Success)
        }
        ModelsCommand::Use { name, user } => choose_model(context, name, user.as_ref()),
        ModelsCommand::Remove { name } => {
            let store = model::models(context);
            anyhow::ensure!(
                !context.config.is_model_in_use(name),
                "`{name}` is in use; run `reprise doctor models use int8` first"
            );
            anyhow::ensure!(
                context.config.recall.reranker.as_deref() != Some(Path::new(name)),
                "`{name}` is in use; take `reranker` under [recall] out of {} first",
                context.places.config.display()
            );
            anyhow::ensure!(
                store.remove_added(name)?,
                "unknown model `{name}`; `reprise doctor models list` shows the added models"
            );
            print_models(context)
        }
        ModelsCommand::Verify => {
            let store = model::models(context);
            for added in store.list_added() {
                store.verify_added(&added)?;
            }
            store.verify_judges()?;
            let installed = store.find_installed();
            if installed.is_some() || store.list_added().is_empty() {
                store.verify_installed()?;
            }
            let line = "all model files that are here are intact, and the model works";
            output::line(context, &json!({ "verified": true }), line)?;
            Ok(installed.map_or(Exit::Success, |installed| exit_with_library(&installed)))
        }
    }
}

/// Returns that all is there, or says that ONNX Runtime is not, and why.
fn exit_with_library(installed: &InstalledModel) -> Exit {
    if installed.library().is_some() {
        return Exit::Success;
    }
    let why = installed
        .library_missing_reason()
        .unwrap_or("it was never fetched");
    tell!(
        "ONNX Runtime is not installed ({why}), so embedding works and takes longer; run `reprise \
         doctor models pull` to try again"
    );
    Exit::Refused
}

fn print_models(context: &Context) -> anyhow::Result<Exit> {
    let store = model::models(context);
    if !context.json {
        let dir = terminal::title(store.dir().display());
        writeln!(crate::printer::stdout(), "{dir}")?;
    }
    output::list(context, &store.list_files(), |file| {
        let state = match file.state {
            FileState::Installed => "installed",
            FileState::Missing => "missing",
            FileState::Damaged => "damaged: run `reprise doctor models pull`",
        };
        let size = format_size(file.size_bytes);
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
    output::rows(context, store.list_added(), row, |model| {
        let size = format_size(model.size_bytes());
        let license = model.license.as_deref().unwrap_or("licence unknown");
        let used = if is_used(model) { ", in use" } else { "" };
        let version = model.version.split('-').next().unwrap_or_default();
        format!(
            "  {:<34} {version:<10} {size:>9}  {} wide, {license}{used}; from {}",
            model.name, model.dimensions, model.origin
        )
    })?;
    // An embedding model that is installed is listed above.
    let named = store.list_named().into_iter();
    let named = named.filter(|model| model.is_judge || !model.is_installed);
    let row = |model: &NamedModel| {
        let mut row = json!(model);
        row["role"] = json!(if model.is_judge { "reranker" } else { "model" });
        row
    };
    output::rows(context, named, row, |model| {
        let NamedModel { name, license, .. } = model;
        let size = format_size(model.download_bytes);
        if model.is_installed {
            return format!("  {name:<34} reranker   {:>9}  installed, {license}", "");
        }
        let kind = if model.is_judge { "reranker" } else { "model" };
        format!(
            "  {name:<34} {kind:<10} {size:>9}  not installed, {license}; run `reprise doctor \
             models add {name}`"
        )
    })
}

fn find_named_model(store: &ModelStore, name: &str) -> Option<NamedModel> {
    let mut named = store.list_named().into_iter();
    named.find(|model| model.name == name)
}

/// Adds a cross-encoder that is known by its name.
fn add_judge(
    context: &Context,
    store: &ModelStore,
    name: &str,
    from: Option<&Path>,
) -> anyhow::Result<Exit> {
    let added = model::show_pull_progress(|progress| store.add_judge(name, from, progress))?;
    output::print(context, &added, |_| print_models(context).map(drop))?;
    tell!(
        "to use it, run `reprise doctor models use {name}`, which writes `reranker` under \
         [recall] into the configuration"
    );
    Ok(Exit::Success)
}

fn is_endpoint(name: &str) -> bool {
    matches!(ModelName::from(name.to_owned()), ModelName::Endpoint(_))
}

/// Probes an endpoint and saves the width of its vectors.
fn add_endpoint(context: &Context, setting: &str) -> anyhow::Result<Exit> {
    let named = context
        .config
        .parse_endpoint(setting)
        .map_err(anyhow::Error::msg)?;
    let card = endpoint::probe(context, &named).map_err(anyhow::Error::msg)?;
    let (model, width) = (&card.model, card.dimensions);
    let line = format!("`{model}` answers at {}, {width} wide", card.url);
    output::line(context, &card, line)?;
    tell!(
        "to use it, run `reprise doctor models use {setting}`; memories and questions are then \
         sent there"
    );
    Ok(Exit::Success)
}

/// Returns the source of the model to add.
fn to_add_source(
    model: &Path,
    named: Option<NamedModel>,
    name: Option<&str>,
    width: Option<u16>,
    from: Option<&Path>,
) -> anyhow::Result<AddSource> {
    if let Some(NamedModel { name, .. }) = named {
        let from = from.map(Path::to_owned);
        return Ok(AddSource::Named { name, from });
    }
    anyhow::ensure!(
        model.is_dir(),
        "`{}` is not a model folder; name one that sentence-transformers wrote, or a model of \
         `reprise doctor models list`",
        model.display()
    );
    Ok(AddSource::Folder {
        path: model.to_owned(),
        name: name.map(str::to_owned),
        width,
    })
}

/// Writes the model into the configuration file, for all users or for one; the other lines stay.
fn choose_model(context: &Context, name: &str, user: Option<&UserId>) -> anyhow::Result<Exit> {
    if is_endpoint(name) {
        let named = context
            .config
            .parse_endpoint(name)
            .map_err(anyhow::Error::msg)?;
        endpoint::probe(context, &named).map_err(anyhow::Error::msg)?;
        if named.leaves_machine() {
            tell!(
                "from now on memories and questions are sent to {}, without secrets and \
                 `<private>` parts",
                named.url
            );
        }
    }
    let store = model::models(context);
    let named = find_named_model(&store, name);
    let is_judge = named.as_ref().is_some_and(|named| named.is_judge);
    anyhow::ensure!(
        !is_judge || user.is_none(),
        "`{name}` ranks the results of all users; leave out --user"
    );
    anyhow::ensure!(
        !is_judge || named.is_some_and(|named| named.is_installed),
        "`{name}` is not installed; run `reprise doctor models add {name}` first"
    );
    if let (ModelName::Added(_), false) = (ModelName::from(name.to_owned()), is_judge) {
        anyhow::ensure!(
            store.find_added(name).is_some(),
            "unknown model `{name}`; add it with `reprise doctor models add`, or choose one of \
             `reprise doctor models list`"
        );
    }
    let path = &context.places.config;
    config::edit_file(path, |_, document| {
        if is_judge {
            let recall = document["recall"].or_insert(toml_edit::table());
            recall["reranker"] = toml_edit::value(name);
            return Ok(());
        }
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
    let does = if is_judge {
        "has a second look at the first results of a recall"
    } else {
        "computes embeddings"
    };
    let line = format!("`{name}` {does}{whose} from now on ({path})");
    output::line(context, &chosen, line)?;
    if !is_judge {
        note("memories get their new embeddings in the background");
    }
    note("a running daemon takes it when it starts again: stop it with `reprise serve stop`");
    Ok(Exit::Success)
}
