//! Resolves the project that a command means: by its full name, by a part of it, or by a folder.

use clap::Args;
use reprise_knowledge::{HistoryTooLongError, HistoryWalkCache, Project, name_plain_folder};
use reprise_operations::operations::lessons::Learn;
use reprise_operations::operations::sessions::pausing::{Pause, Resume};
use reprise_operations::operations::tags::{Tags, TagsArguments, find_meant_project};
use reprise_server::{ProjectNaming, names_project};

use crate::args::{OperationArguments, OperationRunner};
use crate::cli::prelude::*;

/// File in the data directory that saves how far back repositories were walked.
const WALKS: &str = "projects.json";
const WALKS_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Most commits that a command walks back in a repository without a remote.
pub(super) const COMMITS_MAX: usize = 200_000;
/// Most commits that a hook walks back, because an agent waits; the next hook continues there.
pub(super) const HOOK_COMMITS_MAX: usize = 4_000;

/// Finds the project of a folder, walking back at most `commits` commits; `None` outside a
/// repository.
pub(super) fn find_project(
    context: &Context,
    folder: &Path,
    commits: usize,
) -> Option<Result<Project, HistoryTooLongError>> {
    let own = own_files_path(context);
    let kept = Folder::find_no_follow(&own).ok().flatten();
    let kept = kept.and_then(|own| own.read_text(WALKS, WALKS_BYTES_MAX).ok().flatten());
    let kept = kept.and_then(|text| serde_json::from_str(&text).ok());
    let before: HistoryWalkCache = kept.unwrap_or_default();
    let mut walks = before.clone();
    let found = Project::find_within_commits(folder, commits, &mut walks);
    if walks != before {
        let written = serde_json::to_vec(&walks).map_err(anyhow::Error::new);
        let written = written
            .and_then(|text| Ok(Folder::open_or_create_no_follow(&own)?.replace(WALKS, &text)?));
        if let Err(error) = written {
            tracing::debug!(%error, "what was walked is not remembered");
        }
    }
    found
}

/// Returns the name of the project that a folder belongs to, walking back at most `commits`
/// commits; it is empty for the root of all folders.
pub(super) fn name_folder_within(
    context: &Context,
    folder: &Path,
    commits: usize,
) -> Result<String, HistoryTooLongError> {
    match find_project(context, folder, commits) {
        Some(found) => Ok(found?.name().to_owned()),
        None => Ok(name_plain_folder(folder).unwrap_or_default()),
    }
}

fn own_files_path(context: &Context) -> PathBuf {
    match &context.remote {
        None => context.places.own_folder(),
        Some(_) => context.places.state.clone(),
    }
}

/// Opens the folder of this machine's own files, and creates it if it is missing.
pub(super) fn own_folder(context: &Context) -> anyhow::Result<Folder> {
    Ok(Folder::open_or_create_no_follow(&own_files_path(context))?)
}

/// Resolves a typed project to its full name, and prints a name that differs. A folder begins with
/// `.` or `/`; a name without records may be a project's last part, otherwise it stays as it is.
pub(super) fn resolve_project_name(
    context: &Context,
    session: &Session,
    typed: Option<&str>,
) -> anyhow::Result<Option<String>> {
    let Some(typed) = typed else {
        return Ok(None);
    };
    let name = if is_folder_name(typed) {
        project_name_of_folder(context, typed)?
    } else {
        find_full_name(session, typed)?
    };
    if !name.eq_ignore_ascii_case(typed) {
        tell!("using project `{name}`");
    }
    Ok(Some(name))
}

/// Resolves the project of a request that cannot be undone: a short name is refused.
pub(super) fn resolve_full_name(
    context: &Context,
    session: &Session,
    typed: Option<&str>,
) -> anyhow::Result<Option<String>> {
    if let Some(typed) = typed.filter(|typed| !is_folder_name(typed)) {
        let name = find_full_name(session, typed)?;
        if !name.eq_ignore_ascii_case(typed) {
            bail!(
                "no memory belongs to a project `{typed}`; write the full name `{name}` to \
                forget it"
            );
        }
    }
    resolve_project_name(context, session, typed)
}

/// Returns whether a project is named by a folder.
pub(super) fn is_folder_name(typed: &str) -> bool {
    typed.starts_with(['.', '/'])
}

