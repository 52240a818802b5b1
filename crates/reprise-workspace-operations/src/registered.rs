//! Governed workspaces: which of them a request reaches, and as whom.
//!
//! A program of this machine reaches every one, as with git. Over TCP a token's user reaches those
//! that the owner registered for that user, in the roles given there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reprise_operations::{AddedProfile, Memory, OperationContext, Problem, ProblemKind};
use reprise_types::UserId;
use reprise_workspace_types::{Actor, TreeCall, TreeError, TreeErrorKind, TreeRequest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The profile of agents that work in governed workspaces.
pub const PROFILE: AddedProfile = AddedProfile {
    name: "workspace",
    subject: "a governed workspace",
};

/// The role that lets a user act as a person: as `human:` with the user's own name.
const HUMAN: &str = "human";

/// Workspaces by the names that requests use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, RegisteredWorkspace>")]
pub struct Workspaces(BTreeMap<String, RegisteredWorkspace>);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredWorkspace {
    pub path: PathBuf,
    /// Whose tokens reach it, each with the actors that the user may be: `human`, or agents' names.
    #[serde(default)]
    pub users: BTreeMap<UserId, Vec<String>>,
}

impl Workspaces {
    /// Lists the name and the path of each.
    pub fn list_paths(&self) -> impl Iterator<Item = (&str, &std::path::Path)> {
        let all = self.0.iter();
        all.map(|(name, one)| (name.as_str(), one.path.as_path()))
    }
}

impl RegisteredWorkspace {
    fn allows_actor(&self, user: &UserId, actor: &Actor) -> bool {
        let granted = self.users.get(user).into_iter().flatten();
        granted.into_iter().any(|granted| {
            if actor.is_human() {
                return granted == HUMAN && actor.as_str() == format!("human:{user}");
            }
            let same = actor.as_str().eq_ignore_ascii_case(granted);
            // A role is each of its instances; an instance is no other, and not the role.
            let is_role = granted.bytes().all(|byte| !byte.is_ascii_digit());
            same || is_role && granted != HUMAN && actor.owns(granted)
        })
    }
}

impl TryFrom<BTreeMap<String, RegisteredWorkspace>> for Workspaces {
    type Error = String;

    /// A path that is not absolute would be another one for each process.
    fn try_from(named: BTreeMap<String, RegisteredWorkspace>) -> Result<Self, String> {
        let relative = named.iter().find(|(_, one)| !one.path.is_absolute());
        match relative {
            Some((name, one)) => Err(format!(
                "the workspace `{name}` is at `{}`; write its path from the root",
                one.path.display()
            )),
            None => Ok(Self(named)),
        }
    }
}

/// Which workspace a request is about.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceSelector {
    /// Its name or, from this machine, its absolute path; the only one where there is one.
    pub(crate) workspace: Option<String>,
    /// The agent's branch whose tree is meant, not the shared one.
    pub(crate) branch: Option<String>,
}

/// Where governed workspaces are served: by a process of their own, or in this one.
#[async_trait]
pub trait TreeHost: std::fmt::Debug + Send + Sync {
    /// Does what a request asks for, and returns its answer as JSON.
    async fn ask(&self, request: TreeRequest) -> Result<Value, TreeError>;
}

/// How often the registered workspaces are looked after.
const LOOK: Duration = Duration::from_secs(5);

/// The workspaces that requests may name, and who serves them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct GovernedWorkspaces {
    registered: Arc<Workspaces>,
    /// None where their operations are only described.
    host: Option<Arc<dyn TreeHost>>,
}

impl GovernedWorkspaces {
    /// The workspaces that are registered, served by `host`.
    #[must_use]
    pub fn new(registered: Workspaces, host: Arc<dyn TreeHost>) -> Self {
        Self {
            registered: Arc::new(registered),
            host: Some(host),
        }
    }

    /// What an operation of a request runs over.
    pub(crate) fn open_for(&self, memory: Memory) -> WorkspaceContext {
        WorkspaceContext {
            memory,
            all: self.clone(),
        }
    }

