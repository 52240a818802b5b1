//! `reprise share trust`: repositories whose lessons appear in answers; `reprise share repository`:
//! writes a memory as such a lesson, for others to review in the diff.

use reprise_knowledge::{
    Project, SHARED_FOLDER, TrustedCheckout, read_shared_state, read_trusted_checkouts,
    trusted_list_path, write_shared_lesson,
};
use reprise_operations::operations::records::{Get, GetArguments};
use reprise_operations::{read_redacted_lessons, redact_and_list_rules};

use crate::args::{ShareRepositoryArguments, TrustArguments};
use crate::cli::prelude::*;

/// Most problems of files that are printed one by one.
const SAID_MAX: usize = 10;
/// Folder in the program's state with a file for each checkout that a hint was printed for.
const HINTED: &str = "hinted";

pub(super) fn run(context: &Context, arguments: &TrustArguments) -> anyhow::Result<Exit> {
    context.ensure_memory_is_local()?;
    let file = trusted_list_path(&context.places.data);
    let mut trusted = read_trusted_checkouts(&file).map_err(anyhow::Error::msg)?;
    let (root, project) = find_checkout(&arguments.folder)?;
    let user = &arguments.user;
    let one = TrustedCheckout {
        user: user.clone(),
        root: root.clone(),
        project: project.clone(),
    };
    let is_it = |other: &TrustedCheckout| other.user == one.user && other.root == one.root;
    let was = trusted.iter().any(is_it);
    trusted.retain(|other| !is_it(other));
    if arguments.remove {
        ensure!(was, "`{}` is not trusted by {user}", root.display());
        save_trusted(&file, &trusted)?;
        let made = one.memory_id();
        let made = made.filter(|memory| store::exists(context, memory).unwrap_or(false));
        if let Some(Err(error)) = made.map(|memory| store::remove(context, &memory)) {
            // A daemon may have it open, but no answer uses it any more.
            tell!("could not delete the copies of its lessons: {error}");
        }
        writeln!(
            crate::printer::stdout(),
            "lessons of {project} are no longer in {user}'s answers"
        )?;
        return Ok(Exit::Success);
    }
    let shared = read_redacted_lessons(&root, &project).map_err(anyhow::Error::msg)?;
    trusted.push(one);
    trusted.sort();
    save_trusted(&file, &trusted)?;
    let row = json!({ "root": root, "project": project, "user": user,
        "lessons": shared.lessons.len(), "problems": shared.problems });
    output::print(context, &row, |out| {
        let count = format_count(shared.lessons.len(), "lesson");
        writeln!(
            out,
            "{count} in {SHARED_FOLDER} of {project} are in {user}'s answers from now on, with what a \
             pull brings; undo with `reprise share trust --remove`"
        )?;
        for problem in shared.problems.iter().take(SAID_MAX) {
            note(problem);
        }
        let more = shared.problems.len().saturating_sub(SAID_MAX);
        if more > 0 {
            tell!("and {more} more; --json lists them");
        }
        Ok(())
    })
}

/// Prints once that this checkout has shared lessons that the user can trust.
pub(super) fn hint_at_shared_lessons(context: &Context, user: &UserId) {
    let untold = || -> Option<usize> {
        let here = fs_err::canonicalize(".").ok()?;
        let root = here
            .ancestors()
            .find(|up| up.join(SHARED_FOLDER).is_dir())?;
        let one = TrustedCheckout {
            user: user.clone(),
            root: root.to_owned(),
            project: String::new(),
        };
        let trusted = read_trusted_checkouts(&trusted_list_path(&context.places.data)).ok()?;
        let is_it = |other: &TrustedCheckout| other.user == one.user && other.root == one.root;
        let count = read_shared_state(root).ok()?.len();
        if count == 0 || trusted.iter().any(is_it) {
            return None;
        }
        let name = one.memory_id()?;
        let told = Folder::open_or_create_no_follow(&context.places.state.join(HINTED)).ok()?;
        let is_new = told.find_status(name.as_str()).ok()?.is_none();
        told.replace(name.as_str(), b"").ok()?;
        is_new.then_some(count)
    };
    // The trusted repositories of a remote daemon are not known here.
    if context.remote.is_none()
        && let Some(count) = untold()
    {
        tell!(
            "{} of this repository can be used: read {SHARED_FOLDER}, then run `reprise share trust`",
            format_count(count, "lesson")
        );
    }
}

pub(super) fn share_in_repository(
    context: &Context,
    arguments: &ShareRepositoryArguments,
) -> anyhow::Result<Exit> {
    context.ensure_memory_is_local()?;
    let (root, _) = find_checkout(&arguments.folder)?;
    let session = Session::open(context, &arguments.user, Effect::Reads)?;
    let got = session.call::<Get>(GetArguments {
        ids: arguments.ids.clone(),
        ..GetArguments::default()
    });
    drop(session);
    let engine = store::open_for_reading(context, &arguments.user)?;
    for line in got?.records {
        let id: RecordId = serde_json::from_value(line["id"].clone())?;
        let record = engine.snapshot().get(id);
        let record = record.with_context(|| {
            format!(
                "`{id}` is not {}'s own memory; share one of your own",
                arguments.user
            )
        })??;
        let path = write_shared_lesson(&root, &record, &redact_and_list_rules)?;
        output::line(context, &json!({ "id": id, "file": path }), path.display())?;
    }
    note("review the diff and commit it; everybody who trusts the repository gets it with a pull");
    Ok(Exit::Success)
}

/// Returns the root of the checkout around a folder, and the name of its project.
fn find_checkout(folder: &Path) -> anyhow::Result<(PathBuf, String)> {
    let shown = folder.display();
    let folder = fs_err::canonicalize(folder)
        .with_context(|| format!("`{shown}` is not a folder; name a folder of a repository"))?;
    let project = Project::of(&folder)
        .with_context(|| format!("`{shown}` belongs to no repository; run `git init` there"))?;
    Ok((project.root().to_owned(), project.name().to_owned()))
}

fn save_trusted(file: &Path, trusted: &[TrustedCheckout]) -> anyhow::Result<()> {
    let above = file.parent().context("the data directory has no place")?;
    let name = file.file_name().context("the list has no name")?;
    Ok(Folder::open_or_create_no_follow(above)?
        .replace(name, &serde_json::to_vec_pretty(trusted)?)?)
}