/// Returns the name of the project that a folder belongs to, as hooks name it.
pub(super) fn project_name_of_folder(context: &Context, typed: &str) -> anyhow::Result<String> {
    let folder = Path::new(typed);
    if !folder.is_dir() {
        bail!("there is no folder `{typed}`; name a folder of the project, or the project");
    }
    match find_project(context, folder, COMMITS_MAX) {
        Some(found) => Ok(found
            .with_context(|| format!("`{typed}` has no name"))?
            .name()
            .to_owned()),
        // Outside of any repository it is the folder itself, by its whole path.
        None => name_plain_folder(&fs_err::canonicalize(folder)?)
            .with_context(|| format!("`{typed}` is no project; name a folder below it")),
    }
}

fn find_full_name(session: &Session, typed: &str) -> anyhow::Result<String> {
    let used = session.call::<Tags>(TagsArguments::default())?;
    let found = find_meant_project(typed, &used.project_names())?;
    Ok(found.unwrap_or_else(|| typed.to_owned()))
}

/// Returns the project of the repository around the current folder; `None` outside of any. That
/// its first commit was not reached is noted.
pub(super) fn find_own_repository(context: &Context) -> Option<String> {
    let folder = std::env::current_dir().ok()?;
    let found = find_project(context, &folder, COMMITS_MAX)?;
    let found = found.inspect_err(|error| tracing::warn!(%error, "this folder has no project"));
    Some(found.ok()?.name().to_owned())
}

/// Resolves the project of a new memory: the folder that was typed, else the repository around the
/// current folder, unless its tags name one.
pub(super) fn resolve_project_of_lesson(
    context: &Context,
    typed: Option<String>,
    tags: &[String],
) -> anyhow::Result<Option<String>> {
    match typed {
        Some(typed) if is_folder_name(&typed) => project_name_of_folder(context, &typed).map(Some),
        Some(typed) => Ok(Some(typed)),
        None if tags.iter().any(|tag| tag.trim().starts_with("project:")) => Ok(None),
        None => Ok(find_own_repository(context)),
    }
}

/// Names the project of a call by its folder, if one was typed; a lesson that names no project is
/// of the repository around the current folder, as with `learn` and over MCP.
pub(super) fn name_project_of_call(
    context: &Context,
    operation: &str,
    mut given: Map<String, Value>,
) -> anyhow::Result<Map<String, Value>> {
    let typed = given.get("project").and_then(Value::as_str);
    let name = match typed.filter(|typed| is_folder_name(typed)) {
        Some(folder) => Some(project_name_of_folder(context, folder)?),
        None if operation == <Learn as Operation>::SPEC.name && !names_project(&given) => {
            find_own_repository(context)
        }
        None => None,
    };
    if let Some(name) = name {
        given.insert("project".to_owned(), name.into());
    }
    Ok(given)
}

/// Names the projects of the folders in which the client of `reprise mcp` works.
#[derive(Debug)]
pub(super) struct McpFolders(pub(super) Context);

impl ProjectNaming for McpFolders {
    fn name_folder(&self, folder: &str) -> Result<String, String> {
        let home = folder.strip_prefix("~/");
        let below = home.and_then(|rest| Some(crate::env::home_folder().ok()?.join(rest)));
        let path = below.as_ref().map(|path| path.to_string_lossy());
        let named = project_name_of_folder(&self.0, path.as_deref().unwrap_or(folder));
        named.map_err(|error| error.to_string())
    }

    fn find_own_repository(&self) -> Option<String> {
        find_own_repository(&self.0)
    }
}

/// Runs an operation on the project of the folder that was typed, which it could not see itself.
pub(super) struct FolderRunner<'a>(pub(super) &'a Context);

impl OperationRunner for FolderRunner<'_> {
    type Done = anyhow::Result<Exit>;

    fn run_operation<O>(&self, asked: OperationArguments<O::Arguments>) -> anyhow::Result<Exit>
    where
        O: Operation<Arguments: Args>,
    {
        let mut given = serde_json::to_value(&asked.asked)?;
        let typed = given["project"].as_str();
        let folder = typed.filter(|typed| is_folder_name(typed));
        let found = folder.map(|folder| project_name_of_folder(self.0, folder));
        if let Some(name) = found.transpose()? {
            tell!("using project `{name}`");
            given["project"] = name.into();
            if O::SPEC.name == <Pause as Operation>::SPEC.name {
                // The folder is there, even if no memory is of it yet.
                given["new"] = true.into();
            }
        }
        if O::SPEC.name == <Resume as Operation>::SPEC.name {
            given["here"] = find_own_repository(self.0).into();
        }
        output::run::<O>(self.0, &asked.whose, serde_json::from_value(given)?)
    }
}
