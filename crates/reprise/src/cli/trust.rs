//! `reprise trust`: whose repositories' lessons may answer; `reprise share repository`: a record
//! becomes such a lesson, for others to review in the diff.

use reprise_knowledge::{Project, SHARED, Trusted, share, shared_state, trusted_file, trusted_in};
use reprise_operations::operations::records::{Get, GetArguments};
use reprise_operations::{shared_by, without_secrets};

use crate::args::{ShareRepositoryArguments, TrustArguments};
use crate::cli::prelude::*;

/// Problems of files that are said one by one.
const SAID_MAX: usize = 10;
/// Of which checkouts a user was told, a file each, among the program's state.
const HINTED: &str = "hinted";

pub(super) fn run(context: &Context, arguments: &TrustArguments) -> anyhow::Result<Exit> {
    context.must_be_here()?;
    let file = trusted_file(&context.places.data);
    let mut trusted = trusted_in(&file).map_err(anyhow::Error::msg)?;
    let (root, project) = checkout(&arguments.folder)?;
    let user = &arguments.user;
    let one = Trusted {
        user: user.clone(),
        root: root.clone(),
        project: project.clone(),
    };
    let is_it = |other: &Trusted| other.user == one.user && other.root == one.root;
    let was = trusted.iter().any(is_it);
    trusted.retain(|other| !is_it(other));
    if arguments.remove {
        ensure!(was, "`{}` is not trusted by {user}", root.display());
        write(&file, &trusted)?;
        let made = one.memory();
        let made = made.filter(|memory| store::exists(context, memory).unwrap_or(false));
        if let Some(Err(error)) = made.map(|memory| store::remove(context, &memory)) {
            // A daemon that has it open: nobody is answered from it any more.
            tell!("what was made of them is still there: {error}");
        }
        writeln!(
            crate::printer::stdout(),
            "lessons of {project} answer {user} no more"
        )?;
        return Ok(Exit::Success);
    }
    let shared = shared_by(&root, &project).map_err(anyhow::Error::msg)?;
    trusted.push(one);
    trusted.sort();
    write(&file, &trusted)?;
    let row = json!({ "root": root, "project": project, "user": user,
        "lessons": shared.lessons.len(), "problems": shared.problems });
    output::print(context, &row, |out| {
        let count = counted(shared.lessons.len(), "lesson");
        writeln!(
            out,
            "{count} in {SHARED} of {project} answer {user} from now on, and what a pull brings; \
             `reprise trust --remove` ends it"
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

/// Says once that lessons wait for a word, where they stand in this checkout.
pub(super) fn hint(context: &Context, user: &UserId) {
    let untold = || -> Option<usize> {
        let here = fs_err::canonicalize(".").ok()?;
        let root = here.ancestors().find(|up| up.join(SHARED).is_dir())?;
        let one = Trusted {
            user: user.clone(),
            root: root.to_owned(),
            project: String::new(),
        };
        let trusted = trusted_in(&trusted_file(&context.places.data)).ok()?;
        let is_it = |other: &Trusted| other.user == one.user && other.root == one.root;
        let count = shared_state(root).ok()?.len();
        if count == 0 || trusted.iter().any(is_it) {
            return None;
        }
        let name = one.memory()?;
        let told = Folder::make_own(&context.places.state.join(HINTED)).ok()?;
        let is_new = told.look(name.as_str()).ok()?.is_none();
        told.replace(name.as_str(), b"").ok()?;
        is_new.then_some(count)
    };
    // Whom a daemon elsewhere trusts is not known here.
    if context.remote.is_none()
        && let Some(count) = untold()
    {
        tell!(
            "{} of this repository may answer, too: look at {SHARED}, then run `reprise trust`",
            counted(count, "lesson")
        );
    }
}

pub(super) fn share_with(
    context: &Context,
    arguments: &ShareRepositoryArguments,
) -> anyhow::Result<Exit> {
    context.must_be_here()?;
    let (root, _) = checkout(&arguments.folder)?;
    let session = Session::open(context, &arguments.user, Effect::Reads)?;
    let got = session.call::<Get>(GetArguments {
        ids: arguments.ids.clone(),
        ..GetArguments::default()
    });
    drop(session);
    let engine = store::read(context, &arguments.user)?;
    for line in got?.records {
        let id: RecordId = serde_json::from_value(line["id"].clone())?;
        let record = engine.snapshot().get(id);
        let record = record.with_context(|| {
            format!(
                "`{id}` is no record of {}'s own; share what is",
                arguments.user
            )
        })??;
        let path = share(&root, &record, &without_secrets)?;
        output::line(context, &json!({ "id": id, "file": path }), path.display())?;
    }
    note("review the diff and commit it; whoever trusts the repository recalls it after a pull");
    Ok(Exit::Success)
}

/// The root of the checkout that a folder is in, and what its project is called.
fn checkout(folder: &Path) -> anyhow::Result<(PathBuf, String)> {
    let shown = folder.display();
    let folder = fs_err::canonicalize(folder)
        .with_context(|| format!("`{shown}` is no folder; name one of a repository"))?;
    let project = Project::of(&folder)
        .with_context(|| format!("`{shown}` belongs to no repository; run `git init` there"))?;
    Ok((project.root().to_owned(), project.name().to_owned()))
}

fn write(file: &Path, trusted: &[Trusted]) -> anyhow::Result<()> {
    let above = file.parent().context("the data directory has no place")?;
    let name = file.file_name().context("the list has no name")?;
    Ok(Folder::make_own(above)?.replace(name, &serde_json::to_vec_pretty(trusted)?)?)
}
