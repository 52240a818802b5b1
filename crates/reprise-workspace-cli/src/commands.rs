//! `reprise workspace`: transactions on a version-controlled tree, and queries of it.

mod read_only;

use std::io::Read;

use clap::CommandFactory;
use reprise_workspace::{
    ARTIFACT_BYTES_MAX, Actor, CombinedFile, EmbeddingSpaces, InitReport, MergeRule, MergeSides,
    PrunePolicy, PruneReport, Receipt, RepoPath, Workspace, WorkspaceError, WriteRequest, combine,
};

use crate::args::{AgentCommand, DriverRule, WorkspaceArguments, WorkspaceCommand, WriteArguments};
use crate::prelude::*;
use crate::serve;
use read_only::snapshot_line;

#[expect(clippy::needless_pass_by_value, reason = "a command is run once")]
pub(crate) fn run(context: &Context, arguments: WorkspaceArguments) -> anyhow::Result<Exit> {
    match run_command(context, &arguments) {
        Err(error) => print_refusal(context, error),
        done => done,
    }
}

/// Prints the refusal of a rule with its name, and returns exit code 1; other errors are passed on.
fn print_refusal(context: &Context, error: anyhow::Error) -> anyhow::Result<Exit> {
    let Some(rule) = error
        .downcast_ref::<WorkspaceError>()
        .and_then(WorkspaceError::rule)
    else {
        return Err(error);
    };
    let row = json!({ "refused": error.to_string(), "rule": rule });
    output::print(context, &row, |_| Ok(()))?;
    note(&terminal::render_error(&error));
    Ok(Exit::Refused)
}

fn run_command(context: &Context, arguments: &WorkspaceArguments) -> anyhow::Result<Exit> {
    let dir = arguments.directory.clone();
    let dir = dir.unwrap_or_else(|| PathBuf::from("."));
    match &arguments.command {
        WorkspaceCommand::Serve => serve::run(),
        WorkspaceCommand::Man { folder } => {
            plugin::write_manual(WorkspaceArguments::command(), folder)
        }
        WorkspaceCommand::Init { dir: below } => run_init(context, &dir.join(below)),
        WorkspaceCommand::Start { dir: below, title } => {
            run_start(context, &dir.join(below), title.as_deref())
        }
        WorkspaceCommand::MergeDriver {
            rule,
            base,
            ours,
            theirs,
            path,
        } => run_merge_driver(*rule, base, ours, theirs, path),
        command => run_in_workspace(context, &dir, command),
    }
}

/// Runs a command of a workspace that is there.
fn run_in_workspace(
    context: &Context,
    dir: &Path,
    command: &WorkspaceCommand,
) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(dir, Arc::new(SystemClock))?;
    match command {
        WorkspaceCommand::Write(write) => {
            let request = build_write_request(dir, write)?;
            print_receipt(context, &workspace.write(&request)?)
        }
        WorkspaceCommand::Recover => recover_transactions(context, &workspace),
        WorkspaceCommand::Approve { human, reference } => {
            let human = Actor::human(human).map_err(WorkspaceError::from)?;
            print_receipt(context, &workspace.approve(&human, reference)?)
        }
        WorkspaceCommand::Decline {
            human,
            reference,
            message,
        } => {
            let human = Actor::human(human).map_err(WorkspaceError::from)?;
            print_receipt(
                context,
                &workspace.decline(&human, reference, message.as_deref())?,
            )
        }
        WorkspaceCommand::Merge {
            actor,
            branch,
            message,
        } => print_receipt(
            context,
            &workspace.merge(actor, branch, message.as_deref())?,
        ),
        WorkspaceCommand::Rollback {
            actor,
            commit,
            message,
        } => print_receipt(
            context,
            &workspace.rollback(actor, commit, message.as_deref())?,
        ),
        WorkspaceCommand::Checkpoint {
            actor,
            file,
            message,
        } => {
            let state = read_file_up_to_limit(dir, file)?;
            let message = message.as_deref();
            print_receipt(context, &workspace.checkpoint(actor, &state, message)?)
        }
        WorkspaceCommand::Snapshot { actor, tag } => {
            list(context, &[workspace.snapshot(actor, *tag)?], snapshot_line)
        }
        WorkspaceCommand::Restore { actor, id } => {
            print_receipt(context, &workspace.restore(actor, id)?)
        }
        WorkspaceCommand::Prune {
            actor,
            snapshots,
            events,
            episodic_days,
        } => {
            let policy = PrunePolicy {
                snapshots: *snapshots,
                events: *events,
                episodic_days: *episodic_days,
            };
            list(context, &[workspace.prune(actor, policy)?], pruned_line)
        }
        WorkspaceCommand::Project { user } => write_long_term_memory(context, &workspace, user),
        WorkspaceCommand::Manifest { user } => write_manifest(context, &workspace, user),
        WorkspaceCommand::Agent(command) => run_agent_command(context, &workspace, command),
        WorkspaceCommand::Look(command) => read_only::run(context, dir, &workspace, command),
        WorkspaceCommand::Serve
        | WorkspaceCommand::Man { .. }
        | WorkspaceCommand::Init { .. }
        | WorkspaceCommand::Start { .. }
        | WorkspaceCommand::MergeDriver { .. } => anyhow::bail!("this command opens no workspace"),
    }
}

