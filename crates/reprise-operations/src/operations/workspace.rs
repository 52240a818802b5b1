//! A governed workspace (`guide/workspace.md`): each operation by its name in `reprise workspace`.
//!
//! All are one shape: `workspace`, where a branch's tree can be meant `branch`, and their own
//! arguments; at `/v1/users/{user}/workspace/NAME`, and as a tool `workspace_NAME`.

use reprise_workspace::{
    Action, Actor, AuditLine, AuditQuery, FileChange, LogEntry, Node, Proposal, Receipt, Recovered,
    RepoPath, Review as BranchReview, Saved, SnapshotManifest, Status as State, Workspace,
    WorkspaceEvent, WriteRequest,
};

use crate::bounds::AGENTS_BRANCH;
use crate::memories::Asked;
use crate::prelude::*;

macro_rules! in_workspace {
    (
        $effect:ident $method:ident $($tool:ident)? $name:literal $summary:literal
        $operation:ident($arguments:ident {
            $([$branch:ident])?
            $($(#[$($attribute:tt)*])* $field:ident: $type:ty,)*
        }) -> $answer:ty
        |$memory:ident, $asked:ident, $given:ident| $body:block
        $($more:tt)*
    ) => {
        operation! {
            Spec::$effect(concat!("workspace_", $name), $summary)
                .at(&[(Method::$method, concat!("/v1/users/{user}/workspace/", $name))])
                $(.$tool(concat!("workspace_", $name), Profile::Workspace))?;
            /// Which workspace, and what of it.
            #[derive(Default)]
            $operation($memory, $given: $arguments {
                /// The name or absolute path; the only one where left out.
                pub workspace: Option<String>,
                $(
                    /// An agent's branch, not the shared one: `agent/NAME`.
                    #[schemars(regex(pattern = AGENTS_BRANCH))]
                    pub $branch: Option<String>,
                )?
                $($(#[$($attribute)*])* pub $field: $type,)*
            }) -> $answer {
                // The shared tree, or that of an agent's branch.
                let $asked = Asked {
                    workspace: $given.workspace.clone(),
                    branch: None$(.or($given.$branch.clone()))?,
                };
                $body
            }
            $($more)*
        }
    };
}

in_workspace! { reads Get tool "status" "How a governed workspace is: branch, artifacts, uncommitted work, loose ends."
    Status(StatusArguments { [branch] }) -> State
    |memory, asked, given| {
        let mut status = memory.on_workspace(asked, Workspace::status).await?;
        status.root = memory.shown(status.root);
        Ok(status)
    }
}

in_workspace! { reads Get tool "read" "Read a committed file of a workspace."
    Read(ReadArguments {
        [branch]
        /// Where it is in the tree.
        path: String,
        /// In which state: a branch, a commit or a transaction.
        at: Option<String>,
    }) -> Content
    |memory, asked, given| {
        let path = path_of(&given.path)?;
        let read = move |workspace: &Workspace| workspace.read(&path, given.at.as_deref());
        let bytes = memory.on_workspace(asked, read).await?;
        let text = String::from_utf8(bytes).map_err(|_| {
            let named = given.path;
            Problem::invalid(format!("`{named}` is no text; read it from the tree itself"))
        })?;
        Ok(Content { text })
    }
    fn text(content: &Content) -> Cow<'_, str> { content.text.as_str().into() }
}

in_workspace! { adds Post tool "write" "Write files of a workspace in one governed transaction, all or none."
    Write(WriteArguments {
        [branch]
        /// Who: an agent's name, or `human:NAME`.
        actor: String,
        /// From each path to its new text.
        #[serde(default)]
        files: BTreeMap<String, String>,
        #[serde(default)]
        delete: Vec<String>,
        message: Option<String>,
    }) -> Receipt
    |memory, asked, given| {
        let mut changes = Vec::new();
        let actor = memory.actor(&asked, &given.actor)?;
        for (name, text) in given.files {
            changes.push((path_of(&name)?, Some(text.into_bytes())));
        }
        for name in given.delete {
            changes.push((path_of(&name)?, None));
        }
        let request = WriteRequest { actor, changes, message: given.message };
        memory.on_workspace(asked, move |workspace| workspace.write(&request)).await
    }
}

in_workspace! { reads Get tool "audit" "Who changed what, when, under which rule."
    Audit(AuditArguments {
        [branch]
        /// Only what this actor did.
        actor: Option<String>,
        /// Only what touched this path or something below it.
        path: Option<String>,
        action: Option<Action>,
        /// Only from this time on.
        since: Option<String>,
        /// At most so many, the newest; 50 where left out.
        limit: Option<usize>,
    }) -> Trail
    |memory, asked, given| {
        let since = given.since.map(|since| memory.calendar().since(&since)).transpose();
        let query = AuditQuery {
            actor: given.actor,
            path: given.path,
            action: given.action,
            since: since.map_err(Problem::invalid)?,
            limit: Some(given.limit.unwrap_or(50)),
        };
        let read = move |workspace: &Workspace| {
            let (lines, damaged) = workspace.audit(&query)?;
            let missing = workspace.trail_missing()?;
            Ok(Trail { lines, damaged, missing })
        };
        memory.on_workspace(asked, read).await
    }
}

in_workspace! { reads Get tool "diff" "What changed, file by file: what people have not committed, or between two states."
    Diff(DiffArguments {
        [branch]
        /// A branch, a commit or a transaction; the newest commit where left out.
        from: Option<String>,
        /// The same; the working tree where left out.
        to: Option<String>,
        /// What this one commit or transaction did.
        of: Option<String>,
    }) -> Differences
    |memory, asked, given| {
        if given.of.is_some() && (given.from.is_some() || given.to.is_some()) {
            return Err(Problem::conflict("name `of`, or `from` and `to`"));
        }
        let compare = move |workspace: &Workspace| match given.of {
            Some(name) => workspace.diff_of(&name),
            None => workspace.diff(given.from.as_deref(), given.to.as_deref()),
        };
        let files = memory.on_workspace(asked, compare).await?;
        Ok(Differences { files })
    }
}

in_workspace! { reads Get tool "log" "The commits of a workspace, newest first, each with its transaction."
    Log(LogArguments {
        [branch]
        /// At most so many; 30 where left out.
        limit: Option<usize>,
    }) -> Commits
    |memory, asked, given| {
        let limit = given.limit.unwrap_or(30);
        let commits = memory.on_workspace(asked, move |workspace| workspace.log(limit)).await?;
        Ok(Commits { commits })
    }
}

in_workspace! { reads Get tool "graph" "The DAG of artifacts: what is made from what."
    Graph(GraphArguments { [branch] }) -> Dag
    |memory, asked, given| {
        let artifacts = memory.on_workspace(asked, Workspace::graph).await?;
        Ok(Dag { artifacts })
    }
}

in_workspace! { adds Post tool "propose" "Begin the branch agent/NAME, or open it again; write there with `branch`."
    Propose(ProposeArguments {
        /// The agent, whose name the branch has.
        actor: String,
    }) -> Proposal
    |memory, asked, given| {
        let actor = memory.actor(&asked, &given.actor)?;
        let propose = move |workspace: &Workspace| workspace.propose(actor.as_str());
        let mut proposal = memory.on_workspace(asked, propose).await?;
        proposal.directory = memory.shown(proposal.directory);
        Ok(proposal)
    }
}

in_workspace! { reads Get tool "review" "What merging a branch would bring; without one, the branches that a person has to approve."
    Review(ReviewArguments {
        branch: Option<String>,
    }) -> Reviews
    |memory, asked, given| {
        let look = move |workspace: &Workspace| match given.branch {
            Some(branch) => Ok(vec![workspace.review(&branch)?]),
            None => workspace.reviews(),
        };
        let reviews = memory.on_workspace(asked, look).await?;
        Ok(Reviews { reviews })
    }
}

in_workspace! { adds Post "approve" "Record that a person approves a branch or commit as it stands now."
    Approve(ApproveArguments {
        /// Who, with or without `human:`.
        human: String,
        reference: String,
    }) -> Receipt
    |memory, asked, given| {
        let human = human(memory, &asked, &given.human)?;
        let approve = move |workspace: &Workspace| workspace.approve(&human, &given.reference);
        memory.on_workspace(asked, approve).await
    }
}

in_workspace! { adds Post "decline" "Record that a person declines a branch or commit as it stands now; an approval of it ends."
    Decline(DeclineArguments {
        /// Who, with or without `human:`.
        human: String,
        reference: String,
        message: Option<String>,
    }) -> Receipt
    |memory, asked, given| {
        let human = human(memory, &asked, &given.human)?;
        let decline = move |workspace: &Workspace| {
            workspace.decline(&human, &given.reference, given.message.as_deref())
        };
        memory.on_workspace(asked, decline).await
    }
}

in_workspace! { adds Post tool "merge" "Merge a branch into the one that is checked out, under the rules."
    Merge(MergeArguments {
        [branch]
        /// Who: an agent's name, or `human:NAME`.
        actor: String,
        from: String,
        message: Option<String>,
    }) -> Receipt
    |memory, asked, given| {
        let actor = memory.actor(&asked, &given.actor)?;
        let merge = move |workspace: &Workspace| {
            workspace.merge(&actor, &given.from, given.message.as_deref())
        };
        memory.on_workspace(asked, merge).await
    }
}

in_workspace! { destroys Post tool "abandon" "Put the branch agent/NAME aside; its commits are kept."
    Abandon(AbandonArguments {
        /// The agent, whose name the branch has.
        actor: String,
    }) -> Aside
    |memory, asked, given| {
        let actor = memory.actor(&asked, &given.actor)?;
        let abandon = move |workspace: &Workspace| workspace.abandon(actor.as_str());
        let kept = memory.on_workspace(asked, abandon).await?;
        Ok(Aside { kept })
    }
}

in_workspace! { adds Post tool "rollback" "Take back what a commit did to core/, by a new commit."
    Rollback(RollbackArguments {
        [branch]
        /// Who: an agent's name, or `human:NAME`.
        actor: String,
        commit: String,
        message: Option<String>,
    }) -> Receipt
    |memory, asked, given| {
        let actor = memory.actor(&asked, &given.actor)?;
        let rollback = move |workspace: &Workspace| {
            workspace.rollback(&actor, &given.commit, given.message.as_deref())
        };
        memory.on_workspace(asked, rollback).await
    }
}

in_workspace! { adds Post tool "checkpoint" "Save an agent's state."
    Checkpoint(CheckpointArguments {
        [branch]
        /// Who: an agent's name, or `human:NAME`.
        actor: String,
        state: Map<String, Value>,
        message: Option<String>,
    }) -> Receipt
    |memory, asked, given| {
        let actor = memory.actor(&asked, &given.actor)?;
        let state = serde_json::to_vec(&given.state).map_err(Problem::invalid)?;
        let save = move |workspace: &Workspace| {
            workspace.checkpoint(&actor, &state, given.message.as_deref())
        };
        memory.on_workspace(asked, save).await
    }
}

in_workspace! { reads Get tool "state" "An agent's newest checkpoint."
    StateOf(StateArguments {
        [branch]
        agent: String,
    }) -> Saved
    |memory, asked, given| {
        memory.on_workspace(asked, move |workspace| workspace.state_of(&given.agent)).await
    }
}

in_workspace! { adds Post tool "snapshot" "Keep the committed tree as an archive with a manifest of hashes."
    Snapshot(SnapshotArguments {
        /// Who: an agent's name, or `human:NAME`.
        actor: String,
        /// Put a tag of git on its commit, too.
        tag: bool,
    }) -> Taken
    |memory, asked, given| {
        let actor = memory.actor(&asked, &given.actor)?;
        let take = move |workspace: &Workspace| workspace.snapshot(&actor, given.tag);
        Ok(Taken::of(&memory.on_workspace(asked, take).await?))
    }
}

in_workspace! { reads Get "snapshots" "The snapshots of a workspace, oldest first."
    Snapshots(SnapshotsArguments {}) -> Kept
    |memory, asked, given| {
        let found = memory.on_workspace(asked, Workspace::snapshots).await?;
        let snapshots = found.iter().map(Taken::of).collect();
        Ok(Kept { snapshots })
    }
}

in_workspace! { destroys Post "restore" "Set the tree back to a snapshot by a new commit; logs keep what came since."
    Restore(RestoreArguments {
        /// Who: an agent's name, or `human:NAME`.
        actor: String,
        id: String,
    }) -> Receipt
    |memory, asked, given| {
        let actor = memory.actor(&asked, &given.actor)?;
        memory.on_workspace(asked, move |workspace| workspace.restore(&actor, &given.id)).await
    }
}

in_workspace! { reads Get "events" "What a workspace announced, oldest first."
    Events(EventsArguments {
        [branch]
        /// Only what came after the event with this id.
        after: Option<String>,
        /// At most so many; 100 where left out.
        limit: Option<usize>,
    }) -> Announced
    |memory, asked, given| {
        let limit = given.limit.unwrap_or(100);
        let read = move |workspace: &Workspace| workspace.events(given.after.as_deref(), limit);
        let events = memory.on_workspace(asked, read).await?;
        Ok(Announced { events })
    }
}

in_workspace! { adds Post "recover" "Tie up what crashes left: finish what had happened, take back what had not."
    Recover(RecoverArguments { [branch] }) -> Recovered
    |memory, asked, given| {
        memory.on_workspace(asked, Workspace::recover).await
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    pub text: String,
}

/// Part of the audit trail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trail {
    pub lines: Vec<AuditLine>,
    /// Numbers of the trail's lines that are no entries.
    pub damaged: Vec<usize>,
    /// Ids of lines that were there when the last transaction of this branch ended and are not any
    /// more: the branch was set back, or its trail shortened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    pub files: Vec<FileChange>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Commits {
    pub commits: Vec<LogEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Dag {
    /// Each with what it is made from.
    pub artifacts: Vec<Node>,
}

/// Branches, each with what a merge would bring and a person's last word on it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reviews {
    pub reviews: Vec<BranchReview>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Aside {
    /// git's name for the newest.
    pub kept: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    pub snapshots: Vec<Taken>,
}

/// A snapshot; the hash of each file stands in its manifest.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    pub id: String,
    pub ts: DateTime<Utc>,
    pub actor: String,
    pub branch: String,
    pub commit: String,
    pub archive_sha256: String,
    /// How many files it holds.
    pub files: usize,
    /// The event at which it was taken by itself.
    pub point: Option<String>,
    pub tag: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Announced {
    pub events: Vec<WorkspaceEvent>,
}

impl Taken {
    fn of(manifest: &SnapshotManifest) -> Self {
        Self {
            id: manifest.id.clone(),
            ts: manifest.ts,
            actor: manifest.actor.clone(),
            branch: manifest.branch.clone(),
            commit: manifest.commit.clone(),
            archive_sha256: manifest.archive_sha256.clone(),
            files: manifest.files.len(),
            point: manifest.point.clone(),
            tag: manifest.tag.clone(),
        }
    }
}

fn path_of(path: &str) -> Result<RepoPath, WorkspaceError> {
    RepoPath::new(path).map_err(WorkspaceError::from)
}

/// A person, with or without the prefix, where the caller may be that one.
fn human(memory: &Memory, asked: &Asked, name: &str) -> Result<Actor, Problem> {
    let human = Actor::human(name).map_err(WorkspaceError::from)?;
    memory.actor(asked, human.as_str())
}
