//! `reprise branch`: a separate memory that starts as a copy of a user's memory. It is a user like
//! any other, named `USER+NAME`, so every other command works on it.

use reprise_engine::{BranchDiff, EngineStats};
use reprise_operations::operations::care::{self, Merge};

use crate::args::{BranchArguments, BranchCommand};
use crate::cli::prelude::*;

/// Most records of one kind of difference that are printed.
const SHOWN: usize = 20;

pub(super) fn run(context: &Context, command: &BranchCommand) -> anyhow::Result<Exit> {
    match command {
        BranchCommand::Sync(arguments) => super::sync::run(context, arguments),
        BranchCommand::Fork { target, as_of } => fork(context, target, *as_of),
        BranchCommand::List(whose) => list(context, &whose.user),
        BranchCommand::Diff(target) => diff(context, target),
        BranchCommand::Merge(target) => merge(context, target),
        BranchCommand::Drop(target) => remove(context, target),
    }
}

/// Returns the user id of a branch.
fn branch_user_id(target: &BranchArguments) -> anyhow::Result<UserId> {
    let id = format!("{}+{}", target.user, target.name);
    id.parse()
        .with_context(|| format!("`{}` is not a valid branch name", target.name))
}

/// Opens a branch; a memory that is not a branch of this user is an error.
fn open_branch(context: &Context, target: &BranchArguments) -> anyhow::Result<Engine> {
    let branch = branch_user_id(target)?;
    let (user, name) = (&target.user, &target.name);
    if !store::exists(context, &branch)? {
        bail!(
            "`{user}` has no branch `{name}`; `reprise branch list --user {user}` lists the \
             branches"
        );
    }
    let engine = store::open_for_reading(context, &branch)?;
    if engine
        .stream_cursor(&care::fork_stream_name(&target.user))
        .is_none()
    {
        bail!("`{user}+{name}` is a memory, but no branch of `{user}`");
    }
    Ok(engine)
}

fn fork(
    context: &Context,
    target: &BranchArguments,
    as_of: Option<DateTime<Utc>>,
) -> anyhow::Result<Exit> {
    let parent = store::open_for_reading(context, &target.user)?;
    let branch = branch_user_id(target)?;
    let stream = care::fork_stream_name(&target.user);
    let is_free = !store::exists(context, &branch)?;
    let (user, name) = (&target.user, &target.name);
    ensure!(
        is_free || store::open_for_reading(context, &branch)?.stats().live == 0,
        "branch `{name}` exists already; drop it with `reprise branch drop {name} --user {user}`, \
         or choose another name"
    );
    let file = context.places.memory_file_of(&branch);
    // Only the present state can share its bytes with the branch; a past state is another file.
    let cloned = is_free && as_of.is_none() && parent.clone_file_to(&file)?;
    let mut engine = store::open_for_writing(context, &branch, store::TURN)?;
    if cloned {
        engine.mark_as_branch(&stream)?;
    } else {
        parent.fork_into(&mut engine, &stream, as_of)?;
    }
    // Earlier versions are not counted, as in `stats`.
    let records = engine.stats().live;
    engine.close()?;
    if records == 0 && as_of.is_some() {
        note("nothing was stored at that time: the branch is empty");
    }
    let how = if cloned { "copy-on-write" } else { "copied" };
    let line = format!(
        "{branch}: {}, {how}; use it with --user {branch}",
        format_count(records, "memory")
    );
    let made = json!({ "branch": branch, "records": records, "copy_on_write": cloned });
    output::line(context, &made, line)
}

/// Returns the names after `USER+` of the existing memories, in order.
fn list_branch_candidates(context: &Context, user: &UserId) -> anyhow::Result<Vec<String>> {
    context.ensure_memory_is_local()?;
    let prefix = format!("{user}+");
    let users = store::list_users(context)?.into_iter();
    let names = users.filter_map(|own| Some(own.as_str().strip_prefix(&prefix)?.to_owned()));
    Ok(names.collect())
}