    /// Looks after the registered workspaces, for as long as it is awaited: what people commit by
    /// plain git is announced, and scratch goes after its time.
    pub async fn run_upkeep(&self) {
        let Workspaces(all) = &*self.registered;
        // Where none is registered there is nothing to come back for.
        while !all.is_empty() {
            for (name, one) in all {
                let request = TreeRequest {
                    root: one.path.clone(),
                    branch: None,
                    identity: None,
                    call: TreeCall::Maintain,
                };
                if let Err(error) = self.ask(request).await {
                    tracing::debug!(%error, name, "not looked after");
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn ask(&self, request: TreeRequest) -> Result<Value, TreeError> {
        let Some(host) = &self.host else {
            let said = "governed workspaces are not served here; ask the daemon";
            return Err(TreeError::new(TreeErrorKind::Unavailable, said));
        };
        host.ask(request).await
    }
}

/// The problem that a caller is told where a workspace did not do what it was asked for.
fn to_problem(error: &TreeError) -> Problem {
    let kind = match error.kind {
        TreeErrorKind::Forbidden => ProblemKind::Forbidden,
        TreeErrorKind::Invalid => ProblemKind::Invalid,
        TreeErrorKind::Conflict => ProblemKind::Conflict,
        TreeErrorKind::Unavailable => ProblemKind::Unavailable,
        TreeErrorKind::NotFound => ProblemKind::NotFound,
        TreeErrorKind::Internal => ProblemKind::Internal,
    };
    let problem = Problem::from_failure(kind, error);
    match &error.rule {
        Some(rule) => problem.with_rule(rule),
        None => problem,
    }
}

/// A request to the governed workspaces, by who uses a memory.
#[derive(Debug)]
pub struct WorkspaceContext {
    pub(crate) memory: Memory,
    all: GovernedWorkspaces,
}

impl OperationContext for WorkspaceContext {
    type Error = Problem;
}

impl WorkspaceContext {
    /// The actor that a request names, where the caller may be that one.
    pub(crate) fn authorize_actor(
        &self,
        asked: &WorkspaceSelector,
        name: &str,
    ) -> Result<Actor, Problem> {
        let actor = Actor::new(name).map_err(|error| Problem::invalid(error).with_rule("actor"))?;
        if self.memory.is_for_agent() && actor.is_human() {
            let said = "a tool acts as an agent; people use the command line, HTTP or the page";
            return Err(Problem::new(ProblemKind::Forbidden, said).with_rule("human-hands"));
        }
        if !self.memory.is_for_machine()
            && !self
                .get_registered_workspace(asked)?
                .allows_actor(self.memory.user(), &actor)
        {
            tracing::warn!(user = %self.memory.user(), %actor, "an actor was refused");
            let said = format!(
                "`{}` may not act as `{actor}` there; the daemon's configuration says as whom",
                self.memory.user()
            );
            return Err(Problem::new(ProblemKind::Forbidden, said).with_rule("actor-grant"));
        }
        Ok(actor)
    }

    /// Asks a workspace, and reads its answer.
    pub(crate) async fn ask_workspace<T: DeserializeOwned>(
        &self,
        asked: WorkspaceSelector,
        call: TreeCall,
    ) -> Result<T, Problem> {
        let asker = self.memory.asker();
        let request = TreeRequest {
            root: self.get_workspace_path(&asked)?,
            branch: asked.branch,
            identity: asker.map(|asker| format!("{asker} of {}", self.memory.user())),
            call,
        };
        let answer = self.all.ask(request).await;
        let answer = answer.map_err(|error| to_problem(&error))?;
        serde_json::from_value(answer).map_err(|error| {
            let said = format!(
                "the workspace's answer cannot be read ({error}); install `reprise-workspace` of \
                 this version"
            );
            Problem::new(ProblemKind::Internal, said)
        })
    }

    /// What a caller from elsewhere may know of a path on this machine.
    pub(crate) fn visible_path(&self, path: PathBuf) -> PathBuf {
        if self.memory.is_for_machine() {
            return path;
        }
        path.file_name().map(PathBuf::from).unwrap_or_default()
    }

    fn get_workspace_path(&self, asked: &WorkspaceSelector) -> Result<PathBuf, Problem> {
        match &asked.workspace {
            Some(path) if self.memory.is_for_machine() && path.starts_with('/') => Ok(path.into()),
            _ => self
                .get_registered_workspace(asked)
                .map(|found| found.path.clone()),
        }
    }

    fn get_registered_workspace(
        &self,
        asked: &WorkspaceSelector,
    ) -> Result<&RegisteredWorkspace, Problem> {
        let Workspaces(all) = &*self.all.registered;
        let (user, is_for_machine) = (self.memory.user(), self.memory.is_for_machine());
        let reaches = |one: &RegisteredWorkspace| is_for_machine || one.users.contains_key(user);
        let mut open = all.iter().filter(|(_, one)| reaches(one));
        let found = match &asked.workspace {
            Some(name) => open.find(|(own, _)| *own == name),
            None => open.next().filter(|_| open.next().is_none()),
        };
        found.map(|(_, one)| one).ok_or_else(|| {
            let name: String = asked
                .workspace
                .iter()
                .flat_map(|name| name.chars())
                .take(80)
                .collect();
            let what = if name.is_empty() {
                "no workspace is named, and there is not one alone".to_owned()
            } else {
                format!("there is no workspace `{name}`")
            };
            let own: Vec<&str> = all
                .iter()
                .filter(|(_, one)| reaches(one))
                .map(|(n, _)| &**n)
                .collect();
            let next = if own.is_empty() {
                format!(
                    "register one for `{}` in the daemon's configuration",
                    self.memory.user()
                )
            } else {
                format!("name one of {}", own.join(", "))
            };
            Problem::not_found(format!("{what}; {next}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_who_the_owner_says_and_nobody_else() {
        let ada: UserId = "ada".parse().unwrap();
        let registered = |roles: &[&str]| RegisteredWorkspace {
            path: "/srv/app".into(),
            users: BTreeMap::from([(ada.clone(), roles.iter().map(|r| (*r).to_owned()).collect())]),
        };
        let may = |roles: &[&str], actor: &str| {
            registered(roles).allows_actor(&ada, &Actor::new(actor).unwrap())
        };
        assert!(may(&["human"], "human:ada") && may(&["prm"], "PRM-002"));
        assert!(may(&["TSM-001"], "tsm-001"));
        assert!(!may(&["human"], "human:bob") && !may(&["human"], "human"));
        assert!(!may(&["prm"], "governor") && !may(&["prm"], "human:ada"));
        assert!(!may(&["TSM-001"], "tsm") && !may(&["TSM-001"], "TSM-002"));
        let bob: UserId = "bob".parse().unwrap();
        assert!(!registered(&["human"]).allows_actor(&bob, &Actor::new("human:bob").unwrap()));
    }

    #[test]
    fn a_workspace_is_registered_by_its_path_from_the_root() {
        let relative = serde_json::from_str::<Workspaces>(r#"{"own": {"path": "a"}}"#);
        assert!(relative.unwrap_err().to_string().contains("`own`"));
    }
}