fn pruned_line(pruned: &PruneReport) -> String {
    format!(
        "deleted {}, {} and {}; {} saved first",
        format_count(pruned.snapshots.len(), "old snapshot"),
        format_count(pruned.events, "event"),
        format_count(pruned.episodic.len(), "scratch file"),
        pruned.promoted
    )
}

/// Creates a workspace whose merges by plain git start `reprise`, as it is found next to this
/// program or on PATH.
fn init_workspace(dir: &Path) -> anyhow::Result<(Workspace, InitReport)> {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.with_file_name("reprise");
    let program = if beside.is_file() {
        beside
    } else {
        PathBuf::from("reprise")
    };
    Ok(Workspace::init_with_program(
        dir,
        Arc::new(SystemClock),
        &program,
    )?)
}

fn run_start(context: &Context, dir: &Path, title: Option<&str>) -> anyhow::Result<Exit> {
    let (workspace, made) = init_workspace(dir)?;
    let started = workspace.start(title)?;
    let row = json!({ "root": made.root, "branch": made.branch, "prds": started.prds,
        "receipt": started.receipt, "next": started.next });
    output::print(context, &row, |out| {
        let root = terminal::title(made.root.display());
        writeln!(
            out,
            "{root} is now a workspace; its shared branch is {}",
            made.branch
        )?;
        writeln!(out, "  {}", format_count(started.prds.len(), "PRD"))?;
        for prd in &started.prds {
            writeln!(out, "    {prd}")?;
        }
        writeln!(out, "go on with")?;
        for line in &started.next {
            writeln!(out, "    {line}")?;
        }
        Ok(())
    })
}

fn run_init(context: &Context, dir: &Path) -> anyhow::Result<Exit> {
    let (_, made) = init_workspace(dir)?;
    let receipt = made.receipt.as_ref();
    let row = json!({ "root": made.root, "branch": made.branch,
        "tx": receipt.map(|receipt| &receipt.tx),
        "commit": receipt.and_then(|receipt| receipt.commit.as_ref()) });
    let root = made.root.display();
    let line = match receipt {
        Some(_) => format!(
            "{root} is now a workspace; its shared branch is {}",
            made.branch
        ),
        None => format!("{root} is already a workspace; nothing was changed"),
    };
    output::line(context, &row, line)
}