/// Returns the user ids of a user's branches and of their branches.
pub(super) fn collect_nested_branch_ids(
    context: &Context,
    user: &UserId,
) -> anyhow::Result<Vec<UserId>> {
    let mut branches = Vec::new();
    for name in list_branch_candidates(context, user)? {
        let (parent, name) = match name.rsplit_once('+') {
            Some((parent, name)) => (format!("{user}+{parent}").parse()?, name.to_owned()),
            None => (user.clone(), name),
        };
        let target = BranchArguments { name, user: parent };
        if open_branch(context, &target).is_ok() {
            branches.push(branch_user_id(&target)?);
        }
    }
    Ok(branches)
}

fn list(context: &Context, user: &UserId) -> anyhow::Result<Exit> {
    let mut branches = Vec::new();
    for name in list_branch_candidates(context, user)? {
        let user = user.clone();
        let target = BranchArguments { name, user };
        if let Ok(engine) = open_branch(context, &target) {
            branches.push((target.name, engine.stats()));
        }
    }
    let row = |(name, stats): &(String, EngineStats)| json!({ "name": name, "records": stats.live, "bytes": stats.file_bytes });
    let hint = "no branches yet; `reprise branch fork NAME` makes one";
    output::note_if_empty(context, &branches, hint);
    output::rows(context, branches, row, |(name, stats)| {
        let size = format_size(stats.file_bytes);
        format!("{name:<24} {:>8} memories {size:>12}", stats.live)
    })
}

fn diff(context: &Context, target: &BranchArguments) -> anyhow::Result<Exit> {
    let parent = store::open_for_reading(context, &target.user)?;
    let branch = open_branch(context, target)?;
    let (parent, branch) = (parent.snapshot(), branch.snapshot());
    let BranchDiff {
        added,
        missing,
        removed: gone,
        retagged,
    } = parent.diff(&branch);
    let row = json!({ "added": added, "missing": missing, "gone": gone, "retagged": retagged });
    let parts = [
        ("in the branch but not in the memory", &added, &branch),
        ("in the memory but not in the branch", &missing, &parent),
        ("forgotten or replaced in the branch", &gone, &parent),
        ("in both, but their tags differ", &retagged, &branch),
    ];
    output::print(context, &row, |out| {
        if parts.iter().all(|(_, ids, _)| ids.is_empty()) {
            writeln!(out, "the branch and the memory do not differ")?;
        }
        for (what, ids, memory) in parts {
            write_diff_section(out, what, ids, memory)?;
        }
        Ok(())
    })
}

/// Prints the memories of one kind of difference, if there are any.
fn write_diff_section(
    out: &mut impl Write,
    what: &str,
    ids: &[RecordId],
    memory: &Snapshot,
) -> anyhow::Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
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

fn merge(context: &Context, target: &BranchArguments) -> anyhow::Result<Exit> {
    open_branch(context, target)?;
    let branch = branch_user_id(target)?;
    let merged = output::call::<Merge>(context, &target.user, care::MergeArguments { branch })?;
    let mut line = format_count(merged.added, "memory") + " added";
    for (count, what) in [
        (merged.known, "already in the memory"),
        (merged.retagged, "with more tags now"),
    ] {
        if count > 0 {
            line = format!("{line}, {count} {what}");
        }
    }
    output::line(context, &merged, line)?;
    for refused in &merged.rejected {
        tell!("refused memory {}: {}", refused.id, refused.why);
    }
    Ok(output::exit(merged.rejected.is_empty()))
}

fn remove(context: &Context, target: &BranchArguments) -> anyhow::Result<Exit> {
    drop(open_branch(context, target)?);
    store::remove(context, &branch_user_id(target)?)?;
    let name = &target.name;
    let line = format!("branch `{name}` deleted");
    output::line(context, &json!({ "dropped": name }), line)
}
