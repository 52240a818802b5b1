//! Which project a command means: by its whole name, by what that begins or ends with, or by a
//! folder of it.

use reprise_knowledge::{Project, TooFar, Walks};
use reprise_operations::Filter;
use reprise_operations::operations::list::{self, List};
use reprise_operations::operations::tags::{self, Tags};

use crate::cli::prelude::*;

/// Where it is remembered how far back repositories were walked, in the data directory.
const WALKS: &str = "projects.json";
const WALKS_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Commits that a command walks back over at most, in a repository without a remote ...
pub(super) const COMMITS_MAX: usize = 200_000;
/// ... and a hook, for which an agent waits: the next one goes on where it ended.
pub(super) const HOOK_COMMITS_MAX: usize = 4_000;

/// The project of a folder, walking back over at most so many commits; `None` outside of any
/// repository.
pub(super) fn of(
    context: &Context,
    folder: &Path,
    commits: usize,
) -> Option<Result<Project, TooFar>> {
    let own = own(context);
    let kept = Folder::find_own(&own).ok().flatten();
    let kept = kept.and_then(|own| own.read_text(WALKS, WALKS_BYTES_MAX).ok().flatten());
    let kept = kept.and_then(|text| serde_json::from_str(&text).ok());
    let before: Walks = kept.unwrap_or_default();
    let mut walks = before.clone();
    let found = Project::within(folder, commits, &mut walks);
    if walks != before {
        let written = serde_json::to_vec(&walks).map_err(anyhow::Error::new);
        let written = written.and_then(|text| Ok(Folder::make_own(&own)?.replace(WALKS, &text)?));
        if let Err(error) = written {
            tracing::debug!(%error, "what was walked is not remembered");
        }
    }
    found
}

fn own(context: &Context) -> PathBuf {
    match &context.remote {
        None => context.places.own(),
        Some(_) => context.places.state.clone(),
    }
}

/// The folder of what this machine knows of itself, made where it is missing.
pub(super) fn own_folder(context: &Context) -> anyhow::Result<Folder> {
    Ok(Folder::make_own(&own(context))?)
}

/// What the tag of a project begins with.
const TAG: &str = "project:";

/// The whole name of what was typed, said where that is another. A folder begins with `.` or `/`; a
/// name that no record has may be a project's last part, and else stays as it is.
pub(super) fn named(
    context: &Context,
    session: &Session,
    typed: Option<&str>,
) -> anyhow::Result<Option<String>> {
    let Some(typed) = typed else {
        return Ok(None);
    };
    let name = if is_folder(typed) {
        of_folder(context, typed)?
    } else {
        of_word(session, typed)?
    };
    if name != typed {
        tell!("project `{name}` is meant");
    }
    Ok(Some(name))
}

/// The same for what cannot be taken back: a part of a name is refused.
pub(super) fn whole(
    context: &Context,
    session: &Session,
    typed: Option<&str>,
) -> anyhow::Result<Option<String>> {
    if let Some(typed) = typed.filter(|typed| !is_folder(typed)) {
        let name = of_word(session, typed)?;
        if name != typed {
            bail!("no record is of a project `{typed}`; name the whole of `{name}` to forget it");
        }
    }
    named(context, session, typed)
}

fn is_folder(typed: &str) -> bool {
    typed.starts_with(['.', '/'])
}

fn of_folder(context: &Context, typed: &str) -> anyhow::Result<String> {
    let folder = Path::new(typed);
    if !folder.is_dir() {
        bail!("there is no folder `{typed}`; name a folder of the project, or the project");
    }
    let found = of(context, folder, COMMITS_MAX).with_context(|| {
        format!("`{typed}` belongs to no repository; name the project as `reprise tags` lists it")
    })?;
    Ok(found
        .with_context(|| format!("`{typed}` has no name"))?
        .name()
        .to_owned())
}

fn of_word(session: &Session, typed: &str) -> anyhow::Result<String> {
    let used = session.call::<Tags>(tags::TagsArguments::default())?;
    let tagged = used.tags.iter();
    let tagged = tagged.filter_map(|one| one.tag.strip_prefix(TAG));
    let names: BTreeSet<&str> = tagged
        .chain(used.projects.iter().map(String::as_str))
        .collect();
    let word = typed.to_lowercase();
    let meant = names.into_iter();
    let meant: Vec<&str> = meant.filter(|name| is_short_for(&word, name)).collect();
    if meant.is_empty() || has_records(session, typed)? {
        return Ok(typed.to_owned());
    }
    match meant.as_slice() {
        [name] => Ok((*name).to_owned()),
        several => {
            let several: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            let several = several.join(" or ");
            bail!("`{typed}` may be {several}; name the one that is meant")
        }
    }
}

fn has_records(session: &Session, project: &str) -> anyhow::Result<bool> {
    let own = list::Arguments {
        filter: Filter {
            project: Some(project.to_owned()),
            ..Filter::default()
        },
        limit: Some(1),
        brief: true,
        ..list::Arguments::default()
    };
    Ok(session.call::<List>(own)?.considered > 0)
}

/// `api` is short for `github.com/acme/api` and for `api-1f2e3d4c`.
fn is_short_for(word: &str, name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let local = name.rsplit_once('-').filter(|(_, seed)| {
        let is_hex = seed.chars().all(|c| c.is_ascii_hexdigit());
        is_hex && seed.len() == 8
    });
    last == word || local.is_some_and(|(before, _)| before == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_the_last_part_of_a_whole_one() {
        for (word, name, expected) in [
            ("api", "github.com/acme/api", true),
            ("api", "api-1f2e3d4c", true),
            ("api", "api-gateway", false),
            ("api", "github.com/api/shop", false),
            ("my-api", "my-api-1f2e3d4c", true),
        ] {
            assert_eq!(is_short_for(word, name), expected, "{word} {name}");
        }
    }
}
