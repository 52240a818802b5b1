//! Maintenance: old snapshots, events and scratch files are removed by policy; scratch entries that
//! ask to be kept go to long-term memory first.

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use git2::Oid;
use reprise_types::parse_timestamp;
use reprise_workspace_types::{Actor, AuditAction, RepoPath};
use serde::Serialize;
use serde_json::{Value, json};
use ulid::Ulid;

use crate::audit;
use crate::combine::LogLines;
use crate::error::{Result, refused_error};
use crate::event::EVENTS;
use crate::files;
use crate::git::Git;
use crate::schema;
use crate::stage::Changes;
use crate::transaction::Draft;
use crate::workspace::Workspace;

/// Largest file of scratch that is looked into for entries to keep.
const SCRATCH_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Longest log of events that is read whole.
const EVENTS_BYTES_MAX: u64 = 1024 * 1024 * 1024;
const EPISODIC: &str = "memory/episodic";
/// Where scratch goes that says `"promote": true`.
const PROMOTED: &str = "memory/long_term/episodic_promoted.jsonl";
/// So many folders deep scratch is looked into.
const DEPTH_MAX: usize = 17;

/// A transaction's file of the trail is left as it is for so long.
const LOOSE_DAYS: i64 = 7;
/// How long scratch stays, in days, by git's configuration.
const EPISODIC_KEY: &str = "reprise.episodicdays";
/// How long scratch stays, in days, if nothing is configured.
const EPISODIC_DAYS: u32 = 30;
/// How many events a service keeps.
const EVENTS_KEPT: usize = 100_000;
/// How often a service puts away what is old.
const MAINTAIN_EVERY_MS: i64 = 60 * 60 * 1_000;

/// What a service that maintains a tree keeps between two rounds.
#[derive(Debug, Clone, Default)]
pub struct MaintenanceState {
    head: Option<Oid>,
    maintained_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
pub struct PrunePolicy {
    /// The newest so many snapshots, and all that have a tag.
    pub snapshots: usize,
    /// The newest so many events.
    pub events: usize,
    /// Scratch that was written so many days ago or later.
    pub episodic_days: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PruneReport {
    pub snapshots: Vec<String>,
    pub events: usize,
    pub episodic: Vec<String>,
    /// Entries of that scratch that went to long-term memory first.
    pub promoted: usize,
}

impl Workspace {
    /// Maintains a tree for a running service: publishes commits by plain git, and removes expired
    /// scratch once an hour.
    pub fn maintain(&self, maintained: &mut MaintenanceState) -> Result<()> {
        let git = Git::open(self.root())?;
        let head = git.head().ok().and_then(|head| head.commit);
        if head != maintained.head {
            self.record_git_commits()?;
            maintained.head = head;
        }
        let now_ms = self.now().timestamp_millis();
        if maintained
            .maintained_ms
            .is_none_or(|maintained_ms| now_ms - maintained_ms >= MAINTAIN_EVERY_MS)
        {
            maintained.maintained_ms = Some(now_ms);
            let days = git.repo.config().and_then(|all| all.get_i64(EPISODIC_KEY));
            let days = days.ok().and_then(|days| u32::try_from(days).ok());
            let policy = PrunePolicy {
                // Snapshots that somebody asked for are somebody's.
                snapshots: usize::MAX,
                events: EVENTS_KEPT,
                episodic_days: days.unwrap_or(EPISODIC_DAYS),
            };
            self.prune(&Actor::orchestrator(), policy)?;
        }
        Ok(())
    }

    /// Removes what a policy does not keep.
    pub fn prune(&self, actor: &Actor, policy: PrunePolicy) -> Result<PruneReport> {
        self.make_folders()?;
        if !actor.may_govern() {
            let why = "only the orchestrator, the governor and people may prune";
            return self.refuse(actor, &|| refused_error("care", actor, "prune", ".", why));
        }
        let mut pruned = PruneReport::default();
        let before = self.now() - TimeDelta::days(i64::from(policy.episodic_days));
        let (old, promoted) = self.find_old_scratch(before)?;
        pruned.promoted = promoted.len();
        let snapshots = self.snapshots()?;
        let newest = snapshots.len().saturating_sub(policy.snapshots);
        let old_snapshots: Vec<_> = snapshots[..newest]
            .iter()
            .filter(|one| one.tag.is_none())
            .collect();
        pruned.snapshots = old_snapshots.iter().map(|one| one.id.clone()).collect();
        pruned.episodic = old
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        pruned.events = self.count_events()?.saturating_sub(policy.events);
        self.pack_trail()?;
        if pruned == PruneReport::default() {
            return Ok(pruned);
        }
        // On record, and what is promoted in git, before anything goes.
        self.record_pruning(actor, &pruned, &promoted)?;
        for snapshot in &pruned.snapshots {
            self.remove_snapshot(snapshot)?;
        }
        for path in old {
            files::remove(&self.root().join(path))?;
        }
        if pruned.events > 0 {
            self.trim_events(policy.events)?;
        }
        Ok(pruned)
    }