/// Reads the files that a write names; a file that is too large is read only up to the limit.
fn build_write_request(dir: &Path, write: &WriteArguments) -> anyhow::Result<WriteRequest> {
    let mut changes = Vec::new();
    let put = write
        .put
        .chunks_exact(2)
        .map(|two| (two[0].as_str(), two[1].as_str()));
    let pairs = write
        .files
        .iter()
        .map(|pair| split_path_and_file(dir, pair));
    let pairs = pairs
        .chain(put.map(Ok))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for (path, file) in pairs {
        let path = RepoPath::new(path).map_err(WorkspaceError::from)?;
        changes.push((path, Some(read_file_up_to_limit(dir, Path::new(file))?)));
    }
    changes.extend(write.delete.iter().map(|path| (path.clone(), None)));
    Ok(WriteRequest {
        actor: write.actor.clone(),
        changes,
        message: write.message.clone(),
    })
}

/// Splits `PATH=FILE`; if a name contains `=`, the split whose FILE exists is used.
fn split_path_and_file<'a>(dir: &Path, pair: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
    let splits = || {
        pair.match_indices('=')
            .map(|(at, _)| (&pair[..at], &pair[at + 1..]))
    };
    let first = splits().next();
    let first = first.with_context(|| format!("`{pair}` is not PATH=FILE"))?;
    let mut there = splits().filter(|(_, file)| *file == "-" || dir.join(file).is_file());
    match (there.next(), there.next()) {
        (Some(_), Some(_)) => anyhow::bail!(
            "`{pair}` can be read in two ways, and both files are there; write `--put PATH FILE`"
        ),
        (only, _) => Ok(only.unwrap_or(first)),
    }
}

