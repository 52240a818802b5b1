//! Queries of a workspace, printed for people or as a JSON object per line.

use reprise_workspace::{
    AuditEntry, AuditQuery, FileChange, Review, SnapshotManifest, Status, Workspace, WorkspaceEvent,
};

use crate::args::{AuditArguments, LookCommand};
use crate::prelude::*;
use reprise::plugin::output::Out;

/// Runs a command that changes nothing.
pub(super) fn run(
    context: &Context,
    dir: &Path,
    workspace: &Workspace,
    command: &LookCommand,
) -> anyhow::Result<Exit> {
    match command {
        LookCommand::Status => {
            let found = workspace.status()?;
            output::print(context, &json!(found), |out| print_status(out, &found))
        }
        LookCommand::Log { limit } => print_log(context, workspace, *limit),
        LookCommand::Diff { from, to, of } => {
            let changes = match of {
                Some(name) => workspace.diff_commit(name)?,
                None => workspace.diff(from.as_deref(), to.as_deref())?,
            };
            list(context, &changes, change_lines)
        }
        LookCommand::Audit(arguments) => print_audit(context, dir, workspace, arguments),
        LookCommand::Graph => print_graph(context, workspace),
        LookCommand::Reviews => {
            let reviews = workspace.reviews()?;
            output::note_if_empty(context, &reviews, "no branch needs approval");
            list(context, &reviews, review_lines)
        }
        LookCommand::State { agent } => {
            let saved = workspace.require_checkpoint(agent)?;
            let title = terminal::title(&saved.path);
            output::line(
                context,
                &json!(saved),
                format!("{title}\n{:#}", saved.checkpoint),
            )
        }
        LookCommand::Snapshots => list(context, &workspace.snapshots()?, snapshot_line),
        LookCommand::Events {
            after,
            limit,
            records,
        } => print_events(context, workspace, after.as_deref(), *limit, *records),
    }
}

fn print_status(out: &mut Out, status: &Status) -> anyhow::Result<()> {
    let branch = status.branch.as_deref().unwrap_or("(detached)");
    writeln!(out, "{}", terminal::title(status.root.display()))?;
    writeln!(
        out,
        "on {branch} at {:.10}, shared is {}",
        status.commit.as_deref().unwrap_or("nothing"),
        status.main
    )?;
    for (class, count) in &status.artifacts {
        let class = json!(class);
        writeln!(
            out,
            "  {:<18} {count:>7}",
            class.as_str().unwrap_or_default()
        )?;
    }
    if status.rules_pending {
        let what = "wait for approval; the earlier ones are in force";
        writeln!(out, "  policies, schemas  {what}")?;
    }
    if let Some(message) = render_missing_lines(&status.trail_missing) {
        writeln!(out, "  audit trail        {message}")?;
    }
    for edited in &status.edited {
        writeln!(out, "  {:<18} {}", edited.how, edited.path)?;
    }
    for agent in &status.agents {
        writeln!(out, "  branch             {agent}")?;
    }
    for hook in &status.hooks {
        let how = if status.runs_hooks {
            "run by transactions, where it is one of a commit's"
        } else {
            "not run by transactions; `git config reprise.hooks true` runs it"
        };
        writeln!(out, "  hook               {hook}, {how}")?;
    }
    for tx in &status.loose_ends {
        writeln!(
            out,
            "  open transaction   {tx}; run `reprise workspace recover`"
        )?;
    }
    Ok(())
}

fn print_log(context: &Context, workspace: &Workspace, limit: usize) -> anyhow::Result<Exit> {
    list(context, &workspace.log(limit)?, |entry| {
        let by = entry.tx.as_deref().unwrap_or("plain git");
        format!(
            "{:.10}  {}  {:<14} {}  {}",
            entry.commit,
            entry.ts.format("%Y-%m-%d %H:%M"),
            entry.actor,
            terminal::one_line(&entry.subject, 60),
            terminal::faint(by)
        )
    })
}

fn print_audit(
    context: &Context,
    dir: &Path,
    workspace: &Workspace,
    arguments: &AuditArguments,
) -> anyhow::Result<Exit> {
    let action = arguments
        .action
        .as_ref()
        .map(|name| {
            serde_json::from_value(json!(name)).with_context(|| {
                format!("unknown kind `{name}`; `reprise workspace audit --help` lists the kinds")
            })
        })
        .transpose()?;
    let query = AuditQuery {
        actor: arguments.actor.clone(),
        path: arguments.path.clone(),
        action,
        since: arguments.since,
        limit: arguments.limit,
    };
    let (lines, damaged) = workspace.audit(&query)?;
    for line in &damaged {
        tell!("line {line} of the audit trail is damaged");
    }
    let missing = workspace.trail_missing()?;
    if let Some(message) = render_missing_lines(&missing) {
        note(&message);
    }
    if let Some(file) = &arguments.export {
        export_audit(context, workspace, &dir.join(file), &lines)?;
        return Ok(output::exit(damaged.is_empty() && missing.is_empty()));
    }
    list(context, &lines, |line: &AuditEntry| {
        let action = json!(line.action);
        let named = ["ref", "snapshot"]
            .iter()
            .find_map(|field| line.details[field].as_str());
        let paths = line.paths.join(" ");
        let what = if paths.is_empty() {
            named.unwrap_or_default()
        } else {
            &paths
        };
        format!(
            "{}  {:<14} {:<9} {}  {}",
            line.ts.format("%Y-%m-%d %H:%M:%S"),
            line.actor,
            action.as_str().unwrap_or_default(),
            what,
            terminal::faint(line.rules.join(", "))
        )
    })?;
    Ok(output::exit(damaged.is_empty() && missing.is_empty()))
}