    /// Finds scratch files from before an instant, by their paths below the root, and the entries
    /// in them that are to be kept.
    fn find_old_scratch(&self, before: DateTime<Utc>) -> Result<(Vec<PathBuf>, Vec<Value>)> {
        let (mut old, mut promoted) = (Vec::new(), Vec::new());
        for below in files::list_files(self.root(), EPISODIC, DEPTH_MAX)? {
            let Some(found) = files::find_metadata(&self.root().join(&below))? else {
                continue;
            };
            let from = below.to_string_lossy();
            let bytes =
                files::read_below(self.root(), &from, SCRATCH_BYTES_MAX)?.unwrap_or_default();
            let entries = schema::parse_log(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
            // A series of a session is as old as its newest step, even if the file was copied
            // since.
            let steps = entries.iter().filter_map(|entry| entry.get("ts")?.as_str());
            let newest = steps.filter_map(|ts| parse_timestamp(ts).ok()).max();
            let written = found.modified().map(DateTime::<Utc>::from).ok();
            if newest.or(written).is_none_or(|written| written < before) {
                promoted.extend(entries_to_promote(&from, entries));
                old.push(below);
            }
        }
        old.sort_unstable();
        Ok((old, promoted))
    }

    fn record_pruning(
        &self,
        actor: &Actor,
        pruned: &PruneReport,
        promoted: &[Value],
    ) -> Result<()> {
        let new: Vec<u8> = promoted.iter().flat_map(crate::wal::encode_line).collect();
        self.transact_alone(actor, &mut |view| {
            let mut changes = Changes::new();
            if !new.is_empty() {
                let path = RepoPath::trusted(PROMOTED);
                let present = view
                    .git
                    .content_at(view.head.tree, &path)?
                    .unwrap_or_default();
                let read = |bytes: &[u8]| LogLines::parse(&String::from_utf8_lossy(bytes));
                // After a crash the same entries come again; each is kept once.
                let bytes = match (read(&present), read(&new)) {
                    (Ok(present), Ok(new)) => present.merge_with(new).encode(),
                    _ => [present, new.clone()].concat(),
                };
                changes.insert(path, Some(bytes));
            }
            Ok(Draft {
                changes,
                title: "Put old snapshots, events and scratch away".to_owned(),
                topic: Some("Workspace_Pruned"),
                details: json!(pruned),
                ..Draft::new(actor, AuditAction::Prune)
            })
        })?;
        Ok(())
    }

    /// Packs the trail's files of old transactions into one, if there are thousands.
    fn pack_trail(&self) -> Result<()> {
        let unix_ms = (self.now() - TimeDelta::days(LOOSE_DAYS)).timestamp_millis();
        let before = Ulid::from_parts(u64::try_from(unix_ms).unwrap_or_default(), 0).to_string();
        let git = Git::open(self.root())?;
        let Ok(head) = git.head() else {
            return Ok(());
        };
        if audit::plan_packing(&git, head.tree, &before)?.is_empty() {
            return Ok(());
        }
        let orchestrator = Actor::orchestrator();
        self.transact_alone(&orchestrator, &mut |view| {
            Ok(Draft {
                changes: audit::plan_packing(view.git, view.head.tree, &before)?,
                title: "Pack the audit trail of old transactions".to_owned(),
                topic: Some("Workspace_Pruned"),
                ..Draft::new(&orchestrator, AuditAction::Prune)
            })
        })
        .map(drop)
    }

    fn count_events(&self) -> Result<usize> {
        let bytes = files::read_below(self.root(), EVENTS, EVENTS_BYTES_MAX)?.unwrap_or_default();
        Ok(bytes.split(|byte| *byte == b'\n').count() - 1)
    }

    fn trim_events(&self, keep: usize) -> Result<()> {
        let _guard = self.lock()?;
        let bytes = files::read_below(self.root(), EVENTS, EVENTS_BYTES_MAX)?.unwrap_or_default();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let kept = lines[lines.len().saturating_sub(keep)..].concat();
        files::replace(self.root(), EVENTS, &kept)
    }
}

/// Returns the entries that ask to be kept, each with the file that it came from.
fn entries_to_promote(from: &str, entries: Vec<Value>) -> impl Iterator<Item = Value> {
    let wanted = entries
        .into_iter()
        .filter(|entry| entry.get("promote") == Some(&json!(true)));
    wanted.map(move |mut entry| {
        if let Some(fields) = entry.as_object_mut() {
            fields.remove("promote");
            fields.insert("from".to_owned(), json!(from));
        }
        entry
    })
}