/// Reads a file up to one byte more than the limit; that byte shows that it is too large.
fn read_file_up_to_limit(dir: &Path, file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = ARTIFACT_BYTES_MAX + 1;
    if file.as_os_str() == "-" {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        let file = fs_err::File::open(dir.join(file))?;
        file.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn print_receipt(context: &Context, receipt: &Receipt) -> anyhow::Result<Exit> {
    output::print(context, &json!(receipt), |out| {
        match (&receipt.commit, &receipt.event) {
            (_, None) => writeln!(out, "nothing changed")?,
            (commit, Some(event)) => {
                let place = match commit {
                    Some(commit) => format!("as {commit:.10}"),
                    None => "(not kept by git)".to_owned(),
                };
                let mut words = vec![event.topic.as_str()];
                words.extend(event.paths.iter().map(String::as_str));
                writeln!(out, "{} {place}", words.join(" "))?;
            }
        }
        let under = match receipt.rules.join(", ") {
            rules if rules.is_empty() => rules,
            rules => format!(" under {rules}"),
        };
        let line = format!("transaction {}{under}", receipt.tx);
        Ok(writeln!(out, "{}", terminal::faint(line))?)
    })?;
    if let Some(why) = &receipt.snapshot_failed {
        tell!("no snapshot was taken at this point: {why}");
    }
    for path in &receipt.left_alone {
        tell!("`{path}` was edited in that moment: the edit is kept, uncommitted");
    }
    Ok(Exit::Success)
}

/// Visits every record of a user's store; a writing daemon does not disturb the reader.
fn visit_each_record(
    context: &Context,
    user: &UserId,
    mut take: impl FnMut(MemoryRecord),
) -> anyhow::Result<()> {
    let engine = plugin::open_for_reading(context, user)?;
    for record in engine.snapshot().records() {
        match record {
            Ok(record) => take(record),
            Err(error) => tell!("warning: a memory was left out: {error}"),
        }
    }
    Ok(())
}

fn write_manifest(context: &Context, workspace: &Workspace, user: &UserId) -> anyhow::Result<Exit> {
    let mut spaces = EmbeddingSpaces::default();
    visit_each_record(context, user, |record| spaces.add(&record))?;
    print_receipt(context, &workspace.write_manifest(user, &spaces)?)
}

fn write_long_term_memory(
    context: &Context,
    workspace: &Workspace,
    user: &UserId,
) -> anyhow::Result<Exit> {
    let mut records = Vec::new();
    visit_each_record(context, user, |record| records.push(record))?;
    let projection = workspace.project(records.iter())?;
    list(context, &[projection], |projection| {
        format!(
            "{} written, {} already there, {} held back",
            format_count(projection.written, "memory"),
            projection.known,
            projection.held_back
        )
    })
}

fn run_agent_command(
    context: &Context,
    workspace: &Workspace,
    command: &AgentCommand,
) -> anyhow::Result<Exit> {
    match command {
        AgentCommand::Propose { name } => {
            let proposal = workspace.propose(name)?;
            list(context, &[proposal], |proposal| {
                let directory = proposal.directory.display();
                format!("{} in {directory}; write there with -C", proposal.branch)
            })
        }
        AgentCommand::Review { branch } => list(
            context,
            &[workspace.review(branch)?],
            read_only::review_lines,
        ),
        AgentCommand::Abandon { name } => {
            let aside = workspace.abandon(name)?;
            let row = json!({ "kept": aside });
            list(context, &[row], |_| {
                format!("its commits are kept as {aside}")
            })
        }
    }
}

fn recover_transactions(context: &Context, workspace: &Workspace) -> anyhow::Result<Exit> {
    let recovered = workspace.recover()?;
    let line = format!(
        "{} finished, {} undone, {} removed, {} released",
        format_count(recovered.finished.len(), "transaction"),
        recovered.undone.len(),
        format_count(recovered.swept, "folder"),
        format_count(recovered.unlocked, "lock"),
    );
    let changed = [
        recovered.finished.len(),
        recovered.undone.len(),
        recovered.swept,
    ];
    let is_sound = changed.iter().all(|count| *count == 0) && recovered.unlocked == 0;
    let line = if is_sound && recovered.left_alone.is_empty() {
        "nothing to repair".to_owned()
    } else {
        line
    };
    output::line(context, &json!(recovered), line)?;
    for path in &recovered.left_alone {
        tell!(
            "`{path}` was left alone: somebody edited it since the crash, or something is in its way; \
             `git checkout -- {path}` brings what is committed"
        );
    }
    for line in &recovered.damaged {
        tell!("line {line} of the write-ahead log is damaged");
    }
    Ok(Exit::Success)
}

/// Merges two versions of a file for git: the result replaces ours; exit code 1 means a conflict.
fn run_merge_driver(
    rule: DriverRule,
    base: &Path,
    ours: &Path,
    theirs: &Path,
    path: &str,
) -> anyhow::Result<Exit> {
    let rule = match rule {
        DriverRule::Lines => MergeRule::Lines,
        DriverRule::Checkpoint => MergeRule::Checkpoint,
        DriverRule::Manifest => MergeRule::Manifest,
    };
    let (base, mine, other) = (
        fs_err::read(base)?,
        fs_err::read(ours)?,
        fs_err::read(theirs)?,
    );
    let sides = MergeSides {
        // git passes an empty file where there is no ancestor.
        base: (!base.is_empty()).then_some(base.as_slice()),
        ours: &mine,
        theirs: &other,
    };
    match combine(rule, sides) {
        Ok(CombinedFile {
            bytes,
            loser,
            re_embed,
        }) => {
            fs_err::write(ours, bytes)?;
            if let Some(loser) = loser {
                // git starts drivers at the root of the tree. Outside a workspace nobody keeps a
                // log.
                if let Ok(workspace) = Workspace::open(Path::new("."), Arc::new(SystemClock)) {
                    workspace.log_conflict(&json!({ "kind": "checkpoint", "path": path,
                        "by": "git", "loser": loser }))?;
                }
                tell!("`{path}`: the older checkpoint went to the log of conflicts");
            }
            for artifact in re_embed {
                tell!("`{path}`: `{artifact}` is to be embedded again");
            }
            Ok(Exit::Success)
        }
        Err(why) => {
            tell!("`{path}` was not merged: {why}");
            Ok(Exit::Refused)
        }
    }
}