/// Writes lines of the trail to a file, or to stdout. It refuses a file of the workspace's own
/// folder, where the trail itself is.
fn export_audit(
    context: &Context,
    workspace: &Workspace,
    file: &Path,
    lines: &[AuditEntry],
) -> anyhow::Result<()> {
    if file.ends_with("-") {
        let mut out = io::stdout();
        for line in lines {
            writeln!(out, "{}", serde_json::to_string(line)?)?;
        }
        return Ok(());
    }
    let folder = fs_err::canonicalize(file.parent().unwrap_or(Path::new(".")))?;
    if folder.starts_with(fs_err::canonicalize(workspace.root().join(".sdlc_ide"))?) {
        anyhow::bail!(
            "{} is in the folder of the trail itself; name a file outside of .sdlc_ide",
            file.display()
        );
    }
    let name = file.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} names no file", file.display()))?;
    Workspace::export_audit(&folder, name, lines)?;
    let written = json!({ "file": file, "lines": lines.len() });
    let count = format_count(lines.len(), "line");
    output::line(
        context,
        &written,
        format!("wrote {count} to {}", file.display()),
    )?;
    Ok(())
}

/// Returns the message about lines that the audit trail has lost.
fn render_missing_lines(missing: &[String]) -> Option<String> {
    let first = missing.first()?;
    Some(format!(
        "{} of the audit trail gone since the last transaction, from {first} on; `git for-each-ref \
         refs/reprise/trail` names the commit that has them",
        match missing.len() {
            1 => "a line is".to_owned(),
            count => format!("{count} lines are"),
        }
    ))
}

fn change_lines(change: &FileChange) -> String {
    let counts = format!("+{} -{}", change.lines_added, change.lines_removed);
    let head = format!("{:<8} {}  {counts}", change.how, change.path);
    // The first lines of a patch name the file again.
    let lines = change.patch.lines();
    let lines = lines.skip_while(|line| !line.starts_with("@@"));
    let lines = lines
        .map(|line| format!("\n  {line}"))
        .collect::<Vec<_>>()
        .concat();
    format!("{}{lines}", terminal::title(head))
}

fn print_graph(context: &Context, workspace: &Workspace) -> anyhow::Result<Exit> {
    list(context, &workspace.list_artifact_nodes()?, |node| {
        if node.above.is_empty() {
            format!("{}  {}", node.id, terminal::faint(&node.path))
        } else {
            let above = node.above.join(", ");
            format!("{} <- {above}  {}", node.id, terminal::faint(&node.path))
        }
    })
}

pub(super) fn review_lines(review: &Review) -> String {
    let word = match &review.word {
        Some(word) if word.is_approved => format!("; approved by {}", word.human),
        Some(word) => format!("; declined by {} {}", word.human, word.message),
        None if review.needs_approval => "; a person has to approve it".to_owned(),
        None => String::new(),
    };
    let paths = review.paths.iter().map(|(path, _)| format!("\n  {path}"));
    format!(
        "{} at {:.10}: {} ahead, {} behind{}{}",
        review.branch,
        review.commit,
        review.ahead,
        review.behind,
        word.trim_end(),
        paths.collect::<String>()
    )
}

pub(super) fn snapshot_line(manifest: &SnapshotManifest) -> String {
    format!(
        "{}  {}  {:.10} of {}, {}{}",
        manifest.id,
        manifest.ts.format("%Y-%m-%d %H:%M"),
        manifest.commit,
        manifest.branch,
        format_count(manifest.files.len(), "file"),
        manifest
            .point
            .as_ref()
            .map_or_else(String::new, |point| format!(", at {point}")),
    )
}

fn print_events(
    context: &Context,
    workspace: &Workspace,
    after: Option<&str>,
    limit: usize,
    as_records: bool,
) -> anyhow::Result<Exit> {
    let events = workspace.events(after, limit)?;
    if as_records {
        let records: Vec<Value> = events
            .iter()
            .map(|event| to_ingest_record(workspace, event))
            .collect();
        return list(context, &records, ToString::to_string);
    }
    list(context, &events, |event| {
        format!(
            "{}  {}  {:<20} {:<14} {}",
            event.event_id,
            event.ts.format("%Y-%m-%d %H:%M:%S"),
            event.topic,
            event.actor,
            event.paths.join(" ")
        )
    })
}

/// Converts an event into a record for `ingest`; its id makes it one memory however often it comes.
fn to_ingest_record(workspace: &Workspace, event: &WorkspaceEvent) -> Value {
    json!({
        "external_id": event.event_id,
        "text": event.sentence(),
        "source": "worker_result",
        "kind": "episode",
        "session_id": format!("workspace:{}", workspace.root().display()),
        "timestamp": event.ts,
        "metadata": { "topic": event.topic, "actor": event.actor, "paths": event.paths,
            "branch": event.branch, "commit": event.commit, "downstream": event.downstream },
    })
}
