//! `reprise workspace`: transactions on a version-controlled tree, and looks into it.

mod look;

use std::io::Read;

use reprise_workspace::{
    ARTIFACT_BYTES_MAX, Actor, CarePolicy, Combined, Made, MergeRule, Pruned, Receipt, RepoPath,
    Sides, Spaces, Workspace, WorkspaceError, WriteRequest, combine,
};

use crate::args::{AgentCommand, DriverRule, WorkspaceArguments, WorkspaceCommand, WriteArguments};
use crate::cli::output::list;
use crate::cli::prelude::*;
use look::snapshot_line;

pub(super) fn run(context: &Context, arguments: &WorkspaceArguments) -> anyhow::Result<Exit> {
    match carry_out(context, arguments) {
        Err(error) => refused(context, error),
        done => done,
    }
}

/// What a rule refuses is the caller's to change: exit code 1 and the rule's name.
fn refused(context: &Context, error: anyhow::Error) -> anyhow::Result<Exit> {
    let Some(rule) = error
        .downcast_ref::<WorkspaceError>()
        .and_then(WorkspaceError::rule)
    else {
        return Err(error);
    };
    let row = json!({ "refused": error.to_string(), "rule": rule });
    output::print(context, &row, |_| Ok(()))?;
    note(&terminal::failure(&error));
    Ok(Exit::Refused)
}

fn carry_out(context: &Context, arguments: &WorkspaceArguments) -> anyhow::Result<Exit> {
    let dir = arguments
        .directory
        .clone()
        .unwrap_or_else(|| PathBuf::from("."));
    let open = || Workspace::open(&dir, Arc::new(SystemClock));
    match &arguments.command {
        WorkspaceCommand::Init { dir: below } => init(context, &dir.join(below)),
        WorkspaceCommand::Start { dir: below, title } => {
            start(context, &dir.join(below), title.as_deref())
        }
        WorkspaceCommand::Write(write) => {
            let workspace = open()?;
            let request = request(&dir, write)?;
            done(context, &workspace.write(&request)?)
        }
        WorkspaceCommand::Recover => recover(context, &open()?),
        WorkspaceCommand::Approve { human, reference } => {
            let human = Actor::human(human).map_err(WorkspaceError::from)?;
            done(context, &open()?.approve(&human, reference)?)
        }
        WorkspaceCommand::Decline {
            human,
            reference,
            message,
        } => {
            let human = Actor::human(human).map_err(WorkspaceError::from)?;
            let message = message.as_deref();
            done(context, &open()?.decline(&human, reference, message)?)
        }
        WorkspaceCommand::Merge {
            actor,
            branch,
            message,
        } => done(context, &open()?.merge(actor, branch, message.as_deref())?),
        WorkspaceCommand::Rollback {
            actor,
            commit,
            message,
        } => {
            let message = message.as_deref();
            done(context, &open()?.rollback(actor, commit, message)?)
        }
        WorkspaceCommand::Checkpoint {
            actor,
            file,
            message,
        } => {
            let state = read_file(&dir, file)?;
            let message = message.as_deref();
            done(context, &open()?.checkpoint(actor, &state, message)?)
        }
        WorkspaceCommand::Snapshot { actor, tag } => {
            list(context, &[open()?.snapshot(actor, *tag)?], snapshot_line)
        }
        WorkspaceCommand::Restore { actor, id } => done(context, &open()?.restore(actor, id)?),
        WorkspaceCommand::Prune {
            actor,
            snapshots,
            events,
            episodic_days,
        } => {
            let policy = CarePolicy {
                snapshots: *snapshots,
                events: *events,
                episodic_days: *episodic_days,
            };
            list(context, &[open()?.prune(actor, policy)?], pruned_line)
        }
        WorkspaceCommand::Project { user } => project(context, &open()?, user),
        WorkspaceCommand::Manifest { user } => manifest(context, &open()?, user),
        WorkspaceCommand::Agent(command) => agent(context, &open()?, command),
        WorkspaceCommand::MergeDriver {
            rule,
            base,
            ours,
            theirs,
            path,
        } => driver(*rule, base, ours, theirs, path),
        WorkspaceCommand::Look(command) => look::run(context, &open()?, command),
    }
}

fn pruned_line(pruned: &Pruned) -> String {
    format!(
        "{}, {}, {} of scratch put away; {} promoted",
        counted(pruned.snapshots.len(), "snapshot"),
        counted(pruned.events, "event"),
        counted(pruned.episodic.len(), "file"),
        pruned.promoted
    )
}

/// Makes a workspace whose merges by plain git start this very program.
fn make(dir: &Path) -> anyhow::Result<(Workspace, Made)> {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("reprise"));
    Ok(Workspace::init_with(dir, Arc::new(SystemClock), &program)?)
}

