//! `reprise branch`: a memory of its own that begins with what a user's knew. It is a user like any
//! other, named `USER+NAME`, so that every other command works on it.

use reprise_engine::{BranchDiff, EngineStats};
use reprise_operations::operations::care::{self, Merge};

use crate::args::{BranchCommand, BranchTarget};
use crate::cli::prelude::*;

/// Records of one kind of difference that a person is shown.
const SHOWN: usize = 20;

pub(super) fn run(context: &Context, command: &BranchCommand) -> anyhow::Result<Exit> {
    match command {
        BranchCommand::Fork { target, as_of } => fork(context, target, *as_of),
        BranchCommand::List(whose) => list(context, &whose.user),
        BranchCommand::Diff(target) => diff(context, target),
        BranchCommand::Merge(target) => merge(context, target),
        BranchCommand::Drop(target) => remove(context, target),
    }
}

/// The user id of a branch.
fn branch_of(target: &BranchTarget) -> anyhow::Result<UserId> {
    let id = format!("{}+{}", target.user, target.name);
    id.parse()
        .with_context(|| format!("`{}` is no name for a branch", target.name))
}

/// Opens a branch, and refuses what is none.
fn open_branch(context: &Context, target: &BranchTarget) -> anyhow::Result<Engine> {
    let branch = branch_of(target)?;
    let (user, name) = (&target.user, &target.name);
    if !store::exists(context, &branch)? {
        bail!(
            "`{user}` has no branch `{name}`; `reprise branch list --user {user}` names those there are"
        );
    }
    let engine = store::read(context, &branch)?;
    if engine.cursor(&care::fork_stream(&target.user)).is_none() {
        bail!("`{user}+{name}` is a memory, but no branch of `{user}`");
    }
    Ok(engine)
}

fn fork(
    context: &Context,
    target: &BranchTarget,
    as_of: Option<DateTime<Utc>>,
) -> anyhow::Result<Exit> {
    let parent = store::read(context, &target.user)?;
    let branch = branch_of(target)?;
    let stream = care::fork_stream(&target.user);
    let is_free = !store::exists(context, &branch)?;
    let file = context.places.file_of(&branch);
    // As it was at an instant it is another file; as it is now both can share their bytes.
    let cloned = is_free && as_of.is_none() && parent.clone_to(&file)?;
    let mut engine = store::open_in_turn(context, &branch, store::TURN)?;
    if cloned {
        engine.be_branch(&stream)?;
    } else {
        parent.fork_into(&mut engine, &stream, as_of)?;
    }
    // As `stats` counts them: without earlier versions.
    let records = engine.stats().live;
    engine.close()?;
    if records == 0 && as_of.is_some() {
        note("nothing was known at that instant: the branch is empty");
    }
    let how = if cloned { "copy-on-write" } else { "copied" };
    let line = format!(
        "{branch}: {}, {how}; use it with --user {branch}",
        counted(records, "record")
    );
    let made = json!({ "branch": branch, "records": records, "copy_on_write": cloned });
    output::line(context, &made, line)
}

/// The names behind `USER+` of the memories that are there, in order.
fn names(context: &Context, user: &UserId) -> anyhow::Result<Vec<String>> {
    context.must_be_here()?;
    let prefix = format!("{user}+");
    let users = store::users(context)?.into_iter();
    let names = users.filter_map(|own| Some(own.as_str().strip_prefix(&prefix)?.to_owned()));
    Ok(names.collect())
}

/// A user's branches, and the branches of these.
pub(super) fn all_of(context: &Context, user: &UserId) -> anyhow::Result<Vec<UserId>> {
    let mut branches = Vec::new();
    for name in names(context, user)? {
        let (parent, name) = match name.rsplit_once('+') {
            Some((parent, name)) => (format!("{user}+{parent}").parse()?, name.to_owned()),
            None => (user.clone(), name),
        };
        let target = BranchTarget { name, user: parent };
        if open_branch(context, &target).is_ok() {
            branches.push(branch_of(&target)?);
        }
    }
    Ok(branches)
}

fn list(context: &Context, user: &UserId) -> anyhow::Result<Exit> {
    let mut branches = Vec::new();
    for name in names(context, user)? {
        let user = user.clone();
        let target = BranchTarget { name, user };
        if let Ok(engine) = open_branch(context, &target) {
            branches.push((target.name, engine.stats()));
        }
    }
    let row = |(name, stats): &(String, EngineStats)| json!({ "name": name, "records": stats.live, "bytes": stats.file_bytes });
    output::rows(context, branches, row, |(name, stats)| {
        let size = size(stats.file_bytes);
        format!("{name:<24} {:>8} records {size:>12}", stats.live)
    })
}

fn diff(context: &Context, target: &BranchTarget) -> anyhow::Result<Exit> {
    let parent = store::read(context, &target.user)?;
    let branch = open_branch(context, target)?;
    let (parent, branch) = (parent.snapshot(), branch.snapshot());
    let BranchDiff {
        added,
        missing,
        gone,
        retagged,
    } = parent.diff(&branch);
    let row = json!({ "added": added, "missing": missing, "gone": gone, "retagged": retagged });
    output::print(context, &row, |out| {
        print(out, "only in the branch", &added, &branch)?;
        print(out, "only in the parent", &missing, &parent)?;
        print(out, "forgotten or replaced in the branch", &gone, &parent)?;
        print(out, "with other tags in the branch", &retagged, &branch)
    })
}

fn print(
    out: &mut impl Write,
    what: &str,
    ids: &[RecordId],
    memory: &Snapshot,
) -> anyhow::Result<()> {
    writeln!(out, "{} {what}", ids.len())?;
    for id in ids.iter().take(SHOWN) {
        let record = memory.get(*id).transpose()?;
        let text = record.map(|record| terminal::one_line(&record.text, 64));
        writeln!(out, "  {id}  {}", text.unwrap_or_default())?;
    }
    if ids.len() > SHOWN {
        writeln!(out, "  and {} more: --json lists all", ids.len() - SHOWN)?;
    }
    Ok(())
}

fn merge(context: &Context, target: &BranchTarget) -> anyhow::Result<Exit> {
    open_branch(context, target)?;
    let branch = branch_of(target)?;
    let merged = output::call::<Merge>(context, &target.user, care::MergeArguments { branch })?;
    let (added, known) = (counted(merged.added, "record"), merged.known);
    let retagged = merged.retagged;
    let line = format!("{added} added, {known} known already, {retagged} with more tags");
    output::line(context, &merged, line)?;
    for refused in &merged.rejected {
        tell!("record {} was refused: {}", refused.id, refused.why);
    }
    Ok(output::exit(merged.rejected.is_empty()))
}

fn remove(context: &Context, target: &BranchTarget) -> anyhow::Result<Exit> {
    drop(open_branch(context, target)?);
    store::remove(context, &branch_of(target)?)?;
    let name = &target.name;
    let line = format!("{name} is gone");
    output::line(context, &json!({ "dropped": name }), line)
}
