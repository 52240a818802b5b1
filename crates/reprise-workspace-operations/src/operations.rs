//! A governed workspace (`guide/workspace.md`): each operation by its name in `reprise workspace`.
//!
//! All are one shape: `workspace`, where a branch's tree can be meant `branch`, and their own
//! arguments; at `/v1/users/{user}/workspace/NAME`, and as a tool `workspace_NAME`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use reprise_operations::declaring::{
    FreeObject, LimitCount, LineText, LongText, NameText, RecordKey, TimeText, require_arguments,
};
use reprise_operations::{
    CatalogueEntry, Memory, Method, Operation, Problem, Profile, Spec, arguments,
};
use reprise_workspace_types::{
    Actor, AgentBranch, ArtifactNode, AuditAction, AuditQuery, FileChange, LogEntry, Receipt,
    Review as BranchReview, SavedCheckpoint, SnapshotRow, Status as State, Trail, TreeCall,
    WorkspaceEvent, WorkspaceRecovery,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::kinds::{ActorName, BranchName, HumanName, TreePath};
use crate::registered::{GovernedWorkspaces, PROFILE, WorkspaceContext, WorkspaceSelector};

macro_rules! in_workspace {
    (
        $effect:ident $method:ident $($tool:ident)? $name:literal $summary:literal
        $operation:ident($arguments:ident {
            $([$branch:ident])?
            $($(#[$($attribute:tt)*])* $field:ident: $type:ty $(as $kind:ty)?,)*
        }) -> $answer:ty
        |$context:ident, $asked:ident, $given:ident| $body:block
        $($more:tt)*
    ) => {
        arguments! {
            /// Which workspace, and what of it.
            #[serde_with::apply(
                bool => #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            )]
            #[skip_serializing_none]
            #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
            #[serde(deny_unknown_fields)]
            pub struct $arguments {
                /// The name or absolute path; the only one where left out.
                pub workspace: Option<String> as NameText,
                $(
                    /// An agent's branch, not the shared one: `agent/NAME`.
                    pub $branch: Option<String> as BranchName,
                )?
                $($(#[$($attribute)*])* pub $field: $type $(as $kind)?,)*
            }
        }

        #[derive(Debug)]
        pub struct $operation;

        impl Operation<WorkspaceContext> for $operation {
            const SPEC: Spec = Spec::$effect(concat!("workspace_", $name), $summary)
                .with_routes(&[(Method::$method, concat!("/v1/users/{user}/workspace/", $name))])
                .with_secrets_left_in()
                $(.$tool(concat!("workspace_", $name), Profile::Added(PROFILE)))?;
            type Arguments = $arguments;
            type Answer = $answer;

            async fn run(
                $context: &WorkspaceContext,
                $given: $arguments,
            ) -> Result<$answer, Problem> {
                // The shared tree, or that of an agent's branch.
                let $asked = WorkspaceSelector {
                    workspace: $given.workspace.clone(),
                    branch: None$(.or($given.$branch.clone()))?,
                };
                $body
            }

            $($more)*
        }

        const _: () = require_arguments::<$arguments>();
    };
}

in_workspace! { for_reading Get with_tool "status" "How a governed workspace is: branch, artifacts, uncommitted work, loose ends."
    Status(StatusArguments { [branch] }) -> State
    |context, asked, given| {
        let mut status: State = context.ask_workspace(asked, TreeCall::Status).await?;
        status.root = context.visible_path(status.root);
        Ok(status)
    }
}

in_workspace! { for_reading Get with_tool "read" "Read a committed file of a workspace."
    Read(ReadArguments {
        [branch]
        /// Where it is in the tree.
        path: String as TreePath,
        /// In which state: a branch, a commit or a transaction.
        at: Option<String> as NameText,
    }) -> FileContent
    |context, asked, given| {
        let call = TreeCall::Read { path: given.path, at: given.at };
        let text = context.ask_workspace(asked, call).await?;
        Ok(FileContent { text })
    }
    fn render_text(content: &FileContent) -> Cow<'_, str> { content.text.as_str().into() }
}

in_workspace! { for_adding Post with_tool "write" "Write files of a workspace in one governed transaction, all or none."
    Write(WriteArguments {
        [branch]
        /// Who: an agent's name, or `human:NAME`.
        actor: String as ActorName,
        /// From each path to its new text.
        #[serde(default)]
        files: BTreeMap<String, String> as LongText,
        #[serde(default)]
        delete: Vec<String> as LineText,
        message: Option<String> as LineText,
    }) -> Receipt
    |context, asked, given| {
        let actor = context.authorize_actor(&asked, &given.actor)?.to_string();
        let written = given.files.into_iter().map(|(name, text)| (name, Some(text)));
        let deleted = given.delete.into_iter().map(|name| (name, None));
        let changes = written.chain(deleted).collect();
        let call = TreeCall::Write { actor, changes, message: given.message };
        context.ask_workspace(asked, call).await
    }
}

in_workspace! { for_reading Get with_tool "audit" "Who changed what, when, under which rule."
    Audit(AuditArguments {
        [branch]
        /// Only what this actor did.
        actor: Option<String> as NameText,
        /// Only what touched this path or something below it.
        path: Option<String> as LineText,
        action: Option<AuditAction>,
        /// Only from this time on.
        since: Option<String> as TimeText,
        /// At most so many, the newest; 50 where left out.
        limit: Option<usize> as LimitCount,
    }) -> Trail
    |context, asked, given| {
        let calendar = context.memory.calendar();
        let since = given.since.map(|since| calendar.parse_since(&since)).transpose();
        let query = AuditQuery {
            actor: given.actor,
            path: given.path,
            action: given.action,
            since: since.map_err(Problem::invalid)?,
            limit: Some(given.limit.unwrap_or(50)),
        };
        context.ask_workspace(asked, TreeCall::Audit(query)).await
    }
}

in_workspace! { for_reading Get with_tool "diff" "What changed, file by file: what people have not committed, or between two states."
    Diff(DiffArguments {
        [branch]
        /// A branch, a commit or a transaction; the newest commit where left out.
        from: Option<String> as RecordKey,
        /// A branch, a commit or a transaction; the working tree where left out.
        to: Option<String> as RecordKey,
        /// What this one commit or transaction did.
        of: Option<String> as NameText,
    }) -> Differences
    |context, asked, given| {
        if given.of.is_some() && (given.from.is_some() || given.to.is_some()) {
            return Err(Problem::conflict("name `of`, or `from` and `to`"));
        }
        let call = TreeCall::Diff { from: given.from, to: given.to, of: given.of };
        let files = context.ask_workspace(asked, call).await?;
        Ok(Differences { files })
    }
}

in_workspace! { for_reading Get with_tool "log" "The commits of a workspace, newest first, each with its transaction."
    Log(LogArguments {
        [branch]
        /// At most so many; 30 where left out.
        limit: Option<usize> as LimitCount,
    }) -> Commits
    |context, asked, given| {
        let limit = given.limit.unwrap_or(30);
        let commits = context.ask_workspace(asked, TreeCall::Log { limit }).await?;
        Ok(Commits { commits })
    }
}

in_workspace! { for_reading Get with_tool "graph" "The DAG of artifacts: what is made from what."
    Graph(GraphArguments { [branch] }) -> Dag
    |context, asked, given| {
        let artifacts = context.ask_workspace(asked, TreeCall::Graph).await?;
        Ok(Dag { artifacts })
    }
}

in_workspace! { for_adding Post with_tool "propose" "Begin the branch agent/NAME, or open it again; write there with `branch`."
    Propose(ProposeArguments {
        /// The agent, whose name the branch has.
        actor: String as ActorName,
    }) -> AgentBranch
    |context, asked, given| {
        let actor = context.authorize_actor(&asked, &given.actor)?;
        let call = TreeCall::Propose { actor: actor.to_string() };
        let mut proposal: AgentBranch = context.ask_workspace(asked, call).await?;
        proposal.directory = context.visible_path(proposal.directory);
        Ok(proposal)
    }
}

in_workspace! { for_reading Get with_tool "review" "What merging a branch would bring; without one, the branches that a person has to approve."
    Review(ReviewArguments {
        branch: Option<String> as NameText,
    }) -> Reviews
    |context, asked, given| {
        let call = TreeCall::Review { branch: given.branch };
        let reviews = context.ask_workspace(asked, call).await?;
        Ok(Reviews { reviews })
    }
}

in_workspace! { for_adding Post "approve" "Record that a person approves a branch or commit as it is now."
    Approve(ApproveArguments {
        /// Who, with or without `human:`.
        human: String as HumanName,
        reference: String as NameText,
    }) -> Receipt
    |context, asked, given| {
        let human = authorize_human(context, &asked, &given.human)?;
        let call = TreeCall::Approve { human: human.to_string(), reference: given.reference };
        context.ask_workspace(asked, call).await
    }
}

in_workspace! { for_adding Post "decline" "Record that a person declines a branch or commit as it is now; an approval of it ends."
    Decline(DeclineArguments {
        /// Who, with or without `human:`.
        human: String as HumanName,
        reference: String as NameText,
        message: Option<String> as LineText,
    }) -> Receipt
    |context, asked, given| {
        let human = authorize_human(context, &asked, &given.human)?;
        let call = TreeCall::Decline {
            human: human.to_string(),
            reference: given.reference,
            message: given.message,
        };
        context.ask_workspace(asked, call).await
    }
}

in_workspace! { for_adding Post with_tool "merge" "Merge a branch into the one that is checked out, under the rules."
    Merge(MergeArguments {
        [branch]
        /// Who: an agent's name, or `human:NAME`.
        actor: String as ActorName,
        from: String as RecordKey,
        message: Option<String> as LineText,
    }) -> Receipt
    |context, asked, given| {
        let actor = context.authorize_actor(&asked, &given.actor)?;
        let call = TreeCall::Merge {
            actor: actor.to_string(),
            from: given.from,
            message: given.message,
        };
        context.ask_workspace(asked, call).await
    }
}

in_workspace! { for_destroying Post with_tool "abandon" "Put the branch agent/NAME aside; its commits are kept."
    Abandon(AbandonArguments {
        /// The agent, whose name the branch has.
        actor: String as ActorName,
    }) -> AbandonedBranch
    |context, asked, given| {
        let actor = context.authorize_actor(&asked, &given.actor)?;
        let call = TreeCall::Abandon { actor: actor.to_string() };
        let kept = context.ask_workspace(asked, call).await?;
        Ok(AbandonedBranch { kept })
    }
}

in_workspace! { for_adding Post with_tool "rollback" "Take back what a commit did to core/, by a new commit."
    Rollback(RollbackArguments {
        [branch]
        /// Who: an agent's name, or `human:NAME`.
        actor: String as ActorName,
        commit: String as NameText,
        message: Option<String> as LineText,
    }) -> Receipt
    |context, asked, given| {
        let actor = context.authorize_actor(&asked, &given.actor)?;
        let call = TreeCall::Rollback {
            actor: actor.to_string(),
            commit: given.commit,
            message: given.message,
        };
        context.ask_workspace(asked, call).await
    }
}

in_workspace! { for_adding Post with_tool "checkpoint" "Save an agent's state."
    Checkpoint(CheckpointArguments {
        [branch]
        /// Who: an agent's name, or `human:NAME`.
        actor: String as ActorName,
        state: Map<String, Value> as FreeObject,
        message: Option<String> as LineText,
    }) -> Receipt
    |context, asked, given| {
        let actor = context.authorize_actor(&asked, &given.actor)?;
        let call = TreeCall::Checkpoint {
            actor: actor.to_string(),
            state: given.state,
            message: given.message,
        };
        context.ask_workspace(asked, call).await
    }
}

in_workspace! { for_reading Get with_tool "state" "An agent's newest checkpoint."
    StateOf(StateArguments {
        [branch]
        agent: String as ActorName,
    }) -> SavedCheckpoint
    |context, asked, given| {
        context.ask_workspace(asked, TreeCall::State { agent: given.agent }).await
    }
}

in_workspace! { for_adding Post with_tool "snapshot" "Keep the committed tree as an archive with a manifest of hashes."
    Snapshot(SnapshotArguments {
        /// Who: an agent's name, or `human:NAME`.
        actor: String as ActorName,
        /// Put a tag of git on its commit, too.
        tag: bool,
    }) -> SnapshotRow
    |context, asked, given| {
        let actor = context.authorize_actor(&asked, &given.actor)?;
        let call = TreeCall::Snapshot { actor: actor.to_string(), tag: given.tag };
        context.ask_workspace(asked, call).await
    }
}

in_workspace! { for_reading Get "snapshots" "The snapshots of a workspace, oldest first."
    Snapshots(SnapshotsArguments {}) -> SnapshotList
    |context, asked, given| {
        let snapshots = context.ask_workspace(asked, TreeCall::Snapshots).await?;
        Ok(SnapshotList { snapshots })
    }
}

in_workspace! { for_destroying Post "restore" "Set the tree back to a snapshot by a new commit; logs keep what came since."
    Restore(RestoreArguments {
        /// Who: an agent's name, or `human:NAME`.
        actor: String as ActorName,
        id: String as RecordKey,
    }) -> Receipt
    |context, asked, given| {
        let actor = context.authorize_actor(&asked, &given.actor)?;
        let call = TreeCall::Restore { actor: actor.to_string(), id: given.id };
        context.ask_workspace(asked, call).await
    }
}

in_workspace! { for_reading Get "events" "What a workspace announced, oldest first."
    Events(EventsArguments {
        [branch]
        /// Only what came after the event with this id.
        after: Option<String> as NameText,
        /// At most so many; 100 where left out.
        limit: Option<usize> as LimitCount,
    }) -> Announced
    |context, asked, given| {
        let limit = given.limit.unwrap_or(100);
        let call = TreeCall::Events { after: given.after, limit };
        let events = context.ask_workspace(asked, call).await?;
        Ok(Announced { events })
    }
}

in_workspace! { for_adding Post "recover" "Tie up what crashes left: finish what had happened, take back what had not."
    Recover(RecoverArguments { [branch] }) -> WorkspaceRecovery
    |context, asked, given| {
        context.ask_workspace(asked, TreeCall::Recover).await
    }
}

/// The entries of these operations in their order, each of which runs over `$all`.
macro_rules! entries {
    ($all:expr; $($operation:ident,)*) => {
        vec![$({
            let all = $all.clone();
            CatalogueEntry::in_context::<_, $operation>(move |memory: Memory| all.open_for(memory))
        },)*]
    };
}

impl GovernedWorkspaces {
    /// Every operation on them, in the order in which they are shown.
    #[must_use]
    pub fn list_operations(&self) -> Vec<CatalogueEntry> {
        entries! {
            self;
            Status,
            Read,
            Write,
            Audit,
            Diff,
            Log,
            Graph,
            Propose,
            Review,
            Approve,
            Decline,
            Merge,
            Abandon,
            Rollback,
            Checkpoint,
            StateOf,
            Snapshot,
            Snapshots,
            Restore,
            Events,
            Recover,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Content")]
pub struct FileContent {
    pub text: String,
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
    pub artifacts: Vec<ArtifactNode>,
}

/// Branches, each with what a merge would bring and a person's last word on it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reviews {
    pub reviews: Vec<BranchReview>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Aside")]
pub struct AbandonedBranch {
    /// The commit id of the newest one.
    pub kept: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Kept")]
pub struct SnapshotList {
    pub snapshots: Vec<SnapshotRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Announced {
    pub events: Vec<WorkspaceEvent>,
}

/// A person, with or without the prefix, where the caller may be that one.
fn authorize_human(
    context: &WorkspaceContext,
    asked: &WorkspaceSelector,
    name: &str,
) -> Result<Actor, Problem> {
    let human = Actor::human(name).map_err(|error| Problem::invalid(error).with_rule("actor"))?;
    context.authorize_actor(asked, human.as_str())
}

#[cfg(test)]
mod tests {
    use reprise_operations::Bounds;
    use schemars::SchemaGenerator;
    use serde_json::json;

    use super::*;

    /// Checks that a blank name is refused wherever the schema says which form a name has; returns
    /// how many such names there are.
    fn count_refused_blanks<A: JsonSchema + 'static>() -> usize {
        let schema = A::json_schema(&mut SchemaGenerator::default()).to_value();
        let names = ["actor", "agent", "branch", "human"].into_iter();
        let names = names.filter(|name| !schema["properties"][name]["pattern"].is_null());
        names
            .inspect(|name| {
                let bounds = Bounds::get_for_type::<A>();
                let said = bounds.check(&json!({ *name: " " })).unwrap_err();
                assert_eq!(
                    said,
                    format!("`{name}` is empty; name one, or leave it out")
                );
                let long = "a".repeat(513);
                let said = bounds.check(&json!({ *name: long })).unwrap_err();
                assert_eq!(
                    said,
                    format!("`{name}` has 513 characters; send at most 512")
                );
            })
            .count()
    }

    #[test]
    fn a_blank_actor_or_branch_is_refused_by_every_operation() {
        macro_rules! count {
            ($($arguments:ident)*) => { [$(count_refused_blanks::<$arguments>()),*] };
        }
        let counts = count! {
            StatusArguments ReadArguments WriteArguments AuditArguments DiffArguments LogArguments
            GraphArguments ProposeArguments ReviewArguments ApproveArguments DeclineArguments
            MergeArguments AbandonArguments RollbackArguments CheckpointArguments StateArguments
            SnapshotArguments SnapshotsArguments RestoreArguments EventsArguments RecoverArguments
        };
        // Who acts in 11 of them, and the branch whose tree is meant in 13.
        assert_eq!(counts.iter().sum::<usize>(), 24, "{counts:?}");
    }

    #[test]
    fn every_argument_is_bounded_and_no_mark_of_bounds_is_shown() {
        let entries = GovernedWorkspaces::default().list_operations();
        assert_eq!(entries.len(), 21);
        let mut looked = 0;
        for entry in entries {
            let schema = entry.arguments_schema(&mut SchemaGenerator::default());
            let schema = schema.to_value();
            assert!(!schema.to_string().contains("\"x-"), "{schema}");
            for (name, one) in schema["properties"].as_object().unwrap() {
                let is_text = one["type"] == "string" || one["type"][0] == "string";
                let most = one["maxLength"].as_u64();
                let is_bounded = !is_text || most.is_some_and(|most| most <= 1024 * 1024);
                assert!(is_bounded, "{}: {name}: {one}", entry.spec.name);
                looked += usize::from(is_text);
            }
        }
        assert!(looked > 40, "{looked}");
    }
}