fn start(context: &Context, dir: &Path, title: Option<&str>) -> anyhow::Result<Exit> {
    let (workspace, made) = make(dir)?;
    let started = workspace.start(title)?;
    let row = json!({ "root": made.root, "branch": made.branch, "prds": started.prds,
        "receipt": started.receipt, "next": started.next });
    output::print(context, &row, |out| {
        let root = terminal::title(made.root.display());
        writeln!(out, "{root} is a workspace, shared on {}", made.branch)?;
        writeln!(out, "  {}", counted(started.prds.len(), "PRD"))?;
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

fn init(context: &Context, dir: &Path) -> anyhow::Result<Exit> {
    let (_, made) = make(dir)?;
    let receipt = made.receipt.as_ref();
    let row = json!({ "root": made.root, "branch": made.branch,
        "tx": receipt.map(|receipt| &receipt.tx),
        "commit": receipt.and_then(|receipt| receipt.commit.as_ref()) });
    let root = made.root.display();
    let line = match receipt {
        Some(_) => format!("{root} is a workspace, shared on {}", made.branch),
        None => format!("{root} was a workspace already"),
    };
    output::line(context, &row, line)
}

/// The files that a write names, read. One that is too large is not.
fn request(dir: &Path, write: &WriteArguments) -> anyhow::Result<WriteRequest> {
    let mut changes = Vec::new();
    let put = write
        .put
        .chunks_exact(2)
        .map(|two| (two[0].as_str(), two[1].as_str()));
    let pairs = write.files.iter().map(|pair| halves(dir, pair));
    let pairs = pairs
        .chain(put.map(Ok))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for (path, file) in pairs {
        let path = RepoPath::new(path).map_err(WorkspaceError::from)?;
        changes.push((path, Some(read_file(dir, Path::new(file))?)));
    }
    changes.extend(write.delete.iter().map(|path| (path.clone(), None)));
    Ok(WriteRequest {
        actor: write.actor.clone(),
        changes,
        message: write.message.clone(),
    })
}

/// PATH and FILE of `PATH=FILE`: where a name has a `=` of its own, by which FILE is there.
fn halves<'a>(dir: &Path, pair: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
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

/// Reads a file, one byte more than the limit at most: that one shows that it is too large.
fn read_file(dir: &Path, file: &Path) -> anyhow::Result<Vec<u8>> {
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

fn done(context: &Context, receipt: &Receipt) -> anyhow::Result<Exit> {
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
        tell!("`{path}` was edited in that moment: the edit stands, uncommitted");
    }
    Ok(Exit::Success)
}

/// Every record of a user's store. The daemon may be writing meanwhile: a reader sees whole ones.
fn each_record(
    context: &Context,
    user: &UserId,
    mut take: impl FnMut(MemoryRecord),
) -> anyhow::Result<()> {
    let engine = store::read(context, user)?;
    for record in engine.snapshot().records() {
        match record {
            Ok(record) => take(record),
            Err(error) => tell!("warning: a record was left out: {error}"),
        }
    }
    Ok(())
}

fn manifest(context: &Context, workspace: &Workspace, user: &UserId) -> anyhow::Result<Exit> {
    let mut spaces = Spaces::default();
    each_record(context, user, |record| spaces.add(&record))?;
    done(context, &workspace.write_manifest(user, &spaces)?)
}

fn project(context: &Context, workspace: &Workspace, user: &UserId) -> anyhow::Result<Exit> {
    let mut records = Vec::new();
    each_record(context, user, |record| records.push(record))?;
    let projection = workspace.project(records.iter())?;
    list(context, &[projection], |projection| {
        format!(
            "{} written, {} known, {} held back",
            counted(projection.written, "record"),
            projection.known,
            projection.held_back
        )
    })
}

fn agent(context: &Context, workspace: &Workspace, command: &AgentCommand) -> anyhow::Result<Exit> {
    match command {
        AgentCommand::Propose { name } => {
            let proposal = workspace.propose(name)?;
            list(context, &[proposal], |proposal| {
                let directory = proposal.directory.display();
                format!("{} in {directory}; write there with -C", proposal.branch)
            })
        }
        AgentCommand::Review { branch } => {
            list(context, &[workspace.review(branch)?], look::review_lines)
        }
        AgentCommand::Abandon { name } => {
            let aside = workspace.abandon(name)?;
            let row = json!({ "kept": aside });
            list(context, &[row], |_| {
                format!("its commits are kept as {aside}")
            })
        }
    }
}

fn recover(context: &Context, workspace: &Workspace) -> anyhow::Result<Exit> {
    let recovered = workspace.recover()?;
    let line = format!(
        "{} finished, {} undone, {} swept, {} unlocked",
        counted(recovered.finished.len(), "transaction"),
        recovered.undone.len(),
        counted(recovered.swept, "folder"),
        counted(recovered.unlocked, "lock"),
    );
    output::line(context, &json!(recovered), line)?;
    for path in &recovered.left_alone {
        tell!(
            "`{path}` was left alone: somebody edited it since the crash, or something stands in its way; \
             `git checkout -- {path}` brings what is committed"
        );
    }
    for line in &recovered.damaged {
        tell!("line {line} of the WAL is no entry");
    }
    Ok(Exit::Success)
}

/// What git calls: the result replaces our version; exit code 1 leaves a conflict to a person.
fn driver(
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
    let sides = Sides {
        // git passes an empty file where there is no ancestor.
        base: (!base.is_empty()).then_some(base.as_slice()),
        ours: &mine,
        theirs: &other,
    };
    match combine(rule, sides) {
        Ok(Combined {
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
